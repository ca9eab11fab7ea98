-- integrate_spec.lua - integrals with known values, differential equations with known solutions, evaluation counts and
-- errors beside SciPy.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes()
local mc = require 'mascon'
local tol = support.load 'tol'
local I = mc.integrate
local inf = math.huge

local function says(pattern, f) assert.matches(pattern, support.message(f)) end
local below = tol.below
local function worst(x) return mc.max(mc.abs(x)):item() end

describe('quad', function()
  -- name, f, a, b, integral, evaluations by scipy.integrate.quad 1.17.1
  local CASES = {
    { 'a power', function(x) return x ^ 2 end, 0, 4, 64 / 3, 21 },
    { 'an infinite end', function(x) return math.exp(-x) end, 0, inf, 1, 135 },
    { 'two infinite ends', function(x) return math.exp(-x * x) end, -inf, inf, math.sqrt(math.pi), 270 },
    { 'the other infinite end', function(x) return 1 / (1 + x * x) end, -inf, 0, math.pi / 2, 45 },
    { 'a singular end', function(x) return x ^ -0.5 end, 0, 1, 2, 231 },
    { 'a logarithm', function(x) return math.log(x) end, 0, 1, -1, 231 },
    { 'a strong singularity', function(x) return x ^ -0.9 end, 0, 1, 10, 231 },
    { 'both', function(x) return math.log(x) / math.sqrt(x) end, 0, 1, -4, 315 },
    { 'a kink', function(x) return math.abs(x - 1 / 3) end, 0, 1, 5 / 18, 189 },
    { 'a peak', function(x) return 1 / (1e-6 + (x - 0.3) ^ 2) end, 0, 1, (math.atan(700) + math.atan(300)) * 1e3, 525 },
    { 'an oscillation', function(x) return math.cos(100 * math.sin(x)) end, 0, math.pi,
      math.pi * mc.special.j0(100):item(), 945 },
    { 'a step', function(x) return x < 0.3 and 0 or 1 end, 0, 1, 0.7, 357 },
  }
  it('gives integrals within the error it states, within half as many evaluations again as QUADPACK', function()
    for _, c in ipairs(CASES) do
      local n = 0
      local v, e, trouble = I.quad(function(x)
        n = n + 1
        assert.is_true(x > c[3] and x < c[4]) -- never at an end
        return c[2](x)
      end, c[3], c[4])
      assert.is_nil(trouble, c[1])
      below(v - c[5], e + 4 * tol.kind.f64.eps * math.abs(c[5]), c[1])
      below(e, 1.49e-8 * math.max(1, math.abs(c[5])), c[1])
      assert(n <= 1.5 * c[6], ('%s: %d evaluations'):format(c[1], n))
    end
  end)
  it('changes sign with its ends, adds up, and knows empty ranges', function()
    local f = function(x) return math.exp(x) * math.sin(3 * x) end
    local a = I.quad(f, 0, 2)
    assert.equal(-a, (I.quad(f, 2, 0)))
    below(I.quad(f, 0, 0.7) + I.quad(f, 0.7, 2) - a, 1e-13)
    assert.equal(0, (I.quad(f, 1, 1)))
    below(I.quad(f, 0, 2, { points = { 0.5, 1.5 } }) - a, 1e-13)
    below(I.quad(f, inf, 0, { limit = 1 }) + I.quad(f, 0, inf, { limit = 1 }), 0)
    below(I.quad(function(x, p) return x ^ p end, 0, 1, { args = { 3 } }) - 0.25, 1e-14)
  end)
  it('takes points as tensors, and tensors as values', function()
    local calls = 0
    local v = I.quad(function(x)
      calls = calls + 1
      return mc.exp(-x * x)
    end, -inf, inf, { vectorized = true })
    below(v - math.sqrt(math.pi), 1e-13)
    assert.is_true(calls <= 10)
    below(I.quad(function(x) return mc.square(mc.tensor(x)) end, 0, 3) - 9, 1e-13)
  end)
  it('says when it did not get there', function()
    local _, why
    local v, e, slow = I.quad(function(x) return 1 / x end, 0, 1)
    assert.is_true(v > 1 and e > 1)
    assert.matches('the largest number of intervals %(50%) is reached', slow)
    _, _, why = I.quad(function(x) return math.cos(1e4 * x) end, 0, 1, { limit = 3 })
    assert.matches('the largest number of intervals %(3%) is reached', why)
    v, _, why = I.quad(function(x) return x > 0.5 and 0 / 0 or x end, 0, 1)
    assert.is_true(v ~= v)
    assert.matches('NaN', why)
    _, _, why = I.quad(function(x) return math.sin(x) / x end, 0, inf)
    assert.is_string(why)
  end)
  it('says what is wrong', function()
    says('integrate.quad: f is nil; give a function', function() I.quad(nil, 0, 1) end)
    says('integrate.quad: b is nil; it must be number', function() I.quad(math.sin, 0) end)
    says('integrate.quad: f gave nil; it must give one real number', function() I.quad(function() end, 0, 1) end)
    says('integrate.quad: f gave f64%[1%]@cpu for 21 points',
      function() I.quad(function() return mc.zeros { 1 } end, 0, 1, { vectorized = true }) end)
    says('integrate.quad: points%[2%] is 0.2; give increasing numbers between 0 and 1',
      function() I.quad(math.sin, 0, 1, { points = { 0.5, 0.2 } }) end)
    says('integrate.quad: points are for finite ranges', function() I.quad(math.sin, 0, inf, { points = { 1 } }) end)
    says('integrate.quad: an end of the range is NaN', function() I.quad(math.sin, 0, 0 / 0) end)
    says('mc.integrate.quads: there is no such name; did you mean mc.integrate.quad', function() local _ = I.quads end)
  end)
end)

describe('leggauss and fixed_quad', function()
  it('are exact for polynomials up to degree 2 n - 1', function()
    for _, n in ipairs { 1, 2, 3, 10, 63, 200 } do
      local x, w = I.leggauss(n)
      assert.same(x:totable(), (-mc.flip(x)):totable())
      below(mc.sum(w):item() - 2, 64 * tol.kind.f64.eps)
      for _, k in ipairs { 1, math.min(2, 2 * n - 1), n, 2 * n - 2, 2 * n - 1 } do
        below(mc.sum(w * x ^ k):item() - (k % 2 == 0 and 2 / (k + 1) or 0), 64 * tol.kind.f64.eps, n .. '/' .. k)
      end
    end
    -- numpy.polynomial.legendre.leggauss
    local x, w = I.leggauss(64)
    below(x[1]:item() + 0.9993050417357722, 4 * tol.kind.f64.eps)
    below(w[1]:item() - 0.0017832807216964, 1e-16)
    x, w = I.leggauss(10000)
    below(mc.sum(w * mc.cos(x)):item() - 2 * math.sin(1), 1e-13)
  end)
  it('integrates one and several functions at once', function()
    below(I.fixed_quad(mc.exp, 0, 1, { n = 10 }):item() - (math.exp(1) - 1), 1e-15)
    local v = I.fixed_quad(function(x) return mc.stack { x, mc.square(x) } end, 0, 3)
    below(worst(v - mc.tensor { 4.5, 9 }), 1e-13)
    says('integrate.fixed_quad: the ends are 0 and inf; use quad', function() I.fixed_quad(mc.exp, 0, inf) end)
    says('integrate.fixed_quad: f gave f64%[%]@cpu for 5 points',
      function() I.fixed_quad(function(x) return mc.sum(x) end, 0, 1) end)
    says('integrate.leggauss: n is 0; it must be integer >= 1', function() I.leggauss(0) end)
    local grad = mc.grad(function(a) return I.fixed_quad(function(x) return mc.exp(x * a) end, 0, 1, { n = 12 }) end)
    below(grad(mc.tensor(1)):item() - 1, 1e-13)
  end)
  it('stand beside the integrals of samples', function()
    local x = mc.linspace(0, 1, 101)
    below(I.simpson(mc.exp(x), x):item() - (math.exp(1) - 1), 1e-9)
    below(I.trapezoid(mc.exp(x), x):item() - (math.exp(1) - 1), 1e-4)
  end)
end)

local function predators(_, y)
  local a, b = y[1]:item(), y[2]:item()
  return { 1.5 * a - a * b, -3 * b + a * b }
end
local function rotation(_, y) return mc.stack { y[2], -y[1] } end

describe('solve_ivp', function()
  it('takes the steps of SciPy', function()
    -- nfev, steps and last y of scipy.integrate.solve_ivp(rtol=1e-6), printed with 8 digits
    for method, want in pairs { RK45 = { 1184, 168, 0.71376712, 0.0754068 },
      RK23 = { 3470, 1150, 0.71337983, 0.07543596 } } do
      local r = I.solve_ivp(predators, { 0, 15 }, { 10, 5 }, { method = method, rtol = 1e-6 })
      assert.is_true(r.success and r.status == 0)
      assert.equal(want[1], r.nfev)
      assert.equal(want[2], r.nsteps)
      assert.equal(want[2] + 1, r.t:numel())
      below(r.y[1][-1]:item() - want[3], 1e-8)
      below(r.y[2][-1]:item() - want[4], 1e-8)
      assert.equal(15, r.t[-1]:item())
    end
  end)
  it('keeps the error near what is asked for, forwards and backwards', function()
    for _, method in ipairs { 'RK45', 'RK23' } do
      local last = inf
      for _, rtol in ipairs { 1e-3, 1e-6, 1e-9 } do
        for _, span in ipairs { { 0, 6 }, { 6, 0 } } do
          local t0 = span[1]
          local r = I.solve_ivp(rotation, span, { math.cos(t0), -math.sin(t0) },
            { method = method, rtol = rtol, atol = rtol, dense_output = true })
          local wrong = worst(r.y - mc.stack { mc.cos(r.t), -mc.sin(r.t) })
          below(wrong, 60 * rtol, method) -- errors of the steps add up
          local t = mc.linspace(0, 6, 50)
          below(worst(r.sol(t) - mc.stack { mc.cos(t), -mc.sin(t) }), 60 * rtol, method)
          if span[1] == 0 then
            assert.is_true(wrong < last)
            last = wrong
          end
        end
      end
    end
  end)
  it('gives the times asked for, the same as the solution between the steps', function()
    local t = mc.linspace(0, 15, 40)
    local r = I.solve_ivp(predators, { 0, 15 }, { 10, 5 }, { t_eval = t, dense_output = true })
    assert.is_true(mc.array_equal(t, r.t))
    assert.same({ 2, 40 }, { unpack(r.y.shape) })
    assert.is_true(mc.array_equal(r.y, r.sol(t)))
    assert.is_true(mc.array_equal(r.y['..., 7'], r.sol(t[7]:item())))
    r = I.solve_ivp(predators, { 0, 15 }, { 10, 5 }, { t_eval = { 0, 3 } })
    assert.same({ 10, 5 }, r.y['..., 1']:totable())
    r = I.solve_ivp(predators, { 3, 3 }, { 10, 5 })
    assert.is_true(r.success and r.t:numel() == 1)
  end)
  it('solves for complex, single, many-axed and scalar states', function()
    local r = I.solve_ivp(function(_, y) return y * mc.complex(0, 1) end, { 0, math.pi },
      mc.tensor({ 1 }, { dtype = 'c128' }), { rtol = 1e-9, atol = 1e-9 })
    assert.equal('c128', r.y.dtype)
    below(worst(r.y[1][-1] + 1), 1e-7)
    r = I.solve_ivp(function(_, y) return -y end, { 0, 1 }, mc.tensor({ 1, 2 }, { dtype = 'f32' }))
    assert.equal('f32', r.y.dtype)
    below(r.y[2][-1]:item() - 2 * math.exp(-1), 2e-3)
    r = I.solve_ivp(function(_, y)
      assert.same({ 2, 3 }, { unpack(y.shape) })
      return -y
    end, { 0, 1 }, mc.ones { 2, 3 }, { rtol = 1e-8 })
    assert.same({ 2, 3, r.t:numel() }, { unpack(r.y.shape) })
    r = I.solve_ivp(function(t) return 2 * t end, { 0, 3 }, 0)
    below(r.y[1][-1]:item() - 9, 1e-12)
    r = I.solve_ivp(function(_, y, k) return y * k end, { 0, 1 }, { 1 },
      { args = { -2 }, rtol = 1e-8, atol = mc.tensor { 1e-10 } })
    below(r.y[1][-1]:item() - math.exp(-2), 1e-7)
  end)
  it('finds events, by direction, and ends at terminal ones', function()
    local function fall(_, y) return mc.stack { y[2], y[1] * 0 - 9.8 } end
    local ground = { f = function(_, y) return y[1] end, terminal = true, direction = -1 }
    local top = function(_, y) return y[2] end
    for _, method in ipairs { 'RK45', 'RK23' } do
      local r = I.solve_ivp(fall, { 0, 100 }, { 0, 10 }, { method = method, events = { ground, top } })
      assert.equal(1, r.status)
      assert.is_true(r.success)
      below(r.t[-1]:item() - 20 / 9.8, 1e-12)
      below(r.t_events[1][1]:item() - 20 / 9.8, 1e-12)
      below(r.t_events[2][1]:item() - 10 / 9.8, 1e-12)
      below(r.y_events[2][1][1]:item() - 50 / 9.8, 1e-12)
      assert.same({ 1, 2 }, { unpack(r.y_events[1].shape) })
    end
    -- a rotation passes each axis twice a turn, once in each direction
    for direction, count in pairs { [0] = 6, [1] = 3, [-1] = 3 } do
      local r = I.solve_ivp(rotation, { 0.1, 6 * math.pi }, { math.cos(0.1), -math.sin(0.1) },
        { events = { f = function(_, y) return y[1] end, direction = direction }, rtol = 1e-8, max_step = 1 })
      assert.equal(count, r.t_events[1]:numel())
    end
    local r = I.solve_ivp(rotation, { 0.1, 60 }, { math.cos(0.1), -math.sin(0.1) },
      { events = { f = function(_, y) return y[1] end, terminal = 3 }, rtol = 1e-9, atol = 1e-9 })
    below(r.t[-1]:item() - 2.5 * math.pi, 1e-6)
    r = I.solve_ivp(rotation, { 0, 1 }, { 1, 0 }, { events = function() return 1 end })
    assert.same({ 0 }, { unpack(r.t_events[1].shape) })
    assert.same({ 0, 2 }, { unpack(r.y_events[1].shape) })
  end)
  it('takes one event with its fields in one table, and refuses what no event has', function()
    local function height(_, y) return y[1] end
    local start, span = { math.cos(0.1), -math.sin(0.1) }, { 0.1, 60 }
    local function solve(events) return I.solve_ivp(rotation, span, start, { events = events, rtol = 1e-9,
      atol = 1e-9 }) end
    local want = solve { { f = height, terminal = 2, direction = 1 } }
    assert.equal(1, want.status)
    for _, e in ipairs { { height, terminal = 2, direction = 1 }, { f = height, terminal = 2, direction = 1 },
      { { height, terminal = 2, direction = 1 } } } do
      local r = solve(e)
      assert.equal(1, r.status)
      assert.is_true(mc.array_equal(want.t, r.t))
      assert.equal(2, r.t_events[1]:numel())
      below(r.t_events[1][2]:item() - 3.5 * math.pi, 1e-3)
    end
    -- as SciPy counts: events of one step in order of time, those after the terminal one are not entered
    local r = I.solve_ivp(rotation, { 0.1, 20 }, start, { events = { { function(t) return t - 1.55 end,
      terminal = true }, height,
      function(t) return t - 1.5 end, function(t) return t - 1.6 end }, max_step = 20, first_step = 4, rtol = 10,
        atol = 10 })
    assert.same({ 1, 0, 1, 0 }, { r.t_events[1]:numel(), r.t_events[2]:numel(), r.t_events[3]:numel(),
      r.t_events[4]:numel() })
    assert.equal(r.t[-1]:item(), r.t_events[1][1]:item())
    says('integrate.solve_ivp: events%[1%] has a field terminl; .*did you mean "terminal"', function() solve { { height,
      terminl = true } } end)
    says('integrate.solve_ivp: events has a field terminl', function() solve { height, terminl = true } end)
    says('integrate.solve_ivp: events is a list of 2 with the field terminal', function() solve { height, height,
      terminal = true } end)
    says("integrate.solve_ivp: events%.direction is 'up'; give 1", function() solve { height, direction = 'up' } end)
    says('integrate.solve_ivp: events names its function twice', function() solve { height, f = height } end)
    says('integrate.solve_ivp: events is 3; give a function', function() solve(3) end)
    says('integrate.solve_ivp: t_span is a table; give { t0, t1 }', function() I.solve_ivp(rotation, { 0, 1, 2 },
      start) end)
  end)
  it('obeys its steps, its callback, and stops where the solution does', function()
    local r = I.solve_ivp(rotation, { 0, 10 }, { 1, 0 }, { max_step = 0.25, first_step = 0.01 })
    assert.is_true(mc.max(mc.diff(r.t)):item() <= 0.25 + 1e-12)
    below(r.t[2]:item() - 0.01, 1e-15)
    local seen = 0
    r = I.solve_ivp(rotation, { 0, 10 }, { 1, 0 }, { callback = function(t, y)
      seen = seen + 1
      assert.equal(2, y:numel())
      return t > 1
    end })
    assert.equal(2, r.status)
    assert.equal(seen, r.nsteps)
    r = I.solve_ivp(function(_, y) return mc.square(y) end, { 0, 2 }, { 1 }) -- 1 / (1 - t)
    assert.equal(-1, r.status)
    assert.is_false(r.success)
    assert.matches('the step has become smaller than the spacing of numbers', r.message)
    below(r.t[-1]:item() - 1, 1e-2)
    r = I.solve_ivp(function(t, y) return t > 0.5 and y * (0 / 0) or y * 0 end, { 0, 1 }, { 1 })
    assert.equal(-1, r.status)
  end)
  it('gives the same bits for any number of threads', function()
    support.restoring(function()
      local want
      for _, threads in ipairs { 1, 2 } do
        mc.set_num_threads(threads)
        local r = I.solve_ivp(function(_, y) return -y end, { 0, 1 }, mc.linspace(1, 2, 70000), { rtol = 1e-2 })
        assert.is_true(want == nil or mc.array_equal(want, r.y))
        want = r.y
      end
    end)
  end)
  it('says what is wrong', function()
    says('integrate.solve_ivp: f gave f64%[3%]@cpu for y f64%[2%]@cpu; it must give as many values',
      function() I.solve_ivp(function() return mc.zeros { 3 } end, { 0, 1 }, { 1, 2 }) end)
    says('integrate.solve_ivp: f gave nil for y', function() I.solve_ivp(function() end, { 0, 1 }, { 1, 2 }) end)
    says('integrate.solve_ivp: t_span is 3; give { t0, t1 }', function() I.solve_ivp(rotation, 3, { 1, 2 }) end)
    says('integrate.solve_ivp: y0 is f64%[2%]@cpu and holds NaN',
      function() I.solve_ivp(rotation, { 0, 1 }, { 1, 0 / 0 }) end)
    says('integrate.solve_ivp: t_eval%[2%] is 3; it lies outside 0 to 1',
      function() I.solve_ivp(rotation, { 0, 1 }, { 1, 0 }, { t_eval = { 0, 3 } }) end)
    says('integrate.solve_ivp: t_eval%[2%] is 0.25 after 0.5; give times in order',
      function() I.solve_ivp(rotation, { 0, 1 }, { 1, 0 }, { t_eval = { 0.5, 0.25 } }) end)
    says("integrate.solve_ivp: option method is 'RK54'; choose RK45, RK23",
      function() I.solve_ivp(rotation, { 0, 1 }, { 1, 0 }, { method = 'RK54' }) end)
    says('integrate.solve_ivp: option atol is f64%[3%]@cpu; give a number >= 0',
      function() I.solve_ivp(rotation, { 0, 1 }, { 1, 0 }, { atol = { 1, 2, 3 } }) end)
    says('integrate.solve_ivp: events%[1%].terminal is 0; give true',
      function() I.solve_ivp(rotation, { 0, 1 }, { 1, 0 }, { events = { { f = rotation, terminal = 0 } } }) end)
    says('integrate.solve_ivp: events%[1%] is 3; give a function',
      function() I.solve_ivp(rotation, { 0, 1 }, { 1, 0 }, { events = { 3 } }) end)
  end)
end)

describe('rk4', function()
  it('is of order 4', function()
    local function wrong(m)
      return worst(
        I.rk4(rotation, mc.linspace(0, 2, m + 1), { 1, 0 })['..., -1'] - mc.tensor { math.cos(2), -math.sin(2) })
    end
    local ratio = wrong(20) / wrong(40)
    assert.is_true(ratio > 14 and ratio < 18, ratio)
    local coarse = I.rk4(rotation, { 0, 1, 2 }, { 1, 0 }, { substeps = 20 })
    below(worst(coarse['..., -1'] - I.rk4(rotation, mc.linspace(0, 2, 41), { 1, 0 })['..., -1']), 1e-14)
    assert.same({ 2, 3 }, { unpack(coarse.shape) })
  end)
  it('differentiates with respect to parameters and starts', function()
    local t = mc.linspace(0, 1, 21)
    local function last(k, y0) return mc.sum(I.rk4(function(_, y) return -(y * k) end, t, y0)['..., -1']) end
    local dk = mc.grad(last)(mc.tensor(0.7), mc.tensor { 2 })
    below(dk:item() + 2 * math.exp(-0.7), 1e-6)
    below(mc.grad(last, { argnums = 2 })(mc.tensor(0.7), mc.tensor { 2 }):item() - math.exp(-0.7), 1e-6)
  end)
  it('says what is wrong', function()
    says('integrate.rk4: f gave f64%[3%]@cpu for y f64%[2%]@cpu',
      function() I.rk4(function() return mc.zeros { 3 } end, { 0, 1 }, { 1, 0 }) end)
    says('integrate.rk4: t is f64%[1,2%]@cpu; give a list of times',
      function() I.rk4(rotation, { { 0, 1 } }, { 1, 0 }) end)
    says('integrate.rk4: t holds no time', function() I.rk4(rotation, mc.zeros { 0 }, { 1, 0 }) end)
  end)
end)

it('leaves no tensor behind', function() assert.equal(BEFORE, support.tensor_bytes()) end)
