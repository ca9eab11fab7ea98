-- xpcs_noise_spec.lua - noise that is correlated between pairs of times, as that of speckle: found in the residuals,
-- named, and errors that hold; angles that scatter differently.
local mc = require 'mascon'
local tol = require 'tol'
local xpcs = mc.xpcs
local noise = require 'workflows.xpcs.judge.noise'

local PHYSICS, PHI, N = { 2200, -0.35, 300 }, { 0, 60, 120 }, 40
local FIXED = { alpha = -0.35 } -- of the ridge, on which standard errors are no intervals

--- C2 of intensities with normal deviations: the mean over pixels, divided by the mean intensities.
---@param q? number 1/A
---@param counting? number variance of the intensities beside that of speckle
local function speckle(seed, pixels, q, counting)
  q = q or 0.012
  local clean = xpcs.simulate { n = N, q = q, dt = 0.5, phi = PHI, physics = PHYSICS, sigma = 0 }
  local list = {}
  for f = 1, #PHI do
    list[f] = mc.scope(function()
      local c = clean.c2[f] - 1
      c = mc.triu(c, 1)
      local L = mc.linalg.cholesky(c + c.mT + mc.eye(N) * (counting or 0.8))
      local u = mc.matmul(L, mc.randn { N, pixels, seed = 100 * seed + f }) + 1
      local mean = mc.sum(u, 2) * (1 / pixels)
      local y = mc.matmul(u, u.mT) / (mean:expand_dims(1) * mean:expand_dims(2) * pixels)
      return (y + y.mT) * 0.5
    end)
  end
  return xpcs.data.of { c2 = mc.stack(list, 1), phi = PHI, t = clean.t, q = q, dt = 0.5, mode = 'static' }
end

local function independent(seed, n)
  return xpcs.data.of(xpcs.simulate { n = n or N, q = 0.012, dt = 0.5, phi = PHI, physics = PHYSICS, sigma = 0.01,
    seed = seed })
end

local function words(r) return table.concat(r.verdict.sentences, '\n') end

describe('noise of pairs that share a frame', function()
  local SETS = 24

  it('is found, and errors of correlated noise hold the truth where those of independent noise do not', function()
    local inside, alone = 0, 0
    for seed = 1, SETS do
      mc.scope(function()
        local r = xpcs.fit(speckle(seed, 4000), { fixed = FIXED })
        assert.is_true(r.noise.correlated and r.noise.factor > 1.5)
        local away = math.abs(r.values.D0 - PHYSICS[1])
        local at
        for k, name in ipairs(r.names) do if name == 'D0' then at = k end end
        if away < 1.959964 * r.errors.D0 then inside = inside + 1 end
        if away < 1.959964 * r.errors.D0 / math.sqrt(r.spectrum.rise[at]) then alone = alone + 1 end
        if seed == 1 then
          assert.matches('pairs that share a frame are correlated', words(r))
          assert.matches('correlated residuals', r.covariance_by)
          assert.is_nil(words(r):find('Contrast or offset differ', 1, true))
          -- profiles take the same noise
          local v = xpcs.intervals.profile(r, { 'D0' }, 0.6827).D0
          assert.is_true(math.abs((v.high - v.low) / (2 * r.errors.D0) - 1) < 0.2)
        end
      end)
    end
    assert.is_nil(tol.stat(inside, 0.95 * SETS, math.sqrt(0.95 * 0.05 * SETS)), ('%d of %d'):format(inside, SETS))
    assert.is_true(alone < 0.85 * SETS, ('%d of %d'):format(alone, SETS))
  end)

  it('is known in its size where the fit takes most of it: the decay fits into the window', function()
    local squares, count = { D0 = 0, D_offset = 0, contrast = 0, offset = 0 }, 20
    local truth = { D0 = PHYSICS[1], D_offset = PHYSICS[3], contrast = 0.3, offset = 1 }
    for seed = 1, count do
      mc.scope(function()
        local r = xpcs.fit(speckle(seed, 1500, 0.009, 0.32), { scaling = 'averaged', fixed = FIXED })
        for name, v in pairs(truth) do
          squares[name] = squares[name] + ((r.values[name] - v) / r.errors[name]) ^ 2 / count
        end
      end)
    end
    for name, v in pairs(squares) do assert(v > 0.3 and v < 2.6, ('%s: %.3g'):format(name, v)) end
  end)

  it('is found under a robust loss and with a sigma per point, with the errors of the linear loss', function()
    local data = speckle(1, 4000)
    local o = { fixed = FIXED, scaling = 'averaged', sigma = 0.021 }
    local r = xpcs.fit(data, o)
    assert.is_true(r.noise.correlated and r.noise.factor > 1.5)
    o.loss = 'soft_l1'
    local robust = xpcs.fit(data, o)
    assert.matches('Standard errors are those of correlated noise', words(robust))
    assert.is_nil(words(robust):find('Contrast or offset differ', 1, true))
    o.loss, o.sigma = 'linear', nil
    local c2, path, errors = {}, os.tmpname(), os.tmpname()
    for f = 1, data.F do c2[f] = data:matrix(f) end
    mc.save(path .. '.npz', { c2_exp = mc.stack(c2, 1), phi_angles_list = mc.tensor(data.phi), t1 = data.t,
      q = mc.tensor(data.q) })
    mc.save(errors .. '.npy', mc.full({ data.n, data.n }, 0.021))
    local weighed = xpcs.fit(xpcs.open(path .. '.npz', { sigma = errors .. '.npy', dt = data.dt, mode = 'static',
      exclude_first = false }), o)
    for _, name in ipairs { path, path .. '.npz', errors, errors .. '.npy' } do os.remove(name) end
    for _, name in ipairs(r.names) do
      assert(math.abs(robust.errors[name] / r.errors[name] - 1) < 0.15, name)
      assert(math.abs(weighed.errors[name] / r.errors[name] - 1) < 1e-6, ('%s: %g, %g'):format(name,
        weighed.errors[name], r.errors[name]))
    end
    -- a profile of a robust fit takes it too
    local v = xpcs.intervals.profile(robust, { 'D0' }, 0.6827).D0
    assert(math.abs((v.high - v.low) / (2 * robust.errors.D0) - 1) < 0.3, ('%g %g'):format(v.low, v.high))
  end)

  it('widens what chance gives for chi2', function()
    local squares, sum, sd, count = 0, 0, 0, 12
    for seed = 1, count do
      mc.scope(function()
        local r = xpcs.fit(speckle(seed, 1500, 0.009, 0.32), { fixed = FIXED, scaling = 'averaged', sigma = 0.0125 })
        sum, squares, sd = sum + r.reduced_chi2, squares + r.reduced_chi2 ^ 2, sd + r.noise.chi2_sd / r.dof / count
        assert.is_nil(r.verdict.misfit, r.reduced_chi2)
      end)
    end
    local seen = math.sqrt((squares - sum ^ 2 / count) / (count - 1))
    assert(sd > 0.5 * seen and sd < 2 * seen and sd > 2 * math.sqrt(2 / (3 * N * (N - 1) / 2)), ('%g, %g'):format(sd,
      seen))
  end)

  it('of few modes makes no scatter that is unequal and no contrasts that differ, whatever sigma', function()
    local unequal, differ, apart = 0, 0, 0
    for seed = 1, 12 do
      mc.scope(function()
        local data = speckle(seed, 1200, 0.006, 0.301)
        local r = xpcs.fit(data, { fixed = FIXED, scaling = 'averaged', rescue = false })
        if r.noise.unequal then unequal = unequal + 1 end
        local low, high = math.huge, 0
        for _, s in ipairs(r.noise.scatter) do low, high = math.min(low, s), math.max(high, s) end
        if high > 1.2 * low then apart = apart + 1 end
        local strict = xpcs.fit(data, { fixed = FIXED, scaling = 'averaged', rescue = false,
          sigma = 0.01 * math.sqrt(r.reduced_chi2 / 3.3) })
        if strict.contrasts.improbable then differ = differ + 1 end
      end)
    end
    assert.is_true(apart > 0) -- the scatter of such noise does differ
    assert.equal(0, unequal)
    assert.equal(0, differ)
  end)

  it('gives the errors where reduced chi2 is below 3 with the sigma that was given, and not above', function()
    local data = speckle(1, 4000)
    local assumed = xpcs.fit(data, { fixed = FIXED })
    for _, reduced in ipairs { 2.9, 3.1 } do
      local r = xpcs.fit(data, { fixed = FIXED, sigma = 0.01 * math.sqrt(assumed.reduced_chi2 / reduced) })
      assert.is_true(math.abs(r.reduced_chi2 / reduced - 1) < 1e-6 and r.noise.correlated)
      assert.equal(reduced < 3, r.covariance_by:find('correlated residuals', 1, true) ~= nil, reduced)
      local at
      for k, name in ipairs(r.names) do if name == 'D0' then at = k end end
      local ratio = r.errors.D0 / math.sqrt(r.spectrum.covariance[at][at])
      assert.is_true(reduced < 3 and ratio > 1.5 or ratio == 1, ('%g'):format(ratio))
      assert.equal(reduced >= 3, words(r):find('take them as independent and are too small', 1, true) ~= nil)
    end
    assert.matches('correlated residuals', assumed.covariance_by) -- reduced chi2 tests nothing there
    local scaled = xpcs.fit(data, { fixed = FIXED, sigma = 0.001, absolute_sigma = false })
    assert.is_true(scaled.reduced_chi2 > 3 and scaled.covariance_by:find('correlated residuals', 1, true) ~= nil)
  end)

  it('is not found in independent noise, whose errors stay those of the normal matrix', function()
    for seed = 1, 8 do
      for _, n in ipairs { N, 170 } do
        if n == N or seed < 3 then
          local r = xpcs.fit(independent(seed, n), { sigma = 0.01 })
          assert.is_true(math.abs(r.noise.z) < 5 and not r.noise.correlated, tostring(r.noise.z))
          assert.equal(math.sqrt(r.spectrum.covariance[3][3]), r.errors.D0)
          assert.is_false(r.noise.unequal)
          assert.is_nil(words(r):find('share a frame', 1, true))
        end
      end
    end
  end)

  it('is looked at where data allow it', function()
    local r = xpcs.fit(independent(1), { sigma = 0.01, loss = 'soft_l1' })
    assert.is_false(r.noise.correlated)
    assert.same({}, noise.sentences(r))
    assert.is_nil(xpcs.fit(independent(1), { sigma = 0.01, legacy_abs = true }).noise)
  end)
end)

describe('noise of pairs that share a frame, under a model of the user\'s', function()
  local kd = 0.012 ^ 2 / 2
  local function g1(p, t1, t2)
    local a = 1 + p.alpha
    return mc.exp(-kd * (p.D * (t2 ^ a - t1 ^ a) / a + p.shift * (t2 - t1)))
  end
  local P0 = { D = 2000, alpha = -0.35, shift = 200 }
  local BOUNDS = { D = { 100, 1e5 }, shift = { -1e5, 1e5 }, alpha = { -0.95, 2 } }

  it('gives the errors and the verdict of the built-in model', function()
    local file = require 'workflows.xpcs.fit.model_file'
    for _, scaling in ipairs { 'averaged', 'individual' } do
      local data = speckle(1, 4000)
      local built = xpcs.fit(data, { fixed = FIXED, scaling = scaling })
      local own = file.fit(data, { g1 = g1, p0 = P0, bounds = BOUNDS }, { fixed = FIXED, scaling = scaling })
      assert.matches('Standard errors are those of correlated noise', words(own))
      assert.is_nil(words(own):find('Contrast or offset differ', 1, true))
      assert.matches('correlated residuals', own.covariance_by)
      assert.is_true(math.abs(own.noise.z / built.noise.z - 1) < 0.01)
      assert.is_true(math.abs(own.noise.factor / built.noise.factor - 1) < 0.05)
      local same = { D = 'D0', shift = 'D_offset' }
      for _, name in ipairs(own.names) do
        local want = built.errors[same[name] or name]
        assert.is_true(math.abs(own.errors[name] / want - 1) < 0.03, ('%s: %g instead of %g'):format(name,
          own.errors[name], want))
      end
      if scaling == 'averaged' then
        assert.is_true(math.abs(own.contrasts.chance / built.contrasts.chance - 1) < 0.05)
      end
    end
  end)

  it('gives errors of tied parameters and profiles that hold', function()
    local o = { p0 = { D = 2000, alpha = -0.35 }, fixed = FIXED, tied = { shift = function(p) return p.D * 0.1 end },
      bounds = { D = { 100, 1e5 } } }
    local data = speckle(2, 4000)
    local f = xpcs.own.solve(data, g1, o)
    local built = xpcs.fit(data, { fixed = FIXED, ties = { D_offset = { to = 'D0', factor = 0.1 } },
      scaling = 'averaged' })
    assert.is_true(f.noise.correlated and math.abs(f.stderr.D / built.errors.D0 - 1) < 0.03)
    assert.is_true(math.abs(f.stderr.shift / (0.1 * f.stderr.D) - 1) < 1e-6)
    assert.matches('correlated residuals', f:report())
    local v = f:profile('D', { level = 0.6827 })
    assert.is_true(math.abs((v.high - v.low) / (2 * f.stderr.D) - 1) < 0.1)
  end)

  it('leaves errors of independent noise alone', function()
    local r = xpcs.own.solve(independent(1), g1, { p0 = P0, fixed = FIXED, bounds = BOUNDS, sigma = 0.01 })
    local built = xpcs.fit(independent(1), { sigma = 0.01, fixed = FIXED, scaling = 'averaged' })
    assert.is_false(r.noise.correlated)
    assert.is_true(math.abs(r.stderr.D / built.errors.D0 - 1) < 0.01)
    assert.is_nil(r:report():find('correlated residuals', 1, true))
    assert.is_false(xpcs.own.solve(independent(1), g1, { p0 = P0, fixed = FIXED, bounds = BOUNDS, sigma = 0.01,
      loss = 'soft_l1' }).noise.correlated)
  end)
end)

describe('noise of pairs that share a frame, in a joint fit', function()
  it('gives each set the errors of its own fit where nothing is shared', function()
    local list = { speckle(1, 4000), speckle(2, 4000) }
    local joint = xpcs.joint.fit(list, { fixed = FIXED, shared = {}, scaling = 'averaged' })
    for i, data in ipairs(list) do
      local alone = xpcs.fit(data, { fixed = FIXED, scaling = 'averaged' })
      for _, name in ipairs(alone.names) do
        local got = joint.errors[('%s[set %d]'):format(name, i)]
        assert.is_true(math.abs(got / alone.errors[name] - 1) < 1e-3, ('%s: %g instead of %g'):format(name, got,
          alone.errors[name]))
        assert.is_true(math.abs(joint.fits[i].errors[name] / got - 1) < 1e-9)
      end
      assert.matches('Standard errors are those of correlated noise', words(joint.fits[i]))
      assert.is_nil(words(joint.fits[i]):find('Contrast or offset differ', 1, true))
    end
    assert.matches('Standard errors are those of correlated noise', words(joint))
    assert.matches('correlated residuals', joint.fits[1].covariance_by)
  end)

  it('gives errors that hold the truth, smaller than those of a set alone', function()
    local sets, inside = 8, 0
    for seed = 1, sets do
      mc.scope(function()
        local list = { speckle(100 + seed, 3000), speckle(200 + seed, 3000) }
        local r = xpcs.joint.fit(list, { fixed = FIXED, scaling = 'averaged' })
        if math.abs(r.values.D0 - PHYSICS[1]) < 1.959964 * r.errors.D0 then inside = inside + 1 end
        if seed == 1 then
          local alone = xpcs.fit(list[1], { fixed = FIXED, scaling = 'averaged' })
          local ratio = r.errors.D0 / alone.errors.D0
          assert.is_true(ratio > 0.6 and ratio < 0.85, tostring(ratio)) -- about the root of a half
        end
      end)
    end
    assert.is_nil(tol.stat(inside, 0.95 * sets, math.sqrt(0.95 * 0.05 * sets)), ('%d of %d'):format(inside, sets))
  end)

  it('gives them under a robust loss too, where all sets show it', function()
    local list = { speckle(1, 4000), speckle(2, 4000) }
    local o = { fixed = FIXED, shared = {}, scaling = 'averaged', loss = 'soft_l1', sigma = 0.02 }
    local joint = xpcs.joint.fit(list, o)
    o.shared = nil
    for i, data in ipairs(list) do
      local alone = xpcs.fit(data, o)
      assert.matches('correlated residuals', alone.covariance_by)
      for _, name in ipairs(alone.names) do
        local got = joint.errors[('%s[set %d]'):format(name, i)]
        assert.is_true(math.abs(got / alone.errors[name] - 1) < 1e-3, ('%s: %g instead of %g'):format(name, got,
          alone.errors[name]))
      end
    end
    assert.matches('Standard errors are those of correlated noise', words(joint))
    o.shared = {}
    local mixed = xpcs.joint.fit({ list[1], independent(3) }, o)
    assert.matches('take them as independent and are too small', words(mixed))
    assert.is_nil(mixed.covariance_by:find('correlated residuals', 1, true))
  end)

  it('takes a set whose noise is independent as such', function()
    local list = { speckle(1, 4000), independent(3) }
    local joint = xpcs.joint.fit(list, { fixed = FIXED, shared = {}, scaling = 'averaged', sigma = 0.01 })
    local alone = xpcs.fit(list[2], { fixed = FIXED, scaling = 'averaged', sigma = 0.01 })
    assert.is_true(joint.fits[1].noise.correlated and not joint.fits[2].noise.correlated)
    assert.is_true(math.abs(joint.errors['D0[set 2]'] / alone.errors.D0 - 1) < 1e-3)
    assert.is_nil(words(joint.fits[2]):find('share a frame', 1, true))
  end)

  it('leaves errors alone where the fit is far from the data within the sigma that was given', function()
    local list = { speckle(1, 4000), speckle(2, 4000) }
    local r = xpcs.joint.fit(list, { fixed = FIXED, scaling = 'averaged', sigma = 0.001 })
    assert.is_true(r.reduced_chi2 > 3)
    assert.equal(math.sqrt(r.spectrum.covariance[3][3]), r.errors[r.names[3]])
    assert.matches('take them as independent and are too small', words(r))
  end)
end)

describe('a posterior beside correlated noise', function()
  it('is not advised, and says in all places by how much it is too narrow', function()
    local data = speckle(1, 4000)
    local r = xpcs.fit(data, { scaling = 'averaged' })
    assert.is_true(r.noise.correlated)
    assert.matches('trade off along a curved valley of chi2', words(r))
    assert.is_nil(words(r):find('posterior.run', 1, true), words(r))
    local s = xpcs.posterior.run(r, { draws = 50, warmup = 50, chains = 2 })
    local at = {}
    for k, name in ipairs(r.names) do at[name] = k end
    local size = 0
    for name, factor in pairs(s.too_narrow) do
      size = size + 1
      assert.is_true(math.abs(factor - math.sqrt(r.spectrum.rise[at[name]])) < 1e-12)
    end
    assert.is_true(size == #r.names and s.too_narrow.D0 > 1.5)
    local files = xpcs.posterior_files
    local sentence = 'takes the noise as independent'
    assert.is_truthy(table.concat(files.warnings(s), '\n'):find(sentence, 1, true))
    local factor = require('workflows.xpcs.model.numbers').number(s.too_narrow.D0, 2)
    assert.matches('sd too small by.*\nD0 +%S+ +%S+ +' .. factor:gsub('%.', '%%.') .. ' ', files.text(s))
    local t = files.tables(s)
    assert.is_true(math.abs(t.parameters.D0.sd_too_small_by / s.too_narrow.D0 - 1) < 1e-12)
    local folder = os.tmpname()
    os.remove(folder)
    assert(mc.file.make_folder(folder))
    local list, figures = files.write(folder, s)
    local p = mc.load(folder .. '/parameters.json')
    assert.is_true(math.abs(p.parameters.D0.sd_too_small_by / s.too_narrow.D0 - 1) < 1e-9)
    assert.is_truthy(table.concat(p.warnings, '\n'):find(sentence, 1, true))
    local page = xpcs.report.page(r, data, { posterior = { result = s, figures = figures } })
    assert.is_truthy(page:find('sd too small by', 1, true))
    assert.is_true(select(2, page:gsub(sentence, '')) >= 1)
    for _, name in ipairs(list) do os.remove(folder .. '/' .. name) end
    os.remove(folder)
  end)

  it('says so without a factor where the errors of the fit are those of independent noise', function()
    local r = xpcs.fit(speckle(1, 4000), { fixed = FIXED, sigma = 0.001 })
    local s = xpcs.posterior.run(r, { draws = 20, warmup = 20, chains = 2 })
    assert.same({}, s.too_narrow)
    assert.matches('takes the noise as independent', table.concat(xpcs.posterior_files.warnings(s), '\n'))
  end)

  it('says nothing of independent noise', function()
    local r = xpcs.fit(independent(1), { fixed = FIXED, sigma = 0.01 })
    local s = xpcs.posterior.run(r, { draws = 20, warmup = 20, chains = 2 })
    assert.is_nil(s.too_narrow)
    assert.is_nil(table.concat(xpcs.posterior_files.warnings(s), '\n'):find('independent', 1, true))
    assert.is_nil(xpcs.posterior_files.text(s):find('too small', 1, true))
  end)
end)

describe('angles that scatter differently', function()
  local function made(sigmas)
    local list, t = {}, nil
    for f, sigma in ipairs(sigmas) do
      local s = xpcs.simulate { n = N, q = 0.012, dt = 0.5, phi = { PHI[f] }, physics = PHYSICS, sigma = sigma,
        seed = f }
      list[f], t = s.c2[1], s.t
    end
    return xpcs.data.of { c2 = mc.stack(list, 1), phi = PHI, t = t, q = 0.012, dt = 0.5, mode = 'static' }
  end

  it('are named with the sigma to give, which gives smaller errors', function()
    local data = made { 0.003, 0.012, 0.004 }
    local r = xpcs.fit(data, {})
    assert.is_true(r.noise.unequal)
    local list = words(r):match 'sigma = { ([%d., ]+) }'
    local sigma = {}
    for v in list:gmatch '[%d.]+' do sigma[#sigma + 1] = tonumber(v) end
    assert.equal(3, #sigma)
    for f, want in ipairs { 0.003, 0.012, 0.004 } do assert.is_true(math.abs(sigma[f] / want - 1) < 0.1) end
    local better = xpcs.fit(data, { sigma = sigma })
    assert.is_false(better.noise.unequal)
    assert.is_true(better.errors.D0 < 0.7 * r.errors.D0)
    assert.is_false(xpcs.fit(made { 0.004, 0.0041, 0.004 }, {}).noise.unequal)
  end)

  it('are judged beside the sigma of the data, whatever the shear weighs', function()
    for _, sigmas in ipairs { { 0.004, 0.004, 0.004, 0.004 }, { 0.004, 0.009, 0.004, 0.004 } } do
      local list, t = {}, nil
      for f, phi in ipairs { -40, 0, 40, 80 } do
        local s = xpcs.simulate { n = N, q = 0.005, dt = 0.1, gap = 2e6, phi = { phi },
          physics = { 1000, -0.3, 20, 3e-3, -0.2, 1e-4, -6 }, sigma = sigmas[f], seed = f }
        list[f], t = s.c2[1], s.t
      end
      local data = xpcs.data.of { c2 = mc.stack(list, 1), phi = { -40, 0, 40, 80 }, t = t, q = 0.005, dt = 0.1,
        gap = 2e6, mode = 'laminar_flow' }
      for _, weighting in ipairs { false, { alpha = 3, min_weight = 0.1 } } do
        local r = xpcs.fit(data, { sigma = 0.004, shear_weighting = weighting or nil })
        assert.equal(sigmas[2] > 0.004, r.noise.unequal)
        local said = words(r):find('The angles scatter by different amounts', 1, true)
        assert.equal(r.noise.unequal and not r.verdict.misfit, said ~= nil, words(r)) -- a misfit scatters, too
      end
    end
  end)

  it('gives what is determined its errors where other parameters are not', function()
    local d = speckle(1, 4000)
    local whole = xpcs.fit(d, { fixed = { alpha = 0, D_offset = 300 } })
    local r = xpcs.fit(d, { fixed = { alpha = 0 } }) -- D0 and D_offset: their sum alone
    assert.equal(math.huge, r.errors.D0)
    assert.matches('correlated residuals', r.covariance_by)
    for _, name in ipairs { 'contrast', 'offset' } do
      assert.is_true(math.abs(r.errors[name] / whole.errors[name] - 1) < 0.02, name)
    end
  end)
end)
