-- least_squares_spec.lua - mc.optim.least_squares against SciPy and the certified problems of NIST; bounds, losses,
-- stopping, messages.
--
-- The problems of tests/golden/make_least_squares.py stand here again under the same names.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local tol = support.load 'tol'
local nist = support.load 'nist'
local solve = mc.optim.least_squares
local pi = math.pi

local file
local function golden()
  file = file or mc.load(support.folder .. '/golden/least_squares.npz')
  return file
end

-- gradients vanish to first order at a minimum, so x is known to the root of what the cost is known to
local TIGHT = { xtol = 1e-14, ftol = 1e-14, gtol = 1e-14, jac = '3-point', max_nfev = 5000 }
local near = tol.near
local function with(base, more)
  local o = {}
  for k, v in pairs(base) do o[k] = v end
  for k, v in pairs(more or {}) do o[k] = v end
  return o
end

local k10 = mc.arange(1, 10)
local PROBLEMS = {
  rosenbrock = { function(x) return mc.stack { 10 * (x[2] - x[1] ^ 2), 1 - x[1] } end, { -1.2, 1 } },
  freudenstein = { function(x)
    return mc.stack { x[1] - 13 + ((5 - x[2]) * x[2] - 2) * x[2], x[1] - 29 + ((x[2] + 1) * x[2] - 14) * x[2] }
  end, { 0.5, -2 } },
  beale = { function(x)
    return mc.stack { 1.5 - x[1] * (1 - x[2]), 2.25 - x[1] * (1 - x[2] ^ 2), 2.625 - x[1] * (1 - x[2] ^ 3) }
  end, { 1, 1 } },
  helical = { function(x)
    local theta = mc.atan2(x[2], x[1]) / (2 * pi)
    return mc.stack { 10 * (x[3] - 10 * theta), 10 * (mc.hypot(x[1], x[2]) - 1), x[3] }
  end, { -1, 0.1, 0 } },
  wood = { function(x)
    return mc.stack { 10 * (x[2] - x[1] ^ 2), 1 - x[1], 90 ^ 0.5 * (x[4] - x[3] ^ 2), 1 - x[3],
      10 ^ 0.5 * (x[2] + x[4] - 2), 10 ^ -0.5 * (x[2] - x[4]) }
  end, { -3, -1, -3, -1 } },
  jennrich = { function(x) return 2 + 2 * k10 - mc.exp(k10 * x[1]) - mc.exp(k10 * x[2]) end, { 0.3, 0.4 } },
  decay = { function(x)
    local g = golden()
    return x[1] * mc.exp(-x[2] * g.decay_t) + x[3] - g.decay_y
  end, { 1, 1, 0 } },
}
local BOUNDED = {
  rosenbrock = { { -1.5, 1.5 }, { 2, 3 }, { -1.2, 2 } }, beale = { { 0, -1 }, { 2.5, 1 }, { 1, 0.5 } },
  wood = { { -10, -10, -10, -10 }, { 0.5, 10, 10, 0.8 }, { -3, -1, -3, -1 } },
  decay = { { 0, 0, 0.5 }, { 1.5, 5, 2 }, { 1, 1, 1 } },
}
local METHODS = { 'trf', 'dogbox', 'lm' }
local names = {}
for name in pairs(PROBLEMS) do names[#names + 1] = name end
table.sort(names)

-- freudenstein has a second minimum, where all methods from this start end, SciPy too
describe('least_squares', function()
  it('finds the minima that SciPy finds, by every method', function()
    for _, name in ipairs(names) do
      for _, method in ipairs(METHODS) do
        local r = solve(PROBLEMS[name][1], PROBLEMS[name][2], with(TIGHT, { method = method }))
        local what = name .. ' ' .. method
        assert.is_true(r.success, what .. ': ' .. r.message)
        near(golden()[name .. '_cost'], r.cost, what .. ' cost', 1e-12)
        near(golden()[name .. '_x'], r.x, what)
      end
    end
  end)

  it('finds them within bounds, and says which bounds hold', function()
    for name, case in pairs(BOUNDED) do
      for _, method in ipairs { 'trf', 'dogbox' } do
        local r = solve(PROBLEMS[name][1], case[3], with(TIGHT, { method = method, bounds = { case[1], case[2] } }))
        local what = name .. ' bounded ' .. method
        near(golden()[name .. '_bounded_x'], r.x, what, 1e-6)
        near(golden()[name .. '_bounded_cost'], r.cost, what .. ' cost', 1e-9)
        assert.same(golden()[name .. '_bounded_mask']:totable(), r.active_mask:totable(), what)
      end
    end
  end)

  it('minimises robust losses as SciPy does', function()
    for _, loss in ipairs { 'soft_l1', 'huber', 'cauchy', 'arctan' } do
      for _, method in ipairs { 'trf', 'dogbox' } do
        local f, x0 = unpack(PROBLEMS.decay)
        local r = solve(f, x0, with(TIGHT, { method = method, loss = loss, f_scale = 0.1 }))
        near(golden()['decay_' .. loss .. '_x'], r.x, loss .. ' ' .. method, 1e-6)
        near(golden()['decay_' .. loss .. '_cost'], r.cost, loss .. ' cost', 1e-12)
        near(f(r.x), r.fun, 'residuals stay as they are', 0)
      end
    end
  end)

  it('takes a loss of the user', function()
    local f, x0 = unpack(PROBLEMS.decay)
    local by_name = solve(f, x0, { loss = 'cauchy', f_scale = 0.1 })
    local function cauchy(z) return mc.log1p(z), 1 / (1 + z), -1 / (1 + z) ^ 2 end
    near(by_name.x, solve(f, x0, { loss = cauchy, f_scale = 0.1 }).x, 'three tensors')
    near(by_name.x,
      solve(f, x0, { loss = function(z) return mc.stack { cauchy(z) } end, f_scale = 0.1 }).x, 'one tensor')
  end)

  it('reaches the certified values of NIST from both starts', function()
    local all = nist.load(support.folder .. '/golden/nist.npz')
    for _, name in ipairs(nist.names) do
      local p = all[name]
      for start = 1, 2 do
        local r = solve(function(b)
          b = b:totable()
          return p.model(p.x, b) - p.y
        end, p.starts[start], { jac = '3-point', xtol = 1e-12, ftol = 1e-15, gtol = false, max_nfev = 2000 })
        local x, what = r.x:totable(), ('%s from start %d'):format(name, start)
        for i = 1, #p.b do -- six digits, the measure of the suite
          local wrong = tol.compare('ITERATIVE', 'f64', x[i], p.b[i], { bound = 1e-6 * math.abs(p.b[i]) })
          if wrong then error(('%s, b%d: %s (%s)'):format(what, i, wrong, r.message), 0) end
        end
        if p.sum > 1e-20 then near(1, 2 * r.cost / p.sum, what .. ', sum of squares', 1e-7) end
      end
    end
  end)

  it('has a gradient of J^T r and a J whose products are the Gauss-Newton matrix', function()
    local r = solve(PROBLEMS.decay[1], PROBLEMS.decay[2], { jac = '3-point', max_nfev = 3 })
    near(mc.matmul(r.jac.mT, r.fun), r.grad, 'gradient', 1e-12)
    assert.equal(0, r.status)
    assert.is_false(r.success)
    assert.same({ 40, 3 }, { r.jac.shape[1], r.jac.shape[2] })
  end)

  it('takes derivatives from a function, and counts calls', function()
    local t = golden().decay_t
    local calls = 0
    local r = solve(PROBLEMS.decay[1], PROBLEMS.decay[2], with(TIGHT, { jac = function(x)
      calls = calls + 1
      local e = mc.exp(-x[2] * t)
      return mc.stack({ e, -x[1] * t * e, mc.ones_like(t) }, -1)
    end }))
    near(golden().decay_x, r.x, 'x')
    assert.equal(calls, r.njev)
  end)

  it('takes exact derivatives of the function itself', function()
    for _, name in ipairs(names) do
      local f, x0 = unpack(PROBLEMS[name])
      local by_hand = solve(f, x0, { jac = '3-point', max_nfev = 1 })
      for _, jac in ipairs { 'forward', 'reverse' } do
        near(by_hand.jac, solve(f, x0, { jac = jac, max_nfev = 1 }).jac, name .. ' ' .. jac, 1e-7)
      end
      near(golden()[name .. '_x'], solve(f, x0, with(TIGHT, { jac = 'forward' })).x, name)
    end
  end)

  it('chooses derivatives of the function for many residuals, where it can be recorded', function()
    local t = mc.linspace(0, 1, 20000)
    local y = 2 * mc.exp(-3 * t)
    local function f(x) return x[1] * mc.exp(-x[2] * t) - y end
    local exact = solve(f, { 1, 1 })
    assert.equal('forward', exact.derivatives)
    local by_value = solve(function(x)
      x = x:totable()
      return x[1] * mc.exp(-x[2] * t) - y
    end, { 1, 1 })
    assert.equal('2-point', by_value.derivatives)
    near(exact.x, by_value.x, 'x', 1e-6)
    assert.equal('2-point', solve(PROBLEMS.beale[1], { 1, 1 }).derivatives)
  end)

  it('solves problems without enough residuals, of rank below n, and of one variable', function()
    local r = solve(function(x) return mc.stack { x[1] + x[2] - 2 } end, { 0, 0 }, TIGHT)
    near({ 1, 1 }, r.x, 'the nearest solution')
    r = solve(function(x) return mc.stack { x[1] + x[2] - 2, 2 * (x[1] + x[2]) - 4, x[1] + x[2] - 2 } end, { 0, 0 },
      TIGHT)
    near(0, r.cost, 'rank 1')
    near({ 3 }, solve(function(x) return x - 3 end, 0, TIGHT).x, 'one variable')
    near({ 3 }, solve(function(x) return { x[1]:item() - 3 } end, 10, TIGHT).x, 'a list of residuals')
  end)

  it('ends at once where the start is a solution', function()
    for _, method in ipairs(METHODS) do
      local r = solve(PROBLEMS.rosenbrock[1], { 1, 1 }, { method = method })
      assert.equal(1, r.nfev, method)
      assert.is_true(r.success)
    end
  end)

  it('goes on from a start that says nothing of the size of a variable: on a bound, or 1e-10', function()
    local function f(x) return x - 3 end
    for _, method in ipairs(METHODS) do
      for _, jac in ipairs { '2-point', '3-point', 'reverse' } do
        for _, start in ipairs { 0, 1e-10 } do
          local bounds = method ~= 'lm' and { 0, 4 } or nil
          local r = solve(f, { start, start }, { method = method, jac = jac, bounds = bounds })
          near({ 3, 3 }, r.x, method .. ' ' .. jac, 1e-6)
        end
      end
    end
    for _, jac in ipairs { '2-point', '3-point', 'forward' } do
      local starts = mc.tensor { { 0, 1e-10 }, { 1e-12, 1 } }
      local r = mc.optim.least_squares_batch(f, starts, { jac = jac, bounds = { 0, 4 } })
      near({ { 3, 3 }, { 3, 3 } }, r.x, 'batch ' .. jac, 1e-6)
    end
    -- a variable of this size keeps its step
    local t = mc.linspace(0, 1, 9)
    local function small(x) return mc.exp(-1e12 * x[1] * t) - mc.exp(-2 * t) end
    local r = solve(small, { 1e-12 }, { bounds = { 0, 1e-9 } })
    near({ 2 }, r.x * 1e12, 'small', 1e-6)
  end)

  it('keeps every iterate of trf strictly inside the bounds', function()
    local low, high = BOUNDED.wood[1], BOUNDED.wood[2]
    solve(function(x)
      local v = x:totable()
      for i = 1, 4 do assert.is_true(v[i] >= low[i] and v[i] <= high[i]) end
      return PROBLEMS.wood[1](x)
    end, BOUNDED.wood[3], { bounds = { low, high }, jac = '3-point', callback = function(s)
      local v = s.x:totable()
      for i = 1, 4 do assert.is_true(v[i] > low[i] and v[i] < high[i]) end
    end })
  end)

  it('backs off from points where residuals are not finite', function()
    for _, method in ipairs(METHODS) do
      local r = solve(function(x) return mc.stack { mc.log(x[1]) - 1, 10 * (x[1] - math.exp(1)) } end, { 0.01 },
        with(TIGHT, { method = method, jac = '2-point' }))
      near({ math.exp(1) }, r.x, method)
    end
  end)

  it('tells that a derivative is not finite', function()
    local r = solve(function(x) return mc.stack { x[1], x[1] } end, { 1 },
      { jac = function() return mc.full({ 2, 1 }, mc.nan) end })
    assert.equal(-3, r.status)
    assert.is_false(r.success)
    assert.matches('derivative', r.message)
  end)

  it('stops on request of the callback, and moves a bar of progress', function()
    local seen, shown = 0, 0
    local r = solve(PROBLEMS.wood[1], PROBLEMS.wood[2], { progress = { update = function(_, n)
      shown = n
    end }, callback = function(s)
      seen = seen + 1
      assert.is_true(s.cost >= 0 and s.iteration == seen and s.decrease >= 0)
      return seen == 3
    end })
    assert.equal(-2, r.status)
    assert.equal(3, seen)
    assert.equal(3, shown)
  end)

  it('takes f32 residuals, scales of the variables and steps of differences', function()
    local r = solve(function(x) return PROBLEMS.rosenbrock[1](x):to 'f32' end, { -1.2, 1 }, { diff_step = 1e-3 })
    near({ 1, 1 }, r.x, 'f32', 1e-3)
    for _, method in ipairs(METHODS) do
      for _, scale in ipairs { 'jac', 3, { 1, 5 } } do
        near({ 1, 1 },
          solve(PROBLEMS.rosenbrock[1], { -1.2, 1 }, with(TIGHT, { x_scale = scale, method = method })).x, method)
      end
    end
  end)

  it('gives the same bits for any number of threads', function()
    local n, key = 100000, 5
    local t = mc.random.uniform({ n }, { key = key })
    local y = 2 * mc.exp(-3 * t) + mc.random.normal({ n }, { key = key + 1 })
    local threads, first = mc.get_num_threads(), nil
    for _, count in ipairs { 1, 2, 3 } do
      mc.set_num_threads(count)
      local x = solve(function(b) return b[1] * mc.exp(-b[2] * t) - y end, { 1, 1 }).x
      first = first or x
      assert.is_true(mc.array_equal(first, x))
    end
    mc.set_num_threads(threads)
  end)

  it('says what is wrong with its arguments', function()
    local f = PROBLEMS.rosenbrock[1]
    local function says(pattern, ...)
      local arguments = { ... }
      assert.matches(pattern, support.message(function() return solve(unpack(arguments)) end))
    end
    says('least_squares: the first argument is 3; give a function', 3, { 1 })
    says('least_squares: x0 is empty', f, {})
    says('least_squares: x0%[2%] is nan; give finite', f, { 1, 0 / 0 })
    says('least_squares: x0 is f64%[2,2%]@cpu; give one axis', f, mc.eye(2))
    says('least_squares: option "metod" is unknown; did you mean "method"', f, { 1, 1 }, { metod = 'lm' })
    says('least_squares: option method is .lmm.; choose trf, dogbox, lm', f, { 1, 1 }, { method = 'lmm' })
    says("least_squares: option loss is 'hubr'; choose linear, .*did you mean \"huber\"", f, { 1, 1 },
      { loss = 'hubr' })
    says('least_squares: the loss gave .*; it must give rho', f, { 1, 1 }, { loss = function(z) return z end })
    says("least_squares: option jac is '4%-point'; choose 2%-point, 3%-point, forward or reverse", f, { 1, 1 },
      { jac = '4-point' })
    says('least_squares: jac gave f64%[3%]@cpu; it must give f64%[2,2%], a row per residual', f, { 1, 1 },
      { jac = function() return mc.zeros { 3 } end })
    says('least_squares: x0%[1%] is 5, outside of its bounds 0 and 2; start inside', f, { 5, 1 }, { bounds = { 0, 2 } })
    says('least_squares: the bounds of variable 1 are 2 and 0', f, { 1, 1 }, { bounds = { 2, 0 } })
    says('least_squares: the lower bound has 3 numbers, there are 2 variables', f, { 1, 1 },
      { bounds = { { 0, 0, 0 }, 1 } })
    says('least_squares: bounds are 3; give { low, high }', f, { 1, 1 }, { bounds = 3 })
    says('least_squares: method lm takes no bounds', f, { 1, 1 }, { method = 'lm', bounds = { 0, 2 } })
    says('least_squares: method lm takes the linear loss only', f, { 1, 1 }, { method = 'lm', loss = 'huber' })
    says('least_squares: method lm needs at least as many residuals as variables, there are 1 and 2',
      function(x) return x[1] - x[2] end, { 1, 1 }, { method = 'lm' })
    says('least_squares: the residuals are f64%[2%]@cpu and not all finite at x0',
      function(x) return x / 0 end, { 1, 1 })
    says('least_squares: the residuals are f64%[2,1%]@cpu; give one axis',
      function(x) return x:reshape { 2, 1 } end, { 1, 1 })
    says('least_squares: the residuals are c128%[2%]@cpu; give real ones',
      function(x) return x * mc.complex(0, 1) end, { 1, 1 })
    says('least_squares: the function gave nil; it must give a tensor', function() end, { 1, 1 })
    says('least_squares: ftol, xtol and gtol are all below', f, { 1, 1 }, { ftol = false, xtol = false, gtol = false })
    says('least_squares: x_scale%[2%] is %-1; it must be positive', f, { 1, 1 }, { x_scale = { 1, -1 } })
    local calls = 0
    says('least_squares: the function gave f64%[3%]@cpu, and 2 residuals before', function(x)
      calls = calls + 1
      return calls < 3 and x or mc.zeros { 3 }
    end, { 1, 1 })
  end)
end)
