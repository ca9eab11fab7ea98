-- format_spec.lua - mc.format and mc.printf, and mc.info.
local mc = require 'mascon'

describe('format', function()
  it('is string.format for plain values', function()
    for _, case in ipairs { { '%d', 3 }, { '%5.2f|%-8s|%08.3f', 1.5, 'ab', -2.25 },
      { '%x %o %c %q', 255, 8, 65, 'a"b' }, { '100%%' }, { '%+d % d', 3, 4 }, { '%g', 1e300 } } do
      assert.equal(string.format(unpack(case)), mc.format(unpack(case)))
    end
  end)

  it('takes the element of a one-element tensor', function()
    assert.equal('3.50', mc.format('%.2f', mc.tensor(3.5)))
    assert.equal('7', mc.format('%d', mc.tensor({ 7 }, { dtype = 'i32' })))
    assert.equal('1', mc.format('%d', mc.tensor(true)))
    assert.equal('2.5', mc.format('%s', mc.tensor(2.5)))
  end)

  it('writes all digits of 64-bit integers, with flags, width and precision', function()
    assert.equal('18446744073709551615', mc.format('%d', 18446744073709551615ULL))
    assert.equal('-9007199254740993', mc.format('%d', -9007199254740993LL))
    assert.equal('    9007199254740993|', mc.format('%20d|', 9007199254740993LL))
    assert.equal('9007199254740993    |', mc.format('%-20d|', 9007199254740993LL))
    assert.equal('+0009007199254740993', mc.format('%+020d', 9007199254740993LL))
    assert.equal('0009007199254740993', mc.format('%.19d', 9007199254740993LL))
    assert.equal('9.0072e+15', mc.format('%.4e', 9007199254740993LL))
  end)

  it('writes both parts of complex numbers', function()
    assert.equal('1+2i', mc.format('%g', mc.complex(1, 2)))
    assert.equal('1.50-0.25i', mc.format('%.2f', mc.complex(1.5, -0.25)))
    assert.equal('      1+2i|', mc.format('%10g|', mc.complex(1, 2)))
    assert.equal('3-4i', mc.format('%g', mc.tensor { mc.complex(3, -4) }))
  end)

  it('says which argument does not fit', function()
    assert.error_matches(function() mc.format('%d', mc.zeros { 2, 3 }) end,
      'format: argument 1 is f64%[2,3%]@cpu and %%d takes one number')
    assert.error_matches(function() mc.format('%d', 1.5) end, 'format: argument 1 is 1%.5 and %%d takes a whole number')
    assert.error_matches(function() mc.format('%d %d', 1) end, 'asks for at least 2 arguments and got 1')
    assert.error_matches(function() mc.format('%f', 'x') end, "argument 1 is 'x' and %%f takes a number")
    assert.error_matches(function() mc.format('%d', mc.complex(1, 2)) end, 'argument 1 is complex')
    assert.error_matches(function() mc.format '%y' end, 'is no conversion')
    assert.error_matches(function() mc.format(3) end, 'the format is 3; give a string')
  end)
end)

describe('info', function()
  it('tells machine, library and limits', function()
    local i = mc.info()
    assert.equal(mc.version, i.version)
    assert.matches('^v[234]$', i.isa)
    assert.equal(mc.get_num_threads(), i.threads)
    assert.is_true(i.cores >= 1)
    assert.is_true(i.memory.total >= i.memory.available and i.memory.available > 0)
    for _, kind in ipairs { 'fft', 'blas', 'zlib', 'threads', 'raster', 'hdf5' } do
      assert.is_string(i.libraries[kind])
    end
  end)
end)
