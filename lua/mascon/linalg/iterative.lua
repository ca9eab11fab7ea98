-- iterative.lua - systems solved by products with the matrix alone, with short recurrences: conjugate gradients,
-- BiCGSTAB.
--
-- The matrix is a tensor or a Lua function. Holds the recurrences; operators, turns and results stand in krylov.lua,
-- derivatives in implicit.lua.
local check = require 'mascon.core.check'
local create = require 'mascon.array.create'
local op = require 'mascon.core.op'
local implicit = require 'mascon.linalg.implicit'
local krylov = require 'mascon.linalg.krylov'
local F = op.functions
local dot, real_dot, norm, ratio, number, add_scaled = krylov.dot, krylov.real_dot, krylov.norm, krylov.ratio,
  krylov.number, krylov.add_scaled
local M = {}

--- status: k where a condition holds, else what it was
local function when(condition, k, status) return krylov.status(condition, k, status) end

local INDEFINITE = 3

local function conjugate_gradients(s)
  local target = krylov.target(s)
  local x, r = krylov.start(s)
  local z = krylov.precondition(s, r)
  local own, status, k = krylov.turns(s, { x, r, z, real_dot(r, z) },
    when(F.le(norm(r), target), krylov.DONE, krylov.RUNS), function(v, turn)
      local at, left, p, rz = unpack(v)
      local q = s.apply(p)
      local curvature = real_dot(p, q)
      local good = F.logical_and(F.gt(curvature, 0), F.gt(rz, 0))
      local alpha = ratio(rz, curvature, good)
      at, left = add_scaled(at, alpha, p), add_scaled(left, -alpha, q)
      local residual = norm(left)
      local status = when(F.logical_not(good), INDEFINITE, when(F.le(residual, target), krylov.DONE, krylov.RUNS))
      status = krylov.heard(s, at, turn, residual, status)
      local y = krylov.precondition(s, left)
      local next_rz = real_dot(left, y)
      return { at, left, add_scaled(y, ratio(next_rz, rz, good), p), next_rz }, status
    end)
  return krylov.solved(s, own[1], status, k)
end

--- x with A x = b for positive definite Hermitian A, by conjugate gradients.
---
--- A: f32|f64|c64|c128 [n, n], or a function x -> A x; b: [n]. Options: x0 (start, default 0), rtol (1e-5) and atol
--- (0): it stops at |b - A x| <= max(rtol |b|, atol); maxiter (10 n); M: an approximate inverse of A, tensor or
--- function, positive definite; callback(x, { iterations, residual }), which stops it by returning true (gmres: x is
--- that of the last restart).
--- Result: a table of x [n], converged, iterations, residual (|b - A x|, computed anew) and, where it did not converge,
--- reason. Inside mc.compile and mc.vmap the scalars are tensors, and there is no reason and no callback. Derivatives
--- of x are those of the solution, by a solve of the same kind, to the same relative tolerance; x0 and M have none.
--- Errors: sizes that do not fit; NaN or infinity in b. A without definiteness ends with converged = false.
--- Source: Methods of conjugate gradients for solving linear systems, 1952; SciPy sparse.linalg.cg.
---     mc.linalg.cg({ { 4, 1 }, { 1, 3 } }, { 5, 4 }, { rtol = 1e-12 }).x  --> f64[2]@cpu { 1, 1 }
---@param A mc.tensor|fun(x: mc.tensor): mc.tensor
---@param b mc.tensor
---@param opts? table x0, rtol, atol, maxiter, M, callback
---@return { x: mc.tensor, converged: boolean, iterations: integer, residual: number, reason: string? }
function M.cg(A, b, opts)
  local s = krylov.system('cg', A, b, check.opts('cg', opts, krylov.OPTS, 3))
  s.hermitian = true
  return krylov.result(implicit.solve(s, conjugate_gradients), { [INDEFINITE] = 'A or M is not positive definite' })
end

local RESIDUAL, PRODUCT, SINGULAR, STILL = 3, 4, 5, 6
local REASONS = {
  [RESIDUAL] = 'the residual became orthogonal to the first one; use gmres or another x0',
  [PRODUCT] = 'a product became orthogonal to the first residual; use gmres or another x0',
  [SINGULAR] = 'A maps a residual to 0; it is singular', [STILL] = 'a smoothing step of length 0; use gmres',
}

local function stabilised(s)
  local target = krylov.target(s)
  local x, shadow = krylov.start(s)
  local zero, one = create.zeros_like(shadow), number(1, s.dtype, shadow)
  local first = when(F.le(norm(shadow), target), krylov.DONE, krylov.RUNS)
  local own, status, k = krylov.turns(s, { x, shadow, zero, zero, one, one, one }, first, function(v, turn)
    local at, r, p, q, rho, alpha, omega = unpack(v)
    local next_rho = dot(shadow, r)
    p = add_scaled(r, next_rho / rho * (alpha / omega), add_scaled(p, -omega, q))
    local direction = krylov.precondition(s, p)
    q = s.apply(direction)
    local along = dot(shadow, q)
    local lost, turned = F.eq(next_rho, 0), F.eq(along, 0)
    alpha = ratio(next_rho, along, F.logical_not(F.logical_or(lost, turned)))
    r = add_scaled(r, -alpha, q)
    local half = F.le(norm(r), target)
    local smooth = krylov.precondition(s, r)
    local t = s.apply(smooth)
    local length = real_dot(t, t)
    omega = ratio(dot(t, r), length, F.logical_and(F.logical_not(half), F.gt(length, 0)))
    at, r = add_scaled(add_scaled(at, alpha, direction), omega, smooth), add_scaled(r, -omega, t)
    local residual = norm(r)
    local status = when(F.eq(omega, 0), STILL, krylov.RUNS)
    status = when(F.logical_or(half, F.le(residual, target)), krylov.DONE, when(F.eq(length, 0), SINGULAR, status))
    status = when(lost, RESIDUAL, when(turned, PRODUCT, status))
    status = krylov.heard(s, at, turn, residual, status)
    return { at, r, p, q, next_rho, alpha, omega }, status
  end)
  return krylov.solved(s, own[1], status, k)
end

--- x with A x = b for square A, by stabilised biconjugate gradients: two products a step, little memory.
---
--- A, b, options, result and derivatives as for cg; A need not be Hermitian. Errors: as cg.
--- Source: van der Vorst, Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG, 1992; SciPy
--- sparse.linalg.bicgstab.
---     mc.linalg.bicgstab({ { 4, 1 }, { 2, 3 } }, { 5, 5 }, { rtol = 1e-12 }).x  --> f64[2]@cpu { 1, 1 }
---@param A mc.tensor|fun(x: mc.tensor): mc.tensor
---@param b mc.tensor
---@param opts? table x0, rtol, atol, maxiter, M, callback
---@return { x: mc.tensor, converged: boolean, iterations: integer, residual: number, reason: string? }
function M.bicgstab(A, b, opts)
  local s = krylov.system('bicgstab', A, b, check.opts('bicgstab', opts, krylov.OPTS, 3))
  return krylov.result(implicit.solve(s, stabilised), REASONS)
end

M.conjugate_gradients = conjugate_gradients

return M
