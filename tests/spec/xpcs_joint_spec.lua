-- xpcs_joint_spec.lua - joint fits of mc.xpcs: the solution of all residuals together, parameters shared or not.
local mc = require 'mascon'
local xpcs = mc.xpcs

local function near(want, got, bound, what)
  assert.is_true(math.abs(want - got) <= bound, ('%s: %.15g instead of %.15g'):format(what or '', got, want))
end

describe('xpcs.joint', function()
  local sets, data
  setup(function()
    sets, data = {}, {}
    for i, q in ipairs { 0.010, 0.014 } do
      sets[i] = xpcs.simulate { n = 30, q = q, dt = 0.5, phi = { 0, 60 }, physics = { 2200, -0.35, 300 }, sigma = 0.004,
        seed = i, contrast = 0.2 + 0.05 * i }
      data[i] = xpcs.data.of(sets[i])
    end
  end)
  teardown(function() sets, data = nil, nil end)

  it('says when the sets do not share their parameters, with sigma and without', function()
    local function set(q, physics, seed)
      local s = xpcs.simulate { n = 40, q = q, dt = 0.5, phi = { 0, 60 }, physics = physics, sigma = 0.004,
        seed = seed }
      s.sigma = nil
      return xpcs.data.of(s)
    end
    local one, same, other = set(0.010, { 2200, -0.35, 300 }, 1), set(0.014, { 2200, -0.35, 300 }, 2),
      set(0.014, { 900, -0.2, 100 }, 3)
    for _, sigma in ipairs { 0, 0.004 } do
      local o = { sigma = sigma > 0 and sigma or nil, scaling = 'averaged' }
      local r = xpcs.joint.fit({ one, same }, o)
      assert.is_false(r.apart.improbable)
      assert.equal(3, r.apart.more)
      assert.is_nil(table.concat(r.verdict.sentences):find('do not share', 1, true))
      assert.is_true(r.quality_flag ~= 'poor')
      r = xpcs.joint.fit({ one, other }, o)
      local first = r.verdict.sentences[1]
      assert.is_truthy(first:find('^The data sets do not share '), first)
      for _, part in ipairs { 'D0 (', ' in set 1', 'q = 0.014', 'mc.xpcs.fit', 'D(t) of each set alone, in ' } do
        local told = table.concat(r.verdict.sentences, '\n')
        assert.is_truthy(told:find(part, 1, true), told)
      end
      assert.equal('poor', r.quality_flag)
      assert.equal('poor', r.fits[2].quality_flag)
      local alone = xpcs.fit(one, o).chi2 + xpcs.fit(other, o).chi2
      assert.is_true(math.abs(alone - r.apart.alone) < 1e-6 * alone)
      assert.is_nil(xpcs.joint.fit({ one, other }, { scaling = 'averaged', shared = { 'phi0' } }).apart)
    end
  end)

  it('blames no parameter that agrees where one set alone shows the shear', function()
    local function set(q, shear, seed)
      return xpcs.data.of(xpcs.simulate { n = 24, q = q, dt = 0.5, phi = { 0, 40, 90 },
        physics = { 2200, 0, 0, shear, 0, 0, 0 }, sigma = 0.004, seed = seed })
    end
    local r = xpcs.joint.fit({ set(0.010, 0, 1), set(0.010, 0.004, 2) }, { sigma = 0.004, mode = 'laminar_flow',
      scaling = 'averaged', fixed = { alpha = 0, D_offset = 0, beta = 0, gamma_dot_t_offset = 0, phi0 = 0 } })
    local first = r.verdict.findings[1]
    assert.equal('apart', first.kind)
    assert.matches('what some of them alone determine: gamma_dot_t0 %(', first.text)
    assert.is_nil(first.text:find('D0 (', 1, true), first.text)
  end)

  it('names of the parameters that are not shared those that differ', function()
    local function set(q, physics, seed)
      return xpcs.data.of(xpcs.simulate { n = 40, q = q, dt = 0.5, phi = { 0, 60 }, physics = physics, sigma = 0.004,
        seed = seed })
    end
    local one, other = set(0.010, { 2200, 0, 300 }, 1), set(0.014, { 2200, 0.6, 300 }, 2)
    local r = xpcs.joint.fit({ one, other }, { sigma = 0.004, fixed = { D_offset = 300 } })
    local first = r.verdict.findings[1]
    assert.equal('apart', first.kind)
    assert.matches('^The data sets do not share alpha %(', first.text)
    assert.is_nil(first.text:find('D_offset', 1, true))
    assert.equal('not_shared', r.fits[1].verdict.findings[1].kind)
    assert.is_nil(table.concat(xpcs.joint.sentences(r), '\n'):find('of this joint fit do not share', 1, true))
    assert.matches('^Poor fit: the data sets do not share their parameters', r.verdict.conclusion)
  end)

  it('skips findings of a set by their kind, whatever their words', function()
    local r = xpcs.joint.fit(data, { sigma = 0.004 })
    local one = r.fits[1]
    local verdict = require 'workflows.xpcs.judge.verdict'
    local function shown() return table.concat(xpcs.joint.sentences(r), '\n') end
    verdict.put(one.verdict, 1, 'pairs', { 'D0', 'alpha' }, 'These two words are new.')
    verdict.put(one.verdict, 1, 'bound', { 'D0' }, 'Of all the value is at an end.')
    assert.is_nil(shown():find('are new', 1, true) or shown():find('at an end', 1, true))
    verdict.put(one.verdict, 1, 'bound', { 'contrast_1' }, 'Of this set a value is at an end.')
    verdict.put(one.verdict, 1, 'floor', { 'D0' }, 'These are correlated, D0 ended at its floor.')
    assert.is_truthy(shown():find('Data set 1: Of this set a value is at an end.', 1, true))
    assert.is_truthy(shown():find('Data set 1: These are correlated, D0 ended at its floor.', 1, true))
  end)

  it('has in joint.json what parameters.json has, tied parameters too, and prints its table', function()
    local o = { sigma = 0.004, ties = { D_offset = { to = 'D0', factor = 0.136 } } }
    local r = xpcs.joint.fit(data, o)
    local t = xpcs.joint.tables(r, data)
    local alone = xpcs.results.parameters(xpcs.fit(data[1], o))
    for _, name in ipairs { 'D0', 'D_offset' } do
      for key in pairs(alone.parameters[name]) do assert.not_nil(t.parameters[name][key], name .. ' ' .. key) end
      assert.equal('A^2/s', t.parameters[name].unit)
      assert.same({ 1, 2 }, t.parameters[name].data_sets)
    end
    assert.equal('tied', t.parameters.D_offset.state)
    near(0.136 * r.values.D0, t.parameters.D_offset.value, 1e-9 * r.values.D0)
    for key in pairs(alone.covariance) do assert.not_nil(t.covariance[key], key) end
    assert.equal(r.covariance_by, t.covariance.method)
    local text = tostring(r)
    assert.equal(r.verdict.conclusion, text:match '^[^\n]*')
    assert.matches('\nD_offset%s+A%^2/s%s+%S+%s+tied%s+sets 1, 2', text)
    assert.matches('\nchi2 [^\n]*points/s$', text)
    local lost = xpcs.joint.tables(xpcs.joint.fit(data, { sigma = 0.004, bounds = { D_offset = { 299, 301 } } }), data)
    assert.same({ false, mc.json.null }, { lost.parameters.D_offset.determined, lost.parameters.D_offset.uncertainty })
  end)

  it('lists a parameter that is fixed to another value in each set once per set', function()
    local r = xpcs.joint.fit(data, { sigma = 0.004, each = { { fixed = { D_offset = 290 } },
      { fixed = { D_offset = 310 } } } })
    local found = {}
    for _, q in ipairs(r.parameters) do if q.name:find '^D_offset' then found[q.name] = { q.value, q.state } end end
    assert.same({ ['D_offset[set 1]'] = { 290, 'fixed' }, ['D_offset[set 2]'] = { 310, 'fixed' } }, found)
  end)

  it('labels files of one name by what differs', function()
    local of = require('workflows.xpcs.model.labels').of
    local function set(path) return { path = path } end
    assert.same({ 'a/x.hdf', 'b/x.hdf', 'y.hdf' }, of { set 'r/a/x.hdf', set 'r/b/x.hdf', set 'r/a/y.hdf' })
    assert.same({ 'a/r/x.hdf', 'b/r/x.hdf' }, of { set 'a/r/x.hdf', set 'b/r/x.hdf' })
    assert.same({ 'x.hdf', 'x.hdf', '' }, of { set 'a/x.hdf', set 'a/x.hdf', set(nil) })
    assert.same({ 'x.hdf', 'a/x.hdf' }, of { set 'x.hdf', set 'a/x.hdf' })
    local list = {}
    for i, path in ipairs { '/r/a/x.npz', '/r/b/x.npz' } do
      list[i] = setmetatable({ path = path }, { __index = data[i] })
    end
    local page = tostring(require('workflows.xpcs.show.joint_report').page(xpcs.joint.fit(list, { sigma = 0.004 }),
      list))
    assert.is_truthy(page:find('a/x.npz', 1, true) and page:find('b/x.npz', 1, true))
    for _, part in ipairs { '<a href="set1/report.html">set1/report.html</a>', '<a href="set2/report.html">',
      'The angle of each data set that fits worst', 'data set 2 (b/x.npz), reduced chi2', 'Cuts of these angles' } do
      assert.is_truthy(page:find(part, 1, true), part)
    end
  end)

  it('is the least-squares solution of all residuals, and its errors are smaller', function()
    local r = xpcs.joint.fit(data, { sigma = 0.004, scaling = 'averaged' })
    assert.equal(3 + 4, r.n_parameters)
    local inside = mc.gt(mc.triu(mc.ones { 30, 30 }, 1), 0)
    local want = mc.optim.least_squares(function(x)
      local v, out = x:totable(), {}
      for i, s in ipairs(sets) do
        local kd = xpcs.model.constants(s)
        for f = 1, 2 do
          local m = xpcs.model.c2({ t = s.t, kd = kd, physics = { v[1], v[2], v[3] } }, s.phi[f], v[2 + 2 * i],
            v[3 + 2 * i])
          out[#out + 1] = ((m - s.c2[f]) / 0.004)[inside]
        end
      end
      return mc.concat(out, 1)
    end, { 2000, -0.3, 250, 0.25, 1, 0.3, 1 }, { x_scale = 'jac', ftol = 1e-15, xtol = 1e-15, gtol = 1e-15,
      jac = '3-point' })
    near(2 * want.cost, r.chi2, 1e-8 * r.chi2)
    local x = want.x:totable()
    for k, name in ipairs { 'D0', 'alpha', 'D_offset' } do near(x[k], r.values[name], 1e-3 * r.errors[name], name) end
    near(x[4], r.values['contrast[set 1]'], 1e-3 * r.errors['contrast[set 1]'])
    near(x[6], r.values['contrast[set 2]'], 1e-3 * r.errors['contrast[set 2]'])
    for i = 1, 2 do
      local alone = xpcs.fit(data[i], { sigma = 0.004, scaling = 'averaged' })
      assert.is_true(r.errors.alpha < alone.errors.alpha)
      near(r.values.alpha, r.fits[i].values.alpha, 0)
    end
    assert.is_truthy(xpcs.joint.table(r):find('sets 1, 2', 1, true))
  end)

  it('with nothing in common is the fits alone', function()
    local r = xpcs.joint.fit(data, { sigma = 0.004, scaling = 'averaged', shared = {} })
    local sum = 0
    for i = 1, 2 do
      local alone = xpcs.fit(data[i], { sigma = 0.004, scaling = 'averaged' })
      sum = sum + alone.chi2
      near(alone.values.D0, r.values[('D0[set %d]'):format(i)], 1e-3 * alone.errors.D0)
      near(alone.errors.D0, r.errors[('D0[set %d]'):format(i)], 1e-4 * alone.errors.D0)
    end
    near(sum, r.chi2, 1e-7 * sum)
  end)

  it('refuses one data set, the same one twice, and contrast in common', function()
    assert.is_false(pcall(xpcs.joint.fit, { data[1] }))
    for _, list in ipairs { { data[1], data[1] }, { data[1], data[2], data[1] } } do
      local twice, text = pcall(xpcs.joint.fit, list, { sigma = 0.004 })
      assert.is_false(twice)
      assert.is_truthy(text:find(('data set %d takes matrices of data set 1'):format(#list), 1, true), text)
    end
    local path = os.tmpname() .. '.npz'
    mc.save(path, { c2_exp = sets[1].c2, phi_angles_list = mc.tensor(sets[1].phi), t1 = sets[1].t,
      q = mc.tensor(sets[1].q) })
    local same, why_ = pcall(xpcs.joint.fit, { xpcs.open(path), xpcs.open(path) }, { sigma = 0.004 })
    os.remove(path)
    assert.is_true(not same and why_:find('takes matrices of data set 1', 1, true) ~= nil, why_)
    local ok, why = pcall(xpcs.joint.fit, data, { shared = { 'contrast' } })
    assert.is_false(ok)
    assert.is_truthy(why:find('belong to a data set', 1, true))
  end)

  it('says what the data determine, of all and of each data set, with true counts', function()
    local two = {}
    for k, physics in ipairs { { 5000, -0.5, -2500 }, { 5000, -0.5, -2500 } } do
      two[k] = xpcs.data.of(xpcs.simulate { n = 20, dt = 0.25, q = 0.008 + 0.002 * k, phi = { 0, 40 },
        physics = physics, sigma = 0.004, seed = k })
    end
    local r = xpcs.joint.fit(two, { sigma = 0.004, mode = 'static' })
    assert.is_true(r.iterations > 0 and r.seconds > 0)
    local most = 2 * 1e4 * 30 -- evaluations by points: more is no count
    assert.is_true(r.points_per_second * r.seconds < most * 100, r.points_per_second)
    for i, one in ipairs(r.fits) do
      assert.equal(r.iterations, one.iterations, i)
      assert.is_true(one.seconds > 0)
    end
    local words = table.concat(xpcs.joint.sentences(r), '\n')
    for _, part in ipairs { 'Data set 1: chi2', 'Data set 2: chi2', 'Data set 2: D(t) = D0 t^alpha' } do
      assert.is_truthy(words:find(part, 1, true), words)
    end
    local t = xpcs.joint.tables(r, two)
    assert.same({ r.verdict.sentences[1], r.iterations }, { t.verdict[1], t.iterations })
    assert.is_true(#t.data_sets[1].verdict > 0)
  end)

  --- Two data sets without a sigma of their own.
  local function bare()
    local list = {}
    for i, s in ipairs(sets) do list[i] = xpcs.data.of { c2 = s.c2, phi = s.phi, t = s.t, q = s.q, dt = s.dt } end
    return list
  end

  --- Standard error of D0 for sigma as it is given.
  local function scale(r)
    for a, name in ipairs(r.names) do if name == 'D0' then return math.sqrt(r.spectrum.covariance[a][a]) end end
  end

  it('takes sigma as known for all data sets or for none, and refuses a mix in any order', function()
    local list = bare()
    for i = 1, 2 do
      local each = { {}, {} }
      each[i].sigma = 0.004
      for _, absolute in ipairs { 'none', true, false } do
        local o = { each = each }
        if absolute ~= 'none' then o.absolute_sigma = absolute end
        local ok, why = pcall(xpcs.joint.fit, list, o)
        assert.is_false(ok)
        assert.is_truthy(why:find(('data set %d has no sigma and data set %d has one'):format(3 - i, i), 1, true), why)
      end
    end
    local given = xpcs.joint.fit(list, { each = { { sigma = 0.004 }, { sigma = 0.004 } } })
    assert.same({ true, false }, { given.absolute_sigma, given.sigma_is_default })
    near(1, given.errors.D0 / scale(given), 1e-12)
    local assumed = xpcs.joint.fit(list, {})
    assert.same({ false, true, 'untested' }, { assumed.absolute_sigma, assumed.sigma_is_default, assumed.quality_flag })
    near(math.sqrt(given.reduced_chi2), assumed.errors.D0 / given.errors.D0, 1e-6)
  end)

  it('takes absolute_sigma, of all data sets alike', function()
    local list = bare()
    for _, case in ipairs { { 0.008, false }, { nil, true }, { 0.008, true }, { nil, false } } do
      local r = xpcs.joint.fit(list, { sigma = case[1], absolute_sigma = case[2] })
      local what = ('%s %s'):format(tostring(case[1]), tostring(case[2]))
      assert.equal(case[2], r.absolute_sigma, what)
      near(case[2] and 1 or math.sqrt(r.reduced_chi2), r.errors.D0 / scale(r), 1e-12, what)
      for _, one in ipairs(r.fits) do
        assert.equal(case[2], one.absolute_sigma, what)
        assert.equal(r.errors.D0, one.errors.D0, what)
        assert.equal(r.sigma_is_default, one.sigma_is_default)
      end
      if not (case[1] and case[2]) then assert.equal('untested', r.quality_flag, what) end
    end
  end)

  it('counts both triangles for all data sets, as a single fit does', function()
    local o, twice = { sigma = 0.004 }, { sigma = 0.004, legacy_counting = true }
    local plain, both = xpcs.joint.fit(data, o), xpcs.joint.fit(data, twice)
    near(2 * plain.chi2, both.chi2, 1e-12 * both.chi2)
    near(both.chi2, both.fits[1].chi2 + both.fits[2].chi2, 1e-12 * both.chi2)
    assert.equal(2 * 2 * 30 * 30, both.n_points)
    assert.equal(both.n_points, both.fits[1].n_points + both.fits[2].n_points)
    local single = xpcs.fit(data[1], twice).errors.D0 / xpcs.fit(data[1], o).errors.D0
    near(single, both.errors.D0 / plain.errors.D0, 1e-9)
    assert.equal(both.errors.D0, both.fits[2].errors.D0)
  end)

  it('refuses for a data set alone what belongs to the whole fit', function()
    for name, v in pairs { loss = 'huber', absolute_sigma = false, legacy_counting = true, max_nfev = 7 } do
      local ok, why = pcall(xpcs.joint.fit, data, { sigma = 0.004, each = { {}, { [name] = v } } })
      assert.is_false(ok)
      assert.is_truthy(why:find(('each[2] holds %s, which belongs to all data sets'):format(name), 1, true), why)
    end
  end)

  it('gives a tied parameter the error of all data', function()
    local r = xpcs.joint.fit(data, { sigma = 0.004, ties = { D_offset = { to = 'D0', factor = -0.136 } } })
    for _, one in ipairs(r.fits) do
      assert.equal(r.errors.D0, one.errors.D0)
      near(0.136 * r.errors.D0, one.errors.D_offset, 1e-12 * r.errors.D0)
      for _, q in ipairs(one.parameters) do
        if q.name == 'D_offset' then assert.same({ 'tied', one.errors.D_offset }, { q.state, q.error }) end
      end
    end
  end)

  it('gives no error beyond the range of the bounds, in the whole and in each data set', function()
    local r = xpcs.joint.fit(data, { sigma = 0.004, bounds = { D_offset = { 299, 301 } } })
    for a, name in ipairs(r.names) do
      if name == 'D_offset' then assert.is_true(math.sqrt(r.covariance[a][a]) > 2) end
    end
    assert.equal(math.huge, r.errors.D_offset)
    assert.is_truthy(xpcs.joint.table(r):find('D_offset[^\n]*not determined'))
    for _, one in ipairs(r.fits) do assert.equal(math.huge, one.errors.D_offset) end
  end)

  it('has the chi2 of the residuals themselves under a robust loss', function()
    local r = xpcs.joint.fit(data, { sigma = 0.004, scaling = 'averaged', loss = 'cauchy' })
    local inside, sum = mc.gt(mc.triu(mc.ones { 30, 30 }, 1), 0), 0
    for i, s in ipairs(sets) do
      local kd, own = xpcs.model.constants(s), 0
      for f = 1, 2 do
        local m = xpcs.model.c2({ t = s.t, kd = kd, physics = { r.values.D0, r.values.alpha, r.values.D_offset } },
          s.phi[f], r.values[('contrast[set %d]'):format(i)], r.values[('offset[set %d]'):format(i)])
        local d = ((m - s.c2[f]) / 0.004)[inside]
        own = own + mc.sum(d * d):item()
      end
      near(own, r.fits[i].chi2, 1e-9 * own)
      sum = sum + own
    end
    near(sum, r.chi2, 1e-9 * sum)
    near(sum / r.dof, r.reduced_chi2, 1e-9)
    assert.is_true(2 * r.point.cost < 0.9 * sum)
  end)

  it('starts from the end of each data set: one that went astray takes no other along', function()
    -- where D is cut off at every time, no derivative leads back
    local astray = { initial = { D0 = 100, alpha = -2, D_offset = -1e5 } }
    local want = xpcs.joint.fit(data, { sigma = 0.004 })
    assert.is_true(xpcs.fit(data[1], { sigma = 0.004, initial = astray.initial, rescue = false }).chi2 > 2 * want.chi2)
    for _, each in ipairs { { astray, {} }, { {}, astray } } do
      near(want.chi2, xpcs.joint.fit(data, { sigma = 0.004, each = each }).chi2, 1e-6 * want.chi2)
    end
  end)

  it('starts with own numbers that go with the shared ones, also from the far end of a ridge', function()
    local function set(n, q, seed)
      return xpcs.data.of(xpcs.simulate { n = n, q = q, dt = 0.5, phi = { 10, 70 }, sigma = 0.004, seed = seed,
        physics = { 2500, -0.35, 300, 0.0012, -0.2, 0.0003, 3 } })
    end
    local list, o = { set(20, 0.01, 1), set(30, 0.016, 21) }, { sigma = 0.004, scaling = 'averaged',
      mode = 'laminar_flow', shared = { 'D0', 'gamma_dot_t0', 'beta', 'gamma_dot_t_offset', 'phi0' } }
    assert.is_true(xpcs.fit(list[2], { sigma = 0.004, scaling = 'averaged', mode = o.mode }).values.D0 > 3e4)
    local r = xpcs.joint.fit(list, o)
    assert.is_true(r.iterations < 200, r.iterations)
    for _, one in ipairs(r.fits) do assert.equal(0, #one.cuts) end
    for _, name in ipairs { 'D_offset[set 1]', 'D_offset[set 2]' } do assert.is_true(r.values[name] > -1e4, name) end
  end)

  it('moves along the ridge of shared parameters once', function()
    local n = #xpcs.fit(data[1], { sigma = 0.004 }).problem.ridges
    assert.equal(1, n)
    for shared, count in pairs { all = n, none = 2 * n } do
      local r = xpcs.joint.fit(data, { sigma = 0.004, shared = shared == 'none' and {} or nil })
      assert.equal(count, #r.problem.ridges, shared)
    end
  end)

  it('has the errors of correlated noise, and says so of each data set that shows it', function()
    local list = {}
    for i, s in ipairs(sets) do -- what the two times of a pair share
      local frames = mc.randn { 30, seed = 7 + i } * 0.004
      local both = s.c2 + frames:reshape(1, 30, 1) + frames:reshape(1, 1, 30)
      list[i] = xpcs.data.of { c2 = both, phi = s.phi, t = s.t, q = s.q, dt = s.dt }
    end
    local o = { sigma = 0.007 }
    local r = xpcs.joint.fit(list, o)
    for i, one in ipairs(r.fits) do
      local alone = xpcs.fit(list[i], o)
      assert.is_true(alone.noise.factor > 1.5 and alone.covariance_by:find 'correlated' ~= nil)
      assert.is_true(one.noise.correlated and one.noise.factor > 1.5)
      assert.equal(r.errors.D0, one.errors.D0)
      assert.is_true(r.errors.D0 > 1.3 * scale(r) and r.errors.D0 < alone.errors.D0)
      local words = table.concat(one.verdict.sentences, '\n')
      assert.is_truthy(words:find('Standard errors are those of correlated noise', 1, true), words)
    end
  end)

  it('of further files takes the q that each holds, whatever is asked of the first, also where q are strict', function()
    local folder, names = os.tmpname(), {}
    os.remove(folder)
    assert(mc.file.make_folder(folder))
    for i, s in ipairs(sets) do
      names[i] = ('%s/%d.npz'):format(folder, i)
      mc.save(names[i], { c2_exp = s.c2, phi_angles_list = mc.tensor(s.phi), t1 = s.t, q = mc.tensor(s.q) })
    end
    local half = mc.triu(sets[2].c2[1])
    names[3] = folder .. '/3.h5'
    mc.save(names[3], { xpcs = { dqlist = mc.tensor { { 0.014 } }, dphilist = mc.tensor { { 0 } } },
      exchange = { C2T_all = { g2_00001 = half } } })
    local list
    local ok, why = pcall(function()
      for _, strict in ipairs { false, true } do
        local s = xpcs.run.settings { data_file = names[1], q = 0.010, dt = 0.5, strict_q = strict or nil,
          joint = { names[2], names[3] } }
        list = xpcs.run.others(s, xpcs.run.data(s, true), true)
        for i = 2, 3 do
          assert.equal(0.014, list[i].q)
          assert.is_nil(table.concat(list[i].warnings):match '[^;]*q = [^;]*')
        end
      end
    end)
    os.execute("rm -rf '" .. folder .. "'")
    assert.is_true(ok, tostring(why))
    assert.equal(3, #list)
  end)

  it('of data whose shear is weighed has no test by reduced chi2, as a single fit has none', function()
    local list = {}
    for i, q in ipairs { 0.005, 0.007 } do
      list[i] = xpcs.data.of(xpcs.simulate { n = 30, q = q, dt = 0.1, gap = 2e6, phi = { -40, 0, 40, 80 },
        physics = { 1000, -0.3, 20, 3e-3, -0.2, 1e-4, -6 }, sigma = 0.004, seed = i })
    end
    for _, weighting in ipairs { false, true } do
      local o = { sigma = 0.003, shear_weighting = weighting or nil }
      for _, r in ipairs { xpcs.fit(list[1], o), xpcs.joint.fit(list, o) } do
        assert.is_true(r.reduced_chi2 > 1.5)
        assert.equal(weighting, xpcs.verdict.misfit(r) == nil)
      end
    end
  end)
end)
