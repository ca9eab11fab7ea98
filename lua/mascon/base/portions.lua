-- portions.lua - work on many rows, a portion at a time, so that what stands between two steps stays bounded; several
-- devices take the portions in turn.
local mc = require 'mascon.array'
local tensor = require 'mascon.core.tensor'
local lib = require 'mascon.core.ffi'
local M = {}

local ROOM = 2 ^ 27 -- bytes of the tensors between two steps of a portion, about
local SHARES = 8 -- portions at least that devices share, the same for any number of them: so the same bits

--- Calls f(first, last, number) for portions of n rows of so many bytes each, in order. Each call gives a list of
--- tensors; the k-th ones of all calls are joined along an axis.
---@param n integer
---@param bytes number of a row, between two steps
---@param f fun(first: integer, last: integer, number?: integer): mc.tensor[]
---@param axes? integer[] of the results (1 where none is given)
---@param devices? integer[] numbers of devices that share the portions: f gets that of its portion, and results come to
---  host memory
---@return mc.tensor[]
function M.joined(n, bytes, f, axes, devices)
  local size = math.max(1, math.min(n, math.floor(ROOM / bytes)))
  if devices then size = math.max(1, math.min(size, math.ceil(n / SHARES))) end
  local lists, out, waiting = {}, {}, {}
  local function taken(list)
    for k, t in ipairs(list) do
      lists[k] = lists[k] or {}
      if devices then t = tensor.hosted(t) end
      table.insert(lists[k], t)
    end
  end
  for first = 1, math.max(n, 1), size do
    local number = devices and devices[(first - 1) / size % #devices + 1]
    local made = mc.scope(function() return f(first, math.min(first + size - 1, n), number) end)
    waiting[#waiting + 1] = made
    -- a portion on each device, and the next one goes there before the results of the first are waited for
    if not devices or #waiting > #devices then
      local oldest = table.remove(waiting, 1)
      taken(oldest)
      for _, t in ipairs(devices and oldest or {}) do if t._device ~= 0 then t:release() end end
    end
  end
  for _, list in ipairs(waiting) do taken(list) end
  for k, list in ipairs(lists) do out[k] = #list == 1 and list[1] or mc.concat(list, axes and axes[k] or 1) end
  return out
end

--- Bytes that f() takes on the one of some devices where it takes most, at its peak.
---@param numbers integer[] of devices
---@param f function
---@return number
function M.taken(numbers, f)
  local before, most = {}, 0
  lib.C.mc_memory_reset_peak()
  for k, number in ipairs(numbers) do before[k] = lib.memory_stats(number).live end
  f()
  for k, number in ipairs(numbers) do most = math.max(most, lib.memory_stats(number).peak - before[k]) end
  return most
end

--- Bytes that work in portions takes on a device at most, about, where a smaller run of it took some: it grows with the
--- work until portions bound it.
---@param bytes number of the smaller run, without what grows beyond all bounds (samples)
---@param ratio number how much larger the work is
---@return number
function M.most(bytes, ratio) return math.min(bytes * ratio, math.max(bytes, 1.5 * ROOM)) end

return M
