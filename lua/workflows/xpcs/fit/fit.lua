-- fit.lua - values, errors and a verdict from data.
--
-- Joins what the other files know: starting values, the problem, the solver of mascon.optim, closing Gauss-Newton
-- steps, covariance. Takes data that are ready (data.lua) and options; reads and writes no file.
local clock = require 'mascon.base.clock'
local check = require 'mascon.core.check'
local device = require 'mascon.core.place'
local statistics = require 'mascon.optim.fit.curve_fit.statistics'
local loss = require 'mascon.optim.fit.least_squares.loss'
local trf = require 'mascon.optim.fit.least_squares.trf'
local least_squares = require 'mascon.optim.fit.least_squares'
local vectors = require 'mascon.optim.fit.least_squares.vectors'
local parameters = require 'workflows.xpcs.model.parameters'
local model = require 'workflows.xpcs.model.model'
local scaling = require 'workflows.xpcs.model.scaling'
local pass = require 'workflows.xpcs.pass.pass'
local problem = require 'workflows.xpcs.pass.problem'
local examine = require 'workflows.xpcs.read.examine'
local covariance = require 'workflows.xpcs.judge.covariance'
local contrasts = require 'workflows.xpcs.judge.contrasts'
local floor = require 'workflows.xpcs.model.floor'
local nested = require 'workflows.xpcs.judge.nested'
local noise = require 'workflows.xpcs.judge.noise'
local verdict = require 'workflows.xpcs.judge.verdict'
local result = require 'workflows.xpcs.fit.result'
local uncertainty = require 'workflows.xpcs.data.uncertainty'
local error = check.error
local M = {}

local MODES = { 'static', 'laminar_flow', 'static_isotropic' }

M.OPTS = {
  mode = { nil, MODES }, scaling = { 'auto', scaling.MODES }, constant_scaling_threshold = { 3, 'integer >= 1' },
    fourier_order = { 2, 'integer >= 1' },
  initial = { nil, 'table' }, bounds = { nil, 'table' }, fixed = { nil, 'table' }, active = { nil, 'table' },
    ties = { nil, 'table' }, contrast = { nil, 'table' }, offset = { nil, 'table' },
  sigma = { nil, 'any' }, absolute_sigma = { nil, 'bool' }, loss = { 'linear', loss.NAMES }, f_scale = { 1,
    'number > 0' },
  ftol = { 1e-8, 'number >= 0' }, xtol = { 1e-8, 'number >= 0' }, gtol = { 1e-8, 'number >= 0' }, max_nfev = { nil,
    'integer >= 1' }, x_scale = { 'jac', 'any' },
  shear_weighting = { nil, 'any' }, legacy_counting = { false, 'bool' }, legacy_abs = { false, 'bool' },
    phase_convention = { 'qL/2pi', { 'qL/2pi', 'qL/2' } },
  q = { nil, 'number' }, gap = { nil, 'number' }, dt = { nil, 'number' }, progress = { nil, 'any' }, watch = { nil,
    'function' }, engine = { nil, 'function' }, reduced_limit = { 10, 'number > 0' },
  start = { 'auto', { 'auto', 'given' } }, trust_region_scale = { 1, 'number > 0' },
  device = device.ANALYSIS, fall_back = { nil, 'bool' }, max_memory = { nil, 'number > 0' },
}

local function positive(name, v, unit, low, high, warnings)
  if type(v) ~= 'number' or not (v > 0 and v < math.huge) then
    error(('xpcs: %s is %s; give a positive number, %s'):format(name, check.show(v), unit), 5)
  end
  if v < low or v > high then table.insert(warnings,
    ('%s = %g %s is outside the usual range %g .. %g; check its unit'):format(name, v, unit, low, high)) end
end

local TIE = { to = true, factor = true, shift = true }

--- Ties by name of the parameter, { to, factor, shift }: from { to = name, factor = 1, shift = 0 } or by position.
local function ties_of(given, level)
  local out = {}
  for name, t in pairs(given or {}) do
    local own = parameters.get('xpcs: ties', name, level).name
    local fname = ('xpcs: the tie of %s'):format(own)
    if type(t) ~= 'table' then
      error(('%s is %s; give { to = NAME, factor = 1, shift = 0 }'):format(fname, check.show(t)), level)
    end
    for key in pairs(t) do
      if not TIE[key] and key ~= 1 and key ~= 2 and key ~= 3 then
        error(('%s holds %s; give { to = NAME, factor = 1, shift = 0 }'):format(fname, check.show(key)), level)
      end
    end
    local to, numbers = t.to or t[1], { factor = t.factor or t[2] or 1, shift = t.shift or t[3] or 0 }
    if type(to) ~= 'string' then
      error(('%s names no parameter to follow (to is %s); give { to = NAME, factor = 1, shift = 0 }'):format(fname,
        check.show(to)), level)
    end
    for _, key in ipairs { 'factor', 'shift' } do
      local v = numbers[key]
      if type(v) ~= 'number' or v - v ~= 0 then
        error(('%s: %s is %s; give a finite number'):format(fname, key, check.show(v)), level)
      end
    end
    out[own] = { to = parameters.get(fname, to, level).name, factor = numbers.factor, shift = numbers.shift }
  end
  return out
end

--- Lower and upper bound of a parameter, after the user's.
local function bound_of(o, p)
  local given
  for name, b in pairs(o.bounds or {}) do
    if parameters.get('xpcs', name, 6) == p then given = b end
  end
  local low, high = p.min, p.max
  if given then low, high = tonumber(given.min or given[1]) or low, tonumber(given.max or given[2]) or high end
  if low > high then
    error(('xpcs: the bounds of %s are %g and %g; the lower one must not exceed the upper one'):format(p.name, low,
    high), 6) end
  return low, high
end

local function named(list)
  local out = {}
  for k, v in pairs(list or {}) do
    if type(k) == 'number' then out[parameters.key('xpcs', v, 5)] = true
    else out[parameters.key('xpcs', k, 5)] = v end
  end
  return out
end

--- Kind of flow and geometry, checked.
local function geometry_of(data, o, warnings)
  local mode = o.mode or data.mode or 'static'
  if mode == 'static_isotropic' then mode = 'static' end
  local q, gap, dt = o.q or data.q, o.gap or data.gap or 2e6, o.dt or data.dt
  positive('q', q, '1/A', 1e-4, 1, warnings)
  positive('dt', dt, 's', 1e-6, 1e3, warnings)
  if mode ~= 'static' then positive('gap', gap, 'A (the stator-rotor gap; 2e6 A is 200 um)', 1e5, 1e8, warnings) end
  return mode, { q = q, gap = gap, dt = dt, convention = o.phase_convention }
end

--- Where contrast and offset of the angles start: given, or quantiles of the data.
local function start_of_angles(data, o, resolved, warnings)
  local contrast, offset = o.contrast, o.offset
  if not contrast or not offset then
    local c, f_ = scaling.starts(data)
    contrast, offset = contrast or c, offset or f_
    if resolved == 'constant' and not (o.contrast and o.offset) then
      table.insert(warnings,
        'constant scaling is frozen at quantiles of the data, which are biased where the decay is fast; parameters may '
        .. 'end at their bounds. Give contrast and offset, or use averaged')
    end
  end
  for _, list in ipairs { contrast, offset } do
    if #list ~= data.F then
      error(('xpcs: contrast and offset need one number per angle; there are %d and %d angles'):format(#list, data.F),
        4)
    end
  end
  local function own(list) -- a problem writes into its lists
    local out = {}
    for f = 1, data.F do out[f] = list[f] end
    return out
  end
  return own(contrast), own(offset)
end

--- The full vector: names, starting values and bounds of contrast, offset and physics; and where each name stands.
---@param s table mode of the scaling, shares, suffix, m, contrast, offset, P
---@param initial table<string, number> physics that is given
local function full_vector(o, s, initial)
  local v = { names = {}, start = {}, low = {}, high = {}, place_of = {} }
  local function place(i, name, value, p)
    v.names[i], v.start[i], v.place_of[name] = name, value, i
    v.low[i], v.high[i] = bound_of(o, p)
  end
  for k, list in ipairs { s.contrast, s.offset } do
    local p = k == 1 and parameters.CONTRAST or parameters.OFFSET
    local free = s.m > 0 and scaling.free(s.shares, list)
    for i = 1, s.m do place((k - 1) * s.m + i, p.name .. s.suffix[i], free[i], p) end
    if s.mode == 'fourier' then
      local least, largest = scaling.reach(s.shares, bound_of(o, p))
      for i = 1, s.m do v.low[(k - 1) * s.m + i], v.high[(k - 1) * s.m + i] = least[i], largest[i] end
    end
  end
  for k = 1, s.P do
    local p = parameters.LIST[k]
    local given = initial[p.name]
    if given ~= nil and type(given) ~= 'number' then
      error(('xpcs: the initial value of %s is %s; give a number'):format(p.name, check.show(given)), 4)
    end
    place(2 * s.m + k, p.name, given or p.default, p)
  end
  return v
end

--- Refuses to fix numbers of angles that the scaling does not have.
local function check_fixed(fixed, v, resolved)
  for name in pairs(fixed) do
    if not v.place_of[name] and parameters.of_angle(name) then
      error(('xpcs: there is no parameter %s to fix with %s scaling; the parameters are %s'):format(name, resolved,
        table.concat(v.names, ', ')), 4)
    end
  end
end

--- Says which parameters of laminar flow are given to a static fit.
---@param given table[] sets of names
local function say_idle(given, v, warnings)
  local idle, seen = {}, {}
  for _, list in ipairs(given) do
    for name in pairs(list) do
      local p = not v.place_of[name] and not parameters.of_angle(name) and parameters.get('xpcs', name, 5)
      if p and p.place and not seen[p.place] then idle[#idle + 1], seen[p.place] = p, true end
    end
  end
  table.sort(idle, function(a, b) return a.place < b.place end)
  for i, p in ipairs(idle) do idle[i] = p.name end
  if #idle > 0 then
    table.insert(warnings, ('%s belong%s to laminar flow: starting values, bounds and fixed values have no effect in '
      .. 'a static fit'):format(table.concat(idle, ', '), #idle == 1 and 's' or ''))
  end
end

--- Ties by place in the full vector.
local function ties_by_place(o, v)
  local tied, ties = ties_of(o.ties, 5), {}
  for name, t in pairs(tied) do
    local i, to = v.place_of[name], v.place_of[t.to]
    if not i or not to or i == to or tied[t.to] then
      error(('xpcs: %s cannot be tied to %s; tie a physical parameter to another one that is not tied itself'):format(
        name, t.to), 4)
    end
    ties[i] = { to = to, factor = t.factor, shift = t.shift }
  end
  return ties
end

--- Places of the free numbers. Starting values in `v` become those that are fixed, or go inside their bounds.
---@param fixed table<string, boolean|number>
---@param active? table<string, boolean>
local function free_of(v, s, fixed, active, ties, warnings)
  local free, start, low, high = {}, v.start, v.low, v.high
  for i, name in ipairs(v.names) do
    local base = i <= s.m and 'contrast' or i <= 2 * s.m and 'offset' or name
    local held = fixed[name]
    if held == nil then held = fixed[base] end
    if type(held) == 'number' and (i > 2 * s.m or s.mode ~= 'fourier') then start[i] = held end
    if held == nil and low[i] == high[i] then start[i], held = low[i], true end
    if active and i > 2 * s.m and not active[name] then held = true end
    if held == nil or held == false then
      local inside = math.max(low[i], math.min(high[i], start[i]))
      if inside ~= start[i] then
        table.insert(warnings, ('%s starts at %g, outside its bounds %g .. %g; it starts at %g'):format(name, start[i],
          low[i], high[i], inside))
        start[i] = inside
      end
      if not ties[i] then free[#free + 1] = i end
    end
  end
  if #free == 0 then error('xpcs: every parameter is fixed; leave at least one free', 4) end
  return free
end

--- sigma of the angles by how much each tells of the shear, and those weights.
local function weighted(data, o, phi0, sigma)
  local w = type(o.shear_weighting) == 'table' and o.shear_weighting or {}
  local weights = scaling.shear_weights(data.phi, { phi0 = phi0, alpha = w.alpha, min_weight = w.min_weight,
    normalize = w.normalize })
  local out = {}
  for f = 1, data.F do out[f] = sigma[f] / math.sqrt(math.max(weights[f], 0.01)) end
  return out, weights
end

--- Everything a problem needs, and the words that go with it.
local function set_up(data, o)
  examine.refuse_mixed(data)
  local warnings = {}
  local mode, geometry = geometry_of(data, o, warnings)
  local resolved, note = scaling.resolve(o.scaling, data.F, o)
  if note then table.insert(warnings, note) end
  local shares, suffix = scaling.matrix(resolved, data.phi, o.fourier_order)
  local s = { mode = resolved, shares = shares, suffix = suffix, m = shares and #shares[1] or 0,
    P = mode == 'static' and 3 or 7 }
  local sigma, default_sigma = uncertainty.of_angles('xpcs', o.sigma, data)
  s.contrast, s.offset = start_of_angles(data, o, resolved, warnings)
  local initial = named(o.initial)
  local v = full_vector(o, s, initial)
  local fixed, active = named(o.fixed), o.active and named(o.active)
  check_fixed(fixed, v, resolved)
  if mode == 'static' then say_idle({ initial, fixed, active or {}, named(o.bounds) }, v, warnings) end
  local ties = ties_by_place(o, v)
  local free = free_of(v, s, fixed, active, ties, warnings)
  if data.points < #free then
    error(('xpcs: %d points cannot determine %d parameters; use more data or fix parameters'):format(data.points,
      #free), 3)
  end
  local weights, given = nil, sigma
  if o.shear_weighting and mode ~= 'static' then
    sigma, weights = weighted(data, o, v.start[2 * s.m + 7], sigma)
  end
  local kd, ks = model.constants { q = geometry.q, gap = geometry.gap, dt = geometry.dt,
    phase_convention = o.phase_convention }
  local p = problem.new {
    data = data, mode = resolved, shares = shares, P = s.P, start = v.start, free = free, ties = ties, sigma = sigma,
    kd = kd, ks = ks, t = data.t, loss = o.loss, f_scale = o.f_scale, contrast = s.contrast, offset = s.offset,
    legacy_abs = o.legacy_abs, engine = o.engine, watch = o.watch,
    device = o.device ~= 'cpu' and require('workflows.xpcs.pass.device').place(o, warnings) or nil,
  }
  p.names, p.low, p.high, p.warnings, p.kind_of_flow = v.names, v.low, v.high, warnings, mode
  p.default_sigma, p.given_sigma, p.weights, p.geometry = default_sigma, given, weights, geometry
  return p
end

local function picked(p, list)
  local out = {}
  for k, i in ipairs(p.free) do out[k] = list[i] end
  return out
end

--- Whether sigma is that of the data, and no share of it.
---@param default boolean it is assumed
local function is_absolute(default, o)
  if o.absolute_sigma == nil then return not default end
  return o.absolute_sigma
end

--- Standard errors per root of the inverse normal matrix. Those under a robust loss come from the residuals, whatever
--- sigma is said to be.
local function unit_of_errors(p, absolute, cost, dof)
  if absolute and p.loss == 'linear' then return 1 end
  return math.sqrt(math.max(2 * cost / math.max(dof, 1), 1e-300))
end

local STEPS = 30 -- closing steps at most; two or three are usual, more where the cost has a curved ridge

--- Gauss-Newton steps from where the solver stopped, until a step is below 1e-6 standard errors. Numbers that lean on a
--- bound stay there.
---@param most? integer evaluations of the problem in all, where the user bounds them
---@return table point
---@return number left the last step, in standard errors
---@return integer steps
local function polish(p, point, low, high, scale, most)
  local left, steps = 0, 0
  local function spent() return most ~= nil and p.nfev >= most end
  -- onto the bounds that it leans on
  local leaned, any = {}, false
  local slope = p:normal(point)
  for k, v in ipairs(point.x) do
    local reach = math.min(1e-5 * (high[k] - low[k]), 1e-3 * (1 + math.abs(v)))
    local to = slope[k] > 0 and v - low[k] < reach and low[k] or slope[k] < 0 and high[k] - v < reach and high[k] or v
    leaned[k], any = to, any or to ~= v
  end
  if any and not spent() then
    local moved = p:at(vectors.strictly(leaned, low, high, 0))
    if moved.cost and moved.cost <= point.cost * (1 + 1e-13) then point = moved end
  end
  while steps < STEPS do
    local g, H = p:normal(point)
    local inside = {}
    for k = 1, #g do
      local range = high[k] - low[k]
      local near = range < math.huge and 1e-6 * range or 1e-9 * (1 + math.abs(point.x[k]))
      if not ((point.x[k] - low[k] < near and g[k] > 0) or (high[k] - point.x[k] < near and g[k] < 0)) then
        inside[#inside + 1] = k end
    end
    if #inside == 0 then return point, 0, steps end
    local sub = {}
    for a, i in ipairs(inside) do
      sub[a] = {}
      for b, j in ipairs(inside) do sub[a][b] = H[i][j] end
    end
    local values, V, norms = problem.spectrum(sub)
    local n = #inside
    local step, size = {}, 0
    for a = 1, n do step[a] = 0 end
    for k = 1, n do
      if values[k] > values[n] / covariance.LIMIT then
        local s = 0
        for a = 1, n do if norms[a] > 0 then s = s + V[k][a] * g[inside[a]] / norms[a] end end
        size = size + s * s / values[k]
        for a = 1, n do if norms[a] > 0 then step[a] = step[a] - V[k][a] * s / values[k] / norms[a] end end
      end
    end
    left = math.sqrt(size) / scale
    if left < 1e-6 then return point, left, steps end
    -- a whole step leaves a curved ridge, a shorter one follows it
    local next_point
    for _, share in ipairs { 1, 0.5, 0.25, 0.125 } do
      if spent() then break end
      local whole = vectors.filled(#g, 0)
      for a, k in ipairs(inside) do whole[k] = share * step[a] end
      local x = vectors.strictly(vectors.clip(p:move(point.x, whole, low, high), low, high), low, high, 0)
      next_point = p:at(x)
      if next_point.cost and next_point.cost <= point.cost * (1 + 1e-13) then break end
      next_point = nil
      if left < 1e-4 then break end
    end
    if not next_point then return point, left, steps end
    point, steps = next_point, steps + 1
  end
  return point, left, steps
end

--- Whether D or G is at its floor at any of the measured times.
local function floored(p, point)
  local _, _, physics = p:split(p:full(point.x))
  return #floor.of(p.t, physics) > 0
end

--- A problem under the linear loss.
---@param p mascon.xpcs.Problem
---@return mascon.xpcs.Problem
local function linear(p)
  local q = problem.new(p)
  q.loss, q.watch, q.engine = 'linear', nil, pass.run -- no part of the fit: checkpoints do not hold it
  return q
end

--- Sum of squares of the residuals themselves at a point: a robust cost is no chi2.
local function squares(p, point)
  if p.loss == 'linear' then return point.sums[1] end
  return linear(p):at(point.x).sums[1]
end

--- What the misfit of one data set, or of several fitted at once, says; they all know sigma, or none does.
---@param problems mascon.xpcs.Problem[]
---@param points table[] of each
---@param o table options of the fit
---@param n integer free numbers of all
---@return table as in a result: n_points, counting, chi2, reduced_chi2, dof, sigma_is_default, absolute_sigma; factor:
---  of the covariance
local function misfit(problems, points, o, n)
  local times = o.legacy_counting and 2 or 1
  local N, distinct, sum, cost = 0, 0, 0, 0
  for i, p in ipairs(problems) do
    N = N + (o.legacy_counting and p.data.F * p.data.n ^ 2 or p.data.points)
    distinct, sum, cost = distinct + p.data.points, sum + squares(p, points[i]), cost + points[i].cost
  end
  local dof, default = math.max(N - n, 1), problems[1].default_sigma
  local absolute = is_absolute(default, o)
  -- counted twice, the points give the same misfit and half the variance
  local factor = covariance.factor(o.loss, absolute, times * cost, N, n) / times
  return { n_points = N, counting = o.legacy_counting and 'both triangles (legacy)' or 'unique pairs',
    chi2 = times * sum, reduced_chi2 = times * sum / dof, dof = dof, sigma_is_default = default,
    absolute_sigma = absolute, factor = distinct <= n and math.huge or factor }
end

--- Standard errors and correlations of free numbers. An error beyond the range of the bounds is none: the data do not
--- determine the number.
---@param cov number[][]
---@return number[] errors, number[][] correlation
local function errors_of(cov, low, high)
  local errors, corr = {}, {}
  for i = 1, #cov do errors[i] = math.sqrt(cov[i][i]) end
  for i = 1, #cov do
    corr[i] = {}
    for j = 1, #cov do corr[i][j] = i == j and 1 or cov[i][j] / (errors[i] * errors[j]) end
  end
  for i = 1, #cov do if errors[i] > high[i] - low[i] then errors[i] = math.huge end end
  return errors, corr
end

--- What the residuals of a point tell of the contrasts of the angles and of the noise.
---@param of table of misfit
---@return table|nil contrasts of contrasts.of, table|nil noise of noise.judge
local function look(p, point, of)
  local angles, v = contrasts.of(p, point, of.absolute_sigma), noise.fitted(p, point)
  return angles, noise.judge(v, angles, of.absolute_sigma and of.reduced_chi2 or nil)
end

--- Covariance under correlated noise of a point, the rise of each variance over what the cost takes it for, and the
--- root of the largest over that of independent noise. Of a robust loss it is that of the linear one.
---@param c table of covariance.of
---@param spread number[][] of noise.judge
---@param plain number[][] covariance under independent noise
local function under_correlation(p, point, c, spread, plain)
  if p.loss == 'linear' then return noise.covariance(spread, noise.within(c), plain) end
  local q = linear(p)
  local cov, rise, factor = noise.covariance(spread, noise.within(covariance.of(q, q:at(point.x))), plain)
  for k, more in ipairs(c.rise) do rise[k] = rise[k] * more end
  return cov, rise, factor
end

--- A covariance in which some free numbers have no variance that is known.
---@param names string[] of all free numbers
---@param unneeded string[] names of those
local function without(cov, names, unneeded)
  local gone, out = {}, {}
  for _, name in ipairs(unneeded) do gone[name] = true end
  for a, row in ipairs(cov) do
    out[a] = {}
    for b, v in ipairs(row) do
      local none = gone[names[a]] or gone[names[b]]
      out[a][b] = not none and v or a == b and math.huge or 0 / 0
    end
  end
  return out
end

--- Free numbers but the offset.
local function but_offset(p)
  local out = {}
  for _, i in ipairs(p.free) do
    if i <= p.m or i > 2 * p.m then out[#out + 1] = p.names[i] end
  end
  return out
end

local PLAIN = 10 -- standard errors of a number that leave no doubt about a decay

--- Whether the contrast, or where it is not free a physical number, is known well enough to spare a look for a decay.
local function decays(p, point, cov)
  local of_contrast, of_offset
  for _, i in ipairs(p.free) do of_offset = of_offset or i > p.m and i <= 2 * p.m end
  for k, i in ipairs(p.free) do
    if i <= p.m then of_contrast = of_offset end -- beside a fixed offset it is known from the level
    if (i <= p.m and of_offset or i > 2 * p.m and not of_contrast) and cov[k][k] < math.huge
      and math.abs(point.x[k]) > PLAIN * math.sqrt(cov[k][k]) then return true end
  end
  return false
end

--- Whether chance explains a fit, as far as it is tested: what a smaller model misses beside one that misses much says
--- nothing of the larger one.
---@param of table of misfit
---@param frames table|nil of look
local function describes(p, point, of, frames)
  if frames and frames.pattern and frames.pattern.improbable then return false end
  if of.absolute_sigma and not of.sigma_is_default and not p.weights then
    local sd = math.max(math.sqrt(2 / of.dof), frames and frames.chi2_sd and frames.chi2_sd / of.dof or 0)
    return of.reduced_chi2 <= 1 + verdict.IMPROBABLE * sd
  end
  local correlated = frames and frames.correlated
  for k, i in ipairs(correlated and p.free or {}) do -- as where the flow has another direction
    if i == 2 * p.m + 7 and result.at_bound(point.x[k], p.low[i], p.high[i], 0) then return false end
  end
  return true
end

--- By how much correlated noise exceeds independent noise in the variance of the shear.
---@param rise number[] of each variance
local function shear_excess(p, rise)
  local most = 1
  for k, i in ipairs(p.free) do
    if i >= 2 * p.m + 4 and rise[k] and rise[k] < math.huge then most = math.max(most, rise[k]) end
  end
  return most
end

--- The result of a point.
---@param whole? table of data that are fitted with others: covariance of the free numbers, and covariance_by, of all;
---  contrasts and noise of look; unneeded: shear that no data set needs
local function describe(p, o, point, status, iterations, seconds, left, whole)
  local data, n = p.data, #p.free
  local of = misfit({ p }, { point }, o, n)
  local absolute, reduced = of.absolute_sigma, of.reduced_chi2
  local c = covariance.of(p, point)
  local cov, angles, frames, correlated, independent
  if whole then
    cov, angles, frames = whole.covariance, whole.contrasts, whole.noise
  else
    cov = statistics.scaled(c.covariance, of.factor)
    angles, frames = look(p, point, of)
    correlated = not o.legacy_counting and frames and frames.spread
    if correlated then
      independent = cov
      cov, c.rise, frames.factor = under_correlation(p, point, c, correlated, cov)
    end
  end
  local plain, unneeded, flat = decays(p, point, cov), nil, nil
  if whole then unneeded = whole.unneeded
  else
    if not plain then flat = nested.flat(p, point, absolute) end
    if flat then cov = without(cov, picked(p, p.names), but_offset(p))
    elseif not (angles and angles.improbable) and describes(p, point, of, frames) then
      unneeded = nested.of(p, point, absolute, correlated and shear_excess(p, c.rise) or 1)
      if unneeded then cov = without(cov, picked(p, p.names), unneeded.names) end
    end
  end
  local error_of = {}
  local errors_free, corr = errors_of(cov, picked(p, p.low), picked(p, p.high))
  for k, i in ipairs(p.free) do error_of[i] = errors_free[k] end
  local z = p:full(point.x)
  for i, v in ipairs(z) do z[i] = result.told(v) end
  -- a power beside a scale and a constant part that are not determined has an error for this place of theirs alone
  for k = 2 * p.m + 1, 2 * p.m + p.P - 2, 3 do
    if error_of[k] == math.huge and error_of[k + 2] == math.huge and error_of[k + 1] then
      error_of[k + 1] = math.huge
    end
  end
  local contrast, offset, physics = p:split(z)
  for i, t in pairs(p.ties) do error_of[i] = math.abs(t.factor) * (error_of[t.to] or 0) end
  local list, values, errors, is_free, hits = {}, {}, {}, {}, false
  for _, i in ipairs(p.free) do is_free[i] = true end
  for i, name in ipairs(p.names) do
    local base = i <= p.m and parameters.CONTRAST or i <= 2 * p.m and parameters.OFFSET or parameters.LIST[i - 2 * p.m]
    local hit = is_free[i] and result.at_bound(z[i], p.low[i], p.high[i], error_of[i]) or nil
    hits = hits or hit ~= nil
    list[i] = { name = name, unit = base.unit, about = base.about, value = z[i], error = is_free[i] and error_of[i]
      or p.ties[i] and error_of[i] or nil, low = p.low[i], high = p.high[i],
      angle = p.mode == 'individual' and i <= 2 * p.m and data.phi[(i - 1) % p.m + 1] or nil,
      at_bound = hit, start = p.start[i], state = is_free[i] and 'free' or p.ties[i] and 'tied' or 'fixed' }
    values[name], errors[name] = z[i], list[i].error
  end
  local checks = parameters.examine((function()
    local v = {}
    for k = 1, p.P do v[parameters.LIST[k].name] = physics[k] end
    local sum_c, sum_o = 0, 0
    for f = 1, data.F do sum_c, sum_o = sum_c + contrast[f], sum_o + offset[f] end
    v.contrast, v.offset = sum_c / data.F, sum_o / data.F
    return v
  end)(), plain)
  local r = result.of {
    mode = p.kind_of_flow, scaling = p.mode, parameters = list, values = values, errors = errors, physics = physics,
      contrast = contrast, offset = offset,
    names = picked(p, p.names), covariance = cov, correlation = corr, condition = c.condition,
      covariance_by = whole and whole.covariance_by or correlated and c.how .. ' and correlated residuals' or c.how,
      null = c.null, spectrum = c, independent_covariance = independent, -- nil: covariance is that of independent noise
    chi2 = of.chi2, reduced_chi2 = reduced, n_points = of.n_points, n_parameters = n, dof = of.dof,
      cost = point.cost, loss = o.loss, f_scale = o.f_scale, sigma = p.sigma, sigma_is_default = of.sigma_is_default,
      absolute_sigma = absolute, counting = of.counting, shear_weights = p.weights, joint = whole and true or nil,
    status = status, message = least_squares.MESSAGES[status], success = status > 0, nfev = p.nfev,
      iterations = iterations, seconds = seconds, scan_seconds = p.scan_seconds, passed = p.nfev * data.points,
      last_step = left,
    geometry = p.geometry, kd = p.kd, ks = p.ks, warnings = p.warnings, checks = checks,
      cuts = not flat and floor.of(p.t, physics) or nil, contrasts = angles, noise = frames, unneeded = unneeded,
      flat = flat, pushed = hits and nested.fall(p, point) / math.max(absolute and 1 or 0, reduced) or nil,
      pattern = frames and frames.pattern,
      problem = p, point = point, device = p.device and not p.device.left and p.device.name or 'cpu',
  }
  if r.scaling == 'fourier' then
    local negative = 0
    for _, v in ipairs(r.contrast) do if v < 0 then negative = negative + 1 end end
    if negative > 0 then
      table.insert(r.warnings, ('the Fourier series gives %d of %d angles a negative contrast; use individual scaling '
        .. 'or a lower fourier_order'):format(negative, #r.contrast))
    end
  end
  if absolute and not p.default_sigma and reduced > o.reduced_limit then table.insert(r.warnings,
    ('reduced chi2 is %.4g, above %g: the model does not describe the data within sigma'):format(reduced,
    o.reduced_limit)) end
  if p.weights then
    local q = problem.new(p)
    q.sigma = p.given_sigma
    q.watch, q.engine = nil, pass.run
    r.unweighted_chi2 = (o.legacy_counting and 2 or 1) * q:at(point.x).sums[1]
  end
  verdict.judge(r, whole and verdict.plain(r) or verdict.of(r))
  return r
end

--- The status after the closing steps: converged where the last one is small against a standard error, not where the
--- bound on evaluations left it large.
---@param left number|nil the last step, in standard errors
---@param spent boolean the evaluations that the user allows are used up
local function ended_by(status, left, spent)
  if status < 0 then return status end
  if left >= 1e-3 and spent then return 0 end
  return status == 0 and left < 1e-3 and 3 or status
end

--- Scales of the free numbers from a map by name; 1 for those that it leaves out.
local function scales(p, map)
  local by_name, out = {}, {}
  for name, v in pairs(map) do
    if type(v) ~= 'number' or not (v > 0 and v < math.huge) then
      error(('xpcs: x_scale of %s is %s; give a positive number'):format(tostring(name), check.show(v)), 4)
    end
    by_name[parameters.get('xpcs', name, 4).name] = v
  end
  for k, place in ipairs(p.free) do
    local base = place <= p.m and 'contrast' or place <= 2 * p.m and 'offset' or p.names[place]
    out[k] = by_name[base] or 1
  end
  return out
end

--- Fits the model to data.
---
---@param data mascon.xpcs.Data
---@param opts? table mode 'static'|'laminar_flow' (the data's) · scaling
---  'auto'|'individual'|'constant'|'averaged'|'fourier' (constant_scaling_threshold 3: angles from which 'auto' has one
---  for all; fourier_order 2) · initial { name = value }; without it a scan of a coarse copy
---  of the data finds the start (start = 'given': the defaults) ·
---  bounds { name = { low, high } } · fixed (names, or name = value) · active (names: all other physical ones are
---  fixed) · ties { name = { to = name, factor = 1, shift = 0 } }, or { name, 1, 0 } by
---  position: this one is factor times that one plus shift ·
---  contrast, offset (lists per angle) · sigma (number or list per angle; 0.01) · absolute_sigma (true when sigma is
---  given) · loss · f_scale ·
---  ftol, xtol, gtol 1e-8 · x_scale 'jac', or { name = scale } · max_nfev: evaluations at most, closing steps
---  included, less those of the scan for a start; without it the solver has 100 per parameter · shear_weighting ·
---  legacy_counting · legacy_abs · phase_convention · device (that of MASCON_DEVICE, else the CPU) 'cpu', 'gpu',
---  'cuda:0', 'opencl:0', 'auto' (mc.choose_device): where passes over the data run; a list of names shares them ·
---  fall_back (true under 'auto'): the CPU goes on where the device fails, with a warning · max_memory: bytes that data
---  may take on a device (three quarters of what is free); larger ones go there block by block in each pass · q, gap,
---  dt: in place of those of the data ·
---  trust_region_scale 1: of the first step · reduced_limit 10: reduced chi2 above which a warning says that the model
---  does not describe the data · progress(point, iteration, optimality, problem), watch(problem, point): called on the
---  way · engine: what makes the passes (state.lua)
---@return table result parameters (list of { name, unit, value, error, low, high, at_bound, state }), values, errors,
---  contrast, offset, physics, covariance,
---  correlation, chi2, reduced_chi2, verdict (sentences), quality_flag, convergence_status, ...
--- Source: Branch, Coleman and Li, 1999 (the solver); the model: X-ray photon correlation under flow, see model.lua.
function M.fit(data, opts)
  local o = check.opts('xpcs.fit', opts, M.OPTS, 3)
  local p = set_up(data, o)
  local start = clock.seconds()
  local low, high = picked(p, p.low), picked(p, p.high)
  local iterations_shown
  local settings = {
    low = low, high = high, ftol = o.ftol, xtol = o.xtol, gtol = o.gtol, max_nfev = o.max_nfev or 100 * #p.free,
      x_scale = o.x_scale,
    notify = o.progress and function(point, iteration, _, _, optimality)
      iterations_shown = iteration
      return o.progress(point, iteration, optimality, p)
    end or nil,
  }
  local search = o.start == 'auto' and next(o.initial or {}) == nil
  p.scan_seconds = 0
  --- Starting values of a scan, which no pass over the data is part of.
  local function find(above)
    local before = clock.seconds()
    local found = require('workflows.xpcs.fit.start').find(p, above)
    p.scan_seconds = p.scan_seconds + clock.seconds() - before
    return found
  end
  if search then
    for place, v in pairs(find()) do p.start[place] = v end
  end
  local x0 = picked(p, p.start)
  for k = 1, #x0 do x0[k] = math.max(low[k], math.min(high[k], x0[k])) end
  settings.trust = o.trust_region_scale
  if type(o.x_scale) == 'table' then settings.x_scale = scales(p, o.x_scale) end
  local point, small, status, _, iterations = trf.run(p, x0, settings)
  --- The solver from elsewhere, or with another first step; its end is kept where it lies deeper.
  local function try(x, trust)
    if o.max_nfev and p.nfev >= o.max_nfev then return end
    settings.trust = o.trust_region_scale * trust
    local other, small_, status_, _, iterations_ = trf.run(p, x, settings)
    if other.cost and status_ >= 0 and other.cost < point.cost then
      point, small, status, iterations = other, small_, status_, iterations_
    end
  end
  -- a first step too long may end where D or G is floored and nothing changes any more: again with short ones
  if status >= 0 and floored(p, point) then
    for _, trust in ipairs { 0.03, 0.001 } do
      try(x0, trust)
      if not floored(p, point) then break end
    end
  end
  -- there is a valley of its own where D is cut off: what is found above the floor may lie deeper
  if search and status >= 0 and floored(p, point) then
    local x1 = {}
    local found = find(true)
    for k, place in ipairs(p.free) do x1[k] = math.max(low[k], math.min(high[k], found[place] or x0[k])) end
    try(x1, 1)
  end
  if status == -4 then
    error('xpcs: the cost is not finite at the start; check the data for overflow and the starting values', 2) end
  if not small then error('xpcs: the derivatives are not finite; check the starting values', 2) end
  local scale = unit_of_errors(p, is_absolute(p.default_sigma, o), point.cost, data.points - #x0)
  local left
  local function close()
    local steps
    point, left, steps = polish(p, point, low, high, scale, o.max_nfev)
    iterations = (iterations or 0) + steps
  end
  if status >= 0 then close() end
  -- a power that ran to its bound, or a scale that vanished, may hide a deeper valley inside the bounds
  if search and status >= 0 then
    local ended = point
    for _, x in ipairs(require('workflows.xpcs.fit.start').off_bounds(p, point.x, result.at_bound)) do try(x, 1) end
    if point ~= ended then close() end
  end
  status = ended_by(status, left, o.max_nfev and p.nfev >= o.max_nfev)
  return (describe(p, o, point, status, iterations or iterations_shown or 0, clock.seconds() - start, left))
end

M.set_up, M.describe, M.polish = set_up, describe, polish
M.unit_of_errors, M.is_absolute, M.misfit, M.errors_of, M.look = unit_of_errors, is_absolute, misfit, errors_of, look
M.ended_by, M.linear, M.without = ended_by, linear, without
return M
