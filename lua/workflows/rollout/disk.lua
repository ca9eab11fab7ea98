-- disk.lua - what is said when a file cannot be written for want of room: which file, how large, what is kept, what to
-- do.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local error = check.error
local M = {}

--- Bytes that a file of this process may have (ulimit -f); nil for no limit, or where the system does not say.
---@return number?
function M.limit()
  local f = io.open('/proc/self/limits', 'r')
  if not f then return nil end
  local text = f:read '*a'
  f:close()
  return tonumber(text:match 'Max file size%s+(%d+)')
end

--- Bytes of files.
---@param paths string[]
function M.size(paths)
  local n = 0
  for _, path in ipairs(paths) do
    local f = io.open(path, 'rb')
    if f then
      n = n + (f:seek 'end' or 0)
      f:close()
    end
  end
  return n
end

--- Bytes of the tensors of a table.
---@param tree table
function M.bytes(tree)
  local n = 0
  for _, t in pairs(tree) do
    if tensor.is(t) then n = n + t:numel() * tensor.size[t.dtype] end
  end
  return n
end

--- work(...), with words of its own where the limit of a file or the disk ends it, also of reading.
---@param path string file that is written
---@param bytes number that it takes at most
---@param next fun(): string what to do then, and what is kept
---@param work function
---@return any what work gives
function M.told(path, bytes, next, work, ...)
  local r = { pcall(work, ...) }
  if r[1] then return unpack(r, 2, table.maxn(r)) end
  local why = tostring(r[2])
  local large, full = why:find('File too large', 1, true), why:find('No space left on device', 1, true)
    or why:find('Disk quota exceeded', 1, true)
  if not large and not full then
    error(why:find('ulimit -f', 1, true) and ('%s; then %s'):format(why, next()) or r[2], 0)
  end
  local limit = large and M.limit()
  error(('rollout: %s cannot be written: it takes up to %s, and %s; %s and %s'):format(path, mc.text.bytes(bytes),
    full and 'the disk is full' or limit and ('a file may have %s (ulimit -f)'):format(mc.text.bytes(limit))
    or 'that is more than the limit of a file (ulimit -f)',
    full and 'free some space, or choose another disk,' or 'raise the limit', next()), 0)
end

return M
