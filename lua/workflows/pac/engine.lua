-- engine.lua - rows of signals to coupling values and statistics of their surrogates.
--
-- Two routes. The row route chains filter, binning and measure for one row inside the cache; it serves the native
-- filter and measures of one row. The staged route keeps phases and amplitudes of a block of rows and pairs them
-- freely: other filters, phases that are given, channel pairs, pooled counts, pooled segments, trial permutations, soft
-- bins. Makes the choice and the memory of a block; knows options as options.lua completed them. Everything that can
-- be refused is refused in prepare(), before the first row.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local filters = require 'workflows.pac.filters'
local normalize = require 'workflows.pac.normalize'
local own = require 'workflows.pac.own'
local raw = require 'workflows.pac.stages'.run
local surrogate = require 'workflows.pac.surrogate'
local error = check.error
local M = {}

local NORM = { mean = 0, sum = 1, pooled = 2 }
local BINS = { mi = 0, hr = 1 }
local MOMENT = { mvl = 0, ozk = 1, ndpac = 2, glm = 3, plv = 4, gc = 5 }
local ZERO_AMPLITUDE, BAD_INPUT, EPSILON_GPAC = 2, 4, 1e-10
-- bits of `want`, in the order in which results come
local WANT = { { 'value', 1 }, { 'sums', 2 }, { 'count', 4 }, { 'dist', 8 }, { 'best', 16 }, { 'pref', 32 },
  { 'status', 64 }, { 'mean', 128 }, { 'm2', 256 }, { 'exceed', 512 }, { 'max', 1024 }, { 'all', 2048 },
  { 'zmax', 4096 }, { 'zvalue', 8192 }, { 'znear', 16384 } }

local function none64() return mc.zeros({ 0 }, { dtype = 'i64' }) end

--- Calls a coupling op and names its results: maps of the bands, in host memory unless they stay where they are.
local function couple(name, list, values, want, stay)
  local bits, names = 0, {}
  for _, w in ipairs(WANT) do
    if want[w[1]] then
      bits = bits + w[2]
      names[#names + 1] = w[1]
    end
  end
  values.want = bits
  local out, r = raw(name, list, values, #names), {}
  for i, n in ipairs(names) do r[n] = stay and out[i] or tensor.hosted(out[i]) end
  return r
end

-- ---------------------------------------------------------------- plan

local function mask_windows(mask, T)
  local m = mc.is_tensor(mask) and mask or mc.tensor(mask)
  if m.ndim ~= 1 or m.shape[1] ~= T then
    error(
      ('pac: mask is %s; it must be one boolean per sample, %d, true where it counts'):format(tensor.describe(m), T), 2)
  end
  local keep, from, list = m:to('bool'):totable(), nil, {}
  for t = 1, T + 1 do
    if keep[t] and not from then from = t end
    if not keep[t] and from then
      list[#list + 1] = { from - 1, t - 1 }
      from = nil
    end
  end
  if #list == 0 then error('pac: mask keeps no sample; it is true where a sample counts', 2) end
  return list
end

local function listed_windows(windows, T)
  local list, last = {}, 0
  for i, w in ipairs(windows) do
    local a, b
    if type(w) == 'table' then a, b = w[1], w[2] end
    local whole = type(a) == 'number' and type(b) == 'number' and a == math.floor(a) and b == math.floor(b)
    if not whole or a < 1 or b < a or b > T or a <= last then
      error(('pac: windows[%d] is {%s, %s}; windows are {first, last} samples in order, within 1..%d'):format(i,
        tostring(a), tostring(b), T), 2)
    end
    list[i], last = { a - 1, b }, b
  end
  if #list == 0 then error('pac: windows is an empty list; leave it out to keep all samples', 2) end
  return list
end

--- Samples kept after filtering, as 0-based half-open pairs; empty: all. Returns i64 [n, 2] and their total.
function M.windows(o, T)
  if (o.mask and 1 or 0) + (o.windows and 1 or 0) + (o.edges > 0 and 1 or 0) > 1 then
    error('pac: more than one of edges, mask and windows is given; give one of them', 2)
  end
  local list = {}
  if o.mask then list = mask_windows(o.mask, T)
  elseif o.windows then list = listed_windows(o.windows, T)
  elseif o.edges > 0 then
    if 2 * o.edges > T - 2 then
      error(('pac: edges is %d; dropping it at both ends of %d samples leaves fewer than 2'):format(o.edges, T), 2)
    end
    list = { { o.edges, T - o.edges } }
  end
  if #list == 0 then return mc.zeros({ 0, 2 }, { dtype = 'i64' }), T end
  local L = 0
  for _, w in ipairs(list) do L = L + w[2] - w[1] end
  if L < 2 then error(('pac: %d of %d samples is kept; at least 2 are needed'):format(L, T), 2) end
  if L == T then return mc.zeros({ 0, 2 }, { dtype = 'i64' }), T end
  return mc.tensor(list, { dtype = 'i64' }), L
end

local function prepare_surrogates(e)
  local o = e.o
  e.K = 0
  if o.surrogate == 'swap_trials' then
    e.K = surrogate.permutation_count(o)
  elseif o.surrogate ~= 'none' then
    local slowest = o.pha and mc.min(o.pha['..., 1']):item()
    local all
    e.m = surrogate.min_shift(o)
    e.K, all = surrogate.shift_count(o, e.L, e.m)
    e.near, e.far = surrogate.near(o, e.L, slowest, e.K, e.m, not all and function() return e.shifts end or nil)
    if e.K < 2 then
      error(('pac: min_shift is %d and leaves %d shift of %d samples; at least 2 are needed'):format(e.m, e.K, e.L), 2)
    end
    e.by_fft = o.surrogate == 'exhaustive' and not o.moments and o.binning == 'hard' and not o.shifts
  end
end

--- Everything about a job that does not depend on the samples.
---@param o table completed options, with pha and amp [n, 2], or P and A where phases are given
---@param T integer
function M.prepare(o, T)
  local e = { o = o, T = T, P = o.P or o.pha.shape[1], A = o.A or o.amp.shape[1], given = o.P ~= nil }
  filters.later(e, { shifts = function() return surrogate.shifts(o, e.L, e.m) end })
  -- ranks of sin phi near its turning points need more digits than f32 has (measured: 3e-4 bit from swapped neighbours)
  e.dtype = o.measure == 'gc' and 'f64' or o.dtype
  e.W = e.dtype == 'f32' and 16 or 8
  e.size = e.dtype == 'f32' and 4 or 8
  e.tiles = math.ceil(e.A / e.W)
  e.window, e.L = M.windows(o, T)
  e.fused = not e.given and o.filter == 'fir1' and o.compat == 'native'
  if e.fused then
    e.plan = filters.fused(o.pha, o.amp, { T = T, fs = o.fs, n_cycles = o.n_cycles, dtype = e.dtype, pad = o.pad })
    e.cut = e.plan.cut
  elseif not e.given and o.filter == 'fir1' then
    e.cut = filters.orders(o.pha, o.amp, { T = T, fs = o.fs, n_cycles = o.n_cycles }).cut
  end
  local alone -- the measure needs nothing but one row
  if o.moments then alone = o.measure ~= 'plv' and o.measure ~= 'gc'
  else alone = o.bin_norm ~= 'pooled' and o.binning == 'hard' and not o.pool_segments end
  e.row_route = e.fused and alone and not o.own and not o.pairs and o.surrogate ~= 'swap_trials'
  prepare_surrogates(e)
  e.threshold = -1
  if o.measure == 'ndpac' and o.ndpac_p < 1 then
    local q = mc.stats.norm_ppf(mc.tensor(1 - o.ndpac_p / 2)):item()
    e.threshold = e.L * q * q
  end
  return e
end

-- ---------------------------------------------------------------- memory

--- Whether every surrogate is kept.
function M.keeps_all(e)
  local o = e.o
  return e.K > 0 and (o.return_surrogates or o.surrogate == 'swap_trials' or o.compat == 'tensorpac')
end

--- Bytes one row of a block takes beside the results.
function M.row_bytes(e)
  local s, o, L = e.size, e.o, e.L
  local b = e.T * s
  if e.row_route then return b end
  if o.own then
    b = b + 2 * s * (e.P + e.A) * L + own.row_bytes(e)
    return e.fused and b or b + 8 * e.T + 8 * math.max(e.P, e.A) * L + 100 * e.T
  end
  local tiles = e.tiles * e.W * L
  b = b + tiles * s -- amplitudes
  b = b + (o.moments and 2 * s or o.binning == 'soft' and s or 1) * e.P * L -- phases
  if o.measure == 'plv' then b = b + 2 * tiles * s end
  if o.measure == 'gc' then b = b + tiles * s + 2 * e.P * L * s end
  if not e.fused then
    -- f64 rows, angles or amplitudes of one side; with them one band and its transforms, or what becomes of all
    b = b + 8 * e.T + 8 * math.max(e.P, e.A) * L + math.max(100 * e.T,
      (o.moments and 16 + 2 * s or 0) * e.P * L, s * e.A * L)
  end
  return b
end

--- Bytes of the workspaces of all workers: what one of them lays out for its largest stage.
---@param segments integer of a job, where they are pooled
function M.work_bytes(e, workers, segments)
  local s, o, L = e.size, e.o, e.L
  local G = o.pool_segments and segments or 1
  local filter = e.plan and 6 * e.plan.N * s + e.W * L * s or 0
  local held = e.row_route and e.tiles * e.W * L * s + (o.moments and 2 * s or 1) * e.P * L or 0
  if o.own then return workers * filter + own.work_bytes(e) end
  local stage = 2 * e.K * (s + 8)
  if o.binning == 'soft' then
    stage = stage + G * L * s * (o.n_bins + 2 * e.W)
  elseif e.K > 0 and o.surrogate ~= 'swap_trials' then
    local wave, pairs_ = 2 * s * filters.correlation_length(L), math.ceil(o.n_bins / 2)
    if o.moments then
      stage = stage + (e.A + 5) * wave
    elseif e.by_fft then
      stage = stage + (G * (e.A + pairs_) + pairs_ + 3) * wave
    else
      stage = stage + G * L * (2 * e.W * s + 2 * e.P) + (o.mcp == 'maxstat'
        and o.maxstat_of == 'z' and e.K * e.P * e.W * s or 0)
    end
  end
  return workers * (held + math.max(filter, stage))
end

--- Bytes of all results of `rows` rows, with what making the p-values takes.
function M.result_bytes(e, rows)
  local s, o = e.size, e.o
  local cell = s + 4 + 4 + (o.moments and 0 or 2 * s + 12)
  if e.K > 0 then cell = cell + 16 * 8 end
  if o.return_dist and not o.moments then cell = cell + s * o.n_bins end
  if M.keeps_all(e) then
    cell = cell + s * e.K -- as the kernel leaves them
    if o.return_surrogates then cell = cell + s * e.K end
    if o.surrogate == 'swap_trials' then cell = cell + 32 * e.K end
    if o.compat == 'tensorpac' then cell = cell + 16 * e.K end
  end
  return rows * (e.P * e.A * cell + (o.mcp == 'maxstat' and e.K * (s + 8) + e.P * e.A * (e.K - (e.far or e.K)) * 3 * s
    or 0))
end

-- ---------------------------------------------------------------- rows with NaN or Inf

--- Rows of x that hold a value that is not finite, as a Lua list of flags, or nil when all are fine.
local function bad_rows(x)
  local fine = mc.all(mc.isfinite(x:reshape(x.shape[1], -1)), 2)
  if mc.all(fine) then return nil end
  local bad = fine:totable()
  for i = 1, #bad do bad[i] = not bad[i] end
  return bad
end

--- NaN and status 4 in the jobs whose phase is bad: a phase bin cannot say so, an amplitude can.
function M.poison(r, flags, K)
  local any = false
  for _, b in ipairs(flags) do any = any or b end
  if not any then return r end
  local jobs = #flags
  local map = mc.tensor(flags, { dtype = 'bool' })
  local function on(t)
    local shape = { jobs }
    for i = 2, t.ndim do shape[i] = 1 end
    return map:reshape(shape)
  end
  for _, name in ipairs { 'value', 'zvalue', 'dist', 'pref', 'mean', 'm2', 'all' } do
    if r[name] then r[name] = mc.where(on(r[name]), mc.full({ 1 }, mc.nan, { dtype = r[name].dtype }), r[name]) end
  end
  if r.best then r.best = mc.where(on(r.best), -1, r.best) end
  if r.exceed then r.exceed = mc.where(on(r.exceed), K, r.exceed) end
  for _, name in ipairs { 'max', 'zmax', 'znear' } do
    if r[name] then r[name] = mc.where(on(r[name]), mc.full({ 1 }, -math.huge, { dtype = r[name].dtype }), r[name]) end
  end
  r.status = mc.where(on(r.status), mc.bitwise_or(r.status, mc.full({ 1 }, BAD_INPUT, { dtype = 'i32' })), r.status)
  return r
end

--- 0 and status 2 in the cells [jobs, A] without variation: ranks and phases of an envelope do not show that there is
--- none.
local function deaden(r, dead, K)
  if not mc.any(dead) then return r end
  local jobs, A = dead.shape[1], dead.shape[2]
  local cell = dead:reshape(jobs, 1, A)
  for _, name in ipairs { 'value', 'mean', 'm2' } do
    if r[name] then r[name] = mc.where(cell, mc.zeros({ 1 }, { dtype = r[name].dtype }), r[name]) end
  end
  if r.exceed then r.exceed = mc.where(cell, K, r.exceed) end
  if r.zvalue then r.zvalue = mc.where(cell, mc.full({ 1 }, -math.huge, { dtype = r.zvalue.dtype }), r.zvalue) end
  if r.all then r.all = mc.where(dead:reshape(jobs, 1, 1, A), mc.zeros({ 1 }, { dtype = r.all.dtype }), r.all) end
  r.status = mc.where(cell, mc.bitwise_or(r.status, mc.full({ 1 }, ZERO_AMPLITUDE, { dtype = 'i32' })), r.status)
  return r
end

--- Bands of tiles [R, tiles, L, W] that do not vary: bool [R, A].
local function flat_bands(e, amp)
  local flat = mc.eq(mc.max(amp, 3), mc.min(amp, 3))
  return tensor.hosted(flat:reshape(flat.shape[1], -1)[{ mc.all, { 1, e.A } }]:contiguous())
end

-- ---------------------------------------------------------------- row route

local function wanted(e)
  local o, w = e.o, { value = true, status = true }
  if not o.moments then
    w.pref, w.best = true, true
    w.dist = o.return_dist
    w.sums, w.count = o.return_sums, o.return_sums
  end
  if e.K > 0 and o.surrogate ~= 'swap_trials' then
    w.mean, w.m2, w.exceed = true, true, true
    if o.mcp == 'maxstat' then
      w[o.maxstat_of == 'z' and 'zmax' or 'max'], w.zvalue = true, o.maxstat_of == 'z' or nil
      w.znear = o.maxstat_of == 'z' and e.far < e.K and not o.single_step or nil
    end
    w.all = M.keeps_all(e)
  end
  return w
end

local function run_rows(e, x, xa, stay)
  local o, p = e.o, e.plan
  local list = { x, p.table, p.spans, e.window, e.K > 0 and not e.by_fft and e.shifts or none64(), mc.zeros { 0 } }
  if xa then list[7] = xa end
  local r = couple('pac_row', list, {
    P = e.P, A = e.A, N = p.N, pad = p.pad, bins = o.n_bins, demean = o.demean, L = e.L,
    kind = o.moments and 2 or e.by_fft and 1 or 0, norm = NORM[o.bin_norm],
    measure = BINS[o.measure] or MOMENT[o.measure], NX = filters.correlation_length(e.L), first = e.m or 0, K = e.K,
    near = e.near or 0, near_count = e.K > 0 and e.K - (e.far or e.K) or 0, threshold = e.threshold,
  }, wanted(e), stay and not xa)
  local bad = xa and bad_rows(x)
  return bad and M.poison(r, bad, e.K) or r
end

-- ---------------------------------------------------------------- staged route: phases and amplitudes of a block

local function tiled(e, a) return raw('pac_tile', { a:to(e.dtype):contiguous() }, { A = e.A, L = e.L }, 1)[1] end

--- From the filter of the native mode: idx u8 [R, P, L], angle [R, P, L], unit [R, P, 2, L] as needed, amp tiles [R,
--- tiles, L, W].
local function fused_features(e, x, which)
  local o, p = e.o, e.plan
  local soft, want, names = o.binning == 'soft', 0, {}
  local function ask(name, bit)
    want = want + bit
    names[#names + 1] = name
  end
  if which ~= 'amp' then
    if not soft and not o.moments then ask('idx', 1) end
    if o.moments then ask('unit', 2) end
    if soft then ask('angle', 4) end
  end
  if which ~= 'pha' then ask('amp', 8) end
  local out = raw('pac_analytic', { x, p.table, p.spans, e.window },
    { P = e.P, A = e.A, N = p.N, pad = p.pad, bins = o.n_bins, demean = o.demean, L = e.L, want = want },
    #names + 1)
  local r = {}
  for i, n in ipairs(names) do r[n] = out[i] end
  return r
end

--- The samples of z [..., T] that are kept.
local function kept(e, z)
  if e.L == e.T then return z end
  local parts = {}
  for w, win in ipairs(e.window:totable()) do parts[w] = z[('..., %d:%d'):format(win[1] + 1, win[2])] end
  return #parts == 1 and parts[1]:contiguous() or mc.concat(parts, -1)
end

--- A function from bands [n, 2] to f(analytic signals) [R, n, L], one band at a time.
local function band_by_band(e, x)
  local o = e.o
  local R, T = x.shape[1], e.T
  local kernel
  if o.filter == 'butter_trunc' then
    local _, make = filters.butter_trunc(o.fs, mc.concat { o.pha, o.amp })
    kernel = make
  end
  return function(set, side, f)
    local out = mc.empty({ R, set.shape[1], e.L }, { device = x.device })
    for i, b in ipairs(set:totable()) do
      mc.scope(function()
        local z
        if o.filter == 'butter_trunc' then
          z = filters.butter_rows(x, kernel(b))
        elseif o.filter == 'morlet' then
          z = filters.morlet_rows(x, (b[1] + b[2]) / 2, o.fs, o.morlet_width):reshape(R, T)
        else
          z = filters.unfused(x, b, { fs = o.fs, cycles = o.n_cycles[side] })
        end
        out[{ mc.all, i }] = f(kept(e, z))
      end)
    end
    return out
  end
end

--- Phases [R, P, L] in the form that the measure needs.
local function phase_forms(e, r, angle)
  local o = e.o
  if o.compat == 'tensorpac' then angle = mc.where(mc.ge(angle, math.pi), -math.pi, angle) end
  if o.moments then r.unit = mc.stack({ mc.cos(angle):to(e.dtype), mc.sin(angle):to(e.dtype) }, 3)
  elseif o.binning == 'soft' then r.angle = angle:to(e.dtype)
  else r.idx = raw('pac_index', { angle:contiguous() }, { L = e.L, bins = o.n_bins }, 1)[1] end
end

--- Amplitudes [R, A, L] as tiles, and the phase of their envelope where Tensorpac's locking value wants it.
local function amplitude_forms(e, r, a)
  local o = e.o
  if o.compat == 'tensorpac' and o.measure == 'plv' then
    local n = mc.fft.next_fast_len(e.L)
    a = a:to 'f64'
    if o.plv_entry == 'filterfit' then a = mc.angle(filters.hilbert(a, n)) end
    local theta = mc.angle(filters.hilbert(a, n))
    r.cosine, r.sine = tiled(e, mc.cos(theta)), tiled(e, mc.sin(theta))
  end
  r.amp = tiled(e, a)
end

--- Phases [R, P, T] or amplitudes [R, A, T] of whole rows.
---@param which string 'pha' or 'amp'
function M.analytic(e, x, which)
  local o = e.o
  if not e.fused then
    x = x:to 'f64'
    if o.demean then x = x - x:mean { 2, keepdim = true } end
    local bands = band_by_band(e, x)
    if which == 'pha' then return bands(o.pha, 1, mc.angle) end
    return bands(o.amp, 2, mc.abs)
  end
  local p = e.plan
  local out = raw('pac_analytic', { x:to(e.dtype):contiguous(), p.table, p.spans, e.window },
    { P = e.P, A = e.A, N = p.N, pad = p.pad, bins = o.n_bins, demean = o.demean, L = e.L,
      want = which == 'pha' and 4 or 8 }, 2)[1]
  if which == 'pha' then return out end
  local R = out.shape[1]
  return mc.permute_dims(out, { 1, 2, 4, 3 }):reshape(R, e.tiles * e.W, e.L)[{ mc.all, { 1, e.A } }]
end

local function tensor_features(e, x, which)
  return mc.scope(function()
    local o, r = e.o, {}
    x = x:to 'f64'
    if o.demean then -- exactly 0 where nothing varies, whatever rounding the mean got
      local flat = mc.eq(mc.max(x, { 2, keepdim = true }), mc.min(x, { 2, keepdim = true }))
      x = mc.where(flat, 0, x - x:mean { 2, keepdim = true })
    end
    local bands = band_by_band(e, x)
    if which ~= 'amp' then mc.scope(function()
      phase_forms(e, r, bands(o.pha, 1, mc.angle))
      return r
    end) end
    if which ~= 'pha' then mc.scope(function()
      amplitude_forms(e, r, bands(o.amp, 2, mc.abs))
      return r
    end) end
    return r
  end)
end

--- Phases and amplitudes that were given: [R, P, T] rad within [-pi, pi] and [R, A, T].
local function given_features(e, phase, amp)
  return mc.scope(function()
    local r = {}
    phase_forms(e, r, kept(e, phase))
    amplitude_forms(e, r, kept(e, amp))
    return r
  end)
end

local function features(e, x, xa)
  local o, f = e.o
  if e.given then
    f = given_features(e, x, xa)
    f.bad = bad_rows(kept(e, x))
  else
    local of = e.fused and fused_features or tensor_features
    f = of(e, x, xa and 'pha')
    if xa then
      local g = of(e, xa, 'amp')
      f.amp, f.cosine, f.sine = g.amp, g.cosine, g.sine
    end
    f.bad = bad_rows(x)
  end
  if o.measure == 'plv' or o.measure == 'gc' then f.flat = flat_bands(e, f.amp) end
  if o.measure == 'plv' and not f.cosine then
    local out = raw('pac_theta', { f.amp }, { L = e.L, N = e.L, A = e.A }, 2)
    f.cosine, f.sine = out[1], out[2]
  elseif o.measure == 'gc' then
    -- a phase that stands still has ranks as meaningless as those of a constant
    local still = mc.all(mc.eq(mc.max(f.unit, 4), mc.min(f.unit, 4)):reshape(f.unit.shape[1], -1), 2)
    f.still = mc.any(still) and tensor.hosted(still) or nil
    local silent = mc.eq(mc.max(f.amp, { 3, keepdim = true }), mc.min(f.amp, { 3, keepdim = true }))
    f.unit = raw('pac_ranks', { f.unit }, { L = e.L, step = 1 }, 1)[1]
    f.amp = raw('pac_ranks', { f.amp }, { L = e.L, step = e.W }, 1)[1]
    -- the ranks of a constant are those of a ramp: without them its surrogates stay out of the maxima
    local function zero(t) return mc.zeros({ 1 }, { dtype = t.dtype, device = t.device }) end
    if mc.any(f.flat) then f.amp = mc.where(silent, zero(f.amp), f.amp) end
    if f.still then f.unit = mc.where(still:reshape(-1, 1, 1, 1), zero(f.unit), f.unit) end
  end
  return f
end

-- ---------------------------------------------------------------- staged route: coupling

--- Coupling of jobs that pick phase rows and amplitude rows by number (0-based, [count * G]).
local function jobs(e, f, pha_rows, amp_rows, count, G, divisor, want, K)
  local o, L = e.o, e.L
  K = K or e.K
  local amp_at = mc.tensor(amp_rows, { dtype = 'i64' }) * (e.tiles * L * e.W)
  local by_fft = K > 0 and e.by_fft and not o.moments
  local shifts = K > 0 and not by_fft and e.shifts or none64()
  if o.moments then
    local unit_at = mc.tensor(pha_rows, { dtype = 'i64' }) * (e.P * 2 * L)
    return couple('pac_moments',
      { f.unit, f.cosine or f.amp, f.sine or mc.zeros({ 0 }, { dtype = e.dtype }), unit_at, amp_at, shifts },
      { P = e.P, A = e.A, L = L, measure = MOMENT[o.measure], K = K, near = e.near or 0, near_count = e.K > 0 and e.K
          - (e.far or e.K) or 0, unit_band = L, amp_tile = L * e.W, jobs = count, threshold = e.threshold }, want)
  end
  local soft = o.binning == 'soft'
  local idx_at = mc.tensor(pha_rows, { dtype = 'i64' }) * (e.P * L)
  return couple('pac_bins', { soft and f.angle or f.idx, f.amp, idx_at, amp_at, shifts, divisor or mc.zeros { 0 } }, {
    P = e.P, A = e.A, L = L, G = G, bins = o.n_bins,
    norm = divisor and 2 or NORM[o.bin_norm == 'pooled' and 'mean' or o.bin_norm], measure = BINS[o.measure],
    exhaustive = by_fft, N = filters.correlation_length(L), first = e.m or 0, K = K, near = e.near or 0,
    near_count = e.K > 0 and e.K - (e.far or e.K) or 0, asymmetric = o.compat == 'gpac', idx_band = L,
    amp_tile = L * e.W, jobs = count, epsilon = o.compat == 'gpac' and EPSILON_GPAC or 0, tau = soft and o.tau or 0,
  }, want)
end

--- Trial permutations: every surrogate pairs the phase of one segment with the amplitude of another of the same
--- channel. A bad segment stays out of the exchange, so that the others do not notice it.
local function swap(e, f, layout, r, divisor)
  local o, S = e.o, layout.S
  local pha, amp, bad = {}, {}, f.bad
  for _, perm in ipairs(surrogate.permutations(o, S)) do
    for first = 1, #layout.pha, S do
      local p = perm
      if bad then
        local good = {}
        for s = 1, S do good[s] = not bad[layout.pha[first + s - 1] + 1] end
        p = surrogate.among(perm, good)
      end
      for s = 1, S do
        pha[#pha + 1] = layout.pha[first + p[s] - 1]
        amp[#amp + 1] = layout.amp[first + s - 1]
      end
    end
  end
  local v = o.own and own.values(e, f, pha, amp) or jobs(e, f, pha, amp, e.K * layout.jobs, layout.G, divisor,
    { value = true }, 0).value
  r.all = v:reshape(e.K, layout.jobs, e.P, e.A):permute_dims(2, 1, 3, 4):contiguous()
  return M.statistics(e, r)
end

--- What the results say of surrogates r.all [jobs, K, P, A] that were kept: mean, m2, exceed and, for maxstat, maxima.
function M.statistics(e, r)
  local o = e.o
  local last = mc.moveaxis(r.all, 2, -1):to 'f64'
  local mean, m2 = normalize.moments(last)
  -- equal surrogates have no spread, whatever rounding their mean got
  local flat = mc.eq(mc.max(last, -1), mc.min(last, -1))
  r.mean, r.m2, r.exceed = mean, mc.where(flat, 0, m2), normalize.exceed(r.value:to 'f64', last)
  if o.mcp == 'maxstat' then
    local s = r.all
    if o.maxstat_of == 'z' then
      s = normalize.standardised(mc.concat({ last, r.value:to('f64'):expand_dims(-1) }, -1)):to(e.dtype)
      r.zvalue = s[{ mc.ellipsis, e.K + 1 }]:contiguous()
      s = mc.moveaxis(s[{ mc.ellipsis, { 1, e.K } }], -1, 2)
    end
    r[o.maxstat_of == 'z' and 'zmax' or 'max'] =
      mc.max(mc.where(mc.isnan(s), mc.full({ 1 }, -math.huge, { dtype = s.dtype }), s), { 3, 4 })
  end
  return r
end

--- Counts per bin over all phase bands and good rows, for pooled normalisation.
local function pooled_counts(e, f, rows)
  local list, weight = {}, {}
  for i = 1, rows do
    list[i] = i - 1
    weight[i] = f.bad and f.bad[i] and 0 or 1
  end
  local r = couple('pac_bins', { f.idx, f.amp, mc.tensor(list, { dtype = 'i64' }) * (e.P * e.L),
    mc.tensor(list, { dtype = 'i64' }) * (e.tiles * e.L * e.W), none64(), mc.zeros { 0 } },
    { P = e.P, A = e.A, L = e.L, G = 1, bins = e.o.n_bins, idx_band = e.L, amp_tile = e.L * e.W,
      jobs = rows }, { count = true })
  return mc.sum(r.count * mc.tensor(weight):reshape(rows, 1, 1), { 1, 2 })
end

--- Which jobs touch a bad phase row.
local function bad_jobs(f, layout)
  local flags = {}
  for job = 1, layout.jobs do
    flags[job] = false
    for g = 1, layout.G do
      if f.bad[layout.pha[(job - 1) * layout.G + g] + 1] then flags[job] = true end
    end
  end
  return flags
end

--- Phases [R, P, L] and amplitudes [R, A, L] for a measure of the user. What is not finite is 0 before the filter,
--- and its results are replaced later.
local function plain_features(e, x, xa)
  local f = {}
  if e.given then
    f.phase, f.amp = kept(e, x):to(e.dtype), kept(e, xa):to(e.dtype)
    f.bad = bad_rows(f.phase)
    local fine = mc.all(mc.isfinite(f.amp), 3)
    if not mc.all(fine) then f.bad_amp = tensor.hosted(mc.logical_not(fine)) end
  else
    f.bad = bad_rows(x)
    local other = xa and bad_rows(xa)
    if other then f.bad_amp = mc.broadcast_to(mc.tensor(other, { dtype = 'bool' }):reshape(-1, 1), { #other, e.A }) end
    local function clean(rows, bad) return bad and mc.where(mc.isfinite(rows), rows, 0) or rows end
    f.phase = M.analytic(e, clean(x, f.bad), 'pha'):to(e.dtype)
    f.amp = M.analytic(e, xa and clean(xa, other) or clean(x, f.bad), 'amp'):to(e.dtype)
  end
  if f.bad then f.phase = mc.where(mc.isfinite(f.phase), f.phase, 0) end
  f.phase, f.amp = f.phase:contiguous(), f.amp:contiguous()
  return f
end

--- Coupling of one block by a measure of the user.
local function own_block(e, x, xa, layout)
  local f = plain_features(e, x, xa)
  local swapped = e.o.surrogate == 'swap_trials'
  local r = own.block(e, f, layout, wanted(e), swapped and 0 or e.K)
  if swapped then r = swap(e, f, layout, r) end
  if f.bad then r = M.poison(r, bad_jobs(f, layout), e.K) end
  return r
end

--- Coupling of one block.
---@param x any [R, T] rows in the dtype of the analysis; given phases [R, P, T]
---@param xa any|nil amplitudes from other rows; given amplitudes [R, A, T]
---@param layout table pha, amp: rows of each job and segment (0-based), jobs, G, S
---@param stay? boolean results may stay on the device, where nothing is left to do with them: nothing waits for it
---@return table value, pref, status, mean, m2, ...
function M.block(e, x, xa, layout, stay)
  return mc.scope(function()
    if e.row_route then return run_rows(e, x, xa, stay) end
    if e.o.own then return own_block(e, x, xa, layout) end
    local f = features(e, x, xa)
    local divisor = e.o.bin_norm == 'pooled' and not e.o.moments and pooled_counts(e, f, x.shape[1]) or nil
    local want = wanted(e)
    local swapped = e.o.surrogate == 'swap_trials'
    local r = jobs(e, f, layout.pha, layout.amp, layout.jobs, layout.G, divisor, want, swapped and 0 or nil)
    if swapped then r = swap(e, f, layout, r, divisor) end
    if f.flat then
      local dead = mc.take(f.flat, mc.tensor(layout.amp, { dtype = 'i64' }) + 1, 1)
      if f.still then
        dead = mc.logical_or(dead, mc.take(f.still, mc.tensor(layout.pha, { dtype = 'i64' }) + 1, 1):reshape(-1, 1))
      end
      r = deaden(r, dead, e.K)
    end
    if f.bad then r = M.poison(r, bad_jobs(f, layout), e.K) end
    return r
  end)
end

return M
