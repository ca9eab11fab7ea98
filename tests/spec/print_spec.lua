-- print_spec.lua - tensors as text.
--
-- Whole texts stand here, so that a change of form is seen.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes() -- specs that ran earlier may hold some
local mc = require 'mascon'

describe('tostring', function()
  it('shows dtype, shape and device, then the elements', function()
    assert.equal('f64[3]@cpu { 1, 2, 3 }', tostring(mc.arange(1, 3)))
    assert.equal('f64[2,2]@cpu\n{ { 1, 2 },\n  { 3, 4 } }', tostring(mc.tensor { { 1, 2 }, { 3, 4 } }))
    assert.equal('f64[2,1,2]@cpu\n{ { { 1, 2 } },\n  { { 3, 4 } } }', tostring(mc.arange(1, 4):reshape(2, 1, 2)))
  end)

  it('shows scalars and empty tensors', function()
    assert.equal('f64[]@cpu 2.5', tostring(mc.tensor(2.5)))
    assert.equal('bool[]@cpu true', tostring(mc.tensor(true)))
    assert.equal('f64[0]@cpu {}', tostring(mc.zeros { 0 }))
    assert.equal('f32[2,0]@cpu {}', tostring(mc.zeros({ 2, 0 }, { dtype = 'f32' })))
  end)

  it('uses one format for all elements', function()
    assert.equal('f64[3]@cpu {  1.0000, -2.5000,  0.1250 }', tostring(mc.tensor { 1, -2.5, 0.125 }))
    assert.equal('f64[2]@cpu { 1.0000e+06, 5.0000e-01 }', tostring(mc.tensor { 1e6, 0.5 }))
    assert.equal('f64[2]@cpu { 1.0000e-05, 2.0000e-05 }', tostring(mc.tensor { 1e-5, 2e-5 }))
    assert.equal('f64[4]@cpu {  nan,  inf, -inf,    1 }', tostring(mc.tensor { 0 / 0, math.huge, -math.huge, 1 }))
    assert.equal('bool[2]@cpu {  true, false }', tostring(mc.tensor { true, false }))
  end)

  it('shows complex numbers and 64-bit integers in full', function()
    assert.equal('c128[2]@cpu { 1+2i, 0-1i }', tostring(mc.tensor { mc.complex(1, 2), mc.complex(0, -1) }))
    assert.equal('i64[1]@cpu { 9007199254740993 }', tostring(mc.tensor { 9007199254740993LL }))
  end)

  it('shows three elements from each end of long axes', function()
    assert.equal('f64[2000]@cpu {    1,    2,    3, ..., 1998, 1999, 2000 }', tostring(mc.arange(1, 2000)))
    local text = tostring(mc.zeros { 50, 50 })
    assert.equal(8, select(2, text:gsub('\n', '\n')) + 1)
    assert.matches('\n  %.%.%.,\n', text)
  end)

  it('shows views as they are', function()
    local x = mc.arange(1, 6):reshape(2, 3)
    assert.equal('f64[3,2]@cpu\n{ { 1, 4 },\n  { 2, 5 },\n  { 3, 6 } }', tostring(x.T))
    assert.equal('f64[3]@cpu { 3, 2, 1 }', tostring(x['1, ::-1']))
    assert.equal('f16[2]@cpu { 1, 2 }', tostring(mc.tensor({ 1, 2 }, { dtype = 'f16' })))
  end)

  it('is quick for large tensors and leaves no memory behind', function()
    local before = support.tensor_bytes()
    local x = mc.zeros { 2000, 2000 }
    local text = tostring(x)
    assert.is_true(#text < 2000)
    x:release()
    assert.equal(before, support.tensor_bytes())
  end)

  it('says when a tensor was released', function()
    local x = mc.zeros { 500 }
    x:release()
    assert.equal('released tensor', tostring(x))
  end)

  it('joins with ..', function() assert.equal('x = f64[1]@cpu { 1 }', 'x = ' .. mc.tensor { 1 }) end)
end)

describe('repr', function()
  it('shows tables with sorted keys, tensors inside', function()
    assert.equal("{ 1, 2, a = \"x\", b = f64[1]@cpu { 3 } }", mc.repr { 1, 2, b = mc.tensor { 3 }, a = 'x' })
    assert.equal('{}', mc.repr {})
    assert.equal('"a\\nb"', mc.repr 'a\nb')
    assert.equal('nil', mc.repr(nil))
    local t = {}
    t.t = t
    assert.equal('{ t = <cycle> }', mc.repr(t))
  end)
end)

it('leaves no tensor behind', function() assert.equal(BEFORE, support.tensor_bytes()) end)
