-- biology.lua - gradients of morphogens, cells, chromatin and genes.
local mc = require 'mascon'
local noise = require 'workflows.rollout.fields.noise'
local leaves = require 'workflows.rollout.leaf'
local int, some_of, num, choice = leaves.int, leaves.some_of, leaves.num, leaves.one
local M = {}
local pi = math.pi
local POSITIVE, SHARE = { above = 0 }, { low = 0, high = 1 }

local function stacked(C, f)
  local list = {}
  for c = 1, C do list[c] = f(c) end
  return mc.stack(list, 1)
end

M.morphogen_gradient = { function(s, C, G, o)
  local y, x = noise.pixels(G)
  local kind = o.gradient == 'mixed' and ({ 'exponential', 'power', 'sigmoid' })[s:integer(1, 3)] or o.gradient
  local cx, cy, c0 = s:number(0, G), s:number(0, G), s:number(0.5, 1)
  local r = ((x - cx) ^ 2 + (y - cy) ^ 2):sqrt()
  local g = kind == 'exponential' and c0 * mc.exp(-r / o.decay) or kind == 'power'
    and c0 / (1 + r / o.decay) ^ 2 or c0 / (1 + mc.exp((r - o.decay) / (0.25 * o.decay)))
  return noise.unit(g:expand_dims(1) + noise.grf(s, C, G, 0.1, 0.0025))
end, { gradient = choice('exponential', 'exponential', 'power', 'sigmoid', 'mixed'), decay = num(20, POSITIVE) } }

--- Gaussian smoothing of a periodic field by its spectrum.
local function smooth(f, G, sigma)
  local my, mx = noise.modes(G)
  local k2 = (2 * pi / G) ^ 2 * (my * my + mx * mx)
  return mc.real(mc.fft.ifftn(mc.fft.fftn(f) * mc.exp(-k2 * sigma ^ 2 / 2)))
end

M.cell_population = { function(s, C, G, o)
  return stacked(C, function()
    local points, field = {}, {}
    for i = 1, G * G do field[i] = 0 end
    for _ = 1, o.num_cells do
      for _ = 1, 30 do -- tries for a place that is far enough from the others
        local px, py
        if #points > 0 and s:number() < o.clustering then
          local near = points[s:integer(1, #points)]
          px, py = (near[1] + 2 * o.min_distance * s:gauss()) % G, (near[2] + 2 * o.min_distance * s:gauss()) % G
        else px, py = s:number(0, G), s:number(0, G) end
        local free = true
        for _, q in ipairs(points) do
          local dx, dy = math.abs(px - q[1]), math.abs(py - q[2])
          dx, dy = math.min(dx, G - dx), math.min(dy, G - dy)
          if dx * dx + dy * dy < o.min_distance ^ 2 then free = false end
        end
        if free then
          points[#points + 1] = { px, py }
          local at = math.floor(py) * G + math.floor(px) + 1
          field[at] = field[at] + s:number()
          break
        end
      end
    end
    return noise.by_largest(smooth(mc.tensor(field):reshape(G, G), G, o.sigma))
  end)
end, { num_cells = some_of(50, 1), min_distance = num(6, { low = 0 }), clustering = num(0.5, SHARE),
  sigma = num(5, POSITIVE) } }

M.chromatin_domain = { function(s, C, G, o)
  local y, x = noise.pixels(G)
  return stacked(C, function()
    if o.pattern == 'AB' then
      local f, px, py = s:number(2, 6), s:number(0, 2 * pi), s:number(0, 2 * pi)
      return mc.sign(mc.sin(2 * pi * f * x / G + px) * mc.sin(2 * pi * f * y / G + py))
    end
    local sum, at = mc.zeros { G, G }, 0
    while at < G do
      local size = s:number(o.min_size, o.max_size)
      local function inside(v) return 1 / (1 + mc.exp(-(v - at))) / (1 + mc.exp(v - at - size)) end
      sum = sum + inside(x) * inside(y)
      at = at + size
    end
    return sum
  end)
end, { pattern = choice('TAD', 'TAD', 'AB'), min_size = num(8, { low = 1 }), max_size = num(24, { low = 1 }) },
  { { 'min_size', 'max_size' } } }

M.gene_expression = { function(s, C, G, o)
  local y, x = noise.pixels(G)
  local shared = noise.grf(s, 1, G, 0.1, 1)[1]
  return stacked(C, function()
    local kind, f = s:integer(1, 5), 1 / (s:number(0.1, 0.3) * G)
    local p
    if kind == 1 then p = x / G + 0 * y
    elseif kind == 2 then p = mc.sin(2 * pi * f * x + s:number(0, 2 * pi)) * mc.sin(2 * pi * f * y + s:number(0,
      2 * pi))
    elseif kind == 3 then
      local angle = s:number(0, 2 * pi)
      p = mc.sin(2 * pi * f * (x * math.cos(angle) + y * math.sin(angle)))
    elseif kind == 4 then p = mc.exp(-((x - G / 2) ^ 2 + (y - G / 2) ^ 2) / (2 * (G / 5) ^ 2))
    else p = mc.full({ G, G }, 0.5) end
    return noise.unit((1 - o.coupling) * p + o.coupling * shared + o.noise * s:normal { G, G })
  end)
end, { coupling = num(0.3, SHARE), noise = num(0.1, { low = 0 }) } }

M.regulatory_network = { function(s, C, G, o)
  local y, x = noise.pixels(G)
  local n = o.num_genes
  local w, state = {}, {}
  for i = 1, n do
    w[i], state[i] = {}, s:number(-1, 1)
    for j = 1, n do w[i][j] = s:gauss() end
  end
  for _ = 1, o.steps do
    local new = {}
    for i = 1, n do
      local sum = 0
      for j = 1, n do sum = sum + w[i][j] * state[j] end
      local e = math.exp(-2 * math.abs(sum))
      new[i] = (sum < 0 and -1 or 1) * (1 - e) / (1 + e)
    end
    state = new
  end
  local width = o.footprint * G
  return stacked(C, function()
    return noise.by_largest(noise.sum(n, function(i)
      return state[i] * mc.exp(-((x - s:number(0, G)) ^ 2 + (y - s:number(0, G)) ^ 2) / (2 * width ^ 2))
    end))
  end)
end, { num_genes = int(5, 1, 1000), steps = some_of(5, 1), footprint = num(0.2, POSITIVE) } }

return M
