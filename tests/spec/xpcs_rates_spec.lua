-- xpcs_rates_spec.lua - D(t) and the shear rate of a fit with errors, where parameters are determined and where not.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local process, script = support.load 'process', support.load 'script'
local mc = require 'mascon'
local xpcs = mc.xpcs

local function near(want, got, share, what)
  assert.is_true(math.abs(got - want) <= share * math.abs(want), ('%s: %.9g instead of %.9g'):format(what, got, want))
end

local function data_of(o)
  local with = { n = 40, q = 0.012, dt = 0.5, phi = { 0, 60, 120 }, physics = { 2200, -0.35, 300 }, sigma = 0.004,
    seed = 1 }
  for k, v in pairs(o or {}) do with[k] = v end
  local s = xpcs.simulate(with)
  s.sigma = nil -- the fits say what it is
  return xpcs.data.of(s)
end

describe('xpcs.rates', function()
  it('has the rate at each time and the error of its linear form', function()
    local d = data_of { physics = { 1000, -0.3, 50, 2e-3, 0.1, 1e-4, -4 }, q = 0.0054 }
    local r = xpcs.fit(d, { scaling = 'averaged', sigma = 0.004 })
    local list = xpcs.rates.of(r)
    assert.same({ 'D', 'shear_rate' }, { list[1].key, list[2].key })
    for k, one in ipairs(list) do
      local names = ({ { 'D0', 'alpha', 'D_offset' }, { 'gamma_dot_t0', 'beta', 'gamma_dot_t_offset' } })[k]
      local at, v = {}, r.values
      for a, name in ipairs(r.names) do at[name] = a end
      for i = 1, d.n, 13 do
        local t = d.t[i]:item()
        local power = t ^ v[names[2]]
        local g, sum = { power, v[names[1]] * power * math.log(t), 1 }, 0
        for a = 1, 3 do
          for b = 1, 3 do sum = sum + g[a] * g[b] * r.covariance[at[names[a]]][at[names[b]]] end
        end
        near(v[names[1]] * power + v[names[3]], one.value[i], 1e-12, 'rate')
        near(math.sqrt(sum), one.error[i], 1e-9, 'error')
        near(one.value[i] + 1.959964 * one.error[i], one.high[i], 1e-9, 'upper end')
      end
    end
  end)

  it('has the error of all directions, also of those that single parameters hardly know', function()
    local d = data_of { n = 40, q = 0.008, dt = 0.4, phi = { -60, 0, 45, 80 }, contrast = 0.25, sigma = 0.005, seed = 8,
      physics = { 1200, -0.3, 250, 4e-3, -0.2, 1e-3, 4 } }
    local r = xpcs.fit(d, { scaling = 'averaged', sigma = 0.005 })
    assert.equal(math.huge, r.errors.D0)
    local p, v = r.problem, {}
    for k, name in ipairs(r.names) do v[k] = r.values[name] end
    local function model(at)
      local out = {}
      for f, phi in ipairs(d.phi) do
        out[f] = mc.triu(xpcs.model.c2({ t = p.t, kd = p.kd, ks = p.ks, physics = { unpack(at, 3) } }, phi, at[1],
          at[2]), 1):reshape(-1)
      end
      return mc.concat(out, 1)
    end
    local columns, norm = {}, {}
    for k = 1, 9 do
      local h = 1e-5 * math.max(math.abs(v[k]), 1e-3)
      local up, down = { unpack(v) }, { unpack(v) }
      up[k], down[k] = v[k] + h, v[k] - h
      columns[k] = (model(up) - model(down)) / (2 * h * 0.005)
      norm[k] = math.sqrt(mc.sum(mc.square(columns[k])):item())
      columns[k] = columns[k] / norm[k]
    end
    local svd = mc.linalg.svd(mc.stack(columns, 2))
    local one = xpcs.rates.of(r)[1]
    for i = 1, 40, 13 do
      local power = one.t[i] ^ v[4]
      local g = mc.tensor { 0, 0, power / norm[3], v[3] * power * math.log(one.t[i]) / norm[4], 1 / norm[5], 0, 0, 0,
        0 }
      near(math.sqrt(mc.sum(mc.square(svd.Vh:matmul(g) / svd.S)):item()), one.error[i], 0.02, 'error at ' .. one.t[i])
    end
  end)

  it('is determined where scale and offset are not', function()
    local d = data_of { physics = { 2200, 0, 0 } }
    local r = xpcs.fit(d, { fixed = { alpha = 0 }, sigma = 0.004 })
    assert.equal(math.huge, r.errors.D0)
    assert.equal(math.huge, r.errors.D_offset)
    local one = xpcs.fit(d, { fixed = { alpha = 0, D_offset = 0 }, sigma = 0.004 })
    local rate = xpcs.rates.of(r)[1]
    for i = 1, d.n, 9 do
      near(one.values.D0, rate.value[i], 1e-6, 'rate')
      near(one.errors.D0, rate.error[i], 1e-3, 'error')
    end
    local words = r.conclusion .. table.concat(r.verdict.sentences, '\n')
    for _, advice in ipairs { 'fixed = { D_offset = 0 }', 'mc.xpcs.rates.of(r)' } do
      local _, count = words:gsub(advice:gsub('%p', '%%%0'), '')
      assert.equal(1, count, words) -- once, though three findings give it
    end
    assert.is_nil(words:find('widen', 1, true), words)
  end)

  it('is not determined where the data say nothing of it', function()
    local d = data_of { phi = { 0 }, physics = { 1000, -0.3, 50, 2e-3, 0.1, 1e-4, -4 }, q = 0.0054 }
    local r = xpcs.fit(d, { sigma = 0.004 })
    local rate = xpcs.rates.of(r)[2] -- one angle sees the shear rate times cos(phi0 - phi) alone
    assert.equal(math.huge, r.errors.phi0)
    for i = 1, d.n, 9 do
      assert.is_true(rate.error[i] > 5 * rate.value[i])
      assert.is_true(rate.low[i] ~= rate.low[i] or rate.low[i] == 1e-10)
    end
    assert.is_truthy(xpcs.report.rates(r):render():find('not determined', 1, true))
  end)

  it('is that of a tied parameter too, and nothing of own models', function()
    local r = xpcs.fit(data_of(), { sigma = 0.004, ties = { D_offset = { 'D0', 0.1 } }, fixed = { alpha = -0.35 } })
    local rate = xpcs.rates.of(r)[1]
    near((rate.t[7] ^ -0.35 + 0.1) * r.errors.D0, rate.error[7], 1e-9, 'error')
    assert.is_nil(xpcs.rates.of { mode = 'own model' })
    assert.is_nil(xpcs.report.rates { mode = 'own model' })
  end)

  it('has the errors of all data in a joint fit, and a curve of each set that does not share', function()
    local page = require 'workflows.xpcs.show.joint_report'.page
    local list = { data_of(), data_of { q = 0.009, seed = 2 } }
    local r = xpcs.joint.fit(list, { sigma = 0.004, scaling = 'averaged' })
    local at = {}
    for a, name in ipairs(r.names) do at[name] = a end
    for _, one in ipairs(r.fits) do
      local rate = xpcs.rates.of(one)[1]
      local t, sum = rate.t[9], 0
      local g = { D0 = t ^ r.values.alpha, alpha = r.values.D0 * t ^ r.values.alpha * math.log(t), D_offset = 1 }
      for a, u in pairs(g) do for b, v in pairs(g) do sum = sum + u * v * r.covariance[at[a]][at[b]] end end
      near(math.sqrt(sum), rate.error[9], 1e-9, 'error')
    end
    assert.is_truthy(page(r, list):find('Rates of the fit', 1, true))
    r = xpcs.joint.fit(list, { sigma = 0.004, scaling = 'averaged', shared = { 'alpha' } })
    local text = page(r, list)
    assert.is_truthy(text:find('Rates of data set 1', 1, true) and text:find('Rates of data set 2', 1, true))
  end)

  it('stands in the page and in rates.csv', function()
    local folder = process.folder()
    local text, status = script.run('xpcs', ('simulate --output-dir %s/s --frames 40 --quiet'):format(folder))
    assert.equal(0, status, text)
    text, status = script.run('xpcs', ('%s/s/simulated_data.npz --output-dir %s/o --no-arrays'):format(folder, folder))
    assert.equal(0, status, text)
    local page = io.open(folder .. '/o/report.html'):read '*a'
    assert.is_truthy(page:find('Rates against time', 1, true))
    assert.is_truthy(page:find('>diffusion coefficient (A^2/s)<', 1, true))
    assert.is_truthy(page:find('residuals are divided by their own scatter', 1, true))
    local rows = {}
    for line in io.lines(folder .. '/o/nlsq/rates.csv') do rows[#rows + 1] = line end
    process.remove(folder)
    assert.equal('t,D,D_error,D_low,D_high', rows[1])
    assert.equal(1 + 40, #rows)
  end)
end)

describe('the words on a fit without sigma', function()
  it('do not test it by reduced chi2', function()
    local d = data_of { physics = { 1000, -0.3, 50, 2e-3, 0.1, 1e-4, -4 }, q = 0.0054, sigma = 0.1 }
    local r = xpcs.fit(d, { scaling = 'averaged', bounds = { phi0 = { 0, 10 } } })
    assert.equal('marginal', r.quality_flag)
    assert.is_true(r.reduced_chi2 > 10)
    assert.is_nil(table.concat(r.warnings, '\n'):find('within sigma', 1, true))
    local rule = xpcs.verdict.rule(r)
    assert.is_nil(rule:find('reduced chi2 below', 1, true))
    assert.is_truthy(rule:find('Sigma is assumed', 1, true))
    assert.is_truthy(xpcs.report.line(r):find(
      '(marginal: see findings; sigma is assumed, so chi2 tests nothing)', 1, true))
    r = xpcs.fit(d, { sigma = 0.1, scaling = 'averaged' })
    assert.equal(xpcs.verdict.RULE, xpcs.verdict.rule(r))
  end)
end)
