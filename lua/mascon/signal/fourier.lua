-- fourier.lua - convolution by transforms, analytic signals.
--
-- Makes the choice of block length (overlap-save) and the cut of the full result. Rows in, rows out.
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local check = require 'mascon.core.check'
local fft = require 'mascon.fft'
local rows = require 'mascon.signal.rows'
local recurrence = require 'mascon.array.recurrence'
local methods, F = tensor.methods, op.functions
local cut, ALL = rows.cut, rows.all
local M = {}

--- Block length for k taps: about 8 k, at least 2048, where the work per useful sample is within a few percent of its
--- least.
local function block_length(n, k)
  local whole = n + k - 1
  local long = math.max(2048, 8 * k)
  return fft.next_fast_len(whole <= 1.5 * long and whole or long)
end

--- Samples first..first+count-1 (0-based positions of the full convolution) of real rows x[m, n] with taps h[k].
---@return any f32|f64 [m, count]
function M.convolve_rows(x, h, first, count)
  local m, n, k = x.shape[1], x.shape[2], h.shape[1]
  local dtype = x.dtype
  local size = block_length(n, k)
  local taps = fft.rfft(h, { n = size })
  taps = dtype == 'f32' and methods.to(taps, 'c64') or taps
  local out = tensor.empty('convolve', { m, count }, dtype, 3, x._device)
  if m == 0 or count == 0 then return out end
  if size >= n + k - 1 then
    rows.blocks(m, 3 * size, 1, function(r0, r1)
      local spec = fft.rfft(x[{ { r0, r1 }, ALL }], { n = size })
      spec:multiply_(taps)
      local y = fft.irfft(spec, { n = size })
      methods.copy_(out[{ { r0, r1 }, ALL }], cut(y, first + 1, first + count))
      spec:release()
      y:release()
    end)
    return out
  end
  -- overlap-save: block b gives `step` samples from first + b step on and reads k - 1 samples before them
  local step = size - k + 1
  local nb = math.ceil(count / step)
  local start = first - (k - 1)
  local function run(r0, r1, b0, b1)
    local from, to = start + b0 * step, start + b1 * step + size -- x positions [from, to), zeros outside [0, n)
    local a, b = math.max(from, 0), math.min(to, n)
    local src
    if a == from and b == to then
      src = x[{ { r0, r1 }, { a + 1, b } }]
    else
      src = tensor.empty('convolve', { r1 - r0 + 1, to - from }, dtype, 3, x._device):fill_(0)
      if b > a then methods.copy_(src[{ ALL, { a - from + 1, b - from } }], x[{ { r0, r1 }, { a + 1, b } }]) end
    end
    local spec = fft.rfft(methods.windows(src, size, { step = step }), { n = size })
    spec:multiply_(taps)
    local y = fft.irfft(spec, { n = size })
    local good = y[{ ALL, ALL, { k, size } }]
    local want = math.min((b1 + 1) * step, count) - b0 * step
    local flat = methods.reshape(good, { r1 - r0 + 1, (b1 - b0 + 1) * step })
    methods.copy_(out[{ { r0, r1 }, { b0 * step + 1, b0 * step + want } }], cut(flat, 1, want))
    spec:release()
    y:release()
  end
  local together = math.max(1, math.floor(rows.BLOCK / (3 * size)))
  if nb >= together then
    for r = 1, m do
      for b = 0, nb - 1, together do run(r, r, b, math.min(nb - 1, b + together - 1)) end
    end
  else
    rows.blocks(m, 3 * size * nb, 1, function(r0, r1) run(r0, r1, 0, nb - 1) end)
  end
  return out
end

local MODES = { 'full', 'same', 'valid' }

--- First position and count of a mode in the full convolution of n with k samples.
local function part(mode, n, k)
  if mode == 'full' then return 0, n + k - 1 end
  if mode == 'same' then return math.floor((k - 1) / 2), n end
  return math.min(n, k) - 1, math.abs(n - k) + 1
end

local FFT = { mode = { 'full', MODES }, axes = { nil, 'table | integer' } }

--- Full convolution over several axes by transforms; other axes broadcast.
local function convolve_axes(fname, x, h, axes, mode, level)
  local complex = rows.is_complex(x) or rows.is_complex(h)
  local xs, hs, key = x.shape, h.shape, {}
  for i = 1, x.ndim do key[i] = ALL end
  local sizes = {}
  local fits, fits_back = true, true
  for _, a in ipairs(axes) do
    if xs[a] == 0 or hs[a] == 0 then
      error(('%s: operands are %s and %s; an axis to convolve is empty'):format(fname, tensor.describe(x),
        tensor.describe(h)), level)
    end
    sizes[a] = fft.next_fast_len(xs[a] + hs[a] - 1)
    local first, count = part(mode, xs[a], hs[a])
    key[a] = { first + 1, first + count }
    fits, fits_back = fits and xs[a] >= hs[a], fits_back and hs[a] >= xs[a]
  end
  if mode == 'valid' and not (fits or fits_back) then
    error(('%s: operands are %s and %s; mode "valid" needs one at least as long as the other on every axis'):format(
      fname, tensor.describe(x), tensor.describe(h)), level)
  end
  local last = axes[#axes]
  local function forward(t)
    t = complex and fft.fft(t, { n = sizes[last], axis = last }) or fft.rfft(t, { n = sizes[last], axis = last })
    for i = #axes - 1, 1, -1 do t = fft.fft(t, { n = sizes[axes[i]], axis = axes[i] }) end
    return t
  end
  local y = forward(x) * forward(h)
  for i = 1, #axes - 1 do y = fft.ifft(y, { n = sizes[axes[i]], axis = axes[i] }) end
  y = complex and fft.ifft(y, { n = sizes[last], axis = last }) or fft.irfft(y, { n = sizes[last], axis = last })
  return methods.copy(y[key])
end

local function same_rank(fname, x, h, level)
  if x.ndim ~= h.ndim or x.ndim == 0 then
    error(('%s: operands are %s and %s; give the same number of axes, or axis = for a 1-D filter along one axis')
      :format(fname, tensor.describe(x), tensor.describe(h)), level)
  end
end

--- Convolution (x * h)[t] = sum_k h[k] x[t - k] by transforms.
---     mc.signal.fftconvolve(mc.tensor{1, 2}, mc.tensor{3, 4})  --> f64[3]@cpu { 3.0000, 10.0000, 8.0000 }
---@param x any f32|f64|c64|c128 [...]; integers become f64
---@param h any the same number of axes
---@param opts table|nil mode: 'full' | 'same' (size of x, centred) | 'valid' (no zeros met) ('full') · axes: those to
---  convolve (all)
--- Errors: different rank, an empty axis, 'valid' with neither operand the longer. Source: definition; modes as SciPy
--- 1.17 fftconvolve.
function M.fftconvolve(x, h, opts)
  local fname = 'signal.fftconvolve'
  local o = check.opts(fname, opts, FFT, 3)
  x, h = rows.float(fname, x, 3), rows.float(fname, h, 3)
  same_rank(fname, x, h, 3)
  local axes = o.axes
  if type(axes) == 'number' then axes = { axes } end
  local list = {}
  for i = 1, axes and #axes or x.ndim do list[i] = axes and tensor.axis(fname, x, axes[i], 3) + 1 or i end
  return convolve_axes(fname, x, h, list, o.mode, 3)
end

-- Products of samples and taps up to which one inner product a sample is cheaper than a transform, which starts in some
-- 20 us (Zen 4)
local FEW = 2 ^ 14

--- Full convolution of two short vectors of one real dtype: inner products of windows of x between zeros with the taps
--- backwards.
local function convolve_few(x, h)
  local n, k = tonumber(x._numel), tonumber(h._numel)
  local wide = create.zeros({ n + 2 * (k - 1) }, { dtype = x.dtype, device = x.device })
  methods.copy_(wide[{ { k, n + k - 1 } }], x)
  return F.vecdot(methods.windows(wide, k), methods.copy(h[{ { -1, 1, -1 } }]))
end

local CONV = { mode = { 'full', MODES }, method = { 'auto', { 'auto', 'direct', 'fft' } }, axis = { nil, 'integer' } }

local function convolve(fname, x, h, o, level)
  local whole = tensor.kind[x.dtype] == 'i' or tensor.kind[x.dtype] == 'u' or x.dtype == 'bool'
  whole = whole and (tensor.kind[h.dtype] == 'i' or tensor.kind[h.dtype] == 'u' or h.dtype == 'bool')
  x, h = rows.float(fname, x, level + 1), rows.float(fname, h, level + 1)
  local axis = o.axis
  if x._ndim == 1 and h._ndim == 1 and o.mode == 'full' and o.method ~= 'fft' and x._dtype == h._dtype and not whole
    and not rows.is_complex(x) then
    local n, k = tonumber(x._numel), tonumber(h._numel)
    if n > 0 and k > 0 and n * k <= FEW then return n < k and convolve_few(h, x) or convolve_few(x, h) end
  end
  if axis == nil then
    same_rank(fname, x, h, level + 1)
  elseif h.ndim ~= 1 then
    error(('%s: with axis = the filter is one-dimensional; it is %s'):format(fname, tensor.describe(h)), level)
  end
  local y
  if h.ndim == 1 and not rows.is_complex(x) and not rows.is_complex(h) then
    local r, back, n = rows.of(fname, x, axis, level + 1)
    local k = h.shape[1]
    if n == 0 or k == 0 then
      error(('%s: operands are %s and %s; both need samples'):format(fname, tensor.describe(x), tensor.describe(h)),
        level)
    end
    if x.dtype ~= h.dtype then
      local dt = (x.dtype == 'f64' or h.dtype == 'f64') and 'f64' or 'f32'
      r, h = methods.to(r, dt), methods.to(h, dt)
    end
    if k > n and r.shape[1] == 1 then r, h = methods.reshape(h, { 1, k }), methods.reshape(r, { n }) end
    local first, count = part(o.mode, n, k)
    local short = math.min(n, k)
    if o.method == 'fft' or o.method == 'auto' and not rows.is_short(short, r) then
      y = M.convolve_rows(r, h, first, count)
    else
      local tail = tensor.empty(fname, { r.shape[1], h.shape[1] - 1 }, r.dtype, level, r._device):fill_(0)
      y = cut(recurrence.fir_rows(F.concat({ r, tail }, 2), methods.to(h, 'f64')), first + 1, first + count)
    end
    if whole then y = methods.to(F.round(y), 'i64') end
    return back(y)
  end
  local list = {}
  if axis then
    list[1] = tensor.axis(fname, x, axis, level + 1) + 1
    local shape = {}
    for i = 1, x.ndim do shape[i] = i == list[1] and h.shape[1] or 1 end
    h = methods.reshape(h, shape)
  else
    for i = 1, x.ndim do list[i] = i end
  end
  y = convolve_axes(fname, x, h, list, o.mode, level + 1)
  return whole and methods.to(F.round(y), 'i64') or y
end

--- Convolution, directly for short filters, by transforms for long ones.
---     mc.signal.convolve(mc.tensor{1, 2, 3}, mc.tensor{0, 1, 0.5}, { mode = 'same' })
---       --> f64[3]@cpu { 1.0000, 2.5000, 4.0000 }
---@param x any [...]; f32 and f64 keep their dtype, two integer operands give i64
---@param h any the same number of axes; or [k] along `axis` of x
---@param opts table|nil mode as fftconvolve · method: 'auto' | 'direct' | 'fft' · axis: run a 1-D h along it (needed
---  when ranks differ)
--- Errors: as fftconvolve. 'direct' serves one dimension. Source: definition.
function M.convolve(x, h, opts)
  local fname = 'signal.convolve'
  local o = check.opts(fname, opts, CONV, 3)
  return (convolve(fname, op.beside(fname, x, h, 2), op.beside(fname, h, x, 2), o, 3))
end

--- Cross-correlation c[k] = sum_t x[t + k] conj(y[t]); 'full' starts at lag -(len(y) - 1).
---     mc.signal.correlate(mc.tensor{1, 2, 3}, mc.tensor{1, 1})  --> f64[4]@cpu { 1, 3, 5, 3 }
---@param x any [...]
---@param y any the same number of axes
---@param opts table|nil mode, method as convolve
--- Source: definition; order of lags as SciPy 1.17 correlate.
function M.correlate(x, y, opts)
  local fname = 'signal.correlate'
  local o = check.opts(fname, opts, CONV, 3)
  x, y = op.beside(fname, x, y, 2), op.beside(fname, y, x, 2)
  local turned = o.mode == 'valid' and x.ndim == y.ndim and x.ndim > 0 and x.shape[1] < y.shape[1]
  if turned then x, y = y, x end
  local z = convolve(fname, x, F.conj(methods.flip(y)), o, 3)
  if turned then z = methods.copy(F.conj(methods.flip(z))) end
  return z
end

local HILBERT = { n = { nil, 'integer >= 1' }, axis = { -1, 'integer' } }

--- Analytic signal x + i H(x): the inverse transform with positive frequencies doubled and negative ones removed.
---     local z = mc.signal.hilbert(mc.tensor{1, 0, -1, 0})
---     z:abs()  --> f64[4]@cpu { 1, 1, 1, 1 }
---@param x any f32|f64 [..., t]
---@param opts table|nil n: transform length; x is cut or zero-filled to it (length of the axis) · axis (last)
---@return any c64|c128, n samples on the axis
--- Errors: complex input. Source: Marple, Computing the discrete-time analytic signal via FFT, 1999, equation 8.
function M.hilbert(x, opts)
  local fname = 'signal.hilbert'
  local o = check.opts(fname, opts, HILBERT, 3)
  x = rows.float(fname, x, 3)
  if rows.is_complex(x) then error(('%s: samples are %s; give real ones'):format(fname, tensor.describe(x)), 2) end
  local r, back, len = rows.of(fname, x, o.axis, 3)
  local n = o.n or len
  if n == 0 then error(('%s: samples are %s; the axis is empty'):format(fname, tensor.describe(x)), 2) end
  local half = math.floor(n / 2) + 1
  local gain = create.full({ half }, 2, { dtype = x.dtype })
  gain[1] = 1
  if n % 2 == 0 then gain[half] = 1 end
  gain = tensor.moved(gain, x._device, 3)
  local m = r.shape[1]
  local out = tensor.empty(fname, { m, n }, x.dtype == 'f32' and 'c64' or 'c128', 2, x._device)
  rows.blocks(m, 3 * n, 1, function(r0, r1)
    local spec = fft.rfft(r[{ { r0, r1 }, ALL }], { n = n })
    spec:multiply_(gain)
    fft.ifft(spec, { n = n, out = out[{ { r0, r1 }, ALL }] })
    spec:release()
  end)
  return back(out)
end

return M
