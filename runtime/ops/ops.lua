-- ops.lua - the single source of truth: dtypes, statuses, ISA levels and every op, as pure data.
--
-- Read by runtime/ops/gen/*.lua at build time (LuaJIT), which writes the C enums, the dispatch table, the elementwise kernels, the FFI
-- declarations, the Lua functions, the reference page, the test matrix and the bench matrix. Nothing here runs at start.
--
-- A row:  op{ name, family=, dtypes=, result=, expr=, cexpr=, params=, nout=, base=, alias=, method=, tol=, cost=, rules=, doc=, source= }
--   family   which C driver runs it (runtime/mc_<family>.c) and which signature its Lua function has
--   dtypes   dtypes a kernel exists for, after promotion; f16 and bf16 are computed in f32 when listed
--   result   'same' | 'bool' | 'real' (complex -> real) | 'i64' | 'f64' ... ; promote: how inputs meet: 'numeric' | 'float' (integers -> f64)
--   expr     elementwise formula in the scalar language of lua/mascon/compile/native/scalar.lua: + - * / ( ) ?: comparisons, functions of mck_math.h;
--            a, b, c are the operands, p0.. scalar parameters. cexpr: the same for complex dtypes when it differs. ix: for integers.
--   params   { name, kind, default } in the order they are packed; kind: 'int' 'ints' 'number' 'axes' 'axis' 'bool' 'dtype' 'shape'
--   compute  dtype of the arithmetic whatever the operand (else it follows from the family); nin, nout: operands and results
--   kernels  'special': the body stands in kernels/mck_special.h, whose loops are compiled apart
--   alias    other names; method=false keeps it off the tensor; inplace=true adds name_ ; tol: class of tests/tol.lua
-- Examples of rows ('EXPR  --> RESULT', or a list of such lines) stand in T.examples at the end, workspaces in T.work.
--   kernel   dtypes of a kernel written by hand under the op's own name (reductions: pieces joined by addition)
--   rules    derivative and batching: 'auto' (from expr), 'none: why', or the key of lua/mascon/rules
--   by_value the size of the result depends on the values of the operands (where num_segments is not given): what to do instead under tracing
--   module   for rows of any family: the Lua file whose function of the op's name stands in front of the C driver
-- Family 'lua': a composition of other ops; module = the Lua file whose function of the op's name it is. No C, no kernel; derivatives by its
-- parts ('auto'). namespace = 'linalg' puts a function there instead of among mc's own names. results: names of three or more results.
-- internal = true: no function of its own, a step of compositions (called through mascon.core.op's raw); says: the op its messages name.
local T = { ops = {}, kernels = {}, functions = {} }

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
op { 'add', family = 'binary', dtypes = NUM, expr = 'a + b', inplace = true, tol = 'EXACT', rules = 'auto', doc = 'a + b', source = STD }
op { 'subtract', family = 'binary', dtypes = NUM, expr = 'a - b', alias = { 'sub' }, inplace = true, tol = 'EXACT', rules = 'auto', doc = 'a - b', source = STD }
op { 'multiply', family = 'binary', dtypes = NUM, expr = 'a * b', alias = { 'mul' }, inplace = true, tol = 'EXACT', rules = 'auto', doc = 'a b', source = STD }
op { 'multiply_no_nan', family = 'binary', dtypes = FC, promote = 'float', expr = 'b == 0 ? 0 : a * b', method = false, tol = 'EXACT', rules = 'auto', doc = 'a b, and 0 where b is 0 even if a is infinite or NaN', source = 'TensorFlow math.multiply_no_nan' }
op { 'divide', family = 'binary', dtypes = FC, promote = 'float', expr = 'a / b', alias = { 'div' }, inplace = true, tol = 'EXACT', rules = 'auto', doc = 'true division a / b; integers give f64', source = STD }
op { 'floor_divide', family = 'binary', dtypes = REAL, expr = 'floor_divide(a, b)', fix = 'floor_divide', guard = 'b == 0', guard_text = 'integer division by zero', tol = 'EXACT', rules = 'none: piecewise constant', doc = 'floor(a / b); integer division by zero is an error', source = STD }
op { 'remainder', family = 'binary', dtypes = REAL, expr = 'remainder(a, b)', fix = 'remainder', guard = 'b == 0', guard_text = 'integer division by zero', alias = { 'mod' }, tol = 'EXACT', rules = 'remainder', doc = 'a - b floor(a / b): the sign of the divisor', source = STD }
op { 'fmod', family = 'binary', dtypes = FLOAT, promote = 'float', expr = 'fmod(a, b)', fix = 'fmod', tol = 'EXACT', rules = 'remainder', doc = 'C fmod: the sign of the dividend', source = 'C11 7.12.10.1' }
op { 'pow', family = 'binary', dtypes = NUM, expr = 'pow(a, b)', guard = 'b < 0', guard_text = 'an integer to a negative power; convert to f64 first', tol = 'ULP4', rules = 'pow', doc = 'a ^ b; negative integer powers of integers are an error', source = STD }
op { 'maximum', family = 'binary', dtypes = ORD, expr = 'maximum(a, b)', tol = 'EXACT', rules = 'select', doc = 'the larger; NaN wins', source = STD }
op { 'minimum', family = 'binary', dtypes = ORD, expr = 'minimum(a, b)', tol = 'EXACT', rules = 'select', doc = 'the smaller; NaN wins', source = STD }
op { 'atan2', family = 'binary', dtypes = FLOAT, promote = 'float', expr = 'atan2(a, b)', tol = 'ULP4', rules = 'atan2', doc = 'angle of the point (b, a) in (-pi, pi], rad', source = STD }
op { 'hypot', family = 'binary', dtypes = FLOAT, promote = 'float', expr = 'hypot(a, b)', tol = 'ULP4', rules = 'hypot', doc = 'sqrt(a^2 + b^2) without overflow', source = STD }
op { 'copysign', family = 'binary', dtypes = FLOAT, promote = 'float', expr = 'copysign(a, b)', tol = 'EXACT', rules = 'copysign', doc = 'magnitude of a, sign of b', source = STD }
op { 'logaddexp', family = 'binary', dtypes = FLOAT, promote = 'float', expr = 'logaddexp(a, b)', tol = 'ULP4', rules = 'logaddexp', doc = 'log(exp(a) + exp(b)) without overflow', source = STD }
op { 'gammainc', family = 'binary', kernels = 'special', dtypes = FLOAT, promote = 'float', expr = 'gammainc(a, b)', method = false, tol = 'ITERATIVE', rules = 'gammainc', doc = 'regularised lower incomplete gamma function P(a, b), a > 0, b >= 0', source = 'DLMF 8.2, 8.9, 8.11' }
op { 'gammaincc', family = 'binary', kernels = 'special', dtypes = FLOAT, promote = 'float', expr = 'gammaincc(a, b)', method = false, tol = 'ITERATIVE', rules = 'gammainc', doc = 'regularised upper incomplete gamma function Q(a, b) = 1 - P without cancellation', source = 'DLMF 8.2, 8.9, 8.11' }
op { 'eq', family = 'binary', dtypes = ALL, result = 'bool', expr = 'a == b', alias = { 'equal' }, tol = 'EXACT', rules = 'none: boolean', doc = 'a == b, elementwise', source = STD }
op { 'ne', family = 'binary', dtypes = ALL, result = 'bool', expr = 'a != b', alias = { 'not_equal' }, tol = 'EXACT', rules = 'none: boolean', doc = 'a ~= b, elementwise', source = STD }
op { 'lt', family = 'binary', dtypes = ORD, result = 'bool', expr = 'a < b', alias = { 'less' }, tol = 'EXACT', rules = 'none: boolean', doc = 'a < b, elementwise', source = STD }
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
unary('cut', NUM, 'a', { tol = 'EXACT', rules = 'cut', method = false, doc = 'a copy of a through which no derivative flows; see stop_gradient' })
unary('negative', NUM, '-a', { alias = { 'neg' }, inplace = true, tol = 'EXACT', rules = 'auto', doc = '-a' })
unary('abs', NUM, 'abs(a)', { result = 'real', tol = 'EXACT', ctol = 'ULP4', rules = 'abs', doc = '|a|; the modulus of a complex number' })
unary('sign', NUM, 'sign(a)', { tol = 'EXACT', ctol = 'ULP4', rules = 'sign', doc = '-1, 0, 1; a/|a| for complex; NaN stays' })
unary('square', NUM, 'a * a', { tol = 'EXACT', rules = 'auto', doc = 'a^2' })
unary('floor', REAL, 'floor(a)', { ix = 'a', tol = 'EXACT', rules = 'none: piecewise constant', doc = 'largest integer at or below' })
unary('ceil', REAL, 'ceil(a)', { ix = 'a', tol = 'EXACT', rules = 'none: piecewise constant', doc = 'smallest integer at or above' })
unary('trunc', REAL, 'trunc(a)', { ix = 'a', tol = 'EXACT', rules = 'none: piecewise constant', doc = 'integer part, towards zero' })
unary('round', join(REAL, CPLX), 'round(a)', { ix = 'a', tol = 'EXACT', rules = 'none: piecewise constant', doc = 'nearest integer, halves to even; both parts of complex numbers' })
unary('reciprocal', FC, '1 / a', { promote = 'float', rules = 'auto', tol = 'EXACT', ctol = 'ULP4', doc = '1 / a', source = 'definition' })
unary('bitwise_invert', IB, '~a', { tol = 'EXACT', rules = 'none: integer', doc = 'bitwise not; logical not of booleans' })
unary('logical_not', BOOL, '~a', { promote = 'bool', tol = 'EXACT', rules = 'none: boolean', doc = 'true where zero' })
unary('isnan', FC, 'isnan(a)', { promote = 'float', result = 'bool', tol = 'EXACT', rules = 'none: boolean', doc = 'is not a number' })
unary('isinf', FC, 'isinf(a)', { promote = 'float', result = 'bool', tol = 'EXACT', rules = 'none: boolean', doc = 'is an infinity' })
unary('isfinite', FC, 'isfinite(a)', { promote = 'float', result = 'bool', tol = 'EXACT', rules = 'none: boolean', doc = 'neither NaN nor infinite' })
unary('signbit', FLOAT, 'signbit(a)', { promote = 'float', result = 'bool', tol = 'EXACT', rules = 'none: boolean', doc = 'the sign bit is set' })
for _, r in ipairs {
  { 'sqrt', 'square root; negative reals give NaN', FC, 'EXACT' }, { 'exp', 'e^a', FC }, { 'expm1', 'e^a - 1 near zero', FC }, { 'exp2', '2^a', FLOAT },
  { 'log', 'natural logarithm', FC }, { 'log2', 'logarithm to base 2', FC }, { 'log10', 'logarithm to base 10', FC }, { 'log1p', 'log(1 + a) near zero', FC },
  { 'sin', 'sine of a, rad', FC }, { 'cos', 'cosine of a, rad', FC }, { 'tan', 'tangent of a, rad', FC },
  { 'asin', 'inverse sine, rad', FC }, { 'acos', 'inverse cosine, rad', FC }, { 'atan', 'inverse tangent, rad', FC },
  { 'sinh', 'hyperbolic sine', FC }, { 'cosh', 'hyperbolic cosine', FC }, { 'tanh', 'hyperbolic tangent', FC },
  { 'asinh', 'inverse hyperbolic sine', FC }, { 'acosh', 'inverse hyperbolic cosine', FC }, { 'atanh', 'inverse hyperbolic tangent', FC },
} do
  unary(r[1], r[3], r[1] .. '(a)', { promote = 'float', fix = (r[1] == 'sin' or r[1] == 'cos' or r[1] == 'tan') and r[1] or nil, rules = r[1], tol = r[4] or 'ULP4', ctol = 'ULP4', doc = r[2] })
end
unary('rsqrt', FLOAT, '1 / sqrt(a)', { promote = 'float', rules = 'auto', doc = '1 / sqrt(a)', source = 'definition' })
unary('erf', FLOAT, 'erf(a)', { promote = 'float', rules = 'erf', doc = 'error function 2/sqrt(pi) int_0^a exp(-t^2) dt', source = 'Handbook of mathematical functions, 1964, 7.1.1' })
unary('erfc', FLOAT, 'erfc(a)', { promote = 'float', rules = 'erfc', doc = '1 - erf(a) without cancellation', source = 'Handbook of mathematical functions, 1964, 7.1.2' })
unary('ndtr', FLOAT, 'ndtr(a)', { kernels = 'special', promote = 'float', method = false, rules = 'ndtr', doc = 'standard normal distribution function erfc(-a / sqrt(2)) / 2, tails included', source = 'Handbook of mathematical functions, 1964, 26.2.29' })
unary('ndtri', FLOAT, 'ndtri(a)', { kernels = 'special', promote = 'float', method = false, rules = 'ndtri', doc = 'standard normal quantile: the inverse of ndtr; NaN outside [0, 1]', source = 'Algorithm AS 241, 1988' })
unary('erfinv', FLOAT, 'erfinv(a)', { kernels = 'special', promote = 'float', rules = 'erfinv', doc = 'inverse error function; NaN outside [-1, 1]', source = 'Algorithm AS 241, 1988' })
unary('lgamma', FLOAT, 'lgamma(a)', { fix = 'lgamma', promote = 'float', alias = { 'gammaln' }, rules = 'lgamma', doc = 'log |Gamma(a)|', source = 'C11 7.12.8.3' })
unary('digamma', FLOAT, 'digamma(a)', { kernels = 'special', promote = 'float', rules = 'digamma', doc = 'derivative of lgamma', source = 'DLMF 5.5, 5.11' })
unary('logistic', FLOAT, '(a < 0 ? exp(-abs(a)) : 1) / (1 + exp(-abs(a)))', { promote = 'float', alias = { 'sigmoid' }, rules = 'auto', doc = '1 / (1 + exp(-a))', source = 'definition; the exponential never overflows, so that the tail keeps its subnormal numbers' })
unary('deg2rad', FLOAT, 'a * 0.017453292519943295', { promote = 'float', rules = 'auto', doc = 'degrees to radians', source = 'definition' })
unary('rad2deg', FLOAT, 'a * 57.29577951308232', { promote = 'float', rules = 'auto', doc = 'radians to degrees', source = 'definition' })
unary('conj', NUM, 'conj(a)', { ix = 'a', fx = 'a', tol = 'EXACT', rules = 'auto', doc = 'complex conjugate; reals unchanged' })
unary('real', NUM, 'real(a)', { ix = 'a', fx = 'a', result = 'real', tol = 'EXACT', rules = 'auto', doc = 'real part' })
unary('imag', NUM, 'imag(a)', { ix = '0', fx = '0', result = 'real', tol = 'EXACT', rules = 'auto', doc = 'imaginary part' })
unary('angle', FC, 'arg(a)', { promote = 'float', fx = 'atan2(0, a)', result = 'real', rules = 'angle', doc = 'phase in (-pi, pi], rad', source = 'definition' })

-- ---------------------------------------------------------------- special functions
-- mc.special under SciPy's names and argument orders; erf, erfc, erfinv, ndtr, ndtri, lgamma, digamma, logistic, gammainc, gammaincc and betainc are among
-- mc's own names and stand there as well. Bodies in kernels/mck_special.h and the headers it names; f16, bf16 and f32 are f64 rounded once.
-- Measured accuracy: tests/golden/accuracy_special.lua.
local function special(family, list)
  for _, r in ipairs(list) do
    local args = family == 'unary' and 'a' or family == 'binary' and 'a, b' or 'a, b, c'
    r.family, r.dtypes, r.promote, r.namespace, r.method, r.kernels = family, FLOAT, 'float', 'special', false, 'special'
    r.expr = r.expr or ('%s(%s)'):format(r[1], args)
    r.doc, r.source, r.tol, r.rules = r.doc or r[2], r.source or r[3], r.tol or 'ITERATIVE', r.rules or r[1]
    r[2], r[3] = nil, nil
    op(r)
  end
end
special('unary', {
  { 'erfcx', 'scaled complementary error function exp(a^2) erfc(a)', 'DLMF 7.2.3; Efficient computation of the complementary error function: Shepherd and Laframboise, 1981', tol = 'ULP4' },
  { 'erfi', 'imaginary error function -i erf(i a)', 'DLMF 7.2; by Dawson\'s integral', tol = 'ULP4' },
  { 'dawsn', 'Dawson\'s integral exp(-a^2) int_0^a exp(t^2) dt', 'DLMF 7.2.5' },
  { 'erfcinv', 'inverse of erfc; NaN outside [0, 2]', 'Algorithm AS 241, 1988', tol = 'ULP4' },
  { 'log_ndtr', 'logarithm of the standard normal distribution function, tails included', 'DLMF 7.2.3', tol = 'ULP4' },
  { 'gamma', 'gamma function; NaN at the negative integers', 'DLMF 5.2.1, 5.11.1', tol = 'ULP4' },
  { 'rgamma', '1 / gamma(a), 0 at the poles of gamma', 'DLMF 5.2.1', tol = 'ULP4' },
  { 'gammasgn', 'sign of gamma(a); NaN at the negative integers', 'DLMF 5.2.1', tol = 'EXACT', rules = 'none: piecewise constant' },
  { 'factorial', 'gamma(a + 1), and 0 for a < 0', 'DLMF 5.4.1', tol = 'ULP4' },
  { 'riemann_zeta', 'Riemann\'s zeta function of a real argument', 'DLMF 25.2, 25.4.1', rules = 'none: no closed form' },
  { 'j0', 'Bessel function of the first kind, order 0', 'DLMF 10.2.2, 10.17.3', fix = 'j0' },
  { 'j1', 'Bessel function of the first kind, order 1', 'DLMF 10.2.2, 10.17.3', fix = 'j1' },
  { 'y0', 'Bessel function of the second kind, order 0; NaN for a < 0', 'DLMF 10.8.2, 10.17.4', fix = 'y0' },
  { 'y1', 'Bessel function of the second kind, order 1; NaN for a < 0', 'DLMF 10.8.1, 10.17.4', fix = 'y1' },
  { 'i0', 'modified Bessel function of the first kind, order 0', 'DLMF 10.25.2, 10.40.1', tol = 'ULP4' },
  { 'i1', 'modified Bessel function of the first kind, order 1', 'DLMF 10.25.2, 10.40.1', tol = 'ULP4' },
  { 'i0e', 'exp(-|a|) i0(a)', 'DLMF 10.25.2, 10.40.1', tol = 'ULP4' },
  { 'i1e', 'exp(-|a|) i1(a)', 'DLMF 10.25.2, 10.40.1', tol = 'ULP4' },
  { 'k0', 'modified Bessel function of the second kind, order 0; NaN for a < 0', 'DLMF 10.31.2, 10.40.2', tol = 'ULP4' },
  { 'k1', 'modified Bessel function of the second kind, order 1; NaN for a < 0', 'DLMF 10.31.1, 10.40.2', tol = 'ULP4' },
  { 'k0e', 'exp(a) k0(a)', 'DLMF 10.31.2, 10.40.2', tol = 'ULP4' },
  { 'k1e', 'exp(a) k1(a)', 'DLMF 10.31.1, 10.40.2', tol = 'ULP4' },
  { 'ellipk', 'complete elliptic integral of the first kind by parameter m = k^2; NaN for m > 1', 'DLMF 19.2.8, 19.8.5', tol = 'ULP4', fix = 'ellipk' },
  { 'ellipkm1', 'ellipk(1 - a), accurate near m = 1', 'DLMF 19.8.5', tol = 'ULP4', fix = 'ellipkm1' },
  { 'ellipe', 'complete elliptic integral of the second kind by parameter m; NaN for m > 1', 'DLMF 19.2.8, 19.8.6', fix = 'ellipe' },
  { 'exp1', 'exponential integral E1(a) = int_a^inf exp(-t) / t dt; NaN for a < 0', 'DLMF 6.2.1', tol = 'ULP4' },
  { 'expi', 'exponential integral Ei(a), principal value', 'DLMF 6.2.5', tol = 'ULP4' },
  { 'si', 'sine integral int_0^a sin(t) / t dt', 'DLMF 6.2.9', tol = 'ULP4' },
  { 'ci', 'cosine integral of |a|: gamma + log |a| + int_0^|a| (cos(t) - 1) / t dt', 'DLMF 6.2.13' },
  { 'shi', 'hyperbolic sine integral int_0^a sinh(t) / t dt', 'DLMF 6.2.15', tol = 'ULP4' },
  { 'chi', 'hyperbolic cosine integral of |a|', 'DLMF 6.2.16' },
  { 'fresnel_s', 'Fresnel integral int_0^a sin(pi t^2 / 2) dt', 'DLMF 7.2.8', tol = 'ULP4' },
  { 'fresnel_c', 'Fresnel integral int_0^a cos(pi t^2 / 2) dt', 'DLMF 7.2.7', tol = 'ULP4' },
  { 'lambertw0', 'principal real branch of Lambert\'s W, w exp(w) = a, w >= -1; NaN below -1/e', 'DLMF 4.13; On the Lambert W function, 1996', tol = 'ULP4' },
  { 'lambertwm1', 'real branch of Lambert\'s W with w <= -1; NaN outside [-1/e, 0]', 'DLMF 4.13; On the Lambert W function, 1996', tol = 'ULP4' },
  { 'sinc', 'sin(pi a) / (pi a)', 'NumPy sinc', tol = 'ULP4' },
  { 'entr', '-a log a; 0 at 0, -inf below', 'SciPy entr', tol = 'ULP4' },
  { 'logit', 'log(a / (1 - a)); NaN outside [0, 1]', 'definition', tol = 'ULP4' },
  { 'log_expit', 'log(1 / (1 + exp(-a))) without overflow', 'definition', tol = 'ULP4' },
})
op { 'loggamma', family = 'unary', kernels = 'special', dtypes = FC, promote = 'float', namespace = 'special', method = false, expr = 'loggamma(a)', tol = 'ITERATIVE', rules = 'loggamma',
  doc = 'log Gamma(a) on its principal branch, cut along the negative reals: lgamma for a > 0, complex elsewhere (NaN for reals below 0)', source = 'DLMF 5.2, 5.7.3, 5.11.1; Computing the principal branch of log-gamma, 1997' }
special('binary', {
  { 'xlogy', 'a log b, 0 where a = 0', 'SciPy xlogy', tol = 'ULP4' },
  { 'xlog1py', 'a log(1 + b), 0 where a = 0', 'SciPy xlog1py', tol = 'ULP4' },
  { 'rel_entr', 'a log(a / b); 0 where a = 0 <= b, inf outside the domain', 'SciPy rel_entr' },
  { 'kl_div', 'a log(a / b) - a + b', 'SciPy kl_div' },
  { 'beta', 'gamma(a) gamma(b) / gamma(a + b)', 'DLMF 5.12.1' },
  { 'betaln', 'log |beta(a, b)|', 'DLMF 5.12.1' },
  { 'poch', 'Pochhammer\'s symbol gamma(a + b) / gamma(a)', 'DLMF 5.2.5' },
  { 'binom', 'binomial coefficient of real a over b', 'DLMF 1.2.6' },
  { 'comb', 'choices of b among a; 0 outside 0 <= b <= a', 'SciPy comb, exact = False' },
  { 'perm', 'ordered choices of b among a; 0 outside 0 <= b <= a', 'SciPy perm, exact = False', tol = 'ULP4' },
  { 'polygamma', 'derivative of order a = 0, 1, ... of digamma at b', 'DLMF 25.11.12' },
  { 'hurwitz_zeta', 'Hurwitz\' zeta function sum (b + k)^-a; NaN for a < 1', 'DLMF 25.11.1' },
  { 'gammaincinv', 'x with gammainc(a, x) = b', 'Newton\'s method on the log-concave tail' },
  { 'gammainccinv', 'x with gammaincc(a, x) = b', 'Newton\'s method on the log-concave tail' },
  { 'stdtr', 'distribution function of Student\'s t with a degrees of freedom at b', 'DLMF 8.17; Handbook of mathematical functions, 1964, 26.7.1' },
  { 'stdtrit', 'quantile of Student\'s t with a degrees of freedom at probability b', 'Handbook of mathematical functions, 1964, 26.7.1' },
  { 'jv', 'Bessel function of the first kind of real order a at b', 'DLMF 10.2, 10.17, 10.19; Temme, 1976', alias = { 'jn' } },
  { 'yv', 'Bessel function of the second kind of real order a at b; NaN for b < 0', 'DLMF 10.2, 10.17, 10.19; Temme, 1976', alias = { 'yn' } },
  { 'iv', 'modified Bessel function of the first kind of real order a at b', 'DLMF 10.25, 10.40, 10.41; Temme, 1975' },
  { 'ive', 'exp(-|b|) iv(a, b)', 'DLMF 10.25, 10.40, 10.41; Temme, 1975' },
  { 'kv', 'modified Bessel function of the second kind of real order a at b; NaN for b < 0', 'DLMF 10.25, 10.40, 10.41; Temme, 1975', alias = { 'kn' } },
  { 'kve', 'exp(b) kv(a, b)', 'DLMF 10.25, 10.40, 10.41; Temme, 1975' },
  { 'struve', 'Struve function H of real order a at b; NaN for b < 0 unless a is whole', 'DLMF 11.2.1, 11.6.1' },
  { 'modstruve', 'modified Struve function L of real order a at b; NaN for b < 0 unless a is whole', 'DLMF 11.2.2, 11.6.2' },
  { 'spherical_jn', 'spherical Bessel function of the first kind of order a = 0, 1, ... at b', 'DLMF 10.47.3' },
  { 'spherical_yn', 'spherical Bessel function of the second kind of order a = 0, 1, ... at b', 'DLMF 10.47.4' },
  { 'expn', 'exponential integral of order a = 0, 1, ...: int_1^inf exp(-b t) / t^a dt', 'DLMF 8.19' },
  { 'owens_t', 'Owen\'s T function: probability of 0 < Y < b X, X > a of two standard normal variables', 'Tables for computing bivariate normal probabilities, 1956', tol = 'ULP4' },
  { 'ellipkinc', 'incomplete elliptic integral of the first kind, amplitude a (rad), parameter b = k^2', 'DLMF 19.25.5', tol = 'ULP4' },
  { 'ellipeinc', 'incomplete elliptic integral of the second kind, amplitude a (rad), parameter b = k^2', 'DLMF 19.25.9, 19.25.10' },
  { 'ellipj_sn', 'Jacobi\'s sn(a, m) for parameter m = b in [0, 1]', 'DLMF 22.20' },
  { 'ellipj_cn', 'Jacobi\'s cn(a, m) for parameter m = b in [0, 1]', 'DLMF 22.20' },
  { 'ellipj_dn', 'Jacobi\'s dn(a, m) for parameter m = b in [0, 1]', 'DLMF 22.20' },
  { 'ellipj_ph', 'Jacobi\'s amplitude am(a, m) for parameter m = b in [0, 1], rad', 'DLMF 22.20' },
  { 'elliprc', 'Carlson\'s degenerate integral RC(a, b); b < 0 gives the principal value', 'DLMF 19.2.17', tol = 'ULP4' },
  { 'eval_legendre', 'Legendre polynomial of whole degree a at b', 'DLMF 14.10.3', alias = { 'legendre_p' } },
  { 'gamma_density', 'b^a exp(-b) / gamma(a), the common factor of densities; a > 0', 'DLMF 8.7.1' },
  { 'poisson_ppf', 'smallest k at which the Poisson distribution of mean b reaches probability a', 'DLMF 8.11', rules = 'none: piecewise constant' },
  { 'poisson_isf', 'smallest k whose upper tail under the Poisson distribution of mean b is at most a', 'DLMF 8.11', rules = 'none: piecewise constant' },
  { 'vonmises_cdf', 'distribution function of the von Mises distribution of concentration a at b, rad; whole turns add 1', 'quadrature of the density' },
})
special('ternary', {
  { 'betaincc', '1 - betainc(a, b, c) without cancellation', 'DLMF 8.17.4, 8.17.22' },
  { 'betaincinv', 'x with betainc(a, b, x) = c', 'Newton\'s method on the log-concave tail' },
  { 'betainccinv', 'x with betaincc(a, b, x) = c', 'Newton\'s method on the log-concave tail' },
  { 'beta_odds', 'x / (1 - x) at x = betaincinv(a, b, c), accurate for x near 1', 'DLMF 8.17' },
  { 'beta_oddsc', 'x / (1 - x) at x = betainccinv(a, b, c), accurate for x near 1', 'DLMF 8.17' },
  { 'beta_density', 'c^a (1 - c)^b / beta(a, b), the common factor of densities', 'DLMF 8.17.1' },
  { 'elliprf', 'Carlson\'s symmetric integral RF(a, b, c) of the first kind', 'DLMF 19.16.1' },
  { 'elliprd', 'Carlson\'s symmetric integral RD(a, b, c) of the second kind', 'DLMF 19.16.5', tol = 'ULP4' },
  { 'elliprg', 'Carlson\'s symmetric integral RG(a, b, c) of the second kind', 'DLMF 19.16.3' },
  { 'lpmv', 'associated Legendre function of whole order a and degree b at c in [-1, 1], with the phase (-1)^a', 'DLMF 14.7.15, 14.10.3' },
  { 'sph_legendre_p', 'associated Legendre function of degree a and order b at cos(c), normalised on the sphere', 'DLMF 14.30.1' },
  { 'binom_ppf', 'smallest k at which the binomial distribution of b trials with chance c reaches probability a', 'DLMF 8.17.5', rules = 'none: piecewise constant' },
  { 'binom_isf', 'smallest k whose upper tail under the binomial distribution of b trials with chance c is at most a', 'DLMF 8.17.5', rules = 'none: piecewise constant' },
  { 'nbinom_ppf', 'smallest k at which the negative binomial distribution of b successes with chance c reaches probability a', 'DLMF 8.17.5', rules = 'none: piecewise constant' },
  { 'nbinom_isf', 'smallest k whose upper tail under the negative binomial distribution of b successes with chance c is at most a', 'DLMF 8.17.5', rules = 'none: piecewise constant' },
})
for _, r in ipairs {
  { 'zeta', nin = 2, doc = 'zeta function of Riemann (s) or Hurwitz (s, q)', source = 'DLMF 25.2.1, 25.11.1' },
  { 'sici', nout = 2, doc = 'sine and cosine integrals', source = 'DLMF 6.2.9, 6.2.13' },
  { 'shichi', nout = 2, doc = 'hyperbolic sine and cosine integrals', source = 'DLMF 6.2.15, 6.2.16' },
  { 'fresnel', nout = 2, doc = 'Fresnel integrals S and C', source = 'DLMF 7.2.7, 7.2.8' },
  { 'ellipj', nin = 2, nout = 4, results = { 'sn', 'cn', 'dn', 'ph' }, doc = 'Jacobi\'s elliptic functions and amplitude', source = 'DLMF 22.20' },
  { 'lambertw', params = { { 'k', { 0, -1 }, 0 } }, doc = 'real branches of Lambert\'s W', source = 'On the Lambert W function, 1996; DLMF 4.13' },
  { 'sph_harm_y', nin = 4, doc = 'spherical harmonic of degree n and order m at polar angle theta and azimuth phi', source = 'DLMF 14.30.1' },
} do
  r.family, r.module, r.namespace, r.method, r.dtypes, r.promote, r.tol, r.rules = 'lua', 'mascon.special', 'special', false, FLOAT, 'float', 'ITERATIVE', 'auto'
  op(r)
end

-- ---------------------------------------------------------------- elementwise, three operands
op { 'clip', family = 'ternary', dtypes = ORD, expr = 'minimum(maximum(a, b), c)', without = { 'minimum', 'maximum' }, tol = 'EXACT', rules = 'select', doc = 'a limited to [b, c], also given as { min =, max = }; a bound that is nil does not limit; NaN stays', source = STD }
op { 'where', family = 'where', dtypes = ALL, expr = 'a ? b : c', tol = 'EXACT', rules = 'where', method = false, doc = 'b where the condition a holds, else c', source = STD }
op { 'fma', family = 'ternary', dtypes = FLOAT, promote = 'float', expr = 'fma(a, b, c)', tol = 'EXACT', rules = 'fma', doc = 'a b + c, rounded once where the machine has it (v3, v4)', source = 'IEEE 754-2019 5.4.1' }
op { 'betainc', family = 'ternary', kernels = 'special', dtypes = FLOAT, promote = 'float', expr = 'betainc(a, b, c)', method = false, tol = 'ITERATIVE', rules = 'betainc', doc = 'regularised incomplete beta function I_c(a, b), a, b > 0, c in [0, 1]', source = 'DLMF 8.17' }
op { 'lerp', family = 'ternary', dtypes = FC, promote = 'float', expr = 'a + c * (b - a)', tol = 'ULP4', rules = 'auto', doc = 'a + c (b - a)', source = 'definition' }

-- ---------------------------------------------------------------- reductions
local AX = { { 'axis', 'axes' }, { 'keepdim', 'bool', false } }
op { 'sum', family = 'reduce', dtypes = ALL, accumulate = true, params = AX, tol = 'ACCUM', rules = 'sum', doc = 'sum over axes (all by default); integers and booleans give i64', source = STD }
op { 'prod', family = 'reduce', dtypes = ALL, accumulate = true, params = AX, tol = 'PRODUCT', rules = 'prod', doc = 'product over axes; integers and booleans give i64', source = STD }
op { 'max', family = 'reduce', dtypes = ORD, params = AX, empty = 'error', tol = 'EXACT', rules = 'max', doc = 'largest element; NaN wins; empty is an error', source = STD }
op { 'min', family = 'reduce', dtypes = ORD, params = AX, empty = 'error', tol = 'EXACT', rules = 'max', doc = 'smallest element; NaN wins; empty is an error', source = STD }
op { 'any', family = 'reduce', compute = 'bool', dtypes = ALL, result = 'bool', params = AX, tol = 'EXACT', rules = 'none: boolean', doc = 'some element is non-zero; over everything a Lua boolean', source = STD }
op { 'all', family = 'reduce', compute = 'bool', dtypes = ALL, result = 'bool', params = AX, tol = 'EXACT', rules = 'none: boolean', doc = 'every element is non-zero; over everything a Lua boolean', source = STD }
op { 'argmax', family = 'reduce', dtypes = ORD, result = 'i64', params = AX, base = true, empty = 'error', tol = 'EXACT', rules = 'none: positions', doc = 'position of the first largest element; one axis, or everything flattened', source = STD }
op { 'argmin', family = 'reduce', dtypes = ORD, result = 'i64', params = AX, base = true, empty = 'error', tol = 'EXACT', rules = 'none: positions', doc = 'position of the first smallest element; one axis, or everything flattened', source = STD }
op { 'mean', family = 'reduce', dtypes = FC, promote = 'float', params = AX, tol = 'ACCUM', rules = 'mean', doc = 'arithmetic mean; integers give f64; empty gives NaN', source = STD }
op { 'var', family = 'reduce', dtypes = FLOAT, promote = 'float', params = { AX[1], AX[2], { 'correction', 'number', 0 } }, tol = 'ACCUM', rules = 'var', doc = 'variance sum (x - mean)^2 / (n - correction)', source = 'Updating formulae and a pairwise algorithm for computing sample variances, 1979' }
op { 'std', family = 'reduce', dtypes = FLOAT, promote = 'float', params = { AX[1], AX[2], { 'correction', 'number', 0 } }, tol = 'ACCUM', rules = 'std', doc = 'sqrt(var)', source = STD }
op { 'count_nonzero', family = 'reduce', compute = 'bool', dtypes = ALL, result = 'i64', params = AX, tol = 'EXACT', rules = 'none: counts', doc = 'how many elements are not zero', source = 'Python array API standard 2024.12' }
op { 'logsumexp', family = 'reduce', dtypes = FLOAT, promote = 'float', params = AX, tol = 'ACCUM', rules = 'logsumexp', doc = 'log of the sum of exponentials without overflow; empty gives -inf', source = 'Accurately computing the log-sum-exp and softmax functions, 2021' }
-- the same with NaN left out
local NAN = 'NumPy: functions that leave NaN out'
op { 'nansum', family = 'reduce', dtypes = ALL, accumulate = true, params = AX, tol = 'ACCUM', rules = 'nansum', doc = 'sum over axes, NaN left out; nothing but NaN gives 0', source = NAN }
op { 'nanprod', family = 'reduce', dtypes = ALL, accumulate = true, params = AX, tol = 'PRODUCT', rules = 'nanprod', doc = 'product over axes, NaN left out; nothing but NaN gives 1', source = NAN }
op { 'nanmax', family = 'reduce', dtypes = ORD, params = AX, empty = 'error', tol = 'EXACT', rules = 'max', doc = 'largest element, NaN left out; nothing but NaN gives NaN', source = NAN }
op { 'nanmin', family = 'reduce', dtypes = ORD, params = AX, empty = 'error', tol = 'EXACT', rules = 'max', doc = 'smallest element, NaN left out; nothing but NaN gives NaN', source = NAN }
op { 'nanargmax', family = 'reduce', dtypes = ORD, result = 'i64', params = AX, base = true, empty = 'error', tol = 'EXACT', rules = 'none: positions', doc = 'position of the first largest element, NaN left out; nothing but NaN is an error', source = NAN }
op { 'nanargmin', family = 'reduce', dtypes = ORD, result = 'i64', params = AX, base = true, empty = 'error', tol = 'EXACT', rules = 'none: positions', doc = 'position of the first smallest element, NaN left out; nothing but NaN is an error', source = NAN }
op { 'nanmean', family = 'reduce', dtypes = FC, promote = 'float', params = AX, tol = 'ACCUM', rules = 'nanmean', doc = 'arithmetic mean, NaN left out; nothing but NaN gives NaN', source = NAN }
op { 'nanvar', family = 'reduce', dtypes = FLOAT, promote = 'float', params = { AX[1], AX[2], { 'correction', 'number', 0 } }, tol = 'ACCUM', rules = 'nanvar', doc = 'variance, NaN left out', source = NAN }
op { 'nanstd', family = 'reduce', dtypes = FLOAT, promote = 'float', params = { AX[1], AX[2], { 'correction', 'number', 0 } }, tol = 'ACCUM', rules = 'nanstd', doc = 'standard deviation, NaN left out', source = NAN }
local SHAPE = { AX[1], AX[2], { 'bias', 'bool', true } }
local JOANES = 'Comparing measures of sample skewness and kurtosis, 1998'
op { 'skew', family = 'reduce', namespace = 'stats', method = false, dtypes = FLOAT, promote = 'float', params = SHAPE, tol = 'ACCUM', rules = 'skew', doc = 'skewness m3 / m2^(3/2) over axes; bias = false corrects for the sample size; NaN where the spread is 0', source = JOANES .. ' (g1, G1)' }
op { 'kurtosis', family = 'reduce', namespace = 'stats', method = false, dtypes = FLOAT, promote = 'float', params = SHAPE, tol = 'ACCUM', rules = 'skew', doc = 'excess kurtosis m4 / m2^2 - 3 over axes; bias = false corrects for the sample size; NaN where the spread is 0', source = JOANES .. ' (g2, G2)' }
-- exponentials that add up to 1
op { 'softmax', family = 'softmax', nin = 1, dtypes = FLOAT, promote = 'float', params = { AX[1] }, tol = 'ACCUM', rules = 'softmax', doc = 'exp(a) divided by its sum over axes (all by default)', source = 'Accurately computing the log-sum-exp and softmax functions, 2021' }
op { 'log_softmax', family = 'softmax', nin = 1, dtypes = FLOAT, promote = 'float', params = { AX[1] }, tol = 'ACCUM', rules = 'log_softmax', doc = 'log(softmax(a)) without cancellation', source = 'Accurately computing the log-sum-exp and softmax functions, 2021' }

-- ---------------------------------------------------------------- scans
op { 'cumsum', family = 'scan', dtypes = ALL, accumulate = true, params = { { 'axis', 'axis' } }, tol = 'ACCUM', rules = 'cumsum', doc = 'running sum along one axis; integers give i64', source = STD }
op { 'cumprod', family = 'scan', dtypes = ALL, accumulate = true, params = { { 'axis', 'axis' } }, tol = 'ACCUM', rules = 'cumprod', doc = 'running product along one axis', source = STD }
op { 'cummax', family = 'scan', dtypes = ORD, params = { { 'axis', 'axis' }, { 'reverse', 'bool', false } }, alias = { 'cumulative_max' }, tol = 'EXACT', rules = 'cummax', doc = 'largest element so far along one axis; NaN wins; reverse runs from the end', source = 'PyTorch cummax' }
op { 'cummin', family = 'scan', dtypes = ORD, params = { { 'axis', 'axis' }, { 'reverse', 'bool', false } }, alias = { 'cumulative_min' }, tol = 'EXACT', rules = 'cummax', doc = 'smallest element so far along one axis; NaN wins; reverse runs from the end', source = 'PyTorch cummin' }
op { 'argcummax', family = 'scan', dtypes = ORD, result = 'i64', base = true, params = { { 'axis', 'axis' } }, tol = 'EXACT', rules = 'none: positions', doc = 'position of the first largest element so far along one axis', source = 'PyTorch cummax, there the last' }
op { 'argcummin', family = 'scan', dtypes = ORD, result = 'i64', base = true, params = { { 'axis', 'axis' } }, tol = 'EXACT', rules = 'none: positions', doc = 'position of the first smallest element so far along one axis', source = 'PyTorch cummin, there the last' }
op { 'logcumsumexp', family = 'scan', dtypes = FLOAT, promote = 'float', params = { { 'axis', 'axis' }, { 'reverse', 'bool', false } }, alias = { 'cumulative_logsumexp' }, tol = 'ACCUM', rules = 'logcumsumexp', doc = 'log of the running sum of exponentials along one axis', source = 'definition; PyTorch logcumsumexp' }
op { 'linear_recurrence', family = 'recurrence', nin = 2, dtypes = FC, promote = 'float', params = { { 'axis', 'axis' }, { 'reverse', 'bool', false } }, method = false, tol = 'ACCUM', rules = 'linear_recurrence',
  doc = 'a, b: y[i] = a[i] y[i - 1] + b[i] along one axis, y[1] = b[1]; reverse runs from the end', source = 'definition; Prefix sums and their applications, 1990' }

-- ---------------------------------------------------------------- recursive filters
op { 'iir', family = 'filter', nin = 3, nout = 2, dtypes = FLOAT, promote = 'float', params = { { 'axis', 'axis', -1 }, { 'reverse', 'bool', false } }, namespace = 'signal', method = false, tol = 'ITERATIVE', rules = 'iir', doc = 'samples through recursive sections f64[sections,2 (order + 1)] from a state; gives samples and the state after the last', source = 'transposed direct form II: Discrete-time signal processing, 1999, section 6.3' }

-- ---------------------------------------------------------------- sorting and order statistics
op { 'sort', family = 'sort', dtypes = ORD, params = { { 'axis', 'axis', -1 }, { 'descending', 'bool', false }, { 'stable', 'bool', true } }, tol = 'EXACT', rules = 'sort', doc = 'sorted along one axis, NaN last', source = STD }
op { 'argsort', family = 'sort', dtypes = ORD, result = 'i64', base = true, params = { { 'axis', 'axis', -1 }, { 'descending', 'bool', false }, { 'stable', 'bool', true } }, tol = 'EXACT', rules = 'none: positions', doc = 'positions that sort along one axis, NaN last', source = STD }
op { 'partition', family = 'sort', dtypes = ORD, params = { { 'kth', 'int' }, { 'axis', 'axis', -1 } }, tol = 'EXACT', rules = 'sort', doc = 'the element at place kth of the sorted axis, smaller ones before it, the others behind it, each group in its order; NaN last', source = 'NumPy partition' }
op { 'argpartition', family = 'sort', dtypes = ORD, result = 'i64', base = true, params = { { 'kth', 'int' }, { 'axis', 'axis', -1 } }, tol = 'EXACT', rules = 'none: positions', doc = 'positions that partition along one axis', source = 'NumPy argpartition' }
op { 'topk', family = 'sort', nout = 2, dtypes = ORD, base = true, params = { { 'k', 'int' }, { 'axis', 'axis', -1 }, { 'largest', 'bool', true }, { 'sorted', 'bool', true } }, tol = 'EXACT', rules = 'sort', doc = 'the k largest (or smallest) elements along one axis and their positions; NaN last, equal elements in their order', source = 'PyTorch topk' }
op { 'median', family = 'select', dtypes = FLOAT, promote = 'float', params = { { 'axis', 'axes' }, { 'keepdim', 'bool', false } }, tol = 'ULP4', rules = 'quantile', doc = 'middle value, the mean of the two middle ones for even counts; NaN wins', source = 'definition' }
op { 'select_quantile', family = 'select', internal = true, dtypes = FLOAT, promote = 'float', params = { { 'axis', 'axes' }, { 'keepdim', 'bool', false } }, tol = 'ULP4', rules = 'quantile', method = false, doc = 'quantiles along axes: method, skip NaN, number of probabilities (0: one, without an axis of its own), the probabilities', source = 'Sample quantiles in statistical packages, 1996' }

-- ---------------------------------------------------------------- products
op { 'matmul', family = 'matmul', dtypes = ALL, tol = 'ACCUM', rules = 'matmul', doc = 'matrix product over the last two axes, batched over the others; 1-D operands as vectors', source = STD }
op { 'cross_product', family = 'cross', internal = true, says = 'cross', nin = 2, dtypes = { 'f32', 'f64' }, method = false, tol = 'EXACT', rules = 'none: cross takes it where nothing is recorded', doc = 'vector products along the last axis', source = STD }
op { 'vecdot', family = 'dot', module = 'mascon.array.products', nin = 2, dtypes = ALL, tol = 'ACCUM', rules = 'auto', doc = 'sum of conj(a) b along one axis, batched over the others', source = STD }

-- ---------------------------------------------------------------- transforms
local FP = { { 'n', 'int', -1 }, { 'axis', 'axis', -1 }, { 'norm', { 'backward', 'ortho', 'forward' }, 'backward' } }
for _, r in ipairs {
  { 'fft', 'discrete Fourier transform X_k = sum_t x_t exp(-2 pi i k t / n)' }, { 'ifft', 'inverse of fft, scaled by 1/n' },
  { 'rfft', 'transform of a real signal, bins 0..n/2' }, { 'irfft', 'inverse of rfft; n is 2 (bins - 1) by default' },
} do
  op { r[1], family = 'fft', dtypes = { 'f32', 'f64', 'c64', 'c128' }, promote = 'float', params = FP, tol = 'FFT', rules = r[1], namespace = 'fft', method = false, doc = r[2], source = STD }
end

for _, r in ipairs {
  { 'dct', 'discrete cosine transform, types 1 to 4' }, { 'idct', 'inverse of dct' }, { 'dst', 'discrete sine transform, types 1 to 4' }, { 'idst', 'inverse of dst' },
} do
  op { r[1], family = 'dct', module = 'mascon.fft.dct', nin = 1, dtypes = FC, promote = 'float', tol = 'FFT', rules = r[1], namespace = 'fft', method = false, doc = r[2], source = 'SciPy fft.' .. r[1] .. '; A fast cosine transform in one and two dimensions, 1980' }
end

-- ---------------------------------------------------------------- moving elements
op { 'take', family = 'gather', dtypes = ALL, params = { { 'axis', 'axis', 1 } }, base = true, tol = 'EXACT', rules = 'take', doc = 'the slices of x at positions `index` along one axis', source = STD }
op { 'take_along_axis', family = 'gather', dtypes = ALL, params = { { 'axis', 'axis', -1 } }, base = true, alias = { 'gather' }, tol = 'EXACT', rules = 'gather', doc = 'x picked at index, elementwise along one axis', source = STD }
op { 'put_along_axis', family = 'gather', dtypes = ALL, params = { { 'axis', 'axis', -1 } }, base = true, alias = { 'scatter' }, tol = 'EXACT', rules = 'scatter', doc = 'a copy of x with values put at index along one axis; the last write wins', source = 'NumPy put_along_axis' }
op { 'scatter_add', family = 'segment', nin = 3, dtypes = NUM, params = { { 'axis', 'axis', -1 } }, base = true, tol = 'ACCUM', rules = 'scatter', doc = 'a copy of x with values added at index along one axis, in order', source = 'PyTorch scatter_add' }
op { 'scatter_reduce', family = 'segment', nin = 3, dtypes = NUM, params = { { 'axis', 'axis', -1 }, { 'reduce', { 'sum', 'prod', 'max', 'min', 'mean' }, 'sum' }, { 'include_self', 'bool', true } }, base = true, tol = 'ACCUM', rules = 'scatter_reduce', doc = 'a copy of x with values joined to it at index along one axis: reduce = sum, prod, max, min or mean; include_self: the elements of x take part', source = 'PyTorch scatter_reduce' }
op { 'nonzero_flat', family = 'gather', by_value = 'choose with mc.where, or find the positions outside', dtypes = ALL, result = 'i64', base = true, method = false, tol = 'EXACT', rules = 'none: positions', doc = 'flat positions of the non-zero elements in row-major order', source = 'definition' }
op { 'searchsorted', family = 'gather', dtypes = REAL, result = 'i64', params = { { 'right', 'bool', false } }, sorter = true, base = true, tol = 'EXACT', rules = 'none: positions', doc = 'positions at which values would be inserted into the sorted x: one row, or [..., n] for values [..., m]; before equal elements, or behind them with right = true or side = "right"; sorter: positions that sort x', source = STD }
op { 'bincount', family = 'gather', by_value = 'sum with mc.segment_sum and num_segments', dtypes = { 'i64' }, result = 'i64', params = { { 'minlength', 'int', 0 } }, tol = 'EXACT', rules = 'none: counts', doc = 'how often each non-negative integer occurs: result[1] counts zeros', source = 'NumPy bincount' }
op { 'bincount_weighted', family = 'gather', by_value = 'sum with mc.segment_sum and num_segments', dtypes = { 'f64' }, params = { { 'minlength', 'int', 0 } }, method = false, tol = 'ACCUM', rules = 'bincount', doc = 'sum of the weights of each integer value', source = 'NumPy bincount' }
for _, r in ipairs {
  { 'sum', NUM, 'sums; empty segments give 0' }, { 'prod', NUM, 'products; empty segments give 1' }, { 'max', ORD, 'largest elements; empty segments give the least number of the dtype' },
  { 'min', ORD, 'smallest elements; empty segments give the greatest number of the dtype' }, { 'mean', FC, 'means; empty segments give NaN' },
} do
  op { 'segment_' .. r[1], family = 'segment', by_value = 'give num_segments', nin = 2, dtypes = r[2], promote = r[1] == 'mean' and 'float' or nil, params = { { 'num_segments', 'int', -1 }, { 'axis', 'axis', 1 } }, base = true, tol = (r[1] == 'max' or r[1] == 'min') and 'EXACT' or 'ACCUM',
    rules = 'segment', doc = 'x, segments: the elements along an axis joined by the segment each belongs to (one integer each, any order): ' .. r[3], source = 'JAX ops.segment_' .. (r[1] == 'mean' and 'sum' or r[1]) }
end
op { 'concat', family = 'layout', nin = 'list', dtypes = ALL, params = { { 'axis', 'axis', 1 } }, method = false, tol = 'EXACT', rules = 'concat', doc = 'tensors joined along an existing axis', source = STD }
op { 'stack', family = 'layout', nin = 'list', dtypes = ALL, params = { { 'axis', 'axis', 1 } }, method = false, tol = 'EXACT', rules = 'stack', doc = 'tensors of one shape joined along a new axis', source = STD }
op { 'roll', family = 'layout', nin = 1, dtypes = ALL, params = { { 'shift', 'ints' }, { 'axis', 'axes' } }, tol = 'EXACT', rules = 'roll', doc = 'elements moved by shift along an axis, or by several along several; those that fall off come in on the other side', source = STD }
op { 'group_runs', family = 'unique', by_value = 'group outside', nin = 'list', nout = 'list', dtypes = ALL, internal = true, method = false, tol = 'EXACT', rules = 'none: positions', doc = 'a sorted row (and the positions that sorted it) -> where runs of equal elements start, their lengths, their first positions, the run of each', source = STD }

op { 'pad', family = 'pad', module = 'mascon.array.pad', nin = 'list', dtypes = ALL, tol = 'ACCUM', rules = 'pad', doc = 'the tensor with elements added at the ends of its axes', source = 'NumPy pad' }

-- ---------------------------------------------------------------- values between knots
op { 'interp', family = 'interp', module = 'mascon.interpolate', nin = 3, dtypes = FLOAT, promote = 'float', tol = 'ULP4', rules = 'interp', doc = 'linear interpolation at x between knots xp with values fp', source = 'NumPy interp' }
op { 'ppoly', family = 'interp', module = 'mascon.interpolate', nin = 3, dtypes = FLOAT, promote = 'float', namespace = 'interpolate', method = false, tol = 'ULP4', rules = 'ppoly', doc = 'piecewise polynomial at x: coefficients [c, knots - 1, ...], highest power of x - knot first', source = 'SciPy PPoly' }
op { 'tridiagonal', family = 'tridiagonal', module = 'mascon.interpolate.spline', nin = 2, dtypes = FLOAT, promote = 'float', namespace = 'interpolate', method = false, tol = 'ITERATIVE', rules = 'tridiagonal', doc = 'solutions of tridiagonal systems: bands [3, n], right sides [n, ...]', source = 'elimination without exchange of rows: Matrix computations, 2013, section 4.3' }

-- ---------------------------------------------------------------- random numbers
-- params: the distribution's own, in the order of the kernel; guard_text ends the error of a refused one. result: dtype unless asked for.
local PHILOX = 'Philox4x32-10: Parallel random numbers, as easy as 1, 2, 3, SC 2011; '
local DEVROYE = PHILOX .. 'inversion: Non-uniform random variate generation, 1986, II.2'
local MARSAGLIA = PHILOX .. 'Marsaglia and Tsang, A simple method for generating gamma variables, 2000'
local RANDOM_KERNELS, RANDOM_FUNCTIONS = {}, {}
local DRAWN, COUNTS = { 'f64', 'f32' }, { 'i64', 'i32', 'f64', 'f32' }
local LOC, SCALE = { 'loc', 'number', 0 }, { 'scale', 'number', 1 }
local function number(name, default) return { name, 'number', default } end
for _, r in ipairs {
  { 'uniform', DRAWN, { number('low', 0), number('high', 1) }, 'low <= high is needed, both finite', 'uniform on [low, high)', PHILOX .. '53 (f32: 24) bits' },
  { 'normal', DRAWN, { number('mean', 0), number('std', 1) }, 'a finite mean and std >= 0 are needed', 'normal with mean and standard deviation', PHILOX .. 'Box and Muller, A note on the generation of random normal deviates, 1958' },
  { 'integers', { 'i64', 'i32', 'i16', 'i8', 'u8' }, { { 'low', 'int' }, { 'high', 'int' } }, 'low <= high is needed', 'whole numbers in [low, high], unbiased', PHILOX .. 'Lemire, Fast random integer generation in an interval, 2019', kernel = 'i64', result = 'i64' },
  { 'exponential', DRAWN, { SCALE }, 'scale >= 0 is needed', 'density exp(-x / scale) / scale, x >= 0', DEVROYE },
  { 'laplace', DRAWN, { LOC, SCALE }, 'a finite loc and scale >= 0 are needed', 'density exp(-|x - loc| / scale) / (2 scale)', DEVROYE },
  { 'logistic', DRAWN, { LOC, SCALE }, 'a finite loc and scale >= 0 are needed', 'distribution function 1 / (1 + exp(-(x - loc) / scale))', DEVROYE },
  { 'gumbel', DRAWN, { LOC, SCALE }, 'a finite loc and scale >= 0 are needed', 'distribution function exp(-exp(-(x - loc) / scale))', DEVROYE },
  { 'weibull', DRAWN, { number 'a', SCALE }, 'a > 0 and scale >= 0 are needed', 'distribution function 1 - exp(-(x / scale)^a), x >= 0', DEVROYE },
  { 'pareto', DRAWN, { number 'a', SCALE }, 'a > 0 and scale >= 0 are needed', 'distribution function 1 - (scale / x)^a, x >= scale', DEVROYE },
  { 'cauchy', DRAWN, { LOC, SCALE }, 'a finite loc and scale >= 0 are needed', 'density scale / (pi (scale^2 + (x - loc)^2))', DEVROYE },
  { 'rayleigh', DRAWN, { SCALE }, 'scale >= 0 is needed', 'distribution function 1 - exp(-x^2 / (2 scale^2)), x >= 0', DEVROYE },
  { 'lognormal', DRAWN, { number('mean', 0), number('std', 1) }, 'a finite mean and std >= 0 are needed', 'exp of a normal number with mean and std', PHILOX .. 'definition' },
  { 'geometric', COUNTS, { number 'p' }, '0 < p <= 1 is needed', 'trials until the first success, 1, 2, ...', DEVROYE, result = 'i64' },
  { 'bernoulli', { 'bool', 'u8', 'i64', 'f64', 'f32' }, { number('p', 0.5) }, '0 <= p <= 1 is needed', 'true with probability p', PHILOX .. 'definition', result = 'bool' },
  { 'rademacher', { 'f64', 'f32', 'i8', 'i64' }, {}, 'it takes none', '-1 or 1, equally often', PHILOX .. 'definition' },
  { 'gamma', DRAWN, { number 'a', SCALE }, 'a > 0 and scale >= 0 are needed', 'density x^(a - 1) exp(-x / scale) / (Gamma(a) scale^a), x > 0', MARSAGLIA },
  { 'loggamma', DRAWN, { number 'a' }, 'a > 0 is needed', 'logarithm of a gamma number of scale 1: no underflow for small a', MARSAGLIA },
  { 'beta', DRAWN, { number 'a', number 'b' }, 'a > 0 and b > 0 are needed', 'density x^(a - 1) (1 - x)^(b - 1) / B(a, b), 0 < x < 1', MARSAGLIA },
  { 'chisquare', DRAWN, { number 'df' }, 'df > 0 is needed', 'sum of df squared standard normal numbers', MARSAGLIA },
  { 'student_t', DRAWN, { number 'df', LOC, SCALE }, 'df > 0, a finite loc and scale >= 0 are needed', "Student's t with df degrees of freedom, times scale, plus loc", MARSAGLIA },
  { 'f', DRAWN, { number 'dfn', number 'dfd' }, 'dfn > 0 and dfd > 0 are needed', 'ratio of two chi-square numbers, each over its degrees of freedom', MARSAGLIA },
  { 'von_mises', DRAWN, { number('mu', 0), number('kappa', 1) }, 'a finite mu and kappa >= 0 are needed', 'density exp(kappa cos(x - mu)) / (2 pi I_0(kappa)) on [-pi, pi), rad', PHILOX .. 'Best and Fisher, Efficient simulation of the von Mises distribution, 1979' },
  { 'truncated_normal', DRAWN, { number('low', -math.huge), number('high', math.huge), number('mean', 0), number('std', 1) }, 'low < high, a finite mean and std > 0 are needed', 'normal with mean and std, given that it lies in [low, high]', PHILOX .. 'inversion; far tails: Robert, Simulation of truncated normal variables, 1995' },
  { 'poisson', COUNTS, { number('rate', 1) }, '0 <= rate <= 2^52 is needed', 'probability rate^k exp(-rate) / k!', PHILOX .. 'Hoermann, The transformed rejection method for generating Poisson random variables, 1993; inversion below a mean of 10', result = 'i64' },
  { 'binomial', COUNTS, { number 'n', number 'p' }, 'whole n with 0 <= n <= 2^53 and 0 <= p <= 1 are needed', 'successes in n trials, each with probability p', PHILOX .. 'Hoermann, The generation of binomial random variates, 1993; inversion below a mean of 10', result = 'i64' },
  { 'negative_binomial', COUNTS, { number 'n', number 'p' }, 'n > 0 and 0 < p <= 1 are needed', 'failures before success n, each trial succeeding with probability p', MARSAGLIA .. '; Poisson numbers of gamma means', result = 'i64' },
  { 'hypergeometric', COUNTS, { number 'ngood', number 'nbad', number 'nsample' }, 'whole counts >= 0 with nsample <= ngood + nbad <= 10^15 are needed', 'good ones among nsample drawn without replacement from ngood and nbad', PHILOX .. 'Stadlober, The ratio of uniforms approach for generating discrete random variates, 1990', result = 'i64' },
  { 'multinomial', COUNTS, { number 'n', number 'p' }, 'a whole n >= 0 and weights >= 0 with a positive finite sum are needed', 'how n trials fall into categories with the weights p (last axis)', PHILOX .. 'binomial counts category by category: Non-uniform random variate generation, 1986, XI.1', result = 'i64' },
} do
  local name = 'random_' .. r[1]
  op { name, family = 'random', nin = 'list', dtypes = r[2], result = r.result, params = r[3], guard_text = r[4], method = false, tol = 'EXACT', rules = (r.result or r[1] == 'rademacher') and 'none: counts' or name, doc = r[5], source = r[6] }
  RANDOM_KERNELS[#RANDOM_KERNELS + 1] = { name, r.kernel and { r.kernel } or (r[1] == 'uniform' or r[1] == 'normal') and { 'f32', 'f64' } or { 'f64' }, 'random' }
end
for _, r in ipairs {
  { 'sobol', "Sobol' points in [0, 1)^d", "Sobol', Distribution of points in a cube, 1967; direction numbers: Constructing Sobol sequences with better two-dimensional projections, 2008" },
  { 'halton', 'Halton points in [0, 1)^d', 'Halton, On the efficiency of certain quasi-random sequences of points, 1960' },
} do
  op { 'random_' .. r[1], family = 'sequence', nin = 'list', dtypes = { 'f64' }, method = false, tol = 'EXACT', rules = 'none: constant', doc = r[2], source = r[3] }
  RANDOM_KERNELS[#RANDOM_KERNELS + 1] = { 'random_' .. r[1], { 'f64' }, 'sequence' }
  RANDOM_FUNCTIONS[#RANDOM_FUNCTIONS + 1] = r[1] .. '_table'
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
linalg('ldl', 1, { { 'hermitian', 'bool', true } }, { rules = 'none: the blocks of D follow the values', nout = 3, base = true, results = { 'L', 'D', 'P' }, doc = 'a = L D L^H of Hermitian, or a = L D L^T of symmetric matrices (hermitian = false), not definite; D has blocks of 1 and 2 rows, the rows P of L are unit lower triangular; the lower triangle of a is read' })
linalg('qr', 1, { { 'mode', { 'reduced', 'complete', 'r' }, 'reduced' }, { 'pivoting', 'bool', false } }, { nout = 'list', base = true, results = { 'Q', 'R', 'P' }, doc = 'a = Q R, Q with orthonormal columns, R upper triangular (mode r: R alone); pivoting: a table of Q, R, P with the columns P of a in place of a, |R_ii| not growing', source = STD })
linalg('svd', 1, { { 'full_matrices', 'bool', true } }, { nout = 3, results = { 'U', 'S', 'Vh' }, doc = 'a = U diag(S) Vh, singular values falling; full_matrices = false keeps min(m, n) vectors', source = STD })
linalg('svdvals', 1, {}, { doc = 'singular values, falling', source = STD })
linalg('eigh', 1, { { 'upper', 'bool', false }, { 'kind', { 1, 2, 3 }, 1 }, { 'b', 'tensor' } }, { nout = 2, doc = 'eigenvalues (rising) and orthonormal eigenvectors (columns) of Hermitian matrices, of which one triangle is read; with b (positive definite) of a v = w b v, kind 2: a b v = w v, kind 3: b a v = w v', source = STD })
linalg('eigvalsh', 1, { { 'upper', 'bool', false }, { 'kind', { 1, 2, 3 }, 1 }, { 'b', 'tensor' } }, { doc = 'eigenvalues (rising) of Hermitian matrices; options of eigh', source = STD })
linalg('eig', 1, { { 'left', 'bool', false } }, { nout = 'list', results = { 'values', 'vectors', 'left' }, doc = 'complex eigenvalues, in no order, and eigenvectors (columns of length 1) of square matrices; left: a table of values, vectors and left, with columns u of length 1 for which u^H a = w u^H', source = 'NumPy linalg.eig' })
linalg('eigvals', 1, {}, { doc = 'complex eigenvalues of square matrices, in no order', source = 'NumPy linalg.eigvals' })
linalg('hessenberg', 1, {}, { rules = 'none: a step on the way to eigenvalues; take those of eig', nout = 2, doc = 'H, zero below the first subdiagonal, and unitary Q with a = Q H Q^H' })
linalg('solve_banded', 2, { { 'lower', 'int' }, { 'upper', 'int' } }, { doc = 'x with a x = b for banded a, whose diagonals are the rows of ab[..., lower + upper + 1, n]: a[i, j] stands in ab[upper + 1 + i - j, j]', source = LAPACK .. ': gbsv, gtsv' })
linalg('solveh_banded', 2, { { 'lower', 'bool', false } }, { doc = 'x with a x = b for banded positive definite a, of which the diagonals on and above the main one (lower: below) are the rows of ab, as in solve_banded', source = LAPACK .. ': pbsv' })
linalg('levinson', 3, {}, { internal = true, doc = 'x with T x = b, T Toeplitz with first column c and first row r', source = 'The Wiener RMS error criterion in filter design and prediction, 1946; Matrix computations, 2013, section 4.7' })
for _, r in ipairs {
  { 'schur_form', 1, { { 'still', 'bool', false }, { 'order', { 'none', 'lhp', 'rhp', 'iuc', 'ouc' }, 'none' } }, 'list', MATRIX, 'T and unitary Z with a = Z T Z^H; still: derivatives hold Z and let T be any matrix, for functions of a; order: which eigenvalues come first, how many is a third result', 'schur' },
  { 'least_squares', 2, { { 'rcond', 'number', -1 } }, 3, MATRIX, 'shortest x that minimises |a x - b|, rank, singular values', 'lstsq' },
  { 'sqrt_upper', 1, {}, 1, { 'c128' }, 'upper triangular square root of upper triangular matrices', 'sqrtm' },
  { 'log_upper', 1, {}, 1, { 'c128' }, 'logarithm of upper triangular matrices', 'logm' },
} do
  linalg(r[1], r[2], r[3], { nout = r[4], dtypes = r[5], internal = true, doc = r[6], says = r[7] })
end

-- ---------------------------------------------------------------- compositions: shapes, sets, products
local function composed(module, dtypes, list)
  for _, r in ipairs(list) do
    r.family, r.module, r.dtypes = 'lua', module, r.dtypes or dtypes
    r.tol, r.source, r.rules = r.tol or 'EXACT', r.source or STD, r.rules or 'auto'
    op(r)
  end
end

composed('mascon.array.manipulate', ALL, {
  { 'broadcast_shapes', method = false, doc = 'the shape to which shapes broadcast', rules = 'none: shapes' }, { 'broadcast_arrays', nin = 'list', method = false, doc = 'tensors as views of their common shape' },
  { 'unstack', doc = 'the slices along one axis as a list' }, { 'matrix_transpose', doc = 'the last two axes exchanged' },
  { 'repeat_each', alias = { 'repeat' }, doc = 'each element several times' }, { 'tile', doc = 'the whole tensor several times along each axis' },
  { 'cumulative_sum', tol = 'ACCUM', doc = 'running sum, optionally with a leading 0' }, { 'cumulative_prod', tol = 'ACCUM', doc = 'running product, optionally with a leading 1' },
})
composed('mascon.core.index', ALL, {
  { 'put', nin = 3, rules = 'put', source = 'NumPy advanced indexing', doc = 'a copy with values written at any index expression' },
  { 'index_add', nin = 3, dtypes = NUM, rules = 'put', source = 'NumPy add.at', doc = 'a copy with values added at any index expression, in order' },
})
composed('mascon.array.sets', ALL, {
  { 'unique_all', rules = 'none: positions', doc = 'distinct values, their first positions, inverse and counts' }, { 'unique_counts', rules = 'none: positions', doc = 'distinct values and their counts' },
  { 'unique_inverse', rules = 'none: positions', doc = 'distinct values and the positions that rebuild the tensor' }, { 'unique_values', rules = 'none: sorted set', doc = 'distinct values' },
})
composed('mascon.core.dtypes', ALL, {
  { 'astype', doc = 'converted copy' }, { 'result_type', nin = 'list', method = false, rules = 'none: dtypes', doc = 'dtype in which operands meet' }, { 'can_cast', method = false, rules = 'none: dtypes', doc = 'one dtype promotes to the other' },
  { 'finfo', method = false, rules = 'none: dtypes', doc = 'limits of a float dtype' }, { 'iinfo', method = false, rules = 'none: dtypes', doc = 'limits of an integer dtype' }, { 'isdtype', method = false, rules = 'none: dtypes', doc = 'a dtype is of a kind' },
  { 'namespace_info', method = false, rules = 'none: dtypes', doc = 'what the library has, as the array API asks' },
})
composed('mascon.fft', { 'f32', 'f64', 'c64', 'c128' }, {
  { 'fftn', namespace = 'fft', method = false, tol = 'FFT', doc = 'transform over several axes' }, { 'ifftn', namespace = 'fft', method = false, tol = 'FFT', doc = 'inverse of fftn' },
  { 'rfftn', namespace = 'fft', method = false, tol = 'FFT', doc = 'transform of real data over several axes' }, { 'irfftn', namespace = 'fft', method = false, tol = 'FFT', doc = 'inverse of rfftn' },
  { 'hfft', namespace = 'fft', method = false, tol = 'FFT', doc = 'real spectrum of a signal with Hermitian symmetry' }, { 'ihfft', namespace = 'fft', method = false, tol = 'FFT', doc = 'inverse of hfft' },
  { 'fftfreq', namespace = 'fft', method = false, tol = 'ULP4', rules = 'none: no operand', doc = 'frequencies of the bins of fft' }, { 'rfftfreq', namespace = 'fft', method = false, tol = 'ULP4', rules = 'none: no operand', doc = 'frequencies of the bins of rfft' },
  { 'fftshift', namespace = 'fft', method = false, dtypes = ALL, doc = 'zero frequency moved to the middle' }, { 'ifftshift', namespace = 'fft', method = false, dtypes = ALL, doc = 'inverse of fftshift' },
})
composed('mascon.array.products', NUM, {
  { 'dot', nin = 2, tol = 'ACCUM', doc = 'product of vectors and matrices, the last axis of a with the last but one of b', source = 'NumPy dot' },
  { 'vdot', nin = 2, tol = 'ACCUM', doc = 'sum of conj(a) b over all elements', source = 'NumPy vdot' },
  { 'inner', nin = 2, tol = 'ACCUM', doc = 'sum of products over the last axis of both', source = 'NumPy inner' },
  { 'outer', nin = 2, doc = 'all products of an element of a with one of b' },
  { 'tensordot', nin = 2, tol = 'ACCUM', doc = 'sum of products over chosen axes' },
  { 'kron', nin = 2, doc = 'Kronecker product', source = 'NumPy kron' },
  { 'cross', nin = 2, tol = 'ACCUM', doc = 'vector product in space' },
})
composed('mascon.array.einsum', ALL, {
  { 'einsum', nin = 'list', method = false, tol = 'ACCUM', doc = 'sums of products in index notation', source = 'NumPy einsum; Faster identification of optimal contraction sequences for tensor networks, 2014' },
  { 'einsum_path', nin = 'list', method = false, rules = 'none: a report', doc = 'the order and cost of the products of an einsum', source = 'NumPy einsum_path' },
})
composed('mascon.array.join', ALL, {
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
composed('mascon.array.shapes', ALL, {
  { 'swapaxes', doc = 'two axes exchanged', source = 'NumPy swapaxes' },
  { 'diagonal', method = false, doc = 'a diagonal of two axes as a view' },
  { 'trace', dtypes = NUM, tol = 'ACCUM', doc = 'sum of a diagonal' },
  { 'rot90', doc = 'quarter turns in the plane of two axes', source = 'NumPy rot90' },
  { 'argwhere', result = 'i64', rules = 'none: positions', doc = 'positions of the non-zero elements, one row for each', source = 'NumPy argwhere' },
  { 'flatnonzero', result = 'i64', rules = 'none: positions', doc = 'flat positions of the non-zero elements', source = 'NumPy flatnonzero' },
  { 'sliding_window_view', doc = 'windows sliding over one or several axes', source = 'NumPy sliding_window_view' },
})
composed('mascon.linalg.toeplitz', ALL, {
  { 'toeplitz', nin = 2, doc = 'matrix constant along diagonals', source = 'SciPy toeplitz' },
  { 'hankel', nin = 2, doc = 'matrix constant along antidiagonals', source = 'SciPy hankel' },
})
composed('mascon.array.matrices', ALL, {
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
})

-- ---------------------------------------------------------------- compositions: calculus, polynomials, grids
composed('mascon.array.convolution', ALL, {
  { 'convolve', nin = 2, method = false, tol = 'ACCUM', doc = 'convolution of vectors', source = 'NumPy convolve' },
  { 'correlate', nin = 2, method = false, tol = 'ACCUM', doc = 'correlation of vectors', source = 'NumPy correlate' },
})
composed('mascon.array.polynomial', NUM, {
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
composed('mascon.fft.dct', FC, {
  { 'dctn', promote = 'float', namespace = 'fft', method = false, tol = 'FFT', doc = 'cosine transforms over several axes', source = 'SciPy fft.dctn' },
  { 'idctn', promote = 'float', namespace = 'fft', method = false, tol = 'FFT', doc = 'inverse of dctn', source = 'SciPy fft.idctn' },
  { 'dstn', promote = 'float', namespace = 'fft', method = false, tol = 'FFT', doc = 'sine transforms over several axes', source = 'SciPy fft.dstn' },
  { 'idstn', promote = 'float', namespace = 'fft', method = false, tol = 'FFT', doc = 'inverse of dstn', source = 'SciPy fft.idstn' },
})
composed('mascon.array.grid', ALL, {
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
composed('mascon.interpolate.spline', FLOAT, {
  { 'cubic_spline', nin = 2, promote = 'float', namespace = 'interpolate', method = false, tol = 'ITERATIVE', doc = 'cubic spline through samples', source = 'SciPy CubicSpline' },
  { 'pchip', nin = 2, promote = 'float', namespace = 'interpolate', method = false, tol = 'ACCUM', doc = 'cubic through samples without overshoot', source = 'Monotone piecewise cubic interpolation, 1980' },
  { 'akima', nin = 2, promote = 'float', namespace = 'interpolate', method = false, tol = 'ACCUM', doc = 'cubic through samples with local slopes', source = 'A new method of interpolation and smooth curve fitting based on local procedures, 1970' },
})
composed('mascon.array.calculus', FC, {
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
local NP, SP = 'NumPy 2.4: ', 'SciPy 1.17: '
composed('mascon.array.quantile', FLOAT, {
  { 'quantile', promote = 'float', tol = 'ULP4', rules = 'quantile', doc = 'quantiles over axes: nine types, weights', source = 'Sample quantiles in statistical packages, 1996' },
  { 'nanquantile', promote = 'float', tol = 'ULP4', rules = 'quantile', doc = 'quantiles over axes, NaN left out', source = NP .. 'nanquantile' },
  { 'percentile', promote = 'float', tol = 'ULP4', rules = 'quantile', doc = 'quantiles for q in percent', source = NP .. 'percentile' },
  { 'nanpercentile', promote = 'float', tol = 'ULP4', rules = 'quantile', doc = 'quantiles for q in percent, NaN left out', source = NP .. 'nanpercentile' },
  { 'nanmedian', promote = 'float', tol = 'ULP4', rules = 'quantile', doc = 'median over axes, NaN left out', source = NP .. 'nanmedian' },
})
composed('mascon.array.histogram', REAL, {
  { 'digitize', nin = 2, rules = 'none: positions', doc = 'the bin of each element', source = NP .. 'digitize' },
  { 'histogram_bin_edges', tol = 'ULP4', rules = 'none: edges', doc = 'edges of bins by a number, a rule or a range', source = NP .. 'histogram_bin_edges' },
  { 'histogram', tol = 'ACCUM', rules = 'none: counts', doc = 'counts of elements in bins, and the edges', source = NP .. 'histogram' },
  { 'histogram2d', nin = 2, method = false, tol = 'ACCUM', rules = 'none: counts', doc = 'counts of pairs in the cells of a grid', source = NP .. 'histogram2d' },
  { 'histogramdd', method = false, tol = 'ACCUM', rules = 'none: counts', doc = 'counts of points in the cells of a grid', source = NP .. 'histogramdd' },
})
composed('mascon.array.statistics', FC, {
  { 'ptp', dtypes = REAL, doc = 'largest minus smallest element over axes', source = NP .. 'ptp' },
  { 'average', promote = 'float', tol = 'ACCUM', doc = 'weighted mean over axes, and the sums of the weights', source = NP .. 'average' },
  { 'cov', promote = 'float', tol = 'ACCUM', doc = 'covariance matrix of variables', source = NP .. 'cov' },
  { 'corrcoef', promote = 'float', tol = 'ACCUM', doc = 'matrix of correlation coefficients', source = NP .. 'corrcoef' },
  { 'reduceat', dtypes = NUM, nin = 2, tol = 'ACCUM', doc = 'reductions of consecutive pieces of an axis', source = NP .. 'ufunc.reduceat' },
})
composed('mascon.array.compare', ALL, {
  { 'isclose', nin = 2, method = false, rules = 'none: boolean', doc = '|a - b| <= atol + rtol |b|, elementwise', source = NP .. 'isclose' },
  { 'allclose', nin = 2, method = false, rules = 'none: boolean', doc = 'whether all elements are close; a Lua boolean', source = NP .. 'allclose' },
  { 'array_equal', nin = 2, method = false, rules = 'none: boolean', doc = 'same shape and equal elements; a Lua boolean', source = NP .. 'array_equal' },
  { 'isin', nin = 2, dtypes = ORD, rules = 'none: boolean', doc = 'which elements are among the values of a set', source = 'Python array API standard 2025.12' },
  { 'nan_to_num', rules = 'select', doc = 'NaN and infinities replaced by numbers', source = NP .. 'nan_to_num' },
})
composed('mascon.array.unique', ALL, {
  { 'unique', rules = 'none: positions', doc = 'distinct slices along an axis: values, first positions, inverse, counts', source = NP .. 'unique' },
  { 'unique_consecutive', rules = 'none: positions', doc = 'runs of equal neighbours: values, inverse, counts', source = 'PyTorch unique_consecutive' },
})
local function statistics(module, list)
  for _, r in ipairs(list) do r.namespace, r.method, r.promote, r.tol = 'stats', false, 'float', r.tol or 'ACCUM' end
  composed('mascon.stats.' .. module, FLOAT, list)
end
statistics('descriptive', {
  { 'zscore', doc = '(x - mean) / standard deviation', source = SP .. 'stats.zscore' },
  { 'sem', doc = 'standard error of the mean', source = SP .. 'stats.sem' },
  { 'mad', doc = 'median absolute deviation', source = 'The influence curve and its role in robust estimation, 1974' },
  { 'iqr', doc = 'distance between two quantiles', source = SP .. 'stats.iqr' },
  { 'moment', doc = 'moment of an order about the mean or another centre', source = SP .. 'stats.moment' },
  { 'trim_mean', doc = 'mean without a share of the smallest and the largest elements', source = SP .. 'stats.trim_mean' },
  { 'gmean', doc = 'geometric mean', source = SP .. 'stats.gmean' },
  { 'hmean', doc = 'harmonic mean', source = SP .. 'stats.hmean' },
  { 'mode', tol = 'EXACT', rules = 'none: positions', doc = 'most frequent value, and how often it occurs', source = SP .. 'stats.mode' },
})
statistics('rank', {
  { 'rankdata', tol = 'EXACT', rules = 'none: ranks', doc = 'ranks along an axis, five rules for ties', source = SP .. 'stats.rankdata' },
})

-- ---------------------------------------------------------------- compositions: random numbers
for _, m in ipairs {
  { 'multivariate',
    { 'dirichlet', rules = 'none: the derivative of incomplete gamma functions in their order has no op', doc = 'positive numbers that sum to 1', source = 'Non-uniform random variate generation, 1986, XI.4' },
    { 'multivariate_normal', rules = 'auto', doc = 'normal vectors with mean and covariance', source = 'Non-uniform random variate generation, 1986, XI.2' },
    { 'wishart', rules = 'auto', doc = 'sums of outer products of normal vectors', source = 'Algorithm AS 53: Wishart variate generator, 1972' },
  },
  { 'sample',
    { 'permutation', doc = 'a random order of 1..n or of slices', source = 'Non-uniform random variate generation, 1986, XII.2' },
    { 'shuffle', doc = 'slices put into a random order, in place', source = 'Non-uniform random variate generation, 1986, XII.2' },
    { 'choice', doc = 'draws from things, with weights or without, with replacement or without', source = 'Weighted random sampling with a reservoir, 2006' },
  },
  { 'sequence', { 'latin_hypercube', doc = 'points with one in each slice of every coordinate', source = 'A comparison of three methods, 1979' } },
} do
  local list = { unpack(m, 2) }
  for _, r in ipairs(list) do r.namespace, r.method, r.rules, r.nin = 'random', false, r.rules or 'none: random', 0 end
  composed('mascon.random.' .. m[1], DRAWN, list)
end

-- ---------------------------------------------------------------- compositions: linear algebra
local function matrices(module, list)
  for _, r in ipairs(list) do r.namespace, r.method, r.tol = 'linalg', false, r.tol or 'ITERATIVE' end
  composed('mascon.linalg.' .. module, MATRIX, list)
end
local HIGHAM = 'Functions of matrices, 2008'
matrices('systems', {
  { 'lstsq', nin = 2, doc = 'x that minimises |a x - b|, the shortest of them: a table of x, residuals, rank, S', source = LAPACK },
  { 'pinv', doc = 'Moore-Penrose inverse from singular values above rtol times the largest' },
  { 'cholesky_solve', nin = 2, doc = 'x with a x = b from the Cholesky factor of a', source = LAPACK },
  { 'null_space', doc = 'orthonormal columns that a maps to 0', source = 'SciPy linalg.null_space' },
  { 'orth', doc = 'orthonormal columns that span the columns of a', source = 'SciPy linalg.orth' },
  { 'multi_dot', nin = 'list', doc = 'product of a chain of matrices in the cheapest order', source = 'Introduction to algorithms, third edition, 2009, section 15.2' },
})
matrices('banded', {
  { 'solve_tridiagonal', nin = 4, doc = 'x with a x = b for tridiagonal a from its three diagonals', source = LAPACK .. ': gtsv' },
})
matrices('toeplitz', {
  { 'circulant', tol = 'EXACT', doc = 'the matrix whose columns are c moved round', source = 'SciPy linalg.circulant' },
  { 'solve_toeplitz', nin = 2, doc = 'x with T x = b, T Toeplitz, in n^2 steps', source = 'Matrix computations, 2013, section 4.7' },
  { 'solve_circulant', nin = 2, doc = 'x with C x = b, C circulant, by transforms', source = 'Matrix computations, 2013, section 4.8' },
  { 'matmul_toeplitz', nin = 2, doc = 'T x, T Toeplitz, by transforms', source = 'Matrix computations, 2013, section 4.8' },
})
matrices('iterative', {
  { 'cg', nin = 2, doc = 'x with A x = b for positive definite A, by conjugate gradients', source = 'Methods of conjugate gradients for solving linear systems, 1952' },
  { 'bicgstab', nin = 2, doc = 'x with A x = b, by stabilised biconjugate gradients', source = 'Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG, 1992' },
})
matrices('gmres', {
  { 'gmres', nin = 2, doc = 'x with A x = b, by generalised minimal residuals', source = 'GMRES: a generalized minimal residual algorithm, 1986' },
})
matrices('lsqr', {
  { 'lsqr', nin = 2, doc = 'x that minimises |b - A x|, by bidiagonalisation', source = 'LSQR: an algorithm for sparse linear equations and sparse least squares, 1982' },
})
matrices('lanczos', {
  { 'eigsh', rules = 'none: stops by the data', doc = 'some extreme eigenvalues and eigenvectors of a Hermitian matrix', source = 'Thick-restart Lanczos method for large symmetric eigenvalue problems, 2000' },
})
matrices('norms', {
  { 'matrix_norm', doc = 'norm of matrices: fro, nuc, 1, -1, 2, -2, inf, -inf' },
  { 'vector_norm', doc = 'norm of order ord over one axis, several or all' },
  { 'norm', doc = 'vector_norm or matrix_norm, by the axes', source = 'NumPy linalg.norm' },
  { 'cond', doc = 'condition number in the norm p', source = 'NumPy linalg.cond' },
  { 'matrix_rank', rules = 'none: counts', doc = 'number of singular values above rtol times the largest' },
})
matrices('functions', {
  { 'schur', rules = 'none: the triangle and its basis are not unique', doc = 'T and unitary Z with a = Z T Z^H; output real or complex', source = LAPACK },
  { 'matrix_power', doc = 'a multiplied by itself n times; the inverse for negative n' },
  { 'logm', doc = 'principal logarithm of square matrices', source = HIGHAM .. ', algorithm 11.9' },
  { 'sqrtm', doc = 'principal square root of square matrices', source = HIGHAM .. ', algorithm 6.3' },
  { 'funm', doc = 'a function of Hermitian matrices, given as a function of their eigenvalues', source = HIGHAM .. ', section 4.5' },
  { 'polar', doc = 'unitary u and positive semidefinite p with a = u p, or a = p u', source = HIGHAM .. ', section 8.1' },
})

matrices('exponential', {
  { 'expm', doc = 'exponential of square matrices', source = 'The scaling and squaring method for the matrix exponential revisited, 2005' },
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

-- ---------------------------------------------------------------- epochs of many channels (mc.autoreject calls these; shapes in runtime/mc_autoreject.c)
for _, r in ipairs {
  { 'ar_range', nil, 'epochs -> largest minus smallest sample of each channel, NaN where one is not finite' },
  { 'ar_mix', ints 'want', 'epochs -> weighted sums of channels and their ranges' },
  { 'ar_sums', nil, 'epochs -> squared distances of medians and growing means of folds, added to sums' },
  { 'ar_losses', ints 'points fallback', 'sums -> losses of thresholds' },
  { 'ar_levels', nil, 'epochs -> squared distances of medians and means by repair, fold and level, added to sums' },
  { 'ar_weights', nil, 'inverse and sets of bad channels -> weights that repair them' },
  { 'ar_predict', nil, 'epochs -> correlation of channels with the median of their predictions' },
} do
  op { r[1], family = 'autoreject', nin = 'list', nout = 'list', dtypes = { 'f32', 'f64' }, params = r[2], method = false, tol = 'ACCUM', rules = 'none: analysis end point', doc = r[3], source = 'Autoreject: automated artifact rejection for MEG and EEG data, 2017; shared medians and running sums: docstring of mc.autoreject.fit' }
end

-- ---------------------------------------------------------------- other functions of the kernels, one table entry for each level
T.functions = {
  'dct_table',
  'dct_before_f32',
  'dct_before_f64',
  'dct_after_f32',
  'dct_after_f64',
  'sort_work',
  'topk_work',
  'select_work',
  'fft_table_bytes',
  'fft_table',
  'fft_work',
  'fft_f32',
  'fft_f64',
}

-- ---------------------------------------------------------------- hand-written kernels: name, dtypes, signature (family)
-- Elementwise kernels are generated from expr under the op's name; these stand in kernels/cpu/<family>.c as mck_<name>_<dtype>.
local ACC = { 'i64', 'f32', 'f64', 'c64', 'c128' }
local WIDE = { 'i64', 'f64', 'c128' }
local CMP = { 'u8', 'i8', 'i16', 'i32', 'i64', 'f32', 'f64' }
T.kernels = {
  { 'sum', ACC, 'reduce' }, { 'prod', ACC, 'reduce' }, { 'max', CMP, 'reduce' }, { 'min', CMP, 'reduce' }, { 'any', { 'u8' }, 'reduce' },
  { 'all', { 'u8' }, 'reduce' }, { 'argmax', CMP, 'reduce' }, { 'argmin', CMP, 'reduce' }, { 'count', { 'u8' }, 'reduce' },
  { 'nansum', { 'f32', 'f64' }, 'reduce' }, { 'nanfill', { 'f32', 'f64', 'c64', 'c128' }, 'reduce' }, { 'nanhold', { 'f32', 'f64' }, 'reduce' }, { 'moments', { 'f32', 'f64' }, 'reduce' }, { 'nanmoments', { 'f32', 'f64' }, 'reduce' },
  { 'moments_fold', { 'f64' }, 'reduce' }, { 'moments4', { 'f32', 'f64' }, 'reduce' }, { 'moments4_fold', { 'f64' }, 'reduce' }, { 'lse', { 'f32', 'f64' }, 'reduce' }, { 'lse_fold', { 'f64' }, 'reduce' }, { 'softmax', { 'f32', 'f64' }, 'softmax' },
  { 'cumsum', ACC, 'reduce' }, { 'cumprod', ACC, 'reduce' }, { 'cummax', CMP, 'reduce' }, { 'cummin', CMP, 'reduce' }, { 'argcummax', CMP, 'reduce' }, { 'argcummin', CMP, 'reduce' },
  { 'logcumsumexp', { 'f32', 'f64' }, 'reduce' }, { 'linear_recurrence', { 'f32', 'f64', 'c64', 'c128' }, 'recurrence' }, { 'iir', { 'f32', 'f64' }, 'filter' },
  { 'sort', CMP, 'sort' }, { 'partition', CMP, 'sort' }, { 'topk', CMP, 'sort' }, { 'select', { 'f32', 'f64' }, 'select' },
  { 'segment_sum', WIDE, 'segment' }, { 'segment_prod', WIDE, 'segment' }, { 'segment_max', { 'i64', 'f64' }, 'segment' }, { 'segment_min', { 'i64', 'f64' }, 'segment' },
  { 'matmul', ACC, 'matmul' }, { 'vecdot', ACC, 'dot' }, { 'cross_product', { 'f32', 'f64' }, 'dot' }, { 'interp', { 'f32', 'f64' }, 'interp' }, { 'ppoly', { 'f32', 'f64' }, 'interp' }, { 'tridiagonal', { 'f64' }, 'tridiagonal' },
  { 'small_solve', MATRIX, 'small' }, { 'small_inv', MATRIX, 'small' }, { 'small_lu', MATRIX, 'small' }, { 'small_cholesky', MATRIX, 'small' },
}
T.kernels[#T.kernels + 1] = { 'levinson', { 'f64', 'c128' }, 'levinson' }
for _, k in ipairs(RANDOM_KERNELS) do T.kernels[#T.kernels + 1] = k end
for _, f in ipairs(RANDOM_FUNCTIONS) do T.functions[#T.functions + 1] = f end

-- ---------------------------------------------------------------- memory an op asks for beside its result
-- In units of what its operands take in the dtype of their arithmetic (small integers as i64, halves as f32), or of its result if that is more;
-- tests/spec/footprint_spec.lua holds every op to it with two threads; a further one may hold a block of its own, whatever the size of the operands.
-- An op that is not named asks for none. Operands whose axis is not the innermost one are copied.
T.work = {
  akima = 5.2, allclose = 2.9, argcummax = 2, argcummin = 2, argmax = 0.5, argmin = 0.5, argpartition = 0.6, argsort = 2, argwhere = 2.6,
  bincount = 1, bincount_weighted = 1, chebval = 3.1, cholesky = 1, cholesky_solve = 1.9, circulant = 3.2, cond = 1.7, convolve = 3.9, corrcoef = 6.1,
  correlate = 3.9, cov = 2.6, cross = 1.6, cubic_spline = 4.9, cummax = 2, cummin = 2, cumprod = 2, cumsum = 2, cumulative_simpson = 13.1,
  cumulative_trapezoid = 1.1, dct = 1.2, dctn = 3.1, det = 1.2, digitize = 2.1, dirichlet = 1.1, dstn = 3.1, eig = 3.3, eigh = 3.3, eigsh = 4.6,
  eigvals = 1.4, eigvalsh = 1.4, expm = 24, fft = 3.2, fftfreq = 3.2, fftn = 3.1, flatnonzero = 0.2, funm = 3.3, geomspace = 2.1, gmean = 1.1,
  gmres = 0.4, hankel = 2.2, hermeval = 2.1, hermval = 3.1, hessenberg = 1, hfft = 1.6, histogram = 7.4, histogram2d = 7, histogramdd = 7,
  hmean = 3.2, idct = 1.2, idctn = 3.1, idstn = 3.1, ifft = 3.2, ifftn = 3.1, ihfft = 1.3, interp1d = 0.4, inv = 1, iqr = 2.3, irfft = 3.2,
  irfftn = 2.1, isclose = 2.8, isin = 3.1, kurtosis = 2.1, lagval = 10.1, latin_hypercube = 7.1, ldl = 0.9, legval = 9.1, log_softmax = 0.3,
  logcumsumexp = 2, logm = 36.1, logspace = 1.1, logsumexp = 0.5, lsqr = 0.4, lstsq = 3.2, lu = 1.3, lu_factor = 1.2, lu_solve = 1.1, mad = 4.3,
  matmul = 1.3, matmul_toeplitz = 42.9, matrix_norm = 3, matrix_power = 2, matrix_rank = 1.7, max = 0.5, mean = 1, median = 3.3, min = 0.5,
  mode = 8.5, moment = 2.1, multi_dot = 0.4, multivariate_normal = 1.1, nan_to_num = 2.4, nanargmax = 0.6, nanargmin = 0.6, nanmax = 0.6,
  nanmean = 1.1, nanmedian = 2.3, nanmin = 0.6, nanpercentile = 2.3, nanprod = 1.1, nanquantile = 2.3, nanstd = 0.5, nansum = 1.1, nanvar = 0.5,
  nonzero_flat = 0.3, norm = 3, null_space = 6.6, orth = 5.6, pad = 1.3, partition = 2.1, pchip = 5.8, percentile = 2.3, permutation = 2.2,
  pinv = 5.6, polar = 2.5, poly = 1.7, polyder = 1.1, polydiv = 347.8, polyfit = 10.8, polyint = 1.2, polymul = 2.4, prod = 1, put_along_axis = 1,
  qr = 1, quantile = 2.3, rankdata = 11.5, ravel_multi_index = 2.1, reduceat = 5.1, regular_grid = 29.2, rfft = 3.4, rfftfreq = 1.3, rfftn = 3.6,
  roots = 131.9, scatter_add = 4.8, scatter_reduce = 4.8, schur = 1.3, searchsorted = 3, segment_max = 0.1, segment_min = 0.1, segment_prod = 0.1,
  segment_sum = 0.1, skew = 2.1, slogdet = 1.2, softmax = 0.3, solve = 1.1, solve_banded = 0.8, solve_circulant = 34.6, solve_toeplitz = 4.7,
  solve_triangular = 1.1, solve_tridiagonal = 1.6, solveh_banded = 0.8, sort = 2, sph_harm_y = 6.1, sqrtm = 36.1, std = 0.5, sum = 1, svd = 2.3,
  svdvals = 1.7, take = 0.7, take_along_axis = 1, toeplitz = 2.2, topk = 1.1, tri = 0.2, tridiagonal = 1.9, tril = 0.2, tril_indices = 1.9,
  trim_mean = 4, triu = 0.2, triu_indices = 2.1, unique = 3.4, unique_all = 0.8, unique_consecutive = 2.1, unique_counts = 1.1, unique_inverse = 2.6,
  unique_values = 3.1, unravel_index = 2.1, unwrap = 9.6, vander = 2.1, var = 0.5, vector_norm = 3, wishart = 6.1,
}

-- ---------------------------------------------------------------- examples of rows, run as tests by tests/spec/examples_spec.lua
T.examples = {
  softmax = "mc.softmax(mc.tensor{0, 0})  --> f64[2]@cpu { 0.5000, 0.5000 }",
  segment_sum = "mc.segment_sum(mc.tensor{1, 2, 4}, mc.tensor({1, 1, 2}, { dtype = 'i64' }))  --> f64[2]@cpu { 3, 4 }",
  det = "mc.linalg.det { { 1, 2 }, { 3, 5 } }  --> f64[]@cpu -1",
  svdvals = "mc.linalg.svdvals { { 3, 0 }, { 0, 0.5 } }  --> f64[2]@cpu { 3.0000, 0.5000 }",
  solve = "mc.linalg.solve({ { 2, 0 }, { 0, 4 } }, { 2, 4 })  --> f64[2]@cpu { 1, 1 }",
  rfft = "mc.fft.rfft(mc.tensor{1, 1, 1, 1})  --> c128[3]@cpu { 4+0i, 0+0i, 0+0i }",
  add = "mc.add(mc.tensor{1, 2}, 10)  --> f64[2]@cpu { 11, 12 }",
  floor_divide = "mc.floor_divide(-7, 2)  --> f64[]@cpu -4",
  remainder = "mc.remainder(-7, 3)  --> f64[]@cpu 2",
  hypot = "mc.hypot(3, 4)  --> f64[]@cpu 5",
  lt = "mc.lt(mc.tensor{1, 3}, 2)  --> bool[2]@cpu { true, false }",
  negative = "mc.negative(mc.tensor{1, -2})  --> f64[2]@cpu { -1, 2 }",
  abs = "mc.abs(mc.complex(3, 4))  --> f64[]@cpu 5",
  round = "mc.round(mc.tensor{0.5, 1.5, -1.2})  --> f64[3]@cpu { 0, 2, -1 }",
  isnan = "mc.isnan(mc.tensor{1, mc.nan})  --> bool[2]@cpu { false, true }",
  erf = "mc.erf(0)  --> f64[]@cpu 0",
  gamma = "mc.special.gamma(5)  --> f64[]@cpu 24",
  comb = "mc.special.comb(5, 2)  --> f64[]@cpu 10",
  j0 = "mc.special.j0(0)  --> f64[]@cpu 1",
  elliprf = "mc.special.elliprf(1, 1, 1)  --> f64[]@cpu 1",
  jv = "mc.special.jv(2, mc.tensor{0, 1})  --> f64[2]@cpu { 0.0000, 0.1149 }",
  gammaincinv = "mc.special.gammaincinv(1, 0.5)  --> f64[]@cpu 0.69314718055995",
  expn = "mc.special.expn(2, 0)  --> f64[]@cpu 1",
  lpmv = "mc.special.lpmv(1, 1, 0)  --> f64[]@cpu -1",
  logistic = "mc.logistic(0)  --> f64[]@cpu 0.5",
  angle = "mc.angle(mc.complex(-1, 0))  --> f64[]@cpu 3.1415926535898",
  clip = "mc.clip(mc.tensor{-1, 0.5, 3}, 0, 1)  --> f64[3]@cpu { 0.0000, 0.5000, 1.0000 }",
  where = "mc.where(mc.tensor{true, false}, 1, 2)  --> f64[2]@cpu { 1, 2 }",
  sum = "mc.sum(mc.tensor{{1, 2}, {3, 4}}, 1)  --> f64[2]@cpu { 4, 6 }",
  max = "mc.max(mc.tensor{1, 3, 2})  --> f64[]@cpu 3",
  any = "mc.any(mc.tensor{0, 1})  --> true",
  argmax = "mc.argmax(mc.tensor{1, 3, 2})  --> i64[]@cpu 2",
  mean = "mc.mean(mc.tensor{1, 2, 6})  --> f64[]@cpu 3",
  var = "mc.var(mc.tensor{1, 3}, { correction = 1 })  --> f64[]@cpu 2",
  cumsum = "mc.cumsum(mc.tensor{1, 2, 3}, 1)  --> f64[3]@cpu { 1, 3, 6 }",
  sort = "mc.sort(mc.tensor{3, 1, 2}, { descending = true })  --> f64[3]@cpu { 3, 2, 1 }",
  argsort = "mc.argsort(mc.tensor{3, 1, 2})  --> i64[3]@cpu { 2, 3, 1 }",
  median = "mc.median(mc.tensor{1, 2, 4, 9})  --> f64[]@cpu 3",
  matmul = "mc.matmul(mc.tensor{{1, 2}, {3, 4}}, mc.tensor{1, 1})  --> f64[2]@cpu { 3, 7 }",
  take = "mc.take(mc.tensor{10, 20, 30}, mc.tensor({3, 1}, { dtype = 'i64' }))  --> f64[2]@cpu { 30, 10 }",
  searchsorted = "mc.searchsorted(mc.tensor{1, 3, 5}, mc.tensor{2, 3})  --> i64[2]@cpu { 2, 2 }",
  bincount = "mc.bincount(mc.tensor({0, 2, 2}, { dtype = 'i64' }))  --> i64[3]@cpu { 1, 0, 2 }",
  concat = "mc.concat({ mc.tensor{1, 2}, mc.tensor{3} })  --> f64[3]@cpu { 1, 2, 3 }",
  stack = "mc.stack({ mc.tensor{1, 2}, mc.tensor{3, 4} })  --> f64[2,2]@cpu { { 1, 2 }, { 3, 4 } }",
  roll = "mc.roll(mc.tensor{1, 2, 3}, 1)  --> f64[3]@cpu { 3, 1, 2 }",
  count_nonzero = "mc.count_nonzero(mc.tensor{0, 2, 3})  --> i64[]@cpu 2",
  logsumexp = "mc.logsumexp(mc.tensor{0, 0})  --> f64[]@cpu 0.69314718055995",
  skew = "mc.stats.skew(mc.tensor{1, 2, 3})  --> f64[]@cpu 0",
  kurtosis = "mc.stats.kurtosis(mc.tensor{1, 2, 3, 4})  --> f64[]@cpu -1.36",
  nansum = "mc.nansum(mc.tensor{1, mc.nan, 3})  --> f64[]@cpu 4",
  nanmax = "mc.nanmax(mc.tensor{1, mc.nan, 3})  --> f64[]@cpu 3",
  nanmean = "mc.nanmean(mc.tensor{1, mc.nan, 3})  --> f64[]@cpu 2",
  nanargmax = "mc.nanargmax(mc.tensor{1, mc.nan, 3})  --> i64[]@cpu 3",
  linear_recurrence = "mc.linear_recurrence(mc.tensor{0, 2, 3}, mc.tensor{1, 1, 1})  --> f64[3]@cpu {  1,  3, 10 }",
  cummax = "mc.cummax(mc.tensor{2, 1, 3}, 1)  --> f64[3]@cpu { 2, 2, 3 }",
  argcummax = "mc.argcummax(mc.tensor{2, 1, 3}, 1)  --> i64[3]@cpu { 1, 1, 3 }",
  partition = "mc.partition(mc.tensor{4, 1, 3, 2}, 2)  --> f64[4]@cpu { 1, 2, 4, 3 }",
  topk = "mc.topk(mc.tensor{4, 1, 9, 2}, 2)  --> f64[2]@cpu { 9, 4 }, i64[2]@cpu { 3, 1 }",
  scatter_reduce = "mc.scatter_reduce(mc.tensor{1, 2}, mc.tensor({1, 1}, { dtype = 'i64' }), mc.tensor{5, 7}, { reduce = 'max' })  --> f64[2]@cpu { 7, 2 }",
  solve_triangular = "mc.linalg.solve_triangular({ { 2, 1 }, { 0, 4 } }, { 4, 8 })  --> f64[2]@cpu { 1, 2 }",
  inv = "mc.linalg.inv { { 1, 1 }, { 1, 2 } }  --> f64[2,2]@cpu { { 2, -1 }, { -1, 1 } }",
  slogdet = "mc.linalg.slogdet { { 0, 1 }, { 1, 0 } }  --> f64[]@cpu -1, f64[]@cpu 0",
  lu_factor = "mc.linalg.lu_factor { { 0, 1 }, { 2, 0 } }  --> f64[2,2]@cpu { { 2, 0 }, { 0, 1 } }, i64[2]@cpu { 2, 2 }",
  lu_solve = { "local lu, piv = mc.linalg.lu_factor { { 0, 1 }, { 2, 0 } }", "mc.linalg.lu_solve(lu, { 3, 4 }, piv)  --> f64[2]@cpu { 2, 3 }" },
  lu = "mc.linalg.lu({ { 0, 1 }, { 2, 0 } }).P  --> f64[2,2]@cpu { { 0, 1 }, { 1, 0 } }",
  cholesky = "mc.linalg.cholesky { { 4, 2 }, { 2, 5 } }  --> f64[2,2]@cpu { { 2, 0 }, { 1, 2 } }",
  ldl = "mc.linalg.ldl({ { 4, 2 }, { 2, 5 } }).D  --> f64[2,2]@cpu { { 4, 0 }, { 0, 4 } }",
  qr = "mc.abs(mc.linalg.qr({ { 3, 1 }, { 4, 2 } }, { mode = 'r' }))  --> f64[2,2]@cpu { { 5.0000, 2.2000 }, { 0.0000, 0.4000 } }",
  svd = "mc.linalg.svd({ { 0, 2 }, { 3, 0 } }).S  --> f64[2]@cpu { 3, 2 }",
  eigvalsh = "mc.linalg.eigvalsh { { 2, 1 }, { 1, 2 } }  --> f64[2]@cpu { 1, 3 }",
  eigvals = "mc.linalg.eigvals { { 0, -1 }, { 1, 0 } }  --> c128[2]@cpu { 0+1i, 0-1i }",
  eigh = "mc.linalg.eigh { { 3, 0 }, { 0, 3 } }  --> f64[2]@cpu { 3, 3 }, f64[2,2]@cpu { { 1, 0 }, { 0, 1 } }",
}

return T
