-- systems.lua - least squares, pseudo-inverses, subspaces and chains of products, composed from the factorisations.
--
-- Holds the cut-offs of small singular values.
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local call = require 'mascon.core.several'
local stack = require 'mascon.array.stacks'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

--- x that minimises |a x - b| in the Euclidean norm; the shortest one where several do. By singular values (divide and
--- conquer), so that matrices of any shape and rank are accepted.
---
--- a: f32|f64|c64|c128 [..., m, n]; b: [m] or [..., m, k]. Option rcond: singular values at or below rcond times the
--- largest count as 0 (default max(m, n) eps). Option threads: see solve.
--- Result: a table of x [n] or [..., n, k], residuals (squared norms of b - a x per column, [...] or [..., k]), rank
--- (i64 [...]) and S (singular values, [..., min(m, n)]). Errors: NaN or infinity; rows that do not fit.
--- Source: LAPACK gelsd; NumPy linalg.lstsq, whose residuals are empty where ours are not.
---     mc.linalg.lstsq({ { 1, 0 }, { 0, 2 }, { 0, 0 } }, { 3, 4, 5 }).x  --> f64[2]@cpu { 3, 2 }
---@param a mc.tensor
---@param b mc.tensor
---@param opts? { rcond?: number, threads?: integer }
---@return { x: mc.tensor, residuals: mc.tensor, rank: mc.tensor, S: mc.tensor }
function M.lstsq(a, b, opts)
  local o = check.opts('lstsq', opts, { rcond = { nil, 'number >= 0' }, threads = { 0, 'integer >= 0' } }, 3)
  local m, n
  a, m, n = stack.matrices('lstsq', a)
  b = stack.operand('lstsq', b)
  local both = tensor.name[lib.C.mc_promote_types(a._dtype, b._dtype)]
  local rcond = o.rcond or math.max(m, n) * stack.EPS[both]
  local x, rank, s = call.raw('least_squares', { a, b }, { rcond = rcond, threads = o.threads })
  local rest = F.abs(b - F.matmul(a, x))
  return { x = x, residuals = F.sum(F.square(rest), b.ndim == 1 and -1 or -2), rank = rank, S = s }
end

local PINV = { rtol = { nil, 'number >= 0 | tensor' }, rcond = { nil, 'number >= 0 | tensor' },
  hermitian = { false, 'bool' } }

--- Moore-Penrose inverse: n columns and m rows for a[..., m, n].
---
--- Option rtol (also rcond), a number or a tensor with one for each matrix: singular values at or below rtol times the
--- largest count as 0 (default max(m, n) eps). Option hermitian: a is
--- Hermitian, only the lower triangle is read. Errors: NaN or infinity. Source: array API linalg.pinv; LAPACK gelsd.
---     mc.linalg.pinv { { 2, 0 }, { 0, 0 } }  --> f64[2,2]@cpu { { 0.5000, 0.0000 }, { 0.0000, 0.0000 } }
---@param a mc.tensor
---@param opts? { rtol?: number|mc.tensor, hermitian?: boolean }
---@return mc.tensor
function M.pinv(a, opts)
  local o = check.opts('pinv', opts, PINV, 3)
  local m, n
  a, m, n = stack.matrices('pinv', a)
  local rtol = o.rtol or o.rcond or math.max(m, n) * stack.EPS[a.dtype]
  if a:numel() == 0 then return stack.pinv(a) end
  if o.hermitian then
    stack.square('pinv', a)
    a = F.tril(a) + stack.adjoint(F.tril(a, -1))
  end
  if not tensor.is(rtol) then return stack.pinv(a, rtol) end
  local f = F.svd(a, { full_matrices = false })
  local cut = F.max(f.S, { -1, keepdim = true }) * stack.relative('pinv', rtol, a)
  local kept = F.gt(f.S, cut)
  local inverse = F.where(kept, F.reciprocal(F.where(kept, f.S, 1)), 0)
  return F.matmul(stack.adjoint(f.Vh) * stack.columns(inverse), stack.adjoint(f.U))
end

--- x with a x = b from the Cholesky factor of a: cholesky_solve(c, b) with c = cholesky(a).
---
--- Option upper: c is the upper factor. b: [n] or [..., n, k].
--- Source: PyTorch cholesky_solve (with c first, as in SciPy cho_solve).
---     mc.linalg.cholesky_solve(mc.linalg.cholesky { { 4, 0 }, { 0, 1 } }, { 8, 3 })  --> f64[2]@cpu { 2, 3 }
---@param c mc.tensor
---@param b mc.tensor
---@param opts? { upper?: boolean }
---@return mc.tensor
function M.cholesky_solve(c, b, opts)
  local o = check.opts('cholesky_solve', opts, { upper = { false, 'bool' } }, 3)
  c, b = stack.square('cholesky_solve', c), stack.operand('cholesky_solve', b)
  local solve = F.solve_triangular
  if o.upper then return solve(c, solve(c, b, { trans = 'adjoint' })) end
  return solve(c, solve(c, b, { lower = true }), { lower = true, trans = 'adjoint' })
end

local SUBSPACE = { rcond = { nil, 'number >= 0' } }

--- One matrix, its singular values and how many are above the cut.
local function subspace(fname, a, opts, full)
  local o = check.opts(fname, opts, SUBSPACE, 4)
  local m, n
  a, m, n = stack.matrices(fname, a)
  if a.ndim ~= 2 then
    error(('%s: a is %s; give one matrix, since each has its own number of columns'):format(fname, tensor.describe(a)),
      3)
  end
  local d = F.svd(a, { full_matrices = full })
  local rank = 0
  if m > 0 and n > 0 then
    local cut = F.max(d.S) * (o.rcond or math.max(m, n) * stack.EPS[a.dtype])
    rank = F.sum(F.gt(d.S, cut)):item()
  end
  return d, rank, n
end

--- Orthonormal columns [n, n - rank] that a[m, n] maps to 0.
---
--- Option rcond: singular values at or below rcond times the largest count as 0 (default max(m, n) eps).
--- Source: SciPy linalg.null_space.
---     mc.linalg.null_space { { 1, 0 }, { 0, 0 } }  --> f64[2,1]@cpu { { 0 }, { 1 } }
---@param a mc.tensor
---@param opts? { rcond?: number }
---@return mc.tensor
function M.null_space(a, opts)
  local d, rank, n = subspace('null_space', a, opts, true)
  return methods.copy(stack.adjoint(stack.some_rows(d.Vh, rank + 1, n)))
end

--- Orthonormal columns [m, rank] that span the columns of a[m, n].
---
--- Option rcond: singular values at or below rcond times the largest count as 0 (default max(m, n) eps).
--- Source: SciPy linalg.orth.
---     mc.abs(mc.linalg.orth { { 3, 0 }, { 0, 0 } })  --> f64[2,1]@cpu { { 1 }, { 0 } }
---@param a mc.tensor
---@param opts? { rcond?: number }
---@return mc.tensor
function M.orth(a, opts)
  local d, rank = subspace('orth', a, opts, false)
  return methods.copy(stack.some_columns(d.U, 1, rank))
end

--- Product of a chain of matrices in the order that takes the fewest multiplications. The first and the last may be
--- vectors.
---
--- list: tensors [n0, n1], [n1, n2], ... of one matrix each. Errors: fewer than two, sizes that do not meet.
--- Source: Introduction to algorithms, 2009, section 15.2; NumPy linalg.multi_dot.
---     mc.linalg.multi_dot { { { 1, 2 } }, { { 1 }, { 1 } }, { { 5 } } }  --> f64[1,1]@cpu { { 15 } }
---@param list mc.tensor[]
---@return mc.tensor
function M.multi_dot(list)
  if type(list) ~= 'table' or #list < 2 then
    error('multi_dot: ' .. check.show(list) .. ' is no chain; give a list of at least two tensors', 2)
  end
  local x, count = {}, #list
  for i = 1, count do
    x[i] = op.operand('multi_dot', list[i], 2)
    local most, least = 2, (i == 1 or i == count) and 1 or 2
    if x[i].ndim > most or x[i].ndim < least then
      error(('multi_dot: operand %d is %s; give matrices, vectors at the ends only'):format(i, tensor.describe(x[i])),
        2)
    end
  end
  local first, last = x[1].ndim == 1, x[count].ndim == 1
  if first then x[1] = methods.expand_dims(x[1], 1) end
  if last then x[count] = methods.expand_dims(x[count], 2) end
  local size = { [0] = x[1].shape[1] }
  for i = 1, count do
    if x[i].shape[1] ~= size[i - 1] then
      error(('multi_dot: operands %d and %d are %s and %s; inner sizes must be equal'):format(i - 1, i,
        tensor.describe(x[i - 1]), tensor.describe(x[i])), 2)
    end
    size[i] = x[i].shape[2]
  end
  -- cost[i][j]: of the product i..j, cut after split[i][j]
  local cost, split = {}, {}
  for i = 1, count do cost[i], split[i] = { [i] = 0 }, {} end
  for length = 2, count do
    for i = 1, count - length + 1 do
      local j = i + length - 1
      for k = i, j - 1 do
        local c = cost[i][k] + cost[k + 1][j] + size[i - 1] * size[k] * size[j]
        if not cost[i][j] or c < cost[i][j] then cost[i][j], split[i][j] = c, k end
      end
    end
  end
  local function product(i, j)
    if i == j then return x[i] end
    return F.matmul(product(i, split[i][j]), product(split[i][j] + 1, j))
  end
  local y = product(1, count)
  if last then y = methods.squeeze(y, 2) end
  if first then y = methods.squeeze(y, 1) end
  return y
end

return M
