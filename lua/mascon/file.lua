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

--- Makes a folder (and those above it). True when it is there afterwards and can be written to.
---@param path string
function M.make_folder(path)
  local host = package.loaded['mascon.host']
  local at = path:sub(1, 1) == '/' and '/' or ''
  for part in path:gmatch '[^/]+' do
    at = at .. part
    if not (type(host) == 'table' and host.make_folder and host.make_folder(at)) and not M.is_folder(at) then return false end
    at = at .. '/'
  end
  local probe = path .. '/.mascon-probe'
  local f = io.open(probe, 'wb')
  if not f then return false end
  f:close()
  os.remove(probe)
  return true
end

--- Whether path is a folder that can be entered.
function M.is_folder(path)
  local f = io.open(path .. '/.', 'rb')
  if f then f:close() end
  return f ~= nil
end

return M
