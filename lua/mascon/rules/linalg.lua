-- linalg.lua - derivatives of solutions of linear systems, inverses, determinants, least squares.
--
-- With a x = b: the cotangent of b is h = a^-H g, that of a is -h x^H, whatever way x is computed; special matrices
-- keep of it what their storage holds. Form of a rule: see init.lua. Source: Collected matrix derivative results for
-- forward and reverse mode algorithmic differentiation, 2008.
local mc = require 'mascon.array'
local lengths = require 'mascon.base.lengths'
local call = require 'mascon.core.several'
local stack = require 'mascon.array.stacks'
local adjoint = stack.adjoint

local R = {}

local function conj(t) return t.dtype:sub(1, 1) == 'c' and mc.conj(t) or t end
local function real(t) return t.dtype:sub(1, 1) == 'c' and mc.real(t) or t end

--- A right side as columns: vectors become one column when the operand b was one.
local function columns(t, b) return b.ndim == 1 and t:expand_dims(-1) or t end
local function as_given(t, b) return b.ndim == 1 and t:squeeze(-1) or t end

-- ---------------------------------------------------------------- general and triangular systems

R.solve = function(g, x, y)
  local a, b = x[1], x[2]
  local h = mc.linalg.solve(adjoint(a), columns(g, b))
  return { function() return -h:matmul(adjoint(columns(y[1], b))) end, as_given(h, b) }
end

--- The part of a cotangent that a triangular operand holds.
local function triangle(t, lower, unit)
  if lower then return mc.tril(t, unit and -1 or 0) end
  return mc.triu(t, unit and 1 or 0)
end

R.solve_triangular = function(g, x, y, p)
  local a, b = x[1], x[2]
  local gc, yc = columns(g, b), columns(y[1], b)
  local o = { lower = p.lower, unit_diagonal = p.unit_diagonal }
  local h, ga
  if p.trans == 'none' then
    o.trans = 'adjoint'
    h = mc.linalg.solve_triangular(a, gc, o)
    ga = h:matmul(adjoint(yc))
  elseif p.trans == 'adjoint' then
    h = mc.linalg.solve_triangular(a, gc, o)
    ga = yc:matmul(adjoint(h))
  else
    h = mc.linalg.solve_triangular(conj(a), gc, o)
    ga = conj(yc):matmul(h.mT)
  end
  return { triangle(-ga, p.lower, p.unit_diagonal), as_given(h, b) }
end

--- The factors L\U of one matrix with b behind the exchanges of rows: a = P L U.
R.lu_solve = function(g, x, y, p)
  local lu, b, piv = x[1], x[2], x[3]
  local gc, yc = columns(g, b), columns(y[1], b)
  local solve, tri = mc.linalg.lu_solve, mc.linalg.solve_triangular
  local function low(how) return { lower = true, unit_diagonal = true, trans = how } end
  local upper = mc.triu(lu)
  if p.trans == 'none' then -- y = U^-1 v, v = L^-1 P^T b
    local v = upper:matmul(yc)
    local gv = tri(lu, gc, { trans = 'adjoint' })
    local gz = tri(lu, gv, low 'adjoint')
    local glu = mc.triu(gv:matmul(adjoint(yc))) + mc.tril(gz:matmul(adjoint(v)), -1)
    return { -glu, as_given(solve(lu, gc, piv, { trans = 'adjoint', base = p.base }), b) }
  end
  -- w = P^T y = L^-T v, v = U^-T b; for the transposed problem everything is conjugated
  local flip = p.trans == 'transpose' and conj or function(t) return t end
  local bc = columns(b, b)
  local v = flip(tri(lu, flip(bc), { trans = 'adjoint' }))
  local w = flip(tri(lu, flip(v), low 'adjoint'))
  local gv = flip(upper:matmul(solve(lu, flip(gc), piv, { base = p.base })))
  local gb = flip(tri(lu, flip(gv), {}))
  local glu = mc.tril(flip(w):matmul(adjoint(flip(gv))), -1) + mc.triu(flip(v):matmul(adjoint(flip(gb))))
  return { -glu, as_given(gb, b) }
end

-- ---------------------------------------------------------------- inverse and determinant

R.inv = function(g, _, y)
  local h = adjoint(y[1])
  return { -h:matmul(g):matmul(h) }
end

--- Matrices with the identity in place of those that are marked.
local function replaced(a, mark) return mc.where(stack.factor(mark), stack.eye(a.shape[a.ndim], a.dtype, a), a) end

--- Of singular matrices the cofactors come from singular values, which lose nothing; of the others from the inverse,
--- whose own derivative holds for equal singular values too.
R.det = function(g, x, y)
  local a, n = x[1], x[1].shape[x[1].ndim]
  if n == 0 then return {} end
  local singular = mc.eq(y[1], 0)
  local regular = stack.factor(y[1]) * mc.linalg.inv(replaced(a, singular))
  local d = mc.linalg.svd(a, { full_matrices = false })
  -- product of all singular values but one
  local others = mc.where(stack.eye(n, 'bool', d.S), 1, d.S:expand_dims(-2)):prod(-1)
  local phase = mc.linalg.det(d.U) * mc.linalg.det(d.Vh)
  local cofactors = stack.factor(conj(phase)) * (d.U * stack.columns(others)):matmul(d.Vh)
  return { stack.factor(g) * mc.where(stack.factor(singular), cofactors, adjoint(regular)) }
end

--- Of a singular matrix the logarithm has no derivative: NaN, unless nothing came back.
R.slogdet = function(g, x, y)
  local a, sign = x[1], y[1]
  if a.shape[a.ndim] == 0 then return {} end
  local singular = mc.eq(sign, 0)
  local c = g[2]
  if g[1] and sign.dtype:sub(1, 1) == 'c' then -- the phase turns with the imaginary part of tr(a^-1 da)
    local turn = mc.imag(mc.conj(sign) * g[1]) * mc.complex(0, 1)
    c = c and c + turn or turn
  end
  if not c then return {} end
  c = mc.where(mc.logical_and(singular, mc.ne(c, 0)), 0 / 0, c)
  return { stack.factor(c) * adjoint(mc.linalg.inv(replaced(a, singular))) }
end

-- ---------------------------------------------------------------- least squares

--- x = a^+ b, differentiated at constant rank: what the cut rcond leaves out stays out.
R.least_squares = function(g, x, y, p)
  local a, b, out = x[1], x[2], {}
  local solution = columns(y[1], b)
  if g[1] then
    local gc = columns(g[1], b)
    local pinv = stack.pinv(a, p.rcond >= 0 and p.rcond or nil)
    local back = adjoint(pinv)
    local h = back:matmul(gc)
    local rest = columns(b, b) - a:matmul(solution)
    local missed = gc - pinv:matmul(a:matmul(gc))
    out[1] =
      rest:matmul(adjoint(pinv:matmul(h))) + back:matmul(solution):matmul(adjoint(missed)) - h:matmul(adjoint(solution))
    out[2] = as_given(h, b)
  end
  if g[3] then
    local d = mc.linalg.svd(a, { full_matrices = false })
    local more = (d.U * stack.columns(g[3])):matmul(d.Vh)
    out[1] = out[1] and out[1] + more or more
  end
  return out
end

-- ---------------------------------------------------------------- banded systems

--- t moved along an axis by k places (up for k > 0), zeros coming in.
local function moved(t, k, axis)
  if k == 0 then return t end
  local n, widths, key = t.shape[axis], {}, {}
  k = math.max(-n, math.min(n, k))
  for i = 1, t.ndim do
    widths[i] = { i == axis and math.max(k, 0) or 0, i == axis and math.max(-k, 0) or 0 }
    key[i] = i == axis and { 1 + math.max(-k, 0), n + math.max(-k, 0) } or mc.all
  end
  return mc.pad(t, widths)[key]
end

--- Diagonal d (row minus column) of -h y^H, summed over right sides, by column.
local function diagonal_of(h, y, d) return mc.sum(moved(h, -d, h.ndim - 1) * conj(y), -1) end

R.solve_banded = function(g, x, y, p)
  local ab, b = x[1], x[2]
  local lower, upper = p.lower, p.upper
  local gc, yc = columns(g, b), columns(y[1], b)
  -- the band of a^H: diagonal d of a becomes diagonal -d, moved by d
  local rows = {}
  for i = 1, lower + upper + 1 do
    local d = lower + 1 - i -- of a; the adjoint holds it in row i
    rows[i] = moved(conj(ab[{ mc.ellipsis, upper + 1 + d, mc.all }]), d, ab.ndim - 1)
  end
  local h = mc.linalg.solve_banded(mc.stack(rows, -2), gc, { lower = upper, upper = lower })
  local out = {}
  for i = 1, lower + upper + 1 do out[i] = -diagonal_of(h, yc, i - upper - 1) end
  return { mc.stack(out, -2), as_given(h, b) }
end

R.solveh_banded = function(g, x, y, p)
  local ab, b = x[1], x[2]
  local gc, yc = columns(g, b), columns(y[1], b)
  local h = mc.linalg.solveh_banded(ab, gc, { lower = p.lower })
  local out, n = {}, ab.shape[ab.ndim - 1]
  for i = 1, n do
    local d = p.lower and i - 1 or i - n -- the entry below (above) stands for its mirror image too
    local t = diagonal_of(h, yc, d)
    if d == 0 then t = real(t)
    else t = t + diagonal_of(yc, h, d) end
    out[i] = -t
  end
  if out[1].dtype ~= out[#out].dtype then
    local at = p.lower and 1 or n
    out[at] = out[at]:to(ab.dtype)
  end
  return { mc.stack(out, -2), as_given(h, b) }
end

-- ---------------------------------------------------------------- Toeplitz systems

R.levinson = function(g, x, y)
  local c, r, b = x[1], x[2], x[3]
  local n = c.shape[c.ndim]
  local gc, yc = columns(g, b), columns(y[1], b)
  local h
  local function raw(column, row, side) return (call.raw('levinson', { column, row, side })) end
  -- the adjoint: first column conj(r) under conj(c[1]), first row conj(c)
  local shape = mc.broadcast_shapes({ unpack(c.shape, 1, c.ndim - 1) }, { unpack(r.shape, 1, r.ndim - 1) })
  local function wide(t)
    local s = { unpack(shape) }
    s[#s + 1] = t.shape[t.ndim]
    return t:broadcast_to(s)
  end
  h = raw(mc.concat({ wide(conj(c['..., :1'])), wide(conj(r['..., 2:'])) }, -1), conj(c), gc)
  -- sums along the diagonals of h x^H: correlations, by transforms
  local size = lengths.next_fast_len(2 * n)
  local f = mc.fft.fft(h, { axis = -2, n = size }) * mc.conj(mc.fft.fft(yc, { axis = -2, n = size }))
  local lags = -mc.fft.ifft(mc.sum(f, -1))
  local gcol = lags[{ mc.ellipsis, { 1, n } }]
  local rest = mc.flip(lags[{ mc.ellipsis, { size - n + 2, size } }], -1)
  local grow = mc.concat({ mc.zeros_like(gcol['..., :1']), rest }, -1)
  return { gcol, grow, as_given(h, b) }
end

return { reverse = R }
