-- events.lua - when something happened, as [n, 3]: sample, value before, id.
--
-- Holds the ways to a list of events: annotations (BrainVision markers among them), a trigger channel, a fixed grid, an
-- event file. Samples are 0-based and counted as in the file of the recording (FIF recordings start at their
-- first_sample), as in the event files labs keep.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local create = require 'mascon.array.create'
local op = require 'mascon.core.op'
local channels = require 'mascon.meeg.channels'
local error = check.error
local floor = math.floor
local M = {}

--- Rows { sample, before, id } as i64 [n, 3].
local function as_tensor(rows)
  if #rows == 0 then return create.zeros({ 0, 3 }, { dtype = 'i64' }) end
  return create.tensor(rows, { dtype = 'i64' })
end

--- The nearest whole number, halves to the even one: the rounding by which times become samples everywhere in
--- mascon.meeg.
---     mc.meeg.events.round(2.5)  --> 2
---@param x number
---@return integer
function M.round(x)
  local r = floor(x + 0.5)
  return x + 0.5 == r and r % 2 == 1 and r - 1 or r
end

-- ---------------------------------------------------------------- annotations

-- BrainVision markers: type/description, the number at its end, an offset for each kind
local KINDS = { ['Event/'] = 0, ['Stimulus/S'] = 0, ['Response/R'] = 1000, ['Optic/O'] = 2000 }
local WHOLE = { ['New Segment/'] = 99999, ['SyncStatus/Sync On'] = 99998 }
local OTHERS = 10001

local function marker_id(text)
  local kind, digits = text:sub(1, -4), text:sub(-3):match '^%s*(%d+)%s*$'
  if digits and KINDS[kind] then return tonumber(digits) + KINDS[kind] end
  return WHOLE[text]
end

--- Ids for the texts of annotations: those of BrainVision markers, where all are of that kind, else 1, 2, ... in sorted
--- order.
local function automatic(texts, brainvision)
  local list, out, from = {}, {}, 1
  for text in pairs(texts) do list[#list + 1] = text end
  table.sort(list)
  if not brainvision then
    brainvision = #list > 0
    for _, text in ipairs(list) do
      local base = text:gsub('[%d%s]+$', '')
      brainvision = brainvision and (KINDS[base] ~= nil or WHOLE[text] ~= nil or WHOLE[base] ~= nil)
    end
  end
  if brainvision then from = OTHERS end
  for _, text in ipairs(list) do
    local id = brainvision and marker_id(text)
    if not id then
      id = from
      from = from + 1
    end
    out[text] = id
  end
  return out
end

local ANNOTATIONS = { match = { nil, 'string' }, event_id = { nil, 'table' }, skip = { '^[Bb][Aa][Dd]', 'string' } }

--- Events at the onsets of annotations.
--
-- match: Lua pattern the text must contain; skip: pattern of texts to leave out ('^[Bb][Aa][Dd]', the marks of bad
-- stretches, those of BrainVision too: "Comment/BAD"; EDGE marks are left out, too). event_id: text = id; other texts
-- are left out then. By default BrainVision markers take the number in their text (Stimulus +0, Response +1000, Optic
-- +2000), other texts 1, 2, ... in sorted order.
---@param raw table
---@param opts? table
---@return any tensor i64 [n, 3]
---@return table event_id text = id
function M.from_annotations(raw, opts)
  local o = check.opts('meeg.events.from_annotations', opts, ANNOTATIONS, 3)
  local texts, chosen, rows, used = {}, {}, {}, {}
  local given = opts and opts.skip
  for _, a in ipairs(raw.annotations) do
    local bad = a.text:find(o.skip) or not given and raw.format == 'BrainVision' and a.text:find '^[^/]*/[Bb][Aa][Dd]'
    if not bad and not a.text:find '^[Ee][Dd][Gg][Ee]' and (not o.match or a.text:find(o.match)) and (not o.event_id
      or o.event_id[a.text]) then
      chosen[#chosen + 1], texts[a.text] = a, true
    end
  end
  local ids = o.event_id or automatic(texts, raw.format == 'BrainVision')
  for i, a in ipairs(chosen) do
    rows[i] = { M.round(a.onset * raw.fs) + raw.first_sample, 0, ids[a.text] }
    used[a.text] = ids[a.text]
  end
  table.sort(rows, function(a, b)
    if a[1] ~= b[1] then return a[1] < b[1] end
    return a[3] < b[3]
  end)
  return as_tensor(rows), used
end

-- ---------------------------------------------------------------- trigger channels

local FIND = { channel = { nil, 'string | integer | table' }, mask = { nil, 'integer >= 1' },
  consecutive = { 'increasing', { 'increasing', true, false } },
  min_duration = { 0, 'number >= 0' }, initial = { false, 'bool' } }

--- Steps of one trigger channel: rows { sample, before, after }.
local function steps(raw, pick, initial)
  local F, nonzero, out, last = op.functions, require('mascon.core.select').nonzero, {}, nil
  for x, first in raw:blocks { channels = pick } do
    local v = F.abs(F.trunc(x[1]))
    local n = v.shape[1]
    if not last and initial and v[1]:item() ~= 0 then out[1] = { raw.first_sample, 0, v[1]:item() } end
    local before = F.concat { last or v['1:1'], v[{ { 1, n - 1 } }] }
    for _, i in ipairs(nonzero(F.not_equal(v, before)):totable()) do
      out[#out + 1] = { raw.first_sample + first + i - 2, before[i]:item(), v[i]:item() }
    end
    last = v[{ { n, n } }]:copy()
  end
  return out
end

--- Drops steps that are followed by another within `merge` samples; their value before goes to the one that stays.
local function merged(list, merge)
  if merge <= 0 then return list end
  local out = {}
  for i, s in ipairs(list) do
    local near = list[i + 1] and list[i + 1][1] - s[1] <= merge
    if near then list[i + 1][2] = s[2] else out[#out + 1] = s end
  end
  return out
end

--- The channel in which some systems sum up their trigger lines, else all trigger channels.
local function trigger_channel(raw)
  for _, sum in ipairs { 'STI101', 'STI 014' } do
    for _, c in ipairs(raw.channels) do
      if c.name == sum then return sum end
    end
  end
  return 'stim'
end

--- Events of a trigger channel: each sample at which its value rises.
--
-- channel: name, number or list (default STI101, else STI 014, which sum up the lines of a MEG system, else all of type
-- stim). mask: only these bits count. consecutive: what counts as an event besides a change from 0: 'increasing'
-- (default: a change to a larger number), true (any change to another number but 0), false. min_duration: s, shorter
-- values are merged into the next. initial: whether the value the recording starts with is an event.
-- Values are cut to whole numbers, their sign is left out.
---@param raw table
---@param opts? table
---@return any tensor i64 [n, 3]
---@return table event_id number as text = id
function M.find(raw, opts)
  local fname = 'meeg.events.find'
  local o = check.opts(fname, opts, FIND, 3)
  local rows, ids, seen = {}, {}, {}
  local short = o.min_duration * raw.fs
  local merge = o.min_duration > 0 and (short == floor(short) and short - 1 or floor(short)) or 0
  for _, pick in ipairs(
    channels.pick(raw.channels, o.channel == nil and trigger_channel(raw) or o.channel, nil, fname)) do
    for _, s in ipairs(merged(steps(raw, pick, o.initial), merge)) do
      local before, after = s[2], s[3]
      if o.mask then before, after = require('bit').band(before, o.mask), require('bit').band(after, o.mask) end
      local onset
      if o.consecutive == 'increasing' then onset = after > before
      elseif o.consecutive then onset = after > 0 and after ~= before
      else onset = before == 0 and after > 0 end
      local key = ('%.0f %.0f %.0f'):format(s[1], before, after)
      if onset and not seen[key] then
        rows[#rows + 1], ids[('%.0f'):format(after)], seen[key] = { s[1], before, after }, after, true
      end
    end
  end
  table.sort(rows, function(a, b)
    if a[1] ~= b[1] then return a[1] < b[1] end
    return a[3] < b[3]
  end)
  return as_tensor(rows), ids
end

--- Events of a recording when nothing is said: its annotations, or where none but marks of bad stretches are there, its
--- triggers.
---     mc.meeg.events.of(mc.meeg.raw.new{ data = mc.tensor{ { 0, 0, 5, 0 } }, fs = 1, types = 'stim' })
---       --> i64[1,3]@cpu { { 2, 0, 5 } }, { ["5"] = 5 }
---@param raw table
---@return any tensor i64 [n, 3]
---@return table event_id
function M.of(raw)
  local events, ids = M.from_annotations(raw)
  for _, c in ipairs(raw.channels) do
    if c.type == 'stim' and events.shape[1] == 0 then return M.find(raw) end
  end
  return events, ids
end

-- ---------------------------------------------------------------- grids and files

local FIXED = { duration = { 1, 'number > 0' }, overlap = { 0, 'number >= 0' }, start = { 0, 'number >= 0' },
  stop = { nil, 'number' }, id = { 1, 'integer' } }

--- Events at equal distances, for resting state: duration and overlap of the stretches, start and stop in seconds after
--- the first sample.
---     mc.meeg.events.fixed(mc.meeg.raw.new{ data = mc.zeros{ 1, 1000 }, fs = 100 }, { duration = 2.5 })[{ mc.all,
---       1 }]
---       --> i64[4]@cpu { 0, 250, 500, 750 }
---@param raw table
---@param opts? table
---@return any tensor i64 [n, 3]
---@return table event_id
function M.fixed(raw, opts)
  local o = check.opts('meeg.events.fixed', opts, FIXED, 3)
  if o.overlap >= o.duration then
    error('meeg.events.fixed: overlap is not shorter than duration; make it shorter', 2)
  end
  local stop, rows = math.min(o.stop or raw.duration, raw.duration), {}
  local step, n = o.duration - o.overlap, M.round(o.duration * raw.fs)
  local k = 0
  while true do
    local at = M.round((o.start + k * step) * raw.fs)
    if at + n > M.round(stop * raw.fs) then break end
    rows[#rows + 1] = { at + raw.first_sample, 0, o.id }
    k = k + 1
  end
  return as_tensor(rows), { [tostring(o.id)] = o.id }
end

--- Events of a file: .csv or .tsv (columns sample, previous, id, or the first three), .npy [n, 3], .eve or .txt
--- (numbers between blanks; four columns have the time in seconds second), -eve.fif.
---@param path string
---@return any tensor i64 [n, 3]
---@return table event_id
function M.read(path)
  local fname = 'meeg.events.read'
  check.arg(fname, 'path', path, 'string', 3)
  local ext, rows, ids = path:lower():gsub('%.gz$', ''):match '%.(%w+)$', nil, nil
  if ext == 'npy' then
    rows = require('mascon.io').load(path)
  elseif ext == 'csv' or ext == 'tsv' then
    local t = require('mascon.io').load(path, { numeric = true })
    local at = t.names and t.columns
    rows = t.data
    if at and t.names and rawget(at, 'sample') and rawget(at, 'id') then
      local zero = create.zeros({ t.rows })
      rows = op.functions.stack({ at.sample, rawget(at, 'previous') or zero, at.id }, 2)
    end
  elseif ext == 'eve' or ext == 'txt' then
    local text, msg = require('mascon.base.file').read(path)
    if not text then error(('%s: %s; check the path'):format(fname, msg), 2) end
    local list, line_no = {}, 0
    for line in (text .. '\n'):gmatch '(.-)\r?\n' do
      line_no = line_no + 1
      local v = {}
      for word in line:gsub('#.*', ''):gmatch '%S+' do
        v[#v + 1] = tonumber(word)
          or error(('%s: %s:%d: %q is no number; correct it'):format(fname, path, line_no, word), 2)
      end
      if #v == 4 then v = { v[1], v[3], v[4] } end
      if #v == 3 then
        list[#list + 1] = v
      elseif #v > 0 then
        error(('%s: %s:%d has %d columns; events have three: sample, value before, id'):format(fname,
          path, line_no, #v), 2)
      end
    end
    rows = as_tensor(list)
  elseif ext == 'fif' then
    rows, ids = require('mascon.meeg.files.fif').events(path)
  else
    error(('%s: %s has the extension %q; give .csv, .tsv, .npy, .eve, .txt or .fif'):format(fname, path, ext or ''), 2)
  end
  if not tensor.is(rows) or rows.ndim ~= 2 or rows.shape[2] < 3 then
    error(('%s: %s does not hold three columns: sample, value before, id'):format(fname, path), 2)
  end
  rows = rows[{ { 1, rows.shape[1] }, { 1, 3 } }]:to { dtype = 'i64' }:contiguous()
  if not ids then
    ids = {}
    if rows.shape[1] > 0 then
      for _, id in ipairs(rows['1:-1, 3']:totable()) do ids[tostring(id)] = id end
    end
  end
  return rows, ids
end

return M
