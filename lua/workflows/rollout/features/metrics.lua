-- metrics.lua - 8 opt-in figures of a whole state: those of the reference's engine, then its derived curves.
--
-- Unlike the other families they see all channels of a state, and the one before it. Source: specification of rollouts,
-- 2.10, step metrics and derived curves.
local mc = require 'mascon'
local cross = require 'workflows.rollout.features.cross'
local M = {}

M.WHOLE = true -- columns of whole states
M.NAMES = { 'energy', 'entropy', 'autocorrelation', 'step_variance', 'mean_magnitude', 'l2_norm',
  'mean_channel_variance', 'mean_covariance' }

local BINS = 50 -- of the entropy's histogram, between the least and the largest value

local function entropy(flat)
  local low = flat:min(2, { keepdim = true })
  local range = mc.maximum(flat:max(2, { keepdim = true }) - low, 1e-300)
  local place = mc.minimum(mc.floor(BINS * (flat - low) / range), BINS - 1):to 'i64'
  local p = cross.counts(place, BINS) / flat.shape[2]
  return -(p * mc.log(mc.where(mc.gt(p, 0), p, 1))):sum(2):to(flat.dtype)
end

local function correlation(a, b)
  a, b = a - a:mean(2, { keepdim = true }), b - b:mean(2, { keepdim = true })
  local norm = ((a * a):sum(2) * (b * b):sum(2)):sqrt()
  return (a * b):sum(2) / mc.where(mc.eq(norm, 0), 1, norm)
end

--- Energy (sum of squares), entropy (nats), correlation with the state before (nil: 0), variance and mean magnitude of
--- states x [B, C, G, G].
---@param x mascon.Tensor
---@param before? mascon.Tensor
---@return mascon.Tensor [B, 5]
function M.step(x, before)
  local B = x.shape[1]
  local flat = x:reshape(B, -1)
  local r = before and correlation(flat, before:reshape(B, -1)) or mc.zeros({ B }, { dtype = x.dtype })
  return mc.stack({ (flat * flat):sum(2), entropy(flat), r, flat:var(2, { correction = 1 }), flat:abs():mean(2) }, 2)
end

--- Norm, mean variance of a channel, variance of all values, and mean covariance of two channels, summed over places (0
--- where there is one channel).
---@param x mascon.Tensor [B, C, G, G]
---@return mascon.Tensor [B, 4]
function M.derived(x)
  local B, C = x.shape[1], x.shape[2]
  local rows, flat = x:reshape(B, C, -1), x:reshape(B, -1)
  local centred = rows - rows:mean(3, { keepdim = true })
  local total = centred:sum(2)
  local own = (centred * centred):sum { 2, 3 }
  local pairs_ = C > 1 and ((total * total):sum(2) - own) / (C * (C - 1)) or own * 0
  return mc.stack({ (flat * flat):sum(2):sqrt(), rows:var(3, { correction = 1 }):mean(2),
    flat:var(2, { correction = 1 }), pairs_ }, 2)
end

--- Columns of states x [n, B, C, G, G]; before: the state before each, the first of a rollout has none.
---@param x mascon.Tensor
---@param last? mascon.Tensor [B, C, G, G] before the first
---@return mascon.Tensor [n, B, 8]
function M.columns(x, last)
  local n, B = x.shape[1], x.shape[2]
  local rows = {}
  for t = 1, n do
    local derived = M.derived(x[t])
    rows[t] = mc.concat({ M.step(x[t], t > 1 and x[t - 1] or last), derived[{ mc.all, { 1, 2 } }],
      derived[{ mc.all, { 4, 4 } }] }, 2)
  end
  return mc.stack(rows, 1):reshape(n, B, #M.NAMES)
end

return M
