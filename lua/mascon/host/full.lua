-- full.lua - what is done when the Lua heap is full.
--
-- LuaJIT raises 'not enough memory' without a traceback. Holds the order in which room is made for its report: the
-- spare of the program goes back, garbage is collected, and afterwards the spare is taken again where there is room.
local host = require 'mascon.host'

local M = {}

local RAISED = 'not enough memory'
local ADVICE = RAISED .. ': the Lua heap is full (%d MiB are held after a collection); '
  .. 'keep large data in tensors, set tables that are done with to nil'

local TRIES = 100

local held -- KiB after the collection of the last report, until the heap is small again

---Whether an error object says that the heap is full.
function M.is(object) return object == RAISED end

local function collect()
  collectgarbage()
  collectgarbage()
  return collectgarbage 'count'
end

---Makes room for a report.
---@return string text of it
function M.report()
  host.heap_spare(false)
  held = collect()
  return ADVICE:format(held / 1024)
end

---After a chunk: holds the spare again where there is room, and collects as long as the heap stays what it was when it
---was full, for the system's own needs (a library that is opened) make no one collect.
function M.again()
  if held and collect() < held / 2 then held = nil end
  host.heap_spare(true)
end

---Calls fn(...), again where it raises for lack of memory. LuaJIT enters a new text before it makes its table of texts
---larger, and raises when it cannot: every try gets one text further. fn may have no effect that a second call repeats.
---@return boolean ok, any ... as of pcall
function M.settle(fn, ...)
  local ok, a, b, c
  for _ = 1, TRIES do
    ok, a, b, c = pcall(fn, ...)
    if ok or not M.is(a) then break end
    host.heap_spare(false)
  end
  return ok, a, b, c
end

---A report for which there is no room either.
function M.last() io.stderr:write(RAISED, '\n') end

return M
