-- wavelet.lua - Morlet wavelets and the transform by them.
--
-- Holds the normalisation (unit energy in continuous time) and the crop to the length of the samples.
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local check = require 'mascon.core.check'
local fft = require 'mascon.fft'
local rows = require 'mascon.signal.rows'
local methods, F = tensor.methods, op.functions
local ALL = rows.all
local M = {}

local MORLET = { width = { 7, 'number > 0' } }

local function wavelet(f, fs, width)
  local sigma = width / (2 * math.pi * f)
  local start = -width * sigma / 2
  local n = math.ceil(width * sigma * fs)
  local t = create.arange(0, n - 1) / fs + start
  local envelope = F.exp(F.square(t) * (-0.5 / sigma ^ 2)) * (sigma * math.sqrt(math.pi)) ^ -0.5
  local w = t * (2 * math.pi * f)
  return rows.complex(envelope * F.cos(w), envelope * F.sin(w))
end

local function frequencies(fname, f, fs, level)
  check.arg(fname, 'fs', fs, 'number > 0', level + 1)
  for _, v in ipairs(f) do
    if type(v) ~= 'number' or not (v > 0 and v < fs / 2) then
      error(('%s: frequency is %s; it must lie between 0 and fs/2 = %g'):format(fname, check.show(v), fs / 2), level)
    end
  end
end

--- Complex Morlet wavelet m(t) = (s sqrt(pi))^(-1/2) exp(-t^2 / (2 s^2)) exp(2 pi i f t), s = width / (2 pi f), t from
--- -width s / 2 in steps of 1/fs, below +width s / 2.
---@param f number centre frequency, Hz
---@param fs number sampling rate, Hz
---@param opts table|nil width: cycles, about 2 pi f s (7)
---@return any c128 [n]
--- Errors: f outside (0, fs/2). Source: Tallon-Baudry et al., Oscillatory gamma-band (30-70 Hz) activity, 1997.
function M.morlet(f, fs, opts)
  local fname = 'signal.morlet'
  local o = check.opts(fname, opts, MORLET, 3)
  frequencies(fname, { f }, fs, 3)
  return (wavelet(f, fs, o.width))
end

local TRANSFORM = { width = { 7, 'number > 0' }, axis = { -1, 'integer' } }

--- Samples convolved with Morlet wavelets, cropped to their length from position ceil(n/2) of the full result.
---@param x any f32|f64 [..., t]
---@param f any list or f64 [k], Hz
---@param fs number sampling rate, Hz
---@param opts table|nil width: cycles (7) · axis (last)
---@return any c64|c128 [..., k, t]: abs is the amplitude (times sqrt of time), angle the phase
--- Errors: f outside (0, fs/2), complex samples. Source: as morlet.
function M.morlet_transform(x, f, fs, opts)
  local fname = 'signal.morlet_transform'
  local o = check.opts(fname, opts, TRANSFORM, 3)
  local list = rows.vector(fname, 'f', f, 3):totable()
  frequencies(fname, list, fs, 3)
  x = rows.float(fname, x, 3)
  if rows.is_complex(x) then error(('%s: samples are %s; give real ones'):format(fname, tensor.describe(x)), 2) end
  if x.ndim > 0 and tensor.axis(fname, x, o.axis, 3) + 1 ~= x.ndim then x = methods.moveaxis(x, o.axis, -1) end
  local r, _, n = rows.of(fname, x, -1, 3)
  local m, k = r.shape[1], #list
  local complex = x.dtype == 'f32' and 'c64' or 'c128'
  local out = tensor.empty(fname, { m, k, n }, complex, 2, x._device)
  if n > 0 then
    local waves, longest = {}, 1
    for i = 1, k do
      waves[i] = wavelet(list[i], fs, o.width)
      longest = math.max(longest, waves[i].shape[1])
    end
    local size = fft.next_fast_len(n + longest - 1)
    local taps = {}
    for i = 1, k do
      taps[i] = tensor.moved(methods.to(fft.fft(waves[i], { n = size }), complex), x._device, 3)
    end
    rows.blocks(m, 4 * size, 1, function(r0, r1)
      local spec = fft.fft(r[{ { r0, r1 }, ALL }], { n = size })
      for i = 1, k do
        local y = fft.ifft(spec * taps[i], { n = size })
        local first = math.ceil(waves[i].shape[1] / 2)
        methods.copy_(out[{ { r0, r1 }, i, ALL }], rows.cut(y, first, first + n - 1))
        y:release()
      end
      spec:release()
    end)
  end
  local shape = {}
  for i = 1, x.ndim - 1 do shape[i] = x.shape[i] end
  shape[#shape + 1], shape[#shape + 2] = k, n
  return methods.reshape(out, shape)
end

return M
