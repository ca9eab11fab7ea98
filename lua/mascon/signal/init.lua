-- signal/init.lua - windows, filters and spectra under SciPy's names.
--
-- The public table; every function is defined and documented in the file of its concept. Axes are 1-based, the last by
-- default; samples keep their dtype (f32 or f64, integers become f64).
local op = require 'mascon.core.op'
local into = require 'mascon.core.into'
local M = {}

local PARTS = {
  window = { 'get_window', 'boxcar', 'hann', 'hamming', 'blackman', 'nuttall', 'blackmanharris', 'flattop', 'bartlett',
    'cosine', 'bohman', 'kaiser', 'gaussian',
    'tukey', 'kaiser_beta', 'kaiserord' },
  fir = { 'firwin' },
  iir = { 'butter', 'iirnotch', 'iirpeak' },
  filter = { 'lfilter', 'lfilter_zi', 'sosfilt', 'sosfilt_zi', 'filtfilt', 'sosfiltfilt', 'freqz', 'freqz_sos',
    'sosfreqz', 'detrend' },
  fourier = { 'convolve', 'fftconvolve', 'correlate', 'hilbert' },
  spectrum = { 'periodogram', 'welch', 'csd', 'coherence', 'spectrogram' },
  czt = { 'czt', 'zoom_fft' },
  wavelet = { 'morlet', 'morlet_transform' },
}
for part, names in pairs(PARTS) do
  local from = require('mascon.signal.' .. part)
  for _, name in ipairs(names) do M[name] = from[name] end
end

return into.all('signal.', M, op.functions)
