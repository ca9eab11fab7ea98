-- toeplitz.lua - matrices that are constant along their diagonals: built, multiplied, solved.
--
-- Holds the embedding of a Toeplitz product into a cyclic one. Products go through mc.fft, systems through Levinson's
-- recursion (the row levinson).
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local call = require 'mascon.core.several'
local stack = require 'mascon.array.stacks'
local index = require 'mascon.core.index'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

local ROW = { r = { nil, 'any' } }

--- The second argument: a tensor or list is r itself.
local function row(fname, second)
  if tensor.is(second) or (type(second) == 'table' and second[1] ~= nil) then return { r = second } end
  return check.opts(fname, second, ROW, 4)
end

--- c and r of one Toeplitz matrix, both with one axis at least, in one dtype; r is conj(c) where none is given.
local function diagonals(fname, c, o)
  c = op.operand(fname, c, 3)
  local r = o.r ~= nil and op.operand(fname, o.r, 3) or tensor.kind[c.dtype] == 'c' and F.conj(c) or c
  for _, x in ipairs { c, r } do
    if x.ndim < 1 then
      error(('%s: a row or column is %s; give at least one axis'):format(fname, tensor.describe(x)), 3)
    end
  end
  return c, r
end

--- Positions first .. first + n - 1 as a tensor.
local function positions(n, device) return F.cumsum(tensor.empty('toeplitz', { n }, 'i64', 4, device):fill_(1)) end

local function join(list, axis) return F.concat(list, { axis = axis or -1 }) end

--- x reversed along its last axis.
local function reversed(x) return methods.flip(x, -1) end

--- The matrix with first column c and first row r: a[i, j] = c[1 + i - j] where i >= j, else r[1 + j - i].
---
--- c: any dtype [..., m]; r: [..., n], of which the first element is not read (default conj(c)). Result: [..., m, n].
--- Source: SciPy linalg.toeplitz.
---     mc.linalg.toeplitz({ 1, 2, 3 }, { r = { 1, 9 } })  --> f64[3,2]@cpu { { 1, 9 }, { 2, 1 }, { 3, 2 } }
---@param c mc.tensor
---@param opts? mc.tensor|{ r?: mc.tensor } r, or a table with it
---@return mc.tensor
function M.toeplitz(c, opts)
  local o = row('toeplitz', opts)
  local r
  c, r = diagonals('toeplitz', c, o)
  local m, n = c.shape[c.ndim], r.shape[r.ndim]
  if m == 0 or n == 0 then
    local shape = { unpack(F.add(F.sum(c, { -1, keepdim = true }), F.sum(r, { -1, keepdim = true })).shape) }
    shape[#shape], shape[#shape + 1] = m, n
    local dtype = tensor.name[lib.C.mc_promote_types(c._dtype, r._dtype)]
    return tensor.empty('toeplitz', shape, dtype, 3, c._device)
  end
  -- one line of all diagonals, from the end of c to the end of r; row i is a stretch of n of it
  local lead = F.broadcast_shapes({ unpack(c.shape, 1, c.ndim - 1) }, { unpack(r.shape, 1, r.ndim - 1) })
  local function spread(t)
    local shape = { unpack(lead) }
    shape[#shape + 1] = t.shape[t.ndim]
    return methods.broadcast_to(t, shape)
  end
  local line = join { spread(reversed(c)), spread(r['..., 2:']) }
  return methods.copy(methods.flip(methods.windows(line, n), -2))
end

--- The matrix with first column c and last row r: a[i, j] = c[i + j - 1], going on with r.
---
--- c: any dtype [m]; r: [n], of which the first element is not read (default zeros). Result: [m, n].
--- Source: SciPy linalg.hankel.
---     mc.linalg.hankel({ 1, 2 }, { r = { 2, 3, 4 } })  --> f64[2,3]@cpu { { 1, 2, 3 }, { 2, 3, 4 } }
---@param c mc.tensor
---@param opts? mc.tensor|{ r?: mc.tensor } r, or a table with it
---@return mc.tensor
function M.hankel(c, opts)
  local o = row('hankel', opts)
  c = op.operand('hankel', c, 2)
  local r = o.r ~= nil and op.operand('hankel', o.r, 2) or methods.copy(c):fill_(0)
  if c.ndim ~= 1 or r.ndim ~= 1 then
    error(('hankel: c is %s, r is %s; give one axis each'):format(tensor.describe(c), tensor.describe(r)), 2)
  end
  local m, n = c.shape[1], r.shape[1]
  local line = n > 0 and join { c, r['2:'] } or c
  if m == 0 or n == 0 then return tensor.empty('hankel', { m, n }, line.dtype, 3, line._device) end
  return methods.copy(methods.windows(line, n))
end

--- The circulant matrix whose column j is c moved down by j - 1 places, round the end.
---
--- c: any dtype [..., n]. Result: [..., n, n]. Source: SciPy linalg.circulant.
---     mc.linalg.circulant { 1, 2, 3 }  --> f64[3,3]@cpu { { 1, 3, 2 }, { 2, 1, 3 }, { 3, 2, 1 } }
---@param c mc.tensor
---@return mc.tensor
function M.circulant(c)
  c = op.operand('circulant', c, 2)
  if c.ndim < 1 then error(('circulant: c is %s; give at least one axis'):format(tensor.describe(c)), 2) end
  local n = c.shape[c.ndim]
  local shape = { unpack(c.shape) }
  shape[#shape + 1] = n
  if n == 0 then return tensor.empty('circulant', shape, c.dtype, 3, c._device) end
  local k = positions(n, c._device)
  local at = F.remainder(F.subtract(k:reshape { n, 1 }, k:reshape { 1, n }), n) + 1
  return F.take(c, at:reshape { n * n }, { axis = c.ndim }):reshape(shape)
end

--- x with T x = b, T the Toeplitz matrix with first column c and first row r, without forming it: 4 n^2 steps and 2 n^2
--- for each column of b.
---
--- c, r: f32|f64|c64|c128 [..., n], r[1] is not read (default conj(c)); b: [n] or [..., n, k]. Result: x in the shape
--- of b, computed in f64.
--- Errors: lengths that differ; a singular leading block (T need not be singular: then use solve(toeplitz(c, r), b));
--- NaN or infinity. The recursion is safe for positive definite T; for others its error grows with the condition of the
--- worst leading block.
--- Source: The Wiener RMS error criterion in filter design and prediction, 1946; Matrix computations, 2013, section
--- 4.7.
---     mc.linalg.solve_toeplitz({ 2, 1, 0 }, { 4, 8, 8 })  --> f64[3]@cpu { 1, 2, 3 }
---@param c mc.tensor
---@param b mc.tensor
---@param opts? { r?: mc.tensor }
---@return mc.tensor
function M.solve_toeplitz(c, b, opts)
  local o = check.opts('solve_toeplitz', opts, ROW, 3)
  local r
  c, r = diagonals('solve_toeplitz', c, o)
  b = op.operand('solve_toeplitz', b, 2)
  local n = c.shape[c.ndim]
  local rows = b.ndim == 1 and b.shape[1] or b.ndim > 1 and b.shape[b.ndim - 1]
  if r.shape[r.ndim] ~= n or rows ~= n then
    error(('solve_toeplitz: c is %s, r is %s, b is %s; they need the same number of rows'):format(tensor.describe(c),
      tensor.describe(r), tensor.describe(b)), 2)
  end
  return (call.raw('levinson',
    { stack.operand('solve_toeplitz', c), stack.operand('solve_toeplitz', r), stack.operand('solve_toeplitz', b) }))
end

local function is_complex(...)
  for _, x in ipairs { ... } do if tensor.kind[x.dtype] == 'c' then return true end end
  return false
end

--- The next length at or above n whose only factors are 2, 3 and 5, for transforms.
local function quick_length(n)
  while true do
    local rest = n
    for _, f in ipairs { 2, 3, 5 } do while rest % f == 0 do rest = rest / f end end
    if rest == 1 then return n end
    n = n + 1
  end
end

--- x along its last axis but one, through transforms of length n with the factors `spectrum`(transform of c).
local function cyclic(c, x, n, vector, apply)
  local fft = require 'mascon.fft'
  local full = is_complex(c, x)
  local forward, backward = full and fft.fft or fft.rfft, full and fft.ifft or fft.irfft
  if vector then x = x:expand_dims(-1) end
  local factor = forward(c, { n = n }):expand_dims(-1)
  local y = backward(apply(factor, forward(x, { n = n, axis = -2 })), { n = n, axis = -2 })
  return y
end

--- T x for the Toeplitz matrix with first column c and first row r, without forming it: transforms of length m + n - 1
--- or a little more.
---
--- c: f32|f64|c64|c128 [..., m]; r: [..., n], r[1] is not read (default conj(c)); x: [n] or [..., n, k]. Result: [m] or
--- [..., m, k].
--- Errors: x with another number of rows than r. Source: Matrix computations, 2013, section 4.8.
---     mc.linalg.matmul_toeplitz({ 1, 2, 3 }, { 1, 1, 1 }, { r = { 1, 0, 0 } })
---       --> f64[3]@cpu { 1.0000, 3.0000, 6.0000 }
---@param c mc.tensor
---@param x mc.tensor
---@param opts? { r?: mc.tensor }
---@return mc.tensor
function M.matmul_toeplitz(c, x, opts)
  local o = check.opts('matmul_toeplitz', opts, ROW, 3)
  local r
  c, r = diagonals('matmul_toeplitz', c, o)
  c, r, x = stack.operand('matmul_toeplitz', c), stack.operand('matmul_toeplitz', r),
    stack.operand('matmul_toeplitz', x)
  local m, n, vector = c.shape[c.ndim], r.shape[r.ndim], x.ndim == 1
  if x.ndim < 1 or x.shape[vector and 1 or x.ndim - 1] ~= n then
    error(('matmul_toeplitz: r is %s, x is %s; x needs as many rows as r has elements'):format(tensor.describe(r),
      tensor.describe(x)), 2)
  end
  if m == 0 or n == 0 then return F.matmul(M.toeplitz(c, { r = r }):to(is_complex(c, r, x) and 'c128' or 'f64'), x) end
  local length = quick_length(m + n - 1)
  -- the cyclic column: c, zeros, then r backwards without its first element
  local zero = F.add(F.multiply(c['..., :1'], 0), F.multiply(r['..., :1'], 0))
  local gap = tensor.empty('matmul_toeplitz', { length - (m + n - 1) }, zero.dtype, 3, zero._device):fill_(0)
  local column = join { F.add(c, zero), F.add(gap, zero), F.add(reversed(r['..., 2:']), zero) }
  local y = cyclic(column, x, length, vector, F.multiply)[{ index.ellipsis, { 1, m }, index.all }]
  return vector and y:squeeze(-1):contiguous() or y:contiguous()
end

--- x with C x = b, C the circulant matrix with first column c: the transform of b over that of c.
---
--- c: f32|f64|c64|c128 [..., n]; b: [n] or [..., n, k]. Result: x in the shape of b. Errors: lengths that differ; a
--- singular C (a transform with an entry at or below n eps times the largest). Source: Matrix computations, 2013,
--- section 4.8.
---     mc.linalg.solve_circulant({ 2, 1, 0 }, { 5, 4, 3 })  --> f64[3]@cpu { 2, 1, 1 }
---@param c mc.tensor
---@param b mc.tensor
---@return mc.tensor
function M.solve_circulant(c, b)
  c, b = stack.operand('solve_circulant', c), stack.operand('solve_circulant', b)
  local n, vector = c.ndim > 0 and c.shape[c.ndim], b.ndim == 1
  if not n or b.ndim < 1 or b.shape[vector and 1 or b.ndim - 1] ~= n then
    error(('solve_circulant: c is %s, b is %s; they need the same number of rows'):format(tensor.describe(c),
      tensor.describe(b)), 2)
  end
  if n == 0 then return b:copy() end
  local x = cyclic(c, b, n, vector, function(factor, spectrum)
    local size = F.abs(factor)
    if not op.certain(F.gt(size, F.max(size, { -2, keepdim = true }) * (n * stack.EPS[c.dtype]))) then
      error(('solve_circulant: the matrix is singular, c is %s; use lstsq or pinv of circulant(c)'):format(
        tensor.describe(c)), 4)
    end
    return F.divide(spectrum, factor)
  end)
  return vector and x:squeeze(-1):contiguous() or x:contiguous()
end

return M
