-- generate.lua - data with a known answer: simulation, and two sets that are the same to the bit everywhere.
--
-- The noise of the sets is a sum of four numbers of SplitMix64, so that any program can make them again; simulate uses
-- mascon's own generator. The fits that these sets must give stand in tests/spec/xpcs_spec.lua.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local bit = require 'bit'
local model = require 'workflows.xpcs.model.model'
local parameters = require 'workflows.xpcs.model.parameters'
local prepare = require 'workflows.xpcs.data.prepare'
local error = check.error
local M = {}

--- A generator of SplitMix64: numbers in [0, 1).
---@param seed integer
---@return fun(): number
function M.splitmix(seed)
  local state = 0ULL + seed
  return function()
    state = state + 0x9E3779B97F4A7C15ULL
    local z = state
    z = bit.bxor(z, bit.rshift(z, 30)) * 0xBF58476D1CE4E5B9ULL
    z = bit.bxor(z, bit.rshift(z, 27)) * 0x94D049BB133111EBULL
    z = bit.bxor(z, bit.rshift(z, 31))
    return tonumber(bit.rshift(z, 11)) * 2 ^ -53
  end
end

--- Noise of mean 0 and variance 1 from such a generator.
function M.noise(draw)
  local sum = draw()
  for _ = 1, 3 do sum = sum + draw() end
  return (sum - 2) * math.sqrt(3)
end

M.SETS = {
  A = { seed = 1, n = 24, dt = 0.5, q = 0.012, phi = { 0, 60, 120 }, physics = { 2200, -0.35, 300 }, contrast = { 0.25,
    0.3, 0.35 }, offset = { 1, 1.02, 0.98 },
    sigma = { 0.003, 0.004, 0.005 } },
  B = { seed = 2, n = 28, dt = 0.25, q = 0.01, gap = 2e6, phi = { -25, 0, 30, 75, 92 }, physics = { 5000, 0.3, 900,
    4e-4, -0.25, 1.2e-4, 4 },
    contrast = { 0.3, 0.3, 0.3, 0.3, 0.3 }, offset = { 1, 1, 1, 1, 1 }, sigma = { 0.004, 0.004, 0.004, 0.004, 0.004 } },
}

--- Matrices of one of the sets A (static) and B (laminar flow): the description with t, model and c2, f64 [angles, n,
--- n].
---@param name 'A'|'B'
function M.set(name)
  local s = M.SETS[name]
  local out = {}
  for k, v in pairs(s) do
    if type(v) == 'table' then v = { unpack(v) } end
    out[k] = v
  end
  out.mode = #s.physics == 3 and 'static' or 'laminar_flow'
  out.t = mc.arange(1, s.n) * s.dt
  local kd, ks = model.constants(s)
  local draw = M.splitmix(s.seed)
  local all, clean = {}, {}
  for f, phi in ipairs(s.phi) do
    local truth = model.c2({ t = out.t, kd = kd, ks = ks, physics = s.physics }, phi, s.contrast[f], s.offset[f])
    local rows = truth:totable()
    for i = 1, s.n do
      for j = i + 1, s.n do
        rows[i][j] = rows[i][j] + s.sigma[f] * M.noise(draw)
        rows[j][i] = rows[i][j]
      end
    end
    all[f], clean[f] = prepare.diagonal(mc.tensor(rows)), truth
  end
  out.c2, out.model = mc.stack(all, 1), mc.stack(clean, 1)
  return out
end

local OPTS = {
  n = { 100, 'integer >= 2' }, dt = { 0.1, 'number > 0' }, q = { 0.0054, 'number > 0' }, gap = { 2e6, 'number > 0' },
    phi = { nil, 'table' }, physics = { nil, 'table' },
  contrast = { 0.3, 'number' }, offset = { 1, 'number' }, sigma = { 0.01, 'number >= 0' }, seed = { 1, 'integer' },
    first = { 1, 'integer >= 0' },
}

--- Two-time matrices of the model with normal noise, symmetric, diagonal corrected.
---@param opts? table n 100 frames · dt 0.1 s · q 0.0054 1/A · gap 2e6 A · phi list of deg · physics list of 3 (static)
---  or 7 numbers · contrast 0.3 · offset 1 ·
---  sigma 0.01 · seed 1 · first 1: the first time in steps
---@return table description with t f64 [n] and c2 f64 [angles, n, n]
function M.simulate(opts)
  local o = check.opts('xpcs.simulate', opts, OPTS, 3)
  local phi = o.phi or { -60, -30, 0, 30, 60 }
  local physics = o.physics or { 3000, -0.2, 500, 2e-3, 0.1, 1e-4, 3 }
  if #physics ~= 3 and #physics ~= 7 then
    error(('xpcs.simulate: physics has %d numbers; give 3 (static: %s) or 7 (laminar flow: %s)'):format(#physics,
      table.concat(parameters.names 'static', ', '), table.concat(parameters.names 'laminar_flow', ', ')), 2)
  end
  local t = mc.arange(o.first, o.first + o.n - 1) * o.dt
  local kd, ks = model.constants(o)
  local all = {}
  for f, angle in ipairs(phi) do
    all[f] = mc.scope(function()
      local c2 = model.c2({ t = t, kd = kd, ks = ks, physics = physics }, angle, o.contrast, o.offset)
      if o.sigma > 0 then
        local noise = mc.triu(mc.randn { o.n, o.n, seed = o.seed * 1000 + f }, 1)
        c2 = c2 + (noise + noise.mT) * o.sigma
      end
      return prepare.diagonal(c2)
    end)
  end
  local c2 = mc.stack(all, 1)
  if not (mc.isfinite(c2):all() and mc.isfinite(t):all()) then
    error('xpcs.simulate: the matrices are not finite with these values; give values whose D0 t^alpha + D_offset and '
      .. 'shear are finite over all times, and noise, contrast and offset of the size of C2', 3)
  end
  return { n = o.n, dt = o.dt, q = o.q, gap = o.gap, phi = phi, physics = physics, t = t, c2 = c2,
    mode = #physics == 3 and 'static' or 'laminar_flow',
    sigma = o.sigma > 0 and o.sigma or nil, contrast = o.contrast, offset = o.offset }
end

return M
