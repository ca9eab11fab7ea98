-- cv.lua - the loss of every pair of consensus and number of repairs, in every fold.
--
-- Epochs are binned by how many channels are bad, once; means of all training sets are sums of bins, medians of test
-- epochs belong to no pair. Holds the bins and the table of cells that differ between numbers of repairs.
local mc = require 'mascon'
local curves = require 'workflows.autoreject.curves'
local folds_ = require 'workflows.autoreject.folds'
local repair = require 'workflows.autoreject.repair'
local stages = require 'workflows.autoreject.stages'
local vote_ = require 'workflows.autoreject.vote'
local raw = stages.call
local M = {}

local function i64(list) return mc.tensor(list, { dtype = 'i64' }) end

--- Epochs that train the same folds form a group: number of each epoch, and which groups each fold trains.
local function groups_of(folds, E)
  local mask, group, by_mask, G, in_fold = {}, {}, {}, 0, {}
  for e = 1, E do mask[e] = {} end
  for f, fold in ipairs(folds) do
    for _, e in ipairs(fold.train) do table.insert(mask[e], f) end
  end
  for f = 1, #folds do in_fold[f] = {} end
  for e = 1, E do
    local key = table.concat(mask[e], ' ')
    if not by_mask[key] then
      by_mask[key] = G
      G = G + 1
      for f = 1, #folds do in_fold[f][G] = 0 end
      for _, f in ipairs(mask[e]) do in_fold[f][G] = 1 end
    end
    group[e] = by_mask[key]
  end
  return i64(group), mc.tensor(in_fold, { dtype = 'u8' })
end

--- Consensus values in ascending order, and where each entry of the list stands there (1-based).
local function ascending(consensus)
  local order, place, values = {}, {}, {}
  for i = 1, #consensus do order[i] = i end
  table.sort(order, function(a, b) return consensus[a] < consensus[b] or consensus[a] == consensus[b] and a < b end)
  for l, i in ipairs(order) do place[i], values[l] = l, consensus[i] end
  return values, place
end

--- For each repair limit and epoch the first level that keeps it (0-based, #values for never), and the training epochs
--- up to each level.
local function levels_of(vote, values, job)
  local level, count, L = {}, {}, #values
  for r, rho in ipairs(job.n_interpolate) do
    level[r], count[r] = {}, {}
    for e = 1, vote.E do
      local l = 0
      while l < L and vote_.is_bad(vote.count[e], values[l + 1], vote.C) do l = l + 1 end
      if job.partial == 'drop' and vote.count[e] > rho or job.dropped and job.dropped[e] then l = L end
      level[r][e] = l
    end
    for f, fold in ipairs(job.folds) do
      local row = {}
      for l = 1, L do row[l] = 0 end
      for _, e in ipairs(fold.train) do
        for l = level[r][e] + 1, L do row[l] = row[l] + 1 end
      end
      count[r][f] = row
    end
  end
  return level, count
end

--- Cells that any repair limit wants, and for each limit, epoch and channel the cell that stands in for the sample (-1
--- for none).
local function cells_of(vote, limits, job)
  local cells, keys = repair.cells(vote.E, vote.C), {}
  for r, limit in ipairs(limits) do
    keys[r] = {}
    for e = 1, vote.E do
      local n = job.interpolator and vote_.repaired(vote.count[e], limit, vote.C, job.partial) or 0
      if n > 0 then
        local list = { unpack(vote.worst[e], 1, n) }
        keys[r][e] = { cells:want(e, list, job.neighbours and job.neighbours:excluded(list, vote.worst[e])), list }
      end
    end
  end
  cells:number()
  local index = mc.full({ #limits, vote.E, vote.C }, -1, { dtype = 'i64' })
  local at, value = {}, {}
  for r = 1, #limits do
    for e, k in pairs(keys[r]) do
      local first = cells:at(e, k[1])
      for i, c in ipairs(k[2]) do
        at[#at + 1], value[#value + 1] = ((r - 1) * vote.E + e - 1) * vote.C + c, first + i - 1
      end
    end
  end
  if #at > 0 then index:reshape(-1)[{ i64(at) }] = i64(value) end
  return cells, index
end

--- Losses of all pairs in all folds.
---
--- Loss: sqrt(mean over channels and time of (median of the test epochs as recorded - mean of the repaired training
--- epochs whose bad channels stay below kappa C)^2); +inf where kappa C <= rho, or where no training epoch is left.
---@param job table source · fname · vote · folds · consensus · n_interpolate · interpolator or nil (nothing is
---  repaired) · compat · partial · neighbours · dropped (set of epochs that are bad whatever the pair) · step
---@return any f64 [consensus, n_interpolate, folds]
function M.losses(job)
  local source, vote = job.source, job.vote
  local K, R, L = #job.folds, #job.n_interpolate, #job.consensus
  local limits = vote_.limits(job.n_interpolate, job.compat)
  local values, place = ascending(job.consensus)
  local level, count = levels_of(vote, values, job)
  local cells, index = cells_of(vote, limits, job)
  local room = source:room()
  local parts = job.interpolator and job.interpolator.inverse
  local held = repair.held(8 * cells.count * vote.C, parts and room) + 8 * R * vote.E * vote.C
  local size = source:block(job.fname, false, 8 * cells.count, held)
  return mc.scope(function()
    local mending = cells.count > 0 and cells:repair(job.interpolator, room)
    local group, in_fold = groups_of(job.folds, vote.E)
    local middle_at, middle = folds_.lists(job.folds, 'test')
    local level_t, count_t = i64(level), i64(count)
    local sum = curves.over_time(source, size, mc.zeros { vote.C, R, K, L }, function(x, _, _, before)
      local repaired = mending and mending.values(x, source.picks) or mc.zeros { 0 }
      return raw('ar_levels',
        { x, source.picks, repaired, index, level_t, group, in_fold, count_t, middle_at, middle, before }, {}, 1)[1]
    end, job.step)
    local found = mc.sqrt(mc.sum(sum, 1) / (vote.C * source.T)):totable() -- [R][K][L]
    local loss = {}
    for i, kappa in ipairs(job.consensus) do
      loss[i] = {}
      for r, rho in ipairs(job.n_interpolate) do
        loss[i][r] = {}
        for f = 1, K do
          local n, l = count[r][f], place[i]
          while l > 1 and n[l - 1] == n[l] do l = l - 1 end -- the same epochs, computed once
          loss[i][r][f] = (kappa * vote.C <= rho or n[l] == 0) and math.huge or found[r][f][l]
        end
      end
    end
    return mc.tensor(loss)
  end)
end

--- The pair of the lowest mean loss: consensus before repairs, the first among equals; the first pair when all are
--- infinite.
---@param loss any f64 [L, R, K]
---@return integer i place in the list of consensus values
---@return integer j place in the list of repair limits
---@return any mean f64 [L, R]
function M.choose(loss)
  local mean = mc.mean(loss, 3)
  local at = mc.argmin(mean:reshape(-1)):item() - 1
  local R = mean.shape[2]
  return math.floor(at / R) + 1, at % R + 1, mean
end

return M
