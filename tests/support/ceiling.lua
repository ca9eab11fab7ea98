-- ceiling.lua - analyses as if little memory were left.
local ceiling = require 'mascon.base.ceiling'
local mc = require 'mascon'
local M = {}

--- f() as if so many bytes were left, however large the process is: blocks of small sets become short. By two threads,
--- however many the machine has: each has a workspace of its own, which counts.
function M.left(bytes, f)
  local left, threads = ceiling.left, mc.get_num_threads()
  mc.set_num_threads(2)
  ceiling.left = function() return bytes end
  local r = { pcall(f) }
  ceiling.left = left
  mc.set_num_threads(threads)
  if not r[1] then error(r[2], 0) end
  return r[2]
end

return M
