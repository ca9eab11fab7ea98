-- shapes.lua - stripes, blobs, discs and mixtures of them.
local mc = require 'mascon'
local noise = require 'workflows.rollout.fields.noise'
local leaves = require 'workflows.rollout.leaf'
local some_of, num, choice = leaves.some_of, leaves.num, leaves.one
local M = {}
local POSITIVE = { above = 0 }

local function stacked(list, C, G)
  for c = 1, C do list[c] = list[c] or mc.zeros { G, G } end
  return mc.stack(list, 1)
end

local SHAPES = {}
function SHAPES.circle(s, G, y, x)
  local cx, cy, r, a = s:number(0, G), s:number(0, G), s:number(0, 0.2 * G), 2 * s:gauss()
  return a * mc.le((x - cx) ^ 2 + (y - cy) ^ 2, r * r):to 'f64'
end
function SHAPES.blob(s, G, y, x)
  local cx, cy, width, a = s:number(0, G), s:number(0, G), math.max(s:number(0, 0.15 * G), 0.5), 3 * s:gauss()
  return a * mc.exp(-((x - cx) ^ 2 + (y - cy) ^ 2) / (2 * width * width))
end
function SHAPES.stripe(s, G, y, x, o)
  local angle, f, phase, a = s:number(0, 2 * math.pi), s:number(1, 6), 0, 1
  if o.wavelength_range then
    f = G / s:number(o.wavelength_range[1], o.wavelength_range[2])
    phase = s:number(0, 2 * math.pi)
  end
  if o.amplitude_range then a = s:number(o.amplitude_range[1], o.amplitude_range[2]) end
  return a * mc.sin(2 * math.pi * f * (x * math.cos(angle) + y * math.sin(angle)) / G + phase)
end

-- with num_modes every channel is that many stripes (sinusoids); without, structures stand on random channels
M.structured = { function(s, C, G, o)
  local y, x = noise.pixels(G)
  local list = {}
  if o.num_modes > 0 then
    for c = 1, C do list[c] = noise.sum(o.num_modes, function() return SHAPES.stripe(s, G, y, x, o) end) end
  else
    for _ = 1, o.num_structures do
      local kind, c = o.structure_types[s:integer(1, #o.structure_types)], s:integer(1, C)
      local before = list[c]
      list[c] = noise.fold(1, function(sum)
        local one = SHAPES[kind](s, G, y, x, o)
        return sum and sum + one or one
      end, before)
      if before then before:release() end
    end
  end
  return stacked(list, C, G)
end, { num_structures = some_of(5, 1),
  structure_types = leaves.some({ 'circle', 'stripe', 'blob' }, 'circle', 'stripe', 'blob'),
  num_modes = some_of(0, 0), wavelength_range = leaves.pair(nil, POSITIVE), amplitude_range = leaves.pair(nil) } }

-- blob_size_range holds widths as shares of the grid, amplitude_range magnitudes of random sign
M.localized = { function(s, C, G, o)
  local y, x = noise.pixels(G)
  local list, low, high, size = {}, o.min_width, o.max_width, o.amplitude_range
  if o.blob_size_range then low, high = o.blob_size_range[1] * G, o.blob_size_range[2] * G end
  for c = 1, C do
    local n = type(o.num_blobs) == 'table' and s:integer(o.num_blobs[1], o.num_blobs[2]) or o.num_blobs
    list[c] = noise.sum(n, function()
      local cx, cy, width = s:number(0, G), s:number(0, G), s:number(low, high)
      local a = size and s:number(size[1], size[2]) * (s:number() < 0.5 and -1 or 1) or 2 * s:gauss()
      return a * mc.exp(-((x - cx) ^ 2 + (y - cy) ^ 2) / (2 * width * width))
    end)
  end
  return stacked(list, C, G)
end, { num_blobs = leaves.count(5, 1), min_width = num(5, POSITIVE), max_width = num(15, POSITIVE),
  blob_size_range = leaves.pair(nil, { above = 0, high = 1 }), amplitude_range = leaves.pair(nil, { low = 0 }) },
  { { 'min_width', 'max_width' } } }

M.composite = { function(s, C, G, o)
  local y, x = noise.pixels(G)
  local list = {}
  for c = 1, C do
    local pattern = o.pattern == 'mixed' and ({ 'waves', 'grid', 'radial' })[s:integer(1, 3)] or o.pattern
    if pattern == 'waves' then
      local f, angle = s:number(2, 6), s:number(0, 2 * math.pi)
      list[c] = mc.sin(2 * math.pi * f * (x * math.cos(angle) + y * math.sin(angle)) / G)
    elseif pattern == 'grid' then
      local f = s:number(3, 6)
      list[c] = mc.sin(2 * math.pi * f * x / G) * mc.sin(2 * math.pi * f * y / G)
    else
      local f = s:number(2, 6)
      list[c] = mc.sin(2 * math.pi * f * ((x - G / 2) ^ 2 + (y - G / 2) ^ 2):sqrt() / G)
    end
  end
  return stacked(list, C, G) + noise.grf(s, C, G, 0.05, 0.01)
end, { pattern = choice('mixed', 'waves', 'grid', 'radial', 'mixed') } }

return M
