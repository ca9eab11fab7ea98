-- dropout.lua - random zeros during training.
local check = require 'mascon.core.check'
local functions = require 'mascon.nn.dropout'
local module = require 'mascon.nn.module'
local error = check.error
local M = {}

local function class(name, axes)
  local Dropout = module.Module(name)
  function Dropout:init(p)
    self.p = check.arg('nn.' .. name, 'p', p == nil and 0.5 or p, 'number >= 0', 4)
    if self.p > 1 then error(('nn.%s: p is %g; it is a probability'):format(name, self.p), 4) end
  end
  function Dropout:forward(x)
    if self.p == 0 or not self:is_training() then return x end
    return functions.dropout(x, self.p, self:next_key(), axes and { axes = axes } or nil)
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
