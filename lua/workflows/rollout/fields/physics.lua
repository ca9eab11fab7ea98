-- physics.lua - waves, fronts, gradients and phases.
local mc = require 'mascon'
local noise = require 'workflows.rollout.fields.noise'
local leaves = require 'workflows.rollout.leaf'
local some_of, num, choice = leaves.some_of, leaves.num, leaves.one
local M = {}
local pi = math.pi
local POSITIVE = { above = 0 }

local function centred(G, cx, cy)
  local y, x = noise.pixels(G)
  return y - (cy or G / 2), x - (cx or G / 2)
end

local function same(C, f)
  local list = {}
  for c = 1, C do list[c] = f(c) end
  return mc.stack(list, 1)
end

M.quantum_wave_packet = { function(s, C, G, o)
  local y, x = centred(G)
  local k, angle = s:number(o.min_wavenumber, o.max_wavenumber), s:number(0, 2 * pi)
  local envelope = mc.exp(-(x * x + y * y) / (4 * o.width ^ 2))
  local phase = k * (x * math.cos(angle) + y * math.sin(angle))
  local parts = { envelope * mc.cos(phase), envelope * mc.sin(phase), noise.by_largest(envelope * envelope) }
  return same(C, function(c) return parts[(c - 1) % 3 + 1] end)
end, { width = num(10, POSITIVE), min_wavenumber = num(0.1, { low = 0 }),
  max_wavenumber = num(0.5, { low = 0 }) }, { { 'min_wavenumber', 'max_wavenumber' } } }

M.turing_pattern = { function(s, C, G, o)
  local y, x = noise.pixels(G)
  local n = o.pattern == 'spots' and 3 or o.pattern == 'stripes' and 1 or s:integer(2, 4)
  local start = s:number(0, 2 * pi)
  local angles = {}
  for i = 1, n do angles[i] = o.pattern == 'labyrinth' and s:number(0, 2 * pi) or start + (i - 1) * 2 * pi / 3 end
  return same(C, function()
    local sum
    for i = 1, n do
      local w = mc.cos(2 * pi / o.wavelength * (x * math.cos(angles[i]) + y * math.sin(angles[i])) + s:number(0,
        2 * pi))
      sum = sum and sum + w or w
    end
    return sum / n
  end) + noise.grf(s, C, G, 0.1, 0.01)
end, { pattern = choice('spots', 'spots', 'stripes', 'labyrinth'), wavelength = num(16, POSITIVE) } }

M.thermal_gradient = { function(s, C, G, o)
  local y, x = noise.pixels(G)
  local along = ({ (x + 0 * y) / G, (y + 0 * x) / G, (x + y) / (2 * G) })[o.direction == 'mixed' and s:integer(1,
    3) or o.direction == 'x' and 1 or o.direction == 'y' and 2 or 3]
  return (o.t_min + (o.t_max - o.t_min) * along ^ o.beta):expand_dims(1) + noise.grf(s, C, G, 5 / G, 0.01)
end, { t_min = num(0), t_max = num(1), beta = num(1, POSITIVE),
  direction = choice('mixed', 'x', 'y', 'diagonal', 'mixed') } }

M.reaction_front = { function(s, C, G, o)
  return same(C, function()
    return noise.fold(o.num_fronts, function(best)
      local y, x = centred(G)
      local kind = o.front == 'mixed' and ({ 'planar', 'circular', 'isoline' })[s:integer(1, 3)] or o.front
      local d
      if kind == 'planar' then
        local angle = s:number(0, 2 * pi)
        d = x * math.cos(angle) + y * math.sin(angle) - s:number(-0.25, 0.25) * G
      elseif kind == 'circular' then d = s:number(0.2, 0.5) * G - (x * x + y * y):sqrt()
      else d = (noise.grf(s, 1, G, 0.1, 1)[1] - s:number(-1, 1)) * 0.1 * G end
      local one = 0.5 * (1 + mc.tanh(d / o.width))
      return best and mc.maximum(best, one) or one
    end)
  end)
end, { front = choice('mixed', 'planar', 'circular', 'isoline', 'mixed'), num_fronts = some_of(1, 1),
  width = num(3, POSITIVE) } }

M.phase_boundary = { function(s, C, G, o)
  local y, x = centred(G)
  return same(C, function()
    local angle = s:number(0, 2 * pi)
    local d = o.boundary == 'circular' and s:number(0.2, 0.4) * G - (x * x + y * y):sqrt()
      or x * math.cos(angle) + y * math.sin(angle) - s:number(-0.25, 0.25) * G
    return mc.tanh(d / (math.sqrt(2) * o.width))
  end) + noise.grf(s, C, G, 0.1, 0.01)
end, { boundary = choice('planar', 'planar', 'circular'), width = num(3, POSITIVE) } }

M.bz_reaction = { function(s, C, G, o)
  local k = 2 * pi / o.wavelength
  local function spiral(cx, cy, way, phase)
    local y, x = centred(G, cx, cy)
    return way * mc.atan2(y, x) - k * (x * x + y * y):sqrt() + phase
  end
  local phases = {}
  if o.pattern == 'target' then
    local y, x = centred(G)
    phases[1] = -k * (x * x + y * y):sqrt() + s:number(0, 2 * pi)
  else
    local n = o.pattern == 'turbulent' and s:integer(3, 7) or 1
    for i = 1, n do phases[i] = spiral(s:number(0.25, 0.75) * G, s:number(0.25, 0.75) * G,
      s:number() < 0.5 and -1 or 1, s:number(0, 2 * pi)) end
  end
  local function over(f)
    local sum
    for _, p in ipairs(phases) do sum = sum and sum + f(p) or f(p) end
    return sum / #phases
  end
  local u, v = over(mc.cos), over(mc.sin)
  local parts = { noise.by_largest(u), noise.by_largest(v), noise.by_largest((u + v) / 2) }
  return same(C, function(c) return parts[(c - 1) % 3 + 1] end)
end, { pattern = choice('spiral', 'spiral', 'target', 'turbulent'), wavelength = num(16, POSITIVE) } }

M.interference_pattern = { function(s, C, G, o)
  local sources = {}
  for i = 1, o.num_sources do sources[i] = { s:number(0, G), s:number(0, G), s:number(0, 2 * pi) } end
  return same(C, function(c)
    return noise.by_largest(noise.sum(o.num_sources, function(k)
      local q = sources[k]
      local y, x = centred(G, q[1], q[2])
      local r = (x * x + y * y):sqrt()
      return mc.cos(2 * pi / o.wavelength * r + q[3] + (c - 1) * pi / 3) * mc.exp(-r * r / (2 * o.decay ^ 2))
    end))
  end)
end, { num_sources = some_of(2, 1), wavelength = num(10, POSITIVE), decay = num(100, POSITIVE) } }

M.shock_front = { function(s, C, G, o)
  local y, x = centred(G)
  return same(C, function()
    local angle, at = s:number(0, 2 * pi), (s:number(0.2, 0.8) - 0.5) * G
    local d = x * math.cos(angle) + y * math.sin(angle) - at
    return o.low + (o.high - o.low) * 0.5 * (1 + mc.tanh(d / o.width))
  end) + noise.grf(s, C, G, 0.1, 0.0025)
end, { low = num(1), high = num(2), width = num(2, POSITIVE) } }

M.coherent_state = { function(s, C, G, o)
  local y, x = centred(G)
  return same(C, function()
    local angle = s:number(0, 2 * pi)
    local envelope = mc.exp(-(x * x + y * y) / (2 * o.width ^ 2))
    return envelope * mc.cos(o.wavenumber * (x * math.cos(angle) + y * math.sin(angle)))
  end) + noise.grf(s, C, G, 0.1, o.variance)
end, { width = num(10, POSITIVE), wavenumber = num(0.2, { low = 0 }), variance = num(0.5, POSITIVE) } }

M.relativistic_wave_packet = { function(s, C, G, o)
  local y, x = centred(G)
  local gamma = 1 / math.sqrt(1 - o.velocity ^ 2)
  return same(C, function(c)
    local angle = s:number(0, 2 * pi)
    local along, across = x * math.cos(angle) + y * math.sin(angle), y * math.cos(angle) - x * math.sin(angle)
    local envelope = mc.exp(-(gamma ^ 2 * along * along + across * across) / (2 * o.width ^ 2))
    return envelope * mc.cos(gamma * o.wavenumber * along + (c - 1) * pi / 3)
  end)
end, { velocity = num(0.5, { low = 0, below = 1 }), width = num(10, POSITIVE), wavenumber = num(0.3, { low = 0 }) } }

return M
