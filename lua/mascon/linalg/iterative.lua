-- iterative.lua - systems solved by products with the matrix alone: conjugate gradients, BiCGSTAB, GMRES.
--
-- The matrix is a tensor or a Lua function. Owns the recurrences; operators, vectors and stopping stand in krylov.lua. May not know how a
-- product is computed.
local tensor = require 'mascon.tensor'
local check = require 'mascon.check'
local op = require 'mascon.op'
local krylov = require 'mascon.linalg.krylov'
local stack = require 'mascon.linalg.stack'
local F = op.functions
local dot, norm, add_scaled, times, over, minus, conj, size = krylov.dot, krylov.norm, krylov.add_scaled, krylov.times, krylov.over, krylov.minus, krylov.conj, krylov.size
local M = {}

--- x with A x = b for positive definite Hermitian A, by conjugate gradients.
---
--- A: f32|f64|c64|c128 [n, n], or a function x -> A x; b: [n]. Options: x0 (start, default 0), rtol (1e-5) and atol (0): it stops at
--- |b - A x| <= max(rtol |b|, atol); maxiter (10 n); M: an approximate inverse of A, tensor or function, positive definite;
--- callback(x, { iterations, residual }), which stops it by returning true (gmres: x is that of the last restart).
--- Result: a table of x [n], converged, iterations, residual (|b - A x|, computed anew) and, where it did not converge, reason.
--- Errors: sizes that do not fit; NaN or infinity in b. A without definiteness ends with converged = false.
--- Source: Methods of conjugate gradients for solving linear systems, 1952; SciPy sparse.linalg.cg.
---     mc.linalg.cg({ { 4, 1 }, { 1, 3 } }, { 5, 4 }, { rtol = 1e-12 }).x  --> f64[2]@cpu { 1, 1 }
---@param A mc.tensor|fun(x: mc.tensor): mc.tensor
---@param b mc.tensor
---@param opts? table x0, rtol, atol, maxiter, M, callback
---@return { x: mc.tensor, converged: boolean, iterations: integer, residual: number, reason: string? }
function M.cg(A, b, opts)
  local s = krylov.system('cg', A, b, check.opts('cg', opts, krylov.OPTS, 3))
  local r, residual = s.r, norm(s.r)
  if residual <= s.target then return krylov.result(s) end
  local z = s.precondition(r)
  local p, rz = tensor.methods.copy(z), dot(r, z)[1]
  for _ = 1, s.maxiter do
    local q = s.apply(p)
    local curvature = dot(p, q)[1]
    if not (curvature > 0 and rz > 0) then return krylov.result(s, 'A or M is not positive definite') end
    local alpha = rz / curvature
    add_scaled(s.x, { alpha, 0 }, p)
    add_scaled(r, { -alpha, 0 }, q)
    residual = norm(r)
    if krylov.step(s, residual) then break end
    z = s.precondition(r)
    local next_rz = dot(r, z)[1]
    p = F.add(z, F.multiply(p, next_rz / rz))
    rz = next_rz
  end
  return krylov.result(s)
end

--- x with A x = b for square A, by stabilised biconjugate gradients: two products a step, little memory.
---
--- A, b, options and result as for cg; A need not be Hermitian. Errors: as cg.
--- Source: van der Vorst, Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG, 1992; SciPy sparse.linalg.bicgstab.
---     mc.linalg.bicgstab({ { 4, 1 }, { 2, 3 } }, { 5, 5 }, { rtol = 1e-12 }).x  --> f64[2]@cpu { 1, 1 }
---@param A mc.tensor|fun(x: mc.tensor): mc.tensor
---@param b mc.tensor
---@param opts? table x0, rtol, atol, maxiter, M, callback
---@return { x: mc.tensor, converged: boolean, iterations: integer, residual: number, reason: string? }
function M.bicgstab(A, b, opts)
  local s = krylov.system('bicgstab', A, b, check.opts('bicgstab', opts, krylov.OPTS, 3))
  local r = s.r
  if norm(r) <= s.target then return krylov.result(s) end
  local shadow = tensor.methods.copy(r)
  local p, v, rho, alpha, omega
  for _ = 1, s.maxiter do
    local next_rho = dot(shadow, r)
    if size(next_rho) == 0 then return krylov.result(s, 'the residual became orthogonal to the first one; use gmres or another x0') end
    if not p then
      p = tensor.methods.copy(r)
    else
      local beta = times(over(next_rho, rho), over(alpha, omega))
      add_scaled(p, minus(omega), v)
      p = F.add(r, F.multiply(p, krylov.value(beta)))
    end
    rho = next_rho
    local direction = s.precondition(p)
    v = s.apply(direction)
    local along = dot(shadow, v)
    if size(along) == 0 then return krylov.result(s, 'a product became orthogonal to the first residual; use gmres or another x0') end
    alpha = over(rho, along)
    add_scaled(r, minus(alpha), v)
    add_scaled(s.x, alpha, direction)
    local half = norm(r)
    if half <= s.target then
      krylov.step(s, half)
      break
    end
    local smooth = s.precondition(r)
    local t = s.apply(smooth)
    local length = dot(t, t)
    if length[1] == 0 then return krylov.result(s, 'A maps a residual to 0; it is singular') end
    omega = over(dot(t, r), length)
    add_scaled(s.x, omega, smooth)
    add_scaled(r, minus(omega), t)
    if krylov.step(s, norm(r)) then break end
    if size(omega) == 0 then return krylov.result(s, 'a smoothing step of length 0; use gmres') end
  end
  return krylov.result(s)
end

local GMRES = { restart = { 20, 'integer >= 1' } }
for k, v in pairs(krylov.OPTS) do GMRES[k] = v end

--- The rotation (c, s), c real, that takes (a, b) to (r, 0), b real and not negative.
local function rotation(a, b)
  local length = math.sqrt(a[1] * a[1] + a[2] * a[2] + b * b)
  if length == 0 then return 1, { 0, 0 } end
  local modulus = size(a)
  if modulus == 0 then return 0, { 1, 0 } end
  local phase = { a[1] / modulus, a[2] / modulus }
  return modulus / length, { phase[1] * b / length, phase[2] * b / length }
end

--- x with A x = b for square A, by generalised minimal residuals: the residual never grows; memory for `restart` vectors.
---
--- A, b, options and result as for cg; A need not be Hermitian. Option restart (20): products between restarts. maxiter counts products.
--- M multiplies from the right, so that the residual is that of A x = b. Errors: as cg.
--- Source: GMRES: a generalized minimal residual algorithm for solving nonsymmetric linear systems, 1986; SciPy
--- sparse.linalg.gmres, which counts restarts.
---     mc.linalg.gmres({ { 4, 1 }, { 2, 3 } }, { 5, 5 }, { rtol = 1e-12 }).x  --> f64[2]@cpu { 1, 1 }
---@param A mc.tensor|fun(x: mc.tensor): mc.tensor
---@param b mc.tensor
---@param opts? table x0, rtol, atol, maxiter, restart, M, callback
---@return { x: mc.tensor, converged: boolean, iterations: integer, residual: number, reason: string? }
function M.gmres(A, b, opts)
  local o = check.opts('gmres', opts, GMRES, 3)
  local s = krylov.system('gmres', A, b, o)
  local most = math.max(1, math.min(o.restart, s.n))
  local V = tensor.empty('gmres', { most + 1, s.n }, s.dtype, 3):fill_(0)
  local r, beta = s.r, norm(s.r)
  while beta > s.target and s.iterations < s.maxiter and not s.stopped do
    V[1] = F.multiply(r, 1 / beta)
    local columns, cosine, sine, g, used = {}, {}, {}, { { beta, 0 } }, 0
    for j = 1, most do
      local w, h = krylov.orthogonalise(V[{ { 1, j } }], s.apply(s.precondition(V[j])))
      local below, top = norm(w), 0
      for i = 1, j do top = math.max(top, size(h[i])) end
      if below <= 4 * stack.EPS[s.dtype] * top then below = 0 end -- the space holds the solution
      for i = 1, j - 1 do -- the rotations so far
        local upper, lower = h[i], h[i + 1]
        local u, l = times(sine[i], lower), times(conj(sine[i]), upper)
        h[i] = { cosine[i] * upper[1] + u[1], cosine[i] * upper[2] + u[2] }
        h[i + 1] = { cosine[i] * lower[1] - l[1], cosine[i] * lower[2] - l[2] }
      end
      cosine[j], sine[j] = rotation(h[j], below)
      local u, l = { sine[j][1] * below, sine[j][2] * below }, times(conj(sine[j]), g[j])
      h[j] = { cosine[j] * h[j][1] + u[1], cosine[j] * h[j][2] + u[2] }
      g[j], g[j + 1] = { cosine[j] * g[j][1], cosine[j] * g[j][2] }, minus(l)
      columns[j], used = h, j
      local residual = size(g[j + 1])
      local finished = krylov.step(s, residual) or below == 0 or s.iterations >= s.maxiter
      if finished or j == most then break end
      V[j + 1] = F.multiply(w, 1 / below)
    end
    -- R y = g, from the last row up
    local y, singular = {}, false
    for i = used, 1, -1 do
      local sum = g[i]
      for j = i + 1, used do
        local t = times(columns[j][i], y[j])
        sum = { sum[1] - t[1], sum[2] - t[2] }
      end
      if size(columns[i][i]) == 0 then
        singular, y[i] = true, { 0, 0 }
      else
        y[i] = over(sum, columns[i][i])
      end
    end
    for i = 1, used do y[i] = krylov.value(y[i]) end
    local coefficients = op.from_table(y):to(s.dtype)
    F.add(s.x, s.precondition(F.matmul(coefficients, V[{ { 1, used } }])), { out = s.x })
    r = F.subtract(s.b, s.apply(s.x))
    local now = norm(r)
    if singular or not (now < beta) and used == s.n then return krylov.result(s, 'A is singular, or no combination of products lowers the residual') end
    beta = now
  end
  return krylov.result(s)
end

return M
