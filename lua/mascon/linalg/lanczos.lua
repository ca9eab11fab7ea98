-- lanczos.lua - extreme eigenvalues by products with the matrix alone: thick-restart Lanczos.
--
-- The matrix is a tensor or a Lua function. Holds the recurrence, which Lua steers by values; vectors and operators
-- stand in krylov.lua.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local krylov = require 'mascon.linalg.krylov'
local stack = require 'mascon.array.stacks'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

-- ---------------------------------------------------------------- scalars: pairs { re, im }, so that one text serves
-- real and complex operators

local function conj(a) return { a[1], -a[2] } end
local function size(a) return math.sqrt(a[1] * a[1] + a[2] * a[2]) end

--- A pair as what ops take: a Lua number or a complex one.
local function value(a) return a[2] == 0 and a[1] or tensor.complex(a[1], a[2]) end

--- The elements of a 1-D tensor as pairs.
local function pairs_of(t)
  local list = t:totable()
  for i, v in ipairs(list) do list[i] = type(v) == 'number' and { v, 0 } or { v.re, v.im } end
  return list
end

local function norm(x) return krylov.norm(x):item() end

-- ---------------------------------------------------------------- eigenvalues

local EIGSH = { k = { 6, 'integer >= 1' }, which = { 'LM', { 'LM', 'LA', 'SA' } }, ncv = { nil, 'integer >= 2' },
  tol = { 0, 'number >= 0' }, maxiter = { nil, 'integer >= 1' }, v0 = { nil, 'any' },
  n = { nil, 'integer >= 1' }, vectors = { true, 'bool' } }

--- Places of the wanted k among rising eigenvalues, the most wanted first.
local function wanted(theta, which, k)
  local order = {}
  for i = 1, #theta do order[i] = i end
  local key = { LM = function(x) return -math.abs(x) end, LA = function(x) return -x end,
    SA = function(x) return x end }
  local f = key[which]
  table.sort(order, function(i, j)
    local a, b = f(theta[i]), f(theta[j])
    if a ~= b then return a < b end
    return i < j
  end)
  local list = {}
  for i = 1, math.min(k, #order) do list[i] = order[i] end
  return list
end

--- Some eigenvalues and eigenvectors of a Hermitian matrix: the largest in modulus (LM), the largest (LA) or the
--- smallest (SA).
---
--- A: f32|f64|c64|c128 [n, n], or a function x -> A x with option n (or v0). Options: k (6) eigenvalues; which; ncv:
--- vectors kept (default max(2 k + 1, 20), at most n); tol (0: a few units of precision): an eigenvalue counts as found
--- at |A v - lambda v| <= tol |lambda|; maxiter: restarts (10 n); v0: first vector (default fixed random numbers);
--- vectors = false leaves them out. For eigenvalues in the middle or near 0 give a function that solves (A - sigma) y =
--- x, and take sigma + 1 / value.
--- Result: a table of values [k] rising, vectors [n, k], converged, iterations (restarts), products, residual (the
--- largest |A v - lambda v|).
--- Errors: k that is not below n; a function without n; A that depends on arguments of mc.grad, mc.compile or mc.vmap.
--- Source: Thick-restart Lanczos method for large symmetric eigenvalue problems, 2000; SciPy sparse.linalg.eigsh.
---     mc.linalg.eigsh({ { 2, 1, 0 }, { 1, 2, 1 }, { 0, 1, 2 } }, { k = 1, which = 'LA' }).values
---       --> f64[1]@cpu { 3.4142 }
---@param A mc.tensor|fun(x: mc.tensor): mc.tensor
---@param opts? table k, which, ncv, tol, maxiter, v0, n, vectors
---@return { values: mc.tensor, vectors: mc.tensor?, converged: boolean, iterations: integer, products: integer,
---  residual: number }
function M.eigsh(A, opts)
  local o = check.opts('eigsh', opts, EIGSH, 3)
  if type(A) == 'function' and not o.n and o.v0 == nil then
    error('eigsh: A is a function; give its size, n = ..., or a first vector, v0 = ...', 2)
  end
  local dtype = (type(A) ~= 'function' or o.v0 ~= nil) and krylov.common_dtype('eigsh', A, o.v0) or 'f64'
  local product, rows, cols, matrix = krylov.operator('eigsh', 'A', A, dtype)
  local function plain(x)
    if tensor.recorded(x) then
      error('eigsh: A depends on the arguments of a function that is differentiated, compiled or vectorised; eigsh '
        .. 'steers by values and has no derivative: use eigh, or call it outside', 4)
    end
    return x
  end
  if matrix then plain(matrix) end
  local function apply(x) return plain(product(x)) end
  if rows and rows ~= cols then error(('eigsh: A is [%d, %d]; it must be square'):format(rows, cols), 2) end
  local n = rows or o.n or op.operand('eigsh', o.v0, 2).shape[1]
  if o.k >= n then error(('eigsh: k is %d, A has %d rows; give k below that, or use eigh'):format(o.k, n), 2) end
  local most, eps = math.min(n, o.ncv or math.max(2 * o.k + 1, 20)), stack.EPS[dtype]
  if most <= o.k then error(('eigsh: ncv is %d; it must exceed k = %d'):format(most, o.k), 2) end
  local draw = require 'mascon.random.distributions'.normal
  local where = matrix or tensor.is(o.v0) and o.v0
  local device = where and where._device or 0
  local fresh = 0
  local function random_vector()
    fresh = fresh + 1
    -- a recording follows what is drawn, but these numbers are constants of the method
    return require('mascon.graph.recording').quietly(function()
      return tensor.moved(draw({ n }, { key = 0, stream = fresh }):to(dtype), device, 2)
    end)
  end
  local V, H = tensor.empty('eigsh', { most + 1, n }, dtype, 3, device):fill_(0), {}
  for i = 1, most do H[i] = {} end
  local w = o.v0 ~= nil and krylov.vector('eigsh', 'v0', o.v0, n, dtype) or random_vector()
  V[1] = F.multiply(w, 1 / norm(w))
  local have, products, restarts, beta, scale = 0, 0, 0, 0, 0
  local theta, S, list, converged
  local tol = math.max(o.tol, 8 * eps)
  repeat
    for j = have + 1, most do
      local h
      w, h = krylov.orthogonalise(V[{ { 1, j } }], apply(V[j]))
      h = pairs_of(h)
      products = products + 1
      for i = 1, j do
        H[i][j], H[j][i] = h[i], conj(h[i])
        scale = math.max(scale, size(h[i]))
      end
      H[j][j] = { h[j][1], 0 }
      beta = norm(w)
      scale = math.max(scale, beta)
      if beta <= 2 * n ^ 0.5 * eps * scale then -- the space is invariant: go on from a new direction, uncoupled
        beta = 0
        if j < n then
          w = krylov.orthogonalise(V[{ { 1, j } }], random_vector())
          V[j + 1] = F.multiply(w, 1 / norm(w))
        end
      else
        V[j + 1] = F.multiply(w, 1 / beta)
      end
    end
    local projected = {}
    for i = 1, most do
      projected[i] = {}
      for j = 1, most do projected[i][j] = value(H[i][j]) end
    end
    local values, basis = F.eigh(op.from_table(projected))
    theta, S = values:totable(), basis
    restarts = restarts + 1
    list = wanted(theta, o.which, o.k)
    local last = pairs_of(S[most])
    converged = true
    for _, at in ipairs(list) do
      local reach = math.max(math.abs(theta[at]), eps ^ (2 / 3) * scale)
      converged = converged and beta * size(last[at]) <= tol * reach
    end
    if converged or restarts > (o.maxiter or 10 * n) then break end
    -- keep the best approximations and half of the others, then the residual's direction
    local keep = wanted(theta, o.which, o.k + math.floor((most - o.k) / 2))
    table.sort(keep)
    local place = op.from_table(keep, 'i64')
    local kept = F.matmul(tensor.moved(F.take(S, place, { axis = 2 }):to(dtype), device, 3).mT, V[{ { 1, most } }])
    local direction = methods.copy(V[most + 1])
    V[{ { 1, #keep } }] = kept
    V[#keep + 1] = direction
    for i, at in ipairs(keep) do
      for j = 1, #keep do H[i][j] = { 0, 0 } end
      H[i][i] = { theta[at], 0 }
    end
    have = #keep
  until false
  table.sort(list)
  local place = op.from_table(list, 'i64')
  local vectors = F.matmul(tensor.moved(F.take(S, place, { axis = 2 }):to(dtype), device, 3).mT, V[{ { 1, most } }])
  local found, residual = tensor.empty('eigsh', { #list }, stack.REAL[dtype], 3, device), 0
  for i, at in ipairs(list) do
    found[i] = theta[at]
    residual =
      math.max(residual, norm(F.subtract(apply(methods.contiguous(vectors[i])), F.multiply(vectors[i], theta[at]))))
  end
  return {
    values = tensor.moved(found, device, 3), vectors = o.vectors and methods.contiguous(vectors.mT) or nil,
    converged = converged, iterations = restarts, products = products, residual = residual,
  }
end

return M
