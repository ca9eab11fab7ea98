-- xpcs_conformance_spec.lua - what the definition of the XPCS workflow asks for, line by line, and where it is tested.
--
-- Each line: the item, the spec and the beginning of its `it`.
-- | conformance list | tested in |
-- | 1, 2, 3 constants, laminar values, smooth and exact | xpcs_spec: has the constants and the values |
-- | 4 laminar without shear, static values | here: 4; xpcs_spec: has the constants and the values |
-- | 5 constant D | xpcs_spec: has the constants and the values |
-- | 6 the diagonal | here: 4 (the first values); xpcs_fit_spec: counts pairs once |
-- | 7 symmetric, bounded, falling, floored | xpcs_spec: is symmetric, bounded |
-- | 8 sin x / x: 0, pi, even, continuous | here: 8, 11 |
-- | 9 turned angles | xpcs_spec: is symmetric, bounded |
-- | 10 derivatives: central differences, dual numbers | xpcs_spec: has derivatives, agrees with residuals; here: 10 |
-- | 11 chi2 of no residual and of a constant one | here: 8, 11 |
-- | 12 diagonal corrections, half matrices | xpcs_spec: corrects the diagonal, makes a half matrix full |
-- | 13 recovery without noise | xpcs_fit_spec: finds the truth of data without noise |
-- | 14 five starts, reruns to the bit | xpcs_fit_spec: finds the truth, is the same to the bit |
-- | 15 SciPy | xpcs_fit_spec: agrees with SciPy under every loss (golden/xpcs.npz) |
-- | 16 linear problem; unscaled residuals | here: 16, 17; xpcs_fit_spec: agrees with SciPy (chi2 of robust fits) |
-- | 17 inside the bounds, marks | here: 16, 17 |
-- | 18 strategies, tile orders | here: 18; xpcs_source_spec: streams from; xpcs_spec: gives the same bits |
-- | 19 checkpoints: killed, cut, changed | here: a fit that is killed; xpcs_state_spec; xpcs_bad_input_spec: 9 |
-- | 20 what is not determined | xpcs_fit_spec: names D0 and D_offset, names phi0, names shear |
-- | 21 orders of the integral | xpcs_spec: integrates with the orders |
-- | 22 HDF5 layouts | xpcs_source_spec: reads the APS-U layout, reads the APS layout |
-- | 23 sets A and B | xpcs_spec: makes the sets A and B, gives the sums; xpcs_fit_spec: reaches the reference |
-- | what the workflow must show | tested in |
-- | own models; joint fits | xpcs_own_spec; xpcs_joint_spec |
-- | intervals hold the truth at their level | soak coverage (500 sets; 25 of them in make test), docs/xpcs-tests.md |
-- | files of both layouts as h5py writes them, by name what is wrong | xpcs_source_spec |
-- | times with gaps, other q and units, half matrices, lost frames, constants | xpcs_examine_spec |
-- | sigma, masks per point, in memory, by strips, from a packed file | xpcs_options_spec |
-- | bad input: message and exit status, line by line | xpcs_bad_input_spec |
-- | stopped: sentence, exit status, files; two runs on one output | xpcs_stop_spec |
-- | killed and resumed, disk full, cut files | here, soak xpcs_kills; xpcs_state_spec; xpcs_source_spec |
-- | bits for 1, 2, 4 threads, blocks, resume; f32 | xpcs_spec, xpcs_fit_spec, xpcs_state_spec |
-- | peak memory: max_memory, plan, f32 and 300 MB | xpcs_memory_spec |
-- | true values of simulations | xpcs_truth_spec |
-- | options and configurations of homodyne | xpcs_homodyne_spec, xpcs_options_spec, script_xpcs_spec |
-- | progress of a fit | xpcs_plan_spec: shows iteration, cost |
-- Not among the tests: figures of speed (bench/xpcs.lua), upstream's own templates, which are not ours to keep.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local script, process = support.load 'script', support.load 'process'
local host = require 'mascon.host'
local mc = require 'mascon'
local xpcs = mc.xpcs
local folder = os.tmpname()
os.remove(folder)

local function near(want, got, bound, what)
  assert.is_true(math.abs(want - got) <= bound, ('%s: %.15g instead of %.15g'):format(what or '', got, want))
end

local function shell(line)
  local r = process.shell(('export MASCON_PROGRESS=0; ( %s )'):format(line))
  return r.text, r.status
end

describe('the conformance list', function()
  it('4: laminar flow without shear is the static model, but for the smooth distance', function()
    local kd, ks = xpcs.model.constants { q = 0.01, gap = 2e6, dt = 0.1 }
    local function row(physics, legacy)
      return xpcs.model.c2({ t = mc.arange(0, 7) * 0.1, kd = kd, ks = ks, physics = physics, legacy_abs = legacy }, 0,
        0.3, 1)[1]
    end
    local still = row({ 1000, 0.5, 10 }, false)
    for phi0, want in pairs { [0] = { 1.299999979733, 1.299161402156, 1.296483434498, 1.288163447148 },
      [5] = { 1.299999979887, 1.299161402310, 1.296483434650, 1.288163447295 } } do
      local physics = { 1000, 0.5, 10, 0, 0.5, 0, phi0 }
      local smooth, exact = row(physics, true), row(physics, false)
      for k, at in ipairs { 1, 2, 4, 8 } do
        near(want[k], smooth[at]:item(), 1e-11)
        near(still[at]:item(), smooth[at]:item(), 3e-8)
        near(still[at]:item(), exact[at]:item(), 1e-13)
      end
    end
  end)

  it('10: derivatives agree with those of dual numbers', function()
    local kd, ks = xpcs.model.constants { q = 0.01, gap = 2e6, dt = 0.25 }
    local n, phi = 12, 30
    local t = mc.arange(1, n) * 0.25
    local function running(f)
      return mc.concat({ mc.zeros { 1 }, mc.cumulative_sum((f[{ { 1, n - 1 } }] + f[{ { 2, n } }]) * 0.5) }, 1)
    end
    local function g1(p) -- all pairs of the first time, where no branch is taken
      local A, B = running(t ^ p[2] * p[1] + p[3]), running(t ^ p[5] * p[4] + p[6])
      local a, b = A[{ { 2, n } }] - A[{ { 1, 1 } }], B[{ { 2, n } }] - B[{ { 1, 1 } }]
      local x = b * ks * mc.cos((p[7] - phi) * (math.pi / 180))
      local s = mc.sin(x) / x
      return mc.exp(a * -kd) * s * s
    end
    local at = { 5000, 0.3, 900, 4e-4, -0.25, 1.2e-4, 4 }
    local J = mc.jacfwd(g1)(mc.tensor(at))
    local value, d = xpcs.model.g1({ t = t, kd = kd, ks = ks, physics = at }, phi, true)
    local want = (g1(mc.tensor(at)))
    for k = 1, 7 do
      local own = d[k][{ 1, { 2, n } }]
      -- d holds derivatives of g1^2
      local dual = J[{ mc.all, k }] * want * 2
      assert.is_true(mc.max(mc.abs(own - dual)):item() <= 1e-12 * mc.max(mc.abs(dual)):item(), 'parameter ' .. k)
    end
    near(0, mc.max(mc.abs(value[{ 1, { 2, n } }] - want)):item(), 1e-14)
  end)

  it('computes the rows that are written to the bits of the plain definition', function()
    for _, physics in ipairs { { 100, -0.5, 1 }, { 100, -0.5, 1, 1e-3, 0.2, 1e-4, 5 } } do
      for _, legacy in ipairs { false, true } do
        local o = { t = mc.arange(0, 70) * 0.1, kd = 1e-4, ks = 0.3, physics = physics, legacy_abs = legacy }
        local g1 = xpcs.model.g1(o, 20)
        assert.is_true(mc.array_equal((g1 * g1)[{ { 17, 40 } }], xpcs.model.rows(o, 20, 17, 40)))
      end
    end
  end)

  it('8, 11: sin x / x at 0 and pi, chi2 of a constant error', function()
    -- kS B = pi between the first and the second time, at phi = phi0
    local t = mc.arange(1, 3) * 1.0
    local g1 = xpcs.model.g1({ t = t, kd = 0, ks = math.pi, physics = { 1, 0, 0, 1, 0, 0, 0 } }, 0)
    near(1, g1[{ 1, 1 }]:item(), 0)
    near(1e-10, g1[{ 1, 2 }]:item(), 1e-20)
    g1 = xpcs.model.g1({ t = t, kd = 0, ks = math.pi / 2, physics = { 1, 0, 0, 1, 0, 0, 0 } }, 0)
    near((2 / math.pi) ^ 2, g1[{ 1, 2 }]:item(), 1e-15)
    local function sinc(x) -- of the phase x, forwards or backwards in the flow
      return math.sqrt(xpcs.model.g1({ t = t, kd = 0, ks = x, physics = { 1, 0, 0, 1, 0, 0, 0 } }, 0)[{ 1, 2 }]:item())
    end
    for _, x in ipairs { 1e-6, 1e-4, 1e-2, 0.1, 1, 2.5 } do
      near(math.sin(x) / x, sinc(x), 1e-15)
      near(sinc(x), sinc(-x), 0)
    end
    for _, x in ipairs { 1e-4, 1e-2, 0.1 } do near(sinc(x * (1 - 1e-15)), sinc(x * (1 + 1e-15)), 1e-15) end
    local s = xpcs.simulate { n = 20, q = 0.01, phi = { 0, 30 }, sigma = 0 }
    s.c2 = s.c2 + 0.02
    local d = xpcs.data.of(s)
    local kd, ks = xpcs.model.constants(s)
    local p = { physics = s.physics, contrast = { 0.3, 0.3 }, offset = { 1, 1 }, sigma = { 0.01, 0.01 }, kd = kd,
      ks = ks, t = d.t, loss = 'linear', f_scale = 1 }
    near(380 * 4, xpcs.pass.run(d, p, 'common')[1], 1e-9 * 380 * 4)
    p.offset = { 1.02, 1.02 }
    assert.is_true(xpcs.pass.run(d, p, 'common')[1] < 1e-10)
  end)

  it('16, 17: a linear problem takes few steps; evaluations are inside, a bound that holds is marked', function()
    local s = xpcs.simulate { n = 30, q = 0.01, phi = { 0, 30, 60 }, sigma = 0, physics = { 3000, -0.2, 500 } }
    local d = xpcs.data.of(s)
    local r = xpcs.fit(d, { fixed = { D0 = 3000, alpha = -0.2, D_offset = 500 }, sigma = 0.01 })
    assert.is_true(r.nfev < 20 and r.cost < 1e-20)
    near(0.3, r.values.contrast, 1e-10)
    near(1, r.values.offset, 1e-10)
    r = xpcs.fit(d, { bounds = { D0 = { 100, 2000 } }, sigma = 0.01, initial = { D0 = 1500, alpha = 0.1 },
      watch = function(p, point)
        for k, place in ipairs(p.free) do
          assert.is_true(point.x[k] > p.low[place] and point.x[k] < p.high[place])
        end
      end })
    for _, q in ipairs(r.parameters) do
      local at = math.abs(q.value - q.high) <= 1e-9 * (1 + math.abs(q.high)) and 'upper'
        or math.abs(q.value - q.low) <= 1e-9 * (1 + math.abs(q.low)) and 'lower' or nil
      assert.equal(at, q.state == 'free' and q.at_bound or at)
    end
    assert.is_true(r.values.D0 <= 2000)
  end)
end)

describe('bad input', function()
  local s, d
  setup(function()
    assert(mc.file.make_folder(folder))
    s = xpcs.simulate { n = 150, q = 0.01, phi = { -60, -25, 0, 30, 75, 92 }, seed = 3, sigma = 0.004 }
    d = xpcs.data.of(s)
    mc.save(folder .. '/x.npz', { c2_exp = s.c2, phi_angles_list = mc.tensor(s.phi), t1 = s.t, q = mc.tensor(s.q) })
  end)
  teardown(function()
    os.execute("rm -rf '" .. folder .. "'")
    s, d = nil, nil
  end)

  it('is clipped, warned about or refused by name', function()
    local function warned(r, text)
      assert.is_truthy(table.concat(r.warnings, '\n'):find(text, 1, true), table.concat(r.warnings, '\n'))
    end
    local function refused(o, ...)
      local ok, why = pcall(xpcs.fit, d, o)
      assert.is_false(ok)
      for _, part in ipairs { ... } do assert.is_truthy(tostring(why):find(part, 1, true), tostring(why)) end
    end
    local short = { max_nfev = 2, sigma = 0.01, start = 'given' }
    local function with(more)
      local o = {}
      for k, v in pairs(short) do o[k] = v end
      for k, v in pairs(more) do o[k] = v end
      return o
    end
    warned(xpcs.fit(d, with { initial = { D0 = 5 } }), 'D0 starts at 5, outside its bounds 100 .. 100000')
    warned(xpcs.fit(d, with { q = 2 }), 'q = 2 1/A is outside the usual range')
    warned(xpcs.fit(d, with { gap = 10 }), 'gap = 10')
    warned(xpcs.fit(d, with { dt = 1e4 }), 'dt = 10000 s')
    refused({ q = 0 }, 'q is 0', '1/A')
    refused({ gap = -1 }, 'gap is -1')
    refused({ dt = 1 / 0 }, 'dt is inf')
    refused({ bounds = { alpha = { 1, -1 } } }, 'bounds of alpha are 1 and -1')
    refused({ contrast = { 0.3 } }, 'one number per angle', '1 and 6 angles')
    refused({ sigma = { 0.01, 0, -1, 0 / 0, 0.01, 0.01 } }, '3 of the 6 values of sigma')
    local r = xpcs.fit(d, with { bounds = { alpha = { 0.1, 0.1 } } })
    assert.equal('fixed', r.parameters[4].state)
    assert.equal(0.1, r.values.alpha)
  end)

  it('18: every strategy that a configuration names has the bits of none; two of them read a packed file', function()
    local config, first = folder .. '/strategy.yaml', nil
    process.write(config, 'analyzer_parameters: {dt: 0.1}\nanalysis_mode: laminar_flow\n')
    for _, strategy in ipairs { 'null', 'standard', 'LARGE', 'chunked', 'streaming' } do
      local out = folder .. '/' .. strategy
      assert(mc.file.make_folder(out))
      local set = xpcs.run.settings { config = config, set = { 'performance.strategy_override=' .. strategy },
        data_file = folder .. '/x.npz', output_dir = out, sigma = { 0.004 } }
      local data = xpcs.run.data(set, true)
      assert.equal(strategy == 'chunked' or strategy == 'streaming', mc.file.exists(out .. '/packed_c2.h5'), strategy)
      local r = xpcs.run.fit(set, data, true)
      first = first or r
      assert.same({ first.point.x, first.chi2, first.covariance }, { r.point.x, r.chi2, r.covariance }, strategy)
    end
  end)

  it('a full disk is said, and leaves no half file', function()
    local line = ('%s scripts/xpcs.lua %s/x.npz --quiet --sigma 0.004 --laminar-flow --output-dir %s/full'):format(
      script.program, folder, folder)
    local text, status = shell('ulimit -f 64; ' .. line)
    assert.equal(1, status, text)
    assert.is_truthy(text:find('fitted_data.npz', 1, true), text)
    assert.is_truthy(text:find('ulimit', 1, true), text)
    assert.is_false(mc.file.exists(folder .. '/full/nlsq/fitted_data.npz'))
    assert.is_false(mc.file.exists(folder .. '/full/manifest.json'))
    for _, name in ipairs(host.list(folder .. '/full/nlsq') or {}) do
      assert.is_truthy(name:find '%.json$' or name:find '%.yaml$', name)
    end
  end)

  it('a fit that is killed goes on to the same values', function()
    local line = ('%s scripts/xpcs.lua %s/x.npz --quiet --sigma 0.004 --laminar-flow --no-arrays --output-format npz '
      .. '--overwrite --output-dir %s/%%s'):format(script.program, folder, folder)
    local text, status = shell(line:format 'whole')
    assert.equal(0, status, text)
    for k, after in ipairs { 0.12, 0.3 } do
      local with = line:format('cut' .. k) .. (' --checkpoint-dir %s/cp%d'):format(folder, k)
      shell(('timeout -s KILL %g %s'):format(after, with))
      text, status = shell(with)
      assert.equal(0, status, text)
      local a, b = mc.load(folder .. '/whole/nlsq/parameters.npz'), mc.load(folder .. '/cut' .. k
        .. '/nlsq/parameters.npz')
      for name, v in pairs(a) do assert.is_true(mc.array_equal(v, b[name]), name) end
    end
  end)
end)
