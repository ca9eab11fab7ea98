-- profile.lua - `mascon profile [options] FILE [args]`: where the time and the memory of a script go.
--
-- Runs the script with every call of the library watched (host/profile.lua), then prints tables by line, by operation
-- with its shapes, and of what happened inside compiled functions and on devices. Exit status: that of the script.
local host = require 'mascon.host'

local M = {}

local HELP = [[
mascon profile [options] FILE [args]

  --sort HOW    time (default), calls, memory, share (lowest first) or name
  --by TABLE    line, op or launch; default: all three
  --top N       rows of a table (default 15)
  --trace FILE  writes a trace for chrome://tracing or Perfetto, with a track for the device and one for copies

share: of what the device can do, as bytes of operands and results against a copy, or operations of a product against
a product of f32 matrices, both measured after the run; - where the bytes are not known, as of one of several launches
of an operation. Memory is that of tensors: by line in host memory and on each device, in the other tables where the
operation ran. Launches are waited for one by one, so that a script on a device takes longer than it does alone. Work
outside the library's calls (the script's own Lua, files, neighbours) is the rest of the whole time.
]]

local SORT = { time = true, calls = true, memory = true, share = true, name = true }
local BY = { line = true, op = true, launch = true }

local function wrong(...)
  io.stderr:write('mascon profile: ', string.format(...), '\n')
  return nil
end

local function parse(args)
  local o, i = { sort = 'time', top = 15 }, 1
  while args[i] and args[i]:sub(1, 2) == '--' do
    local name, value = args[i]:match '^%-%-(%w+)=(.*)$'
    if not name then
      name, value = args[i]:match '^%-%-(%w+)$', args[i + 1]
      i = i + 1
    end
    if name == 'sort' and SORT[value] then o.sort = value
    elseif name == 'by' and BY[value] then o.by = value
    elseif name == 'top' and tonumber(value) and tonumber(value) >= 1 then o.top = math.floor(tonumber(value))
    elseif name == 'trace' and value and value ~= '' then o.trace = value
    else
      return wrong('%s %s is no option; there are --sort time|calls|memory|share|name, --by line|op|launch, --top N '
        .. 'and --trace FILE, before the script', args[i - 1] or args[i], value or '')
    end
    i = i + 1
  end
  if not args[i] then return wrong 'it needs a script: mascon profile FILE [args]' end
  o.first = i
  return o
end

local function amount(bytes)
  if bytes >= 2 ^ 30 then return ('%.2f GiB'):format(bytes / 2 ^ 30) end
  return bytes >= 2 ^ 20 and ('%.1f MiB'):format(bytes / 2 ^ 20) or ('%.1f KiB'):format(bytes / 2 ^ 10)
end

local function say(...) io.stdout:write(string.format(...), '\n') end

local function shown(list, top) return math.min(#list, top) end

local function more(list, top)
  if #list > top then say('%d more rows; --top %d shows them', #list - top, #list) end
end

local function by_line(profile, C, o, whole)
  local _, lines = profile.seen()
  local list = {}
  for _, l in pairs(lines) do list[#list + 1] = l end
  profile.sorted(list, o.sort == 'share' and 'time' or o.sort)
  local on = profile.devices(C)
  local heads = { ('%9s %6s %8s %11s %11s'):format('ms', 'whole', 'calls', 'allocated', 'live') }
  for n, name in ipairs(on) do heads[n + 1] = ('%11s %11s'):format(name, 'live there') end
  say('\nby line of the script%s\n%s  %s',
    #on > 0 and '; allocated and live count host memory, then each device' or '', table.concat(heads, ' '), 'line')
  for i = 1, shown(list, o.top) do
    local l = list[i]
    local text = require 'mascon.host.source'.line('@' .. l.file, l.line)
    local memory = { ('%11s %11s'):format(amount(l.memory), amount(l.peak)) }
    for n = 1, #on do
      local d = l.on[n] or { memory = 0, peak = 0 }
      memory[n + 1] = ('%11s %11s'):format(amount(d.memory), amount(d.peak))
    end
    say('%9.2f %5.1f%% %8d %s  %s  %s', 1e3 * l.seconds, 100 * l.seconds / whole, l.calls, table.concat(memory, ' '),
      l.name, text and text:match '^%s*(.-)%s*$':sub(1, 70) or '')
  end
  more(list, o.top)
end

local function by_sum(title, list, profile, o, whole)
  profile.sorted(list, o.sort)
  say('\n%s\n%9s %6s %8s %9s %6s %11s  %-10s %s', title,
    'ms', 'whole', 'calls', 'GB/s', 'share', 'allocated', 'on', 'what')
  for i = 1, shown(list, o.top) do
    local s = list[i]
    local told = not s.unknown and s.seconds > 0 and (s.bytes > 0 or s.work > 0)
    local rate = told and ('%9.2f %5.0f%%'):format(s.bytes / s.seconds / 1e9, 100 * s.share) or '        -      -'
    say('%9.2f %5.1f%% %8d %s %11s  %-10s %s %s', 1e3 * s.seconds, 100 * s.seconds / whole, s.calls, rate,
      amount(s.memory), s.on, s.name, s.what)
  end
  more(list, o.top)
end

---@param args string[]
---@return integer status
function M.main(args)
  if args[1] == '--help' or args[1] == '-h' then
    io.stdout:write(HELP)
    return 0
  end
  local o = parse(args)
  if not o then return 2 end
  local profile = require 'mascon.host.profile'
  local C
  function host.watch(library)
    C = library
    if C.mc_watch(1) ~= 0 then error('profile: no memory for the list of events', 0) end
    return profile.library(library)
  end
  local argv = { [0] = host.exe, '--' }
  for i = o.first, #args do argv[#argv + 1] = args[i] end
  local began = host.clock()
  local status = require('mascon.host.runner').main(argv)
  local whole = host.clock() - began
  host.watch = nil
  io.stdout:flush()
  local events = profile.seen()
  if not C or #events == 0 then
    say 'the script called nothing of the library'
    return status
  end
  C.mc_watch(0)
  profile.stop()
  local mc, inside, calls = require 'mascon', 0, 0
  local ops = profile.sums { op = true }
  local launches = profile.sums { step = true, launch = true, ['to device'] = true, ['from device'] = true }
  for _, s in ipairs(ops) do inside, calls = inside + s.seconds, calls + s.calls end
  local limit = profile.shares(mc, ops)
  for name, l in pairs(profile.shares(mc, launches)) do limit[name] = limit[name] or l end
  say('\n%.1f ms in all, %.1f ms in %d calls of the library', 1e3 * whole, 1e3 * inside, calls)
  local on = {}
  for name in pairs(limit) do on[#on + 1] = name end
  table.sort(on)
  for _, name in ipairs(on) do
    local l = limit[name]
    say('limits of %s: %.1f GB/s (copy), %.1f GFLOP/s (product of f32)', name, l.bandwidth / 1e9, l.flops / 1e9)
  end
  if not o.by or o.by == 'line' then by_line(profile, C, o, whole) end
  if not o.by or o.by == 'op' then by_sum('by operation', ops, profile, o, whole) end
  if #launches > 0 and (not o.by or o.by == 'launch') then
    by_sum('steps of compiled functions, launches, copies', launches, profile, o, whole)
  end
  if profile.lost > 0 then say('%d more events were not kept: the tables by operation lack them', profile.lost) end
  if o.trace then
    local ok, why = profile.trace(o.trace)
    if not ok then
      io.stderr:write('mascon profile: ', tostring(why), '\n')
      return 1
    end
    say('trace in %s', o.trace)
  end
  return status
end

return M
