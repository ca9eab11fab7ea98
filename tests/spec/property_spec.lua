-- property_spec.lua: laws that hold for all inputs, tried on random ones. Every failure prints the seed that made it.
--
-- MASCON_TEST_SEED=n repeats one run; otherwise seeds are fixed, so that a failing suite fails again. May not know how ops are made.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes() -- specs that ran earlier may hold some
local mc = require 'mascon'
local sample, tol = support.load 'sample', support.load 'tol'
local read = sample.read

local FIRST = tonumber(os.getenv 'MASCON_TEST_SEED' or '') or 20240901
local ROUNDS = os.getenv 'MASCON_TEST_SEED' and 1 or support.gc and 3 or 25

-- runs a law for several seeds; `draw` gives whole numbers of a range
local function law(name, f)
  it(name, function()
    for k = 0, ROUNDS - 1 do
      local seed = FIRST + k
      local stream = sample.stream(seed)
      local function draw(lo, hi) return lo + math.floor(stream() * (hi - lo + 1)) end
      local ok, e = pcall(f, draw, seed)
      if not ok then error(('seed %d: %s'):format(seed, tostring(e)), 0) end
    end
  end)
end

local function random_shape(draw, most, largest)
  local s = {}
  for i = 1, draw(1, most) do s[i] = draw(1, largest) end
  return s
end

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
    return sample.from({ n }, 'c128', sample.values('c128', n, draw(1, 1e6), 'plain'))
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
    local r = sample.from({ n }, 'f64', sample.values('f64', n, draw(1, 1e6), 'plain'))
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
    local x = sample.from({ n }, 'f64', sample.values('f64', n, draw(1, 1e6), 'plain'))
    local half = math.floor(n / 2) + 1
    close('FFT', mc.fft.rfft(x), mc.fft.fft(x)[{ { 1, half } }], { n = n + 1, scale = norm(x) })
  end)
end)

describe('order', function()
  law('sort is idempotent and a permutation, argsort says which', function(draw)
    local dtypes = { 'u8', 'i16', 'i32', 'i64', 'f32', 'f64' }
    local dtype, n = dtypes[draw(1, #dtypes)], draw(1, 700)
    local x = sample.from({ n }, dtype, sample.values(dtype, n, draw(1, 1e6), 'plain'))
    local s, p = x:sort(), x:argsort()
    equal(s:sort(), s)
    equal(x[p], s)
    equal(p:sort(), mc.arange(1, n):to 'i64')
    local list = read(s)
    for i = 2, n do assert(list[i - 1] <= list[i], 'not ascending at ' .. i) end
  end)

  law('the median has as many elements below as above', function(draw)
    local n = draw(1, 500)
    local x = sample.from({ n }, 'f64', sample.values('f64', n, draw(1, 1e6), 'plain'))
    local m = x:median():item()
    local below, above = mc.lt(x, m):sum():item(), mc.gt(x, m):sum():item()
    assert(math.abs(below - above) <= 1, below .. ' below, ' .. above .. ' above')
  end)
end)

describe('sums', function()
  law('of integers do not depend on how they are split', function(draw)
    local shape = random_shape(draw, 4, 9)
    local x = sample.make(shape, 'i32', sample.layouts[draw(1, 5)], draw(1, 1e6), 'plain')
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
    local x = sample.make(shape, 'f32', sample.layouts[draw(1, 5)], draw(1, 1e6), 'plain')
    local size = mc.abs(x:to 'f64'):sum():item()
    assert(not tol.compare('ACCUM', 'f32', x:sum():item(), x:to 'f64':sum():item(), { n = x:numel(), scale = size }))
  end)
end)

describe('broadcasting', function()
  law('is the same as repeating', function(draw)
    local shape = random_shape(draw, 4, 5)
    local small = {}
    for i = draw(1, #shape), #shape do small[#small + 1] = draw(0, 1) == 0 and 1 or shape[i] end
    local a = sample.make(shape, 'f64', sample.layouts[draw(1, 5)], draw(1, 1e6), 'plain')
    local b = sample.make(small, 'f64', sample.layouts[draw(1, 5)], draw(1, 1e6), 'plain')
    equal(a + b, a + b:broadcast_to(shape):copy())
    equal(b - a, b:broadcast_to(shape) - a)
    equal(a * b, b * a)
    equal(mc.where(mc.gt(a, b), a, b), mc.maximum(a, b))
  end)
end)

describe('shapes', function()
  law('reshape there and back keeps the elements and their order', function(draw)
    local shape = random_shape(draw, 4, 6)
    local x = sample.make(shape, 'i16', sample.layouts[draw(1, 5)], draw(1, 1e6), 'any')
    local flat = x:reshape(-1)
    equal(flat:reshape(shape), x)
    local list, want = read(flat), read(x)
    for i = 1, #want do assert(list[i] == want[i]) end
  end)

  law('permute and its inverse cancel', function(draw)
    local shape = random_shape(draw, 5, 4)
    local x = sample.make(shape, 'f32', sample.layouts[draw(1, 5)], draw(1, 1e6), 'plain')
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
    local x = sample.make(shape, 'f64', sample.layouts[draw(1, 5)], draw(1, 1e6), 'plain')
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
    local x = sample.make(shape, 'f64', sample.layouts[draw(1, 5)], draw(1, 1e6), 'plain')
    equal(mc.take_along_axis(x, x:argsort(a), a), x:sort(a))
  end)
end)

describe('conversion', function()
  law('there and back through a wider dtype loses nothing', function(draw)
    local pairs_of = { { 'u8', 'i16' }, { 'i8', 'i32' }, { 'i16', 'f32' }, { 'i32', 'f64' }, { 'f32', 'f64' }, { 'f16', 'f32' }, { 'bf16', 'f32' }, { 'f64', 'c128' }, { 'bool', 'u8' } }
    local p = pairs_of[draw(1, #pairs_of)]
    local x = sample.make(random_shape(draw, 3, 9), p[1], sample.layouts[draw(1, 5)], draw(1, 1e6), 'any')
    equal(x:to(p[2]):to(p[1]), x)
  end)
end)

it('leaves no tensor behind', function() assert.equal(BEFORE, support.tensor_bytes()) end)
