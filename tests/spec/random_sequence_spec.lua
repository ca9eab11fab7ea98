-- random_sequence_spec.lua - Sobol', Halton and Latin hypercube points: SciPy's numbers, evenness, discrepancy, splits.
--
-- The unscrambled sequences are golden (tests/golden/make_cases_random.py); scrambled ones are held to what scrambling
-- must keep.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes() -- specs that ran earlier may hold some
local mc = require 'mascon'
local R = mc.random
local tol = support.load 'tol'

--- Centred L2 discrepancy of points in [0, 1)^d (Hickernell, A generalized discrepancy and quadrature error bound,
--- 1998, equation 5.1c).
local function discrepancy(x)
  local n, d = x.shape[1], x.shape[2]
  local far = mc.abs(x - 0.5)
  local first = (1 + far / 2 - mc.square(far) / 2):prod(2):sum():item()
  local pair = mc.ones { n, n }
  for j = 1, d do
    local a, f = x[{ mc.all, j }], far[{ mc.all, j }]
    pair =
      pair * (1 + (f:reshape { n, 1 } + f:reshape { 1, n }) / 2 - mc.abs(a:reshape { n, 1 } - a:reshape { 1, n }) / 2)
  end
  return math.sqrt((13 / 12) ^ d - 2 / n * first + pair:sum():item() / n ^ 2)
end

local function golden() return mc.load(support.folder .. '/golden/random_sequence.npz') end

describe('sobol', function()
  it("gives SciPy's points, up to 1111 dimensions", function()
    local file = golden()
    local points, wide, late = file.sobol, file.sobol_wide, file.sobol_late
    assert.is_true(mc.array_equal(points, R.sobol(points.shape[1], points.shape[2], { scramble = false })))
    assert.is_true(mc.array_equal(wide, R.sobol(wide.shape[1], wide.shape[2], { scramble = false, skip = 1 })))
    assert.is_true(mc.array_equal(late, R.sobol(late.shape[1], late.shape[2], { scramble = false, skip = 123457 })))
  end)

  it('puts one of the first 2^k points into every interval of length 2^-k, scrambled or not', function()
    for _, scramble in ipairs { true, false } do
      for k = 0, 8 do
        local x = R.sobol(2 ^ k, 40, { scramble = scramble, key = 5 })
        assert.is_true(x:min():item() >= 0 and x:max():item() < 1)
        local cell = mc.floor(x * 2 ^ k):sort(1)
        assert.is_true(mc.array_equal(cell, (mc.arange(0, 2 ^ k - 1):reshape { 2 ^ k, 1 }) + mc.zeros { 1, 40 }))
      end
    end
  end)

  it('fills every pair of the first dimensions: a (0, 2k, 2) net in base 2', function()
    local k = 4
    local x = R.sobol(2 ^ (2 * k), 2, { key = 8 })
    for shift = 0, 2 * k do -- boxes of 2^-shift by 2^-(2k - shift)
      local cell =
        mc.floor(x[{ mc.all, 1 }] * 2 ^ shift) * 2 ^ (2 * k - shift) + mc.floor(x[{ mc.all, 2 }] * 2 ^ (2 * k - shift))
      assert.is_true(mc.array_equal(mc.bincount(cell:to 'i64'), mc.ones({ 2 ^ (2 * k) }, { dtype = 'i64' })))
    end
  end)

  it('is a function of key and point: any split gives the same', function()
    local whole = R.sobol(5000, 7, { key = 3 })
    for _, cut in ipairs { 1, 2, 4095, 4096 } do
      local parts = mc.concat { R.sobol(cut, 7, { key = 3 }), R.sobol(5000 - cut, 7, { key = 3, skip = cut }) }
      assert.is_true(mc.array_equal(whole, parts))
    end
    assert.is_false(mc.array_equal(whole, R.sobol(5000, 7, { key = 4 })))
  end)

  it('scrambles without bias: each point is uniform over the keys', function()
    local x, n = mc.zeros { 400, 3 }, 400
    for k = 1, n do x[k] = R.sobol(8, 3, { key = k })[6] end
    for j = 1, 3 do assert.is_nil(tol.stat(x[{ mc.all, j }]:mean():item(), 0.5, math.sqrt(1 / 12 / n))) end
  end)

  it('integrates a smooth function much better than random points', function()
    local function worst(points)
      local most = 0
      for k = 1, 5 do
        most = math.max(most, math.abs((mc.cos(points(k) * 2):prod(2)):mean():item() - (math.sin(2) / 2) ^ 4))
      end
      return most
    end
    local even = worst(function(k) return R.sobol(4096, 4, { key = k }) end)
    local random = worst(function(k) return R.uniform({ 4096, 4 }, { key = k }) end)
    assert.is_true(even * 20 < random)
  end)
end)

describe('halton', function()
  it("gives SciPy's points", function()
    local x = golden().halton
    local got = R.halton(x.shape[1], x.shape[2], { scramble = false })
    assert.is_true(mc.max(mc.abs(x - got)):item() <= 2 ^ -52)
  end)
  it('puts one of the first b^k points into every interval of length b^-k, scrambled or not', function()
    for _, scramble in ipairs { true, false } do
      for j, base in ipairs { 2, 3, 5, 7 } do
        local n = base ^ 3
        -- the middle of the interval's digits: rounding may not move a point over an edge
        local cell = mc.floor(R.halton(n, 4, { scramble = scramble, key = 2 })[{ mc.all, j }] * n + 1e-9):sort()
        assert.is_true(mc.array_equal(cell, mc.arange(0, n - 1)))
      end
    end
  end)
  it('splits, and differs from key to key', function()
    local whole = R.halton(700, 5, { key = 3 })
    assert.is_true(
      mc.array_equal(whole, mc.concat { R.halton(123, 5, { key = 3 }), R.halton(577, 5, { key = 3, skip = 123 }) }))
    assert.is_false(mc.array_equal(whole, R.halton(700, 5, { key = 4 })))
  end)
end)

describe('latin_hypercube', function()
  it('has one point in every slice of every coordinate', function()
    for _, centred in ipairs { true, false } do
      local n, d = 200, 6
      local x = R.latin_hypercube { n, d, key = 5, centred = centred }
      local cell = mc.floor(x * n):sort(1)
      assert.is_true(mc.array_equal(cell, mc.arange(0, n - 1):reshape { n, 1 } + mc.zeros { 1, d }))
      assert.is_true(x:min():item() >= 0 and x:max():item() < 1)
    end
  end)
end)

describe('the discrepancy', function()
  it("is SciPy's", function()
    local want = golden().discrepancy:item()
    -- the three sums cancel: their size, not the difference's, is the scale
    assert.is_nil(tol.compare('ACCUM', 'f64', discrepancy(R.sobol(256, 5, { scramble = false })) ^ 2, want ^ 2,
      { n = 256 * 256, scale = 3 * (13 / 12) ^ 5 }))
  end)
  it('of all three is below that of random points', function()
    local random = discrepancy(R.uniform({ 512, 6 }, { key = 1 }))
    for name, bound in pairs { sobol = 0.4, halton = 0.5, latin_hypercube = 0.95 } do
      local d = discrepancy(R[name](512, 6, { key = 1 }))
      assert(d < bound * random, ('%s: %.4g, random %.4g'):format(name, d, random))
    end
  end)
end)

describe('all three', function()
  it('take sizes in one table, write into out=, give empty results', function()
    for _, name in ipairs { 'sobol', 'halton', 'latin_hypercube' } do
      local want = R[name](6, 3, { key = 1 })
      assert.is_true(mc.array_equal(want, R[name] { 6, 3, key = 1 }))
      local base = mc.zeros { 3, 6 }
      R[name](6, 3, { key = 1, out = base.T })
      assert.is_true(mc.array_equal(want, base.T))
      assert.same({ 0, 3 }, { unpack(R[name](0, 3).shape) })
    end
  end)
  it('do not depend on the threads', function()
    support.restoring(function()
      for _, name in ipairs { 'sobol', 'halton', 'latin_hypercube' } do
        local want
        for _, threads in ipairs { 1, 2, 4 } do
          mc.set_num_threads(threads)
          local x = R[name](60000, 3, { key = 1 })
          want = want or x
          assert.is_true(mc.array_equal(want, x))
        end
      end
    end)
  end)
  it('say what is wrong', function()
    assert.matches('random%.sobol: d is 1112; direction numbers are there for 1111 dimensions',
      support.message(function() local _ = R.sobol(2, 1112) end))
    assert.matches('random%.halton: n is %-1; it must be integer >= 0',
      support.message(function() local _ = R.halton(-1, 2) end))
    assert.matches('random%.latin_hypercube: d is nil; it must be integer >= 1',
      support.message(function() local _ = R.latin_hypercube(3) end))
    assert.matches('random%.sobol: option "scrambled" is unknown; did you mean "scramble"',
      support.message(function() local _ = R.sobol { 2, 2, scrambled = true } end))
  end)
end)

it('leaves no tensor behind', function() assert.equal(BEFORE, support.tensor_bytes()) end)
