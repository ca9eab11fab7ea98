-- xpcs_posterior_spec.lua - the posterior of mc.xpcs: gradients and Jacobians of its coordinates, quadrature, priors,
-- noise, shards, stopping and going on, files.
local mc = require 'mascon'
local xpcs = mc.xpcs
local posterior, coordinates = xpcs.posterior, require('workflows.xpcs.model.coordinates')
local folder = os.tmpname()
os.remove(folder)

local function near(want, got, bound, what)
  assert.is_true(math.abs(want - got) <= bound, ('%s: %.15g instead of %.15g'):format(what or '', got, want))
end

describe('xpcs.coordinates', function()
  --- Bounds and a covariance as fits give them, about a ridge with this power and time.
  local function of(power, time)
    local x = { 5000, power, 900, 4e-4, -0.25, 1.2e-4, 1.1 }
    local low, high = { 100, -2, -1e5, 1e-6, -2, -0.1, 0 }, { 1e5, 2, 1e5, 0.5, 2, 0.1, math.huge }
    local size, c = { 900, 0.05, 900, 3e-5, 0.05, 3e-5, 0.02 }, {}
    for i = 1, 7 do
      c[i] = {}
      for j = 1, 7 do c[i][j] = (i == j and 1 or (i + j) % 2 == 0 and 0.3 or -0.3) * size[i] * size[j] end
    end
    return coordinates.new(x, low, high, c, { { scale = 1, power = 2, shift = 3, time = time },
      { scale = 4, power = 5, shift = 6, time = 0.4 } }), x
  end

  it('begin at the fit and have the Jacobian that they say', function()
    for _, case in ipairs { { 0.3, 2.5 }, { -0.4, 3 }, { 0, 2 }, { -0.9, 6 }, { 0.3, 1 } } do
      local to, x = of(case[1], case[2])
      local at = to:values { 0, 0, 0, 0, 0, 0, 0 }
      for i = 1, 7 do near(x[i], at[i], 1e-10 * math.abs(x[i]) + 1e-13, 'parameter ' .. i) end
      for _, w in ipairs { { 0, 0, 0, 0, 0, 0, 0 }, { 0.7, -0.4, 0.3, 1, -1.2, 0.5, -0.6 },
        { -1.5, 0.9, -1, -0.8, 0.6, -0.3, 1 } } do
        local _, _, volume = to:values(w)
        local rows, h = {}, 1e-5
        for j = 1, 7 do
          local up, down = { unpack(w) }, { unpack(w) }
          up[j], down[j] = up[j] + h, down[j] - h
          local a, b, row = to:values(up), to:values(down), {}
          for i = 1, 7 do row[i] = (a[i] - b[i]) / (2 * h) end
          rows[j] = row
        end
        local sizes = 0
        for i = 1, 7 do
          local most = 0
          for j = 1, 7 do most = math.max(most, math.abs(rows[j][i])) end
          for j = 1, 7 do rows[j][i] = rows[j][i] / most end
          sizes = sizes + math.log(most)
        end
        local numeric = math.log(math.abs(mc.linalg.det(mc.tensor(rows)):item())) + sizes
        local whole = volume
        for i = 1, 7 do whole = whole + math.log(to.L[i][i]) end
        near(whole, numeric, 1e-5, ('power %g'):format(case[1]))
      end
    end
  end)
end)

describe('xpcs.posterior', function()
  local A, B, a, b, fit_a, fit_b
  setup(function()
    assert(mc.file.make_folder(folder))
    A, B = xpcs.generate.set 'A', xpcs.generate.set 'B'
    a, b = xpcs.data.of(A), xpcs.data.of(B)
    fit_a, fit_b = xpcs.fit(a, { sigma = A.sigma, scaling = 'individual' }), xpcs.fit(b, { sigma = B.sigma })
  end)
  teardown(function()
    os.execute("rm -rf '" .. folder .. "'")
    A, B, a, b, fit_a, fit_b = nil, nil, nil, nil, nil, nil
  end)

  it('says of draws that lie against a bound that the bound makes their spread', function()
    local value = fit_a.values.D0
    local held = xpcs.fit(a, { sigma = A.sigma, scaling = 'individual', bounds = { D0 = { 0.5 * value, 0.98 * value } },
      fixed = { alpha = fit_a.values.alpha, D_offset = fit_a.values.D_offset }, rescue = false })
    local drawn = xpcs.posterior.run(held, { draws = 60, warmup = 60, chains = 1, seed = 1 })
    assert.matches('D0 lies against its upper bound', table.concat(drawn:warnings(), '\n'))
    assert.matches('warning: D0 lies against its upper bound', tostring(drawn))
  end)

  it('has a density whose gradient agrees with differences, for every prior and a free noise', function()
    for _, prior in ipairs { 'flat', 'normal', 'nlsq' } do
      for _, r in ipairs { fit_a, fit_b } do
        local o = { prior = prior, temper = 1, warm_start = true }
        local n, low, high = #r.problem.free, {}, {}
        for k, place in ipairs(r.problem.free) do low[k], high[k] = r.problem.low[place], r.problem.high[place] end
        local mu, width = posterior.priors_of(r, o)
        local x, c = posterior.beginning(r, low, high, o)
        local ridges = posterior.ridges_of(r, x, c)
        x[n + 1], low[n + 1], high[n + 1] = 1, 0, math.huge
        for i = 1, n do c[i][n + 1] = 0 end
        c[n + 1] = {}
        for j = 1, n do c[n + 1][j] = 0 end
        c[n + 1][n + 1] = 1e-4
        local to = coordinates.new(x, low, high, c, ridges)
        local f = posterior.density(r.problem, to, mu, width, true)
        local w = {}
        for k = 1, n + 1 do w[k] = 0.3 * math.sin(7 * k) end
        local _, g = f(mc.tensor(w))
        for k = 1, n + 1 do
          local h = 1e-4
          local up, down = { unpack(w) }, { unpack(w) }
          up[k], down[k] = up[k] + h, down[k] - h
          local slope = (f(mc.tensor(up)):item() - f(mc.tensor(down)):item()) / (2 * h)
          near(slope, g[k]:item(), 2e-5 * (1 + math.abs(slope)), ('%s, coordinate %d'):format(prior, k))
        end
      end
    end
  end)

  it('agrees with the integral over two parameters', function()
    local fixed = {}
    for name, v in pairs(fit_b.values) do
      if name ~= 'alpha' and name ~= 'phi0' then fixed[name] = v end
    end
    local r = xpcs.fit(b, { sigma = B.sigma, fixed = fixed, initial = fit_b.values and { alpha = fit_b.values.alpha,
      phi0 = fit_b.values.phi0 } })
    local s = posterior.run(r, { draws = 300, warmup = 100, chains = 2, priors = { phi0 = { 3, 0.2 } } })
    -- by the trapezoid on a grid of 5 standard errors, prior included
    local sums = { 0, 0, 0, 0, 0 }
    for i = -20, 20 do
      for j = -20, 20 do
        local x = { r.point.x[1] + i / 4 * r.errors.alpha, r.point.x[2] + j / 4 * r.errors.phi0 }
        local z = (x[2] - 3) / 0.2
        local p = math.exp(r.cost - r.problem:at(x).cost - 0.5 * z * z)
        sums[1], sums[2], sums[3] = sums[1] + p, sums[2] + p * x[1], sums[3] + p * x[2]
        sums[4], sums[5] = sums[4] + p * x[1] ^ 2, sums[5] + p * x[2] ^ 2
      end
    end
    for k, name in ipairs { 'alpha', 'phi0' } do
      local mean = sums[k + 1] / sums[1]
      local sd = math.sqrt(sums[k + 3] / sums[1] - mean ^ 2)
      local x = s.posterior[name]
      near(mean, mc.mean(x):item(), 0.25 * sd, name)
      near(sd, mc.std(x):item(), 0.2 * sd, 'sd of ' .. name)
    end
    assert.same({ 'alpha', 'phi0' }, s.names)
  end)

  it('moves along the ridge of set B in few steps, without divergences, to the errors of the fit', function()
    local s = posterior.run(fit_b, { draws = 80, warmup = 120, chains = 2 })
    assert.is_true(s.gradients < 40 * 400, s.gradients)
    assert.is_true(mc.sum(s.sample_stats.diverging:to 'f64'):item() <= 3)
    for i, name in ipairs(s.names) do
      local row = s.table
      near(fit_b.values[name], row.mean[i]:item(), 1.2 * fit_b.errors[name], name)
      assert.is_true(row.sd[i]:item() > 0.5 * fit_b.errors[name] and row.sd[i]:item() < 2 * fit_b.errors[name], name)
      assert.is_true(row.rhat[i]:item() < 1.2, name)
    end
  end)

  it('draws the noise when no sigma was given', function()
    local unknown = xpcs.generate.set 'A'
    unknown.sigma = nil
    local r = xpcs.fit(xpcs.data.of(unknown), { scaling = 'individual' }) -- sigma 0.01 is assumed; it is 0.003 to 0.005
    local s = posterior.run(r, { draws = 60, warmup = 80, chains = 1 })
    assert.is_true(s.noise_is_free)
    local want = math.sqrt(r.reduced_chi2)
    local noise = s.posterior.noise
    near(want, mc.mean(noise):item(), 3 * want / math.sqrt(2 * a.points))
    near(want / math.sqrt(2 * a.points), mc.std(noise):item(), 0.5 * want / math.sqrt(2 * a.points))
    assert.is_false(posterior.run(r, { draws = 10, warmup = 20, chains = 1, noise = 'fixed' }).noise_is_free)
  end)

  it('is stopped, keeps its draws, and goes on to the bits of a run that was not stopped', function()
    local o = { draws = 10, warmup = 24, chains = 2, seed = 5 }
    local whole = posterior.run(fit_a, o)
    o.checkpoint, o.every = folder .. '/cp', 0
    local run = xpcs.pass.run
    for _, after in ipairs { 90, 330 } do
      local left = after
      local function stopping(...)
        left = left - 1
        if left == 0 then error('interrupted', 0) end
        return run(...)
      end
      xpcs.pass.run = stopping
      local ok, cut = pcall(posterior.run, fit_a, o)
      xpcs.pass.run = run
      assert.is_true(not ok or cut.interrupted == 'interrupted')
      if ok then
        local k = cut.positions.shape[2]
        local chains = cut.positions.shape[1]
        assert.is_true(mc.array_equal(whole.positions[{ { 1, chains }, { 1, k } }], cut.positions))
      end
      local r = posterior.run(fit_a, o)
      assert.is_true(r.resumed)
      assert.is_true(mc.array_equal(whole.positions, r.positions))
      assert.equal(whole.gradients, r.gradients)
      assert.is_falsy(mc.file.exists(folder .. '/cp/xpcs_posterior.h5'))
    end
  end)

  it('combines shards as upstream does, near the posterior of all data', function()
    local c = xpcs.data.of(xpcs.simulate { n = 60, dt = 0.1, q = 0.0108, phi = { 0, 60 }, physics = { 1500, -0.4, 200 },
      sigma = 0.001, seed = 3 })
    local fit = xpcs.fit(c, { mode = 'static', sigma = 0.001, scaling = 'averaged', fixed = { D_offset = 200 } })
    local s = require('workflows.xpcs.fit.shards').run(fit, { shards = 2, draws = 150, warmup = 150, chains = 2 })
    assert.equal(c.points, s.shards[1].points + s.shards[2].points)
    assert.is_true(math.abs(s.shards[1].points - c.points / 2) < 6 * math.sqrt(c.points) / 2)
    for k, name in ipairs(fit.names) do
      near(fit.values[name], s.mean[k], 2 * fit.errors[name], name)
      assert.is_true(s.sd[k] > 0.6 * fit.errors[name] and s.sd[k] < 1.8 * fit.errors[name], name)
    end
    local ok, why = pcall(require('workflows.xpcs.fit.shards').run, fit_a, { shards = 20 })
    assert.is_false(ok)
    assert.is_truthy(why:find('make fewer', 1, true))
  end)

  it('predicts what data of the model hold, noise included, by the seed alone', function()
    --- Share of the observed points of all angles between the quantiles of 5 % and 95 % of the predictions.
    local function share(s, name)
      local inside, total = 0, 0
      for f = 1, s.fit.problem.data.F do
        local y = xpcs.posterior_files.predictions(s, f)
        local all = y[name][1]
        local low, high = mc.quantile(all, 0.05, 1), mc.quantile(all, 0.95, 1)
        inside = inside + mc.sum(mc.logical_and(mc.ge(y.observed, low), mc.le(y.observed, high)):to 'f64'):item()
        total = total + #y.lags
      end
      return inside / total, total
    end
    local sim = xpcs.simulate { n = 60, dt = 0.1, q = 0.0108, phi = { 0, 30, 60, 90 }, physics = { 1500, -0.4, 200 },
      sigma = 1e-9, seed = 11 }
    local clean = sim.c2
    sim.sigma = nil
    local function noisy(e) -- a lost frame at the start time that would be taken
      local z = mc.triu(mc.random.normal({ 4, 60, 60 }, { key = 5 }), 1)
      sim.c2 = clean + (z + z:transpose(2, 3)) * e
      sim.c2[{ mc.all, 6 }], sim.c2[{ mc.all, mc.all, 6 }] = mc.nan, mc.nan
      return sim
    end
    local o, one = { mode = 'static', scaling = 'averaged', fixed = { D_offset = 200 } }, mc.ones { 60 }
    local free = xpcs.fit(xpcs.data.of(noisy(0.02)), o) -- 0.01 is assumed
    local late = mc.where(mc.gt(sim.t, 2.5), 0.06, 0.02)
    sim.sigma_c2 = mc.broadcast_to(mc.maximum(mc.outer(late, one), mc.outer(one, late)), { 4, 60, 60 }):contiguous()
    local given = xpcs.fit(xpcs.data.of(noisy(sim.sigma_c2)), o)
    for what, r in pairs { given = given, free = free } do
      local s = posterior.run(r, { draws = 60, warmup = 40, chains = 1, seed = 3 })
      assert.equal(what == 'free', s.noise_is_free)
      local within, total = share(s, 'drawn')
      assert.is_true(total > 200, total)
      assert.is_true(within > 0.84 and within < 0.95, ('%s: %g of %d'):format(what, within, total))
      assert.is_true(share(s, 'mean') < 0.4)
      local y = xpcs.posterior_files.predictions(s)
      local noise = y.drawn - y.mean
      near(0.02, mc.std(noise[{ 1, mc.all, { 1, 15 } }]):item(), 0.0015, what)
      near(what == 'free' and 0.02 or 0.06, mc.std(noise[{ 1, mc.all, { 25, 50 } }]):item(), 0.004, what)
      assert.is_true(y.start > sim.t[6]:item())
      assert.is_true(mc.array_equal(y.drawn, xpcs.posterior_files.predictions(s).drawn))
      s.seed = 4
      assert.is_false(mc.array_equal(y.drawn, xpcs.posterior_files.predictions(s).drawn))
    end
  end)

  it('draws figures whose axes have three round ticks or more, with no text on another', function()
    local layout = require 'mascon.plot.layout'
    local figure = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests')
      .. '/support/figure.lua')
    for _, seed in ipairs { 1, 2, 3 } do
      local s = posterior.run(fit_b, { draws = 60, warmup = 60, chains = 2, seed = seed })
      for _, f in ipairs(xpcs.posterior_files.figures(s)) do
        figure.check_layout(f[2]:render())
        for i, view in ipairs(layout.figure(f[2])) do
          for axis, t in pairs { x = view.xt, y = view.yt } do
            local where = ('%s, panel %d, %s: %s'):format(f[1], i, axis, table.concat(t.labels, ' '))
            assert.is_true(#t.major >= 3, where)
            for _, label in ipairs(t.labels) do assert.is_true(#label <= 9, where) end
          end
        end
      end
    end
  end)

  it('writes samples for ArviZ, diagnostics and figures', function()
    local s = posterior.run(fit_b, { draws = 20, warmup = 40, chains = 2 })
    local files = xpcs.posterior_files.write(folder, s)
    assert.same({ 'samples.npz', 'diagnostics.json', 'parameters.json', 'trace.svg', 'corner.svg', 'marginals.svg',
      'posterior_predictive.svg' }, files)
    local z = mc.load(folder .. '/samples.npz')
    assert.same({ 2, 20 }, { z['posterior/D0']:size() })
    assert.is_true(mc.array_equal(s.posterior.phi0, z['posterior/phi0']))
    for _, name in ipairs { 'lp', 'energy', 'diverging', 'acceptance_rate', 'step_size', 'tree_depth' } do
      assert.is_truthy(z['sample_stats/' .. name], name)
    end
    assert.equal(3, z['posterior_predictive/c2'].ndim)
    for _, name in ipairs { 'observed_data/c2', 'constant_data/lag', 'constant_data/sigma' } do
      assert.equal(z['posterior_predictive/c2'].shape[3], z[name].shape[1], name)
    end
    assert.is_truthy(mc.file.read(folder .. '/posterior_predictive.svg'):find(
      ('phi = %.4g deg from t1 = %.4g s'):format(b.phi[1], z['constant_data/start']:item()), 1, true))
    for name, words in pairs { trace = { 'D0 (A^2/s)', 'chain 2' }, corner = { 'D0 (A^2/s)' },
      marginals = { 'D0 (A^2/s)', 'dashed: 5 % and 95 % quantiles' } } do
      local drawing = mc.file.read(('%s/%s.svg'):format(folder, name))
      for _, word in ipairs(words) do assert.is_truthy(drawing:find(word, 1, true), name .. ': ' .. word) end
    end
    local d = mc.load(folder .. '/diagnostics.json')
    for _, name in ipairs { 'max_rhat', 'min_ess', 'divergences', 'energy_bfmi', 'gradients', 'warnings' } do
      assert.is_truthy(d[name], name)
    end
    assert.is_false(d.converged)
  end)
end)
