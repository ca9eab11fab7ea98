-- network_outside_spec.lua - what steps of training and compiled networks read outside of themselves: variables,
-- tables, other networks, fields of modules.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local nn = mc.nn

local says = support.says

describe('a step', function()
  it('reads variables outside the network and fields of modules at each call', function()
    local xs = mc.ones({ 4, 3 }, { dtype = 'f32' })
    local Own = nn.Module 'Own'
    function Own:init() self.inner, self.k = nn.Linear(3, 1, { key = 1 }), 1 end
    function Own:forward(b) return self.inner(b) * self.k end
    local net, factor, t, w, on, teacher = Own(), 1, { k = 1 }, mc.ones({}, { dtype = 'f32' }), false, nn.Linear(3, 1)
    local function measure(m, b)
      local z = mc.mean(m(b)) * factor * t.k * w
      return (on and z * 2 or z) + mc.mean(teacher(b)) * 0
    end
    for _, many in ipairs { 1, 2 } do
      local step = nn.Step(net, measure, { optimizer = mc.optim.sgd { lr = 0 }, accumulate = many })
      local first = step(xs)
      local function grown(times)
        local now = select(2, step(xs)).own
        assert(math.abs(now / first - times) < 1e-5 * times, now / first)
      end
      grown(1)
      factor = 3
      grown(3)
      factor, t.k = 2, 5
      grown(10)
      local traces = step.compiled[many].traces
      factor = 7
      grown(35)
      assert.equal(traces, step.compiled[many].traces) -- a number that changes is an argument
      t.k, factor = 1, 1
      w:fill_(4)
      grown(4)
      w, on = mc.ones({}, { dtype = 'f32' }), true
      grown(2)
      on, net.k = false, 6
      grown(6)
      net.k = 7
      grown(7)
      traces = step.compiled[many].traces
      for k = 8, 11 do
        net.k = k
        grown(k)
      end
      assert.equal(traces, step.compiled[many].traces) -- a number of a module is an argument, too
      net.k = 1
      local remove = net:hook(function(_, z) return z * 8 end)
      grown(8)
      remove()
      grown(1)
    end
  end)

  it('reads fields of tables that hold the network, and of more variables than one function may have', function()
    local net, xs, code = nn.Linear(3, 1), mc.ones({ 4, 3 }, { dtype = 'f32' }), 'local out = {}\n'
    for p = 1, 3 do
      local names = {}
      for i = 1, 40 do names[i] = ('v%d_%d'):format(p, i) end
      code = ('%sdo local %s = %s1\nout[%d] = function() return %s end\nout[%d] = function(x) %s = x end end\n'):format(
        code, table.concat(names, ', '), ('1, '):rep(39), p, table.concat(names, ' + '), p + 3, names[40])
    end
    local some = assert(loadstring(code .. 'return out'))()
    local one, two, three = some[1], some[2], some[3]
    local t = { net = net, k = 1, seen = {}, inner = { k = 1 } }
    local step = nn.Step(net, function(m, b)
      local z = mc.mean(m(b)) * (one() + two() + three()) / 120 * t.k * t.inner.k
      return t.double and z * 2 or z
    end, { optimizer = mc.optim.sgd { lr = 0 } })
    local first = step(xs)
    local function grown(times) assert(math.abs(step(xs) / first - times) < 1e-5 * times) end
    for i = 1, 3 do t.seen[i] = step(xs) end
    assert.equal(1, step.compiled[1].traces) -- what the loss does not name may change
    for p = 1, 3 do
      some[p + 3](121)
      grown(1 + p)
    end
    t.k = 3
    grown(12)
    t.inner.k = 2
    grown(24)
    t.inner, t.double = { k = 1 }, true
    grown(24)
    t = { net = net, k = 5, inner = { k = 1 } }
    grown(20)
    -- a module that is an argument
    local f = mc.compile(function(m, b) return m(b) end)
    for _, m in ipairs { net, nn.Linear(3, 1), net } do
      for v = 1, 2 do
        m.bias = mc.ones { 1 } * v
        assert.is_true(mc.array_equal(m(xs), f(m, xs)))
      end
    end
  end)

  it('says which number means a trace at each step', function()
    local net, xs, notes = nn.Sequential { nn.Linear(3, 3), nn.Dropout(0.1) }, mc.ones({ 4, 3 }, { dtype = 'f32' }), {}
    local step = nn.Step(net, function(m, b) return mc.mean(m(b)) end, { optimizer = mc.optim.sgd { lr = 0 } })
    for i = 1, 36 do
      net[2].p = i / 100
      notes[#notes + 1] = select(2, step(xs)).note
    end
    assert.equal(1, #notes)
    assert(notes[1]:find('2.p has had 30 values, and each means a new trace of the step', 1, true), notes[1])
  end)

  it('reads other networks and the rates of optimisers at each call', function()
    local xs = mc.randn({ 8, 3 }, { seed = 1 }):to 'f32'
    local losses = {}
    for k, compiled in ipairs { true, false } do
      local maker, judge = nn.Linear(3, 3, { key = 1 }), nn.Linear(3, 1, { key = 2 })
      local inner = mc.optim.sgd { lr = 0.1 }
      local make = nn.Step(maker, function(m, b) return mc.mean(judge(m(b))) end, { optimizer = inner,
        compile = compiled })
      local tell = nn.Step(judge, function(m, b) return mc.mean(m(b)) - mc.mean(m(maker(b))) end,
        { optimizer = mc.optim.sgd { lr = 0.5 }, compile = compiled })
      losses[k] = {}
      for i = 1, 4 do
        losses[k][2 * i - 1], losses[k][2 * i] = make(xs), tell(xs)
      end
      inner.options.lr = 0
      local before = maker.weight:copy()
      make(xs)
      assert(mc.array_equal(before, maker.weight))
    end
    for i, v in ipairs(losses[1]) do assert(math.abs(v - losses[2][i]) < 1e-5, i) end
    -- a compiled function, too
    local net, other = nn.Sequential { nn.Linear(3, 2), nn.BatchNorm1d(2), nn.Dropout(0) }, nn.Linear(3, 1)
    local f = mc.compile(function(t) return mc.sum(net(t)) + mc.sum(({ other })[1](t)) end)
    local function agree() assert(math.abs(f(xs):item() - (mc.sum(net(xs)) + mc.sum(other(xs))):item()) < 1e-4) end
    net:eval()
    for _ = 1, 2 do agree() end
    net:update { ['1.weight'] = mc.ones { 2, 3 } }
    agree()
    local traces = f.traces
    nn.Step(net, function(m, b) return mc.mean(m(b)) end, { optimizer = mc.optim.sgd { lr = 1 } })(xs)
    agree()
    other.bias:fill_(3)
    agree()
    assert.equal(traces, f.traces)
    net[1] = nn.Linear(3, 2)
    agree()
    net[2].eps = 1
    agree()
    net:hook(function(_, z) return z * 2 end)
    agree()
  end)

  it('refuses draws without a key, which would be the same at each step', function()
    local xs = mc.ones({ 4, 3 }, { dtype = 'f32' })
    local function step(draw, compiled)
      return nn.Step(nn.Linear(3, 1), function(m, b)
        return mc.mean(m(b + draw(m, b)))
      end, { optimizer = mc.optim.sgd { lr = 0 }, compile = compiled })
    end
    local function loose(_, b) return mc.random.normal(b.shape, { dtype = 'f32' }) end
    local function keyed(m, b) return mc.random.normal(b.shape, { dtype = 'f32', key = m:next_key() }) end
    says('nn.Step: the loss draws random numbers without a key, and a compiled step would draw the same ones each '
      .. 'time; give the draws key = net:next_key()', step(loose), xs)
    local plain, s = step(loose, false), step(keyed)
    assert(plain(xs) ~= plain(xs) and s(xs) ~= s(xs))
  end)

  it('sees another module, function or schedule in the place of one, and what was empty', function()
    local xs = mc.ones({ 4, 3 }, { dtype = 'f32' })
    local target, other, measure, rate, list = nn.Linear(3, 1, { key = 1 }), nn.Linear(3, 1, { key = 2 }), nn.mse_loss,
      mc.optim.constant(1), {}
    package.loaded.network_outside_settings = { weight = 1 }
    local function loss(m, b)
      local z = measure(m(b), target(b)) * rate(3) * require('network_outside_settings').weight
      for _, k in ipairs(list) do z = z * k end
      return z
    end
    local net = nn.Linear(3, 1, { key = 3 })
    local step = nn.Step(net, loss, { optimizer = mc.optim.sgd { lr = 0 } })
    local f = mc.compile(function(b) return loss(net, b) end)
    local function agree()
      local want = loss(net, xs):item()
      for _, got in ipairs { (step(xs)), f(xs):item() } do assert(math.abs(got - want) < 1e-5 * want, got / want) end
    end
    agree()
    target, other = other, target
    agree()
    target.bias = mc.ones { 1 } * 5
    agree()
    target = other
    agree()
    measure = nn.huber_loss
    agree()
    rate = mc.optim.constant(7)
    agree()
    package.loaded.network_outside_settings.weight = 2
    agree()
    list[1] = 3
    agree()
    package.loaded.network_outside_settings = nil
  end)

  it('that counts in a variable outside is refused by its name, and leaves the variable', function()
    local n = 0
    local step = nn.Step(nn.Linear(3, 1), function(m, b)
      n = n + 1
      return mc.mean(m(b)) * n
    end, { optimizer = mc.optim.sgd() })
    for _ = 1, 2 do says('the function changes n, which was 0; a replay would not do that', step, mc.ones { 4, 3 }) end
    assert.equal(0, n)
  end)

  it('refuses moments that cannot leave a loop or map, and draws that would be the same in its turns', function()
    local xs = mc.broadcast_to(mc.randn({ 1, 5, 3 }, { seed = 1, dtype = 'f32' }), { 4, 5, 3 }):copy()
    local ways = {
      vmap = function(f, b) return mc.vmap(f)(b) end,
      scan = function(f, b) return (select(2, mc.scan(function(c, t) return c, f(t) end, 0, b))) end,
      while_loop = function(f, b)
        return mc.while_loop(function(s) return s.i < 3 end, function(s) return { i = s.i + 1, x = f(s.x) } end,
          { i = 0, x = b[1] }, { max_steps = 3 }).x
      end,
    }
    local function trial(net, f, compiled)
      local step = nn.Step(net, f, { optimizer = mc.optim.sgd { lr = 0 }, compile = compiled })
      return function() return (step(xs)) end
    end
    local function inner(part) return nn.Sequential { nn.Linear(3, 3, { key = 1 }), part } end
    for name, over in pairs(ways) do
      local function loss(m, b) return mc.mean(mc.square(over(m, b))) end
      for _, compiled in ipairs { true, name ~= 'while_loop' and false or nil } do
        says('buffer running_mean changes within mc.' .. name,
          trial(inner(nn.BatchNorm1d(3)), loss, compiled))
        says('random numbers within mc.' .. name, trial(inner(nn.Dropout(0.5)), loss, compiled))
      end
    end
    says('(in 2, BatchNorm1d)', trial(inner(nn.BatchNorm1d(3)), function(m, b)
      return mc.mean(mc.square(mc.grad(function(t) return mc.sum(mc.square(m(t))) end)(b[1])))
    end))
    for _, compiled in ipairs { true, false } do
      local rows, net = nil, inner(nn.Dropout(0.5)) -- a key for each turn
      assert.is_true(trial(net, function(m, b)
        local function one(t, key) return (m:apply(m:parameters(), t, { train = true, key = key })) end
        rows = mc.vmap(one)(b, mc.random.keys(m:next_key(), 4))
        return mc.mean(mc.square(rows[1] - rows[2]))
      end, compiled)() > 0)
      local sealed = nn.Checkpoint(inner(nn.BatchNorm1d(3)))
      trial(sealed, function(m, b) return mc.mean(mc.square(m(b[1]))) end, compiled)()
      assert.equal(1, sealed.inner[2].num_batches_tracked:item())
    end
  end)

  it('leaves other networks, and parts in evaluation, in their modes', function()
    local xs = mc.randn({ 20, 3 }, { seed = 1 }):to 'f32'
    local function make(k)
      return nn.Sequential { nn.Linear(3, 8, { key = k }), nn.Dropout(0.5), nn.BatchNorm1d(8),
        nn.Linear(8, 1, { key = 3 }) }
    end
    for _, compiled in ipairs { true, false } do
      local options = { optimizer = mc.optim.sgd { lr = 0 }, compile = compiled }
      local teacher, net = make(1):eval(), nn.Linear(3, 1, { key = 2 })
      local want = nn.mse_loss(net(xs), teacher(xs)):item()
      local step = nn.Step(net, function(m, b) return nn.mse_loss(m(b), teacher(b)) end, options)
      for _ = 1, 2 do assert(math.abs(step(xs) - want) < 1e-5) end
      assert.equal(0, teacher[3].num_batches_tracked:item())
      teacher[3]:train() -- seen at the next step, and its moments move as they do outside of one
      for k = 1, 2 do
        local other = make(1):eval()
        other[3]:train()
        for _ = 1, k do other(xs) end
        step(xs)
        assert.equal(k, teacher[3].num_batches_tracked:item())
        assert(mc.max(mc.abs(other[3].running_var - teacher[3].running_var)):item() < 1e-5)
      end
      -- a part of the network itself
      net = make(4)
      net[2]:eval()
      net[3]:eval()
      step = nn.Step(net, function(m, b) return mc.mean(mc.square(m(b))) end, options)
      local plain = make(4):eval()
      want = mc.mean(mc.square(plain(xs))):item()
      for _ = 1, 2 do assert(math.abs(step(xs) - want) < 1e-5) end
      assert.equal(0, net[3].num_batches_tracked:item())
      net:eval() -- as a whole: for what is computed outside of steps
      step(xs)
      assert.equal(1, net[3].num_batches_tracked:item())
    end
  end)
end)
