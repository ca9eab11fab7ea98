-- file.lua - text and bytes to disk, safely: temporary name, sync, rename. Owns nothing else.
local lib = require 'mascon.ffi'
local M = {}

--- Writes bytes to path; the old file stays when anything fails. Returns true, or nil and a message.
---@param path string
---@param bytes string
function M.write(path, bytes)
  if lib.C.mc_file_write(path, bytes, #bytes) ~= 0 then return nil, lib.message() end
  return true
end

--- The whole file as a string, or nil and a message.
function M.read(path)
  local f, msg = io.open(path, 'rb')
  if not f then return nil, msg end
  local text = f:read '*a'
  f:close()
  if not text then return nil, path .. ': cannot be read' end
  return text
end

return M
