--- mascon.pac.engine: rows of signals to coupling values and statistics of their surrogates.
--
-- Two routes. The row route chains filter, binning and measure for one row inside the cache; it serves the native filter and measures of one
-- row. The staged route keeps phases and amplitudes of a block of rows and pairs them freely: other filters, channel pairs, pooled
-- counts, pooled segments, trial permutations, soft bins. Owns the choice and the memory of a block; knows options as options.lua completed them.
local mc = require 'mascon'
local op = require 'mascon.op'
local tensor = require 'mascon.tensor'
local filters = require 'mascon.pac.filters'
local normalize = require 'mascon.pac.normalize'
local surrogate = require 'mascon.pac.surrogate'
local raw = op.raw
local M = {}

local NORM = { mean = 0, sum = 1, pooled = 2 }
local BINS = { mi = 0, hr = 1 }
local MOMENT = { mvl = 0, ozk = 1, ndpac = 2, glm = 3, plv = 4, gc = 5 }
-- bits of `want`, in the order in which results come
local WANT = { { 'value', 1 }, { 'sums', 2 }, { 'count', 4 }, { 'dist', 8 }, { 'best', 16 }, { 'pref', 32 }, { 'status', 64 }, { 'mean', 128 }, { 'm2', 256 }, { 'exceed', 512 }, { 'max', 1024 }, { 'all', 2048 } }

local function none64() return mc.zeros({ 0 }, { dtype = 'i64' }) end

--- Calls a coupling op and names its results.
local function couple(name, list, values, want)
  local bits, names = 0, {}
  for _, w in ipairs(WANT) do
    if want[w[1]] then
      bits = bits + w[2]
      names[#names + 1] = w[1]
    end
  end
  values.want = bits
  local out, r = raw(name, list, values, #names), {}
  for i, n in ipairs(names) do r[n] = out[i] end
  return r
end

--- Samples kept after filtering, as 0-based half-open pairs; empty: all. Returns i64 [n, 2] and their total.
function M.windows(o, T)
  local list = {}
  if o.mask then
    if o.mask.ndim ~= 1 or o.mask.shape[1] ~= T then error(('pac: mask is %s; it must be one boolean per sample, %d'):format(tensor.describe(o.mask), T), 4) end
    local m, from = o.mask:to 'bool':totable(), nil
    for t = 1, T + 1 do
      if m[t] and not from then from = t end
      if not m[t] and from then
        list[#list + 1] = { from - 1, t - 1 }
        from = nil
      end
    end
    if #list == 0 then error('pac: the mask keeps no sample', 4) end
  elseif o.windows then
    local last = 0
    for i, w in ipairs(o.windows) do
      local a, b = w[1], w[2]
      if type(a) ~= 'number' or type(b) ~= 'number' or a < 1 or b < a or b > T or a <= last then
        error(('pac: windows[%d] is {%s, %s}; windows are {first, last} samples in order, within 1..%d'):format(i, tostring(a), tostring(b), T), 4)
      end
      list[i], last = { a - 1, b }, b
    end
    if #list == 0 then error('pac: windows is an empty list; leave it out to keep all samples', 4) end
  end
  if o.edges > 0 then
    if 2 * o.edges > T - 2 then error(('pac: edges is %d; dropping it at both ends of %d samples leaves fewer than 2'):format(o.edges, T), 4) end
    if #list > 0 then error('pac: give edges, or mask or windows, not both', 4) end
    list = { { o.edges, T - o.edges } }
  end
  if #list == 0 then return mc.zeros({ 0, 2 }, { dtype = 'i64' }), T end
  local L = 0
  for _, w in ipairs(list) do L = L + w[2] - w[1] end
  if L < 2 then error('pac: fewer than 2 samples are kept', 4) end
  return mc.tensor(list, { dtype = 'i64' }), L
end

--- Everything about a job that does not depend on the samples.
---@param o table completed options, with pha and amp [n, 2]
---@param T integer
function M.prepare(o, T)
  local e = { o = o, T = T, P = o.pha.shape[1], A = o.amp.shape[1], W = o.dtype == 'f32' and 16 or 8 }
  e.tiles = math.ceil(e.A / e.W)
  e.window, e.L = M.windows(o, T)
  e.fused = o.filter == 'fir1' and o.compat == 'native'
  if e.fused then
    e.plan = filters.fused(o.pha, o.amp, { T = T, fs = o.fs, n_cycles = o.n_cycles, dtype = o.dtype })
    e.cut = e.plan.cut
  elseif o.filter == 'fir1' then
    e.cut = filters.fused(o.pha, o.amp, { T = T, fs = o.fs, n_cycles = o.n_cycles, dtype = 'f64' }).cut
  end
  e.row_route = e.fused and o.bin_norm ~= 'pooled' and o.binning == 'hard' and not o.pairs and not o.pool_segments and o.surrogate ~= 'swap_trials'
    and o.measure ~= 'plv' and o.measure ~= 'gc'
  local slowest = mc.min(o.pha['..., 1']):item()
  if o.surrogate ~= 'none' and o.surrogate ~= 'swap_trials' then
    e.m = surrogate.min_shift(o, e.L, slowest)
    e.shifts = surrogate.shifts(o, e.L, e.m)
    e.K = e.shifts:numel()
    e.by_fft = o.surrogate == 'exhaustive' and not o.moments and o.binning == 'hard' and not o.shifts
  elseif o.surrogate == 'swap_trials' then
    e.K = o.n_perm
  else
    e.K = 0
  end
  e.threshold = -1
  if o.measure == 'ndpac' and o.ndpac_p < 1 then
    local q = mc.stats.norm_ppf(mc.tensor(1 - o.ndpac_p / 2)):item()
    e.threshold = e.L * q * q
  end
  return e
end

--- Bytes one row of a block takes beside the results.
function M.row_bytes(e)
  local s = e.o.dtype == 'f32' and 4 or 8
  local b = e.T * s
  if e.row_route then return b end
  b = b + e.L * e.P + e.tiles * e.W * e.L * s
  if e.o.moments or e.o.binning == 'soft' then b = b + 2 * e.P * e.L * s end
  if e.o.measure == 'plv' then b = b + 2 * e.tiles * e.W * e.L * s end
  if not e.fused then b = b + 16 * (e.P + e.A) * e.L + 64 * e.T end
  return b
end

--- Bytes of all results of `rows` rows.
function M.result_bytes(e, rows)
  local s, o = e.o.dtype == 'f32' and 4 or 8, e.o
  local cell = s + 4 + (o.moments and 0 or s)
  if e.K > 0 then cell = cell + 8 * 3 + 3 * 8 end
  if o.return_dist then cell = cell + s * o.n_bins end
  if o.return_surrogates or o.surrogate == 'swap_trials' or o.compat == 'tensorpac' and e.K > 0 then cell = cell + s * e.K end
  return rows * (e.P * e.A * cell + e.K * s)
end

-- ---------------------------------------------------------------- row route

local function wanted(e)
  local o, w = e.o, { value = true, status = true }
  if not o.moments then
    w.pref = true
    w.dist = o.return_dist
  end
  if e.K > 0 and o.surrogate ~= 'swap_trials' then
    w.mean, w.m2, w.exceed = true, true, true
    w.max = o.mcp == 'maxstat'
    w.all = o.return_surrogates or o.compat == 'tensorpac'
  end
  return w
end

local function run_rows(e, x, xa)
  local o, p = e.o, e.plan
  local list = { x, p.table, p.spans, e.window, e.K > 0 and not e.by_fft and e.shifts or none64(), mc.zeros { 0 } }
  if xa then list[7] = xa end
  return couple('pac_row', list, {
    P = e.P, A = e.A, N = p.N, pad = p.pad, bins = o.n_bins, demean = o.demean, kind = o.moments and 2 or e.by_fft and 1 or 0,
    norm = NORM[o.bin_norm], measure = BINS[o.measure] or MOMENT[o.measure], NX = e.L, first = e.m or 0, K = e.K, threshold = e.threshold,
  }, wanted(e))
end

-- ---------------------------------------------------------------- staged route

--- Phases and amplitudes of a block of rows: idx u8 [R, P, L], angle, unit [R, P, 2, L] as needed, amp tiles [R, tiles, L, W].
local function phases(e, x, which)
  local o = e.o
  local soft, units = o.binning == 'soft', o.moments
  if e.fused then
    local p, want, names = e.plan, 0, {}
    local function ask(name, bit)
      want = want + bit
      names[#names + 1] = name
    end
    if which ~= 'amp' then
      if not soft and not units then ask('idx', 1) end
      if units then ask('unit', 2) end
      if soft then ask('angle', 4) end
    end
    if which ~= 'pha' then ask('amp', 8) end
    local out = raw('pac_analytic', { x, p.table, p.spans, e.window }, { P = e.P, A = e.A, N = p.N, pad = p.pad, bins = o.n_bins, demean = o.demean, want = want }, #names + 1)
    local r = {}
    for i, n in ipairs(names) do r[n] = out[i] end
    return r
  end
  x = x:to 'f64'
  if o.demean then x = x - x:mean { 2, keepdim = true } end
  local R, T = x.shape[1], e.T
  local L_gpac, kernel
  if o.filter == 'butter_trunc' then L_gpac, kernel = filters.butter_trunc(o.fs, mc.concat { o.pha, o.amp }) end
  local function analytic(set, side)
    local out = {}
    for i, b in ipairs(set:totable()) do
      out[i] = mc.scope(function()
        local z
        if o.filter == 'butter_trunc' then z = filters.butter_rows(x, kernel(b))
        elseif o.filter == 'morlet' then z = filters.morlet_rows(x, (b[1] + b[2]) / 2, o.fs, o.morlet_width):reshape(R, T)
        else z = filters.unfused(x, b, { fs = o.fs, cycles = o.n_cycles[side] }) end
        if e.L < T then
          local parts = {}
          for w, win in ipairs(e.window:totable()) do parts[w] = z[{ mc.all, { win[1] + 1, win[2] } }] end
          z = #parts == 1 and parts[1]:copy() or mc.concat(parts, 2)
        end
        return z
      end)
    end
    return mc.stack(out, 2)
  end
  local r = {}
  if which ~= 'amp' then
    local angle = mc.angle(analytic(o.pha, 1))
    if o.compat == 'tensorpac' then angle = mc.where(mc.ge(angle, math.pi), -math.pi, angle) end
    if o.moments then r.unit = mc.stack({ mc.cos(angle), mc.sin(angle) }, 3):to(o.dtype) end
    if soft then r.angle = angle:to(o.dtype)
    elseif not o.moments then r.idx = raw('pac_index', { angle }, { L = e.L, bins = o.n_bins }, 1)[1] end
  end
  if which ~= 'pha' then
    local a = mc.abs(analytic(o.amp, 2))
    if o.compat == 'tensorpac' and o.measure == 'plv' then
      local n = mc.fft.next_fast_len(e.L)
      if o.plv_entry == 'filterfit' then a = mc.angle(filters.hilbert(a, n)) end
      local theta = mc.angle(filters.hilbert(a, n))
      r.cosine = raw('pac_tile', { mc.cos(theta):to(o.dtype) }, { A = e.A, L = e.L }, 1)[1]
      r.sine = raw('pac_tile', { mc.sin(theta):to(o.dtype) }, { A = e.A, L = e.L }, 1)[1]
    end
    r.amp = raw('pac_tile', { a:to(o.dtype):contiguous() }, { A = e.A, L = e.L }, 1)[1]
  end
  return r
end

--- Coupling of jobs that pick phase rows and amplitude rows by number (0-based, [jobs * G]).
local function jobs(e, f, pha_rows, amp_rows, count, G, divisor, want, K)
  local o, L = e.o, e.L
  K = K or e.K
  local amp_at = mc.tensor(amp_rows, { dtype = 'i64' }) * (e.tiles * L * e.W)
  local shifts = K > 0 and e.shifts or none64()
  if o.moments then
    local unit_at = mc.tensor(pha_rows, { dtype = 'i64' }) * (e.P * 2 * L)
    return couple('pac_moments', { f.unit, f.cosine or f.amp, f.sine or mc.zeros({ 0 }, { dtype = o.dtype }), unit_at, amp_at, shifts },
      { P = e.P, A = e.A, L = L, measure = MOMENT[o.measure], K = K, unit_band = L, amp_tile = L * e.W, jobs = count, threshold = e.threshold }, want)
  end
  local soft = o.binning == 'soft'
  local idx_at = mc.tensor(pha_rows, { dtype = 'i64' }) * (e.P * L)
  return couple('pac_bins', { soft and f.angle or f.idx, f.amp, idx_at, amp_at, K > 0 and e.by_fft and none64() or shifts, divisor or mc.zeros { 0 } }, {
    P = e.P, A = e.A, L = L, G = G, bins = o.n_bins, norm = divisor and 2 or NORM[o.bin_norm == 'pooled' and 'mean' or o.bin_norm], measure = BINS[o.measure],
    exhaustive = K > 0 and e.by_fft, N = L, first = e.m or 0, K = K, asymmetric = o.compat == 'gpac', idx_band = L, amp_tile = L * e.W, jobs = count,
    epsilon = o.compat == 'gpac' and (o.dtype == 'f32' and 1e-10 or 1e-10) or 0, tau = soft and o.tau or 0,
  }, want)
end

--- Trial permutations: every surrogate pairs the phase of one segment with the amplitude of another.
local function swap(e, f, layout, r, divisor)
  local o, all = e.o, {}
  for k, perm in ipairs(surrogate.permutations(o, layout.S)) do
    local pha = {}
    for i, row in ipairs(layout.pha) do pha[i] = row - row % layout.S + perm[row % layout.S + 1] - 1 end
    all[k] = jobs(e, f, pha, layout.amp, layout.jobs, layout.G, divisor, { value = true }, 0).value
  end
  local s = mc.stack(all, 2) -- [jobs, K, P, A]
  local last = mc.moveaxis(s, 2, -1)
  local mean, m2 = normalize.moments(last)
  r.mean, r.m2, r.exceed = mean, m2, normalize.exceed(r.value:to 'f64', last:to 'f64')
  r.max = mc.max(mc.where(mc.isnan(s), -math.huge, s), { 3, 4 })
  r.all = s
  return r
end

--- Counts per bin over all phase bands and rows, for pooled normalisation.
local function pooled_counts(e, f, rows)
  local list = {}
  for i = 1, rows do list[i] = i - 1 end
  local r = couple('pac_bins', { f.idx, f.amp, mc.tensor(list, { dtype = 'i64' }) * (e.P * e.L), mc.tensor(list, { dtype = 'i64' }) * (e.tiles * e.L * e.W), none64(), mc.zeros { 0 } },
    { P = e.P, A = e.A, L = e.L, G = 1, bins = e.o.n_bins, idx_band = e.L, amp_tile = e.L * e.W, jobs = rows }, { count = true })
  return mc.sum(r.count, { 1, 2 })
end

local function features(e, x, xa)
  local o = e.o
  local f = phases(e, x, xa and 'pha')
  if xa then
    local g = phases(e, xa, 'amp')
    f.amp, f.cosine, f.sine = g.amp, g.cosine, g.sine
  end
  if o.measure == 'plv' and not f.cosine then
    local out = raw('pac_theta', { f.amp }, { L = e.L, N = e.L, A = e.A }, 2)
    f.cosine, f.sine = out[1], out[2]
  elseif o.measure == 'gc' then
    f.unit = raw('pac_ranks', { f.unit }, { L = e.L, step = 1 }, 1)[1]
    f.amp = raw('pac_ranks', { f.amp }, { L = e.L, step = e.W }, 1)[1]
  end
  return f
end

--- Coupling of one block.
---@param x any [R, T] rows in the dtype of the analysis
---@param xa any|nil amplitudes from other rows
---@param layout table pha, amp: rows of each job and segment (0-based), jobs, G, S
---@return table value, pref, status, mean, m2, ...
function M.block(e, x, xa, layout)
  if e.row_route then return run_rows(e, x, xa) end
  return mc.scope(function()
    local f = features(e, x, xa)
    local divisor = e.o.bin_norm == 'pooled' and not e.o.moments and pooled_counts(e, f, x.shape[1]) or nil
    local want = wanted(e)
    local swapped = e.o.surrogate == 'swap_trials'
    local r = jobs(e, f, layout.pha, layout.amp, layout.jobs, layout.G, divisor, want, swapped and 0 or nil)
    if swapped then r = swap(e, f, layout, r, divisor) end
    return r
  end)
end

return M
