-- autoreject_upstream_spec.lua - models that Python's autoreject saved: what they hold, what they judge, files that are
-- none.
--
-- The model, its epochs and upstream's labels come from a golden (make_hdf5.py).
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local recordings = support.load 'recordings'
local mc = require 'mascon'
local message = support.message

local g = recordings.golden(support, 'hdf5_autoreject')
local want = g.files['model-ar.hdf5']
local folder, path
before_each(function()
  folder = recordings.folder()
  recordings.unpack(g, folder)
  path = folder .. '/model-ar.hdf5'
end)
after_each(function() recordings.remove(folder) end)

local function epochs()
  local list = {}
  for i, name in ipairs(want.names) do
    list[i] = { name = name, type = 'eeg', position = g.arrays.locs[i]:totable() }
  end
  return mc.meeg.epochs.new { data = g.arrays.data, fs = 100, channels = list }
end

describe('mc.autoreject.load of a file of autoreject', function()
  it('has thresholds, consensus, repairs and losses as saved', function()
    local m = mc.autoreject.load(path)
    assert.same(want.thresholds, m.thresholds)
    assert.same(want.consensus, m.consensus)
    assert.same(want.n_interpolate, m.n_interpolate)
    assert.is_true(mc.array_equal(g.arrays.loss, m.loss.eeg))
    assert.same({ 'eeg' }, m.order)
    assert.equal(1, m.seed)
    assert.same({ 0.2, 0.5, 1 }, m.consensus_grid)
    assert.same({ 1, 2 }, m.types.eeg.n_interpolate_grid)
    assert.same({ 1, 1 }, { m.types.eeg.consensus_index, m.types.eeg.n_interpolate_index })
  end)

  it('judges epochs as upstream does', function()
    local log = mc.autoreject.load(path):log(epochs())
    assert.is_true(mc.array_equal(g.arrays.labels, log.labels))
    assert.same(want.bad, log.bad_epochs:totable())
  end)

  it('is a model like any other', function()
    local m, e = mc.autoreject.load(path), epochs()
    local clean = m:transform(e)
    assert.equal(11, clean:count())
    m:save(folder .. '/m.npz')
    local again = mc.autoreject.load(folder .. '/m.npz')
    assert.same(m.thresholds, again.thresholds)
    assert.is_true(mc.array_equal(clean.data, again:transform(e).data))
  end)

  it('refuses other files by name', function()
    local other = folder .. '/other.hdf5'
    local function refused(value, attributes, part)
      mc.save(other, value, { attributes = attributes })
      local text = message(mc.autoreject.load, other)
      assert.truthy(text:find(other, 1, true) and text:find(part, 1, true), text)
    end
    local dict = { TITLE = 'dict' }
    refused({ x = 1 }, nil, 'holds no state of autoreject')
    refused({ autoreject = 1 }, nil, 'holds a model that was not fitted')
    refused({ autoreject = { key_cv = 3 } }, { autoreject = dict }, 'holds a model that was not fitted')
    local inner = { autoreject = { key_local_reject_ = { key_eeg = { key_threshes_ = { key_Cz = 'much' } } } } }
    local titles = { autoreject = dict, ['autoreject/key_local_reject_'] = dict,
      ['autoreject/key_local_reject_/key_eeg'] = dict, ['autoreject/key_local_reject_/key_eeg/key_threshes_'] = dict }
    refused(inner, titles, 'has no usable threshold of Cz')
    inner.autoreject.key_local_reject_.key_eeg.key_threshes_ = {}
    refused(inner, titles, 'lacks the thresholds of eeg')
    inner.autoreject.key_local_reject_.key_eeg.key_threshes_ = { key_Cz = 1e-4 }
    inner.autoreject.key_n_interpolate = 1
    refused(inner, titles, 'holds lists that do not fit: too few channels')
    recordings.damaged(recordings.read(path), 30, 0, function(bytes, what)
      local ok, e = pcall(mc.autoreject.load, recordings.write(other, bytes))
      assert.is_false(ok, what)
      assert.truthy(tostring(e):find(other, 1, true), what .. ': ' .. tostring(e))
    end)
  end)
end)
