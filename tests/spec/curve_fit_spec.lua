-- curve_fit_spec.lua - mc.optim.curve_fit: standard errors against SciPy and NIST; parameters that are named, fixed,
-- tied, bounded; streams; intervals, bands, report; messages.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local tol = support.load 'tol'
local nist = support.load 'nist'
local fit = mc.optim.curve_fit
local inf = math.huge

local file
local function golden()
  file = file or mc.load(support.folder .. '/golden/least_squares.npz')
  return file
end
local near = tol.near
local function decay(t, p) return p.a * mc.exp(-p.k * t) + p.c end
local function numbered(t, p) return p[1] * mc.exp(-p[2] * t) + p[3] end
local START = { a = 1, k = 1, c = 0 }
local function options(more)
  local o = { p0 = START, names = { 'a', 'k', 'c' }, xtol = 1e-13, ftol = 1e-13, gtol = 1e-13 }
  for k, v in pairs(more or {}) do o[k] = v end
  return o
end
local function data(n, key)
  local t = mc.random.uniform({ n }, { key = key }) * 4
  return t, 2.5 * mc.exp(-1.3 * t) + 0.5 + 0.1 * mc.random.normal({ n }, { key = key + 1 })
end

describe('curve_fit', function()
  it('gives the parameters and covariances of SciPy, for both meanings of sigma', function()
    local g = golden()
    local cases = { plain = {}, relative = { sigma = g.fit_sigma },
      absolute = { sigma = g.fit_sigma, absolute_sigma = true },
      band = { sigma = g.fit_band, absolute_sigma = true } }
    for name, o in pairs(cases) do
      for _, method in ipairs { 'trf', 'lm', 'dogbox' } do
        o.method = method
        local r = fit(decay, g.decay_t, g.fit_y, options(o))
        near(g['fit_' .. name .. '_p'], r.x, name .. ' ' .. method)
        near(g['fit_' .. name .. '_cov'] / g['fit_' .. name .. '_cov'], r.covariance / g['fit_' .. name .. '_cov'],
          name .. ' covariance', 1e-5)
      end
    end
    local r = fit(decay, g.decay_t, g.fit_y, options { bounds = { a = { 0, 1.9 }, k = { 0, 5 }, c = { 0, 1 } } })
    near(g.fit_bounded_p, r.x, 'bounded', 1e-6)
    assert.matches('a  1.9 .*%(at its upper bound%)', tostring(r))
  end)

  it('gives the certified standard deviations of NIST', function()
    local all = nist.load(support.folder .. '/golden/nist.npz')
    for _, name in ipairs { 'Misra1a', 'Thurber', 'Gauss1', 'Hahn1', 'Rat43', 'Eckerle4', 'MGH09', 'Kirby2', 'ENSO',
      'Nelson', 'Chwirut1' } do
      local p = all[name]
      local r = fit(p.model, p.x, p.y, { p0 = p.starts[2], xtol = 1e-12, ftol = 1e-15, gtol = false, max_nfev = 2000 })
      for i = 1, #p.sd do near(1, r.stderr[i] / p.sd[i], ('%s, deviation %d'):format(name, i), 1e-5) end
      near(1, math.sqrt(r.reduced_chi2) / p.residual_sd, name .. ', residual deviation', 1e-8)
      assert.equal(p.dof, r.dof)
    end
  end)

  it('takes names or numbers, in tables and tensors, with the same answer', function()
    local t, y = data(60, 1)
    local named, by_position = fit(decay, t, y, options()),
      fit(numbered, t, y, { p0 = { 1, 1, 0 }, xtol = 1e-13, ftol = 1e-13, gtol = 1e-13 })
    assert.is_true(mc.array_equal(named.x, by_position.x))
    assert.equal(named.p.k, by_position.p[2])
    assert.equal(named.stderr.k, by_position.stderr[2])
    assert.same({ 'a', 'k', 'c' }, named.free)
    assert.same({ 'a', 'c', 'k' }, fit(decay, t, y, { p0 = START }).free)
    near(named.x, fit(numbered, t, y, { p0 = mc.tensor { 1, 1, 0 } }).x, 'p0 a tensor', 1e-6)
    near(named.x, fit(decay, t:totable(), y:totable(), options()).x, 'lists', 1e-6)
  end)

  it('holds fixed parameters, follows tied ones and their errors', function()
    local t, y = data(80, 3)
    local held = fit(decay, t, y, options { fixed = { 'c' } })
    assert.equal(0, held.p.c)
    assert.equal(0, held.stderr.c)
    assert.equal(0.5, fit(decay, t, y, options { fixed = { c = 0.5 } }).p.c)
    local two = fit(function(x, p) return p.a * mc.exp(-p.k * x) + 0.5 end, t, y, { p0 = { a = 1, k = 1 } })
    local same = fit(decay, t, y, options { fixed = { c = 0.5 } })
    near({ two.p.a, two.stderr.a }, { same.p.a, same.stderr.a }, 'as the smaller model', 1e-6)
    local tied = fit(decay, t, y, options { tied = { c = function(p) return p.a / 5 end } })
    assert.equal(tied.p.a / 5, tied.p.c)
    near(tied.stderr.a / 5, tied.stderr.c, 'error of a tie', 1e-9)
    local again = fit(function(x, p) return p.a * mc.exp(-p.k * x) + p.a / 5 end, t, y,
      options { p0 = { a = 1, k = 1 }, names = { 'a', 'k' } })
    near(again.x, tied.x, 'tied', 1e-8)
    assert.same({ 'a', 'k' }, tied.free)
    local third = fit(numbered, t, y, { p0 = { 1, 1, 0 }, fixed = { 3 } })
    assert.equal(0, third.p[3])
  end)

  it('takes derivatives by parameter, ties included, and those of the model itself', function()
    local t, y = data(70, 5)
    local function jac(x, p)
      local e = mc.exp(-p.k * x)
      return { a = e, k = -p.a * x * e, c = 1 }
    end
    for _, more in ipairs { {}, { tied = { c = function(p) return p.a / 5 end } }, { sigma = 0.3, fixed = { 'c' } } } do
      local plain = fit(decay, t, y, options(more))
      for _, way in ipairs { jac, 'forward', 'reverse', '2-point' } do
        more.jac = way
        near(plain.x, fit(decay, t, y, options(more)).x, tostring(way), 1e-6)
      end
    end
  end)

  it('takes derivatives of the model for many points where it can, and differences where it cannot', function()
    local t, y = data(12000, 31)
    local many = fit(decay, t, y, { p0 = START })
    assert.equal('forward', many.derivatives)
    assert.equal('3-point', fit(decay, t[{ { 1, 500 } }], y[{ { 1, 500 } }], { p0 = START }).derivatives)
    local by_value = fit(function(x, p) return p.a * mc.exp(x * -math.abs(p.k)) + p.c end, t, y, { p0 = START })
    assert.equal('3-point', by_value.derivatives)
    near(many.x, by_value.x, 'both', 1e-7)
    near(many.covariance, by_value.covariance, 'covariance', 1e-9)
    local blocks = fit(decay, t, y, { p0 = START, block = 5000 })
    assert.equal('forward', blocks.derivatives)
    near(many.x, blocks.x, 'in blocks', 1e-9)
  end)

  it('gives the same bits for any chunks of a stream', function()
    local n = 3000
    local t, y = data(n, 7)
    local sigma = mc.linspace(0.1, 0.2, n)
    local function source(sizes)
      return function()
        local at, k = 1, 0
        return function()
          if at > n then return nil end
          k = k + 1
          local last = math.min(n, at + sizes[(k - 1) % #sizes + 1] - 1)
          local part = { { at, last } }
          at = last + 1
          return t[part], y[part], sigma[part]
        end
      end
    end
    for _, loss in ipairs { 'linear', 'soft_l1' } do
      local whole = fit(decay, t, y, options { sigma = sigma, loss = loss })
      for _, jac in ipairs { '3-point', 'forward' } do
        local o = options { block = 256, loss = loss, jac = jac }
        local first = fit(decay, source { n }, o)
        near(whole.x, first.x, 'whole and in blocks', 1e-9)
        near(whole.covariance, first.covariance, 'covariance', 1e-9)
        near(1, whole.chi2 / first.chi2, 'chi2', 1e-9)
        for _, sizes in ipairs { { 256 }, { 100 }, { 1, 999, 7 }, { 257, 255 }, { 2999 } } do
          local other = fit(decay, source(sizes), o)
          assert.is_true(mc.array_equal(first.x, other.x))
          assert.is_true(mc.array_equal(first.covariance, other.covariance))
          assert.equal(first.chi2, other.chi2)
        end
        o.sigma = sigma
        local cut = fit(decay, t, y, o)
        assert.is_true(mc.array_equal(first.x, cut.x))
        assert.equal(first.chi2, cut.chi2)
      end
    end
  end)

  it('streams several predictors, and notices a source that ends early', function()
    local t, y = data(500, 9)
    local x = mc.stack { t, t ^ 2 }
    local function model(v, p) return p.a * mc.exp(-p.k * v[1]) + p.c + p.d * v[2] end
    local o = options { p0 = { a = 1, k = 1, c = 0, d = 0 }, names = { 'a', 'k', 'c', 'd' } }
    local whole = fit(model, x, y, o)
    local function chunks(parts)
      return function()
        local at = 0
        return function()
          at = at + 1
          if at <= parts then
            local part = { (at - 1) * 100 + 1, at * 100 }
            return x[{ mc.all, part }], y[{ part }]
          end
        end
      end
    end
    near(whole.x, fit(model, chunks(5), o).x, 'predictors [2, m]', 1e-8)
    local parts = 6
    assert.matches('curve_fit: the source gave 400 points, and 500 before; it must begin anew',
      support.message(function()
        fit(model, function()
          parts = parts - 1
          return chunks(parts)()
        end, o)
      end))
    assert.matches('curve_fit: the source gave no data',
      support.message(function() fit(model, function() return function() end end, o) end))
    assert.matches('curve_fit: a chunk has y f64%[3%]@cpu and x with 2 points', support.message(function()
      fit(model, function() return function() return mc.zeros { 2 }, mc.zeros { 3 } end end, o)
    end))
  end)

  it('finds intervals by profile likelihood: those of the errors for a line, others for a curve', function()
    local t = mc.linspace(0, 1, 20)
    local y = 1 + 2 * t + 0.1 * mc.random.normal({ 20 }, { key = 11 })
    local function line(x, p) return p.a + p.b * x end
    for _, absolute in ipairs { false, true } do
      local r = fit(line, t, y, { p0 = { a = 0, b = 0 }, sigma = 0.1, absolute_sigma = absolute })
      for _, name in ipairs { 'a', 'b' } do
        for _, level in ipairs { 0.68, 0.95, 0.99 } do
          local q = (absolute and mc.stats.norm.ppf(0.5 + level / 2) or mc.stats.t.ppf(0.5 + level / 2, 18)):item()
          local i = r:profile(name, { level = level })
          near({ r.p[name] - q * r.stderr[name], r.p[name] + q * r.stderr[name] }, { i.low, i.high }, name, 1e-5)
          assert.same({ true, true }, i.closed)
        end
      end
    end
    local u, v = data(15, 13)
    local curve = fit(decay, u, v, options())
    local i = curve:profile 'k'
    assert.is_true(i.low < curve.p.k and i.high > curve.p.k)
    assert.is_true(i.high - curve.p.k > curve.p.k - i.low) -- a rate is uncertain upwards
    -- at an end of the interval the refit is worse by what the level says
    local q = mc.stats.t.ppf(0.975, curve.dof):item()
    local there = fit(decay, u, v, options { fixed = { k = i.high } })
    near(1, (there.chi2 - curve.chi2) / (curve.chi2 / curve.dof) / q ^ 2, 'rise', 1e-5)
    -- a bound in the way
    local bounded = fit(decay, u, v, options { bounds = { k = { 0, curve.p.k + 0.01 } } })
    local j = bounded:profile 'k'
    assert.same({ true, false }, j.closed)
    near(curve.p.k + 0.01, j.high, 'bound', 1e-12)
    -- one parameter alone
    local alone = fit(line, t, y, { p0 = { a = 0, b = 2 }, fixed = { 'b' } })
    local k = alone:profile 'a'
    near(alone.p.a + mc.stats.t.ppf(0.975, 19):item() * alone.stderr.a, k.high, 'alone', 1e-5)
  end)

  it('covers the truth as often as it says', function()
    local hits, runs = 0, 120
    local t = mc.linspace(0, 3, 25)
    for k = 1, runs do
      local y = 2 * mc.exp(-t) + 0.5 + 0.1 * mc.random.normal({ 25 }, { key = 1000 + k })
      local i = fit(decay, t, y, { p0 = { a = 2, k = 1, c = 0.5 } }):profile('k', { level = 0.8 })
      if i.low <= 1 and i.high >= 1 then hits = hits + 1 end
    end
    assert.is_nil(tol.stat(hits / runs, 0.8, math.sqrt(0.16 / runs)))
  end)

  it('has a band of the model, wider for data', function()
    local t = mc.linspace(0, 1, 20)
    local y = 1 + 2 * t + 0.1 * mc.random.normal({ 20 }, { key = 15 })
    local r = fit(function(x, p) return p.a + p.b * x end, t, y, { p0 = { a = 0, b = 0 } })
    local x = mc.tensor { -1, 0.5, 3 }
    local b = r:band(x)
    -- the textbook formula of a regression line
    local s, mean = math.sqrt(r.reduced_chi2), mc.mean(t)
    local std = s * mc.sqrt(1 / 20 + (x - mean) ^ 2 / mc.sum((t - mean) ^ 2))
    near(std, b.std, 'std', 1e-7)
    near(r:predict(x), b.value, 'value', 0)
    near(b.value + mc.stats.t.ppf(0.975, 18) * std, b.high, 'high', 1e-7)
    near(mc.sqrt(std ^ 2 + s ^ 2), r:band(x, { prediction = true }).std, 'prediction', 1e-7)
  end)

  it('tells parameters that the data do not determine from those they do', function()
    local t, y = data(40, 17)
    local r = fit(function(x, p) return p.a * p.b * mc.exp(-p.k * x) end, t, y, { p0 = { a = 1, b = 2, k = 1 } })
    assert.equal(inf, r.stderr.a)
    assert.equal(inf, r.stderr.b)
    assert.is_true(r.stderr.k > 0 and r.stderr.k < inf)
    assert.equal(2, r.rank)
    assert.matches('1 combination of a, b undetermined', tostring(r))
    assert.matches('curve_fit.band: a is undetermined', support.message(function() r:band(t) end))
  end)

  it('prints a report', function()
    local t, y = data(50, 19)
    local r = fit(decay, t, y, options { bounds = { a = { 0, 10 } }, fixed = { c = 0.5 } })
    local text = tostring(r)
    assert.matches('^fit of 2 parameters to 50 points %(trf%)\n  converged: ', text)
    assert.matches('\n  chi2 %S+   reduced chi2 %S+   degrees of freedom 48   AIC %S+   BIC %S+\n', text)
    assert.matches('\n  a  2%.%d+ %+/%- 0%.%d+ %(%S+ %%%)   %[0, 10%]\n', text)
    assert.matches('\n  c  0%.5  %(fixed%)\n', text)
    assert.matches('\n    a, k  %+0%.%d%d%d$', text)
    near(50 * math.log(r.chi2 / 50) + 4, r.aic, 'AIC', 1e-12)
    near(50 * math.log(r.chi2 / 50) + 2 * math.log(50), r.bic, 'BIC', 1e-12)
  end)

  it('makes errors under a loss of the residuals, whatever sigma, in blocks and streams too', function()
    local n = 400
    local x = mc.arange(1, n) / n
    local xs, noise, draw = x:totable(), {}, 1
    for i = 1, n do
      draw = draw * 16807 % 2147483647
      local u = draw / 2147483647 - 0.5
      noise[i] = i % 17 == 0 and 8 * u or 0.3 * u
    end
    local y = x * 2 + 1 + mc.tensor(noise)
    local ys = y:totable()
    local function line(t, p) return t * p.b + p.a end
    local RHO = { -- rho', rho''
      soft_l1 = function(z) return (1 + z) ^ -0.5, -0.5 * (1 + z) ^ -1.5 end,
      cauchy = function(z) return 1 / (1 + z), -1 / (1 + z) ^ 2 end,
    }
    for loss, rho in pairs(RHO) do
      local H, B = { 0, 0, 0 }, { 0, 0, 0 }
      local r = fit(line, x, y, { p0 = { a = 0.5, b = 1 }, loss = loss, f_scale = 0.1, ftol = 1e-14, xtol = 1e-14,
        gtol = 1e-14 })
      for i = 1, n do
        local e = r.p.a + r.p.b * xs[i] - ys[i]
        local z = (e / 0.1) ^ 2
        local first, second = rho(z)
        for k, g in ipairs { 1, xs[i], xs[i] ^ 2 } do
          H[k], B[k] = H[k] + (first + 2 * z * second) * g, B[k] + (e * first) ^ 2 * g
        end
      end
      local det = H[1] * H[3] - H[2] ^ 2
      local v = { -H[2] / det, H[1] / det } -- the row of b of the inverse of H
      local want = math.sqrt((v[1] ^ 2 * B[1] + 2 * v[1] * v[2] * B[2] + v[2] ^ 2 * B[3]) * n / (n - 2))
      assert.near(want, r.stderr.b, 1e-6 * want)
      for _, o in ipairs { { absolute_sigma = true }, { sigma = 2, f_scale = 0.05 }, { block = 64 },
        { block = 128, jac = 'forward' } } do
        o.p0, o.loss, o.f_scale = { a = 0.5, b = 1 }, loss, o.f_scale or 0.1
        o.ftol, o.xtol, o.gtol = 1e-14, 1e-14, 1e-14
        assert.near(want, fit(line, x, y, o).stderr.b, 1e-5 * want)
      end
      local interval = r:profile('b')
      assert.near(r.p.b - 1.966 * want, interval.low, 0.1 * want)
      assert.near(r.p.b + 1.966 * want, interval.high, 0.1 * want)
    end
  end)

  it('leaves out what is not finite when asked, and resists outliers by a loss', function()
    local t, y = data(60, 21)
    local with_nan = y:copy()
    with_nan[5], with_nan[17] = mc.nan, mc.inf
    assert.matches("y is f64%[60%]@cpu and holds NaN or infinity; .*nan = 'omit'",
      support.message(function() fit(decay, t, with_nan, options()) end))
    local r = fit(decay, t, with_nan, options { nan = 'omit', sigma = mc.full({ 60 }, 0.1) })
    assert.equal(58, r.n)
    local spoilt = y:copy()
    spoilt[8] = 40
    local plain, robust = fit(decay, t, spoilt, options()),
      fit(decay, t, spoilt, options { loss = 'soft_l1', f_scale = 0.1 })
    assert.is_true(math.abs(robust.p.k - 1.3) < 0.2 and math.abs(plain.p.k - 1.3) > 0.2)
  end)

  it('fits surfaces: y of any shape', function()
    local x, y = mc.linspace(0, 1, 6):reshape { 6, 1 }, mc.linspace(0, 1, 5)
    local z = (1 + 2 * x + 3 * y):to 'f32'
    local r =
      fit(function(v, p) return p.a + p.b * v.x + p.c * v.y end, { x = x, y = y }, z, { p0 = { a = 0, b = 0, c = 0 } })
    near({ 1, 2, 3 }, { r.p.a, r.p.b, r.p.c }, 'surface', 1e-6)
    assert.equal(30, r.n)
  end)

  it('says what is wrong with its arguments', function()
    local t, y = data(10, 23)
    local function says(pattern, ...)
      local n, arguments = select('#', ...), { ... }
      assert.matches(pattern, support.message(function() return fit(unpack(arguments, 1, n)) end))
    end
    says('curve_fit: the model is 3; give a function', 3, t, y, {})
    says('curve_fit: option p0 is nil; give a start', decay, t, y, {})
    says('curve_fit: parameter 1 among named ones', decay, t, y, { p0 = { a = 1 }, fixed = { 1 } })
    says('curve_fit: the start of a is inf; give a finite number', decay, t, y, { p0 = { a = inf, k = 1, c = 1 } })
    says('curve_fit: the start of a is 5, outside of its bounds 0 and 2', decay, t, y,
      options { p0 = { a = 5, k = 1, c = 1 }, bounds = { a = { 0, 2 } } })
    says('curve_fit: the bounds of a are 2 and 1', decay, t, y, options { bounds = { a = { 2, 1 } } })
    says('curve_fit: option bounds has .aa., which is no parameter; did you mean "a"', decay, t, y,
      options { bounds = { aa = { 0, 2 } } })
    says('curve_fit: c is both fixed and tied', decay, t, y,
      options { fixed = { 'c' }, tied = { c = function() return 1 end } })
    says('curve_fit: c is tied to 3; give a function', decay, t, y, options { tied = { c = 3 } })
    says('curve_fit: the tie of c gave .x.; it must give a number', decay, t, y,
      options { tied = { c = function() return 'x' end } })
    says('curve_fit: no parameter is free', decay, t, y, options { fixed = { 'a', 'k', 'c' } })
    says('curve_fit: option names leaves out c', decay, t, y, options { names = { 'a', 'k' } })
    says('curve_fit: the model gave nil; it must give a tensor', function() end, t, y, options())
    says('curve_fit: the model gave f64%[3%]@cpu for y f64%[10%]@cpu',
      function() return mc.zeros { 3 } end, t, y, options())
    says('curve_fit: the model is not finite at p0', function(x, p) return p.a * x / 0 end, t, y, options())
    says('curve_fit: sigma is f64%[3%]@cpu for y f64%[10%]@cpu', decay, t, y, options { sigma = mc.ones { 3 } })
    says('curve_fit: sigma is not positive', decay, t, y, options { sigma = 0 })
    says('curve_fit: method lm takes no bounds', decay, t, y, options { method = 'lm', bounds = { a = { 0, 2 } } })
    says('curve_fit: jac gave 1; it must give a table', decay, t, y, options { jac = function() return 1 end })
    says('curve_fit: jac gave nil for k; it must give a tensor', decay, t, y,
      options { jac = function(x) return { a = x } end })
    says('curve_fit: x is a source of chunks and y .*; the source gives y too', decay, function() end, y, options())
    local r = fit(decay, t, y, options { fixed = { 'c' } })
    assert.matches("curve_fit.profile: 'c' is fixed; the free ones are a, k",
      support.message(function() r:profile 'c' end))
    assert.matches("curve_fit.profile: 'z' is no parameter", support.message(function() r:profile 'z' end))
    assert.matches('curve_fit.profile: option level is 1; give a share below 1',
      support.message(function() r:profile('a', { level = 1 }) end))
  end)

  it('refuses a model that writes into its argument, and leaves the data alone', function()
    for _, n in ipairs { 50, 12000 } do
      local t = mc.linspace(0, 4, n)
      local y = 2 * mc.exp(-0.5 * t)
      local kept = t:copy()
      local wrong = {
        function(x, p) return p.a * mc.exp(x:mul_(-p.k)) end, -- k starts at -1: nothing changes at first
        function(x, p) x[1] = 0 return p.a * mc.exp(x * -p.k) end,
        function(x, p) return p.a * mc.multiply(x, -p.k, { out = x }):exp() end,
        function(x, p)
          x[{ { 1, 5 } }]:add_(1)
          return p.a * mc.exp(x * -p.k)
        end,
      }
      for i, f in ipairs(wrong) do
        for _, more in ipairs { {}, { jac = 'forward' }, { jac = 'reverse' }, { block = 4096 },
          { block = 4096, jac = 'forward' } } do
          more.p0 = { a = 1, k = -1 }
          local why = support.message(function() fit(f, t, y, more) end)
          assert.matches('curve_fit: the model writes into its argument', why, ('%d %d'):format(n, i))
          assert.is_true(mc.eq(t, kept):all(), i)
        end
      end
      local own = fit(function(x, p) return p.a * mc.exp((x * 1):mul_(-p.k)) end, t, y, { p0 = { a = 1, k = 1 } })
      tol.near(0.5, own.p.k, 1e-6)
      local pair = support.message(function()
        fit(function(x, p) return p.a * mc.exp(x.t:mul_(-p.k)) end, { t = t }, y, { p0 = { a = 1, k = 1 } })
      end)
      assert.matches('writes into its argument', pair)
      assert.is_true(mc.eq(t, kept):all())
    end
  end)

  it('refuses a jac that writes into its argument', function()
    local t = mc.linspace(0, 4, 50)
    local y, kept = 2 * mc.exp(-0.5 * t), t:copy()
    local function model(x, p) return p.a * mc.exp(x * -p.k) end
    local function jac(x, p)
      local e = mc.exp(x * -p.k)
      return { a = e, k = x:mul_(-p.a) * e }
    end
    local why = support.message(function() fit(model, t, y, { p0 = { a = 1, k = 1 }, jac = jac }) end)
    assert.matches('curve_fit: jac writes into its argument', why)
    assert.is_true(mc.eq(t, kept):all())
    local own = fit(model, t, y, { p0 = { a = 1, k = 1 }, jac = function(x, p) return jac(x:copy(), p) end })
    tol.near(0.5, own.p.k, 1e-6)
  end)
end)
