-- norms.lua - norms of vectors and matrices, condition numbers, rank.
--
-- Reads the order ord. Norms by singular values go through svdvals, the others through reductions.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local stack = require 'mascon.array.stacks'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}
local INF = math.huge

local function order_text(ord) return type(ord) == 'string' and "'" .. ord .. "'" or tostring(ord) end

local VECTOR = { ord = { 2, 'number' }, axis = { nil, 'integer | table' }, keepdim = { false, 'bool' } }

--- Sums of |x|^p over axes, powers taken of x over its largest entry so that nothing overflows.
local function power_norm(a, ord, axes)
  local o = { keepdim = true }
  for i, v in ipairs(axes) do o[i] = v end
  local top = F.max(a, o)
  local zero = F.eq(top, 0) -- its root is not taken: the norm has no slope there, and its derivative is 0
  local scale = F.where(F.logical_and(F.gt(top, 0), F.isfinite(top)), top, 1)
  local sum = F.where(zero, 1, F.sum(ord == 2 and F.square(a / scale) or F.pow(a / scale, ord), o))
  return F.where(zero, 0, (ord == 2 and F.sqrt(sum) or F.pow(sum, 1 / ord)) * scale)
end

--- Norm of order ord of vectors: (sum |x|^ord)^(1/ord); inf and -inf: the largest and smallest |x|; 0: the number of
--- elements that are not 0.
---
--- x: any shape. Options ord (default 2; any number), axis (one, a list, default all), keepdim. Result: real, NaN where
--- x has one.
--- Source: array API linalg.vector_norm. Powers are taken relative to the largest entry, so that squares do not
--- overflow.
---     mc.linalg.vector_norm { 3, 4 }  --> f64[]@cpu 5
---     mc.linalg.vector_norm({ 3, -4 }, { ord = math.huge })  --> f64[]@cpu 4
---@param x mc.tensor
---@param opts? { ord?: number, axis?: integer|integer[], keepdim?: boolean }
---@return mc.tensor
function M.vector_norm(x, opts)
  local o = check.opts('vector_norm', opts, VECTOR, 3)
  x = stack.operand('vector_norm', x)
  local axes = o.axis
  if type(axes) == 'number' then axes = { axes } end
  if not axes then
    axes = {}
    for i = 1, x.ndim do axes[i] = i end
  end
  local a, ord = F.abs(x), o.ord
  local flat = { keepdim = o.keepdim }
  for i, v in ipairs(axes) do flat[i] = tensor.axis('vector_norm', x, v, 3) + 1 end
  local n = 1
  for _, v in ipairs(flat) do n = n * x.shape[v] end
  if #flat == 0 then return ord == 0 and methods.to(F.ne(a, 0), a.dtype) or a end
  if ord == 0 then return methods.to(F.sum(F.ne(a, 0), flat), a.dtype) end
  if ord == 1 then return F.sum(a, flat) end
  if n == 0 then
    if ord < 0 then
      error(('vector_norm: no smallest of nothing, x is %s; give a positive ord'):format(tensor.describe(x)), 2)
    end
    return F.sum(a, flat)
  end
  if ord == INF then return F.max(a, flat) end
  if ord == -INF then return F.min(a, flat) end
  local y
  if ord < 0 then y = F.pow(F.sum(F.pow(a, ord), { keepdim = true, unpack(flat) }), 1 / ord)
  else y = power_norm(a, ord, flat) end
  if o.keepdim then return y end
  table.sort(flat, function(p, q) return p > q end)
  for _, v in ipairs(flat) do y = methods.squeeze(y, v) end
  return y
end

local MATRIX = { ord = { 'fro', 'string | number' }, keepdim = { false, 'bool' } }

--- Norm of matrices over the last two axes.
---
--- a: f32|f64|c64|c128 [..., m, n]. Options ord: 'fro' (default; square root of the sum of squares), 'nuc' (sum of
--- singular values), 1 and -1 (largest and smallest column sum of moduli), inf and -inf (of rows), 2 and -2 (largest
--- and smallest singular value); keepdim. Result: real [...].
--- Source: array API linalg.matrix_norm.
---     mc.linalg.matrix_norm({ { 1, -2 }, { 3, 4 } }, { ord = 1 })  --> f64[]@cpu 6
---@param a mc.tensor
---@param opts? { ord?: number|string, keepdim?: boolean }
---@return mc.tensor
function M.matrix_norm(a, opts)
  local o = check.opts('matrix_norm', opts, MATRIX, 3)
  a = stack.matrices('matrix_norm', a)
  local ord, y = o.ord, nil
  local empty = a.shape[a.ndim] == 0 or a.shape[a.ndim - 1] == 0
  if ord == 'fro' then return M.vector_norm(a, { axis = { -2, -1 }, keepdim = o.keepdim }) end
  local kept = { keepdim = true }
  if empty and (ord == 1 or ord == INF or ord == 2 or ord == 'nuc') then
    y = F.sum(F.abs(a), { -2, -1, keepdim = true })
  elseif ord == 1 or ord == -1 then
    y = F[ord == 1 and 'max' or 'min'](F.sum(F.abs(a), { -2, keepdim = true }), { -1, keepdim = true })
  elseif ord == INF or ord == -INF then
    y = F[ord == INF and 'max' or 'min'](F.sum(F.abs(a), { -1, keepdim = true }), { -2, keepdim = true })
  elseif ord == 2 or ord == -2 or ord == 'nuc' then
    kept[1] = -1
    y = methods.expand_dims(F[ord == 2 and 'max' or ord == -2 and 'min' or 'sum'](F.svdvals(a), kept), -1)
  else
    error(("matrix_norm: ord is %s; choose 'fro', 'nuc', 1, -1, 2, -2, inf or -inf"):format(order_text(ord)), 2)
  end
  if o.keepdim then return y end
  return methods.squeeze(methods.squeeze(y, -1), -1)
end

local NORM = { ord = { nil, 'string | number' }, axis = { nil, 'integer | table' }, keepdim = { false, 'bool' } }

--- vector_norm or matrix_norm: a pair of axes, or an ord with a matrix and no axis, means matrices; anything else
--- vectors.
---
--- Source: NumPy linalg.norm. Without options the Euclidean norm of all elements.
---     mc.linalg.norm { { 3, 0 }, { 0, 4 } }  --> f64[]@cpu 5
---@param x mc.tensor
---@param opts? { ord?: number|string, axis?: integer|integer[], keepdim?: boolean }
---@return mc.tensor
function M.norm(x, opts)
  local o = check.opts('norm', opts, NORM, 3)
  x = stack.operand('norm', x)
  local axis = o.axis
  if type(axis) == 'table' and #axis == 2 then
    local n, p, q = x.ndim, tensor.axis('norm', x, axis[1], 3) + 1, tensor.axis('norm', x, axis[2], 3) + 1
    if p == q then error(('norm: both axes are %d; give two different ones'):format(p), 2) end
    local y =
      M.matrix_norm(methods.moveaxis(methods.moveaxis(x, p, -1), q - (q > p and 1 or 0), -2).mT, { ord = o.ord })
    if not o.keepdim then return y end
    for _, v in ipairs { math.min(p, q), math.max(p, q) } do y = methods.expand_dims(y, v) end
    assert(y.ndim == n)
    return y
  end
  if axis == nil and o.ord ~= nil and x.ndim == 2 then return M.matrix_norm(x, { ord = o.ord, keepdim = o.keepdim }) end
  if type(o.ord) == 'string' then
    error(("norm: ord %s is of matrices, x is %s; give two axes"):format(order_text(o.ord), tensor.describe(x)), 2)
  end
  return M.vector_norm(x, { ord = o.ord or 2, axis = axis, keepdim = o.keepdim })
end

--- Condition number of matrices: |a| |a^-1| in the norm p; infinite when a is singular.
---
--- a: [..., m, n], square unless p is 2 or -2. Option p: 2 (default; largest over smallest singular value), -2 (its
--- reciprocal), or an ord of matrix_norm. Source: NumPy linalg.cond.
---     mc.linalg.cond { { 2, 0 }, { 0, 0.5 } }  --> f64[]@cpu 4
---@param a mc.tensor
---@param opts? { p?: number|string }
---@return mc.tensor
function M.cond(a, opts)
  local o = check.opts('cond', opts, { p = { 2, 'string | number' } }, 3)
  a = stack.matrices('cond', a)
  if a.shape[a.ndim] == 0 or a.shape[a.ndim - 1] == 0 then
    error(('cond: not defined for nothing, a is %s; give matrices with elements'):format(tensor.describe(a)), 2)
  end
  if o.p == 2 or o.p == -2 then
    local s = F.svdvals(a)
    local top, low = F.max(s, -1), F.min(s, -1)
    local y = o.p == 2 and top / low or low / top
    return F.where(F.eq(top, 0), INF, y) -- a zero matrix is singular, not undefined
  end
  a = stack.square('cond', a)
  local _, log_abs = F.slogdet(a)
  local singular = F.eq(log_abs, -INF)
  local safe = F.where(stack.factor(singular), stack.eye(a.shape[a.ndim], a.dtype, a), a)
  local y = M.matrix_norm(a, { ord = o.p }) * M.matrix_norm(F.inv(safe), { ord = o.p })
  return F.where(singular, INF, y)
end

local RANK = { rtol = { nil, 'number >= 0 | tensor' }, atol = { nil, 'number >= 0' }, hermitian = { false, 'bool' } }

--- Number of singular values above rtol times the largest (and above atol when given).
---
--- a: [..., m, n]. Options rtol (default max(m, n) eps; a tensor has one for each matrix), atol, hermitian (eigenvalues
--- take the place of singular values). Result: i64 [...].
--- Source: array API linalg.matrix_rank.
---     mc.linalg.matrix_rank { { 1, 2 }, { 2, 4 } }  --> i64[]@cpu 1
---@param a mc.tensor
---@param opts? { rtol?: number|mc.tensor, atol?: number, hermitian?: boolean }
---@return mc.tensor
function M.matrix_rank(a, opts)
  local o = check.opts('matrix_rank', opts, RANK, 3)
  local m, n
  a, m, n = stack.matrices('matrix_rank', a)
  if m == 0 or n == 0 then return F.sum(F.ne(a, 0), { -2, -1 }) end
  local s
  if o.hermitian then
    stack.square('matrix_rank', a)
    s = F.abs(F.eigvalsh(a))
  else s = F.svdvals(a) end
  if tensor.is(o.rtol) then o.rtol = stack.relative('matrix_rank', o.rtol, a) end
  local cut = F.max(s, { -1, keepdim = true }) * (o.rtol or (o.atol and 0) or math.max(m, n) * stack.EPS[a.dtype])
  if o.atol then cut = F.maximum(cut, o.atol) end
  return F.sum(F.gt(s, cut), -1)
end

return M
