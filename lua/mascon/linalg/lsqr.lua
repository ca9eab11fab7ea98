-- lsqr.lua - least squares by products with the matrix and its adjoint alone.
--
-- The matrix is a tensor or a Lua function. Holds the bidiagonalisation and its rotations; operators and turns stand in
-- krylov.lua, derivatives in implicit.lua.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local create = require 'mascon.array.create'
local op = require 'mascon.core.op'
local conjugate_gradients = require 'mascon.linalg.iterative'.conjugate_gradients
local implicit = require 'mascon.linalg.implicit'
local krylov = require 'mascon.linalg.krylov'
local stack = require 'mascon.array.stacks'
local error = check.error
local F = op.functions
local norm, ratio, number, add_scaled = krylov.norm, krylov.ratio, krylov.number, krylov.add_scaled
local M = {}

local LSQR = { adjoint = { nil, 'function' }, damp = { 0, 'number >= 0' }, atol = { 1e-6, 'number >= 0' },
  btol = { 1e-6, 'number >= 0' }, maxiter = { nil, 'integer >= 0' },
  x0 = { nil, 'any' }, callback = { nil, 'function' } }

--- The vector at length 1, and its length; 0 stays 0.
local function unit(v)
  local length = norm(v)
  local there = F.gt(length, 0)
  return v * ratio(1, length, there), length
end

local function bidiagonal(s)
  local size_b, damp = norm(s.b), s.damp
  local u, beta = unit(s.x0 and F.subtract(s.b, s.apply(s.x0)) or s.b)
  local v, alpha = unit(s.adjoint(u))
  s.maxiter = s.maxiter or 2 * v.shape[1]
  local x = s.x0 or create.zeros_like(v)
  local zero = number(0, stack.REAL[s.dtype], s.b)
  local own, status, k = krylov.turns(s, { x, u, v, v, alpha, beta, alpha, zero, zero, alpha * beta },
    krylov.status(F.eq(alpha * beta, 0), krylov.DONE, krylov.RUNS), function(q, turn)
      local at, left, right, w, was, phibar, rhobar, squares, damped = unpack(q)
      -- the next columns of the bidiagonal matrix
      local below, along
      left, below = unit(add_scaled(s.apply(right), -was, left))
      squares = squares + (was * was + below * below + damp * damp)
      right, along = unit(add_scaled(s.adjoint(left), -below, right))
      -- rotations: of the damping, then of the subdiagonal
      local with_damp = F.sqrt(rhobar * rhobar + damp * damp)
      local psi = phibar * (damp / with_damp)
      phibar = phibar * (rhobar / with_damp)
      local rho = F.sqrt(with_damp * with_damp + below * below)
      local c, sine = with_damp / rho, below / rho
      local theta, phi = sine * along, c * phibar
      rhobar, phibar = -c * along, sine * phibar
      at = add_scaled(at, phi / rho, w)
      w = add_scaled(right, -(theta / rho), w)
      damped = damped + psi * psi
      local residual, gradient, size_a = F.sqrt(phibar * phibar + damped), F.abs(along * c * phibar), F.sqrt(squares)
      local done = F.logical_or(F.le(residual, size_b * s.btol + size_a * s.atol * norm(at)),
        F.le(gradient, size_a * s.atol * residual))
      done = F.logical_or(done, F.logical_or(F.eq(along, 0), F.eq(below, 0)))
      local status = krylov.status(done, krylov.DONE, krylov.RUNS)
      status = krylov.heard(s, at, turn, residual, status)
      return { at, left, right, w, along, phibar, rhobar, squares, damped, gradient }, status
    end)
  return krylov.outcome(own[1], status, k, norm(F.subtract(s.b, s.apply(own[1]))), own[10])
end

--- x that minimises |b - A x|^2 + damp^2 |x|^2, by Golub and Kahan's bidiagonalisation.
---
--- A: f32|f64|c64|c128 [m, n], or a function x -> A x; then option adjoint: a function y -> A^H y. b: [m].
--- Options: damp (0); atol, btol (1e-6): it stops at |r| <= btol |b| + atol |A| |x|, or at |A^H r| <= atol |A| |r|, |A|
--- being an estimate; maxiter (2 n); x0; callback(x, { iterations, residual }), which stops it by returning true.
--- Result: a table of x [n], converged, iterations, residual (|b - A x|, computed anew), gradient (|A^H r|, estimated).
--- Inside mc.compile and mc.vmap as for cg. Derivatives of x are those of the minimum for A of full rank, by conjugate
--- gradients on the normal equations, to a relative tolerance of atol.
--- Errors: sizes that do not fit; a function without adjoint; NaN or infinity in b.
--- Source: LSQR: an algorithm for sparse linear equations and sparse least squares, 1982; SciPy sparse.linalg.lsqr.
---     mc.linalg.lsqr({ { 1, 0 }, { 0, 2 }, { 0, 0 } }, { 3, 4, 5 }, { atol = 1e-12 }).x:round()
---       --> f64[2]@cpu { 3, 2 }
---@param A mc.tensor|fun(x: mc.tensor): mc.tensor
---@param b mc.tensor
---@param opts? table
---@return { x: mc.tensor, converged: boolean, iterations: integer, residual: number, gradient: number }
function M.lsqr(A, b, opts)
  local o = check.opts('lsqr', opts, LSQR, 3)
  if type(A) == 'function' and not o.adjoint then
    error('lsqr: A is a function; give its adjoint too, adjoint = function(y) ... end', 2)
  end
  local dtype = krylov.common_dtype('lsqr', A, b, o.x0)
  b = krylov.vector('lsqr', 'b', b, nil, dtype)
  local apply, rows, cols, matrix = krylov.operator('lsqr', 'A', A, dtype)
  local turned = matrix and stack.adjoint(matrix)
  if rows and rows ~= b.shape[1] then
    error(('lsqr: A is %s, b is %s; b needs as many elements as A has rows'):format(tensor.describe(matrix),
      tensor.describe(b)), 2)
  end
  krylov.finite('lsqr', b)
  if o.callback and not tensor.known(b) then krylov.no_callback 'lsqr' end
  local s = { name = 'lsqr', b = b, dtype = dtype, apply = apply, damp = o.damp, atol = o.atol, btol = o.btol,
    maxiter = o.maxiter, callback = o.callback, columns = cols }
  s.adjoint = matrix and function(y) return F.matmul(turned, y) end
    or krylov.operator('lsqr', 'adjoint', o.adjoint, dtype)
  if o.x0 ~= nil then s.x0 = krylov.vector('lsqr', 'x0', o.x0, nil, dtype) end
  return krylov.result(implicit.least(s, bidiagonal, conjugate_gradients), {}, { 'gradient' })
end

return M
