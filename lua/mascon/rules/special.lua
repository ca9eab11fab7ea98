-- special.lua - derivatives of special functions, in terms of one another.
--
-- Form of a derivative d(y, a, b, c): chain.lua. Of the formulas that a handbook offers the one without cancellation at regular points is taken
-- (sums of neighbouring orders for Bessel functions, Carlson's integrals for elliptic ones). Derivatives with respect to orders and shapes that
-- have no closed form stand in `without`. Sources: DLMF, the numbers beside the groups. May not know graphs.
local mc = require 'mascon.array'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local S = require 'mascon.core.op'.functions
local chain = require 'mascon.rules.chain'

local R, without = {}, {}
local but = chain.but
local function rule(name, ...) chain.rule(R, name, ...) end
local function exp(x) return mc.exp(x) end
local PI, ROOT = math.pi, math.sqrt(math.pi)

local NO_FORM = 'it has no closed form'
local function lacks(places, ...)
  for _, name in ipairs { ... } do
    without[name] = {}
    for _, i in ipairs(places) do without[name][i] = NO_FORM end
  end
end
local negated = function(d) return function(...) return -d(...) end end

-- ---------------------------------------------------------------- error functions (7.10)

rule('erf', function(_, a) return exp(-a * a) * (2 / ROOT) end)
rule('erfc', function(_, a) return exp(-a * a) * (-2 / ROOT) end)
rule('erfcx', function(y, a) return 2 * a * y - 2 / ROOT end)
rule('erfi', function(_, a) return exp(a * a) * (2 / ROOT) end)
rule('dawsn', function(y, a) return 1 - 2 * a * y end)
rule('erfinv', function(y) return exp(y * y) * (ROOT / 2) end)
rule('erfcinv', function(y) return exp(y * y) * (-ROOT / 2) end)
rule('ndtr', function(_, a) return exp(-a * a / 2) * (1 / math.sqrt(2 * PI)) end)
rule('ndtri', function(y) return exp(y * y / 2) * math.sqrt(2 * PI) end)
rule('log_ndtr', function(_, a) return math.sqrt(2 / PI) / S.erfcx(a * -math.sqrt(0.5)) end) -- density over distribution, in both tails
rule('owens_t', function(_, a, b) -- density times half an error function: differentiate under the integral
  return exp(-a * a / 2) * mc.erf(a * b * math.sqrt(0.5)) * (-1 / math.sqrt(8 * PI))
end, function(_, a, b)
  local s = 1 + b * b
  return exp(-a * a * s / 2) / (s * (2 * PI))
end)

-- ---------------------------------------------------------------- gamma functions (5.2, 5.15)

local psi = mc.digamma
rule('lgamma', function(_, a) return psi(a) end)
rule('loggamma', function(_, a)
  if tensor.kind[a.dtype] == 'c' then check.error(('special.loggamma: operand is %s; its derivative, digamma, takes real tensors only'):format(tensor.describe(a)), 2) end
  return psi(a)
end)
rule('digamma', function(_, a) return S.polygamma(1, a) end)
rule('gamma', function(y, a) return y * psi(a) end)
-- at the poles of gamma -psi / gamma is 0 infinite; its limit there is (-1)^n n! at a = -n
rule('rgamma', function(y, a)
  local pole = mc.logical_and(mc.le(a, 0), mc.eq(a, mc.floor(a)))
  local limit = S.gamma(1 - mc.where(pole, a, 0)) * (1 - 2 * mc.remainder(mc.where(pole, a, 0), 2))
  return mc.where(pole, limit, -y * psi(mc.where(pole, 1, a)))
end)
rule('factorial', function(y, a) return mc.where(mc.lt(a, 0), 0, y * psi(mc.where(mc.lt(a, 0), 1, a + 1))) end)
rule('beta', function(y, a, b) return y * (psi(a) - psi(a + b)) end, function(y, a, b) return y * (psi(b) - psi(a + b)) end)
rule('betaln', function(_, a, b) return psi(a) - psi(a + b) end, function(_, a, b) return psi(b) - psi(a + b) end)
rule('poch', function(y, a, b) return y * (psi(a + b) - psi(a)) end, function(y, a, b) return y * psi(a + b) end)
-- outside of its range comb and perm are 0
local function ranged(d)
  return function(y, a, b)
    local none = mc.eq(y, 0)
    return mc.where(none, 0, y * d(mc.where(none, 0, a), mc.where(none, 0, b)))
  end
end
local function over_first(a, b) return psi(a + 1) - psi(a - b + 1) end
rule('perm', ranged(over_first), ranged(function(a, b) return psi(a - b + 1) end))
rule('comb', ranged(over_first), ranged(function(a, b) return psi(a - b + 1) - psi(b + 1) end))
R.binom = R.comb
rule('polygamma', false, function(_, a, b) return S.polygamma(a + 1, b) end)
rule('hurwitz_zeta', false, function(_, a, b) return -a * S.hurwitz_zeta(a + 1, b) end)
lacks({ 1 }, 'polygamma', 'hurwitz_zeta')

-- ---------------------------------------------------------------- incomplete gamma and beta functions (8.8, 8.17)

-- densities divide by what may be 0 at an end of the range; there a power says whether they are 0, finite or infinite
local function gamma_slope(a, x)
  local edge = mc.eq(x, 0)
  return mc.where(edge, mc.pow(mc.where(edge, x, 1), a - 1), S.gamma_density(a, x) / but(x, 0, 1))
end
local function beta_slope(a, b, x)
  local low, high = mc.eq(x, 0), mc.eq(x, 1)
  local inside = mc.where(mc.logical_or(low, high), 0.5, x)
  local d = S.beta_density(a, b, inside) / (inside * (1 - inside))
  return mc.where(low, b * mc.pow(mc.where(low, x, 1), a - 1), mc.where(high, a * mc.pow(mc.where(high, 1 - x, 1), b - 1), d))
end
local function d_gammainc(_, a, b) return gamma_slope(a, b) end
rule('gammainc', false, d_gammainc)
rule('gammaincc', false, negated(d_gammainc))
local function d_gammaincinv(y, a) return 1 / gamma_slope(a, y) end
rule('gammaincinv', false, d_gammaincinv)
rule('gammainccinv', false, negated(d_gammaincinv))
lacks({ 1 }, 'gammainc', 'gammaincc', 'gammaincinv', 'gammainccinv')
-- the density is 0, and flat, where b <= 0
local function positive_only(f)
  return function(y, a, b)
    local inside = mc.gt(b, 0)
    return mc.where(inside, f(y, a, mc.where(inside, b, 1)), y * 0)
  end
end
rule('gamma_density', positive_only(function(y, a, b) return y * (mc.log(b) - psi(a)) end), positive_only(function(y, a, b) return y * (a / b - 1) end))

local function d_betainc(_, a, b, c) return beta_slope(a, b, c) end
rule('betainc', false, false, d_betainc)
rule('betaincc', false, false, negated(d_betainc))
local function d_betaincinv(y, a, b) return 1 / beta_slope(a, b, y) end
rule('betaincinv', false, false, d_betaincinv)
rule('betainccinv', false, false, negated(d_betaincinv))
-- y / density at y / (1 + y), the smaller of both shares as the argument
local function d_odds(y, a, b)
  local large = mc.gt(y, 1)
  return y / S.beta_density(mc.where(large, b, a), mc.where(large, a, b), mc.where(large, 1, y) / (1 + y))
end
rule('beta_odds', false, false, d_odds)
rule('beta_oddsc', false, false, negated(d_odds))
lacks({ 1, 2 }, 'betainc', 'betaincc', 'betaincinv', 'betainccinv', 'beta_odds', 'beta_oddsc')
local function unit_only(f)
  return function(y, a, b, c)
    local inside = mc.logical_and(mc.gt(c, 0), mc.lt(c, 1))
    return mc.where(inside, f(y, a, b, mc.where(inside, c, 0.5)), y * 0)
  end
end
rule('beta_density', unit_only(function(y, a, b, c) return y * (mc.log(c) - psi(a) + psi(a + b)) end), unit_only(function(y, a, b, c)
  return y * (mc.log1p(-c) - psi(b) + psi(a + b))
end), unit_only(function(y, a, b, c) return y * (a / c - b / (1 - c)) end))

local function t_density(a, b)
  return exp(mc.log1p(b * b / a) * (a + 1) * -0.5 - mc.log(a) * 0.5 - S.betaln(a * 0.5, 0.5))
end
rule('stdtr', false, function(_, a, b) return t_density(a, b) end)
rule('stdtrit', false, function(y, a) return 1 / t_density(a, y) end)
rule('vonmises_cdf', false, function(_, a, b) return exp(a * (mc.cos(b) - 1)) / (S.i0e(a) * (2 * PI)) end)
lacks({ 1 }, 'stdtr', 'stdtrit', 'vonmises_cdf')

-- ---------------------------------------------------------------- Bessel functions (10.6, 10.29, 10.51)

local function half_difference(f) return function(_, a, b) return (f(a - 1, b) - f(a + 1, b)) * 0.5 end end
rule('j0', function(_, a) return -S.j1(a) end)
rule('j1', function(_, a) return (S.j0(a) - S.jv(2, a)) * 0.5 end)
rule('y0', function(_, a) return -S.y1(a) end)
rule('y1', function(_, a) return (S.y0(a) - S.yv(2, a)) * 0.5 end)
rule('i0', function(_, a) return S.i1(a) end)
rule('i1', function(_, a) return (S.i0(a) + S.iv(2, a)) * 0.5 end)
rule('i0e', function(y, a) return S.i1e(a) - mc.sign(a) * y end)
rule('i1e', function(y, a) return (S.i0e(a) + S.ive(2, a)) * 0.5 - mc.sign(a) * y end)
rule('k0', function(_, a) return -S.k1(a) end)
rule('k1', function(_, a) return (S.k0(a) + S.kv(2, a)) * -0.5 end)
rule('k0e', function(y, a) return y - S.k1e(a) end)
rule('k1e', function(y, a) return y - (S.k0e(a) + S.kve(2, a)) * 0.5 end)
rule('jv', false, half_difference(S.jv))
rule('yv', false, half_difference(S.yv))
rule('iv', false, function(_, a, b) return (S.iv(a - 1, b) + S.iv(a + 1, b)) * 0.5 end)
rule('kv', false, function(_, a, b) return (S.kv(a - 1, b) + S.kv(a + 1, b)) * -0.5 end)
rule('ive', false, function(y, a, b) return (S.ive(a - 1, b) + S.ive(a + 1, b)) * 0.5 - mc.sign(b) * y end)
rule('kve', false, function(y, a, b) return y - (S.kve(a - 1, b) + S.kve(a + 1, b)) * 0.5 end)
local function spherical(f)
  return function(_, a, b) -- order -1 counts 0 times
    return (mc.where(mc.eq(a, 0), 0, a * f(mc.maximum(a - 1, 0), b)) - (a + 1) * f(a + 1, b)) / (2 * a + 1)
  end
end
rule('spherical_jn', false, spherical(S.spherical_jn))
rule('spherical_yn', false, spherical(S.spherical_yn))
-- 11.4.23 to 11.4.28: half sums of neighbours and the power between them, without a division by b
local function struve(f, sign)
  return function(_, a, b) return (f(a - 1, b) + sign * f(a + 1, b) + (b * 0.5) ^ a * S.rgamma(a + 1.5) * (1 / ROOT)) * 0.5 end
end
rule('struve', false, struve(S.struve, -1))
rule('modstruve', false, struve(S.modstruve, 1))
lacks({ 1 }, 'jv', 'yv', 'iv', 'kv', 'ive', 'kve', 'spherical_jn', 'spherical_yn', 'struve', 'modstruve')

-- ---------------------------------------------------------------- integrals of elementary functions (6.2, 7.2, 8.19)

rule('exp1', function(_, a) return -exp(-a) / a end)
rule('expi', function(_, a) return exp(a) / a end)
rule('si', function(_, a) return S.sinc(a / PI) end)
rule('ci', function(_, a) return mc.cos(a) / a end)
rule('shi', function(_, a) return mc.where(mc.eq(a, 0), 1, mc.sinh(a) / but(a, 0, 1)) end)
rule('chi', function(_, a) return mc.cosh(a) / a end)
rule('fresnel_s', function(_, a) return mc.sin(a * a * (PI / 2)) end)
rule('fresnel_c', function(_, a) return mc.cos(a * a * (PI / 2)) end)
rule('sinc', function(_, a) return S.spherical_jn(1, a * PI) * -PI end)
rule('expn', false, function(_, a, b)
  local low = exp(-b) * (1 + 1 / b) / b
  return -mc.where(mc.eq(a, 0), low, S.expn(mc.maximum(a - 1, 0), b))
end)
lacks({ 1 }, 'expn')
rule('lambertw0', function(y) return exp(-y) / (1 + y) end) -- 4.13.4
rule('lambertwm1', function(y) return exp(-y) / (1 + y) end)

-- ---------------------------------------------------------------- entropies and odds

rule('entr', function(_, a) return -mc.log(a) - 1 end)
rule('logit', function(_, a) return 1 / (a * (1 - a)) end)
rule('log_expit', function(_, a) return mc.logistic(-a) end)
-- a / b, and 0 where a is
local function share(a, b) return mc.multiply_no_nan(1 / b, a) end
rule('xlogy', function(_, _, b) return mc.log(b) end, function(_, a, b) return share(a, b) end)
rule('xlog1py', function(_, _, b) return mc.log1p(b) end, function(_, a, b) return share(a, 1 + b) end)
rule('rel_entr', function(_, a, b) return mc.log(a / b) + 1 end, function(_, a, b) return -share(a, b) end)
rule('kl_div', function(_, a, b) return mc.log(a / b) end, function(_, a, b) return 1 - share(a, b) end)

-- ---------------------------------------------------------------- elliptic integrals and functions (19.18, 19.25, 22.13, 22.20)

local RD = S.elliprd
rule('elliprf', function(_, a, b, c) return RD(b, c, a) / -6 end, function(_, a, b, c) return RD(a, c, b) / -6 end, function(_, a, b, c) return RD(a, b, c) / -6 end)
-- a RD(., ., a) tends to 0 with a
local function of_rg(a, b, c) return S.elliprf(a, b, c) / 4 - mc.multiply_no_nan(RD(b, c, a), a) / 12 end
rule('elliprg', function(_, a, b, c) return of_rg(a, b, c) end, function(_, a, b, c) return of_rg(b, a, c) end, function(_, a, b, c) return of_rg(c, a, b) end)
-- RC(a, b) = RF(a, b, b); below 0, where it is a principal value, from its differential equation, whose differences do not cancel there
local function positive(b) return mc.where(mc.gt(b, 0), b, 1) end
rule('elliprc', function(y, a, b)
  return mc.where(mc.gt(b, 0), RD(positive(b), positive(b), a) / -6, (y - mc.rsqrt(a)) / (2 * mc.where(mc.gt(b, 0), 1, b - a)))
end, function(y, a, b)
  return mc.where(mc.gt(b, 0), RD(a, positive(b), positive(b)) / -3, (mc.sqrt(a) / b - y) / (2 * mc.where(mc.gt(b, 0), 1, b - a)))
end)
-- integral of (t + x)^-3/2 (t + y)^-1/2 (t + z)^-3/2 by partial fractions; for x = z it is the second derivative of RC
local function twice(x, y, z)
  local same = mc.eq(x, z)
  local d = mc.where(same, 1, z - x)
  local apart = (RD(y, z, x) - RD(x, y, z)) / d * (2 / 3)
  local flat = mc.eq(y, z)
  local e, r = mc.where(flat, 1, z - y), S.elliprc(y, z)
  local s = mc.sqrt(y) / z
  local slope = (s - r) / (2 * e)
  local joined = mc.where(flat, 0.4 * mc.pow(z, -2.5), -(s / z + 3 * slope) / (2 * e))
  return mc.where(same, joined, apart)
end
local function rd_first(x, y, z) return twice(x, y, z) * -0.75 end
rule('elliprd', function(_, a, b, c) return rd_first(a, b, c) end, function(_, a, b, c) return rd_first(b, a, c) end, function(y, a, b, c)
  -- homogeneous of degree -3/2
  return (y * -1.5 - mc.multiply_no_nan(rd_first(a, b, c), a) - mc.multiply_no_nan(rd_first(b, a, c), b)) / c
end)
rule('ellipk', function(_, a) return RD(0, 1, 1 - a) / 6 end)
rule('ellipkm1', function(_, a) return RD(0, 1, a) / -6 end)
rule('ellipe', function(_, a) return RD(0, 1 - a, 1) / -6 end)
-- the amplitude as whole half turns and a rest
local function turns(phi)
  local n = mc.round(phi / PI)
  local rest = phi - n * PI
  return n, mc.sin(rest), mc.square(mc.cos(rest))
end
local function slope_of_f(phi, m)
  local n, s, cc = turns(phi)
  return (s * s * s * RD(cc, 1, 1 - m * s * s) + mc.multiply_no_nan(2 * RD(0, 1, 1 - m), n)) / 6
end
local function slope_of_e(phi, m)
  local n, s, cc = turns(phi)
  return (s * s * s * RD(cc, 1 - m * s * s, 1) + mc.multiply_no_nan(2 * RD(0, 1 - m, 1), n)) / -6
end
local function delta(phi, m) return mc.sqrt(1 - m * mc.square(mc.sin(phi))) end
rule('ellipkinc', function(_, a, b) return 1 / delta(a, b) end, function(_, a, b) return slope_of_f(a, b) end)
rule('ellipeinc', function(_, a, b) return delta(a, b) end, function(_, a, b) return slope_of_e(a, b) end)
local sn, cn, dn = S.ellipj_sn, S.ellipj_cn, S.ellipj_dn
local function amplitude_by_m(a, b) return -dn(a, b) * slope_of_f(S.ellipj_ph(a, b), b) end
rule('ellipj_ph', function(_, a, b) return dn(a, b) end, function(_, a, b) return amplitude_by_m(a, b) end)
rule('ellipj_sn', function(_, a, b) return cn(a, b) * dn(a, b) end, function(_, a, b) return cn(a, b) * amplitude_by_m(a, b) end)
rule('ellipj_cn', function(_, a, b) return -sn(a, b) * dn(a, b) end, function(_, a, b) return -sn(a, b) * amplitude_by_m(a, b) end)
rule('ellipj_dn', function(_, a, b) return -b * sn(a, b) * cn(a, b) end, function(y, a, b)
  local s = sn(a, b)
  return s * (s + 2 * b * cn(a, b) * amplitude_by_m(a, b)) / (y * -2)
end)

-- ---------------------------------------------------------------- Legendre functions (14.10, 14.30)

rule('eval_legendre', false, function(y, a, b)
  local edge = mc.eq(mc.abs(b), 1)
  local at = a * (a + 1) * 0.5 * mc.pow(mc.where(edge, b, 1), a + 1)
  local n = mc.where(mc.eq(a, 0), 0, a * (b * y - S.eval_legendre(mc.maximum(a - 1, 0), b)))
  return mc.where(edge, at, n / mc.where(edge, 1, b * b - 1))
end)
rule('lpmv', false, false, function(y, a, b, c) -- order a, degree b
  return (b * c * y - (a + b) * S.lpmv(a, mc.maximum(b - 1, 0), c)) / (c * c - 1)
end)
-- raising and lowering the order: no division by the sine
local function ladder(a, b, c, up)
  return mc.sqrt(mc.maximum((a - b * up) * (a + b * up + 1), 0)) * S.sph_legendre_p(a, b + up, c)
end
-- the function is even in the angle and takes |sin|: outside [0, pi] the slope turns round
rule('sph_legendre_p', false, false, function(_, a, b, c)
  return (ladder(a, b, c, 1) - ladder(a, b, c, -1)) * mc.where(mc.lt(mc.sin(c), 0), -0.5, 0.5)
end)
without.eval_legendre = { 'the degree is whole' }
without.lpmv = { 'the order is whole', NO_FORM }
without.sph_legendre_p = { 'the degree is whole', 'the order is whole' }

return { reverse = R, without = without }
