-- linalg_structured_spec.lua - banded, tridiagonal, Toeplitz and circulant matrices of mc.linalg: laws, batches, edges,
-- messages.
--
-- Answers of other programs stand in cases_structured.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes() -- specs that ran earlier may hold some
local mc = require 'mascon'
local L, R = mc.linalg, mc.random
local tol = support.load 'tol'

local function says(pattern, f) assert.matches(pattern, support.message(f)) end
local function worst(x) return x:numel() > 0 and mc.max(mc.abs(x)):item() or 0 end
--- |got - want| within `units` of the precision of the dtype, relative to the largest entry.
local function close(got, want, units)
  assert.equal(want.dtype, got.dtype)
  assert.same({ unpack(want.shape) }, { unpack(got.shape) })
  local size = worst(want)
  local wrong = tol.compare('ITERATIVE', 'f64', worst(got - want), 0,
    { bound = units * tol.kind[want.dtype].eps * math.max(size, 1e-300) })
  if wrong then error(wrong, 2) end
end

local function draw(shape, dtype, key)
  local x = R.normal(shape, { key = key })
  if dtype:sub(1, 1) == 'c' then x = x:to 'c128' + R.normal(shape, { key = key + 1000 }) * mc.complex(0, 1) end
  return x:to(dtype)
end

local DTYPES = { 'f32', 'f64', 'c64', 'c128' }

--- ab of the diagonals -lower..upper of [..., n, n], and the matrix with the others cut off.
local function band(a, lower, upper)
  local n, lead = a.shape[a.ndim], { unpack(a.shape) }
  lead[#lead - 1] = lower + upper + 1
  local ab, full = mc.zeros(lead, { dtype = a.dtype }), mc.zeros_like(a)
  for i = 1, n do
    for j = math.max(1, i - lower), math.min(n, i + upper) do
      ab[{ mc.ellipsis, upper + 1 + i - j, j }] = a[{ mc.ellipsis, i, j }]
      full[{ mc.ellipsis, i, j }] = a[{ mc.ellipsis, i, j }]
    end
  end
  return ab, full
end

describe('banded systems', function()
  it('agree with the full ones, over dtypes, bands and batches', function()
    local seed = 1
    for _, dtype in ipairs(DTYPES) do
      for _, case in ipairs { { 1, 1, {} }, { 2, 0, { 3 } }, { 3, 2, { 2, 1 } }, { 0, 0, { 2 } }, { 1, 1, { 4 } } } do
        local shape = { unpack(case[3]) }
        shape[#shape + 1], shape[#shape + 2] = 11, 11
        seed = seed + 1
        local ab, full = band(draw(shape, dtype, seed) + mc.eye(11, { dtype = dtype }) * 6, case[1], case[2])
        local b = draw({ 11, 2 }, dtype, seed + 50)
        close(mc.matmul(full, L.solve_banded(ab, b, { lower = case[1], upper = case[2] })),
          b + mc.zeros(shape, { dtype = dtype })[{ mc.ellipsis, { 1, 2 } }], 200)
      end
    end
  end)
  it('take views, and write into out=', function()
    local ab = band(draw({ 9, 9 }, 'f64', 3) + mc.eye(9) * 6, 1, 2)
    local b = draw({ 9 }, 'f64', 4)
    local want = L.solve_banded(ab, b, { lower = 1, upper = 2 })
    local wide = mc.zeros { 18, 8 }
    wide['1::2, 1::2'] = ab.T
    assert.is_true(mc.array_equal(want, L.solve_banded(wide['1::2, 1::2'].T, b, { lower = 1, upper = 2 })))
    local out = mc.zeros { 18 }
    L.solve_banded(ab, b, { lower = 1, upper = 2, out = out['2::2'] })
    assert.is_true(mc.array_equal(want, out['2::2']))
    L.solve_banded(ab, b, { lower = 1, upper = 2, out = b })
    assert.is_true(mc.array_equal(want, b))
  end)
  it('do not depend on the threads', function()
    support.restoring(function()
      local want
      local ab, b = draw({ 3000, 3, 40 }, 'f64', 5), draw({ 40 }, 'f64', 6)
      ab['..., 2, :'] = ab['..., 2, :'] + 8
      for _, threads in ipairs { 1, 2, 4 } do
        mc.set_num_threads(threads)
        local x = L.solve_banded(ab, b, { lower = 1, upper = 1 })
        want = want or x
        assert.is_true(mc.array_equal(want, x))
      end
    end)
  end)
  it('may be empty', function()
    assert.equal(0, L.solve_banded(mc.zeros { 3, 0 }, mc.zeros { 0 }, { lower = 1, upper = 1 }):numel())
    assert.equal(0, L.solve_banded(mc.zeros { 4, 0 }, mc.zeros { 0 }, { lower = 1, upper = 2 }):numel())
    assert.equal(0, L.solve_tridiagonal(mc.zeros { 0 }, mc.zeros { 0 }, mc.zeros { 0 }, mc.zeros { 0 }):numel())
    assert.same({ 0, 2, 5 },
      { unpack(L.solve_banded(mc.zeros { 0, 3, 2 }, mc.zeros { 0, 2, 5 }, { lower = 1, upper = 1 }).shape) })
  end)
  it('of definite matrices agree from either triangle', function()
    for _, dtype in ipairs(DTYPES) do
      local a = draw({ 10, 10 }, dtype, 7)
      a = a + (dtype:sub(1, 1) == 'c' and mc.conj(a.mT) or a.mT) + mc.eye(10, { dtype = dtype }) * 12
      local _, full = band(a, 2, 2)
      local upper, lower = (band(full, 0, 2)), (band(full, 2, 0))
      local b = draw({ 10 }, dtype, 8)
      local x = L.solveh_banded(upper, b)
      close(mc.matmul(full, x), b, 200)
      close(L.solveh_banded(lower, b, { lower = true }), x, 200)
    end
  end)
  it('say what is wrong', function()
    says('solve_banded: the rows of ab are not lower %+ upper %+ 1, a is f64%[2,3%]@cpu and b is f64%[3%]@cpu',
      function() local _ = L.solve_banded(mc.ones { 2, 3 }, mc.ones { 3 }, { lower = 1, upper = 1 }) end)
    says('solve_banded: the right%-hand side has another number of rows',
      function() local _ = L.solve_banded(mc.ones { 3, 3 }, mc.ones { 4 }, { lower = 1, upper = 1 }) end)
    says('solve_banded: the matrix is singular',
      function() local _ = L.solve_banded(mc.zeros { 3, 3 }, mc.ones { 3 }, { lower = 1, upper = 1 }) end)
    says('solve_banded: the matrix is singular',
      function() local _ = L.solve_banded(mc.zeros { 2, 3 }, mc.ones { 3 }, { lower = 1, upper = 0 }) end)
    says('solve_banded: matrix 2 of 2 is singular', function()
      local _ =
        L.solve_banded(mc.stack { mc.ones { 1, 3 }, mc.zeros { 1, 3 } }, mc.ones { 3 }, { lower = 0, upper = 0 })
    end)
    says('solve_banded: the matrix holds NaN or infinity',
      function() local _ = L.solve_banded(mc.full({ 3, 3 }, 0 / 0), mc.ones { 3 }, { lower = 1, upper = 1 }) end)
    says('solve_banded: .*lower', function() local _ = L.solve_banded(mc.ones { 3, 3 }, mc.ones { 3 }) end)
    says('solveh_banded: the matrix is not positive definite',
      function() local _ = L.solveh_banded(-mc.ones { 1, 3 }, mc.ones { 3 }) end)
    says('solve_tridiagonal: the diagonals are f64%[3%]@cpu, f64%[3%]@cpu and f64%[2%]@cpu; those beside',
      function() local _ = L.solve_tridiagonal(mc.ones { 3 }, mc.ones { 3 }, mc.ones { 2 }, mc.ones { 3 }) end)
    says('solve_banded.*f16', function()
      local _ = L.solve_banded(mc.ones({ 1, 3 }, { dtype = 'f16' }), mc.ones({ 3 }, { dtype = 'f16' }),
        { lower = 0, upper = 0 })
    end)
  end)
end)

describe('toeplitz', function()
  it('is constant along diagonals, for every dtype and batch', function()
    for _, dtype in ipairs { 'bool', 'i8', 'i64', 'f16', 'f64', 'c64' } do
      local c, r = mc.tensor({ 1, 0, 1, 1 }, { dtype = dtype }), mc.tensor({ 0, 1, 1 }, { dtype = dtype })
      local t = L.toeplitz(c, { r = r })
      assert.same({ 4, 3 }, { unpack(t.shape) })
      for i = 1, 4 do
        for j = 1, 3 do assert.is_true(mc.array_equal(t[{ i, j }], i >= j and c[1 + i - j] or r[1 + j - i])) end
      end
    end
    local stack = L.toeplitz(mc.arange(1, 6):reshape { 2, 3 })
    assert.is_true(mc.array_equal(stack[2], L.toeplitz { 4, 5, 6 }))
    assert.same({ 0, 2 }, { unpack(L.toeplitz(mc.zeros { 0 }, { r = mc.zeros { 2 } }).shape) })
    assert.is_true(mc.array_equal(L.hankel { 1, 2, 3 }, mc.tensor { { 1, 2, 3 }, { 2, 3, 0 }, { 3, 0, 0 } }))
  end)
  it('multiplies as its matrix does, of any length, in batches', function()
    for _, dtype in ipairs(DTYPES) do
      for _, size in ipairs { { 1, 1 }, { 1, 6 }, { 6, 1 }, { 7, 5 }, { 64, 33 }, { 100, 101 } } do
        local c, r, x = draw({ size[1] }, dtype, 1), draw({ size[2] }, dtype, 2), draw({ 2, size[2], 3 }, dtype, 3)
        close(L.matmul_toeplitz(c, x, { r = r }), mc.matmul(L.toeplitz(c, { r = r }), x), 100)
        close(L.matmul_toeplitz(c, x[{ 1, mc.all, 1 }], { r = r }),
          mc.matmul(L.toeplitz(c, { r = r }), x[{ 1, mc.all, 1 }]), 100)
      end
    end
    local c = draw({ 2, 5 }, 'f64', 4)
    close(L.matmul_toeplitz(c, mc.ones { 5, 1 }), mc.matmul(L.toeplitz(c), mc.ones { 5, 1 }), 100)
  end)
  it('systems agree with the full ones', function()
    for _, dtype in ipairs(DTYPES) do
      for _, n in ipairs { 1, 2, 9, 40 } do
        local c, r = draw({ 2, n }, dtype, 5), draw({ n }, dtype, 6)
        c['..., 1'] = c['..., 1'] + 4 * n ^ 0.5
        local b = draw({ 2, n, 3 }, dtype, 7)
        close(mc.matmul(L.toeplitz(c, { r = r }), L.solve_toeplitz(c, b, { r = r })), b, 2000)
        close(mc.matmul(L.toeplitz(c[1]), L.solve_toeplitz(c[1], b[{ 1, mc.all, 1 }])), b[{ 1, mc.all, 1 }], 2000)
      end
    end
    assert.equal(0, L.solve_toeplitz(mc.zeros { 0 }, mc.zeros { 0 }):numel())
  end)
  it('systems say what is wrong', function()
    says('solve_toeplitz: the matrix has a leading block that is singular, c is f64%[2%]@cpu and r is f64%[2%]@cpu and '
      .. 'b is f64%[2%]@cpu; use solve%(toeplitz', function() local _ = L.solve_toeplitz({ 0, 1 }, { 1, 1 }) end)
    says('solve_toeplitz: the matrix has a leading block',
      function() local _ = L.solve_toeplitz({ 1, 1 }, { 1, 1 }) end)
    says('solve_toeplitz: the matrix holds NaN or infinity',
      function() local _ = L.solve_toeplitz({ 1, 0 / 0 }, { 1, 1 }) end)
    says('solve_toeplitz: c is f64%[2%]@cpu, r is f64%[3%]@cpu, b is f64%[2%]@cpu; they need the same number of rows',
      function() local _ = L.solve_toeplitz({ 2, 1 }, { 1, 1 }, { r = { 2, 1, 1 } }) end)
    says('matmul_toeplitz: r is f64%[2%]@cpu, x is f64%[3%]@cpu; x needs as many rows',
      function() local _ = L.matmul_toeplitz({ 2, 1 }, { 1, 1, 1 }) end)
    says('toeplitz: option "row" is unknown', function() local _ = L.toeplitz({ 2, 1 }, { row = { 1 } }) end)
  end)
end)

describe('circulant', function()
  it('commutes, and its systems agree with the full ones', function()
    for _, dtype in ipairs(DTYPES) do
      local c, d = draw({ 9 }, dtype, 1), draw({ 9 }, dtype, 2)
      close(mc.matmul(L.circulant(c), L.circulant(d)), mc.matmul(L.circulant(d), L.circulant(c)), 100)
      c[1] = c[1] + 12
      local b = draw({ 9, 2 }, dtype, 3)
      close(mc.matmul(L.circulant(c), L.solve_circulant(c, b)), b, 200)
      close(mc.matmul(L.circulant(c), L.solve_circulant(c, b[{ mc.all, 1 }])), b[{ mc.all, 1 }], 200)
    end
    assert.same({ 0, 0 }, { unpack(L.circulant(mc.zeros { 0 }).shape) })
    assert.equal(0, L.solve_circulant(mc.zeros { 0 }, mc.zeros { 0 }):numel())
  end)
  it('says when it is singular', function()
    says(
      'linalg_structured_spec%.lua:%d+: solve_circulant: the matrix is singular, c is f64%[3%]@cpu; use lstsq or pinv',
      function() local _ = L.solve_circulant({ 1, -1, 0 }, { 1, 2, 3 }) end)
    says('solve_circulant: c is f64%[3%]@cpu, b is f64%[2%]@cpu',
      function() local _ = L.solve_circulant({ 1, -1, 0 }, { 1, 2 }) end)
  end)
end)

it('leaves no tensor behind', function() assert.equal(BEFORE, support.tensor_bytes()) end)
