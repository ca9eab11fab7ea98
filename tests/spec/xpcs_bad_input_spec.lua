-- xpcs_bad_input_spec.lua - bad input of scripts/xpcs.lua: message and exit status, one test per line of the table of
-- the definition, in its order.
--
-- | input | reaction | `it` |
-- | missing config or data file, key absent, unknown method or mode | error that names it, nothing written | 1 |
-- | both modes; verbose and quiet; iterations, tolerance, samples, threads, D0 not positive; angles | error first | 2 |
-- | q, L or dt <= 0 or not finite; outside the typical range | error; warning | 3 |
-- | sigma not finite or <= 0 | error with the count; explicit masks | 4 |
-- | C2 with NaN or Inf | counted, said, masked | 5 |
-- | lower bound above the upper one; wrong vector length; equal bounds | error with its place; fixed | 6 |
-- | start outside its bounds | clipped, warned about by name | 7 |
-- | fewer points than parameters | error | 8 |
-- | corrupt checkpoint; another version | warning, from scratch | 9 |
-- | matrices that are not square, or of two shapes | error with dataset and shape | 10 |
local script = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests')
  .. '/support/init.lua').load 'script'
local mc = require 'mascon'
local folder = os.tmpname()
os.remove(folder)

local function run(line) return script.run('xpcs', line) end
local function exists(path) return script.read(path) ~= nil end
local function file(name, text)
  local path = folder .. '/' .. name
  assert(mc.file.write(path, text))
  return path
end

--- The run fails with this status and these words, and leaves no results.
local function fails(line, status, ...)
  local out = folder .. '/none'
  local text, code = run(line .. ' --output-dir ' .. out)
  assert.equal(status, code, text)
  for _, part in ipairs { ... } do assert.is_truthy(text:find(part, 1, true), text) end
  assert.is_nil(text:find('stack traceback', 1, true), text)
  assert.is_false(exists(out .. '/report.html') or exists(out .. '/manifest.json')
    or exists(out .. '/nlsq/parameters.json') or exists(out .. '/simulated_data.npz'))
end

local count = 0
--- The run ends well and says these words; the folder of its results.
local function says(line, ...)
  count = count + 1
  local out = folder .. '/out' .. count
  local text, code = run(line .. ' --quiet --no-arrays --output-dir ' .. out)
  assert.equal(0, code, text)
  for _, part in ipairs { ... } do assert.is_truthy(text:find(part, 1, true), text) end
  return out
end

--- An APS-U file of one q with these matrices; the words of a run on it.
local function h5(name, matrices)
  local groups, phi, bins = {}, {}, {}
  for f, m in ipairs(matrices) do groups[('c2_%05d'):format(f)], phi[f], bins[f] = m, 30 * f, f end
  local path = folder .. '/' .. name
  mc.save(path, { xpcs = { qmap = { dynamic_v_list_dim0 = mc.tensor { 0.01 }, dynamic_v_list_dim1 = mc.tensor(phi) },
    twotime = { processed_bins = mc.tensor(bins), correlation_map = groups } } })
  return path .. ' --q 0.01 --dt 0.1 --static-mode --sigma 0.004'
end

describe('bad input of scripts/xpcs.lua', function()
  local data, nowhere, sim
  setup(function()
    assert(mc.file.make_folder(folder))
    nowhere = folder .. '/nowhere.h5'
    sim = mc.xpcs.simulate { n = 40, q = 0.01, dt = 0.5, phi = { 0, 60 }, physics = { 2200, -0.35, 300 }, sigma = 0.004,
      seed = 2 }
    data = folder .. '/x.npz'
    mc.save(data, { c2_exp = sim.c2, phi_angles_list = mc.tensor(sim.phi), t1 = sim.t, q = mc.tensor(sim.q) })
  end)
  teardown(function()
    os.execute("rm -rf '" .. folder .. "'")
    sim = nil
  end)

  local function yaml(name, more)
    return '--config ' .. file(name, ('analyzer_parameters: {dt: 0.5, scattering: {wavevector_q: 0.01}}\n'
      .. 'experimental_data: {file_path: %s, sigma: 0.004}\n%s'):format(data, more or ''))
  end

  it('1: what is missing or unknown is named', function()
    fails('--config ' .. folder .. '/nowhere.yaml', 1, 'nowhere.yaml')
    fails(nowhere .. ' --dt 0.1', 1, 'nowhere.h5', 'check the path')
    fails('--config ' .. file('data.yaml', 'analyzer_parameters: {dt: 0.1}\n'), 1, 'no data file is named',
      'experimental_data.file_path')
    fails('', 1, 'no data file is named')
    fails('--config ' .. file('dt.yaml', 'analysis_mode: static\n'), 1, 'dt.yaml', 'analyzer_parameters.dt is missing')
    fails(yaml('method.yaml', 'optimization: {method: lm}\n'), 1, 'method.yaml', 'line 3', 'optimization.method',
      'nlsq, cmc')
    fails(nowhere .. ' --method lm', 2, '--method', 'nlsq, cmc')
    fails(yaml('mode.yaml', 'analysis_mode: laminar\n'), 1, 'mode.yaml', 'line 3', 'analysis_mode', 'laminar_flow')
    fails('fit ' .. data .. ' --frobnicate', 2, '--frobnicate')
    fails(data .. ' ' .. nowhere, 1, 'are two data files and a fit takes one', '--joint ' .. nowhere)
    fails('fti ' .. data, 1, '"fti" is no command')
    fails(nowhere .. ' --mask ' .. folder .. '/none.npy', 1, '--mask', 'none.npy', 'check the path')
  end)

  it('of arrays that hold no numbers, or the wrong ones, is refused by their names', function()
    local path = folder .. '/odd.npz'
    local function with(more, ...)
      local all = { c2_exp = sim.c2, phi_angles_list = mc.tensor(sim.phi), t1 = sim.t, q = mc.tensor(sim.q) }
      for k, v in pairs(more) do all[k] = v end
      mc.save(path, all)
      fails(path .. ' --static-mode' .. (more.sigma and '' or ' --sigma 0.004'), 1, ...)
    end
    with({ c2_exp = sim.c2:to 'c128' }, path .. ':c2_exp holds complex numbers', 'write their real part')
    with({ c2_exp = mc.zeros { 0, 40, 40 }, phi_angles_list = mc.zeros { 0 } }, 'holds no angle')
    with({ q = 'x' }, path .. ':q holds text')
    with({ mask = mc.full({ 40, 40 }, mc.nan) }, 'the mask of', 'holds NaN')
    with({ sigma = mc.full({ 40, 40 }, 0.01):to 'c64' }, ':sigma holds complex numbers')
    with({ c2_exp = sim.c2[{ mc.all, { 1, 2 }, { 1, 2 } }]:contiguous(), t1 = mc.tensor { 0, 0.5 } },
      '2 frames leave one time', 'at least 3 frames')
    local line = h5('twice.h5', { mc.triu(sim.c2[1]), mc.triu(sim.c2[2]) })
    local function rebinned(bins, ...)
      local qmap = { dynamic_v_list_dim0 = mc.tensor { 0.01 }, dynamic_v_list_dim1 = mc.tensor { 30, 60 } }
      mc.save(folder .. '/twice.h5', { xpcs = { qmap = qmap, twotime = { processed_bins = mc.tensor(bins),
        correlation_map = { c2_00001 = mc.triu(sim.c2[1]), c2_00002 = mc.triu(sim.c2[2]) } } } })
      fails(line, 1, 'processed_bins', ...)
    end
    local complex = { h5('complex.h5', { mc.triu(sim.c2[1]):to 'c128', mc.triu(sim.c2[2]) }),
      h5('complex2.h5', { mc.triu(sim.c2[1]), mc.triu(sim.c2[2]):to 'c64' }) }
    for k, text in ipairs(complex) do
      fails(text, 1, ('c2_%05d holds complex numbers; a two-time matrix is real numbers'):format(k))
    end
    rebinned({ 1, 1 }, 'bin 1 stands at entries 1 and 2')
    rebinned({ 1.5, 2 }, 'entry 1 is 1.5; bins are whole numbers')
  end)

  it('2: contradictions and numbers out of range are refused before anything is read', function()
    fails(nowhere .. ' --static-mode --laminar-flow', 1, '--static-mode and --laminar-flow')
    fails(nowhere .. ' -v --quiet', 1, '--verbose and --quiet')
    fails(nowhere .. ' --sigma 1 --sigma-file x.npy', 1, '--sigma and --sigma-file')
    for _, name in ipairs { 'tolerance', 'initial-d0' } do
      for _, v in ipairs { 0, -1 } do
        fails(('%s --%s %d'):format(nowhere, name, v), 1, ('--%s is %d'):format(name, v))
      end
    end
    for _, name in ipairs { 'max-iterations', 'n-samples', 'n-warmup', 'n-chains', 'threads' } do
      for _, v in ipairs { '0', '-1', '1.5' } do -- counts are one kind of word, with one status
        fails(('%s --%s %s'):format(nowhere, name, v), 2, ('--%s is "%s"; give a whole number from 1'):format(name, v))
      end
    end
    fails(nowhere .. ' --mask-frames 5-3', 1, '--mask-frames 5-3: give frames from 1')
    fails(yaml('iterations.yaml', 'optimization: {nlsq: {max_iterations: 0}}\n'), 1, 'max_iterations is 0')
    fails(yaml('tolerance.yaml', 'optimization: {nlsq: {tolerance: -1.0}}\n'), 1, 'tolerance is -1')
    for _, angles in ipairs { '0,x', '0,,9', '0,inf', '0,nan' } do
      fails(('simulate --phi-angles "%s"'):format(angles), 1, '--phi-angles', '0,45,90')
    end
  end)

  it('3: q, gap and dt are positive and finite; unusual ones are warned about', function()
    local flow = data .. ' --laminar-flow --sigma 0.004'
    for _, name in ipairs { 'q', 'gap', 'dt' } do
      for _, v in ipairs { '0', '-1' } do
        fails(('%s --%s %s'):format(flow, name, v), 1, ('--%s is %s'):format(name, v))
      end
      for _, v in ipairs { 'inf', 'nan' } do
        fails(('%s --%s %s'):format(flow, name, v), 2, ('--%s is "%s"'):format(name, v))
      end
    end
    local function config(dt, q, gap)
      return '--config ' .. file('bad.yaml', ([[
analysis_mode: laminar_flow
analyzer_parameters: {dt: %s, scattering: {wavevector_q: %s}, geometry: {stator_rotor_gap: %s}}
experimental_data: {file_path: %s, sigma: 0.004}
]]):format(dt, q, gap, h5('half.h5', { mc.triu(sim.c2[1]), mc.triu(sim.c2[2]) }):match '%S+'))
    end
    fails(config('0', '0.01', '2.0e+6'), 1, 'dt is 0', 's')
    fails(config('.inf', '0.01', '2.0e+6'), 1, 'dt is inf')
    fails(config('0.5', '-0.01', '2.0e+6'), 1, 'q', '-0.01', '1/A')
    fails(config('0.5', '0.01', '-1.0'), 1, 'gap is -1')
    fails(config('0.5', '.nan', '2.0e+6'), 1, 'q')
    mc.save(folder .. '/far.npz', { c2_exp = sim.c2, phi_angles_list = mc.tensor(sim.phi), t1 = sim.t * 4000,
      q = mc.tensor(2) })
    says(folder .. '/far.npz --laminar-flow --gap 10 --sigma 0.004 --fixed alpha=0,beta=0,phi0=0 --max-iterations 2000',
      'q = 2 1/A is outside the usual range', 'gap = 10 A (the stator-rotor gap', 'dt = 2000 s is outside')
  end)

  it('4: sigma is positive and finite, or a mask says so', function()
    fails(data .. ' --sigma 0', 1, 'sigma are not positive')
    fails(data .. ' --sigma 0.1,-1', 1, 'sigma', '-1')
    fails(data .. ' --sigma 0.1,0.1,0.1', 1, 'sigma')
    local n, sigma = sim.n, mc.full({ sim.n, sim.n }, 0.004)
    sigma[{ 3, 9 }], sigma[{ 9, 3 }] = 0, 0
    mc.save(folder .. '/zero.npy', sigma)
    local line = data .. ' --sigma-file ' .. folder .. '/zero.npy'
    fails(line, 1, ('1 of the %d values of sigma'):format(n * (n - 1) / 2), 'zero_sigma_is_mask')
    sigma[{ 3, 9 }], sigma[{ 9, 3 }] = mc.nan, mc.nan
    mc.save(folder .. '/nan.npy', sigma)
    fails(data .. ' --sigma-file ' .. folder .. '/nan.npy', 1, ('1 of the %d values of sigma'):format(n * (n - 1) / 2))
    local text = file('zero.yaml', ('analyzer_parameters: {dt: 0.5, scattering: {wavevector_q: 0.01}}\n'
      .. 'experimental_data: {file_path: %s, sigma: %s/zero.npy, zero_sigma_is_mask: true}\n'):format(data, folder))
    local out = says('--config ' .. text, 'points are left out by the mask or by sigma = 0')
    assert.equal(2 * (n * (n - 1) / 2 - 1), mc.load(out
      .. '/nlsq/analysis_results_nlsq.json').dataset_info.total_data_points)
    local mask = mc.ones { n, n }
    mask[{ 3, 9 }], mask[{ 9, 3 }] = 0, 0
    mc.save(folder .. '/mask.npy', mask)
    local other = says(data .. ' --sigma 0.004 --mask ' .. folder .. '/mask.npy', 'left out by the mask')
    assert.equal(mc.load(out .. '/nlsq/parameters.json').chi_squared > 0, true)
    assert.equal(2 * (n * (n - 1) / 2 - 1), mc.load(other
      .. '/nlsq/analysis_results_nlsq.json').dataset_info.total_data_points)
  end)

  it('5: points of C2 that are NaN or infinite are counted, said and masked', function()
    local matrix = mc.triu(sim.c2[1])
    fails(h5('nan.h5', { matrix * mc.nan }), 1, 'c2_00001', 'no finite value')
    matrix[{ 3, 9 }], matrix[{ 4, 20 }] = mc.nan, mc.inf
    local total = (sim.n - 1) * (sim.n - 2) / 2
    local out = says(h5('hole.h5', { matrix }) .. ' --fixed alpha=-0.35,D_offset=300',
      ('2 of %d points are NaN or infinite and are masked'):format(total), '2 masked')
    local info = mc.load(out .. '/nlsq/analysis_results_nlsq.json').dataset_info
    assert.same({ total - 2, 2 }, { info.total_data_points, info.masked_points })
  end)

  it('6: bounds are in order, lists have their length, equal bounds fix', function()
    fails(yaml('bounds.yaml', 'parameter_space: {bounds: [{name: alpha, min: 0.0, max: 1.0}, {name: D0, min: 5.0, '
      .. 'max: 1.0}]}\n'), 1, 'bounds[2]', 'D0 has min 5 above max 1')
    fails(data .. ' --bounds D0=5:1', 1, '--bounds D0=5:1', 'exceeds')
    fails(yaml('values.yaml', 'initial_parameters: {parameter_names: [D0], values: [1, 2]}\n'), 1, '2 numbers for 1')
    fails(yaml('angles.yaml', 'initial_parameters: {per_angle_scaling: {contrast: [0.3, 0.3, 0.3], '
      .. 'offset: [1, 1, 1]}}\n'), 1, 'one number per angle', '3 and 2 angles')
    local out = says(yaml('equal.yaml', 'parameter_space: {bounds: [{name: alpha, min: -0.3, max: -0.3}]}\n'))
    local q = mc.load(out .. '/nlsq/parameters.json').parameters.alpha
    assert.same({ -0.3, 'fixed' }, { q.value, q.state })
  end)

  it('7: a start outside its bounds is moved onto them, by name', function()
    says(data .. ' --sigma 0.004 --initial-d0 5',
      'note: D0 starts at 5, outside its bounds 100 .. 100000; it starts at 100')
  end)

  it('8: fewer points than parameters are refused', function()
    local s = mc.xpcs.simulate { n = 2, phi = { 0 }, sigma = 0 }
    mc.save(folder .. '/two.npz', { c2_exp = s.c2, phi_angles_list = mc.tensor { 0 }, t1 = s.t, q = mc.tensor(0.01) })
    fails(folder .. '/two.npz', 1, '1 points cannot determine 5 parameters')
    -- as many as the fit that was asked for needs, and fewer than one with contrasts of their own for each angle
    local few = mc.xpcs.simulate { n = 20, dt = 0.5, q = 0.01, phi = { 0, 20, 40, 60, 80, 100 }, sigma = 0.01 }
    for f = 1, 6 do few.c2[f] = few.c2[f] + 0.1 * (f % 2) end
    mc.save(folder .. '/few.npz', { c2_exp = few.c2, phi_angles_list = mc.tensor(few.phi), t1 = few.t,
      q = mc.tensor(0.01) })
    says(folder .. '/few.npz --start-frame 18 --sigma 0.01',
      'note: the frames leave 3 times, 3 pairs of them per angle: give more frames')
  end)

  it('9: a checkpoint that is damaged or of another version is passed over, with a warning', function()
    local points = folder .. '/points'
    assert(mc.file.make_folder(points))
    local line = data .. ' --sigma 0.004 --checkpoint-dir ' .. points
    local path = points .. '/xpcs_state_000001.npz'
    local want = mc.load(says(data .. ' --sigma 0.004') .. '/nlsq/parameters.json').chi_squared
    local function goes_on(bytes, ...)
      assert(mc.file.write(path, bytes))
      assert.equal(want, mc.load(says(line, ...) .. '/nlsq/parameters.json').chi_squared)
      os.remove(path)
    end
    goes_on('no archive', 'xpcs_state_000001.npz is damaged and is passed over')
    local version = mc.xpcs.state.VERSION
    mc.xpcs.state.VERSION = version + 1
    local state = mc.xpcs.state.new(mc.xpcs.open(data), { sigma = 0.004 }, { dir = folder .. '/other', blocks = 1,
      block_values = 1 })
    local kept
    local save = state.save
    mc.xpcs.state.VERSION = version
    function state.save(self, ...)
      local at = save(self, ...)
      kept = kept or mc.file.read(at)
      return at
    end
    mc.xpcs.fit(mc.xpcs.open(data), { sigma = 0.004, engine = state.engine })
    local half = math.floor(#kept / 2)
    goes_on(kept:sub(1, half), 'is damaged and is passed over')
    goes_on(kept:sub(1, half) .. string.char((kept:byte(half + 1) + 1) % 256) .. kept:sub(half + 2),
      'is damaged and is passed over')
    -- its fingerprint holds the version: one of another version is one of another fit
    goes_on(kept, 'xpcs_state_000001.npz belongs to other data, options, another device or version; it is left alone')
  end)

  it('10: matrices are square and of one shape', function()
    fails(h5('flat.h5', { mc.ones { 9, 7 } }), 1, 'flat.h5', 'c2_00001', '[9, 7]', 'square')
    fails(h5('shapes.h5', { mc.triu(sim.c2[1]), mc.ones { 9, 9 } }), 1, 'c2_00002', '[9, 9]', 'c2_00001', '[40, 40]')
    fails(h5('full.h5', { sim.c2[1] }), 1, 'both triangles', 'full_matrices')
    mc.save(folder .. '/flat.npz', { c2_exp = mc.ones { 2, 9, 7 }, phi_angles_list = mc.tensor { 0, 1 },
      q = mc.tensor(0.01) })
    fails(folder .. '/flat.npz --dt 0.1', 1, 'flat.npz', '[2, 9, 7]', '[angles, n, n]')
    local line = h5('cut.h5', { mc.triu(sim.c2[1]) })
    local bytes = assert(mc.file.read(folder .. '/cut.h5'))
    assert(mc.file.write(folder .. '/cut.h5', bytes:sub(1, math.floor(#bytes / 2))))
    fails(line, 1, 'cut.h5')
  end)
end)
