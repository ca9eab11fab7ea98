-- conventions_spec.lua - exact integers, signed zeros of complex numbers and the conventions of the array API that no
-- other spec holds.
local mc = require 'mascon'
local BIG = 9007199254740993LL -- 2^53 + 1: no double holds it

describe('boxed 64-bit integers', function()
  it('keep every digit in fill, assignment, full, put and arange', function()
    local t = mc.zeros({ 3 }, { dtype = 'i64' })
    t:fill_(BIG)
    assert.equal(BIG, t[2]:item())
    t[1] = BIG + 2
    t[mc.tensor({ 2, 3 }, { dtype = 'i64' })] = BIG + 4
    assert.same({ tostring(BIG + 2), tostring(BIG + 4), tostring(BIG + 4) },
      { tostring(t[1]:item()), tostring(t[2]:item()), tostring(t[3]:item()) })
    assert.equal(BIG, mc.full({ 2 }, BIG)[2]:item())
    local r = mc.arange(BIG, BIG + 3)
    assert.equal('i64', r.dtype)
    assert.equal(BIG + 3, r[4]:item())
    assert.equal(0, mc.arange(BIG, BIG - 1):numel())
    assert.equal(BIG - 2, mc.arange(BIG, BIG - 2, -1)[3]:item())
  end)

  it('past the largest i64 are an error', function()
    assert.error_matches(function() mc.zeros({ 1 }, { dtype = 'i64' }):fill_(0xffffffffffffffffULL) end, 'past 2%^63')
  end)
end)

describe('complex numbers', function()
  local function signs(z) return 1 / mc.real(z):item(), 1 / mc.imag(z):item() end
  it('keep a negative zero in fill, assignment, where and operands', function()
    local minus = mc.complex(-0.0, -0.0)
    assert.same({ -math.huge, -math.huge }, { signs(mc.full({ 1 }, minus)) })
    local t = mc.zeros({ 2 }, { dtype = 'c128' })
    t[1] = minus
    assert.same({ -math.huge, -math.huge }, { signs(t[1]) })
    assert.same({ -math.huge, -math.huge }, { signs(mc.where(mc.tensor { true }, minus, minus)) })
    -- the wrong side of the branch cut otherwise
    assert.is_true(mc.imag(mc.log(mc.multiply(mc.tensor { mc.complex(1, 0) }, 1) * 1 + mc.complex(-2,
      -0.0) - mc.complex(0, 0.0))):item() > -4)
    assert.is_true(mc.imag(mc.sqrt(mc.subtract(mc.complex(-1, -0.0), mc.zeros({ 1 }, { dtype = 'c128' })))):item() < 0)
  end)

  it('come from real and imaginary tensors', function()
    local z = mc.complex(mc.tensor { 1, 2 }, mc.tensor { { 3 }, { 1 / 0 } })
    assert.equal('c128', z.dtype)
    assert.same({ 2, 2 }, { unpack(z.shape) })
    assert.same({ 1, 1 / 0 }, { mc.real(z)[{ 2, 1 }]:item(), mc.imag(z)[{ 2, 1 }]:item() })
    assert.equal('c64', mc.complex(mc.ones({ 2 }, { dtype = 'f32' }), 1).dtype)
    assert.error_matches(function() mc.complex(z, 1) end, 'real parts')
    assert.error_matches(function() mc.complex('1', 1) end, 'real part')
  end)
end)

describe('conventions', function()
  it('positions count from the base that is asked for', function()
    local x = mc.tensor { { 0, 3 }, { 1, 0 } }
    local rows, columns = mc.nonzero(x, { base = 0 })
    assert.same({ { 0, 1 }, { 1, 0 } }, { rows:totable(), columns:totable() })
    local all = mc.unique_all(mc.tensor { 3, 1, 3 }, { base = 0 })
    assert.same({ { 1, 0 }, { 1, 0, 1 } }, { all.indices:totable(), all.inverse_indices:totable() })
    assert.same({ 1, 0, 1 }, select(2, mc.unique_inverse(mc.tensor { 3, 1, 3 }, { base = 0 })):totable())
    assert.error_matches(function() mc.unique_values(x, { base = 0 }) end, 'base')
    assert.error_matches(function() mc.nonzero(x, { bass = 0 }) end, 'base')
    assert.error_matches(function() mc.nonzero(mc.tensor(3)) end, 'no axes')
  end)

  it('tolerances of pinv and matrix_rank may be tensors', function()
    local a = mc.stack { mc.linalg.diagonal and mc.tensor { { 1, 0 }, { 0, 1e-4 } } or nil,
      mc.tensor { { 2, 0 }, { 0, 1e-4 } } }
    local rtol = mc.tensor { 1e-3, 1e-6 }
    assert.same({ 1, 2 }, mc.linalg.matrix_rank(a, { rtol = rtol }):totable())
    local p = mc.linalg.pinv(a, { rtol = rtol })
    assert.is_true(mc.allclose(p, mc.tensor { { { 1, 0 }, { 0, 0 } }, { { 0.5, 0 }, { 0, 1e4 } } }))
    assert.error_matches(function() mc.linalg.pinv(a, { rtol = mc.ones { 3 } }) end, 'one tolerance for each matrix')
  end)

  it('numbers and booleans mix where a dtype says what they become', function()
    assert.same({ 1, 1, 2.5 }, mc.tensor({ 1, true, 2.5 }, { dtype = 'f32' }):totable())
    assert.error_matches(function() mc.tensor { 1, true } end, 'give dtype')
  end)

  it('tensors over one memory share it, however they came to it', function()
    local x = mc.ones { 1000 }
    assert.is_true(x:shares_memory(mc.from_dlpack(x)))
    assert.is_true(x:shares_memory(mc.from_dlpack(x:dlpack())))
    assert.is_false(x:shares_memory(mc.ones { 1000 }))
  end)

  it('the dtypes of the inspection are those of the standard', function()
    local names = mc.namespace_info().dtypes()
    assert.same({ nil, nil, 'f32' }, { names.f16, names.bf16, names.f32 })
    assert.is_nil(mc.namespace_info().dtypes('real floating').bf16)
  end)
end)
