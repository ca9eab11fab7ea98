-- xpcs_source_spec.lua - files of the beamline as h5py writes them: both layouts, bins out of order, wrapped angles,
-- gzip, f32, what is refused by name.
local mc = require 'mascon'
local examine = require 'workflows.xpcs.read.examine'
local xpcs = mc.xpcs
local golden = mc.load((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/golden/xpcs.npz')
local folder = os.tmpname()
os.remove(folder)

local function write(name)
  local path = folder .. '/' .. name .. '.h5'
  local bytes, out = golden['file ' .. name]:totable(), {}
  for i = 1, #bytes, 4096 do out[#out + 1] = string.char(unpack(bytes, i, math.min(i + 4095, #bytes))) end
  local f = assert(io.open(path, 'wb'))
  f:write(table.concat(out))
  f:close()
  return path
end

--- The matrices of data, stacked.
local function matrices(d)
  local out = {}
  for f = 1, d.F do out[f] = d:matrix(f) end
  return mc.stack(out, 1)
end

--- Pairs i < j of what NumPy computed, and of ours; the first time dropped.
local function same(d, want)
  local n = want.shape[2]
  local u = mc.triu(mc.ones { n - 1, n - 1 }, 1)
  local expected = want[{ mc.all, { 2, n }, { 2, n } }]
  assert.is_true(mc.allclose(matrices(d) * u, expected * u, { rtol = 0, atol = 1e-15 }))
end

local function refused(f, ...)
  local ok, why = pcall(f)
  assert.is_false(ok)
  for _, part in ipairs { ... } do assert.is_truthy(tostring(why):find(part, 1, true), tostring(why)) end
end

local function warned(d, text)
  local all = table.concat(d.warnings, '\n')
  assert.is_truthy(all:find(text, 1, true), all)
end

describe('xpcs.open', function()
  setup(function() assert(mc.file.make_folder(folder)) end)
  teardown(function()
    os.execute("rm -rf '" .. folder .. "'")
    golden = nil
  end)

  it('reads the APS-U layout: nearest q, frames, packed chunks, either triangle', function()
    local path = write 'new'
    local d = xpcs.open(path, { q = 0.0055, dt = 0.1, start_frame = 3, end_frame = 9 })
    assert.same({ 0, 30, -170 }, d.phi)
    assert.equal(0.0054, d.q)
    assert.equal(6, d.n)
    same(d, golden['matrices new'])
    assert.is_true(mc.allclose(d.t, mc.arange(1, 6) * 0.1, { rtol = 0, atol = 1e-16 }))
    warned(d, 'bin 99')
    local all = xpcs.open(path, { q = 0.0055, dt = 0.1, start_frame = 3, end_frame = 9, exclude_first = false })
    assert.equal(7, all.n)
    assert.is_true(mc.allclose(matrices(all), golden['matrices new'], { rtol = 0, atol = 1e-15 }))
    warned(xpcs.open(path, { q = 0.0055, dt = 0.1, end_frame = 50 }), 'end_frame is 50 and there are 12')
    local early = xpcs.open(path, { q = 0.0055, dt = 0.1, start_frame = -4, end_frame = -4 })
    assert.equal(11, early.n)
    warned(early, 'start_frame is -4')
    warned(early, 'end_frame is -4')
    local plain = xpcs.open(path, { q = 0.0055, dt = 0.1, start_frame = 1, end_frame = -1 })
    assert.is_nil(table.concat(plain.warnings):find('_frame', 1, true))
    warned(xpcs.open(path, { q = 0.0055, dt = 0.1, start_frame = 0 }), 'start_frame is 0')
  end)

  it('pairs bins and matrices by the numbers in the names, else by position', function()
    local d = xpcs.open(write 'unsorted', { q = 0.0054, dt = 0.1 })
    assert.same({ -170, 0, 30 }, d.phi)
    same(d, golden['matrices unsorted'])
    warned(d, 'another order')
    d = xpcs.open(write 'position', { q = 0.0054, dt = 0.1 })
    assert.same({ 0, 30 }, d.phi)
    warned(d, '2 bins and 3 matrices')
  end)

  it('reads the APS layout, and says when q are mixed', function()
    local path = write 'old'
    local d = xpcs.open(path, { q = 0.0055, dt = 0.1 })
    assert.equal(6, d.F)
    warned(d, 'theirs run from 0.003 to 0.0062')
    same(d, mc.take(golden['matrices old'], mc.tensor({ 1, 2, 3, 4, 5, 6 }, { dtype = 'i64' }), 1))
    assert.equal(5, xpcs.open(path, { q = 0.0055, dt = 0.1, q_tolerance_fraction = 0.2 }).F)
    refused(function() xpcs.open(path, { q = 0.0055, dt = 0.1, strict_q = true }) end, 'q = 0.0055', '0.0054')
    warned(xpcs.open(write 'old_short', { q = 0.0054, dt = 0.1 }), '6 q, 6 angles and 4 matrices')
  end)

  it('takes that very q alone with strict_q, in every layout', function()
    local n, groups = 8, {}
    local s = xpcs.simulate { n = n, phi = { 0, 45, 90 }, q = 0.01 }
    for f = 1, 3 do groups[('g2_%05d'):format(f)] = mc.triu(s.c2[f]) end
    local function old(q)
      local path = folder .. '/mixed.h5'
      mc.save(path, { xpcs = { dqlist = q, dphilist = mc.tensor { { 0, 45, 90 } } }, exchange = { C2T_all = groups } })
      return path
    end
    local path = old(mc.tensor { { 0.01, 0.0092, 0.0091 } })
    local loose = xpcs.open(path, { q = 0.01, dt = 0.1 })
    assert.equal(3, loose.F)
    warned(loose, 'within 10 % of')
    local function again(o)
      o.q, o.dt = 0.01, 0.1
      return xpcs.open(path, o)
    end
    local function own(v)
      xpcs.own.fit(v, function(p, a, b) return mc.exp(-p.r * (b - a)) end, { p0 = { r = 1 } })
    end
    local each = 'different q, 0.0091, 0.0092, 0.01 1/A'
    refused(function() xpcs.fit(again {}) end, each, '(q = 0.01, strict_q = true; then 0.0091, 0.0092)',
      'one_q = true', 'xpcs.joint.fit')
    local _, why = pcall(own, again {})
    assert.matches('strict_q = true', why)
    assert.is_nil(why:find('joint', 1, true), why)
    local program = again {}
    program.reader = 'program'
    refused(function() xpcs.fit(program) end, 'one run a q (--q 0.01 --strict-q, then 0.0091, 0.0092)',
      'jointly (--q 0.01 --strict-q --joint 0.0091,0.0092)', '--one-q')
    program.alone = true
    _, why = pcall(xpcs.fit, program)
    assert.matches('%-%-q 0.01 %-%-strict%-q, then', why)
    assert.is_nil(why:find('joint', 1, true), why)
    local r = xpcs.fit(again { one_q = true }, { scaling = 'averaged', sigma = 0.01, start = 'given', rescue = false })
    assert.matches('^%a+ fit: matrices of several q are fitted as one', r.conclusion)
    local wide = xpcs.open(old(mc.tensor { { 0.01, 0.0095, 0.003 } }), { q = 0.01, dt = 0.1 })
    warned(wide, '10 % of q = 0.01')
    path = old(mc.tensor { { 0.01, 0.0092, 0.0091 } })
    for _, o in ipairs { {}, { q_tolerance_fraction = 0.5 } } do
      o.q, o.dt, o.strict_q = 0.01, 0.1, true
      local d = xpcs.open(path, o)
      assert.same({ 1, { 0 }, 0.01, {} }, { d.F, d.phi, d.q, d.warnings })
    end
    refused(function() xpcs.open(path, { q = 0.0095, dt = 0.1, strict_q = true }) end, 'q = 0.0095', '0.0092',
      'strict_q')
    -- what f32 makes of q is that q
    local d = xpcs.open(old(mc.tensor({ { 0.0092, 0.01, 0.01 } }, { dtype = 'f32' })), { q = 0.01, dt = 0.1,
      strict_q = true })
    assert.same({ 45, 90 }, d.phi)
    refused(function() xpcs.open(write 'new', { q = 0.0055, dt = 0.1, strict_q = true }) end, 'q = 0.0055', '0.0054')
    assert.equal(3, xpcs.open(write 'new', { q = 0.0054, dt = 0.1, strict_q = true }).F)
    local npz = folder .. '/strict.npz'
    mc.save(npz, { c2_exp = s.c2, phi_angles_list = mc.tensor(s.phi), t1 = s.t, q = mc.tensor { 0.01, 0.0092, 0.01 } })
    assert.same({ 0, 90 }, xpcs.open(npz, { q = 0.01, strict_q = true }).phi)
    refused(function() xpcs.open(npz, { q = 0.0101, strict_q = true }) end, 'q = 0.0101', '0.01', 'strict_q')
  end)

  it('reads a half matrix whose other triangle is NaN, and says which q were mixed', function()
    local file = folder .. '/nan.h5'
    local c = mc.triu(mc.ones { 12, 12 } * 1.1)
    local sheet = mc.where(mc.lt(mc.arange(1, 12):expand_dims(1), mc.arange(1, 12):expand_dims(2)), mc.nan, c)
    local w = mc.open(file, { mode = 'w', format = 'h5' })
    w:put('xpcs/dqlist', mc.tensor { 0.0059, 0.006, 0.0065 })
    w:put('xpcs/dphilist', mc.tensor { 0, 30, 60 })
    for _, name in ipairs { 'm1', 'm10', 'm2' } do w:put('exchange/C2T_all/' .. name, sheet) end
    w:close()
    local d = xpcs.open(file, { q = 0.006, dt = 0.1 })
    assert.equal(3 * 11 * 10 / 2, d.points)
    assert.matches('have different q, 0.0059 to 0.0065 1/A, and are fitted with 0.006', examine.findings(d)[1].text)
    assert.same({}, examine.findings(xpcs.open(file, { q = 0.006, dt = 0.1, strict_q = true })))
    d.q_list = { 0.006, 0.006005 } -- as centroids of regions differ: less than D can show
    assert.same({}, examine.findings(d))
    d.q_list = { 0.006, 0.00601 }
    assert.equal('mixed_q', examine.findings(d)[1].kind)
  end)

  it('filters angles with ranges that wrap', function()
    local path = write 'new'
    local function phi(ranges) return xpcs.open(path, { q = 0.0054, dt = 0.1, phi_ranges = ranges }) end
    assert.same({ -170 }, phi({ { 170, 200 } }).phi)
    assert.same({ -170 }, phi({ { 175, -165 } }).phi)
    assert.same({ 0, 30 }, phi({ { -10, 10 }, { 25, 35 } }).phi)
    local none = phi { { 80, 85 }, or_all = true }
    assert.equal(3, none.F)
    warned(none, 'no angle lies in the ranges')
    warned(phi {}, 'no ranges are given')
    assert.same({ 30 }, phi({ { 29.8 } }).phi) -- one angle: the nearest
    assert.same({ 30, -170 }, phi({ { 190 }, { 25, 35 } }).phi)
    refused(function() phi { { 12 } } end, 'there is no angle 12 deg', '0, 30, -170')
    local function without(list, ranges)
      return xpcs.open(path, { q = 0.0054, dt = 0.1, phi_ranges = ranges, skip_phi = list }).phi
    end
    assert.same({ 0, 30 }, without { { 190 } })
    assert.same({ 30 }, without({ { -5, 5 } }, { { -10, 40 } }))
    assert.same({ 30 }, without({ { 0 } }, { { 80, 85 }, { 30 }, or_all = true }))
    refused(function() without { { -180, 180 } } end, 'all 3')
    refused(function() without({ { 30 } }, { { 30 } }) end, 'every angle to keep (30 deg) is one to leave out too')
    refused(function() phi { { 80, 85 } } end, 'no angle from 80 to 85 deg', '0, 30, -170')
    refused(function() phi { { 30 }, { 80, 85 } } end, 'no angle from 80 to 85 deg')
    refused(function() without { { 80, 85 } } end, 'no angle from 80 to 85 deg')
    warned(phi { { 170, 200 } }, 'the angle filter keeps 1 of 3 angles: -170 deg')
    assert.is_nil(table.concat(phi({ { -180, 180 } }).warnings):find('filter', 1, true))
    for _, a in ipairs { 175, 185, -178 } do assert.is_true(xpcs.angles.within(a, 170, 190)) end
    assert.is_false(xpcs.angles.within(0, 170, 190))
    assert.equal(180, xpcs.angles.wrap(-180))
  end)

  it('masks what is not finite and says how much', function()
    local d = xpcs.open(write 'nan', { q = 0.0054, dt = 0.1 })
    assert.equal(2, d.masked)
    assert.equal(2 * 11 * 10 / 2 - 2, d.points)
    warned(d, '2 of 110 points')
    assert.equal(2, d.quality[1].missing)
  end)

  it('keeps data as f32 when asked', function()
    local d = xpcs.open(write 'new', { q = 0.0055, dt = 0.1, dtype = 'f32' })
    assert.equal('f32', d.packed.dtype)
  end)

  it('reads NPZ with times, angles and q', function()
    local s = xpcs.simulate { n = 20, phi = { 0, 50, 190 }, q = 0.01 }
    local path = folder .. '/s.npz'
    mc.save(path, { c2_exp = s.c2, phi_angles_list = mc.tensor(s.phi), t1 = s.t, t2 = s.t, q = mc.tensor(0.01) })
    local d = xpcs.open(path, {})
    assert.equal(20, d.n)
    assert.same({ 0, 50, -170 }, d.phi)
    assert.equal(0.01, d.q)
    assert.is_true(math.abs(d.dt - 0.1) < 1e-15)
    local u = mc.triu(mc.ones { 20, 20 }, 1)
    assert.is_true(mc.array_equal(matrices(d) * u, s.c2 * u))
    mc.save(path, { other = s.c2 })
    refused(function() xpcs.open(path, { q = 0.01, dt = 0.1 }) end, 'has no array', 'other')
  end)

  it('says of a q that it is more than a tenth away', function()
    local path = write 'new' -- the largest q is 0.0062
    local function said(q)
      return table.concat(xpcs.open(path, { q = q, dt = 0.1 }).warnings, '\n'):find('is asked for', 1, true) ~= nil
    end
    assert.is_false(said(1.099 * 0.0062))
    assert.is_true(said(1.101 * 0.0062))
    assert.is_false(said(0.901 * 0.0041))
    assert.is_true(said(0.899 * 0.0041))
    for _, q in ipairs { 0.041, 0.054, 0.062 } do
      warned(xpcs.open(path, { q = q, dt = 0.1 }), '1 1/nm is 0.1 1/A')
    end
    local other = table.concat(xpcs.open(path, { q = 0.09, dt = 0.1 }).warnings)
    assert.is_nil(other:find('1/nm', 1, true))
  end)

  it('takes another dt than that of the times, and says so from a millionth on', function()
    local s = xpcs.simulate { n = 20, phi = { 0, 50 }, q = 0.01, dt = 0.1 }
    local path = folder .. '/steps.npz'
    mc.save(path, { c2_exp = s.c2, phi_angles_list = mc.tensor(s.phi), t1 = s.t, q = mc.tensor(0.01) })
    for _, case in ipairs { { 1 + 9e-7, false }, { 1 + 1.1e-6, true }, { 1 - 1.1e-6, true }, { 1.5, true } } do
      local d = xpcs.open(path, { dt = 0.1 * case[1] })
      local text = table.concat(d.warnings, '\n')
      assert.equal(case[2], text:find('is asked for', 1, true) ~= nil, text)
      assert.is_true(math.abs(d.dt - 0.1 * case[1]) < 1e-12)
      assert.is_true(math.abs((d.t[20] - d.t[19]):item() - d.dt) < (case[2] and 1e-12 or 1e-7))
    end
  end)

  it('drops the first time of an NPZ where it is 0, and none where times begin later', function()
    local s = xpcs.simulate { n = 20, phi = { 0, 50 }, q = 0.01, dt = 1e-9, first = 0 }
    local path = folder .. '/late.npz'
    for _, case in ipairs { { 0, 19, 1e-9 }, { 1e-9, 20, 1e-9 }, { 5e-9, 20, 5e-9 } } do
      mc.save(path, { c2_exp = s.c2, phi_angles_list = mc.tensor(s.phi), t1 = mc.arange(0, 19) * 1e-9 + case[1],
        q = mc.tensor(0.01) })
      local d = xpcs.open(path, {})
      assert.equal(case[2], d.n)
      assert.is_true(math.abs(d.t[1]:item() - case[3]) < 1e-15)
    end
  end)

  it('refuses by name what cannot be read', function()
    local o = { q = 0.0054, dt = 0.1 }
    refused(function() xpcs.open(folder .. '/none.h5', o) end, 'none.h5', 'check the path')
    refused(function() xpcs.open(write 'other', o) end, 'neither the APS-U layout', 'exchange/C2T_all')
    refused(function() xpcs.open(write 'no_phi', o) end, 'dynamic_v_list_dim1')
    refused(function() xpcs.open(write 'both_triangles', o) end, 'both triangles', 'c2_00005', 'full_matrices')
    refused(function() xpcs.open(write 'not_square', o) end, 'c2_00005', '12, 9', 'square')
    refused(function() xpcs.open(write 'two_sizes', o) end, 'c2_00006', '9, 9')
    refused(function() xpcs.open(write 'no_bin', o) end, 'none of its bins')
    refused(function() xpcs.open(write 'new', { q = 0.0054 }) end, 'dt is missing')
    refused(function() xpcs.open(write 'new', { dt = 0.1 }) end, '3 q', '0.0041, 0.0054, 0.0062')
    refused(function() xpcs.open(write 'new', { q = -1, dt = 0.1 }) end, 'q (wavevector_q) is -1')
    refused(function() xpcs.open(write 'new', { q = 0.0054, dt = 0 / 0 }) end, 'dt')
    refused(function() xpcs.open(write 'new', { q = 0.0054, dt = 0.1, start_frame = 12 }) end, 'too few')
    refused(function() xpcs.open(write 'new', { q = 0.0054, dtt = 0.1 }) end, 'dtt', 'dt')
    -- cut in the middle
    local path = write 'new'
    local f = assert(io.open(path, 'rb'))
    local bytes = f:read '*a'
    f:close()
    f = assert(io.open(path, 'wb'))
    f:write(bytes:sub(1, math.floor(#bytes * 0.6)))
    f:close()
    refused(function() xpcs.open(path, o) end, 'new.h5')
  end)

  it('streams from a packed file with the bits of data in memory, and makes it again for other frames', function()
    local s = xpcs.simulate { n = 150, q = 0.01, phi = { -30, 0, 30, 75 }, seed = 4, first = 0 }
    local path, pack = folder .. '/stream.h5', folder .. '/pack.h5'
    local groups = {}
    for f = 1, 4 do groups[('c2_%05d'):format(f)] = f % 2 == 0 and mc.triu(s.c2[f]) or mc.tril(s.c2[f]) end
    groups.c2_00002[{ 20, 90 }] = 0 / 0
    mc.save(path, { xpcs = { qmap = { dynamic_v_list_dim0 = mc.tensor { 0.01 },
      dynamic_v_list_dim1 = mc.tensor(s.phi) }, twotime = { processed_bins = mc.arange(1, 4),
      correlation_map = groups } } })
    local o = { q = 0.01, dt = 0.1, mode = 'laminar_flow', dtype = 'f32' }
    local whole = xpcs.open(path, o)
    o.pack, o.block_values = pack, 20000
    local d = xpcs.open(path, o)
    assert.is_true(#d.store_blocks > 3 and d.packed == nil)
    assert.equal(whole.masked, d.masked)
    assert.equal(whole.points, d.points)
    local with = { sigma = 0.01, initial = { D0 = 3000, alpha = -0.2, D_offset = 500, gamma_dot_t0 = 2e-3, beta = 0.1,
      gamma_dot_t_offset = 1e-4, phi0 = 3 }, contrast = { 0.3, 0.3, 0.3, 0.3 }, offset = { 1, 1, 1, 1 } }
    local a, b = xpcs.fit(whole, with), xpcs.fit(d, with)
    for k, v in ipairs(a.point.x) do assert.is_true(v == b.point.x[k]) end
    assert.is_true(a.chi2 == b.chi2)
    local m, w = d:matrix(2), whole:matrix(2)
    local u = mc.logical_and(mc.isfinite(w), mc.gt(mc.triu(mc.ones { 149, 149 }, 1), 0))
    assert.is_true(mc.max(mc.abs(m[u] - w[u])):item() < 1e-7)
    -- again from the file, from other frames, and from a file that was cut
    assert.equal(0, #xpcs.open(path, o).warnings - 1)
    o.end_frame = 120
    warned(xpcs.open(path, o), 'it is made again')
    local f = assert(io.open(pack, 'rb'))
    local bytes = f:read '*a'
    f:close()
    f = assert(io.open(pack, 'wb'))
    f:write(bytes:sub(1, math.floor(#bytes / 2)))
    f:close()
    local ok, why = pcall(xpcs.open, path, o)
    assert.is_false(ok)
    assert.is_truthy(why:find('or is damaged; remove it', 1, true), why)
    os.remove(pack)
    local again = xpcs.open(path, o)
    -- a start is found without any matrix in memory
    local r = xpcs.fit(again, { sigma = 0.01 })
    assert.is_true(math.abs(r.reduced_chi2 - 1) < 0.05)
  end)

  it('is asked for its shape alone and refuses then what it refuses when it is read', function()
    local at = os.tmpname()
    local one = xpcs.simulate { n = 300, phi = { 0, 40 }, sigma = 0.01, seed = 5, q = 0.01, dt = 0.5 }
    local parts = { c2_exp = one.c2, phi_angles_list = mc.tensor(one.phi), t1 = one.t, q = mc.tensor(one.q) }
    local function both_refuse(more, o, want)
      local held = { sigma = more }
      for k, v in pairs(parts) do held[k] = v end
      mc.save(at .. '.npz', held)
      for _, shape_only in ipairs { true, false } do
        o.shape_only, o.pack_default = shape_only, at .. '.h5'
        local ok, why = pcall(xpcs.open, at .. '.npz', o)
        assert.is_true(not ok and why:find(want, 1, true) ~= nil, tostring(why))
      end
    end
    both_refuse(nil, { max_memory = 20e6 }, 'need at least')
    both_refuse(nil, { start_frame = 5, end_frame = 5 }, 'too few')
    both_refuse(nil, { dt = -1 }, 'must be positive')
    mc.save(at .. '.npz', parts)
    local room = xpcs.data.bytes(300, 2, 'f64') + xpcs.source.least(300, 2) + 80 * 64 * 300
    local plain = xpcs.open(at .. '.npz', { shape_only = true, max_memory = room })
    parts.sigma = mc.full({ 2, 300, 300 }, 0.01)
    mc.save(at .. '.npz', parts)
    local weighted = xpcs.open(at .. '.npz', { shape_only = true, max_memory = room })
    assert.same({ false, true }, { plain.streamed, weighted.streamed })
    for _, name in ipairs { '', '.npz', '.h5' } do os.remove(at .. name) end
  end)
end)

describe('half matrices', function()
  local sim
  setup(function()
    assert(mc.file.make_folder(folder))
    sim = xpcs.simulate { n = 8, dt = 0.5, q = 0.01, phi = { 0 }, physics = { 2200, -0.35, 300 }, sigma = 0.004 }
  end)
  teardown(function()
    os.execute("rm -rf '" .. folder .. "'")
    sim = nil
  end)

  it('may hold NaN in the triangle that is not used, read whole and by strips', function()
    local c = sim.c2[1]
    local below = mc.tril(mc.ones { 8, 8 }, -1)
    for side, h in pairs { upper = mc.where(mc.gt(below, 0), mc.nan, c),
      lower = mc.where(mc.gt(below.mT, 0), mc.nan, c) } do
      local path = folder .. '/' .. side .. '.h5'
      mc.save(path, { xpcs = { qmap = { dynamic_v_list_dim0 = mc.tensor { 0.01 }, dynamic_v_list_dim1 =
        mc.tensor { 0 } }, twotime = { processed_bins = mc.tensor { 1 }, correlation_map = { c2_00001 = h } } } })
      for _, pack in ipairs { false, folder .. '/packed.h5' } do
        local d = xpcs.open(path, { q = 0.01, dt = 0.5, pack = pack or nil })
        assert.equal(0, d.masked, side)
        same(d, sim.c2)
        os.remove(folder .. '/packed.h5')
      end
    end
  end)
end)

describe('files of the beamline', function()
  setup(function() assert(mc.file.make_folder(folder)) end)
  teardown(function() os.execute("rm -rf '" .. folder .. "'") end)

  --- An APS file whose matrix of entry k holds about 1 + k / 100 everywhere.
  local function old(names, phi, more)
    local path, list, q, small = folder .. '/old.h5', {}, {}, mc.arange(1, 36):reshape(6, 6) * 1e-6
    for k, name in ipairs(names) do list[name], q[k] = mc.triu(small + 1 + k / 100), 0.01 end
    local all = { xpcs = { dqlist = mc.tensor { q }, dphilist = mc.tensor { phi } }, exchange = { C2T_all = list } }
    for name, v in pairs(more or {}) do all[name] = v end
    os.remove(path)
    mc.save(path, all)
    return path
  end

  local function values(d)
    local out = {}
    for f = 1, d.F do out[f] = math.floor(d:matrix(f)[{ 1, 2 }]:item() * 100 + 0.5) end
    return out
  end

  it('have matrices in the order of the numbers in their names', function()
    local names, phi, want = {}, {}, {}
    for k = 1, 12 do names[k], phi[k], want[k] = 'm' .. k - 1, 10 * k, 100 + k end
    local d = xpcs.open(old(names, phi), { q = 0.01, dt = 0.1 })
    assert.same(phi, d.phi)
    assert.same(want, values(d))
    warned(d, 'paired with q and angles by the number in their names (entry 3 has m2; by name it would have m10)')
    -- numbers with gaps may be anything: by name, and that is said
    for k = 1, 12 do names[k] = 'm' .. 3 * k end
    d = xpcs.open(old(names, phi), { q = 0.01, dt = 0.1 })
    assert.equal(104, values(d)[1]) -- m12, the fourth, comes first by name
    warned(d, 'rise in another order than the names; they are paired with q and angles by name (entry 1 has m12)')
    for k = 1, 12 do names[k] = ('m%02d'):format(k) end
    d = xpcs.open(old(names, phi), { q = 0.01, dt = 0.1 })
    assert.same(want, values(d))
    assert.same({}, d.warnings)
  end)

  it('say which angles are shown as others', function()
    local d = xpcs.open(old({ 'a', 'b', 'c' }, { 200, 275, 35 }), { q = 0.01, dt = 0.1 })
    assert.same({ -160, -85, 35 }, d.phi)
    warned(d, 'angles are shown within -180 .. 180 degrees: 200 as -160, 275 as -85')
  end)

  it('that hold the time of a frame offer it, and say where dt is another one', function()
    local config = { stride_frame = mc.tensor(5), avg_frame = mc.tensor(2) }
    local path = old({ 'a' }, { 0 }, { entry = { instrument = { detector_1 = { frame_time = mc.tensor(0.035) } } } })
    local function opened(dt) return xpcs.open(path, { q = 0.01, dt = dt }) end
    refused(function() opened(nil) end, 'dt is missing',
      'entry/instrument/detector_1/frame_time says 0.035 s: --dt 0.035')
    assert.same({}, opened(0.035).warnings)
    local finding = examine.findings(opened(0.35))[1]
    assert.same({ 'dt', true }, { finding.kind, finding.text:find('says 0.035 s', 1, true) ~= nil })
    warned(opened(0.35), 'dt is 0.35 s and entry/instrument/detector_1/frame_time of the file says 0.035 s')
    os.remove(path)
    local list = { a = mc.triu(mc.arange(1, 36):reshape(6, 6) * 1e-6 + 1) }
    mc.save(path, { xpcs = { dqlist = mc.tensor { 0.01 }, dphilist = mc.tensor { 0 }, multitau = { config = config } },
      exchange = { C2T_all = list }, entry = { instrument = { detector_1 = { frame_time = mc.tensor { 0.035 } } } } })
    refused(function() opened(nil) end, '--dt 0.35')
    for _, dt in ipairs { 0.035, 0.07, 0.175, 0.35 } do assert.same({}, opened(dt).warnings) end
    warned(opened(0.1), 'says 0.35 s')
  end)
end)
