-- drift.lua - 60 figures of how norms, entropy and variation of a state drift, at three scales.
--
-- Source: specification of rollouts, 2.10.
local mc = require 'mascon'
local cross = require 'workflows.rollout.features.cross'
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

local kernel = {}
for i = -4, 4 do kernel[i + 5] = math.exp(-i * i / 8) end
do
  local sum = 0
  for _, v in ipairs(kernel) do sum = sum + v end
  for k = 1, 9 do kernel[k] = kernel[k] / sum end
end

--- The 9x9 Gaussian of sigma 2, zero outside: x [R, G, G].
function M.lowpass(x)
  local G = x.shape[3]
  for axis = 2, 3 do
    local padded = mc.pad(x, axis == 2 and { { 0, 0 }, { 4, 4 }, { 0, 0 } } or { { 0, 0 }, { 0, 0 }, { 4, 4 } })
    local sum
    for k = 1, 9 do
      local part = axis == 2 and padded[{ mc.all, { k, k + G - 1 } }] or padded[{ mc.all, mc.all, { k, k + G - 1 } }]
      sum = sum and sum + kernel[k] * part or kernel[k] * part
    end
    x = sum
  end
  return x
end

local function entropy(flat)
  local N = flat.shape[2]
  local p = cross.counts(cross.bins(flat, 32), 32) / N
  return -(p * mc.log(p + 1e-10)):sum(2)
end

--- The five metrics of states x [R, G, G]: [R, 5].
local function metrics(x)
  local R, G = x.shape[1], x.shape[2]
  local flat = x:reshape(R, -1)
  local size = flat:abs()
  local across = (x[{ mc.all, mc.all, { 2, G } }] - x[{ mc.all, mc.all, { 1, G - 1 } }]):abs():reshape(R, -1):sum(2)
  local down = (x[{ mc.all, { 2, G } }] - x[{ mc.all, { 1, G - 1 } }]):abs():reshape(R, -1):sum(2)
  return mc.stack({ size:sum(2), ((flat * flat):sum(2) + 1e-8):sqrt(), size:max(2), entropy(flat):to(x.dtype),
    across + down }, 2)
end

--- Metrics of states x [R, G, G] at the three scales: [R, 15].
function M.state(x)
  local low = M.lowpass(x)
  return mc.concat({ metrics(x), metrics(low), metrics(x - low) }, 2)
end

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
