--- mascon.fft: discrete Fourier transforms under the names of the array API.
--
-- Rows of the op table plus what follows from them in Lua. Owns nothing.
local lib = require 'mascon.ffi'
local tensor = require 'mascon.tensor'
local check = require 'mascon.check'
local op = require 'mascon.op'
local F = op.functions
local M = {}

for _, name in ipairs { 'fft', 'ifft', 'rfft', 'irfft', 'dct', 'idct', 'dst', 'idst', 'dctn', 'idctn', 'dstn', 'idstn' } do M[name] = F[name] end

local ND = { s = { nil, 'table' }, axes = { nil, 'table' }, norm = { 'backward', { 'backward', 'ortho', 'forward' } } }
local function nd(fname, one)
  return function(x, opts)
    x = op.operand(fname, x, 2)
    local o = check.opts(fname, opts, ND, 3)
    local axes = o.axes
    if not axes then
      axes = {}
      local first = o.s and x.ndim - #o.s or 0
      for i = first + 1, x.ndim do axes[#axes + 1] = i end
    end
    for i = #axes, 1, -1 do x = one(x, { axis = axes[i], n = o.s and o.s[i] or -1, norm = o.norm }) end
    return x
  end
end
--- Transforms over several axes (all by default).
M.fftn, M.ifftn = nd('fftn', F.fft), nd('ifftn', F.ifft)

--- Frequencies of the bins of fft(n), in cycles per unit of d.
---     mc.fft.fftfreq(4, 0.5)  --> f64[4]@cpu { 0.0000, 0.5000, -1.0000, -0.5000 }
function M.fftfreq(n, d)
  check.arg('fftfreq', 'n', n, 'integer >= 1', 3)
  local k = require('mascon.create').arange(0, n - 1)
  local half = math.floor((n - 1) / 2)
  return F.where(F.gt(k, half), k - n, k) / (n * (d or 1))
end
function M.rfftfreq(n, d)
  check.arg('rfftfreq', 'n', n, 'integer >= 1', 3)
  return require('mascon.create').arange(0, math.floor(n / 2)) / (n * (d or 1))
end

local function shift(fname, sign)
  return function(x, axis)
    x = op.operand(fname, x, 2)
    local axes = axis and { axis } or {}
    if not axis then for i = 1, x.ndim do axes[i] = i end end
    for _, a in ipairs(axes) do
      local n = x.shape[tensor.axis(fname, x, a, 3) + 1]
      x = F.roll(x, { sign > 0 and math.floor(n / 2) or -math.floor(n / 2), axis = a })
    end
    return x
  end
end
--- Zero frequency to the middle, and back.
M.fftshift, M.ifftshift = shift('fftshift', 1), shift('ifftshift', -1)

--- Smallest 2^a 3^b 5^c at or above n: lengths at which transforms are fast.
---     mc.fft.next_fast_len(17)  --> 18
function M.next_fast_len(n)
  check.arg('next_fast_len', 'n', n, 'integer >= 1', 3)
  local best = math.huge
  local p5 = 1
  while p5 < best do
    local p35 = p5
    while p35 < best do
      local v = p35
      while v < n do v = v * 2 end
      if v < best then best = v end
      if p35 >= n then break end
      p35 = p35 * 3
    end
    if p5 >= n then break end
    p5 = p5 * 5
  end
  return best
end

--- Engine "auto", "fftw" or "mascon"; measure = true asks for measured plans (recorded in manifests).
function M.config(engine, opts)
  local o = check.opts('fft.config', opts, { measure = { false, 'bool' } }, 3)
  lib.check(lib.C.mc_fft_config(engine, o.measure and 1 or 0), 2)
end
--- Measured plans kept in a file between runs.
function M.save_wisdom(path) lib.check(lib.C.mc_fft_wisdom(path, 1), 2) end
function M.load_wisdom(path) lib.check(lib.C.mc_fft_wisdom(path, 0), 2) end
--- Name and version of the engine in use.
function M.engine() return lib.neighbour 'fft' end


return M
