-- cross.lua - 12 figures of how the channels of one state hang together.
--
-- Correlation matrix, its eigenvalues, mutual information of pairs. Source: specification of rollouts, 2.10.
local mc = require 'mascon'
local M = {}

M.NAMES = { 'eigenvalue_1', 'eigenvalue_2', 'eigenvalue_3', 'trace', 'condition_number', 'participation_ratio',
  'correlation_mean', 'correlation_max',
  'correlation_min', 'correlation_std', 'mutual_information_mean', 'mutual_information_max' }

--- Bin of each value among n between the smallest and largest of its row, x [R, N]: i64, from 0. The largest has the
--- last bin to itself.
function M.bins(x, n)
  local low = x:min(2, { keepdim = true })
  local range = mc.maximum(x:max(2, { keepdim = true }) - low, 1e-8)
  return mc.minimum(mc.floor((x - low) / range * (n - 1)), n - 1):to 'i64'
end

--- Counts of bins over rows, b i64 [R, N] from 0 to n - 1: f64 [R, n].
function M.counts(b, n)
  local R = b.shape[1]
  local place = b + mc.arange(0, R - 1, 1, { dtype = 'i64' }):reshape(R, 1) * n
  return mc.bincount(place:reshape(-1), { minlength = R * n }):reshape(R, n):to 'f64'
end

--- Mutual information in nats of two channels whose bins are a, b [R, N].
local function mutual(a, b, n)
  local R, N = a.shape[1], a.shape[2]
  local joint = (M.counts(a * n + b, n * n) / N):reshape(R, n, n)
  local pa, pb = joint:sum(3, { keepdim = true }), joint:sum(2, { keepdim = true })
  local there = mc.gt(joint, 0)
  local ratio = mc.where(there, joint, 1) / mc.where(there, pa * pb, 1)
  return (joint * mc.log(ratio)):sum({ 2, 3 })
end

--- Columns of states x [R, C, G, G]: [R, 12].
function M.columns(x)
  local R, C = x.shape[1], x.shape[2]
  local HW = x.shape[3] * x.shape[4]
  local flat = x:reshape(R, C, HW)
  local std = flat:std(3, { correction = 1, keepdim = true })
  local z = (flat - flat:mean(3, { keepdim = true })) / (std + 1e-8)
  local corr = mc.matmul(z, z:permute_dims(1, 3, 2)) / HW
  local values = mc.flip(mc.linalg.eigvalsh(corr:to 'f64'), 2):to(x.dtype)
  local out = {}
  for k = 1, 3 do out[k] = k <= C and values[{ mc.all, k }] or mc.zeros({ R }, { dtype = x.dtype }) end
  local sum, squares = values:sum(2), (values * values):sum(2)
  local trace = mc.zeros({ R }, { dtype = x.dtype })
  for c = 1, C do trace = trace + corr[{ mc.all, c, c }] end
  out[4] = trace
  out[5] = values[{ mc.all, 1 }] / (values[{ mc.all, C }] + 1e-8)
  out[6] = sum * sum / (squares + 1e-8)
  local pairs_, infos, binned = {}, {}, {}
  for c = 1, C do binned[c] = M.bins(flat[{ mc.all, c }], 16) end
  for i = 1, C do
    for j = i + 1, C do
      pairs_[#pairs_ + 1] = corr[{ mc.all, i, j }]
      infos[#infos + 1] = mutual(binned[i], binned[j], 16)
    end
  end
  local nan = mc.full({ R }, 0 / 0, { dtype = x.dtype })
  if #pairs_ == 0 then
    for k = 7, 12 do out[k] = nan end
  else
    local p, m = mc.stack(pairs_, 2), mc.stack(infos, 2):to(x.dtype)
    out[7], out[8], out[9] = p:mean(2), p:max(2), p:min(2)
    out[10] = #pairs_ > 1 and p:std(2, { correction = 1 }) or nan
    out[11], out[12] = m:mean(2), m:max(2)
  end
  return mc.stack(out, 2)
end

return M
