-- source.lua - epochs as the analyses read them: by type of channel, block by block.
--
-- Decides which channels take part, that their samples are finite, and the two ways through the samples: all samples of
-- some epochs, or some samples of all epochs. Samples in memory are viewed in place. Those in a file are read once,
-- epoch by epoch, into a scratch file that is laid out by time, so that the number of passes depends on no size, and a
-- set larger than memory passes through.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local ceiling = require 'mascon.base.ceiling'
local curves = require 'workflows.autoreject.curves'
local folds = require 'workflows.autoreject.folds'
local scratch = require 'mascon.io.scratch'
local stages = require 'workflows.autoreject.stages'
local error, raw = check.error, stages.call
local M = {}

--- Types that have a place in the local analysis.
M.FITTED = { mag = true, grad = true, eeg = true, hbo = true, hbr = true, ecog = true, seeg = true }

-- bytes that a block of time may take when nothing is said, for samples in memory; bytes of the epochs read at a time
local SMALL, CHUNK = 64 * 2 ^ 20, 32 * 2 ^ 20
-- copies of what is read at a time that the reading makes
local READING = 3
--- The same for samples in a file.
M.LARGE = 2 ^ 30
local LARGE = M.LARGE

--- Refuses what is no set of epochs.
---@param fname string
---@param epochs any an Epochs object of mc.meeg.epochs
---@return table epochs
function M.check(fname, epochs)
  local epochs_ = require 'mascon.meeg.epochs'
  if not epochs_.is(epochs) then
    error(('%s: epochs are %s; give an Epochs object (mc.meeg.epochs.new or open)'):format(fname,
      mc.is_tensor(epochs) and tensor.describe(epochs) or check.show(epochs)), 3)
  end
  if epochs:count() == 0 then error(fname .. ': there is no epoch; check the events and what was dropped before', 3) end
  return epochs
end

--- Picked channels, ascending, by type in order of first appearance.
---@param fname string
---@param epochs table
---@param what any option picks: nil (all types that can be fitted), names, types, 1-based numbers
---@param allowed? table<string, boolean> types that may take part, M.FITTED when left out
---@return table[] groups { type, picks }
---@return integer[] picks
--- Errors: no channel; a type that cannot take part.
function M.groups(fname, epochs, what, allowed)
  allowed = allowed or M.FITTED
  local known = check.names(allowed)
  local picks
  if what == nil then
    local bad = {}
    for _, b in ipairs(epochs.bads) do bad[b] = true end
    picks = {}
    for i, c in ipairs(epochs.channels) do
      if allowed[c.type] and not bad[c.name] then picks[#picks + 1] = i end
    end
  else
    if type(what) == 'table' and #what == 0 then
      error(fname .. ': picks is an empty list; name at least one channel or type', 3)
    end
    picks = epochs:picks(what)
  end
  local groups, at, odd = {}, {}, {}
  for _, i in ipairs(picks) do
    local t = epochs.channels[i].type
    if not allowed[t] then odd[#odd + 1] = t end
    if not at[t] then
      at[t] = { type = t, picks = {} }
      groups[#groups + 1] = at[t]
    end
    table.insert(at[t].picks, i)
  end
  if #odd > 0 then
    table.sort(odd)
    local once = {}
    for k, t in ipairs(odd) do if t ~= odd[k - 1] then once[#once + 1] = t end end
    error(('%s: channels of type %s are picked; supported types are %s'):format(fname, table.concat(once, ', '), known),
      3)
  end
  if #picks == 0 then
    error(('%s: no channel is picked; supported types are %s, marked bad channels are left out'):format(fname, known),
      3)
  end
  return groups, picks
end

--- Bytes that what epochs are read through takes: a filter remembers blocks.
---@param epochs table
function M.work(epochs) return epochs:work() end

-- bytes of a tile in f64; folds of the second stage, and values of consensus
local TILE, FOLDS, LEVELS = 8 * curves.TILE, 10, 11

--- Bytes of the workspaces of all threads.
---@param E integer
---@param C integer
---@param threads? integer
function M.workspaces(E, C, threads)
  local N, S = 2 * E, folds.SPLITS
  return (threads or mc.get_num_threads()) * (N * TILE + S * (3 * TILE + 4 * N) + 11 * C * TILE + FOLDS * LEVELS * TILE)
end

--- Bytes that an analysis keeps to, or nil where nothing is said and samples are in memory.
---@param epochs table
---@param o table options: max_memory
function M.room(epochs, o) return o.max_memory or not rawget(epochs, 'data') and LARGE or nil end

--- What of it is for samples and the work on them: max_memory or what is left of a bound, without what a filter takes.
---@param epochs table
---@param o table options: max_memory
function M.share(epochs, o)
  local left = ceiling.left()
  local most = left and math.min(left, o.max_memory or left) or o.max_memory
  return most and math.max(0, most - M.work(epochs))
end

--- Whether samples in a file are read as a whole: half of what may be taken is for them, half for the work on them.
function M.fits(E, C, T, size, limit) return 2 * E * C * T * size <= (limit or LARGE) end

local Source = {}
Source.__index = Source

--- Refuses what cannot even be read epoch by epoch.
---@param epochs table in a file
---@param C integer channels that are read
function M.afford(epochs, C)
  local work = M.work(epochs)
  ceiling.need('autoreject', work + READING * C * epochs.samples * tensor.size[epochs:dtype()],
    work > 0 and 'the filter of the recording and an epoch' or 'an epoch', 4)
end

--- The samples of some channels of a set of epochs.
---@param epochs table
---@param picks integer[] 1-based
---@return table source with E, C, T, picks; :each(f), :time(first, last), :block(fname, augmented),
---  :search_block(fname, augmented), :ranges(fname, W), :mixed_ranges(W), :close()
function M.new(epochs, picks)
  local s = { E = epochs:count(), C = #picks, T = epochs.samples, set = epochs, list = picks, work = M.work(epochs),
    channels = epochs.channels }
  s.size, s.data = tensor.size[epochs:dtype()], rawget(epochs, 'data')
  if s.data then
    if not s.data:is_contiguous() then s.data = s.data:contiguous() end
    s.data, s.picks = stages.held(s.data), curves.picks(picks)
    return setmetatable(s, Source)
  end
  local all = {}
  for i = 1, s.C do all[i] = i end
  s.picks = curves.picks(all)
  setmetatable(s, Source)
  M.afford(epochs, s.C)
  local room = s:room()
  if M.fits(s.E, s.C, s.T, s.size, room and room - s.work) then
    s.data = stages.held(epochs:read { channels = picks })
    s:read_through()
  end
  return s
end

--- A source of these sizes without samples, for the planner, which may plan for other threads than there are.
function M.sized(E, C, T, size, in_memory, limit, threads)
  return setmetatable({ E = E, C = C, T = T, size = size, data = in_memory, limit = limit, work = 0,
    threads = threads }, Source)
end

--- Bytes that may be taken now, or nil without a bound.
function Source:room() return self.limit or ceiling.left() end

--- Bytes that the reading of what is not read yet will take.
function Source:reading() return (self.data or self.whole) and 0 or self.work end

--- The file is read: what its filter remembers is not needed any more.
function Source:read_through() if self.set then self.set:forget() end end

--- Epochs read at a time, and the bytes of them.
function Source:chunk()
  local epoch = self.C * self.T * self.size
  local n =
    math.min(self.E, math.max(1, math.floor(math.min(((self:room() or LARGE) - self:reading()) / 8, CHUNK) / epoch)))
  return n, n * epoch
end

--- f(x [e, channels, T], first) for blocks of epochs in order; samples of a block are given back before the next.
--- x is in host memory where the samples are in a file. Returns what f returned, as a list.
---@param f function
function Source:each(f)
  if self.data then
    if stages.placed(self.data) == self.data then return { (f(self.data, 1)) } end
    return self:in_parts(f)
  end
  local out, per = {}, (self:chunk())
  for first = 1, self.E, per do
    out[#out + 1] = mc.scope(function()
      local result =
        f(self.set:read { first = first, last = math.min(first + per - 1, self.E), channels = self.list }, first)
      return result
    end)
  end
  return out
end

--- The same for samples in host memory that the device has no room for at once.
function Source:in_parts(f)
  local out, per = {}, math.max(1, math.floor(CHUNK / (self.data.shape[2] * self.T * self.size)))
  for first = 1, self.E, per do
    out[#out + 1] = mc.scope(function()
      return (f(stages.placed(self.data[{ { first, math.min(first + per - 1, self.E) } }]), first))
    end)
  end
  return out
end

--- Bytes of one sample of all epochs beside the samples themselves: rows made by interpolation, of `group` channels at
--- a time (all of them); a copy of what was read; `more` of the caller.
function Source:sample_bytes(augmented, more, group)
  return self.E * ((augmented and 8 * (group or self.C) or 0) + (self.data and 0 or self.C * self.size)) + (more or 0)
end

--- Bytes for blocks of time and what is held beside them, of the room there is.
function Source:blocks_room(room, fixed)
  local limit = room or (self.data and SMALL or LARGE)
  return (room or not self.data) and limit - fixed or limit
end

--- Length of the blocks of time, a multiple of the tile; all of T when that fits.
---@param fname string
---@param augmented boolean
---@param more? number bytes per sample that the caller adds
---@param fixed? number bytes that the caller holds beside the block
---@param group? integer channels whose interpolated rows are held together, all when left out
function Source:block(fname, augmented, more, fixed, group)
  local per, room = self:sample_bytes(augmented, more, group), self:room()
  fixed = (fixed or 0) + M.workspaces(self.E, self.C, self.threads)
  local limit = self:blocks_room(room, fixed)
  if per * self.T + self:reading() <= limit and (self.data or not self.length) then
    return math.ceil(self.T / curves.TILE) * curves.TILE
  end
  local tiles = math.floor(limit / per / curves.TILE)
  if tiles < 1 then
    local need = per * curves.TILE + fixed
    if self.limit and self.limit < need then
      error(('%s: max_memory is %s, but the smallest block of %d samples of %d epochs and %d channels needs %s; '
        .. 'raise max_memory'):format(fname, ceiling.text(self.limit), curves.TILE, self.E, self.C, ceiling.text(need)),
        3)
    end
    local block = ('the smallest block, %d samples of %d epochs and %d channels,'):format(curves.TILE, self.E, self.C)
    ceiling.need(fname, need, block, 3)
    tiles = 1
  end
  if not self.data and self.length then tiles = math.min(tiles, self.length / curves.TILE) end
  local blocks = math.ceil(self.T / curves.TILE / tiles)
  return math.ceil(self.T / blocks / curves.TILE) * curves.TILE -- of one length, so that their memory serves again
end

--- Channels that the search does together: all, or the largest half, quarter, .. of them for which the smallest block
--- fits. Bits do not depend on it.
local function together(self, augmented, N)
  local room, group = self:room(), self.C
  while group > 1 do
    local fixed = curves.tables(self.C, N, group) + M.workspaces(self.E, self.C, self.threads)
    if self:sample_bytes(augmented, 0, group) * curves.TILE <= self:blocks_room(room, fixed) then break end
    group = math.ceil(group / 2)
  end
  return group
end

--- Length of the blocks of the search over rows as they are, and interpolated ones; the same for every split. Sets the
--- number of channels done together: `group`. What is read from a file afterwards comes in no longer ones.
function Source:search_block(fname, augmented)
  local N = (augmented and 2 or 1) * self.E
  self.group = together(self, augmented, N)
  self.length = self:block(fname, augmented, 0, curves.tables(self.C, N, self.group), self.group)
  return self.length
end

--- A block that is read from a file goes to the scratch file too, where one is being filled.
function Source:note(x, first)
  if self.turned and not self.whole then self.turned:put((first - 1) * self.C + 1, x) end
end

--- All samples have gone to the scratch file, where there is one.
function Source:noted()
  if not self.turned or self.whole then return end
  self.whole = true
  self:read_through()
end

--- Room for the samples by time, when blocks of this length do not take all of them at once; the next pass over the
--- file fills it.
---@param size integer
function Source:turn(size)
  if self.data or self.turned or size >= self.T then return end
  self.turned = scratch.new(self.E * self.C, self.T, curves.TILE, self.set:dtype())
end

--- Samples first .. last of all epochs, [E, channels, n], to be read with source.picks. Less than all of T comes from
--- the scratch file.
function Source:time(first, last)
  if self.data and first == 1 and last == self.T then return stages.placed(self.data) end
  if self.data then return stages.placed(self.data[{ mc.all, mc.all, { first, last } }]) end
  self:turn(last - first + 1)
  if self.turned and not self.whole then
    self:each(function(x, at) self:note(x, at) end)
    self:noted()
  end
  if self.turned then return stages.placed(self.turned:get(first, last, { self.E, self.C })) end
  local out = mc.zeros({ self.E, self.C, self.T }, { dtype = self.set:dtype() })
  self:each(function(x, at) out[{ { at, at + x.shape[1] - 1 } }] = x end)
  return stages.placed(out)
end

local function joined(list, field)
  local parts = {}
  for k, t in ipairs(list) do parts[k] = t[field] end
  return #parts == 1 and parts[1] or mc.concat(parts, 1)
end

local function mixed(self, x, W)
  return raw('ar_mix', { stages.placed(x), self.picks, W, mc.zeros({ 0 }, { dtype = 'i64' }) }, { want = 2 }, 1)[1]
end

--- Ranges of all cells, f64 [E, C]. W f64 [C, C]: a pass over a file finds those of the channels as others predict them
--- too, and turns the samples where they will be wanted by time.
--- Errors: a sample that is not finite, with its epoch and channel.
function Source:ranges(fname, W)
  if self.range then return self.range end
  if W then self:turn(self:search_block(fname, true)) end
  local far = W and not self.data
  local found = self:each(function(x, first)
    self:note(x, first)
    x = stages.placed(x)
    return { range = raw('ar_range', { x, self.picks }, {}, 1)[1], mixed = far and mixed(self, x, W) or nil }
  end)
  self:noted()
  local range = joined(found, 'range')
  if not mc.all(mc.isfinite(range)) then
    local es, cs = mc.nonzero(mc.logical_not(mc.isfinite(range)))
    local e, c = es[1]:item(), cs[1]:item()
    error(('%s: epoch %d, channel %s has samples that are NaN or infinite (%d cells in all); drop these epochs or mark '
      .. 'the channel bad'):format(
        fname, e, self.channels[self.list[c]].name, es:numel()), 3)
  end
  self.range = range
  if far then self.mixed = { W = W, range = joined(found, 'mixed') } end
  return range
end

--- Ranges of the channels as others predict them: f64 [E, C] of W x.
function Source:mixed_ranges(W)
  if self.mixed and self.mixed.W == W then return self.mixed.range end
  return joined(self:each(function(x) return { mixed = mixed(self, x, W) } end), 'mixed')
end

--- Gives the room of the scratch file back.
function Source:close()
  if self.turned then self.turned:close() end
  self.turned, self.whole = nil, nil
end

return M
