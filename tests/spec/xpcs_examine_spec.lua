-- xpcs_examine_spec.lua - data as users bring them: times with gaps, q and units that do not fit, half matrices, lost
-- frames. Right, said before the fit, or refused by name.
local mc = require 'mascon'
local examine = require 'workflows.xpcs.read.examine'
local xpcs = mc.xpcs
local folder = os.tmpname()
os.remove(folder)

local function refused(f, ...)
  local ok, why = pcall(f)
  assert.is_false(ok)
  for _, part in ipairs { ... } do assert.is_truthy(tostring(why):find(part, 1, true), tostring(why)) end
end

local function warned(d, text)
  local all = table.concat(d.warnings, '\n')
  assert.is_truthy(all:find(text, 1, true), all)
end

describe('xpcs.open of what users bring', function()
  local s, c2, path
  local N, PHI = 70, { 30, -40, 30 }
  setup(function()
    assert(mc.file.make_folder(folder))
    path = folder .. '/x.npz'
    s = xpcs.simulate { n = N, q = 0.01, phi = PHI, seed = 2, first = 0 }
    c2 = s.c2
  end)
  teardown(function()
    os.execute("rm -rf '" .. folder .. "'")
    s, c2 = nil, nil
  end)

  --- Data of an .npz of these arrays.
  local function open(o, opts)
    local all = { c2_exp = c2, phi_angles_list = mc.tensor(PHI), t1 = s.t, q = mc.tensor(0.01) }
    for k, v in pairs(o) do all[k] = v end
    mc.save(path, all)
    return xpcs.open(path, opts or {})
  end

  --- The pairs i < j of all angles.
  local function pairs_of(d)
    local out = {}
    for f = 1, d.F do out[f] = mc.triu(d:matrix(f), 1) end
    return mc.stack(out, 1)
  end

  it('takes times of equal steps, rounded ones and those of meshgrid, and refuses others', function()
    local want = open {}
    for _, t in ipairs { s.t:to 'f32', mc.expand_dims(s.t, 1) + mc.zeros { N, 1 },
      mc.expand_dims(s.t, 2) + mc.zeros { 1, N } } do
      local d = open { t1 = t }
      assert.is_true(math.abs(d.dt - want.dt) < 1e-6 * want.dt)
      assert.is_true(mc.allclose(d.t, want.t, { rtol = 1e-6, atol = 0 }))
    end
    local gap = s.t + mc.where(mc.gt(s.t, 3), 0.1, 0)
    refused(function() open { t1 = gap } end, 'not equally spaced', 'from 3 to 3.2 s', 'NaN')
    refused(function() open({ t1 = gap }, { dt = 0.1 }) end, 'not equally spaced')
    refused(function() open { t1 = mc.flip(s.t, 1) } end, 'from 6.9 to 0 s', 'must rise')
    refused(function() open { t1 = s.t - 1 } end, 'begin at -1 s')
    refused(function() open { t1 = s.t * mc.nan } end, '70 of its 70 times are not finite')
    refused(function() open { t1 = s.t[{ { 1, 9 } }] } end, '9 times and 70 rows')
  end)

  it('asks for another dt with the times that go with it, and begins a range of frames where HDF5 does', function()
    local d = open({ t1 = s.t + 0.1 }, { dt = 0.2 })
    warned(d, 'step of 0.1 s and dt = 0.2 s is asked for')
    assert.is_true(mc.allclose(d.t, mc.arange(1, N) * 0.2, { rtol = 1e-14, atol = 0 }))
    local groups = {}
    for f = 1, 3 do groups[('c2_%05d'):format(f)] = mc.triu(c2[f]) end
    mc.save(folder .. '/x.h5', { xpcs = { qmap = { dynamic_v_list_dim0 = mc.tensor { 0.01 },
      dynamic_v_list_dim1 = mc.tensor(PHI) }, twotime = { processed_bins = mc.arange(1, 3),
      correlation_map = groups } } })
    local o = { q = 0.01, dt = 0.1, start_frame = 11, end_frame = 60 }
    local a, b = xpcs.open(folder .. '/x.h5', o), open({}, o)
    assert.equal(49, b.n)
    assert.is_true(mc.array_equal(a.t, b.t) and mc.array_equal(pairs_of(a), pairs_of(b)))
  end)

  it('takes the matrices of one q, and says when the nearest is far', function()
    local q = mc.tensor { 0.01, 0.02, 0.01 }
    local d = open({ q = q }, { q = 0.0105 })
    assert.same({ 0.01, 2, { 30, 30 } }, { d.q, d.F, d.phi })
    refused(function() open { q = q } end, 'several q', 'name one of them with q (--q')
    refused(function() open({ q = mc.tensor { 0.01, 0.02 } }, { q = 0.01 }) end, '2 q', '3 matrices')
    refused(function() open { q = mc.tensor { 0.01, mc.nan, 0.01 } } end, 'q = nan')
    d = open({ q = q }, { q = 0.2 })
    warned(d, 'q = 0.2 1/A is asked for and the nearest')
    warned(d, '1 1/nm is 0.1 1/A')
    refused(function() open({ q = q }, { q = 0.2, strict_q = true }) end, 'strict_q')
    d = open({ q = mc.tensor(0.01) }, { q = 0.02 }) -- what the file knows holds
    assert.equal(0.01, d.q)
    warned(d, 'says q = 0.01 1/A and 0.02 is asked for; that of the file is used')
    local groups = { c2_00001 = mc.triu(c2[1]) }
    mc.save(folder .. '/one.h5', { xpcs = { qmap = { dynamic_v_list_dim0 = mc.tensor { 0.01 },
      dynamic_v_list_dim1 = mc.tensor { 30 } }, twotime = { processed_bins = mc.tensor { 1 },
      correlation_map = groups } } })
    warned(xpcs.open(folder .. '/one.h5', { q = 0.1, dt = 0.1 }), '1 1/nm is 0.1 1/A')
    refused(function() xpcs.open(folder .. '/one.h5', { q = 0.1, dt = 0.1, strict_q = true }) end, 'strict_q')
  end)

  it('counts the bytes of packed data, and refuses sizes beyond reason', function()
    for _, n in ipairs { 0, 1, 8, 9, 63, 64, 65, 73, 128, 200, 1023 } do
      assert.equal(8 * select(2, xpcs.data.tiles(n, 3)), xpcs.data.bytes(n, 3))
    end
    for _, n in ipairs { 2 ^ 53, 1e300, mc.nan, 1.5, -1 } do
      refused(function() xpcs.data.bytes(n, 3) end, 'give a whole number up to 2^20')
      refused(function() xpcs.data.tiles(n, 3) end, 'give a whole number up to 2^20')
    end
  end)

  it('refuses angles that are no numbers, and keeps equal ones apart', function()
    refused(function() open { phi_angles_list = mc.tensor { 30, mc.nan, 0 } } end, 'angle 2 of 3 is nan')
    local d = open {}
    assert.same(PHI, d.phi)
    local r = xpcs.fit(d, { sigma = 0.01, scaling = 'individual', start = 'given', max_nfev = 3 })
    assert.equal(3, #r.contrast)
  end)

  it('reads half matrices of either side as full ones, whole, by strips and from a file', function()
    local want = pairs_of(open {})
    local lower = {}
    for f = 1, 3 do lower[f] = mc.tril(c2[f]) end
    lower = mc.stack(lower, 1)
    lower[{ mc.all, mc.all, 1 }] = mc.nan -- a first frame that was lost
    lower[{ mc.all, 1, mc.all }] = mc.nan
    for _, o in ipairs { {}, { pack = folder .. '/pack.h5' } } do
      local d = open({ c2_exp = mc.triu(c2) }, o)
      warned(d, '3 of 3 matrices hold values in one triangle only')
      assert.is_true(mc.array_equal(want, pairs_of(d)))
      d = open({ c2_exp = lower }, o)
      warned(d, '3 of 3 matrices hold values in one triangle only')
      assert.is_true(mc.array_equal(want, pairs_of(d)))
      local uneven = c2:copy()
      uneven[{ 2, 1, 3 }] = 2
      uneven[{ 2, 2, 3 }] = 2
      warned(open({ c2_exp = uneven }, o), '1 of 3 matrices are not symmetric')
    end
  end)

  it('says what no correlation is: subtracted baselines, lost frames, constants', function()
    warned(open { c2_exp = c2 - 1 }, 'Add 1 where it was subtracted')
    for _, dtype in ipairs { 'i32', 'i64', 'f32' } do
      for _, part in ipairs { mc.triu, mc.tril, function(v) return v end } do
        local counts = open { c2_exp = part((c2 * 1000):to(dtype)) }
        assert.is_true(counts.quality[1].mean > 1000)
        warned(counts, 'the mean of C2 is 1')
        warned(counts, 'divide by the baseline')
      end
    end
    local lost = c2:copy()
    lost[{ 1, 20, mc.all }], lost[{ 1, mc.all, 20 }] = 0, 0
    lost[{ 3, { 30, 31 }, mc.all }], lost[{ 3, mc.all, { 30, 31 } }] = 0, 0
    local holed = open { c2_exp = lost }
    warned(holed, 'C2 goes down to 0 in 2 of 3 angles (the first at 30 deg)')
    local first = xpcs.fit(holed, { sigma = 0.01 })
    assert.matches('C2 is 0 or less in whole frames; mask them', first.verdict.conclusion)
    assert.matches('in all of 3 frames, .* %(mask_frames = { { 20, 20 }, { 30, 31 } }%)',
      table.concat(first.verdict.sentences, '\n'))
    -- frames count from 1 in the file, whatever is cut and dropped
    local masked = open({ c2_exp = lost }, { mask_frames = { { 20, 20 }, { 30, 31 } } })
    assert.equal(3 * (69 * 68 - 66 * 65) / 2, masked.masked)
    assert.is_nil(table.concat(xpcs.fit(masked, { sigma = 0.01 }).verdict.sentences):find('whole frames', 1, true))
    local later = open({ c2_exp = lost }, { mask_frames = { { 30, 31 } }, start_frame = 25 })
    assert.equal(0, #examine.findings(later))
    local packed = open({ c2_exp = lost }, { mask_frames = { { 20, 20 }, { 30, 31 } }, pack = folder .. '/p.h5' })
    assert.equal(masked.points, packed.points)
    refused(function() open({}, { mask_frames = { { 71, 71 } } }) end, 'names frame 71', 'has 70')
    local low = xpcs.fit(open { c2_exp = c2 - 1 }, { sigma = 0.01 })
    assert.matches('C2 does not lie at the level of a correlation', low.verdict.conclusion)
    assert.same({}, open({}).warnings)
    local d = open { c2_exp = mc.ones { 3, N, N } * 1.2 }
    warned(d, 'all values are 1.2 in 3 of 3 angles')
    local r = xpcs.fit(d, { sigma = 0.01, scaling = 'averaged' })
    local words = table.concat(r.verdict.sentences, '\n')
    for _, name in ipairs { 'alpha', 'D0', 'D_offset', 'contrast' } do
      assert.equal(math.huge, r.errors[name], name)
    end
    assert.matches('C2 shows no decay: .* the data determine its level alone, 1%.2', words)
  end)

  it('does not end in the valley where D is cut off, and closes on a ridge', function()
    local start = { 1000, 0.5, 10, 0.01, 0.5, 0, 0 }
    local d = xpcs.data.of(xpcs.simulate { n = 60, q = 0.0054, phi = { 0, 45, 90 }, physics = start, seed = 42 })
    local o = { sigma = 0.01, mode = 'laminar_flow', scaling = 'averaged' }
    local a = xpcs.fit(d, o)
    o.initial = {}
    for k, name in ipairs(xpcs.parameters.names 'laminar_flow') do o.initial[name] = start[k] end
    local b = xpcs.fit(d, o)
    assert.is_true(a.chi2 < b.chi2 + 0.5, ('%g, from the truth %g'):format(a.chi2, b.chi2))
    assert.is_true(b.last_step < 1e-4)
  end)

  it('draws maps where every second frame is missing', function()
    local holed = c2:copy()
    holed[{ mc.all, { 2, N, 2 }, mc.all }], holed[{ mc.all, mc.all, { 2, N, 2 } }] = mc.nan, mc.nan
    local d = open { c2_exp = holed }
    local r = xpcs.fit(d, { sigma = 0.01 })
    assert.is_truthy(tostring(xpcs.report.page(r, d)):find('</html>', 1, true))
    assert.is_truthy(xpcs.report.heatmaps(r, d, 1, { limit = 20 }))
  end)

  it('fits around a frame of NaN as around one that is masked', function()
    local lost, mask = c2:copy(), mc.ones { N, N }
    lost[{ mc.all, 20, mc.all }], lost[{ mc.all, mc.all, 20 }] = mc.nan, mc.nan
    mask[{ 20 }], mask[{ mc.all, 20 }] = 0, 0
    local a, b = open { c2_exp = lost }, open({}, { mask = mask:to 'u8' })
    warned(a, ('%d of %d points are NaN'):format(3 * (N - 2), 3 * (N - 1) * (N - 2) / 2))
    assert.equal(a.points, b.points)
    local o = { sigma = 0.01, initial = { D0 = 900, alpha = 0.1, D_offset = 0 } }
    local ra, rb = xpcs.fit(a, o), xpcs.fit(b, o)
    assert.is_true(math.abs(ra.chi2 - rb.chi2) < 1e-9 * ra.chi2)
    for _, name in ipairs { 'D0', 'alpha', 'contrast' } do
      assert.is_true(math.abs(ra.values[name] - rb.values[name]) < 1e-3 * ra.errors[name], name)
    end
  end)
end)
