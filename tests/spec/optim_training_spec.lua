-- optim_training_spec.lua - optimisers, schedules and clipping against PyTorch over 20 steps; trees, dtypes, in place,
-- compiled, messages.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes()
local mc = require 'mascon'
local tol = support.load 'tol'
local O = mc.optim

local function says(pattern, f) assert.matches(pattern, support.message(f)) end

local function golden()
  local file, bytes = mc.load(support.folder .. '/golden/optim_training.npz'), {}
  for i, b in ipairs(file.index:totable()) do bytes[i] = string.char(b) end
  return file, mc.json.decode(table.concat(bytes))
end

--- Largest difference of two tensors within `units` of the dtype's precision at the size of the wanted one.
local function close(got, want, units, what)
  local size = mc.max(mc.abs(want)):item()
  local wrong = tol.compare('ITERATIVE', 'f64', mc.max(mc.abs(got:to 'f64' - want)):item(), 0,
    { bound = units * tol.kind[got.dtype].eps * size })
  if wrong then error(what .. ': ' .. wrong, 2) end
end

--- Parameters after each step over the gradients [steps, ...].
local function run(opt, p, grads, use)
  local state, out = opt.init(p), {}
  for k = 1, grads.shape[1] do
    local g = grads[k]:to(p.dtype)
    p, state = use(opt, p, g, state)
    out[k] = mc.copy(p):to 'f64'
  end
  return mc.stack(out), state
end
local function update(opt, p, g, state) return opt.update(p, g, state) end

local function title(c) return c.name .. ' ' .. mc.json.encode(c.options) end

describe('the optimisers', function()
  -- an error of one step enters the moments of the next: at most a few units for each of the 20 steps and the ten
  -- operations in one
  local UNITS = 20 * 10
  it('takes groups of an optimiser of one\'s own by its method with', function()
    local function refused(words, ...) assert(support.message(...):find(words, 1, true), words) end
    local function own(options)
      local inner = mc.optim.sgd(options)
      return { name = 'own', options = inner.options, init = inner.init, update = inner.update, with = function(changes)
        return own { lr = changes.lr or options.lr }
      end }
    end
    local nn = mc.nn
    local net, ones = nn.Linear(2, 2, { key = 1 }), mc.ones({ 3, 2 }, { dtype = 'f32' })
    local function square(m, b) return mc.mean(mc.square(m(b))) end
    local weight, bias = net.weight:copy(), net.bias:copy()
    local step = nn.Step(net, square, { optimizer = own { lr = 0.1 }, groups = { { 'bias', lr_factor = 0 } } })
    assert.equal(0.1, step:rate())
    step(ones)
    assert.is_true(mc.array_equal(bias, net.bias))
    assert.is_false(mc.array_equal(weight, net.weight))
    local plain = own { lr = 0.1 }
    plain.with = nil
    refused('changes options of an optimiser without a method for it; give the optimiser with(options)',
      nn.Step, net, square, { optimizer = plain, groups = { { 'bias', lr_factor = 0 } } })
    plain.options = nil
    assert.is_nil(nn.Step(net, square, { optimizer = plain }):rate())
    refused('groups[1] has lr_factor, and the optimiser has no options.lr', nn.Step, net, square,
      { optimizer = plain, groups = { { 'bias', lr_factor = 0 } } })
    local plateau = mc.optim.plateau(1, { patience = 0, factor = 0.5, threshold = 0.1, larger = true })
    local rates = {}
    for i, v in ipairs { 1, 1.05, 1.2, 1.25, 1.4 } do rates[i] = plateau:update(v) end
    assert.same({ 1, 0.5, 0.5, 0.25, 0.25 }, rates) -- better is above best (1 + threshold)
    refused('plateau lowers a rate, and the optimiser has no options.lr', nn.Step, net, square,
      { optimizer = plain, plateau = {} })
    plain.init = nil
    refused('nn.Step: optimizer is a table; give one of mc.optim', nn.Step, net, square, { optimizer = plain })
  end)

  it('prints with its options', function()
    assert.equal('sgd { dampening = 0, lr = 0.1, maximize = false, momentum = 0, nesterov = false, weight_decay = 0 }',
      tostring(mc.optim.sgd { lr = 0.1 }))
    assert(tostring(mc.optim.lookahead(mc.optim.adam { lr = mc.optim.cosine(1, { steps = 2 }) }))
      :find('^lookahead%(adam {.* betas = { 0.9, 0.999 }, .*lr = a schedule'))
  end)

  it('take the steps of PyTorch, in f64 and in f32', function()
    local file, index = golden()
    for _, c in ipairs(index.optimizers) do
      for _, dtype in ipairs { 'f64', 'f32' } do
        close(run(O[c.name](c.options), file.start:to(dtype), file.grads, update):to(dtype), file[c.array], UNITS,
          title(c) .. ' ' .. dtype)
      end
    end
  end)
  it('leave their arguments alone, and give the same bits in place and compiled', function()
    local file, index = golden()
    for _, c in ipairs(index.optimizers) do
      local opt = O[c.name](c.options)
      local want = run(opt, file.start, file.grads, function(o, p, g, state)
        local p0, g0, s0 = mc.copy(p), mc.copy(g), state.step:item()
        local q, after = o.update(p, g, state)
        assert.is_true(mc.array_equal(p, p0) and mc.array_equal(g, g0) and state.step:item() == s0)
        assert.equal(s0 + 1, after.step:item())
        return q, after
      end)
      local compiled = mc.compile(opt.update)
      assert.is_true(mc.array_equal(want,
        (run(opt, file.start, file.grads, function(_, p, g, s) return compiled(p, g, s) end))), title(c))
      assert.equal(1, compiled.traces, title(c))
      local inside = mc.copy(file.start)
      local got = run(opt, inside, file.grads, function(o, p, g, state)
        o.step(p, g, state)
        return p, state
      end)
      assert.is_true(mc.array_equal(want, got), title(c))
      assert.is_true(mc.array_equal(inside, want[-1]))
    end
  end)
  it('walk trees, and treat each leaf as if alone', function()
    local file = golden()
    local opt = O.adamw { lr = 0.05 }
    local tree = { layers = { { w = file.start, b = file.start[1] }, { w = file.start[2] } } }
    local state = opt.init(tree)
    for k = 1, 5 do
      tree, state =
        opt.update(tree, { layers = { { w = file.grads[k], b = file.grads[k][1] }, { w = file.grads[k][2] } } }, state)
    end
    local want = run(opt, file.start, file.grads['1:5'], update)[-1]
    assert.is_true(mc.array_equal(tree.layers[1].w, want))
    assert.is_true(mc.array_equal(tree.layers[1].b, want[1]))
    assert.is_true(mc.array_equal(tree.layers[2].w, want[2]))
  end)
  it('keep halves in f32 between the steps', function()
    for _, dtype in ipairs { 'f16', 'bf16' } do
      local opt = O.adam { lr = 0.1 }
      local p = mc.tensor({ 1, -2 }, { dtype = dtype })
      local q, state = opt.update(p, mc.tensor({ 0.5, 0.25 }, { dtype = dtype }), opt.init(p))
      assert.equal(dtype, q.dtype)
      assert.equal('f32', state.m.dtype)
      assert.is_true(mc.array_equal(q, (mc.tensor({ 1, -2 }, { dtype = 'f32' }) - 0.1):to(dtype)))
    end
  end)
  it('take the rate as an argument or as a schedule, without a new trace', function()
    local opt, scheduled = O.sgd { lr = 1 }, O.sgd { lr = O.step_decay(1, { size = 2, gamma = 0.5 }) }
    local compiled, by_step = mc.compile(opt.update), mc.compile(scheduled.update)
    local g = mc.ones { 2 }
    local p, q = mc.zeros { 2 }, mc.zeros { 2 }
    local state, other = opt.init(p), scheduled.init(q)
    for k = 1, 6 do
      p, state = compiled(p, g, state, 0.5 ^ math.floor((k - 1) / 2))
      q, other = by_step(q, g, other)
      assert.is_true(mc.array_equal(p, q))
    end
    assert.equal(-3.5, p[1]:item())
    assert.equal(1, compiled.traces)
    assert.equal(1, by_step.traces)
    local r = opt.update(mc.zeros { 2 }, g, opt.init(g), mc.tensor(0.25))
    assert.equal(-0.25, r[1]:item())
  end)
  it('go on from a state that was stored as plain lists', function()
    local file = golden()
    local opt = O.adam { lr = 0.05, amsgrad = true }
    local want = run(opt, file.start, file.grads, update)
    local p, state = file.start, opt.init(file.start)
    for k = 1, 20 do
      p, state = opt.update(p, file.grads[k], state)
      local kept = mc.json.decode(mc.json.encode { step = state.step:item(), m = state.m:totable(),
        v = state.v:totable(), v_max = state.v_max:totable() })
      state = { step = mc.tensor(kept.step), m = mc.tensor(kept.m), v = mc.tensor(kept.v),
        v_max = mc.tensor(kept.v_max) }
    end
    assert.is_true(mc.array_equal(p, want[-1]))
  end)
  it('lower a loss that they can', function()
    for name, options in pairs { sgd = { lr = 0.1, momentum = 0.9 }, adam = { lr = 0.1 }, adamw = { lr = 0.1,
      weight_decay = 0 }, rmsprop = { lr = 0.02 }, adagrad = { lr = 1 }, lion = { lr = 0.01, betas = { 0.9, 0.9 } } } do
      local opt = O[name](options)
      local x, at = mc.tensor { 3, -2 }, mc.tensor { 1, 1 }
      local state = opt.init(x)
      for _ = 1, 500 do x, state = opt.update(x, (x - at) * 2, state) end
      assert(mc.max(mc.abs(x - at)):item() < 0.03, name)
    end
  end)
  it('name what does not fit', function()
    local opt = O.adam()
    local p = { a = mc.zeros { 2 }, b = { mc.zeros { 3 } } }
    local state = opt.init(p)
    says('optim.adam: grads.b%[1%] is f64%[4%]@cpu, params.b%[1%] is f64%[3%]@cpu; both need the same shapes',
      function() opt.update(p, { a = mc.zeros { 2 }, b = { mc.zeros { 4 } } }, state) end)
    says('optim.adam: grads.b is nil, params.b is a table; both need the same structure',
      function() opt.update(p, { a = mc.zeros { 2 } }, state) end)
    says('optim.adam: grads.c has no counterpart in params',
      function() opt.update(p, { a = mc.zeros { 2 }, b = { mc.zeros { 3 } }, c = mc.zeros { 1 } }, state) end)
    says('optim.adam: state is nil; give what init or the last update gave', function() opt.update(p, p) end)
    says('optim.adam: params.a is i64%[2%]@cpu; parameters are f16, bf16, f32 or f64',
      function() opt.init { a = mc.zeros({ 2 }, { dtype = 'i64' }) } end)
    says('optim.adam: params.a is 3; give tensors', function() opt.init { a = 3 } end)
    says('optim.adam: option "beta" is unknown; did you mean "betas"', function() O.adam { beta = 1 } end)
    says('optim.adam: option betas%[1%] is 1; it must be number >= 0 and < 1',
      function() O.adam { betas = { 1, 0.9 } } end)
    says('optim.adam: option lr is %-1; it must be number >= 0', function() O.adam { lr = -1 } end)
    says('optim.sgd: nesterov needs momentum > 0', function() O.sgd { nesterov = true } end)
    says('mc.optim.adams: there is no such name; did you mean mc.optim.adam', function() local _ = O.adams end)
  end)
end)

describe('a training step', function()
  local function loss(p, x, y)
    local h = mc.tanh(mc.matmul(x, p.first.w) + p.first.b)
    return mc.mean(mc.square(mc.matmul(h, p.second.w) + p.second.b - y))
  end
  local function parameters()
    return {
      first = { w = mc.random.normal({ 2, 16 }, { key = 1, dtype = 'f32' }), b = mc.zeros({ 16 }, { dtype = 'f32' }) },
      second = { w = mc.random.normal({ 16, 1 }, { key = 2, dtype = 'f32' }) * 0.25,
        b = mc.zeros({ 1 }, { dtype = 'f32' }) },
    }
  end
  local function batch(k)
    local x = mc.random.uniform({ 64, 2 }, { low = -1, high = 1, key = 100 + k, dtype = 'f32' })
    return x, mc.sin(x['..., 1:1'] * 3) * x['..., 2:2']
  end
  it('is one plan with its derivatives, clipping and schedule, and the same bits as without', function()
    local opt = O.adamw { lr = O.one_cycle(0.02, { steps = 300 }) }
    local derive = mc.value_and_grad(loss)
    local function step(params, state, x, y)
      local value, grads = derive(params, x, y)
      grads = O.clip_norm(grads, 1)
      params, state = opt.update(params, grads, state)
      return params, state, value
    end
    local compiled = mc.compile(step)
    local p, s = parameters(), opt.init(parameters())
    local q, r = parameters(), opt.init(parameters())
    local first, last, value
    for k = 1, 12 do
      local x, y = batch(k)
      p, s, value = step(p, s, x, y)
      q, r, last = compiled(q, r, x, y)
      assert.equal(value:item(), last:item(), k)
      assert.is_true(mc.array_equal(p.first.w, q.first.w))
      first = first or value:item()
    end
    for k = 13, 300 do
      local x, y = batch(k)
      q, r, last = compiled(q, r, x, y)
    end
    assert.equal(1, compiled.traces)
    assert.is_true(last:item() < first / 4)
    assert.equal(300, r.step:item())
  end)
end)

describe('the schedules', function()
  it('give the rates of PyTorch', function()
    local file, index = golden()
    for _, c in ipairs(index.schedules) do
      local rate
      if c.name == 'warmup' then
        rate = O.warmup(O.step_decay(0.4, { size = 5, gamma = 0.5 }), c.options)
      else
        rate = O[c.name](0.4, c.options)
      end
      local got = {}
      for k = 0, 29 do got[k + 1] = rate(k) end
      close(mc.tensor(got), file[c.array], 30 * 4, title(c)) -- PyTorch multiplies its way there
      local many = {}
      for k = 0, 29 do many[k + 1] = rate(mc.tensor(k)):item() end
      assert.same(got, many)
    end
  end)
  it('stay at their end', function()
    assert.equal(0.25, O.cosine(1, { steps = 5, least = 0.25 })(90))
    assert.equal(0.5, O.warmup(0.5, { steps = 3 })(90))
    assert.equal(0.5, O.constant(0.5)(3))
  end)
  it('say what is missing', function()
    says('optim.cosine: option steps is missing; give the length of the way down', function() O.cosine(1) end)
    says('optim.step_decay: option size is missing', function() O.step_decay(1, {}) end)
    says('optim.one_cycle: option steps is 1; it must be integer >= 2', function() O.one_cycle(1, { steps = 1 }) end)
    says('optim.cosine: lr is %-1; it must be number >= 0', function() O.cosine(-1, { steps = 3 }) end)
  end)
end)

describe('clipping', function()
  it('bounds the norm of all gradients together, and leaves small ones', function()
    local g = { mc.tensor { 3, 0 }, { b = mc.tensor({ 4 }, { dtype = 'f32' }) } }
    local clipped, norm = O.clip_norm(g, 1)
    assert.equal(5, norm:item())
    assert.equal('f32', clipped[2].b.dtype)
    close(O.global_norm(clipped), mc.tensor(1), 2 ^ 33, 'norm') -- within the 1e-6 of the formula
    clipped, norm = O.clip_norm(g, 10)
    assert.is_true(mc.array_equal(clipped[1], g[1]) and norm:item() == 5)
    assert.equal(4, O.global_norm(g, { ord = math.huge }):item())
    close(O.global_norm(g, { ord = 1 }), mc.tensor(7), 4, 'sum')
    assert.equal(0, O.global_norm({}):item())
  end)
  it('limits values', function()
    assert.same({ -1, 0.5, 1 }, O.clip_value(mc.tensor { -9, 0.5, 2 }, 1):totable())
    says('optim.clip_norm: max_norm is nil; it must be number >= 0', function() O.clip_norm(mc.zeros { 1 }) end)
  end)
  it('compiles', function()
    local f = mc.compile(function(g) return (O.clip_norm(g, 1)) end)
    for k = 1, 3 do
      local g = { a = mc.tensor { k, 2, 3 } }
      assert.is_true(mc.array_equal(O.clip_norm(g, 1).a, f(g).a))
    end
  end)
end)

it('leaves no tensor behind', function() assert.equal(BEFORE, support.tensor_bytes()) end)
