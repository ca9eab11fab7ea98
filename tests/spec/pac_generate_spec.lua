-- pac_generate_spec.lua - the SplitMix64 stream, the generators G1..G4 and the demonstration recording.
--
-- Figures come from the golden files pac_conformance, pac_filters, pac_native and pac_event (an independent program),
-- from the published words of SplitMix64, and from properties that hold for any seed.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local tol = support.load 'tol'
local mc = require 'mascon'
local generate = require 'workflows.pac.generate'

local golden = {}
local function load(name)
  golden[name] = golden[name] or mc.load(support.folder .. '/golden/' .. name .. '.npz')
  return golden[name]
end

local function near(want, got, class, more)
  assert.equal(tostring(want.shape), tostring(got.shape))
  want, got = want:flatten():totable(), got:flatten():totable()
  for i = 1, #want do
    local wrong = tol.compare(class, 'f64', got[i], want[i], more)
    assert.is_nil(wrong, wrong and ('element %d: %s'):format(i, wrong))
  end
end

-- a row of n samples of size about 1 that went through a transform
local function transformed(n) return { n = n, scale = math.sqrt(n) } end

-- modulation index of a carrier band by the phase of a slow band, by ideal filters in the frequency domain
local function modulation(x, fs, fp, fa)
  local n = x.shape[1]
  local f = mc.arange(0, n - 1) * fs / n
  local spectrum = mc.fft.fft(x - x:mean())
  local function band(lo, hi)
    return mc.fft.ifft(spectrum * (2 * mc.logical_and(mc.ge(f, lo), mc.le(f, hi)):to 'f64'))
  end
  local phase, amp = mc.angle(band(0.75 * fp, 1.25 * fp)), mc.abs(band(fa - 2 * fp, fa + 2 * fp))
  local bin = mc.minimum(mc.floor((phase + mc.pi) * 18 / (2 * mc.pi)), 17):to 'i64'
  local p = mc.bincount_weighted(bin, amp, { minlength = 18 }) / mc.bincount(bin, { minlength = 18 })
  p = p / p:sum()
  local centres = (mc.arange(0, 17) + 0.5) * (2 * mc.pi / 18) - mc.pi
  local angle = math.atan2((p * mc.sin(centres)):sum():item(), (p * mc.cos(centres)):sum():item())
  return 1 + (p * mc.log(p)):sum():item() / math.log(18), angle
end

describe('pac.splitmix64', function()
  it('gives the published words', function()
    assert.is_true(mc.array_equal(load('pac_conformance').splitmix_seed1, generate.splitmix64(8, 1)))
    -- seed 1234567, the test vector that travels with the generator
    local words = generate.splitmix64(3, 1234567):totable()
    assert.equal('6457827717110365317', tostring(words[1]):match '%d+')
    assert.equal('3203168211198807973', tostring(words[2]):match '%d+')
    assert.equal('9817491932198370423', tostring(words[3] + 0ULL):match '%d+')
  end)

  it('is the same whatever the length, and a list of seeds gives one row each', function()
    local long = generate.splitmix64(1000, 7)
    assert.is_true(mc.array_equal(long['1:13'], generate.splitmix64(13, 7)))
    local rows = generate.splitmix64(13, { 7, 8 })
    assert.equal('{2, 13}', tostring(rows.shape))
    assert.is_true(mc.array_equal(long['1:13'], rows[1]))
    assert.is_true(mc.array_equal(generate.splitmix64(13, 8), rows[2]))
  end)

  it('takes boxed 64-bit seeds, which wrap', function()
    local boxed = generate.splitmix64(4, 2LL ^ 62)
    assert.is_false(mc.array_equal(boxed, generate.splitmix64(4, 0)))
    assert.is_true(mc.array_equal(generate.splitmix64(4, -1), generate.splitmix64(4, 0xffffffffffffffffULL)))
  end)

  it('refuses what is no seed', function()
    assert.has_error(function() generate.splitmix64(4, 0.5) end,
      'pac.splitmix64: seed is 0.5; seeds are whole numbers up to 2^53 or boxed 64-bit integers')
    assert.has_error(function() generate.splitmix64(4, {}) end,
      'pac.splitmix64: seed is an empty list; give at least one seed')
    assert.has_error(function() generate.noise(-1, 1) end, 'pac.noise: n is -1; it must be integer >= 0')
  end)
end)

describe('pac.uniform and pac.noise', function()
  it('give the uniforms of the conformance list to the bit', function()
    assert.is_true(mc.array_equal(load('pac_conformance').uniform_seed1, generate.uniform(8, 1)))
    near(mc.tensor { 0.56656158, 0.74578176, 0.97100275 }, generate.uniform(3, 1), 'ITERATIVE', { bound = 5e-9 })
  end)

  it('give noise of mean 0 and variance 1 inside +-sqrt 3', function()
    local n = 200000
    local x = generate.noise(n, 99)
    assert.is_nil(tol.stat(x:mean():item(), 0, 1 / math.sqrt(n)))
    -- the fourth moment of uniform noise of variance 1 is 9/5
    assert.is_nil(tol.stat(x:var():item(), 1, math.sqrt(0.8 / n)))
    assert.is_true(x:max():item() < math.sqrt(3) and x:min():item() >= -math.sqrt(3))
  end)

  it('make a million samples in well under a second', function()
    local clock = os.clock -- of the processor: other work on the machine is no fault here
    local best = math.huge
    for _ = 1, 3 do
      local start = clock()
      generate.uniform(1e6, 3)
      best = math.min(best, clock() - start)
    end
    assert.is_true(best < 1, ('%.3f s'):format(best))
  end)
end)

describe('pac.g1, g3, g4', function()
  it('give the signals A, B and C of the conformance list', function()
    local c = load 'pac_conformance'
    local signals = {
      A = generate.g1 { n = 5120, fs = 512, fp = 10, fa = 100, k = 1, sigma = 1, seed = 1 },
      B = generate.g3 { n = 5120, fs = 512, fp = 10, fa = 100, sigma = 0.8, driver_seed = 1, noise_seed = 1001 },
      C = generate.noise(5120, 7),
    }
    for name, x in pairs(signals) do
      near(c[name .. '_head'], x['1:16'], 'FFT', transformed(5120))
      near(c[name .. '_tail'], x['-16:-1'], 'FFT', transformed(5120))
      near(c[name .. '_sum'], x:sum(), 'ACCUM', { n = 5120, scale = 5120 })
    end
  end)

  it('give the rows of pac_native and the signal of pac_filters', function()
    local native = load 'pac_native'
    local rows = {
      generate.g3 { n = 2048, fs = 256, fp = 7, fa = 60, sigma = 0.5, driver_seed = 11, noise_seed = 12 },
      generate.g4 { n = 2048, fs = 256, fp = 5, bandwidth = 2, fa = 50, sigma = 0.3, driver_seed = 13, noise_seed = 14,
        phi0 = 0.5, delay = 0.01 },
    }
    for i, x in ipairs(rows) do
      near(native.rows_head[i], x['1:16'], 'FFT', transformed(2048))
      near(native.rows_sum[i], x:sum(), 'ACCUM', { n = 2048, scale = 2048 })
    end
    local x = generate.g3 { n = 1500, fs = 250, fp = 6, fa = 60, sigma = 0.5, driver_seed = 3, noise_seed = 4 }
    near(load('pac_filters').x_head, x['1:16'], 'FFT', transformed(1500))
  end)

  it('count seeds up over segments, or take a list', function()
    local many = generate.g3 { n = 600, segments = 3, driver_seed = 5, noise_seed = 50 }
    assert.equal('{3, 600}', tostring(many.shape))
    for s = 1, 3 do
      near(generate.g3 { n = 600, driver_seed = 4 + s, noise_seed = 49 + s }, many[s], 'FFT', transformed(600))
    end
    local listed = generate.g1 { n = 300, seed = { 4, 9 } }
    assert.is_true(mc.array_equal(generate.g1 { n = 300, seed = 9 }, listed[2]))
    assert.equal('{1, 300}', tostring(generate.g1({ n = 300, segments = 1 }).shape))
    -- the default noise seeds follow the driver seeds
    assert.is_true(mc.array_equal(generate.g3 { n = 300, driver_seed = 8 },
      generate.g3 { n = 300, driver_seed = 8, noise_seed = 1008 }))
  end)

  it('need matching lists', function()
    assert.has_error(function() generate.g3 { n = 100, driver_seed = { 1, 2 }, noise_seed = { 1, 2, 3 } } end,
      'pac.g3: noise_seed holds 3 seeds, another list or segments asks for 2; they must be equal')
    assert.has_error(function() generate.g1 { n = 100, seed = { 1, 2 }, segments = 3 } end,
      'pac.g1: segments is 3 and a seed list holds 2; they must be equal')
  end)

  it('name parameter, value and limit in their errors', function()
    assert.has_error(function() generate.g1 { fs = 100, fa = 60 } end,
      'pac.g1: fa is 60 Hz; it must lie below fs/2 = 50 Hz')
    assert.has_error(function() generate.g1 { n = 10, seconds = 1 } end,
      'pac.g1: n and seconds are both given; give one of them')
    assert.has_error(function() generate.g1 { seconds = 1e-4 } end,
      'pac.g1: seconds = 0.0001 holds no sample at fs = 512 Hz')
    assert.has_error(function() generate.g3 { strength = 2 } end, 'pac.g3: strength is 2; it must lie in [0, 1]')
    assert.has_error(function() generate.g4 { n = 64, fp = 10.1, bandwidth = 0.01 } end,
      'pac.g4: no frequency of 64 samples lies in 10.095..10.105 Hz; widen bandwidth or lengthen the signal (bins '
      .. 'are 8 Hz apart)')
    assert.has_error(function() generate.g4 { fp = 1, bandwidth = 4 } end,
      'pac.g4: the driver band fp -+ bandwidth/2 is -1..3 Hz; it must lie inside 0..fs/2 = 256 Hz')
    assert.has_error(function() generate.g1 { sed = 1 } end, 'pac.g1: option "sed" is unknown; did you mean "seed"?')
  end)

  it('couple at the pair they were asked for, at the preferred phase, and not otherwise', function()
    local common = { seconds = 20, fp = 8, fa = 90, sigma = 0.5, driver_seed = 3, noise_seed = 4 }
    local function g3(more)
      for k, v in pairs(common) do more[k] = more[k] or v end
      return (generate.g3(more))
    end
    local full, angle = modulation(g3 {}, 512, 8, 90)
    local half = modulation(g3 { strength = 0.5 }, 512, 8, 90)
    local none = modulation(g3 { strength = 0 }, 512, 8, 90)
    assert.is_true(full > 2 * half and half > 10 * none, ('%g %g %g'):format(full, half, none))
    assert.is_true(math.abs(angle) < 0.2, tostring(angle))
    local _, turned = modulation(g3 { pp = 2 }, 512, 8, 90)
    assert.is_true(math.abs(turned - 2) < 0.2, tostring(turned))
    local sine = modulation(generate.g1 { seconds = 20, fp = 8, fa = 90, k = 1, seed = 1 }, 512, 8, 90)
    local plain = modulation(generate.g1 { seconds = 20, fp = 8, fa = 90, coupled = false, seed = 1 }, 512, 8, 90)
    assert.is_true(sine > 20 * plain, ('%g %g'):format(sine, plain))
  end)

  it('delay the carrier of g4 by whole samples', function()
    local d0 = generate.g4 { seconds = 20, fp = 5, fa = 90, sigma = 0 }
    local d1 = generate.g4 { seconds = 20, fp = 5, fa = 90, sigma = 0, delay = 0.05 }
    local _, a0 = modulation(d0, 512, 5, 90)
    local _, a1 = modulation(d1, 512, 5, 90)
    -- 0.05 s (26 samples) of a rhythm of 5 Hz is a quarter turn
    assert.is_true(math.abs(a1 - a0 - 2 * math.pi * 5 * 26 / 512) < 0.2, ('%g %g'):format(a0, a1))
  end)
end)

describe('pac.g2 and pac.multi', function()
  it('follow their formulas', function()
    local n, fs = 400, 200
    local t = mc.arange(0, n - 1) / fs
    local slow, fast = mc.sin(2 * math.pi * 5 * t), mc.sin(2 * math.pi * 60 * t)
    local want = 0.5 * (0.75 * slow + 1.25) * fast + slow + 0.3 * generate.uniform(n, 6)
    near(want, generate.g2 { n = n, fs = fs, fp = 5, fa = 60, chi = 0.25, sigma = 0.3, seed = 6 }, 'ACCUM',
      { n = 4, scale = 3 })
    local list = { { n = 100, fp = 5, seed = 1 }, { n = 100, fp = 9, fa = 120, seed = 2 } }
    near((generate.g1(list[1]) + generate.g1(list[2])) / 2, generate.multi(list), 'ACCUM', { n = 2, scale = 4 })
  end)

  it('jitter the frequency of each segment within its bound', function()
    local x = generate.g2 { seconds = 40, fs = 256, fp = 10, fa = 80, sigma = 0, segments = 4,
      fp_jitter = 0.2, seed = 3 }
    local power = mc.abs(mc.fft.rfft(x))['..., 1:1000']
    local peaks = ((mc.argmax(power, -1) - 1) / 40):totable()
    local distinct = {}
    for _, f in ipairs(peaks) do
      assert.is_true(f >= 8 and f <= 12, tostring(f))
      distinct[f] = true
    end
    local count = 0
    for _ in pairs(distinct) do count = count + 1 end
    assert.is_true(count > 2)
  end)

  it('refuse an empty list and unequal signals', function()
    assert.has_error(function() generate.multi {} end,
      'pac.multi: the list is empty; give the options of at least one g1')
    assert.has_error(function() generate.multi { { n = 100 }, { n = 200 } } end,
      'pac.multi: signal 2 has shape {200}, the others {100}; give equal n and segments')
  end)
end)

describe('pac.recording', function()
  it('is [channels, segments, samples] with names and truth, equal for equal seeds', function()
    local r = generate.recording { channels = 5, segments = 2, seconds = 1, fs = 400 }
    assert.equal('{5, 2, 400}', tostring(r.x.shape))
    assert.equal(400, r.fs)
    assert.equal(5, #r.channels)
    assert.equal(5, #r.truth)
    assert.is_true(mc.array_equal(r.x, generate.recording({ channels = 5, segments = 2, seconds = 1, fs = 400 }).x))
    assert.is_false(
      mc.array_equal(r.x, generate.recording({ channels = 5, segments = 2, seconds = 1, fs = 400, seed = 2 }).x))
    assert.is_false(mc.array_equal(r.x[{ 1, 1 }], r.x[{ 1, 2 }]))
  end)

  it('couples as its truth says, and the last channel not at all', function()
    local r = generate.recording()
    local silent = 0
    for c, truth in ipairs(r.truth) do
      assert.equal(r.channels[c], truth.channel)
      for s = 1, 3 do
        local strength, angle = modulation(r.x[{ c, s }], r.fs, truth.fp, truth.fa)
        if truth.coupled then
          assert.is_true(strength > 5e-3, ('%s: %g'):format(truth.channel, strength))
          local off = angle - truth.preferred_phase
          off = off - 2 * math.pi * math.floor(off / (2 * math.pi) + 0.5)
          assert.is_true(math.abs(off) < 0.5, ('%s: %g rad off'):format(truth.channel, off))
        else
          assert.is_true(strength < 2e-3, ('%s: %g'):format(truth.channel, strength))
        end
      end
      if not truth.coupled then silent = silent + 1 end
    end
    assert.equal(1, silent)
  end)
end)
