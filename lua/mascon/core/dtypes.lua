-- dtypes.lua - data types as values: what promotes to what, limits of numbers, kinds, conversion.
--
-- dtypes are strings ('f32'); the long names of the array API ('float32') mean the same. Promotion itself is C's
-- (mc_promote.c).
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local error = check.error
local methods = tensor.methods

local M = {}

--- Short name of a dtype given by name or by a tensor that has it.
local function name_of(fname, v, level)
  if tensor.is(v) then return v.dtype end
  return tensor.name[tensor.dtype_code(fname, v, level + 1)]
end

--- x in another dtype. Floats to integers truncate towards zero, complex to real drops the imaginary part, bool is "not
--- zero".
--- x: any dtype, any shape. dtype: name of the dtype wanted.
--- Options: copy (true): a new tensor even where nothing changes; false gives x itself then.
--- Result: tensor [x.shape] of dtype.
--- Source: Python array API standard 2023.12
---     mc.astype(mc.tensor{1.5, -1.5}, 'i32')  --> i32[2]@cpu { 1, -1 }
---@param x any
---@param dtype string
---@param opts? table
---@return any
function M.astype(x, dtype, opts)
  if not tensor.is(x) then error(('astype: operand is %s; give a tensor'):format(check.show(x)), 2) end
  local o = check.opts('astype', opts, { copy = { true, 'bool' }, device = { nil, 'string' } }, 3)
  local y = methods.to(x, { dtype = name_of('astype', dtype, 3), device = o.device })
  return o.copy and rawequal(y, x) and methods.copy(x) or y
end

--- dtype in which tensors, dtypes and numbers meet. Numbers are weak: they decide the kind only (an integer tensor with
--- 1.5 gives f64).
--- Arguments: one or more tensors, dtype names, numbers, booleans or complex numbers.
--- Result: the name of the dtype. An integer dtype with a float dtype gives the float dtype (the standard leaves it
--- open).
--- Source: Python array API standard 2023.12, type promotion
---     mc.result_type('u8', 'i8')  --> i16
---     mc.result_type(mc.tensor({1}, {dtype = 'f32'}), 2)  --> f32
---@return string
function M.result_type(...)
  local n = select('#', ...)
  if n == 0 then error('result_type: nothing given; name at least one tensor or dtype', 2) end
  local code, weak = nil, -1
  local RANK = { b = 0, u = 1, i = 1, f = 2, c = 3 }
  for k = 1, n do
    local v = select(k, ...)
    local w = type(v) == 'number' and (v == math.floor(v) and 1 or 2) or type(v) == 'boolean' and 0
      or tensor.is_complex(v) and 3
    if w then weak = math.max(weak, w)
    else
      local c = tensor.code[name_of('result_type', v, 3)]
      code = code and lib.C.mc_promote_types(code, c) or c
    end
  end
  if not code then return ({ [0] = 'bool', 'f64', 'f64', 'c128' })[weak] end
  local dt = tensor.name[code]
  if weak > RANK[tensor.kind[dt]] then
    if weak == 1 then return 'i64' end
    if weak == 2 then return 'f64' end
    return (dt == 'f64' or RANK[tensor.kind[dt]] < 2) and 'c128' or 'c64'
  end
  return dt
end

--- Whether a value of one dtype may become the other by promotion.
--- from: a tensor or a dtype. to: a dtype.
--- Result: a Lua boolean.
--- Source: Python array API standard 2023.12
---     mc.can_cast('i32', 'i64')  --> true
---     mc.can_cast('f64', 'f32')  --> false
---@param from any
---@param to string
---@return boolean
function M.can_cast(from, to)
  local goal = name_of('can_cast', to, 3)
  return M.result_type(name_of('can_cast', from, 3), goal) == goal
end

local FLOATS = {
  f16 = { bits = 16, eps = 2 ^ -10, max = 65504, smallest_normal = 2 ^ -14 },
  bf16 = { bits = 16, eps = 2 ^ -7, max = (2 - 2 ^ -7) * 2 ^ 127, smallest_normal = 2 ^ -126 },
  f32 = { bits = 32, eps = 2 ^ -23, max = (2 - 2 ^ -23) * 2 ^ 127, smallest_normal = 2 ^ -126 },
  f64 = { bits = 64, eps = 2 ^ -52, max = (2 - 2 ^ -52) * 2 ^ 1023, smallest_normal = 2 ^ -1022 },
}
local PART = { c64 = 'f32', c128 = 'f64' }

--- Limits of a float dtype (of the parts of a complex one).
--- type: a float or complex dtype, or a tensor that has it.
--- Result: a table { bits, eps (1 to the next number), max, min, smallest_normal, dtype }.
--- Source: Python array API standard 2023.12; IEEE 754-2019 table 3.5
---     mc.finfo('f32').eps == 2^-23  --> true
---@param type any
---@return table
function M.finfo(type)
  local dt = name_of('finfo', type, 3)
  local part = PART[dt] or dt
  local f = FLOATS[part]
  if not f then error(('finfo: %s is no float dtype; use iinfo'):format(dt), 2) end
  return { bits = f.bits, eps = f.eps, max = f.max, min = -f.max, smallest_normal = f.smallest_normal, dtype = part }
end

--- Limits of an integer dtype.
--- type: an integer dtype, or a tensor that has it.
--- Result: a table { bits, max, min, dtype }; those of i64 are boxed 64-bit integers.
--- Source: Python array API standard 2023.12
---     mc.iinfo('i16').max  --> 32767
---@param type any
---@return table
function M.iinfo(type)
  local dt = name_of('iinfo', type, 3)
  local kind = tensor.kind[dt]
  if kind ~= 'i' and kind ~= 'u' then error(('iinfo: %s is no integer dtype; use finfo'):format(dt), 2) end
  local bits = tensor.size[dt] * 8
  if bits == 64 then return { bits = 64, max = 0x7fffffffffffffffLL, min = -0x7fffffffffffffffLL - 1LL, dtype = dt } end
  if kind == 'u' then return { bits = bits, max = 2 ^ bits - 1, min = 0, dtype = dt } end
  return { bits = bits, max = 2 ^ (bits - 1) - 1, min = -2 ^ (bits - 1), dtype = dt }
end

local KINDS = {
  bool = 'b', ['signed integer'] = 'i', ['unsigned integer'] = 'u', integral = 'iu', ['real floating'] = 'f',
  ['complex floating'] = 'c', numeric = 'iufc',
}

--- Whether a dtype is of a kind.
--- dtype: a dtype or a tensor that has it. kind: 'bool', 'signed integer', 'unsigned integer', 'integral', 'real
--- floating', 'complex floating', 'numeric', a dtype, or a list of these.
--- Result: a Lua boolean.
--- Source: Python array API standard 2023.12
---     mc.isdtype('f32', 'real floating')  --> true
---     mc.isdtype('i8', {'bool', 'i16'})  --> false
---@param dtype any
---@param kind any
---@return boolean
function M.isdtype(dtype, kind)
  local dt = name_of('isdtype', dtype, 3)
  if type(kind) == 'table' and #kind == 0 then
    error('isdtype: the list of kinds is empty, or has names; give a kind or a list of them', 2)
  end
  for _, k in ipairs(type(kind) == 'table' and kind or { kind }) do
    local letters = KINDS[k]
    if k == 'bool' then letters = 'b' end
    if letters then
      if letters:find(tensor.kind[dt], 1, true) then return true end
    else
      local ok = type(k) == 'string' and (tensor.code[k] or tensor.long_names[k])
      if not ok then
        local names = {}
        for n in pairs(KINDS) do names[#names + 1] = n end
        table.sort(names)
        error(("isdtype: kind is %s; give a dtype or one of '%s'"):format(check.show(k), table.concat(names, "', '")),
          2)
      end
      if name_of('isdtype', k, 3) == dt then return true end
    end
  end
  return false
end

local BEYOND = { f16 = true, bf16 = true } -- dtypes that the standard does not name

--- What this library has, for code written against the array API: methods capabilities(), default_device(), devices(),
--- default_dtypes(), dtypes(kind) (those of the standard; f16 and bf16 are there as well). Under its Python name it is
--- mc['__array_namespace_info__'].
--- Result: a table of functions.
--- Source: Python array API standard 2023.12, inspection
---     mc.namespace_info().default_dtypes().integral  --> i64
---@return table
function M.namespace_info()
  return {
    capabilities = function() return { ['boolean indexing'] = true, ['data-dependent shapes'] = true } end,
    default_device = function() return 'cpu' end,
    devices = function() return { 'cpu' } end,
    default_dtypes = function()
      return { ['real floating'] = 'f64', ['complex floating'] = 'c128', integral = 'i64', indexing = 'i64' }
    end,
    dtypes = function(kind)
      local out = {}
      for name in pairs(tensor.code) do
        if not BEYOND[name] and (kind == nil or M.isdtype(name, kind)) then out[name] = name end
      end
      return out
    end,
  }
end

return M
