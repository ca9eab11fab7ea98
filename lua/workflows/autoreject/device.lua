-- device.lua - the ops ar_* as tensor operations, for devices with programs of their own: what autoreject.h says of
-- each, by the same formulas.
--
-- Samples stay on the device, results too. Means of growing numbers of rows are running sums, means of levels products
-- with rows of zeros and ones, medians sorts over rows. Everything is computed in f64. Channels or epochs are taken in
-- portions that keep what stands between two steps bounded. Several devices share the portions: samples then lie in
-- host memory, and results come there.
--
-- M[name](list, values, team): team is nil, or { devices = numbers, kept = function } of stages.lua.
local mc = require 'mascon'
local portions = require 'mascon.base.portions'
local tensor = require 'mascon.core.tensor'
local M = {}

local function beside(t, x) return tensor.moved(t, x._device, 3) end
local function i64(list, x) return beside(mc.tensor(list, { dtype = 'i64' }), x) end

--- Samples of the picked channels of epochs first .. last (all of them), f64 [e, C, T], on the device of a portion.
local function samples(x, picks, number, team, first, last)
  local function part()
    local some = x
    if first and (first > 1 or last < x.shape[1]) then some = x[{ { first, last } }] end
    return tensor.moved(mc.take(some, beside(picks, x), { axis = 2, base = 0 }), number, 3)
  end
  return (team and team.kept(x, number, part, picks, first, last) or part()):to 'f64'
end

--- portions.joined over the devices of a team, or on that of x; f(first, last, number).
local function joined(x, team, n, bytes, f, axes)
  return portions.joined(n, bytes, function(a, b, number) return f(a, b, number or x._device) end, axes,
    team and team.devices)
end

--- An operand on each device that takes part, by number.
local function everywhere(t, x, team)
  local there = {}
  for _, number in ipairs(team and team.devices or { x._device }) do
    there[number] = there[number] or tensor.moved(t, number, 3)
  end
  return there
end

--- Largest minus smallest along the last axis, NaN where a value is not finite.
local function range(y)
  local last = y.ndim
  return mc.where(mc.all(mc.isfinite(y), last), mc.max(y, last) - mc.min(y, last), mc.nan)
end

--- The lists of rows that `at` cuts out of `rows`, as Lua numbers from 0.
local function lists(at, rows)
  local out, first, all = {}, at:to('cpu'):totable(), rows:to('cpu'):totable()
  for f = 1, #first - 1 do
    out[f] = {}
    for i = first[f] + 1, first[f + 1] do out[f][i - first[f]] = all[i] end
  end
  return out
end

--- Median over rows of t [m, rows, T]: [m, T].
local function median(t) return mc.median(t:permute_dims(1, 3, 2):contiguous(), 3) end

--- Rows of each channel, t [C, N, T], picked by lists index [C, n] from 0: [C, n, T].
local function picked(t, index)
  local C, N, T = t.shape[1], t.shape[2], t.shape[3]
  local base = beside(mc.arange(0, C - 1, 1, { dtype = 'i64' }), t) * N
  local flat = (index + base:reshape(C, 1)):reshape(-1)
  return mc.take(t:reshape(C * N, T), flat, { axis = 1, base = 0 }):reshape(C, -1, T)
end

-- ---------------------------------------------------------------- ranges, mixtures

function M.ar_range(list, _, team)
  local x, picks = list[1], list[2]
  local E, per = x.shape[1], 16 * picks:numel() * x.shape[3]
  return joined(x, team, E, per, function(a, b, on) return { range(samples(x, picks, on, team, a, b)) } end)
end

--- What is wanted of weighted sums y.
local function wanted(want, y, turned)
  local out = {}
  if want % 2 == 1 then out[#out + 1] = turned and y:permute_dims(2, 1, 3):contiguous() or y end
  if want >= 2 then out[#out + 1] = range(y) end
  return out
end

function M.ar_mix(list, v, team)
  local x, picks = list[1], list[2]
  local C, T, E = picks:numel(), x.shape[3], x.shape[1]
  local W = everywhere(list[3]:reshape(-1, C), x, team)
  if list[4]:numel() == 0 then
    return joined(x, team, E, 16 * C * T + 16 * T * list[3]:numel() / C, function(a, b, on)
      return wanted(v.want, mc.matmul(W[on], samples(x, picks, on, team, a, b)), true)
    end, { v.want % 2 == 1 and 2 or 1 })
  end
  -- rows of each epoch side by side, in as many as the epoch with most of them has
  local first = list[4]:to('cpu'):totable()
  local most = 1
  for e = 1, E do most = math.max(most, first[e + 1] - first[e]) end
  return joined(x, team, E, 16 * (C + most) * T, function(a, b, on)
    local from, at, n = {}, {}, 0
    for e = a, b do
      for k = 1, most do
        local r = first[e] + k
        n = n + 1
        from[n] = r <= first[e + 1] and r or 1 -- what is not a row is not taken
        if r <= first[e + 1] then at[#at + 1] = n end
      end
    end
    if #at == 0 then return {} end
    local rows = mc.take(W[on], i64(from, W[on]), 1):reshape(b - a + 1, most, C)
    local y = mc.matmul(rows, samples(x, picks, on, team, a, b)):reshape(-1, T)
    return wanted(v.want, mc.take(y, i64(at, y), 1))
  end)
end

-- ---------------------------------------------------------------- growing means

--- Training rows of each channel in the order of their rank: i64 [C, n] from 0. order [C, N].
local function trained(order, list, N)
  local member = {}
  for r = 1, N do member[r] = false end
  for _, r in ipairs(list) do member[r + 1] = true end
  return order[mc.take(mc.tensor(member, { dtype = 'bool' }), order, { base = 0 })]:reshape(order.shape[1], #list)
end

function M.ar_sums(list, _, team)
  local x, picks, more = list[1], list[2], list[3]
  local C, T, E, M_ = picks:numel(), x.shape[3], x.shape[1], list[9].shape[3]
  local N = more:numel() > 0 and 2 * E or E
  local train, middle = lists(list[5], list[6]), lists(list[7], list[8])
  local order = mc.broadcast_to(list[4]:to('cpu'):reshape(-1, N), { C, N }):contiguous()
  local places = picks:to 'cpu'
  local sums = joined(x, team, C, 24 * N * T, function(a, b, on)
    local n = b - a + 1
    local rows = samples(x, places[{ { a, b } }], on, team):permute_dims(2, 1, 3):contiguous()
    if N > E then rows = mc.concat({ rows, beside(more:reshape(C, E, T)[{ { a, b } }], rows) }, 2) end
    local of_folds = {}
    for f, rest in ipairs(middle) do
      of_folds[f] = mc.scope(function()
        local m = #train[f]
        local mid = median(mc.take(rows, i64(rest, rows), { axis = 2, base = 0 })):reshape(n, 1, T)
        local kept = picked(rows, beside(trained(order[{ { a, b } }], train[f], N), rows))
        local count = beside(mc.arange(1, m), rows):reshape(1, m, 1)
        local d = mid - mc.cumsum(kept, { axis = 2 }) / count
        local sum = mc.sum(d * d, 3)
        return m == M_ and sum or mc.pad(sum, { { 0, 0 }, { 0, M_ - m } })
      end)
    end
    return { mc.stack(of_folds, 2) }
  end)
  return { sums[1] + beside(list[9], sums[1]) }
end

-- ---------------------------------------------------------------- levels

function M.ar_levels(list, _, team)
  local x, picks, repaired, cell, level = list[1], list[2], list[3], list[4]:to 'cpu', list[5]:to 'cpu'
  local group, in_fold, count, before = list[6]:to 'cpu', list[7]:to 'cpu', list[8]:to 'cpu', list[11]
  local C, T, E = picks:numel(), x.shape[3], x.shape[1]
  local R, K, L = before.shape[2], before.shape[3], before.shape[4]
  local middle, places = lists(list[9], list[10]), picks:to 'cpu'
  cell, level = cell:reshape(R, E, C), level:reshape(R, E)
  -- which epochs a fold trains at each level, f64 [R, K, L, E]; which levels add to the sums, and by what they divide
  local steps = mc.le(level:reshape(R, 1, 1, E), mc.arange(0, L - 1):to('i64'):reshape(1, 1, L, 1))
  local inside = mc.take(in_fold, group:reshape(-1), { axis = 2, base = 0 }):reshape(1, K, 1, E)
  local member = mc.logical_and(steps, mc.ne(inside, 0)):to 'f64'
  count = count:reshape(R, K, L)
  local new = mc.gt(count, 0)
  if L > 1 then
    new[{ mc.all, mc.all, { 2, L } }] = mc.logical_and(new[{ mc.all, mc.all, { 2, L } }],
      mc.ne(count[{ mc.all, mc.all, { 2, L } }], count[{ mc.all, mc.all, { 1, L - 1 } }]))
  end
  local factor = everywhere(mc.where(new, 1 / mc.maximum(count, 1):to 'f64', 0), x, team)
  local used, members = everywhere(new:to 'f64', x, team), everywhere(member, x, team)
  local sums = joined(x, team, C, 8 * T * (4 * E + 3 * L), function(a, b, on)
    local n = b - a + 1
    local rows = samples(x, places[{ { a, b } }], on, team):permute_dims(2, 1, 3):contiguous() -- [n, E, T]
    local mids = {}
    for f, rest in ipairs(middle) do
      mids[f] = median(mc.take(rows, i64(rest, rows), { axis = 2, base = 0 })):reshape(n, 1, T)
    end
    local out = {}
    for r = 1, R do
      local mended = rows
      local here = cell[r][{ mc.all, { a, b } }].T:contiguous():reshape(-1)
      local at = mc.nonzero(mc.ge(here, 0))
      if at:numel() > 0 then
        mended = rows:reshape(n * E, T):copy()
        local cells = mc.take(here, at, 1)
        mended[{ beside(at, rows) }] = beside(mc.take(repaired:reshape(-1, T), beside(cells, repaired),
          { axis = 1, base = 0 }), rows)
        mended = mended:reshape(n, E, T)
      end
      local folds = {}
      for f = 1, K do
        folds[f] = mc.scope(function()
          local mean = mc.matmul(members[on][r][f], mended) * factor[on][r][f]:reshape(1, L, 1)
          local d = mids[f] - mean
          return mc.sum(d * d, 3) * used[on][r][f]:reshape(1, L)
        end)
      end
      out[r] = mc.stack(folds, 2)
    end
    return { mc.stack(out, 2) }
  end)
  return { sums[1] + beside(before, sums[1]) }
end

-- ---------------------------------------------------------------- predictions

function M.ar_predict(list, _, team)
  local x, picks = list[1], list[2]
  local C, T, E = picks:numel(), x.shape[3], x.shape[1]
  local S, n = list[3].shape[1], list[3].shape[2]
  local at = mc.broadcast_to(list[3]:to('cpu'):reshape(S, 1, n) + 1, { S, C, n }):contiguous()
  local W = mc.put_along_axis(mc.zeros { S, C, C }, at, list[4]:to('cpu'):reshape(S, C, n), 3)
  W = everywhere(W:reshape(1, S * C, C), x, team)
  return joined(x, team, E, 40 * S * C * T, function(a, b, on)
    local y = samples(x, picks, on, team, a, b)
    local guess = mc.matmul(W[on], y):reshape(b - a + 1, S, C, T):permute_dims(1, 3, 2, 4):contiguous()
    local mid = median(guess:reshape(-1, S, T)):reshape(b - a + 1, C, T)
    return { mc.sum(y * mid, 3) / (mc.sqrt(mc.sum(y * y, 3)) * mc.sqrt(mc.sum(mid * mid, 3))) }
  end)
end

return M
