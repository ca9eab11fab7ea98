-- stats_spec.lua - distributions, descriptive and circular statistics, ranks, tests and their correction in
-- mascon.stats.
--
-- Golden answers are SciPy's, the normal distribution mpmath's (tests/golden/README.md); the rest are laws and cases
-- small enough to count by hand.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local tol = support.load 'tol'
local stats = mc.stats

local file
local function golden()
  file = file or mc.load(support.folder .. '/golden/ops_stats.npz')
  return file
end

local function list(t)
  if type(t) == 'number' then return { t } end
  return t:reshape { -1 }:totable()
end

-- every element within `factor` eps of its own size
local function close(want, got, factor)
  local w, g = list(want), list(got)
  assert.are.equal(#w, #g)
  local dtype = got.dtype
  for i = 1, #w do
    local bad = tol.compare('ITERATIVE', dtype, g[i], w[i],
      { bound = (factor or 4) * math.max(tol.kind[dtype].eps * math.abs(w[i]), tol.kind[dtype].tiny) })
    if bad then error(('element %d: %s'):format(i, bad), 2) end
  end
end
local function exact(want, got)
  local w, g = list(want), list(got)
  assert.are.equal(#w, #g)
  for i = 1, #w do
    if w[i] ~= g[i] and (w[i] == w[i] or g[i] == g[i]) then
      error(('element %d: got %.17g, want %.17g'):format(i, g[i], w[i]), 2)
    end
  end
end
local function fails(text, f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok)
  assert.is_truthy(message:find(text, 1, true), message)
end
local NAN = 0 / 0

describe('stats.norm_cdf', function()
  it('is right to the last digits in both tails', function()
    local g = golden()
    close(g.norm_cdf, stats.norm_cdf(g.norm_q))
    close(g.norm_sf, stats.norm_sf(g.norm_q))
  end)

  it('has its limits, keeps NaN and sums to 1 with the other tail', function()
    exact(mc.tensor { 0, 0.5, 1 }, stats.norm_cdf(mc.tensor { -math.huge, 0, math.huge }))
    exact(mc.tensor { 1, 0.5, 0 }, stats.norm_sf(mc.tensor { -math.huge, 0, math.huge }))
    assert.is_true(mc.isnan(stats.norm_cdf(mc.tensor(NAN))):item())
    local x = mc.linspace(-6, 6, 101)
    close(mc.ones { 101 }, stats.norm_cdf(x) + stats.norm_sf(x), 1)
    close(stats.norm_cdf((x - 3) / 2), stats.norm_cdf(x, { mean = 3, std = 2 }))
    close(stats.norm_cdf(x):to 'f32', stats.norm_cdf(x:to 'f32'), 64) -- x^2 eps: the argument is rounded
  end)

  it('has the density as its slope', function()
    local x, h = mc.linspace(-3, 3, 13), 1e-5
    local slope = (stats.norm_cdf(x + h) - stats.norm_cdf(x - h)) / (2 * h)
    assert.is_true(mc.allclose(slope, stats.norm_pdf(x), { rtol = 1e-8 }))
    close(stats.norm_pdf(mc.tensor(1)) / 2, stats.norm_pdf(mc.tensor(5), { mean = 3, std = 2 }))
  end)
end)

describe('stats.norm_ppf', function()
  it('is right to the last digits from 1e-300 on', function()
    local g = golden()
    close(g.norm_ppf, stats.norm_ppf(g.norm_p))
  end)

  it('undoes norm_cdf and has its limits', function()
    exact(mc.tensor { -math.huge, 0, math.huge, NAN, NAN, NAN },
      stats.norm_ppf(mc.tensor { 0, 0.5, 1, -1e-9, 1.1, NAN }))
    local p = mc.exp(mc.linspace(-600, -0.8, 300))
    close(p, stats.norm_cdf(stats.norm_ppf(p)), 4 * 35 ^ 2) -- the relative error of p is x^2 times that of x
    exact(-stats.norm_ppf(p), stats.norm_isf(p))
    close(mc.tensor { 3 }, stats.norm_ppf(mc.tensor { 0.5 }, { mean = 3, std = 2 }))
    local single = mc.linspace(0.001, 0.999, 99):to 'f32'
    exact(stats.norm_ppf(single:to 'f64'):to 'f32', stats.norm_ppf(single))
  end)

  it('shares its digits with erfinv', function()
    local g = golden()
    close(g.erfinv, mc.erfinv(g.erfinv_x))
    exact(mc.tensor { -math.huge, 0, math.huge, NAN }, mc.erfinv(mc.tensor { -1, 0, 1, 1.5 }))
  end)
end)

describe('stats.chi2_sf, t_sf and f_sf', function()
  it('give what SciPy gives', function()
    local g = golden()
    -- exponents of size 1e2 (40 degrees, 1e-27) cost as many eps
    for _, k in ipairs { 1, 2, 5, 30 } do
      close(g['chi2_sf_' .. k], stats.chi2_sf(g.dist_x, k), 200)
      close(g['t_sf_' .. k], stats.t_sf(g.dist_x, k), 200)
      close(g[('f_sf_%d_7'):format(k)], stats.f_sf(g.dist_x, k, 7), 200)
      close(g['gammainc_' .. k], mc.gammainc(k, g.dist_x), 200)
    end
    close(g.betainc_2_3, mc.betainc(2, 3, mc.linspace(0, 1, 9)), 16)
    close(g.gammaln, mc.lgamma(g.dist_x['2:']), 4)
    close(g.digamma, mc.digamma(g.dist_x['2:']), 64)
  end)

  it('sum to 1 with the other tail', function()
    local x = mc.linspace(0.1, 60, 50)
    local one = mc.ones { 50 }
    close(one, stats.chi2_sf(x, 9) + stats.chi2_cdf(x, 9), 4)
    close(one, stats.f_sf(x, 3, 9) + stats.f_cdf(x, 3, 9), 4)
    close(one, stats.t_sf(x, 9) + stats.t_cdf(x, 9), 4)
    exact(stats.t_sf(-x, 9), stats.t_cdf(x, 9))
  end)

  it('meet their relatives', function()
    local x = mc.linspace(0.1, 8, 20)
    close(stats.norm_sf(x) * 2, stats.chi2_sf(x * x, 1), 400)
    close(stats.t_sf(x, 5) * 2, stats.f_sf(x * x, 1, 5), 64)
    close(stats.chi2_sf(x, 2), mc.exp(-x / 2), 64)
    assert.is_true(mc.allclose(stats.t_sf(x, 1e9), stats.norm_sf(x), { rtol = 1e-5, atol = 0 }))
  end)

  it('are NaN outside their domain', function()
    exact(mc.tensor { NAN, NAN, NAN }, mc.concat { stats.chi2_sf(mc.tensor { 1 }, 0), stats.t_sf(mc.tensor { 1 }, -1),
      mc.betainc(1, 1, mc.tensor { 1.5 }) })
  end)
end)

describe('stats.zscore', function()
  it('gives what SciPy gives', function()
    local g = golden()
    close(g.zscore, stats.zscore(g.s_x), 64)
    close(g.zscore_1, stats.zscore(g.s_x, { correction = 1 }), 64)
  end)

  it('leaves mean 0 and deviation 1 on its axis', function()
    local z = stats.zscore(mc.randn { 4, 50, seed = 1 } * 3 + 7, { axis = 2 })
    assert.is_true(mc.allclose(z:mean(2), mc.zeros { 4 }, { atol = 1e-13 }) and mc.allclose(z:std(2), mc.ones { 4 }))
    assert.is_true(mc.all(mc.isnan(stats.zscore(mc.ones { 3 }))))
    fails('did you mean "axis"', stats.zscore, mc.ones { 3 }, { axes = 1 })
  end)

  it('takes the axis alone, as mc.median does, and so do its siblings', function()
    local x, y = mc.rand { 3, 7, seed = 2 }, mc.rand { 3, 7, seed = 3 }
    for _, name in ipairs { 'zscore', 'sem', 'mad', 'iqr', 'gmean', 'hmean', 'mode', 'rankdata', 'circmean', 'circ_r',
      'circvar', 'circstd', 'fdr_bh', 'fdr_by', 'bonferroni', 'holm', 'rayleigh' } do
      local f = stats[name]
      for axis = 1, 2 do
        local a, b = (f(x, { axis = axis })), (f(x, axis))
        if name == 'rayleigh' then a, b = a.pvalue, b.pvalue end
        assert.is_true(mc.array_equal(a, b), name)
      end
    end
    for _, axis in ipairs { 1, 2 } do
      assert.is_true(mc.array_equal(stats.moment(x, 3, { axis = axis }), stats.moment(x, 3, axis)))
      assert.is_true(mc.array_equal(stats.trim_mean(x, 0.2, { axis = axis }), stats.trim_mean(x, 0.2, axis)))
      for _, name in ipairs { 'pearsonr', 'spearmanr', 'ttest_rel', 'ttest_ind' } do
        local a, b = stats[name](x, y, { axis = axis }), stats[name](x, y, axis)
        assert.is_true(mc.array_equal(a.pvalue, b.pvalue), name)
      end
      assert.is_true(mc.array_equal(stats.ttest_1samp(x, 0.4, { axis = axis }).pvalue,
        stats.ttest_1samp(x, 0.4, axis).pvalue))
    end
    local both = stats.sem(x, 2, { keepdim = true, correction = 0 })
    assert.is_true(mc.array_equal(both, stats.sem(x, { axis = 2, keepdim = true, correction = 0 })))
    local map, surrogates = mc.rand { 4, seed = 4 }, mc.rand { 4, 9, seed = 5 }
    assert.is_true(mc.array_equal(stats.p_empirical(map, surrogates, { axis = 2 }),
      stats.p_empirical(map, surrogates, 2)))
    assert.is_true(mc.array_equal(stats.surrogate_z(map, surrogates, { axis = 2 }).z,
      stats.surrogate_z(map, surrogates, 2).z))
  end)
end)

describe('stats.sem, mad, iqr, skew and kurtosis', function()
  it('give what SciPy gives', function()
    local g = golden()
    local x = g.s_x
    close(g.sem, stats.sem(x), 8)
    close(g.mad, stats.mad(x), 4)
    close(g.iqr, stats.iqr(x), 8)
    close(g.skew_kurtosis, mc.stack { stats.skew(x), stats.kurtosis(x), stats.skew(x, { bias = false }),
      stats.kurtosis(x, { bias = false }) }, 64)
  end)

  it('work along axes', function()
    local x = mc.randn { 3, 40, 2, seed = 2 }
    for _, f in ipairs { 'sem', 'mad', 'iqr', 'skew', 'kurtosis' } do
      local y = stats[f](x, { axis = 2 })
      assert.are.same({ 3, 2 }, { y:size() })
      close(stats[f](x[{ 2, mc.all, 1 }]), y[{ 2, 1 }], 64)
      assert.are.same({ 3, 1, 2 }, { stats[f](x, { axis = 2, keepdim = true }):size() })
    end
    close(stats.mad(x) / 0.6744897501960817, stats.mad(x, { scale = 'normal' }))
  end)

  it('count by hand', function()
    exact(1, stats.mad(mc.tensor { 1, 2, 3, 4, 100 }))
    exact(2, stats.iqr(mc.tensor { 1, 2, 3, 4, 100 }))
    close(math.sqrt(2.5 / 5), stats.sem(mc.tensor { 1, 2, 3, 4, 5 }))
  end)
end)

describe('stats.fdr_bh', function()
  it('gives what SciPy gives, as do fdr_by, holm and bonferroni', function()
    local g = golden()
    for _, f in ipairs { 'fdr_bh', 'fdr_by', 'holm', 'bonferroni' } do close(g[f], stats[f](g.fdr_in), 4) end
  end)

  it('counts by hand', function()
    local p = mc.tensor { 0.04, 0.01, 0.5, 0.02 }
    close(mc.tensor { 0.16 / 3, 0.04, 0.5, 0.04 }, stats.fdr_bh(p), 2)
    close(mc.tensor { 0.08, 0.04, 0.5, 0.06 }, stats.holm(p), 2)
    close(mc.tensor { 0.16, 0.04, 1, 0.08 }, stats.bonferroni(p), 2)
    exact(mc.tensor { 0.3 }, stats.fdr_by(mc.tensor { 0.3 }))
    exact(mc.zeros { 0 }, stats.fdr_bh(mc.zeros { 0 }))
  end)

  it('keeps shape, order and families apart', function()
    local p = mc.rand { 5, 7, seed = 3 }
    local all = stats.fdr_bh(p)
    assert.are.same({ 5, 7 }, { all:size() })
    exact(stats.fdr_bh(p:reshape { 35 }), all)
    local order = p:reshape({ 35 }):argsort()
    assert.is_true(mc.all(mc.ge(mc.diff(all:reshape({ 35 }):take(order)), 0)))
    exact(stats.holm(p[3]), stats.holm(p, { axis = 2 })[3])
    exact(stats.holm(p['..., 4']), stats.holm(p, { axis = 1 })['..., 4'])
    assert.are.equal('f32', stats.fdr_by(p:to 'f32').dtype)
  end)

  it('refuses what is no probability', function()
    fails('stats.fdr_bh: a p-value is outside [0, 1] or NaN', stats.fdr_bh, mc.tensor { 0.1, 1.2 })
    fails('outside [0, 1] or NaN', stats.holm, mc.tensor { 0.1, NAN })
  end)
end)

describe('stats.p_empirical', function()
  local s = mc.tensor { { 1, 5 }, { 2, 6 }, { 3, 7 } }

  it('counts surrogates at or beyond the value, plus one', function()
    exact(mc.tensor { 0.75, 1 }, stats.p_empirical(mc.tensor { 2, 5 }, s))
    exact(mc.tensor { 0.75, 0.5 }, stats.p_empirical(mc.tensor { 2, 5 }, s, { tail = 'less' }))
    exact(mc.tensor { 0.25, 1 }, stats.p_empirical(mc.tensor { 9, 1 }, s))
    exact(mc.tensor { 0.5, 1 }, stats.p_empirical(mc.tensor { 9, 6 }, s, { tail = 'two-sided' }))
    exact(mc.tensor { NAN, 1 }, stats.p_empirical(mc.tensor { NAN, 1 }, s))
    exact(mc.tensor { 0.75, 1 }, stats.p_empirical(mc.tensor { 2, 5 }, s.T, { axis = 2 }))
  end)

  it('is uniform under the null', function()
    local draws = mc.randn { 100, 4000, seed = 4 }
    local p = stats.p_empirical(draws[1], draws['2:, :'])
    assert.is_nil(tol.stat(mc.le(p, 0.05):to('f64'):mean():item(), 0.05, math.sqrt(0.05 * 0.95 / 4000)))
  end)

  it('names both shapes when they differ', function()
    fails('map f64[3]@cpu and surrogates f64[3,2]@cpu do not match', stats.p_empirical, mc.zeros { 3 }, s)
    fails('there are none', stats.p_empirical, mc.zeros { 2 }, mc.zeros { 0, 2 })
  end)
end)

describe('stats.p_maxstat', function()
  local s = mc.tensor { { 1, 5 }, { 2, 6 }, { 3, 7 } } -- maxima 5 6 7, minima 1 2 3

  it('compares with the extreme of each surrogate map', function()
    exact(mc.tensor { 0.75, 0.25 }, stats.p_maxstat(mc.tensor { 6, 8 }, s))
    exact(mc.tensor { 0.25, 0.5 }, stats.p_maxstat(mc.tensor { 0, 1 }, s, { tail = 'less' }))
    exact(mc.tensor { 0.75, 0.25 }, stats.p_maxstat(mc.tensor { -6, 8 }, s, { tail = 'two-sided' }))
    exact(mc.tensor { NAN, 1 }, stats.p_maxstat(mc.tensor { NAN, 1 }, s))
    exact(mc.tensor { 0.25, 0.75 }, stats.p_maxstat(mc.tensor { 6, 6 }, s, { map_axes = {} }))
  end)

  it('corrects families apart', function()
    local x, k = mc.randn { 2, 5, seed = 5 }, mc.randn { 40, 2, 5, seed = 6 }
    local apart = stats.p_maxstat(x, k, { map_axes = 2 })
    for i = 1, 2 do exact(stats.p_maxstat(x[i], k[{ mc.all, i }]), apart[i]) end
  end)

  it('standardises each place by its own spread when asked', function()
    local k = mc.randn { 99, 2, seed = 8 } * mc.tensor { 1, 100 }
    local x = mc.tensor { 8, 0 }
    assert.is_true(stats.p_maxstat(x, k)[1]:item() > 0.3)
    exact(mc.tensor { 0.01 }, stats.p_maxstat(x, k, { standardise = true })['1:1'])
    exact(mc.tensor { 0.01 }, stats.p_maxstat(-x, k, { standardise = true, tail = 'less' })['1:1'])
  end)

  it('holds the rate of any false positive', function()
    local n = 300
    local draws = mc.randn { n, 100, 20, seed = 7 }
    local p = stats.p_maxstat(draws[{ mc.all, 1 }], draws[{ mc.all, { 2, 100 } }], { axis = 2, map_axes = 2 })
    local rate = mc.le(p:min(2), 0.1):to('f64'):mean():item()
    assert.is_nil(tol.stat(rate, 0.1, math.sqrt(0.09 / n)))
  end)
end)

describe('stats.surrogate_z', function()
  it('standardises and marks maps without spread', function()
    local r = stats.surrogate_z(mc.tensor { 5, 1 }, mc.tensor { { 1, 1 }, { 3, 1 } })
    exact(mc.tensor { 3, NAN }, r.z)
    exact(mc.tensor { 2, 1 }, r.mean)
    exact(mc.tensor { 1, 0 }, r.std)
    assert.are.equal(2, r.n)
    close(mc.tensor { 3 / math.sqrt(2) },
      stats.surrogate_z(mc.tensor { 5 }, mc.tensor { { 1 }, { 3 } }, { correction = 1 }).z)
    fails('give two or more', stats.surrogate_z, mc.tensor { 5 }, mc.tensor { { 1 } })
  end)
end)

describe('stats.circmean', function()
  it('gives what SciPy gives, as do circvar and circstd', function()
    local g = golden()
    close(g.circmean, stats.circmean(g.angles, { axis = 2, low = -math.pi, high = math.pi }), 16)
    close(g.circvar, stats.circvar(g.angles, { axis = 2 }), 16)
    close(g.circstd, stats.circstd(g.angles, { axis = 2 }), 16)
  end)

  it('averages across the wrap, in any unit, with weights', function()
    close(10, stats.circmean(mc.tensor { 350, 20, 10 + 360, 0 }, { high = 360 }) + 5, 64)
    close(stats.circmean(mc.tensor { 1, 1, 2 }),
      stats.circmean(mc.tensor { 1, 2 }, { weights = mc.tensor { 2, 1 } }), 8)
    close(stats.circ_r(mc.tensor { 1, 1, 2 }), stats.circ_r(mc.tensor { 1, 2 }, { weights = mc.tensor { 2, 1 } }), 8)
    local m = stats.circmean(mc.tensor { -1e-20 }):item()
    assert.is_true(m >= 0 and m < 2 * math.pi)
    fails('high must be larger', stats.circmean, mc.tensor { 1 }, { low = 5, high = 5 })
  end)

  it('relates R, variance and deviation', function()
    local x = mc.randn { 3, 30, seed = 8 }
    local r = stats.circ_r(x, { axis = 2 })
    close(1 - r, stats.circvar(x, { axis = 2 }), 1)
    close(mc.sqrt(mc.log(r) * -2), stats.circstd(x, { axis = 2 }), 8)
    exact(mc.tensor { 0 }, stats.circstd(mc.tensor { 0, 0, 0 }):reshape { 1 })
  end)
end)

describe('stats.rayleigh', function()
  it('is the formula of Zar and gives uniform p-values under the null', function()
    local x = mc.tensor { 0.1, 0.5, 1.2, 0.3, 6.1, 0.9, 2.0, 5.9, 0.4, 0.7 }
    local n, r = 10, stats.circ_r(x):item()
    local t = stats.rayleigh(x)
    close(n * r * r, t.statistic, 8)
    close(math.exp(math.sqrt(1 + 4 * n + 4 * (n * n - (n * r) ^ 2)) - (1 + 2 * n)), t.pvalue, 256)
    local p = stats.rayleigh(mc.rand { 3000, 40, seed = 9 } * (2 * math.pi), { axis = 2 }).pvalue
    assert.is_nil(tol.stat(mc.le(p, 0.05):to('f64'):mean():item(), 0.05, math.sqrt(0.05 * 0.95 / 3000)))
  end)

  it('takes counts as weights', function()
    local a = stats.rayleigh(mc.tensor { 1, 1, 1, 2, 4 })
    local b = stats.rayleigh(mc.tensor { 1, 2, 4 }, { weights = mc.tensor { 3, 1, 1 } })
    close(a.pvalue, b.pvalue, 16)
  end)
end)

describe('stats.rankdata', function()
  it('gives what SciPy gives for every rule of ties', function()
    local g = golden()
    for _, m in ipairs { 'average', 'min', 'max', 'dense', 'ordinal' } do
      exact(g['rank_' .. m]:to 'f64', stats.rankdata(g.rank_in, { method = m }))
    end
  end)

  it('counts by hand', function()
    local x = mc.tensor { 3, 1, 3, 3, 2 }
    exact(mc.tensor { 4, 1, 4, 4, 2 }, stats.rankdata(x))
    exact(mc.tensor { 3, 1, 3, 3, 2 }, stats.rankdata(x, { method = 'min' }))
    exact(mc.tensor { 5, 1, 5, 5, 2 }, stats.rankdata(x, { method = 'max' }))
    exact(mc.tensor { 3, 1, 3, 3, 2 }, stats.rankdata(x, { method = 'dense' }))
    exact(mc.tensor { 3, 1, 4, 5, 2 }, stats.rankdata(x, { method = 'ordinal' }))
    exact(mc.tensor { 1 }, stats.rankdata(mc.tensor { 7 }))
  end)

  it('ranks along an axis, spoiled only where a NaN is', function()
    local x = mc.tensor { { 3, 1, 2 }, { 1, NAN, 1 } }
    exact(mc.tensor { { 3, 1, 2 }, { NAN, NAN, NAN } }, stats.rankdata(x, { axis = 2 }))
    exact(mc.tensor { { 2, NAN, 2 }, { 1, NAN, 1 } }, stats.rankdata(x, { axis = 1 }))
  end)
end)

describe('stats.pearsonr', function()
  it('gives what SciPy gives, as does spearmanr', function()
    local g = golden()
    local r, s = stats.pearsonr(g.s_x, g.s_y), stats.spearmanr(g.s_x, g.s_y)
    close(g.pearson, mc.stack { r.statistic, r.pvalue }, 64)
    close(g.spearman, mc.stack { s.statistic, s.pvalue }, 64)
  end)

  it('is 1 on a line, NaN without spread, and safe from overflow', function()
    local x = mc.arange(1, 20)
    exact(mc.tensor { 1 }, stats.pearsonr(x * 1e200, x * 3 - 7).statistic:reshape { 1 })
    exact(mc.tensor { -1 }, stats.spearmanr(x, mc.exp(-x)).statistic:reshape { 1 })
    exact(NAN, stats.pearsonr(x, x * 0).statistic)
    exact(1, stats.pearsonr(mc.tensor { 1, 2 }, mc.tensor { 5, 3 }).pvalue)
    fails('give at least 2', stats.pearsonr, mc.tensor { 1 }, mc.tensor { 1 })
    fails('their numbers differ', stats.pearsonr, mc.tensor { 1, 2 }, mc.tensor { 1, 2, 3 })
  end)

  it('broadcasts other axes', function()
    local x, y = mc.randn { 4, 30, seed = 10 }, mc.randn { 30, seed = 11 }
    local all = stats.pearsonr(x, y)
    for i = 1, 4 do
      close(stats.pearsonr(x[i], y).statistic, all.statistic[i], 8)
      close(stats.pearsonr(x[i], y).pvalue, all.pvalue[i], 64)
    end
  end)
end)

describe('stats.cov and corrcoef', function()
  it('give what NumPy gives', function()
    local g = golden()
    close(g.cov, stats.cov(g.angles), 64)
    close(g.corrcoef, stats.corrcoef(g.angles), 64)
  end)

  it('put variances on the diagonal', function()
    local x = mc.randn { 2, 3, 40, seed = 12 }
    local c = stats.cov(x)
    assert.are.same({ 2, 3, 3 }, { c:size() })
    close(x:var { -1, correction = 1 }, mc.stack { c['..., 1, 1'], c['..., 2, 2'], c['..., 3, 3'] }.T:copy(), 16)
    close(stats.cov(x[1]), stats.cov(x[1].T, { axis = 1 }), 16)
    fails('give more than 1 of them', stats.cov, mc.zeros { 3, 1 })
  end)
end)

describe('stats.ttest_1samp, ttest_rel and ttest_ind', function()
  it('give what SciPy gives', function()
    local g = golden()
    local x, y = g.s_x, g.s_y
    for name, r in pairs {
      ttest_1 = stats.ttest_1samp(x, 0.2), ttest_ind = stats.ttest_ind(x, y), ttest_rel = stats.ttest_rel(x, y),
      welch_t = stats.ttest_ind(x, y['1:20'], { equal_var = false }),
    } do
      close(g[name], mc.stack { r.statistic, r.pvalue }, 128)
    end
  end)

  it('hold their level', function()
    local x, y = mc.randn { 4000, 8, seed = 13 }, mc.randn { 4000, 12, seed = 14 }
    for _, p in ipairs { stats.ttest_ind(x, y).pvalue, stats.ttest_ind(x, y, { equal_var = false }).pvalue,
      stats.ttest_1samp(x, 0).pvalue } do
      assert.is_nil(tol.stat(mc.le(p, 0.05):to('f64'):mean():item(), 0.05, math.sqrt(0.05 * 0.95 / 4000)))
    end
    fails('give at least 2', stats.ttest_ind, mc.zeros { 1 }, mc.zeros { 5 })
  end)
end)
