-- spatial.lua - 24 figures of one state of one channel: moments, order statistics, gradients, Laplacian.
--
-- Stencils are periodic; variances are unbiased. Source: specification of rollouts, 2.10.
local mc = require 'mascon'
local workflow = require 'mascon.base.workflow'
workflow.native 'rollout' -- the op ro_state
local M = {}

M.NAMES = { 'mean', 'variance', 'std', 'skewness', 'kurtosis', 'min', 'max', 'range', 'iqr', 'mad', 'percentile_5',
  'percentile_25', 'percentile_50',
  'percentile_75', 'percentile_95', 'gradient_magnitude_mean', 'gradient_magnitude_std', 'gradient_magnitude_max',
    'gradient_x_mean', 'gradient_y_mean',
  'gradient_anisotropy', 'laplacian_mean', 'laplacian_std', 'laplacian_energy' }

--- The fused pass: for fields x [R, G, G] their 24 columns, the 15 norms of drift.state, mean, energy and variance.
---@return mascon.Tensor columns [R, 24]
---@return mascon.Tensor norms [R, 15]
---@return mascon.Tensor moments [R, 3]
function M.state(x)
  x = x:contiguous()
  local R = x.shape[1]
  local all = workflow.call('ro_state', { x, mc.sort(x:reshape(R, -1), 2) }, {}, 1)[1]
  return all[{ mc.all, { 1, 24 } }], all[{ mc.all, { 25, 39 } }], all[{ mc.all, { 40, 42 } }]
end

--- Columns of states x [R, G, G]: [R, 24].
function M.columns(x) return (M.state(x)) end

return M
