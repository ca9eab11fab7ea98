-- xpcs_contrasts_spec.lua - contrast and offset that differ between angles are told, those that are equal are not.
local mc = require 'mascon'
local contrasts = require 'workflows.xpcs.judge.contrasts'
local xpcs = mc.xpcs

--- Data of static diffusion whose contrast at angle f is 0.2 (1 + step f).
local function data(seed, step)
  local s = xpcs.simulate { n = 30, q = 0.01, phi = { -60, -10, 20, 80 }, physics = { 3000, -0.2, 500 }, contrast = 0.2,
    sigma = 0.002, seed = seed }
  for f = 1, 4 do
    local noise = mc.triu(mc.randn { 30, 30, seed = 77 * seed + f }, 1) * 0.002
    s.c2[f] = xpcs.prepare.diagonal((s.c2[f] - 1) * (1 + step * f) + 1 + noise + noise.mT)
  end
  return xpcs.data.of(s)
end

local function told(r)
  return (r.conclusion .. table.concat(r.verdict.sentences, '\n')):find("scaling = 'individual'", 1, true) ~= nil
end

local function g1(p, t1, t2) return mc.exp(-(p.rate * (t2 - t1)) ^ p.stretch) end
local MODEL = { g1 = g1, p0 = { rate = 0.1, stretch = 1 }, bounds = { rate = { 1e-4, 10 }, stretch = { 0.2, 3 } } }

describe('angles that disagree', function()
  it('send the averaged fit on from the physics of one with a contrast for each, and name none beyond 1', function()
    local truth = { 1000, 0.5, 10, 0.01, 0.5, 0, 0 }
    local folder = os.tmpname()
    os.remove(folder)
    local s = xpcs.simulate { n = 60, q = 0.01, dt = 0.25, phi = { -25, 0, 30, 75 }, physics = truth, sigma = 0.004,
      seed = 42 }
    s.sigma = nil
    local d = xpcs.data.of(s)
    local initial = {}
    for k, p in ipairs(xpcs.parameters.LIST) do initial[p.name] = truth[k] end
    local best = xpcs.fit(d, { sigma = 0.004, initial = initial })
    local valley = { D0 = 8435, alpha = 0.25, D_offset = -8434, gamma_dot_t0 = 0.2, beta = -0.14, phi0 = -1.7 }
    local first = xpcs.fit(d, { sigma = 0.004, initial = valley, rescue = false })
    local settings = xpcs.run.settings { data_file = 'x.npz', laminar_flow = true, sigma = { 0.004 },
      output_dir = folder, quiet = true }
    settings.fit.initial = valley
    local r = xpcs.run.fit(settings, d, true)
    assert(first.chi2 > best.chi2 + 100, first.chi2)
    assert.is_nil(table.concat(first.verdict.sentences):find('contrast %d%d'))
    assert(r.chi2 < best.chi2 + 1, ('%g, %g from the truth'):format(r.chi2, best.chi2))
    assert.is_truthy(table.concat(r.warnings, ' '):find('your starting values led to chi2 ', 1, true))
    -- where the scan itself led there
    r = require('workflows.xpcs.fit.rescue').again(d, { sigma = 0.004 }, first, 42)
    assert(r.chi2 < first.chi2 - 100, ('%g, %g before'):format(r.chi2, first.chi2))
    assert.is_truthy(table.concat(r.warnings, ' '):find('went on from the physics', 1, true))
  end)
end)

describe('contrasts of a fit without shear', function()
  local function sheared(o)
    local with = { n = 40, q = 0.0054, dt = 0.5, phi = { -80, -60, -40, -20, 0, 20, 40, 60, 80 }, sigma = 0.004,
      physics = { 1000, -0.3, 50, 2e-3, 0.1, 1e-4, -4 }, seed = 4 }
    for k, v in pairs(o or {}) do with[k] = v end
    local s = mc.xpcs.simulate(with)
    s.sigma = nil
    return mc.xpcs.data.of(s)
  end

  it('name laminar flow where they vary as those of shear, before scaling', function()
    for _, o in ipairs { {}, { sigma = 0.004 }, { scaling = 'individual' } } do
      o.mode = 'static'
      local r = mc.xpcs.fit(sheared(), o)
      local first = r.verdict.sentences[1]
      assert.is_truthy(r.conclusion:find("fit with mode = 'laminar_flow'", 1, true), r.conclusion)
      assert.matches('^The angles decay differently', first)
      assert.same({ option = 'laminar-flow' }, r.verdict.findings[1].advice[1])
      assert.is_true(r.quality_flag ~= 'good' and r.quality_flag ~= 'untested')
    end
    local r = mc.xpcs.fit(sheared { physics = { 1000, -0.3, 50 } }, { mode = 'static' })
    assert.is_nil(table.concat(r.verdict.sentences):find('laminar', 1, true))
  end)

  it('name the bound of phi0 first where the flow lies beyond it', function()
    local d = sheared { physics = { 1000, -0.3, 50, 2e-3, 0.1, 1e-4, 55 } }
    local r = mc.xpcs.fit(d, { mode = 'laminar_flow' })
    assert.is_truthy(r.verdict.sentences[1]:find('^phi0 ended at its %a+ bound'), r.verdict.sentences[1])
    assert.is_truthy(r.conclusion:find('bounds = { phi0 = { -90, 90 } }', 1, true))
    local _, count = table.concat(r.verdict.sentences, '\n'):gsub('phi0 ended at', '')
    assert.equal(1, count)
  end)

  it('are compared with a turn by the angle', function()
    local phi, c = {}, {}
    for k = 1, 9 do phi[k] = 20 * k - 100 end
    for k, a in ipairs(phi) do c[k] = 0.3 - 0.05 * math.cos(math.rad(2 * (a - 30))) end
    local found = contrasts.shear(phi, c)
    assert.is_true(math.abs(found.phi0 - 30) < 1e-9 and math.abs(found.depth - 0.05) < 1e-12)
    c = { 0.3, 0.1, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3 }
    assert.is_nil(contrasts.shear(phi, c))
    assert.is_nil(contrasts.shear({ 0, 45, 90 }, { 0.1, 0.2, 0.3 }))
  end)
end)

describe('xpcs.contrasts', function()
  local sigma = 0.002 * math.sqrt(2)

  it('says nothing of equal angles, in any of 8 draws, with sigma, without, or with another loss', function()
    for seed = 1, 8 do
      local d = data(seed, 0)
      for _, o in ipairs { { sigma = sigma }, {}, seed % 4 == 0 and { sigma = sigma, loss = 'soft_l1' } or nil } do
        local r = xpcs.fit(d, o)
        assert.equal('averaged', r.scaling)
        assert.is_false(told(r), table.concat(r.verdict.sentences, '\n'))
      end
    end
  end)

  it('tells angles that differ, and what chi2 falls by is that of a fit with g1 held', function()
    local d = data(1, 0.1)
    for _, o in ipairs { { sigma = sigma }, {}, { sigma = sigma, loss = 'soft_l1' } } do
      local r = xpcs.fit(d, o)
      assert.is_true(told(r))
      assert.equal('weak', r.verdict.level)
      local words = table.concat(r.verdict.sentences, '\n')
      assert.is_truthy(words:find(' 80 deg %(contrast 0%.2[78]'), words)
    end
    local r = xpcs.fit(d, { sigma = sigma })
    local held = xpcs.fit(d, { sigma = sigma, scaling = 'individual', initial = r.values,
      fixed = { D0 = r.values.D0, alpha = r.values.alpha, D_offset = r.values.D_offset } })
    assert.is_true(math.abs(r.chi2 * (1 - r.contrasts.gain) - held.chi2) < 1e-6 * r.chi2)
    for _, v in ipairs(r.contrasts.list) do
      for f, phi in ipairs(d.phi) do
        if phi == v.phi then
          assert.is_true(math.abs(v.best_contrast - held.contrast[f]) < 1e-6)
          assert.is_true(math.abs(v.best_offset - held.offset[f]) < 1e-6)
        end
      end
    end
    assert.is_nil(xpcs.fit(d, { sigma = sigma, scaling = 'individual', rescue = false }).contrasts)
    for _, loss in ipairs { 'soft_l1', 'huber', 'cauchy', 'arctan' } do
      local bent = xpcs.fit(d, { sigma = sigma, loss = loss, rescue = false })
      local own = xpcs.fit(d, { sigma = sigma, loss = loss, scaling = 'individual', rescue = false })
      if loss == 'soft_l1' or loss == 'huber' then assert.is_true(told(bent)) end -- the others pass over what is far
      assert.is_true(bent.contrasts.gain > 0 and bent.cost * (1 - bent.contrasts.gain) > own.cost, loss)
    end
  end)

  it('tells them of joint fits and of own models, and advises only what these take', function()
    local file = require 'workflows.xpcs.fit.model_file'
    for _, step in ipairs { 0, 0.1 } do
      local a, b = data(2, 0), data(3, step)
      local joint = xpcs.joint.fit({ a, b }, { sigma = sigma })
      assert.is_false(told(joint.fits[1]))
      assert.equal(step > 0, told(joint.fits[2]))
      assert.equal(step > 0, table.concat(xpcs.joint.sentences(joint)):find('Data set 2: Contrast', 1, true) ~= nil)
      for _, loss in ipairs { 'linear', 'soft_l1' } do
        local own = file.fit(b, MODEL, { sigma = sigma, loss = loss })
        assert.equal(step > 0, told(own), table.concat(own.verdict.sentences, '\n'))
        local words = table.concat(own.verdict.sentences) .. table.concat(xpcs.joint.sentences(joint))
        for _, refused in ipairs { 'multi_start', 'posterior.run' } do assert.is_nil(words:find(refused, 1, true)) end
      end
    end
  end)
end)
