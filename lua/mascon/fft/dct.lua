-- dct.lua - discrete cosine and sine transforms in SciPy's conventions.
--
-- The transforms along one axis are a C op; over several axes they are made one axis after the other. Holds the
-- options.
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local error = check.error
local M = {}

local NORMS = { 'backward', 'ortho', 'forward' }
local CODE = { backward = 0, ortho = 1, forward = 2 }
local OPTS = {
  type = { 2, { 1, 2, 3, 4 } }, n = { nil, 'integer >= 1' }, axis = { -1, 'integer' }, norm = { 'backward', NORMS },
  orthogonalize = { nil, 'bool' }, out = { nil, 'tensor' },
}

local function transform(name)
  local id = op.rows[name].id
  local fname = 'fft.' .. name
  local function call(out, x, P) return lib.C.mc_op1(id, out, x, P) end
  return function(x, opts)
    x = op.operand(fname, x, 2)
    local o = check.opts(fname, opts, OPTS, 3)
    local P = lib.params()
    P.naxes, P.axes[0] = 1, tensor.axis(fname, x, o.axis, 3)
    local orthogonal = o.orthogonalize
    if orthogonal == nil then orthogonal = o.norm == 'ortho' end
    P.i[0], P.i[1], P.i[2], P.i[3] = o.type, o.n or -1, CODE[o.norm], orthogonal and 1 or 0
    return op.run(fname, 2, o, 1024, call, x, P)
  end
end

--- Discrete cosine transform of a real (or complex) row.
---
--- type 2: y[k] = 2 sum_t x[t] cos(pi k (2 t + 1) / (2 n)), t and k from 0; type 3 is its inverse up to 2 n; type 1 (n
--- >= 2) sums x[0] + (-1)^k x[n - 1] + 2 sum x[t] cos(pi k t / (n - 1)); type 4 sums 2 x[t] cos(pi (2 k + 1) (2 t + 1)
--- / (4 n)).
---@param x any f32|f64|c64|c128 [..., n]; integers become f64, halves compute in f32
---@param opts? table type: 1 to 4 (2) · n: length, cut or filled with zeros (as given) · axis (-1) · norm: 'backward'
---  (no factor here,
--- 1 / (2 n) in the inverse), 'ortho' (its root in both), 'forward' · orthogonalize: the factors of sqrt 2 at the ends
--- that make the matrix orthogonal (with 'ortho') · out
---@return any dtype of x
--- Errors: too few points. Source: SciPy fft.dct; Makhoul, A fast cosine transform in one and two dimensions, 1980.
---     mc.fft.dct(mc.tensor{ 1, 1 })  --> f64[2]@cpu { 4, 0 }
M.dct = transform 'dct'
--- Inverse of dct with the same type, norm and orthogonalize.
---@param x any f32|f64|c64|c128 [..., n]
---@param opts? table as dct
---@return any dtype of x
--- Errors: as dct. Source: SciPy fft.idct.
---     mc.fft.idct(mc.tensor{ 4, 0 })  --> f64[2]@cpu { 1, 1 }
M.idct = transform 'idct'
--- Discrete sine transform of a real (or complex) row.
---
--- type 2: y[k] = 2 sum_t x[t] sin(pi (k + 1) (2 t + 1) / (2 n)), t and k from 0; type 3 is its inverse up to 2 n; type
--- 1 sums 2 x[t] sin(pi (k + 1) (t + 1) / (n + 1)); type 4 sums 2 x[t] sin(pi (2 k + 1) (2 t + 1) / (4 n)).
---@param x any f32|f64|c64|c128 [..., n]
---@param opts? table as dct
---@return any dtype of x
--- Errors: too few points. Source: SciPy fft.dst.
---     mc.fft.dst(mc.tensor{ 1, 2 }, { type = 1, norm = 'ortho' }):shares_memory(mc.zeros{ 1 })  --> false
M.dst = transform 'dst'
--- Inverse of dst with the same type, norm and orthogonalize.
---@param x any f32|f64|c64|c128 [..., n]
---@param opts? table as dct
---@return any dtype of x
--- Errors: as dst. Source: SciPy fft.idst.
---     mc.fft.idst(mc.fft.dst(mc.tensor{ 1, 2 })):round()  --> f64[2]@cpu { 1, 2 }
M.idst = transform 'idst'

local MANY = { type = OPTS.type, s = { nil, 'table' }, axes = { nil, 'table' }, norm = OPTS.norm,
  orthogonalize = OPTS.orthogonalize }

local function several(name, one)
  local fname = 'fft.' .. name
  return function(x, opts)
    x = op.operand(fname, x, 2)
    local o = check.opts(fname, opts, MANY, 3)
    local axes, n = o.axes, x.ndim
    if not axes then
      axes = {}
      for i = 1, o.s and #o.s or n do axes[i] = n - (o.s and #o.s or n) + i end
    end
    if o.s and #o.s ~= #axes then
      error(('%s: %d sizes for %d axes of %s; give one for each'):format(fname, #o.s, #axes, tensor.describe(x)), 2)
    end
    local first = x
    for k = #axes, 1, -1 do
      local y =
        one(x, { type = o.type, n = o.s and o.s[k], axis = axes[k], norm = o.norm, orthogonalize = o.orthogonalize })
      if not rawequal(x, first) then x:release() end
      x = y
    end
    return x
  end
end
--- Cosine transforms over several axes.
---@param x any
---@param opts? table axes: a list (all) · s: a length for each (as given) · type, norm, orthogonalize as dct
--- Source: SciPy fft.dctn.
---     mc.fft.dctn(mc.ones{ 2, 2 })  --> f64[2,2]@cpu { { 16, 0 }, { 0, 0 } }
M.dctn = several('dctn', M.dct)
--- Inverse of dctn.
---@param x any
---@param opts? table as dctn
--- Source: SciPy fft.idctn.
---     mc.fft.idctn(mc.tensor{ { 16, 0 }, { 0, 0 } })  --> f64[2,2]@cpu { { 1, 1 }, { 1, 1 } }
M.idctn = several('idctn', M.idct)
--- Sine transforms over several axes.
---@param x any
---@param opts? table as dctn
--- Source: SciPy fft.dstn.
---     mc.fft.dstn(mc.ones{ 2, 2 }).shape[1]  --> 2
M.dstn = several('dstn', M.dst)
--- Inverse of dstn.
---@param x any
---@param opts? table as dctn
--- Source: SciPy fft.idstn.
---     mc.fft.idstn(mc.fft.dstn(mc.ones{ 2, 2 })):round()  --> f64[2,2]@cpu { { 1, 1 }, { 1, 1 } }
M.idstn = several('idstn', M.idst)

return M
