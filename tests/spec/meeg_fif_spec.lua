-- meeg_fif_spec.lua - FIF files: recordings and epochs as MNE-Python reads them, epochs that it opens unchanged, and
-- what a damaged file does.
--
-- Files and answers come from goldens (make_meeg.py). Numbers of a recording are stored integers times factors, the
-- same product in both programs: they agree bit for bit.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local recordings = support.load 'recordings'
local mc = require 'mascon'
local fif = require 'mascon.io.fif'
local date = require 'mascon.meeg.date'
local message = support.message

local folder
before_each(function() folder = recordings.folder() end)
after_each(function() recordings.remove(folder) end)

local function at(name) return folder .. '/' .. name end

--- What both kinds of objects tell of a recording, as MNE tells it.
local function check_info(want, r)
  local names, types, positions = {}, {}, {}
  for i, c in ipairs(r.channels) do
    names[i], types[i] = c.name, c.type
    positions[i] = c.loc and { c.loc[1], c.loc[2], c.loc[3] }
  end
  assert.same(want.names, names)
  assert.same(want.types, types)
  assert.same(want.bads, r.bads)
  assert.equal(want.fs, r.fs)
  assert.equal(want.highpass, r.info.highpass)
  assert.equal(want.lowpass, r.info.lowpass)
  for i, p in ipairs(want.locs) do
    for k = 1, 3 do
      local v = positions[i][k]
      if type(p[k]) == 'number' then assert.equal(p[k], v) else assert.is_true(v ~= v) end
    end
  end
  assert.equal(want.date, date.stamp(r.info.meas_date)[1] + date.stamp(r.info.meas_date)[2] * 1e-6)
  for i, row in ipairs(want.dev_head_t) do assert.same(row, r.info.dev_head_t[i]) end
  local dig = {}
  for i, d in ipairs(r.info.dig) do dig[i] = { d.kind, d.ident, d.position[1], d.position[2], d.position[3] } end
  assert.same(want.dig, dig)
  local projs = {}
  for i, p in ipairs(r.info.projs) do projs[i] = { p.name, p.channels, p.active } end
  assert.same(want.projs, projs)
end

local function check_raw(want, data, r)
  check_info(want, r)
  assert.equal(want.first, r.first_sample)
  assert.is_true(mc.array_equal(data, r:read()))
  assert.equal(#want.annotations, #r.annotations)
  local sorted = {}
  for i, a in ipairs(want.annotations) do sorted[i] = a end
  table.sort(sorted, function(a, b) return a[1] < b[1] end)
  for i, a in ipairs(sorted) do -- times are kept in single precision
    assert.near(a[1], r.annotations[i].onset, 1e-6)
    assert.near(a[2], r.annotations[i].duration, 1e-6)
    assert.equal(a[3], r.annotations[i].text)
  end
end

local function check_epochs(want, data, e)
  assert.equal(want.tmin, e.tmin)
  assert.same(want.events, e.events:totable())
  assert.same(want.event_id, e.event_id)
  local selection, log = {}, {}
  for i, s in ipairs(want.selection) do selection[i] = s + 1 end
  for i, l in ipairs(want.drop_log) do log[i] = { unpack(l) } end
  assert.same(selection, e.selection)
  assert.same(log, e.drop_log)
  if type(want.baseline) == 'table' then
    assert.same({ unpack(want.baseline) }, e.baseline)
  else
    assert.is_nil(e.baseline)
  end
  assert.is_true(mc.array_equal(data, e.data))
end

describe('mc.meeg.raw.open of FIF', function()
  local g = recordings.golden(support, 'meeg_fif')

  it('reads short, int, single, double, packed files and gaps as MNE does', function()
    local count = 0
    for name, want in pairs(g.files) do
      count = count + 1
      local r = mc.meeg.raw.open(recordings.write(at(name), g.bytes(name)))
      assert.equal('FIF', r.format)
      check_raw(want, g.data(name), r)
      r:close()
    end
    assert.equal(6, count)
  end)

  it('reads any stretch of any channels', function()
    local name = 'short_raw.fif'
    local r, whole = mc.meeg.raw.open(recordings.write(at(name), g.bytes(name))), g.data(name)
    assert.is_true(
      mc.array_equal(whole[{ { 2, 2 }, { 139, 282 } }], r:read { channels = 'MEG 0112', first = 139, last = 282 }))
    assert.is_true(mc.array_equal(whole['1:6, 101:110'], r:read { from = 0.5, to = 0.55 }))
    local parts = {}
    for x in r:blocks { size = 77, channels = { 'meg', 'EOG 061' } } do parts[#parts + 1] = x end
    assert.is_true(mc.array_equal(mc.take(whole, mc.tensor({ 1, 2, 5 }, { dtype = 'i64' }), 1), mc.concat(parts, 2)))
  end)

  it('goes on in the next part of a split recording, and says which is missing', function()
    for key in pairs(g.arrays) do
      local name = key:match '^file (parts_.*)$'
      if name then recordings.write(at(name), g.bytes(name)) end
    end
    local r = mc.meeg.raw.open(at 'parts_raw.fif')
    assert.equal(400000, r.samples)
    local wave = mc.tensor(g.about.parts)
    assert.is_true(mc.array_equal(wave, r:read { first = 399901 }[3]))
    local joint = r:read { channels = 2 }
    assert.is_true(mc.array_equal(joint, mc.broadcast_to(wave, { 4000, 100 }):reshape(1, -1)))
    r:close()
    os.remove(at 'parts_raw-2.fif')
    assert.truthy(message(mc.meeg.raw.open,
      at 'parts_raw.fif'):find('goes on in ' .. at 'parts_raw-2.fif' .. ', which is not there', 1, true))
  end)

  it('gives positions in the head frame', function()
    local name = 'int_raw.fif'
    local r = mc.meeg.raw.open(recordings.write(at(name), g.bytes(name)))
    assert.near(0.09, r.channels[3].position[2], 1e-8)
    -- device { 0, 0.05, 0.09 }: rotated, then moved
    assert.near(0.8 * 0.05 - 0.6 * 0.09 + 0.002, r.channels[1].position[2], 1e-7)
    assert.near(0.6 * 0.05 + 0.8 * 0.09 + 0.03, r.channels[1].position[3], 1e-7)
    assert.is_nil(r.channels[6].position)
  end)

  it('says that a file of epochs is none, and the other way round', function()
    local e = recordings.golden(support, 'meeg_epochs')
    recordings.unpack(e, folder)
    assert.truthy(
      message(mc.meeg.raw.open, at 'single-epo.fif'):find('holds epochs; open it with mc.meeg.epochs.open', 1, true))
    assert.truthy(message(mc.meeg.epochs.open, at 'source_raw.fif'):find('is a continuous recording', 1, true))
    assert.truthy(message(mc.meeg.raw.open, at 'source-eve.fif'):find('it holds no measurement', 1, true))
    assert.truthy(message(mc.meeg.events.read, at 'source_raw.fif'):find('it holds no events', 1, true))
  end)
end)

describe('mc.meeg.epochs.open of FIF', function()
  local g = recordings.golden(support, 'meeg_epochs')
  before_each(function() recordings.unpack(g, folder) end)

  it('reads single, double and packed files as MNE does', function()
    for _, name in ipairs { 'single-epo.fif', 'double-epo.fif', 'packed-epo.fif.gz' } do
      local e = mc.meeg.epochs.open(at(name), { proj = false })
      check_info(g.files[name], e)
      check_epochs(g.files[name], g.data(name), e)
    end
  end)

  it('leaves the samples in the file until they are asked for', function()
    local e = mc.meeg.epochs.open(at 'single-epo.fif', { proj = false })
    assert.is_nil(rawget(e, 'data'))
    assert.truthy(e.warnings[1]:find('1 projector not applied to its samples (P1)', 1, true))
    local whole = g.data 'single-epo.fif'
    assert.is_true(mc.array_equal(whole['2:3, 5:5'], e:read { first = 2, last = 3, channels = 'EOG 061' }))
    assert.is_nil(rawget(e, 'data'))
    local fewer = e:drop({ 1, 3 }):pick 'eog'
    assert.is_true(mc.array_equal(whole['2:2, 5:5'], fewer:read { last = 1 }))
    assert.is_true(mc.array_equal(mc.take(whole, mc.tensor({ 2, 4, 5 }, { dtype = 'i64' }), 1)[{ { 1, 3 }, { 5, 5 } }],
      fewer:read { last = 3 }))
  end)

  it('reads events and their ids from an event file', function()
    local events, ids = mc.meeg.events.read(at 'source-eve.fif')
    assert.same(g.about.events, events:totable())
    assert.same({ ['1'] = 1, ['2'] = 2, ['3'] = 3 }, ids)
  end)
end)

describe('epochs:save as FIF', function()
  local g = recordings.golden(support, 'meeg_epochs')
  before_each(function() recordings.unpack(g, folder) end)

  it('writes the bytes that MNE has opened and found unchanged', function()
    local e = mc.meeg.epochs.open(at 'single-epo.fif', { proj = false })
    e:save(at 'a-epo.fif')
    assert.is_true(g.bytes 'same-epo.fif' == recordings.read(at 'a-epo.fif'))
    e:drop({ 2, 4 }, 'AUTOREJECT'):pick({ 'EEG with a long name 2', 'MEG 0112', 'EOG 061' }):save(at 'b-epo.fif')
    assert.is_true(g.bytes 'fewer-epo.fif' == recordings.read(at 'b-epo.fif'))
    local raw = mc.meeg.raw.open(at 'source_raw.fif')
    raw:save_annotations(at 'c-annot.fif')
    assert.is_true(g.bytes 'source-annot.fif' == recordings.read(at 'c-annot.fif'))
    mc.meeg.epochs.cut(raw, { events = mc.meeg.events.find(raw), tmin = -0.05, tmax = 0.1,
      proj = false }):save(at 'd-epo.fif', { dtype = 'f64' })
    assert.is_true(g.bytes 'cut-epo.fif' == recordings.read(at 'd-epo.fif'))
  end)

  it('gives channels of one name running numbers, as MNE does', function()
    local function named(...)
      local list = {}
      for i, name in ipairs { ... } do list[i] = { name = name } end
      local said = mc.meeg.channels.distinct(list)
      for i, c in ipairs(list) do list[i] = c.name end
      return table.concat(list, ' '), said
    end
    -- what mne.io.read_raw_fif made of such a file
    local names, said = named('Fz', 'Cz', 'Pz', 'Fz', 'Cz', 'ZZ', 'Fz-1')
    assert.equal('Fz-0 Cz-0 Pz Fz-a Cz-1 ZZ Fz-1', names)
    assert.equal('several channels are called Fz, Cz; they got running numbers', said)
    assert.same({ 'A B' }, { named('A', 'B') })
    local whole = recordings.read(at 'double-epo.fif')
    local e = mc.meeg.epochs.open(at 'double-epo.fif', { proj = false })
    local one, two = e.channels[1].name, e.channels[2].name
    assert.equal(#one, #two)
    local twice = mc.meeg.epochs.open(recordings.write(at 'twice-epo.fif', (whole:gsub(one:gsub('%W', '%%%0') .. '%z',
      two .. '\0'))), { proj = false })
    assert.equal(two .. '-0', twice.channels[1].name)
    assert.equal(two .. '-1', twice.channels[2].name)
    assert.equal(0, mc.max(mc.abs(e:read() - twice:read())):item())
  end)

  it('keeps everything through a second reading', function()
    local e = mc.meeg.epochs.open(at 'double-epo.fif', { proj = false })
    e:save(at 'again-epo.fif', { dtype = 'f64' })
    local b = mc.meeg.epochs.open(at 'again-epo.fif', { proj = false })
    check_info(g.files['double-epo.fif'], b)
    check_epochs(g.files['double-epo.fif'], e.data, b)
  end)

  it('takes epochs that come from elsewhere', function()
    local e = mc.meeg.epochs.new {
      data = mc.randn { 4, 3, 20, seed = 1 }, fs = 250, tmin = -0.04,
      channels = { 'Fz', 'Cz', 'a name of more than fifteen bytes' }, types = { 'eeg', 'eeg', 'eog' }, bads = { 'Cz' },
      positions = { { 0, 0.07, 0.06 }, { 0, 0, 0.1 }, { 0 / 0, 0 / 0, 0 / 0 } }, event_id = { ['a;b'] = 1 },
    }
    e:save(at 'new-epo.fif', { dtype = 'f64' })
    local b = mc.meeg.epochs.open(at 'new-epo.fif', { proj = false })
    assert.is_true(mc.array_equal(e.data, b.data))
    assert.same(e:names(), b:names())
    assert.same({ 'Cz' }, b.bads)
    assert.same({ ['a,b'] = 1 }, b.event_id)
    assert.near(0.07, b.channels[1].position[2], 1e-8)
    assert.is_nil(b.channels[3].position)
    assert.same({ 'eeg', 'eog' }, mc.meeg.channels.types(b.channels))
    assert.equal(-0.04, b.tmin)
  end)

  it('falls into parts when it is too large for one file', function()
    local e = mc.meeg.epochs.new { data = mc.randn { 30, 16, 3000, seed = 2, dtype = 'f32' }, fs = 500,
      channels = (function()
        local names = {}
        for i = 1, 16 do names[i] = 'E' .. i end
        return names
      end)() }
    local fewer = e:drop({ 3, 11 }, 'LOUD')
    fewer:save(at 'large-epo.fif', { split = 4194304 })
    assert.truthy(recordings.listing(folder):find('large-epo-1.fif large-epo-2.fif large-epo.fif', 1, true))
    local b = mc.meeg.epochs.open(at 'large-epo.fif')
    assert.same(fewer.selection, b.selection)
    assert.same(fewer.drop_log, b.drop_log)
    assert.is_true(mc.array_equal(fewer.data, b.data:to { dtype = 'f32' }))
  end)

  it('refuses a file that is there, and what FIF cannot hold', function()
    local e = mc.meeg.epochs.new { data = mc.zeros { 2, 1, 5 }, fs = 100 }
    assert.truthy(
      message(e.save, e, at 'single-epo.fif'):find('is there; choose another name or give overwrite = true', 1, true))
    assert.truthy(message(e.save, e, at 'x.fif.gz'):find('pack it afterwards', 1, true))
    e.events = mc.tensor({ { 5, 0, 1 }, { 5, 0, 2 } }, { dtype = 'i64' })
    assert.truthy(message(e.save, e, at 'x-epo.fif'):find('epochs 1 and 2 have the same event sample 5', 1, true))
    e.events = mc.tensor({ { 5, 0, 1 }, { 2 ^ 33, 0, 2 } }, { dtype = 'i64' })
    assert.truthy(message(e.save, e, at 'x-epo.fif'):find('more than 32 bits', 1, true))
    assert.is_nil(recordings.listing(folder):find 'x%-epo')
  end)

  it('leaves nothing behind when it is interrupted', function()
    local C = require 'mascon.core.ffi'.C
    local e = mc.meeg.epochs.new { data = mc.zeros { 4, 16, 20000 }, fs = 500 }
    recordings.write(at 'old-epo.fif', 'what was there before')
    C.mc_cancel_request()
    local ok, why = pcall(e.save, e, at 'old-epo.fif', { overwrite = true })
    C.mc_cancel_clear()
    assert.is_false(ok)
    assert.truthy(tostring(why):find('cancelled', 1, true))
    assert.equal('what was there before', recordings.read(at 'old-epo.fif'))
    assert.is_nil(recordings.listing(folder):find('tmp', 1, true))
  end)

  it('leaves nothing behind when the disk is full or the folder is not there', function()
    local e = mc.meeg.epochs.new { data = mc.zeros { 4, 16, 20000 }, fs = 500 }
    assert.truthy(message(e.save, e, at 'no/x-epo.fif'):find('create the directory first', 1, true))
    local there = recordings.small_disk('1m', function(small)
      local text = message(e.save, e, small .. '/x-epo.fif')
      assert.truthy(text:find('No space left', 1, true))
      assert.truthy(text:find '^%S+%.lua:%d+: ')
      assert.equal('', recordings.listing(small))
    end)
    if not there then pending 'a small file system cannot be mounted here' end
  end)
end)

describe('a damaged FIF file', function()
  --- Opens and reads what there is: a result or an error that names the file, never anything else.
  local function probe(path, what)
    local ok, e = pcall(function()
      local r = mc.meeg.open(path)
      if mc.meeg.raw.is(r) then
        if r.samples * #r.channels < 1e6 then r:read() end
      elseif r:count() * #r.channels * r.samples < 1e6 then r:load() end
    end)
    if not ok then
      assert.truthy(tostring(e):find('fif: ', 1, true) or tostring(e):find('meeg.open: ', 1, true),
        what .. ': ' .. tostring(e))
    end
    return ok
  end

  it('cut anywhere or with a changed byte is read or is an error that names it', function()
    local g, e = recordings.golden(support, 'meeg_fif'), recordings.golden(support, 'meeg_epochs')
    local held = 0
    for _, bytes in ipairs { g.bytes 'short_raw.fif', g.bytes 'packed_raw.fif.gz', e.bytes 'single-epo.fif' } do
      recordings.damaged(bytes, 40, 60, function(b, what)
        if not probe(recordings.write(at 'damaged.fif', b), what) then held = held + 1 end
      end)
    end
    assert.is_true(held >= 3 * 40) -- no file that is cut passes
  end)

  it('may hold any bits as a NaN', function()
    for _, bits in ipairs { '\255\255\255\255', '\255\192\0\1', '\127\128\0\1', '\255\249\0\0' } do
      local v = fif.float(bits, 1)
      assert.equal('number', type(v))
      assert.is_true(v ~= v)
    end
    assert.equal(-math.huge, fif.float('\255\128\0\0', 1))
    assert.equal(-1.5, fif.float(fif.float_bytes(-1.5), 1))
  end)

  it('of impossible structure is an error that says what is wrong', function()
    local start = fif.int_bytes(100) .. fif.int_bytes(31) .. fif.int_bytes(20) .. fif.int_bytes(0) .. ('\0'):rep(20)
    local function tag(kind, type_, data, next_)
      return fif.int_bytes(kind) .. fif.int_bytes(type_) .. fif.int_bytes(#data) .. fif.int_bytes(next_ or 0) .. data
    end
    local function open(kind) return tag(104, 3, fif.int_bytes(kind)) end
    local function says(bytes, words)
      assert.truthy(message(mc.meeg.open, recordings.write(at 'x.fif', start .. bytes)):find(words, 1, true))
    end
    says('', 'it holds no measurement')
    says(open(100), 'it holds no measurement')
    says(open(100) .. open(101), 'the number of channels or the sampling rate is missing')
    local head = open(100) .. open(101) .. tag(200, 3, fif.int_bytes(2)) .. tag(201, 4, fif.float_bytes(100))
    says(head, 'it tells of 2 channels and describes 0')
    says(head .. tag(203, 30, 'short'), 'a channel record has 5 bytes instead of 96')
    says(tag(300, 3, '1234', 8), 'the chain of tags turns back')
    says(open(1):rep(70), 'more than 64 deep')
    assert.truthy(message(mc.meeg.open, recordings.write(at 'y.fif', 'something else altogether'))
      :find('another kind of file', 1, true))
    assert.truthy(message(mc.meeg.open, recordings.write(at 'z.fif', '')):find('z.fif is empty', 1, true))
  end)
end)
