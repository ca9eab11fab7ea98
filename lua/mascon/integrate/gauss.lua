-- gauss.lua - Gauss-Legendre quadrature of a given number of points.
--
-- Holds nodes and weights.
local mc = require 'mascon.array'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local create = require 'mascon.array.create'
local op = require 'mascon.core.op'
local scalar = require 'mascon.optim.scalar'
local error = check.error
local F = op.functions
local M = {}

--- Values and slopes of the Legendre polynomial of degree n at x, by its recurrence.
local function legendre(n, x)
  local before, now = F.add(F.multiply(x, 0), 1), x
  for k = 2, n do
    before, now = now, F.divide(F.subtract(F.multiply(F.multiply(x, now), 2 * k - 1), F.multiply(before, k - 1)), k)
  end
  if n == 0 then return before, F.multiply(x, 0) end
  return now, F.divide(F.multiply(F.subtract(F.multiply(x, now), before), n), F.subtract(F.square(x), 1))
end

-- Newton's steps at most, and a last step: the error that it leaves is n^2 times its square, the most at the ends
local STEPS, CLOSE = 6, 1e-13

--- Nodes and weights of n points on [-1, 1], exact for polynomials up to degree 2 n - 1.
---
--- Zeros of the Legendre polynomial by Newton from an asymptotic guess; w = 2 / ((1 - x^2) P'(x)^2).
--- n: 1 to 10000. Source: Fast and accurate computation of Gauss-Legendre quadrature nodes and weights, 2013, section
--- 3; NumPy polynomial.legendre.leggauss.
---     mc.integrate.leggauss(2)  --> f64[2]@cpu { -0.5774, 0.5774 }, f64[2]@cpu { 1.0000, 1.0000 }
---@param n integer
---@return any x f64 [n]
---@return any w f64 [n]
function M.leggauss(n)
  check.arg('integrate.leggauss', 'n', n, 'integer >= 1', 3)
  if n > 10000 then error(('integrate.leggauss: n is %d; at most 10000 points'):format(n), 2) end
  if n == 1 then return op.from_table { 0 }, op.from_table { 2 } end
  -- those below 0, and 0; the others mirror them. A guess good to the fourth order, after Tricomi
  local half = math.ceil(n / 2)
  local theta = F.divide(F.multiply(F.subtract(F.multiply(create.arange(1, half), 4), 1), math.pi), 4 * n + 2)
  local x = F.multiply(F.cos(theta), -(1 - (n - 1) / (8 * n ^ 3)))
  for _ = 1, STEPS do
    local p, d = legendre(n, x)
    local step = F.divide(p, d)
    x = F.subtract(x, step)
    if F.max(F.abs(step)):item() < CLOSE then break end
  end
  local odd = n % 2 == 1
  local below = odd and x[{ { 1, half - 1 } }] or x
  if odd then x = F.concat({ below, op.from_table { 0 } }, 1) end
  local _, d = legendre(n, x)
  local w = F.divide(2, F.multiply(F.subtract(1, F.square(x)), F.square(d)))
  local first = odd and w[{ { 1, half - 1 } }] or w
  return F.concat({ x, F.negative(mc.flip(below)) }, 1), F.concat({ w, mc.flip(first) }, 1)
end

local OPTS = { n = { 5, 'integer >= 1' } }

--- The integral of f from a to b by n Gauss-Legendre points.
---
--- f: takes the points as a tensor f64 [n] and gives a tensor [..., n]. Option: n (5). Result: a tensor [...], 0-d for
--- one function; exact for polynomials up to degree 2 n - 1. Differentiable. Errors: infinite ends; f gives another
--- number of values.
--- Source: SciPy integrate.fixed_quad.
---     mc.integrate.fixed_quad(function(x) return x ^ 8 end, 0, 1)  --> f64[]@cpu 0.11111111111111
---@param f fun(x: any): any
---@param a number
---@param b number
---@param opts? table
---@return any
function M.fixed_quad(f, a, b, opts)
  local fname = 'integrate.fixed_quad'
  scalar.callable(fname, 'f', f)
  check.arg(fname, 'a', a, 'number', 3)
  check.arg(fname, 'b', b, 'number', 3)
  local o = check.opts(fname, opts, OPTS, 3)
  if not (math.abs(a) < math.huge and math.abs(b) < math.huge) then
    error(('%s: the ends are %g and %g; use quad for infinite ranges'):format(fname, a, b), 2)
  end
  local x, w = M.leggauss(o.n)
  local y = f(F.add(F.multiply(F.add(x, 1), (b - a) / 2), a))
  if not tensor.is(y) or y.ndim < 1 or y.shape[y.ndim] ~= o.n then
    error(('%s: f gave %s for %d points; it must give a value for each'):format(fname,
      tensor.is(y) and tensor.describe(y) or check.show(y), o.n), 2)
  end
  return F.multiply(F.matmul(y, w), (b - a) / 2)
end

return M
