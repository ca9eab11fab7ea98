-- histogram.lua - counts in bins: digitize, histogram, histogram2d, histogramdd and the rules that choose bins.
--
-- A bin is [edge, next edge), the last one closed on both sides, as in NumPy. Holds the rules. Positions come from
-- searchsorted, counts from bincount.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local error = check.error
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local quantile = require 'mascon.array.quantile'
local F, methods = op.functions, tensor.methods
local M = {}

--- Bin of each element: i where bins[i] <= x < bins[i + 1], 0 below the first edge, #bins beyond the last.
---@param x any real [...]
---@param bins any real [n] rising or falling
---@param opts table|nil right: bins are (bins[i], bins[i + 1]] (false)
---@return any i64, shape of x
--- Errors: bins that neither rise nor fall. Source: NumPy digitize.
---     mc.digitize(mc.tensor{0.5, 1, 7}, mc.tensor{0, 1, 2})  --> i64[3]@cpu { 1, 2, 3 }
function M.digitize(x, bins, opts)
  local fname = 'digitize'
  local o = check.opts(fname, opts, { right = { false, 'bool' } }, 3)
  x = op.operand(fname, x, 2)
  bins = tensor.is(bins) and bins or tensor.moved(op.operand(fname, bins, 2), x._device, 2)
  if bins.ndim ~= 1 then
    error(('%s: bins are %s; give edges along one axis'):format(fname, tensor.describe(bins)), 2)
  end
  local n = bins:numel()
  local how = { right = not o.right, base = 0 }
  if n < 2 then return F.searchsorted(bins, x, how) end
  local a, b = bins[{ { 1, -2 } }], bins[{ { 2, -1 } }]
  if not tensor.known(bins) then -- either way, chosen by the bins that come
    return F.where(F.all(F.le(a, b), 1), F.searchsorted(bins, x, how), n - F.searchsorted(methods.flip(bins), x, how))
  end
  if F.all(F.le(a, b)) then return F.searchsorted(bins, x, how) end
  if not F.all(F.ge(a, b)) then error(fname .. ': bins neither rise nor fall; sort them first', 2) end
  return n - F.searchsorted(methods.flip(bins), x, how)
end

-- ---------------------------------------------------------------- edges

local RULE = {}
local function spread(x) return F.max(x):item() - F.min(x):item() end
function RULE.sqrt(x, n) return spread(x) / math.sqrt(n) end
function RULE.sturges(x, n) return spread(x) / (math.log(n) / math.log(2) + 1) end
function RULE.rice(x, n) return spread(x) / (2 * n ^ (1 / 3)) end
function RULE.scott(x, n) return (24 * math.sqrt(math.pi) / n) ^ (1 / 3) * F.std(x):item() end
function RULE.doane(x, n)
  local sigma = F.std(x):item()
  if n <= 2 or sigma == 0 then return 0 end
  local z = (x - F.mean(x)) / sigma
  local skew, unit = F.mean(z * z * z):item(), math.sqrt(6 * (n - 2) / ((n + 1) * (n + 3)))
  return spread(x) / (1 + math.log(n) / math.log(2) + math.log(1 + math.abs(skew) / unit) / math.log(2))
end
function RULE.fd(x, n)
  local q = quantile.quantile(x, { 0.25, 0.75 }):totable()
  return 2 * (q[2] - q[1]) * n ^ (-1 / 3)
end
function RULE.auto(x, n) return math.min(math.max(RULE.fd(x, n), RULE.sqrt(x, n) / 2), RULE.sturges(x, n)) end
local RULES = { 'auto', 'fd', 'doane', 'scott', 'rice', 'sturges', 'sqrt' }

--- Lowest and highest edge: the range given, else that of the data.
local function ends(fname, x, range, level)
  local lo, hi = 0, 1
  if range then
    lo, hi = range[1], range[2]
    if type(lo) ~= 'number' or type(hi) ~= 'number' then
      error(fname .. ': range is no pair of numbers; give range = {low, high}', level + 1)
    end
  elseif x:numel() > 0 then
    lo, hi = F.min(x):item(), F.max(x):item()
  end
  if not (lo <= hi) or lo == -math.huge or hi == math.huge then
    error(('%s: range {%s, %s} is not finite and ordered; give range = {low, high}'):format(fname, tostring(lo),
      tostring(hi)), level + 1)
  end
  if lo == hi then lo, hi = lo - 0.5, hi + 0.5 end
  return lo, hi
end

--- Edges f64 [n + 1] from a number of bins, a rule or edges. x: f64 [k]; whole: its elements were integers.
local function edges_of(fname, x, bins, range, weights, whole, level)
  if type(bins) == 'number' or type(bins) == 'string' then
    local lo, hi = ends(fname, x, range, level + 1)
    if type(bins) == 'string' then
      local rule = RULE[bins]
      if not rule then
        local near = check.nearest(bins, RULES)
        error(('%s: the rule %s is unknown; choose %s%s'):format(fname, check.show(bins), table.concat(RULES, ', '),
          near and (' (did you mean %q?)'):format(near) or ''), level + 1)
      end
      if weights then
        error(('%s: the rule %s knows no weights; give a number of bins or edges'):format(fname, bins), level + 1)
      end
      local kept = range and x[F.logical_and(F.ge(x, lo), F.le(x, hi))] or x
      local width = kept:numel() > 0 and rule(kept, kept:numel()) or 0
      if whole and width > 0 and width < 1 then width = 1 end
      bins = width > 0 and math.max(1, math.ceil((hi - lo) / width)) or 1
    end
    if bins < 1 or bins ~= math.floor(bins) then
      error(('%s: bins is %s; give a whole number >= 1'):format(fname, tostring(bins)), level + 1)
    end
    return create.linspace(lo, hi, bins + 1, { device = x.device }), bins
  end
  local e = op.operand(fname, bins, level + 1)
  e = methods.to(tensor.is(bins) and e or tensor.moved(e, x._device, level + 1), 'f64')
  tensor.one_device(fname, { x, e }, level + 1)
  if e.ndim ~= 1 or e:numel() < 2 then
    error(('%s: bins must hold at least two edges, they are %s'):format(fname, tensor.describe(e)), level + 1)
  end
  if not op.certain(F.le(e[{ { 1, -2 } }], e[{ { 2, -1 } }])) then
    error(fname .. ': edges do not rise; sort them first', level + 1)
  end
  return e, e:numel() - 1
end

local function flat(fname, x, level)
  x = op.operand(fname, x, level + 1)
  local kind = tensor.kind[x.dtype]
  if kind == 'c' then error(('%s: x is %s; give real numbers'):format(fname, tensor.describe(x)), level + 1) end
  return methods.to(methods.flatten(x), 'f64'), kind ~= 'f'
end

local BINS = { bins = { 10, 'integer >= 1 | string | tensor | table' }, range = { nil, 'table' },
  weights = { nil, 'tensor | table' } }

--- Edges of the bins that histogram would use.
---@param x any real [...]
---@param opts table|nil bins (10): their number, a rule ('auto', 'fd', 'doane', 'scott', 'rice', 'sturges', 'sqrt') or
---  edges · range: { low, high }
---@return any f64 [bins + 1]
--- Source: NumPy histogram_bin_edges; On the histogram as a density estimator, 1981 (fd); Scott, On optimal and
--- data-based histograms, 1979; Doane, Aesthetic frequency classification, 1976; Sturges, The choice of a class
--- interval, 1926.
---     mc.histogram_bin_edges(mc.tensor{0, 1, 4}, { bins = 2 })  --> f64[3]@cpu { 0, 2, 4 }
function M.histogram_bin_edges(x, opts)
  local fname = 'histogram_bin_edges'
  local o = check.opts(fname, opts, BINS, 3)
  local v, whole = flat(fname, x, 2)
  return (edges_of(fname, v, o.bins, o.range, o.weights, whole, 2))
end

--- Bin of each element of v from 0, and which elements lie inside.
local function positions(v, edges, n)
  local inside = F.logical_and(F.ge(v, edges[1]), F.le(v, edges[n + 1]))
  return F.minimum(F.maximum(F.searchsorted(edges, v, { right = true, base = 0 }) - 1, 0), n - 1), inside
end

--- Sums of the weights (ones) of n bins. pos: the bin of each element.
local function counted(pos, weights, n)
  if pos._device == 0 then
    if weights then return F.bincount_weighted(pos, weights, { minlength = n }) end
    return F.bincount(pos, { minlength = n })
  end
  weights = weights or create.ones(pos.shape, { dtype = 'i64', device = pos.device })
  return F.segment_sum(weights, pos, { num_segments = n, base = 0 })
end

local HIST = { bins = BINS.bins, range = BINS.range, weights = BINS.weights, density = { false, 'bool' } }

--- Counts of the elements of x in bins.
---@param x any real [...]; NaN lie in no bin
---@param opts table|nil bins, range: as histogram_bin_edges · weights: of the shape of x · density: shares per unit,
---  their integral is 1 (false)
---@return any counts i64 [bins]; f64 with weights or density
---@return any edges f64 [bins + 1]
--- Errors: a range that is not finite, edges that do not rise. Source: NumPy histogram.
---     mc.histogram(mc.tensor{1, 2, 2, 5}, { bins = 2 })  --> i64[2]@cpu { 3, 1 }, f64[3]@cpu { 1, 3, 5 }
function M.histogram(x, opts)
  local fname = 'histogram'
  local o = check.opts(fname, opts, HIST, 3)
  local v, whole = flat(fname, x, 2)
  local edges, n = edges_of(fname, v, o.bins, o.range, o.weights, whole, 2)
  local pos, inside = positions(v, edges, n)
  pos = pos[inside]
  local counts
  if o.weights then
    local w = flat(fname, o.weights, 2)
    if w:numel() ~= v:numel() then
      error(('%s: weights are %s and x is %s; give one for each'):format(fname, tensor.describe(w), tensor.describe(v)),
        2)
    end
    counts = counted(pos, w[inside], n)
  else
    counts = counted(pos, nil, n)
  end
  if o.density then counts = counts / ((edges[{ { 2, -1 } }] - edges[{ { 1, -2 } }]) * F.sum(counts):item()) end
  return counts, edges
end

local DD = { bins = { 10, 'any' }, range = { nil, 'table' }, weights = { nil, 'tensor | table' },
  density = { false, 'bool' } }

--- The work of histogramdd. list: one f64 [n] for each dimension. Returns counts and the list of edges.
local function count_cells(fname, list, o, level)
  local d, shape, edges = #list, {}, {}
  local flat_at, inside
  for k, v in ipairs(list) do
    local bins = o.bins
    if type(bins) == 'table' then bins = bins[k] end
    if bins == nil then
      error(('%s: bins has %d entries for %d dimensions; give one for each'):format(fname, #o.bins, d), level + 1)
    end
    local range = o.range and o.range[k]
    edges[k], shape[k] = edges_of(fname, v, bins, range or nil, nil, false, level + 1)
    local pos, is = positions(v, edges[k], shape[k])
    inside = inside and F.logical_and(inside, is) or is
    flat_at = flat_at and flat_at * shape[k] + pos or pos
  end
  local cells = 1
  for k = 1, d do cells = cells * shape[k] end
  local counts
  flat_at = flat_at[inside]
  if o.weights then
    local w = flat(fname, o.weights, level + 1)
    if w:numel() ~= list[1]:numel() then
      error(('%s: weights are %s for %d points; give one for each'):format(fname, tensor.describe(w), list[1]:numel()),
        level + 1)
    end
    counts = counted(flat_at, w[inside], cells)
  else
    counts = counted(flat_at, nil, cells)
  end
  counts = methods.reshape(counts, shape)
  if o.density then
    local total = F.sum(counts):item()
    for k = 1, d do
      local s = {}
      for i = 1, d do s[i] = i == k and shape[k] or 1 end
      counts = counts / methods.reshape(edges[k][{ { 2, -1 } }] - edges[k][{ { 1, -2 } }], s)
    end
    counts = counts / total
  end
  return counts, edges
end

--- Counts of points in the cells of a grid.
---@param x any real [n, d]: n points of d coordinates
---@param opts table|nil bins (10): for all dimensions, or a list with a number, rule or edges for each · range: a list
--- of { low, high } for each · weights: [n] · density (false)
---@return any counts i64 [bins_1, ..., bins_d]; f64 with weights or density
---@return table edges a list of f64 [bins_k + 1]
--- Source: NumPy histogramdd.
---     mc.histogramdd(mc.tensor{{0, 0}, {1, 3}, {1, 3}}, { bins = 2 })
---       --> i64[2,2]@cpu { { 1, 0 }, { 0, 2 } }, { f64[3]@cpu { 0.0000, 0.5000, 1.0000 }, f64[3]@cpu { 0.0000,
---       1.5000, 3.0000 } }
function M.histogramdd(x, opts)
  local fname = 'histogramdd'
  local o = check.opts(fname, opts, DD, 3)
  x = op.operand(fname, x, 2)
  if x.ndim ~= 2 or x.shape[2] < 1 then
    error(('%s: x is %s; give points [n, d]'):format(fname, tensor.describe(x)), 2)
  end
  local list = {}
  for k = 1, x.shape[2] do list[k] = (flat(fname, x[{ require 'mascon.core.index'.all, k }], 2)) end
  return count_cells(fname, list, o, 2)
end

--- Counts of pairs in the cells of a grid.
---@param x any real [n]
---@param y any real [n]
---@param opts table|nil as histogramdd
---@return table { counts [bins_x, bins_y], x_edges, y_edges }
--- Source: NumPy histogram2d.
---     mc.histogram2d(mc.tensor{0, 1, 1}, mc.tensor{0, 3, 3}, { bins = 2 }).counts
---       --> i64[2,2]@cpu { { 1, 0 }, { 0, 2 } }
function M.histogram2d(x, y, opts)
  local fname = 'histogram2d'
  local o = check.opts(fname, opts, DD, 3)
  local a, b = flat(fname, x, 2), flat(fname, y, 2)
  if a:numel() ~= b:numel() then
    error(('%s: x is %s and y is %s; give as many of each'):format(fname, tensor.describe(a), tensor.describe(b)), 2)
  end
  local counts, edges = count_cells(fname, { a, b }, o, 2)
  return { counts = counts, x_edges = edges[1], y_edges = edges[2] }
end

return M
