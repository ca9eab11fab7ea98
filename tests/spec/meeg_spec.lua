-- meeg_spec.lua - channels, epochs, events, recordings in memory, arrays with side tables, filters: the objects of
-- mc.meeg without a format of their own.
--
-- Epochs cut by MNE-Python and signals filtered by it are goldens (make_meeg.py).
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local recordings = support.load 'recordings'
local tol = support.load 'tol'
local mc = require 'mascon'
local message = support.message

local folder
before_each(function() folder = recordings.folder() end)
after_each(function() recordings.remove(folder) end)

local function at(name) return folder .. '/' .. name end

--- Epoch e, channel c, sample t (from 1) is 100 e + 10 c + t.
local function epochs(o)
  o = o or {}
  local e, c, t = mc.arange(1, 5):reshape(5, 1, 1) * 100, mc.arange(1, 3):reshape(1, 3, 1) * 10,
    mc.arange(1, 8):reshape(1, 1, 8)
  return mc.meeg.epochs.new {
    data = e + c + t, fs = 100, tmin = -0.02, channels = { 'Fz', 'Cz', 'EOG' },
    types = { 'eeg', 'eeg', 'eog' }, bads = { 'Cz' }, events = { { 10, 0, 1 }, { 20, 0, 2 }, { 30, 0, 1 }, { 40, 0, 2 },
      { 50, 0, 1 } }, event_id = { left = 1, right = 2 }, selection = o.selection, drop_log = o.drop_log,
  }
end

--- A recording of two channels whose sample t (from 0) is t and -t, with annotations.
local function recording(o)
  o = o or {}
  local x = mc.arange(0, (o.n or 1000) - 1)
  return mc.meeg.raw.new { data = mc.stack { x, -x }, fs = 100, channels = { 'A', 'EOG' }, types = { 'eeg', 'eog' },
    annotations = o.annotations }
end

describe('mc.meeg.channels', function()
  local list = mc.meeg.channels.new({ 'MEG1', 'MEG2', 'Fz', 'Cz', 'STI' }, { 'mag', 'grad', 'eeg', 'eeg', 'stim' })

  it('picks by name, type, group and number, ascending, each once', function()
    local pick = mc.meeg.channels.pick
    assert.same({ 1, 2, 3, 4 }, pick(list))
    assert.same({ 1, 2 }, pick(list, 'meg'))
    assert.same({ 3, 4 }, pick(list, 'eeg'))
    assert.same({ 1, 2, 3, 4, 5 }, pick(list, 'all'))
    assert.same({ 2, 4 }, pick(list, { 'Cz', 'grad', 'Cz' }))
    assert.same({ 1, 5 }, pick(list, { -1, 1 }))
  end)

  it('leaves marked channels out of types but not when they are named', function()
    assert.same({ 3 }, mc.meeg.channels.pick(list, 'eeg', { 'Cz' }))
    assert.same({ 1, 2, 3 }, mc.meeg.channels.pick(list, nil, { 'Cz' }))
    assert.same({ 4 }, mc.meeg.channels.pick(list, 'Cz', { 'Cz' }))
  end)

  it('names the nearest when there is no such channel', function()
    assert.truthy(message(mc.meeg.channels.pick, list, 'Fzz'):find('did you mean "Fz"?', 1, true))
    assert.truthy(message(mc.meeg.channels.pick, list,
      'seeg'):find('no channel is of type seeg; there are mag, grad, eeg, stim', 1, true))
    assert.truthy(message(mc.meeg.channels.pick, list, 6):find('channel 6 is outside the 5', 1, true))
    assert.truthy(message(mc.meeg.channels.pick, list, 0):find('channel 0 is outside', 1, true))
    assert.truthy(message(mc.meeg.channels.pick, list, { true }):find('a channel is true', 1, true))
  end)

  it('checks names, types and positions', function()
    local new = mc.meeg.channels.new
    assert.truthy(message(new, {}):find('the list of channels is empty', 1, true))
    assert.truthy(message(new, { 'a', 'a' }):find('channels 1 and 2 are both called "a"', 1, true))
    assert.truthy(message(new, { 'a' }, 'eg'):find("type 'eg', which is not known (did you mean", 1, true))
    assert.truthy(message(new, { 'a', 'b' }, { 'eeg' }):find('1 types for 2 channels', 1, true))
    assert.truthy(message(new, { { name = 'a', position = { 1, 2 } } }):find('no list of three numbers', 1, true))
    assert.truthy(
      message(new, { 'a' }, nil, mc.zeros { 2, 3 }):find('positions are f64[2,3]@cpu; 1 channels need [1, 3]', 1, true))
    assert.truthy(message(new, { {} }):find('channel 1 has no name', 1, true))
  end)

  it('gives positions as a tensor, NaN where there is none', function()
    local some = mc.meeg.channels.new({ 'a', 'b' }, 'eeg', { { 1, 2, 3 }, { 0 / 0, 0, 0 } })
    assert.same({ 1, 2, 3 }, mc.meeg.channels.positions(some)[1]:totable())
    assert.is_true(mc.isnan(mc.meeg.channels.positions(some)[2]):all())
    assert.is_nil(some[2].position)
  end)

  it('knows the units of files', function()
    for unit, want in pairs { V = 1, ['µV'] = 1e-6, ['μV'] = 1e-6, ['\181V'] = 1e-6, nV = 1e-9, ['fT/cm'] = 1e-13,
      pT = 1e-12, ['°C'] = 1 } do
      assert.equal(want, mc.meeg.channels.unit(unit), unit)
    end
    assert.is_nil(mc.meeg.channels.unit 'apples')
  end)
end)

describe('mc.meeg.epochs.new', function()
  it('has the fields of an epochs object', function()
    local e = epochs()
    assert.equal(5, e:count())
    assert.equal(8, e.samples)
    assert.same({ 'Fz', 'Cz', 'EOG' }, e:names())
    assert.same({ 1, 2, 3, 4, 5 }, e.selection)
    assert.same({ {}, {}, {}, {}, {} }, e.drop_log)
    assert.same({ -0.02, -0.01, 0, 0.01, 0.02, 0.03, 0.04, 0.05 }, e:times():totable())
    assert.equal('5 epochs, 2 eeg, 1 eog, 8 samples from -0.02 to 0.05 s at 100 Hz', tostring(e))
    assert.is_true(mc.meeg.epochs.is(e))
    assert.truthy(message(function() return e.evnts end):find('did you mean "events"?', 1, true))
  end)

  it('invents events, names and ids where none are given', function()
    local e = mc.meeg.epochs.new { data = mc.zeros { 3, 2, 50 }, fs = 100 }
    assert.same({ { 0, 0, 1 }, { 50, 0, 1 }, { 100, 0, 1 } }, e.events:totable())
    assert.same({ ['1'] = 1 }, e.event_id)
    assert.same({ 'ch1', 'ch2' }, e:names())
  end)

  it('scales units and keeps f32', function()
    local e = mc.meeg.epochs.new { data = mc.ones({ 1, 1, 2 }, { dtype = 'f32' }), fs = 100, unit = 'uV' }
    assert.equal('f32', e.data.dtype)
    assert.near(1e-6, e.data['1, 1, 1']:item(), 1e-12)
    assert.equal('f64', mc.meeg.epochs.new { data = { { { 1, 2 } } }, fs = 1 }.data.dtype)
  end)

  it('checks what it is given', function()
    local function says(o, words)
      o.data, o.fs = o.data or mc.zeros { 2, 2, 4 }, o.fs ~= false and (o.fs or 100) or nil
      assert.truthy(message(mc.meeg.epochs.new, o):find(words, 1, true), words)
    end
    says({ data = mc.zeros { 2, 4 } }, 'data is f64[2,4]@cpu; epochs are [epochs, channels, samples]')
    says({ fs = false }, 'fs is missing')
    says({ channels = { 'a' } }, '1 channels for data of f64[2,2,4]@cpu')
    says({ events = { { 1, 0, 1 } } }, '2 epochs need [2, 3]')
    says({ bads = { 'x' } }, "bad channel 'x' is not among the channels")
    says({ selection = { 1 } }, 'selection has 1 numbers for 2 epochs')
    says({ selection = { 1, 1 } }, 'selection holds 1')
    says({ selection = { 1, 4 }, drop_log = { {}, {} } }, 'the drop log has 2 entries, epoch 4 is selected')
    says({ unit = 'apples' }, 'unit "apples" is not known')
    says({ event = {} }, 'did you mean "events"?')
    assert.truthy(message(mc.meeg.epochs.new, { fs = 1 }):find('data is missing', 1, true))
  end)
end)

describe('an epochs object', function()
  it('drops epochs by number or mask and logs why', function()
    local e = epochs()
    for _, what in ipairs { { 2, 5 }, { 2, -1 }, { false, true, false, false, true },
      mc.tensor { false, true, false, false, true } } do
      local d = e:drop(what, 'LOUD')
      assert.same({ 1, 3, 4 }, d.selection)
      assert.same({ {}, { 'LOUD' }, {}, {}, { 'LOUD' } }, d.drop_log)
      assert.same({ 10, 30, 40 }, d.events[':, 1']:totable())
      assert.equal(311, d.data['2, 1, 1']:item())
      local again = d:drop { 2 }
      assert.same({ 1, 4 }, again.selection)
      assert.same({ 'USER' }, again.drop_log[3])
    end
    assert.equal(5, e:count())
    assert.same({ {}, {}, {}, {}, {} }, e.drop_log)
    assert.equal(0, e:drop({ 1, 2, 3, 4, 5 }):count())
    assert.truthy(message(e.drop, e, { 6 }):find('epoch 6 is outside the 5', 1, true))
    assert.truthy(message(e.drop, e, { true }):find('the mask has 1 places for 5 epochs', 1, true))
    assert.truthy(message(e.drop, e, 'all'):find("'all'; give epoch numbers or a mask", 1, true))
  end)

  it('picks channels and forgets marks of those that are gone', function()
    local e = epochs()
    assert.same({ 'Fz' }, e:pick('eeg'):names())
    assert.same({}, e:pick('eeg').bads)
    local p = e:pick { 'EOG', 'Cz' }
    assert.same({ 'Cz', 'EOG' }, p:names())
    assert.same({ 'Cz' }, p.bads)
    assert.equal(121, p.data['1, 1, 1']:item())
    assert.same({ 1, 3 }, e:picks { 'eeg', 'eog' })
    assert.same({ 1, 2 }, e:picks('eeg', { exclude_bads = false }))
    assert.truthy(message(e.pick, e, 'Fc'):find('did you mean "Fz"?', 1, true))
  end)

  it('copies so that nothing is shared', function()
    local e = epochs()
    local c = e:copy()
    c.data[1], c.events['1, 1'], c.channels[1].name, c.drop_log[1][1] = 0, 7, 'other', 'X'
    assert.equal(111, e.data['1, 1, 1']:item())
    assert.equal(10, e.events['1, 1']:item())
    assert.equal('Fz', e.channels[1].name)
    assert.same({}, e.drop_log[1])
  end)

  it('gives the same samples in blocks of any size', function()
    local e = epochs()
    for _, size in ipairs { 1, 2, 3, 5, 9 } do
      local parts, firsts = {}, {}
      for x, first in e:blocks { size = size, channels = { 1, 3 } } do
        parts[#parts + 1], firsts[#firsts + 1] = x, first
      end
      assert.is_true(mc.array_equal(mc.take(e.data, mc.tensor({ 1, 3 }, { dtype = 'i64' }), 2), mc.concat(parts)))
      assert.equal(1 + size * (#parts - 1), firsts[#firsts])
    end
    assert.is_true(mc.array_equal(e.data['4:5'], e:read { epochs = { 4, 5 } }))
    assert.same({ 0, 3, 8 }, { unpack(e:read({ epochs = {} }).shape) })
    assert.truthy(message(e.read, e, { epochs = { 0 } }):find('epoch 0 is outside', 1, true))
  end)

  it('drops epochs that are too loud or too flat in channels that are not marked', function()
    local e = mc.meeg.epochs.new { data = mc.zeros { 4, 3, 10 }, fs = 100, channels = { 'a', 'b', 'v' },
      types = { 'eeg', 'eeg', 'eog' } }
    e.data['1, 1, 1'], e.data['1, 2, 1'], e.data['1, 3, 1'] = 5, 5, 5
    e.data['2, 1, 1'], e.data['2, 2, 3'], e.data['2, 3, 1'] = 5, 11, 5
    e.data['3, 1, 1'], e.data['3, 2, 1'], e.data['3, 3, 1'] = 12, 5, 25
    e.data['4, 1, 1'], e.data['4, 2, 1'] = 10, 5
    local d = e:drop_bad { reject = { eeg = 10, eog = 20 }, flat = { eeg = 1 } }
    assert.same({ {}, { 'b' }, { 'a', 'v' }, {} }, d.drop_log)
    assert.same({ 1, 4 }, d.selection)
    assert.same({ {}, {}, {}, { 'v' } }, e:drop_bad({ flat = { eog = 1 } }).drop_log)
    e.bads = { 'b', 'v' }
    assert.same({ {}, {}, { 'a' }, {} }, e:drop_bad({ reject = { eeg = 10, eog = 20 } }).drop_log)
    assert.truthy(
      message(e.drop_bad, e, { reject = { egg = 1 } }):find('egg = 1 is no limit of a type of channel', 1, true))
  end)
end)

describe('mc.meeg.raw', function()
  it('reads spans by seconds and by samples', function()
    local r = recording()
    assert.equal(10, r.duration)
    assert.same({ 2, 1000 }, { unpack(r:read().shape) })
    assert.same({ { 50, 51 } }, r:read({ channels = 'A', from = 0.5, to = 0.52 }):totable())
    assert.same({ { 998, 999 }, { -998, -999 } }, r:read({ first = -2 }):totable())
    assert.same({ { -3, -4 } }, r:pick('EOG'):read({ first = 4, last = 5 }):totable())
    assert.equal('f32', r:read({ dtype = 'f32' }).dtype)
    assert.truthy(message(r.read, r, { from = 1, last = 5 }):find('both seconds', 1, true))
    assert.truthy(message(r.read, r, { to = 11 }):find('which runs from 0 to 10 s', 1, true))
    assert.truthy(message(r.read, r, { first = 1002 }):find('which has 1000', 1, true))
    assert.truthy(message(function() return r.sampels end):find('did you mean "samples"?', 1, true))
  end)

  it('gives the same samples in blocks of any size and overlap', function()
    local r, whole = recording { n = 103 }, recording({ n = 103 }):read()
    for _, size in ipairs { 1, 10, 50, 103, 200 } do
      local parts = {}
      for x in r:blocks { size = size } do parts[#parts + 1] = x end
      assert.is_true(mc.array_equal(whole, mc.concat(parts, 2)))
    end
    local firsts = {}
    for _, first in r:blocks { size = 50, overlap = 10 } do firsts[#firsts + 1] = first end
    assert.same({ 1, 41, 81 }, firsts)
    assert.truthy(message(r.blocks, r, { size = 5, overlap = 5 }):find('overlap is 5 samples, a block has 5', 1, true))
  end)

  it('checks what it is made of', function()
    assert.truthy(
      message(mc.meeg.raw.new, { data = mc.zeros { 3 }, fs = 1 }):find('a recording is [channels, samples]', 1, true))
    assert.truthy(message(mc.meeg.raw.new, { data = mc.zeros { 3, 2 } }):find('fs is missing', 1, true))
    assert.truthy(message(mc.meeg.raw.open, 'x.xyz'):find('has the extension "xyz"', 1, true))
    assert.truthy(message(mc.meeg.raw.open, 'x.edff'):find('did you mean "edf"?', 1, true))
  end)
end)

describe('mc.meeg.events', function()
  it('finds rises of a trigger channel, across blocks', function()
    local x = mc.zeros { 1, 100 }
    for _, s in ipairs { { 11, 15, 3 }, { 21, 25, 5 }, { 26, 30, 6 }, { 31, 40, 2 }, { 99, 100, 1 } } do
      x[{ { 1, 1 }, { s[1], s[2] } }] = s[3]
    end
    local r = mc.meeg.raw.new { data = x, fs = 100, channels = { 'STI' }, types = 'stim' }
    local find = mc.meeg.events.find
    assert.same({ { 10, 0, 3 }, { 20, 0, 5 }, { 25, 5, 6 }, { 98, 0, 1 } }, find(r):totable())
    assert.same({ { 10, 0, 3 }, { 20, 0, 5 }, { 25, 5, 6 }, { 30, 6, 2 }, { 98, 0, 1 } },
      find(r, { consecutive = true }):totable())
    assert.same({ { 10, 0, 3 }, { 20, 0, 5 }, { 98, 0, 1 } }, find(r, { consecutive = false }):totable())
    assert.same({ { 10, 0, 1 }, { 20, 0, 1 }, { 98, 0, 1 } }, find(r, { mask = 1 }):totable())
    local _, ids = find(r, { mask = 1 })
    assert.same({ ['1'] = 1 }, ids)
    r.first_sample = 1000
    assert.equal(1010, find(r)['1, 1']:item())
    x['1, 1:3'] = 4
    assert.same({ 1000, 0, 4 }, find(r, { initial = true })[1]:totable())
    assert.truthy(message(find, recording()):find('no channel is of type stim', 1, true))
  end)

  it('come from a filtered recording inside any scopes', function()
    local raw = mc.meeg.raw.new { data = mc.randn { 4, 40000, seed = 1 }, fs = 100,
      channels = { 'a', 'b', 'c', 'd' }, types = 'eeg' }
    local seen = raw:filter { highpass = 1 }
    local e =
      mc.meeg.epochs.cut(seen, { events = { { 20, 0, 1 }, { 100, 0, 1 }, { 30000, 0, 1 } }, tmin = 0, tmax = 0.5 })
    local parts = {}
    mc.scope(function()
      mc.scope(function() parts[1] = e:read { first = 1, last = 2 }:totable() end)
      mc.scope(function() parts[2] = e:read { first = 1, last = 2 }:totable() end)
    end)
    parts[3] = e:read { first = 1, last = 2 }:totable()
    assert.same(parts[1], parts[2])
    assert.same(parts[1], parts[3])
    assert.same(parts[1][1], seen:read { first = 21, last = 71 }:totable())
  end)

  it('takes the sum of the trigger lines where a system has one', function()
    local x = mc.zeros { 3, 50 }
    x['1, 11:15'], x['2, 21:25'] = 5, 5
    x['3, 11:15'], x['3, 21:25'] = 1, 2
    for _, sum in ipairs { 'STI101', 'STI 014' } do
      local r = mc.meeg.raw.new { data = x, fs = 100, channels = { 'STI 001', 'STI 002', sum }, types = 'stim' }
      assert.same({ { 10, 0, 1 }, { 20, 0, 2 } }, mc.meeg.events.find(r):totable())
      assert.same({ { 10, 0, 5 } }, mc.meeg.events.find(r, { channel = 'STI 001' }):totable())
    end
  end)

  it('takes triggers where annotations only mark bad stretches', function()
    local x = mc.zeros { 2, 100 }
    x['2, 31:35'] = 7
    local r = mc.meeg.raw.new { data = x, fs = 100, channels = { 'Cz', 'STI' }, types = { 'eeg', 'stim' },
      annotations = { { onset = 0, duration = 0.1, text = 'BAD_move' } } }
    local list, ids = mc.meeg.events.of(r)
    assert.same({ { 30, 0, 7 } }, list:totable())
    assert.same({ ['7'] = 7 }, ids)
    for _, id in ipairs { { go = 7 }, { 7 } } do
      assert.equal(1, mc.meeg.epochs.cut(r, { event_id = id, tmin = 0, tmax = 0.1 }):count())
    end
    assert.equal(1, mc.meeg.epochs.cut(r, { tmin = 0, tmax = 0.1 }):count())
    table.insert(r.annotations, { onset = 0.5, duration = 0, text = 'go' })
    assert.same({ { 50, 0, 1 } }, mc.meeg.events.of(r):totable())
    assert.truthy(message(mc.meeg.epochs.cut, r:pick 'Cz',
      { events = 'stop' }):find('no annotation of it tells of an event "stop"', 1, true))
    r.annotations = {}
    assert.truthy(
      message(mc.meeg.epochs.cut, r:pick 'Cz', {}):find('no annotation or trigger of it tells of an event', 1, true))
  end)

  it('makes events of annotations, but not of bad stretches', function()
    local r = recording { annotations = {
      { onset = 2.004, duration = 0, text = 'b' }, { onset = 1, duration = 1, text = 'bad blink' },
      { onset = 0.5, duration = 0, text = 'a' }, { onset = 3, duration = 0, text = 'a' },
      { onset = 0, duration = 0, text = 'EDGE boundary' },
    } }
    local events, ids = mc.meeg.events.from_annotations(r)
    assert.same({ { 50, 0, 1 }, { 200, 0, 2 }, { 300, 0, 1 } }, events:totable())
    assert.same({ a = 1, b = 2 }, ids)
    assert.same({ { 200, 0, 9 } }, mc.meeg.events.from_annotations(r, { event_id = { b = 9 } }):totable())
    assert.same({ { 50, 0, 1 }, { 300, 0, 1 } }, mc.meeg.events.from_annotations(r, { match = '^a' }):totable())
    assert.same({ 0, 3 }, { unpack(mc.meeg.events.from_annotations(r, { match = 'none' }).shape) })
  end)

  it('reads tables and lists of numbers', function()
    recordings.write(at 'a.csv', 'sample,previous,id\n5,0,1\n9,1,2\n')
    recordings.write(at 'b.csv', 'id,time,sample\n1,0.5,5\n2,0.9,9\n')
    recordings.write(at 'c.eve', '# comment\n5 0.05 0 1\n9 0.09 1 2\n')
    recordings.write(at 'd.txt', '5 0 1\r\n9 1 2\r\n')
    mc.save(at 'e.npy', mc.tensor({ { 5, 0, 1 }, { 9, 1, 2 } }, { dtype = 'i64' }))
    for _, name in ipairs { 'a.csv', 'c.eve', 'd.txt', 'e.npy' } do
      local events, ids = mc.meeg.events.read(at(name))
      assert.same({ { 5, 0, 1 }, { 9, 1, 2 } }, events:totable())
      assert.equal('i64', events.dtype)
      assert.same({ ['1'] = 1, ['2'] = 2 }, ids)
    end
    assert.same({ { 5, 0, 1 }, { 9, 0, 2 } }, mc.meeg.events.read(at 'b.csv'):totable())
    recordings.write(at 'x.txt', '5 0 1\n9 one 2\n')
    assert.truthy(message(mc.meeg.events.read, at 'x.txt'):find('x.txt:2: "one" is no number', 1, true))
    recordings.write(at 'x.txt', '5 0\n')
    assert.truthy(message(mc.meeg.events.read, at 'x.txt'):find('x.txt:1 has 2 columns', 1, true))
    assert.truthy(message(mc.meeg.events.read, at 'x.doc'):find('has the extension "doc"', 1, true))
  end)

  it('lays a grid of equal distances', function()
    local r = recording()
    assert.same({ 0, 300, 600 }, mc.meeg.events.fixed(r, { duration = 3 })[':, 1']:totable())
    assert.same({ 100, 200, 300 },
      mc.meeg.events.fixed(r, { duration = 2, overlap = 1, start = 1, stop = 5 })[':, 1']:totable())
    assert.truthy(
      message(mc.meeg.events.fixed, r, { duration = 1, overlap = 1 }):find('overlap is not shorter', 1, true))
  end)

  it('rounds halves to the even sample', function()
    assert.same({ 0, 2, 2, -2, -2, 3 }, { mc.meeg.events.round(0.5), mc.meeg.events.round(1.5),
      mc.meeg.events.round(2.5), mc.meeg.events.round(-1.5), mc.meeg.events.round(-2.5), mc.meeg.events.round(2.6) })
  end)
end)

describe('mc.meeg.epochs.cut', function()
  it('takes the samples from event + tmin to event + tmax, both included', function()
    local e = mc.meeg.epochs.cut(recording(), { events = { { 100, 0, 1 }, { 500, 0, 2 } }, tmin = -0.02, tmax = 0.01 })
    assert.same({ { { 98, 99, 100, 101 }, { -98, -99, -100, -101 } },
      { { 498, 499, 500, 501 }, { -498, -499, -500, -501 } } }, e.data:totable())
    assert.equal(-0.02, e.tmin)
    assert.same({ ['1'] = 1, ['2'] = 2 }, e.event_id)
  end)

  it('logs why an event gives no epoch', function()
    local r = recording { annotations = { { onset = 3, duration = 0.5, text = 'Bad: cough' },
      { onset = 4, duration = 0.5, text = 'good' } } }
    local events = { { 5, 0, 1 }, { 100, 0, 3 }, { 200, 0, 1 }, { 289, 0, 1 }, { 290, 0, 1 }, { 360, 0, 1 },
      { 361, 0, 1 }, { 420, 0, 1 }, { 989, 0, 1 }, { 990, 0, 1 } }
    local e = mc.meeg.epochs.cut(r, { events = events, event_id = { a = 1 }, tmin = -0.1, tmax = 0.1 })
    assert.same({ { 'NO_DATA' }, { 'IGNORED' }, {}, {}, { 'Bad: cough' }, {}, {}, {}, {}, { 'TOO_SHORT' } }, e.drop_log)
    assert.same({ 3, 4, 6, 7, 8, 9 }, e.selection)
    assert.same({ {}, {}, {}, {} }, { unpack(mc.meeg.epochs.cut(r,
      { events = events, event_id = { 1 }, tmin = -0.1, tmax = 0.1, reject_by_annotation = false }).drop_log, 3, 6) })
  end)

  it('counts events as the file of the recording does', function()
    local r = recording()
    r.first_sample = 5000
    assert.same({ { { 100 }, { -100 } } },
      mc.meeg.epochs.cut(r, { events = { { 5100, 0, 1 } }, tmin = 0, tmax = 0 }).data:totable())
  end)

  it('takes off the baseline and the trend of channels that have an offset', function()
    local x = mc.arange(0, 99)
    local r = mc.meeg.raw.new { data = mc.stack { x * 2, x * 2, x * 2 }, fs = 100, channels = { 'a', 'v', 's' },
      types = { 'eeg', 'eog', 'stim' } }
    local e =
      mc.meeg.epochs.cut(r, { events = { { 50, 0, 1 } }, tmin = -0.02, tmax = 0.02, baseline = { -math.huge, 0 } })
    assert.same({ { -2, 0, 2, 4, 6 }, { -2, 0, 2, 4, 6 }, { 96, 98, 100, 102, 104 } }, e.data[1]:totable())
    assert.same({ -0.02, 0 }, e.baseline)
    e = mc.meeg.epochs.cut(r, { events = { { 50, 0, 1 } }, tmin = -0.02, tmax = 0.02, detrend = 'constant' })
    assert.same({ { -4, -2, 0, 2, 4 }, { 96, 98, 100, 102, 104 }, { 96, 98, 100, 102, 104 } }, e.data[1]:totable())
    assert.near(0, mc.meeg.epochs.cut(r, { events = { { 50, 0, 1 } }, tmin = -0.02, tmax = 0.02,
      detrend = 'linear' }).data['1, 1']:abs():max():item(), 1e-12)
  end)

  it('cuts the epochs that MNE cuts', function()
    local g = recordings.golden(support, 'meeg_epochs')
    recordings.unpack(g, folder)
    local r, want = mc.meeg.raw.open(at 'source_raw.fif'), g.files.cut
    local events = mc.meeg.events.find(r)
    assert.same(g.about.events, events:totable())
    local e = mc.meeg.epochs.cut(r, { events = events, event_id = { a = 1, c = 3 }, tmin = -0.05, tmax = 0.1,
      baseline = { -0.03, 0 }, detrend = 'linear', reject = { eog = 9.6e-4 }, flat = { mag = 1e-14 }, proj = false })
    local log, reasons = {}, {}
    for i, l in ipairs(want.drop_log) do
      log[i] = { unpack(l) }
      for _, reason in ipairs(l) do reasons[reason] = true end
    end
    assert.same(log, e.drop_log)
    assert.is_true(reasons.IGNORED and reasons['EOG 061'], 'the golden drops epochs for two reasons')
    assert.same(want.events, e.events:totable())
    local x, y = g.data 'cut', e.data
    assert.same({ unpack(x.shape) }, { unpack(y.shape) })
    for c = 1, 6 do -- a line through 31 samples and a mean of 7, both sums of terms of the size of the channel
      local scale = x[{ mc.all, c }]:abs():max():item()
      local a, b = x[{ mc.all, c }]:contiguous():reshape(-1):totable(),
        y[{ mc.all, c }]:contiguous():reshape(-1):totable()
      for i = 1, #a do assert.is_nil(tol.compare('ACCUM', 'f64', b[i], a[i], { n = 31, scale = 31 * scale })) end
    end
  end)

  it('reads the recording as epochs are asked for', function()
    local reads, r = 0, recording()
    local from = r._fetch
    r._fetch = function(...)
      reads = reads + 1
      return from(...)
    end
    local e = mc.meeg.epochs.cut(r, { events = mc.meeg.events.fixed(r, { duration = 1 }), tmin = 0, tmax = 0.99 })
    assert.equal(0, reads)
    e:read { first = 3, last = 4, channels = 'A' }
    assert.equal(2, reads)
    assert.equal(400, e:drop({ 1 }):pick('eeg'):read({ first = 4, last = 4 })['1, 1, 1']:item())
    assert.equal(10, e:load():count())
  end)

  it('checks what it is given', function()
    local r = recording { annotations = { { onset = 1, duration = 0, text = 'a' } } }
    local function says(o, words) assert.truthy(message(mc.meeg.epochs.cut, r, o):find(words, 1, true), words) end
    says({ events = { { 1, 0, 1 } }, event_id = { x = 2 } }, 'no event has the id 2 ("x")')
    says({ events = { { 1, 0, 1 } }, tmin = 1, tmax = 0.5 }, 'hold no sample')
    says({ events = { { 100, 0, 1 }, { 100, 0, 1 } } }, 'events 1 and 2 are both at sample 100; give repeated = "drop"')
    says({ events = { { 100, 0 } } }, 'event 1 is no { sample, value before, id }')
    says({ events = mc.zeros { 3 } }, 'events are f64[3]@cpu; give [n, 3]')
    says({ events = 'zebra' }, 'no annotation of it tells of an event "zebra"')
    says({ baseline = { 3, 4 } }, 'no sample lies in the baseline from 3 to 4 s')
    says({ baseline = { 1, 0 } }, 'from may not be later than to')
    assert.same({ {}, { 'DROP DUPLICATE' } },
      mc.meeg.epochs.cut(r, { events = { { 100, 0, 1 }, { 100, 0, 1 } }, repeated = 'drop' }).drop_log)
    assert.same({ a = 1 }, mc.meeg.epochs.cut(r, {}).event_id)
    assert.truthy(message(mc.meeg.epochs.cut, {}, {}):find('give a recording opened by mc.meeg.raw.open', 1, true))
  end)
end)

describe('raw:filter', function()
  local g = recordings.golden(support, 'meeg_recording')
  local function source(annotations)
    return mc.meeg.raw.new { data = g.data 'unfiltered', fs = 100, channels = { 'a', 'b' }, annotations = annotations }
  end
  local EDGES = { high = { highpass = 1 }, low = { lowpass = 30 }, band = { highpass = 0.5, lowpass = 20 } }

  it('agrees with MNE', function()
    for name, edges in pairs(EDGES) do
      local want, got = g.data(name), source():filter(edges):read()
      local scale = mc.sqrt(mc.square(g.data 'unfiltered'):sum(2)):max():item()
      local a, b = want:reshape(-1):totable(), got:reshape(-1):totable()
      for i = 1, #a do assert.is_nil(tol.compare('FFT', 'f64', b[i], a[i], { n = 16384, scale = scale })) end
    end
  end)

  it('gives a sample the same bits whatever stretch is asked for', function()
    local x = mc.randn { 2, 40000, seed = 1 }
    local f = mc.meeg.raw.new { data = x, fs = 100, channels = { 'a', 'b' } }:filter { highpass = 1 }
    local whole = f:read()
    for _, span in ipairs { { 1, 1 }, { 16000, 16800 }, { 15500, 33000 }, { 39990, 40000 } } do
      local again = mc.meeg.raw.new { data = x, fs = 100, channels = { 'a', 'b' } }:filter { highpass = 1 }
      assert.is_true(mc.array_equal(whole[{ { 1, 2 }, span }], again:read { first = span[1], last = span[2] }))
    end
  end)

  it('filters stretches apart where the recording is interrupted, and leaves skips alone', function()
    local joint = source { { onset = 4, duration = 0, text = 'BAD boundary' } }:filter { highpass = 1 }
    local x = g.data 'unfiltered'
    local function alone(a, b)
      return mc.meeg.raw.new({ data = x[{ { 1, 2 }, { a, b } }]:contiguous(), fs = 100, channels = { 'a', 'b' } })
        :filter({ highpass = 1 }):read()
    end
    assert.is_true(mc.array_equal(mc.concat({ alone(1, 400), alone(401, 900) }, 2), joint:read()))
    local skip = source { { onset = 4, duration = 1, text = 'BAD_ACQ_SKIP' } }:filter { highpass = 1 }
    assert.is_true(mc.array_equal(mc.concat({ alone(1, 400), x[':, 401:500'], alone(501, 900) }, 2), skip:read()))
  end)

  it('filters data channels only, in any order of picks', function()
    local x = g.data 'unfiltered'
    local r = mc.meeg.raw.new { data = mc.concat { x, x }, fs = 100, channels = { 'a', 'v', 'b', 's' },
      types = { 'eeg', 'eog', 'eeg', 'stim' } }
    local f = r:filter { highpass = 1 }
    local whole = f:read()
    assert.is_true(mc.array_equal(whole['2'], x['2']))
    assert.is_true(mc.array_equal(whole['4'], x['2']))
    assert.is_false(mc.array_equal(whole['1'], x['1']))
    assert.is_true(mc.array_equal(whole['2:4'], f:read { channels = { 2, 3, 4 } }))
    assert.equal(1, f.info.highpass)
    assert.is_true(mc.array_equal(whole['1'], r:filter({ highpass = 1, channels = 'all' }):read()['1']))
  end)

  it('checks its edges', function()
    local r = source()
    assert.truthy(message(r.filter, r, {}):find('give highpass, lowpass or both', 1, true))
    assert.truthy(message(r.filter, r, { lowpass = 50 }):find('at or above half the sampling rate, 50 Hz', 1, true))
    assert.truthy(
      message(r.filter, r, { highpass = 20, lowpass = 10 }):find('highpass 20 Hz is not below lowpass 10 Hz', 1, true))
    assert.truthy(message(r.filter, r, { highpas = 20 }):find('did you mean "highpass"?', 1, true))
  end)
end)

describe('arrays with a side table', function()
  it('are recordings or epochs', function()
    mc.save(at 'a.npy', mc.arange(1, 20):reshape(2, 10))
    recordings.write(at 'a.csv', 'Name,type,x,y,z,unit,bad\nFz,eeg,0.1,0.2,0.3,uV,0\nEOG1,eog,,,,mV,1\n')
    local r = mc.meeg.open(at 'a.npy', { fs = 100 })
    assert.is_true(mc.meeg.raw.is(r))
    assert.same({ 'EOG1' }, r.bads)
    assert.same({ 0.1, 0.2, 0.3 }, r.channels[1].position)
    assert.is_nil(r.channels[2].position)
    assert.equal(3 * 1e-6, r:read()['1, 3']:item())
    assert.equal(13 * 1e-3, r:read()['2, 3']:item())
    mc.save(at 'b.npz', { data = mc.arange(1, 12):reshape(2, 2, 3), fs = 50, tmin = -0.02,
      events = mc.tensor { { 5, 0, 7 }, { 9, 0, 8 } } })
    recordings.write(at 'b.json', '{"channels": [{"name": "a"}, {"name": "b", "type": "EOG", "x": 1, "y": 2, "z": 3}], '
      .. '"event_id": {"yes": 7, "no": 8}, "bads": ["a"]}')
    local e = mc.meeg.epochs.open(at 'b.npz')
    assert.equal(50, e.fs)
    assert.same({ yes = 7, no = 8 }, e.event_id)
    assert.same({ { 5, 0, 7 }, { 9, 0, 8 } }, e.events:totable())
    assert.equal('eog', e.channels[2].type)
    assert.same({ { { 10, 11, 12 } } }, e:read({ first = 2, last = 2, channels = 'b' }):totable())
  end)

  it('say what does not fit', function()
    mc.save(at 'a.npy', mc.zeros { 2, 10 })
    local function says(o, words) assert.truthy(message(mc.meeg.open, at 'a.npy', o):find(words, 1, true), words) end
    says({}, 'does not tell its sampling rate; give fs in Hz')
    says({ fs = 1, table = { { name = 'a' } } }, 'has 2 channels, its table option table names 1')
    says({ fs = 1, table = { { name = 'a' }, { type = 'eeg' } } }, 'channel 2 has no name')
    says({ fs = 1, table = { { name = 'a', unit = 'apples' }, { name = 'b' } } },
      'the unit "apples" of channel a is not known')
    says({ fs = 1, types = { x = 'eeg' } }, 'option types names the channel "x"')
    recordings.write(at 'a.csv', 'what,ever\n1,2\n3,4\n')
    says({ fs = 1 }, 'none of the columns name, type')
    recordings.write(at 'a.csv', 'name,x,y,z\na,1,2,3\nb,here,2,3\n')
    says({ fs = 1 }, "row 2: x is 'here'; it must be a number")
    os.remove(at 'a.csv')
    for text, words in pairs {
      ['{"fs": "fast"}'] = "fs is 'fast'; it must be a number",
      ['{"fs": 1, "bads": ["x"]}'] = "bad channel 'x' is not among",
      ['{"channels": 5}'] = 'channels is 5; it must be a table',
      ['{"event_id": {"a": "b"}}'] = "event_id a is 'b'", ['{'] = 'a.json: ', ['7'] = 'no table of channels',
    } do
      recordings.write(at 'a.json', text)
      mc.save(at 'a.npy', mc.zeros { 1, 2, 10 })
      says(text:find '"fs": 1' and {} or { fs = 1 }, words)
    end
    os.remove(at 'a.json')
    mc.save(at 'a.npy', mc.zeros { 10 })
    says({ fs = 1 }, 'a recording is [channels, samples]')
    assert.truthy(message(mc.meeg.open, at 'none.npy', { fs = 1 }):find('No such file', 1, true))
  end)

  it('keep epochs through saving and opening', function()
    local e = epochs():drop({ 2 }, 'LOUD')
    for _, name in ipairs { 'a.npy', 'b.npz' } do
      e:save(at(name))
      local b = mc.meeg.epochs.open(at(name))
      assert.is_true(mc.array_equal(e.data, b.data))
      assert.same(e.events:totable(), b.events:totable())
      assert.same({ e.selection, e.drop_log, e.bads, e.event_id, e.tmin, e:names() },
        { b.selection, b.drop_log, b.bads, b.event_id, b.tmin, b:names() })
    end
    assert.equal('a.json a.npy b.json b.npz', recordings.listing(folder))
    assert.truthy(message(e.save, e, at 'a.npz'):find('a.json is there; choose another name', 1, true))
    assert.equal('a.json a.npy b.json b.npz', recordings.listing(folder))
    assert.truthy(message(e.save, e, at 'x.mat'):find('give .fif, .npy or .npz', 1, true))
  end)
end)
