-- causality.lua - 14 figures of which channel leads, of reversibility in time and of flow in space.
--
-- Source: specification of rollouts, 2.10.
local mc = require 'mascon'
local workflow = require 'mascon.base.workflow'
workflow.native 'rollout' -- the op ro_flow
local M = {}

M.NAMES = { 'asymmetry_mean_lag_1', 'asymmetry_max_lag_1', 'asymmetry_mean_lag_2', 'asymmetry_max_lag_2',
  'asymmetry_mean_lag_3', 'asymmetry_max_lag_3',
  'prediction_ratio_lag_1', 'prediction_difference_lag_1', 'prediction_ratio_lag_2', 'prediction_difference_lag_2',
    'irreversibility', 'irreversibility_index',
  'flow_magnitude', 'flow_anisotropy' }

--- Flow of states x towards the next ones y, [R, G, G] each: magnitude and anisotropy [R]. The correlations of central
--- differences with y: covariance over n, spreads over n - 1.
function M.flow(x, y)
  local all = workflow.call('ro_flow', { x:contiguous(), y:contiguous() }, {}, 1)[1]
  return all[{ mc.all, 1 }], all[{ mc.all, 2 }]
end

--- Columns of series m [M, C, T] and of the flow averaged over time (magnitude, anisotropy [M, C]): [M, C, 14].
function M.columns(m, magnitude, anisotropy)
  local R, C, T = m.shape[1], m.shape[2], m.shape[3]
  local dtype = m.dtype
  local out = {}
  local function add(t) out[#out + 1] = t:to(dtype) end
  local nan = mc.full({ R, C }, 0 / 0, { dtype = dtype })
  for lag = 1, 3 do
    if T <= lag + 1 or C < 2 then
      add(nan)
      add(nan)
    else
      local a, b = m[{ mc.all, mc.all, { 1, T - lag } }], m[{ mc.all, mc.all, { 1 + lag, T } }]
      a, b = a - a:mean(3, { keepdim = true }), b - b:mean(3, { keepdim = true })
      local n = T - lag
      local sa, sb = a:std(3, { correction = 1 }), b:std(3, { correction = 1 })
      local norm = sa:reshape(R, C, 1) * sb:reshape(R, 1, C)
      local lead = mc.matmul(a, b:permute_dims(1, 3, 2)) / n / (norm + 1e-8)
      local A = lead - lead:permute_dims(1, 3, 2)
      local sum, count, most = mc.zeros({ R }, { dtype = dtype }), 0, nil
      for i = 1, C do
        for j = i + 1, C do
          local one = A[{ mc.all, i, j }]
          sum, count = sum + one, count + 1
          most = most and mc.maximum(most, one:abs()) or one:abs()
        end
      end
      add(mc.broadcast_to((sum / count):reshape(R, 1), { R, C }))
      add(mc.broadcast_to(most:reshape(R, 1), { R, C }))
    end
  end
  for lag = 1, 2 do
    if T <= lag then
      add(nan)
      add(nan)
    else
      local d = m[{ mc.all, mc.all, { 1 + lag, T } }] - m[{ mc.all, mc.all, { 1, T - lag } }]
      local forward = d:abs():mean(3) -- of forecasting by the last value; backward it is the same number
      add(forward / (forward + 1e-8))
      add(forward - forward)
    end
  end
  if T < 2 then
    for _ = 1, 4 do add(nan) end
  else
    local d = m['..., 2:'] - m['..., :-2']
    local cubes = 2 * (d * d * d):mean(3)
    add(cubes)
    add(cubes / (m:var(3, { correction = 1 }) + 1e-8))
    add(magnitude)
    add(anisotropy)
  end
  return mc.stack(out, 3)
end

return M
