-- meeg_eeglab_spec.lua - EEGLAB data sets and MAT-files: what MNE-Python and SciPy read from them, values of all kinds,
-- damaged files.
--
-- Files and answers come from goldens (make_meeg.py, make_hdf5.py). Samples are microvolts times 1e-6, the same product
-- in both programs.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local recordings = support.load 'recordings'
local mc = require 'mascon'
local message = support.message

local g, h = recordings.golden(support, 'meeg_eeglab'), recordings.golden(support, 'hdf5_eeglab')
local folder
before_each(function()
  folder = recordings.folder()
  recordings.unpack(g, folder)
end)
after_each(function() recordings.remove(folder) end)

local function at(name) return folder .. '/' .. name end

local function check_channels(want, r, types)
  assert.same(want.names, mc.meeg.channels.names(r.channels))
  assert.equal(want.fs, r.fs)
  for i, c in ipairs(r.channels) do
    if types then assert.equal(want.types[i], c.type) end
    for k = 1, c.type == 'eeg' and 3 or 0 do -- MNE keeps no position of an eye channel
      if type(want.locs[i][k]) == 'number' then
        assert.near(want.locs[i][k], c.position[k], 1e-17)
      else
        assert.is_nil(c.position)
      end
    end
  end
end

--- A continuous set against what MNE read of it.
local function check_recording(golden, name)
  local want, r = golden.files[name], mc.meeg.raw.open(at(name))
  check_channels(want, r, true)
  assert.is_true(mc.array_equal(golden.data(name), r:read()), name)
  assert.is_true(mc.array_equal(golden.data(name)['2:2, 31:90'], r:read { channels = 2, first = 31, last = 90 }), name)
  assert.equal(#want.annotations, #r.annotations)
  for i, a in ipairs(want.annotations) do
    assert.near(a[1], r.annotations[i].onset, 1e-12)
    assert.near(a[2], r.annotations[i].duration, 1e-12)
    assert.equal(a[3]:gsub('%.0$', ''), r.annotations[i].text)
  end
end

--- An epoched one.
local function check_epochs(golden, name)
  local want, e = golden.files[name], mc.meeg.epochs.open(at(name))
  check_channels(want, e, true)
  assert.is_true(mc.array_equal(golden.data(name), e.data), name)
  assert.equal(want.tmin, e.tmin)
  assert.same(want.events, e.events:totable())
  assert.same(want.event_id, e.event_id)
end

describe('mc.meeg.open of a .set file', function()
  it('reads continuous sets, packed, plain, spread over variables, with .fdt, and those of another writer, as MNE does',
    function()
      for _, name in ipairs { 'packed.set', 'plain.set', 'spread.set', 'beside.set', 'exported.set' } do
        check_recording(g, name)
      end
    end)

  it('reads epoched sets, with and without .fdt, as MNE does', function()
    for _, name in ipairs { 'epochs.set', 'both.set' } do check_epochs(g, name) end
  end)

  it('says what is missing', function()
    os.remove(at 'beside.fdt')
    assert.truthy(message(mc.meeg.open, at 'beside.set'):find('its samples, beside.fdt, are not there', 1, true))
    recordings.write(at 'beside.fdt', 'short')
    assert.truthy(message(mc.meeg.open,
      at 'beside.set'):find('it is too short: 4 channels of 160 samples need 2560 bytes, it has 5', 1, true))
    recordings.write(at 'x.set', ('MATLAB 7.3 MAT-file'):rep(40))
    assert.truthy(message(mc.meeg.open, at 'x.set'):find('one without HDF5 data in it is truncated', 1, true))
    recordings.write(at 'x.set', ('nothing of the kind '):rep(40))
    assert.truthy(message(mc.meeg.open, at 'x.set'):find('no MAT-file of version 5', 1, true))
    assert.truthy(message(mc.meeg.raw.open, at 'epochs.set'):find('holds epochs', 1, true))
  end)

  it('is usable until it is closed', function()
    local r = mc.meeg.raw.open(at 'plain.set')
    r:close()
    assert.truthy(message(r.read, r):find('was closed; open it again', 1, true))
  end)
end)

describe('a .set file of version 7.3', function()
  before_each(function()
    recordings.unpack(h, folder)
  end)

  it('gives recordings as MNE does, with samples within and beside it', function()
    for _, name in ipairs { 'whole.set', 'spread.set', 'beside.set' } do check_recording(h, name) end
  end)

  it('gives epochs as MNE does', function()
    check_epochs(h, 'epochs.set')
  end)

  it('is usable until it is closed, and says what is missing', function()
    local r = mc.meeg.raw.open(at 'whole.set')
    r:close()
    assert.truthy(message(r.read, r):find('was closed; open it again', 1, true))
    os.remove(at 'beside.fdt')
    assert.truthy(message(mc.meeg.open, at 'beside.set'):find('its samples, beside.fdt, are not there', 1, true))
  end)

  it('with fields of another kind is an error that names it', function()
    local fields = { nbchan = 2, trials = 1, pnts = 5, srate = 100, data = mc.arange(1, 10):reshape { 5, 2 } }
    local function refused(name, value, part)
      local eeg = {}
      for k, v in pairs(fields) do eeg[k] = v end
      eeg[name] = value
      mc.save(at 'x.h5', { EEG = eeg }, { attributes = { EEG = { MATLAB_class = 'struct' } } })
      os.rename(at 'x.h5', at 'x.set')
      local ok, e = pcall(mc.meeg.open, at 'x.set')
      if not part then return ok and e end
      assert.is_false(ok)
      assert.truthy(tostring(e):find(at 'x.set', 1, true) and tostring(e):find(part, 1, true), tostring(e))
    end
    assert.is_true(mc.allclose(mc.arange(1, 10):reshape { 5, 2 }.T * 1e-6, refused('pnts', 5):read()))
    refused('nbchan', 'two', 'EEG.nbchan is nil')
    refused('nbchan', { x = 1 }, 'EEG.nbchan is nil')
    refused('nbchan', 2.5, 'EEG.nbchan is 2.5')
    refused('data', { x = 1 }, 'EEG.data holds no numbers')
    refused('data', mc.ones { 3 }, 'EEG.data holds 3 numbers, 2 channels of 5 samples need 10')
    refused('srate', 0, 'EEG.srate is 0')
    refused('pnts', mc.ones { 0 }, 'EEG.pnts is nil')
  end)

  it('cut anywhere is an error that names it', function()
    for _, name in ipairs { 'whole.set', 'all.mat' } do
      recordings.damaged(h.bytes(name), 40, 0, function(bytes, what)
        local path = recordings.write(at(name), bytes)
        local ok, e = pcall(name == 'all.mat' and mc.load or mc.meeg.open, path)
        assert.is_false(ok, what)
        assert.truthy(tostring(e):find(path, 1, true), what .. ': ' .. tostring(e))
      end)
    end
  end)

  it('is a MAT-file like any other', function()
    local t = mc.load(at 'all.mat')
    assert.equal('aµ≤😀', t.text)
    assert.equal(2.5, t.number)
    assert.same({ { 1, 2, 3, 4, 5 } }, t.row:totable())
    assert.same({ { 0, 1, 2 }, { 3, 4, 5 } }, t.matrix:totable())
    assert.same({ { 1, 2 } }, t.small:totable())
    assert.same({ { 1, 0 } }, t.logical:totable())
    assert.is_true(mc.array_equal(mc.tensor { { mc.complex(1, 2), mc.complex(3, 0) } }, t.complex))
    assert.same({ 'a', 1, { 'b' } }, t.cell)
    assert.same({ x = 1, y = 'z' }, t.one)
    assert.equal(2, #t.many)
    assert.same({ 1, 'p', 'q' }, { t.many[1].a, t.many[1].b, t.many[2].b })
    assert.same({ 0, 0 }, { unpack(t.many[2].a.shape) })
    assert.same({ 0, 3 }, { unpack(t.empty.shape) })
    assert.is_true(mc.array_equal(mc.arange(0, 23):reshape { 2, 3, 4 }, t.cube))
    local f = mc.open(at 'all.mat')
    assert.same({ 'cell', 'complex', 'cube', 'empty', 'logical', 'many', 'matrix', 'number', 'one', 'row', 'small',
      'text' }, f.names)
    assert.same({ 'a', 'b' }, f:fields(f.variables.many))
    assert.equal('q', f:text(f:get(f.variables.many, 'b', 2)))
    assert.equal('b', f:text(f:child(f:child(f.variables.cell, 3), 1)))
    assert.is_nil(f:get(f.variables.one, 'nothing'))
    f:close()
    assert.truthy(message(f.number, f, 1):find('was closed', 1, true))
  end)
end)

describe('mc.load of a MAT-file', function()
  it('gives variables as Lua values', function()
    local t = mc.load(at 'packed.set', { format = 'mat' }).EEG
    assert.equal('\194\181', t.setname)
    assert.equal(100, t.srate)
    assert.same({ 4, 160 }, { unpack(t.data.shape) })
    assert.is_true(mc.array_equal(g.data 'packed.set', t.data * 1e-6))
    assert.equal(4, #t.chanlocs)
    assert.equal('E3', t.chanlocs[4].labels)
    assert.same({ 0, 0 }, { unpack(t.times.shape) })
    assert.equal('+X', t.chaninfo.nosedir)
  end)

  it('keeps the axes of larger arrays and reads cells', function()
    local t = mc.load(at 'epochs.set', { format = 'mat' }).EEG
    assert.same({ 4, 40, 4 }, { unpack(t.data.shape) })
    assert.is_true(mc.array_equal(g.data 'epochs.set', t.data:permute_dims { 3, 1, 2 } * 1e-6))
    assert.same({ 'square', 'rt' }, t.epoch[1].eventtype)
    assert.equal('square', t.epoch[2].eventtype)
  end)

  it('opens lazily', function()
    local f = mc.open(at 'spread.set', { format = 'mat' })
    assert.equal(160, f:number(f.variables.pnts))
    assert.equal(7, f:number(f:get(f.variables.event, 'type', 1)))
    assert.equal('square', f:text(f:get(f.variables.event, 'type', 2)))
    assert.is_nil(f:get(f.variables.event, 'nothing'))
    f:close()
    assert.truthy(message(f.number, f, 0):find('was closed', 1, true))
  end)
end)

describe('a damaged .set file', function()
  it('cut anywhere or with a changed byte is read or is an error that names it', function()
    for _, name in ipairs { 'packed.set', 'plain.set', 'epochs.set', 'spread.set' } do
      recordings.damaged(g.bytes(name), 30, 60, function(bytes, what)
        local path = recordings.write(at 'damaged.set', bytes)
        local ok, e = pcall(function()
          local r = mc.meeg.open(path)
          if mc.meeg.raw.is(r) then r:read { last = math.min(r.samples, 100) } else r:read { last = 1 } end
        end)
        if not ok then
          local text = tostring(e)
          assert.truthy(text:find('mat: ', 1, true) or text:find('meeg.open: ', 1, true)
            or text:find('memory', 1, true), what .. ': ' .. text)
        end
      end)
    end
  end)
end)
