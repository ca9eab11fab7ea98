-- scaler.lua - the factor that keeps small gradients of f16 from vanishing.
--
-- A loss is multiplied by the scale before the way back and gradients are divided by it. A gradient that is not finite
-- halves the scale and its step is left out; a row of good steps doubles it. Powers of two change no bits. Holds that
-- rule; nn.Step applies it.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local parameters = require 'mascon.optim.parameters'
local error = check.error
local F = op.functions
local M = {}

---@class mascon.GradScaler
---@field value number the scale
local Scaler = {}
Scaler.__index = Scaler
M.methods = Scaler
Scaler.__tostring = function(s)
  return ('loss scale %g, %d steps, %d of them left out'):format(s.value, s.steps, s.overflows)
end

local OPTS = { init = { 65536, 'number > 0' }, growth = { 2, 'number >= 1' }, backoff = { 0.5, 'number > 0' },
  interval = { 2000, 'integer >= 1' }, least = { 1, 'number > 0' }, most = { 2 ^ 24, 'number > 0' },
  strategy = { 'dynamic', { 'dynamic', 'fixed' } } }

--- A scale of losses for training in f16: it falls where gradients overflow and grows after good steps.
---
--- nn.Step takes one as the option scaler (f16 has one by default). By hand: gradients of scaler:scale(loss), then
--- g, finite = scaler:unscale(g), the optimiser's step when finite, scaler:update(finite).
---@param opts? table init (65536) · growth (2) · backoff (0.5) · interval: good steps before it grows (2000) · least
---   (1), most (2^24) · strategy: 'dynamic', or 'fixed', which keeps init and still leaves out steps
---@return mascon.GradScaler
--- Errors: bounds that do not hold init. Source: Mixed precision training, 2018, section 3.2; torch.amp.GradScaler,
--- which has no bounds.
---     mc.nn.GradScaler{ init = 8, interval = 1 }:update(true)  --> 16
function M.GradScaler(opts)
  local o = check.opts('nn.GradScaler', opts, OPTS, 3)
  if o.init < o.least or o.init > o.most then
    error(('nn.GradScaler: init is %g, outside %g to %g'):format(o.init, o.least, o.most), 2)
  end
  if o.backoff > 1 then error(('nn.GradScaler: backoff is %g; it is at most 1'):format(o.backoff), 2) end
  return setmetatable({ options = o, value = o.init, good = 0, steps = 0, overflows = 0 }, Scaler)
end

--- The loss times the scale, in the dtype of the loss but at least f32.
---@param loss any
---@return any
function Scaler:scale(loss)
  if loss.dtype == 'f16' or loss.dtype == 'bf16' then loss = tensor.methods.to(loss, 'f32') end
  return F.multiply(loss, self.value)
end

--- Gradients divided by the scale, and whether all of them are finite.
---@param grads any tree of tensors
---@return any grads
---@return boolean finite
function Scaler:unscale(grads)
  local finite = true
  local out = parameters.map('GradScaler:unscale', 'grads', grads, function(g)
    finite = finite and F.all(F.isfinite(g))
    return F.multiply(g, 1 / self.value)
  end)
  return out, finite
end

--- Takes note of a step: whether its gradients were finite. Returns the scale of the next one.
---@param finite boolean
---@return number
function Scaler:update(finite)
  check.arg('GradScaler:update', 'finite', finite, 'bool', 3)
  local o = self.options
  self.steps = self.steps + 1
  if not finite then
    self.overflows, self.good = self.overflows + 1, 0
    if o.strategy == 'dynamic' then self.value = self.value * o.backoff end
  else
    self.good = self.good + 1
    if self.good >= o.interval then
      self.good = 0
      if o.strategy == 'dynamic' then self.value = self.value * o.growth end
    end
  end
  self.value = math.max(o.least, math.min(o.most, self.value))
  return self.value
end

--- Whether an overflow can still lower the scale.
function Scaler:can_fall() return self.options.strategy == 'dynamic' and self.value > self.options.least end

--- Counts so far: scale, steps, overflows, success_rate.
---     mc.nn.GradScaler():statistics().scale  --> 65536
---@return table
function Scaler:statistics()
  return { scale = self.value, steps = self.steps, overflows = self.overflows,
    success_rate = self.steps > 0 and 1 - self.overflows / self.steps or 1 }
end

--- What a checkpoint keeps: a table of numbers.
---@return table
function Scaler:state()
  return { value = self.value, good = self.good, steps = self.steps, overflows = self.overflows }
end

--- Takes what state() gave.
---@param state table
---@return mascon.GradScaler self
function Scaler:restore(state)
  for _, k in ipairs { 'value', 'good', 'steps', 'overflows' } do
    self[k] = check.arg('GradScaler:restore', k, type(state) == 'table' and state[k] or nil, 'number', 3)
  end
  return self
end

return M
