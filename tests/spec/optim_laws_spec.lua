-- optim_laws_spec.lua - laws of minimisers, roots, integrals and differential equations, tried on random problems.
--
-- Every failure prints its seed and the smallest case that fails (tests/support/property.lua).
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes()
local mc = require 'mascon'
local tol, property = support.load 'tol', support.load 'property'
local O, I = mc.optim, mc.integrate

local function law(name, f, rounds) it(name, function() property.check(f, rounds) end) end
local below = tol.below
local function largest(x) return mc.max(mc.abs(x)):item() end
local function normal(draw, ...) return mc.random.normal({ ... }, { key = draw(1, 1e6) }) end
--- A random convex quadratic: value, gradient, matrix, right-hand side.
local function quadratic(draw, n)
  local A = normal(draw, n, n)
  local Q, b = mc.matmul(A, A.mT) / n + mc.eye(n), normal(draw, n)
  return function(x) return mc.matmul(x, mc.matmul(Q, x)) / 2 - mc.matmul(b, x) end,
    function(x) return mc.matmul(Q, x) - b end, Q, b
end

describe('minimisers', function()
  law('solve linear systems on the way', function(draw)
    local n = draw(1, 25)
    local f, g, Q, b = quadratic(draw, n)
    local want, x0 = mc.linalg.solve(Q, b), normal(draw, n)
    for _, method in ipairs { 'lbfgs', 'cg', 'newton-cg' } do
      local r = O.minimize(f, x0, { method = method, jac = g, tol = 1e-9, ftol = method == 'lbfgs' and 0 or nil })
      assert(r.success or r.status == 2, method .. ': ' .. r.message)
      below(largest(r.x - want), 1e-6, method)
    end
  end, 12)
  law('end where no step within the bounds goes down', function(draw)
    local n = draw(1, 25)
    local f, g = quadratic(draw, n)
    local low = normal(draw, n) - 0.5
    local high = low + mc.abs(normal(draw, n))
    local r = O.minimize(f, normal(draw, n), { jac = g, bounds = { low, high }, ftol = 0, gtol = 1e-8 })
    assert(r.success or r.status == 2, r.message)
    assert(mc.all(mc.ge(r.x, low)) and mc.all(mc.le(r.x, high)), 'outside')
    below(largest(mc.clip(r.x - g(r.x), low, high) - r.x), 1e-6)
  end, 12)
  law('that look at ranks only do not see a rescaled function', function(draw)
    local n, seed, scale = draw(1, 6), draw(0, 1000), 2 ^ draw(-3, 6)
    local f = quadratic(draw, n)
    local function scaled(x) return f(x) * scale end
    local x0 = normal(draw, n)
    for _, o in ipairs { { method = 'cma-es', sigma = 0.5, seed = seed, tolfun = 0 },
      { method = 'nelder-mead', fatol = 0, xatol = 0 } } do
      o.maxiter = 12
      local a, b = O.minimize(f, x0, o), O.minimize(scaled, x0, o)
      assert(mc.array_equal(a.x, b.x), o.method)
      assert(a.nfev == b.nfev, o.method)
    end
    local box = {}
    for i = 1, n do box[i] = { -3, 2 } end
    local o = { seed = seed, maxiter = 5, popsize = 4, polish = false, tol = 0 }
    assert(mc.array_equal(O.differential_evolution(f, box, o).x, O.differential_evolution(scaled, box, o).x),
      'evolution')
  end, 10)
  law('that are asked go on from any kept state with the same bits', function(draw)
    local n, seed = draw(1, 4), draw(0, 1000)
    local f = quadratic(draw, n)
    local x0, box = normal(draw, n), {}
    for i = 1, n do box[i] = { -3, 2 } end
    local makers = {
      function(state) return O.nelder_mead(x0, { maxiter = 15, state = state }) end,
      function(state) return O.cma_es(x0, { sigma = 1, seed = seed, maxiter = 8, bounds = box, state = state }) end,
      function(state) return O.evolution(box, { seed = seed, maxiter = 5, popsize = 3, state = state }) end,
    }
    for k, make in ipairs(makers) do
      local function run(every)
        local opt, count = make(), 0
        while not opt:done() do
          local x = opt:ask()
          local values = {}
          for i = 1, x.shape[1] do values[i] = f(x[i]) end
          opt:tell(x, values)
          count = count + 1
          if every and count % every == 0 then opt = make(opt:state()) end
        end
        return opt:result()
      end
      local a, b = run(), run(draw(1, 3))
      assert(mc.array_equal(a.x, b.x) and a.fun == b.fun and a.nfev == b.nfev, 'asker ' .. k)
    end
  end, 8)
  law('of gradients do not leave the best of what they have seen', function(draw)
    local n = draw(2, 8)
    local f, g = quadratic(draw, n)
    for _, method in ipairs { 'lbfgs', 'cg', 'newton-cg' } do
      local last = math.huge
      O.minimize(function(x) return mc.sum(mc.square(x)) + mc.exp(f(x) / 10) end, normal(draw, n), { method = method,
        maxiter = 20,
        jac = function(x) return x * 2 + g(x) * (mc.exp(f(x) / 10) / 10) end, callback = function(_, info)
          assert(info.fun <= last, method)
          last = info.fun
        end })
    end
  end, 8)
end)

describe('optimisers', function()
  law('go nowhere with a rate of 0, and clipping twice is clipping once', function(draw)
    local p = normal(draw, draw(1, 5), draw(1, 5))
    local g = normal(draw, p.shape[1], p.shape[2])
    for _, name in ipairs { 'sgd', 'adam', 'adamw', 'rmsprop', 'adagrad', 'lion', 'radam', 'lamb' } do
      local opt = O[name] { lr = 0, weight_decay = 0.1 }
      assert(mc.array_equal((opt.update(p, g, opt.init(p))), p), name)
    end
    local once = O.clip_norm(g, 0.5)
    below(largest(O.clip_norm(once, 0.5) - once), 4e-6)
    below(math.max(0, O.global_norm(once):item() - 0.5), 1e-6)
  end, 10)
end)

describe('roots', function()
  law('lie in their bracket, where the sign changes', function(draw)
    local a, b, c = draw(1, 9) / 3, draw(0, 9) / 5, draw(-40, 40) / 7
    local function f(x) return a * x ^ 3 + b * x - c end -- rising
    for _, method in ipairs { 'brentq', 'bisect' } do
      local x = O[method](f, -10, 10, { maxiter = 200 })
      assert(x and x >= -10 and x <= 10, method)
      local wide = 1e-11
      assert(f(x - wide) <= 0 and f(x + wide) >= 0, method)
    end
  end)
  law('of linear systems are found at once', function(draw)
    local n = draw(1, 12)
    local _, g, Q, b = quadratic(draw, n)
    for _, method in ipairs { 'hybr', 'newton', 'broyden' } do
      local r = O.root(g, normal(draw, n), { method = method })
      assert(r.success, method .. ': ' .. r.message)
      below(largest(mc.matmul(Q, r.x) - b), 1e-5, method)
    end
  end, 10)
end)

describe('integrals', function()
  law('of polynomials are exact, add up over ranges, and are linear', function(draw)
    local degree = draw(0, 12)
    local p = {}
    for i = 1, degree + 1 do p[i] = draw(-9, 9) end
    local function f(x)
      local y = 0
      for i = 1, #p do y = y * x + p[i] end
      return y
    end
    local a, b, m = draw(-20, 20) / 10, draw(-20, 20) / 10, draw(-20, 20) / 10
    local want, size = 0, 1
    for i = 1, #p do
      local k = #p - i + 1
      want = want + p[i] * (b ^ k - a ^ k) / k
      size = size + math.abs(p[i]) * (math.abs(b) ^ k + math.abs(a) ^ k)
    end
    local bound = 200 * tol.kind.f64.eps * size
    below(I.quad(f, a, b) - want, bound, 'quad')
    below(I.quad(f, a, m) + I.quad(f, m, b) - want, 3 * bound * 2 ^ degree, 'parts')
    below(I.quad(function(x) return 3 * f(x) end, a, b) - 3 * want, 3 * bound, 'factor')
    below(I.fixed_quad(function(x)
      local y = x * 0
      for i = 1, #p do y = y * x + p[i] end
      return y
    end, a, b, { n = 7 }):item() - want, bound, 'fixed')
  end)
end)

describe('differential equations', function()
  law('that are linear are exponentials, and lead back when run backwards', function(draw)
    local n, t = draw(1, 6), draw(1, 20) / 10
    local A, y0 = normal(draw, n, n) / math.sqrt(n), normal(draw, n)
    local function f(_, y) return mc.matmul(A, y) end
    local want = mc.matmul(mc.linalg.expm(A * t), y0)
    local size = math.exp(2 * t) * (1 + largest(y0))
    for _, method in ipairs { 'RK45', 'RK23' } do
      local r = I.solve_ivp(f, { 0, t }, y0, { method = method, rtol = 1e-7, atol = 1e-7 })
      local last = r.y['..., -1']
      below(largest(last - want), 1e-5 * size, method)
      local back = I.solve_ivp(f, { t, 0 }, last, { method = method, rtol = 1e-7, atol = 1e-7 })
      below(largest(back.y['..., -1'] - y0), 1e-4 * size * size, method .. ' backwards')
    end
    below(largest(I.rk4(f, mc.linspace(0, t, 101), y0)['..., -1'] - want), 1e-5 * size, 'rk4')
  end, 8)
end)

it('leaves no tensor behind', function() assert.equal(BEFORE, support.tensor_bytes()) end)
