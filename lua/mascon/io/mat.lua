-- mat.lua - MAT-files: variables, structs and cells of MATLAB as Lua values and tensors.
--
-- Holds the handle of libmascon's reader and the way from its tree of arrays to Lua. Sizes are MATLAB's; tensors have
-- the same axes in the same order. Files of version 7.3 are HDF5 and belong to mat73.lua, which gives the same
-- interface. Binding module: touches the FFI for the handle and its arrays.
local ffi = require 'ffi'
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local text = require 'mascon.base.text'
local error = check.error
local C = lib.C
local M = {}

local CELL, STRUCT, OBJECT, CHAR, DOUBLE, U64 = 1, 2, 3, 4, 6, 15
local about_t, one_t = ffi.typeof 'int64_t[16]', ffi.typeof 'int64_t[2]'
local double_list, int_list = ffi.typeof 'double[?]', ffi.typeof 'int[?]'

local File = {}
File.__index = File

local SIGNATURE = '\137HDF\r\n\26\n'

--- Whether HDF5 begins after MATLAB's own header, or at once.
local function is_hdf5(path)
  local f = io.open(path, 'rb')
  local head = f and f:read(520) or ''
  if f then f:close() end
  return head:sub(513) == SIGNATURE or head:sub(1, 8) == SIGNATURE
end

--- Opens a MAT-file; the numbers of variables that are not packed stay in the file. Owns it until :close() or
--- collection.
---@param path string
---@return table file with variables (name = array) and names, in order
function M.open(path)
  if is_hdf5(path) then
    local f = require('mascon.io.mat73').open(path)
    return f
  end
  local h = C.mc_mat_open(path)
  if h == nil then lib.raise(3) end
  local f = setmetatable({ _h = ffi.gc(h, C.mc_mat_free), path = path, variables = {}, names = {}, _fields = {} }, File)
  local one = one_t()
  lib.check(C.mc_mat_info(h, one), 3)
  for k = 0, tonumber(one[0]) - 1 do
    lib.check(C.mc_mat_variable(h, k, one), 3)
    local i, name = tonumber(one[0]), C.mc_mat_name(h, one[0])
    name = name ~= nil and ffi.string(name) or ''
    if name ~= '' and not f.variables[name] then
      f.names[#f.names + 1] = name
      f.variables[name] = i
    end
  end
  return f
end

local function handle(f)
  if not f._h then error(('mat: %s was closed; open it again'):format(f.path), 4) end
  return f._h
end

--- Gives the file back now.
function File:close()
  if self._h then C.mc_mat_free(ffi.gc(self._h, nil)) end
  self._h = nil
end

--- What array i is: { kind = 'cell' | 'struct' | 'char' | 'number' | 'other', numel, shape, children, readable }.
function File:array(i)
  local about = about_t()
  lib.check(C.mc_mat_array(handle(self), i, about), 4)
  local class = tonumber(about[0])
  local a = { numel = tonumber(about[1]), children = tonumber(about[3]), readable = about[4] >= 0,
    numbers = tonumber(about[5]), utf8 = about[6] ~= 0, shape = {}, fields = tonumber(about[2]) }
  a.kind = class == CELL and 'cell' or (class == STRUCT or class == OBJECT) and 'struct' or class == CHAR and 'char'
    or class >= DOUBLE and class <= U64 and 'number' or 'other'
  for k = 1, tonumber(about[7]) do a.shape[k] = tonumber(about[7 + k]) end
  return a
end

--- Child k (1-based) of a cell or struct.
function File:child(i, k)
  local one = one_t()
  lib.check(C.mc_mat_child(handle(self), i, k - 1, one), 4)
  return tonumber(one[0])
end

--- Names of the fields of a struct, in order.
function File:fields(i)
  local out = self._fields[i]
  if out then return out end
  out = {}
  for k = 1, self:array(i).fields do
    local name = C.mc_mat_field(handle(self), i, k - 1)
    out[k] = ffi.string(name)
  end
  self._fields[i] = out
  return out
end

--- Field `name` of element `at` (default 1) of a struct as an array, or nil.
function File:get(i, name, at)
  if not i then return nil end
  local a = self:array(i)
  if a.kind ~= 'struct' or (at or 1) > a.numel then return nil end
  for k, field in ipairs(self:fields(i)) do
    if field == name then return self:child(i, ((at or 1) - 1) * a.fields + k) end
  end
end

local function codes(f, i, n)
  local list = double_list(math.max(n, 1))
  if n > 0 then lib.check(C.mc_mat_numbers(handle(f), i, 0, n, list), 5) end
  return list
end

local function character(code)
  if code < 0x80 then return string.char(code) end
  if code < 0x800 then return string.char(192 + math.floor(code / 64), 128 + code % 64) end
  if code < 0x10000 then
    return string.char(224 + math.floor(code / 4096), 128 + math.floor(code / 64) % 64, 128 + code % 64)
  end
  return string.char(240 + math.floor(code / 262144) % 8, 128 + math.floor(code / 4096) % 64,
    128 + math.floor(code / 64) % 64, 128 + code % 64)
end

--- Text of a char array as UTF-8, its first row when there are several; nil for another kind.
function File:text(i)
  if not i then return nil end
  local a = self:array(i)
  if a.kind ~= 'char' then return nil end
  if a.numel == 0 then return '' end
  local n, rows = a.numbers, a.shape[1] or 1
  local list, out = codes(self, i, n), {}
  if a.utf8 then
    for k = 0, n - 1 do out[k + 1] = string.char(list[k]) end
    return text.utf8(table.concat(out))
  end
  local step = rows > 1 and rows or 1
  for k = 0, n - 1, step do
    local code = list[k]
    if code ~= code or code < 0 or code > 0x10FFFF then code = 0xFFFD end
    out[#out + 1] = character(code)
  end
  return table.concat(out)
end

--- First number of an array, nil when it holds none.
function File:number(i)
  if not i then return nil end
  local a = self:array(i)
  if a.kind ~= 'number' or a.numel == 0 or not a.readable then return nil end
  return codes(self, i, 1)[0]
end

--- Numbers of an array as a tensor f64 with MATLAB's axes.
function File:tensor(i)
  local a = self:array(i)
  local sizes, order = {}, {}
  for k = 1, #a.shape do sizes[k], order[k] = a.shape[#a.shape + 1 - k], #a.shape + 1 - k end
  local t = tensor.empty('mat', sizes, 'f64', 4)
  if a.numel > 0 then lib.check(C.mc_mat_numbers(handle(self), i, 0, a.numel, tensor.pointer(t)), 4) end
  return #sizes > 1 and t:permute_dims(order) or t
end

--- Samples on a grid within array i, f64 [#picks, count]: base and steps in numbers, picks 1-based, first from 0;
--- scale: one factor for all.
function File:samples(i, base, channel_step, sample_step, picks, first, count, scale)
  local n = #picks
  local out = tensor.empty('mat', { n, count }, 'f64', 4)
  local list, factors = int_list(n), double_list(n)
  for k, c in ipairs(picks) do list[k - 1], factors[k - 1] = c - 1, scale end
  lib.check(C.mc_mat_samples(handle(self), i, base, channel_step, sample_step, list, n, first, count, factors,
    tensor.pointer(out), count), 4)
  return out
end

--- Array i as a Lua value: a number, a tensor, a string, a list (cells, arrays of structs) or a table (a struct); nil
--- for what cannot be read.
function File:value(i)
  local a = self:array(i)
  if a.kind == 'char' then return self:text(i) end
  if a.kind == 'number' then
    if not a.readable then return nil end
    return a.numel == 1 and self:number(i) or self:tensor(i)
  end
  local out = {}
  if a.kind == 'cell' then
    for k = 1, a.children do out[k] = self:value(self:child(i, k)) end
    return out
  end
  if a.kind ~= 'struct' then return nil end
  for at = 1, a.numel do
    local one_ = {}
    for k, name in ipairs(self:fields(i)) do one_[name] = self:value(self:child(i, (at - 1) * a.fields + k)) end
    out[at] = one_
  end
  return a.numel == 1 and out[1] or out
end

--- A MAT-file read whole, as a table of its variables.
---@param path string
function M.load(path)
  local f, out = M.open(path), {}
  for _, name in ipairs(f.names) do out[name] = f:value(f.variables[name]) end
  f:close()
  return out
end

return M
