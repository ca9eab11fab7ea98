-- result.lua - what every fit gives: of the model, of a user's own, of several data sets at once.
--
-- The maker of a fit fills in what it found; this file checks that nothing is missing that tables, files and the report
-- read, and derives what follows for all of them alike.
local check = require 'mascon.core.check'
local M = {}

M.NO_SIGMA = 'no sigma was given: 0.01 is assumed everywhere, errors are scaled by the misfit, and reduced chi2 does '
  .. 'not test the fit'

local REQUIRED = { 'parameters', 'values', 'errors', 'names', 'covariance', 'covariance_by', 'chi2',
  'reduced_chi2', 'n_points', 'n_parameters', 'dof', 'loss', 'counting', 'status', 'success', 'nfev', 'iterations',
  'seconds', 'passed', 'warnings', 'point' }
local OF_ONE = { 'mode', 'scaling', 'correlation', 'condition', 'contrast', 'offset', 'sigma', 'cost', 'f_scale',
  'message', 'geometry', 'checks' } -- of a fit of one data set

--- A result as text: the verdict, the table of parameters and a line on the fit.
local Result = {}
function Result.__tostring(r) return require('workflows.xpcs.judge.summary').text(r) end

local NEAR = { errors = 1e-3, range = 1e-6 } -- of a bound: in standard errors, and of the range where there is none

--- The bound where a value ended, or which it cannot be told from: a solver that only approaches a bound stops short.
---@param e? number its standard error
---@return 'lower'|'upper'|nil
function M.at_bound(v, low, high, e)
  local range = high - low
  local near = e and e < math.huge and NEAR.errors * e or range < math.huge and NEAR.range * range or 0
  if low > -math.huge and v - low <= math.max(near, 1e-9 * (1 + math.abs(low))) then return 'lower' end
  if high < math.huge and high - v <= math.max(near, 1e-9 * (1 + math.abs(high))) then return 'upper' end
end

local SMALLEST = 2 ^ -1022

--- A value as it is told: what a solver leaves beside a bound at 0, so as to stay inside, is 0.
function M.told(v) return math.abs(v) <= SMALLEST and 0 or v end

--- A result of what a fit found: the same table, with convergence_status, points_per_second, at_bounds (how many
--- parameters are at one) and the note on an assumed sigma.
---@param r table the fields REQUIRED, of one data set OF_ONE as well; passed: points of all passes; scan_seconds: time
---  of which no pass is part
---@return table
function M.of(r)
  for _, list in ipairs { REQUIRED, r.fits and {} or OF_ONE } do
    for _, name in ipairs(list) do
      if r[name] == nil then check.error(('xpcs: a result without %s'):format(name), 0) end
    end
  end
  r.convergence_status = r.success and 'converged' or r.status == 0 and 'max_iter' or 'failed'
  r.points_per_second = r.passed / math.max(r.seconds - (r.scan_seconds or 0), 1e-9)
  r.passed, r.scan_seconds = nil, nil
  r.at_bounds = 0
  for _, q in ipairs(r.parameters) do
    if q.state == 'free' and q.at_bound then r.at_bounds = r.at_bounds + 1 end
  end
  if r.sigma_is_default and not r.fits then table.insert(r.warnings, M.NO_SIGMA) end
  return setmetatable(r, Result)
end

return M
