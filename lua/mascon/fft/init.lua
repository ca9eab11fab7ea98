-- fft/init.lua - discrete Fourier transforms under the names of the array API.
--
-- Rows of the op table plus what follows from them in Lua.
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local error = check.error
local op = require 'mascon.core.op'
local into = require 'mascon.core.into'
local create = require 'mascon.array.create'
local place = require 'mascon.core.place'
local F, methods = op.functions, tensor.methods
local M = {}

for _, name in ipairs { 'fft', 'ifft', 'rfft', 'irfft', 'dct', 'idct', 'dst', 'idst', 'dctn', 'idctn',
  'dstn', 'idstn' } do
  M[name] = F[name]
end

local NORM = { 'backward', 'ortho', 'forward' }
local ND = { s = { nil, 'table' }, axes = { nil, 'table' }, norm = { 'backward', NORM } }

--- Axes (from 1, all by default, the last #s with s) and lengths of an n-dimensional transform; the last axis comes
--- last.
local function plan(fname, x, opts)
  local o = check.opts(fname, opts, ND, 4)
  if x.ndim == 0 then error(('%s: operand is %s; it needs at least one axis'):format(fname, tensor.describe(x)), 3) end
  local axes, seen = {}, {}
  if o.axes then
    for i, a in ipairs(o.axes) do axes[i] = tensor.axis(fname, x, a, 4) + 1 end
  else
    local first = o.s and x.ndim - #o.s or 0
    if first < 0 then
      error(('%s: %d lengths for %s; give at most one for each axis'):format(fname, #o.s, tensor.describe(x)), 3)
    end
    for i = first + 1, x.ndim do axes[#axes + 1] = i end
  end
  if o.s and #o.s ~= #axes then
    error(('%s: %d lengths for %d axes of %s; give one for each'):format(fname, #o.s, #axes, tensor.describe(x)), 3)
  end
  for _, a in ipairs(axes) do
    if seen[a] then
      error(('%s: axis %d of %s is named twice; name each once'):format(fname, a, tensor.describe(x)), 3)
    end
    seen[a] = true
  end
  for _, n in ipairs(o.s or {}) do check.arg(fname, 'a length in s', n, 'integer >= 1', 4) end
  return axes, o.s or {}, o.norm
end

local function nd(fname, one)
  return function(x, opts)
    x = op.operand(fname, x, 2)
    local axes, s, norm = plan(fname, x, opts)
    local kept = false -- along an axis of size 1 nothing changes, but the first transform makes the numbers complex
    for i = #axes, 1, -1 do
      if (s[i] or x.shape[axes[i]]) ~= 1 or x.shape[axes[i]] ~= 1 or (i == 1 and not kept) then
        x, kept = one(x, { axis = axes[i], n = s[i] or -1, norm = norm }), true
      end
    end
    if #axes == 0 then
      return methods.to(x, tensor.kind[x.dtype] == 'c' and x.dtype or x.dtype == 'f32' and 'c64' or 'c128')
    end
    return x
  end
end

--- Discrete Fourier transform over several axes: X_k = sum_t x_t exp(-2 pi i k . t / n).
--- x: f32|f64|c64|c128, any shape. Options: axes (all, or the last #s), s: lengths along them (cut or filled with
--- zeros), norm: 'backward' (the inverse is scaled by 1/n), 'ortho' (both by 1/sqrt(n)), 'forward'.
--- Result: c64|c128, s along the axes.
--- Source: Python array API standard 2023.12, fft
---     mc.real(mc.fft.fftn(mc.ones{2, 2}))  --> f64[2,2]@cpu { { 4, 0 }, { 0, 0 } }
---@type fun(x: any, opts?: table): any
M.fftn = nd('fftn', F.fft)
--- Inverse of fftn, with the same options.
--- x: f32|f64|c64|c128, any shape. Result: c64|c128.
--- Source: Python array API standard 2023.12, fft
---     mc.real(mc.fft.ifftn(mc.fft.fftn(mc.tensor{{1, 2}, {3, 4}})))  --> f64[2,2]@cpu { { 1, 2 }, { 3, 4 } }
---@type fun(x: any, opts?: table): any
M.ifftn = nd('ifftn', F.ifft)

--- Transform of real data over several axes: rfft along the last of them, fft along the others; bins 0..n/2 along the
--- last.
--- x: f32|f64, any shape. Options: axes, s, norm as in fftn. Result: c64|c128.
--- Source: Python array API standard 2023.12, fft
---     mc.fft.rfftn(mc.ones{2, 4}).shape  --> {2, 3}
---@type fun(x: any, opts?: table): any
function M.rfftn(x, opts)
  x = op.operand('rfftn', x, 2)
  local axes, s, norm = plan('rfftn', x, opts)
  if #axes == 0 then error(('rfftn: no axis of %s is named; name at least one'):format(tensor.describe(x)), 2) end
  x = F.rfft(x, { axis = axes[#axes], n = s[#axes] or -1, norm = norm })
  for i = #axes - 1, 1, -1 do x = F.fft(x, { axis = axes[i], n = s[i] or -1, norm = norm }) end
  return x
end

--- Inverse of rfftn: real data from bins 0..n/2 along the last axis.
--- x: c64|c128 (reals are taken as such), any shape. Options: axes, norm as in fftn; s: lengths of the result, by
--- default 2 (bins - 1) along the last axis. Result: f32|f64.
--- Source: Python array API standard 2023.12, fft
---     mc.fft.irfftn(mc.fft.rfftn(mc.tensor{{1, 2}, {3, 4}}))  --> f64[2,2]@cpu { { 1, 2 }, { 3, 4 } }
---@type fun(x: any, opts?: table): any
function M.irfftn(x, opts)
  x = op.operand('irfftn', x, 2)
  local axes, s, norm = plan('irfftn', x, opts)
  if #axes == 0 then error(('irfftn: no axis of %s is named; name at least one'):format(tensor.describe(x)), 2) end
  for i = 1, #axes - 1 do x = F.ifft(x, { axis = axes[i], n = s[i] or -1, norm = norm }) end
  return F.irfft(x, { axis = axes[#axes], n = s[#axes] or -1, norm = norm })
end

local ONE = { n = { -1, 'integer' }, axis = { -1, 'integer' }, norm = { 'backward', NORM } }
local SWAP = { backward = 'forward', ortho = 'ortho', forward = 'backward' }

--- Real spectrum of a signal with Hermitian symmetry, of which the first half is given: irfft of the conjugate with the
--- scaling of a forward transform.
--- x: c64|c128 (reals are taken as such), any shape. Options: n: length of the result (2 (m - 1) for m given), axis
--- (-1), norm as in fftn.
--- Result: f32|f64, n along the axis.
--- Source: Python array API standard 2023.12, fft
---     mc.fft.hfft(mc.tensor{1, 2, 1})  --> f64[4]@cpu { 6, 0, -2, 0 }
---@type fun(x: any, opts?: table): any
function M.hfft(x, opts)
  local o = check.opts('hfft', opts, ONE, 3)
  return F.irfft(F.conj(op.operand('hfft', x, 2)), { n = o.n, axis = o.axis, norm = SWAP[o.norm] })
end

--- Inverse of hfft: the first half of a signal with Hermitian symmetry from its real spectrum.
--- x: f32|f64, any shape. Options: n: how much of x to use, axis (-1), norm as in fftn. Result: c64|c128, n/2 + 1 along
--- the axis.
--- Source: Python array API standard 2023.12, fft
---     mc.real(mc.fft.ihfft(mc.tensor{6, 0, -2, 0}))  --> f64[3]@cpu { 1, 2, 1 }
---@type fun(x: any, opts?: table): any
function M.ihfft(x, opts)
  local o = check.opts('ihfft', opts, ONE, 3)
  return F.conj(F.rfft(op.operand('ihfft', x, 2), { n = o.n, axis = o.axis, norm = SWAP[o.norm] }))
end

local FREQ = { d = { 1, 'number' }, dtype = { 'f64', 'string' }, device = place.OPTION }
local function freq(fname, n, d, opts)
  check.arg(fname, 'n', n, 'integer >= 1', 4)
  if type(d) == 'table' then opts, d = d, nil end
  local o = check.opts(fname, opts, FREQ, 4)
  if d ~= nil then o.d = check.arg(fname, 'd', d, 'number', 4) end
  return o
end

--- Frequencies of the bins of fft(n), in cycles per unit of d: 0, 1, ..., -2, -1 over n d.
--- n: length of the transform. d: distance of samples (1). Options: d, dtype (f64), device. Result: f64 [n].
--- Source: Python array API standard 2023.12, fft
---     mc.fft.fftfreq(4)  --> f64[4]@cpu { 0.0000, 0.2500, -0.5000, -0.2500 }
---@param n integer
---@param d? number|table
---@param opts? table
---@return any
function M.fftfreq(n, d, opts)
  local o = freq('fftfreq', n, d, opts)
  local k = create.arange(0, n - 1)
  local half = math.floor((n - 1) / 2)
  return methods.to(F.where(F.gt(k, half), k - n, k) / (n * o.d), { dtype = o.dtype, device = o.device })
end

--- Frequencies of the bins of rfft(n), in cycles per unit of d: 0, 1, ..., n/2 over n d.
--- n: length of the transform. d: distance of samples (1). Options: d, dtype (f64), device. Result: f64 [n/2 + 1].
--- Source: Python array API standard 2023.12, fft
---     mc.fft.rfftfreq(4)  --> f64[3]@cpu { 0.0000, 0.2500, 0.5000 }
---@param n integer
---@param d? number|table
---@param opts? table
---@return any
function M.rfftfreq(n, d, opts)
  local o = freq('rfftfreq', n, d, opts)
  return methods.to(create.arange(0, math.floor(n / 2)) / (n * o.d), { dtype = o.dtype, device = o.device })
end

local function shift(fname, sign)
  return function(x, axes)
    x = op.operand(fname, x, 2)
    if type(axes) == 'table' and axes.axes ~= nil then
      axes = check.opts(fname, axes, { axes = { nil, 'any' } }, 3).axes
    end
    check.list(fname, axes, { axes = true })
    if type(axes) == 'number' then axes = { axes } end
    if axes ~= nil and type(axes) ~= 'table' then
      error(('%s: axes are %s; give a number or a list'):format(fname, check.show(axes)), 2)
    end
    if axes == nil then
      axes = {}
      for i = 1, x.ndim do axes[i] = i end
    end
    local by = {}
    for i, a in ipairs(axes) do by[i] = sign * math.floor(x.shape[tensor.axis(fname, x, a, 3) + 1] / 2) end
    if #by == 0 then return methods.copy(x) end
    return F.roll(x, by, { axis = axes })
  end
end

--- Zero frequency moved to the middle of each axis.
--- x: any dtype, any shape. axes: a number or a list (all). Result: tensor [x.shape].
--- Source: Python array API standard 2023.12, fft
---     mc.fft.fftshift(mc.tensor{0, 1, -2, -1})  --> f64[4]@cpu { -2, -1, 0, 1 }
---@type fun(x: any, axes?: integer|integer[]|table): any
M.fftshift = shift('fftshift', 1)
--- Inverse of fftshift, also for odd lengths.
--- x: any dtype, any shape. axes: a number or a list (all). Result: tensor [x.shape].
--- Source: Python array API standard 2023.12, fft
---     mc.fft.ifftshift(mc.tensor{-1, 0, 1})  --> f64[3]@cpu { 0, 1, -1 }
---@type fun(x: any, axes?: integer|integer[]|table): any
M.ifftshift = shift('ifftshift', -1)

M.next_fast_len = require 'mascon.base.lengths'.next_fast_len

--- Engine "auto" (the default: FFTW, or the transform of our own for the shapes where that is faster, by one table for
--- all machines), "fftw" or "mascon"; measure = true asks for measured plans of FFTW (recorded in manifests).
function M.config(engine, opts)
  check.arg('fft.config', 'engine', engine, 'string', 3)
  local o = check.opts('fft.config', opts, { measure = { false, 'bool' } }, 3)
  lib.check(lib.C.mc_fft_config(engine, o.measure and 1 or 0), 2)
end
--- Measured plans written to a file, for load_wisdom in a later run.
function M.save_wisdom(path)
  lib.check(lib.C.mc_fft_wisdom(check.arg('fft.save_wisdom', 'path', path, 'string', 3), 1), 2)
end
--- Measured plans read from a file that save_wisdom wrote.
function M.load_wisdom(path)
  lib.check(lib.C.mc_fft_wisdom(check.arg('fft.load_wisdom', 'path', path, 'string', 3), 0), 2)
end
--- Name and version of the engine in use.
function M.engine() return lib.neighbour 'fft' end

place.made_by(M, 'fftfreq rfftfreq')

return into.all('fft.', M, op.functions)
