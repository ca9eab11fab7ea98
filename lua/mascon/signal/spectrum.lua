-- spectrum.lua - power spectra by averaged, windowed segments.
--
-- Holds segmentation, scaling and averaging. Rows go in blocks that stay in cache. Windows come from window.lua, trends
-- from filter.lua.
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local check = require 'mascon.core.check'
local fft = require 'mascon.fft'
local rows = require 'mascon.signal.rows'
local window = require 'mascon.signal.window'
local filter = require 'mascon.signal.filter'
local methods, F = tensor.methods, op.functions
local ALL = rows.all
local M = {}

local BASE = {
  fs = { 1, 'number > 0' }, window = { 'hann', 'any' }, nperseg = { nil, 'integer >= 1' },
  noverlap = { nil, 'integer >= 0' }, nfft = { nil, 'integer >= 1' }, detrend = { 'constant',
    { 'constant', 'linear', 'none' } }, scaling = { 'density', { 'density', 'spectrum' } }, axis = { -1, 'integer' },
}
local function spec(more)
  local s = {}
  for k, v in pairs(BASE) do s[k] = v end
  for k, v in pairs(more or {}) do s[k] = v end
  return s
end

--- Everything about the segments of rows r [m, n] of real parts dtype; its tensors are on the device of r.
local function plan(fname, o, r, usual, dtype, level)
  local n, complex = r.shape[2], rows.is_complex(r)
  if n == 0 then error(fname .. ': the axis is empty; give samples', level) end
  local given = tensor.is(o.window) and o.window.ndim == 1 and o.window.shape[1] or nil
  local size = o.nperseg or given or math.min(usual, n)
  if size > n then
    error(('%s: nperseg = %d is more than the %d samples; choose a shorter segment'):format(fname, size, n), level)
  end
  local overlap = o.noverlap or o.share(size)
  if overlap >= size then
    error(('%s: noverlap = %d must be below nperseg = %d'):format(fname, overlap, size), level)
  end
  local nfft = o.nfft or size
  if nfft < size then error(('%s: nfft = %d is below nperseg = %d'):format(fname, nfft, size), level) end
  local w = window.build(fname, o.window, size, false, level + 1)
  local p = { size = size, step = size - overlap, nfft = nfft, detrend = o.detrend, complex = complex, fs = o.fs }
  p.count = math.floor((n - size) / p.step) + 1
  p.bins = complex and nfft or math.floor(nfft / 2) + 1
  local scale
  if o.scaling == 'density' then scale = 1 / (o.fs * F.sum(F.square(w)):item())
  else scale = 1 / F.sum(w):item() ^ 2 end
  -- one-sided spectra hold the power of both signs; 0 and fs/2 have no partner
  local gain = create.full({ p.bins }, complex and scale or 2 * scale)
  if not complex then
    gain[1] = scale
    if nfft % 2 == 0 then gain[p.bins] = scale end
  end
  local function beside(t) return t._device == 0 and tensor.moved(t, r._device, level + 1) or t end
  p.window, p.gain = beside(methods.to(w, dtype)), beside(methods.to(gain, dtype))
  p.f = beside(complex and fft.fftfreq(nfft, 1 / o.fs) or fft.rfftfreq(nfft, 1 / o.fs))
  return p
end

--- Transforms of the segments of rows: c64|c128 [m, count, bins].
local function segments(r, p)
  local s = methods.windows(r, p.size, { step = p.step })
  if p.detrend ~= 'none' then
    s = filter.detrend_rows(s, p.detrend)
    s:multiply_(p.window)
  else
    s = s * p.window
  end
  local z = p.complex and fft.fft(s, { n = p.nfft }) or fft.rfft(s, { n = p.nfft })
  s:release()
  return z
end

local function power(z)
  local re, im = methods.view_real(z), methods.view_imag(z)
  return F.fma(re, re, F.square(im))
end

--- What the median of an average of n exponential variables is short of, as Allen et al., FINDCHIRP, 2012, appendix B.
local function median_bias(n)
  local bias = 1
  for k = 2, n - 1, 2 do bias = bias + 1 / (k + 1) - 1 / k end
  return bias
end

--- Mean or corrected median over the segments of [m, count, bins].
local function average(values, how)
  if how == 'mean' or values.shape[2] == 1 then return F.mean(values, 2) end
  local bias = median_bias(values.shape[2])
  if rows.is_complex(values) then
    return rows.complex(F.median(F.real(values), 2), F.median(F.imag(values), 2)) / bias
  end
  return F.median(values, 2) / bias
end

local function half(size) return math.floor(size / 2) end

local function welch(fname, x, o, usual, level)
  x = rows.float(fname, x, level + 1)
  local r, back, n = rows.of(fname, x, o.axis, level + 1)
  local real = (x.dtype == 'f32' or x.dtype == 'c64') and 'f32' or 'f64'
  local p = plan(fname, o, r, usual or n, real, level + 1)
  local out = tensor.empty(fname, { r.shape[1], p.bins }, real, level, r._device)
  rows.blocks(r.shape[1], 4 * p.count * p.size, 1, function(r0, r1)
    local z = segments(r[{ { r0, r1 }, ALL }], p)
    local q = power(z)
    F.multiply(average(q, o.average), p.gain, { out = out[{ { r0, r1 }, ALL }] })
    z:release()
    q:release()
  end)
  return p, back(out)
end

local WELCH = spec { average = { 'mean', { 'mean', 'median' } } }

--- Power spectral density by Welch's method: mean over overlapping windowed segments of |FFT|^2.
---     local s = mc.signal.welch(mc.ones { 1000 }, { fs = 250, nperseg = 500 })
---     s.psd.shape  --> {251}
---@param x any f32|f64|c64|c128 [..., t]; integers become f64; unit u
---@param opts table|nil fs: sampling rate, Hz (1) · window: name, { name, parameter } or f64 [nperseg] ('hann') ·
--- nperseg: samples of a segment (256, or all when fewer) · noverlap (half a segment) · nfft: transform length,
--- zero-filled (nperseg) · detrend: 'constant' | 'linear' | 'none', per segment ('constant') · scaling: 'density'
--- u^2/Hz | 'spectrum' u^2 ('density') · average: 'mean' | 'median', corrected for its bias ('mean') · axis (last)
---@return table { f = f64 [bins] in Hz, psd = [..., bins] }; one-sided for real x, in the order of fftfreq for complex
---  x
--- Errors: segments longer than the axis, overlap not below the segment. Samples after the last whole segment are left
--- out.
--- Source: Welch, The use of fast Fourier transform for the estimation of power spectra, 1967; defaults as SciPy 1.17.
function M.welch(x, opts)
  local o = check.opts('signal.welch', opts, WELCH, 3)
  o.share = half
  local p, psd = welch('signal.welch', x, o, 256, 3)
  return { f = p.f, psd = psd }
end

local PERIODOGRAM = {
  fs = BASE.fs, window = { 'boxcar', 'any' }, nfft = BASE.nfft, detrend = BASE.detrend,
  scaling = BASE.scaling, axis = BASE.axis,
}

--- Power spectral density of the whole row: welch with one segment and no taper.
---@param x any as welch
---@param opts table|nil fs, window ('boxcar'), nfft, detrend, scaling, axis as welch
---@return table { f =, psd = }
--- Source: Schuster, 1898; defaults as SciPy 1.17.
function M.periodogram(x, opts)
  local o = check.opts('signal.periodogram', opts, PERIODOGRAM, 3)
  o.share, o.average = function() return 0 end, 'mean'
  local p, psd = welch('signal.periodogram', x, o, nil, 3)
  return { f = p.f, psd = psd }
end

--- Mean of conj(X) Y, |X|^2 and |Y|^2 over segments, scaled, as rows of the broadcast of x and y.
local function cross(fname, x, y, o, want_power, level)
  x, y = rows.float(fname, x, level + 1), rows.float(fname, y, level + 1)
  if x.dtype ~= y.dtype then
    error(('%s: operands are %s and %s; give the same dtype'):format(fname, tensor.describe(x), tensor.describe(y)),
      level)
  end
  if x.shape ~= y.shape then
    error(('%s: operands are %s and %s; give the same shape'):format(fname, tensor.describe(x), tensor.describe(y)),
      level)
  end
  local rx, back = rows.of(fname, x, o.axis, level + 1)
  local ry = rows.of(fname, y, o.axis, level + 1)
  local real = (x.dtype == 'f32' or x.dtype == 'c64') and 'f32' or 'f64'
  local p = plan(fname, o, rx, 256, real, level + 1)
  local m = rx.shape[1]
  local out = tensor.empty(fname, { m, p.bins }, real == 'f32' and 'c64' or 'c128', level, rx._device)
  local px, py
  if want_power then
    px = tensor.empty(fname, { m, p.bins }, real, level, rx._device)
    py = tensor.empty(fname, { m, p.bins }, real, level, rx._device)
  end
  rows.blocks(m, 8 * p.count * p.size, 1, function(r0, r1)
    local key = { { r0, r1 }, ALL }
    local zx, zy = segments(rx[key], p), segments(ry[key], p)
    methods.copy_(out[key], average(F.conj(zx) * zy, o.average) * p.gain)
    if want_power then
      methods.copy_(px[key], average(power(zx), o.average) * p.gain)
      methods.copy_(py[key], average(power(zy), o.average) * p.gain)
    end
    zx:release()
    zy:release()
  end)
  return p, back, out, px, py
end

--- Cross spectral density of x and y: mean of conj(X) Y over segments.
---@param x any f32|f64|c64|c128 [..., t]
---@param y any dtype and shape of x
---@param opts table|nil as welch
---@return table { f =, csd = c64|c128 [..., bins] }
--- Source: as welch.
function M.csd(x, y, opts)
  local o = check.opts('signal.csd', opts, WELCH, 3)
  o.share = half
  local p, back, out = cross('signal.csd', x, y, o, false, 3)
  return { f = p.f, csd = back(out) }
end

--- Magnitude squared coherence |Pxy|^2 / (Pxx Pyy), 0 to 1; needs several segments to mean anything.
---@param x any f32|f64 [..., t]
---@param y any dtype and shape of x
---@param opts table|nil as welch, without scaling and average
---@return table { f =, coherence = [..., bins] }
--- Source: Carter, Knapp and Nuttall, Estimation of the magnitude-squared coherence function, 1973.
function M.coherence(x, y, opts)
  local s = spec()
  s.scaling = nil
  local o = check.opts('signal.coherence', opts, s, 3)
  o.share, o.average, o.scaling = half, 'mean', 'density'
  local p, back, out, px, py = cross('signal.coherence', x, y, o, true, 3)
  return { f = p.f, coherence = back(power(out) / (px * py)) }
end

local SPECTROGRAM = spec { window = { { 'tukey', 0.25 }, 'any' } }

--- Power spectral density of each segment, in time.
---@param x any f32|f64|c64|c128 [..., t]
---@param opts table|nil as welch; window ({ 'tukey', 0.25 }), noverlap (an eighth of a segment)
---@return table { f = f64 [bins] in Hz, t = f64 [count] segment centres in s, psd = [..., bins, count] }
--- Source: as welch; defaults as SciPy 1.17 spectrogram.
function M.spectrogram(x, opts)
  local fname = 'signal.spectrogram'
  local o = check.opts(fname, opts, SPECTROGRAM, 3)
  o.share = function(size) return math.floor(size / 8) end
  x = rows.float(fname, x, 3)
  if x.ndim > 0 and tensor.axis(fname, x, o.axis, 3) + 1 ~= x.ndim then x = methods.moveaxis(x, o.axis, -1) end
  local r = rows.of(fname, x, -1, 3)
  local real = (x.dtype == 'f32' or x.dtype == 'c64') and 'f32' or 'f64'
  local p = plan(fname, o, r, 256, real, 3)
  local m = r.shape[1]
  local out = tensor.empty(fname, { m, p.bins, p.count }, real, 2, r._device)
  rows.blocks(m, 4 * p.count * p.size, 1, function(r0, r1)
    local z = segments(r[{ { r0, r1 }, ALL }], p)
    methods.copy_(out[{ { r0, r1 }, ALL, ALL }], (power(z) * p.gain):transpose(2, 3))
    z:release()
  end)
  local shape = {}
  for i = 1, x.ndim - 1 do shape[i] = x.shape[i] end
  shape[#shape + 1], shape[#shape + 2] = p.bins, p.count
  local t = (create.arange(0, p.count - 1) * p.step + p.size / 2) / o.fs
  return { f = p.f, t = tensor.moved(t, x._device, 3), psd = methods.reshape(out, shape) }
end

return M
