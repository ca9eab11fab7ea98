-- file.lua - text and bytes to disk and back, safely: temporary name, sync, rename.
--
-- Holds the writer of files in pieces and the lock of an output (handles with a C release). Failures are facts of the
-- world: nil and a message. Binding module: touches the FFI for the finalizer.
local ffi = require 'ffi'
local lib = require 'mascon.core.ffi'
local check = require 'mascon.core.check'
local C = lib.C
local M = {}

--- Why a path cannot be one, where it holds a zero byte.
local function named(fname, path)
  check.arg('file.' .. fname, 'path', path, 'string', 4)
  if path:find('\0', 1, true) then return 'the path holds a zero byte; check how it was made' end
end

--- Writes bytes to path; the old file stays when anything fails. Returns true, or nil and a message.
---@param path string
---@param bytes string
function M.write(path, bytes)
  local bad = named('write', path)
  check.arg('file.write', 'bytes', bytes, 'string', 3)
  if bad then return nil, 'write: ' .. bad end
  if C.mc_file_write(path, bytes, #bytes) ~= 0 then return nil, lib.message() end
  return true
end

-- bytes of a text that are read at once, and of the longest: a device or a sparse file has no end
local PIECE, LONGEST = 2 ^ 20, 2 ^ 29

--- Bytes of an open file up to `most`, or nil and why not.
local function bytes_of(f, most)
  local size = f:seek 'end' -- nil for a pipe, 0 for a device
  if size then f:seek('set', 0) end
  if size and size > most and size < 2 ^ 62 then return nil, 'holds more' end -- a folder says 2^63 - 1
  local parts, n = {}, 0
  repeat
    local part, why = f:read(math.min(PIECE, most + 1 - n))
    if not part and why then return nil, why end
    parts[#parts + 1] = part
    n = n + (part and #part or 0)
    if n > most then return nil, 'holds more' end
  until not part
  return table.concat(parts)
end

--- The whole file as a string, or nil and a message, also where it holds more than `most` bytes (512 MiB).
---@param path string
---@param most? integer
---@return string|nil
---@return string|nil
function M.read(path, most)
  if most ~= nil and type(most) ~= 'number' then
    error(('file.read: most is a %s; give a number of bytes'):format(type(most)), 2)
  end
  local bad = named('read', path)
  if bad then return nil, 'read: ' .. bad end
  local f, msg = io.open(path, 'rb')
  if not f then return nil, msg end
  most = most or LONGEST
  local bytes, why = bytes_of(f, most)
  f:close()
  if bytes then return bytes end
  if why == 'holds more' then
    return nil, ('%s holds more than %.0f bytes, the longest text that is read; give a smaller file'):format(path, most)
  end
  return nil, ('%s: %s'):format(path, why)
end

local Writer = {}
Writer.__index = Writer

--- A file written in pieces: :append(text), then :close() gives it its name; :abort(), an error or the collector leave
--- nothing behind. Owns. nil and a message when it cannot be made.
---@param path string
function M.create(path)
  local bad = named('create', path)
  if bad then return nil, 'write: ' .. bad end
  local w = C.mc_file_create(path)
  if w == nil then return nil, lib.message() end
  return setmetatable({ _w = ffi.gc(w, C.mc_file_writer_free), path = path }, Writer)
end

--- Appends; true, or nil and a message, after which nothing of the file remains.
function Writer:append(text)
  if not self._w then return nil, self.path .. ': the writer is closed; make a new one' end
  if C.mc_file_append(self._w, text, #text) == 0 then return true end
  local msg = lib.message()
  self:abort()
  return nil, msg
end

--- Syncs and gives the file its name; true, or nil and a message.
function Writer:close()
  if not self._w then return nil, self.path .. ': the writer is closed; make a new one' end
  local msg = C.mc_file_commit(self._w) ~= 0 and lib.message()
  self:abort()
  if msg then return nil, msg end
  return true
end

--- Drops what was written, unless the file was closed before.
function Writer:abort()
  if self._w then C.mc_file_writer_free(ffi.gc(self._w, nil)) end
  self._w = nil
end

--- Whether two names lead to one file, links followed; false where one of them is not there.
---     mc.file.same('.', './.'), mc.file.same('.', 'no/such/file')  --> true, false
---@param a string
---@param b string
---@return boolean
function M.same(a, b)
  if named('same', a) or named('same', b) then return false end
  return C.mc_file_same(a, b) ~= 0
end

--- Removes what killed writers of a file left beside it, under temporary names. For the only writer of it.
---     mc.file.sweep 'no/such/folder/a.h5'  --> nothing
---@param path string
function M.sweep(path)
  if named('sweep', path) then return end
  local folder, name = path:match '^(.*/)([^/]*)$'
  folder, name = folder or '', name or path
  for _, n in ipairs(M.names(folder == '' and '.' or folder)) do
    if n:sub(1, #name) == name and n:sub(#name + 1):find '^%.tmp%-%w%w%w%w%w%w$' then os.remove(folder .. n) end
  end
end

local Lock = {}
Lock.__index = Lock

--- Makes this process the only writer of an output: :free() at the end. The file PATH.lock says who it is; one that a
--- killed process left is taken over, and its half-written file goes. Nil and a message while another process writes
--- it.
---     mc.file.lock 'no/such/folder/a.h5' == nil  --> true
---@param path string of the output
---@return table|nil lock with free
---@return string|nil message
function M.lock(path)
  local bad = named('lock', path)
  if bad then return nil, 'lock: ' .. bad end
  local l = C.mc_lock_take(path .. '.lock')
  if l == nil then return nil, lib.message() end
  M.sweep(path)
  return setmetatable({ _l = ffi.gc(l, C.mc_lock_free) }, Lock)
end

--- Whether this is the lock of an output, under whatever name.
---@param path string
---@return boolean
function Lock:of(path) return self._l ~= nil and C.mc_lock_is(self._l, path .. '.lock') ~= 0 end

--- Lets others write; the file goes.
function Lock:free()
  if self._l then C.mc_lock_free(ffi.gc(self._l, nil)) end
  self._l = nil
end

--- Whether there is a file or folder of this name that can be opened.
---     mc.file.exists('no/such/file')  --> false
---@param path string
function M.exists(path)
  local f = io.open(path, 'rb')
  if f then f:close() end
  return f ~= nil
end

--- Whether path is a folder.
---     mc.file.is_folder('.')  --> true
---@param path string
function M.is_folder(path)
  local f = io.open(path .. '/.', 'rb')
  if f then f:close() end
  return f ~= nil
end

--- Names of what a folder holds, sorted, those of folders with a slash at their end; none when it cannot be
--- read.
---     #mc.file.names('no/such/folder')  --> 0
---@param path string
---@return string[]
function M.names(path)
  local host = package.loaded['mascon.host']
  local out = type(host) == 'table' and host.list and (host.list(path) or {})
  if not out then -- a plain LuaJIT
    out = {}
    local pipe = io.popen("ls -1Ap '" .. path:gsub("'", "'\\''") .. "' 2>/dev/null")
    for name in pipe:lines() do out[#out + 1] = name end
    pipe:close()
  end
  table.sort(out)
  return out
end

--- Makes a folder and those above it. True when it is there afterwards and can be written to; else nil and a message.
---@param path string
function M.make_folder(path)
  if path == '' then return nil, 'the name of the folder is empty; give one, or "." for this one' end
  local host = package.loaded['mascon.host']
  local at = path:sub(1, 1) == '/' and '/' or ''
  for part in path:gmatch '[^/]+' do
    at = at .. part
    if not M.is_folder(at) and type(host) == 'table' then host.make_folder(at) end
    if not M.is_folder(at) then return nil, ('%s: the folder cannot be made; choose another'):format(at) end
    at = at .. '/'
  end
  if type(host) == 'table' and host.writable and not host.writable(path) then
    return nil, ('%s: the folder cannot be written to; choose another'):format(path)
  end
  return true
end

return M
