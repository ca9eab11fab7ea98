-- scaler.lua - the factor that keeps small gradients of f16 from vanishing.
--
-- A loss is multiplied by the scale before the way back and gradients are divided by it. A gradient that is not finite
-- halves the scale and its step is left out; a row of good steps doubles it. Powers of two change no bits. Holds that
-- rule and its variants; nn.Step applies it.
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

local REST = 500 -- steps behind an overflow in which a conservative scale does not grow
local LAST, SMALL, SPREAD = 100, 0.1, 0.1 -- norms an adaptive scale looks at; how small; how even beside their mean

--- Mean and standard deviation of some numbers; nil of none.
local function moments(list)
  local n, sum, squares = #list, 0, 0
  if n == 0 then return nil end
  for _, x in ipairs(list) do sum = sum + x end
  for _, x in ipairs(list) do squares = squares + (x - sum / n) ^ 2 end
  return sum / n, math.sqrt(squares / n)
end

--- Whether the scale grows behind a row of good steps.
local GROWS = {}
function GROWS.fixed() return false end
function GROWS.dynamic() return true end
function GROWS.conservative(s) return not s.overflow or s.steps - s.overflow >= REST end
function GROWS.adaptive(s)
  if #s.norms < LAST then return false end
  for _, x in ipairs(s.norms) do if not (x < SMALL) then return false end end
  local mean, deviation = moments(s.norms)
  return deviation < SPREAD * mean
end

local OPTS = { init = { 65536, 'number > 0' }, growth = { nil, 'number >= 1' }, backoff = { 0.5, 'number > 0' },
  interval = { nil, 'integer >= 1' }, least = { 1, 'number > 0' }, most = { 2 ^ 24, 'number > 0' },
  strategy = { 'dynamic', { 'dynamic', 'fixed', 'conservative', 'adaptive' } } }

--- A scale of losses for training in f16: it falls where gradients overflow and grows after good steps.
---
--- nn.Step takes one as the option scaler (f16 has one by default). By hand: gradients of scaler:scale(loss), then
--- g, finite = scaler:unscale(g), the optimiser's step when finite, scaler:update(finite).
--- Strategies: 'dynamic' as above. 'fixed' keeps init and still leaves out steps. 'conservative' does not grow within
--- 500 steps behind an overflow. 'adaptive' grows by 1.5 behind 1000 good steps, and only while each of the last 100
--- norms of gradients is below 0.1 and their standard deviation below a tenth of their mean; a factor that is no power
--- of two rounds gradients.
---@param opts? table init (65536) · growth (2; adaptive: 1.5) · backoff (0.5) · interval: good steps before it grows
---   (2000; adaptive: 1000) · least (1), most (2^24) · strategy ('dynamic')
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
  local adaptive = o.strategy == 'adaptive'
  o.growth, o.interval = o.growth or adaptive and 1.5 or 2, o.interval or adaptive and 1000 or 2000
  return setmetatable({ options = o, value = o.init, good = 0, steps = 0, overflows = 0, norms = {} }, Scaler)
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
---@param norm? number of the gradient, which an adaptive scale asks for
---@return number
--- Errors: an adaptive scale without a norm.
function Scaler:update(finite, norm)
  check.arg('GradScaler:update', 'finite', finite, 'bool', 3)
  local o = self.options
  if finite and o.strategy == 'adaptive' then
    check.arg('GradScaler:update', 'norm', norm, 'number', 3)
    if #self.norms == LAST then table.remove(self.norms, 1) end
    self.norms[#self.norms + 1] = norm
  end
  self.steps = self.steps + 1
  if not finite then
    self.overflows, self.overflow, self.good = self.overflows + 1, self.steps, 0
    if o.strategy ~= 'fixed' then self.value = self.value * o.backoff end
  else
    self.good = self.good + 1
    if self.good >= o.interval and GROWS[o.strategy](self) then
      self.good, self.value = 0, self.value * o.growth
    end
  end
  self.value = math.max(o.least, math.min(o.most, self.value))
  return self.value
end

--- Whether an overflow can still lower the scale.
function Scaler:can_fall() return self.options.strategy ~= 'fixed' and self.value > self.options.least end

--- Counts so far: scale, steps, overflows, success_rate; of an adaptive scale also norm_mean and norm_deviation of the
--- last norms (at most 100).
---     mc.nn.GradScaler():statistics().scale  --> 65536
---@return table
function Scaler:statistics()
  local mean, deviation = moments(self.norms)
  return { scale = self.value, steps = self.steps, overflows = self.overflows,
    success_rate = self.steps > 0 and 1 - self.overflows / self.steps or 1, norm_mean = mean,
    norm_deviation = deviation }
end

--- What a checkpoint keeps: a table of numbers.
---@return table
function Scaler:state()
  return { value = self.value, good = self.good, steps = self.steps, overflows = self.overflows,
    overflow = self.overflow, norms = { unpack(self.norms) } }
end

--- Takes what state() gave.
---@param state table
---@return mascon.GradScaler self
function Scaler:restore(state)
  for _, k in ipairs { 'value', 'good', 'steps', 'overflows' } do
    self[k] = check.arg('GradScaler:restore', k, type(state) == 'table' and state[k] or nil, 'number', 3)
  end
  local norms = check.arg('GradScaler:restore', 'norms', state.norms or {}, 'table', 3)
  for i, v in ipairs(norms) do check.arg('GradScaler:restore', ('norms[%d]'):format(i), v, 'number', 3) end
  self.overflow, self.norms = state.overflow, { unpack(state.norms or {}) }
  return self
end

return M
