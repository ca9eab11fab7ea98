-- pac_statistics.lua - power and false alarms of every correction of PAC's p-values, on three generators.
--
-- usage: mascon bench/pac_statistics.lua [RECORDINGS [CHANNELS [PART]]] (100 recordings of 4 channels, all parts).
-- Prints the tables of docs/pac-statistics.md. PART: corrections, rows, contrast. corrections: per recording CHANNELS
-- channels of 20 s at 512 Hz, 10 x 10 default bands, all circular shifts. With coupling, the first channel carries it
-- (16 -> 100 Hz), the others have the same rhythm and carrier uncoupled; without, none does. found: some pair of the
-- coupled channel with bands that hold both frequencies has p < 0.05. false alarm: some pair of a recording without
-- coupling has p < 0.05. beside: some pair of an uncoupled channel of a recording with coupling has. rows: false
-- alarms in rows of 5 and 10 s without coupling, with all shifts and with small ones left out. contrast: 30 trials of
-- 2 s of each of two conditions, 2 channels; in condition A the first is coupled. 200 permutations.
local mc = require 'mascon'
local pac = mc.pac
local g = pac.generate

local RECORDINGS, CHANNELS, PART = tonumber(arg and arg[1] or nil) or 100, tonumber(arg and arg[2] or nil) or 4, arg
  and arg[3] or 'all'
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
  local slow =
    mc.fft.irfft(mc.fft.rfft(g.noise(n, seed + 57)) * mc.lt(mc.fft.rfftfreq(n, 1 / FS), 1):to 'f64', { n = n })
  local on = mc.gt(slow, 0.43 * mc.std(slow)):to 'f64'
  local gate = on * (coupled and mc.exp(3 * (mc.cos(phase) - 1)) or 0.24)
  return 0.6 * mc.cos(phase) + 1.2 * gate * mc.sin(2 * math.pi * FA * t) + pink(n, seed) + 0.3 * g.noise(n, seed + 93)
end

local GENERATORS = {
  { 'wavelet driver, white noise (g3)', function(seed, coupled)
    return g.g3 { seconds = SECONDS, fs = FS, fp = FP, fa = FA, strength = coupled and 0.5 or 0, sigma = 0.9,
      driver_seed = seed, noise_seed = seed + 17 }
  end },
  { 'band driver, lag, 1/f noise (g4)', function(seed, coupled)
    local n = FS * SECONDS
    local x = g.g4 { seconds = SECONDS, fs = FS, fp = FP, bandwidth = 3, fa = FA, phi0 = 1, delay = 0.01, sigma = 0,
      driver_seed = seed, noise_seed = seed + 17 }
    if not coupled then -- the envelope of another driver
      local other = g.g4 { seconds = SECONDS, fs = FS, fp = FP, bandwidth = 3, fa = FA, phi0 = 1, sigma = 0,
        driver_seed = seed + 71, noise_seed = seed + 17 }
      local cut = mc.greater(mc.abs(mc.fft.rfftfreq(n, 1 / FS)), 50):to 'f64'
      x = mc.fft.irfft(mc.fft.rfft(x) * (1 - cut) + mc.fft.rfft(other) * cut, { n = n })
    end
    return x + 1.5 * pink(n, seed + 29)
  end },
  { 'bursts on a wandering rhythm, 1/f noise', bursts },
}

local WAYS = {
  { 'none', { mcp = 'none' } }, { 'maxstat of z, run (default)', { mcp = 'maxstat' } },
  { 'maxstat of z, channel', { mcp = 'maxstat', mcp_scope = 'channel' } }, { 'maxstat raw, run', { mcp = 'maxstat' },
    'raw' }, { 'maxstat raw, channel', { mcp = 'maxstat', mcp_scope = 'channel' }, 'raw' },
  { 'fdr, run', { mcp = 'fdr' } }, { 'fdr, channel', { mcp = 'fdr', mcp_scope = 'channel' } },
  { 'bonferroni, run', { mcp = 'bonferroni' } },
  { 'bonferroni, channel', { mcp = 'bonferroni', mcp_scope = 'channel' } },
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
        for _, of in ipairs { 'z', 'raw' } do
          result[of] = pac.compute(x, { fs = FS, surrogate = 'exhaustive', maxstat_of = of })
        end
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

local function corrections()
  for _, generator in ipairs(GENERATORS) do
    print(('\n%s, %d recordings of %d channels, %% of recordings\n'):format(generator[1], RECORDINGS, CHANNELS))
    print '| correction | found | false alarm | beside |'
    print '|---|---|---|---|'
    local count = measure(generator[2])
    for w, way in ipairs(WAYS) do print(('| %s | %s | %s | %s |'):format(way[1], share(count[w].found),
      share(count[w].alarm), share(count[w].beside))) end
  end
end

-- ---------------------------------------------------------------- short rows

--- Share of recordings without coupling that have a corrected p < 0.05.
local function rows()
  print(('\nrows without coupling (g3, sigma 0.9), %d recordings of %d channels, %% with a corrected p < ' ..
    '0.05\n'):format(RECORDINGS, CHANNELS))
  print '| row | all shifts (default) | shifts below a cycle left out |'
  print '|---|---|---|'
  for _, seconds in ipairs { 5, 10, 20 } do
    local alarms = { 0, 0 }
    for n = 1, RECORDINGS do
      mc.scope(function()
        local list = {}
        for c = 1, CHANNELS do
          local seed = 1e6 * n + 1000 * c
          list[c] = g.g3 { seconds = seconds, fs = FS, fp = FP, fa = FA, strength = 0, sigma = 0.9,
            driver_seed = seed, noise_seed = seed + 17 }
        end
        local x = mc.stack(list)
        local r = pac.compute(x, { fs = FS, surrogate = 'exhaustive' })
        local out = pac.compute(x, { fs = FS, surrogate = 'exhaustive', min_shift = r.null_shift })
        for k, v in ipairs { r, out } do alarms[k] = alarms[k] + (mc.any(mc.lt(v.p, LEVEL)) and 1 or 0) end
      end)
      io.stderr:write(('\r%d of %d recordings'):format(n, RECORDINGS))
    end
    io.stderr:write '\n'
    print(('| %d s | %s | %s |'):format(seconds, share(alarms[1]), share(alarms[2])))
  end
end

-- ---------------------------------------------------------------- contrast of two conditions

local TRIALS = 30

--- TRIALS trials of 2 s: [2, TRIALS, T]; strength { channel 1, channel 2 }.
local function condition(seed, strength, sigma)
  local channels = {}
  for c = 1, 2 do
    local list = {}
    for i = 1, TRIALS do
      local s = seed + 10000 * c + 10 * i
      list[i] = g.g3 { seconds = 2, fs = FS, fp = FP, fa = FA, strength = strength[c], sigma = sigma, driver_seed = s,
        noise_seed = s + 5 }
    end
    channels[c] = mc.stack(list)
  end
  return mc.stack(channels)
end

local SCENES = {
  { 'A coupled at 0.3, B not', { 0.3, 0 }, { 0, 0 }, 0.9 }, { 'A coupled at 0.5, B not', { 0.5, 0 }, { 0, 0 }, 0.9 },
    { 'A coupled at 0.6, B at 0.3', { 0.6, 0 }, { 0.3, 0 }, 0.9 },
  { 'no coupling in either', { 0, 0 }, { 0, 0 }, 0.9 }, { 'both coupled at 0.5', { 0.5, 0.5 }, { 0.5, 0.5 }, 0.9 },
  { 'both coupled at 0.5, noise of B 1.5 times as large', { 0.5, 0.5 }, { 0.5, 0.5 }, 1.35 },
}

local function contrast()
  for _, name in ipairs { 'mi', 'mvl' } do
    print(('\ncontrast, %s, %d recordings of 2 x %d trials, %% of recordings with p < 0.05\n'):format(name,
      RECORDINGS, TRIALS))
    print('| conditions | max-z, found | cluster, found | max-z, any | cluster, any ' ..
      '| max-z, other | cluster, other | uncorrected, any |')
    print '|---|---|---|---|---|---|---|---|'
    for at, scene in ipairs(SCENES) do
      local count = { 0, 0, 0, 0, 0, 0, 0 }
      for n = 1, RECORDINGS do
        mc.scope(function()
          local seed = 1e8 * at + 1e5 * n
          local r = pac.contrast(condition(seed, scene[2], 0.9), condition(seed + 5e4, scene[3], scene[4]), { fs = FS,
            measure = name, n_perm = 200, seed = n })
          local hit = target(r)
          local z, cluster = mc.lt(r.p_maxz, LEVEL), mc.lt(r.p_cluster, LEVEL)
          for k, found in ipairs { mc.any(mc.logical_and(z[1], hit)), mc.any(mc.logical_and(cluster[1], hit)),
            mc.any(z), mc.any(cluster), mc.any(z[2]), mc.any(cluster[2]), mc.any(mc.lt(r.p, LEVEL)) } do
            count[k] = count[k] + (found and 1 or 0)
          end
        end)
        io.stderr:write(('\r%d of %d recordings'):format(n, RECORDINGS))
      end
      io.stderr:write '\n'
      local cells = {}
      for k, v in ipairs(count) do cells[k] = share(v) end
      print(('| %s | %s |'):format(scene[1], table.concat(cells, ' | ')))
    end
  end
end

local PARTS = { corrections = corrections, rows = rows, contrast = contrast }
if PART ~= 'all' and not PARTS[PART] then error(('pac_statistics: part %q is none of corrections, rows, ' ..
  'contrast'):format(PART), 0) end
for _, name in ipairs { 'corrections', 'rows', 'contrast' } do
  if PART == 'all' or PART == name then PARTS[name]() end
end
