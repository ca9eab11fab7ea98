-- ceiling.lua - analyses as if little memory were left.
local ceiling = require 'mascon.base.ceiling'
local M = {}

--- f() as if so many bytes were left, however large the process is: blocks of small sets become short.
function M.left(bytes, f)
  local left = ceiling.left
  ceiling.left = function() return bytes end
  local r = { pcall(f) }
  ceiling.left = left
  if not r[1] then error(r[2], 0) end
  return r[2]
end

return M
