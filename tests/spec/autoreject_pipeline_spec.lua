-- autoreject_pipeline_spec.lua - the sequence as one call gives what its steps give one after the other, and a page of
-- it.
local mc = require 'mascon'

local NAMES = { 'Fp1', 'Fp2', 'F3', 'F4', 'C3', 'C4', 'P3', 'P4', 'O1', 'O2', 'Fz', 'Cz' }

--- 40 s at 100 Hz on twelve places of the 10-20 system, one channel loud for a while; events every second.
local function recording()
  local x = mc.randn { #NAMES, 4000, seed = 7 } * 1e-5
  x[{ 3, { 1000, 2000 } }] = x[{ 3, { 1000, 2000 } }] * 20
  local events = {}
  for i = 1, 38 do events[i] = { i * 100, 0, 1 } end
  return mc.meeg.raw.new { data = x, fs = 100, channels = NAMES }, events
end

local FIT = { random_state = 42, verbose = false }

describe('mc.autoreject.pipeline', function()
  it('filters, places, cuts, fits and transforms as the steps by hand do', function()
    local raw, events = recording()
    local r =
      mc.autoreject.pipeline(raw, { highpass = 2, events = events, tmin = -0.2, tmax = 0.5, fit = FIT, report = false })
    assert.is_nil(r.html)
    local filtered = raw:filter { highpass = 2 }
    filtered.channels = mc.meeg.montage.join(filtered.channels, '10-05')
    local epochs = mc.meeg.epochs.cut(filtered, { events = events, tmin = -0.2, tmax = 0.5 })
    local clean, log, model = mc.autoreject.fit_transform(epochs, FIT)
    assert.is_true(mc.array_equal(epochs.data, r.epochs.data))
    assert.is_true(mc.array_equal(log.labels, r.log.labels))
    assert.is_true(mc.array_equal(clean.data, r.clean.data))
    assert.same(model.thresholds, r.model.thresholds)
    assert.is_true(mc.any(mc.gt(r.log.labels['10:19, 3'], 0))) -- the loud channel was seen
    assert.is_true(#r.warnings > 0) -- where its places come from
  end)

  it('writes a page with its figures', function()
    local raw, events = recording()
    local html = mc.autoreject.pipeline(raw, { highpass = 2, events = events, fit = FIT }).html
    assert.truthy(html:find('<svg', 1, true))
    assert.truthy(html:find('high-pass, Hz', 1, true))
    for _, name in ipairs { 'Fp1', 'C3' } do assert.truthy(html:find(name, 1, true), name) end
  end)

  it('says what is wrong', function()
    local raw = recording()
    assert.error_matches(function() mc.autoreject.pipeline(5) end, 'give a path or a Raw')
    assert.error_matches(function() mc.autoreject.pipeline(raw, { random_state = 1 }) end,
      'option "random_state" is unknown')
    assert.has_error(function() mc.autoreject.pipeline(raw, { events = { { 399999, 0, 1 } }, fit = FIT }) end)
  end)
end)
