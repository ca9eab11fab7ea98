-- gp_spec.lua - mc.optim.gaussian_process and mc.optim.kernels against scikit-learn; laws of kernels and posteriors;
-- messages.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local tol = support.load 'tol'
local process, K = mc.optim.gaussian_process, mc.optim.kernels

local file
local function golden()
  file = file or mc.load(support.folder .. '/golden/gaussian_process.npz')
  return file
end
local near = tol.near

local function kernels()
  return {
    rbf = K.rbf(0.7), ard = K.rbf { 0.7, 1.9 }, matern_half = K.matern(1.3, { nu = 0.5 }),
    matern_three = K.matern({ 0.8, 2 }, { nu = 1.5 }), matern_five = K.matern(1.1),
    rational = K.rational_quadratic(0.9, { alpha = 0.6 }), periodic = K.periodic(0.8, 3.1),
    mixture = 2.5 * K.rbf { 0.7, 1.9 } + 0.3 * K.matern(1.5, { nu = 1.5 }),
  }
end
local function points(name)
  local g = golden()
  if name == 'periodic' then return g.X[{ mc.all, { 1, 1 } }], g.Z[{ mc.all, { 1, 1 } }] end
  return g.X, g.Z
end

describe('the kernels', function()
  it('have the values of scikit-learn', function()
    for name, k in pairs(kernels()) do
      local X, Z = points(name)
      near(golden()[name .. '_K'], k:matrix(X, Z), name, 1e-14)
    end
  end)

  it('are symmetric and positive, with the diagonal they say', function()
    for name, k in pairs(kernels()) do
      local X = points(name)
      local full = k + K.white(0.3)
      local M = full:matrix(X)
      near(M, M.mT, name, 0)
      near(mc.diagonal(M), full:diagonal(18, true) * mc.ones { 18 }, name .. ' diagonal', 1e-14)
      near(mc.diagonal(full:matrix(X, X)), full:diagonal(18, false) * mc.ones { 18 }, name .. ' without noise', 1e-14)
      assert.is_true(mc.min(mc.linalg.eigvalsh(M)):item() > 0.29, name)
    end
  end)

  it('have derivatives in the logarithms of their hyperparameters', function()
    for name, k in pairs(kernels()) do
      local X = points(name)
      local full = k * 1.7 + K.white(0.3)
      local _, slopes = full:matrix(X, nil, true)
      local values = full:values()
      assert.equal(#values, #slopes, name)
      for i = 1, #values do
        local h, moved = 1e-5, {}
        for j = 1, #values do moved[j] = values[j] end
        moved[i] = values[i] * math.exp(h)
        local up = full:values(moved):matrix(X)
        moved[i] = values[i] * math.exp(-h)
        near((up - full:values(moved):matrix(X)) / (2 * h), slopes[i], ('%s, hyperparameter %d'):format(name, i), 1e-8)
        full:values(values)
      end
    end
  end)

  it('add, multiply, print, and copy', function()
    local k = 2 * (K.rbf(1) + K.white(0.1)) + 1
    assert.equal('constant(variance=2) * (rbf(length=1) + white(variance=0.1)) + constant(variance=1)', tostring(k))
    local c = k:copy()
    c:values { 5, 6, 7, 8 }
    assert.same({ 2, 1, 0.1, 1 }, k:values())
    assert.same({ 5, 6, 7, 8 }, c:values())
  end)

  it('say what is wrong', function()
    assert.matches('kernels.rbf: length is %-1; give a positive number', support.message(function() K.rbf(-1) end))
    assert.matches('kernels.matern: option nu is 2; choose', support.message(function() K.matern(1, { nu = 2 }) end))
    assert.matches('kernels.white: the bounds of variance are 3; give { low, high }',
      support.message(function() K.white(1, { bounds = 3 }) end))
    assert.matches('kernels: .x. is no kernel', support.message(function() return K.rbf(1) + 'x' end))
    assert.matches('the kernel has 2 lengths, the points have 3 coordinates',
      support.message(function() K.rbf({ 1, 2 }):matrix(mc.ones { 4, 3 }) end))
  end)
end)

describe('gaussian_process', function()
  it('predicts what scikit-learn predicts, with its likelihoods and gradients', function()
    local g = golden()
    for name, k in pairs(kernels()) do
      local X, Z = points(name)
      local gp = process(X, g.y, { kernel = k + K.white(0.02), fit = false, normalize = false })
      near(g[name .. '_likelihood'], gp.log_likelihood, name, 1e-9)
      local value, gradient = gp:likelihood(g[name .. '_values']:totable())
      near(g[name .. '_likelihood'], value, name, 1e-9)
      near(g[name .. '_gradient'], gradient, name .. ' gradient', 1e-8)
      local p = gp:predict(Z, { noise = true, cov = true })
      near(g[name .. '_mean'], p.mean, name .. ' mean', 1e-9)
      near(g[name .. '_std'], p.std, name .. ' std', 1e-9)
      near(g[name .. '_cov'], p.cov, name .. ' cov', 1e-9)
      -- without noise the variances are smaller by it
      near(p.std ^ 2 - 0.02, gp:predict(Z).std ^ 2, name .. ' without noise', 1e-9)
    end
  end)

  it('finds hyperparameters as likely as those of scikit-learn from twenty starts', function()
    local g = golden()
    local gp = process(g.X, g.y)
    assert.is_true(gp.log_likelihood > g.fitted_likelihood:item() - 1e-3)
    local again = process(g.X, g.y)
    assert.is_true(mc.array_equal(gp:predict(g.Z).mean, again:predict(g.Z).mean))
  end)

  it('recovers noise and length of data drawn from a kernel', function()
    local X = mc.linspace(0, 30, 150)
    local truth =
      process(mc.tensor { -1e6 }, mc.tensor { 0 }, { kernel = 4 * K.rbf(1.5), fit = false, normalize = false })
    local y = truth:sample(X, { key = 3 })[1] + 0.2 * mc.random.normal({ 150 }, { key = 4 })
    local gp = process(X, y, { kernel = 1 * K.rbf(1) + K.white(0.1), normalize = false })
    local v = gp.kernel:values()
    -- standard errors from the curvature of the likelihood
    for i, want in ipairs { 4, 1.5, 0.04 } do
      local h = 1e-3
      local function slope(s)
        local w = {}
        for j = 1, 3 do w[j] = v[j] end
        w[i] = v[i] * math.exp(s)
        local _, gr = gp:likelihood(w)
        return gr[i]
      end
      local se = 1 / math.sqrt(-(slope(h) - slope(-h)) / (2 * h))
      assert.is_nil(tol.stat(math.log(v[i]), math.log(want), se))
    end
  end)

  it('passes through data without noise and returns to the mean far away', function()
    local x, y = mc.linspace(0, 5, 8), mc.sin(mc.linspace(0, 5, 8))
    local gp = process(x, y, { kernel = K.rbf(1), fit = false })
    local p = gp:predict(x)
    near(y, p.mean, 'data', 1e-7)
    near(mc.zeros { 8 }, p.std, 'std', 1e-5)
    local far = gp:predict(mc.tensor { 1e3 })
    near(mc.mean(y), far.mean, 'mean', 1e-12)
    near(mc.std(y), far.std, 'std far away', 1e-12)
  end)

  it('takes variances of the data', function()
    local x = mc.tensor { 0, 1, 2 }
    local gp = process(x, mc.tensor { 0, 5, 0 },
      { kernel = K.rbf(1), fit = false, normalize = false, noise = mc.tensor { 1e-9, 1e9, 1e-9 } })
    near(0, gp:predict(mc.tensor { 1 }).mean, 'a point without weight', 1e-6)
  end)

  it('draws samples with the posterior mean and covariance', function()
    local g = golden()
    local gp = process(g.X, g.y, { kernel = K.rbf(0.7) + K.white(0.02), fit = false })
    local p = gp:predict(g.Z, { cov = true })
    local n = 4000
    local s = gp:sample(g.Z, { n = n, key = 9 })
    assert.same({ n, 7 }, { s.shape[1], s.shape[2] })
    local m = mc.mean(s, 1)
    for i = 1, 7 do
      local var = p.cov[{ i, i }]:item()
      assert.is_nil(tol.stat(m[i]:item(), p.mean[i]:item(), math.sqrt(var / n)))
      assert.is_nil(tol.stat(mc.var(s[{ mc.all, i }]):item(), var, var * math.sqrt(2 / n)))
    end
    assert.is_true(mc.array_equal(s, gp:sample(g.Z, { n = n, key = 9 })))
  end)

  it('copes with equal points, one point, and constant values', function()
    local twice = process(mc.tensor { 1, 1, 2 }, mc.tensor { 3, 3, 4 }, { kernel = K.rbf(1), fit = false })
    near(3, twice:predict(mc.tensor { 1 }).mean, 'twice', 1e-4)
    near(7, process(mc.tensor { 1 }, mc.tensor { 7 }):predict(mc.tensor { 1 }).mean, 'one', 1e-9)
    near(2, process(mc.tensor { 1, 2, 3 }, mc.tensor { 2, 2, 2 }):predict(mc.tensor { 2.5 }).mean, 'constant', 1e-9)
  end)

  it('says what is wrong with its arguments', function()
    local x, y = mc.ones { 3, 2 }, mc.ones { 3 }
    local function says(pattern, ...)
      local arguments = { ... }
      assert.matches(pattern, support.message(function() return process(unpack(arguments)) end))
    end
    says('gaussian_process: X is f64%[3,2%]@cpu and y f64%[2%]@cpu; give a value for each point', x, mc.ones { 2 })
    says('gaussian_process: the points are f64%[1,3,2%]@cpu; give %[n, d%]', x:reshape { 1, 3, 2 }, y)
    says('gaussian_process: X is .* and some of it is NaN', x, mc.tensor { 1, mc.nan, 2 })
    says('gaussian_process: option kernel is a table; give one of mc.optim.kernels', x, y, { kernel = {} })
    says('gaussian_process: option noise is f64%[2%]@cpu', x, y, { noise = mc.ones { 2 } })
    says('gaussian_process: there are no points', mc.zeros { 0, 2 }, mc.zeros { 0 })
    local gp = process(x + mc.random.uniform({ 3, 2 }, { key = 1 }), y, { fit = false })
    assert.matches('gaussian_process.predict: the points are f64%[4,3%]@cpu, those of the data have 2',
      support.message(function() gp:predict(mc.ones { 4, 3 }) end))
    assert.matches('gaussian_process.likelihood: give a list of 4 hyperparameters',
      support.message(function() gp:likelihood { 1 } end))
  end)
end)
