-- spatial.lua - 24 figures of one state of one channel: moments, order statistics, gradients, Laplacian.
--
-- Stencils are periodic; variances are unbiased. Source: specification of rollouts, 2.10.
local mc = require 'mascon'
local M = {}

M.NAMES = { 'mean', 'variance', 'std', 'skewness', 'kurtosis', 'min', 'max', 'range', 'iqr', 'mad', 'percentile_5',
  'percentile_25', 'percentile_50',
  'percentile_75', 'percentile_95', 'gradient_magnitude_mean', 'gradient_magnitude_std', 'gradient_magnitude_max',
    'gradient_x_mean', 'gradient_y_mean',
  'gradient_anisotropy', 'laplacian_mean', 'laplacian_std', 'laplacian_energy' }

--- Central differences along x (columns) and y (rows), x [R, H, W].
function M.gradients(x)
  local gx = (mc.roll(x, -1, 3) - mc.roll(x, 1, 3)) * 0.5
  local gy = (mc.roll(x, -1, 2) - mc.roll(x, 1, 2)) * 0.5
  return gx, gy
end

--- Columns of states x [R, H, W]: [R, 24].
function M.columns(x)
  local R = x.shape[1]
  local flat = x:reshape(R, -1)
  local function over(t) return t:reshape(R, -1) end
  local mean, var = flat:mean(2), flat:var(2, { correction = 1 })
  local std = var:sqrt()
  local centred = flat - mean:reshape(R, 1)
  local flat_enough = mc.lt(std, 1e-4)
  local z = centred / mc.where(flat_enough, 1, std):reshape(R, 1)
  local z2 = z * z
  local skew = mc.where(flat_enough, 0, (z2 * z):mean(2))
  local kurtosis = mc.where(flat_enough, 0, (z2 * z2):mean(2) - 3)
  local low, high = flat:min(2), flat:max(2)
  local p = mc.quantile(flat, { 0.05, 0.25, 0.5, 0.75, 0.95 }, 2)
  local middle = mc.quantile(flat, 0.5, 2, { method = 'lower' })
  local mad = mc.quantile((flat - middle:reshape(R, 1)):abs(), 0.5, 2, { method = 'lower' })
  local gx, gy = M.gradients(x)
  local size = over((gx * gx + gy * gy):sqrt())
  local laplacian = over(mc.roll(x, 1, 2) + mc.roll(x, -1, 2) + mc.roll(x, 1, 3) + mc.roll(x, -1, 3) - 4 * x)
  gx, gy = over(gx), over(gy)
  return mc.stack({ mean, var, std, skew, kurtosis, low, high, high - low, p[4] - p[2], mad, p[1], p[2], p[3], p[4],
    p[5], size:mean(2),
    size:std(2, { correction = 1 }), size:max(2), gx:mean(2), gy:mean(2), gx:abs():mean(2) / (gy:abs():mean(2) + 1e-8),
      laplacian:mean(2),
    laplacian:std(2, { correction = 1 }), (laplacian * laplacian):mean(2) }, 2)
end

return M
