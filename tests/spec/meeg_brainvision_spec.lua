-- meeg_brainvision_spec.lua - BrainVision recordings: formats of numbers, units, texts, markers, and what a damaged
-- header does.
--
-- Files are written here byte by byte, so that each expected value is seen in the test. A real recording stands outside
-- the repository (../shared/data); what MNE-Python reads from it is a golden (make_meeg.py).
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local recordings = support.load 'recordings'
local mc = require 'mascon'
local message = support.message

local folder
before_each(function() folder = recordings.folder() end)
after_each(function() recordings.remove(folder) end)

local function at(name) return folder .. '/' .. name end

local function integer(v, bytes, big)
  v = v % 2 ^ (8 * bytes)
  local out = {}
  for i = 1, bytes do
    out[big and bytes + 1 - i or i] = string.char(v % 256)
    v = math.floor(v / 256)
  end
  return table.concat(out)
end

--- A recording of two channels: stored number of channel c and sample t (from 0) is 100 c + t.
local function write(o)
  o = o or {}
  local n, parts = 10, {}
  for i = 0, 2 * n - 1 do
    local c, t = i % 2 + 1, math.floor(i / 2)
    if o.vectorized then c, t = math.floor(i / n) + 1, i % n end
    parts[#parts + 1] = (o.pack or function(v) return integer(v, 2) end)(100 * c + t)
  end
  recordings.write(at(o.data_name or 'a.eeg'), table.concat(parts))
  local first = o.first or 'Brain Vision Data Exchange Header File Version 1.0'
  local common = o.common or ([[
DataFile=%s
MarkerFile=%s
DataFormat=BINARY
DataOrientation=%s
NumberOfChannels=2
SamplingInterval=%s
]]):format(o.data or 'a.eeg', o.markers and 'a.vmrk' or '', o.vectorized and 'VECTORIZED' or 'MULTIPLEXED',
    o.interval or 4000)
  recordings.write(at 'a.vhdr', first .. '\r\n; a comment\r\n[Common Infos]\r\n' .. common
    .. '[Binary Infos]\r\nBinaryFormat=' .. (o.format or 'INT_16')
    .. '\r\n[Channel Infos]\r\n' .. (o.channels or 'Ch1=Fz,,0.5,µV\r\nCh2=a\\1b,,2,mV\r\n') .. (o.more
      or '') .. '[Comment]\r\nCh1=nonsense\r\n' .. (o.comment or ''))
  if o.markers then
    recordings.write(at 'a.vmrk',
      'Brain Vision Data Exchange Marker File, Version 1.0\n[Common Infos]\nDataFile=a.eeg\n[Marker Infos]\n'
      .. o.markers)
  end
  return at 'a.vhdr'
end

describe('mc.meeg.raw.open of BrainVision', function()
  it('gives volts, names and types', function()
    local r = mc.meeg.raw.open(write())
    assert.equal('BrainVision', r.format)
    assert.equal(250, r.fs)
    assert.same({ 'Fz', 'a,b' }, r:names())
    assert.same({ 2, 10 }, { unpack(r:read().shape) })
    assert.equal(100 * (0.5 * 1e-6), r:read()['1, 1']:item())
    assert.equal(209 * (2 * 1e-3), r:read()['2, 10']:item())
    assert.equal(3, r:read { channels = 'a,b', first = 4, last = 6 }.shape[2])
  end)

  it('knows the formats of numbers, samples or channels side by side', function()
    local ffi = require 'ffi'
    local function float(v)
      local f = ffi.new('float[1]', v)
      return ffi.string(f, 4)
    end
    local plain = mc.meeg.raw.open(write()):read()
    for _, o in ipairs {
      { format = 'INT_32', pack = function(v)
        return integer(v, 4)
      end }, { format = 'IEEE_FLOAT_32', pack = float }, { vectorized = true },
      { format = 'INT_32', vectorized = true, pack = function(v) return integer(v, 4) end }, { format = 'UINT_16' },
      { format = 'INT_16\r\nUseBigEndianOrder=YES', pack = function(v) return integer(v, 2, true) end },
    } do
      assert.is_true(mc.array_equal(plain, mc.meeg.raw.open(write(o)):read()), o.format or 'vectorized')
    end
  end)

  it('reads negative numbers as such', function()
    local r = mc.meeg.raw.open(write { pack = function(v) return integer(-v, 2) end })
    assert.equal(-100 * (0.5 * 1e-6), r:read()['1, 1']:item())
  end)

  it('reads ASCII files of both orientations', function()
    local header = 'Brain Vision Data Exchange Header File Version 1.0\n[Common Infos]\nDataFile=a.txt\n'
      .. 'DataFormat=ASCII\nDataOrientation=%s\nNumberOfChannels=2\nSamplingInterval=4000\n'
      .. '[ASCII Infos]\nDecimalSymbol=%s\nSkipLines=%d\nSkipColumns=%d\n[Channel Infos]\nCh1=A,,1,V\nCh2=B,,1,V\n'
    recordings.write(at 'a.vhdr', header:format('MULTIPLEXED', ',', 1, 0))
    recordings.write(at 'a.txt', 'A B\n1,5 2\n3 -4e1\n5 6\n')
    assert.same({ { 1.5, 3, 5 }, { 2, -40, 6 } }, mc.meeg.raw.open(at 'a.vhdr'):read():totable())
    recordings.write(at 'a.vhdr', header:format('VECTORIZED', '.', 0, 1))
    recordings.write(at 'a.txt', 'A 1.5 3 5\nB 2 -40 6\n')
    assert.same({ { 1.5, 3, 5 }, { 2, -40, 6 } }, mc.meeg.raw.open(at 'a.vhdr'):read():totable())
    recordings.write(at 'a.txt', 'A 1.5 3 5\nB 2 x 6\n')
    assert.truthy(message(mc.meeg.raw.open, at 'a.vhdr'):find('line 2 holds "x", which is no number', 1, true))
    recordings.write(at 'a.txt', 'A 1.5 3 5\nB 2 6\n')
    assert.truthy(message(mc.meeg.raw.open, at 'a.vhdr'):find('line 2 has 2 numbers, the lines above have 3', 1, true))
  end)

  it('takes an empty unit as microvolts and knows both signs of micro, also in Latin-1', function()
    local function scale(channels)
      return mc.meeg.raw.open(write { channels = channels .. '\nCh2=b\n' }):read()['1, 1']:item() / 100
    end
    for _, unit in ipairs { 'Ch1=a,,1,µV', 'Ch1=a,,1,μV', 'Ch1=a,,1,\181V', 'Ch1=a,,1,uV', 'Ch1=a,,1,', 'Ch1=a,,1',
      'Ch1=a', 'Ch1=a,,,uV' } do
      assert.near(1e-6, scale(unit), 1e-20)
    end
    assert.near(3e-9, scale 'Ch1=a,,3,nV', 1e-22)
    assert.near(1, scale 'Ch1=a,,1,V', 1e-13)
    assert.near(1, scale 'Ch1=a,,1,ARU', 1e-13)
  end)

  it('calls channels of other units misc, and eye channels by their names', function()
    local r = mc.meeg.raw.open(write { channels = 'Ch1=HEOGL,,1,uV\nCh2=Breath,,1,ARU\n' })
    assert.equal('eog', r.channels[1].type)
    assert.equal('misc', r.channels[2].type)
    assert.equal('ARU', r.channels[2].unit)
    assert.equal('eeg', mc.meeg.raw.open(at 'a.vhdr', { types = { HEOGL = 'eeg' } }).channels[1].type)
  end)

  it('gives positions in metres, x to the right and y to the front', function()
    local r = mc.meeg.raw.open(write { more = '[Coordinates]\nCh1=1,90,90\nCh2=90,-90,0\n' })
    local front, left = r.channels[1].position, r.channels[2].position
    assert.near(0.095, front[2], 1e-15)
    assert.near(0, front[1], 1e-15)
    assert.near(-0.09, left[1], 1e-15)
    assert.near(0, left[3], 1e-15)
    assert.is_nil(mc.meeg.raw.open(write { more = '[Coordinates]\nCh1=0,0,0\n' }).channels[1].position)
  end)

  it('knows the filters of the amplifier', function()
    local head = '#     Name      Phys. Chn.    Resolution / Unit   Low Cutoff [%s]   High Cutoff [Hz]   Notch [Hz]\n'
    local function filters(unit, a, b)
      local r = mc.meeg.raw.open(write { channels = 'Ch1=A 1,,1,uV\nCh2=B,,1,uV\n',
        comment = head:format(unit) .. '1     A 1         1                0.5 µV             ' .. a
          .. '\n2     B         2                0.5 µV             ' .. b .. '\n' })
      return { r.info.highpass, r.info.lowpass }
    end
    assert.same({ 0, 250 }, filters('s', 'DC              250              Off', 'DC   250   Off'))
    assert.same({ 0.5, 80 }, filters('Hz', '0.5   70   Off', '1   80   50'))
    assert.same({ 1 / (2 * math.pi * 10) }, filters('s', '10   Off   Off', '2   80   50'))
    assert.is_nil(mc.meeg.raw.open(write()).info.lowpass)
  end)

  it('makes annotations of markers and a date of the first', function()
    local r = mc.meeg.raw.open(write { markers = 'Mk1=New Segment,,1,1,0,20131113161403794232\nMk2=Stimulus,S  '
      .. '7,3,2,0\n; Mk3=Stimulus,S  8,3,2,0\nMk4=Comment,a\\1b,10,0,1\nMk5=New Segment,,6,1,0\n' })
    assert.equal('2013-11-13T16:14:03.794232', r.info.meas_date)
    assert.same({
      { onset = 2 / 250, duration = 2 / 250, text = 'Stimulus/S  7' }, { onset = 9 / 250, duration = 0,
        text = 'Comment/a,b' }, { onset = 5 / 250, duration = 1 / 250, text = 'New Segment/' },
    }, r.annotations)
    local events, ids = mc.meeg.events.from_annotations(r)
    assert.same({ { 2, 0, 7 }, { 5, 0, 99999 }, { 9, 0, 10001 } }, events:totable())
    assert.same({ ['Stimulus/S  7'] = 7, ['New Segment/'] = 99999, ['Comment/a,b'] = 10001 }, ids)
  end)

  it('finds its samples by $b, and beside the header when they were renamed', function()
    assert.equal(10, mc.meeg.raw.open(write { data = '$b.eeg' }).samples)
    assert.equal(10, mc.meeg.raw.open(write { data = 'before.eeg' }).samples)
    os.remove(at 'a.eeg')
    assert.truthy(
      message(mc.meeg.raw.open, at 'a.vhdr'):find('its samples, ' .. at 'before.eeg' .. ', are not there', 1, true))
  end)

  it('drops the piece of a sample at the end of a file that was cut off', function()
    write()
    recordings.write(at 'a.eeg', recordings.read(at 'a.eeg'):sub(1, -6))
    assert.equal(8, mc.meeg.raw.open(at 'a.vhdr').samples)
    recordings.write(at 'a.eeg', 'x')
    assert.truthy(message(mc.meeg.raw.open, at 'a.vhdr'):find('it holds no sample; it is truncated', 1, true))
  end)

  it('reads what MNE reads from a recording of a lab', function()
    local path = support.folder .. '/../../shared/data/eeg/test.vhdr'
    local f = io.open(path, 'rb')
    if not f then
      pending 'test.vhdr is not at ../shared/data/eeg'
      return
    end
    f:close()
    local g = recordings.golden(support, 'meeg_recording')
    local want, r = g.files['test.vhdr'], mc.meeg.raw.open(path)
    assert.equal(want.samples, r.samples)
    assert.same(want.names, r:names())
    local types = {}
    for i, c in ipairs(r.channels) do types[i] = c.type end
    assert.same(want.types, types)
    assert.same({ want.highpass, want.lowpass }, { r.info.highpass, r.info.lowpass })
    assert.is_true(mc.array_equal(g.data 'test.vhdr', r:read()[':, ::25']))
    local events, ids = mc.meeg.events.from_annotations(r)
    assert.same(want.events, events:totable())
    assert.same(want.event_id, ids)
    for i, a in ipairs(want.annotations) do
      assert.same({ onset = a[1], duration = a[2], text = a[3] }, r.annotations[i])
    end
    r:close()
    assert.truthy(message(r.read, r):find('was closed; open it again', 1, true))
  end)
end)

describe('a damaged BrainVision file', function()
  it('is an error that names it and what is wrong', function()
    local function says(o, words) assert.truthy(message(mc.meeg.raw.open, write(o)):find(words, 1, true), words) end
    says({ first = 'EEG recording' }, 'its first line does not say that it is a BrainVision header file')
    says({ first = 'Brain Vision Data Exchange Marker File Version 1.0' }, 'header file')
    says({ common = 'NumberOfChannels=2\n' }, 'SamplingInterval is "nil"')
    says({ interval = 0 }, 'SamplingInterval is "0"')
    says({ interval = 'nan' }, 'SamplingInterval is "nan"')
    says({ common = 'NumberOfChannels=0\nSamplingInterval=1\n' }, 'NumberOfChannels is "0"')
    says({ common = 'NumberOfChannels=1e99\nSamplingInterval=1\n' }, 'NumberOfChannels is "1e99"')
    says({ format = 'INT_12' }, 'BinaryFormat is "INT_12"')
    says({ channels = 'Ch1=a\n' }, 'channel 2 of 2 is not described')
    says({ channels = 'Ch1=a,,x,V\nCh2=b\n' }, 'the resolution of channel 1 is "x"')
    says({ more = '[Coordinates]\nCh1=1,a,3\n' }, 'the coordinates of channel 1 are "1,a,3"')
    says({ markers = 'Mk1=Stimulus,S1,here,1,0\n' }, 'the marker Mk1 is "Stimulus,S1,here,1,0"')
    says({ more = 'a\0b\n' }, 'a zero byte; this is no text file')
    assert.truthy(message(mc.meeg.raw.open, at 'none.vhdr'):find('none.vhdr: No such file', 1, true))
  end)

  it('cut anywhere or with a changed byte is read or is an error that names it', function()
    write { markers = 'Mk1=New Segment,,1,1,0,20131113161403794232\nMk2=Stimulus,S  7,3,2,0\n' }
    for _, name in ipairs { 'a.vhdr', 'a.vmrk' } do
      local whole = recordings.read(at(name))
      recordings.damaged(whole, 60, 150, function(bytes, what)
        recordings.write(at(name), bytes)
        local ok, e = pcall(function() mc.meeg.raw.open(at 'a.vhdr'):read() end)
        if not ok then
          assert.truthy(tostring(e):find('brainvision: ', 1, true) or tostring(e):find('meeg.open: ', 1, true),
            what .. ': ' .. tostring(e))
        end
      end)
      recordings.write(at(name), whole)
    end
  end)
end)
