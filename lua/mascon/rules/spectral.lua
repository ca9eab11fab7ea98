-- spectral.lua - derivatives of singular values, eigenvalues and their vectors.
--
-- Vectors of equal values are arbitrary within their span: differences 1 / (a - b) are taken as 0 where a = b, which is
-- right for losses that do not depend on the choice. Where the sum 1 / (a + b) carries the derivative (polar factor,
-- nuclear norm) it is kept apart, so that these stay exact for equal singular values. Phases of complex vectors are
-- held still in the same sense. Hermitian operands: the cotangent is Hermitian. Form of a rule: see init.lua. Source:
-- Collected matrix derivative results for forward and reverse mode algorithmic differentiation, 2008; Differentiating
-- the singular value decomposition, 2020 (complex).
local mc = require 'mascon.array'
local stack = require 'mascon.array.stacks'
local adjoint, columns, some_rows, some_columns = stack.adjoint, stack.columns, stack.some_rows, stack.some_columns

local R = {}

local function is_complex(t) return t.dtype:sub(1, 1) == 'c' end
local function conj(t) return is_complex(t) and mc.conj(t) or t end
local function hermitian(t) return (t + adjoint(t)) * 0.5 end
local function skew(t) return t - adjoint(t) end

--- 1 / t, 0 where t is 0.
local function safe(t)
  local none = mc.eq(t, 0)
  return mc.where(none, 0, 1 / mc.where(none, 1, t))
end

--- w[..., n] as a diagonal matrix in a dtype.
local function diagonal(w, dtype)
  return mc.where(stack.eye(w.shape[w.ndim], 'bool', w), w:expand_dims(-2), 0):to(dtype)
end
--- The diagonal part of a matrix.
local function on_diagonal(t) return mc.where(stack.eye(t.shape[t.ndim], 'bool', t), t, 0) end

local function plus(a, b)
  if a == nil then return b end
  if b == nil then return a end
  return a + b
end

-- ---------------------------------------------------------------- singular values

--- Cotangent of vectors that were cut from a complete basis: the further ones turn against the first.
local function thin(u, gu, k, n)
  local first = some_columns(u, 1, k)
  if not gu or k == n then return first, gu end
  local more = some_columns(u, k + 1, n)
  return first, some_columns(gu, 1, k) - more:matmul(adjoint(some_columns(gu, k + 1, n)):matmul(first))
end

local function back_svd(a, u, s, v, gu, gs, gv)
  local dtype, k = a.dtype, s.shape[s.ndim]
  local ku, kv = gu and adjoint(u):matmul(gu), gv and adjoint(v):matmul(gv)
  local inner = gs and diagonal(gs, dtype)
  if ku or kv then
    local du, dv = ku and skew(ku), kv and skew(kv)
    local sum, difference = plus(du, dv), plus(du, dv and -dv)
    local right, left = s:expand_dims(-2), s:expand_dims(-1)
    local t = sum * (safe(right - left) * 0.5):to(dtype)
      + difference * (mc.where(stack.eye(k, 'bool', sum), 0, safe(right + left)) * 0.5):to(dtype)
    if ku and is_complex(a) then t = t + on_diagonal(mc.imag(ku) * columns(safe(s))):to(dtype) * mc.complex(0, 1) end
    inner = plus(inner, t)
  end
  if not inner then return {} end
  local m, n = a.shape[a.ndim - 1], a.shape[a.ndim]
  local vh = adjoint(v)
  local left = u:matmul(inner)
  if gu and m > k then left = left + (gu - u:matmul(ku)) * columns(safe(s)):to(dtype) end
  local ga = left:matmul(vh)
  if gv and n > k then ga = ga + (u * columns(safe(s)):to(dtype)):matmul(adjoint(gv - v:matmul(kv))) end
  return { ga }
end

R.svd = function(g, x, y)
  local u, s, vh = y[1], y[2], y[3]
  local k = s.shape[s.ndim]
  if k == 0 then return {} end
  local gv = g[3] and adjoint(g[3])
  local v, gu
  u, gu = thin(u, g[1], k, u.shape[u.ndim])
  v, gv = thin(adjoint(vh), gv, k, vh.shape[vh.ndim - 1])
  return back_svd(x[1], u, s, v, gu, g[2], gv)
end

R.svdvals = function(g, x)
  local d = mc.linalg.svd(x[1], { full_matrices = false })
  return { (d.U * columns(g):to(d.U.dtype)):matmul(d.Vh) }
end

-- ---------------------------------------------------------------- Hermitian eigenvalues

--- Cotangents of a and b of the problem kinds 1: a v = w b v, 2: a b v = w v, 3: b a v = w v, given v in the scale that
--- LAPACK gives it.
local function back_eigh(w, v, gw, gv, b, kind)
  local dtype = v.dtype
  local k = gv and adjoint(v):matmul(gv)
  local inner = gw and diagonal(gw, dtype)
  if k then inner = plus(inner, k * safe(w:expand_dims(-2) - w:expand_dims(-1)):to(dtype)) end
  if not inner then return {} end
  if not b then return { hermitian(v:matmul(inner):matmul(adjoint(v))) } end
  local length = k and on_diagonal(k) * 0.5
  local right, left = columns(w):to(dtype), w:expand_dims(-1):to(dtype)
  local over_a, over_b, of_b = v, v
  if kind == 1 then
    of_b = -inner * right
    if length then of_b = of_b - length end
  elseif kind == 2 then
    over_a = b:matmul(v)
    of_b = inner * left
    if length then of_b = of_b - length end
  else
    over_b = mc.linalg.solve(b, v)
    of_b = inner * right
    if length then of_b = of_b + length end
  end
  return { hermitian(over_a:matmul(inner):matmul(adjoint(over_a))),
    hermitian(over_b:matmul(of_b):matmul(adjoint(over_b))) }
end

--- Hermitian matrices from the triangle that is read.
local function filled(a, upper)
  if upper then return mc.triu(a) + adjoint(mc.triu(a, 1)) end
  return mc.tril(a) + adjoint(mc.tril(a, -1))
end

R.eigh = function(g, x, y, p)
  if y[1].shape[y[1].ndim] == 0 then return {} end
  return back_eigh(y[1], y[2], g[1], g[2], x[2] and filled(x[2], p.upper), x[2] and tonumber(p.kind) or 1)
end

R.eigvalsh = function(g, x, _, p)
  if x[1].shape[x[1].ndim] == 0 then return {} end
  local w, v = mc.linalg.eigh(x[1], { upper = p.upper, kind = p.kind, b = x[2] })
  return back_eigh(w, v, g, nil, x[2] and filled(x[2], p.upper), p.kind)
end

-- ---------------------------------------------------------------- general eigenvalues

--- v^-H inner v^H.
local function similar(v, inner) return mc.linalg.solve(adjoint(v), inner:matmul(adjoint(v))) end

--- Cotangent of the vectors v from that of the left ones u, which are the columns of v^-H at length 1, in phases of
--- their own that are held.
local function from_left(v, u, gu)
  local raw = adjoint(mc.linalg.inv(v))
  local along = mc.sum(mc.conj(raw) * u, { -2, keepdim = true }) -- |raw| times the phase
  local size = mc.abs(along)
  local phase = along / size:to(v.dtype)
  local straight = gu * mc.conj(phase)
  local unit = u * mc.conj(phase)
  local lengths = mc.real(mc.sum(mc.conj(unit) * straight, { -2, keepdim = true })) -- vectors keep the length 1
  local back = (straight - unit * lengths:to(v.dtype)) / size:to(v.dtype)
  return -raw:matmul(adjoint(back)):matmul(raw)
end

R.eig = function(g, x, y)
  local w, v = y[1], y[2]
  if w.shape[w.ndim] == 0 then return {} end
  local inner = g[1] and on_diagonal(columns(g[1]))
  local gv = plus(g[2], g[3] and from_left(v, y[3], g[3]))
  if gv then
    local vh = adjoint(v)
    local k = vh:matmul(gv)
    local lengths = mc.sum(on_diagonal(mc.real(k)), { -2, keepdim = true }) -- vectors keep the length 1
    k = k - vh:matmul(v) * lengths:to(v.dtype)
    inner = plus(inner, k * conj(safe(w:expand_dims(-2) - w:expand_dims(-1))))
  end
  if not inner then return {} end
  return { similar(v, inner) }
end

R.eigvals = function(g, x)
  if x[1].shape[x[1].ndim] == 0 then return {} end
  local _, v = mc.linalg.eig(x[1])
  return { similar(v, on_diagonal(columns(g))) }
end

-- ---------------------------------------------------------------- functions of matrices

--- One form for all: with `still` the basis stands still and the triangle varies as any matrix does, which is right for
--- what does not depend on the basis: functions of a.
R.schur_form = function(g, _, y, p)
  if not p.still then
    error('grad: schur has no derivative: the triangle and its basis are not unique; use eigh, eig, or functions of '
      .. 'the matrix', 0)
  end
  if not g[1] then return {} end
  local z = y[2]
  return { z:matmul(g[1]):matmul(adjoint(z)) }
end

--- The adjoint of the derivative of f at t: the upper right block of f of [[t^H, g], [0, t^H]].
--- Source: Functions of matrices, 2008, (3.16).
local function frechet(step)
  return function(g, x)
    local n = x[1].shape[x[1].ndim]
    if n == 0 then return {} end
    local th = adjoint(x[1])
    local block = mc.concat({ mc.concat({ th, g }, -1), mc.concat({ mc.zeros_like(th), th }, -1) }, -2)
    return { some_columns(some_rows(stack.by_triangles(step, block), 1, n), n + 1, 2 * n) }
  end
end
R.sqrt_upper, R.log_upper = frechet 'sqrt_upper', frechet 'log_upper'

return { reverse = R }
