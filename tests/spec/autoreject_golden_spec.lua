-- autoreject_golden_spec.lua - decisions compared with those of upstream (golden files autoreject,
-- autoreject_recording).
--
-- One set is S1, the other a recording of 26 EEG channels with 16-bit steps, freed of ties by a dither. What must be
-- equal: everything compat = 'upstream' reproduces. What must not be worse: the loss of the exact limits.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local tol = support.load 'tol'
local sets = support.load 'epochs'
local mc = require 'mascon'
local ar = mc.autoreject

-- upstream interpolates with a pseudo-inverse of condition 1e6: 2.8e-11 of the largest value was seen
local LOSS, LIMIT, VALUE = 1e-9, 1e-9, 1e-9

local cache = {}
--- The golden arrays and the epochs of a set.
local function set(name)
  if cache[name] then return cache[name][1], cache[name][2] end
  local g = mc.load(support.folder .. '/golden/' .. name .. '.npz')
  local e
  if name == 'autoreject' then e = sets.s1() else
    local names = {}
    for n in string.char(unpack(g.names:totable())):gmatch '%S+' do names[#names + 1] = n end
    local dither = require('workflows.pac.generate').uniform(g.counts:numel(), 1):reshape(unpack(g.counts.shape))
    e = sets.of(g.counts:to 'f64' * 0.5e-6 + 1e-9 * dither,
      { channels = names, positions = g.positions, fs = g.rate:item() })
  end
  cache[name] = { g, e }
  return g, e
end
after_each(function() cache = {} end)

local function close(want, got, bound, absolute)
  assert.same({ unpack(want.shape) }, { unpack(got.shape) })
  local w, g = want:to('f64'):flatten():totable(), got:to('f64'):flatten():totable()
  for i = 1, #w do
    local wrong = tol.compare('ITERATIVE', 'f64', g[i], w[i], { bound = absolute and bound or bound * math.abs(w[i]) })
    assert.is_nil(wrong, wrong and ('element %d: %s'):format(i, wrong))
  end
end

local function limits(e, method, compat)
  local out, d = ar.compute_thresholds(e, { random_state = 42, method = method, compat = compat })
  return out, d.eeg
end

for _, name in ipairs { 'autoreject', 'autoreject_recording' } do
  describe('beside upstream, ' .. name, function()
    it('rows made by interpolation are the same', function()
      local g, e = set(name)
      local x = mc.matmul(require('mascon.meeg.spline').leave_one_out(e:positions()), e.data)
      close(g.predicted, x[{ { 1, 2 }, mc.all, { 1, 8 } }], VALUE * mc.max(mc.abs(x)):item(), true)
    end)

    it('the three searches: limits are the same, the exact one never costs more', function()
      local g, e = set(name)
      local _, exact = limits(e, 'exact')
      for _, method in ipairs { 'bayesian_optimization', 'random_search' } do
        local _, d = limits(e, method, 'upstream')
        close(g['threshold_' .. method], d.threshold, LIMIT)
        close(g['loss_' .. method], d.loss, LOSS)
        assert.is_true(mc.all(mc.le(exact.loss, d.loss)))
        assert.is_true(mc.all(mc.le(exact.loss, g['loss_' .. method] * (1 + LOSS))))
      end
    end)

    it('the global limit and its curve', function()
      local g, e = set(name)
      local found = ar.get_rejection_threshold(e, { method = 'bayesian_optimization' })
      close(g.global, mc.tensor { found.eeg }, LIMIT)
      local best, d = ar.get_rejection_threshold(e)
      local at = mc.argmax(mc.ge(d.eeg.candidates, found.eeg)):item()
      assert.is_true(d.eeg.loss <= d.eeg.losses[at]:item())
      assert.is_true(best.eeg > 0)
      local c = ar.validation_curve(e)
      close(g.curve_range, c.range, LIMIT)
      close(g.curve_train, c.train, LOSS)
      close(g.curve_test, c.test, LOSS)
    end)

    it('local cross-validation, choice, labels and cleaned samples with compat', function()
      local g, e = set(name)
      local m =
        ar.fit(e, { random_state = 42, thresh_method = 'bayesian_optimization', compat = 'upstream', verbose = false })
      close(g.cv_loss, m.loss.eeg, LOSS)
      assert.same(g.choice:totable(), { m.consensus.eeg, m.n_interpolate.eeg })
      local clean, log = m:transform(e)
      assert.is_true(mc.array_equal(g.labels:to 'f64', log.labels))
      assert.is_true(mc.array_equal(g.bad_epochs, log.bad_epochs))
      close(g.cleaned_sum, mc.sum(mc.abs(clean.data), 3), 1e-9)
    end)

    it('losses of fresh labels', function()
      local g, e = set(name)
      local m =
        ar.fit(e, { random_state = 42, thresholds = (limits(e, 'bayesian_optimization', 'upstream')), verbose = false })
      close(g.fresh_loss, m.loss.eeg, LOSS)
    end)

    it('ransac: correlations, channels, repair', function()
      local g, e = set(name)
      local r = ar.ransac(e)
      close(g.corr, r.corr, VALUE, true)
      local bad = {}
      for k, place in ipairs(r.bad_places) do bad[k] = place - 1 end
      assert.same(g.ransac_bad:totable(), bad)
      if #bad > 0 then
        local x = r:transform(e).data[{ { 1, 3 } }]
        close(g.ransac_repaired, mc.take(x, mc.tensor(r.bad_places, { dtype = 'i64' }), 2),
          VALUE * mc.max(mc.abs(e.data)):item(), true)
      end
    end)
  end)
end

describe('splits', function()
  it('are those of scikit-learn, row for row', function()
    local g = set 'autoreject'
    local function checksum(folds)
      local sum, at = 0, 0
      for _, f in ipairs(folds) do
        for _, side in ipairs { f.train, f.test } do
          for _, row in ipairs(side) do
            at = at + 1
            sum = sum + at * row
          end
        end
      end
      return sum
    end
    for i, seed in ipairs(g.split_seeds:totable()) do
      for E = 3, 100 do
        assert.equal(g.split_two[{ i, E - 2 }]:item(), checksum(ar.folds.stratified({ E, E }, { seed = seed })))
        assert.equal(g.split_one[{ i, E - 2 }]:item(), checksum(ar.folds.stratified({ E }, { seed = seed })))
      end
    end
  end)
end)
