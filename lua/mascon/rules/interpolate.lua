-- interpolate.lua - derivatives of values between knots and of the tridiagonal systems of splines.
--
-- Which piece a place lies in is constant; within it everything is differentiable: places, knots and values. Form of a
-- rule: see init.lua.
local mc = require 'mascon.array'
local recording = require 'mascon.graph.recording'

local R = {}

--- Piece (1-based, of k - 1) of each place.
local function piece(knots, x)
  return mc.clip(mc.searchsorted(knots, x, { right = true }) - 1, 1, math.max(knots.shape[1] - 1, 1))
end

--- Sums of t by position (any shape) among n.
local function collected(t, at, n) return mc.segment_sum(t:reshape(-1), at:reshape(-1), { num_segments = n }) end

-- ---------------------------------------------------------------- broken lines

R.interp = function(g, x, _, p)
  local k, dtype = x[2].shape[1], g.dtype
  local at, knots, values = x[1]:to(dtype), x[2]:to(dtype), x[3]:to(dtype)
  local left, right = p.raw.i[0] ~= 0, p.raw.i[1] ~= 0
  local below, above = mc.lt(at, knots[1]), mc.gt(at, knots[k])
  local none = mc.zeros_like(at)
  if k == 1 then
    local w = mc.where(below, left and 0 or 1, mc.where(above, right and 0 or 1, 1)):to(dtype)
    return { none, mc.zeros_like(knots), mc.sum(g * w):reshape(1) }
  end
  local inside = mc.logical_not(mc.logical_or(below, above))
  local j = piece(knots, at)
  local x0, v0 = mc.take(knots, j), mc.take(values, j)
  local h = mc.take(knots, j + 1) - x0
  h = mc.where(mc.eq(h, 0), 1, h)
  local slope = mc.where(inside, (mc.take(values, j + 1) - v0) / h, 0)
  local t = mc.where(inside, (at - x0) / h, 0)
  local w0 = mc.where(inside, 1 - t, mc.where(below, left and 0 or 1, 0))
  local w1 = mc.where(inside, t, mc.where(above, right and 0 or 1, 0))
  local function spread(c, first, second)
    return collected(c * first, j, k) + collected(c * second, j + 1, k)
  end
  local gx = g * slope
  return { gx, function() return -spread(gx, 1 - t, t) end, function() return spread(g, w0, w1) end }
end

-- ---------------------------------------------------------------- piecewise polynomials

R.ppoly = function(g, x, _, p)
  local dtype, k, c = g.dtype, x[2].shape[1], x[3].shape[1]
  local at, knots = x[1]:to(dtype), x[2]:to(dtype)
  local places, others = at:numel(), 1
  for i = 3, x[3].ndim do others = others * x[3].shape[i] end
  local nu = tonumber(p.raw.i[0])
  local gr = g:reshape { places, others }
  local j = piece(knots, at):reshape(-1)
  local function gx()
    local next_ = recording.params(p.raw)
    next_.i[0] = nu + 1
    local slope = recording.call(p.row, 1, { at, knots, x[3]:to(dtype) }, next_)[1]
    return mc.sum(gr * slope:reshape { places, others }, 2)
  end
  local function coefficients()
    -- d^nu of (x - knot)^e for e = c - 1 .. 0
    local d = (at:reshape(-1) - mc.take(knots, j)):reshape { 1, places }
    local factor, power = {}, {}
    for i = 1, c do
      local e, f = c - i, 1
      for s = 0, nu - 1 do f = f * (e - s) end
      factor[i], power[i] = f, math.max(e - nu, 0)
    end
    local function column(list) return mc.tensor(list, { dtype = dtype, device = d.device }):reshape { c, 1 } end
    local powers = mc.pow(d, column(power)) * column(factor)
    local terms = powers:expand_dims(-1) * gr:expand_dims(1)
    return mc.segment_sum(terms, j, { num_segments = k - 1, axis = 2 }):reshape { unpack(x[3].shape) }
  end
  return {
    function() return gx():reshape { unpack(x[1].shape) } end,
    function() return -mc.pad(collected(gx(), j, k - 1), { { 0, 1 } }) end, -- the last knot only ends a piece
    coefficients,
  }
end

-- ---------------------------------------------------------------- tridiagonal systems

--- Rows of a stack of bands moved along the axis, zeros coming in.
local function down(t) return mc.concat({ mc.zeros_like(t['1:1']), t[':-2'] }, 1) end
local function up(t) return mc.concat({ t['2:'], mc.zeros_like(t['1:1']) }, 1) end

R.tridiagonal = function(g, x, y, p)
  local bands, n = x[1], x[1].shape[2]
  if n == 0 then return {} end
  -- row i of the transposed: what stands above it in column i, the diagonal, what stands below
  local turned = mc.stack { down(bands[3]), bands[2], up(bands[1]) }
  local h = recording.call(p.row, 1, { turned, g }, p.raw)[1]
  local function band(shifted)
    local t = h * shifted
    local axes = {}
    for i = 2, t.ndim do axes[#axes + 1] = i end
    return #axes > 0 and mc.sum(t, axes) or t
  end
  local function of_bands() return -mc.stack { band(down(y[1])), band(y[1]), band(up(y[1])) } end
  return { of_bands, h }
end

return { reverse = R }
