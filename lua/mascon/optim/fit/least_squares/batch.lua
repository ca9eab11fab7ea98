-- batch.lua - many small least-squares problems at once, each with its own damping and its own end.
--
-- Levenberg-Marquardt on normal equations: a step of all problems is a few ops over the batch, whatever their number.
-- Problems that ended keep their values while others go on, so that a problem's result does not depend on its
-- neighbours. Holds the damping and the projection onto bounds.
--
-- Source: More, The Levenberg-Marquardt algorithm: implementation and theory, 1978 (scaling); Nielsen, Damping
-- parameter in Marquardt's method, 1999; Kanzow, Yamashita and Fukushima, Levenberg-Marquardt methods with strong
-- local convergence properties for solving nonlinear equations with convex constraints, 2004 (projection).
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local difference = require 'mascon.optim.fit.least_squares.difference'
local loss = require 'mascon.optim.fit.least_squares.loss'
local error = check.error
local F = op.functions
local M = {}

local INF = math.huge
local LAMBDA, LEAST, MOST = 1e-3, 1e-14, 1e32 -- damping at first; its range, in units of the scaled diagonal
-- least curvature of a robust residual relative to its weight: damping alone is a poor guard against none
local CURVED = 0.25

local OPTS = {
  jac = { '3-point', 'string | function' }, bounds = { nil, 'table' }, ftol = { 1e-8, 'number >= 0' },
  xtol = { 1e-8, 'number >= 0' }, gtol = { 1e-8, 'number >= 0' }, loss = { 'linear', 'string | function' },
  f_scale = { 1, 'number > 0' }, max_nfev = { nil, 'integer >= 1' }, callback = { nil, 'function' },
}

local function column(x) return x:expand_dims(-1) end
local function last(x) return F.sum(x, -1) end

--- A bound as a tensor that broadcasts over [b, n].
local function bound(fname, what, v, x)
  if type(v) == 'number' then return v end
  v = op.operand(fname, v, 3)
  local n = v.ndim
  if n > 2 or n > 0 and v.shape[n] ~= x.shape[2] and v.shape[n] ~= 1
    or n == 2 and v.shape[1] ~= x.shape[1] and v.shape[1] ~= 1 then
    error(('%s: the %s bound is %s for x0 %s; give a number, [n] or [b, n]'):format(fname, what, tensor.describe(v),
      tensor.describe(x)), 3)
  end
  return v:to 'f64'
end

---@class mascon.Batch
local Batch = {}
Batch.__index = Batch

--- Residuals [b, m] and costs [b], infinite where a residual is not finite.
function Batch:at(x)
  self.nfev = self.nfev + 1
  local r = self.f(x)
  if not tensor.is(r) or r.ndim ~= 2 or r.shape[1] ~= x.shape[1] or tensor.kind[r.dtype] == 'c' then
    error(('%s: the function gave %s for x %s; it must give real residuals [b, m]'):format(self.fname,
      tensor.is(r) and tensor.describe(r) or check.show(r), tensor.describe(x)), 3)
  end
  if r.dtype ~= 'f64' then r = r:to 'f64' end
  local each = F.square(r)
  if self.loss then each = (self.loss(F.square(r / self.f_scale))) * self.f_scale ^ 2 end
  local cost = last(each) * 0.5
  return r, F.where(F.isfinite(cost), cost, INF)
end

--- Derivatives [b, m] by the variable of a unit vector e with steps h [b, n], and the steps that were taken [b].
local function quotient(self, x, r, h, e)
  local up, down = F.minimum(x + h, self.high), F.maximum(x - h, self.low)
  if self.jac == '3-point' then
    local a, b = x + (up - x) * e, x + (down - x) * e
    local step = last((a - b) * e)
    return ((self:at(a)) - (self:at(b))) / column(step), step
  end
  local a = x + (F.where(F.gt(up - x, x - down), up, down) - x) * e
  local step = last((a - x) * e)
  return ((self:at(a)) - r) / column(step), step
end

--- Derivatives [b, m, n] by differences within the bounds, all problems at once. A first step that is lost in the
--- rounding of f grows, as in difference.lua.
local function differences(self, x, r)
  local n, columns, first = x.shape[2], {}, self.sizes == nil
  self.sizes = first and F.abs(x) or F.maximum(self.sizes, F.abs(x))
  local relative = difference.RELATIVE[self.jac]
  local h = F.maximum(F.maximum(F.abs(x), self.sizes * 1e-4) * relative, self.least or 0)
  h = F.where(F.gt(h, 0), h, relative)
  local shortest = h
  local unit = F.eye(n, { device = x.device })
  for j = 1, n do
    local step
    columns[j], step = quotient(self, x, r, h, unit[j])
    while first do
      local seen = F.gt(F.abs(columns[j]) * column(F.abs(step)), F.abs(r) * difference.LOST)
      local own = last(h * unit[j])
      local lost = F.logical_and(F.logical_not(F.any(seen, -1)), F.lt(own, relative))
      if not F.any(lost) then break end
      local larger = F.minimum(own * difference.GROWTH, relative)
      h = F.where(F.logical_and(column(lost), F.gt(unit[j], 0)), column(larger), h)
      columns[j], step = quotient(self, x, r, h, unit[j])
    end
  end
  if first then self.least = F.where(F.gt(h, shortest), h, 0) end
  return F.stack(columns, -1)
end

--- The function x -> [b, m, n] of derivatives by one forward run for each variable, compiled.
local function forward(f, n)
  local transform = require 'mascon.transform'
  local unit = F.eye(n)
  return require('mascon.compile').compile(function(x)
    local columns = {}
    for j = 1, n do
      local _, slope = transform.jvp(f, { x }, { x * 0 + unit[j] })
      columns[j] = slope
    end
    return F.stack(columns, -1)
  end)
end

--- J [b, m, n] and scaled residuals; A = J^T J and g = J^T r.
function Batch:linear(x, r)
  self.njev = self.njev + 1
  local J
  if type(self.jac) == 'string' then
    local calls = self.nfev
    J = differences(self, x, r)
    self.nfev = calls
  else
    J = self.jac(x)
    local fine = tensor.is(J) and J.ndim == 3 and J.shape[1] == x.shape[1] and J.shape[2] == r.shape[2]
      and J.shape[3] == x.shape[2]
    if not fine then
      error(('%s: jac gave %s; it must give f64[%d,%d,%d]'):format(self.fname,
        tensor.is(J) and tensor.describe(J) or check.show(J), x.shape[1], r.shape[2], x.shape[2]), 3)
    end
    J = J:to 'f64'
  end
  local scaled, row = loss.rows(self.loss, r, self.f_scale, CURVED)
  if row then J = J * column(row) end
  local Jt = J.mT
  return F.matmul(Jt, J), F.matmul(Jt, column(scaled)):reshape(x.shape)
end

--- Least squares for many problems of one form at once: row k of x has the least cost of row k of f(x).
---
---   f: function from x, f64 [b, n], to residuals [b, m]; row k of the result may depend on row k of x only
---   x0: f64 [b, n]; bounds: { low, high }, each a number, [n] or [b, n]
---   jac: '3-point' (default) or '2-point' differences, 'forward' (derivatives of f, compiled), or a function x -> [b,
---   m, n] loss, f_scale, ftol, xtol, gtol: as in least_squares, for each problem; max_nfev (100 n) counts calls of f
---   without those for differences callback({ x, cost, iteration, running }), which ends the run by returning true
---
--- By normal equations: derivatives of a condition above 1e8 need least_squares, problem by problem.
--- Result: a table of x [b, n], cost [b], fun [b, m], normal (J^T J, [b, n, n]; its inverse is the covariance at unit
--- variance), grad [b, n], optimality [b] (largest |step of the projected gradient|), active_mask (i64 [b, n]), status
--- (i64 [b], as in least_squares; -4 residuals not finite at x0), success (bool [b]), nfev, njev, nit.
--- Errors: shapes that do not fit; x0 outside of its bounds.
--- Source: More, 1978; Nielsen, Damping parameter in Marquardt's method, 1999.
---     local t, rate = mc.linspace(0, 1, 9), mc.tensor { { 1 }, { 2 } }
---     local r = mc.optim.least_squares_batch(function(x) return mc.exp(-x * t) - mc.exp(-rate * t) end,
---       mc.ones { 2, 1 } / 2)
---     r.x:round()  --> f64[2,1]@cpu { { 1 }, { 2 } }
---@param f fun(x: mc.tensor): mc.tensor
---@param x0 mc.tensor
---@param opts? table
---@return table
function M.least_squares_batch(f, x0, opts)
  local fname = 'least_squares_batch'
  if type(f) ~= 'function' then
    error(('%s: the first argument is %s; give a function of x [b, n]'):format(fname, check.show(f)), 2)
  end
  local o = check.opts(fname, opts, OPTS, 3)
  local x = op.operand(fname, x0, 2)
  if x.ndim ~= 2 or tensor.kind[x.dtype] == 'c' or x:numel() == 0 then
    error(('%s: x0 is %s; give a row of real numbers for each problem, [b, n]'):format(fname, tensor.describe(x)), 2)
  end
  x = x:to('f64'):copy()
  local b, n = x.shape[1], x.shape[2]
  local limits = o.bounds or { -INF, INF }
  local low, high = bound(fname, 'lower', limits[1], x), bound(fname, 'upper', limits[2], x)
  if not F.all(F.logical_and(F.ge(x, low), F.le(x, high))) then
    error(('%s: x0 is not inside its bounds everywhere; start inside'):format(fname), 2)
  end
  local jac = o.jac
  if type(jac) == 'string' and jac ~= '2-point' and jac ~= '3-point' then
    if jac ~= 'forward' then
      error(("%s: option jac is '%s'; choose 2-point, 3-point or forward, or give a function"):format(fname, jac), 2)
    end
    jac = forward(f, n)
  end
  local self = setmetatable({ fname = fname, f = f, jac = jac, loss = loss.resolve(fname, o.loss), f_scale = o.f_scale,
    low = low, high = high, nfev = 0, njev = 0 }, Batch)
  local max_nfev = o.max_nfev or 100 * n

  local r, cost = self:at(x)
  local bad = F.logical_not(F.isfinite(cost))
  local status = F.where(bad, -4, create.zeros({ b }, { dtype = 'i64', device = x.device })):to 'i64'
  local running = F.eq(status, 0)
  local A, g = self:linear(x, F.where(F.isfinite(r), r, 0))
  local lambda, nu = create.full({ b }, LAMBDA, { device = x.device }), create.full({ b }, 2, { device = x.device })
  local D = F.diagonal(A, { axis1 = 2, axis2 = 3 })
  local eye, iteration = F.eye(n, { device = x.device }), 0
  local optimality
  local function end_where(mask, value)
    status = F.where(F.logical_and(running, mask), value, status):to 'i64'
    running = F.logical_and(running, F.logical_not(mask))
  end
  while true do
    optimality = F.max(F.abs(F.clip(x - g, low, high) - x), -1)
    end_where(F.lt(optimality, o.gtol), 1)
    end_where(F.logical_not(F.isfinite(last(last(A)))), -3)
    if not F.any(running) or self.nfev >= max_nfev then break end
    -- variables that the gradient presses against a bound stay
    local pressed = F.logical_or(F.logical_and(F.le(x, low), F.gt(g, 0)), F.logical_and(F.ge(x, high), F.lt(g, 0)))
    local free = F.logical_not(pressed)
    D = F.maximum(D, F.diagonal(A, { axis1 = 2, axis2 = 3 }))
    local S = F.where(F.logical_and(free, F.gt(D, 0)), 1 / F.sqrt(F.where(F.gt(D, 0), D, 1)), 0)
    S = F.where(column(running), S, 0) -- those that ended are solved as 0 = 0
    local matrix = F.where(F.isfinite(A), A, 0) * column(S) * S:expand_dims(-2)
    matrix = matrix + eye * column(column(F.where(running, lambda, 1)))
    local rhs = F.where(F.isfinite(g), g, 0) * S
    local p = F.solve(matrix, column(-rhs)):reshape { b, n } * S
    local x_new = F.clip(x + p, low, high)
    local h = x_new - x
    local predicted = -(last(g * h) + 0.5 * last(h * F.matmul(A, column(h)):reshape { b, n }))
    local r_new, cost_new = self:at(x_new)
    local actual = cost - cost_new
    local ratio = F.where(F.gt(predicted, 0), actual / F.where(F.gt(predicted, 0), predicted, 1), 0)
    local accept = F.logical_and(running, F.logical_and(F.gt(ratio, 1e-4), F.gt(actual, 0)))
    local length, size = F.sqrt(last(F.square(h))), F.sqrt(last(F.square(x)))
    local by_f = F.logical_and(F.lt(actual, cost * o.ftol), F.logical_and(F.gt(ratio, 0.25), F.ge(actual, 0)))
    local by_x = F.lt(length, (size + o.xtol) * o.xtol)
    local factor = F.maximum(1 - (2 * ratio - 1) ^ 3, 1 / 3)
    lambda = F.clip(F.where(accept, lambda * factor, lambda * nu), LEAST, MOST)
    nu = F.where(accept, 2, nu * 2)
    local take = column(accept)
    x, r, cost = F.where(take, x_new, x), F.where(take, r_new, r), F.where(accept, cost_new, cost)
    iteration = iteration + 1
    if F.any(accept) then A, g = self:linear(x, F.where(F.isfinite(r), r, 0)) end
    end_where(F.logical_and(by_f, by_x), 4)
    end_where(by_f, 2)
    end_where(by_x, 3)
    if o.callback and o.callback { x = x, cost = cost, iteration = iteration, running = running } == true then
      end_where(running, -2)
      break
    end
  end
  local mask = F.where(F.le(x, low), -1, F.where(F.ge(x, high), 1, 0)):to 'i64'
  return {
    x = x, cost = cost, fun = r, normal = A, grad = g, optimality = optimality, active_mask = mask, status = status,
    success = F.gt(status, 0), nfev = self.nfev, njev = self.njev, nit = iteration,
  }
end

return M
