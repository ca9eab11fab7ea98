-- profile.lua - intervals by profile likelihood: how far a parameter may move while all others follow.
--
-- Holds the search for the two values where the best sum of squares has risen to the level asked for. A fit with one
-- parameter held is a function that it is given.
--
-- Source: Bates and Watts, Nonlinear regression analysis and its applications, 1988, section 6.1.
local M = {}

local abs, max, sqrt = math.abs, math.max, math.sqrt
local GROW, TRIES, STEPS, PRECISION = 1.6, 30, 40, 1e-7

--- One end of the interval. `rise(c)` is the signed root of the rise of the sum of squares, in units of the noise, nil
--- where the refit failed.
---@param rise fun(c: number): number?
---@param best number
---@param step number first try, signed
---@param target number
---@param limit number bound on this side
---@return number value, boolean closed whether the level is reached before the bound
function M.side(rise, best, step, target, limit)
  local a, fa = best, -target
  local b, fb
  local c = step > 0 and math.min(best + step, limit) or math.max(best + step, limit)
  for _ = 1, TRIES do
    local y = rise(c)
    if not y then -- no fit that far: half the way
      c = 0.5 * (a + c)
      if c == a then return a, false end
    else
      if y >= target then
        b, fb = c, y - target
        break
      end
      if c == limit then return limit, false end
      a, fa = c, y - target
      step = step * GROW
      c = step > 0 and math.min(best + step, limit) or math.max(best + step, limit)
    end
  end
  if not b then return c, false end
  -- regula falsi with Illinois' halving: rise is nearly a straight line
  local last
  for _ = 1, STEPS do
    if abs(b - a) <= PRECISION * max(abs(b - best), 1e-300) or fb == 0 then break end
    local m = (a * fb - b * fa) / (fb - fa)
    if not (m > math.min(a, b) and m < max(a, b)) then m = 0.5 * (a + b) end
    local y = rise(m)
    if not y then break end
    y = y - target
    if abs(y) <= PRECISION * target then return m, true end
    if y > 0 then
      b, fb = m, y
      if last == 'b' then fa = fa / 2 end
      last = 'b'
    else
      a, fa = m, y
      if last == 'a' then fb = fb / 2 end
      last = 'a'
    end
  end
  return b, true
end

--- Root of a rise, 0 for one that is negative by rounding.
function M.root(rise) return sqrt(max(rise, 0)) end

return M
