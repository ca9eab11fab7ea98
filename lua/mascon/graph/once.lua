-- once.lua - work that is done once runs without the JIT compiler.
--
-- Writing down, passes and plans of a function are many short loops over few nodes: compiling their traces takes longer
-- than interpreting them. Measured on chains of n ops: n = 30 10 ms with the JIT compiler, 3 ms without; 300: 54 and
-- 32; 1000: 102 and 142. Traces of large work are dropped afterwards: machine code keeps tables that it met as
-- constants, and with one node of a graph all that hangs on it.
local M = {}

local MOST = 500 -- nodes from which on it pays
local MANY = 1500 -- nodes from which on what the traces keep is worth more than they are

--- f(...), without the JIT compiler if it is about few nodes.
---@param nodes integer
function M.run(nodes, f, ...)
  if not jit.status() then return f(...) end
  local many = nodes > MOST
  if not many then jit.off() end
  local function finish(ok, ...)
    if not many then jit.on() elseif nodes > MANY then jit.flush() end
    if not ok then error((...), 0) end
    return ...
  end
  return finish(pcall(f, ...))
end

return M
