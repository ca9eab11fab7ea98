-- linalg_spec.lua - laws of decompositions, what they refuse, and how they treat memory, views and threads.
--
-- Answers that are unique stand in the golden cases (tests/golden/make_cases_linalg*.py); here are those that are not:
-- factors multiply back to the matrix, bases are orthonormal. Bounds are of class ITERATIVE: the backward error of an
-- orthogonal method, a small multiple of n eps |A| (Higham, Accuracy and stability of numerical algorithms, 2002,
-- chapters 9, 10, 19). Matrices come from printed seeds.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes() -- specs that ran earlier may hold some
local mc = require 'mascon'
local call = require 'mascon.core.several'
local tol = support.load 'tol'
local L = mc.linalg

local DTYPES = { 'f32', 'f64', 'c64', 'c128' }
local REAL = { f32 = 'f32', f64 = 'f64', c64 = 'f32', c128 = 'f64' }
local COMPLEX = { f32 = 'c64', f64 = 'c128', c64 = 'c64', c128 = 'c128' }
-- MASCON_TEST_SEED=n draws other matrices; otherwise they are fixed, so that a failing suite fails again
local SEED = tonumber(os.getenv 'MASCON_TEST_SEED' or '') or 20261

local function is_complex(dtype) return dtype:sub(1, 1) == 'c' end

local function random(shape, dtype, seed)
  local x = mc.randn(shape, { seed = seed })
  if is_complex(dtype) then x = x + mc.randn(shape, { seed = seed + 1000 }) * mc.complex(0, 1) end
  return x:to(dtype)
end

local function adjoint(x) return is_complex(x.dtype) and mc.conj(x.mT) or x.mT end
local function hermitian(shape, dtype, seed)
  local x = random(shape, dtype, seed)
  return x + adjoint(x)
end
local function definite(shape, dtype, seed)
  local x, n = random(shape, dtype, seed), shape[#shape]
  return x:matmul(adjoint(x)) + mc.eye(n, { dtype = dtype }) * n
end

--- got = want up to a backward error of `growth` n eps times the larger of |want| and 1 (or `scale`).
local function near(got, want, dtype, what, growth, scale)
  assert.equal(tostring(want.shape), tostring(got.shape), what)
  if want:numel() == 0 then return end
  local n = math.max(1, unpack(want.shape))
  local size = scale or math.max(mc.abs(want):max():item(), 1)
  local worst = mc.abs(got - want):max():item()
  local wrong =
    tol.compare('ITERATIVE', REAL[dtype], worst, 0, { bound = (growth or 20) * n * tol.kind[dtype].eps * size })
  if wrong then error(('%s, %s, seed %d: %s'):format(what, dtype, SEED, wrong), 2) end
end

local function orthonormal(q, dtype, what)
  near(adjoint(q):matmul(q), mc.broadcast_to(mc.eye(q.shape[q.ndim], { dtype = q.dtype }), adjoint(q):matmul(q).shape),
    dtype, what .. ': orthonormal columns')
end

local SHAPES = { { 1, 1 }, { 4, 4 }, { 7, 3 }, { 3, 7 }, { 2, 3, 5, 5 }, { 3, 6, 2 }, { 40, 40 }, { 0, 3 }, { 3, 0 },
  { 0, 0 }, { 0, 4, 4 } }
local SQUARE = { { 1, 1 }, { 2, 2 }, { 5, 5 }, { 2, 3, 4, 4 }, { 33, 33 }, { 0, 0 }, { 0, 3, 3 } }
if support.gc then SHAPES, SQUARE = { { 4, 4 }, { 3, 7 } }, { { 5, 5 } } end

local function each(shapes, f)
  for k, shape in ipairs(shapes) do
    for _, dtype in ipairs(DTYPES) do f(shape, dtype, SEED + k, table.concat(shape, 'x')) end
  end
end

local function columns(x) return mc.expand_dims(x, -2) end

describe('factors multiply back to the matrix', function()
  teardown(function() assert.equal(BEFORE, support.tensor_bytes()) end)

  it('qr, reduced, complete and r', function()
    each(SHAPES, function(shape, dtype, seed, what)
      local a = random(shape, dtype, seed)
      local q, r = L.qr(a)
      near(q:matmul(r), a, dtype, 'qr ' .. what)
      orthonormal(q, dtype, 'qr ' .. what)
      assert.is_true(mc.array_equal(r, mc.where(mc.expand_dims(mc.arange(r.shape[r.ndim - 1]),
        2):le(mc.arange(r.shape[r.ndim])), r, 0)), 'R is upper triangular')
      local q2, r2 = L.qr(a, { mode = 'complete' })
      local m = shape[#shape - 1]
      assert.equal(m, q2.shape[#shape])
      near(q2:matmul(r2), a, dtype, 'complete qr ' .. what)
      orthonormal(q2, dtype, 'complete qr ' .. what)
      assert.is_true(mc.array_equal(L.qr(a, { mode = 'r' }), r), 'mode r')
    end)
  end)

  it('qr with pivoting, whose diagonal does not grow', function()
    each(SHAPES, function(shape, dtype, seed, what)
      local a = random(shape, dtype, seed)
      local d = L.qr(a, { pivoting = true })
      local order = mc.broadcast_to(columns(d.P), a.shape)
      near(d.Q:matmul(d.R), mc.take_along_axis(a, order, -1), dtype, 'pivoted qr ' .. what)
      local zero = L.qr(a, { pivoting = true, base = 0 })
      assert.is_true(mc.array_equal(zero.P + 1, d.P))
      if #shape == 2 and shape[1] > 0 and shape[2] > 0 then
        local list = {}
        for i = 1, math.min(shape[1], shape[2]) do list[i] = mc.abs(d.R[{ i, i }]):item() end
        for i = 2, #list do assert.is_true(list[i] <= list[i - 1] * (1 + 16 * tol.kind[dtype].eps)) end
      end
      local r, p = L.qr(a, { mode = 'r', pivoting = true })
      assert.is_true(mc.array_equal(r, d.R) and mc.array_equal(p, d.P))
    end)
  end)

  it('svd, full and thin', function()
    each(SHAPES, function(shape, dtype, seed, what)
      local a, k = random(shape, dtype, seed), math.min(shape[#shape - 1], shape[#shape])
      local d = L.svd(a, { full_matrices = false })
      assert.equal(REAL[dtype], d.S.dtype)
      near((d.U * columns(d.S)):matmul(d.Vh), a, dtype, 'svd ' .. what)
      orthonormal(d.U, dtype, 'svd ' .. what)
      orthonormal(adjoint(d.Vh), dtype, 'svd ' .. what)
      local f = L.svd(a)
      orthonormal(f.U, dtype, 'full svd ' .. what)
      orthonormal(adjoint(f.Vh), dtype, 'full svd ' .. what)
      assert.equal(shape[#shape - 1], f.U.shape[#shape])
      assert.equal(shape[#shape], f.Vh.shape[#shape])
      near(f.S, d.S, dtype, 'values ' .. what)
      if k > 1 and a:numel() > 0 then assert.is_true(mc.all(mc.ge(d.S['..., :-2'], d.S['..., 2:']))) end
    end)
  end)

  it('eigh, plain and generalised', function()
    each(SQUARE, function(shape, dtype, seed, what)
      local a, b = hermitian(shape, dtype, seed), definite(shape, dtype, seed + 50)
      local w, v = L.eigh(a)
      near(a:matmul(v), v * columns(w), dtype, 'eigh ' .. what)
      orthonormal(v, dtype, 'eigh ' .. what)
      near((v * columns(w)):matmul(adjoint(v)), a, dtype, 'eigh ' .. what)
      local n = shape[#shape]
      if n == 0 or a:numel() == 0 then return end
      local size = n * mc.abs(a):max():item() * mc.abs(b):max():item()
      local x, u = L.eigh(a, { b = b })
      near(a:matmul(u), b:matmul(u) * columns(x), dtype, 'generalised eigh ' .. what, nil, size)
      x, u = L.eigh(a, { b = b, kind = 2 })
      near(a:matmul(b):matmul(u), u * columns(x), dtype, 'eigh of kind 2 ' .. what, nil, size * n)
      x, u = L.eigh(a, { b = b, kind = 3 })
      near(b:matmul(a):matmul(u), u * columns(x), dtype, 'eigh of kind 3 ' .. what, nil, size * n)
    end)
  end)

  it('eig, complex also for real matrices', function()
    each(SQUARE, function(shape, dtype, seed, what)
      local a = random(shape, dtype, seed)
      local w, v = L.eig(a)
      assert.equal(COMPLEX[dtype], w.dtype)
      assert.equal(COMPLEX[dtype], v.dtype)
      near(a:to(v.dtype):matmul(v), v * columns(w), dtype, 'eig ' .. what)
      if a:numel() == 0 then return end
      near(mc.sum(mc.square(mc.abs(v)), -2), mc.ones(w.shape, { dtype = REAL[dtype] }), dtype, 'vectors of length 1')
      -- eigenvalues come in no order: compare two symmetric functions of them
      local only = L.eigvals(a)
      local size = mc.abs(a):max():item() * shape[#shape]
      near(mc.sum(only, -1), mc.sum(w, -1), dtype, 'eigvals ' .. what, nil, size)
      near(mc.sum(mc.square(only), -1), mc.sum(mc.square(w), -1), dtype, 'eigvals ' .. what, nil, size ^ 2)
    end)
  end)

  it('schur and hessenberg', function()
    each(SQUARE, function(shape, dtype, seed, what)
      local a, n = random(shape, dtype, seed), shape[#shape]
      local h, q = L.hessenberg(a)
      near(q:matmul(h):matmul(adjoint(q)), a, dtype, 'hessenberg ' .. what)
      orthonormal(q, dtype, 'hessenberg ' .. what)
      local row, column = mc.expand_dims(mc.arange(n), 2), mc.arange(n)
      assert.is_true(mc.all(mc.eq(mc.where(row:gt(column + 1), h, 0), 0)), 'zero below the subdiagonal')
      for _, output in ipairs { 'real', 'complex' } do
        local t, z = L.schur(a, { output = output })
        local wide = output == 'complex' and COMPLEX[dtype] or dtype
        assert.equal(wide, t.dtype)
        near(z:matmul(t):matmul(adjoint(z)), a:to(wide), dtype, 'schur ' .. what)
        orthonormal(z, dtype, 'schur ' .. what)
        if is_complex(wide) then assert.is_true(mc.all(mc.eq(mc.where(row:gt(column), t, 0), 0)), 'triangular') end
      end
    end)
  end)

  it('ldl, Hermitian and symmetric', function()
    each(SQUARE, function(shape, dtype, seed, what)
      local a, n = random(shape, dtype, seed), shape[#shape]
      for _, case in ipairs { { a + adjoint(a), adjoint, true }, { a + a.mT, function(x) return x.mT end, false } } do
        local matrix, turned, kind = unpack(case)
        local d = L.ldl(matrix, { hermitian = kind })
        near(d.L:matmul(d.D):matmul(turned(d.L)), matrix, dtype, 'ldl ' .. what, 100)
        local rows = mc.take_along_axis(d.L, mc.broadcast_to(mc.expand_dims(d.P, -1), d.L.shape), -2)
        local row, column = mc.expand_dims(mc.arange(n), 2), mc.arange(n)
        assert.is_true(mc.all(mc.eq(mc.where(row:lt(column), rows, 0), 0)), 'lower triangular')
        assert.is_true(mc.all(mc.eq(mc.where(row:eq(column), rows, 1), 1)), 'unit diagonal')
        assert.is_true(mc.all(mc.eq(mc.where(mc.abs(row - column):gt(1), d.D, 0), 0)), 'blocks of at most 2 rows')
        assert.is_true(mc.array_equal(L.ldl(matrix, { hermitian = kind, base = 0 }).P + 1, d.P))
      end
    end)
    local d = L.ldl { { 0, 1 }, { 1, 0 } } -- no pivot of one row
    assert.is_true(mc.array_equal(d.D, mc.tensor { { 0, 1 }, { 1, 0 } }) and mc.array_equal(d.L, mc.eye(2)))
  end)

  it('null_space and orth are the two halves of a space', function()
    for _, dtype in ipairs(DTYPES) do
      local a = random({ 5, 2 }, dtype, SEED):matmul(random({ 2, 4 }, dtype, SEED + 1))
      local zero, range = L.null_space(a, { rcond = 1e-4 }), L.orth(a, { rcond = 1e-4 })
      assert.equal('{4, 2}', tostring(zero.shape))
      assert.equal('{5, 2}', tostring(range.shape))
      near(a:matmul(zero), mc.zeros({ 5, 2 }, { dtype = dtype }), dtype, 'null_space', nil, mc.abs(a):max():item())
      near(range:matmul(adjoint(range):matmul(a)), a, dtype, 'orth')
      orthonormal(zero, dtype, 'null_space')
      orthonormal(range, dtype, 'orth')
    end
    assert.equal('{3, 3}', tostring(L.null_space(mc.zeros { 2, 3 }).shape))
    assert.equal('{2, 0}', tostring(L.orth(mc.zeros { 2, 3 }).shape))
  end)

  it('funm, sqrtm, logm and expm agree on Hermitian matrices', function()
    each(SQUARE, function(shape, dtype, seed, what)
      local a = definite(shape, dtype, seed)
      local r = L.sqrtm(a)
      near(r:matmul(r), a, dtype, 'sqrtm ' .. what)
      near(r, L.funm(a, mc.sqrt), dtype, 'sqrtm and funm ' .. what)
      local l = L.logm(a)
      near(l, L.funm(a, mc.log), dtype, 'logm and funm ' .. what)
      near(L.expm(l), a, dtype, 'expm of logm ' .. what, 60)
    end)
  end)

  it('roots and logarithms of triangles', function()
    for _, n in ipairs { 1, 2, 7 } do
      local t = call.raw('schur_form', { random({ 3, n, n }, 'c128', SEED + n) }, nil, 2)
      local r = call.raw('sqrt_upper', { t })
      near(r:matmul(r), t, 'c128', 'sqrt_upper', 100)
      near(L.expm((call.raw('log_upper', { t }))), t, 'c128', 'log_upper', 400)
    end
    local x, rank, s = call.raw('least_squares', { mc.eye(3), mc.ones { 3, 1 } }, { rcond = 1e-10 })
    assert.is_true(mc.array_equal(x, mc.ones { 3, 1 }) and rank:item() == 3 and mc.array_equal(s, mc.ones { 3 }))
  end)
end)

describe('general eigenproblems', function()
  local function operand(dtype, n, key)
    local a = mc.random.normal({ 3, n, n }, { key = key })
    if dtype:sub(1, 1) == 'c' then
      a = a:to 'c128' + mc.random.normal({ 3, n, n }, { key = key + 100 }) * mc.complex(0, 1)
    end
    return a:to(dtype)
  end
  local function star(x) return x.dtype:sub(1, 1) == 'c' and mc.conj(x.mT) or x.mT end
  local function small(x, dtype, size, what)
    local most = mc.max(mc.abs(x)):item()
    assert(most <= 200 * size * ((dtype == 'f32' or dtype == 'c64') and 2 ^ -23 or 2 ^ -52),
      ('%s, %s: %g'):format(what, dtype, most))
  end

  it('have left vectors of length 1, with the values of eig', function()
    for _, dtype in ipairs { 'f32', 'f64', 'c64', 'c128' } do
      for _, n in ipairs { 1, 2, 7 } do
        local a = operand(dtype, n, n)
        local r = mc.linalg.eig(a, { left = true })
        local wide, uh = a:to(r.values.dtype), star(r.left)
        small(uh:matmul(wide) - r.values:expand_dims(-1) * uh, dtype, n, 'left')
        small(wide:matmul(r.vectors) - r.vectors * r.values:expand_dims(-2), dtype, n, 'right')
        small(mc.sum(mc.abs(r.left) ^ 2, -2) - 1, dtype, n, 'length')
        local w, v = mc.linalg.eig(a)
        assert.is_true(w.shape == r.values.shape and v.shape == r.vectors.shape)
        for b = 1, 3 do -- vectors of different values are orthogonal across sides
          local product = uh[b]:matmul(r.vectors[b])
          small(product * (1 - mc.eye(n)), dtype, n * 10, 'biorthogonal')
        end
      end
    end
    local empty = mc.linalg.eig(mc.zeros { 0, 0 }, { left = true })
    assert.same({ 0, 0 }, { unpack(empty.left.shape) })
  end)

  it('put the wanted values of a Schur form first', function()
    local wanted = {
      lhp = function(w) return mc.lt(mc.real(w), 0) end, rhp = function(w) return mc.ge(mc.real(w), 0) end,
      iuc = function(w) return mc.le(mc.abs(w), 1) end, ouc = function(w) return mc.gt(mc.abs(w), 1) end,
    }
    for _, dtype in ipairs { 'f32', 'f64', 'c64', 'c128' } do
      local a = operand(dtype, 6, 3)
      for sort, test in pairs(wanted) do
        local t, z, first = mc.linalg.schur(a, { sort = sort })
        assert.equal('i64', first.dtype)
        small(z:matmul(t):matmul(star(z)) - a, dtype, 60, 'product')
        small(z:matmul(star(z)) - mc.eye(6), dtype, 6, 'basis')
        for b = 1, 3 do
          local k = first[b]:item()
          assert.equal(mc.sum(test(mc.linalg.eigvals(a[b]))):item(), k)
          if k > 0 then
            assert.is_true(test(mc.linalg.eigvals(t[b][{ { 1, k }, { 1, k } }])):all())
            local space = z[b][{ mc.all, { 1, k } }] -- invariant
            small(a[b]:matmul(space) - space:matmul(t[b][{ { 1, k }, { 1, k } }]), dtype, 60, 'subspace')
          end
          if k < 6 then assert.is_false(test(mc.linalg.eigvals(t[b][{ { k + 1, 6 }, { k + 1, 6 } }])):any()) end
        end
      end
      local t, z, first = mc.linalg.schur(a)
      assert.is_true(t ~= nil and z ~= nil and first == nil)
    end
    assert.matches("schur: option sort is 'lph'; choose lhp, rhp, iuc, ouc",
      support.message(function() local _ = mc.linalg.schur(mc.eye(2), { sort = 'lph' }) end))
  end)
end)

describe('mc.linalg', function()
  it('has every name of the array API extension', function()
    for name in ([[cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank
      matrix_transpose outer pinv qr slogdet solve svd
      svdvals tensordot trace vecdot vector_norm]]):gmatch '%S+' do assert.equal('function', type(L[name]), name) end
  end)
end)

describe('systems', function()
  it('leave residuals at rounding level, for every layout of their operands', function()
    each({ { 1, 1 }, { 3, 3 }, { 8, 8 }, { 4, 9, 9 }, { 130, 130 } }, function(shape, dtype, seed, what)
      local n = shape[#shape]
      local a = random(shape, dtype, seed) + mc.eye(n, { dtype = dtype }) * n
      local b = random({ n, 4 }, dtype, seed + 7)
      local x = L.solve(a, b)
      local views = { a.mT:copy().mT, mc.concat({ a, a }, -1)[{ mc.ellipsis, { 1, n } }],
        mc.flip(mc.flip(a, -1):copy(), -1) }
      for _, v in ipairs(views) do assert.is_true(mc.array_equal(x, L.solve(v, b)), what) end
      assert.is_true(mc.array_equal(x, L.solve(a, b.mT:copy().mT)))
      near(a:matmul(x), mc.broadcast_to(b, x.shape), dtype, 'solve ' .. what, nil, n)
      near(a:matmul(L.inv(a)), mc.broadcast_to(mc.eye(n, { dtype = dtype }), a.shape), dtype, 'inv ' .. what)
      local c = L.solve(a, b[{ mc.all, 1 }])
      near(mc.expand_dims(c, -1), x[{ mc.ellipsis, { 1, 1 } }], dtype, 'a vector and a column ' .. what)
    end)
  end)

  it('of batches give the bits of single matrices, whatever the threads', function()
    support.restoring(function()
      for _, n in ipairs { 2, 5, 12, 40 } do
        local a, b = random({ 64, n, n }, 'f64', SEED), random({ 64, n, 2 }, 'f64', SEED + 1)
        local x = {}
        for t = 1, 3 do
          mc.set_num_threads(t)
          x[t] = { L.solve(a, b), L.inv(a), L.det(a), L.svdvals(a), (L.eigvalsh(a)) }
        end
        for k = 1, #x[1] do assert.is_true(mc.array_equal(x[1][k], x[2][k]) and mc.array_equal(x[1][k], x[3][k])) end
      end
    end)
  end)

  it('do not depend on where their operands and results lie in memory', function()
    local function at(x, offset)
      local buffer = mc.zeros({ x:numel() + offset }, { dtype = x.dtype })
      local view = buffer[{ { offset + 1, offset + x:numel() } }]:reshape(x.shape)
      view:copy_(x)
      return view
    end
    for _, dtype in ipairs(DTYPES) do
      for _, n in ipairs { 2, 3, 5, 6, 9, 12, 17 } do
        local a, b = random({ n, n }, dtype, SEED + n), random({ n }, dtype, SEED)
        local tall = random({ 2 * n, n }, dtype, SEED + n)
        local x, i = L.solve(a, b), L.inv(a)
        local svd, w = L.svd(tall), (L.eigh(hermitian({ n, n }, dtype, SEED)))
        for offset = 1, 7 do
          local what = ('%s %d, offset %d'):format(dtype, n, offset)
          local out = at(mc.zeros({ n }, { dtype = dtype }), offset)
          assert.is_true(mc.array_equal(x, L.solve(at(a, offset), b, { out = out })), what)
          local out2 = at(mc.zeros({ n, n }, { dtype = dtype }), offset)
          assert.is_true(mc.array_equal(i, L.inv(a, { out = out2 })), what)
          local junk = mc.zeros { offset } -- moves what is made next
          local again = L.svd(tall)
          assert.is_true(mc.array_equal(svd.U, again.U) and mc.array_equal(svd.Vh, again.Vh), what)
          assert.is_true(mc.array_equal(w, (L.eigh(hermitian({ n, n }, dtype, SEED)))), what)
          junk:release()
        end
      end
    end
  end)

  it('take more threads for one large matrix on request', function()
    local a, b = random({ 300, 300 }, 'f64', SEED) + mc.eye(300) * 300, random({ 300, 2 }, 'f64', SEED + 1)
    near(L.solve(a, b, { threads = 2 }), L.solve(a, b), 'f64', 'threads')
  end)

  it('write into out=, strided, and over an operand', function()
    local a, b = random({ 3, 6, 6 }, 'f64', SEED) + mc.eye(6) * 6, random({ 3, 6, 2 }, 'f64', SEED + 1)
    local want = L.solve(a, b)
    local base = mc.zeros { 3, 6, 4 }
    local out = base['..., ::2']
    assert.is_true(rawequal(out, L.solve(a, b, { out = out })))
    assert.is_true(mc.array_equal(out, want))
    assert.equal(0, mc.abs(base['..., 2::2']):sum():item())
    local copy = b:copy()
    L.solve(a, copy, { out = copy })
    assert.is_true(mc.array_equal(copy, want))
    local inverse = L.inv(a)
    L.inv(a, { out = a })
    assert.is_true(mc.array_equal(a, inverse))
  end)

  it('leave their operands as they were', function()
    local a = definite({ 5, 5 }, 'f64', SEED)
    local keep = a:copy()
    for _, name in ipairs { 'inv', 'det', 'cholesky', 'lu_factor', 'qr', 'svd', 'eigh', 'eig', 'schur', 'expm',
      'logm', 'sqrtm' } do
      L[name](a)
      assert.is_true(mc.array_equal(a, keep), name)
    end
    L.lstsq(a, a)
    L.solve_triangular(a, a)
    assert.is_true(mc.array_equal(a, keep))
  end)

  it('keep determinants that overflow on the way', function()
    local d = mc.zeros { 4, 4 }
    for i, v in ipairs { 1e200, 1e200, 1e-200, 1e-199 } do d[{ i, i }] = v end
    assert.is_nil(tol.compare('ULP4', 'f64', L.det(d):item(), 10))
    local sign, log_abs = L.slogdet(mc.eye(2000) * -1e-3)
    assert.equal(1, sign:item())
    assert.is_nil(tol.compare('ITERATIVE', 'f64', log_abs:item(), 2000 * math.log(1e-3),
      { bound = 2000 * tol.kind.f64.eps * 2000 * 7 }))
    sign, log_abs = L.slogdet { { 1, 2 }, { 2, 4 } }
    assert.equal(0, sign:item())
    assert.equal(-math.huge, log_abs:item())
    assert.equal(0, L.det({ { 1, 2 }, { 2, 4 } }):item())
  end)

  it('pass NaN on where the method ends, and refuse it where it might not', function()
    local a = mc.eye(3)
    a[{ 2, 3 }] = mc.nan
    assert.is_true(mc.any(mc.isnan(L.inv(a))))
    assert.is_true(L.det(a):item() ~= L.det(a):item())
    for _, name in ipairs { 'svd', 'svdvals', 'ldl', 'eigh', 'eigvalsh', 'eig', 'eigvals', 'schur', 'pinv', 'expm',
      'logm', 'sqrtm', 'orth' } do
      for _, bad in ipairs { mc.nan, mc.inf } do
        a[{ 2, 3 }], a[{ 3, 2 }] = bad, bad
        assert.is_truthy(support.message(L[name], a):find('NaN or infinity', 1, true), name)
      end
    end
    assert.is_truthy(support.message(L.lstsq, a, mc.ones { 3 }):find('NaN or infinity', 1, true))
    assert.is_truthy(support.message(L.qr, a, { pivoting = true }):find('NaN or infinity', 1, true))
  end)

  it('count what they allocate and give it back', function()
    local a = random({ 200, 200 }, 'f64', SEED)
    collectgarbage()
    collectgarbage()
    local live = mc.memory().live
    L.svd(a)
    L.eig(a)
    L.solve(a, a)
    collectgarbage()
    collectgarbage()
    assert.equal(live, mc.memory().live)
  end)
end)

describe('many small matrices', function()
  local C = require 'mascon.core.ffi'.C
  local function on(isa, f)
    support.restoring(function()
      assert(C.mc_isa_set(isa) == 0)
      f()
    end)
  end

  it('give the same bits on v3 and v4', function()
    local seen = {}
    for _, isa in ipairs(support.levels()) do
      on(isa, function()
        local a, s = random({ 20, 5, 5 }, 'c64', SEED), definite({ 20, 5, 5 }, 'f64', SEED)
        seen[isa] = { L.inv(a), L.det(a), L.solve(s, s), L.cholesky(s) }
      end)
    end
    for k = 1, seen.v3 and seen.v4 and 4 or 0 do assert.is_true(mc.array_equal(seen.v3[k], seen.v4[k])) end
  end)

  local function one_by_one()
    for n = 1, 9 do
      for _, dtype in ipairs(DTYPES) do
        local what = 'rows ' .. n
        local a = random({ 37, n, n }, dtype, SEED + n) + mc.eye(n, { dtype = dtype }) * 2
        local b, s = random({ 37, n, 3 }, dtype, SEED + 20 + n), definite({ 37, n, n }, dtype, SEED + n)
        near(a:matmul(L.solve(a, b)), b, dtype, 'solve ' .. what, 2000)
        near(a:matmul(L.inv(a)), mc.broadcast_to(mc.eye(n, { dtype = dtype }), a.shape), dtype, 'inv ' .. what, 2000)
        local factors, piv = L.lu_factor(a)
        local sign, log_abs = L.slogdet(a)
        local low, up = L.cholesky(s), L.cholesky(s, { upper = true })
        near(sign * mc.exp(log_abs), L.det(a), dtype, 'slogdet ' .. what, 200)
        near(low, adjoint(up), dtype, 'cholesky ' .. what)
        near(low:matmul(adjoint(low)), s, dtype, 'cholesky ' .. what)
        -- a change E of the elements moves a determinant by less than n max|E| times Hadamard's product of row norms,
        -- even where the determinant itself is next to nothing
        local hadamard = mc.prod(L.norm(a, { axis = -1 }), -1)
        for _, i in ipairs { 1, 19, 37 } do
          local one, one_piv = L.lu_factor(a[i])
          assert.is_true(mc.array_equal(one_piv, piv[i]), 'exchanges, ' .. what)
          near(factors[i], one, dtype, 'lu_factor ' .. what, 200)
          near(L.det(a)[i], L.det(a[i]), dtype, 'det ' .. what, 20 * n, hadamard[i]:item())
        end
      end
    end
  end
  for _, isa in ipairs(support.gc and { support.levels()[1] } or support.levels()) do
    it('agree with the same ones taken one by one on ' .. isa, function() on(isa, one_by_one) end)
  end

  it('may be views, broadcast, integers or singular', function()
    local a = random({ 10, 4, 4 }, 'f64', SEED) + mc.eye(4) * 4
    local b = random({ 4, 2 }, 'f64', SEED + 1)
    local want = L.solve(a, mc.broadcast_to(b, { 10, 4, 2 }):copy())
    assert.is_true(mc.array_equal(want, L.solve(a, b)))
    assert.is_true(mc.array_equal(want, L.solve(a.mT:copy().mT, b.mT:copy().mT)))
    assert.is_true(mc.array_equal(L.inv(a), L.inv(mc.concat({ a, a }, 2)[{ mc.all, { 1, 4 } }])))
    assert.is_true(mc.array_equal(L.inv(mc.broadcast_to(mc.eye(3):to 'i32' * 2, { 9, 3, 3 })),
      mc.broadcast_to(mc.eye(3) / 2, { 9, 3, 3 })))
    local s = a:copy()
    s[{ 7, mc.all, 2 }] = 0
    assert.equal(0, L.det(s)[7]:item())
    local sign, log_abs = L.slogdet(s)
    assert.equal(0, sign[7]:item())
    assert.equal(-math.huge, log_abs[7]:item())
    assert.is_truthy(support.message(L.inv, s):find('inv: matrix 7 of 10 is singular', 1, true))
    assert.is_truthy(support.message(L.solve, s, b):find('solve: matrix 7 of 10 is singular', 1, true))
    assert.is_truthy(support.message(L.cholesky, -a):find('cholesky: matrix 1 of 10 is not positive definite', 1, true))
    local f, p = L.lu_factor(s)
    near(f[7], (L.lu_factor(s[7])), 'f64', 'factors of a singular matrix')
    assert.is_true(mc.all(mc.isfinite(f)) and p:min():item() >= 1)
    local zero = select(2, L.lu_factor(s, { base = 0 }))
    assert.is_true(mc.array_equal(zero + 1, p))
    local big = mc.broadcast_to(mc.eye(4), { 9, 4, 4 }) * mc.tensor { 1e200, 1e200, 1e-200, 1e-199 }
    for i = 1, 9 do assert.is_nil(tol.compare('ULP4', 'f64', L.det(big)[i]:item(), 10)) end
  end)

  it('pick the largest pivot', function() -- without, the first of these loses all digits
    local a = mc.broadcast_to(mc.tensor { { 1e-20, 1 }, { 1, 1 } }, { 8, 2, 2 })
    near(L.solve(a, mc.tensor { 1, 2 })[8], mc.tensor { 1, 1 }, 'f64', 'solve')
  end)
end)

describe('mistakes', function()
  local function says(text, f, ...)
    local message = support.message(f, ...)
    assert.is_truthy(message:find(text, 1, true), message)
  end
  it('name the op, the operands and what to do', function()
    local a, b = mc.ones { 3, 4 }, mc.ones { 2 }
    says('solve: the matrices are not square, a is f64[3,4]@cpu and b is f64[2]@cpu; the last two axes must be equal',
      L.solve, a, b)
    says('inv: the matrices are not square, a is f64[3,4]@cpu; the last two axes must be equal', L.inv, a)
    says('inv: an operand is no matrix, a is f64[2]@cpu; give at least two axes', L.inv, b)
    says('solve: the right-hand side has another number of rows, a is f64[3,3]@cpu and b is f64[2]@cpu',
      L.solve, mc.eye(3), b)
    says('solve: the right-hand side has another number of rows, a is f64[3,3]@cpu and b is f64[2,3]@cpu', L.solve,
      mc.eye(3), mc.ones { 2, 3 })
    says('solve: batch sizes do not broadcast, a is f64[2,3,3]@cpu and b is f64[4,3,1]@cpu', L.solve,
      mc.ones { 2, 3, 3 }, mc.ones { 4, 3, 1 })
    says('inv: not defined for f16, operand is f16[2,2]@cpu; convert it with :to first', L.inv, mc.eye(2):to 'f16')
    says('expm: not defined for f16, operand is f16[2,2]@cpu; convert it with :to first', L.expm, mc.eye(2):to 'f16')
    says("matrix_norm: ord is 'two'; choose", L.matrix_norm, mc.eye(2), { ord = 'two' })
    says('cond: the matrices are not square', L.cond, a, { p = 1 })
    says('eigh: the matrices of b differ in size', L.eigh, mc.eye(3), { b = mc.eye(2) })
    says('null_space: a is f64[2,3,3]@cpu; give one matrix', L.null_space, mc.ones { 2, 3, 3 })
    says('multi_dot: operands 1 and 2 are f64[2,3]@cpu and f64[2,3]@cpu; inner sizes must be equal', L.multi_dot,
      { mc.ones { 2, 3 }, mc.ones { 2, 3 } })
    says('lu_solve: the matrix has positions outside its rows', L.lu_solve, mc.eye(2), mc.ones { 2 },
      mc.tensor({ 1, 3 }, { dtype = 'i64' }))
    says('lu_solve: the exchanges do not fit the factors', L.lu_solve, mc.eye(2), mc.ones { 2 }, mc.tensor { 1, 2 })
    says('option "uppr" is unknown; did you mean "upper"?', L.cholesky, mc.eye(2), { uppr = true })
    says('eigh: option kind is 4; choose 1, 2, 3', L.eigh, mc.eye(2), { b = mc.eye(2), kind = 4 })
    says('funm: f gave 3 for eigenvalues f64[2]@cpu; it must keep the shape', L.funm, mc.eye(2),
      function() return 3 end)
  end)

  it('refuse what 32 bits cannot count, before anything is allocated', function()
    local function wide(m, n) return mc.broadcast_to(mc.zeros { 1, 1 }, { m, n or m }) end
    says('inv: a matrix has more than 2147483647 elements, a is f64[50000,50000]@cpu', L.inv, wide(50000))
    for _, name in ipairs { 'svd', 'eigh' } do
      says(name .. ': the work area has more than 2147483647 elements, a is f64[30000,30000]@cpu', L[name], wide(30000))
    end
    says('lstsq: the work area has more than 2147483647 elements', L.lstsq, wide(40000, 2), wide(40000, 53000))
  end)

  it('name the first matrix of a batch that has no answer', function()
    local a = mc.broadcast_to(mc.eye(3), { 4, 3, 3 }):copy()
    a[{ 3, 1, 1 }], a[{ 4, 1, 1 }] = 0, 0
    says('inv: matrix 3 of 4 is singular, a is f64[4,3,3]@cpu; use lstsq or pinv', L.inv, a)
    says('solve: matrix 3 of 4 is singular', L.solve, a, mc.ones { 3 })
    says('cholesky: matrix 3 of 4 is not positive definite', L.cholesky, a)
    says('solve_triangular: matrix 3 of 4 is singular', L.solve_triangular, a, mc.ones { 3 })
    says('inv: the matrix is singular, a is f64[2,2]@cpu', L.inv, mc.ones { 2, 2 })
    says('eigh: the matrix of b is not positive definite', L.eigh, mc.eye(2), { b = -1 * mc.eye(2) })
    says('logm: the matrix is singular and has no such function', L.logm, mc.zeros { 2, 2 })
    says('sqrtm: the matrix is singular and has no such function', L.sqrtm, { { 0, 1 }, { 0, 0 } })
    says('expm: a holds NaN or infinity, it is f64[2,2]@cpu', L.expm, { { 1, mc.nan }, { 0, 1 } })
    says('sqrtm: a holds NaN or infinity, it is f64[2,2]@cpu', L.sqrtm, { { 1, mc.nan }, { 0, 1 } })
    a[{ 2, 2, 2 }] = mc.nan
    says('svd: matrix 2 of 4 holds NaN or infinity', L.svd, a)
  end)

  it('leave no half-made results behind when memory runs out', function()
    local C = require 'mascon.core.ffi'.C
    local a = random({ 3, 20, 20 }, 'f64', SEED)
    for _, name in ipairs { 'solve', 'svd', 'eig', 'expm', 'lstsq', 'lu', 'qr' } do
      local f = function() return L[name](a, name:find '^solve' and a or name == 'lstsq' and a or nil) end
      f()
      collectgarbage()
      collectgarbage()
      local live = mc.memory().live
      for n = 1, 60 do
        C.mc_test_fail_alloc(n)
        pcall(f)
        C.mc_test_fail_alloc(0)
      end
      collectgarbage()
      collectgarbage()
      assert.equal(live, mc.memory().live, name)
    end
  end)
end)
