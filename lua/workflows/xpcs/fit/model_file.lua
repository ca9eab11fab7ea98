-- model_file.lua - a model of the user's own from a Lua file, and its fit as a result that tables, arrays and the
-- report take.
--
-- The file returns { g1 = function(p, t1, t2, phi) ... end, p0 = { name = start }, bounds = { name = { low, high } },
-- units = { name = text } }. own.lua fits; this file reads, translates and judges.
local clock = require 'mascon.base.clock'
local check = require 'mascon.core.check'
local fit = require 'workflows.xpcs.fit.fit'
local noise = require 'workflows.xpcs.judge.noise'
local own = require 'workflows.xpcs.fit.own'
local parameters = require 'workflows.xpcs.model.parameters'
local trial = require 'workflows.xpcs.model.trial'
local verdict = require 'workflows.xpcs.judge.verdict'
local scalings = require 'workflows.xpcs.model.scaling'
local error = check.error
local M = {}

local FIELDS = { 'g1', 'p0', 'bounds', 'units', 'fixed', 'tied' }

--- What a model's error says, with advice where it uses mascon under no name.
local function hinted(why)
  why = trial.words(why)
  if why:find "global 'mc'" then
    return why:gsub('; begin with: .*$', '') .. '; begin the file with: local mc = require "mascon"'
  end
  return why
end

local function sorted(t)
  local out = {}
  for name in pairs(t) do out[#out + 1] = tostring(name) end
  table.sort(out)
  return out
end

--- The model of a Lua file.
---@param path string
---@return table g1, p0, bounds, units, fixed, tied
function M.read(path)
  local chunk, why = loadfile(path)
  if not chunk then error(('xpcs: the model cannot be read: %s'):format(why), 0) end
  local ok, m = check.try(trial.confined(chunk))
  if not ok then error(('xpcs: the model %s: %s'):format(path, hinted(m)), 0) end
  if type(m) ~= 'table' or type(m.g1) ~= 'function' or type(m.p0) ~= 'table' or next(m.p0) == nil then
    error(('xpcs: the model %s returns %s; it must return { g1 = function(p, t1, t2, phi) ... end, '
      .. 'p0 = { name = start } }'):format(path, check.show(m)), 0)
  end
  for name in pairs(m) do
    local known = false
    for _, field in ipairs(FIELDS) do known = known or field == name end
    if not known then
      error(('xpcs: the model %s holds %s; a model holds %s'):format(path, tostring(name), table.concat(FIELDS,
        ', ')), 0)
    end
  end
  for name, v in pairs(m.p0) do
    if type(name) ~= 'string' or type(v) ~= 'number' then
      error(('xpcs: the model %s: p0 is a table of names and numbers'):format(path), 0)
    end
  end
  local names = sorted(m.p0)
  for _, field in ipairs { 'bounds', 'units', 'fixed' } do
    for name in pairs(m[field] or {}) do
      local scaling = field == 'bounds' and (name == 'contrast' or name == 'offset' or parameters.of_angle(name))
      if m.p0[name] == nil and not scaling then
        local near = type(name) == 'string' and check.nearest(name, names)
        error(('xpcs: the model %s: %s names %s, which is no parameter%s; p0 has %s'):format(path, field,
          tostring(name), near and (' (did you mean %s?)'):format(near) or '', table.concat(names, ', ')), 0)
      end
    end
  end
  return m
end

--- Starting values, bounds and fixed values: those of the model, then those of the options.
local function asked(model, o)
  local p0, bounds, fixed = {}, {}, {}
  for name, v in pairs(model.p0) do p0[name] = v end
  for name, v in pairs(model.bounds or {}) do bounds[name] = v end
  local function known(name, what)
    if model.p0[name] == nil then
      local names = sorted(model.p0)
      local near = check.nearest(name, names)
      error(('%s %s: there is no such parameter%s; the model has %s'):format(what, name, near
        and (' (did you mean %s?)'):format(near) or '', table.concat(names, ', ')), 0)
    end
  end
  for name, v in pairs(o.initial or {}) do
    known(name, '--p0')
    p0[name] = v
  end
  for name, b in pairs(o.bounds or {}) do
    if name ~= 'contrast' and name ~= 'offset' and not parameters.of_angle(name) then known(name, '--bounds') end
    bounds[name] = b
  end
  for name, v in pairs(model.fixed or {}) do fixed[name] = v end
  for name, v in pairs(o.fixed or {}) do
    known(name, '--fixed')
    fixed[name] = v == true and p0[name] or v
  end
  return p0, bounds, fixed
end

--- Says what is assumed of sigma, and which parameters have no unit.
local function warn(r, model)
  if r.sigma_is_default then
    table.insert(r.warnings, fit.NO_SIGMA)
  end
  local unnamed = {}
  for _, name in ipairs(sorted(model.p0)) do
    if not (model.units and model.units[name]) then unnamed[#unnamed + 1] = name end
  end
  if unnamed[1] then
    table.insert(r.warnings, ('the model names no unit of %s: tables and figures show none; add units = { %s = \'...\' '
      .. '}, and \'\' for a number without unit'):format(table.concat(unnamed, ', '), unnamed[1]))
  end
end

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

--- Fits a model to data.
---@param data mascon.xpcs.Data
---@param model table of read
---@param o table scaling 'averaged'|'individual'|'auto' · initial, fixed, bounds by name · sigma · loss · f_scale
---  · ftol, xtol, gtol · max_nfev
---@return table result as mc.xpcs.fit gives it, with mode 'own model'
function M.fit(data, model, o)
  local began = clock.seconds()
  local p0, bounds, fixed = asked(model, o)
  local scaling = o.scaling
  if scaling == 'auto' or scaling == nil then scaling = scalings.resolve('auto', data.F, o) end
  if scaling ~= 'averaged' and scaling ~= 'individual' then
    error(('--scaling %s: a model of your own takes averaged or individual'):format(scaling), 0)
  end
  local ok, f = pcall(own.fit, data, model.g1, { p0 = p0, bounds = bounds, fixed = next(fixed) and fixed or nil,
    tied = model.tied,
    scaling = scaling, sigma = o.sigma, loss = o.loss, f_scale = o.f_scale, ftol = o.ftol, xtol = o.xtol,
    gtol = o.gtol, max_nfev = o.max_nfev, q = o.q, dt = o.dt, gap = o.gap })
  if not ok then error(hinted(f), 0) end
  local is_free, names, list, bounds_hit = {}, {}, {}, 0
  for i, name in ipairs(f.free) do is_free[name], names[i] = i, name end
  local order = {}
  for _, name in ipairs(f.keys) do order[#order + 1] = name end
  local function error_of(name, b)
    local e = f.stderr[name] or math.huge
    if e > b[2] - b[1] then f.stderr[name], e = math.huge, math.huge end
    return e
  end
  for i, name in ipairs(order) do
    local of = name:find '^contrast' and parameters.CONTRAST or name:find '^offset' and parameters.OFFSET
    local b = bounds[name] or of and (bounds[name:match '^%l+'] or { of.min, of.max }) or { -math.huge, math.huge }
    local e = is_free[name] and error_of(name, b) or nil
    f.p[name] = fit.told(f.p[name])
    local at = e and fit.at_bound(f.p[name], b[1], b[2], e)
    if at then bounds_hit = bounds_hit + 1 end
    list[i] = { name = name, unit = model.units and model.units[name] or '', about = '', value = f.p[name],
      error = e, low = b[1], high = b[2], start = p0[name],
      angle = scaling == 'individual' and data.phi[tonumber(name:match '^%l+_(%d+)$')] or nil,
      at_bound = at,
      state = is_free[name] and 'free' or fixed[name] and 'fixed' or 'tied' }
  end
  local absolute = f.absolute_sigma
  local cov, corr = matrices(f, #names)
  local r = { mode = 'own model', scaling = scaling, parameters = list, values = f.p, errors = f.stderr, names = names,
    covariance = cov, correlation = corr, condition = 0 / 0,
    covariance_by = f.noise and f.noise.factor and noise.BY or (o.loss or 'linear') == 'linear' and 'normal matrix'
      or 'sandwich', contrast = f.angles.contrast,
    offset = f.angles.offset, sigma = f.angles.sigma, sigma_is_default = not (o.sigma or data.sigma),
    absolute_sigma = absolute,
    chi2 = f.chi2, reduced_chi2 = f.reduced_chi2, n_points = f.n, n_parameters = #names, dof = math.max(f.dof, 1),
    cost = f.cost, loss = o.loss or 'linear', f_scale = o.f_scale or 1, counting = 'unique pairs', status = f.status,
    message = f.message, success = f.success, convergence_status = f.success and 'converged' or 'max_iter',
    nfev = f.nfev, iterations = f.nit or f.nfev, seconds = clock.seconds() - began, at_bounds = bounds_hit,
    warnings = {},
    checks = { errors = {}, warnings = {}, remarks = {} }, point = { x = f.x:totable() },
    theory = f.theory, contrasts = f.contrasts, noise = f.noise, pattern = f.pattern,
    geometry = { q = o.q or data.q, dt = o.dt or data.dt, gap = o.gap or data.gap or 2e6, convention = 'own model' },
    fit = f, data = data }
  r.points_per_second = r.nfev * data.points / math.max(r.seconds, 1e-9)
  warn(r, model)
  verdict.judge(r, verdict.plain(r, f.note))
  return setmetatable(r, fit.Result)
end

return M
