-- filters.lua - the band filters of phase-amplitude coupling, as tables for the fused transform or as tensor
-- operations.
--
-- Holds the three designs: fir1 (windowed band-pass, forward and backward), butter_trunc (truncated Butterworth
-- response, as gPAC has it), morlet.
--
-- Why rows are never filtered directly: measured (AVX-512 core, f32, order T/3), one band as an inverse transform
-- against one complex convolution with the combined kernel takes 0.11 / 0.09 us at T = 32, 0.15 / 0.29 at 64, 0.27 /
-- 0.89 at 128, 0.42 / 3.6 at 256, 1.6 / 17 at 512. The crossover lies near 40 samples, less than a cycle of any phase
-- band.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local fft = require 'mascon.fft'
local bands = require 'workflows.pac.bands'
local tensor = require 'mascon.core.tensor'
local raw = require 'workflows.pac.stages'.run
local transforms = require 'workflows.pac.transforms'
local M = {}

--- Taps of the fir1 band-pass: difference of two ideal low-passes under a symmetric Hamming window, gain 1 at the
--- band's mean.
---@param order integer
---@param lo number Hz
---@param hi number Hz
---@param fs number Hz
---@return any taps f64 [order + 1]
--- Source: window method; gain as in the least-squares design with zero transitions.
function M.fir1(order, lo, hi, fs)
  local a, b = lo / fs, hi / fs
  local i = mc.arange(0, order)
  local k = i - order / 2
  local function lowpass(f)
    local x = k * (2 * math.pi * f)
    return mc.where(mc.eq(k, 0), 2 * f, mc.sin(x) / mc.where(mc.eq(k, 0), 1, k * math.pi))
  end
  local window = 0.54 - 0.46 * mc.cos(i * (2 * math.pi / order))
  local h = (lowpass(b) - lowpass(a)) * window
  local w = 2 * math.pi * (a + b) / 2
  local re, im = mc.sum(h * mc.cos(i * w)):item(), mc.sum(h * mc.sin(i * w)):item()
  return h / math.sqrt(re * re + im * im)
end

--- |H|^2 g / N on the bins 0..N/2: the transfer of both passes and of the analytic signal in one real table.
local function response(taps, N)
  local H = mc.abs(fft.rfft(taps, { n = N }))
  local half = math.floor(N / 2) + 1
  local g = mc.full({ half }, 2 / N)
  g[1] = 1 / N
  if N % 2 == 0 then g[half] = 1 / N end
  return H * H * g
end

--- Orders of the fir1 filters of all bands, phase bands first.
---@param o table T samples, fs Hz, n_cycles {phase, amplitude}
---@return table orders (integers), cut (which were cut short), list ({ order, lo, hi })
function M.orders(pha, amp, o)
  local r = { orders = {}, cut = {}, list = {} }
  for side, set in ipairs { pha:totable(), amp:totable() } do
    for _, b in ipairs(set) do
      local order, short = bands.filter_order(o.T, o.fs, b[1], o.n_cycles[side])
      order = math.max(order, 1)
      local n = #r.list + 1
      r.orders[n], r.cut[n], r.list[n] = order, short, { order, b[1], b[2] }
    end
  end
  return r
end

--- Tables of all bands for the fused filter.
---@param pha any f64 [P, 2] Hz
---@param amp any f64 [A, 2] Hz
---@param o table T, fs, n_cycles, dtype, pad (at least; default the largest order)
---@return table pad, N, table (dtype, flat; made when first asked for), spans i64 [3, P + A], orders, cut (bands whose
---  order was cut short)
function M.fused(pha, amp, o)
  local all = M.orders(pha, amp, o)
  local orders, cut, list = all.orders, all.cut, all.list
  local pad = o.pad or 0
  for _, v in ipairs(orders) do pad = math.max(pad, v) end
  pad = math.min(pad, o.T - 1)
  local N = fft.next_fast_len(o.T + 2 * pad)
  local half = math.floor(N / 2) + 1
  local lo, hi, at = {}, {}, {}
  for i = 1, #list do lo[i], hi[i], at[i] = 0, half, (i - 1) * half end
  local spans = mc.tensor({ lo, hi, at }, { dtype = 'i64' })
  local bytes = #list * half * (o.dtype == 'f32' and 4 or 8)
  return M.later({ pad = pad, N = N, spans = spans, orders = orders, cut = cut, bytes = bytes }, {
    table = function()
      local flat = mc.empty({ #list * half }, { dtype = o.dtype or 'f64' })
      for i, b in ipairs(list) do
        -- a scope: the spectra in between are large for long recordings
        mc.scope(function()
          flat[{ { (i - 1) * half + 1, i * half } }] = response(M.fir1(b[1], b[2], b[3], o.fs), N)
        end)
      end
      return flat
    end,
  })
end

--- Adds fields that are made when first asked for and kept then: tensors that a plan may not need.
---@param t table
---@param make table<string, function>
---@return table t
function M.later(t, make)
  for k, f in pairs(make) do
    if type(f) ~= 'function' then
      check.error(('pac.filters.later: %s is %s; give functions by the names of fields'):format(tostring(k),
        check.show(f)), 2)
    end
  end
  return setmetatable(t, { __index = function(_, k)
    if not make[k] then return nil end
    local v = tensor.outlive(make[k]())
    rawset(t, k, v)
    return v
  end })
end

--- Analytic signals of rows by the unfused route: each band forward and backward with its own odd extension, then the
--- transform of the filtered signal zero-padded to the next fast length. One band at a time.
---@param x any f64 [R, T]
---@param band number[] {lo, hi} Hz
---@return any z c128 [R, T]
function M.unfused(x, band, o)
  local T = x.shape[2]
  local order = math.max(1, (bands.filter_order(T, o.fs, band[1], o.cycles)))
  local f = M.fused(mc.tensor { band }, mc.empty { 0, 2 },
    { T = T, fs = o.fs, n_cycles = { o.cycles, o.cycles }, dtype = 'f64', pad = order })
  local none = mc.zeros({ 0, 2 }, { dtype = 'i64' })
  local z = raw('pac_analytic', { x, f.table, f.spans, none },
    { P = 1, A = 0, N = f.N, pad = f.pad, bins = 18, demean = 0, want = 16 }, 2)[1]
  f.table:release() -- one band is not asked for again
  return M.hilbert(mc.real(z:reshape(x.shape)), fft.next_fast_len(T))
end

M.correlation_length, M.hilbert = transforms.correlation_length, transforms.hilbert

--- The truncated impulse response of a 4th-order Butterworth band-pass, scaled to largest tap 1, from second-order
--- sections.
---@param fs number Hz
---@param all any f64 [n, 2] all bands of the call: the slowest sets the common length
---@return integer L
---@return fun(band: number[]): any kernel f64 [L]
function M.butter_trunc(fs, all)
  local lowest = mc.min(all['..., 1']):item()
  local L = math.floor(4 * fs / lowest)
  if L % 2 == 0 then L = L + 1 end
  local at = math.floor(L / 2)
  return L, function(band)
    local sos = mc.signal.butter(4, { band[1], band[2] }, { btype = 'bandpass', fs = fs })
    local impulse = mc.zeros { L }
    impulse[at + 1] = 1
    local h = mc.signal.sosfilt(sos, impulse)
    return h / mc.max(mc.abs(h))
  end
end

--- Rows through a butter_trunc kernel: correlation with zero padding, cut to T, reversed, again, reversed; then the
--- analytic signal of length T.
function M.butter_rows(x, h)
  local T, L = x.shape[2], h:numel()
  h = h:to(x.device)
  local function pass(y)
    return mc.signal.fftconvolve(y, mc.flip(h):reshape(1, L),
      { mode = 'full', axes = { 2 } })[{ mc.all, { L - math.floor(L / 2), L - math.floor(L / 2) + T - 1 } }]
  end
  return M.hilbert(mc.flip(pass(mc.flip(pass(x), { 2 }):contiguous()), { 2 }):contiguous(), T)
end

--- Rows through a Morlet wavelet at f Hz (width in cycles): full convolution cropped to T.
function M.morlet_rows(x, f, fs, width)
  return mc.signal.morlet_transform(x, f, fs, { width = width })
end

return M
