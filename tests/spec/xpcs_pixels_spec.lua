-- xpcs_pixels_spec.lua - pixels and noise of counting from residuals of speckle, and the covariance they rest on.
local mc = require 'mascon'
local tol = require 'tol'
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local speckle = support.load 'speckle'
local pixels = require 'workflows.xpcs.judge.pixels'
local noise = require 'workflows.xpcs.judge.noise'
local xpcs = mc.xpcs

describe('the covariance of pairs of frames', function()
  it('is that of simulated intensities', function()
    local P, modes, counts = 400000, 2, 3
    local g = mc.tensor { { 1, 0.9, 0.6, 0.3 }, { 0.9, 1, 0.7, 0.4 }, { 0.6, 0.7, 1, 0.5 }, { 0.3, 0.4, 0.5, 1 } }
    local key = mc.random.key(7)
    local x = mc.matmul(mc.linalg.cholesky(g), mc.random.normal({ 4, P * 2 * modes }, { key = key:fold_in(1) }))
    local I = mc.sum((x * x):reshape(4, P, 2 * modes), 3) * (1 / (2 * modes))
    local u = mc.random.poisson({ 4, P }, { rate = I * counts, key = key:fold_in(2) }):to 'f64' * (1 / counts) - 1
    local first, second, b, v = { 1, 1, 1, 2, 2, 3 }, { 2, 3, 4, 3, 4, 4 }, 1 / modes, 1 / counts
    local q = {}
    for p, i in ipairs(first) do
      local j = second[p]
      local c = b * g[{ i, j }]:item() ^ 2
      -- to first order in the mean intensities, which C2 is divided by
      q[p] = u[i] * u[j] - c - (u[i] + u[j]) * c
    end
    local K = pixels.powers(g, b, mc.tensor(first):to 'i64', mc.tensor(second):to 'i64')
    local want = (K[1] + K[2] * v + K[3] * v ^ 2):totable()
    for a = 1, 6 do
      for e = 1, 6 do
        local product = q[a] * q[e]
        local mean = mc.mean(product):item()
        local sd = math.sqrt((mc.mean(product * product):item() - mean ^ 2) / P)
        assert.is_nil(tol.stat(mean, want[a][e], sd), ('%d %d: %g, %g +- %g'):format(a, e, want[a][e], mean, sd))
      end
    end
  end)
end)

describe('pixels and noise of counting', function()
  local SETS, PIXELS, COUNTS = 6, 1500, 20

  local function each(q, scaling, f)
    for seed = 1, SETS do
      mc.scope(function()
        local data = speckle.data { n = 50, dt = 0.5, q = q, phi = { 0, 60, 120 }, physics = { 2200, -0.35, 300 },
          pixels = PIXELS, modes = 4, counts = COUNTS, seed = seed }
        f(xpcs.fit(data, { scaling = scaling, fixed = { alpha = -0.35 } }))
      end)
    end
  end

  it('come from residuals, whatever a fit has taken off them', function()
    for _, q in ipairs { 0.02, 0.009, 0.006 } do
      for _, scaling in ipairs { 'averaged', 'individual' } do
        local sum, counting, angles = 0, 0, 0
        each(q, scaling, function(r)
          assert.is_true(r.noise.correlated)
          counting = counting + r.noise.counting / SETS
          for _, P in ipairs(r.noise.pixels) do sum, angles = sum + 1 / P, angles + 1 end
        end)
        assert(math.abs(PIXELS * sum / angles - 1) < 0.12, ('q %g: %g'):format(q, angles / sum))
        assert(math.abs(counting * COUNTS - 1) < 0.2, ('q %g: %g'):format(q, counting))
      end
    end
  end)

  it('give the errors of a fit whose decay is longer than the data', function()
    -- standard deviations of values of 100 sets
    local want, mean = { contrast = 0.0170, offset = 0.0165, D0 = 550, D_offset = 188 }, {}
    each(0.006, 'averaged', function(r)
      for name in pairs(want) do mean[name] = (mean[name] or 0) + r.errors[name] / SETS end
    end)
    for name, sd in pairs(want) do
      assert(mean[name] > 0.75 * sd and mean[name] < 1.35 * sd, ('%s: %g, %g'):format(name, mean[name], sd))
    end
  end)

  it('show noise as correlated where there are few frames', function()
    local found, sets, inside = 0, 20, 0
    for seed = 1, sets do
      mc.scope(function()
        local data = speckle.data { n = 12, dt = 1, q = 0.015, phi = { 0, 60, 120 }, physics = { 2200, -0.35, 300 },
          pixels = 3000, modes = 4, counts = 10, seed = seed }
        local r = xpcs.fit(data, { scaling = 'averaged', fixed = { alpha = -0.35 } })
        if r.noise.correlated then found = found + 1 end
        if math.abs(r.values.D0 - 2200) < 1.959964 * r.errors.D0 then inside = inside + 1 end
      end)
    end
    assert.is_true(found >= 0.8 * sets, found)
    assert.is_nil(tol.stat(inside, 0.95 * sets, math.sqrt(0.95 * 0.05 * sets)), inside)
  end)

  it('are known where frames are masked', function()
    local data = speckle.data { n = 50, dt = 0.5, q = 0.009, phi = { 0, 60 }, physics = { 2200, -0.35, 300 },
      pixels = PIXELS, modes = 4, counts = COUNTS, seed = 3 }
    local c2, lost = {}, mc.zeros { 50, 50 }
    for _, i in ipairs { 1, 2, 3, 4, 5, 6, 7, 20, 33 } do
      lost[{ i, mc.all }] = 1
      lost[{ mc.all, i }] = 1
    end
    for f = 1, 2 do c2[f] = mc.where(mc.gt(lost, 0), mc.nan, data:matrix(f)) end
    local masked = xpcs.data.of { c2 = mc.stack(c2, 1), phi = data.phi, t = data.t, q = data.q, dt = 0.5,
      mode = 'static' }
    local a = xpcs.fit(masked, { fixed = { alpha = -0.35 }, scaling = 'averaged' }).noise
    assert.is_true(a.correlated)
    for _, P in ipairs(a.pixels) do assert(P > 0.7 * PIXELS and P < 1.4 * PIXELS, P) end
  end)

  it('are not told where too few pairs are left', function()
    local n = 8
    local v = pixels.of(1, function()
      return { x = mc.ones { n, n }, there = mc.zeros { n, n }, g2 = mc.ones { n, n }, contrast = 0.3,
        columns = mc.ones { 2, n, n } }
    end)
    assert.is_nil(v)
  end)

  it('make the same bits again', function()
    local data = speckle.data { n = 40, dt = 0.5, q = 0.009, phi = { 0, 60 }, physics = { 2200, -0.35, 300 },
      pixels = PIXELS, modes = 4, seed = 2 }
    local o = { fixed = { alpha = -0.35 }, scaling = 'averaged' }
    assert.same(xpcs.fit(data, o).covariance, xpcs.fit(data, o).covariance)
    assert.same({}, noise.sentences { noise = { correlated = false } })
  end)
end)
