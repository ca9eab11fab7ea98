-- pac_segments_spec.lua - long rows analysed in segments: the values of whole rows, sound surrogates, little memory.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local few = support.load 'ceiling'
local mc = require 'mascon'
local pac = mc.pac

-- noise with an offset, coupled at 6 and 60 Hz; 120 s
local FS, T = 250, 30000
local BANDS = { fs = FS, pha_range_hz = { 4, 9 }, pha_n_bands = 3, amp_range_hz = { 50, 80 }, amp_n_bands = 2 }

local function rows(n, seed)
  local t = mc.arange(0, T - 1) / FS
  local slow = mc.cos(t * (2 * math.pi * 6.2))
  local carrier = mc.sin(t * (2 * math.pi * 61)) * (1 + slow)
  return mc.randn({ n, T }, { seed = seed or 1 }) + slow + 0.3 * carrier + 50
end

local function with(o)
  local out = {}
  for k, v in pairs(BANDS) do out[k] = v end
  for k, v in pairs(o or {}) do out[k] = v end
  return out
end

local function apart(a, b) return mc.max(mc.abs(a:to 'f64' - b:to 'f64')):item() end

describe('segments', function()
  local x = rows(2)

  it('give the values of the whole row, for every measure that adds up', function()
    for _, m in ipairs { 'mi', 'hr', 'mvl', 'ozk', 'ndpac', 'glm' } do
      local o = with { measure = m, dtype = 'f64' }
      local whole = pac.compute(x, o)
      o.segment_length = 17
      local parts = pac.compute(x, o)
      local scale = mc.max(mc.abs(whole.pac)):item()
      -- a sample in another phase bin moves a value by about 1e-4 of the largest
      assert.is_true(apart(whole.pac, parts.pac) < 5e-4 * scale, m .. ' ' .. apart(whole.pac, parts.pac) / scale)
      assert.is_true(mc.array_equal(whole.status, parts.status))
      if m == 'mi' then
        local best = mc.argmax(whole.pac[1]:reshape(-1)):item()
        local a, b = whole.pref_phase[1]:reshape(-1), parts.pref_phase[1]:reshape(-1)
        assert.is_true(math.abs(a[best]:item() - b[best]:item()) < 1e-3)
      end
    end
  end)

  it('give them for the samples that count, two signals and pairs of channels', function()
    local windows = { { 1000, 9000 }, { 9100, 9105 }, { 14000, 29500 } }
    local cases = { { windows = windows }, { edges = 300 }, { x_amp = rows(2, 5) }, { pairs = { { 1, 2 }, { 2, 2 } } } }
    for _, more in ipairs(cases) do
      more.dtype = 'f64'
      local whole = pac.compute(x, with(more))
      more.segment_length = 17
      local parts = pac.compute(x, with(more))
      local far = apart(whole.pac, parts.pac) / mc.max(whole.pac):item()
      assert.is_true(far < 2e-3, far) -- values without coupling are small
    end
  end)

  it('give them within 1 % where the recording drifts more than it oscillates', function()
    local drifting = x + 10 * mc.sin(mc.arange(0, T - 1) * (2 * math.pi * 0.008 / FS))
    local whole = pac.compute(drifting, with { dtype = 'f64' })
    local parts = pac.compute(drifting, with { dtype = 'f64', segment_length = 17 })
    assert.is_true(apart(whole.pac, parts.pac) < 1e-2 * mc.max(whole.pac):item())
  end)

  it('do not show in rows that are constant or hold NaN', function()
    local y = mc.concat({ x, mc.full({ 1, T }, 3.7) }, 1)
    y[{ 2, 20000 }] = mc.nan
    local r = pac.compute(y, with { segment_length = 17, n_perm = 20 })
    local clean = pac.compute(x, with { segment_length = 17, n_perm = 20 })
    assert.is_true(mc.array_equal(clean.pac[1], r.pac[1]))
    assert.is_true(mc.all(mc.isnan(r.pac[2])) and mc.all(mc.eq(r.status[2], 4)))
    local zero = mc.bitwise_and(r.status[3], mc.full({ 1 }, 2, { dtype = 'i32' }))
    assert.is_true(mc.all(mc.eq(r.pac[3], 0)) and mc.all(mc.eq(zero, 2)))
  end)

  it('give the same bits for any threads and memory', function()
    local o = with { segment_length = 17, n_perm = 20 }
    local one = pac.compute(x, with { segment_length = 17, n_perm = 20, threads = 1 })
    local three = mc.ceiling.beside(2 ^ 26, function()
      return pac.compute(x, with { segment_length = 17, n_perm = 20, threads = 3 })
    end)
    local narrow = few.left(2e6, function() return pac.compute(x, o) end)
    for _, name in ipairs { 'pac', 'z', 'p', 'surr_mean', 'surr_max' } do
      assert.is_true(mc.array_equal(one[name], three[name]), name)
      assert.is_true(mc.array_equal(one[name], narrow[name]), name)
    end
  end)

  it('find coupling, and p is uniform without it', function()
    assert.is_true(mc.min(pac.compute(x, with { segment_length = 17, n_perm = 100 }).p):item() < 0.02)
    -- 150 rows of noise with a slow change of loudness, one pair of bands; binomial limits of 99.9 %
    local loud = 1 + 0.8 * mc.sin(mc.arange(0, T - 1) * (2 * math.pi / T))
    local noise = mc.randn({ 150, T }, { seed = 9, dtype = 'f32' }) * loud:to 'f32'
    local o = { fs = FS, pha_bands_hz = { { 5, 7 } }, amp_bands_hz = { { 55, 75 } }, segment_length = 11, n_perm = 99,
      mcp = 'none' }
    local p = pac.compute(noise, o).p:reshape(-1)
    for _, level in ipairs { 0.05, 0.2, 0.5, 0.8 } do
      local share = mc.mean(mc.le(p, level):to 'f64'):item()
      local most = 3.3 * math.sqrt(level * (1 - level) / 150)
      assert.is_true(math.abs(share - level) < most, ('%.3f at %.2f'):format(share, level))
    end
  end)

  it('are shifted by every amount that min_shift leaves, alike', function()
    local K = 6000
    for _, case in ipairs { { 11, 3, 3, 8 }, { 7, 3, 3, 4 }, { 11, 0, 0, 10 }, { 6, 3, 2, 4 } } do
      local L, m, least, most = unpack(case)
      local list, count = pac.segments.shifts({ K = K, m = m, o = { seed = 1 } }, 2, L), {}
      assert.same({ K + 1, 0 }, { #list, list[1] })
      for k = 2, K + 1 do count[list[k]] = (count[list[k]] or 0) + 1 end
      local expected = K / (most - least + 1)
      for shift = 0, L do
        local n = count[shift] or 0
        if shift < least or shift > most then assert.equal(0, n, shift)
        else assert.is_true(math.abs(n - expected) < 5 * math.sqrt(expected), ('%d: %d'):format(shift, n)) end
      end
    end
    -- other segments, other shifts
    local e = { K = 9, m = 1, o = { seed = 1 } }
    assert.not_same(pac.segments.shifts(e, 1, 1000), pac.segments.shifts(e, 2, 1000))
  end)

  it('refuse a min_shift that leaves a segment no two shifts', function()
    local o = { segment_length = 17, n_perm = 9 }
    local n = pac.plan(T, with(o)).engine.segment
    assert.equal(0, n % 2)
    o.min_shift = n / 2 - 1
    assert.equal(o.min_shift, pac.plan(T, with(o)).min_shift)
    o.min_shift = n / 2
    local text = support.message(function() pac.plan(T, with(o)) end)
    assert.truthy(text:find(('a segment has %d'):format(n), 1, true), text)
  end)

  it('are the default of long rows alone, and said', function()
    local plan = pac.plan(2 ^ 21, with { fs = 1000, n_perm = 200 })
    assert.is_true(plan.options.segment_length <= 60)
    assert.equal(math.ceil(2 ^ 21 / 60000), plan.engine.count) -- of a minute at most, as few as there can be
    assert.truthy(table.concat(plan.warnings, '\n'):find('segments of', 1, true))
    assert.is_nil(pac.plan(2 ^ 20, with { n_perm = 200 }).options.segment_length)
    assert.is_nil(pac.plan(2 ^ 21, with { surrogate = 'exhaustive' }).engine.segment)
    assert.is_nil(pac.plan(2 ^ 21, with { n_perm = 200, segment_length = 0 }).engine.segment)
  end)

  it('are refused where they make no sense', function()
    for word, o in pairs {
      ['ranks'] = { measure = 'gc' }, ['block_swap'] = { surrogate = 'exhaustive' },
      ['at least'] = { segment_length = 1 },
      ['shifts'] = { shifts = { 1, 2, 3 } }, ['fir1'] = { filter = 'morlet' },
    } do
      o.segment_length = o.segment_length or 17
      local text = support.message(function() pac.plan(T, with(o)) end)
      assert.truthy(text:find(word, 1, true), text)
    end
  end)
end)

describe('a plan', function()
  it('of long rows is cheap', function()
    collectgarbage()
    mc.reset_peak_memory()
    local before, clock = mc.memory().live, os.clock()
    pac.plan(15.6e6, { fs = 2048, surrogate = 'exhaustive' })
    local seconds, bytes = os.clock() - clock, mc.memory().peak - before
    assert.is_true(seconds < 1 and bytes < 16 * 2 ^ 20, ('%.2f s, %.1f MiB'):format(seconds, bytes / 2 ^ 20))
  end)
end)

describe('pac.pooled', function()
  it('is the modulation index with counts over all bands and rows', function()
    local x = rows(3)
    local pooled = pac.compute(x, with { bin_norm = 'pooled', dtype = 'f64' }).pac
    local whole = pac.compute(x, with { return_sums = true, dtype = 'f64' })
    assert.is_true(apart(pooled, pac.pooled(whole)) < 1e-12)
    local parts = pac.compute(x, with { return_sums = true, dtype = 'f64', segment_length = 17 })
    local far = apart(pooled, pac.pooled(parts)) / mc.max(pooled):item()
    assert.is_true(far < 5e-3, far)
    assert.truthy(support.message(pac.pooled, { pac = whole.pac }):find 'return_sums')
  end)
end)
