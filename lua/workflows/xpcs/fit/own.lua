-- own.lua - a user's own first-order correlation g1, fitted to the same data by one fused pass per step.
--
-- The function is written for tensors of times and recorded, so that its derivatives and its compiled form come from
-- mascon itself; points are read from the packed data block by block. C2 = offset + contrast g1^2.
local mc = require 'mascon'
local clock = require 'mascon.base.clock'
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local examine = require 'workflows.xpcs.read.examine'
local loss = require 'mascon.optim.fit.least_squares.loss'
local contrasts = require 'workflows.xpcs.judge.contrasts'
local data_of = require 'workflows.xpcs.data.data'
local noise = require 'workflows.xpcs.judge.noise'
local parameters = require 'workflows.xpcs.model.parameters'
local result = require 'workflows.xpcs.fit.result'
local scaling = require 'workflows.xpcs.model.scaling'
local trial = require 'workflows.xpcs.model.trial'
local uncertainty = require 'workflows.xpcs.data.uncertainty'
local verdict = require 'workflows.xpcs.judge.verdict'
local error = check.error
local M = {}

local OPTS = {
  p0 = { nil, 'table' }, bounds = { nil, 'table' }, fixed = { nil, 'table' }, tied = { nil, 'table' },
  scaling = { 'averaged', { 'averaged', 'individual' } }, sigma = { nil, 'any' }, absolute_sigma = { nil, 'bool' },
  loss = { 'linear', loss.NAMES }, f_scale = { 1, 'number > 0' },
  ftol = { 1e-10, 'number > 0' }, xtol = { 1e-10, 'number > 0' }, gtol = { 1e-10, 'number > 0' },
  max_nfev = { nil, 'integer >= 1' },
  q = { nil, 'number > 0' }, dt = { nil, 'number > 0' }, gap = { nil, 'number > 0' },
}

local T, G = data_of.TILE, data_of.GROUP

-- arrays of the size of a block: its points, the model, its derivatives
M.COPIES = 40

--- Raises for what is no data or no function.
local function check_call(data, g1)
  check.arg('xpcs.own', 'data', data, 'table', 4)
  if not data.blocks then error('xpcs.own: data holds no packed matrices; give what mc.xpcs.open returns', 4) end
  check.arg('xpcs.own', 'g1', g1, 'function', 4)
end

--- Raises where nothing names the parameters of g1.
local function check_p0(o)
  if not o.p0 and not o.fixed then
    error('xpcs.own: p0 is missing; give a start for each parameter of g1: p0 = { rate = 0.1 }', 4)
  end
end

--- Names of the scaling are no names for parameters of g1: results tell the two apart by the beginning of the name.
local function not_scaling(o)
  for name in pairs(o.p0 or {}) do
    if type(name) ~= 'string' then
      error(('xpcs.own: p0 holds [%s]; name the parameters of g1: p0 = { rate = 0.1 }'):format(tostring(name)), 3)
    end
    local word = tostring(name):match '^contrast' or tostring(name):match '^offset'
    if word then
      error(('xpcs.own: p0 names the parameter %s, and names that begin with %s belong to the scaling C2 = offset + '
        .. 'contrast g1^2; give the parameter of g1 another name'):format(name, word), 3)
    end
  end
end

--- Values that g1 starts with: fixed ones in place of p0, tied ones computed.
local function starting(o)
  local out = {}
  for name, v in pairs(o.p0 or {}) do out[name] = v end
  for name, v in pairs(o.fixed or {}) do
    if type(name) == 'string' and type(v) == 'number' then out[name] = v end
  end
  for name, f in pairs(o.tied or {}) do
    local ok, v = check.try(f, out)
    if not ok then
      error(('xpcs.own: the function of tied that gives %s fails: %s'):format(tostring(name), tostring(v)), 3)
    end
    out[name] = v
  end
  return out
end

--- The points of a block of tiles: t1, t2, angle (deg), its number (from 1), C2 and sigma, without those that are
--- masked.
local function points(data, block, sigma)
  return mc.scope(function()
    local parts = { {}, {}, {}, {}, {}, {} }
    local F, n, at = data.F, data.n, 0
    local phi, s = mc.tensor(data.phi):reshape(1, 1, F, 1), mc.tensor(sigma):reshape(1, 1, F, 1)
    local number = mc.arange(1, F):to('f64'):reshape(1, 1, F, 1)
    for k = 0, block.holes.shape[1] - 1 do
      local tile = data.tiles[block.first + k]
      local shape = { tile.rows, tile.groups, F, G }
      local y = block.y[{ { at + 1, at + tile.values } }]:to('f64'):reshape(shape)
      local i = mc.arange(tile.I * T + 1, tile.I * T + tile.rows):to 'i64'
      local j = mc.minimum(mc.arange(tile.J * T + 1, tile.J * T + tile.groups * G), n):to 'i64'
      local t1, t2 = mc.take(data.t, i, 1):reshape(tile.rows, 1, 1, 1), mc.take(data.t, j, 1):reshape(1, tile.groups, 1,
        G)
      local good = mc.isfinite(y)
      local e = s
      if block.weight then e = s / block.weight[{ { at + 1, at + tile.values } }]:to('f64'):reshape(shape) end
      for c, v in ipairs { t1, t2, phi, number, y, e } do parts[c][k + 1] = mc.broadcast_to(v, shape)[good] end
      at = at + tile.values
    end
    local out = {}
    for c = 1, 6 do out[c] = tensor.hold(#parts[c] == 1 and parts[c][1]:contiguous() or mc.concat(parts[c], 1)) end
    return out
  end)
end

--- g1^2 of angle f at times t1 and t2 (f64, one shape, t1 <= t2 or the other way round).
local function squared(g1, about, data, p, f, t1, t2)
  local first, last = mc.minimum(t1, t2):reshape(-1), mc.maximum(t1, t2):reshape(-1)
  local g = trial.call(g1, p, first, last, mc.full({ first:numel() }, data.phi[f]), about)
  return (g * g):reshape(t1.shape)
end

--- Times of the rows first .. last and of the columns of a matrix of every k-th time, [rows, m] both.
local function times_of(data, first, last, k)
  local t = data.t[{ { 1, data.n, k or 1 } }]:contiguous()
  local m = t.shape[1]
  first, last = first or 1, last or m
  local shape = { last - first + 1, m }
  return mc.broadcast_to(t[{ { first, last } }]:reshape(shape[1], 1), shape):contiguous(),
    mc.broadcast_to(t:reshape(1, m), shape):contiguous()
end

--- The parameters by name from the free ones: numbers, or tensors while derivatives are taken.
local function named(fit, tied, x)
  local p = {}
  for key, v in pairs(fit.p) do p[key] = v end
  for k, key in ipairs(fit.free) do p[key] = x[k] end
  for _, key in ipairs(fit.keys) do if tied[key] then p[key] = tied[key](p) end end
  return p
end

--- What p says of the scaling of angle f.
local function scaling_of(p, what, f) return p[what] or p[('%s_%d'):format(what, f)] end

--- What noise.of takes of a fit.
---@return mascon.xpcs.Fitted
local function fitted(fit, data, g1, about, o, sigma)
  local contrast, offset, tied = {}, {}, o.tied or {}
  for f = 1, data.F do contrast[f], offset[f] = scaling_of(fit.p, 'contrast', f), scaling_of(fit.p, 'offset', f) end
  local places = {} -- of the free numbers that may move g1
  for a, name in ipairs(fit.free) do
    if next(tied) or not (name:find '^contrast' or name:find '^offset') then places[#places + 1] = a end
  end
  --- f of the free numbers, and its derivative by number a
  local function along(f, a)
    local e = {}
    for b = 1, #fit.free do e[b] = b == a and 1 or 0 end
    return mc.jvp(f, { fit.x }, { mc.tensor(e) })
  end
  return { data = data, loss = o.loss, sigma = sigma, given_sigma = sigma, contrast = contrast, offset = offset,
    curve = function(f, k)
      local t1, t2 = times_of(data, nil, nil, k)
      local function g2(x) return squared(g1, about, data, named(fit, tied, x), f, t1, t2) end
      local columns = {}
      for c, a in ipairs(places) do
        local _, slope = along(g2, a)
        columns[c] = mc.where(mc.isfinite(slope), slope, 0) -- at t1 = t2 a power may have none
      end
      local value = g2(fit.x)
      return mc.where(mc.isfinite(value), value, 1), columns
    end,
    mix = function(f)
      local rows = {}
      for a in ipairs(fit.free) do
        local row = {}
        for c, what in ipairs { 'contrast', 'offset' } do
          local _, slope = along(function(x) return x[1] * 0 + scaling_of(named(fit, tied, x), what, f) end, a)
          row[c] = slope:item()
        end
        for c, b in ipairs(places) do row[2 + c] = b == a and 1 or 0 end
        rows[a] = row
      end
      return rows
    end }
end

--- Compares the scaling of the angles, looks at the noise of the residuals, and gives the fit the errors of correlated
--- noise where it is found.
local function look(fit, data, o, v)
  fit.contrasts = contrasts.own({ theory = fit.theory, contrast = v.contrast, offset = v.offset, sigma = v.sigma,
    names = fit.free, cost = fit.cost, loss = o.loss, f_scale = o.f_scale, scaling = o.scaling,
    absolute_sigma = fit.absolute_sigma }, data)
  if not fit.covariance then return end
  fit.noise = noise.judge(v, fit.contrasts, fit.absolute_sigma and fit.reduced_chi2 or nil)
  fit.pattern = fit.noise and fit.noise.pattern
  if not fit.noise or not fit.noise.spread or o.loss ~= 'linear' then return end
  local plain, inverse = fit.covariance:totable(), {}
  for i, row in ipairs(plain) do
    inverse[i] = {}
    for j, value in ipairs(row) do inverse[i][j] = value < math.huge and value / fit.variance or 0 end
  end
  local cov, rise
  cov, rise, fit.noise.factor = noise.covariance(fit.noise.spread, inverse, plain)
  fit:set_covariance(cov, noise.BY, rise)
end

--- Solves C2 = offset + contrast g1^2 with a g1 of the user's: the solver alone, without a verdict. `fit` judges.
---
---@param data mascon.xpcs.Data in memory or streamed
---@param g1 fun(p: table, t1: mc.tensor, t2: mc.tensor, phi: mc.tensor, about: table): mc.tensor values for t1 <= t2
---  (s) and phi (deg), tensors of equal length; p holds the parameters by name, about q (1/A), dt (s) and gap (A).
---  Only functions of mc on them, no value may be asked for
---@param opts table p0 { name = start } of g1's parameters; contrast and offset start at quantiles of the data ·
---  bounds
---  { name = { low, high } } (contrast 0 to 1, offset 0.5 to 1.5) · fixed { name = value } · tied { name =
---  function(p) } ·
---  scaling 'averaged' or 'individual' (contrast_1, ...) · sigma (number, or list per angle; 0.01) · absolute_sigma
---  (true when sigma is given) · loss · f_scale · ftol, xtol, gtol 1e-10 · max_nfev ·
---  q, dt, gap (those of the data; gap 2e6)
---@return mascon.Fit as mc.optim.curve_fit gives it: p, stderr, covariance, chi2, report(), profile(name), ...
---  Under the linear loss errors are those of correlated noise where residuals show it (noise: what they tell;
---  contrasts: whether the scaling holds for every angle). theory(f, first, last, k): g1^2 of rows of angle f, of
---  every k-th time;
---  angles: contrast, offset and sigma of each
--- Source: mc.optim.curve_fit, fused.
---     local data = mc.xpcs.data.of(mc.xpcs.generate.set 'A')
---     local function g1(p, t1, t2) return mc.exp(-p.rate * (t2 - t1)) end
---     mc.xpcs.own.solve(data, g1, { p0 = { rate = 0.1 } }).success  --> true
function M.solve(data, g1, opts)
  check_call(data, g1)
  local o = check.opts('xpcs.own', opts, OPTS, 3)
  check_p0(o)
  examine.refuse_mixed(data, true)
  local sigma, assumed = uncertainty.of_angles('xpcs.own', o.sigma, data)
  local absolute = o.absolute_sigma
  if absolute == nil then absolute = not assumed end
  local p0, bounds, F = {}, {}, data.F
  not_scaling(o)
  local about = { q = o.q or data.q, dt = o.dt or data.dt, gap = o.gap or data.gap or 2e6 }
  trial.first(g1, starting(o), data, about)
  for name, v in pairs(o.p0 or {}) do p0[name] = v end
  for name, b in pairs(o.bounds or {}) do bounds[name] = b end
  local contrast, offset = scaling.starts(data)
  local function start(name, list, low, high)
    local all = bounds[name] or { low, high }
    local function one(key, v)
      local b = bounds[key] or all
      local inside = math.min(1e-3, (b[2] - b[1]) / 4)
      if p0[key] == nil then p0[key] = math.max(b[1] + inside, math.min(b[2] - inside, v)) end
      bounds[key] = b
    end
    local sum = 0
    for f = 1, F do
      sum = sum + list[f] / F
      if o.scaling == 'individual' then one(('%s_%d'):format(name, f), list[f]) end
    end
    if o.scaling == 'averaged' then one(name, sum) else bounds[name] = nil end
  end
  start('contrast', contrast, 0, 1)
  start('offset', offset, 0.5, 1.5)
  for name in pairs(o.fixed or {}) do bounds[name] = nil end
  for name in pairs(o.tied or {}) do p0[name], bounds[name] = nil, nil end
  local function value(p, name, number)
    if o.scaling == 'averaged' then return p[name] end
    local sum
    for f = 1, F do
      local part = mc.where(mc.eq(number, f), p[('%s_%d'):format(name, f)], 0)
      sum = sum and sum + part or part
    end
    return sum
  end
  local function model(x, p)
    local g = trial.call(g1, p, x[1], x[2], x[3], about)
    return value(p, 'offset', x[4]) + value(p, 'contrast', x[4]) * g * g
  end
  data.block_values = data.block_values or 2 ^ 20
  local function source()
    mc.ceiling.left() -- what compiling and the pass before left over goes back
    local next_block = data:blocks()
    return function()
      local block = next_block()
      if not block then return nil end
      local v = points(data, block, sigma)
      data:done(block)
      return { v[1], v[2], v[3], v[4] }, v[5], v[6]
    end
  end
  local fit = mc.optim.curve_fit(model, source, { p0 = p0, bounds = bounds, fixed = o.fixed, tied = o.tied,
    absolute_sigma = absolute, loss = o.loss, f_scale = o.f_scale, ftol = o.ftol, xtol = o.xtol, gtol = o.gtol,
    max_nfev = o.max_nfev, jac = 'forward' })
  function fit.theory(f, first, last, k)
    local t1, t2 = times_of(data, first, last, k)
    return squared(g1, about, data, fit.p, f, t1, t2)
  end
  local v = fitted(fit, data, g1, about, o, sigma)
  fit.angles = { contrast = v.contrast, offset = v.offset, sigma = sigma }
  look(fit, data, o, v)
  return fit
end

local FIT_OPTS = { units = { nil, 'table' } }
for name, kind in pairs(OPTS) do FIT_OPTS[name] = kind end
FIT_OPTS.scaling = { 'auto', { 'auto', 'averaged', 'individual' } }

--- Covariance and correlation, infinite and unknown where the data determine nothing.
local function matrices(f, n)
  local cov = f.covariance and f.covariance:totable() or {}
  local corr = f.correlation and f.correlation:totable() or {}
  for i = 1, n do
    cov[i], corr[i] = cov[i] or {}, corr[i] or {}
    for j = 1, n do
      cov[i][j], corr[i][j] = cov[i][j] or (i == j and math.huge or 0 / 0), corr[i][j] or 0 / 0
    end
  end
  return cov, corr
end

--- The rows of the table of parameters. An error beyond the range of the bounds is none.
---@param f mascon.Fit of M.solve
---@param o table options of M.fit
local function rows_of(f, data, o)
  local is_free, rows, bounds = {}, {}, o.bounds or {}
  for _, name in ipairs(f.free) do is_free[name] = true end
  for i, name in ipairs(f.keys) do
    local of = name:find '^contrast' and parameters.CONTRAST or name:find '^offset' and parameters.OFFSET
    local b = bounds[name] or of and (bounds[name:match '^%l+'] or { of.min, of.max }) or { -math.huge, math.huge }
    local e = is_free[name] and (f.stderr[name] or math.huge) or nil
    if e and e > b[2] - b[1] then
      f.stderr[name], e = math.huge, math.huge
    end
    f.p[name] = result.told(f.p[name])
    rows[i] = { name = name, unit = o.units and o.units[name] or '', about = of and of.about or '', value = f.p[name],
      error = e, low = b[1], high = b[2], start = (o.p0 or {})[name],
      angle = o.scaling == 'individual' and data.phi[tonumber(name:match '^%l+_(%d+)$')] or nil,
      at_bound = e and result.at_bound(f.p[name], b[1], b[2], e) or nil,
      state = is_free[name] and 'free' or (o.fixed or {})[name] ~= nil and 'fixed' or 'tied' }
  end
  return rows
end

--- A note on parameters without a unit, nil where each has one.
local function unitless(o)
  local unnamed = {}
  for name in pairs(o.p0 or {}) do
    if not (o.units and o.units[name]) then unnamed[#unnamed + 1] = name end
  end
  table.sort(unnamed)
  return unnamed[1] and ('the model names no unit of %s: tables and figures show none; add units = { %s = \'...\' }, '
    .. 'and \'\' for a number without unit'):format(table.concat(unnamed, ', '), unnamed[1])
end

--- Fits C2 = offset + contrast g1^2 with a g1 of the user's, and judges the fit as the program does.
---
---@param data mascon.xpcs.Data in memory or streamed
---@param g1 fun(p: table, t1: mc.tensor, t2: mc.tensor, phi: mc.tensor, about: table): mc.tensor as in solve
---@param opts table options of solve · units { name = text } of g1's parameters · scaling 'auto' ('individual' of one
---  or two angles, else 'averaged'), 'averaged' or 'individual'
---@return table result as mc.xpcs.fit gives it, with mode 'own model': conclusion (the first line of print) · verdict ·
---  values, errors by name · parameters · covariance · chi2, reduced_chi2 · noise · warnings · fit: what solve gives,
---  whose profile(name) gives intervals
--- Source: mc.optim.curve_fit, fused.
---     local data = mc.xpcs.data.of(mc.xpcs.simulate { n = 30, dt = 0.5, phi = { 0, 60 }, physics = { 2000, 0, 0 },
---       sigma = 0.004, seed = 1, q = 0.01 })
---     local function g1(p, t1, t2) return mc.exp(-p.rate * (t2 - t1)) end
---     local r = mc.xpcs.own.fit(data, g1, { p0 = { rate = 0.1 }, units = { rate = '1/s' }, sigma = 0.004 })
---     r.conclusion  --> Good fit: the data determine all 5 free parameters.
function M.fit(data, g1, opts)
  local began = clock.seconds()
  check_call(data, g1)
  local o, with = check.opts('xpcs.own', opts, FIT_OPTS, 3), {}
  check_p0(o)
  for name in pairs(OPTS) do with[name] = o[name] end
  o.scaling = scaling.resolve(o.scaling, data.F, {})
  with.scaling = o.scaling
  local f = M.solve(data, g1, with)
  local cov, corr = matrices(f, #f.free)
  local r = result.of({ mode = 'own model', scaling = o.scaling, parameters = rows_of(f, data, o), values = f.p,
    errors = f.stderr, names = f.free, covariance = cov, correlation = corr, condition = 0 / 0,
    covariance_by = f.noise and f.noise.factor and noise.BY or o.loss == 'linear' and 'normal matrix' or 'sandwich',
    contrast = f.angles.contrast, offset = f.angles.offset, sigma = f.angles.sigma,
    sigma_is_default = o.sigma == nil and not data.sigma, absolute_sigma = f.absolute_sigma,
    chi2 = f.chi2, reduced_chi2 = f.reduced_chi2, n_points = f.n, n_parameters = #f.free, dof = math.max(f.dof, 1),
    cost = f.cost, loss = o.loss, f_scale = o.f_scale, counting = 'unique pairs', status = f.status,
    message = f.message, success = f.success, nfev = f.nfev, iterations = f.nit or f.nfev,
    seconds = clock.seconds() - began, passed = f.nfev * data.points, warnings = {},
    checks = { errors = {}, warnings = {}, remarks = {} }, point = { x = f.x:totable() },
    theory = f.theory, contrasts = f.contrasts, noise = f.noise, pattern = f.pattern,
    geometry = { q = o.q or data.q, dt = o.dt or data.dt, gap = o.gap or data.gap or 2e6, convention = 'own model' },
    fit = f, data = data })
  table.insert(r.warnings, unitless(o))
  verdict.judge(r, verdict.plain(r, f.note))
  return r
end

return M
