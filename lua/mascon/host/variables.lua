-- variables.lua - the variables of the environment that the program understands: an unknown or unusable one is an
-- error.
--
-- Holds their names and what they may hold. A value that other code has to judge (a device, what a compiler makes) is
-- left to it.
local host = require 'mascon.host'
local nearest = require 'mascon.host.nearest'

local M = {}

local function one_of(...)
  local list = { ... }
  return function(v)
    for _, c in ipairs(list) do if v == c then return nil end end
    return 'choose ' .. table.concat(list, ', ')
  end
end
local function count(v)
  if not (tonumber(v) and tonumber(v) >= 1 and tonumber(v) % 1 == 0 and tonumber(v) <= 1024) then
    return 'give a whole number from 1 to 1024'
  end
end
local function size(v)
  local n, unit = v:match '^(%d+%.?%d*)(%a*)$'
  if not n or tonumber(n) <= 0
    or not ({ [''] = 1, K = 1, M = 1, G = 1, T = 1, B = 1 })[unit:upper():gsub('IB$', ''):gsub('(.)B$', '%1')] then
    return 'give a size such as 512M or 2G'
  end
end
local function seconds(v)
  if not (tonumber(v) and tonumber(v) > 0) then return 'give a number of seconds above 0' end
end
-- whether there is such a kind, and the device, is asked when the library is loaded
local function device(v)
  if not v:find '^%l+$' and not v:find '^%l+:%d+$' then return 'choose auto, cpu, gpu, or a device such as cuda:0' end
end
local function topics(v)
  for word in v:gmatch '[^,]+' do
    if not word:find '^%s*compile%s*$' and word ~= 'all' then return 'choose compile or all' end
  end
end
--- A folder that is there or can be made; it may be one that can only be read.
local function cache(v)
  if v == 'off' or v == '0' then return nil end
  for at in v:gmatch '()/' do
    if at > 1 then host.make_folder(v:sub(1, at - 1), true) end
  end
  host.make_folder(v, true)
  if not host.list(v) then return 'it is no folder and none can be made there; name another one, or off' end
end
--- A file that holds something: a folder or a device does not.
local function is_program(path)
  local f = io.open(path, 'rb')
  local first = f and f:read(1)
  if f then f:close() end
  return first ~= nil
end
--- Programs, found as a shell finds them, and their options: "ccache gcc -m64".
local function compiler(v)
  for word in v:gmatch '%S+' do
    local there = word:sub(1, 1) == '-' or word:find('/', 1, true) and is_program(word)
    for folder in (word:find('/', 1, true) and '' or os.getenv 'PATH' or ''):gmatch '[^:]+' do
      there = there or is_program(folder .. '/' .. word)
    end
    if not there then return ('%s is not found; name a C compiler, or leave it out'):format(word) end
  end
end
local function any() end

--- The variables: name, what it does, and what it may hold as a function of its text that returns advice, or nil.
local LIST = {
  { 'BLAS', 'library of matrix products, such as libblis.so.4:liblapack.so.3 (OpenBLAS)', any },
  { 'CACHE', 'folder of compiled code (~/.cache/mascon); off keeps none', cache },
  { 'CACHE_SIZE', 'how much of it is kept (256M)', size },
  { 'CC', 'C compiler of compiled functions (gcc)', compiler },
  { 'CC_TIMEOUT', 'seconds that it may take (30)', seconds },
  { 'COMPILE', 'how functions are compiled: auto, native, vm, eager', one_of('auto', 'native', 'vm', 'eager') },
  { 'DEVICE', 'what the device "auto" is: cuda:0, opencl:0, gpu; auto: a card if there is one (cpu)', device },
  { 'EDIT', 'plain: a prompt without line editing', one_of('plain', 'auto', 'libedit') },
  { 'GRAPHS', 'off: launches of compiled functions one by one on a card', one_of('on', 'off') },
  { 'HDF5', 'inprocess: files are read without a process of their own', one_of('inprocess', 'child') },
  { 'ISA', 'level of the CPU kernels: v2, v3, v4 (what the machine has)', one_of('v2', 'v3', 'v4') },
  { 'JIT', 'off: Lua is interpreted', one_of('on', 'off') },
  { 'KEEP_SOURCE', 'folder for the C source of compiled functions', any },
  { 'LIBDIR', 'folder of libmascon.so, in a plain LuaJIT', any },
  { 'LOG', 'compile: a line for each compilation', topics },
  { 'MEMORY_CACHE', '0: freed tensors go back to the system at once', one_of('0', '1') },
  { 'MEMORY_LIMIT', 'most bytes of tensors in this machine\'s memory, such as 2G', size },
  { 'NUM_THREADS', 'threads of kernels (the cores of the machine)', count },
  { 'NVRTC', 'off: programs of cards are not compiled here', one_of('on', 'off') },
  { 'PASSES', 'compiler passes switched off, such as -cse,-fold', any },
  { 'PATH', 'folders of further workflows', any },
  { 'PLAN', '1: scripts say what they would cost, as in mascon plan', one_of('0', '1') },
  { 'PROGRAMS', 'folder of programs for cards without a compiler; off: none', any },
  { 'PROGRESS', '0: no progress bars; 1: also where output is no terminal', one_of('0', '1') },
  { 'RERUN', 'folder in which networks are trained instead of that of a result (mascon rerun sets it)', any },
  { 'RERUN_OF', 'the folder of that result', any },
  { 'SYNC', '1: a device is waited for after each operation', one_of('0', '1') },
  { 'TRACEBACK', 'full: errors show the frames of the library', one_of('full', 'short') },
}
local KNOWN = {}
for _, v in ipairs(LIST) do KNOWN['MASCON_' .. v[1]] = v[3] end

--- One line for each variable.
---@return string
function M.help()
  local lines = {}
  for i, v in ipairs(LIST) do lines[i] = ('  MASCON_%-12s  %s'):format(v[1], v[2]) end
  return table.concat(lines, '\n')
end

--- Names of all variables, sorted.
function M.names()
  local names = {}
  for i, v in ipairs(LIST) do names[i] = 'MASCON_' .. v[1] end
  return names
end

-- those of the tests and benchmarks of this source tree
local OTHERS = { '^MASCON_TEST_', '^MASCON_BENCH', '^MASCON_SOAK' }

--- The first variable that is unknown or cannot be used, in words; nil when all are good.
---@return string|nil
function M.trouble()
  local names = host.variables 'MASCON_'
  if #names == 0 then return nil end
  table.sort(names)
  for _, name in ipairs(names) do
    local known, other = KNOWN[name], false
    for _, pattern in ipairs(OTHERS) do other = other or name:find(pattern) ~= nil end
    if not known and not other then
      return ('the environment has %s, which means nothing here%s'):format(name, nearest.hint(name, M.names()))
    end
    local value = os.getenv(name)
    local advice = known and value ~= '' and known(value)
    if advice then return ("the environment has %s='%s'; %s"):format(name, value, advice) end
  end
end

return M
