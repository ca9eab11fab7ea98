-- fif_save.lua - epochs and annotations written as FIF files that other programs open.
--
-- Holds the blocks of epochs and of annotations, and the parts into which a set too large for one file falls. What came
-- with the recording and has no field here is written back as it was (fif_info.lua). All parts get their names at the
-- end, so that a failure leaves none. Source: the layout of epochs files as MNE-Python 1.13 writes and reads it.
local fif = require 'mascon.io.fif'
local ceiling = require 'mascon.base.ceiling'
local check = require 'mascon.core.check'
local mc = require 'mascon.array'
local create = require 'mascon.array.create'
local json = require 'mascon.base.json'
local date = require 'mascon.meeg.date'
local fif_info = require 'mascon.meeg.files.fif_info'
local error = check.error
local floor, max, min = math.floor, math.max, math.min
local BLOCK, KIND = fif_info.BLOCK, fif_info.KIND
local M = {}

local EPOCH, EVENT_LIST, BASELINE_MIN, BASELINE_MAX, RAW_RATE, DROP_LOG, REJECT, SELECTION = 302, 3561, 3568, 3569,
  3803, 3801, 3802, 3800
local METADATA_BLOCK, REF_ROLE, REF_NAME, REF_ID, REF_NUMBER, NEXT_FILE, ID_TYPE = 3811, 115, 118, 116, 117, 2, 31
-- room beside the samples in a part, bytes
local MARGIN = 2 ^ 21

--- Names of events as "name:id;name:id", without the marks that part them.
local function event_names(event_id)
  local names, out = {}, {}
  for name in pairs(event_id) do names[#names + 1] = name end
  table.sort(names, function(a, b)
    if event_id[a] ~= event_id[b] then return event_id[a] < event_id[b] end
    return a < b
  end)
  for k, name in ipairs(names) do out[k] = ('%s:%.0f'):format(name:gsub(';', ','), event_id[name]) end
  return table.concat(out, ';')
end

--- The drop log as JSON, as seen by the epochs of one part: those of others are ignored there.
local function log_text(e, first, last)
  local out, here = {}, {}
  for i = first, last do here[e.selection[i]] = true end
  local elsewhere = {}
  for _, s in ipairs(e.selection) do elsewhere[s] = not here[s] end
  for i, reasons in ipairs(e.drop_log) do
    local list = {}
    for k, r in ipairs(reasons) do list[k] = r end
    out[i] = json.array(elsewhere[i] and { 'IGNORED' } or list)
  end
  return json.encode(json.array(out))
end

local function write_annotations(w, list, shift, stamp)
  local onset, stop, texts = {}, {}, {}
  for i, a in ipairs(list) do
    onset[i] = a.onset + shift
    stop[i], texts[i] = onset[i] + (a.duration or 0), a.text
  end
  w:open_block(BLOCK.annotations)
  w:floats(BASELINE_MIN, onset)
  w:floats(BASELINE_MAX, stop)
  w:names(KIND.comment, texts)
  if stamp then w:doubles(KIND.meas_date, stamp) end
  w:close_block(BLOCK.annotations)
end

--- SI units of one number of the file, f64 [1, C, 1], or nil when all are 1.
local function cals_of(e)
  local out, same = {}, true
  for i, c in ipairs(e.channels) do
    out[i] = fif_info.cal_of(c)
    same = same and out[i] == 1
  end
  return not same and create.tensor(out):reshape(1, #out, 1) or nil
end

--- Epochs [first, last] as the iterator of blocks that a matrix is written from; a block is given back before the next
--- is read.
local function blocks_of(e, first, last, cals)
  local size = max(1, floor(ceiling.block(2 ^ 24, e:work()) / (#e.channels * e.samples * 8)))
  local at, held = first, nil
  return function()
    if held then held:release() end
    held = nil
    if at > last then return nil end
    held = e:read { first = at, last = min(at + size - 1, last) }
    at = at + size
    if cals then
      local read = held
      held = mc.scope(function() return read:to { dtype = 'f64' } / cals end)
      read:release()
    end
    return held
  end
end

local function write_part(w, e, first, last, o, next_)
  local n, first_sample = last - first + 1, floor(e.tmin * e.fs + 0.5)
  fif_info.open_measurement(w, e.info)
  fif_info.write(w, e)
  w:open_block(BLOCK.processed)
  w:open_block(BLOCK.epochs)
  local kept = e.info.fif
  if kept and kept.annotations then
    w:tags(kept.annotations)
  elseif e.annotations and #e.annotations > 0 then
    write_annotations(w, e.annotations, (e.info.first_sample or 0) / (e.info.raw_fs or e.fs),
      date.stamp(e.info.meas_date))
  end
  w:open_block(BLOCK.events)
  w:ints(EVENT_LIST, n > 0 and e.events[{ { first, last } }]:reshape(-1):totable() or {})
  w:text(KIND.comment, event_names(e.event_id))
  w:close_block(BLOCK.events)
  if e.metadata then
    w:open_block(METADATA_BLOCK)
    w:text(KIND.comment, '[' .. table.concat(e.metadata, ',', first, last) .. ']')
    w:close_block(METADATA_BLOCK)
  end
  w:ints(KIND.first_sample, { first_sample })
  w:ints(KIND.last_sample, { first_sample + e.samples - 1 })
  w:floats(RAW_RATE, { e.info.raw_fs or e.fs })
  if e.baseline then
    w:floats(BASELINE_MIN, { e.baseline[1] })
    w:floats(BASELINE_MAX, { e.baseline[2] })
  end
  w:matrix(EPOCH, { n, #e.channels, e.samples }, o.dtype, blocks_of(e, first, last, cals_of(e)))
  w:text(DROP_LOG, log_text(e, first, last))
  if e.info.reject then w:text(REJECT, e.info.reject) end
  local selection = {}
  for i = first, last do selection[#selection + 1] = e.selection[i] - 1 end
  w:ints(SELECTION, selection)
  if next_ then
    w:open_block(BLOCK.ref)
    w:ints(REF_ROLE, { NEXT_FILE })
    w:text(REF_NAME, next_.name)
    w:tag(REF_ID, ID_TYPE, kept and kept.file_id or fif_info.NO_ID)
    w:ints(REF_NUMBER, { next_.number })
    w:close_block(BLOCK.ref)
  end
  w:close_block(BLOCK.epochs)
  w:close_block(BLOCK.processed)
  w:close_block(BLOCK.meas)
end

--- What FIF cannot hold.
local function checked(path, e)
  local seen = {}
  if e:count() == 0 then return end
  local values = e.events:totable()
  for i, row in ipairs(values) do
    for _, v in ipairs(row) do
      if v < -2 ^ 31 or v >= 2 ^ 31 then
        error(('epochs.save: %s: event %d holds %.0f, which needs more than 32 bits; renumber the events'):format(path,
          i, v), 4)
      end
    end
    if seen[row[1]] then
      error(('epochs.save: %s: epochs %d and %d have the same event sample %.0f, by which FIF files tell epochs apart; '
        .. 'drop one of them'):format(path, seen[row[1]], i, row[1]), 4)
    end
    seen[row[1]] = i
  end
end

--- Writes through f(writers) and gives all files their names, or none.
local function all_or_none(paths, id, f)
  local writers, ok, e = {}, true, nil
  for k, path in ipairs(paths) do
    local w, msg = fif.create(path, id)
    writers[k] = w
    if not w then
      ok, e = false, msg
      break
    end
  end
  local world = not ok
  if ok then ok, e = pcall(f, writers) end
  for k = 1, #paths do
    local w = writers[k]
    if w and ok then
      local done, msg = w:close()
      if not done then ok, e, world = false, msg, true end
    elseif w then w:abort() end
  end
  if not ok then error(e, world and 4 or 0) end
end

--- Saves epochs as FIF. o.dtype: 'f32' or 'f64' on disk; o.split: bytes of samples in one file at most.
---@param path string
---@param e table epochs
---@param o table
function M.epochs(path, e, o)
  checked(path, e)
  local each = #e.channels * e.samples * (o.dtype == 'f32' and 4 or 8)
  local per = floor((min(o.split, fif.MOST) - MARGIN) / each)
  if per < 1 then
    error(('epochs.save: %s: one epoch takes %.0f bytes, a file %.0f at most; pick channels or save as .npy'):format(
      path, each, o.split), 3)
  end
  local n, paths, stem, ending = e:count(), {}, path:match '^(.*)(%.[^./]*)$'
  local parts = max(1, math.ceil(n / per))
  per = math.ceil(n / parts)
  for k = 1, parts do paths[k] = k == 1 and path or ('%s-%d%s'):format(stem, k - 1, ending) end
  all_or_none(paths, e.info.fif and e.info.fif.file_id or fif_info.NO_ID, function(writers)
    for k, w in ipairs(writers) do
      local next_ = paths[k + 1] and { name = paths[k + 1]:match '[^/]*$', number = k }
      write_part(w, e, (k - 1) * per + 1, min(k * per, n), o, next_)
    end
  end)
end

--- Saves the annotations of a recording alone (-annot.fif).
---@param path string
---@param r table raw
function M.annotations(path, r)
  all_or_none({ path }, r.info.fif and r.info.fif.file_id or fif_info.NO_ID, function(writers)
    local stamp = date.stamp(r.info.meas_date)
    write_annotations(writers[1], r.annotations, stamp and r.first_sample / r.fs or 0, stamp)
  end)
end

return M
