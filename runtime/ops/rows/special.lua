-- special.lua - special functions.
--
-- Rows of the op table; what their fields mean stands in runtime/ops/ops.lua.
local W = ...
local op, FLOAT, FC = W.op, W.FLOAT, W.FC

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
  { 'gamma', 'gamma function; NaN at the negative integers', 'DLMF 5.2.1, 5.11.1', tol = 'ULP4', example = "mc.special.gamma(5)  --> f64[]@cpu 24" },
  { 'rgamma', '1 / gamma(a), 0 at the poles of gamma', 'DLMF 5.2.1', tol = 'ULP4' },
  { 'gammasgn', 'sign of gamma(a); NaN at the negative integers', 'DLMF 5.2.1', tol = 'EXACT', rules = 'none: piecewise constant' },
  { 'factorial', 'gamma(a + 1), and 0 for a < 0', 'DLMF 5.4.1', tol = 'ULP4' },
  { 'riemann_zeta', 'Riemann\'s zeta function of a real argument', 'DLMF 25.2, 25.4.1', rules = 'none: no closed form' },
  { 'j0', 'Bessel function of the first kind, order 0', 'DLMF 10.2.2, 10.17.3', fix = 'j0', example = "mc.special.j0(0)  --> f64[]@cpu 1" },
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
  { 'comb', 'choices of b among a; 0 outside 0 <= b <= a', 'SciPy comb, exact = False', example = "mc.special.comb(5, 2)  --> f64[]@cpu 10" },
  { 'perm', 'ordered choices of b among a; 0 outside 0 <= b <= a', 'SciPy perm, exact = False', tol = 'ULP4' },
  { 'polygamma', 'derivative of order a = 0, 1, ... of digamma at b', 'DLMF 25.11.12' },
  { 'hurwitz_zeta', 'Hurwitz\' zeta function sum (b + k)^-a; NaN for a < 1', 'DLMF 25.11.1' },
  { 'gammaincinv', 'x with gammainc(a, x) = b', 'Newton\'s method on the log-concave tail', example = "mc.special.gammaincinv(1, 0.5)  --> f64[]@cpu 0.69314718055995" },
  { 'gammainccinv', 'x with gammaincc(a, x) = b', 'Newton\'s method on the log-concave tail' },
  { 'stdtr', 'distribution function of Student\'s t with a degrees of freedom at b', 'DLMF 8.17; Handbook of mathematical functions, 1964, 26.7.1' },
  { 'stdtrit', 'quantile of Student\'s t with a degrees of freedom at probability b', 'Handbook of mathematical functions, 1964, 26.7.1' },
  { 'jv', 'Bessel function of the first kind of real order a at b', 'DLMF 10.2, 10.17, 10.19; Temme, 1976', alias = { 'jn' }, example = "mc.special.jv(2, mc.tensor{0, 1})  --> f64[2]@cpu { 0.0000, 0.1149 }" },
  { 'yv', 'Bessel function of the second kind of real order a at b; NaN for b < 0', 'DLMF 10.2, 10.17, 10.19; Temme, 1976', alias = { 'yn' } },
  { 'iv', 'modified Bessel function of the first kind of real order a at b', 'DLMF 10.25, 10.40, 10.41; Temme, 1975' },
  { 'ive', 'exp(-|b|) iv(a, b)', 'DLMF 10.25, 10.40, 10.41; Temme, 1975' },
  { 'kv', 'modified Bessel function of the second kind of real order a at b; NaN for b < 0', 'DLMF 10.25, 10.40, 10.41; Temme, 1975', alias = { 'kn' } },
  { 'kve', 'exp(b) kv(a, b)', 'DLMF 10.25, 10.40, 10.41; Temme, 1975' },
  { 'struve', 'Struve function H of real order a at b; NaN for b < 0 unless a is whole', 'DLMF 11.2.1, 11.6.1' },
  { 'modstruve', 'modified Struve function L of real order a at b; NaN for b < 0 unless a is whole', 'DLMF 11.2.2, 11.6.2' },
  { 'spherical_jn', 'spherical Bessel function of the first kind of order a = 0, 1, ... at b', 'DLMF 10.47.3' },
  { 'spherical_yn', 'spherical Bessel function of the second kind of order a = 0, 1, ... at b', 'DLMF 10.47.4' },
  { 'expn', 'exponential integral of order a = 0, 1, ...: int_1^inf exp(-b t) / t^a dt', 'DLMF 8.19', example = "mc.special.expn(2, 0)  --> f64[]@cpu 1" },
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
  { 'elliprf', 'Carlson\'s symmetric integral RF(a, b, c) of the first kind', 'DLMF 19.16.1', example = "mc.special.elliprf(1, 1, 1)  --> f64[]@cpu 1" },
  { 'elliprd', 'Carlson\'s symmetric integral RD(a, b, c) of the second kind', 'DLMF 19.16.5', tol = 'ULP4' },
  { 'elliprg', 'Carlson\'s symmetric integral RG(a, b, c) of the second kind', 'DLMF 19.16.3' },
  { 'lpmv', 'associated Legendre function of whole order a and degree b at c in [-1, 1], with the phase (-1)^a', 'DLMF 14.7.15, 14.10.3', example = "mc.special.lpmv(1, 1, 0)  --> f64[]@cpu -1" },
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
  { 'sph_harm_y', nin = 4, doc = 'spherical harmonic of degree n and order m at polar angle theta and azimuth phi', source = 'DLMF 14.30.1', work = 6.1 },
} do
  r.family, r.module, r.namespace, r.method, r.dtypes, r.promote, r.tol, r.rules = 'lua', 'mascon.special', 'special', false, FLOAT, 'float', 'ITERATIVE', 'auto'
  op(r)
end
