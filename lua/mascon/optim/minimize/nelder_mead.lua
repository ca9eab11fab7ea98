-- nelder_mead.lua - the simplex method of Nelder and Mead.
--
-- A simplex of n + 1 points is reflected, expanded, contracted or shrunk, by comparisons of values only. Each step asks
-- for one point, the first one and a shrinking for n + 1 and n. Holds the moves and their stopping.
--
-- Source: A simplex method for function minimization, 1965, in the form of Lagarias and others, 1998, section 2;
-- adaptive factors: Implementing the Nelder-Mead simplex algorithm with adaptive parameters, 2012. Stopping and the
-- first simplex are SciPy's.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local ask = require 'mascon.optim.ask'
local objective = require 'mascon.optim.objective'
local parameters = require 'mascon.optim.parameters'
local methods, F = tensor.methods, op.functions
local error = check.error
local M = {}

local method = { name = 'nelder-mead' }

M.OPTS = {
  xatol = { nil, 'number >= 0' }, fatol = { nil, 'number >= 0' }, adaptive = { false, 'bool' },
  initial_simplex = { nil, 'any' }, state = { nil, 'table' },
}

local function limited(s, x)
  if not s.low then return x end
  return F.clip(x, s.low, s.high)
end

--- The first simplex: x0 and a step along each axis, 5 % of the coordinate or 0.00025.
local function first_simplex(s, x)
  local rows = { x }
  for i = 1, s.n do
    local y = methods.copy(x)
    local here = x[i]:item()
    y[i] = here ~= 0 and 1.05 * here or 0.00025
    rows[i + 1] = y
  end
  local sim = F.stack(rows)
  if s.low then -- a step out of the bounds is mirrored
    sim = F.where(F.gt(sim, s.high), F.subtract(F.multiply(s.high, 2), sim), sim)
    sim = F.clip(sim, s.low, s.high)
  end
  return sim
end

--- A fresh state. self: x [n], low, high; o: options.
function M.start(fname, self, o)
  local n, x = self.x:numel(), tensor.hosted(self.x)
  local s = { n = n, on = self.on or ask.device(self.x), low = self.low and tensor.hosted(self.low),
    high = self.high and tensor.hosted(self.high), phase = 'simplex', xatol = o.xatol or o.tol or 1e-4,
    fatol = o.fatol or o.tol or 1e-4 }
  s.maxiter = o.maxiter or (o.maxfev and math.huge or 200 * n)
  s.maxfev = o.maxfev or (o.maxiter and math.huge or 200 * n)
  if o.adaptive then s.rho, s.chi, s.psi, s.sigma = 1, 1 + 2 / n, 0.75 - 1 / (2 * n), 1 - 1 / n
  else s.rho, s.chi, s.psi, s.sigma = 1, 2, 0.5, 0.5 end
  if o.initial_simplex then
    local sim = tensor.hosted(op.operand(fname, o.initial_simplex, 3))
    if sim.ndim ~= 2 or sim.shape[1] ~= n + 1 or sim.shape[2] ~= n then
      error(('%s: initial_simplex is %s; give %d points of %d coordinates'):format(fname,
        tensor.describe(sim), n + 1, n), 3)
    end
    s.sim = limited(s, methods.to(sim, x.dtype))
  else
    s.sim = first_simplex(s, x)
  end
  return s
end

--- Puts the simplex in the order of its values; equal values keep their order.
local function order(s)
  local place = {}
  for i = 1, #s.f do place[i] = i end
  local f = s.f
  table.sort(place, function(a, b)
    if f[a] ~= f[b] then return f[a] < f[b] end
    return a < b
  end)
  local sorted = {}
  for i, p in ipairs(place) do sorted[i] = f[p] end
  s.f = sorted
  s.sim = F.take(s.sim, op.from_table(place, 'i64'), 1)
end

local function converged(s)
  local n = s.n
  if not (math.abs(s.f[n + 1] - s.f[1]) <= s.fatol) then return false end
  return F.max(F.abs(F.subtract(s.sim[{ { 2, n + 1 } }], s.sim[1]))):item() <= s.xatol
end

--- (1 + c) mean - c worst of the others.
local function along(s, c)
  local n = s.n
  local mean = F.mean(s.sim[{ { 1, n } }], 1)
  return limited(s, F.fma(s.sim[n + 1], -c, F.multiply(mean, 1 + c)))
end

function method.ask(s)
  local n = s.n
  if s.phase == 'simplex' then return s.sim end
  if s.phase == 'shrink' then
    local best = s.sim[1]
    return limited(s, F.add(F.multiply(F.subtract(s.sim[{ { 2, n + 1 } }], best), s.sigma), best))
  end
  local c = ({ reflect = s.rho, expand = s.rho * s.chi, outside = s.psi * s.rho, inside = -s.psi })[s.phase]
  return methods.reshape(along(s, c), { 1, n })
end

local function replace(s, x, f)
  s.sim[s.n + 1] = x
  s.f[s.n + 1] = f
end

--- The end of an iteration: order, stop or go on.
local function finish(s)
  order(s)
  s.phase = 'reflect'
  if converged(s) then s.status = 0 end
  return true
end

function method.tell(s, X, list)
  local n, phase = s.n, s.phase
  if phase == 'simplex' then
    s.sim, s.f = methods.copy(X), list
    order(s)
    s.phase = 'reflect'
    if converged(s) then s.status = 0 end
    return false
  elseif phase == 'shrink' then
    s.sim[{ { 2, n + 1 } }] = X
    for i = 1, n do s.f[i + 1] = list[i] end
    return finish(s)
  end
  local x, f = X[1], list[1]
  if phase == 'reflect' then
    if f < s.f[1] then
      s.phase, s.reflected, s.f_reflected = 'expand', methods.copy(x), f
      return false
    elseif f < s.f[n] then
      replace(s, x, f)
      return finish(s)
    end
    s.phase, s.reflected, s.f_reflected = f < s.f[n + 1] and 'outside' or 'inside', methods.copy(x), f
    return false
  end
  local better
  if phase == 'expand' then
    if f < s.f_reflected then replace(s, x, f) else replace(s, s.reflected, s.f_reflected) end
    better = true
  elseif phase == 'outside' then better = f <= s.f_reflected
  else better = f < s.f[n + 1] end
  if not better then
    s.phase = 'shrink'
    return false
  end
  if phase ~= 'expand' then replace(s, x, f) end
  return finish(s)
end

--- Runs the method on an objective.
function M.run(self, o)
  return ask.drive(self, ask.object(self.fname, method, o, function() return M.start(self.fname, self, o) end))
end

local OPTS = { bounds = { nil, 'any' }, maxiter = { nil, 'integer >= 0' }, maxfev = { nil, 'integer >= 1' },
  tol = { nil, 'number >= 0' } }
for k, v in pairs(M.OPTS) do OPTS[k] = v end

--- The simplex method of Nelder and Mead as an object that is asked for points and told their values.
---
--- opt:ask() gives points [k, n] (n + 1 at first, then one, n after a shrinking), opt:tell(points, values) takes their
--- values, until opt:done(); opt:result() is { x, fun, nit, nfev, success, status, message }; opt:state() a plain table
--- that goes on as { state = it } with the same bits.
---
--- x0: f32|f64 [n] or a list. Options: xatol, fatol (1e-4): it stops when both the simplex and its values are as small;
--- tol sets both · maxiter, maxfev (200 n) · adaptive (false): factors by the dimension · initial_simplex [n + 1, n] ·
--- bounds: { low, high } or n pairs: points are moved onto them · state. Values that are NaN count as infinite. Errors:
--- shapes that do not fit; points told that were not asked for.
--- Source: A simplex method for function minimization, 1965; SciPy optimize.minimize (Nelder-Mead).
---     local opt = mc.optim.nelder_mead({ 3, 4 })
---     while not opt:done() do local x = opt:ask() opt:tell(x, mc.sum(mc.square(x), 2)) end
---     opt:result().success  --> true
---@param x0 any
---@param opts? table
---@return mascon.Asker
function M.nelder_mead(x0, opts)
  local o = check.opts('optim.nelder_mead', opts, OPTS, 3)
  return ask.object('optim.nelder_mead', method, o, function()
    local x = parameters.ravel('optim.nelder_mead', 'x0', x0)
    local self = { on = ask.device(x), x = tensor.hosted(x) }
    if o.bounds ~= nil then
      self.low, self.high = objective.bounds('optim.nelder_mead', o.bounds, x:numel(), x.dtype,
        function(what, v) return tensor.hosted((parameters.ravel('optim.nelder_mead', what, v))) end)
      if self.low then self.x = F.clip(self.x, self.low, self.high) end
    end
    return M.start('optim.nelder_mead', self, o)
  end)
end

return M
