-- bands.lua - frequency bands of phase and amplitude.
--
-- Holds every way to name bands (ranges, presets, lists, vectors, search grids), their checks, and the warnings about
-- bands that do not suit the recording. Results are f64 [n, 2] edges and [n] centres in Hz.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local error = check.error
local M = {}

-- prefix of the option names, default range, and the part of the centre that makes half a width
local KIND = {
  phase = { prefix = 'pha', lo = 2, hi = 20, part = 4, cycles = 3 },
  amplitude = { prefix = 'amp', lo = 60, hi = 160, part = 8, cycles = 6 },
}
local PRESETS = { lres = 10, mres = 30, hres = 50, demon = 70, hulk = 100 }
local NAMED = { 'vector', 'search', 'centres', 'start' }

-- ---------------------------------------------------------------- checks

local function fail(level, fmt, ...) error('pac: ' .. fmt:format(...), level + 1) end

local function number(v, name, level)
  if type(v) ~= 'number' then fail(level + 1, '%s is %s; it must be a number of Hz', name, check.show(v)) end
  if v ~= v or v == math.huge or v == -math.huge then
    fail(level + 1, '%s is %s; it must be finite', name, tostring(v))
  end
  return v
end

--- One band: finite, 0 < lo < hi < fs/2.
local function check_band(lo, hi, fs, name, level)
  number(lo, name .. ' low edge', level + 1)
  number(hi, name .. ' high edge', level + 1)
  if lo <= 0 then fail(level + 1, '%s is [%g, %g] Hz; the low edge must be above 0', name, lo, hi) end
  if lo >= hi then fail(level + 1, '%s is [%g, %g] Hz; the low edge must be below the high edge', name, lo, hi) end
  if hi >= fs / 2 then
    fail(level + 1, '%s is [%g, %g] Hz; the high edge must be below fs/2 = %g Hz (fs is %g Hz)', name,
      lo, hi, fs / 2, fs)
  end
end

local function check_fs(fs, level)
  if type(fs) ~= 'number' then fail(level + 1, 'fs is %s; give the sampling rate in Hz', check.show(fs)) end
  if not (fs > 0 and fs < math.huge) then
    fail(level + 1, 'fs is %s Hz; it must be finite and above 0', tostring(fs))
  end
end

-- ---------------------------------------------------------------- makers: lists of { lo, hi }

--- n centres from lo to hi, both included.
local function centres_of(lo, hi, n, spacing)
  local c = {}
  for i = 1, n do
    local at = n > 1 and (i - 1) / (n - 1) or 0
    if spacing == 'log' then c[i] = math.exp(math.log(lo) + at * (math.log(hi) - math.log(lo)))
    else c[i] = lo + (i - 1) * (n > 1 and (hi - lo) / (n - 1) or 0) end
  end
  if n > 1 then c[1], c[n] = lo, hi end
  return c
end

local function from_range(kind, lo, hi, n, spacing, clip, compat)
  local out = {}
  for i, c in ipairs(centres_of(lo, hi, n, spacing)) do
    local a, b = c - c / kind.part, c + c / kind.part
    if clip then
      a, b = math.max(a, compat == 'gpac' and math.max(lo, 0.5) or lo), math.min(b, hi)
    end
    out[i] = { a, b }
  end
  return out
end

local function from_steps(start, stop, width, step, name, level)
  local label = name .. ' {start, stop, width, step}'
  number(start, label .. ' entry 1', level + 1)
  number(stop, label .. ' entry 2', level + 1)
  number(width, label .. ' entry 3', level + 1)
  number(step, label .. ' entry 4', level + 1)
  if width <= 0 then fail(level + 1, '%s has width %g Hz; it must be above 0', label, width) end
  if step <= 0 then fail(level + 1, '%s has step %g Hz; it must be above 0', label, step) end
  local count = math.ceil((stop - width - start) / step)
  if count < 1 then
    fail(level + 1, '%s holds no band: start + width = %g Hz must be below stop = %g Hz', label, start + width, stop)
  end
  local out = {}
  for i = 1, count do
    local k = start + (i - 1) * step
    out[i] = { k, k + width }
  end
  return out
end

local function plain(v, name, level)
  if mc.is_tensor(v) then v = v:totable() end
  if type(v) ~= 'table' then fail(level + 1, '%s is %s; give a list of frequencies in Hz', name, check.show(v)) end
  local out = {}
  for i = 1, #v do out[i] = number(v[i], name .. ' entry ' .. i, level + 1) end
  return out
end

local function from_vector(v, name, level)
  v = plain(v, name, level + 1)
  if #v < 2 then fail(level + 1, '%s holds %d frequency; a vector needs at least 2', name, #v) end
  table.sort(v)
  local out = {}
  for i = 1, #v - 1 do out[i] = { v[i], v[i + 1] } end
  return out
end

local function from_search(v, name, level)
  v = plain(v, name, level + 1)
  if #v < 2 then fail(level + 1, '%s holds %d frequency; a search grid needs at least 2', name, #v) end
  table.sort(v)
  local out = {}
  for i = 1, #v - 1 do
    for j = i + 1, #v do out[#out + 1] = { v[i], v[j] } end
  end
  return out
end

local function from_centres(v, width, name, level)
  v = plain(v, name .. ' centres', level + 1)
  if number(width, name .. ' width', level + 1) <= 0 then
    fail(level + 1, '%s width is %g Hz; it must be above 0', name, width)
  end
  local out = {}
  for i, c in ipairs(v) do out[i] = { c - width / 2, c + width / 2 } end
  return out
end

--- Rows of two, or two rows of n, as a list of pairs.
local function from_pairs(v, name, level)
  local rows = #v
  for i = 1, rows do
    if type(v[i]) ~= 'table' then
      fail(level + 1, '%s entry %d is %s; its neighbours are {low, high} pairs', name, i, check.show(v[i]))
    end
    if #v[i] ~= #v[1] then
      fail(level + 1, '%s entry %d holds %d numbers, entry 1 holds %d; give {low, high} pairs', name, i, #v[i], #v[1])
    end
  end
  if #v[1] == 2 then
    local out = {}
    for i = 1, rows do out[i] = { v[i][1], v[i][2] } end
    return out
  end
  if rows ~= 2 then fail(level + 1, '%s is %d x %d; give n {low, high} pairs or two lists of n', name, rows, #v[1]) end
  local out = {}
  for i = 1, #v[1] do out[i] = { v[1][i], v[2][i] } end
  return out
end

--- Explicit bands in any of their forms.
local function from_bands(kind, what, name, level)
  if type(what) == 'string' then
    local n = PRESETS[what]
    if not n then
      local near = check.nearest(what, PRESETS)
      fail(level + 1, "%s is '%s'; presets are lres, mres, hres, demon and hulk%s", name, what,
        near and (" (did you mean '%s'?)"):format(near) or '')
    end
    return from_range(kind, kind.lo, kind.hi, n, 'linear', false)
  end
  local vector = mc.is_tensor(what) and what.ndim == 1
  if mc.is_tensor(what) then what = what:totable() end
  if type(what) ~= 'table' then
    fail(level + 1, '%s is %s; give a preset name, a list or a tensor', name, check.show(what))
  end
  if what.vector then return from_vector(what.vector, name .. '.vector', level + 1) end
  if what.search then return from_search(what.search, name .. '.search', level + 1) end
  if what.centres then return from_centres(what.centres, what.width, name, level + 1) end
  if what.start then return from_steps(what.start, what.stop, what.width, what.step, name, level + 1) end
  if #what == 0 then
    local key = next(what)
    if key ~= nil then
      local near = check.nearest(tostring(key), NAMED)
      fail(level + 1,
        '%s has no entry %s; named forms are vector, search, centres + width and start + stop + width + step%s',
        name, check.show(key),
        near and (' (did you mean %s?)'):format(near) or '')
    end
    fail(level + 1, '%s is an empty list; give at least one band', name)
  end
  if type(what[1]) == 'table' then return from_pairs(what, name, level + 1) end
  if #what == 2 then return { { what[1], what[2] } } end
  if #what == 4 and not vector then return from_steps(what[1], what[2], what[3], what[4], name, level + 1) end
  return from_vector(what, name, level + 1)
end

-- ---------------------------------------------------------------- public

local OPTS = {
  fs = { nil, 'any' }, range = { nil, 'any' }, n = { 10, 'any' }, bands = { nil, 'any' },
  spacing = { 'linear', { 'linear', 'log' } },
  clip = { nil, 'bool' }, compat = { 'native', { 'native', 'tensorpac', 'gpac' } },
}

local function make(which)
  local kind = KIND[which]
  local range_name, n_name, bands_name = kind.prefix .. '_range_hz', kind.prefix .. '_n_bands',
    kind.prefix .. '_bands_hz'
  return function(opts)
    local o = check.opts('pac.bands.' .. which, opts, OPTS, 3)
    check_fs(o.fs, 2)
    local list, name
    if o.bands ~= nil then
      name = bands_name
      list = from_bands(kind, o.bands, name, 2)
    else
      name = range_name
      local r = o.range or { kind.lo, kind.hi }
      if mc.is_tensor(r) then r = r:totable() end
      if type(r) ~= 'table' or #r ~= 2 then fail(2, '%s is %s; give {low, high} in Hz', name, check.show(o.range)) end
      check_band(r[1], r[2], o.fs, name, 2)
      if type(o.n) ~= 'number' or o.n ~= math.floor(o.n) or o.n < 1 or o.n > 1e6 then
        fail(2, '%s is %s; it must be a whole number of at least 1', n_name, check.show(o.n))
      end
      local clip = o.clip
      if clip == nil then clip = o.compat ~= 'tensorpac' end
      list = from_range(kind, r[1], r[2], o.n, o.spacing, clip, o.compat)
      name = name .. (clip and '' or ' without clip:')
    end
    for i, b in ipairs(list) do check_band(b[1], b[2], o.fs, ('%s band %d'):format(name, i), 2) end
    local bands = mc.tensor(list)
    if o.compat == 'gpac' then bands = bands:to 'f32':to 'f64' end
    return bands, bands:mean(2)
  end
end

--- Phase bands: edges and centres.
---
--- From a range: centres linspace(lo, hi, n) (or geometric), band [c - c/4, c + c/4]; clip = true keeps the edges
--- inside the range.
--- `bands` overrides the range: a preset ('lres' 10, 'mres' 30, 'hres' 50, 'demon' 70, 'hulk' 100 centres over the
--- default range, unclipped) · {lo, hi} · n pairs, or two lists of n · {start, stop, width, step}: [k, k + width] for k
--- = start, start + step, ... below stop - width (also by these names) · a longer list or any 1-D tensor: neighbours
--- after sorting · {vector = v} the same for any length · {search = grid}: all [f_i, f_j], i < j · {centres = c, width
--- = w}. Centres are the means of the edges.
---@param opts table fs Hz (required) · range {2, 20} Hz · n 10 · spacing 'linear'|'log' · clip true · bands · compat
---  'native'|'tensorpac' (no clip) |'gpac' (low edge at least 0.5 Hz, edges rounded to f32)
---@return any bands f64 [n, 2] Hz
---@return any centres f64 [n] Hz, the means of the edges
M.phase = make 'phase'

--- Amplitude bands: as bands.phase with range {60, 160} Hz and bands [c - c/8, c + c/8].
---@return any bands f64 [n, 2] Hz
---@return any centres f64 [n] Hz
M.amplitude = make 'amplitude'

--- Order of the 'fir1' filter of a band: cycles floor(fs / low), cut to floor((n - 1)/3) where n samples are fewer than
--- three orders.
---@return integer order
---@return boolean cut
function M.filter_order(n, fs, low, cycles)
  local order = math.floor(cycles * math.floor(fs / low))
  if n < 3 * order then return math.floor((n - 1) / 3), true end
  return order, false
end


local function edges(b) return ('[%.4g, %.4g] Hz'):format(b[1], b[2]) end

local WARN = { phase = { nil, 'tensor' }, amp = { nil, 'tensor' }, fs = { nil, 'number > 0' },
  n = { nil, 'integer >= 1' }, cycles = { { 3, 6 }, 'table' } }

--- What a reader of the map should know about these bands: one sentence per kind of trouble, none when all is well.
---
--- Overlap of phase and amplitude bands; amplitude bands narrower than twice the phase centre (they cut off the
--- sidebands fa -+ fp, so the modulation shrinks or moves); filters cut short because n < 3 order; fewer than ten
--- cycles of the slowest phase band.
---@param opts table phase f64 [p, 2] · amp f64 [a, 2] · fs Hz · n samples of a row · cycles {3, 6} filter lengths of
---  phase and amplitude
---@return string[]
function M.warnings(opts)
  local o = check.opts('pac.bands.warnings', opts, WARN, 3)
  for _, name in ipairs { 'phase', 'amp', 'fs', 'n' } do
    if o[name] == nil then error('pac.bands.warnings: option ' .. name .. ' is missing', 2) end
  end
  local phase, amp, out = o.phase:totable(), o.amp:totable(), {}
  local pairs_count = #phase * #amp

  local overlap, first = 0, nil
  local narrow, worst, worst_gap = 0, nil, 0
  for i, p in ipairs(phase) do
    local centre = (p[1] + p[2]) / 2
    for j, a in ipairs(amp) do
      if p[1] < a[2] and a[1] < p[2] then
        overlap = overlap + 1
        first = first or { i, j }
      end
      local gap = 2 * centre - (a[2] - a[1])
      if gap > 1e-9 * centre then
        narrow = narrow + 1
        if gap > worst_gap then worst_gap, worst = gap, { i, j, centre } end
      end
    end
  end
  if overlap > 0 then
    out[#out + 1] = (
      'phase and amplitude bands overlap in %d of %d pairs, first phase band %d %s with amplitude band %d %s; '
      .. 'what they share is no coupling')
      :format(overlap, pairs_count, first[1], edges(phase[first[1]]), first[2], edges(amp[first[2]]))
  end
  if narrow > 0 then
    local a = amp[worst[2]]
    out[#out + 1] = (
      'in %d of %d pairs the amplitude band is narrower than twice the phase centre and cuts off the sidebands, '
      .. 'worst amplitude band %d %s (%.4g Hz wide) with phase band %d at %.4g Hz, which needs %.4g Hz')
      :format(narrow, pairs_count, worst[2], edges(a), a[2] - a[1], worst[1], worst[3], 2 * worst[3])
  end
  local short, example = 0, nil
  for k, list in ipairs { phase, amp } do
    for i, b in ipairs(list) do
      local order, cut = M.filter_order(o.n, o.fs, b[1], o.cycles[k])
      if cut then
        short = short + 1
        example = example
          or { k == 1 and 'phase' or 'amplitude', i, b, math.floor(o.cycles[k] * math.floor(o.fs / b[1])), order }
      end
    end
  end
  if short > 0 then
    out[#out + 1] = ('%d samples are fewer than 3 filter orders for %d of %d bands, first %s band %d %s: '
      .. 'order %d is cut to %d and the band gets wider; use at least %d samples')
      :format(o.n, short, #phase + #amp, example[1], example[2], edges(example[3]), example[4],
        example[5], 3 * example[4])
  end
  local slowest = math.huge
  for _, p in ipairs(phase) do slowest = math.min(slowest, (p[1] + p[2]) / 2) end
  local cycles = slowest * o.n / o.fs
  if cycles < 10 then
    out[#out + 1] =
      ('%d samples at %g Hz hold %.1f cycles of the slowest phase band (%.4g Hz); about 10 are needed, %.4g s')
      :format(o.n, o.fs, cycles, slowest, 10 / slowest)
  end
  return out
end

return M
