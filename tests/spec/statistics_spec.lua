-- statistics_spec.lua - quantiles, histograms, covariances, sets along axes and the statistics of samples: laws and
-- messages.
--
-- Golden answers stand in cases_stat and cases_order. Random inputs print their seed when a law fails.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local tol = support.load 'tol'
local NAN = 0 / 0
local SEEDS = support.gc and { 1 } or { 1, 2, 3, 4, 5 }

local function same(want, got)
  assert.equal(want.dtype, got.dtype)
  assert.equal(tostring(want.shape), tostring(got.shape))
  assert.is_true(mc.array_equal(want, got, { equal_nan = true }))
end
local function close(want, got, n)
  local w, g = want:reshape { -1 }:totable(), got:reshape { -1 }:totable()
  assert.equal(#w, #g)
  for i = 1, #w do
    local wrong = tol.compare('ACCUM', got.dtype, g[i], w[i], { n = n, scale = math.max(1, math.abs(w[i])) })
    if wrong then error(('element %d: %s'):format(i, wrong), 2) end
  end
end
local function fails(pattern, f) assert.matches('statistics_spec%.lua:%d+: ' .. pattern, support.message(f)) end
local function i64(v) return mc.tensor(v, { dtype = 'i64' }) end
-- a law for several seeds
local function law(f)
  for _, seed in ipairs(SEEDS) do
    local ok, message = pcall(f, seed)
    if not ok then error(('seed %d: %s'):format(seed, tostring(message)), 2) end
  end
end

describe('quantile', function()
  it('of equal weights, or of weights that count, is that of the repeated sample', function()
    law(function(seed)
      local x, times = mc.randn({ 30 }, { seed = seed }), mc.randint(0, 4, { 30 }, { seed = seed + 10 })
      local list = {}
      for i = 1, 30 do for _ = 1, times[i]:item() do list[#list + 1] = x[i]:item() end end
      for _, q in ipairs { 0, 0.1, 0.5, 0.9, 1 } do
        assert.equal(mc.quantile(mc.tensor(list), q, { method = 'inverted_cdf' }):item(),
          mc.quantile(x, q, { weights = times }):item())
        assert.equal(mc.quantile(x, q, { method = 'inverted_cdf' }):item(),
          mc.quantile(x, q, { weights = mc.ones { 30 } }):item())
      end
    end)
  end)

  it('takes axes like a reduction, many probabilities and tensors of them', function()
    local x = mc.randn({ 4, 5, 6 }, { seed = 1 })
    same(mc.quantile(x, 0.3, { axis = { 1, 3 } }), mc.quantile(x, 0.3, { 1, 3 }))
    same(mc.quantile(x, 0.3, { axis = 2, keepdim = true }), mc.quantile(x, 0.3, 2, { keepdim = true }))
    local q = mc.linspace(0, 1, 33)
    local y = mc.quantile(x, q, 2)
    assert.same({ 33, 4, 6 }, { y.shape[1], y.shape[2], y.shape[3] })
    for i = 1, 33, 8 do same(mc.quantile(x, q[i]:item(), 2), y[i]) end
    same(y, mc.percentile(x, q * 100, 2))
    same(x:min(2), y[1])
    same(x:max(2), y[33])
  end)

  it('leaves NaN out where asked, weights too', function()
    local x, w = mc.tensor { { 1, NAN, 3 }, { NAN, NAN, NAN } }, mc.tensor { 1, 5, 1 }
    same(mc.tensor { 1, NAN }, mc.nanquantile(x, 0.5, 2, { weights = w }))
    same(mc.tensor { NAN, NAN }, mc.quantile(x, 0.5, 2, { weights = w }))
    same(mc.tensor { 2, NAN }, mc.nanmedian(x, 2))
  end)

  it('explains mistakes', function()
    local x = mc.zeros { 2, 3 }
    fails('quantile: q%[1%] is 2; it must lie in %[0, 1%]', function() mc.quantile(x, 2) end)
    fails('percentile: q%[2%] is 101; it must lie in %[0, 100%]', function() mc.percentile(x, { 1, 101 }) end)
    fails("quantile: method linear knows no weights; choose 'inverted_cdf'",
      function() mc.quantile(x, 0.5, { weights = x, method = 'linear' }) end)
    fails('quantile: weights are f64%[4%]@cpu and x is f64%[2,3%]@cpu; give one weight',
      function() mc.quantile(x, 0.5, { weights = mc.zeros { 4 } }) end)
    fails('quantile: a weight is negative or NaN', function() mc.quantile(x, 0.5, { weights = x - 1 }) end)
    fails('nanquantile: option method is .lin.; choose', function() mc.nanquantile(x, 0.5, { method = 'lin' }) end)
    fails('quantile: axis 3 is outside f64%[2,3%]', function() mc.quantile(x, 0.5, { axis = 3 }) end)
    fails('quantile: nothing to order in f64%[0%]', function() mc.quantile(mc.zeros { 0 }, 0.5) end)
  end)
end)

describe('histogram', function()
  it('counts every number inside once, whatever the bins', function()
    law(function(seed)
      local x = mc.randn({ 500 }, { seed = seed })
      for _, bins in ipairs { 1, 7, 'auto', 'fd', 'doane', 'scott', 'rice', 'sturges', 'sqrt' } do
        local h, e = mc.histogram(x, { bins = bins })
        assert.equal(500, h:sum():item())
        assert.equal(h.shape[1] + 1, e.shape[1])
        same(h, (mc.histogram(x, { bins = e })))
        close(mc.tensor(1), (mc.histogram(x, { bins = bins, density = true }) * (e['2:'] - e[':-2'])):sum(), 500)
      end
    end)
  end)

  it('of pairs adds up to those of either', function()
    law(function(seed)
      local x, y = mc.randn({ 300 }, { seed = seed }), mc.rand({ 300 }, { seed = seed })
      local r = mc.histogram2d(x, y, { bins = { 6, 9 } })
      same((mc.histogram(x, { bins = r.x_edges })), r.counts:sum(2))
      same((mc.histogram(y, { bins = r.y_edges })), r.counts:sum(1))
      same(r.counts, (mc.histogramdd(mc.stack({ x, y }, 2), { bins = { 6, 9 } })))
      local w = mc.histogram2d(x, y, { bins = { 6, 9 }, weights = mc.full({ 300 }, 0.5) }).counts
      same(r.counts:to 'f64' / 2, w)
    end)
  end)

  it('agrees with digitize', function()
    local x, e = mc.randn({ 200 }, { seed = 3 }), mc.linspace(-4, 4, 9)
    same((mc.histogram(x, { bins = e })), mc.bincount(mc.digitize(x, e) - 1, { minlength = 8 }))
    same(mc.digitize(x, e), 9 - mc.digitize(x, mc.flip(e), { right = true }))
  end)

  it('leaves NaN and infinities out of given bins', function()
    local x = mc.tensor { 0.5, NAN, mc.inf, -mc.inf, 1.5 }
    same(i64 { 1, 1 }, (mc.histogram(x, { bins = { 0, 1, 2 } })))
    fails('histogram: range {nan, nan} is not finite', function() mc.histogram(x) end)
  end)

  it('explains mistakes', function()
    local x = mc.randn({ 10 }, { seed = 1 })
    fails('histogram: the rule .scot. is unknown; choose auto.*did you mean "scott"',
      function() mc.histogram(x, { bins = 'scot' }) end)
    fails('histogram: edges do not rise', function() mc.histogram(x, { bins = { 2, 1, 3 } }) end)
    fails('histogram: bins must hold at least two edges', function() mc.histogram(x, { bins = mc.tensor { 1 } }) end)
    fails('histogram: range {3, 1} is not finite and ordered', function() mc.histogram(x, { range = { 3, 1 } }) end)
    fails('histogram: the rule auto knows no weights', function() mc.histogram(x, { bins = 'auto', weights = x }) end)
    fails('histogram: weights are f64%[3%]@cpu and x is f64%[10%]',
      function() mc.histogram(x, { weights = mc.zeros { 3 } }) end)
    fails('histogramdd: x is f64%[10%]@cpu; give points %[n, d%]', function() mc.histogramdd(x) end)
    fails('histogram2d: x is f64%[10%]@cpu and y is f64%[2%]', function() mc.histogram2d(x, mc.zeros { 2 }) end)
    fails('digitize: bins neither rise nor fall', function() mc.digitize(x, { 1, 3, 2 }) end)
    fails('histogram: x is c128', function() mc.histogram(mc.tensor { mc.complex(1, 2) }) end)
  end)
end)

describe('cov and corrcoef', function()
  it('do not change when a constant is added, and scale with the square', function()
    law(function(seed)
      local x = mc.randn({ 4, 50 }, { seed = seed })
      close(mc.cov(x), mc.cov(x + 1e3), 1e5)
      close(mc.cov(x) * 9, mc.cov(x * 3), 50)
      close(mc.corrcoef(x), mc.corrcoef(x * 3 + 7), 1e4)
      close(mc.var(x, 2, { correction = 1 }), mc.diag(mc.cov(x)):copy(), 50)
      same(mc.ones { 4 }, mc.diag(mc.corrcoef(x)):copy():round())
    end)
  end)

  it('take counts as repeated samples', function()
    local x, f = mc.randn({ 2, 5 }, { seed = 4 }), i64 { 1, 0, 3, 2, 1 }
    local at = i64 { 1, 3, 3, 3, 4, 4, 5 }
    close(mc.cov(mc.take(x, at, 2)), mc.cov(x, { fweights = f }), 50)
  end)

  it('explain mistakes', function()
    fails('cov: samples are f64%[2,1%]@cpu; give more than 1 of them', function() mc.cov(mc.zeros { 2, 1 }) end)
    fails('cov: aweights are f64%[2%]@cpu; give one for each of the 3 samples',
      function() mc.cov(mc.zeros { 2, 3 }, { aweights = mc.ones { 2 } }) end)
    fails('cov: fweights are negative', function() mc.cov(mc.zeros { 2, 2 }, { fweights = { -1, 1 } }) end)
    fails('average: weights add up to 0', function() mc.average(mc.ones { 2 }, { weights = { 1, -1 } }) end)
    fails('cov: samples are f64%[%]@cpu; give %[variables, samples%]', function() mc.cov(1) end)
  end)
end)

describe('unique', function()
  it('rebuilds x from its values, in ascending order', function()
    law(function(seed)
      local x = mc.randint(0, 2, { 40, 3 }, { seed = seed })
      local r = mc.unique(x, { axis = 1 })
      same(x, mc.take(r.values, r.inverse_indices, 1))
      same(r.values, mc.take(x, r.indices, 1))
      assert.equal(40, r.counts:sum():item())
      local code = r.values[{ mc.all, 1 }] * 9 + r.values[{ mc.all, 2 }] * 3 + r.values[{ mc.all, 3 }]
      assert.is_true(mc.all(mc.gt(code['2:'], code[':-2'])))
      same(mc.permute_dims(r.values, { 2, 1 }):copy(), mc.unique(x.T, { axis = 2 }).values)
      local flat = mc.unique(x)
      same(mc.sort(x:flatten()), mc.take(flat.values, mc.sort(flat.inverse_indices)))
    end)
  end)

  it('tells NaN apart and takes -0 for 0', function()
    assert.same({ 2, 1, 1 }, mc.unique(mc.tensor { 0, NAN, -0.0, NAN }).counts:totable())
    assert.equal(2, mc.unique(mc.tensor { { 1, NAN }, { 1, NAN } }, { axis = 1 }).counts:numel())
  end)

  it('takes complex numbers, booleans and nothing', function()
    local z = mc.tensor { mc.complex(1, 2), mc.complex(0, 5), mc.complex(1, 1), mc.complex(1, 2) }
    same(mc.tensor { mc.complex(0, 5), mc.complex(1, 1), mc.complex(1, 2) }, mc.unique(z).values)
    same(i64 { 1, 2 }, mc.unique(mc.tensor { true, false, true }).counts)
    assert.equal(0, mc.unique(mc.zeros { 0 }).values:numel())
    fails('unique: slices of f64%[3,0%]@cpu along axis 1 are empty',
      function() mc.unique(mc.zeros { 3, 0 }, { axis = 1 }) end)
    fails('unique: axis 3 is outside', function() mc.unique(mc.zeros { 3, 1 }, { axis = 3 }) end)
  end)

  it('unique_consecutive keeps the order', function()
    law(function(seed)
      local x = mc.randint(0, 1, { 60 }, { seed = seed })
      local r = mc.unique_consecutive(x)
      same(x, mc.take(r.values, r.inverse_indices))
      assert.equal(60, r.counts:sum():item())
      assert.is_true(mc.all(mc.ne(r.values['2:'], r.values[':-2'])))
    end)
  end)
end)

describe('isin', function()
  it('agrees with a loop', function()
    law(function(seed)
      local x, s = mc.randint(0, 30, { 50 }, { seed = seed }), mc.randint(0, 30, { 12 }, { seed = seed + 9 })
      local want, set = {}, {}
      for _, v in ipairs(s:totable()) do set[v] = true end
      for i, v in ipairs(x:totable()) do want[i] = set[v] or false end
      assert.same(want, mc.isin(x, s):totable())
      assert.same(want, mc.isin(x:to 'f32', s):totable())
    end)
  end)
end)

describe('reduceat', function()
  it('joins consecutive pieces, empty ones too', function()
    local x = mc.tensor { 1, 2, 3, 4, 5 }
    same(mc.tensor { 3, 0, 12 }, mc.reduceat(x, i64 { 1, 3, 3 }))
    same(mc.tensor { 2, -mc.inf, 5 }, mc.reduceat(x, i64 { 1, 3, 3 }, { reduce = 'max' }))
    same(mc.tensor { 14 }, mc.reduceat(x, i64 { 2 }))
    same(mc.tensor { 14 }, mc.reduceat(x, i64 { 1 }, { base = 0 }))
    fails('reduceat: offsets do not rise inside an axis of size 5', function() mc.reduceat(x, i64 { 3, 1 }) end)
    fails('reduceat: offsets are f64', function() mc.reduceat(x, { 1, 2.5 }) end)
  end)
end)

describe('statistics of samples', function()
  it('mode, trim_mean and ranks do not depend on the order of the sample', function()
    law(function(seed)
      local x = mc.randint(0, 5, { 3, 40 }, { seed = seed }):to 'f64'
      local p = mc.argsort(mc.rand({ 40 }, { seed = seed }))
      local y = mc.take(x, p, 2)
      same((mc.stats.mode(x, { axis = 2 })), (mc.stats.mode(y, { axis = 2 })))
      close(mc.stats.trim_mean(x, 0.2, { axis = 2 }), mc.stats.trim_mean(y, 0.2, { axis = 2 }), 40)
      same(mc.take(mc.stats.rankdata(x, { axis = 2 }), p, 2), mc.stats.rankdata(y, { axis = 2 }))
      close(mc.tensor(40 * 41 / 2), mc.stats.rankdata(x[1]):sum(), 1)
    end)
  end)

  it('say NaN where the sample has one', function()
    local x = mc.tensor { { 1, 2, NAN }, { 4, 4, 5 } }
    local v, n = mc.stats.mode(x, { axis = 2 })
    same(mc.tensor { NAN, 4 }, v)
    same(i64 { 1, 2 }, n)
    same(mc.tensor { NAN, 13 / 3 }, mc.stats.trim_mean(x, 0.1, { axis = 2 }))
    assert.is_true(mc.isnan(mc.stats.skew(x)):item() and mc.isnan(mc.stats.skew(mc.ones { 5 })):item())
  end)

  it('explain mistakes', function()
    fails('stats.trim_mean: share is 0.5; it must lie in %[0, 0.5%)',
      function() mc.stats.trim_mean(mc.ones { 3 }, 0.5) end)
    fails('stats.mode: nothing to count in f64%[0%]', function() mc.stats.mode(mc.zeros { 0 }) end)
    fails('stats.moment: k is %-1', function() mc.stats.moment(mc.ones { 3 }, -1) end)
    fails('skew: not defined for c128', function() mc.stats.skew(mc.zeros({ 3 }, { dtype = 'c128' })) end)
    fails('stats.moment: x is c128', function() mc.stats.moment(mc.zeros({ 3 }, { dtype = 'c128' }), 3) end)
  end)
end)

describe('comparisons', function()
  it('isclose takes infinities exactly and NaN on request', function()
    local a = mc.tensor { mc.inf, mc.inf, NAN, 1 }
    assert.same({ true, false, false, true }, mc.isclose(a, mc.tensor { mc.inf, 5, NAN, 1 + 1e-9 }):totable())
    assert.same({ false, false, false, false },
      mc.isclose(mc.tensor { 5, 5, 5, 5 }, mc.tensor { mc.inf, -mc.inf, NAN, 6 }):totable())
    assert.is_true(mc.allclose(a, a, { equal_nan = true }))
    assert.is_false(mc.allclose(a, a))
  end)

  it('nan_to_num keeps integers and halves', function()
    same(i64 { 1 }, mc.nan_to_num(i64 { 1 }))
    same(mc.tensor({ 65504 }, { dtype = 'f16' }), mc.nan_to_num(mc.tensor({ mc.inf }, { dtype = 'f16' })))
  end)
end)
