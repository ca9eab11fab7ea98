-- objective.lua - a user's function as minimisers see it: a number, and perhaps a gradient, at a flat vector.
--
-- Holds counting, the forms of derivatives (the user's, those of mc.value_and_grad, differences), the checks of what
-- the user's functions give, the callback, the progress line, and the table of results.
--
-- A value that is NaN or infinite is no error but at the start: methods take it for a place outside the domain.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local parameters = require 'mascon.optim.parameters'
local scalar = require 'mascon.optim.scalar'
local watch = require 'mascon.optim.watch'
local error = check.error
local is, methods, F = tensor.is, tensor.methods, op.functions
local M = {}

--- Relative steps of differences: the root (cube root) of the precision balances rounding and truncation.
local STEP = { ['2-point'] = { f64 = 2 ^ -26, f32 = 2 ^ -11.5 },
  ['3-point'] = { f64 = 2 ^ (-52 / 3), f32 = 2 ^ (-23 / 3) } }

M.MESSAGES = {
  [0] = 'converged', [1] = 'the largest number of iterations is reached',
  [2] = 'no lower value was found along the search direction; the precision of the function may be reached',
  [3] = 'the function became NaN', [4] = 'the largest number of evaluations is reached',
  [99] = 'the callback stopped it',
}

--- Options every minimiser has.
M.OPTS = {
  jac = { nil, 'any' }, callback = { nil, 'function' }, progress = { false, 'any' }, maxiter = { nil, 'integer >= 0' },
  maxfev = { nil, 'integer >= 1' },
  tol = { nil, 'number >= 0' }, bounds = { nil, 'any' }, args = { nil, 'table' }, compile = { false, 'bool' },
}

---@class mascon.Objective
local Objective = {}
Objective.__index = Objective

local function number(self, what, v) return scalar.number(self.fname, what, v) end

--- A vector like x from what a user's function gave: a tree of the form of x0, or a list of numbers.
function Objective:vector(what, v)
  local flat = parameters.vector(v, self.x._device)
  if not flat then error(('%s: %s gave %s; it must give the form of x0'):format(self.fname, what, check.show(v)), 2) end
  if flat._device ~= self.x._device then
    error(('%s: %s gave %s, x0 is on %s; give it there'):format(self.fname, what, tensor.describe(flat),
      self.x.device), 2)
  end
  if flat:numel() ~= self.n then
    error(('%s: %s gave %s for %d parameters; it must give as many'):format(self.fname, what,
      tensor.describe(flat), self.n), 2)
  end
  return flat.dtype == self.dtype and flat or methods.to(flat, self.dtype)
end

--- What f takes; a copy of x, so that a function that writes into its argument does no harm.
local function arguments(self, x) return self.unravel(methods.copy(x)), unpack(self.args, 1, self.args.n) end

--- f at x.
---@return number
function Objective:value(x)
  self.nfev = self.nfev + 1
  return number(self, 'f', (self.f(arguments(self, x))))
end

--- Gradient by differences, f at x being known. One coordinate at a time, in the direction away from 0, and within the
--- bounds.
local function differences(self, x, fx)
  local scheme = self.scheme
  local relative, at = STEP[scheme][self.dtype], x:totable()
  local low, high = self.low and self.low:totable(), self.high and self.high:totable()
  local g = {}
  for i = 1, self.n do
    local here = at[i]
    local h = relative * math.max(1, math.abs(here)) * (here < 0 and -1 or 1)
    local moved = methods.copy(x)
    local function f(step)
      moved[i] = here + step
      return self:value(moved)
    end
    if scheme == '2-point' then
      if low and (here + h > high[i] or here + h < low[i]) then h = -h end
      local value = f(h)
      g[i] = (value - fx) / (moved[i]:item() - here) -- the step as the dtype holds it
    else
      local up, down = f(h), f(-h)
      g[i] = (up - down) / (2 * h)
    end
  end
  return tensor.moved(methods.to(op.from_table(g), self.dtype), x._device, 3)
end

--- Whether a first gradient of zeros is none: f computed with numbers taken out of x, so that nothing was there to
--- derive. Then differences take over. Where x0 is stationary, central differences see only their own error.
local function escaped(self, x, fx)
  self.scheme = '3-point'
  local g = differences(self, x, fx)
  self.scheme = nil
  if not (F.max(F.abs(g)):item() > (self.dtype == 'f32' and 1e-2 or 1e-6) * math.max(1, math.abs(fx))) then
    return false
  end
  self.form, self.scheme = 'differences', '2-point'
  return true
end

--- f and its gradient at x.
---@return number, any
function Objective:both(x)
  self.njev = self.njev + 1
  if self.form == 'differences' then
    local fx = self:value(x)
    return fx, differences(self, x, fx)
  elseif self.form == 'apart' then
    local fx = self:value(x)
    return fx, self:vector('jac', (self.jac(arguments(self, x))))
  end
  self.nfev = self.nfev + 1
  local fx, g
  if self.form == 'together' then
    fx, g = self.f(arguments(self, x))
    return number(self, 'f', fx), self:vector('f (second result)', g)
  end
  fx, g = self.derive(arguments(self, x))
  if type(fx) == 'number' then -- f left the tensors, so there is nothing to derive
    self.form, self.scheme = 'differences', '2-point'
    return fx, differences(self, x, fx)
  end
  fx, g = number(self, 'f', fx), self:vector('the gradient', g)
  if self.njev == 1 and not F.any(F.ne(g, 0)) and escaped(self, x, fx) then return fx, differences(self, x, fx) end
  return fx, g
end

--- The gradient at x.
function Objective:gradient(x)
  local form = self.form
  if form == 'apart' then
    self.njev = self.njev + 1
    return self:vector('jac', (self.jac(arguments(self, x))))
  end
  local _, g = self:both(x)
  return g
end

--- Product of the second derivative at x with p, g being the gradient there.
function Objective:curvature(x, g, p)
  self.nhev = self.nhev + 1
  if self.hessp then
    return self:vector('hessp',
      (self.hessp(self.unravel(methods.copy(x)), self.unravel(p), unpack(self.args, 1, self.args.n))))
  end
  if self.hess then
    if not self.matrix or not rawequal(self.matrix_at, x) then
      local h = self.hess(arguments(self, x))
      if not is(h) then h = tensor.moved(op.from_table(h), x._device, 3) end
      if h.ndim ~= 2 or h.shape[1] ~= self.n or h.shape[2] ~= self.n then
        error(('%s: hess gave %s for %d parameters; it must give a square matrix'):format(self.fname,
          tensor.describe(h), self.n), 2)
      end
      self.matrix, self.matrix_at = methods.to(h, self.dtype), x
    end
    return F.matmul(self.matrix, p)
  end
  if self.form == 'derived' then
    return self:vector('the second derivative',
      (self.product(self.unravel(x), self.unravel(p), unpack(self.args, 1, self.args.n))))
  end
  -- a difference of gradients, its length by the size of x
  local size = math.sqrt(F.matmul(p, p):item())
  if size == 0 then return F.multiply(p, 0) end
  local h = STEP['2-point'][self.dtype] * (1 + math.sqrt(F.matmul(x, x):item())) / size
  return F.divide(F.subtract(self:gradient(F.fma(p, h, x)), g), h)
end

--- One iteration more: true when the callback wants to stop.
function Objective:iterate(x, fx)
  self.nit = self.nit + 1
  if self.bar then self.bar:update(self.nit) end
  return self.callback ~= nil
    and self.callback(self.unravel(methods.copy(x)), { nit = self.nit, nfev = self.nfev, fun = fx }) == true
end

--- The table of results.
function Objective:result(x, fx, g, status, message)
  if self.bar then self.bar:done() end
  return {
    x = self.unravel(x), fun = fx, jac = g and self.unravel(g), nit = self.nit, nfev = self.nfev, njev = self.njev,
    nhev = self.nhev > 0 and self.nhev or nil,
    success = status == 0, status = status, message = message or M.MESSAGES[status],
  }
end

--- Bounds as two vectors: { low, high } of numbers or trees like x0, or a list of n pairs { low, high }; nil or mc.none
--- for an open side.
---@param device? integer number of their device (the CPU)
function M.bounds(fname, bounds, n, dtype, flat, device)
  local function pairs_of()
    if #bounds ~= n then return false end
    for i = 1, n do
      local b = bounds[i]
      if type(b) ~= 'table' or is(b) then return false end
      for k = 1, 2 do if b[k] ~= nil and b[k] ~= tensor.none and type(b[k]) ~= 'number' then return false end end
    end
    return true
  end
  local low, high
  if type(bounds) == 'table' and pairs_of() then
    low, high = {}, {}
    for i, b in ipairs(bounds) do
      low[i] = type(b[1]) == 'number' and b[1] or -math.huge
      high[i] = type(b[2]) == 'number' and b[2] or math.huge
    end
    low, high = tensor.moved(op.from_table(low), device or 0, 3), tensor.moved(op.from_table(high), device or 0, 3)
  elseif type(bounds) == 'table' and #bounds == 2 then
    local function side(v, open)
      if v == nil or v == tensor.none then v = open end
      if type(v) == 'number' then return tensor.empty(fname, { n }, dtype, 3, device):fill_(v) end
      return flat('bounds', v)
    end
    low, high = side(bounds[1], -math.huge), side(bounds[2], math.huge)
  elseif type(bounds) == 'table' and bounds[1] == nil then
    return nil
  else
    error(('%s: bounds are %s; give { low, high }, or one pair for each of the %d parameters'):format(fname,
      check.show(bounds), n), 3)
  end
  low, high = methods.to(low, dtype), methods.to(high, dtype)
  local wrong = F.flatnonzero(tensor.hosted(F.logical_not(F.le(low, high))))
  if wrong:numel() > 0 then
    local i = wrong[1]:item()
    error(('%s: bounds %d are %g and %g; the first must not exceed the second'):format(fname, i, low[i]:item(),
      high[i]:item()), 3)
  end
  return low, high
end

--- A progress line from the option: true, a label, or a mascon.Progress.
function M.bar(fname, progress, total)
  if not progress then return nil end
  if type(progress) == 'table' and progress.update and progress.done then return progress end
  return require 'mascon.base.progress'.new(total,
    { label = type(progress) == 'string' and progress or fname, unit = 'iterations' })
end

--- A user's function made ready.
---@param fname string
---@param f function
---@param x0 any tree of tensors, or a list of numbers
---@param o table options, checked
---@return mascon.Objective
function M.new(fname, f, x0, o)
  scalar.callable(fname, 'f', f)
  local self = setmetatable({ fname = fname, f = f, nfev = 0, njev = 0, nhev = 0, nit = 0, callback = o.callback,
    hess = o.hess, hessp = o.hessp }, Objective)
  self.x, self.unravel = parameters.ravel(fname, 'x0', x0)
  self.n, self.dtype = self.x:numel(), self.x.dtype
  self.args = { n = o.args and #o.args or 0, unpack(o.args or {}) }
  if not F.isfinite(self.x):all() then
    error(('%s: x0 is %s and holds NaN or infinity; find them with isfinite'):format(fname, tensor.describe(self.x)), 3)
  end
  local jac = o.jac
  if type(jac) == 'function' then self.form, self.jac = 'apart', jac
  elseif jac == true then self.form = 'together'
  elseif STEP[jac] then self.form, self.scheme = 'differences', jac
  elseif jac == nil or jac == false then
    self.form, self.derive = 'derived', require('mascon.transform').value_and_grad(f)
    function self.product(x, p, ...) return select(2, require('mascon.transform').hvp(f, x, p, ...)) end
    if o.compile then
      self.derive, self.product = require('mascon.compile').compile(self.derive),
        require('mascon.compile').compile(self.product)
    end
  else
    error(("%s: option jac is %s; give a function, true (f returns value and gradient), '2-point' or '3-point'"):format(
      fname, check.show(jac)), 3)
  end
  if o.compile then self.f = require('mascon.compile').compile(f) end
  if o.compile and self.jac then self.jac = require('mascon.compile').compile(self.jac) end
  if self.args.n > 0 then
    for _, name in ipairs { 'f', 'jac', 'derive', 'product', 'hess', 'hessp' } do
      if self[name] then self[name] = watch.leaves(fname, name == 'jac' and 'jac' or 'f', self[name], 2) end
    end
  end
  if o.bounds ~= nil then
    self.low, self.high =
      M.bounds(fname, o.bounds, self.n, self.dtype, function(what, v) return self:vector(what, v) end,
        self.x._device)
    if self.low then self.x = F.clip(self.x, self.low, self.high) end
  end
  self.bar = M.bar(fname, o.progress)
  return self
end

--- The value at the start must be a finite number. False when the gradient is none: there is no way to go then.
function M.starts(self, fx, g)
  if fx ~= fx or math.abs(fx) == math.huge then
    error(('%s: f is %s at x0; start where it is finite'):format(self.fname, tostring(fx)), 3)
  end
  return F.isfinite(g):all()
end

return M
