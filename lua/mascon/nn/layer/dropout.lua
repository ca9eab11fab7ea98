-- dropout.lua - random zeros during training.
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local module = require 'mascon.nn.module'
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

local function class(name, axes)
  local Dropout = module.Module(name)
  function Dropout:init(p)
    self.p = check.arg('nn.' .. name, 'p', p == nil and 0.5 or p, 'number >= 0', 4)
    if self.p > 1 then error(('nn.%s: p is %g; it is a probability'):format(name, self.p), 4) end
  end
  function Dropout:forward(x)
    if self.p == 0 or not self:is_training() then return x end
    return M.dropout(x, self.p, self:next_key(), axes and { axes = axes } or nil)
  end
  function Dropout:describe() return ('%g'):format(self.p) end
  return Dropout
end
local Each, Channels = class 'Dropout', class('ChannelDropout', 2)

--- In training sets elements to 0 with probability p and divides the others by 1 - p; in evaluation nothing.
---
--- In apply the numbers follow from the option key, elsewhere from the default generator (mc.seed). In functions of
--- mc.scan, mc.vmap and loops each turn has to have a key: module:next_key.
---@param p? number probability (0.5)
---@return mascon.Module
--- Source: Dropout: a simple way to prevent neural networks from overfitting, 2014; PyTorch nn.Dropout.
---     mc.nn.Dropout(0.5):eval()(mc.tensor{ 3 })  --> f64[1]@cpu { 3 }
function M.Dropout(p) return Each(p) end

--- Dropout of whole channels: x [batch, channels, ...] of any number of axes.
---@param p? number probability (0.5)
---@return mascon.Module
--- Source: Efficient object localization using convolutional networks, 2015; PyTorch nn.Dropout1d, nn.Dropout2d,
--- nn.Dropout3d.
---     mc.nn.ChannelDropout(0.5):eval()(mc.ones{ 1, 2, 3 }).shape  --> {1, 2, 3}
function M.ChannelDropout(p) return Channels(p) end

return M
