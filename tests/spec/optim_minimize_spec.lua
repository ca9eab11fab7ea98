-- optim_minimize_spec.lua - minimise functions with known minima; derivatives of every form; bounds; what results,
-- callbacks and messages say.
--
-- Evaluation counts are those of SciPy 1.17.1 on the same starts (bench/peers/bench_optim.py); ours may take half as
-- many again.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local optima = support.load 'optima'
local BEFORE = support.tensor_bytes()
local mc = require 'mascon'
local tol = support.load 'tol'
local O = mc.optim
local minimize = O.minimize

local function says(pattern, f) assert.matches(pattern, support.message(f)) end
local below = tol.below
local rosenbrock = optima.rosenbrock.f
local function start(n)
  local x = {}
  for i = 1, n do x[i] = i % 2 == 1 and -1.2 or 1 end
  return x
end
local function rosenbrock_gradient(x)
  local n = x:numel()
  local a, b = x[{ { 2, n } }], x[{ { 1, n - 1 } }]
  local g = mc.zeros { n }
  g[{ { 1, n - 1 } }] = b * (a - b * b) * -400 - (1 - b) * 2
  g[{ { 2, n } }] = g[{ { 2, n } }] + (a - b * b) * 200
  return g
end
local SMOOTH = { 'lbfgs', 'cg', 'newton-cg' }

describe('minimize', function()
  it('finds the valley of Rosenbrock in 2 to 20 dimensions, with no more evaluations than half as many again as SciPy',
    function()
      local scipy = { lbfgs = { 44, 66, 88, 154 }, cg = { 78, 233, 539, 725 }, ['newton-cg'] = { 106, 116, 133, 300 } }
      for _, method in ipairs(SMOOTH) do
        for k, n in ipairs { 2, 5, 10, 20 } do
          local r = minimize(rosenbrock, start(n), { method = method, jac = rosenbrock_gradient })
          assert(r.success, method .. n .. ': ' .. r.message)
          below(r.fun, 1e-5, method .. n)
          assert(r.nfev <= 1.5 * scipy[method][k], ('%s in %d dimensions: %d evaluations'):format(method, n, r.nfev))
          assert.equal(r.fun, rosenbrock(r.x):item())
          below(mc.max(mc.abs(r.jac - rosenbrock_gradient(r.x))):item(), 1e-12)
        end
      end
    end)
  it('finds other minima from usual starts', function()
    for _, c in ipairs { { 'beale', { 1, 1 } }, { 'branin', { 2, 2 } }, { 'sphere', { 3, -2, 1 } },
      { 'hartmann6', { 0.2, 0.2, 0.4, 0.3, 0.3, 0.6 } } } do
      for _, method in ipairs { 'lbfgs', 'cg', 'newton-cg', 'nelder-mead' } do
        local r = minimize(optima[c[1]].f, c[2], { method = method })
        assert(r.success, c[1] .. ' ' .. method .. ': ' .. r.message)
        below(r.fun - optima[c[1]].fun, 1e-6, c[1] .. ' ' .. method)
      end
    end
  end)
  it('takes derivatives in every form, and they agree', function()
    local function both(x) return rosenbrock(x), rosenbrock_gradient(x) end
    local function plain(x) return rosenbrock(x):item() end
    local function out_and_in(x) return mc.tensor(rosenbrock(x):item()) end -- nothing to derive is left
    local forms = { { out_and_in, nil }, { rosenbrock, nil }, { rosenbrock, rosenbrock_gradient }, { both, true },
      { rosenbrock, '2-point' }, { rosenbrock, '3-point' }, { plain, nil },
      { rosenbrock, function(x) return rosenbrock_gradient(x):totable() end } }
    for k, form in ipairs(forms) do
      local r = minimize(form[1], start(4), { jac = form[2] })
      assert(r.success, k)
      below(r.fun, 1e-8, 'form ' .. k)
    end
    -- those that are exact walk the same way
    local a, b = minimize(rosenbrock, start(4)), minimize(both, start(4), { jac = true })
    assert.equal(a.nit, b.nit)
    assert.equal(a.nfev, b.nfev)
    assert.equal(1 + 4, minimize(plain, { 0, 0, 0, 0 }, { maxiter = 0 }).nfev)
    assert.equal(1 + 2 * 4, minimize(rosenbrock, { 0, 0, 0, 0 }, { maxiter = 0, jac = '3-point' }).nfev)
  end)
  it('takes second derivatives as a matrix, as products, or from gradients', function()
    local Q, b = mc.tensor { { 4, 1, 0 }, { 1, 3, 0.5 }, { 0, 0.5, 2 } }, mc.tensor { 1, 2, 3 }
    local function f(x) return mc.matmul(x, mc.matmul(Q, x)) / 2 - mc.matmul(b, x) end
    local function g(x) return mc.matmul(Q, x) - b end
    local want = mc.linalg.solve(Q, b)
    for _, o in ipairs { { hess = function()
      return Q
    end }, { hessp = function(_, p) return mc.matmul(Q, p) end }, {} } do
      o.method, o.jac = 'newton-cg', g
      local r = minimize(f, { 0, 0, 0 }, o)
      assert.is_true(r.success and r.nhev > 0)
      below(mc.max(mc.abs(r.x - want)):item(), 1e-5)
    end
  end)
  it('walks the same way compiled, bit by bit, and runs f once', function()
    local calls = {} -- a compiled function may add to a table outside, but not count
    local function f(x, scale)
      calls[#calls + 1] = true
      return rosenbrock(x) * scale
    end
    for _, method in ipairs { 'lbfgs', 'cg', 'newton-cg', 'nelder-mead' } do
      local want = minimize(f, start(4), { method = method, args = { mc.tensor(0.5) } })
      calls = {}
      local r = minimize(f, start(4), { method = method, args = { mc.tensor(0.5) }, compile = true })
      assert(#calls <= 4, #calls) -- traces: value and gradient, second derivative
      assert.is_true(mc.array_equal(want.x, r.x), method)
      assert.equal(want.fun, r.fun)
      assert.equal(want.nfev, r.nfev)
    end
  end)
  it('gives back the form of x0, and its dtype', function()
    local at = { w = mc.tensor { { 1, 2 }, { 3, 4 } }, b = { mc.tensor { 5 } } }
    local function f(p) return mc.sum(mc.square(p.w - at.w)) + mc.sum(mc.square(p.b[1] - at.b[1])) end
    for _, method in ipairs { 'lbfgs', 'cg', 'newton-cg', 'nelder-mead' } do
      local r = minimize(f, { w = mc.zeros { 2, 2 }, b = { mc.zeros { 1 } } }, { method = method, maxfev = 4000 })
      assert.same({ 2, 2 }, { unpack(r.x.w.shape) })
      below(mc.max(mc.abs(r.x.w - at.w)):item(), 1e-3, method)
      below(mc.max(mc.abs(r.x.b[1] - 5)):item(), 1e-3, method)
    end
    local x0 = mc.tensor({ -1.2, 1 }, { dtype = 'f32' })
    local r = minimize(rosenbrock, x0, { ftol = 0, gtol = 1e-3 })
    assert.equal('f32', r.x.dtype)
    assert.equal('f64', minimize(rosenbrock, mc.tensor({ 1, 1 }, { dtype = 'i64' })).x.dtype)
    below(r.fun, 1e-5)
    below(mc.max(mc.abs(x0 - mc.tensor({ -1.2, 1 }, { dtype = 'f32' }))):item(), 0) -- untouched
    assert.equal(1, minimize(function(x) return mc.square(x - 1) end, mc.tensor(0)).x.ndim + 1)
  end)
  it('takes views, leaves x0 alone, and minds no function that writes into its argument', function()
    local x0 = mc.tensor { { -1.2, 1 }, { 1, -1.2 } }
    local function f(x)
      local y = rosenbrock(x:reshape(4))
      x:mul_(0)
      return y
    end
    local function g(x) return rosenbrock_gradient(x:reshape(4)):reshape(2, 2) end
    for _, method in ipairs { 'lbfgs', 'cg', 'newton-cg', 'nelder-mead' } do
      local o = { method = method, jac = method ~= 'nelder-mead' and g or nil, maxiter = 20 }
      local want = minimize(f, mc.tensor { { -1.2, 1 }, { 1, -1.2 } }, o)
      local r = minimize(f, x0.T, o)
      assert.is_true(mc.array_equal(want.x, r.x))
      assert.same({ { -1.2, 1 }, { 1, -1.2 } }, x0:totable())
      assert.equal(r.fun, rosenbrock(r.x:reshape(4)):item())
    end
  end)
  it('refuses a function that writes into args', function()
    local data, kept = mc.tensor { 1, 2 }, { 1, 2 }
    local function f(x, d) return mc.square(x - d:mul_(2)):sum() end
    local function plain(x, d) return mc.square(x - d):sum() end
    local function g(x, d) return 2 * (x - d:add_(0)) end
    for _, case in ipairs { { f, {} }, { f, { jac = '2-point' } }, { f, { method = 'nelder-mead' } },
      { plain, { jac = g } }, { f, { compile = true } } } do
      case[2].args = { data }
      assert.matches('writes into its argument', support.message(function() minimize(case[1], { 0, 0 }, case[2]) end))
      assert.same(kept, data:totable())
    end
    assert.matches('root: f writes into its argument',
      support.message(function() mc.optim.root(function(x, d) return x - d:mul_(1) end, { 0, 0 },
        { args = { data } }) end))
    tol.near(1, minimize(plain, { 0, 0 }, { args = { data } }).x[1]:item(), 1e-5)
  end)
  it('keeps within bounds, and rests on those that bind', function()
    for _, n in ipairs { 2, 5, 10 } do
      local free = minimize(rosenbrock, start(n), { bounds = { -3, 3 } })
      assert.is_true(free.success)
      below(free.fun, 1e-8)
      local worst = -math.huge
      local r = minimize(function(x)
        worst = math.max(worst, mc.max(x):item())
        return rosenbrock(x)
      end, start(n), { bounds = { mc.none, 0.5 }, jac = rosenbrock_gradient })
      assert.is_true(r.success and worst <= 0.5)
      -- SciPy's L-BFGS-B
      local want = ({ [2] = 0.25, [5] = 2.6456658876338435, [10] = 7.594812948946915 })[n]
      below(r.fun - want, 1e-6 * want)
    end
    local r = minimize(optima.sphere.f, { 3, 3, 3 },
      { bounds = { { 1, 2 }, { mc.none, mc.none }, { 2, nil } }, method = 'lbfgs' })
    assert.same({ 1, 0, 2 }, mc.round(r.x):totable())
    r = minimize(optima.sphere.f, { 1.5, 3 }, { bounds = { { 1, 2 }, { -1, 4 } }, method = 'nelder-mead' })
    below(r.fun - 1, 1e-6)
    assert.is_true(r.x[1]:item() >= 1)
    -- fixed coordinates
    r = minimize(rosenbrock, { 0, 0 }, { bounds = { { 0.5, 0.5 }, { -5, 5 } } })
    assert.is_true(r.success and r.x[1]:item() == 0.5)
    below(r.x[2]:item() - 0.25, 1e-6)
  end)
  it('takes a value that is NaN or infinite for a place outside the domain', function()
    local function f(x) return mc.sum(x - mc.log(x)) end
    for _, method in ipairs { 'lbfgs', 'cg', 'newton-cg', 'nelder-mead' } do
      local r = minimize(f, { 9, 0.2 }, { method = method })
      assert(r.success, method)
      below(r.fun - 2, 1e-6, method)
    end
    local r = minimize(optima.ackley.f, { 0, 0 }) -- its derivative at the minimum is none
    assert.is_true(r.status == 3 and not r.success)
    assert.equal('the gradient at x0 is NaN or infinite', r.message)
    -- a wrong gradient
    assert.equal(2,
      minimize(function(x) return mc.sum(x) end, { 1 }, { jac = function() return mc.tensor { -1 } end }).status)
  end)
  it('stops at its limits and at the word of the callback, which sees every iteration', function()
    for _, method in ipairs { 'lbfgs', 'cg', 'newton-cg', 'nelder-mead' } do
      local seen, last = 0, math.huge
      local r = minimize(rosenbrock, start(3), { method = method, callback = function(x, info)
        seen = seen + 1
        assert.equal(seen, info.nit)
        assert.equal(info.fun, rosenbrock(x):item())
        assert.is_true(info.fun <= last)
        last = info.fun
        return seen == 3
      end })
      assert.equal(3, r.nit)
      assert.equal(99, r.status)
      assert.is_false(r.success)
      assert.equal('the callback stopped it', r.message)
      r = minimize(rosenbrock, start(3), { method = method, maxiter = 2 })
      assert.is_true(r.nit == 2 and r.status == 1 and not r.success)
      r = minimize(rosenbrock, start(3), { method = method, maxfev = 5 })
      assert.equal(4, r.status)
      assert.equal('the largest number of evaluations is reached', r.message)
      assert.equal(0, minimize(optima.sphere.f, { 0, 0 }, { method = method, maxiter = 100 }).fun)
    end
  end)
  it('shows its progress on the line it is given, or on one of its own', function()
    local file = io.tmpfile()
    local bar = mc.progress.new(nil, { stream = file, tty = false, label = 'fit', unit = 'iterations' })
    local r = minimize(rosenbrock, start(2), { progress = bar })
    assert.equal(r.nit, bar.count)
    file:seek 'set'
    assert.matches('fit: 36 iterations', file:read '*a')
  end)
  it('passes further arguments', function()
    local r = minimize(function(x, at, scale) return mc.sum(mc.square(x - at)) * scale end, { 0, 0 },
      { args = { mc.tensor { 1, 2 }, 3 } })
    below(mc.max(mc.abs(r.x - mc.tensor { 1, 2 })):item(), 1e-5)
  end)
  it('is the same for any number of threads', function()
    support.restoring(function()
      local want
      for _, threads in ipairs { 1, 2 } do
        mc.set_num_threads(threads)
        local x = minimize(rosenbrock, start(6)).x
        assert.is_true(want == nil or mc.array_equal(want, x))
        want = x
      end
    end)
  end)
  it('says what is wrong', function()
    local f = rosenbrock
    says('optim.minimize: option method is \'lbgfs\'; choose lbfgs.*did you mean "lbfgs"',
      function() minimize(f, { 0, 0 }, { method = 'lbgfs' }) end)
    says('optim.minimize: option "gtol" is unknown',
      function() minimize(f, { 0, 0 }, { method = 'nelder-mead', gtol = 1 }) end)
    says('optim.minimize: option "bounds" is unknown',
      function() minimize(f, { 0, 0 }, { method = 'cg', bounds = { 0, 1 } }) end)
    says('optim.minimize: f is 3; give a function', function() minimize(3, { 0, 0 }) end)
    says('optim.minimize: x0 is f64%[2%]@cpu and holds NaN or infinity', function() minimize(f, { 0, 0 / 0 }) end)
    says('optim.minimize: x0 is c128%[2%]@cpu; give its real and imaginary parts',
      function() minimize(f, mc.zeros({ 2 }, { dtype = 'c128' })) end)
    says('optim.minimize: x0 holds no element', function() minimize(f, mc.zeros { 0 }) end)
    says('optim.minimize: f gave f64%[2%]@cpu; it must give one real number',
      function() minimize(function(x) return x end, { 1, 2 }, { jac = f }) end)
    says('optim.minimize: f gave nil; it must give one real number',
      function() minimize(function() end, { 1, 2 }, { method = 'nelder-mead' }) end)
    says('optim.minimize: jac gave f64%[3%]@cpu for 2 parameters; it must give as many',
      function() minimize(f, { 1, 2 }, { jac = function() return mc.zeros { 3 } end }) end)
    says('optim.minimize: hess gave f64%[2%]@cpu for 2 parameters; it must give a square matrix',
      function() minimize(f, { 1, 2 }, { method = 'newton-cg', hess = function(x) return x end }) end)
    says('optim.minimize: f is nan at x0; start where it is finite',
      function() minimize(function(x) return mc.sum(mc.log(x)) end, { -1, 2 }) end)
    says('optim.minimize: bounds 2 are 3 and 2; the first must not exceed the second',
      function() minimize(f, { 1, 2 }, { bounds = { { 0, 1 }, { 3, 2 } } }) end)
    says('optim.minimize: bounds are 3; give { low, high }', function() minimize(f, { 1, 2 }, { bounds = 3 }) end)
    says("optim.minimize: option jac is 'exact'; give a function, true",
      function() minimize(f, { 1, 2 }, { jac = 'exact' }) end)
  end)
end)

describe('nelder_mead', function()
  it('takes the steps of SciPy', function()
    -- nit, nfev and value of scipy.optimize.minimize(method='Nelder-Mead') from the same starts; its nit counts the
    -- first simplex too
    for _, c in ipairs { { 2, 84, 159, 8.177661197416674e-10 }, { 5, 401, 640, 1.415996075152124e-08 } } do
      local r = minimize(rosenbrock, start(c[1]), { method = 'Nelder-Mead' })
      assert.equal(c[2], r.nit)
      assert.equal(c[3], r.nfev)
      below(r.fun - c[4], 1e-9)
    end
  end)
  it('gives the same bits through ask and tell, and after a state was kept', function()
    local want = minimize(rosenbrock, start(3), { method = 'nelder-mead', adaptive = true })
    local opt = O.nelder_mead(start(3), { adaptive = true })
    local asked = 0
    while not opt:done() do
      local x = opt:ask()
      assert.is_true(mc.array_equal(x, opt:ask()))
      local f = {}
      for i = 1, x.shape[1] do f[i] = rosenbrock(x[i]) end
      opt:tell(x, f)
      asked = asked + 1
      if asked % 7 == 0 then opt = O.nelder_mead(start(3), { state = opt:state() }) end
    end
    local r = opt:result()
    assert.is_true(mc.array_equal(want.x, r.x))
    assert.equal(want.fun, r.fun)
    assert.equal(want.nfev, r.nfev)
    assert.equal(want.nit, r.nit)
    assert.is_true(r.success)
  end)
  it('says what is wrong', function()
    local opt = O.nelder_mead { 1, 2 }
    says('optim.nelder_mead: tell before ask; ask for points first',
      function() opt:tell(mc.zeros { 3, 2 }, { 1, 2, 3 }) end)
    local x = opt:ask()
    says('optim.nelder_mead: tell was given points that ask did not give %(f64%[3,2%]@cpu, asked were f64%[3,2%]@cpu%)',
      function() opt:tell(x + 1, { 1, 2, 3 }) end)
    says('optim.nelder_mead: tell was given 2 values for 3 points; give as many values',
      function() opt:tell(x, { 1, 2 }) end)
    says("optim.nelder_mead: value 2 told is 'a'; it must be a number", function() opt:tell(x, { 1, 'a', 3 }) end)
    assert.equal('not ended yet', opt:result().message)
    says('optim.nelder_mead: option state is of nil; give one of nelder%-mead',
      function() O.nelder_mead({ 1 }, { state = {} }) end)
    says('optim.nelder_mead: initial_simplex is f64%[2,2%]@cpu; give 3 points of 2 coordinates',
      function() O.nelder_mead({ 1, 2 }, { initial_simplex = mc.zeros { 2, 2 } }) end)
  end)
end)

it('leaves no tensor behind', function() assert.equal(BEFORE, support.tensor_bytes()) end)
