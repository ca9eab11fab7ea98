-- reference.lua - what every op of the table means, as plain loops over Lua lists.
--
-- ewise[name] gives scalar functions by kind of dtype: f (reals, in double precision; r rounds to the dtype of the
-- arithmetic), i (int64 boxes; wrapped to the width afterwards), b (booleans), c (complex { re, im }). Functions Lua
-- lacks come from the C library, another implementation than the kernels'. The other families are functions on flat
-- lists.
local ffi = require 'ffi'

ffi.cdef [[
double exp2(double); double expm1(double); double log2(double); double log1p(double); double asinh(double);
double acosh(double); double atanh(double); double erf(double); double erfc(double); double hypot(double, double);
double fmod(double, double); double fma(double, double, double); float fmaf(float, float, float);
double copysign(double, double); double nearbyint(double); double floor(double); double ceil(double);
double trunc(double); double nextafter(double, double); float nextafterf(float, float);
double complex casin(double complex); double complex cacos(double complex); double complex catan(double complex);
double complex casinh(double complex); double complex cacosh(double complex); double complex catanh(double complex);
]]
local C = ffi.C
local int64 = ffi.typeof 'int64_t'
local INF, NAN = math.huge, 0 / 0

local M = { ewise = {} }
local E = M.ewise

-- ---------------------------------------------------------------- helpers

local WIDTH = {}
for name, ct in pairs { u8 = 'uint8_t', i8 = 'int8_t', i16 = 'int16_t', i32 = 'int32_t', i64 = 'int64_t' } do
  WIDTH[name] = ffi.typeof(ct)
end
--- An int64 box modulo 2^width of the dtype.
function M.wrap(dtype, v)
  if dtype == 'i64' then return v end
  return int64(ffi.cast(WIDTH[dtype], v))
end

local function Z(re, im) return { re = re, im = im } end
local function mul(a, b) return Z(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re) end
local function div(a, b)
  local n = b.re * b.re + b.im * b.im
  return Z((a.re * b.re + a.im * b.im) / n, (a.im * b.re - a.re * b.im) / n)
end
local function polar(r, t) return Z(r * math.cos(t), r * math.sin(t)) end
local function modulus(a) return C.hypot(a.re, a.im) end

local function isnan(a) return a ~= a end

-- the sign of the divisor; an exact zero takes it too
local function remainder(a, b)
  local r = C.fmod(a, b)
  if r == 0 then return C.copysign(0, b) end
  if (r < 0) ~= (b < 0) then r = r + b end
  return r
end
-- whole quotient whose remainder is the one above
local function floor_divide(a, b)
  if b == 0 then return a / b end
  if a ~= a or b ~= b or a == INF or a == -INF then return NAN end -- as NumPy; the standard leaves it to the library
  local r = C.fmod(a, b)
  local q = (a - r) / b
  if r ~= 0 and (r < 0) ~= (b < 0) then q = q - 1 end
  if q == 0 then return C.copysign(0, a / b) end
  local f = math.floor(q)
  if q - f > 0.5 then f = f + 1 end
  return f
end

-- ---------------------------------------------------------------- two operands

E.add = { f = function(a, b) return a + b end, i = function(a, b) return a + b end,
  c = function(a, b) return Z(a.re + b.re, a.im + b.im) end, zero = true }
E.subtract = { f = function(a, b) return a - b end, i = function(a, b) return a - b end,
  c = function(a, b) return Z(a.re - b.re, a.im - b.im) end, zero = true }
E.multiply = { f = function(a, b) return a * b end, i = function(a, b) return a * b end, c = mul,
  ctol = 'ULP4', zero = true }
E.multiply_no_nan = {
  f = function(a, b) return b == 0 and 0 or a * b end,
  c = function(a, b) return b.re == 0 and b.im == 0 and Z(0, 0) or mul(a, b) end, ctol = 'ULP4',
}
E.divide = { f = function(a, b) return a / b end, c = div, ctol = 'ULP4', zero = true }
E.floor_divide = {
  f = floor_divide, nonzero = true,
  i = function(a, b, dtype)
    if dtype == 'i64' and b == -1 then return -a end
    local q = a / b
    if q * b ~= a and (a < 0) ~= (b < 0) then q = q - 1 end
    return q
  end,
}
E.remainder = {
  f = remainder, nonzero = true,
  i = function(a, b)
    if b == -1 then return int64(0) end
    local r = a % b
    if r ~= 0 and (r < 0) ~= (b < 0) then r = r + b end
    return r
  end,
}
E.fmod = { f = function(a, b) return C.fmod(a, b) end }
E.pow = {
  f = function(a, b)
    if a == 1 or b == 0 then return 1 end
    return a ^ b
  end,
  small = true,
  i = function(a, b)
    local r = int64(1)
    for _ = 1, tonumber(b) do r = r * a end
    return r
  end,
  c = function(a, b)
    local r, t = modulus(a), math.atan2(a.im, a.re)
    if r == 0 then return Z(0, 0) end
    return polar(r ^ b.re * math.exp(-b.im * t), b.im * math.log(r) + b.re * t)
  end,
  -- exp(b log a): the error of the exponent, eps |b log a|, becomes a relative one; |b| |log a| stays below 8 for the
  -- samples
  ctol = 'ACCUM', terms = 64,
}
E.maximum = {
  f = function(a, b) if a ~= a or b ~= b then return NAN end return a > b and a or b end,
  i = function(a, b) return a > b and a or b end, b = function(a, b) return a or b end,
}
E.minimum = {
  f = function(a, b) if a ~= a or b ~= b then return NAN end return a < b and a or b end,
  i = function(a, b) return a < b and a or b end, b = function(a, b) return a and b end,
}
E.atan2 = { f = math.atan2, zero = true }
E.nextafter = { f = function(a, b, _, _, _, bits) return bits == 64 and C.nextafter(a, b) or C.nextafterf(a, b) end }
E.hypot = { f = function(a, b) return C.hypot(a, b) end }
E.copysign = { f = function(a, b) return C.copysign(a, b) end, zero = true, no_nan = true }
E.logaddexp = {
  f = function(a, b)
    if a ~= a or b ~= b then return NAN end
    local hi, lo = math.max(a, b), math.min(a, b)
    if hi == INF or lo == -INF then return hi end
    return hi + C.log1p(math.exp(lo - hi))
  end,
}
local function ceq(a, b) return a.re == b.re and a.im == b.im end
E.eq = { f = function(a, b) return a == b end, i = function(a, b) return a == b end,
  b = function(a, b) return a == b end, c = ceq }
E.ne = { f = function(a, b) return a ~= b end, i = function(a, b) return a ~= b end,
  b = function(a, b) return a ~= b end, c = function(a, b) return not ceq(a, b) end }
local function order(f) return { f = f, i = f, b = function(a, b) return f(a and 1 or 0, b and 1 or 0) end } end
E.lt = order(function(a, b) return a < b end)
E.le = order(function(a, b) return a <= b end)
E.gt = order(function(a, b) return a > b end)
E.ge = order(function(a, b) return a >= b end)
E.logical_and = { b = function(a, b) return a and b end }
E.logical_or = { b = function(a, b) return a or b end }
E.logical_xor = { b = function(a, b) return a ~= b end }
-- two's complement, bit by bit
local function bitwise(f)
  return function(a, b)
    local out, place = int64(0), int64(1)
    local x, y = ffi.cast('uint64_t', a), ffi.cast('uint64_t', b)
    for _ = 1, 64 do
      if f(x % 2 == 1, y % 2 == 1) then out = out + place end
      x, y, place = x / 2, y / 2, place * 2
    end
    return out
  end
end
local function land(a, b) return a and b end
local function lor(a, b) return a or b end
local function lxor(a, b) return a ~= b end
E.bitwise_and, E.bitwise_or, E.bitwise_xor = { i = bitwise(land), b = land }, { i = bitwise(lor), b = lor },
  { i = bitwise(lxor), b = lxor }
local BITS = { u8 = 8, i8 = 8, i16 = 16, i32 = 32, i64 = 64 }
E.bitwise_left_shift = {
  shift = true,
  i = function(a, b, dtype)
    if b >= BITS[dtype] then return int64(0) end
    for _ = 1, tonumber(b) do a = a * 2 end
    return a
  end,
}
E.bitwise_right_shift = {
  shift = true,
  i = function(a, b)
    for _ = 1, math.min(tonumber(b), 64) do
      local q = a / 2
      a = (a < 0 and q * 2 ~= a) and q - 1 or q
    end
    return a
  end,
}

-- ---------------------------------------------------------------- one operand

E.cut = { f = function(a) return a end, i = function(a) return a end, c = function(a) return a end, zero = true }
E.positive = { f = function(a) return a end, i = function(a) return a end, c = function(a) return a end, zero = true }
E.negative = { f = function(a) return -a end, i = function(a) return -a end,
  c = function(a) return Z(-a.re, -a.im) end, zero = true }
E.abs = { f = math.abs, i = function(a) return a < 0 and -a or a end, c = modulus, zero = true }
E.sign = {
  f = function(a) return a ~= a and a or a > 0 and 1 or a < 0 and -1 or 0 end,
  i = function(a) return int64(a > 0 and 1 or a < 0 and -1 or 0) end,
  c = function(a)
    local r = modulus(a)
    return r == 0 and Z(0, 0) or Z(a.re / r, a.im / r)
  end,
}
E.square = { f = function(a) return a * a end, i = function(a) return a * a end,
  c = function(a) return mul(a, a) end, ctol = 'ULP4' }
local function whole(f) return { f = f, i = function(a) return a end, zero = true } end
-- the C library's: math.ceil loses the sign of zero in compiled traces
E.floor, E.ceil = whole(function(a) return C.floor(a) end), whole(function(a) return C.ceil(a) end)
E.trunc = whole(function(a) return C.trunc(a) end)
E.round = whole(function(a) return C.nearbyint(a) end)
E.round.c = function(a) return Z(C.nearbyint(a.re), C.nearbyint(a.im)) end
E.reciprocal = { f = function(a) return 1 / a end, c = function(a) return div(Z(1, 0), a) end, zero = true }
E.bitwise_invert = { i = function(a) return -a - 1 end, b = function(a) return not a end }
E.logical_not = { b = function(a) return not a end }
E.isnan = { f = isnan, c = function(a) return isnan(a.re) or isnan(a.im) end }
local function isinf(a) return a == INF or a == -INF end
E.isinf = { f = isinf, c = function(a) return isinf(a.re) or isinf(a.im) end }
local function isfinite(a) return a - a == 0 end
E.isfinite = { f = isfinite, c = function(a) return isfinite(a.re) and isfinite(a.im) end }
-- the sign of a NaN is not fixed by the standard, so NaN is left out by the matrix
E.signbit = { f = function(a) return C.copysign(1, a) < 0 end, no_nan = true }

local function cexp(a) return polar(math.exp(a.re), a.im) end
local function csqrt(a)
  local r = modulus(a)
  local s = math.sqrt((r + math.abs(a.re)) / 2)
  if s == 0 then return Z(0, a.im) end
  if a.re >= 0 then return Z(s, a.im / (2 * s)) end
  return Z(math.abs(a.im) / (2 * s), C.copysign(s, a.im))
end
local complex = ffi.typeof 'double complex'
local function of_libm(name)
  return function(a)
    local w = C[name](complex(a.re, a.im))
    return Z(w.re, w.im)
  end
end
local sinh, cosh = math.sinh, math.cosh
local function csinh(a) return Z(sinh(a.re) * math.cos(a.im), cosh(a.re) * math.sin(a.im)) end
local function ccosh(a) return Z(cosh(a.re) * math.cos(a.im), sinh(a.re) * math.sin(a.im)) end
local function csin(a) return Z(math.sin(a.re) * cosh(a.im), math.cos(a.re) * sinh(a.im)) end
local function ccos(a) return Z(math.cos(a.re) * cosh(a.im), -math.sin(a.re) * sinh(a.im)) end
local function log_modulus(a)
  local x, y = math.max(math.abs(a.re), math.abs(a.im)), math.min(math.abs(a.re), math.abs(a.im))
  if x > 0.5 and x < 2 then return 0.5 * C.log1p((x - 1) * (x + 1) + y * y) end
  return math.log(C.hypot(x, y))
end
E.sqrt = { f = math.sqrt, c = csqrt, zero = true }
E.exp = { f = math.exp, c = cexp }
E.expm1 = {
  f = function(a) return C.expm1(a) end,
  c = function(a)
    return Z(C.expm1(a.re) * math.cos(a.im) - 2 * math.sin(a.im / 2) ^ 2, math.exp(a.re) * math.sin(a.im))
  end,
}
E.exp2 = { f = function(a) return C.exp2(a) end }
E.log = { f = math.log, c = function(a) return Z(log_modulus(a), math.atan2(a.im, a.re)) end }
local function log_to(base)
  return function(a)
    local w = E.log.c(a)
    return Z(w.re / math.log(base), w.im / math.log(base))
  end
end
E.log2 = { f = function(a) return C.log2(a) end, c = log_to(2) }
E.log10 = { f = math.log10, c = log_to(10) }
E.log1p = {
  f = function(a) return C.log1p(a) end,
  c = function(a)
    if C.hypot(a.re, a.im) > 0.5 then return E.log.c(Z(1 + a.re, a.im)) end
    return Z(0.5 * C.log1p(a.re * (2 + a.re) + a.im * a.im), math.atan2(a.im, 1 + a.re))
  end,
}
E.sin, E.cos = { f = math.sin, c = csin }, { f = math.cos, c = ccos }
local function ctan(x, y) -- tan(x + iy) in the doubled angle
  local d = math.cos(2 * x) + cosh(2 * y)
  return math.sin(2 * x) / d, sinh(2 * y) / d
end
-- near a pole the denominator cancels: a rounding of the argument moves the result by eps (1 + |tan|^2)
E.tan = { f = math.tan, c = function(a) return Z(ctan(a.re, a.im)) end, ctol = 'ACCUM', terms = 16,
  scale = function(w) return 1 + w.re ^ 2 + w.im ^ 2 end }
E.asin, E.acos, E.atan = { f = math.asin, c = of_libm 'casin' }, { f = math.acos, c = of_libm 'cacos' },
  { f = math.atan, c = of_libm 'catan' }
E.sinh, E.cosh = { f = sinh, c = csinh }, { f = cosh, c = ccosh }
E.tanh = { f = math.tanh, c = function(a)
  local im, re = ctan(a.im, a.re)
  return Z(re, im)
end, ctol = 'ACCUM', terms = 16, scale = E.tan.scale }
E.asinh = { f = function(a) return C.asinh(a) end, c = of_libm 'casinh' }
E.acosh = { f = function(a) return C.acosh(a) end, c = of_libm 'cacosh' }
E.atanh = { f = function(a) return C.atanh(a) end, c = of_libm 'catanh' }
E.rsqrt = { f = function(a) return 1 / math.sqrt(a) end }
E.erf, E.erfc = { f = function(a) return C.erf(a) end }, { f = function(a) return C.erfc(a) end }
-- a erfc(-a / sqrt 2) / 2, the argument with what its rounding lost (Dekker's product): erfc multiplies that by a^2
E.gelu = { f = function(a)
  local c, rest = 0.7071067811865476, -4.833646656726457e-17
  local p = math.max(a, -60) * c -- nothing is left there, not even of -inf
  if a < -60 then return p * C.erfc(-p) end
  if p ~= p or math.abs(p) > 1e100 then return a * 0.5 * C.erfc(-p) end
  local function split(x)
    local t = 134217729 * x
    local high = t - (t - x)
    return high, x - high
  end
  local ah, al = split(a)
  local ch, cl = split(c)
  local lost = ((ah * ch - p) + ah * cl + al * ch) + al * cl + a * rest
  return a * 0.5 * (C.erfc(-p) + 2 / math.sqrt(math.pi) * math.exp(-p * p) * lost)
end }
E.gelu_slope = { f = function(a)
  if a ~= a then return a end
  local m = math.max(-40, math.min(a, 40))
  return 0.5 * C.erfc(-m * 0.7071067811865476) + m * math.exp(-0.5 * m * m) / math.sqrt(2 * math.pi)
end, terms = 4, scale = function(want) return math.max(1, math.abs(want)) end }
E.gelu_tanh = { f = function(a)
  if a ~= a then return a end
  local m = math.min(math.abs(a), 40)
  local tail = math.exp(-2 * math.sqrt(2 / math.pi) * (m + 0.044715 * m ^ 3))
  return math.max(a, 0) - m * (tail / (1 + tail))
end, terms = 4, scale = function(want) return math.max(1, math.abs(want)) end }
E.logistic = { f = function(a) return a < 0 and math.exp(a) / (1 + math.exp(a)) or 1 / (1 + math.exp(-a)) end }
E.deg2rad = { f = function(a) return a * (math.pi / 180) end }
E.rad2deg = { f = function(a) return a * (180 / math.pi) end }
E.conj = { f = function(a) return a end, i = function(a) return a end,
  c = function(a) return Z(a.re, -a.im) end, zero = true }
E.real = { f = function(a) return a end, i = function(a) return a end, c = function(a) return a.re end }
E.imag = { f = function() return 0 end, i = function() return int64(0) end, c = function(a) return a.im end }
E.angle = { f = function(a) return math.atan2(0, a) end, c = function(a) return math.atan2(a.im, a.re) end }

-- Special functions have no second implementation at hand: their values are golden (special_spec), here every layout
-- must give what the contiguous operand gives.
for _, name in ipairs { 'lgamma', 'digamma', 'erfinv', 'ndtr', 'ndtri', 'gammainc', 'gammaincc', 'betainc' } do
  E[name] = { golden = true }
end
for _, row in ipairs(require('mascon.gen.ops').ops) do
  if row.namespace == 'special' and row.family ~= 'lua' then E[row[1]] = { golden = true } end
end

-- ---------------------------------------------------------------- three operands

E.clip = {
  f = function(a, b, c) return E.minimum.f(E.maximum.f(a, b), c) end,
  i = function(a, b, c) return E.minimum.i(E.maximum.i(a, b), c) end,
  b = function(a, b, c) return (a or b) and c end,
}
local function pick(a, b, c) if a then return b end return c end
E.where = { f = pick, i = pick, b = pick, c = pick, zero = true }
E.fma = {
  fused = true, -- what it gives hangs on the level
  f = function(a, b, c, r, fused, bits)
    if not fused then return r(r(a * b) + c) end
    if bits == 32 then return tonumber(C.fmaf(a, b, c)) end
    return C.fma(a, b, c)
  end,
}
E.lerp = {
  f = function(a, b, c, r) return r(a + r(c * r(b - a))) end,
  c = function(a, b, c)
    local d = mul(c, Z(b.re - a.re, b.im - a.im))
    return Z(a.re + d.re, a.im + d.im)
  end,
  -- the sum cancels: errors count against |a| + |c| |b - a| <= 20 of the samples, whose parts lie in [-2, 2]
  ctol = 'ACCUM', terms = 4, size = 20, cancels = true,
}

-- ---------------------------------------------------------------- reductions and scans

--- Groups of flat positions (1-based) that a reduction over the axes (set, 1-based) folds, in row-major order of both.
function M.groups(shape, axes)
  local nd, m, n = #shape, 1, 1
  local kept, gone = {}, {}
  local step, s = {}, 1
  for i = nd, 1, -1 do
    step[i] = s
    s = s * shape[i]
  end
  for i = 1, nd do
    if axes[i] then gone[#gone + 1], n = i, n * shape[i] else kept[#kept + 1], m = i, m * shape[i] end
  end
  local function offset(k, list)
    local at = 0
    for i = #list, 1, -1 do
      local size = shape[list[i]]
      at = at + k % size * step[list[i]]
      k = math.floor(k / size)
    end
    return at
  end
  local out = {}
  for i = 0, m - 1 do
    local row, at = {}, offset(i, kept)
    for j = 0, n - 1 do row[j + 1] = at + offset(j, gone) + 1 end
    out[i + 1] = row
  end
  return out
end

local function as_int(v)
  if type(v) == 'boolean' then return int64(v and 1 or 0) end
  return v
end
local function nonzero(v)
  if type(v) == 'boolean' then return v end
  if type(v) == 'table' then return v.re ~= 0 or v.im ~= 0 end
  return v ~= 0
end
M.nonzero = nonzero

-- sum with a second, compensating accumulator (1974): the reference must be better than what it judges
local function exact_sum(row)
  local s, c = 0, 0
  for i = 1, #row do
    local x = row[i]
    local t = s + x
    if t - t == 0 then
      if math.abs(s) >= math.abs(x) then c = c + ((s - t) + x) else c = c + ((x - t) + s) end
    end
    s = t
  end
  return s + c
end
local function part(row, name)
  local out = {}
  for i = 1, #row do out[i] = row[i][name] end
  return out
end
local function size_sum(row)
  local s = 0
  for i = 1, #row do s = s + (type(row[i]) == 'table' and modulus(row[i]) or math.abs(row[i])) end
  return s
end

--- Reductions of one list: f(row, kind, opts) gives the value and, for tolerance classes, the scale.
M.reduce = {}
local R = M.reduce
function R.sum(row, kind)
  if kind == 'i' or kind == 'b' then
    local s = int64(0)
    for i = 1, #row do s = s + as_int(row[i]) end
    return s
  elseif kind == 'c' then return Z(exact_sum(part(row, 're')), exact_sum(part(row, 'im'))), size_sum(row) end
  return exact_sum(row), size_sum(row)
end
function R.prod(row, kind)
  if kind == 'c' then
    local s = Z(1, 0)
    for i = 1, #row do s = mul(s, row[i]) end
    return s, modulus(s)
  end
  local s = kind == 'f' and 1 or int64(1)
  for i = 1, #row do s = s * (kind == 'f' and row[i] or as_int(row[i])) end
  return s, kind == 'f' and math.abs(s) or nil
end
local function best(better)
  return function(row, kind)
    local at = 1
    for i = 1, #row do
      local x, y = row[i], row[at]
      if kind == 'f' and x ~= x then return x, nil, i end
      if kind == 'b' then x, y = x and 1 or 0, y and 1 or 0 end
      if better(x, y) then at = i end
    end
    return row[at], nil, at
  end
end
R.max, R.min = best(function(x, y) return x > y end), best(function(x, y) return x < y end)
function R.argmax(row, kind, opts)
  local _, _, at = R.max(row, kind)
  return int64(at - 1 + (opts.base or 1))
end
function R.argmin(row, kind, opts)
  local _, _, at = R.min(row, kind)
  return int64(at - 1 + (opts.base or 1))
end
function R.any(row)
  for i = 1, #row do if nonzero(row[i]) then return true end end
  return false
end
function R.all(row)
  for i = 1, #row do if not nonzero(row[i]) then return false end end
  return true
end
function R.mean(row, kind)
  local s, scale = R.sum(row, kind)
  local n = #row
  if kind == 'c' then return Z(s.re / n, s.im / n), scale / n end
  return s / n, scale / n
end
function R.var(row, kind, opts)
  local n = #row
  local mean = R.mean(row, kind)
  local d, d2 = {}, {}
  for i = 1, n do
    d[i] = row[i] - mean
    d2[i] = d[i] * d[i]
  end
  local dof, rest = n - (opts.correction or 0), exact_sum(d)
  if dof <= 0 then return NAN, 0 end
  local v = (exact_sum(d2) - rest * rest / n) / dof
  -- the mean of the reference is off by eps |mean|: its square
  return v, math.max(v, 2 ^ -104 * n * mean * mean)
end
function R.std(row, kind, opts)
  local v = math.sqrt(R.var(row, kind, opts))
  return v, math.max(v, math.abs(R.mean(row, kind)))
end

local function powers(row, kind)
  local mean, rest, d3, d4 = R.mean(row, kind), {}, {}, {}
  for i = 1, #row do rest[i] = row[i] - mean end
  local off = exact_sum(rest) / #row -- what rounding took off the mean
  for i = 1, #row do
    local d = rest[i] - off
    d3[i], d4[i] = d * d * d, d * d * d * d
  end
  return R.var(row, kind, {}), exact_sum(d3) / #row, exact_sum(d4) / #row
end
function R.skew(row, kind, opts)
  local n, m2, m3, m4 = #row, powers(row, kind)
  if not (m2 > 0) then return NAN, 0 end
  local g = m3 / (m2 * math.sqrt(m2))
  if opts.bias == false then g = g * math.sqrt(n * (n - 1)) / (n - 2) end
  return g, 1 + m4 / (m2 * m2)
end
function R.kurtosis(row, kind, opts)
  local n, m2, _, m4 = #row, powers(row, kind)
  if not (m2 > 0) then return NAN, 0 end
  local g = m4 / (m2 * m2) - 3
  if opts.bias == false then g = ((n + 1) * g + 6) * (n - 1) / ((n - 2) * (n - 3)) end
  return g, 4 + m4 / (m2 * m2)
end
function R.count_nonzero(row)
  local n = 0
  for i = 1, #row do if nonzero(row[i]) then n = n + 1 end end
  return int64(n)
end
function R.logsumexp(row)
  local m, s = -INF, {}
  for i = 1, #row do m = math.max(m, row[i]) end
  for i = 1, #row do s[i] = math.exp(row[i] - m) end
  if #row == 0 then return -INF, 0 end
  local v = m + math.log(exact_sum(s))
  return v, math.max(1, math.abs(m))
end

-- NaN left out; nil: there must be an error
local function numbers(row)
  local out, at = {}, {}
  for i = 1, #row do
    local v = row[i]
    local re = type(v) == 'table' and v.re + v.im or v
    if type(v) == 'cdata' or type(v) == 'boolean' or re == re then
      out[#out + 1] = v
      at[#at + 1] = i
    end
  end
  return out, at
end
for _, name in ipairs { 'sum', 'prod', 'mean', 'var', 'std' } do
  R['nan' .. name] = function(row, kind, opts)
    local kept = numbers(row)
    if #kept == 0 and (name == 'var' or name == 'std') then return NAN, 0 end
    return R[name](kept, kind, opts)
  end
end
for _, name in ipairs { 'max', 'min' } do
  R['nan' .. name] = function(row, kind)
    local kept = numbers(row)
    if #kept == 0 then return NAN end
    return R[name](kept, kind)
  end
  R['nanarg' .. name] = function(row, kind, opts)
    local kept, at = numbers(row)
    if #kept == 0 then return nil end
    return int64(at[tonumber(R['arg' .. name](kept, kind, {}))] - 1 + (opts.base or 1))
  end
end

M.scan = {}
function M.scan.cumsum(row, kind)
  local out, scale, size, acc = {}, {}, 0, nil
  for i = 1, #row do
    local x = kind == 'b' and as_int(row[i]) or row[i]
    if i == 1 then acc = x
    elseif kind == 'c' then acc = Z(acc.re + x.re, acc.im + x.im)
    else acc = acc + x end
    if kind == 'f' then size = size + math.abs(x) elseif kind == 'c' then size = size + modulus(x) end
    out[i], scale[i] = acc, size
  end
  return out, scale
end
function M.scan.cumprod(row, kind)
  local out, scale, acc = {}, {}, nil
  for i = 1, #row do
    local x = kind == 'b' and as_int(row[i]) or row[i]
    if i == 1 then acc = x
    elseif kind == 'c' then acc = mul(acc, x)
    else acc = acc * x end
    out[i], scale[i] = acc, kind == 'f' and math.abs(acc) or kind == 'c' and modulus(acc) or 0
  end
  return out, scale
end

function M.scan.logcumsumexp(row)
  local out, scale, part_ = {}, {}, {}
  for i = 1, #row do
    part_[i] = row[i]
    out[i], scale[i] = R.logsumexp(part_)
  end
  return out, scale
end
for name, f in pairs { cummax = R.max, cummin = R.min } do
  M.scan[name] = function(row, kind)
    local out, part_ = {}, {}
    for i = 1, #row do
      part_[i] = row[i]
      out[i] = f(part_, kind)
    end
    return out, {}
  end
  M.scan['arg' .. name] = function(row, kind)
    local out, part_ = {}, {}
    for i = 1, #row do
      part_[i] = row[i]
      local _, _, at = f(part_, kind)
      out[i] = int64(at)
    end
    return out, {}
  end
end

--- softmax and log_softmax of a list, with the scale.
function M.softmax(row, log)
  local m, out = -INF, {}
  for i = 1, #row do m = math.max(m, row[i]) end
  for i = 1, #row do out[i] = math.exp(row[i] - m) end
  local total = exact_sum(out)
  for i = 1, #row do out[i] = log and row[i] - m - math.log(total) or out[i] / total end
  return out, log and math.max(1, math.abs(m)) or 1
end

--- Elements joined to what stands already (nil: nothing); the same rules as reductions.
function M.join(how, list, kind) return R[how](list, kind, {}) end

-- ---------------------------------------------------------------- order

-- NaN behind everything in either direction
local function before(x, y, descending)
  if type(x) == 'boolean' then x, y = x and 1 or 0, y and 1 or 0 end
  if x ~= x then return false end
  if y ~= y then return true end
  if descending then return x > y end
  return x < y
end

--- Positions (from 1) that sort the list, equal elements in their order: insertion by halves.
function M.argsort(row, descending)
  local at = {}
  for i = 1, #row do at[i] = i end
  local tmp = {}
  local function merge(lo, hi)
    if hi - lo < 1 then return end
    local mid = math.floor((lo + hi) / 2)
    merge(lo, mid)
    merge(mid + 1, hi)
    local i, j = lo, mid + 1
    for k = lo, hi do
      if j > hi or (i <= mid and not before(row[at[j]], row[at[i]], descending)) then
        tmp[k], i = at[i], i + 1
      else
        tmp[k], j = at[j], j + 1
      end
    end
    for k = lo, hi do at[k] = tmp[k] end
  end
  merge(1, #row)
  return at
end

--- Median of a list; NaN wins.
function M.median(row)
  local n = #row
  for i = 1, n do if row[i] ~= row[i] then return NAN end end
  local at = M.argsort(row)
  local a, b = row[at[math.floor((n + 1) / 2)]], row[at[math.floor(n / 2) + 1]]
  if a == b then return a end
  return a / 2 + b / 2
end

-- ---------------------------------------------------------------- products

--- Sum over l of a[i][l] b[l][j] with its scale, for functions a(i, l), b(l, j) of positions from 1.
function M.dot(a, b, i, j, k, kind)
  local row = {}
  for l = 1, k do
    local x, y = a(i, l), b(l, j)
    if kind == 'c' then row[l] = mul(x, y)
    elseif kind == 'b' or kind == 'i' then row[l] = as_int(x) * as_int(y)
    else row[l] = x * y end
  end
  local value, scale = R.sum(row, kind)
  return value, scale
end

--- Discrete Fourier transform by its definition. x: list of { re, im }, sign -1 forward.
function M.dft(x, sign, n)
  n = n or #x
  local out, cs, sn = {}, {}, {}
  for t = 0, n - 1 do cs[t], sn[t] = math.cos(2 * math.pi * t / n), sign * math.sin(2 * math.pi * t / n) end
  for k = 0, n - 1 do
    local re, im, cre, cim = 0, 0, 0, 0
    for t = 0, math.min(n, #x) - 1 do
      local p = k * t % n
      local z = x[t + 1]
      local vr, vi = z.re * cs[p] - z.im * sn[p] - cre, z.re * sn[p] + z.im * cs[p] - cim
      local tr, ti = re + vr, im + vi
      cre, cim = (tr - re) - vr, (ti - im) - vi
      re, im = tr, ti
    end
    out[k + 1] = Z(re, im)
  end
  return out
end

-- ---------------------------------------------------------------- rows that are a formula

local OPERATOR = {
  ['+'] = function(a, b) return a + b end, ['-'] = function(a, b) return a - b end,
  ['*'] = function(a, b) return a * b end, ['/'] = function(a, b) return a / b end,
  ['<'] = function(a, b) return a < b end, ['<='] = function(a, b) return a <= b end,
  ['>'] = function(a, b) return a > b end, ['>='] = function(a, b) return a >= b end,
  ['=='] = function(a, b) return a == b end, ['!='] = function(a, b) return a ~= b end,
}

--- Reference of an elementwise row whose expr is made of arithmetic, comparisons and functions that have references:
--- the formula itself, walked in double precision (reals) or on int64 boxes (integers). nil for what needs a reference
--- of its own: complex dtypes, bits, unknown functions.
function M.from_formula(row)
  local file = debug.getinfo(1, 'S').source:match '^@(.*)/tests/support/[^/]*$' or '.'
  local loader = loadfile(file .. '/runtime/ops/scalar.lua')
  if not loader or not row.expr then return nil end
  local tree = loader().parse(row.expr)
  local function known(x)
    if x[1] == 'call' and not (E[x[2]] and E[x[2]].f) then return false end
    if x[1] == 'not' or x[1] == '|' or x[1] == '&' or x[1] == '^' then return false end
    for i = 2, #x do if type(x[i]) == 'table' and not known(x[i]) then return false end end
    return true
  end
  if not known(tree) then return nil end
  local function walker(kind, number)
    local function go(x, v)
      local o = x[1]
      if o == 'var' then return v[x[2]] end
      if o == 'num' then return number(x[2]) end
      if o == 'neg' then return -go(x[2], v) end
      if o == '?' then
        if go(x[2], v) then return go(x[3], v) end
        return go(x[4], v)
      end
      if o == 'call' then
        local args = {}
        for i = 3, #x do args[#args + 1] = go(x[i], v) end
        local f = E[x[2]][kind]
        return f(args[1], args[2], args[3])
      end
      return OPERATOR[o](go(x[2], v), go(x[3], v))
    end
    return function(a, b, c) return go(tree, { a = a, b = b, c = c }) end
  end
  return { f = walker('f', tonumber), i = walker('i', function(n) return int64(tonumber(n)) end) }
end

return M
