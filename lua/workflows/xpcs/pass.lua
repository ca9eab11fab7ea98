-- pass.lua - one pass over the data, as numbers.
--
-- The sums, in order: cost (sum of rho), gradient of the 7 physical parameters, upper triangle of their normal matrix (28), then per block of the scaling (none, one of
-- all angles, or one per angle) contrast x contrast, contrast x offset, offset x offset, contrast x r, offset x r, contrast x physics (7), offset x physics (7).
-- Derivatives are those of the model over sigma; r is (data - model) / sigma.
local dense = require 'workflows.xpcs.dense'
local M = {}

--- Sums of a pass.
---@param data mascon.xpcs.Data
---@param p table physics, contrast, offset, sigma, kd, ks, t, loss, f_scale
---@param kind 'fixed'|'common'|'each'
---@return number[]
function M.run(data, p, kind) return dense.sums(data, p, kind) end

return M
