-- draw.lua - the call of a random op: sizes, dtype, parameters that are numbers or tensors, source.
--
-- Holds the signature of all distributions, f(sizes, opts) or f{ sizes..., name = value }: sizes are those of the
-- result, parameters are options by name and may be tensors or nested tables, which broadcast to the sizes (and give
-- them where none are named).
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local place = require 'mascon.core.place'
local lib = require 'mascon.core.ffi'
local source = require 'mascon.random.source'
local keys = require 'mascon.random.key'
local error = check.error
local is, CODE, C = tensor.is, tensor.code, lib.C
local M = {}

--- Sizes and options of f(sizes, opts): numbers, a list, one table of both.
---@return integer[] sizes
---@return table given
function M.arguments(fname, sizes, opts, level)
  local list, given = {}, {}
  if type(sizes) == 'number' then sizes = { sizes } end
  if sizes ~= nil and (type(sizes) ~= 'table' or is(sizes)) then
    error(('%s: the sizes are %s; give a table, as in mc.%s{ 2, 3 }'):format(fname, check.show(sizes), fname),
      level + 1)
  end
  for k, v in pairs(sizes or {}) do
    if type(k) == 'number' then list[k] = v else given[k] = v end
  end
  if opts ~= nil and type(opts) ~= 'table' then
    error(('%s: options are %s; give a table'):format(fname, check.show(opts)), level + 1)
  end
  for k, v in pairs(opts or {}) do given[k] = v end
  return list, given
end

--- Options of a random function, checked: a result that is given says where it is.
---@param given table?
---@param spec table of M.spec
function M.options(fname, given, spec, level)
  local o = check.opts(fname, given, spec, level + 1)
  if o.out and is(o.out) and not (given and given.device) then o.device = o.out.device end
  return o
end

--- Number of the device that the options name.
---@param device string? option device
---@param out mascon.Tensor? option out, which must be there
function M.there(fname, device, out, level)
  local number = tensor.device_number(fname, device, level + 1)
  if number ~= 0 and out and out._device ~= number then
    error(('%s: out is on %s and device is %s; leave device out'):format(fname, out.device,
      tensor.device_name(number)), level + 1)
  end
  return number
end

--- What was drawn, on the device that the options name: numbers are drawn on the CPU, so that they are the same
--- everywhere.
---@param device string? option device
---@param out mascon.Tensor? option out, which t then is
function M.placed(fname, t, device, out, level)
  local number = M.there(fname, device, out, level + 1)
  return number == 0 and t or tensor.moved(t, number, level + 1)
end

--- The device of a call, by its number: the one it names, else that of its key; nil: the CPU.
local function place_of(fname, given, o, key, level)
  if o.out or given.device or o.device ~= 'cpu' then
    local number = tensor.device_number(fname, o.device, level + 1)
    return number ~= 0 and number or nil
  end
  return keys.place(key)
end

--- Takes the option device out of what was given, so that parts of a composed draw stay on the CPU.
function M.device_of(fname, given, level)
  local device = given.device
  if device ~= nil and type(device) ~= 'string' then tensor.device_number(fname, device, level + 1) end
  given.device = nil
  local default = place.taken()
  return device or not given.out and default or nil
end

--- Options of a random function: its own beside those of the source, dtype, device and out.
function M.spec(own)
  local spec = { dtype = { nil, 'string' }, device = place.OPTION, out = { nil, 'tensor' } }
  for k, v in pairs(source.OPTS) do spec[k] = v end
  for k, v in pairs(own or {}) do spec[k] = v end
  return spec
end

--- Broadcast shape of the parameters that are tensors.
local function common_shape(fname, list, per, level)
  local shape = {}
  for j, t in ipairs(list) do
    local own = { unpack(tensor.shape_of(t)) }
    if per[j] then own[#own] = nil end
    for i = 0, #own - 1 do
      local at, n = i, own[#own - i]
      local have = shape[at + 1]
      if have == nil or have == 1 then shape[at + 1] = n
      elseif n ~= 1 and n ~= have then
        local names = {}
        for k, x in ipairs(list) do names[k] = tensor.describe(x) end
        error(('%s: parameters %s do not broadcast; make their shapes agree'):format(fname,
          table.concat(names, ' and ')), level + 1)
      end
    end
  end
  local out = {}
  for i = 1, #shape do out[i] = shape[#shape + 1 - i] end
  return out
end

local RANGE = { u8 = { 0, 255 }, i8 = { -128, 127 }, i16 = { -32768, 32767 }, i32 = { -2147483648, 2147483647 } }

--- Bounds of whole numbers must fit the dtype they are wanted in.
local function in_range(fname, dtype, row, o, named, level)
  for _, p in ipairs(row.params) do
    local v = named and named[p[1]] or o[p[1]]
    if type(v) == 'table' then v = op.from_table(v) end
    local low, high = v, v
    if is(v) and v:numel() > 0 then low, high = op.functions.min(v):item(), op.functions.max(v):item() end
    if not is(low) and (low < RANGE[dtype][1] or high > RANGE[dtype][2]) then
      error(('%s: %s reaches %.17g, dtype %s ends at %d; choose a wider dtype'):format(fname, p[1], tonumber(low
        < RANGE[dtype][1] and low or high), dtype, low < RANGE[dtype][1] and RANGE[dtype][1] or RANGE[dtype][2]), level)
    end
  end
end

local specs = {}

local function drawn(out, tensors, id, P) return lib.op_list(id, out, tensors, P) end

--- Draws of the distribution of a row. `fname` is for messages; named: parameters that stand elsewhere (mc.randint).
---@param row table row of the op table
---@param fname string
---@param sizes table|integer|nil
---@param opts table|nil
---@param extra? table { named = values of parameters, width = per element, part = of the source }
function M.draw(row, fname, sizes, opts, extra, level)
  local list, given = M.arguments(fname, sizes, opts, level)
  local named = extra and extra.named
  local spec = specs[row]
  if not spec then
    spec = M.spec()
    for _, p in ipairs(row.params) do spec[p[1]] = { p[3], 'any' } end
    specs[row] = spec
  end
  local o = M.options(fname, given, spec, level + 1)
  local name = o.dtype and tensor.name[tensor.dtype_code(fname, o.dtype, level + 1)]
    or o.out and is(o.out) and o.out.dtype or row.result or 'f64'
  local offered = false
  for _, d in ipairs(row.dtypes) do offered = offered or d == name end
  if not offered then
    local either = #row.dtypes > 1 and table.concat(row.dtypes, ', ', 1, #row.dtypes - 1) .. ' or '
      .. row.dtypes[#row.dtypes] or row.dtypes[1]
    error(('%s: dtype %s is not drawn; choose %s, then convert with :to'):format(fname, name, either), level)
  end
  local tensors, per, mask, whole = {}, {}, 0, row.params[1] and row.params[1][2] == 'int'
  local scalars = {}
  for j, p in ipairs(row.params) do
    local v = o[p[1]]
    if named and named[p[1]] ~= nil then v = named[p[1]] end
    if v == nil then
      error(('%s: %s is not given; it is a number or a tensor, %s = ...'):format(fname, p[1], p[1]), level)
    end
    local kind = type(v)
    if kind == 'table' and not tensor.is_complex(v) then v = op.from_table(v, whole and 'i64' or nil) end
    if is(v) then
      tensors[#tensors + 1], mask = v, mask + 2 ^ (j - 1)
      per[#tensors] = extra and extra.width and j == 2
    elseif kind == 'number' or whole and kind == 'cdata' and tonumber(v) then
      if whole and kind == 'number' and v ~= math.floor(v) then
        error(('%s: %s is %.17g; it must be a whole number'):format(fname, p[1], v), level)
      end
      scalars[j] = v
    else
      error(('%s: %s is %s; give a number or a tensor'):format(fname, p[1], check.show(v)), level)
    end
  end
  if whole and name ~= 'i64' then in_range(fname, name, row, o, named, level + 1) end
  local key, stream = source.resolve(fname, o)
  if #list == 0 and mask ~= 0 then list = common_shape(fname, tensors, per, level) end
  local n, d = tensor.dims(fname, list, level + 1)
  local P = lib.params()
  P.naxes = n
  for i = 0, n - 1 do P.axes[i] = d[i] end
  tensor.give_dims(d)
  P.dtype = CODE[name]
  -- within a recording nothing moves: it is drawn from the words of the key where these are
  local number = place_of(fname, given, o, key, level)
  local there = number and C.mc_record_active() ~= 0 and number or nil
  if there then for i, t in ipairs(tensors) do tensors[i] = tensor.moved(t, there, level + 1) end end
  tensors[#tensors + 1] = source.pack(P, key, stream, extra and extra.part, there)
  P.i[4], P.i[5], P.i[10], P.i[11] = 0, mask, extra and extra.width or 0, #row.params
  for j in ipairs(row.params) do
    if whole then P.i[5 + j] = scalars[j] or 0 else P.d[j - 1] = scalars[j] or 0 end
  end
  local bytes = tensor.size[name] * (extra and extra.width or 1)
  for i = 1, #list do bytes = bytes * list[i] end
  local out = op.run(fname, level, o, bytes, drawn, tensors, row.id, P)
  lib.give(P)
  if number then out = M.placed(fname, out, tensor.device_name(number), o.out, level) end
  return out
end

return M
