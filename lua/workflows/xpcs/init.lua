-- xpcs/init.lua - two-time correlation under diffusion and shear: from the beamline's file to values one can defend.
--
--   open(path, opts), data.of{ c2 =, phi =, t =, q = }   data of a file, of matrices in memory
--   fit(data, opts)                       values, errors, a verdict; print(r) shows them
--   joint.fit(list, opts)                 several q or files at once
--   own.fit(data, g1, opts)               a g1 of your own
--   intervals.profile(r, names, level)    profile likelihood intervals
--   posterior.run(r, opts)                posterior by NUTS
--   search.multi_start(data, opts)        fits from many starts
--   rates.of(r)                           D(t) and the shear rate with their intervals
--   results.write(dir, r, data)           files; report.page(r, data): a page of HTML
--   simulate(opts)                        matrices of the model with noise
--     local s = mc.xpcs.simulate { n = 40, dt = 0.2, q = 0.01, phi = { 0, 60 }, physics = { 2000, 0, 0 },
--       sigma = 0.004, seed = 1 }
--     local r = mc.xpcs.fit(mc.xpcs.data.of(s), { sigma = 0.004, fixed = { alpha = 0, D_offset = 0 } })
--     r.conclusion  --> Good fit: the data determine all 5 free parameters.
local check = require 'mascon.core.check'
local lazy = require 'mascon.core.lazy'
local M = {}

-- the files of parts, by folder
local function files(folders)
  local out = {}
  for folder, names in pairs(folders) do
    for _, name in ipairs(names) do out[name] = 'workflows.xpcs.' .. folder .. '.' .. name end
  end
  return out
end

-- the public parts; the others are required by their file and can change
local FROM = files { data = { 'data', 'generate', 'prepare' }, judge = { 'rates' }, show = { 'report', 'results' },
  fit = { 'intervals', 'joint', 'own', 'posterior', 'search' } }

-- for scripts and tests of this library; they can change
local INNER = files { model = { 'model', 'parameters', 'scaling' }, pass = { 'pass' }, read = { 'angles', 'source' },
  judge = { 'verdict' }, show = { 'posterior_files' }, fit = { 'model_file', 'state' },
  command = { 'config', 'options', 'plan', 'run' } }

--- Fits the model to data, as the program does: the fit of workflows.xpcs.fit.fit, tried again nearby where it does not
--- converge, and from other starts where chance does not explain it or its angles disagree (rescue = false: not).
---@param data mascon.xpcs.Data of open or data.of
---@param opts? table mode 'static'|'laminar_flow' · sigma · initial, fixed, bounds by name · scaling · loss · rescue ·
---  and all that workflows.xpcs.fit.fit takes
---@return table result conclusion (the first line of print) · verdict · values, errors by name · chi2, reduced_chi2 ·
---  covariance · warnings · recovery_actions · all that workflows.xpcs.fit.fit gives
---     local d = mc.xpcs.data.of(mc.xpcs.generate.set 'A')
---     mc.xpcs.fit(d, { sigma = 0.004, scaling = 'individual' }).conclusion:match '^%a+ fit'  --> Good fit
function M.fit(data, opts)
  if type(data) ~= 'table' or type(data.F) ~= 'number' or type(data.phi) ~= 'table' then
    check.error(('xpcs.fit: data is %s; give what mc.xpcs.open or mc.xpcs.data.of returns, and options as a second '
      .. 'table%s'):format(check.show(data), rawequal(data, M) and '. Write mc.xpcs.fit(data), with a dot' or ''), 2)
  end
  local r = require('workflows.xpcs.fit.rescue').fit(data, opts)
  return r
end

--- Data of a file, ready for a fit; see workflows.xpcs.read.source.
function M.open(path, opts)
  local d = require('workflows.xpcs.read.source').open(path, opts)
  return d
end

--- Matrices of the model with noise; see workflows.xpcs.data.generate.
function M.simulate(opts)
  local s = require('workflows.xpcs.data.generate').simulate(opts)
  return s
end

return lazy.parts(M, 'xpcs', FROM, INNER)
