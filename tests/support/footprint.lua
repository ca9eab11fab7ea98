-- footprint.lua - memory a call takes beside its result, from the pool's own counters.
--
-- M.measure(call) -> bytes beside the result, unit. The unit of a workspace is what the operands take in the dtype of
-- their arithmetic (small integers count as i64, halves as f32), or the result if that is more: a row's `work` states
-- its multiple. Garbage is not collected during the call, so that a composition pays for all its steps.
local mc = require 'mascon'
local calls =
  dofile((debug.getinfo(1, 'S').source:match '^@(.*)/support/[^/]*$' or 'tests') .. '/support/init.lua').load 'calls'
local M = {}

local WIDE = { bool = 8, u8 = 8, i8 = 8, i16 = 8, i32 = 8, f16 = 4, bf16 = 4 }

local function bytes(v, size)
  if mc.is_tensor(v) then return v:numel() * size(v.dtype) end
  local n = 0
  if type(v) == 'table' then for _, x in pairs(v) do n = n + bytes(x, size) end end
  return n
end

--- Blocks are rounded up to an eighth of a power of two; small fixed tables and the headers of views count too.
function M.slack() return calls.BYTES / 4 end
M.rounding = 1.13

-- Garbage of earlier calls must not be there: the library may collect it during the call. Collections of the whole heap
-- are dear, so that results are released and the heap is collected where memory is not what it was before the call.
local settled
local function release(v, args)
  if mc.is_tensor(v) then
    for _, a in pairs(args) do if rawequal(a, v) then return end end
    v:release()
  elseif type(v) == 'table' then
    for _, x in pairs(v) do release(x, args) end
  end
end

function M.measure(call)
  local live = mc.memory().live
  if live ~= settled then
    collectgarbage()
    collectgarbage()
    live = mc.memory().live
    settled = live
  end
  collectgarbage 'stop'
  mc.reset_peak_memory()
  local results = { pcall(call.f, unpack(call.args)) }
  local peak = mc.memory().peak - live
  collectgarbage 'restart'
  if not results[1] then return nil, tostring(results[2]) end
  table.remove(results, 1)
  local result = bytes(results, function(d) return calls.size[d] end)
  local unit = math.max(result, bytes(call.args, function(d) return WIDE[d] or calls.size[d] end))
  release(results, call.args)
  return peak - result, unit, result
end

return M
