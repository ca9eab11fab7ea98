-- autoreject_errors_spec.lua - what the autoreject workflow says about input that cannot be right, line by line of the
-- table of bad input.
--
-- Every message names the thing, its value and what to do, and blames the line that made the call.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local sets = support.load 'epochs'
local process = support.load 'process'
local mc = require 'mascon'
local ar = mc.autoreject
local refuses = sets.refuses(support, 'autoreject_errors_spec.lua')

local function with(e, f)
  local x = e.data:copy()
  f(x)
  return sets.of(x, { positions = e:positions(), channels = e:names() })
end
local small = sets.random(8, 6, 20)
local function fit(e, o)
  return function()
    local m = ar.fit(e, o or { cv = 3 })
    return m
  end
end

describe('bad input to autoreject:', function()
  it('no set of epochs, another rank, no epoch', function()
    for _, f in ipairs { ar.fit, ar.compute_thresholds, ar.get_rejection_threshold, ar.validation_curve, ar.ransac } do
      refuses({ 'epochs are f64[3,4,5]', 'Epochs object' }, function() f(mc.zeros { 3, 4, 5 }) end)
      refuses({ 'epochs are nil' }, function() f(nil) end)
      refuses({ 'no epoch' }, function() f(small:drop { 1, 2, 3, 4, 5, 6, 7, 8 }) end)
    end
    refuses({ '[epochs, channels, samples]' }, function() sets.of(mc.zeros { 3, 4 }) end)
  end)

  it('consensus outside [0, 1], before any work', function()
    local nan = with(small, function(x) x[{ 1, 1, 1 }] = mc.nan end)
    refuses({ 'consensus must lie between 0 and 1', 'entry 2 is 1.1' }, fit(nan, { consensus = { 0.5, 1.1 }, cv = 3 }))
    refuses({ 'entry 1 is -0.1' }, fit(nan, { consensus = { -0.1 }, cv = 3 }))
    refuses({ 'consensus is an empty list' }, fit(nan, { consensus = {}, cv = 3 }))
  end)

  it('an unknown method, option or kind of progress', function()
    refuses({ "thresh_method 'exakt' is not known", '"exact"' }, fit(small, { thresh_method = 'exakt' }))
    refuses({ "method 'grid'", 'exact, bayesian_optimization, random_search' },
      function() ar.compute_thresholds(small, { method = 'grid' }) end)
    refuses({ '"n_interpolat" is unknown', 'n_interpolate' }, fit(small, { n_interpolat = { 1 } }))
    refuses({ 'verbose is 3', 'boolean' }, fit(small, { verbose = 3 }))
    refuses({ "verbose is 'blah'", 'boolean' }, fit(small, { verbose = 'blah' }))
    refuses({ 'random_state is 1.5', '2^32 - 1' }, fit(small, { random_state = 1.5 }))
    refuses({ 'max_memory is' }, fit(small, { max_memory = 'much' }))
    refuses({ 'device', 'cpu' }, fit(small, { device = 'cuda' }))
  end)

  it('positions that are missing, not finite or at the origin', function()
    local e = sets.random(8, 6, 20, { positions = false })
    for _, f in ipairs { fit(e), function() ar.compute_thresholds(e) end, function() ar.ransac(e) end } do
      refuses({ 'valid positions needed', '6 of 6 are NaN', 'montage' }, f)
    end
    local near = sets.of(small.data, { positions = mc.full({ 6, 3 }, 1e-10) })
    refuses({ 'valid positions needed', 'origin' }, fit(near))
    local p = small:positions():copy()
    p['1:2, :'] = 0
    refuses({ '2 of 6 positions are exactly zero' }, fit(sets.of(small.data, { positions = p })))
    p[2] = small:positions()[2]
    assert.is_truthy(ar.fit(sets.of(small.data, { positions = p }), { cv = 3 })) -- one at the origin passes
    assert.is_truthy(ar.compute_thresholds(e, { augment = false }).ch1)
  end)

  it('too few channels for the default list of repairs', function()
    refuses({ 'too few channels', '3 are picked' }, fit(sets.random(8, 3, 20)))
    assert.is_truthy(ar.fit(sets.random(8, 3, 20), { n_interpolate = { 0, 1 }, cv = 3 }))
    refuses({ 'n_interpolate must hold whole numbers', 'entry 2 is -1' }, fit(small, { n_interpolate = { 1, -1 } }))
    refuses({ 'n_interpolate is an empty list' }, fit(small, { n_interpolate = {} }))
  end)

  it('types that cannot take part', function()
    local e =
      sets.of(small.data, { types = { 'eeg', 'eeg', 'eeg', 'eeg', 'eog', 'stim' }, positions = small:positions() })
    refuses({ 'type eog, stim are picked', 'ecog, eeg, grad, hbo, hbr, mag, seeg' }, fit(e, { picks = { 1, 5, 6 } }))
    refuses({ 'no channel is picked' }, fit(sets.of(small.data, { types = 'misc' })))
    refuses({ 'picks is an empty list' }, fit(e, { picks = {} }))
    refuses({ 'types eeg, mag', 'one of eeg, mag, grad' },
      function() ar.ransac(sets.of(small.data, { types = { 'eeg', 'eeg', 'eeg', 'mag', 'mag', 'mag' } })) end)
    refuses({ 'type ecog are picked', 'supported types are eeg, grad, mag' },
      function() ar.ransac(sets.of(small.data, { types = 'ecog' }), { picks = 'ecog' }) end)
    refuses({ 'ch_types[1] is', 'eeg' }, function() ar.get_rejection_threshold(small, { ch_types = { 'eegs' } }) end)
    refuses({ 'ch_types is 3' }, function() ar.get_rejection_threshold(small, { ch_types = 3 }) end)
    assert.same({}, (ar.get_rejection_threshold(small, { ch_types = 'mag' })))
  end)

  it('types without interpolator are not repaired', function()
    local e = sets.of(small.data, { types = 'ecog' })
    refuses({ 'type ecog have no interpolator', 'add 0' }, fit(e, { n_interpolate = { 1, 2 }, cv = 3 }))
    local m = ar.fit(e, { cv = 3 })
    assert.same({ ecog = 0 }, m.n_interpolate)
    assert.is_truthy(m.warnings[1]:find('no interpolator', 1, true))
    local log = m:log(e)
    log.labels[{ 1, 1 }] = 2
    log.bad_epochs = mc.zeros({ 8 }, { dtype = 'bool' })
    refuses({ 'cannot be repaired' }, function() m:transform(e, { reject_log = log }) end)
  end)

  it('marked bad channels give a warning with their number', function()
    local e = sets.of(small.data, { positions = small:positions(), bads = { 'ch2', 'ch5' } })
    local m = ar.fit(e, { cv = 3 })
    assert.is_truthy(m.warnings[1]:find('2 channels are marked as bad', 1, true))
    local clean, log = m:transform(e, { allow_empty = true })
    assert.is_truthy(log.warnings[1]:find('2 channels', 1, true))
    assert.is_true(mc.all(mc.isnan(log.labels[{ mc.all, mc.tensor({ 2, 5 }, { dtype = 'i64' }) }])))
    local kept = mc.nonzero(mc.logical_not(log.bad_epochs))
    assert.is_true(mc.array_equal(mc.take(small.data, kept, 1)[{ mc.all, 2 }], clean.data[{ mc.all, 2 }]))
  end)

  it('transform of other channels', function()
    local m = ar.fit(small, { cv = 3 })
    refuses({ 'channel ch6 was there at fit', 'fit again' }, function() m:transform(small:pick { 1, 2, 3, 4, 5 }) end)
    local more = sets.random(8, 7, 20)
    refuses({ 'channel ch7 was not present at fit' }, function() m:transform(more) end)
    local renamed =
      sets.of(small.data, { channels = { 'a', 'ch2', 'ch3', 'ch4', 'ch5', 'ch6' }, positions = small:positions() })
    refuses({ 'channel ch1 was there at fit' }, function() m:transform(renamed) end)
    local turned =
      sets.of(small.data, { types = { 'ecog', 'eeg', 'eeg', 'eeg', 'eeg', 'eeg' }, positions = small:positions() })
    refuses({ 'was of type eeg at fit and is ecog here' }, function() m:transform(turned) end)
  end)

  it('a model that was never fitted has no transform', function()
    refuses({ 'transform' }, function() ar.transform(small) end)
  end)

  it('a log of another kind, shape or names', function()
    local m = ar.fit(small, { cv = 3 })
    refuses({ 'reject_log is a table', 'autoreject.log' }, function() m:transform(small, { reject_log = {} }) end)
    local log = m:log(sets.random(7, 6, 20))
    refuses({ 'labels', '8 epochs of 6 channels' }, function() m:transform(small, { reject_log = log }) end)
    local other = ar.log.new(mc.zeros { 8, 6 }, mc.zeros({ 8 }, { dtype = 'bool' }), { 'a', 'b', 'c', 'd', 'e', 'f' })
    refuses({ 'calls channel 1 a', 'ch1' }, function() m:transform(small, { reject_log = other }) end)
    local all = ar.log.new(mc.full({ 8, 6 }, 2), mc.zeros({ 8 }, { dtype = 'bool' }), small:names())
    refuses({ 'all 6 eeg channels of epoch 1' }, function() m:transform(small, { reject_log = all }) end)
    refuses({ 'labels are f64[2,3]@cpu for 2 epochs and 2 names' },
      function() ar.log.new(mc.zeros { 2, 3 }, { true, false }, { 'a', 'b' }) end)
  end)

  it('files that are there, or are something else', function()
    local m, path = ar.fit(small, { cv = 3 }), os.tmpname()
    refuses({ path .. ' is there already', 'overwrite = true' }, function() m:save(path) end)
    refuses({ path .. ' is there already' }, function() m:log(small):save(path) end)
    m:save(path, { overwrite = true })
    refuses({ 'no reject log', 'labels' }, function() ar.log.read(path) end)
    m:log(small):save(path, { overwrite = true })
    refuses({ 'holds no model' }, function() ar.load(path) end)
    os.remove(path)
    refuses({ path }, function() ar.load(path) end)
    refuses({ path }, function() ar.log.read(path) end)
  end)

  it('folds that cannot be', function()
    refuses({ 'cv is 9', '8 epochs' }, fit(small, { cv = 9 }))
    refuses({ 'cv is 1', 'at least 2' }, fit(small, { cv = 1 }))
    refuses({ 'names epoch 9' }, fit(small, { cv = { { { 1 }, { 9 } }, { { 1 }, { 2 } } } }))
    refuses({ 'no test epochs' }, fit(small, { cv = { { { 1 }, {} }, { { 1 }, { 2 } } } }))
    refuses({ 'names epoch 3 twice' }, fit(small, { cv = { { { 3, 3 }, { 1 } }, { { 1 }, { 2 } } } }))
    refuses({ 'lists 1 splits' }, fit(small, { cv = { { { 1 }, { 2 } } } }))
    refuses({ '4 rows', 'fewer than the 2 classes' }, fit(sets.random(2, 6, 20), { cv = 2 }))
    refuses({ 'class 1 has 1 row' }, fit(sets.random(1, 6, 20), { cv = { { { 1 }, { 1 } }, { { 1 }, { 1 } } } }))
    assert.is_truthy(ar.fit(sets.random(3, 6, 20), { cv = 3 }))
  end)

  it('low candidates may be infinite, never all', function()
    local _, d = ar.get_rejection_threshold(small)
    assert.equal(math.huge, d.eeg.losses[1]:item())
    assert.is_true(d.eeg.losses[8]:item() < math.huge)
  end)

  it('every epoch bad', function()
    local m = ar.fit(small, { consensus = { 0 }, n_interpolate = { 0 }, cv = 3 })
    refuses({ 'all 8 epochs are bad', 'allow_empty' }, function() m:transform(small) end)
    local clean, log = m:transform(small, { allow_empty = true })
    assert.equal(0, clean:count())
    local none = ar.fit(small, { n_interpolate = { 6 }, cv = 3 })
    refuses({ 'every pair of consensus and n_interpolate is ruled out for eeg', 'times 6 channels' },
      function() none:transform(small) end)
    assert.equal(8, #log:bad_list())
  end)

  it('ransac with fewer good channels than a subset needs', function()
    local e = sets.random(5, 8, 20, { bads = { 'ch1', 'ch2', 'ch3', 'ch4', 'ch5', 'ch6', 'ch7' } })
    refuses({ '1 channels are not marked bad', 'needs 2' },
      function() ar.ransac(e, { picks = { 1, 2, 3, 4, 5, 6, 7, 8 } }) end)
    refuses({ 'is no channel' }, function() ar.ransac(small, { min_channels = 0.01 }) end)
  end)

  it('ransac repairs without digitised head points', function()
    local r = ar.ransac(sets.s1())
    assert.equal(30, r:transform(sets.s1()):count())
  end)

  it('samples that are not finite, with epoch and channel', function()
    for _, v in ipairs { mc.nan, mc.inf, -mc.inf } do
      local e = with(small, function(x) x[{ 3, 2, 7 }] = v end)
      for _, f in ipairs { fit(e), function() ar.compute_thresholds(e) end,
        function() ar.get_rejection_threshold(e) end, function() ar.ransac(e) end,
        function() ar.validation_curve(e) end } do refuses({ 'epoch 3, channel ch2', 'NaN or infinite' }, f) end
      refuses({ 'epoch 3, channel ch2' }, function() ar.fit(small, { cv = 3 }):transform(e) end)
    end
  end)

  it('a flat channel is allowed and named; flat = 0 finds it', function()
    local e = with(sets.random(8, 6, 20), function(x) x[{ mc.all, 3 }] = 0 end)
    local m = ar.fit(e, { cv = 3, random_state = 1 })
    assert.is_truthy(table.concat(m.warnings, ' '):find('channel ch3 is flat', 1, true))
    local several = with(sets.random(8, 14, 20), function(x) x[{ mc.all, { 3, 12 } }] = 0 end)
    assert.same({ '10 channels are flat in all 8 epochs (ch3, ch4, ch5, ch6, ch7, ch8, ch9, ch10, ...); no correlation '
      .. 'tells that, mark them bad' }, ar.ransac(several).warnings)
    local log = m:log(e)
    assert.equal(0, mc.sum(log.labels[{ mc.all, 3 }]):item())
    local found = ar.fit(e, { cv = 3, random_state = 1, flat = 0 }):log(e)
    assert.is_true(mc.all(mc.ge(found.labels[{ mc.all, 3 }], 1)))
  end)

  it('too little memory', function()
    refuses({ 'max_memory', 'MiB', 'raise' }, fit(small, { max_memory = 100, cv = 3 }))
  end)

  it('the program leaves with 1 and the message', function()
    local r = process.mascon("local mc = require 'mascon' mc.autoreject.fit(3)", {})
    assert.equal(1, r.status)
    assert.is_truthy(r.text:find('autoreject.fit: epochs are 3', 1, true))
  end)
end)
