-- meeg_montage_spec.lua - places of electrodes against MNE-Python, how labels find them, what is said when they do not.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local tol = support.load 'tol'
local montage = mc.meeg.montage

local file
local function golden()
  file = file or mc.load(support.folder .. '/golden/montages.npz')
  return file
end

local function text_of(t)
  local out = {}
  for i, b in ipairs(t:totable()) do out[i] = string.char(b) end
  return table.concat(out)
end

--- The largest distance of a montage from places of the golden file; names that only one of them has.
local function distance(m, name, scale)
  local pos, i, worst, only = golden()[name .. '_pos']:to 'f64' * scale, 0, 0, {}
  pos = pos:totable()
  for label in text_of(golden()[name .. '_names']):gmatch '%S+' do
    i = i + 1
    local p = m.positions[label]
    if not p then only[#only + 1] = label
    else for k = 1, 3 do worst = math.max(worst, math.abs(p[k] - pos[i][k])) end end
  end
  return worst, only, i
end

local function eeg(...)
  local list = {}
  for i, name in ipairs { ... } do list[i] = { name = name, type = 'eeg' } end
  return list
end

describe('mc.meeg.montage.standard', function()
  it('has the caps of BioSemi where MNE has them', function()
    for _, n in ipairs { 16, 32, 64, 128, 160, 256 } do
      local m = montage.standard('biosemi' .. n)
      local worst, only, count = distance(m, 'biosemi' .. n, 1)
      assert.same({}, only)
      assert.equal(n, count)
      assert.equal(n, #m.names)
      -- stored in f32; MNE cuts off fractions of degrees, of which the larger caps have some in both angles
      tol.below(worst, n <= 64 and 1e-8 or math.sqrt(2) * 0.095 * math.rad(1), m.name)
    end
  end)

  it('has the 10-05 system on a half sphere where the tables of MNE have it', function()
    local m = montage.standard('10-05', { inclination = 90, radius = 1 })
    local worst, only = distance(m, 'ten_five', 1e-4)
    assert.same({}, only)
    tol.below(worst, 1.5e-4, 'four decimals, arcs searched point by point')
  end)

  it('puts rows and rings where the definition says', function()
    local p = montage.standard('10-05', { inclination = 90, radius = 1 }).positions
    local tenth = math.pi / 10
    tol.near({ 0, math.cos(tenth), math.sin(tenth) }, p.Fpz, 'Fpz', 1e-12)
    tol.near({ -math.sin(tenth) * math.cos(tenth), math.cos(tenth) * math.cos(tenth), math.sin(tenth) },
      p.Fp1, 'Fp1', 1e-12)
    tol.near({ -math.sin(2 * tenth), 0, math.cos(2 * tenth) }, p.C3, 'C3', 1e-12)
    for _, name in ipairs { 'F3', 'POO5h', 'TPP9h', 'OI1' } do -- left and right mirror
      local q = p[({ F3 = 'F4', POO5h = 'POO6h', TPP9h = 'TPP10h', OI1 = 'OI2' })[name]]
      tol.near({ -p[name][1], p[name][2], p[name][3] }, q, name, 1e-12)
    end
  end)

  it('stands on the landmarks: nasion and ears at height 0, every place on the sphere', function()
    for _, name in ipairs(montage.NAMES) do
      local m = montage.standard(name, { radius = 0.1 })
      assert.equal(0, m.landmarks.nasion[3] + m.landmarks.lpa[3] + m.landmarks.rpa[3])
      local worst = 0
      for _, label in ipairs(m.names) do
        local p, c = m.positions[label], m.centre
        worst = math.max(worst, math.abs(math.sqrt((p[1] - c[1]) ^ 2 + (p[2] - c[2]) ^ 2 + (p[3] - c[3]) ^ 2) - 0.1))
      end
      tol.below(worst, 1e-15, name)
    end
    local m = montage.standard '10-10'
    tol.near(m.landmarks.nasion, m.positions.Nz, 'Nz', 1e-12)
    tol.near(m.landmarks.lpa, m.positions.T9, 'T9', 1e-12)
  end)

  it('holds 21, 89 and 345 places, each system within the next', function()
    local small, middle, large = montage.standard '10-20', montage.standard '10-10', montage.standard '10-05'
    assert.same({ 21, 89, 345 }, { #small.names, #middle.names, #large.names })
    for _, n in ipairs(small.names) do assert.truthy(middle.positions[n], n) end
    for _, n in ipairs(middle.names) do assert.truthy(large.positions[n], n) end
  end)

  it('says what it does not know', function()
    assert.error_matches(function() montage.standard '10-06' end, 'did you mean "10%-05"')
    assert.error_matches(function() montage.standard 'biosemi48' end, 'biosemi')
    assert.error_matches(function() montage.standard('biosemi64', { inclination = 90 }) end, 'its own angles')
    assert.error_matches(function() montage.standard('10-20', { inclination = 140 }) end, 'at most 135')
    assert.error_matches(function() montage.standard('10-20', { radius = 0 }) end, 'number > 0')
  end)
end)

describe('mc.meeg.montage.find', function()
  it('understands the labels of recorders', function()
    for label, place in pairs {
      Fp1 = 'Fp1', FP1 = 'Fp1', fpz = 'Fpz', ['EEG Fp1-REF'] = 'Fp1', ['EEG T3-LE'] = 'T7', T6 = 'P8', ['Fc5.'] = 'FC5',
      ['Cz..'] = 'Cz', ['EEG_Pz'] = 'Pz', ['EEG:Oz'] = 'Oz',
      ['C3-A2'] = 'C3', [' O2 '] = 'O2', AFF5H = 'AFF5h', Nasion = 'Nz', ['EEG F4-M1M2'] = 'F4', ['EEGFz'] = 'Fz',
    } do
      assert.equal(place, montage.find(label), label)
    end
  end)

  it('does not take bipolar leads and other channels for places', function()
    for _, label in ipairs { 'Fp1-F7', 'EOG', 'A1', 'C3-P3', 'EEG', 'X1', '' } do
      assert.is_nil(montage.find(label), label)
    end
    assert.equal('A1', montage.find('A1', 'biosemi128'))
    assert.is_nil(montage.find('AFF5h', '10-10'))
  end)
end)

describe('mc.meeg.montage.join', function()
  it('gives channels their places, leaves the list given as it was, and reports the rest', function()
    local list = eeg('Fp1', 'T3', 'Foo', 'EOG 1')
    list[4].type = 'eog'
    local out, report = montage.join(list, '10-20')
    assert.is_nil(list[1].position)
    local m = montage.standard '10-20'
    assert.same(m.positions.Fp1, out[1].position)
    assert.same(m.positions.T7, out[2].position)
    assert.is_nil(out[3].position)
    assert.is_nil(out[4].position)
    assert.same({ matched = 2, places = { Fp1 = 'Fp1', T3 = 'T7' }, unmatched = { 'Foo' },
      text = '2 of 3 channels found in 10-20; without a place: Foo' }, report)
    assert.is_false(rawequal(m.positions.Fp1, out[1].position))
  end)

  it('keeps positions that are there when asked to', function()
    local list = eeg('Fp1', 'Cz')
    list[1].position = { 0.01, 0.02, 0.03 }
    assert.same({ 0.01, 0.02, 0.03 }, montage.join(list, '10-20', { overwrite = false })[1].position)
    assert.same(montage.standard('10-20').positions.Fp1, montage.join(list, '10-20')[1].position)
  end)

  it('refuses what cannot be meant', function()
    assert.error_matches(function() montage.join(eeg('Foo', 'Bar'), '10-20') end,
      'none of 2 channels is known to 10%-20: the recording has Foo, Bar; the montage has Fp1')
    assert.error_matches(function() montage.join(eeg('T3', 'T7'), '10-20') end, 'T3 and T7 both mean the place T7')
    assert.error_matches(function() montage.join(eeg('Cz', 'Foo'), '10-20', { missing = 'error' }) end,
      '1 of 2 channels found in 10%-20; without a place: Foo')
    assert.error_matches(function() montage.join(eeg 'Cz', '10-20', { overwrit = true }) end,
      'did you mean "overwrite"')
  end)
end)

describe('mc.meeg.montage.guess', function()
  it('takes a cap when nearly all of its pins are there, else 10-05', function()
    for _, name in ipairs { 'biosemi128', 'biosemi160', 'biosemi256' } do
      assert.equal(name, montage.guess(eeg('EXG1', unpack(montage.standard(name).names))))
      assert.equal(name, montage.guess(eeg(unpack(montage.standard(name).names, 10))))
    end
    assert.equal('10-05', montage.guess(eeg('FP1', 'Cz', 'EXG1')))
    assert.equal('10-05', montage.guess(eeg('C3', 'C4', 'F3', 'F4', 'A1')))
    assert.equal('10-05', montage.guess(eeg(unpack(montage.standard('biosemi128').names, 64))))
  end)
end)

describe('mc.meeg.montage.read', function()
  local path
  before_each(function() path = os.tmpname() .. '.csv' end)
  after_each(function() os.remove(path) end)
  local function write(text)
    local f = assert(io.open(path, 'wb'))
    f:write(text)
    f:close()
  end

  it('takes places from a table', function()
    write 'label,X,Y,Z\nE1,10,20,30\nE2,-10.5,0,90\n'
    local m = montage.read(path, { unit = 'mm' })
    tol.near({ -0.0105, 0, 0.09 }, m.positions.E2, 'E2', 1e-15)
    local out = montage.join(eeg('E2', 'e1'), m)
    tol.near({ 0.01, 0.02, 0.03 }, out[2].position, 'E1', 1e-15)
  end)

  it('says what is missing in it', function()
    write 'label,X,Y\nE1,10,20\n'
    assert.error_matches(function() montage.read(path) end, 'has the columns label, X, Y; it needs name, x, y and z')
    write 'name,x,y,z\nE1,1,2,3\nE1,4,5,6\n'
    assert.error_matches(function() montage.read(path) end, 'names "E1" twice')
    write 'name,x,y,z\nE1,1,2,3\nE2,4,foo,6\n'
    assert.error_matches(function() montage.read(path) end, 'no three numbers for "E2"')
  end)
end)

describe('mc.meeg.montage.positions', function()
  it('names the channels without a position', function()
    local list = montage.join(eeg('Cz', 'Foo', 'Pz', 'Bar'), '10-20')
    assert.error_matches(function() montage.positions(list, nil, 'autoreject.fit') end,
      '^[^\n]*autoreject%.fit: valid positions needed, 2 of 4 channels have none %(Foo, Bar%)')
    assert.equal(2, montage.positions(list, { 1, 3 }).shape[1])
    list[2].position, list[4].position = { 0, 0, 0 }, { 0, 0, 0 }
    assert.error_matches(function() montage.positions(list) end, '2 of 4 positions are exactly zero')
    list[4].position = { 0 / 0, 0, 0 }
    assert.error_matches(function() montage.positions(list) end, 'NaN or infinite %(Bar%)')
  end)

  it('are doubted when they lie on no sphere', function()
    local u = mc.meeg.sphere.units(montage.positions((montage.join(eeg('Cz', 'Pz', 'C3', 'C4', 'Fz', 'Oz'), '10-20'))))
    assert.is_nil(montage.doubt(u))
    assert.matches('off the best sphere', montage.doubt(mc.concat({ u * 0.02, u * -0.02, u * 0.1, u * -0.1 }, 1)))
  end)
end)
