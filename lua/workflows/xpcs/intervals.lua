-- intervals.lua - profile likelihood: how far a parameter can move before the fit gets worse by a given chi2, all
-- others fitted anew.
--
-- Near a bound or along a curved valley the interval is not symmetric and not what the normal matrix says. Each point
-- of a profile is a fit of the other parameters from where the last one ended. A robust cost is no log likelihood: it
-- is divided by what the square of a standard error costs (Kent, Robust properties of likelihood ratio tests, 1982), so
-- that a cost without curvature gives the interval of the standard error.
local trf = require 'mascon.optim.fit.least_squares.trf'
local check = require 'mascon.core.check'
local covariance = require 'workflows.xpcs.covariance'
local problem = require 'workflows.xpcs.problem'
local parameters = require 'workflows.xpcs.parameters'
local fit = require 'workflows.xpcs.fit'
local error = check.error
local M = {}

-- chi2 of one degree of freedom
local LEVELS = { [0.68] = 0.98894647, [0.6827] = 1, [0.9] = 2.70554345, [0.95] = 3.84145882, [0.99] = 6.63489660 }

--- Least cost with free number k held at v, and the point.
local function held(r, k, v, from)
  local p = r.problem
  local place = p.free[k]
  local free, low, high, x0 = {}, {}, {}, {}
  for i, at in ipairs(p.free) do
    if i ~= k then
      local j = #free + 1
      free[j], low[j], high[j], x0[j] = at, p.low[at], p.high[at], math.max(p.low[at], math.min(p.high[at], from[i]))
    end
  end
  local start = p:full(r.point.x)
  start[place] = v
  local settings = {}
  for key, value in pairs(p) do settings[key] = value end
  settings.free, settings.start, settings.watch = free, start, nil
  local q = problem.new(settings)
  q.names, q.low, q.high = p.names, p.low, p.high
  if #free == 0 then
    local point = q:at {}
    return point.cost, { v }
  end
  local point = trf.run(q, x0, { low = low, high = high, ftol = 1e-10, xtol = 1e-10, gtol = 1e-10,
    max_nfev = 50 * #free, x_scale = 'jac' })
  point = fit.polish(q, point, low, high, 1)
  local x = {}
  for i = 1, #p.free do x[i] = i == k and v or point.x[i < k and i or i - 1] end
  return point.cost, x
end

--- One end: where 2 (cost - best) reaches `rise`, from the fit outwards; `open` when the bound comes first.
local function end_of(r, k, direction, rise, scale2)
  local p = r.problem
  local place = p.free[k]
  local best, x = r.point.cost, r.point.x
  local bound = direction < 0 and p.low[place] or p.high[place]
  local width = r.errors[p.names[place]]
  if not (width and width > 0 and width < math.huge) then width = math.abs(bound - x[k]) / 4 end
  local inner, f_inner, outer, f_outer = x[k], -rise, nil, nil
  local from = x
  local step = width * math.sqrt(rise)
  for _ = 1, 12 do
    local v = x[k] + direction * step
    local beyond = (v - bound) * direction >= 0
    if beyond then v = bound end
    local cost, at = held(r, k, v, from)
    cost = cost or math.huge
    if cost < best * (1 - 1e-9) - 1e-9 then r.better = { cost = cost, x = at } end
    local f = 2 * (cost - best) / scale2 - rise
    if f >= 0 then
      outer, f_outer = v, f
      break
    end
    inner, f_inner, from = v, f, at
    if beyond then return bound, true end
    step = step * 1.6
  end
  if not outer then return inner, true end
  for _ = 1, 20 do -- regula falsi on the square root, which is nearly straight
    local a, b = math.sqrt(math.max(f_inner + rise, 0)), math.sqrt(f_outer + rise)
    local t = (math.sqrt(rise) - a) / (b - a)
    t = t == t and math.max(0.05, math.min(0.95, t)) or 0.5
    local v = inner + t * (outer - inner)
    local cost, at = held(r, k, v, from)
    local f = 2 * ((cost or math.huge) - best) / scale2 - rise
    if math.abs(f) < 1e-3 * rise then return v, false end
    if f >= 0 then outer, f_outer = v, f else inner, f_inner, from = v, f, at end
    if math.abs(outer - inner) < 1e-6 * width then break end
  end
  return (inner + outer) / 2, false
end

--- Profile intervals of parameters, also kept in r.intervals.
---@param r table result of fit
---@param names? string[] default: the free physical parameters
---@param level? number 0.68, 0.6827, 0.9, 0.95 (default) or 0.99
---@return table name = { low, high, low_open, high_open, level }; open: the bound comes before the level
function M.profile(r, names, level)
  if type(r) ~= 'table' or not r.problem or r.fits then
    error(('xpcs.intervals.profile: the first argument is %s; give the result of mc.xpcs.fit (of a model of your own: '
      .. 'result:profile(name); a joint fit has standard errors and no profiles)'):format(check.show(r)), 2)
  end
  level = level or 0.95
  local rise = LEVELS[level]
  if not rise then
    error(('xpcs.intervals.profile: level %s is not tabled; choose 0.68, 0.6827, 0.9, 0.95 or 0.99'):format(
      tostring(level)), 2)
  end
  local place = {}
  for k, name in ipairs(r.names) do place[name] = k end
  if not names then
    names = {}
    for _, p in ipairs(parameters.LIST) do if place[p.name] then names[#names + 1] = p.name end end
  end
  local robust = r.problem.loss ~= 'linear'
  local out = {}
  for _, name in ipairs(names) do
    local k = place[name] or place[parameters.get('xpcs.intervals.profile', name, 3).name]
    if not k then error(('xpcs.intervals.profile: %s is not free in this fit'):format(name), 2) end
    local scale2 = robust and r.spectrum.rise[k] * covariance.factor(r.problem.loss, true, nil, r.n_points, #r.names)
      or r.absolute_sigma and 1 or r.reduced_chi2
    local low, low_open = end_of(r, k, -1, rise, scale2)
    local high, high_open = end_of(r, k, 1, rise, scale2)
    out[r.names[k]] = { low = low, high = high, low_open = low_open, high_open = high_open, level = level }
  end
  r.intervals = out
  r.verdict = require('workflows.xpcs.verdict').of(r)
  if r.better then
    table.insert(r.warnings,
      ('a profile found a better fit (chi2 %.8g): this one is a local minimum; fit again from other starts '
        .. '(multi_start)'):format(2 * r.better.cost))
  end
  return out
end

return M
