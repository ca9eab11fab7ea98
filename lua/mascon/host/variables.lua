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
-- whether the device is there is asked when the library is loaded
local function device(v)
  local kind, number = v:match '^(%l+):?(%d*)$'
  if not ({ cpu = 1, auto = 1, gpu = 1, cuda = 1, opencl = 1, ref = 1 })[kind] or number == '' and v:find ':' then
    return 'choose auto, cpu, gpu, cuda:0 or opencl:0'
  end
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

--- What each variable may hold: a function of its text that returns advice, or nil.
M.KNOWN = {
  MASCON_CACHE = cache, MASCON_CACHE_SIZE = size, MASCON_CC = compiler, MASCON_CC_TIMEOUT = seconds,
  MASCON_COMPILE = one_of('auto', 'native', 'vm', 'eager'),
  MASCON_DEVICE = device, MASCON_EDIT = one_of('plain', 'auto', 'libedit'),
  MASCON_HDF5 = one_of('inprocess', 'child'),
  MASCON_ISA = one_of('v2', 'v3', 'v4'), MASCON_JIT = one_of('on', 'off'), MASCON_KEEP_SOURCE = any,
  MASCON_LIBDIR = any, MASCON_LOG = topics, MASCON_MEMORY_CACHE = one_of('0', '1'), MASCON_MEMORY_LIMIT = size,
  MASCON_NUM_THREADS = count, MASCON_PASSES = any, MASCON_PATH = any, MASCON_PLAN = one_of('0', '1'),
  MASCON_PROGRESS = one_of('0', '1'), MASCON_SYNC = one_of('0', '1'), MASCON_TRACEBACK = one_of('full', 'short'),
}
-- those of the tests and benchmarks of this source tree
local OTHERS = { '^MASCON_TEST_', '^MASCON_BENCH', '^MASCON_SOAK' }

--- The first variable that is unknown or cannot be used, in words; nil when all are good.
---@return string|nil
function M.trouble()
  local names = host.variables 'MASCON_'
  if #names == 0 then return nil end
  table.sort(names)
  for _, name in ipairs(names) do
    local known, other = M.KNOWN[name], false
    for _, pattern in ipairs(OTHERS) do other = other or name:find(pattern) ~= nil end
    if not known and not other then
      local list = {}
      for k in pairs(M.KNOWN) do list[#list + 1] = k end
      return ('the environment has %s, which means nothing here%s'):format(name, nearest.hint(name, list))
    end
    local value = os.getenv(name)
    local advice = known and value ~= '' and known(value)
    if advice then return ("the environment has %s='%s'; %s"):format(name, value, advice) end
  end
end

return M
