-- repair.lua - values of bad cells from the other channels of their epoch.
--
-- A cell is one channel of one epoch. Holds the table of cells to repair: sets of bad channels by epoch, each set once,
-- and the weights of their rows. Channels that are bad and not repaired are sources, but for neighbours of repaired
-- ones where adjacency is asked for.
local mc = require 'mascon'
local workflow = require 'mascon.base.workflow'
local raw = workflow.call
workflow.native 'autoreject' -- the ops ar_*
local M = {}

local Cells = {}
Cells.__index = Cells

local function i64(list) return mc.tensor(list, { dtype = 'i64' }) end

--- An empty table for E epochs of C channels.
function M.cells(E, C)
  local wanted = {}
  for e = 1, E do wanted[e] = {} end
  return setmetatable({ E = E, C = C, wanted = wanted, count = 0 }, Cells)
end

--- Asks for a set of an epoch: channels to repair, and others that are no sources. Returns a key for :first().
---@param e integer
---@param channels integer[] 1-based places
---@param excluded? integer[]
function Cells:want(e, channels, excluded)
  local key = #channels .. ':' .. table.concat(channels, ' ') .. (excluded and #excluded > 0 and '|' .. table.concat(excluded, ' ') or '')
  local list = self.wanted[e]
  if not list[key] then
    local set = { key = key, n = #channels }
    for i, c in ipairs(channels) do set[i] = c end
    for _, c in ipairs(excluded or {}) do set[#set + 1] = c end
    list[key] = set
    list[#list + 1] = set
  end
  return key
end

--- Numbers the cells epoch by epoch. After it: count, first (i64 [E + 1], first cell of each epoch).
function Cells:number()
  local first, bad, sets = { 0 }, {}, { 0 }
  for e = 1, self.E do
    for _, set in ipairs(self.wanted[e]) do
      set.first = #bad
      for _, c in ipairs(set) do bad[#bad + 1] = c - 1 end
      sets[#sets + 1] = #bad
    end
    first[e + 1] = #bad
  end
  self.count, self.first, self.bad, self.sets = #bad, i64(first), i64(bad), i64(sets)
  return self
end

--- The first cell of a set, 0-based; the cells of its channels follow in their order.
function Cells:at(e, key) return self.wanted[e][key].first end

--- Weights of all cells, f64 [cells, C].
---@param interpolator table of augment.lua
function Cells:weights(interpolator)
  if interpolator.inverse then
    return raw('ar_weights', { interpolator.inverse(), self.bad, self.sets }, {}, 1)[1]
  end
  local repairer, rows = interpolator.repairer(), {}
  for e = 1, self.E do
    for _, set in ipairs(self.wanted[e]) do
      local list = {}
      for i, c in ipairs(set) do list[i] = c end
      rows[#rows + 1] = repairer:weights(list)
    end
  end
  return mc.concat(rows, 1)
end

--- Repaired values of all cells in a block of samples, f64 [cells, T].
---@param x any f32|f64 [E, channels, T]
---@param picks any i64 [C], 0-based
---@param W any of :weights()
function Cells:values(x, picks, W) return raw('ar_mix', { x, picks, W, self.first }, { want = 1 }, 1)[1] end

return M
