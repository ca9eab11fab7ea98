-- order.lua - derivatives of sorted elements and of quantiles.
--
-- Form of a rule: rules/init.lua. Ordering moves elements, so that cotangents move back to where elements came from;
-- positions are constants. Equal elements keep their order. A quantile is a weighted mean of two neighbours in the
-- sorted row: which two and with what weights, the op itself says of the row 1, 2, ..., n.
local mc = require 'mascon.array'
local recording = require 'mascon.graph.recording'
local axes = require 'mascon.rules.axes'

local R, forward = {}, {}

local function home(g, like, at, axis, base)
  local zeros = mc.zeros(like.shape, { dtype = g.dtype, device = g.device })
  return mc.scatter_add(zeros, at, g, { axis = axis, base = base })
end

-- ---------------------------------------------------------------- sorting

local function sorted(x, p)
  local axis = axes.axis(p, x.ndim)
  return mc.argsort(x, { axis = axis, descending = p.descending, stable = true }), axis
end
local function parted(x, p)
  local axis = axes.axis(p, x.ndim)
  return mc.argpartition(x, { p.kth, axis = axis }), axis
end
local function moving(order)
  return function(g, x, _, p)
    if x[1].ndim == 0 then return { g } end
    local at, axis = order(x[1], p)
    return { home(g, x[1], at, axis) }
  end, function(t, x, _, p)
    if x[1].ndim == 0 then return { t[1] } end
    local at, axis = order(x[1], p)
    return { mc.take_along_axis(t[1], at, { axis = axis }) }
  end
end
R.sort, forward.sort = moving(sorted)
R.partition, forward.partition = moving(parted)

R.topk = function(g, x, y, p)
  if not g[1] then return {} end
  if x[1].ndim == 0 then return { g[1]:reshape(x[1].shape) } end
  return { home(g[1], x[1], y[2], axes.axis(p, x[1].ndim), p.base) }
end
forward.topk = function(t, x, y, p)
  if x[1].ndim == 0 then return { t[1]:reshape(y[1].shape) } end
  return { mc.take_along_axis(t[1], y[2], { axis = axes.axis(p, x[1].ndim), base = p.base }) }
end

-- ---------------------------------------------------------------- quantiles

--- x as rows [m, n] with the reduced axes last, and the way back.
local function rows_of(x, p)
  local gone, order, shape, inverse = {}, {}, {}, {}
  for _, a in ipairs(p.axes or {}) do gone[a] = true end
  local n = axes.count(x, p)
  for i = 1, x.ndim do if p.axes and not gone[i] then order[#order + 1] = i end end
  for i = 1, x.ndim do if not p.axes or gone[i] then order[#order + 1] = i end end
  for i, a in ipairs(order) do shape[i], inverse[a] = x.shape[a], i end
  local function rows(t) return mc.permute_dims(t, order):reshape { x:numel() / n, n } end
  local function restore(t) return mc.permute_dims(t:reshape(shape), inverse) end
  if x.ndim == 0 then return x:reshape { 1, 1 }, function(t) return t:reshape {} end, rows end
  return rows(x), restore, rows
end

--- For rows [m, n]: the positions of the two neighbours of each quantile in the row, [m, q], and the weight of the
--- second one.
local function neighbours(rows, p)
  local m, n = rows.shape[1], rows.shape[2]
  local many = p.row.variant == 'quantile' and tonumber(p.raw.i[2]) or 0
  local skips = p.row.variant == 'quantile' and p.raw.i[1] ~= 0
  local order = mc.argsort(rows, { axis = 2, stable = true })
  local ramp = mc.broadcast_to(mc.arange(1, n, 1, { device = rows.device }):reshape { 1, n }, { skips and m or 1, n })
  if skips then ramp = mc.where(mc.isnan(mc.take_along_axis(rows, order, { axis = 2 })), 0 / 0, ramp) end
  local q = recording.params(p.raw)
  q.naxes, q.axes[0], q.keepdim = 1, 1, 0
  local place = recording.call(p.row, 1, { ramp:copy() }, q)[1] -- [rows] or [q, rows]
  place = place:reshape { math.max(many, 1), ramp.shape[1] }.T
  local none = mc.isnan(place) -- a row of NaN alone
  place = mc.broadcast_to(mc.where(none, 1, place), { m, math.max(many, 1) })
  local low = mc.floor(place)
  local weight = place - low
  local function at(t) return mc.take_along_axis(order, t:to 'i64', { axis = 2 }) end
  return at(low), at(mc.ceil(place)), weight, mc.broadcast_to(none, place.shape)
end

local function quantile(g, x, _, p)
  local rows, restore = rows_of(x[1], p)
  if g:numel() == 0 then return { mc.zeros(x[1].shape, { dtype = g.dtype, device = g.device }) } end
  local low, high, weight, none = neighbours(rows, p)
  local back = g:reshape { weight.shape[2], weight.shape[1] }.T
  weight = weight:to(g.dtype)
  back = mc.where(none, 0, back)
  local out = home(back * (1 - weight), rows, low, 2)
  return { restore(mc.scatter_add(out, high, back * weight, { axis = 2 })) }
end
R.median, R.select_quantile = quantile, quantile

local function quantile_forward(t, x, y, p)
  local rows, _, as_rows = rows_of(x[1], p)
  if y[1]:numel() == 0 then return { mc.zeros(y[1].shape, { dtype = y[1].dtype, device = y[1].device }) } end
  local low, high, weight = neighbours(rows, p)
  local d = x[1].ndim == 0 and t[1]:reshape { 1, 1 } or as_rows(t[1])
  weight = weight:to(d.dtype)
  local function at(k) return mc.take_along_axis(d, k, { axis = 2 }) end
  return { (at(low) * (1 - weight) + at(high) * weight).T:reshape(y[1].shape) }
end
forward.median, forward.select_quantile = quantile_forward, quantile_forward

return { reverse = R, forward = forward }
