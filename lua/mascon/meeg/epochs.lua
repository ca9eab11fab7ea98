-- epochs.lua - stretches of a recording around events, with what is known of their channels.
--
-- Holds the Epochs object: its fields, its check, and what makes one from another (pick, drop, copy). The samples are a
-- tensor in memory, or lie in a file until somebody asks (field data, :read, :blocks), so that a set larger than memory
-- passes through block by block. Cutting from a recording is in cut.lua, files are in files.lua.
--
-- Fields: data f64|f32 [E, C, T] in SI units · fs (Hz) · tmin (s, time of the first sample) · samples (T) · channels
-- (list of C tables, see mascon.meeg.channels) · bads (names) · events i64 [E, 3]: sample (0-based, as in files),
-- value before, id · event_id (name = id) · selection (E original numbers, 1-based) · drop_log (list of reasons for
-- each original epoch, empty for those that are kept) · baseline ({ from, to } s, or nil) · info (what files carry
-- beside).
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local ceiling = require 'mascon.base.ceiling'
local create = require 'mascon.array.create'
local op = require 'mascon.core.op'
local channels = require 'mascon.meeg.channels'
local error = check.error
local floor, min, max = math.floor, math.min, math.max
local M = {}

-- bytes of a block of :blocks when no size is asked for
local BLOCK = 64 * 2 ^ 20

local methods = {}
local meta = {}
M.methods = methods

function meta.__index(e, k)
  if methods[k] then return methods[k] end
  if k == 'data' and e._source then
    local data = e:read()
    rawset(e, 'data', data)
    return data
  end
  if k == 'data' or k == 'baseline' or k == 'metadata' or k == 'annotations' or k == 'path' or type(k) ~= 'string'
    or k:sub(1, 1) == '_' then
    return nil
  end
  local names = { 'data', 'fs', 'tmin', 'samples', 'channels', 'bads', 'events', 'event_id', 'selection', 'drop_log',
    'baseline', 'info', 'annotations' }
  for name in pairs(methods) do names[#names + 1] = name end
  local near = check.nearest(k, names)
  error(('meeg.epochs: epochs have no field %q%s'):format(k, near and ('; did you mean %q?'):format(near) or ''), 2)
end

function meta.__tostring(e)
  local kinds, count = {}, {}
  for _, c in ipairs(e.channels) do count[c.type] = (count[c.type] or 0) + 1 end
  for i, t in ipairs(channels.types(e.channels)) do kinds[i] = ('%d %s'):format(count[t], t) end
  return ('%d epochs, %s, %d samples from %.6g to %.6g s at %.6g Hz%s'):format(e:count(), table.concat(kinds, ', '),
    e.samples, e.tmin,
    e.tmin + (e.samples - 1) / e.fs, e.fs, rawget(e, 'data') and '' or ', in the file')
end

--- Whether a value is an Epochs object.
---     mc.meeg.epochs.is({})  --> false
---@param v any
function M.is(v) return type(v) == 'table' and getmetatable(v) == meta end

-- ---------------------------------------------------------------- making

local function events_of(fname, events, n, samples)
  if events == nil then
    local i = create.arange(0, n - 1, { dtype = 'i64' }):reshape(n, 1)
    return op.functions.concat({ i * samples, create.zeros({ n, 1 }, { dtype = 'i64' }),
      create.ones({ n, 1 }, { dtype = 'i64' }) }, 2)
  end
  if type(events) == 'table' then
    events = #events == 0 and create.zeros({ 0, 3 }, { dtype = 'i64' }) or create.tensor(events, { dtype = 'i64' })
  end
  if not tensor.is(events) or events.ndim ~= 2 or events.shape[1] ~= n or events.shape[2] ~= 3 then
    error(('%s: events are %s; %d epochs need [%d, 3]: sample, value before, id'):format(fname,
      tensor.is(events) and tensor.describe(events) or check.show(events), n, n), 4)
  end
  return events.dtype == 'i64' and events or events:to { dtype = 'i64' }
end

--- Ids named by themselves.
local function ids_of(events)
  local out = {}
  if events.shape[1] == 0 then return out end
  for _, id in ipairs(events['1:-1, 3']:totable()) do out[tostring(id)] = id end
  return out
end

--- Fills in what a caller left out, checks it, and makes the object.
local function complete(fname, e, n)
  e.events = events_of(fname, e.events, n, e.samples)
  e.event_id = e.event_id or ids_of(e.events)
  e.bads, e.info = channels.marked(fname, e.bads or {}, e.channels), e.info or {}
  local selection, drop_log, most, kept = e.selection or {}, e.drop_log, 0, {}
  if not e.selection then
    for i = 1, n do selection[i] = i end
  end
  if #selection ~= n then
    error(('%s: selection has %d numbers for %d epochs; give one each'):format(fname, #selection, n), 4)
  end
  for _, s in ipairs(selection) do
    if type(s) ~= 'number' or s < 1 or s ~= floor(s) or kept[s] then
      error(('%s: selection holds %s; it is of different whole numbers from 1'):format(fname, tostring(s)), 4)
    end
    most, kept[s] = max(most, s), true
  end
  if not drop_log then
    drop_log = {}
    for i = 1, most do drop_log[i] = kept[i] and {} or { 'IGNORED' } end
  end
  if #drop_log < most then
    error(('%s: the drop log has %d entries, epoch %d is selected; it needs one per original epoch'):format(fname,
      #drop_log, most), 4)
  end
  e.selection, e.drop_log = selection, drop_log
  return setmetatable(e, meta)
end

local NEW = {
  data = { nil, 'tensor | table' }, fs = { nil, 'number > 0' }, channels = { nil, 'table' },
  types = { nil, 'string | table' }, positions = { nil, 'tensor | table' }, bads = { nil, 'table' },
  events = { nil, 'tensor | table' }, event_id = { nil, 'table' }, tmin = { 0, 'number' }, unit = { nil, 'string' },
  selection = { nil, 'table' },
  drop_log = { nil, 'table' }, baseline = { nil, 'table' }, info = { nil, 'table' }, annotations = { nil, 'table' },
}

local function samples_of(fname, data)
  if data == nil then error(fname .. ': data is missing; give a tensor [epochs, channels, samples]', 4) end
  if type(data) == 'table' then data = create.tensor(data) end
  if data.ndim ~= 3 then
    error(('%s: data is %s; epochs are [epochs, channels, samples]'):format(fname, tensor.describe(data)), 4)
  end
  if data.dtype ~= 'f64' and data.dtype ~= 'f32' then data = data:to { dtype = 'f64' } end
  return data
end

--- Epochs from samples in memory.
--
-- data: f64|f32 [E, C, T] (other numbers become f64), kept, not copied. fs: Hz. channels: names or tables (see
-- mc.meeg.channels.new); names are invented when left out. types: one or a list (default eeg). positions: [C, 3] in
-- metres. bads: names. events: i64 [E, 3] (default: one after the other, id 1). event_id: name = id. tmin: s. unit:
-- what the numbers are in, such as 'uV' (default SI units). selection, drop_log, baseline, annotations, info: see the
-- fields.
-- Errors: another rank, counts that do not match, names twice, types that are not known.
---     mc.meeg.epochs.new{ data = mc.zeros{ 5, 2, 100 }, fs = 250, channels = { 'Fz', 'Cz' } }:count()  --> 5
---@param opts table
---@return table epochs
function M.new(opts)
  local fname = 'meeg.epochs.new'
  local o = check.opts(fname, opts, NEW, 3)
  local data = samples_of(fname, o.data)
  if not o.fs then error(fname .. ': fs is missing; give the sampling rate in Hz', 2) end
  local n, c, t = data.shape[1], data.shape[2], data.shape[3]
  if c == 0 or t == 0 then
    error(('%s: data is %s; there must be a channel and a sample'):format(fname, tensor.describe(data)), 2)
  end
  if not o.channels then
    o.channels = {}
    for i = 1, c do o.channels[i] = ('ch%d'):format(i) end
  end
  if #o.channels ~= c then
    error(('%s: %d channels for data of %s; give one each'):format(fname, #o.channels, tensor.describe(data)), 2)
  end
  local list = channels.new(o.channels, o.types, o.positions)
  if o.unit then
    local scale = channels.unit(o.unit)
    if not scale then
      error(('%s: unit %q is not known; scale the data to SI units and leave unit out'):format(fname, o.unit), 2)
    end
    if scale ~= 1 then data = data * scale end
  end
  return complete(fname, {
    data = data, fs = o.fs, tmin = o.tmin, samples = t, channels = list, bads = o.bads, baseline = o.baseline,
    annotations = o.annotations, info = o.info,
    events = o.events, event_id = o.event_id, selection = o.selection, drop_log = o.drop_log,
  }, n)
end

--- Opens epochs: -epo.fif (.fif.gz, split files), epoched .set, .npy and .npz [E, C, T]. Samples stay in the file until
--- asked for.
--
-- Options as in mc.meeg.raw.open; tmin (s) for arrays; proj (true): projectors of a FIF file that are not applied to
-- its samples are applied where epochs are read.
-- Errors: a file that is not there, not of its format, or holds a continuous recording.
---@param path string
---@param opts? table
---@return table epochs
function M.open(path, opts)
  local e = require('mascon.meeg.files').open(path, opts)
  if not M.is(e) then
    error(('meeg.epochs.open: %s is a continuous recording; open it with mc.meeg.raw.open and cut it around events')
      :format(path), 2)
  end
  return e
end

--- Epochs around the events of a recording; see mascon.meeg.cut, where the options stand.
--
-- raw: from mc.meeg.raw.open. opts: events (i64 [n, 3] or a pattern for annotations; all annotations when left out),
-- event_id, tmin (-0.2 s), tmax (0.5 s), baseline ({ from, to } s), reject_by_annotation (true), detrend, proj (true),
-- channels, reject, flat, repeated, dtype.
---     mc.meeg.epochs.cut(mc.meeg.raw.new{ data = mc.zeros{ 1, 500 }, fs = 100 }, { events = { { 50, 0, 1 }, { 495,
---       0, 1 } } }).drop_log[2][1]
---       --> TOO_SHORT
---@param raw table
---@param opts table
---@return table epochs
function M.cut(raw, opts) return require('mascon.meeg.cut').cut(raw, opts) end

--- Epochs whose samples stay where they are: source.read(rows, picks) gives [#rows, #picks, T] of 1-based positions,
--- which the caller may write to. For the modules that read epochs.
---@param fname string for messages
---@param e table fields without data, but with samples
---@param source table { read = function, count = E, dtype = 'f64' | 'f32' }
---@return table epochs
function M.over(fname, e, source)
  e._source, e._rows, e._cols = source, {}, {}
  for i = 1, source.count do e._rows[i] = i end
  for i = 1, #e.channels do e._cols[i] = i end
  return complete(fname, e, source.count)
end

-- ---------------------------------------------------------------- questions

--- Number of epochs.
function methods.count(e)
  local data = rawget(e, 'data')
  return data and data.shape[1] or #e._rows
end

--- Names of the channels.
function methods.names(e) return channels.names(e.channels) end

local PICKS = { exclude_bads = { true, 'bool' } }

--- Positions of channels by name, type, group or number; see mc.meeg.channels.pick. exclude_bads (default true): marked
--- ones are left out where they are not named.
---@param what? string|integer|table
---@param opts? table
---@return integer[]
function methods.picks(e, what, opts)
  local o = check.opts('epochs.picks', opts, PICKS, 3)
  return channels.pick(e.channels, what, o.exclude_bads and e.bads or {}, 'epochs.picks')
end

--- Positions of sensors f64 [C, 3], m, NaN where there is none.
---@param picks? integer[]
function methods.positions(e, picks) return channels.positions(e.channels, picks) end

--- Times of the samples f64 [T], s.
function methods.times(e)
  local first = floor(e.tmin * e.fs + 0.5)
  return create.arange(first, first + e.samples - 1, { dtype = 'f64' }) / e.fs
end

--- dtype of the samples.
function methods.dtype(e)
  local data = rawget(e, 'data')
  return data and data.dtype or e._source.dtype
end

-- ---------------------------------------------------------------- samples

local function at(list, from)
  local out = {}
  for k, i in ipairs(from) do out[k] = list[i] end
  return out
end

local function taken(data, list, axis)
  local n = data.shape[axis]
  if #list == n then
    local same = true
    for k, i in ipairs(list) do same = same and k == i end
    if same then return data end
  end
  return op.functions.take(data, create.tensor(list, { dtype = 'i64', device = data.device }), axis)
end

local function range(first, last)
  local out = {}
  for i = first, last do out[#out + 1] = i end
  return out
end

local READ = { first = { 1, 'integer >= 1' }, last = { nil, 'integer' }, epochs = { nil, 'table' },
  channels = { nil, 'any' } }

--- Samples of some epochs, [e, c, T], whether they are in memory or in a file.
--
-- first, last: epochs (1-based, inclusive), or epochs: a list of them. channels: as in :picks, marked bads included;
-- all when left out.
---@param opts? table
---@return any tensor
function methods.read(e, opts)
  local o = check.opts('epochs.read', opts, READ, 3)
  local n = e:count()
  local rows = o.epochs or range(o.first, min(o.last or n, n))
  for _, r in ipairs(rows) do
    if type(r) ~= 'number' or r < 1 or r > n or r ~= floor(r) then
      error(('epochs.read: epoch %s is outside the %d there are; they count from 1'):format(tostring(r), n), 2)
    end
  end
  local picks = o.channels ~= nil and channels.pick(e.channels, o.channels, nil, 'epochs.read') or range(1, #e.channels)
  if #rows == 0 then return tensor.empty('epochs.read', { 0, #picks, e.samples }, e:dtype()) end
  local data = rawget(e, 'data')
  if not data then return e._source.read(at(e._rows, rows), at(e._cols, picks)) end
  if rows[#rows] - rows[1] == #rows - 1 and not o.epochs then
    return taken(data[{ { rows[1], rows[#rows] } }], picks, 2)
  end
  return taken(taken(data, rows, 1), picks, 2)
end

local BLOCKS = { size = { nil, 'integer >= 1' }, channels = READ.channels }

--- Iterator over the epochs in order: for x, first in epochs:blocks{ size = 50 } do ... end, x [e, c, T], first its
--- first epoch.
--
-- size: epochs of a block (default about 64 MiB). Results must not depend on it.
---@param opts? table
function methods.blocks(e, opts)
  local o = check.opts('epochs.blocks', opts, BLOCKS, 3)
  local picks = o.channels ~= nil and channels.pick(e.channels, o.channels, nil, 'epochs.blocks') or nil
  local width = picks and #picks or #e.channels
  local bytes = width * e.samples * tensor.size[e:dtype()]
  local size = o.size or max(1, floor(ceiling.block(BLOCK, e:work()) / bytes))
  local next_, n = 1, e:count()
  return function()
    local first = next_
    if first > n then return nil end
    next_ = min(first + size, n + 1)
    return e:read { first = first, last = next_ - 1, channels = picks }, first
  end
end

--- Bytes that reading takes beside the samples it gives: a filter on the way remembers blocks.
---@return number
function methods.work(e) return e._source and e._source.work or 0 end

--- What is remembered on the way from the file goes; the next read makes it again.
function methods.forget(e)
  local s = e._source
  if s and s.forget then s.forget() end
end

--- The samples in memory from here on; returns the object.
function methods.load(e)
  local _ = e.data
  return e
end

-- ---------------------------------------------------------------- one from another

local function deep(v)
  if type(v) ~= 'table' or getmetatable(v) then return v end
  local out = {}
  for k, x in pairs(v) do out[k] = deep(x) end
  return out
end

--- The object with other rows and columns (lists of positions, nil for all); shares samples where nothing is left out.
local function derived(e, rows, cols)
  local out = {}
  for k, v in pairs(e) do
    if k == '_source' or k == 'data' then out[k] = v else out[k] = deep(v) end
  end
  local data = rawget(e, 'data')
  if rows then
    if data then data = taken(data, rows, 1) else out._rows = at(e._rows, rows) end
    out.events = taken(e.events, rows, 1)
    out.selection = at(e.selection, rows)
    if e.metadata then out.metadata = at(e.metadata, rows) end
  end
  if cols then
    if data then data = taken(data, cols, 2) else out._cols = at(e._cols, cols) end
    out.channels = channels.copy(e.channels, cols)
    local left = {}
    for _, c in ipairs(out.channels) do left[c.name] = true end
    out.bads = {}
    for _, b in ipairs(e.bads) do
      if left[b] then out.bads[#out.bads + 1] = b end
    end
  end
  out.data = data
  return setmetatable(out, meta)
end

--- The same epochs with their samples behind read(rows, picks), which gives [#rows, #picks, T] of 1-based positions,
--- the caller's to write to. For what changes samples on their way, block by block.
---@param e table epochs
---@param read function
---@return table epochs
function M.behind(e, read)
  local out, n = derived(e), e:count()
  out.data, out._rows, out._cols = nil, range(1, n), range(1, #e.channels)
  out._source = { count = n, dtype = e:dtype(), read = read, work = e._source and e._source.work,
    forget = e._source and e._source.forget }
  return out
end

--- New epochs with some channels, in their order; `what` as in :picks. Marked bads are left out only where a type is
--- asked for.
---@param what string|integer|table
---@return table epochs
function methods.pick(e, what)
  local picks = channels.pick(e.channels, what, e.bads, 'epochs.pick')
  if #picks == 0 then error('epochs.pick: no channel is left; name others', 2) end
  return derived(e, nil, picks)
end

--- Epoch numbers from a list of numbers, a list of booleans or a bool tensor [E].
local function numbers(e, what)
  local n, out = e:count(), {}
  if tensor.is(what) then what = what:totable() end
  if type(what) == 'number' then what = { what } end
  if type(what) ~= 'table' then error(('epochs.drop: %s; give epoch numbers or a mask'):format(check.show(what)), 3) end
  if type(what[1]) == 'boolean' then
    if #what ~= n then
      error(('epochs.drop: the mask has %d places for %d epochs; give one each'):format(#what, n), 3)
    end
    for i = 1, n do out[i] = what[i] end
    return out
  end
  for _, i in ipairs(what) do
    local k = type(i) == 'number' and i < 0 and n + 1 + i or i
    if type(k) ~= 'number' or k ~= floor(k) or k < 1 or k > n then
      error(('epochs.drop: epoch %s is outside the %d there are; they count from 1, or -1 backwards'):format(
        tostring(i), n), 3)
    end
    out[k] = true
  end
  return out
end

--- New epochs without some of them; `reason` goes into the drop log.
--
-- what: numbers (1-based, negative from the end), a list of booleans, or a bool tensor [E] that is true for those to
-- drop. reason: 'USER' by default.
---     mc.meeg.epochs.new{ data = mc.zeros{ 3, 1, 4 }, fs = 1 }:drop({ 2 }, 'LOUD').drop_log[2][1]  --> LOUD
---@param what any
---@param reason? string
---@return table epochs
function methods.drop(e, what, reason)
  local gone, rows = numbers(e, what), {}
  for i = 1, e:count() do
    if not gone[i] then rows[#rows + 1] = i end
  end
  local out = derived(e, rows)
  for i = 1, e:count() do
    if gone[i] then table.insert(out.drop_log[e.selection[i]], reason or 'USER') end
  end
  return out
end

--- New epochs whose samples are f32 or f64; those in a file are converted as they are read.
---     mc.meeg.epochs.new{ data = mc.zeros{ 1, 1, 4 }, fs = 1 }:astype('f32').data.dtype  --> f32
---@param dtype string
---@return table epochs
function methods.astype(e, dtype)
  if dtype ~= 'f32' and dtype ~= 'f64' then
    error(('epochs.astype: dtype is %s; choose f32 or f64'):format(check.show(dtype)), 2)
  end
  if e:dtype() == dtype then return e end
  local out, source = derived(e), e._source
  if out.data then out.data = out.data:to { dtype = dtype } end
  if source then
    out._source = { count = source.count, dtype = dtype, work = source.work, forget = source.forget,
      read = function(rows, picks) return source.read(rows, picks):to { dtype = dtype } end }
  end
  return out
end

--- New epochs with the projectors of info.projs applied that are not yet: patterns over channels taken out of the
--- samples, where they are read.
---
--- Channels marked bad take no part. mc.meeg.epochs.cut and mc.meeg.open do this already, unless told proj = false.
--- Source: Uusitalo and Ilmoniemi, Signal-space projection method for separating MEG or EEG into components, 1997.
---@return table epochs
function methods.apply_proj(e)
  local read, projs = require('mascon.meeg.project').reader(e)
  if not read then return e end
  local out = M.behind(e, read)
  out.info.projs = projs
  return out
end

local LIMITS = { reject = { nil, 'table' }, flat = { nil, 'table' } }

--- New epochs without those in which a channel exceeds a limit of peak to peak: reject (upper) and flat (lower), each
--- type = SI units, as { reject = { eeg = 150e-6, eog = 250e-6 }, flat = { eeg = 1e-6 } }. Channels marked bad do not
--- count; their names are the reasons.
---@param opts table
---@return table epochs
function methods.drop_bad(e, opts)
  local out = require('mascon.meeg.cut').drop_bad(e, check.opts('epochs.drop_bad', opts, LIMITS, 3))
  return out
end

--- A copy that shares nothing.
---@return table epochs
function methods.copy(e)
  local out = derived(e)
  if rawget(e, 'data') then out.data = e.data:copy() end
  out.events = e.events:copy()
  return out
end

local SAVE = { overwrite = { false, 'bool' }, dtype = { nil, { 'f32', 'f64' } },
  split = { 2 ^ 31 - 1, 'number >= 4194304' }, level = { 0, 'integer >= 0' } }

--- Saves the epochs: .fif (opened by MNE and others; several files when they exceed `split` bytes), .npy or .npz with a
--- side table .json.
--
-- overwrite: replaces a file that is there. dtype on disk: f32 (default for .fif, as is usual) or f64 (default else:
-- that of the data). split: bytes of one .fif file. level: of compression of .npz (0 to 9). A file gets its name when
-- it is whole; a failure leaves none.
-- Errors: a file that is there, a full or read-only disk, events that FIF files cannot hold.
---@param path string
---@param opts? table
function methods.save(e, path, opts)
  check.arg('epochs.save', 'path', path, 'string', 3)
  require('mascon.meeg.files').save(path, e, check.opts('epochs.save', opts, SAVE, 3))
end

return M
