-- child.lua - work that may end its process, done in a process of its own.
--
-- Neighbours that abort when they get no memory (GLib below librsvg) run in a second copy of the program. Holds that
-- process: its private folder, its end, also when the caller is interrupted. Binding module: touches the FFI for the
-- finalizer.
local ffi = require 'ffi'
local lib = require 'mascon.core.ffi'
local file = require 'mascon.base.file'
local C = lib.C
local M = {}

local host = type(package.loaded['mascon.host']) == 'table' and package.loaded['mascon.host'] or {}

--- Whether there is a program to start: a library that was embedded has none.
function M.possible() return type(host.exe) == 'string' end

--- Runs Lua code in another process. inputs: name = bytes, files of its folder; the code finds the folder in arg[1].
---@param code string
---@param inputs table<string, string>
---@param seconds number after which it is killed
---@return boolean|nil true when it ended well
---@return string|nil why not, in the words of the process
function M.run(code, inputs, seconds)
  local room = ffi.new 'char[1024]'
  if C.mc_folder_temporary(room, 1024) ~= 0 then return nil, lib.message() end
  local folder = ffi.string(room)
  inputs['work.lua'] = code
  for name, bytes in pairs(inputs) do
    local ok, why = file.write(folder .. '/' .. name, bytes)
    if not ok then
      C.mc_folder_remove(folder)
      return nil, why
    end
  end
  local words = { host.exe, '--', folder .. '/work.lua', folder }
  local argv = ffi.new('const char *[?]', #words + 1)
  for i, w in ipairs(words) do argv[i - 1] = w end
  local process = C.mc_compiler_start(argv, folder, seconds)
  if process == nil then
    local why = lib.message()
    C.mc_folder_remove(folder)
    return nil, why
  end
  ffi.gc(process, C.mc_compiler_free)
  local state = C.mc_compiler_poll(process)
  while state == 0 do
    C.mc_pause(0.001)
    state = C.mc_compiler_poll(process)
  end
  local said = file.read(folder .. '/log') or ''
  C.mc_compiler_free(ffi.gc(process, nil))
  if state == 1 then return true end
  said = said:gsub('%s+$', '')
  return nil, state == 3 and ('it took more than %g s'):format(seconds) or said ~= '' and said:match '[^\n]*$' or 'its process ended at once; there may be no memory for it'
end

return M
