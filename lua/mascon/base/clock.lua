-- clock.lua - the clock of workflows: how long something takes, and the date in a file.
--
-- No number of an analysis may depend on it. tests/lint/calls.lua lists which workflow files use it, and for what.
local lib = require 'mascon.core.ffi'
local M = {}

--- Seconds since some moment; they never run backwards.
function M.seconds() return lib.clock_seconds() end

--- Seconds of a processor that the process has taken, all threads together.
function M.processor() return os.clock() end

--- Seconds that a function takes.
---@param f fun()
function M.taken(f)
  local start = lib.clock_seconds()
  f()
  return lib.clock_seconds() - start
end

--- Date and time, UTC, in the form of ISO 8601.
function M.stamp() return os.date '!%Y-%m-%dT%H:%M:%SZ' end

return M
