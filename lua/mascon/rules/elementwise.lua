-- elementwise.lua - derivatives of arithmetic, choice, and the elementary functions.
--
-- Form of a rule: rules/init.lua; of a derivative d(y, a, b, c): chain.lua. At corners the rules take the mean of both sides or one of them,
-- and 0 where a function of several variables has a cone: |a| and hypot at the origin, equal operands of maximum (half each). May not know
-- graphs.
local mc = require 'mascon.array'
local chain = require 'mascon.rules.chain'

local R = {}
local is_complex, times, but = chain.is_complex, chain.times, chain.but
local function rule(name, ...) chain.rule(R, name, ...) end

-- ---------------------------------------------------------------- arithmetic

R.add = function(g) return { g, g } end
R.subtract = function(g) return { g, function() return -g end } end
R.positive = function(g) return { g } end
R.negative = function(g) return { -g } end
R.cut = function() return {} end
R.conj = function(g) return { mc.conj(g) } end
R.fma = function(g, x) return { function() return times(g, x[2]) end, function() return times(g, x[1]) end, g } end
rule('multiply', function(_, _, b) return b end, function(_, a) return a end)
-- a b that is 0 wherever b is: the factor of chain.lua, for second derivatives
rule('multiply_no_nan', function(_, _, b) return b end, function(_, a) return a end)
rule('divide', function(_, _, b) return 1 / b end, function(y, _, b) return -y / b end)
rule('square', function(_, a) return a * 2 end)
rule('reciprocal', function(y) return -y * y end)
rule('lerp', function(_, _, _, c) return 1 - c end, function(_, _, _, c) return c end, function(_, a, b) return b - a end)

-- the quotient as a whole number, from what was left over
local function whole_quotient(y, a, b) return -mc.round((a - y) / b) end
R.remainder = function(g, x, y) return { g, function() return times(g, whole_quotient(y[1], x[1], x[2])) end } end
R.fmod = R.remainder

-- b a^(b - 1) without 0^-1 at b = 0; the derivative in b is y log(a), and 0 at a = 0
rule('pow', function(_, a, b)
  local none = mc.eq(b, 0)
  return mc.where(none, 0, b * mc.pow(a, mc.where(none, 1, b - 1)))
end, function(y, a)
  return mc.where(mc.eq(a, 0), 0, y * mc.log(but(a, 0, 1)))
end)

-- ---------------------------------------------------------------- choice

local function chosen(g, x, y)
  local a, b = mc.eq(x[1], y[1]), mc.eq(x[2], y[1])
  local share = mc.where(mc.logical_and(a, b), g * 0.5, g)
  return { function() return mc.where(a, share, 0) end, function() return mc.where(b, share, 0) end }
end
R.maximum, R.minimum = chosen, chosen
R.clip = function(g, x) -- the bounds belong to the inside
  local a, low, high = x[1], x[2], x[3]
  return {
    function() return mc.where(mc.logical_and(mc.ge(a, low), mc.le(a, high)), g, 0) end,
    function() return mc.where(mc.logical_and(mc.lt(a, low), mc.le(low, high)), g, 0) end,
    function() return mc.where(mc.logical_or(mc.gt(a, high), mc.gt(low, high)), g, 0) end,
  }
end
R.where = function(g, x) return { nil, function() return mc.where(x[1], g, 0) end, function() return mc.where(x[1], 0, g) end } end

-- ---------------------------------------------------------------- parts of numbers

R.abs = function(g, x) return { g * mc.sign(x[1]) } end
-- a / |a| of a complex number turns, but does not grow
R.sign = function(g, x, y)
  if not is_complex(x[1]) then return {} end
  local s = y[1]
  return { times(g - s * mc.real(mc.conj(s) * g), mc.where(mc.eq(x[1], 0), 0, 1 / but(mc.abs(x[1]), 0, 1))) }
end
R.copysign = function(g, x) return { g * mc.copysign(mc.sign(x[1]), mc.copysign(1, x[1]) * x[2]) } end
R.real = function(g, x) return { is_complex(x[1]) and g:to(x[1].dtype) or g } end
R.imag = function(g, x) return { is_complex(x[1]) and g:to(x[1].dtype) * mc.complex(0, 1) or nil } end
R.angle = function(g, x)
  if not is_complex(x[1]) then return {} end
  local r = but(mc.abs(x[1]), 0, 1)
  return { (x[1] / r) * mc.complex(0, 1) * (g / r) }
end

-- ---------------------------------------------------------------- two sides of a triangle

local function radius(a, b) return but(mc.hypot(a, b), 0, 1) end
rule('atan2', function(_, a, b)
  local r = radius(a, b)
  return b / r / r
end, function(_, a, b)
  local r = radius(a, b)
  return -a / r / r
end)
rule('hypot', function(y, a) return a / but(y, 0, 1) end, function(y, _, b) return b / but(y, 0, 1) end)

-- ---------------------------------------------------------------- exponentials and logarithms

-- equal infinities share
local function apart(a, b) return mc.where(mc.logical_and(mc.eq(a, b), mc.isinf(a)), 0, a - b) end
rule('logaddexp', function(_, a, b) return mc.logistic(apart(a, b)) end, function(_, a, b) return mc.logistic(apart(b, a)) end)
rule('exp', function(y) return y end)
rule('expm1', function(y) return y + 1 end)
rule('exp2', function(y) return y * math.log(2) end)
rule('log', function(_, a) return 1 / a end)
rule('log2', function(_, a) return 1 / (a * math.log(2)) end)
rule('log10', function(_, a) return 1 / (a * math.log(10)) end)
rule('log1p', function(_, a) return 1 / (1 + a) end)
rule('sqrt', function(y) return 0.5 / y end)
rule('rsqrt', function(y, a) return y / a * -0.5 end)
rule('logistic', function(y) return y * (1 - y) end)

-- ---------------------------------------------------------------- angles and hyperbolas

R.deg2rad = function(g) return { g * (math.pi / 180) } end
R.rad2deg = function(g) return { g * (180 / math.pi) } end
rule('sin', function(_, a) return mc.cos(a) end)
rule('cos', function(_, a) return -mc.sin(a) end)
rule('tan', function(y) return 1 + y * y end)
-- factors under roots apart: no cancellation at 1, and the branch cuts of the functions themselves
rule('asin', function(_, a) return 1 / (mc.sqrt(1 - a) * mc.sqrt(1 + a)) end)
rule('acos', function(_, a) return -1 / (mc.sqrt(1 - a) * mc.sqrt(1 + a)) end)
rule('atan', function(_, a) return 1 / (1 + a * a) end)
rule('sinh', function(_, a) return mc.cosh(a) end)
rule('cosh', function(_, a) return mc.sinh(a) end)
rule('tanh', function(y) return 1 - y * y end)
rule('asinh', function(_, a) return 1 / (is_complex(a) and mc.sqrt(1 + a * a) or mc.hypot(a, 1)) end)
rule('acosh', function(_, a) return 1 / (mc.sqrt(a - 1) * mc.sqrt(a + 1)) end)
rule('atanh', function(_, a) return 1 / ((1 - a) * (1 + a)) end)

return { reverse = R }
