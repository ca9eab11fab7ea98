-- least_squares_batch_spec.lua - many problems at once: the answers of least_squares one by one, independence of
-- neighbours, messages.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local tol = support.load 'tol'
local solve, one = mc.optim.least_squares_batch, mc.optim.least_squares

local near = tol.near

local t = mc.linspace(0, 4, 30)
local function columns(x)
  return x[{ mc.all, { 1, 1 } }], x[{ mc.all, { 2, 2 } }], x[{ mc.all, { 3, 3 } }]
end
local function model(x)
  local a, k, c = columns(x)
  return a * mc.exp(-k * t) + c
end
local function data(b, key)
  local truth = mc.random.uniform({ b, 3 }, { key = key }) * mc.tensor { 3, 1.5, 1 } + mc.tensor { 1, 0.4, 0 }
  return model(truth) + 0.02 * mc.random.normal({ b, t:numel() }, { key = key + 1 })
end
local TIGHT = { xtol = 1e-12, ftol = 1e-14, gtol = 1e-12 }
local function with(more)
  local o = {}
  for k, v in pairs(TIGHT) do o[k] = v end
  for k, v in pairs(more) do o[k] = v end
  return o
end

describe('least_squares_batch', function()
  local b = 12
  local y = data(b, 1)
  local function f(x) return model(x) - y end
  local function alone(k, o)
    return one(function(x) return x[1] * mc.exp(-x[2] * t) + x[3] - y[k] end, { 1, 1, 0.5 }, o)
  end
  local x0 = mc.ones { b, 3 } * mc.tensor { 1, 1, 0.5 }

  it('gives the answers of the problems one by one, with and without bounds and losses', function()
    for _, o in ipairs { {}, { bounds = { { 0, 0.6, 0 }, { 2.5, 5, 5 } } }, { loss = 'soft_l1', f_scale = 0.02 },
      { loss = 'huber', f_scale = 0.02 } } do
      local r = solve(f, x0, with(o))
      assert.is_true(mc.all(r.success))
      for k = 1, b do
        local s = alone(k, with { bounds = o.bounds, loss = o.loss, f_scale = o.f_scale, jac = '3-point' })
        near(s.x, r.x[k], 'problem ' .. k, 1e-5)
        near(s.cost, r.cost[k], 'cost ' .. k, 1e-9)
        if o.bounds then assert.same(s.active_mask:totable(), r.active_mask[k]:totable()) end
      end
      near(f(r.x), r.fun, 'residuals', 0)
    end
  end)

  it('takes derivatives by differences, exactly, or from a function', function()
    local function jac(x)
      local a, k = columns(x)
      local e = mc.exp(-k * t)
      return mc.stack({ e, -a * t * e, mc.ones_like(e) }, -1)
    end
    local want = solve(f, x0, with { jac = jac })
    for _, way in ipairs { '2-point', '3-point', 'forward' } do
      near(want.x, solve(f, x0, with { jac = way }).x, way, 1e-6)
    end
    near(mc.matmul(jac(want.x).mT, jac(want.x)), want.normal, 'normal matrix', 1e-9)
  end)

  it('does not let a problem see its neighbours', function()
    local all = solve(f, x0, TIGHT)
    for _, part in ipairs { { 1, 5 }, { 4, 9 }, { 12, 12 } } do
      local piece = y[{ part }]
      local r = solve(function(x) return model(x) - piece end, x0[{ part }], TIGHT)
      near(all.x[{ part }], r.x, 'part', 1e-7) -- x is known to the root of what the cost is known to
    end
  end)

  it('goes on when some residuals are not finite, and tells where they were so at first', function()
    local start = x0:copy()
    start[{ 3, 2 }] = mc.nan
    local spoilt = y:copy()
    spoilt[{ 3, 1 }] = mc.inf
    local r = solve(function(x) return model(x) - spoilt end, x0, TIGHT)
    assert.equal(-4, r.status[3]:item())
    assert.is_false(r.success[3]:item())
    near(solve(f, x0, TIGHT).x[4], r.x[4], 'its neighbour', 1e-7)
    assert.matches('x0 is not inside its bounds',
      support.message(function() solve(f, start, { bounds = { 0, 5 } }) end))
  end)

  it('solves problems of rank below n, and exact ones', function()
    local r =
      solve(function(x) return mc.stack({ mc.sum(x, -1) - 2, 2 * mc.sum(x, -1) - 4 }, -1) end, mc.zeros { 2, 2 })
    near({ 0, 0 }, r.cost, 'rank 1', 1e-12)
    assert.is_true(mc.all(r.success))
    near(mc.ones { 2, 2 }, solve(function(x) return x - 1 end, mc.zeros { 2, 2 }).x, 'exact', 1e-8)
  end)

  it('stops on request, and at the largest number of calls', function()
    local seen = 0
    local r = solve(f, x0, { callback = function(s)
      seen = seen + 1
      assert.equal(seen, s.iteration)
      return seen == 2
    end })
    assert.equal(2, seen)
    assert.equal(-2, mc.min(r.status):item())
    local short = solve(f, x0, { max_nfev = 2 })
    assert.equal(0, mc.max(short.status):item())
    assert.is_true(short.nfev <= 2)
  end)

  it('says what is wrong with its arguments', function()
    local function says(pattern, ...)
      local arguments = { ... }
      assert.matches(pattern, support.message(function() return solve(unpack(arguments)) end))
    end
    says('least_squares_batch: the first argument is 1; give a function', 1, x0)
    says('least_squares_batch: x0 is f64%[3%]@cpu; give a row of real numbers for each problem', f, mc.ones { 3 })
    says('least_squares_batch: the function gave f64%[3%]@cpu for x f64%[12,3%]@cpu; it must give real residuals',
      function() return mc.ones { 3 } end, x0)
    says('least_squares_batch: jac gave f64%[3%]@cpu; it must give f64%[12,30,3%]', f, x0,
      { jac = function() return mc.ones { 3 } end })
    says("least_squares_batch: option jac is 'x'; choose 2%-point, 3%-point or forward", f, x0, { jac = 'x' })
    says('least_squares_batch: the upper bound is f64%[2%]@cpu for x0 f64%[12,3%]@cpu', f, x0,
      { bounds = { 0, { 1, 2 } } })
    says("least_squares_batch: option loss is 'l1'; choose linear", f, x0, { loss = 'l1' })
  end)
end)
