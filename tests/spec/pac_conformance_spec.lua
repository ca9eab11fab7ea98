-- pac_conformance_spec.lua - the conformance list of phase-amplitude coupling, C1 to C19, in f64 and f32.
--
-- Figures come from the golden files pac_conformance, pac_filters and pac_native (an independent float64 program) and
-- from closed forms; the definitions stand here once more as plain loops over Lua tables.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local tol = support.load 'tol'
local mc = require 'mascon'
local op = require 'mascon.core.op'
local pac = mc.pac
local filters, generate = pac.filters, pac.generate

local PI = math.pi
local FS, T = 512, 5120
-- the f32 path may differ by this much (C18 is stricter for the modulation index)
local F32 = 2e-5

local function golden(name) return mc.load(support.folder .. '/golden/' .. name .. '.npz') end

--- want and got are tensors, tables or numbers; bound is absolute, or relative to want with rel.
local function near(want, got, bound, rel)
  if type(want) == 'number' then want = mc.tensor { want } end
  if type(want) == 'table' then want = mc.tensor(want) end
  if type(got) == 'number' then got = mc.tensor { got } end
  assert.equal(want:numel(), got:numel())
  local w, g = want:to('f64'):flatten():totable(), got:to('f64'):flatten():totable()
  for i = 1, #w do
    local wrong = tol.compare('ITERATIVE', 'f64', g[i], w[i], { bound = rel and bound * math.abs(w[i]) or bound })
    assert.is_nil(wrong, wrong and ('element %d: %s'):format(i, wrong))
  end
end

local function signal(name)
  if name == 'A' then return generate.g1 { n = T, fs = FS, fp = 10, fa = 100, k = 1, sigma = 1, seed = 1 } end
  if name == 'B' then
    return generate.g3 { n = T, fs = FS, fp = 10, fa = 100, sigma = 0.8, driver_seed = 1, noise_seed = 1001 }
  end
  return generate.noise(T, 7)
end

local function pair_options(more)
  local o = { fs = FS, pha_bands_hz = { { 9, 11 } }, amp_bands_hz = { { 80, 120 } }, dtype = 'f64' }
  for k, v in pairs(more or {}) do o[k] = v end
  return o
end

local function of(name, more) return pac.compute(signal(name), pair_options(more)) end

local function native_rows()
  return mc.stack {
    generate.g3 { n = 2048, fs = 256, fp = 7, fa = 60, sigma = 0.5, driver_seed = 11, noise_seed = 12 },
    generate.g4 { n = 2048, fs = 256, fp = 5, bandwidth = 2, fa = 50, sigma = 0.3, driver_seed = 13, noise_seed = 14,
      phi0 = 0.5, delay = 0.01 },
  }
end

--- Angles [P, L] and amplitudes [A, L] of one row as Lua tables, from the analytic op itself.
local function features(x, fs, pha, amp, cycles)
  local n = x:numel()
  local f = filters.fused(pha, amp, { T = n, fs = fs, n_cycles = cycles or { 3, 6 }, dtype = 'f64' })
  local P, A = pha.shape[1], amp.shape[1]
  local z = op.raw('pac_analytic', { x:reshape(1, n), f.table, f.spans, mc.zeros({ 0, 2 }, { dtype = 'i64' }) },
    { P = P, A = A, N = f.N, pad = f.pad, bins = 18, demean = 1, want = 16 }, 2)[1][1]
  local phi, a = mc.angle(z), mc.abs(z)
  return phi[{ { 1, P } }]:totable(), a[{ { P + 1, P + A } }]:totable(), z, f
end

-- ---------------------------------------------------------------- the definitions

local function bin(phi, n) return math.min(n - 1, math.floor((phi + PI) * n / (2 * PI))) end

--- Distribution of the amplitude over the phase bins, mean form; sum form with `sums`.
local function shape_of(phi, a, n, sums)
  local S, count, total = {}, {}, 0
  for j = 0, n - 1 do S[j], count[j] = 0, 0 end
  for t = 1, #phi do
    local j = bin(phi[t], n)
    S[j], count[j] = S[j] + a[t], count[j] + 1
  end
  for j = 0, n - 1 do
    if not sums then S[j] = count[j] > 0 and S[j] / count[j] or 0 end
    total = total + S[j]
  end
  for j = 0, n - 1 do S[j] = S[j] / total end
  return S
end

local function entropy_index(p, n)
  local h = 0
  for j = 0, n - 1 do if p[j] > 0 then h = h + p[j] * math.log(p[j]) end end
  return 1 + h / math.log(n)
end

local function sums_of(phi, a)
  local c, s = 0, 0
  for t = 1, #phi do c, s = c + a[t] * math.cos(phi[t]), s + a[t] * math.sin(phi[t]) end
  return c, s
end

local function mean_sd(a)
  local m, v = 0, 0
  for t = 1, #a do m = m + a[t] / #a end
  for t = 1, #a do v = v + (a[t] - m) ^ 2 end
  return m, math.sqrt(v / (#a - 1))
end

--- Normal scores of the ranks 1..L.
local function scores(x)
  local order, out = {}, {}
  for t = 1, #x do order[t] = t end
  table.sort(order, function(i, j)
    if x[i] ~= x[j] then return x[i] < x[j] end
    return i < j
  end)
  local q = mc.stats.norm_ppf(mc.arange(1, #x) / (#x + 1)):totable()
  for r, t in ipairs(order) do out[t] = q[r] end
  return out
end

local function dot(x, y)
  local s = 0
  for t = 1, #x do s = s + x[t] * y[t] end
  return s
end

local MEASURE = {
  mi = function(phi, a) return entropy_index(shape_of(phi, a, 18), 18) end,
  mi_sum = function(phi, a) return entropy_index(shape_of(phi, a, 18, true), 18) end,
  hr = function(phi, a)
    local p, lo, hi = shape_of(phi, a, 18), math.huge, 0
    for j = 0, 17 do lo, hi = math.min(lo, p[j]), math.max(hi, p[j]) end
    return (hi - lo) / hi
  end,
  mvl = function(phi, a)
    local c, s = sums_of(phi, a)
    return math.sqrt(c * c + s * s) / #a
  end,
  ozk = function(phi, a)
    local c, s = sums_of(phi, a)
    return math.sqrt(c * c + s * s) / math.sqrt(#a * dot(a, a))
  end,
  ndpac = function(phi, a)
    local m, sd = mean_sd(a)
    local u = {}
    for t = 1, #a do u[t] = (a[t] - m) / sd end
    local c, s = sums_of(phi, u)
    return math.sqrt(c * c + s * s) / #a
  end,
  glm = function(phi, a) -- R^2 from the normal equations of [1, cos, sin], solved by Gram-Schmidt
    local n = #phi
    local one, c, s, y = {}, {}, {}, {}
    for t = 1, n do one[t], c[t], s[t], y[t] = 1, math.cos(phi[t]), math.sin(phi[t]), a[t] end
    local function minus(x, base)
      local f = dot(x, base) / dot(base, base)
      for t = 1, n do x[t] = x[t] - f * base[t] end
    end
    minus(c, one)
    minus(s, one)
    minus(s, c)
    minus(y, one)
    local all = dot(y, y)
    minus(y, c)
    minus(y, s)
    return 1 - dot(y, y) / all
  end,
  plv = function(phi, a)
    local m = mean_sd(a)
    local u = {}
    for t = 1, #a do u[t] = a[t] - m end
    local theta = mc.angle(filters.hilbert(mc.tensor(u), #u)):totable()
    local c, s = 0, 0
    for t = 1, #a do c, s = c + math.cos(phi[t] - theta[t]), s + math.sin(phi[t] - theta[t]) end
    return math.sqrt(c * c + s * s) / #a
  end,
  gc = function(phi, a)
    local s, c = {}, {}
    for t = 1, #phi do s[t], c[t] = math.sin(phi[t]), math.cos(phi[t]) end
    s, c, a = scores(s), scores(c), scores(a)
    local ss, cc, aa, sc, sa, ca = dot(s, s), dot(c, c), dot(a, a), dot(s, c), dot(s, a), dot(c, a)
    local det = ss * (cc * aa - ca * ca) - sc * (sc * aa - ca * sa) + sa * (sc * ca - cc * sa)
    return 0.5 * math.log((ss * cc - sc * sc) * aa / det) / math.log(2)
  end,
}

-- ---------------------------------------------------------------- C1..C9

describe('pac conformance: random numbers, bands, filters', function()
  it('C1: SplitMix64 of seed 1', function()
    local g = golden 'pac_conformance'
    near({ 0.56656158, 0.74578176, 0.97100275 }, generate.uniform(3, 1), 5e-9)
    near(g.uniform_seed1, generate.uniform(8, 1), 0)
    assert.is_true(mc.array_equal(g.splitmix_seed1, generate.splitmix64(8, 1)))
  end)

  it('C2: default bands, clipped and not', function()
    local g = golden 'pac_conformance'
    local plan = pac.plan(2048, { fs = FS })
    near(g.default_pha_bands, plan.pha_bands_hz, 1e-12)
    near(g.default_amp_bands, plan.amp_bands_hz, 1e-12)
    near({ { 2, 2.5 }, { 3, 5 }, { 4.5, 7.5 } }, plan.pha_bands_hz['1:3, :'], 1e-12)
    local free = pac.plan(2048, { fs = FS, band_clip = false })
    near({ { 1.5, 2.5 }, { 15, 25 } }, mc.stack { free.pha_bands_hz[1], free.pha_bands_hz[-1] }, 1e-12)
    near({ { 52.5, 67.5 }, { 140, 180 } }, mc.stack { free.amp_bands_hz[1], free.amp_bands_hz[-1] }, 1e-12)
  end)

  it('C3: filter orders and the kernel length of gPAC', function()
    local g = golden 'pac_conformance'
    local plan = pac.plan(2048, { fs = FS })
    local orders = filters.orders(plan.pha_bands_hz, plan.amp_bands_hz, { T = 2048, fs = FS, n_cycles = { 3, 6 } })
    assert.same(g.orders_T2048:totable(), orders.orders)
    assert.is_true(orders.cut[1] and not orders.cut[2])
    assert.equal(1025, (filters.butter_trunc(FS, mc.concat { plan.pha_bands_hz, plan.amp_bands_hz })))
    assert.equal(16, plan:run(mc.stack { generate.noise(2048, 3) }).status:to('i64')['1, 1, 1']:item())
    local one = filters.fused(mc.tensor { { 9, 11 } }, mc.tensor { { 80, 120 } },
      { T = T, fs = FS, n_cycles = { 3, 6 }, dtype = 'f64' })
    assert.same({ 168, 36, 168, 5625 }, { one.orders[1], one.orders[2], one.pad, one.N })
  end)

  it('2.2: taps, zero-phase output and analytic signal of single bands', function()
    local g = golden 'pac_filters'
    local x = generate.g3 { n = 1500, fs = 250, fp = 6, fa = 60, sigma = 0.5, driver_seed = 3, noise_seed = 4 }
    near(g.x_head, x['1:16'], 1e-12)
    for i, c in ipairs(g.cases:totable()) do
      local k = i - 1
      local band, none = mc.tensor { { c[1], c[2] } }, mc.zeros { 0, 2 }
      local f = filters.orders(band, none, { T = 1500, fs = 250, n_cycles = { c[3], c[3] } })
      assert.equal(g['order_' .. k]:item(), f.orders[1])
      near(g['taps_' .. k], filters.fir1(f.orders[1], c[1], c[2], 250), 1e-14)
      local _, _, z = features(x, 250, band, none, { c[3], c[3] })
      near(mc.real(g[('fused_%d_every_10'):format(k)]), mc.real(z['1, ::10']), 1e-12)
      near(mc.imag(g[('fused_%d_every_10'):format(k)]), mc.imag(z['1, ::10']), 1e-12)
      near(g[('zero_phase_%d_every_5'):format(k)], mc.real(z['1, ::5']), 1e-12)
    end
  end)

  it('C9: the fused filter is one convolution of the odd extension with the autocorrelation of the taps, for any pad',
    function()
      local x = generate.g3 { n = 700, fs = 250, fp = 6, fa = 60, sigma = 0.5, driver_seed = 3, noise_seed = 4 }
      local mean = x:mean():item()
      local v = (x - mean):totable()
      local function at(t) -- odd extension, t from 1
        if t < 1 then return 2 * v[1] - v[2 - t] end
        if t > #v then return 2 * v[#v] - v[2 * #v - t] end
        return v[t]
      end
      for _, c in ipairs { { 6, 10, 3 }, { 55, 75, 6 } } do
        local band = mc.tensor { { c[1], c[2] } }
        local order =
          filters.orders(band, mc.zeros { 0, 2 }, { T = 700, fs = 250, n_cycles = { c[3], c[3] } }).orders[1]
        local h = filters.fir1(order, c[1], c[2], 250):totable()
        local r = {}
        for lag = 0, order do
          r[lag] = 0
          for i = 1, #h - lag do r[lag] = r[lag] + h[i] * h[i + lag] end
        end
        for _, pad in ipairs { order, order + 37 } do
          local f = filters.fused(band, mc.zeros { 0, 2 },
            { T = 700, fs = 250, n_cycles = { c[3], c[3] }, dtype = 'f64', pad = pad })
          local z = op.raw('pac_analytic',
            { x:reshape(1, 700), f.table, f.spans, mc.zeros({ 0, 2 }, { dtype = 'i64' }) },
            { P = 1, A = 0, N = f.N, pad = f.pad, bins = 18, demean = 1, want = 16 }, 2)[1]
          local got = mc.real(z):flatten():totable()
          for t = 1, 700, 23 do
            local want = r[0] * at(t)
            for lag = 1, order do want = want + r[lag] * (at(t - lag) + at(t + lag)) end
            near(want, got[t], 1e-12)
          end
        end
      end
    end)

  it('2.3 and 2.4: the Butterworth kernels of gPAC and the Morlet transform', function()
    local g = golden 'pac_filters'
    local x = generate.g3 { n = 1500, fs = 250, fp = 6, fa = 60, sigma = 0.5, driver_seed = 3, noise_seed = 4 }
    x = (x - x:mean()):reshape(1, 1500)
    for i, c in ipairs(g.butter_cases:totable()) do
      local lowest = c[3] == 512 and 4.5 or 2
      local L, kernel = filters.butter_trunc(c[3], mc.tensor { { lowest, lowest + 1 }, { c[1], c[2] } })
      local h = kernel(c)
      local want = g['butter_kernel_' .. i - 1]
      if L < 1000 then
        near(want, h, 1e-9)
        -- the output without the analytic part: real of the result
        near(g[('butter_applied_%d_every_8'):format(i - 1)], mc.real(filters.butter_rows(x, h))['1, ::8'], 1e-8)
      else
        near(want, h[('%d:-1:4'):format(math.floor(L / 2) + 1)], 1e-9)
      end
    end
    for i, f in ipairs(g.morlet_f:totable()) do
      local z, want = filters.morlet_rows(x, f, 250, 7):reshape(1500)['::10'], g[('morlet_%d_every_10'):format(i - 1)]
      near(mc.real(want), mc.real(z), 1e-10)
      near(mc.imag(want), mc.imag(z), 1e-10)
    end
  end)
end)

describe('pac conformance: closed forms of the measures', function()
  local N = 18000
  local function grid() return (mc.arange(0, N - 1) + 0.5) * (2 * PI / N) - PI end
  local function value(phi, a, more, dtype)
    local o = { dtype = dtype or 'f64' }
    for k, v in pairs(more or {}) do o[k] = v end
    return pac.from_phases(phi:reshape(1, -1), a:reshape(1, -1), o).pac:item()
  end

  it('C4: uniform amplitude 0, one bin 1, nine equal bins', function()
    local phi = grid()
    local k = mc.floor((phi + PI) * (18 / (2 * PI)))
    near(0, value(phi, mc.ones { N }), 1e-12)
    near(1, value(phi, mc.eq(k, 4):to 'f64'), 1e-12)
    local nine = value(phi, mc.lt(k, 9):to 'f64')
    near(1 - math.log(9) / math.log(18), nine, 1e-12)
    near(0.23981247, nine, 5e-9)
    for _, v in ipairs { { 0, mc.ones { N } }, { 1, mc.eq(k, 4):to 'f64' }, { 0.23981247, mc.lt(k, 9):to 'f64' } } do
      near(v[1], value(phi:to 'f32', v[2]:to 'f32', nil, 'f32'), 1e-6)
    end
  end)

  it('C5 and C6: amplitude 1 + m cos phi', function()
    local g, phi = golden 'pac_conformance', grid()
    near({ 0.00085726, 0.02212898, 0.05237689, 0.10447080 }, g.closed_form[{ mc.all, 2 }], 5e-9)
    for _, row in ipairs(g.closed_form:totable()) do
      local m = row[1]
      local a = 1 + m * mc.cos(phi)
      local want = { mi = row[3], mvl = row[4], ozk = row[5], hr = row[7], ndpac = row[8], plv = row[9], glm = row[10] }
      for measure, w in pairs(want) do
        near(w, value(phi, a, { measure = measure, ndpac_p = 1 }), 1e-6, true)
        near(w, value(phi:to 'f32', a:to 'f32', { measure = measure, ndpac_p = 1 }, 'f32'), F32)
      end
      near(m / 2, value(phi, a, { measure = 'mvl' }), 1e-12)
      near(math.sqrt(0.5 * (N - 1) / N), value(phi, a, { measure = 'ndpac', ndpac_p = 1 }), 1e-12)
      near(1, value(phi, a, { measure = 'glm' }), 1e-12)
      near(1, value(phi, a, { measure = 'plv' }), 1e-9)
      -- the limit of fine sampling
      near(row[2], value(phi, a), 2e-8)
    end
    local m = 0.02 -- small m: m^2 sinc(1/18)^2 / (4 ln 18)
    local s = math.sin(PI / 18) / (PI / 18)
    near(m * m * s * s / (4 * math.log(18)), value(phi, 1 + m * mc.cos(phi)), 1e-3, true)
    near(0.65763504, value(phi, 1 + 0.5 * mc.cos(phi), { measure = 'hr' }), 1e-7)
    near(0.98980488, value(phi, 1 + mc.cos(phi), { measure = 'hr' }), 1e-7)
    near(2 / PI, value(phi, 1 + mc.cos(phi), { measure = 'plv', compat = 'tensorpac', plv_entry = 'fit' }), 1e-4)
  end)

  it('C7: constant amplitude under a phase that is not uniform', function()
    local phi = grid()
    local warped, a = phi + 0.6 * mc.sin(phi), mc.ones { N }
    near(0, value(warped, a), 1e-12)
    near(0.0355, value(warped, a, { bin_norm = 'sum' }), 1e-4)
    near(golden('pac_conformance').warped_mi_mean_sum[2]:item(), value(warped, a, { bin_norm = 'sum' }), 1e-10)
  end)

  it('2.6: bins of phases on and near the edges, soft weights', function()
    local g = golden 'pac_conformance'
    local idx = op.raw('pac_index', { g.bin_phases:reshape(1, -1) }, { L = 10, bins = 18 }, 1)[1]
    assert.same(g.bin_index:totable(), idx:flatten():totable())
    -- one sample per row, amplitude 1: the distribution is the row of weights; gPAC clamps its weights at 1e-10
    local phi = g.bin_phases:reshape(10, 1, 1)
    local both = mc.concat({ phi, phi }, 3)
    local soft = pac.from_phases(both, mc.ones { 10, 1, 2 },
      { binning = 'soft', bin_norm = 'sum', return_dist = true, dtype = 'f64' })
    near(g.soft_symmetric, soft.dist:reshape(10, 18), 1e-12)
    local fmod = pac.from_phases(both, mc.ones { 10, 1, 2 }, { compat = 'gpac', return_dist = true, dtype = 'f64' })
    near(g.soft_fmod, fmod.dist:reshape(10, 18), 2e-10)
  end)
end)

-- ---------------------------------------------------------------- C10..C13

describe('pac conformance: signals A, B, C', function()
  local COLUMN = { mi = 1, mvl = 2, ozk = 3, hr = 4, ndpac = 5, plv = 6, gc = 7, glm = 8 }

  it('C10: every measure, preferred phase, counts and distribution', function()
    local g = golden 'pac_conformance'
    for row, name in ipairs { 'A', 'B', 'C' } do
      local x = signal(name)
      near(g[name .. '_sum']:item(), x:sum():item(), 1e-9)
      for measure, column in pairs(COLUMN) do
        local w = g.table[{ row, column }]:item()
        near(w, of(name, { measure = measure, ndpac_p = 1 }).pac, 1e-9, true)
        near(w, of(name, { measure = measure, ndpac_p = 1, dtype = 'f32' }).pac, F32)
      end
      near(g.table[{ row, 11 }]:item(), of(name, { bin_norm = 'sum' }).pac, 1e-9, true)
      local r = of(name, { return_dist = true })
      near(g[name .. '_dist'], r.dist, 1e-12)
      near(1, r.dist:sum(), 1e-12)
      near((g.table[{ row, 9 }]:item() + 0.5) * 2 * PI / 18 - PI, r.peak_phase, 1e-12)
      near(g.table[{ row, 10 }]:item(), r.pref_phase, 1e-9)
      local _, _, z = features(x, FS, mc.tensor { { 9, 11 } }, mc.tensor { { 80, 120 } })
      near(mc.real(g[name .. '_z_every_64']), mc.real(z[':, ::64']), 1e-12)
      near(mc.imag(g[name .. '_z_every_64']), mc.imag(z[':, ::64']), 1e-12)
    end
    -- the list itself
    near({ 0.01408140, 0.12049259 }, mc.concat { of('B').pac, of('B', { measure = 'mvl' }).pac }, 6e-9)
    near(0.234135, of('B', { measure = 'gc' }).pac, 1e-6)
    near(0.02923, of('B').pref_phase, 1e-5)
    near({ 0.01780706, 0.00012062 }, mc.concat { of('A').pac, of('C').pac }, 6e-9)
  end)

  it('C11: all shifts', function()
    local g = golden 'pac_conformance'
    for row, name in ipairs { 'A', 'B', 'C' } do
      for i, m in ipairs { 1, 512 } do
        local r = of(name, { surrogate = 'exhaustive', min_shift = m, null_shift = 0, return_surrogates = true })
        local want = g.table[{ row, { 12 + 4 * (i - 1), 15 + 4 * (i - 1) } }]:totable()
        assert.equal(T - 2 * m + 1, r.n_surrogates)
        near(want[1], r.surr_mean, 1e-9, true)
        near(want[2], r.surr_std, 1e-9, true)
        near(want[3], r.z, 1e-6)
        near(want[4], r.p, 1e-12)
        if m == 1 then near(g[name .. '_exhaustive_every_32'], r.surrogates['1, 1, ::32'], 1e-12) end
        local f = of(name, { surrogate = 'exhaustive', min_shift = m, null_shift = 0, dtype = 'f32' })
        near(want[1], f.surr_mean, F32)
        near(want[3], f.z, 1e-3)
      end
    end
    local b = of('B', { surrogate = 'exhaustive', min_shift = 1, null_shift = 0 })
    near({ 6.9154, 0.001758 }, mc.concat { b.z, b.p }, 5e-5)
    near({ 32.9045, 0.000244 }, mc.concat { of('B', { surrogate = 'exhaustive', min_shift = 512, null_shift = 0 }).z,
      of('B', { surrogate = 'exhaustive', min_shift = 512, null_shift = 0 }).p }, 5e-5)
    near({ 0.0320, 0.515 }, mc.concat { of('A', { surrogate = 'exhaustive', min_shift = 1, null_shift = 0 }).z, of('A',
      { surrogate = 'exhaustive', min_shift = 1, null_shift = 0 }).p }, 5e-5)
  end)

  it('C12: 200 drawn shifts of B', function()
    local g = golden 'pac_conformance'
    local r = of('B', { n_perm = 200, seed = 42, min_shift = 1, null_shift = 0, return_surrogates = true })
    local plan = pac.plan(T, pair_options { n_perm = 200, seed = 42, min_shift = 1, null_shift = 0 })
    assert.same({ 3797, 819, 1427, 1762, 195 }, plan.engine.shifts[{ { 1, 5 } }]:totable())
    assert.is_true(mc.array_equal(g.B_cuts_seed42, plan.engine.shifts))
    near(g.B_drawn, r.surrogates, 1e-12)
    near(g.B_drawn_z_p, mc.concat { r.z, r.p }, 1e-8)
    near({ 8.9684, 2 / 201 }, mc.concat { r.z, r.p }, 5e-5)
    local f = of('B', { n_perm = 200, seed = 42, min_shift = 1, null_shift = 0, return_surrogates = true,
      dtype = 'f32' })
    near(g.B_drawn, f.surrogates, F32)
    near(2 / 201, f.p, 1e-12)
  end)

  it('C13: surrogates by correlation equal rolled amplitudes', function()
    local x = signal 'B'
    local phi, a = features(x, FS, mc.tensor { { 9, 11 } }, mc.tensor { { 80, 120 } })
    local all = of('B', { surrogate = 'exhaustive', min_shift = 1, null_shift = 0,
      return_surrogates = true }).surrogates:flatten()
    for _, c in ipairs { 1, 77, 819, 3797, 5119 } do
      local rolled = {}
      for t = 1, T do rolled[t] = a[1][(t - 1 + c) % T + 1] end
      near(MEASURE.mi(phi[1], rolled), all[c], 1e-12)
      near(MEASURE.mi(phi[1], rolled),
        of('B', { shifts = { c, c }, return_surrogates = true }).surrogates['1, 1, 1'], 1e-12)
    end
  end)

  it('C18: single precision, and half precision of the amplitude', function()
    for _, name in ipairs { 'A', 'B', 'C' } do
      local double = of(name)
      near(double.pac, of(name, { dtype = 'f32' }).pac, 1e-7)
      local phi, a = features(signal(name), FS, mc.tensor { { 9, 11 } }, mc.tensor { { 80, 120 } })
      a = mc.tensor(a)
      local half = (a / mc.max(a)):to 'f16'
      near(double.pac, pac.from_phases(mc.tensor(phi), half:to 'f32', { dtype = 'f32' }).pac, 1e-6)
    end
  end)
end)

-- ---------------------------------------------------------------- maps

describe('pac conformance: maps', function()
  it('every measure equals a plain double loop of its definition', function()
    local pha, amp = mc.tensor { { 4, 6 }, { 6, 9 } }, mc.tensor { { 30, 50 }, { 45, 65 }, { 60, 80 } }
    local rows = native_rows()['..., 1:1200']
    for r = 1, 2 do
      local phi, a = features(rows[r]:contiguous(), 256, pha, amp)
      for name, define in pairs(MEASURE) do
        local o = { fs = 256, pha_bands_hz = pha, amp_bands_hz = amp, dtype = 'f64', measure = name, ndpac_p = 1 }
        if name == 'mi_sum' then o.measure, o.bin_norm = 'mi', 'sum' end
        local got = pac.compute(rows[r], o).pac
        for i = 1, 2 do
          for j = 1, 3 do near(define(phi[i], a[j]), got[{ i, j }], 1e-12) end
        end
      end
    end
  end)

  it('pac_native: measures, shapes, drawn and all shifts in f64 and f32', function()
    local g = golden 'pac_native'
    local rows = native_rows()
    near(g.rows_head, rows['..., 1:16'], 1e-12)
    local function go(dtype, more)
      local o = { fs = 256, pha_bands_hz = g.pha_bands, amp_bands_hz = g.amp_bands, dtype = dtype, mcp = 'none' }
      for k, v in pairs(more) do o[k] = v end
      return pac.compute(rows, o)
    end
    for dtype, bound in pairs { f64 = 1e-12, f32 = F32 } do
      for _, m in ipairs { 'mi', 'mvl', 'ozk', 'hr', 'plv', 'gc', 'glm' } do
        near(g[m], go(dtype, { measure = m }).pac, bound)
      end
      near(g.mi_sum, go(dtype, { bin_norm = 'sum' }).pac, bound)
      near(g.ndpac_05, go(dtype, { measure = 'ndpac' }).pac, bound)
      near(g.ndpac_1, go(dtype, { measure = 'ndpac', ndpac_p = 1 }).pac, bound)
      local r = go(dtype, { n_perm = 50, seed = 42, min_shift = 64, return_surrogates = true, return_dist = true })
      near(g.surrogates, r.surrogates, bound)
      near(g.dist, r.dist, bound)
      near(g.pref_mean, r.pref_phase, 10 * bound)
      near((g.pref_bin:to 'f64' + 0.5) * (2 * PI / 18) - PI, r.peak_phase, 1e-6)
      near(g.p, r.p, 1e-12)
      near(g.z, r.z, dtype == 'f64' and 1e-9 or 1e-3)
      local e = go(dtype, { surrogate = 'exhaustive', min_shift = 64 })
      near(g.mean_all, e.surr_mean, bound)
      near(g.sd_all, e.surr_std, bound)
      near(g.p_all, e.p, 1e-12)
      near(g.z_all, e.z, dtype == 'f64' and 1e-9 or 1e-3)
    end
  end)

  it('C14: the peak of the map is where the coupling is', function()
    local g = golden 'pac_conformance'
    for _, c in ipairs { { 8, 80, 3, 2, 0.015423, 3.6819e-4 }, { 6, 70, 2, 1, 0.022634, 3.5009e-4 },
      { 10, 100, 4, 4, 0.014283, 4.6337e-4 } } do
      local x = generate.g1 { n = T, fs = FS, fp = c[1], fa = c[2], k = 1, sigma = 1, seed = 1, segments = 4 }
      for _, dtype in ipairs { 'f64', 'f32' } do
        local map = pac.compute(x, { fs = FS, axes = 'ST', dtype = dtype }).pac:to('f64'):mean(1)
        near(g[('map_%d_%d'):format(c[1], c[2])], map, dtype == 'f64' and 1e-12 or F32)
        assert.equal(c[3] * 10 + c[4] + 1, mc.argmax(map:flatten()):item())
        near(c[5], mc.max(map), 1e-6)
        near(c[6], mc.stats.median(map:flatten()), 1e-7)
      end
    end
    -- noise-free bands carry leakage only: with little noise and weak coupling the peak moves to a neighbour band
    local clean = generate.g1 { n = T, fs = FS, fp = 8, fa = 80, k = 0.5, sigma = 0.1, seed = 1, segments = 4 }
    local map = pac.compute(clean, { fs = FS, axes = 'ST', dtype = 'f64' }).pac:mean(1)
    assert.equal(4 * 10 + 3 + 1, mc.argmax(map:flatten()):item())
  end)

  it('C17: all shifts of pure noise reject at their level', function()
    local seeds = {}
    for s = 1, 500 do seeds[s] = s end
    local x = generate.noise(2048, seeds)
    for m, share in pairs { [1] = 0.046, [512] = 0.064 } do
      local p = pac.compute(x, pair_options { axes = 'ST', surrogate = 'exhaustive', min_shift = m, mcp = 'none' }).p
      local got = mc.sum(mc.le(p, 0.05)):item() / 500
      assert.is_true(got >= 0.03 and got <= 0.07)
      near(share, got, 1e-12)
    end
  end)

  it('C19: event-related coupling of an amplitude that follows the phase is 1, p = exp(-n rho^2/2)', function()
    local n = 30
    local phi = (generate.uniform(n * 20, 21) * (2 * PI) - PI):reshape(n, 1, 20)
    local rho, p = pac.event.erpac(phi, mc.cos(phi))
    near(mc.ones { 20 }, rho, 1e-12)
    near(math.exp(-n / 2) * mc.ones { 20 }, p, 1e-12)
    rho, p = pac.event.erpac(phi, generate.uniform(n * 20, 22):reshape(n, 1, 20))
    near(mc.exp(mc.square(rho) * (-n / 2)), p, 1e-12)
    assert.is_false(mc.any(mc.isnan(rho)))
  end)
end)
