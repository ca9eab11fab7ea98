-- device.lua - the ops pac_* as tensor operations, for devices with programs of their own: what pac.h says of each, by
-- the same formulas. Bins are products with one-hot rows, all shifts correlations by Fourier transforms.
--
-- Results stay on the device. Sums of products run in the dtype of the rows by blocks of samples, whatever is made of
-- them in f64. Rows are taken in portions that keep the memory between stages bounded.
local mc = require 'mascon'
local portions = require 'mascon.base.portions'
local placed = require 'workflows.pac.placed'
local statistics = require 'workflows.pac.null'
local transforms = require 'workflows.pac.transforms'
local M = {}

local BLOCK = 2048 -- samples summed in the dtype of the rows
local EMPTY, ZERO, BAD = 1, 2, 4
local BY_FFT = 64 -- shifts from which correlations by Fourier transforms cost less than products
local HR = 1
local OZK, NDPAC, GLM, PLV, GC = 1, 2, 3, 4, 5
local TAU = 2 * math.pi

local function lanes(dtype) return dtype == 'f32' and 16 or 8 end
local function has(want, bit) return math.floor(want / bit) % 2 == 1 end

--- Results in the order of their bits.
local function ordered(want, named)
  local out = {}
  for _, r in ipairs(named) do
    if has(want, r[1]) then out[#out + 1] = r[2]() end
  end
  return out
end

--- [.., A, L] as tiles [.., tiles, L, W], and back.
local function tiled(a, dtype)
  local R, A, L, W = a.shape[1], a.shape[2], a.shape[3], lanes(dtype)
  local tiles = math.ceil(A / W)
  if tiles * W > A then
    a = mc.concat({ a, mc.zeros({ R, tiles * W - A, L }, { dtype = dtype, device = a.device }) }, 2)
  end
  return a:reshape(R, tiles, W, L):permute_dims(1, 2, 4, 3):contiguous()
end

local function untiled(t, A)
  local n = t.ndim
  local L, W = t.shape[n - 1], t.shape[n]
  local tiles = math.ceil(A / W)
  return t:reshape(-1, tiles, L, W):permute_dims(1, 2, 4, 3):reshape(-1, tiles * W, L)[{ mc.all, { 1, A } }]
end

local function binned(angle, bins)
  local k = mc.floor((angle:to 'f64' + math.pi) * (bins / TAU))
  return mc.where(mc.gt(k, 0), mc.minimum(k, bins - 1), 0):to 'u8'
end

-- ---------------------------------------------------------------- analytic signals

--- Rows before the transform: y f64 with a largest value near 1 and its odd extension; scale [R, 1], bad [R, 1].
local function extended(x, v)
  local T, pad = x.shape[2], v.pad
  local bad = mc.logical_not(mc.all(mc.isfinite(x), { 2, keepdim = true }))
  local y = mc.where(bad, 0, x:to 'f64')
  if v.demean == true or v.demean == 1 then
    local flat = mc.eq(mc.max(y, { 2, keepdim = true }), mc.min(y, { 2, keepdim = true }))
    y = mc.where(flat, 0, y - mc.mean(y, { 2, keepdim = true }))
  end
  local top = mc.max(mc.abs(y), { 2, keepdim = true })
  local scale = mc.where(mc.gt(top, 0), mc.exp2(mc.floor(mc.log2(mc.where(mc.gt(top, 0), top, 1)))), 1)
  y = y / scale
  if pad > 0 then
    local before, after
    if v.zero_ext == 1 then
      before = mc.zeros({ y.shape[1], pad }, { device = y.device })
      after = before
    else
      before = y['..., 1:1'] * 2 - mc.flip(y[('..., 2:%d'):format(pad + 1)], { 2 })
      after = y[('..., %d:%d'):format(T, T)] * 2 - mc.flip(y[('..., %d:%d'):format(T - pad, T - 1)], { 2 })
    end
    y = mc.concat({ before, y, after }, 2)
  end
  return y, scale, bad
end

--- Transfer of all bands [bands, N / 2 + 1] from their spans.
local function transfer(flat, spans, nb, half)
  local list = spans:reshape(3, nb):totable()
  local whole = flat:numel() == nb * half
  for b = 1, nb do whole = whole and list[1][b] == 0 and list[2][b] == half and list[3][b] == (b - 1) * half end
  if whole then return flat:reshape(nb, half) end
  local out = mc.zeros({ nb, half }, { dtype = flat.dtype })
  for b = 1, nb do
    local lo, hi, at = list[1][b], list[2][b], list[3][b]
    if hi > lo then out[{ b, { lo + 1, hi } }] = flat[{ { at + 1, at + hi - lo } }] end
  end
  return out
end

--- The samples that are kept, of [.., T].
local function kept(z, window)
  if #window == 0 then return z end
  local parts = {}
  for w, win in ipairs(window) do parts[w] = z[('..., %d:%d'):format(win[1] + 1, win[2])] end
  return #parts == 1 and parts[1]:contiguous() or mc.concat(parts, -1)
end

function M.pac_analytic(list, v)
  local x, window = list[1], list[4]:numel() > 0 and list[4]:reshape(-1, 2):totable() or {}
  local dtype, T, N, P, A = x.dtype, x.shape[2], v.N, v.P, v.A
  local nb, half = P + A, math.floor(N / 2) + 1
  local H = placed.beside(transfer(list[2], list[3], nb, half), x._device)
  local want = v.want + (has(v.want, 32) and 0 or 32)
  return portions.joined(x.shape[1], nb * N * 32, function(first, last)
    local y, scale, bad = extended(x[{ { first, last } }], v)
    local R = last - first + 1
    scale, bad = scale:reshape(R, 1, 1), bad:reshape(R, 1, 1)
    local spectrum = mc.fft.rfft(y:to(dtype), { n = N })
    local z = mc.fft.ifft(spectrum:reshape(R, 1, half) * H, { n = N, norm = 'forward' })
    z = kept(z[('..., %d:%d'):format(v.pad + 1, v.pad + T)], window)
    local L = z.shape[3]
    local pha = P > 0 and z[{ mc.all, { 1, P } }]
    local re, im
    if P > 0 then re, im = mc.real(pha), mc.imag(pha) + 0 end
    local angle
    local function phases()
      angle = angle or mc.atan2(im:to 'f64', re:to 'f64')
      return angle
    end
    local function spoiled(t) return mc.where(bad, mc.nan, t):to(dtype) end
    return ordered(want, {
      { 1, function()
        if P == 0 then return mc.zeros({ R, 0, L }, { dtype = 'u8', device = x.device }) end
        return mc.where(bad, 0, binned(phases(), v.bins)):to 'u8'
      end },
      { 2, function()
        local a = mc.hypot(re, im)
        local zero = mc.eq(a, 0)
        local by = mc.where(zero, 1, a)
        return spoiled(mc.stack({ mc.where(zero, 1, re / by), im / by }, 3)
          :reshape(R, P * 2, L)):reshape(R, P, 2, L)
      end },
      { 4, function() return spoiled(phases()) end },
      { 8, function() return tiled(spoiled(mc.abs(z[{ mc.all, { P + 1, nb } }]) * scale), dtype) end },
      { 16, function() return mc.where(bad, mc.complex(mc.nan, mc.nan), z * scale):to(z.dtype) end },
      { 32, function() return (bad:reshape(R):to 'i32' * BAD):to 'i32' end },
    })
  end)
end

-- ---------------------------------------------------------------- sums at shifts

--- sum_t w[t] a[(t + c) mod L] over the segments: f64 [jobs, Q, A] of w [jobs, G, Q, L] and twice [jobs, G, A, 2 L].
local function product(w, twice, c)
  local L, sum = w.shape[4], nil
  for first = 1, L, BLOCK do
    local last = math.min(first + BLOCK - 1, L)
    local part = mc.matmul(w[('..., %d:%d'):format(first, last)],
      twice[('..., %d:%d'):format(first + c, last + c)].mT):to 'f64'
    sum = sum and sum + part or part
  end
  return sum.shape[2] == 1 and sum:reshape(sum.shape[1], sum.shape[3], sum.shape[4]) or mc.sum(sum, 2)
end

--- The same at all shifts 0..L - 1, for one group of rows of w: f64 [jobs, Q, A, L]. spectrum, mean: of a.
local function correlated(w, spectrum, mean, N, L)
  local jobs, G, Q = w.shape[1], w.shape[2], w.shape[3]
  local A = spectrum.shape[3]
  local W = mc.conj(mc.fft.rfft(w, { n = N })):reshape(jobs, G, Q, 1, -1)
  local both = mc.fft.irfft(mc.sum(W * spectrum:reshape(jobs, G, 1, A, -1), 2), { n = N })[('..., 1:%d'):format(L)]
  local base = mc.sum(mc.sum(w:to 'f64', 4):reshape(jobs, G, Q, 1) * mean:reshape(jobs, G, 1, A), 2)
  return both:to 'f64' + base:reshape(jobs, Q, A, 1)
end

--- Surrogates [jobs, K, P, A] in dtype: value(S, p) of sums f64 [jobs, P or 1, n, A, ...] at shifts, n rows of w for
--- each phase band; p: the band where there is one.
local function surrogates(w, amp, list, P, dtype, value)
  local jobs, L, A, K = w.shape[1], w.shape[4], amp.shape[3], #list
  local n = w.shape[3] / P
  local all = mc.zeros({ jobs, K, P, A }, { dtype = dtype, device = amp.device })
  if K < BY_FFT then
    local twice = mc.concat({ amp, amp }, 4)
    for k, c in ipairs(list) do
      mc.scope(function()
        all[{ mc.all, k }] = value(product(w, twice, c):reshape(jobs, P, n, A, 1)):to(dtype):reshape(jobs, P, A)
      end)
    end
    return all
  end
  local N = transforms.correlation_length(L)
  local mean = mc.mean(amp:to 'f64', { 4, keepdim = true })
  local even = amp - mean:to(dtype)
  if N > L then even = mc.concat({ even, even[('..., 1:%d'):format(L - 1)] }, 4) end
  local spectrum = mc.fft.rfft(even, { n = N })
  local at = mc.tensor(list, { dtype = 'i64' }):to(amp.device)
  for p = 1, P do
    mc.scope(function()
      local S = correlated(w[{ mc.all, mc.all, { (p - 1) * n + 1, p * n } }]:contiguous(), spectrum,
        mc.mean(amp:to 'f64', 4), N, L)
      S = mc.take(S, at, { axis = -1, base = 0 })
      local s = value(S:reshape(jobs, 1, n, A, K), p):to(dtype):reshape(jobs, A, K)
      all[{ mc.all, mc.all, p }] = s:permute_dims(1, 3, 2)
    end)
  end
  return all
end

--- Which shifts a call is about, as Lua numbers.
local function shifts_of(t, K, first, run)
  if K == 0 then return {} end
  if not run and t:numel() > 0 then return t:to('cpu'):totable() end
  local out = {}
  for k = 1, K do out[k] = first + k - 1 end
  return out
end

-- ---------------------------------------------------------------- values from bins

--- Factor of each bin that turns sums into shares: f64 [.., B], 0 for empty ones.
local function factors(count, divisor, norm)
  norm = norm or 0
  local by = norm == 0 and count or norm == 1 and mc.ones({ count.shape[count.ndim] }, { device = count.device })
    or divisor:to(count.device)
  local fine = mc.ne(by, 0)
  return mc.broadcast_to(mc.where(fine, 1 / mc.where(fine, by, 1), 0), count.shape)
end

--- Values of sums f64 along axis 3, and the totals of the shares. scale: like the sums.
local function measured(S, scale, v)
  local a = S * scale
  local total, B = mc.sum(a, 3), v.bins
  local out
  local function shaped(t)
    local shape = {}
    for i = 1, S.ndim do shape[i] = i == 3 and 1 or S.shape[i] end
    return t:reshape(shape)
  end
  if v.measure == HR then
    local hi = mc.max(a, 3)
    out = (hi - mc.min(a, 3)) / hi
  elseif (v.epsilon or 0) > 0 then
    local p = mc.maximum(a / shaped(total + v.epsilon), v.epsilon)
    out = mc.sum(mc.special.xlogy(p, p), 3) * (1 / math.log(B)) + 1
  else
    local u = mc.maximum(a * shaped(B / total), 0)
    out = mc.sum(mc.special.xlogy(u, u) - u + 1, 3) * (1 / (B * math.log(B)))
  end
  out = mc.where(mc.eq(total, 0), 0, out)
  return mc.where(mc.isfinite(total), out, mc.nan), total
end

--- What is made of sums f64 [jobs, P, B, A] and counts [jobs, P, B]: results of their bits, and the observed value.
local function observed(S, count, divisor, v, dtype)
  local jobs, P, B, A = S.shape[1], S.shape[2], S.shape[3], S.shape[4]
  local scale = factors(count, divisor, v.norm):reshape(jobs, P, B, 1)
  local value, total = measured(S, scale, v)
  value = value:to(dtype)
  local shares = S * scale
  local finite = mc.isfinite(total)
  local some = mc.logical_and(finite, mc.ne(total, 0))
  local empty = mc.any(mc.eq(count, 0), 3):reshape(jobs, P, 1)
  local status = mc.where(finite, mc.where(mc.eq(total, 0), ZERO, 0), BAD) + mc.where(empty, EMPTY, 0)
  local centre = (mc.arange(0, B - 1, { device = S.device }) + 0.5) * (TAU / B) - math.pi
  return value, status:to 'i32', {
    { 1, function() return value end },
    { 2, function() return S end },
    { 4, function() return count end },
    { 8, function()
      local one = mc.where(some, 1 / mc.where(some, total, 1), mc.where(finite, 0, mc.nan))
      return (shares * one:reshape(jobs, P, 1, A)):permute_dims(1, 2, 4, 3):to(dtype):contiguous()
    end },
    { 16, function()
      local clean = mc.where(mc.isnan(shares), -1, shares)
      local best = mc.argmax(clean, { 3, base = 0 })
      return mc.where(mc.logical_and(some, mc.gt(mc.max(clean, 3), 0)), best, -1):to 'i32'
    end },
    { 32, function()
      local re = mc.sum(shares * mc.cos(centre):reshape(B, 1), 3)
      local im = mc.sum(shares * mc.sin(centre):reshape(B, 1), 3)
      return mc.where(some, mc.atan2(im, re), mc.nan):to(dtype)
    end },
  }
end

--- Weights of the bins [jobs, G, P * B, L] in dtype from bins u8 or angles [jobs, G, P, L].
local function weights(phase, v, dtype, soft)
  local jobs, G, P, L, B = phase.shape[1], phase.shape[2], phase.shape[3], phase.shape[4], v.bins
  local x = phase:reshape(jobs, G, P, 1, L)
  if not soft then
    local bin = mc.arange(0, B - 1, { device = phase.device }):to('u8'):reshape(B, 1)
    return mc.eq(x, bin):to(dtype):reshape(jobs, G, P * B, L)
  end
  local centre = ((mc.arange(0, B - 1, { device = phase.device }) + 0.5) * (TAU / B) - math.pi):to(dtype):reshape(B, 1)
  local d = x - centre + math.pi
  d = (v.asymmetric == true or v.asymmetric == 1) and mc.fmod(d, TAU) or d - mc.floor(d / TAU) * TAU
  return mc.softmax(mc.abs(d - math.pi) * (-1 / v.tau), 4):reshape(jobs, G, P * B, L)
end

--- Coupling by bins of phase [jobs, G, P, L] with amp [jobs, G, A, L].
local function by_bins(phase, amp, divisor, list, v, want, soft)
  local dtype, jobs, P, A, B = amp.dtype, amp.shape[1], phase.shape[3], amp.shape[3], v.bins
  local w = weights(phase, v, dtype, soft)
  local count = mc.sum(mc.sum(w, { 4, dtype = 'f64' }), 2):reshape(jobs, P, B)
  local S = product(w, amp, 0):reshape(jobs, P, B, A)
  local value, status, results = observed(S, count, divisor, v, dtype)
  local scale = factors(count, divisor, v.norm):reshape(jobs, P, B, 1, 1)
  local all = #list > 0 and surrogates(w, amp, list, P, dtype, function(s, p)
    return (measured(s, p and scale[{ mc.all, { p, p } }] or scale, v))
  end)
  return statistics.add(ordered, results, value, status, all, list, v, want, phase.shape[4])
end

local function rows_at(at, span, count)
  local list = {}
  if at:numel() == 0 then
    for i = 1, count do list[i] = i end
  else
    for i, k in ipairs(at:to('cpu'):totable()) do list[i] = k / span + 1 end
  end
  return list
end

--- Rows of t picked by number.
local function picked(t, rows)
  local same = #rows == t.shape[1]
  for i, r in ipairs(rows) do same = same and r == i end
  return same and t or mc.take(t, mc.tensor(rows, { dtype = 'i64' }):to(t.device), 1)
end

function M.pac_bins(list, v)
  local soft = (v.tau or 0) > 0
  local P, A, L, G, jobs = v.P, v.A, v.L, v.G, v.jobs
  local dtype = list[2].dtype
  local tiles = math.ceil(A / lanes(dtype)) * lanes(dtype)
  local phase, amp = list[1]:reshape(-1, P, L), untiled(list[2], A)
  local pha_rows, amp_rows = rows_at(list[3], P * L, jobs * G), rows_at(list[4], tiles * L, jobs * G)
  local shifts = shifts_of(list[5], v.K or 0, v.first or 0, v.exhaustive)
  local bytes = G * L * (P * v.bins * 8 + A * 16) + P * v.bins * A * 8
    + (#shifts >= BY_FFT and 64 * v.bins * A * L or 0)
  return portions.joined(jobs, bytes, function(first, last)
    local function block(t, rows, n)
      local some = {}
      for i = (first - 1) * G + 1, last * G do some[#some + 1] = rows[i] end
      return picked(t, some):reshape(last - first + 1, G, n, L)
    end
    return by_bins(block(phase, pha_rows, P), block(amp, amp_rows, A), list[6], shifts, v, v.want, soft)
  end)
end

function M.pac_measure(list, v)
  local P, A, B = v.P, v.A, v.bins
  local value, status, results = observed(list[1]:reshape(-1, P, B, A), list[2]:reshape(-1, P, B), list[3], v,
    list[4].dtype)
  return statistics.add(ordered, results, value, status, false, {}, v, v.want - v.want % 8 + v.want % 2, 1)
end

-- ---------------------------------------------------------------- moments

--- The form that turns a pair of sums into a value: functions of sums f64 [jobs, P, 2, A, ...].
local function form(unit, amp, v)
  local L, m, dtype = v.L, v.measure, amp.dtype
  local u, a = unit:to 'f64', amp:to 'f64' -- [jobs, P, 2, L], [jobs, A, L]
  local jobs, P, A = u.shape[1], u.shape[2], a.shape[2]
  local sums = mc.sum(u, 4)
  local function phase(t) return t:reshape(jobs, P, 1, 1) end
  local function power(t) return t:reshape(jobs, 1, A, 1) end
  local sx, sy = phase(sums[{ mc.all, mc.all, 1 }]), phase(sums[{ mc.all, mc.all, 2 }])
  local mean = mc.mean(a, { 3, keepdim = true })
  local dev = power(mc.sum((a - mean) ^ 2, 3))
  mean = power(mean)
  local square = dev + mean * mean * L
  local noise = 4 * (dtype == 'f32' and 1.2e-7 or 2.3e-16)
  local flat = mc.le(dev, square * (noise * noise))
  local dead, x0, y0 = mc.eq(square, 0), 0, 0
  local xx, xy, yy, scale = 1, 0, 1, 1 / (L * L)
  if m == OZK then scale = 1 / (square * L)
  elseif m == NDPAC then
    dead, x0, y0 = flat, mean * sx, mean * sy
    scale = (L - 1) / (dev * (L * L))
  elseif m == GLM or m == GC then
    local centred = m == GLM
    local function second(i, k)
      local s = phase(mc.sum(u[{ mc.all, mc.all, i }] * u[{ mc.all, mc.all, k }], 3))
      return centred and s - (i == 1 and sx or sy) * (k == 1 and sx or sy) / L or s
    end
    local s11, s12, s22 = second(1, 1), second(1, 2), second(2, 2)
    local det = s11 * s22 - s12 * s12
    dead = mc.logical_or(centred and flat or mc.eq(square, 0), mc.le(det, 0))
    if centred then x0, y0 = mean * sx, mean * sy end
    xx, xy, yy = s22, s12 * -2, s11
    scale = 1 / (det * (centred and dev or square))
  elseif m == PLV then
    dead = mc.zeros({ 1 }, { dtype = 'bool', device = a.device })
  end
  local function of(t, p)
    if not p or not mc.is_tensor(t) or t.ndim < 4 or t.shape[2] == 1 then return t end
    return t[{ mc.all, { p, p } }]
  end
  --- S [jobs, P or 1, 2, A, K] -> [jobs, P or 1, A, K]
  local function value(S, p)
    local x, y = S[{ mc.all, mc.all, 1 }] - of(x0, p), S[{ mc.all, mc.all, 2 }] - of(y0, p)
    local q = (x * x * of(xx, p) + x * y * of(xy, p) + y * y * of(yy, p)) * of(scale, p)
    if m == GLM then q = mc.clip(q, 0, 1)
    elseif m == GC then q = mc.log2(1 - mc.maximum(q, 0)) * -0.5
    else
      local floor = m == NDPAC and v.threshold / (L * L) or -1
      q = mc.where(mc.le(q, floor), 0, mc.sqrt(q))
    end
    return mc.where(of(dead, p), 0, q)
  end
  return value, dead, dev
end

--- Coupling by moments of unit [jobs, P, 2, L] with amp [jobs, A, L]; second: the sines of phase locking.
local function by_moments(unit, amp, second, list, v, want)
  local jobs, P, A, L, dtype = amp.shape[1], unit.shape[2], amp.shape[2], unit.shape[4], amp.dtype
  local w = unit:reshape(jobs, 1, P * 2, L)
  local both = second and mc.concat({ amp, second }, 2) or amp
  local value, dead, dev = form(unit, amp, v)
  --- with sines the second half of the columns: (u1 + i u2) (v1 - i v2)
  local function joined(S)
    if not second then return S end
    local c, s = S[{ mc.all, mc.all, mc.all, { 1, A } }], S[{ mc.all, mc.all, mc.all, { A + 1, 2 * A } }]
    return mc.stack({ c[{ mc.all, mc.all, 1 }] + s[{ mc.all, mc.all, 2 }],
      c[{ mc.all, mc.all, 2 }] - s[{ mc.all, mc.all, 1 }] }, 3)
  end
  local rows = both:reshape(jobs, 1, -1, L)
  local M1 = joined(product(w, rows, 0):reshape(jobs, P, 2, -1, 1))
  local bad = mc.logical_not(mc.logical_and(mc.all(mc.isfinite(M1:reshape(jobs, P, 2, A)), 3),
    mc.isfinite(dev:reshape(jobs, 1, A))))
  local seen = mc.where(bad, mc.nan, value(M1):reshape(jobs, P, A)):to(dtype)
  if dead.ndim == 4 then dead = mc.squeeze(dead, 4) end
  dead = mc.broadcast_to(dead, { jobs, P, A })
  local status = mc.where(bad, BAD, mc.where(dead, ZERO, 0)):to 'i32'
  local all
  if #list > 0 then
    local wide = second and 2 * A or A
    all = surrogates(w, rows, list, P, dtype, function(S, p)
      local r = value(joined(S), p)
      return second and mc.concat({ r, r }, 3) or r
    end)
    if wide > A then all = all[{ mc.ellipsis, { 1, A } }]:contiguous() end
  end
  local results = { { 1, function() return seen end }, { 2, function() return M1:reshape(jobs, P, 2, A) end } }
  return statistics.add(ordered, results, seen, status, all, list, v, want, L)
end

function M.pac_moments(list, v)
  local P, A, L, jobs = v.P, v.A, v.L, v.jobs
  local dtype = list[2].dtype
  local tiles = math.ceil(A / lanes(dtype)) * lanes(dtype)
  local unit, amp = list[1]:reshape(-1, P, 2, L), untiled(list[2], A)
  local second = list[3]:numel() > 0 and untiled(list[3], A) or nil
  local unit_rows, amp_rows = rows_at(list[4], P * 2 * L, jobs), rows_at(list[5], tiles * L, jobs)
  local shifts = shifts_of(list[6], v.K or 0, v.first or 0)
  return portions.joined(jobs, L * (P * 16 + A * 48) + (#shifts >= BY_FFT and 128 * A * L or 0), function(first, last)
    local function block(t, rows)
      local some = {}
      for i = first, last do some[#some + 1] = rows[i] end
      return picked(t, some)
    end
    local sines = second and block(second, amp_rows)
    return by_moments(block(unit, unit_rows), block(amp, amp_rows), sines, shifts, v, v.want)
  end)
end

-- ---------------------------------------------------------------- row by row, and what stands between stages

function M.pac_row(list, v)
  local x, xa, P, A = list[1], list[7] or list[1], v.P, v.A
  local moments, B = v.kind == 2, v.bins
  local shifts = shifts_of(list[5], v.K or 0, v.first or 0, v.kind == 1)
  local L = v.L
  local bytes = (P + A) * v.N * 32 + L * P * (moments and 2 or B) * 8
    + (#shifts >= BY_FFT and 64 * (moments and 2 or B) * A * L or 0)
  local function side(rows, what, p, a)
    local spans = list[3]:reshape(3, -1)
    local part = p and spans[('..., 1:%d'):format(P)] or spans[('..., %d:%d'):format(P + 1, P + A)]
    if p and a then part = spans end
    local w = {}
    for k, value in pairs(v) do w[k] = value end
    w.P, w.A, w.want = p and P or 0, a and A or 0, what
    return M.pac_analytic({ rows, list[2], part:contiguous(), list[4] }, w)
  end
  return portions.joined(x.shape[1], bytes, function(first, last)
    local rows, n = x[{ { first, last } }]:contiguous(), last - first + 1
    local phase, amp
    if list[7] then
      phase = side(rows, moments and 2 or 1, true, false)[1]
      amp = side(xa[{ { first, last } }]:contiguous(), 8, false, true)[1]
    else
      local both = side(rows, (moments and 2 or 1) + 8, true, true)
      phase, amp = both[1], both[2]
    end
    amp = untiled(amp, A)
    if moments then return by_moments(phase, amp, nil, shifts, v, v.want) end
    return by_bins(phase:reshape(n, 1, P, L), amp:reshape(n, 1, A, L), list[6], shifts, v, v.want, false)
  end)
end

function M.pac_index(list, v) return { binned(list[1], v.bins) } end

function M.pac_tile(list, v) return { tiled(list[1]:reshape(-1, v.A, v.L), list[1].dtype) } end

function M.pac_theta(list, v)
  local a = untiled(list[1], v.A)
  local z = transforms.hilbert(a - mc.mean(a, { 3, keepdim = true }), v.N)
  z = z[('..., 1:%d'):format(v.L)]
  local r = mc.abs(z)
  local zero = mc.eq(r, 0)
  local by = mc.where(zero, 1, r)
  local function of(part, none)
    return tiled(mc.where(zero, none, part / by):to(a.dtype), a.dtype):reshape(list[1].shape)
  end
  return { of(mc.real(z), 1), of(mc.imag(z), 0) }
end

function M.pac_ranks(list, v)
  local x, L = list[1], v.L
  local rows = v.step > 1 and x:reshape(-1, L, v.step):permute_dims(1, 3, 2):reshape(-1, L) or x:reshape(-1, L)
  local rank = mc.argsort(mc.argsort(rows + 0, { axis = 2 }), { axis = 2 })
  local score = mc.stats.norm_ppf(mc.arange(1, L) / (L + 1)):to(x.dtype):to(x.device)
  local bad = mc.any(mc.isnan(rows), { 2, keepdim = true })
  local out = mc.where(bad, mc.nan, mc.take(score, rank, 1)):to(x.dtype)
  if v.step > 1 then out = out:reshape(-1, v.step, L):permute_dims(1, 3, 2):contiguous() end
  return { out:reshape(x.shape) }
end

return M
