-- stream_spec.lua - results so large that they are written past the caches hold what small ones hold.
--
-- 16 MiB and more of a result go another way through the drivers of elementwise ops and copies: blocks in a buffer,
-- stores that bypass the caches, a head and a tail where the memory does not begin on a cache line.
local mc = require 'mascon'

local N = 2 ^ 21 + 37 -- f64: just above the size, and no multiple of a block
local PIECE = 1000

--- Whole and pieces agree: f on all elements against f on pieces, which take the plain way.
local function agrees(f, x, y)
  local whole = f(x, y)
  local function part(t, a, b) return t and t[{ { a, b } }] end
  for _, a in ipairs { 1, 4096, 524289 - PIECE / 2, 2 ^ 20, N - PIECE + 1 } do
    local b = a + PIECE - 1
    assert.is_true(mc.array_equal(part(whole, a, b), f(part(x, a, b), part(y, a, b))))
  end
  return whole
end

describe('large results', function()
  local x = mc.arange(1, N + 3):to 'f64'
  local y = mc.remainder(x * 7, 1013)

  it('of one, two and three operands', function()
    local a, b = x[{ { 1, N } }], y[{ { 1, N } }]
    agrees(mc.square, a)
    agrees(mc.add, a, b)
    agrees(function(p, q) return mc.where(mc.gt(q, 500), p, q) end, a, b)
    agrees(function(p) return mc.multiply(p, 3) end, a)
  end)

  it('of operands that begin between cache lines', function()
    agrees(mc.subtract, x[{ { 2, N + 1 } }], y[{ { 4, N + 3 } }])
    local out = mc.zeros { N + 3 }
    mc.add(x[{ { 3, N + 2 } }], y[{ { 3, N + 2 } }], { out = out[{ { 2, N + 1 } }] })
    assert.equal(0, out[1]:item())
    assert.equal(0, out[N + 2]:item())
    assert.is_true(mc.array_equal(out[{ { 2, 200 } }], x[{ { 3, 201 } }] + y[{ { 3, 201 } }]))
    assert.is_true(mc.array_equal(out[{ { N - 200, N + 1 } }], x[{ { N - 199, N + 2 } }] + y[{ { N - 199, N + 2 } }]))
  end)

  it('written over an operand', function()
    local a = x:copy()
    mc.add(a, a, { out = a })
    assert.is_true(mc.array_equal(a, x * 2))
  end)

  it('of copies: straight, backwards, every second element, another dtype, one value', function()
    assert.is_true(mc.array_equal(x:copy(), x))
    local back = x['::-1']:copy()
    assert.equal(N + 3, back[1]:item())
    assert.equal(1, back[-1]:item())
    assert.is_true(mc.array_equal(back['::-1'][{ { 1000000, 1001000 } }], x[{ { 1000000, 1001000 } }]))
    local wide = mc.arange(1, 2 * N):to 'f64'['::2']
    assert.is_true(mc.array_equal(wide:copy(), wide + 0))
    local i = x:to 'i64'
    assert.equal('i64', i.dtype)
    assert.is_true(mc.array_equal(i:to 'f64', x))
    assert.equal(2.5 * N, mc.full({ N }, 2.5):sum():item())
  end)
end)
