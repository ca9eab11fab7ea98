-- pac_bands_spec.lua - every way to name bands, what is refused and in which words, and the warnings.
--
-- The default and preset bands come from the conformance list (C2, C3) and pac_conformance; other expectations stand
-- here in full.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local tol = support.load 'tol'
local mc = require 'mascon'
local bands = require 'workflows.pac.bands'

local function same(want, got, class, more)
  if type(want) == 'table' then want = mc.tensor(want) end
  assert.equal(tostring(want.shape), tostring(got.shape))
  assert.equal('f64', got.dtype)
  want, got = want:flatten():totable(), got:flatten():totable()
  for i = 1, #want do
    local wrong = tol.compare(class or 'ULP4', 'f64', got[i], want[i], more)
    assert.is_nil(wrong, wrong and ('element %d: %s'):format(i, wrong))
  end
end

local function phase(what) return (bands.phase { fs = 512, bands = what }) end

describe('pac.bands from ranges', function()
  it('gives the default bands of the conformance list, clipped to the range', function()
    local golden = mc.load(support.folder .. '/golden/pac_conformance.npz')
    local p, centres = bands.phase { fs = 512 }
    local a = bands.amplitude { fs = 512 }
    same(golden.default_pha_bands, p)
    same(golden.default_amp_bands, a)
    same({ { 2, 2.5 }, { 3, 5 }, { 4.5, 7.5 }, { 6, 10 }, { 7.5, 12.5 }, { 9, 15 }, { 10.5, 17.5 }, { 12, 20 },
      { 13.5, 20 }, { 15, 20 } }, p)
    same({ 2.25, 4, 6, 8, 10, 12, 14, 16, 16.75, 17.5 }, centres)
    same({ { 60, 67.5 }, { 62 + 2 / 9, 80 } }, a['1:2'])
    same({ 140, 160 }, a[-1])
  end)

  it('leaves the edges alone without clip, and in the compatible form of Tensorpac', function()
    for _, p in ipairs { bands.phase { fs = 512, clip = false }, (bands.phase { fs = 512, compat = 'tensorpac' }) } do
      same({ 1.5, 2.5 }, p[1])
      same({ 15, 25 }, p[-1])
    end
  end)

  it('rounds to single precision and keeps half a hertz below for gPAC', function()
    local p = bands.phase { fs = 512, range = { 0.45, 4 }, n = 3, compat = 'gpac' }
    assert.is_true(mc.array_equal(p, p:to 'f32':to 'f64'))
    same({ 0.5, 0.5625 }, p[1])
    same({ 2.225 * 0.75, 2.225 * 1.25 }, p[2], 'ITERATIVE', { bound = 2 ^ -22 }) -- half a unit of f32 in [2, 4)
    assert.has_error(function() bands.phase { fs = 512, range = { 0.3, 4 }, compat = 'gpac' } end,
      'pac: pha_range_hz band 1 is [0.5, 0.375] Hz; the low edge must be below the high edge')
  end)

  it('spaces centres geometrically on request', function()
    local _, centres = bands.phase { fs = 512, range = { 2, 32 }, n = 5, spacing = 'log', clip = false }
    same({ 2, 4, 8, 16, 32 }, centres)
    local _, one = bands.phase { fs = 512, range = { 4, 8 }, n = 1, clip = false }
    same({ 4 }, one)
  end)
end)

describe('pac.bands from explicit forms', function()
  it('knows the presets of Tensorpac', function()
    for name, n in pairs { lres = 10, mres = 30, hres = 50, demon = 70, hulk = 100 } do
      assert.equal(n, phase(name).shape[1])
    end
    local p, a = phase 'lres', (bands.amplitude { fs = 512, bands = 'lres' })
    same({ 1.5, 2.5 }, p[1])
    same({ 15, 25 }, p[-1])
    same({ 52.5, 67.5 }, a[1])
    same({ 140, 180 }, a[-1])
  end)

  it('takes one band, pairs, two lists, and tensors of either', function()
    same({ { 4, 8 } }, phase { 4, 8 })
    same({ { 4, 8 } }, phase(mc.tensor { 4, 8 }))
    local want = { { 4, 8 }, { 6, 10 }, { 8, 12 } }
    same(want, phase(want))
    same(want, phase { { 4, 6, 8 }, { 8, 10, 12 } })
    same(want, phase(mc.tensor(want, { dtype = 'f32' })))
    same({ { 4, 8 }, { 6, 10 } }, phase { { 4, 8 }, { 6, 10 } })
    local given, centres = bands.phase { fs = 512, bands = want, range = { 1, 2 }, n = 7 }
    same(want, given)
    same({ 6, 8, 10 }, centres)
  end)

  it('steps from start to below stop - width', function()
    same({ { 1, 3 }, { 2, 4 }, { 3, 5 }, { 4, 6 }, { 5, 7 } }, phase { 1, 8, 2, 1 })
    same({ { 1, 3 }, { 2, 4 }, { 3, 5 }, { 4, 6 }, { 5, 7 } }, phase { start = 1, stop = 8, width = 2, step = 1 })
    same({ { 2, 3 }, { 2.5, 3.5 }, { 3, 4 } }, phase { 2, 4.2, 1, 0.5 })
  end)

  it('pairs the neighbours of a vector after sorting', function()
    same({ { 2, 4 }, { 4, 8 } }, phase { 8, 2, 4 })
    same({ { 2, 4 }, { 4, 8 }, { 8, 9 } }, phase(mc.tensor { 2, 4, 8, 9 }))
    same({ { 2, 4 }, { 4, 8 }, { 8, 9 } }, phase { vector = { 2, 4, 8, 9 } })
  end)

  it('makes the triangular grid of a band search', function()
    same({ { 2, 4 }, { 2, 6 }, { 2, 9 }, { 4, 6 }, { 4, 9 }, { 6, 9 } }, phase { search = { 2, 4, 6, 9 } })
  end)

  it('puts a constant width around given centres', function()
    same({ { 3, 5 }, { 5, 7 } }, phase { centres = { 4, 6 }, width = 2 })
  end)
end)

describe('pac.bands errors', function()
  it('name the parameter, its value and the limit, and blame the caller', function()
    local cases = {
      { function() bands.phase {} end, 'pac: fs is nil; give the sampling rate in Hz' },
      { function() bands.phase { fs = 0 } end, 'pac: fs is 0 Hz; it must be finite and above 0' },
      { function() bands.phase { fs = mc.inf } end, 'pac: fs is inf Hz; it must be finite and above 0' },
      { function() bands.phase { fs = 512, range = { 20, 2 } } end,
        'pac: pha_range_hz is [20, 2] Hz; the low edge must be below the high edge' },
      { function() bands.phase { fs = 512, range = { 0, 2 } } end,
        'pac: pha_range_hz is [0, 2] Hz; the low edge must be above 0' },
      { function() bands.phase { fs = 512, range = { 2 } } end,
        'pac: pha_range_hz is a table; give {low, high} in Hz' },
      { function() bands.amplitude { fs = 320 } end,
        'pac: amp_range_hz is [60, 160] Hz; the high edge must be below fs/2 = 160 Hz (fs is 320 Hz)' },
      { function() bands.amplitude { fs = 350, clip = false } end,
        'pac: amp_range_hz without clip: band 10 is [140, 180] Hz; the high edge must be below fs/2 = 175 Hz (fs '
          .. 'is 350 Hz)' },
      { function() bands.phase { fs = 512, n = 0 } end,
        'pac: pha_n_bands is 0; it must be a whole number of at least 1' },
      { function() bands.amplitude { fs = 512, n = 2.5 } end,
        'pac: amp_n_bands is 2.5; it must be a whole number of at least 1' },
      { function() phase {} end, 'pac: pha_bands_hz is an empty list; give at least one band' },
      { function() phase(7) end, 'pac: pha_bands_hz is 7; give a preset name, a list or a tensor' },
      { function() phase { 7 } end, 'pac: pha_bands_hz holds 1 frequency; a vector needs at least 2' },
      { function() phase 'hress' end,
        "pac: pha_bands_hz is 'hress'; presets are lres, mres, hres, demon and hulk (did you mean 'hres'?)" },
      { function() phase { { 1, 2 }, { 3, 0 / 0 } } end,
        'pac: pha_bands_hz band 2 high edge is nan; it must be finite' },
      { function() phase { { 1, 2 }, { 4, 4 } } end,
        'pac: pha_bands_hz band 2 is [4, 4] Hz; the low edge must be below the high edge' },
      { function() phase { { 1, 2 }, { 4, '5' } } end,
        "pac: pha_bands_hz band 2 high edge is '5'; it must be a number of Hz" },
      { function() phase { { 1, 2 }, { 4 } } end,
        'pac: pha_bands_hz entry 2 holds 1 numbers, entry 1 holds 2; give {low, high} pairs' },
      { function() phase { { 1, 2, 3 } } end,
        'pac: pha_bands_hz is 1 x 3; give n {low, high} pairs or two lists of n' },
      { function() phase { { 1, 2 }, 3 } end, 'pac: pha_bands_hz entry 2 is 3; its neighbours are {low, high} pairs' },
      { function() phase { 4, 4, 8 } end,
        'pac: pha_bands_hz band 1 is [4, 4] Hz; the low edge must be below the high edge' },
      { function() phase { 1, 3, 2, 1 } end,
        'pac: pha_bands_hz {start, stop, width, step} holds no band: start + width = 3 Hz must be below stop = 3 Hz' },
      { function() phase { 1, 8, 2, 0 } end,
        'pac: pha_bands_hz {start, stop, width, step} has step 0 Hz; it must be above 0' },
      { function() phase { start = 1, stop = 8, step = 1 } end,
        'pac: pha_bands_hz {start, stop, width, step} entry 3 is nil; it must be a number of Hz' },
      { function() phase { centres = { 4 }, width = 9 } end,
        'pac: pha_bands_hz band 1 is [-0.5, 8.5] Hz; the low edge must be above 0' },
      { function() phase { vektor = { 4 } } end,
        "pac: pha_bands_hz has no entry 'vektor'; named forms are vector, search, centres + width and start + stop + "
          .. "width + step (did you mean vector?)" },
    }
    for _, c in ipairs(cases) do assert.has_error(c[1], c[2]) end
    local _, where = pcall(loadstring("require 'workflows.pac.bands'.phase { fs = 0 }", '=caller'))
    assert.is_truthy(where:find('^caller:1: pac: fs is 0'))
  end)
end)

describe('pac.bands.filter_order', function()
  it('gives the orders of the conformance list (C3)', function()
    local p, a = (bands.phase { fs = 512 }):totable(), (bands.amplitude { fs = 512 }):totable()
    local got = {}
    for i, b in ipairs(p) do got[i] = bands.filter_order(2048, 512, b[1], 3) end
    assert.same({ 682, 510, 339, 255, 204, 168, 144, 126, 111, 102 }, got)
    for i, b in ipairs(a) do got[i] = bands.filter_order(2048, 512, b[1], 6) end
    assert.same({ 48, 48, 42, 36, 30, 30, 24, 24, 18, 18 }, got)
    assert.same({ 682, true }, { bands.filter_order(2048, 512, 2, 3) })
    assert.same({ 768, false }, { bands.filter_order(2304, 512, 2, 3) })
  end)
end)

describe('pac.bands.warnings', function()
  local function warnings(p, a, n, fs)
    return bands.warnings { phase = mc.tensor(p), amp = mc.tensor(a), fs = fs or 512, n = n }
  end

  it('say nothing about bands that suit the recording', function()
    assert.same({}, warnings({ { 4, 6 }, { 8, 10 } }, { { 60, 90 } }, 5120))
  end)

  it('tell of overlap', function()
    local w = warnings({ { 4, 6 }, { 20, 30 } }, { { 29, 89 }, { 100, 160 } }, 5120)
    assert.same({ 'phase and amplitude bands overlap in 1 of 4 pairs, first phase band 2 [20, 30] Hz with amplitude '
      .. 'band 1 [29, 89] Hz; what they share is no coupling' }, w)
    assert.same({}, warnings({ { 4, 6 }, { 20, 30 } }, { { 30, 90 } }, 5120)) -- they touch
  end)

  it('tell of sidebands that are cut off', function()
    local w = warnings({ { 4, 6 }, { 10, 14 } }, { { 60, 70 }, { 60, 84 } }, 5120)
    assert.same({ 'in 1 of 4 pairs the amplitude band is narrower than twice the phase centre and cuts off the '
      .. 'sidebands, worst amplitude band 1 [60, 70] Hz (10 Hz wide) '
      .. 'with phase band 2 at 12 Hz, which needs 24 Hz' }, w)
  end)

  it('tell of filters cut short and of too few slow cycles', function()
    local w = warnings({ { 2, 2.5 } }, { { 60, 90 } }, 2048)
    assert.same({
      '2048 samples are fewer than 3 filter orders for 1 of 2 bands, first phase band 1 [2, 2.5] Hz: order 768 is cut '
        .. 'to 682 and the band gets wider; use at least 2304 samples',
      '2048 samples at 512 Hz hold 9.0 cycles of the slowest phase band (2.25 Hz); about 10 are needed, 4.444 s',
    }, w)
    assert.same({}, warnings({ { 2, 2.5 } }, { { 60, 90 } }, 2304))
  end)

  it('need all of their options', function()
    assert.has_error(function() bands.warnings { phase = mc.ones { 1, 2 }, amp = mc.ones { 1, 2 }, fs = 5 } end,
      'pac.bands.warnings: option n is missing')
  end)
end)
