-- optim.lua - minimisers, roots, integrals and differential equations on the same problems as SciPy; a training step
-- beside PyTorch.
--
-- Holds the problems and starts; the names are those of the peers' bench (`op_<name>`), ours also with _compiled where
-- mc.compile takes the function. A row holds the evaluations of f and the value reached beside the time.
local mc = require 'mascon'

local function part(x, a, b) return x[{ { a, b } }] end
local function rosenbrock(x)
  local n = x:numel()
  local a, b = part(x, 2, n), part(x, 1, n - 1)
  return mc.sum(mc.square(a - b * b) * 100 + mc.square(1 - b))
end
local function rosenbrock_gradient(x)
  local n = x:numel()
  local a, b = part(x, 2, n), part(x, 1, n - 1)
  local g, t = mc.zeros { n }, a - b * b
  g[{ { 1, n - 1 } }] = b * t * -400 - (1 - b) * 2
  local rest = part(g, 2, n)
  rest:add_(t * 200)
  return g
end
local function start(n)
  local x = {}
  for i = 1, n do x[i] = i % 2 == 1 and -1.2 or 1 end
  return mc.tensor(x)
end
local function rastrigin(x) return mc.sum(mc.square(x) - mc.cos(x * (2 * math.pi)) * 10 + 10) end
local function ackley(x)
  return mc.exp(mc.sqrt(mc.mean(mc.square(x))) * -0.2) * -20 - mc.exp(mc.mean(mc.cos(x * (2 * math.pi))))
    + (20 + math.exp(1))
end
local function box(n, side)
  local b = {}
  for i = 1, n do b[i] = { -side, side } end
  return b
end
local function tridiagonal(n)
  local z = mc.zeros { 1 }
  return function(x)
    return (3 - x * 2) * x + 1 - mc.concat { z, part(x, 1, n - 1) } - mc.concat { part(x, 2, n), z } * 2
  end
end
local function predators(_, y)
  local l = y:totable()
  return { 1.5 * l[1] - l[1] * l[2], -3 * l[2] + l[1] * l[2] }
end

--- Problems: name, what is solved (for the table), run() -> { nfev, fun }, and whether there is a compiled form.
local list = {}
local function add(name, text, run) list[#list + 1] = { name = name, text = text, run = run } end

for _, n in ipairs { 2, 10, 100 } do
  add('lbfgs_' .. n, ('L-BFGS, Rosenbrock in %d dimensions, gradient given'):format(n),
    function() return mc.optim.minimize(rosenbrock, start(n), { jac = rosenbrock_gradient }) end)
  add('lbfgs_' .. n .. '_compiled', ('the same, gradient by mc.compile(mc.value_and_grad(f))'),
    function() return mc.optim.minimize(rosenbrock, start(n), { compile = true }) end)
end
add('cg_10', 'conjugate gradients, 10 dimensions, gradient given',
  function() return mc.optim.minimize(rosenbrock, start(10), { method = 'cg', jac = rosenbrock_gradient }) end)
add('newton_10', 'Newton-CG, 10 dimensions, gradient given',
  function() return mc.optim.minimize(rosenbrock, start(10), { method = 'newton-cg', jac = rosenbrock_gradient }) end)
add('nelder_mead_5', 'Nelder-Mead, 5 dimensions',
  function() return mc.optim.minimize(rosenbrock, start(5), { method = 'nelder-mead' }) end)
add('nelder_mead_5_compiled', 'the same, f by mc.compile',
  function() return mc.optim.minimize(rosenbrock, start(5), { method = 'nelder-mead', compile = true }) end)
add('evolution_rastrigin_3', 'differential evolution, Rastrigin in 3 dimensions',
  function() return mc.optim.differential_evolution(rastrigin, box(3, 5.12), { seed = 1, polish = false }) end)
add('evolution_ackley_5', 'differential evolution, Ackley in 5 dimensions',
  function() return mc.optim.differential_evolution(ackley, box(5, 32), { seed = 1, polish = false }) end)
add('cma_rosenbrock_10', 'CMA-ES, Rosenbrock in 10 dimensions',
  function() return mc.optim.minimize(rosenbrock, start(10), { method = 'cma-es', sigma = 0.5, seed = 1 }) end)
for _, n in ipairs { 10, 100 } do
  add('root_' .. n, ("Powell's hybrid, tridiagonal system of %d equations, differences"):format(n), function()
    local r = mc.optim.root(tridiagonal(n), mc.full({ n }, -1), { jac = '2-point' })
    return { nfev = r.nfev, fun = mc.max(mc.abs(r.fun)):item() }
  end)
end
add('brentq', 'brentq, cos(x) - x', function()
  local x, info = mc.optim.brentq(function(v) return math.cos(v) - v end, 0, 1)
  return { nfev = info.function_calls, fun = x }
end)
local function integral(name, text, f, a, b)
  add(name, text, function()
    local n = 0
    local v = mc.integrate.quad(function(x)
      n = n + 1
      return f(x)
    end, a, b)
    return { nfev = n, fun = v }
  end)
end
integral('quad_gauss', 'quad, exp(-x^2) over the line', function(x) return math.exp(-x * x) end, -math.huge, math.huge)
integral('quad_singular', 'quad, log(x) / sqrt(x) from 0', function(x) return math.log(x) / math.sqrt(x) end, 0, 1)
integral('quad_peak', 'quad, a peak of width 1e-3', function(x) return 1 / (1e-6 + (x - 0.3) ^ 2) end, 0, 1)
for _, method in ipairs { 'RK45', 'RK23' } do
  add('ivp_' .. method:lower(), ('%s, predators and prey, rtol 1e-6'):format(method), function()
    local r = mc.integrate.solve_ivp(predators, { 0, 15 }, { 10, 5 }, { method = method, rtol = 1e-6 })
    return { nfev = r.nfev, fun = r.y[1][-1]:item() }
  end)
end
add('ivp_heat_10000', 'RK45, heat equation on 10000 points', function()
  local n = 10000
  local x0 = mc.sin(mc.arange(1, n):to 'f64' * (math.pi / (n + 1)))
  local r = mc.integrate.solve_ivp(function(_, y)
    local d = y * -2
    part(d, 1, n - 1):add_(part(y, 2, n))
    part(d, 2, n):add_(part(y, 1, n - 1))
    return d
  end, { 0, 10 }, x0, { t_eval = { 10 } })
  return { nfev = r.nfev, fun = r.y[n / 2][1]:item() }
end)

return function(bench)
  for _, p in ipairs(list) do
    bench.case { name = 'op_' .. p.name, family = 'optim', op = p.text, dtype = 'f64', shape = '', threads = 1,
      samples = 5, setup = function()
        local kit = { values = {} }
        function kit.run(n) for _ = 1, n do kit.result = p.run() end end
        function kit.check()
          kit.values.nfev, kit.values.fun = kit.result.nfev, kit.result.fun
          return kit.result.success ~= false, kit.result.message
        end
        return kit
      end }
  end
  for _, form in ipairs { '', '_compiled' } do
    bench.case { name = 'op_adamw_1M' .. form, family = 'optim', op = 'AdamW step, 10^6 parameters' .. (form == ''
      and '' or ', compiled'), dtype = 'f32', shape = '', setup = function()
        local opt = mc.optim.adamw()
        local p, g = mc.randn({ 1e6 }, { dtype = 'f32', seed = 1 }), mc.randn({ 1e6 }, { dtype = 'f32', seed = 2 })
        local state = opt.init(p)
        local update = form == '' and opt.update or mc.compile(opt.update)
        return { run = function(n)
          for _ = 1, n do p, state = update(p, g, state) end
        end, check = function() return mc.isfinite(p):all() end, values = {} }
      end }
  end
end
