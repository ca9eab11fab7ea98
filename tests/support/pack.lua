-- pack.lua - writes packs of device programs, as runtime/device/mc_shipped.c reads them.
local ffi = require 'ffi'
local C = require 'mascon.core.ffi'.C
local M = {}

--- The key of the code of a whole text.
function M.key(text)
  local key = ffi.new 'char[65]'
  C.mc_device_shipped_key(text, key)
  return ffi.string(key)
end

--- Writes a pack of codes by key; the bytes of the codes.
---@param path string
---@param codes table<string, string>
function M.write(path, codes)
  local keys, lines, offset = {}, {}, 0
  for key in pairs(codes) do keys[#keys + 1] = key end
  table.sort(keys)
  for i, key in ipairs(keys) do
    lines[i] = ('%s %d %d'):format(key, offset, #codes[key])
    offset = offset + #codes[key]
  end
  local out = assert(io.open(path .. '.new', 'wb'))
  out:write(('mascon-programs 1 %d\n'):format(#keys), table.concat(lines, '\n'), '\n')
  for _, key in ipairs(keys) do out:write(codes[key]) end
  out:close()
  assert(os.rename(path .. '.new', path))
  return offset
end

return M
