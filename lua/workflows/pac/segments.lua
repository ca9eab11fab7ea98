-- segments.lua - coupling of rows that are too long to be held: a stretch at a time, sums over all of them.
--
-- Stretches are filtered with their neighbourhood, so that the filter is that of the whole row, and what a measure
-- needs is added up: sums of amplitude by phase bin, or moments. Surrogates shift the amplitude of every stretch
-- circularly by an amount of its own, drawn for the stretch: the observation is one member (all shifts 0) of the group
-- of such shifts, surrogates are drawn from it, so that p = (1 + #{s >= x})/(1 + K) holds whatever the stretches have
-- of slow trends. Holds which analyses can be done so, the length of a stretch, its reading and the sums. Results do
-- not depend on memory or threads.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local ceiling = require 'mascon.base.ceiling'
local op = require 'mascon.core.op'
local C = require 'mascon.core.ffi'.C
local engine = require 'workflows.pac.engine'
local filters = require 'workflows.pac.filters'
local generate = require 'workflows.pac.generate'
local raw, error = op.raw, check.error
local M = {}

--- Samples of a row above which it is analysed in segments where nothing is said.
M.LONG = 2 ^ 20
-- a default segment: seconds, samples at most, and cycles of the slowest phase band at least
local SECONDS, SAMPLES, CYCLES = 60, 2 ^ 18, 64
-- bytes of the sums of all rows in work where nothing bounds them
local SUMS = 256 * 2 ^ 20

local NORM = { mean = 0, sum = 1 }
local BINS = { mi = 0, hr = 1 }
local SUMMED = { mi = true, hr = true, mvl = true, ozk = true, ndpac = true, glm = true }
local OTHER = { plv = 'the phase of an envelope', gc = 'ranks' }

-- ---------------------------------------------------------------- whether, and how long

--- Why an analysis cannot be done in segments, or nil.
local function obstacle(o)
  if (o.placed or 0) > 0 and C.mc_device_hosted(o.placed) == 0 then
    return 'segments are analysed on the CPU; give device = "cpu", or segment_length = 0'
  end
  if o.own then return 'measure is a function, which needs whole rows' end
  if not SUMMED[o.measure] then
    return ('measure is %s, which needs %s of whole rows'):format(o.measure, OTHER[o.measure])
  end
  if o.compat ~= 'native' or o.filter ~= 'fir1' then return 'it is for filter = "fir1" and compat = "native"' end
  if o.binning == 'soft' or o.bin_norm == 'pooled' then
    return 'it is for binning = "hard" and bin_norm = "mean" or "sum"'
  end
  if o.pool_segments or o.trial_mask then return 'pool_segments and masks by trial are for short segments' end
  if o.surrogate == 'exhaustive' then return 'surrogate is "exhaustive"; use block_swap with n_perm' end
  if o.surrogate == 'swap_trials' then return 'surrogate is "swap_trials"' end
  if o.shifts or o.null_shift then return 'shifts are drawn for every segment; leave shifts and null_shift out' end
end

--- Samples of a segment, or nil for rows that are analysed whole.
---@param o table completed options, with bands
---@param T integer samples of a row
---@return integer|nil
function M.length(o, T)
  local given = o.segment_length
  if given == 0 or not given and T <= M.LONG or not o.fs or not o.pha or o.P then return nil end
  local why = obstacle(o)
  if why and given then error(('pac: segment_length is %g s and %s'):format(given, why), 3) end
  if why then return nil end
  local all = filters.orders(o.pha, o.amp, { T = T, fs = o.fs, n_cycles = o.n_cycles })
  local order = math.max(unpack(all.orders))
  local slowest = mc.min(o.pha['..., 1']):item()
  local least = math.max(3 * order + 1, math.ceil(10 * o.fs / slowest))
  local n = given and math.floor(given * o.fs + 0.5) or
    math.max(least, math.ceil(CYCLES * o.fs / slowest), math.min(math.ceil(SECONDS * o.fs), SAMPLES))
  if n >= T then return nil end
  if n < least then
    error(('pac: segment_length is %g s; with these bands a segment needs at least %.4g s '
      .. '(3 filter orders and 10 cycles of the slowest band)'):format(given, least / o.fs), 3)
  end
  return n
end

--- Everything that does not depend on the samples, in the form of engine.prepare.
---@param o table completed options
---@param T integer samples of a row
---@param n integer samples of a segment
function M.prepare(o, T, n)
  local count = math.ceil(T / n)
  n = math.ceil(T / count) -- of one length, but for a few samples of the last
  local e = { o = o, T = T, P = o.pha.shape[1], A = o.amp.shape[1], given = false, fused = true,
    row_route = false, threshold = -1, segment = n, count = count }
  e.dtype, e.W = o.dtype, o.dtype == 'f32' and 16 or 8
  e.size, e.tiles = o.dtype == 'f32' and 4 or 8, math.ceil(e.A / e.W)
  e.window, e.L = engine.windows(o, T)
  local whole = filters.orders(o.pha, o.amp, { T = T, fs = o.fs, n_cycles = o.n_cycles })
  local order = math.max(unpack(whole.orders))
  e.cut, e.order = whole.cut, math.min(math.max(order, o.pad or 0), T - 1)
  -- beyond the filter itself: what the analytic signal adds to its ends dies away slowly
  e.overlap = 4 * order
  e.plan = filters.fused(o.pha, o.amp, { T = n, fs = o.fs, n_cycles = o.n_cycles, dtype = e.dtype,
    pad = math.min(e.overlap, n - 1) })
  e.overlap = e.plan.pad
  e.K = o.surrogate == 'none' and 0 or o.n_perm
  e.far, e.near, e.m = e.K, 0, o.min_shift or 0
  if e.K > 0 and 2 * e.m >= n then
    error(('pac: min_shift is %d samples and a segment has %d; use a smaller one'):format(e.m, n), 3)
  end
  if o.measure == 'ndpac' and o.ndpac_p < 1 then
    local q = mc.stats.norm_ppf(mc.tensor(1 - o.ndpac_p / 2)):item()
    e.threshold = e.L * q * q
  end
  return e
end

--- Bytes of the sums of a row.
local function sums_bytes(e)
  return 8 * (e.K + 1) * e.P * e.A * (e.o.moments and 2 or e.o.n_bins) + 8 * (e.P * (e.o.n_bins + 5) + 2 * e.A)
end

--- Bytes of the work on one stretch of a row: what is read, filtered, and its amplitude twice over.
local function stretch_bytes(e)
  local o, s, n = e.o, e.size, e.segment
  return e.plan.N * (16 + s) + n * ((o.moments and 2 * s or 1) * e.P + 3 * e.tiles * e.W * s)
    + (o.moments and 16 * e.tiles * e.W * n or 0)
end

--- Rows whose sums are held at a time, and rows filtered at a time.
local function share(e, rows, threads)
  local left = ceiling.left()
  local sums = left and math.min(SUMS, left / 3) or SUMS
  return math.max(1, math.min(rows, math.floor(sums / (2 * sums_bytes(e))))), math.max(1, threads)
end

--- Bytes of a run.
---@param e table
---@param rows integer
---@param threads integer
function M.bytes(e, rows, threads)
  local held = math.min(rows, math.max(1, math.floor(SUMS / (2 * sums_bytes(e)))))
  return engine.result_bytes(e, rows) + e.plan.bytes + 2 * held * sums_bytes(e)
    + threads * (stretch_bytes(e) + 7 * e.plan.N * e.size)
end

-- ---------------------------------------------------------------- stretches

--- Mean of each row, whether it is constant, and whether it holds NaN or Inf.
local function survey(read, rows, T, n)
  local sum, lo, hi = mc.zeros { #rows }, mc.full({ #rows }, math.huge), mc.full({ #rows }, -math.huge)
  for first = 1, T, n do
    mc.scope(function()
      local x = read(rows, first, math.min(first + n - 1, T)):to 'f64'
      mc.add(sum, mc.sum(x / T, 2), { out = sum })
      mc.minimum(lo, mc.min(x, 2), { out = lo })
      mc.maximum(hi, mc.max(x, 2), { out = hi })
    end)
  end
  return { mean = sum:reshape(-1, 1), flat = mc.eq(lo, hi):totable(), bad = mc.logical_not(mc.isfinite(sum)):totable() }
end

--- Samples from + 1 .. from + n (0-based from, which may lie outside) of some rows, mean removed, in the dtype of the
--- analysis: odd reflection about the ends as far as the filter of the whole row has it, zeros beyond.
local function stretch(e, read, rows, of, from, n)
  local T, o = e.T, e.o
  local a, b = math.max(0, from), math.min(T, from + n)
  local function ready(first, last) -- 0-based, half open
    local x = read(rows, first + 1, last):to 'f64'
    if o.demean then x = x - of.mean end
    for i, flat in ipairs(of.flat) do if flat and o.demean or of.bad[i] then x[i] = 0 end end
    return x:to(e.dtype)
  end
  local parts = {}
  local function blank(k) if k > 0 then parts[#parts + 1] = mc.zeros({ #rows, k }, { dtype = e.dtype }) end end
  if from < 0 then
    local have = math.min(-from, e.order)
    blank(-from - have)
    local x = ready(0, have + 1)
    parts[#parts + 1] = x['..., 1:1'] * 2 - mc.flip(x[('..., 2:%d'):format(have + 1)], { 2 })
  end
  if b > a then parts[#parts + 1] = ready(a, b) end
  if from + n > T then
    local have = math.min(from + n - T, e.order)
    local x = ready(T - have - 1, T)
    local mirrored = x[('..., %d:%d'):format(have + 1, have + 1)] * 2 - mc.flip(x[('..., 1:%d'):format(have)], { 2 })
    parts[#parts + 1] = mirrored
    blank(from + n - T - have)
  end
  return #parts == 1 and parts[1]:contiguous() or mc.concat(parts, 2)
end

--- Positions of segment g that count, from 1 within it: nil for all of its `size` samples, else i64.
local function kept(e, g, size)
  if e.L == e.T then return nil, size end
  local at, n, parts = (g - 1) * e.segment, 0, {}
  for _, w in ipairs(e.window:totable()) do
    local a, b = math.max(w[1], at), math.min(w[2], at + size)
    if a < b then
      parts[#parts + 1] = mc.arange(a - at + 1, b - at, { dtype = 'i64' })
      n = n + b - a
    end
  end
  if n == size then return nil, n end
  return n > 0 and mc.concat(parts, 1) or nil, n
end

--- Shifts of segment g: 0 for the observation first, then K within min_shift .. L - min_shift, or within 0 .. L - 1.
---@param e table K, m: smallest shift, o.seed
---@param g integer
---@param L integer samples of the segment that count
---@return integer[] [K + 1]
function M.shifts(e, g, L)
  local list = { 0 }
  if e.K == 0 then return list end
  local m = math.min(e.m, math.floor((L - 1) / 2))
  for k, u in ipairs(generate.uniform(e.K, e.o.seed + 7919 * g):totable()) do
    list[k + 1] = math.min(L - 1, m + math.floor(u * (m > 0 and L - 2 * m + 1 or L)))
  end
  return list
end

-- ---------------------------------------------------------------- sums

local function new_sums(e, jobs)
  local o, list = e.o, {}
  for j = 1, jobs do
    list[j] = o.moments
      and { cross = mc.zeros { e.K + 1, e.P, 2, e.A }, unit = mc.zeros { e.P, 5 }, amp = mc.zeros { 2, e.A } }
      or { sums = mc.zeros { e.K + 1, e.P, o.n_bins, e.A }, count = mc.zeros { e.P, o.n_bins } }
  end
  return list
end

local function add(to, x) mc.add(to, x, { out = to }) end

--- Adds one stretch of L samples: phase idx u8 [P, L] or unit [P, 2, L], amplitude [tiles, L, W], shifts [K + 1].
local function add_stretch(e, to, phase, amp, L, shifts)
  local o, K1 = e.o, #shifts
  local twice = e.K > 0 and mc.concat({ amp, amp }, 2) or amp
  local amp_at = mc.tensor(shifts, { dtype = 'i64' }) * e.W
  local at, none, empty = mc.zeros({ K1 }, { dtype = 'i64' }), mc.zeros({ 0 }, { dtype = 'i64' }), mc.zeros { 0 }
  local tile = twice.shape[2] * e.W
  if not o.moments then
    local r = raw('pac_bins', { phase, twice, at, amp_at, none, empty }, { P = e.P, A = e.A, L = L, G = 1,
      bins = o.n_bins, norm = 0, measure = 0, idx_band = L, amp_tile = tile, jobs = K1, want = 6 }, 2)
    add(to.sums, r[1])
    add(to.count, r[2][1])
    return
  end
  local second = mc.zeros({ 0 }, { dtype = e.dtype })
  add(to.cross, raw('pac_moments', { phase, twice, second, at, amp_at, none }, { P = e.P, A = e.A, L = L,
    measure = 0, unit_band = L, amp_tile = tile, jobs = K1, want = 2 }, 1)[1])
  for p = 1, e.P do
    mc.scope(function()
      local c, s = phase[{ p, 1 }]:to 'f64', phase[{ p, 2 }]:to 'f64'
      add(to.unit[p], mc.stack({ mc.sum(c), mc.sum(s), mc.sum(c * c), mc.sum(c * s), mc.sum(s * s) }, 1))
    end)
  end
  mc.scope(function()
    local a = amp:to 'f64'
    local function lanes(x) return mc.sum(x, 2):reshape(-1)[{ { 1, e.A } }] end
    add(to.amp, mc.stack({ lanes(a), lanes(a * a) }, 1))
  end)
end

--- Filters the stretches of segments g .. last of some rows and hands f(row, g, phase, amplitude, L).
local function features(e, of, read, rows, g, last, want, f)
  local p, ov, n = e.plan, e.overlap, e.segment
  local parts, G = {}, last - g + 1
  for k = 0, G - 1 do
    parts[k + 1] = mc.scope(function() return stretch(e, read, rows, of, (g + k - 1) * n - ov, n + 2 * ov) end)
  end
  local all = G == 1 and parts[1] or mc.concat(parts, 1) -- [G * rows, E]
  local window = mc.tensor({ { ov, ov + n } }, { dtype = 'i64' })
  local out = raw('pac_analytic', { all, p.table, p.spans, window }, { P = e.P, A = e.A, N = p.N, pad = 0,
    bins = e.o.n_bins, demean = false, L = n, want = want }, 3)
  for k = 0, G - 1 do
    local size = math.min(n, e.T - (g + k - 1) * n)
    local at, L = kept(e, g + k, size)
    for i = 1, L > 0 and #rows or 0 do
      mc.scope(function()
        local phase, amp = out[1][k * #rows + i], out[2][k * #rows + i]
        if at then
          phase, amp = mc.take(phase, at, phase.ndim), mc.take(amp, at, 2)
        elseif size < n then
          phase, amp = phase[('..., 1:%d'):format(size)]:contiguous(), amp[{ mc.all, { 1, size } }]:contiguous()
        end
        f(i, g + k, phase, amp, L)
      end)
    end
  end
end

-- ---------------------------------------------------------------- values

--- Values [K + 1, P, A] of moments, and the status of the observation [P, A].
--- Formulas as in kernels/workflows/pac/cpu/moments_body.h.
local function moment_values(e, t)
  local o, n = e.o, e.L
  local x, y = t.cross[{ mc.all, mc.all, 1 }], t.cross[{ mc.all, mc.all, 2 }]
  local a1, a2 = t.amp[1]:reshape(1, 1, -1), t.amp[2]:reshape(1, 1, -1)
  local mean = a1 / n
  local dev = mc.maximum(a2 - a1 * mean, 0)
  local function u(k) return t.unit[{ mc.all, k }]:reshape(1, -1, 1) end
  local noise = 4 * (e.size == 4 and 1.2e-7 or 2.3e-16)
  local flat = mc.le(dev, noise * noise * a2)
  local value, dead
  if o.measure == 'mvl' then value, dead = mc.sqrt(x * x + y * y) / n, mc.eq(a2, 0)
  elseif o.measure == 'ozk' then value, dead = mc.sqrt((x * x + y * y) / (n * a2)), mc.eq(a2, 0)
  else
    x, y = x - mean * u(1), y - mean * u(2)
    if o.measure == 'ndpac' then
      local q = (x * x + y * y) * ((n - 1) / (dev * n * n))
      value, dead = mc.where(mc.le(q, e.threshold / (n * n)), 0, mc.sqrt(q)), flat
    else
      local s11, s12, s22 = u(3) - u(1) * u(1) / n, u(4) - u(1) * u(2) / n, u(5) - u(2) * u(2) / n
      local det = s11 * s22 - s12 * s12
      value = mc.clip((s22 * x * x - 2 * s12 * x * y + s11 * y * y) / (det * dev), 0, 1)
      dead = mc.logical_or(flat, mc.le(det, 0))
    end
  end
  dead = mc.logical_or(dead, mc.zeros({ 1, e.P, e.A }, { dtype = 'bool' }))
  return mc.where(dead, 0, value):to(e.dtype), dead[1]:to 'i32' * 2
end

--- Results of one row, [1, ...] each, from its sums.
local function finish(e, t)
  local o, K, P, A = e.o, e.K, e.P, e.A
  local r, all = {}
  if o.moments then
    local values, status = moment_values(e, t)
    r.value, r.status = values['1:1']:contiguous(), status:reshape(1, P, A)
    all = values
  else
    local B = o.n_bins
    local function measured(k, sums, want, names)
      local count = mc.broadcast_to(t.count, { k, P, B }):contiguous()
      local like = mc.zeros({ 0 }, { dtype = e.dtype })
      local out = raw('pac_measure', { sums:reshape(-1), count:reshape(-1), mc.zeros { 0 }, like },
        { P = P, A = A, bins = B, norm = NORM[o.bin_norm], measure = BINS[o.measure], want = want }, #names)
      local by = {}
      for i, name in ipairs(names) do by[name] = out[i] end
      return by
    end
    local names, want = { 'value' }, 1
    if o.return_dist then names, want = { 'value', 'dist' }, 9 end
    for _, w in ipairs { { 'best', 16 }, { 'pref', 32 }, { 'status', 64 } } do
      names[#names + 1], want = w[1], want + w[2]
    end
    r = measured(1, t.sums['1:1']:contiguous(), want, names)
    if o.return_sums then r.sums, r.count = t.sums['1:1']:copy(), t.count:reshape(1, P, B):copy() end
    all = K > 0 and measured(K + 1, t.sums, 1, { 'value' }).value
  end
  if K > 0 then
    r.all = all[{ { 2, K + 1 } }]:reshape(1, K, P, A):contiguous()
    r = engine.statistics(e, r)
    if not engine.keeps_all(e) then r.all = nil end
  end
  return r
end

--- Coupling of rows read a stretch at a time.
---@param e table of prepare
---@param read function (rows, first, last) -> samples [#rows, n]; rows and samples count from 1
---@param read_amp function|nil the same for rows whose amplitudes are taken
---@param layout table pha, amp: rows of each job (0-based)
---@param opts table threads · step(share of the job) or nil
---@return table results [jobs, ...] as of the engine
function M.run(e, read, read_amp, layout, opts)
  local jobs = #layout.pha
  local _ = e.plan.table -- before what is left is measured
  local held, parallel = share(e, jobs, opts.threads)
  local parts = {}
  for first = 1, jobs, held do
    local last = math.min(first + held - 1, jobs)
    local list = mc.scope(function()
      local rows, place = {}, {}
      for j = first, last do
        for _, r in ipairs { layout.pha[j], layout.amp[j] } do
          if not place[r] then
            rows[#rows + 1] = r + 1
            place[r] = #rows
          end
        end
      end
      local of = survey(read, rows, e.T, e.segment)
      local of_amp = read_amp and survey(read_amp, rows, e.T, e.segment)
      local sums = new_sums(e, last - first + 1)
      local alone = not read_amp -- phase and amplitude of a job from one row, and every row in one job
      for j = first, last do alone = alone and layout.pha[j] == layout.amp[j] end
      alone = alone and #rows == last - first + 1
      local want, per = (e.o.moments and 2 or 1) + 8, math.max(1, math.ceil(parallel / #rows))
      for g = 1, e.count, alone and per or 1 do
        local upto = alone and math.min(g + per - 1, e.count) or g
        mc.scope(function()
          if alone then
            features(e, of, read, rows, g, upto, want, function(i, at, phase, amp, L)
              add_stretch(e, sums[i], phase, amp, L, M.shifts(e, at, L))
            end)
            return
          end
          local phases, amps, length = {}, {}, nil
          features(e, of, read, rows, g, g, want, function(i, _, phase, amp, L)
            phases[i], amps[i], length = tensor.hold(phase:copy()), tensor.hold(amp:copy()), L
          end)
          if read_amp then
            features(e, of_amp, read_amp, rows, g, g, want, function(i, _, _, amp)
              amps[i] = tensor.hold(amp:copy())
            end)
          end
          if not length then return end
          local shifts = M.shifts(e, g, length)
          for j = first, last do
            local p, a = place[layout.pha[j]], place[layout.amp[j]]
            add_stretch(e, sums[j - first + 1], phases[p], amps[a], length, shifts)
          end
        end)
        if opts.step then opts.step((upto - g + 1) / e.count * (last - first + 1)) end
      end
      local out, flags = {}, {}
      for j = first, last do
        local p, a = place[layout.pha[j]], place[layout.amp[j]]
        flags[j - first + 1] = of.bad[p] or (of_amp or of).bad[a]
        local r = mc.scope(function() return finish(e, sums[j - first + 1]) end)
        if flags[j - first + 1] then r.status = r.status * 0 end
        out[j - first + 1] = r
      end
      local joined = {}
      for name in pairs(out[1]) do
        local column = {}
        for i, r in ipairs(out) do column[i] = r[name] end
        joined[name] = #column == 1 and column[1] or mc.concat(column, 1)
      end
      return engine.poison(joined, flags, e.K)
    end)
    parts[#parts + 1] = list
  end
  if #parts == 1 then return parts[1] end
  local out = {}
  for name in pairs(parts[1]) do
    local column = {}
    for i, r in ipairs(parts) do column[i] = r[name] end
    out[name] = mc.concat(column, 1)
  end
  return out
end

return M
