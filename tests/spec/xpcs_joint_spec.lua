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
end)
