-- gmres.lua - systems solved by products with the matrix alone and a basis that is kept: generalised minimal residuals.
--
-- The basis, the small triangular system beside it, and restarts. A turn is one product; all sizes are those of the
-- largest basis, of which rows that are not there yet are zero and take part in products: how a library sums a
-- product may depend on its size, and plain and compiled calls give the same bits. Where values are known and f64 a
-- turn finds its rotation in numbers (a turn at 40 unknowns: 15 us, as tensors 31). Operators, turns and results
-- stand in krylov.lua.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local create = require 'mascon.array.create'
local op = require 'mascon.core.op'
local implicit = require 'mascon.linalg.implicit'
local krylov = require 'mascon.linalg.krylov'
local stack = require 'mascon.array.stacks'
local F = op.functions
local norm, ratio = krylov.norm, krylov.ratio
local M = {}

local GMRES = { restart = { 20, 'integer >= 1' } }
for k, v in pairs(krylov.OPTS) do GMRES[k] = v end

local STUCK = krylov.COUNTED
local REASONS = { [STUCK] = 'A is singular, or no combination of products lowers the residual' }

local function conj(x) return krylov.complex(x) and F.conj(x) or x end

--- The rotation (c, s), c real, that takes (a, b) to (r, 0), b real and not negative.
local function rotation(a, b)
  local modulus = F.abs(a)
  local length = F.sqrt(modulus * modulus + b * b)
  local there, upper = F.gt(length, 0), F.gt(modulus, 0)
  local c = F.where(there, ratio(modulus, length, there), 1)
  local phase = F.where(upper, a / F.where(upper, modulus, 1), there)
  return c, phase * ratio(b, length, there)
end

--- The same in numbers, b >= 0.
local function rotation_of(a, b)
  local modulus = math.abs(a)
  local length = math.sqrt(modulus * modulus + b * b)
  if not (length > 0) then return 1, 0 end
  return modulus / length, (modulus > 0 and a / modulus or 1) * (b / length)
end

local function minimal_residuals(s)
  local m, target = math.max(1, math.min(s.restart, s.n)), krylov.target(s)
  local numbers = s.dtype == 'f64' and not require('mascon.graph.recording').mode()
  local edge -- the row of Q that the next rotation turns, as numbers
  local device = s.b.device
  local rows = create.arange(0, m, 1, { dtype = 'i64', device = device })
  local column, places = rows:reshape(m + 1, 1), rows[{ { 1, m } }]
  local eye, corner = stack.eye(m + 1, s.dtype, s.b), stack.eye(m, s.dtype, s.b)
  --- Row j (from 0) of a matrix.
  local function row(t, j)
    if not tensor.is(j) then return t[j + 1] end
    return F.take(t, j:reshape { 1 }, { axis = 1, base = 0 }):reshape { t.shape[2] }
  end
  --- The basis with one row more, which it may take into its memory.
  local function with_row(V, j, v)
    if tensor.is(j) then return F.where(F.eq(column, j), v:reshape(1, s.n), V) end
    V[j + 1] = v
    return V
  end
  --- A new basis, whose first vector is the residual's direction.
  local function begin(x, r, size)
    local V = create.zeros({ m + 1, s.n }, { dtype = s.dtype, device = device })
    V[1] = r * ratio(1, size, F.gt(size, 0))
    edge = { 1 }
    for i = 2, m + 1 do edge[i] = 0 end
    return x, V, numbers and eye:copy() or eye, create.zeros({ m, m }, { dtype = s.dtype, device = device }), size, 0
  end
  --- The combination of the basis that leaves the least residual, and the basis that starts from there.
  local function finish(x, V, Q, R, beta, j)
    local used = F.le(places, j)
    local diagonal = F.sum(R * corner, 2)
    local whole = F.logical_and(used, F.ne(diagonal, 0))
    local triangle = F.where(whole:reshape(m, 1), R, corner)
    local right = F.where(whole, Q['1:-2, 1'] * beta, 0)
    local y = F.solve_triangular(triangle, right, { lower = false })
    local at = x + krylov.precondition(s, F.matmul(y, V['1:-2, :']))
    local left = F.subtract(s.b, s.apply(at))
    local now = norm(left)
    local singular = F.any(F.logical_and(used, F.eq(diagonal, 0)), 1)
    local last = F.eq(j, s.n - 1)
    if not tensor.is(j) then last = tensor.moved(last, s.b._device, 2) end
    local full = F.logical_and(F.logical_not(F.lt(now, beta)), last)
    local status =
      krylov.status(F.le(now, target), krylov.DONE, krylov.status(F.logical_or(singular, full), STUCK, krylov.RUNS))
    if not tensor.is(status) and status ~= krylov.RUNS then return at, V, Q, R, now, j, status end
    local new = { begin(at, left, now) }
    new[7] = status
    return unpack(new, 1, 7)
  end
  --- A turn where values are known: Q and R take the rotation into their memory.
  local function by_numbers(v, turn)
    local at, V, Q, R, beta, j = unpack(v)
    local w, h = krylov.orthogonalise(V, s.apply(krylov.precondition(s, V[j + 1])))
    local below = norm(w):item()
    if below <= F.max(F.abs(h)):item() * (4 * stack.EPS[s.dtype]) then below = 0 end -- the space holds the solution
    h = F.matmul(Q, h)
    local a = h[j + 1]:item()
    local c, sine = rotation_of(a, below)
    local pair = {}
    for i = 1, m + 1 do
      local one = i == j + 2 and 1 or 0
      pair[i], pair[m + 1 + i] = edge[i] * c + one * sine, one * c - edge[i] * sine
    end
    for i = 1, m + 1 do edge[i] = pair[m + 1 + i] end
    Q[{ { j + 1, j + 2 } }] = tensor.moved(op.from_table(pair), s.b._device, 2):reshape(2, m + 1)
    h[j + 1] = a * c + sine * below
    R[{ { 1, j + 1 }, j + 1 }] = h[{ { 1, j + 1 } }]
    local residual = math.abs(edge[1]) * beta:item()
    local solved = residual <= target:item()
    local status = krylov.heard(s, at, turn, residual, solved and krylov.DONE or krylov.RUNS)
    local stopped = status == krylov.STOPPED
    if below ~= 0 and not solved and turn < s.maxiter and j < m - 1 and not stopped then
      V[j + 2] = F.multiply(w, below > 0 and 1 / below or 0)
      return { at, V, Q, R, beta, j + 1 }, krylov.RUNS
    end
    local new = { finish(at, V, Q, R, beta, j) }
    return { unpack(new, 1, 6) }, stopped and status or new[7]
  end
  local function goes_on(x, V, Q, R, beta, j) return x, V, Q, R, beta, j + 1, krylov.RUNS end

  local x, r = krylov.start(s)
  local size = norm(r)
  local first = { begin(x, r, size) }
  local own, status, k = krylov.turns(s, first, krylov.status(F.le(size, target), krylov.DONE, krylov.RUNS), function(v,
    turn)
    if numbers then return by_numbers(v, turn) end
    local at, V, Q, R, beta, j = unpack(v)
    local w, h = krylov.orthogonalise(V, s.apply(krylov.precondition(s, row(V, j))))
    local below = norm(w)
    below = F.where(F.le(below, F.max(F.abs(h)) * (4 * stack.EPS[s.dtype])), 0, below) -- the space holds the solution
    local here, next_one = F.eq(column, j), F.eq(column, j + 1)
    V = with_row(V, j + 1, w * ratio(1, below, F.gt(below, 0)))
    -- the rotations so far, then the one that takes away what is below
    h = F.matmul(Q, h)
    local a, upper = row(h:reshape(m + 1, 1), j):reshape {}, row(Q, j)
    local c, sine = rotation(a, below)
    local lower = row(eye, j + 1)
    local turned = lower * c - upper * conj(sine)
    Q = F.where(here, (upper * c + lower * sine):reshape(1, m + 1), F.where(next_one, turned:reshape(1, m + 1), Q))
    local top = F.where(here['1:-2, :'], a * c + sine * below, h:reshape(m + 1, 1)['1:-2, :'])
    R = F.where(F.eq(places, j), top, R)
    local residual = F.abs(turned[1]) * beta
    local status = krylov.heard(s, at, turn, residual, krylov.status(F.le(residual, target), krylov.DONE, krylov.RUNS))
    local over = F.logical_or(F.eq(below, 0), F.le(residual, target))
    local stopped = not tensor.is(status) and status == krylov.STOPPED
    local last
    if tensor.is(j) then
      last = F.logical_or(F.ge(turn, s.maxiter), F.eq(j, m - 1))
    else
      last = turn >= s.maxiter or j == m - 1 or stopped
    end
    over = F.logical_or(over, last)
    local new = { krylov.choose(over, finish, goes_on, at, V, Q, R, beta, j) }
    -- where the callback has spoken nobody else decides
    return { unpack(new, 1, 6) }, stopped and status or new[7]
  end)
  return krylov.solved(s, own[1], status, k)
end

--- x with A x = b for square A, by generalised minimal residuals: the residual never grows; memory for `restart`
--- vectors.
---
--- A, b, options, result and derivatives as for cg; A need not be Hermitian. Option restart (20): products between
--- restarts. maxiter counts products. M multiplies from the right, so that the residual is that of A x = b. Errors: as
--- cg.
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
  s.restart = o.restart
  return krylov.result(implicit.solve(s, minimal_residuals), REASONS)
end

return M
