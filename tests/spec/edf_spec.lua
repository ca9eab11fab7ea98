-- edf_spec.lua - recordings: channels, slices, gaps, events, epochs, and what a damaged file does.
--
-- Small EDF and BDF files are built here byte by byte, so that each expected value is seen in the test. Real recordings
-- stand outside the repository (../shared/data); their values were computed from the bytes of the files by the formula
-- of the EDF specification (1992): physical = (digital - digital minimum) * (physical range) / (digital range) +
-- physical minimum.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local message = support.message

local folder

before_each(function()
  folder = os.tmpname()
  os.remove(folder)
  assert(os.execute('mkdir ' .. folder) == 0)
end)
after_each(function()
  collectgarbage()
  os.execute('rm -rf ' .. folder)
end)

local function write(name, bytes)
  local path = folder .. '/' .. name
  local f = assert(io.open(path, 'wb'))
  f:write(bytes)
  f:close()
  return path
end

local function field(v, n)
  local s = tostring(v)
  assert(#s <= n, s)
  return s .. (' '):rep(n - #s)
end

local function sample(v, bytes)
  v = v % 2 ^ (8 * bytes)
  local out = {}
  for i = 1, bytes do
    out[i] = string.char(v % 256)
    v = math.floor(v / 256)
  end
  return table.concat(out)
end

--- Bytes of a recording. signals: { label, unit, pmin, pmax, dmin, dmax, per (samples per record), at = function(i)
--- digital value of sample i (0-based) }; one with `raw` has the bytes of record r from raw(r); one with `notes` holds
--- annotation lists, one text per record.
local function edf(o)
  local bytes = o.bdf and 3 or 2
  local n, records = #o.signals, o.records
  local out = {
    o.bdf and '\255BIOSEMI' or field('0', 8), field('patient', 80), field('somewhere', 80), '02.01.03', '04.05.06',
    field(256 * (n + 1), 8),
    field(o.reserved or '', 44), field(o.promised or records, 8), field(o.seconds or 1, 8), field(n, 4),
  }
  local function each(width, get)
    for _, s in ipairs(o.signals) do out[#out + 1] = field(get(s), width) end
  end
  each(16, function(s) return s.label or 'EDF Annotations' end)
  each(80, function(s) return s.transducer or '' end)
  each(8, function(s) return s.unit or '' end)
  each(8, function(s) return s.pmin or -1 end)
  each(8, function(s) return s.pmax or 1 end)
  each(8, function(s) return s.dmin or -32768 end)
  each(8, function(s) return s.dmax or 32767 end)
  each(80, function(s) return s.filter or '' end)
  each(8, function(s) return s.per end)
  each(32, function() return '' end)
  for r = 0, records - 1 do
    for _, s in ipairs(o.signals) do
      if s.notes then
        local text = s.notes[r + 1]
        out[#out + 1] = text .. ('\0'):rep(bytes * s.per - #text)
      elseif s.raw then
        out[#out + 1] = s.raw(r)
      else
        for i = 0, s.per - 1 do out[#out + 1] = sample(s.at(r * s.per + i), bytes) end
      end
    end
  end
  return table.concat(out)
end

-- physical value = digital / 2
local function ramp(label, per, offset)
  return { label = label, unit = 'uV', pmin = -500, pmax = 500, dmin = -1000, dmax = 1000, per = per,
    at = function(i) return i + (offset or 0) end }
end

local function plain(records)
  return edf { records = records or 5,
    signals = { ramp('EEG Fp1', 10), ramp('EEG Fp2', 10, 100), ramp('EOG', 10, -200) } }
end

--- EDF+D: two records from 0 s, then two from 5 s, at 4 Hz, with three annotations.
local function broken()
  return edf {
    records = 4, reserved = 'EDF+D', signals = {
      ramp('A', 4),
      { per = 30, notes = { '+0\20\20\0+0.5\0210.25\20stim one\20\0', '+1\20\20\0+1.5\20stim two\20\0',
        '+5\20\20\0+6.25\20rest\20\0', '+6\20\20\0' } },
    },
  }
end

describe('mc.open of a recording', function()
  it('tells the channels with their units, rates and ranges', function()
    local r = mc.open(write('a.edf', plain()))
    assert.equal(3, #r.channels)
    assert.same({
      index = 2, label = 'EEG Fp2', unit = 'uV', transducer = '', prefilter = '', fs = 10,
      samples = 50, per_record = 10, physical = { min = -500, max = 500 }, digital = { min = -1000, max = 1000 },
    }, r.channels[2])
    assert.equal(10, r.fs)
    assert.equal(5, r.duration)
    assert.equal('EDF', r.format)
    assert.equal('patient', r.patient)
    assert.equal('2003-01-02T04:05:06', tostring(r.start))
    assert.same({}, r.annotations)
    assert.same({}, r.gaps)
    assert.same({}, r.warnings)
    assert.truthy(tostring(r):find('3 channels (3 at 10 Hz), 5 s', 1, true))
  end)

  it('knows the format from the option when the name does not tell', function()
    local path = write('recording.rec', plain())
    assert.equal(3, #mc.open(path, { format = 'edf' }).channels)
    assert.truthy(message(mc.open, path):find('extension "rec"', 1, true))
  end)

  it('names a field that is not there', function()
    local r = mc.open(write('a.edf', plain()))
    assert.truthy(message(function() return r.anotations end):find('did you mean "annotations"?', 1, true))
  end)

  it('is usable until it is closed and says so afterwards', function()
    local r = mc.open(write('a.edf', plain()))
    r:close()
    r:close()
    assert.equal('EOG', r.channels[3].label)
    assert.truthy(message(r.read, r):find('edf.read: .* was closed; open it again'))
  end)

  it('gives its file back when collected', function()
    local path = write('a.edf', plain())
    local function descriptors()
      local p = io.popen 'ls /proc/$PPID/fd | wc -l'
      local n = tonumber(p:read '*a')
      p:close()
      return n
    end
    collectgarbage()
    collectgarbage()
    local before = descriptors()
    for _ = 1, 20 do mc.open(path) end
    collectgarbage()
    collectgarbage()
    assert.is_true(descriptors() <= before + 1) -- the last one may still lie in a register of the interpreter
  end)

  it('reports a recording that was cut off', function()
    local bytes = plain()
    local r = mc.open(write('a.edf', bytes:sub(1, -31)))
    assert.equal(4, r.records)
    assert.equal(1, #r.warnings)
    assert.truthy(r.warnings[1]:find 'ends early')
    assert.same({ 3, 40 }, { unpack(r:read().shape) })
  end)
end)

describe('recording:read', function()
  local r
  before_each(function() r = mc.open(write('a.edf', plain())) end)
  after_each(function() r:close() end)

  it('gives [channels, samples] in physical units', function()
    local x = r:read()
    assert.equal('f64', x.dtype)
    assert.same({ 3, 50 }, { unpack(x.shape) })
    assert.same({ 0, 0.5, 24.5 }, { x[{ 1, 1 }]:item(), x[{ 1, 2 }]:item(), x[{ 1, 50 }]:item() })
    assert.same({ 50, -100, -75.5 }, { x[{ 2, 1 }]:item(), x[{ 3, 1 }]:item(), x[{ 3, 50 }]:item() })
  end)

  it('takes channels by name, number, pattern and list, in the order named', function()
    local function firsts(what) return r:read(what)[{ mc.all, 1 }]:totable() end
    assert.same({ 50 }, firsts { channels = 'EEG Fp2' })
    assert.same({ 50 }, firsts 'eeg fp2')
    assert.same({ -100 }, firsts { channels = -1 })
    assert.same({ 0, 50 }, firsts { channels = 'EEG*' })
    assert.same({ -100, 0, 50 }, firsts { 'EOG', 'EEG Fp?' })
    assert.same({ 50, 0 }, firsts { 2, '*fp*' })
    assert.same({ -100, 0 }, firsts { channels = { 3, 1 } })
    assert.same({ 1, 2 }, r:select 'EEG*')
  end)

  it('names the nearest channel, or what there is', function()
    assert.truthy(message(r.read, r, { channels = 'Fp2' }):find('no channel "Fp2" .*did you mean "EEG Fp2"'))
    assert.truthy(message(r.read, r, { 'EKG*x' }):find('it has EEG Fp1, EEG Fp2, EOG', 1, true))
    assert.truthy(message(r.read, r, { 4 }):find('channel 4 is outside', 1, true))
    assert.truthy(message(r.read, r, { 0 }):find('channel 0 is outside', 1, true))
    assert.truthy(message(r.read, r, { 1.5 }):find('channel 1.5 is outside', 1, true))
    assert.truthy(message(r.read, r, { true }):find('a channel is true', 1, true))
    assert.truthy(message(r.read, r, { channels = {} }):find('no channel is chosen', 1, true))
  end)

  it('refuses a label that stands for two channels', function()
    local two = mc.open(write('b.edf', edf { records = 1, signals = { ramp('X', 4), ramp('X', 4, 8) } }))
    assert.truthy(message(two.read, two, 'X'):find('stands for channels 1, 2', 1, true))
    assert.same({ 2, 4 }, { unpack(two:read('X*').shape) })
  end)

  it('takes seconds as [from, to): neighbouring reads meet', function()
    local a, b = r:read { channels = 1, from = 0, to = 1.7 }, r:read { channels = 1, from = 1.7 }
    assert.same({ 1, 17 }, { unpack(a.shape) })
    assert.is_true(mc.array_equal(mc.concat({ a, b }, { axis = 2 }), r:read { channels = 1 }))
    assert.equal(8.5, b[{ 1, 1 }]:item())
    assert.same({ 1, 0 }, { unpack(r:read { channels = 1, from = 2, to = 2 }.shape) })
  end)

  it('takes samples as first and last, inclusive, negative from the end', function()
    assert.same({ { 4.5, 5, 5.5 } }, r:read { channels = 1, first = 10, last = 12 }:totable())
    assert.same({ { 24, 24.5 } }, r:read { channels = 1, first = -2 }:totable())
    assert.same({ 1, 0 }, { unpack(r:read { channels = 1, first = 3, last = 2 }.shape) })
  end)

  it('delivers f32 and the stored numbers', function()
    local x, d = r:read { channels = 3, dtype = 'f32', last = 3 }, r:read { channels = 3, dtype = 'i32', last = 3 }
    assert.equal('f32', x.dtype)
    assert.equal('i32', d.dtype)
    assert.same({ { -100, -99.5, -99 } }, x:totable())
    assert.same({ { -200, -199, -198 } }, d:totable())
  end)

  it('says where a span leaves the recording', function()
    assert.truthy(message(r.read, r, { from = 4, to = 6 }):find('4 s to 6 s is not in .*runs from 0 s to 5 s'))
    assert.truthy(message(r.read, r, { from = 3, to = 2 }):find('is not in', 1, true))
    assert.truthy(message(r.read, r, { from = 0 / 0 }):find('is not in', 1, true))
    assert.truthy(message(r.read, r, { first = 1, last = 51 }):find('which has 50', 1, true))
    assert.truthy(message(r.read, r, { first = 0 }):find('count from 1', 1, true))
    assert.truthy(message(r.read, r, { first = 1, to = 2 }):find('give one kind', 1, true))
    assert.truthy(message(r.read, r, { dtype = 'f16' }):find('choose f64, f32, i32', 1, true))
    assert.truthy(message(r.read, r, { chanels = 1 }):find('did you mean "channels"?', 1, true))
  end)

  it('reads from any place what it reads at once', function()
    local big = mc.open(write('big.edf', edf { records = 40, signals = {
      { label = 'S', pmin = -32768, pmax = 32767, per = 500, at = function(i)
        return (i * 7919) % 65536 - 32768
      end }, ramp('T', 500, -1000) } }))
    local all = big:read { channels = 'S' }
    for _, span in ipairs { { 1, 1 }, { 500, 501 }, { 499, 1502 }, { 7, 19999 }, { 20000, 20000 } } do
      local part = big:read { channels = 'S', first = span[1], last = span[2] }
      assert.is_true(mc.array_equal(part, all[{ mc.all, { span[1], span[2] } }]))
    end
    assert.equal((12344 * 7919) % 65536 - 32768, all[{ 1, 12345 }]:item())
  end)
end)

describe('several sampling rates', function()
  local r
  before_each(function()
    r = mc.open(write('a.edf',
      edf { records = 3, seconds = 2, signals = { ramp('fast 1', 8), ramp('slow', 1), ramp('fast 2', 8, 10) } }))
  end)
  after_each(function() r:close() end)

  it('are listed, and fs is nil', function()
    assert.is_nil(r.fs)
    assert.same({ { fs = 4, channels = { 1, 3 } }, { fs = 0.5, channels = { 2 } } }, r.rates)
  end)

  it('cannot be read together: the error names them', function()
    local m = message(r.read, r)
    assert.truthy(m:find('4 Hz (channels 1, 3) and 0.5 Hz (channels 2); read one at a time, as with fs = 4', 1, true))
    assert.truthy(message(mc.load, r.path):find('2 sampling rates', 1, true))
  end)

  it('are read one by one', function()
    assert.same({ 2, 24 }, { unpack(r:read { fs = 4 }.shape) })
    assert.same({ { 0, 0.5, 1 } }, r:read { fs = 0.5 }:totable())
    assert.same({ 2, 24 }, { unpack(r:read { channels = 'fast*' }.shape) })
    assert.truthy(message(r.read, r, { fs = 3 }):find('holds 4 Hz, 0.5 Hz', 1, true))
    assert.equal(4, mc.load(r.path, { fs = 4 }).fs)
  end)
end)

describe('gaps', function()
  local r
  before_each(function() r = mc.open(write('a.edf', broken())) end)
  after_each(function() r:close() end)

  it('are found, with the segments between them and the annotations', function()
    assert.equal('EDF+D', r.format)
    assert.same({ { from = 2, to = 5 } }, r.gaps)
    assert.same({ { from = 0, to = 2, first = 0, records = 2 },
      { from = 5, to = 7, first = 2, records = 2 } }, r.segments)
    assert.same({ { onset = 0.5, duration = 0.25, text = 'stim one' }, { onset = 1.5, text = 'stim two' },
      { onset = 6.25, text = 'rest' } }, r.annotations)
    assert.equal(4, r.duration)
  end)

  it('are an error to read over, with the place', function()
    local m = message(r.read, r, { from = 1, to = 6 })
    assert.truthy(m:find('1 s to 6 s crosses a gap .*nothing was recorded from 2 s to 5 s'))
    assert.truthy(message(r.read, r):find('gaps = "nan"', 1, true))
    assert.truthy(message(r.read, r, { from = 3, to = 4 }):find('crosses a gap', 1, true))
  end)

  it('are filled or skipped on request', function()
    assert.same({ { 3, 3.5, 4, 4.5 } }, r:read { from = 1.5, to = 5.5, gaps = 'join' }:totable())
    local x = r:read { from = 1.5, to = 5.5, gaps = 'nan' }:totable()[1]
    assert.equal(16, #x)
    assert.same({ 3, 3.5, 4, 4.5 }, { x[1], x[2], x[15], x[16] })
    for i = 3, 14 do assert.is_true(x[i] ~= x[i]) end
    assert.same({ 1, 28 }, { unpack(r:read { gaps = 'nan' }.shape) })
    assert.same({ 1, 16 }, { unpack(r:read { gaps = 'join' }.shape) })
    assert.truthy(message(r.read, r, { gaps = 'nan', dtype = 'i32' }):find('i32 cannot hold', 1, true))
  end)

  it('do not hinder what lies on one side', function()
    assert.same({ { 4, 4.5, 5, 5.5 } }, r:read { from = 5, to = 6 }:totable())
    assert.same({ { 3.5, 4 } }, r:read { first = 8, last = 9 }:totable())
  end)

  it('are never spanned by a block', function()
    local seen = {}
    for x, first, time in r:blocks { samples = 6 } do
      seen[#seen + 1] = { x.shape[2], first, time, x[{ 1, 1 }]:item() }
    end
    assert.same({ { 6, 1, 0, 0 }, { 2, 7, 1.5, 3 }, { 6, 9, 5, 4 }, { 2, 15, 6.5, 7 } }, seen)
  end)
end)

describe('recording:blocks', function()
  it('goes through the recording in pieces that make it up', function()
    local r = mc.open(write('a.edf', plain()))
    for _, o in ipairs { { seconds = 1.3 }, { samples = 7 }, {}, { samples = 1 }, { seconds = 100 } } do
      local parts, at = {}, 1
      for x, first, time in r:blocks(o) do
        assert.equal(at, first)
        assert.is_true(math.abs(time - (first - 1) / 10) < 1e-12)
        parts[#parts + 1] = x
        at = at + x.shape[2]
      end
      assert.is_true(mc.array_equal(mc.concat(parts, { axis = 2 }), r:read()))
    end
    r:close()
  end)

  it('overlaps and starts where it is told', function()
    local r = mc.open(write('a.edf', plain()))
    local seen = {}
    for x, first in r:blocks { channels = 'EOG', from = 1, to = 3, samples = 10, overlap = 4 } do
      seen[#seen + 1] = { first, x.shape[2] }
    end
    assert.same({ { 11, 10 }, { 17, 10 }, { 23, 8 } }, seen)
    assert.truthy(message(r.blocks, r, { samples = 4, overlap = 4 }):find('smaller overlap', 1, true))
    assert.truthy(message(r.blocks, r, { samples = 4, seconds = 1 }):find('give one', 1, true))
    r:close()
  end)
end)

describe('recording:epochs', function()
  it('cuts [events, channels, samples] around seconds, tensors, annotations or a pattern', function()
    local r = mc.open(write('a.edf', plain()))
    local x, kept = r:epochs { events = { 1, 2.5 }, tmin = -0.2, tmax = 0.3, channels = { 'EEG Fp1', 'EOG' } }
    assert.same({ 2, 2, 5 }, { unpack(x.shape) })
    assert.same({ 1, 2 }, kept)
    assert.same({ 4, 4.5, 5, 5.5, 6 }, x[{ 1, 1 }]:totable())
    assert.same({ -88.5, -88, -87.5, -87, -86.5 }, x[{ 2, 2 }]:totable())
    assert.is_true(
      mc.array_equal(x, (r:epochs { events = mc.tensor { 1, 2.5 }, tmin = -0.2, tmax = 0.3, channels = { 1, 3 } })))
    assert.equal('f32', (r:epochs { events = { 1 }, tmin = 0, tmax = 1, dtype = 'f32' }).dtype)
    r:close()
    local d = mc.open(write('b.edf', broken()))
    assert.same({ { { 1, 1.5 } }, { { 3, 3.5 } } }, (d:epochs { events = 'stim*', tmin = 0, tmax = 0.5 }):totable())
    assert.same({ { { 6.5 } } }, (d:epochs { events = d:events 'rest', tmin = 0, tmax = 0.25 }):totable())
    d:close()
  end)

  it('refuses, or leaves out, what lies outside or over a gap', function()
    local r = mc.open(write('a.edf', broken()))
    local m = message(r.epochs, r, { events = { 0.5, 1.75 }, tmin = 0, tmax = 0.5 })
    assert.truthy(m:find('event 2 at 1.75 s needs 1.75 s to 2.25 s', 1, true))
    local x, kept = r:epochs { events = { -1, 0.5, 1.75, 3, 6, 6.75 }, tmin = 0, tmax = 0.5, outside = 'drop' }
    assert.same({ 2, 5 }, kept)
    assert.same({ 2, 1, 2 }, { unpack(x.shape) })
    x, kept = r:epochs { events = { 3 }, tmin = 0, tmax = 0.5, outside = 'drop' }
    assert.same({ 0, 1, 2 }, { unpack(x.shape) })
    assert.same({}, kept)
    r:close()
  end)

  it('says what is missing or wrong in its options', function()
    local r = mc.open(write('a.edf', broken()))
    assert.truthy(message(r.epochs, r, { tmin = 0, tmax = 1 }):find('events is missing', 1, true))
    assert.truthy(message(r.epochs, r, { events = { 1 }, tmin = 1, tmax = 0 }):find('tmax must be later', 1, true))
    assert.truthy(
      message(r.epochs, r, { events = 'blink*', tmin = 0, tmax = 1 }):find('no annotation .*matches "blink%*"'))
    assert.truthy(message(r.epochs, r, { events = { 'x' }, tmin = 0, tmax = 1 }):find("event 1 is 'x'", 1, true))
    assert.truthy(message(r.epochs, r, { events = { 0 / 0 }, tmin = 0, tmax = 1 }):find('event 1 is', 1, true))
    r:close()
  end)
end)

describe('recording:triggers', function()
  it('finds each change of the masked number to something else than 0', function()
    local values = { [0] = 65536 * 3, 65536 * 3, 65536 * 3 + 5, 65536 * 3 + 5, 65536 * 2 + 5, 7, 0, 0, 7, 7 }
    local bytes = edf { bdf = true, records = 2, signals = {
      { label = 'Status', per = 5, dmin = -8388608, dmax = 8388607, pmin = -8388608, pmax = 8388607, at = function(i)
        return values[i]
      end } } }
    local r = mc.open(write('a.bdf', bytes))
    assert.same({
      { onset = 0.4, sample = 3, value = 5, text = '5' }, { onset = 1, sample = 6, value = 7, text = '7' },
      { onset = 1.6, sample = 9, value = 7, text = '7' },
    }, r:triggers())
    assert.equal('BDF', r.format)
    assert.same({ { onset = 0.8, sample = 5, value = 131072, text = '131072' } }, r:triggers { mask = 16711680 })
    assert.truthy(message(r.triggers, r, { channel = 'Trigger' }):find('no channel "Trigger"', 1, true))
    r:close()
  end)

  it('crosses the border of blocks', function()
    -- blocks hold 2^21 stored numbers: the change falls on the first sample of the second
    local r = mc.open(write('b.bdf', edf { bdf = true, records = 3, signals = {
      { label = 'Status', per = 2 ^ 20, dmin = -8388608, dmax = 8388607, pmin = -8388608, pmax = 8388607,
        raw = function(record) return (record < 2 and '\0\0\0' or '\9\0\0'):rep(2 ^ 20) end } } }))
    assert.same({ { onset = 2, sample = 2 ^ 21 + 1, value = 9, text = '9' } }, r:triggers())
    local sizes = {}
    for x in r:blocks { dtype = 'i32' } do sizes[#sizes + 1] = x.shape[2] end
    assert.same({ 2 ^ 21, 2 ^ 20 }, sizes)
    r:close()
  end)
end)

describe('mc.load of a recording', function()
  it('gives data, rate, channels and annotations', function()
    local x = mc.load(write('a.edf', plain()))
    assert.same({ 3, 50 }, { unpack(x.data.shape) })
    assert.equal(10, x.fs)
    assert.same({ 'EEG Fp1', 'EEG Fp2', 'EOG' }, x.labels)
    assert.equal('EOG', x.channels[3].label)
    assert.same({}, x.annotations)
    local part = mc.load(write('a.edf', plain()), { 'EOG', from = 1, to = 2 })
    assert.same({ 1, 10 }, { unpack(part.data.shape) })
    assert.same({ 'EOG' }, part.labels)
    assert.equal(3, #mc.load(write('d.edf', broken()), { gaps = 'join' }).annotations)
  end)

  it('reads a file cut at any byte, or says what is wrong, naming it', function()
    local bytes = broken()
    local read = 0
    for n = 0, #bytes - 1 do
      local path = write('cut.edf', bytes:sub(1, n))
      local ok, e = pcall(mc.load, path, { gaps = 'join' })
      if ok then
        read = read + 1
        assert.truthy(#e.warnings > 0)
      else
        assert.truthy(tostring(e):find(path, 1, true), n .. ': ' .. tostring(e))
      end
    end
    assert.equal(3 * 68, read) -- any cut behind the first record of 4 samples and 30 places for notes
  end)
end)

describe('a real recording', function()
  local data = support.folder .. '/../../shared/data/eeg/'
  local function it_real(name, file, f)
    it(name, function()
      local probe = io.open(data .. file, 'rb')
      if not probe then
        pending(file .. ' is not at ../shared/data/eeg')
        return
      end
      probe:close()
      f(mc.open(data .. file))
    end)
  end

  it_real('EDF+ with annotations', 'test.edf', function(r)
    assert.equal('EDF+C', r.format)
    assert.equal(139, #r.channels)
    assert.equal(512, r.fs)
    assert.equal(6, r.duration)
    assert.equal('2014-04-29T22:19:44', tostring(r.start))
    assert.same({ 'A1', 'A5', 'Ergo-Right' }, { r.labels[1], r.labels[5], r.labels[138] })
    local x = r:read()
    assert.same({ 139, 3072 }, { unpack(x.shape) })
    assert.same({ -15, 19, -2400, -44 },
      { x[{ 1, 1 }]:item(), x[{ 5, 601 }]:item(), x[{ 138, 2048 }]:item(), x[{ 131, 3072 }]:item() })
    assert.same({
      { onset = 0, text = 'start' }, { onset = 0.1344, duration = 0.256, text = 'type A' },
      { onset = 0.3904, duration = 1, text = 'type A' },
      { onset = 2, text = 'type B' }, { onset = 2.5, duration = 2.5, text = 'type A' },
    }, r.annotations)
    local e, kept = r:epochs { events = 'type a', tmin = -0.125, tmax = 0.25, channels = { 'A5', 'Ergo*' } }
    assert.same({ 3, 3, 192 }, { unpack(e.shape) })
    assert.same({ 1, 2, 3 }, kept)
    -- the third starts at 2.5 s - 0.125 s = sample 1216 (0-based)
    assert.is_true(mc.array_equal(e[{ 3, 1 }], x[{ 5, { 1217, 1408 } }]))
  end)

  it_real('BDF with 24-bit samples and a trigger', 'test.bdf', function(r)
    assert.equal('BDF', r.format)
    assert.equal(73, #r.channels)
    assert.equal(2048, r.fs)
    assert.same({ 'Fp1', 'Status' }, { r.labels[1], r.labels[73] })
    local d = r:read { 1, 'FC1', 'EXG8', 'Status', dtype = 'i32' }
    assert.same({ 469155, 66676, -8300975, -6815744, -6815616 }, {
      d[{ 1, 1 }]:item(), d[{ 2, 1001 }]:item(), d[{ 3, 2048 }]:item(), d[{ 4, 1 }]:item(), d[{ 4, 591 }]:item() })
    local x = r:read { 'Fp1', 'FC1' }
    local tol = support.load 'tol'
    assert.is_nil(tol.compare('ULP4', 'f64', x[{ 1, 1 }]:item(), 14660.58228502168))
    assert.is_nil(tol.compare('ULP4', 'f64', x[{ 2, 1001 }]:item(), 2083.1367749653323))
    assert.same({ { onset = 589 / 2048, sample = 590, value = 128, text = '128' } }, r:triggers())
  end)

  it_real('EDF with two sampling rates', 'test_uneven_samp.edf', function(r)
    assert.is_nil(r.fs)
    assert.equal(110, r.duration)
    assert.truthy(message(r.read, r):find('100 Hz (channels 1) and 12.8 Hz (channels 2)', 1, true))
    local fast, slow = r:read { fs = 100 }, r:read { fs = 12.8 }
    assert.same({ 1, 11000 }, { unpack(fast.shape) })
    assert.same({ 1, 1408 }, { unpack(slow.shape) })
    assert.same({ 0, 0.9375, -0.9326171875 }, { fast[{ 1, 1 }]:item(), fast[{ 1, 2 }]:item(), fast[{ 1, -1 }]:item() })
    assert.same({ 1, 0, 0 }, { slow[{ 1, 1 }]:item(), slow[{ 1, 101 }]:item(), slow[{ 1, -1 }]:item() })
  end)
end)

describe('mc.meeg.raw.open of a recording', function()
  it('gives volts, and a clock without the gaps, which it marks', function()
    local r = mc.meeg.raw.open(write('a.edf', broken()))
    assert.equal(16, r.samples)
    assert.equal(4, r.duration)
    assert.same({
      { onset = 0.5, duration = 0.25, text = 'stim one' }, { onset = 1.5, duration = 0, text = 'stim two' },
      { onset = 2, duration = 0, text = 'BAD boundary' },
      { onset = 3.25, duration = 0, text = 'rest' },
    }, r.annotations)
    assert.near(0.5e-6, r:read()['1, 2']:item(), 1e-20)
    assert.equal('2003-01-02T04:05:06', r.info.meas_date)
    r:close()
    assert.truthy(message(r.read, r):find('was closed; open it again', 1, true))
  end)

  it('takes the channels of the commonest rate and says which it leaves out', function()
    local r = mc.meeg.raw.open(write('a.edf',
      edf { records = 2, signals = { ramp('A', 10), ramp('slow', 1), ramp('EOG left', 10), ramp('A', 10) } }))
    assert.same({ 'A-0', 'EOG left', 'A-1' }, r:names())
    assert.equal('eog', r.channels[2].type)
    assert.truthy(r.warnings[1]:find('another sampling rate than 10 Hz are left out: slow (1 Hz)', 1, true))
    assert.same({ 3, 20 }, { unpack(r:read().shape) })
  end)

  it('keeps the triggers of a BDF status channel and leaves out the bits of the amplifier', function()
    local status = { label = 'Status', unit = 'Boolean', pmin = -8388608, pmax = 8388607, dmin = -8388608,
      dmax = 8388607, per = 10, at = function(i)
        return 0x680000 + (i >= 4 and 7 or 0)
      end }
    local r = mc.meeg.raw.open(write('a.bdf', edf { bdf = true, records = 1, signals = { ramp('A', 10), status } }))
    assert.same({ 0, 0, 0, 0, 7, 7, 7, 7, 7, 7 }, r:read({ channels = 'Status' })[1]:totable())
    assert.same({ { 4, 0, 7 } }, mc.meeg.events.find(r):totable())
  end)
end)
