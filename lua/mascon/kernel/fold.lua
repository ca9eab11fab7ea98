-- fold.lua - a user's reduction over tensors: axes, dtypes, compiled code per combination of dtypes.
--
-- Brings the reduced axes to the end, as one, and calls the op of the reduction for these dtypes: a row that is added
-- when it is first asked for (mc_kernel.c), so that it takes part in compiled functions and maps like any other.
local mc = require 'mascon.array'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local tensor = require 'mascon.core.tensor'
local codegen = require 'mascon.compile.native.codegen'
local added = require 'mascon.kernel.added'
local reductions = require 'mascon.kernel.reduction'
local error = check.error

local M = {}

local shown = added.shown

--- Axes as a sorted list without repetition.
local function axes_of(name, x, axis, level)
  local list, seen = {}, {}
  if axis == nil then
    for i = 1, x.ndim do list[i] = i end
    return list
  end
  for _, a in ipairs(type(axis) == 'table' and axis or { axis }) do
    local k = a < 0 and a + x.ndim + 1 or a
    if k < 1 or k > x.ndim or k ~= math.floor(k) then
      error(('kernel %s: axis %s is not in 1..%d of %s'):format(name, tostring(a), x.ndim, shown(x)), level + 1)
    end
    if not seen[k] then list[#list + 1], seen[k] = k, true end
  end
  table.sort(list)
  return list
end

--- A function of the inputs and options (axis, keepdim).
---@param k table name, inputs, outputs
---@param spec table state, init, step, combine, finish
---@param opts table dtype
function M.make(k, spec, opts)
  local parts, made = reductions.parse(k, spec, 4), {}
  --- The row of the reduction for operands and results of these dtypes and a state of dtype row d.
  local function row_for(dtypes, d, results)
    local key = table.concat(dtypes, ',') .. '>' .. d[1] .. '>' .. table.concat(results, ',')
    if made[key] then return made[key] end
    local ok, source, bytes = pcall(reductions.source, k, parts, dtypes, d, results)
    if not ok then error((tostring(source):gsub('^[^\n]-:%d+: ', '')), 4) end
    local rules = { batch = 'leading', none = 'it is a reduction of your own; give its derivative with custom_vjp' }
    local row, why = added.row(key .. source,
      { 'kernel ' .. k.name, nin = #dtypes, nout = #results, dtypes = { d[1] }, rules = rules }, function(name)
        local native, handles = require 'mascon.compile.native', require 'mascon.compile.native.handles'
        local r
        local code, trouble = native.load(source, 'kernel ' .. k.name)
        if code then r, trouble = handles.reduction(code, 'k', bytes) end
        if not r then return nil, ('kernel %s: it needs a C compiler: %s'):format(k.name, trouble) end
        return handles.reduction_row(name, r, dtypes, results, reductions.device(k, parts, dtypes, d, results, bytes))
      end)
    if not row then error(why, 4) end
    made[key] = row
    return row
  end
  local CALL = { axis = { nil, 'any' }, keepdim = { false, 'bool' } }
  return function(...)
      local n, args = select('#', ...), { ... }
    local o = check.opts('kernel ' .. k.name, n > #k.inputs and args[n] or nil, CALL, 3)
    if n < #k.inputs or n > #k.inputs + 1 then
      error(('kernel %s: takes %d operand%s and options, and is given %d'):format(k.name, #k.inputs,
        #k.inputs == 1 and '' or 's', n), 2)
    end
    local xs, dtype, there = {}, nil, nil
    for i in ipairs(k.inputs) do there = there or tensor.is(args[i]) and args[i].device end
    for i, p in ipairs(k.inputs) do
      local x = args[i]
      if type(x) == 'number' then x = mc.tensor(x, { device = there or nil }) end
      if not tensor.is(x) then
        error(('kernel %s: operand %s is %s; give a tensor or a number'):format(k.name, p.name, check.show(args[i])), 2)
      end
      if p.dtype and x.dtype ~= p.dtype then x = x:to(p.dtype) end
      xs[i], dtype = x, dtype and tensor.promote_dtypes(dtype, x.dtype) or x.dtype
    end
    if #xs > 1 then xs = mc.broadcast_arrays(unpack(xs)) end
    local kind = tensor.kind[dtype]
    local d = codegen.by_name[opts.dtype or kind == 'c' and 'c128' or 'f64']
    if kind == 'c' and d.kind ~= 'c' then
      error(('kernel %s: operands are complex (%s) and the state is kept in %s; choose dtype = "c128"'):format(
        k.name, dtype, d[1]), 2)
    end
    local axes = axes_of(k.name, xs[1], o.axis, 2)
    local order, shape, kept, inside = {}, {}, {}, {}
    for _, a in ipairs(axes) do inside[a] = true end
    local length = 1
    for a = 1, xs[1].ndim do
      local size = xs[1].shape[a]
      if inside[a] then
        length = length * size
        if o.keepdim then shape[#shape + 1] = 1 end
      else
        order[#order + 1] = a
        shape[#shape + 1], kept[#kept + 1] = size, size
      end
    end
    for _, a in ipairs(axes) do order[#order + 1] = a end
    local dtypes, results = {}, {}
    kept[#kept + 1] = length
    local last = #axes == 1 and axes[1] == xs[1].ndim -- it is there already
    for i, x in ipairs(xs) do
      if not last then xs[i] = (x.ndim > 1 and x:permute_dims(order) or x):reshape(kept) end
      dtypes[i] = x.dtype
    end
    for i, p in ipairs(k.outputs) do
      results[i] = p.dtype or (kind == 'f' or kind == 'c') and dtype or d[1]
      if p.dtype == nil and kind == 'f' and d.kind ~= 'f' then results[i] = d[1] end
    end
    local outs = op.raw(row_for(dtypes, d, results)[1], xs, {}, #results)
    for i, y in ipairs(outs) do
      if #shape ~= y.ndim then outs[i] = y:reshape(shape) end
    end
    return unpack(outs)
  end
end

return M
