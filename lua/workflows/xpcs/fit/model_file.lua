-- model_file.lua - a model of the user's own from a Lua file, and its fit by the options of the program.
--
-- The file returns { g1 = function(p, t1, t2, phi) ... end, p0 = { name = start }, bounds = { name = { low, high } },
-- units = { name = text } }. This file reads it and translates options of the program; own.lua fits and judges.
local check = require 'mascon.core.check'
local own = require 'workflows.xpcs.fit.own'
local parameters = require 'workflows.xpcs.model.parameters'
local trial = require 'workflows.xpcs.model.trial'
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
  local names = trial.sorted(m.p0)
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
      local names = trial.sorted(model.p0)
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

--- Fits a model to data.
---@param data mascon.xpcs.Data
---@param model table of read
---@param o table scaling 'averaged'|'individual'|'auto' · initial, fixed, bounds by name · sigma · loss · f_scale
---  · ftol, xtol, gtol · max_nfev
---@return table result as mc.xpcs.fit gives it, with mode 'own model'
function M.fit(data, model, o)
  local p0, bounds, fixed = asked(model, o)
  local scaling = o.scaling or 'auto'
  if scaling ~= 'auto' and scaling ~= 'averaged' and scaling ~= 'individual' then
    error(('--scaling %s: a model of your own takes averaged or individual'):format(scaling), 0)
  end
  local ok, r = pcall(own.fit, data, model.g1, { p0 = p0, bounds = bounds, fixed = next(fixed) and fixed or nil,
    tied = model.tied, units = model.units,
    scaling = scaling, sigma = o.sigma, loss = o.loss, f_scale = o.f_scale, ftol = o.ftol, xtol = o.xtol,
    gtol = o.gtol, max_nfev = o.max_nfev, q = o.q, dt = o.dt, gap = o.gap })
  if not ok then error(hinted(r), 0) end
  return r
end

return M
