-- special.lua - special functions.
--
-- Rows of the op table; what their fields mean stands in runtime/ops/ops.lua.
local W = ...
local op, FLOAT, FC, NO_FORM, gamma_slope, beta_slope = W.op, W.FLOAT, W.FC, W.NO_FORM, W.gamma_slope, W.beta_slope

-- ---------------------------------------------------------------- special functions
-- mc.special under SciPy's names and argument orders; erf, erfc, erfinv, ndtr, ndtri, lgamma, digamma, logistic,
-- gammainc, gammaincc and betainc are among mc's own names and stand there as well. Bodies in kernels/mck_special.h and
-- the headers it names; f16, bf16 and f32 are f64 rounded once.
-- Measured accuracy: tests/golden/accuracy_special.lua.
-- Derivatives: of the formulas that a handbook offers the one without cancellation at regular points is taken (sums of
-- neighbouring orders for Bessel functions, Carlson's integrals for elliptic ones). DLMF 5.2, 5.15, 6.2, 7.2, 7.10,
-- 8.8, 8.17, 8.19, 10.6, 10.29, 10.51, 11.4.23 to 11.4.28, 4.13.4, 14.10, 14.30, 19.18, 19.25, 22.13, 22.20.
local function filled(text, by) return (text:gsub('%f[%u][%u]+%f[%U]', by)) end
-- a half turn, and an amplitude as whole half turns N and a rest with sine S and squared cosine Q
local PI = '3.141592653589793'
local function turns(phi)
  local n = filled('round(PHI / PI)', { PHI = phi, PI = PI })
  local rest = filled('(PHI - N * PI)', { PHI = phi, N = n, PI = PI })
  return n, ('sin(%s)'):format(rest), ('square(cos(%s))'):format(rest)
end
local function slope_of_f(phi, m)
  local n, s, q = turns(phi)
  return filled('((S * S * S * elliprd(Q, 1, 1 - M * S * S) + multiply_no_nan(2 * elliprd(0, 1, 1 - M), N)) / 6)',
    { S = s, Q = q, N = n, M = m })
end
local function slope_of_e(phi, m)
  local n, s, q = turns(phi)
  return filled('((S * S * S * elliprd(Q, 1 - M * S * S, 1) + multiply_no_nan(2 * elliprd(0, 1 - M, 1), N)) / -6)',
    { S = s, Q = q, N = n, M = m })
end
local AMPLITUDE = '(-ellipj_dn(a, b) * ' .. slope_of_f('ellipj_ph(a, b)', 'b') .. ')' -- by the parameter
-- integral of (t + x)^-3/2 (t + y)^-1/2 (t + z)^-3/2, times -3/4. Apart, x and z give a difference of two RD. Near each
-- other they give a series in squares of their distance, whose terms are the integrals I of (t + 1)^-n (t + R)^-1/2
-- with R = y / m at the middle m: from RC by a recurrence, or, where R is near 1 and that cancels, by the binomial
-- series.
local BINOMIAL = { 1 } -- of -1/2 over k
for k = 1, 14 do BINOMIAL[k + 1] = BINOMIAL[k] * (0.5 - k) / k end
local function rd_first(x, y, z)
  local by = { X = x, Y = y, Z = z }
  local function let(name, text) by[name] = '(' .. filled(text, by) .. ')' end
  let('M', '(X + Z) * 0.5')
  let('R', 'Y / M')
  let('C', 'abs(R - 1) < 0.1')
  let('E', 'C ? 1 : 1 - R')
  let('D', 'C ? R - 1 : 0')
  let('I', '2 * elliprc(R, 1)')
  local terms = {}
  for n = 2, 7 do
    let('I', ('(%.1f * I - sqrt(R)) / (%d * E)'):format(n - 1.5, n - 1))
    local sum = '0'
    for k = n == 3 and 13 or n == 5 and 9 or 5, 0, -1 do
      sum = ('(%.17g + D * %s)'):format(BINOMIAL[k + 1] / (n + k - 0.5), sum)
    end
    terms[n] = filled('(C ? ' .. sum .. ' : I)', by)
  end
  by.F, by.G, by.H = terms[3], terms[5], terms[7]
  let('Q', 'square((X - Z) / (X + Z))')
  let('J', '(F + 1.5 * Q * (G + 1.25 * Q * H)) * pow(M, -2.5)')
  let('N', 'abs(X - Z) < 0.01 * M')
  return filled('(N ? J : (elliprd(Y, Z, X) - elliprd(X, Y, Z)) / (N ? 1 : Z - X) * 0.6666666666666666) * -0.75', by)
end

-- digamma(A + B) - digamma(A). Above 0 one step of the recurrence, then digamma at 1 and more: where B is small beside
-- them, by polygamma functions at the middle of the interval.
local function rise(a, b)
  local by = { A = '(' .. a .. ')', B = '(' .. b .. ')' }
  by.P = filled('(A > 0 & A + B > 0)', by)
  by.C, by.D = filled('(P ? A : 1)', by), filled('(P ? B : 0)', by)
  by.M = filled('(C + 1 + D * 0.5)', by)
  return filled('(P ? D / C / (C + D) + (abs(D) < 0.001 * (C + 1) ? D * (polygamma(1, M) + D * D * ' ..
    'polygamma(3, M) / 24) : digamma(C + 1 + D) - digamma(C + 1)) : digamma(A + B) - digamma(A))', by)
end
-- derivatives of exp(-|x|) I and exp(x) K at X far above the square of the order V, from y and DLMF 10.40.1, 10.40.2:
-- -y / x times the sum of (k + 1/2) c[k] over that of c[k]; S is -1 for I and 1 for K
local function far(v, x, s)
  local by = { X = x, S = s, U = '(4 * ' .. v .. ' * ' .. v .. ')' }
  by.Q = filled('(S * 0.125 / abs(X))', by)
  by.A = filled('(Q * (U - 1))', by)
  by.B = filled('(A * Q * (U - 9) * 0.5)', by)
  by.C = filled('(B * Q * (U - 25) * 0.3333333333333333)', by)
  by.D = filled('(C * Q * (U - 49) * 0.25)', by)
  return filled('-y / X * (0.5 + 1.5 * A + 2.5 * B + 3.5 * C + 4.5 * D) / (1 + A + B + C + D)', by)
end
local function or_far(near, v, x, s)
  local edge = v == '0' and '1000' or v == '1' and '1000' or ('1000 * (1 + %s * %s)'):format(v, v)
  local by = { X = x, E = edge }
  by.F = far(v, filled('(abs(X) > E ? X : 1000)', by), s)
  return filled('(abs(X) > E) ? F : ', by) .. near
end
-- sum over k = 1 .. 8 of (2k - 1)!! u^k with u = S / a^2, |a| > 16: asymptotic series of erfc and Dawson's integral
local function odd_factorials(s)
  local u, sum = ('(%s / square(maximum(abs(a), 16)))'):format(s), '1'
  for k = 8, 2, -1 do sum = ('(1 + %d * %s * %s)'):format(2 * k - 1, u, sum) end
  return u .. ' * ' .. sum
end
-- derivatives of a binomial coefficient by a and b, 0 where it is
local CHOICES = { 'y == 0 ? 0 : y * ' .. rise('((y == 0 ? 0 : a) - (y == 0 ? 0 : b) + 1)', '(y == 0 ? 0 : b)'),
  'y == 0 ? 0 : y * ' .. rise('((y == 0 ? 0 : b) + 1)', '((y == 0 ? 0 : a) - 2 * (y == 0 ? 0 : b))') }
-- and at whole numbers where a pole below the line makes it 0
local function binomial_slopes()
  local pole, neg = '(a >= 0 & b > a & b - a == floor(b - a))', '(b < 0 & b == floor(b) & a > -1)'
  local function at(test, n)
    local by = { T = test, N = ('(%s ? %s : 1)'):format(test, n) }
    return filled('beta((T ? a : 0) + 1, N) * (1 - 2 * remainder(N + 1, 2))', by)
  end
  local at_pole, at_neg = at(pole, 'b - a'), at(neg, '-b')
  return {
    ('%s ? %s : (%s)'):format(pole, at_pole, CHOICES[1]),
    ('%s ? -%s : (%s ? %s : (%s))'):format(pole, at_pole, neg, at_neg, CHOICES[2]),
  }
end

local function special(family, list)
  for _, r in ipairs(list) do
    local args = family == 'unary' and 'a' or family == 'binary' and 'a, b' or 'a, b, c'
    r.family, r.dtypes, r.promote, r.namespace, r.method, r.kernels = family, FLOAT, 'float',
      'special', false, 'special'
    r.expr = r.expr or ('%s(%s)'):format(r[1], args)
    r.doc, r.source, r.tol, r.rules = r.doc or r[2], r.source or r[3], r.tol or 'ITERATIVE', r.rules or 'auto'
    r[2], r[3] = nil, nil
    op(r)
  end
end
special('unary', {
  { 'erfcx', 'scaled complementary error function exp(a^2) erfc(a)',
    'DLMF 7.2.3; Efficient computation of the complementary error function: Shepherd and Laframboise, 1981',
    tol = 'ULP4',
    d = 'a > 16 ? 1.1283791670955126 * ' .. odd_factorials '-0.5' .. ' : 2 * a * y - 1.1283791670955126' },
  { 'erfi', 'imaginary error function -i erf(i a)', 'DLMF 7.2; by Dawson\'s integral', tol = 'ULP4',
    d = 'exp(a * a) * 1.1283791670955126' },
  { 'dawsn', 'Dawson\'s integral exp(-a^2) int_0^a exp(t^2) dt', 'DLMF 7.2.5',
    d = 'abs(a) > 16 ? -' .. odd_factorials '0.5' .. ' : 1 - 2 * a * y' },
  { 'erfcinv', 'inverse of erfc; NaN outside [0, 2]', 'Algorithm AS 241, 1988', tol = 'ULP4',
    d = 'exp(y * y) * -0.8862269254527579' },
  { 'log_ndtr', 'logarithm of the standard normal distribution function, tails included', 'DLMF 7.2.3', tol = 'ULP4',
    d = '0.7978845608028654 / erfcx(a * -0.7071067811865476)' },
  { 'gamma', 'gamma function; NaN at the negative integers', 'DLMF 5.2.1, 5.11.1', tol = 'ULP4',
    example = "mc.special.gamma(5)  --> f64[]@cpu 24", d = 'y * digamma(a)' },
  { 'rgamma', '1 / gamma(a), 0 at the poles of gamma', 'DLMF 5.2.1', tol = 'ULP4',
    d = '(a <= 0 & a == floor(a)) ? gamma(1 - ((a <= 0 & a == floor(a)) ? a : 0)) * (1 - 2 * remainder((a <= 0 & a == '
      .. 'floor(a)) ? a : 0, 2)) : -y * digamma((a <= 0 & a == floor(a)) ? 1 : a)' },
  { 'gammasgn', 'sign of gamma(a); NaN at the negative integers', 'DLMF 5.2.1', tol = 'EXACT',
    rules = 'none: piecewise constant' },
  { 'factorial', 'gamma(a + 1), and 0 for a < 0', 'DLMF 5.4.1', tol = 'ULP4',
    d = 'a < 0 ? 0 : y * digamma(a < 0 ? 1 : a + 1)' },
  { 'riemann_zeta', 'Riemann\'s zeta function of a real argument', 'DLMF 25.2, 25.4.1',
    rules = 'none: no closed form' },
  { 'j0', 'Bessel function of the first kind, order 0', 'DLMF 10.2.2, 10.17.3', fix = 'j0',
    example = "mc.special.j0(0)  --> f64[]@cpu 1", d = '-j1(a)' },
  { 'j1', 'Bessel function of the first kind, order 1', 'DLMF 10.2.2, 10.17.3', fix = 'j1',
    d = '(j0(a) - jv(2, a)) * 0.5' },
  { 'y0', 'Bessel function of the second kind, order 0; NaN for a < 0', 'DLMF 10.8.2, 10.17.4',
    fix = 'y0', d = '-y1(a)' },
  { 'y1', 'Bessel function of the second kind, order 1; NaN for a < 0', 'DLMF 10.8.1, 10.17.4', fix = 'y1',
    d = '(y0(a) - yv(2, a)) * 0.5' },
  { 'i0', 'modified Bessel function of the first kind, order 0', 'DLMF 10.25.2, 10.40.1', tol = 'ULP4', d = 'i1(a)' },
  { 'i1', 'modified Bessel function of the first kind, order 1', 'DLMF 10.25.2, 10.40.1', tol = 'ULP4',
    d = '(i0(a) + iv(2, a)) * 0.5' },
  { 'i0e', 'exp(-|a|) i0(a)', 'DLMF 10.25.2, 10.40.1', tol = 'ULP4',
    d = or_far('i1e(a) - sign(a) * y', '0', 'a', '-1') },
  { 'i1e', 'exp(-|a|) i1(a)', 'DLMF 10.25.2, 10.40.1', tol = 'ULP4',
    d = or_far('(i0e(a) + ive(2, a)) * 0.5 - sign(a) * y', '1', 'a', '-1') },
  { 'k0', 'modified Bessel function of the second kind, order 0; NaN for a < 0', 'DLMF 10.31.2, 10.40.2',
    tol = 'ULP4', d = '-k1(a)' },
  { 'k1', 'modified Bessel function of the second kind, order 1; NaN for a < 0', 'DLMF 10.31.1, 10.40.2', tol = 'ULP4',
    d = '(k0(a) + kv(2, a)) * -0.5' },
  { 'k0e', 'exp(a) k0(a)', 'DLMF 10.31.2, 10.40.2', tol = 'ULP4',
    d = or_far('y - k1e(a)', '0', 'a', '1') },
  { 'k1e', 'exp(a) k1(a)', 'DLMF 10.31.1, 10.40.2', tol = 'ULP4',
    d = or_far('y - (k0e(a) + kve(2, a)) * 0.5', '1', 'a', '1') },
  { 'ellipk', 'complete elliptic integral of the first kind by parameter m = k^2; NaN for m > 1', 'DLMF 19.2.8, 19.8.5',
    tol = 'ULP4', fix = 'ellipk', d = 'elliprd(0, 1, 1 - a) / 6' },
  { 'ellipkm1', 'ellipk(1 - a), accurate near m = 1', 'DLMF 19.8.5', tol = 'ULP4', fix = 'ellipkm1',
    d = 'elliprd(0, 1, a) / -6' },
  { 'ellipe', 'complete elliptic integral of the second kind by parameter m; NaN for m > 1', 'DLMF 19.2.8, 19.8.6',
    fix = 'ellipe', d = 'elliprd(0, 1 - a, 1) / -6' },
  { 'exp1', 'exponential integral E1(a) = int_a^inf exp(-t) / t dt; NaN for a < 0', 'DLMF 6.2.1', tol = 'ULP4',
    d = '-exp(-a) / a' },
  { 'expi', 'exponential integral Ei(a), principal value', 'DLMF 6.2.5', tol = 'ULP4', d = 'exp(a) / a' },
  { 'si', 'sine integral int_0^a sin(t) / t dt', 'DLMF 6.2.9', tol = 'ULP4', d = 'sinc(a / 3.141592653589793)' },
  { 'ci', 'cosine integral of |a|: gamma + log |a| + int_0^|a| (cos(t) - 1) / t dt', 'DLMF 6.2.13', d = 'cos(a) / a' },
  { 'shi', 'hyperbolic sine integral int_0^a sinh(t) / t dt', 'DLMF 6.2.15', tol = 'ULP4',
    d = 'a == 0 ? 1 : sinh(a) / (a == 0 ? 1 : a)' },
  { 'chi', 'hyperbolic cosine integral of |a|', 'DLMF 6.2.16', d = 'cosh(a) / a' },
  { 'fresnel_s', 'Fresnel integral int_0^a sin(pi t^2 / 2) dt', 'DLMF 7.2.8', tol = 'ULP4',
    d = 'sin(a * a * 1.5707963267948966)' },
  { 'fresnel_c', 'Fresnel integral int_0^a cos(pi t^2 / 2) dt', 'DLMF 7.2.7', tol = 'ULP4',
    d = 'cos(a * a * 1.5707963267948966)' },
  { 'lambertw0', 'principal real branch of Lambert\'s W, w exp(w) = a, w >= -1; NaN below -1/e',
    'DLMF 4.13; On the Lambert W function, 1996', tol = 'ULP4', d = 'exp(-y) / (1 + y)' },
  { 'lambertwm1', 'real branch of Lambert\'s W with w <= -1; NaN outside [-1/e, 0]',
    'DLMF 4.13; On the Lambert W function, 1996', tol = 'ULP4', d = 'exp(-y) / (1 + y)' },
  { 'sinc', 'sin(pi a) / (pi a)', 'NumPy sinc', tol = 'ULP4',
    d = 'spherical_jn(1, a * 3.141592653589793) * -3.141592653589793' },
  { 'entr', '-a log a; 0 at 0, -inf below', 'SciPy entr', tol = 'ULP4', d = '-log(a) - 1' },
  { 'logit', 'log(a / (1 - a)); NaN outside [0, 1]', 'definition', tol = 'ULP4', d = '1 / (a * (1 - a))' },
  { 'log_expit', 'log(1 / (1 + exp(-a))) without overflow', 'definition', tol = 'ULP4', d = 'logistic(-a)' },
})
op { 'loggamma', family = 'unary', kernels = 'special', dtypes = FC, promote = 'float', namespace = 'special',
  method = false, expr = 'loggamma(a)', tol = 'ITERATIVE',
  doc = 'log Gamma(a) on its principal branch, cut along the negative reals: lgamma for a > 0, complex elsewhere (NaN '
    .. 'for reals below 0)', source = 'DLMF 5.2, 5.7.3, 5.11.1; Computing the principal branch of log-gamma, 1997',
  rules = 'auto', d = 'digamma(a)', cd = { 'none: its derivative, digamma, takes real tensors only' } }
special('binary', {
  { 'xlogy', 'a log b, 0 where a = 0', 'SciPy xlogy', tol = 'ULP4', d = { 'log(b)', 'multiply_no_nan(1 / b, a)' } },
  { 'xlog1py', 'a log(1 + b), 0 where a = 0', 'SciPy xlog1py', tol = 'ULP4',
    d = { 'log1p(b)', 'multiply_no_nan(1 / (1 + b), a)' } },
  { 'rel_entr', 'a log(a / b); 0 where a = 0 <= b, inf outside the domain', 'SciPy rel_entr',
    d = { 'log(a / b) + 1', '-multiply_no_nan(1 / b, a)' } },
  { 'kl_div', 'a log(a / b) - a + b', 'SciPy kl_div', d = {
    'abs(a - b) < 0.5 * b ? log1p((abs(a - b) < 0.5 * b ? a - b : 0) / b) : log(a / b)', 'a == 0 ? 1 : (b - a) / b' } },
  { 'beta', 'gamma(a) gamma(b) / gamma(a + b)', 'DLMF 5.12.1',
    d = { '-y * ' .. rise('a', 'b'), '-y * ' .. rise('b', 'a') } },
  { 'betaln', 'log |beta(a, b)|', 'DLMF 5.12.1', d = { '-' .. rise('a', 'b'), '-' .. rise('b', 'a') } },
  { 'poch', 'Pochhammer\'s symbol gamma(a + b) / gamma(a)', 'DLMF 5.2.5',
    d = { 'y * ' .. rise('a', 'b'), 'y * digamma(a + b)' } },
  { 'binom', 'binomial coefficient of real a over b', 'DLMF 1.2.6', d = binomial_slopes() },
  { 'comb', 'choices of b among a; 0 outside 0 <= b <= a', 'SciPy comb, exact = False',
    example = "mc.special.comb(5, 2)  --> f64[]@cpu 10",
    d = CHOICES },
  { 'perm', 'ordered choices of b among a; 0 outside 0 <= b <= a', 'SciPy perm, exact = False', tol = 'ULP4',
    d = { CHOICES[1], 'y == 0 ? 0 : y * digamma((y == 0 ? 0 : a) - (y == 0 ? 0 : b) + 1)' } },
  { 'polygamma', 'derivative of order a = 0, 1, ... of digamma at b', 'DLMF 25.11.12',
    d = { NO_FORM, 'polygamma(a + 1, b)' } },
  { 'hurwitz_zeta', 'Hurwitz\' zeta function sum (b + k)^-a; NaN for a < 1', 'DLMF 25.11.1',
    d = { NO_FORM, '-a * hurwitz_zeta(a + 1, b)' } },
  { 'gammaincinv', 'x with gammainc(a, x) = b', 'Newton\'s method on the log-concave tail',
    example = "mc.special.gammaincinv(1, 0.5)  --> f64[]@cpu 0.69314718055995",
    d = { NO_FORM, '1 / ' .. gamma_slope 'y' } },
  { 'gammainccinv', 'x with gammaincc(a, x) = b', 'Newton\'s method on the log-concave tail',
    d = { NO_FORM, '-1 / ' .. gamma_slope 'y' } },
  { 'stdtr', 'distribution function of Student\'s t with a degrees of freedom at b',
    'DLMF 8.17; Handbook of mathematical functions, 1964, 26.7.1',
    d = { NO_FORM, 'exp(log1p(b * b / a) * (a + 1) * -0.5 - log(a) * 0.5 - betaln(a * 0.5, 0.5))' } },
  { 'stdtrit', 'quantile of Student\'s t with a degrees of freedom at probability b',
    'Handbook of mathematical functions, 1964, 26.7.1',
    d = { NO_FORM, '1 / exp(log1p(y * y / a) * (a + 1) * -0.5 - log(a) * 0.5 - betaln(a * 0.5, 0.5))' } },
  { 'jv', 'Bessel function of the first kind of real order a at b', 'DLMF 10.2, 10.17, 10.19; Temme, 1976',
    alias = { 'jn' }, example = "mc.special.jv(2, mc.tensor{0, 1})  --> f64[2]@cpu { 0.0000, 0.1149 }",
    d = { NO_FORM, '(jv(a - 1, b) - jv(a + 1, b)) * 0.5' } },
  { 'yv', 'Bessel function of the second kind of real order a at b; NaN for b < 0',
    'DLMF 10.2, 10.17, 10.19; Temme, 1976', alias = { 'yn' }, d = { NO_FORM, '(yv(a - 1, b) - yv(a + 1, b)) * 0.5' } },
  { 'iv', 'modified Bessel function of the first kind of real order a at b', 'DLMF 10.25, 10.40, 10.41; Temme, 1975',
    d = { NO_FORM, '(iv(a - 1, b) + iv(a + 1, b)) * 0.5' } },
  { 'ive', 'exp(-|b|) iv(a, b)', 'DLMF 10.25, 10.40, 10.41; Temme, 1975', d = { NO_FORM,
    or_far('(ive(a - 1, b) + ive(a + 1, b)) * 0.5 - sign(b) * y', 'a', 'b', '-1') } },
  { 'kv', 'modified Bessel function of the second kind of real order a at b; NaN for b < 0',
    'DLMF 10.25, 10.40, 10.41; Temme, 1975', alias = { 'kn' },
    d = { NO_FORM, '(kv(a - 1, b) + kv(a + 1, b)) * -0.5' } },
  { 'kve', 'exp(b) kv(a, b)', 'DLMF 10.25, 10.40, 10.41; Temme, 1975', d = { NO_FORM,
    or_far('y - (kve(a - 1, b) + kve(a + 1, b)) * 0.5', 'a', 'b', '1') } },
  { 'struve', 'Struve function H of real order a at b; NaN for b < 0 unless a is whole', 'DLMF 11.2.1, 11.6.1', d = {
    NO_FORM, '(struve(a - 1, b) - struve(a + 1, b) + pow(b * 0.5, a) * rgamma(a + 1.5) * 0.5641895835477563) * 0.5' } },
  { 'modstruve', 'modified Struve function L of real order a at b; NaN for b < 0 unless a is whole',
    'DLMF 11.2.2, 11.6.2', d = { NO_FORM,
      '(modstruve(a - 1, b) + modstruve(a + 1, b) + pow(b * 0.5, a) * rgamma(a + 1.5) * 0.5641895835477563) * 0.5' } },
  { 'spherical_jn', 'spherical Bessel function of the first kind of order a = 0, 1, ... at b',
    'DLMF 10.47.3', d = { NO_FORM,
      '((a == 0 ? 0 : a * spherical_jn(maximum(a - 1, 0), b)) - (a + 1) * spherical_jn(a + 1, b)) / (2 * a + 1)' } },
  { 'spherical_yn', 'spherical Bessel function of the second kind of order a = 0, 1, ... at b', 'DLMF 10.47.4',
    d = { NO_FORM,
      '((a == 0 ? 0 : a * spherical_yn(maximum(a - 1, 0), b)) - (a + 1) * spherical_yn(a + 1, b)) / (2 * a + 1)' } },
  { 'expn', 'exponential integral of order a = 0, 1, ...: int_1^inf exp(-b t) / t^a dt', 'DLMF 8.19',
    example = "mc.special.expn(2, 0)  --> f64[]@cpu 1",
    d = { NO_FORM, '-(a == 0 ? exp(-b) * (1 + 1 / b) / b : expn(maximum(a - 1, 0), b))' } },
  { 'owens_t', 'Owen\'s T function: probability of 0 < Y < b X, X > a of two standard normal variables',
    'Tables for computing bivariate normal probabilities, 1956',
    tol = 'ULP4', d = { 'exp(-a * a / 2) * erf(a * b * 0.7071067811865476) * -0.19947114020071635',
      'exp(-a * a * (1 + b * b) / 2) / ((1 + b * b) * 6.283185307179586)' } },
  { 'ellipkinc', 'incomplete elliptic integral of the first kind, amplitude a (rad), parameter b = k^2', 'DLMF 19.25.5',
    tol = 'ULP4', d = { '1 / sqrt(1 - b * square(sin(a)))', slope_of_f('a', 'b') } },
  { 'ellipeinc', 'incomplete elliptic integral of the second kind, amplitude a (rad), parameter b = k^2',
    'DLMF 19.25.9, 19.25.10', d = { 'sqrt(1 - b * square(sin(a)))', slope_of_e('a', 'b') } },
  { 'ellipj_sn', 'Jacobi\'s sn(a, m) for parameter m = b in [0, 1]', 'DLMF 22.20',
    d = { 'ellipj_cn(a, b) * ellipj_dn(a, b)', 'ellipj_cn(a, b) * ' .. AMPLITUDE } },
  { 'ellipj_cn', 'Jacobi\'s cn(a, m) for parameter m = b in [0, 1]', 'DLMF 22.20',
    d = { '-ellipj_sn(a, b) * ellipj_dn(a, b)', '-ellipj_sn(a, b) * ' .. AMPLITUDE } },
  { 'ellipj_dn', 'Jacobi\'s dn(a, m) for parameter m = b in [0, 1]',
    'DLMF 22.20', d = { '-b * ellipj_sn(a, b) * ellipj_cn(a, b)',
      'ellipj_sn(a, b) * (ellipj_sn(a, b) + 2 * b * ellipj_cn(a, b) * ' .. AMPLITUDE .. ') / (y * -2)' } },
  { 'ellipj_ph', 'Jacobi\'s amplitude am(a, m) for parameter m = b in [0, 1], rad', 'DLMF 22.20',
    d = { 'ellipj_dn(a, b)', AMPLITUDE } },
  { 'elliprc', 'Carlson\'s degenerate integral RC(a, b); b < 0 gives the principal value', 'DLMF 19.2.17', tol = 'ULP4',
    d = { 'b > 0 ? elliprd((b > 0 ? b : 1), (b > 0 ? b : 1), a) / -6 : (y - rsqrt(a)) / (2 * (b > 0 ? 1 : b - a))',
      'b > 0 ? elliprd(a, (b > 0 ? b : 1), (b > 0 ? b : 1)) / -3 : (sqrt(a) / b - y) / (2 * (b > 0 ? 1 : b - a))' } },
  { 'eval_legendre', 'Legendre polynomial of whole degree a at b', 'DLMF 14.10.3', alias = { 'legendre_p' },
    d = { 'none: the degree is whole', '(abs(b) == 1) ? a * (a + 1) * 0.5 * pow((abs(b) == 1) ? b : 1, a + 1) : abs(b) '
        .. '< 1 ? lpmv(1, a, (abs(b) < 1 ? b : 0)) * -rsqrt(abs(b) < 1 ? (1 - b) * (1 + b) : 1) : (a == 0 ? 0 : a * (b '
        .. '* y - eval_legendre(maximum(a - 1, 0), b))) / ((abs(b) == 1) ? 1 : b * b - 1)' } },
  { 'gamma_density', 'b^a exp(-b) / gamma(a), the common factor of densities; a > 0', 'DLMF 8.7.1',
    d = { 'y * (log(b) - digamma(a))', 'y * (a / b - 1)' } },
  { 'poisson_ppf', 'smallest k at which the Poisson distribution of mean b reaches probability a', 'DLMF 8.11',
    rules = 'none: piecewise constant' },
  { 'poisson_isf', 'smallest k whose upper tail under the Poisson distribution of mean b is at most a', 'DLMF 8.11',
    rules = 'none: piecewise constant' },
  { 'vonmises_cdf',
    'distribution function of the von Mises distribution of concentration a at b, rad; whole turns add 1',
    'quadrature of the density', d = { NO_FORM, 'exp(a * (cos(b) - 1)) / (i0e(a) * 6.283185307179586)' } },
})
special('ternary', {
  { 'betaincc', '1 - betainc(a, b, c) without cancellation', 'DLMF 8.17.4, 8.17.22',
    d = { NO_FORM, NO_FORM, '-' .. beta_slope 'c' } },
  { 'betaincinv', 'x with betainc(a, b, x) = c', 'Newton\'s method on the log-concave tail',
    d = { NO_FORM, NO_FORM, '1 / ' .. beta_slope 'y' } },
  { 'betainccinv', 'x with betaincc(a, b, x) = c', 'Newton\'s method on the log-concave tail',
    d = { NO_FORM, NO_FORM, '-1 / ' .. beta_slope 'y' } },
  { 'beta_odds', 'x / (1 - x) at x = betaincinv(a, b, c), accurate for x near 1', 'DLMF 8.17',
    d = { NO_FORM, NO_FORM, 'y / beta_density(y > 1 ? b : a, y > 1 ? a : b, (y > 1 ? 1 : y) / (1 + y))' } },
  { 'beta_oddsc', 'x / (1 - x) at x = betainccinv(a, b, c), accurate for x near 1', 'DLMF 8.17',
    d = { NO_FORM, NO_FORM, '-y / beta_density(y > 1 ? b : a, y > 1 ? a : b, (y > 1 ? 1 : y) / (1 + y))' } },
  { 'beta_density', 'c^a (1 - c)^b / beta(a, b), the common factor of densities', 'DLMF 8.17.1',
    d = { 'y * (log(c) - digamma(a) + digamma(a + b))', 'y * (log1p(-c) - digamma(b) + digamma(a + b))',
      'y * (a / c - b / (1 - c))' } },
  { 'elliprf', 'Carlson\'s symmetric integral RF(a, b, c) of the first kind', 'DLMF 19.16.1',
    example = "mc.special.elliprf(1, 1, 1)  --> f64[]@cpu 1",
    d = { 'elliprd(b, c, a) / -6', 'elliprd(a, c, b) / -6', 'elliprd(a, b, c) / -6' } },
  { 'elliprd', 'Carlson\'s symmetric integral RD(a, b, c) of the second kind', 'DLMF 19.16.5', tol = 'ULP4',
    d = { rd_first('a', 'b', 'c'), rd_first('b', 'a', 'c'),
      ('(y * -1.5 - multiply_no_nan(%s, a) - multiply_no_nan(%s, b)) / c'):format(rd_first('a', 'b', 'c'),
        rd_first('b', 'a', 'c')) } },
  { 'elliprg', 'Carlson\'s symmetric integral RG(a, b, c) of the second kind', 'DLMF 19.16.3', d = {
    'elliprf(a, b, c) / 4 - multiply_no_nan(elliprd(b, c, a), a) / 12',
    'elliprf(b, a, c) / 4 - multiply_no_nan(elliprd(a, c, b), b) / 12',
    'elliprf(c, a, b) / 4 - multiply_no_nan(elliprd(a, b, c), c) / 12',
  } },
  { 'lpmv', 'associated Legendre function of whole order a and degree b at c in [-1, 1], with the phase (-1)^a',
    'DLMF 14.7.15, 14.10.3', example = "mc.special.lpmv(1, 1, 0)  --> f64[]@cpu -1", d = { 'none: the order is whole',
      NO_FORM, '(b * c * y - (a + b) * lpmv(a, maximum(b - 1, 0), c)) / (c * c - 1)' } },
  { 'sph_legendre_p', 'associated Legendre function of degree a and order b at cos(c), normalised on the sphere',
    'DLMF 14.30.1', d = { 'none: the degree is whole', 'none: the order is whole',
      '(sqrt(maximum((a - b) * (a + b + 1), 0)) * sph_legendre_p(a, b + 1, c) - sqrt(maximum((a + b) * (a - b + 1), '
        .. '0)) * sph_legendre_p(a, b - 1, c)) * (sin(c) < 0 ? -0.5 : 0.5)' } },
  { 'binom_ppf', 'smallest k at which the binomial distribution of b trials with chance c reaches probability a',
    'DLMF 8.17.5', rules = 'none: piecewise constant' },
  { 'binom_isf', 'smallest k whose upper tail under the binomial distribution of b trials with chance c is at most a',
    'DLMF 8.17.5', rules = 'none: piecewise constant' },
  { 'nbinom_ppf',
    'smallest k at which the negative binomial distribution of b successes with chance c reaches probability a',
    'DLMF 8.17.5', rules = 'none: piecewise constant' },
  { 'nbinom_isf',
    'smallest k whose upper tail under the negative binomial distribution of b successes with chance c is at most a',
    'DLMF 8.17.5', rules = 'none: piecewise constant' },
})
for _, r in ipairs {
  { 'zeta', nin = 2, doc = 'zeta function of Riemann (s) or Hurwitz (s, q)', source = 'DLMF 25.2.1, 25.11.1' },
  { 'sici', nout = 2, doc = 'sine and cosine integrals', source = 'DLMF 6.2.9, 6.2.13' },
  { 'shichi', nout = 2, doc = 'hyperbolic sine and cosine integrals', source = 'DLMF 6.2.15, 6.2.16' },
  { 'fresnel', nout = 2, doc = 'Fresnel integrals S and C', source = 'DLMF 7.2.7, 7.2.8' },
  { 'ellipj', nin = 2, nout = 4, results = { 'sn', 'cn', 'dn', 'ph' },
    doc = 'Jacobi\'s elliptic functions and amplitude', source = 'DLMF 22.20' },
  { 'lambertw', params = { { 'k', { 0, -1 }, 0 } }, doc = 'real branches of Lambert\'s W',
    source = 'On the Lambert W function, 1996; DLMF 4.13' },
  { 'sph_harm_y', nin = 4, doc = 'spherical harmonic of degree n and order m at polar angle theta and azimuth phi',
    source = 'DLMF 14.30.1', work = 6.1 },
} do
  r.family, r.module, r.namespace, r.method, r.dtypes, r.promote, r.tol, r.rules = 'lua', 'mascon.special', 'special',
    false, FLOAT, 'float', 'ITERATIVE', 'auto'
  op(r)
end
