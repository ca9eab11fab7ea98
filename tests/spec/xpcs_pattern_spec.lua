-- xpcs_pattern_spec.lua - a model that misses what all angles share is told so, with sigma and without; noise is not.
local mc = require 'mascon'
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local speckle = support.load 'speckle'
local xpcs = mc.xpcs

local PHI = { -80, -50, -20, 10, 40, 70 }

--- Two relaxations, fast and slow, with independent noise.
local function two(seed, phi)
  phi = phi or PHI
  local function one(D0)
    return xpcs.simulate { n = 60, q = 0.0085, dt = 0.08, phi = phi, physics = { D0, 0, 0 }, sigma = 0, contrast = 1,
      offset = 0 }
  end
  local a, b = one(1.1e5), one(3500)
  local g1 = (mc.sqrt(mc.maximum(a.c2, 0)) + mc.sqrt(mc.maximum(b.c2, 0))) * 0.5
  local e = mc.triu(mc.randn({ #phi, 60, 60 }, { seed = seed }), 1) * 0.01
  return xpcs.data.of { c2 = g1 * g1 * 0.3 + 1 + e + e.mT, phi = phi, t = a.t, q = 0.0085, dt = 0.08 }
end

local function words(r) return table.concat(r.verdict.sentences, '\n') end

describe('residuals with a pattern that all angles share', function()
  it('are said first where sigma tests nothing, and beside a misfit', function()
    local d = two(1)
    local r = xpcs.fit(d, {})
    assert.matches('the model misses something that all angles share; look at the residual maps', r.verdict.conclusion)
    assert.equal('marginal', r.quality_flag)
    assert.matches('at lags of [%d.]+ to [%d.]+ s in the %a+ third of the run their mean is', words(r))
    assert.matches('pattern that the angles share', words(xpcs.fit(d, { sigma = 0.01 })))
    local g1 = function(p, t1, t2) return mc.exp(-p.rate * (t2 - t1)) end
    local own = xpcs.model_file.fit(d, { g1 = g1, p0 = { rate = 0.5 }, units = { rate = '1/s' } }, {})
    assert.matches('pattern that the angles share', words(own))
    local joint = xpcs.joint.fit({ d, two(2) }, {})
    assert.matches('Data set %d: Residuals have a pattern', words(joint))
  end)

  it('are found in three angles, by all ranges together', function()
    local r = xpcs.fit(two(1, { -80, -20, 40 }), { scaling = 'averaged', rescue = false })
    assert.is_true(r.pattern.chance < 1e-9)
    assert.matches('the model misses something', r.conclusion)
  end)

  it('are none of independent noise, nor of speckle', function()
    for seed = 1, 5 do
      local s = xpcs.simulate { n = 30, q = 0.0085, dt = 0.1, phi = PHI, physics = { 3000, -0.2, 100 }, sigma = 0.01,
        seed = seed }
      assert.is_false(xpcs.fit(xpcs.data.of(s), { scaling = 'averaged' }).pattern.improbable)
      local d = speckle.data { n = 30, dt = 0.5, q = 0.01, phi = PHI, physics = { 300, 0, 0 }, pixels = 300, modes = 2,
        seed = seed }
      local r = xpcs.fit(d, { scaling = 'averaged', fixed = { alpha = 0, D_offset = 0 } })
      assert.is_false(r.pattern.improbable)
      local few = speckle.data { n = 30, dt = 0.5, q = 0.01, phi = { -80, -20, 40 }, physics = { 300, 0, 0 },
        pixels = 300, modes = 2, seed = seed }
      r = xpcs.fit(few, { scaling = 'averaged', fixed = { alpha = 0, D_offset = 0 }, rescue = false })
      assert.is_true(r.pattern.chance > 1e-3)
    end
  end)

  it('take opposite and equal angles as one: their speckle is the same', function()
    local new = require('workflows.xpcs.judge.pattern').new
    assert.is_nil(new({ 0, 180, 40, -140, 40.2 }, 60))
    assert.is_not_nil(new({ 0, 180, 40, -140, 90 }, 60))
  end)

  it('are not looked for in few angles or times', function()
    local s = xpcs.simulate { n = 30, q = 0.0085, dt = 0.1, phi = { 0, 40 }, physics = { 3000, -0.2, 100 },
      sigma = 0.01, seed = 1 }
    assert.is_nil(xpcs.fit(xpcs.data.of(s), {}).pattern)
  end)
end)
