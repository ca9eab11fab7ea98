-- statistics.lua - weighted means, spreads and covariances, reductions of consecutive pieces.
--
-- Holds the weights of averages and covariances.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local error = check.error
local op = require 'mascon.core.op'
local along = require 'mascon.array.along'
local create = require 'mascon.array.create'
local ALL = require 'mascon.core.index'.all
local F, methods = op.functions, tensor.methods
local M = {}

local PTP = { axis = { nil, 'any' }, keepdim = { false, 'bool' } }

--- Largest minus smallest element over axes; NaN gives NaN.
---@param x any real [...]
---@param axis any axes (all) · opts: keepdim
---@param opts table|nil
---@return any dtype of x
--- Errors: nothing to reduce, booleans, complex numbers. Source: NumPy ptp.
---     mc.ptp(mc.tensor{{1, 5}, {2, 9}}, 2)  --> f64[2]@cpu { 4, 7 }
function M.ptp(x, axis, opts)
  local o = op.axis_options('ptp', PTP, axis, opts, 2)
  x = op.operand('ptp', x, 2)
  return F.max(x, { axis = o.axis, keepdim = o.keepdim }) - F.min(x, { axis = o.axis, keepdim = o.keepdim })
end

local AVERAGE = { axis = { nil, 'any' }, keepdim = { false, 'bool' }, weights = { nil, 'tensor | table' } }

--- Weighted mean sum w x / sum w over axes.
---@param x any f32|f64|c64|c128 [...]; integers count as f64
---@param axis any axes (all) · opts: weights: broadcast with x, or one for each element along one axis; without them
---  the mean · keepdim
---@param opts table|nil
---@return any
---@return any the sums of the weights, of the shape of the result; nothing without weights
--- Errors: weights that add up to 0 or fit no axis. Source: NumPy average.
---     mc.average(mc.tensor{1, 2, 6}, { weights = mc.tensor{1, 1, 2} })  --> f64[]@cpu 3.75, f64[]@cpu 4
function M.average(x, axis, opts)
  local fname = 'average'
  local o = op.axis_options(fname, AVERAGE, axis, opts, 2)
  x = op.operand(fname, x, 2)
  local how = { axis = o.axis, keepdim = o.keepdim }
  if not o.weights then return F.mean(x, how) end
  local w = op.beside(fname, o.weights, x, 2)
  if w.ndim == 1 and x.ndim > 1 then
    local axes = along.axes(fname, x, o.axis, 2)
    if #axes == 1 and x.shape[axes[1]] == w.shape[1] then
      local s = {}
      for i = 1, x.ndim do s[i] = i == axes[1] and w.shape[1] or 1 end
      w = methods.reshape(w, s)
    end
  end
  local total = F.sum(w * create.ones_like(x), how)
  if op.found(F.eq(total, 0)) then error(fname .. ': weights add up to 0; a weighted mean has no value then', 2) end
  return F.sum(x * w, how) / total, total
end

-- ---------------------------------------------------------------- covariance

local COV = { correction = { 1, 'number' }, axis = { -1, 'integer' }, y = { nil, 'tensor | table' },
  fweights = { nil, 'tensor | table' }, aweights = { nil, 'tensor | table' } }

--- x as [..., variables, samples].
local function variables(fname, x, axis, level, other)
  x = op.beside(fname, x, other, level + 1)
  local kind = tensor.kind[x.dtype]
  if kind ~= 'f' and kind ~= 'c' then x = methods.to(x, 'f64') end
  if x.ndim == 1 then x = methods.reshape(x, { 1, x.shape[1] }) end
  if x.ndim < 2 then
    error(('%s: samples are %s; give [variables, samples]'):format(fname, tensor.describe(x)), level + 1)
  end
  local a = tensor.axis(fname, x, axis, level + 2) + 1
  return a == x.ndim and x or methods.moveaxis(x, a, -1)
end

local function weight_of(fname, name, w, x, level)
  local n = x.shape[x.ndim]
  w = along.real(fname, w, level + 1, x)
  if w.ndim ~= 1 or w.shape[1] ~= n then
    error(('%s: %s are %s; give one for each of the %d samples'):format(fname, name, tensor.describe(w), n), level + 1)
  end
  if not op.certain(F.ge(w, 0)) then
    error(('%s: %s are negative or NaN somewhere; weights are >= 0'):format(fname, name), level + 1)
  end
  return w
end

local function covariance(fname, x, opts, level)
  local o = check.opts(fname, opts, COV, level + 1)
  x = variables(fname, x, o.axis, level)
  if o.y then x = F.concat({ x, variables(fname, o.y, o.axis, level, x) }, x.ndim - 1) end
  local n = x.shape[x.ndim]
  local w, dof
  if o.fweights or o.aweights then
    local f = o.fweights and weight_of(fname, 'fweights', o.fweights, x, level)
    local a = o.aweights and weight_of(fname, 'aweights', o.aweights, x, level)
    w = f and a and f * a or f or a
    local total, squares = F.sum(w), a and F.sum(w * a)
    dof = total - (a and squares / total or 1) * o.correction
    if not op.certain(F.gt(dof, 0)) then
      error(('%s: weights leave %g degrees of freedom; more than 0 are needed'):format(fname, dof:item()), level)
    end
    local d = x - F.sum(x * w, { -1, keepdim = true }) / total
    return F.matmul(d * w, F.conj(d).mT) / dof
  end
  if n <= o.correction then
    error(('%s: samples are %s; give more than %g of them'):format(fname, tensor.describe(x), o.correction), level)
  end
  local d = x - F.mean(x, { -1, keepdim = true })
  return F.matmul(d, F.conj(d).mT) / (n - o.correction)
end

--- Covariance matrix of variables: sum (x_i - mean_i) conj(x_j - mean_j) / (n - correction).
---@param x any f32|f64|c64|c128 [..., v, n]
---@param opts table|nil axis of the samples (last) · correction (1) · y: more variables, [..., u, n] · fweights: how
---  often each sample was seen
--- [n] · aweights: its reliability [n]
---@return any [..., v, v]
--- Errors: fewer samples than correction + 1, weights of another size. Source: NumPy cov.
---     mc.cov(mc.tensor{{1, 2, 3}, {2, 4, 6}})  --> f64[2,2]@cpu { { 1, 2 }, { 2, 4 } }
function M.cov(x, opts) return (covariance('cov', x, opts, 2)) end

--- Matrix of correlation coefficients of variables, in [-1, 1]. Arguments as cov.
---@return any [..., v, v]
---     mc.corrcoef(mc.tensor{{1, 2, 3}, {6, 4, 2}})  --> f64[2,2]@cpu { {  1, -1 }, { -1,  1 } }
function M.corrcoef(x, opts)
  local c = covariance('corrcoef', x, opts, 2)
  local v, complex = c.shape[c.ndim], tensor.kind[c.dtype] == 'c'
  local power = F.real(c)
  local std = F.sqrt(F.sum(power * F.eye(v, { dtype = power.dtype, device = power.device }), { -1, keepdim = true }))
  local r = c / std / std.mT
  return complex and r or F.where(F.isnan(r), r, F.clip(r, -1, 1))
end

-- ---------------------------------------------------------------- consecutive pieces

local PIECES = { axis = { 1, 'integer' }, reduce = { 'sum', { 'sum', 'prod', 'max', 'min', 'mean' } },
  base = { 1, { 0, 1 } } }

--- Reductions of consecutive pieces of an axis: piece i holds the elements from offsets[i] to before offsets[i + 1],
--- the last one goes to the end; elements before the first offset belong to none.
---@param x any [...]
---@param offsets any integers [k], rising; equal neighbours make an empty piece (NumPy takes one element there)
---@param opts table|nil reduce ('sum'): sum, prod, max, min, mean · axis (1) · base: offsets count from it (1)
---@return any shape of x with k in place of the axis; empty pieces as in segment_sum and its kin
--- Source: NumPy ufunc.reduceat, there without empty pieces.
---     mc.reduceat(mc.tensor{1, 2, 3, 4}, mc.tensor({1, 3}, { dtype = 'i64' }))  --> f64[2]@cpu { 3, 7 }
function M.reduceat(x, offsets, opts)
  local fname = 'reduceat'
  local o = check.opts(fname, opts, PIECES, 3)
  x, offsets = op.beside(fname, x, offsets, 2), op.beside(fname, offsets, x, 2)
  local kind = tensor.kind[offsets.dtype]
  if offsets.ndim ~= 1 or (kind ~= 'i' and kind ~= 'u') then
    error(('%s: offsets are %s; give integers along one axis'):format(fname, tensor.describe(offsets)), 2)
  end
  local a = tensor.axis(fname, x, o.axis, 2) + 1
  local n, k = x.shape[a], offsets:numel()
  offsets = methods.to(offsets, 'i64') - o.base
  if k > 0 and not (op.certain(F.ge(offsets, 0)) and op.certain(F.le(offsets, n))
    and op.certain(F.le(offsets[{ { 1, -2 } }], offsets[{ { 2, -1 } }]))) then
    error(('%s: offsets do not rise inside an axis of size %d of %s'):format(fname, n, tensor.describe(x)), 2)
  end
  local first = k > 0 and offsets[1]:item() or n
  local key = {}
  for i = 1, x.ndim do key[i] = i == a and { first + 1, n } or ALL end
  local how = { dtype = 'i64', device = x.device }
  local id = n > first and F.searchsorted(offsets, create.arange(first, n - 1, 1, how), { right = true, base = 0 })
    or create.zeros({ 0 }, how)
  return F['segment_' .. o.reduce](x[key], id, { axis = a, num_segments = k })
end

return M
