--- workflows.pac.source: recordings for coupling, from memory, npz, npy, EDF or BDF, read channel by channel.
--
-- Owns finding the samples, the sampling rate, the channel names and the axes in a file. A source never holds more than the channels it
-- was asked for, so that a recording larger than memory passes through. May not know bands or measures.
local mc = require 'mascon'
local tensor = require 'mascon.tensor'
local check = require 'mascon.check'
local M = {}

local Source = {}
Source.__index = Source

local function fail(fmt, ...) error('pac: ' .. fmt:format(...), 0) end

--- Indices of the picked channels: names, numbers, or patterns with *.
local function pick_channels(names, pick)
  local out = {}
  if not pick then
    for i = 1, #names do out[i] = i end
    return out
  end
  for _, want in ipairs(pick) do
    local n, before = tonumber(want), #out
    local pattern = '^' .. tostring(want):gsub('[%^%$%(%)%%%.%[%]%+%-%?]', '%%%0'):gsub('%*', '.*') .. '$'
    for i, name in ipairs(names) do
      if i == n or name:match(pattern) then out[#out + 1] = i end
    end
    if #out == before then
      local near = check.nearest(tostring(want), names)
      fail('channel %q is not in the recording%s; it has %s', tostring(want), near and (', did you mean %q?'):format(near) or '',
        #names > 20 and #names .. ' channels, the first is ' .. names[1] or table.concat(names, ', '))
    end
  end
  return out
end

local AXES = { 'T', 'CT', 'CST' }

--- From a tensor [T], [C, T], [S, T] or [C, S, T].
local function from_tensor(x, o)
  local axes = o.axes or AXES[x.ndim]
  if not axes or #axes ~= x.ndim or axes:sub(-1) ~= 'T' then fail('samples are %s with axes %q; give --axes as T, CT, ST or CST', tensor.describe(x), tostring(axes)) end
  if axes:find 'B' then fail('axes %q: a recording has channels, segments and samples; pick one subject', axes) end
  local size = { C = 1, S = 1 }
  for i = 1, #axes do size[axes:sub(i, i)] = x.shape[i] end
  local T = x.shape[x.ndim]
  local names = o.names or {}
  for c = 1, size.C do names[c] = names[c] or ('ch%d'):format(c) end
  local chosen = pick_channels(names, o.pick)
  local picked = {}
  for i, c in ipairs(chosen) do picked[i] = names[c] end
  local flat = x:reshape(size.C, size.S, T)
  return setmetatable({
    fs = o.fs, names = picked, S = size.S, T = T, C = #chosen, segmented = axes:find 'S' ~= nil,
    read = function(_, first, last)
      local parts = {}
      for i = first, last do parts[#parts + 1] = flat[{ { chosen[i], chosen[i] } }] end
      return #parts == 1 and parts[1] or mc.concat(parts, 1)
    end,
  }, Source)
end

local function read_npz(path, o)
  local file = mc.open(path)
  local key = o.key
  if not key then -- the largest array
    local best = -1
    for _, name in ipairs(file.names) do
      local t = file:get(name, { map = true })
      if t.ndim >= 1 and t.ndim <= 3 and t:numel() > best and tensor.kind[t.dtype] ~= 'c' then best, key = t:numel(), name end
    end
    if not key then fail('%s holds no array of 1 to 3 axes; name one with --key', path) end
  end
  local fs = o.fs
  for _, name in ipairs { 'sf', 'fs', 'sfreq', 'srate', 'sampling_rate' } do
    local has = false
    for _, n in ipairs(file.names) do has = has or n == name end
    if not fs and has then fs = file:get(name):reshape({ -1 })[1]:item() end
  end
  return file:get(key, { map = true }), fs, key
end

--- Opens a recording.
---@param path string .npz, .npy, .edf or .bdf
---@param opts table fs Hz (files that know it need none) · key · axes · pick (list of names, numbers, patterns) · from, to (s, EDF)
---@return table source with fs, names, C, S, T, segmented and :read(first, last) -> [c, S, T]
function M.open(path, opts)
  local o = check.opts('pac.source', opts, { fs = { nil, 'number > 0' }, key = { nil, 'string' }, axes = { nil, 'string' }, pick = { nil, 'table' }, from = { nil, 'number >= 0' }, to = { nil, 'number > 0' } }, 3)
  local ext = (path:match '%.(%w+)$' or ''):lower()
  if ext == 'edf' or ext == 'bdf' then
    local rec = mc.open(path)
    local labels, rate = {}, {}
    for i, c in ipairs(rec.channels) do labels[i], rate[i] = c.label, c.fs end
    local chosen = pick_channels(labels, o.pick)
    if not o.pick then -- channels of the commonest rate: a file may mix rates
      local votes, best = {}, nil
      for i = 1, #rate do votes[rate[i]] = (votes[rate[i]] or 0) + 1 end
      for r, n in pairs(votes) do if not best or n > votes[best] or (n == votes[best] and r > best) then best = r end end
      chosen = {}
      for i = 1, #rate do if rate[i] == best then chosen[#chosen + 1] = i end end
    end
    local fs, names = rate[chosen[1]], {}
    for i, c in ipairs(chosen) do
      if rate[c] ~= fs then fail('channels %s and %s have different sampling rates (%g and %g Hz); --pick channels of one rate', labels[chosen[1]], labels[c], fs, rate[c]) end
      names[i] = labels[c]
    end
    local probe = rec:read { channels = { chosen[1] }, from = o.from, to = o.to, dtype = 'f32' }
    return setmetatable({
      path = path, fs = o.fs or fs, names = names, C = #chosen, S = 1, T = probe.shape[2], segmented = false, notes = rec.warnings,
      read = function(_, first, last)
        local list = {}
        for i = first, last do list[#list + 1] = chosen[i] end
        local x = rec:read { channels = list, from = o.from, to = o.to, dtype = 'f64' }
        return x:reshape(#list, 1, x.shape[2])
      end,
    }, Source)
  end
  local x, fs
  if ext == 'npz' then x, fs = read_npz(path, o)
  elseif ext == 'npy' then x, fs = mc.open(path), o.fs
  else fail('%s has the extension %q; give npz, npy, edf or bdf (other formats: convert first)', path, ext) end
  if x.ndim == 2 and not o.axes then o.axes = x.shape[1] > 64 and 'ST' or 'CT' end
  local s = from_tensor(x, { axes = o.axes, pick = o.pick, fs = o.fs or fs })
  s.path = path
  if not s.fs then fail('%s does not say its sampling rate; give --fs in Hz', path) end
  return s
end

--- A source over samples in memory: pac.source.wrap(x, { fs =, names =, axes = }).
function M.wrap(x, opts)
  local o = check.opts('pac.source', opts, { fs = { nil, 'number > 0' }, names = { nil, 'table' }, axes = { nil, 'string' }, pick = { nil, 'table' } }, 3)
  return from_tensor(x, o)
end

--- Runs a plan over a source, a few channels at a time, and joins the results along the channels.
---@param plan table of pac.plan
---@param source table
---@param opts? table channels per turn · progress(done, total)
---@return table result as of pac.compute with a first axis of channels
function M.run(plan, source, opts)
  local o = check.opts('pac.source.run', opts, { channels = { nil, 'integer >= 1' }, progress = { nil, 'table' } }, 3)
  local per = o.channels or math.max(1, math.floor(64 * 2 ^ 20 / (8 * source.S * source.T)))
  local parts = {}
  for first = 1, source.C, per do
    local last = math.min(first + per - 1, source.C)
    local r = mc.scope(function()
      local x = source:read(first, last)
      return plan:run(x:reshape(last - first + 1, source.S, source.T))
    end)
    parts[#parts + 1] = r
    if o.progress then o.progress:add(last - first + 1) end
  end
  local out = {}
  for k, v in pairs(parts[1]) do
    if mc.is_tensor(v) and k ~= 'pha_bands_hz' and k ~= 'amp_bands_hz' and k ~= 'bin_centers' and #parts > 1 then
      local list = {}
      for i, p in ipairs(parts) do list[i] = p[k] end
      out[k] = mc.concat(list, 1)
    else
      out[k] = v
    end
  end
  -- the family of a correction is the run, not the channels of a turn
  if out.surr_exceed then out.p = require('workflows.pac').correct(out) end
  return out
end

--- The best pair of bands of each channel (pac.search.best), over all its segments.
---@param source table
---@param opts table options of pac.search.best
---@param progress? table bar counted in channels
---@return table[] best one row per channel, with its name in `channel`
---@return integer pairs tried in each channel
function M.search(source, opts, progress)
  local out, pairs_tried = {}, 0
  for c = 1, source.C do
    local best
    mc.scope(function()
      local r = require('workflows.pac.search').best(source:read(c, c):reshape(source.S, source.T), opts)
      best, pairs_tried = r.best, r.n_pairs
    end)
    if best then
      best.channel = source.names[c]
      out[#out + 1] = best
    end
    if progress then progress:add(1) end
  end
  return out, pairs_tried
end

return M
