-- generate.lua - synthetic signals with known phase-amplitude coupling.
--
-- Holds the SplitMix64 stream of the conformance recipes and the four generators G1..G4. Every sample is a function of
-- options and seeds alone, so that other programs can make the same signals; noise has variance 1 and no mean.
-- Everything runs as whole-tensor ops; 64-bit words are i64 tensors, whose products wrap as the recipe wants.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local splitmix = require 'mascon.array.splitmix'
local M = {}

local TWO_PI = 2 * math.pi

-- ---------------------------------------------------------------- seeds and streams

local function is_seed(v)
  if type(v) == 'number' then return v == math.floor(v) and math.abs(v) <= 2 ^ 53 end
  return type(v) == 'cdata' and not mc.is_tensor(v) and tonumber(v) ~= nil -- a boxed 64-bit integer
end

--- A seed or a list of seeds as a list; the second result tells whether one number was given.
local function seed_list(fname, what, v, level)
  local list = type(v) == 'table' and v or { v }
  if #list == 0 then error(('%s: %s is an empty list; give at least one seed'):format(fname, what), level) end
  for _, s in ipairs(list) do
    if not is_seed(s) then
      error(('%s: %s is %s; seeds are whole numbers up to 2^53 or boxed 64-bit integers'):format(fname, what,
        check.show(s)), level)
    end
  end
  return list, type(v) ~= 'table'
end

--- The first n outputs of SplitMix64.
---
--- Word k (from 1) is mix(seed + k 0x9E3779B97F4A7C15), mix being two rounds of xor-shift and multiply and a last
--- xor-shift.
---@param n integer how many
---@param seed any whole number, boxed 64-bit integer, or a list of S of them
---@return any i64 [n], or [S, n] for a list: the unsigned words in two's complement
--- Source: Fast splittable pseudorandom number generators, OOPSLA 2014.
function M.splitmix64(n, seed)
  check.arg('pac.splitmix64', 'n', n, 'integer >= 0', 3)
  local list, one = seed_list('pac.splitmix64', 'seed', seed, 3)
  local z = splitmix.words(n, list)
  return one and z[1] or z
end

local function noises(n, seeds) return (splitmix.uniforms(n, seeds) - 0.5):mul_(math.sqrt(12)) end

--- n uniform numbers on [0, 1): the upper 53 bits of the words of splitmix64, times 2^-53.
---@return any f64 [n], or [S, n] for a list of seeds
function M.uniform(n, seed)
  check.arg('pac.uniform', 'n', n, 'integer >= 0', 3)
  local list, one = seed_list('pac.uniform', 'seed', seed, 3)
  local u = splitmix.uniforms(n, list)
  return one and u[1] or u
end

--- n uniform samples of mean 0 and variance 1: sqrt(12) (u - 0.5).
---@return any f64 [n], or [S, n] for a list of seeds
function M.noise(n, seed)
  check.arg('pac.noise', 'n', n, 'integer >= 0', 3)
  local list, one = seed_list('pac.noise', 'seed', seed, 3)
  local x = noises(n, list)
  return one and x[1] or x
end

-- ---------------------------------------------------------------- options of the generators

local SEED = 'number | cdata | table'
local BASE = {
  n = { nil, 'integer >= 1' }, seconds = { nil, 'number > 0' }, fs = { 512, 'number > 0' },
  segments = { nil, 'integer >= 1' }, fp = { 10, 'number > 0' }, fa = { 80, 'number > 0' },
}
local function spec_of(own)
  local s = {}
  for k, v in pairs(BASE) do s[k] = v end
  for k, v in pairs(own) do s[k] = v end
  return s
end

--- Options checked; o.n filled in from seconds; frequencies below fs/2.
local function options(fname, opts, spec, level)
  local o = check.opts(fname, opts, spec, level + 1)
  if o.fs == math.huge then
    error(('%s: fs is %s Hz; it must be finite and above 0'):format(fname, tostring(o.fs)), level)
  end
  if o.n and o.seconds then error(fname .. ': n and seconds are both given; give one of them', level) end
  o.n = o.n or math.floor((o.seconds or 2) * o.fs + 0.5)
  if o.n < 1 then error(('%s: seconds = %g holds no sample at fs = %g Hz'):format(fname, o.seconds, o.fs), level) end
  for _, name in ipairs { 'fp', 'fa' } do
    if o[name] >= o.fs / 2 then
      error(('%s: %s is %g Hz; it must lie below fs/2 = %g Hz'):format(fname, name, o[name], o.fs / 2), level)
    end
  end
  return o
end

--- Seed lists of one length: `segments` counts a single seed up; lists must have the same length.
---@return table[] lists, one per entry of `named` ({ name, value } pairs)
---@return boolean whether the result drops the segment axis
local function seeds_of(fname, o, named, level)
  local lists, count, one = {}, nil, true
  for i, p in ipairs(named) do
    local list, single = seed_list(fname, p[1], p[2], level + 1)
    if not single then
      one = false
      if count and count ~= #list then
        error(('%s: %s holds %d seeds, another list or segments asks for %d; they must be equal'):format(fname, p[1],
          #list, count), level)
      end
      count = #list
    end
    lists[i] = { list, single }
  end
  if o.segments then
    one = false
    if count and count ~= o.segments then
      error(('%s: segments is %d and a seed list holds %d; they must be equal'):format(fname, o.segments, count), level)
    end
    count = o.segments
  end
  local out = {}
  for i, l in ipairs(lists) do
    out[i] = l[1]
    if l[2] then
      out[i] = {}
      for s = 1, count or 1 do out[i][s] = l[1][1] + (s - 1) end
    end
  end
  return out, one
end

local function default_seed(v, from, step)
  if v ~= nil then return v end
  if type(from) ~= 'table' then return from + step end
  local out = {}
  for i, s in ipairs(from) do out[i] = s + step end
  return out
end

local function time(o) return mc.arange(0, o.n - 1) / o.fs end
local function sine(f, t) return mc.sin((TWO_PI * f) * t) end

--- [S, n] or, when one plain seed was given, [n].
local function shaped(x, one)
  if one then return x[1] end
  return x
end

-- ---------------------------------------------------------------- G1, G2: sine drivers

local G1 = spec_of { k = { 1, 'number' }, sigma = { 1, 'number >= 0' }, seed = { 1, SEED }, coupled = { true, 'bool' } }

--- G1: a slow sine, a fast sine with modulated amplitude, noise.
---
--- x = sin(2 pi fp t) + (0.5 + 0.5 k sin(2 pi fp t)) sin(2 pi fa t) + sigma noise(seed). With coupled = false two plain
--- sines.
--- A sine driver keeps its coupling under every circular shift, so z against shifts is near 0: use G3 or G4 for
--- statistics.
---@param opts table n or seconds (2 s) · fs 512 Hz · fp 10, fa 80 Hz · k 1 · sigma 1 · seed 1 or a list · segments
---  (seed, seed + 1, ...) · coupled true
---@return any f64 [n], or [S, n] with segments or a list of seeds
function M.g1(opts)
  local o = options('pac.g1', opts, G1, 3)
  local seeds, one = seeds_of('pac.g1', o, { { 'seed', o.seed } }, 3)
  local t = time(o)
  local slow, fast = sine(o.fp, t), sine(o.fa, t)
  local clean = slow + (o.coupled and (0.5 + (0.5 * o.k) * slow) * fast or fast)
  return shaped(clean + o.sigma * noises(o.n, seeds[1]), one)
end

--- The mean of several G1 signals: one recording with several couplings.
---@param list table[] options of g1, each with the same n
---@return any f64 [n] or [S, n]
function M.multi(list)
  check.arg('pac.multi', 'list', list, 'table', 3)
  if #list == 0 then error('pac.multi: the list is empty; give the options of at least one g1', 2) end
  local sum
  for i = 1, #list do
    local x = M.g1(list[i])
    if sum and x.shape ~= sum.shape then
      error(('pac.multi: signal %d has shape %s, the others %s; give equal n and segments'):format(i, tostring(x.shape),
        tostring(sum.shape)), 2)
    end
    sum = sum and sum + x or x
  end
  return sum / #list
end

local G2 = spec_of {
  chi = { 0, 'number' }, sigma = { 1, 'number >= 0' }, seed = { 1, SEED },
  fp_jitter = { 0, 'number >= 0' }, fa_jitter = { 0, 'number >= 0' }, jitter_seed = { nil, SEED },
}

--- G2: the envelope of the 2010 comparison of measures.
---
--- x = 0.5 ((1 - chi) sin(2 pi fp t) + 1 + chi) sin(2 pi fa t) + sin(2 pi fp t) + sigma u(seed): chi = 0 couples fully,
--- chi = 1 not at all, and u is uniform on [0, 1), so the noise has a mean of sigma/2. fp_jitter and fa_jitter are
--- relative: a segment's frequency is f (1 + jitter (2 u - 1)).
---@param opts table n or seconds · fs · fp · fa · chi 0 · sigma 1 · seed 1 · segments · fp_jitter 0 · fa_jitter 0 ·
---  jitter_seed (seed + 2000)
---@return any f64 [n] or [S, n]
--- Source: Measuring phase-amplitude coupling between neuronal oscillations of different frequencies, 2010.
function M.g2(opts)
  local o = options('pac.g2', opts, G2, 3)
  local seeds, one =
    seeds_of('pac.g2', o, { { 'seed', o.seed }, { 'jitter_seed', default_seed(o.jitter_seed, o.seed, 2000) } }, 3)
  local t = time(o)
  local draw = splitmix.uniforms(2, seeds[2]) * 2 - 1
  local function oscillation(f, jitter, column)
    if jitter == 0 then return sine(f, t) end
    return mc.sin((TWO_PI * f) * (1 + jitter * draw[{ mc.all, { column, column } }]) * t)
  end
  local slow, fast = oscillation(o.fp, o.fp_jitter, 1), oscillation(o.fa, o.fa_jitter, 2)
  local envelope = 0.5 * ((1 - o.chi) * slow + (1 + o.chi))
  return shaped(envelope * fast + slow + o.sigma * splitmix.uniforms(o.n, seeds[1]), one)
end

-- ---------------------------------------------------------------- G3, G4: random drivers

-- Re(d e^{-i angle})
local function turned(d, angle)
  if angle == 0 then return mc.real(d) end
  return mc.real(d) * math.cos(angle) + mc.imag(d) * math.sin(angle)
end

local G3 = spec_of {
  sigma = { 1, 'number >= 0' }, driver_seed = { 1, SEED }, noise_seed = { nil, SEED }, pp = { 0, 'number' },
  width = { 7, 'number > 0' }, strength = { 1, 'number >= 0' },
}

--- G3: a wavelet-filtered noise drives the amplitude of a carrier.
---
--- d = noise(driver_seed) convolved with the Morlet wavelet of fp, divided by its largest modulus;
--- x = g sin(2 pi fa t) + Re d + sigma noise(noise_seed), g = (1 - strength)/2 + strength / (1 + exp(-6 Re(d e^{-i
--- pp}))).
---@param opts table n or seconds · fs · fp · fa · sigma 1 · driver_seed 1 · noise_seed (driver_seed + 1000) · pp 0 rad:
---  the phase at which the carrier is strongest · width 7 cycles · strength 1: 0 is no coupling at the same mean
---  amplitude · segments
---@return any f64 [n] or [S, n]
function M.g3(opts)
  local o = options('pac.g3', opts, G3, 3)
  if o.strength > 1 then error(('pac.g3: strength is %g; it must lie in [0, 1]'):format(o.strength), 2) end
  local seeds, one = seeds_of('pac.g3', o,
    { { 'driver_seed', o.driver_seed }, { 'noise_seed', default_seed(o.noise_seed, o.driver_seed, 1000) } }, 3)
  local d = mc.signal.morlet_transform(noises(o.n, seeds[1]), { o.fp }, o.fs, { width = o.width })[{ mc.all, 1 }]
  d = d / mc.max(mc.abs(d), { -1, keepdim = true })
  local gate = mc.logistic(6 * turned(d, o.pp))
  if o.strength < 1 then gate = o.strength * gate + (1 - o.strength) / 2 end
  return shaped(sine(o.fa, time(o)) * gate + mc.real(d) + o.sigma * noises(o.n, seeds[2]), one)
end

local G4 = spec_of {
  bandwidth = { 2, 'number > 0' }, sigma = { 1, 'number >= 0' }, driver_seed = { 1, SEED }, noise_seed = { nil, SEED },
  phi0 = { 0, 'number' }, delay = { 0, 'number' },
}

--- G4: a band-limited noise drives the carrier, with a phase lag and a delay.
---
--- d = complex noise of the band [fp - bandwidth/2, fp + bandwidth/2] (flat, positive frequencies), scaled so that Re d
--- has the standard deviation sqrt 2; late = d rolled right by round(delay fs) samples;
--- x = 0.5 sin(2 pi fa t) / (1 + exp(-6 Re(late e^{-i phi0}))) + 0.5 Re d + sigma noise(noise_seed).
---@param opts table n or seconds · fs · fp · bandwidth 2 Hz · fa · sigma 1 · driver_seed 1 · noise_seed (driver_seed +
---  1000) · phi0 0 rad · delay 0 s · segments
---@return any f64 [n] or [S, n]
function M.g4(opts)
  local o = options('pac.g4', opts, G4, 3)
  local seeds, one = seeds_of('pac.g4', o,
    { { 'driver_seed', o.driver_seed }, { 'noise_seed', default_seed(o.noise_seed, o.driver_seed, 1000) } }, 3)
  local lo, hi = o.fp - o.bandwidth / 2, o.fp + o.bandwidth / 2
  local f = mc.arange(0, o.n - 1) * o.fs / o.n
  local keep = mc.logical_and(mc.ge(f, lo), mc.le(f, hi))
  if lo <= 0 or hi >= o.fs / 2 then
    error(('pac.g4: the driver band fp -+ bandwidth/2 is %g..%g Hz; it must lie inside 0..fs/2 = %g Hz'):format(
      lo, hi, o.fs / 2), 2)
  end
  if not mc.any(keep) then
    error(('pac.g4: no frequency of %d samples lies in %g..%g Hz; widen bandwidth or lengthen the signal (bins are %g '
      .. 'Hz apart)'):format(
        o.n, lo, hi, o.fs / o.n), 2)
  end
  local d = mc.fft.ifft(mc.fft.fft(noises(o.n, seeds[1])) * (2 * keep:to 'f64'))
  d = d * (math.sqrt(2) / mc.std(mc.real(d), { -1, keepdim = true }))
  local shift = o.delay * o.fs
  local whole = math.floor(shift + 0.5)
  if whole - shift == 0.5 and whole % 2 == 1 then whole = whole - 1 end -- halves to even
  local late = whole == 0 and d or mc.roll(d, { whole, axis = -1 })
  local gate = mc.logistic(6 * turned(late, o.phi0))
  return shaped(0.5 * sine(o.fa, time(o)) * gate + 0.5 * mc.real(d) + o.sigma * noises(o.n, seeds[2]), one)
end

-- ---------------------------------------------------------------- the demonstration recording

local NAMES = { 'Fz', 'Cz', 'Pz', 'Oz', 'C3', 'C4', 'T7', 'T8' }
-- slow rhythm Hz, carrier Hz, strength, preferred phase rad; frequencies near centres of the default bands
local COUPLINGS = {
  { 6, 82, 1.0, 0 }, { 10, 116, 0.9, math.pi / 2 }, { 8, 93, 0.8, -math.pi / 2 }, { 14, 127, 0.9, 3 * math.pi / 4 },
  { 4, 71, 1.0, -math.pi / 4 },
}
local RECORDING = {
  channels = { 4, 'integer >= 1' }, segments = { 3, 'integer >= 1' }, fs = { 512, 'number >= 400' },
  seconds = { 10, 'number > 0' }, seed = { 1, 'integer >= 0' }, sigma = { 0.8, 'number >= 0' },
}

--- A recording with known coupling: channels of G3 with different rhythms, carriers, strengths and preferred phases.
--- The last of two or more channels has the same rhythm and carrier as the first but no coupling.
---@param opts? table channels 4 · segments 3 · fs 512 Hz (at least 400) · seconds 10 of a segment · seed 1 · sigma 0.8
---  noise
---@return table x f64 [C, S, T], fs Hz, channels { names } and
---  truth { { channel, fp Hz, fa Hz, strength, preferred_phase rad, coupled } per channel }
function M.recording(opts)
  local o = check.opts('pac.recording', opts, RECORDING, 3)
  local rows, names, truth = {}, {}, {}
  for c = 1, o.channels do
    local silent = c > 1 and c == o.channels
    local pick = silent and COUPLINGS[1] or COUPLINGS[(c - 1) % #COUPLINGS + 1]
    local strength = silent and 0 or pick[3]
    names[c] = NAMES[c] or 'E' .. c
    truth[c] = {
      channel = names[c], fp = pick[1], fa = pick[2], strength = strength, preferred_phase = pick[4],
      coupled = not silent,
    }
    local first = o.seed + 1e6 * c
    rows[c] = M.g3 {
      seconds = o.seconds, fs = o.fs, fp = pick[1], fa = pick[2], strength = strength, pp = pick[4], sigma = o.sigma,
      segments = o.segments, driver_seed = first, noise_seed = first + 500000,
    }
  end
  return { x = mc.stack(rows), fs = o.fs, channels = names, truth = truth }
end

return M
