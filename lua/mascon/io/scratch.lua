-- scratch.lua - rows larger than memory, written once and read stretch by stretch.
--
-- Holds the handle of a nameless file that goes with the process. Binding module: touches the FFI.
local ffi = require 'ffi'
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local C = lib.C
local M = {}

local Scratch = {}
Scratch.__index = Scratch

--- Room on disk for rows of n elements in runs of `run` elements. Owns it until :close() or collection.
---@param rows integer
---@param n integer
---@param run integer
---@param dtype string
---@param folder? string that of TMPDIR, else /var/tmp, else /tmp
function M.new(rows, n, run, dtype, folder)
  local s = C.mc_scratch_new(folder, tensor.code[dtype], rows, n, run)
  if s == nil then lib.raise(3) end
  return setmetatable({ _s = ffi.gc(s, C.mc_scratch_free), rows = rows, n = n, run = run, dtype = dtype }, Scratch)
end

--- Rows x [..., n] as rows first, first + 1, ... (from 1).
---@param first integer
---@param x any
function Scratch:put(first, x)
  if not x:is_contiguous() then x = x:contiguous() end
  lib.check(C.mc_scratch_put(self._s, first - 1, x), 3)
end

--- Elements first .. last (from 1; first is 1 more than a multiple of the run) of all rows, in the shape given with
--- last - first + 1 as its last size.
---@param first integer
---@param last integer
---@param shape integer[] sizes before the last
function Scratch:get(first, last, shape)
  local sizes = { unpack(shape) }
  sizes[#sizes + 1] = last - first + 1
  local out = tensor.empty('scratch', sizes, self.dtype, 3)
  lib.check(C.mc_scratch_get(self._s, first - 1, out), 3)
  return out
end

--- Gives the room back now.
function Scratch:close()
  if self._s then C.mc_scratch_free(ffi.gc(self._s, nil)) end
  self._s = nil
end

return M
