-- trf.lua - trust region reflective: steps in variables that are scaled by their distance from the bounds.
--
-- Holds the scaling of Coleman and Li, the reflected and the gradient step. A problem gives costs and small linear
-- problems; every iterate is strictly inside the bounds.
--
-- Source: Branch, Coleman and Li, A subspace, interior, and conjugate gradient method for large-scale
-- bound-constrained minimization problems, 1999.
local vectors = require 'mascon.optim.fit.least_squares.vectors'
local region = require 'mascon.optim.fit.least_squares.trust_region'
local M = {}

local sqrt, max, min, INF = math.sqrt, math.max, math.min, math.huge
local norm, times = vectors.norm, vectors.times

--- v(x): distance to the bound that the gradient points away from, 1 where there is none; and its derivative.
local function distances(x, g, low, high)
  local v, dv = {}, {}
  for i = 1, #x do
    if g[i] < 0 and high[i] < INF then v[i], dv[i] = high[i] - x[i], -1
    elseif g[i] > 0 and low[i] > -INF then v[i], dv[i] = x[i] - low[i], 1
    else v[i], dv[i] = 1, 0 end
  end
  return v, dv
end

--- The best of three steps inside the bounds and the region: the step cut at the bound, reflected there, along the
--- gradient. In the variables, in the scaled ones, and the decrease of the quadratic model.
local function choose(x, small, J, d, C, p_h, g_h, radius, low, high, theta)
  local p = times(d, p_h)
  if vectors.inside(vectors.add(x, p), low, high) then return p, p_h, -vectors.quadratic(J, g_h, p_h, C) end
  local stride, hits = vectors.to_bound(x, p, low, high)

  local r_h = {}
  for i = 1, #p_h do r_h[i] = hits[i] ~= 0 and -p_h[i] or p_h[i] end
  local r = times(d, r_h)
  local cut_h = vectors.scaled(p_h, stride)
  local at_bound = vectors.clip(vectors.add(x, vectors.scaled(p, stride)), low, high)
  local to_edge = region.to_sphere(cut_h, r_h, radius)
  local to_bound = vectors.to_bound(at_bound, r, low, high)
  local r_stride, r_value, from, to = min(to_bound, to_edge), INF, 0, -1
  if r_stride > 0 then
    from = (1 - theta) * stride / r_stride
    to = r_stride == to_bound and theta * to_bound or to_edge
  end
  local reflected_h
  if from <= to then
    local a, b, c = vectors.along(J, g_h, r_h, C, cut_h)
    r_stride, r_value = vectors.least(a, b, from, to, c)
    reflected_h = vectors.add(cut_h, vectors.scaled(r_h, r_stride))
  end

  cut_h = vectors.scaled(cut_h, theta) -- strictly inside
  local p_value = vectors.quadratic(J, g_h, cut_h, C)

  local down_h = vectors.scaled(g_h, -1)
  local down = times(d, down_h)
  local edge = radius / norm(down_h)
  local bound = vectors.to_bound(x, down, low, high)
  local a, b = vectors.along(J, g_h, down_h, C)
  local t, g_value = vectors.least(a, b, 0, bound < edge and theta * bound or edge)

  local step_h, value = vectors.scaled(down_h, t), g_value
  if r_value < p_value and r_value < g_value then step_h, value = reflected_h, r_value
  elseif p_value < r_value and p_value < g_value then step_h, value = cut_h, p_value end
  return times(d, step_h), step_h, -value
end

--- Minimises the cost of a problem from x0.
---@param problem table at(x), linear(point); move(x, step, low, high), where a step may be bent: x + step to first
---  order
---@param x number[]
---@param o table low, high, ftol, xtol, gtol, max_nfev, x_scale, notify; trust 1: factor of the first region's radius
---@return table point, mascon.Reduced small, integer status, number optimality
function M.run(problem, x, o)
  local low, high = o.low, o.high
  local start = x
  x = vectors.strictly(x, low, high, 1e-10)
  local point = problem:at(x)
  if not point.cost then return point, nil, -4 end
  local small = problem:linear(point)
  if not small then return point, nil, -3 end
  local x_scale = o.x_scale ~= 'jac' and o.x_scale
  local scale, inverse = region.scale(x_scale or 'jac', small, x_scale and vectors.over(vectors.filled(#x, 1), x_scale))
  local function coordinates()
    local v, dv = distances(x, small.g, low, high)
    local optimality = vectors.norm_inf(times(small.g, v))
    for i = 1, #v do if dv[i] ~= 0 then v[i] = v[i] * inverse[i] end end
    return v, dv, optimality
  end
  local v, dv, optimality = coordinates()
  local radius
  do
    local s = {}
    for i = 1, #x do s[i] = start[i] * inverse[i] / sqrt(v[i]) end
    radius = norm(s) * (o.trust or 1)
    if radius == 0 then radius = 1 end
  end
  local alpha, status, iteration, guessed = 0, nil, 0, true
  while true do
    if optimality < o.gtol then status = 1 end
    if status or problem.nfev >= o.max_nfev then break end
    local d, C, g_h, curved = {}, {}, {}, false
    for i = 1, #x do
      d[i] = sqrt(v[i]) * scale[i]
      C[i] = small.g[i] * dv[i] * scale[i]
      g_h[i] = d[i] * small.g[i]
      curved = curved or C[i] ~= 0
    end
    if not curved then C = nil end
    local J = {}
    for i = 1, small.k do J[i] = times(small.J[i], d) end
    local spectrum = region.spectrum(small, d, C, problem.rows)
    local theta = min(max(0.995, 1 - optimality), 1 - 1e-8)
    local actual, next_point, length = -1, nil, 0
    while actual <= 0 and problem.nfev < o.max_nfev do
      local p_h
      p_h, alpha = region.step(spectrum, #x, radius, alpha, 0.01, true)
      local step, step_h, predicted = choose(x, small, J, d, C, p_h, g_h, radius, low, high, theta)
      local moved = problem.move and problem:move(x, step, low, high) or vectors.add(x, step)
      local x_new = vectors.strictly(moved, low, high, 0)
      next_point = problem:at(x_new)
      local length_h = norm(step_h)
      if not next_point.cost then
        radius = 0.25 * length_h
        if radius == 0 then break end
      else
        actual = point.cost - next_point.cost
        local next_radius, ratio = region.resize(radius, actual, predicted, length_h, length_h > 0.95 * radius)
        length = norm(step)
        guessed = guessed and next_radius > radius
        status = not guessed and region.finished(actual, point.cost, length, norm(x), ratio, o.ftol, o.xtol) or nil
        if status then break end
        alpha = min(alpha * radius / next_radius, 1e30)
        radius = next_radius
        if radius == 0 then break end
      end
    end
    if radius == 0 and not status then status = 3 end -- no step is short enough
    iteration = iteration + 1
    local before = point.cost
    if actual > 0 then
      point, x = next_point, next_point.x
      local fresh = problem:linear(point)
      if not fresh then
        status = -3
        break
      end
      small = fresh
      if o.x_scale == 'jac' then scale, inverse = region.scale('jac', small, inverse) end
    end
    v, dv, optimality = coordinates()
    if o.notify and o.notify(point, iteration, before - point.cost, actual > 0 and length or 0, optimality) then
      status = -2
      break
    end
  end
  return point, small, status or 0, optimality, iteration
end

return M
