-- filter.lua - running filters over samples: once, or forward and backward for zero phase.
--
-- Holds start-up states, edge extension and the choice between recursion and transforms. The recursion itself is the op
-- `iir`. Designs come from fir.lua and iir.lua; coefficients on the host follow the samples. Arithmetic is f64 inside
-- the recursion for every dtype; results keep the dtype of the samples.
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local check = require 'mascon.core.check'
local recurrence = require 'mascon.array.recurrence'
local rows = require 'mascon.signal.rows'
local fourier = require 'mascon.signal.fourier'
local methods, F = tensor.methods, op.functions
local cut, ALL = rows.cut, rows.all
local M = {}

-- ---------------------------------------------------------------- the recursion

local recurse, rest = recurrence.recurse, recurrence.rest

--- Both parts of complex rows, or real rows, through f.
local function each_part(x, f)
  if not rows.is_complex(x) then return f(x) end
  return rows.complex(f(F.real(x)), f(F.imag(x)))
end

--- Coefficients where x is, when they are on the host.
local function beside(coef, x) return coef._device == 0 and tensor.moved(coef, x._device, 3) or coef end

-- ---------------------------------------------------------------- checks

local function sections(fname, sos, level)
  if type(sos) == 'table' then sos = op.from_table(sos) end
  if not tensor.is(sos) or sos.ndim ~= 2 or sos.shape[2] ~= 6 or sos.shape[1] < 1 then
    error(('%s: sections are %s; give f64[sections,6], as butter makes them'):format(fname, tensor.describe(sos)),
      level)
  end
  sos = methods.to(sos, 'f64')
  local t = sos:totable()
  for i, r in ipairs(t) do
    if r[4] ~= 1 then error(('%s: section %d has a0 = %g; divide it by a0 first'):format(fname, i, r[4]), level) end
  end
  return sos, t
end

--- b and a divided by a[1], without trailing zeros of a, as f64 vectors.
local function fraction(fname, b, a, level)
  b, a = rows.vector(fname, 'b', b, level + 1), rows.vector(fname, 'a', a, level + 1)
  local lead = a[1]
  if op.found(F.eq(lead, 0)) then error(fname .. ': a[1] is 0; shift the coefficients so that it is not', level) end
  return b / lead, a / lead
end

--- One section f64 [1, 2 (order + 1)] of b and a, zero-filled to the same length.
local function one_section(b, a)
  local q = math.max(b.shape[1], a.shape[1])
  local coef = create.zeros({ 1, 2 * q }, { device = b.device })
  coef[{ 1, { 1, b.shape[1] } }] = b
  coef[{ 1, { q + 1, q + a.shape[1] } }] = a
  return coef
end

--- The same from two plain lists of numbers; nil for anything else, which the general way checks.
local function listed_section(b, a)
  if type(b) ~= 'table' or type(a) ~= 'table' or type(a[1]) ~= 'number' or a[1] == 0 or #b == 0 then return nil end
  local q, lead, flat = math.max(#b, #a), a[1], {}
  for i = 1, q do
    local p, r = b[i] or 0, a[i] or 0
    if type(p) ~= 'number' or type(r) ~= 'number' then return nil end
    flat[i], flat[q + i] = p / lead, r / lead
  end
  return methods.reshape(op.from_table(flat), { 1, 2 * q })
end

-- ---------------------------------------------------------------- start-up states

--- States f64 [sections, n - 1] under a constant input of 1, of sections b, a f64 [sections, n] with a[1] = 1.
local function steady(b, a)
  local n = b.shape[2]
  local da = cut(a, 2, n)
  local dc = cut(b, 2, n) - da * cut(b, 1, 1)
  local first = F.sum(dc, { 2, keepdim = true }) / (F.sum(da, { 2, keepdim = true }) + 1)
  if n == 2 then return first end
  local further = (F.cumsum(cut(da, 1, n - 2), 2) + 1) * first - F.cumsum(cut(dc, 1, n - 2), 2)
  return F.concat({ first, further }, 2)
end

--- State of lfilter for a step input: lfilter with zi = lfilter_zi(b, a) * x[1] starts without a jump.
---@return any f64 [max(#a, #b) - 1]
--- Errors: a pole at 1 has no such state. Source: steady state of the transposed direct form II.
function M.lfilter_zi(b, a)
  local fname = 'signal.lfilter_zi'
  b, a = fraction(fname, b, a, 3)
  local c = one_section(b, a)
  local q = c.shape[2] / 2
  if q < 2 then return create.zeros { 0 } end
  local z = steady(cut(c, 1, q), cut(c, q + 1, 2 * q))[1]
  if not op.certain(F.isfinite(z)) then error(fname .. ': the filter has a pole at 1, no state is steady', 2) end
  return methods.copy(z)
end

local function sos_states(fname, sos, level)
  local b, a = cut(sos, 1, 3), cut(sos, 4, 6)
  local z = steady(b, a)
  for i = 1, sos.shape[1] do
    if not op.certain(F.isfinite(z[i])) then
      error(('%s: section %d has a pole at 1, no state is steady'):format(fname, i), level)
    end
  end
  local n = sos.shape[1]
  if n == 1 then return z end
  -- a section sees what those before it make of the 1
  local gain = F.cumprod(cut(F.sum(b, { 2, keepdim = true }).mT / F.sum(a, { 2, keepdim = true }).mT, 1, n - 1), 2)
  return z * F.concat({ create.ones({ 1, 1 }, { device = sos.device }), gain }, 2).mT
end

--- State of sosfilt for a step input of 1.
---@return any f64 [sections, 2]
function M.sosfilt_zi(sos)
  local fname = 'signal.sosfilt_zi'
  return (sos_states(fname, (sections(fname, sos, 3)), 3))
end

--- zi as SciPy shapes it, sections first when `lead`, the filtered axis replaced by the states, as rows [m, sections *
--- order].
local function state_in(fname, zi, x, axis, count, order, lead, level)
  if type(zi) == 'table' then zi = op.from_table(zi) end
  if not tensor.is(zi) then error(('%s: zi is %s; give a tensor'):format(fname, check.show(zi)), level) end
  local a = tensor.axis(fname, x, axis, level + 1) + 1
  local want, xs, m = lead and { count } or {}, x.shape, 1
  for i = 1, #xs do
    want[#want + 1] = i == a and order or xs[i]
    if i ~= a then m = m * xs[i] end
  end
  if zi.shape ~= setmetatable(want, getmetatable(zi.shape)) then
    error(('%s: zi is %s for samples %s; it must have shape %s'):format(fname, tensor.describe(zi), tensor.describe(x),
      '[' .. table.concat(want, ',') .. ']'), level)
  end
  zi = methods.to(zi, 'f64')
  if lead then
    zi = methods.moveaxis(zi, a + 1, -1)
    zi = methods.moveaxis(zi, 1, -2)
  else
    zi = methods.moveaxis(zi, a, -1)
  end
  return methods.reshape(zi, { m, count * order }), want, a
end

local function state_out(zf, want, a, count, order, lead)
  local s = {}
  for i = 1, #want do if i ~= (lead and 1 or 0) and i ~= (lead and a + 1 or a) then s[#s + 1] = want[i] end end
  if lead then s[#s + 1] = count end
  s[#s + 1] = order
  local z = methods.reshape(zf, s)
  if lead then
    z = methods.moveaxis(z, -2, 1)
    return methods.copy(methods.moveaxis(z, -1, a + 1))
  end
  return methods.copy(methods.moveaxis(z, -1, a))
end

--- y, or y and the final state when zi was given.
local function filtered(fname, coef, x, o, lead, level)
  coef = beside(coef, x)
  if x._ndim == 1 and o.zi == nil and o.axis == -1 and not rows.is_complex(x) then -- without a closure: see check.opts
    local n = tonumber(x._numel)
    local y = recurse(methods.reshape(x, { 1, n }), coef, rest(1, coef), false, level + 1)
    return methods.reshape(y, { n })
  end
  local r, back = rows.of(fname, x, o.axis, level + 1)
  local count, order = coef.shape[1], coef.shape[2] / 2 - 1
  if o.zi == nil then
    return back(each_part(r, function(part) return (recurse(part, coef, rest(r.shape[1], coef), false, level + 1)) end))
  end
  if rows.is_complex(x) then
    error(('%s: zi goes with real samples; filter real and imaginary part apart'):format(fname), level)
  end
  local zi = tensor.is(o.zi) and beside(o.zi, x) or o.zi
  local state, want, a = state_in(fname, zi, x, o.axis, count, order, lead, level + 1)
  local y, zf = recurse(r, coef, state, false, level + 1)
  return back(y), state_out(zf, want, a, count, order, lead)
end

-- ---------------------------------------------------------------- one pass

local ONCE = { axis = { -1, 'integer' }, zi = { nil, 'any' } }

--- Samples through a cascade of second-order sections.
---     local y = mc.signal.sosfilt(mc.signal.butter(4, 30, { fs = 250 }), mc.ones { 1000 })
---     y[-1]  --> f64[]@cpu 1
---@param sos any f64 [sections, 6], a0 = 1
---@param x any f32|f64|c64|c128 [..., t]; integers become f64
---@param opts table|nil axis (last) · zi: state before the first sample, f64 [sections, ...] with the axis replaced by
---  2
---@return any y shape and dtype of x
---@return any|nil zf state after the last sample, when zi was given: filter the next stretch with it
--- Errors: shapes of sos and zi. Source: Discrete-time signal processing, 1999, section 6.3.
function M.sosfilt(sos, x, opts)
  local fname = 'signal.sosfilt'
  local o = check.opts(fname, opts, ONCE, 3)
  sos = sections(fname, sos, 3)
  local y, zf = filtered(fname, sos, rows.float(fname, x, 3), o, true, 3)
  return y, zf
end

--- Samples through a[1] y[t] = sum b[k] x[t - k] - sum a[k] y[t - k]. Long b with a = 1 goes by transforms.
---     (mc.signal.lfilter({ 1 }, { 1, -0.5 }, mc.tensor{1, 0, 0}))  --> f64[3]@cpu { 1.0000, 0.5000, 0.2500 }
---@param b any list or f64 [n]
---@param a any number, list or f64 [m], a[1] not 0
---@param x any f32|f64|c64|c128 [..., t]
---@param opts table|nil axis (last) · zi: state before the first sample, f64 with the axis replaced by max(n, m) - 1
---@return any y
---@return any|nil zf when zi was given
--- Errors: a[1] = 0, shape of zi. Recursive filters above order 4 belong in sections (butter, sosfilt): polynomials
--- lose digits.
--- Source: as sosfilt.
function M.lfilter(b, a, x, opts)
  local fname = 'signal.lfilter'
  local o = check.opts(fname, opts, ONCE, 3)
  local coef = type(a) == 'table' and #a > 1 and listed_section(b, a)
  if coef then
    local y, zf = filtered(fname, coef, rows.float(fname, x, 3), o, false, 3)
    return y, zf
  end
  b, a = fraction(fname, b, a, 3)
  x = rows.float(fname, x, 3)
  if a.shape[1] == 1 and o.zi == nil then
    local r, back, n = rows.of(fname, x, o.axis, 3)
    if not rows.is_short(b.shape[1], r) and n > 32 then
      b = beside(b, x)
      return back(each_part(r, function(part)
        return fourier.convolve_rows(part, methods.to(b, part.dtype), 0, n)
      end))
    end
  end
  local y, zf = filtered(fname, one_section(b, a), x, o, false, 3)
  return y, zf
end

-- ---------------------------------------------------------------- both ways

local TWICE = { axis = { -1, 'integer' }, padtype = { 'odd', rows.PADS }, padlen = { nil, 'integer >= 0' } }

--- Forward and backward over real rows, blocks of rows at a time. zi f64 [states].
local function both_ways(r, coef, zi, pad, padtype, level)
  local m, n = r.shape[1], r.shape[2]
  local out = tensor.empty('filtfilt', { m, n }, r.dtype, level + 1, r._device)
  coef, zi = beside(coef, r), beside(zi, r)
  rows.blocks(m, 3 * (n + 2 * pad), 8, function(r0, r1)
    local x = rows.extend(r[{ { r0, r1 }, ALL }], pad, padtype)
    local first = methods.to(cut(x, 1, 1), 'f64') * zi
    local y = recurse(x, coef, first, false, level + 2, pad > 0) -- without padding x is the caller's
    recurse(y, coef, methods.to(cut(y, -1, -1), 'f64') * zi, true, level + 2, true)
    methods.copy_(out[{ { r0, r1 }, ALL }], cut(y, pad + 1, pad + n))
    y:release()
  end)
  return out
end

local function padding(fname, o, usual, x, n, level)
  if o.padtype == 'none' then return 0 end
  local pad = o.padlen or usual
  if n <= pad then
    error(('%s: samples are %s, the axis has %d; padding needs more than %d: give longer rows or a smaller padlen')
      :format(fname, tensor.describe(x), n, pad), level)
  end
  return pad
end

--- Zero-phase filtering with second-order sections: forward, then backward; the response is |H|^2.
---@param sos any f64 [sections, 6]
---@param x any f32|f64|c64|c128 [..., t]
---@param opts table|nil axis (last) · padtype: extension at both ends, 'odd' (2 x[1] - x[k]) | 'even' | 'constant' |
---  'none' ('odd')
--- · padlen: its length in samples (3 (2 sections + 1 - delays that the sections do not use))
---@return any y shape and dtype of x
--- Errors: rows not longer than padlen. Start-up states are those of a constant equal to the first sample, at both
--- ends.
--- Source: Gustafsson, Determining the initial states in forward-backward filtering, 1996, section I; defaults as SciPy
--- 1.17.
function M.sosfiltfilt(sos, x, opts)
  local fname = 'signal.sosfiltfilt'
  local o = check.opts(fname, opts, TWICE, 3)
  local list
  sos, list = sections(fname, sos, 3)
  x = rows.float(fname, x, 3)
  local r, back, n = rows.of(fname, x, o.axis, 3)
  local b0, a0 = 0, 0
  for _, s in ipairs(list) do b0, a0 = b0 + (s[3] == 0 and 1 or 0), a0 + (s[6] == 0 and 1 or 0) end
  local pad = padding(fname, o, 3 * (2 * #list + 1 - math.min(b0, a0)), x, n, 3)
  if n == 0 then return back(r) end
  local zi = methods.reshape(sos_states(fname, sos, 3), { 2 * #list })
  return back(each_part(r, function(part) return both_ways(part, sos, zi, pad, o.padtype, 3) end))
end

--- Zero-phase filtering with b, a: forward, then backward. With a = 1 and an extension no shorter than the filter the
--- start-up states never reach the kept samples, so both passes are one convolution with the autocorrelation of b, done
--- by transforms when long.
---     local y = mc.signal.filtfilt(mc.signal.firwin(101, 40, { fs = 500 }), 1, mc.ones { 1000 })
---     y.shape  --> {1000}
---@param b any list or f64 [n]
---@param a any number, list or f64 [m]
---@param x any f32|f64|c64|c128 [..., t]
---@param opts table|nil axis, padtype, padlen (3 max(n, m)) as sosfiltfilt
---@return any y shape and dtype of x
--- Errors and source: as sosfiltfilt.
function M.filtfilt(b, a, x, opts)
  local fname = 'signal.filtfilt'
  local o = check.opts(fname, opts, TWICE, 3)
  b, a = fraction(fname, b, a, 3)
  x = rows.float(fname, x, 3)
  local r, back, n = rows.of(fname, x, o.axis, 3)
  local k = b.shape[1]
  local pad = padding(fname, o, 3 * math.max(k, a.shape[1]), x, n, 3)
  if n == 0 then return back(r) end
  if a.shape[1] == 1 and not rows.is_short(2 * k, r) and pad >= k - 1 then
    local g = fourier.convolve_rows(methods.reshape(b, { 1, k }), methods.flip(b), 0, 2 * k - 1)[1]
    return back(each_part(r, function(part)
      local out = tensor.empty(fname, part.shape, part.dtype, 3, part._device)
      local taps = methods.to(beside(g, x), part.dtype)
      rows.blocks(part.shape[1], 2 * (n + 2 * k), 1, function(r0, r1)
        local wide = rows.extend(part[{ { r0, r1 }, ALL }], k - 1, o.padtype)
        methods.copy_(out[{ { r0, r1 }, ALL }], fourier.convolve_rows(wide, taps, 2 * (k - 1), n))
        wide:release()
      end)
      return out
    end))
  end
  local coef = one_section(b, a)
  local q = coef.shape[2] / 2
  local zi = q > 1 and M.lfilter_zi(b, a) or create.zeros { 0 }
  return back(each_part(r, function(part) return both_ways(part, coef, zi, pad, o.padtype, 3) end))
end

-- ---------------------------------------------------------------- responses

local FREQZ = { worN = { 512, 'integer >= 1 | table | tensor' }, fs = { 2 * math.pi, 'number > 0' },
  whole = { false, 'bool' } }

--- Frequencies in units of fs and exp(-i w) there.
local function grid(o, like)
  local f
  if type(o.worN) == 'number' then
    local top = o.whole and o.fs or o.fs / 2
    f = create.linspace(0, top, o.worN, { endpoint = false })
  else
    f = tensor.is(o.worN) and methods.to(o.worN, 'f64') or op.from_table(o.worN)
  end
  f = tensor.moved(f, like._device, 3)
  local w = f * (2 * math.pi / o.fs)
  return f, rows.complex(F.cos(w), -F.sin(w))
end

--- Polynomial with coefficients v [n], the constant first, in z, by Horner's rule.
local function polynomial(v, z)
  local n = v.shape[1]
  local y = F.real(z) * 0 + v[n]
  for i = n - 1, 1, -1 do y = y * z + v[i] end
  return y
end

--- Frequency response H = B(exp(-i w)) / A(exp(-i w)).
---@param b any list or f64 [n]
---@param a any number, list or f64 [m] (1)
---@param opts table|nil worN: how many frequencies from 0 below fs/2, or the frequencies (512) · fs: sampling rate (2
---  pi: rad/sample)
--- · whole: up to fs instead of fs/2 (false)
---@return table { f = f64 [k], h = c128 [k] }
--- Source: definition of the transfer function on the unit circle.
function M.freqz(b, a, opts)
  local fname = 'signal.freqz'
  local o = check.opts(fname, opts, FREQZ, 3)
  b, a = rows.vector(fname, 'b', b, 3), rows.vector(fname, 'a', a == nil and 1 or a, 3)
  local like = b._device ~= 0 and b or a -- lists follow tensors
  a, b = beside(a, like), beside(b, like)
  local f, z = grid(o, like)
  return { f = f, h = polynomial(b, z) / polynomial(a, z) }
end

--- Frequency response of second-order sections; options and result as freqz.
---@param sos any f64 [sections, 6]
function M.freqz_sos(sos, opts)
  local fname = 'signal.freqz_sos'
  local o = check.opts(fname, opts, FREQZ, 3)
  sos = sections(fname, sos, 3)
  local f, z = grid(o, sos)
  local h
  for i = 1, sos.shape[1] do
    local s = polynomial(sos[{ i, { 1, 3 } }], z) / polynomial(sos[{ i, { 4, 6 } }], z)
    h = h and h * s or s
  end
  return { f = f, h = h }
end
M.sosfreqz = M.freqz_sos

-- ---------------------------------------------------------------- trends

--- Rows without their mean ('constant') or their least-squares line ('linear').
function M.detrend_rows(r, kind)
  local y = r - F.mean(r, { -1, keepdim = true })
  local n = r.shape[r.ndim]
  if kind == 'constant' or n < 2 then return y end
  local t = create.arange(0, n - 1) - (n - 1) / 2
  local weight = t / F.sum(F.square(t)):item()
  if r.dtype == 'f32' then t, weight = methods.to(t, 'f32'), methods.to(weight, 'f32') end
  t, weight = tensor.moved(t, r._device, 3), tensor.moved(weight, r._device, 3)
  local slope = F.matmul(y, methods.reshape(weight, { n, 1 }))
  return y - slope * t
end

local DETREND = { axis = { -1, 'integer' }, type = { 'linear', { 'linear', 'constant' } } }

--- Samples without their mean or their line of least squares along an axis.
---     mc.signal.detrend(mc.tensor{1, 2, 4}, { type = 'constant' })  --> f64[3]@cpu { -1.3333, -0.3333, 1.6667 }
---@param x any f32|f64 [..., t]
---@param opts table|nil type: 'linear' | 'constant' ('linear') · axis (last)
--- Source: ordinary least squares.
function M.detrend(x, opts)
  local fname = 'signal.detrend'
  local o = check.opts(fname, opts, DETREND, 3)
  local r, back, n = rows.of(fname, rows.float(fname, x, 3), o.axis, 3)
  if n == 0 then return back(r) end
  return back(each_part(r, function(part) return M.detrend_rows(part, o.type) end))
end

return M
