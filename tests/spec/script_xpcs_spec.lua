-- script_xpcs_spec.lua - scripts/xpcs.lua as a person runs it: simulation, fit, configuration.
local script = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests')
  .. '/support/init.lua').load 'script'
local folder = os.tmpname()
os.remove(folder)

local function run(line) return script.run('xpcs', line) end
local function exists(path) return script.read(path) ~= nil end
local function file(name, text)
  local path = folder .. '/' .. name
  local f = assert(io.open(path, 'w'))
  f:write(text)
  f:close()
  return path
end

--- The run fails with this status and these words, and leaves no folder of results.
local function fails(line, status, ...)
  local out = folder .. '/none'
  local text, code = run(line:find '^config' and line or line .. ' --output-dir ' .. out)
  assert.equal(status, code, text)
  for _, part in ipairs { ... } do assert.is_truthy(text:find(part, 1, true), text) end
  assert.is_false(exists(out .. '/report.html'))
end

describe('scripts/xpcs.lua', function()
  local mc = require 'mascon'
  local data, yaml
  setup(function()
    assert(mc.file.make_folder(folder))
    local text,
      status = run('simulate --laminar-flow --frames 60 --dt 0.25 --q 0.01 --phi-angles "-25,0,30,75,92" --initial-d0 '
        .. '5000 --initial-alpha 0.3 --initial-d-offset 900 '
      .. '--initial-gamma-dot-t0 0.0004 --initial-beta -0.25 --initial-gamma-dot-offset 0.00012 --initial-phi0 4 '
      .. '--noise 0.004 --output-dir ' .. folder)
    assert.equal(0, status, text)
    data = folder .. '/simulated_data.npz'
    yaml = file('c.yaml', ([[
analysis_mode: laminar_flow
analyzer_parameters: {dt: 0.25, start_frame: 1, end_frame: -1, scattering: {wavevector_q: 0.01},
  geometry: {stator_rotor_gap: 2.0e+6}}
experimental_data: {file_path: %s, sigma: 0.004}
initial_parameters: {values: null}
optimization: {nlsq: {loss: soft_l1, tolerance: 1.0e-8}, method: nlsq}
]]):format(data))
  end)
  teardown(function() os.execute("rm -rf '" .. folder .. "'*") end)

  it('fits a simulation from its file alone and writes every result', function()
    local out = folder .. '/a'
    local text, status = run(data .. ' --laminar-flow --sigma 0.004 --profile 0.68 --output-dir ' .. out)
    assert.equal(0, status, text)
    for _, name in ipairs { 'nlsq/parameters.json', 'nlsq/parameters.yaml', 'nlsq/analysis_results_nlsq.json',
      'nlsq/convergence_metrics.json', 'nlsq/fitted_data.npz', 'report.html', 'manifest.json',
      'phi_angles_list.txt', 'wavevector_q_list.txt' } do
      assert.is_true(exists(out .. '/' .. name), name)
    end
    local p = mc.load(out .. '/nlsq/parameters.json')
    assert.equal('converged', p.convergence_status)
    assert.is_true(math.abs(p.reduced_chi_squared - 1) < 0.05)
    for name, want in pairs { gamma_dot_t0 = 4e-4, beta = -0.25, phi0 = 4, alpha = 0.3, contrast = 0.3, offset = 1 } do
      local q = p.parameters[name]
      assert.is_true(math.abs(q.value - want) < 5 * q.uncertainty, name)
    end
    assert.equal(5, #p.parameters.contrast.per_angle)
    assert.equal('qL/2pi', p.phase_convention)
    local r = mc.load(out .. '/nlsq/analysis_results_nlsq.json')
    assert.equal(5 * 60 * 59 / 2, r.dataset_info.total_data_points)
    assert.equal('good', r.fit_quality.quality_flag)
    assert.equal(200, r.dataset_info.gap_um)
    local a = mc.load(out .. '/nlsq/fitted_data.npz')
    for _, name in ipairs { 'phi_angles', 'c2_exp', 'c2_theoretical_raw', 'c2_theoretical_scaled', 'per_angle_scaling',
      'per_angle_scaling_solver', 'residuals', 'residuals_normalized', 't1', 't2',
      'q', 'c2_solver_scaled' } do
      assert.is_truthy(a[name], name)
    end
    assert.same({ 5, 60, 60 }, { a.c2_exp:size() })
    local raw = a.c2_theoretical_raw[1] * a.per_angle_scaling[{ 1, 1 }] + a.per_angle_scaling[{ 1, 2 }]
    assert.is_true(mc.allclose(raw, a.c2_theoretical_scaled[1], { rtol = 0, atol = 1e-14 }))
    local page = script.read(out .. '/report.html')
    for _, word in ipairs { 'What the data tell', 'Experiment, fit, residual', 'Residuals',
      'gamma_dot_t0' } do assert.is_truthy(page:find(word, 1, true), word) end
  end)

  it('reads a configuration, and options go before it', function()
    local out = folder .. '/b'
    local text, status = run('--config ' .. yaml
      .. ' --output-format json --quiet --set optimization.nlsq.anti_degeneracy.per_angle_mode=individual --output-dir '
      .. out)
    assert.equal(0, status, text)
    local p = mc.load(out .. '/nlsq/parameters.json')
    assert.equal('individual', p.per_angle_mode)
    assert.is_false(exists(out .. '/nlsq/parameters.yaml'))
    assert.equal('soft_l1', mc.load(out .. '/nlsq/analysis_results_nlsq.json').optimization_summary.loss)
  end)

  it('draws from the posterior beside the fit, or alone, from the values of an earlier fit', function()
    local out = folder .. '/post'
    local short = ' --sigma 0.004 --laminar-flow --n-samples 12 --n-warmup 24 --n-chains 1 --quiet --no-arrays '
    local text, status = run(data .. short .. '--method both --output-dir ' .. out)
    assert.equal(0, status, text)
    for _, name in ipairs { 'nlsq/parameters.json', 'cmc/samples.npz', 'cmc/diagnostics.json', 'cmc/corner.svg',
      'report.html' } do assert.is_true(exists(out .. '/' .. name), name) end
    assert.is_truthy(script.read(out .. '/report.html'):find('Posterior', 1, true))
    assert.is_truthy(text:find('1 chain of 12 draws', 1, true), text)
    text, status = run(data .. short .. '--method cmc --prior normal --nlsq-result ' .. out .. ' --output-dir ' .. out
      .. '2')
    assert.equal(0, status, text)
    assert.is_true(exists(out .. '2/cmc/samples.npz'))
    assert.is_false(exists(out .. '2/nlsq/parameters.json'))
    assert.equal('normal', mc.load(out .. '2/cmc/diagnostics.json').prior)
    fails(data .. ' --n-samples 10', 1, '--n-samples belongs to a posterior', '--method both')
    fails(data .. ' --nlsq-result ' .. folder .. '/none', 1, '--nlsq-result', 'parameters.json')
  end)

  it('fits a model of the user from a Lua file', function()
    local model = file('model.lua', [[
local mc = require 'mascon'
return {
  g1 = function(p, t1, t2) return mc.exp(-(p.rate * (t2 - t1)) ^ p.stretch) end,
  p0 = { rate = 0.1, stretch = 1 }, bounds = { rate = { 1e-6, 100 }, stretch = { 0.2, 3 } }, units = { rate = '1/s' },
}]])
    local out = folder .. '/own'
    local text, status = run(data .. ' --sigma 0.004 --quiet --scaling individual --model ' .. model .. ' --output-dir '
      .. out)
    assert.equal(0, status, text)
    local d = mc.xpcs.open(data, {})
    local m = dofile(model)
    local want = mc.xpcs.own.solve(d, m.g1, { p0 = m.p0, bounds = m.bounds, sigma = 0.004, scaling = 'individual',
      ftol = 1e-8, xtol = 1e-8, gtol = 1e-8 })
    local p = mc.load(out .. '/nlsq/parameters.json')
    assert.equal('own model', p.analysis_mode)
    assert.is_true(math.abs(want.chi2 - p.chi_squared) < 1e-6 * want.chi2)
    for _, name in ipairs { 'rate', 'stretch' } do
      assert.is_true(math.abs(want.p[name] - p.parameters[name].value) < 0.01 * want.stderr[name], name)
      assert.is_true(math.abs(want.stderr[name] - p.parameters[name].uncertainty) < 1e-3 * want.stderr[name], name)
    end
    assert.equal('1/s', p.parameters.rate.unit)
    -- what is written is data, and the function at the values found
    local a = mc.load(out .. '/nlsq/fitted_data.npz')
    local g = math.exp(-2 * (p.parameters.rate.value * (a.t1[41] - a.t1[11]):item()) ^ p.parameters.stretch.value)
    assert.is_true(math.abs(a.c2_theoretical_raw[{ 3, 11, 41 }]:item() - g) < 1e-12)
    assert.equal(a.c2_theoretical_raw[{ 3, 41, 11 }]:item(), a.c2_theoretical_raw[{ 3, 11, 41 }]:item())
    assert.is_truthy(script.read(out .. '/report.html'):find('own model', 1, true))
    local fixed = folder .. '/own2'
    text, status = run(data .. ' --sigma 0.004 --quiet --no-arrays --model ' .. model
      .. ' --p0 rate=0.05 --fixed stretch=1.5 --output-dir ' .. fixed)
    assert.equal(0, status, text)
    p = mc.load(fixed .. '/nlsq/parameters.json')
    assert.same({ 1.5, 'fixed' }, { p.parameters.stretch.value, p.parameters.stretch.state })
    fails(data .. ' --model ' .. folder .. '/none.lua', 1, 'none.lua')
    fails(data .. ' --model ' .. file('bad.lua', 'return { f = 1 }'), 1, 'bad.lua', 'it must return { g1')
    fails(data .. ' --model ' .. file('bad2.lua', 'return { g1 = print, p0 = { a = 1 }, bound = {} }'), 1,
      'holds bound')
    fails(data .. ' --laminar-flow --model ' .. model, 1, '--laminar-flow has no meaning with --model')
    fails(data .. ' --method both --model ' .. model, 1, '--method both')
    fails(data .. ' --p0 rate=1', 1, '--model')
    fails(data .. ' --initial-d0 3 --model ' .. model, 1, '--initial-d0 has no meaning with --model', '--p0')
    fails(data .. ' --nlsq-result d2 --model ' .. model, 1, '--nlsq-result has no meaning with --model')
    fails(data .. ' --static-mode --fixed phi0=3', 1, '--fixed phi0 belongs to laminar flow')
    fails(data .. ' --p0 speed=1 --model ' .. model, 1, '--p0 speed', 'rate, stretch')
  end)

  it('fits several data sets at once', function()
    local other, out = folder .. '/other', folder .. '/joint'
    local text, status = run('simulate --laminar-flow --frames 50 --dt 0.25 --q 0.014 --phi-angles "-25,0,30" '
      .. '--initial-d0 5000 --initial-alpha 0.3 --initial-d-offset 900 --initial-gamma-dot-t0 0.0004 '
      .. '--initial-beta -0.25 '
      .. '--initial-gamma-dot-offset 0.00012 --initial-phi0 4 --noise 0.004 --seed 9 --output-dir ' .. other)
    assert.equal(0, status, text)
    other = other .. '/simulated_data.npz'
    local line = data .. ' --laminar-flow --sigma 0.004 --quiet --no-arrays --joint ' .. other
    text, status = run(line .. ' --output-dir ' .. out)
    assert.equal(0, status, text)
    local r = mc.load(out .. '/joint.json')
    local want = mc.xpcs.joint.fit({ mc.xpcs.open(data, { mode = 'laminar_flow' }), mc.xpcs.open(other,
      { mode = 'laminar_flow' }) }, { sigma = 0.004 })
    assert.is_true(math.abs(want.chi2 - r.chi_squared) < 1e-9 * want.chi2)
    for name, v in pairs(want.values) do
      assert.is_true(math.abs(v - r.parameters[name].value) < 1e-3 * want.errors[name], name)
    end
    assert.same({ 1, 2 }, r.parameters.phi0.data_sets)
    assert.is_truthy(text:find('sets 1, 2', 1, true), text)
    local one = mc.load(out .. '/set2/nlsq/parameters.json')
    assert.equal(r.parameters.phi0.uncertainty, one.parameters.phi0.uncertainty)
    assert.is_true(exists(out .. '/set1/report.html') and exists(out .. '/manifest.json'))
    local page = script.read(out .. '/report.html')
    for _, sentence in ipairs(mc.load(out .. '/joint.json').verdict) do
      assert.is_truthy(page:find(sentence:sub(1, 40), 1, true), sentence)
    end
    for _, part in ipairs { 'Together and apart', 'Rates against time', 'set2/report.html', 'sets 1, 2' } do
      assert.is_truthy(page:find(part, 1, true), part)
    end
    text, status = run(line .. ' --shared phi0,beta --output-dir ' .. out .. '2')
    assert.equal(0, status, text)
    assert.is_truthy(mc.load(out .. '2/joint.json').parameters['D0[set 2]'])
    fails(data .. ' --joint ' .. folder .. '/none.h5', 1, '--joint', 'none.h5')
    fails(data .. ' --laminar', 2, 'did you mean --laminar-flow?')
    fails(data .. ' --start-frame 0', 2, '--start-frame is "0"; give a whole number from 1')
    fails(data .. ' --shared D0', 1, '--joint')
    fails(data .. ' --joint ' .. data, 1, '--joint ' .. data, 'data set 1 (q = 0.01 1/A) takes its matrices already')
    fails(line .. ',' .. other, 1, 'data set 2 (q = 0.014 1/A) takes its matrices already')
    fails(data .. ' --q 0.01 --joint 0.011', 1, '--joint 0.011: the nearest q', 'is 0.01 1/A', 'count twice')
    text, status = run(line .. ' --q 0.01 --output-dir ' .. out .. '3')
    assert.equal(0, status, text)
    assert.is_nil(text:find('is asked for', 1, true), text) -- --q is that of the first file
    assert.is_truthy(text:find('data set 2: ' .. other .. ', 3 angles x 50 times, q = 0.014 1/A', 1, true), text)
    assert.equal(r.chi_squared, mc.load(out .. '3/joint.json').chi_squared)
    fails(line .. ' --profile 0.95', 1, '--profile has no meaning with --joint')
    fails(line .. ' --shared contrast', 1, 'belong to a data set')
  end)

  it('keeps the fit of a run that is stopped before the first draws', function()
    local out, points = folder .. '/stopped', folder .. '/stopped_points'
    local told = folder .. '/stopped.txt'
    local pipe = assert(io.popen(([[
      %s scripts/xpcs.lua %s --sigma 0.004 --static-mode --quiet --no-arrays --method cmc --n-warmup 1000000 \
        --n-chains 1 --checkpoint-dir %s --output-dir %s >%s 2>&1 & pid=$!
      while [ ! -e %s/xpcs_posterior.h5 ] && kill -0 $pid 2>/dev/null; do sleep 0.05; done
      kill -TERM $pid; wait $pid; echo status $?]]):format(script.program, data, points, out, told, points)))
    local text = pipe:read '*a'
    pipe:close()
    assert.is_truthy(text:find 'status 143', text)
    assert.is_true(exists(out .. '/nlsq/parameters.json'))
    local words = script.read(told)
    assert.is_truthy(words:find('terminated before the first draws of the posterior: the fit is kept', 1, true), words)
    assert.is_nil(words:find('%.lua:%d'), words)
  end)

  it('says what has no effect and which name was meant', function()
    local text, status = run(data .. ' --static-mode --sigma 0.004 --quiet --no-arrays --no-jit --seed 3 --output-dir '
      .. folder .. '/seed')
    assert.equal(0, status, text)
    assert.is_truthy(text:find('--no-jit has no effect here', 1, true), text)
    if not text:find('other starts were tried', 1, true) then
      assert.is_truthy(text:find('--seed has no effect here', 1, true), text)
    end
    fails(data .. ' --seed 3 --joint ' .. data, 1, '--seed has no meaning with --joint')
    local function refused(o, part)
      local ok, why = pcall(mc.xpcs.run.settings, o)
      assert.is_false(ok)
      assert.is_truthy(why:find(part, 1, true), why)
    end
    refused({ laminarflow = true }, 'there is no option laminarflow (did you mean laminar_flow?)')
    fails('--config ' .. file('bound.yaml', ([[
analysis_mode: static
analyzer_parameters: {dt: 0.25}
experimental_data: {file_path: %s}
parameter_space:
  bounds:
    - {name: D0, min: 1, max: 1.0e+5}
    - {name: aplha, min: 0, max: 1}
]]):format(data)), 1, 'line 7: parameter_space.bounds: there is no parameter', 'did you mean alpha?')
    fails(data .. ' --model ' .. file('nomc.lua',
      'return { g1 = function(p, t1, t2) return mc.exp(-p.rate * (t2 - t1)) end, p0 = { rate = 0.1 } }'), 1,
      'begin the file with: local mc = require "mascon"')
    assert.equal(0.95, mc.xpcs.run.settings({ method = 'cmc', target_accept = 0.95 }).posterior.target_accept)
    assert.equal(7, mc.xpcs.run.settings({ method = 'cmc', seed = 7 }).posterior.seed)
  end)

  it('plans what it would run: mode, data sets, posterior, refusals', function()
    local plan = mc.xpcs.plan
    local function of(o, count)
      local s, list = mc.xpcs.run.settings(o), {}
      for i = 1, count or 1 do list[i] = { n = 400, F = 10, points = 10 * 400 * 399 / 2, dtype = 'f64' } end
      return plan.of_run(s, list, 1), plan.lines(s, list, 1), s, list
    end
    local static, laminar = of { dt = 1, q = 0.01 }, of { dt = 1, q = 0.01, laminar_flow = true }
    assert.same({ 5, 9 }, { static.p, laminar.p })
    assert.is_true(laminar.seconds > static.seconds)
    assert.is_true(of({ method = 'both' }).seconds > 10 * static.seconds)
    -- of what was measured: a fit of 7 parameters and its profiles, 16 gradients of a draw
    assert.is_true(of({ laminar_flow = true, profile = 0.95 }).seconds < 20 * laminar.seconds)
    local drawn = of({ method = 'cmc', n_samples = 100, n_warmup = 100, n_chains = 1 })
    assert.is_truthy(table.concat(drawn.parts, ' '):find('about 3200 gradients', 1, true))
    assert.is_true(of({ laminar_flow = true, loss = 'soft_l1' }).seconds > laminar.seconds)
    assert.is_true(of({ laminar_flow = true, scaling = 'individual' }).seconds > laminar.seconds)
    local two, lines = of({ laminar_flow = true, joint = { '0.02' } }, 2)
    assert.equal(11, two.p)
    assert.is_true(two.seconds > laminar.seconds and two.bytes > laminar.bytes)
    assert.is_truthy(table.concat(lines, '\n'):find('laminar flow, joint', 1, true))
    local _, _, s, list = of { sigma = { 0.1, 0.2 } }
    assert.equal('sigma has 2 values for 10 angles', plan.refusal(s, list, function() end))
  end)

  it('writes a configuration that it reads, draws data, and plans', function()
    local path = folder .. '/new.yaml'
    local text, status = run('config --mode static --output ' .. path)
    assert.equal(0, status, text)
    assert.equal('static', require('mascon').xpcs.config.read(path).fit.mode)
    text, status = run('plot ' .. data .. ' --output-dir ' .. folder .. '/p')
    assert.equal(0, status, text)
    assert.is_true(exists(folder .. '/p/experimental_data.svg'))
    -- what a run that was killed left beside it goes with the next one
    local left = folder .. '/p/.mascon-Ab3dEf7h'
    os.execute(('mkdir -p %s && touch %s/experimental_data.svg'):format(left, left))
    text, status = run('plot ' .. data .. ' --overwrite --output-dir ' .. folder .. '/p')
    assert.equal(0, status, text)
    assert.same({ 'experimental_data.svg' }, require('mascon.host').list(folder .. '/p'))
  end)

  it('refuses options without meaning, and values out of range, before it reads anything', function()
    local nowhere = folder .. '/nowhere.h5'
    for _, name in ipairs { 'frames 9', 'noise 5', 'contrast 9', 'offset 2', 'phi-angles 0,1' } do
      fails(nowhere .. ' --' .. name, 1, name:match '%S+' .. ' belongs to the command simulate')
    end
    fails('simulate --method cmc', 1, '--method belongs to the command fit')
    fails('config --max-memory 1G', 1, '--max-memory belongs to the command fit')
    fails(nowhere .. ' --static-mode --initial-phi0 5', 1, '--initial-phi0 belongs to laminar flow')
    fails(nowhere .. ' --start-frame -5', 2, '--start-frame is "-5"')
    fails(nowhere .. ' --end-frame -7', 1, '--end-frame is -7')
    fails(nowhere .. ' --initial-alpha nan', 2, '--initial-alpha is "nan"; give a number')
    fails(nowhere .. ' --seed -1', 2, '--seed is "-1"')
    fails(nowhere .. ' --fixed D0=nan', 1, '--fixed D0=nan')
    fails(nowhere .. ' --profile 2', 1, '--profile is 2')
    fails(nowhere .. ' --f-scale 0', 1, '--f-scale is 0')
    fails(nowhere .. ' --sigma 0.1x', 2, '--sigma is "0.1x"')
    fails(data .. ' --strict-q --q 7', 1, 'q = 0.01', '7 is asked for')
    fails(data .. ' --max-memory 1', 1, 'at least')
    for _, word in ipairs { "''", folder .. '/new.txt' } do
      file('new.txt', 'mine')
      local text, status = run(data .. ' --output-dir ' .. word)
      assert.is_true(status > 0 and text:find '%-%-output%-dir' ~= nil, text)
    end
  end)

  it('refuses what a command does not use, by name', function()
    local npz = folder .. '/nowhere.npz '
    for line, why in pairs {
      ['config --config missing.yaml'] = '--config belongs', ['config --set a=b'] = '--set belongs',
      ['config --initial-d0 5'] = '--initial-d0 belongs', ['config --seed 7'] = '--seed belongs',
      ['config --dtype f32'] = '--dtype belongs', ['config --threads 1'] = '--threads belongs',
      ['config --laminar-flow --mode static'] = '--laminar-flow and --mode static',
      ['config --static-mode --gap 1e6'] = '--gap belongs to laminar flow',
      ['config --q 0.1 --validate ' .. yaml] = '--q has no meaning with --validate',
      ['simulate --dtype f32'] = '--dtype belongs', ['simulate missing.h5'] = 'missing.h5" is one word too many',
      ['simulate --plot-experimental-data'] = '--plot-experimental-data belongs to the command plot',
      ['plot --plot-simulated-data ' .. npz] = '--plot-simulated-data belongs to the command simulate',
      ['plot --method cmc ' .. npz] = '--method belongs', ['plot --n-samples 5 ' .. npz] = '--n-samples belongs',
      ['plot --tolerance 1e-3 ' .. npz] = '--tolerance belongs', [npz .. '--gap 1e6'] = '--gap belongs to laminar flow',
      [npz .. '--f-scale 2'] = '--f-scale says', [npz .. '--data-file b.h5'] = 'both name data',
    } do
      local text, status = run(line)
      assert.is_true(status == 1 and text:find(why, 1, true) ~= nil, line .. ': ' .. text)
    end
    local path = folder .. '/static.yaml'
    assert.equal(0, select(2, run('config --static-mode --output ' .. path)))
    assert.equal('static', mc.xpcs.config.read(path).open.mode)
  end)

  it('writes a configuration where nothing stands, unless it is told to overwrite', function()
    local path, beside = folder .. '/own.yaml', file('own.txt', 'mine')
    assert.equal(0, select(2, run('config --output ' .. path)))
    assert.equal('mine', script.read(beside))
    file('own.yaml', 'edited')
    local text, status = run('config --output ' .. path)
    assert.equal(1, status, text)
    assert.is_truthy(text:find('--overwrite', 1, true), text)
    assert.equal('edited', script.read(path))
    assert.equal(0, select(2, run('config --overwrite --output ' .. path)))
    assert.is_truthy(script.read(path):find('analysis_mode', 1, true))
    text, status = run('config --output ' .. folder)
    assert.is_true(status == 1 and text:find('is a folder', 1, true) ~= nil, text)
    assert.is_false(exists(folder .. '.txt'))
  end)

  it('takes the options and the default file of homodyne', function()
    local text, status = run '--version'
    assert.is_true(status == 0 and text:find('mascon ' .. mc.version, 1, true) ~= nil, text)
    text, status = run('config --validate ' .. yaml)
    assert.equal(0, status, text)
    assert.is_truthy(text:find('laminar_flow, method nlsq', 1, true), text)
    fails('config --validate ' .. folder .. '/none.yaml', 1, 'none.yaml')
    local path = folder .. '/short.yaml'
    assert.equal(0, select(2, run('config -m static -o ' .. path)))
    assert.equal(1, select(2, run('config -m static -o ' .. path)))
    assert.equal(0, select(2, run('config -m laminar_flow -o ' .. path .. ' -f --filter nlsq_only')))
    assert.equal('laminar_flow', mc.xpcs.config.read(path).open.mode)
    text, status = run(('plot --config %s --plotting-backend auto --parallel-plots --no-jit --output-dir %s/plot')
      :format(yaml, folder))
    assert.equal(0, status, text)
    local s = mc.xpcs.run.settings { config = yaml, no_jit = true, plotting_backend = 'auto' }
    assert.same({ '--plotting-backend', '--no-jit' }, s.unused)
  end)

  it('publishes the files of a fit together or not at all, and removes those of the fit before', function()
    local out = folder .. '/set'
    local line = data .. ' --sigma 0.004 --quiet --overwrite --output-dir ' .. out
    local text, status = run(line)
    assert.equal(0, status, text)
    local before, record = script.read(out .. '/nlsq/parameters.json'), mc.manifest.read(out)
    os.remove(out .. '/report.html')
    assert(mc.file.make_folder(out .. '/report.html'))
    text, status = run(line .. ' --initial-alpha 0.9 --output-format npz')
    assert.equal(1, status, text)
    assert.is_truthy(text:find('report.html', 1, true) and text:find('move it away', 1, true), text)
    assert.equal(before, script.read(out .. '/nlsq/parameters.json'))
    assert.is_false(exists(out .. '/nlsq/parameters.npz'))
    assert.same(record, mc.manifest.read(out))
    os.remove(out .. '/report.html')
    assert.equal(0, select(2, run(line .. ' --no-arrays --output-format npz')))
    assert.is_false(exists(out .. '/nlsq/fitted_data.npz') or exists(out .. '/nlsq/parameters.yaml'))
    assert.same({ {}, 8 }, { mc.manifest.files_apart(mc.manifest.read(out), out) })
  end)

  it('refuses wrong configurations with file, line and key', function()
    local function bad(name, text, ...) fails('--config ' .. file(name, text), 1, name, ...) end
    bad('1.yaml', 'analysis_mode: laminar\n', 'line 1', 'analysis_mode', 'laminar_flow')
    bad('2.yaml', 'analysis_mode: static\noptimization:\n  nlsq:\n    los: linear\n', 'line 4', 'optimization.nlsq.los',
      'loss')
    bad('3.yaml', 'analysis_mode: static\n', 'analyzer_parameters.dt is missing')
    bad('4.yaml', 'analyzer_parameters: {dt: 0.1}\noptimization: {method: lm}\n', 'line 2', 'optimization.method',
      'nlsq, cmc')
    bad('5.yaml', 'analyzer_parameters: {dt: 0.1}\nparameter_space:\n  bounds:\n    - {name: D0, min: 5, max: 1}\n',
      'bounds[1]', 'min 5 above max 1')
    bad('6.yaml', 'analyzer_parameters: {dt: 0.1}\ninitial_parameters: {parameter_names: [D0], values: [1, 2]}\n',
      '2 numbers for 1')
    bad('7.yaml', 'analyzer_parameters: {dt: 0.1}\ninitial_parameters: {parameter_names: [DO], values: [1]}\n',
      'there is no parameter', 'D0')
    bad('8.yaml', 'analyzer_parameters: {dt: fast}\n', 'line 1', 'a number')
    bad('9.yaml', 'analyzer_parameters: [\n', 'line 2')
  end)
end)
