-- certainty.lua - how sure a vote is: how often it stays the same with other splits.
--
-- A limit rests on ten random splits. Other seeds give other splits, and leaving out one split of ten gives another
-- limit from the same ones. Holds this resampling.
local mc = require 'mascon'
local exact = require 'workflows.autoreject.exact'
local M = {}

--- Limits of the channels when one fold after the other is left out, f64 [K, C].
local function jackknife(curve)
  local K = curve.folds.shape[2]
  local total, list = mc.sum(curve.folds, 2), {}
  for f = 1, K do list[f] = exact.choose(curve.candidates, (total - curve.folds[{ mc.all, f }]) / (K - 1)).threshold end
  return mc.stack(list, 1)
end

--- Share of the resampled votes that agree with the vote, f64 [E, C] in [0, 1].
---@param found table threshold, candidates, losses, folds and the job of thresholds.curve
---@param vote table
---@param o table options certainty (seeds beside the first), seed
---@return any
function M.of(found, vote, o)
  local thresholds = require 'workflows.autoreject.thresholds'
  return mc.scope(function()
    local range = found.job.source:ranges(found.job.fname)
    local plain = mc.gt(range, found.threshold:reshape(1, vote.C))
    local agree, n = mc.zeros { vote.E, vote.C }, 0
    for s = 0, o.certainty do
      local curve = found
      if s > 0 then
        local job = {}
        for k, v in pairs(found.job) do job[k] = v end
        job.seed, job.step = (o.seed + s) % 2 ^ 32, nil
        curve = thresholds.curve(job)
      end
      local limits = jackknife(curve)
      for f = 1, limits.shape[1] do
        agree = agree + mc.eq(mc.gt(range, limits[f]:reshape(1, vote.C)), plain):to 'f64'
        n = n + 1
      end
    end
    return agree / n
  end)
end

return M
