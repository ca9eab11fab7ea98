-- line_search.lua - a step along a direction that satisfies the strong Wolfe conditions.
--
-- phi(a) = f(x + a d): f falls enough, phi(a) <= phi(0) + c1 a phi'(0), and the slope has flattened, |phi'(a)| <= c2
-- |phi'(0)|. The interval of uncertainty and the trial steps by cubic and quadratic interpolation are those of More and
-- Thuente. Holds that.
--
-- Source: Line search algorithms with guaranteed sufficient decrease, 1994, sections 2 to 4.
local M = {}

local abs, max, min, sqrt = math.abs, math.max, math.min, math.sqrt

local XTRAP_LOW, XTRAP_HIGH = 1.1, 4 -- how far beyond the last step a search without a bracket may look (section 4)
local SHRINK = 0.66 -- a bracket that shrinks less in two steps is bisected
local MOST = 40 -- trial steps

--- Minimum of the cubic with values and slopes at a and b, and the half-discriminant's root.
local function cubic(a, fa, da, b, fb, db, keep)
  local theta = 3 * (fa - fb) / (b - a) + da + db
  local s = max(abs(theta), abs(da), abs(db))
  local inside = (theta / s) ^ 2 - (da / s) * (db / s)
  if keep and inside < 0 then inside = 0 end
  local gamma = s * sqrt(inside)
  if b < a then gamma = -gamma end
  return theta, gamma
end

--- The next trial step and the new interval (section 4, cases 1 to 4). i: interval { x, fx, dx, y, fy, dy, bracketed },
--- t: step, f, d at it.
local function trial(i, t, f, d, low, high)
  local opposite = d * (i.dx / abs(i.dx)) < 0
  local next_step
  if f > i.fx then -- 1: the value is higher: a minimum lies between
    local theta, gamma = cubic(i.x, i.fx, i.dx, t, f, d)
    local r = ((gamma - i.dx) + theta) / (((gamma - i.dx) + gamma) + d)
    local c = i.x + r * (t - i.x)
    local q = i.x + ((i.dx / ((i.fx - f) / (t - i.x) + i.dx)) / 2) * (t - i.x)
    next_step = abs(c - i.x) < abs(q - i.x) and c or c + (q - c) / 2
    i.bracketed = true
  elseif opposite then -- 2: the slopes have opposite signs
    local theta, gamma = cubic(t, f, d, i.x, i.fx, i.dx)
    local r = ((gamma - d) + theta) / (((gamma - d) + gamma) + i.dx)
    local c = t + r * (i.x - t)
    local q = t + (d / (d - i.dx)) * (i.x - t)
    next_step = abs(c - t) > abs(q - t) and c or q
    i.bracketed = true
  elseif abs(d) < abs(i.dx) then
    -- 3: same sign, the slope flattens: the cubic only counts when it tends to infinity along the step
    local theta, gamma = cubic(t, f, d, i.x, i.fx, i.dx, true)
    local r = ((gamma - d) + theta) / ((gamma + (i.dx - d)) + gamma)
    local c
    if r < 0 and gamma ~= 0 then c = t + r * (i.x - t) elseif t > i.x then c = high else c = low end
    local q = t + (d / (d - i.dx)) * (i.x - t)
    if i.bracketed then
      next_step = abs(c - t) < abs(q - t) and c or q
      local bound = t + SHRINK * (i.y - t)
      if t > i.x then next_step = min(bound, next_step) else next_step = max(bound, next_step) end
    else
      next_step = abs(c - t) > abs(q - t) and c or q
      next_step = max(low, min(high, next_step))
    end
  elseif i.bracketed then -- 4: same sign, the slope steepens
    local theta, gamma = cubic(t, f, d, i.y, i.fy, i.dy)
    local r = ((gamma - d) + theta) / (((gamma - d) + gamma) + i.dy)
    next_step = t + r * (i.y - t)
  else
    next_step = t > i.x and high or low
  end
  if f > i.fx then
    i.y, i.fy, i.dy = t, f, d
  else
    if opposite then i.y, i.fy, i.dy = i.x, i.fx, i.dx end
    i.x, i.fx, i.dx = t, f, d
  end
  return next_step
end

--- A step with the strong Wolfe conditions.
---@param phi fun(a: number): number, number, any value and slope at x + a d, and anything to be handed back for the
---  step taken
---@param f0 number
---@param d0 number slope at 0, below 0
---@param step number first trial
---@param o table c1, c2, longest step, most trials (MOST)
---@return number|nil step nil when nothing lower was found
---@return number|nil f
---@return any what phi gave third for the step
---@return boolean|nil satisfied the conditions hold
function M.wolfe(phi, f0, d0, step, o)
  local c1, c2, longest = o.c1, o.c2, o.longest or 1e20
  local shortest, limit = 0, longest
  local slope = c1 * d0
  local first, width, width_before = true, longest, 2 * longest
  local i = { x = 0, fx = f0, dx = d0, y = 0, fy = f0, dy = d0, bracketed = false }
  local kept, kept_f, kept_step -- the lowest so far
  local low, high = 0, step + XTRAP_HIGH * step
  for _ = 1, o.most or MOST do
    local f, d, more = phi(step)
    if not (f - f == 0 and d - d == 0) then -- NaN or infinite: out of the domain, nothing beyond counts
      limit = step
      step = i.x + (step - i.x) / 2
      high = min(high, step)
      if step == i.x or step == limit then break end
    else
      if f < (kept_f or f0) then kept, kept_f, kept_step = more, f, step end
      local enough = f0 + step * slope
      if f <= enough and abs(d) <= c2 * -d0 then return step, f, more, true end
      if i.bracketed and (step <= low or step >= high or high - low <= 1e-14 * high) then break end
      if step == limit and f <= enough and d <= slope then break end
      if step <= shortest and (f > enough or d >= slope) then break end
      if first and f <= enough and d >= 0 then first = false end
      if first and f <= i.fx and f > enough then -- the auxiliary function psi leads to the first acceptable region
        i.fx, i.fy, i.dx, i.dy = i.fx - i.x * slope, i.fy - i.y * slope, i.dx - slope, i.dy - slope
        step = trial(i, step, f - step * slope, d - slope, low, high)
        i.fx, i.fy, i.dx, i.dy = i.fx + i.x * slope, i.fy + i.y * slope, i.dx + slope, i.dy + slope
      else
        step = trial(i, step, f, d, low, high)
      end
      if i.bracketed then
        if abs(i.y - i.x) >= SHRINK * width_before then step = i.x + (i.y - i.x) / 2 end
        width_before, width = width, abs(i.y - i.x)
        low, high = min(i.x, i.y), max(i.x, i.y)
      else
        low, high = step + XTRAP_LOW * (step - i.x), step + XTRAP_HIGH * (step - i.x)
      end
      step = max(shortest, min(limit, step))
      if i.bracketed and (step <= low or step >= high or high - low <= 1e-14 * high) then step = i.x end
    end
  end
  return kept_step, kept_f, kept, false
end

--- A lower value along a projected path: halving by quadratic interpolation until f falls by c1 times what the gradient
--- promises.
---@param phi fun(a: number): number, number, any value at P(x + a d), promise g . (P(x + a d) - x), anything
function M.backtrack(phi, f0, step, o)
  for _ = 1, o.most or MOST do
    local f, promise, more = phi(step)
    if f <= f0 + o.c1 * promise and promise < 0 then return step, f, more, true end
    if promise >= 0 then return nil end
    local shorter = f - f == 0 and -promise / (2 * (f - f0 - promise)) or 0.5
    step = step * max(0.1, min(0.5, shorter))
  end
end

return M
