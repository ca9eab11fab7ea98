-- frontier.lua - clusters that grow, and codes.
local mc = require 'mascon'
local noise = require 'workflows.rollout.fields.noise'
local leaves = require 'workflows.rollout.leaf'
local int, some_of, num, choice = leaves.int, leaves.some_of, leaves.num, leaves.one
local M = {}

--- Means over 5 x 5 pixels, periodic.
local function mean5(f)
  local sum
  for axis = 1, 2 do
    sum = nil
    for k = -2, 2 do
      local part = mc.roll(f, k, axis)
      sum = sum and sum + part or part
    end
    f = sum / 5
  end
  return f
end

M.dla_cluster = { function(s, C, G, o)
  local list = {}
  for c = 1, C do
    local seed, middle = mc.zeros { G, G }, math.floor(G / 2) + 1
    if o.seed == 'line' then seed[{ middle }] = 1 else seed[{ middle, middle }] = 1 end
    local there = noise.fold(o.steps, function(grown)
      local near = mc.maximum(mc.maximum(mc.roll(grown, 1, 1), mc.roll(grown, -1, 1)), mc.maximum(mc.roll(grown, 1, 2),
        mc.roll(grown, -1, 2)))
      return mc.maximum(grown, near * mc.lt(s:uniform { G, G }, o.sticking):to 'f64')
    end, seed)
    local z = mc.exp(3 * mean5(there) - 1)
    list[c] = z / z:max():item()
  end
  return mc.stack(list, 1)
end, { seed = choice('point', 'point', 'line'), steps = some_of(25, 1), sticking = num(0.5, { above = 0, high = 1 }) } }

M.error_correcting_code = { function(s, C, G, o)
  local n, side = math.ceil(G / o.block), o.block
  local list = {}
  for c = 1, C do
    -- a block repeats its message of rate * block^2 bits; then bits flip
    local bits = math.max(1, math.floor(o.rate * side * side))
    local message = mc.where(mc.lt(s:uniform { n, n, bits }, 0.5), -1, 1)
    local copies = math.ceil(side * side / bits)
    local word = mc.tile(message, { 1, 1, copies })[{ mc.all, mc.all, { 1, side * side } }]:reshape(n, n, side, side)
    local plane = word:permute_dims(1, 3, 2, 4):reshape(n * side, n * side)[{ { 1, G }, { 1, G } }]
    list[c] = mc.where(mc.lt(s:uniform { G, G }, o.flip), -1, 1) * plane
  end
  return mc.stack(list, 1):to 'f64'
end, { block = int(8, 1, 1024), rate = num(0.5, { above = 0, high = 1 }), flip = num(0.1, { low = 0, high = 1 }) } }

return M
