-- autoreject_conformance_spec.lua - the conformance list of the autoreject workflow, by its numbers.
--
-- Figures are those of an independent program in f64 (NumPy, scikit-learn and upstream's own code); what is defined by
-- a formula stands here once more as a plain loop. Items 8 to 11 are those of the splines (meeg_spline_spec).
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local tol = support.load 'tol'
local sets = support.load 'epochs'
local mc = require 'mascon'
local raw = require('mascon.core.op').raw
local ar = mc.autoreject

-- losses of S1 relative, thresholds relative, weights and correlations absolute
local LOSS, LIMIT, CORR = 1e-10, 1e-9, 1e-9

local function list(t)
  return mc.is_tensor(t) and t:to('f64'):flatten():totable() or type(t) == 'table' and t or { t }
end

local function close(want, got, bound, absolute)
  local w, g = list(want), list(got)
  assert.equal(#w, #g)
  for i = 1, #w do
    local wrong = tol.compare('ITERATIVE', 'f64', g[i], w[i], { bound = absolute and bound or bound * math.abs(w[i]) })
    assert.is_nil(wrong, wrong and ('element %d: %s'):format(i, wrong))
  end
end

local function ranges(x, picks) return raw('ar_range', { x, ar.curves.picks(picks) }, {}, 1)[1] end

local function zero_based(t)
  local out = {}
  for i, v in ipairs(list(t)) do out[i] = v - 1 end
  return out
end

local s1 = sets.s1()
local function thresholds(opts)
  local o = { random_state = 42, verbose = false }
  for k, v in pairs(opts or {}) do o[k] = v end
  return ar.compute_thresholds(s1, o)
end
local function fit(opts, epochs)
  local o = { random_state = 42, verbose = false }
  for k, v in pairs(opts or {}) do o[k] = v end
  return ar.fit(epochs or s1, o)
end

describe('autoreject, without samples', function()
  it('1: a range ignores offsets and scales', function()
    local x = mc.tensor { 3, -1, 2 }
    local function range(t) return ranges(t:reshape(1, 1, 3), { 1 }):item() end
    assert.equal(4, range(x))
    assert.equal(4, range(x + 0.5))
    assert.equal(8, range(x * -2))
  end)

  it('2: a median of four is the mean of the middle two, a score the root of the mean square', function()
    -- one training epoch of zeros, the others test: the loss is that of the median alone
    local function loss(rows, T)
      local E = #rows + 1
      local x = mc.concat({ mc.zeros { 1, 1, T }, mc.tensor(rows):reshape(#rows, 1, T) }, 1)
      local test = {}
      for e = 2, E do test[#test + 1] = e end
      local _, d = ar.get_rejection_threshold(sets.of(x), { cv = { { { 1 }, test }, { { 1 }, test } } })
      return d.eeg.losses[1]:item()
    end
    assert.equal(2.5, loss({ { 1 }, { 2 }, { 3 }, { 100 } }, 1))
    assert.equal(2, loss({ { 1, 1 }, { 2, 2 }, { 9, 9 } }, 2))
  end)

  it('3: the global limit of four epochs', function()
    local x = mc.tensor { { { 0, 1 } }, { { 0, 2 } }, { { 0, 3 } }, { { 0, 10 } } }
    local limit, d = ar.get_rejection_threshold(sets.of(x), { cv = 2 })
    assert.equal(3, limit.eeg)
    assert.same({ math.huge, math.huge }, d.eeg.losses['1:2']:totable())
    close({ 2.2980970388562794, 3.5355339059327373 }, d.eeg.losses['3:4'], 1e-15)
  end)

  it('4: contiguous folds', function()
    local sizes = {}
    for i, f in ipairs(ar.folds.contiguous(11, 3)) do
      sizes[i] = { f.test[1], f.test[#f.test] }
      assert.equal(11, #f.train + #f.test)
    end
    assert.same({ { 1, 4 }, { 5, 8 }, { 9, 11 } }, sizes)
  end)

  it('5: sizes of stratified splits', function()
    for _, c in ipairs { { 5, 2, 8 }, { 12, 5, 19 }, { 100, 40, 160 }, { 300, 120, 480 } } do
      local E = c[1]
      for _, f in ipairs(ar.folds.stratified({ E, E }, { seed = 3 })) do
        assert.equal(c[2], #f.test)
        assert.equal(c[3], #f.train)
        local seen, first = {}, 0
        for _, side in ipairs { f.train, f.test } do
          for _, i in ipairs(side) do
            assert.is_nil(seen[i])
            seen[i] = true
          end
        end
        for _, i in ipairs(f.test) do first = first + (i <= E and 1 or 0) end
        assert.is_true(math.abs(2 * first - #f.test) <= 1)
      end
    end
  end)

  it('6: the legacy generator', function()
    assert.equal(0.3745401188473625, ar.twister.new(42):uniform())
    assert.same({ 8, 1, 5, 0, 7, 2, 9, 4, 3, 6 }, ar.twister.new(42):permutation(10))
  end)

  it('7: splits of ten rows', function()
    local f = ar.folds.stratified({ 5, 5 }, { seed = 42 })
    assert.same({ 8, 4, 1, 0, 6, 5, 7, 2 }, zero_based(f[1].train))
    assert.same({ 3, 9 }, zero_based(f[1].test))
    assert.same({ 7, 0, 3, 9, 4, 5, 1, 6 }, zero_based(f[2].train))
    assert.same({ 8, 2 }, zero_based(f[2].test))
  end)

  it('12: a vote is strict, and products of the grid are not rounded', function()
    assert.same({ { 3 } }, ar.vote.cast(mc.tensor { { 4, 5, 6 } }, mc.tensor { 5, 5, 5 }).worst)
    local kappa = require('workflows.autoreject.options').consensus('x')
    assert.equal(11, #kappa)
    assert.is_false(ar.vote.is_bad(3, kappa[4], 10))
    assert.is_true(ar.vote.is_bad(4, kappa[4], 10))
    assert.is_true(ar.vote.is_bad(0, kappa[1], 10))
  end)

  it('13: the worst are repaired, the rest are sources', function()
    local range = mc.tensor { { 1, 1, 9, 1, 1, 7, 8, 1 } }
    local worst = ar.vote.cast(range, mc.full({ 8 }, 5)).worst[1]
    assert.same({ 3, 7, 6 }, worst)
    assert.equal(2, ar.vote.repaired(3, 2, 8))
    assert.equal(3, ar.vote.repaired(3, 3, 8))
    -- sources of the first case include channel 6: its weight is not zero
    local repair, augment = require 'workflows.autoreject.repair', require 'workflows.autoreject.augment'
    local e = sets.random(1, 8, 4)
    local cells = repair.cells(1, 8)
    cells:want(1, { 3, 7 })
    local W = cells:number():weights(augment.interpolator('x', e, { type = 'eeg', picks = { 1, 2, 3, 4, 5, 6, 7, 8 } },
      { alpha = 1e-5, centre = 'none' }))
    assert.same({ 2, 8 }, { unpack(W.shape) })
    assert.is_true(math.abs(W[{ 1, 6 }]:item()) > 0)
    assert.same({ 0, 0, 0, 0 }, { W[{ 1, 3 }]:item(), W[{ 1, 7 }]:item(), W[{ 2, 3 }]:item(), W[{ 2, 7 }]:item() })
    close({ 1, 1 }, mc.sum(W, 2), 1e-9, true)
  end)

  it('14: repairs at the places of a list, fresh and cumulative', function()
    local function at(compat)
      local out = {}
      for j, limit in ipairs(ar.vote.limits({ 1, 4, 32 }, compat)) do out[j] = ar.vote.repaired(6, limit, 64) end
      return out
    end
    assert.same({ 1, 5, 6 }, at 'upstream')
    assert.same({ 1, 4, 6 }, at 'native')
  end)

  it('15: cells of the grid that cannot be', function()
    local e = sets.random(12, 32, 8)
    local loss = fit({ n_interpolate = { 1, 31 }, cv = 3 }, e).loss.eeg
    for k = 1, 11 do
      assert.equal(k == 11, mc.isfinite(mc.mean(loss[{ k, 2 }])):item() == true)
    end
    assert.same({ math.huge, math.huge, math.huge }, loss[{ 1, 1 }]:totable())
  end)
end)

describe('autoreject, one channel', function()
  -- losses of all candidates as the definition says: no running sums, medians by sorting
  local function direct(rows, folds)
    local N, T = #rows, #rows[1]
    local q, a = {}, {}
    for i, r in ipairs(rows) do
      local lo, hi = math.huge, -math.huge
      for _, v in ipairs(r) do lo, hi = math.min(lo, v), math.max(hi, v) end
      q[i], a[i] = hi - lo, hi - lo
    end
    table.sort(a)
    local out = {}
    for j = 1, N do
      local total = 0
      for _, f in ipairs(folds) do
        local least = math.huge
        for _, i in ipairs(f.train) do least = math.min(least, q[i]) end
        local sum = 0
        for t = 1, T do
          local column, m, n = {}, 0, 0
          for _, i in ipairs(f.test) do column[#column + 1] = rows[i][t] end
          table.sort(column)
          for _, i in ipairs(f.train) do
            if q[i] <= math.max(a[j], least) then m, n = m + rows[i][t], n + 1 end
          end
          local h = #column
          sum = sum + ((column[math.ceil(h / 2)] + column[math.floor(h / 2) + 1]) / 2 - m / n) ^ 2
        end
        total = total + math.sqrt(sum / T)
      end
      out[j] = total / #folds
    end
    return out
  end

  it('16, 18: all losses equal those of the definition, also below every training range and with ties', function()
    for _, E in ipairs { 5, 9, 24 } do
      local x = mc.floor(mc.randn({ E, 1, 13 }, { seed = E }) * 4) -- coarse: tied ranges
      local split = ar.folds.stratified({ E }, { seed = 7 })
      local _, d = ar.compute_thresholds(sets.of(x), { random_state = 7, augment = false })
      close(direct(x:reshape(E, 13):totable(), split), d.eeg.losses, 1e-13)
    end
  end)

  it('17: scaling by a power of two scales limits and leaves decisions alone, bit by bit', function()
    local a, b = fit(), fit({}, sets.s1 { factor = 2 ^ 20 })
    assert.is_true(mc.array_equal(a.types.eeg.threshold * 2 ^ 20, b.types.eeg.threshold))
    assert.is_true(mc.array_equal(a:log(s1).labels, b:log(sets.s1 { factor = 2 ^ 20 }).labels))
    assert.same({ a.consensus, a.n_interpolate }, { b.consensus, b.n_interpolate })
    local c = fit({}, sets.s1 { factor = 3 })
    close(a.types.eeg.threshold * 3, c.types.eeg.threshold, 1e-12)
    assert.is_true(mc.array_equal(a:log(s1).labels, c:log(sets.s1 { factor = 3 }).labels))
  end)
end)

describe('autoreject ransac', function()
  local function bad(epochs, opts) return ar.ransac(epochs, opts) end

  it('19: equal channels, a flat one, one upside down, sizes of subsets', function()
    local one = mc.randn({ 6, 1, 80 }, { seed = 5 })
    local e = sets.random(6, 32, 80)
    local same = bad(sets.of(mc.concat({ one, one, one, one, one, one, one, one }, 2),
      { positions = e:positions { 1, 2, 3, 4, 5, 6, 7, 8 } }))
    close(mc.ones { 6, 8 }, same.corr, 1e-14, true)
    assert.same({}, same.bad_channels)
    -- a smooth field: neighbours know each channel
    local field =
      mc.matmul(mc.concat({ e:positions(), mc.full({ 32, 1 }, 0.1) }, 2), mc.randn({ 6, 4, 80 }, { seed = 6 }))
    local turned = field:copy()
    turned[{ mc.all, 9 }] = -field[{ mc.all, 9 }]
    local r = bad(sets.of(turned, { positions = e:positions() }))
    assert.same({ 'ch9' }, r.bad_channels)
    assert.is_true(mc.max(r.corr[{ mc.all, 9 }]):item() < 0)
    local flat = field:copy()
    flat[{ mc.all, 3 }] = 0
    local f = bad(sets.of(flat, { positions = e:positions() }))
    assert.is_true(mc.all(mc.isnan(f.corr[{ mc.all, 3 }])))
    assert.is_truthy(f.warnings[1]:find('ch3 is flat', 1, true))
    for _, name in ipairs(f.bad_channels) do assert.not_equal('ch3', name) end
    assert.equal(2, #bad(sets.random(4, 10, 20)).subsets[1])
    assert.equal(16, #bad(sets.random(4, 64, 20)).subsets[1])
  end)

  it('32: S1', function()
    local r = bad(s1)
    assert.same({ 0, 6, 12, 13 }, zero_based(r.subsets[1]))
    assert.same({ 9, 4, 13, 1 }, zero_based(r.subsets[50]))
    close({ 0.99553323650, 0.46518011309, 0.99537123770 },
      { r.corr[{ 1, 6 }]:item(), r.corr[{ 2, 6 }]:item(), r.corr[{ 30, 1 }]:item() }, CORR, true)
    close(456.1870135276, r.corr:sum():item(), CORR)
    assert.same({ 1, 2, 1, 2, 0, 17, 2, 0, 0, 1, 0, 2, 0, 0, 1, 0 }, list(mc.sum(r.bad_log:to 'i64', 1)))
    assert.same({ 'ch05' }, r.bad_channels)
  end)
end)

describe('autoreject on S1', function()
  it('21, 22: the samples', function()
    local generate = require 'workflows.pac.generate'
    local function g(u)
      local sum = 0
      for i = 1, 12 do sum = sum + u[i] end
      return sum - 6
    end
    local u = generate.uniform(12, 20240607):totable()
    assert.same({ 0.39267745665602327, 0.03565796975014979, 0.992940085368941 }, { unpack(u, 1, 3) })
    assert.equal(-0.4999028090671409, g(u))
    assert.equal(0.8833108082136426, generate.uniform(1, 0):item())
    local x = s1.data
    close({ 0.17141739796625707, 0.5531509597702295 }, { x:sum():item(), mc.abs(x):sum():item() }, 1e-12)
    assert.same({ 2.2180057485139892e-06, 2.5113214549938014e-06, -1.2478116271002744e-05 }, x['1, 1, 1:3']:totable())
    assert.equal(4.418490675563344e-05, x[{ 30, 16, 50 }]:item())
    close({ -0.06022924045749253, -0.0658038358622686, -0.0119286956422384 }, s1.channels[1].position, 1e-14)
    close({ 0.06054498617504133, 0.06622164734804126, -0.00699986225405286 }, s1.channels[16].position, 1e-14)
  end)

  it('23: what the others predict', function()
    local W = require('mascon.meeg.spline').leave_one_out(s1:positions())
    close({ 0.5257052688958, 1.2191998478161, 0.2567695759819, 0.6058794493043 },
      { W[{ 1, 2 }]:item(), W[{ 1, 5 }]:item(), W[{ 6, 7 }]:item(), W[{ 6, 10 }]:item() }, CORR, true)
    local picks = ar.curves.picks { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 }
    local out = raw('ar_mix', { s1.data, picks, W, mc.zeros({ 0 }, { dtype = 'i64' }) }, { want = 3 }, 2)
    close(-6.42246099042e-06, out[1][{ 1, 1, 1 }]:item(), LOSS)
    close(3.82330924444e-05, out[2][{ 1, 6 }]:item(), LOSS)
    close(4.31135851946e-05, ranges(s1.data, { 6 })[{ 1, 1 }]:item(), LOSS)
  end)

  it('24: augmented splits', function()
    local f = ar.folds.stratified({ 30, 30 }, { seed = 42 })[1]
    assert.same({ 10, 58, 44, 6, 45, 14, 39, 7, 55, 19, 57, 20 }, zero_based(f.test))
    assert.same({ 31, 4, 8, 42, 33, 23 }, zero_based { unpack(f.train, 1, 6) })
  end)

  it('25, 26: the loss curve and the exact limits', function()
    local _, d = thresholds()
    local t = d.eeg
    close({ 1.97974822556832e-05, 1.12554107998843e-05, 9.45712215277411e-06, 1.29865230127778e-05 },
      { t.losses[{ 6, 1 }]:item(), t.losses[{ 6, 11 }]:item(), t.losses[{ 6, 31 }]:item(),
        t.losses[{ 6, 60 }]:item() }, LOSS)
    assert.same({ 29, 30, 39, 18, 27, 30, 26, 56, 56, 34, 56, 56, 18, 9, 55, 33 }, zero_based(t.index))
    close({ 6.698296819395, 6.736801604001, 6.541610529592, 4.754761789554, 5.997358670437, 6.863217960336,
      7.471075279729, 21.62435712562, 20.23314264392, 7.205692038899, 19.94966444152,
      25.07896815524, 4.766241490437, 4.109909895170, 19.41425708699, 6.160763590031 }, t.threshold * 1e5, LIMIT)
    close({ 9.270136165290, 7.117540122325, 6.592219138430, 8.283541637251, 9.138879809926, 9.457122152774,
      8.395039223826, 8.260409110227, 9.143974845639, 9.159416018085, 9.118165510223,
      6.704992383765, 8.602115219087, 7.603313199949, 5.844117883142, 6.856623207540 }, t.loss * 1e6, LOSS)
  end)

  it('27: random search', function()
    local _, d = thresholds { method = 'random_search', compat = 'upstream' }
    close({ 7.350621290264, 6.824633767051, 6.496476175748, 11.20970223138, 6.158310247025, 9.589286228402,
      8.591659791524, 22.66648211123, 21.66299596473, 9.052905054043, 19.98658650380,
      25.53201912375, 3.977646360442, 4.377537757358, 24.30586024259, 28.17316356404 }, d.eeg.threshold * 1e5, LIMIT)
  end)

  it("28: upstream's Bayesian search", function()
    local _, d = thresholds { method = 'bayesian_optimization', compat = 'upstream' }
    local _, best = thresholds()
    local want = best.eeg.threshold:totable()
    want[1], want[8], want[9], want[11], want[12] = 6.732603219849e-5, 22.38169367382e-5, 4.359023061756e-5,
      7.476365062754e-5, 11.85736929573e-5
    close(want, d.eeg.threshold, LIMIT)
    local excess = d.eeg.loss / best.eeg.loss - 1
    assert.is_true(mc.all(mc.ge(excess, 0)))
    close({ 0.0015, 0.0069 }, { mc.mean(excess):item(), mc.max(excess):item() }, 5e-5, true)
  end)

  it("28: upstream's Bayesian search tries ten places after the first ones", function()
    local candidates, asked = {}, {}
    for i = 1, 200 do candidates[i] = i end
    local losses = setmetatable({}, { __index = function(_, i)
      asked[#asked + 1] = i
      return 2 + math.sin(i / 9)
    end })
    local found = mc.autoreject.bayesian.search(candidates, losses, 5)
    assert.equal(6 + 10, #asked)
    assert.same({ 1, 41, 81, 121, 161, 200 }, { unpack(asked, 1, 6) })
    local best = asked[1]
    for _, i in ipairs(asked) do if math.sin(i / 9) < math.sin(best / 9) then best = i end end
    assert.equal(best, found)
  end)

  it('29: the global limit', function()
    local limit, d = ar.get_rejection_threshold(s1)
    assert.equal(math.huge, d.eeg.losses[1]:item())
    close({ 2.3794868459336765e-04, 1.1960315157385368e-05 }, { limit.eeg, d.eeg.loss }, LOSS)
    local search, e = ar.get_rejection_threshold(s1, { method = 'bayesian_optimization' })
    close({ 2.0588877733887111e-04, 1.213404741233585e-05 }, { search.eeg, e.eeg.loss }, LOSS)
  end)

  it('30: local cross-validation with the limits of random search', function()
    local limits = thresholds { method = 'random_search', compat = 'upstream' }
    for _, c in ipairs { { 'native', 1.70730590495e-05 }, { 'upstream', 1.71093026229e-05 } } do
      local m = fit { thresholds = limits, compat = c[1] }
      local l = m.types.eeg.mean_loss
      close({ 1.70435993751e-05, 1.70286648415e-05, c[2], 1.88831003485e-05 },
        { l[{ 4, 1 }]:item(), l[{ 4, 2 }]:item(), l[{ 5, 2 }]:item(), l[{ 11, 3 }]:item() }, LOSS)
      assert.same({ 4, 2 }, { m.types.eeg.consensus_index, m.types.eeg.n_interpolate_index })
      local log = m:log(s1)
      assert.same({ [0] = 374, 26, 80, 0 }, log:counts())
      assert.same({ 4, 7, 18, 19, 20, 26 }, zero_based(log:bad_list()))
    end
  end)

  it('31: the default analysis', function()
    for _, c in ipairs { { 'native', 1.70067305248e-05, 1.70993271050e-05 },
      { 'upstream', 1.70159385631e-05, 1.71185111042e-05 } } do
      local m = fit { compat = c[1] }
      assert.same({ eeg = 0.5 }, m.consensus)
      assert.same({ eeg = 4 }, m.n_interpolate)
      local l = m.types.eeg.mean_loss
      close({ c[2], c[3] }, { l[{ 6, 2 }]:item(), l[{ 5, 2 }]:item() }, LOSS)
      local clean, log = m:transform(s1)
      local function row(e) return table.concat(log.labels[e + 1]:totable(), '') end
      assert.same({ '2001022000002100', '1111121101211122', '2102021000000200' }, { row(1), row(7), row(26) })
      assert.same({ [0] = 343, 48, 89, 0 }, log:counts())
      assert.same({ 2, 7, 18 }, zero_based(log:bad_list()))
      assert.same({ 2, 6, 8, 2, 7, 5, 0, 15, 7, 7, 1, 2, 2, 1, 3, 3, 3, 6, 15, 6, 6, 4, 5, 2, 2, 2, 6, 5, 2, 2 },
        list(mc.sum(mc.ge(log.labels, 1):to 'i64', 2)))
      assert.same({ 27, 16, 50 }, { unpack(clean.data.shape) })
      close(0.3267368693850, mc.abs(clean.data):sum():item(), 1e-11)
    end
    local search = thresholds { method = 'bayesian_optimization', compat = 'upstream' }
    for _, c in ipairs { { 'native', 1.69531848656e-05 }, { 'upstream', 1.69553004595e-05 } } do
      local m = fit { thresholds = search, compat = c[1] }
      assert.same({ 7, 2 }, { m.types.eeg.consensus_index, m.types.eeg.n_interpolate_index })
      close(c[2], m.types.eeg.mean_loss[{ 7, 2 }]:item(), LOSS)
    end
  end)

  it('33: scaled by 2^20', function()
    local big = sets.s1 { factor = 2 ^ 20 }
    local function limits(epochs, opts)
      local _, d = ar.compute_thresholds(epochs, opts)
      return d.eeg.threshold
    end
    for _, o in ipairs { { random_state = 42 },
      { random_state = 42, method = 'random_search', compat = 'upstream' } } do
      assert.is_true(mc.array_equal(limits(s1, o) * 2 ^ 20, limits(big, o)))
    end
    assert.is_true(mc.array_equal(ar.ransac(s1).corr, ar.ransac(big).corr))
  end)

  it('20: a second transform gives the same, channels outside the picks stay', function()
    local data = mc.concat({ s1.data, mc.randn({ 30, 1, 50 }, { seed = 9 }) }, 2)
    local names = { unpack(s1:names()) }
    names[17] = 'STI'
    local types = {}
    for i = 1, 17 do types[i] = i < 17 and 'eeg' or 'stim' end
    local positions = mc.concat({ s1:positions(), mc.full({ 1, 3 }, mc.nan) }, 1)
    local e = sets.of(data, { channels = names, types = types, positions = positions })
    local m = fit({}, e)
    local a, la = m:transform(e)
    local b, lb = m:transform(e)
    assert.is_true(mc.array_equal(a.data, b.data))
    assert.is_true(mc.array_equal(la.bad_epochs, lb.bad_epochs))
    assert.is_true(mc.all(mc.isnan(la.labels[{ mc.all, 17 }])))
    assert.equal(30 - #la:bad_list(), a:count())
    local keep = mc.nonzero(mc.logical_not(la.bad_epochs))
    assert.is_true(mc.array_equal(mc.take(data, keep, 1)[{ mc.all, 17 }], a.data[{ mc.all, 17 }]))
    assert.equal('AUTOREJECT', a.drop_log[la:bad_list()[1]][1])
  end)
end)
