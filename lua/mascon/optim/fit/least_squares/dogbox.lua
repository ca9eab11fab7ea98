-- dogbox.lua - dogleg steps in a box: the trust region is a box, so that with the bounds it stays one.
--
-- Holds the dogleg path and the set of variables that stand on their bounds.
--
-- Source: Voglis and Lagaris, A rectangular trust region dogleg approach for unconstrained and bound constrained
-- nonlinear optimization, 2004; Nocedal and Wright, Numerical optimization, 2006, section 4.1.
local vectors = require 'mascon.optim.fit.least_squares.vectors'
local region = require 'mascon.optim.fit.least_squares.trust_region'
local M = {}

local max, min = math.max, math.min

--- Step from x along the dogleg path in the box of the region and the bounds; the bound each variable met (-1, 0, 1);
--- whether the edge of the region was met.
local function dogleg(x, newton, g, a, b, reach, low, high)
  local n, l, u = #x, {}, {}
  for i = 1, n do l[i], u[i] = max(low[i] - x[i], -reach[i]), min(high[i] - x[i], reach[i]) end
  if vectors.inside(newton, l, u) then return newton, vectors.filled(n, 0), false end
  local zero, down = vectors.filled(n, 0), vectors.scaled(g, -1)
  local furthest = vectors.to_bound(zero, down, l, u)
  local cauchy = vectors.scaled(down, (vectors.least(a, b, 0, furthest)))
  local rest = vectors.subtract(newton, cauchy)
  local t, hits = vectors.to_bound(cauchy, rest, l, u)
  local step, met, edge = {}, {}, false
  for i = 1, n do
    step[i], met[i] = cauchy[i] + t * rest[i], 0
    if hits[i] < 0 then
      step[i] = l[i]
      if l[i] == low[i] - x[i] then met[i] = -1 end
      edge = edge or l[i] == -reach[i]
    elseif hits[i] > 0 then
      step[i] = u[i]
      if u[i] == high[i] - x[i] then met[i] = 1 end
      edge = edge or u[i] == reach[i]
    end
  end
  return step, met, edge
end

--- The small problem in some of its variables.
local function part(small, free)
  local J = {}
  for i = 1, small.k do
    local row = {}
    for k = 1, #free do row[k] = small.J[i][free[k]] end
    J[i] = row
  end
  return { n = #free, k = small.k, J = J, r = small.r }
end

local function pick(a, free)
  local y = {}
  for k = 1, #free do y[k] = a[free[k]] end
  return y
end

--- Minimises the cost of a problem from x0. Arguments and results as trf.run.
function M.run(problem, x, o)
  local low, high, n = o.low, o.high, #x
  local point = problem:at(x)
  if not point.cost then return point, nil, -4 end
  local small = problem:linear(point)
  if not small then return point, nil, -3 end
  local x_scale = o.x_scale ~= 'jac' and o.x_scale
  local scale, inverse = region.scale(x_scale or 'jac', small, x_scale and vectors.over(vectors.filled(n, 1), x_scale))
  local radius = vectors.norm_inf(vectors.times(x, inverse))
  if radius == 0 then radius = 1 end
  local on = {}
  for i = 1, n do on[i] = x[i] == low[i] and -1 or x[i] == high[i] and 1 or 0 end
  local iteration, guessed, status, optimality = 0, true
  while true do
    local free = {}
    for i = 1, n do if on[i] * small.g[i] >= 0 then free[#free + 1] = i end end
    local g = pick(small.g, free)
    optimality = #free > 0 and vectors.norm_inf(g) or 0
    if optimality < o.gtol then status = 1 end
    if status or problem.nfev >= o.max_nfev then break end
    local piece, ones = part(small, free), vectors.filled(#free, 1)
    local newton = region.newton(region.spectrum(piece, ones, nil, problem.rows), #free)
    local a, b = vectors.along(piece.J, g, vectors.scaled(g, -1))
    local x_free, low_free, high_free = pick(x, free), pick(low, free), pick(high, free)
    local actual, next_point, length, met = -1, nil, 0, nil
    while actual <= 0 and problem.nfev < o.max_nfev do
      local reach = vectors.scaled(pick(scale, free), radius)
      local step_free, edge
      step_free, met, edge = dogleg(x_free, newton, g, a, b, reach, low_free, high_free)
      local step = vectors.filled(n, 0)
      for k = 1, #free do step[free[k]] = step_free[k] end
      local predicted = -vectors.quadratic(piece.J, g, step_free)
      local x_new = vectors.clip(vectors.add(x, step), low, high)
      for k = 1, #free do
        if met[k] ~= 0 then x_new[free[k]] = met[k] < 0 and low_free[k] or high_free[k] end
      end
      next_point = problem:at(x_new)
      local length_h = vectors.norm_inf(vectors.times(step, inverse))
      if not next_point.cost then
        radius = 0.25 * length_h
      else
        actual = point.cost - next_point.cost
        local next_radius, ratio = region.resize(radius, actual, predicted, length_h, edge)
        guessed, radius = guessed and next_radius > radius, next_radius
        length = vectors.norm(step)
        status = not guessed and region.finished(actual, point.cost, length, vectors.norm(x), ratio, o.ftol, o.xtol)
          or nil
        if status then break end
      end
      if radius == 0 then
        status = 3
        break
      end
    end
    iteration = iteration + 1
    local before = point.cost
    if actual > 0 then
      for k = 1, #free do on[free[k]] = met[k] end
      point, x = next_point, next_point.x
      local fresh = problem:linear(point)
      if not fresh then
        status = -3
        break
      end
      small = fresh
      if o.x_scale == 'jac' then scale, inverse = region.scale('jac', small, inverse) end
    end
    if o.notify and o.notify(point, iteration, before - point.cost, actual > 0 and length or 0, optimality) then
      status = -2
      break
    end
  end
  return point, small, status or 0, optimality, iteration, on
end

return M
