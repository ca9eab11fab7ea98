-- queued.lua - devices whose queued work the program waits for at its end.
local lib = require 'mascon.core.ffi'
local C = lib.C
local M = {}

local awaited = {} -- numbers of devices

--- Queued work of a device ends before the process begins to: a driver may compile in a thread of its own when a kernel
--- runs, and its compiler is torn down at exit.
function M.wait_at_end(number)
  if awaited[number] then return end
  awaited[number] = true
  local host = package.loaded['mascon.host']
  if host and host.on_exit then host.on_exit(function() C.mc_device_sync(number) end) end
end

--- An element that queued work refused and nothing waited for: a message, or nil.
---@return string?
function M.left_over()
  for number in pairs(awaited) do
    if C.mc_device_sync(number) == lib.status.EINVAL then return lib.message() end
  end
end

return M
