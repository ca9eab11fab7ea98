-- frontier.lua - clusters that grow, and codes.
local mc = require 'mascon'
local leaves = require 'workflows.rollout.leaf'
local int, num, choice = leaves.int, leaves.num, leaves.one
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
    local there = mc.zeros { G, G }
    if o.seed == 'line' then there[{ math.floor(G / 2) + 1 }] = 1 else there[{ math.floor(G / 2) + 1,
      math.floor(G / 2) + 1 }] = 1 end
    for _ = 1, o.steps do
      local near = mc.maximum(mc.maximum(mc.roll(there, 1, 1), mc.roll(there, -1, 1)), mc.maximum(mc.roll(there, 1, 2),
        mc.roll(there, -1, 2)))
      there = mc.maximum(there, near * mc.lt(s:uniform { G, G }, o.sticking):to 'f64')
    end
    local z = mc.exp(3 * mean5(there) - 1)
    list[c] = z / z:max():item()
  end
  return mc.stack(list, 1)
end, { seed = choice('point', 'point', 'line'), steps = int(25, 1), sticking = num(0.5, { above = 0, high = 1 }) } }

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
end, { block = int(8, 1), rate = num(0.5, { above = 0, high = 1 }), flip = num(0.1, { low = 0, high = 1 }) } }

return M
