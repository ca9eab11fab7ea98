-- series.lua - 36 figures of a trajectory, from the series of its mean, energy and variance.
--
-- Series are [R, T], a row per realisation and channel. Source: specification of rollouts, 2.10.
local mc = require 'mascon'
local M = {}

M.NAMES = { 'energy_growth_rate', 'energy_growth_accel', 'variance_growth_rate', 'dominant_frequency',
  'oscillation_amplitude', 'oscillation_period',
  'autocorrelation_lag', 'lyapunov_approx', 'trajectory_smoothness', 'sign_change_share', 'final_initial_ratio',
    'trend_strength', 'detrended_variance',
  'spike_count', 'burst_count', 'zero_crossings', 'half_time', 'double_time' }
for _, w in ipairs { 5, 10, 20 } do
  for _, s in ipairs { 'mean', 'std', 'max', 'min', 'mean_variability',
    'std_variability' } do M.NAMES[#M.NAMES + 1] = ('window_%d_%s'):format(w, s) end
end

--- Slope of the least squares line through y [R, T] over 0 .. T-1.
local function slope(y)
  local T = y.shape[2]
  local t = (mc.arange(0, T - 1) - (T - 1) / 2):to(y.dtype)
  return (y * t):sum(2) / (t * t):sum()
end

local function difference(x) return x['..., 2:'] - x['..., :-2'] end

--- Autocorrelation of centred rows at lags 0 .. 19 from a transform of twice the length.
local function first_lag_below(x)
  local R, T = x.shape[1], x.shape[2]
  local c = x - x:mean(2, { keepdim = true })
  local s = mc.fft.rfft(c, { n = 2 * T })
  local ac = mc.fft.irfft(mc.real(s) ^ 2 + mc.imag(s) ^ 2, { n = 2 * T })
  local lags = math.min(20, 2 * T)
  local zero = ac[{ mc.all, { 1, 1 } }]
  local r = ac[{ mc.all, { 1, lags } }] / mc.where(mc.eq(zero, 0), 1, zero)
  local below = mc.lt(r, math.exp(-1))
  local order = mc.where(below, mc.arange(0, lags - 1), 20)
  return order:min(2):reshape(R):to(x.dtype)
end

--- First index from 0 where a condition [R, T] holds, divided by T; 1 where it never does.
local function first_time(holds)
  local T = holds.shape[2]
  return mc.where(holds, mc.arange(0, T - 1), T):min(2) / T
end

--- Windows of w samples, one at each place: mean, std, max, min of each, reduced.
local function windows(m, w)
  local T = m.shape[2]
  local list = {}
  for k = 1, w do list[k] = m[{ mc.all, { k, T - w + k } }] end
  local all = mc.stack(list, 3)
  local mean, std = all:mean(3), all:std(3, { correction = 1 })
  local function spread(v) return v.shape[2] > 1 and v:std(2, { correction = 1 }) or mc.zeros({ v.shape[1] },
    { dtype = v.dtype }) end
  return { mean:mean(2), std:mean(2), all:max(3):mean(2), all:min(3):mean(2), spread(mean), spread(std) }
end

--- Columns of series m (mean), e (energy), v (variance), each [R, T]: [R, 36].
function M.columns(m, e, v)
  local R, T = m.shape[1], m.shape[2]
  local dtype = m.dtype
  local function nan() return mc.full({ R }, 0 / 0, { dtype = dtype }) end
  if T < 3 then
    local out = {}
    for k = 1, #M.NAMES do out[k] = nan() end
    return mc.stack(out, 2)
  end
  local out = {}
  local function add(t) out[#out + 1] = t:to(dtype) end
  add(slope(mc.log(e + 1e-8)))
  add(difference(difference(e)):abs():mean(2))
  add(slope(mc.log(v + 1e-8)))
  local s = mc.fft.rfft(e - e:mean(2, { keepdim = true }))
  local P = mc.real(s) ^ 2 + mc.imag(s) ^ 2
  local peak = mc.argmax(P[{ mc.all, { 2, P.shape[2] } }], 2):to(dtype) / T
  add(peak)
  add(e:max(2) - e:min(2))
  add(1 / (peak + 1e-8))
  add(first_lag_below(m))
  local dm = difference(m)
  add(mc.log(dm:abs() + 1e-8):mean(2))
  add(difference(dm):abs():mean(2))
  local sign = mc.sign(dm)
  add(mc.ne(sign['..., 2:'], sign['..., :-2']):to(dtype):sum(2) / (T - 2))
  add((m[{ mc.all, T }]:abs() + 1e-8) / (m[{ mc.all, 1 }]:abs() + 1e-8))
  local t = (mc.arange(0, T - 1) - (T - 1) / 2):to(dtype)
  local mean = m:mean(2, { keepdim = true })
  local line = mean + slope(m):reshape(R, 1) * t
  local rest = m - line
  local total = ((m - mean) ^ 2):sum(2)
  add(mc.clip(1 - (rest * rest):sum(2) / (total + 1e-8), 0, 1))
  add(rest:var(2, { correction = 1 }))
  local over = mc.gt(m, mean + 2 * m:std(2, { correction = 1, keepdim = true }))
  local rises = mc.logical_and(over['..., 2:'], mc.logical_not(over['..., :-2']))
  add(rises:to(dtype):sum(2))
  if T > 3 then
    local runs = mc.logical_and(mc.logical_and(over['..., :-3'], over['..., 2:-2']), over['..., 3:'])
    local before = mc.concat({ mc.zeros({ R, 1 }, { dtype = 'bool' }), runs['..., :-2'] }, 2)
    add(mc.logical_and(runs, mc.logical_not(before)):to(dtype):sum(2))
  else add(mc.zeros { R }) end
  local level = mc.sign(m - mean)
  add(mc.ne(level['..., 2:'], level['..., :-2']):to(dtype):sum(2))
  local start = m[{ mc.all, { 1, 1 } }]
  local negative = mc.lt(start, 0):reshape(R)
  add(mc.where(negative, 0, first_time(mc.lt(m, 0.5 * start))))
  add(mc.where(negative, 0, first_time(mc.gt(m, 2 * start))))
  for _, share in ipairs { 0.05, 0.1, 0.2 } do
    for _, c in ipairs(windows(m, math.min(T, math.max(2, math.floor(share * T))))) do add(c) end
  end
  return mc.stack(out, 2)
end

return M
