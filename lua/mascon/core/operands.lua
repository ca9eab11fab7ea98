-- operands.lua - values of Lua as operands: numbers, truth values, complex numbers, boxed integers, lists.
--
-- They have no device. A number serves on every one; what else is made of them goes where the tensors beside it are.
local bit = require 'bit'
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local error = check.error
local C = lib.C
local is, make = tensor.is, tensor.make
local CODE, methods = tensor.code, tensor.methods
local M = {}

local WEAK = 256 -- flag of a number
M.WEAK = WEAK

--- Refuses an object that says what it is, such as a module of a network, where a list would serve.
local function no_object(fname, v, level)
  local meta = getmetatable(v)
  if type(meta) ~= 'table' or not meta.__tostring then return end
  for k in next, v do
    if type(k) == 'string' then
      error(('%s: an operand is an object, %s; give a tensor%s'):format(fname, tostring(v):match '[^\n]*',
        meta.__call and ', such as the result of its call' or ' or a list of numbers'), level + 1)
    end
  end
end

--- A Lua number, boolean or complex as a 0-d tensor, weak in promotion and at home on every device.
local function scalar(fname, v, level)
  local t
  if type(v) == 'number' then
    t = make(level + 1, 8, C.mc_create, CODE.f64, 0, nil)
    C.mc_fill(t, v, 0)
  elseif type(v) == 'boolean' then
    t = make(level + 1, 8, C.mc_create, CODE.bool, 0, nil)
    C.mc_fill(t, v and 1 or 0, 0)
  elseif tensor.is_complex(v) then
    t = make(level + 1, 16, C.mc_create, CODE.c128, 0, nil)
    C.mc_fill(t, v.re, v.im)
  elseif type(v) == 'table' then
    no_object(fname, v, level + 1)
    return M.from_table(v)
  elseif type(v) == 'cdata' and tonumber(v) then -- a boxed 64-bit integer
    t = make(level + 1, 8, C.mc_create, CODE.i64, 0, nil)
    tensor.pointer(t)[0] = v
    return t
  else
    error(('%s: operand is %s; give a tensor or a number%s'):format(fname, check.show(v),
      v == nil and methods[fname] and (' (a method is called with a colon, x:%s(...))'):format(fname) or ''), level + 1)
  end
  t._flags = WEAK
  return t
end
M.scalar = scalar

--- Any operand as a tensor.
function M.one(fname, v, level)
  if is(v) then return v end
  return scalar(fname, v, level + 1)
end

--- An operand that stands beside another one: what is made of a value of Lua goes to the device of that, where a number
--- does not serve there by itself.
---@param strong? boolean numbers do not
local function beside(fname, v, other, level, strong)
  if is(v) then return v end
  local t = scalar(fname, v, level + 1)
  if strong then t._flags = bit.band(t._flags, -1 - WEAK) end
  if t._flags == WEAK or not is(other) or other._device == 0 then return t end
  return tensor.moved(t, other._device, level + 1)
end
M.beside = beside

--- The operands of a list, each beside the first that lies on a device.
---@param n integer of them
function M.list(fname, list, n, level, strong)
  local first
  for i = 1, n do if is(list[i]) and (not first or first._device == 0) then first = list[i] end end
  for i = 1, n do list[i] = beside(fname, list[i], first, level + 1, strong) end
  return list
end

return M
