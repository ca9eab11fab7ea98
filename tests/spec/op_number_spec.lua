-- op_number_spec.lua - a number that names no op is an error of every entry point of C, not a crash.
local mc = require 'mascon'
local lib = require 'mascon.core.ffi'

describe('an op number that names none', function()
  it('is refused by the entry points for one and two operands', function()
    local x = mc.ones { 2 }
    for _, id in ipairs { 100000, -1 } do
      for name, call in pairs {
        op1 = function() return lib.C.mc_op1(id, x, x, nil) end,
        op2 = function() return lib.C.mc_op2(id, x, x, x) end,
        op2_into = function() return lib.C.mc_op2_into(id, x, x, x) end,
        op2_scalar = function() return lib.C.mc_op2_scalar(id, x, x, 1, 0) end,
        op2_complex = function() return lib.C.mc_op2_complex(id, x, x, 1, 1, 0) end,
      } do
        assert.is_true(call() ~= 0, name)
        assert.equal(('op %d is unknown'):format(id), lib.message(), name)
      end
    end
    assert.equal('f64[2]@cpu { 1, 1 }', tostring(x))
  end)
end)
