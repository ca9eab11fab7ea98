-- exact.lua - derivatives of a residual function itself, recorded once and compiled.
--
-- Makes the choice between them and differences where the user leaves it open: recording costs some milliseconds,
-- which pays where one evaluation takes long, and only functions of tensors alone can be recorded.
local check = require 'mascon.core.check'
local M = {}

--- Residuals from which derivatives are taken from the function itself (recording costs about as much as 50 evaluations
--- there).
M.LARGE = 10000

--- The compiled Jacobian of f in its first argument, by forward or reverse differentiation.
---@param f function
---@param way 'forward'|'reverse'
function M.jacobian(f, way)
  local transform = require 'mascon.transform'
  return require('mascon.compile').compile(way == 'forward' and transform.jacfwd(f) or transform.jacrev(f))
end

--- What run() gives, or nil when the function cannot be recorded or derived. An interruption goes on.
function M.attempt(run)
  local fine, result = pcall(run) -- whether a function can be recorded is known by recording it
  if fine then return result end
  if check.stopped(result) then error(result, 0) end
end

return M
