-- dropout.lua - random zeros that follow from a key.
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local random = require 'mascon.random'
local error = check.error
local F = op.functions
local M = {}

--- Sets elements to 0 with probability p and divides the others by 1 - p.
---
--- Which ones follows from the key alone: the same key gives the same elements, also when a checkpoint computes them
--- again.
---@param x any f16|bf16|f32|f64, any shape
---@param p number 0 <= p < 1, or 1 for zeros everywhere
---@param key any random key or whole number
---@param opts? table axes: how many leading axes have draws of their own, the others are dropped together (all)
---@return any dtype and shape of x
--- Source: Dropout: a simple way to prevent neural networks from overfitting, 2014.
---     mc.nn.dropout(mc.ones{ 3 }, 0, 1)  --> f64[3]@cpu { 1, 1, 1 }
function M.dropout(x, p, key, opts)
  x = op.operand('nn.dropout', x, 2)
  check.arg('nn.dropout', 'p', p, 'number >= 0', 3)
  if p > 1 then error(('nn.dropout: p is %g; it is a probability'):format(p), 2) end
  if key == nil then error('nn.dropout: the key is missing; give a random key', 2) end
  local axes = check.opts('nn.dropout', opts, { axes = { x.ndim, 'integer >= 0' } }, 3).axes
  if p == 0 then return x end
  if p == 1 then return x * 0 end
  local shape = {}
  for i = 1, x.ndim do shape[i] = i <= axes and x.shape[i] or 1 end
  shape.p, shape.key, shape.device = 1 - p, random.key(key), x.device
  local kept = random.bernoulli(shape)
  return F.where(kept, x * (1 / (1 - p)), 0)
end

return M
