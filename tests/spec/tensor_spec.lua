-- tensor_spec.lua - making tensors, their properties, elements in and out, shapes and views, conversion.
--
-- Indexing, printing, memory and errors have files of their own.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes() -- specs that ran earlier may hold some
local mc = require 'mascon'
local sample = support.load 'sample'
local DTYPES = { 'bool', 'u8', 'i8', 'i16', 'i32', 'i64', 'f16', 'bf16', 'f32', 'f64', 'c64', 'c128' }

local function shape(t) return table.concat(t.shape, ',') end

describe('making', function()
  it('zeros, ones, full, empty of every dtype and both call forms', function()
    for _, d in ipairs(DTYPES) do
      local a, b = mc.zeros { 2, 3, dtype = d }, mc.zeros({ 2, 3 }, { dtype = d })
      assert.equal(d, a.dtype)
      assert.equal('2,3', shape(b))
      assert.is_false(mc.any(a))
      assert.is_true(mc.all(mc.ones { 2, 3, dtype = d }))
      assert.equal(d, mc.empty({ 4 }, { dtype = d }).dtype)
    end
    assert.same({ 7, 7 }, mc.full({ 2 }, 7):totable())
    assert.equal('bool', mc.full({ 2 }, true).dtype)
    assert.equal('c128', mc.full({ 2 }, mc.complex(1, 2)).dtype)
    assert.equal('f64', mc.zeros { 2 }.dtype)
    assert.equal('', shape(mc.zeros {}))
    assert.equal('5', shape(mc.zeros(5)))
  end)

  it('like another tensor', function()
    local x = mc.ones({ 2, 3 }, { dtype = 'i16' })
    assert.equal('i16', mc.zeros_like(x).dtype)
    assert.equal('2,3', shape(mc.ones_like(x)))
    assert.equal('f32', mc.empty_like(x, { dtype = 'f32' }).dtype)
  end)

  it('arange includes both ends and counts from 1', function()
    assert.same({ 1, 2, 3 }, mc.arange(3):totable())
    assert.same({ 2, 4, 6 }, mc.arange(2, 6, 2):totable())
    assert.same({ 2, 4, 6 }, mc.arange(2, 7, 2):totable())
    assert.same({ 3, 2, 1 }, mc.arange(3, 1, -1):totable())
    assert.same({}, mc.arange(3, 1):totable())
    assert.equal(11, mc.arange(0, 1, 0.1):numel())
    assert.equal('i32', mc.arange(1, 3, { dtype = 'i32' }).dtype)
  end)

  it('linspace hits both ends', function()
    local x = mc.linspace(0, 0.3, 4):totable()
    assert.equal(0, x[1])
    assert.equal(0.3, x[4])
    assert.same({ 0, 0.25, 0.5, 0.75 }, mc.linspace(0, 1, 4, { endpoint = false }):totable())
    assert.same({ 5 }, mc.linspace(5, 9, 1):totable())
    assert.same({}, mc.linspace(5, 9, 0):totable())
  end)

  it('eye and diag', function()
    assert.same({ { 1, 0, 0 }, { 0, 1, 0 } }, mc.eye(2, 3):totable())
    assert.same({ { 2, 0 }, { 0, 3 } }, mc.diag(mc.tensor { 2, 3 }):totable())
    assert.same({ 1, 5 }, mc.diag(mc.arange(1, 6):reshape(2, 3)):totable())
  end)

  it('reads nested tables: numbers, booleans, complex numbers, 64-bit integers', function()
    assert.equal('2,2', shape(mc.tensor { { 1, 2 }, { 3, 4 } }))
    assert.equal('bool', mc.tensor { true, false }.dtype)
    assert.equal('c128', mc.tensor { 1, mc.complex(0, 1) }.dtype)
    assert.equal('i64', mc.tensor { 9007199254740993LL, 1 }.dtype)
    assert.equal('0', shape(mc.tensor {}))
    assert.equal('2,0', shape(mc.tensor { {}, {} }))
    assert.equal('', shape(mc.tensor(3)))
    assert.equal('f32', mc.tensor({ 1, 2 }, { dtype = 'float32' }).dtype)
    assert.same({ { 1, 2 }, { 3, 4 } }, mc.tensor { mc.tensor { 1, 2 }:totable(), { 3, 4 } }:totable())
  end)
end)

describe('properties', function()
  it('tell size and layout', function()
    local x = mc.zeros({ 2, 3 }, { dtype = 'f32' })
    assert.equal(2, x.ndim)
    assert.equal(6, x:numel())
    assert.equal(4, x.itemsize)
    assert.equal(24, x.nbytes)
    assert.equal('cpu', x.device)
    assert.same({ 3, 1 }, x.strides)
    local a, b = x:size()
    assert.same({ 2, 3 }, { a, b })
    assert.equal(3, x:size(-1))
    assert.equal(2, #x)
    assert.is_true(x:is_contiguous())
    assert.is_false(x.T:is_contiguous())
    assert.is_true(x.shape == mc.ones { 2, 3 }.shape)
    assert.is_false(x.shape == x.T.shape)
    assert.equal('{2, 3}', tostring(x.shape))
  end)
end)

describe('elements', function()
  it('leave as Lua values', function()
    assert.equal(2.5, mc.tensor(2.5):item())
    assert.is_true(mc.tensor { true }:item())
    local z = mc.tensor { mc.complex(1, -2) }:item()
    assert.same({ 1, -2 }, { z.re, z.im })
    assert.equal(2 ^ 53, mc.tensor({ 2 ^ 53 }, { dtype = 'i64' }):item())
    assert.equal(9007199254740993LL, mc.tensor { 9007199254740993LL }:item())
    assert.equal(-9007199254740993LL, mc.tensor { -9007199254740993LL }:item())
    assert.equal(9007199254740993LL, mc.tensor { 9007199254740993LL }:totable()[1])
  end)

  it('totable gives the same for every layout and dtype', function()
    for _, d in ipairs(DTYPES) do
      for _, layout in ipairs(sample.layouts) do
        local x = sample.make({ 2, 3 }, d, layout, 4, 'plain')
        local want, got = sample.read(x), x:totable()
        for i = 1, 2 do
          for j = 1, 3 do
            local w, g = want[(i - 1) * 3 + j], got[i][j]
            if type(w) == 'table' then assert(w.re == g.re and w.im == g.im)
            elseif type(w) == 'cdata' then assert(w == g)
            else assert(w == g, d .. ' ' .. layout) end
          end
        end
      end
    end
  end)

  it('compare as single elements', function()
    assert.is_true(mc.tensor(1) < 2)
    assert.is_true(mc.tensor { 3 } >= mc.tensor(3))
    assert.is_false(mc.tensor(1) == mc.tensor(1))
    local x = mc.tensor(1)
    assert.is_true(x == x)
    assert.is_false(x == nil)
    assert.is_true(mc.eq(x, 1):item())
  end)
end)

describe('truth', function()
  it('any and all over everything are Lua booleans, along an axis tensors', function()
    local x = mc.tensor { { 0, 1 }, { 0, 0 } }
    assert.equal(true, mc.any(x))
    assert.equal(false, x:all())
    assert.same({ false, true }, x:any(1):totable())
    assert.equal('bool', x:all(2).dtype)
    assert.equal(true, mc.all(mc.zeros { 0 }))
    assert.equal(false, mc.any(mc.zeros { 0 }))
  end)

  it('allclose and array_equal', function()
    local x = mc.tensor { 1, 2 }
    assert.is_true(mc.allclose(x, x + 1e-9))
    assert.is_false(mc.allclose(x, x + 1e-3))
    assert.is_true(mc.allclose(x, x + 1e-3, { atol = 1e-2 }))
    assert.is_false(mc.allclose(mc.tensor { 0 / 0 }, mc.tensor { 0 / 0 }))
    assert.is_true(mc.allclose(mc.tensor { 0 / 0 }, mc.tensor { 0 / 0 }, { equal_nan = true }))
    assert.is_true(mc.allclose(mc.tensor { math.huge }, mc.tensor { math.huge }))
    assert.is_true(mc.array_equal(x, mc.tensor { 1, 2 }))
    assert.is_false(mc.array_equal(x, mc.tensor { 1, 2, 3 }))
    assert.is_false(mc.array_equal(x, mc.tensor { 1, 3 }))
  end)
end)

describe('views', function()
  it('share memory, copies do not', function()
    local x = mc.arange(1, 6)
    assert.is_true(x:reshape(2, 3):shares_memory(x))
    assert.is_true(x['2:']:shares_memory(x))
    assert.is_false(x:copy():shares_memory(x))
    assert.is_false(x:reshape(2, 3).T:reshape(-1):shares_memory(x))
  end)

  it('permute, transpose, moveaxis, squeeze, expand', function()
    local x = mc.arange(1, 24):reshape(2, 3, 4)
    assert.equal('4,2,3', shape(x:permute_dims(3, 1, 2)))
    assert.equal('2,4,3', shape(x.mT))
    assert.equal('2,4,3', shape(x:transpose()))
    assert.equal('3,2,4', shape(x:transpose(1, 2)))
    assert.equal('3,4,2', shape(x:moveaxis(1, -1)))
    assert.equal('4,2,3', shape(x:moveaxis(-1, 1)))
    assert.equal('2,3,4', shape(x:expand_dims(1):squeeze()))
    assert.equal('2,3,4,1', shape(x:expand_dims(-1)))
    assert.equal('2,1,3,4', shape(x:expand_dims(2)))
    assert.equal('2,3,1', shape(mc.zeros { 1, 2, 3, 1 }:squeeze(1)))
  end)

  it('windows slide along an axis', function()
    local w = mc.arange(1, 6):windows(3)
    assert.same({ { 1, 2, 3 }, { 2, 3, 4 }, { 3, 4, 5 }, { 4, 5, 6 } }, w:totable())
    assert.same({ { 1, 2 }, { 4, 5 } }, mc.arange(1, 6):windows(2, { step = 3 }):totable())
    assert.equal('2,3,2', shape(mc.zeros { 3, 3 }:windows(2, { axis = 1 })))
  end)

  it('real and imaginary parts are writable views', function()
    local z = mc.zeros({ 2 }, { dtype = 'c128' })
    z:view_imag():fill_(3)
    z:view_real()[2] = 1
    local t = z:totable()
    assert.same({ 0, 3, 1, 3 }, { t[1].re, t[1].im, t[2].re, t[2].im })
  end)

  it('stay alive when their base is gone', function()
    local v
    do v = mc.arange(1, 1000)['500:'] end
    collectgarbage()
    collectgarbage()
    assert.equal(500, v[1]:item())
  end)
end)

describe('conversion', function()
  it('to() gives the tensor itself when nothing changes', function()
    local x = mc.zeros { 3 }
    assert.is_true(rawequal(x, x:to 'f64'))
    assert.equal('f32', x:to 'float32'.dtype)
    assert.equal('f32', x:to { dtype = 'f32', device = 'cpu' }.dtype)
    assert.equal('i8', x:astype 'i8'.dtype)
  end)

  it('between all dtypes keeps small whole numbers', function()
    for _, a in ipairs(DTYPES) do
      for _, b in ipairs(DTYPES) do
        local one = a == 'bool' or b == 'bool'
        local list = one and { 0, 1, 1 } or { 0, 3, 100 }
        local x = mc.tensor(list):to(a)
        for _, layout in ipairs { false, true } do
          local y = (layout and x['::-1'] or x):to(b):to 'f64':totable()
          for i = 1, 3 do assert.equal(list[layout and 4 - i or i], y[i], a .. ' to ' .. b) end
        end
      end
    end
  end)

  it('copy, contiguous and copy_', function()
    local x = mc.arange(1, 6):reshape(2, 3)
    assert.is_true(rawequal(x, x:contiguous()))
    assert.same(x.T:totable(), x.T:contiguous():totable())
    local y = mc.zeros({ 2, 3 }, { dtype = 'i32' }):copy_(x)
    assert.same(x:totable(), y:totable())
    assert.same({ { 4, 4, 4 }, { 4, 4, 4 } }, y:copy_(4):totable())
  end)
end)

describe('shape functions', function()
  it('concat, stack, split, tile, repeat_each, meshgrid, pad', function()
    local x = mc.tensor { { 1, 2 }, { 3, 4 } }
    assert.same({ { 1, 2 }, { 3, 4 }, { 1, 2 }, { 3, 4 } }, mc.concat { x, x }:totable())
    assert.equal('2,2,2', shape(mc.stack({ x, x }, -1)))
    assert.equal('f64', mc.concat { x, x:to 'f32' }.dtype)
    assert.same({ { 1 }, { 3 } }, x:split(2, 2)[1]:totable())
    assert.same({ 1, 2, 1, 2 }, mc.tile(mc.tensor { 1, 2 }, 2):totable())
    assert.same({ 1, 1, 2, 2 }, mc.repeat_each(mc.tensor { 1, 2 }, 2):totable())
    assert.same({ { 1, 2 }, { 1, 2 }, { 3, 4 }, { 3, 4 } }, mc.repeat_each(x, 2, 1):totable())
    local i, j = mc.meshgrid(mc.arange(1, 2), mc.arange(1, 3), { indexing = 'ij' })
    assert.same({ { 1, 1, 1 }, { 2, 2, 2 } }, i:totable())
    assert.same({ { 1, 2, 3 }, { 1, 2, 3 } }, j:totable())
    assert.same({ 0, 1, 2, 0, 0 }, mc.pad(mc.tensor { 1, 2 }, { 1, 2 }):totable())
  end)
end)

describe('arithmetic', function()
  it('has operators for tensors, numbers on either side, and complex numbers', function()
    local x = mc.tensor { 1, 2, 4 }
    assert.same({ 2, 3, 5 }, (x + 1):totable())
    assert.same({ 0, -1, -3 }, (1 - x):totable())
    assert.same({ 2, 4, 8 }, (2 * x):totable())
    assert.same({ 4, 2, 1 }, (4 / x):totable())
    assert.same({ 1, 4, 16 }, (x ^ 2):totable())
    assert.same({ 2, 4, 16 }, (2 ^ x):totable())
    assert.same({ 1, 0, 0 }, (x % 2):totable())
    assert.same({ -1, -2, -4 }, (-x):totable())
    local z = (x * mc.complex(0, 1)):totable()
    assert.same({ 0, 4 }, { z[3].re, z[3].im })
    local w = (mc.complex(0, 1) * x):totable()
    assert.same({ 0, 4 }, { w[3].re, w[3].im })
  end)

  it('methods in place change the tensor and give it back', function()
    local x = mc.tensor { 1, 2 }
    assert.is_true(rawequal(x, x:add_(1):mul_(2):sub_(1)))
    assert.same({ 3, 5 }, x:totable())
    x:negative_():square()
    assert.same({ -3, -5 }, x:totable())
  end)

  it('takes nested tables as operands', function()
    assert.same({ { 2, 4 } }, (mc.tensor { { 1, 2 } } + { { 1, 2 } }):totable())
  end)

  it('takes boxed 64-bit integers', function()
    local x = mc.tensor { 9007199254740993LL }
    assert.equal(9007199254740995LL, (x + 2LL):item())
  end)
end)

describe('complex numbers', function()
  it('calculate among themselves and with numbers', function()
    local a, b = mc.complex(1, 2), mc.complex(3, -1)
    assert.is_true(a + b == mc.complex(4, 1))
    assert.is_true(a * b == mc.complex(5, 5))
    assert.is_true(a / a == mc.complex(1, 0))
    assert.is_true(2 * a == mc.complex(2, 4))
    assert.is_true(-a == mc.complex(-1, -2))
    assert.is_true(a:conj() == mc.complex(1, -2))
    assert.equal(5, mc.complex(3, 4):abs())
    assert.equal('1+2i', tostring(a))
  end)
end)

it('leaves no tensor behind', function() assert.equal(BEFORE, support.tensor_bytes()) end)
