-- xpcs_plan_spec.lua - what a fit is said to cost, against what it costs.
local mc = require 'mascon'
local xpcs = mc.xpcs

describe('xpcs.plan', function()
  local threads
  setup(function()
    threads = mc.get_num_threads()
    mc.set_num_threads(1)
  end)
  teardown(function() mc.set_num_threads(threads) end)

  --- Processor seconds of passes of these kinds, the least of several turns.
  local function measured(d, p, kinds)
    local least = {}
    for _ = 1, 7 do
      for _, kind in ipairs(kinds) do
        local start = os.clock()
        for _ = 1, 5 do xpcs.pass.run(d, p(kind), kind[1]) end
        least[kind] = math.min(least[kind] or math.huge, os.clock() - start)
      end
    end
    return least
  end

  it('knows by how much passes differ: scaling, loss, mode', function()
    local s = xpcs.simulate { n = 400, phi = { 0, 20, 40, 60 }, sigma = 0.01 }
    local d = xpcs.data.of(s)
    local kd, ks = xpcs.model.constants(s)
    local function p(kind)
      local one = { physics = kind[3] == 'static' and { 3000, -0.2, 500 } or s.physics, contrast = {}, offset = {},
        sigma = {}, kd = kd, ks = ks, t = s.t, loss = kind[2] }
      for f = 1, 4 do one.contrast[f], one.offset[f], one.sigma[f] = 0.3, 1, 0.01 end
      return one
    end
    local plain = { 'common', 'linear', 'laminar_flow' }
    local kinds = { plain, { 'each', 'linear', 'laminar_flow' }, { 'common', 'soft_l1', 'laminar_flow' },
      { 'common', 'linear', 'static' } }
    local least = measured(d, p, kinds)
    local function said(kind)
      return xpcs.plan.cost { n = 4000, F = 4, mode = kind[3], loss = kind[2], scaling = kind[1] == 'each'
        and 'individual' or 'averaged' }.seconds_per_pass
    end
    for k = 2, #kinds do
      local now, want = least[kinds[k]] / least[plain], said(kinds[k]) / said(plain)
      assert.is_true(now < 3 * want and want < 3 * now, ('%s: measured %.3g, said %.3g'):format(
        table.concat(kinds[k], ' '), now, want))
    end
  end)

  it('counts about as many passes as a fit takes', function()
    local c = xpcs.plan.cost { n = 30, F = 5, mode = 'laminar_flow' }
    local said = c.seconds / c.seconds_per_pass
    for seed = 1, 3 do
      local d, passes = xpcs.data.of(xpcs.simulate { n = 30, sigma = 0.01, seed = seed }), 0
      xpcs.fit(d, { engine = function(...)
        passes = passes + 1
        return (xpcs.pass.run(...))
      end })
      assert.is_true(passes < 5 * said and said < 5 * passes, ('%d passes, %g said'):format(passes, said))
    end
  end)

  it('counts points, passes and threads', function()
    local one = xpcs.plan.cost { n = 4000, F = 4, mode = 'static' }
    assert.equal(4 * 4000 * 3999 / 2, one.points)
    local function ratio(a, b) return a.seconds / b.seconds end
    assert.is_true(math.abs(ratio(xpcs.plan.cost { n = 4000, F = 8, mode = 'static' }, one) - 2) < 0.05)
    assert.is_true(math.abs(ratio(xpcs.plan.cost { n = 4000, F = 4, mode = 'static', threads = 2 }, one) - 0.5) < 0.02)
    assert.equal(2, ratio(xpcs.plan.cost { n = 4000, F = 4, mode = 'static', passes = 30 }, xpcs.plan.cost { n = 4000,
      F = 4, mode = 'static', passes = 15 }))
  end)

  it('says the time that is left: about, up to the usual count of passes, and at most, past it', function()
    assert.equal('about 20 s left', xpcs.plan.left(5, 10, 900))
    assert.equal('at most 1 min 40 s left', xpcs.plan.left(50, 10, 550))
    assert.equal('about 10 s left', xpcs.plan.left(5, 10, 10))
    assert.equal('at most 0 s left', xpcs.plan.left(30, 10, 20))
  end)

  it('shows iteration, cost, gradient, points per second and time left while a fit runs', function()
    local clock = require 'mascon.base.clock'
    local seconds, now, lines = clock.seconds, 0, {}
    clock.seconds = function() -- every look at the clock is 2 s after the last
      now = now + 2
      return now
    end
    local s = { fit = { sigma = 0.01, initial = { D0 = 1000, alpha = 0.3 } }, streaming = {},
      multi_start = {}, cmaes = {}, progress = true,
      say = function(line) lines[#lines + 1] = line end }
    local d = xpcs.data.of(xpcs.simulate { n = 30, phi = { 0, 20 }, sigma = 0.01, physics = { 3000, -0.2, 500 } })
    local ok, r = pcall(xpcs.run.fit, s, d)
    local first = #lines
    s.fit.sigma, s.multi_start = 1e-3, { enable = true, n_starts = 2 } -- a fit that chance does not explain
    s.fit.initial, s.fit.fixed = nil, { alpha = 0.5, D_offset = 0 }
    d = xpcs.data.of(xpcs.simulate { n = 10, phi = { 0 }, sigma = 0.01, physics = { 3000, -0.2, 500 } })
    if ok then ok, r = pcall(xpcs.run.fit, s, d) end
    clock.seconds = seconds
    assert.is_true(ok, tostring(r))
    assert.is_true(first >= 2)
    local other = 0
    for _, line in ipairs(lines) do
      other = other + (line:find('^fit %d') and 1 or 0)
      assert.is_true(tonumber(line:match ', ([%d.e+-]+) points/s') < 1e6, line) -- no look at the clock is 1 ns
      assert.is_truthy(line:match(
        'iteration %d+: cost [%d.e+]+, gradient [%d.e+-]+, [%d.e+-]+ points/s, a[bt]%w* .*left'), line)
    end
    assert.is_true(other > 0)
  end)

  it('says file, q, pairs, parameters, time and memory, each in a line', function()
    local s = xpcs.run.settings { data_file = 'x.npz', laminar_flow = true, dt = 0.35 }
    local lines = xpcs.plan.lines(s, { { path = '/a/lam.hdf', n = 139, F = 9, q = 0.0068, points = 86319,
      dtype = 'f64' } }, 2)
    assert.equal(5, #lines)
    assert.equal('lam.hdf: 9 angles x 139 times, q = 0.0068 1/A, 86319 pairs of times', lines[1])
    assert.equal('laminar flow: 9 free parameters', lines[2])
    assert.matches('^time: about [%d.]+ s on 2 threads %(reading and files, fit [%d.]+ s%)$', lines[3])
    assert.matches('^memory: about %d+ MiB at most, 1 MiB of it data in f64$', lines[4])
    assert.matches('^for comparison, homodyne counts 173900 points .* strategy STANDARD; its formulas give [%d.]+ GB '
      .. 'and a Jacobian of [%d.]+ GB, in memory$', lines[5])
    s.fit.device = { 'cuda:0', 'cuda:1' }
    assert.equal('memory of cuda:0, cuda:1: about 1 MiB of data and sums in all; what does not fit goes there block by '
      .. 'block in each pass', xpcs.plan.lines(s, { { n = 139, F = 9 } }, 2)[5])
  end)

  it('labels by points, and one step further where memory is short', function()
    for _, case in ipairs { { 999999, 1 }, { 1e6, 2 }, { 9999999, 2 }, { 1e7, 3 }, { 99999999, 3 }, { 1e8, 4 } } do
      local label, details = xpcs.plan.strategy(case[1], 7)
      assert.same({ xpcs.plan.LABELS[case[2]], xpcs.plan.LABELS[case[2]] }, { label, details.points_label })
    end
    local bytes = 1e6 * 8 * 16
    assert.equal('LARGE', (xpcs.plan.strategy(1e6, 7, bytes / 0.69)))
    assert.equal('CHUNKED', (xpcs.plan.strategy(1e6, 7, bytes / 0.71)))
    assert.equal('STREAMING', (xpcs.plan.strategy(1e8, 7, 1)))
  end)
end)
