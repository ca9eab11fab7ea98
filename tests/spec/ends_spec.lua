-- ends_spec.lua - values at the ends of the range, where formulas underflow, cancel or meet their poles. Truth: mpmath
-- at 50 digits, exact fractions.
local mc = require 'mascon'
local F, S = mc, mc.special
local INF, NAN = 1 / 0, 0 / 0

local function near(expected, t, rel)
  local v = type(t) == 'number' and t or t:item()
  if expected ~= expected then return assert.is_true(v ~= v) end
  if expected == v then return end
  assert.is_true(math.abs(v - expected) <= (rel or 4e-15) * math.abs(expected),
    ('expected %.17g, got %.17g'):format(expected, v))
end

describe('at the ends of the range', function()
  it('betainc and betaincinv hold below 1e-290', function()
    near(3.6066345115633774e-150, S.betainc(0.5, 3, 3.7e-300))
    near(7.4e-292, S.betainc(1, 2, 3.7e-292))
    near(0.0006091474524304836, S.betainc(0.01, 0.01, 3.7e-292))
    near(1.85e-300, S.betaincinv(1, 2, 3.7e-300))
    near(0, S.betaincinv(0.01, 0.01, 3.7e-295))
    near(0.5, S.betainc(1e-300, 1e-300, 0.5))
  end)

  it('digamma, polygamma and zeta hold just below their poles', function()
    for _, x in ipairs { 1e-10, 1e-16, 1e-17, 1e-300 } do near(1 / x - 0.5772156649015329, S.digamma(-x)) end
    near(1e34, S.polygamma(1, -1e-17))
    near(-1e51, S.zeta(3, -1e-17))
  end)

  it('logarithms of distribution functions keep the digits of the other tail', function()
    near(-7.9674951427322e-29, mc.stats.binom.logcdf(98, 100, 0.5), 1e-12)
    near(-1.1026577904466e-15, mc.stats.t.logcdf(1e5, 3), 1e-12)
    near(-5.3414715652449e-25, mc.stats.gamma.logcdf(60, 2), 1e-12)
    near(-math.exp(-50), mc.stats.expon.logcdf(50))
    near(-math.exp(-50) / 2, mc.stats.laplace.logsf(-50))
  end)

  it('densities hold far out and at infinity', function()
    near(-2 * math.log(1e160) - math.log(math.pi), mc.stats.cauchy.logpdf(1e160))
    near(math.log(1 / (1.09 * math.pi)), mc.stats.cauchy.logpdf(0.3))
    near(-1840.8717386675, mc.stats.t.logpdf(1e200, 3), 1e-12)
    near(0, mc.stats.poisson.pmf(INF, 3))
    near(-INF, mc.stats.nbinom.logpmf(INF, 3, 0.5))
  end)

  it('floor_divide is the floor of the exact quotient beyond 2^52', function()
    near(5671626269655153, F.floor_divide(5.6716262696551536e-185, 1e-200), 0)
    near(-7138539159465416, F.floor_divide(-7.138539159465415e+215, 1e200), 0)
    near(-1.6607842796694172e+16, F.floor_divide(-2.4911764195041256e+16, 1.5), 0)
  end)

  it('complex atan, atanh and expm1 have the special values of the array API', function()
    local function parts(z) return mc.real(z):item(), mc.imag(z):item() end
    for _, z in ipairs { mc.atanh(mc.complex(1e300, NAN)), mc.atanh(mc.complex(NAN, 1e300)),
      mc.atan(mc.complex(NAN, 1e300)) } do
      local re, im = parts(z)
      assert.is_true(re ~= re and im ~= im)
    end
    local re, im = parts(mc.atanh(mc.complex(NAN, INF)))
    assert.same({ 0, true }, { math.abs(re), math.abs(im - math.pi / 2) < 1e-15 })
    assert.equal(INF, 1 / parts(mc.expm1(mc.complex(-0.0, 0))))
  end)
end)

describe('derivatives', function()
  it('of cummax and cummin share ties as max does', function()
    local x, w = mc.tensor { 1, 3, 2, 3, 3, 1, 5, 5 }, mc.tensor { 1, 2, 4, 8, 16, 32, 64, 128 }
    local g = mc.grad(function(t) return mc.sum(mc.cummax(t, 1) * w) end)(x)
    assert.is_true(mc.allclose(g, mc.tensor { 1, 26, 0, 20, 16, 0, 128, 64 }))
    g = mc.grad(function(t) return mc.sum(mc.cummin(t, { axis = 1, reverse = true }) * w) end)(x)
    assert.is_true(mc.allclose(g, mc.tensor { 0.5, 0, 0, 0, 0, 62.5, 32, 160 }))
  end)

  it('of densities are 0 outside their support', function()
    near(0, mc.grad(function(b) return S.gamma_density(2, b) end)(mc.tensor(-1.0)))
    near(0, mc.grad(function(c) return S.beta_density(2, 3, c) end)(mc.tensor(1.5)))
  end)

  it('of the normalised Legendre function turn round where the sine is negative', function()
    near(0.4174096841010137, mc.grad(function(t) return S.sph_legendre_p(2, 1, t) end)(mc.tensor(-0.5)), 1e-13)
  end)
end)
