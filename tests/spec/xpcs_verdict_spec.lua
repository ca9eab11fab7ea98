-- xpcs_verdict_spec.lua - the word on a fit: one rule for fits of the model, of own models and joint ones, and words
-- that agree with it everywhere.
local mc = require 'mascon'
local xpcs = mc.xpcs
local model_file = require 'workflows.xpcs.fit.model_file'

local STATIC = { 2200, -0.35, 300 }

local function static(o)
  local with = { n = 40, q = 0.012, dt = 0.5, phi = { 0, 60, 120 }, physics = STATIC, sigma = 0.004, seed = 1 }
  for k, v in pairs(o or {}) do with[k] = v end
  local s = xpcs.simulate(with)
  s.sigma = nil -- the fits say what it is
  return xpcs.data.of(s)
end

local function words(r) return table.concat(r.verdict.sentences, '\n') end

--- The word of a result with these properties.
local function judged(o)
  local r = { absolute_sigma = true, sigma_is_default = false, reduced_chi2 = 1, success = true, parameters = {} }
  for k, v in pairs(o) do r[k] = v end
  for i = 1, o.hits or 0 do r.parameters[i] = { at_bound = 'lower' } end
  xpcs.verdict.judge(r, o.said or { level = 'determined' })
  return r.quality_flag
end

describe('xpcs.verdict.judge', function()
  local MISFIT = { level = 'weak', misfit = true }

  it('gives one word by reduced chi2, bounds and findings', function()
    for _, case in ipairs {
      { 'good', {} }, { 'good', { reduced_chi2 = 1.49 } }, { 'marginal', { reduced_chi2 = 1.5 } },
      { 'marginal', { reduced_chi2 = 2.99 } }, { 'poor', { reduced_chi2 = 3 } }, { 'poor', { reduced_chi2 = 0 / 0 } },
      { 'marginal', { hits = 1 } }, { 'marginal', { hits = 2 } }, { 'poor', { hits = 3 } },
      { 'marginal', { said = { level = 'weak', misfit = true } } }, { 'good', { said = { level = 'weak' } } },
      { 'marginal', { said = { level = 'undetermined' } } }, { 'marginal', { contrasts = { improbable = true } } },
      { 'good', { contrasts = { improbable = false } } }, { 'marginal', { said = { level = 'weak', doubt = true } } },
      -- a misfit whose residuals have structure, and one of a sigma that is too small
      { 'poor', { reduced_chi2 = 2, dof = 2e4, noise = { common = 0.5 }, counting = 'unique pairs', said = MISFIT } },
      { 'marginal', { reduced_chi2 = 2, dof = 2e4, noise = { common = 0.01 }, counting = 'unique pairs',
        said = MISFIT } },
      { 'marginal', { reduced_chi2 = 2, dof = 2e4, noise = { common = 0.5 }, counting = 'both triangles (legacy)',
        said = MISFIT } },
      { 'poor', { success = false } }, { 'poor', { better = {} } },
      { 'untested', { sigma_is_default = true, reduced_chi2 = 0.2 } },
      { 'untested', { sigma_is_default = true, reduced_chi2 = 20 } }, { 'untested', { absolute_sigma = false } },
      { 'marginal', { sigma_is_default = true, hits = 1 } }, { 'poor', { absolute_sigma = false, hits = 3 } },
    } do assert.equal(case[1], judged(case[2])) end
  end)
end)

describe('the word on a fit', function()
  it('is the same in result, line and files, and agrees with the sentences', function()
    local data = static()
    for _, case in ipairs { { 'good', { sigma = 0.004 } }, { 'marginal', { sigma = 0.0036 } },
      { 'poor', { sigma = 0.002 } }, { 'untested', {} }, { 'untested', { sigma = 0.004, absolute_sigma = false } },
      { 'marginal', { sigma = 0.004, bounds = { D0 = { 100, 1800 } } } } } do
      local r = xpcs.fit(data, case[2])
      assert.equal(case[1], r.quality_flag, words(r))
      assert.is_truthy(xpcs.report.line(r):find('(' .. case[1], 1, true))
      assert.equal(case[1], xpcs.results.analysis(r, data).fit_quality.quality_flag)
      assert.equal(case[1], xpcs.results.convergence(r).quality_flag)
      assert.equal(case[1] == 'poor', words(r):find('not to be trusted', 1, true) ~= nil, words(r))
      if case[1] == 'good' then assert.is_nil(r.verdict.misfit) end
    end
    local r = xpcs.fit(data, {})
    assert.is_truthy(xpcs.report.line(r):find('(untested; sigma is assumed, so chi2 tests nothing)', 1, true))
    assert.is_truthy(tostring(xpcs.report.page(r, data)):find('untested: there is none', 1, true))
  end)

  it('follows a profile that finds a deeper minimum', function()
    local r = xpcs.fit(static(), { sigma = 0.004 })
    r.better = { cost = r.cost - 10 }
    xpcs.verdict.judge(r, xpcs.verdict.of(r))
    assert.equal('poor', r.quality_flag)
  end)

  it('is no better than marginal when only one start of a search ended there', function()
    local data = static()
    local r = xpcs.fit(data, { sigma = 0.0036 })
    local function search(costs)
      local fits = {}
      for i, c in ipairs(costs) do fits[i] = { cost = r.cost + c } end
      r.search = { skipped = false, fits = fits }
      xpcs.verdict.judge(r, xpcs.verdict.of(r))
      return words(r)
    end
    assert.matches('starts do not agree: only 1 of 3 ended here', search { 0, 3, 9 })
    assert.matches('1 of 3 fits led to this minimum, the deepest', search { 0, 3, 9 })
    assert.is_true(r.verdict.doubt)
    assert.is_nil(search { 0, 0.1, 9 }:find 'do not agree')
    assert.is_nil(r.verdict.doubt)
  end)

  it('has the same rule for own models and joint fits', function()
    local data = static()
    local function g1(p, t1, t2)
      local a = 1 + p.alpha
      return mc.exp(-0.5 * 0.012 ^ 2 * (p.D0 / a * (t2 ^ a - t1 ^ a) + p.D_offset * (t2 - t1)))
    end
    local model = { g1 = g1, p0 = { D0 = 1500, alpha = -0.3, D_offset = 350 }, bounds = { D0 = { 100, 1e5 } } }
    for _, case in ipairs { { 'good', { sigma = 0.00402 } }, { 'marginal', { sigma = 0.0036 } },
      { 'poor', { sigma = 0.002 } }, { 'untested', {} },
      { 'marginal', { sigma = 0.00402, bounds = { D0 = { 100, 1800 } } } } } do
      local r = model_file.fit(data, model, case[2])
      assert.equal(case[1], r.quality_flag, words(r))
      assert.is_truthy(xpcs.report.line(r):find('(' .. case[1], 1, true))
    end
    for _, case in ipairs { { 'good', 0.004 }, { 'marginal', 0.0036 }, { 'poor', 0.002 } } do
      local r = xpcs.joint.fit({ data, static { seed = 2 } }, { sigma = case[2] })
      assert.equal(case[1], r.quality_flag, words(r))
      assert.equal(case[1], r.fits[1].quality_flag)
      assert.is_truthy(xpcs.joint.table(r):find('(' .. case[1] .. ')', 1, true))
    end
  end)
end)

describe('the condition of a normal matrix', function()
  local covariance = require 'workflows.xpcs.judge.covariance'

  it('is bounded by 10^12: beyond it a combination is not determined', function()
    assert.equal(1e12, covariance.LIMIT)
    for _, case in ipairs { { 1e4, 0 }, { 0.5e12, 0 }, { 2e12, 1 } } do
      local away = 2 / (1 + case[1]) -- eigenvalues 2 - away and away
      local c = 1 - away
      local s = covariance.of({ loss = 'linear', normal = function() return nil, { { 1, c }, { c, 1 } } end }, {})
      assert.is_true(math.abs(s.condition / case[1] - 1) < 1e-2)
      assert.equal(case[2], #s.null)
      for i = 1, 2 do assert.equal(case[2] == 1, s.covariance[i][i] == math.huge) end
    end
  end)
end)

describe('a parameter at its bound', function()
  local at = require 'workflows.xpcs.fit.result'.at_bound

  it('is the bound 0 where the solver stopped at the smallest number', function()
    local function data(seed)
      return xpcs.data.of(xpcs.simulate { n = 60, q = 0.0054, dt = 0.5, phi = { 0 }, sigma = 0.002, seed = seed,
        physics = { 1000, -0.3, -20 } })
    end
    local o = { scaling = 'averaged', sigma = 0.002, bounds = { D_offset = { 0, 1e4 } } }
    local r = xpcs.fit(data(3), o)
    assert.equal('lower', r.parameters[#r.parameters].at_bound)
    assert.equal(0, r.values.D_offset)
    assert.equal(0, xpcs.joint.fit({ data(3), data(4) }, o).values.D_offset)
    assert.equal(0, require 'workflows.xpcs.fit.result'.told(2 ^ -1022))
    assert.equal(1e-300, require 'workflows.xpcs.fit.result'.told(1e-300))
  end)

  it('is named when its error cannot tell it from there', function()
    assert.equal('upper', at(99999.99687, 100, 1e5, 5000))
    assert.equal('upper', at(99999.99687, 100, 1e5))
    assert.equal('upper', at(99999.99687, 100, 1e5, math.huge))
    assert.is_nil(at(99999.99687, 100, 1e5, 1e-3))
    assert.is_nil(at(3e-6, 1e-6, 0.5, 1e-7))
    assert.equal('lower', at(1.00001e-6, 1e-6, 0.5, 1e-7))
    assert.is_nil(at(5, -math.huge, math.huge, 1))
    assert.equal('lower', at(1, 1, math.huge))
  end)

  it('names the other phi0 of two angles', function()
    local function fitted(phi, o)
      o = o or {}
      o.scaling = 'averaged'
      return xpcs.fit(xpcs.data.of(xpcs.simulate { n = 60, q = 0.0054, dt = 0.5, phi = phi, sigma = 0.002, seed = 3,
        physics = { 1000, -0.3, 50, 2e-4, 0.1, 0, -6 } }), o)
    end
    local r = fitted { 0, 90 }
    assert.is_true(math.abs(math.abs(r.values.phi0) - 6) < 4 * r.errors.phi0)
    assert.is_truthy(words(r):find(('phi0 = %.4g and phi0 = %.4g, with the same shear rate, describe the data '
      .. 'alike'):format(r.values.phi0, -r.values.phi0), 1, true), words(r))
    assert.equal('marginal', r.quality_flag)
    local other = fitted({ 0, 90 }, { initial = { phi0 = -r.values.phi0 } })
    assert.is_true(math.abs(other.chi2 - r.chi2) < 1e-3)
    r = fitted({ 0, 90 }, { bounds = { phi0 = { -10, 0 } } })
    assert.is_nil(table.concat(r.verdict.sentences):find('Two angles', 1, true))
    assert.is_true(math.abs(r.values.phi0 + 6) < 4 * r.errors.phi0)
    r = fitted { 2, 85, 182 } -- any two, whatever the turns by 180 deg
    local second, factor = words(r):match 'and phi0 = ([-%d.]+), with ([%d.]+) times'
    other = fitted({ 2, 85, 182 }, { initial = { phi0 = tonumber(second),
      gamma_dot_t0 = r.values.gamma_dot_t0 * factor, beta = r.values.beta, D0 = r.values.D0, alpha = r.values.alpha,
      D_offset = r.values.D_offset, gamma_dot_t_offset = r.values.gamma_dot_t_offset * factor } })
    assert.is_true(math.abs(other.chi2 - r.chi2) < 1e-3, other.chi2 - r.chi2)
    assert.is_true(math.abs(other.values.phi0 - second) < 0.01)
    r = fitted { 0, 45, 90 }
    assert.is_nil(table.concat(r.verdict.sentences):find('Two angles', 1, true))
  end)
end)

describe('the first line on a fit', function()
  local verdict = xpcs.verdict

  it('is the word and one thing to do, alike for terminal, page and files', function()
    local data = static()
    for _, case in ipairs {
      { '^Good fit: ', { sigma = 0.004 } },
      { '^Untested fit %(sigma is assumed%): .', {} },
      { '^Poor fit: the model does not describe the data within sigma; look at the residual maps, check sigma%.$',
        { sigma = 0.002 } },
      { '^Marginal fit: check sigma first, it is [%d.]+ times what residuals scatter by%.$', { sigma = 0.04 } },
      { '^Marginal fit: D0 ended at a bound that was given; widen it first%.$',
        { sigma = 0.004, bounds = { D0 = { 100, 1800 } } } },
      { '^Poor fit: it did not converge; ', { sigma = 0.004, max_nfev = 1, initial = { D0 = 200 } } },
    } do
      local r = xpcs.fit(data, case[2])
      local line = r.verdict.conclusion
      assert.matches(case[1], line)
      assert.is_true(#line < 120, line)
      assert.equal(line, verdict.lines(r)[1])
      assert.equal(line, tostring(r):match '^[^\n]*')
      assert.equal(line, xpcs.results.parameters(r).conclusion)
      assert.equal(line, xpcs.results.analysis(r, data).conclusion)
      assert.is_truthy(tostring(xpcs.report.page(r, data)):find(line:match '^(.-):', 1, true))
      for i, f in ipairs(r.verdict.findings) do
        assert.equal(r.verdict.sentences[i], f.text)
        assert.is_string(f.kind)
      end
    end
  end)

  it('says that a profile found a deeper minimum', function()
    local r = xpcs.fit(static(), { sigma = 0.004 })
    r.better = { cost = r.cost - 10 }
    verdict.judge(r, verdict.of(r))
    assert.matches('^Poor fit: a profile found a deeper minimum', r.verdict.conclusion)
  end)
end)

describe('a q that is mistyped', function()
  local function simulated(q, physics)
    local s = xpcs.simulate { n = 40, q = q, dt = 0.5, phi = { 0, 60, 120 }, physics = physics or STATIC,
      sigma = 0.004, seed = 1 }
    s.sigma = nil
    return s
  end

  it('against the file comes first, with both q', function()
    local path = os.tmpname() .. '.npz'
    local s = simulated(0.012)
    mc.save(path, { c2_exp = s.c2, phi_angles_list = mc.tensor(s.phi), t1 = s.t, q = mc.tensor(0.012) })
    for _, case in ipairs { { 0.12, '10 times as large; 1 1/nm is 0.1 1/A' }, { 0.0012, '10 times smaller' },
      { 0.02, '1.67 times as large' } } do
      local o = { q = case[1] }
      for _, data in ipairs { xpcs.open(path, o), xpcs.run.data(xpcs.run.settings { data_file = path, q = case[1] },
        true) } do
        local r = xpcs.fit(data, { sigma = 0.004 })
        assert.matches('^Marginal fit: check q first, it is 0%.012 1/A here%.$', r.verdict.conclusion)
        assert.equal('q', r.verdict.findings[1].kind)
        assert.is_truthy(r.verdict.sentences[1]:find(('q = %.6g 1/A was asked for and the fit is of q = 0.012')
          :format(case[1]), 1, true), r.verdict.sentences[1])
        assert.is_truthy(r.verdict.sentences[1]:find(case[2], 1, true), r.verdict.sentences[1])
      end
    end
    for _, q in ipairs { 0.012, 0.0125 } do -- within 10 %: the nearest
      assert.is_nil(xpcs.fit(xpcs.open(path, { q = q }), { sigma = 0.004 }).verdict.conclusion:find('check q', 1, true))
    end
    os.remove(path)
  end)

  it('of the options against that of the data comes first', function()
    local data = xpcs.data.of(simulated(0.012))
    local r = xpcs.fit(data, { sigma = 0.004, q = 0.12 })
    assert.matches('check q first', r.verdict.conclusion)
    assert.matches('The fit is of q = 0.12 1/A, and that of the data is 0.012, 10 times smaller', words(r))
  end)

  it('that drives D0 to its bound is a question before the bound', function()
    for _, case in ipairs { { 10, 'lower', 'large', 1000 }, { 0.1, 'upper', 'small', 5000 } } do
      local s = simulated(0.0054, { case[4], -0.2, 100 })
      local d = xpcs.data.of { c2 = s.c2, phi = s.phi, t = s.t, q = case[1] * 0.0054, dt = s.dt }
      local r = xpcs.fit(d, { sigma = 0.004 })
      assert.matches('D0 ended at its bound; check q and dt, or widen it', r.verdict.conclusion)
      assert.is_truthy(words(r):find(('Are q and dt right? D0 ended at its %s bound, as it does where q (%.6g 1/A '
        .. 'here) is ten times too %s'):format(case[2], case[1] * 0.0054, case[3]), 1, true), words(r))
    end
    local r = xpcs.fit(static(), { sigma = 0.004, bounds = { D0 = { 100, 1800 } } }) -- a bound of the user's
    assert.is_nil(words(r):find('Are q and dt', 1, true))
  end)
end)

describe('a misfit', function()
  it('makes no sigma of what the model misses', function()
    local list = {}
    for f, slope in ipairs { 200, 2000, 6000 } do
      list[f] = xpcs.simulate { n = 30, q = 0.012, dt = 0.5, phi = { 0 }, physics = { slope, 0, 0 }, sigma = 0.004,
        seed = f }.c2[1]
    end
    local d = xpcs.data.of { c2 = mc.stack(list, 1), phi = { 0, 40, 80 }, t = mc.arange(1, 30) * 0.5, q = 0.012,
      dt = 0.5 }
    for _, o in ipairs { { sigma = 0.004 }, {} } do
      local r = xpcs.fit(d, o)
      assert.is_true(r.noise.unequal)
      assert.is_nil(words(r):find('sigma = {', 1, true), words(r))
    end
  end)
end)

describe('a gap that is no usual one', function()
  it('comes first', function()
    local s = xpcs.generate.set 'B'
    local r = xpcs.fit(xpcs.data.of(s), { sigma = 0.004, mode = 'laminar_flow', gap = 200 })
    assert.matches('check the gap first, it is 200 A here %(0%.02 um%)', r.verdict.conclusion)
    assert.matches('the shear rate goes as 1 / gap', words(r))
  end)
end)

describe('a value at its bound', function()
  it('is shown with its bound and no symmetric error', function()
    local data = static()
    local o = { sigma = 0.004, bounds = { D0 = { 100, 1800 } } }
    local single, both = xpcs.fit(data, o), xpcs.joint.fit({ data, static { seed = 2 } }, o)
    assert.is_true(single.errors.D0 > 0)
    for _, t in ipairs { xpcs.report.table(single), xpcs.joint.table(both) } do
      local line = t:match '\n(D0%s[^\n]*)'
      assert.matches('1800%s+at upper bound', line)
    end
    assert.is_truthy(tostring(xpcs.report.page(single, data)):find('at upper bound', 1, true))
    local row = xpcs.results.parameters(single).parameters.D0
    assert.same({ 'upper', single.errors.D0 }, { row.at_bound, row.uncertainty })
  end)
end)

describe('the notes on a fit', function()
  it('are one list: data, fit and values, for fits of one set and joint ones', function()
    local function negative(seed)
      local d = static { physics = { 5000, -0.3, -264 }, seed = seed }
      d.warnings = { 'odd data ' .. seed }
      return d
    end
    local list = { negative(1), negative(2) }
    local o = { sigma = 0.004, fixed = { D_offset = -264 } }
    local r = xpcs.fit(list[1], o)
    local notes = table.concat(xpcs.verdict.notes(r), '\n')
    assert.is_truthy(notes:find('odd data 1', 1, true) and notes:find('D_offset = -264 A^2/s is negative', 1, true),
      notes)
    assert.equal(notes, table.concat(xpcs.results.convergence(r).quality_warnings, '\n'))
    local page = tostring(xpcs.report.page(r, list[1]))
    assert.is_truthy(page:find('odd data 1', 1, true) and page:find('is negative: check', 1, true))
    local both = xpcs.joint.fit(list, o)
    local all = xpcs.verdict.notes(both)
    local _, count = table.concat(all, '\n'):gsub('D_offset = ', '')
    assert.equal(1, count, table.concat(all, '\n')) -- a shared value is said once
    assert.is_truthy(table.concat(all, '\n'):find('data set 2: odd data 2', 1, true))
    assert.same(all, { unpack(xpcs.joint.tables(both, list).warnings) })
    page = tostring(require('workflows.xpcs.show.joint_report').page(both, list))
    assert.is_truthy(page:find('is negative: check', 1, true))
  end)
end)

describe('data without a decay', function()
  local function fitted(D0, contrast, o)
    local s = xpcs.simulate { n = 30, q = 0.01, dt = 0.25, phi = { 0, 60 }, contrast = contrast, sigma = 0.01,
      physics = { D0, 0, 0 }, seed = 3 }
    s.sigma = nil
    return xpcs.fit(xpcs.data.of(s), o or { rescue = false })
  end

  it('are said first, and leave the offset alone', function()
    for _, o in ipairs { { rescue = false }, { rescue = false, sigma = 0.01, scaling = 'averaged' } } do
      for _, case in ipairs { { 5e6, 0.3 }, { 2000, 1e-7 }, { 1e-3, 0.8 } } do
        local r = fitted(case[1], case[2], o)
        assert.matches('^Marginal fit.*: the data show no decay; measure with shorter frames', r.conclusion)
        assert.matches('first frame %(0.25 s%), or much slower than the run %(7.25 s', r.verdict.sentences[1])
        assert.equal(math.huge, r.errors.D0)
        for name, e in pairs(r.errors) do
          if name:find '^offset' then assert.is_true(e < 0.01 or case[2] > 0.5) end
        end
        for _, f in ipairs(r.verdict.findings) do assert.is_true(f.kind ~= 'undetermined' and f.kind ~= 'bound') end
      end
    end
  end)

  it('are none where a decay of little contrast is seen', function()
    local r = fitted(2000, 0.06, { rescue = false, fixed = { D_offset = 0 } })
    assert.is_nil(r.flat)
    for _, list in pairs(r.checks) do
      for _, w in ipairs(list) do assert.is_nil(w:find('hard to tell from noise', 1, true)) end
    end
  end)
end)

describe('a bound that the user gave', function()
  it('comes before what follows from it', function()
    local r = xpcs.fit(static(), { sigma = 0.004, bounds = { D0 = { 100, 300 } }, rescue = false,
      fixed = { alpha = 0, D_offset = 0 } })
    assert.matches('^Poor fit: D0 ended at a bound that was given; widen it first', r.conclusion)
    local g1 = function(p, t1, t2) return mc.exp(-p.rate * (t2 - t1)) end
    r = xpcs.own.fit(static(), g1, { p0 = { rate = 0.05 }, bounds = { rate = { 1e-3, 0.06 } }, sigma = 0.004 })
    assert.matches('^Poor fit: rate ended at a bound that was given; widen it first', r.conclusion)
    local pushed = xpcs.fit(static(), { sigma = 0.004, bounds = { alpha = { -0.25, 1 } }, rescue = false,
      fixed = { D_offset = 300 } }) -- a fit that chi2 alone does not speak against
    assert.is_true(pushed.pushed > 9)
    assert.matches('alpha ended at a bound that was given; widen it first', pushed.conclusion)
    local count = 0
    for _, s in ipairs(r.verdict.sentences) do count = count + select(2, s:gsub('rate ended at its', '')) end
    assert.equal(1, count)
  end)
end)
