-- elementwise.lua - derivatives of elementwise ops: what reaches the operands, given what reaches the result.
--
-- rule(g, x, y, p): g the cotangent of the result, x operands, y results, p parameters; returns one cotangent for each operand (nil: none).
-- Shapes are those of the result; the caller sums over broadcast axes. Complex numbers: g is the conjugate convention of vjp, so that a
-- holomorphic function multiplies by the conjugate of its derivative. Safe at the known traps: no NaN reaches a branch that was not taken.
-- May not know graphs.
local mc = require 'mascon'

local R = {}

local function conj(t) return t.dtype:sub(1, 1) == 'c' and mc.conj(t) or t end
local zero = 0

--- One operand, derivative d(x, y) of a holomorphic or real function.
local function unary(name, d) R[name] = function(g, x, y) return { g * conj(d(x[1], y[1])) } end end

R.add = function(g) return { g, g } end
R.subtract = function(g) return { g, -g } end
R.multiply = function(g, x) return { g * conj(x[2]), g * conj(x[1]) } end
R.divide = function(g, x, y) return { g / conj(x[2]), -g * conj(y[1] / x[2]) } end
R.positive = function(g) return { g } end
R.negative = function(g) return { -g } end
R.copy = function(g) return { g } end
R.square = function(g, x) return { 2 * g * conj(x[1]) } end
R.reciprocal = function(g, _, y) return { -g * conj(y[1] * y[1]) } end
R.lerp = function(g, x) return { g * (1 - conj(x[3])), g * conj(x[3]), g * conj(x[2] - x[1]) } end
R.fma = function(g, x) return { g * x[2], g * x[1], g } end
R.conj = function(g) return { mc.conj(g) } end

-- 0 ^ b: the derivative in b takes log of the base only where it is positive
R.pow = function(g, x, y)
  local a, b = x[1], x[2]
  local da = mc.where(mc.eq(b, zero), zero, b * mc.pow(a, mc.where(mc.eq(b, zero), 1, b - 1)))
  local safe = a.dtype:sub(1, 1) == 'c' and a or mc.where(mc.gt(a, zero), a, 1)
  local db = mc.where(mc.eq(a, zero), zero, y[1] * mc.log(safe))
  return { g * conj(da), g * conj(db) }
end
-- at equal operands each gets half
local function chosen(g, x, y)
  local a, b = mc.eq(x[1], y[1]), mc.eq(x[2], y[1])
  local both = mc.where(mc.logical_and(a, b), 0.5, 1):to(g.dtype)
  return { mc.where(a, g * both, zero), mc.where(b, g * both, zero) }
end
R.maximum, R.minimum = chosen, chosen
R.clip = function(g, x)
  local low, high = mc.lt(x[1], x[2]), mc.gt(x[1], x[3])
  local inside = mc.logical_not(mc.logical_or(low, high))
  return { mc.where(inside, g, zero), mc.where(low, g, zero), mc.where(high, g, zero) }
end
R.where = function(g, x) return { nil, mc.where(x[1], g, zero), mc.where(x[1], zero, g) } end
R.abs = function(g, x)
  if x[1].dtype:sub(1, 1) == 'c' then return { g * mc.sign(x[1]) } end
  return { g * mc.sign(x[1]) }
end
R.atan2 = function(g, x)
  local r = x[1] * x[1] + x[2] * x[2]
  return { g * x[2] / r, -g * x[1] / r }
end
R.hypot = function(g, x, y)
  local r = mc.where(mc.eq(y[1], zero), 1, y[1])
  return { g * x[1] / r, g * x[2] / r }
end
R.logaddexp = function(g, x, y) return { g * mc.exp(x[1] - y[1]), g * mc.exp(x[2] - y[1]) } end
R.remainder = function(g, x) return { g, -g * mc.floor(x[1] / x[2]) } end
R.fmod = function(g, x) return { g, -g * mc.trunc(x[1] / x[2]) } end
R.real = function(g, x) return { x[1].dtype:sub(1, 1) == 'c' and g:to(x[1].dtype) or g } end
R.imag = function(g, x) return { x[1].dtype:sub(1, 1) == 'c' and g * mc.complex(0, 1) or nil } end
R.angle = function(g, x)
  if x[1].dtype:sub(1, 1) ~= 'c' then return {} end
  local m = mc.square(mc.abs(x[1]))
  return { g * (x[1] * mc.complex(0, 1)) / m }
end

-- sqrt at 0: the slope is infinite; it is 0 where the cotangent is, so that norms of zero vectors stay finite
R.sqrt = function(g, _, y)
  local none = mc.eq(g, zero)
  return { mc.where(none, zero, g / (2 * conj(mc.where(none, 1, y[1])))) }
end
R.rsqrt = function(g, x, y) return { g * (-0.5 * y[1] / x[1]) } end
unary('exp', function(_, y) return y end)
unary('expm1', function(_, y) return y + 1 end)
unary('exp2', function(_, y) return y * math.log(2) end)
unary('log', function(x) return 1 / x end)
unary('log2', function(x) return 1 / (x * math.log(2)) end)
unary('log10', function(x) return 1 / (x * math.log(10)) end)
unary('log1p', function(x) return 1 / (1 + x) end)
unary('sin', function(x) return mc.cos(x) end)
unary('cos', function(x) return -mc.sin(x) end)
unary('tan', function(_, y) return 1 + y * y end)
unary('asin', function(x) return mc.rsqrt(1 - x * x) end)
unary('acos', function(x) return -mc.rsqrt(1 - x * x) end)
unary('atan', function(x) return 1 / (1 + x * x) end)
unary('sinh', function(x) return mc.cosh(x) end)
unary('cosh', function(x) return mc.sinh(x) end)
unary('tanh', function(_, y) return 1 - y * y end)
unary('asinh', function(x) return mc.rsqrt(1 + x * x) end)
unary('acosh', function(x) return mc.rsqrt(x * x - 1) end)
unary('atanh', function(x) return 1 / (1 - x * x) end)
unary('logistic', function(_, y) return y * (1 - y) end)
unary('deg2rad', function() return mc.tensor(math.pi / 180) end)
unary('rad2deg', function() return mc.tensor(180 / math.pi) end)
unary('erf', function(x) return mc.exp(-x * x) * (2 / math.sqrt(math.pi)) end)
unary('erfc', function(x) return mc.exp(-x * x) * (-2 / math.sqrt(math.pi)) end)
unary('erfinv', function(_, y) return mc.exp(y * y) * (math.sqrt(math.pi) / 2) end)
unary('ndtr', function(x) return mc.exp(-x * x / 2) * (1 / math.sqrt(2 * math.pi)) end)
unary('ndtri', function(_, y) return mc.exp(y * y / 2) * math.sqrt(2 * math.pi) end)
unary('lgamma', function(x) return mc.digamma(x) end)

return { reverse = R }
