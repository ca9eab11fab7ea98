-- pac_normalize_spec.lua - norms, p-values and corrections, native and as Tensorpac and gPAC form them.
--
-- Tensorpac's and gPAC's own answers come from the golden files pac_tensorpac_* and pac_gpac, the native ones from
-- pac_native, and small cases are worked out by plain loops here.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local tol = support.load 'tol'
local mc = require 'mascon'
local generate = require 'workflows.pac.generate'
local normalize = require 'workflows.pac.normalize'

local NAN = 0 / 0
local function load(name) return mc.load(support.folder .. '/golden/' .. name .. '.npz') end

local function near(want, got, class, more)
  if type(want) == 'table' then want = mc.tensor(want) end
  assert.equal(tostring(want.shape), tostring(got.shape))
  want, got = want:flatten():totable(), got:flatten():totable()
  for i = 1, #want do
    local wrong = tol.compare(class or 'ULP4', 'f64', got[i], want[i], more)
    assert.is_nil(wrong, wrong and ('element %d: %s'):format(i, wrong))
  end
end

-- Benjamini and Hochberg by the definition: q_i = min over j with p_j >= p_i of p_j n / rank_j
local function bh(p)
  local sorted, out = {}, {}
  for _, v in ipairs(p) do if v == v then sorted[#sorted + 1] = v end end
  table.sort(sorted)
  for i, v in ipairs(p) do
    out[i] = v == v and 1 or NAN
    for rank, s in ipairs(sorted) do
      if s >= v then out[i] = math.min(out[i], s * #sorted / rank) end
    end
  end
  return out
end

describe('pac.normalize.moments and apply', function()
  it('agree with the native maps: mean and spread of drawn surrogates, z and p', function()
    local g = load 'pac_native'
    local mean, m2, k = normalize.moments(g.surrogates)
    assert.equal(50, k)
    near(g.surrogates:mean(-1), mean, 'ACCUM', { n = 50, scale = 1 })
    local z, sd, status = normalize.apply(g.mi, mean, m2, k)
    near(g.surrogates:std(-1), sd, 'ACCUM', { n = 50, scale = 1 })
    -- z is a difference of values near 1e-2 over a spread above 1e-5, which magnifies their rounding
    near(g.z, z, 'ITERATIVE', { bound = 1e-9 })
    assert.equal('u8', status.dtype)
    assert.is_false(mc.any(status))
    near(g.p, normalize.p_native(normalize.exceed(g.mi, g.surrogates), k, g.mi), 'EXACT')
  end)

  it('give the norms of Tensorpac', function()
    for _, name in ipairs { 'pac_tensorpac_seeg', 'pac_tensorpac_synth' } do
      local g = load(name)
      local mean, m2, k = normalize.moments(g.block_swap_surrogates:permute_dims(2, 3, 4, 1))
      for _, norm in ipairs { 'z', 'sub', 'div', 'subdiv' } do
        near(g['block_swap_' .. norm], (normalize.apply(g.mi, mean, m2, k, { norm = norm })),
          'ITERATIVE', { bound = 1e-9 })
      end
      near(g.mi, (normalize.apply(g.mi, mean, m2, k, { norm = 'none' })), 'EXACT')
    end
  end)

  it('give the floored z of gPAC', function()
    local g = load 'pac_gpac'
    local k = 20
    local z, sd, status = normalize.apply(g.pac_f64, g.surrogate_mean_f64, (mc.square(g.surrogate_sd_f64) - 1e-10) * k,
      k, { compat = 'gpac' })
    near(g.z_f64, z, 'ITERATIVE', { bound = 1e-12 })
    near(g.surrogate_sd_f64, sd)
    assert.is_false(mc.any(status))
  end)

  it('give NaN and status 8 where the surrogates do not differ, in the dtype of x', function()
    local x, s = mc.tensor({ { 1, 2 } }, { dtype = 'f32' }), mc.tensor { { { 3, 3, 3 }, { 1, 2, 3 } } }
    local mean, m2, k = normalize.moments(s)
    local z, sd, status = normalize.apply(x, mean, m2, k)
    assert.equal('f32', z.dtype)
    near({ { NAN, 0 } }, z:to 'f64')
    near({ { 0, math.sqrt(2 / 3) } }, sd)
    assert.same({ { 8, 0 } }, status:totable())
    near({ { -2, 0 } }, (normalize.apply(x, mean, m2, k, { norm = 'sub' })):to 'f64')
    local zero = normalize.apply(x, mc.zeros { 1, 2 }, m2, k, { norm = 'div' })
    near({ { NAN, NAN } }, zero:to 'f64')
    near({ { -2e10, 0 } }, (normalize.apply(x:to 'f64', mean, m2 * 0, k,
      { compat = 'gpac' })) * mc.tensor { (1e-5 + 1e-10) * 1e10, 1 }, 'ITERATIVE', { bound = 1e-4 })
  end)

  it('says what does not fit', function()
    local x = mc.ones { 2, 2 }
    assert.has_error(function() normalize.apply(x, x, x, 1) end,
      'pac.normalize: k (number of surrogates) is 1; it must be integer >= 2')
    assert.has_error(function() normalize.apply(x, mc.ones { 4 }, x, 5) end,
      'pac.normalize: mean is {4} and x is {2, 2}; the shapes must be equal')
    assert.has_error(function() normalize.apply(x, x, x, 5, { norm = 'zz' }) end,
      "pac.normalize: option norm is 'zz'; choose none, sub, div, subdiv, z (did you mean \"z\"?)")
  end)
end)

describe('pac.p_native', function()
  it('counts the observed value in and is NaN where there is none', function()
    near({ 1 / 101, 51 / 101, 1 }, normalize.p_native(mc.tensor({ 0, 50, 100 }, { dtype = 'i64' }), 100))
    near({ 1 / 11, NAN }, normalize.p_native(mc.tensor { 0, 0 }, 10, mc.tensor { 5, NAN }))
    -- p of signal B in the conformance list (C12): one of 200 drawn surrogates reaches it
    local g = load 'pac_conformance'
    local v = g.table[{ 2, 1 }]
    near({ 2 / 201 }, normalize.p_native(normalize.exceed(v:reshape(1), g.B_drawn:reshape(1, 200)), 200))
  end)
end)

describe('pac.few_surrogates', function()
  it('warns below 10 / p', function()
    assert.is_nil(normalize.few_surrogates(200, 0.05))
    assert.equal('199 surrogates are few for p < 0.05: the smallest possible p is 0.005; use at least 200',
      normalize.few_surrogates(199, 0.05))
    assert.is_nil(normalize.few_surrogates(1000, 0.01))
    assert.has_error(function() normalize.few_surrogates(10, 1) end,
      'pac.few_surrogates: p is 1; it must lie in (0, 1)')
  end)
end)

describe('pac.maxstat', function()
  it('compares each pair with the maxima of its own row', function()
    local x = mc.tensor { { { 1, 2 }, { 2.5, NAN } }, { { 1, 0 }, { 9, 5 } } }
    local maxima = mc.tensor { { 2.5, 0.5, 2, 1.5 }, { 1, 1, 1, 6 } }
    near({ { { 4 / 5, 3 / 5 }, { 2 / 5, NAN } }, { { 1, 1 }, { 1 / 5, 2 / 5 } } }, normalize.maxstat(x, maxima))
    near({ { 4 / 5, 3 / 5 }, { 2 / 5, NAN } }, normalize.maxstat(x[1], maxima[1]))
  end)

  it('is never below the p of single pairs', function()
    local s = generate.noise(6 * 8 * 60, 5):reshape(6, 8, 60)
    local x = generate.noise(48, 6):reshape(6, 8)
    local single = normalize.p_native(normalize.exceed(x, s), 60)
    local whole = normalize.maxstat(x, s:max { 1, 2 })
    assert.is_true(mc.all(mc.ge(whole, single)))
  end)

  it('needs one row of maxima per map', function()
    assert.has_error(function() normalize.maxstat(mc.ones { 3, 2, 2 }, mc.ones { 2, 9 }) end,
      'pac.maxstat: x is {3, 2, 2} and the maxima are {2, 9}; give one row of maxima for each map')
  end)
end)

describe('pac.fdr and pac.bonferroni', function()
  it('follow their definitions within a row, NaN left out', function()
    local p = generate.uniform(3 * 4 * 5, 17):reshape(3, 4, 5):mul_(0.1)
    p[{ 2, 3, 4 }] = NAN
    p[{ 1, 1, 1 }] = p[{ 1, 4, 5 }]:item() -- a tie
    local q, b = normalize.fdr(p), normalize.bonferroni(p)
    for r = 1, 3 do
      local flat = p[r]:flatten():totable()
      near(bh(flat), q[r]:flatten(), 'ULP4')
      local n = r == 2 and 19 or 20
      for i, v in ipairs(flat) do flat[i] = v == v and math.min(1, v * n) or NAN end
      near(flat, b[r]:flatten(), 'ULP4')
    end
    near(bh(p:flatten():totable()), normalize.fdr(p, { scope = 'all' }):flatten(), 'ULP4')
  end)

  it('agree with mc.stats where nothing is missing', function()
    local p = generate.uniform(30, 4):reshape(5, 6)
    near(mc.stats.fdr_bh(p), normalize.fdr(p))
    near(mc.stats.bonferroni(p), normalize.bonferroni(p))
  end)
end)

describe('pac.test', function()
  it('picks the correction by name', function()
    local s = generate.noise(6 * 40, 5):reshape(2, 3, 40)
    local x = generate.noise(6, 6):reshape(2, 3)
    local count = normalize.exceed(x, s)
    local p = normalize.p_native(count, 40)
    near(p, normalize.test(x, { count = count, k = 40 }))
    near(normalize.fdr(p), normalize.test(x, { count = count, k = 40, mcp = 'fdr' }))
    near(normalize.bonferroni(p), normalize.test(x, { count = count, k = 40, mcp = 'bonferroni' }))
    near(normalize.maxstat(x, s:max { 1, 2 }), normalize.test(x, { maxima = s:max { 1, 2 }, mcp = 'maxstat' }))
    assert.has_error(function() normalize.test(x, { count = count, k = 40, mcp = 'maxstat' }) end,
      "pac.test: mcp is 'maxstat' and needs option maxima")
    assert.has_error(function() normalize.test(x, { count = count }) end,
      'pac.test: option k (number of surrogates) is missing')
  end)
end)

describe('pac.p_tensorpac', function()
  it('gives its p-values for every correction and both thresholds', function()
    for _, name in ipairs { 'pac_tensorpac_seeg', 'pac_tensorpac_synth' } do
      local g = load(name)
      local x, s = g.mi:permute_dims(3, 2, 1), g.block_swap_surrogates:permute_dims(1, 4, 3, 2)
      for _, mcp in ipairs { 'maxstat', 'fdr', 'bonferroni' } do
        for _, percent in ipairs { 5, 95 } do
          local want = g[('p_%s_%02d'):format(mcp, percent)].T
          near(want, normalize.p_tensorpac(x, s, { mcp = mcp, p = percent / 100 }), 'ULP4')
          near(want, normalize.p_tensorpac(x:mean(1), s:mean(2), { mcp = mcp, p = percent / 100 }), 'ULP4')
        end
      end
    end
  end)

  it('keeps strictly below the line only', function()
    -- 10 surrogates, one pair: p is 1/10 where none is reached; bonferroni and fdr over 2 pairs at 0.2: the line of
    -- both is 0.1
    local s = mc.zeros { 10, 1, 2 }
    local x = mc.tensor { { 1, 1 } }
    near({ { 1, 1 } }, normalize.p_tensorpac(x, s, { mcp = 'bonferroni', p = 0.2 }))
    near({ { 0.2, 0.2 } }, normalize.p_tensorpac(x, s, { mcp = 'bonferroni', p = 0.21 }))
    near({ { 0.1, 0.1 } }, normalize.p_tensorpac(x, s, { mcp = 'fdr', p = 0.2 }))
    near({ { 1, 1 } }, normalize.p_tensorpac(x, s, { mcp = 'fdr', p = 0.1 }))
  end)

  it('says which shapes it takes', function()
    assert.has_error(function() normalize.p_tensorpac(mc.ones { 2, 2 }, mc.ones { 5, 2 }) end,
      'pac.p_tensorpac: x is {2, 2} and the surrogates are {5, 2}; give [P, A] with [K, P, A], or [S, P, A] with '
      .. '[K, S, P, A]')
  end)
end)

describe('null_shift', function()
  local pac = mc.pac
  it('keeps its default where min_shift is given', function()
    local x = mc.randn { 1, 2000, seed = 3 }
    for _, way in ipairs { { surrogate = 'exhaustive' }, { n_perm = 60 }, { n_perm = 60, surrogate = 'time_lag' } } do
      local function run(min_shift, null_shift)
        local o = { fs = 250, pha_bands_hz = { { 4, 8 } }, amp_bands_hz = { { 40, 70 } }, dtype = 'f64',
          min_shift = min_shift, null_shift = null_shift }
        for k, v in pairs(way) do o[k] = v end
        return pac.compute(x, o)
      end
      local a, b = run(), run(1)
      assert.equal(62, a.null_shift)
      assert.equal(62, b.null_shift)
      assert.is_true(mc.array_equal(a.z, b.z))
      assert.is_true(mc.array_equal(a.p, b.p))
      assert.equal(62, run(10).null_shift)
      assert.equal(0, run(100).null_shift) -- all of them are that far
      assert.is_true(mc.array_equal(run(100).z, run(100, 0).z))
    end
  end)
end)
