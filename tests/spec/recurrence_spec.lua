-- recurrence_spec.lua - mc.linear_recurrence against its definition, both ways, over dtypes, layouts and levels; its
-- special cases and messages.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local C = require 'mascon.core.ffi'.C
local property, tol = support.load 'property', support.load 'tol'

--- The definition on lists.
local function plain(a, b, reverse)
  local y, n = {}, #b
  for k = 1, n do
    local i = reverse and n + 1 - k or k
    y[i] = k == 1 and b[i] or a[i] * y[reverse and i + 1 or i - 1] + b[i]
  end
  return y
end

describe('linear_recurrence', function()
  for _, isa in ipairs(support.levels()) do
    it('is its definition along every axis and in every layout on ' .. isa, function()
      support.restoring(function()
        assert(C.mc_isa_set(isa) == 0)
        property.check(function(draw)
          local shape, dtype, reverse = draw.shape(3, 6), draw.dtype { 'f64', 'f32' }, draw(0, 1) == 1
          local axis = draw.axis(shape)
          local a, b = draw.tensor(shape, dtype, draw.layout(), 'plain'),
            draw.tensor(shape, dtype, draw.layout(), 'plain')
          local y = mc.linear_recurrence(a, b, { axis = axis, reverse = reverse })
          assert.equal(dtype, y.dtype)
          local function rows(t) return mc.moveaxis(t, axis, -1):copy():reshape(-1, shape[axis]):totable() end
          local ra, rb, ry = rows(a), rows(b), rows(y)
          for r = 1, #ry do
            local want, size = plain(ra[r], rb[r], reverse),
              plain(mc.abs(mc.tensor(ra[r])):totable(), mc.abs(mc.tensor(rb[r])):totable(), reverse)
            for i, v in ipairs(want) do
              local wrong = tol.compare('ACCUM', dtype, ry[r][i], v, { n = shape[axis], scale = size[i] })
              if wrong then error(wrong, 0) end
            end
          end
        end)
      end)
    end)
  end

  it('contains running sums and products, real and complex', function()
    local x = mc.randn({ 3, 50 }, { seed = 1 })
    for _, t in ipairs { x, x * mc.complex(1, 0.5) } do
      local near = mc.max(mc.abs(mc.linear_recurrence(mc.ones { 3, 1 }, t, 2) - mc.cumsum(t, 2))):item()
      assert.is_nil(tol.compare('ACCUM', 'f64', near, 0, { n = 50, scale = mc.sum(mc.abs(t)):item() }))
      local start = mc.put(mc.zeros(t.shape, { dtype = t.dtype }), { mc.all, 1 }, t[{ mc.all, 1 }])
      near = mc.max(mc.abs(mc.linear_recurrence(t, start, 2) - mc.cumprod(t, 2))):item()
      assert.is_nil(tol.compare('ACCUM', 'f64', near, 0, { n = 50, scale = mc.max(mc.abs(mc.cumprod(t, 2))):item() }))
    end
  end)

  it('ignores the first factor, whatever it is', function()
    assert.equal(3, mc.linear_recurrence(mc.tensor { 0 / 0, 2 }, mc.tensor { 1, 1 })[2]:item())
    assert.equal(3, mc.linear_recurrence(mc.tensor { 2, 0 / 0 }, mc.tensor { 1, 1 }, { reverse = true })[1]:item())
    assert.equal('c128[1]@cpu { 1+0i }',
      (tostring(mc.linear_recurrence(mc.tensor { mc.complex(0 / 0, 0) }, mc.tensor { 1 })):gsub('%s+', ' ')))
  end)

  it('takes halves, integers, empty tensors and out=, also over its operands', function()
    assert.equal('f16',
      mc.linear_recurrence(mc.ones({ 3 }, { dtype = 'f16' }), mc.ones({ 3 }, { dtype = 'f16' })).dtype)
    assert.equal('f64',
      mc.linear_recurrence(mc.ones({ 3 }, { dtype = 'i32' }), mc.ones({ 3 }, { dtype = 'i32' })).dtype)
    assert.equal('{0, 3}', tostring(mc.linear_recurrence(mc.zeros { 0, 3 }, mc.zeros { 0, 3 }, 1).shape))
    local b = mc.ones { 4 }
    mc.linear_recurrence(mc.full({ 4 }, 2), b, { reverse = true, out = b })
    assert.equal(15, b[1]:item())
  end)

  it('says what does not fit', function()
    local function says(text, ...)
      local fine, e = pcall(mc.linear_recurrence, ...)
      assert(not fine)
      assert(tostring(e):find(text, 1, true), tostring(e))
    end
    says('linear_recurrence: the shapes do not fit, a is f64[3]@cpu and b is f64[2]@cpu; give as many axes, of equal '
      .. 'sizes or 1', mc.ones { 3 }, mc.ones { 2 })
    says('linear_recurrence: the shapes do not fit, a is f64[3]@cpu and b is f64[2,3]@cpu',
      mc.ones { 3 }, mc.ones { 2, 3 })
    says('linear_recurrence: operands are f64[2,3]@cpu and f64[2,3]@cpu; name the axis to run along',
      mc.ones { 2, 3 }, mc.ones { 2, 3 })
  end)
end)
