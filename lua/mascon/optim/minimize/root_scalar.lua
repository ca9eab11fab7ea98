-- root_scalar.lua - roots of functions of one real number.
--
-- Holds the brackets and the steps. A method that does not get there gives nil and the reason.
local check = require 'mascon.core.check'
local scalar = require 'mascon.optim.scalar'
local error = check.error
local M = {}

local BRACKET = { xtol = { 2e-12, 'number > 0' }, rtol = { 4 * 2 ^ -52, 'number >= 8.8e-16' },
  maxiter = { 100, 'integer >= 0' } }

--- f as a counted function of numbers.
local function counted(fname, f)
  scalar.callable(fname, 'f', f)
  local count = { calls = 0 }
  return function(x)
    count.calls = count.calls + 1
    return scalar.number(fname, 'f', f(x))
  end, count
end

local function ends(fname, f, a, b)
  check.arg(fname, 'a', a, 'number', 4)
  check.arg(fname, 'b', b, 'number', 4)
  local fa, fb = f(a), f(b)
  if not (fa * fb <= 0) then
    error(('%s: f is %.6g at a = %.6g and %.6g at b = %.6g; the signs must differ'):format(fname, fa, a, fb, b), 3)
  end
  return fa, fb
end

local function found(x, iterations, count)
  return x, { root = x, converged = true, iterations = iterations, function_calls = count.calls }
end
local function lost(fname, why) return nil, ('%s: %s'):format(fname, why) end

--- The root of f between a and b, where its signs differ, by Brent's method: interpolation, held by bisection.
---
--- f: number -> number (or a tensor of one element). Options: xtol (2e-12), rtol (8.9e-16): the root is known to xtol +
--- rtol |root| · maxiter (100).
--- Result: the root, and { root, converged, iterations, function_calls }; or nil and the reason.
--- Errors: the signs at a and b do not differ. Source: Algorithms for minimization without derivatives, 1973, chapter
--- 4; SciPy optimize.brentq.
---     mc.optim.brentq(function(x) return x ^ 2 - 2 end, 0, 2)
---       --> 1.4142135623731, { converged = true, function_calls = 9, iterations = 7, root = 1.4142135623731 }
---@param f fun(x: number): number
---@param a number
---@param b number
---@param opts? table
---@return number|nil root, table|string info
function M.brentq(f, a, b, opts)
  local fname = 'optim.brentq'
  local o = check.opts(fname, opts, BRACKET, 3)
  local g, count = counted(fname, f)
  local fa, fb = ends(fname, g, a, b)
  if fa == 0 then return found(a, 0, count) end
  if fb == 0 then return found(b, 0, count) end
  -- b: the best point, a: the one before, c: on the other side of the root
  local c, fc, step, before = a, fa, b - a, b - a
  for i = 1, o.maxiter do
    if (fa > 0) ~= (fb > 0) then
      c, fc = a, fa
      step = b - a
      before = step
    end
    if math.abs(fc) < math.abs(fb) then
      a, b, c = b, c, b
      fa, fb, fc = fb, fc, fb
    end
    local delta = (o.xtol + o.rtol * math.abs(b)) / 2
    local half = (c - b) / 2
    if fb == 0 or math.abs(half) < delta then return found(b, i - 1, count) end
    if math.abs(before) > delta and math.abs(fb) < math.abs(fa) then
      local try
      if a == c then try = -fb * (b - a) / (fb - fa) -- secant
      else -- inverse quadratic
        local da, dc = (fa - fb) / (a - b), (fc - fb) / (c - b)
        try = -fb * (fc * dc - fa * da) / (dc * da * (fc - fa))
      end
      if 2 * math.abs(try) < math.min(math.abs(before), 3 * math.abs(half) - delta) then before, step = step, try
      else before, step = half, half end
    else
      before, step = half, half
    end
    a, fa = b, fb
    b = b + (math.abs(step) > delta and step or half > 0 and delta or -delta)
    fb = g(b)
    if fb ~= fb then return lost(fname, ('f is nan at %.17g'):format(b)) end
  end
  return lost(fname, ('no root after %d iterations; the best point is %.17g'):format(o.maxiter, b))
end

--- The root of f between a and b, where its signs differ, by halving the interval.
---
--- Arguments, options, result and errors as for mc.optim.brentq. Source: SciPy optimize.bisect.
---     (mc.optim.bisect(function(x) return x ^ 3 - 8 end, 0, 3))  --> 1.9999999999995
---@param f fun(x: number): number
---@param a number
---@param b number
---@param opts? table
---@return number|nil root, table|string info
function M.bisect(f, a, b, opts)
  local fname = 'optim.bisect'
  local o = check.opts(fname, opts, BRACKET, 3)
  local g, count = counted(fname, f)
  local fa, fb = ends(fname, g, a, b)
  if fa == 0 then return found(a, 0, count) end
  if fb == 0 then return found(b, 0, count) end
  local width = b - a
  for i = 1, o.maxiter do
    width = width / 2
    local middle = a + width
    local fm = g(middle)
    if fm ~= fm then return lost(fname, ('f is nan at %.17g'):format(middle)) end
    if (fm > 0) == (fa > 0) and fm ~= 0 then a = middle end
    if fm == 0 or math.abs(width) < o.xtol + o.rtol * math.abs(middle) then return found(middle, i, count) end
  end
  return lost(fname, ('no root after %d iterations; it lies between %.17g and %.17g'):format(o.maxiter,
    math.min(a, a + width), math.max(a, a + width)))
end

local NEWTON = {
  fprime = { nil, 'function' }, fprime2 = { nil, 'function' }, x1 = { nil, 'number' }, tol = { 1.48e-8, 'number > 0' },
  rtol = { 0, 'number >= 0' }, maxiter = { 50, 'integer >= 1' },
}

--- A root of f near x0: Newton's method with fprime, Halley's with fprime2 too, the secant method without.
---
--- f: number -> number. Options: fprime, fprime2: first and second derivative · x1: second point of the secant (x0 +
--- 1e-4 (1 + |x0|)) · tol (1.48e-8), rtol (0): it stops when a step is at most tol + rtol |x| · maxiter (50). Result:
--- as for mc.optim.brentq.
--- Source: SciPy optimize.newton; Halley: Householder's Numerical treatment of a single nonlinear equation, 1970.
---     (mc.optim.newton(function(x) return x ^ 3 - 1 end, 1.5, { fprime = function(x) return 3 * x ^ 2 end }))  --> 1
---@param f fun(x: number): number
---@param x0 number
---@param opts? table
---@return number|nil root, table|string info
function M.newton(f, x0, opts)
  local fname = 'optim.newton'
  check.arg(fname, 'x0', x0, 'number', 3)
  local o = check.opts(fname, opts, NEWTON, 3)
  if o.fprime2 and not o.fprime then error(fname .. ': fprime2 without fprime; give both', 2) end
  local g, count = counted(fname, f)
  local function derivative(what, d, x)
    count.calls = count.calls + 1
    return scalar.number(fname, what, d(x))
  end
  local function near(a, b) return math.abs(a - b) <= o.tol + o.rtol * math.abs(b) end
  if o.fprime then
    local x = x0
    for i = 1, o.maxiter do
      local fx = g(x)
      if fx == 0 then return found(x, i - 1, count) end
      local slope = derivative('fprime', o.fprime, x)
      if slope == 0 then return lost(fname, ('the derivative is 0 at %.17g'):format(x)) end
      local step = fx / slope
      if o.fprime2 then
        local adjust = 1 - step * derivative('fprime2', o.fprime2, x) / slope / 2
        if math.abs(adjust) > 0.5 then step = step / adjust end
      end
      local y = x - step
      if y ~= y then return lost(fname, ('f is nan at %.17g'):format(x)) end
      if near(y, x) then return found(y, i, count) end
      x = y
    end
    return lost(fname, ('no root after %d iterations; the last point is %.17g'):format(o.maxiter, x))
  end
  local a = x0
  local b = o.x1 or x0 * (1 + 1e-4) + (x0 >= 0 and 1e-4 or -1e-4)
  if a == b then error(fname .. ': x1 equals x0; give another', 2) end
  local fa, fb = g(a), g(b)
  if math.abs(fb) < math.abs(fa) then a, b, fa, fb = b, a, fb, fa end
  for i = 1, o.maxiter do
    local y
    if fb == fa then
      if b ~= a then return lost(fname, ('f is flat between %.17g and %.17g'):format(a, b)) end
      return found((a + b) / 2, i, count)
    end
    if math.abs(fb) > math.abs(fa) then
      y = (-fa / fb * b + a) / (1 - fa / fb)
    else
      y = (-fb / fa * a + b) / (1 - fb / fa)
    end
    if y ~= y then return lost(fname, ('f is nan at %.17g'):format(b)) end
    if near(y, b) then return found(y, i, count) end
    a, fa = b, fb
    b, fb = y, g(y)
  end
  return lost(fname, ('no root after %d iterations; the last point is %.17g'):format(o.maxiter, b))
end

return M
