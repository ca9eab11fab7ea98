-- autoreject_results_spec.lua - the three ways of cleaning under one name, and the folder they leave.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local tol = support.load 'tol'
local results, ways = mc.autoreject.results, mc.autoreject.ways

local function s1()
  local s = mc.autoreject.generate.s1()
  return mc.meeg.epochs.new { data = s.data, fs = s.fs, channels = s.names, positions = s.positions }
end

describe('mc.autoreject.ways.clean', function()
  it('is fit and transform by the local way', function()
    local e = s1()
    local r = ways.clean(e, 'local', { random_state = 42, verbose = false })
    local clean, log = mc.autoreject.fit_transform(e, { random_state = 42, verbose = false })
    assert.is_true(mc.array_equal(clean.data, r.clean.data))
    assert.same(log:bad_list(), r.log:bad_list())
    assert.equal('eeg', r.types[1].type)
    assert.is_true(rawequal(e, r.before))
  end)

  it('drops by one limit a type, whose table names the channels it stands for', function()
    local e = s1()
    local r = ways.clean(e, 'global', { verbose = false })
    local limit = mc.autoreject.get_rejection_threshold(e, { verbose = false }).eeg
    local range = mc.max(mc.max(e.data, 3) - mc.min(e.data, 3), 2):totable()
    local bad = {}
    for k, v in ipairs(range) do if v > limit then bad[#bad + 1] = k end end
    assert.same(bad, r.log:bad_list())
    assert.equal(30 - #bad, r.clean:count())
    assert.same({ 'all eeg' }, r.types[1].channels)
    assert.equal(16, #r.types[1].members)
    assert.equal(limit, r.types[1].thresholds[1])
  end)

  it('repairs what others cannot predict, in every epoch', function()
    local r = ways.clean(s1(), 'ransac', { verbose = false })
    assert.same({ 'ch05' }, r.ransac.bad_channels)
    assert.same({ 450, 0, 30 }, (function(n) return { n[0], n[1], n[2] } end)(r.log:counts()))
    assert.equal(30, r.clean:count())
  end)

  it('says beforehand what it will take, growing with epochs, and more for MEG', function()
    local function set(E, kind) return mc.meeg.epochs.new { data = mc.zeros { E, 4, 8 }, fs = 100, types = kind } end
    local one, two, meg = ways.plan(set(10, 'eeg')), ways.plan(set(20, 'eeg')), ways.plan(set(10, 'grad'))
    assert.equal(2 * one.seconds, two.seconds)
    assert.is_true(one.seconds > 0 and meg.seconds > one.seconds)
    assert.is_true(one.bytes >= 2 * 10 * 4 * 8 * 8)
  end)

  it('knows three ways', function()
    assert.error_matches(function() ways.clean(s1(), 'locl') end, "way is 'locl'; choose local, global or ransac")
  end)
end)

describe('repair of MEG', function()
  --- 20 sites on a helmet with a magnetometer and a gradiometer each.
  local function helmet()
    local list, u = {}, mc.randn { 6, 40, 50, seed = 3, dtype = 'f64' }
    for i = 0, 19 do
      local z, phi = 0.95 - 1.2 * i / 20, i * 2.4
      local r = math.sqrt(1 - z * z)
      local n, x = { r * math.cos(phi), r * math.sin(phi), z }, { -math.sin(phi), math.cos(phi), 0 }
      local y = { n[2] * x[3] - n[3] * x[2], n[3] * x[1] - n[1] * x[3], n[1] * x[2] - n[2] * x[1] }
      local loc = { 0.11 * n[1], 0.11 * n[2], 0.11 * n[3] + 0.04, x[1], x[2], x[3], y[1], y[2], y[3], n[1], n[2], n[3] }
      list[#list + 1] = { name = 'A' .. i, type = 'mag', loc = loc, coil = 3024 }
      list[#list + 1] = { name = 'B' .. i, type = 'grad', loc = loc, coil = 3012 }
    end
    return mc.meeg.epochs.new { data = u * 1e-12, fs = 100, channels = list }
  end

  it('takes sensors of the same type, and with compat of both types, as upstream does', function()
    local e, limit = helmet(), {}
    for _, c in ipairs(e.channels) do limit[c.name] = 1 end
    local labels = mc.zeros { 6, 40 }
    labels[{ 2, 5 }], labels[{ 2, 9 }], labels[{ 4, 6 }] = 2, 2, 2
    local log = mc.autoreject.log.new(labels, { false, false, false, false, false, false }, e:names())
    local mags, all = {}, {}
    for i = 1, 40 do all[i] = i end
    for i = 1, 20 do mags[i] = 2 * i - 1 end
    for compat, case in pairs { native = { mags, { 3, 5 } }, upstream = { all, { 5, 9 } } } do
      local model = mc.autoreject.fit(e,
        { thresholds = limit, compat = compat, cv = 3, n_interpolate = { 1 }, verbose = false, random_state = 1 })
      local clean = model:transform(e, { reject_log = log })
      local W = mc.meeg.field.repairer(e.channels, case[1]):weights(case[2])
      local want = mc.matmul(W, mc.take(e.data[2], mc.tensor(case[1], { dtype = 'i64' }), 1))
      local got = mc.take(clean.data[2], mc.tensor({ 5, 9 }, { dtype = 'i64' }), 1)
      tol.below((mc.max(mc.abs(got - want)) / mc.max(mc.abs(want))):item(), 1e-12, compat)
    end
  end)
end)

describe('mc.autoreject.results', function()
  local folder
  before_each(function()
    folder = os.tmpname()
    os.remove(folder)
  end)
  after_each(function() os.execute("rm -rf '" .. folder .. "'") end)

  it('averages block by block what is averaged at once', function()
    local e = s1()
    local picks = { 2, 5, 16 }
    local want = mc.mean(mc.take(e.data, mc.tensor(picks, { dtype = 'i64' }), 2), 1)
    tol.below(mc.max(mc.abs(results.average(e, picks) - want)):item(), 1e-18)
  end)

  it('writes the same bytes twice, but for times, and notes them', function()
    local r = ways.clean(s1(), 'local', { random_state = 42, verbose = false })
    r.settings, r.subtitle = { { 'seed', 42 } }, 'S1'
    local bytes = {}
    for k = 1, 2 do
      local dir = folder .. '/' .. k
      results.folder(dir)
      local record = mc.manifest.new { seed = 42 }
      local names = results.write(dir, r, record)
      assert.same({ 'cleaned-epo.fif', 'reject_log.npz', 'thresholds.csv', 'log.svg', 'thresholds.svg', 'loss.svg',
        'evoked.svg', 'bad_channels.svg', 'report.html', mc.manifest.NAME }, names)
      names[#names] = nil -- the record has times in it
      assert.equal(#names, #mc.manifest.read(dir).outputs)
      bytes[k] = {}
      for i, name in ipairs(names) do bytes[k][i] = assert(mc.file.read(dir .. '/' .. name)) end
    end
    assert.is_true(table.concat(bytes[1]) == table.concat(bytes[2]))
  end)

  it('refuses to replace results unasked', function()
    results.folder(folder)
    assert(mc.file.write(folder .. '/report.html', 'mine'))
    assert.error_matches(function() results.folder(folder) end, 'report.html is there already')
    results.folder(folder, true)
    assert.error_matches(function() results.folder '/proc/none' end, '/proc/none')
  end)

  it('leaves out averages where no epoch is left', function()
    local e = s1()
    local r = ways.clean(e, 'local',
      { random_state = 42, verbose = false, consensus = { 0 }, n_interpolate = { 1 }, allow_empty = true })
    assert.equal(0, r.clean:count())
    results.folder(folder)
    local names = results.write(folder, r)
    for _, name in ipairs(names) do assert.not_equal('evoked.svg', name) end
  end)
end)
