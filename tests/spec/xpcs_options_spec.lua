-- xpcs_options_spec.lua - everything that a configuration may say has the effect it names: sigma and masks per point,
-- the cache, retries, scales, searches, checkpoints, npz results.
local mc = require 'mascon'
local xpcs = mc.xpcs
local folder = os.tmpname()
os.remove(folder)

local function near(want, got, bound, what)
  assert.is_true(math.abs(want - got) <= bound, ('%s: %.15g instead of %.15g'):format(what or '', got, want))
end

local function refused(f, ...)
  local ok, why = pcall(f)
  assert.is_false(ok)
  for _, part in ipairs { ... } do assert.is_truthy(tostring(why):find(part, 1, true), tostring(why)) end
end

local function warned(list, text)
  local all = table.concat(list, '\n')
  assert.is_truthy(all:find(text, 1, true), all)
end

local START = { D0 = 2500, alpha = -0.3, D_offset = 300 }

--- Simulated matrices whose noise grows with the lag, with their standard deviations.
local function uneven(n, phi, seed)
  local s = xpcs.simulate { n = n, q = 0.012, dt = 0.5, phi = phi, physics = { 2200, -0.35, 300 }, sigma = 0 }
  local t = mc.arange(1, n)
  local sigma = 0.002 + 0.0003 * mc.abs(t:expand_dims(1) - t:expand_dims(2))
  local all = {}
  for f = 1, #phi do
    local e = mc.triu(mc.randn { n, n, seed = seed * 10 + f }, 1)
    all[f] = xpcs.prepare.diagonal(s.c2[f] + (e + e.mT) * sigma)
  end
  s.c2, s.sigma = mc.stack(all, 1), nil
  return s, sigma
end

local function saved(name, arrays)
  local path = folder .. '/' .. name
  mc.save(path, arrays)
  return path
end

local function npz(name, s, more)
  local arrays = { c2_exp = s.c2, phi_angles_list = mc.tensor(s.phi), t1 = s.t, q = mc.tensor(s.q) }
  for k, v in pairs(more or {}) do arrays[k] = v end
  return saved(name, arrays)
end

describe('sigma and mask per point', function()
  local s, sigma, n, path
  setup(function()
    assert(mc.file.make_folder(folder))
    n = 40
    s, sigma = uneven(n, { 0, 60 }, 1)
    path = npz('a.npz', s)
  end)
  teardown(function()
    os.execute("rm -rf '" .. folder .. "'")
    s, sigma = nil, nil
  end)

  --- Values, errors and cost by the general solver on residuals written out.
  local function reference(mask, of_angle)
    local keep = mc.gt(mc.triu(mc.ones { n, n }, 1), 0)
    if mask then keep = mc.logical_and(keep, mask) end
    local kd = xpcs.model.constants { q = s.q, dt = 0.5 }
    local fit = mc.optim.least_squares(function(x)
      local v, out = x:totable(), {}
      for f = 1, 2 do
        local m = xpcs.model.c2({ t = s.t, kd = kd, physics = { v[3], v[4], v[5] } }, s.phi[f], v[1], v[2])
        out[f] = ((m - s.c2[f]) / (of_angle and of_angle(f) or sigma))[keep]
      end
      return mc.concat(out, 1)
    end, { 0.3, 1, 2500, -0.3, 300 }, { x_scale = 'jac', ftol = 1e-15, xtol = 1e-15, gtol = 1e-15, jac = '3-point' })
    return fit
  end

  local function agrees(r, want)
    near(2 * want.cost, r.chi2, 1e-8 * r.chi2, 'chi2')
    for k, v in ipairs(want.x:totable()) do
      near(v, r.point.x[k], 1e-4 * math.sqrt(r.covariance[k][k]), r.names[k])
    end
  end

  it('weights every point by its own standard deviation, from a file and from the data file', function()
    local want = reference()
    for _, d in ipairs {
      xpcs.open(path, { sigma = saved('sigma.npy', sigma) }),
      xpcs.open(path, { sigma = saved('s.npz', { sigma = mc.stack({ sigma, sigma }, 1) }) }),
      xpcs.open(path, { sigma = saved('s.h5', { deep = { er = mc.triu(sigma, 1) } }) .. ':deep/er' }),
      xpcs.open(npz('b.npz', s, { sigma = sigma }), {}),
    } do
      local r = xpcs.fit(d, { scaling = 'averaged', initial = START })
      agrees(r, want)
      assert.is_false(r.sigma_is_default)
      assert.is_true(r.absolute_sigma and math.abs(r.reduced_chi2 - 1) < 0.12)
      -- the sums of the pass against residuals written out
      local p = { physics = { 2000, -0.2, 100 }, contrast = { 0.3, 0.25 }, offset = { 1, 1.1 }, sigma = d.sigma,
        kd = r.kd, ks = r.ks, t = d.t, loss = 'linear', f_scale = 1 }
      local a, b = xpcs.pass.run(d, p, 'each'), require('workflows.xpcs.pass.dense').sums(d, p, 'each')
      for k = 1, #a do near(b[k], a[k], 1e-9 * math.abs(b[k]) + 1e-12 * math.abs(b[1]), 'sum ' .. k) end
    end
    warned(xpcs.open(npz('b.npz', s, { sigma = sigma }), {}).warnings, 'sigma is that of the array sigma')
    refused(function() xpcs.fit(xpcs.open(npz('b.npz', s, { sigma = sigma }), {}), { sigma = 0.1 }) end, 'given twice')
  end)

  it('averages the weights of two triangles that differ', function()
    local up = mc.triu(sigma, 1)
    local both = up + up.mT * 2 + mc.eye(n)
    local d = xpcs.open(path, { sigma = both })
    warned(d.warnings, 'differs between the two triangles')
    local alone = xpcs.fit(xpcs.open(path, { sigma = sigma }), { scaling = 'averaged', initial = START })
    local r = xpcs.fit(d, { scaling = 'averaged', initial = START })
    near(alone.chi2 * (1 + 0.25) / 2, r.chi2, 1e-9 * r.chi2)
  end)

  it('leaves out what a mask or, when told so, a sigma of 0 excludes', function()
    local mask = mc.ones { n, n }
    mask[{ { 1, 3 } }] = 0
    local keep = mc.logical_and(mc.gt(mask, 0), mc.gt(mask.mT, 0))
    local want = reference(keep)
    local gone = 2 * (n - 1 + n - 2 + n - 3)
    local d = xpcs.open(path, { sigma = sigma, mask = saved('mask.npy', mask) })
    assert.equal(gone, d.masked)
    assert.equal(n * (n - 1) - gone, d.points)
    warned(d.warnings, ('%d of %d points are left out'):format(gone, n * (n - 1)))
    agrees(xpcs.fit(d, { scaling = 'averaged', initial = START }), want)
    local zero = mc.where(keep, sigma, 0)
    refused(function() xpcs.open(path, { sigma = zero }) end, ('%d of the %d values of sigma'):format(gone / 2,
      n * (n - 1) / 2), 'zero_sigma_is_mask')
    local same = xpcs.open(path, { sigma = zero, zero_sigma_is_mask = true })
    assert.equal(d.points, same.points)
    agrees(xpcs.fit(same, { scaling = 'averaged', initial = START }), want)
    refused(function() xpcs.open(path, { sigma = mc.where(keep, sigma, -1), zero_sigma_is_mask = true }) end,
      'not positive and finite')
    refused(function() xpcs.open(path, { mask = mc.zeros { n, n } }) end, 'leave no point')
    refused(function() xpcs.open(path, { mask = mc.ones { n, 3 } }) end, 'mask is',
      ('give [%d, %d] for all angles'):format(n, n))
    refused(function() xpcs.open(path, { mask = mc.ones { n, 3 }, end_frame = n - 1 }) end,
      ('where n is %d (frames of the file) or %d (frames that are kept)'):format(n, n - 1))
    local other = saved('t.npz', { other = sigma, more = sigma })
    refused(function() xpcs.open(path, { sigma = other }) end, 'holds no array', 'FILE:NAME')
  end)
end)

describe('data read by strips and by blocks', function()
  local s, half, o, n
  setup(function()
    assert(mc.file.make_folder(folder))
    n = 150
    local sigma
    s, sigma = uneven(n, { -30, 20, 75 }, 7)
    local groups, wrong = {}, s.c2:copy()
    wrong[{ 2, 20, 90 }], wrong[{ 2, 90, 20 }] = 0 / 0, 0 / 0
    s.c2 = wrong
    for f = 1, 3 do groups[('c2_%05d'):format(f)] = f == 2 and mc.tril(s.c2[f]) or mc.triu(s.c2[f]) end
    half = saved('half.h5', { xpcs = { qmap = { dynamic_v_list_dim0 = mc.tensor { 0.012 },
      dynamic_v_list_dim1 = mc.tensor(s.phi) }, twotime = { processed_bins = mc.arange(1, 3),
      correlation_map = groups } } })
    local mask = mc.ones { 3, n, n }
    mask[{ 1, { 5, 9 } }], mask[{ 3, { 70, 80 }, { 100, 140 } }] = 0, 0
    local uneven_ = mc.triu(sigma, 1) + mc.tril(sigma, -1) * 1.5
    o = { q = 0.012, dt = 0.5, mask = saved('m.npy', mask), exclude_first = false,
      sigma = saved('u.h5', { one = { er = uneven_ } }) .. ':one/er' }
  end)
  teardown(function()
    os.execute("rm -rf '" .. folder .. "'")
    s = nil
  end)

  local function with(more)
    local t = {}
    for k, v in pairs(o) do t[k] = v end
    for k, v in pairs(more) do t[k] = v end
    return t
  end

  local function same(a, b, what)
    assert.is_true(mc.array_equal(mc.where(mc.isnan(a), -7, a), mc.where(mc.isnan(b), -7, b)), what)
  end

  it('have the bits of data in memory, with sigma and masks per point', function()
    local whole = xpcs.open(half, with {})
    assert.equal(3 * n * (n - 1) / 2 - whole.masked, whole.points)
    assert.is_true(whole.masked > 1000)
    local flat = npz('full.npz', s, { t1 = s.t - 0.5 })
    local room = xpcs.source.least(n, 3)
    local squares = xpcs.source.SQUARES
    xpcs.source.SQUARES = 1e6
    local strips = xpcs.open(half, with { strip = 5000 })
    xpcs.source.SQUARES = squares
    local ways = {
      strips = strips,
      file = xpcs.open(half, with { pack = folder .. '/pack.h5', block_values = 20000, strip = 7000 }),
      again = xpcs.open(half, with { pack = folder .. '/pack.h5', block_values = 20000, strip = 900 }),
      npz = xpcs.open(flat, with { pack = folder .. '/pack2.h5', block_values = 1 }),
      small = xpcs.open(half, with { max_memory = room + 2 ^ 20, pack_default = folder .. '/pack3.h5' }),
    }
    assert.is_true(ways.strips.packed ~= nil and ways.file.packed == nil and #ways.file.store_blocks > 3)
    local fit = { scaling = 'averaged', initial = START, contrast = { 0.3, 0.3, 0.3 }, offset = { 1, 1, 1 } }
    local a = xpcs.fit(whole, fit)
    assert.is_true(math.abs(a.reduced_chi2 - 1) < 0.3)
    for f = 1, 3 do -- the diagonal beside masked points differs
      near(whole.start_contrast[f], strips.start_contrast[f], 1e-3)
      near(whole.start_offset[f], strips.start_offset[f], 1e-3)
    end
    for name, d in pairs(ways) do
      assert.same({ whole.points, whole.masked, whole.sigma }, { d.points, d.masked, d.sigma }, name)
      local told = table.concat(d.warnings, '\n')
      for _, w in ipairs(whole.warnings) do assert.is_truthy(told:find(w, 1, true), told) end
      local b = xpcs.fit(d, fit)
      for k, v in ipairs(a.point.x) do assert.is_true(v == b.point.x[k], name) end
      assert.is_true(a.chi2 == b.chi2, name)
      for f = 1, 3 do
        local q = d.quality[f]
        for _, key in ipairs { 'good', 'missing', 'least', 'most' } do
          assert.equal(whole.quality[f][key], q[key], name .. ' ' .. key)
        end
        local strip, spread = d:strip(f, 1), d:spread(f, 1)
        same(whole:strip(f, 1), strip, name)
        assert.is_true(mc.allclose(whole:spread(f, 1), spread, { rtol = 1e-14, atol = 0 }) or mc.any(mc.isinf(
          whole:spread(f, 1))), name)
        same(whole:matrix(f), d:matrix(f), name)
        same(whole:thin(f, 7), d:thin(f, 7), name)
        local rows, factor = d:rows(f, 1)
        local rows_, factor_ = whole:rows(f, 1)
        same(rows_, rows, name)
        local there = mc.isfinite(rows)
        assert.is_true(mc.allclose(factor_[there], factor[there], { rtol = 1e-14, atol = 0 }), name)
      end
      -- columns written out, as a nearly degenerate fit needs them
      local p = { physics = { 2000, -0.2, 100 }, contrast = { 0.3, 0.25, 0.3 }, offset = { 1, 1.1, 1 }, sigma = d.sigma,
        kd = a.kd, ks = a.ks, t = d.t, loss = 'linear', f_scale = 1 }
      local x, y = xpcs.pass.run(d, p, 'each'), require('workflows.xpcs.pass.dense').sums(d, p, 'each')
      for k = 1, #x do near(y[k], x[k], 1e-9 * math.abs(y[k]) + 1e-12 * math.abs(y[1]), name .. ' sum ' .. k) end
    end
    -- another mask is another packed file
    local more = with { pack = folder .. '/pack.h5', block_values = 20000 }
    more.mask = nil
    local other = xpcs.open(half, more)
    assert.is_truthy(table.concat(other.warnings, '\n'):find('it is made again', 1, true))
    for _, d in pairs(ways) do if d.store then d.store:close() end end
    other.store:close()
  end)

  it('write the same arrays of results', function()
    local d = xpcs.open(half, with { pack = folder .. '/pack4.h5', block_values = 20000 })
    local whole = xpcs.open(half, with {})
    local fit = { scaling = 'averaged', initial = START, contrast = { 0.3, 0.3, 0.3 }, offset = { 1, 1, 1 } }
    local all = {}
    for k, data in ipairs { whole, d } do
      local r = xpcs.fit(data, fit)
      if k == 2 then xpcs.results.KEPT = 0 end
      xpcs.results.write(folder, r, data, { format = 'json' })
      xpcs.results.KEPT = 2 ^ 26
      all[k] = mc.load(folder .. '/fitted_data.npz')
      local g = xpcs.model.g1({ t = data.t, kd = r.kd, ks = r.ks, physics = r.physics }, s.phi[2])
      assert.is_true(mc.allclose(g * g, all[k].c2_theoretical_raw[2], { rtol = 0, atol = 1e-15 }))
      local c = data:matrix(2)
      same(c, all[k].c2_exp[2])
      local inside = mc.logical_and(mc.gt(mc.triu(mc.ones { n, n }, 1), 0), mc.isfinite(c))
      local line = mc.linalg.lstsq(mc.stack({ (g * g)[inside], mc.ones { mc.sum(inside:to 'f64'):item() } }, 2),
        c[inside]).x
      assert.is_true(mc.allclose(line, all[k].per_angle_scaling[2], { rtol = 1e-9, atol = 0 }))
    end
    for name, v in pairs(all[1]) do
      assert.same(v.shape, all[2][name].shape)
      if name ~= 'residuals_normalized' then same(v, all[2][name], name) end
    end
    local u = mc.logical_and(mc.gt(mc.triu(mc.ones { n, n }, 1), 0), mc.isfinite(all[1].residuals_normalized[3]))
    assert.is_true(mc.allclose(all[1].residuals_normalized[3][u], all[2].residuals_normalized[3][u], { rtol = 1e-13,
      atol = 0 }))
    d.store:close()
  end)
end)

describe('the cache', function()
  local path, o, at
  setup(function()
    assert(mc.file.make_folder(folder))
    local s = xpcs.simulate { n = 90, q = 0.01, phi = { -30, 0, 30 }, seed = 4, first = 0 }
    local groups = {}
    for f = 1, 3 do groups[('c2_%05d'):format(f)] = mc.triu(s.c2[f]) end
    groups.c2_00002[{ 20, 80 }] = 0 / 0
    path = saved('c.h5', { xpcs = { qmap = { dynamic_v_list_dim0 = mc.tensor { 0.01 },
      dynamic_v_list_dim1 = mc.tensor(s.phi) }, twotime = { processed_bins = mc.arange(1, 3),
      correlation_map = groups } } })
    o = { q = 0.01, dt = 0.1, mode = 'laminar_flow', cache = { folder = folder .. '/kept', compressed = true } }
    at = folder .. '/kept/cached_c2_q0.0100_frames_1_90.h5'
  end)
  teardown(function() os.execute("rm -rf '" .. folder .. "'") end)

  it('gives the data of its source to the bit, and is made again when the source or an option differs', function()
    local first = xpcs.open(path, o)
    assert.is_nil(first.from_cache)
    local d = xpcs.open(path, o)
    assert.equal(at, d.from_cache)
    for _, name in ipairs { 'points', 'masked', 'n', 'q', 'dt' } do assert.equal(first[name], d[name]) end
    assert.same({ first.start_contrast, first.start_offset, first.quality[2] }, { d.start_contrast, d.start_offset,
      d.quality[2] })
    local a, b = xpcs.fit(first, { sigma = 0.01 }), xpcs.fit(d, { sigma = 0.01 })
    for k, v in ipairs(a.point.x) do assert.is_true(v == b.point.x[k]) end
    o.diagonal = 'mean'
    warned(xpcs.open(path, o).warnings, 'belongs to other data')
    assert.equal(at, xpcs.open(path, o).from_cache)
    o.diagonal = nil
    xpcs.open(path, o)
    -- the source changes, and is put back
    local bytes = assert(mc.file.read(path))
    local f = assert(io.open(path, 'ab'))
    f:write 'x'
    f:close()
    local other = xpcs.open(path, o)
    assert.is_nil(other.from_cache)
    warned(other.warnings, 'it is made again')
    assert(mc.file.write(path, bytes))
    -- cut in the middle
    local whole = assert(mc.file.read(at))
    assert(mc.file.write(at, whole:sub(1, math.floor(#whole / 2))))
    warned(xpcs.open(path, o).warnings, 'it is damaged')
    -- a file of somebody else is left alone
    mc.save(at, { c2 = mc.ones { 3 } })
    local bytes_of = mc.file.read(at)
    warned(xpcs.open(path, o).warnings, 'left alone')
    assert.equal(bytes_of, mc.file.read(at))
  end)

  it('says the size of data without reading them, and the least memory they need', function()
    local d = xpcs.open(path, { q = 0.01, dt = 0.1, shape_only = true })
    assert.same({ 89, 3, 3 * 89 * 88 / 2 }, { d.n, d.F, d.points })
    assert.is_nil(d.packed)
    refused(function() xpcs.open(path, { q = 0.01, dt = 0.1, max_memory = 2 ^ 20 }) end, 'max_memory is 1 MiB',
      'need at least')
    local _, why = pcall(xpcs.open, path, { q = 0.01, dt = 0.1, max_memory = 1 })
    local least = tonumber(tostring(why):match 'need at least (%d+) MiB')
    assert.equal(89, xpcs.open(path, { q = 0.01, dt = 0.1, max_memory = least * 2 ^ 20 }).n)
    refused(function() xpcs.open(path, { q = 0.01, dt = 0.1, max_memory = (least - 1) * 2 ^ 20 }) end,
      ('need at least %d MiB'):format(least))
  end)

  it('refuses names that lead elsewhere', function()
    local function named(template) return xpcs.open(path, { q = 0.01, dt = 0.1, cache = { folder = folder,
      template = template } }) end
    refused(function() named '../{start_frame}.npz' end, 'path separator')
    refused(function() named '{nothing}.npz' end, '{nothing}', '{start_frame}')
    named 'x_{end_frame}.npz'
    assert.is_truthy(mc.file.exists(folder .. '/x_90.h5'))
  end)
end)

describe('other keys', function()
  local s, d
  setup(function()
    s = xpcs.simulate { n = 60, q = 0.01, phi = { -30, 0, 30, 75 }, seed = 2 }
    d = xpcs.data.of(s)
  end)
  teardown(function() s, d = nil, nil end)

  it('moves the start and tries again when a fit does not converge', function()
    local o = { sigma = 0.01, max_nfev = 3, initial = { D0 = 90000, alpha = 1.5, gamma_dot_t0 = 0.4, beta = 1.9 } }
    local r = require('workflows.xpcs.fit.recovery').fit(d, o, { retries = 2 })
    assert.equal(2, #r.recovery_actions)
    assert.is_truthy(r.recovery_actions[2]:find('at most 6 evaluations, tolerance 1e-06', 1, true))
    assert.equal(0, #require('workflows.xpcs.fit.recovery').fit(d, o, { retries = 0 }).recovery_actions)
    assert.equal(0, #require('workflows.xpcs.fit.recovery').fit(d, { sigma = 0.01 }).recovery_actions)
    assert.same(r.recovery_actions, xpcs.results.convergence(r).recovery_actions)
  end)

  it('steps by the scales of x_scale_map, to the same values', function()
    local initial = { D0 = 4000, alpha = -0.1, D_offset = 300, gamma_dot_t0 = 1.8e-3, beta = 0.1,
      gamma_dot_t_offset = 1e-4, phi0 = 2 }
    local plain = xpcs.fit(d, { sigma = 0.01, initial = initial })
    local r = xpcs.fit(d, { sigma = 0.01, initial = initial, x_scale = { D0 = 1e3, D_offset = 1e2,
      gamma_dot_t0 = 1e-3, gamma_dot_0_offset = nil, gamma_dot_t_offset = 1e-4 } })
    assert.is_true(r.nfev ~= plain.nfev)
    near(plain.chi2, r.chi2, 1e-6)
    refused(function() xpcs.fit(d, { x_scale = { D0 = -1 } }) end, 'x_scale of D0')
    refused(function() xpcs.fit(d, { x_scale = { DD0 = 1 } }) end, 'D0')
  end)

  it('finds the minimum by the evolution strategy, only when the first fit is not good', function()
    local skipped = xpcs.search.evolve(d, { sigma = 0.01 })
    assert.is_true(skipped.search.skipped)
    local bad = { D0 = 100, alpha = 1.9, D_offset = -5e4, gamma_dot_t0 = 0.4, beta = 1.9 }
    local r = xpcs.search.evolve(d, { sigma = 0.01, initial = bad, max_nfev = 2 }, { max_generations = 60, seed = 3 })
    assert.is_false(r.search.skipped) -- two evaluations end no fit from there
    assert.equal('max_iter', r.search.fits[1].status)
    r = xpcs.search.evolve(d, { sigma = 0.01, initial = bad }, { max_generations = 60, seed = 3, always = true })
    assert.is_true(r.search.evaluations > 100 and not r.search.skipped and #r.search.fits == 4)
    near(1, r.reduced_chi2, 0.05)
    near(skipped.chi2, r.chi2, 1e-3)
  end)

  it('writes a checkpoint after so many blocks', function()
    assert(mc.file.make_folder(folder))
    local written = 0
    local state = xpcs.state.new(d, { sigma = 0.01 }, { dir = folder .. '/cp', blocks = 4, block_values = 1 })
    local save = state.save
    function state.save(self)
      written = written + 1
      return save(self)
    end
    xpcs.fit(d, { sigma = 0.01, engine = state.engine })
    assert.is_true(written > 0 and math.abs(written - state.statistics.total_batches / 4) <= 1, written)
    os.execute("rm -rf '" .. folder .. "'")
  end)

  it('reads them from a configuration, and counts what steers other programs', function()
    local c = xpcs.config.of {
      analyzer_parameters = { dt = 0.1 },
      experimental_data = { file_path = 'a.h5', sigma = 'sigma.npy', mask = 'mask.npy', zero_sigma_is_mask = true,
        cache_file_path = 'cache', cache_filename_template = '{start_frame}.npz', cache_compression = true },
      optimization = { nlsq = { x_scale_map = { D0 = 10 }, cmaes = { enable = true, popsize = 12, preset = 'fast' } },
        cmc = { num_chains = 2, per_shard_mcmc = { num_samples = 70 }, backend = 'auto' } },
      parameter_space = { priors = { { name = 'D0', mu = 1000, sigma = 50 } } },
    }
    assert.same({ 'sigma.npy', 'mask.npy', true }, { c.open.sigma, c.open.mask, c.open.zero_sigma_is_mask })
    assert.same({ folder = 'cache', template = '{start_frame}.npz', compressed = true }, c.open.cache)
    assert.same({ D0 = 10 }, c.fit.x_scale)
    assert.same({ 2, 70, 12 }, { c.posterior.chains, c.posterior.draws, c.cmaes.popsize })
    assert.same({ D0 = { 1000, 50 } }, c.posterior.priors)
    assert.same({ 'optimization.cmc.backend', 'optimization.nlsq.cmaes.preset' }, c.unused)
    -- names that homodyne's own code reads, beside those of its templates
    c = xpcs.config.of { analyzer_parameters = { dt = 0.1 },
      parameter_space = { bounds = { { name = 'D0', min = 1, max = 9, type = 'TruncatedNormal', prior_mu = 5,
        prior_sigma = 2 } } },
      optimization = { nlsq = { use_streaming = true, cmaes = { nlsq_warmstart = true },
        anti_degeneracy = { per_angle_mode = 'independent' } }, cmc = { per_angle_mode = 'constant_averaged' } } }
    assert.equal('individual', c.fit.scaling)
    assert.same({ { D0 = { 5, 2 } }, { D0 = { 1, 9 } } }, { c.posterior.priors, c.fit.bounds })
    refused(function() xpcs.config.of { analyzer_parameters = { dt = 0.1 }, parameter_space = { bounds = { {
      name = 'D0', min = 1, maxx = 2, max = 3 } } } } end, 'bounds[1]', 'maxx', 'max')
    -- keys that are null are absent; priors by name, as the templates of homodyne hold them
    local null = mc.json.null
    local t = xpcs.config.of { analyzer_parameters = { dt = 0.1 },
      parameter_space = { priors = { contrast = { dist_type = 'TruncatedNormal', mu = 0.06, sigma = 0.05, min_val = 0,
        max_val = 0.5 }, gamma_dot_0 = { mu = 1e-3, sigma = 1e-4 } } },
      optimization = { streaming = { batch_size = null, enable_checkpoints = true }, nlsq = { multi_start = {
        n_starts = null, enable = false }, cmaes = { popsize = null } } }, plotting = { save_plots = null } }
    assert.same({ contrast = { 0.06, 0.05 }, gamma_dot_t0 = { 1e-3, 1e-4 } }, t.posterior.priors)
    assert.same({ { enable_checkpoints = true }, { enable = false }, {}, {} }, { t.streaming, t.multi_start, t.cmaes,
      t.plotting })
    refused(function() xpcs.config.of { analyzer_parameters = { dt = 0.1 }, parameter_space = { priors = { D0 = {
      dist_type = 'Uniform', mu = 1, sigma = 1 } } } } end, 'priors.D0.dist_type', 'TruncatedNormal')
    refused(function() xpcs.config.of { analyzer_parameters = { dt = 0.1 }, parameter_space = { priors = { D0 = 3 } } }
    end, 'priors.D0 needs mu and sigma')
    refused(function() xpcs.config.of { analyzer_parameters = { dt = 0.1 }, parameter_space = { priors = { {
      name = 'D0', mu = 1 } } } } end, 'priors[1]', 'sigma > 0')
    refused(function()
      xpcs.config.of { analyzer_parameters = { dt = 0.1 }, experimental_data = { sigma = true } }
    end, 'experimental_data.sigma')
  end)

  it('writes the numbers of a fit as arrays', function()
    assert(mc.file.make_folder(folder))
    local r = xpcs.fit(d, { sigma = 0.01 })
    local made = folder .. '/new/deep' -- a folder that is not there
    assert.same('parameters.json', xpcs.results.write(made, r, d, { arrays = false })[1])
    assert.is_true(mc.file.exists(made .. '/parameters.json'))
    local ok, why = pcall(xpcs.results.write, made, d, r)
    assert.is_true(not ok and why:find('give the result of a fit', 1, true) ~= nil, why)
    local files = xpcs.results.write(folder, r, d, { format = 'npz', arrays = false })
    assert.same({ 'parameters.json', 'analysis_results_nlsq.json', 'convergence_metrics.json', 'parameters.npz',
      'rates.csv' },
      files)
    local a = mc.load(folder .. '/parameters.npz')
    for name, v in pairs(r.values) do if a[name] and a[name].ndim == 0 then assert.equal(v, a[name]:item()) end end
    assert.equal(r.values.alpha, a.alpha:item())
    assert.equal(r.errors.phi0, a.phi0_error:item())
    assert.same(r.covariance, a.covariance:totable())
    os.execute("rm -rf '" .. folder .. "'")
  end)
end)
