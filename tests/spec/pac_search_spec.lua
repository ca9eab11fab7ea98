-- pac_search_spec.lua - pac.search: the bands of a coupling, the p-value of the whole search, rows that are left out.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local tol = support.load 'tol'
local mc = require 'mascon'
local shared = support.load 'pac'
local pac = mc.pac
local generate = pac.generate

local NAN = 0 / 0
local with, near = shared.with, shared.near

describe('pac.search', function()
  local function rows()
    return generate.g3 { n = 2048, fs = 256, fp = 6, fa = 60, sigma = 0.8, driver_seed = 11,
      noise_seed = 12, segments = 3 }
  end
  local O = { fs = 256, pha_grid_hz = { 2, 4, 8, 12, 16 }, amp_grid_hz = { 30, 50, 70, 90, 110 }, n_perm = 60,
    axes = 'ST', dtype = 'f64' }

  it('finds the bands of a known coupling, with the p-value of the whole search', function()
    local r = pac.search.best(rows(), O)
    assert.equal('{10, 10}', tostring(r.value.shape))
    assert.equal(100, r.n_pairs)
    assert.equal(60, r.n_surrogates)
    local b = r.best
    assert.is_true(b.pha_hz[1] <= 6 and b.pha_hz[2] >= 6 and b.amp_hz[1] <= 60 and b.amp_hz[2] >= 60)
    near(1 / 61, b.p_search, 1e-12)
    assert.equal(10, #r.table)
    for i = 2, #r.table do assert.is_true(r.table[i].z <= r.table[i - 1].z) end
    assert.is_true(mc.all(mc.ge(r.p_search, r.p)))
  end)

  it('agrees with compute on every pair, for any size of block', function()
    local r = pac.search.best(rows(), O)
    for _, size in ipairs { 1, 3 } do
      local s = pac.search.best(rows(), with(O, { block = size }))
      for _, name in ipairs { 'value', 'z', 'p', 'p_search' } do
        near(r[name], s[name], name == 'z' and 1e-7 or 1e-12)
      end
    end
    -- one call with all bands: averaged over segments, then against the averaged surrogates
    local c = pac.compute(rows(), { fs = 256, pha_bands_hz = r.pha_bands_hz, amp_bands_hz = r.amp_bands_hz, n_perm = 60,
      axes = 'ST', dtype = 'f64', min_shift = r.min_shift, return_surrogates = true })
    local s = c.surrogates:mean(1)
    near(c.pac:mean(1), r.value, 1e-12)
    near((c.pac:mean(1) - s:mean(-1)) / s:std(-1), r.z, 1e-7)
    near((1 + mc.sum(mc.ge(s, c.pac:mean(1):expand_dims(-1)), -1):to 'f64') / 61, r.p, 1e-12)
    -- the observed value and its surrogates on one scale
    local all = mc.concat({ s, c.pac:mean(1):expand_dims(-1) }, -1)
    local scaled = (all - all:mean(-1):expand_dims(-1)) / all:std(-1):expand_dims(-1)
    local top = scaled[{ mc.all, mc.all, { 1, 60 } }]:contiguous():reshape(-1, 60):max(1)
    near((1 + mc.sum(mc.ge(top, scaled[{ mc.all, mc.all, 61 }]:expand_dims(-1)), -1):to 'f64') / 61, r.p_search, 1e-12)
    assert.equal(128, r.null_shift) -- one cycle of 2 Hz, in every block
  end)

  it('gives noise a p-value that is uniform over searches', function()
    local hits, n = 0, 80
    for seed = 1, n do
      local r = pac.search.best(mc.randn { 1, 8192, seed = 1000 + seed }, { fs = 512, pha_grid_hz = { 8, 12, 16, 20 },
        amp_grid_hz = { 60, 90, 120, 150 }, n_perm = 39, seed = seed, top = 1 })
      if r.best.p_search <= 0.1 then hits = hits + 1 end
    end
    assert.is_nil(tol.stat(hits / n, 0.1, math.sqrt(0.1 * 0.9 / n)))
  end)

  it('ranks by value without surrogates, leaves overlap and odd widths out', function()
    local r = pac.search.best(rows(), { fs = 256, pha_grid_hz = { 4, 8, 40 },
      amp_grid_hz = mc.tensor { 30, 50, 70, 90 }, axes = 'ST', amp_width_hz = { 15, 45 }, top = 100 })
    assert.is_nil(r.z)
    assert.equal('{3, 5}', tostring(r.value.shape))
    for _, row in ipairs(r.table) do
      assert.is_true(row.pha_hz[2] <= row.amp_hz[1])
      assert.is_true(row.amp_hz[2] - row.amp_hz[1] <= 45)
      near(r.value[{ row.pha_index, row.amp_index }], row.value, 0)
    end
    -- of 15 pairs the 2 x 2 that reach from 8 or 4 to 40 Hz meet the two bands that begin at 30 Hz
    assert.equal(11, r.n_pairs)
    assert.equal(11, #r.table)
  end)

  it('leaves rows with NaN out', function()
    local x = rows()
    local bad = mc.concat({ x, x['1:1'] * NAN }, 1)
    local a, b = pac.search.best(x, O), pac.search.best(bad, O)
    near(a.z, b.z, 1e-9)
    assert.is_nil(pac.search.best(x * NAN, O).best)
  end)
end)
