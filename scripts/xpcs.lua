-- xpcs.lua - two-time correlation of X-ray scattering: transport parameters with errors, and what the data do not
-- determine.
--
-- usage: mascon scripts/xpcs.lua [fit|simulate|plot|config] [FILE] [options]; --help lists them. FILE: .h5, .hdf, .hdf5
-- (APS, APS-U) or .npz.
-- Writes DIR/nlsq/parameters.json, analysis_results_nlsq.json, convergence_metrics.json, fitted_data.npz,
-- DIR/report.html and manifest.json.
local mc = require 'mascon'
local xpcs = mc.xpcs

-- -v, -vv, -vvv and the short names of homodyne-config, as homodyne has them
local SHORT = { ['-m'] = '--mode', ['-o'] = '--output', ['-f'] = '--force' }
local words = {}
for i = 1, #arg do
  local v = arg[i]:match '^%-(v+)$'
  words[i] = v and '--verbose=' .. #v or SHORT[arg[i]] or arg[i]
end
-- the commands an option belongs to: `of`
local EVERY, RUNS, READS = 'fit plot simulate config', 'fit plot simulate', 'fit plot'
local spec = {
  name = 'xpcs', usage = 'usage: mascon scripts/xpcs.lua [fit|simulate|plot|config] [FILE] [options]', positional = 2,
  about = 'Fits diffusion and shear to two-time correlation matrices of a beamline file. Units: A^2/s, 1/A, s, degrees; the gap in A (2e6 A = 200 um).',
  options = {
    { 'config', 'string', 'configuration, .yaml or .json, with the keys of homodyne', value = 'FILE', of = RUNS },
    { 'set', 'list', 'keys of the configuration, by their whole paths', value = 'KEY=VALUE,...', of = RUNS },
    { 'data_file', 'string', 'data, instead of that of the configuration', value = 'FILE', of = 'fit plot config' },
    { 'output_dir', 'string', 'folder for the results (./homodyne_results)', value = 'DIR', of = RUNS },
    { 'out', 'string', 'the same', value = 'DIR', of = RUNS },
    { 'method', { 'nlsq', 'cmc', 'both' }, 'least squares, posterior, or both', of = 'fit' },
    { 'static_mode', 'flag', 'diffusion alone (3 parameters)', of = EVERY },
    { 'laminar_flow', 'flag', 'diffusion and shear (7 parameters)', of = EVERY },
    { 'q', 'number', 'wave vector, 1/A: the nearest one of the file', of = EVERY },
    { 'dt', 'number', 'time between frames, s', of = EVERY },
    { 'gap', 'number', 'stator-rotor gap, A', of = 'fit simulate config' },
    { 'start_frame', 'integer', 'first frame, from 1', of = READS },
    { 'end_frame', 'integer', 'last frame; -1: all', of = READS },
    { 'full_matrices', 'flag', 'the file holds both triangles', of = READS },
    { 'strict_q', 'flag', 'never take matrices of other q', of = READS },
    { 'dtype', { 'f32', 'f64' }, 'precision in which data are kept', of = READS },
    { 'sigma', 'numbers', 'standard deviation of C2, one number or one per angle (0.01)', of = 'fit' },
    { 'sigma_file', 'string', 'standard deviation of every point: .npy, .npz or .h5, [n, n] or [angles, n, n]',
      value = 'FILE', of = 'fit' },
    { 'mask', 'string', 'which points count (not 0), in the same forms', value = 'FILE', of = READS },
    { 'scaling', { 'auto', 'averaged', 'individual', 'constant', 'fourier' },
      'contrast and offset: free for all angles together, for each, or fixed', of = 'fit' },
    { 'loss', { 'linear', 'soft_l1', 'huber', 'cauchy', 'arctan' },
      'loss of large residuals (linear; with --config soft_l1)', of = 'fit' },
    { 'f_scale', 'number', 'residual, in sigma, from which a loss bends', of = 'fit' },
    { 'max_iterations', 'number', 'most evaluations', of = 'fit' },
    { 'tolerance', 'number', 'relative change that ends the fit', of = 'fit' },
    { 'fixed', 'list', 'parameters kept', value = 'NAME=VALUE,...', of = 'fit' },
    { 'initial_d0', 'number', 'start of D0, A^2/s', of = 'fit simulate' },
    { 'initial_alpha', 'number', 'start of alpha', of = 'fit simulate' },
    { 'initial_d_offset', 'number', 'start of D_offset, A^2/s', of = 'fit simulate' },
    { 'initial_gamma_dot_t0', 'number', 'start of the shear rate, 1/s', of = 'fit simulate' },
    { 'initial_beta', 'number', 'start of beta', of = 'fit simulate' },
    { 'initial_gamma_dot_offset', 'number', 'start of its offset, 1/s', of = 'fit simulate' },
    { 'initial_phi0', 'number', 'start of phi0, degrees', of = 'fit simulate' },
    { 'multi_start', 'integer', 'also try so many starts, when the first fit is not good', of = 'fit' },
    { 'seed', 'natural', 'seed of starts and of simulation', default = 42, of = 'fit simulate' },
    { 'profile', 'number', 'profile likelihood intervals at this level: 0.68, 0.9, 0.95, 0.99', of = 'fit' },
    { 'legacy_counting', 'flag', 'count both triangles, as homodyne does (errors too small by sqrt 2)', of = 'fit' },
    { 'n_samples', 'integer', 'draws per chain of a posterior (1000)', of = 'fit' },
    { 'n_warmup', 'integer', 'its warm-up (500)', of = 'fit' },
    { 'n_chains', 'integer', 'its chains (4)', of = 'fit' },
    { 'prior', { 'flat', 'normal', 'nlsq' },
      'its prior: flat between the bounds, the table of priors, or around the fit', of = 'fit' },
    { 'dense_mass_matrix', 'flag', 'its metric holds correlations (the default)', of = 'fit' },
    { 'no_nlsq_warmstart', 'flag', 'chains begin at the starting values, not at the fit', of = 'fit' },
    { 'nlsq_result', 'string', 'starting values of an earlier fit', value = 'DIR', of = 'fit' },
    { 'cmc_num_shards', 'integer', 'also the combination of so many shards, as homodyne makes it', of = 'fit' },
    { 'cmc_backend', 'string', 'accepted, without effect', of = 'fit' },
    { 'model', 'string', 'fit a g1 of your own: a Lua file that returns { g1, p0, bounds }', value = 'FILE.lua',
      of = 'fit' },
    { 'p0', 'list', 'its starting values, instead of those of the file', value = 'NAME=VALUE,...', of = 'fit' },
    { 'joint', 'list', 'fit further data sets at once: files, or other q (1/A) of the same file',
      value = 'FILE|Q,...', of = 'fit' },
    { 'shared', 'list', 'the parameters in common of a joint fit (all of the physics)', value = 'NAME,...',
      of = 'fit' },
    { 'save_plots', 'flag', 'heat maps of every angle', of = 'fit' },
    { 'plot_experimental_data', 'flag', 'the same as the command plot', of = 'plot' },
    { 'plot_simulated_data', 'flag', 'the same as the command simulate', of = 'simulate' },
    { 'contrast', 'number', 'contrast of a simulation (0.3)', of = 'simulate' },
    { 'offset', 'number', 'offset of a simulation (1)', of = 'simulate' },
    { 'phi_angles', 'string', 'angles of a simulation, degrees', value = '"0,45,90"', of = 'simulate' },
    { 'frames', 'integer', 'frames of a simulation (100)', of = 'simulate' },
    { 'noise', 'number', 'standard deviation of its noise (0.01)', of = 'simulate' },
    { 'mode', { 'static', 'laminar_flow' }, 'mode of a new configuration', default = 'laminar_flow', of = 'config' },
    { 'output', 'string', 'file of a new configuration', value = 'FILE', default = 'xpcs.yaml', of = 'config' },
    { 'overwrite', 'flag', 'replace results, or a configuration, that are there', of = EVERY },
    { 'force', 'flag', 'the same, for a configuration', of = 'config' },
    { 'validate', 'string', 'check a configuration and write none', value = 'FILE', of = 'config' },
    { 'filter', { 'full', 'minimal', 'nlsq_only', 'cmc_only' }, 'accepted, without effect', of = 'config' },
    { 'cmc_plot_diagnostics', 'flag', 'accepted: figures of a posterior are always made', of = 'fit' },
    { 'plotting_backend', { 'auto', 'matplotlib', 'datashader' }, 'accepted, without effect', of = RUNS },
    { 'parallel_plots', 'flag', 'accepted, without effect', of = RUNS },
    { 'no_jit', 'flag', 'accepted, without effect', of = RUNS },
    { 'version', 'flag', 'print the version', of = EVERY },
    { 'output_format', { 'yaml', 'json', 'npz' }, 'beside the JSON: tables as YAML, nothing, or parameters.npz',
      default = 'yaml', of = 'fit' },
    { 'threads', 'integer', 'worker threads (all cores); results do not depend on it', of = RUNS },
    { 'checkpoint_dir', 'string', 'folder of checkpoints: a fit that was stopped goes on from there', value = 'DIR',
      of = 'fit' },
    { 'max_memory', 'string', 'memory the data may take; larger ones are streamed from a packed file',
      value = 'SIZE', of = READS },
    { 'pack', 'string', 'packed file to stream from, made when it is not there; no other file is replaced',
      value = 'FILE', of = READS },
    { 'no_arrays', 'flag', 'no fitted_data', of = 'fit' },
    { 'verbose', 'integer', 'more words', of = EVERY },
    { 'quiet', 'flag', 'no progress', of = EVERY },
  },
}
local o, given = mc.args.parse(words, spec)

local run = xpcs.run
--- Refuses options that the command does not use, and those that contradict each other.
local function belongs(command)
  for _, option in ipairs(spec.options) do
    local name, of = option[1], option.of
    if given[name] and not (' ' .. of .. ' '):find(' ' .. command .. ' ', 1, true) then
      error(('--%s belongs to the command %s and has no meaning for %s; leave it out'):format(name:gsub('_', '-'),
        of:gsub(' ', ' or '), command), 0)
    end
    if given.validate and given[name] and not ({ validate = 1, verbose = 1, quiet = 1 })[name] then
      error(('--%s has no meaning with --validate, which writes nothing; leave it out'):format(
        name:gsub('_', '-')), 0)
    end
  end
  if given.out and given.output_dir then error('--out and --output-dir are the same; give one', 0) end
end

--- Mode of a new configuration.
local function mode()
  local short = o.static_mode and 'static' or o.laminar_flow and 'laminar_flow'
  if short and given.mode and o.mode ~= short then
    error(('--%s and --mode %s exclude each other; give one'):format(o.static_mode and 'static-mode'
      or 'laminar-flow', o.mode), 0)
  end
  short = short or o.mode
  if o.gap and short == 'static' then error('--gap belongs to laminar flow; leave it out', 0) end
  return short
end

local DEFAULT = './homodyne_config.yaml' -- read where neither a configuration nor data are named, as homodyne does

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
    mc.results.folder('--output-dir', s.dir, { overwrite = o.overwrite, inputs = { s.path, o.config, o.model },
      names = command == 'plot' and { run.PLOT } or nil })
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
    print(posterior.interrupted .. ': the draws so far are kept; ' .. (s.checkpoints
      and 'the same command with --overwrite goes on from them'
      or 'with --checkpoint-dir a run can go on where it stopped'))
    return 130
  end
  if not r.success then return 3 end
end

mc.args.run('xpcs', function()
  if o.version then
    print('mascon ' .. mc.version)
    return
  end
  local command, file = o[1], o[2]
  if command and not ({ fit = 1, simulate = 1, plot = 1, config = 1 })[command] then
    if file then error(('%q is no command; the commands are fit, simulate, plot and config'):format(command), 0) end
    command, file = 'fit', command
  end
  if (command or 'fit') == 'fit' then
    command = o.plot_experimental_data and 'plot' or o.plot_simulated_data and 'simulate' or 'fit'
  end
  belongs(command)
  if file and (command == 'simulate' or o.validate) then
    error(('%q is one word too many: %s takes no data file; leave it out'):format(file, o.validate and '--validate'
      or command), 0)
  end
  if file and o.data_file then error(('%q and --data-file both name data; give one'):format(file), 0) end
  o.data_file = o.data_file or file
  if command == 'config' then
    run.check(o)
    if o.validate then
      local c = xpcs.config.read(o.validate)
      print(('%s can be read: %s, method %s, data %s'):format(o.validate, c.open.mode, c.method,
        c.path or 'not named'))
      return
    end
    local form = mode()
    if mc.file.is_folder(o.output) then error(('--output %s is a folder; name a file in it'):format(o.output), 0) end
    mc.results.claim('--output', o.output)
    mc.results.free('--output', { o.output }, { overwrite = o.overwrite or o.force })
    local ok, why = mc.file.write(o.output, xpcs.config.template(form, { dt = o.dt, q = o.q, gap = o.gap,
      file = o.data_file }))
    if not ok then error(why, 0) end
    print('wrote ' .. o.output)
    return
  end
  if command ~= 'simulate' and not o.config and not o.data_file and mc.file.exists(DEFAULT) then
    o.config = DEFAULT
    print('configuration: ' .. DEFAULT)
  end
  local s = run.settings(o)
  if command == 'simulate' then
    if s.threads then mc.set_num_threads(s.threads) end
    print(run.simulate(s, o))
    return
  end
  local status = mc.ceiling.with(s.open.max_memory or run.bound(s), work, command, s)
  if status then os.exit(status) end
end)
