-- elementwise.lua - elementwise ops of one and two operands.
--
-- Rows of the op table; what their fields mean stands in runtime/ops/ops.lua.
local W = ...
local op, join, NO_FORM, gamma_slope, BOOL, INT, FLOAT, CPLX, REAL, FC, NUM, ALL, ORD, IB, STD = W.op, W.join,
  W.NO_FORM, W.gamma_slope, W.BOOL, W.INT, W.FLOAT, W.CPLX, W.REAL, W.FC, W.NUM, W.ALL, W.ORD, W.IB, W.STD

-- ---------------------------------------------------------------- elementwise, two operands
op {
  'add', family = 'binary', mixed = 'bias', named = true, dtypes = NUM, expr = 'a + b', inplace = true, tol = 'EXACT',
  rules = 'auto', doc = 'a + b', source = STD, example = "mc.add(mc.tensor{1, 2}, 10)  --> f64[2]@cpu { 11, 12 }",
}
op { 'subtract', family = 'binary', dtypes = NUM, expr = 'a - b', alias = { 'sub' }, inplace = true, tol = 'EXACT',
  rules = 'auto', doc = 'a - b', source = STD }
op { 'multiply', family = 'binary', dtypes = NUM, expr = 'a * b', alias = { 'mul' }, inplace = true, tol = 'EXACT',
  rules = 'auto', doc = 'a b', source = STD }
op {
  'multiply_no_nan', family = 'binary', dtypes = FC, promote = 'float', expr = 'b == 0 ? 0 : a * b', method = false,
  tol = 'EXACT', doc = 'a b, and 0 where b is 0 even if a is infinite or NaN',
  source = 'TensorFlow math.multiply_no_nan', rules = 'auto', d = { 'b', 'a' },
}
op {
  'divide', family = 'binary', dtypes = FC, promote = 'float', expr = 'a / b', alias = { 'div' }, inplace = true,
  tol = 'EXACT', rules = 'auto', doc = 'true division a / b; integers give f64', source = STD,
}
op {
  'floor_divide', family = 'binary', dtypes = REAL, expr = 'floor_divide(a, b)', fix = 'floor_divide', guard = 'b == 0',
  guard_text = 'integer division by zero', tol = 'EXACT', rules = 'none: piecewise constant',
  doc = 'floor(a / b); integer division by zero is an error', source = STD,
  example = "mc.floor_divide(-7, 2)  --> f64[]@cpu -4",
}
op {
  'remainder', family = 'binary', dtypes = REAL, expr = 'remainder(a, b)', fix = 'remainder', guard = 'b == 0',
  guard_text = 'integer division by zero', alias = { 'mod' }, tol = 'EXACT',
  doc = 'a - b floor(a / b): the sign of the divisor', source = STD, example = "mc.remainder(-7, 3)  --> f64[]@cpu 2",
  rules = 'auto', d = { '1', '-round((a - y) / b)' },
}
op {
  'fmod', family = 'binary', dtypes = FLOAT, promote = 'float', expr = 'fmod(a, b)', fix = 'fmod',
  tol = 'EXACT', doc = 'C fmod: the sign of the dividend', source = 'C11 7.12.10.1', rules = 'auto',
  d = { '1', '-round((a - y) / b)' },
}
op {
  'pow', family = 'binary', mixed = 'f32', dtypes = NUM, expr = 'pow(a, b)', guard = 'b < 0',
  guard_text = 'an integer to a negative power; convert to f64 first', tol = 'ULP4',
  doc = 'a ^ b; negative integer powers of integers are an error', source = STD, rules = 'auto',
  d = { 'b == 0 ? 0 : b * pow(a, b == 0 ? 1 : b - 1)', 'a == 0 ? 0 : y * log(a == 0 ? 1 : a)' },
}
op {
  'maximum', family = 'binary', law = 'same', light = true, dtypes = ORD,
  expr = 'maximum(a, b)', tol = 'EXACT', doc = 'the larger; NaN wins', source = STD, rules = 'auto',
  d = { 'a == y ? (b == y ? 0.5 : 1) : 0', 'b == y ? (a == y ? 0.5 : 1) : 0' },
}
op {
  'minimum', family = 'binary', law = 'same', light = true, dtypes = ORD,
  expr = 'minimum(a, b)', tol = 'EXACT', doc = 'the smaller; NaN wins', source = STD, rules = 'auto',
  d = { 'a == y ? (b == y ? 0.5 : 1) : 0', 'b == y ? (a == y ? 0.5 : 1) : 0' },
}
op {
  'atan2', family = 'binary', dtypes = FLOAT, promote = 'float', expr = 'atan2(a, b)', tol = 'ULP4',
  doc = 'angle of the point (b, a) in (-pi, pi], rad', source = STD, rules = 'auto',
  d = { 'b / (hypot(a, b) == 0 ? 1 : hypot(a, b)) / (hypot(a, b) == 0 ? 1 : hypot(a, b))',
    '-a / (hypot(a, b) == 0 ? 1 : hypot(a, b)) / (hypot(a, b) == 0 ? 1 : hypot(a, b))' },
}
op {
  'hypot', family = 'binary', dtypes = FLOAT, promote = 'float', expr = 'hypot(a, b)', tol = 'ULP4',
  doc = 'sqrt(a^2 + b^2) without overflow', source = STD, example = "mc.hypot(3, 4)  --> f64[]@cpu 5", rules = 'auto',
  d = { 'a / (y == 0 ? 1 : y)', 'b / (y == 0 ? 1 : y)' },
}
op {
  'copysign', family = 'binary', light = true, dtypes = FLOAT, promote = 'float', expr = 'copysign(a, b)',
  tol = 'EXACT', doc = 'magnitude of a, sign of b', source = STD, rules = 'auto',
  d = { 'copysign(sign(a), copysign(1, a) * b)', '0' },
}
op {
  'nextafter', family = 'binary', dtypes = { 'f32', 'f64' }, promote = 'float', expr = 'nextafter(a, b)', tol = 'EXACT',
  doc = 'the number next to a on the way to b, in the dtype of the result',
  source = 'Python array API standard 2024.12; IEEE 754-2019, 5.3.1',
  example = "mc.nextafter(1, 2) - 1  --> f64[]@cpu 2.2204460492503e-16", rules = 'auto', d = { '1', '0' },
}
op {
  'logaddexp', family = 'binary', mixed = 'f32', dtypes = FLOAT, promote = 'float', expr = 'logaddexp(a, b)',
  tol = 'ULP4', doc = 'log(exp(a) + exp(b)) without overflow', source = STD, rules = 'auto',
  d = { 'logistic(a == b & isinf(a) ? 0 : a - b)', 'logistic(b == a & isinf(b) ? 0 : b - a)' },
}
op {
  'gammainc', family = 'binary', kernels = 'special', dtypes = FLOAT, promote = 'float', expr = 'gammainc(a, b)',
  method = false, tol = 'ITERATIVE', doc = 'regularised lower incomplete gamma function P(a, b), a > 0, b >= 0',
  source = 'DLMF 8.2, 8.9, 8.11', rules = 'auto', d = { NO_FORM, gamma_slope 'b' },
}
op {
  'gammaincc', family = 'binary', kernels = 'special', dtypes = FLOAT, promote = 'float',
  expr = 'gammaincc(a, b)', method = false, tol = 'ITERATIVE',
  doc = 'regularised upper incomplete gamma function Q(a, b) = 1 - P without cancellation',
  source = 'DLMF 8.2, 8.9, 8.11', rules = 'auto', d = { NO_FORM, '-' .. gamma_slope 'b' },
}
op { 'eq', family = 'binary', dtypes = ALL, result = 'bool', expr = 'a == b', alias = { 'equal' }, tol = 'EXACT',
  rules = 'none: boolean', doc = 'a == b, elementwise', source = STD }
op {
  'ne', family = 'binary', dtypes = ALL, result = 'bool', expr = 'a != b', alias = { 'not_equal' }, tol = 'EXACT',
  rules = 'none: boolean', doc = 'a ~= b, elementwise', source = STD,
}
op {
  'lt', family = 'binary', dtypes = ORD, result = 'bool', expr = 'a < b', alias = { 'less' },
  tol = 'EXACT', rules = 'none: boolean', doc = 'a < b, elementwise', source = STD,
  example = "mc.lt(mc.tensor{1, 3}, 2)  --> bool[2]@cpu { true, false }",
}
op {
  'le', family = 'binary', dtypes = ORD, result = 'bool', expr = 'a <= b', alias = { 'less_equal' }, tol = 'EXACT',
  rules = 'none: boolean', doc = 'a <= b, elementwise', source = STD,
}
op { 'gt', family = 'binary', dtypes = ORD, result = 'bool', expr = 'a > b', alias = { 'greater' }, tol = 'EXACT',
  rules = 'none: boolean', doc = 'a > b, elementwise', source = STD }
op {
  'ge', family = 'binary', dtypes = ORD, result = 'bool', expr = 'a >= b', alias = { 'greater_equal' }, tol = 'EXACT',
  rules = 'none: boolean', doc = 'a >= b, elementwise', source = STD,
}
op { 'logical_and', family = 'binary', law = 'same', dtypes = BOOL, promote = 'bool', expr = 'a & b', tol = 'EXACT',
  rules = 'none: boolean', doc = 'both are non-zero', source = STD }
op { 'logical_or', family = 'binary', law = 'same', dtypes = BOOL, promote = 'bool', expr = 'a | b', tol = 'EXACT',
  rules = 'none: boolean', doc = 'either is non-zero', source = STD }
op { 'logical_xor', family = 'binary', dtypes = BOOL, promote = 'bool', expr = 'a ^ b', tol = 'EXACT',
  rules = 'none: boolean', doc = 'exactly one is non-zero', source = STD }
op { 'bitwise_and', family = 'binary', law = 'same', dtypes = IB, expr = 'a & b', tol = 'EXACT',
  rules = 'none: integer', doc = 'bitwise and', source = STD }
op { 'bitwise_or', family = 'binary', law = 'same', dtypes = IB, expr = 'a | b', tol = 'EXACT', rules = 'none: integer',
  doc = 'bitwise or', source = STD }
op { 'bitwise_xor', family = 'binary', dtypes = IB, expr = 'a ^ b', tol = 'EXACT', rules = 'none: integer',
  doc = 'bitwise exclusive or', source = STD }
op {
  'bitwise_left_shift', family = 'binary', light = true, dtypes = INT, expr = 'shl(a, b)', tol = 'EXACT',
  rules = 'none: integer', doc = 'a shifted left by b >= 0 bits; at or past the width: 0', source = STD,
}
op {
  'bitwise_right_shift', family = 'binary', light = true, dtypes = INT, expr = 'shr(a, b)', tol = 'EXACT',
  rules = 'none: integer', doc = 'a shifted right by b >= 0 bits, sign kept', source = STD,
}

-- ---------------------------------------------------------------- elementwise, one operand
local function unary(name, dtypes, expr, more)
  more = more or {}
  more[1], more.family, more.dtypes, more.expr = name, more.family or 'unary', dtypes, expr
  more.source = more.source or STD
  more.tol = more.tol or 'ULP4'
  op(more)
end
unary('positive', NUM, 'a', { plain = 'all', tol = 'EXACT', rules = 'auto', doc = '+a (a copy)' })
unary('cut', NUM, 'a', { tol = 'EXACT', method = false,
  doc = 'a copy of a through which no derivative flows; see stop_gradient', rules = 'auto', d = '0' })
unary('negative', NUM, '-a', {
  modulus = true, law = 'involution', alias = { 'neg' }, inplace = true, tol = 'EXACT', rules = 'auto', doc = '-a',
  example = "mc.negative(mc.tensor{1, -2})  --> f64[2]@cpu { -1, 2 }",
})
unary('abs', NUM, 'abs(a)', {
  law = 'even', modulus = true, light = true, result = 'real', tol = 'EXACT', ctol = 'ULP4', rules = 'abs',
  hand = 'complex numbers: not holomorphic', doc = '|a|; the modulus of a complex number',
  example = "mc.abs(mc.complex(3, 4))  --> f64[]@cpu 5", d = 'sign(a)',
})
unary('sign', NUM, 'sign(a)', { light = true, tol = 'EXACT', ctol = 'ULP4', rules = 'sign',
  hand = 'complex numbers: not holomorphic', doc = '-1, 0, 1; a/|a| for complex; NaN stays', d = '0' })
unary('square', NUM, 'a * a', { law = 'even', tol = 'EXACT', rules = 'auto', doc = 'a^2' })
unary('floor', REAL, 'floor(a)', { law = 'idempotent', light = true, ix = 'a', tol = 'EXACT',
  rules = 'none: piecewise constant', doc = 'largest integer at or below' })
unary('ceil', REAL, 'ceil(a)', { law = 'idempotent', light = true, ix = 'a', tol = 'EXACT',
  rules = 'none: piecewise constant', doc = 'smallest integer at or above' })
unary('trunc', REAL, 'trunc(a)', { law = 'idempotent', light = true, ix = 'a', tol = 'EXACT',
  rules = 'none: piecewise constant', doc = 'integer part, towards zero' })
unary('round', join(REAL, CPLX), 'round(a)', {
  law = 'idempotent', light = true, ix = 'a', tol = 'EXACT',
  rules = 'none: piecewise constant', doc = 'nearest integer, halves to even; both parts of complex numbers',
  example = "mc.round(mc.tensor{0.5, 1.5, -1.2})  --> f64[3]@cpu { 0, 2, -1 }",
})
unary('reciprocal', FC, '1 / a', { mixed = 'f32', inverse = 'reciprocal', promote = 'float', rules = 'auto',
  tol = 'EXACT', ctol = 'ULP4', doc = '1 / a', source = 'definition' })
unary('bitwise_invert', IB, '~a', { law = 'involution',
  tol = 'EXACT', rules = 'none: integer', doc = 'bitwise not; logical not of booleans' })
unary('logical_not', BOOL, '~a',
  { law = 'involution', promote = 'bool', tol = 'EXACT', rules = 'none: boolean', doc = 'true where zero' })
unary('isnan', FC, 'isnan(a)', {
  header = 'class', light = true, promote = 'float', result = 'bool', tol = 'EXACT', rules = 'none: boolean',
  doc = 'is not a number', example = "mc.isnan(mc.tensor{1, mc.nan})  --> bool[2]@cpu { false, true }",
})
unary('isinf', FC, 'isinf(a)', { header = 'class', light = true, promote = 'float', result = 'bool', tol = 'EXACT',
  rules = 'none: boolean', doc = 'is an infinity' })
unary('isfinite', FC, 'isfinite(a)', { header = 'class', light = true, promote = 'float', result = 'bool',
  tol = 'EXACT', rules = 'none: boolean', doc = 'neither NaN nor infinite' })
unary('signbit', FLOAT, 'signbit(a)', { header = 'class', light = true, promote = 'float', result = 'bool',
  tol = 'EXACT', rules = 'none: boolean', doc = 'the sign bit is set' })
for _, r in ipairs {
  { 'sqrt', 'square root; negative reals give NaN', FC, 'EXACT', light = true, d = '0.5 / y' },
  { 'exp', 'e^a', FC, mixed = 'f32', inverse = 'log', d = 'y' }, { 'expm1', 'e^a - 1 near zero', FC, mixed = 'f32',
    inverse = 'log1p', d = 'exp(a)' }, { 'exp2', '2^a', FLOAT, mixed = 'f32', d = 'y * 0.6931471805599453' },
  { 'log', 'natural logarithm', FC, mixed = 'f32', inverse = 'exp', d = '1 / a' },
  { 'log2', 'logarithm to base 2', FC, mixed = 'f32', d = '1 / (a * 0.6931471805599453)' },
  { 'log10', 'logarithm to base 10', FC, mixed = 'f32', d = '1 / (a * 2.302585092994046)' },
  { 'log1p', 'log(1 + a) near zero', FC, mixed = 'f32', inverse = 'expm1', d = '1 / (1 + a)' },
  { 'sin', 'sine of a, rad', FC, d = 'cos(a)' }, { 'cos', 'cosine of a, rad', FC, d = '-sin(a)' },
  { 'tan', 'tangent of a, rad', FC, mixed = 'f32', d = '1 + y * y' }, { 'asin', 'inverse sine, rad', FC, mixed = 'f32',
    d = '1 / (sqrt(1 - a) * sqrt(1 + a))' }, { 'acos', 'inverse cosine, rad', FC, mixed = 'f32',
      d = '-1 / (sqrt(1 - a) * sqrt(1 + a))' }, { 'atan', 'inverse tangent, rad', FC, d = '1 / (1 + a * a)' },
  { 'sinh', 'hyperbolic sine', FC, mixed = 'f32', d = 'cosh(a)' }, { 'cosh', 'hyperbolic cosine', FC, mixed = 'f32',
    d = 'sinh(a)' }, { 'tanh', 'hyperbolic tangent', FC, d = '1 - y * y' },
  { 'asinh', 'inverse hyperbolic sine', FC, d = '1 / hypot(a, 1)', cd = '1 / sqrt(1 + a * a)' },
  { 'acosh', 'inverse hyperbolic cosine', FC, d = '1 / (sqrt(a - 1) * sqrt(a + 1))' },
  { 'atanh', 'inverse hyperbolic tangent', FC, d = '1 / ((1 - a) * (1 + a))' },
} do
  unary(r[1], r[3], r[1] .. '(a)', {
    promote = 'float', fix = (r[1] == 'sin' or r[1] == 'cos' or r[1] == 'tan') and r[1] or nil, rules = 'auto',
    light = r.light, mixed = r.mixed, inverse = r.inverse, d = r.d, cd = r.cd, tol = r[4] or 'ULP4',
    ctol = 'ULP4', doc = r[2],
  })
end
unary('rsqrt', FLOAT, '1 / sqrt(a)', { mixed = 'f32', promote = 'float', rules = 'auto',
  doc = '1 / sqrt(a)', source = 'definition' })
unary('erf', FLOAT, 'erf(a)', {
  promote = 'float', doc = 'error function 2/sqrt(pi) int_0^a exp(-t^2) dt',
  source = 'Handbook of mathematical functions, 1964, 7.1.1', example = "mc.erf(0)  --> f64[]@cpu 0", rules = 'auto',
  d = 'exp(-a * a) * 1.1283791670955126',
})
unary('erfc', FLOAT, 'erfc(a)', { promote = 'float', doc = '1 - erf(a) without cancellation',
  source = 'Handbook of mathematical functions, 1964, 7.1.2', rules = 'auto', d = 'exp(-a * a) * -1.1283791670955126' })
unary('ndtr', FLOAT, 'ndtr(a)', {
  kernels = 'special', promote = 'float',
  method = false, doc = 'standard normal distribution function erfc(-a / sqrt(2)) / 2, tails included',
  source = 'Handbook of mathematical functions, 1964, 26.2.29', rules = 'auto',
  d = 'exp(-a * a / 2) * 0.3989422804014327',
})
unary('ndtri', FLOAT, 'ndtri(a)', {
  kernels = 'special', promote = 'float', method = false,
  doc = 'standard normal quantile: the inverse of ndtr; NaN outside [0, 1]', source = 'Algorithm AS 241, 1988',
  rules = 'auto', d = 'exp(y * y / 2) * 2.5066282746310002',
})
unary('erfinv', FLOAT, 'erfinv(a)', {
  kernels = 'special', promote = 'float', doc = 'inverse error function; NaN outside [-1, 1]',
  source = 'Algorithm AS 241, 1988', rules = 'auto', d = 'exp(y * y) * 0.8862269254527579',
})
unary('lgamma', FLOAT, 'lgamma(a)', { fix = 'lgamma', promote = 'float', alias = { 'gammaln' }, doc = 'log |Gamma(a)|',
  source = 'C11 7.12.8.3', rules = 'auto', d = 'digamma(a)' })
unary('digamma', FLOAT, 'digamma(a)', { kernels = 'special', promote = 'float', doc = 'derivative of lgamma',
  source = 'DLMF 5.5, 5.11', rules = 'auto', d = 'polygamma(1, a)' })
unary('logistic', FLOAT, '(a < 0 ? exp(-abs(a)) : 1) / (1 + exp(-abs(a)))', {
  promote = 'float', alias = { 'sigmoid' }, doc = '1 / (1 + exp(-a))',
  source = 'definition; the exponential never overflows, so that the tail keeps its subnormal numbers',
  example = "mc.logistic(0)  --> f64[]@cpu 0.5", rules = 'auto', d = 'y * (1 - y)',
})
unary('deg2rad', FLOAT, 'a * 0.017453292519943295',
  { promote = 'float', rules = 'auto', doc = 'degrees to radians', source = 'definition' })
unary('rad2deg', FLOAT, 'a * 57.29577951308232',
  { promote = 'float', rules = 'auto', doc = 'radians to degrees', source = 'definition' })
unary('conj', NUM, 'conj(a)', {
  plain = 'real', law = 'involution', light = true, ix = 'a', fx = 'a', tol = 'EXACT', rules = 'conj',
  hand = 'complex numbers: not holomorphic', doc = 'complex conjugate; reals unchanged', d = '1',
})
unary('real', NUM, 'real(a)', { plain = 'real', light = true, ix = 'a', fx = 'a', result = 'real', tol = 'EXACT',
  rules = 'real', hand = 'complex numbers: not holomorphic', doc = 'real part', d = '1' })
unary('imag', NUM, 'imag(a)', { light = true, ix = '0', fx = '0', result = 'real', tol = 'EXACT', rules = 'imag',
  hand = 'complex numbers: not holomorphic', doc = 'imaginary part', d = '0' })
unary('angle', FC, 'arg(a)', {
  promote = 'float', fx = 'atan2(0, a)', result = 'real', rules = 'angle',
  hand = 'complex numbers: not holomorphic', doc = 'phase in (-pi, pi], rad', source = 'definition',
  example = "mc.angle(mc.complex(-1, 0))  --> f64[]@cpu 3.1415926535898", d = '0',
})
