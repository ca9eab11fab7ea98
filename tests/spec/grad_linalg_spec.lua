-- grad_linalg_spec.lua - derivatives of linear algebra: every row by differences, then the values at the traps and
-- answers of PyTorch.
--
-- Vectors of factorisations are compared through what does not depend on their phases.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local gradient, gradient_rows, tol = support.load 'gradient', support.load 'gradient_rows', support.load 'tol'
local L = mc.linalg

local function adjoint(a) return mc.conj(a.mT) end
local function eye(n, like) return mc.eye(n, { dtype = like.dtype }) end
--- Positive definite and Hermitian matrices from any.
local function definite(a) return a:matmul(adjoint(a)) + eye(a.shape[a.ndim], a) * 2 end
local function hermitian(a) return a + adjoint(a) end
--- Columns with the phase of their first entry taken off; the phases.
local function phases(v)
  local first = v[{ mc.ellipsis, { 1, 1 }, mc.all }]
  return first / mc.abs(first)
end
local function turned(v) return v * mc.conj(phases(v)) end
local function projector(q) return q:matmul(adjoint(q)) end

--- Columns of lengths so different that their order does not change nearby.
local function spread(a) return a * mc.exp2(mc.arange(1, a.shape[a.ndim]) * 2):to(a.dtype) end

local SIZES = { { 3, 3 }, { 3, 5 }, { 5, 3 } }

--- The cases that make(m, n, k) gives for square, wide and tall matrices.
local function each_size(make)
  return function(r, dtype)
    local out = {}
    for _, s in ipairs(SIZES) do for _, c in ipairs(make(r, s[1], s[2], dtype)) do out[#out + 1] = c end end
    return out
  end
end
local function both(name, make)
  return function(r, dtype)
    local out = {}
    for _, v in ipairs { false, true } do
      for _, c in ipairs(make(r, { [name] = v }, dtype)) do out[#out + 1] = c end
    end
    return out
  end
end

local CASES = {
  -- systems
  solve = function(r) return { { L.solve, r(3, 3), r(2, 3, 2) }, { L.solve, r(2, 3, 3), r(3) } } end,
  solve_triangular = function(r)
    local out = {}
    for i, trans in ipairs { 'none', 'transpose', 'adjoint' } do
      for j, lower in ipairs { true, false } do
        local unit = (i + j) % 2 == 0
        out[#out + 1] = { function(a, b)
          return L.solve_triangular(a + eye(3, a) * 3, b, { lower = lower, trans = trans, unit_diagonal = unit })
        end, r(3, 3), j == 1 and r(2, 3, 2) or r(3) }
      end
    end
    return out
  end,
  lu_solve = function(r)
    local out = {}
    for k, trans in ipairs { 'none', 'transpose', 'adjoint' } do
      out[k] = { function(a, b)
        local lu, piv = L.lu_factor(a, { base = k % 2 })
        return L.lu_solve(lu, b, piv, { trans = trans, base = k % 2 })
      end, r(4, 4), k == 1 and r(4) or r(4, 2) }
    end
    return out
  end,
  lu_factor = each_size(function(r, m, n) return { { function(a) return (L.lu_factor(a)) end, r(m, n) } } end),
  inv = function(r) return { { L.inv, r(2, 3, 3) } } end,
  det = function(r) return { { L.det, r(2, 3, 3) } } end,
  slogdet = function(r) return { { L.slogdet, r(2, 3, 3) } } end,
  cholesky = both('upper',
    function(r, o) return { { function(a) return L.cholesky(definite(a), o) end, r(2, 3, 3) } } end),
  cholesky_solve = both('upper', function(r, o)
    return { { function(a, b) return L.cholesky_solve(L.cholesky(definite(a), o), b, o) end, r(3, 3), r(3, 2) } }
  end),
  solve_banded = function(r)
    local out = {}
    for lower = 0, 2 do
      for upper = 0, 1 do
        out[#out + 1] = { function(ab, b)
          local row = mc.eq(mc.arange(1, lower + upper + 1), upper + 1):reshape(-1, 1) -- a diagonal that dominates
          return L.solve_banded(ab * 0.3 + row:to(ab.dtype), b, { lower = lower, upper = upper })
        end, r(lower + upper + 1, 5), upper == 0 and r(5) or r(5, 2) }
      end
    end
    return out
  end,
  solveh_banded = both('lower', function(r, o)
    return { { function(ab, b)
      local row = mc.eq(mc.arange(1, 3), o.lower and 1 or 3):reshape(-1, 1)
      return L.solveh_banded(mc.where(row, mc.real(ab) * 0.1 + 8, ab), b, o)
    end, r(3, 5), r(5, 2) } }
  end),
  solve_toeplitz = function(r)
    return {
      { function(c, row, b) return L.solve_toeplitz(c + mc.tensor { 9, 0, 0, 0, 0 }, b, { r = row }) end,
        r(5), r(5), r(5, 2) },
      { function(c, b) return L.solve_toeplitz(mc.concat { mc.real(c[{ { 1, 1 } }]) + 9, c['2:'] }, b) end, r(5),
        r(5) },
    }
  end,
  levinson = 'solve_toeplitz',
  solve_tridiagonal = function(r)
    return { { function(l, d, u, b) return L.solve_tridiagonal(l, d + 5, u, b) end, r(4), r(5), r(4), r(5) } }
  end,
  toeplitz = function(r) return { { function(c, row) return L.toeplitz(c, { r = row }) end, r(5), r(4) } } end,
  hankel = function(r) return { { function(c, row) return L.hankel(c, { r = row }) end, r(5), r(4) } } end,
  circulant = function(r) return { { L.circulant, r(5) } } end,
  solve_circulant = function(r)
    return { { function(c, b) return L.solve_circulant(c + mc.tensor { 5, 0, 0, 0, 0 }, b) end, r(5), r(5, 2) } }
  end,
  matmul_toeplitz = function(r)
    return { { function(c, row, x) return L.matmul_toeplitz(c, x, { r = row }) end, r(5), r(4), r(4, 2) } }
  end,
  -- least squares; NaN and rank are looked up by value
  lstsq = each_size(function(r, m, n)
    return { { function(a, b)
      local t = L.lstsq(a, b)
      return t.x, t.residuals, t.S
    end, r(m, n), m == n and r(m) or r(m, 2) } }
  end),
  least_squares = 'lstsq',
  pinv = each_size(function(r, m, n) return { { L.pinv, r(2, m, n) },
    m == n and { function(a) return L.pinv(hermitian(a), { hermitian = true }) end, r(m, n) } or nil } end),
  null_space = each_size(function(r, m,
    n) return m < n and { { function(a) return projector(L.null_space(a)) end, r(m, n), compiled = false } } or {} end),
  orth = each_size(function(r, m,
    n) return m > n and { { function(a) return projector(L.orth(a)) end, r(m, n), compiled = false } } or {} end),
  multi_dot = function(r)
    return { { function(a, b, c) return L.multi_dot { a, b, c } end, r(3, 3), r(3, 4), r(4) } }
  end,
  -- factorisations
  lu = each_size(function(r, m, n)
    return { { function(a)
      local t = L.lu(a)
      return t.L, t.U
    end, r(2, m, n) }, { function(a) return L.lu(a).L end, r(m, n) }, { function(a) return L.lu(a).U end, r(m, n) } }
  end),
  qr = each_size(function(r, m, n)
    local k = math.min(m, n)
    return {
      { L.qr, r(2, m, n) }, { function(a) return (L.qr(a)) end, r(m, n) },
      { function(a) return select(2, L.qr(a)) end, r(m, n) },
      { function(a) return (L.qr(a, { mode = 'r' })) end, r(m, n) },
      { function(a)
        local t = L.qr(spread(a), { pivoting = true })
        return t.Q, t.R
      end, r(2, m, n) },
      { function(a) return (L.qr(spread(a), { mode = 'r', pivoting = true })) end, r(m, n), narrow = false },
      { function(a) -- of the columns beyond the rank only their span is determined
        local q, t = L.qr(a, { mode = 'complete' })
        return q[{ mc.all, { 1, k } }], t, m > k and projector(q[{ mc.all, { k + 1, m } }]) or q
      end, r(m, n) },
    }
  end),
  svd = each_size(function(r, m, n)
    local k = math.min(m, n)
    return {
      { function(a)
        local t = L.svd(a, { full_matrices = false })
        return turned(t.U), t.S, phases(t.U).mT * t.Vh
      end, r(2, m, n) },
      { function(a)
        local t = L.svd(a)
        return t.S, m > k and projector(t.U[{ mc.all, { k + 1, m } }]) or t.S,
          n > k and projector(adjoint(t.Vh[{ { k + 1, n }, mc.all }])) or t.S
      end, r(m, n) },
    }
  end),
  svdvals = each_size(function(r, m, n) return { { L.svdvals, r(2, m, n) } } end),
  polar = each_size(function(r, m,
    n) return { { L.polar, r(2, m, n) }, { function(a) return L.polar(a, { side = 'left' }) end, r(m, n) } } end),
  eigh = both('upper', function(r, o)
    local out = { { function(a)
      local w, v = L.eigh(hermitian(a), o)
      return w, turned(v)
    end, r(2, 3, 3) } }
    for kind = 1, 3 do
      out[kind + 1] = { function(a, b)
        local w, v = L.eigh(hermitian(a), { upper = o.upper, kind = kind, b = definite(b) })
        return w, turned(v)
      end, r(2, 3, 3), r(3, 3), second = kind == 1 }
    end
    return out
  end),
  eigvalsh = both('upper', function(r, o)
    local out = { { function(a) return L.eigvalsh(hermitian(a), o) end, r(2, 3, 3) } }
    for kind = 1, 3 do
      out[kind + 1] =
        { function(a, b) return L.eigvalsh(hermitian(a), { upper = o.upper, kind = kind, b = definite(b) }) end,
          r(2, 3, 3), r(3, 3), second = kind == 2 }
    end
    return out
  end),
  eig = function(r)
    return { { function(a)
      local w, v = L.eig(a)
      return w, turned(v)
    end, r(2, 3, 3) }, { function(a)
      local e = L.eig(a, { left = true })
      return turned(e.vectors), turned(e.left)
    end, r(2, 3, 3) } }
  end,
  cg = function(r) return { { function(a, b) return L.cg(definite(a), b, { rtol = 1e-15 }).x end, r(3, 3), r(3) } } end,
  bicgstab = function(r)
    return { { function(a, b) return L.bicgstab(eye(3, a) * 4 + a, b, { rtol = 1e-15 }).x end, r(3, 3), r(3) } }
  end,
  gmres = function(r)
    return { { function(a, b) return L.gmres(eye(3, a) * 4 + a, b, { rtol = 1e-15 }).x end, r(3, 3), r(3) } }
  end,
  lsqr = function(r)
    return { { function(a, b) return L.lsqr(a, b, { atol = 1e-15, btol = 1e-15 }).x end, r(4, 3), r(4) } }
  end,
  eigvals = function(r) return { { L.eigvals, r(2, 3, 3) } } end,
  -- norms
  vector_norm = function(r)
    local out = {}
    for k, ord in ipairs { 1, 2, 3, 0.5, -1, math.huge, -math.huge } do
      out[k] = { function(x) return L.vector_norm(x, { ord = ord, axis = 2, keepdims = k == 2 }) end, r(2, 3) }
    end
    return out
  end,
  matrix_norm = each_size(function(r, m, n)
    local out = {}
    for k, ord in ipairs { 'fro', 'nuc', 1, -1, math.huge, -math.huge, 2, -2 } do
      out[k] = { function(a) return L.matrix_norm(a, { ord = ord }) end, r(m, n), second = k % 2 == 0 }
    end
    return out
  end),
  norm = function(r)
    return { { L.norm, r(2, 3) }, { function(a) return L.norm(a, { axis = { 1, 3 }, ord = 'nuc' }) end, r(2, 3, 4) } }
  end,
  cond = function(r)
    local out = {}
    for k, p in ipairs { 2, -2, 1, 'fro' } do out[k] = { function(a) return L.cond(a, { p = p }) end, r(3, 3) } end
    return out
  end,
  -- functions of matrices, whose algorithms look at values
  matrix_power = function(r) return { { function(a) return L.matrix_power(a, -3) end, r(3, 3) },
    { function(a) return L.matrix_power(a, 5) end, r(3, 3) } } end,
  expm = function(r)
    return { { L.expm, r(2, 3, 3) }, { function(a) return L.expm(a * 5) end, r(3, 3), second = false } }
  end,
  logm = function(r) return { { function(a) return L.logm(definite(a)) end, r(3, 3) },
    { function(a) return L.logm(eye(3, a) * 4 + a) end, r(3, 3), second = false } } end,
  sqrtm = function(r) return { { function(a) return L.sqrtm(definite(a)) end, r(3, 3) },
    { function(a) return L.sqrtm(eye(3, a) * 4 + a) end, r(2, 3, 3), second = false } } end,
  schur_form = 'sqrtm', sqrt_upper = 'sqrtm', log_upper = 'logm',
  funm = function(r) return { { function(a) return L.funm(definite(a), mc.sqrt) end, r(3, 3) } } end,
}

describe('derivatives of linear algebra', function()
  for _, t in ipairs(gradient_rows.rows(function(row)
    return row.namespace == 'linalg' and (row.family == 'linalg' or (row.module or ''):match '^mascon%.linalg%.' ~= nil)
  end, CASES)) do it('of ' .. t.name, t.run) end
end)

--- The largest difference relative to the size of what is wanted.
local function near(want, got, what)
  if not mc.is_tensor(want) then want = mc.tensor(want) end
  assert.equal(tostring(want.shape), tostring(got.shape), what)
  local size = mc.max(mc.abs(want)):item()
  local wrong = tol.compare('ITERATIVE', 'f64', mc.max(mc.abs(got - want)):item(), 0,
    { bound = 1e3 * tol.kind.f64.eps * (size + 1) })
  if wrong then error(('%s: %s'):format(what, wrong), 2) end
end

describe('traps of linear algebra', function()
  local function identity() return mc.eye(3) * 2 end
  local G = gradient.random({ 3, 3 }, 'f64', 5)

  it('norms of zero have the derivative zero', function()
    for _, f in ipairs { L.vector_norm, L.norm, function(x) return L.vector_norm(x, { ord = 3 }) end,
      function(x) return L.matrix_norm(x:reshape(1, -1)) end } do
      near({ 0, 0 }, mc.grad(f)(mc.zeros { 2 }), 'norm at 0')
    end
    near({ 0, 0 }, mc.real(mc.grad(L.vector_norm)(mc.zeros({ 2 }, { dtype = 'c128' }))), 'complex norm at 0')
    near({ { 0.6, 0.8 }, { 0, 0 } }, mc.grad(function(x) return mc.sum(L.vector_norm(x, { axis = 2 })) end)(
      mc.tensor { { 3, 4 }, { 0, 0 } }), 'rows, one of zeros')
  end)

  it('determinants of singular matrices have their cofactors, also second derivatives where they are regular',
    function()
      near({ { 4, -3 }, { -2, 1 } }, mc.grad(L.det)(mc.tensor { { 1, 2 }, { 3, 4 } }), 'regular')
      near({ { 4, -2 }, { -2, 1 } }, mc.grad(L.det)(mc.tensor { { 1, 2 }, { 2, 4 } }), 'rank 1')
      near({ { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 } }, mc.grad(L.det)(mc.ones { 3, 3 }), 'rank 1 of 3')
      -- equal singular values: det(2 I + t G) = 8 + 4 t tr G + t^2 (tr^2 G - tr G^2) + ...
      local second =
        mc.grad(function(t) return mc.grad(function(u) return L.det(identity() + G * u) end)(t) end)(mc.tensor(0))
      local trace = mc.trace(G)
      near(2 * (trace * trace - mc.trace(G:matmul(G))), second, 'second derivative at 2 I')
    end)

  it('slogdet of a singular matrix has no derivative, but lets a zero cotangent pass', function()
    local a = mc.tensor { { { 1, 2 }, { 2, 4 } }, { { 1, 0 }, { 0, 2 } } }
    local g = mc.grad(function(t)
      local sign, log = L.slogdet(t)
      return mc.sum(mc.where(mc.eq(sign, 0), 0, log))
    end)(a)
    near({ { { 0, 0 }, { 0, 0 } }, { { 1, 0 }, { 0, 0.5 } } }, g, 'chosen')
    assert(mc.all(mc.isnan(mc.grad(function(t) return select(2, L.slogdet(t)) end)(a[1]))), 'not chosen')
  end)

  it('equal singular values and eigenvalues stay finite, and exact where the result does not depend on the choice '
    .. 'of vectors', function()
      near(mc.eye(3), mc.grad(function(a) return L.matrix_norm(a, { ord = 'nuc' }) end)(identity()), 'nuclear norm')
      near(mc.eye(3), mc.grad(function(a) return mc.sum(L.eigvalsh(a)) end)(identity()), 'sum of eigenvalues')
      near(-0.25 * G.mT,
        mc.grad(function(a) return mc.sum(L.pinv(a) * G.mT) end)(identity()).mT:matmul(mc.eye(3)).mT, 'pseudo-inverse')
      near((G - G.mT) * 0.25, mc.grad(function(a) return mc.sum((L.polar(a)) * G) end)(identity()), 'polar factor')
      near((G + G.mT) * 0.5, mc.grad(function(a) return mc.sum(select(2, L.polar(a)) * G) end)(identity()),
        'polar, the other')
      near(G * (1 / (2 * 2 ^ 0.5)), mc.grad(function(a) return mc.sum(L.sqrtm(a) * G) end)(identity()), 'square root')
      near(G * 0.5, mc.grad(function(a) return mc.sum(L.logm(a) * G) end)(identity()), 'logarithm')
      local w = mc.grad(function(a)
        local _, v = L.eigh(a)
        return mc.sum(projector(v) * G)
      end)(identity())
      near(mc.zeros { 3, 3 }, w, 'projector on everything')
    end)

  it('rank-deficient least squares are differentiated at constant rank', function()
    local a = mc.tensor { { 1, 2 }, { 2, 4 }, { 0, 0 } }
    local g = mc.grad(function(b) return mc.sum(L.lstsq(a, b).x) end)(mc.tensor { 1, 2, 3 })
    near(mc.sum(L.pinv(a), 1), g, 'in b')
    gradient.first('along matrices of rank 1',
      function(u) return L.pinv(u:reshape(-1, 1):matmul(mc.tensor { { 1, 2 } })) end, { mc.tensor { 1, 2, 0.5 } })
  end)

  it('a Schur form says that it has no derivative', function()
    local ok, message = pcall(mc.grad(function(a) return mc.sum((L.schur(a))) end), identity())
    assert(not ok and message:find('schur has no derivative: the triangle and its basis are not unique', 1, true),
      message)
    ok, message = pcall(mc.grad(function(a) return mc.sum((L.hessenberg(a))) end), identity())
    assert(not ok and message:find('hessenberg has no derivative: a step on the way to eigenvalues', 1, true), message)
  end)

  it('empty matrices and stacks have empty gradients', function()
    for _, f in ipairs { L.inv, L.det, L.svdvals, L.eigvalsh, L.cholesky, L.pinv, function(a) return (L.qr(a)) end,
      function(a) return L.svd(a).S end } do
      for _, shape in ipairs { { 0, 0 }, { 0, 2, 2 } } do
        local x = mc.zeros(shape)
        assert.equal(tostring(x.shape), tostring(mc.grad(function(a) return mc.sum(f(a)) end)(x).shape))
      end
    end
  end)
end)
