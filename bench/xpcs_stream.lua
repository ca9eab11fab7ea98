-- xpcs_stream.lua - two-time data in a file: 100 angles x 1000 x 1000 values (10^8 published points, 400 MB in f32).
--
-- By name only (family xpcs_stream): a command from the file to its report; memory and checkpoints of a fit that reads
-- a packed file in every pass; what checkpoints and checks of blocks add to a fit in memory, in processor time, runs in
-- turn. Each job is a process of its own. Files lie in TMPDIR, or /var/tmp.
local mc = require 'mascon'
local lib = require 'mascon.core.ffi'

local WRITE = [[
local mc = require 'mascon'
local w = mc.open('%s', { mode = 'w' })
local phi = mc.linspace(-90, 90, 100)
w:put('xpcs/qmap/dynamic_v_list_dim0', mc.tensor { 0.0054 })
w:put('xpcs/qmap/dynamic_v_list_dim1', phi)
w:put('xpcs/twotime/processed_bins', mc.arange(1, 100))
for f, angle in ipairs(phi:totable()) do
  mc.scope(function()
    local s = mc.xpcs.simulate { n = 1000, q = 0.0054, phi = { angle }, seed = f, sigma = 0.01,
      physics = { 3000, -0.2, 500, 2e-3, 0.1, 1e-4, 3 } }
    w:put(('xpcs/twotime/correlation_map/c2_%%05d'):format(f), mc.triu(s.c2[1]):to 'f32')
  end)
end
w:close()
]]

-- resident bytes after every block from the second pass on; checkpoints as often as a run writes them
local STREAM = [[
local mc = require 'mascon'
local clock = require('mascon.core.ffi').clock_seconds
mc.set_num_threads(%d)
local folder = '%s'
local d = mc.xpcs.open(folder .. '/data.h5', { q = 0.0054, dt = 0.1, dtype = 'f32', mode = 'laminar_flow',
  pack = folder .. '/packed.h5' })
local options, seen = { sigma = 0.01 }, {}
local state = mc.xpcs.state.new(d, options, { dir = folder .. '/checkpoints' })
state.watch = function(self)
  if self.at > 1 then seen[#seen + 1] = 4096 * tonumber(mc.file.read('/proc/self/statm'):match '^%%d+ (%%d+)') end
end
local began, busy = clock(), os.clock()
options.engine = state.engine
local r = mc.xpcs.fit(d, options)
local seconds, cpu = clock() - began, os.clock() - busy
local x = mc.tensor(seen)
print(mc.json.encode { seconds = seconds, cpu = cpu, chi2 = r.reduced_chi2, passes = state.at, written = state.written,
  save = state.saving / math.max(state.written, 1), saving = state.saving / seconds,
  resident = mc.mean(x):item(), varies = (mc.std(x) / mc.mean(x)):item(), span = (mc.max(x) - mc.min(x)):item() })
]]

-- 23 angles of the file, in memory; least processor seconds of each way, one thread
local BLOCKS = [[
local mc = require 'mascon'
mc.set_num_threads(1)
local folder = '%s'
local d = mc.xpcs.open(folder .. '/data.h5', { q = 0.0054, dt = 0.1, dtype = 'f32', mode = 'laminar_flow',
  phi_ranges = { { -90, -50 } } })
local plain = d.block_values
local function options()
  return { sigma = 0.01, initial = { D0 = 3600, alpha = -0.16, D_offset = 550, gamma_dot_t0 = 1.8e-3, beta = 0.12,
    gamma_dot_t_offset = 1.1e-4, phi0 = 3 } }
end
local way = {
  plain = function() return function() return mc.xpcs.fit(d, options()) end end,
  checks = function()
    local o = options()
    o.engine = mc.xpcs.state.new(d, o, { dir = folder .. '/checks', every = 1e9 }).engine
    return function() return mc.xpcs.fit(d, o) end
  end,
  tolerant = function()
    return function()
      return require('workflows.xpcs.fit.recovery').fit(d, options(), { run = function(data, o)
        return (mc.xpcs.state.fit(data, o, { dir = folder .. '/tolerant' }))
      end })
    end
  end,
}
local least = {}
for k = 0, %d do
  for _, name in ipairs { 'plain', 'checks', 'tolerant' } do
    d.block_values = plain
    collectgarbage()
    local run = way[name]()
    local busy = os.clock()
    run()
    if k > 0 then least[name] = math.min(least[name] or math.huge, os.clock() - busy) end
  end
end
least.angles = d.F
print(mc.json.encode(least))
]]

local PAIRS = 12

--- The last line of a child's words as a table, or nil and all of it.
local function child(text, ...)
  local file = os.tmpname()
  mc.file.write(file, text:format(...))
  local pipe = io.popen(("'%s/mascon' '%s' 2>&1"):format(lib.libdir, file))
  local said = pipe:read '*a'
  pipe:close()
  os.remove(file)
  local last = said:match '({[^\n]*})%s*$'
  return last and mc.json.decode(last), said
end

--- Seconds and processor seconds (user and system) of a command, and its words.
local function timed(command)
  local began = lib.clock_seconds()
  local pipe = io.popen(("sh -c '%s; echo status $?; times' 2>&1"):format(command))
  local said = pipe:read '*a'
  pipe:close()
  local seconds, cpu = lib.clock_seconds() - began, 0
  for m, s in said:match '\n([^\n]*)\n*$':gmatch '(%d+)m([%d.]+)s' do cpu = cpu + 60 * m + s end
  return seconds, cpu, said
end

return function(bench)
  local folder
  local function case(name, measure)
    bench.case { name = name, family = 'xpcs_stream', measure = function()
      local row = { name = name, family = 'xpcs_stream', op = 'xpcs_fit', dtype = 'f32',
        shape = '100x1000x1000, laminar', threads = bench.threads, load = require('rows').load() }
      if not folder then
        folder = ('%s/mascon-xpcs-%d'):format(os.getenv 'TMPDIR' or '/var/tmp', os.time())
        mc.file.make_folder(folder)
        local _, said = child(WRITE, folder .. '/data.h5')
        if said ~= '' then row.failed = said end
      end
      if not row.failed then measure(row) end
      return row
    end }
  end
  local function command(more)
    return function(row)
      local seconds, cpu, said = timed(('%s/mascon scripts/xpcs.lua %s/data.h5 --laminar-flow --q 0.0054 --dt 0.1 '
        .. '--sigma 0.01 --quiet --threads %d --overwrite --output-dir %s/results%s'):format(lib.libdir, folder,
        bench.threads, folder, more))
      if not said:find '\nstatus 0\n' then row.failed = said return end
      row.seconds, row.p10, row.p90, row.runs, row.cpu = seconds, seconds, seconds, 1, cpu
    end
  end
  case('xpcs_file_1e8', command ' --no-arrays')
  local function of_child(row, text, ...)
    local r, said = child(text, ...)
    if not r then row.failed = said return end
    for k, v in pairs(r) do row[k] = v end
    row.seconds = row.seconds or row.plain
    row.p10, row.p90, row.runs = row.seconds, row.seconds, 1
  end
  case('xpcs_stream_1e8', function(row)
    of_child(row, STREAM, bench.threads, folder)
    if row.chi2 and math.abs(row.chi2 - 1) > 0.02 then row.failed = ('reduced chi2 %.4g'):format(row.chi2) end
  end)
  case('xpcs_blocks', function(row)
    row.threads, row.shape = 1, '23x1000x1000, laminar'
    of_child(row, BLOCKS, folder, PAIRS)
  end)
  case('xpcs_file_1e8_arrays', command '') -- 4.8 GB more
  if folder then os.execute(("rm -r '%s'"):format(folder)) end
end
