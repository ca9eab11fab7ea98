-- rollout.lua - spaces of neural operators to data sets of features: sampled, rolled out, reduced, written.
--
-- usage: mascon scripts/rollout.lua COMMAND [FILE] [options]; --help lists the commands, COMMAND --help their options.
-- generate writes one HDF5 file; a run that was stopped goes on with --resume.
local mc = require 'mascon'
local rollout = mc.rollout

local MOST = 2 ^ 53 - 1 -- whole numbers are exact up to it
local MAKES = 'config own set device total_samples batch_size num_realizations seed '
-- what a command does, and the options that it takes beside threads, verbose and quiet
local COMMANDS = {
  { 'generate', 'samples the space of a configuration, rolls each operator out, writes features',
    MAKES .. 'output rows resume overwrite dry_run max_memory save_every' },
  { 'info', 'data sets of a file, with shapes; --verbose: attributes too', 'dataset' },
  { 'validate', 'checks a configuration, or rows, ranges and NaN of a data set', 'dataset config own set' },
  { 'extract-features', 'features of a data set once more, with families that it lacks, or those of one row',
    'dataset own row rows output overwrite resume feature_family max_memory save_every' },
  { 'bench', 'GFLOP/s of this machine by operator, of six operators at most', MAKES },
  { 'view', 'states of a row as a picture (.svg, .png), an animation (.gif, .mp4) or a picture each (f-%d.png)',
    'dataset own row realization output overwrite' },
  { 'merge', 'joins the files of shards', 'output overwrite' } }
local TAKES = {}
for _, c in ipairs(COMMANDS) do TAKES[c[1]] = c[3] end

local function takes(command, option)
  return (' threads verbose quiet ' .. TAKES[command] .. ' '):find(' ' .. option .. ' ', 1, true) ~= nil
end

local names, spec = {}, {
  name = 'rollout',
    positional = 64,
  usage = 'usage: mascon scripts/rollout.lua COMMAND [FILE...] [options]',
  about = 'Samples neural operators from a space (YAML), rolls each out in time, writes features as HDF5.',
  commands = COMMANDS,
  options = {
    { 'config', 'string', 'configuration, .yaml or .json', value = 'FILE' },
    { 'dataset', 'string', 'data set', value = 'FILE' },
    { 'output', 'string', 'file to write', value = 'FILE',
      texts = { generate = 'file to write, instead of dataset.output_path' } },
    { 'own', 'string', 'Lua script that registers own operators, fields and features; it runs before', value = 'FILE' },
    { 'set', 'settings', 'keys of the configuration by their whole paths', value = 'KEY=VALUE,...' },
    { 'device', 'string',
      'where operators run: cpu, cuda, cuda:0, opencl:0, gpu, or auto: what '
        .. 'MASCON_DEVICE names, else a card, else cpu' },
    { 'total_samples', 'integer', 'operators' },
    { 'batch_size', 'integer', 'operators per part file' },
    { 'num_realizations', 'integer', 'realisations of each' }, { 'seed', 'natural', 'seed of everything random' },
      { 'rows', 'string', 'rows, from 0; of generate: a shard', value = 'FIRST:LAST' },
    { 'resume', 'flag', 'go on where an earlier run stopped' }, { 'overwrite', 'flag', 'replace the output' },
      { 'dry_run', 'flag', 'check, count the work, write nothing' },
    { 'save_every', 'number', 'seconds until finished rows are written, at most; sooner where it costs 5 % of the time',
      default = 2 },
    { 'row', 'integer', 'row, from 0 (all)', texts = { view = 'row, from 0 (0)' } },
    { 'realization', 'integer', 'realisation of the row, from 1', default = 1 },
    { 'feature_family', 'list', 'families to add: ' .. table.concat(rollout.dataset.EXTRACTED, ', '),
      value = 'NAME,...' },
    { 'max_memory', 'string', 'memory the whole program may take, such as 2GiB; results do not depend on it' },
    { 'threads', 'integer',
      'worker threads (all cores); results do not depend on it' }, { 'verbose', 'flag', 'more words' },
    { 'quiet', 'flag', 'no progress' },
  },
}
for i, c in ipairs(COMMANDS) do names[i] = c[1] end
for _, option in ipairs(spec.options) do
  local of = {}
  for _, c in ipairs(names) do if takes(c, option[1]) then of[#of + 1] = c end end
  option.of = table.concat(of, ' ')
end
local o, given = mc.args.parse(arg, spec)

local function settings()
  local set = {}
  for _, pair in ipairs(o.set or {}) do
    local k, v = pair:match '^([%w_.]+)=(.*)$'
    if not k or not v:find '%S' then error(('--set %s: give KEY=VALUE (null for none)'):format(pair), 0) end
    set[k] = v -- read as YAML
  end
  set['sampling.total_samples'], set['sampling.batch_size'] = o.total_samples or set['sampling.total_samples'],
    o.batch_size or set['sampling.batch_size']
  set['simulation.num_realizations'], set['sampling.sobol.seed'] = o.num_realizations
    or set['simulation.num_realizations'], o.seed or set['sampling.sobol.seed']
  set['simulation.device'] = o.device or set['simulation.device']
  return set
end

--- The file of an option or of the word after the command; not both.
local function named(option, what)
  if o[option] and o[2] then error(('%q is one argument too many beside --%s'):format(o[2], option), 0) end
  local path = o[option] or o[2]
  if not path then error(('give %s with --%s FILE'):format(what, option), 0) end
  return path
end

local function notes(list) for _, note in ipairs(list) do io.stderr:write('rollout: note: ', note, '\n') end end

local function configuration()
  local path, found, line = named('config', 'a configuration'), mc.args.device(o.device) -- an error if it is not there
  local c = rollout.config.load(path, { set = settings() })
  notes(c.notes)
  if c.device ~= (found or 'cpu') then line = 'device: ' .. c.device end
  if line then print(line) end
  if o.verbose then for _, key in ipairs(c.unused) do print('no effect here: ' .. key) end
  elseif #c.unused > 0 then
    notes { ('keys without effect here: %d; --verbose names them'):format(#c.unused) }
  end
  return c
end

--- Runs the script of --own.
local function register()
  if not o.own then return end
  local chunk, why = loadfile(o.own)
  if not chunk then error('--own: ' .. why, 0) end
  local ok, wrong = pcall(chunk)
  if ok or mc.args.stopped(wrong) then return ok or error(wrong, 0) end
  error('--own: ' .. tostring(wrong), 0)
end

local function dataset() return named('dataset', 'a data set') end

--- Refuses a file that would be replaced, and what the run reads.
local function free(path, ...) mc.results.free('--output', { path }, { overwrite = o.overwrite, inputs = { ... } }) end

--- The same, and no other run may write it from here on.
local function claim(path, ...)
  mc.results.claim('--output', path)
  free(path, ...)
end

--- The rows of --row, from 0.
local function row_number()
  o.row = o.row or 0
  if o.row < 0 or o.row > MOST then error(('--row is %.6g; rows are counted from 0'):format(o.row), 0) end
  return o.row
end

--- FIRST:LAST of --rows, from 0; nothing without it.
local function rows_asked()
  if not o.rows then return end
  local a, b = o.rows:match '^(%d+):(%d+)$'
  if not a then error(('--rows %s: give FIRST:LAST, from 0'):format(o.rows), 0) end
  return tonumber(a), tonumber(b)
end

--- work(...) that writes an output; a stop by Ctrl-C, SIGTERM or an error says which rows are kept, and how to go on.
local function stoppable(out, work, ...)
  local before = rollout.store.kept(out)
  local ok, r = pcall(work, ...)
  if ok then return r end
  local word, status = mc.args.stopped(r)
  local kept = rollout.store.kept(out)
  local advice = kept > 0 and ('%d finished rows are kept in %s; the same line with --resume goes on'):format(kept,
    rollout.store.folder(out)) or 'no row was finished'
  if word and status then
    io.stdout:flush()
    io.stderr:write(('rollout: %s before the end; %s\n'):format(word, advice))
    os.exit(status)
  end
  if kept > before and type(r) == 'string' and not r:find('finished rows', 1, true) then
    io.stderr:write(('rollout: note: %s\n'):format(advice))
  end
  error(r, 0)
end

local run = {}

function run.generate()
  local c = configuration()
  local n = c.sampling.total_samples
  local first, last = 0, n - 1
  local a, b = rows_asked()
  if a then first, last = a, b end
  if o.dry_run or mc.manifest.planning() then
    for _, line in ipairs(rollout.report.plan(c, first, last, o.max_memory)) do print(line) end
    return
  end
  local out = o.output or c.dataset.output_path
  local page = rollout.report.page(out)
  mc.results.recover(out)
  mc.results.free('--output', { out, page }, { overwrite = true, inputs = { c.name } })
  if not mc.file.exists(out) then free(page) end
  local r = stoppable(out, rollout.generate.run, c, { out = o.output, resume = o.resume, overwrite = o.overwrite,
    first = first, last = last, quiet = o.quiet, max_memory = o.max_memory,
    save_every = o.save_every })
  for _, line in ipairs(rollout.report.quality(r.quality, r.shard)) do print(line) end
  if r.alone then
    print(('note: no copy of the program could be started (%s); this one made the rows'):format(r.alone))
  end
  for _, p in ipairs(r.bad) do
    print(('note: rows %d to %d were made anew; their part was damaged (%s)'):format(p.first, p.last, p.path))
  end
  if r.complete then
    print(r.path .. ' is complete already')
    if not mc.file.exists(page) then rollout.report.write(out) end
  end
  if not r.complete then
    local filtered = r.filtered > 0 and (' %d filtered operators,'):format(r.filtered) or ''
    local there = r.there and (' (%d of them were there)'):format(r.there) or ''
    local share = 100 * r.writing / r.seconds
    print(('%d operators%s, %d failed realisations,%s %s, %s %% of it writing: %s'):format(r.rows, there, r.failed,
      filtered, mc.text.duration(r.seconds), (share < 10 and '%.2g' or '%.0f'):format(share), r.path))
  end
  print('report: ' .. page)
end

function run.info()
  for _, line in ipairs(rollout.dataset.info(dataset(), o.verbose)) do print(line) end
end

function run.validate()
  if o.config or (o[2] or ''):find '%.ya?ml$' or (o[2] or ''):find '%.json$' then
    local c = configuration()
    print(('ok    %s: %d operators, %d coordinates'):format(c.name, c.sampling.total_samples, #c.space.dims))
    return
  end
  local ok, lines = rollout.dataset.validate(dataset())
  for _, line in ipairs(lines) do print(line) end
  if not ok then os.exit(1) end
end

--- All rows with more families, as a data set.
local function extract_all()
  local path = dataset()
  local out = o.output or path:gsub('%.%w+$', '') .. '-features.h5'
  mc.results.free('--output', { out }, { overwrite = true, inputs = { path } })
  local first, last = rows_asked()
  local r = stoppable(out, rollout.dataset.extract, path, o.feature_family or {}, { out = out, first = first,
    last = last, resume = o.resume, overwrite = o.overwrite, quiet = o.quiet, max_memory = o.max_memory,
    save_every = o.save_every })
  notes(r.notes)
  print(('features of %d rows, %s: %s'):format(r.rows, r.stored and 'from the states of the file'
    or 'rolled out again', r.path))
end

run['extract-features'] = function()
  if not o.row then return extract_all() end
  if o.rows or o.feature_family then
    error('--row is one row, as it is in the file; leave out --rows and --feature-family', 0)
  end
  local path, row_at = dataset(), row_number()
  local out = o.output or ('row-%d.npz'):format(row_at)
  claim(out, path)
  local row, config = rollout.dataset.replay(path, row_at)
  if not (row.temporal or row.summary) then
    error(('%s has no features, as its configuration asks; name families with --feature-family, without --row'):format(
      path), 0)
  end
  notes(config.notes)
  mc.save(out, { temporal = row.temporal, per_trajectory = row.summary, aggregated = row.aggregated })
  print('wrote ' .. out)
end

function run.view()
  local path, row = dataset(), row_number()
  claim(o.output or ('row-%d.svg'):format(row), path)
  local files, _, failed, legend = rollout.view.row(path, row, o.output, { overwrite = o.overwrite or false,
    realization = o.realization })
  if failed then print(('row %d: %s'):format(row, failed)) end
  if legend then print(legend) end
  print('wrote ' .. (#files > 1 and ('%s to %s'):format(files[1], files[#files]) or files[1]))
end

function run.merge()
  local files = {}
  for i = 2, #o do files[#files + 1] = o[i] end
  if #files == 0 or not o.output then error('give the files of the shards and --output FILE', 0) end
  local out, first, last, total = rollout.store.join(files, o.output, o.overwrite)
  print('wrote ' .. out)
  if last - first + 1 < total then
    print(('note: these are rows %d to %d of %d; other shards hold the others'):format(first, last, total))
  end
end

function run.bench()
  rollout.report.bench(configuration(), print, o.verbose)
end

--- Refuses options without meaning for the command.
local function belongs(command)
  for name in pairs(given) do
    if not takes(command, name) then
      error(('--%s has no meaning for %s; leave it out'):format(name:gsub('_', '-'), command), 0)
    end
  end
end

mc.args.run('rollout', function()
  local command = o[1]
  if not run[command or ''] then
    error(('%s; the commands are %s'):format(command and ('%q is no command'):format(command)
      or 'a command is missing', table.concat(names, ', ')), 0)
  end
  belongs(command)
  if command ~= 'merge' and #o > 2 then error(('%q is one argument too many'):format(o[3]), 0) end
  if o.threads then mc.set_num_threads(o.threads) end
  register()
  run[command]()
end)
