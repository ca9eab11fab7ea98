-- vectors.lua - arithmetic on the few numbers of a parameter vector, as Lua lists.
--
-- A step of a fit takes dozens of operations on vectors of a handful of numbers; as tensors each would cost a call.
-- Holds boxes (lower and upper bounds), and the line searches of quadratic functions in them.
local M = {}

local sqrt, abs, max, min, INF = math.sqrt, math.abs, math.max, math.min, math.huge

function M.norm(a)
  local s = 0
  for i = 1, #a do s = s + a[i] * a[i] end
  if s > 1e-280 and s < INF then return sqrt(s) end
  local top = 0 -- again without overflow and underflow
  for i = 1, #a do top = max(top, abs(a[i])) end
  if top == 0 or top == INF then return top end
  s = 0
  for i = 1, #a do s = s + (a[i] / top) ^ 2 end
  return top * sqrt(s)
end

function M.norm_inf(a)
  local top = 0
  for i = 1, #a do top = max(top, abs(a[i])) end
  return top
end

function M.dot(a, b)
  local s = 0
  for i = 1, #a do s = s + a[i] * b[i] end
  return s
end

function M.add(a, b)
  local y = {}
  for i = 1, #a do y[i] = a[i] + b[i] end
  return y
end

function M.subtract(a, b)
  local y = {}
  for i = 1, #a do y[i] = a[i] - b[i] end
  return y
end

function M.times(a, b)
  local y = {}
  for i = 1, #a do y[i] = a[i] * b[i] end
  return y
end

function M.over(a, b)
  local y = {}
  for i = 1, #a do y[i] = a[i] / b[i] end
  return y
end

function M.scaled(a, c)
  local y = {}
  for i = 1, #a do y[i] = a[i] * c end
  return y
end

function M.filled(n, v)
  local y = {}
  for i = 1, n do y[i] = v end
  return y
end

--- J v, J a list of rows.
function M.product(J, v)
  local y = {}
  for i = 1, #J do
    local row, s = J[i], 0
    for j = 1, #v do s = s + row[j] * v[j] end
    y[i] = s
  end
  return y
end

-- ---------------------------------------------------------------- quadratic functions

--- Value of 1/2 |J s|^2 + 1/2 s^T C s + g^T s; C a list of a diagonal, or nil.
function M.quadratic(J, g, s, C)
  local Js = M.product(J, s)
  local q = M.dot(Js, Js)
  if C then for i = 1, #s do q = q + s[i] * C[i] * s[i] end end
  return 0.5 * q + M.dot(g, s)
end

--- Coefficients a, b, c of that function on the line s0 + t s, a t^2 + b t + c.
function M.along(J, g, s, C, s0)
  local v = M.product(J, s)
  local a, b, c = M.dot(v, v), M.dot(g, s), 0
  if C then for i = 1, #s do a = a + s[i] * C[i] * s[i] end end
  a = 0.5 * a
  if s0 then
    local u = M.product(J, s0)
    b = b + M.dot(u, v)
    c = 0.5 * M.dot(u, u) + M.dot(g, s0)
    if C then
      for i = 1, #s do
        b = b + s0[i] * C[i] * s[i]
        c = c + 0.5 * s0[i] * C[i] * s0[i]
      end
    end
  end
  return a, b, c
end

--- The t of [low, high] where a t^2 + b t + c is least, and the value there.
function M.least(a, b, low, high, c)
  c = c or 0
  local best, at = INF, low
  local function try(t)
    local y = t * (a * t + b) + c
    if y < best then best, at = y, t end
  end
  try(low)
  try(high)
  if a ~= 0 then
    local t = -0.5 * b / a
    if t > low and t < high then try(t) end
  end
  return at, best
end

-- ---------------------------------------------------------------- boxes

--- The largest t with low <= x + t s <= high, and a list of which bounds are met there: -1, 1, or 0.
function M.to_bound(x, s, low, high)
  local t, steps = INF, {}
  for i = 1, #x do
    local step = INF
    if s[i] > 0 then step = (high[i] - x[i]) / s[i] elseif s[i] < 0 then step = (low[i] - x[i]) / s[i] end
    steps[i] = step
    t = min(t, step)
  end
  local hits = {}
  for i = 1, #x do hits[i] = steps[i] == t and t < INF and (s[i] > 0 and 1 or s[i] < 0 and -1) or 0 end
  return t, hits
end

function M.inside(x, low, high)
  for i = 1, #x do if x[i] < low[i] or x[i] > high[i] then return false end end
  return true
end

function M.clip(x, low, high)
  local y = {}
  for i = 1, #x do y[i] = max(low[i], min(high[i], x[i])) end
  return y
end

local EPS, TINY = 2 ^ -52, 2 ^ -1022

--- Strictly between the bounds: a value on or near one moves off it, by `relative` of its size, or by a few units in
--- the last place for 0.
function M.strictly(x, low, high, relative)
  local y = {}
  for i = 1, #x do
    local v, l, h = x[i], low[i], high[i]
    if relative == 0 then
      if v <= l then v = l + max(abs(l) * EPS, TINY) elseif v >= h then v = h - max(abs(h) * EPS, TINY) end
    else
      if l > -INF and v - l <= relative * max(1, abs(l)) then v = l + relative * max(1, abs(l))
      elseif h < INF and h - v <= relative * max(1, abs(h)) then v = h - relative * max(1, abs(h)) end
    end
    if not (v > l and v < h) then v = 0.5 * (l + h) end -- a narrow box
    y[i] = v
  end
  return y
end

--- -1, 0 or 1 per value: near the lower bound, near none, near the upper bound.
function M.active(x, low, high, relative)
  local mask = {}
  for i = 1, #x do
    local below, above = x[i] - low[i], high[i] - x[i]
    local near_low = low[i] > -INF and below <= min(above, relative * max(1, abs(low[i])))
    local near_high = high[i] < INF and above <= min(below, relative * max(1, abs(high[i])))
    mask[i] = near_low and -1 or near_high and 1 or 0
  end
  return mask
end

return M
