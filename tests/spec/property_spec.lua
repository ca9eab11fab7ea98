-- property_spec.lua - laws that hold for all inputs, tried on random ones: inverses, linearity, symmetry, permutation,
-- broadcasting, aliasing.
--
-- Every failure prints its seed and the smallest case that fails (tests/support/property.lua).
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes() -- specs that ran earlier may hold some
local mc = require 'mascon'
local sample, tol, property = support.load 'sample', support.load 'tol', support.load 'property'
local read = sample.read

local function law(name, f, rounds) it(name, function() property.check(f, rounds) end) end
local function random_shape(draw, most, largest) return draw.shape(most, largest) end

local function close(class, a, b, more)
  assert(tostring(a.shape) == tostring(b.shape), 'shapes ' .. tostring(a.shape) .. ' and ' .. tostring(b.shape))
  local x, y = read(a), read(b)
  for i = 1, #y do
    local wrong = tol.compare(class, b.dtype, x[i], y[i], more)
    if wrong then error(('element %d: %s'):format(i, wrong), 0) end
  end
end
local function equal(a, b) close('EXACT', a, b) end

local function norm(x) return math.sqrt(mc.square(mc.abs(x)):sum():item()) end

describe('transforms', function()
  local function complex(draw, n)
    return draw.tensor({ n }, 'c128')
  end

  law('are linear', function(draw)
    local n = draw(1, 400)
    local x, y, a = complex(draw, n), complex(draw, n), draw(-5, 5)
    local left, right = mc.fft.fft(x * a + y), mc.fft.fft(x) * a + mc.fft.fft(y)
    close('FFT', left, right, { n = n + 1, scale = math.abs(a) * norm(x) + norm(y) + 1 })
  end)

  law('are undone by their inverse', function(draw)
    local n = draw(1, 500)
    local x = complex(draw, n)
    for _, how in ipairs { 'backward', 'ortho', 'forward' } do
      close('FFT', mc.fft.ifft(mc.fft.fft(x, { norm = how }), { norm = how }), x, { n = n + 1, scale = norm(x) })
    end
    local r = draw.tensor({ n }, 'f64')
    close('FFT', mc.fft.irfft(mc.fft.rfft(r), { n = n }), r, { n = n + 1, scale = norm(r) })
  end)

  law('turn a shift into a phase', function(draw)
    local n, k = draw(1, 300), draw(0, 300)
    local x = complex(draw, n)
    local phase = {}
    for i = 0, n - 1 do
      local t = -2 * math.pi * (i * k % n) / n
      phase[i + 1] = mc.complex(math.cos(t), math.sin(t))
    end
    close('FFT', mc.fft.fft(mc.roll(x, k)), mc.fft.fft(x) * mc.tensor(phase), { n = n + 1, scale = 2 * norm(x) })
  end)

  law('keep the energy (Parseval)', function(draw)
    local n = draw(1, 600)
    local x = complex(draw, n)
    local y = mc.fft.fft(x, { norm = 'ortho' })
    assert(not tol.compare('ACCUM', 'f64', norm(y), norm(x), { n = n, scale = norm(x) * 4 }))
  end)

  law('of real signals are the half of the complex one', function(draw)
    local n = draw(1, 300)
    local x = draw.tensor({ n }, 'f64')
    local half = math.floor(n / 2) + 1
    close('FFT', mc.fft.rfft(x), mc.fft.fft(x)[{ { 1, half } }], { n = n + 1, scale = norm(x) })
  end)
end)

describe('order', function()
  law('sort is idempotent and a permutation, argsort says which', function(draw)
    local dtypes = { 'u8', 'i16', 'i32', 'i64', 'f32', 'f64' }
    local dtype, n = dtypes[draw(1, #dtypes)], draw(1, 700)
    local x = draw.tensor({ n }, dtype)
    local s, p = x:sort(), x:argsort()
    equal(s:sort(), s)
    equal(x[p], s)
    equal(p:sort(), mc.arange(1, n):to 'i64')
    local list = read(s)
    for i = 2, n do assert(list[i - 1] <= list[i], 'not ascending at ' .. i) end
  end)

  law('the median has no more than half of the elements on either side', function(draw)
    local n = draw(1, 500)
    local x = draw.tensor({ n }, 'f64')
    local m = x:median():item()
    local below, above = mc.lt(x, m):sum():item(), mc.gt(x, m):sum():item()
    assert(below <= n / 2 and above <= n / 2, below .. ' below, ' .. above .. ' above')
  end)
end)

describe('sums', function()
  law('of integers do not depend on how they are split', function(draw)
    local shape = random_shape(draw, 4, 9)
    local x = draw.tensor(shape, 'i32', draw.layout(), 'plain')
    local whole = x:sum():item()
    for a = 1, #shape do
      assert(x:sum(a):sum():item() == whole, 'axis ' .. a)
      local k = draw(0, shape[a])
      local head, tail = {}, {}
      for i = 1, #shape do head[i], tail[i] = mc.all, mc.all end
      head[a], tail[a] = { 1, k }, { k + 1, shape[a] }
      if k == 0 then head[a] = { 2, 1 } end
      if k == shape[a] then tail[a] = { 2, 1 } end
      assert(x[head]:sum():item() + x[tail]:sum():item() == whole, 'split at ' .. k)
    end
    assert(x:cumsum{ axis = 1 }[-1]:sum():item() == whole)
  end)

  law('of floats stay within their class for every layout', function(draw)
    local shape = random_shape(draw, 3, 40)
    local x = draw.tensor(shape, 'f32', draw.layout(), 'plain')
    local size = mc.abs(x:to 'f64'):sum():item()
    assert(not tol.compare('ACCUM', 'f32', x:sum():item(), x:to 'f64':sum():item(), { n = x:numel(), scale = size }))
  end)
end)

describe('broadcasting', function()
  law('is the same as repeating', function(draw)
    local shape = random_shape(draw, 4, 5)
    local small = {}
    for i = draw(1, #shape), #shape do small[#small + 1] = draw(0, 1) == 0 and 1 or shape[i] end
    local a = draw.tensor(shape, 'f64', draw.layout(), 'plain')
    local b = draw.tensor(small, 'f64', draw.layout(), 'plain')
    equal(a + b, a + b:broadcast_to(shape):copy())
    equal(b - a, b:broadcast_to(shape) - a)
    equal(a * b, b * a)
    equal(mc.where(mc.gt(a, b), a, b), mc.maximum(a, b))
  end)
end)

describe('shapes', function()
  law('reshape there and back keeps the elements and their order', function(draw)
    local shape = random_shape(draw, 4, 6)
    local x = draw.tensor(shape, 'i16', draw.layout(), 'any')
    local flat = x:reshape(-1)
    equal(flat:reshape(shape), x)
    local list, want = read(flat), read(x)
    for i = 1, #want do assert(list[i] == want[i]) end
  end)

  law('permute and its inverse cancel', function(draw)
    local shape = random_shape(draw, 5, 4)
    local x = draw.tensor(shape, 'f32', draw.layout(), 'plain')
    local p, q = {}, {}
    for i = 1, #shape do p[i] = i end
    for i = #shape, 2, -1 do
      local j = draw(1, i)
      p[i], p[j] = p[j], p[i]
    end
    for i, v in ipairs(p) do q[v] = i end
    equal(x:permute_dims(p):permute_dims(q), x)
    equal(x:permute_dims(p):copy():permute_dims(q), x)
  end)

  law('concat undoes split, flip twice is nothing, roll goes round', function(draw)
    local shape = random_shape(draw, 3, 6)
    local a = draw(1, #shape)
    shape[a] = shape[a] * 2
    local x = draw.tensor(shape, 'f64', draw.layout(), 'plain')
    equal(mc.concat(x:split(2, a), a), x)
    equal(x:flip(a):flip(a), x)
    local k = draw(-20, 20)
    equal(x:roll(k, { axis = a }):roll(-k, { axis = a }), x)
    equal(x:roll(shape[a], { axis = a }), x)
    equal(x:roll(k):roll(-k), x)
  end)

  law('take along argsort sorts any axis', function(draw)
    local shape = random_shape(draw, 3, 7)
    local a = draw(1, #shape)
    local x = draw.tensor(shape, 'f64', draw.layout(), 'plain')
    equal(mc.take_along_axis(x, x:argsort(a), a), x:sort(a))
  end)
end)

describe('conversion', function()
  law('there and back through a wider dtype loses nothing', function(draw)
    local pairs_of = { { 'u8', 'i16' }, { 'i8', 'i32' }, { 'i16', 'f32' }, { 'i32', 'f64' }, { 'f32', 'f64' },
      { 'f16', 'f32' }, { 'bf16', 'f32' }, { 'f64', 'c128' }, { 'bool', 'u8' } }
    local p = pairs_of[draw(1, #pairs_of)]
    local x = draw.tensor(draw.shape(3, 9), p[1], draw.layout(), 'any')
    equal(x:to(p[2]):to(p[1]), x)
  end)
end)

-- ---------------------------------------------------------------- laws over the op table

local BINARY = { 'add', 'multiply', 'maximum', 'minimum', 'hypot', 'logaddexp', 'eq', 'ne', 'logical_and', 'logical_or',
  'logical_xor', 'bitwise_and', 'bitwise_or', 'bitwise_xor' }
local function takes(name, dtype)
  for _, d in ipairs(mc.ops[name].dtypes) do if d == dtype then return true end end
  return mc.ops[name].promote == 'bool'
end

describe('symmetry', function()
  law('of commutative ops holds to the bit', function(draw)
    local name, dtype = draw.one(BINARY), draw.dtype()
    if not takes(name, dtype) then return end
    local shape = draw.shape(3, 6)
    local a, b = draw.tensor(shape, dtype, draw.layout(), 'any'), draw.tensor(shape, dtype, draw.layout(), 'any')
    equal(mc[name](a, b), mc[name](b, a))
  end, 60)

  law('of odd and even functions holds to the bit', function(draw)
    local odd = draw.one { 'sin', 'tan', 'sinh', 'tanh', 'asinh', 'atan', 'erf', 'negative' }
    local even = draw.one { 'cos', 'cosh', 'abs', 'square' }
    local x = draw.tensor(draw.shape(2, 40), draw.one { 'f64', 'f32' }, draw.layout())
    equal(mc[odd](-x), -mc[odd](x))
    equal(mc[even](-x), mc[even](x))
  end)

  law('of products: (a b)^T = b^T a^T', function(draw)
    local m, k, n = draw(1, 20), draw(1, 20), draw(1, 20)
    local a, b = draw.tensor({ m, k }, 'f64'), draw.tensor({ k, n }, 'f64')
    close('ACCUM', mc.matmul(a, b).T, mc.matmul(b.T, a.T), { n = k, scale = 4 * 4 * k })
  end)
end)

describe('inverses', function()
  local PAIRS = { { 'exp', 'log' }, { 'expm1', 'log1p' }, { 'sinh', 'asinh' }, { 'tanh', 'atanh' }, { 'exp2', 'log2' } }
  law('undo what they invert', function(draw)
    local p = draw.one(PAIRS)
    local x = draw.tensor(draw.shape(2, 40), draw.one { 'f64', 'f32' }, draw.layout()) / 4
    -- an error of one unit in y moves x by eps y / (x f'(x)): at most 8 units for |x| <= 1 and these functions
    close('ACCUM', mc[p[2]](mc[p[1]](x)), x, { n = 64, scale = 1 })
  end)

  law('cumulative sums and differences cancel for integers', function(draw)
    local x = draw.tensor(draw.shape(1, 50), draw.one { 'i64', 'i32' }, draw.layout(), 'small')
    local c = x:cumsum(1)
    equal(mc.diff(mc.concat { mc.zeros({ 1 }, { dtype = 'i64' }), c }), x:to 'i64')
  end)

  law('of well-conditioned matrices solve their systems', function(draw)
    local n = draw(1, 12)
    local a = draw.tensor({ n, n }, 'f64') + mc.eye(n) * (8 * n)
    local x = draw.tensor({ n, draw(1, 4) }, 'f64')
    close('ACCUM', mc.linalg.solve(a, mc.matmul(a, x)), x, { n = n, scale = 64 * n })
  end)
end)

describe('linearity', function()
  law('of sums, products and differences holds exactly for integers', function(draw)
    local shape = draw.shape(3, 8)
    local axis = draw.axis(shape)
    local x, y, a = draw.tensor(shape, 'i64', draw.layout(), 'small'),
      draw.tensor(shape, 'i64', draw.layout(), 'small'), draw(-4, 4)
    local z = x * a + y
    for _, f in ipairs { function(t) return t:sum(axis) end, function(t) return t:cumsum(axis) end,
      function(t) return mc.diff(t, axis) end, function(t) return t:flip(axis) end } do
      equal(f(z), f(x) * a + f(y))
    end
  end)
end)

describe('permutation', function()
  law('changes no order statistic, no extreme and no integer sum', function(draw)
    local n = draw(1, 60)
    local x = draw.tensor({ n }, draw.one { 'f64', 'f32', 'i64' }, 'contiguous')
    local y = x[mc.tensor(draw.permutation(n), { dtype = 'i64' })]
    equal(y:sort(), x:sort())
    equal(y:max(), x:max())
    equal(y:min(), x:min())
    if x.dtype == 'i64' then equal(y:sum(), x:sum()) else equal(y:median(), x:median()) end
  end)
end)

describe('broadcasting and aliasing', function()
  law('an elementwise op sees a broadcast operand as its copy', function(draw)
    local name, dtype = draw.one { 'add', 'subtract', 'multiply', 'maximum', 'atan2', 'hypot', 'lt' }, draw.dtype()
    if not takes(name, dtype) then return end
    local shape = draw.shape(3, 5)
    local small = {}
    for i = draw(1, #shape), #shape do small[#small + 1] = draw(0, 1) == 0 and 1 or shape[i] end
    local a, b = draw.tensor(shape, dtype, draw.layout()), draw.tensor(small, dtype, draw.layout())
    equal(mc[name](a, b), mc[name](a, b:broadcast_to(shape):copy()))
    equal(mc[name](b, a), mc[name](b:broadcast_to(shape):copy(), a))
  end, 40)

  law('out= may be an operand, or a view that overlaps one', function(draw)
    local name = draw.one { 'add', 'subtract', 'multiply', 'maximum' }
    local n = draw(2, 40)
    local x, y = draw.tensor({ n }, 'f64'), draw.tensor({ n }, 'f64')
    local want = mc[name](x, y)
    local a, b = x:copy(), y:copy()
    equal(mc[name](a, y, { out = a }), want)
    equal(mc[name](x, b, { out = b }), want)
    local base = mc.concat { x, mc.zeros { 1 } }
    local head, tail = base[{ { 1, n } }], base[{ { 2, n + 1 } }]
    equal(mc[name](head, y, { out = tail }), want)
  end, 40)

  law('out= of reductions, scans and sorts may be their operand', function(draw)
    local shape = draw.shape(2, 12)
    local axis = draw.axis(shape)
    local x = draw.tensor(shape, 'f64', 'contiguous')
    local a, b = x:copy(), x:copy()
    equal(mc.cumsum(a, axis, { out = a }), mc.cumsum(x, axis))
    equal(mc.sort(b, axis, { out = b }), mc.sort(x, axis))
  end)
end)

describe('a failing law', function()
  it('is reported with its seed and the smallest case', function()
    local report, small = property.run(function(draw)
      local shape = draw.shape(4, 20)
      local x = draw.tensor(shape, draw.dtype(), draw.layout())
      for i = 1, #shape do if shape[i] >= 7 then error('too wide: ' .. sample.describe(x.dtype, shape), 0) end end
    end, property.first)
    assert.matches('^seed %d+: too wide: f64%[7%]', report)
    assert.matches('\n  f64%[7%] contiguous: ones', report)
    assert.same({ 0, 6 }, small)
  end)

  it('shrinks to the boundary of a number', function()
    local report = property.run(function(draw)
      local a, b = draw(0, 1000), draw(0, 1000)
      if a + b >= 100 then error(('%d %d'):format(a, b), 0) end
    end, property.first)
    local a, b = report:match '^seed %d+: (%d+) (%d+)'
    assert.equal(100, a + b)
  end)

  it('does not hide a law that holds', function() assert.is_nil((property.run(function(draw) draw(1, 6) end, 1))) end)
end)

it('leaves no tensor behind', function() assert.equal(BEFORE, support.tensor_bytes()) end)
