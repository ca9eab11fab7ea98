-- meeg_head_spec.lua - projectors applied to epochs and files of electrodes, as MNE-Python has them.
--
-- Files and answers come from a golden (make_meeg_head.py).
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local recordings, tol = support.load 'recordings', support.load 'tol'
local mc = require 'mascon'
local message = support.message
local meeg = mc.meeg

local g = recordings.golden(support, 'meeg_head')
local folder
before_each(function()
  folder = recordings.folder()
  recordings.unpack(g, folder)
end)
after_each(function() recordings.remove(folder) end)
local function at(name) return folder .. '/' .. name end

local EEG, MAG = { 1, 2, 3, 4, 5, 6, 7 }, { 8, 9, 10, 11, 12 }
local CUT = { tmin = -0.1, tmax = 0.15 }
local function cut(raw, more)
  local o = { events = g.about.events }
  for k, v in pairs(CUT) do o[k] = v end
  for k, v in pairs(more or {}) do o[k] = v end
  return meeg.epochs.cut(raw, o)
end

--- Samples equal to the golden's, relative to the largest of each channel.
local function same(want, got, what)
  local scale = mc.maximum(mc.max(mc.abs(want), { axis = { 1, 3 }, keepdim = true }), 1e-300)
  assert.same({ unpack(want.shape) }, { unpack(got.shape) })
  tol.below(mc.max(mc.abs(got - want) / scale):item(), 1e-12, what)
end

describe('projectors of a recording', function()
  it('are applied when epochs are cut, as MNE applies them', function()
    local raw = meeg.raw.open(at 'p_raw.fif')
    assert.truthy(raw.warnings[1]:find('3 projectors not applied to its samples', 1, true), raw.warnings[1])
    local e = cut(raw)
    same(g.arrays['cut eeg'], e:read { channels = EEG }, 'eeg')
    same(g.arrays['cut mag'], e:read { channels = MAG }, 'mag')
    for _, p in ipairs(e.info.projs) do assert.is_true(p.active) end
    for _, p in ipairs(raw.info.projs) do assert.is_false(p.active) end
    -- parts of the set, one epoch and one channel, and what no projector touches
    local whole, plain = e:read(), cut(raw, { proj = false })
    assert.is_true(mc.array_equal(whole['4:4, 9:9'], e:read { first = 4, last = 4, channels = { 9 } }))
    assert.is_true(mc.array_equal(whole['2:3, 5:6'], e:drop({ 1 }):pick({ 4, 5, 6 }):read { last = 2, channels = { 2,
      3 } }))
    for _, i in ipairs { 3, 12, 13 } do
      assert.is_true(mc.array_equal(plain:read { channels = { i } }, e:read { channels = { i } }))
    end
    assert.is_false(mc.array_equal(plain:read { channels = { 1 } }, e:read { channels = { 1 } }))
    assert.is_true(mc.array_equal(whole, plain:apply_proj().data))
    assert.equal(e, e:apply_proj())
    assert.is_false(plain.info.projs[1].active)
    raw:close()
  end)

  it('come after detrending and baseline and before limits', function()
    local raw = meeg.raw.open(at 'p_raw.fif'):pick { 1, 2, 3, 4, 5, 6, 7 }
    local e = cut(raw, { baseline = { -math.huge, 0 }, detrend = 'linear', reject = { eeg = 5e-5 } })
    local kept = {}
    for i, s in ipairs(e.selection) do kept[i] = s - 1 end
    assert.same(g.arrays.kept:totable(), kept)
    same(g.arrays.corrected, e.data, 'corrected')
    raw:close()
  end)

  it('are applied to epochs of a file where they are read', function()
    local e = meeg.open(at 'p-epo.fif')
    assert.is_nil(rawget(e, 'data'))
    same(g.arrays['read eeg'], e:read { channels = EEG }, 'eeg')
    same(g.arrays['read mag'], e:read { channels = MAG }, 'mag')
    local plain = meeg.open(at 'p-epo.fif', { proj = false })
    assert.truthy(plain.warnings[1]:find('3 projectors not applied', 1, true))
    assert.is_false(mc.array_equal(plain.data, e.data))
    e:save(at 'again-epo.fif', { dtype = 'f64' })
    local again = meeg.open(at 'again-epo.fif')
    assert.equal(0, #again.warnings)
    assert.is_true(mc.array_equal(e.data, again.data))
  end)

  it('that name a channel twice are refused', function()
    local e = meeg.epochs.new { data = mc.ones { 2, 2, 4 }, fs = 10, channels = { 'A', 'B' },
      info = { projs = { { name = 'P', channels = { 'A', 'A' }, data = { { 1, 1 } }, active = false } } } }
    assert.truthy(message(e.apply_proj, e):find('the projector "P" names A twice', 1, true))
  end)
end)

describe('files of electrodes', function()
  it('give the positions that MNE gives', function()
    local count = 0
    for key, want in pairs(g.arrays) do
      local name = key:match '^pos (.*)$'
      if name then
        count = count + 1
        local list = {}
        for i, label in ipairs(g.about.labels) do list[i] = { name = label, type = 'eeg' } end
        local m = meeg.montage.read(at(name))
        for i, label in ipairs(g.about.labels) do
          for k = 1, 3 do tol.below(math.abs(m.positions[label][k] - want[i][k]:item()), 1e-7, name) end
        end
        local joined, report = meeg.montage.join(list, at(name))
        assert.equal(8, report.matched)
        assert.same(m.positions.E3, joined[3].position)
      end
    end
    assert.equal(10, count)
    local bare = meeg.montage.read(at 'bare.elc', { radius = false })
    local other = meeg.montage.read(at 'bare.elc', { radius = 0.095 })
    local r = bare.positions.Fz[1] / other.positions.Fz[1]
    tol.below(math.abs(bare.positions.Oz[3] / other.positions.Oz[3] - r), 1e-9, 'one scale')
  end)

  it('that are damaged are refused with the line', function()
    local function says(name, text, words)
      recordings.write(at(name), text)
      assert.truthy(message(meeg.montage.read, at(name)):find(words, 1, true), message(meeg.montage.read, at(name)))
    end
    says('a.elc', 'Positions\n1 2 3\nLabels\nA\n', 'a line "UnitPosition mm" (or m) before the positions is missing')
    says('a.elc', 'UnitPosition mm\n1 2 3\n', 'a line "Positions" is missing')
    says('a.elc', 'UnitPosition inch\nPositions\n1 2 3\nLabels\nA\n', 'another: inch')
    says('a.elc', 'UnitPosition mm\nPositions\n1 2 x\nLabels\nA\n', 'line 3 has no three numbers')
    says('a.elc', 'UnitPosition mm\nPositions\n1 2 3\n4 5 6\nLabels\nA\n', '2 positions and 1 labels')
    says('a.sfp', 'A 1 2\n', 'line 1 is no "name x y z"')
    says('a.sfp', 'A 1 2 3\nA 1 2 3\n', 'names "A" twice')
    says('a.sfp', 'A 0 0 0\n', 'lie at the origin')
    says('a.sfp', '\n', 'names no electrode')
    says('a.sfp', 'A 1 2 3\nfidnz 1 0 0\nfidt9 2 0 0\nfidt10 3 0 0\n', 'lie on one line')
    says('a.locs', '1 x 0.5 A\n', 'line 1 is no "number theta radius name"')
    says('a.elp', 'EEG A 1 2\n', 'of BESA')
    says('a.txt', 'Site Theta Phi\nA 1\n', 'line 2 is no "name theta phi"')
    assert.truthy(message(meeg.montage.read, at 'none.elc'):find('check the path', 1, true))
    assert.truthy(message(meeg.montage.read, at 'a.xyz'):find('give a table (.csv, .tsv) or a file of electrodes', 1,
      true))
    assert.truthy(message(meeg.montage.read, at 'egi.sfp', { unit = 'mm' }):find('option unit is for tables', 1, true))
    assert.truthy(message(meeg.montage.read, at 'egi.sfp', { radius = true }):find('option radius is true', 1, true))
    assert.truthy(message(meeg.montage.standard, 'standard_1005'):find('"10-05" has the same names on a sphere', 1,
      true))
  end)
end)
