-- xpcs_settings_spec.lua - settings of mc.xpcs that contradict each other, have no effect or are out of range: refused
-- before anything is read, by the names that the user wrote.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local script, process = support.load 'script', support.load 'process'
local mc = require 'mascon'
local folder, data

setup(function()
  folder = process.folder()
  local s = mc.xpcs.simulate { n = 20, q = 0.01, dt = 0.5, phi = { 0, 60 }, physics = { 2200, -0.35, 300 },
    sigma = 0.004, seed = 2 }
  data = folder .. '/x.npz'
  mc.save(data, { c2_exp = s.c2, phi_angles_list = mc.tensor(s.phi), t1 = s.t, q = mc.tensor(s.q) })
  mc.save(folder .. '/two.npz', { c2_exp = s.c2, phi_angles_list = mc.tensor(s.phi), t1 = s.t,
    wavevector_q_list = mc.tensor { 0.01, 0.02 } })
end)
teardown(function() process.remove(folder) end)

describe('mc.xpcs.run.settings refuses', function()
  local CASES = {
    { 'a start beside a fixed value', { fixed = { 'alpha=0.3' }, initial_alpha = 0.2 },
      '--initial-alpha has no effect beside --fixed alpha=0.3' },
    { 'bounds beside a fixed value', { fixed = { 'alpha=0.3' }, bounds = { 'alpha=0:1' } },
      '--bounds alpha has no effect beside --fixed alpha' },
    { 'bounds beside a value fixed at its start', { fixed = { 'alpha' }, bounds = { 'alpha=0:1' } },
      '--bounds alpha has no effect beside --fixed alpha' },
    { 'both triangles of an .npz', { full_matrices = true }, '--full-matrices is for HDF5 files' },
    { 'a tie that cannot be read', { tie = { 'D_offset=D0*x' } }, '--tie D_offset=D0*x: give NAME=FACTOR*OTHER+SHIFT' },
    { 'a tie beside the same, held', { tie = { 'alpha=D0' }, fixed = { 'alpha=1' } },
      '--tie alpha has no effect beside' },
    { 'two ties of one', { tie = { 'alpha=D0', 'alpha=D_offset' } }, '--tie names alpha twice' },
    { 'a tie to nothing', { tie = { 'alpha=2*nought' } }, '--tie: there is no parameter' },
    { 'a fixed D0 below 0', { fixed = { 'D0=-5' } }, '--fixed D0 = -5 A^2/s is not positive' },
    { 'a fixed contrast above 1', { fixed = { 'contrast=2' } }, '--fixed contrast = 2 is outside (0, 1]' },
    { 'a fixed exponent without a value', { fixed = { 'alpha=1e308' } }, '--fixed alpha = 1e308 is no exponent' },
    { 'a fixed value past all that is measured', { fixed = { 'D_offset=1e308' } },
      '--fixed D_offset = 1e308 A^2/s is no value that can be measured' },
    { 'sigma that leaves nothing', { sigma = { 1e308 } }, 'sigma is 1e+308', 'from 1e-100 to 100' },
    { 'sigma whose square is 0', { sigma = { 0.01, 1e-308 } }, 'sigma is 1e-308' },
    { 'a tolerance that ends every fit', { tolerance = 1e308 }, '--tolerance is 1e+308', 'at most 0.01' },
    { 'a step of time that no times are made of', { dt = 1e-308 },
      '--dt is 1e-308 s between frames; give one from 1e-15' },
    { 'a step of time whose sum is not finite', { dt = 1e308 }, '--dt is 1e+308 s between frames' },
    { 'a value held that is not given', { fixed = { 'D0' } }, '--fixed D0: give the value, D0=VALUE' },
    { 'a configuration as data', { data_file = 'c.yaml' }, 'c.yaml looks like a configuration; give it with --config' },
    { 'half an evaluation', { max_iterations = 1.5 }, '--max-iterations is 1.5' },
    { 'a level that is not tabled', { profile = 0.97 }, '--profile is 0.97; choose 0.68, 0.6827, 0.9, 0.95 or 0.99' },
    { 'frames in the wrong order', { start_frame = 20, end_frame = 10 }, '--start-frame 20 and --end-frame 10' },
    { 'one frame', { end_frame = 1 }, '--start-frame 1 and --end-frame 1 leave 1 frame;' },
    { 'a shared parameter of the other mode', { joint = { '0.02' }, shared = { 'beta' } },
      '--shared beta belongs to laminar flow' },
  }
  for _, case in ipairs(CASES) do
    it(case[1], function()
      case[2].data_file = case[2].data_file or data
      local ok, why = pcall(mc.xpcs.run.settings, case[2])
      assert.is_false(ok)
      for k = 3, #case do assert.is_truthy(why:find(case[k], 1, true), why) end
    end)
  end

  it('no start beside a parameter that is fixed there, nor limits at their ends', function()
    local s = mc.xpcs.run.settings { data_file = data, fixed = { 'alpha' }, initial_alpha = 0.2,
      sigma = { 100, 1e-100 }, tolerance = 0.01, profile = 0.6827, end_frame = 2 }
    assert.same({ true, 0.2, 0.01 }, { s.fit.fixed.alpha, s.fit.initial.alpha, s.fit.ftol })
  end)

  it('a start beside a fixed value of a model of its own', function()
    local path = folder .. '/m.lua'
    process.write(path, 'local mc = require "mascon"\nreturn { g1 = function(p, t1, t2) '
      .. 'return mc.exp(-p.a * (t2 - t1)) end, p0 = { a = 1 } }')
    local ok, why = pcall(mc.xpcs.run.settings, { model = path, fixed = { 'a=2' }, p0 = { 'a=3' } })
    assert.is_false(ok)
    assert.is_truthy(why:find('--p0 a has no effect beside --fixed a=2', 1, true), why)
  end)
end)

describe('a configuration of a joint fit or of a model of its own', function()
  local model, plain
  setup(function()
    model = folder .. '/own.lua'
    process.write(model, 'local mc = require "mascon"\nreturn { g1 = function(p, t1, t2) '
      .. 'return mc.exp(-p.a * (t2 - t1)) end, p0 = { a = 0.1 }, units = { a = "1/s" } }')
    plain = folder .. '/plain.yaml'
    process.write(plain, 'analysis_mode: static\nanalyzer_parameters: {dt: 0.5}\n'
      .. 'optimization: {nlsq: {loss: linear}}\n')
  end)

  --- Settings of keys 'path=value' for a joint fit, a model of its own, or neither.
  local function of(kind, keys, o)
    o = o or {}
    o.config, o.data_file, o.set = plain, data, keys
    if kind == 'joint' then o.joint = { '0.02' } elseif kind == 'model' then o.model = model end
    return pcall(mc.xpcs.run.settings, o)
  end

  local REFUSED = {
    joint = { 'optimization.nlsq.multi_start.enable=true', 'optimization.nlsq.cmaes.enable=true',
      'experimental_data.mask=mask.npy', 'experimental_data.sigma=sigma.npy' },
    model = { 'optimization.nlsq.multi_start.enable=true', 'optimization.nlsq.cmaes.enable=true',
      'optimization.nlsq.legacy_counting=true', 'initial_parameters.tied_parameters={D0: alpha}' },
  }
  for kind, list in pairs(REFUSED) do
    it('is refused where its keys ask for what there is not: ' .. kind, function()
      for _, text in ipairs(list) do
        local key = text:match '^[^=]*'
        local ok, why = of(kind, { text })
        assert.is_false(ok, text)
        assert.is_truthy(why:find(('%s has no meaning with --%s'):format(key, kind), 1, true), why)
        local off = why:match '%-%-set ([%w_.]+=%w+)'
        assert.equal(key, off and off:match '^[^=]*')
        assert.is_true((of(kind, { text, off })))
        assert.is_true((of(nil, { text })))
      end
    end)
  end

  local NOTED = {
    joint = { 'optimization.streaming.enable_checkpoints=true', 'optimization.streaming.batch_size=10000',
      'optimization.nlsq.x_scale_map={D0: 100}', 'optimization.nlsq.trust_region_scale=0.5',
      'plotting.save_plots=true' },
    model = { 'optimization.streaming.enable_checkpoints=true', 'optimization.nlsq.trust_region_scale=0.5',
      'optimization.nlsq.anti_degeneracy.shear_weighting.enable=true', 'performance.computation.device=cpu',
      'initial_parameters.values=[2000, -0.3, 300]', 'analyzer_parameters.phase_convention=qL/2',
      'parameter_space.bounds=[{name: D0, min: 1, max: 2}, {name: offset, min: 0.9, max: 1.1}]' },
  }
  for kind, list in pairs(NOTED) do
    it('has a note of the keys that steer nothing there: ' .. kind, function()
      for _, text in ipairs(list) do
        local key = text:match '^[^=]*'
        local ok, s = of(kind, { text })
        assert.is_true(ok, s)
        assert.is_truthy(s.without:find(key, 1, true), text .. ': ' .. s.without)
        assert.is_truthy(s.without:find('--' .. kind, 1, true))
        assert.same({}, { s.checkpoints, kind == 'joint' and (s.fit.x_scale or s.fit.trust_region_scale) or nil })
        ok, s = of(nil, { text })
        assert.is_true(ok, s)
        assert.is_nil(s.without)
      end
      local ok, s = of(kind, {})
      assert.same({ true }, { ok, s.without })
    end)
  end

  it('gives way to options: sigma of the line, no file', function()
    local ok, s = of('joint', { 'experimental_data.sigma=sigma.npy' }, { sigma = { 0.01 } })
    assert.is_true(ok, s)
    assert.equal(0.01, s.fit.sigma)
    ok, s = of('joint', { 'experimental_data.sigma=0.02', 'plotting.save_plots=false' })
    assert.same({ true, 0.02 }, { ok, s.fit.sigma, s.without })
  end)

  it('keeps bounds of contrast and offset for a model', function()
    local _, s = of('model', { 'parameter_space.bounds=[{name: D0, min: 1, max: 2}, {name: offset, min: 0.9, '
      .. 'max: 1.1}]' })
    assert.same({ offset = { 0.9, 1.1 } }, s.fit.bounds)
  end)

  it('of a run prints the note and fits', function()
    local text, status = script.run('xpcs', data .. ' --config ' .. plain .. ' --set optimization.streaming.'
      .. 'enable_checkpoints=true --sigma 0.004 --quiet --no-arrays --model ' .. model .. ' --output-dir ' .. folder
      .. '/noted')
    assert.equal(0, status, text)
    assert.is_truthy(text:find('note: with --model these keys of the configuration have no effect: '
      .. 'optimization.streaming.enable_checkpoints\n', 1, true), text)
  end)
end)

describe('options of a joint fit', function()
  it('draw no heat maps', function()
    local ok, why = pcall(mc.xpcs.run.settings, { data_file = data, joint = { '0.02' }, save_plots = true })
    assert.is_false(ok)
    assert.is_truthy(why:find('--save-plots has no meaning with --joint', 1, true), why)
  end)
end)

describe('scripts/xpcs.lua', function()
  --- The run fails with these words and no others, and makes no folder.
  local function fails(line, ...)
    local text, status = script.run('xpcs', line .. ' --output-dir ' .. folder .. '/none')
    assert.equal(1, status, text)
    for _, part in ipairs { ... } do assert.is_truthy(text:find(part, 1, true), text) end
    assert.is_nil(text:find '\n.', text)
    assert.is_nil(script.read(folder .. '/none/simulated_data.npz'))
  end

  it('knows which lines take no further q of the file', function()
    for _, row in ipairs { { false }, { true, 'profile', 0.95 }, { true, 'mask_frames', { '3' } },
      { true, 'save_plots', true }, { true, 'sigma', { 0.01, 0.02 } }, { false, 'sigma', { 0.01 } },
      { true, 'joint', { '0.02' } } } do
      local o = { data_file = data }
      if row[2] then o[row[2]] = row[3] end
      assert.equal(row[1], mc.xpcs.run.settings(o).alone, row[2])
    end
  end)

  it('takes the time between frames from an option or from the file where the configuration has none', function()
    local config = folder .. '/no_dt.yaml'
    process.write(config, 'analyzer_parameters: {scattering: {wavevector_q: 0.01}}\n')
    local function settings(o)
      o.config = config
      return mc.xpcs.run.settings(o).open.dt
    end
    assert.equal(0.25, settings { dt = 0.25, data_file = 'a.h5' })
    assert.is_nil(settings { data_file = data })
    local ok, why = pcall(settings, { data_file = 'a.h5' })
    assert.is_true(not ok and why:find('no_dt.yaml: analyzer_parameters.dt is missing', 1, true) ~= nil, why)
    local text, status = script.run('xpcs', 'config --validate ' .. config)
    assert.equal(1, status)
    assert.is_truthy(text:find('no_dt.yaml: analyzer_parameters.dt is missing', 1, true), text)
  end)

  it('counts sigma against the angles before the data are read', function()
    fails(data .. ' --static-mode --sigma 0.01,0.02,0.03', '--sigma has 3 numbers and the data have 2 angles')
  end)

  it('says that the data are missing before it looks at the results there', function()
    process.make(folder .. '/there', '755')
    process.write(folder .. '/there/manifest.json', '{}')
    local text, status = script.run('xpcs', folder .. '/no.npz --output-dir ' .. folder .. '/there')
    assert.equal(1, status)
    assert.is_truthy(text:find('/no.npz: No such file or directory; check the path', 1, true), text)
  end)

  it('names the option where a file has several q', function()
    fails(folder .. '/two.npz --static-mode', 'name one of them with q (--q')
  end)

  it('simulates no values that are not finite or no physics', function()
    fails('simulate --contrast 1e300', '--contrast = 1e300 is outside (0, 1]')
    fails('simulate --offset 1e308', 'the matrices are not finite')
    fails('simulate --dt 1e308', '--dt is 1e+308 s between frames')
    fails('simulate --initial-alpha 1e300', 'alpha = 1e300 is no exponent of time')
    fails('simulate --noise 1e308', '--noise is 1e+308')
    fails('simulate --phi-angles 1e308', '--phi-angles is "1e308"')
    local text, status = script.run('xpcs', 'simulate --frames 10 --initial-d0 1e8 --output-dir ' .. folder .. '/s')
    assert.equal(0, status, text)
    assert.is_truthy(text:find('note: D0 = 1e8 A^2/s is above 1e7: check the unit', 1, true), text)
  end)

  it('takes a tie with the factor on either side of the other parameter', function()
    for word, want in pairs { ['D_offset=0.1*D0+5'] = { 0.1, 5 }, ['D_offset=D0*0.1+5'] = { 0.1, 5 },
      ['D_offset=D0*-1e-1-5'] = { -0.1, -5 }, ['D_offset=D0'] = { 1, 0 }, ['D_offset=D0*2'] = { 2, 0 } } do
      local tie = mc.xpcs.run.settings({ data_file = 'x.npz', tie = { word } }).fit.ties.D_offset
      assert.same({ 'D0', want[1], want[2] }, { tie.to, tie.factor, tie.shift }, word)
    end
    for _, word in ipairs { 'D_offset=D0*x', 'D_offset=D0*', 'D_offset=2*3' } do
      local ok, why = pcall(mc.xpcs.run.settings, { data_file = 'x.npz', tie = { word } })
      assert.is_false(ok)
      assert.is_truthy(tostring(why):find('give NAME=FACTOR*OTHER+SHIFT', 1, true), why)
    end
  end)

  it('has a help of its own for each command, with its options alone', function()
    local seen = {}
    for _, c in ipairs(mc.xpcs.options.COMMANDS) do
      local text, status = script.run('xpcs', c[1] .. ' --help')
      assert.equal(0, status)
      assert.is_truthy(text:find(('Options of %s:'):format(c[1]), 1, true), text)
      for _, o in ipairs(mc.xpcs.options.LIST) do
        local belongs = (' ' .. o.of .. ' '):find(' ' .. c[1] .. ' ', 1, true) ~= nil
        local name = '--' .. o[1]:gsub('_', '-')
        local line = '\n  ' .. name .. ' '
        assert.equal(belongs and not o.unlisted, text:find(line, 1, true) ~= nil, c[1] .. line)
        local idle = text:match 'Options of homodyne that are taken and have no effect: ([^\n]*)%.\n' or ''
        assert.equal(belongs and o.unlisted or false, (', ' .. idle .. ','):find(' ' .. name .. ',', 1, true) ~= nil,
          name)
      end
      seen[c[1]] = text
    end
    assert.is_truthy(seen.simulate:find('(unit; value; bounds of a fit)', 1, true), seen.simulate)
    assert.is_truthy(seen.simulate:find('\n  contrast%s+%-%s+0%.3 '), seen.simulate)
    assert.is_nil(seen.simulate:find('start of alpha', 1, true))
    assert.is_truthy(seen.fit:find('contrast%s+%-%s+quantiles'))
    for _, part in ipairs { 'wave vector, 1/A (0.0054)', 'time between frames, s (0.1)', 'degrees (0,45,90)' } do
      assert.is_truthy(seen.simulate:find(part, 1, true), part)
    end
    assert.is_truthy(seen.fit:find('%-%-static%-mode%s+diffusion alone %(3 parameters; the default%)'))
    assert.is_truthy(seen.fit:find('--tie NAME=FACTOR*OTHER+SHIFT,... ', 1, true))
    assert.is_truthy(seen.plot:find('%-%-mask FILE%s+which points count %(not 0%): .npy'))
    local text, status = script.run('xpcs', 'simulate --frames 8 --laminar-flow --output-dir ' .. folder .. '/known')
    assert.equal(0, status, text)
    assert.is_truthy(text:find('laminar_flow: 3 angles x 8 times, q = 0.0054 1/A, dt = 0.1 s, gap = 2000000 A\n'
      .. 'angles, degrees: 0, 45, 90\n', 1, true), text)
    text = script.run('xpcs', '--help')
    for name in pairs(seen) do assert.is_truthy(text:find('\n  ' .. name .. ' ', 1, true), text) end
    assert.is_truthy(text:find('Options of fit:', 1, true))
  end)
end)

describe('mc.xpcs.fit', function()
  it('says what it takes where data are missing', function()
    for _, first in ipairs { false, { sigma = 0.01 } } do
      local ok, why = pcall(mc.xpcs.fit, first or nil)
      assert.is_false(ok)
      assert.is_truthy(why:find('give what mc.xpcs.open or mc.xpcs.data.of returns', 1, true), why)
    end
  end)
end)
