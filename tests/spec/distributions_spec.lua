-- distributions_spec.lua - the tables of distributions in mascon.stats against SciPy, their tails, laws and messages.
--
-- Answers of SciPy stand in tests/golden/distributions.npz; the functions below have their own accuracy in
-- special_spec.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local stats = mc.stats
local NAN, INF = 0 / 0, math.huge

local golden = mc.load(support.folder .. '/golden/distributions.npz')

local CONTINUOUS = { norm = 0, t = 1, chi2 = 1, f = 2, beta = 2, gamma = 1, expon = 0, lognorm = 1, weibull_min = 1,
  uniform = 0, cauchy = 0, laplace = 0, logistic = 0, vonmises = 1 }
local DISCRETE = { binom = 2, poisson = 1, nbinom = 2, geom = 1, hypergeom = 3 }

local function close(want, got, rtol, what)
  local ok = mc.allclose(got, want, { rtol = rtol, atol = 0, equal_nan = true })
  if not ok then
    local w, g = want:totable(), got:totable()
    for i = 1, #w do
      if not (math.abs(w[i] - g[i]) <= rtol * math.abs(w[i])) and not (w[i] ~= w[i] and g[i] ~= g[i])
        and w[i] ~= g[i] then
        error(('%s, element %d: want %.17g, got %.17g'):format(what, i, w[i], g[i]), 0)
      end
    end
  end
end

describe('distribution', function()
  for name, shapes in pairs(CONTINUOUS) do
    it(name .. ' gives what SciPy gives, location and scale included', function()
      local d, par = stats[name], {}
      for k = 1, shapes do par[k] = golden[('%s_s%d'):format(name, k)] end
      par[shapes + 1] = { loc = 0.5, scale = 2 }
      for _, kind in ipairs { 'cdf', 'sf', 'pdf', 'logpdf', 'ppf', 'isf' } do
        local want = golden[name .. '_' .. kind]
        if want then
          close(want, d[kind](golden[name .. ((kind == 'ppf' or kind == 'isf') and '_p' or '_x')], unpack(par)), 2e-11,
            name .. '.' .. kind)
        end
      end
    end)
  end
  for name, shapes in pairs(DISCRETE) do
    it(name .. ' gives what SciPy gives', function()
      local d, par = stats[name], {}
      for k = 1, shapes do par[k] = golden[('%s_s%d'):format(name, k)] end
      for _, kind in ipairs { 'cdf', 'sf', 'pmf', 'logpmf', 'ppf', 'isf' } do
        close(golden[name .. '_' .. kind], d[kind](golden[name .. ((kind == 'ppf' or kind == 'isf') and '_p' or '_x')],
          unpack(par)), 2e-11, name .. '.' .. kind)
      end
    end)
  end
end)

describe('every distribution', function()
  local SHAPES = { t = { 4.5 }, chi2 = { 3 }, f = { 5, 7 }, beta = { 2.5, 0.7 }, gamma = { 1.7 }, lognorm = { 0.6 },
    weibull_min = { 1.4 }, vonmises = { 2 },
    binom = { 12, 0.3 }, poisson = { 4.2 }, nbinom = { 3.5, 0.4 }, geom = { 0.3 }, hypergeom = { 30, 12, 9 } }
  local function each(f)
    for name in pairs(CONTINUOUS) do f(name, stats[name], SHAPES[name] or {}, false) end
    for name in pairs(DISCRETE) do f(name, stats[name], SHAPES[name], true) end
  end

  it('has tails that sum to 1 and quantiles that invert them', function()
    local p = mc.linspace(0.001, 0.999, 101)
    each(function(name, d, s, discrete)
      if not rawget(d, 'ppf') then return end
      local x, y = d.ppf(p, unpack(s)), d.isf(p, unpack(s))
      if discrete then
        assert.is_true((d.cdf(x, unpack(s)):ge(p)):all(), name)
        assert.is_true(mc.logical_or(d.cdf(x - 1, unpack(s)):lt(p), mc.eq(d.pmf(x - 1, unpack(s)), 0)):all(), name)
        assert.is_true((d.sf(y, unpack(s)):le(p)):all(), name)
      else
        close(p, d.cdf(x, unpack(s)), 1e-11, name .. ' cdf(ppf)')
        close(p, d.sf(y, unpack(s)), 1e-11, name .. ' sf(isf)')
      end
      close(mc.ones { 101 }, d.cdf(x, unpack(s)) + d.sf(x, unpack(s)), 1e-13, name .. ' cdf + sf')
      close(mc.log(d.cdf(x, unpack(s))), d.logcdf(x, unpack(s)), 1e-9, name .. ' logcdf')
    end)
  end)

  it('has a density that is the slope of its distribution function, or sums to 1', function()
    each(function(name, d, s, discrete)
      if discrete then
        local k = mc.arange(0, 400)
        assert.is_true(math.abs(d.pmf(k, unpack(s)):sum():item() - 1) < 1e-12, name)
        close(d.pmf(k, unpack(s)):cumsum(1)['1:20'], d.cdf(k, unpack(s))['1:20'], 1e-11, name)
        assert.equal(0, d.pmf(1.5, unpack(s)):item())
        assert.equal(d.cdf(2, unpack(s)):item(), d.cdf(2.7, unpack(s)):item())
      else
        local x, h = mc.linspace(0.15, 0.85, 30), 1e-6
        local slope = (d.cdf(x + h, unpack(s)) - d.cdf(x - h, unpack(s))) / (2 * h)
        assert.is_true(mc.allclose(slope, d.pdf(x, unpack(s)), { rtol = 1e-7, atol = 1e-9 }), name)
        close(mc.log(d.pdf(x, unpack(s))), d.logpdf(x, unpack(s)), 1e-9, name)
      end
    end)
  end)

  it('is NaN for probabilities and shapes outside their domain, and keeps NaN', function()
    each(function(name, d, s)
      for _, x in ipairs { NAN } do
        local y = d.cdf(x, unpack(s)):item()
        assert.is_true(y ~= y, name)
      end
      if rawget(d, 'ppf') then
        for _, p in ipairs { -0.1, 1.1, NAN } do
          local y = d.ppf(p, unpack(s)):item()
          assert.is_true(y ~= y, name .. ' ppf')
        end
      end
      if s[1] then
        local bad = { unpack(s) }
        bad[1] = -1
        for _, x in ipairs { -3, 0.5 } do
          local y = d.cdf(x, unpack(bad)):item()
          assert.is_true(y ~= y, name .. ' shape')
        end
      end
    end)
    local y = stats.norm.cdf(1, { scale = -1 }):item()
    assert.is_true(y ~= y)
  end)

  it('keeps f32, broadcasts shapes and gives 0 and 1 beyond the support', function()
    assert.equal('f32', stats.gamma.cdf(mc.ones({ 3 }, { dtype = 'f32' }), 2).dtype)
    local y = stats.chi2.sf(mc.tensor { { 1 }, { 2 } }, mc.tensor { 1, 2, 3 })
    assert.same({ 2, 3 }, { y.shape[1], y.shape[2] })
    for _, d in ipairs { stats.expon, stats.uniform } do
      assert.equal(0, d.cdf(-1):item())
      assert.equal(1, d.sf(-1):item())
      assert.equal(0, d.pdf(-1):item())
      assert.equal(-INF, d.logpdf(-1):item())
    end
    assert.equal(1, stats.beta.cdf(2, 2, 3):item())
    assert.equal(1, stats.binom.cdf(12, 12, 0.5):item())
    assert.equal(-1, stats.poisson.ppf(0, 2):item())
  end)
end)

describe('the tails', function()
  it('are exact where 1 - cdf would be 0', function()
    local function near(want, got) assert.is_true(math.abs(got:item() / want - 1) < 1e-12, tostring(got)) end
    near(1.1285884059538405e-19, stats.norm.sf(9))
    near(math.exp(-100), stats.expon.sf(100))
    near(1 / (1 + 1e20), stats.f.sf(1e20, 2, 2))
    near(math.exp(-50), stats.chi2.sf(100, 2))
    near(1e-30, stats.uniform.cdf(1e-30))
    near(0.5 ^ 60, stats.binom.sf(59, 60, 0.5))
  end)
end)

describe('messages', function()
  it('name the function and what is wrong', function()
    assert.matches('stats.t.cdf: df is missing; give a tensor or a number', support.message(stats.t.cdf, 1))
    assert.matches('stats.t.cdf: df is missing; the arguments are x, df and options',
      support.message(stats.t.cdf, 1, { loc = 2 }))
    assert.matches('stats.norm.cdf: option mean is unknown',
      (support.message(stats.norm.cdf, 1, { mean = 2 }):gsub('"', '')))
    assert.matches('stats.norm.pdf: the value is c128.*give real numbers',
      support.message(stats.norm.pdf, mc.tensor { mc.complex(1, 1) }))
    assert.matches('stats.poisson.pmf: option scale is unknown',
      (support.message(stats.poisson.pmf, 1, 2, { scale = 2 }):gsub('"', '')))
  end)
end)
