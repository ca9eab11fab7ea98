-- ransac.lua - channels that the others cannot predict.
--
-- Holds the random subsets, the verdict from correlations, and the repair of the channels found.
local mc = require 'mascon'
local augment = require 'workflows.autoreject.augment'
local check = require 'mascon.core.check'
local options = require 'workflows.autoreject.options'
local run = require 'workflows.autoreject.run'
local source = require 'workflows.autoreject.source'
local stages = require 'workflows.autoreject.stages'
local tensor = require 'mascon.core.tensor'
local transform = require 'workflows.autoreject.transform'
local twister = require 'workflows.autoreject.twister'
local verdict = require 'workflows.autoreject.verdict'
local epochs_ = require 'mascon.meeg.epochs'
local error, raw = check.error, stages.call
local M = {}

local ALLOWED = { eeg = true, mag = true, grad = true }
-- upstream's seed
local SEED = 435656

local function half_even(v)
  local f = math.floor(v)
  if v - f > 0.5 or v - f == 0.5 and f % 2 == 1 then f = f + 1 end
  return f
end

--- One group of channels of one type.
local function group_of(fname, epochs, picks)
  local groups = source.groups(fname, epochs, picks, ALLOWED)
  local types = {}
  for k, g in ipairs(groups) do types[k] = g.type end
  if #groups > 1 then
    error(('%s: picks are of types %s; give one of eeg, mag, grad'):format(fname, table.concat(types, ', ')), 3)
  end
  return groups[1]
end

--- Subsets of n places among the good ones, in the order drawn.
local function draw(o, good, n)
  local stream, subsets = twister.new(o.seed), {}
  for s = 1, o.n_resample do
    local order, list = stream:permutation(#good), {}
    for i = 1, n do list[i] = good[order[i] + 1] end
    subsets[s] = list
  end
  return subsets
end

local Ransac = {}
Ransac.__index = Ransac

function Ransac:__tostring()
  return #self.bad_channels == 0 and 'ransac: no channel is bad'
    or 'ransac: bad channels ' .. table.concat(self.bad_channels, ', ')
end

--- Finds channels that random subsets of the others cannot predict in too many epochs.
---
--- n_resample subsets of round(min_channels C) channels each predict all C channels of an epoch; the prediction is the
--- median over subsets. A channel is bad in an epoch where sum(x y) / (|x| |y|) of signal x and prediction y is below
--- min_corr, and bad altogether when that happens in more than unbroken_time of the epochs. A flat channel has
--- correlation NaN and is not called bad; it is named in warnings.
---@param epochs table Epochs of mc.meeg.epochs
---@param opts? table n_resample 50 · min_channels 0.25 · min_corr 0.75 · unbroken_time 0.4 · random_state 435656 ·
---  picks (one of eeg, mag, grad; default all of it, marked bads left out) · alpha 1e-5, centre 'none'|'fit'|{x, y, z}
---  · compat 'native'|'upstream' · threads · verbose
---@return table ransac corr f64 [E, C] · bad_log bool [E, C] · bad_channels (names) · names · subsets (places, 1-based)
---  · mappings f64 [n_resample, C, n] · warnings; :transform(epochs)
--- Errors: channels of several types, or of a type without interpolator; fewer good channels than a subset needs;
--- positions that are not valid.
--- Source: The PREP pipeline, Frontiers in Neuroinformatics 9, 16, 2015; the median of two middle values for an even
--- number.
function M.ransac(epochs, opts)
  local fname = 'autoreject.ransac'
  local o = options.complete(fname, opts, options.RANSAC)
  if not (opts and opts.random_state) then o.seed = SEED end
  source.check(fname, epochs)
  local g = group_of(fname, epochs, o.picks)
  local C = #g.picks
  local n = half_even(o.min_channels * C)
  local marked, good, names = {}, {}, {}
  for _, b in ipairs(epochs.bads) do marked[b] = true end
  for k, i in ipairs(g.picks) do
    names[k] = epochs.channels[i].name
    if not marked[names[k]] then good[#good + 1] = k end
  end
  if n < 1 then
    error(('%s: min_channels = %g of %d channels is no channel; raise it'):format(fname, o.min_channels, C), 2)
  end
  if #good < n then
    error(('%s: %d channels are not marked bad and a subset needs %d (min_channels = %g of %d); unmark some, or lower '
      .. 'min_channels'):format(fname, #good, n, o.min_channels, C), 2)
  end
  local interpolator = augment.interpolator(fname, epochs, g, o)
  local r = { names = names, group = g, options = o, warnings = {}, subsets = draw(o, good, n) }
  transform.warn_marked(epochs, r.warnings)
  run.with(o, function()
    local s = source.new(epochs, g.picks)
    r.warnings[#r.warnings + 1] = verdict.flat_remark(names, mc.all(mc.le(s:ranges(fname), 0), 1):totable(), s.E,
      'no correlation tells that, mark them bad')
    r.mappings = mc.scope(function() return interpolator.subsets(r.subsets):contiguous() end)
    local places = mc.tensor(r.subsets, { dtype = 'i64' }) - 1
    local parts = s:each(function(x)
      return raw('ar_predict', { stages.placed(x), s.picks, places, r.mappings }, {}, 1)[1]
    end)
    r.corr = #parts == 1 and parts[1] or mc.concat(parts, 1)
    r.bad_log = mc.lt(r.corr, o.min_corr)
    local count = mc.sum(r.bad_log:to 'i64', 1):totable()
    r.bad_channels, r.bad_places = {}, {}
    for k = 1, C do
      if count[k] > o.unbroken_time * s.E then
        table.insert(r.bad_channels, names[k])
        table.insert(r.bad_places, k)
      end
    end
  end, source.room(epochs, o))
  return setmetatable(r, Ransac)
end

--- Sources of the repair: the other picks that are not marked bad; upstream takes all channels of the type, marked ones
--- too.
local function sources_of(r, epochs, found, compat)
  local marked, out = {}, {}
  for _, b in ipairs(epochs.bads) do marked[b] = true end
  if compat == 'upstream' then
    for i, c in ipairs(epochs.channels) do
      if c.type == r.group.type and not found[c.name] then out[#out + 1] = i end
    end
    return out
  end
  local at = {}
  for _, name in ipairs(r.names) do at[name] = true end
  for i, c in ipairs(epochs.channels) do
    if at[c.name] and not found[c.name] and not marked[c.name] then out[#out + 1] = i end
  end
  return out
end

--- Epochs with the channels found repaired from the others, in every epoch.
---
--- Channels marked bad before stay marked and are no sources. With compat = 'upstream' they become sources and lose
--- their mark, and the sphere is centred on the sensors.
---@param epochs table
---@return table clean epochs
--- Errors: a channel found that is not in these epochs.
function Ransac:transform(epochs)
  local fname = 'autoreject.ransac.transform'
  source.check(fname, epochs)
  local found, bad, here = {}, {}, {}
  for i, c in ipairs(epochs.channels) do here[c.name] = i end
  for k, name in ipairs(self.bad_channels) do
    if not here[name] then
      error(('%s: channel %s was there at fit and is missing here; give the same channels'):format(fname, name), 2)
    end
    found[name], bad[k] = true, here[name]
  end
  local o, clean, E = self.options, epochs:copy(), epochs:count()
  local size = tensor.size[epochs:dtype()]
  local share = source.share(epochs, o)
  local far = not rawget(clean, 'data') and not source.fits(E, #epochs.channels, epochs.samples, size, share)
  if not far then clean:load() end
  if #bad == 0 then return clean end
  local from = sources_of(self, epochs, found, o.compat)
  if #from == 0 then error(fname .. ': no channel is left to repair from', 2) end
  local all, places, targets = {}, {}, {}
  for _, list in ipairs { from, bad } do
    for _, i in ipairs(list) do all[#all + 1] = i end
  end
  for k = 1, #from do places[k] = k end
  for k = 1, #bad do targets[k] = #from + k end
  local settings = { alpha = o.alpha, centre = o.compat == 'upstream' and o.centre == 'none' and 'fit' or o.centre }
  local interpolator = augment.interpolator(fname, epochs, { type = self.group.type, picks = all }, settings)
  local function i64(list, device) return mc.tensor(list, { dtype = 'i64', device = device }) end
  local W = tensor.outlive(mc.scope(function()
    return mc.take(interpolator.subsets({ places })[1], i64(targets), 1)
  end))
  if far then
    local inner, row = clean, {}
    for k, i in ipairs(bad) do row[i] = k end
    clean = epochs_.behind(inner, function(which, picks)
      local data = inner:read { epochs = which, channels = picks }
      local at, rows = {}, {}
      for k, i in ipairs(picks) do
        if row[i] then at[#at + 1], rows[#rows + 1] = k, row[i] end
      end
      if #at > 0 then
        mc.scope(function()
          local x = inner:read({ epochs = which, channels = from }):to 'f64'
          data[{ mc.all, i64(at) }] = mc.matmul(mc.take(W, i64(rows), 1), x):to(data.dtype)
        end)
      end
      return data
    end)
  else
    mc.scope(function()
      local data = clean.data
      local x = mc.take(data, i64(from, data.device), 2):to 'f64'
      data[{ mc.all, i64(bad, data.device) }] = mc.matmul(W:to(data.device), x):to(data.dtype)
    end)
  end
  if o.compat == 'upstream' then clean.bads = {} end
  return clean
end

return M
