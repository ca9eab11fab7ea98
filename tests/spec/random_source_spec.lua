-- random_source_spec.lua - keys, generators and the one rule of where numbers come from; sizes, parameters and dtypes
-- of all distributions.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes() -- specs that ran earlier may hold some
local mc = require 'mascon'
local R = mc.random
local laws = support.load 'random_laws'

local names = {}
for name in pairs(laws) do names[#names + 1] = name end
table.sort(names)

--- Options of the first case of a law, with more.
local function options(name, more, at)
  local o = {}
  for k, v in pairs(laws[name][at or 1].p) do o[k] = v end
  for k, v in pairs(more or {}) do o[k] = v end
  return o
end
local function same(a, b) return mc.array_equal(a, b) end

describe('a key', function()
  it('comes from a seed, and seed = n is short for it', function()
    assert.is_true(same(R.normal({ 50 }, { seed = 7 }), R.normal({ 50 }, { key = R.key(7) })))
    assert.is_true(same(R.normal({ 50 }, { key = 7 }), R.normal({ 50 }, { key = R.key(7) })))
    assert.is_true(R.key(R.key(7)) == R.key(7))
    assert.equal('key 0x0000000200000003', tostring(R.key(2 ^ 33 + 3)))
  end)
  it('gives the same numbers at every call, whatever was drawn between', function()
    local key = R.key(3)
    local a = R.gamma({ 10 }, { a = 2, key = key })
    R.normal { 5 }
    assert.is_true(same(a, R.gamma({ 10 }, { a = 2, key = key })))
  end)
  it('splits into keys that differ from each other, the same ones each time', function()
    local seen, list = {}, R.key(11):split(100)
    assert.equal(100, #list)
    for i, k in ipairs(list) do
      assert.is_nil(seen[tostring(k)])
      seen[tostring(k)] = true
      assert.is_true(k == R.key(11):split(100)[i])
      assert.is_true(k.lo >= 0 and k.lo < 2 ^ 32 and k.hi >= 0 and k.hi < 2 ^ 32)
    end
    assert.equal(2, #R.key(11):split())
    assert.is_nil(seen[tostring(R.key(11):fold_in(0))])
    assert.is_true(R.key(11):split(3)[2] == R.key(11):split(50)[2])
  end)
  it('folds in numbers up to 2^53', function()
    local seen = {}
    for _, i in ipairs { 0, 1, 2, 3, 2 ^ 32, 2 ^ 40 + 1, 2 ^ 53 - 1 } do
      local k = tostring(R.key(1):fold_in(i))
      assert.is_nil(seen[k])
      seen[k] = true
    end
  end)
end)

describe('a generator', function()
  it('goes on from call to call, and takes its state back', function()
    local g = R.generator(5)
    local a, state = g:normal { 4 }, g:state()
    local b, c = g:uniform { 4 }, g:poisson({ 4 }, { rate = 3 })
    assert.is_false(same(a, g:normal { 4 }))
    g:restore(state)
    assert.is_true(same(b, g:uniform { 4 }) and same(c, R.poisson { 4, rate = 3, generator = g }))
    assert.same({ key = { 5, 0 }, stream = 3 }, g:state())
    assert.is_true(same(a, R.generator(9):restore { key = { 5, 0 }, stream = 0 }:normal { 4 }))
  end)
  it('serves also what takes other arguments than sizes', function()
    local g, h = R.generator(5), R.generator(5)
    local a, b = R.permutation(9, { generator = g }), R.sobol(4, 2, { generator = g })
    assert.is_true(same(a, R.permutation(9, { generator = h })) and same(b, R.sobol(4, 2, { generator = h })))
    assert.is_false(same(a, R.permutation(9, { generator = h })))
  end)
  it('does not touch the default one', function()
    mc.seed(4)
    local _, before = mc.seed_state()
    R.generator(4):normal { 3 }
    R.normal { 3, key = 4 }
    local _, after = mc.seed_state()
    assert.equal(before, after)
    assert.is_true(same(R.normal { 3 }, R.generator(4):normal { 3 }))
    assert.is_true(R.default_generator().stream == 1)
  end)
end)

describe('every distribution', function()
  it('gives the same numbers for a scalar, a 0-d tensor and a full tensor of parameters', function()
    for _, name in ipairs(names) do
      if name ~= 'multinomial' then
        for at = 1, #laws[name] do
          local want = R[name]({ 70 }, options(name, { key = 3 }, at))
          local o, full = options(name, { key = 3 }, at), options(name, { key = 3 }, at)
          local dtype = name == 'integers' and 'i64' or 'f64'
          for k, v in pairs(laws[name][at].p) do
            o[k], full[k] = mc.tensor(v, { dtype = dtype }), mc.full({ 70 }, v, { dtype = dtype })
          end
          assert(same(want, R[name]({ 70 }, o)), name .. ': 0-d parameters')
          assert(same(want, R[name]({ 70 }, full)), name .. ': parameters of the size of the result')
          if next(laws[name][at].p) then assert(same(want, R[name](full)), name .. ': sizes from the parameters') end
        end
      end
    end
  end)

  it('broadcasts parameters, strided and of other dtypes', function()
    local mean, std = mc.tensor { 0, 100, 200 }, mc.tensor({ { 1 }, { 2 } }, { dtype = 'f32' })
    local x = R.normal { mean = mean, std = std, key = 1 }
    assert.same({ 2, 3 }, { unpack(x.shape) })
    assert.is_true(mc.allclose(x, mean + std:to 'f64' * R.normal({ 2, 3 }, { key = 1 }), { rtol = 1e-14 }))
    local base = mc.arange(1, 12):reshape { 3, 4 }
    assert.is_true(same(R.gamma { a = base.T, key = 2 }, R.gamma { a = base.T:contiguous(), key = 2 }))
    assert.is_true(same(R.poisson { 5, 3, rate = mc.tensor({ 1, 2, 3 }, { dtype = 'i32' }), key = 2 },
      R.poisson { 5, 3, rate = { 1, 2, 3 }, key = 2 }))
  end)

  it('writes into out=, strided, and over its own parameter', function()
    for _, name in ipairs(names) do
      if name ~= 'multinomial' then
        local want = R[name]({ 33 }, options(name, { key = 4 }))
        local base = mc.zeros({ 66 }, { dtype = want.dtype })
        R[name]({ 33 }, options(name, { key = 4, out = base['1::2'] }))
        assert(same(want, base['1::2']), name)
        assert(base['2::2']:to('f64'):sum():item() == 0, name)
      end
    end
    local a = mc.linspace(0.5, 5, 3000)
    local want = R.gamma { a = a, key = 1 }
    R.gamma { a = a, key = 1, out = a }
    assert.is_true(same(want, a))
    local shifted = mc.linspace(0.5, 5, 3001)
    want = R.gamma { a = shifted[{ { 2, 3001 } }], key = 1 }
    R.gamma { a = shifted[{ { 2, 3001 } }], key = 1, out = shifted[{ { 1, 3000 } }] }
    assert.is_true(same(want, shifted[{ { 1, 3000 } }]))
  end)

  it('takes empty and 0-d sizes', function()
    for _, name in ipairs(names) do
      if name ~= 'multinomial' then
        assert(R[name]({ 3, 0 }, options(name, { key = 1 })):numel() == 0, name)
        assert(R[name]({}, options(name, { key = 1 })).ndim == 0, name)
        assert(same(R[name]({}, options(name, { key = 1 })):reshape { 1 }, R[name]({ 1 }, options(name, { key = 1 }))),
          name)
      end
    end
    assert.equal(0, R.gamma({ a = mc.zeros { 0 } }):numel())
  end)

  it('does not depend on threads, on the shape or on what follows', function()
    support.restoring(function()
      local n = 70001
      for _, name in ipairs(names) do
        local want
        for _, threads in ipairs { 1, 2, 4 } do
          mc.set_num_threads(threads)
          local x = R[name]({ n }, options(name, { key = 6 }))
          want = want or x
          assert(same(want, x), ('%s with %d threads'):format(name, threads))
        end
        assert(same(want[{ { 1, 1000 } }], R[name]({ 1000 }, options(name, { key = 6 }))), name .. ': shorter')
        if name ~= 'multinomial' then
          assert(same(want[{ { 1, 70000 } }], R[name]({ 7, 100, 100 }, options(name, { key = 6 })):reshape { -1 }),
            name .. ': other sizes')
        end
      end
    end)
  end)

  it('gives the same bits on every level', function()
    local levels = support.levels()
    local C = require 'mascon.core.ffi'.C
    for _, name in ipairs(names) do
      for at = 1, #laws[name] do
        local want
        for _, level in ipairs(levels) do
          support.restoring(function()
            assert(C.mc_isa_set(level) == 0)
            for _, dtype in ipairs(mc.ops['random_' .. name].dtypes) do
              if name ~= 'integers' or dtype == 'i64' or dtype == 'i32' then
                local x = R[name]({ 3000 }, options(name, { key = 6, dtype = dtype }, at))
                want = want or {}
                want[dtype] = want[dtype] or x
                assert(same(want[dtype], x), ('%s %s on %s'):format(name, dtype, level))
              end
            end
          end)
        end
      end
    end
  end)

  it('converts no count that its dtype cannot hold', function()
    assert.equal('f32', R.poisson({ 3 }, { rate = 2, dtype = 'f32' }).dtype)
    assert.is_true(same(R.poisson({ 30 }, { rate = 2e9, dtype = 'f64', key = 1 }),
      R.poisson({ 30 }, { rate = 2e9, key = 1 }):to 'f64'))
  end)
end)

describe('integers', function()
  it('reach from end to end of i64', function()
    local x = R.integers({ 4000 }, { low = -9223372036854775807LL - 1, high = 9223372036854775807LL, key = 1 })
    assert.is_true(x:min():item() < -2 ^ 62 and x:max():item() > 2 ^ 62)
    local top = R.integers({ 1000 }, { low = 9223372036854775806LL, high = 9223372036854775807LL, key = 1 })
    assert.is_true(mc.all(top:ge(mc.tensor(9223372036854775806LL))))
  end)
  it('fill the small dtypes, both ends', function()
    for dtype, ends in pairs { u8 = { 0, 255 }, i8 = { -128, 127 }, i16 = { -32768, 32767 } } do
      local x = R.integers({ 1000000 }, { low = ends[1], high = ends[2], dtype = dtype, key = 1 })
      assert.equal(dtype, x.dtype)
      assert.same(ends, { x:min():item(), x:max():item() })
    end
  end)
  it('take bounds per element', function()
    local low = mc.arange(1, 1000):to 'i64'
    local x = R.integers { low = low, high = low + 1, key = 1 }
    assert.is_true(mc.all(x:ge(low)) and mc.all(x:le(low + 1)))
    assert.is_true(mc.any(x:eq(low)) and mc.any(x:gt(low)))
  end)
end)

describe('errors', function()
  local function says(pattern, f) assert.matches(pattern, support.message(f)) end
  it('name the first bad value', function()
    says('random_source_spec%.lua:%d+: random%.gamma: parameters %(%-2, 1%) at position 2 %(from 1%) are refused; a > '
      .. '0 and scale >= 0 are needed', function() local _ = R.gamma { a = { 1, -2, -3 } } end)
    says('random%.gamma: parameters %(0, 1%) are refused', function() local _ = R.gamma { 3, a = 0 } end)
    says('random%.normal: parameters %(nan, 1%) are refused', function() local _ = R.normal { 3, mean = 0 / 0 } end)
    says('random%.uniform: parameters %(2, 1%) are refused; low <= high',
      function() local _ = R.uniform { 3, low = 2 } end)
    says('random%.poisson: parameters %(%-1%) at position 70000 ', function()
      local rate = mc.ones { 80000 }
      rate[70000], rate[75000] = -1, -2
      local _ = R.poisson { rate = rate }
    end)
    says('random%.binomial: parameters %(2.5, 0.5%)', function() local _ = R.binomial { 3, n = 2.5, p = 0.5 } end)
    says('random%.bernoulli: parameters %(1.5%)', function() local _ = R.bernoulli { 3, p = 1.5 } end)
    says('random%.hypergeometric: parameters %(2, 3, 6%).*nsample <= ngood %+ nbad',
      function() local _ = R.hypergeometric { 3, ngood = 2, nbad = 3, nsample = 6 } end)
    says('random%.integers: parameters %(5, 4%)', function() local _ = R.integers { 3, low = 5, high = 4 } end)
    says('random%.truncated_normal: parameters %(1, 1, 0, 1%) .*low < high',
      function() local _ = R.truncated_normal { 3, low = 1, high = 1 } end)
  end)
  it('of arguments say what to give', function()
    says('random%.gamma: a is not given; it is a number or a tensor, a = ...', function() local _ = R.gamma { 3 } end)
    says('random%.gamma: a is \'x\'; give a number or a tensor', function() local _ = R.gamma { 3, a = 'x' } end)
    says('random%.gamma: option "scales" is unknown; did you mean "scale"',
      function() local _ = R.gamma { 3, a = 1, scales = 1 } end)
    says('random%.gamma: dtype i32 is not drawn; choose f64 or f32, then convert with :to',
      function() local _ = R.gamma { 3, a = 1, dtype = 'i32' } end)
    says('random%.integers: high reaches 300, dtype u8 ends at 255',
      function() local _ = R.integers { 3, low = 0, high = 300, dtype = 'u8' } end)
    says('random%.integers: low is 0.5; it must be a whole number',
      function() local _ = R.integers { 3, low = 0.5, high = 300 } end)
    says('random%.normal: a parameter is f64%[3%]@cpu, the result has the sizes .*2.*; they must broadcast',
      function() local _ = R.normal { 2, mean = { 1, 2, 3 } } end)
    says('random%.normal: parameters f64%[3%]@cpu and f64%[2%]@cpu do not broadcast',
      function() local _ = R.normal { mean = { 1, 2, 3 }, std = { 1, 2 } } end)
    says('random%.normal: a parameter is c128%[1%]@cpu; give real numbers',
      function() local _ = R.normal { mean = mc.tensor { mc.complex(1, 1) } } end)
    says('random%.normal: the sizes are f64%[2%]@cpu; give a table', function() local _ = R.normal(mc.zeros { 2 }) end)
    says('random%.normal: size 1 of the shape is %-1', function() local _ = R.normal { -1 } end)
  end)
  it('of sources name the rule', function()
    says('random%.normal: more than one of key, seed and generator is given; choose one',
      function() local _ = R.normal { 3, key = 1, seed = 1 } end)
    says('random%.normal: option key is \'x\'; give mc%.random%.key%(n%), or a whole number',
      function() local _ = R.normal { 3, key = 'x' } end)
    says('random%.key: seed is %-1; it must be integer >= 0', function() local _ = R.normal { 3, key = -1 } end)
    says('random%.normal: option generator is a table; give one that mc.random.generator made',
      function() local _ = R.normal { 3, generator = {} } end)
    says('generator: it has no method norml; did you mean normal', function() local _ = R.generator(1):norml { 3 } end)
    says('generator:restore: the state is not one', function() local _ = R.generator(1):restore { 3 } end)
    says('key:split: n is 0; it must be integer >= 1', function() local _ = R.key(1):split(0) end)
  end)
  it('leave the result of out= alone before anything is drawn', function()
    local out = mc.zeros { 4 }
    says('random%.gamma', function() local _ = R.gamma { 3, a = 1, out = out } end)
    assert.equal(0, out:sum():item())
  end)
end)

it('leaves no tensor behind', function() assert.equal(BEFORE, support.tensor_bytes()) end)
