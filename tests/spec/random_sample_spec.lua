-- random_sample_spec.lua - permutations, choices and random vectors of mc.random: what they must keep, how often they
-- must come.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes() -- specs that ran earlier may hold some
local mc = require 'mascon'
local R = mc.random
local tol = support.load 'tol'

local function same(a, b) return mc.array_equal(a, b) end
local function says(pattern, f) assert.matches(pattern, support.message(f)) end

--- Counts against expected ones: Pearson's chi-square within five standard deviations.
local function fits(counts, expected)
  local chi, classes = 0, 0
  for k, e in ipairs(expected) do
    if e == 0 then assert.equal(0, counts[k] or 0)
    else chi, classes = chi + ((counts[k] or 0) - e) ^ 2 / e, classes + 1 end
  end
  local wrong = tol.stat(math.max(chi, classes - 1), classes - 1, math.sqrt(2 * (classes - 1)) + 0.5)
  assert(not wrong, wrong)
end

describe('permutation', function()
  it('holds everything once, whatever the size', function()
    for _, n in ipairs { 0, 1, 2, 31, 5000 } do
      local p = R.permutation(n, { key = n })
      assert.equal('i64', p.dtype)
      assert.is_true(same(p:sort(), mc.arange(1, n):to 'i64'))
    end
  end)
  it('is mc.randperm', function()
    assert.is_true(same(R.permutation(50, { key = 3 }), mc.randperm(50, { seed = 3 })))
  end)
  it('gives all orders equally often', function()
    local n, counts, expected = 24000, {}, {}
    -- 24 orders of four things: rows sorted by words of their own
    local rows =
      R.permutation(mc.arange(0, 3):reshape { 1, 4 } + mc.zeros { n, 1 }, { axis = 2, independent = true, key = 5 })
    local code = (rows * mc.tensor { 64, 16, 4, 1 }):sum(2):to 'i64'
    for _, c in ipairs(mc.bincount(code):totable()) do
      if c > 0 then counts[#counts + 1], expected[#expected + 1] = c, n / 24 end
    end
    assert.equal(24, #counts)
    fits(counts, expected)
  end)
  it('moves slices along an axis together, or each line by itself', function()
    local x = mc.arange(1, 60):reshape { 3, 4, 5 }
    for axis = 1, 3 do
      local y = R.permutation(x, { axis = axis, key = 2 })
      local order = R.permutation(x.shape[axis], { key = 2 })
      assert.is_true(same(y, mc.take(x, order, { axis = axis })))
      local z = R.permutation(x, { axis = axis, key = 2, independent = true })
      assert.is_true(same(z:sort(axis), x))
      assert.is_false(same(z, x))
    end
    assert.is_true(same(R.permutation(x, { axis = -1, key = 2 }), R.permutation(x, { axis = 3, key = 2 })))
    assert.equal('c64', R.permutation(mc.zeros({ 3 }, { dtype = 'c64' }), { key = 1 }).dtype)
  end)
  it('says what is wrong', function()
    says('random%.permutation: x is %-1; it must be integer >= 0', function() local _ = R.permutation(-1) end)
    says('random%.permutation: axis 3 is outside',
      function() local _ = R.permutation(mc.zeros { 2, 2 }, { axis = 3 }) end)
  end)
end)

describe('shuffle', function()
  it('works in place, also on a view', function()
    local base = mc.arange(1, 20)
    local view = base['1::2']
    local got = R.shuffle(view, { key = 4 })
    assert.is_true(rawequal(got, view))
    assert.is_true(same(base['1::2']:sort(), mc.arange(1, 19, 2)) and same(base['2::2'], mc.arange(2, 20, 2)))
    assert.is_true(same(view, R.permutation(mc.arange(1, 19, 2), { key = 4 })))
  end)
  it('takes tensors only', function() says('random%.shuffle: x is 5; give a tensor', function() R.shuffle(5) end) end)
end)

describe('choice', function()
  it('draws with replacement, equally often or by weights', function()
    local n = 60000
    fits(mc.bincount(R.choice(6, { n }, { key = 1 }) - 1):totable(), { n / 6, n / 6, n / 6, n / 6, n / 6, n / 6 })
    fits(mc.bincount(R.choice(4, { n }, { key = 1, p = { 1, 0, 2, 3 } }) - 1):totable(), { n / 6, 0, n / 3, n / 2 })
    fits(mc.bincount(R.choice(3, { n }, { key = 1, p = mc.tensor({ 1, 1, 0 }, { dtype = 'f32' }) }) - 1):totable(),
      { n / 2, n / 2, 0 })
  end)
  it('draws without replacement: every pair equally often', function()
    local counts, expected, n = {}, {}, 3000
    for k = 1, 12 do expected[k] = n / 12 end
    local key = R.key(3)
    local keys = key:split(n)
    local at = {}
    for i = 1, n do
      local x = R.choice(4, { 2 }, { replace = false, key = keys[i] }):totable()
      assert(x[1] ~= x[2])
      local k = x[1] * 5 + x[2]
      at[k] = (at[k] or 0) + 1
    end
    for _, c in pairs(at) do counts[#counts + 1] = c end
    assert.equal(12, #counts)
    fits(counts, expected)
  end)
  it('draws by weights without replacement as one after the other would', function()
    local w, n = { 1, 2, 5 }, 4000
    local seen, expected, list = {}, {}, {}
    for i = 1, 3 do for j = 1, 3 do if i ~= j then
      list[#list + 1] = i * 4 + j
      expected[#expected + 1] = n * w[i] / 8 * w[j] / (8 - w[i])
    end end end
    local keys = R.key(5):split(n)
    for i = 1, n do
      local x = R.choice(3, { 2 }, { replace = false, p = w, key = keys[i] }):totable()
      seen[x[1] * 4 + x[2]] = (seen[x[1] * 4 + x[2]] or 0) + 1
    end
    local counts = {}
    for k, code in ipairs(list) do counts[k] = seen[code] end
    fits(counts, expected)
  end)
  it('takes slices of a tensor along an axis', function()
    local x = mc.arange(1, 12):reshape { 3, 4 }
    local at = R.choice(4, { 2, 3 }, { key = 6 })
    local y = R.choice(x, { 2, 3 }, { axis = 2, key = 6 })
    assert.same({ 3, 2, 3 }, { unpack(y.shape) })
    assert.is_true(same(y, mc.take(x, at:reshape { 6 }, { axis = 2 }):reshape { 3, 2, 3 }))
    assert.is_true(same(R.choice(x, { 3 }, { replace = false, key = 1 }):sort(1), x))
    assert.equal(0, R.choice(x, {}, { key = 1 }).ndim - 1)
    assert.equal(0, R.choice(5, { 0 }):numel())
    local out = mc.zeros({ 4 }, { dtype = 'i64' })
    R.choice(6, { 4 }, { key = 1, out = out })
    assert.is_true(same(out, R.choice(6, { 4 }, { key = 1 })))
  end)
  it('says what is wrong', function()
    says('random%.choice: 7 are to be drawn without replacement, there are 6; draw fewer, or set replace = true',
      function() local _ = R.choice(6, { 7 }, { replace = false }) end)
    says('there are 2 with a positive weight',
      function() local _ = R.choice(3, { 3 }, { replace = false, p = { 1, 0, 1 } }) end)
    says('weight 2 is %-1, their sum is 1', function() local _ = R.choice(3, { 3 }, { p = { 1, -1, 1 } }) end)
    says('weight 1 is 0, their sum is 0', function() local _ = R.choice(2, { 3 }, { p = { 0, 0 } }) end)
    says('weight 3 is nan', function() local _ = R.choice(3, { 3 }, { p = { 1, 1, 0 / 0 } }) end)
    says('the weights are f64%[2%]@cpu, there are 3 things; give one weight each',
      function() local _ = R.choice(3, { 3 }, { p = { 1, 1 } }) end)
    says('there is nothing to draw from', function() local _ = R.choice(0, { 3 }) end)
    says('random%.choice: x is \'a\'; it must be integer >= 0', function() local _ = R.choice('a', { 3 }) end)
  end)
end)

describe('multinomial', function()
  local p = { 0.1, 0, 0.6, 0.3 }
  it('counts to n, with the right means and covariances', function()
    local m, n = 40000, 25
    local x = R.multinomial({ m }, { n = n, p = p, key = 1 })
    assert.same({ m, 4 }, { unpack(x.shape) })
    assert.is_true(mc.all(x:sum(2):eq(n)))
    x = x:to 'f64'
    for i = 1, 4 do
      assert.is_nil(tol.stat(x[{ mc.all, i }]:mean():item(), n * p[i], math.sqrt(n * p[i] * (1 - p[i]) / m) + 1e-12))
      for j = 1, i - 1 do
        local a, b = x[{ mc.all, i }] - n * p[i], x[{ mc.all, j }] - n * p[j]
        assert.is_nil(tol.stat((a * b):mean():item(), -n * p[i] * p[j], (a * b):std():item() / math.sqrt(m) + 1e-12))
      end
    end
  end)
  it('takes trials and weights per element, in any layout, of any sum', function()
    local x = R.multinomial { n = { 0, 10, 1e6 }, p = { 1, 2 }, key = 1 }
    assert.same({ 3, 2 }, { unpack(x.shape) })
    assert.is_true(same(x:sum(2), mc.tensor({ 0, 10, 1000000 }, { dtype = 'i64' })))
    local w = mc.tensor { { 1, 4 }, { 2, 5 }, { 3, 6 } }
    assert.is_true(same(R.multinomial { 7, 2, n = 9, p = w.T, key = 2 },
      R.multinomial { 7, 2, n = 9, p = w.T:contiguous() * 2, key = 2 }))
    assert.is_true(same(R.multinomial { 4, n = 9, p = { 0, 0, 1 }, key = 2 },
      mc.tensor({ { 0, 0, 9 }, { 0, 0, 9 }, { 0, 0, 9 }, { 0, 0, 9 } }, { dtype = 'i64' })))
    local many = R.multinomial { 3, n = 100000, p = mc.ones { 3000 }, dtype = 'f32', key = 1 }
    assert.is_true(same(many:to 'i64', R.multinomial { 3, n = 100000, p = mc.ones { 3000 }, key = 1 }))
    assert.is_true(mc.all(many:sum(2):eq(100000)))
    local out = mc.zeros({ 3, 4 }, { dtype = 'i64' })
    R.multinomial { 4, n = 9, p = { 1, 1, 1 }, key = 2, out = out.T }
    assert.is_true(same(out.T, R.multinomial { 4, n = 9, p = { 1, 1, 1 }, key = 2 }))
  end)
  it('says what is wrong', function()
    says('random%.multinomial: parameters %(5, the weights%) at position 2 %(from 1%) are refused; a whole n',
      function() local _ = R.multinomial { n = 5, p = { { 1, 1 }, { 1, -1 } } } end)
    says('random%.multinomial: p is nil; give a tensor', function() local _ = R.multinomial { n = 5 } end)
    says('random%.multinomial: p is f64%[0%]@cpu; give at least one category',
      function() local _ = R.multinomial { n = 5, p = mc.zeros { 0 } } end)
  end)
end)

describe('dirichlet', function()
  it('sums to one, with the right means and variances, however small alpha', function()
    local m = 20000
    for _, alpha in ipairs { { 1, 2, 3 }, { 0.1, 0.2, 0.3 }, { 1e-3, 1e-3, 2e-3 } } do
      local x = R.dirichlet({ m }, { alpha = alpha, key = 3 })
      local total = alpha[1] + alpha[2] + alpha[3]
      assert.is_true(mc.allclose(x:sum(2), mc.ones { m }, { rtol = 1e-14 }))
      for i = 1, 3 do
        local mean = alpha[i] / total
        local var = mean * (1 - mean) / (total + 1)
        local v = x[{ mc.all, i }]
        assert.is_nil(tol.stat(v:mean():item(), mean, math.sqrt(var / m)))
        local square = mc.square(v - mean)
        assert.is_nil(tol.stat(square:mean():item(), var, square:std():item() / math.sqrt(m)))
      end
    end
  end)
  it('takes alpha per element, dtypes and out', function()
    local x = R.dirichlet { alpha = { { 1, 1 }, { 100, 1 } }, key = 1, dtype = 'f32' }
    assert.same({ 2, 2 }, { unpack(x.shape) })
    assert.equal('f32', x.dtype)
    local out = mc.zeros { 2, 5 }
    R.dirichlet { 5, alpha = { 1, 2 }, key = 1, out = out.T }
    assert.is_true(same(out.T, R.dirichlet { 5, alpha = { 1, 2 }, key = 1 }))
    says('random%.dirichlet: alpha is 0 at position 2 %(from 1%); concentrations are > 0',
      function() local _ = R.dirichlet { alpha = { 1, 0 } } end)
  end)
end)

describe('multivariate_normal', function()
  local cov = { { 4, 2, 0 }, { 2, 3, 1 }, { 0, 1, 2 } }
  it('has the mean and covariance asked for', function()
    local m = 40000
    local x = R.multivariate_normal({ m }, { mean = { 1, -2, 0 }, cov = cov, key = 1 }) - mc.tensor { 1, -2, 0 }
    for i = 1, 3 do
      assert.is_nil(tol.stat(x[{ mc.all, i }]:mean():item(), 0, math.sqrt(cov[i][i] / m)))
      for j = 1, i do
        local product = x[{ mc.all, i }] * x[{ mc.all, j }]
        assert.is_nil(tol.stat(product:mean():item(), cov[i][j], product:std():item() / math.sqrt(m)))
      end
    end
  end)
  it('takes the factor in place of the covariance, stacks of either, sizes from the parameters', function()
    local c = mc.tensor(cov)
    local L = mc.linalg.cholesky(c)
    assert.is_true(same(R.multivariate_normal({ 5 }, { cov = c, key = 1 }),
      R.multivariate_normal({ 5 }, { cholesky = L, key = 1 })))
    local stack = mc.stack { c, c * 4 }
    local x = R.multivariate_normal { cov = stack, key = 1 }
    local one = R.multivariate_normal({ 2 }, { cov = c, key = 1 })
    assert.is_true(mc.allclose(x, one * mc.tensor { { 1 }, { 2 } }, { rtol = 1e-12 }))
    assert.same({ 4, 2, 3 },
      { unpack(R.multivariate_normal({ 4, 2 }, { cov = stack, mean = mc.zeros { 3 }, key = 1 }).shape) })
    assert.same({ 2, 3 }, { unpack(R.multivariate_normal { cov = c, mean = mc.zeros { 2, 3 }, key = 1 }.shape) })
    assert.equal('f32', R.multivariate_normal({ 2 }, { cov = c, dtype = 'f32', key = 1 }).dtype)
  end)
  it('says what is wrong', function()
    says('give one of cov and cholesky', function() local _ = R.multivariate_normal { 3 } end)
    says('cov is f64%[2,3%]@cpu; give square matrices',
      function() local _ = R.multivariate_normal { cov = mc.zeros { 2, 3 } } end)
    says('mean is f64%[2%]@cpu, the covariance f64%[3,3%]@cpu; their last sizes must agree',
      function() local _ = R.multivariate_normal { cov = cov, mean = { 1, 2 } } end)
    says('not positive definite', function() local _ = R.multivariate_normal { cov = { { 1, 2 }, { 2, 1 } } } end)
  end)
end)

describe('wishart', function()
  it('has the mean df scale, and is symmetric and positive definite', function()
    local m, df, scale = 8000, 4.5, { { 2, 1 }, { 1, 3 } }
    local x = R.wishart({ m }, { df = df, scale = scale, key = 1 })
    assert.same({ m, 2, 2 }, { unpack(x.shape) })
    assert.is_true(same(x, x.mT))
    assert.is_true(mc.linalg.det(x):min():item() > 0)
    for i = 1, 2 do
      for j = 1, i do
        local v = x[{ mc.all, i, j }]
        assert.is_nil(tol.stat(v:mean():item(), df * scale[i][j], v:std():item() / math.sqrt(m)))
        assert.is_nil(tol.stat(mc.square(v - df * scale[i][j]):mean():item(), df * (scale[i][j] ^ 2
          + scale[i][i] * scale[j][j]), mc.square(v - df * scale[i][j]):std():item() / math.sqrt(m)))
      end
    end
  end)
  it('says what is wrong', function()
    says('random%.wishart: df is 1; it must exceed d %- 1 = 1',
      function() local _ = R.wishart { df = 1, scale = { { 1, 0 }, { 0, 1 } } } end)
    says('random%.wishart: scale is not given', function() local _ = R.wishart { df = 4 } end)
  end)
end)

it('leaves no tensor behind', function() assert.equal(BEFORE, support.tensor_bytes()) end)
