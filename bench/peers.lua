-- peers.lua - the competition beside us: the same work in the same run, written into bench/RESULTS.md.
--
-- usage: mascon bench/peers.lua [--threads N] [--rounds N] [--venv FOLDER] [--out FILE] [--skip-ablation] [--render]
-- Family by family ours and theirs take turns, for a number of rounds; a ratio is the median over rounds. The Python
-- environment is made by peers/setup.sh when it is missing. Decides the order of runs and the merging of rounds;
-- results.lua owns the page.
local mc = require 'mascon'
local rows = require 'rows'
local measure = require 'measure'
local results = require 'results'
local earlier = require 'earlier'
local functions = require 'functions'

local o = mc.args.parse({ ... }, {
  name = 'peers', usage = 'mascon bench/peers.lua [options]',
  about = 'Runs our benchmarks and those of NumPy, SciPy, PyTorch, JAX, Tensorpac and gPAC in turn.', positional = 0,
  options = {
    { 'threads', 'integer', 'worker threads on both sides', default = mc.get_num_threads() },
    { 'rounds', 'integer', 'turns of each family', default = 2 },
    { 'venv', 'string', 'folder of the Python environment, made when missing', default = 'build/peers' },
    { 'out', 'string', 'the page', default = 'bench/RESULTS.md' },
    { 'skip_ablation', 'flag', 'leave the ablation, the handles and the memory out' },
    { 'render', 'flag', 'only write the page from the rows of the last run' },
    { 'only', 'list', 'families of ours to run, as bench/run.lua names them; the rows of an earlier run, or the page '
        .. 'as it is, stand for the others' },
    { 'without', 'string', 'leave out families whose name begins so; their rows of an earlier run stay' },
    { 'cases', 'string', 'only cases with this in their name; the rows of earlier runs stand for the others' },
    { 'clock', { 'wall', 'processor' }, 'what samples are timed by; processor: where other work runs, one thread, by '
        .. 'families that peer.measure times', default = 'wall' },
    { 'wait_load', 'number',
      'wait up to 20 minutes for a load below this before each turn; 0: do not wait', default = 0 },
  },
})

-- ours, theirs: families of bench/run.lua and the call of the peers' bench that does the same; the end of the name of
-- an environment of their own
local FAMILIES = {
  { 'start', 'bench_ops.py', '--family start' }, { 'small', 'bench_ops.py', '--family small' },
  { 'limit,ewise,reduce', 'bench_ops.py', '--family big' }, { nil, 'bench_ops.py', '--family elementwise' },
  { 'matmul', 'bench_ops.py', '--family matmul' }, { 'fft', 'bench_ops.py', '--family fft' },
  { 'order', 'bench_ops.py', '--family order' }, { nil, 'bench_ops.py', '--family compiled' },
  { 'pac', 'bench_pac.py', '' }, { 'autoreject', 'bench_autoreject.py', '' },
  { 'transform', 'bench_transforms.py', '' }, { 'optim', 'bench_optim.py', '' }, { nil, 'bench_fit.py', '' },
  { nil, 'bench_sample.py', '' }, { 'networks', 'bench_networks.py', '--plan %NETWORKS%' },
  { 'networks_process', 'bench_networks.py', '--plan %NETWORKS% --processes 1' },
  { 'rollout', 'bench_rollout.py', '' },
  { 'xpcs', 'bench_xpcs.py', '--threads 1', '-xpcs' }, -- as ours
}
-- the table of functions reads its rows from a file, so that shapes and values stand once
for _, name in ipairs(functions.families()) do
  table.insert(FAMILIES, #FAMILIES, { name, 'bench_functions.py', '--plan %PLAN% --family ' .. name })
end
local FOLDER = require('mascon.core.ffi').libdir .. '/bench'
local OURS, THEIRS, FACTS, PLAN = FOLDER .. '/peers-ours.jsonl', FOLDER .. '/peers-theirs.jsonl',
  FOLDER .. '/peers-facts.json', FOLDER .. '/functions.jsonl'
local NETWORKS = FOLDER .. '/networks.jsonl'

local function quote(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

local function command(text)
  local status = os.execute(text)
  return status == true or status == 0
end

--- Rows that a command prints, one JSON object per line.
local function rows_of(text)
  local pipe = io.popen(text)
  local list = {}
  for line in pipe:lines() do
    local row = line:sub(1, 1) == '{' and mc.json.decode(line)
    if row then
      list[#list + 1] = row
      print(row.skipped and ('%-40s skipped: %s'):format(row.name, row.skipped)
        or ('%-40s %s'):format(row.name, measure.time(row.seconds)))
    end
  end
  pipe:close()
  return list
end

--- Rows of several rounds as one row per name and jobs: median of medians, lowest p10, highest p90, the medians of the
--- rounds.
local function merge(list)
  local by, order = {}, {}
  for _, r in ipairs(list) do
    local key = r.name .. (r.jobs and ('/' .. r.jobs) or '')
    if not by[key] then
      local row = {}
      for k, v in pairs(r) do row[k] = v end
      by[key] = { row = row, seconds = {}, share = {}, rate = {}, limit_rate = {} }
      order[#order + 1] = key
    end
    local m = by[key]
    for _, f in ipairs { 'seconds', 'share', 'rate', 'limit_rate' } do if r[f] then table.insert(m[f], r[f]) end end
    if r.seconds and m.row.seconds then
      m.row.p10, m.row.p90 = math.min(m.row.p10, r.p10), math.max(m.row.p90, r.p90)
    end
    if r.cpu then m.row.cpu = math.min(m.row.cpu, r.cpu) end
    m.row.failed = m.row.failed or r.failed
  end
  for i, key in ipairs(order) do
    local m = by[key]
    m.row.rounds = mc.json.array(m.seconds)
    for _, f in ipairs { 'seconds', 'share', 'rate', 'limit_rate' } do
      if #m[f] > 0 then m.row[f] = measure.summary(m[f]).median end
    end
    order[i] = m.row
  end
  return order
end

local function wait()
  local left = o.wait_load > 0 and 1200 or 0
  while left > 0 and rows.load() >= o.wait_load do
    os.execute 'sleep 5'
    left = left - 5
  end
end

local TABLES = 'stored/tables.md' -- beside the page
local tables = (o.out:match '^(.*/)' or '') .. TABLES
-- once: later writes of the page would otherwise take their own text for an earlier run
local before = earlier.read(tables)

--- Writes the page from the rows on disk.
local function page()
  local ours, why = rows.load_rows(OURS)
  if not ours then error('peers: ' .. why .. '; run without --render first', 0) end
  local all = results.page(rows.load_rows(FACTS)[1], ours, rows.load_rows(THEIRS), before)
  os.execute(("mkdir -p '%s'"):format((tables:match '^(.*)/'):gsub("'", "'\\''")))
  for path, text in pairs { [tables] = all, [o.out] = results.front(all, TABLES) } do
    local ok, wrong = mc.file.write(path, text)
    if not ok then error('peers: ' .. wrong, 0) end
  end
  print('written: ' .. o.out)
end

local function run()
  local here = (arg or {})[0] or 'bench/peers.lua'
  local folder = here:match '^(.*)/[^/]*$' or '.'
  if not command(('%s/peers/setup.sh %s'):format(folder, quote(o.venv))) then
    error('peers: the Python environment in ' .. o.venv .. ' could not be made; the lines above say why', 0)
  end
  local python, program = o.venv .. '/bin/python', require('mascon.core.ffi').libdir .. '/mascon'
  command('mkdir -p ' .. quote(FOLDER))
  if not command(('%s %s/peers/bench_pac.py --write %s'):format(quote(python), folder, quote(FOLDER))) then
    error('peers: the samples could not be written', 0)
  end
  rows.save(PLAN, functions.plan())
  rows.save(NETWORKS, require('networks').plan())
  local wanted, old_ours, old_theirs
  if o.only or o.without or o.cases then
    old_ours, old_theirs = rows.load_rows(OURS) or {}, rows.load_rows(THEIRS) or {}
  end
  if o.only then
    wanted = {}
    for _, name in ipairs(o.only) do wanted[name] = true end
  end
  local ours, theirs, loads, facts = {}, {}, {}, rows.machine()
  -- rows of this run, after those of an earlier one that it did not repeat
  local function joined(old, new)
    local list, seen = {}, {}
    for _, r in ipairs(new) do seen[r.name] = true end
    for _, r in ipairs(old or {}) do if not seen[r.name] then list[#list + 1] = r end end
    for _, r in ipairs(new) do list[#list + 1] = r end
    return list
  end
  local function keep(round)
    rows.save(OURS, joined(old_ours, merge(ours)))
    rows.save(THEIRS, joined(old_theirs, merge(theirs)))
    facts.threads, facts.rounds, facts.date, facts.load = o.threads, round, os.date '!%Y-%m-%d',
      measure.summary(loads).median
    facts.load_high = math.max(unpack(loads))
    rows.save(FACTS, { facts })
    page()
  end
  local function our_turn(families)
    wait()
    loads[#loads + 1] = rows.load()
    local file = FOLDER .. '/peers-turn.jsonl'
    os.remove(file)
    command(('MASCON_BENCH_PAC=%s %s %s/run.lua %s --threads %d --family %s --clock %s --save %s'):format(
      quote(FOLDER .. '/samples.npy'), quote(program), folder, o.cases and quote(o.cases) or '', o.threads, families,
      o.clock, quote(file)))
    for _, r in ipairs(rows.load_rows(file) or {}) do ours[#ours + 1] = r end
  end
  --- The environment of a family: its own one, when it was made (setup.sh makes it where there is a Python 3.12).
  local function python_of(f)
    local own = f[4] and o.venv .. f[4] .. '/bin/python'
    return own and mc.file.exists(own) and own or python
  end
  --- Whether a family, or one of several with commas between, is to run.
  local function chosen(names)
    if names == 'networks_process' and not wanted then return false end -- minutes: by name only
    if o.without and names:sub(1, #o.without) == o.without then return false end
    for name in names:gmatch '[^,]+' do if wanted and wanted[name] then return true end end
    return not wanted
  end
  for _, name in ipairs { 'handle', 'ablation', 'memory', 'autoreject_growth', 'autoreject_ablation',
    'autoreject_memory' } do
    if not o.skip_ablation and chosen(name) then our_turn(name) end
  end
  for _, name in ipairs { 'autoreject_stream', 'xpcs_stream' } do -- by name only
    if wanted and wanted[name] then our_turn(name) end
  end
  local function given(text) return (text:gsub('%%(%u+)%%', { PLAN = quote(PLAN), NETWORKS = quote(NETWORKS) })) end
  for round = 1, o.rounds do
    for _, f in ipairs(FAMILIES) do
      if not chosen(f[1] or '') then goto continue end
      print(('-- round %d of %d: %s %s'):format(round, o.rounds, f[1] or '', f[3]))
      if f[1] then our_turn(f[1]) end
      loads[#loads + 1] = rows.load()
      local text = ('%s %s/peers/%s --threads %d --clock %s --only %s %s 2>/dev/null')
      text = text:format(quote(python_of(f)), folder, f[2], o.threads, o.clock, quote(o.cases or ''), given(f[3]))
      for _, r in ipairs(rows_of(text)) do theirs[#theirs + 1] = r end
      keep(round) -- a run that is cut short leaves what it had
      ::continue::
    end
  end
end

if o.render then page() else run() end
