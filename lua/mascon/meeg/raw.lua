-- raw.lua - one continuous recording, whatever file it lies in.
--
-- Holds the Raw object: which samples of which channels a caller means, and their way to SI units in memory, a piece at
-- a time, so that a recording larger than memory passes through. Samples stay in the file until asked for. The files
-- themselves are read by the modules of files/; cutting epochs is in cut.lua.
--
-- Fields: path · format · fs (Hz) · samples · duration (s) · first_sample (number of the first sample in the counting
-- of the file's events, 0-based) · channels (list, see mascon.meeg.channels) · bads (names) · annotations (list of {
-- onset (s after the first sample), duration (s), text }) · info (what the file carries beside) · warnings (list of
-- sentences).
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local create = require 'mascon.array.create'
local lib = require 'mascon.core.ffi'
local op = require 'mascon.core.op'
local channels = require 'mascon.meeg.channels'
local error = check.error
local floor, min, max = math.floor, math.min, math.max
local M = {}

-- bytes of a block of :blocks when no size is asked for, and of what is read between two looks for Ctrl-C
local BLOCK = 16 * 2 ^ 20

local methods = {}
local meta = {}
M.methods = methods

function meta.__index(r, k)
  if methods[k] then return methods[k] end
  if type(k) ~= 'string' or k:sub(1, 1) == '_' or k == 'path' then return nil end
  local names = { 'path', 'format', 'fs', 'samples', 'duration', 'first_sample', 'channels', 'bads', 'annotations',
    'info', 'warnings' }
  for name in pairs(methods) do names[#names + 1] = name end
  local near = check.nearest(k, names)
  error(('meeg.raw: a recording has no field %q%s'):format(k, near and ('; did you mean %q?'):format(near) or ''), 2)
end

function meta.__tostring(r)
  local kinds, count = {}, {}
  for _, c in ipairs(r.channels) do count[c.type] = (count[c.type] or 0) + 1 end
  for i, t in ipairs(channels.types(r.channels)) do kinds[i] = ('%d %s'):format(count[t], t) end
  return ('%s %s: %s, %.6g s at %.6g Hz, %d annotations'):format(r.format, r.path or '(memory)',
    table.concat(kinds, ', '), r.duration, r.fs, #r.annotations)
end

--- Whether a value is a Raw object.
---     mc.meeg.raw.is({})  --> false
---@param v any
function M.is(v) return type(v) == 'table' and getmetatable(v) == meta end

--- A recording over a source of samples. For the modules that read files.
--
-- fields: those of the object but samples' duration. fetch(picks, first, count): f64 [#picks, count] in SI units of
-- channels (1-based positions) from sample `first` (0-based) on. close: gives the file back, or nil.
---@param fields table
---@param fetch function
---@param close? function
---@return table raw
function M.over(fields, fetch, close)
  local r = fields
  r._fetch, r._close = fetch, close
  r.first_sample, r.bads, r.annotations, r.info, r.warnings = r.first_sample or 0,
    channels.marked('meeg.raw', r.bads or {}, r.channels), r.annotations or {}, r.info or {}, r.warnings or {}
  r.duration = r.samples / r.fs
  return setmetatable(r, meta)
end

local NEW = {
  data = { nil, 'tensor | table' }, fs = { nil, 'number > 0' }, channels = { nil, 'table' },
  types = { nil, 'string | table' }, positions = { nil, 'tensor | table' },
  bads = { nil, 'table' }, annotations = { nil, 'table' }, unit = { nil, 'string' }, info = { nil, 'table' },
}

--- A recording from samples in memory: data f64|f32 [C, T], fs in Hz; other options as in mc.meeg.epochs.new.
---     mc.meeg.raw.new{ data = mc.zeros{ 2, 500 }, fs = 250 }.duration  --> 2
---@param opts table
---@return table raw
function M.new(opts)
  local fname = 'meeg.raw.new'
  local o = check.opts(fname, opts, NEW, 3)
  local data = o.data
  if type(data) == 'table' then data = create.tensor(data) end
  if not tensor.is(data) or data.ndim ~= 2 then
    error(('%s: data is %s; a recording is [channels, samples]'):format(fname,
      tensor.is(data) and tensor.describe(data) or check.show(data)), 2)
  end
  data = tensor.hosted(data)
  if not o.fs then error(fname .. ': fs is missing; give the sampling rate in Hz', 2) end
  if not o.channels then
    o.channels = {}
    for i = 1, data.shape[1] do o.channels[i] = ('ch%d'):format(i) end
  end
  if #o.channels ~= data.shape[1] then
    error(('%s: %d channels for data of %s; give one each'):format(fname, #o.channels, tensor.describe(data)), 2)
  end
  local scale = o.unit and channels.unit(o.unit) or 1
  if o.unit and not channels.unit(o.unit) then
    error(('%s: unit %q is not known; scale the data to SI units and leave unit out'):format(fname, o.unit), 2)
  end
  return M.over({ format = 'memory', fs = o.fs, samples = data.shape[2],
    channels = channels.new(o.channels, o.types, o.positions), bads = o.bads, annotations = o.annotations,
    info = o.info }, M.rows(data, scale))
end

--- Refuses what is no factor and no list of them.
local function factors(fname, scale)
  if type(scale) ~= 'number' and (type(scale) ~= 'table' or type(scale[1]) ~= 'number') then
    error(('%s: scale is %s; give a number, or one for each channel'):format(fname, check.show(scale)), 3)
  end
end

--- The fetch of a recording that is a tensor [C, T], in memory or mapped: its rows times `scale` (one for all, or a
--- list).
---@param data any tensor
---@param scale number|number[]
function M.rows(data, scale)
  if not tensor.is(data) then
    error(('meeg.raw.rows: data are %s; give a tensor [C, T]'):format(check.show(data)), 2)
  end
  factors('meeg.raw.rows', scale)
  return function(picks, first, count)
    local x = op.functions.take(data[{ { 1, data.shape[1] }, { first + 1, first + count } }],
      create.tensor(picks, { dtype = 'i64' }), 1):to { dtype = 'f64' }
    return M.scaled(x, picks, scale)
  end
end

--- Rows x [..., #picks, n] times the factors of their channels; x itself when all are 1.
---@param x any tensor
---@param picks integer[]
---@param scale number|number[]
function M.scaled(x, picks, scale)
  factors('meeg.raw.scaled', scale)
  if type(scale) == 'number' then return scale == 1 and x or x * scale end
  local list, same = {}, true
  for k, i in ipairs(picks) do
    list[k] = scale[i]
    same = same and scale[i] == 1
  end
  return same and x or x * create.tensor(list, { dtype = x.dtype }):reshape(#list, 1)
end

--- Opens a recording: .fif (.fif.gz, split files), .edf, .bdf, .vhdr, .set, .npy, .npz. Only what describes it is read.
--
-- types: table name = type for channels whose file does not know it. For .npy and .npz: fs (Hz), unit ('uV' and so on,
-- default SI), table (side table of channels, .csv or .json; default the file of the same name), key (array of an .npz,
-- default 'data').
-- Errors: a file that is not there, not of its format, or holds epochs.
---@param path string
---@param opts? table
---@return table raw
function M.open(path, opts)
  local r = require('mascon.meeg.files').open(path, opts)
  if not M.is(r) then error(('meeg.raw.open: %s holds epochs; open it with mc.meeg.epochs.open'):format(path), 2) end
  return r
end

-- ---------------------------------------------------------------- questions

--- Names of the channels.
function methods.names(r) return channels.names(r.channels) end

local PICKS = { exclude_bads = { true, 'bool' } }

--- Positions of channels by name, type, group or number; see mc.meeg.channels.pick. exclude_bads (default true): marked
--- ones are left out where they are not named.
---@param what? string|integer|table
---@param opts? table
---@return integer[]
function methods.picks(r, what, opts)
  local o = check.opts('raw.picks', opts, PICKS, 3)
  return channels.pick(r.channels, what, o.exclude_bads and r.bads or {}, 'raw.picks')
end

--- The stretches that annotations mark as bad: a list of { from, to, text }, s after the first sample, in order. A text
--- marks them when it, or what follows the type of a BrainVision marker ("Comment/BAD muscle"), begins with "bad" in
--- any case.
function methods.bad_stretches(r)
  local out = {}
  for _, a in ipairs(r.annotations) do
    local text = a.text:lower()
    if text:sub(1, 3) == 'bad' or r.format == 'BrainVision' and text:match '^[^/]*/bad' then
      out[#out + 1] = { a.onset, a.onset + (a.duration or 0), a.text }
    end
  end
  table.sort(out, function(a, b)
    if a[1] ~= b[1] then return a[1] < b[1] end
    return a[2] < b[2]
  end)
  return out
end

--- Gives the file back now; what the object knows stays readable.
function methods.close(r)
  if r._close then r._close() end
  r._close = nil
  r._fetch = function() error(('raw.read: %s was closed; open it again'):format(r.path or 'it'), 3) end
end

-- ---------------------------------------------------------------- samples

local function positions(r, fname, what)
  if what ~= nil then return channels.pick(r.channels, what, nil, fname) end
  local out = {}
  for i = 1, #r.channels do out[i] = i end
  return out
end

local SPAN = {
  channels = { nil, 'any' }, from = { nil, 'number' }, to = { nil, 'number' }, first = { nil, 'integer' },
  last = { nil, 'integer' }, dtype = { 'f64', { 'f64', 'f32' } },
}

--- [first, last) in samples from 0.
local function span(r, fname, o)
  if (o.from or o.to) and (o.first or o.last) then
    error(fname .. ': both seconds (from, to) and samples (first, last) are given; give one kind', 3)
  end
  local n = r.samples
  if o.from or o.to then
    local a, b = o.from and floor(o.from * r.fs + 0.5) or 0, o.to and floor(o.to * r.fs + 0.5) or n
    if not (a >= 0 and b <= n and a <= b) then
      error(('%s: %.6g s to %.6g s is not in %s, which runs from 0 to %.6g s'):format(fname, o.from or 0,
        o.to or r.duration, r.path or 'it', r.duration), 3)
    end
    return a, b
  end
  local a, b = o.first or 1, o.last or -1
  local lo, hi = a < 0 and a + n or a - 1, b < 0 and b + n or b - 1
  if a == 0 or b == 0 or lo < 0 or hi >= n or hi < lo - 1 then
    error(('%s: samples %d to %d are not in %s, which has %d; they count from 1, or -1 backwards'):format(fname, a, b,
      r.path or 'it', n), 3)
  end
  return lo, hi + 1
end

--- Samples [lo, hi) of channels at `picks`, in pieces between which Ctrl-C is heard.
local function fetch(r, fname, picks, lo, hi, dtype)
  local step = max(1, floor(BLOCK / (8 * #picks)))
  if hi - lo <= step then
    local x = r._fetch(picks, lo, hi - lo)
    return x.dtype == dtype and x or x:to { dtype = dtype }
  end
  local out, at = tensor.empty(fname, { #picks, hi - lo }, dtype, 4), lo
  while at < hi do
    local n = min(step, hi - at)
    out[{ { 1, #picks }, { at - lo + 1, at - lo + n } }] = r._fetch(picks, at, n)
    at = at + n
    if at < hi and lib.C.mc_cancel_pending() ~= 0 then error(fname .. ': cancelled', 4) end
  end
  return out
end

--- Samples in SI units, [C, n].
--
-- channels: as in :picks, marked bads included; all when left out. Either from and to in seconds after the first sample
-- ([from, to), nearest samples), or first and last (1-based, inclusive, negative from the end). dtype f64 (default) or
-- f32. Owns the result.
---@param opts? table
---@return any tensor
function methods.read(r, opts)
  local o = check.opts('raw.read', opts, SPAN, 3)
  local picks = positions(r, 'raw.read', o.channels)
  local lo, hi = span(r, 'raw.read', o)
  if #picks == 0 or hi == lo then return tensor.empty('raw.read', { #picks, hi - lo }, o.dtype, 3) end
  local x = fetch(r, 'raw.read', picks, lo, hi, o.dtype)
  return x
end

local BLOCKS = { size = { nil, 'integer >= 1' }, overlap = { 0, 'integer >= 0' } }
for k, v in pairs(SPAN) do BLOCKS[k] = v end

--- Iterator over the recording in pieces: for x, first in raw:blocks{ size = 10000 } do ... end, x [C, n], first its
--- first sample (1-based).
--
-- size: samples of a block (default about 16 MiB), overlap: samples a block shares with the one before. Other options
-- as in :read.
---@param opts? table
function methods.blocks(r, opts)
  local fname = 'raw.blocks'
  local o = check.opts(fname, opts, BLOCKS, 3)
  local picks = positions(r, fname, o.channels)
  local at, hi = span(r, fname, o)
  local size = o.size or o.overlap + max(1, floor(BLOCK / (8 * max(1, #picks))))
  if o.overlap >= size then
    error(('%s: overlap is %d samples, a block has %d; take a smaller overlap'):format(fname, o.overlap, size), 2)
  end
  return function()
    if at >= hi or #picks == 0 then return nil end
    local n = min(size, hi - at)
    local x, first = fetch(r, fname, picks, at, at + n, o.dtype), at + 1
    if at + n >= hi then at = hi else at = at + n - o.overlap end
    return x, first
  end
end

--- The recording with some channels only, in their order; reads from the same file. `what` as in :picks.
---@param what string|integer|table
---@return table raw
function methods.pick(r, what)
  local picks = channels.pick(r.channels, what, r.bads, 'raw.pick')
  if #picks == 0 then error('raw.pick: no channel is left; name others', 2) end
  local out, left, from = {}, {}, r._fetch
  for k, v in pairs(r) do out[k] = v end
  out.channels, out.bads = channels.copy(r.channels, picks), {}
  for _, c in ipairs(out.channels) do left[c.name] = true end
  for _, b in ipairs(r.bads) do
    if left[b] then out.bads[#out.bads + 1] = b end
  end
  out._fetch = function(list, first, count)
    local outer = {}
    for k, i in ipairs(list) do outer[k] = picks[i] end
    return from(outer, first, count)
  end
  return setmetatable(out, meta)
end

--- The recording through a zero-phase filter: highpass and lowpass in Hz, computed where it is read.
--
-- A linear-phase filter by the window method (Hamming), centred: no delay, no distortion of phase. Widths of the
-- transitions: a quarter of the edge, at least 2 Hz, at most up to 0 or half the rate (highpass_width, lowpass_width in
-- Hz to choose). Ends are mirrored about their last sample; stretches apart from each other (gaps, boundaries) are
-- filtered apart. channels: as in :picks, default the data channels. max_memory: bytes that blocks may take while they
-- are computed and remembered (128 MiB); results do not depend on it.
-- Errors: edges that are out of order or at half the sampling rate.
-- Source: Widmann, Schroeger, Maess, Digital filter design for electrophysiological data, 2015; the defaults are those
-- of MNE-Python.
---@param opts table
---@return table raw
function methods.filter(r, opts)
  local out = setmetatable(require('mascon.meeg.filter').fields(r, opts), meta)
  return out
end

local ANNOTATIONS = { overwrite = { false, 'bool' } }

--- Saves the annotations alone as FIF (a name such as subject-annot.fif), for programs that read them beside the
--- recording.
---@param path string
---@param opts? table overwrite
function methods.save_annotations(r, path, opts)
  local fname = 'raw.save_annotations'
  check.arg(fname, 'path', path, 'string', 3)
  local o = check.opts(fname, opts, ANNOTATIONS, 3)
  if not path:lower():match '%.fif$' then
    error(('%s: %s; give a name that ends in -annot.fif'):format(fname, path), 2)
  end
  require('mascon.meeg.files').vacant(fname, path, o.overwrite)
  require('mascon.meeg.files.fif_save').annotations(path, r)
end

return M
