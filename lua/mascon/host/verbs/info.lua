-- info.lua - `mascon info`: what this machine offers and what the program makes of it.
--
-- First what can be read from the system without the library (so that it answers even where the library cannot be
-- opened), then what the library reports about itself. Reads /proc and /sys only.

local host = require 'mascon.host'
local show = require 'mascon.host.show'
local source = require 'mascon.host.source'
local variables = require 'mascon.host.variables'

local M = {}

local LEVELS = { -- x86-64 psABI levels as the kernel names their features
  { 'x86-64-v4', 'avx512f avx512bw avx512cd avx512dq avx512vl' },
  { 'x86-64-v3', 'avx2 bmi1 bmi2 f16c fma abm movbe' },
  { 'x86-64-v2', 'sse4_2 ssse3 popcnt cx16' },
}
local VARIABLES = variables.names()
for _, name in ipairs { 'OMP_NUM_THREADS', 'OMP_WAIT_POLICY', 'GOMP_SPINCOUNT', 'OPENBLAS_NUM_THREADS',
  'CUDA_VISIBLE_DEVICES' } do table.insert(VARIABLES, name) end

local function bytes(n)
  local units = { 'B', 'KiB', 'MiB', 'GiB', 'TiB' }
  local i = 1
  while n >= 1024 and i < #units do
    n, i = n / 1024, i + 1
  end
  return ('%.4g %s'):format(n, units[i])
end

local function first_line(path)
  local text = source.read(path)
  return text and text:match('^[^\n]+')
end

local function processor()
  local text = source.read('/proc/cpuinfo') or ''
  local name = text:match('model name%s*:%s*([^\n]+)') or text:match('CPU implementer%s*:%s*([^\n]+)') or 'unknown'
  local flags = ' ' .. (text:match('flags%s*:%s*([^\n]+)') or '') .. ' '
  local found
  for _, level in ipairs(LEVELS) do
    local all = true
    for flag in level[2]:gmatch('%S+') do all = all and flags:find(' ' .. flag .. ' ', 1, true) ~= nil end
    if all then
      found = level[1]
      break
    end
  end
  return name, found or jit.arch
end

---Processors this process may run on, from a list such as "0-3,8".
local function allowed_processors()
  local list = (source.read('/proc/self/status') or ''):match('Cpus_allowed_list:%s*(%S+)')
  if not list then return nil end
  local count = 0
  for a, b in list:gmatch('(%d+)%-?(%d*)') do count = count + (b == '' and 1 or b - a + 1) end
  return count, list
end

---Text of a control file of this process's cgroup (version 2), nearest folder that has it.
local function cgroup(file)
  local path = (source.read('/proc/self/cgroup') or ''):match('0::(/[^\n]*)')
  while path do
    local text = first_line('/sys/fs/cgroup' .. path:gsub('/$', '') .. '/' .. file)
    if text then return text end
    if path == '/' then return nil end
    path = path:match('^(.*)/[^/]*$')
    if path == '' then path = '/' end
  end
end

local function memory_lines(put)
  local text = source.read('/proc/meminfo') or ''
  local total, free = text:match('MemTotal:%s*(%d+)'), text:match('MemAvailable:%s*(%d+)')
  if total then put('memory', ('%s, %s available'):format(bytes(total * 1024), bytes((free or 0) * 1024))) end
  local group = cgroup('memory.max')
  local address = (source.read('/proc/self/limits') or ''):match('Max address space%s+(%d+)')
  local limits = {}
  if tonumber(group) then limits[#limits + 1] = 'cgroup ' .. bytes(tonumber(group)) end
  if address then limits[#limits + 1] = 'address space ' .. bytes(tonumber(address)) end
  put('memory limits', #limits > 0 and table.concat(limits, ', ') or 'none')
end

local function driver()
  local text = first_line('/proc/driver/nvidia/version')
  return text and (text:match('Kernel Module%s+(%S+)') or text:match('(%d+%.%d[%d.]*)')) or 'none'
end

---A line for each device; kinds without one say why. The status: 1 where there is no device that auto could take.
local function device_lines(put)
  local list, missing = require('mascon.report.devices').list()
  for i, d in ipairs(list) do
    local about = { d.title }
    if d.memory then about[#about + 1] = bytes(d.memory) end
    if not d.f64 then about[#about + 1] = 'no f64' end
    if d.processor and i > 1 then about[#about + 1] = 'this machine\'s processor' end
    if d.about and d.about ~= '' then about[#about + 1] = d.about end
    put(i == 1 and 'devices' or '', ('%s: %s'):format(d.name, table.concat(about, ', ')))
  end
  local there, taken, why = pcall(require('mascon.core.tensor').device_auto, 0)
  local trouble = not there and ('auto takes none: with MASCON_DEVICE=%s %s'):format(os.getenv 'MASCON_DEVICE' or '',
    tostring(taken):gsub('^%S*%.lua:%d+: ', ''))
  put('', trouble or ('auto takes %s: %s'):format(taken, why))
  local names = {}
  for name in pairs(missing) do names[#names + 1] = name end
  table.sort(names)
  for _, kind in ipairs(names) do
    local unusable = missing[kind]:match '^device "[^"]*" (.-);? ?[^;]*$'
    put('', kind:find ':' and unusable and ('%s: %s'):format(kind, unusable) or ('%s: none (%s)'):format(kind,
      missing[kind]))
  end
  return trouble and 1 or 0
end

local function plugins()
  local found = {}
  for _, name in ipairs(host.list(host.plugindir) or {}) do
    local who = name:match('^mc_(.+)%.so$')
    if who then found[#found + 1] = who end
  end
  table.sort(found)
  return #found > 0 and table.concat(found, ' ') or 'none'
end

local function exists(path)
  local file = io.open(path, 'rb')
  if file then file:close() end
  return file ~= nil
end

---Prints a table as indented lines, keys sorted.
local function put_table(put, t, prefix)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for _, key in ipairs(keys) do
    local value = t[key]
    local name = prefix .. tostring(key)
    if type(value) == 'table' and #value == 0 and next(value) ~= nil and getmetatable(value) == nil then
      put_table(put, value, name .. '.')
    else
      put(name, type(value) == 'string' and value or show.value(value, 1e6))
    end
  end
end

local function library_lines(put)
  local path = host.libdir .. '/libmascon.so'
  if not exists(path) or not package.searchpath('mascon', package.path) then
    put('library', ('not built (%s)'):format(path))
    return 1
  end
  put('library', path)
  host.telling = true
  local ok, mc = pcall(require, 'mascon')
  if not ok then
    put('', 'cannot be opened: ' .. tostring(mc))
    return 1
  end
  local have, info = pcall(function() return mc.info and mc.info() end)
  if not have then
    put('', 'its report failed: ' .. tostring(info))
    return 1
  end
  local status = device_lines(put)
  local threads_from = info.threads_source
  if type(info) == 'table' then
    for _, said in ipairs { 'version', 'lua', 'processor', 'threads_source' } do info[said] = nil end
    put_table(put, info, '  ')
  end
  put('threads from', threads_from)
  put('memory limit', info.memory.limit
    and info.memory.limit > 0 and bytes(info.memory.limit) .. ' from ' .. info.memory.limit_source or 'none')
  return status
end

---@param args string[]
---@return integer status
function M.main(args)
  if args[1] then
    io.stderr:write('mascon info takes no arguments\n')
    return 2
  end
  local function put(name, text) io.write(('%-18s %s\n'):format(name, text)) end
  local cpu, level = processor()
  local count, list = allowed_processors()
  put('mascon', host.version)
  put('lua', jit.version .. ', ' .. (jit.status() and 'compiler on' or 'compiler off'))
  put('program', host.exe)
  put('lua library', host.luadir)
  put('processor', cpu)
  put('instructions', level)
  put('processors', count and ('%d (%s)'):format(count, list) or 'unknown')
  local quota = cgroup('cpu.max')
  if quota and not quota:find('^max') then
    local used, period = quota:match('^(%d+) (%d+)')
    put('processor limit', used and ('cgroup %.3g processors'):format(used / period) or quota)
  end
  memory_lines(put)
  put('NVIDIA driver', driver())
  put('plug-ins', plugins())
  for _, name in ipairs(VARIABLES) do
    local value = os.getenv(name)
    if value then put(name, value) end
  end
  local trouble = variables.trouble()
  if trouble then put('environment', trouble) end
  return math.max(library_lines(put), trouble and 1 or 0)
end

return M
