-- eeglab.lua - EEGLAB data sets (.set, with or without .fdt) as Raw or Epochs objects.
--
-- Holds the fields of EEGLAB's structure: where the samples lie, channels and their axes, events, epochs. The container
-- is mascon.io.mat. Source: EEGLAB's description of the fields of EEG (eeg_checkset, pop_loadset), 2023.
local mat = require 'mascon.io.mat'
local check = require 'mascon.core.check'
local create = require 'mascon.array.create'
local file_ = require 'mascon.base.file'
local samples = require 'mascon.io.samples'
local tensor = require 'mascon.core.tensor'
local channels = require 'mascon.meeg.channels'
local epochs = require 'mascon.meeg.epochs'
local raw = require 'mascon.meeg.raw'
local error = check.error
local M = {}

local MICROVOLT = 1e-6

local function fail(path, fmt, ...) error(('meeg.open: %s: ' .. fmt):format(path, ...), 4) end

--- A field of the structure, which is a variable EEG or is spread over the variables of the file.
local function fields_of(f)
  if f.variables.ALLEEG and not f.variables.EEG then
    fail(f.path, 'it holds several data sets (ALLEEG); save each by itself')
  end
  local eeg = f.variables.EEG
  if eeg then
    local inner = f:get(eeg, 'EEG')
    eeg = inner and f:array(inner).kind == 'struct' and inner or eeg
    return function(name) return f:get(eeg, name) end
  end
  return function(name) return f.variables[name] end
end

local function whole(f, get, name, least, default)
  local v = f:number(get(name))
  if v == nil then v = default end
  if not v or v ~= math.floor(v) or v < least or v > 2 ^ 40 then
    fail(f.path, 'EEG.%s is %s; it must be a whole number from %d', name, tostring(v), least)
  end
  return v
end

-- ---------------------------------------------------------------- channels

--- EEGLAB's axes, by where the nose points, as { to the right, to the front, up }.
local AXES = {
  ['+x'] = function(x, y, z) return -y, x, z end, ['-x'] = function(x, y, z) return y, -x, z end,
  ['+y'] = function(x, y, z) return x, y, z end, ['-y'] = function(x, y, z) return -x, -y, z end,
}

local function place_of(f, list, k, turn)
  local x, y, z = f:number(f:get(list, 'X', k)), f:number(f:get(list, 'Y', k)), f:number(f:get(list, 'Z', k))
  if not (x and y and z) or x ~= x or y ~= y or z ~= z then return nil end
  local a, b, c = turn(x, y, z)
  return { a, b, c }
end

--- Factor to metres, from the mean distance of the sensors: positions come in any of metres to millimetres.
local function metres(places)
  local sum, n = 0, 0
  for _, p in pairs(places) do
    sum, n = sum + math.sqrt(p[1] ^ 2 + p[2] ^ 2 + p[3] ^ 2), n + 1
  end
  local radius = n > 0 and sum / n or 0
  return radius < 0.25 and 1 or radius < 2.5 and 0.1 or radius < 25 and 0.01 or 0.001
end

local FIDUCIALS = { nasion = 2, nz = 2, ['left periauricular point'] = 1, lpa = 1,
  ['right periauricular point'] = 3, rpa = 3 }

local function channels_of(f, get, n)
  local locs, list, places = get 'chanlocs', {}, {}
  local count = locs and f:array(locs).kind == 'struct' and f:array(locs).numel or 0
  if count ~= 0 and count < n then
    fail(f.path, 'EEG.chanlocs tells of %d channels, EEG.nbchan is %d; one of the two is wrong', count, n)
  end
  local info = get 'chaninfo'
  local turn = AXES[(f:text(info and f:get(info, 'nosedir')) or '+x'):lower()] or AXES['+x']
  for k = 1, n do
    local name = count > 0 and f:text(f:get(locs, 'labels', k)) or ''
    if name == '' then name = ('EEG %03d'):format(k - 1) end
    local type_ = count > 0 and (f:text(f:get(locs, 'type', k)) or ''):lower():gsub('%s', '') or ''
    list[k] = { name = name, type = channels.UNITS[type_] and type_ or channels.guess(name, 'eeg') }
    if count > 0 then places[k] = place_of(f, locs, k, turn) end
  end
  local factor, dig = metres(places), {}
  for k, p in pairs(places) do list[k].position = { p[1] * factor, p[2] * factor, p[3] * factor } end
  local others = info and f:get(info, 'nodatchans')
  for k = 1, others and f:array(others).kind == 'struct' and f:array(others).numel or 0 do
    local p = place_of(f, others, k, turn)
    local ident = FIDUCIALS[(f:text(f:get(others, 'description', k)) or ''):lower()]
      or FIDUCIALS[(f:text(f:get(others, 'labels', k)) or ''):lower()]
    if p and ident then
      dig[#dig + 1] = { kind = 1, ident = ident, position = { p[1] * factor, p[2] * factor, p[3] * factor } }
    end
  end
  for _, c in ipairs(list) do
    if c.position and #dig > 0 then dig[#dig + 1] = { kind = 3, ident = #dig, position = c.position } end
  end
  local said = channels.distinct(list)
  return channels.check('meeg.open', list), #dig > 0 and dig or nil, said
end

-- ---------------------------------------------------------------- events

local function word_of(f, i)
  if not i then return '' end
  local s = f:text(i)
  if s then return s end
  local v = f:number(i)
  return v and ('%.15g'):format(v) or ''
end

--- Events { latency (samples from 1), duration (samples), text }.
local function events_of(f, get)
  local list, out = get 'event', {}
  for k = 1, list and f:array(list).kind == 'struct' and f:array(list).numel or 0 do
    local latency, duration = f:number(f:get(list, 'latency', k)), f:number(f:get(list, 'duration', k))
    if latency and latency == latency then
      out[#out + 1] = { latency = latency, duration = duration and duration == duration and duration > 0 and duration
          or 0, text = word_of(f, f:get(list, 'type', k)) }
    end
  end
  return out
end

-- ---------------------------------------------------------------- samples

--- fetch(base, picks, first, count): samples in volts from number `base` on, channels side by side.
local function reader_of(f, get, path, n, total)
  local data = get 'data'
  local name = f:text(data)
  -- a variable of its own beside the structure
  if name and name:lower():match '%.set$' then data, name = f.variables.data, nil end
  if not data then fail(path, 'EEG.data is missing; the file is damaged') end
  if not name then
    local a = f:array(data)
    if a.kind ~= 'number' or not a.readable then fail(path, 'EEG.data holds no numbers; the file is damaged') end
    if a.numel ~= n * total then
      fail(path, 'EEG.data holds %.0f numbers, %d channels of %.0f samples need %.0f; the file is damaged', a.numel,
        n, total, n * total)
    end
    return function(picks, first, count) return f:samples(data, 0, 1, n, picks, first, count, MICROVOLT) end,
      function() f:close() end
  end
  if name:lower():match '%.dat$' then
    fail(path, 'its samples are in the old form .dat; load it into EEGLAB and save it again')
  end
  local folder, found = path:match '^(.*/)[^/]*$' or '', nil
  for _, p in ipairs { folder .. name:match '[^/\\]*$', (path:gsub('%.[^.]*$', '.fdt')) } do
    if not found and file_.exists(p) then found = p end
  end
  if not found then fail(path, 'its samples, %s, are not there; put the file beside it', name) end
  local file, grid, scale = samples.open(found), { type = 'f32', base = 0, channel_step = 4, sample_step = 4 * n }, {}
  if file.size < 4 * n * total then
    fail(found, 'it is too short: %d channels of %.0f samples need %.0f bytes, it has %.0f', n, total,
      4 * n * total, file.size)
  end
  for i = 1, n do scale[i] = MICROVOLT end
  return function(picks, first, count) return file:read(grid, picks, first, count, scale) end, function()
    file:close()
    f:close()
  end
end

-- ---------------------------------------------------------------- opening

--- What happens in each epoch: { text, sample } of its events, or nil when the file does not tell.
local function epoch_events(f, get, trials, events)
  local list = get 'epoch'
  if not list or f:array(list).kind ~= 'struct' or f:array(list).numel ~= trials or #events == 0 then return nil end
  local out, at = {}, 1
  for k = 1, trials do
    local i, words = f:get(list, 'eventtype', k), {}
    if i and f:array(i).kind == 'cell' then
      for j = 1, f:array(i).children do words[j] = word_of(f, f:child(i, j)) end
    elseif i then words[1] = word_of(f, i) end
    out[k] = { text = #words > 0 and table.concat(words, '/') or 'unknown',
      sample = events[at] and math.floor(events[at].latency - 1) or k - 1 }
    at = at + #words
  end
  return out
end

local function open_epochs(path, fetch, p)
  local rows, ids, n = {}, {}, 0
  local described = p.described
  for k = 1, p.trials do
    local d = described and described[k] or { text = 'unknown', sample = k - 1 }
    if not ids[d.text] then
      n = n + 1
      ids[d.text] = n
    end
    rows[k] = { d.sample, 0, ids[d.text] }
  end
  local T = p.samples
  return epochs.over('meeg.open', {
    path = path, fs = p.fs, tmin = p.tmin, samples = T, channels = p.channels,
    events = create.tensor(rows, { dtype = 'i64' }), event_id = ids, info = { dig = p.dig },
  }, {
    count = p.trials, dtype = 'f64', read = function(which, picks)
      local out = tensor.empty('epochs.read', { #which, #picks, T }, 'f64', 3)
      for j, row in ipairs(which) do out[j] = fetch(picks, (row - 1) * T, T) end
      return out
    end,
  })
end

--- Opens a .set file: one trial as a Raw, several as an Epochs object. Samples are taken as microvolts, as EEGLAB keeps
--- them.
---@param path string
---@return table
function M.open(path)
  local f = mat.open(path)
  local get = fields_of(f)
  if not get 'nbchan' or not get 'srate' then
    fail(path, 'it holds no EEG structure; it is another kind of MAT-file')
  end
  local n, trials, T, fs = whole(f, get, 'nbchan', 1), whole(f, get, 'trials', 1, 1), whole(f, get, 'pnts', 1),
    f:number(get 'srate')
  if not (fs and fs > 0 and fs < math.huge) then
    fail(path, 'EEG.srate is %s; it must be a positive number', tostring(fs))
  end
  local list, dig, said = channels_of(f, get, n)
  local events = events_of(f, get)
  local fetch, close = reader_of(f, get, path, n, T * trials)
  if trials > 1 then
    local tmin = f:number(get 'xmin') or 0
    return open_epochs(path, fetch, { trials = trials, samples = T, fs = fs, tmin = tmin, channels = list, dig = dig,
      described = epoch_events(f, get, trials, events) })
  end
  local annotations, warnings, boundary = {}, { said }, nil
  for i, e in ipairs(events) do
    annotations[i] = { onset = (e.latency - 1) / fs, duration = e.duration / fs, text = e.text }
    if e.text == 'boundary' then
      boundary = 'the recording has boundary events: samples before and after them are not continuous'
    end
  end
  warnings[#warnings + 1] = boundary
  return raw.over({
    path = path, format = 'EEGLAB', fs = fs, samples = T, channels = list, annotations = annotations,
    info = { dig = dig }, warnings = warnings,
  }, fetch, close)
end

return M
