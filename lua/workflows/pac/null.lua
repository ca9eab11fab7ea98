-- null.lua - what the results say of surrogates kept on a device: mean and spread, exceedances, largest values, raw and
-- on the scale of each point of the circle of shifts (null.h says the same for one pair at a time).
local mc = require 'mascon'
local M = {}

local SPREAD = 8

--- Mean and squared deviations [jobs, P, A] f64 of the surrogates that lie far enough from shift 0, and how many of all
--- reach the value.
local function moments(all, value, far, K)
  local some = all
  if #far < K then some = mc.take(all, mc.tensor(far, { dtype = 'i64' }):to(all.device), 2) end
  some = some:to 'f64'
  local mean = mc.mean(some, 2)
  local m2 = mc.sum((some - mean:expand_dims(2)) ^ 2, 2)
  m2 = mc.where(mc.eq(mc.max(some, 2), mc.min(some, 2)), 0, m2)
  local exceed = mc.sum(mc.ge(all, value:expand_dims(2)):to 'i64', 2)
  local bad = mc.logical_not(mc.logical_and(mc.isfinite(value), mc.isfinite(mean)))
  return mc.where(bad, mc.nan, mean), mc.where(bad, mc.nan, m2), mc.where(bad, K, exceed), bad
end

--- For each point of the circle, the value and the surrogates by their shifts: the points [lo, hi) around it that are
--- closer than `near`, as places of running sums that repeat after n.
local function surroundings(shift, L, near)
  local n, lo, hi = #shift, {}, {}
  local function at(j)
    if j < 0 then return shift[j + n + 1] - L elseif j >= n then return shift[j - n + 1] + L end
    return shift[j + 1]
  end
  local a, b = 1 - n, 1 - n
  for i = 0, n - 1 do
    local c = shift[i + 1]
    while a < i and at(a) <= c - near do a = a + 1 end
    if b < a then b = a end
    while b < a + n and at(b) < c + near do b = b + 1 end
    lo[i + 1], hi[i + 1] = a, b
  end
  return lo, hi
end

--- The value and the surrogates of each pair, each on the scale of those far from it: z f64 [jobs, n, P, A] by shifts.
local function standardised(all, value, order, shift, L, near)
  local n, d = #order + 1, all.device
  local function places(list) return mc.tensor(list, { dtype = 'i64' }):to(d) end
  local x = mc.take(all, places(order), 2):to 'f64' - value:to('f64'):expand_dims(2)
  local zero = mc.zeros({ x.shape[1], 1, x.shape[3], x.shape[4] }, { device = d })
  x = mc.concat({ zero, x }, 2)
  local function running(t) return mc.concat({ zero, mc.cumsum(t, 2) }, 2) end
  local sum, square = running(x), running(x * x)
  local function last(t) return t[{ mc.all, { n + 1, n + 1 } }] end
  local a, b, rest = last(sum), last(square), mc.full({ 1, n, 1, 1 }, n, { device = d })
  local whole = b
  if near > 0 then
    local lo, hi = surroundings(shift, L, near)
    local count, below, above, turn_lo, turn_hi = {}, {}, {}, {}, {}
    for i = 1, n do
      count[i] = n - (hi[i] - lo[i])
      turn_lo[i], turn_hi[i] = lo[i] < 0 and -1 or lo[i] >= n and 1 or 0, hi[i] < 0 and -1 or hi[i] >= n and 1 or 0
      below[i], above[i] = lo[i] - turn_lo[i] * n + 1, hi[i] - turn_hi[i] * n + 1
    end
    local function axis(list) return mc.tensor(list):to(d):reshape(1, n, 1, 1) end
    local p, q, tp, tq = places(below), places(above), axis(turn_lo), axis(turn_hi)
    local function inside(t, all_of) return mc.take(t, q, 2) + all_of * tq - mc.take(t, p, 2) - all_of * tp end
    rest = axis(count)
    a, b = a - inside(sum, a), b - inside(square, b)
  end
  local m = a / rest
  local mean_square = b / rest
  local var = mean_square - m * m
  local some = mc.gt(var, mean_square * 1e-13)
  local z = mc.where(some, (x - m) / mc.sqrt(mc.where(some, var, 1)), mc.where(mc.gt(x, m), math.huge, -math.huge))
  z = mc.where(mc.lt(rest, 2), math.huge, z)
  z = mc.where(mc.eq(whole, 0), -math.huge, z)
  return z, mc.logical_not(mc.isfinite(whole))
end

--- The largest over all pairs, -inf where there is none: [jobs, K] of [jobs, K, P, A].
local function largest(s, dtype)
  return mc.max(mc.where(mc.isnan(s), -math.huge, s), { 3, 4 }):to(dtype)
end

--- Results in the order of the bits of `want`: those that are there and what the surrogates add.
---@param ordered function
---@param results table { bit, function } of the observed value
---@param value any [jobs, P, A]
---@param status any i32 [jobs, P, A]
---@param all any|nil [jobs, K, P, A]
---@param list number[] their shifts
---@param v table parameters of the op: near
---@param want integer
---@param L integer
function M.add(ordered, results, value, status, all, list, v, want, L)
  local K, near, out = #list, v.near or 0, {}
  for i, r in ipairs(results) do out[i] = r end
  if not all or K == 0 then
    out[#out + 1] = { 64, function() return status end }
    return ordered(want, out)
  end
  local dtype, far, close, order = value.dtype, {}, {}, {}
  for k, c in ipairs(list) do
    order[k] = k
    if c >= near and c <= L - near then far[#far + 1] = k end
  end
  local mean, m2, exceed, bad = moments(all, value, far, K)
  if K > 1 then
    local equal = mc.logical_and(mc.eq(m2, 0), mc.logical_not(bad))
    status = mc.bitwise_or(status, mc.where(equal, SPREAD, 0):to 'i32')
  end
  local z, spoiled, places
  local function circle()
    if z then return z end
    table.sort(order, function(i, j) return list[i] < list[j] or list[i] == list[j] and i < j end)
    local shift = { 0 }
    places = {}
    for i, k in ipairs(order) do
      shift[i + 1], places[k] = list[k], i + 1
      if list[k] < near or list[k] > L - near then close[#close + 1] = i + 1 end
    end
    z, spoiled = standardised(all, value, order, shift, L, near)
    return z
  end
  local function taken(t, list_of) return mc.take(t, mc.tensor(list_of, { dtype = 'i64' }):to(t.device), 2) end
  for _, r in ipairs {
    { 64, function() return status end },
    { 128, function() return mean end },
    { 256, function() return m2 end },
    { 512, function() return exceed:to 'i64' end },
    { 1024, function() return largest(all, dtype) end },
    { 2048, function() return all end },
    { 4096, function()
      circle()
      local top = mc.where(spoiled, -math.huge, taken(z, places))
      if #close > 0 and (v.near_count or 0) > 0 and math.floor(want / 16384) % 2 == 1 then
        local out_of = {}
        for k, c in ipairs(list) do out_of[k] = (c < near or c > L - near) and 1 or 0 end
        top = mc.where(mc.tensor(out_of, { dtype = 'bool' }):to(all.device):reshape(1, K, 1, 1), -math.huge, top)
      end
      return largest(top, dtype)
    end },
    { 8192, function()
      local mine = circle()[{ mc.all, 1 }]
      return mc.where(spoiled:reshape(mine.shape), mc.nan, mine):to(dtype)
    end },
    { 16384, function()
      circle()
      return mc.where(spoiled, -math.huge, taken(z, close)):to(dtype)
    end },
  } do out[#out + 1] = r end
  return ordered(want, out)
end

return M
