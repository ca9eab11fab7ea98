-- ceiling.lua - a bound on the memory of this process, and how much of it is left.
--
-- Counts what the system counts: all memory of the process that is resident, the program and its libraries included. A
-- job asks left() before it lays out its blocks, so that what other parts hold by then (Lua values, libraries, blocks
-- that a filter remembers) is measured and not guessed. Freed blocks are kept for later use only as far as they fit.
local lib = require 'mascon.core.ffi'
local check = require 'mascon.core.check'
local error = check.error
local C = lib.C
local M = {}

-- { at = bytes that may be resident, base = bytes that were there before and are not counted in what was asked for }
local active

local UNIT = { [''] = 1, k = 2 ^ 10, m = 2 ^ 20, g = 2 ^ 30, t = 2 ^ 40 }

--- Bytes of a number or of a size in words.
---     mc.ceiling.bytes '2GiB'  --> 2147483648
---@param v number|string
---@return number|nil nil when it is no size above 0
function M.bytes(v)
  local n, unit = tostring(v):match '^%s*([%d.]+[eE]?[+%d]*)%s*([kKmMgGtT]?)i?[bB]?%s*$'
  n = tonumber(n)
  if not n or not (n > 0 and n < math.huge) then return nil end
  return n * UNIT[unit:lower()]
end

--- Bytes in words: "1.50 GiB", "12.0 MiB".
---@param b number
---@return string
function M.text(b) return b >= 2 ^ 30 and ('%.2f GiB'):format(b / 2 ^ 30) or ('%.1f MiB'):format(b / 2 ^ 20) end

-- bytes of the program and its libraries; what more is resident of files are mapped arrays
local PROGRAM = 16 * 2 ^ 20

local function status()
  local f = io.open '/proc/self/status'
  local text = f and f:read '*a' or ''
  if f then f:close() end
  return function(name) return 1024 * (tonumber(text:match('\n' .. name .. ':%s*(%d+)')) or 0) end
end

--- Bytes of this process that are resident now. Pages of mapped arrays are not counted: the system takes them back.
---@return number
function M.resident()
  local s = status()
  local file = s 'RssFile'
  return s 'VmRSS' - file + math.min(file, PROGRAM)
end

--- The most bytes of this process that were resident at a time.
---@return number
function M.peak() return status() 'VmHWM' end

--- What nobody holds goes back to the system.
local function give_back()
  collectgarbage()
  collectgarbage()
  C.mc_memory_trim()
end

--- Bytes that may still be taken, below 0 where the bound is passed already, or nil without one.
local function balance()
  if not active then return nil end
  give_back()
  local left = math.min(active.at - M.resident(), active.at - active.base)
  -- some of it is for what is no tensor: Lua values
  C.mc_memory_room_set(math.max(1, lib.memory_stats().live + left - math.min(left / 8, 2 ^ 24)))
  return left
end

--- Bytes that may still be taken (0 where the bound is reached), or nil without a bound; never more than the bound,
--- also where memory held before it has been given back since. Gives freed blocks back to the system.
---@return number|nil
function M.left()
  local left = balance()
  return left and math.max(0, left)
end

--- Bytes of the blocks in which samples pass through: an eighth of what is left, `most` without a bound.
---@param most number
---@param held? number bytes that will be taken beside them
---@return number
function M.block(most, held)
  check.arg('ceiling.block', 'most', most, 'number > 0', 3)
  if held ~= nil then check.arg('ceiling.block', 'held', held, 'number >= 0', 3) end
  local left = M.left()
  return left and math.min(most, math.max(2 ^ 16, (left - (held or 0)) / 8)) or most
end

--- Refuses a job for which the bound is too small, with the least that would do.
---@param fname string for the message
---@param need number bytes that must be left
---@param what string what needs them
---@param level? integer
function M.need(fname, need, what, level)
  check.arg('ceiling.need', 'fname', fname, 'string', 3)
  check.arg('ceiling.need', 'need', need, 'number >= 0', 3)
  check.arg('ceiling.need', 'what', what, 'string', 3)
  if level ~= nil then check.arg('ceiling.need', 'level', level, 'integer >= 1', 3) end
  local left = balance()
  if not left or left >= need then return end
  local asked = active.at - active.base
  local least = math.ceil((asked + need - left) / 2 ^ 20) * 2 ^ 20
  error(('%s: max_memory is %s, of which %s are left; %s needs %s, so raise max_memory to at least %s'):format(
    fname, M.text(asked), M.text(math.max(0, left)), what, M.text(need), M.text(least)), (level or 1) + 1)
end

local function checked(fname, bytes, f)
  if bytes ~= nil then check.arg(fname, 'bytes', bytes, 'number > 0', 4) end
  check.arg(fname, 'f', f, 'function', 4)
end

--- Runs f(...) under a bound, which ends with it, also after an error. A bound within another never widens it.
---@param bytes number|nil bytes that may be resident; nil: no bound of its own
---@param f function
---@return any what f returns
function M.with(bytes, f, ...)
  checked('ceiling.with', bytes, f)
  if not bytes then return f(...) end
  local before = active
  if before and before.at <= bytes then return f(...) end
  local room = C.mc_memory_room_set(0)
  active = { at = bytes, base = 0 }
  local r = { pcall(function(...)
    M.left()
    return f(...)
  end, ...) }
  active = before
  C.mc_memory_trim()
  C.mc_memory_room_set(room)
  if not r[1] then error(r[2], 0) end
  return unpack(r, 2, table.maxn(r))
end

--- The same for bytes beside what is resident now.
---@param bytes number|nil
---@param f function
---@return any
function M.beside(bytes, f, ...)
  checked('ceiling.beside', bytes, f)
  if not bytes then return f(...) end
  give_back()
  local base = M.resident()
  return M.with(base + bytes, function(...)
    if active.at == base + bytes then active.base = base end
    return f(...)
  end, ...)
end

return M
