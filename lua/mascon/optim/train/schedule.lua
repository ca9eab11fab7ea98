-- schedule.lua - learning rates as functions of the number of steps made.
--
-- A schedule takes a number, or a 0-d tensor inside a compiled step, and gives the rate as the same. It is what the
-- option lr of an optimiser takes. Holds the formulas.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local error = check.error
local F = op.functions
local M = {}

--- A function of a 0-d tensor as one of numbers too.
local function schedule(f)
  return function(step)
    if tensor.is(step) then return f(step) end
    return f(op.from_table(check.arg('schedule', 'step', step, 'number', 3))):item()
  end
end

--- Half a cosine from a to b as x goes from 0 to 1.
local function cosine_way(a, b, x) return F.add(F.multiply(F.add(F.cos(F.multiply(x, math.pi)), 1), (a - b) / 2), b) end

local function rate(fname, what, v) return check.arg(fname, what, v, 'number >= 0', 4) end

--- The same rate at every step.
---     mc.optim.constant(0.1)(7)  --> 0.1
---@param lr number
---@return fun(step: number|any): number|any
function M.constant(lr)
  rate('optim.constant', 'lr', lr)
  return schedule(function(step) return F.add(F.multiply(step, 0), lr) end)
end

--- lr gamma^floor(step / size): the rate falls by a factor every `size` steps.
--- Source: torch.optim.lr_scheduler.StepLR.
---     mc.optim.step_decay(0.8, { size = 10, gamma = 0.5 })(25)  --> 0.2
---@param lr number
---@param opts table size (integer >= 1, required), gamma (0.1)
---@return fun(step: number|any): number|any
function M.step_decay(lr, opts)
  rate('optim.step_decay', 'lr', lr)
  local o = check.opts('optim.step_decay', opts, { size = { nil, 'integer >= 1' }, gamma = { 0.1, 'number > 0' } }, 3)
  if not o.size then error('optim.step_decay: option size is missing; give the steps between two changes', 2) end
  return schedule(function(step) return F.multiply(F.pow(o.gamma, F.floor(F.divide(step, o.size))), lr) end)
end

--- lr gamma^step.
--- Source: torch.optim.lr_scheduler.ExponentialLR.
---     mc.optim.exponential_decay(1, { gamma = 0.5 })(3)  --> 0.125
---@param lr number
---@param opts table gamma (required)
---@return fun(step: number|any): number|any
function M.exponential_decay(lr, opts)
  rate('optim.exponential_decay', 'lr', lr)
  local o = check.opts('optim.exponential_decay', opts, { gamma = { nil, 'number > 0' } }, 3)
  if not o.gamma then error('optim.exponential_decay: option gamma is missing; give the factor of one step', 2) end
  return schedule(function(step) return F.multiply(F.pow(o.gamma, step), lr) end)
end

--- From lr down to `least` along half a cosine in `steps` steps; `least` from there on.
---
--- cycles: of the cosine in these steps; half a one (0.5) falls, 1.5 rises once in between, 1 ends where it begins.
--- Source: SGDR: stochastic gradient descent with warm restarts, 2017, equation 5;
--- torch.optim.lr_scheduler.CosineAnnealingLR, which rises again.
---     mc.optim.cosine(1, { steps = 4 })(2)  --> 0.5
---@param lr number
---@param opts table steps (integer >= 1, required), least (0), cycles (0.5)
---@return fun(step: number|any): number|any
function M.cosine(lr, opts)
  rate('optim.cosine', 'lr', lr)
  local o = check.opts('optim.cosine', opts, { steps = { nil, 'integer >= 1' }, least = { 0, 'number >= 0' },
    cycles = { 0.5, 'number > 0' } }, 3)
  if not o.steps then error('optim.cosine: option steps is missing; give the length of the way down', 2) end
  return schedule(function(step)
    return cosine_way(lr, o.least, F.multiply(F.minimum(F.divide(step, o.steps), 1), 2 * o.cycles))
  end)
end

--- A schedule whose first `steps` steps rise linearly: the rate of step k is (start + (1 - start) k / steps) of that of
--- `after`, which counts from 0 once the warm-up is over.
--- Source: torch.optim.lr_scheduler.LinearLR followed by another through SequentialLR.
---     mc.optim.warmup(mc.optim.constant(0.8), { steps = 4, start = 0 })(1)  --> 0.2
---@param after number|fun(step: number|any): number|any
---@param opts table steps (integer >= 1, required), start (1 / 3)
---@return fun(step: number|any): number|any
function M.warmup(after, opts)
  if type(after) == 'number' then after = M.constant(after) end
  check.arg('optim.warmup', 'after', after, 'function', 3)
  local o = check.opts('optim.warmup', opts, { steps = { nil, 'integer >= 1' }, start = { 1 / 3, 'number >= 0' } }, 3)
  if not o.steps then error('optim.warmup: option steps is missing; give the length of the rise', 2) end
  return schedule(function(step)
    local share = F.minimum(F.divide(step, o.steps), 1)
    return F.multiply(after(F.maximum(F.subtract(step, o.steps), 0)), F.add(F.multiply(share, 1 - o.start), o.start))
  end)
end

--- Schedules one after the other: schedule i from milestone i - 1 to milestone i, counting from 0 at its beginning.
--- Source: torch.optim.lr_scheduler.SequentialLR.
---     mc.optim.sequential({ 1, mc.optim.exponential_decay(1, { gamma = 0.5 }) }, { 3 })(4)  --> 0.5
---@param list table of schedules or numbers
---@param milestones integer[] ascending, one less than schedules
---@return fun(step: number|any): number|any
--- Errors: milestones that do not fit.
function M.sequential(list, milestones)
  local fname, parts, begin = 'optim.sequential', {}, 0
  check.arg(fname, 'list', list, 'table', 3)
  check.arg(fname, 'milestones', milestones, 'table', 3)
  if #milestones ~= #list - 1 then
    error(('%s: %d schedules need %d milestones, %d are given'):format(fname, #list, #list - 1, #milestones), 2)
  end
  for i, f in ipairs(list) do
    parts[i] = type(f) == 'number' and M.constant(f) or check.arg(fname, ('list[%d]'):format(i), f, 'function', 3)
  end
  for i, m in ipairs(milestones) do
    check.arg(fname, ('milestones[%d]'):format(i), m, 'integer >= 1', 3)
    if m <= begin then error(('%s: milestone %d is %d, behind %d; they ascend'):format(fname, i, m, begin), 2) end
    begin = m
  end
  return schedule(function(step)
    local out = parts[1](step)
    for i, m in ipairs(milestones) do
      out = F.where(F.ge(step, m), parts[i + 1](F.maximum(F.subtract(step, m), 0)), out)
    end
    return out
  end)
end

--- One cycle: up from lr / div_factor to lr in the first pct_start of the steps, down to lr / (div_factor
--- final_div_factor) in the others, each along half a cosine.
--- Source: Super-convergence: very fast training of neural networks using large learning rates, 2018;
--- torch.optim.lr_scheduler.OneCycleLR.
---     mc.optim.one_cycle(0.5, { steps = 10 })(2)  --> 0.5
---@param lr number the highest rate
---@param opts table steps (integer >= 2, required: their whole number), pct_start (0.3), div_factor (25),
---  final_div_factor (1e4)
---@return fun(step: number|any): number|any
function M.one_cycle(lr, opts)
  rate('optim.one_cycle', 'lr', lr)
  local o = check.opts('optim.one_cycle', opts, { steps = { nil, 'integer >= 2' }, pct_start = { 0.3, 'number > 0' },
    div_factor = { 25, 'number > 0' }, final_div_factor = { 1e4, 'number > 0' } }, 3)
  if not o.steps then error('optim.one_cycle: option steps is missing; give the length of the cycle', 2) end
  local top, last = o.pct_start * o.steps - 1, o.steps - 1
  local first = lr / o.div_factor
  return schedule(function(step)
    local up = cosine_way(first, lr, F.divide(step, top))
    local down = cosine_way(lr, first / o.final_div_factor, F.minimum(F.divide(F.subtract(step, top), last - top), 1))
    return F.where(F.le(step, top), up, down)
  end)
end

--- least + (lr - least) (1 - step / steps)^power, and `least` from there on; power 1 is a straight line.
--- Source: torch.optim.lr_scheduler.PolynomialLR, which ends at 0.
---     mc.optim.polynomial(1, { steps = 4, power = 2 })(2)  --> 0.25
---@param lr number
---@param opts table steps (integer >= 1, required), power (1), least (0)
---@return fun(step: number|any): number|any
function M.polynomial(lr, opts)
  rate('optim.polynomial', 'lr', lr)
  local o = check.opts('optim.polynomial', opts, { steps = { nil, 'integer >= 1' }, power = { 1, 'number > 0' },
    least = { 0, 'number >= 0' } }, 3)
  if not o.steps then error('optim.polynomial: option steps is missing; give the length of the way down', 2) end
  return schedule(function(step)
    local left = F.subtract(1, F.minimum(F.divide(step, o.steps), 1))
    return F.add(F.multiply(F.pow(left, o.power), lr - o.least), o.least)
  end)
end

-- ---------------------------------------------------------------- by a metric

---@class mascon.Plateau
---@field rate number the rate now
local Plateau = {}
Plateau.__index = Plateau
M.plateau_methods = Plateau

local PLATEAU = { factor = { 0.1, 'number > 0' }, patience = { 10, 'integer >= 0' },
  threshold = { 1e-4, 'number >= 0' }, cooldown = { 0, 'integer >= 0' }, least = { 0, 'number >= 0' },
  eps = { 1e-8, 'number >= 0' }, larger = { false, 'bool' } }

--- A rate that falls when a metric stops getting better: an object with the field rate, called once an epoch with
--- p:update(metric).
---
--- Better is below best (1 - threshold), with larger above best (1 + threshold); the signs of negative metrics are
--- those of PyTorch. After more than `patience` calls without a better one the rate is multiplied by factor, and the
--- next `cooldown` calls do not count. nn.Step and nn.Trainer take these options as plateau.
--- Source: torch.optim.lr_scheduler.ReduceLROnPlateau.
---     mc.optim.plateau(1, { patience = 0, factor = 0.5 }):update(3)  --> 1
---@param lr number
---@param opts? table factor (0.1) · patience (10) · threshold, relative (1e-4) · cooldown (0) · least (0) ·
---   eps: smaller changes are not made (1e-8) · larger: larger is better (false)
---@return mascon.Plateau
function M.plateau(lr, opts)
  rate('optim.plateau', 'lr', lr)
  local o = check.opts('optim.plateau', opts, PLATEAU, 3)
  if o.factor >= 1 then error(('optim.plateau: factor is %g; it is below 1'):format(o.factor), 2) end
  return setmetatable({ rate = lr, options = o, bad = 0, wait = 0 }, Plateau)
end

--- Takes note of a metric and returns the rate from here on. NaN counts as not better.
---@param metric number
---@return number
function Plateau:update(metric)
  check.arg('plateau:update', 'metric', metric, 'number', 3)
  local o, best = self.options, self.best
  local better = best == nil and metric == metric
  if best and o.larger then better = metric > best * (1 + o.threshold)
  elseif best then better = metric < best * (1 - o.threshold) end
  if better then self.best, self.bad = metric, 0 else self.bad = self.bad + 1 end
  if self.wait > 0 then self.wait, self.bad = self.wait - 1, 0 end
  if self.bad > o.patience then
    local lower = math.max(self.rate * o.factor, o.least)
    if self.rate - lower > o.eps then self.rate = lower end
    self.wait, self.bad = o.cooldown, 0
  end
  return self.rate
end

--- What a checkpoint keeps: a table of numbers.
---@return table
function Plateau:state() return { rate = self.rate, best = self.best, bad = self.bad, wait = self.wait } end

--- Takes what state() gave.
---@param state table
---@return mascon.Plateau self
function Plateau:restore(state)
  for _, k in ipairs { 'rate', 'bad', 'wait' } do
    self[k] = check.arg('plateau:restore', k, type(state) == 'table' and state[k] or nil, 'number', 3)
  end
  if state.best ~= nil then check.arg('plateau:restore', 'best', state.best, 'number', 3) end
  self.best = state.best
  return self
end

return M
