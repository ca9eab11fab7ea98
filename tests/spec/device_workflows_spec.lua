-- device_workflows_spec.lua - phase-amplitude coupling and autoreject of samples on `ref`: the bits of the CPU;
-- on a device with programs, coupling within bounds of it and decisions equal. Maps and decisions come to host memory,
-- samples stay.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local sets, device = support.load 'epochs', support.load 'device'
local ar = mc.autoreject

local function same(want, got, at, where)
  if not mc.is_tensor(want) then return end
  assert.equal(where or 'cpu', got.device, at)
  assert.equal(want.dtype, got.dtype, at)
  assert.equal(tostring(want.shape), tostring(got.shape), at)
  got = got:to { device = 'cpu' }
  local equal = mc.logical_or(mc.eq(want, got), mc.logical_and(mc.ne(want, want), mc.ne(got, got)))
  if not mc.all(equal) then error(at .. ' differs', 0) end
end

describe('pac on a device', function()
  local x, flawed = mc.randn({ 4, 900 }, { seed = 1 }), mc.randn({ 4, 900 }, { seed = 1 })
  flawed[{ 2, 7 }], flawed[3] = mc.nan, 1
  teardown(function() x, flawed = nil, nil end)
  local CASES = { rows = {}, flaws = { x = 'flawed' }, ['flaws and locking'] = { measure = 'plv', x = 'flawed' },
    ['flaws and information'] = { measure = 'gc', x = 'flawed' }, vectors = { measure = 'mvl' },
    butterworth = { filter = 'butter_trunc' }, wavelets = { filter = 'morlet' }, ['soft bins'] = { binning = 'soft' },
    ['every shift'] = { surrogate = 'exhaustive', n_perm = 0 }, trials = { surrogate = 'swap_trials', axes = 'ST' },
    ['pooled counts'] = { bin_norm = 'pooled' }, ['pooled segments'] = { pool_segments = true, axes = 'ST' },
    windows = { windows = { { 1, 400 }, { 500, 880 } } }, pairs = { pairs = { { 1, 2 }, { 3, 4 } } },
    all = { return_surrogates = true, return_dist = true, norm = 'sub', dtype = 'f64' },
    tensorpac = { compat = 'tensorpac', measure = 'plv' }, gpac = { compat = 'gpac' },
    ['a measure of one\'s own'] = { measure = function(p, a) return mc.matmul(mc.cos(p), a.mT) / p.shape[3] end },
  }
  local names = {}
  for name in pairs(CASES) do names[#names + 1] = name end
  table.sort(names)

  -- values of the maps and of what the surrogates say of them, on the scale of the value
  local MAPS = { pac = 1, pref_phase = 1, peak_phase = 1, surr_mean = 1, dist = 1, surrogates = 1, p = 1 }
  local function near(want, got, name, bound)
    assert.equal(want.dtype, got.dtype, name)
    assert.equal(tostring(want.shape), tostring(got.shape), name)
    local a, b = want:to 'f64', got:to 'cpu':to 'f64'
    local equal = mc.logical_or(mc.eq(a, b), mc.logical_and(mc.isnan(a), mc.isnan(b)))
    local off = mc.where(equal, 0, mc.abs(a - b) / mc.maximum(mc.abs(a), 1))
    if not mc.all(mc.le(off, bound)) then error(('%s: differs by %g'):format(name, mc.max(off):item()), 0) end
  end
  local FEW = { flaws = 'f32', ['every shift'] = 'f64', ['pooled segments'] = 'f64', tensorpac = 'f32',
    windows = 'f32' }
  for _, name in ipairs(names) do
    local dtypes = os.getenv 'MASCON_TEST_DEVICE' and { 'f64', 'f32' } or { FEW[name] }
    for _, dtype in ipairs(dtypes) do it(name .. ', ' .. dtype .. ', by programs of the device', function()
      local where, why = device.name()
      if not where then return pending(why) end
      mc.scope(function()
        local o = { fs = 500, pha_n_bands = 2, amp_n_bands = 9, n_perm = 12, seed = 3, dtype = dtype }
        for k, v in pairs(CASES[name]) do if k ~= 'x' and k ~= 'dtype' then o[k] = v end end
        local samples = CASES[name].x and flawed or x
        local want = mc.pac.compute(samples, o)
        o.device = where
        local got = mc.pac.compute(samples, o)
        for k, v in pairs(want) do
          if mc.is_tensor(v) then
            if MAPS[k] then near(v, got[k], k, dtype == 'f64' and 1e-6 or 2e-5)
            elseif k == 'z' then near(v, got[k], k, dtype == 'f64' and 1e-6 or 1e-3)
            elseif k == 'status' then same(v, got[k], k) end
          end
        end
      end)
    end) end
  end

  for _, name in ipairs(names) do
    it(name, function()
      mc.scope(function()
        local case, o = CASES[name], { fs = 500, pha_n_bands = 2, amp_n_bands = 9, n_perm = 12, seed = 3 }
        for k, v in pairs(case) do if k ~= 'x' then o[k] = v end end
        local samples = case.x and flawed or x
        local want, got = mc.pac.compute(samples, o), mc.pac.compute(samples:to 'ref', o)
        for k, v in pairs(want) do same(v, got[k], k) end
      end)
    end)
  end
end)

describe('pages of results', function()
  it('name the device that they were computed on', function()
    local x = mc.randn({ 1, 1, 900 }, { seed = 1 })
    local r = mc.pac.compute(x, { fs = 500, pha_n_bands = 2, amp_n_bands = 2, axes = 'CST', device = 'ref:1' })
    assert.equal('ref:1', r.device)
    local best = mc.pac.report.strongest(r, { 'a' }, 1)
    local row = '<td>device</td><td>%s</td>'
    assert.truthy(mc.pac.report.page(r, { strongest = best }):find(row:format 'ref:1', 1, true))
    local e = sets.random(12, 11, 60, { seed = 3 })
    for where, o in pairs { ['ref:1'] = { device = 'ref:1' }, ['ref:0, ref:1'] = { device = { 'ref:0', 'ref:1' } },
      cpu = {} } do
      o.verbose, o.cv = false, 4
      local got = ar.ways.clean(e, 'global', o)
      assert.equal(where, got.device)
      assert.truthy(ar.report.page(got):find(row:format(where), 1, true))
    end
    local there = mc.meeg.epochs.new { data = e.data:to 'ref', fs = e.fs, channels = e.channels }
    for _, way in ipairs { 'global', 'local', 'ransac' } do
      local o = { verbose = false, cv = 4, random_state = 1, allow_empty = true }
      local want, got = ar.ways.clean(e, way, o), ar.ways.clean(there, way, o)
      assert.equal('ref:0', got.device)
      same(want.log.labels, got.log.labels, way)
      same(want.clean:read(), got.clean:read(), way, 'ref:0')
    end
  end)
end)

describe('forecasts of an analysis on a device', function()
  it('tell the memory of the device apart, and foretell its peak', function()
    assert.equal(' of the host, at most about 1024.0 MiB on cuda:0', mc.args.there('cuda:0', 2 ^ 30))
    assert.equal(' of the host, at most about 1.0 MiB on each of ref:0, ref:1',
      mc.args.there({ 'ref:0', 'ref:1' }, 2 ^ 20))
    assert.equal(' of the host; that of ref:0 is not known', mc.args.there({ 'ref:0' }))
    local x = mc.randn({ 2, 1, 4000 }, { seed = 1, dtype = 'f32' })
    local o = { fs = 500, pha_n_bands = 2, amp_n_bands = 3, axes = 'CST', n_perm = 3 }
    local source = mc.pac.source.wrap(x, { fs = 500, axes = 'CST' })
    local function foretold(where)
      o.device = where
      return select(2, mc.pac.source.seconds(mc.pac.plan(4000, o), source, o))
    end
    assert.is_nil(foretold())
    local said = foretold 'ref:0'
    mc.reset_peak_memory()
    local before = mc.memory { device = 'ref:0' }.live
    mc.pac.compute(x, o)
    local peak = mc.memory { device = 'ref:0' }.peak - before
    assert(peak > 0 and peak <= 1.2 * said and said <= 4 * peak, peak .. ' ' .. said)
    mc.reset_peak_memory()
    assert.equal(mc.memory { device = 'ref:0' }.live, mc.memory { device = 'ref:0' }.peak)
    local e = sets.random(24, 6, 40, { seed = 3 })
    local opts = { device = 'ref:0', cv = 4, verbose = false }
    said = select(2, ar.probe.seconds(e, 'global', opts, ar.ways.plan(e), 0))
    mc.reset_peak_memory()
    before = mc.memory { device = 'ref:0' }.live
    ar.ways.clean(e, 'global', opts)
    peak = mc.memory { device = 'ref:0' }.peak - before
    assert(peak > 0 and peak <= 1.2 * said and said <= 4 * peak, peak .. ' ' .. said)
    assert.is_nil((select(2, ar.probe.seconds(e, 'global', { cv = 4, verbose = false }, ar.ways.plan(e), 0))))
  end)
end)

describe('autoreject on a device', function()
  local function decided(e, more)
    local o = { random_state = 5, cv = 4, verbose = false }
    for k, v in pairs(more or {}) do o[k] = v end
    local m = ar.fit(e, o)
    local clean, log = m:transform(e, { allow_empty = true })
    local t = m.types.eeg
    return { labels = log.labels, bad = log.bad_epochs, threshold = t.threshold, losses = t.losses, loss = t.loss,
      corr = ar.ransac(e, { random_state = 5, device = o.device }).corr }, clean:read()
  end
  it('decides and repairs as on the CPU', function()
    local e = sets.random(24, 11, 120, { seed = 3 })
    local there = mc.meeg.epochs.new { data = e.data:to 'ref', fs = e.fs, channels = e.channels }
    local want, clean = decided(e)
    local got, mended = decided(there)
    for k, v in pairs(want) do same(v, got[k], k) end
    same(clean, mended, 'clean', 'ref:0')
  end)

  --- Largest distance, of what is finite in both; infinities and NaN must agree.
  local function apart(a, b)
    a, b = a:to 'f64', b:to 'cpu':to 'f64'
    local equal = mc.logical_or(mc.eq(a, b), mc.logical_and(mc.isnan(a), mc.isnan(b)))
    return mc.max(mc.where(equal, 0, mc.abs(a - b))):item()
  end
  local function sets_of(dtype)
    local e = sets.random(24, 11, 120, { seed = 3 })
    return mc.meeg.epochs.new { data = e.data:to(dtype), fs = e.fs, channels = e.channels }
  end
  local function s1()
    local s = ar.generate.s1()
    return mc.meeg.epochs.new { data = s.data, fs = s.fs, positions = s.positions }
  end
  local CASES = {
    { 'f64', function() return sets_of 'f64' end }, { 'f32', function() return sets_of 'f32' end },
    { 's1', s1 }, { 'as upstream', s1, { compat = 'upstream' } }, { 'of neighbours', s1, { adjacency = true } },
    { 'one repair in blocks', s1, { max_memory = 2 ^ 25, n_interpolate = { 2 }, partial = 'drop' } },
  }
  for i, c in ipairs(os.getenv 'MASCON_TEST_DEVICE' and CASES or { CASES[2] }) do
    it('decides and repairs by programs of the device: ' .. c[1], function()
      local where, why = device.name()
      if not where then return pending(why) end
      mc.scope(function()
        local e, o = c[2](), {}
        for k, v in pairs(c[3] or {}) do o[k] = v end
        local want, clean = decided(e, o)
        o.device = where
        local got, mended = decided(e, o)
        for _, k in ipairs { 'labels', 'bad' } do same(want[k], got[k], k) end
        -- limits are ranges of repaired samples too, which products of a library round in another order
        for k, bound in pairs { threshold = 1e-14, losses = 1e-9, loss = 1e-9, corr = 1e-9 } do
          local finite = mc.where(mc.isfinite(want[k]), mc.abs(want[k]), 0)
          assert.is_true(apart(want[k], got[k]) <= bound * mc.max(finite):item(), k)
          assert.equal('cpu', got[k].device)
        end
        local eps = clean.dtype == 'f32' and 2 ^ -22 or 1e-12
        assert.is_true(apart(clean, mended) <= eps * mc.max(mc.abs(clean:to 'f64')):item(), 'clean')
        assert.equal('cpu', mended.device)
        if i == 1 then -- samples that are there already stay
          local there = mc.meeg.epochs.new { data = e.data:to(where), fs = e.fs, channels = e.channels }
          local _, stayed = decided(there)
          assert.equal(where, stayed.device)
          assert.equal(0, apart(mended, stayed))
        end
      end)
    end)
  end
  it('takes one limit for all channels, and curves of limits', function()
    local where, why = device.name()
    if not where then return pending(why) end
    mc.scope(function()
      local e = sets_of 'f64'
      local want, details = ar.get_rejection_threshold(e, { cv = 4 })
      local got, there = ar.get_rejection_threshold(e, { cv = 4, device = where })
      assert.same(want, got)
      assert.is_true(apart(details.eeg.losses, there.eeg.losses) <= 1e-9 * details.eeg.loss)
      local a, b = ar.validation_curve(e, { cv = 4 }), ar.validation_curve(e, { cv = 4, device = where })
      assert.is_true(apart(a.test, b.test) <= 1e-15)
    end)
  end)
end)
