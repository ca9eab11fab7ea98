-- xpcs.lua - two-time correlation of X-ray scattering: transport parameters with errors, and what the data do not
-- determine.
--
-- usage: mascon scripts/xpcs.lua [fit|simulate|plot|config] [FILE] [options]; --help lists them. FILE: .h5, .hdf, .hdf5
-- (APS, APS-U) or .npz.
-- Writes DIR/nlsq/parameters.json, analysis_results_nlsq.json, convergence_metrics.json, fitted_data.npz,
-- DIR/report.html and manifest.json.
local mc = require 'mascon'
local xpcs = mc.xpcs

-- -v, -vv, -vvv as homodyne has them
local words = {}
for i = 1, #arg do
  local v = arg[i]:match '^%-(v+)$'
  words[i] = v and '--verbose=' .. #v or arg[i]
end
local o, given = mc.args.parse(words, {
  name = 'xpcs', usage = 'usage: mascon scripts/xpcs.lua [fit|simulate|plot|config] [FILE] [options]', positional = 2,
  about = 'Fits diffusion and shear to two-time correlation matrices of a beamline file. Units: A^2/s, 1/A, s, degrees; the gap in A (2e6 A = 200 um).',
  options = {
    { 'config', 'string', 'configuration, .yaml or .json, with the keys of homodyne', value = 'FILE' }, { 'set', 'list',
      'keys of the configuration, by their whole paths', value = 'KEY=VALUE,...' },
    { 'data_file', 'string', 'data, instead of that of the configuration', value = 'FILE' }, { 'output_dir', 'string',
      'folder for the results (./homodyne_results)', value = 'DIR' }, { 'out', 'string', 'the same', value = 'DIR' },
    { 'method', { 'nlsq', 'cmc', 'both' }, 'least squares, posterior, or both' }, { 'static_mode', 'flag',
      'diffusion alone (3 parameters)' }, { 'laminar_flow', 'flag', 'diffusion and shear (7 parameters)' },
    { 'q', 'number', 'wave vector, 1/A: the nearest one of the file' }, { 'dt', 'number', 'time between frames, s' },
      { 'gap', 'number', 'stator-rotor gap, A' },
    { 'start_frame', 'integer', 'first frame, from 1' }, { 'end_frame', 'integer', 'last frame; -1: all' },
      { 'full_matrices', 'flag', 'the file holds both triangles' },
    { 'strict_q', 'flag', 'never take matrices of other q' }, { 'dtype', { 'f32', 'f64' },
      'precision in which data are kept' },
    { 'sigma', 'numbers', 'standard deviation of C2, one number or one per angle (0.01)' },
    { 'sigma_file', 'string', 'standard deviation of every point: .npy, .npz or .h5, [n, n] or [angles, n, n]',
      value = 'FILE' }, { 'mask', 'string', 'which points count (not 0), in the same forms', value = 'FILE' },
    { 'scaling', { 'auto', 'averaged', 'individual', 'constant', 'fourier' },
      'contrast and offset: free for all angles together, for each, or fixed' },
    { 'loss', { 'linear', 'soft_l1', 'huber', 'cauchy', 'arctan' },
      'loss of large residuals (linear; with --config soft_l1)' }, { 'f_scale', 'number',
      'residual, in sigma, from which a loss bends' },
    { 'max_iterations', 'number', 'most evaluations' }, { 'tolerance', 'number', 'relative change that ends the fit' },
      { 'fixed', 'list', 'parameters kept', value = 'NAME=VALUE,...' },
    { 'initial_d0', 'number', 'start of D0, A^2/s' }, { 'initial_alpha', 'number', 'start of alpha' },
      { 'initial_d_offset', 'number', 'start of D_offset, A^2/s' },
    { 'initial_gamma_dot_t0', 'number', 'start of the shear rate, 1/s' }, { 'initial_beta', 'number', 'start of beta' },
      { 'initial_gamma_dot_offset', 'number', 'start of its offset, 1/s' },
    { 'initial_phi0', 'number', 'start of phi0, degrees' }, { 'multi_start', 'integer',
      'also try so many starts, when the first fit is not good' }, { 'seed', 'integer',
      'seed of starts and of simulation', default = 42 },
    { 'profile', 'number', 'profile likelihood intervals at this level: 0.68, 0.9, 0.95, 0.99' }, { 'legacy_counting',
      'flag', 'count both triangles, as homodyne does (errors too small by sqrt 2)' },
    { 'n_samples', 'integer', 'draws per chain of a posterior (1000)' }, { 'n_warmup', 'integer',
      'its warm-up (500)' }, { 'n_chains', 'integer', 'its chains (4)' },
    { 'prior', { 'flat', 'normal', 'nlsq' }, 'its prior: flat between the bounds, the table of priors, or around the fit' },
    { 'dense_mass_matrix', 'flag', 'its metric holds correlations (the default)' }, { 'no_nlsq_warmstart', 'flag',
      'chains begin at the starting values, not at the fit' },
    { 'nlsq_result', 'string', 'starting values of an earlier fit', value = 'DIR' },
    { 'cmc_num_shards', 'integer', 'also the combination of so many shards, as homodyne makes it' },
    { 'cmc_backend', 'string', 'accepted, without effect' },
    { 'model', 'string', 'fit a g1 of your own: a Lua file that returns { g1, p0, bounds }', value = 'FILE.lua' },
    { 'p0', 'list', 'its starting values, instead of those of the file', value = 'NAME=VALUE,...' },
    { 'joint', 'list', 'fit further data sets at once: files, or other q (1/A) of the same file',
      value = 'FILE|Q,...' },
    { 'shared', 'list', 'the parameters in common of a joint fit (all of the physics)', value = 'NAME,...' },
    { 'save_plots', 'flag', 'heat maps of every angle' }, { 'plot_experimental_data', 'flag',
      'the same as the command plot' }, { 'plot_simulated_data', 'flag', 'the same as the command simulate' },
    { 'contrast', 'number', 'contrast of a simulation (0.3)' }, { 'offset', 'number', 'offset of a simulation (1)' },
    { 'phi_angles', 'string', 'angles of a simulation, degrees', value = '"0,45,90"' },
    { 'frames', 'integer', 'frames of a simulation (100)' }, { 'noise', 'number',
      'standard deviation of its noise (0.01)' },
    { 'mode', { 'static', 'laminar_flow' }, 'mode of a new configuration', default = 'laminar_flow' }, { 'output',
      'string', 'file of a new configuration', value = 'FILE', default = 'xpcs.yaml' },
    { 'overwrite', 'flag', 'replace the file of a new configuration' },
    { 'output_format', { 'yaml', 'json', 'npz' }, 'beside the JSON: tables as YAML, nothing, or parameters.npz', default = 'yaml' },
      { 'threads', 'integer', 'worker threads (all cores); results do not depend on it' },
    { 'checkpoint_dir', 'string', 'folder of checkpoints: a fit that was stopped goes on from there', value = 'DIR' },
    { 'max_memory', 'string', 'memory the data may take; larger ones are streamed from a packed file', value = 'SIZE' },
    { 'pack', 'string', 'packed file to stream from, made when it is not there', value = 'FILE' }, { 'no_arrays',
      'flag', 'no fitted_data' },
    { 'verbose', 'integer', 'more words' }, { 'quiet', 'flag', 'no progress' },
  },
})

local run = xpcs.run

--- A fit of several data sets; the exit status.
local function joint(s, list, record)
  for i = 2, #list do
    print(('data set %d: %s, %d angles x %d times, q = %.6g 1/A'):format(i, list[i].path, list[i].F, list[i].n,
      list[i].q))
  end
  local r = run.joint(s, list)
  record:stage('parameters', r.point.x)
  local files = run.write_joint(s, list, r, record)
  io.write('\n', xpcs.joint.table(r))
  for i, data in ipairs(list) do
    for _, w in ipairs(data.warnings) do print(('note: data set %d: %s'):format(i, w)) end
    for _, w in ipairs(r.fits[i].warnings) do print(('note: data set %d: %s'):format(i, w)) end
  end
  print(('\nresults in %s: %s'):format(s.dir, table.concat(files, '  ')))
  if not r.success then return 3 end
end

--- What the bound on memory holds for; the exit status, nil for 0.
local function work(command, s)
  if s.threads then mc.set_num_threads(s.threads) end
  if not mc.manifest.planning() then
    mc.results.folder('--output-dir', s.dir)
  end
  local data = run.data(s, o.quiet)
  if mc.manifest.planning() then
    for _, line in ipairs(xpcs.plan.lines { n = data.n, F = data.F, dtype = data.dtype, mode = s.open.mode, streamed = data.streamed,
      threads = mc.get_num_threads(), strategy = s.strategy }) do print(line) end
    return 0
  end
  print(('%s: %d angles x %d times, q = %.6g 1/A, %d points%s'):format(s.path, data.F, data.n, data.q, data.points,
    data.masked > 0 and (', %d masked'):format(data.masked) or ''))
  if command == 'plot' then
    print('wrote ' .. run.plot(s, data))
    return
  end
  local record = mc.manifest.new { options = s.fit, inputs = { s.path, o.config, o.model }, quiet = o.quiet }
  if s.joint then return joint(s, run.others(s, data, o.quiet), record) end
  local r
  if s.model then r = run.own(s, data) else r = run.fit(s, data, o.quiet) end
  record:stage('parameters', r.point.x)
  record:stage('chi2', r.chi2)
  local posterior, shards = run.posterior(s, r, o.quiet)
  local files = run.write(s, data, r, record, posterior, shards)
  print()
  for _, sentence in ipairs(r.verdict.sentences) do print(sentence) end
  print()
  io.write(xpcs.report.table(r))
  print(xpcs.report.line(r))
  if posterior then
    print('\n' .. xpcs.posterior_files.text(posterior))
    for _, list in ipairs { posterior:warnings(posterior.table), posterior.warnings_of_run,
      shards and shards.warnings or {} } do
      for _, w in ipairs(list) do print('note: ' .. w) end
    end
  end
  for _, list in ipairs { data.warnings, r.warnings, r.checks.errors, r.checks.warnings } do for _,
    w in ipairs(list) do print('note: ' .. w) end end
  if (o.verbose or 0) > 1 then for _, key in ipairs(s.unused) do print('no effect here: ' .. key) end
  elseif #s.unused > 0 then
    print(('note: %d keys of the configuration steer other programs and have no effect here; -vv lists them'):format(
      #s.unused))
  end
  print(('\nresults in %s: %s'):format(s.dir, table.concat(files, '  ')))
  if posterior and posterior.interrupted then
    print(posterior.interrupted .. ': the draws so far are kept; --checkpoint-dir goes on from them')
    return 130
  end
  if not r.success then return 3 end
end

mc.args.run('xpcs', function()
  local command, file = o[1], o[2]
  if command and not ({ fit = 1, simulate = 1, plot = 1, config = 1 })[command] then
    if file then error(('%q is no command; the commands are fit, simulate, plot and config'):format(command), 0) end
    command, file = 'fit', command
  end
  command = o.plot_experimental_data and 'plot' or o.plot_simulated_data and 'simulate' or command or 'fit'
  o.data_file = o.data_file or file
  run.belongs(command, given)
  if command == 'config' then
    run.check(o)
    if mc.file.is_folder(o.output) then error(('--output %s is a folder; name a file in it'):format(o.output), 0) end
    if mc.file.exists(o.output) and not o.overwrite then
      error(('%s is there already; use --overwrite, or another --output'):format(o.output), 0)
    end
    local ok, why = mc.file.write(o.output, xpcs.config.template(o.mode, { dt = o.dt, q = o.q, gap = o.gap,
      file = o.data_file }))
    if not ok then error(why, 0) end
    print('wrote ' .. o.output)
    return
  end
  local s = run.settings(o)
  if command == 'simulate' then
    print(run.simulate(s, o))
    return
  end
  local status = mc.ceiling.with(s.open.max_memory or run.bound(s), work, command, s)
  if status then os.exit(status) end
end)
