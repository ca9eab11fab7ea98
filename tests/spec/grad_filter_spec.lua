-- grad_filter_spec.lua - derivatives of recursive filters and of values between knots, in samples, coefficients,
-- states, places and knots.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local gradient, gradient_rows = support.load 'gradient', support.load 'gradient_rows'
local S, I = mc.signal, mc.interpolate

local POLES = mc.tensor { 1.3, -0.5, 0.3, 0.1 }
local KNOTS = mc.tensor { 0, 1, 2.5, 3, 5 }
local INNER = mc.tensor { 0.2, 1.3, 2.7, 4.2 }
local ANY = mc.tensor { { -1.2, 0.2, 1.3 }, { 2.7, 4.2, 6 } }

--- Sections [2, 6] with stable poles from [2, 5].
local function sections(t)
  return mc.concat({ t[{ mc.all, { 1, 3 } }], mc.ones { 2, 1 }, mc.tanh(t[{ mc.all, { 4, 5 } }]) * 0.4 }, 2)
end

--- In places, knots and values far from those where the sign of a slope changes.
local function spline(make)
  return function(r)
    return { { function(q, knots, v) return make(knots, v)(q) end, INNER, KNOTS,
      r(2, 5) * 0.1 + mc.tensor { 0, 1, 3, 2.2, 4 }, narrow = false } }
  end
end

-- coefficients and states of a filter are f64 for every dtype of samples, so that narrow operands are tried apart
local CASES = {
  iir = function(r)
    return {
      { function(x, b, a) return (S.lfilter(b, a, x, { axis = 1 })) end, r(9, 3), r(3), POLES,
        compiled = false, narrow = false },
      { function(x, b, a, z) return S.lfilter(b, a, x, { zi = z }) end, r(2, 7), r(3), POLES, r(2, 3),
        compiled = false, narrow = false },
      -- shorter than its memory
      { function(x, b, a, z) return S.lfilter(b, a, x, { zi = z }) end, r(2, 2), r(3), POLES, r(2, 3),
        compiled = false, narrow = false },
      { function(x, t) return (S.sosfilt(sections(t), x)) end, r(2, 9), r(2, 5), compiled = false, narrow = false },
      { function(x, t) return S.sosfiltfilt(sections(t), x) end, r(2, 30), r(2, 5), compiled = false, narrow = false },
      { function(x, b, a) return S.filtfilt(b, a, x) end, r(20), r(3), POLES, compiled = false, narrow = false },
      { function(x) return (S.lfilter({ 1, 0.5 }, { 1, -0.4 }, x)) end, r(3, 9) },
    }
  end,
  interp = function(r)
    return {
      { mc.interp, ANY, KNOTS, r(5), second = false }, { function(x, xp,
        fp) return mc.interp(x, xp, fp, { left = 1, right = 2 }) end, ANY, KNOTS, r(5), second = false },
      { function(x, xp, fp) return mc.interp(x, xp, fp, { period = 6.5 }) end, ANY, KNOTS, r(5),
        second = false, narrow = false },
      { function(x, fp) return mc.interp(x, mc.tensor { 1 }, fp) end, ANY, r(1), second = false },
    }
  end,
  ppoly = function(r)
    local out = {}
    for nu = 0, 3 do
      out[nu + 1] = { function(x, k, c) return I.ppoly(x, k, c, { derivative = nu }) end, ANY, KNOTS, r(4, 4, 2),
        narrow = nu == 0 }
    end
    out[5] = { function(x, c) return I.ppoly(x, KNOTS, c, { extrapolate = false }) end, INNER, r(2, 4) }
    return out
  end,
  tridiagonal = function(r)
    local function solve(b, x) return I.tridiagonal(b + mc.tensor { { 0 }, { 5 }, { 0 } }, x) end
    return { { solve, r(3, 6), r(6, 2), narrow = false }, { solve, r(3, 6), r(6), narrow = false } }
  end,
  cubic_spline = function(r)
    local out = {}
    for k, bc in ipairs { 'not-a-knot', 'natural', 'clamped' } do
      out[k] = { function(q, knots, v) return I.cubic_spline(knots, v, { bc = bc })(q) end, INNER, KNOTS,
        r(2, 5), narrow = false }
    end
    out[4] = { function(q, knots, v)
      return I.cubic_spline(knots, mc.concat { v, v[{ { 1, 1 } }] }, { bc = 'periodic' })(q)
    end, INNER, KNOTS, r(4), narrow = false }
    out[5] = { function(knots, v)
      local s = I.cubic_spline(knots, v)
      return s:integrate(0.3, 4.1), s:derivative()(INNER)
    end, KNOTS, r(5), narrow = false }
    return out
  end,
  pchip = spline(I.pchip), akima = spline(I.akima),
  interp1d = function(r)
    local out = {}
    for k, kind in ipairs { 'linear', 'cubic', 'pchip', 'makima' } do
      out[k] = { function(q, knots, v) return I.interp1d(knots, v, q, { kind = kind, fill_value = 'extrapolate' }) end,
        INNER, KNOTS, r(2, 5), second = kind ~= 'linear', narrow = false }
    end
    out[5] = { function(v) return I.interp1d(KNOTS, v, INNER, { kind = 'nearest' }) end, r(2, 5) }
    return out
  end,
  regular_grid = function(r)
    return { {
      function(a, b, v, at) return I.regular_grid({ a, b }, v, at, { fill_value = 'extrapolate' }) end, KNOTS,
      mc.tensor { 0, 2, 5 }, r(5, 3), mc.tensor { { 0.5, 1 }, { 3.2, 4 } }, narrow = false,
    } }
  end,
}

local FAMILY = { filter = true, interp = true, tridiagonal = true }

describe('derivatives of filters and interpolation', function()
  for _, t in ipairs(gradient_rows.rows(function(row)
    return FAMILY[row.family] or row.module == 'mascon.interpolate' or row.module == 'mascon.interpolate.spline'
  end, CASES)) do it('of ' .. t.name, t.run) end
end)

describe('derivatives of signal processing by parts', function()
  local x, y = gradient.random({ 2, 40 }, 'f64', 1), gradient.random({ 2, 40 }, 'f64', 2)
  local taps, complex = gradient.random({ 5 }, 'f64', 3), gradient.random({ 13 }, 'c128', 4)
  for what, c in pairs {
    ['long plain taps'] = { function(t, h) return (S.lfilter(h, 1, t)) end, gradient.random({ 150 }, 'f64', 5),
      gradient.random({ 50 }, 'f64', 6) },
    ['complex samples'] = { function(t, h) return (S.lfilter(h, POLES, t)) end, complex, taps },
    ['plain taps both ways'] = { function(t, h) return S.filtfilt(h, 1, t) end, gradient.random({ 100 }, 'f64', 5),
      gradient.random({ 20 }, 'f64', 6) },
    ['start-up states'] = { function(b, a) return S.lfilter_zi(b, a) end, taps, POLES },
    ['frequency responses'] = { function(b, a) return S.freqz(b, a, { worN = 7 }).h end, taps, POLES },
    ['responses of sections'] = { function(t) return S.freqz_sos(sections(t), { worN = 7 }).h end,
      gradient.random({ 2, 5 }, 'f64', 7) },
    ['analytic signals'] = { function(t) return S.hilbert(t) end, x },
    ['trends'] = { function(t) return S.detrend(t) end, x },
    ['power spectra'] = { function(t) return S.welch(t, { nperseg = 8 }).psd end, x },
    ['spectrograms'] = { function(t) return S.spectrogram(t, { nperseg = 8 }).psd end, x },
    ['cross spectra'] = { function(t, u) return S.csd(t, u, { nperseg = 8 }).csd end, x, y },
    ['coherence'] = { function(t, u) return S.coherence(t, u, { nperseg = 8 }).coherence end, x, y },
    ['convolution'] = { function(t, h) return S.convolve(t, h, { axis = 2, mode = 'same' }) end, x, taps },
    ['convolution of planes'] = { S.fftconvolve, gradient.random({ 4, 5 }, 'f64', 8),
      gradient.random({ 3, 2 }, 'f64', 9) },
    ['wavelets'] = { function(t) return S.morlet_transform(t, { 5, 10 }, 100) end,
      gradient.random({ 2, 60 }, 'f64', 10) },
  } do
    it('of ' .. what, function() gradient.first(what, c[1], { unpack(c, 2) }) end)
  end

  it('a filter of f32 samples has gradients of the dtypes of its operands', function()
    local g =
      mc.grad(function(t, h) return mc.sum((S.lfilter(h, POLES, t))) end, { argnums = { 1, 2 } })(x:to 'f32', taps)
    assert.equal('f32', g[1].dtype)
    assert.equal('f64', g[2].dtype)
    local want = mc.grad(function(t, h) return mc.sum((S.lfilter(h, POLES, t))) end,
      { argnums = { 1, 2 } })(x:to 'f32':to 'f64', taps)
    for k = 1, 2 do assert(mc.allclose(want[k], g[k]:to 'f64', { rtol = 1e-5, atol = 1e-5 })) end
  end)
end)
