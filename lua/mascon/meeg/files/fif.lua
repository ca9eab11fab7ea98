-- fif.lua - FIF recordings as Raw, epochs files as Epochs objects, event files.
--
-- Holds the buffers of raw data (gaps, split files), the block of epochs, annotations and event lists. What describes
-- the recording is in fif_info.lua, saving in fif_save.lua.
local fif = require 'mascon.io.fif'
local file = require 'mascon.base.file'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local create = require 'mascon.array.create'
local json = require 'mascon.base.json'
local date = require 'mascon.meeg.date'
local fif_info = require 'mascon.meeg.files.fif_info'
local raw = require 'mascon.meeg.raw'
local epochs = require 'mascon.meeg.epochs'
local error = check.error
local BLOCK, KIND = fif_info.BLOCK, fif_info.KIND
local M = {}

local DATA_BUFFER, DATA_SKIP, EPOCH = 300, 301, 302
local REF_ROLE, REF_NAME, REF_NUMBER, NEXT_FILE = 115, 118, 117, 2
local BASELINE_MIN, BASELINE_MAX, SELECTION, DROP_LOG, EVENT_LIST, RAW_RATE, EVENT_COMMENTS = 3568, 3569, 3800,
  3801, 3561, 3803, 3566
local REJECT, METADATA_BLOCK = 3802, 3811
local MOST_PARTS = 1000
-- samples of gaps for each one that was recorded, and numbers that gaps may always have; numbers of an epoch where
-- there is none
local GAP_SHARE, GAP_NUMBERS, EMPTY = 1000, 2 ^ 23, 2 ^ 24

-- ---------------------------------------------------------------- what raw and epochs share

--- Annotations { onset, duration, text } in seconds of a clock, and how many seconds after the measurement's that clock
--- started.
local function annotations_in(f, head)
  local node = f:find(BLOCK.annotations)[1]
  if not node then return {}, 0 end
  local onset_at, stop_at, text_at, date_at = f:tag(node, BASELINE_MIN), f:tag(node, BASELINE_MAX),
    f:tag(node, KIND.comment), f:tag(node, KIND.meas_date)
  local onset, stop, texts, out = onset_at and f:numbers(onset_at) or {}, stop_at and f:numbers(stop_at) or {},
    text_at and f:names(text_at) or {}, {}
  if #onset ~= #stop or #onset ~= #texts then
    f:fail('%d onsets, %d ends and %d texts of annotations; the file is damaged', #onset, #stop, #texts)
  end
  for i = 1, #onset do out[i] = { onset = onset[i], duration = stop[i] - onset[i], text = texts[i] } end
  local origin, start = date_at and f:numbers(date_at), date.stamp(head.info.meas_date)
  if not (origin and origin[1] and start) then return out, 0 end
  return out, origin[1] - start[1] + ((origin[2] or 0) - start[2]) * 1e-6
end

--- Path of the next file of a split recording, or nil.
local function next_path(f)
  for _, node in ipairs(f:find(BLOCK.ref)) do
    local role, name, number = f:tag(node, REF_ROLE), f:tag(node, REF_NAME), f:tag(node, REF_NUMBER)
    if role and f:number(role) == NEXT_FILE then
      local folder, base = f.path:match '^(.*/)([^/]*)$'
      folder, base = folder or '', base or f.path
      if name then return folder .. f:text(name):match '[^/\\]*$' end
      if number then -- the number only: it goes before the ending, in place of one that is there
        local stem, ending = base:match '^(.-)(%..*)$'
        if not stem then return nil end
        return ('%s%s-%d%s'):format(folder, (stem:gsub('%-%d+$', '')), f:number(number), ending)
      end
    end
  end
end

--- The files of a split recording, opened in order.
local function parts_of(path)
  local out, at, seen = {}, path, {}
  while at do
    if seen[at] then
      error(('meeg.open: %s names %s as its next part, which came before; the files were renamed'):format(
        out[#out].path, at), 4)
    end
    seen[at] = true
    if #out > 0 and not file.exists(at) then
      error(('meeg.open: %s goes on in %s, which is not there; put all parts into one folder under their own names')
        :format(out[#out].path, at), 4)
    end
    out[#out + 1] = fif.open(at)
    if #out > MOST_PARTS then
      error(('meeg.open: %s has more than %d parts; the files were renamed'):format(path, MOST_PARTS), 4)
    end
    at = next_path(out[#out])
  end
  return out
end

-- ---------------------------------------------------------------- continuous

--- Buffers of one file: list of { file, tag or nil for a gap, count }, and the number of the first sample.
local function buffers_of(f, node, n)
  local out, first, pending = {}, 0, 0
  local started, skip = false, 0
  for _, i in ipairs(node.tags) do
    local kind = f:kind(i)
    if kind == KIND.first_sample and not started then first = f:number(i)
    elseif kind == DATA_SKIP then
      local k = f:number(i)
      if k < 0 or k > 2 ^ 31 then f:fail('a gap of %.0f buffers; the file is damaged', k) end
      if started then pending = pending + k else skip = k end
    elseif kind == DATA_BUFFER then
      local numbers = f:shape(i)[1]
      if numbers % n ~= 0 then f:fail('a buffer of %.0f numbers for %d channels; the file is damaged', numbers, n) end
      local count = numbers / n
      if not started then first = first + skip * count end
      if pending > 0 then out[#out + 1] = { file = f, count = pending * count } end
      if count > 0 then out[#out + 1] = { file = f, tag = i, count = count } end
      started, pending = true, 0
    end
  end
  return out, first
end

--- Position of the buffer that holds sample t (0-based).
local function buffer_at(list, t)
  local lo, hi = 1, #list
  while lo < hi do
    local mid = math.floor((lo + hi + 1) / 2)
    if list[mid].first <= t then lo = mid else hi = mid - 1 end
  end
  return lo
end

local function open_raw(parts, head)
  local n, list, total, first_sample, warnings = #head.channels, {}, 0, nil, { unpack(head.warnings) }
  for _, f in ipairs(parts) do
    local info = f == parts[1] and head or fif_info.read(f)
    if #info.channels ~= n then
      f:fail('it has %d channels, the part before it %d; the parts do not belong together', #info.channels, n)
    end
    local node = f:find(BLOCK.raw, info.meas)[1] or f:find(BLOCK.continuous, info.meas)[1]
    if not node then
      node = f:find(BLOCK.ias_raw, info.meas)[1]
      if not node then f:fail('it holds no raw data') end
      warnings[#warnings + 1] =
        'the data were recorded with active shielding and not processed since (MaxShield); fields are not to scale'
    end
    local buffers, first = buffers_of(f, node, n)
    first_sample = first_sample or first
    if not f.ended then
      warnings[#warnings + 1] = ('%s ends without the mark of an end; its last samples may be missing'):format(f.path)
    end
    for _, b in ipairs(buffers) do
      b.first, total = total, total + b.count
      list[#list + 1] = b
    end
  end
  if total == 0 then parts[1]:fail('it holds no sample') end
  local gaps = 0
  for _, b in ipairs(list) do gaps = gaps + (b.tag and 0 or b.count) end
  if gaps * n > math.max(GAP_NUMBERS, GAP_SHARE * (total - gaps) * n) then
    parts[1]:fail('gaps of %.0f samples among %.0f recorded ones; the file is damaged', gaps, total - gaps)
  end
  warnings[#warnings + 1] = fif_info.idle(head.info.projs, 'epochs that are cut from it have them applied, as in MNE')
  local scale, annotations = {}, {}
  for i = 1, n do scale[i] = head.ranges[i] * head.cals[i] end
  local found, shift = annotations_in(parts[1], head)
  shift = shift - first_sample / head.fs
  local duration = total / head.fs
  for _, a in ipairs(found) do
    local onset, stop = a.onset + shift, a.onset + shift + a.duration
    if stop >= 0 and onset < duration then
      onset, stop = math.max(onset, 0), math.min(stop, duration)
      annotations[#annotations + 1] = { onset = onset, duration = math.max(stop - onset, 0), text = a.text }
    end
  end
  for _, b in ipairs(list) do
    if not b.tag then
      annotations[#annotations + 1] = { onset = b.first / head.fs, duration = b.count / head.fs, text = 'BAD_ACQ_SKIP' }
    end
  end
  table.sort(annotations, function(a, b)
    if a.onset ~= b.onset then return a.onset < b.onset end
    return a.text < b.text
  end)
  return raw.over({
    path = parts[1].path, format = 'FIF', fs = head.fs, samples = total, first_sample = first_sample,
    channels = head.channels, bads = head.bads, annotations = annotations, info = head.info, warnings = warnings,
  }, function(picks, first, count)
    local out = tensor.empty('raw.read', { #picks, count }, 'f64', 3)
    local k, t = buffer_at(list, first), first
    while t < first + count do
      local b = list[k]
      local from = t - b.first
      local m = math.min(b.count - from, first + count - t)
      if b.tag then b.file:samples(b.tag, 0, 1, n, picks, from, m, scale, out, t - first, count)
      else out[{ { 1, #picks }, { t - first + 1, t - first + m } }] = 0 end
      t, k = t + m, k + 1
    end
    return out
  end, function()
    for _, f in ipairs(parts) do f:close() end
  end)
end

-- ---------------------------------------------------------------- event lists

--- Events [n, 3] and their names of the first block of events.
local function events_in(f)
  local node = f:find(BLOCK.events)[1]
  local at = node and f:tag(node, EVENT_LIST)
  if not at then return nil end
  local list, ids = f:numbers(at), {}
  if #list % 3 ~= 0 then f:fail('an event list of %d numbers; three belong to an event', #list) end
  local rows = {}
  for i = 1, #list / 3 do rows[i] = { list[3 * i - 2], list[3 * i - 1], list[3 * i] } end
  local name_at, comment_at = f:tag(node, KIND.comment), f:tag(node, EVENT_COMMENTS)
  if name_at then
    for item in (f:text(name_at) .. ';'):gmatch '(.-);' do
      local name, id = item:match '^(.*):(%-?%d+)$'
      if name then ids[name] = tonumber(id) end
    end
  elseif comment_at then
    local i = 0
    for name in f:bytes(comment_at):gmatch '([^%z]*)%z' do
      i = i + 1
      if rows[i] and name ~= '' then ids[name] = rows[i][3] end
    end
  end
  if next(ids) == nil then
    for _, r in ipairs(rows) do ids[('%.0f'):format(r[3])] = r[3] end
  end
  return #rows > 0 and create.tensor(rows, { dtype = 'i64' }) or create.zeros({ 0, 3 }, { dtype = 'i64' }), ids
end

--- Events of an event file (-eve.fif).
---@param path string
---@return any tensor i64 [n, 3]
---@return table event_id
function M.events(path)
  local f = fif.open(path)
  local rows, ids = events_in(f)
  if not rows then f:fail('it holds no events; it is another kind of FIF file') end
  f:close()
  return rows, ids
end

-- ---------------------------------------------------------------- epochs

local function decoded(f, i, what)
  local value, msg = json.decode(f:text(i))
  if value == nil then f:fail('its %s cannot be read: %s', what, msg or 'no JSON') end
  return value
end

local function drop_log_of(f, node)
  local at = f:tag(node, DROP_LOG)
  if not at then return nil end
  local out = {}
  for i, reasons in ipairs(decoded(f, at, 'drop log')) do
    if type(reasons) ~= 'table' then f:fail('its drop log is no list of lists; the file is damaged') end
    out[i] = {}
    for k, r in ipairs(reasons) do out[i][k] = tostring(r) end
  end
  return out
end

--- The objects of a JSON list, each as its own text: what is known of each epoch beside.
local function records_of(f, s)
  local out, depth, from, at = {}, 0, nil, 1
  while true do
    at = s:find('["{}]', at)
    if not at then break end
    local c = s:sub(at, at)
    if c == '"' then
      repeat
        at = s:find('["\\]', at + 1) or f:fail('its metadata end inside a text; the file is damaged')
        local escaped = s:sub(at, at) == '\\'
        if escaped then at = at + 1 end
      until not escaped
    elseif c == '{' then
      if depth == 0 then from = at end
      depth = depth + 1
    else
      depth = depth - 1
      if depth < 0 then f:fail('its metadata are no JSON list; the file is damaged') end
      if depth == 0 then out[#out + 1] = s:sub(from, at) end
    end
    at = at + 1
  end
  return out
end

--- One file of epochs: what it holds and where.
local function part_of(f, head)
  local node = f:find(BLOCK.epochs, head.meas)[1]
  if not node then f:fail('it holds no epochs') end
  local p = { file = f, tag = f:tag(node, EPOCH) }
  local first_at, last_at = f:tag(node, KIND.first_sample), f:tag(node, KIND.last_sample)
  if not (p.tag and first_at and last_at) then
    f:fail('its epochs are without samples or times; the file is damaged')
  end
  p.first, p.samples = f:number(first_at), f:number(last_at) - f:number(first_at) + 1
  p.events, p.event_id = events_in(f)
  if not p.events then p.events, p.event_id = create.zeros({ 0, 3 }, { dtype = 'i64' }), {} end
  p.count = p.events.shape[1]
  local kind, numbers = f:type(p.tag), 1
  if kind % 2 ^ 30 ~= 4 and kind % 2 ^ 30 ~= 5 then
    f:fail('its epochs are of data type %.0f; f32 and f64 are known', kind % 2 ^ 30)
  end
  for _, s in ipairs(f:shape(p.tag)) do numbers = numbers * s end
  if p.samples < 1 or numbers ~= p.count * #head.channels * p.samples then
    f:fail('%.0f numbers for %d epochs of %d channels and %.0f samples; the file is damaged', numbers, p.count,
      #head.channels, p.samples)
  end
  if p.count == 0 and p.samples * #head.channels > EMPTY then
    f:fail('epochs of %.0f samples, and none of them; the file is damaged', p.samples)
  end
  local selection, low, high = f:tag(node, SELECTION), f:tag(node, BASELINE_MIN), f:tag(node, BASELINE_MAX)
  if selection then
    p.selection = f:numbers(selection)
    for i, s in ipairs(p.selection) do p.selection[i] = s + 1 end
  end
  if low and high then p.baseline = { f:number(low), f:number(high) } end
  p.drop_log = drop_log_of(f, node)
  local rate, reject = f:tag(node, RAW_RATE), f:tag(node, REJECT)
  p.raw_fs, p.reject = rate and f:number(rate), reject and f:text(reject)
  local meta = f:find(METADATA_BLOCK)[1]
  local meta_at = meta and f:tag(meta, KIND.comment)
  p.metadata = meta_at and records_of(f, f:text(meta_at))
  return p
end

--- The drop log of several parts: each knows of its own epochs only.
local function joined_log(parts)
  local out
  for _, p in ipairs(parts) do
    if not p.drop_log then return nil end
    out = out or p.drop_log
    for i, reasons in ipairs(p.drop_log) do
      if out[i] and #out[i] == 1 and out[i][1] == 'IGNORED' and not (#reasons == 1 and reasons[1] == 'IGNORED') then
        out[i] = reasons
      end
    end
  end
  return out
end

local function open_epochs(files, head)
  local parts, total, event_rows, ids, selection, metadata = {}, 0, {}, {}, {}, {}
  for k, f in ipairs(files) do
    local p = part_of(f, k == 1 and head or fif_info.read(f))
    if k > 1 and (p.samples ~= parts[1].samples or p.first ~= parts[1].first) then
      f:fail('its epochs have other times than the part before; the parts do not belong together')
    end
    p.at, total = total, total + p.count
    parts[k] = p
    if metadata and p.metadata and #p.metadata == p.count then
      for _, m in ipairs(p.metadata) do metadata[#metadata + 1] = m end
    else metadata = nil end
    if p.count > 0 then event_rows[#event_rows + 1] = p.events end
    for name, id in pairs(p.event_id) do ids[name] = id end
    if not p.selection or #p.selection ~= p.count then selection = nil end
    for _, s in ipairs(selection and p.selection or {}) do selection[#selection + 1] = s end
  end
  local one, n = parts[1], #head.channels
  head.info.raw_fs, head.info.reject = one.raw_fs, one.reject
  head.info.fif.annotations = fif_info.block(files[1], BLOCK.annotations)
  local samples, cals, warnings = one.samples, head.cals, { unpack(head.warnings) }
  warnings[#warnings + 1] = fif_info.idle(head.info.projs, 'they are applied where the epochs are read, as in MNE')
  return epochs.over('meeg.open', {
    path = files[1].path, fs = head.fs, tmin = one.first / head.fs, samples = samples, channels = head.channels,
    bads = head.bads, baseline = one.baseline,
    events = #event_rows > 0 and require 'mascon.core.op'.functions.concat(event_rows) or one.events,
    event_id = ids, selection = selection,
    drop_log = selection and joined_log(parts), metadata = metadata, info = head.info,
    warnings = warnings,
  }, {
    count = total, dtype = 'f64', read = function(rows, picks)
      local out = tensor.empty('epochs.read', { #rows, #picks, samples }, 'f64', 3)
      local k = 1
      for j, row in ipairs(rows) do
        while row <= parts[k].at do k = k - 1 end
        while row > parts[k].at + parts[k].count do k = k + 1 end
        local p = parts[k]
        p.file:samples(p.tag, (row - 1 - p.at) * n * samples, samples, 1, picks, 0, samples, cals, out,
          (j - 1) * #picks * samples, samples)
      end
      return out
    end,
  })
end

--- Opens a FIF file, alone or the first of a split recording, as what it holds: a Raw or an Epochs object.
---@param path string
---@return table
function M.open(path)
  local parts = parts_of(path)
  local head = fif_info.read(parts[1])
  if #parts[1]:find(BLOCK.epochs, head.meas) > 0 then return open_epochs(parts, head) end
  return open_raw(parts, head)
end

return M
