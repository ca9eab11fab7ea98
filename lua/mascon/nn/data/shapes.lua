-- shapes.lua - drawn images of simple shapes: data for examples and trials, from a seed.
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local random = require 'mascon.random'
local dataset = require 'mascon.nn.data.dataset'
local methods, F = tensor.methods, op.functions
local M = {}

local OPTS = { side = { 24, 'integer >= 8' }, seed = { 0, 'integer >= 0' }, noise = { 0.3, 'number >= 0' },
  turn = { math.pi, 'number >= 0' } }

--- Distances (below 0 inside) of places u, v to the six shapes of radius r.
local SHAPES = {
  function(u, v, r) return F.sqrt(u * u + v * v) - r end, -- disc
  function(u, v, r) return F.abs(F.sqrt(u * u + v * v) - r * 0.8) - r * 0.22 end, -- ring
  function(u, v, r) return F.maximum(F.abs(u), F.abs(v)) - r * 0.85 end, -- square
  function(u, v, r) -- cross
    local a, b = F.abs(u), F.abs(v)
    return F.minimum(F.maximum(a, b * 3), F.maximum(a * 3, b)) - r
  end,
  function(u, v, r) -- triangle
    return F.maximum(v, F.abs(u) * 0.8660254 - v * 0.5) - r * 0.6
  end,
  function(u, v, r) return F.maximum(F.abs(u), F.abs(v) * 4) - r end, -- bar
}

--- Images of six shapes of random place, size, angle and contrast on a grey ground, with noise.
---
--- Fields: x f32 [n, 1, side, side], the noisy image; clean, the same without noise; y i64 [n]: 0 disc, 1 ring,
--- 2 square, 3 cross, 4 triangle, 5 bar.
---@param n integer
---@param opts? table side: pixels (24) · seed (0) · noise: standard deviation (0.3; shapes differ from the ground by
---   0.5 to 1) · turn: largest angle, rad (pi)
---@return mascon.Dataset
---     mc.nn.data.shapes(4, { side = 8 }).fields.x.shape  --> {4, 1, 8, 8}
---     mc.nn.data.shapes(4, { side = 8 }).fields.x.dtype  --> f32
function M.shapes(n, opts)
  local fname = 'nn.data.shapes'
  check.arg(fname, 'n', n, 'integer >= 1', 3)
  local o = check.opts(fname, opts, OPTS, 3)
  local side, keys = o.side, random.key(o.seed):split(8)
  local function drawn(k, low, high)
    return random.uniform { n, 1, low = low, high = high, key = keys[k], dtype = 'f32' }
  end
  local kind = random.integers { n, low = 0, high = #SHAPES - 1, key = keys[1] }
  local r, angle = drawn(2, side * 0.17, side * 0.32), drawn(3, -o.turn, o.turn)
  local dx, dy = drawn(4, -side / 6, side / 6), drawn(5, -side / 6, side / 6)
  local contrast = drawn(6, 0.5, 1) * methods.to(F.where(F.gt(drawn(7, 0, 1), 0.5), 1, -1), 'f32')
  local place = create.arange(0, side * side - 1, 1, { dtype = 'i64' })
  local function centred(t) return methods.reshape(methods.to(t, 'f32') - (side - 1) / 2, { 1, -1 }) end
  local px, py = centred(F.remainder(place, side)) - dx, centred(F.floor_divide(place, side)) - dy
  local c, s = F.cos(angle), F.sin(angle)
  local u, v = px * c + py * s, py * c - px * s
  local distance
  for i, f in ipairs(SHAPES) do
    local d = f(u, v, r)
    distance = distance and F.where(methods.reshape(F.eq(kind, i - 1), { -1, 1 }), d, distance) or d
  end
  local clean = F.clip(0.5 - distance, 0, 1) * contrast
  local x = clean + random.normal { n, side * side, std = o.noise, key = keys[8], dtype = 'f32' }
  local shape = { n, 1, side, side }
  return dataset.tensors { x = methods.reshape(x, shape), clean = methods.reshape(clean, shape), y = kind }
end

return M
