-- special_large_spec.lua - incomplete beta functions and counting distributions of huge parameters: right, and at once.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local tol = support.load 'tol'
local special, stats = mc.special, mc.stats

describe('betainc of huge parameters', function()
  it('is what the exponent with 80 digits says', function()
    -- erfc of the root of the exponent, and a third of the skewness beside it (mpmath); the next term is of order 1 / n
    local a, b, x = 5.637329456620453e+24, 2.0292521287198082e+23, 0.9652540472383055
    tol.below(math.abs(special.betaincc(a, b, x):item() / 3.59692325087e-103 - 1), 1e-11, 'tail')
    assert.equal(1, special.betainc(a, b, x):item())
    for _, n in ipairs { 1e16, 1e100, 1e200, 1e308 } do
      assert.equal(0.5, special.betainc(n, n, 0.5):item())
      assert.equal(0.5, special.betaincc(n, n, 0.5):item())
    end
    assert.equal(1, special.betainc(1e200, 1e200, 0.5 + 2 ^ -52):item())
    assert.equal(0, special.betainc(1e200, 1e200, 0.5 - 2 ^ -53):item())
    assert.equal(0, special.betainc(1e200, 5, 0.5):item())
    tol.below(math.abs(special.betainc(5, 1e200, 5e-200):item() / special.gammainc(5, 5):item() - 1), 1e-12,
      'gamma limit')
  end)

  it('is the incomplete gamma function where one of them is beyond all measure', function()
    -- mpmath, 60 digits
    for _, c in ipairs {
      { 3, 1e308, 1e-308, 0.080301397071394181, 0.91969860292860582 },
      { 0.5, 1e308, 1e-308, 0.84270079294971485, 0.15729920705028515 },
      { 3, 1e250, 1e-250, 0.080301397071394191, 0.91969860292860581 },
      { 1000, 1e307, 1e-304, 0.50420524418021497, 0.49579475581978503 },
      { 3, 1e100, 2e-99, 0.99999954448504944, 4.5551495055892098e-7 },
    } do
      local a, b, x = c[1], c[2], c[3]
      local what = ('(%g, %g, %g)'):format(a, b, x)
      tol.below(math.abs(special.betainc(a, b, x):item() / c[4] - 1), 1e-15, 'betainc' .. what)
      tol.below(math.abs(special.betaincc(a, b, x):item() / c[5] - 1), 1e-15, 'betaincc' .. what)
    end
    assert.equal(1, special.betainc(1e308, 2, 1 - 1e-16):item() + special.betaincc(1e308, 2, 1 - 1e-16):item())
  end)

  it('has no step where the normal limit takes over, and keeps its digits before', function()
    for _, r in ipairs { 1, 0.2, 30 } do
      for _, z in ipairs { -5, -1, 0.5, 4 } do
        local p = {}
        for i, a in ipairs { 0.9e15, 1.1e15 } do
          local b = a * r
          if r < 1 then a, b = a / r, a end
          local x0 = a / (a + b)
          local x = x0 + z * math.sqrt(x0 * (1 - x0) / (a + b))
          local d = (x - x0) / math.sqrt(x0 * (1 - x0) / (a + b))
          p[i] = special.betainc(a, b, x):item() / special.ndtr(d):item()
        end
        tol.below(math.abs(p[1] / p[2] - 1), 3e-6, ('ratio %g, z %g'):format(r, z))
      end
    end
  end)
end)

describe('counting distributions of huge parameters', function()
  it('have quantiles at their normal limit', function()
    for _, n in ipairs { 1e15, 1e18, 1e25 } do
      for _, q in ipairs { 0.3, 1e-9, 0.999 } do
        local z = special.ndtri(q):item()
        local coarse = 2 + n * 2 ^ -52 / math.sqrt(n) -- numbers that there are lie this far apart
        tol.below(math.abs((stats.binom.ppf(q, n, 0.5):item() - n / 2) / math.sqrt(n / 4) - z),
          1e-6 + coarse * 2 ^ -20 + n ^ 0.5 * 2 ^ -50, 'binom')
        tol.below(math.abs((stats.nbinom.ppf(q, n, 0.25):item() - 3 * n) / math.sqrt(12 * n) - z),
          1e-6 + coarse * 2 ^ -20 + n ^ 0.5 * 2 ^ -50, 'nbinom')
      end
    end
    for _, n in ipairs { 1e100, 1e200, 1e300 } do
      tol.below(math.abs(stats.binom.ppf(0.3, n, 0.5):item() / (n / 2) - 1), 1e-15, 'binom')
      tol.below(math.abs(stats.nbinom.ppf(0.3, n, 0.25):item() / (3 * n) - 1), 1e-15, 'nbinom')
      assert.equal(1, stats.binom.cdf(0.6 * n, n, 0.5):item())
      assert.equal(0, stats.nbinom.cdf(2 * n, n, 0.25):item())
    end
  end)
end)
