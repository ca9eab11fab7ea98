-- lm.lua - Levenberg-Marquardt for problems without bounds: a trust region in scaled variables, kept to within a tenth
-- of its length.
--
-- Holds the rules of More's paper for the region and for stopping.
--
-- Source: More, The Levenberg-Marquardt algorithm: implementation and theory, 1978.
local vectors = require 'mascon.optim.fit.least_squares.vectors'
local region = require 'mascon.optim.fit.least_squares.trust_region'
local M = {}

local sqrt, abs, max, min = math.sqrt, math.abs, math.max, math.min
local norm, times = vectors.norm, vectors.times
local EPS = 2 ^ -52
local FACTOR = 100 -- the first region, in units of the scaled x0

--- Largest cosine between a column of J and the residuals.
local function cosine(small, fnorm)
  local top = 0
  if fnorm == 0 then return 0 end
  for j = 1, small.n do
    if small.norms[j] ~= 0 then top = max(top, abs(small.g[j]) / small.norms[j] / fnorm) end
  end
  return top
end

--- Minimises the cost of a problem from x0. Arguments and results as trf.run; the bounds are not used.
function M.run(problem, x, o)
  local n = #x
  local point = problem:at(x)
  if not point.cost then return point, nil, -4 end
  local small = problem:linear(point)
  if not small then return point, nil, -3 end
  local x_scale = o.x_scale ~= 'jac' and o.x_scale
  local scale, D = region.scale(x_scale or 'jac', small, x_scale and vectors.over(vectors.filled(n, 1), x_scale))
  local x_size = norm(times(D, x))
  local radius = x_size > 0 and FACTOR * x_size or FACTOR
  local alpha, status, iteration, first, guessed = 0, nil, 0, true, true
  while true do
    local fnorm = sqrt(2 * point.cost)
    if cosine(small, fnorm) <= o.gtol then status = 1 end
    if status or problem.nfev >= o.max_nfev then break end
    local spectrum = region.spectrum(small, scale, nil, problem.rows)
    local accepted, length, before = false, 0, point.cost
    repeat
      local p_h
      p_h, alpha = region.step(spectrum, n, radius, alpha, 0.1, false)
      local p = times(scale, p_h)
      local p_size = norm(p_h)
      if first then radius, first = min(radius, p_size), false end
      local next_point = problem:at(vectors.add(x, p))
      local actual, next_norm = -1, math.huge
      if next_point.cost then
        next_norm = sqrt(2 * next_point.cost)
        if 0.1 * next_norm < fnorm then actual = 1 - (next_norm / fnorm) ^ 2 end
      end
      local linear, damping = norm(vectors.product(small.J, p)) / fnorm, sqrt(alpha) * p_size / fnorm
      local predicted = linear ^ 2 + 2 * damping ^ 2
      local slope = -(linear ^ 2 + damping ^ 2)
      local ratio = predicted > 0 and actual / predicted or 0
      if ratio <= 0.25 then
        local shrink = actual >= 0 and 0.5 or 0.5 * slope / (slope + 0.5 * actual)
        if 0.1 * next_norm >= fnorm or not (shrink >= 0.1) then shrink = 0.1 end
        radius, alpha, guessed = shrink * min(radius, p_size / 0.1), alpha / shrink, false
      elseif alpha == 0 or ratio >= 0.75 then
        guessed = guessed and alpha > 0 -- the step was cut at the region, which grows
        radius, alpha = p_size / 0.5, 0.5 * alpha
      else guessed = false end
      if ratio >= 1e-4 and next_point.cost then
        accepted, length = true, norm(p)
        point, x, x_size = next_point, next_point.x, norm(times(D, next_point.x))
      end
      local by_f = abs(actual) <= o.ftol and predicted <= o.ftol and ratio <= 2
      local by_x = radius <= o.xtol * x_size
      if not guessed then status = by_f and by_x and 4 or by_f and 2 or by_x and 3 or nil end
      if not status and not guessed then
        if abs(actual) <= EPS and predicted <= EPS and ratio <= 2 then status = 2
        elseif radius <= EPS * x_size or radius == 0 then status = 3 end
      end
    until accepted or status or problem.nfev >= o.max_nfev
    iteration = iteration + 1
    if accepted then
      local fresh = problem:linear(point)
      if not fresh then
        status = -3
        break
      end
      small = fresh
      if o.x_scale == 'jac' then
        scale, D = region.scale('jac', small, D)
        x_size = norm(times(D, x))
      end
    end
    if o.notify and o.notify(point, iteration, before - point.cost, length, vectors.norm_inf(small.g)) then
      status = -2
      break
    end
  end
  return point, small, status or 0, vectors.norm_inf(small.g), iteration
end

return M
