-- czt.lua - the z-transform on a spiral: chirp-z, and the Fourier transform zoomed into a band.
--
-- Holds Bluestein's chirp: n k = (n^2 + k^2 - (k - n)^2) / 2 turns the sum into a convolution, made by transforms.
-- Angles are reduced to one turn before the cosine, so that long chirps keep their digits.
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local check = require 'mascon.core.check'
local fft = require 'mascon.fft'
local rows = require 'mascon.signal.rows'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

local SPLIT = 2 ^ 27 + 1
--- A number as the sum of its upper 26 bits and the rest (Dekker, A floating-point technique for extending the
--- available precision, 1971).
local function halves(v)
  local c = SPLIT * v
  local high = c - (c - v)
  return high, v - high
end

--- a / b as a number and what rounding took from it.
local function ratio(a, b)
  local q = a / b
  local qh, ql = halves(q)
  local bh, bl = halves(b)
  local product = q * b
  local lost = ((qh * bh - product) + qh * bl + ql * bh) + ql * bl
  return { q, ((a - product) - lost) / b }
end

--- The fraction of a turn of e angle for e >= 0 in halves, below 2^51: whole turns go before they cost digits.
local function fraction(e, angle)
  local function part(v) return v - F.round(v) end
  local high, low = halves(angle[1])
  local top = F.floor(e * 2 ^ -26)
  local bottom = e - top * 2 ^ 26
  return part(part(top * (2 ^ 26 * high)) + part(bottom * high) + part(e * low) + e * angle[2])
end

--- r^e e^(2 pi i e angle), angle in turns as ratio() gives it, as c128.
local function spiral(log_r, e, angle)
  local turns = fraction(e, angle) * (2 * math.pi)
  local re, im = F.cos(turns), F.sin(turns)
  if log_r ~= 0 then
    local g = F.exp(e * log_r)
    re, im = re * g, im * g
  end
  return rows.complex(re, im)
end

--- sum_t x[t] a^(-t) w^(k t) for k = 0..m - 1: logarithms of |a|, |w|, angles in turns as ratio() gives them.
local function chirp(fname, x, m, axis, log_w, turn_w, log_a, turn_a)
  local r, back, n = rows.of(fname, x, axis, 4)
  if n == 0 then error(('%s: samples are %s; the axis is empty'):format(fname, tensor.describe(x)), 3) end
  local wide = x.dtype == 'f64' or x.dtype == 'c128'
  local dtype = wide and 'c128' or 'c64'
  local size = fft.next_fast_len(n + m - 1)
  local k = create.arange(0, math.max(n, m) - 1)
  local chirps = spiral(log_w, F.square(k) * 0.5, turn_w)
  local t = k[{ { 1, n } }]
  local front = chirps[{ { 1, n } }]
  if log_a ~= 0 or turn_a[1] ~= 0 then front = front * spiral(-log_a, t, { -turn_a[1], -turn_a[2] }) end
  local inverse = log_w == 0 and F.conj(chirps) or 1 / chirps
  local kernel = create.zeros({ size }, { dtype = 'c128' })
  methods.copy_(kernel[{ { 1, m } }], inverse[{ { 1, m } }])
  if n > 1 then methods.copy_(kernel[{ { size - n + 2, size } }], methods.flip(inverse[{ { 2, n } }])) end
  kernel = tensor.moved(methods.to(fft.fft(kernel), dtype), r._device, 4)
  front = tensor.moved(methods.to(front, dtype), r._device, 4)
  local last = tensor.moved(methods.to(chirps[{ { 1, m } }], dtype), r._device, 4)
  local out = tensor.empty(fname, { r.shape[1], m }, dtype, 3, r._device)
  rows.blocks(r.shape[1], 4 * size, 1, function(r0, r1)
    local y = fft.fft(r[{ { r0, r1 }, rows.all }] * front, { n = size })
    y:multiply_(kernel)
    local z = fft.ifft(y)
    F.multiply(rows.cut(z, 1, m), last, { out = out[{ { r0, r1 }, rows.all }] })
    y:release()
    z:release()
  end)
  return back(out)
end

local function polar(fname, what, z, level)
  if type(z) == 'number' then return math.log(math.abs(z)), { z < 0 and 0.5 or 0, 0 } end
  if not tensor.is_complex(z) then
    error(('%s: %s is %s; give a number or mc.complex(re, im)'):format(fname, what, check.show(z)), level + 1)
  end
  return math.log(z:abs()), { z:arg() / (2 * math.pi), 0 }
end

local CZT = { m = { nil, 'integer >= 1' }, w = { nil, 'any' }, a = { 1, 'any' }, axis = { -1, 'integer' } }

--- Chirp-z transform: X[k] = sum_t x[t] z[k]^(-t) on the spiral z[k] = a w^(-k), k and t from 0.
---@param x any f32|f64|c64|c128 [..., n]
---@param opts? table m: points of the spiral (n) · w: their ratio, a number or mc.complex (e^(-2 pi i / m)) · a: the
---  first point (1) · axis (-1)
---@return any c64|c128 [..., m]
--- Errors: an empty axis, w or a that is 0. Source: Rabiner, Schafer, Rader, The chirp z-transform algorithm, 1969;
--- arguments as SciPy czt.
---     mc.signal.czt(mc.tensor{ 1, 1 }):abs():round()  --> f64[2]@cpu { 2, 0 }
function M.czt(x, opts)
  local fname = 'signal.czt'
  local o = check.opts(fname, opts, CZT, 3)
  x = rows.float(fname, x, 3)
  local m = o.m or x.shape[tensor.axis(fname, x, o.axis, 3) + 1]
  if m == 0 then error(('%s: samples are %s; the axis is empty'):format(fname, tensor.describe(x)), 2) end
  local log_w, turn_w = 0, ratio(-1, m)
  if o.w ~= nil then log_w, turn_w = polar(fname, 'w', o.w, 2) end
  local log_a, turn_a = polar(fname, 'a', o.a, 2)
  if log_w == -math.huge or log_a == -math.huge then error(fname .. ': w and a must not be 0', 2) end
  return chirp(fname, x, m, o.axis, log_w, turn_w, log_a, turn_a)
end

local ZOOM = { m = { nil, 'integer >= 1' }, fs = { 2, 'number > 0' }, endpoint = { false, 'bool' },
  axis = { -1, 'integer' } }

--- Fourier transform at m frequencies of a band: X[k] = sum_t x[t] e^(-2 pi i f[k] t / fs), f[k] = f1 + k (f2 - f1) /
--- m.
---@param x any f32|f64|c64|c128 [..., n]
---@param band number|table f2 (from 0), or { f1, f2 }, in units of fs
---@param opts? table m: frequencies (n) · fs: sampling rate (2) · endpoint: f2 is the last of them (false) · axis (-1)
---@return any c64|c128 [..., m]
--- Errors: an empty axis. Source: as czt; arguments as SciPy zoom_fft.
---     mc.signal.zoom_fft(mc.ones{ 4 }, { 0, 0.5 }, { m = 2 }).shape[1]  --> 2
function M.zoom_fft(x, band, opts)
  local fname = 'signal.zoom_fft'
  local o = check.opts(fname, opts, ZOOM, 3)
  x = rows.float(fname, x, 3)
  if type(band) == 'number' then band = { 0, band } end
  if type(band) ~= 'table' or type(band[1]) ~= 'number' or type(band[2]) ~= 'number' then
    error(('%s: band is %s; give f2 or { f1, f2 }'):format(fname, check.show(band)), 2)
  end
  local m = o.m or x.shape[tensor.axis(fname, x, o.axis, 3) + 1]
  if m == 0 then error(('%s: samples are %s; the axis is empty'):format(fname, tensor.describe(x)), 2) end
  local steps = o.endpoint and m > 1 and m - 1 or m
  return chirp(fname, x, m, o.axis, 0, ratio(band[1] - band[2], o.fs * steps), 0, ratio(band[1], o.fs))
end

return M
