-- threads_spec.lua - results have the same bits for any number of threads and every time.
--
-- Shapes are large enough to be cut into several tasks.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes() -- specs that ran earlier may hold some
local mc = require 'mascon'
local ffi = require 'ffi'

local LARGE = support.gc and 15000 or 300000 -- a multiple of all row lengths below

-- the bytes of a contiguous tensor
local function bytes(t)
  t = t:contiguous()
  return ffi.string(t._data, t.nbytes)
end

local function rand(shape, seed, dtype) return mc.randn(shape, { seed = seed, dtype = dtype or 'f64' }) end

local CASES = {
  ['a chain of elementwise ops'] = function()
    local x = rand({ LARGE }, 1)
    return mc.exp(-mc.square(x)) + mc.sin(x) * 2
  end,
  ['broadcasting a column against rows'] = function() return rand({ LARGE / 300, 1 }, 1) * rand({ 300 }, 2) + 1 end,
  ['strided and converted operands'] = function()
    return rand({ LARGE / 300, 300 }, 1, 'f32').T + rand({ 300, LARGE / 300 }, 2)
  end,
  ['sum of everything'] = function() return rand({ LARGE }, 3):sum() end,
  ['f32 sum, mean and variance along rows'] = function()
    local x = rand({ 30, LARGE / 30 }, 4, 'f32')
    return mc.concat { x:sum(2), x:mean(2), x:var(2), x:std(2) }
  end,
  ['the same along columns'] = function()
    local x = rand({ LARGE / 30, 30 }, 4, 'f32')
    return mc.concat { x:sum(1), x:mean(1), x:var(1), x:max(1), x:prod(1) }
  end,
  ['reductions of a transposed view'] = function()
    local x = rand({ 20, 30, LARGE / 600 }, 5):permute_dims { 3, 1, 2 }
    return mc.concat { x:sum { 1, 3 }, x:max { 1, 3 }, x:mean { 2, 3 } }
  end,
  ['argmax of a long row'] = function()
    return mc.stack { rand({ LARGE }, 6):argmax(), rand({ LARGE }, 6):argmin() }
  end,
  ['running sums'] = function() return rand({ 40, LARGE / 40 }, 7):cumsum(1) end,
  ['variances and log sums of one long row'] = function()
    local x = rand({ LARGE }, 21)
    local holes = mc.where(mc.gt(x, 1), 0 / 0, x)
    return mc.stack { x:var(), x:logsumexp(), holes:nansum(), holes:nanmean(), holes:nanvar(), holes:nanmax(),
      holes:nanargmax():to 'f64' }
  end,
  ['softmax of rows, columns and everything'] = function()
    local x = rand({ LARGE / 300, 300 }, 22)
    return mc.stack { mc.softmax(x, 2), mc.softmax(x, 1), mc.softmax(x), mc.log_softmax(x.T, 1).T }
  end,
  ['segments'] = function()
    local x = rand({ LARGE / 10, 10 }, 23)
    local id = mc.randint(1, 9, { LARGE / 10 }, { seed = 3 })
    local wide = rand({ 100, LARGE / 100 }, 24)
    return mc.concat { mc.segment_sum(x, id):flatten(), mc.segment_prod(x, id):flatten(),
      mc.segment_mean(wide, id['1:100']):flatten() }
  end,
  ['topk'] = function() return (mc.topk(rand({ LARGE / 1000, 1000 }, 25), 20)) end,
  ['sorting rows'] = function() return rand({ LARGE / 1000, 1000 }, 8):sort() end,
  ['argsort of columns'] = function() return rand({ 1000, LARGE / 1000 }, 8):argsort(1) end,
  ['medians'] = function() return mc.median(rand({ LARGE / 500, 500 }, 9), 2) end,
  ['quantiles over two axes'] = function()
    return mc.quantile(rand({ 20, LARGE / 500, 25 }, 9), { 0.1, 0.5 }, { axis = { 1, 3 } })
  end,
  ['matrix product f64'] = function() return rand({ 700, 90 }, 10):matmul(rand({ 90, 600 }, 11)) end,
  ['matrix product f32, wide'] = function()
    return rand({ 33, 500 }, 10, 'f32'):matmul(rand({ 500, 1500 }, 11, 'f32'))
  end,
  ['matrix products of medium size'] = function()
    return mc.concat { rand({ 130, 131 }, 10):matmul(rand({ 131, 150 }, 11)),
      rand({ 6, 1100 }, 10):matmul(rand({ 1100, 150 }, 11)), rand({ 290, 300 }, 12):matmul(rand({ 300, 150 }, 13)) }
  end,
  ['batched matrix product'] = function() return rand({ 25, 60, 70 }, 12):matmul(rand({ 70, 50 }, 13)) end,
  ['complex matrix product'] = function()
    local a = mc.fft.fft(rand({ 300, 64 }, 14))
    return a:matmul(mc.conj(a).T)
  end,
  ['integer matrix product'] = function()
    return mc.randint(-9, 9, { 80, 70 }, { seed = 1 }):matmul(mc.randint(-9, 9, { 4, 70, 60 }, { seed = 2 }))
  end,
  ['transforms of rows'] = function() return mc.fft.rfft(rand({ LARGE / 600, 600 }, 15)) end,
  ['transforms of columns'] = function() return mc.fft.fft(rand({ 625, LARGE / 625 }, 15), { axis = 1 }) end,
  ['one long transform'] = function() return mc.fft.fft(rand({ 65536 }, 16)) end,
  ['gathering and masks'] = function()
    local x = rand({ LARGE / 100, 100 }, 17)
    return x[mc.gt(x, 0.5)]
  end,
  ['random numbers'] = function() return mc.concat { mc.rand({ LARGE }, { seed = 5 }),
    mc.randn({ LARGE }, { seed = 5 }), mc.randint(1, 6, { LARGE }, { seed = 5 }):to 'f64' } end,
  ['copies of transposed tensors'] = function() return rand({ 300, LARGE / 300 }, 18).T:copy() end,
}

describe('the number of threads', function()
  for name, f in pairs(CASES) do
    it('does not change ' .. name, function()
      support.restoring(function()
        mc.set_num_threads(1)
        local want = bytes(f())
        for _, n in ipairs { 2, 4, 7 } do
          mc.set_num_threads(n)
          assert(bytes(f()) == want, ('%d threads give other bits'):format(n))
        end
      end)
    end)
  end

  it('does not change the own transform', function()
    mc.fft.config 'mascon'
    support.restoring(function()
      local x = mc.fft.fft(rand({ 300, 240 }, 1))
      mc.set_num_threads(1)
      local want = bytes(mc.fft.ifft(x))
      mc.set_num_threads(4)
      assert(bytes(mc.fft.ifft(x)) == want)
    end)
    mc.fft.config 'auto'
  end)

  it('leaves the process where it may run', function()
    local function allowed() return mc.file.read '/proc/thread-self/status':match 'Cpus_allowed:%s*(%S+)' end
    local before = allowed()
    support.restoring(function()
      for _, n in ipairs { 2, 4, 3, 2 } do
        mc.set_num_threads(n)
        rand({ LARGE }, 3):sum()
        assert.equal(before, allowed())
      end
    end)
  end)

  it('stands for as long as it was set', function()
    support.restoring(function()
      mc.set_num_threads(3)
      assert.equal(3, mc.get_num_threads())
      assert.matches('set_num_threads: n is 0', support.message(function() mc.set_num_threads(0) end))
      assert.equal(3, mc.get_num_threads())
    end)
  end)
end)

describe('repeating a script', function()
  it('gives the same bits every time', function()
    local function script()
      mc.seed(11)
      local x = mc.randn { 300, 200 }
      local y = mc.fft.irfft(mc.fft.rfft(x) * 2):matmul(x.T)
      return bytes(y:sort()) .. bytes(y:sum(1)) .. bytes(mc.randperm(50))
    end
    local want = script()
    for k = 2, support.gc and 3 or 20 do assert(script() == want, 'run ' .. k .. ' differs') end
  end)

  it('v3 and v4 agree bitwise where the machine has both', function()
    local has = {}
    for _, l in ipairs(support.levels()) do has[l] = true end
    if not (has.v3 and has.v4) then
      pending('this machine has no v4')
      return
    end
    local C = require 'mascon.core.ffi'.C
    support.restoring(function()
      for name, f in pairs(CASES) do
        assert(C.mc_isa_set 'v3' == 0)
        local want = bytes(f())
        assert(C.mc_isa_set 'v4' == 0)
        assert(bytes(f()) == want, name)
      end
    end)
  end)
end)

describe('complex arithmetic', function()
  it('an element has the same bits wherever it stands in a row', function()
    for _, dtype in ipairs { 'c64', 'c128' } do
      local function z(seed)
        return (mc.randn { 61, seed = seed } + mc.randn { 61, seed = seed + 1 } * mc.complex(0, 1)):to(dtype)
      end
      local a, b, c = z(1), z(3), z(5)
      for name, f in pairs { multiply = mc.multiply, divide = mc.divide, lerp = function(x, y)
        return mc.lerp(x, y, c[1])
      end, square = function(x)
        return mc.square(x)
      end } do
        local whole = f(a, b)
        for i = 1, 61 do
          assert(mc.array_equal(whole[{ { i, i } }], f(a[{ { i, i } }], b[{ { i, i } }])),
            ('%s of %s, element %d'):format(name, dtype, i))
        end
      end
    end
  end)
end)

it('leaves no tensor behind', function()
  support.restoring(function() end)
  assert.equal(BEFORE, support.tensor_bytes())
end)
