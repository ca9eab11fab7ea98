-- portions_spec.lua - work on many rows, a portion at a time.
local mc = require 'mascon'
local portions = require 'mascon.base.portions'

describe('base.portions', function()
  it('joins what portions give, each result along its axis, whatever their size', function()
    local x = mc.randn({ 7, 3 }, { seed = 1 })
    for bytes, calls in pairs { [1] = 1, [2 ^ 27 / 3] = 3, [2 ^ 27 / 2] = 4, [2 ^ 40] = 7 } do
      local count = 0
      local r = portions.joined(7, bytes, function(first, last)
        count = count + 1
        local rows = x[{ { first, last } }]
        return { rows * 2, rows.T:contiguous() }
      end, { 1, 2 })
      assert.equal(calls, count)
      assert.is_true(mc.array_equal(x * 2, r[1]))
      assert.is_true(mc.array_equal(x.T, r[2]))
    end
    assert.same({}, portions.joined(3, 1, function() return {} end))
  end)
end)
