-- ops.lua - the single source of truth: dtypes, statuses, ISA levels and every op, as pure data.
--
-- Read by runtime/gen/*.lua at build time (LuaJIT), which writes the C enums, the dispatch table, the elementwise kernels, the FFI
-- declarations, the Lua functions, the reference page, the test matrix and the bench matrix. Nothing here runs at start.
--
-- A row:  op{ name, family=, dtypes=, result=, expr=, cexpr=, params=, nout=, base=, alias=, method=, tol=, cost=, rules=, doc=, source= }
--   family   which C driver runs it (runtime/mc_<family>.c) and which signature its Lua function has
--   dtypes   dtypes a kernel exists for, after promotion; f16 and bf16 are computed in f32 when listed
--   result   'same' | 'bool' | 'real' (complex -> real) | 'i64' | 'f64' ... ; promote: how inputs meet: 'numeric' | 'float' (integers -> f64)
--   expr     elementwise formula in the scalar language of runtime/gen/expr.lua: + - * / ( ) ?: comparisons, functions of mck_math.h;
--            a, b, c are the operands, p0.. scalar parameters. cexpr: the same for complex dtypes when it differs. ix: for integers.
--   params   { name, kind, default } in the order they are packed; kind: 'int' 'number' 'axes' 'axis' 'bool' 'dtype' 'shape'
--   alias    other names; method=false keeps it off the tensor; inplace=true adds name_ ; tol: class of tests/tol.lua
--   example  'EXPR  --> RESULT' or a list of such lines, run by tests/spec/examples_spec.lua
--   rules    derivative and batching: 'auto' (from expr), 'none: why', or the key of lua/mascon/rules
--   module   for rows of any family: the Lua file whose function of the op's name stands in front of the C driver
-- Family 'lua': a composition of other ops; module = the Lua file whose function of the op's name it is. No C, no kernel; derivatives by its
-- parts ('auto'). namespace = 'linalg' puts a function there instead of among mc's own names. results: names of three or more results.
-- internal = true: no function of its own, a step of compositions (called through mascon.op's raw).
local T = { ops = {}, kernels = {}, functions = { 'sort_work', 'select_work', 'random_uniform_f32', 'random_uniform_f64', 'random_normal_f32', 'random_normal_f64', 'random_integers_i64', 'random_bits_u32', 'fft_table_bytes', 'fft_table', 'fft_work', 'fft_f32', 'fft_f64', 'dct_table', 'dct_before_f32', 'dct_before_f64', 'dct_after_f32', 'dct_after_f64' } }

T.version = '0.1.0'

-- code = position - 1; kind: b bool, i signed, u unsigned, f float, c complex; c = C type; compute = dtype of arithmetic
T.dtypes = {
  { 'bool', kind = 'b', size = 1, c = 'uint8_t', npy = 'b1' },
  { 'u8', kind = 'u', size = 1, c = 'uint8_t', npy = 'u1' },
  { 'i8', kind = 'i', size = 1, c = 'int8_t', npy = 'i1' },
  { 'i16', kind = 'i', size = 2, c = 'int16_t', npy = 'i2' },
  { 'i32', kind = 'i', size = 4, c = 'int32_t', npy = 'i4' },
  { 'i64', kind = 'i', size = 8, c = 'int64_t', npy = 'i8' },
  { 'f16', kind = 'f', size = 2, c = 'uint16_t', npy = 'f2', compute = 'f32' },
  { 'bf16', kind = 'f', size = 2, c = 'uint16_t', npy = 'V2', compute = 'f32' },
  { 'f32', kind = 'f', size = 4, c = 'float', npy = 'f4' },
  { 'f64', kind = 'f', size = 8, c = 'double', npy = 'f8' },
  { 'c64', kind = 'c', size = 8, c = 'mck_c64', npy = 'c8', real = 'f32' },
  { 'c128', kind = 'c', size = 16, c = 'mck_c128', npy = 'c16', real = 'f64' },
}

T.statuses = {
  'OK', 'EINVAL', 'ESHAPE', 'EDTYPE', 'ENOMEM', 'EIO', 'EFORMAT', 'ECANCELLED', 'EDEVICE', 'EUNSUPPORTED', 'ENUMERIC', 'EINTERNAL', 'ERELEASED',
}

T.isa = { { 'v2', march = 'x86-64-v2' }, { 'v3', march = 'x86-64-v3' }, { 'v4', march = 'x86-64-v4' } }

local function op(row) T.ops[#T.ops + 1] = row end

local BOOL, INT = { 'bool' }, { 'u8', 'i8', 'i16', 'i32', 'i64' }
local FLOAT, CPLX = { 'f16', 'bf16', 'f32', 'f64' }, { 'c64', 'c128' }
local function join(...)
  local out = {}
  for _, l in ipairs { ... } do for _, v in ipairs(l) do out[#out + 1] = v end end
  return out
end
local REAL, FC, NUM = join(INT, FLOAT), join(FLOAT, CPLX), join(INT, FLOAT, CPLX)
local ALL, ORD = join(BOOL, NUM), join(BOOL, REAL)
local IB = join(BOOL, INT)
local STD = 'Python array API standard 2023.12'

-- ---------------------------------------------------------------- elementwise, two operands
op { 'add', family = 'binary', dtypes = NUM, expr = 'a + b', inplace = true, tol = 'EXACT', rules = 'auto', example = "mc.add(mc.tensor{1, 2}, 10)  --> f64[2]@cpu { 11, 12 }", doc = 'a + b', source = STD }
op { 'subtract', family = 'binary', dtypes = NUM, expr = 'a - b', alias = { 'sub' }, inplace = true, tol = 'EXACT', rules = 'auto', doc = 'a - b', source = STD }
op { 'multiply', family = 'binary', dtypes = NUM, expr = 'a * b', alias = { 'mul' }, inplace = true, tol = 'EXACT', rules = 'auto', doc = 'a b', source = STD }
op { 'divide', family = 'binary', dtypes = FC, promote = 'float', expr = 'a / b', alias = { 'div' }, inplace = true, tol = 'EXACT', rules = 'auto', doc = 'true division a / b; integers give f64', source = STD }
op { 'floor_divide', family = 'binary', dtypes = REAL, expr = 'floor_divide(a, b)', fix = 'floor_divide', guard = 'b == 0', guard_text = 'integer division by zero', tol = 'EXACT', rules = 'none: piecewise constant', example = "mc.floor_divide(-7, 2)  --> f64[]@cpu -4", doc = 'floor(a / b); integer division by zero is an error', source = STD }
op { 'remainder', family = 'binary', dtypes = REAL, expr = 'remainder(a, b)', fix = 'remainder', guard = 'b == 0', guard_text = 'integer division by zero', alias = { 'mod' }, tol = 'EXACT', rules = 'remainder', example = "mc.remainder(-7, 3)  --> f64[]@cpu 2", doc = 'a - b floor(a / b): the sign of the divisor', source = STD }
op { 'fmod', family = 'binary', dtypes = FLOAT, promote = 'float', expr = 'fmod(a, b)', fix = 'fmod', tol = 'EXACT', rules = 'remainder', doc = 'C fmod: the sign of the dividend', source = 'C11 7.12.10.1' }
op { 'pow', family = 'binary', dtypes = NUM, expr = 'pow(a, b)', guard = 'b < 0', guard_text = 'an integer to a negative power; convert to f64 first', tol = 'ULP4', rules = 'pow', doc = 'a ^ b; negative integer powers of integers are an error', source = STD }
op { 'maximum', family = 'binary', dtypes = ORD, expr = 'maximum(a, b)', tol = 'EXACT', rules = 'select', doc = 'the larger; NaN wins', source = STD }
op { 'minimum', family = 'binary', dtypes = ORD, expr = 'minimum(a, b)', tol = 'EXACT', rules = 'select', doc = 'the smaller; NaN wins', source = STD }
op { 'atan2', family = 'binary', dtypes = FLOAT, promote = 'float', expr = 'atan2(a, b)', tol = 'ULP4', rules = 'atan2', doc = 'angle of the point (b, a) in (-pi, pi], rad', source = STD }
op { 'hypot', family = 'binary', dtypes = FLOAT, promote = 'float', expr = 'hypot(a, b)', tol = 'ULP4', rules = 'hypot', example = "mc.hypot(3, 4)  --> f64[]@cpu 5", doc = 'sqrt(a^2 + b^2) without overflow', source = STD }
op { 'copysign', family = 'binary', dtypes = FLOAT, promote = 'float', expr = 'copysign(a, b)', tol = 'EXACT', rules = 'none: sign only', doc = 'magnitude of a, sign of b', source = STD }
op { 'logaddexp', family = 'binary', dtypes = FLOAT, promote = 'float', expr = 'logaddexp(a, b)', tol = 'ULP4', rules = 'logaddexp', doc = 'log(exp(a) + exp(b)) without overflow', source = STD }
op { 'gammainc', family = 'binary', dtypes = FLOAT, promote = 'float', expr = 'gammainc(a, b)', method = false, tol = 'ITERATIVE', rules = 'gammainc', doc = 'regularised lower incomplete gamma function P(a, b), a > 0, b >= 0', source = 'DLMF 8.2, 8.9, 8.11' }
op { 'gammaincc', family = 'binary', dtypes = FLOAT, promote = 'float', expr = 'gammaincc(a, b)', method = false, tol = 'ITERATIVE', rules = 'gammainc', doc = 'regularised upper incomplete gamma function Q(a, b) = 1 - P without cancellation', source = 'DLMF 8.2, 8.9, 8.11' }
op { 'eq', family = 'binary', dtypes = ALL, result = 'bool', expr = 'a == b', alias = { 'equal' }, tol = 'EXACT', rules = 'none: boolean', doc = 'a == b, elementwise', source = STD }
op { 'ne', family = 'binary', dtypes = ALL, result = 'bool', expr = 'a != b', alias = { 'not_equal' }, tol = 'EXACT', rules = 'none: boolean', doc = 'a ~= b, elementwise', source = STD }
op { 'lt', family = 'binary', dtypes = ORD, result = 'bool', expr = 'a < b', alias = { 'less' }, tol = 'EXACT', rules = 'none: boolean', example = "mc.lt(mc.tensor{1, 3}, 2)  --> bool[2]@cpu { true, false }", doc = 'a < b, elementwise', source = STD }
op { 'le', family = 'binary', dtypes = ORD, result = 'bool', expr = 'a <= b', alias = { 'less_equal' }, tol = 'EXACT', rules = 'none: boolean', doc = 'a <= b, elementwise', source = STD }
op { 'gt', family = 'binary', dtypes = ORD, result = 'bool', expr = 'a > b', alias = { 'greater' }, tol = 'EXACT', rules = 'none: boolean', doc = 'a > b, elementwise', source = STD }
op { 'ge', family = 'binary', dtypes = ORD, result = 'bool', expr = 'a >= b', alias = { 'greater_equal' }, tol = 'EXACT', rules = 'none: boolean', doc = 'a >= b, elementwise', source = STD }
op { 'logical_and', family = 'binary', dtypes = BOOL, promote = 'bool', expr = 'a & b', tol = 'EXACT', rules = 'none: boolean', doc = 'both are non-zero', source = STD }
op { 'logical_or', family = 'binary', dtypes = BOOL, promote = 'bool', expr = 'a | b', tol = 'EXACT', rules = 'none: boolean', doc = 'either is non-zero', source = STD }
op { 'logical_xor', family = 'binary', dtypes = BOOL, promote = 'bool', expr = 'a ^ b', tol = 'EXACT', rules = 'none: boolean', doc = 'exactly one is non-zero', source = STD }
op { 'bitwise_and', family = 'binary', dtypes = IB, expr = 'a & b', tol = 'EXACT', rules = 'none: integer', doc = 'bitwise and', source = STD }
op { 'bitwise_or', family = 'binary', dtypes = IB, expr = 'a | b', tol = 'EXACT', rules = 'none: integer', doc = 'bitwise or', source = STD }
op { 'bitwise_xor', family = 'binary', dtypes = IB, expr = 'a ^ b', tol = 'EXACT', rules = 'none: integer', doc = 'bitwise exclusive or', source = STD }
op { 'bitwise_left_shift', family = 'binary', dtypes = INT, expr = 'shl(a, b)', tol = 'EXACT', rules = 'none: integer', doc = 'a shifted left by b >= 0 bits; at or past the width: 0', source = STD }
op { 'bitwise_right_shift', family = 'binary', dtypes = INT, expr = 'shr(a, b)', tol = 'EXACT', rules = 'none: integer', doc = 'a shifted right by b >= 0 bits, sign kept', source = STD }

-- ---------------------------------------------------------------- elementwise, one operand
local function unary(name, dtypes, expr, more)
  more = more or {}
  more[1], more.family, more.dtypes, more.expr = name, more.family or 'unary', dtypes, expr
  more.source = more.source or STD
  more.tol = more.tol or 'ULP4'
  op(more)
end
unary('positive', NUM, 'a', { tol = 'EXACT', rules = 'auto', doc = '+a (a copy)' })
unary('negative', NUM, '-a', { alias = { 'neg' }, inplace = true, tol = 'EXACT', rules = 'auto', example = "mc.negative(mc.tensor{1, -2})  --> f64[2]@cpu { -1, 2 }", doc = '-a' })
unary('abs', NUM, 'abs(a)', { result = 'real', tol = 'EXACT', ctol = 'ULP4', rules = 'abs', example = "mc.abs(mc.complex(3, 4))  --> f64[]@cpu 5", doc = '|a|; the modulus of a complex number' })
unary('sign', NUM, 'sign(a)', { tol = 'EXACT', ctol = 'ULP4', rules = 'none: piecewise constant', doc = '-1, 0, 1; a/|a| for complex; NaN stays' })
unary('square', NUM, 'a * a', { tol = 'EXACT', rules = 'auto', doc = 'a^2' })
unary('floor', REAL, 'floor(a)', { ix = 'a', tol = 'EXACT', rules = 'none: piecewise constant', doc = 'largest integer at or below' })
unary('ceil', REAL, 'ceil(a)', { ix = 'a', tol = 'EXACT', rules = 'none: piecewise constant', doc = 'smallest integer at or above' })
unary('trunc', REAL, 'trunc(a)', { ix = 'a', tol = 'EXACT', rules = 'none: piecewise constant', doc = 'integer part, towards zero' })
unary('round', REAL, 'round(a)', { ix = 'a', tol = 'EXACT', rules = 'none: piecewise constant', example = "mc.round(mc.tensor{0.5, 1.5, -1.2})  --> f64[3]@cpu { 0, 2, -1 }", doc = 'nearest integer, halves to even' })
unary('reciprocal', FC, '1 / a', { promote = 'float', rules = 'auto', tol = 'EXACT', ctol = 'ULP4', doc = '1 / a', source = 'definition' })
unary('bitwise_invert', IB, '~a', { tol = 'EXACT', rules = 'none: integer', doc = 'bitwise not; logical not of booleans' })
unary('logical_not', BOOL, '~a', { promote = 'bool', tol = 'EXACT', rules = 'none: boolean', doc = 'true where zero' })
unary('isnan', FC, 'isnan(a)', { promote = 'float', result = 'bool', tol = 'EXACT', rules = 'none: boolean', example = "mc.isnan(mc.tensor{1, mc.nan})  --> bool[2]@cpu { false, true }", doc = 'is not a number' })
unary('isinf', FC, 'isinf(a)', { promote = 'float', result = 'bool', tol = 'EXACT', rules = 'none: boolean', doc = 'is an infinity' })
unary('isfinite', FC, 'isfinite(a)', { promote = 'float', result = 'bool', tol = 'EXACT', rules = 'none: boolean', doc = 'neither NaN nor infinite' })
unary('signbit', FLOAT, 'signbit(a)', { promote = 'float', result = 'bool', tol = 'EXACT', rules = 'none: boolean', doc = 'the sign bit is set' })
for _, r in ipairs {
  { 'sqrt', 'square root; negative reals give NaN', FC, 'EXACT' }, { 'exp', 'e^a', FC }, { 'expm1', 'e^a - 1 near zero', FLOAT }, { 'exp2', '2^a', FLOAT },
  { 'log', 'natural logarithm', FC }, { 'log2', 'logarithm to base 2', FLOAT }, { 'log10', 'logarithm to base 10', FLOAT }, { 'log1p', 'log(1 + a) near zero', FLOAT },
  { 'sin', 'sine of a, rad', FC }, { 'cos', 'cosine of a, rad', FC }, { 'tan', 'tangent of a, rad', FC },
  { 'asin', 'inverse sine, rad', FLOAT }, { 'acos', 'inverse cosine, rad', FLOAT }, { 'atan', 'inverse tangent, rad', FLOAT },
  { 'sinh', 'hyperbolic sine', FC }, { 'cosh', 'hyperbolic cosine', FC }, { 'tanh', 'hyperbolic tangent', FC },
  { 'asinh', 'inverse hyperbolic sine', FLOAT }, { 'acosh', 'inverse hyperbolic cosine', FLOAT }, { 'atanh', 'inverse hyperbolic tangent', FLOAT },
} do
  unary(r[1], r[3], r[1] .. '(a)', { promote = 'float', fix = (r[1] == 'sin' or r[1] == 'cos' or r[1] == 'tan') and r[1] or nil, rules = r[1], tol = r[4] or 'ULP4', ctol = 'ULP4', doc = r[2] })
end
unary('rsqrt', FLOAT, '1 / sqrt(a)', { promote = 'float', rules = 'auto', doc = '1 / sqrt(a)', source = 'definition' })
unary('erf', FLOAT, 'erf(a)', { promote = 'float', rules = 'erf', example = "mc.erf(0)  --> f64[]@cpu 0", doc = 'error function 2/sqrt(pi) int_0^a exp(-t^2) dt', source = 'Abramowitz and Stegun 7.1.1' })
unary('erfc', FLOAT, 'erfc(a)', { promote = 'float', rules = 'erfc', doc = '1 - erf(a) without cancellation', source = 'Abramowitz and Stegun 7.1.2' })
unary('ndtr', FLOAT, 'ndtr(a)', { promote = 'float', method = false, rules = 'ndtr', doc = 'standard normal distribution function erfc(-a / sqrt(2)) / 2, tails included', source = 'Abramowitz and Stegun 26.2.29' })
unary('ndtri', FLOAT, 'ndtri(a)', { promote = 'float', method = false, rules = 'ndtri', doc = 'standard normal quantile: the inverse of ndtr; NaN outside [0, 1]', source = 'Algorithm AS 241, 1988' })
unary('erfinv', FLOAT, 'erfinv(a)', { promote = 'float', rules = 'erfinv', doc = 'inverse error function; NaN outside [-1, 1]', source = 'Algorithm AS 241, 1988' })
unary('lgamma', FLOAT, 'lgamma(a)', { promote = 'float', alias = { 'gammaln' }, rules = 'lgamma', doc = 'log |Gamma(a)|', source = 'C11 7.12.8.3' })
unary('digamma', FLOAT, 'digamma(a)', { promote = 'float', rules = 'none: trigamma is not there', doc = 'derivative of lgamma', source = 'DLMF 5.5, 5.11' })
unary('logistic', FLOAT, '(a < 0 ? exp(-abs(a)) : 1) / (1 + exp(-abs(a)))', { promote = 'float', alias = { 'sigmoid' }, rules = 'auto', example = "mc.logistic(0)  --> f64[]@cpu 0.5", doc = '1 / (1 + exp(-a))', source = 'definition; the exponential never overflows, so that the tail keeps its subnormal numbers' })
unary('deg2rad', FLOAT, 'a * 0.017453292519943295', { promote = 'float', rules = 'auto', doc = 'degrees to radians', source = 'definition' })
unary('rad2deg', FLOAT, 'a * 57.29577951308232', { promote = 'float', rules = 'auto', doc = 'radians to degrees', source = 'definition' })
unary('conj', NUM, 'conj(a)', { ix = 'a', fx = 'a', tol = 'EXACT', rules = 'auto', doc = 'complex conjugate; reals unchanged' })
unary('real', NUM, 'real(a)', { ix = 'a', fx = 'a', result = 'real', tol = 'EXACT', rules = 'auto', doc = 'real part' })
unary('imag', NUM, 'imag(a)', { ix = '0', fx = '0', result = 'real', tol = 'EXACT', rules = 'auto', doc = 'imaginary part' })
unary('angle', FC, 'arg(a)', { promote = 'float', fx = 'atan2(0, a)', result = 'real', rules = 'angle', example = "mc.angle(mc.complex(-1, 0))  --> f64[]@cpu 3.1415926535898", doc = 'phase in (-pi, pi], rad', source = 'definition' })

-- ---------------------------------------------------------------- special functions

-- ---------------------------------------------------------------- elementwise, three operands
op { 'clip', family = 'ternary', dtypes = ORD, expr = 'minimum(maximum(a, b), c)', tol = 'EXACT', rules = 'select', example = "mc.clip(mc.tensor{-1, 0.5, 3}, 0, 1)  --> f64[3]@cpu { 0.0000, 0.5000, 1.0000 }", doc = 'a limited to [b, c]; NaN stays', source = STD }
op { 'where', family = 'where', dtypes = ALL, expr = 'a ? b : c', tol = 'EXACT', rules = 'where', method = false, example = "mc.where(mc.tensor{true, false}, 1, 2)  --> f64[2]@cpu { 1, 2 }", doc = 'b where the condition a holds, else c', source = STD }
op { 'fma', family = 'ternary', dtypes = FLOAT, promote = 'float', expr = 'fma(a, b, c)', tol = 'EXACT', rules = 'fma', doc = 'a b + c, rounded once where the machine has it (v3, v4)', source = 'IEEE 754-2019 5.4.1' }
op { 'betainc', family = 'ternary', dtypes = FLOAT, promote = 'float', expr = 'betainc(a, b, c)', method = false, tol = 'ITERATIVE', rules = 'betainc', doc = 'regularised incomplete beta function I_c(a, b), a, b > 0, c in [0, 1]', source = 'DLMF 8.17' }
op { 'lerp', family = 'ternary', dtypes = FC, promote = 'float', expr = 'a + c * (b - a)', tol = 'ULP4', rules = 'auto', doc = 'a + c (b - a)', source = 'definition' }

-- ---------------------------------------------------------------- reductions
local AX = { { 'axis', 'axes' }, { 'keepdim', 'bool', false } }
op { 'sum', family = 'reduce', dtypes = ALL, accumulate = true, params = AX, tol = 'ACCUM', rules = 'sum', example = "mc.sum(mc.tensor{{1, 2}, {3, 4}}, 1)  --> f64[2]@cpu { 4, 6 }", doc = 'sum over axes (all by default); integers and booleans give i64', source = STD }
op { 'prod', family = 'reduce', dtypes = ALL, accumulate = true, params = AX, tol = 'ACCUM', rules = 'prod', doc = 'product over axes; integers and booleans give i64', source = STD }
op { 'max', family = 'reduce', dtypes = ORD, params = AX, empty = 'error', tol = 'EXACT', rules = 'max', example = "mc.max(mc.tensor{1, 3, 2})  --> f64[]@cpu 3", doc = 'largest element; NaN wins; empty is an error', source = STD }
op { 'min', family = 'reduce', dtypes = ORD, params = AX, empty = 'error', tol = 'EXACT', rules = 'max', doc = 'smallest element; NaN wins; empty is an error', source = STD }
op { 'any', family = 'reduce', dtypes = ALL, result = 'bool', params = AX, tol = 'EXACT', rules = 'none: boolean', example = "mc.any(mc.tensor{0, 1})  --> true", doc = 'some element is non-zero; over everything a Lua boolean', source = STD }
op { 'all', family = 'reduce', dtypes = ALL, result = 'bool', params = AX, tol = 'EXACT', rules = 'none: boolean', doc = 'every element is non-zero; over everything a Lua boolean', source = STD }
op { 'argmax', family = 'reduce', dtypes = ORD, result = 'i64', params = AX, base = true, empty = 'error', tol = 'EXACT', rules = 'none: positions', example = "mc.argmax(mc.tensor{1, 3, 2})  --> i64[]@cpu 2", doc = 'position of the first largest element; one axis, or everything flattened', source = STD }
op { 'argmin', family = 'reduce', dtypes = ORD, result = 'i64', params = AX, base = true, empty = 'error', tol = 'EXACT', rules = 'none: positions', doc = 'position of the first smallest element; one axis, or everything flattened', source = STD }
op { 'mean', family = 'reduce', dtypes = FC, promote = 'float', params = AX, tol = 'ACCUM', rules = 'mean', example = "mc.mean(mc.tensor{1, 2, 6})  --> f64[]@cpu 3", doc = 'arithmetic mean; integers give f64; empty gives NaN', source = STD }
op { 'var', family = 'reduce', dtypes = FLOAT, promote = 'float', params = { AX[1], AX[2], { 'correction', 'number', 0 } }, tol = 'ACCUM', rules = 'var', example = "mc.var(mc.tensor{1, 3}, { correction = 1 })  --> f64[]@cpu 2", doc = 'variance sum (x - mean)^2 / (n - correction), two passes', source = STD }
op { 'std', family = 'reduce', dtypes = FLOAT, promote = 'float', params = { AX[1], AX[2], { 'correction', 'number', 0 } }, tol = 'ACCUM', rules = 'std', doc = 'sqrt(var)', source = STD }

-- ---------------------------------------------------------------- scans
op { 'cumsum', family = 'scan', dtypes = ALL, accumulate = true, params = { { 'axis', 'axis' } }, alias = { 'cumulative_sum' }, tol = 'ACCUM', rules = 'cumsum', example = "mc.cumsum(mc.tensor{1, 2, 3}, 1)  --> f64[3]@cpu { 1, 3, 6 }", doc = 'running sum along one axis; integers give i64', source = STD }
op { 'cumprod', family = 'scan', dtypes = ALL, accumulate = true, params = { { 'axis', 'axis' } }, alias = { 'cumulative_prod' }, tol = 'ACCUM', rules = 'cumprod', doc = 'running product along one axis', source = STD }

-- ---------------------------------------------------------------- recursive filters
op { 'iir', family = 'filter', nin = 3, nout = 2, dtypes = FLOAT, promote = 'float', params = { { 'axis', 'axis', -1 }, { 'reverse', 'bool', false } }, namespace = 'signal', method = false, tol = 'ITERATIVE', rules = 'iir', doc = 'samples through recursive sections f64[sections,2 (order + 1)] from a state; gives samples and the state after the last', source = 'transposed direct form II: Oppenheim and Schafer, Discrete-time signal processing, section 6.3' }

-- ---------------------------------------------------------------- sorting and order statistics
op { 'sort', family = 'sort', dtypes = ORD, params = { { 'axis', 'axis', -1 }, { 'descending', 'bool', false }, { 'stable', 'bool', true } }, tol = 'EXACT', rules = 'sort', example = "mc.sort(mc.tensor{3, 1, 2}, { descending = true })  --> f64[3]@cpu { 3, 2, 1 }", doc = 'sorted along one axis, NaN last', source = STD }
op { 'argsort', family = 'sort', dtypes = ORD, result = 'i64', base = true, params = { { 'axis', 'axis', -1 }, { 'descending', 'bool', false }, { 'stable', 'bool', true } }, tol = 'EXACT', rules = 'none: positions', example = "mc.argsort(mc.tensor{3, 1, 2})  --> i64[3]@cpu { 2, 3, 1 }", doc = 'positions that sort along one axis, NaN last', source = STD }
op { 'median', family = 'select', dtypes = FLOAT, promote = 'float', params = { { 'axis', 'axes' }, { 'keepdim', 'bool', false } }, tol = 'ULP4', rules = 'quantile', example = "mc.median(mc.tensor{1, 2, 4, 9})  --> f64[]@cpu 3", doc = 'middle value, the mean of the two middle ones for even counts; NaN wins', source = 'definition' }
op { 'quantile', family = 'select', dtypes = FLOAT, promote = 'float', params = { { 'axis', 'axes' }, { 'keepdim', 'bool', false } }, tol = 'ULP4', rules = 'quantile', method = false, doc = 'quantiles along axes; see mc.quantile for the options', source = 'Hyndman and Fan, Sample quantiles in statistical packages, 1996' }

-- ---------------------------------------------------------------- products
op { 'matmul', family = 'matmul', dtypes = ALL, tol = 'ACCUM', rules = 'matmul', example = "mc.matmul(mc.tensor{{1, 2}, {3, 4}}, mc.tensor{1, 1})  --> f64[2]@cpu { 3, 7 }", doc = 'matrix product over the last two axes, batched over the others; 1-D operands as vectors', source = STD }
op { 'vecdot', family = 'dot', module = 'mascon.products', nin = 2, dtypes = ALL, tol = 'ACCUM', rules = 'auto', doc = 'sum of conj(a) b along one axis, batched over the others', source = STD }

-- ---------------------------------------------------------------- transforms
local FP = { { 'n', 'int', -1 }, { 'axis', 'axis', -1 }, { 'norm', { 'backward', 'ortho', 'forward' }, 'backward' } }
for _, r in ipairs {
  { 'fft', 'discrete Fourier transform X_k = sum_t x_t exp(-2 pi i k t / n)' }, { 'ifft', 'inverse of fft, scaled by 1/n' },
  { 'rfft', 'transform of a real signal, bins 0..n/2', "mc.fft.rfft(mc.tensor{1, 1, 1, 1})  --> c128[3]@cpu { 4+0i, 0+0i, 0+0i }" }, { 'irfft', 'inverse of rfft; n is 2 (bins - 1) by default' },
} do
  op { r[1], family = 'fft', dtypes = { 'f32', 'f64', 'c64', 'c128' }, promote = 'float', params = FP, tol = 'FFT', rules = r[1], namespace = 'fft', method = false, example = r[3], doc = r[2], source = STD }
end

for _, r in ipairs {
  { 'dct', 'discrete cosine transform, types 1 to 4' }, { 'idct', 'inverse of dct' }, { 'dst', 'discrete sine transform, types 1 to 4' }, { 'idst', 'inverse of dst' },
} do
  op { r[1], family = 'dct', module = 'mascon.dct', nin = 1, dtypes = FC, promote = 'float', tol = 'FFT', rules = r[1], namespace = 'fft', method = false, doc = r[2], source = 'SciPy fft.' .. r[1] .. '; A fast cosine transform in one and two dimensions, 1980' }
end

-- ---------------------------------------------------------------- moving elements
op { 'take', family = 'gather', dtypes = ALL, params = { { 'axis', 'axis', 1 } }, base = true, tol = 'EXACT', rules = 'take', example = "mc.take(mc.tensor{10, 20, 30}, mc.tensor({3, 1}, { dtype = 'i64' }))  --> f64[2]@cpu { 30, 10 }", doc = 'the slices of x at positions `index` along one axis', source = STD }
op { 'take_along_axis', family = 'gather', dtypes = ALL, params = { { 'axis', 'axis', -1 } }, base = true, alias = { 'gather' }, tol = 'EXACT', rules = 'gather', doc = 'x picked at index, elementwise along one axis', source = STD }
op { 'put_along_axis', family = 'gather', dtypes = ALL, params = { { 'axis', 'axis', -1 } }, base = true, alias = { 'scatter' }, tol = 'EXACT', rules = 'scatter', doc = 'a copy of x with values put at index along one axis; the last write wins', source = 'NumPy put_along_axis' }
op { 'scatter_add', family = 'gather', dtypes = NUM, params = { { 'axis', 'axis', -1 } }, base = true, tol = 'ACCUM', rules = 'scatter', doc = 'a copy of x with values added at index along one axis, in order', source = 'PyTorch scatter_add' }
op { 'nonzero_flat', family = 'gather', dtypes = ALL, result = 'i64', base = true, method = false, tol = 'EXACT', rules = 'none: positions', doc = 'flat positions of the non-zero elements in row-major order', source = 'definition' }
op { 'searchsorted', family = 'gather', dtypes = REAL, result = 'i64', params = { { 'right', 'bool', false } }, base = true, tol = 'EXACT', rules = 'none: positions', example = "mc.searchsorted(mc.tensor{1, 3, 5}, mc.tensor{2, 3})  --> i64[2]@cpu { 2, 2 }", doc = 'positions at which values would be inserted into the sorted 1-D x', source = STD }
op { 'bincount', family = 'gather', dtypes = { 'i64' }, result = 'i64', params = { { 'minlength', 'int', 0 } }, tol = 'EXACT', rules = 'none: counts', example = "mc.bincount(mc.tensor({0, 2, 2}, { dtype = 'i64' }))  --> i64[3]@cpu { 1, 0, 2 }", doc = 'how often each non-negative integer occurs: result[1] counts zeros', source = 'NumPy bincount' }
op { 'bincount_weighted', family = 'gather', dtypes = { 'f64' }, params = { { 'minlength', 'int', 0 } }, method = false, tol = 'ACCUM', rules = 'bincount', doc = 'sum of the weights of each integer value', source = 'NumPy bincount' }
op { 'concat', family = 'layout', nin = 'list', dtypes = ALL, params = { { 'axis', 'axis', 1 } }, method = false, tol = 'EXACT', rules = 'concat', example = "mc.concat({ mc.tensor{1, 2}, mc.tensor{3} })  --> f64[3]@cpu { 1, 2, 3 }", doc = 'tensors joined along an existing axis', source = STD }
op { 'stack', family = 'layout', nin = 'list', dtypes = ALL, params = { { 'axis', 'axis', 1 } }, method = false, tol = 'EXACT', rules = 'stack', example = "mc.stack({ mc.tensor{1, 2}, mc.tensor{3, 4} })  --> f64[2,2]@cpu { { 1, 2 }, { 3, 4 } }", doc = 'tensors of one shape joined along a new axis', source = STD }
op { 'roll', family = 'layout', nin = 1, dtypes = ALL, params = { { 'shift', 'int' }, { 'axis', 'axis' } }, tol = 'EXACT', rules = 'roll', example = "mc.roll(mc.tensor{1, 2, 3}, 1)  --> f64[3]@cpu { 3, 1, 2 }", doc = 'elements moved by shift, those that fall off come in on the other side', source = STD }

op { 'pad', family = 'pad', module = 'mascon.pad', nin = 'list', dtypes = ALL, tol = 'ACCUM', rules = 'pad', doc = 'the tensor with elements added at the ends of its axes', source = 'NumPy pad' }

-- ---------------------------------------------------------------- values between knots
op { 'interp', family = 'interp', module = 'mascon.interpolate', nin = 3, dtypes = FLOAT, promote = 'float', tol = 'ULP4', rules = 'none: only the values are differentiable, by take', doc = 'linear interpolation at x between knots xp with values fp', source = 'NumPy interp' }
op { 'ppoly', family = 'interp', module = 'mascon.interpolate', nin = 3, dtypes = FLOAT, promote = 'float', namespace = 'interpolate', method = false, tol = 'ULP4', rules = 'none: only the coefficients are differentiable', doc = 'piecewise polynomial at x: coefficients [c, knots - 1, ...], highest power of x - knot first', source = 'SciPy PPoly' }
op { 'tridiagonal', family = 'tridiagonal', module = 'mascon.spline', nin = 2, dtypes = FLOAT, promote = 'float', namespace = 'interpolate', method = false, tol = 'ITERATIVE', rules = 'none: the solver of splines', doc = 'solutions of tridiagonal systems: bands [3, n], right sides [n, ...]', source = 'elimination without exchange of rows: Golub and Van Loan, Matrix computations, section 4.3' }

-- ---------------------------------------------------------------- random numbers
for _, r in ipairs {
  { 'random_uniform', { 'f32', 'f64' }, { { 'low', 'number', 0 }, { 'high', 'number', 1 } }, 'uniform on [low, high)' },
  { 'random_normal', { 'f32', 'f64' }, { { 'mean', 'number', 0 }, { 'std', 'number', 1 } }, 'normal with mean and standard deviation' },
  { 'random_integers', { 'i64' }, { { 'low', 'int' }, { 'high', 'int' } }, 'integers in [low, high], unbiased' },
} do
  op { r[1], family = 'random', dtypes = r[2], params = r[3], method = false, tol = 'EXACT', rules = 'none: random', doc = r[4], source = 'Philox4x32-10: Parallel random numbers, as easy as 1, 2, 3, SC 2011' }
end

-- ---------------------------------------------------------------- linear algebra
-- Operands are stacks of matrices in the last two axes. threads: of LAPACK within one large matrix (0: one; more gives up equal bits).
local MATRIX = { 'f32', 'f64', 'c64', 'c128' }
local LAPACK = 'LAPACK Users\' Guide, third edition, 1999'
local TRANS = { 'none', 'transpose', 'adjoint' }
local function linalg(name, nin, params, more)
  local p = { { 'threads', 'int', 0 } }
  for i, v in ipairs(params) do p[i + 1] = v end
  more[1], more.family, more.nin, more.params, more.dtypes, more.promote, more.namespace, more.method = name, 'linalg', nin, p, more.dtypes or MATRIX, 'float', 'linalg', false
  more.tol, more.rules, more.source = more.tol or 'ITERATIVE', more.rules or name, more.source or LAPACK
  op(more)
end
linalg('solve', 2, {}, { doc = 'x with a x = b for square matrices a[..., n, n]; b is a vector [n] or matrices [..., n, k]; LU with partial pivoting', source = STD })
linalg('solve_triangular', 2, { { 'lower', 'bool', false }, { 'trans', TRANS, 'none' }, { 'unit_diagonal', 'bool', false } }, { doc = 'x with a x = b, or with the transpose or adjoint of a, for triangular a; the other triangle is not read' })
linalg('inv', 1, {}, { doc = 'inverse of square matrices', source = STD })
linalg('det', 1, {}, { doc = 'determinant of square matrices', source = STD })
linalg('slogdet', 1, {}, { nout = 2, doc = 'sign (a phase for complex matrices) and logarithm of the modulus of the determinant; 0 and -inf when singular', source = STD })
linalg('lu_factor', 1, {}, { nout = 2, base = true, doc = 'L below and U on and above the diagonal of one matrix, and the exchanges of rows: row i with row piv[i]' })
linalg('lu_solve', 3, { { 'trans', TRANS, 'none' } }, { base = true, doc = 'x with a x = b from lu_solve(lu, b, piv), factors and exchanges as lu_factor gives them' })
linalg('lu', 1, {}, { nout = 3, results = { 'P', 'L', 'U' }, doc = 'a = P L U: permutation, unit lower and upper trapezium, of matrices of any shape' })
linalg('cholesky', 1, { { 'upper', 'bool', false } }, { doc = 'L with a = L L^H (or U with a = U^H U) of positive definite Hermitian matrices; only that triangle of a is read', source = STD })
linalg('qr', 1, { { 'mode', { 'reduced', 'complete', 'r' }, 'reduced' }, { 'pivoting', 'bool', false } }, { nout = 'list', base = true, results = { 'Q', 'R', 'P' }, doc = 'a = Q R, Q with orthonormal columns, R upper triangular (mode r: R alone); pivoting: a table of Q, R, P with the columns P of a in place of a, |R_ii| not growing', source = STD })
linalg('svd', 1, { { 'full_matrices', 'bool', true } }, { nout = 3, results = { 'U', 'S', 'Vh' }, doc = 'a = U diag(S) Vh, singular values falling; full_matrices = false keeps min(m, n) vectors', source = STD })
linalg('svdvals', 1, {}, { doc = 'singular values, falling', source = STD })
linalg('eigh', 1, { { 'upper', 'bool', false }, { 'kind', { 1, 2, 3 }, 1 }, { 'b', 'tensor' } }, { nout = 2, doc = 'eigenvalues (rising) and orthonormal eigenvectors (columns) of Hermitian matrices, of which one triangle is read; with b (positive definite) of a v = w b v, kind 2: a b v = w v, kind 3: b a v = w v', source = STD })
linalg('eigvalsh', 1, { { 'upper', 'bool', false }, { 'kind', { 1, 2, 3 }, 1 }, { 'b', 'tensor' } }, { doc = 'eigenvalues (rising) of Hermitian matrices; options of eigh', source = STD })
linalg('eig', 1, {}, { nout = 2, doc = 'complex eigenvalues, in no order, and eigenvectors (columns of length 1) of square matrices', source = 'NumPy linalg.eig' })
linalg('eigvals', 1, {}, { doc = 'complex eigenvalues of square matrices, in no order', source = 'NumPy linalg.eigvals' })
linalg('hessenberg', 1, {}, { nout = 2, doc = 'H, zero below the first subdiagonal, and unitary Q with a = Q H Q^H' })
for _, r in ipairs {
  { 'schur_form', 1, {}, 2, MATRIX, 'T and unitary Z with a = Z T Z^H' },
  { 'least_squares', 2, { { 'rcond', 'number', -1 } }, 3, MATRIX, 'shortest x that minimises |a x - b|, rank, singular values' },
  { 'sqrt_upper', 1, {}, 1, { 'c128' }, 'upper triangular square root of upper triangular matrices' },
  { 'log_upper', 1, {}, 1, { 'c128' }, 'logarithm of upper triangular matrices' },
} do
  linalg(r[1], r[2], r[3], { nout = r[4], dtypes = r[5], internal = true, doc = r[6] })
end

-- ---------------------------------------------------------------- compositions: shapes, sets, products
local function composed(module, dtypes, list)
  for _, r in ipairs(list) do
    r.family, r.module, r.dtypes = 'lua', module, r.dtypes or dtypes
    r.tol, r.source, r.rules = r.tol or 'EXACT', r.source or STD, r.rules or 'auto'
    op(r)
  end
end

composed('mascon.products', NUM, {
  { 'dot', nin = 2, tol = 'ACCUM', doc = 'product of vectors and matrices, the last axis of a with the last but one of b', source = 'NumPy dot' },
  { 'vdot', nin = 2, tol = 'ACCUM', doc = 'sum of conj(a) b over all elements', source = 'NumPy vdot' },
  { 'inner', nin = 2, tol = 'ACCUM', doc = 'sum of products over the last axis of both', source = 'NumPy inner' },
  { 'outer', nin = 2, doc = 'all products of an element of a with one of b' },
  { 'tensordot', nin = 2, tol = 'ACCUM', doc = 'sum of products over chosen axes' },
  { 'kron', nin = 2, doc = 'Kronecker product', source = 'NumPy kron' },
  { 'cross', nin = 2, tol = 'ACCUM', doc = 'vector product in space' },
})
composed('mascon.einsum', ALL, {
  { 'einsum', nin = 'list', method = false, tol = 'ACCUM', doc = 'sums of products in index notation', source = 'NumPy einsum; Faster identification of optimal contraction sequences for tensor networks, 2014' },
  { 'einsum_path', nin = 'list', method = false, rules = 'none: a report', doc = 'the order and cost of the products of an einsum', source = 'NumPy einsum_path' },
})
composed('mascon.join', ALL, {
  { 'atleast_1d', nin = 'list', method = false, doc = 'operands with at least one axis', source = 'NumPy atleast_1d' },
  { 'atleast_2d', nin = 'list', method = false, doc = 'operands with at least two axes', source = 'NumPy atleast_2d' },
  { 'atleast_3d', nin = 'list', method = false, doc = 'operands with at least three axes', source = 'NumPy atleast_3d' },
  { 'vstack', nin = 'list', method = false, doc = 'tensors stacked as rows', source = 'NumPy vstack' },
  { 'hstack', nin = 'list', method = false, doc = 'tensors side by side', source = 'NumPy hstack' },
  { 'dstack', nin = 'list', method = false, doc = 'tensors stacked in depth', source = 'NumPy dstack' },
  { 'column_stack', nin = 'list', method = false, doc = 'vectors as columns', source = 'NumPy column_stack' },
  { 'block', nin = 'list', method = false, doc = 'a tensor from nested lists of blocks', source = 'NumPy block' },
  { 'split', nout = 'list', doc = 'equal pieces along an axis, or pieces that end at given positions', source = 'NumPy split' },
  { 'array_split', nout = 'list', doc = 'pieces along an axis, the first ones longer by one where they must', source = 'NumPy array_split' },
})
composed('mascon.shapes', ALL, {
  { 'swapaxes', doc = 'two axes exchanged', source = 'NumPy swapaxes' },
  { 'diagonal', method = false, doc = 'a diagonal of two axes as a view' },
  { 'trace', dtypes = NUM, tol = 'ACCUM', doc = 'sum of a diagonal' },
  { 'rot90', doc = 'quarter turns in the plane of two axes', source = 'NumPy rot90' },
  { 'argwhere', result = 'i64', rules = 'none: positions', doc = 'positions of the non-zero elements, one row for each', source = 'NumPy argwhere' },
  { 'flatnonzero', result = 'i64', rules = 'none: positions', doc = 'flat positions of the non-zero elements', source = 'NumPy flatnonzero' },
  { 'sliding_window_view', doc = 'windows sliding over one or several axes', source = 'NumPy sliding_window_view' },
})
composed('mascon.matrices', ALL, {
  { 'eye', nin = 0, method = false, rules = 'none: constant', doc = 'ones on a diagonal, zeros elsewhere' },
  { 'tri', nin = 0, method = false, rules = 'none: constant', doc = 'ones at and below a diagonal', source = 'NumPy tri' },
  { 'tril', doc = 'lower triangle, zeros above' },
  { 'triu', doc = 'upper triangle, zeros below' },
  { 'tril_indices', nin = 0, nout = 2, method = false, rules = 'none: positions', doc = 'positions of a lower triangle', source = 'NumPy tril_indices' },
  { 'triu_indices', nin = 0, nout = 2, method = false, rules = 'none: positions', doc = 'positions of an upper triangle', source = 'NumPy triu_indices' },
  { 'diag', doc = 'a vector as a diagonal, or a diagonal as a view', source = 'NumPy diag' },
  { 'diagflat', doc = 'all elements as a diagonal', source = 'NumPy diagflat' },
  { 'fill_diagonal_', doc = 'a diagonal set in place', source = 'NumPy fill_diagonal' },
  { 'vander', dtypes = NUM, tol = 'ACCUM', doc = 'powers in columns', source = 'NumPy vander' },
  { 'toeplitz', nin = 2, doc = 'matrix constant along diagonals', source = 'SciPy toeplitz' },
  { 'hankel', nin = 2, doc = 'matrix constant along antidiagonals', source = 'SciPy hankel' },
})

-- ---------------------------------------------------------------- compositions: calculus, polynomials, grids
composed('mascon.convolution', ALL, {
  { 'convolve', nin = 2, method = false, tol = 'ACCUM', doc = 'convolution of vectors', source = 'NumPy convolve' },
  { 'correlate', nin = 2, method = false, tol = 'ACCUM', doc = 'correlation of vectors', source = 'NumPy correlate' },
})
composed('mascon.polynomial', NUM, {
  { 'polyval', nin = 2, method = false, tol = 'ACCUM', doc = 'a polynomial at x', source = 'NumPy polyval' },
  { 'polyadd', nin = 2, method = false, doc = 'sum of polynomials', source = 'NumPy polyadd' },
  { 'polysub', nin = 2, method = false, doc = 'difference of polynomials', source = 'NumPy polysub' },
  { 'polymul', nin = 2, method = false, tol = 'ACCUM', doc = 'product of polynomials', source = 'NumPy polymul' },
  { 'polydiv', nin = 2, nout = 2, method = false, tol = 'ITERATIVE', doc = 'quotient and remainder of polynomials', source = 'NumPy polydiv' },
  { 'polyder', method = false, tol = 'ULP4', doc = 'derivative of a polynomial', source = 'NumPy polyder' },
  { 'polyint', method = false, tol = 'ULP4', doc = 'integral of a polynomial', source = 'NumPy polyint' },
  { 'polyfit', nin = 2, method = false, tol = 'ITERATIVE', doc = 'polynomial that fits samples best', source = 'NumPy polyfit' },
  { 'roots', method = false, tol = 'ITERATIVE', rules = 'none: an ordering of eigenvalues', doc = 'roots of a polynomial', source = 'NumPy roots; Polynomial roots from companion matrix eigenvalues, 1995' },
  { 'poly', method = false, tol = 'ITERATIVE', doc = 'polynomial with given roots', source = 'NumPy poly' },
  { 'chebval', nin = 2, method = false, tol = 'ACCUM', doc = 'Chebyshev series at x', source = 'NumPy chebval; A note on the summation of Chebyshev series, 1955' },
  { 'legval', nin = 2, method = false, tol = 'ACCUM', doc = 'Legendre series at x', source = 'NumPy legval; A note on the summation of Chebyshev series, 1955' },
  { 'hermval', nin = 2, method = false, tol = 'ACCUM', doc = 'series of Hermite polynomials of physics at x', source = 'NumPy hermval; A note on the summation of Chebyshev series, 1955' },
  { 'hermeval', nin = 2, method = false, tol = 'ACCUM', doc = 'series of Hermite polynomials of probability at x', source = 'NumPy hermeval; A note on the summation of Chebyshev series, 1955' },
  { 'lagval', nin = 2, method = false, tol = 'ACCUM', doc = 'Laguerre series at x', source = 'NumPy lagval; A note on the summation of Chebyshev series, 1955' },
})
composed('mascon.dct', FC, {
  { 'dctn', promote = 'float', namespace = 'fft', method = false, tol = 'FFT', doc = 'cosine transforms over several axes', source = 'SciPy fft.dctn' },
  { 'idctn', promote = 'float', namespace = 'fft', method = false, tol = 'FFT', doc = 'inverse of dctn', source = 'SciPy fft.idctn' },
  { 'dstn', promote = 'float', namespace = 'fft', method = false, tol = 'FFT', doc = 'sine transforms over several axes', source = 'SciPy fft.dstn' },
  { 'idstn', promote = 'float', namespace = 'fft', method = false, tol = 'FFT', doc = 'inverse of dstn', source = 'SciPy fft.idstn' },
})
composed('mascon.grid', ALL, {
  { 'meshgrid', nin = 'list', nout = 'list', method = false, doc = 'coordinates of a grid from one vector for each axis' },
  { 'mgrid', nin = 0, method = false, rules = 'none: constant', doc = 'coordinates of a grid of ranges', source = 'NumPy mgrid' },
  { 'indices', nin = 0, method = false, rules = 'none: positions', doc = 'positions along each axis of a shape', source = 'NumPy indices' },
  { 'unravel_index', nout = 'list', method = false, rules = 'none: positions', doc = 'flat positions as positions along each axis', source = 'NumPy unravel_index' },
  { 'ravel_multi_index', nin = 'list', method = false, rules = 'none: positions', doc = 'positions along each axis as flat positions', source = 'NumPy ravel_multi_index' },
  { 'logspace', nin = 0, method = false, tol = 'ULP4', rules = 'none: constant', doc = 'numbers even on a logarithmic scale, by exponents', source = 'NumPy logspace' },
  { 'geomspace', nin = 0, method = false, tol = 'ULP4', rules = 'none: constant', doc = 'numbers even on a logarithmic scale, by ends', source = 'NumPy geomspace' },
})
composed('mascon.interpolate', FLOAT, {
  { 'interp1d', nin = 3, promote = 'float', namespace = 'interpolate', method = false, tol = 'ACCUM', doc = 'values between samples along one axis: steps, lines, splines', source = 'SciPy interp1d' },
  { 'regular_grid', nin = 'list', promote = 'float', namespace = 'interpolate', method = false, tol = 'ACCUM', doc = 'values between the points of a grid', source = 'SciPy RegularGridInterpolator' },
})
composed('mascon.spline', FLOAT, {
  { 'cubic_spline', nin = 2, promote = 'float', namespace = 'interpolate', method = false, tol = 'ITERATIVE', doc = 'cubic spline through samples', source = 'SciPy CubicSpline' },
  { 'pchip', nin = 2, promote = 'float', namespace = 'interpolate', method = false, tol = 'ACCUM', doc = 'cubic through samples without overshoot', source = 'Monotone piecewise cubic interpolation, 1980' },
  { 'akima', nin = 2, promote = 'float', namespace = 'interpolate', method = false, tol = 'ACCUM', doc = 'cubic through samples with local slopes', source = 'A new method of interpolation and smooth curve fitting based on local procedures, 1970' },
})
composed('mascon.calculus', FC, {
  { 'diff', dtypes = ALL, doc = 'differences of neighbours, n times', source = 'Python array API standard 2024.12' },
  { 'ediff1d', dtypes = NUM, doc = 'differences of the flattened tensor', source = 'NumPy ediff1d' },
  { 'gradient', promote = 'float', nout = 'list', tol = 'ACCUM', doc = 'derivatives by differences', source = 'NumPy gradient' },
  { 'trapezoid', promote = 'float', tol = 'ACCUM', doc = 'integral by the trapezoidal rule', source = 'NumPy trapezoid' },
  { 'cumulative_trapezoid', promote = 'float', tol = 'ACCUM', doc = 'running integral by the trapezoidal rule', source = 'SciPy cumulative_trapezoid' },
  { 'simpson', promote = 'float', tol = 'ACCUM', doc = "integral by Simpson's rule", source = 'SciPy simpson' },
  { 'cumulative_simpson', promote = 'float', tol = 'ACCUM', doc = 'running integral by parabolas', source = 'SciPy cumulative_simpson' },
  { 'romb', promote = 'float', tol = 'ACCUM', doc = "integral by Romberg's method", source = 'SciPy romb' },
  { 'unwrap', dtypes = REAL, tol = 'ACCUM', doc = 'a phase made continuous', source = 'NumPy unwrap' },
})


-- ---------------------------------------------------------------- compositions: statistics along axes

-- ---------------------------------------------------------------- compositions: linear algebra
local function matrices(module, list)
  for _, r in ipairs(list) do r.namespace, r.method, r.tol = 'linalg', false, r.tol or 'ITERATIVE' end
  composed('mascon.linalg.' .. module, MATRIX, list)
end
local HIGHAM = 'Higham, Functions of matrices, 2008'
matrices('systems', {
  { 'lstsq', nin = 2, doc = 'x that minimises |a x - b|, the shortest of them: a table of x, residuals, rank, S', source = LAPACK },
  { 'pinv', doc = 'Moore-Penrose inverse from singular values above rtol times the largest' },
  { 'cholesky_solve', nin = 2, doc = 'x with a x = b from the Cholesky factor of a', source = LAPACK },
  { 'null_space', doc = 'orthonormal columns that a maps to 0', source = 'SciPy linalg.null_space' },
  { 'orth', doc = 'orthonormal columns that span the columns of a', source = 'SciPy linalg.orth' },
  { 'multi_dot', nin = 'list', doc = 'product of a chain of matrices in the cheapest order', source = 'Cormen et al., Introduction to algorithms, third edition, 2009, section 15.2' },
})
matrices('norms', {
  { 'matrix_norm', doc = 'norm of matrices: fro, nuc, 1, -1, 2, -2, inf, -inf' },
  { 'vector_norm', doc = 'norm of order ord over one axis, several or all' },
  { 'norm', doc = 'vector_norm or matrix_norm, by the axes', source = 'NumPy linalg.norm' },
  { 'cond', doc = 'condition number in the norm p', source = 'NumPy linalg.cond' },
  { 'matrix_rank', doc = 'number of singular values above rtol times the largest' },
})
matrices('functions', {
  { 'schur', doc = 'T and unitary Z with a = Z T Z^H; output real or complex', source = LAPACK },
  { 'matrix_power', doc = 'a multiplied by itself n times; the inverse for negative n' },
  { 'expm', doc = 'exponential of square matrices', source = 'Higham, The scaling and squaring method for the matrix exponential revisited, 2005' },
  { 'logm', doc = 'principal logarithm of square matrices', source = HIGHAM .. ', algorithm 11.9' },
  { 'sqrtm', doc = 'principal square root of square matrices', source = HIGHAM .. ', algorithm 6.3' },
  { 'funm', doc = 'a function of Hermitian matrices, given as a function of their eigenvalues', source = HIGHAM .. ', section 4.5' },
  { 'polar', doc = 'unitary u and positive semidefinite p with a = u p, or a = p u', source = HIGHAM .. ', section 8.1' },
})

-- ---------------------------------------------------------------- phase-amplitude coupling (mc.pac calls these; shapes in runtime/mc_pac.c)
local PA = { { 'P', 'int' }, { 'A', 'int' } }
local function params(...)
  local out = {}
  for _, list in ipairs { ... } do for _, p in ipairs(list) do out[#out + 1] = p end end
  return out
end
local function ints(text)
  local out = {}
  for n in text:gmatch '%S+' do out[#out + 1] = { n, 'int', 0 } end
  return out
end
local PACSRC = 'modulation index: J. Neurophysiol. 104, 1195, 2010; the other measures stand in the docstring of mc.pac.compute'
local ANALYTIC = ints 'N pad bins demean zero_ext complex_table'
for _, r in ipairs {
  { 'pac_analytic', params(PA, ANALYTIC, ints 'want'), 'rows -> analytic signals of bands: phase bins, unit phasors, angles, amplitudes' },
  { 'pac_bins', params(PA, ints 'L G bins norm measure exhaustive N first K want asymmetric idx_band amp_tile jobs', { { 'epsilon', 'number', 0 }, { 'tau', 'number', 0 } }), 'phase bins and amplitudes -> coupling and its surrogates' },
  { 'pac_row', params(PA, ANALYTIC, ints 'kind norm measure NX first K want', { { 'epsilon', 'number', 0 }, { 'threshold', 'number', 0 } }), 'pac_analytic and pac_bins or pac_moments chained row by row' },
  { 'pac_moments', params(PA, ints 'L measure K first want unit_band amp_tile jobs', { { 'threshold', 'number', 0 } }), 'unit phasors and amplitudes -> coupling from moments and its surrogates' },
  { 'pac_theta', ints 'L N A', 'tiled amplitudes -> cosine and sine of the phase of their envelope' },
  { 'pac_ranks', ints 'L step', 'rows -> normal scores of their ranks' },
  { 'pac_tile', ints 'A L', 'amplitudes [jobs, A, L] -> tiles' },
  { 'pac_index', ints 'L bins', 'angles -> phase bins' },
  { 'pac_measure', params(PA, ints 'bins norm measure want', { { 'epsilon', 'number', 0 } }), 'bin sums and counts -> coupling' },
} do
  op { r[1], family = 'pac', nin = 'list', nout = 'list', dtypes = { 'f32', 'f64' }, params = r[2], method = false, tol = 'ACCUM', rules = 'none: analysis end point', doc = r[3], source = PACSRC }
end

-- ---------------------------------------------------------------- hand-written kernels: name, dtypes, signature (family)
-- Elementwise kernels are generated from expr under the op's name; these stand in kernels/cpu/<family>.c as mck_<name>_<dtype>.
local ACC = { 'i64', 'f32', 'f64', 'c64', 'c128' }
local CMP = { 'u8', 'i8', 'i16', 'i32', 'i64', 'f32', 'f64' }
local SIZES = { 'u8', 'i16', 'i32', 'i64', 'c128' }
T.kernels = {
  { 'sum', ACC, 'reduce' }, { 'prod', ACC, 'reduce' }, { 'max', CMP, 'reduce' }, { 'min', CMP, 'reduce' }, { 'any', { 'u8' }, 'reduce' },
  { 'all', { 'u8' }, 'reduce' }, { 'argmax', CMP, 'reduce' }, { 'argmin', CMP, 'reduce' }, { 'sqdev', { 'f32', 'f64' }, 'reduce' },
  { 'cumsum', ACC, 'reduce' }, { 'cumprod', ACC, 'reduce' }, { 'iir', { 'f32', 'f64' }, 'filter' },
  { 'sort', CMP, 'sort' }, { 'select', { 'f32', 'f64' }, 'select' },
  { 'matmul', ACC, 'matmul' }, { 'vecdot', ACC, 'dot' }, { 'interp', { 'f32', 'f64' }, 'interp' }, { 'ppoly', { 'f32', 'f64' }, 'interp' }, { 'tridiagonal', { 'f64' }, 'tridiagonal' },
}

return T
