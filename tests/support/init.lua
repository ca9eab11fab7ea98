-- support/init.lua - what the specs of the array core share. Loaded with
--   local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
--
-- Holds the loading of support modules, the two stress switches (MASCON_TEST_JITOFF=1: no compiled traces;
-- MASCON_TEST_GC=1: full collections before tensors are made) and the check that no tensor memory is left.
local key = 'mascon tests support'
if package.loaded[key] then
  package.loaded[key].restart()
  return package.loaded[key]
end

local M = { folder = debug.getinfo(1, 'S').source:match '^@(.*)/support/[^/]*$' or 'tests' }
package.loaded[key] = M

local loaded = {}
--- Module of tests/support (or tests/) by name.
function M.load(name)
  if loaded[name] == nil then
    local file = name == 'tol' and M.folder .. '/tol.lua' or M.folder .. '/support/' .. name .. '.lua'
    loaded[name] = assert(loadfile(file))()
  end
  return loaded[name]
end

--- Called when a spec file begins.
function M.restart() end

M.jit_off = os.getenv 'MASCON_TEST_JITOFF' == '1'
M.gc = os.getenv 'MASCON_TEST_GC' == '1'

local mc = require 'mascon'

if M.jit_off then
  require 'jit'.off()
  require 'jit'.flush()
end

-- Every way to a new header goes through two functions of mascon.core.tensor that other modules hold as upvalues: they
-- are exchanged there.
if M.gc then
  local tensor = package.loaded['mascon.core.tensor']
  local swap, seen = {}, {}
  -- The first EACH headers of a spec file are preceded by a collection each, the later ones more and more rarely, at
  -- places that keep moving: a workflow makes 10^5 of them, and one collection of the whole heap takes 10 to 40 ms.
  local EACH, made, due = 50, 0, 0
  function M.restart() made, due = 0, 0 end
  local function maybe()
    made = made + 1
    if made < due then return end
    collectgarbage()
    due = made <= EACH and made + 1 or made + math.ceil(made / EACH * 1.7)
  end
  for _, name in ipairs { 'make', 'header' } do
    local old = tensor[name]
    swap[old] = function(...)
      maybe()
      return old(...)
    end
    tensor[name], seen[swap[old]] = swap[old], true
  end
  local function visit(v)
    if type(v) == 'table' and not seen[v] then
      seen[v] = true
      for _, x in pairs(v) do visit(x) end
    elseif type(v) == 'function' and not seen[v] and not swap[v] then
      seen[v] = true
      local i = 1
      while true do
        local name, x = debug.getupvalue(v, i)
        if not name then break end
        if type(x) == 'function' and swap[x] then debug.setupvalue(v, i, swap[x]) else visit(x) end
        i = i + 1
      end
    end
  end
  for name, module in pairs(package.loaded) do
    if name:match '^mascon%.' or name == 'mascon' then visit(module) end
  end
end

--- Bytes of tensor memory still live after the collector ran. Compiled traces go first: they hold upvalues as
--- constants.
function M.tensor_bytes()
  require 'jit'.flush()
  collectgarbage()
  collectgarbage()
  return mc.memory().tensors
end

--- Runs f with the default settings of threads and instruction level restored afterwards, also on error.
function M.restoring(f)
  local C = require 'mascon.core.ffi'.C
  local isa, threads = require 'ffi'.string(C.mc_isa_name()), mc.get_num_threads()
  local ok, e = xpcall(f, debug.traceback)
  C.mc_isa_set(isa)
  mc.set_num_threads(threads)
  if not ok then error(e, 0) end
end

--- Instruction levels this machine has.
function M.levels()
  local C = require 'mascon.core.ffi'.C
  local now, list = require 'ffi'.string(C.mc_isa_name()), {}
  for _, name in ipairs { 'v2', 'v3', 'v4' } do
    if C.mc_isa_set(name) == 0 then list[#list + 1] = name end
  end
  C.mc_isa_set(now)
  return list
end

--- Message of the error that f raises; fails when it raises none.
function M.message(f, ...)
  local ok, e = pcall(f, ...)
  if ok then error('no error was raised', 2) end
  return tostring(e)
end

--- f(...) must raise an error whose message has the text.
function M.says(text, f, ...)
  local e = M.message(f, ...)
  if not e:find(text, 1, true) then error(('"%s" does not say "%s"'):format(e, text), 2) end
end

return M
