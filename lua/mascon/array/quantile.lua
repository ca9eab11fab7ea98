-- quantile.lua - quantiles, percentiles and weighted quantiles over axes.
--
-- Thin Lua over the row select_quantile. Holds the names of the methods and the weighted form.
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local error = check.error
local op = require 'mascon.core.op'
local along = require 'mascon.array.along'
local ALL = require 'mascon.core.index'.all
local F, methods = op.functions, tensor.methods
local M = {}

local METHODS = {
  'linear', 'lower', 'higher', 'nearest', 'midpoint', 'inverted_cdf', 'averaged_inverted_cdf', 'closest_observation',
  'interpolated_inverted_cdf', 'hazen', 'weibull', 'median_unbiased', 'normal_unbiased',
}
local CODE = {}
for i, m in ipairs(METHODS) do CODE[m] = i - 1 end
local SPEC = { axis = { nil, 'any' }, keepdim = { false, 'bool' }, method = { nil, METHODS },
  weights = { nil, 'tensor | table' }, out = { nil, 'tensor' } }
local AT_ONCE = 16 -- probabilities of one call

--- Probabilities as a list, checked; `one` when a plain number was given.
local function probabilities(fname, q, whole, level)
  local list, one = q, type(q) == 'number'
  if one then list = { q } elseif tensor.is(q) then
    list = q:totable()
    if type(list) == 'number' then list, one = { list }, true end
  end
  if type(list) ~= 'table' or #list < 1 then
    error(('%s: q is %s; give a number or a list of them'):format(fname, check.show(q)), level + 1)
  end
  local out = {}
  for i, v in ipairs(list) do
    if type(v) ~= 'number' or not (v >= 0 and v <= whole) then
      error(('%s: q[%d] is %s; it must lie in [0, %g]'):format(fname, i,
        type(v) == 'table' and 'a table' or tostring(v), whole), level + 1)
    end
    out[i] = v / whole
  end
  return out, one
end

local function plain(fname, x, list, one, o, skip)
  if tensor.kind[x.dtype] == 'c' then error(('%s: x is %s; give real numbers'):format(fname, tensor.describe(x)), 3) end
  if x:numel() == 0 and along.count(fname, x, o.axis, 3) == 0 then
    error(('%s: nothing to order in %s; give it at least one element'):format(fname, tensor.describe(x)), 3)
  end
  local function call(first, last)
    local P = lib.params()
    op.pack_axes(P, fname, x, o.axis, 4)
    P.keepdim, P.i[0], P.i[1], P.i[2] = o.keepdim and 1 or 0, CODE[o.method or 'linear'], skip and 1 or 0,
      one and 0 or last - first + 1
    for i = first, last do P.d[i - first] = list[i] end
    return op.run(fname, 4, o, 1024, function(out, t) return lib.C.mc_op1(op.rows.select_quantile.id, out, t, P) end, x)
  end
  if #list <= AT_ONCE then return call(1, #list) end
  local parts, out = {}, o.out
  o.out = nil
  for first = 1, #list, AT_ONCE do parts[#parts + 1] = call(first, math.min(first + AT_ONCE - 1, #list)) end
  local y = F.concat(parts, 1)
  return out and methods.copy_(out, y) or y
end

-- the smallest element at which the running share of the weights reaches q
local function weighted(fname, x, list, one, o, skip)
  if o.method and o.method ~= 'inverted_cdf' then
    error(("%s: method %s knows no weights; choose 'inverted_cdf'"):format(fname, o.method), 3)
  end
  x = along.real(fname, x, 3)
  local w = along.real(fname, o.weights, 3)
  local axes = along.axes(fname, x, o.axis, 3)
  if w.ndim == 1 and #axes == 1 and x.ndim > 1 then
    local s = {}
    for i = 1, x.ndim do s[i] = i == axes[1] and w.shape[1] or 1 end
    w = methods.reshape(w, s)
  end
  local fits = w.ndim == x.ndim
  for i = 1, fits and x.ndim or 0 do fits = fits and (w.shape[i] == x.shape[i] or w.shape[i] == 1) end
  if not fits then
    error(('%s: weights are %s and x is %s; give one weight for each element, or for each along one axis'):format(fname,
      tensor.describe(w), tensor.describe(x)), 3)
  end
  if x:numel() == 0 then
    error(('%s: nothing to order in %s; give it at least one element'):format(fname, tensor.describe(x)), 3)
  end
  if not op.certain(F.ge(w, 0)) then error(fname .. ': a weight is negative or NaN; weights are >= 0', 3) end
  local shape = {}
  for i = 1, x.ndim do shape[i] = x.shape[i] end
  local r, place = along.rows(fname, x, o.axis, 3)
  local v = along.rows(fname, methods.to(methods.broadcast_to(w, shape), 'f64'), o.axis, 3)
  local bad = F.isnan(r)
  if skip then v = F.where(bad, 0, v) end
  local order = F.argsort(r, -1)
  r, v = F.take_along_axis(r, order, -1), F.take_along_axis(v, order, -1)
  local share = F.cumsum(v, -1)
  share = share / share[{ ALL, { -1, -1 } }]
  share = F.where(F.eq(share, 0), -1, share) -- an element without weight is never the answer
  local q = tensor.moved(op.from_table(list), r._device, 3)
  q = methods.broadcast_to(methods.reshape(q, { 1, #list }), { place.m, #list })
  local at = F.minimum(F.searchsorted(share, methods.contiguous(q)), place.n)
  local y = F.take_along_axis(r, at, -1)
  local hopeless = skip and F.all(bad, { -1, keepdim = true }) or not skip and F.any(bad, { -1, keepdim = true })
  hopeless = F.logical_or(hopeless, F.isnan(share[{ ALL, { -1, -1 } }]))
  y = methods.contiguous(F.where(hopeless, 0 / 0, y).T) -- [q, m]
  y = along.reduced(place, one and methods.reshape(y, { place.m }) or y, o.keepdim)
  return o.out and methods.copy_(o.out, y) or y
end

local function maker(fname, skip, whole)
  return function(x, q, axis, opts)
    local o = op.axis_options(fname, SPEC, axis, opts, 3)
    x = op.operand(fname, x, 2)
    local list, one = probabilities(fname, q, whole, 2)
    if o.weights then return weighted(fname, x, list, one, o, skip) end
    return plain(fname, x, list, one, o, skip)
  end
end

local quantile, nanquantile, percentile, nanpercentile = maker('quantile', false, 1), maker('nanquantile', true, 1),
  maker('percentile', false, 100), maker('nanpercentile', true, 100)

--- Quantiles of x over axes: the value below which a share q of the elements lies.
---@param x any f16|bf16|f32|f64 [...]; integers count as f64; NaN gives NaN
---@param q any number or list of numbers in [0, 1]
---@param axis any axes taken together (all) · opts: keepdim (false) · method ('linear'): the nine types of Hyndman and
--- Fan under NumPy's names (inverted_cdf, averaged_inverted_cdf, closest_observation, interpolated_inverted_cdf, hazen,
--- weibull, linear, median_unbiased, normal_unbiased), and lower, higher, nearest, midpoint · weights: of the shape of
--- x, or one for each element along one axis; the method is inverted_cdf then · out
---@param opts table|nil
---@return any dtype of x; a list of q gives a first axis of its length
--- Errors: q outside [0, 1], nothing to order, negative weights. Source: Sample quantiles in statistical packages,
--- 1996.
---     mc.quantile(mc.tensor{1, 2, 3, 4}, 0.5)  --> f64[]@cpu 2.5
---     mc.quantile(mc.tensor{1, 2, 3, 4}, { 0, 1 })  --> f64[2]@cpu { 1, 4 }
---     mc.quantile(mc.tensor{1, 2, 3}, 0.5, { weights = mc.tensor{1, 1, 8} })  --> f64[]@cpu 3
function M.quantile(x, q, axis, opts) return (quantile(x, q, axis, opts)) end

--- Quantiles with NaN left out; nothing but NaN gives NaN. Arguments as quantile.
---@return any
---     mc.nanquantile(mc.tensor{1, mc.nan, 3}, 0.5)  --> f64[]@cpu 2
function M.nanquantile(x, q, axis, opts) return (nanquantile(x, q, axis, opts)) end

--- Quantiles for q in percent, [0, 100]. Arguments as quantile.
---@return any
---     mc.percentile(mc.tensor{1, 2, 3, 4, 5}, 25)  --> f64[]@cpu 2
function M.percentile(x, q, axis, opts) return (percentile(x, q, axis, opts)) end

--- Percentiles with NaN left out. Arguments as quantile.
---@return any
---     mc.nanpercentile(mc.tensor{1, mc.nan, 3}, 100)  --> f64[]@cpu 3
function M.nanpercentile(x, q, axis, opts) return (nanpercentile(x, q, axis, opts)) end

--- Median over axes with NaN left out; nothing but NaN gives NaN.
---@param x any f16|bf16|f32|f64 [...]
---@param axis any axes (all) · opts: keepdim
---@return any
---     mc.nanmedian(mc.tensor{{1, mc.nan, 5}, {2, 4, 9}}, 2)  --> f64[2]@cpu { 3, 4 }
function M.nanmedian(x, axis, opts) return (nanquantile(x, 0.5, axis, opts)) end

return M
