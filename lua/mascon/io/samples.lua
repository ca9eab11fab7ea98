-- samples.lua - numbers on a grid of channels and samples in a file, as tensors.
--
-- Holds the handle of a file whose layout its caller knows: type of the numbers, place of the first, steps between
-- channels and between samples. For formats that keep plain numbers (BrainVision, EEGLAB). Binding module: touches the
-- FFI.
local ffi = require 'ffi'
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local error = check.error
local C = lib.C
local M = {}

local TYPES = { i8 = 0, u8 = 1, i16 = 2, u16 = 3, i32 = 4, u32 = 5, f32 = 6, f64 = 7 }
local BYTES = { i8 = 1, u8 = 1, i16 = 2, u16 = 2, i32 = 4, u32 = 4, f32 = 4, f64 = 8 }
local BIG = 16
local int_list, double_list = ffi.typeof 'int[?]', ffi.typeof 'double[?]'

M.bytes = BYTES

local Samples = {}
Samples.__index = Samples

--- Opens a file of numbers. Owns it until :close() or collection.
---@param path string
function M.open(path)
  local f = C.mc_samples_open(path)
  if f == nil then lib.raise(3) end
  f = ffi.gc(f, C.mc_samples_free)
  local size = ffi.new 'int64_t[1]'
  lib.check(C.mc_samples_size(f, size), 3)
  return setmetatable({ _f = f, path = path, size = tonumber(size[0]) }, Samples)
end

--- Samples [first, first + count) (from 0) of channels (1-based positions) as f64 [#picks, count], times their factors.
---@param grid table { type = 'i16' and so on, big = bool, base = byte, channel_step = bytes, sample_step = bytes }
---@param picks integer[]
---@param first integer
---@param count integer
---@param scale? number[] one factor for each channel of the file
function Samples:read(grid, picks, first, count, scale)
  if not self._f then error(('samples: %s was closed; open it again'):format(self.path), 3) end
  local n = #picks
  local out = tensor.empty('read', { n, count }, 'f64', 3)
  local list, factors = int_list(n), double_list(n)
  for k, i in ipairs(picks) do list[k - 1], factors[k - 1] = i - 1, scale and scale[i] or 1 end
  lib.check(C.mc_samples_read(self._f, TYPES[grid.type] + (grid.big and BIG or 0), grid.base, grid.channel_step,
    grid.sample_step, list, n, first, count, factors,
    tensor.pointer(out), count), 3)
  return out
end

--- Gives the file back now.
function Samples:close()
  if self._f then C.mc_samples_free(ffi.gc(self._f, nil)) end
  self._f = nil
end

return M
