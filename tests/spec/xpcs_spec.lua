-- xpcs_spec.lua - the model, the data and the fused pass of mc.xpcs: conformance list of the definition, values
-- computed by other programs, bits.
local mc = require 'mascon'
local parameters = require 'workflows.xpcs.model.parameters'
local process = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/process.lua')
local xpcs = mc.xpcs
local model, prepare, generate, data_of, pass, dense, scaling = xpcs.model, xpcs.prepare, xpcs.generate, xpcs.data,
  xpcs.pass, require('workflows.xpcs.pass.dense'), xpcs.scaling

local function near(want, got, bound, what)
  assert.is_true(math.abs(want - got) <= bound, ('%s: %.15g instead of %.15g'):format(what or '', got, want))
end

-- the grid of the conformance list: dt 0.1, 8 times from 0, q 0.01, gap 2e6, contrast 0.3, offset 1
local function grid(physics, phi, legacy)
  local kd, ks = model.constants { q = 0.01, gap = 2e6, dt = 0.1 }
  return model.c2({ t = mc.arange(0, 7) * 0.1, kd = kd, ks = ks, physics = physics, legacy_abs = legacy }, phi, 0.3, 1)
end
local LAMINAR = { 1000, 0.5, 10, 0.01, 0.5, 0, 5 }

describe('xpcs.model', function()
  it('has the constants and the values of the reference, smooth distance', function()
    local kd, ks = model.constants { q = 0.01, gap = 2e6, dt = 0.1 }
    near(5e-6, kd, 1e-20)
    near(318.309886183791, ks, 1e-11)
    local want = { { 0, 0, 0, 1.299999979887 }, { 0, 0, 1, 1.181288420809 }, { 0, 1, 2, 1.106741357115 }, { 0, 0, 7,
      1.000000000004 }, { 45, 0, 3, 1.000059235580 },
      { 45, 2, 5, 1.000599586217 }, { 90, 0, 7, 1.124688628132 } }
    for _, w in ipairs(want) do
      near(w[4], grid(LAMINAR, w[1], true)[{ w[2] + 1, w[3] + 1 }]:item(), 1e-11, ('phi %g [%d,%d]'):format(w[1], w[2],
        w[3]))
      near(w[4], grid(LAMINAR, w[1])[{ w[2] + 1, w[3] + 1 }]:item(), 3e-8)
    end
    local still = { { 0, 1.299999999997 }, { 1, 1.299161422364 }, { 3, 1.296483454524 }, { 7, 1.288163466612 } }
    for _, w in ipairs(still) do near(w[2], grid({ 1000, 0.5, 10 }, 0, true)[{ 1, w[1] + 1 }]:item(), 1e-11) end
    local none = { 1000, 0.5, 10, 0, 0.5, 0, 0 }
    assert.is_true(mc.allclose(grid(none, 0), grid({ 1000, 0.5, 10 }, 0), { rtol = 0, atol = 1e-12 }))
    near(1.279718145978, grid({ 1000, 0, 0 }, 0)[{ 1, 8 }]:item(), 3e-8)
  end)

  it('is symmetric, bounded, falls with the lag, floors D and never gives NaN', function()
    for _, p in ipairs { LAMINAR, { 1000, -2, 10 }, { 100, -2, -1e5 }, { 1e5, 2, 0, 0.5, -2, -0.1, 0 } } do
      local c = grid(p, 30)
      assert.is_true(mc.array_equal(c, c.mT))
      assert.is_true(mc.all(mc.isfinite(c)) and mc.min(c):item() >= 1 and mc.max(c):item() <= 1.3)
    end
    -- D is 1e-10 throughout: nothing decays, on the diagonal as beside it
    assert.is_true(mc.allclose(grid({ 100, -0.5, -1e5 }, 0), mc.full({ 8, 8 }, 1.3), { rtol = 0, atol = 1e-12 }))
    local c = grid({ 1000, 0.5, 10 }, 0)
    for j = 2, 7 do assert.is_true(c[{ 1, j + 1 }]:item() < c[{ 1, j }]:item()) end
    -- across the flow
    assert.is_true(mc.allclose(grid({ 1000, 0.5, 10, 0.01, 0.5, 0, 120 }, 30), grid({ 1000, 0.5, 10 }, 0), { rtol = 0,
      atol = 1e-9 }))
    assert.is_true(mc.allclose(grid(LAMINAR, 45), grid(LAMINAR, 225), { rtol = 0, atol = 1e-12 }))
  end)

  it('names the times where D or G is floored, a time below half a step as half a step', function()
    local t = mc.arange(0, 9) * 0.5 -- D(1e-8) is below 0, D(0.25) is not
    assert.same({}, require('workflows.xpcs.model.floor').of(t, { 100, 0.5, -5 }))
    local cut = require('workflows.xpcs.model.floor').of(t, { 100, 0.5, -60, 1e-3, 0, -1e-3, 0 })
    assert.same({ 2, 1, 0, 0 }, { #cut, cut[1].count, cut[1].from, cut[1].to })
    assert.equal(10, cut[2].count)
  end)

  it('has derivatives that agree with central differences', function()
    local kd, ks = model.constants { q = 0.01, gap = 2e6, dt = 0.25 }
    local p = { 5000, 0.3, 900, 4e-4, -0.25, 1.2e-4, 4 }
    local o = { t = mc.arange(1, 12) * 0.25, kd = kd, ks = ks, physics = p }
    local _, d = model.g1(o, 30, true)
    local size = { 5000, 0.3, 5000, 4e-4, 0.25, 4e-4, 4 }
    for k = 1, 7 do
      local function at(v)
        local q = { unpack(p) }
        q[k] = v
        local g = model.g1({ t = o.t, kd = kd, ks = ks, physics = q }, 30)
        return g * g
      end
      local h = 1e-5 * size[k]
      local slope = (at(p[k] + h) - at(p[k] - h)) / (2 * h)
      local scale = mc.max(mc.abs(d[k])):item()
      assert.is_true(mc.max(mc.abs(slope - d[k])):item() < 1e-6 * scale, 'parameter ' .. k)
    end
  end)

  it('integrates with the orders of the definition as dt falls', function()
    local function integral(dt, from, alpha)
      local n = math.floor(8 / dt + 0.5)
      local t = mc.arange(0, n) * dt
      local A = model.integrals(t, 1000, alpha, 0)[1] * dt
      return (A[n + 1] - A[math.floor(from / dt + 0.5) + 1]):item()
    end
    for _, from in ipairs { 0, 2 } do near(integral(0.1, from, 0), integral(0.025, from, 0), 1e-9, 'alpha 0') end
    for _, alpha in ipairs { -0.3, 0.5 } do
      local function order(from)
        local a, b, c = integral(0.1, from, alpha), integral(0.05, from, alpha), integral(0.025, from, alpha)
        return math.log(math.abs((a - b) / (b - c))) / math.log(2)
      end
      near(2, order(2), 0.02, 'away from 0')
      near(1 + alpha, order(0), 0.12, 'from 0')
    end
  end)
end)

describe('xpcs.parameters', function()
  it('alone says which parameters are scale, power and shift of a rate', function()
    local folder = package.searchpath('workflows.xpcs.init', package.path):match '^(.*)/init'
    local elsewhere = {}
    for _, part in ipairs { 'model', 'data', 'pass', 'read', 'judge', 'show', 'fit' } do
      for _, name in ipairs(process.list(folder .. '/' .. part)) do
        local text = mc.file.read(('%s/%s/%s'):format(folder, part, name)):gsub('%-%-[^\n]*', '')
        for _, p in ipairs(parameters.LIST) do
          if p.part == 'shift' and name ~= 'parameters.lua' and text:find("'" .. p.name .. "'", 1, true) then
            elsewhere[#elsewhere + 1] = name .. ': ' .. p.name
          end
        end
      end
    end
    assert.same({}, elsewhere)
    local r = parameters.RATES[2]
    assert.same({ 4, '1/s', 'gamma_dot_t0', 'beta', 'gamma_dot_t_offset' }, { r.at, r.unit, unpack(r.names) })
    assert.equal(r.names[3], r.shift)
  end)
end)

describe('xpcs.prepare', function()
  local m = mc.tensor { { 9, 1.5, 1.2, 1.1 }, { 1.5, 9, 1.4, 1.25 }, { 1.2, 1.4, 9, 1.3 }, { 1.1, 1.25, 1.3, 9 } }

  it('corrects the diagonal in each way', function()
    local function diagonal(c, method) return mc.diagonal(prepare.diagonal(c, method)):totable() end
    local want = { median = { 1.2, 1.4, 1.3, 1.25 }, mean = { 1.266667, 1.383333, 1.3, 1.216667 }, trimmed = { 1.25,
      1.3875, 1.3, 1.225 }, interpolation = { 1.5, 1.45, 1.35, 1.3 } }
    for method, list in pairs(want) do
      local got = diagonal(m, method)
      for k = 1, 4 do near(list[k], got[k], 6e-7, method) end
    end
    local got = diagonal(mc.tensor { { 5, 1.2, 1.1 }, { 1.2, 5, 1.3 }, { 1.1, 1.3, 5 } })
    for k, v in ipairs { 1.2, 1.25, 1.3 } do near(v, got[k], 1e-15) end
  end)

  it('makes a half matrix full and refuses one with both triangles', function()
    local upper = mc.triu(m)
    assert.is_true(mc.array_equal(prepare.symmetric(upper, 'x'), m))
    assert.is_true(mc.array_equal(prepare.symmetric(upper.mT, 'x'), m))
    assert.is_true(mc.array_equal(prepare.symmetric(m, 'x', 'full'), m))
    local ok, why = pcall(prepare.symmetric, m, 'the matrix')
    assert.is_false(ok)
    assert.is_truthy(why:find('both triangles of the matrix', 1, true))
  end)
end)

-- of the sets: model and C2 at [1; 1, 8], [2; 4, 10] and [last; n - 1, n], the sum of C2^2, chi2 at the truth
local TABLE = {
  A = { 1.08783781883289, 1.08557283281138, 1.16130611013265, 1.16035396628825, 1.30036288479148, 1.29726106138289,
    1082.40327150005, 923.348659825838 },
  B = { 1.00021799693323, 1.00577058459794, 1.00158350493109, 1.0036658865569, 1.23470521093722, 1.23331744579591,
    2100.63306038601, 1897.5264780126 },
}

--- A point at the true physics; contrast 0.3 and offset 1, or those of the set.
local function point_of(s, loss, true_scaling)
  local kd, ks = model.constants(s)
  local p = { physics = s.physics, contrast = {}, offset = {}, sigma = s.sigma, kd = kd, ks = ks, t = s.t, loss = loss
    or 'linear', f_scale = 1 }
  for f = 1, #s.phi do
    p.contrast[f], p.offset[f] = true_scaling and s.contrast[f] or 0.3, true_scaling and s.offset[f] or 1
  end
  return p
end

describe('xpcs.generate', function()
  it('makes the sets A and B again to the bit', function()
    local draw = generate.splitmix(1)
    near(0.566561575172281, draw(), 1e-15)
    near(0.745781757262701, draw(), 1e-15)
    near(0.971002753586796, draw(), 1e-15)
    local noise = generate.splitmix(1)
    near(1.26042255786762, generate.noise(noise), 2e-14)
    near(1.05235069900646, generate.noise(noise), 2e-14)
    near(0.15427000356273, generate.noise(noise), 2e-14)
    local want = {
      A = { 1.20432578722005, 1.20810705489365, 944.787445403958, 944.617644181836, 1.20810705489365, 1.27673261157979,
        0.2064369319192, 0.2408060138229, 1.022902481641, 1.05063902465 },
      B = { 1.23411941113962, 1.23897882970126, 1987.60377042957, 1987.60286421008, 1.23897882970126, 1.22568427142917,
        0.2393013860217, 0.2367487339555, 0.9954581247975, 0.9939217575077 },
    }
    for name, w in pairs(want) do
      local s = generate.set(name)
      local u = mc.triu(mc.ones { s.n, s.n }, 1)
      near(w[1], s.model[{ 1, 1, 2 }]:item(), 5e-14)
      near(w[2], s.c2[{ 1, 1, 2 }]:item(), 5e-14)
      near(w[3], mc.sum(s.model * u):item(), 1e-11)
      near(w[4], mc.sum(s.c2 * u):item(), 1e-11)
      near(w[5], s.c2[{ 1, 1, 1 }]:item(), 5e-14)
      near(w[6], s.c2[{ 2, 6, 6 }]:item(), 5e-14)
      local F, n = #s.phi, s.n
      for k, at in ipairs { { 1, 1, 8 }, { 2, 4, 10 }, { F, n - 1, n } } do
        near(TABLE[name][2 * k - 1], s.model[at]:item(), 5e-14)
        near(TABLE[name][2 * k], s.c2[at]:item(), 5e-14)
      end
      near(TABLE[name][7], mc.sum(s.c2 * s.c2 * u):item(), 1e-11)
      near(TABLE[name][8], pass.run(data_of.of(s), point_of(s, nil, true), 'fixed')[1], 1e-8)
      for f = 1, 2 do
        local c, o = scaling.start(s.c2[f])
        near(w[6 + f], c, 1e-12)
        near(w[8 + f], o, 1e-11)
      end
    end
    for f, v in ipairs { 1.235415594353, 1.351965925741, 1.258332689753, 0.7149187679858, 0.4393670221677 } do
      near(v, scaling.shear_weights(generate.SETS.B.phi, { phi0 = 4 })[f], 1e-11)
    end
  end)
end)

-- cost, gradient and normal matrix of the averaged model at contrast 0.3, offset 1, the true physics; derivatives of
-- the model over sigma
local SUMS = {
  A = { 31372.78813289, { -222780.438174, -352686.4589764, 9.767875749782, 36479.53843225, 18.05511959861 },
    { 16497826.21906, 58956666.66667, .06366842496095, 878792.3271678, .2105108796444 }, { { 3, 4, 225.8381454875 },
      { 1, 5, -1447.840280381 } } },
  B = { 1897.526478013, { -909.9329250852, -56.63871842263, .02440138018887, 485.2230184489, .0008112038103927,
    433946.1188172, 156.8907740327, 585869.2531359, -10.04581018179 },
    { 10698407.56825, 118125000, .00846226454809, 378440.1791857, .004288163262099, 647557603642.5, 127102.4392528,
      1042693823419, 55.47472359431 },
    { { 3, 4, 52.09272249606 }, { 1, 9, -6445.866865525 } } },
}

describe('xpcs.pass', function()
  it('gives the sums of the reference for the sets A and B', function()
    for name, want in pairs(SUMS) do
      local s = generate.set(name)
      local sums = pass.run(data_of.of(s), point_of(s), 'common')
      local P, p = #s.physics, #s.physics + 2
      near(want[1], sums[1], 1e-9 * want[1])
      local g, H = { sums[36 + 4], sums[36 + 5] }, {}
      for i = 1, p do H[i] = {} end
      H[1][1], H[1][2], H[2][2] = sums[37], sums[38], sums[39]
      local at = 8
      for k = 1, 7 do
        if k <= P then g[2 + k], H[1][2 + k], H[2][2 + k] = sums[1 + k], sums[36 + 5 + k], sums[36 + 12 + k] end
        for l = k, 7 do
          at = at + 1
          if l <= P then H[2 + k][2 + l] = sums[at] end
        end
      end
      for k = 1, p do
        near(want[3][k], H[k][k], 1e-9 * want[3][k], 'diagonal ' .. k)
        near(want[2][k], g[k], 1e-9 * math.sqrt(want[3][k] * want[1]), 'gradient ' .. k)
      end
      for _, w in ipairs(want[4]) do near(w[3], H[w[1]][w[2]], 1e-9 * math.sqrt(want[3][w[1]] * want[3][w[2]])) end
    end
  end)

  it('agrees with residuals and columns written out, for sizes around the edges of tiles, masked points, f32, '
    .. 'every scaling', function()
      for _, n in ipairs { 2, 3, 9, 63, 64, 65, 70, 130 } do
        local s = generate.simulate { n = n, phi = { -60, 3, 93, 40 }, q = 0.01, seed = n }
        s.c2[{ 2, 1, 2 }], s.c2[{ 2, 2, 1 }] = 0 / 0, 0 / 0
        if n > 60 then s.c2[{ 3, 5, 60 }], s.c2[{ 3, 60, 5 }] = 1 / 0, 1 / 0 end
        s.sigma = { 0.01, 0.02, 0.015, 0.01 }
        for _, dtype in ipairs { 'f64', 'f32' } do
          s.dtype = dtype
          local d = data_of.of(s)
          assert.equal(n > 60 and 2 or 1, d.masked)
          for _, physics in ipairs { s.physics, { 3000, -0.2, 500 } } do
            local p = point_of(s)
            p.physics = physics
            for _, kind in ipairs { 'fixed', 'common', 'each' } do
              local a, b = pass.run(d, p, kind), dense.sums(d, p, kind)
              assert.equal(#b, #a)
              for k = 1, #a do
                -- products of two columns, against their norms
                assert.is_true(math.abs(a[k] - b[k]) <= 1e-9 * math.abs(b[k]) + 1e-12 * math.abs(b[1]),
                  ('n %d %s %s sum %d: %.17g, %.17g'):format(n, dtype, kind, k, a[k], b[k]))
              end
            end
          end
        end
      end
    end)

  it('gives the same bits for any number of threads and any blocks of tiles', function()
    local s = generate.simulate { n = 200, phi = { -30, 0, 30, 75, 92 }, q = 0.01 }
    s.sigma = { 0.01, 0.01, 0.01, 0.01, 0.01 }
    local d, p = data_of.of(s), point_of(s, 'soft_l1')
    local threads = mc.get_num_threads()
    local first
    for _, count in ipairs { 1, 2, 4 } do
      mc.set_num_threads(count)
      for _, values in ipairs { false, 1, 70000 } do
        d.block_values = values or nil
        local sums = pass.run(d, p, 'each')
        first = first or sums
        for k = 1, #first do assert.is_true(first[k] == sums[k]) end
      end
    end
    mc.set_num_threads(threads)
    -- stopped between two blocks and taken up again
    d.block_values = 1
    local kept
    p.between = function(state, tile) if tile == 4 then kept = { state = state:copy(), tile = tile } end end
    pass.run(d, p, 'each')
    p.between, p.from = nil, kept
    local sums = pass.run(d, p, 'each')
    for k = 1, #first do assert.is_true(first[k] == sums[k]) end
  end)

  it('stores f32 within the stated bound of f64', function()
    local s = generate.simulate { n = 150, phi = { -30, 0, 30 }, q = 0.01 }
    s.sigma = { 0.01, 0.01, 0.01 }
    local p = point_of(s)
    local a = pass.run(data_of.of(s), p, 'common')
    s.dtype = 'f32'
    local b = pass.run(data_of.of(s), p, 'common')
    -- rounding of C2 near 1 by 6e-8 against sigma 0.01: chi2 changes by 2 r 6e-6 a point, at random
    near(a[1], b[1], 2e-4 * math.sqrt(a[1]))
  end)

  it('refuses operands that do not fit', function()
    local s = generate.set 'A'
    local d, p = data_of.of(s), point_of(s)
    d.holes = mc.zeros({ 3 }, { dtype = 'u8' })
    d.tiles = { d.tiles[1], d.tiles[1], d.tiles[1] }
    assert.has_error(function() pass.run(d, p, 'common') end)
  end)
end)
