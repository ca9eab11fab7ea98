-- pool.lua - pooling as modules, and pooling to a size that is given.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local module = require 'mascon.nn.module'
local functions = require 'mascon.nn.pool'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

local SIZES = 'integer >= 1 | table'
local MAX = { stride = { nil, SIZES }, padding = { 0, 'integer >= 0 | table' }, ceil_mode = { false, 'bool' } }
local AVG = { stride = MAX.stride, padding = MAX.padding, ceil_mode = MAX.ceil_mode,
  count_include_pad = { true, 'bool' } }

local function text(v) return type(v) == 'table' and '{' .. table.concat(v, ', ') .. '}' or tostring(v) end

local function windows(name, f, spec)
  local Pool = module.Module(name)
  function Pool:init(size, opts)
    rawset(self, 'how', check.opts('nn.' .. name, opts, spec, 4))
    if type(size) ~= 'table' then check.arg('nn.' .. name, 'size', size, 'integer >= 1', 4) end
    rawset(self, 'size', size)
  end
  function Pool:forward(x) return f(x, self.size, self.how) end
  function Pool:describe() return text(self.size) end
  return Pool
end
local Max1, Max2 = windows('MaxPool1d', functions.max_pool1d, MAX), windows('MaxPool2d', functions.max_pool2d, MAX)
local Avg1, Avg2 = windows('AvgPool1d', functions.avg_pool1d, AVG), windows('AvgPool2d', functions.avg_pool2d, AVG)
local Max3, Avg3 = windows('MaxPool3d', functions.max_pool3d, MAX), windows('AvgPool3d', functions.avg_pool3d, AVG)

--- nn.max_pool1d as a module.
---@param size integer|table
---@param opts? table stride (size) · padding (0) · ceil_mode (false)
---@return mascon.Module
---     mc.nn.MaxPool1d(2)(mc.tensor{ { { 1, 3, 5, 4 } } })  --> f64[1,1,2]@cpu { { { 3, 5 } } }
function M.MaxPool1d(size, opts) return Max1(size, opts) end
--- nn.max_pool2d as a module.
---@param size integer|table
---@param opts? table stride (size) · padding (0) · ceil_mode (false)
---@return mascon.Module
---     mc.nn.MaxPool2d(2)(mc.ones{ 1, 1, 4, 4 }).shape  --> {1, 1, 2, 2}
function M.MaxPool2d(size, opts) return Max2(size, opts) end
--- nn.avg_pool1d as a module.
---@param size integer|table
---@param opts? table stride (size) · padding (0) · count_include_pad (true) · ceil_mode (false)
---@return mascon.Module
---     mc.nn.AvgPool1d(2)(mc.tensor{ { { 1, 3, 5, 7 } } })  --> f64[1,1,2]@cpu { { { 2, 6 } } }
function M.AvgPool1d(size, opts) return Avg1(size, opts) end
--- nn.avg_pool2d as a module.
---@param size integer|table
---@param opts? table stride (size) · padding (0) · count_include_pad (true) · ceil_mode (false)
---@return mascon.Module
---     mc.nn.AvgPool2d(2)(mc.ones{ 1, 1, 4, 4 }).shape  --> {1, 1, 2, 2}
function M.AvgPool2d(size, opts) return Avg2(size, opts) end
--- nn.max_pool3d as a module.
---@param size integer|table
---@param opts? table stride (size) · padding (0) · ceil_mode (false)
---@return mascon.Module
---     mc.nn.MaxPool3d(2)(mc.ones{ 1, 1, 4, 4, 2 }).shape  --> {1, 1, 2, 2, 1}
function M.MaxPool3d(size, opts) return Max3(size, opts) end
--- nn.avg_pool3d as a module.
---@param size integer|table
---@param opts? table stride (size) · padding (0) · count_include_pad (true) · ceil_mode (false)
---@return mascon.Module
---     mc.nn.AvgPool3d(2)(mc.ones{ 1, 1, 4, 4, 2 }).shape  --> {1, 1, 2, 2, 1}
function M.AvgPool3d(size, opts) return Avg3(size, opts) end

-- ---------------------------------------------------------------- to a size

--- First and last place (from 1) of window i of `out` over n places.
local function bounds(i, n, out) return math.floor((i - 1) * n / out) + 1, math.ceil(i * n / out) end

local FEW = 16 -- places that are compared one by one
--- The largest elements along an axis; the first of equal ones gets the gradient, which F.max would divide.
local function first_largest(x, axis)
  local n, key, best = x.shape[axis], {}, nil
  if n > FEW then return F.take_along_axis(x, F.argmax(x, { axis, keepdim = true }), { axis = axis }) end
  for k = 1, x.ndim do key[k] = { 1, -1 } end
  for i = 1, n do
    key[axis] = { i, i }
    local t = x[key]
    best = best and F.where(F.logical_or(F.le(t, best), F.ne(best, best)), best, t) or t
  end
  return best
end

--- One axis to a number of windows: means as a product with weights, maxima window by window.
local function along(x, axis, out, how)
  local n = x.shape[axis]
  if n == out then return x end
  if how == 'avg' then
    local w = create.zeros { out, n }
    for i = 1, out do
      local a, b = bounds(i, n, out)
      w[{ i, { a, b } }] = 1 / (b - a + 1)
    end
    w = methods.to(w, { dtype = x.dtype, device = x.device })
    if axis == x.ndim then return methods.matmul(x, w.mT) end
    if axis == x.ndim - 1 then return methods.matmul(w, x) end
    return methods.moveaxis(methods.matmul(methods.moveaxis(x, axis, -1), w.mT), -1, axis)
  end
  if n % out == 0 then
    local apart, joined = {}, {}
    for k = 1, x.ndim do apart[k < axis and k or k + 1], joined[k] = x.shape[k], x.shape[k] end
    apart[axis], apart[axis + 1], joined[axis] = out, n / out, out
    return methods.reshape(first_largest(methods.reshape(x, apart), axis + 1), joined)
  end
  local parts, key = {}, {}
  for k = 1, x.ndim do key[k] = { 1, -1 } end
  for i = 1, out do
    key[axis] = { bounds(i, n, out) }
    parts[i] = first_largest(x[key], axis)
  end
  return F.concat(parts, axis)
end

local function adaptive(name, n, how)
  local Pool = module.Module(name)
  local fname = 'nn.' .. name
  function Pool:init(size)
    local list = {}
    if type(size) == 'table' and #size ~= n then error(('%s: size has %d entries for %d axes'):format(fname, #size, n),
      4) end
    for k = 1, n do
      list[k] = check.arg(fname, 'size', type(size) == 'table' and size[k] or size, 'integer >= 1', 4)
    end
    rawset(self, 'size', list)
  end
  function Pool:forward(x)
    if not tensor.is(x) or x.ndim < n + 1 then
      error(('%s: input is %s; give [batch, channels%s]'):format(fname, tensor.is(x) and tensor.describe(x)
        or check.show(x), (', size'):rep(n)), 2)
    end
    if tensor.kind[x.dtype] ~= 'f' then x = methods.to(x, 'f64') end
    for k = n, 1, -1 do x = along(x, x.ndim - n + k, self.size[k], how) end -- the first in the order of rows
    return x
  end
  function Pool:describe() return table.concat(self.size, ', ') end
  return Pool
end
local AA1, AA2 = adaptive('AdaptiveAvgPool1d', 1, 'avg'), adaptive('AdaptiveAvgPool2d', 2, 'avg')
local AM1, AM2 = adaptive('AdaptiveMaxPool1d', 1, 'max'), adaptive('AdaptiveMaxPool2d', 2, 'max')
local AA3, AM3 = adaptive('AdaptiveAvgPool3d', 3, 'avg'), adaptive('AdaptiveMaxPool3d', 3, 'max')

--- Means over `size` windows that cover one axis: window i is floor((i - 1) n / size) + 1 .. ceil(i n / size).
---@param size integer
---@return mascon.Module
--- Source: PyTorch nn.AdaptiveAvgPool1d.
---     mc.nn.AdaptiveAvgPool1d(2)(mc.tensor{ { { 1, 3, 5 } } })  --> f64[1,1,2]@cpu { { { 2, 4 } } }
function M.AdaptiveAvgPool1d(size) return AA1(size) end
--- Means over windows that cover two axes; size 1 is the mean of all places.
---@param size integer|table
---@return mascon.Module
--- Source: PyTorch nn.AdaptiveAvgPool2d.
---     mc.nn.AdaptiveAvgPool2d(1)(mc.ones{ 1, 2, 4, 3 }).shape  --> {1, 2, 1, 1}
function M.AdaptiveAvgPool2d(size) return AA2(size) end
--- Maxima over windows that cover one axis.
---@param size integer
---@return mascon.Module
--- Source: PyTorch nn.AdaptiveMaxPool1d.
---     mc.nn.AdaptiveMaxPool1d(2)(mc.tensor{ { { 1, 3, 5 } } })  --> f64[1,1,2]@cpu { { { 3, 5 } } }
function M.AdaptiveMaxPool1d(size) return AM1(size) end
--- Maxima over windows that cover two axes.
---@param size integer|table
---@return mascon.Module
--- Source: PyTorch nn.AdaptiveMaxPool2d.
---     mc.nn.AdaptiveMaxPool2d(1)(mc.ones{ 1, 2, 4, 3 }).shape  --> {1, 2, 1, 1}
function M.AdaptiveMaxPool2d(size) return AM2(size) end
--- Means over windows that cover three axes; size 1 is the mean of all places.
---@param size integer|table
---@return mascon.Module
--- Source: PyTorch nn.AdaptiveAvgPool3d.
---     mc.nn.AdaptiveAvgPool3d(1)(mc.ones{ 1, 2, 4, 3, 5 }).shape  --> {1, 2, 1, 1, 1}
function M.AdaptiveAvgPool3d(size) return AA3(size) end
--- Maxima over windows that cover three axes.
---@param size integer|table
---@return mascon.Module
--- Source: PyTorch nn.AdaptiveMaxPool3d.
---     mc.nn.AdaptiveMaxPool3d(1)(mc.ones{ 1, 2, 4, 3, 5 }).shape  --> {1, 2, 1, 1, 1}
function M.AdaptiveMaxPool3d(size) return AM3(size) end

return M
