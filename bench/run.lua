-- run.lua - our benchmarks: a table to read, one JSON line per case to keep, a comparison with an earlier run.
--
-- usage: mascon bench/run.lua [FILTER] [--threads N] [--family A,B] [--save FILE] [--compare FILE] [--report FILE]
-- [--least SECONDS] [--within SECONDS] [--list] FILTER is a part of the case's name. Exit status 1 when a case fails
-- its check, or is slower than in FILE beyond the spread. Decides the order of families and the verdict.
local mc = require 'mascon'
local measure = require 'measure'
local rows = require 'rows'

local FAMILIES = {
  { 'start', 'small' }, { 'small', 'small' }, { 'handle', 'handle' }, { 'limit', 'ewise' }, { 'ewise', 'ewise' },
  { 'reduce', 'ewise' }, { 'matmul', 'linear' }, { 'fft', 'linear' }, { 'order', 'order' }, { 'pac', 'pac' },
  { 'ablation', 'pac' }, { 'memory', 'pac' }, { 'xpcs', 'xpcs' },
  { 'xpcs_stream', 'xpcs_stream', asked = true },
  { 'autoreject', 'autoreject' }, { 'autoreject_growth', 'autoreject' }, { 'autoreject_ablation', 'autoreject' },
  { 'autoreject_memory', 'autoreject' }, { 'autoreject_stream', 'autoreject', asked = true },
  { 'transform', 'transforms' }, { 'optim', 'optim' }, { 'optim', 'fit' },
  { 'optim', 'sample' }, { 'networks', 'networks' },
  { 'networks_process', 'networks_process', asked = true }, { 'rollout', 'rollout' },
  { 'rollout_ablation', 'rollout' },
}
for _, name in ipairs(require('functions').families()) do FAMILIES[#FAMILIES + 1] = { name, 'functions' } end

local o = mc.args.parse({ ... }, {
  name = 'bench', usage = 'mascon bench/run.lua [FILTER] [options]',
  about = 'Times operations and workflows, each beside what the machine can do.', positional = 1,
  options = {
    { 'threads', 'integer', 'worker threads', default = mc.get_num_threads() }, { 'family', 'list', 'families to run' },
    { 'save', 'string', 'write the rows to this file, one JSON object per line' },
    { 'compare', 'string', 'rows of an earlier run; a loss beyond 5 % and the spread fails' },
    { 'report', 'string', 'the same as a list, rows of other machines too; no loss fails' },
    { 'within', 'number', 'seconds after which no further case begins' },
    { 'least', 'number', 'seconds that each side of a case is timed for', default = measure.LEAST },
    { 'clock', { 'wall', 'processor' }, 'what samples are timed by; processor: where other work runs, one thread',
      default = 'wall' },
    { 'list', 'flag', 'names of the cases, nothing is run' },
  },
})

measure.LEAST = o.least
if o.clock == 'processor' then measure.timed = os.clock end
local wanted
if o.family then
  wanted = {}
  for _, f in ipairs(o.family) do wanted[f] = true end
  local names = {}
  for i, f in ipairs(FAMILIES) do
    names[i] = f[1]
    wanted[f[1]] = wanted[f[1]] and 'known'
  end
  for _, f in ipairs(o.family) do
    if wanted[f] ~= 'known' then
      io.stderr:write(('bench: family %s is unknown; there are %s\n'):format(f, table.concat(names, ', ')))
      os.exit(2)
    end
  end
end

local here = rows.machine(o.threads)
local bench = { threads = o.threads }
local done, listed, failed, family = {}, 0, 0, nil
local began, left = measure.clock(), 0

function bench.wants(name, of) return of == family and (not o[1] or name:find(o[1], 1, true) ~= nil) end

--- Keeps and prints a row.
function bench.row(r)
  for k, v in pairs(here) do if r[k] == nil then r[k] = v end end
  done[#done + 1] = r
  if r.failed then failed = failed + 1 end
  print(measure.line(r))
  io.stdout:flush()
  if o.save then rows.save(o.save, done) end
end

--- Runs a case that is wanted; with --list only its name is printed. A case that times itself gives `measure`, which
--- returns its row.
function bench.case(c)
  if not bench.wants(c.name, c.family) then return end
  if o.within and measure.clock() - began > o.within then
    left = left + 1
    return
  end
  if o.list then print(c.family .. '  ' .. c.name)
  elseif c.measure then bench.row(c.measure())
  else bench.row(measure.case(c, o.threads)) end
  listed = listed + 1
end

--- The same at all threads and, as `name_t1`, at one: for neighbours that know one thread only.
function bench.both(c)
  bench.case(c)
  if o.threads == 1 then return end
  local one = {}
  for k, v in pairs(c) do one[k] = v end
  one.name, one.threads = c.name .. '_t1', 1
  bench.case(one)
end

if not o.list then
  print(('mascon %s, commit %s, %s, kernels %s, %d threads, load %.1f'):format(here.version, here.commit, here.machine,
    here.isa, o.threads, rows.load()))
end
for _, f in ipairs(FAMILIES) do
  if wanted and wanted[f[1]] or not wanted and not f.asked then -- gigabytes of files, minutes: only by name
    family = f[1]
    require(f[2])(bench, family)
  end
end

if listed == 0 then
  io.stderr:write(('bench: no case has %q in its name; --list shows the names\n'):format(o[1] or ''))
  os.exit(2)
end
local status = failed > 0 and 1 or 0
if failed > 0 then print(failed .. ' cases failed') end
if o.compare and not o.list then
  local losses, text = rows.compare(o.compare, done)
  print(text)
  if losses > 0 then status = 1 end
end
if left > 0 then print(('%d cases were left out after %g s'):format(left, o.within)) end
if o.report and not o.list then print(rows.report(o.report, done)) end
if status ~= 0 then os.exit(status) end
