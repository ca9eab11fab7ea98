-- xpcs_data_spec.lua - data of a fit from tensors: what they are made of, what is refused and what is said.
local mc = require 'mascon'
local xpcs = mc.xpcs

describe('xpcs.data.of', function()
  local s = xpcs.simulate { n = 20, phi = { 0, 45, 90 }, seed = 2, sigma = 0.02 }
  local function with(more)
    local o = { c2 = s.c2, phi = s.phi, t = s.t, q = s.q, dt = s.dt }
    for k, v in pairs(more) do o[k] = v ~= mc.none and v or nil end
    return o
  end
  teardown(function() s = nil end)

  it('refuses what it does not know and what does not fit, and says what to give', function()
    for _, case in ipairs {
      { { sigmas = 0.1 }, 'option "sigmas" is unknown; did you mean "sigma"?' },
      { { phi = mc.none }, 'phi is missing; give the angles, deg' },
      { { t = mc.none }, 't is missing; give the times, s' },
      { { c2 = mc.none }, 'c2 is missing; give the matrices, a tensor [angles, n, n]' },
      { { c2 = s.c2[1] }, 'c2 is f64[20,20]@cpu; the matrices must be [angles, n, n]' },
      { { phi = { 0, 45 } }, 'phi holds 2 values; give 3 finite numbers, one per matrix' },
      { { phi = { 0, 45, 0 / 0 } }, 'phi[3] is nan; give 3 finite numbers, one per matrix' },
      { { t = mc.arange(1, 19) }, 't holds 19 values; give 20 finite numbers, one per row of a matrix' },
      { { n = 21 }, 'n is 21 and the matrices are [20, 20]' },
      { { sigma = { 0.1, 0.2 } }, 'sigma holds 2 values; give 3 finite numbers, one per matrix' },
      { { sigma = 0.1, sigma_c2 = s.c2 }, 'sigma (per angle) and sigma_c2 (per point) are both given' },
      { { sigma_c2 = mc.ones { 2, 20, 20 } }, 'sigma is f64[2, 20, 20]; give [20, 20] for all angles' },
      { { sigma_c2 = s.c2 * -1 }, '190 of the 190 values of sigma of matrix 1 are not positive and finite' },
      { { mask = mc.ones { 20 } }, 'mask is f64[20]; give [20, 20] for all angles' },
      { { dtype = 'f16' }, 'option dtype is \'f16\'; choose f64, f32' },
      { { q = -1 }, 'option q is -1; it must be number > 0' },
      { { c2 = s.c2:to 'ref' }, 'c2 is f64[3,20,20]@ref:0; the points are packed on the CPU, give c2:to "cpu"' },
      { { mask = mc.ones({ 20, 20 }):to 'ref' }, 'the points are packed on the CPU, give mask:to "cpu"' },
      { { t = s.t:to 'ref' }, 'the points are packed on the CPU, give t:to "cpu"' },
    } do
      local ok, why = pcall(xpcs.data.of, with(case[1]))
      assert.is_false(ok, case[2])
      assert.truthy(tostring(why):find('xpcs', 1, true), why)
      assert.truthy(tostring(why):find(case[2], 1, true), why)
    end
    assert.has_error(function() xpcs.data.of() end)
    local ok, why = pcall(xpcs.data.new, { n = 20 })
    assert.is_false(ok)
    assert.matches('xpcs.data.new: phi is nil; give a list of angles, deg', why)
    ok, why = pcall(xpcs.data.new, { phi = { 0 }, q = 0.01 })
    assert.is_true(not ok and why:find('n is nil; give the number of times', 1, true) ~= nil, why)
    ok, why = pcall(xpcs.data.new, { phi = { 0 }, n = 9, c2 = mc.ones { 1, 9, 9 } })
    assert.is_true(not ok and why:find('takes no matrices; mc.xpcs.data.of does', 1, true) ~= nil, why)
  end)

  it('takes standard deviations per angle, which a fit uses unless it has its own', function()
    assert.same({ 0.02, 0.02, 0.02 }, xpcs.data.of(with { sigma = 0.02 }).sigma)
    assert.same({ 0.01, 0.02, 0.04 }, xpcs.data.of(with { sigma = mc.tensor { 0.01, 0.02, 0.04 } }).sigma)
    local told, silent = xpcs.fit(xpcs.data.of(with { sigma = 0.02 })), xpcs.fit(xpcs.data.of(with {}))
    assert.is_false(told.sigma_is_default)
    assert.is_true(silent.sigma_is_default)
    assert.near(silent.chi2 / 4, told.chi2, 1e-9 * told.chi2)
    assert.is_nil(xpcs.simulate { n = 5, sigma = 0 }.sigma) -- data without noise have none
  end)

  it('takes one mask and one sigma for all angles, where neither triangle excludes a point', function()
    local m = mc.ones { 20, 20 }
    m[{ 3, 9 }], m[{ 12, 5 }] = 0, 0
    local d = xpcs.data.of(with { mask = m })
    assert.equal(3 * (190 - 2), d.points)
    for f, case in ipairs { { 9, 3, true }, { 5, 12, true }, { 5, 13, false } } do
      assert.equal(case[3], mc.isnan(d:matrix(f)[{ case[1], case[2] }]):item())
    end
    local one = xpcs.data.of(with { sigma_c2 = mc.full({ 20, 20 }, 0.05) })
    for f = 1, 3 do assert.near(0.05, one.sigma[f], 1e-12) end
  end)

  it('says which triangle counts where the two differ', function()
    local c = s.c2:copy()
    c[{ 2, 15, 4 }] = 7
    local d = xpcs.data.of(with { c2 = c })
    assert.matches('1 of 3 matrices are not symmetric .*the upper triangle counts', d.warnings[1])
    assert.equal(s.c2[{ 2, 4, 15 }]:item(), d:matrix(2)[{ 15, 4 }]:item())
    assert.same({}, xpcs.data.of(s).warnings)
    -- rounding to f32 is no difference, a thousandth is one
    assert.same({}, xpcs.data.of(with { c2 = s.c2 + mc.triu(s.c2 * 1e-7, 1) }).warnings)
    assert.equal(1, #xpcs.data.of(with { c2 = s.c2 + mc.triu(s.c2 * 1e-3, 1) }).warnings)
  end)
end)
