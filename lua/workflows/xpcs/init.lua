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
for _, name in ipairs { 'angles', 'config', 'data', 'generate', 'intervals', 'joint', 'model', 'model_file', 'options',
  'own', 'parameters', 'pass', 'plan', 'posterior', 'posterior_files', 'prepare', 'rates', 'report', 'results', 'run',
  'scaling', 'search', 'source', 'state', 'verdict' } do
  FROM[name] = 'workflows.xpcs.' .. name
end

--- Fits the model to data; see workflows.xpcs.fit.
---@param data mascon.xpcs.Data of open or data.of
---@param opts? table mode 'static'|'laminar_flow' · sigma · initial, fixed, bounds by name · scaling · loss ...
function M.fit(data, opts)
  if type(data) ~= 'table' or type(data.F) ~= 'number' or type(data.phi) ~= 'table' then
    check.error(('xpcs.fit: data is %s; give what mc.xpcs.open or mc.xpcs.data.of returns, and options as a second '
      .. 'table'):format(check.show(data)), 2)
  end
  local r = require('workflows.xpcs.fit').fit(data, opts)
  return r
end

--- Data of a file, ready for a fit; see workflows.xpcs.source.
function M.open(path, opts)
  local d = require('workflows.xpcs.source').open(path, opts)
  d.asked_q = opts and not opts.only_among and opts.q or nil
  return d
end

--- Matrices of the model with noise; see workflows.xpcs.generate.
function M.simulate(opts)
  local s = require('workflows.xpcs.generate').simulate(opts)
  return s
end

return lazy.parts(M, 'xpcs', FROM)
