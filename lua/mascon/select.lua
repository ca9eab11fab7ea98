-- select.lua - order statistics and counting with options: quantile, nanquantile, histogram, unique values of where, nonzero.
--
-- Thin Lua over the rows of the op table. Owns the names of quantile methods.
local lib = require 'mascon.ffi'
local tensor = require 'mascon.tensor'
local check = require 'mascon.check'
local error = check.error
local op = require 'mascon.op'
local P, F, methods = lib.params, op.functions, tensor.methods
local M = {}

local METHODS = {
  'linear', 'lower', 'higher', 'nearest', 'midpoint', 'inverted_cdf', 'averaged_inverted_cdf', 'closest_observation', 'interpolated_inverted_cdf', 'hazen', 'weibull',
  'median_unbiased', 'normal_unbiased',
}
local CODE = {}
for i, m in ipairs(METHODS) do CODE[m] = i - 1 end
local OPTS = { axis = { nil, 'any' }, keepdim = { false, 'bool' }, method = { 'linear', METHODS }, out = { nil, 'tensor' } }

local function quantile(fname, skip)
  return function(x, q, opts)
    x = op.operand(fname, x, 2)
    local o = check.opts(fname, opts, OPTS, 3)
    local list = q
    if type(q) == 'number' then list = { q } elseif tensor.is(q) then
      list = q:totable()
      if type(list) == 'number' then list = { list } end
    end
    if type(list) ~= 'table' or #list < 1 or #list > 16 then error(fname .. ': q is ' .. check.show(q) .. '; give one to 16 probabilities', 2) end
    for i, v in ipairs(list) do
      if type(v) ~= 'number' or not (v >= 0 and v <= 1) then error(('%s: probability %d is %s; it must lie in [0, 1]'):format(fname, i, tostring(v)), 2) end
    end
    op.fresh()
    op.pack_axes(fname, x, o.axis, 3)
    P.keepdim, P.i[0], P.i[1], P.i[2] = o.keepdim and 1 or 0, CODE[o.method], skip and 1 or 0, type(q) == 'number' and 0 or #list
    for i, v in ipairs(list) do P.d[i - 1] = v end
    return op.run(fname, 2, o, 1024, function(out, t) return lib.C.mc_op1(op.rows.quantile.id, out, t, P) end, x)
  end
end

--- Quantiles q in [0, 1] over axes (default all). A list of q gives a first axis of its length. method: the nine types of Hyndman and
--- Fan (1996) under NumPy's names, and lower, higher, nearest, midpoint. NaN gives NaN; nanquantile leaves them out.
M.quantile, M.nanquantile = quantile('quantile', false), quantile('nanquantile', true)
methods.quantile = M.quantile

--- Median over axes, NaN left out.
function M.nanmedian(x, opts) return M.nanquantile(x, 0.5, opts) end

local HIST = { bins = { 10, 'integer >= 1 | tensor | table' }, range = { nil, 'table' }, weights = { nil, 'tensor' }, density = { false, 'bool' } }
--- Counts of x in bins [e1, e2), ..., [en, en+1] (the last is closed), as numpy.histogram.
---     mc.histogram(mc.tensor{1, 2, 2, 5}, { bins = 2 })  --> i64[2]@cpu { 3, 1 }, f64[3]@cpu { 1, 3, 5 }
---@return any counts i64 [bins] (f64 with weights or density)
---@return any edges f64 [bins + 1]
function M.histogram(x, opts)
  x = op.operand('histogram', x, 2)
  local o = check.opts('histogram', opts, HIST, 3)
  local flat = methods.to(methods.flatten(x), 'f64')
  local edges
  if type(o.bins) == 'number' then
    local lo, hi
    if o.range then lo, hi = o.range[1], o.range[2]
    elseif flat:numel() == 0 then lo, hi = 0, 1
    else lo, hi = flat:min():item(), flat:max():item() end
    if not (lo <= hi) or lo == -math.huge or hi == math.huge then error(('histogram: range {%s, %s} is not finite and ordered; give range = {low, high}'):format(tostring(lo), tostring(hi)), 2) end
    if lo == hi then lo, hi = lo - 0.5, hi + 0.5 end
    edges = require('mascon.create').linspace(lo, hi, o.bins + 1)
  else
    edges = tensor.is(o.bins) and methods.to(o.bins, 'f64') or op.from_table(o.bins)
    if edges.ndim ~= 1 or edges:numel() < 2 then error('histogram: bins must hold at least two edges', 2) end
  end
  local n = edges:numel() - 1
  local first, last = edges[1], edges[n + 1]
  local inside = F.logical_and(F.ge(flat, first), F.le(flat, last))
  local weights = o.weights and methods.to(methods.flatten(o.weights), 'f64')
  local kept = flat[inside]
  local pos = F.searchsorted(edges, kept, { right = true, base = 0 })
  pos = F.minimum(pos - 1, n - 1)
  local counts
  if weights then counts = F.bincount_weighted(pos, weights[inside], { minlength = n })
  else counts = F.bincount(pos, { minlength = n }) end
  if o.density then
    local width = edges['2:'] - edges[':-2']
    counts = counts / (width * counts:sum():item())
  end
  return counts, edges
end

--- Positions (1-based, i64) of non-zero elements: one tensor per axis.
---     mc.nonzero(mc.tensor{0, 3, 0, 5})  --> i64[2]@cpu { 2, 4 }
function M.nonzero(x)
  x = op.operand('nonzero', x, 2)
  if x.ndim == 1 then return F.nonzero_flat(x) end
  local rest = F.nonzero_flat(x, { base = 0 })
  local out = {}
  for i = x.ndim, 2, -1 do
    local n = x.shape[i]
    out[i] = F.remainder(rest, n) + 1
    rest = F.floor_divide(rest, n)
  end
  if x.ndim > 0 then out[1] = rest + 1 end
  return unpack(out, 1, x.ndim)
end
methods.nonzero = M.nonzero

return M
