-- functions.lua - functions of matrices: powers, logarithm, square root, and those of Hermitian matrices; the
-- exponential stands in exponential.lua.
--
-- Holds the return to real numbers after complex arithmetic. The steps on triangles are the internal ops sqrt_upper and
-- log_upper.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local call = require 'mascon.core.several'
local stack = require 'mascon.array.stacks'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

local SCHUR = { output = { 'real', { 'real', 'complex' } }, sort = { nil, { 'lhp', 'rhp', 'iuc', 'ouc' } },
  threads = { 0, 'integer >= 0' } }

local ORDERS = { lhp = 1, rhp = 2, iuc = 3, ouc = 4 } -- as the op counts them

--- Schur form a = Z T Z^H, Z unitary, T upper triangular.
---
--- a: f32|f64|c64|c128 [..., n, n]. Option output: 'real' (default) leaves real matrices real, with 2 x 2 blocks on the
--- diagonal for pairs of complex eigenvalues; 'complex' makes T triangular. Option sort: eigenvalues that come first on
--- the diagonal, 'lhp' those of negative real part, 'rhp' the others, 'iuc' those within the unit circle or on it,
--- 'ouc' those outside; the first columns of Z then span their invariant subspace. Option threads: see solve. Result:
--- T, Z; with sort also how many come first, i64 [...]. Errors: NaN or infinity; eigenvalues too close to be exchanged.
--- Source: LAPACK gees, trsen; SciPy linalg.schur.
---     mc.linalg.schur { { 2, 0 }, { 0, 1 } }
---       --> f64[2,2]@cpu { { 2, 0 }, { 0, 1 } }, f64[2,2]@cpu { { 1, 0 }, { 0, 1 } }
---@param a mc.tensor
---@param opts? { output?: string, sort?: string, threads?: integer }
---@return mc.tensor T
---@return mc.tensor Z
---@return mc.tensor? first
function M.schur(a, opts)
  local o = check.opts('schur', opts, SCHUR, 3)
  a = stack.square('schur', a)
  if o.output == 'complex' then a = methods.to(a, stack.COMPLEX[a.dtype]) end
  return call.raw('schur_form', { a }, { threads = o.threads, order = o.sort and ORDERS[o.sort] }, o.sort and 3 or 2)
end

--- a multiplied by itself n times, by repeated squaring; n = 0 gives identities, negative n powers of the inverse.
---
--- Source: array API linalg.matrix_power.
---     mc.linalg.matrix_power({ { 1, 1 }, { 1, 0 } }, 10)  --> f64[2,2]@cpu { { 89, 55 }, { 55, 34 } }
---@param a mc.tensor [..., n, n]
---@param n integer
---@return mc.tensor
function M.matrix_power(a, n)
  check.arg('matrix_power', 'n', n, 'integer', 3)
  local size
  a, size = stack.square('matrix_power', a)
  if n == 0 then return methods.copy(methods.broadcast_to(stack.eye(size, a.dtype, a), a.shape)) end
  if n < 0 then a, n = F.inv(a), -n end
  local y
  while true do
    if n % 2 == 1 then y = y and F.matmul(y, a) or a end
    n = math.floor(n / 2)
    if n == 0 then return y == a and methods.copy(a) or y end
    a = F.matmul(a, a)
  end
end

-- ---------------------------------------------------------------- through the Schur form

local NOISE = 1000 -- units of rounding, times n, below which an imaginary part is one of a real result

--- A function of matrices through the op `step` on their triangles; real again where it may be. Where values are not
--- known the dtype cannot depend on them: the result of a real operand stays real, and NaN stands where it is not.
local function through_schur(fname, a, step)
  local n
  a, n = stack.square(fname, a)
  if a:numel() == 0 then return methods.copy(a) end
  stack.finite(fname, a)
  local y = stack.by_triangles(step, methods.to(a, 'c128'))
  if tensor.kind[a.dtype] == 'c' then return methods.to(y, a.dtype) end
  local re, im = F.real(y), F.imag(y)
  local function largest(x) return F.max(F.abs(x), { -2, -1 }) end
  local real = F.le(largest(im), largest(re) * (NOISE * n * stack.EPS.f64))
  if not tensor.known(real) then return methods.to(F.where(stack.factor(real), re, 0 / 0), a.dtype) end
  if F.all(real) then return methods.to(re, a.dtype) end
  return methods.to(y, stack.COMPLEX[a.dtype])
end

--- Principal logarithm: the x with expm(x) = a whose eigenvalues have imaginary parts in (-pi, pi].
---
--- a: f32|f64|c64|c128 [..., n, n], not singular. Result: the dtype of a; complex for real matrices with negative
--- eigenvalues (the whole batch then; inside mc.compile and mc.vmap NaN for such a matrix, since the dtype does not
--- depend on values there: pass complex numbers). Computed in c128. Errors: singular, NaN or infinity.
--- Source: Functions of matrices, 2008, algorithm 11.9; Al-Mohy and Higham, 2012, for the diagonals.
---     mc.linalg.logm { { 1, 1 }, { 0, 1 } }  --> f64[2,2]@cpu { { 0, 1 }, { 0, 0 } }
---@param a mc.tensor
---@return mc.tensor
function M.logm(a) return (through_schur('logm', a, 'log_upper')) end

--- Principal square root: the x with x x = a whose eigenvalues have real parts that are not negative.
---
--- a: f32|f64|c64|c128 [..., n, n]. Result: the dtype of a; complex for real matrices with negative eigenvalues (the
--- whole batch then; inside mc.compile and mc.vmap as for logm). Computed in c128. Errors: a singular matrix that has
--- no root, NaN or infinity.
--- Source: Functions of matrices, 2008, algorithm 6.3; Bjorck and Hammarling, 1983.
---     mc.linalg.sqrtm { { 4, 0 }, { 0, 9 } }  --> f64[2,2]@cpu { { 2, 0 }, { 0, 3 } }
---@param a mc.tensor
---@return mc.tensor
function M.sqrtm(a) return (through_schur('sqrtm', a, 'sqrt_upper')) end

-- ---------------------------------------------------------------- through orthonormal bases

--- A function of Hermitian matrices: v diag(f(w)) v^H with eigenvalues w and eigenvectors v.
---
--- a: [..., n, n], of which the lower triangle is read. f: a function from the tensor w [..., n] to a tensor of that
--- shape.
--- Source: Functions of matrices, 2008, section 4.5.
---     mc.linalg.funm({ { 4, 0 }, { 0, 9 } }, mc.sqrt)  --> f64[2,2]@cpu { { 2, 0 }, { 0, 3 } }
---@param a mc.tensor
---@param f fun(w: mc.tensor): mc.tensor
---@return mc.tensor
function M.funm(a, f)
  a = stack.square('funm', a)
  if type(f) ~= 'function' then
    error(('funm: the second argument is %s; give a function of the eigenvalues'):format(check.show(f)), 2)
  end
  local w, v = F.eigh(a)
  local y = f(w)
  if not tensor.is(y) or y.shape ~= w.shape then
    error(('funm: f gave %s for eigenvalues %s; it must keep the shape'):format(tensor.describe(y), tensor.describe(w)),
      2)
  end
  return F.matmul(v * stack.columns(y), stack.adjoint(v))
end

--- Polar decomposition: u with orthonormal columns (or rows) and Hermitian p without negative eigenvalues, a = u p.
---
--- a: [..., m, n]. Option side: 'right' (default) a = u p, 'left' a = p u. Result: u, p. Errors: NaN or infinity.
--- Source: Functions of matrices, 2008, section 8.1; SciPy linalg.polar.
---     mc.linalg.polar { { 0, 2 }, { 3, 0 } }
---       --> f64[2,2]@cpu { { 0, 1 }, { 1, 0 } }, f64[2,2]@cpu { { 3, 0 }, { 0, 2 } }
---@param a mc.tensor
---@param opts? { side?: string }
---@return mc.tensor u
---@return mc.tensor p
function M.polar(a, opts)
  local o = check.opts('polar', opts, { side = { 'right', { 'right', 'left' } } }, 3)
  a = stack.matrices('polar', a)
  local d = F.svd(a, { full_matrices = false })
  -- p from u and a, not from singular vectors: derivatives stay exact for equal singular values
  local u = F.matmul(d.U, d.Vh)
  local p = o.side == 'right' and F.matmul(stack.adjoint(u), a) or F.matmul(a, stack.adjoint(u))
  return u, (p + stack.adjoint(p)) * 0.5
end

return M
