-- meeg_spline_spec.lua - spherical splines and sphere geometry against mpmath and MNE-Python, their laws, messages.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local tol = support.load 'tol'
local spline, sphere = mc.meeg.spline, mc.meeg.sphere

local file
local function golden()
  file = file or mc.load(support.folder .. '/golden/spherical_spline.npz')
  return file
end

--- 0-based places of a golden file as a list of ours.
local function places(t) return (t + 1):totable() end

local function others(n, bad)
  local is, out = {}, {}
  for _, b in ipairs(bad) do is[b] = true end
  for c = 1, n do if not is[c] then out[#out + 1] = c end end
  return mc.tensor(out, { dtype = 'i64' })
end

local function apart(a, b) return mc.max(mc.abs(a - b)):item() end
local function index(list) return mc.tensor(list, { dtype = 'i64' }) end

-- error of a weight solved from a system of condition 1e6 by another algorithm than the reference's (pseudo-inverse)
local SOLVED = 1e-10

describe('mc.meeg.spline.g and .h', function()
  it('have the values of mpmath', function()
    local g = golden()
    tol.below(apart(spline.g(g.x), g.g), 1e-15, 'g')
    tol.below(apart(spline.h(g.x), g.h), 1e-15, 'h')
    tol.below(apart(spline.g(g.x, { stiffness = 3, terms = 7 }), g.g_3_7), 1e-15, 'g with 7 terms')
  end)

  it('have the values of the definition at five points (item 8)', function()
    local x = mc.tensor { 1, 0.5, 0, -0.5, -1 }
    tol.below(apart(spline.g(x), mc.tensor { 0.0152607616970611, 0.00740918563856789, -0.000151919699050514,
      -0.00748832184807495, -0.0146369861541134 }), 1e-15)
    tol.below(apart(spline.h(x), mc.tensor { 0.0321583490430606, 0.0145316695234394, -0.000891062383022325,
      -0.0150357245157519, -0.0282552489619436 }), 1e-15)
  end)
end)

describe('mc.meeg.spline.weights', function()
  local octahedron = { { 1, 0, 0 }, { -1, 0, 0 }, { 0, 1, 0 }, { 0, -1, 0 }, { 0, 0, 1 }, { 0, 0, -1 } }

  it('are those of the octahedron (item 9)', function()
    local five = { unpack(octahedron, 2) }
    tol.near({ { -0.910173419907, 0.477543354977, 0.477543354977, 0.477543354977, 0.477543354977 } },
      spline.weights(five, { { 1, 0, 0 } }), 'from five', 1e-11)
    tol.near({ { 0.996277699556, -0.003387938925, 0.001777559842, 0.001777559842, 0.001777559842, 0.001777559842 } },
      spline.weights(octahedron, { { 1, 0, 0 } }), 'at a source', 1e-11)
    local near, far = 0.454354851416, -0.121021518083
    tol.near({ { near, far, near, far, near, far } }, spline.weights(octahedron, { { 3, 3, 3 } }), 'between', 1e-11)
  end)

  it('are those of MNE, also from a centre and with two sensors in one direction', function()
    local g = golden()
    for _, n in ipairs { 1, 2, 5, 32 } do
      local bad = places(g['cap_bad_' .. n])
      local good = others(40, bad)
      tol.below(apart(spline.weights(mc.take(g.cap_pos, good, 1), mc.take(g.cap_pos, index(bad), 1)),
        g['cap_weights_' .. n]), SOLVED, n .. ' bad')
    end
    local bad = places(g.cap_bad_32)
    local from, to = mc.take(g.cap_pos, others(40, bad), 1), mc.take(g.cap_pos, index(bad), 1)
    tol.below(apart(spline.weights(from, to, { centre = g.cap_centre:totable() }), g.cap_centred_32), SOLVED, 'centre')
    tol.below(apart(spline.weights(g.dup_pos['1:11, :'], g.dup_pos['12:12, :']), g.dup_weights), SOLVED,
      'twice one direction')
  end)

  it('sum to one, reproduce constants, follow names and do not see the size of the head (item 10)', function()
    local g = golden()
    local from, to = g.cap_pos['1:30, :'], g.cap_pos['31:40, :']
    local W = spline.weights(from, to)
    tol.below(apart(mc.sum(W, 2), mc.ones { 10 }), 1e-9, 'sums')
    tol.below(apart(mc.matmul(W, mc.full({ 30, 1 }, 7.25e-6)), mc.full({ 10, 1 }, 7.25e-6)), 1e-14, 'constant')
    local order = mc.argsort(from[{ mc.all, 1 }])
    tol.below(apart(spline.weights(mc.take(from, order, 1), to), mc.take(W, order, 2)), SOLVED, 'relabelled')
    tol.below(apart(spline.weights(from * 4, to * 4), W), 0, 'scaled by a power of two')
    tol.below(apart(spline.weights(from * 13.7, to * 13.7), W), SOLVED, 'scaled')
  end)
end)

describe('mc.meeg.spline.leave_one_out', function()
  it('gives the weights and predictions of set S1 (item 23)', function()
    local g = golden()
    local W = spline.leave_one_out(g.s1_pos)
    tol.below(apart(W, g.s1_loo), SOLVED, 'weights')
    for _, v in ipairs { { 1, 2, 0.5257052688958 }, { 1, 5, 1.2191998478161 }, { 6, 7, 0.2567695759819 },
      { 6, 10, 0.6058794493043 } } do
      tol.below(math.abs(W[{ v[1], v[2] }]:item() - v[3]), 1e-12, 'weight')
    end
    local x = mc.matmul(W, g.s1_x)
    tol.below(math.abs(x[{ 1, 1 }]:item() / -6.42246099042e-06 - 1), 1e-11, 'first sample')
    tol.below(math.abs((mc.max(x[6]) - mc.min(x[6])):item() / 3.82330924444e-05 - 1), 1e-11, 'range of channel 5')
  end)

  it('is what solving for each sensor gives (item 11), zero on the diagonal', function()
    local g = golden()
    local W = spline.leave_one_out(g.cap_pos)
    tol.below(apart(W, g.cap_loo), SOLVED, 'MNE')
    tol.below(mc.max(mc.abs(mc.diagonal(W))):item(), 0, 'diagonal')
    for c = 1, 40, 13 do
      local good = others(40, { c })
      local direct = spline.weights(mc.take(g.cap_pos, good, 1), mc.take(g.cap_pos, index { c }, 1))
      tol.below(apart(mc.take(W[c], good, 1), direct[1]), SOLVED, 'direct')
    end
  end)
end)

describe('mc.meeg.spline.repairer', function()
  it('repairs bad sets of 1, 2, 5 and 32 as a direct solution and MNE do (item 11)', function()
    local g = golden()
    local r = spline.repairer(g.cap_pos)
    for _, n in ipairs { 1, 2, 5, 32 } do
      local bad = places(g['cap_bad_' .. n])
      local good = others(40, bad)
      local W = r:weights(bad)
      tol.below(apart(mc.take(W, good, 2), g['cap_weights_' .. n]), SOLVED, n .. ' bad, MNE')
      tol.below(apart(mc.take(W, good, 2),
        spline.weights(mc.take(g.cap_pos, good, 1), mc.take(g.cap_pos, index(bad), 1))), SOLVED, n .. ' bad, direct')
      tol.below(mc.max(mc.abs(mc.take(W, index(bad), 2))):item(), 0, 'columns of the bad')
    end
  end)

  it('agrees with leave_one_out on single sensors and keeps the order of the set', function()
    local g = golden()
    local r, W = spline.repairer(g.s1_pos), spline.leave_one_out(g.s1_pos)
    tol.below(apart(r:weights({ 6 })[1], W[6]), 1e-13)
    local a, b = r:weights { 3, 9 }, r:weights { 9, 3 }
    tol.below(apart(a[1], b[2]), 1e-13)
    tol.below(apart(a[2], b[1]), 1e-13)
  end)

  it('keeps weights of a set, within its bytes', function()
    local pos = golden().s1_pos
    local r = spline.repairer(pos)
    assert.is_true(rawequal(r:weights { 2, 5 }, r:weights { 2, 5 }))
    local small = spline.repairer(pos, { cache = 2 * 16 * 8 })
    for c = 1, 15 do
      small:weights { c, c + 1 }
      assert.is_true(small.bytes <= 2 * 16 * 8)
    end
    assert.is_true(small:weights({ 1, 2, 3 }).shape[1] == 3)
  end)

  it('says which set it cannot repair', function()
    local r = spline.repairer { { 0, 0, 1 }, { 0, 1, 0 }, { 1, 0, 0 } }
    for _, case in ipairs {
      { {}, 'no bad sensor' }, { { 4 }, 'bad sensor 4' }, { { 1.5 }, 'bad sensor 1.5' }, { { 2, 2 }, 'named twice' },
      { { 1, 2, 3 }, 'all 3 sensors are bad' },
    } do
      assert.error_matches(function() r:weights(case[1]) end, case[2])
    end
  end)
end)

describe('positions', function()
  local good = { { 0, 0, 0.09 }, { 0, 0.09, 0 }, { 0.09, 0, 0 }, { 0, -0.09, 0 } }
  local function with(...)
    local out = {}
    for i, p in ipairs(good) do out[i] = p end
    for _, p in ipairs { ... } do out[#out + 1] = p end
    return mc.tensor(out)
  end

  it('that are NaN, infinite or all at the origin are refused before any work', function()
    for _, f in ipairs { spline.matrix, spline.leave_one_out, spline.repairer } do
      assert.error_matches(function() f(with({ 0, 0 / 0, 1 })) end,
        'valid positions needed, 1 of 5 are NaN or infinite %(5%)')
      assert.error_matches(function() f(with({ 0, 1, 0 }, { math.huge, 0, 1 })) end, '1 of 6 are NaN or infinite %(6%)')
      assert.error_matches(function() f(mc.zeros { 5, 3 }) end, 'valid positions needed, all 5 lie at the origin')
      assert.error_matches(function() f(mc.full({ 5, 3 }, 1e-9)) end, 'all 5 lie at the origin')
    end
    assert.error_matches(function() spline.weights(with(), { { 0 / 0, 0, 0 } }) end, 'valid positions needed')
    assert.error_matches(function() sphere.check('x', with { 0 / 0, 0, 0 }, { 'Fp1', 'Fp2', 'F3', 'F4', 'Cz' }) end,
      '%(Cz%); set a montage')
  end)

  it('at the origin are let pass once and counted when there are more', function()
    assert.equal(5, spline.leave_one_out(with { 0, 0, 0 }).shape[1])
    assert.error_matches(function() spline.leave_one_out(with({ 0, 0, 0 }, { 0, 0, 0 })) end,
      '2 of 6 positions are exactly zero')
  end)

  it('of another shape and unknown options are refused', function()
    assert.error_matches(function() spline.matrix(mc.zeros { 3, 4 }) end, 'f64%[3,4%].*%[C, 3%]')
    assert.error_matches(function() spline.matrix(7) end, '%[C, 3%]')
    assert.error_matches(function() spline.matrix(good, { alhpa = 1 }) end, 'did you mean "alpha"')
    assert.error_matches(function() spline.matrix(good, { centre = 'middle' }) end, "choose 'none', 'fit'")
    assert.error_matches(function() spline.matrix(good, { centre = { 1, 2 } }) end, 'table of 2 numbers')
    assert.error_matches(function() spline.leave_one_out { { 0, 0, 1 } } end, 'one sensor')
    assert.error_matches(function() spline.leave_one_out(with { 0, 0, 1 }, { alpha = 0 }) end,
      'same direction and alpha is 0')
  end)
end)

describe('mc.meeg.sphere.fit', function()
  it('finds the sphere that points lie on and how far they are from one', function()
    local g = golden()
    local u = sphere.units(g.cap_pos)
    local s = sphere.fit(u * 0.091 + mc.tensor { 0.001, -0.02, 0.04 })
    tol.near({ 0.001, -0.02, 0.04 }, s.centre, 'centre', 1e-12)
    tol.below(math.abs(s.radius - 0.091), 1e-12, 'radius')
    tol.below(s.error, 1e-12, 'error')
    local rough = mc.concat({ u * 0.02, u * -0.02, u * 0.1, u * -0.1 }, 1)
    assert.is_true(sphere.fit(rough).error > 0.1)
    assert.error_matches(function() sphere.fit { { 0, 0, 1 }, { 0, 1, 0 }, { 1, 0, 0 } } end, 'give 4 or more')
  end)

  it("is the centre that 'fit' means", function()
    local pos = golden().cap_pos
    local s = sphere.fit(pos)
    local fitted = spline.matrix(pos, { centre = 'fit' })
    tol.near(s.centre, fitted.centre, 'centre', 0)
    tol.below(apart(fitted.M, spline.matrix(pos - mc.tensor(s.centre)).M), 0)
  end)
end)
