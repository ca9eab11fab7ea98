-- ceiling_spec.lua - a bound on the memory of the process: what is left, and what is said when it is too little.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local ceiling = mc.ceiling
local MIB = 2 ^ 20

describe('mc.ceiling', function()
  it('reads sizes', function()
    for text, n in pairs { ['2GiB'] = 2 ^ 31, ['500M'] = 500 * MIB, ['1e6'] = 1e6, [' 3 kB'] = 3072 } do
      assert.equal(n, ceiling.bytes(text))
    end
    for _, text in ipairs { '', 'much', '-1', '0', '1.2.3', '5X' } do assert.is_nil(ceiling.bytes(text)) end
    assert.equal('1.50 GiB', ceiling.text(1.5 * 2 ^ 30))
  end)

  it('measures what is left, whatever took it', function()
    assert.is_nil(ceiling.left())
    ceiling.beside(200 * MIB, function()
      local before = ceiling.left()
      local x = mc.ones { 8 * MIB }
      assert.is_true(math.abs(before - ceiling.left() - 64 * MIB) < 6 * MIB)
      x:release()
      assert.is_true(math.abs(before - ceiling.left()) < 6 * MIB)
    end)
  end)

  it('is no wider where memory from before is given back', function()
    local x = mc.ones { 8 * MIB }
    ceiling.beside(10 * MIB, function()
      x:release()
      assert.is_true(ceiling.left() <= 10 * MIB)
    end)
  end)

  it('leaves nothing, and not less, where more is held already than it allows', function()
    ceiling.with(MIB, function()
      assert.equal(0, ceiling.left())
      local ok, why = pcall(ceiling.need, 'work', 0, 'a block', 1)
      assert.is_false(ok)
      assert.matches('work: max_memory is 1%.0 MiB, of which 0%.0 MiB are left; a block needs 0%.0 MiB, so raise', why)
    end)
  end)

  it('is never widened from within, and ends with its function, also after an error', function()
    ceiling.beside(50 * MIB, function()
      ceiling.beside(500 * MIB, function() assert.is_true(ceiling.left() < 60 * MIB) end)
      ceiling.beside(10 * MIB, function() assert.is_true(ceiling.left() < 20 * MIB) end)
      assert.is_true(ceiling.left() > 30 * MIB)
    end)
    assert.is_false(pcall(ceiling.beside, 50 * MIB, error, 'x'))
    assert.is_nil(ceiling.left())
    assert.same({ 1, 'a' }, { ceiling.with(nil, function(...) return ... end, 1, 'a') })
  end)

  it('names the least that would do', function()
    local text = support.message(function()
      ceiling.beside(40 * MIB, function() ceiling.need('job', 100 * MIB, 'a block') end)
    end)
    local pattern = 'job: max_memory is 40.0 MiB, .- a block needs 100.0 MiB, '
      .. 'so raise max_memory to at least ([%d.]+) MiB'
    local least = tonumber(text:match(pattern))
    assert.truthy(least and math.abs(least - 100) < 6, text)
    ceiling.beside((least + 8) * MIB, function() ceiling.need('job', 100 * MIB, 'a block') end)
  end)
end)
