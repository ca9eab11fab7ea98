-- edf.lua - EDF and BDF recordings as Raw objects.
--
-- Makes the choice of channels when a file mixes sampling rates (those of the commonest rate, or of option fs), the
-- units, and the way from a clock with gaps to one without: what EDF+D files leave out becomes a junction marked by an
-- annotation 'BAD boundary'. The format itself is mascon.io.edf.
local edf = require 'mascon.io.edf'
local op = require 'mascon.core.op'
local channels = require 'mascon.meeg.channels'
local raw = require 'mascon.meeg.raw'
local M = {}

-- bits of a BDF status channel that are triggers (16) or the start of an epoch; the others tell of the amplifier
local TRIGGERS = 131071

--- The rate that most channels have; of equals the highest.
local function commonest(rates)
  local best
  for _, g in ipairs(rates) do
    if not best or #g.channels > #best.channels or #g.channels == #best.channels and g.fs > best.fs then best = g end
  end
  return best
end

--- Seconds of the recording's clock as seconds after the first stored sample.
local function stored(segments, record_seconds, t)
  local out = 0
  for _, s in ipairs(segments) do
    if t < s.from then break end
    out = s.first * record_seconds + math.min(t, s.to) - s.from
  end
  return out
end

local function annotations_of(rec)
  local out = {}
  for _, a in ipairs(rec.annotations) do
    local onset = stored(rec.segments, rec.record_seconds, a.onset)
    local stop = stored(rec.segments, rec.record_seconds, a.onset + (a.duration or 0))
    out[#out + 1] = { onset = onset, duration = stop - onset, text = a.text }
  end
  for i = 2, #rec.segments do
    out[#out + 1] = { onset = rec.segments[i].first * rec.record_seconds, duration = 0, text = 'BAD boundary' }
  end
  table.sort(out, function(a, b)
    if a.onset ~= b.onset then return a.onset < b.onset end
    return a.text < b.text
  end)
  return out
end

local function date_of(start)
  if not start then return nil end
  return ('%04d-%02d-%02dT%02d:%02d:%02d'):format(start.year, start.month, start.day, start.hour, start.min, start.sec)
end

--- The group of channels of a rate that was asked for.
local function of_rate(path, rates, fs)
  local known = {}
  for i, g in ipairs(rates) do
    if math.abs(g.fs - fs) <= 1e-9 * fs then return g end
    known[i] = ('%.6g'):format(g.fs)
  end
  require('mascon.core.check').error(
    ('meeg.open: %s has no channel of %.6g Hz; option fs chooses among its rates: %s Hz'):format(path, fs,
      table.concat(known, ', ')), 4)
end

--- Opens an EDF or BDF file as a Raw object. Labels tell the types (EOG, ECG, EMG, Status, ... ), the rest is EEG.
---@param path string
---@param o? table fs Hz: which channels of a file with several rates (those of the commonest)
---@return table raw
function M.open(path, o)
  local rec = edf.open(path)
  local fs = o and o.fs
  local group, warnings = fs and of_rate(path, rec.rates, fs) or commonest(rec.rates), {}
  for i, w in ipairs(rec.warnings) do warnings[i] = w end
  if not group then
    require('mascon.core.check').error(('meeg.open: %s holds no signals, only annotations'):format(path), 3)
  end
  local left, list, scale = {}, {}, {}
  for _, g in ipairs(rec.rates) do
    if g ~= group then
      for _, i in ipairs(g.channels) do left[#left + 1] = ('%s (%.6g Hz)'):format(rec.labels[i], g.fs) end
    end
  end
  if #left > 0 then
    warnings[#warnings + 1] =
      ('channels of another sampling rate than %.6g Hz are left out: %s; option fs chooses another rate')
      :format(group.fs, table.concat(left, ', '))
  end
  for k, i in ipairs(group.channels) do
    local c, name = rec.channels[i], rec.labels[i]
    if name == '' then name = ('channel %d'):format(i) end
    local type_ = channels.guess(name, 'eeg')
    local factor, unit = channels.unit(c.unit)
    if type_ == 'stim' then factor, unit = 1, 'V' end
    if not factor and c.unit ~= '' then
      warnings[#warnings + 1] =
        ('channel %s has the unit %q, which is not known; its numbers are left as they are'):format(name, c.unit)
    end
    list[k] = { name = name, type = type_, unit = unit or (c.unit ~= '' and c.unit or nil), file_unit = c.unit }
    scale[k] = factor or 1
  end
  warnings[#warnings + 1] = channels.distinct(list)
  channels.check('meeg.open', list)
  return raw.over({
    path = path, format = rec.format, fs = group.fs, samples = rec.channels[group.channels[1]].samples, channels = list,
    annotations = annotations_of(rec), warnings = warnings,
    info = { meas_date = date_of(rawget(rec, 'start')) },
  }, function(picks, first, count)
    local which = {}
    for k, i in ipairs(picks) do which[k] = group.channels[i] end
    local x = raw.scaled(rec:read { channels = which, first = first + 1, last = first + count }, picks, scale)
    for k, i in ipairs(picks) do
      if list[i].type == 'stim' and rec.format:find '^BDF' then
        x[k] = op.functions.bitwise_and(rec:read { channels = group.channels[i], first = first + 1,
          last = first + count, dtype = 'i32' }[1], TRIGGERS):to { dtype = 'f64' }
      end
    end
    return x
  end, function() rec:close() end)
end

return M
