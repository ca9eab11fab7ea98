-- quad.lua - the integral of a function of one number, to a wanted precision.
--
-- Ten Gauss points and 21 Kronrod points on every interval; the interval with the largest error is halved. Where
-- halving goes on towards one place, the sums are extrapolated by the epsilon algorithm, which copes with singular
-- ends. Infinite ranges are mapped to (0, 1]. Holds all that.
--
-- Source: QUADPACK: a subroutine package for automatic integration, 1983, algorithm QAGS (sections 2.2.3 and 3.4.2)
-- and QAGI.
local op = require 'mascon.core.op'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local scalar = require 'mascon.optim.scalar'
local error = check.error
local abs, max, min, huge = math.abs, math.max, math.min, math.huge
local M = {}

-- Kronrod's nodes, the largest first, and weights; every second node is one of Gauss's
local NODE = {
  0.995657163025808080735527280689003, 0.973906528517171720077964012084452, 0.930157491355708226001207180059508,
  0.865063366688984510732096688423493, 0.780817726586416897063717578345042, 0.679409568299024406234327365114874,
  0.562757134668604683339000099272694, 0.433395394129247190799265943165784,
  0.294392862701460198131126603103866, 0.148874338981631210884826001129720, 0,
}
local KRONROD = {
  0.011694638867371874278064396062192, 0.032558162307964727478818972459390, 0.054755896574351996031381300244580,
  0.075039674810919952767043140916190, 0.093125454583697605535065465083366, 0.109387158802297641899210590325805,
  0.123491976262065851077958109831074, 0.134709217311473325928054001771707,
  0.142775938577060080797094273138717, 0.147739104901338491374841515972068, 0.149445554002916905664936468389821,
}
local GAUSS = {
  0.066671344308688137593568809893332, 0.149451349150580593145776339657697, 0.219086362515982043995534934228163,
  0.269266719309996355091226921569469, 0.295524224714752870173892994651338,
}
local EPS, TINY = 2 ^ -52, 2 ^ -1022

--- Integral over [a, b] with its error. values(x, k): the integrand at the 21 points, a list.
local function rule(values, a, b)
  local centre, half = (a + b) / 2, (b - a) / 2
  local x = {}
  for i = 1, 10 do x[i], x[22 - i] = centre - half * NODE[i], centre + half * NODE[i] end
  x[11] = centre
  local y = values(x)
  local kronrod, gauss, size = y[11] * KRONROD[11], 0, abs(y[11]) * KRONROD[11]
  for i = 1, 10 do
    local pair = y[i] + y[22 - i]
    kronrod = kronrod + KRONROD[i] * pair
    size = size + KRONROD[i] * (abs(y[i]) + abs(y[22 - i]))
    if i % 2 == 0 then gauss = gauss + GAUSS[i / 2] * pair end
  end
  local mean = kronrod / 2
  local spread = KRONROD[11] * abs(y[11] - mean)
  for i = 1, 10 do spread = spread + KRONROD[i] * (abs(y[i] - mean) + abs(y[22 - i] - mean)) end
  half = abs(half)
  size, spread = size * half, spread * half
  local err = abs((kronrod - gauss) * half)
  if spread ~= 0 and err ~= 0 then err = spread * min(1, (200 * err / spread) ^ 1.5) end
  if size > TINY / (50 * EPS) then err = max(50 * EPS * size, err) end
  return kronrod * (b - a) / 2, err, spread
end

--- The limit of a sequence by the epsilon algorithm: the entry of the table that moved least.
local function epsilon(s)
  local n = #s
  local before, now = {}, {}
  local from = max(1, n - 49)
  for i = from, n do now[#now + 1], before[#before + 1] = s[i], 0 end
  before[#before + 1] = 0
  local best, move = now[#now], huge
  local last = best
  for k = 1, #now - 1 do
    local after = {}
    for i = 1, #now - 1 do
      local d = now[i + 1] - now[i]
      if abs(d) <= EPS * max(abs(now[i + 1]), abs(now[i])) and k % 2 == 1 then return now[i + 1] end
      if d == 0 then return best end
      after[i] = before[i + 1] + 1 / d
    end
    before, now = now, after
    if k % 2 == 0 then
      local v = now[#now]
      local step = abs(v - last)
      if step < move then best, move = v, step end
      last = v
    end
  end
  return best
end

--- Adaptive integration over a list of break points; see M.quad for the result.
local function adapt(values, breaks, o)
  local list, total, errors = {}, 0, 0
  local rough = false
  for i = 1, #breaks - 1 do
    local v, e, spread = rule(values, breaks[i], breaks[i + 1])
    list[i] = { a = breaks[i], b = breaks[i + 1], v = v, e = e }
    total, errors = total + v, errors + e
    rough = rough or (e <= 100 * EPS * spread and e > max(o.epsabs, o.epsrel * abs(v)))
  end
  local function wanted(v) return max(o.epsabs, o.epsrel * abs(v)) end
  if errors <= wanted(total) or errors == 0 then return total, errors end
  if total ~= total then return total, huge, 'f is NaN or infinite within the range' end
  if rough and #list == 1 then return total, errors, 'rounding keeps the wanted precision out of reach' end
  local extrapolate = #breaks == 2
  local small = abs(breaks[2] - breaks[1]) * 0.375
  local seen, results = { total }, {}
  local large_errors, large_wanted
  local best, best_error = nil, huge
  local deep, rank, stale = false, 1, 0
  local trouble
  local function order()
    table.sort(list, function(p, q) if p.e ~= q.e then return p.e > q.e end return p.a < q.a end)
  end
  while true do
    if #list >= o.limit then
      trouble = ('the largest number of intervals (%d) is reached'):format(o.limit)
      break
    end
    local worst = list[rank]
    local middle = (worst.a + worst.b) / 2
    if max(abs(worst.a), abs(worst.b)) <= (1 + 100 * EPS) * (abs(middle) + 1000 * TINY) then
      trouble = 'f is hard to integrate near ' .. ('%.17g'):format(middle)
      break
    end
    local v1, e1 = rule(values, worst.a, middle)
    local v2, e2 = rule(values, middle, worst.b)
    if v1 + v2 ~= v1 + v2 then return total, huge, 'f is NaN or infinite within the range' end
    local width = abs(middle - worst.a)
    table.remove(list, rank)
    list[#list + 1] = { a = worst.a, b = middle, v = v1, e = e1 }
    list[#list + 1] = { a = middle, b = worst.b, v = v2, e = e2 }
    order()
    -- summed anew: differences of sums would lose digits
    total, errors = 0, 0
    for _, r in ipairs(list) do total, errors = total + r.v, errors + r.e end
    if errors <= wanted(total) then return total, errors end
    if not extrapolate then
      rank = 1
    elseif not large_errors then -- the first halving
      large_errors, large_wanted = errors, wanted(total)
      seen[#seen + 1] = total
      rank = 1
    else
      large_errors = large_errors - worst.e
      if width > small then large_errors = large_errors + e1 + e2 end
      rank = min(rank, #list)
      local go = true
      if not deep then
        rank = 1
        if abs(list[1].b - list[1].a) > small then go = false else deep, rank = true, 2 end
      end
      if go and large_errors > large_wanted then -- wide intervals first
        while list[rank] and abs(list[rank].b - list[rank].a) <= small do rank = rank + 1 end
        if list[rank] then go = false end
      end
      if go then
        seen[#seen + 1] = total
        local v = epsilon(seen)
        local n = #results
        local err = n >= 3 and abs(v - results[n]) + abs(v - results[n - 1]) + abs(v - results[n - 2]) or huge
        results[n + 1] = v
        err = max(err, 5 * EPS * abs(v))
        stale = stale + 1
        if err < best_error then
          best, best_error, stale = v, err + large_errors, 0
          if best_error <= wanted(v) then break end
          large_wanted = wanted(v)
        end
        if stale > 5 and best_error < 1e-3 * errors then break end
        deep, rank, small, large_errors = false, 1, small / 2, errors
      end
    end
  end
  if best and best_error < errors then
    return best, best_error,
      best_error > wanted(best) and (trouble or 'the extrapolation does not settle; the integral may diverge') or nil
  end
  return total, errors, trouble or 'the wanted precision is out of reach'
end

local OPTS = {
  epsabs = { 1.49e-8, 'number >= 0' }, epsrel = { 1.49e-8, 'number >= 0' }, limit = { 50, 'integer >= 1' },
  points = { nil, 'table' }, vectorized = { false, 'bool' }, args = { nil, 'table' },
}

--- The integral of f from a to b, with an estimate of its error.
---
--- f(x, args...): takes a number (with vectorized: a tensor f64 [21]) and gives a real number (a tensor [21]). a, b:
--- numbers, also -math.huge and math.huge; b < a changes the sign. Options: epsabs, epsrel (1.49e-8): it stops when the
--- error is below the larger of epsabs and epsrel |integral| · limit (50): intervals · points: places inside where f is
--- difficult, increasing; finite ranges only · vectorized (false) · args.
--- Result: integral, error, and a third, the reason, where the precision was not reached. Ends are never evaluated.
--- Errors: f gives no number; points outside the range.
--- Source: QUADPACK: a subroutine package for automatic integration, 1983, QAGS and QAGI, but with the 21-point rule
--- also on infinite ranges; SciPy integrate.quad.
---     mc.integrate.quad(function(x) return math.exp(-x * x) end, -math.huge, math.huge)
---       --> 1.7724538509055, 1.0710165552312e-08
---@param f fun(x: number): number
---@param a number
---@param b number
---@param opts? table
---@return number integral, number error, string|nil trouble
function M.quad(f, a, b, opts)
  local fname = 'integrate.quad'
  scalar.callable(fname, 'f', f)
  check.arg(fname, 'a', a, 'number', 3)
  check.arg(fname, 'b', b, 'number', 3)
  local o = check.opts(fname, opts, OPTS, 3)
  if a ~= a or b ~= b then error(fname .. ': an end of the range is NaN', 2) end
  local g = f
  if o.args then function g(x) return f(x, unpack(o.args)) end end
  local function at(x)
    local y = {}
    if o.vectorized then
      local v = g(op.from_table(x))
      if not tensor.is(v) or v:numel() ~= #x then
        error(('%s: f gave %s for %d points; it must give a value for each'):format(fname,
          tensor.is(v) and tensor.describe(v) or check.show(v), #x), 3)
      end
      return tensor.methods.totable(tensor.methods.reshape(v, { #x }))
    end
    for i = 1, #x do
      local v = g(x[i])
      y[i] = type(v) == 'number' and v or scalar.number(fname, 'f', v)
    end
    return y
  end
  if a == b then return 0, 0 end
  local sign = 1
  if b < a then a, b, sign = b, a, -1 end
  local values, breaks = at, { a, b }
  local low, high = a == -huge, b == huge
  if (low or high) and o.points then error(fname .. ': points are for finite ranges; split the integral', 2) end
  if low or high then
    local from = low and (high and 0 or b) or a
    local way = low and not high and -1 or 1
    breaks = { 0, 1 }
    function values(t)
      local x = {}
      for i, v in ipairs(t) do x[i] = from + way * (1 - v) / v end
      local y = at(x)
      if low and high then
        for i, v in ipairs(x) do x[i] = -v end
        for i, v in ipairs(at(x)) do y[i] = y[i] + v end
      end
      for i, v in ipairs(t) do y[i] = y[i] / v / v end
      return y
    end
  elseif o.points then
    breaks = { a }
    for i, p in ipairs(o.points) do
      if type(p) ~= 'number' or not (p > breaks[#breaks] and p < b) then
        error(('%s: points[%d] is %s; give increasing numbers between %g and %g'):format(fname, i, check.show(p), a, b),
          2)
      end
      breaks[#breaks + 1] = p
    end
    breaks[#breaks + 1] = b
  end
  local v, e, trouble = adapt(values, breaks, o)
  if trouble then return sign * v, e, trouble end
  return sign * v, e
end

return M
