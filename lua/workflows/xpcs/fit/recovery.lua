-- recovery.lua - what is tried when a fit does not converge: other starts nearby, more evaluations, a larger tolerance.
--
-- Each attempt moves the starting values by up to 5 % (of the size of a parameter where its value is 0), allows half as
-- many evaluations more and ten times the tolerance. The best result of all attempts is kept, and what was done stands
-- in recovery_actions.
local check = require 'mascon.core.check'
local fit = require 'workflows.xpcs.fit.fit'
local generate = require 'workflows.xpcs.data.generate'
local parameters = require 'workflows.xpcs.model.parameters'
local M = {}

local OPTS = { retries = { 2, 'integer >= 0' }, seed = { 42, 'integer >= 0' } }

--- Fits, and tries again when the fit fails.
---@param data mascon.xpcs.Data
---@param opts table options of fit
---@param o? table retries 2 · seed 42 · run: the function that fits (mc.xpcs.fit)
---@return table result with recovery_actions
function M.fit(data, opts, o)
  local run = o and o.run or fit.fit
  local settings = check.opts('xpcs.recovery', { retries = o and o.retries, seed = o and o.seed }, OPTS, 3)
  local best = run(data, opts)
  local actions, draw = {}, generate.splitmix(settings.seed)
  local ftol, most = opts.ftol or 1e-8, opts.max_nfev or 100 * best.n_parameters
  for attempt = 1, settings.retries do
    if best.success then break end
    ftol, most = ftol * 10, math.floor(most * 1.5)
    local again = {}
    for k, v in pairs(opts) do again[k] = v end
    again.initial, again.ftol, again.xtol, again.max_nfev = {}, ftol, ftol, most
    for _, q in ipairs(parameters.LIST) do
      local v = best.values[q.name]
      if v then
        local move = 0.05 * (2 * draw() - 1)
        again.initial[q.name] = v == 0 and move * (q.prior[2] or 1) or v * (1 + move)
      end
    end
    actions[#actions + 1] = ('attempt %d: the fit ended with %s; starts moved by up to 5 %%, at most %d evaluations, '
      .. 'tolerance %g'):format(attempt, best.convergence_status, most, ftol)
    local r = run(data, again)
    if r.chi2 < best.chi2 or r.success and r.chi2 <= best.chi2 * (1 + 1e-9) then best = r end
  end
  best.recovery_actions = actions
  return best
end

return M
