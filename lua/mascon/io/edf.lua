-- edf.lua - EDF, EDF+, BDF and BDF+ recordings: what they hold, and slices of it as tensors in physical units.
--
-- Holds the recording object: channels, sampling rates, annotations, gaps, and the way from seconds to samples. Samples
-- stay in the file until asked for; libmascon decodes them. Times are seconds after the start given in the header, the
-- clock of the annotations; spans are half open, [from, to), so that neighbouring reads meet without a sample lost or
-- doubled. Sample positions are 1-based and count what is stored. Binding module: touches the FFI for the handle and
-- its arrays.
local ffi = require 'ffi'
local bit = require 'bit'
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local error = check.error
local C = lib.C
local floor, max, min = math.floor, math.max, math.min
local M = {}

local info_t, times_t, numbers_t = ffi.typeof 'int64_t[16]', ffi.typeof 'double[4]', ffi.typeof 'double[7]'
local int_list, int64_list, double_list = ffi.typeof 'int[?]', ffi.typeof 'int64_t[?]', ffi.typeof 'double[?]'

-- a read is handed to C in pieces of about this many bytes, so that Ctrl-C is heard in between
local PIECE = 64 * 2 ^ 20
-- bytes of one block of :blocks when no size is asked for
local BLOCK = 8 * 2 ^ 20

local function round(x) return floor(x + 0.5) end

local function seconds(v) return ('%.6g s'):format(v) end

-- ---------------------------------------------------------------- opening

local Recording = {}

local KIND = { [0] = '', '+C', '+D' }
local WARNINGS = {
  'the file ends early: fewer whole records than its header promises, a piece of one is left out',
  'the recording was not finished: the header does not say how many records there are, they were counted from the '
    .. 'size of the file',
  'bytes follow the last record and are left out',
  'a channel has no usable physical or digital range and delivers the stored numbers',
  'the start date or time cannot be read',
  'text that is not UTF-8 was taken as Latin-1',
  'an annotation list is malformed and its rest was left out',
  'a record without its onset was taken to follow the one before',
}

local start_meta = {
  __tostring = function(s)
    return ('%04d-%02d-%02dT%02d:%02d:%02d'):format(s.year, s.month, s.day, s.hour, s.min, s.sec)
  end,
}

local function text(p) return p ~= nil and ffi.string(p) or '' end

local function channel(f, i)
  local numbers = numbers_t()
  lib.check(C.mc_edf_channel(f, i, numbers), 5)
  return {
    index = i + 1, label = text(C.mc_edf_channel_text(f, i, 0)), transducer = text(C.mc_edf_channel_text(f, i, 1)),
    unit = text(C.mc_edf_channel_text(f, i, 2)), prefilter = text(C.mc_edf_channel_text(f, i, 3)),
    fs = numbers[0], physical = { min = numbers[1], max = numbers[2] },
    digital = { min = numbers[3], max = numbers[4] }, per_record = numbers[5], samples = numbers[6],
  }
end

--- Channels by sampling rate, in the order of their first appearance.
local function rates_of(channels)
  local list, at = {}, {}
  for i, c in ipairs(channels) do
    local k = at[c.per_record]
    if not k then
      k = #list + 1
      at[c.per_record], list[k] = k, { fs = c.fs, channels = {} }
    end
    table.insert(list[k].channels, i)
  end
  return list
end

--- Opens a recording; only its header is read.
--
-- Fields: path, format ('EDF', 'EDF+C', 'BDF+D', ...), channels (list of { index, label, unit, fs, samples, transducer,
-- prefilter, physical = { min, max }, digital = { min, max } }), labels, fs (Hz, when all channels share it, else nil),
-- rates (list of { fs, channels }), duration (s, of what is stored), records, start ({ year, month, day, hour, min,
-- sec }, nil when not readable), patient, recording. Read from the file when first asked for: annotations (list of
-- { onset, duration or nil, text }, s), gaps (list of { from, to }, s, in which nothing was recorded), segments (list
-- of { from, to, first record, records }), warnings (list of sentences).
-- Owns the file until :close() or collection.
---@param path string
---@return table recording
function M.open(path)
  local f = C.mc_edf_open(path)
  if f == nil then lib.raise(3) end
  f = ffi.gc(f, C.mc_edf_free)
  local info, times = info_t(), times_t()
  lib.check(C.mc_edf_info(f, info), 3)
  lib.check(C.mc_edf_times(f, times), 3)
  local kind, sample_bytes, count = tonumber(info[0]), tonumber(info[1]), tonumber(info[2])
  local r = {
    _f = f, path = path, format = (sample_bytes == 3 and 'BDF' or 'EDF') .. KIND[kind], records = tonumber(info[4]),
    record_seconds = times[0], duration = times[2], patient = text(C.mc_edf_text(f, 0)),
    recording = text(C.mc_edf_text(f, 1)), channels = {}, labels = {},
  }
  if info[10] ~= 0 then
    r.start = setmetatable({
      year = tonumber(info[10]), month = tonumber(info[11]), day = tonumber(info[12]), hour = tonumber(info[13]),
      min = tonumber(info[14]), sec = tonumber(info[15]),
    }, start_meta)
  end
  for i = 1, count do
    r.channels[i] = channel(f, i - 1)
    r.labels[i] = r.channels[i].label
  end
  r.rates = rates_of(r.channels)
  if #r.rates == 1 then r.fs = r.rates[1].fs end
  return setmetatable(r, Recording)
end

--- The handle, or an error when the recording was closed.
local function handle(r, fname)
  local f = rawget(r, '_f')
  if not f then error(('%s: %s was closed; open it again'):format(fname, r.path), 3) end
  return f
end

--- Annotations, gaps, segments and warnings: one pass over the annotation lists.
local function scan(r)
  local f = handle(r, 'edf')
  lib.check(C.mc_edf_scan(f), 4)
  local info, times, numbers = info_t(), times_t(), numbers_t()
  lib.check(C.mc_edf_info(f, info), 4)
  lib.check(C.mc_edf_times(f, times), 4)
  local bits, notes, n = tonumber(info[7]), tonumber(info[8]), tonumber(info[9])
  local begin, record_seconds = times[1], times[0]
  local annotations, gaps, segments, warnings = {}, {}, {}, {}
  for i = 0, notes - 1 do
    lib.check(C.mc_edf_annotation(f, i, numbers), 4)
    local duration = numbers[1]
    annotations[i + 1] = { onset = numbers[0], duration = duration == duration and duration or nil,
      text = text(C.mc_edf_annotation_text(f, i)) }
  end
  local at, jump = int64_list(max(n, 1)), double_list(max(2 * n, 1))
  if n > 0 then lib.check(C.mc_edf_gaps(f, at, jump), 4) end
  local first = 0
  for i = 0, n do
    local last = i < n and tonumber(at[i]) or r.records
    segments[i + 1] = { from = begin, to = begin + (last - first) * record_seconds, first = first,
      records = last - first }
    if i < n then
      gaps[i + 1] = { from = jump[2 * i], to = jump[2 * i + 1] }
      first, begin = last, jump[2 * i + 1]
    end
  end
  for i, sentence in ipairs(WARNINGS) do
    if bit.band(bits, bit.lshift(1, i - 1)) ~= 0 then warnings[#warnings + 1] = sentence end
  end
  rawset(r, 'annotations', annotations)
  rawset(r, 'gaps', gaps)
  rawset(r, 'segments', segments)
  rawset(r, 'warnings', warnings)
end

local methods = {}
local SCANNED = { annotations = true, gaps = true, segments = true, warnings = true }
local FIELDS = {
  'path', 'format', 'channels', 'labels', 'fs', 'rates', 'duration', 'records', 'record_seconds', 'start', 'patient',
  'recording', 'annotations',
  'gaps', 'segments', 'warnings', 'read', 'blocks', 'epochs', 'events', 'triggers', 'select', 'close',
}

function Recording.__index(r, k)
  if methods[k] then return methods[k] end
  if SCANNED[k] then
    scan(r)
    return rawget(r, k)
  end
  if k == 'fs' or k == 'start' or type(k) ~= 'string' or k:sub(1, 1) == '_' then return nil end
  local near = check.nearest(k, FIELDS)
  error(('edf: a recording has no field %q%s'):format(k, near and ('; did you mean %q?'):format(near) or ''), 2)
end

function Recording.__tostring(r)
  local rates = {}
  for i, g in ipairs(r.rates) do rates[i] = ('%d at %.6g Hz'):format(#g.channels, g.fs) end
  return ('%s %s: %d channels%s, %s%s'):format(r.format, r.path, #r.channels,
    #rates > 0 and ' (' .. table.concat(rates, ', ') .. ')' or '',
    seconds(r.duration), rawget(r, 'start') and ', start ' .. tostring(r.start) or '')
end

--- Gives the file back now. What the object knows by then stays readable.
function methods.close(r)
  local f = rawget(r, '_f')
  if f then
    C.mc_edf_free(ffi.gc(f, nil))
    r._f = nil
  end
end

-- ---------------------------------------------------------------- channels

--- A word with * (any text) and ? (one character) as a Lua pattern, without regard to case.
local function glob(s)
  return '^'
    .. s:lower():gsub('[%^%$%(%)%%%.%[%]%+%-]', '%%%0'):gsub('%*', '.*'):gsub('%?', '[^\128-\191][\128-\191]*') .. '$'
end

local function unknown(r, fname, name)
  local holding = {}
  for _, label in ipairs(r.labels) do
    if name ~= '' and label:lower():find(name:lower(), 1, true) then holding[#holding + 1] = label end
  end
  local near = holding[1] or check.nearest(name, r.labels)
  local list = table.concat(r.labels, ', ', 1, min(#r.labels, 12)) .. (#r.labels > 12 and ', ...' or '')
  error(('%s: no channel %q in %s%s; it has %s'):format(fname, name, r.path,
    near and (' (did you mean %q?)'):format(near) or '', list), 3)
end

--- Positions of a label: all that are equal, else all equal without regard to case.
local function by_label(r, name)
  local same, fold = {}, {}
  for i, label in ipairs(r.labels) do
    if label == name then same[#same + 1] = i end
    if label:lower() == name:lower() then fold[#fold + 1] = i end
  end
  return #same > 0 and same or fold
end

local function same_rate(a, b) return math.abs(a - b) <= 1e-6 * math.abs(b) end

local function add_named(r, fname, name, fs, out, seen)
  local hits = by_label(r, name)
  local pattern = #hits == 0 and name:find '[%*%?]'
  if pattern then
    local p = glob(name)
    for i, label in ipairs(r.labels) do
      if label:lower():match(p) then hits[#hits + 1] = i end
    end
  end
  if #hits == 0 then unknown(r, fname, name) end
  if fs and #hits > 1 then
    local kept = {}
    for _, i in ipairs(hits) do
      if same_rate(r.channels[i].fs, fs) then kept[#kept + 1] = i end
    end
    hits = kept
  end
  if not pattern and #hits > 1 then
    error(('%s: label %q stands for channels %s of %s; give the number of the one you mean'):format(fname, name,
      table.concat(hits, ', '), r.path), 3)
  end
  for _, i in ipairs(hits) do
    if not (pattern and seen[i]) then
      seen[i] = true
      out[#out + 1] = i
    end
  end
end

--- The channels a caller names, as positions; all of them for nil. A pattern adds those that are not chosen yet.
local function resolve(r, fname, wanted, fs)
  local out, seen, n = {}, {}, #r.channels
  if wanted == nil then
    for i = 1, n do
      if not fs or same_rate(r.channels[i].fs, fs) then out[#out + 1] = i end
    end
  else
    if type(wanted) ~= 'table' then wanted = { wanted } end
    for _, w in ipairs(wanted) do
      if type(w) == 'number' then
        if w ~= floor(w) or w == 0 or w > n or w < -n then
          error(('%s: channel %s is outside %s, which has %d; channels count from 1, or -1 backwards'):format(fname,
            tostring(w), r.path, n), 3)
        end
        out[#out + 1] = w > 0 and w or n + 1 + w
        seen[out[#out]] = true
      elseif type(w) == 'string' then
        add_named(r, fname, w, fs, out, seen)
      else
        error(('%s: a channel is %s; give names, patterns such as "EEG*", or numbers'):format(fname, check.show(w)), 3)
      end
    end
  end
  if #out == 0 and n > 0 then
    if fs then
      local list = {}
      for i, g in ipairs(r.rates) do list[i] = ('%.6g Hz'):format(g.fs) end
      error(('%s: none of these channels has %.6g Hz; %s holds %s'):format(fname, fs, r.path, table.concat(list, ', ')),
        3)
    end
    error(fname .. ': no channel is chosen; name one or leave channels out for all', 3)
  end
  return out
end

--- The channels of a read: positions, and an error that names the rates when there are several.
local function chosen(r, fname, o)
  local list = resolve(r, fname, o.channels, o.fs)
  if #list == 0 then
    error(('%s: %s holds no signals, only annotations; see its field annotations'):format(fname, r.path), 3)
  end
  local groups, at = {}, {}
  for _, i in ipairs(list) do
    local c = r.channels[i]
    if not at[c.per_record] then
      groups[#groups + 1] = { fs = c.fs }
      at[c.per_record] = groups[#groups]
    end
    table.insert(at[c.per_record], i)
  end
  if #groups > 1 then
    local parts = {}
    for k, g in ipairs(groups) do
      parts[k] =
        ('%.6g Hz (channels %s)'):format(g.fs, table.concat(g, ', ', 1, min(#g, 8)) .. (#g > 8 and ', ...' or ''))
    end
    error(('%s: the channels of %s have %d sampling rates, %s; read one at a time, as with fs = %.6g'):format(
      fname, r.path, #groups, table.concat(parts, ' and '), groups[1].fs), 3)
  end
  local first = r.channels[list[1]]
  local c = { n = #list, fs = first.fs, per_record = first.per_record, samples = first.samples,
    index = int_list(#list) }
  for k, i in ipairs(list) do c.index[k - 1] = i - 1 end
  return c
end

--- Positions of the channels that names, patterns and numbers stand for; all for nil.
---@param channels string|number|table|nil
---@return integer[]
function methods.select(r, channels)
  local list = resolve(r, 'edf.select', channels)
  return list
end

-- ---------------------------------------------------------------- from seconds to samples

--- What the caller asked for as runs of stored samples { first (0-based), count, time, at (place in a gapless
--- result) }; `whole` is false when part of the span was not recorded.
local function runs_of(r, fname, o, c)
  if (o.from or o.to) and (o.first or o.last) then
    error(fname .. ': both seconds (from, to) and samples (first, last) are given; give one kind', 3)
  end
  local runs, fs = {}, c.fs
  if o.first or o.last then
    local a, b = o.first or 1, o.last or -1
    local lo, hi = a < 0 and a + c.samples or a - 1, b < 0 and b + c.samples or b - 1
    if a == 0 or b == 0 or lo < 0 or hi >= c.samples or hi < lo - 1 then
      error(('%s: samples %d to %d are not in %s, which has %.0f; they count from 1, or -1 backwards'):format(fname, a,
        b, r.path, c.samples), 3)
    end
    for _, s in ipairs(r.segments) do
      local begin, n = s.first * c.per_record, s.records * c.per_record
      local p, q = max(lo, begin), min(hi + 1, begin + n)
      if q > p then runs[#runs + 1] = { first = p, count = q - p, time = s.from + (p - begin) / fs, at = p - lo } end
    end
    return runs, true, hi + 1 - lo
  end
  local from, to = math.huge, -math.huge
  for _, s in ipairs(r.segments) do from, to = min(from, s.from), max(to, s.to) end
  local a, b = o.from or from, o.to or to
  local slack = 0.5 / fs
  if not (a <= b and a >= from - slack and b <= to + slack) then
    error(('%s: %s to %s is not in %s, which runs from %s to %s'):format(fname, seconds(a), seconds(b), r.path,
      seconds(from), seconds(to)), 3)
  end
  local whole = false
  for _, s in ipairs(r.segments) do
    local n = s.records * c.per_record
    local p, q = round((a - s.from) * fs), round((b - s.from) * fs)
    if p >= 0 and q <= n then whole = true end
    local at = -p
    p, q = max(p, 0), min(q, n)
    if q > p then
      runs[#runs + 1] = { first = s.first * c.per_record + p, count = q - p, time = s.from + p / fs, at = at + p }
    end
  end
  return runs, whole, round((b - a) * fs), a, b
end

--- Samples [first, first + count) of the channels to `out`, rows `stride` apart, `at` elements in.
local function fetch(f, fname, c, first, count, dtype, out, at, stride)
  local size, code = tensor.size[dtype], tensor.code[dtype]
  local step = max(1, floor(PIECE / (c.n * size * c.per_record))) * c.per_record
  local base = ffi.cast('char *', out._data)
  local done = 0
  while done < count do
    local n = min(step, count - done)
    lib.check(C.mc_edf_read(f, c.index, c.n, first + done, n, code, base + (at + done) * size, stride), 4)
    done = done + n
    if done < count and C.mc_cancel_pending() ~= 0 then error(fname .. ': cancelled', 3) end
  end
end

local DTYPES = { 'f64', 'f32', 'i32' }
local SPAN = {
  channels = { nil, 'table | string | integer' }, fs = { nil, 'number > 0' }, from = { nil, 'number' },
  to = { nil, 'number' }, first = { nil, 'integer' }, last = { nil, 'integer' }, dtype = { 'f64', DTYPES },
}
local function with(more)
  local spec = {}
  for k, v in pairs(SPAN) do spec[k] = v end
  for k, v in pairs(more) do spec[k] = v end
  return spec
end

--- Options of a read; the array part of the table names channels, too.
local function options(fname, opts, spec)
  if type(opts) == 'string' or type(opts) == 'number' then opts = { channels = opts } end
  if type(opts) ~= 'table' or opts[1] == nil then return check.opts(fname, opts, spec, 4) end
  local named, list = {}, {}
  for k, v in pairs(opts) do
    if type(k) == 'number' then list[k] = v else named[k] = v end
  end
  if named.channels ~= nil then error(fname .. ': channels are given twice, as option and as list; give one', 3) end
  local o = check.opts(fname, named, spec, 4)
  o.channels = list
  return o
end

local READ = with { gaps = { 'error', { 'error', 'nan', 'join' } } }

--- Samples of some channels, [C, n] in physical units.
--
-- channels: names, patterns ("EEG*", "F?"), numbers, or a list of them, also as the array part of the table; all when
-- left out. Either from and to in seconds ([from, to), nearest samples) or first and last as stored samples (1-based,
-- inclusive, negative from the end). fs: only channels of this sampling rate, for files with several. dtype f64
-- (default) or f32, or i32 for the stored numbers. gaps: what a span over a gap of an EDF+D file becomes: 'error'
-- (default), 'nan' (filled, [from, to) on one grid) or 'join'.
-- Errors: an unknown channel, several sampling rates, a span outside the recording. Owns the result.
---@param opts? table
---@return any tensor
function methods.read(r, opts)
  local fname = 'edf.read'
  local f = handle(r, fname)
  local o = options(fname, opts, READ)
  local c = chosen(r, fname, o)
  local runs, whole, n, a, b = runs_of(r, fname, o, c)
  if not whole and o.gaps == 'error' then
    local gap = 'nothing was recorded at one of its ends'
    for _, g in ipairs(r.gaps) do
      if g.from < b and g.to > a then
        gap = ('nothing was recorded from %s to %s'):format(seconds(g.from), seconds(g.to))
        break
      end
    end
    error(('%s: %s to %s crosses a gap of %s, %s; read the parts that its field segments lists, or give gaps = "nan" '
      .. 'to fill or "join" to skip'):format(
        fname, seconds(a), seconds(b), r.path, gap), 2)
  end
  if whole or o.gaps == 'join' then
    n = 0
    for _, run in ipairs(runs) do
      run.at = n
      n = n + run.count
    end
  elseif o.dtype == 'i32' then
    error(fname .. ': i32 cannot hold the NaN that fills gaps; choose f64 or f32, or gaps = "join"', 2)
  end
  local out = tensor.empty(fname, { c.n, n }, o.dtype, 3)
  if not whole and o.gaps == 'nan' then out:fill_(0 / 0) end
  for _, run in ipairs(runs) do
    local count = min(run.count, n - run.at)
    fetch(f, fname, c, run.first, count, o.dtype, out, run.at, n)
  end
  return out
end

local BLOCKS = with { seconds = { nil, 'number > 0' }, samples = { nil, 'integer >= 1' },
  overlap = { 0, 'integer >= 0' } }

--- Iterator over the recording in pieces: for x, first, time in rec:blocks{ seconds = 10 } do ... end.
--
-- x is [C, n] as from :read, first the position of its first sample, time its second. No block spans a gap; the last of
-- each part may be short. seconds or samples: size of a block (default about 8 MiB); overlap: samples that a block
-- shares with the one before. Other options as in :read.
---@param opts? table
function methods.blocks(r, opts)
  local fname = 'edf.blocks'
  handle(r, fname)
  local o = options(fname, opts, BLOCKS)
  local c = chosen(r, fname, o)
  if o.seconds and o.samples then error(fname .. ': both seconds and samples are given; give one', 2) end
  local size = o.samples or o.seconds and max(1, round(o.seconds * c.fs))
    or o.overlap + max(1, floor(BLOCK / (c.n * tensor.size[o.dtype] * c.per_record))) * c.per_record
  if o.overlap >= size then
    error(('%s: overlap is %d samples, a block has %d; take a smaller overlap'):format(fname, o.overlap, size), 2)
  end
  local runs = runs_of(r, fname, o, c)
  local k, at = 1, 0
  return function()
    local run = runs[k]
    if not run then return nil end
    local f = handle(r, fname)
    local n = min(size, run.count - at)
    local x = tensor.empty(fname, { c.n, n }, o.dtype, 3)
    fetch(f, fname, c, run.first + at, n, o.dtype, x, 0, n)
    local first, time = run.first + at + 1, run.time + at / c.fs
    if at + n >= run.count then k, at = k + 1, 0 else at = at + n - o.overlap end
    return x, first, time
  end
end

-- ---------------------------------------------------------------- events and epochs

--- Annotations whose text matches a pattern with * and ? (all when left out), in the order of the file.
---@param pattern? string
---@return table[] annotations
function methods.events(r, pattern)
  if pattern ~= nil then check.arg('edf.events', 'pattern', pattern, 'string', 3) end
  local p, out = pattern and glob(pattern), {}
  for _, a in ipairs(r.annotations) do
    if not p or a.text:lower():match(p) then out[#out + 1] = a end
  end
  return out
end

--- Onsets in seconds from what a caller calls events.
local function onsets(r, fname, events)
  if type(events) == 'string' then
    local pattern = events
    events = r:events(pattern)
    if #events == 0 then
      error(('%s: no annotation of %s matches %q; its field annotations lists them'):format(fname, r.path, pattern), 3)
    end
  end
  if tensor.is(events) then
    if events.ndim ~= 1 then
      error(('%s: events is %s; give one axis of seconds'):format(fname, tensor.describe(events)), 3)
    end
    events = events:totable()
  end
  if type(events) ~= 'table' then
    error(('%s: events is %s; give seconds, annotations, or a pattern for their text'):format(fname,
      check.show(events)), 3)
  end
  local out = {}
  for i, e in ipairs(events) do
    local t = type(e) == 'table' and e.onset or e
    if type(t) ~= 'number' or t ~= t or t == math.huge or t == -math.huge then
      error(('%s: event %d is %s; give seconds, or tables with an onset'):format(fname, i, check.show(e)), 3)
    end
    out[i] = t
  end
  return out
end

local EPOCHS = {
  channels = SPAN.channels, fs = SPAN.fs, dtype = SPAN.dtype, events = { nil, 'table | string | tensor' },
  tmin = { nil, 'number' }, tmax = { nil, 'number' }, outside = { 'error', { 'error', 'drop' } },
}

--- Stretches around events, [S, C, T]: S events, C channels, T = round((tmax - tmin) fs) samples from onset + tmin on.
--
-- events: seconds (list or tensor), annotations, or a pattern for their text. tmin, tmax: seconds relative to the
-- event. An event whose stretch leaves the recording or crosses a gap is an error, or left out with outside = 'drop'.
-- Other options as in :read.
---@param opts table
---@return any tensor
---@return integer[] kept which events are in it
function methods.epochs(r, opts)
  local fname = 'edf.epochs'
  local f = handle(r, fname)
  local o = check.opts(fname, opts, EPOCHS, 3)
  for _, name in ipairs { 'events', 'tmin', 'tmax' } do
    if o[name] == nil then
      error(('%s: %s is missing; as in rec:epochs{ events = "stim*", tmin = -0.2, tmax = 0.8 }'):format(fname, name), 2)
    end
  end
  local c = chosen(r, fname, o)
  local n = round((o.tmax - o.tmin) * c.fs)
  if not (n >= 1) then
    error(('%s: tmin %s and tmax %s hold no sample; tmax must be later'):format(fname, seconds(o.tmin),
      seconds(o.tmax)), 2)
  end
  local list, kept, at = onsets(r, fname, o.events), {}, {}
  for i, t in ipairs(list) do
    local place
    for _, s in ipairs(r.segments) do
      local p = round((t + o.tmin - s.from) * c.fs)
      if p >= 0 and p + n <= s.records * c.per_record then place = s.first * c.per_record + p end
    end
    if place then
      kept[#kept + 1], at[#at + 1] = i, place
    elseif o.outside == 'error' then
      error(('%s: event %d at %s needs %s to %s, which %s does not hold in one piece; give outside = "drop" to leave '
        .. 'such events out'):format(
          fname, i, seconds(t), seconds(t + o.tmin), seconds(t + o.tmax), r.path), 2)
    end
  end
  local out = tensor.empty(fname, { #kept, c.n, n }, o.dtype, 3)
  for k, first in ipairs(at) do fetch(f, fname, c, first, n, o.dtype, out, (k - 1) * c.n * n, n) end
  return out, kept
end

local TRIGGERS = { channel = { 'Status', 'string | integer' }, mask = { 65535, 'integer >= 1' } }

--- Events of a trigger channel: each sample at which (stored number AND mask) changes to something that is not 0.
--
-- channel: 'Status' by default, as BDF files name it; mask: 65535 by default, the 16 trigger lines of a BDF file. The
-- value a recording starts with is no event.
---@param opts? table
---@return table[] events { onset (s), sample, value, text }, usable as events of :epochs
function methods.triggers(r, opts)
  local fname = 'edf.triggers'
  handle(r, fname)
  local o = check.opts(fname, opts, TRIGGERS, 3)
  local op = require 'mascon.core.op'
  local F, out, last = op.functions, {}, nil
  local nonzero = require('mascon.core.select').nonzero
  for x, first, time in r:blocks { channels = o.channel, dtype = 'i32' } do
    local v = F.bitwise_and(x[1], o.mask)
    local n = v.shape[1]
    local before = F.concat { last or v[{ { 1, 1 } }], v[{ { 1, n - 1 } }] }
    local at = nonzero(F.logical_and(F.not_equal(v, before), F.not_equal(v, 0))):totable()
    local fs = r.channels[resolve(r, fname, o.channel)[1]].fs
    for _, i in ipairs(at) do
      local value = v[i]:item()
      out[#out + 1] = { onset = time + (i - 1) / fs, sample = first + i - 1, value = value, text = tostring(value) }
    end
    last = v[{ { n, n } }]:copy()
  end
  return out
end

--- A recording read whole: { data [C, n], fs (Hz), channels, labels, annotations, gaps, warnings, start, duration }.
--- Options as in :read; files with several sampling rates need fs or channels.
---@param path string
---@param opts? table
function M.load(path, opts)
  local r = M.open(path)
  local data = r:read(opts)
  local o = options('edf.read', opts, READ)
  local channels, labels = {}, {}
  for k, i in ipairs(resolve(r, 'edf.read', o.channels, o.fs)) do
    channels[k], labels[k] = r.channels[i], r.labels[i]
  end
  local out = {
    data = data, fs = channels[1].fs, channels = channels, labels = labels, annotations = r.annotations, gaps = r.gaps,
    warnings = r.warnings, start = rawget(r, 'start'), duration = r.duration,
  }
  r:close()
  return out
end

return M
