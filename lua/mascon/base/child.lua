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

--- The handle of a process that runs code, which finds its folder in arg[1]; the folder goes when it cannot start.
local function begin(code, inputs, folder, seconds)
  local function gone(why)
    C.mc_folder_remove(folder)
    return nil, why
  end
  inputs['work.lua'] = code
  for name, bytes in pairs(inputs) do
    local ok, why = file.write(folder .. '/' .. name, bytes)
    if not ok then return gone(why) end
  end
  local words = { host.exe, '--', folder .. '/work.lua', folder }
  local argv = ffi.new('const char *[?]', #words + 1)
  for i, w in ipairs(words) do argv[i - 1] = w end
  local process = C.mc_compiler_start(argv, folder, seconds)
  if process == nil then return gone(lib.message()) end
  return ffi.gc(process, C.mc_compiler_free)
end

--- Runs Lua code in another process. inputs: name = bytes, files of its folder; the code finds the folder in arg[1] and
--- writes nowhere else, since it can be killed at any moment.
---@param code string
---@param inputs table<string, string>
---@param seconds number after which it is killed
---@param result string name of the file that it leaves in the folder
---@return string|nil bytes of that file when it ended well
---@return string|nil why not, in the words of the process
function M.run(code, inputs, seconds, result)
  local room = ffi.new 'char[1024]'
  if C.mc_folder_temporary(room, 1024) ~= 0 then return nil, lib.message() end
  local folder = ffi.string(room)
  local process, why = begin(code, inputs, folder, seconds)
  if not process then return nil, why end
  local state = C.mc_compiler_poll(process)
  while state == 0 do
    C.mc_pause(0.001)
    state = C.mc_compiler_poll(process)
  end
  local said = file.read(folder .. '/log') or ''
  local bytes, lost
  if state == 1 then bytes, lost = file.read(folder .. '/' .. result) end
  C.mc_compiler_free(ffi.gc(process, nil))
  if state == 1 then return bytes, lost end
  said = said:gsub('%s+$', '')
  return nil, state == 3 and ('it took more than %g s'):format(seconds) or said ~= '' and said:match '[^\n]*$'
    or 'its process ended at once; there may be no memory for it'
end

-- ---------------------------------------------------------------- processes that stay

local made = 0

--- A new private folder below `base`; nil and why not.
function M.folder(base)
  for _ = 1, 100 do
    made = made + 1
    local path = ('%s/mascon-%d-%d'):format(base, math.floor(lib.clock_seconds() * 1e6) % 1e9, made)
    if not file.exists(path) then
      local ok, why = file.make_folder(path)
      if not ok then return nil, why end
      return path
    end
  end
  return nil, ('%s: every name is taken'):format(base)
end

---@class mascon.Process
---@field folder string
local Process = {}
Process.__index = Process

--- Whether it still runs.
function Process:running() return self.handle ~= nil and C.mc_compiler_poll(self.handle) == 0 end
--- What it wrote last: the last line of its output.
function Process:said() return ((file.read(self.folder .. '/log') or ''):gsub('%s+$', ''):match '[^\n]*$') end
--- Ends it and removes its folder.
function Process:stop()
  if self.handle then C.mc_compiler_free(ffi.gc(self.handle, nil)) end
  self.handle = nil
end

--- Starts a process that runs Lua code until it is stopped, is no longer referred to, or the program ends. It gets a
--- folder of its own, which goes with it: in memory where there is room, else where temporary files are.
---@param code string finds the folder in arg[1]
---@param inputs table<string, string> files of its folder
---@param base? string where the folder is to be, instead
---@return mascon.Process|nil
---@return string|nil why not
function M.start(code, inputs, base)
  local why
  for _, place in ipairs(base and { base } or { '/dev/shm', os.getenv 'TMPDIR' or '/tmp' }) do
    local folder, handle
    folder, why = M.folder(place)
    if folder then handle, why = begin(code, inputs, folder, 1e9) end
    if handle then return setmetatable({ handle = handle, folder = folder }, Process) end
  end
  return nil, why
end

--- Waits.
---@param seconds number
function M.pause(seconds) C.mc_pause(seconds) end

return M
