-- cross.lua - 12 figures of how the channels of one state hang together.
--
-- Correlation matrix, its eigenvalues, mutual information of pairs. Source: specification of rollouts, 2.10.
local mc = require 'mascon'
local workflow = require 'mascon.base.workflow'
workflow.native 'rollout' -- the op ro_cross
local M = {}

M.NAMES = { 'eigenvalue_1', 'eigenvalue_2', 'eigenvalue_3', 'trace', 'condition_number', 'participation_ratio',
  'correlation_mean', 'correlation_max',
  'correlation_min', 'correlation_std', 'mutual_information_mean', 'mutual_information_max' }

--- Counts of bins over rows, b i64 [R, N] from 0 to n - 1: f64 [R, n].
function M.counts(b, n)
  local R = b.shape[1]
  local place = b + mc.arange(0, R - 1, 1, { dtype = 'i64' }):reshape(R, 1) * n
  return mc.bincount(place:reshape(-1), { minlength = R * n }):reshape(R, n):to 'f64'
end

--- Columns of states x [R, C, G, G]: [R, 12].
function M.columns(x)
  local R, C = x.shape[1], x.shape[2]
  local all = workflow.call('ro_cross', { x:contiguous() }, {}, 1)[1]
  local corr = all[{ mc.all, { 1, C * C } }]:reshape(R, C, C)
  local values = mc.flip(mc.linalg.eigvalsh(corr:to 'f64'), 2):to(x.dtype)
  local out = {}
  for k = 1, 3 do out[k] = k <= C and values[{ mc.all, k }] or mc.zeros({ R }, { dtype = x.dtype }) end
  local sum, squares = values:sum(2), (values * values):sum(2)
  local trace = mc.zeros({ R }, { dtype = x.dtype })
  for c = 1, C do trace = trace + corr[{ mc.all, c, c }] end
  out[4] = trace
  out[5] = values[{ mc.all, 1 }] / (mc.maximum(values[{ mc.all, C }], 0) + 1e-8) -- below 0 it is rounding
  out[6] = sum * sum / (squares + 1e-8)
  local pairs_ = {}
  for i = 1, C do
    for j = i + 1, C do pairs_[#pairs_ + 1] = corr[{ mc.all, i, j }] end
  end
  local nan = mc.full({ R }, 0 / 0, { dtype = x.dtype })
  if #pairs_ == 0 then
    for k = 7, 12 do out[k] = nan end
  else
    local p, m = mc.stack(pairs_, 2), all[{ mc.all, { C * C + 1, all.shape[2] } }]
    out[7], out[8], out[9] = p:mean(2), p:max(2), p:min(2)
    out[10] = #pairs_ > 1 and p:std(2, { correction = 1 }) or nan
    out[11], out[12] = m:mean(2), m:max(2)
  end
  return mc.stack(out, 2)
end

return M
