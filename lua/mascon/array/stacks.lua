-- stacks.lua - what the compositions of linear algebra share: operands as stacks of matrices, their sizes, columns and
-- diagonals.
--
-- Holds the messages about operands that are no matrices.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local index = require 'mascon.core.index'
local several = require 'mascon.core.several'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

local DTYPES = { f32 = 'f32', f64 = 'f64', c64 = 'c64', c128 = 'c128' }
M.REAL = { f32 = 'f32', f64 = 'f64', c64 = 'f32', c128 = 'f64' }
M.COMPLEX = { f32 = 'c64', f64 = 'c128', c64 = 'c64', c128 = 'c128' }
M.EPS = { f32 = 2 ^ -23, f64 = 2 ^ -52, c64 = 2 ^ -23, c128 = 2 ^ -52 }

--- The operand in a dtype of linear algebra: integers and booleans become f64, halves are refused.
function M.operand(fname, x)
  x = op.operand(fname, x, 3)
  local k = tensor.kind[x.dtype]
  if k ~= 'f' and k ~= 'c' then return methods.to(x, 'f64') end
  if not DTYPES[x.dtype] then
    error(('%s: not defined for %s, operand is %s; convert it with :to first'):format(fname, x.dtype,
      tensor.describe(x)), 3)
  end
  return x
end

--- The operand with at least two axes; its rows and columns.
function M.matrices(fname, x)
  x = M.operand(fname, x)
  local n = x.ndim
  if n < 2 then
    error(('%s: the operand is no matrix, it is %s; give at least two axes'):format(fname, tensor.describe(x)), 3)
  end
  return x, x.shape[n - 1], x.shape[n]
end

function M.square(fname, x)
  local m, n
  x, m, n = M.matrices(fname, x)
  if m ~= n then
    error(('%s: the matrices are not square, a is %s; the last two axes must be equal'):format(fname,
      tensor.describe(x)), 3)
  end
  return x, n
end

--- Adjoint: the conjugate transpose.
function M.adjoint(x)
  local t = x.mT
  return tensor.kind[x.dtype] == 'c' and F.conj(t) or t
end

--- w[..., k] as a factor of the columns of [..., n, k].
function M.columns(w) return methods.expand_dims(w, -2) end

--- w[...] as a factor of matrices.
function M.factor(w) return methods.expand_dims(methods.expand_dims(w, -1), -1) end

--- The columns first..last of all matrices.
function M.some_columns(x, first, last) return x[{ index.ellipsis, { first, last } }] end

--- The rows first..last of all matrices.
function M.some_rows(x, first, last) return x[{ index.ellipsis, { first, last }, index.all }] end

--- eye(n) in a dtype.
function M.eye(n, dtype, like)
  return F.eye(n, { dtype = dtype, device = like and like.device })
end

--- A relative tolerance given as a tensor, one for each matrix of a (or one for all), with an axis for the singular
--- values: [..., 1].
function M.relative(fname, rtol, a)
  local shape, batch = tensor.shape_of(rtol), {}
  for k = 1, a.ndim - 2 do batch[k] = a.shape[k] end
  local fine = tensor.kind[rtol.dtype] == 'f' and #shape <= #batch
  for k = 1, #shape do
    local n, m = shape[#shape + 1 - k], batch[#batch + 1 - k]
    fine = fine and (n == m or n == 1)
  end
  if not fine then
    error(('%s: rtol is %s, a is %s; give a number, or a real tensor with one tolerance for each matrix'):format(fname,
      tensor.describe(rtol), tensor.describe(a)), 3)
  end
  return methods.expand_dims(methods.to(rtol, M.REAL[a.dtype]), -1)
end

--- Raises unless every number is finite.
function M.finite(fname, x)
  if not op.certain(F.isfinite(x)) then
    error(('%s: a holds NaN or infinity, it is %s; find them with isfinite'):format(fname, tensor.describe(x)), 3)
  end
end

--- Moore-Penrose inverse of matrices: the solutions of least squares for all right sides, which have a derivative where
--- singular values are equal; their vectors have none there.
---@param rtol? number singular values at or below it times the largest count as 0 (max(m, n) eps)
function M.pinv(a, rtol)
  a = M.operand('pinv', a)
  local m, n = a.shape[a.ndim - 1], a.shape[a.ndim]
  rtol = rtol or math.max(m, n) * M.EPS[a.dtype]
  if a:numel() == 0 then
    local shape = { unpack(a.shape) }
    shape[#shape - 1], shape[#shape] = n, m
    return tensor.empty('pinv', shape, a.dtype, 3)
  end
  if m > n then
    local turned = several.raw('least_squares', { M.adjoint(a), M.eye(n, a.dtype, a) }, { rcond = rtol })
    return methods.contiguous(M.adjoint(turned))
  end
  return (several.raw('least_squares', { a, M.eye(m, a.dtype, a) }, { rcond = rtol }))
end

--- A function of matrices a (c128) through the op `step` on their triangles. Derivatives take the basis as still and
--- the triangle as any matrix: functions of a do not depend on the choice of basis.
---@return mc.tensor c128 [..., n, n]
function M.by_triangles(step, a)
  local t, z = several.raw('schur_form', { a }, { still = true }, 2)
  return F.matmul(F.matmul(z, several.raw(step, { t })), M.adjoint(z))
end

return M
