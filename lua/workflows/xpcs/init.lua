-- xpcs/init.lua - two-time correlation under diffusion and shear: from the beamline's file to values one can defend.
--
-- open(path, opts) reads, fit(data, opts) fits, report and results write. config reads the YAML of homodyne. The
-- formulas stand in model.lua, the fast pass in kernels/workflows/xpcs.
---     local d = mc.xpcs.data.of(mc.xpcs.generate.set 'B')
---     local r = mc.xpcs.fit(d, { sigma = 0.004 })
---     ('%.3f %.2f'):format(r.values.beta, r.reduced_chi2)  --> -0.370 1.00
local check = require 'mascon.core.check'
local lazy = require 'mascon.core.lazy'
local M = {}

-- the public parts; the others are required by their file and can change
local FROM = {}
for folder, names in pairs {
  model = { 'model', 'parameters', 'scaling' },
  data = { 'data', 'generate', 'prepare' },
  pass = { 'pass' },
  read = { 'angles', 'source' },
  judge = { 'rates', 'verdict' },
  show = { 'posterior_files', 'report', 'results' },
  fit = { 'intervals', 'joint', 'model_file', 'own', 'posterior', 'search', 'state' },
  command = { 'config', 'options', 'plan', 'run' },
} do
  for _, name in ipairs(names) do FROM[name] = 'workflows.xpcs.' .. folder .. '.' .. name end
end

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

return lazy.parts(M, 'xpcs', FROM)
