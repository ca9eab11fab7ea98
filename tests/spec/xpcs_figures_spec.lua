-- xpcs_figures_spec.lua - figures of mc.xpcs: gaps that few drawn times would pass over, decays over decades of lag,
-- the shortest data.
local process = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests')
  .. '/support/init.lua').load 'process'
local mc = require 'mascon'
local maps = require 'workflows.xpcs.show.maps'
local xpcs = mc.xpcs

local function simulated(n)
  return xpcs.simulate { n = n, q = 0.012, dt = 0.5, phi = { 0, 60 }, physics = { 2200, -0.35, 300 }, sigma = 0.004 }
end

--- The labels of the axis of lags of a figure, as numbers.
local function ticks(svg)
  local out = {}
  for text in svg:gmatch '>([%d.]+)</text>' do out[tonumber(text)] = true end
  return out
end

describe('a heat map of few of the times', function()
  local s, d
  setup(function()
    s = simulated(330)
    for _, i in ipairs { 7, 329 } do s.c2[{ 1, i }], s.c2[{ 1, mc.all, i }] = mc.nan, mc.nan end
    s.c2[{ 2, 20, 90 }], s.c2[{ 2, 90, 20 }] = mc.nan, mc.nan -- a pair, no frame
    d = xpcs.data.of(s)
  end)
  teardown(function() s, d = nil, nil end)

  it('shows each frame that is missing, of every k-th time', function()
    for _, k in ipairs { 1, 2, 3, 5, 7, 100 } do
      local x = d:thin(1, k)
      local m = x.shape[1]
      local there = mc.isfinite(maps.gaps(d, 1, x)):totable()
      local lost = {}
      for _, i in ipairs { 7, 329 } do lost[math.floor((i - 1) / k) + 1] = true end
      for a = 1, m do
        for b = 1, m do
          if lost[a] or lost[b] then assert.is_false(there[a][b], ('k = %d: %d, %d'):format(k, a, b)) end
          local sound = not (lost[a] or lost[b]) and a ~= b
          if sound then assert.is_true(there[a][b], ('k = %d: %d, %d'):format(k, a, b)) end
        end
      end
      local other = d:thin(2, k)
      assert.is_true(mc.array_equal(mc.isfinite(other), mc.isfinite(maps.gaps(d, 2, other))))
    end
  end)

  it('is drawn so by plot and by the report', function()
    local whole = xpcs.data.of(simulated(330))
    local r = xpcs.fit(d, { sigma = 0.004 })
    for _, draw in ipairs { function(data) return xpcs.report.experiment(data) end,
      function(data) return xpcs.report.heatmaps(r, data, 1) end } do
      local function gaps(data) return select(2, draw(data):render():gsub('hatch', '')) end
      assert.is_true(gaps(d) > gaps(whole), gaps(d))
    end
  end)
end)

describe('heat maps of a fit', function()
  it('treat the diagonal of experiment and fit alike, where no pair is compared', function()
    local d = xpcs.data.of(simulated(30))
    local r = xpcs.fit(d, {})
    local fig = xpcs.report.heatmaps(r, d, 2)
    local x, fitted, residual = fig:axes(1, 1).panel.marks[1].z, fig:axes(1, 2).panel.marks[1].z,
      fig:axes(1, 3).panel.marks[1].z
    for i = 2, 29 do
      for _, z in ipairs { x, fitted } do
        assert.is_true(math.abs(z[i][i] - (z[i - 1][i] + z[i][i + 1]) / 2) < 1e-12)
      end
      assert.equal(0, residual[i][i])
    end
    assert.is_true(math.abs(residual[3][9]) > 0)
  end)

  it('are square and hold means over blocks of the same pairs', function()
    local s = simulated(61) -- the last of the cells of 3 holds one time
    s.c2[{ 1, 7, 20 }], s.c2[{ 1, 20, 7 }] = mc.nan, mc.nan
    local d = xpcs.data.of(s)
    local r = xpcs.fit(d, { sigma = 0.004 })
    local map = maps.of(r, d, 1, 25)
    assert.same({ 3, true, 21 }, { map.k, map.mean, map.c.shape[1] })
    local x, fitted = d:matrix(1):totable(), (xpcs.results.theory(r, d, 1, 1, 61) * r.contrast[1]
      + r.offset[1]):totable()
    local c, fit, z = map.c:totable(), map.fit:totable(), map.residual:totable()
    local second = 0
    for a = 1, 21 do
      for b = 1, 21 do
        local sums, count = { 0, 0 }, 0
        for i = 3 * a - 2, math.min(3 * a, 61) do
          for j = 3 * b - 2, math.min(3 * b, 61) do
            if i ~= j and x[i][j] == x[i][j] then
              sums[1], sums[2], count = sums[1] + x[i][j], sums[2] + fitted[i][j], count + 1
            end
          end
        end
        if count > 0 then
          assert.is_true(math.abs(c[a][b] - sums[1] / count) < 1e-12, a .. ' ' .. b)
          assert.is_true(math.abs(fit[a][b] - sums[2] / count) < 1e-12, a .. ' ' .. b)
          local pairs_of = a == b and count / 2 or count
          assert.is_true(math.abs(z[a][b] - (sums[1] - sums[2]) / count * math.sqrt(pairs_of) / 0.004) < 1e-8)
          second = second + z[a][b] ^ 2 / 441
        end
      end
    end
    assert.is_true(math.abs(second - 1) < 0.2, second)
    assert.equal(c[20][21], c[21][21])
    for _, panel in ipairs(xpcs.report.heatmaps(r, d, 1).panels) do assert.equal('equal', panel.aspect) end
  end)

  it('of the data alone say file and q', function()
    local d = xpcs.data.of(simulated(30))
    d.path = '/somewhere/a.hdf'
    assert.equal('a.hdf, q = 0.012 1/A', xpcs.report.experiment(d).title)
  end)
end)

describe('figures of data with every second frame lost', function()
  it('are drawn of the other frames', function()
    for first = 1, 2 do
      local s = simulated(60)
      for i = first, 60, 2 do s.c2[{ mc.all, i }], s.c2[{ mc.all, mc.all, i }] = mc.nan, mc.nan end
      local d = xpcs.data.of(s)
      local r = xpcs.fit(d, { sigma = 0.004, fixed = { alpha = -0.35, D_offset = 300 } })
      for _, limit in ipairs { 60, 56, 20 } do
        local map = maps.of(r, d, 1, limit)
        local good = mc.sum(mc.isfinite(map.c):to 'f64'):item()
        assert.is_true(good >= 0.2 * map.c:numel(), ('%d %d'):format(first, limit))
      end
      local c = xpcs.results.figure(r, d, 1, 30)
      assert.is_true(mc.sum(mc.isfinite(c):to 'f64'):item() >= 90)
      assert.is_truthy(xpcs.report.residuals(r, d):render():find('<svg', 1, true))
      assert.is_truthy(xpcs.report.heatmaps(r, d, 1, { limit = 56 }):render():find('<svg', 1, true))
    end
  end)
end)

describe('mean residuals against the lag', function()
  it('are noise where the model holds, and bent at all angles where the decay has another form', function()
    local s = simulated(60)
    local function largest(d)
      local fig, most = xpcs.report.by_lag(xpcs.fit(d, { sigma = 0.004 }), d, { 1, 2 }), 0
      for f = 1, 2 do
        for _, v in ipairs(fig:axes(1, 1).panel.marks[f].y) do most = math.max(most, math.abs(v)) end
      end
      return most
    end
    local quiet = largest(xpcs.data.of(s))
    assert.is_true(quiet < 4, quiet)
    local t = s.t
    local slow = mc.exp(mc.abs(t:expand_dims(1) - t:expand_dims(2)) * -1.5) * 0.15
    s.c2 = s.c2 + slow:expand_dims(1)
    local bent = largest(xpcs.data.of(s))
    assert.is_true(bent > 10, bent)
  end)
end)

describe('the figures of a report', function()
  local function sim()
    local with = { n = 30, q = 0.012, dt = 0.5, phi = { 0, 20, 40, 60, 80, 100, 120, 140 },
      physics = { 2200, -0.35, 300 }, sigma = 0.004, seed = 5 }
    local s = xpcs.simulate(with)
    s.sigma = nil
    s.c2[{ 8 }] = s.c2[{ 8 }] + mc.triu(mc.ones { 30, 30 }, 3) * 0.02 + mc.tril(mc.ones { 30, 30 }, -3) * 0.02
    return xpcs.data.of(s)
  end

  it('show the angles that fit worst, and say so', function()
    local d = sim()
    local r = xpcs.fit(d, { sigma = 0.004, scaling = 'averaged' })
    assert.equal(8, xpcs.report.by_misfit(r, d)[1])
    local page = tostring(xpcs.report.page(r, d))
    assert.is_truthy(page:find('Maps of the 6 of 8 angles that fit worst', 1, true))
    assert.is_truthy(page:find('phi = 140 deg, reduced chi2 ', 1, true))
    assert.equal(6, #xpcs.report.cuts(r, d, { 1, 2, 3, 4, 5, 6 }).panels)
    for _, part in ipairs { 'How to read the residual', '<th scope="col">lower bound</th>',
      'diffusion coefficient at 1 s', 'is the integral of D(t)', '<td>2 offset</td>',
      '<td>sigma</td><td>as given</td>', '<td>device</td><td>cpu</td>' } do
      assert.is_truthy(page:find(part, 1, true), part)
    end
  end)

  it('divide residuals by their scatter where sigma is assumed, and the last bin is as wide as the others', function()
    local d = xpcs.data.of((function()
      local s = simulated(60)
      s.sigma = nil
      return s
    end)())
    local r = xpcs.fit(d, {})
    local marks = xpcs.report.residuals(r, d):axes(1, 1).panel
    local line = marks.marks[1]
    assert.is_truthy(marks.xlabel:find('residual / scatter', 1, true))
    assert.equal(82, #line.x)
    assert.equal(5, line.x[82])
    assert.equal(line.y[81], line.y[82])
    local second, total = 0, 0
    for k = 1, 81 do
      local mid = (line.x[k] + line.x[k + 1]) / 2
      second, total = second + mid ^ 2 * line.y[k], total + line.y[k]
    end
    assert.is_true(math.abs(second / total - 1) < 0.1, second / total)
    assert.equal('C2', xpcs.report.experiment(d):axes(1, 1).panel.marks[1].label)
  end)
end)

describe('C2 against the lag', function()
  it('has a logarithmic axis of lags', function()
    local d = xpcs.data.of(simulated(330))
    local seen = ticks(xpcs.report.cuts(xpcs.fit(d, { sigma = 0.004 }), d, 1):render())
    for _, v in ipairs { 1, 3, 10, 30, 100 } do assert.is_true(seen[v], v) end
    local drawn = mc.ones { 1, 4, 3 }
    local svg = mc.sample.predictive(mc.ones { 3 }, drawn, { x = { 1, 30, 1000 }, xscale = 'log' }):render()
    for _, v in ipairs { 1, 10, 100, 1000 } do assert.is_true(ticks(svg)[v], v) end
    local posterior = xpcs.posterior.run(xpcs.fit(d, { sigma = 0.004 }), { draws = 4, warmup = 4, chains = 1, seed = 1,
      progress = false })
    local found = false
    for _, f in ipairs(xpcs.posterior_files.figures(posterior)) do
      found = found or f[1] == 'posterior_predictive'
      if f[1] == 'posterior_predictive' then
        assert.is_true(ticks(f[2]:render())[10] and ticks(f[2]:render())[100])
      end
    end
    assert.is_true(found)
  end)

  it('is drawn of 2 times too', function()
    local d = xpcs.data.of(simulated(2))
    local r = xpcs.fit(d, { sigma = 0.004, fixed = { alpha = -0.35, D_offset = 300 }, scaling = 'constant' })
    assert.is_truthy(xpcs.report.cuts(r, d, 1):render():find('<svg', 1, true))
  end)
end)

describe('plot of scripts/xpcs.lua', function()
  it('says what it found in the data', function()
    local script = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests')
      .. '/support/init.lua').load 'script'
    local folder = process.folder()
    local s = simulated(40)
    s.c2[{ 1, 7 }], s.c2[{ 1, mc.all, 7 }] = mc.nan, mc.nan
    mc.save(folder .. '/x.npz', { c2_exp = s.c2, phi_angles_list = mc.tensor(s.phi), t1 = s.t, q = mc.tensor(s.q) })
    local text, status = script.run('xpcs', ('plot %s/x.npz --output-dir %s/o'):format(folder, folder))
    process.remove(folder)
    assert.equal(0, status, text)
    assert.is_truthy(text:find 'note: [^\n]*are left out' or text:find 'note: [^\n]*NaN', text)
  end)
end)

describe('the files of a fit', function()
  it('have one time', function()
    local clock, folder, stamps = require 'mascon.base.clock', process.folder(), 0
    local d = xpcs.data.of(simulated(12))
    local r = xpcs.fit(d, { sigma = 0.004, fixed = { alpha = -0.35, D_offset = 300 } })
    local stamp = clock.stamp
    clock.stamp = function()
      stamps = stamps + 1
      return ('2020-01-01T00:00:%02dZ'):format(stamps)
    end
    local ok, why = pcall(xpcs.results.write, folder, r, d, { format = 'yaml', arrays = false })
    clock.stamp = stamp
    assert.is_true(ok, why)
    local json, yaml = mc.load(folder .. '/parameters.json'), mc.load(folder .. '/parameters.yaml')
    process.remove(folder)
    assert.equal(json.timestamp, yaml.timestamp)
  end)
end)
