-- matrices.lua - matrices of a given structure: identity, triangles, diagonals, Vandermonde, Toeplitz, Hankel.
--
-- Diagonals and windows are views over one row of memory; nothing here computes more than a selection. Offsets count
-- as in NumPy: 0 the main diagonal, positive above it, negative below.
local C = require('mascon.core.ffi').C
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local place = require 'mascon.core.place'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

local KIND = { dtype = { nil, 'string' }, device = place.OPTION }

local function with(spec)
  for k, v in pairs(KIND) do spec[k] = v end
  return spec
end

--- sizes n, m from (n, m, opts), and checked options.
local function square(fname, n, m, opts, spec, level)
  if type(m) == 'table' then m, opts = nil, m end
  check.arg(fname, 'n', n, 'integer >= 0', level + 1)
  if m ~= nil then check.arg(fname, 'm', m, 'integer >= 0', level + 1) end
  return n, m or n, check.opts(fname, opts, spec, level + 1)
end

local EYE = with { k = { 0, 'integer' } }
--- Ones on a diagonal, zeros elsewhere.
---@param n integer rows
---@param m? integer columns (n)
---@param opts? table k: which diagonal (0) · dtype ('f64') · device
---@return any [n, m]
--- Source: Python array API standard 2023.12, eye.
---     mc.eye(2, 3, { k = 1 }):totable()[1][2]  --> 1
function M.eye(n, m, opts)
  local rows, cols, o = square('eye', n, m, opts, EYE, 3)
  local t = create.zeros({ rows, cols }, { dtype = o.dtype, device = o.device })
  if rows > 0 and cols > 0 then methods.diagonal(t, { offset = o.k }):fill_(1) end
  return t
end

local TRI = with { k = { 0, 'integer' } }
--- Ones at and below a diagonal, zeros above.
---@param n integer rows
---@param m? integer columns (n)
---@param opts? table k: the diagonal (0) · dtype ('f64') · device
---@return any [n, m]
--- Source: NumPy tri.
---     mc.tri(2):totable()[2][1]  --> 1
function M.tri(n, m, opts)
  local rows, cols, o = square('tri', n, m, opts, TRI, 3)
  return methods.to(M.below(rows, cols, o.k), { dtype = o.dtype or 'f64', device = o.device })
end

--- Mask bool [n, m] of the places at and below diagonal k.
function M.below(n, m, k)
  local i, j = create.arange(1, n, 1, { dtype = 'i64' }), create.arange(1, m, 1, { dtype = 'i64' })
  if n == 0 or m == 0 then return create.zeros({ n, m }, { dtype = 'bool' }) end
  return F.ge(methods.reshape(i, { n, 1 }), j - k)
end

local ELSEWHERE = -2 -- of mc_triangle: a function is being recorded, which is done in known ops

local TRIANGLE = { k = { 0, 'integer' } }
local function triangle(fname, lower)
  return function(x, k, opts)
    x = op.operand(fname, x, 2)
    if type(k) == 'table' then k, opts = nil, k end
    local o = check.opts(fname, opts, TRIANGLE, 3)
    if k == nil then k = o.k end
    check.arg(fname, 'k', k, 'integer', 3)
    if x.ndim < 2 then error(('%s: operand is %s; it needs at least two axes'):format(fname, tensor.describe(x)), 2) end
    local out = tensor.header(x._small)
    local rc = C.mc_triangle(out, x, k, lower and 1 or 0)
    if rc == 0 then return out._storage ~= nil and tensor.finish(out) or out end
    if rc ~= ELSEWHERE then tensor.failed(rc, 2, true, x) end
    local n, m = x.shape[x.ndim - 1], x.shape[x.ndim]
    local mask = tensor.moved(M.below(n, m, lower and k or k - 1), x._device, 3)
    if x.dtype == 'bool' then return F.logical_and(x, lower and mask or F.logical_not(mask)) end
    if lower then return F.where(mask, x, 0) end
    return F.where(mask, 0, x)
  end
end
--- The lower triangle of the last two axes: elements above diagonal k become 0.
---@param x any [..., n, m]
---@param k? integer (0)
--- Errors: fewer than two axes. Source: Python array API standard 2023.12, tril.
---     mc.tril(mc.ones{ 2, 2 }):sum()  --> f64[]@cpu 3
M.tril = triangle('tril', true)
--- The upper triangle of the last two axes: elements below diagonal k become 0.
---@param x any [..., n, m]
---@param k? integer (0)
--- Errors: fewer than two axes. Source: Python array API standard 2023.12, triu.
---     mc.triu(mc.ones{ 2, 3 }, 1):sum()  --> f64[]@cpu 3
M.triu = triangle('triu', false)

local INDICES = { k = { 0, 'integer' }, m = { nil, 'integer >= 0' } }
local function places(fname, lower)
  return function(n, k, opts)
    if type(k) == 'table' then k, opts = nil, k end
    check.arg(fname, 'n', n, 'integer >= 0', 3)
    local o = check.opts(fname, opts, INDICES, 3)
    if k == nil then k = o.k end
    check.arg(fname, 'k', k, 'integer', 3)
    local mask = M.below(n, o.m or n, lower and k or k - 1)
    return methods.nonzero(lower and mask or F.logical_not(mask))
  end
end
--- Positions of the lower triangle of an n x m matrix, row by row.
---@param n integer rows
---@param k? integer up to which diagonal (0)
---@param opts? table k · m: columns (n)
---@return any rows i64, from 1
---@return any columns i64
--- Source: NumPy tril_indices.
---     mc.tril_indices(2)  --> i64[3]@cpu { 1, 2, 2 }, i64[3]@cpu { 1, 1, 2 }
M.tril_indices = places('tril_indices', true)
--- Positions of the upper triangle of an n x m matrix, row by row.
---@param n integer rows
---@param k? integer from which diagonal (0)
---@param opts? table k · m: columns (n)
---@return any rows i64, from 1
---@return any columns i64
--- Source: NumPy triu_indices.
---     mc.triu_indices(2)  --> i64[3]@cpu { 1, 1, 2 }, i64[3]@cpu { 1, 2, 2 }
M.triu_indices = places('triu_indices', false)

local DIAG = { k = { 0, 'integer' } }
--- A vector as a diagonal of a square matrix of zeros; of a matrix, a diagonal as a view.
---@param x any [n] or [n, m]
---@param k? integer which diagonal (0)
---@return any [n + |k|, n + |k|], or [d] sharing the memory of x
--- Errors: neither one nor two axes. Source: NumPy diag.
---     mc.diag(mc.tensor{ { 1, 2 }, { 3, 4 } })  --> f64[2]@cpu { 1, 4 }
function M.diag(x, k, opts)
  x = op.operand('diag', x, 2)
  if type(k) == 'table' then k, opts = nil, k end
  local o = check.opts('diag', opts, DIAG, 3)
  if k == nil then k = o.k end
  check.arg('diag', 'k', k, 'integer', 3)
  if x.ndim == 2 then return methods.diagonal(x, { offset = k }) end
  if x.ndim ~= 1 then
    error(('diag: operand is %s; give one axis or two, or use diagonal'):format(tensor.describe(x)), 2)
  end
  local n = x.shape[1] + math.abs(k)
  local out = create.zeros({ n, n }, { dtype = x.dtype, device = x.device })
  if x.shape[1] > 0 then methods.copy_(methods.diagonal(out, { offset = k }), x) end
  return out
end

--- All elements of x as a diagonal of a square matrix of zeros.
---@param x any n elements in any shape
---@param k? integer which diagonal (0)
---@return any [n + |k|, n + |k|]
--- Source: NumPy diagflat.
---     mc.diagflat(mc.tensor{ { 1, 2 }, { 3, 4 } }).shape[1]  --> 4
function M.diagflat(x, k, opts)
  x = op.operand('diagflat', x, 2)
  return M.diag(methods.flatten(x), k, opts)
end

local FILL = { k = { 0, 'integer' }, wrap = { false, 'bool' } }
--- Sets a diagonal of the last two axes in place. With wrap, a tall matrix starts again after every m + 1 rows.
---@param x any [..., n, m], changed
---@param value any a number, or a tensor that broadcasts to the diagonal
---@param opts? table k: which diagonal (0) · wrap (false; matrices only)
---@return any x
--- Errors: fewer than two axes. Source: NumPy fill_diagonal.
---     mc.fill_diagonal_(mc.zeros{ 2, 2 }, 5):sum()  --> f64[]@cpu 10
function M.fill_diagonal_(x, value, opts)
  if not tensor.is(x) then error(('fill_diagonal_: operand is %s; give a tensor'):format(check.show(x)), 2) end
  local o = check.opts('fill_diagonal_', opts, FILL, 3)
  if x.ndim < 2 then
    error(('fill_diagonal_: operand is %s; it needs at least two axes'):format(tensor.describe(x)), 2)
  end
  if type(value) == 'table' then value = op.from_table(value) end
  local n, m = x.shape[x.ndim - 1], x.shape[x.ndim]
  if not o.wrap then
    local d = methods.diagonal(x, { offset = o.k })
    if d:numel() > 0 then methods.copy_(d, value) end
    return x
  end
  if x.ndim ~= 2 or o.k ~= 0 then
    error(('fill_diagonal_: wrap serves the main diagonal of a matrix, operand is %s'):format(tensor.describe(x)), 2)
  end
  for first = 1, n, m + 1 do
    local d = methods.diagonal(x[{ { first, math.min(n, first + m) } }])
    if d:numel() > 0 then methods.copy_(d, value) end
  end
  return x
end

local VANDER = { increasing = { false, 'bool' } }
--- Vandermonde matrix: powers of x in columns, v[i, j] = x[i]^(n - j), or x[i]^(j - 1) when increasing.
---@param x any [..., m]
---@param n? integer columns (m)
---@param opts? table increasing (false)
---@return any [..., m, n]; integers give i64
--- Errors: no axis. Source: NumPy vander.
---     mc.vander(mc.tensor{ 2, 3 }, 3):totable()[2][1]  --> 9
function M.vander(x, n, opts)
  x = op.operand('vander', x, 2)
  if type(n) == 'table' then n, opts = nil, n end
  local o = check.opts('vander', opts, VANDER, 3)
  if x.ndim == 0 then error(('vander: operand is %s; it needs at least one axis'):format(tensor.describe(x)), 2) end
  n = n or x.shape[x.ndim]
  check.arg('vander', 'n', n, 'integer >= 0', 3)
  local sizes, dtype = { unpack(x.shape) }, x.dtype
  sizes[#sizes + 1] = n
  if tensor.kind[dtype] ~= 'f' and tensor.kind[dtype] ~= 'c' then dtype = 'i64' end
  local out = tensor.empty('vander', sizes, dtype, 2, x._device)
  if out:numel() == 0 then return out end
  local dots = require('mascon.core.index').ellipsis
  local powers = o.increasing and out or methods.flip(out, -1)
  methods.fill_(powers[{ dots, 1 }], 1)
  if n > 1 then
    methods.copy_(powers[{ dots, { 2, n } }], methods.expand_dims(x, -1))
    F.cumprod(powers, { axis = -1, out = powers })
  end
  return out
end

place.made_by(M, 'eye tri')

return M
