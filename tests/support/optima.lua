-- optima.lua - functions whose minima are known, for the specs and the bench of minimisers.
--
-- Each is { f = function of x [n], n = dimension or nil for any, low, high = usual box, x = minimiser or list of them,
-- fun = minimum }. Formulas and minima: A literature survey of benchmark functions for global optimization problems,
-- 2013. Holds them.
local mc = require 'mascon'
local M = {}

local function part(x, a, b) return x[{ { a, b } }] end
local function full(n, v) return mc.full({ n }, v) end

M.sphere = { f = function(x) return mc.sum(mc.square(x)) end, low = -5, high = 5,
  x = function(n) return full(n, 0) end, fun = 0 }
M.rosenbrock = { f = function(x)
  local n = x:numel()
  local a, b = part(x, 2, n), part(x, 1, n - 1)
  return mc.sum(mc.square(a - b * b) * 100 + mc.square(1 - b))
end, low = -2, high = 2, x = function(n) return full(n, 1) end, fun = 0 }
M.rastrigin = { f = function(x) return mc.sum(mc.square(x) - mc.cos(x * (2 * math.pi)) * 10 + 10) end, low = -5.12,
  high = 5.12, x = function(n) return full(n, 0) end, fun = 0 }
M.ackley = { f = function(x)
  return mc.exp(mc.sqrt(mc.mean(mc.square(x))) * -0.2) * -20 - mc.exp(mc.mean(mc.cos(x * (2 * math.pi))))
    + (20 + math.exp(1))
end, low = -32, high = 32, x = function(n) return full(n, 0) end, fun = 0 }
M.griewank = { f = function(x)
  return mc.sum(mc.square(x)) / 4000 - mc.prod(mc.cos(x / mc.sqrt(mc.arange(1, x:numel())))) + 1
end, low = -600, high = 600, x = function(n) return full(n, 0) end, fun = 0 }
M.beale = { n = 2, f = function(x)
  local a, b = x[1], x[2]
  return mc.square(1.5 - a + a * b) + mc.square(2.25 - a + a * b * b) + mc.square(2.625 - a + a * b * b * b)
end, low = -4.5, high = 4.5, x = function() return mc.tensor { 3, 0.5 } end, fun = 0 }
M.branin = { n = 2, f = function(x)
  local a, b = x[1], x[2]
  return mc.square(b - a * a * (5.1 / (4 * math.pi ^ 2)) + a * (5 / math.pi) - 6)
    + mc.cos(a) * (10 * (1 - 1 / (8 * math.pi))) + 10
end, low = { -5, 0 }, high = { 10, 15 }, fun = 0.39788735772973816 }

local A = mc.tensor { { 10, 3, 17, 3.5, 1.7, 8 }, { 0.05, 10, 17, 0.1, 8, 14 }, { 3, 3.5, 1.7, 10, 17, 8 },
  { 17, 8, 0.05, 10, 0.1, 14 } }
local P = mc.tensor { { 1312, 1696, 5569, 124, 8283, 5886 }, { 2329, 4135, 8307, 3736, 1004, 9991 },
  { 2348, 1451, 3522, 2883, 3047, 6650 }, { 4047, 8828, 8732, 5743, 1091, 381 } } * 1e-4
local C = mc.tensor { 1, 1.2, 3, 3.2 }
M.hartmann6 = { n = 6, f = function(x) return -mc.sum(C * mc.exp(-mc.sum(A * mc.square(x - P), 2))) end,
  low = 0, high = 1,
  x = function() return mc.tensor { 0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573 } end,
  fun = -3.322368011415515 }

--- { low, high } of a function in n dimensions.
function M.box(case, n)
  local function side(v) return type(v) == 'number' and full(n, v) or mc.tensor(v) end
  return { side(case.low), side(case.high) }
end

return M
