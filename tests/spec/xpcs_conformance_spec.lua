-- xpcs_conformance_spec.lua - what the definition of the XPCS workflow asks for, line by line, and where it is tested.
--
-- | conformance list | tested in |
-- | 1 - 7 constants, values, symmetry, bounds, floors | xpcs_spec: the model |
-- | 8 sin x / x and its derivative | xpcs_spec: derivatives, angles across the flow; here: x = 0 and x = pi |
-- | 9 turned angles | xpcs_spec: across the flow, phi + 180 |
-- | 10 derivatives | xpcs_spec: central differences; the pass against columns written out |
-- | 11 chi2 of a constant error | here |
-- | 12 diagonal, half matrices | xpcs_spec: prepare |
-- | 13, 14 recovery without noise, five starts, bits | xpcs_fit_spec |
-- | 15 SciPy's solutions under every loss | xpcs_fit_spec, golden/xpcs.npz |
-- | 16 residuals are unscaled under every loss | xpcs_fit_spec: chi2 of robust fits; here: a linear problem |
-- | 17 iterates inside the bounds, marks at bounds | here |
-- | 18 strategies and tile orders | xpcs_source_spec: streams, xpcs_spec: blocks |
-- | 19 checkpoints | xpcs_state_spec; here: a process that is killed |
-- | 20 what is not determined | xpcs_fit_spec: verdict |
-- | 21 orders of the integral | xpcs_spec |
-- | 22 HDF5 layouts | xpcs_source_spec |
-- | 23 sets A and B | xpcs_spec, xpcs_fit_spec |
-- | what the workflow must show | tested in |
-- | solutions of SciPy on the sets | xpcs_fit_spec; own models: xpcs_own_spec; joint: xpcs_joint_spec |
-- | intervals hold the truth at their level | soak coverage (500 sets; 25 of them in make test), docs/xpcs.md |
-- | files of both layouts as h5py writes them, by name what is wrong | xpcs_source_spec |
-- | times with gaps, other q and units, half matrices, lost frames, constants | xpcs_examine_spec |
-- | sigma, masks per point, in memory, by strips, from a packed file | xpcs_options_spec |
-- | bad input: message and exit code | script_xpcs_spec; sigma: xpcs_options_spec; checkpoints: xpcs_state_spec |
-- | killed and resumed, disk full, cut files | here, soak xpcs_kills; xpcs_state_spec; xpcs_source_spec |
-- | bits for 1, 2, 4 threads, blocks, resume; f32 | xpcs_spec, xpcs_fit_spec, xpcs_state_spec |
-- | peak memory: max_memory, plan, f32 and 300 MB | xpcs_memory_spec |
-- | what is not determined is named | xpcs_fit_spec: verdict |
-- | configurations of homodyne, options | xpcs_options_spec, script_xpcs_spec |
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
  it('8, 11: sin x / x at 0 and pi, chi2 of a constant error', function()
    -- kS B = pi between the first and the second time, at phi = phi0
    local t = mc.arange(1, 3) * 1.0
    local g1 = xpcs.model.g1({ t = t, kd = 0, ks = math.pi, physics = { 1, 0, 0, 1, 0, 0, 0 } }, 0)
    near(1, g1[{ 1, 1 }]:item(), 0)
    near(1e-10, g1[{ 1, 2 }]:item(), 1e-20)
    g1 = xpcs.model.g1({ t = t, kd = 0, ks = math.pi / 2, physics = { 1, 0, 0, 1, 0, 0, 0 } }, 0)
    near((2 / math.pi) ^ 2, g1[{ 1, 2 }]:item(), 1e-15)
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
          assert.is_true(point.x[k] >= p.low[place] and point.x[k] <= p.high[place])
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
