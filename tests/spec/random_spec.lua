-- random_spec.lua - streams of random numbers: published vectors, any split, statistics, seeds.
--
-- Philox4x32-10 is checked against its published answers through the public functions; the map from words to numbers is
-- written out here once more.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes() -- specs that ran earlier may hold some
local mc = require 'mascon'
local ffi = require 'ffi'
local sample, tol = support.load 'sample', support.load 'tol'
local read = sample.read

-- one block of Philox4x32-10 on uint64 boxes, from the paper
local u64 = ffi.typeof 'uint64_t'
local M32 = u64(2) ^ 32
local function philox(key, stream, block)
  local k0, k1 = u64(key) % M32, u64(key) / M32
  local c = { u64(block) % M32, u64(block) / M32, u64(stream) % M32, u64(stream) / M32 }
  local bit = require 'bit'
  for _ = 1, 10 do
    local p0, p1 = u64(0xD2511F53) * c[1], u64(0xCD9E8D57) * c[3]
    c = { bit.bxor(p1 / M32, c[2], k0), p1 % M32, bit.bxor(p0 / M32, c[4], k1), p0 % M32 }
    k0, k1 = (k0 + 0x9E3779B9) % M32, (k1 + 0xBB67AE85) % M32
  end
  return c
end

describe('the generator', function()
  it('is the published one', function()
    local file = mc.load(support.folder .. '/golden/ops_random.npz')
    local counter, key, want = file.kat_counter:totable(), file.kat_key:totable(), file.kat:totable()
    for i = 1, #want do
      local k = u64(key[i][2]) * M32 + u64(key[i][1])
      local b, s = u64(counter[i][2]) * M32 + u64(counter[i][1]), u64(counter[i][4]) * M32 + u64(counter[i][3])
      local got = philox(k, s, b)
      for w = 1, 4 do assert.equal(want[i][w], tonumber(got[w])) end
    end
  end)

  it('drives uniform numbers: 53 bits of two words, low half first; 24 of one word', function()
    local key, stream = 12345678901, 7
    local x, y = read(mc.rand({ 40 }, { seed = key, stream = stream })),
      read(mc.rand({ 40 }, { seed = key, stream = stream, dtype = 'f32' }))
    for i = 0, 39 do
      local c = philox(key, stream, math.floor(i / 2))
      local word = c[2 * (i % 2) + 2] * M32 + c[2 * (i % 2) + 1]
      assert.equal(tonumber(word / 2048) * 2 ^ -53, x[i + 1])
      local d = philox(key, stream, math.floor(i / 4))
      assert.equal(tonumber(d[i % 4 + 1] / 256) * 2 ^ -24, y[i + 1])
    end
  end)
end)

describe('a stream', function()
  it('has elements that depend on their place only', function()
    local long = read(mc.randn({ 40000 }, { seed = 5 }))
    local short = read(mc.randn({ 10 }, { seed = 5 }))
    for i = 1, 10 do assert.equal(long[i], short[i]) end
    local square = read(mc.randn({ 200, 200 }, { seed = 5 }))
    for i = 1, 40000 do assert(long[i] == square[i]) end
  end)

  it('is another one for another seed or stream, and the same for the same', function()
    local a, b = mc.rand({ 50 }, { seed = 1 }), mc.rand({ 50 }, { seed = 2 })
    assert.is_false(mc.array_equal(a, b))
    assert.is_false(mc.array_equal(a, mc.rand({ 50 }, { seed = 1, stream = 1 })))
    assert.is_true(mc.array_equal(a, mc.rand({ 50 }, { seed = 1 })))
    assert.is_true(mc.array_equal(a, mc.rand({ 50 }, { seed = 1, stream = 0 })))
  end)

  it('of the default generator goes on and starts anew with mc.seed', function()
    mc.seed(3)
    local a, b = mc.randn { 20 }, mc.randn { 20 }
    assert.is_false(mc.array_equal(a, b))
    mc.seed(3)
    assert.is_true(mc.array_equal(a, mc.randn { 20 }))
    assert.is_true(mc.array_equal(b, mc.randn { 20 }))
    local key, stream = mc.seed_state()
    assert.equal(3, key)
    assert.equal(2, stream)
  end)

  it('fills out=, also a strided one, with the same numbers', function()
    local want = mc.randn({ 7 }, { seed = 9 })
    local base = mc.zeros { 15 }
    local out = base[{ { 2, 14, 2 } }]
    mc.randn({ 7 }, { seed = 9, out = out })
    assert.is_true(mc.array_equal(out, want))
    assert.equal(0, base['1::2']:sum():item())
  end)
end)

describe('distributions', function()
  local n = 40000
  it('uniform: moments and range', function()
    for _, dtype in ipairs { 'f32', 'f64' } do
      local x = mc.rand({ n }, { seed = 21, dtype = dtype }):to 'f64'
      assert.is_nil(tol.stat(x:mean():item(), 0.5, math.sqrt(1 / 12 / n)))
      assert.is_nil(tol.stat(mc.square(x - 0.5):mean():item(), 1 / 12, math.sqrt(1 / 180 / n)))
      assert.is_true(x:min():item() >= 0 and x:max():item() < 1)
    end
  end)

  it('uniform: equal counts in 20 bins (chi-square)', function()
    local counts = mc.histogram(mc.rand({ n }, { seed = 22 }), { bins = 20, range = { 0, 1 } }):to 'f64'
    local chi = (mc.square(counts - n / 20) / (n / 20)):sum():item()
    assert.is_nil(tol.stat(chi, 19, math.sqrt(2 * 19)))
  end)

  it('normal: moments, no correlation of neighbours', function()
    for _, dtype in ipairs { 'f32', 'f64' } do
      local x = mc.randn({ n }, { seed = 23, dtype = dtype }):to 'f64'
      assert.is_nil(tol.stat(x:mean():item(), 0, 1 / math.sqrt(n)))
      assert.is_nil(tol.stat(mc.square(x):mean():item(), 1, math.sqrt(2 / n)))
      assert.is_nil(tol.stat((x * x * x):mean():item(), 0, math.sqrt(15 / n)))
      assert.is_nil(tol.stat((x * x * x * x):mean():item(), 3, math.sqrt(96 / n)))
      assert.is_nil(tol.stat((x['2:'] * x[':-2']):mean():item(), 0, 1 / math.sqrt(n)))
    end
  end)

  it('integers: both ends, every value equally often', function()
    local x = mc.randint(-3, 6, { n }, { seed = 24 })
    assert.equal('i64', x.dtype)
    local counts = mc.bincount(x + 3):to 'f64'
    assert.equal(10, counts:numel())
    local chi = (mc.square(counts - n / 10) / (n / 10)):sum():item()
    assert.is_nil(tol.stat(chi, 9, math.sqrt(18)))
    assert.equal(4, mc.randint(4, 4, {}, { seed = 1 }):item())
  end)

  it('integers of a wide range stay inside it', function()
    local x = mc.randint(-2 ^ 52, 2 ^ 52, { 1000 }, { seed = 25 })
    assert.is_true(x:min():item() >= -2 ^ 52 and x:max():item() <= 2 ^ 52)
    assert.is_true(x:min():item() < -2 ^ 51 and x:max():item() > 2 ^ 51)
  end)

  it('permutations hold every number once', function()
    local p = mc.randperm(1000, { seed = 4 })
    assert.is_true(mc.array_equal(p:sort(), mc.arange(1, 1000):to 'i64'))
    assert.is_false(mc.array_equal(p, mc.arange(1, 1000):to 'i64'))
    assert.equal(0, mc.randperm(0):numel())
  end)

  it('take their parameters', function()
    local z = mc.randn({ 30 }, { seed = 6 })
    assert.is_true(mc.allclose(mc.randn({ 30 }, { seed = 6, mean = 2, std = 0.5 }), z * 0.5 + 2,
      { rtol = 1e-15, atol = 1e-15 }))
    local u = mc.rand({ 30 }, { seed = 6, low = -2, high = 2 })
    assert.is_true(u:min():item() >= -2 and u:max():item() < 2)
  end)
end)

it('refuses nonsense by name', function()
  assert.matches('random_spec%.lua:%d+: randint: high 1 is below low 3',
    support.message(function() local _ = mc.randint(3, 1, { 2 }) end))
  assert.matches('randn: option "sed" is unknown; did you mean "seed"',
    support.message(function() local _ = mc.randn { 2, sed = 1 } end))
  assert.matches('random%.normal: parameters %(0, %-1%) are refused; a finite mean and std >= 0 are needed',
    support.message(function() local _ = mc.randn { 2, std = -1 } end))
  assert.matches('seed: n is 1.5', support.message(function() mc.seed(1.5) end))
  assert.matches('rand: .*i32.*f32', support.message(function() local _ = mc.rand { 2, dtype = 'i32' } end))
end)

it('leaves no tensor behind', function() assert.equal(BEFORE, support.tensor_bytes()) end)
