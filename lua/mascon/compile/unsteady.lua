-- unsteady.lua - functions of Lua whose result is another one at each call: a trace must not freeze it.
--
-- While a function is traced, math.random, os.time, os.clock and os.date raise an error that names the remedy, in the
-- tables of Lua and in the local variables that hold them; the library itself may call them. Holds the list.
local check = require 'mascon.core.check'
local error = check.error

local M = {}

local LIST = {
  { math, 'random', 'math.random', 'draw with mc.random and a key (mc.random.key)' },
  { os, 'time', 'os.time', 'read the clock outside' },
  { os, 'clock', 'os.clock', 'read the clock outside' },
  { os, 'date', 'os.date', 'read the clock outside' },
}

local stubs = {}
for _, e in ipairs(LIST) do
  local original = e[1][e[2]]
  stubs[original] = function(...)
    local caller = debug.getinfo(2, 'f')
    if caller and check.library(caller.func) then return original(...) end
    error(('compile: the function calls %s, whose result a replay would repeat; %s, and pass the value as an argument')
      :format(e[3], e[4]), 2)
  end
end

--- What stands for a function of Lua while a trace is made, or nil.
function M.stub(f) return stubs[f] end

--- f(...) while those functions raise. held: upvalues that hold some, { of, at, value }.
function M.refused(held, f, ...)
  local before = {}
  for i, e in ipairs(LIST) do
    before[i] = e[1][e[2]]
    e[1][e[2]] = stubs[before[i]] or before[i]
  end
  for _, u in ipairs(held) do debug.setupvalue(u[1], u[2], stubs[u[3]]) end
  local function finish(ok, ...)
    for i, e in ipairs(LIST) do e[1][e[2]] = before[i] end
    for _, u in ipairs(held) do debug.setupvalue(u[1], u[2], u[3]) end
    if not ok then error((...), 0) end
    return ...
  end
  return finish(pcall(f, ...))
end

return M
