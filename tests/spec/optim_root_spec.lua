-- optim_root_spec.lua - roots of one equation and of systems: known roots, evaluations beside SciPy and MINPACK,
-- failures, messages.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes()
local mc = require 'mascon'
local tol = support.load 'tol'
local O = mc.optim

local function says(pattern, f) assert.matches(pattern, support.message(f)) end
local below = tol.below

-- roots known in closed form; nfev: scipy.optimize.brentq 1.17.1
local EQUATIONS = {
  { function(x) return x * x - 2 end, 0, 2, math.sqrt(2), 9 },
  { function(x) return math.cos(x) - x end, 0, 1, 0.73908513321516064, 8 },
  { function(x) return x ^ 3 - 2 * x - 5 end, 2, 3, 2.0945514815423266, 8 },
  { function(x) return math.exp(x) - 1e-3 end, -20, 20, math.log(1e-3), nil },
  { function(x) return (x - 1) ^ 9 end, -3, 4, 1, nil },
  { function(x) return x < 0.3 and -1 or 1 end, 0, 1, 0.3, nil },
}

describe('brentq and bisect', function()
  it('find the root between two signs', function()
    for k, c in ipairs(EQUATIONS) do
      local x, info = O.brentq(c[1], c[2], c[3], { maxiter = 300 })
      local wide = k == 5 and 0.02 or 4e-12 -- a root of order 9 is as wide as its values are below the smallest number
      below(x - c[4], wide, 'brentq ' .. k)
      assert.is_true(info.converged and info.root == x)
      if c[5] then assert.equal(c[5], info.function_calls, k) end
      below(O.bisect(c[1], c[3], c[2]) - c[4], wide, 'bisect ' .. k)
    end
    assert.equal(2, (O.brentq(function(x) return x - 2 end, 2, 5)))
    assert.equal(5, (O.bisect(function(x) return x - 5 end, 2, 5)))
    below(O.brentq(function(x) return mc.tensor(x) - 0.5 end, 0, 1) - 0.5, 1e-12)
  end)
  it('never leave their bracket', function()
    for _, f in ipairs { O.brentq, O.bisect } do
      f(function(x)
        assert.is_true(x >= -1 and x <= 4)
        return math.atan(50 * (x - 0.1))
      end, -1, 4)
    end
  end)
  it('say that they did not get there', function()
    local x, why = O.brentq(function(v) return v ^ 3 - 1 end, -5, 7, { maxiter = 2 })
    assert.is_nil(x)
    assert.matches('optim.brentq: no root after 2 iterations; the best point is', why)
    x, why = O.bisect(function(v) return v - 1 end, -5, 8, { maxiter = 2 })
    assert.is_nil(x)
    assert.matches('optim.bisect: no root after 2 iterations; it lies between', why)
    x, why = O.brentq(function(v) return v > 0.4 and v < 0.6 and 0 / 0 or v - 0.5 end, 0, 1)
    assert.is_nil(x)
    assert.matches('optim.brentq: f is nan at', why)
    says('optim.brentq: f is 1 at a = 1 and 4 at b = 2; the signs must differ',
      function() O.brentq(function(v) return v * v end, 1, 2) end)
    says('optim.bisect: f is nan at a = 1', function() O.bisect(function() return 0 / 0 end, 1, 2) end)
    says('optim.brentq: b is nil; it must be number', function() O.brentq(function(v) return v end, 1) end)
    says('optim.brentq: f gave nil; it must give one real number', function() O.brentq(function() end, 1, 2) end)
    says('optim.brentq: f is 3; give a function', function() O.brentq(3, 1, 2) end)
    says('optim.brentq: option rtol is 0; it must be number >= 8.8e%-16',
      function() O.brentq(math.sin, 3, 4, { rtol = 0 }) end)
  end)
end)

describe('newton', function()
  it('finds a root by Newton, Halley and secants', function()
    local function f(x) return x ^ 3 - 2 * x - 5 end
    local function d(x) return 3 * x ^ 2 - 2 end
    for _, o in ipairs { {}, { fprime = d }, { fprime = d, fprime2 = function(x) return 6 * x end }, { x1 = 3 } } do
      local x, info = O.newton(f, 2, o)
      below(x - 2.0945514815423266, 1e-8)
      assert.is_true(info.converged)
    end
    local _, by_newton = O.newton(f, 4, { fprime = d })
    local _, by_halley = O.newton(f, 4, { fprime = d, fprime2 = function(x) return 6 * x end })
    assert.is_true(by_halley.iterations < by_newton.iterations)
  end)
  it('says why it found none', function()
    local _, why = O.newton(function(x) return x * x + 1 end, 0.5, { fprime = function(x) return 2 * x end })
    assert.matches('optim.newton: no root after 50 iterations', why)
    _, why = O.newton(function(x) return x * x + 1 end, 0, { fprime = function(x) return 2 * x end })
    assert.matches('optim.newton: the derivative is 0 at 0', why)
    _, why = O.newton(function() return 1 end, 1)
    assert.matches('optim.newton: f is flat between', why)
    _, why = O.newton(function() return 0 / 0 end, 1)
    assert.matches('optim.newton: f is nan', why)
    says('optim.newton: fprime2 without fprime', function() O.newton(math.sin, 3, { fprime2 = math.sin }) end)
    says('optim.newton: x1 equals x0', function() O.newton(math.sin, 3, { x1 = 3 }) end)
  end)
end)

local function tridiagonal(x)
  local n, z = x:numel(), mc.zeros { 1 }
  return (3 - x * 2) * x + 1 - mc.concat { z, x[{ { 1, n - 1 } }] } - mc.concat { x[{ { 2, n } }], z } * 2
end
-- Testing unconstrained optimization software, 1981; nfev: MINPACK hybrd through scipy.optimize.root, differences
-- included
local SYSTEMS = {
  { 'two circles', function(x) return { x[1] + x[2] - 3, x[1] * x[2] - 2 } end, { 0.5, 3 }, 12 },
  { 'Rosenbrock', function(x) return mc.stack { (x[2] - x[1] * x[1]) * 10, 1 - x[1] } end, { -1.2, 1 }, 28 },
  { 'helical valley', function(x)
    return mc.stack { (x[3] - mc.atan2(x[2], x[1]) * (5 / math.pi)) * 10, (mc.hypot(x[1], x[2]) - 1) * 10, x[3] }
  end, { -1, 0.1, 0 } },
  { 'tridiagonal', tridiagonal, mc.full({ 10 }, -1), 23 },
}

describe('root', function()
  it('solves standard systems by every method, within half as many evaluations again as MINPACK', function()
    for _, c in ipairs(SYSTEMS) do
      for _, method in ipairs { 'hybr', 'newton', 'broyden' } do
        for _, jac in ipairs { 'derived', '2-point' } do
          local o = { method = method, jac = jac == '2-point' and jac or nil }
          local r = O.root(c[2], c[3], o)
          assert(r.success, c[1] .. ' ' .. method .. ': ' .. r.message)
          below(mc.max(mc.abs(r.fun)):item(), 1e-5, c[1] .. ' ' .. method)
          if method == 'hybr' and jac == '2-point' and c[4] then
            assert(r.nfev <= 1.5 * c[4], ('%s: %d'):format(c[1], r.nfev))
          end
        end
      end
    end
  end)
  it('takes a Jacobian, plain numbers, trees and further arguments', function()
    local function f(x)
      local a, b = x[1]:item(), x[2]:item()
      return { a + b - 3, a * b - 2 }
    end
    local r = O.root(f, { 0.5, 3 })
    below(mc.max(mc.abs(r.x - mc.tensor { 1, 2 })):item(), 1e-8)
    r = O.root(f, { 0.5, 3 }, { jac = function(x) return { { 1, 1 }, { x[2]:item(), x[1]:item() } } end })
    below(mc.max(mc.abs(r.x - mc.tensor { 1, 2 })):item(), 1e-8)
    r = O.root(function(p, sum) return { p.a + p.b - sum, p.a * p.b - 2 } end,
      { a = mc.tensor(0.5), b = mc.tensor(3) }, { args = { 3 } })
    assert.is_true(r.success)
    below(r.x.a:item() - 1, 1e-8)
    r = O.root(function(x) return mc.tensor { x[1]:item() ^ 2 - 4 } end, { 1 }, { jac = '2-point' })
    below(r.x[1]:item() - 2, 1e-8)
  end)
  it('lives with singular Jacobians, and reports that there is no root', function()
    -- Powell
    local function flat(x)
      return mc.stack { x[1] + x[2] * 10, (x[3] - x[4]) * math.sqrt(5), mc.square(x[2] - x[3] * 2),
        mc.square(x[1] - x[4]) * math.sqrt(10) }
    end
    for _, method in ipairs { 'hybr', 'newton', 'broyden' } do
      local r = O.root(flat, { 3, -1, 0, 1 }, { method = method })
      below(mc.max(mc.abs(r.fun)):item(), 1e-5, method)
      r = O.root(function(x) return x * x + 1 end, { 1 }, { method = method })
      assert.is_false(r.success)
      r = O.root(function(x) return x * (0 / 0) end, { 1 }, { method = method })
      assert.is_true(not r.success and r.status == 3)
      r = O.root(tridiagonal, mc.full({ 10 }, -1), { method = method, maxfev = 3 })
      assert.equal(1, r.status)
      r = O.root(tridiagonal, mc.full({ 10 }, -1),
        { method = method, callback = function(_, info) return info.nit == 2 end })
      assert.is_true(r.nit == 2 and r.status == 99)
    end
  end)
  it('says what is wrong', function()
    says('optim.root: f gave f64%[3%]@cpu for 2 unknowns; it must give as many values',
      function() O.root(function() return mc.zeros { 3 } end, { 1, 2 }) end)
    says('optim.root: f gave nil for 2 unknowns', function() O.root(function() end, { 1, 2 }, { jac = '2-point' }) end)
    says('optim.root: jac gave f64%[3%]@cpu for 2 unknowns; it must give a square matrix',
      function() O.root(function(x) return x end, { 1, 2 }, { jac = function() return mc.zeros { 3 } end }) end)
    says('optim.root: x0 is f64%[1%]@cpu and holds NaN or infinity',
      function() O.root(function(x) return x end, { 0 / 0 }) end)
    says("optim.root: option method is 'hybrid'; choose hybr, newton, broyden",
      function() O.root(function(x) return x end, { 1 }, { method = 'hybrid' }) end)
    says('optim.root: option jac is 3; give a function',
      function() O.root(function(x) return x end, { 1 }, { jac = 3 }) end)
  end)
end)

it('leaves no tensor behind', function() assert.equal(BEFORE, support.tensor_bytes()) end)
