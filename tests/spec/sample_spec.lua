-- sample_spec.lua - mc.sample: diagnostics against ArviZ, samplers against exact moments, and the laws they rest on.
--
-- A mean of draws is compared in units of its Monte Carlo error (STAT: a z-score of 5), which the goldens of ArviZ
-- check beforehand.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes()
local mc = require 'mascon'
local tol = support.load 'tol'
local S = mc.sample
local near, below = tol.near, tol.below

--- E[f] of draws [chain, draw] against its exact value.
local function expect(want, draws, what)
  local wrong = tol.stat(draws:mean():item(), want, S.mcse(draws):item())
  if wrong then error(wrong .. (what and ': ' .. what or ''), 2) end
  below(S.rhat(draws):item(), 1.05, what)
end

describe('diagnostics', function()
  it('are those of ArviZ', function()
    local g = mc.load((support.root or 'tests') .. '/golden/sample.npz')
    local seen = 0
    for key, x in pairs(g) do
      local name = key:match '^(.*)_x$'
      if name then
        seen = seen + 1
        local want = g[name .. '_answers']
        local got = { S.rhat(x):item() }
        for _, method in ipairs { 'bulk', 'tail', 'mean', 'sd', 'median' } do
          got[#got + 1] = S.ess(x, { method = method }):item()
        end
        for _, method in ipairs { 'mean', 'sd' } do got[#got + 1] = S.mcse(x, { method = method }):item() end
        for i, v in ipairs(got) do
          local w = want[i]:item()
          if w == w then below(math.abs(v - w), 1e-10 * math.abs(w),
            ('%s %d'):format(name, i)) end -- ArviZ has no R-hat of one chain
        end
        below(mc.max(mc.abs(S.bfmi(x) / g[name .. '_bfmi'] - 1)):item(), 1e-10, name)
      end
    end
    assert.equal(13, seen)
  end)
  it('take arrays of any shape, element by element', function()
    local x = mc.random.normal({ 3, 50, 2, 2 }, { key = 1 })
    local r, e, m = S.rhat(x), S.ess(x), S.mcse(x, { method = 'sd' })
    assert.same({ 2, 2 }, r:size() and { r.shape[1], r.shape[2] })
    local one = x['..., 2, 1']
    assert.equal(S.rhat(one):item(), r['2, 1']:item())
    assert.equal(S.ess(one):item(), e['2, 1']:item())
    assert.equal(S.mcse(one, { method = 'sd' }):item(), m['2, 1']:item())
  end)
  it('are NaN where a draw is, and say what they need', function()
    local x = mc.random.normal({ 2, 10 }, { key = 1 })
    x[1][3] = 0 / 0
    assert.is_true(mc.isnan(S.rhat(x)):item())
    assert.is_true(mc.isnan(S.ess(x)):item())
    assert.matches('sample.rhat: the draws are f64%[10%].*%[chain, draw, ...%]',
      support.message(S.rhat, mc.zeros { 10 }))
    assert.matches('at least 4 per chain', support.message(S.ess, mc.zeros { 2, 3 }))
    assert.matches('option method is .bulky.*did you mean "bulk"', support.message(S.ess, x, { method = 'bulky' }))
    assert.matches('%[chain, draw%]', support.message(S.bfmi, mc.zeros { 3 }))
  end)
end)

describe('bounds', function()
  local bounds = require 'mascon.sample.bounds'
  local B
  setup(function() B = bounds.new('t', { { 0, nil }, { nil, 2 }, { -1, 3 }, {} }, mc.zeros { 4 }, 4, 'f64') end)
  teardown(function() B = nil end)
  it('are met, undone, and counted in the volume', function()
    for seed = 1, 5 do
      local u = mc.random.normal({ 4 }, { key = seed }) * 3
      local x = B:inside(u)
      assert.is_true(x[1]:item() > 0 and x[2]:item() < 2 and x[3]:item() > -1 and x[3]:item() < 3)
      below(mc.max(mc.abs(B:free(x) - u)):item(), 1e-9)
      local J = mc.jacfwd(function(v) return B:inside(v) end)(u)
      near(mc.log(mc.abs(mc.linalg.det(J))):item(), B:log_volume(u):item(), 'volume', 1e-10)
      below(mc.max(mc.abs(mc.diagonal(J) - B:slope(x))):item(), 1e-10 * (1 + mc.max(mc.abs(x)):item()))
    end
  end)
  it('give finite derivatives far out, also beside elements of other kinds', function()
    local u = mc.tensor { -800, -800, 800, 1e6 }
    local v, g = mc.value_and_grad(function(q) return mc.sum(B:inside(q)) + B:log_volume(q) end)(u)
    assert.is_true(mc.isfinite(v):item() and mc.isfinite(g):all())
  end)
  it('have three forms that agree', function()
    local function f(x) return -mc.sum(x.a) - mc.sum(x.b) end
    local start = { a = 1, b = mc.ones { 2 } }
    local o = { key = 1, chains = 1, draws = 20, warmup = 20 }
    local function with(b)
      o.bounds = b
      return S.nuts(f, start, o).posterior.b
    end
    local want = with { a = { 0 }, b = { 0, 9 } }
    assert.is_true(mc.array_equal(want, with { { 0, mc.inf }, { 0, 9 }, { 0, 9 } }))
    assert.is_true(mc.array_equal(want, with { 0, { a = mc.tensor(mc.inf), b = mc.tensor { 9, 9 } } }))
  end)
end)

describe('adaptation', function()
  local adapt = require 'mascon.sample.adapt'
  it("has Stan's windows", function()
    local function list(n)
      local ends, out = adapt.windows(n), {}
      for i = 1, n do if ends[i] then out[#out + 1] = i end end
      return out
    end
    assert.same({ 100, 150, 250, 450, 950 }, list(1000))
    assert.same({ 100 }, list(150))
    assert.same({ 90 }, list(100))
    assert.same({}, list(19))
  end)
  it('reaches the acceptance that is asked for', function()
    local function accepted(target)
      local r = S.nuts(function(x) return -0.5 * mc.sum(mc.square(x)) end, mc.zeros { 20 },
        { key = 1, chains = 1, target_accept = target, warmup = 300, draws = 200 })
      return r.sample_stats.acceptance_rate:mean():item()
    end
    local low, high = accepted(0.6), accepted(0.95)
    assert.is_true(low > 0.55 and low < 0.85 and high > 0.92 and high < 0.99, ('%g %g'):format(low, high))
  end)
  it('learns scales and correlations', function()
    local C = mc.tensor { { 4, 1.8 }, { 1.8, 1 } }
    local P = mc.linalg.inv(C)
    local function f(x) return -0.5 * mc.sum(x * mc.matmul(P, x)) end
    local dense = S.nuts(f, { 0, 0 }, { key = 1, chains = 1, metric = 'dense' }).metric[1]
    below(mc.max(mc.abs(dense - C)):item(), 1)
    local diag = S.nuts(f, { 0, 0 }, { key = 1, chains = 1 }).metric[1]
    below(mc.max(mc.abs(diag / mc.diagonal(C) - 1)):item(), 0.4)
  end)
  it('begins with a covariance that is known, in the coordinates of the sampler', function()
    local r = S.nuts(function(x) return -x[1] - 0.5 * mc.square(x[2]) end, { 2, 1 },
      { key = 1, chains = 1, draws = 4, warmup = 0, step_size = 0.1,
      metric = 'dense', covariance = mc.tensor { { 4, 0.6 }, { 0.6, 1 } }, bounds = { { 0 }, {} } })
    below(mc.max(mc.abs(r.metric[1] - mc.tensor { { 1, 0.3 }, { 0.3, 1 } })):item(), 1e-15)
  end)
end)

describe('leapfrog steps', function()
  local densities = require 'mascon.sample.density'
  local function f(x) return -mc.sum(mc.square(x) * mc.square(x)) / 4 - 0.5 * mc.sum(mc.square(x - 1)) end
  local d, metric, start
  local function walk(s, steps, eps)
    for _ = 1, steps do s = d:leapfrog(s, metric, eps) end
    return s
  end
  setup(function()
    d, metric = densities.new('t', f, mc.tensor { 0.3, -0.2, 0.9 }, { compile = true }), mc.tensor { 1, 2, 0.5 }
    start = d.kicked(d:at(d.q), mc.tensor { 1, -0.5, 0.7 }, metric)
  end)
  teardown(function() d, metric, start = nil, nil, nil end)
  it('can be taken back', function()
    local there = walk(start, 20, 0.1)
    assert.is_true(mc.max(mc.abs(there.q - start.q)):item() > 0.1)
    local back = walk(there, 20, -0.1)
    below(mc.max(mc.abs(back.q - start.q)):item(), 1e-13)
    below(mc.max(mc.abs(back.p - start.p)):item(), 1e-13)
  end)
  it('keep the energy to second order', function()
    local coarse, fine = walk(start, 20, 0.02), walk(start, 40, 0.01)
    near(4, (coarse.energy - start.energy) / (fine.energy - start.energy), 'ratio of errors', 0.2)
  end)
end)

describe('draws', function()
  local C, P, at
  setup(function()
    C, at = mc.tensor { { 1, 0.9, 0 }, { 0.9, 1, 0.2 }, { 0, 0.2, 4 } }, mc.tensor { 1, -2, 3 }
    P = mc.linalg.inv(C)
  end)
  teardown(function() C, P, at = nil, nil, nil end)
  local function gaussian(x)
    local d = x - at
    return -0.5 * mc.sum(d * mc.matmul(P, d))
  end
  local function check(r)
    local x = r.posterior.x
    for i = 1, 3 do
      expect(at[i]:item(), x['..., ' .. i])
      expect(C[i][i]:item(), mc.square(x['..., ' .. i] - at[i]:item()))
    end
    expect(0.9, (x['..., 1'] - 1) * (x['..., 2'] + 2))
  end
  it('of a correlated Gaussian have its moments, by every sampler and metric', function()
    local o = { key = 1, chains = 2, draws = 600, warmup = 400 }
    for _, metric in ipairs { 'diag', 'dense' } do
      o.metric = metric
      check(S.nuts(gaussian, { 0, 0, 0 }, o))
      check(S.hmc(gaussian, { 0, 0, 0 }, o))
    end
  end)
  it('are the same bits when nothing is compiled, close with a gradient of its own, and right in f32', function()
    local o = { key = 5, chains = 1, draws = 15, warmup = 25 }
    local want = S.nuts(gaussian, { 0, 0, 0 }, o).posterior.x
    o.compile = false
    assert.is_true(mc.array_equal(want, S.nuts(gaussian, { 0, 0, 0 }, o).posterior.x))
    o.compile, o.jac = nil, true
    local function both(x)
      local d = x - at
      local g = mc.matmul(P, d)
      return mc.sum(d * g):item() * -0.5, -g
    end
    below(mc.max(mc.abs(want - S.nuts(both, { 0, 0, 0 }, o).posterior.x)):item(), 1e-5)
    local P32, at32 = P:to 'f32', at:to 'f32'
    local r = S.nuts(function(x)
      local d = x - at32
      return -0.5 * mc.sum(d * mc.matmul(P32, d))
    end, mc.zeros({ 3 }, { dtype = 'f32' }), { key = 6, chains = 2, draws = 600, warmup = 400 })
    assert.equal('f32', r.posterior.x.dtype)
    check(r)
  end)
  it('within bounds have the moments of exponential, beta and reflected distributions', function()
    local function f(p) return -2 * p.rate - 0.5 * (5 - p.top) + mc.log(p.share - 2) + 3 * mc.log(6 - p.share) end
    for _, jac in ipairs { false, true } do
      local g = mc.compile(mc.value_and_grad(f))
      local r = S.nuts(jac and g or f, { rate = 1, top = 4, share = 3 },
        { key = 2, chains = 2, draws = 700, warmup = 400, jac = jac,
        bounds = { rate = { 0 }, top = { nil, 5 }, share = { 2, 6 } } })
      expect(0.5, r.posterior.rate)
      expect(0.5, mc.square(r.posterior.rate))
      expect(3, r.posterior.top)
      expect(2 + 4 / 3, r.posterior.share) -- beta(2, 4) between 2 and 6
      expect(16 * 2 * 4 / (36 * 7), mc.square(r.posterior.share - 2 - 4 / 3))
    end
  end)
  it('of eight schools agree with the integral over tau', function()
    local y, sigma = mc.tensor { 28, 8, -3, 7, -1, 1, 18, 12 }, mc.tensor { 15, 10, 16, 11, 9, 11, 10, 18 }
    local function f(p)
      local z = (y - p.mu - p.tau * p.eta) / sigma
      return -0.5 * (mc.sum(z * z) + mc.sum(p.eta * p.eta) + mc.square(p.mu / 5)) - mc.log1p(mc.square(p.tau / 5))
    end
    local r = S.nuts(f, { mu = 0, tau = 1, eta = mc.zeros { 8 } },
      { key = 3, bounds = { tau = { 0 } }, chains = 2, draws = 700, warmup = 500, target_accept = 0.9 })
    -- given tau everything is Gaussian; what is left is one integral, here a sum over tau = 5 sinh-spaced points
    local t = mc.exp(mc.linspace(-12, 9, 4001)):reshape { 4001, 1 }
    local v = mc.square(sigma) + t * t
    local precision = 1 / 25 + mc.sum(1 / v, 2)
    local mean = mc.sum(y / v, 2) / precision
    local log_weight = -0.5 * mc.log(precision) - 0.5 * mc.sum(mc.log(v) + y * y / v, 2) + 0.5 * mean * mean * precision
    local tau = t:reshape { 4001 }
    local w = mc.exp(log_weight - log_weight:max():item()) / (1 + tau * tau / 25) * tau
    w = w / w:sum()
    expect(mc.sum(w * mean):item(), r.posterior.mu)
    expect(mc.sum(w * tau):item(), r.posterior.tau)
    local theta = mc.sum(w * (y[1] / 225 + mean / (tau * tau)) / (1 / 225 + 1 / (tau * tau))):item()
    expect(theta, r.posterior.mu + r.posterior.tau * r.posterior.eta['..., 1'])
  end)
  it('of a funnel are right in independent coordinates, and warned of in others', function()
    local function apart(p) return -p.v * p.v / 18 - 0.5 * mc.sum(mc.square(p.z)) end
    local o = { key = 1, chains = 2, draws = 500, warmup = 300 }
    local r = S.nuts(apart, { v = 0, z = mc.zeros { 9 } }, o)
    expect(0, r.posterior.v)
    expect(9, mc.square(r.posterior.v))
    local function funnel(p) return -p.v * p.v / 18 - 0.5 * mc.sum(mc.square(p.x)) * mc.exp(-p.v) - 4.5 * p.v end
    local w = table.concat(S.nuts(funnel, { v = 0, x = mc.zeros { 9 } }, o):warnings(), '\n')
    assert.matches('divergence', w)
    assert.matches('R%-hat', w)
  end)
  it('have ranks of prior draws that are uniform (simulation-based calibration)', function()
    local ranks, rounds, kept = { {}, {} }, 60, 7
    local o = { chains = 1, draws = 4 * kept, warmup = 120, bounds = { scale = { 0 } }, args = {}, jitter = 0 }
    local function f(p,
      y) return -0.5 * p.mu * p.mu - p.scale - 0.5 * mc.sum(mc.square((y - p.mu) / p.scale)) - 5 * mc.log(p.scale) end
    for i = 1, rounds do
      local k = mc.random.key(77):fold_in(i):split(4)
      local mu, scale = mc.random.normal({}, { key = k[1] }):item(),
        -math.log(1 - mc.random.uniform({}, { key = k[2] }):item())
      o.args[1], o.key = mu + scale * mc.random.normal({ 5 }, { key = k[3] }), k[4]
      local r = S.nuts(f, { mu = mu, scale = scale }, o)
      for j, truth in ipairs { mu, scale } do
        local draws = r.posterior[j == 1 and 'mu' or 'scale'][{ 1, { 4, 4 * kept, 4 } }]
        local rank = mc.sum(draws:lt(truth):to 'i64'):item()
        ranks[j][rank] = (ranks[j][rank] or 0) + 1
      end
    end
    for j = 1, 2 do -- chi-squared with 7 degrees of freedom: below 24.3 with probability 0.999
      local want, sum = rounds / (kept + 1), 0
      for rank = 0, kept do sum = sum + ((ranks[j][rank] or 0) - want) ^ 2 / want end
      below(sum, 24.3, 'parameter ' .. j)
    end
  end)
  it('are the same bits on a second run, for any number of threads, chains and for either tier', function()
    local A = mc.random.normal({ 400, 30 }, { key = 9 })
    local y = mc.matmul(A, mc.ones { 30 })
    local function f(x) return -0.5 * mc.sum(mc.square(mc.matmul(A, x) - y)) - mc.sum(mc.log1p(mc.square(x))) end
    local o = { key = 4, chains = 2, draws = 30, warmup = 40, metric = 'dense' }
    local want = S.nuts(f, mc.zeros { 30 }, o)
    local threads = mc.get_num_threads()
    for _, n in ipairs { 1, 2 } do
      mc.set_num_threads(n)
      o.chains = 3 - n
      local r = S.nuts(f, mc.zeros { 30 }, o)
      assert.is_true(mc.array_equal(want.posterior.x['1:' .. o.chains], r.posterior.x))
      assert.is_true(mc.array_equal(want.sample_stats.energy['1:' .. o.chains], r.sample_stats.energy))
    end
    mc.set_num_threads(threads)
  end)
  it('that diverge say so and stay', function()
    local r = S.nuts(function(x) return -0.5 * mc.sum(mc.square(x * 1e4)) end, { 1e-5 },
      { key = 1, chains = 1, draws = 20, warmup = 0, step_size = 1, jitter = 0 })
    assert.is_true(r.sample_stats.diverging:all())
    assert.is_true(mc.all(mc.eq(r.posterior.x, 1e-5)))
    assert.matches('20 transitions of 20 ended in a divergence', r:warnings()[1])
  end)
  it('that end at the longest trajectory say so', function()
    local r = S.nuts(function(x) return -0.5 * mc.sum(mc.square(x)) end, { 0 },
      { key = 1, chains = 1, draws = 10, warmup = 0, step_size = 1e-3, max_depth = 3 })
    assert.is_true(mc.all(mc.eq(r.sample_stats.n_steps, 7)))
    assert.matches('10 trajectories of 10 reached max_depth = 3', table.concat(r:warnings(), '\n'))
  end)
end)

describe('a result', function()
  local function f(p) return -0.5 * mc.sum(mc.square(p.w.a)) - 0.5 * mc.square(p.b) end
  local r
  setup(function()
    r = S.nuts(f, { w = { a = mc.zeros { 2, 3 } }, b = 0 }, { key = 1, chains = 2, draws = 60, warmup = 60 })
  end)
  teardown(function() r = nil end)
  it('names arrays by the places in start', function()
    assert.same({ 'b', 'w.a' }, r.names)
    assert.equal('{2, 60, 2, 3}', tostring(r.posterior['w.a'].shape))
    assert.equal('{2, 60}', tostring(r.posterior.b.shape))
    local v = S.nuts(function(x) return -0.5 * mc.sum(mc.square(x)) end, { 0, 0 },
      { key = 1, chains = 1, draws = 5, warmup = 5, names = { 'D0', 'alpha' } })
    assert.equal('{1, 5}', tostring(v.posterior.alpha.shape))
  end)
  it('has statistics of every draw, whose lp is the density', function()
    for _, name in ipairs { 'lp', 'energy', 'diverging', 'acceptance_rate', 'step_size', 'tree_depth', 'n_steps' } do
      assert.equal('{2, 60}', tostring(r.sample_stats[name].shape), name)
    end
    local a, b = r.posterior['w.a'][2][7], r.posterior.b[2][7]
    near(f { w = { a = a }, b = b }:item(), r.sample_stats.lp[2][7]:item(), 'lp', 1e-13)
  end)
  it('sums up in a table', function()
    local t = r:summary { names = { 'w.a' } }
    assert.equal('w.a[2,3]', t.labels[6])
    near(r.posterior['w.a']['..., 2, 3']:mean():item(), t.mean[6]:item(), 'mean', 1e-14)
    assert.equal(S.ess(r.posterior['w.a'], { method = 'tail' })['2, 3']:item(), t.ess_tail[6]:item())
    assert.matches('\nw.a%[1,1%] ', tostring(t))
    assert.matches('^2 chains of 60 draws, %d+ gradients\n', tostring(r))
    assert.matches(
      'effective draws are fewer than the %d00 that %d chains? needs? %([^)]* %d+[^)]*%): errors', tostring(r))
    assert.matches('no parameter w; there are .*w%.a', support.message(r.summary, r, { names = { 'w' } }))
  end)
  it('is saved under the names of ArviZ', function()
    local path = os.tmpname() .. '.npz'
    r:save(path, { observed_data = { y = mc.ones { 3 } } })
    local z = mc.load(path)
    os.remove(path)
    assert.is_true(mc.array_equal(r.posterior['w.a'], z['posterior/w.a']))
    assert.equal('bool', z['sample_stats/diverging'].dtype)
    assert.equal('{3}', tostring(z['observed_data/y'].shape))
  end)
  it('predicts, with a key of its own for each draw', function()
    local p = S.predict(r, function(x, key) return x.b + mc.random.normal({ 3 }, { key = key }) end, { key = 1 })
    assert.equal('{2, 60, 3}', tostring(p.shape))
    local noise = p - r.posterior.b:reshape { 2, 60, 1 }
    assert.is_true(mc.abs(noise:mean()):item() < 0.3 and not mc.array_equal(noise[1][1], noise[1][2]))
    assert.is_true(mc.array_equal(S.predict(r, function(x) return x.w.a[1] end), r.posterior['w.a']['..., 1, :']))
    assert.matches('it must give a real tensor', support.message(S.predict, r, function() return 'x' end))
  end)
  it('has figures', function()
    local function panels(fig)
      assert.matches('^<', mc.plot.render(fig))
      return #fig.panels
    end
    assert.equal(14, panels(S.trace(r)))
    assert.equal(7, panels(S.marginals(r)))
    assert.equal(28, panels(S.corner(r)))
    assert.equal(1, panels(S.predictive(mc.zeros { 3 }, S.predict(r, function(x) return x.w.a[1] end))))
    assert.matches('choose parameters by the option names',
      support.message(S.corner, { posterior = { x = mc.zeros { 1, 4, 20 } }, names = { 'x' } }))
    assert.matches('give %[n%] and %[chain, draw, n%]', support.message(S.predictive, mc.zeros { 3 }, mc.zeros { 3 }))
  end)
end)

describe('errors say', function()
  local function f(x) return -0.5 * mc.sum(mc.square(x)) end
  local function fails(pattern, ...) assert.matches(pattern, support.message(S.nuts, ...)) end
  it('what is wrong with start and bounds', function()
    fails('element 2 of start is 0, on a bound or outside', f, { 1, 0 }, { bounds = { 0, mc.none } })
    fails('start is f64%[2%].*holds NaN', f, mc.tensor { 1, 0 / 0 })
    fails('the log density is %-inf at start', function(x) return mc.sum(mc.log(x)) end, { 0 }, { jitter = 0 })
    fails('bounds name taw, which start does not hold; did you mean tau', function(p) return -p.tau end, { tau = 1 },
      { bounds = { taw = { 0 } } })
    fails('the first must not exceed', f, { 0 }, { bounds = { { 1, -1 } } })
    fails('bounds 1 are equal', f, { 1 }, { bounds = { { 1, 1 } } })
  end)
  it('what is wrong with the function', function()
    fails('the log density gave f64%[2%].*one element', function(x) return -x end, { 0, 0 })
    fails('the gradient %(second result%) is f64%[1%]', function(x) return f(x), mc.zeros { 1 } end, { 0, 0 },
      { jac = true })
    fails('the step size grows without end', function(x) return mc.sum(x) * 0 end, { 0 })
  end)
  it('what is wrong with options', function()
    fails('"?warmups"? is unknown', f, { 0 }, { warmups = 3 })
    fails('2 names for 1 parameters', f, { 0 }, { names = { 'a', 'b' } })
    fails('option covariance is f64%[3%]', f, { 0, 0 }, { covariance = { 1, 1, 1 } })
    fails('target_accept is 1', f, { 0 }, { target_accept = 1 })
    fails('chains is 2147483648; at most 65536', f, { 0 }, { chains = 2 ^ 31 })
    fails('draws is 2147483648; at most 100000000', f, { 0 }, { draws = 2 ^ 31 })
  end)
  it('nothing of the line of progress, which ends also when the work fails', function()
    local bar = { count = 0, ended = 0 }
    function bar:update(n) self.count = n end
    function bar:done() self.ended = self.ended + 1 end
    S.nuts(f, { 0 }, { key = 1, chains = 2, draws = 5, warmup = 5, progress = bar })
    assert.same({ 20, 1 }, { bar.count, bar.ended })
    assert.has_error(function() S.nuts(function() error 'interrupted' end, { 0 }, { progress = bar }) end)
    assert.equal(2, bar.ended)
  end)
end)

it('leaves no tensor behind', function() assert.equal(BEFORE, support.tensor_bytes()) end)

describe('a start on a device', function()
  it('has the density computed there and the draws of the CPU', function()
    local data = mc.tensor { 28, 8, -3, 7 }
    local function draws(where, o)
      local seen = data:to(where)
      local function density(p)
        assert.equal(where, p.m.device)
        return -0.5 * mc.sum(mc.square((seen - p.m) / p.s)) / 20 - 0.5 * mc.sum(p.s) - 4 * mc.log(p.s)
      end
      local given = o.jac and function(p)
        local y, g = mc.value_and_grad(density)(p)
        return y, g
      end or density
      local post = mc.sample.nuts(given, { m = mc.ones({}, { device = where }), s = mc.ones({}, { device = where }) },
        { chains = 1, warmup = 10, draws = 6, key = mc.random.key(1), progress = false, bounds = { s = { 0 } },
          jac = o.jac, compile = o.compile })
      assert.equal('cpu', post.posterior.m.device)
      return post.posterior.m
    end
    local want = draws('cpu', { jac = true })
    for _, o in ipairs { { jac = true }, {}, { compile = false } } do
      assert.is_true(mc.array_equal(want, draws('ref:0', o)))
    end
  end)
end)
