-- pac_statistics.lua - power and false alarms of every correction of PAC's p-values, on three generators.
--
-- usage: mascon bench/pac_statistics.lua [RECORDINGS [CHANNELS]] (100 recordings of 4 channels). Prints the table of docs/pac-statistics.md.
-- Per recording: CHANNELS channels of 20 s at 512 Hz, 10 x 10 default bands, all circular shifts. With coupling, the first channel carries it (16 -> 100
-- Hz), the others have the same rhythm and carrier uncoupled; without, none does. found: some pair of the coupled channel with bands that hold both
-- frequencies has p < 0.05. false alarm: some pair of a recording without coupling has p < 0.05. beside: some pair of an uncoupled channel of a
-- recording with coupling has.
local mc = require 'mascon'
local pac = mc.pac
local g = pac.generate

local RECORDINGS, CHANNELS = tonumber(arg and arg[1] or nil) or 100, tonumber(arg and arg[2] or nil) or 4
local FS, SECONDS, FP, FA, LEVEL = 512, 20, 16, 100, 0.05

--- Pink noise of unit variance: power falls as 1/f above 1 Hz.
local function pink(n, seed)
  local f = mc.fft.rfftfreq(n, 1 / FS)
  local shape = 1 / mc.sqrt(mc.maximum(f, 1))
  shape[1] = 0
  local x = mc.fft.irfft(mc.fft.rfft(g.noise(n, seed)) * shape, { n = n })
  return x / mc.std(x)
end

--- Short bursts of the carrier on crests of a wandering slow rhythm in 1/f noise: coupling that comes and goes.
local function bursts(seed, coupled)
  local n = FS * SECONDS
  local t = mc.arange(0, n - 1) / FS
  local phase = 2 * math.pi * mc.cumsum(FP * (1 + 0.05 * pink(n, seed + 31))) / FS
  -- a burst wherever noise below 1 Hz is high, a third of the time
  local slow = mc.fft.irfft(mc.fft.rfft(g.noise(n, seed + 57)) * mc.lt(mc.fft.rfftfreq(n, 1 / FS), 1):to 'f64', { n = n })
  local on = mc.gt(slow, 0.43 * mc.std(slow)):to 'f64'
  local gate = on * (coupled and mc.exp(3 * (mc.cos(phase) - 1)) or 0.24)
  return 0.6 * mc.cos(phase) + 1.2 * gate * mc.sin(2 * math.pi * FA * t) + pink(n, seed) + 0.3 * g.noise(n, seed + 93)
end

local GENERATORS = {
  { 'wavelet driver, white noise (g3)', function(seed, coupled)
    return g.g3 { seconds = SECONDS, fs = FS, fp = FP, fa = FA, strength = coupled and 0.5 or 0, sigma = 0.9, driver_seed = seed, noise_seed = seed + 17 }
  end },
  { 'band driver, lag, 1/f noise (g4)', function(seed, coupled)
    local n = FS * SECONDS
    local x = g.g4 { seconds = SECONDS, fs = FS, fp = FP, bandwidth = 3, fa = FA, phi0 = 1, delay = 0.01, sigma = 0, driver_seed = seed, noise_seed = seed + 17 }
    if not coupled then -- the envelope of another driver
      local other = g.g4 { seconds = SECONDS, fs = FS, fp = FP, bandwidth = 3, fa = FA, phi0 = 1, sigma = 0, driver_seed = seed + 71, noise_seed = seed + 17 }
      local cut = mc.greater(mc.abs(mc.fft.rfftfreq(n, 1 / FS)), 50):to 'f64'
      x = mc.fft.irfft(mc.fft.rfft(x) * (1 - cut) + mc.fft.rfft(other) * cut, { n = n })
    end
    return x + 1.5 * pink(n, seed + 29)
  end },
  { 'bursts on a wandering rhythm, 1/f noise', bursts },
}

local WAYS = {
  { 'none', { mcp = 'none' } }, { 'maxstat of z, run (default)', { mcp = 'maxstat' } }, { 'maxstat of z, channel', { mcp = 'maxstat', mcp_scope = 'channel' } },
  { 'maxstat raw, run', { mcp = 'maxstat' }, 'raw' }, { 'maxstat raw, channel', { mcp = 'maxstat', mcp_scope = 'channel' }, 'raw' },
  { 'fdr, run', { mcp = 'fdr' } }, { 'fdr, channel', { mcp = 'fdr', mcp_scope = 'channel' } },
  { 'bonferroni, run', { mcp = 'bonferroni' } }, { 'bonferroni, channel', { mcp = 'bonferroni', mcp_scope = 'channel' } },
}

--- Pairs whose bands hold both frequencies: bool [P, A].
local function target(r)
  local p, a = r.pha_bands_hz, r.amp_bands_hz
  local function holds(b, f) return mc.logical_and(mc.le(b['..., 1'], f), mc.ge(b['..., 2'], f)) end
  return mc.logical_and(holds(p, FP):reshape(-1, 1), holds(a, FA):reshape(1, -1))
end

local function measure(make)
  local count = {}
  for w = 1, #WAYS do count[w] = { found = 0, alarm = 0, beside = 0 } end
  for n = 1, RECORDINGS do
    for _, coupled in ipairs { true, false } do
      mc.scope(function()
        local rows = {}
        for c = 1, CHANNELS do rows[c] = make(1e6 * n + 1000 * c, coupled and c == 1) end
        local x = mc.stack(rows)
        local result = {}
        for _, of in ipairs { 'z', 'raw' } do result[of] = pac.compute(x, { fs = FS, surrogate = 'exhaustive', maxstat_of = of }) end
        local hit = target(result.z)
        for w, way in ipairs(WAYS) do
          local low = mc.lt(pac.correct(result[way[3] or 'z'], way[2]), LEVEL)
          local k = count[w]
          if not coupled then k.alarm = k.alarm + (mc.any(low) and 1 or 0)
          else
            k.found = k.found + (mc.any(mc.logical_and(low[1], hit)) and 1 or 0)
            k.beside = k.beside + (CHANNELS > 1 and mc.any(low[{ { 2, CHANNELS } }]) and 1 or 0)
          end
        end
      end)
    end
    io.stderr:write(('\r%d of %d recordings'):format(n, RECORDINGS))
  end
  io.stderr:write '\n'
  return count
end

local function share(k) return ('%3.0f'):format(100 * k / RECORDINGS) end

for _, generator in ipairs(GENERATORS) do
  print(('\n%s, %d recordings of %d channels, %% of recordings\n'):format(generator[1], RECORDINGS, CHANNELS))
  print '| correction | found | false alarm | beside |'
  print '|---|---|---|---|'
  local count = measure(generator[2])
  for w, way in ipairs(WAYS) do print(('| %s | %s | %s | %s |'):format(way[1], share(count[w].found), share(count[w].alarm), share(count[w].beside))) end
end
