-- reduce.lua - derivatives of reductions and of softmax.
--
-- Form of a rule: rules/init.lua; p.axes lists the reduced axes (all when nil). Elements that NaN-skipping reductions
-- leave out get nothing. Equal largest elements share. Source of the moments: differentiation of sum (x - mean)^k / n.
local mc = require 'mascon.array'
local axes = require 'mascon.rules.axes'
local chain = require 'mascon.rules.chain'

local R, forward = {}, {}
local back, over, count, but, conj = axes.back, axes.over, axes.count, chain.but, chain.conj

--- Everywhere in x the number that belongs to its reduced group.
local function spread(t, x) return mc.broadcast_to(t, x.shape) end

-- ---------------------------------------------------------------- sums and means

R.sum = function(g, x, _, p) return { spread(back(g, x[1], p), x[1]) } end
R.mean = function(g, x, _, p) return { spread(back(g, x[1], p) / count(x[1], p), x[1]) } end
R.nansum = function(g, x, _, p) return { mc.where(mc.isnan(x[1]), 0, back(g, x[1], p)) } end

local COUNTED_IN = { f16 = 'f32', bf16 = 'f32', c64 = 'f32', c128 = 'f64' } -- halves count to 2048 at most
--- How many elements of each group are numbers, as a float.
local function present(x, p)
  return over(mc.sum, mc.logical_not(mc.isnan(x)):to(COUNTED_IN[x.dtype] or x.dtype), p)
end
R.nanmean = function(g, x, _, p)
  return { mc.where(mc.isnan(x[1]), 0, back(g, x[1], p) / present(x[1], p)) }
end

-- ---------------------------------------------------------------- products

-- sum of conj(a) b (dot: a b) along an axis that both operands count from their end
R.vecdot = function(g, x, _, p)
  local a, b = x[1], x[2]
  g = g:expand_dims(math.max(a.ndim, b.ndim) + tonumber(p.raw.axes[0]) + 1)
  if p.raw.i[0] ~= 0 then return { function() return g * conj(b) end, function() return g * conj(a) end } end
  return { function() return conj(g) * b end, function() return g * a end }
end

--- The product of the others along one axis: from the front times from the end, so that zeros do no harm.
local function others(x, axis)
  local flipped = mc.flip(x, axis)
  local function before(t) return mc.cumprod(axes.shifted(t, axis, 1, 1), axis) end
  return before(x) * mc.flip(before(flipped), axis)
end

--- x with its reduced axes joined to one at the end, and the way back.
local function joined(x, p)
  local gone, order, shape, rest = {}, {}, {}, 1
  for _, a in ipairs(p.axes or {}) do gone[a] = true end
  for i = 1, x.ndim do if p.axes and not gone[i] then order[#order + 1] = i end end
  for i = 1, #order do rest = rest * x.shape[order[i]] end
  for i = 1, x.ndim do if not p.axes or gone[i] then order[#order + 1] = i end end
  for i, a in ipairs(order) do shape[i] = x.shape[a] end
  local rows = mc.permute_dims(x, order):reshape { rest, count(x, p) }
  return rows, function(t)
    local inverse = {}
    for i, a in ipairs(order) do inverse[a] = i end
    return mc.permute_dims(t:reshape(shape), inverse)
  end
end

local function prod(g, x, p)
  if x.ndim == 0 then return g end
  if p.axes and #p.axes == 0 then return g end
  local d
  if p.axes and #p.axes == 1 then
    d = others(x, p.axes[1])
  else
    local rows, restore = joined(x, p)
    d = restore(others(rows, 2))
  end
  return back(g, x, p) * conj(d)
end
R.prod = function(g, x, _, p) return { prod(g, x[1], p) } end
R.nanprod = function(g, x, _, p)
  local none = mc.isnan(x[1])
  return { mc.where(none, 0, prod(g, mc.where(none, 1, x[1]), p)) }
end

-- ---------------------------------------------------------------- extremes

R.max = function(g, x, y, p)
  local hit = mc.eq(x[1], back(y[1], x[1], p)):to(g.dtype)
  return { hit * (back(g, x[1], p) / mc.maximum(over(mc.sum, hit, p), 1)) }
end
R.min, R.nanmax, R.nanmin = R.max, R.max, R.max

-- ---------------------------------------------------------------- moments

local function centred(x, p) return x - over(mc.mean, x, p) end
R.var = function(g, x, _, p) return { back(g, x[1], p) * centred(x[1], p) * (2 / (count(x[1], p) - p.correction)) } end
R.std = function(g, x, y, p)
  local s = but(back(y[1], x[1], p), 0, 1)
  return { back(g, x[1], p) / s * centred(x[1], p) * (1 / (count(x[1], p) - p.correction)) }
end
local function nancentred(x, p)
  local none = mc.isnan(x)
  local n = present(x, p)
  local whole = mc.where(none, 0, x)
  return mc.where(none, 0, whole - over(mc.sum, whole, p) / n), n
end
R.nanvar = function(g, x, _, p)
  local c, n = nancentred(x[1], p)
  return { mc.multiply_no_nan(back(g, x[1], p) * (2 / (n - p.correction)), c) }
end
R.nanstd = function(g, x, y, p)
  local c, n = nancentred(x[1], p)
  local s = but(back(y[1], x[1], p), 0, 1)
  return { mc.multiply_no_nan(back(g, x[1], p) / (s * (n - p.correction)), c) }
end

--- Standard scores, the standard deviation and the mean of the k-th powers of the scores.
local function scores(x, p, k)
  local c = centred(x, p)
  local s = mc.sqrt(over(mc.mean, c * c, p))
  local z = c / s
  return z, s, over(mc.mean, mc.pow(z, k), p)
end
R.skew = function(g, x, _, p)
  local n = count(x[1], p)
  local z, s, g1 = scores(x[1], p, 3)
  local factor = 3 / n
  if not p.bias then factor = factor * math.sqrt(n * (n - 1)) / (n - 2) end
  return { back(g, x[1], p) * (z * z - 1 - g1 * z) / s * factor }
end
R.kurtosis = function(g, x, _, p)
  local n = count(x[1], p)
  local z, s, m4 = scores(x[1], p, 4)
  local z3 = z * z * z
  local factor = 4 / n
  if not p.bias then factor = factor * (n - 1) * (n + 1) / ((n - 2) * (n - 3)) end
  return { back(g, x[1], p) * (z3 - over(mc.mean, z3, p) - m4 * z) / s * factor }
end

-- ---------------------------------------------------------------- exponentials that add up to 1

R.logsumexp = function(g, x, y, p)
  local top = back(y[1], x[1], p)
  return { back(g, x[1], p) * mc.exp(x[1] - mc.where(mc.eq(top, -math.huge), 0, top)) }
end
R.softmax = function(g, x, y, p)
  local gy = g * y[1]
  return { gy - y[1] * over(mc.sum, gy, p) }
end
R.log_softmax = function(g, x, y, p) return { g - mc.exp(y[1]) * over(mc.sum, g, p) } end

forward.sum, forward.mean = 'linear', 'linear'

return { reverse = R, forward = forward }
