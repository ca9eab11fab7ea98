-- autoreject_spec.lua - what the autoreject workflow promises beside its numbers: the same results whatever threads,
-- blocks, storage and files, and what each option does.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local sets = support.load 'epochs'
local few = support.load 'ceiling'
local process = support.load 'process'
local tol = support.load 'tol'
local mc = require 'mascon'
local ar = mc.autoreject

local function i64(list) return mc.tensor(list, { dtype = 'i64' }) end

--- Everything an analysis decides, as one table of tensors.
local function decided(e, opts)
  local o = { random_state = 5, cv = 4, verbose = false }
  for k, v in pairs(opts or {}) do o[k] = v end
  local m = ar.fit(e, o)
  local clean, log = m:transform(e, { allow_empty = true })
  local out = { labels = log.labels, bad = log.bad_epochs, clean = clean:read() }
  for _, kind in ipairs(m.order) do
    for _, f in ipairs { 'threshold', 'losses', 'loss' } do out[kind .. f] = m.types[kind][f] end
  end
  out.global = mc.tensor { (ar.get_rejection_threshold(e, { cv = 4, max_memory = o.max_memory })).eeg }
  local r = ar.ransac(e)
  out.corr = r.corr
  return out
end

local function same(a, b)
  for name, t in pairs(a) do
    if t.dtype == 'f64' then t = mc.where(mc.isnan(t), -1, t) end
    local u = b[name]
    if u.dtype == 'f64' then u = mc.where(mc.isnan(u), -1, u) end
    assert.is_true(mc.array_equal(t, u), name .. ' differs')
  end
end

describe('results do not depend on', function()
  -- 200 samples: three tiles and a part of one; 40 epochs: networks of several lengths
  local e = sets.random(40, 11, 200, { seed = 3 })

  it('threads', function()
    support.restoring(function()
      mc.set_num_threads(1)
      local one = decided(e)
      for _, n in ipairs { 2, 4 } do
        mc.set_num_threads(n)
        same(one, decided(e))
      end
    end)
    local before = mc.get_num_threads()
    same(decided(e, { threads = 1 }), decided(e, { threads = 3 }))
    assert.equal(before, mc.get_num_threads())
  end)

  it('the memory they may use', function()
    local cell = 40 * 11 * 8 * 64
    same(decided(e), few.left(1.1 * cell + 8 * 64 * 2500, function() return decided(e) end))
    same(decided(e), decided(e, { max_memory = '1GiB' }))
  end)

  it('where the samples lie', function()
    local far, reads = sets.behind(e)
    local limit = 1e6 -- the samples take 0.7e6 bytes, and as much is left for the work
    same(decided(e), few.left(limit, function() return decided(far) end))
    assert.is_true(reads.count > 5)
    same(decided(e), decided((sets.behind(e))))
  end)

  it('how the samples are laid out', function()
    local turned = mc.permute_dims(mc.permute_dims(e.data, { 3, 2, 1 }):contiguous(), { 3, 2, 1 })
    same(decided(e), decided(sets.of(turned, { positions = e:positions() })))
  end)

  it('the order of the picks', function()
    local a = ar.fit(e, { picks = { 3, 1, 7, 5 }, random_state = 1, cv = 4 })
    local b = ar.fit(e, { picks = { 'ch1', 'ch3', 'ch5', 'ch7' }, random_state = 1, cv = 4 })
    assert.same({ 'ch1', 'ch3', 'ch5', 'ch7' }, a.types.eeg.names)
    assert.is_true(mc.array_equal(a.types.eeg.threshold, b.types.eeg.threshold))
  end)

  it('the instruction level, bit by bit from v3 on, closely on v2', function()
    support.restoring(function()
      local C, by = require('mascon.core.ffi').C, {}
      for _, level in ipairs(support.levels()) do
        C.mc_isa_set(level)
        by[level] = decided(e)
      end
      if by.v3 and by.v4 then same(by.v3, by.v4) end
      if by.v2 and by.v3 then
        assert.is_true(mc.array_equal(mc.isnan(by.v2.labels), mc.isnan(by.v3.labels)))
        tol.near(by.v3.eeglosses * 1e6, by.v2.eeglosses * 1e6, 'losses', 1e-12)
      end
    end)
  end)

  it('samples stored as f32, as far as decisions go', function()
    local x = e.data:to 'f32'
    local small, large = sets.of(x, { positions = e:positions() }), sets.of(x:to 'f64', { positions = e:positions() })
    local a, b = decided(small), decided(large)
    -- the same numbers in both storages: all work is in f64, only repaired samples are rounded
    a.clean, b.clean = nil, nil
    same(a, b)
    -- rounding the samples moves thresholds by rounding alone and changes no label
    local m, n = ar.fit(e, { random_state = 5, cv = 4 }), ar.fit(small, { random_state = 5, cv = 4 })
    tol.near(m.types.eeg.threshold * 1e6, n.types.eeg.threshold * 1e6, 'thresholds', 1e-6)
    assert.equal(0, mc.sum(mc.ne(m:log(e).labels, n:log(small).labels):to 'i64'):item())
    assert.equal('f32', (n:transform(small)).data.dtype)
  end)
end)

describe('long folds', function()
  it('have the medians of short ones: beyond networks a selection serves', function()
    -- 700 epochs in two folds: 350 middle rows by network; in three leave-one-in folds 600 rows by selection
    local x = mc.randn({ 700, 2, 70 }, { seed = 4 })
    local function loss(n)
      local test, train = {}, { 701 - 1 }
      for i = 1, n do test[i] = i end
      local _, d = ar.get_rejection_threshold(sets.of(x), { cv = { { train, test }, { train, test } } })
      local median = mc.median(x[{ { 1, n } }], 1)
      local want = mc.sqrt(mc.mean((median - x[700]) ^ 2)):item()
      tol.below(d.eeg.losses[700]:item() / want - 1, 1e-14)
    end
    for _, n in ipairs { 1, 2, 3, 8, 9, 64, 511, 512, 513, 600, 699 } do loss(n) end
  end)
end)

describe('autoreject.fit', function()
  local e = sets.random(24, 8, 70, { seed = 7 })
  local function limits(v)
    local out = {}
    for _, name in ipairs(e:names()) do out[name] = v end
    return out
  end

  it('chooses members of its grids, labels nothing outside the picks', function()
    local m = ar.fit(e, { consensus = { 0.8, 0.3 }, n_interpolate = { 2, 0 }, cv = 4, picks = { 1, 2, 4, 5, 8 } })
    assert.is_true(m.consensus.eeg == 0.8 or m.consensus.eeg == 0.3)
    assert.is_true(m.n_interpolate.eeg == 2 or m.n_interpolate.eeg == 0)
    assert.same({ 2, 2, 4 }, { unpack(m.loss.eeg.shape) })
    local log = m:log(e)
    for c = 1, 8 do
      local none = mc.all(mc.isnan(log.labels[{ mc.all, c }]))
      assert.equal(c == 3 or c == 6 or c == 7, none)
    end
  end)

  it('gives the losses of a grid whatever its order', function()
    local a = ar.fit(e, { consensus = { 0.2, 0.5, 1 }, n_interpolate = { 1, 3 }, cv = 4, random_state = 1 })
    local b = ar.fit(e, { consensus = { 1, 0.2, 0.5 }, n_interpolate = { 3, 1 }, cv = 4, random_state = 1 })
    for i, k in ipairs { 3, 1, 2 } do
      for j = 1, 2 do assert.is_true(mc.array_equal(a.loss.eeg[{ k, j }], b.loss.eeg[{ i, 3 - j }])) end
    end
  end)

  it('equals the definition of local cross-validation', function()
    local m = ar.fit(e, { consensus = { 0.3, 0.6, 1 }, n_interpolate = { 0, 2 }, cv = 3, random_state = 1 })
    local t, repairer = m.types.eeg, require('mascon.meeg.spline').repairer(e:positions())
    local range = t.range:totable()
    local limit = t.threshold:totable()
    local function repaired(rho)
      local x = e.data:copy()
      local count = {}
      for i = 1, 24 do
        local bad = {}
        for c = 1, 8 do if range[i][c] > limit[c] then bad[#bad + 1] = c end end
        count[i] = #bad
        table.sort(bad, function(a, b) return range[i][a] > range[i][b] end)
        local some = { unpack(bad, 1, math.min(rho, #bad)) }
        if #some > 0 then x[{ i, i64(some) }] = mc.matmul(repairer:weights(some), e.data[i]) end
      end
      return x, count
    end
    local finite = 0
    for j, rho in ipairs { 0, 2 } do
      local x, count = repaired(rho)
      for i, kappa in ipairs { 0.3, 0.6, 1 } do
        for f = 1, 3 do
          local test, train = {}, {}
          for k = 1, 24 do
            if math.ceil(k / 8) == f then test[#test + 1] = k elseif count[k] < kappa * 8 then train[#train + 1] = k end
          end
          local want = math.huge
          if kappa * 8 > rho and #train > 0 then
            local d = mc.median(mc.take(e.data, i64(test), 1), 1) - mc.mean(mc.take(x, i64(train), 1), 1)
            want, finite = mc.sqrt(mc.mean(d * d)):item(), finite + 1
          end
          local got = m.loss.eeg[{ i, j, f }]:item()
          if want == math.huge then assert.equal(want, got) else tol.below(got / want - 1, 1e-10) end
        end
      end
    end
    assert.is_true(finite >= 9)
  end)

  it('takes folds as lists, with epochs in several tests', function()
    local cv = { { { 1, 2, 3, 4, 5, 6, 7, 8 }, { 9, 10, 11 } }, { { 2, 4, 6, 8, 10, 12 }, { 1, 3, 9, 11 } } }
    local m = ar.fit(e, { cv = cv, consensus = { 1 }, n_interpolate = { 0 }, thresholds = limits(1) })
    for f, pair in ipairs(cv) do
      local d = mc.median(mc.take(e.data, i64(pair[2]), 1), 1) - mc.mean(mc.take(e.data, i64(pair[1]), 1), 1)
      tol.below(m.loss.eeg[{ 1, 1, f }]:item() / mc.sqrt(mc.mean(d * d)):item() - 1, 1e-12)
    end
  end)

  it('records a seed when none is given, and that seed gives the same again', function()
    local a = ar.fit(e, { cv = 4 })
    local b = ar.fit(e, { cv = 4, random_state = a.seed })
    assert.is_true(mc.array_equal(a.types.eeg.threshold, b.types.eeg.threshold))
  end)

  it('fits types apart and joins their verdicts', function()
    local two = sets.of(e.data,
      { types = { 'eeg', 'ecog', 'eeg', 'ecog', 'eeg', 'eeg', 'ecog', 'eeg' }, positions = e:positions() })
    local m = ar.fit(two, { cv = 4, random_state = 2 })
    assert.same({ 'eeg', 'ecog' }, m.order)
    assert.same({ 0 }, m.types.ecog.n_interpolate_grid)
    local log = m:log(two)
    local bad = {}
    for k, kind in ipairs(m.order) do
      local picks = i64(two:picks(kind))
      local count = mc.sum(mc.ge(mc.take(log.labels, picks, 2), 1):to 'f64', 2)
      bad[k] = mc.ge(count, m.consensus[kind] * picks:numel())
    end
    assert.is_true(mc.array_equal(mc.logical_or(bad[1], bad[2]), log.bad_epochs))
  end)

  it('reports progress to a function', function()
    local last, total = 0, nil
    ar.fit(e, { cv = 4, verbose = function(done, all)
      assert.is_true(done > last)
      last, total = done, all
    end })
    assert.equal(total, last)
  end)

  it('leaves its input alone', function()
    local before = e.data:copy()
    local m = ar.fit(e, { cv = 4 })
    m:transform(e, { allow_empty = true })
    assert.is_true(mc.array_equal(before, e.data))
    assert.same({}, e.bads)
  end)

  it('without marked channels equals without these channels', function()
    local marked = sets.of(e.data, { positions = e:positions(), bads = { 'ch2', 'ch6' } })
    local picked = e:pick { 1, 3, 4, 5, 7, 8 }
    local o = { cv = 4, random_state = 3, allow_empty = true }
    local a, b = ar.fit_transform(marked, o), ar.fit_transform(picked, o)
    assert.is_true(mc.array_equal(a:read { channels = { 1, 3, 4, 5, 7, 8 } }, b.data))
    assert.same({ 'ch2', 'ch6' }, a.bads)
  end)
end)

describe('a model', function()
  local e = sets.random(24, 8, 70, { seed = 7 })
  local m = ar.fit(e, { cv = 4, random_state = 1 })

  it('is the same after saving and loading', function()
    local path = os.tmpname()
    m:save(path, { overwrite = true })
    local n = ar.load(path)
    os.remove(path)
    local a, la = m:transform(e, { allow_empty = true })
    local b, lb = n:transform(e, { allow_empty = true })
    assert.is_true(mc.array_equal(a:read(), b:read()))
    assert.is_true(mc.array_equal(la.labels, lb.labels))
    assert.same(m.thresholds, n.thresholds)
    assert.equal(tostring(m), tostring(n))
  end)

  it('does as an edited log says', function()
    local log = m:log(e)
    log.bad_epochs = mc.zeros({ 24 }, { dtype = 'bool' })
    log.labels = mc.zeros { 24, 8 }
    log.labels[{ 5, 2 }] = 2
    local clean, back = m:transform(e, { reject_log = log })
    assert.equal(log, back)
    assert.equal(24, clean:count())
    local changed = mc.any(mc.ne(clean.data, e.data), 3)
    assert.equal(1, mc.sum(changed:to 'i64'):item())
    assert.is_true(changed[{ 5, 2 }]:item())
    local want = mc.matmul(require('mascon.meeg.spline').repairer(e:positions()):weights { 2 }, e.data[5])
    tol.near(want[1] * 1e6, clean.data[{ 5, 2 }] * 1e6, 'repaired', 1e-12)
  end)

  it('can mark instead of drop', function()
    local clean, log = m:transform(e, { mark = true })
    assert.equal(24, clean:count())
    for _, i in ipairs(log:bad_list()) do assert.is_true(mc.array_equal(e.data[i], clean.data[i])) end
    local dropped = m:transform(e, { allow_empty = true })
    local kept = mc.nonzero(mc.logical_not(log.bad_epochs))
    assert.is_true(mc.array_equal(mc.take(clean.data, kept, 1), dropped:read()))
  end)

  it('applies to other epochs, in another order of channels', function()
    local other = sets.random(6, 8, 70, { seed = 7 })
    local log = m:log(other)
    local turned = sets.of(mc.flip(other.data, 2), { channels = { 'ch8', 'ch7', 'ch6', 'ch5', 'ch4', 'ch3', 'ch2',
      'ch1' }, positions = mc.flip(other:positions(), 1) })
    assert.is_true(mc.array_equal(mc.flip(log.labels, 2), m:log(turned).labels))
  end)
end)

describe('a log', function()
  it('comes back from its file, names and all', function()
    local labels = mc.tensor { { 0, 1, mc.nan }, { 2, 3, mc.nan } }
    local log, path = ar.log.new(labels, { true, false }, { 'Fz', 'Cé', 'µ漢😀' }), os.tmpname()
    log:save(path, { overwrite = true })
    local back = ar.log.read(path)
    os.remove(path)
    assert.same({ 'Fz', 'Cé', 'µ漢😀' }, back.names)
    assert.same({ true, false }, back.bad_epochs:totable())
    assert.same({ 0, 1 }, back.labels['1, 1:2']:totable())
    assert.is_true(mc.all(mc.isnan(back.labels[{ mc.all, 3 }])))
    assert.same({ 1 }, back:bad_list())
    assert.same({ [0] = 1, 1, 1, 1 }, back:counts())
  end)
end)

describe('beyond upstream', function()
  local e = sets.random(24, 8, 70, { seed = 7 })
  local function fit(o)
    local all = { cv = 4, random_state = 1, consensus = { 1 }, n_interpolate = { 2 } }
    for k, v in pairs(o or {}) do all[k] = v end
    local m = ar.fit(e, all)
    return m, m:log(e)
  end
  local plain = select(2, fit())
  local function counts(log) return mc.sum(mc.ge(log.labels, 1):to 'i64', 2):totable() end

  it('partial = "drop" drops what could be repaired in part only', function()
    local _, log = fit { partial = 'drop' }
    for i, n in ipairs(counts(plain)) do
      assert.equal(n > 2 or n >= 8, log.bad_epochs[i]:item())
      assert.equal(n > 2 and 0 or n, mc.sum(mc.eq(log.labels[i], 2):to 'i64'):item())
    end
  end)

  it('bad_channel takes a channel that is bad too often as bad in all', function()
    local loud = e.data:copy()
    loud[{ { 1, 15 }, 4 }] = 20 * loud[{ { 1, 15 }, 4 }]
    local noisy = sets.of(loud, { positions = e:positions() })
    local given = {}
    for c = 1, 8 do given['ch' .. c] = mc.max(mc.max(e.data, 3) - mc.min(e.data, 3)):item() end
    local m = ar.fit(noisy, { cv = 4, thresholds = given, bad_channel = 0.5 })
    assert.same({ 'ch4' }, m.types.eeg.bad_channels)
    assert.is_truthy(m.warnings[1]:find('ch4 is bad in', 1, true))
    local log = m:log(noisy)
    assert.is_true(mc.all(mc.ge(log.labels[{ mc.all, 4 }], 1)))
    if m.n_interpolate.eeg >= 1 then assert.is_true(mc.all(mc.eq(log.labels[{ mc.all, 4 }], 2))) end
  end)

  it('adjacency keeps bad neighbours from repairing each other', function()
    local x = e.data:copy()
    for _, c in ipairs { 2, 3, 6 } do x[{ 5, c }] = 30 * (10 - c) * x[{ 5, c }] end
    local set = sets.of(x, { positions = e:positions() })
    local o = { cv = 4, random_state = 1, consensus = { 1 }, n_interpolate = { 1 }, thresholds = {} }
    for c = 1, 8 do o.thresholds['ch' .. c] = mc.max(mc.max(e.data, 3) - mc.min(e.data, 3)):item() end
    o.adjacency = { { 'ch2', 'ch3' }, { 'ch3', 'ch4' } }
    local m = ar.fit(set, o)
    local clean, log = m:transform(set)
    assert.same({ 0, 2, 3, 0, 0, 1, 0, 0 }, log.labels[5]:totable())
    -- channel 3 is no source of channel 2, channel 6 is
    local W = require('mascon.meeg.spline').repairer(e:positions()):weights { 2, 3 }
    tol.near(mc.matmul(W, x[5])[1] * 1e6, clean.data[{ 5, 2 }] * 1e6, 'repaired', 1e-9)
    assert.is_true(math.abs(W[{ 1, 6 }]:item()) > 0)
    o.adjacency_drop = 2
    assert.same({ 5 }, ar.fit(set, o):log(set):bad_list())
    o.adjacency_drop = 3
    assert.same({}, ar.fit(set, o):log(set):bad_list())
    o.adjacency, o.adjacency_drop = true, nil
    assert.is_truthy(ar.fit(set, o))
  end)

  it('adjacency = true takes channels within 1.6 of the mean distance to the nearest as neighbours', function()
    local new = require('workflows.autoreject.adjacency').new
    -- two pairs of channels 1 cm apart, so that the mean is 1 cm; `gap` cm between the pairs
    local function touch(gap, what)
      local x = 0.01 * mc.tensor { { 0, 0, 0 }, { 1, 0, 0 }, { 1 + gap, 0, 0 }, { 2 + gap, 0, 0 } }
      return new('spec', what, { 'a', 'b', 'c', 'd' }, x):largest { 2, 3 } == 2
    end
    assert.is_true(touch(1.59, true))
    assert.is_false(touch(1.61, true))
    assert.is_true(touch(1.61, 0.0162))
    assert.is_false(touch(1.61, 0.016))
  end)

  it('certainty is the share of votes that stay, over other splits and over one fold less', function()
    local K, seed = 10, 5
    local m = ar.fit(e, { cv = 4, random_state = seed, certainty = 2 })
    local found = m.types.eeg
    local want, by_seed = mc.zeros { 24, 8 }, {}
    for s = 0, 2 do
      local _, d = ar.compute_thresholds(e, { random_state = seed + s })
      local folds, candidates = d.eeg.folds:totable(), d.eeg.candidates:totable()
      by_seed[s] = d.eeg.threshold
      for left_out = 1, K do
        local limits = {}
        for c = 1, 8 do
          local best, at = math.huge, nil
          for i = 1, #candidates[c] do
            local sum = 0
            for k = 1, K do if k ~= left_out then sum = sum + folds[c][k][i] end end
            if sum < best then best, at = sum, i end
          end
          limits[c] = candidates[c][at]
        end
        local same_ = mc.eq(mc.gt(found.range, mc.tensor(limits)), mc.gt(found.range, found.threshold))
        want = want + same_:to 'f64'
      end
    end
    assert.is_false(mc.array_equal(by_seed[0], by_seed[1]))
    tol.near(want / (3 * K), found.certainty, 'certainty', 1e-12)
  end)

  it('consensus values that keep the same epochs have the same losses', function()
    -- of 8 channels, 0.55 and 0.6 allow 4 bad ones, 0.9 and 0.95 allow 7
    local m = fit { consensus = { 0.55, 0.6, 0.9, 0.95 }, n_interpolate = { 1, 2 } }
    local alone = fit { consensus = { 0.6 }, n_interpolate = { 1, 2 } }
    local l = m.loss.eeg
    assert.is_true(mc.array_equal(l[1], l[2]) and mc.array_equal(l[3], l[4]))
    assert.is_true(mc.array_equal(alone.loss.eeg[1], l[2]))
    assert.is_true(mc.all(mc.gt(l, 0)))
  end)

  it('certainty is 1 where every split agrees, and between 0 and 1', function()
    local m = fit { certainty = 3 }
    local c = m.types.eeg.certainty
    assert.same({ 24, 8 }, { unpack(c.shape) })
    assert.is_true(mc.all(mc.ge(c, 0)) and mc.all(mc.le(c, 1)))
    local worst = mc.argmax(m.types.eeg.range[{ mc.all, 1 }]):item()
    local least = mc.argmin(m.types.eeg.range[{ mc.all, 1 }]):item()
    assert.equal(1, c[{ least, 1 }]:item())
    assert.is_true(c[{ worst, 1 }]:item() > 0.5)
    assert.is_nil(fit().types.eeg.certainty)
  end)

  it('thresholds may be given', function()
    local given = {}
    for c = 1, 8 do given['ch' .. c] = 1e-5 * c end
    local m = fit { thresholds = given }
    assert.same(given, m.thresholds)
    given.ch8 = nil
    assert.is_truthy(support.message(ar.fit, e, { thresholds = given }):find('for channel ch8', 1, true))
  end)
end)

describe('the global limit', function()
  it('keeps the sample at time 0 when it thins', function()
    local x = mc.zeros { 6, 2, 55 }
    -- rate 250, tmin -0.02: sample 6 lies at 0; with decim 4 samples 2, 6, 10, ... are kept
    for i = 1, 6 do
      x[{ i, 1, 6 }] = i
      x[{ i, 2, 7 }] = 100 * i
    end
    local e = sets.of(x, { tmin = -0.02 })
    local _, d = ar.get_rejection_threshold(e, { decim = 4, cv = 2 })
    assert.same({ 1, 2, 3, 4, 5, 6 }, d.eeg.candidates:totable())
    assert.equal(55, e.samples)
  end)

  it('of every second sample rests on smaller ranges', function()
    local e = sets.random(20, 6, 200, { seed = 2 })
    local _, a = ar.get_rejection_threshold(e)
    local _, b = ar.get_rejection_threshold(e, { decim = 2 })
    assert.is_true(mc.all(mc.le(b.eeg.candidates, a.eeg.candidates)))
    assert.is_false(mc.array_equal(b.eeg.candidates, a.eeg.candidates))
  end)
end)

describe('files and faults', function()
  it('a full disk and a folder that is not there leave nothing behind', function()
    local m = ar.fit(sets.random(8, 6, 20), { cv = 3 })
    assert.is_truthy(support.message(m.save, m, '/nowhere/at/all/m.npz'):find('/nowhere/at/all', 1, true))
    local folder = process.folder()
    if process.tiny(folder .. '/full') then
      assert.is_truthy(support.message(m.save, m, folder .. '/full/m.npz'))
      assert.same({}, process.list(folder .. '/full'))
      process.unmount(folder .. '/full')
    end
    process.remove(folder)
  end)
end)

describe('magnetometers', function()
  -- points on a helmet, coils of point magnetometers, a smooth field of a few dipoles inside
  local C, E, T = 30, 12, 60
  local function helmet()
    local list = {}
    for i = 1, C do
      local h, a = 1 - (i - 0.5) / C, 2.399963229728653 * i
      local r = math.sqrt(1 - h * h)
      local n = { r * math.cos(a), r * math.sin(a), h }
      local u = { -math.sin(a), math.cos(a), 0 }
      local v = { n[2] * u[3] - n[3] * u[2], n[3] * u[1] - n[1] * u[3], n[1] * u[2] - n[2] * u[1] }
      local loc = { 0.12 * n[1], 0.12 * n[2], 0.12 * n[3] + 0.04, u[1], u[2], u[3], v[1], v[2], v[3], n[1], n[2], n[3] }
      list[i] = { name = 'M' .. i, type = 'mag', loc = loc, coil = 3024, position = { loc[1], loc[2], loc[3] } }
    end
    return list
  end
  local list = helmet()
  local place = {}
  for i, c in ipairs(list) do place[i] = { c.loc[10], c.loc[11], c.loc[12], 1 } end
  local x = 1e-13 * mc.matmul(mc.tensor(place), mc.cumsum(mc.randn({ E, 4, T }, { seed = 1 }), 3))
    + 2e-14 * mc.randn({ E, C, T }, { seed = 2 })

  it('are searched and repaired by field mapping', function()
    local loud = x:copy()
    loud[{ 4, 7 }] = loud[{ 4, 7 }] + 1e-11 * mc.randn({ T }, { seed = 3 })
    local e = sets.of(loud, { channels = list })
    local m = ar.fit(e, { cv = 3, random_state = 1, consensus = { 0.5, 1 }, n_interpolate = { 1, 4 } })
    assert.same({ 'mag' }, m.order)
    local clean, log = m:transform(e)
    assert.equal(2, log.labels[{ 4, 7 }]:item())
    local bad = {}
    for c, l in ipairs(log.labels[4]:totable()) do if l == 2 then bad[#bad + 1] = c end end
    local W = mc.meeg.field.repairer(e.channels, e:picks 'mag'):weights(bad)
    local kept = mc.nonzero(mc.logical_not(log.bad_epochs)):totable()
    for row, i in ipairs(kept) do
      if i == 4 then
        tol.near(mc.matmul(W, loud[4]) * 1e13, mc.take(clean.data[row], i64(bad), 1) * 1e13, 'repaired', 1e-8)
      end
    end
  end)

  it('of noise are all found by ransac', function()
    local noisy, want = x:copy(), {}
    for _, c in ipairs { 3, 8, 14, 20, 27 } do
      noisy[{ mc.all, c }] = 1e-12 * mc.randn({ E, T }, { seed = c })
      want[#want + 1] = 'M' .. c
    end
    local r = ar.ransac(sets.of(noisy, { channels = list }))
    for _, name in ipairs(want) do
      local there = false
      for _, b in ipairs(r.bad_channels) do there = there or b == name end
      assert.is_true(there, name .. ' was not found')
    end
    assert.is_true(#r.bad_channels <= 8)
    assert.same({ E, C }, { unpack(r.corr.shape) })
  end)
end)

describe('weights of subsets', function()
  it('are those of each subset alone', function()
    local p = sets.random(2, 12, 4):positions()
    local list = { { 3, 1, 7, 5 }, { 12, 11, 2, 6 }, { 1, 2, 3, 4 } }
    local all = mc.meeg.spline.subsets(p, mc.tensor(list, { dtype = 'i64' }))
    for s, places in ipairs(list) do
      tol.near(mc.meeg.spline.weights(mc.take(p, i64(places), 1), p), all[s], 'subset', 1e-9)
    end
  end)
end)
