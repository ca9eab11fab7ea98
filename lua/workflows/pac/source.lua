-- source.lua - recordings for coupling, from memory, arrays, or whatever mc.meeg.open opens, read channel by channel.
--
-- Holds finding the samples, the sampling rate, the channels and the axes in a file, and which channels and samples
-- take part. A source never holds more than the channels it was asked for, so that a recording larger than memory
-- passes through.
local mc = require 'mascon'
local ceiling = require 'mascon.base.ceiling'
local clock = require 'mascon.base.clock'
local portions = require 'mascon.base.portions'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local archive = require 'mascon.meeg.files.archive'
local channels = require 'mascon.meeg.channels'
local silent = require 'workflows.pac.silent'
local steady = require 'workflows.pac.steady'
local M = {}

local Source = {}
Source.__index = Source

-- types of channels that record brain signals
local DATA = { mag = true, grad = true, eeg = true, seeg = true, ecog = true, dbs = true, hbo = true, hbr = true,
  fnirs = true, csd = true }

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
      fail('channel %q is not in the recording%s; it has %s', tostring(want),
        near and (', did you mean %q?'):format(near) or '',
        #names > 20 and #names .. ' channels, the first is ' .. names[1] or table.concat(names, ', '))
    end
  end
  return out
end

--- First and last sample of from .. to seconds, 1-based.
local function span(o, fs, T)
  local first, last = math.floor((o.from or 0) * fs + 0.5) + 1, o.to and math.floor(o.to * fs + 0.5) or T
  if first < 1 or last > T or last - first < 1 then
    fail('from %g to %g s is not within the %g s there are; check --from and --to', o.from or 0, o.to or T / fs, T / fs)
  end
  return first, last
end

--- "Status (stim), EOG (eog)", at most twelve of them.
local function listed(list)
  return table.concat(list, ', ', 1, math.min(#list, 12)) .. (#list > 12 and (' and %d more'):format(#list - 12) or '')
end

--- Axes as an array is read where nobody says. Names in the file may tell that channels are the second of three.
local function axes_of(x, o)
  if o.axes then return o.axes end
  if x.ndim == 3 and o.found then
    for _, l in ipairs(o.found.lists) do
      if #l.texts == x.shape[2] and #l.texts ~= x.shape[1] then return 'SCT', l.name end
    end
  end
  return ({ 'T', 'CT', 'CST' })[x.ndim]
end

--- Positions of C, S and T among the axes; refuses what is no order of them.
local function places_of(x, axes)
  local at = {}
  for i = 1, #(axes or '') do
    local letter = axes:sub(i, i)
    if not letter:find '[CST]' or at[letter] then at = {} break end
    at[letter] = i
  end
  if not at.T or #axes ~= x.ndim then
    fail('samples are %s with axes %q; give --axes as T, CT, ST, CST or another order of C (channels), S (segments) '
      .. 'and T (samples)',
      tensor.describe(x), tostring(axes))
  end
  return at
end

--- How an array was read, where nobody said how.
local function reading(x, size, axes, by)
  local read = ('the array is read as %s'):format(x.ndim == 2 and ('%d channels x %d samples'):format(size.C, size.T)
    or axes == 'SCT' and ('%d segments x %d channels x %d samples'):format(size.S, size.C, size.T)
    or ('%d channels x %d segments x %d samples'):format(size.C, size.S, size.T))
  if x.ndim == 2 then
    if size.C > size.T then return read .. '; --axes TC says that it is samples x channels' end
    return read .. '; --axes ST says that its rows are segments of one channel'
  end
  if by then return read .. (', since %s names %d channels; --axes CST says otherwise'):format(by, size.C) end
  return read .. '; --axes SCT says that segments come first, as in epochs of MNE'
    .. (size.C > size.S
      and (', which is likely here: there are %d on the first axis and %d on the second'):format(size.C, size.S) or '')
end

-- samples of a channel that are looked at; the most values and changes (as a share of them) that a trigger channel has
local LOOKED, VALUES, CHANGES = 2 ^ 18, 64, 0.05

--- Names of channels that look like triggers: whole numbers, few different ones, constant most of the time.
local function triggers(source)
  local out = {}
  for c, name in ipairs(source.names) do
    local is = mc.scope(function()
      local x = source:read(c, c):reshape(-1)
      local n = math.min(x:numel(), LOOKED)
      x = x[{ { 1, n } }]
      if not mc.all(mc.isfinite(x)) or not mc.all(mc.eq(x, mc.floor(x))) then return false end
      local changes = mc.sum(mc.ne(x[{ { 2, n } }], x[{ { 1, n - 1 } }]):to 'i64'):item()
      return changes > 0 and changes <= CHANGES * n and mc.unique_values(x):numel() <= VALUES
    end)
    if is then out[#out + 1] = name end
  end
  return out
end

--- Positions of the channels to analyse: those picked, else those that record brain signals and are not marked bad.
--- What is left out is noted.
local function chosen_of(r, pick, notes)
  if pick then return pick_channels(channels.names(r.channels), pick) end
  local chosen, other, bad, marked = {}, {}, {}, {}
  for _, b in ipairs(r.bads) do marked[b] = true end
  local any = false
  for _, c in ipairs(r.channels) do any = any or DATA[c.type] end
  for i, c in ipairs(r.channels) do
    local wanted = DATA[c.type] or not any and c.type ~= 'stim'
    if wanted and not marked[c.name] then
      chosen[#chosen + 1] = i
    else table.insert(wanted and bad or other, ('%s (%s)'):format(c.name, c.type)) end
  end
  if #other > 0 then
    notes[#notes + 1] = ('left out, since they record no brain signal: %s; --pick names channels, --types their kinds')
      :format(listed(other))
  end
  if #bad > 0 then
    notes[#notes + 1] = ('left out, since the file marks them as bad: %s; --pick names channels'):format(listed(bad))
  end
  if #chosen == 0 then
    fail('%s has no channel to analyse: %s; name some with --pick', r.path or 'it', listed(#bad > 0 and bad or other))
  end
  return chosen
end

--- Channels of an array by the names that its file holds: their types are what the names tell (as in mc.meeg.open), or
--- what `types` says.
local function named_channels(names, types, path, notes)
  local list, at = {}, {}
  for i, name in ipairs(names) do list[i] = { name = name, type = channels.guess(name, 'eeg') } end
  notes[#notes + 1] = channels.distinct(list)
  for i, c in ipairs(list) do at[c.name] = i end
  for name, type_ in pairs(types or {}) do
    if not at[name] then
      local near = check.nearest(name, channels.names(list))
      fail('--types names the channel %q, which %s does not have%s', name, path,
        near and (', did you mean %q?'):format(near) or '')
    end
    list[at[name]].type = type_
  end
  return channels.check('pac', list)
end

-- an array that is likely turned: channels per sample, and samples that are too few for a filter
local WIDE, FEW = 10, 30

--- From a tensor [T], [C, T], [S, T], [C, S, T], or in the order that the axes say.
local function from_tensor(x, o)
  local axes, by = axes_of(x, o)
  if axes and axes:find 'B' then fail('axes %q: a recording has channels, segments and samples; pick one subject',
    axes) end
  local at = places_of(x, axes)
  local size = { C = at.C and x.shape[at.C] or 1, S = at.S and x.shape[at.S] or 1, T = x.shape[at.T] }
  local T, first, last = size.T, 1, size.T
  if o.from or o.to then
    if not o.fs then fail '--from and --to need the sampling rate; give --fs in Hz' end
    first, last = span(o, o.fs, T)
  end
  if x.ndim == 2 and not o.axes and size.C > size.T and (size.C >= WIDE * size.T or size.T < FEW) then
    fail('%s would be %d channels of %d samples, which is hardly meant; give --axes TC where it is samples x channels, '
      .. '--axes CT where it is as it stands', tensor.describe(x), size.C, size.T)
  end
  local notes, names = {}, {}
  local held = o.found and archive.names(o.found, size.C)
  local given = o.names or held or {}
  for c = 1, size.C do names[c] = given[c] or ('ch%d'):format(c) end
  if o.types and not held then
    fail('--types is for channels with names, and %s names none; --pick says which to analyse', o.path)
  end
  for _, note in ipairs(o.found and o.found.notes or {}) do notes[#notes + 1] = note end
  if x.ndim > 1 and not o.axes then notes[#notes + 1] = reading(x, size, axes, by) end
  local chosen
  if held then
    local list = named_channels(names, o.types, o.path, notes)
    names, chosen = channels.names(list), chosen_of({ channels = list, bads = {}, path = o.path }, o.pick, notes)
  else chosen = pick_channels(names, o.pick) end
  local picked, order = {}, {}
  for i, c in ipairs(chosen) do picked[i] = names[c] end
  for _, letter in ipairs { 'C', 'S', 'T' } do order[#order + 1] = at[letter] end
  local flat = #order > 1 and x:permute_dims(order) or x
  if not at.C then flat = flat:expand_dims(1) end
  if not at.S then flat = flat:expand_dims(2) end
  local source = setmetatable({
    fs = o.fs, names = picked, S = size.S, T = last - first + 1, C = #chosen, segmented = at.S ~= nil, notes = notes,
      first = first,
    span = function(_, rows, from, to) -- of one segment
      local taken = {}
      for k, i in ipairs(rows) do taken[k] = chosen[i] end
      return mc.take(flat[{ mc.all, 1, { first + from - 1, first + to - 1 } }], mc.tensor(taken, { dtype = 'i64' }), 1)
    end,
    read = function(_, a, b)
      local parts = {}
      for i = a, b do parts[#parts + 1] = flat[{ { chosen[i], chosen[i] }, mc.all, { first, last } }] end
      return #parts == 1 and parts[1] or mc.concat(parts, 1)
    end,
  }, Source)
  if not o.pick then
    local odd = triggers(source)
    if #odd > 0 then
      notes[#notes + 1] = ('%s %s like a trigger channel (few whole numbers, constant between steps) and %s analysed '
        .. 'all the same; --pick names channels'):format(
          listed(odd), #odd == 1 and 'looks' or 'look', #odd == 1 and 'is' or 'are')
    end
  end
  return source
end

local function read_npz(path, o)
  local found = archive.read('pac', mc.open(path), { key = o.key })
  return found.data, o.fs or found.fs, found
end

--- Stretches { first, last } of samples 1..T outside of spans { from, to, text } in seconds, or nil when all are kept.
local function outside(spans, fs, T, shift)
  local keep, at, count = {}, 1, 0
  for _, s in ipairs(spans) do
    local a, b = math.floor((s[1] - shift) * fs + 0.5) + 1, math.floor((s[2] - shift) * fs + 0.5)
    a, b = math.max(a, 1), math.min(b, T)
    if a <= b then
      count = count + 1
      if a > at then keep[#keep + 1] = { at, a - 1 } end
      at = math.max(at, b + 1)
    end
  end
  if count == 0 then return nil, 0 end
  if at <= T then keep[#keep + 1] = { at, T } end
  return keep, count
end

local function kept_samples(windows)
  local n = 0
  for _, w in ipairs(windows) do n = n + w[2] - w[1] + 1 end
  return n
end

--- From a recording: one segment, the stretches that are annotated as bad masked.
local function from_raw(r, o, notes)
  local first, last = span(o, r.fs, r.samples)
  local chosen, names = chosen_of(r, o.pick, notes), {}
  for i, c in ipairs(chosen) do names[i] = r.channels[c].name end
  local T = last - first + 1
  local windows, count = outside(r:bad_stretches(), r.fs, T, (first - 1) / r.fs)
  if windows and o.keep_marked then
    notes[#notes + 1] = ('%d stretches annotated as bad are analysed too (--keep-marked)'):format(count)
    windows = nil
  elseif windows then
    local kept = kept_samples(windows)
    if kept < 2 then
      fail('%s: annotations mark all of it as bad; --keep-marked analyses it all the same', r.path or 'it')
    end
    notes[#notes + 1] = ('masked: %.1f of %.1f s, in %d stretches annotated as bad; --keep-marked analyses them too')
      :format((T - kept) / r.fs, T / r.fs, count)
  end
  return setmetatable({
    path = r.path, fs = r.fs, names = names, C = #chosen, S = 1, T = T, segmented = false, notes = notes,
    windows = windows, first = first,
    span = function(_, rows, from, to)
      local list = {}
      for k, i in ipairs(rows) do list[k] = chosen[i] end
      return r:read { channels = list, first = first + from - 1, last = first + to - 1 }
    end,
    read = function(_, a, b)
      local list = {}
      for i = a, b do list[#list + 1] = chosen[i] end
      return r:read { channels = list, first = first, last = last }:reshape(#list, 1, T)
    end,
  }, Source)
end

--- From epochs: their segments.
local function from_epochs(e, o, notes)
  local first, last = span(o, e.fs, e.samples)
  local chosen, names = chosen_of(e, o.pick, notes), {}
  for i, c in ipairs(chosen) do names[i] = e.channels[c].name end
  return setmetatable({
    path = rawget(e, 'path'), fs = e.fs, names = names, C = #chosen, S = e:count(), T = last - first + 1,
    segmented = true, notes = notes, first = first,
    read = function(_, a, b)
      local list = {}
      for i = a, b do list[#list + 1] = chosen[i] end
      return e:read { channels = list }[{ mc.all, mc.all, { first, last } }]:permute_dims(2, 1, 3):contiguous()
    end,
  }, Source)
end

--- The rate of the channels that are picked, where a file of EDF or BDF has several.
local function rate_of(path, o)
  if o.fs or not o.pick then return o.fs end
  local rec = mc.open(path)
  local labels, rate = {}, {}
  for i, c in ipairs(rec.channels) do labels[i], rate[i] = c.label, c.fs end
  rec:close()
  local fs, of
  for _, want in ipairs(o.pick) do
    local pattern = tonumber(want) and nil or { want }
    for _, c in ipairs(pattern and pick_channels(labels, pattern) or {}) do
      if fs and rate[c] ~= fs then
        fail('channels %s and %s have different sampling rates (%g and %g Hz); --pick channels of one rate', of,
          labels[c], fs, rate[c])
      end
      fs, of = rate[c], labels[c]
    end
  end
  return fs
end

--- A mask of samples from a file: .npy or .npz with true or a number other than 0 where a sample counts, [T] or [S, T];
--- or a table .csv, .tsv with the columns onset and duration (s): stretches that do not count.
local function masked(s, path)
  local ext = (path:match '%.(%w+)$' or ''):lower()
  if ext == 'csv' or ext == 'tsv' then
    local t = mc.load(path)
    local onset, duration = rawget(t.columns, 'onset'), rawget(t.columns, 'duration')
    if not mc.is_tensor(onset) or not mc.is_tensor(duration) then
      fail('the mask %s needs the columns onset and duration, numbers in seconds; it has %s', path,
        table.concat(t.names, ', '))
    end
    local spans = {}
    onset, duration = onset:to('f64'):totable(), duration:to('f64'):totable()
    for i = 1, #onset do spans[i] = { onset[i], onset[i] + duration[i] } end
    table.sort(spans, function(a, b) return a[1] < b[1] end)
    local keep = outside(spans, s.fs, s.T, (s.first - 1) / s.fs) or { { 1, s.T } }
    local m = mc.zeros({ s.T }, { dtype = 'bool' })
    for _, w in ipairs(keep) do m[{ { w[1], w[2] } }] = true end
    return m
  end
  if ext ~= 'npy' and ext ~= 'npz' then
    fail('the mask %s has the extension %q; give npy, npz, csv or tsv', path, ext)
  end
  local m = mc.load(path)
  if not mc.is_tensor(m) then
    local names = {}
    for name in pairs(m) do names[#names + 1] = name end
    table.sort(names)
    if #names ~= 1 then fail('%s holds %d arrays; give a file with the mask alone', path, #names) end
    m = m[names[1]]
  end
  if m.ndim < 1 or m.ndim > 2 or m.shape[m.ndim] < s.first + s.T - 1 or m.ndim == 2 and m.shape[1] ~= s.S then
    fail('the mask %s is %s; it must be [%d] or [%d, %d]: samples, or segments x samples', path,
      tensor.describe(m), s.T, s.S, s.T)
  end
  m = mc.ne(m[{ mc.ellipsis, { s.first, s.first + s.T - 1 } }], 0)
  return m
end

--- Joins the mask of a file with the stretches that are left out already.
local function with_mask(s, path)
  if not path then return s end
  local m = masked(s, path)
  if s.windows then
    local own = mc.zeros({ s.T }, { dtype = 'bool' })
    for _, w in ipairs(s.windows) do own[{ { w[1], w[2] } }] = true end
    m = mc.logical_and(m, own)
    s.windows = nil
  end
  local kept = mc.sum(m:to 'i64'):item()
  s.notes[#s.notes + 1] = ('masked: %.1f %% of the samples are left out (%s; true is a sample that counts)')
    :format(100 * (1 - kept / m:numel()), path)
  s.mask = m
  return s
end

local OPEN = {
  fs = { nil, 'number > 0' }, key = { nil, 'string' }, axes = { nil, 'string' }, pick = { nil, 'table' },
  from = { nil, 'number >= 0' }, to = { nil, 'number > 0' },
  mask = { nil, 'string' }, keep_marked = { false, 'bool' }, types = { nil, 'table' },
}

--- Opens a recording or epochs: an array .npz or .npy, or whatever mc.meeg.open opens.
---
--- Arrays of two axes are channels x samples. Channels that record no brain signal (in an array: by their names, where
--- it has some) and those marked bad take no part unless they are picked, and stretches annotated as bad (any text that
--- begins with "bad") are masked; notes say so.
---@param path string
---@param opts table fs Hz (files that know it need none; which channels of an EDF with several rates) · key · axes ·
---  pick (list of names, numbers, patterns) · from, to (s) · mask (a file, see the head of masked) · keep_marked false:
---  analyse stretches annotated as bad · types name = type
---@return table source with fs, names, C, S, T, segmented, notes, windows or mask (of the options of compute) and
---  :read(first, last) -> [c, S, T]
function M.open(path, opts)
  local o = check.opts('pac.source', opts, OPEN, 3)
  local ext = (path:lower():gsub('%.gz$', ''):match '%.(%w+)$' or '')
  if ext ~= 'npz' and ext ~= 'npy' then
    for _, name in ipairs { 'key', 'axes' } do
      if o[name] then fail('--%s is for arrays, and %s knows its own', name, path) end
    end
    local edf = ext == 'edf' or ext == 'bdf'
    local r = mc.meeg.open(path, { fs = edf and rate_of(path, o) or nil, types = o.types })
    if o.fs and math.abs(o.fs - r.fs) > 1e-9 * r.fs then
      fail('%s has a rate of %g Hz and --fs says %g; leave --fs out', path, r.fs, o.fs)
    end
    local notes = {}
    for _, w in ipairs(rawget(r, 'warnings') or {}) do notes[#notes + 1] = w end
    return with_mask((mc.meeg.raw.is(r) and from_raw or from_epochs)(r, o, notes), o.mask)
  end
  local x, fs, found
  if ext == 'npz' then x, fs, found = read_npz(path, o)
  else x, fs = mc.open(path), o.fs end
  if not mc.is_tensor(x) or x.ndim < 1 or x.ndim > 3 then
    fail('%s holds %s; give an array of 1 to 3 axes', path, mc.is_tensor(x) and tensor.describe(x) or 'texts')
  end
  local s = from_tensor(x, { axes = o.axes, pick = o.pick, fs = o.fs or fs, from = o.from, to = o.to, found = found,
    types = o.types, path = path })
  s.path = path
  if found and found.fs and o.fs and found.fs ~= o.fs then
    s.notes[#s.notes + 1] = ('%s says %g Hz, and --fs %g decides'):format(path, found.fs, o.fs)
  end
  if not s.fs then fail('%s does not say its sampling rate; give --fs in Hz', path) end
  return with_mask(s, o.mask)
end

--- A source over samples in memory: pac.source.wrap(x, { fs =, names =, axes = }).
function M.wrap(x, opts)
  local o = check.opts('pac.source', opts, { fs = { nil, 'number > 0' }, names = { nil, 'table' },
    axes = { nil, 'string' }, pick = { nil, 'table' }, from = { nil, 'number >= 0' }, to = { nil, 'number > 0' } }, 3)
  return from_tensor(x, o)
end

-- bytes of the samples of a turn
local TURN = 64 * 2 ^ 20

--- Channels of a turn. Counts that are pooled over the rows of a turn must not depend on memory.
local function turn(plan, source)
  local bytes = plan.options.bin_norm == 'pooled' and TURN or ceiling.block(TURN)
  return math.max(1, math.min(source.C, math.floor(bytes / (8 * source.S * source.T))))
end

--- Bytes that M.run takes at its peak, with the samples read.
---@param plan table of pac.plan
---@param source table
---@return number
function M.bytes(plan, source)
  local C, S = source.C, source.S
  if plan.engine.segment and S == 1 and source.span then return plan:bytes(C) end
  local per = turn(plan, source)
  local results = plan:bytes(C * S, 0, S) - plan:bytes(0, 0, S) -- joined once more at the end
  return 12 * per * S * source.T + plan:bytes(per * S, nil, S) + 2 * results
end

-- seconds of figures, page and table; of a smaller analysis that is timed; samples read for the time of reading
local OUTPUT, PROBE, READ = 1.5, 1, 2 ^ 20

--- Seconds that M.run and the results should take here: the estimate of the plan, corrected by what a smaller analysis
--- of the same kind takes now, and the reading, measured on a part.
---@param plan table of pac.plan
---@param source table
---@param opts table options of the plan
---@return number seconds
---@return number|nil bytes on each device at the peak, at most: of analyses on devices
function M.seconds(plan, source, opts)
  local pac, e = require 'workflows.pac', plan.engine
  local o = {}
  for k, v in pairs(opts) do o[k] = v end
  o.mask, o.windows, o.progress, o.axes = nil, nil, nil, 'CST'
  local C, S, T = math.min(source.C, mc.get_num_threads()), source.S, source.T
  local small = plan
  if e.segment then
    C, S, T, o.segment_length = 1, 1, math.min(T, 2 * e.segment), e.segment / source.fs
    small = pac.plan(T, o)
  else
    o.segment_length = 0
    local least = math.ceil(4 * source.fs / mc.min(plan.pha_bands_hz):item())
    while S > 2 and plan:seconds(C * S) > PROBE do S = math.ceil(S / 2) end
    while T > 2 * least and small:seconds(C * S) > PROBE do
      T = math.ceil(T / 2)
      small = pac.plan(T, o)
    end
  end
  local x = mc.randn({ C, S, T }, { seed = 1, dtype = 'f32' })
  local took, there = nil, nil
  local function probe() took = clock.taken(function() small:run(x) end) end
  if plan.options.placed > 0 then
    local size = tensor.size[plan.options.dtype]
    local rows = turn(plan, source) * source.S
    local block = plan:block_rows(rows, 1, source.S)
    local bytes = portions.taken(plan.options.places, probe) - x:numel() * size
    there = portions.most(math.max(bytes, 0), math.max(block * source.T / x:numel(), 1))
      + (block < rows and 2 or 1) * block * source.T * size
  else probe() end
  x:release()
  local n = math.min(source.T, READ)
  local read = clock.taken(function()
    mc.scope(function() return source.span and source:span({ 1 }, 1, n):sum() or source:read(1, 1):sum() end)
  end)
  local passes = e.segment and 2 or 1
  return took / small:seconds(C * S) * plan:seconds(source.C * source.S) + OUTPUT
    + passes * read * source.C * (source.span and source.S * source.T / n or 1), there
end

--- What leaves a channel without z, said by its name instead of by its row in a turn.
local function named(r, source)
  local warnings, whole, parts = { unpack(r.warnings) }, {}, {}
  if r.silent[1] then table.remove(warnings) end -- the sentence on the rows of the first turn
  local P, A = r.status.shape[r.status.ndim - 1], r.status.shape[r.status.ndim]
  local per = r.status:numel() / (P * A * source.C)
  r.silent = silent.rows(r.status)
  local count = {}
  local function channel(i) return math.floor((i - 1) / per) + 1 end
  for _, row in ipairs(r.silent) do count[channel(row.row)] = (count[channel(row.row)] or 0) + 1 end
  for _, row in ipairs(r.silent) do
    local c = channel(row.row)
    if count[c] < per then parts[#parts + 1] = row
    elseif #whole == 0 or whole[#whole].row ~= c then whole[#whole + 1] = { row = c, why = row.why } end
  end
  warnings[#warnings + 1] = silent.sentence(whole, source.C, 'channel', function(c) return source.names[c] end)
  warnings[#warnings + 1] = silent.sentence(parts, source.C * per, 'segment', function(i)
    return ('%d of %s'):format((i - 1) % per + 1, source.names[channel(i)])
  end)
  local nan
  for _, row in ipairs(r.silent) do nan = nan or row.why == silent.NAN end
  if nan and (source.mask or source.windows) then
    warnings[#warnings + 1] = 'samples that are NaN or infinite take their channel or segment with them even where '
      .. 'they are masked, since filters come before the mask; put numbers there (zeros, or a line across the gap), or '
      .. 'analyse a part without them (--from, --to)'
  end
  r.warnings = warnings
  return r
end

--- The warning on steady rhythms, with the others.
local function noted(plan, r, source)
  r.warnings[#r.warnings + 1] = steady.note(plan, source, r)
  return r
end

--- Runs a plan over a source, a few channels at a time, and joins the results along the channels.
---@param plan table of pac.plan
---@param source table
---@param opts? table channels per turn · progress(done, total)
---@return table result as of pac.compute with a first axis of channels
function M.run(plan, source, opts)
  local o = check.opts('pac.source.run', opts, { channels = { nil, 'integer >= 1' }, progress = { nil, 'table' } }, 3)
  if plan.engine.segment and source.S == 1 and source.span then
    local r = plan:stream(function(rows, first, last) return source:span(rows, first, last) end, source.C,
      o.progress and function(n) o.progress:add(n) end)
    return noted(plan, named(r, source), source)
  end
  local per = o.channels or turn(plan, source)
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
  return noted(plan, named(out, source), source)
end

--- Refuses two sources whose segments cannot be compared.
---@param a table source
---@param b table source
---@param paired? boolean
function M.comparable(a, b, paired)
  local function list(s) return table.concat(s.names, ', ', 1, math.min(4, #s.names)) end
  if table.concat(a.names, '\n') ~= table.concat(b.names, '\n') then
    fail('the conditions have different channels (%d: %s ...; %d: %s ...); --pick those they share', a.C, list(a),
      b.C, list(b))
  end
  if a.fs ~= b.fs or a.T ~= b.T then fail('the conditions have segments of %d samples at %g Hz and of %d at %g Hz; ' ..
    'both must be equal', a.T, a.fs, b.T, b.fs) end
  for _, s in ipairs { a, b } do
    if s.S < 2 then fail('%s has one segment; a contrast compares trials, give epochs%s', s.path or 'a condition',
      s.C > 1 and not s.segmented and ', or --axes ST where the rows of an array are trials of one channel' or '') end
    if s.mask or s.windows then fail('%s is masked; a contrast takes whole segments', s.path or 'a condition') end
  end
  if paired and a.S ~= b.S then fail('--paired with %d and %d segments; pairs need as many of each', a.S, b.S) end
end

--- The parts of a contrast: plan and options of the maps, options of the test.
local function contrast_plan(a, opts)
  local compute, test = require('workflows.pac.contrast').split(opts)
  compute.axes = 'CST'
  return require('workflows.pac').plan(a.T, compute), compute, test
end

--- The contrast of two sources (pac.contrast) with the same channels: values of each segment, a few channels at a time.
---@param a table source of condition A
---@param b table source of condition B
---@param opts table options of pac.contrast
---@param progress? table bar counted in channels of both
---@return table result of pac.contrast [C, P, A]
function M.contrast(a, b, opts, progress)
  M.comparable(a, b, opts.paired)
  local contrast = require 'workflows.pac.contrast'
  local plan, _, test = contrast_plan(a, opts)
  local function values(s)
    return contrast.observations(M.run(plan, s, { progress = progress }).pac)
  end
  return contrast.finish(contrast.maps(values(a), values(b), test), plan)
end

--- Seconds that M.contrast should take here: the maps of both conditions, and a few permutations that are timed.
---@param a table source of condition A
---@param b table source of condition B
---@param opts table options of pac.contrast
---@return number
function M.contrast_seconds(a, b, opts)
  local contrast = require 'workflows.pac.contrast'
  local plan, compute, test = contrast_plan(a, opts)
  local P, A, C = plan.engine.P, plan.engine.A, math.min(a.C, 4)
  local some = {}
  for k, v in pairs(test) do some[k] = v end
  some.n_perm = math.max(2, math.ceil((test.n_perm or 1000) / 10))
  local maps = { mc.randn({ a.S, C, P, A }, { seed = 1 }), mc.randn({ b.S, C, P, A }, { seed = 2 }) }
  local took = clock.taken(function() contrast.maps(maps[1], maps[2], some) end)
  return (M.seconds(plan, a, compute)) + (M.seconds(plan, b, compute)) - 2 * OUTPUT
    + took * a.C / C * (test.n_perm or 1000) / some.n_perm
end

--- Bytes that M.contrast takes at its peak: its larger condition, and the maps of both in f64 with what is tested of
--- them.
function M.contrast_bytes(a, b, opts)
  local plan = contrast_plan(a, opts)
  local cells = a.C * plan.engine.P * plan.engine.A
  return math.max(M.bytes(plan, a), M.bytes(plan, b)) + 24 * (a.S + b.S) * cells + 8 * 2 ^ 22
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
