-- event.lua - coupling and rhythm around events, across trials.
--
-- Holds event-related coupling (circular-linear correlation and Gaussian copula), its permutation test, peak-locked
-- averages, inter-trial coherence, the mean power spectrum, and amplitudes by phase bin. Letters: n trials, P phase
-- bands, A amplitude bands, T samples.
--
-- Both kinds of event-related coupling are one computation. With s, c, a the trials of sin phi, cos phi and the
-- amplitude, scaled to unit sum of squares, R^2 = (a.s^2 + a.c^2 - 2 a.s a.c s.c) / (1 - s.c^2) is the share of a
-- that s and c explain; rho = R when s, c, a are centred values, and the information is -log2(1 - R^2)/2 bits when
-- they are normal scores of ranks. So a block of time is one batched product, and permuting the trials of a changes
-- that product alone.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local normalize = require 'workflows.pac.normalize'
local M = {}

local TWO_PI = 2 * math.pi
-- elements of a block of time, all bands and trials: a few MiB, which stay in cache between the ops of a block
local BLOCK = 2 ^ 19

-- ---------------------------------------------------------------- inputs

local function is_complex(x) return x.dtype == 'c64' or x.dtype == 'c128' end

local function describe(x) return ('%s %s'):format(x.dtype, tostring(x.shape)) end

--- A tensor [n, B, T]; [n, T] is one band.
local function trials(fname, x, what, level)
  if not mc.is_tensor(x) then
    error(('%s: %s is %s; give a tensor [trials, bands, samples]'):format(fname, what, check.show(x)), level + 1)
  end
  if x.ndim == 2 then x = x:expand_dims(2) end
  if x.ndim ~= 3 then
    error(('%s: %s is %s; give [trials, bands, samples] or [trials, samples]'):format(fname, what, describe(x)),
      level + 1)
  end
  if x.dtype == 'f32' or x.dtype == 'f64' or is_complex(x) then return x end
  return x:to 'f64'
end

--- Angles must lie within one turn: more is a sign of degrees or of unwrapped phases.
local function check_span(fname, phase, level)
  if is_complex(phase) or phase:numel() == 0 then return end
  local low, high = phase:min():item(), phase:max():item()
  if low - low ~= 0 or high - high ~= 0 then
    local finite = mc.where(mc.isfinite(phase), phase, 0)
    low, high = finite:min():item(), finite:max():item()
  end
  if high - low > TWO_PI * (1 + 1e-6) then
    error(('%s: phase runs from %g to %g, more than 2 pi; give radians within one turn (degrees? unwrapped?)'):format(
      fname, low, high), level + 1)
  end
end

local function pair(fname, phase, amp, level)
  phase, amp = trials(fname, phase, 'phase', level + 1), trials(fname, amp, 'amplitude', level + 1)
  local p, a = phase.shape, amp.shape
  if p[1] ~= a[1] or p[3] ~= a[3] then
    error(('%s: phase is %s and amplitude is %s; trials and samples must be equal'):format(fname, describe(phase),
      describe(amp)), level + 1)
  end
  check_span(fname, phase, level + 1)
  return phase, amp
end

--- sin and cos of the phase, also from an analytic signal.
local function unit(phase)
  if is_complex(phase) then
    local size = mc.abs(phase)
    return mc.imag(phase) / size, mc.real(phase) / size
  end
  return mc.sin(phase), mc.cos(phase)
end

local function amplitude(amp) return is_complex(amp) and mc.abs(amp) or amp end

-- ---------------------------------------------------------------- scaling over trials

--- Centred, unit sum of squares over the last axis.
local function centred(x)
  x = x - x:mean { -1, keepdim = true }
  return x / mc.sqrt(mc.sum(mc.square(x), { -1, keepdim = true }))
end

--- Normal quantiles of r/(n + 1), r = 1..n, scaled to unit sum of squares; they sum to zero.
local function normal_scores(n)
  local scores = mc.stats.norm_ppf(mc.arange(1, n) / (n + 1))
  return scores / mc.sqrt(mc.sum(mc.square(scores)))
end

--- Normal scores of the ranks over the last axis, ties in the order of trials; NaN where any trial is not finite.
local function scored(scores)
  return function(x)
    local order = mc.argsort(x)
    local y = mc.put_along_axis(x, order, scores:broadcast_to(x.shape))
    return y + mc.sum(x - x, { -1, keepdim = true })
  end
end

-- ---------------------------------------------------------------- event-related coupling

--- [n, B, t] as contiguous f64 or c128 [t, B, n].
local function by_time(x) return x:permute_dims(3, 2, 1):to(is_complex(x) and 'c128' or 'f64'):contiguous() end

--- The block first..last of time: s over c [t, 2P, n], s.c [t, P, 1], a [t, n, A], each scaled over trials. shared: the
--- s.c of Tensorpac's circular form, which correlates the sine of a band with the cosines of all phase bands together
--- (the same for a single band).
local function prepare(phase, amp, first, last, scale, shared)
  local s, raw = unit(by_time(phase[{ mc.all, mc.all, { first, last } }]))
  local c = scale(raw)
  s = scale(s)
  local a = scale(amplitude(by_time(amp[{ mc.all, mc.all, { first, last } }])))
  local sc
  if shared then
    raw = raw - raw:mean { -1, keepdim = true }
    local size = mc.sum(mc.sqrt(mc.sum(mc.square(raw), { -1, keepdim = true })), { 2, keepdim = true })
    sc = mc.sum(s * mc.sum(raw, { 2, keepdim = true }), { -1, keepdim = true }) / size
  else
    sc = mc.sum(s * c, { -1, keepdim = true })
  end
  return mc.concat({ s, c }, 2), sc, a:permute_dims(1, 3, 2):contiguous()
end

--- Mean over 2 half + 1 neighbours of the first axis; half samples less at each end.
local function pooled(x, half)
  if half == 0 then return x end
  return x:windows(2 * half + 1, { axis = 1 }):mean(-1)
end

--- Each sample becomes the mean of all windowed values whose window covers it: values [V, ...] of windows of 2 half + 1
--- give [V + 2 half, ...].
local function spread(x, half)
  local width = {}
  for i = 1, x.ndim do width[i] = i == 1 and { 2 * half, 2 * half } or { 0, 0 } end
  local function sums(v) return mc.sum(mc.pad(v, width):windows(2 * half + 1, { axis = 1 }), -1) end
  return sums(x) / sums(mc.ones(x.shape))
end

--- R^2 [t, P, A] from the products a.s over a.c [t, 2P, A] and s.c [t, P, 1].
local function explained(cross, sc, half)
  cross, sc = pooled(cross, half), pooled(sc, half)
  local p = sc.shape[2]
  local as, ac = cross[{ mc.all, { 1, p } }], cross[{ mc.all, { p + 1, 2 * p } }]
  local r2 = (mc.square(as) + mc.square(ac) - 2 * as * ac * sc) / (1 - mc.square(sc))
  return mc.clip(r2, 0, 1)
end

local STATISTIC = {
  circular = mc.sqrt,
  gc = function(r2) return mc.log1p(-r2) * (-0.5 / math.log(2)) end,
}

local ERPAC = {
  method = { 'circular', { 'circular', 'gc' } }, smooth = { 0, 'integer >= 0' }, n_perm = { 0, 'integer >= 0' },
  seed = { 42, 'integer >= 0' },
  mcp = { 'none', { 'none', 'maxstat', 'fdr', 'bonferroni' } }, maxstat_of = { nil, { 'z', 'raw' } },
    compat = { 'native', { 'native', 'tensorpac' } },
}
-- values of all permutations of a block of time, which maxima of standardised values need at once: 64 MiB
local KEPT = 2 ^ 23

local function erpac_options(opts, phase, level)
  local o = check.opts('pac.erpac', opts, ERPAC, level + 1)
  local n, t = phase.shape[1], phase.shape[3]
  if n < 4 then
    error(('pac.erpac: phase is %s; coupling across trials needs at least 4 trials, it has %d'):format(
      describe(phase), n), level)
  end
  if o.n_perm == 1 then error('pac.erpac: n_perm is 1; give 0 or at least 2', level) end
  if o.smooth > 0 and o.method ~= 'gc' then
    error("pac.erpac: smooth pools ranked samples and needs method = 'gc'", level)
  end
  if 2 * o.smooth + 1 > t then
    error(('pac.erpac: smooth is %d and there are %d samples; a window holds 2 smooth + 1 samples'):format(o.smooth, t),
      level)
  end
  if o.mcp == 'maxstat' and o.n_perm == 0 then
    error("pac.erpac: mcp = 'maxstat' compares with permutations; give n_perm", level)
  end
  if o.mcp ~= 'none' and o.method == 'gc' and o.n_perm == 0 then
    error(("pac.erpac: mcp = '%s' corrects p-values, which method = 'gc' has only with n_perm"):format(o.mcp), level)
  end
  return o
end

--- Event-related phase-amplitude coupling: at each sample, how much of the amplitude's variation over trials the phase
--- explains.
---
--- 'circular': rho^2 = (r_ac^2 + r_as^2 - 2 r_ac r_as r_sc)/(1 - r_sc^2) from the correlations over trials of a, sin
--- phi and cos phi; without permutations p = exp(-n rho^2/2) (chi-square with 2 degrees of freedom). 'gc': mutual
--- information in bits of the normal scores of the ranks over trials; smooth = h pools the samples t - h..t + h (NaN
--- where the window does not fit). With n_perm = K the trials of the amplitude are permuted, one permutation for all
--- bands and samples, and p = (1 + #{s >= x})/(1 + K); mcp = 'maxstat' compares with the maximum over bands and samples
--- of values standardised by the permutations and the observation of each sample and pair of bands
--- (maxstat_of = 'raw': of values as they are, the default with compat), 'fdr' and 'bonferroni' correct over all P A
--- T values. compat = 'tensorpac': r_sc is taken over all
--- phase bands together, and smooth gives each sample the mean of all windows that cover it.
---@param phase any f32|f64 [n, P, T] rad within one turn, or analytic signal c64|c128
---@param amp any f32|f64 [n, A, T], or analytic signal
---@param opts? table method 'circular'|'gc' · smooth 0 samples · n_perm 0 · seed 42 · mcp
---  'none'|'maxstat'|'fdr'|'bonferroni' · maxstat_of 'z'|'raw' · compat 'native'|'tensorpac'
---@return any stat f64 [P, A, T]: rho in [0, 1], or bits; NaN where a band does not vary over trials or is not finite
---@return any p f64 [P, A, T], nil for 'gc' without permutations
---@return table info method, n, n_perm, maxima (f64 [K]) with permutations, of standardised values (standard f64 [P,
---  A, T]) or raw ones
--- Source: A method for event-related phase/amplitude coupling, 2013; A statistical framework for neuroimaging data
--- analysis based on mutual information estimated via a Gaussian copula, 2017.
function M.erpac(phase, amp, opts)
  phase, amp = pair('pac.erpac', phase, amp, 2)
  local o = erpac_options(opts, phase, 3)
  local n, bands_p, samples = phase.shape[1], phase.shape[2], phase.shape[3]
  local bands_a, half = amp.shape[2], o.smooth
  local cover = o.compat == 'tensorpac' and half > 0
  local shared = o.compat == 'tensorpac' and o.method == 'circular'
  local statistic = STATISTIC[o.method]
  local scale = o.method == 'gc' and scored(normal_scores(n)) or centred

  local orders, maxima = {}, nil
  for k = 1, o.n_perm do orders[k] = mc.randperm(n, { seed = o.seed, stream = k }) end
  if o.n_perm > 0 then maxima = mc.full({ o.n_perm }, -mc.inf) end

  local out = mc.full({ bands_p, bands_a, samples }, mc.nan)
  local count = o.n_perm > 0 and mc.zeros { bands_p, bands_a, samples }
  local standardise = o.mcp == 'maxstat' and (o.maxstat_of or o.compat == 'native' and 'z' or 'raw') == 'z'
  local standard = standardise and mc.full({ bands_p, bands_a, samples }, mc.nan) or nil
  local block = cover and samples or math.max(1, math.floor(BLOCK / (n * (2 * bands_p + bands_a))))
  if standardise and not cover then block = math.max(1, math.min(block,
    math.floor(KEPT / ((o.n_perm + 1) * bands_p * bands_a)))) end
  local first_out, last_out = cover and 1 or half + 1, cover and samples or samples - half
  for first = first_out, last_out, block do
    local last = math.min(first + block - 1, last_out)
    mc.scope(function()
      local products, sc, a
      if cover then products, sc, a = prepare(phase, amp, 1, samples, scale)
      else products, sc, a = prepare(phase, amp, first - half, last + half, scale, shared) end
      local function value(of)
        local x = statistic(explained(mc.matmul(products, of), sc, half))
        return (cover and spread(x, half) or x):permute_dims(2, 3, 1)
      end
      local here = { mc.all, mc.all, { first, last } }
      local x = value(a)
      out[here] = x
      local all = standardise and mc.empty { x.shape[1], x.shape[2], x.shape[3], o.n_perm + 1 }
      for k = 1, o.n_perm do
        mc.scope(function()
          local s = value(mc.take(a, orders[k], 2))
          count:index_add_(here, mc.ge(s, x):to 'f64')
          if all then all[{ mc.ellipsis, k }] = s
          else maxima[k] = mc.maximum(maxima[k], mc.max(mc.where(mc.isnan(s), -mc.inf, s))) end
        end)
      end
      if all then
        all[{ mc.ellipsis, o.n_perm + 1 }] = x
        local z = normalize.standardised(all)
        standard[here] = z[{ mc.ellipsis, o.n_perm + 1 }]
        local s = z[{ mc.ellipsis, { 1, o.n_perm } }]
        maxima[mc.all] = mc.maximum(maxima, mc.max(mc.where(mc.isnan(s), -mc.inf, s), { 1, 2, 3 }))
      end
    end)
  end

  local info = { method = o.method, n = n, n_perm = o.n_perm, maxima = maxima, standard = standard }
  local p
  if o.n_perm > 0 then
    if o.mcp == 'maxstat' then p = normalize.maxstat((standard or out):reshape(1, -1), maxima):reshape(out.shape)
    else p = normalize.p_native(count, o.n_perm, out) end
  elseif o.method == 'circular' then
    p = mc.exp(mc.square(out) * (-n / 2))
  end
  if o.mcp == 'fdr' or o.mcp == 'bonferroni' then p = normalize[o.mcp](p, { scope = 'all' }) end
  return out, p, info
end

-- ---------------------------------------------------------------- peak-locked average

local LOCK = { before = { nil, 'integer >= 0' }, after = { nil, 'integer >= 0' }, search = { nil, 'integer >= 0' } }

--- Average of a signal (power of many bands, say) around the phase peak nearest to a cue.
---
--- In each trial the sample is sought at which the slow rhythm peaks (phase nearest 0 on its way up, a local maximum of
--- cos phi) and that lies nearest to `cue` (the earlier of two); trials are cut around their peaks and averaged. Trials
--- without a peak within `search`, or whose cut leaves the recording, are left out.
---@param phase any f32|f64 [n, T] rad, or analytic signal: the rhythm to lock to
---@param x any f32|f64 [n, A, T] or [n, T]: what is averaged
---@param cue integer sample (1-based)
---@param opts? table before, after: samples kept before and after the peak (a quarter of T each) · search: largest
---  distance of the peak from the cue (T)
---@return any average f64 [A, before + 1 + after]; the peak stands at sample before + 1
---@return table info peaks i64 [n] (0: none found), used bool [n], offsets f64 [W] samples from the peak, wave f64 [W]
---  mean cos phi
function M.peak_locked(phase, x, cue, opts)
  local fname = 'pac.peak_locked'
  phase, x = pair(fname, phase, x, 2)
  if phase.shape[2] ~= 1 then error(('%s: phase is %s; lock to one band'):format(fname, describe(phase)), 2) end
  local n, samples = phase.shape[1], phase.shape[3]
  check.arg(fname, 'cue', cue, 'integer >= 1', 3)
  if cue > samples then error(('%s: cue is sample %d; there are %d samples'):format(fname, cue, samples), 2) end
  local o = check.opts(fname, opts, LOCK, 3)
  local before, after = o.before or math.floor(samples / 4), o.after or math.floor(samples / 4)
  local width = before + 1 + after
  if width > samples or samples < 3 then
    error(('%s: before + 1 + after is %d samples; trials have %d'):format(fname, width, samples), 2)
  end

  local _, wave = unit(phase[{ mc.all, 1 }])
  local middle, left, right = wave['..., 2:-2'], wave['..., 1:-3'], wave['..., 3:-1']
  local peak = mc.logical_and(mc.logical_and(mc.ge(middle, left), mc.gt(middle, right)), mc.gt(middle, 0))
  local distance = mc.where(peak, mc.abs(mc.arange(2, samples - 1) - cue), mc.inf)
  local nearest, at = mc.min(distance, -1), mc.argmin(distance, -1) + 1
  local found = mc.le(nearest, o.search or samples)
  local used = mc.logical_and(found, mc.logical_and(mc.gt(at, before), mc.le(at, samples - after)))
  local keep = mc.nonzero(used)
  local kept = keep:numel()
  if kept == 0 then
    error(('%s: no trial of %d has a phase peak whose cut of %d samples fits; widen search or shorten before and after')
      :format(fname, n, width), 2)
  end
  local offsets = mc.arange(-before, after)
  local index = at[keep]:reshape(-1, 1, 1) + offsets:to 'i64'
  local function cut(v)
    return mc.take_along_axis(v[keep], index:broadcast_to(kept, v.shape[2], width), -1):to 'f64':mean(1)
  end
  return cut(amplitude(x)), {
    peaks = mc.where(found, at, 0):to 'i64', used = used, offsets = offsets, wave = cut(wave:reshape(n, 1, samples))[1],
  }
end

-- ---------------------------------------------------------------- coherence, spectrum

--- Inter-trial coherence: |mean over trials of e^{i phi}|, 1 where all trials agree.
---@param phase any f32|f64 [n, P, T] rad, or analytic signal
---@return any f64 [P, T]
function M.itc(phase)
  phase = trials('pac.itc', phase, 'phase', 2)
  local s, c = unit(phase)
  return mc.hypot(s:to 'f64':mean(1), c:to 'f64':mean(1))
end

local PSD = { fs = { 1, 'number > 0' }, average = { true, 'bool' } }

--- Power spectrum of trials: one-sided periodogram of each trial without its mean, averaged over trials.
---
--- S(f) = w |X(f)|^2 / (fs T), w = 2 except at 0 and, for even T, at fs/2.
---@param x any f32|f64 [n, T] or [n, C, T]
---@param opts? table fs 1 Hz · average true: over trials
---@return any f f64 [floor(T/2) + 1] Hz
---@return any psd f64 [..., F], units of x squared per Hz; without average [n, ..., F]
function M.psd(x, opts)
  local o = check.opts('pac.psd', opts, PSD, 3)
  if not mc.is_tensor(x) or x.ndim < 2 then
    error('pac.psd: x is ' .. (mc.is_tensor(x) and describe(x) or check.show(x)) .. '; give [trials, samples]', 2)
  end
  local samples = x.shape[x.ndim]
  if samples < 2 then error(('pac.psd: x is %s; a spectrum needs at least 2 samples'):format(describe(x)), 2) end
  local s = mc.signal.periodogram(x:to 'f64', { fs = o.fs, detrend = 'constant' })
  return s.f, o.average and s.psd:mean(1) or s.psd
end

-- ---------------------------------------------------------------- amplitudes by phase bin

local BINNED = { bins = { 18, 'integer >= 2' }, per_trial = { false, 'bool' }, distribution = { false, 'bool' } }

--- Bin 0..bins-1 of each phase: floor((phi + pi) bins / 2 pi), +pi in the last bin; angles outside [-pi, pi] are turned
--- back first.
local function bin_index(phase, bins)
  local phi = is_complex(phase) and mc.angle(phase) or phase
  phi = phi:to 'f64'
  phi = mc.where(mc.gt(mc.abs(phi), math.pi), phi - TWO_PI * mc.floor((phi + math.pi) / TWO_PI), phi)
  return mc.minimum(mc.floor((phi + math.pi) * bins / TWO_PI), bins - 1)
end

--- Mean amplitude in each bin of the phase: what a histogram of phase-locked amplitude shows.
---@param phase any f32|f64 [n, P, T] rad within one turn, or analytic signal
---@param amp any f32|f64 [n, A, T], or analytic signal
---@param opts? table bins 18 · per_trial false: keep trials apart · distribution false: scale to sum 1 over the bins
---@return any amplitude f64 [P, A, bins] ([n, P, A, bins] with per_trial), NaN in bins without samples (0 in a
---  distribution)
---@return any counts i64 [P, bins] ([n, P, bins]) samples in each bin
---@return any centres f64 [bins] rad
function M.binned(phase, amp, opts)
  phase, amp = pair('pac.binned', phase, amp, 2)
  local o = check.opts('pac.binned', opts, BINNED, 3)
  local n, bands_p, samples = phase.shape[1], phase.shape[2], phase.shape[3]
  local bands_a, bins = amp.shape[2], o.bins
  local labels = mc.arange(0, bins - 1)
  local kept = o.per_trial and n or 1
  local sums, counts = mc.zeros { kept, bands_p * bins, bands_a }, mc.zeros { kept, bands_p * bins }
  for i = 1, n do
    mc.scope(function()
      local member =
        mc.eq(bin_index(phase[i], bins):expand_dims(2), labels:reshape(-1, 1)):to 'f64':reshape(bands_p * bins, samples)
      local row = { o.per_trial and i or 1 }
      sums:index_add_(row, mc.matmul(member, amplitude(amp[i]):to 'f64'.T))
      counts:index_add_(row, mc.sum(member, -1))
    end)
  end
  counts = counts:reshape(kept, bands_p, 1, bins)
  sums = sums:reshape(kept, bands_p, bins, bands_a):permute_dims(1, 2, 4, 3)
  local mean = sums / counts
  if o.distribution then
    mean = mc.where(mc.eq(counts, 0), 0, mean)
    mean = mean / mc.sum(mean, { -1, keepdim = true })
  end
  counts = counts:reshape(kept, bands_p, bins):to 'i64'
  if not o.per_trial then mean, counts = mean[1], counts[1] end
  return mean, counts, (labels + 0.5) * (TWO_PI / bins) - math.pi
end

--- Binned amplitudes as rows of a table for mc.text.csv: one row per phase band, amplitude band and bin.
---@param mean any f64 [P, A, bins] from binned
---@param centres any f64 [bins] rad
---@param phase_hz any f64 [P] band centres
---@param amp_hz any f64 [A] band centres
---@return table rows { phase_hz, amp_hz, phase_rad, amplitude }
---@return table header their names
function M.binned_rows(mean, centres, phase_hz, amp_hz)
  if mean.ndim ~= 3 then
    error(('pac.binned_rows: amplitudes are %s; give [P, A, bins], one table per trial'):format(describe(mean)), 2)
  end
  local p, a, b = mean:size()
  if phase_hz:numel() ~= p or amp_hz:numel() ~= a or centres:numel() ~= b then
    error(('pac.binned_rows: amplitudes are %s; there are %d phase centres, %d amplitude centres and %d bin centres')
      :format(
        describe(mean), phase_hz:numel(), amp_hz:numel(), centres:numel()), 2)
  end
  local values, phases, amps, bins = mean:totable(), phase_hz:totable(), amp_hz:totable(), centres:totable()
  local rows = {}
  for i = 1, p do
    for j = 1, a do
      for k = 1, b do rows[#rows + 1] = { phases[i], amps[j], bins[k], values[i][j][k] } end
    end
  end
  return rows, { 'phase_hz', 'amplitude_hz', 'phase_rad', 'amplitude' }
end

return M
