-- drift.lua - 60 figures of how norms, entropy and variation of a state drift, at three scales.
--
-- Source: specification of rollouts, 2.10.
local mc = require 'mascon'
local spatial = require 'workflows.rollout.features.spatial'
local M = {}

M.METRICS = { 'L1', 'L2', 'Linf', 'entropy', 'tv' }
M.SCALES = { 'raw', 'lowpass', 'highpass' }
M.NAMES = {}
for _, scale in ipairs(M.SCALES) do
  for _, metric in ipairs(M.METRICS) do
    for _, s in ipairs { 'mean_drift', 'drift_variance', 'final_initial_ratio',
      'monotonicity' } do M.NAMES[#M.NAMES + 1] = ('%s_%s_%s'):format(metric, s, scale) end
  end
end

--- Metrics of states x [R, G, G] at the three scales, the 9x9 Gaussian of sigma 2 between them: [R, 15].
function M.state(x) return select(2, spatial.state(x)) end

--- Columns from the series of M.state, s [R, T, 15]: [R, 60].
function M.columns(s)
  local R, T = s.shape[1], s.shape[2]
  if T < 2 then return mc.full({ R, 60 }, 0 / 0, { dtype = s.dtype }) end
  local d = s[{ mc.all, { 2, T } }] - s[{ mc.all, { 1, T - 1 } }]
  local var = T > 2 and d:var(2, { correction = 1 }) or mc.full({ R, 15 }, 0 / 0, { dtype = s.dtype })
  local ratio = s[{ mc.all, T }] / (s[{ mc.all, 1 }] + 1e-8)
  return mc.stack({ d:mean(2), var, ratio, mc.sign(d):mean(2) }, 3):reshape(R, 60)
end

return M
