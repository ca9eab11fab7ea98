-- cut.lua - epochs around the events of a continuous recording.
--
-- Decides which events are meant, which samples belong to them, what keeps an epoch out (no data, a stretch marked bad,
-- limits of peak to peak) and what is done to each (detrending, baseline, projectors). The samples stay in the
-- recording until asked for, so that a set larger than memory passes through block by block.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local create = require 'mascon.array.create'
local op = require 'mascon.core.op'
local channels = require 'mascon.meeg.channels'
local epochs = require 'mascon.meeg.epochs'
local events_ = require 'mascon.meeg.events'
local error = check.error
local F = op.functions
local M = {}

-- ---------------------------------------------------------------- which events

--- Events [n, 3] as rows, and name = id.
local function events_of(fname, r, o)
  local events, ids = o.events, nil
  if events == nil or type(events) == 'string' then
    events, ids = events_.from_annotations(r,
      { match = events, event_id = type(o.event_id) == 'table' and o.event_id[1] == nil and o.event_id or nil })
    if o.events == nil and events.shape[1] == 0 then events, ids = events_.of(r) end
    if events.shape[1] == 0 then
      error(('%s: no annotation %sof %s tells of an event%s; give events'):format(fname,
        o.events and '' or 'or trigger ', r.path or 'it', o.events and (' %q'):format(o.events) or ''), 4)
    end
  end
  if tensor.is(events) then
    if events.ndim ~= 2 or events.shape[2] ~= 3 then
      error(('%s: events are %s; give [n, 3]: sample, value before, id'):format(fname, tensor.describe(events)), 4)
    end
    events = events:totable()
  end
  for i, e in ipairs(events) do
    if type(e) ~= 'table' or type(e[1]) ~= 'number' or e[1] ~= math.floor(e[1]) or type(e[3]) ~= 'number' then
      error(('%s: event %d is no { sample, value before, id }; correct it'):format(fname, i), 4)
    end
  end
  return events, ids
end

--- Names and ids of the events to take, and the ids as a set.
local function wanted_of(fname, events, ids, given)
  local present, out, set = {}, {}, {}
  for _, e in ipairs(events) do present[e[3]] = true end
  if given == nil then
    if ids then out = ids
    else for id in pairs(present) do out[('%.0f'):format(id)] = id end end
  elseif type(given) == 'number' then out[('%.0f'):format(given)] = given
  else
    for k, v in pairs(given) do
      if type(k) == 'string' and type(v) == 'number' then
        out[k] = v
      elseif type(k) == 'number' and type(v) == 'number' then
        out[('%.0f'):format(v)] = v
      elseif type(k) == 'number' and type(v) == 'string' and ids and ids[v] then
        out[v] = ids[v]
      else
        error(('%s: event_id holds %s = %s; give ids, or name = id'):format(fname, tostring(k), check.show(v)), 4)
      end
    end
  end
  for name, id in pairs(out) do
    if not present[id] then
      error(('%s: no event has the id %.0f (%q); correct event_id or leave it out'):format(fname, id, name), 4)
    end
    set[id] = true
  end
  return out, set
end

-- ---------------------------------------------------------------- which are kept

--- Why an epoch of T samples from `start` (0-based) cannot be taken, or nil.
local function fault_of(r, start, T, stretches)
  if start < 0 then return 'NO_DATA' end
  for _, s in ipairs(stretches) do
    if s[1] >= (start + T) / r.fs then break end
    if s[2] > start / r.fs then return s[3] end
  end
  if start + T > r.samples then return 'TOO_SHORT' end
end

-- ---------------------------------------------------------------- what is done to each

local CORRECTED = { eog = true, ecg = true, emg = true, bio = true, ref_meg = true } -- besides the data channels

--- 1 for channels whose offset means nothing, 0 for the others, f64 [#picks, 1].
local function mask_of(list, picks, also)
  local data, out = {}, {}
  for _, i in ipairs(channels.pick(list, nil)) do data[i] = true end
  for k, i in ipairs(picks) do out[k] = { (data[i] or also and also[list[i].type]) and 1 or 0 } end
  return create.tensor(out)
end

--- First and last sample (1-based) of a stretch of seconds within an epoch.
local function span_of(fname, baseline, first, fs, T)
  local from, to = baseline[1] or -math.huge, baseline[2] or math.huge
  if type(from) ~= 'number' or type(to) ~= 'number' or not (from <= to) then
    error(fname .. ': baseline is { from, to } in seconds; from may not be later than to', 4)
  end
  local a, b = math.max(events_.round(math.max(from, -1e9) * fs) - first + 1, 1),
    math.min(events_.round(math.min(to, 1e9) * fs) - first + 1, T)
  if b < a then
    error(('%s: no sample lies in the baseline from %.6g to %.6g s; give one within tmin and tmax'):format(
      fname, from, to), 4)
  end
  return a, b
end

-- ---------------------------------------------------------------- cutting

local CUT = {
  events = { nil, 'tensor | table | string' }, event_id = { nil, 'table | integer' }, tmin = { -0.2, 'number' },
  tmax = { 0.5, 'number' }, baseline = { nil, 'table' }, reject_by_annotation = { true, 'bool' },
  detrend = { nil, { 'constant', 'linear' } }, channels = { nil, 'any' }, repeated = { 'error', { 'error', 'drop' } },
  reject = { nil, 'table' }, flat = { nil, 'table' }, dtype = { 'f64', { 'f64', 'f32' } }, proj = { true, 'bool' },
}

--- Epochs around events: samples from event + tmin to event + tmax, both included, times rounded to the nearest sample.
--
-- events: i64 [n, 3] (sample as in the recording's own counting, value before, id), a list of such rows, or a pattern
-- for annotations (when left out, all annotations, or triggers where there are none; see mc.meeg.events.of). event_id:
-- name = id, or a list of ids or names; other events are left out. baseline: { from, to } in seconds whose mean is
-- taken off (none by default; either may be left to math.huge). reject_by_annotation: whether stretches annotated
-- "bad..." keep epochs out. detrend: 'constant' or 'linear', of data channels, before the baseline. channels: as in
-- :picks (all by default). repeated: two events at one sample are an 'error' or the later is dropped. proj (true):
-- projectors that came with the recording and are not applied to its samples are applied to the epochs, after
-- detrending and baseline; marked bads take no part. reject, flat: limits of peak to peak by type, see :drop_bad.
-- Epochs that are left out stand in drop_log with their reason: IGNORED, NO_DATA, TOO_SHORT, the text of an annotation,
-- DROP DUPLICATE, names of channels. Samples are read from the recording when asked for, or all at once by :load();
-- keep it open until then.
-- Errors: no such event, no sample between tmin and tmax, two events at one sample.
---@param r table raw
---@param opts table
---@return table epochs
function M.cut(r, opts)
  local fname = 'meeg.epochs.cut'
  local o = check.opts(fname, opts, CUT, 3)
  if not require('mascon.meeg.raw').is(r) then
    error(('%s: %s; give a recording opened by mc.meeg.raw.open'):format(fname, check.show(r)), 2)
  end
  local list, ids = events_of(fname, r, o)
  local event_id, set = wanted_of(fname, list, ids, o.event_id)
  local first, last = events_.round(o.tmin * r.fs), events_.round(o.tmax * r.fs)
  local T = last - first + 1
  if T < 1 then
    error(('%s: tmin %.6g s and tmax %.6g s hold no sample; tmax must be later'):format(fname, o.tmin, o.tmax), 2)
  end
  local stretches = o.reject_by_annotation and r:bad_stretches() or {}
  local rows, starts, selection, drop_log, seen = {}, {}, {}, {}, {}
  for i, e in ipairs(list) do
    local start = e[1] + first - r.first_sample
    local fault = not set[e[3]] and 'IGNORED'
    if not fault and seen[e[1]] then
      if o.repeated == 'error' then
        error(('%s: events %d and %d are both at sample %.0f; give repeated = "drop" to keep the first'):format(fname,
          seen[e[1]], i, e[1]), 2)
      end
      fault = 'DROP DUPLICATE'
    end
    if not fault then seen[e[1]] = i end
    fault = fault or fault_of(r, start, T, stretches)
    drop_log[i] = { fault or nil }
    if not fault then
      rows[#rows + 1], starts[#starts + 1], selection[#selection + 1] = e, start, i
    end
  end
  local from = o.channels ~= nil and channels.pick(r.channels, o.channels, r.bads, fname)
    or channels.pick(r.channels, 'all')
  local known, bads, info = channels.copy(r.channels, from), {}, {}
  for _, b in ipairs(r.bads) do
    for _, c in ipairs(known) do
      if c.name == b then bads[#bads + 1] = b end
    end
  end
  for k, v in pairs(r.info) do info[k] = v end
  info.raw_fs, info.first_sample = r.fs, r.first_sample
  local a, b
  if o.baseline then a, b = span_of(fname, o.baseline, first, r.fs, T) end
  local e = epochs.over(fname, {
    fs = r.fs, tmin = first / r.fs, samples = T, channels = known, bads = bads,
    events = #rows > 0 and create.tensor(rows, { dtype = 'i64' }) or {}, event_id = event_id,
    selection = selection, drop_log = drop_log, info = info, annotations = r.annotations,
    baseline = a and { (first + a - 1) / r.fs, (first + b - 1) / r.fs } or nil,
  }, {
    count = #rows, dtype = o.dtype, work = r._work, forget = r._forget, read = function(which, picks)
      local out, inner = tensor.empty('epochs.read', { #which, #picks, T }, o.dtype, 3), {}
      for k, i in ipairs(picks) do inner[k] = from[i] end
      local trend, offset = o.detrend and mask_of(known, picks), a and mask_of(known, picks, CORRECTED)
      for j, row in ipairs(which) do
        tensor.scope(function()
          local x = r._fetch(inner, starts[row], T)
          if trend then
            x = F.where(F.greater(trend, 0), require('mascon.signal').detrend(x, { type = o.detrend }), x)
          end
          if offset then x = x - x[{ { 1, #picks }, { a, b } }]:mean { 2, keepdim = true } * offset end
          out[j] = x
        end)
      end
      return out
    end,
  })
  if o.proj then e = e:apply_proj() end
  if o.reject or o.flat then e = e:drop_bad { reject = o.reject, flat = o.flat } end
  return e
end

-- ---------------------------------------------------------------- limits

--- One limit for each pick, `none` where there is none.
local function limits_of(e, picks, given, none)
  local out = {}
  for t, v in pairs(given or {}) do
    if not channels.UNITS[t] or type(v) ~= 'number' then
      error(('epochs.drop_bad: %s = %s is no limit of a type of channel; as in { eeg = 100e-6 }'):format(tostring(t),
        check.show(v)), 4)
    end
  end
  for k, i in ipairs(picks) do out[k] = given and given[e.channels[i].type] or none end
  return create.tensor(out):reshape(1, #out)
end

--- Drops epochs in which a channel that is not marked bad reaches beyond a limit; see the method :drop_bad.
function M.drop_bad(e, o)
  local picks, marked, gone, reasons = {}, {}, {}, {}
  for _, b in ipairs(e.bads) do marked[b] = true end
  for i, c in ipairs(e.channels) do
    if not marked[c.name] and (o.reject and o.reject[c.type] or o.flat and o.flat[c.type]) then
      picks[#picks + 1] = i
    end
  end
  local high, low = limits_of(e, picks, o.reject, math.huge), limits_of(e, picks, o.flat, -math.huge)
  if #picks == 0 then return e end
  for x, first in e:blocks { channels = picks } do
    local p = x:max(3) - x:min(3)
    local out = F.logical_or(F.greater(p, high), F.less(p, low)):totable()
    for i, row in ipairs(out) do
      for k, bad in ipairs(row) do
        if bad then
          local at = first + i - 1
          gone[at] = true
          reasons[at] = reasons[at] or {}
          table.insert(reasons[at], e.channels[picks[k]].name)
        end
      end
    end
  end
  local list = {}
  for at in pairs(gone) do list[#list + 1] = at end
  local kept = e:drop(list)
  for at, names in pairs(reasons) do
    local log = kept.drop_log[e.selection[at]]
    log[#log] = nil
    for _, name in ipairs(names) do log[#log + 1] = name end
  end
  return kept
end

return M
