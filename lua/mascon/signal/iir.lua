-- iir.lua - recursive filters designed in zeros and poles, given as second-order sections.
--
-- Holds prototypes, band transforms, the bilinear map and the pairing of zeros with poles. Design is a handful of
-- complex numbers, so it is plain Lua.
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local check = require 'mascon.core.check'
local fir = require 'mascon.signal.fir'
local C = tensor.complex
local M = {}

local function csqrt(z)
  local r = z:abs()
  if r == 0 then return C(0, 0) end
  local re = math.sqrt((r + math.abs(z.re)) / 2)
  local im = math.abs(z.im) / (2 * re)
  if z.re < 0 then re, im = im, re end
  return C(re, z.im < 0 and -im or im)
end

local function map(list, f)
  local out = {}
  for i, v in ipairs(list) do out[i] = f(v) end
  return out
end

local function product(list, f)
  local p = C(1, 0)
  for _, v in ipairs(list) do p = p * f(v) end
  return p
end

local function append(list, value, count)
  for _ = 1, count do list[#list + 1] = value end
  return list
end

--- Both roots of s -> (s bw/2) +- sqrt((s bw/2)^2 - w0^2), first all +, then all -.
local function band_roots(list, w0)
  local plus, minus = {}, {}
  for i, s in ipairs(list) do
    local root = csqrt(s * s - w0 * w0)
    plus[i], minus[i] = s + root, s - root
  end
  for _, s in ipairs(minus) do plus[#plus + 1] = s end
  return plus
end

-- Analog prototype (cut-off 1 rad/s) to the wanted band: z, p, k in, z, p, k out. w: pre-warped edges, rad/s.
local TRANSFORM = {
  lowpass = function(z, p, k, w)
    local degree = #p - #z
    return map(z, function(s) return s * w[1] end), map(p, function(s) return s * w[1] end), k * w[1] ^ degree
  end,
  highpass = function(z, p, k, w)
    local function neg(s) return -s end
    local gain = k * (product(z, neg) / product(p, neg)).re
    local zh = append(map(z, function(s) return w[1] / s end), C(0, 0), #p - #z)
    return zh, map(p, function(s) return w[1] / s end), gain
  end,
  bandpass = function(z, p, k, w)
    local bw, w0, degree = w[2] - w[1], math.sqrt(w[1] * w[2]), #p - #z
    local function half(s) return s * (bw / 2) end
    return append(band_roots(map(z, half), w0), C(0, 0), degree), band_roots(map(p, half), w0), k * bw ^ degree
  end,
  bandstop = function(z, p, k, w)
    local bw, w0, degree = w[2] - w[1], math.sqrt(w[1] * w[2]), #p - #z
    local function neg(s) return -s end
    local function half(s) return (bw / 2) / s end
    local gain = k * (product(z, neg) / product(p, neg)).re
    local zs = band_roots(map(z, half), w0)
    append(zs, C(0, w0), degree)
    append(zs, C(0, -w0), degree)
    return zs, band_roots(map(p, half), w0), gain
  end,
}

--- s -> (4 + s) / (4 - s): the bilinear map at rate 2, zeros at infinity go to -1.
local function bilinear(z, p, k)
  local function to_z(s) return (4 + s) / (4 - s) end
  local function den(s) return 4 - s end
  local gain = k * (product(z, den) / product(p, den)).re
  return append(map(z, to_z), C(-1, 0), #p - #z), map(p, to_z), gain
end

local function is_real(z) return z.im == 0 end

--- One of each conjugate pair (im > 0), ascending, then the real ones, ascending.
local function split_pairs(list)
  local complex, real = {}, {}
  for _, z in ipairs(list) do
    if math.abs(z.im) <= 100 * 2.220446049250313e-16 * z:abs() then real[#real + 1] = C(z.re, 0)
    elseif z.im > 0 then complex[#complex + 1] = z end
  end
  local function order(a, b) return a.re < b.re or a.re == b.re and a.im < b.im end
  table.sort(complex, order)
  table.sort(real, order)
  for _, z in ipairs(real) do complex[#complex + 1] = z end
  return complex
end

local function worst(list, keep)
  local at, best
  for i, p in ipairs(list) do
    local d = math.abs(1 - p:abs())
    if (not keep or keep(p)) and (not best or d < best) then at, best = i, d end
  end
  return at
end

local function nearest(list, to, keep)
  local at, best
  for i, z in ipairs(list) do
    local d = (z - to):abs()
    if (not keep or keep(z)) and (not best or d < best) then at, best = i, d end
  end
  return at
end

local function count(list, keep)
  local n = 0
  for _, v in ipairs(list) do if keep(v) then n = n + 1 end end
  return n
end

local function conj(z) return C(z.re, -z.im) end

--- b or a of a section from its two roots.
local function quadratic(r1, r2) return { 1, -(r1 + r2).re, (r1 * r2).re } end

--- Zeros, poles and gain as second-order sections. The poles nearest to the unit circle take the zeros nearest to them
--- and come last, so that intermediate values stay small.
local function sections_of(z, p, k)
  append(p, C(0, 0), math.max(0, #z - #p))
  append(z, C(0, 0), math.max(0, #p - #z))
  local n = math.floor((#p + 1) / 2)
  if #p % 2 == 1 then
    append(p, C(0, 0), 1)
    append(z, C(0, 0), 1)
  end
  z, p = split_pairs(z), split_pairs(p)
  local rows = {}
  for s = n, 1, -1 do
    local p1 = table.remove(p, worst(p))
    local p2, z1, z2
    if is_real(p1) and count(p, is_real) == 0 then
      p2, z2 = C(0, 0), C(0, 0)
      z1 = table.remove(z, nearest(z, p1, is_real))
    elseif #p + 1 == #z and not is_real(p1) and count(p, is_real) == 1 and count(z, is_real) == 1 then
      p2 = conj(p1)
      z1 = table.remove(z, nearest(z, p1, function(v) return not is_real(v) end))
      z2 = conj(z1)
    else
      p2 = is_real(p1) and table.remove(p, worst(p, is_real)) or conj(p1)
      z1 = table.remove(z, nearest(z, p1))
      z2 = is_real(z1) and table.remove(z, nearest(z, p1, is_real)) or conj(z1)
    end
    local b, a = quadratic(z1, z2), quadratic(p1, p2)
    rows[s] = { b[1], b[2], b[3], a[1], a[2], a[3] }
  end
  for i = 1, 3 do rows[1][i] = rows[1][i] * k end
  return rows
end

local TYPES = { 'lowpass', 'highpass', 'bandpass', 'bandstop' }
local BUTTER = { btype = { nil, TYPES }, fs = { 2, 'number > 0' } }

--- Butterworth filter: |H|^2 = 1 / (1 + (w / wc)^(2 order)) mapped to the band, as second-order sections.
---     local sos = mc.signal.butter(4, { 8, 12 }, { fs = 250 })
---     sos.shape  --> {4, 6}
---@param order integer of the prototype; band filters have twice as many poles
---@param wn number|table -3 dB frequency, or { low, high }, unit of fs
---@param opts table|nil btype: 'lowpass' | 'highpass' | 'bandpass' | 'bandstop' ('lowpass' for one edge, 'bandpass' for
---  two)
--- · fs: sampling rate (2: edges are fractions of half the rate)
---@return any sos f64 [sections, 6]: b0 b1 b2 1 a1 a2 of each section
--- Errors: edges outside (0, fs/2), wrong number of edges. Designed in zeros and poles, never as polynomials: those
--- lose all digits for narrow bands. Source: Discrete-time signal processing, chapter 7; pairing as SciPy 1.17 zpk2sos.
function M.butter(order, wn, opts)
  local fname = 'signal.butter'
  check.arg(fname, 'order', order, 'integer >= 1', 3)
  local o = check.opts(fname, opts, BUTTER, 3)
  local edges = fir.edges(fname, wn, o.fs, 3)
  local btype = o.btype or (#edges == 2 and 'bandpass' or 'lowpass')
  local band = btype == 'bandpass' or btype == 'bandstop'
  if #edges ~= (band and 2 or 1) then
    error(('%s: %s takes %s, %d given'):format(fname, btype, band and 'two edges' or 'one edge', #edges), 2)
  end
  local p = {}
  for i = 1, order do
    local m = -order + 1 + 2 * (i - 1)
    local angle = math.pi * m / (2 * order)
    p[i] = C(-math.cos(angle), m == 0 and 0 or -math.sin(angle))
  end
  local w = map(edges, function(f) return 4 * math.tan(math.pi * f / 2) end)
  local za, pa, ka = TRANSFORM[btype]({}, p, 1, w)
  return op.from_table(sections_of(bilinear(za, pa, ka)))
end

local NOTCH = { fs = { 2, 'number > 0' } }
local function resonator(fname, peak)
  return function(w0, q, opts)
    local o = check.opts(fname, opts, NOTCH, 3)
    local f = fir.edges(fname, w0, o.fs, 3)[1]
    check.arg(fname, 'q', q, 'number > 0', 3)
    local w = math.pi * f
    local beta = math.tan(w / q / 2)
    local gain, c = 1 / (1 + beta), math.cos(w)
    local b = peak and { 1 - gain, 0, -(1 - gain) } or { gain, -2 * gain * c, gain }
    return op.from_table { { b[1], b[2], b[3], 1, -2 * gain * c, 2 * gain - 1 } }
  end
end

--- One section that removes (iirnotch) or keeps (iirpeak) a single frequency w0 with quality q = w0 / bandwidth at -3
--- dB.
---@return any sos f64 [1, 6]
--- Source: Orfanidis, Introduction to signal processing, section 11.3.
M.iirnotch, M.iirpeak = resonator('signal.iirnotch', false), resonator('signal.iirpeak', true)

return M
