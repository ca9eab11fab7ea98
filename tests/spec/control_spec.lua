-- control_spec.lua - cond, switch, while_loop, fori_loop, scan: eager, compiled, differentiated, batched; what they
-- refuse.
local here = (debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/'
local support, d = dofile(here .. 'init.lua'), dofile(here .. 'derivative.lua')
local mc = require 'mascon'

local function randn(seed, ...) return mc.randn { seed = seed, ... } end
local function i64(v) return mc.tensor(v, { dtype = 'i64' }) end

--- f eager against f compiled, each form called twice (traced, replayed).
local function compiled(what, f, ...)
  local g = mc.compile(f)
  for k, args in ipairs { ... } do
    local want = { f(unpack(args)) }
    for call = 1, 2 do d.same(want, { g(unpack(args)) }, ('%s, arguments %d, call %d'):format(what, k, call)) end
  end
end

--- vmap of f over rows of tensors against the loop.
local function batched(what, f, ...)
  local args, rows = { ... }, {}
  for i = 1, args[1].shape[1] do
    local one = {}
    for k, a in ipairs(args) do one[k] = a[i] end
    rows[i] = f(unpack(one))
  end
  d.close(mc.stack(rows, 1), mc.vmap(f)(unpack(args)), what .. ': vmap')
  local g = mc.compile(mc.vmap(f))
  for call = 1, 2 do d.close(mc.stack(rows, 1), g(unpack(args)), ('%s: compiled vmap, call %d'):format(what, call)) end
end

--- A recurrent net: tree carry, tree rows, captured weights.
local function rnn(w, xs, how)
  local last, ys = mc.scan(function(c, x)
    local h = mc.tanh(w:matmul(c.h) + x.drive)
    return { h = h, count = c.count + 1 }, { h = h, energy = mc.sum(h * h) * x.weight }
  end, { h = mc.zeros { 3 }, count = mc.zeros({}, { dtype = 'i64' }) },
    { drive = xs, weight = mc.arange(1, xs.shape[1]) }, how)
  return last, ys
end
local function rnn_loss(how)
  return function(t)
    local last, ys = rnn(t['1:3, :'] * 0.5, t['4:8, :'], how)
    return mc.sum(last.h) + mc.sum(ys.energy) + mc.sum(ys.h * ys.h * ys.h)
  end
end

local function newton(a, opts)
  return mc.while_loop(function(s) return mc.gt(mc.abs(s.x * s.x - a), 1e-12) end,
    function(s) return { x = (s.x + a / s.x) / 2, n = s.n + 1 } end,
    { x = a, n = i64(0) }, opts)
end

describe('cond', function()
  local function f(x)
    return mc.cond(mc.gt(mc.sum(x), 0), function(t) return { mc.sqrt(t), t * 2 } end,
      function(t) return { t * t, -t } end, x)
  end

  it('takes the branch of a known or unknown truth value', function()
    d.same({ mc.tensor { 2, 3 }, mc.tensor { 8, 18 } }, f(mc.tensor { 4, 9 }), 'then')
    d.same({ mc.tensor { 16, 1 }, mc.tensor { 4, 1 } }, f(mc.tensor { -4, -1 }), 'else')
    for _, p in ipairs { true, 1, mc.tensor(3), mc.tensor({ true }) } do
      assert.equal(1, mc.cond(p, function() return 1 end, function() return 2 end):item())
    end
    assert.equal(2, mc.cond(false, function() return 1 end, function() return 2 end):item())
    compiled('cond', f, { mc.tensor { 4, 9 } }, { mc.tensor { -4, -9 } })
    compiled('captured', function(x, y)
      return mc.cond(mc.gt(x, 0), function() return y * x end, function() return y - x end)
    end, { mc.tensor(2), randn(1, 4) }, { mc.tensor(-2), randn(2, 4) })
  end)

  it('lets gradients through the chosen branch alone: the other may be NaN', function()
    local function safe(x)
      return mc.cond(mc.gt(x, 0), function() return mc.sqrt(x) * x end, function() return x * 0 end)
    end
    for _, v in ipairs { 4, -4, 0 } do
      local want = mc.tensor(v > 0 and 1.5 * math.sqrt(v) or 0)
      d.close(want, mc.grad(safe)(mc.tensor(v)), 'at ' .. v)
      local g = mc.compile(mc.grad(safe))
      for _ = 1, 2 do d.close(want, g(mc.tensor(v)), 'compiled at ' .. v) end
    end
    d.check('cond', function(x)
      local y = f(x)
      return mc.sum(y[1] * y[2])
    end, mc.tensor { 4, 9.5 })
    batched('cond', function(x) return f(x)[1] end, mc.tensor { { 4, 9 }, { -1, -2 }, { 1, 0.5 } })
    batched('gradient of cond', mc.grad(function(x) return mc.sum(f(x)[2] * x) end), mc.tensor { { 4, 9 }, { -1, -2 } })
  end)

  it('refuses branches that differ, and what is no truth value', function()
    local function message(a, b)
      return support.message(function() mc.compile(function(p) return mc.cond(p, a, b) end)(mc.tensor(1)) end)
    end
    local function two() return { w = mc.zeros { 2 } } end
    assert.truthy(message(two, function() return { w = mc.zeros { 3 } } end)
      :find('cond: shape of result[1].w differs: then_f gives f64[2]@cpu, else_f gives f64[3]@cpu', 1, true))
    assert.truthy(message(two, function() return { w = mc.zeros({ 2 }, { dtype = 'f32' }) } end)
      :find('cond: dtype of result[1].w differs', 1, true))
    assert.truthy(message(two, function() return { v = mc.zeros { 2 } } end)
      :find('cond: structure of result[1].w differs: then_f gives a tensor, else_f gives missing', 1, true))
    assert.truthy(support.message(mc.cond, mc.zeros { 2 }, two,
      two):find('cond: the first argument is f64[2]@cpu; give one truth value', 1, true))
    assert.truthy(support.message(mc.cond, true, two):find('cond: the third argument is nil', 1, true))
  end)
end)

describe('switch', function()
  it('counts from 1, holds the index to the range, and works as cond does', function()
    local list = { function(x) return x + 1 end, function(x) return x * 3 end, mc.sin }
    local x = randn(3, 3)
    local function f(i, t) return mc.switch(i, list, t) end
    local want = { list[1](x), list[1](x), list[2](x), list[3](x), list[3](x) }
    local g = mc.compile(f)
    for i = 0, 4 do
      d.same(want[i + 1], f(i, x), 'number ' .. i)
      d.same(want[i + 1], f(i64(i), x), 'tensor ' .. i)
      for _ = 1, 2 do d.same(want[i + 1], g(i64(i), x), 'compiled ' .. i) end
    end
    d.same(mc.stack(want, 1), mc.vmap(f, { in_axes = { 1, false } })(mc.arange(0, 4, 1, { dtype = 'i64' }), x), 'vmap')
    d.check('switch', function(t) return mc.sum(mc.switch(i64(3), list, t) * t) end, x)
    assert.truthy(
      support.message(mc.switch, 1.5, list, x):find('switch: the index is 1.5; give a whole number from 1', 1, true))
    assert.truthy(support.message(mc.switch, mc.tensor(1.5), list, x):find('switch: the index is f64[]@cpu', 1, true))
    assert.truthy(support.message(mc.switch, 1, {}):find('switch: the second argument', 1, true))
  end)
end)

describe('while_loop', function()
  it('runs until the condition fails: Newton iteration, eager, compiled, batched', function()
    d.close(mc.tensor(math.sqrt(2)), newton(mc.tensor(2)).x, 'root', 1e-12)
    compiled('newton', newton, { mc.tensor(2) }, { mc.tensor(1e6) }, { mc.tensor(1) })
    batched('newton', function(a) return newton(a).x end, mc.tensor { 2, 9, 1e6, 1 })
    batched('turns', function(a) return newton(a).n end, mc.tensor { 2, 9, 1e6, 1 })
    local captured = mc.compile(function(a, b)
      return mc.while_loop(function(s) return mc.lt(s, b * 10) end, function(s) return s + a * b end, mc.zeros {})
    end)
    for _ = 1, 2 do assert.equal(20, captured(mc.tensor(2), mc.tensor(2)):item()) end
    assert.equal(0, captured(mc.tensor(2), mc.tensor(0)):item())
  end)

  it('is differentiated forwards; in reverse where values are known, or with max_steps', function()
    local function root(a) return newton(a).x end
    local want = mc.tensor(0.5 / math.sqrt(3))
    d.close(want, select(2, mc.jvp(root, { mc.tensor(3) }, { mc.tensor(1) })), 'jvp', 1e-8)
    local j = mc.compile(function(a) return select(2, mc.jvp(root, { a }, { mc.tensor(1) })) end)
    for _ = 1, 2 do d.close(want, j(mc.tensor(3)), 'compiled jvp', 1e-8) end
    d.close(want, mc.grad(root)(mc.tensor(3)), 'grad', 1e-8)
    local text = support.message(function() mc.compile(mc.grad(root))(mc.tensor(3)) end)
    assert.truthy(text:find('grad: mc.while_loop runs an unknown number of turns', 1, true)
      and text:find('give max_steps, or use mc.scan', 1, true), text)
    local g = mc.compile(mc.grad(function(a) return newton(a, { max_steps = 20 }).x end))
    for _ = 1, 2 do d.close(want, g(mc.tensor(3)), 'grad with max_steps', 1e-8) end
    compiled('max_steps', function(a) return newton(a, { max_steps = 3 }) end, { mc.tensor(1e6) }, { mc.tensor(2) })
    assert.equal(3, newton(mc.tensor(1e6), { max_steps = 3 }).n:item())
    d.close(mc.tensor { 1 / 6, 0.25 }, mc.vmap(mc.grad(function(a) return newton(a, { max_steps = 20 }).x end))(
      mc.tensor { 9, 4 }), 'vmap of grad', 1e-8)
  end)

  it('refuses a state that changes and a condition that is no truth value', function()
    local function yes() return true end
    assert.truthy(support.message(mc.while_loop, yes, function(s) return { x = s.x:to 'f32' } end, { x = 1 })
      :find('while_loop: dtype of state.x is f64[]@cpu before the body and f32[]@cpu after it', 1, true))
    assert.truthy(support.message(mc.while_loop, yes, function(s) return { s[1] } end,
      { 1, 2 }):find('while_loop: structure of state[2] is a tensor before the body and missing after it', 1, true))
    assert.truthy(support.message(mc.while_loop, function() return mc.zeros { 2 } end, function(s) return s end,
      1):find('while_loop: the condition returned f64[2]@cpu; it returns one truth value', 1, true))
    assert.truthy(support.message(mc.while_loop, 1, yes, 1):find('while_loop: the first argument is 1', 1, true))
  end)
end)

describe('fori_loop', function()
  it('counts from first to last, with bounds known or not', function()
    assert.equal(120, mc.fori_loop(1, 5, function(i, s) return s * i end, 1):item())
    assert.equal(7, mc.fori_loop(3, 2, function(_, s) return s * 0 end, 7):item())
    compiled('numbers',
      function(x) return mc.fori_loop(1, 4, function(i, s) return mc.cos(s) * i end, x) end, { randn(1, 3) })
    compiled('tensors', function(x, n) return mc.fori_loop(2, n, function(i, s) return mc.cos(s) * i end, x) end,
      { randn(1, 3), i64(5) }, { randn(2, 3), i64(1) })
    d.check('fori_loop',
      function(x) return mc.sum(mc.fori_loop(1, 3, function(i, s) return mc.sin(s) * i + x end, x)) end, randn(4, 3))
    batched('fori_loop',
      function(x) return mc.fori_loop(1, 3, function(i, s) return mc.sin(s) * i + x end, x) end, randn(5, 4, 2))
    assert.truthy(support.message(mc.fori_loop, 1.5, 3, function() end, 1):find('fori_loop: bound 1 is 1.5', 1, true))
  end)
end)

describe('scan', function()
  it('carries trees along rows, forwards and backwards', function()
    local last, ys = mc.scan(function(c, x) return c + x, { before = c, x2 = x * 2 } end, 0, mc.tensor { 1, 2, 3 })
    d.same({ mc.tensor(6), mc.tensor { 0, 1, 3 }, mc.tensor { 2, 4, 6 } }, { last, ys.before, ys.x2 }, 'forwards')
    local _, back = mc.scan(function(c, x) return c + x, c end, 0, mc.tensor { 1, 2, 3 }, { reverse = true })
    d.same(mc.tensor { 5, 3, 0 }, back, 'backwards')
    local n, none = mc.scan(function(c) return c * 2 end, 1, nil, { length = 10 })
    assert.equal(1024, n:item())
    assert.is_nil(none)
    local empty, rows = mc.scan(function(c, x) return c + mc.sum(x), x * 2 end, 5, mc.zeros { 0, 3 })
    assert.equal(5, empty:item())
    assert.equal('{0, 3}', tostring(rows.shape))
  end)

  it('is the same compiled: recurrent net, ODE by Runge-Kutta, nested loops, captured tensors', function()
    for _, how in ipairs { {}, { reverse = true } } do
      compiled('rnn', function(w, xs) return rnn(w, xs, how) end, { randn(1, 3, 3), randn(2, 6, 3) },
        { randn(3, 3, 3), randn(4, 6, 3) })
    end
    local function orbit(y0, dt)
      local function slope(y) return mc.stack({ y[2], -mc.sin(y[1]) }, 1) end
      return mc.scan(function(y)
        local k1 = slope(y)
        local k2 = slope(y + k1 * (dt / 2))
        local k3 = slope(y + k2 * (dt / 2))
        local k4 = slope(y + k3 * dt)
        local next_y = y + (k1 + 2 * k2 + 2 * k3 + k4) * (dt / 6)
        return next_y, next_y
      end, y0, nil, { length = 25 })
    end
    compiled('orbit', orbit, { mc.tensor { 1, 0 }, mc.tensor(0.1) })
    d.check('orbit', function(t) return mc.sum((orbit(t, 0.1))) end, mc.tensor { 1, 0.3 })
    local function nested(x)
      return (mc.scan(function(c, r)
        local z = mc.fori_loop(1, 3, function(i, s) return mc.sin(s) * i + mc.sum(r * x[1]) end, c)
        return mc.cond(mc.gt(z, 0), function(v) return v * 2 end, function(v) return v - 1 end, z), nil
      end, 0, x))
    end
    compiled('nested', nested, { randn(5, 4, 2) }, { randn(6, 4, 2) })
    d.check('nested', nested, randn(5, 4, 2))
    batched('nested', nested, randn(7, 3, 4, 2))
    local empty = mc.compile(function(x) return mc.scan(function(c, r) return c + mc.sum(r), r * 2 end, 5, x) end)
    for _ = 1, 2 do
      local c, rows = empty(mc.zeros { 0, 3 })
      assert.equal(5, c:item())
      assert.equal('{0, 3}', tostring(rows.shape))
    end
  end)

  it('has derivatives of every order, with and without checkpoint, and maps over batches', function()
    local t = randn(8, 8, 3)
    d.check('rnn', rnn_loss(), t)
    d.check('rnn backwards', rnn_loss { reverse = true }, t, { second = false })
    local want = mc.grad(rnn_loss())(t)
    for _, reverse in ipairs { false, true } do
      local plain, kept = mc.grad(rnn_loss { reverse = reverse }),
        mc.grad(rnn_loss { reverse = reverse, checkpoint = true })
      d.close(plain(t), kept(t), 'checkpoint')
      d.close(plain(t), mc.compile(kept)(t), 'compiled checkpoint')
    end
    d.close(want, mc.jacfwd(rnn_loss())(t), 'jacfwd')
    batched('gradient of rnn', mc.grad(rnn_loss()), randn(9, 3, 8, 3))
    d.close(mc.jacrev(mc.grad(rnn_loss()))(t), mc.hessian(rnn_loss())(t), 'hessian')
  end)

  it('keeps carries and no insides on the way back', function()
    local n, width = 40, 20000
    local function f(x)
      return mc.sum(
        (mc.scan(function(c) return mc.tanh(mc.sin(c) + mc.cos(c) * mc.exp(-c * c)), nil end, x, nil, { length = n })))
    end
    local function peak(g)
      collectgarbage()
      collectgarbage()
      mc.reset_peak_memory()
      local before = mc.memory().tensors
      g(mc.ones { width })
      return (mc.memory().tensor_peak - before) / (8 * width)
    end
    local function unrolled(x)
      for _ = 1, n do x = mc.tanh(mc.sin(x) + mc.cos(x) * mc.exp(-x * x)) end
      return mc.sum(x)
    end
    local a, b = peak(mc.grad(f)), peak(mc.grad(unrolled))
    assert(a < 4 * n and b > 7 * n, ('%g and %g tensors at the peak'):format(a, b))
  end)

  it('refuses a carry that changes, rows that differ, and a body that writes into its arguments', function()
    local x = mc.tensor { 1, 2, 3 }
    assert.truthy(support.message(mc.scan, function(c) return { h = c.h:to 'f32' } end, { h = 0 }, x)
      :find('scan: dtype of carry.h is f64[]@cpu before the step and f32[]@cpu after it; the carry keeps its '
        .. 'structure, shapes and dtypes', 1, true))
    assert.truthy(support.message(mc.scan, function(c, r) return mc.stack({ c, r }, 1) end, 0,
      x):find('scan: shape of carry is f64[]@cpu before the step and f64[2]@cpu after it', 1, true))
    assert.truthy(support.message(mc.scan, function(c) return c end, 0,
      { a = x, b = mc.zeros { 2 } }):find('scan: xs.b has 2 rows, xs.a has 3; they must agree', 1, true))
    assert.truthy(
      support.message(mc.scan, function(c) return c end, 0):find('scan: there are neither xs nor a length', 1, true))
    assert.truthy(support.message(mc.scan, function(c) return c end, 0,
      mc.tensor(1)):find('its first axis is run along', 1, true))
    local text = support.message(function()
      mc.compile(function(t) return mc.scan(function(c, r) return c:add_(r) end, mc.zeros {}, t) end)(x)
    end)
    assert.truthy(text:find('scan: the function writes into operand 1', 1, true), text)
  end)
end)

describe('a function that recurses while it is traced', function()
  it('is an error that names the way out', function()
    local g
    g = mc.grad(function(x) return mc.sum(g(x)) end)
    assert.truthy(support.message(g,
      mc.ones { 2 }):find('recordings are nested; a compiled function calls itself without end', 1, true))
    local function s(x) return (mc.scan(function(c) return s(c), nil end, x, nil, { length = 2 })) end
    assert.truthy(support.message(function() mc.compile(s)(mc.ones { 2 }) end):find('recordings are nested', 1, true))
    assert.truthy(support.message(function() mc.compile(function(x) return mc.sum(x):item() end)(mc.ones { 2 }) end)
      :find('choose with mc.where or mc.cond, repeat with mc.while_loop or mc.scan', 1, true))
  end)
end)
