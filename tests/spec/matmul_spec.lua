-- matmul_spec.lua - the matrix product on shapes that are cut into tiles, on views, and its mistakes.
--
-- Large products are checked by products with random vectors (a probabilistic check known since 1979) and against f64.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes() -- specs that ran earlier may hold some
local mc = require 'mascon'
local sample, tol = support.load 'sample', support.load 'tol'
local read = sample.read

local function close(a, b, n, scale)
  local x, y = read(a), read(b)
  assert.equal(#y, #x)
  for i = 1, #y do
    local wrong = tol.compare('ACCUM', a.dtype, x[i], y[i], { n = n, scale = scale })
    if wrong then error(('element %d: %s'):format(i, wrong), 0) end
  end
end

describe('large products', function()
  local sizes = support.gc and { { 30, 20, 10 } } or { { 300, 200, 250 }, { 1, 700, 900 }, { 900, 700, 1 },
    { 33, 1, 1500 }, { 257, 513, 129 }, { 20, 40, 2000 }, { 600, 3, 600 }, { 131, 130, 129 },
    { 17, 333, 257 }, { 5, 1030, 1040 }, { 270, 271, 259 }, { 790, 310, 410 } }
  it('map vectors as the two factors do', function()
    for k, s in ipairs(sizes) do
      for _, dtype in ipairs { 'f32', 'f64' } do
        local a, b = mc.randn({ s[1], s[2] }, { seed = k, dtype = dtype }),
          mc.randn({ s[2], s[3] }, { seed = k + 50, dtype = dtype })
        local v = mc.randint(0, 1, { s[3] }, { seed = k }):to(dtype) * 2 - 1
        local left = a:matmul(b):matmul(v)
        local right = a:to 'f64':matmul(b:to 'f64':matmul(v:to 'f64'))
        close(left, right, s[2] * s[3], 6 * math.sqrt(s[2] * s[3]) * 6)
      end
    end
  end)

  it('take views without a copy changing a bit', function()
    local a, b = mc.randn({ 120, 130 }, { seed = 1 }), mc.randn({ 130, 110 }, { seed = 2 })
    local want = a:matmul(b)
    close(a.T:copy().T:matmul(b.T:copy().T), want, 130, 400)
    local wide = mc.zeros { 120, 300 }
    wide[{ mc.all, { 11, 140 } }] = a
    close(wide[{ mc.all, { 11, 140 } }]:matmul(b), want, 130, 400)
    close(a['::-1']:matmul(b), want['::-1'], 130, 400)
    close(a[{ mc.all, { 1, -1, 2 } }]:matmul(b['::2']),
      a[{ mc.all, { 1, -1, 2 } }]:copy():matmul(b['::2']:copy()), 130, 400)
  end)

  it('of views are right in every tile', function()
    for k, s in ipairs(support.gc and { { 9, 8, 7 } } or { { 133, 141, 150 }, { 300, 310, 290 }, { 40, 500, 1100 } }) do
      local a, b = mc.randn({ s[1], s[2] }, { seed = k }), mc.randn({ s[2], s[3] }, { seed = k + 9 })
      local want = a:matmul(b)
      close(a.T:copy().T:matmul(b.T:copy().T), want, s[2], 60 * math.sqrt(s[2]))
      close(a['::-1']:matmul(b), want['::-1'], s[2], 60 * math.sqrt(s[2]))
      close(mc.stack({ a, a }):matmul(b)[2], want, s[2], 60 * math.sqrt(s[2]))
    end
  end)

  it('of integers are exact in every tile', function()
    local s = support.gc and 12 or 210
    local a, b = mc.randint(-99, 99, { s, s + 3 }, { seed = 1 }), mc.randint(-99, 99, { s + 3, s - 5 }, { seed = 2 })
    assert.is_true(mc.array_equal(a:matmul(b):to 'f64', a:to 'f64':matmul(b:to 'f64')))
  end)

  it('write into out=, strided, and over an operand', function()
    local a, b = mc.randn({ 40, 40 }, { seed = 3 }), mc.randn({ 40, 40 }, { seed = 4 })
    local want = a:matmul(b)
    local base = mc.zeros { 40, 80 }
    local out = base[{ mc.all, { 1, -1, 2 } }]
    mc.matmul(a, b, { out = out })
    assert.is_true(mc.array_equal(out, want))
    assert.equal(0, mc.abs(base[{ mc.all, { 2, -1, 2 } }]):sum():item())
    mc.matmul(a, b, { out = a })
    assert.is_true(mc.array_equal(a, want))
  end)

  it('broadcast their batches', function()
    local a, b = mc.randn({ 3, 1, 4, 5 }, { seed = 5 }), mc.randn({ 2, 5, 6 }, { seed = 6 })
    local y = a:matmul(b)
    assert.equal('3,2,4,6', table.concat(y.shape, ','))
    for i = 1, 3 do for j = 1, 2 do close(y[{ i, j }], a[{ i, 1 }]:matmul(b[j]), 5, 40) end end
  end)

  it('of half precision are as good as f32 rounded', function()
    local a, b = mc.randn({ 20, 30 }, { seed = 7 }):to 'f16', mc.randn({ 30, 10 }, { seed = 8 }):to 'f16'
    local y = a:matmul(b)
    assert.equal('f16', y.dtype)
    close(y, a:to 'f64':matmul(b:to 'f64'), 30, 60)
  end)

  it('of mixed dtypes promote', function()
    assert.equal('f64', mc.ones({ 2, 2 }, { dtype = 'f32' }):matmul(mc.ones { 2, 2 }).dtype)
    assert.equal('i64', mc.ones({ 2, 2 }, { dtype = 'i8' }):matmul(mc.ones({ 2, 2 }, { dtype = 'u8' })).dtype)
    assert.equal(2, mc.ones({ 2, 2 }, { dtype = 'bool' }):matmul(mc.ones({ 2 }, { dtype = 'bool' }))[1]:item())
  end)

  it('of nothing are zero', function()
    local y = mc.zeros { 3, 0 }:matmul(mc.zeros { 0, 2 })
    assert.same({ { 0, 0 }, { 0, 0 }, { 0, 0 } }, y:totable())
    local out = mc.full({ 3, 2 }, 9)
    mc.matmul(mc.zeros { 3, 0 }, mc.zeros { 0, 2 }, { out = out })
    assert.same({ { 0, 0 }, { 0, 0 }, { 0, 0 } }, out:totable())
  end)
end)

describe('products of few rows', function()
  local FEW, level = 'few rows, the second matrix read in place', mc.info().isa
  local other = os.getenv 'MASCON_BLAS'
  --- What a compiled product says of itself.
  local function way(a, b)
    local f = mc.compile(function(x, y) return mc.matmul(x, y) end)
    f(a, b)
    local p = f:explain().products
    assert.equal(1, #p)
    local line = ('products of matrices\n  %s: %s by %s'):format(p[1].name, p[1].form, p[1].way)
    assert(tostring(f:explain()):find(line, 1, true), line)
    return p[1].way
  end
  local function randn(shape, seed) return mc.randn(shape, { seed = seed, dtype = 'f32' }) end

  it('are right in all layouts, with the same bits for any of them and any number of threads', function()
    local threads = mc.get_num_threads()
    finally(function() mc.set_num_threads(threads) end)
    for seed, s in ipairs { { 32, 256, 391 }, { 17, 517, 431 }, { 9, 1031, 333 }, { 2, 2050, 900 } } do
      local a, b = randn({ s[1], s[2] }, seed), randn({ s[2], s[3] }, seed + 9)
      local want, first = a:to 'f64':matmul(b:to 'f64'), nil
      for _, x in ipairs { a, a.mT:copy().mT } do
        for _, y in ipairs { b, b.mT:copy().mT } do
          local own = way(x, y) == FEW
          if other or level == 'v2' then assert.is_false(own) end
          for _, n in ipairs { 1, 2, 4 } do
            mc.set_num_threads(n)
            local z = mc.matmul(x, y)
            if own and not first then
              first = z
              close(z, want, s[2], 6 * math.sqrt(s[2]))
            end
            assert(not own or mc.array_equal(first, z), ('%s with %d threads'):format(table.concat(s, ' x '), n))
          end
        end
      end
      assert.equal(first ~= nil, not other and level ~= 'v2')
    end
  end)

  it('hand what is behind them their rows, and leave other products to the library', function()
    local x, w, c = randn({ 32, 256 }, 1), randn({ 1024, 256 }, 2), randn({ 1024 }, 3)
    local f = mc.compile(function(a, b, d) return mc.tanh(mc.matmul(a, b.T) + d) end)
    assert.is_true(mc.allclose(f(x, w, c):to 'f64', mc.tanh(mc.matmul(x:to 'f64', w.T:to 'f64') + c:to 'f64'),
      { rtol = 1e-4, atol = 1e-4 }))
    assert.equal(not other and level ~= 'v2', f:explain().products[1].way == FEW)
    local library = mc.info().libraries.blas
    assert.equal(library, way(mc.stack { x }, w.T:copy()))
    assert.equal(library, way(randn({ 300, 256 }, 1), w.T:copy()))
    assert.equal(library, way(x:to 'f64', w.T:to 'f64'))
    assert.equal(library, way(randn({ 1, 256 }, 1), w.T:copy()))
    finally(function() mc.set_batch_invariant(false) end)
    mc.set_batch_invariant(true)
    assert.equal('plain sums', way(x, w.T:copy()))
  end)
end)

describe('NaN and infinity', function()
  it('reach only the rows and columns they stand in', function()
    local a, b = mc.ones { 3, 3 }, mc.ones { 3, 3 }
    a[{ 2, 1 }] = 0 / 0
    local y = mc.isnan(a:matmul(b)):totable()
    assert.same({ { false, false, false }, { true, true, true }, { false, false, false } }, y)
  end)
end)

describe('a mistake', function()
  local function fails(pattern, f) assert.matches('matmul_spec%.lua:%d+: ' .. pattern, support.message(f)) end
  it('is told with both shapes and advice', function()
    local a = mc.zeros({ 3, 4 }, { dtype = 'f32' })
    fails('matmul: inner sizes differ, a is f32%[3,4%]@cpu and b is f32%[5,2%]@cpu; transpose b or reshape a',
      function() local _ = a:matmul(mc.zeros({ 5, 2 }, { dtype = 'f32' })) end)
    fails(
      'matmul: batch sizes do not broadcast, a is f64%[2,3,4%]@cpu and b is f64%[3,4,5%]@cpu; they must be equal or 1',
      function() local _ = mc.zeros { 2, 3, 4 }:matmul(mc.zeros { 3, 4, 5 }) end)
    fails('matmul: operands need at least one axis, a is f32%[3,4%]@cpu and b is f64%[%]@cpu; use multiply',
      function() local _ = a:matmul(mc.tensor(2)) end)
    fails('matmul: operands are f32%[3,4%]@cpu and 3; give two tensors', function() local _ = a:matmul(3) end)
    fails('matmul: out is f32%[3%]@cpu but the result is f32%[3,3%]',
      function() local _ = mc.matmul(a, a.T, { out = mc.zeros({ 3 }, { dtype = 'f32' }) }) end)
    fails('matmul: option "ouT" is unknown; did you mean "out"%?',
      function() local _ = mc.matmul(a, a.T, { ouT = a }) end)
  end)
end)

it('leaves no tensor behind', function() assert.equal(BEFORE, support.tensor_bytes()) end)
