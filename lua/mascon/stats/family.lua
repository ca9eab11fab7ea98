-- family.lua - how a distribution becomes a table of functions: arguments, location and scale, support, domain of its
-- shapes.
--
-- A distribution states its standard form (location 0, scale 1) once; the functions made here take tensors or numbers
-- that broadcast, with location and scale as options. Holds the call rule of cdf, sf, ppf, isf, pdf and kin.
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local check = require 'mascon.core.check'
local methods, F, error = tensor.methods, op.functions, check.error
local M = {}

local CONTINUOUS = { loc = { 0, 'number | tensor' }, scale = { 1, 'number | tensor' } }
local DISCRETE = { loc = { 0, 'number | tensor' } }

--- A real floating operand: numbers stay numbers where the op takes them, integers become f64.
local function real(fname, what, v, level)
  if type(v) == 'number' then return v end
  if v == nil then error(('%s: %s is missing; give a tensor or a number'):format(fname, what), level + 1) end
  v = op.operand(fname, v, level + 1)
  local kind = tensor.kind[v.dtype]
  if kind == 'c' then error(('%s: %s is %s; give real numbers'):format(fname, what, tensor.describe(v)), level + 1) end
  return kind == 'f' and v or methods.to(v, 'f64')
end

--- Whether a number or tensor may be another number than v.
local function differs(x, v) return type(x) ~= 'number' or x ~= v end

--- The dtype of the floating tensors of a list.
local function dtype_of(list)
  local dtype
  for _, v in ipairs(list) do
    if tensor.is(v) and tensor.kind[v.dtype] == 'f' then
      dtype = dtype and tensor.promote_dtypes(dtype, v.dtype) or v.dtype
    end
  end
  return dtype or 'f64'
end

local function both(a, b) return a and (b and F.logical_and(a, b) or a) or b end

--- Condition that every shape is in its domain; nil when nothing can be wrong.
local function valid(d, shapes, scale)
  local ok
  if d.valid then ok = d.valid(unpack(shapes)) end
  if scale ~= nil and differs(scale, 1) then ok = both(ok, F.gt(scale, 0)) end
  return ok
end

local function masked(ok, y)
  if ok == nil then return y end
  return F.where(ok, y, 0 / 0)
end

-- kinds of functions: of a value, of a probability
local OF_VALUE = { pdf = 'density', logpdf = 'density', pmf = 'density', logpmf = 'density', cdf = 'cdf', sf = 'sf',
  logcdf = 'cdf', logsf = 'sf' }
local OF_PROBABILITY = { ppf = true, isf = true }

--- The function `kind` of distribution d: f(x, shape1, .., shapeN, opts).
local function make(d, kind)
  local fname, n = ('stats.%s.%s'):format(d.name, kind), #d.shapes
  local core = d[kind]
  local spec = d.discrete and DISCRETE or CONTINUOUS
  return function(...)
    local given, opts = select('#', ...), nil
    local args = { ... }
    if given > n + 1 then
      opts = args[n + 2]
      if given > n + 2 then error(('%s: takes %d arguments and options, got %d'):format(fname, n + 1, given), 2) end
    end
    local o = check.opts(fname, opts, spec, 3)
    local shapes = {}
    for k = 1, n do
      if type(args[k + 1]) == 'table' and not tensor.is(args[k + 1]) and next(args[k + 1]) ~= nil
        and args[k + 1][1] == nil then
        error(('%s: %s is missing; the arguments are %s and options'):format(fname, d.shapes[k],
          'x, ' .. table.concat(d.shapes, ', ')), 2)
      end
      shapes[k] = real(fname, d.shapes[k], args[k + 1], 2)
    end
    local x = real(fname, OF_PROBABILITY[kind] and 'the probability' or 'the value', args[1], 2)
    local loc, scale = o.loc, d.discrete and 1 or o.scale
    local device = tensor.shared_device { x, loc, scale, unpack(shapes) }
    if device ~= 'cpu' then -- numbers go there, in the dtype of the tensors
      local dtype = dtype_of { x, loc, scale, unpack(shapes) }
      local function there(v)
        return type(v) == 'number' and tensor.moved(op.from_table({ v }, dtype):reshape {},
          tensor.device_number(fname, device, 3), 3) or v
      end
      x = there(x)
      for k = 1, n do shapes[k] = there(shapes[k]) end
      if differs(scale, 1) then scale = there(scale) end
    end
    local ok = valid(d, shapes, scale)
    if type(x) == 'number' then -- a tensor among the shapes decides the dtype; a number alone is f64
      x = op.operand(fname, x, 2)
    end
    if OF_PROBABILITY[kind] then
      local y = core(x, unpack(shapes))
      y = F.where(F.logical_and(F.ge(x, 0), F.le(x, 1)), y, 0 / 0)
      if differs(scale, 1) then y = F.multiply(y, scale) end
      if differs(loc, 0) then y = F.add(y, loc) end
      return masked(ok, y)
    end
    local z = x
    if differs(loc, 0) then z = F.subtract(z, loc) end
    if differs(scale, 1) then z = F.divide(z, scale) end
    local what = OF_VALUE[kind]
    local low, high
    if d.support then low, high = d.support(unpack(shapes)) end
    local y
    if what == 'density' then
      y = core(z, unpack(shapes))
      local none = (kind == 'logpdf' or kind == 'logpmf') and -1 / 0 or 0
      if d.discrete then
        y = F.where(F.logical_and(F.eq(F.floor(z), z), F.isfinite(z)), y, F.where(F.isnan(z), 0 / 0, none))
      end
      if low then y = F.where(F.lt(z, low), none, y) end
      if high then y = F.where(F.gt(z, high), none, y) end
      if differs(scale, 1) then
        if kind == 'logpdf' then y = F.subtract(y, F.log(scale)) else y = F.divide(y, scale) end
      end
    else
      if d.discrete then z = F.floor(z) end
      y = core(z, unpack(shapes))
      local log = kind == 'logcdf' or kind == 'logsf'
      local zero, one = log and -1 / 0 or 0, log and 0 or 1
      if what == 'sf' then zero, one = one, zero end
      if low then y = F.where(F.lt(z, low), zero, y) end
      if high then y = F.where(F.ge(z, high), one, y) end
    end
    return masked(ok, y)
  end
end

--- The public table of a distribution. d: name, shapes (names), standard forms cdf, sf, ppf, isf and pdf, logpdf (pmf,
--- logpmf) as functions of (z, shape1, ...); support(shapes) -> low, high or nil; valid(shapes) -> condition. What is
--- missing follows: logcdf and logsf are logarithms.
---@param d table
---@return table
function M.distribution(d)
  -- near 1 a probability has no digits left for its logarithm: there the other tail has them
  local function log_of(f, rest)
    return function(...)
      local y = f(...)
      return F.where(F.gt(y, 0.5), F.log1p(-rest(...)), F.log(y))
    end
  end
  d.logcdf = d.logcdf or log_of(d.cdf, d.sf)
  d.logsf = d.logsf or log_of(d.sf, d.cdf)
  local density, log_density = d.discrete and 'pmf' or 'pdf', d.discrete and 'logpmf' or 'logpdf'
  if not d[density] then
    local f = d[log_density]
    d[density] = function(...) return F.exp(f(...)) end
  end
  local out = {}
  for _, kind in ipairs { 'cdf', 'sf', 'logcdf', 'logsf', 'ppf', 'isf', density, log_density } do
    if d[kind] then out[kind] = make(d, kind) end
  end
  return out
end

return M
