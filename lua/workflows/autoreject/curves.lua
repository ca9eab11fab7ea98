-- curves.lua - the loss of every threshold of every channel, from one pass over medians and running sums.
--
-- A threshold keeps the quietest rows of a training set, so it acts through their number alone: with rows in order of
-- their range, one running sum gives the means of all numbers at once, and the median of the test rows is needed once a
-- fold. Holds this algebra, block by block over time; rows made by interpolation exist for one block only.
local mc = require 'mascon'
local folds_ = require 'workflows.autoreject.folds'
local stages = require 'workflows.autoreject.stages'
local raw = stages.call
local M = {}

--- Samples that the kernels sum together; blocks of time begin at multiples of it (MCK_AR_TILE of
--- kernels/workflows/autoreject/autoreject.h).
M.TILE = 64

local function none(dtype) return mc.zeros({ 0 }, { dtype = dtype }) end

--- 1-based places as the kernels take them.
---@param picks integer[]
---@return any i64 [C], 0-based
function M.picks(picks) return mc.tensor(picks, { dtype = 'i64' }) - 1 end

--- Blocks { first, last } of T samples.
---     #mc.autoreject.curves.blocks(500, 128)  --> 4
---@param T integer
---@param size integer a multiple of the tile
---@return table[]
function M.blocks(T, size)
  local list = {}
  for first = 1, T, size do list[#list + 1] = { first, math.min(first + size - 1, T) } end
  return list
end

--- Bytes of what is held for N rows of C channels beside the samples: running sums of the splits, those of the channels
--- done together once more, values and orders.
---@param C integer
---@param N integer
---@param group? integer channels done together, C when left out
function M.tables(C, N, group)
  return 8 * (C + (group or C)) * folds_.SPLITS * math.ceil(folds_.TRAIN * N) + 24 * C * N
end

--- f(x, first, last, carried) for each block of time; what it returns is carried to the next, the rest is released.
--- f may write to what is carried and return it.
---@param source table of source.lua
---@param size integer samples of a block
---@param carried any
---@param f function
---@param step? function told of the samples done
function M.over_time(source, size, carried, f, step)
  for _, b in ipairs(M.blocks(source.T, size)) do
    local before = carried
    carried = mc.scope(function() return f(source:time(b[1], b[2]), b[1], b[2], before) end)
    if not rawequal(before, carried) then before:release() end
    if step then step(b[2] - b[1] + 1) end
  end
  return carried
end

--- Values of the rows, f64 [C, N]: ranges of originals, then of interpolated rows.
local function values_of(job)
  local source = job.source
  local q = source:ranges(job.fname)
  if not job.W then return q.T:contiguous() end
  return mc.concat({ q.T, (job.mixed or source:mixed_ranges(job.W)).T }, 2)
end

--- Groups { first, last } of C channels, `size` of them at a time.
local function groups_of(C, size)
  local list = {}
  for first = 1, C, size do list[#list + 1] = { first, math.min(first + size - 1, C) } end
  return list
end

--- Losses of all candidates of each channel.
---
--- Rows are the epochs and, where W is given, as many rows in which each channel is what the others predict. Loss of a
--- threshold in a fold: sqrt(mean over time of (median of the test rows - mean of the kept training rows)^2).
---@param job table source · fname · W f64 [C, C] or nil · folds · middle 'test' (default) or 'train': whose median ·
---  pooled (one curve for all channels: the value of a row is its largest range; a threshold that keeps no row costs
---  +inf) · at f64 [C, Q] ascending, instead of all candidates · step
---@return table values f64 [C, N] by row · candidates f64 [C, Q] ascending · folds f64 [C, K, Q] · mean f64 [C, Q] over
---  folds
function M.compute(job)
  local source = job.source
  local size = source:search_block(job.fname, job.W ~= nil)
  source:ranges(job.fname)
  return mc.scope(function()
    local T, C = source.T, source.C
    local groups = groups_of(C, source.group)
    if job.W and source.data and stages.placed(source.data) == source.data and size >= T and #groups == 1 then
      local both = raw('ar_mix', { source.data, source.picks, job.W, none 'i64' }, { want = 3 }, 2, true)
      job.whole, job.mixed = both[1], both[2]:to 'cpu'
    end
    local values = values_of(job)
    if job.pooled then values = mc.max(values, { 1, keepdim = true }) end
    local order = mc.argsort(values, { 2, base = 0 })
    local train_at, train, most = folds_.lists(job.folds, 'train')
    local middle_at, middle = folds_.lists(job.folds, job.middle or 'test')
    local sum = M.over_time(source, size, mc.zeros { C, #job.folds, most }, function(x, _, _, sums)
      for _, g in ipairs(groups) do
        local all = #groups == 1
        local function part(t) return all and t or t[{ g }] end
        local function predicted()
          return raw('ar_mix', { x, source.picks, part(job.W), none 'i64' }, { want = 1 }, 1, true)[1]
        end
        local more = job.whole or job.W and predicted() or none 'f64'
        local ranks = job.pooled and order or part(order)
        local operands = { x, part(source.picks), more, ranks, train_at, train, middle_at, middle, part(sums) }
        local found = raw('ar_sums', operands, {}, 1)[1]
        if all then return found end
        sums[{ g }] = found
        found:release()
        if job.W then more:release() end
      end
      return sums
    end, job.step)
    job.whole, job.mixed = nil, nil
    local points = T
    if job.pooled then
      sum, points = mc.sum(sum, { 1, keepdim = true }), T * C
    end
    local at = job.at or mc.sort(values, 2)
    local losses = raw('ar_losses', { sum, values, at, order, train_at, train },
      { points = points, fallback = not job.pooled }, 1)[1]
    return { values = values, candidates = at, folds = losses, mean = mc.mean(losses, 2) }
  end)
end

return M
