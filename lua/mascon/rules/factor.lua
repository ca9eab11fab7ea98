-- factor.lua - derivatives of factorisations: LU, Cholesky, QR.
--
-- Reverse of a factorisation: the condition that keeps the factors in their form (triangular, orthonormal) tells which
-- part of a^-1 da each takes. Hermitian operands: of which one triangle is read; the cotangent is Hermitian, as if both
-- were. What is arbitrary (columns beyond the rank of the question, phases) is held still, so that losses that do not
-- depend on it are differentiated right. Form of a rule: see init.lua. Source: Collected matrix derivative results for
-- forward and reverse mode algorithmic differentiation, 2008; Auto-differentiating linear algebra, 2017.
local mc = require 'mascon.array'
local stack = require 'mascon.array.stacks'
local adjoint, some_rows, some_columns = stack.adjoint, stack.some_rows, stack.some_columns

local R = {}

local function is_complex(t) return t.dtype:sub(1, 1) == 'c' end

local function tri(a, b, o) return mc.linalg.solve_triangular(a, b, o) end
--- x u^-H for upper triangular u, as the adjoint of u^-1 x^H.
local function behind(x, u) return adjoint(tri(u, adjoint(x), {})) end
--- l^-H x for unit lower triangular l.
local function before(x, l) return tri(l, x, { lower = true, unit_diagonal = true, trans = 'adjoint' }) end

--- Matrices with a diagonal multiplied by a factor.
local function diagonal_times(t, factor)
  return t * mc.where(stack.eye(t.shape[t.ndim], 'bool', t), factor, 1):to(t.dtype)
end

-- ---------------------------------------------------------------- LU

--- Cotangent of L U given those of L and U (nil: none), k = min(m, n) columns and rows.
local function back_lu(l, u, gl, gu)
  local m, k, n = l.shape[l.ndim - 1], l.shape[l.ndim], u.shape[u.ndim]
  local l1, u1 = k < m and some_rows(l, 1, k) or l, k < n and some_columns(u, 1, k) or u
  local low, up, below, right
  if gl then
    low = adjoint(l1):matmul(k < m and some_rows(gl, 1, k) or gl)
    if k < m then
      below = some_rows(gl, k + 1, m)
      up = -adjoint(some_rows(l, k + 1, m)):matmul(below)
    end
  end
  if gu then
    local t = (k < n and some_columns(gu, 1, k) or gu):matmul(adjoint(u1))
    up = up and up + t or t
    if k < n then
      right = some_columns(gu, k + 1, n)
      t = right:matmul(adjoint(some_columns(u, k + 1, n)))
      low = low and low - t or -t
    end
  end
  local middle
  if low then middle = mc.tril(low, -1) end
  if up then middle = middle and middle + mc.triu(up) or mc.triu(up) end
  local ga = before(behind(middle, u1), l1)
  if k < m then
    local t = below and behind(below, u1) or mc.zeros_like(some_rows(l, k + 1, m))
    ga = mc.concat({ ga, t }, -2)
  end
  if k < n then
    local t = right and before(right, l1) or mc.zeros_like(some_columns(u, k + 1, n))
    ga = mc.concat({ ga, t }, -1)
  end
  return ga
end

R.lu = function(g, _, y)
  if not g[2] and not g[3] then return {} end -- the permutation is constant piece by piece
  return { y[1]:matmul(back_lu(y[2], y[3], g[2], g[3])) }
end

--- Rows of t put back in the place they came from: positions `piv` exchange row by row, the last first.
local function exchanged_back(t, lu, piv, base)
  -- the exchanges are those of lu_solve with factors that are the identity
  local m = lu.shape[1]
  return mc.linalg.lu_solve(stack.eye(m, t.dtype, t), t, piv, { trans = 'adjoint', base = base })
end

R.lu_factor = function(g, _, y, p)
  if not g[1] then return {} end
  local lu, piv = y[1], y[2]
  local m, n = lu.shape[1], lu.shape[2]
  local k = math.min(m, n)
  local l = mc.tril(some_columns(lu, 1, k), -1) + mc.eye(m, k, { dtype = lu.dtype, device = lu.device })
  local ga =
    back_lu(l, mc.triu(some_rows(lu, 1, k)), mc.tril(some_columns(g[1], 1, k), -1), mc.triu(some_rows(g[1], 1, k)))
  if m > k then -- lu_solve takes as many exchanges as rows: the last ones stay where they are
    local more = mc.arange(k + p.base, m - 1 + p.base, { dtype = piv.dtype, device = piv.device })
    piv = mc.concat({ piv, more }, 1)
  end
  return { exchanged_back(ga, ga, piv, p.base) }
end

-- ---------------------------------------------------------------- Cholesky

R.cholesky = function(g, _, y, p)
  local l, gl = y[1], g
  if p.upper then l, gl = adjoint(l), adjoint(g) end
  local n = l.shape[l.ndim]
  if n == 0 then return {} end
  local middle = diagonal_times(mc.tril(adjoint(l):matmul(gl)), 0.5)
  middle = middle + adjoint(middle)
  local t = tri(l, middle, { lower = true, trans = 'adjoint' })
  return { adjoint(tri(l, adjoint(t), { lower = true, trans = 'adjoint' })) * 0.5 }
end

-- ---------------------------------------------------------------- QR

--- Cotangent of q r for q [m, k] with orthonormal columns and upper triangular r [k, k] with a real diagonal.
local function back_square(q, r, gq, gr)
  local ga
  local k
  if gq then k = adjoint(q):matmul(gq) end
  local x
  if gr then
    x = gr:matmul(adjoint(r))
    k = k and k - x or -x
  end
  local turn = mc.tril(k - adjoint(k), -1)
  if is_complex(k) then
    turn = turn + mc.where(stack.eye(k.shape[k.ndim], 'bool', k), mc.imag(k), 0) * mc.complex(0, 1)
  end
  x = x and x + turn or turn
  if gq and q.shape[q.ndim - 1] > q.shape[q.ndim] then
    ga = gq + q:matmul(x - adjoint(q):matmul(gq))
  else
    ga = q:matmul(x)
  end
  return behind(ga, r)
end

--- One operand; results Q, R, P as the mode has them.
R.qr = function(g, x, y, p)
  local a = x[1]
  local m, n = a.shape[a.ndim - 1], a.shape[a.ndim]
  local k = math.min(m, n)
  if k == 0 then return {} end
  local only_r = p.mode == 'r'
  local q, r, gq, gr
  if only_r then r, gr = y[1], #y == 1 and g or g[1]
  else q, r, gq, gr = y[1], y[2], g[1], g[2] end
  local order = p.pivoting and y[#y] or nil
  if order then order = order:expand_dims(-2):broadcast_to(a.shape) end
  if not gq and not gr then return {} end
  if r.shape[r.ndim - 1] > k then -- complete: zeros below
    r, gr = some_rows(r, 1, k), gr and some_rows(gr, 1, k)
  end
  local left = n > k and some_columns(r, 1, k) or r
  if q and q.shape[q.ndim] > k then -- complete: the further columns follow the first ones
    local more, first = some_columns(q, k + 1, m), some_columns(q, 1, k)
    if gq then gq = some_columns(gq, 1, k) - more:matmul(adjoint(some_columns(gq, k + 1, m)):matmul(first)) end
    q = first
  elseif not q then
    local head = a
    if order then head = mc.take_along_axis(a, order, { axis = -1, base = p.base }) end
    if n > k then head = some_columns(head, 1, k) end
    q = adjoint(tri(left, adjoint(head), { trans = 'adjoint' }))
  end
  local ga
  if n == k then ga = back_square(q, left, gq, gr)
  else
    local rest = some_columns(r, k + 1, n)
    local g1, g2 = gr and some_columns(gr, 1, k), gr and some_columns(gr, k + 1, n)
    if g2 then
      local t = q:matmul(rest):matmul(adjoint(g2))
      gq = gq and gq + t or t
    end
    ga = mc.concat({ back_square(q, left, gq, g1), g2 and q:matmul(g2) or mc.zeros_like(q:matmul(rest)) }, -1)
  end
  if order then ga = mc.take_along_axis(ga, mc.argsort(order, { axis = -1 }), { axis = -1 }) end
  return { ga }
end

return { reverse = R }
