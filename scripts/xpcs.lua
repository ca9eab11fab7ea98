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
local SHORT = { ['-m'] = '--mode', ['-o'] = '--output', ['-f'] = '--force', ['-i'] = '--interactive' }
if arg[1] == 'config' then SHORT['-v'] = '--validate' end
local words = {}
for i = 1, #arg do
  if words[i - 1] == '--' then -- what follows are words
    for k = i, #arg do words[k] = arg[k] end
    break
  end
  local v = arg[i]:match '^%-(v+)$'
  words[i] = SHORT[arg[i]] or v and '--verbose=' .. #v or arg[i]
  if words[i] == '--interactive' then
    io.stderr:write 'xpcs: --interactive: there is no dialogue; edit the file that config writes\n'
    os.exit(2)
  end
end
local spec = {
  name = 'xpcs', usage = 'usage: mascon scripts/xpcs.lua [COMMAND] [FILE] [options]', positional = 2,
  about = 'Fits diffusion and shear to two-time correlation matrices of a beamline file. Units: A^2/s, 1/A, s, '
    .. 'degrees; the gap in A (2e6 A = 200 um).',
  options = xpcs.options.LIST, footer = xpcs.options.footer, commands = xpcs.options.COMMANDS,
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

--- The files that a run reads.
local function inputs_of(s)
  local out = { s.path }
  for _, name in ipairs { 'config', 'model', 'sigma_file', 'mask' } do out[#out + 1] = o[name] end
  for _, entry in ipairs(s.joint or {}) do
    if not tonumber(entry) then out[#out + 1] = entry end
  end
  return out
end

--- Notes on what was given and does nothing: options by their names, keys of a configuration by their number.
local function say_unused(s)
  local keys = 0
  if s.without then print('note: ' .. s.without) end
  for _, name in ipairs(s.unused) do
    if name:find '^%-%-' then print(('note: %s has no effect here'):format(name))
    elseif (o.verbose or 0) > 1 then print('no effect here: ' .. name)
    else keys = keys + 1 end
  end
  if keys > 0 then
    print(('note: %d key%s of the configuration steer%s other programs and ha%s no effect here; -vv lists them'):format(
      keys, keys == 1 and '' or 's', keys == 1 and 's' or '', keys == 1 and 's' or 've'))
  end
end

--- What is to be read with care.
local function say_notes(r)
  for _, note in ipairs(xpcs.verdict.notes(r)) do print('note: ' .. note) end
end

--- The exit status after a signal.
local function status_of(word) return (select(2, mc.args.stopped(word))) end

--- What f gives, of a fit; one that is stopped ends the program with a sentence.
local function whole(s, f, ...)
  local ok, r = pcall(f, ...)
  if ok then return r end
  local word, status = mc.args.stopped(r)
  if not word then error(r, 0) end
  io.stderr:write(('xpcs: %s before the end of the fit: nothing was written; %s\n'):format(word,
    (s.model or s.joint) and 'the same command begins anew' or s.checkpoints
    and ('the same command goes on from the last checkpoint in %s, if there is one'):format(s.checkpoints)
    or 'the same command begins anew, with --checkpoint-dir it could go on where it stopped'))
  local reached = not s.checkpoints and run.reached(s)
  if reached then io.stderr:write(('xpcs: %s\n'):format(reached)) end
  os.exit(status)
end

--- Says that a signal came when all was computed; the exit status.
local function tell_late(word)
  io.stdout:flush()
  io.stderr:write(('xpcs: %s when all was computed: the results are whole\n'):format(word))
  return status_of(word)
end

--- A fit of several data sets; the exit status.
local function joint(s, list, record)
  for i = 2, #list do
    print(('data set %d: %s, %d angles x %d times, q = %.6g 1/A'):format(i, list[i].path, list[i].F, list[i].n,
      list[i].q))
  end
  local r = whole(s, run.joint, s, list)
  record:stage('parameters', r.point.x)
  local late, files = mc.args.held(run.write_joint, s, list, r, record)
  print()
  print(r)
  say_notes(r)
  say_unused(s)
  print(('\nresults in %s: %s'):format(s.dir, table.concat(files, '  ')))
  if late then return tell_late(late) end
  if not r.success then return 3 end
end

--- Draws of the posterior; a run that is stopped before the first ones keeps its fit. The third is the word for that.
local function draws(s, r)
  local ok, posterior, shards = pcall(run.posterior, s, r, o.quiet)
  if ok then return posterior, shards end
  local word = mc.args.stopped(posterior)
  if not word then error(posterior, 0) end
  s.method = 'nlsq' -- what is written
  return nil, nil, word
end

--- What the bound on memory holds for; the exit status, nil for 0.
local function work(command, s)
  if s.threads then mc.set_num_threads(s.threads) end
  run.present(s)
  if not mc.manifest.planning() then
    mc.results.folder('--output-dir', s.dir, { overwrite = o.overwrite, inputs = inputs_of(s),
      names = command == 'plot' and { run.PLOT } or nil })
  end
  if s.device_line and command == 'fit' then print(s.device_line) end
  local data = run.data(s, o.quiet)
  if mc.manifest.planning() then
    if command == 'plot' then error('plan is for fits; plot takes the time of reading', 0) end
    local list = s.joint and run.others(s, data, o.quiet) or { data }
    for _, line in ipairs(xpcs.plan.lines(s, list, mc.get_num_threads())) do print(line) end
    local refused = xpcs.plan.refusal(s, list, function()
      mc.results.free('--output-dir', { s.dir .. '/manifest.json' }, { overwrite = o.overwrite })
    end)
    if refused then print('the run would be refused: ' .. refused) end
    return 0
  end
  print(('%s: %d angles x %d times, q = %.6g 1/A, %d points%s'):format(s.path, data.F, data.n, data.q, data.points,
    data.masked > 0 and (', %d masked'):format(data.masked) or ''))
  if command == 'plot' then
    for _, w in ipairs(data.warnings) do print('note: ' .. w) end
    say_unused(s)
    print('wrote ' .. run.plot(s, data))
    return
  end
  local record = mc.manifest.new { options = s.fit, inputs = inputs_of(s), quiet = o.quiet }
  if s.joint then return joint(s, run.others(s, data, o.quiet), record) end
  local r
  if s.model then r = whole(s, run.own, s, data) else r = whole(s, run.fit, s, data, o.quiet) end
  record:stage('parameters', r.point.x)
  record:stage('chi2', r.chi2)
  local posterior, shards, stopped = draws(s, r)
  local late, files = mc.args.held(run.write, s, data, r, record, posterior, shards)
  late = late or posterior and posterior.stopped_late
  print()
  print(r)
  if posterior then
    print('\n' .. xpcs.posterior_files.text(posterior))
    for _, list in ipairs { xpcs.posterior_files.warnings(posterior), shards and shards.warnings or {} } do
      for _, w in ipairs(list) do print('note: ' .. w) end
    end
  end
  say_notes(r)
  if s.seed and not posterior and not stopped and not (r.search and not r.search.skipped)
    and #(r.recovery_actions or {}) == 0 then
    print('note: --seed has no effect here: no random numbers were drawn (searches from other starts, retries and the '
      .. 'posterior draw them)')
  end
  say_unused(s)
  print(('\nresults in %s: %s'):format(s.dir, table.concat(files, '  ')))
  if stopped then
    io.stderr:write(('xpcs: %s before the first draws of the posterior: the fit is kept; the same command with '
      .. '--overwrite %s\n'):format(stopped, s.checkpoints and 'goes on from the checkpoint' or 'draws again'))
    return status_of(stopped)
  end
  if posterior and posterior.interrupted then
    print(posterior.interrupted .. ': the draws so far are kept; ' .. (s.checkpoints
      and 'the same command with --overwrite goes on from them'
      or 'with --checkpoint-dir a run can go on where it stopped'))
    return status_of(posterior.interrupted)
  end
  if late then return tell_late(late) end
  if not r.success then return 3 end
end

mc.args.run('xpcs', function()
  if o.version then
    print('mascon ' .. mc.version)
    return
  end
  local command, file = o[1], o[2]
  local known = false
  for _, c in ipairs(spec.commands) do known = known or command == c[1] end
  if command and not known then
    if file and mc.file.exists(command) then
      error(('%q and %q are two data files and a fit takes one; fit them together with %s --joint %s'):format(command,
        file, command, file), 0)
    end
    if file then error(('%q is no command; the commands are fit, simulate, plot and config%s'):format(command,
      (command == 'cmc' or command == 'both') and (' (a posterior is fit --method %s)'):format(command) or ''), 0) end
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
    if o.filter then print('note: --filter has no effect here') end
    if o.validate then
      local c = xpcs.config.read(o.validate)
      xpcs.config.timed(c, o.validate)
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
    say_unused(s)
    return
  end
  local status = mc.ceiling.with(run.bound(s), work, command, s)
  if status then os.exit(status) end
end)
