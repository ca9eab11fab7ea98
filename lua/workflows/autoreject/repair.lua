-- repair.lua - values of bad cells from the other channels of their epoch.
--
-- A cell is one channel of one epoch. Holds the table of cells to repair: sets of bad channels by epoch, each set once,
-- and the weights of their rows. Channels that are bad and not repaired are sources, but for neighbours of repaired
-- ones where adjacency is asked for.
local mc = require 'mascon'
local stages = require 'workflows.autoreject.stages'
local raw = stages.call
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

--- Asks for a set of an epoch: channels to repair, and others that are no sources. Returns a key for :at().
---@param e integer
---@param channels integer[] 1-based places
---@param excluded? integer[]
function Cells:want(e, channels, excluded)
  local key = #channels .. ':' .. table.concat(channels, ' ')
    .. (excluded and #excluded > 0 and '|' .. table.concat(excluded, ' ') or '')
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

--- Numbers the cells epoch by epoch. After it: count.
function Cells:number()
  local n = 0
  for e = 1, self.E do
    for _, set in ipairs(self.wanted[e]) do set.first, n = n, n + #set end
  end
  self.count = n
  return self
end

--- The first cell of a set, 0-based; the cells of its channels follow in their order.
function Cells:at(e, key) return self.wanted[e][key].first end

--- Epochs from..to as the kernels take them: where the cells of each begin (i64, counted from those of `from`), the
--- channels of the cells, where each set of them begins, and how many cells.
local function lists(self, from, to)
  local first, bad, sets = { 0 }, {}, { 0 }
  for e = from, to do
    for _, set in ipairs(self.wanted[e]) do
      for _, c in ipairs(set) do bad[#bad + 1] = c - 1 end
      sets[#sets + 1] = #bad
    end
    first[#first + 1] = #bad
  end
  return i64(first), i64(bad), i64(sets), #bad
end

--- Weights of the cells of epochs from..to (all of them), f64 [cells, C]; where those of each epoch begin, and how many
--- there are.
---@param interpolator table of augment.lua
---@param from? integer
---@param to? integer
---@return any W nil where there is no cell
---@return any first i64, counted from the first cell of `from`
---@return integer n
function Cells:weights(interpolator, from, to)
  from, to = from or 1, to or self.E
  local first, bad, sets, n = lists(self, from, to)
  if n == 0 then return nil, first, 0 end
  if interpolator.inverse then
    return raw('ar_weights', { interpolator.inverse(), bad, sets }, {}, 1)[1], first, n
  end
  local repairer, rows = interpolator.repairer(), {}
  for e = from, to do
    for _, set in ipairs(self.wanted[e]) do
      local list = {}
      for i, c in ipairs(set) do list[i] = c end
      rows[#rows + 1] = repairer:weights(list)
    end
  end
  return mc.concat(rows, 1), first, n
end

-- share of the room that weights may take; those of more are made anew for each block of samples, part by part
local SHARE = 1 / 6

--- Bytes of the weights of so many cells that are held at a time.
---@param bytes number of all
---@param room? number|false bytes that may be taken
function M.held(bytes, room) return room and math.min(bytes, SHARE * room) or bytes end

--- Plans the repair: epochs in one part, or in as many as the weights need that do not fit.
---@param interpolator table of augment.lua
---@param room? number bytes that may be taken
---@return table repair with values(x, picks)
function Cells:repair(interpolator, room)
  local parts, from, cells = {}, 1, 0
  local most = interpolator.inverse and M.held(8 * self.count * self.C, room) / (8 * self.C) or self.count
  for e = 1, self.E do
    local n = 0
    for _, set in ipairs(self.wanted[e]) do n = n + #set end
    if cells > 0 and cells + n > most then
      parts[#parts + 1], from, cells = { from, e - 1 }, e, 0
    end
    cells = cells + n
  end
  parts[#parts + 1] = { from, self.E }
  if #parts == 1 then
    local W, first = self:weights(interpolator)
    return { values = function(x, picks) return raw('ar_mix', { x, picks, W, first }, { want = 1 }, 1, true)[1] end }
  end
  local count = self.count
  --- Repaired values of all cells in a block of samples, f64 [cells, T]. x: f32|f64 [E, channels, T]; picks: i64 [C],
  --- 0-based.
  local function values(x, picks)
    local out, at = mc.zeros({ count, x.shape[3] }, { device = x.device }), 0
    for _, p in ipairs(parts) do
      at = at + mc.scope(function()
        local W, first, n = self:weights(interpolator, p[1], p[2])
        if n > 0 then
          out[{ { at + 1, at + n } }] = raw('ar_mix', { x[{ p }], picks, W, first }, { want = 1 }, 1, true)[1]
        end
        return n
      end)
    end
    return out
  end
  return { values = values }
end

return M
