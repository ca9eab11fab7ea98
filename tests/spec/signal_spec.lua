-- signal_spec.lua - windows, filter design, filtering, transforms and spectra of mascon.signal.
--
-- Golden answers are SciPy's (tests/golden/README.md). Laws that need no reference (splitting a signal, rows beside
-- each other, plain recursions written out here) cover the kernel paths: one row, two rows, a full set of lanes and the
-- rest.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local tol = support.load 'tol'
local signal = mc.signal

local files = {}
local function golden(name)
  files[name] = files[name] or mc.load(support.folder .. '/golden/' .. name .. '.npz')
  return files[name]
end

local function flat(t) return t:reshape { -1 }:totable() end
local function size(v) return type(v) == 'number' and math.abs(v) or math.sqrt(v.re * v.re + v.im * v.im) end

-- want and got agree within `factor` eps of the largest element. A recursion amplifies a rounding by the sum of its
-- impulse response, at most 1 / (1 - radius of its slowest pole): that is the factor where filters are compared.
local function agree(want, got, factor)
  assert.are.equal(tostring(want.shape), tostring(got.shape))
  local w, g, scale = flat(want), flat(got), 0
  for i = 1, #w do scale = math.max(scale, size(w[i])) end
  local dtype = got.dtype
  for i = 1, #w do
    local a = type(w[i]) == 'number' and w[i] or { re = w[i].re, im = w[i].im }
    local b = type(g[i]) == 'number' and g[i] or { re = g[i].re, im = g[i].im }
    local bad = tol.compare('ITERATIVE', dtype, b, a, { bound = (factor or 8) * tol.kind[dtype].eps * scale })
    if bad then error(('element %d: %s'):format(i, bad), 2) end
  end
end
local function same(want, got)
  assert.are.equal(want.dtype, got.dtype)
  assert.is_true(mc.array_equal(want, got))
end
local function fails(text, f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok)
  assert.is_truthy(message:find(text, 1, true), message)
end

local FS = 250
local DESIGNS = {
  { 4, 30, 'lowpass' }, { 3, 1, 'highpass' }, { 4, { 8, 12 }, 'bandpass' }, { 2, { 48, 52 }, 'bandstop' },
  { 5, 0.1, 'highpass' }, { 1, 30, 'lowpass' }, { 8, { 1, 40 }, 'bandpass' },
}
local function design(i) return signal.butter(DESIGNS[i][1], DESIGNS[i][2], { btype = DESIGNS[i][3], fs = FS }) end

-- b, a over one list of samples from state z (changed), the definition in plain numbers
local function plain_filter(b, a, x, z)
  local y, q = {}, #b - 1
  for t = 1, #x do
    y[t] = b[1] * x[t] + (z[1] or 0)
    for k = 1, q do z[k] = b[k + 1] * x[t] + (z[k + 1] or 0) - a[k + 1] * y[t] end
  end
  return y
end

describe('signal.get_window', function()
  it('gives the windows of SciPy, symmetric and periodic', function()
    local g = golden 'ops_spectrum'
    for _, name in ipairs { 'boxcar', 'hann', 'hamming', 'blackman', 'bartlett', 'flattop', 'nuttall', 'blackmanharris',
      'cosine', 'bohman' } do
      for _, n in ipairs { 1, 2, 8, 9 } do
        agree(g[('window_%s_%d'):format(name, n)], signal.get_window(name, n, { sym = true }), 4)
        agree(g[('window_%s_%d_periodic'):format(name, n)], signal.get_window(name, n), 4)
        agree(g[('window_%s_%d'):format(name, n)], signal[name](n), 4)
      end
    end
    for _, n in ipairs { 8, 9 } do
      agree(g['window_kaiser_5_' .. n], signal.kaiser(n, 5), 4)
      agree(g['window_tukey_25_' .. n], signal.tukey(n, 0.25), 4)
      agree(g['window_gaussian_2_' .. n], signal.gaussian(n, 2), 4)
    end
  end)

  it('makes the periodic window the first n points of the symmetric one of n + 1', function()
    for _, name in ipairs { 'hann', 'bohman', { 'kaiser', 8 }, { 'tukey', 0.4 }, { 'gaussian', 3 } } do
      for _, n in ipairs { 2, 7, 64 } do
        same(signal.get_window(name, n + 1, { sym = true })[{ { 1, n } }]:copy(), signal.get_window(name, n))
      end
    end
  end)

  it('knows short windows', function()
    for _, name in ipairs { 'hann', 'blackman', 'bartlett', { 'kaiser', 5 } } do
      assert.are.same({}, signal.get_window(name, 0):totable())
      assert.are.same({ 1 }, signal.get_window(name, 1):totable())
    end
  end)

  it('refuses unknown names and missing parameters with a word', function()
    fails('did you mean "hamming"', signal.get_window, 'haming', 8)
    fails('beta of the kaiser window is nil', signal.get_window, 'kaiser', 8)
    fails('takes no parameter', signal.get_window, { 'hann', 3 }, 8)
    fails('signal.hann: n is -1', signal.hann, -1)
    fails('did you mean "sym"', signal.hann, 8, { syn = true })
  end)
end)

describe('signal.kaiserord', function()
  it('chooses length and beta by the published formulas', function()
    local n, beta = signal.kaiserord(65, 0.1)
    assert.are.equal(81, n) -- ceil(57.05 / (2.285 pi / 10) + 1)
    assert.is_nil(tol.compare('ULP4', 'f64', beta, 0.1102 * 56.3))
    assert.are.equal(0, signal.kaiser_beta(10))
    fails('too small', signal.kaiserord, 5, 0.1)
  end)
end)

describe('signal.firwin', function()
  it('gives the filters of SciPy', function()
    local g = golden 'ops_signal'
    local cases = {
      { 31, 20, { pass_zero = 'lowpass' } }, { 31, 20, { pass_zero = 'highpass', window = 'hann' } },
      { 64, 40, { window = 'blackman' } }, { 51, { 8, 12 }, { pass_zero = 'bandpass' } },
      { 51, { 45, 55 }, { pass_zero = 'bandstop' } }, { 41, 30, { window = { 'kaiser', 6 } } },
    }
    for i, c in ipairs(cases) do
      c[3].fs = FS
      agree(g['firwin_' .. (i - 1)], signal.firwin(c[1], c[2], c[3]), 16)
    end
    agree(g.firwin_not_scaled, signal.firwin(21, 30, { scale = false, fs = FS }), 4)
  end)

  it('has gain 1 where it says and is symmetric', function()
    for _, c in ipairs { { 33, 20, true, 0 }, { 33, { 20, 40 }, false, 30 }, { 33, 20, false, FS / 2 } } do
      local h = signal.firwin(c[1], c[2], { fs = FS, pass_zero = c[3] })
      local gain = signal.freqz(h, 1, { worN = { c[4] }, fs = FS }).h:abs()[1]:item()
      assert.is_nil(tol.compare('ACCUM', 'f64', gain, 1, { n = 33, scale = 1 }))
      agree(h, h:flip():copy(), 4)
    end
  end)

  it('refuses impossible bands', function()
    fails('cutoff 1 is 130; it must lie between 0 and fs/2 = 125', signal.firwin, 11, 130, { fs = FS })
    fails('cutoffs 40 and 20 are not ascending', signal.firwin, 11, { 40, 20 }, { fs = FS })
    fails('use an odd number', signal.firwin, 10, 20, { fs = FS, pass_zero = false })
    fails('highpass takes one cutoff, 2 given', signal.firwin, 11, { 20, 40 }, { fs = FS, pass_zero = 'highpass' })
    fails('choose true, false, lowpass', signal.firwin, 11, 20, { fs = FS, pass_zero = 'low' })
  end)
end)

describe('signal.butter', function()
  it('gives the sections and the response of SciPy', function()
    local g = golden 'ops_signal'
    for i in ipairs(DESIGNS) do
      local sos = design(i)
      agree(g['sos_' .. (i - 1)], sos, 8)
      -- near a cut-off a section moves by 1 / (1 - radius) of the rounding of its poles: order 5 at 0.1 Hz of 250 Hz
      -- gives 1.3e3 for each of three sections
      agree(g['response_' .. (i - 1)], signal.freqz_sos(sos, { worN = g.response_f, fs = FS }).h, 4000)
    end
  end)

  it('passes half the power at its edges', function()
    for i, d in ipairs(DESIGNS) do
      local edges = type(d[2]) == 'table' and d[2] or { d[2] }
      local power = signal.freqz_sos(design(i), { worN = edges, fs = FS }).h:abs():square():totable()
      for _, p in ipairs(power) do assert.is_nil(tol.compare('ITERATIVE', 'f64', p, 0.5, { bound = 1e4 * 2 ^ -52 })) end
    end
  end)

  it('stays stable for narrow bands at high rates', function()
    local t = signal.butter(4, { 2, 2.5 }, { fs = 2000 }):totable()
    assert.are.equal(4, #t)
    for _, r in ipairs(t) do assert.is_true(math.abs(r[6]) < 1 and math.abs(r[5]) < 1 + r[6]) end
  end)

  it('refuses wrong numbers of edges', function()
    fails('bandpass takes two edges, 1 given', signal.butter, 4, 30, { fs = FS, btype = 'bandpass' })
    fails('lowpass takes one edge, 2 given', signal.butter, 4, { 8, 12 }, { fs = FS, btype = 'lowpass' })
    fails('order is 0', signal.butter, 0, 30, { fs = FS })
    fails('choose lowpass, highpass, bandpass, bandstop (did you mean "lowpass"?)', signal.butter, 2, 30,
      { btype = 'lowpas' })
  end)
end)

describe('signal.iirnotch', function()
  it('gives the section of SciPy', function()
    local g = golden 'ops_signal'
    agree(mc.concat { g.notch_b, g.notch_a }:reshape { 1, 6 }, signal.iirnotch(50, 30, { fs = FS }), 4)
  end)

  it('removes its frequency, and iirpeak keeps only that', function()
    local f = { 50, 10 }
    local notch = signal.freqz_sos(signal.iirnotch(50, 30, { fs = FS }), { worN = f, fs = FS }).h:abs():totable()
    local peak = signal.freqz_sos(signal.iirpeak(50, 30, { fs = FS }), { worN = f, fs = FS }).h:abs():totable()
    assert.is_true(notch[1] < 1e-12 and notch[2] > 0.99)
    assert.is_true(math.abs(peak[1] - 1) < 1e-12 and peak[2] < 0.05)
  end)
end)

describe('signal.sosfilt', function()
  it('filters as SciPy does', function()
    local g = golden 'ops_signal'
    for _, i in ipairs { 0, 2, 3, 6 } do
      agree(g[('sosfilt_%d_every_3'):format(i)], signal.sosfilt(g['sos_' .. i], g.x)[':, ::3'], 1000)
    end
    agree(g.sosfilt_zi_2, signal.sosfilt_zi(g.sos_2), 1000)
  end)

  it('is the recursion of its sections, for any number of sections', function()
    for _, sections in ipairs { 1, 2, 3, 4, 5, 6, 7, 8, 9, 17 } do
      local sos, x = {}, mc.randn { 100, seed = 5 }:totable()
      local y = x
      for s = 1, sections do
        sos[s] = { 0.5, 0.1 * s / sections, -0.2, 1, -0.9 + s / 20, 0.3 }
        y = plain_filter({ unpack(sos[s], 1, 3) }, { unpack(sos[s], 4, 6) }, y, {})
      end
      agree(mc.tensor(y), signal.sosfilt(mc.tensor(sos), mc.tensor(x)), 64)
    end
  end)

  it('gives a row the same bits whatever stands beside it', function()
    local sos = design(3)
    local x = mc.randn { 29, 150, seed = 6 }
    local alone = {}
    for i = 1, 29 do alone[i] = signal.sosfilt(sos, x[i]) end
    local want = mc.stack(alone)
    for _, m in ipairs { 1, 2, 3, 11, 12, 13, 14, 24, 29 } do
      same(want[{ { 1, m } }]:copy(), signal.sosfilt(sos, x[{ { 1, m } }]))
    end
  end)

  it('carries on from zi', function()
    local sos = design(7)
    local x = mc.randn { 3, 200, 2, seed = 7 }
    local whole = signal.sosfilt(sos, x, { axis = 2 })
    local state, parts = mc.zeros { sos.shape[1], 3, 2, 2 }, {}
    for i, cut in ipairs { { 1, 64 }, { 65, 65 }, { 66, 200 } } do
      parts[i], state = signal.sosfilt(sos, x[{ mc.all, cut, mc.all }], { axis = 2, zi = state })
    end
    same(whole, mc.concat(parts, 2))
    assert.are.equal('{8, 3, 2, 2}', tostring(state.shape))
  end)

  it('starts a step without a jump from sosfilt_zi', function()
    local sos = design(1)
    local y = signal.sosfilt(sos, mc.full({ 50 }, 3), { zi = signal.sosfilt_zi(sos) * 3 })
    agree(mc.full({ 50 }, 3), y, 64)
  end)

  it('keeps f32, takes integers as f64 and filters both parts of complex samples', function()
    local sos, x = design(1), mc.randn { 5, 80, seed = 8 }
    local single = x:to 'f32'
    same(signal.sosfilt(sos, single:to 'f64'):to 'f32', signal.sosfilt(sos, single))
    local whole = mc.randint(-9, 9, { 80 }, { seed = 9 })
    same(signal.sosfilt(sos, whole:to 'f64'), signal.sosfilt(sos, whole))
    local z = signal.sosfilt(sos, x + x:flip(2) * mc.complex(0, 1))
    same(signal.sosfilt(sos, x), z:real())
    same(signal.sosfilt(sos, x:flip(2)), z:imag())
  end)

  it('takes empty rows and says what is wrong otherwise', function()
    local sos = design(1)
    assert.are.same({ 3, 0 }, { signal.sosfilt(sos, mc.zeros { 3, 0 }):size() })
    assert.are.same({ 0, 5 }, { signal.sosfilt(sos, mc.zeros { 0, 5 }):size() })
    fails('sections are f64[6]@cpu; give f64[sections,6]', signal.sosfilt, mc.zeros { 6 }, mc.zeros { 9 })
    fails('section 1 has a0 = 2', signal.sosfilt, { { 1, 0, 0, 2, 0, 0 } }, mc.zeros { 9 })
    fails('zi is f64[2,3]@cpu for samples f64[9]@cpu; it must have shape [2,2]', signal.sosfilt, sos, mc.zeros { 9 },
      { zi = mc.zeros { 2, 3 } })
    fails('axis 2 is outside f64[9]@cpu', signal.sosfilt, sos, mc.zeros { 9 }, { axis = 2 })
  end)
end)

describe('signal.lfilter', function()
  it('filters as SciPy does', function()
    local g = golden 'ops_signal'
    agree(g.lfilter_fir, signal.lfilter(g.firwin_3, 1, g.x), 64)
    -- six poles as one polynomial: coefficients of size 15 multiply roundings on top of the poles' 1e2
    agree(g.lfilter_ba_every_3, signal.lfilter(g.ba_b, g.ba_a, g.x)[':, ::3'], 1e4)
    agree(g.lfilter_zi, signal.lfilter_zi(g.ba_b, g.ba_a), 1e5)
  end)

  it('is the recursion, for any order and number of rows', function()
    local x = mc.randn { 14, 90, seed = 10 }
    for _, c in ipairs { { { 0.5 }, { 1 } }, { { 0.5, 0.2 }, { 1, -0.3 } },
      { { 0.2, 0.1, 0, 0.4 }, { 1, -0.2, 0.1, 0.05 } }, { { 1, 0, 0, 0, 0, 2 }, { 1, 0, 0, 0, 0, 0.5 } } } do
      local want = {}
      for i = 1, 14 do want[i] = plain_filter(c[1], c[2], x[i]:totable(), {}) end
      for _, m in ipairs { 1, 2, 3, 12, 14 } do
        agree(mc.tensor(want)[{ { 1, m } }]:copy(), signal.lfilter(c[1], c[2], x[{ { 1, m } }]), 32)
      end
    end
  end)

  it('divides by a[1] and fills the shorter polynomial', function()
    local x = mc.randn { 30, seed = 11 }
    agree(signal.lfilter({ 1, 2, 0 }, { 1, 0.5, 0.25 }, x), signal.lfilter({ 2, 4 }, { 2, 1, 0.5 }, x), 8)
    fails('a[1] is 0', signal.lfilter, { 1 }, { 0, 1 }, x)
  end)

  it('gives the same by transforms as by the recursion, for long filters', function()
    for _, n in ipairs { 60, 500, 9000 } do
      local h, x = mc.randn { 201, seed = 12 }, mc.randn { 3, n, seed = 13 }
      local direct = signal.lfilter(h, 1, x, { zi = mc.zeros { 3, 200 } })
      agree(direct, signal.lfilter(h, 1, x), 64)
      agree(direct:to 'f32', signal.lfilter(h, 1, x:to 'f32'), 64)
    end
  end)

  it('carries on from zi', function()
    local b, a, x = { 0.2, 0.1, 0, 0.4 }, { 1, -0.2, 0.1, 0.05 }, mc.randn { 4, 60, seed = 14 }
    local first, state = signal.lfilter(b, a, x[{ mc.all, { 1, 25 } }], { zi = mc.zeros { 4, 3 } })
    local second = signal.lfilter(b, a, x[{ mc.all, { 26, 60 } }], { zi = state })
    same(signal.lfilter(b, a, x), mc.concat({ first, second }, 2))
  end)
end)

describe('signal.sosfiltfilt', function()
  it('filters as SciPy does', function()
    local g = golden 'ops_signal'
    for _, i in ipairs { 0, 2, 3, 6 } do
      agree(g[('sosfiltfilt_%d_every_3'):format(i)], signal.sosfiltfilt(g['sos_' .. i], g.x)[':, ::3'], 4000)
    end
  end)

  it('is two passes over the extended rows', function()
    local sos, x, pad = design(3), mc.randn { 13, 200, seed = 15 }, 30
    local zi = signal.sosfilt_zi(sos)
    for padtype, mode in pairs { odd = 'odd_reflect', even = 'reflect', constant = 'edge' } do
      local rows = {}
      for i = 1, 13 do
        local wide = mc.pad(x[i], { pad, pad }, { mode = mode })
        local y = signal.sosfilt(sos, wide, { zi = zi * wide[1] })
        y = signal.sosfilt(sos, y:flip(), { zi = zi * y[-1] }):flip()
        rows[i] = y[{ { pad + 1, pad + 200 } }]
      end
      same(mc.stack(rows), signal.sosfiltfilt(sos, x, { padtype = padtype, padlen = pad }))
    end
  end)

  it('keeps the phase of what it passes', function()
    local t = mc.arange(0, 1999) / FS
    local x = mc.sin(t * (2 * math.pi * 10))
    local y = signal.sosfiltfilt(design(3), x)
    local middle = { { 501, 1500 } }
    assert.is_true(mc.abs(y[middle] - x[middle]):max():item() < 1e-3)
  end)

  it('runs along any axis', function()
    local x = mc.randn { 4, 100, 3, seed = 16 }
    same(signal.sosfiltfilt(design(1), x:moveaxis(2, -1)):moveaxis(-1, 2):contiguous(),
      signal.sosfiltfilt(design(1), x, { axis = 2 }))
  end)

  it('asks for more samples than padding', function()
    fails('the axis has 10; padding needs more than 27', signal.sosfiltfilt, design(3), mc.zeros { 2, 10 })
    assert.are.same({ 2, 10 }, { signal.sosfiltfilt(design(3), mc.zeros { 2, 10 }, { padtype = 'none' }):size() })
  end)
end)

describe('signal.filtfilt', function()
  it('filters as SciPy does', function()
    local g = golden 'ops_signal'
    agree(g.filtfilt_fir, signal.filtfilt(g.firwin_3, 1, g.x), 64)
    agree(g.filtfilt_fir_pad_40, signal.filtfilt(g.firwin_3, 1, g.x, { padlen = 40 }), 64)
    agree(g.filtfilt_ba_every_3, signal.filtfilt(g.ba_b, g.ba_a, g.x)[':, ::3'], 1e4)
  end)

  it('turns two passes of a long filter into one convolution with the same result', function()
    local h = signal.firwin(101, 30, { fs = FS })
    for _, n in ipairs { 350, 5000 } do
      local x = mc.randn { 2, n, seed = 17 } + 5
      for _, padtype in ipairs { 'odd', 'even', 'constant' } do
        local mode = ({ odd = 'odd_reflect', even = 'reflect', constant = 'edge' })[padtype]
        local wide = mc.pad(x, { { 0, 0 }, { 303, 303 } }, { mode = mode })
        local zi = signal.lfilter_zi(h, 1)
        local y = signal.lfilter(h, 1, wide, { zi = wide[{ mc.all, { 1, 1 } }] * zi }):flip(2)
        y = signal.lfilter(h, 1, y, { zi = y[{ mc.all, { 1, 1 } }] * zi }):flip(2)
        agree(y[{ mc.all, { 304, 303 + n } }]:copy(), signal.filtfilt(h, 1, x, { padtype = padtype }), 64)
      end
    end
  end)

  it('treats short extensions as they are', function()
    local h, x = signal.firwin(61, 30, { fs = FS }), mc.randn { 100, seed = 18 }
    local zi = signal.lfilter_zi(h, 1)
    local wide = mc.pad(x, { 10, 10 }, { mode = 'odd_reflect' })
    local y = signal.lfilter(h, 1, wide, { zi = zi * wide[1] }):flip()
    y = signal.lfilter(h, 1, y, { zi = zi * y[1] }):flip()
    same(y[{ { 11, 110 } }]:copy(), signal.filtfilt(h, 1, x, { padlen = 10 }))
  end)
end)

describe('signal.freqz', function()
  it('evaluates the transfer function', function()
    local r = signal.freqz({ 1, 2 }, { 1, 0.5 }, { worN = 4, fs = 8 })
    assert.are.same({ 0, 1, 2, 3 }, r.f:totable())
    assert.are.equal(2, r.h[1]:item().re) -- 3 / 1.5
    -- at a quarter of the rate z^-1 = -i: (1 - 2i) / (1 - 0.5i) = (1.6 - 1.2i)
    agree(mc.tensor { mc.complex(1.6, -1.2) }, r.h[{ { 3, 3 } }], 4)
    assert.are.equal(8, signal.freqz({ 1 }, 1, { worN = 16, fs = 16, whole = true }).f[9]:item())
  end)
end)

describe('signal.hilbert', function()
  it('gives the analytic signal of SciPy', function()
    local g = golden 'ops_spectrum'
    agree(g.hilbert, signal.hilbert(g.x)[':, ::3'], 16)
    agree(g.hilbert_even, signal.hilbert(g.x[':, 1:300'])[':, ::3'], 16)
    agree(g.hilbert_padded_512, signal.hilbert(g.x, { n = 512 })[':, 1:301:3'], 16)
  end)

  it('turns a cosine into a rotation and keeps its real part', function()
    local t = mc.arange(0, 63) * (2 * math.pi * 5 / 64)
    agree(mc.cos(t) + mc.sin(t) * mc.complex(0, 1), signal.hilbert(mc.cos(t)), 32)
    local x = mc.randn { 3, 50, 2, seed = 19 }
    agree(x, signal.hilbert(x, { axis = 2 }):real(), 32)
    assert.are.equal('c64', signal.hilbert(mc.zeros({ 8 }, { dtype = 'f32' })).dtype)
    fails('give real ones', signal.hilbert, mc.zeros({ 8 }, { dtype = 'c128' }))
  end)
end)

describe('signal.convolve', function()
  it('gives what NumPy gives in all modes', function()
    local g = golden 'ops_signal'
    local x, h = g.x[{ 1, { 1, 40 } }], g.firwin_3['1:11']
    for _, mode in ipairs { 'full', 'same', 'valid' } do
      agree(g['convolve_' .. mode], signal.convolve(x, h, { mode = mode }), 16)
      agree(g['convolve_' .. mode], signal.convolve(x, h, { mode = mode, method = 'fft' }), 16)
      agree(g['convolve_' .. mode], signal.fftconvolve(x, h, { mode = mode }), 16)
    end
  end)

  it('is the sum of its definition, whichever operand is longer', function()
    local a, b = { 1, 2, 3, 4, 5 }, { 1, -1, 2 }
    for _, method in ipairs { 'direct', 'fft' } do
      for _, pair in ipairs { { a, b }, { b, a } } do
        agree(mc.tensor { 1, 1, 3, 5, 7, 3, 10 },
          signal.convolve(mc.tensor(pair[1]), mc.tensor(pair[2]), { method = method }), 16)
        agree(mc.tensor { 3, 5, 7 },
          signal.convolve(mc.tensor(pair[1]), mc.tensor(pair[2]), { method = method, mode = 'valid' }), 16)
      end
      agree(mc.tensor { 1, 3, 5, 7, 3 },
        signal.convolve(mc.tensor(a), mc.tensor(b), { method = method, mode = 'same' }), 16)
    end
  end)

  it('cuts long rows into blocks without a seam', function()
    for _, n in ipairs { 3000, 20000, 300000 } do
      local x, h = mc.randn { n, seed = 20 }, mc.randn { 33, seed = 21 }
      agree(signal.convolve(x, h, { method = 'direct' }), signal.convolve(x, h, { method = 'fft' }), 64)
    end
    local x, h = mc.randn { 7, 9000, seed = 22 }, mc.randn { 40, seed = 23 }
    for _, mode in ipairs { 'full', 'same', 'valid' } do
      agree(signal.convolve(x, h, { axis = 2, mode = mode, method = 'direct' }),
        signal.convolve(x, h, { axis = 2, mode = mode, method = 'fft' }), 64)
    end
  end)

  it('runs a filter along an axis and convolves images', function()
    local x = mc.randn { 5, 30, seed = 24 }
    agree(signal.convolve(x, mc.tensor { 1, 2, 1 }, { axis = -1 }).T:copy(),
      signal.convolve(x.T, mc.tensor { 1, 2, 1 }, { axis = 1 }), 8)
  end)

  it('keeps whole numbers whole', function()
    local y = signal.convolve(mc.tensor({ 1, 2, 3 }, { dtype = 'i32' }), mc.tensor({ 1, 1 }, { dtype = 'i32' }))
    assert.are.equal('i64', y.dtype)
    assert.are.same({ 1, 3, 5, 3 }, y:totable())
  end)

  it('asks for equal rank', function()
    fails('operands are f64[2,3]@cpu and f64[3]@cpu; give the same number of axes, or axis =', signal.convolve,
      mc.zeros { 2, 3 }, mc.zeros { 3 })
    fails('"valid" needs one at least as long', signal.fftconvolve, mc.zeros { 2, 5 }, mc.zeros { 3, 3 },
      { mode = 'valid' })
  end)
end)

describe('signal.fftconvolve', function()
  it('convolves over two axes, real and complex', function()
    local x, h = mc.randn { 6, 7, seed = 25 }, mc.randn { 3, 2, seed = 26 }
    local want = mc.zeros { 8, 8 }
    for i = 1, 3 do
      for j = 1, 2 do
        local part = want[{ { i, i + 5 }, { j, j + 6 } }]
        part:copy_(part + x * h[{ i, j }])
      end
    end
    agree(want, signal.fftconvolve(x, h), 32)
    agree(want['2:7, 1:7']:copy(), signal.fftconvolve(x, h, { mode = 'same' }), 32)
    local i = mc.complex(0, 1)
    agree(want * i, signal.fftconvolve(x * i, h), 32)
    local rows = signal.fftconvolve(x, h['1:1, :'], { axes = 2 })
    agree(signal.convolve(x, h[1], { axis = 2 }), rows, 32)
  end)
end)

describe('signal.correlate', function()
  it('gives what SciPy gives in all modes', function()
    local g = golden 'ops_signal'
    for _, mode in ipairs { 'full', 'same', 'valid' } do
      agree(g['correlate_' .. mode],
        signal.correlate(g.x[{ 1, { 1, 40 } }], g.x[{ 2, { 1, 11 } }], { mode = mode }), 16)
    end
  end)

  it('conjugates the second operand and starts at the most negative lag', function()
    local i = mc.complex(0, 1)
    local z = signal.correlate(mc.tensor { 1, 2, 3 } * i, mc.tensor { 1, 1 } * i)
    agree(mc.tensor { 1, 3, 5, 3 }, z:real(), 8)
    agree(mc.tensor { 5, 3 }, signal.correlate(mc.tensor { 1, 1 }, mc.tensor { 1, 2, 3 }, { mode = 'valid' }), 8)
  end)
end)

describe('signal.detrend', function()
  it('gives what SciPy gives', function()
    local g = golden 'ops_signal'
    agree(g.detrend_constant, signal.detrend(g.x, { type = 'constant' })[':, ::5'], 8)
    agree(g.detrend_linear, signal.detrend(g.x)[':, ::5'], 32)
  end)

  it('removes a line along any axis, however short the row', function()
    local t = mc.arange(1, 40)
    local x = mc.stack { t * 3 + 2, t * -0.5 }
    assert.is_true(mc.abs(signal.detrend(x)):max():item() < 1e-12)
    assert.is_true(mc.abs(signal.detrend(x.T, { axis = 1 })):max():item() < 1e-12)
    assert.are.same({ 0 }, signal.detrend(mc.tensor { 7 }):totable())
  end)
end)

describe('signal.welch', function()
  it('gives the densities of SciPy', function()
    local g = golden 'ops_spectrum'
    local r = signal.welch(g.x, { fs = 100, nperseg = 64 })
    agree(g.welch_f, r.f, 1)
    agree(g.welch, r.psd, 16)
    agree(g.welch_spectrum, signal.welch(g.x, { fs = 100, nperseg = 64, scaling = 'spectrum' }).psd, 16)
    agree(g.welch_hamming_n50_o10_nfft80_linear,
      signal.welch(g.x,
        { fs = 100, window = 'hamming', nperseg = 50, noverlap = 10, nfft = 80, detrend = 'linear' }).psd, 32)
    agree(g.welch_median, signal.welch(g.x, { fs = 100, nperseg = 64, average = 'median' }).psd, 16)
  end)

  it('holds the power of a sine and of noise', function()
    local t = mc.arange(0, 9999) / 100
    local x = mc.sin(t * (2 * math.pi * 12.5)) * 2
    local r = signal.welch(x, { fs = 100, nperseg = 200, scaling = 'spectrum' })
    assert.is_nil(tol.compare('ACCUM', 'f64', r.psd:max():item(), 2, { n = 1e4, scale = 2 }))
    assert.are.equal(12.5, r.f[r.psd:argmax()]:item())
    local noise = mc.randn { 20000, seed = 27 }
    local power = signal.welch(noise, { fs = 100, nperseg = 200 }).psd:sum():item() * 0.5
    assert.is_nil(tol.stat(power, 1, math.sqrt(2 / 20000)))
  end)

  it('gives a row the same whatever stands beside it, along any axis and in f32', function()
    local x = mc.randn { 5, 700, seed = 28 }
    local all = signal.welch(x, { nperseg = 128 }).psd
    for i = 1, 5 do same(all[i]:copy(), signal.welch(x[i], { nperseg = 128 }).psd) end
    same(all.T:copy(), signal.welch(x.T, { nperseg = 128, axis = 1 }).psd)
    local single = signal.welch(x:to 'f32', { nperseg = 128 }).psd
    assert.are.equal('f32', single.dtype)
    agree(all:to 'f32', single, 16)
  end)

  it('is two-sided for complex samples', function()
    local t = mc.arange(0, 255) * (-2 * math.pi * 8 / 64)
    local r = signal.welch(mc.cos(t) + mc.sin(t) * mc.complex(0, 1), { fs = 64, nperseg = 64, detrend = 'none' })
    assert.are.equal(-8, r.f[r.psd:argmax()]:item())
    assert.are.equal(64, r.psd:numel())
  end)

  it('refuses segments that do not fit', function()
    fails('nperseg = 300 is more than the 100 samples', signal.welch, mc.zeros { 100 }, { nperseg = 300 })
    fails('noverlap = 64 must be below nperseg = 64', signal.welch, mc.zeros { 100 }, { nperseg = 64, noverlap = 64 })
    fails('nfft = 32 is below nperseg = 64', signal.welch, mc.zeros { 100 }, { nperseg = 64, nfft = 32 })
    fails('the window is f64[10]@cpu; it must have 64 values', signal.welch, mc.zeros { 100 },
      { nperseg = 64, window = mc.zeros { 10 } })
  end)
end)

describe('signal.periodogram', function()
  it('gives the density of SciPy', function()
    local g = golden 'ops_spectrum'
    local r = signal.periodogram(g.x, { fs = 100 })
    agree(g.periodogram_f, r.f, 1)
    agree(g.periodogram, r.psd, 16)
  end)

  it("keeps Parseval's sum", function()
    for _, n in ipairs { 50, 51 } do
      local x = mc.randn { n, seed = 29 }
      local r = signal.periodogram(x, { detrend = 'none' })
      assert.is_nil(tol.compare('ACCUM', 'f64', r.psd:sum():item() / n, x:square():mean():item(), { n = n, scale = 2 }))
    end
  end)
end)

describe('signal.csd and signal.coherence', function()
  it('give what SciPy gives', function()
    local g = golden 'ops_spectrum'
    agree(g.csd, signal.csd(g.x[1], g.x[2], { fs = 100, nperseg = 64 }).csd, 16)
    agree(g.coherence, signal.coherence(g.x[1], g.x[2], { fs = 100, nperseg = 64 }).coherence, 32)
  end)

  it('are the density and 1 for equal signals', function()
    local x = mc.randn { 3, 600, seed = 30 }
    agree(signal.welch(x, { nperseg = 100 }).psd, signal.csd(x, x, { nperseg = 100 }).csd:real(), 8)
    agree(mc.ones { 3, 51 }, signal.coherence(x, x, { nperseg = 100 }).coherence, 16)
    fails('give the same shape', signal.csd, x, x[1])
  end)
end)

describe('signal.spectrogram', function()
  it('gives what SciPy gives', function()
    local g = golden 'ops_spectrum'
    local r = signal.spectrogram(g.x[1], { fs = 100, nperseg = 64 })
    agree(g.spectrogram_t, r.t, 1)
    agree(g.spectrogram, r.psd, 16)
  end)

  it('averages to welch', function()
    local x = mc.randn { 2, 3, 500, seed = 31 }
    local r = signal.spectrogram(x, { nperseg = 100, noverlap = 50, window = 'hann' })
    assert.are.same({ 2, 3, 51, 9 }, { r.psd:size() })
    agree(signal.welch(x, { nperseg = 100 }).psd, r.psd:mean(-1), 16)
  end)
end)

describe('signal.morlet', function()
  it('is the formula', function()
    local f, fs, width = 10, 250, 7
    local m = signal.morlet(f, fs)
    local s = width / (2 * math.pi * f)
    local list = m:totable()
    assert.are.equal(math.ceil(width * s * fs), #list)
    for k, z in ipairs(list) do
      local t = -width * s / 2 + (k - 1) / fs
      local e = (s * math.sqrt(math.pi)) ^ -0.5 * math.exp(-t * t / (2 * s * s))
      local want = { re = e * math.cos(2 * math.pi * f * t), im = e * math.sin(2 * math.pi * f * t) }
      assert.is_nil(tol.compare('ITERATIVE', 'c128', { re = z.re, im = z.im }, want, { bound = 64 * 2 ^ -52 * 3 }))
    end
    fails('frequency is 125; it must lie between 0 and fs/2 = 125', signal.morlet, 125, 250)
  end)

  it('transforms by cropped convolution', function()
    local x, fs = mc.randn { 2, 400, seed = 32 }, 250
    local y = signal.morlet_transform(x, { 8, 20 }, fs)
    assert.are.same({ 2, 2, 400 }, { y:size() })
    for k, f in ipairs { 8, 20 } do
      local m = signal.morlet(f, fs)
      local full = signal.fftconvolve(x[2], m)
      local first = math.ceil(m:numel() / 2)
      agree(full[{ { first, first + 399 } }]:copy(), y[{ 2, k }]:copy(), 32)
    end
  end)
end)
