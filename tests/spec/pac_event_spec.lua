-- pac_event_spec.lua - event-related coupling, peak-locked averages, coherence, spectrum, binned amplitudes.
--
-- Golden files pac_event (an independent program) and pac_tensorpac_event (Tensorpac's own answers on a recording that
-- is not stored: it is looked for in shared/data beside the project, and those tests are pending without it). The rest
-- are laws.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local tol = support.load 'tol'
local mc = require 'mascon'
local generate = require 'workflows.pac.generate'
local event = require 'workflows.pac.event'

local NAN = 0 / 0

local function near(want, got, class, more)
  if type(want) == 'table' then want = mc.tensor(want) end
  assert.equal(tostring(want.shape), tostring(got.shape))
  want, got = want:flatten():totable(), got:flatten():totable()
  for i = 1, #want do
    local wrong = tol.compare(class or 'EXACT', 'f64', got[i], want[i], more)
    assert.is_nil(wrong, wrong and ('element %d: %s'):format(i, wrong))
  end
end

-- the list asks for 1e-12 (C19)
local C19 = { bound = 1e-12 }

-- the 30 trials of 200 samples of pac_event
local N, T = 30, 200
local function draws()
  local phi = (2 * math.pi * generate.uniform(N * T, 21) - math.pi):reshape(N, T)
  local depth = mc.clip((mc.arange(0, T - 1) - 60) / 80, 0, 1)
  local amp = 1 + depth * mc.cos(phi - 0.7) + 0.8 * generate.uniform(N * T, 22):reshape(N, T)
  return phi, amp, mc.load(support.folder .. '/golden/pac_event.npz')
end

-- n trials of several bands without coupling
local function bands(n, p, a, t, seed)
  return (2 * math.pi * generate.uniform(n * p * t, seed) - math.pi):reshape(n, p, t),
    generate.uniform(n * a * t, seed + 1):reshape(n, a, t)
end

describe('pac.erpac', function()
  it('gives rho, p, and the information of the golden draws', function()
    local phi, amp, g = draws()
    near(g.phi_head, phi[{ 1, { 1, 8 } }], 'ULP4')
    near(g.a_head, amp[{ 1, { 1, 8 } }], 'ULP4')
    local rho, p, info = event.erpac(phi, amp)
    near(g.rho:reshape(1, 1, T), rho, 'ITERATIVE', C19)
    near(g.p:reshape(1, 1, T), p, 'ITERATIVE', C19)
    assert.equal('circular', info.method)
    assert.equal(N, info.n)
    local bits, none = event.erpac(phi, amp, { method = 'gc' })
    near(g.gc:reshape(1, 1, T), bits, 'ITERATIVE', C19)
    assert.is_nil(none)
  end)

  it('pools a window of samples, NaN where it does not fit', function()
    local phi, amp, g = draws()
    local bits = event.erpac(phi, amp, { method = 'gc', smooth = 3 })[{ 1, 1 }]
    near(g.gc_half3['4:-4'], bits['4:-4'], 'ITERATIVE', C19)
    near({ NAN, NAN, NAN }, bits['1:3'])
    near({ NAN, NAN, NAN }, bits['-3:-1'])
  end)

  it('is 1 for an amplitude that is the cosine of the phase, with p = exp(-n/2) (C19)', function()
    local phi = draws()
    local rho, p = event.erpac(phi, mc.cos(phi))
    near(mc.ones { 1, 1, T }, rho, 'ITERATIVE', C19)
    near(mc.full({ 1, 1, T }, math.exp(-N / 2)), p, 'ITERATIVE', C19)
  end)

  it('takes analytic signals, and many bands are each as if alone', function()
    local phi, amp = bands(12, 3, 2, 50, 31)
    local z = mc.exp(mc.complex(0, 1) * phi) * (1.5 + mc.cos(phi)) -- any modulus does
    for _, o in ipairs { {}, { method = 'gc' }, { method = 'gc', smooth = 2 } } do
      local all = event.erpac(phi, amp, o)
      assert.equal('{3, 2, 50}', tostring(all.shape))
      near(all, (event.erpac(z, amp * mc.exp(mc.complex(0, 0.3)), o)), 'ITERATIVE', C19)
      for i = 1, 3 do
        for j = 1, 2 do
          near(all[{ i, j }], (event.erpac(phi[{ mc.all, i }], amp[{ mc.all, j }], o))[{ 1, 1 }], 'ITERATIVE', C19)
        end
      end
      -- a stretch of time alone, whatever the blocks
      local h = o.smooth or 0
      near(all[{ mc.all, mc.all, { 11, 20 } }],
        (event.erpac(phi[{ mc.all, mc.all, { 11 - h, 20 + h } }], amp[{ mc.all, mc.all, { 11 - h, 20 + h } }], o))
        [{ mc.all, mc.all, { 1 + h, 10 + h } }], 'ITERATIVE', C19)
    end
  end)

  it('does not change with the order of trials, nor rho with scale and offset, nor bits with any rising map', function()
    local phi, amp = bands(16, 2, 2, 30, 41)
    local order = mc.randperm(16, { seed = 3 })
    local rho = event.erpac(phi, amp)
    near(rho, (event.erpac(phi[order], amp[order])), 'ITERATIVE', C19)
    near(rho, (event.erpac(phi, 7 * amp + 100)), 'ITERATIVE', { bound = 1e-10 }) -- the offset costs two digits
    near(rho, (event.erpac(phi + 1, amp)), 'ITERATIVE', C19)
    near((event.erpac(phi, amp, { method = 'gc' })), (event.erpac(phi, mc.exp(3 * amp), { method = 'gc' })), 'EXACT')
  end)

  it('is the same for any number of threads and in any block of time', function()
    local phi, amp = bands(40, 4, 4, 1500, 51) -- several blocks
    local before = mc.get_num_threads()
    mc.set_num_threads(1)
    local one = event.erpac(phi, amp, { method = 'gc' })
    mc.set_num_threads(2)
    local two = event.erpac(phi, amp, { method = 'gc' })
    mc.set_num_threads(before)
    assert.is_true(mc.array_equal(one, two))
    near(one[{ mc.all, mc.all, { 1401, 1410 } }], (event.erpac(phi[{ mc.all, mc.all, { 1401, 1410 } }],
      amp[{ mc.all, mc.all, { 1401, 1410 } }], { method = 'gc' })),
      'ITERATIVE', C19)
  end)

  it('has NaN where a band does not vary over trials or is not finite, and there alone', function()
    local phi, amp = bands(8, 2, 2, 6, 61)
    amp[{ mc.all, 1, 2 }] = 3
    phi[{ 4, 2, 5 }] = NAN
    for _, method in ipairs { 'circular', 'gc' } do
      local stat, p = event.erpac(phi, amp, { method = method })
      local missing = mc.isnan(stat)
      assert.is_true(mc.all(missing[{ 2, mc.all, 5 }]))
      -- ranks of equal values go by trial, so the copula has a value where the correlation has none
      assert.equal(method == 'circular' and 4 or 2, missing:sum():item())
      if p then assert.is_true(mc.array_equal(missing, mc.isnan(p))) end
    end
  end)

  it('tests by permuting trials, reproducibly, with the maximum over the map', function()
    local phi, amp = draws()
    local here = { mc.all, { 1, T, 4 } }
    phi, amp = phi[here], amp[here]
    for _, method in ipairs { 'circular', 'gc' } do
      local stat, p, info = event.erpac(phi, amp, { method = method, n_perm = 99 })
      assert.is_true(mc.all(mc.ge(p, 1 / 100)) and mc.all(mc.le(p, 1)))
      assert.equal('{99}', tostring(info.maxima.shape))
      -- full coupling from sample 140 (36th of these) on, none before sample 60 (16th)
      assert.is_true(mc.all(mc.le(p[{ 1, 1, { 36, -1 } }], 0.05)))
      assert.is_true(p[{ 1, 1, { 1, 15 } }]:mean():item() > 0.2)
      local again, p2 = event.erpac(phi, amp, { method = method, n_perm = 99 })
      assert.is_true(mc.array_equal(stat, again) and mc.array_equal(p, p2))
      local _, p3 = event.erpac(phi, amp, { method = method, n_perm = 99, seed = 43 })
      assert.is_false(mc.array_equal(p, p3))
      local _, family = event.erpac(phi, amp, { method = method, n_perm = 99, mcp = 'maxstat' })
      assert.is_true(mc.all(mc.ge(family, p)))
      assert.is_true(family:min():item() == 0.01 and family[{ 1, 1, { 1, 15 } }]:min():item() >= 0.05)
      local _, raw, about = event.erpac(phi, amp, { method = method, n_perm = 99, mcp = 'maxstat', maxstat_of = 'raw' })
      assert.is_nil(about.standard)
      assert.is_true(mc.array_equal(info.maxima, about.maxima) and family:min():item() == raw:min():item())
    end
  end)

  it('gives every sample the weight of its own null', function()
    local phi, amp = bands(12, 1, 1, 40, 5)
    local value, _, info = event.erpac(phi, amp, { n_perm = 60, mcp = 'maxstat', smooth = 0 })
    local all = {}
    for k = 1, 60 do all[k] = event.erpac(phi, mc.take(amp, mc.randperm(12, { seed = 42, stream = k }), 1)) end
    all[61] = value
    local s = mc.stack(all)
    local z = (s - s:mean { 1, keepdim = true }) / s:std { 1, keepdim = true }
    assert.is_true(mc.all(mc.le(mc.abs(z[61] - info.standard), 1e-9)))
    assert.is_true(mc.all(mc.le(mc.abs(mc.max(z['1:60']:reshape(60, -1), 2) - info.maxima), 1e-9)))
  end)

  it('finds nothing in trials without coupling: p of permutations is uniform', function()
    local phi, amp = bands(20, 3, 3, 100, 71)
    local _, p = event.erpac(phi, amp, { n_perm = 199 })
    local _, analytic = event.erpac(phi, amp)
    for _, q in ipairs { p, analytic } do
      -- 900 values of mean 1/2 and variance 1/12; the chi-square form is a large-sample one and 20 trials shift its
      -- mean by about 0.02
      local shift = q == analytic and 0.02 or 0
      assert.is_nil(tol.stat(q:mean():item() + shift, 0.5, math.sqrt(1 / 12 / 900)))
    end
  end)

  it('corrects analytic p-values over all bands and samples', function()
    local phi, amp = draws()
    local _, p = event.erpac(phi, amp)
    local _, q = event.erpac(phi, amp, { mcp = 'fdr' })
    local _, b = event.erpac(phi, amp, { mcp = 'bonferroni' })
    near(mc.stats.fdr_bh(p), q, 'ULP4')
    near(mc.minimum(p * T, 1), b, 'ULP4')
  end)

  it('says what is wrong', function()
    local phi, amp = bands(8, 1, 1, 20, 81)
    local cases = {
      { function() event.erpac(phi, amp['1:5']) end,
        'pac.erpac: phase is f64 {8, 1, 20} and amplitude is f64 {5, 1, 20}; trials and samples must be equal' },
      { function() event.erpac(3, amp) end, 'pac.erpac: phase is 3; give a tensor [trials, bands, samples]' },
      { function() event.erpac(phi[1][1], amp) end,
        'pac.erpac: phase is f64 {20}; give [trials, bands, samples] or [trials, samples]' },
      { function() event.erpac(phi['1:3'], amp['1:3']) end,
        'pac.erpac: phase is f64 {3, 1, 20}; coupling across trials needs at least 4 trials, it has 3' },
      { function() event.erpac(mc.full({ 8, 20 }, 90) * mc.arange(0, 19), amp) end,
        'pac.erpac: phase runs from 0 to 1710, more than 2 pi; give radians within one turn (degrees? unwrapped?)' },
      { function() event.erpac(phi, amp, { n_perm = 1 }) end, 'pac.erpac: n_perm is 1; give 0 or at least 2' },
      { function() event.erpac(phi, amp, { smooth = 2 }) end,
        "pac.erpac: smooth pools ranked samples and needs method = 'gc'" },
      { function() event.erpac(phi, amp, { smooth = 10, method = 'gc' }) end,
        'pac.erpac: smooth is 10 and there are 20 samples; a window holds 2 smooth + 1 samples' },
      { function() event.erpac(phi, amp, { mcp = 'maxstat' }) end,
        "pac.erpac: mcp = 'maxstat' compares with permutations; give n_perm" },
      { function() event.erpac(phi, amp, { mcp = 'fdr', method = 'gc' }) end,
        "pac.erpac: mcp = 'fdr' corrects p-values, which method = 'gc' has only with n_perm" },
      { function() event.erpac(phi, amp, { metod = 'gc' }) end,
        'pac.erpac: option "metod" is unknown; did you mean "method"?' },
    }
    for _, c in ipairs(cases) do assert.has_error(c[1], c[2]) end
  end)
end)

describe('pac.event against Tensorpac', function()
  local path = support.folder .. '/../../shared/data/seeg_pac.npz'

  -- its filter: Hamming band-pass of gain 1 at the centre, forward and backward, then the analytic signal of a fast
  -- length
  local function analytic(x, fs, band, cycles)
    local samples = x.shape[2]
    local order = require 'workflows.pac.bands'.filter_order(samples, fs, band[1], cycles)
    local k = mc.arange(0, order) - order / 2
    local function ideal(f)
      local at = 2 * math.pi * f * k
      return mc.where(mc.eq(k, 0), 2 * f, mc.sin(at) / (math.pi * mc.where(mc.eq(k, 0), 1, k)))
    end
    local h = (ideal(band[2] / fs) - ideal(band[1] / fs)) * mc.signal.get_window('hamming', order + 1, { sym = true })
    local centre = math.pi * (band[1] + band[2]) / fs * k
    h = h / mc.hypot(mc.sum(h * mc.cos(centre)), mc.sum(h * mc.sin(centre)))
    local y = mc.signal.filtfilt(h, 1, x, { padlen = order })
    return mc.signal.hilbert(y, { n = mc.fft.next_fast_len(samples) })[{ mc.all, { 1, samples } }]
  end

  it('agrees on a recording: rho, p, fdr, information, smoothed information, coherence, spectrum', function()
    local file = io.open(path, 'rb')
    if not file then
      pending 'shared/data/seeg_pac.npz is not beside the project'
      return
    end
    file:close()
    local g = mc.load(support.folder .. '/golden/pac_tensorpac_event.npz')
    local fs = g.fs:item()
    local x = mc.load(path).data['1:24, 801:2400']:to 'f64'
    near(g.x_sum, x:sum(2), 'ACCUM', { n = 1600, scale = 1e6 })
    local phases, amps = {}, {}
    for i, b in ipairs(g.pha_bands:totable()) do phases[i] = analytic(x, fs, b, 3) end
    for i, b in ipairs(g.amp_bands:totable()) do amps[i] = analytic(x, fs, b, 6) end
    local pha, amp = mc.stack(phases, 2), mc.stack(amps, 2)
    local function kept(v) return v['..., ::20'] end
    local function theirs(name) return g[name]:permute_dims(2, 1, 3) end
    -- its correlations subtract the mean after summing products, which leaves errors near 1e-10 in a small rho
    local loose = { bound = 1e-8 }
    local rho, p = event.erpac(pha, amp, { compat = 'tensorpac' })
    near(theirs 'rho', kept(rho), 'ITERATIVE', loose)
    near(theirs 'p_uncorrected', kept(p), 'ITERATIVE', loose)
    local _, q = event.erpac(pha, amp, { compat = 'tensorpac', mcp = 'fdr' })
    near(theirs 'p_fdr', kept(q), 'ITERATIVE', loose)
    -- The odd extension of the filter makes the first sample of a band-passed signal zero up to rounding in every
    -- trial: its ranks are no property of the data, so the information by ranks is compared from the next kept sample
    -- on.
    local function inner(v) return v['..., 2:'] end
    near(inner(theirs 'gc'), inner(kept((event.erpac(pha, amp, { method = 'gc' })))), 'ITERATIVE', C19)
    local smoothed = event.erpac(pha, amp, { method = 'gc', smooth = 5, compat = 'tensorpac' })
    near(inner(theirs 'gc_smooth_5'), inner(kept(smoothed)), 'ITERATIVE', C19)
    near(g.itc, kept(event.itc(pha)), 'ITERATIVE', C19)
    local f, psd = event.psd(x, { fs = fs })
    near({ 0, fs / 2 }, f['1:801:800'], 'ULP4')
    near(g.psd, psd['1:801:4'], 'ITERATIVE', { bound = 1e-10 * g.psd:max():item() })
  end)
end)

describe('pac.itc', function()
  it('gives the golden coherence, 1 for equal phases, and takes analytic signals', function()
    local phi, _, g = draws()
    near(g.itc:reshape(1, T), event.itc(phi), 'ITERATIVE', C19)
    near(g.itc:reshape(1, T), event.itc(3 * mc.exp(mc.complex(0, 1) * phi)), 'ITERATIVE', C19)
    near(mc.ones { 2, 5 }, event.itc(mc.ones { 7, 2, 5 }), 'ULP4')
  end)
end)

describe('pac.psd', function()
  it('gives the golden spectrum, and integrates to the mean variance of the trials', function()
    local _, amp, g = draws()
    local f, psd = event.psd(amp, { fs = 100 })
    near(g.psd_freq, f, 'ULP4')
    near(g.psd_mean, psd, 'ITERATIVE', { bound = 1e-14 })
    near(amp:var(2):mean(), psd:sum() * f[2], 'ACCUM', { n = T, scale = 1 })
    local _, single = event.psd(amp, { fs = 100, average = false })
    assert.equal('{30, 101}', tostring(single.shape))
    assert.has_error(function() event.psd(amp[1]) end, 'pac.psd: x is f64 {200}; give [trials, samples]')
  end)
end)

describe('pac.peak_locked', function()
  -- a rhythm of 16 samples whose phase starts at another place in each trial, and a bump 3 samples after each of its
  -- peaks
  local function trials()
    local starts = mc.tensor { 0, 3, 7, 11, 15 }:reshape(5, 1)
    local at = mc.arange(0, 99) + starts
    local phi = mc.remainder(2 * math.pi * at / 16 + math.pi, 2 * math.pi) - math.pi
    local bump = mc.eq(mc.remainder(at, 16), 3):to 'f64'
    return phi, bump
  end

  it('cuts each trial around the peak nearest the cue', function()
    local phi, bump = trials()
    local average, info = event.peak_locked(phi, bump, 50, { before = 8, after = 8 })
    assert.equal('{1, 17}', tostring(average.shape))
    local want = mc.zeros { 1, 17 }
    want[{ 1, 12 }] = 1
    near(want, average)
    -- peaks at samples 1 - start + 16 k; the nearest to 50 of each trial, the earlier of 42 and 58
    assert.same({ 49, 46, 42, 54, 50 }, info.peaks:totable())
    assert.is_true(mc.all(info.used))
    near(mc.arange(-8, 8), info.offsets)
    near(mc.cos(2 * math.pi * info.offsets / 16), info.wave, 'ITERATIVE', C19)
  end)

  it('takes the earlier of two peaks at the same distance, and many bands at once', function()
    local phi, bump = trials()
    local two = mc.stack({ bump, 2 * bump, 0 * bump }, 2)
    local average, info = event.peak_locked(phi['1:1'], two['1:1'], 41, { before = 2, after = 4 })
    assert.same({ 33 }, info.peaks:totable())
    near({ { 0, 0, 0, 0, 0, 1, 0 }, { 0, 0, 0, 0, 0, 2, 0 }, { 0, 0, 0, 0, 0, 0, 0 } }, average)
  end)

  it('leaves out trials without a near peak or without room', function()
    local phi, bump = trials()
    local _, info = event.peak_locked(phi, bump, 50, { before = 4, after = 4, search = 4 })
    assert.same({ 49, 46, 0, 54, 50 }, info.peaks:totable())
    assert.same({ true, true, false, true, true }, info.used:totable())
    local _, late = event.peak_locked(phi, bump, 98, { before = 4, after = 6 })
    assert.same({ 97, 94, 90, 86, 98 }, late.peaks:totable())
    assert.same({ false, true, true, true, false }, late.used:totable())
    assert.has_error(function() event.peak_locked(phi, bump, 50, { search = 0, before = 60, after = 30 }) end,
      'pac.peak_locked: no trial of 5 has a phase peak whose cut of 91 samples fits; widen search or shorten '
      .. 'before and after')
    assert.has_error(function() event.peak_locked(phi, bump, 101) end,
      'pac.peak_locked: cue is sample 101; there are 100 samples')
    assert.has_error(function() event.peak_locked(phi, bump, 50, { before = 60, after = 60 }) end,
      'pac.peak_locked: before + 1 + after is 121 samples; trials have 100')
  end)
end)

describe('pac.binned', function()
  it('averages the amplitude in each bin, with +pi in the last', function()
    local phi = mc.tensor { { -math.pi, -math.pi / 2, 0.1, math.pi, 0.2 }, { -3, 2, 2, 2, 2 } }
    local amp = mc.tensor { { 1, 2, 3, 4, 5 }, { 7, 1, 1, 1, 5 } }
    local mean, counts, centres = event.binned(phi, amp, { bins = 4 })
    near({ { { 4, 2, 4, 12 / 5 } } }, mean, 'ULP4')
    assert.same({ { 2, 1, 2, 5 } }, counts:totable())
    near({ -0.75 * math.pi, -0.25 * math.pi, 0.25 * math.pi, 0.75 * math.pi }, centres, 'ULP4')
    local each, n = event.binned(phi, amp, { bins = 4, per_trial = true })
    near({ { { { 1, 2, 4, 4 } } }, { { { 7, NAN, NAN, 2 } } } }, each, 'ULP4')
    assert.same({ { { 1, 1, 2, 1 } }, { { 1, 0, 0, 4 } } }, n:totable())
    near({ { { { 1 / 11, 2 / 11, 4 / 11, 4 / 11 } } }, { { { 7 / 9, 0, 0, 2 / 9 } } } },
      (event.binned(phi, amp, { bins = 4, per_trial = true, distribution = true })), 'ULP4')
  end)

  it('agrees with the bins and the distribution of the conformance list', function()
    local g = mc.load(support.folder .. '/golden/pac_conformance.npz')
    local phases = g.bin_phases
    for i, phi in ipairs(phases:totable()) do
      local _, counts = event.binned(mc.full({ 1, 1 }, phi), mc.ones { 1, 1 })
      assert.equal(1, counts[{ 1, g.bin_index[i]:item() + 1 }]:item())
    end
    -- a = 1 + cos phi: the distribution is 1/18 (1 + sinc(1/18) cos c)
    local phi = (-math.pi + (mc.arange(0, 17999) + 0.5) * (2 * math.pi / 18000)):reshape(1, -1)
    local p, _, centres = event.binned(phi, 1 + mc.cos(phi), { distribution = true })
    local sinc = math.sin(math.pi / 18) / (math.pi / 18)
    near((1 + sinc * mc.cos(centres)) / 18, p[{ 1, 1 }], 'ITERATIVE', { bound = 1e-8 }) -- 1000 samples a bin
  end)

  it('turns phases of [0, 2 pi) back, takes analytic signals and many bands', function()
    local phi, amp = bands(6, 2, 3, 400, 91)
    local mean, counts = event.binned(phi, amp)
    assert.equal('{2, 3, 18}', tostring(mean.shape))
    assert.equal(2 * 6 * 400, counts:sum():item())
    near(mean, (event.binned(mc.where(mc.lt(phi, 0), phi + 2 * math.pi, phi), amp)), 'ITERATIVE', { bound = 0.01 })
    near(mean, (event.binned(mc.exp(mc.complex(0, 1) * phi), amp)), 'ITERATIVE', { bound = 0.01 })
    near(mean[{ 2, 3 }], (event.binned(phi[{ mc.all, 2 }], amp[{ mc.all, 3 }]))[{ 1, 1 }], 'ACCUM',
      { n = 2400, scale = 1 })
  end)

  it('goes into rows for a text file', function()
    local rows, header = event.binned_rows(mc.arange(1, 8):reshape(2, 2, 2), mc.tensor { -1, 1 }, mc.tensor { 5, 10 },
      mc.tensor { 80, 120 })
    assert.equal(8, #rows)
    assert.same({ 5, 80, -1, 1 }, rows[1])
    assert.same({ 5, 120, 1, 4 }, rows[4])
    assert.same({ 10, 120, 1, 8 }, rows[8])
    assert.equal('phase_hz,amplitude_hz,phase_rad,amplitude', mc.text.csv(rows, { header = header }):match '[^\n]*')
    assert.has_error(function() event.binned_rows(mc.ones { 2, 2, 2 }, mc.ones { 3 }, mc.ones { 2 }, mc.ones { 2 }) end,
      'pac.binned_rows: amplitudes are f64 {2, 2, 2}; there are 2 phase centres, 2 amplitude centres and 3 bin centres')
  end)
end)
