-- pac_source_spec.lua - which channels and samples of a file a coupling analysis takes, and that it says so; masks of
-- samples and of trials.
local mc = require 'mascon'
local pac = mc.pac
local generate = pac.generate

local folder = os.tmpname()
os.remove(folder)

local function path(name) return folder .. '/' .. name end

local function said(notes, words)
  for _, n in ipairs(notes) do if n:find(words, 1, true) then return true end end
  error(('no note says %q:\n%s'):format(words, table.concat(notes, '\n')))
end

--- A BrainVision recording of 4 channels, f32, with markers.
local function brainvision(name, x, fs, names, markers)
  local lines = {}
  for i, n in ipairs(names) do lines[i] = ('Ch%d=%s,,1,V'):format(i, n) end
  mc.file.write(path(name .. '.vhdr'), table.concat({ 'Brain Vision Data Exchange Header File Version 1.0',
    '[Common Infos]', 'Codepage=UTF-8', 'DataFile=' .. name .. '.eeg', 'MarkerFile=' .. name .. '.vmrk',
    'DataFormat=BINARY', 'DataOrientation=MULTIPLEXED', 'NumberOfChannels=' .. #names,
    ('SamplingInterval=%.10g'):format(1e6 / fs), '[Binary Infos]', 'BinaryFormat=IEEE_FLOAT_32', '[Channel Infos]',
    table.concat(lines, '\n'), '' }, '\n'))
  local marks = { 'Brain Vision Data Exchange Marker File, Version 1.0', '[Common Infos]',
    'DataFile=' .. name .. '.eeg', '[Marker Infos]' }
  for i, m in ipairs(markers) do marks[#marks + 1] = ('Mk%d=%s,%s,%d,%d,0'):format(i, m[1], m[2], m[3], m[4]) end
  mc.file.write(path(name .. '.vmrk'), table.concat(marks, '\n') .. '\n')
  local list = {}
  local ffi = require 'ffi'
  local flat = x.T:contiguous():to('f32'):reshape(-1):totable()
  local raw = ffi.new('float[?]', #flat, flat)
  list[1] = ffi.string(raw, 4 * #flat)
  mc.file.write(path(name .. '.eeg'), list[1])
end

local BANDS = { fs = 256, pha_bands_hz = { { 4, 8 }, { 8, 12 } },
  amp_bands_hz = { { 50, 70 }, { 60, 80 } }, dtype = 'f64' }
local function with(more)
  local o = {}
  for k, v in pairs(BANDS) do o[k] = v end
  for k, v in pairs(more) do o[k] = v end
  return o
end

local function close(a, b, bound)
  assert.is_true(mc.allclose(a:to 'f64', b:to 'f64', { rtol = 0, atol = bound, equal_nan = true }))
end

describe('pac.report', function()
  it('names the pair of largest coupling beside maxima of z, and draws phases of what is significant', function()
    local value, z = mc.zeros { 1, 3, 2 }, mc.zeros { 1, 3, 2 }
    value[{ 1, 1, 1 }], value[{ 1, 3, 2 }], z[{ 1, 3, 2 }], z[{ 1, 1, 1 }] = 0.5, 0.25, 9, 4
    local r = { pac = value, z = z, p = mc.tensor { { { 0.3, 1 }, { 1, 1 }, { 1, 0.01 } } },
      pref_phase = mc.ones { 1, 3, 2 }, pha_bands_hz = mc.tensor { { 4, 6 }, { 6, 8 }, { 8, 10 } },
      amp_bands_hz = mc.tensor { { 60, 80 }, { 80, 100 } } }
    local best = pac.report.strongest(r, { 'Cz' }, 9)
    assert.same({ 9, 4 }, { best[1].z, best[2].z })
    assert.same({ phase_hz = 5, amp_hz = 70, value = 0.5 }, best[1].largest)
    assert.is_nil(best[2].largest)
    assert.truthy(pac.report.table(best):find('0.5 at 5, 70 Hz', 1, true))
    assert.truthy(pac.report.largest_note(best):find('largest coupling', 1, true))
    assert.truthy(pac.report.preferred(best))
    r.p[{ 1, 3, 2 }] = 0.06
    local fig, why = pac.report.preferred(pac.report.strongest(r, { 'Cz' }, 9))
    assert.is_nil(fig)
    assert.equal('No coupling has p < 0.05, so no preferred phases are drawn.', why)
    value[{ 1, 3, 2 }] = 1
    best = pac.report.strongest(r, { 'Cz' }, 9)
    assert.is_nil(pac.report.largest_note(best))
    assert.is_nil(pac.report.table(best):find('largest', 1, true))
  end)
end)

describe('pac.source', function()
  local x
  setup(function()
    mc.file.make_folder(folder)
    x = mc.randn { 4, 1000, seed = 4 }
    brainvision('r', x, 256, { 'Fz', 'Cz', 'VEOG', 'Status' }, { { 'New Segment', '', 1, 1 },
      { 'Comment', 'BAD muscle', 101, 100 }, { 'Bad Interval', 'jump', 501, 50 }, { 'Stimulus', 'S1', 700, 300 } })
  end)
  teardown(function() os.execute("rm -rf '" .. folder .. "'") end)

  it('names the channels that record no brain signal and leaves them out', function()
    local s = pac.source.open(path 'r.vhdr', {})
    assert.same({ 'Fz', 'Cz' }, s.names)
    said(s.notes, 'left out, since they record no brain signal: VEOG (eog), Status (stim)')
    assert.same({ 'VEOG' }, pac.source.open(path 'r.vhdr', { pick = { 'VEOG' } }).names)
    assert.same({ 'Fz', 'Cz', 'VEOG' }, pac.source.open(path 'r.vhdr', { types = { VEOG = 'eeg' } }).names)
  end)

  it('masks the stretches annotated as bad, whatever the case and the kind of marker, and says so', function()
    local s = pac.source.open(path 'r.vhdr', {})
    assert.same({ { 1, 100 }, { 201, 500 }, { 551, 1000 } }, s.windows)
    said(s.notes, 'masked: 0.6 of 3.9 s, in 2 stretches annotated as bad; --keep-marked')
    local all = pac.source.open(path 'r.vhdr', { keep_marked = true })
    assert.is_nil(all.windows)
    said(all.notes, '2 stretches annotated as bad are analysed too')
    local late = pac.source.open(path 'r.vhdr', { from = 150 / 256, to = 900 / 256 })
    assert.same({ { 51, 350 }, { 401, 750 } }, late.windows)
    close(x[{ { 1, 2 }, { 151, 900 } }], late:read(1, 2):reshape(2, 750), 1e-6)
    local o = with { windows = s.windows, n_perm = 9 }
    close(pac.compute(x['1:2'], o).pac, pac.source.run(pac.plan(1000, o), s).pac:reshape(2, 2, 2), 1e-6)
  end)

  it('takes arrays of two axes as channels x samples, however many rows, and says so', function()
    local wide = mc.randn { 100, 300, seed = 2 }
    mc.save(path 'wide.npy', wide)
    local s = pac.source.open(path 'wide.npy', { fs = 256 })
    assert.equal(100, s.C)
    assert.equal(1, s.S)
    said(s.notes, 'read as 100 channels x 300 samples; --axes ST says')
    local t = pac.source.open(path 'wide.npy', { fs = 256, axes = 'ST' })
    assert.equal(1, t.C)
    assert.equal(100, t.S)
    close(wide['..., 129:256'],
      pac.source.open(path 'wide.npy', { fs = 256, from = 0.5, to = 1 }):read(1, 100):reshape(100, 128), 0)
    assert.has_error(function() pac.source.open(path 'wide.npy', { fs = 256, to = 5 }) end,
      'pac: from 0 to 5 s is not within the 1.17188 s there are; check --from and --to')
  end)

  it('opens epochs as segments', function()
    local e = mc.meeg.epochs.new { data = mc.randn { 5, 3, 200, seed = 1 }, fs = 256, channels = { 'Fz', 'Cz', 'EOG' },
      types = { 'eeg', 'eeg', 'eog' } }
    e:save(path 'x-epo.fif')
    local s = pac.source.open(path 'x-epo.fif', {})
    assert.same({ 2, 5, 200, true }, { s.C, s.S, s.T, s.segmented })
    close(e.data:permute_dims(2, 1, 3)['1:2'], s:read(1, 2), 1e-6)
  end)

  it('refuses a rate that is not that of the file, and channels of nothing', function()
    assert.has_error(function() pac.source.open(path 'r.vhdr', { fs = 500 }) end,
      'pac: ' .. path 'r.vhdr' .. ' has a rate of 256 Hz and --fs says 500; leave --fs out')
    brainvision('none', x['1:1'], 256, { 'Status' }, {})
    assert.has_error(function() pac.source.open(path 'none.vhdr', {}) end,
      'pac: ' .. path 'none.vhdr' .. ' has no channel to analyse: Status (stim); name some with --pick')
  end)

  it('reads masks: true where a sample counts, or stretches that do not count', function()
    local keep = mc.ones({ 1000 }, { dtype = 'bool' })
    keep[{ { 301, 400 } }] = false
    mc.save(path 'keep.npy', keep)
    mc.file.write(path 'bad.csv', 'onset,duration\n1.171875,0.390625\n')
    for _, mask in ipairs { 'keep.npy', 'bad.csv' } do
      local s = pac.source.open(path 'r.vhdr', { mask = path(mask), keep_marked = true })
      assert.is_true(mc.array_equal(keep, s.mask), mask)
      said(s.notes, 'masked: 10.0 % of the samples are left out')
      local both = pac.source.open(path 'r.vhdr', { mask = path(mask) })
      assert.equal(750, mc.sum(both.mask:to 'i64'):item())
    end
    mc.save(path 'short.npy', keep['1:900'])
    assert.has_error(function() pac.source.open(path 'r.vhdr', { mask = path 'short.npy' }) end,
      'pac: the mask ' .. path 'short.npy'
      .. ' is bool[900]@cpu; it must be [1000] or [1, 1000]: samples, or segments x samples')
  end)
end)

describe('masks of trials', function()
  local x, m
  setup(function()
    x = generate.g3 { n = 1000, fs = 256, fp = 6, fa = 60, segments = 4, sigma = 0.5 }
    m = mc.ones({ 4, 1000 }, { dtype = 'bool' })
    m[{ 2, { 1, 300 } }] = false
    m[{ 3, { 500, 900 } }] = false
  end)

  it('give what each trial gives under its own mask', function()
    for _, measure in ipairs { 'mi', 'mvl', 'gc' } do
      for _, filter in ipairs { 'fir1', 'morlet' } do
        local r =
          pac.compute(x, with { axes = 'ST', mask = m, measure = measure, filter = filter, n_perm = 9, mcp = 'none' })
        for s = 1, 4 do
          local a = pac.compute(x[s],
            with { axes = 'T', mask = m[s], measure = measure, filter = filter, n_perm = 9, mcp = 'none' })
          for _, name in ipairs { 'pac', 'z', 'p', 'status' } do close(a[name], r[name][s], 1e-9) end
        end
      end
    end
  end)

  it('pool the samples that are kept, joined end to end', function()
    local o = { axes = 'ST', mask = m, pool_segments = true }
    local r = pac.compute(x, with(o))
    local whole = pac.plan(1000, with { axes = 'ST' })
    assert.same({ 2, 2 }, { r.pac:size() })
    -- bin sums of the trials, by hand, from phases and amplitudes of whole rows
    local engine = require 'workflows.pac.engine'
    local phase, amp = engine.analytic(whole.engine, x, 'pha'), engine.analytic(whole.engine, x, 'amp')
    local cut = {}
    for k, t in ipairs { phase, amp } do
      local list = {}
      for s = 1, 4 do list[s] = mc.take(t[s], mc.nonzero(m[s]):reshape(-1), 2) end
      cut[k] = mc.concat(list, 2)
    end
    close(pac.from_phases(cut[1], cut[2], { axes = 'T', dtype = 'f64' }).pac, r.pac, 1e-12)
    local z = pac.compute(x, with { axes = 'ST', mask = m, pool_segments = true, surrogate = 'exhaustive' })
    assert.is_true(z.z[{ 1, 1 }]:item() > 5 and z.p[{ 1, 1 }]:item() < 0.05, tostring(z.z) .. tostring(z.p))
  end)

  it('of equal rows are one mask, and a trial that keeps nothing is NaN', function()
    local same = mc.ones({ 4, 1000 }, { dtype = 'bool' })
    same[{ mc.all, { 1, 100 } }] = false
    local one = pac.compute(x, with { axes = 'ST', mask = same[1], n_perm = 5 })
    assert.is_true(mc.array_equal(one.z, pac.compute(x, with { axes = 'ST', mask = same, n_perm = 5 }).z))
    local none = m:copy()
    none[1] = false
    local r = pac.compute(x, with { axes = 'ST', mask = none, n_perm = 5 })
    assert.is_true(mc.all(mc.isnan(r.pac[1])) and mc.all(mc.isnan(r.p[1])) and mc.all(mc.eq(r.status[1], 4))
      and mc.all(mc.isfinite(r.pac['2:4'])))
    said(r.warnings, '1 of 4 trials keep too few samples under the mask')
  end)

  it('are refused in words where they cannot be', function()
    for _, case in ipairs {
      { { surrogate = 'exhaustive' }, 'different number of samples in each trial' },
      { { surrogate = 'swap_trials', n_perm = 5 }, 'cannot change places' },
      { { bin_norm = 'pooled' }, 'bin_norm is "pooled"' },
      { { mask = m['1:3'] }, 'give [samples], [segments, samples] or the shape of x' },
      { { mask = m['..., 1:99'] }, 'rows have 1000 samples' },
    } do
      local o = { axes = 'ST', mask = m }
      for k, v in pairs(case[1]) do o[k] = v end
      local ok, why = pcall(pac.compute, x, with(o))
      assert.is_false(ok)
      assert.truthy(tostring(why):find(case[2], 1, true), tostring(why))
    end
  end)
end)

describe('pac.source of arrays', function()
  local numpy -- an .npz with texts, as NumPy stores them, written here: U arrays are UTF-32
  setup(function()
    mc.file.make_folder(folder)
    local ffi, bit = require 'ffi', require 'bit'
    local function word(n, bytes)
      local out = {}
      for i = 1, bytes do out[i] = string.char(bit.band(bit.rshift(n, 8 * (i - 1)), 255)) end
      return table.concat(out)
    end
    local function npy(dtype, shape, bytes)
      local head = ("{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }"):format(dtype, shape)
      head = head .. (' '):rep((64 - (#head + 11) % 64) % 64) .. '\n'
      return '\147NUMPY\1\0' .. word(#head, 2) .. head .. bytes
    end
    local function crc(s)
      local c = ffi.new('uint32_t', 0xffffffff)
      for i = 1, #s do
        c = bit.bxor(tonumber(c), s:byte(i))
        for _ = 1, 8 do c = bit.band(c, 1) == 1 and bit.bxor(bit.rshift(c, 1), 0xedb88320) or bit.rshift(c, 1) end
      end
      return bit.bnot(tonumber(c))
    end
    local function zip(members)
      local out, central, at = {}, {}, 0
      for _, m in ipairs(members) do
        local name, bytes = m[1] .. '.npy', m[2]
        local rest = word(20, 2) .. word(0, 2) .. word(0, 2) .. word(0, 4) .. word(crc(bytes), 4) .. word(#bytes, 4)
          .. word(#bytes, 4) .. word(#name, 2) .. word(0, 2)
        local piece = 'PK\3\4' .. rest .. name .. bytes
        central[#central + 1] = 'PK\1\2' .. word(20, 2) .. rest .. word(0, 2) .. word(0, 2) .. word(0, 2) .. word(0,
          4) .. word(at, 4) .. name
        out[#out + 1], at = piece, at + #piece
      end
      local dir = table.concat(central)
      return table.concat(out) .. dir .. 'PK\5\6' .. word(0, 4) .. word(#members, 2) .. word(#members, 2) .. word(#dir,
        4) .. word(at, 4) .. word(0, 2)
    end
    local function texts(list)
      local long, bytes = 1, {}
      for _, t in ipairs(list) do long = math.max(long, #t) end
      for _, t in ipairs(list) do
        for i = 1, long do bytes[#bytes + 1] = word(i <= #t and t:byte(i) or 0, 4) end
      end
      return npy('<U' .. long, #list, table.concat(bytes))
    end
    local function numbers(x)
      local flat = x:reshape(-1):totable()
      local shape = table.concat({ x:size() }, ', ')
      return npy('<f8', shape, ffi.string(ffi.new('double[?]', #flat, flat), 8 * #flat))
    end
    function numpy(name, arrays)
      local members = {}
      for _, a in ipairs(arrays) do members[#members + 1] = { a[1], mc.is_tensor(a[2]) and numbers(a[2])
        or a[2].object and npy('|O', 1, a[2].object) or texts(a[2]) } end
      mc.file.write(path(name), zip(members))
    end
  end)
  teardown(function() os.execute("rm -rf '" .. folder .. "'") end)

  it('takes the texts of an archive that are as many as channels as their names, and says what it ignores', function()
    local x = mc.randn { 2, 400, seed = 1 }
    for _, name in ipairs { 'ch_names', 'names', 'channels' } do
      numpy('n.npz', { { 'who', { 'somebody' } }, { name, { 'Cz', 'EOG' } }, { 'data', x }, { 'sf',
        mc.tensor { 250 } } })
      local s = pac.source.open(path 'n.npz', {})
      assert.same({ 'Cz' }, s.names)
      said(s.notes, 'left out, since they record no brain signal: EOG (eog); --pick names channels')
      said(s.notes, 'who is ignored: it holds text')
      assert.same({ 'EOG' }, pac.source.open(path 'n.npz', { pick = { 'EOG' } }).names)
      local typed = pac.source.open(path 'n.npz', { types = { Cz = 'misc', EOG = 'eeg' } })
      assert.same({ 'EOG' }, typed.names)
      close(x['2:2'], typed:read(1, 1):reshape(1, 400), 0)
      close(x[{ { 2, 2 }, { 11, 20 } }], typed:span({ 1 }, 11, 20), 0)
      assert.error_matches(function() pac.source.open(path 'n.npz', { types = { EOF = 'eeg' } }) end,
        'names the channel "EOF", which .* does not have, did you mean "EOG"')
      assert.error_matches(function() pac.source.open(path 'n.npz', { types = { Cz = 'stim', EOG = 'stim' } }) end,
        'has no channel to analyse')
      local r = mc.meeg.open(path 'n.npz')
      assert.same({ 'Cz', 'EOG' }, r:names())
      assert.equal('eog', r.channels[2].type)
    end
    numpy('m.npz', { { 'names', { 'a', 'b', 'c' } }, { 'data', x }, { 'odd', { object = '\128\4N.' } }, { 'sf',
      mc.tensor { 250 } } })
    assert.error_matches(function() pac.source.open(path 'm.npz', { types = { a = 'eog' } }) end,
      '%-%-types is for channels with names, and .*m.npz names none')
    local s, r = pac.source.open(path 'm.npz', {}), mc.meeg.open(path 'm.npz')
    assert.same({ 'ch1', 'ch2' }, s.names)
    assert.same({ 'ch1', 'ch2' }, r:names())
    for _, list in ipairs { s.notes, r.warnings } do
      said(list, 'names is ignored: it names 3 channels, and there are 2')
    end
    said(s.notes, 'odd is ignored: ')
  end)

  it('says how three axes are read, takes them in any order, and believes the names', function()
    local x = mc.randn { 5, 2, 300, seed = 3 }
    mc.save(path 'three.npy', x)
    local s = pac.source.open(path 'three.npy', { fs = 250 })
    assert.same({ 5, 2 }, { s.C, s.S })
    said(s.notes, 'read as 5 channels x 2 segments x 300 samples; --axes SCT says that segments come first')
    local t = pac.source.open(path 'three.npy', { fs = 250, axes = 'SCT' })
    assert.same({ 2, 5, 300 }, { t.C, t.S, t.T })
    assert.same({}, t.notes)
    close(x[{ mc.all, { 2, 2 } }]:permute_dims(2, 1, 3), t:read(2, 2), 0)
    numpy('three.npz', { { 'data', x }, { 'ch_names', { 'u', 'v' } } })
    local n = pac.source.open(path 'three.npz', { fs = 250 })
    assert.same({ 2, 5, 'u' }, { n.C, n.S, n.names[1] })
    said(n.notes, 'read as 5 segments x 2 channels x 300 samples, since ch_names names 2 channels')
    mc.save(path 'turned.npy', mc.randn { 300, 200 })
    said(pac.source.open(path 'turned.npy', { fs = 250 }).notes, '--axes TC says that it is samples x channels')
    mc.save(path 'turned.npy', x[1].T:contiguous())
    assert.error_matches(function() pac.source.open(path 'turned.npy', { fs = 250 }) end,
      'would be 300 channels of 2 samples, which is hardly meant; give %-%-axes TC')
    assert.equal(300, pac.source.open(path 'turned.npy', { fs = 250, axes = 'CT' }).C)
    local c = pac.source.open(path 'turned.npy', { fs = 250, axes = 'TC', from = 0.4 })
    close(x[1]['..., 101:300'], c:read(1, 2):reshape(2, 200), 0)
    close(x[1]['..., 111:120'], c:span({ 1, 2 }, 11, 20), 0)
    for _, axes in ipairs { 'CC', 'CTX', 'CS', 'TCS' } do
      assert.error_matches(function() pac.source.open(path 'turned.npy', { fs = 250, axes = axes }) end,
        'give %-%-axes as T, CT')
    end
  end)

  it('says which channels look like triggers', function()
    local x = mc.round(100 * mc.randn { 3, 2000, seed = 5 })
    x[2] = 0
    x[{ 2, { 300, 340 } }], x[{ 2, { 900, 950 } }] = 5, 7
    x[3] = 0
    mc.save(path 'trig.npy', x:to 'i16')
    local s = pac.source.open(path 'trig.npy', { fs = 250 })
    said(s.notes, 'ch2 looks like a trigger channel')
    assert.equal(2, #s.notes)
    assert.equal(0, #pac.source.open(path 'trig.npy', { fs = 250, axes = 'CT', pick = { 'ch2' } }).notes)
  end)

  it('names channels without z, and leaves them out of means and counts', function()
    local x = mc.randn { 4, 1000, seed = 6 }
    x[3], x[{ 4, 10 }] = 0, 0 / 0
    local names = { 'a', 'b', 'flat', 'nan' }
    for _, way in ipairs { { n_perm = 50 }, { surrogate = 'exhaustive' } } do
      local plan = pac.plan(1000, with(way))
      for _, per in ipairs { 1, 4 } do
        local r = pac.source.run(plan, pac.source.wrap(x, { fs = 256, names = names, axes = 'CT' }), { channels = per })
        assert.equal('2 of 4 channels have no z and take no part in means over channels: flat (flat), '
          .. 'nan (NaN or infinite samples)', r.warnings[#r.warnings])
        assert.truthy(pac.report.family(r):find('corrected for 8 pairs: 2 maps of 2 phase x 2', 1, true),
          pac.report.family(r))
        local fig = mc.plot.render(pac.report.comodulogram(r, 'x'))
        assert.truthy(fig:find('mean z over 2 of 4 channels', 1, true))
      end
      local r = plan:run(x)
      assert.equal('2 of 4 rows have no z: row 3 (flat), row 4 (NaN or infinite samples)', r.warnings[#r.warnings])
      assert.equal(0, #plan:run(x['1:2']).silent)
    end
    mc.save(path 'gap.npy', x['4:4'])
    mc.save(path 'without.npy', mc.gt(mc.arange(1, 1000), 20))
    local gap = pac.source.open(path 'gap.npy', { fs = 256, mask = path 'without.npy' })
    local masked = pac.source.run(pac.plan(1000, with { n_perm = 9, mask = gap.mask }), gap)
    said(masked.warnings, 'even where they are masked, since filters come before the mask; put numbers there')
    local seg = mc.randn { 2, 3, 1000, seed = 7 }
    seg[{ 2, 3, 5 }] = 0 / 0
    local plan = pac.plan(1000, with { n_perm = 50, axes = 'CST' })
    local r = pac.source.run(plan, pac.source.wrap(seg, { fs = 256, axes = 'CST' }))
    said(r.warnings, '1 of 6 segments has no z and takes no part in means over segments: '
      .. '3 of ch2 (NaN or infinite samples)')
    local m = pac.report.maps(r)
    assert.is_true(mc.all(mc.isfinite(m.z)))
    close((r.z[{ 2, 1 }] + r.z[{ 2, 2 }]) / 2, m.z[2], 1e-12)
  end)
end)
