-- xpcs_fit_spec.lua - fits of mc.xpcs: SciPy's solutions under every loss, the reference values of sets A and B,
-- covariance, what is not determined, intervals.
local mc = require 'mascon'
local xpcs = mc.xpcs
local generate, data_of = xpcs.generate, xpcs.data
local golden = mc.load((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/golden/xpcs.npz')

local function near(want, got, bound, what)
  assert.is_true(math.abs(want - got) <= bound, ('%s: %.15g instead of %.15g'):format(what or '', got, want))
end

local START_B = { D0 = 6000, alpha = 0.25, D_offset = 700, gamma_dot_0 = 4.5e-4, beta = -0.3, gamma_dot_offset = 1e-4,
  phi0 = 5 }

--- Values and errors of a fit against references: x to 1e-4 standard errors, errors to 1e-5, chi2 to 1e-9.
local function agrees(r, values, errors, chi2)
  local at = 0
  for _, q in ipairs(r.parameters) do
    if q.state == 'free' then
      at = at + 1
      near(values[at], q.value, 1e-4 * q.error, q.name)
    end
  end
  for name, e in pairs(errors or {}) do near(e, r.errors[name], 1e-5 * e, 'error of ' .. name) end
  near(chi2, r.chi2, 1e-9 * chi2, 'chi2')
  assert.is_true(r.last_step < 1e-6)
end

describe('xpcs.fit', function()
  local A, B = generate.set 'A', generate.set 'B'
  local a, b = data_of.of(A), data_of.of(B)
  teardown(function() golden, A, B, a, b = nil, nil, nil, nil, nil end)

  it('reaches the reference solutions of set A', function()
    local r = xpcs.fit(a, { scaling = 'individual', sigma = A.sigma, initial = { D0 = 2800, alpha = -0.45,
      D_offset = 220 } })
    agrees(r, { .2509403567791, .2998329927214, .3495318545216, .9990807696495, 1.019912051713, .9800248146658,
      2213.650215769, -.3286880476571, 247.7344780952 },
      { D0 = 138.3426, alpha = .03604042, D_offset = 153.5539 }, 910.8193519646)
    near(-.98620, r.correlation[7][9] / 1, 1e-2)
    r = xpcs.fit(a, { scaling = 'constant', contrast = A.contrast, offset = A.offset, sigma = A.sigma })
    agrees(r, { 2219.608645157, -.329504343902, 251.5472620266 }, { D0 = 136.3076, alpha = .03563617,
      D_offset = 151.4344 }, 914.7000818785)
    r = xpcs.fit(a, { scaling = 'averaged', sigma = A.sigma })
    agrees(r, { .2836837417713, 1.001656340508, 2205.534644126, -.3312005720866, 258.2711580383 }, nil, 28321.49265527)
  end)

  it('leaves the lists of its options and of its data as they are', function()
    local contrast, offset = { 0.1, 0.2, 0.3, 0.4, 0.35 }, { 1, 1.01, 1.02, 1, 1 }
    local of = data_of.of { c2 = B.c2, phi = B.phi, t = B.t, q = B.q, gap = B.gap, dt = B.dt, mode = 'laminar_flow' }
    of.start_contrast, of.start_offset = { unpack(contrast) }, { unpack(offset) }
    for _, scaling in ipairs { 'constant', 'averaged', 'individual', 'fourier' } do
      for _, given in ipairs { true, false } do
        xpcs.fit(of, { sigma = B.sigma, scaling = scaling, contrast = given and contrast or nil,
          offset = given and offset or nil, initial = START_B, max_nfev = 5 })
      end
    end
    assert.same({ 0.1, 0.2, 0.3, 0.4, 0.35 }, contrast)
    assert.same({ 1, 1.01, 1.02, 1, 1 }, offset)
    assert.same(contrast, of.start_contrast)
    assert.same(offset, of.start_offset)
    assert.same(generate.SETS.B.contrast, { 0.3, 0.3, 0.3, 0.3, 0.3 })
  end)

  it('reaches those of set B from a start, and from none', function()
    local averaged = { .2999201824537, 1.000036692911, 7691.917678927, .2145785972324, -1843.684963939,
      2.943108943595e-4, -.3704229765509, 2.267291248945e-4, 3.801734324578 }
    local errors = { contrast = 5.297273e-4, offset = 1.32359e-4, D0 = 1870.878, alpha = .0438964, D_offset = 1886.257,
      gamma_dot_t0 = 3.220685e-5, beta = .04948819,
      gamma_dot_t_offset = 3.128548e-5, phi0 = .1633753 }
    for _, initial in ipairs { START_B, {} } do
      local r = xpcs.fit(b, { sigma = B.sigma, initial = initial })
      agrees(r, averaged, errors, 1886.027534285)
      near(-.99976, r.correlation[3][5], 5e-6)
      assert.equal('good', r.quality_flag)
      assert.equal('converged', r.convergence_status)
    end
    local r = xpcs.fit(b, { sigma = B.sigma, scaling = 'individual', initial = START_B })
    agrees(r, { .2997333359715, .299557033561, .3003031569015, .299066328578, .3007804879617, 1.000288292811,
      1.00012545017, .9999060411569, .9998447428879, .9995874929193, 7618.549047067,
      .215251957355, -1776.116914165, 2.924109285092e-4, -.3716069531347, 2.289599570523e-4, 3.62530680662 }, nil,
        1881.272804047)
    r = xpcs.fit(b, { sigma = B.sigma, scaling = 'constant', contrast = B.contrast, offset = B.offset,
      initial = START_B })
    near(1886.122247333, r.chi2, 2e-6)
    near(3.792676190965, r.values.phi0, 1e-4 * .1575972612728)
    near(.1575972612728, r.errors.phi0, 1e-6)
  end)

  it('agrees with SciPy under every loss, contrast and offset common or per angle', function()
    for _, way in ipairs { 'common', 'each' } do
      for _, loss in ipairs { 'linear', 'soft_l1', 'huber', 'cauchy', 'arctan' } do
        local name = way .. ' ' .. loss
        local x, e, cost = golden['x ' .. name]:totable(), golden['error ' .. name]:totable(), golden['cost '
          .. name]:item()
        local r = xpcs.fit(b, { sigma = B.sigma, scaling = way == 'common' and 'averaged' or 'individual', loss = loss,
          initial = START_B })
        near(cost, r.cost, 1e-12 * cost, name)
        assert.is_true(r.chi2 >= 1886 - 4.8 and r.chi2 < 1920,
          ('%s: chi2 %g is that of the residuals themselves'):format(name, r.chi2))
        for k, q in ipairs(r.parameters) do
          near(x[k], q.value, 1e-4 * e[k], name .. ' ' .. q.name)
          near(e[k], q.error, 1e-4 * e[k], name .. ' error of ' .. q.name)
        end
      end
    end
  end)

  it('with five Fourier numbers for five angles is the individual fit', function()
    local r = xpcs.fit(b, { sigma = B.sigma, scaling = 'fourier', initial = START_B })
    near(1881.272804047, r.chi2, 1e-5)
    local few = xpcs.fit(a, { sigma = A.sigma, scaling = 'fourier' })
    assert.equal('individual', few.scaling)
    assert.is_truthy(table.concat(few.warnings, '\n'):find('fourier needs at least 5 angles', 1, true))
  end)

  it('gives the numbers of a Fourier series room where angles are spread unevenly', function()
    local d = data_of.of(xpcs.simulate { n = 20, dt = 0.1, q = 0.0108, phi = { -159.5, -58.5, 9.2, -135, -163 },
      physics = { 1000, -0.3, 50 }, sigma = 0.005, seed = 3 })
    local o = { mode = 'static', sigma = 0.005 }
    local costs = {}
    for _, scaling in ipairs { 'individual', 'fourier' } do
      o.scaling = scaling
      costs[#costs + 1] = xpcs.fit(d, o).cost
    end
    near(costs[1], costs[2], 1e-6 * costs[1])
  end)

  it('gives a parameter that leans on an undetermined combination an error that holds it', function()
    -- alpha near 0: D0 and D_offset are not determined; the error of alpha lies in that combination
    local missed, undetermined = 0, 0
    for seed = 1, 12 do
      local s = xpcs.simulate { n = 30, dt = 0.1, q = 0.0108, phi = { 0, 60 }, physics = { 1000, 0.05, 50 },
        sigma = 0.005, seed = seed }
      local r = xpcs.fit(data_of.of(s), { mode = 'static', sigma = 0.005, scaling = 'averaged' })
      if r.errors.D0 == math.huge then
        undetermined = undetermined + 1
        if math.abs(r.values.alpha - 0.05) > 3 * r.errors.alpha then missed = missed + 1 end
      end
    end
    assert.is_true(undetermined >= 3)
    assert.equal(0, missed)
  end)

  it('finds the truth of data without noise, from five starts and from none', function()
    local s = generate.SETS.B
    local clean = { c2 = B.model, phi = s.phi, t = B.t, q = s.q, gap = s.gap, dt = s.dt, mode = 'laminar_flow' }
    local d = data_of.of(clean)
    local list
    for k = 0, 5 do
      local initial = {}
      if k > 0 then for i,
        p in ipairs(xpcs.parameters.LIST) do initial[p.name] = s.physics[i] * (1 + 0.1 * ((k * i) % 3 - 1)) end end
      local r = xpcs.fit(d, { sigma = s.sigma, initial = initial })
      assert.is_true(r.chi2 < 1e-10, ('start %d: chi2 %g'):format(k, r.chi2))
      for i, p in ipairs(xpcs.parameters.LIST) do near(s.physics[i], r.values[p.name], 1e-6 * math.abs(s.physics[i]),
        p.name) end
      list = list or r
    end
    s = generate.SETS.A
    d = data_of.of { c2 = A.model, phi = s.phi, t = A.t, q = s.q, dt = s.dt, mode = 'static' }
    for _, initial in ipairs { {}, { D0 = 2420, alpha = -0.315, D_offset = 270 } } do
      local r = xpcs.fit(d, { sigma = s.sigma, scaling = 'individual', initial = initial })
      for i, v in ipairs(s.physics) do near(v, r.values[xpcs.parameters.LIST[i].name], 1e-6 * math.abs(v), 'set A') end
    end
  end)

  it('is not caught where D or G is floored: a fit that starts at the truth ends below it', function()
    local list = xpcs.parameters.LIST
    for _, seed in ipairs { 3, 4, 6 } do
      local s = generate.simulate { n = 60, q = 0.01, dt = 0.25, phi = { -60, -20, 20, 55, 85 },
        seed = seed, sigma = 0.004 }
      local d, initial, fixed = data_of.of(s), {}, {}
      for i, p in ipairs(list) do
        initial[p.name] = s.physics[i]
        if p.name ~= 'phi0' then fixed[#fixed + 1] = p.name end
      end
      local r = xpcs.fit(d, { sigma = 0.004, initial = initial })
      local near_truth = xpcs.fit(d, { sigma = 0.004, initial = initial, fixed = fixed })
      assert.is_true(r.chi2 < near_truth.chi2, ('seed %d: %g, %g'):format(seed, r.chi2, near_truth.chi2))
    end
  end)

  it('finds a decay that is over within a step of the coarse copy of all times', function()
    local physics = { 3000, -0.2, 500, 2e-3, 0.1, 1e-4, 3 }
    local d, truth = data_of.of(generate.simulate { n = 240, q = 0.01, phi = { -90, 0, 90 }, physics = physics }), {}
    for i, name in ipairs(xpcs.parameters.names 'laminar_flow') do truth[name] = physics[i] end
    local best = xpcs.fit(d, { sigma = 0.01, initial = truth })
    near(best.chi2, xpcs.fit(d, { sigma = 0.01 }).chi2, 0.1, 'chi2')
  end)

  it('finds a decay that is over within one step, however far the bounds of D0 reach', function()
    local s = generate.simulate { n = 59, q = 0.01, dt = 0.5, phi = { 0, 10, 20, 30, 40 }, physics = { 5e4, 0, 0 },
      contrast = 0.25, sigma = 0.03, seed = 4 }
    local d = data_of.of(s)
    local o = { mode = 'static', scaling = 'averaged', fixed = { alpha = 0, D_offset = 0 } }
    local near_by = xpcs.fit(d, o)
    o.bounds = { D0 = { 0.1, 1e7 } }
    local r = xpcs.fit(d, o)
    near(near_by.chi2, r.chi2, 0.05)
    assert.is_true(r.values.D0 > 2e4 and r.values.D0 < 2e5, r.values.D0)
    -- where the fit is held beyond the decay, g1 is 0 and no number of the noise is made of it
    o.bounds, o.initial, o.contrast = { D0 = { 1e6, 1e7 } }, { D0 = 2e6 }, { 1e-3, 1e-3, 1e-3, 1e-3, 1e-3 }
    r = xpcs.fit(d, o)
    for _, v in ipairs(r.noise.scatter) do near(1, v, 0.2) end
    assert.is_nil(r.noise.counting)
  end)

  it('is a table and a verdict at the prompt, data one line', function()
    local r = xpcs.fit(b, { sigma = B.sigma })
    assert.equal('5 angles x 28 times, q = 0.01 1/A, 1890 points', tostring(b))
    local shown = tostring(r)
    assert.is_truthy(shown:find(r.verdict.sentences[1], 1, true))
    assert.matches('gamma_dot_t0 +1/s +2%.94e%-4 +3%.2e%-5', shown)
    assert.matches('reduced 1%.00', shown)
    local arrays = xpcs.results.arrays(r)
    assert.equal(r.errors.contrast, arrays.contrast_error[1]:item())
    assert.equal(r.errors.offset, arrays.offset_error[1]:item())
  end)

  it('finds the valley of the truth where shear and diffusion look alike', function()
    for _, case in ipairs {
      { 34, { 0, 45, 90 }, { 636, 0.421, 263, 8.86e-4, 0.278, 9.21e-4, 4.93 }, 0.145, 1.015 },
      { 42, { 0, 45, 90 }, { 926, -0.446, 121, 8.32e-4, 0.00417, 4.51e-4, 2.45 }, 0.15, 1.018 },
      { 53, { 0, 45, 90 }, { 2150, -0.56, 141, 2.31e-3, 0.561, 5.71e-4, -4.87 }, 0.333, 0.975 },
      { 54, { 0, 45, 90 }, { 8660, -0.608, 162, 9.01e-3, -0.459, 5.05e-5, -2.8 }, 0.38, 0.971 },
      { 65, { -80, -40, 5, 33, 60 }, { 896, -0.209, 249, 0.015, 0.202, 2.48e-4, 1.48 }, 0.2, 1.021 },
    } do
      local n, phi, physics, contrast, offset = unpack(case)
      local d, truth = data_of.of(generate.simulate { n = n, dt = 0.25, q = 0.01, phi = phi, physics = physics,
        contrast = contrast, offset = offset, sigma = 0.004, seed = n }), {}
      for i, name in ipairs(xpcs.parameters.names 'laminar_flow') do truth[name] = physics[i] end
      local best = xpcs.fit(d, { sigma = 0.004, initial = truth })
      local own = xpcs.fit(d, { sigma = 0.004 })
      assert(own.chi2 < best.chi2 + 1, ('%d times: chi2 %g, from the truth %g'):format(n, own.chi2, best.chi2))
    end
  end)

  it('finds a flow that is not along the axis, where the bounds allow it', function()
    for _, physics in ipairs { { 211, -0.0696, 144, 1.33e-3, -0.516, 6.57e-4, -74.5 },
      { 275, -0.696, 111, 1e-3, 0.18, 6.77e-4, 87.2 } } do
      local d, truth = data_of.of(generate.simulate { n = 62, dt = 0.25, q = 0.01, phi = { 0, 50, 110 },
        physics = physics, contrast = 0.2, sigma = 0.004, seed = 25 }), {}
      for i, name in ipairs(xpcs.parameters.names 'laminar_flow') do truth[name] = physics[i] end
      local o = { sigma = 0.004, bounds = { phi0 = { -90, 90 } } }
      local own = xpcs.fit(d, o)
      o.initial = truth
      local best = xpcs.fit(d, o)
      assert(own.chi2 < best.chi2 + 4, ('phi0 %g: chi2 %g, from the truth %g'):format(own.values.phi0, own.chi2,
        best.chi2))
    end
  end)

  it('starts again inside where a scale vanished or a power ran to its bound', function()
    local r = xpcs.fit(b, { sigma = B.sigma, initial = START_B })
    local p, x = r.problem, { unpack(r.point.x) }
    local function at_bound(v, low, high) return v <= low and 'lower' or v >= high and 'upper' or nil end
    assert.same({}, require('workflows.xpcs.fit.start').off_bounds(p, x, at_bound))
    x[6], x[7] = 1e-6, -2 -- gamma_dot_t0, beta
    local list, time = require('workflows.xpcs.fit.start').off_bounds(p, x, at_bound), math.sqrt(0.25 * 7)
    assert.equals(2, #list)
    for _, y in ipairs(list) do
      near(x[6] * time ^ x[7] + x[8], y[6] * time ^ y[7] + y[8], 1e-15, 'shear rate at the middle')
      assert.is_nil(at_bound(y[6], 1e-6, 0.5) or at_bound(y[7], -2, 2))
      for _, k in ipairs { 1, 2, 3, 4, 5, 9 } do assert.equals(x[k], y[k]) end
    end
  end)

  it('is the same to the bit when it is run again and on other threads', function()
    local threads, first = mc.get_num_threads(), nil
    for _, n in ipairs { 1, 1, 2, 4 } do
      mc.set_num_threads(n)
      local r = xpcs.fit(b, { sigma = B.sigma })
      first = first or r
      for k, v in ipairs(first.point.x) do assert.is_true(v == r.point.x[k]) end
      assert.is_true(first.chi2 == r.chi2)
    end
    mc.set_num_threads(threads)
  end)

  it('keeps fixed, tied and bounded parameters where they belong', function()
    local r = xpcs.fit(b, { sigma = B.sigma, initial = START_B, fixed = { phi0 = 4, 'beta' } })
    assert.equal(4, r.values.phi0)
    assert.equal(-0.3, r.values.beta)
    assert.equal(7, r.n_parameters)
    r = xpcs.fit(b, { sigma = B.sigma, initial = START_B, active = { 'D0', 'alpha' } })
    assert.equal(4, r.n_parameters)
    r = xpcs.fit(b, { sigma = B.sigma, initial = START_B, ties = { gamma_dot_t_offset = { to = 'gamma_dot_t0',
      factor = 0.3 } } })
    near(0.3 * r.values.gamma_dot_t0, r.values.gamma_dot_t_offset, 1e-18)
    near(0.3 * r.errors.gamma_dot_t0, r.errors.gamma_dot_t_offset, 1e-18)
    local named = xpcs.fit(b, { sigma = B.sigma, initial = START_B, ties = { gamma_dot_offset = { to = 'gamma_dot_0',
      factor = 0.3, shift = 1e-4 } } })
    local placed = xpcs.fit(b, { sigma = B.sigma, initial = START_B, ties = { gamma_dot_t_offset = { 'gamma_dot_t0',
      0.3, 1e-4 } } })
    assert.equal(0.3 * named.values.gamma_dot_t0 + 1e-4, named.values.gamma_dot_t_offset)
    assert.same(named.values, placed.values)
    r = xpcs.fit(b, { sigma = B.sigma, initial = START_B, bounds = { D0 = { 100, 5000 }, alpha = { 0.3, 0.3 } } })
    assert.equal(0.3, r.values.alpha)
    assert.is_true(r.values.D0 <= 5000)
    assert.equal('upper', r.parameters[3].at_bound)
    r = xpcs.fit(b, { sigma = B.sigma, initial = START_B, bounds = { D0 = { 100, 3000 } } })
    assert.equal('upper', r.parameters[3].at_bound)
    assert.equal('marginal', r.quality_flag)
    assert.is_truthy(table.concat(r.verdict.sentences, ' '):find('D0 ended at its upper bound', 1, true))
    assert.is_truthy(table.concat(r.warnings, ' '):find('D0 starts at 6000', 1, true))
  end)

  it('says of which tie what is wrong, alone and jointly', function()
    local again = xpcs.data.of(B)
    for _, case in ipairs {
      { 3, 'the tie of beta is 3' }, { {}, 'the tie of beta names no parameter' },
      { { 0.3 }, 'the tie of beta names no parameter' },
      { { 'alpa' }, "tie of beta: there is no parameter 'alpa' (did" },
      { { to = 'alpha', factr = 2 }, "the tie of beta holds 'factr'" },
      { { 'alpha', '2' }, "the tie of beta: factor is '2'" },
      { { to = 'alpha', shift = mc.nan }, 'the tie of beta: shift is nan' },
      { { 'beta' }, 'beta cannot be tied to beta' },
    } do
      local ok, why = pcall(xpcs.fit, b, { sigma = B.sigma, ties = { beta = case[1] } })
      assert.is_false(ok)
      assert.is_truthy(tostring(why):find(case[2], 1, true), tostring(why))
      ok, why = pcall(xpcs.joint.fit, { b, again }, { sigma = B.sigma, ties = { beta = case[1] } })
      assert.is_false(ok)
      assert.is_truthy(tostring(why):find(case[2], 1, true), tostring(why))
    end
    local ok, why = pcall(xpcs.fit, b, { sigma = B.sigma, ties = { bet = { 'alpha' } } })
    assert.is_true(not ok and tostring(why):find("ties: there is no parameter 'bet'", 1, true) ~= nil, tostring(why))
  end)

  it('counts pairs once unless told, and scales errors by the misfit when sigma is a default', function()
    local r = xpcs.fit(b, { sigma = B.sigma, initial = START_B })
    local old = xpcs.fit(b, { sigma = B.sigma, initial = START_B, legacy_counting = true })
    assert.equal(1890, r.n_points)
    assert.equal(5 * 28 * 28, old.n_points)
    near(2 * r.chi2, old.chi2, 1e-8)
    near(r.errors.D0 / math.sqrt(2), old.errors.D0, 1e-6)
    assert.is_false(xpcs.fit(b, { initial = START_B }).sigma_is_default) -- the data say it
    local unknown = {}
    for k, v in pairs(B) do unknown[k] = k ~= 'sigma' and v or nil end
    local guess = xpcs.fit(xpcs.data.of(unknown), { initial = START_B })
    assert.is_true(guess.sigma_is_default)
    near(r.errors.D0 * math.sqrt(r.reduced_chi2), guess.errors.D0, 1e-4)
    assert.is_truthy(table.concat(guess.warnings, ' '):find('no sigma was given', 1, true))
  end)

  it('weights angles for shear only when asked, and says the unweighted chi2', function()
    local r = xpcs.fit(b, { sigma = B.sigma, initial = START_B, shear_weighting = {} })
    assert.equal(5, #r.shear_weights)
    assert.is_true(r.unweighted_chi2 > 1886.0275 and r.chi2 ~= r.unweighted_chi2)
  end)

  it('says qL/2 apart: shear rates pi times smaller', function()
    local r = xpcs.fit(b, { sigma = B.sigma, initial = START_B })
    local other = xpcs.fit(b, { sigma = B.sigma, phase_convention = 'qL/2' })
    near(r.values.gamma_dot_t0 / math.pi, other.values.gamma_dot_t0, 1e-3 * other.errors.gamma_dot_t0)
    near(r.chi2, other.chi2, 1e-6)
  end)
end)

describe('xpcs verdict', function()
  local function degenerate(physics, phi, o)
    local s = generate.simulate { n = 30, dt = 0.25, q = 0.01, phi = phi, physics = physics, sigma = 0.004, seed = 3 }
    o.sigma, o.mode = 0.004, #physics == 3 and 'static' or 'laminar_flow'
    return xpcs.fit(data_of.of(s), o)
  end

  it('names D0 and D_offset at alpha = 0, g0 and its offset at beta = 0', function()
    local r = degenerate({ 5000, 0, 900 }, { 0, 40, 80 }, { fixed = { alpha = 0 }, initial = { D0 = 4000,
      D_offset = 500 } })
    assert.equal('undetermined', r.verdict.level)
    assert.same({ 'D0', 'D_offset' }, r.verdict.undetermined[1].names)
    assert.equal(math.huge, r.errors.D0)
    assert.equal(math.huge, r.errors.D_offset)
    assert.is_true(r.errors.contrast < 0.01)
    near(5900, r.values.D0 + r.values.D_offset, 100)
    r = degenerate({ 5000, 0.3, 900, 4e-4, 0, 1e-4, 4 }, { 0, 40, 80 }, { fixed = { beta = 0 },
      initial = { gamma_dot_t0 = 4e-4, gamma_dot_t_offset = 5e-5, D0 = 5000, alpha = 0.3, D_offset = 900, phi0 = 4 } })
    assert.same({ 'gamma_dot_t0', 'gamma_dot_t_offset' }, r.verdict.undetermined[1].names)
    near(5e-4, r.values.gamma_dot_t0 + r.values.gamma_dot_t_offset, 2e-5)
    assert.is_true(r.errors.D0 < math.huge)
    -- the power of such a rate has an error for one place of the ridge, which is none
    r = degenerate({ 5900, 0, 0 }, { 0, 40, 80 }, { initial = { D0 = 5900, alpha = 0, D_offset = 0 } })
    assert.same({ math.huge, math.huge, math.huge }, { r.errors.D0, r.errors.D_offset, r.errors.alpha })
    assert.matches('hold the constant part %(fixed = { D_offset = 0 }%), or take the rate', r.verdict.conclusion)
  end)

  it('names phi0 with the shear rate for one angle and for angles 180 deg apart', function()
    for _, phi in ipairs { { 20 }, { 20, 200, 20 } } do
      local r = degenerate({ 5000, 0.3, 900, 4e-4, -0.25, 1.2e-4, 4 }, phi, { initial = START_B })
      local found
      for _, u in ipairs(r.verdict.undetermined) do
        local list = table.concat(u.names, ' ')
        found = found or (list:find 'phi0' and list:find 'gamma_dot_t0')
      end
      assert.is_truthy(found, table.concat(r.verdict.sentences, '\n'))
      assert.equal(math.huge, r.errors.phi0)
    end
  end)

  it('says where standard errors hold too little, and which intervals are open', function()
    local s = generate.simulate { n = 40, q = 0.01, dt = 0.25, phi = { -60, -20, 20, 55, 85 }, sigma = 0.008, seed = 2,
      physics = { 3000, -0.2, 500, 2e-3, 0.1, 1e-4, 3 } }
    local r = xpcs.fit(data_of.of(s), { sigma = 0.008 })
    local words = table.concat(r.verdict.sentences, '\n')
    assert.is_truthy(words:find('D0, alpha and D_offset trade off along a curved valley of chi2', 1, true), words)
    local list = xpcs.intervals.profile(r, { 'D0' }, 0.95)
    words = table.concat(r.verdict.sentences, '\n')
    assert.equal(list.D0.high_open, words:find('interval of D0 is open', 1, true) ~= nil)
    assert.is_true(list.D0.high_open)
    list = xpcs.intervals.profile(r, { 'alpha', 'D0' }, 0.95) -- which moves along the ridge, up to the bound of D0
    assert.is_true(list.alpha.low_by == 'D0' or list.alpha.high_by == 'D0')
    assert.is_truthy(xpcs.report.table(r):find('(bound of D0)', 1, true))
  end)

  it('gives no number for an error beyond the range of the bounds, in no output', function()
    local s = xpcs.simulate { n = 12, dt = 0.25, q = 0.01, phi = { 0, 60 }, physics = { 5000, 0.3, 900 }, sigma = 0.02,
      seed = 1 }
    local r = xpcs.fit(data_of.of(s), { sigma = 0.02, mode = 'static', bounds = { alpha = { 0.29, 0.31 } } })
    local at
    for k, name in ipairs(r.names) do if name == 'alpha' then at = k end end
    assert.is_true(math.sqrt(r.covariance[at][at]) > 0.02)
    assert.equal(math.huge, r.errors.alpha)
    assert.is_truthy(table.concat(r.verdict.sentences, '\n'):find('do not determine [^.]*alpha'))
    assert.is_truthy(xpcs.report.table(r):find('alpha[^\n]*not determined'))
    local p = xpcs.results.parameters(r)
    assert.same({ mc.json.null, false }, { p.parameters.alpha.uncertainty, p.parameters.alpha.determined })
    assert.equal(mc.json.null, p.covariance.matrix[at][at])
    assert.equal(math.huge, xpcs.results.arrays(r).alpha_error:item())
    assert.equal(math.huge, xpcs.results.arrays(r).covariance[{ at, at }]:item())
  end)

  it('says at which times D is 0 or less, and what the data determine then', function()
    local physics = { 5000, -0.5, -2500 }
    local s = xpcs.simulate { n = 20, dt = 0.25, q = 0.01, phi = { 0, 40 }, physics = physics, sigma = 0.004, seed = 3 }
    local d = data_of.of(s)
    local r = xpcs.fit(d, { sigma = 0.004, mode = 'static', initial = { D0 = 5000, alpha = -0.5, D_offset = -2500 } })
    local count, from = 0, nil
    for i, t in ipairs(d.t:totable()) do
      if r.values.D0 * math.max(t, 0.125) ^ r.values.alpha + r.values.D_offset <= 1e-10 then
        count, from = count + 1, from or t
      end
    end
    assert.is_true(count > 0 and count < d.n)
    local words = table.concat(r.verdict.sentences, '\n')
    assert.is_truthy(words:find(('D(t) = D0 t^alpha + D_offset is 0 or less at %d of %d times (%.4g to'):format(count,
      d.n, from), 1, true), words)
    assert.is_truthy(words:find('the data determine D(t) at the other times', 1, true), words)
    assert.is_truthy(xpcs.report.page(r, d, { angles = 1 }):find('is 0 or less at', 1, true))
    local fine = xpcs.simulate { n = 20, dt = 0.25, q = 0.01, phi = { 0, 40 }, physics = { 5000, -0.5, 900 },
      sigma = 0.004, seed = 3 }
    r = xpcs.fit(data_of.of(fine), { sigma = 0.004, mode = 'static', bounds = { D_offset = { 0, 1e5 } } })
    assert.is_nil(table.concat(r.verdict.sentences, '\n'):find('0 or less', 1, true))
  end)

  it('names parameters of one angle one way, also where they are fixed', function()
    local s = xpcs.simulate { n = 20, dt = 0.25, q = 0.01, phi = { 0, 40 }, physics = { 5000, 0.3, 900 }, sigma = 0.004,
      seed = 3 }
    local r = xpcs.fit(data_of.of(s), { sigma = 0.004, mode = 'static', fixed = { contrast_2 = 0.31 } })
    assert.same({ 'contrast_1', 'offset_1', 'offset_2' }, { r.names[1], r.names[2], r.names[3] })
    assert.equal(0.31, r.contrast[2])
    assert.has_error(function() xpcs.fit(data_of.of(s), { sigma = 0.004, fixed = { 'contrast_3' } }) end)
  end)

  it('names shear when there is none, whatever the noise made of it', function()
    local SHEAR = { 'gamma_dot_t0', 'beta', 'gamma_dot_t_offset', 'phi0' }
    local sets = {}
    for seed = 1, 3 do
      local s = generate.simulate { n = 24, dt = 0.35, q = 0.0068, phi = { -150, -100, -62, -20, 3, 40, 110 },
        physics = { 3000, -0.3, 200 }, sigma = 0.004, seed = seed }
      sets[seed] = data_of.of(s)
      local r = xpcs.fit(sets[seed], { sigma = 0.004, mode = 'laminar_flow' })
      local words = table.concat(r.verdict.sentences, '\n')
      assert.equal('Marginal fit: the data show no shear; fit with mode = \'static\'.', r.verdict.conclusion)
      assert.same(SHEAR, r.verdict.undetermined[1].names)
      for _, name in ipairs(SHEAR) do assert.equal(math.huge, r.errors[name]) end
      assert.is_true(r.errors.D0 < math.huge)
      assert.is_nil(words:find('curved valley of chi2: their', 1, true) and words:find('beta and', 1, true), words)
      assert.is_nil(words:find('G(t)', 1, true), words)
      local rates = xpcs.rates.of(r)
      assert.is_true(rates[1].error[3] < math.huge)
      assert.equal(math.huge, rates[2].error[3])
    end
    local r = xpcs.joint.fit({ sets[1], sets[2] }, { sigma = 0.004, mode = 'laminar_flow' })
    assert.equal('Marginal fit: the data show no shear; fit with mode = \'static\'.', r.verdict.conclusion)
    assert.equal(math.huge, r.errors.beta)
    assert.equal(0, #xpcs.verdict.of_set(r, r.fits[1]))
    -- what is there is seen: a fall of chi2 that is small, and no chance
    local s = generate.simulate { n = 24, dt = 0.35, q = 0.0068, phi = { -150, -100, -62, -20, 3, 40, 110 },
      physics = { 3000, -0.3, 200, 3e-4, 0, 0, 4 }, sigma = 0.004, seed = 1 }
    local d = data_of.of(s)
    r = xpcs.fit(d, { sigma = 0.004, mode = 'laminar_flow' })
    assert.is_nil(r.unneeded)
    assert.is_true(xpcs.fit(d, { sigma = 0.004, mode = 'static' }).chi2 - r.chi2 > 40)
  end)
end)

describe('xpcs.intervals and search', function()
  it('finds profile intervals where chi2 has risen by the level', function()
    local B = generate.set 'B'
    local b = data_of.of(B)
    local r = xpcs.fit(b, { sigma = B.sigma, initial = START_B })
    local list = xpcs.intervals.profile(r, { 'beta', 'phi0' }, 0.95)
    for name, i in pairs(list) do
      for _, v in ipairs { i.low, i.high } do
        local initial = {}
        for _, p in ipairs(xpcs.parameters.LIST) do initial[p.name] = r.values[p.name] end
        local held = xpcs.fit(b, { sigma = B.sigma, initial = initial, fixed = { [name] = v } })
        near(3.84145882, held.chi2 - r.chi2, 0.02, name)
      end
      near(2 * 1.96 * r.errors[name], i.high - i.low, 0.3 * 2 * 1.96 * r.errors[name], name)
    end
  end)

  it('tries other starts only when the first fit is not good', function()
    local B = generate.set 'B'
    local b = data_of.of(B)
    local r = xpcs.search.multi_start(b, { sigma = B.sigma })
    assert.is_true(r.search.skipped)
    local bad = { D0 = 100, alpha = 1.9, D_offset = -5e4, gamma_dot_t0 = 0.4, beta = 1.9 }
    local one = xpcs.fit(b, { sigma = B.sigma, initial = bad })
    r = xpcs.search.multi_start(b, { sigma = B.sigma, initial = bad }, { n_starts = 12 })
    assert.is_false(r.search.skipped)
    assert.is_true(r.chi2 < one.chi2 and r.chi2 < 1.01 * 1886.03, ('%g from %g'):format(r.chi2, one.chi2))
  end)
end)

describe('a fit that does not describe the data', function()
  local function made(sigma)
    local s = xpcs.simulate { n = 40, dt = 0.1, phi = { 0 }, physics = { 5000, -0.3, 100 }, sigma = 0.01, seed = 3 }
    s.sigma = nil
    return xpcs.data.of(s), { sigma = sigma or 0.01 }
  end

  it('is said to be one where sigma was given, and determines nothing', function()
    local data, right = made()
    local r = xpcs.fit(data, right)
    assert.is_false(xpcs.verdict.misfit(r).improbable)
    for _, sentence in ipairs(r.verdict.sentences) do assert.is_nil(sentence:find 'Reduced chi2') end
    local wrong = xpcs.fit(data, { sigma = 0.8 * right.sigma, rescue = false })
    assert.is_true(wrong.verdict.misfit)
    assert.matches('^Reduced chi2 is [%d.]+, where 1%.0+ %+%- [%d.]+ is expected of %d+ points ',
      wrong.verdict.sentences[1])
    assert.matches('mc%.xpcs%.search%.multi_start, n_starts = 20', wrong.verdict.sentences[2])
    assert.not_equal('determined', wrong.verdict.level)
    for _, sentence in ipairs(wrong.verdict.sentences) do assert.is_nil(sentence:find 'determine all') end
    assert.is_nil(xpcs.verdict.misfit(xpcs.fit(data, {}))) -- sigma was not given: reduced chi2 tests nothing
    local found = xpcs.search.multi_start(data, { sigma = 0.8 * right.sigma }, { n_starts = 2, first = wrong })
    assert.matches('^All 3 fits led to this minimum: ', found.verdict.sentences[2])
  end)

  it('is said to be one under a robust loss too', function()
    local data, right = made()
    local r = xpcs.fit(data, { sigma = right.sigma, loss = 'soft_l1' })
    assert.is_nil(r.verdict.misfit)
    local wrong = xpcs.fit(data, { sigma = 0.7 * right.sigma, loss = 'soft_l1' })
    assert.matches('sigma is too small, some points are outliers, which loss soft_l1 weighs down, or the model',
      wrong.verdict.sentences[2])
    local found = xpcs.search.multi_start(data, { sigma = 0.7 * right.sigma, loss = 'soft_l1' },
      { n_starts = 2, first = wrong })
    assert.matches('^All 3 fits led.*soft_l1', found.verdict.sentences[2])
    assert.is_true(found.cost <= wrong.cost)
    local both = xpcs.joint.fit({ data, (made()) }, { sigma = right.sigma, loss = 'soft_l1' })
    assert.near(both.fits[1].chi2 + both.fits[2].chi2, both.chi2, 1e-9 * both.chi2)
    assert.is_nil(both.verdict.misfit)
  end)

  it('says each sentence once', function()
    local data, opts = made()
    opts.initial, opts.max_nfev = { alpha = 0 }, 1
    opts.fixed = { alpha = 0 }
    local r = xpcs.fit(data, opts)
    local seen = {}
    for _, sentence in ipairs(r.verdict.sentences) do
      assert.is_nil(seen[sentence], sentence)
      seen[sentence] = true
    end
  end)

  it('goes on from the start that the scan finds, where the values that were given lead astray', function()
    local s = xpcs.simulate { n = 60, q = 0.004, dt = 0.2, phi = { 77, -3, 41 }, sigma = 0.004, seed = 1,
      physics = { 1500, -0.3, 200, 0.004, 0.3, 0.0005, 4 }, contrast = 0.3, offset = 1 }
    local data = xpcs.data.of(s)
    local o = { mode = 'laminar_flow', sigma = 0.004 }
    local want = xpcs.fit(data, o)
    o.initial = { gamma_dot_t0 = 0.3 }
    local r = xpcs.run.fit({ fit = o, streaming = {}, multi_start = {}, cmaes = {} }, data, true)
    local same = xpcs.fit(data, o)
    o.rescue = false
    local wrong = xpcs.fit(data, o)
    assert.is_truthy(wrong.contrasts.improbable and wrong.verdict.misfit) -- the valley that blames the contrasts
    assert.is_true(r.chi2 < want.chi2 + 10, r.chi2)
    assert.same(r.values, same.values)
    assert.same(r.warnings, same.warnings)
    assert.equal(r.conclusion, same.conclusion)
    assert.is_nil(r.verdict.misfit)
    assert.equal('averaged', r.scaling)
    local notes = table.concat(r.warnings, '\n')
    assert.matches('your starting values led to chi2 %d+; a fit from the start that a scan finds reached', notes)
    assert.is_nil(notes:find('no other starts', 1, true))
    assert.same({}, r.recovery_actions)
  end)

  it('is searched from other starts by the program', function()
    local data, right = made()
    local s = { fit = { sigma = 0.8 * right.sigma }, streaming = {}, multi_start = {}, cmaes = {} }
    local r = xpcs.run.fit(s, data, true)
    assert.is_false(r.search.skipped)
    assert.matches('other starts were tried', table.concat(r.warnings, '\n'))
    s.fit.sigma = right.sigma
    assert.is_nil(xpcs.run.fit(s, data, true).search)
  end)
end)

describe('xpcs.open', function()
  it('says when the time between frames asked for is not that of the file', function()
    local path = os.tmpname() .. '.npz'
    local s = mc.xpcs.simulate { n = 12, dt = 0.1, phi = { 0 }, physics = { 1000, -0.2, 1 } }
    mc.save(path, { c2_exp = s.c2, phi_angles_list = mc.tensor { 0 }, t1 = s.t, q = mc.tensor { 0.0054 } })
    local d = mc.xpcs.open(path, { dt = 0.2 })
    assert.matches('the times of the file have a step of 0%.1 s and dt = 0%.2 s is asked for; 0%.2 is used',
      table.concat(d.warnings, '\n'))
    assert.is_nil(table.concat(mc.xpcs.open(path, {}).warnings, '\n'):find 'step of')
    os.remove(path)
  end)
end)

describe('the bound on evaluations', function()
  local data, o
  setup(function()
    data = xpcs.data.of(xpcs.simulate { n = 40, q = 0.006, phi = { 0, 40, 80 }, seed = 1, sigma = 0.004,
      physics = { 1500, -0.3, 200 } })
    o = { mode = 'static', sigma = 0.004, initial = { D0 = 90000, alpha = 1.5, D_offset = -3000 } }
  end)
  teardown(function() data = nil end)

  local function with(most)
    local more = { max_nfev = most }
    for k, v in pairs(o) do more[k] = v end
    return more
  end

  it('holds for closing steps too, and a fit that it ends is not converged', function()
    local whole = xpcs.fit(data, o)
    for _, most in ipairs { 1, 2, 5, whole.nfev - 1, whole.nfev } do
      local r = xpcs.fit(data, with(most))
      assert.is_true(r.nfev <= most, most)
      if most <= 5 then assert.same({ 'max_iter', false }, { r.convergence_status, r.success }, most) end
    end
    assert.same(whole.values, xpcs.fit(data, with(whole.nfev)).values)
    assert.equal('converged', xpcs.fit(data, with(whole.nfev)).convergence_status)
    -- at the minimum no step is left to be made
    local there = with(1)
    there.initial, there.contrast, there.offset = whole.values, whole.contrast, whole.offset
    local r = xpcs.fit(data, there)
    assert.same({ 1, 0, 'converged' }, { r.nfev, r.iterations, r.convergence_status })
  end)

  it('counts closing steps as iterations', function()
    local scratch = xpcs.fit(data, { mode = 'static', sigma = 0.004, initial = { D0 = 1400, alpha = -0.3,
      D_offset = 250 }, ftol = 1, xtol = 1, gtol = 0 })
    assert.is_true(scratch.iterations > 1) -- the solver itself ends with its first step
    assert.is_true(scratch.nfev > scratch.iterations)
  end)

  it('holds for the part of a joint fit that all data sets share', function()
    local other = xpcs.data.of(xpcs.simulate { n = 40, q = 0.009, phi = { 0, 40, 80 }, seed = 2, sigma = 0.004,
      physics = { 1500, -0.3, 200 } })
    local r = xpcs.joint.fit({ data, other }, with(2))
    assert.is_true(r.nfev <= 2, r.nfev)
    assert.is_false(r.success)
  end)

  it('of the command line ends the run: no retries, no other starts', function()
    local s = { fit = with(2), bounded = true, streaming = { max_retries_per_batch = 2 }, multi_start = {}, cmaes = {} }
    local r = xpcs.run.fit(s, data, true)
    assert.equal('max_iter', r.convergence_status)
    assert.same({ 0, 2 }, { #r.recovery_actions, r.nfev })
    assert.matches('^The fit did not converge, since the largest number of evaluations was reached',
      r.verdict.sentences[1])
    assert.is_nil(r.search)
    assert.is_true(xpcs.run.settings({ max_iterations = 2, data_file = 'x.npz' }).bounded)
  end)
end)
