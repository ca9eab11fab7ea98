-- scan.lua - derivatives of running sums, products, extremes and sums of exponentials.
--
-- Form of a rule: rules/init.lua. Products and exponentials are linear recurrences backwards, which need no division; a
-- recurrence's own cotangents are a recurrence the other way. Running extremes give their cotangents to the element
-- that was first to reach them.
local mc = require 'mascon.array'
local axes = require 'mascon.rules.axes'
local chain = require 'mascon.rules.chain'

local R, forward = {}, {}

--- Sums from each element to the end.
local function sums_behind(t, axis) return mc.flip(mc.cumsum(mc.flip(t, axis), axis), axis) end

R.cumsum = function(g, x, _, p)
  if x[1].ndim == 0 then return { g } end
  return { sums_behind(g, axes.axis(p, 1)) }
end
forward.cumsum = 'linear'

-- product of those before times S, S[i] = g[i] + x[i + 1] S[i + 1]
R.cumprod = function(g, x, _, p)
  if x[1].ndim == 0 then return { g } end
  local axis = axes.axis(p, 1)
  local t = chain.conj(x[1])
  local behind = mc.linear_recurrence(axes.shifted(t, axis, -1, 0), g, { axis = axis, reverse = true })
  return { behind * mc.cumprod(axes.shifted(t, axis, 1, 1), axis) }
end

-- S[i] = g[i] + conj(a[i + 1]) S[i + 1] reaches b; a[i] met y[i - 1]
R.linear_recurrence = function(g, x, y, p)
  local axis, way = axes.axis(p, 1), p.reverse and -1 or 1
  local a = mc.broadcast_to(x[1], y[1].shape)
  local s =
    mc.linear_recurrence(axes.shifted(chain.conj(a), axis, -way, 0), g, { axis = axis, reverse = not p.reverse })
  return { function() return chain.times(s, axes.shifted(y[1], axis, way, 0)) end, s }
end
forward.linear_recurrence = function(t, x, y, p)
  local axis = axes.axis(p, 1)
  local d = t[1] and t[1] * axes.shifted(y[1], axis, p.reverse and -1 or 1, 0)
  if t[2] then d = d and d + t[2] or mc.broadcast_to(t[2], y[1].shape) end
  return { mc.linear_recurrence(x[1], d, { axis = axis, reverse = p.reverse }) }
end

-- Elements that tie share alike, as in max: y is constant over runs; within a run, result i goes in equal parts to the
-- elements up to i that equal it. n[i] counts them, s[j] sums what results from j on owe to each.
local function same(a, b) return mc.logical_or(mc.eq(a, b), mc.logical_and(mc.ne(a, a), mc.ne(b, b))) end
R.cummax = function(g, x, y, p)
  local t = x[1]
  if t.ndim == 0 then return { g } end
  local axis, way = axes.axis(p, 1), p.reverse and -1 or 1
  local function number(v) return v:to { dtype = g.dtype } end
  local hit = number(same(t, y[1]))
  local goes_on = number(same(y[1], axes.shifted(y[1], axis, way, 0)))
  local n = mc.linear_recurrence(goes_on, hit, { axis = axis, reverse = p.reverse })
  local s = mc.linear_recurrence(axes.shifted(goes_on, axis, -way, 0), g / mc.maximum(n, 1),
    { axis = axis, reverse = not p.reverse })
  return { hit * s }
end
R.cummin = R.cummax

-- exp(x[i] - y[i]) V, V[i] = g[i] + exp(y[i] - y[i + 1]) V[i + 1]: both exponents are at most 0
R.logcumsumexp = function(g, x, y, p)
  local t = x[1]
  if t.ndim == 0 then return { g } end
  local axis = axes.axis(p, 1)
  local low = -math.huge
  -- before the first finite element y is -inf, and nothing comes through
  local top = mc.where(mc.eq(y[1], low), 0, y[1])
  local next_y = axes.shifted(y[1], axis, p.reverse and 1 or -1, low)
  local next_top = mc.where(mc.eq(next_y, low), 0, next_y)
  local factor = mc.where(mc.logical_or(mc.eq(y[1], low), mc.eq(next_y, low)), 0, mc.exp(top - next_top))
  return { mc.exp(t - top) * mc.linear_recurrence(factor, g, { axis = axis, reverse = not p.reverse }) }
end

return { reverse = R, forward = forward }
