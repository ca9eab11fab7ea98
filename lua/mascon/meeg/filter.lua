-- filter.lua - a recording seen through a zero-phase filter, computed where it is read.
--
-- Holds the design (a linear-phase low, high or band pass by the window method, its length from the width of the
-- transitions), the treatment of ends and junctions, and the grid of blocks on which it is computed: a sample comes out
-- the same whatever stretch is asked for, and a recording larger than memory passes through. Source: Widmann,
-- Schroeger, Maess, Digital filter design for electrophysiological data, 2015; widths as MNE-Python 1.13 chooses them.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local create = require 'mascon.array.create'
local op = require 'mascon.core.op'
local channels = require 'mascon.meeg.channels'
local error = check.error
local F = op.functions
local ceil, floor, max, min = math.ceil, math.floor, math.max, math.min
local M = {}

-- length of a filter with a Hamming window, in units of fs / transition width
local HAMMING = 3.3
-- least length of a transform, and how many blocks are remembered at most, so that neighbouring epochs share them
local TRANSFORM, REMEMBERED = 16384, 4
-- bytes that remembered blocks and the work on one may take when nothing is said, and how many arrays of a block that
-- work holds
local MEMORY, ARRAYS = 128 * 2 ^ 20, 8
-- bytes per point of what transforms of a length keep or take once
local TABLES = 320

-- ---------------------------------------------------------------- design

--- Low-pass taps f64 [n] with half amplitude at `cutoff`.
local function lowpass(cutoff, transition, fs)
  local n = floor(HAMMING / (transition / fs) + 0.5)
  n = n + 1 - n % 2
  return require('mascon.signal').firwin(n, cutoff, { fs = fs }), n
end

--- Taps f64 [N], N odd, symmetric; and N.
local function design(fname, o, fs)
  local nyquist, parts = fs / 2, {}
  if not o.highpass and not o.lowpass then error(fname .. ': give highpass, lowpass or both, in Hz', 4) end
  if o.highpass and o.highpass >= nyquist or o.lowpass and o.lowpass >= nyquist then
    error(('%s: an edge is at or above half the sampling rate, %.6g Hz; choose lower ones'):format(fname, nyquist), 4)
  end
  if o.highpass and o.lowpass and o.highpass >= o.lowpass then
    error(('%s: highpass %.6g Hz is not below lowpass %.6g Hz'):format(fname, o.highpass, o.lowpass), 4)
  end
  local narrow = math.huge
  if o.highpass then
    local width = o.highpass_width or min(max(0.25 * o.highpass, 2), o.highpass)
    parts[#parts + 1] = { cutoff = o.highpass - width / 2, width = width, sign = -1 }
    narrow = min(narrow, width)
    if width > o.highpass then
      error(fname .. ': highpass_width is wider than highpass lies above 0; make it narrower', 4)
    end
  end
  if o.lowpass then
    local width = o.lowpass_width or min(max(0.25 * o.lowpass, 2), nyquist - o.lowpass)
    parts[#parts + 1] = { cutoff = o.lowpass + width / 2, width = width, sign = 1 }
    narrow = min(narrow, width)
    if o.lowpass + width > nyquist then
      error(fname .. ': lowpass_width reaches beyond half the sampling rate; make it narrower', 4)
    end
  end
  local N = max(ceil(HAMMING / narrow * fs), 1)
  N = N + (N - 1) % 2
  local h = create.zeros { N }
  if not o.lowpass then h[(N + 1) / 2] = 1 end -- everything, from which the low part is taken
  for _, p in ipairs(parts) do
    local taps, n = lowpass(p.cutoff, p.width, fs)
    local at = (N - n) / 2
    h[{ { at + 1, at + n } }] = h[{ { at + 1, at + n } }] + taps * p.sign
  end
  return h, N
end

-- ---------------------------------------------------------------- stretches that hang together

--- Where a recording is interrupted: { from, to } in samples from 0, and whether what lies between has samples worth
--- filtering.
local function segments_of(r)
  local cuts = {}
  for _, a in ipairs(r.annotations) do
    local low = a.text:lower()
    local skip = low == 'bad_acq_skip'
    if skip or low:find '^edge' or low == 'boundary' or low == 'bad boundary' then
      local from = min(max(floor(a.onset * r.fs + 0.5), 0), r.samples)
      cuts[#cuts + 1] = { from, skip and min(floor((a.onset + a.duration) * r.fs + 0.5), r.samples) or from }
    end
  end
  table.sort(cuts, function(a, b) return a[1] < b[1] end)
  local out, at = {}, 0
  for _, c in ipairs(cuts) do
    if c[1] > at then out[#out + 1] = { from = at, to = c[1] } end
    if c[2] > max(c[1], at) then out[#out + 1] = { from = max(c[1], at), to = c[2], plain = true } end
    at = max(at, c[2])
  end
  if at < r.samples then out[#out + 1] = { from = at, to = r.samples } end
  return out
end

-- ---------------------------------------------------------------- one block

--- n samples before the first of x [c, k], mirrored about it: 2 x[1] - x[1 + i]; 0 where x is too short.
local function before(x, n)
  local c, have = x.shape[1], min(n, x.shape[2] - 1)
  local parts = {}
  if n > have then parts[1] = create.zeros { c, n - have } end
  if have > 0 then parts[#parts + 1] = x[{ { 1, c }, { 1, 1 } }] * 2 - x[{ { 1, c }, { 2, have + 1 } }]:flip(2) end
  return parts
end

--- The same behind the last.
local function behind(x, n)
  local c, k = x.shape[1], x.shape[2]
  local have, parts = min(n, k - 1), {}
  if have > 0 then parts[1] = x[{ { 1, c }, { k, k } }] * 2 - x[{ { 1, c }, { k - have, k - 1 } }]:flip(2) end
  if n > have then parts[#parts + 1] = create.zeros { c, n - have } end
  return parts
end

--- Filtered samples of block b (from 0) of a segment, [#picks, count], of a few channels.
local function part_of(p, seg, b, picks)
  local start = seg.from + b * p.step
  local count = min(p.step, seg.to - start)
  local from, to = max(seg.from, start - p.half), min(seg.to, start + count + p.half)
  local x = p.fetch(picks, from, to - from)
  local parts = from - (start - p.half) > 0 and before(x, from - (start - p.half)) or {}
  parts[#parts + 1] = x
  for _, part in ipairs(start + count + p.half > to and behind(x, start + count + p.half - to) or {}) do
    parts[#parts + 1] = part
  end
  if #parts > 1 then x = F.concat(parts, 2) end
  local fft = require 'mascon.fft'
  local y = fft.irfft(fft.rfft(x, { n = p.n }) * p.response, { n = p.n })
  return y[{ { 1, #picks }, { 2 * p.half + 1, 2 * p.half + count } }]:contiguous()
end

--- The same of any number of channels, as many at a time as the memory holds.
local function block_of(p, seg, b, picks)
  if #picks <= p.group then return part_of(p, seg, b, picks) end
  local out = tensor.empty('raw.filter', { #picks, min(p.step, seg.to - seg.from - b * p.step) }, 'f64', 3)
  for k = 1, #picks, p.group do
    local last = min(k + p.group - 1, #picks)
    local part = tensor.scope(function() return part_of(p, seg, b, { unpack(picks, k, last) }) end)
    out[{ { k, last } }] = part
    part:release() -- the scope around the block would keep it
  end
  return out
end

--- Room for a block of `bytes`: remembered ones beyond what the memory holds beside it go, the oldest first.
local function forget(p, bytes)
  for k = 1, #p.memory do
    bytes = bytes + 8 * p.memory[k].y:numel()
    if k >= REMEMBERED or bytes > p.bytes then
      for j = #p.memory, k, -1 do table.remove(p.memory, j).y:release() end -- no scope does it
      return
    end
  end
end

--- A block from memory or computed.
local function remembered(p, seg, b, picks)
  local key = ('%d %d %s'):format(seg.from, b, table.concat(picks, ','))
  for k, hit in ipairs(p.memory) do
    if hit.key == key then
      table.remove(p.memory, k)
      table.insert(p.memory, 1, hit)
      return hit.y
    end
  end
  forget(p, 8 * #picks * p.step) -- before the new one is made
  local y = tensor.scope(function() return block_of(p, seg, b, picks) end) -- transforms are many times a block
  table.insert(p.memory, 1, { key = key, y = tensor.outlive(y) })
  return y
end

--- Filtered samples [first, first + count) of channels that are all filtered.
local function filtered(p, picks, first, count)
  local out = tensor.empty('raw.filter', { #picks, count }, 'f64', 3)
  local all = { 1, #picks }
  for _, seg in ipairs(p.segments) do
    local a, z = max(first, seg.from), min(first + count, seg.to)
    if a < z and seg.plain then out[{ all, { a - first + 1, z - first } }] = p.fetch(picks, a, z - a)
    elseif a < z then
      for b = floor((a - seg.from) / p.step), floor((z - 1 - seg.from) / p.step) do
        local start = seg.from + b * p.step
        local u, v = max(a, start), min(z, start + p.step)
        local part = remembered(p, seg, b, picks)[{ all, { u - start + 1, v - start } }]
        out[{ all, { u - first + 1, v - first } }] = part
        part:release() -- or its block would stay beside the next one
      end
    end
  end
  return out
end

-- ---------------------------------------------------------------- the recording

local FILTER = {
  highpass = { nil, 'number > 0' }, lowpass = { nil, 'number > 0' }, highpass_width = { nil, 'number > 0' },
  lowpass_width = { nil, 'number > 0' }, channels = { nil, 'any' }, max_memory = { MEMORY, 'number > 0' },
}

--- The recording r seen through a filter; see the method :filter of recordings.
---@param r table raw
---@param opts table
---@return table fields of a Raw object
function M.fields(r, opts)
  local fname = 'raw.filter'
  local o = check.opts(fname, opts, FILTER, 4)
  local h, N = design(fname, o, r.fs)
  local chosen, data = {}, true
  local picked = channels.pick(r.channels, o.channels, nil, fname)
  for _, i in ipairs(picked) do chosen[i] = true end
  for _, i in ipairs(channels.pick(r.channels, nil)) do data = data and chosen[i] end
  local n = TRANSFORM
  while n < 8 * N do n = 2 * n end
  local p = { half = (N - 1) / 2, n = n, step = n - N + 1, fetch = r._fetch, segments = segments_of(r), memory = {} }
  -- half for what is remembered, a quarter for the work on a block, the rest for what is handed out
  p.bytes, p.group = o.max_memory / 2, max(1, floor(o.max_memory / 4 / (8 * ARRAYS * n)))
  p.response = tensor.outlive(require('mascon.fft').rfft(h, { n = n }))
  local out = {}
  for k, v in pairs(r) do out[k] = v end
  out._work = (r._work or 0) + max(p.bytes, 8 * #picked * p.step) + 8 * ARRAYS * n * min(p.group, #picked) + TABLES * n
  local inner_forget = r._forget
  out._forget = function()
    forget(p, math.huge)
    if inner_forget then inner_forget() end
  end
  out.channels, out.info = channels.copy(r.channels), {}
  for k, v in pairs(r.info) do out.info[k] = v end
  if data then -- the edges of the recording are those of its data channels
    out.info.highpass = max(r.info.highpass or 0, o.highpass or 0)
    out.info.lowpass = min(r.info.lowpass or r.fs / 2, o.lowpass or r.fs / 2)
  end
  out._fetch = function(picks, first, count)
    local inner, order, rest = {}, {}, {}
    for k, i in ipairs(picks) do
      if chosen[i] then inner[#inner + 1] = i else rest[#rest + 1] = { k, i } end
    end
    if #inner == 0 then return p.fetch(picks, first, count) end
    local y = filtered(p, inner, first, count)
    if #rest == 0 then return y end
    local others, at = {}, 0
    for k, pair in ipairs(rest) do
      others[k] = pair[2]
      order[pair[1]] = #inner + k
    end
    for k = 1, #picks do
      if not order[k] then
        at = at + 1
        order[k] = at
      end
    end
    return F.take(F.concat({ y, p.fetch(others, first, count) }, 1), create.tensor(order, { dtype = 'i64' }), 1)
  end
  return out
end

return M
