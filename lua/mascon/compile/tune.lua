-- tune.lua - settings measured on this computer, on request only.
--
-- One setting so far: how many bytes of registers the vector machine works on at a time, which wants to be the part of
-- the first-level cache that is free. `mascon cache tune` measures it and keeps it beside the compiled code; later runs
-- take it from there. No result depends on it. Holds the measurement and the note.
local mc = require 'mascon.array'
local lib = require 'mascon.core.ffi'
local machine = require 'mascon.base.machine'
local cache = require 'mascon.compile.native.cache'
local handles = require 'mascon.compile.native.handles'

local M = {}

local SIZES = { 4096, 8192, 12288, 16384, 24576, 32768, 49152, 65536 }
local ELEMENTS, ROUNDS, NAME = 2 ^ 20, 7, 'vm-cache'

--- Times a chain of ops on the vector machine for each size; the best size and all { bytes, rate (bytes of operands and
--- results per second) }.
---@param compile function mc.compile
---@return integer best
---@return table[] rows
function M.measure(compile)
  local f = compile(function(x, y)
    local h = x
    for _ = 1, 3 do h = mc.maximum(h * y + x, y) - x * 0.5 end
    return h
  end, { tier = 'vm' })
  local x, y = mc.sin(mc.arange(1, ELEMENTS)):to 'f32', mc.cos(mc.arange(1, ELEMENTS)):to 'f32'
  local before = handles.vm_cache()
  local rows, best = {}, 1
  for i, bytes in ipairs(SIZES) do rows[i] = { bytes = bytes, seconds = math.huge } end
  f(x, y)
  for _ = 1, ROUNDS do -- in turn, so that a disturbance hits all alike
    for _, r in ipairs(rows) do
      handles.vm_cache(r.bytes)
      f(x, y)
      local since = lib.clock_seconds()
      f(x, y)
      r.seconds = math.min(r.seconds, lib.clock_seconds() - since)
    end
  end
  handles.vm_cache(before)
  for i, r in ipairs(rows) do
    r.rate = 3 * 4 * ELEMENTS / r.seconds
    if r.seconds < rows[best].seconds then best = i end
  end
  return rows[best].bytes, rows
end

--- Keeps a size for later runs on this kind of processor: true, or nil and why not.
function M.keep(bytes)
  handles.vm_cache(bytes)
  return cache.keep_note(NAME, ('%d %s\n'):format(bytes, machine.processor()))
end

--- Takes what was kept, when it was measured on this kind of processor.
function M.apply()
  local text = cache.note(NAME)
  local bytes, processor = (text or ''):match '^(%d+) (.-)\n$'
  if bytes and processor == machine.processor() then handles.vm_cache(tonumber(bytes)) end
end

return M
