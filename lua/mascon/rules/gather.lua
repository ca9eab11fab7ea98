-- gather.lua - derivatives of elements picked and put by position, and of segments.
--
-- Form of a rule: rules/init.lua. Positions are constants, in the base of the call (p.base), negative ones from the
-- end. What was picked several times gets the sum; of values put to one place only the last one counts. Equal extremes
-- share.
local mc = require 'mascon.array'
local axes = require 'mascon.rules.axes'
local chain = require 'mascon.rules.chain'

local R, forward = {}, {}
local conj = chain.conj

local function zeros(shape, g) return mc.zeros(shape, { dtype = g.dtype, device = g.device }) end

-- ---------------------------------------------------------------- slices

--- Positions that count from 1 (or from the end).
local function from_one(index, base) return base == 0 and mc.where(mc.lt(index, 0), index, index + 1) or index end

-- positions may be known only when the function runs: sums by segment look at none
R.take = function(g, x, _, p)
  local t = x[1]
  if t.ndim == 0 then return { mc.sum(g) } end
  local axis, base = axes.axis(p, 1), p.base or 1
  local n, at, many = t.shape[axis], x[2]:to 'i64', x[2].ndim
  at = mc.where(mc.lt(at, 0), at + (n + base), at)
  if many ~= 1 then -- the axes of the positions stand in the place of one
    local shape = {}
    for i = 1, axis - 1 do shape[i] = g.shape[i] end
    shape[axis] = at:numel()
    for i = axis + many, g.ndim do shape[#shape + 1] = g.shape[i] end
    at, g = at:reshape { at:numel() }, g:reshape(shape)
  end
  return { mc.segment_sum(g, at, { num_segments = n, axis = axis, base = base }) }
end
forward.take = function(t, x, _, p) return { mc.take(t[1], x[2], { axis = p.axes and p.axes[1], base = p.base }) } end

-- ---------------------------------------------------------------- elements along an axis

local function options(x, p) return { axis = axes.axis(p, x.ndim), base = p.base } end

--- The part of t that a smaller index reaches.
local function within(t, index, axis)
  local key, all = {}, true
  for i = 1, t.ndim do
    local whole = i == axis or index.shape[i] == t.shape[i]
    key[i] = whole and mc.all or { 1, index.shape[i] }
    all = all and whole
  end
  return all and t or t[key], not all and key or nil
end
local function picked(t, index, o) return mc.take_along_axis(within(t, index, o.axis), index, o) end

R.take_along_axis = function(g, x, _, p)
  local t, index, o = x[1], x[2], options(x[1], p)
  local c = mc.scatter_add(zeros(axes.with_size(index, o.axis, t.shape[o.axis]), g), index, g, o)
  local spread = { keepdim = true }
  for i = 1, t.ndim do if i ~= o.axis and t.shape[i] == 1 and index.shape[i] ~= 1 then spread[#spread + 1] = i end end
  return { #spread > 0 and mc.sum(c, spread) or c }
end
forward.take_along_axis = function(t, x, _, p) return { mc.take_along_axis(t[1], x[2], options(x[1], p)) } end

--- 1, 2, ... along an axis, the same everywhere else, in the shape of t.
local function numbered(t, axis)
  local shape = {}
  for i = 1, t.ndim do shape[i] = i == axis and t.shape[i] or 1 end
  return mc.broadcast_to(mc.arange(1, t.shape[axis], 1, { dtype = 'i64', device = t.device }):reshape(shape), t.shape)
end

-- of values put to the same place the last one counts: each leaves its number there
R.put_along_axis = function(g, x, _, p)
  local index, o = x[2], options(x[1], p)
  return {
    function() return mc.put_along_axis(g, index, 0, o) end, nil,
    function()
      local numbers = numbered(index, o.axis)
      local left = mc.put_along_axis(mc.zeros(g.shape, { dtype = 'i64', device = g.device }), index, numbers, o)
      return mc.where(mc.eq(picked(left, index, o), numbers), picked(g, index, o), 0)
    end,
  }
end
R.scatter_add = function(g, x, _, p)
  return { g, nil, function() return picked(g, x[2], options(x[1], p)) end }
end

-- ---------------------------------------------------------------- products of groups

--- For elements e whose groups `ids` stand sorted along an axis: the product of the others of the group, by recurrences
--- from both ends.
local function others_of_group(e, ids, axis)
  local function side(up)
    local k = up and 1 or -1
    local same = mc.eq(ids, axes.shifted(ids, axis, k, -1))
    local factor = mc.where(same, axes.shifted(e, axis, k, 1), 0)
    local ones = mc.ones(e.shape, { dtype = e.dtype, device = e.device })
    return mc.linear_recurrence(factor, mc.where(same, 0, ones), { axis = axis, reverse = not up })
  end
  return side(true) * side(false)
end

-- ---------------------------------------------------------------- scatter_reduce

--- Places of x to which no value came.
local function untouched(x, index, o)
  return mc.put_along_axis(mc.ones(x.shape, { dtype = 'bool', device = x.device }), index, false, o)
end

local SCATTER = {}
function SCATTER.sum(g, x, _, p, o)
  return p.include_self and g or mc.where(untouched(x[1], x[2], o), g, 0), picked(g, x[2], o)
end
function SCATTER.mean(g, x, _, p, o)
  local own = mc.full(g.shape, p.include_self and 1 or 0, { dtype = 'f64', device = g.device })
  local n = mc.maximum(mc.scatter_add(own, x[2], mc.ones(x[2].shape, { device = x[2].device }), o), 1)
  local share = g * (1 / n):to(g.dtype)
  return p.include_self and share or mc.where(untouched(x[1], x[2], o), g, 0), picked(share, x[2], o)
end
function SCATTER.max(g, x, y, p, o)
  local own = mc.eq(x[1], y[1])
  if not p.include_self then own = mc.logical_and(own, untouched(x[1], x[2], o)) end
  local given = mc.eq(x[3], picked(y[1], x[2], o)):to(g.dtype)
  own = own:to(g.dtype)
  local share = g / mc.maximum(mc.scatter_add(own, x[2], given, o), 1)
  return own * share, given * picked(share, x[2], o)
end
SCATTER.min = SCATTER.max
function SCATTER.prod(g, x, _, p, o)
  local t, index, axis = x[1], x[2], o.axis
  local n = p.include_self and t.shape[axis] or 0
  local values = mc.broadcast_to(x[3]:to(t.dtype), index.shape)
  local ids = from_one(index:to 'i64', p.base)
  ids = mc.where(mc.lt(ids, 0), ids + t.shape[axis] + 1, ids)
  local part, key = within(t, index, axis)
  local e, all = values, ids
  if n > 0 then
    e = mc.concat({ part, values }, axis)
    all = mc.concat({ numbered(part, axis), ids }, axis)
  end
  local order = mc.argsort(all, { axis = axis, stable = true })
  local along = { axis = axis }
  local others = others_of_group(mc.take_along_axis(e, order, along), mc.take_along_axis(all, order, along), axis)
  others = mc.take_along_axis(others, mc.argsort(order, along), along)
  local c = mc.take_along_axis(within(g, index, axis), all, along) * conj(others)
  local last = c.shape[axis]
  local to_values = last > n and axes.slab(c, axis, n + 1, last) or c
  if n == 0 then return mc.where(untouched(t, index, o), g, 0), to_values end
  local to_x = axes.slab(c, axis, 1, n)
  if key then
    local whole = g:copy()
    whole[key] = to_x
    to_x = whole
  end
  return to_x, to_values
end

R.scatter_reduce = function(g, x, y, p)
  if x[2]:numel() == 0 then return { g, nil, zeros(x[3].shape, g) } end
  local to_x, to_values = SCATTER[p.reduce](g, x, y, p, options(x[1], p))
  return { to_x, nil, to_values }
end

-- ---------------------------------------------------------------- segments

local function segments(p) return { axis = axes.axis(p, 1), base = p.base } end
--- One number for each segment as a shape that broadcasts along the axis.
local function upright(t, like, axis)
  local shape = {}
  for i = 1, like.ndim do shape[i] = i == axis and t.shape[1] or 1 end
  return t:reshape(shape)
end

R.segment_sum = function(g, x, _, p) return { mc.take(g, x[2], segments(p)) } end
R.segment_mean = function(g, x, _, p)
  local o = segments(p)
  local ones = mc.ones(x[2].shape, { device = x[2].device })
  local n = mc.segment_sum(ones, x[2], { num_segments = g.shape[o.axis], base = o.base })
  return { mc.take(g * upright(1 / mc.maximum(n, 1), g, o.axis):to(g.dtype), x[2], o) }
end
R.segment_max = function(g, x, y, p)
  local o = segments(p)
  local hit = mc.eq(x[1], mc.take(y[1], x[2], o)):to(g.dtype)
  local ties = mc.segment_sum(hit, x[2], { num_segments = g.shape[o.axis], axis = o.axis, base = o.base })
  return { hit * mc.take(g / mc.maximum(ties, 1), x[2], o) }
end
R.segment_min = R.segment_max
R.segment_prod = function(g, x, _, p)
  local o = segments(p)
  local order = mc.argsort(x[2])
  local along = { axis = o.axis }
  local ids = mc.broadcast_to(upright(mc.take(x[2], order), x[1], o.axis), x[1].shape)
  local others = others_of_group(mc.take(x[1], order, along), ids, o.axis)
  return { mc.take(g, x[2], o) * conj(mc.take(others, mc.argsort(order), along)) }
end

R.bincount_weighted = function(g, x) return { nil, mc.take(g, x[1], { axis = 1, base = 0 }) } end

return { reverse = R, forward = forward }
