-- box.lua - minimum of a smooth function of few variables within bounds, by a quasi-Newton method with projection.
--
-- Dense, for tens of variables: hyperparameters, points of a search. Holds the approximate inverse Hessian and the
-- search along the projected path.
--
-- Source: Bertsekas, Projected Newton methods for optimization problems with simple constraints, 1982; Nocedal and
-- Wright, Numerical optimization, 2006, section 6.1.
local vectors = require 'mascon.optim.fit.least_squares.vectors'
local M = {}

local abs, max = math.abs, math.max
local ENOUGH, HALVINGS = 1e-4, 40

local function identity(n, c)
  local H = {}
  for i = 1, n do
    H[i] = vectors.filled(n, 0)
    H[i][i] = c
  end
  return H
end

--- BFGS update of the inverse H by step s and change of gradient y.
local function update(H, s, y)
  local n, sy = #s, vectors.dot(s, y)
  if sy <= 1e-12 * vectors.norm(s) * vectors.norm(y) then return end
  local Hy = vectors.product(H, y)
  local c = (1 + vectors.dot(y, Hy) / sy) / sy
  for i = 1, n do
    for j = 1, n do H[i][j] = H[i][j] + c * s[i] * s[j] - (Hy[i] * s[j] + s[i] * Hy[j]) / sy end
  end
end

--- Minimises f from x within low, high.
---@param f fun(x: number[]): number?, number[]? value and gradient; nil or NaN: not defined there
---@param x number[]
---@param low number[]
---@param high number[]
---@param o? { gtol?: number, ftol?: number, maxiter?: integer }
---@return number[] x, number|nil value
function M.minimise(f, x, low, high, o)
  o = o or {}
  local gtol, ftol, maxiter = o.gtol or 1e-6, o.ftol or 1e-11, o.maxiter or 200
  local n = #x
  x = vectors.clip(x, low, high)
  local value, g = f(x)
  if not value or value ~= value then return x, nil end
  local H, fresh = nil, true
  for _ = 1, maxiter do
    local bound, worst = {}, 0
    for i = 1, n do
      bound[i] = x[i] <= low[i] and g[i] > 0 or x[i] >= high[i] and g[i] < 0
      worst = max(worst, abs(max(low[i], math.min(high[i], x[i] - g[i])) - x[i]))
    end
    if worst < gtol then break end
    if not H then
      H, fresh = identity(n, 1 / max(1, vectors.norm(g))), true
    end
    local free = {}
    for i = 1, n do free[i] = bound[i] and 0 or g[i] end
    local p = vectors.scaled(vectors.product(H, free), -1)
    for i = 1, n do if bound[i] then p[i] = 0 end end
    if vectors.dot(p, g) >= 0 then
      H = identity(n, 1 / max(1, vectors.norm(g)))
      p = vectors.scaled(vectors.product(H, free), -1)
      fresh = true
    end
    local t, y, next_value, next_g = 1, nil, nil, nil
    for _ = 1, HALVINGS do
      y = vectors.clip(vectors.add(x, vectors.scaled(p, t)), low, high)
      next_value, next_g = f(y)
      local fall = vectors.dot(g, vectors.subtract(y, x))
      if next_value and next_value <= value + ENOUGH * fall and next_value == next_value then break end
      next_value, t = nil, t / 2
    end
    if not next_value then
      if fresh then break end -- not even downhill
      H = nil
    else
      local s, dg = vectors.subtract(y, x), vectors.subtract(next_g, g)
      if fresh then
        local sy, yy = vectors.dot(s, dg), vectors.dot(dg, dg)
        if sy > 0 and yy > 0 then H = identity(n, sy / yy) end
        fresh = false
      end
      update(H, s, dg)
      local fall = value - next_value
      x, value, g = y, next_value, next_g
      if fall <= ftol * max(1, abs(value)) then break end
    end
  end
  return x, value
end

return M
