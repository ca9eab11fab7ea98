-- pac_compute_spec.lua - pac.compute and pac.from_phases: shapes of all combinations, laws, invariances.
--
-- Numbers of the definitions are compared in pac_conformance_spec.lua; here stands what must hold for any input.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local shared = support.load 'pac'
local pac = mc.pac
local generate = pac.generate

local PI, NAN = math.pi, 0 / 0
local PHA, AMP = shared.PHA, shared.AMP
local AXES = shared.AXES
local with, near, same_bits, same_results = shared.with, shared.near, shared.same_bits, shared.same_results
local batch, part, shape, bit = shared.batch, shared.part, shared.shape, shared.bit

describe('pac.compute', function()
  local BASE = { fs = 256, pha_bands_hz = PHA, amp_bands_hz = AMP, seed = 3 }

  local function check_shapes(r, lead, o, what)
    local function is(t, ...)
      local s = {}
      for i, v in ipairs(lead) do s[i] = v end
      for _, v in ipairs { ... } do s[#s + 1] = v end
      assert.equal(shape(unpack(s)), tostring(t.shape), what)
    end
    is(r.pac, 2, 3)
    is(r.status, 2, 3)
    assert.equal(o.dtype, r.pac.dtype, what)
    assert.equal('i32', r.status.dtype, what)
    assert.is_true(mc.all(mc.isfinite(r.pac)), what)
    if o.measure == 'mi' or o.measure == 'hr' then
      is(r.pref_phase, 2, 3)
      is(r.peak_phase, 2, 3)
      is(r.dist, 2, 3, 18)
      assert.is_true(mc.all(mc.ge(r.pac, 0)) and mc.all(mc.le(r.pac, 1)), what)
    else
      assert.is_nil(r.dist, what)
    end
    if r.n_surrogates > 0 then
      for _, name in ipairs { 'z', 'surr_mean', 'surr_std' } do
        is(r[name], 2, 3)
        assert.is_true(mc.all(mc.isfinite(r[name])), what .. ' ' .. name)
      end
      is(r.surrogates, 2, 3, r.n_surrogates)
      near(r.surrogates:to('f64'):mean(-1), r.surr_mean, 1e-6)
      if o.compat ~= 'tensorpac' then
        is(r.p, 2, 3)
        assert.is_true(mc.all(mc.gt(r.p, 0)) and mc.all(mc.le(r.p, 1)), what)
      end
      assert.equal(o.norm == 'sub', r.normalized ~= nil, what)
    else
      assert.is_nil(r.z, what)
      assert.is_nil(r.p, what)
    end
  end

  it('gives every measure, surrogate, rank and dtype the shapes it promises', function()
    for a, axes in ipairs(AXES) do
      local x, lead = part(axes)
      for m, measure in ipairs(pac.options.MEASURES) do
        for k, kind in ipairs(pac.options.SURROGATES) do
          if kind ~= 'swap_trials' or axes:find 'S' then
            local o = with(BASE, {
              axes = axes, measure = measure, surrogate = kind, n_perm = kind ~= 'none' and kind ~= 'exhaustive' and 5
                or 0, min_shift = kind == 'exhaustive' and 145 or nil, dtype = (a + m + k) % 2 == 0 and 'f32' or 'f64',
                return_surrogates = true, return_dist = true, null_shift = 0,
            })
            local r = pac.compute(x, o)
            check_shapes(r, lead, o, ('%s %s %s'):format(axes, measure, kind))
            local drawn = measure == 'ndpac' and 0 or kind == 'none' and 0 or kind == 'exhaustive' and 11 or 5
            assert.equal(drawn, r.n_surrogates)
          end
        end
      end
    end
  end)

  it('takes every other option with every measure that knows it', function()
    local extras = {
      { compat = 'tensorpac' }, { filter = 'morlet' }, { filter = 'butter_trunc' }, { edges = 20 },
      { windows = { { 10, 100 }, { 150, 250 } } }, { mask = mc.lt(mc.arange(1, 300), 200) }, { pool_segments = true },
      { pairs = { { 1, 2 }, { 2, 1 }, { 1, 1 } } }, { mcp = 'maxstat' }, { mcp = 'fdr' },
      { mcp = 'bonferroni' }, { norm = 'sub' }, { norm = 'none' }, { bin_norm = 'pooled' }, { bin_norm = 'sum' },
      { binning = 'soft' }, { demean = false }, { x_amp = true },
    }
    for e, extra in ipairs(extras) do
      for m, measure in ipairs(pac.options.MEASURES) do
        local bins = measure == 'mi' or measure == 'hr'
        if bins or not (extra.pool_segments or extra.binning) then
          for k, kind in ipairs { 'block_swap', 'swap_trials', 'exhaustive' } do
            local axes = e % 2 == 0 and 'BCST' or 'CST'
            local x, lead = part(axes)
            local o = with(with(BASE, {
              axes = axes, measure = measure, surrogate = kind, n_perm = kind ~= 'exhaustive' and 5 or 0,
              min_shift = kind == 'exhaustive' and 90 or nil, dtype = (e + m + k) % 2 == 0 and 'f32' or 'f64',
              return_surrogates = true, return_dist = true, null_shift = 0,
            }), extra)
            if extra.x_amp then o.x_amp = mc.flip(x) end
            if extra.pool_segments then lead[#lead] = nil end
            if extra.pairs then lead[#lead - 1] = 3 end
            check_shapes(pac.compute(x, o), lead, o, ('%s %s extra %d'):format(measure, kind, e))
          end
        end
      end
    end
  end)

  it('takes more amplitude bands than a tile holds, many bins, and integers', function()
    local amp = {}
    for i = 1, 19 do amp[i] = { 20 + 4 * i, 30 + 4 * i } end
    for _, dtype in ipairs { 'f32', 'f64' } do
      local all = pac.compute(batch()[1][1],
        { fs = 256, pha_bands_hz = PHA, amp_bands_hz = amp, dtype = dtype, n_bins = 7, axes = 'ST', n_perm = 3 })
      local last = pac.compute(batch()[1][1], { fs = 256, pha_bands_hz = PHA, amp_bands_hz = { amp[1], amp[19] },
        dtype = dtype, n_bins = 7, axes = 'ST', n_perm = 3 })
      near(last.pac['..., 2'], all.pac['..., 19'], dtype == 'f64' and 1e-12 or 1e-6)
      near(last.z['..., 2'], all.z['..., 19'], dtype == 'f64' and 1e-6 or 1e-2)
    end
    local x = mc.round(batch()[1][1] * 1000)
    same_results(pac.compute(x, with(BASE, { axes = 'ST' })), pac.compute(x:to 'i16', with(BASE, { axes = 'ST' })))
    assert.equal('{256}', tostring(pac.compute(batch()[1][1][1], with(BASE, { n_bins = 256 })).bin_centers.shape))
  end)

  it('couples channel pairs and a second signal alike', function()
    local x = part 'CST'
    for _, measure in ipairs { 'mi', 'mvl', 'plv', 'gc' } do
      for _, filter in ipairs { 'fir1', 'morlet' } do
        local o = with(BASE,
          { axes = 'CST', measure = measure, filter = filter, dtype = 'f64', n_perm = 4, return_surrogates = true })
        local pairs_ = pac.compute(x, with(o, { pairs = { { 1, 1 }, { 1, 2 }, { 2, 1 } } }))
        local own, crossed = pac.compute(x, o), pac.compute(x, with(o, { x_amp = mc.flip(x, 1) }))
        near(own.pac[1], pairs_.pac[1], 1e-12)
        near(crossed.pac[1], pairs_.pac[2], 1e-12)
        near(crossed.pac[2], pairs_.pac[3], 1e-12)
        near(crossed.surrogates[2], pairs_.surrogates[3], 1e-12)
      end
    end
  end)

  it('pools segments by adding up their bins', function()
    local x = part 'CST'
    local o = with(BASE, { axes = 'CST', dtype = 'f64', return_dist = true, n_perm = 6, return_surrogates = true })
    local pooled = pac.compute(x, with(o, { pool_segments = true }))
    -- by hand, from the phases and amplitudes of the engine: S_j and n_j over the segments first
    local all = pac.compute(x, o)
    assert.equal('{2, 2, 3}', tostring(pooled.pac.shape))
    assert.is_false(mc.allclose(pooled.pac, all.pac:mean(2)))
    -- equal segments pool to themselves, shift by shift
    local copies = mc.stack({ x[{ mc.all, 1 }], x[{ mc.all, 1 }], x[{ mc.all, 1 }] }, 2)
    local one, three = pac.compute(copies, o), pac.compute(copies, with(o, { pool_segments = true }))
    near(one.pac[{ mc.all, 1 }], three.pac, 1e-12)
    near(one.surrogates[{ mc.all, 1 }], three.surrogates, 1e-12)
    local every = pac.compute(copies, with(o, { pool_segments = true, surrogate = 'exhaustive', min_shift = 120 }))
    near(pac.compute(copies, with(o, { surrogate = 'exhaustive', min_shift = 120 })).surrogates[{ mc.all, 2 }],
      every.surrogates, 1e-12)
  end)

  it('filters before it cuts: edges, windows and mask of the same samples agree', function()
    local x = part 'CT'
    for _, filter in ipairs { 'fir1', 'morlet' } do
      for _, measure in ipairs { 'mi', 'gc', 'plv' } do
        local o = with(BASE, { filter = filter, measure = measure, dtype = 'f64', n_perm = 4 })
        local e = pac.compute(x, with(o, { edges = 30 }))
        same_results(e, pac.compute(x, with(o, { windows = { { 31, 270 } } })))
        local t = mc.arange(1, 300)
        same_results(e, pac.compute(x, with(o, { mask = mc.logical_and(mc.gt(t, 30), mc.le(t, 270)) })))
        same_results(pac.compute(x, o), pac.compute(x, with(o, { windows = { { 1, 300 } } })))
        assert.is_false(mc.allclose(e.pac, pac.compute(x['..., 31:270']:contiguous(), o).pac))
      end
    end
  end)

  it('returns norms that follow from value, mean and spread', function()
    local o = with(BASE, { n_perm = 20, dtype = 'f64' })
    local r = pac.compute(part 'CT', o)
    near((r.pac - r.surr_mean) / r.surr_std, r.z, 1e-9)
    local WANT = { sub = r.pac - r.surr_mean, div = r.pac / r.surr_mean, subdiv = (r.pac - r.surr_mean) / r.surr_mean }
    for norm, want in pairs(WANT) do near(want, pac.compute(part 'CT', with(o, { norm = norm })).normalized, 1e-9) end
  end)

  --- p of maxstat by the definition: s [C, P, A, K] and x [C, P, A] with the shifts of the surrogates. Every point of
  --- the circle is on the scale of those at least `least` from it; pairs are tested from the strongest down, without
  --- what the stronger ones are near shift 0.
  local function by_hand(r, shifts, L, least, groups)
    local K, C = #shifts, r.pac.shape[1]
    local circle = { 0 }
    for k = 1, K do circle[k + 1] = shifts[k] end
    local s, x = r.surrogates:to('f64'):reshape(-1, K):totable(), r.pac:to('f64'):flatten():totable()
    local N = #x
    local function apart(a, b) return math.min((a - b) % L, (b - a) % L) end
    local z = {}
    for i = 1, N do
      local all = { x[i] }
      for k = 1, K do all[k + 1] = s[i][k] end
      z[i] = {}
      for j = 1, K + 1 do
        local n, sum, sq = 0, 0, 0
        for l = 1, K + 1 do if apart(circle[j], circle[l]) >= least then n, sum = n + 1, sum + all[l] end end
        for l = 1, K + 1 do if apart(circle[j], circle[l]) >= least then sq = sq + (all[l] - sum / n) ^ 2 end end
        z[i][j] = n < 2 and math.huge or (all[j] - sum / n) / math.sqrt(sq / n)
      end
    end
    local p, per = {}, N / groups
    for g = 0, groups - 1 do
      local order = {}
      for i = 1, per do order[i] = g * per + i end
      table.sort(order, function(u, v) return z[u][1] > z[v][1] end)
      local before = 0
      for at, i in ipairs(order) do
        local count = 0
        for k = 2, K + 1 do
          local first = apart(circle[k], 0) < least and at or 1
          for q = first, per do
            if z[order[q]][k] >= z[i][1] * (1 - 1e-9) then
              count = count + 1
              break
            end
          end
        end
        before = math.max(before, (1 + count) / (1 + K))
        p[i] = before
      end
    end
    return mc.tensor(p):reshape(C, r.pac.shape[2], r.pac.shape[3])
  end

  it('takes mean and spread from surrogates that are far from the observation where there are two', function()
    local near_ = require('workflows.pac.surrogate').near
    local o = { compat = 'native', fs = 10 }
    -- of the shifts 1 .. L - 1, 10 .. L - 10 are a cycle of 1 Hz away
    assert.same({ 10, 3 }, { near_(o, 22, 1, 21, 1) })
    assert.same({ 10, 2 }, { near_(o, 21, 1, 20, 1) })
    assert.same({ 0, 19 }, { near_(o, 20, 1, 19, 1) })
    local function drawn(...) local list = mc.tensor({ ... }, { dtype = 'i64' }) return function() return list end end
    assert.same({ 10, 2 }, { near_(o, 30, 1, 3, 1, drawn(10, 20, 21)) })
    assert.same({ 0, 3 }, { near_(o, 30, 1, 3, 1, drawn(9, 20, 21)) })
    o.null_shift = 10
    assert.truthy(support.message(near_, o, 30, 1, 3, 1, drawn(9, 20, 21)):find('1 of the shifts of 30', 1, true))
  end)

  it('corrects p-values over the run or each channel, by the definition', function()
    local o = with(BASE, { n_perm = 39, dtype = 'f64', return_surrogates = true })
    local r = pac.compute(part 'CT', with(o, { mcp = 'none' }))
    near((1 + mc.sum(mc.ge(r.surrogates, r.pac:expand_dims(-1)), -1):to 'f64') / 40, r.p, 1e-12)
    local shifts = require('workflows.pac.surrogate').shifts({ n_perm = 39, seed = 3 }, 300, 1):totable()
    for _, scope in ipairs { 'run', 'channel' } do
      local m = pac.compute(part 'CT', with(o, { mcp_scope = scope }))
      assert.equal(64, m.null_shift)
      near(by_hand(m, shifts, 300, 64, scope == 'run' and 1 or 2), m.p, 1e-12)
      -- what is tested is the z that is shown
      near(m.z, m.standard, 1e-9)
      near(r.p, pac.correct(m, { mcp = 'none' }), 1e-12)
    end
    local all = mc.concat({ r.surrogates, r.pac:expand_dims(-1) }, -1)
    for _, case in ipairs { { 'run', 1 }, { 'channel', 2 } } do
      local top = all[{ mc.ellipsis, { 1, 39 } }]:reshape(case[2], 12 / case[2], 39):max(2):reshape(case[2], 1, 39)
      local want = (1 + mc.sum(mc.ge(top, r.pac:reshape(case[2], -1, 1)), -1):to 'f64') / 40
      near(want, pac.compute(part 'CT', with(o, { maxstat_of = 'raw', mcp_scope = case[1] })).p, 1e-12)
    end
    near(mc.minimum(r.p * 12, 1), pac.compute(part 'CT', with(o, { mcp = 'bonferroni' })).p, 1e-12)
    near(mc.minimum(r.p * 6, 1),
      pac.compute(part 'CT', with(o, { mcp = 'bonferroni', mcp_scope = 'channel' })).p, 1e-12)
    near(pac.normalize.fdr(r.p, { scope = 'all' }), pac.correct(r, { mcp = 'fdr' }), 1e-12)
    assert.has_error(function() pac.correct(r, { mcp = 'maxstat' }) end,
      'pac.correct: the result holds no maxima; compute it with mcp = "maxstat"')
  end)

  it('tests the same standardised values on every route', function()
    for _, case in ipairs { { surrogate = 'exhaustive' }, { n_perm = 29 }, { n_perm = 29, measure = 'mvl' },
      { n_perm = 29, measure = 'gc' }, { n_perm = 29, measure = 'plv' },
      { n_perm = 29, binning = 'soft' }, { n_perm = 29, dtype = 'f32' },
      { n_perm = 29, pool_segments = true, axes = 'CST' } } do
      local x = case.axes and part 'CST' or part 'CT'
      local r = pac.compute(x, with(with(BASE, { dtype = 'f64', return_surrogates = true }), case))
      local shifts = {}
      if case.n_perm then
        shifts = require('workflows.pac.surrogate').shifts({ n_perm = 29, seed = 3 }, 300, 1):totable()
      else
        for c = 1, 299 do shifts[c] = c end
      end
      near(by_hand(r, shifts, 300, r.null_shift, 1), r.p, 1e-12)
    end
    local r = pac.compute(part 'ST',
      with(BASE, { dtype = 'f64', return_surrogates = true, surrogate = 'swap_trials', n_perm = 9, axes = 'ST' }))
    local z = pac.normalize.standardised(mc.concat({ r.surrogates, r.pac:expand_dims(-1) }, -1))
    local top = z[{ mc.ellipsis, { 1, 9 } }]:reshape(-1, 9):max(1)
    near((1 + mc.sum(mc.ge(top, z[{ mc.ellipsis, { 10, 10 } }] - 1e-9), -1):to 'f64') / 10, r.p, 1e-12)
  end)

  it('meets the tie of a surrogate that is the observation', function()
    -- shift 0 and the identity leave everything in place, so their values are the observed ones, to the bit
    for _, dtype in ipairs { 'f32', 'f64' } do
      for _, measure in ipairs { 'mi', 'hr', 'mvl', 'plv', 'gc', 'ozk', 'glm' } do
        local r = pac.compute(part 'CT', with(BASE,
          { measure = measure, dtype = dtype, shifts = { 0, 0, 100 }, return_surrogates = true, mcp = 'none' }))
        same_bits(r.pac, r.surrogates[{ mc.ellipsis, 1 }], measure)
        assert.is_true(mc.all(mc.ge(r.p, 3 / 4)), measure)
        local m = pac.compute(part 'CT', with(BASE, { measure = measure, dtype = dtype, shifts = { 0, 0, 100 } }))
        assert.is_true(mc.all(mc.ge(m.p, 3 / 4)), measure)
      end
      for _, measure in ipairs { 'mi', 'mvl', 'gc', 'plv' } do
        local x, same, other = generate.noise(37 * 300, 5):reshape(37, 300), {}, {}
        for s = 1, 37 do same[s], other[s] = s, s % 37 + 1 end
        local r = pac.compute(x, with(BASE, { axes = 'ST', compat = 'tensorpac', measure = measure, dtype = dtype,
          permutations = { same, same, other }, p_threshold = 0.99 }))
        assert.is_true(mc.all(mc.ge(r.p, 2 / 3)), measure)
      end
    end
  end)

  it('swaps trials as the given permutations say', function()
    local x = part 'ST'
    local o = with(BASE, { axes = 'ST', dtype = 'f64', return_surrogates = true })
    local perms = { { 2, 3, 1 }, { 3, 1, 2 }, { 1, 2, 3 }, { 2, 1, 3 } }
    local r = pac.compute(x, with(o, { permutations = perms }))
    for k, p in ipairs(perms) do
      local phase_from = mc.take(x, mc.tensor(p, { dtype = 'i64' }), 1)
      near(pac.compute(phase_from, with(o, { x_amp = x })).pac, r.surrogates[{ mc.ellipsis, k }], 1e-12)
    end
    same_results(r, pac.compute(x, with(o, { permutations = mc.tensor(perms) })))
  end)
end)

describe('invariances (C8)', function()
  local O = { fs = 256, pha_bands_hz = PHA, amp_bands_hz = AMP, dtype = 'f64' }
  local function row()
    return generate.g3 { n = 1024, fs = 256, fp = 6, fa = 60, sigma = 0.5, driver_seed = 5, noise_seed = 6 }
  end

  it('scale and offset of the recording do not matter', function()
    local x = row()
    near(pac.compute(x, O).pac, pac.compute(x * 7.5 + 100, O).pac, 1e-12)
    near(pac.compute(x, with(O, { dtype = 'f32' })).pac,
      pac.compute(x * 7.5 + 100, with(O, { dtype = 'f32' })).pac, 1e-6)
    for _, m in ipairs { 'hr', 'ozk', 'ndpac', 'plv', 'gc', 'glm' } do
      local o = with(O, { measure = m, ndpac_p = 1 })
      near(pac.compute(x, o).pac, pac.compute(x * 7.5 + 100, o).pac, 1e-10)
    end
    local o = with(O, { measure = 'mvl' })
    near(3 * pac.compute(x, o).pac, pac.compute(x * 3, o).pac, 1e-12)
  end)

  it('a joint circular shift, other labels of the bins and a common rotation do not matter', function()
    local phi = (generate.uniform(2 * 900, 7) * (2 * PI) - PI):reshape(2, 900)
    local a = 1 + 0.4 * mc.cos(phi['1']:reshape(1, 900)) + generate.uniform(900, 8):reshape(1, 900)
    local f = function(p, b, more) return pac.from_phases(p, b, with({ dtype = 'f64' }, more)).pac end
    near(f(phi, a), f(mc.roll(phi, { 123, axis = -1 }), mc.roll(a, { 123, axis = -1 })), 1e-12)
    -- turned by whole bins, each angle moved to the middle of its bin so that rounding cannot move it across an edge
    local width = 2 * PI / 18
    local middle = (mc.floor((phi + PI) / width) + 0.5) * width - PI
    local turned = middle + 5 * width
    near(f(middle, a), f(mc.where(mc.gt(turned, PI), turned - 2 * PI, turned), a), 1e-12)
    for _, m in ipairs { 'mvl', 'ozk', 'ndpac', 'glm' } do
      local moved = phi + 1
      near(f(phi, a, { measure = m, ndpac_p = 1 }),
        f(mc.where(mc.gt(moved, PI), moved - 2 * PI, moved), a, { measure = m, ndpac_p = 1 }), 1e-12)
    end
  end)

  it('distributions sum to 1 and values lie in [0, 1]', function()
    for _, dtype in ipairs { 'f32', 'f64' } do
      for _, binning in ipairs { 'hard', 'soft' } do
        local r =
          pac.compute(part 'CST', with(O, { axes = 'CST', dtype = dtype, binning = binning, return_dist = true }))
        near(mc.ones { 2, 3, 2, 3 }, r.dist:to('f64'):sum(-1), 1e-6)
        assert.is_true(mc.all(mc.ge(r.pac, 0)) and mc.all(mc.le(r.pac, 1)))
      end
    end
    for _, m in ipairs { 'ozk', 'hr', 'plv', 'glm' } do
      local r = pac.compute(part 'CST', with(O, { axes = 'CST', measure = m }))
      assert.is_true(mc.all(mc.ge(r.pac, 0)) and mc.all(mc.le(r.pac, 1 + 1e-6)), m)
    end
  end)

  it('the two names of circular shifts are one', function()
    local o = with(O, { n_perm = 20, return_surrogates = true })
    same_results(pac.compute(row(), with(o, { surrogate = 'block_swap' })),
      pac.compute(row(), with(o, { surrogate = 'time_lag' })))
  end)

  it('all shifts hold every drawn shift, whatever the length', function()
    for _, n in ipairs { 900, 901, 907 } do -- the last is a prime
      local x = row()[{ { 1, n } }]
      for _, measure in ipairs { 'mi', 'mvl', 'gc' } do
        local o = with(O, { measure = measure, min_shift = 40, return_surrogates = true })
        local all = pac.compute(x, with(o, { surrogate = 'exhaustive' }))
        assert.equal(n - 79, all.n_surrogates)
        local some = pac.compute(x, with(o, { shifts = { 40, 41, 500, n - 40 } }))
        near(some.surrogates, mc.take(all.surrogates, mc.tensor({ 1, 2, 461, n - 79 }, { dtype = 'i64' }), -1), 1e-11)
      end
    end
  end)
end)

describe('pac.from_phases', function()
  it('gives what compute gives for the same phases and amplitudes, also as analytic signals', function()
    local x = part 'CST'
    local filters = pac.filters
    local pha, amp = mc.tensor(PHA), mc.tensor(AMP)
    local f = filters.fused(pha, amp, { T = 300, fs = 256, n_cycles = { 3, 6 }, dtype = 'f64' })
    local z = require 'mascon.core.op'.raw('pac_analytic',
      { x:reshape(6, 300):contiguous(), f.table, f.spans, mc.zeros({ 0, 2 }, { dtype = 'i64' }) },
      { P = 2, A = 3, N = f.N, pad = f.pad, bins = 18, demean = 1, want = 16 }, 2)[1]:reshape(2, 3, 5, 300)
    local zp, za = z['..., 1:2, :'], z['..., 3:5, :']
    for _, more in ipairs { {}, { measure = 'mvl' }, { measure = 'gc' }, { measure = 'plv' }, { pool_segments = true },
      { surrogate = 'swap_trials' }, { pairs = { { 1, 2 } } }, { edges = 25 },
      { surrogate = 'exhaustive' }, { binning = 'soft' }, { bin_norm = 'pooled' } } do
      local o = with({ fs = 256, axes = 'CST', dtype = 'f64', n_perm = 5, pha_bands_hz = PHA, amp_bands_hz = AMP,
        return_surrogates = true }, more)
      local want = pac.compute(x, o)
      for _, got in ipairs { pac.from_phases(mc.angle(zp), mc.abs(za), o), pac.from_phases(zp, za, o) } do
        near(want.pac, got.pac, 1e-12)
        near(want.surrogates, got.surrogates, 1e-11)
        assert.equal(want.min_shift, got.min_shift)
      end
    end
    -- phases of [0, 2 pi) are turned into [-pi, pi]
    local turned = mc.remainder(mc.angle(zp), 2 * PI)
    local o = { axes = 'CST', dtype = 'f64' }
    near(pac.from_phases(zp, za, o).pac, pac.from_phases(turned, mc.abs(za), o).pac, 1e-12)
    assert.equal(1, pac.from_phases(zp, za, with(o, { n_perm = 3 })).min_shift)
  end)

  it('has NaN in a row whose phase is not finite, and only there', function()
    local phi, a = (generate.uniform(3 * 2 * 90, 3) * 6 - 3):reshape(3, 2, 90),
      generate.uniform(3 * 4 * 90, 4):reshape(3, 4, 90)
    local clean = pac.from_phases(phi, a, { n_perm = 4 })
    local bad = phi:copy()
    bad[{ 2, 1, 7 }] = NAN
    local r = pac.from_phases(bad, a, { n_perm = 4 })
    assert.is_true(mc.all(mc.isnan(r.pac[2])) and bit(r.status[2], 4))
    for _, i in ipairs { 1, 3 } do same_bits(clean.z[i], r.z[i]) end
    local amp = a:copy()
    amp[{ 3, 2, 7 }] = NAN
    r = pac.from_phases(phi, amp, { n_perm = 4 })
    assert.is_true(mc.all(mc.isnan(r.pac['3, :, 2'])))
    same_bits(clean.pac['3, :, 1'], r.pac['3, :, 1'])
    same_bits(clean.pac['1:2'], r.pac['1:2'])
  end)
end)
