-- network_checkpoint_spec.lua - scopes: parts of a network that a gradient runs again, with the bits and the memory.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local nn = mc.nn

local says = support.says

local WIDTH = 16
--- Blocks with dropout and batch norm inside, in a stack between two layers.
local function network(layers)
  mc.seed(4)
  local list = {}
  for i = 1, layers do
    list[i] = nn.Residual { nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.BatchNorm1d(4 * WIDTH),
      nn.Dropout(0.2), nn.Linear(4 * WIDTH, WIDTH) }
  end
  return nn.Sequential { nn.Linear(3, WIDTH), nn.Sequential(list), nn.Linear(WIDTH, 2) }
end
local function batch_of(rows)
  return { x = mc.randn({ rows, 3 }, { seed = 1, dtype = 'f32' }),
    y = mc.randn({ rows, 2 }, { seed = 2, dtype = 'f32' }) }
end
local function loss(m, b) return nn.mse_loss(m(b.x), b.y) end

--- Loss, gradients and new buffers of a network on a batch.
local function slopes(net, compiled)
  local b = batch_of(6)
  local function f(p, key)
    local results, after = net:with(p, { train = true, key = key }, function() return loss(net, b) end)
    return results[1], after
  end
  local run = mc.value_and_grad(f, { has_aux = true })
  if compiled then run = mc.compile(run) end
  local value, g, after = run(net:parameters(), mc.random.key(7))
  if compiled then value, g, after = run(net:parameters(), mc.random.key(7)) end
  return value:item(), g, after
end

local SCOPES = { blocks = {}, every = { every = 2 }, pattern = { pattern = '^2%.%d+%.inner$' },
  layers = { pattern = 'inner%.1$' }, nested = { pattern = '^2$' } }

describe('a checkpoint scope', function()
  it('changes no bit of loss, gradients and buffers, and no name', function()
    for _, compiled in ipairs { false, true } do
      local want, g, buffers = slopes(network(5), compiled)
      for what, opts in pairs(SCOPES) do
        local net = network(5)
        local scope = nn.checkpoint_scope(net, opts)
        local inner = what == 'nested' and nn.checkpoint_scope(net, {})
        local value, h, after = slopes(net, compiled)
        assert.equal(want, value, what)
        for name, v in pairs(g) do assert.is_true(mc.array_equal(v, h[name]), what .. ': ' .. name) end
        for name, v in pairs(buffers) do assert.is_true(mc.array_equal(v, after[name]), what .. ': ' .. name) end
        local s = scope:statistics()
        assert.equal(#scope.names, s.count)
        assert(s.recomputes >= s.count and s.bytes > 0, what)
        assert(not inner or inner:statistics().count >= 5)
      end
    end
  end)

  it('takes the parts that are asked for, until it is removed', function()
    local net = network(5)
    local function names(opts)
      local scope = nn.checkpoint_scope(net, opts)
      local out = table.concat(scope.names, ' ')
      scope:remove()
      return out
    end
    assert.equal('2.1 2.2 2.3 2.4 2.5', names())
    assert.equal('2.1 2.4', names { every = 3 })
    assert.equal('2.2.inner 2.3.inner', names { pattern = '^2%.[23]%.inner' }) -- not what stands within them too
    local stack = nn.Sequential { nn.Embedding(5, 8), nn.TransformerEncoder(8, 2, 3), nn.Linear(8, 5) }
    assert.equal('2.layers.1 2.layers.2 2.layers.3', table.concat(nn.checkpoint_scope(stack).names, ' '))
    local scope = nn.checkpoint_scope(net)
    nn.no_checkpoint(slopes, net)
    assert.same({ count = 0, bytes = 0, recomputes = 0 }, scope:statistics())
    slopes(net)
    assert.equal(5, scope:statistics().count)
    net:eval()(batch_of(2).x)
    assert.equal(5, scope:statistics().count)
    slopes(net:train())
    assert.equal(10, scope:statistics().count)
    assert.same({}, scope:remove().names)
    slopes(net)
    assert.equal(10, scope:statistics().count)
    says('nn.checkpoint_scope: no part matches "^nothing$"', nn.checkpoint_scope, net, { pattern = '^nothing$' })
    says('the network has no list of blocks; give the option pattern', nn.checkpoint_scope, nn.Linear(2, 2))
    says('budget needs a loss', nn.checkpoint_scope, net, { budget = 1e6 })
    says('nn.checkpoint_scope: the network is 3; give a module', nn.checkpoint_scope, 3)
    local ok = pcall(nn.no_checkpoint, error, 'x')
    assert.is_false(ok)
    scope = nn.checkpoint_scope(net) -- the error ended it
    slopes(net)
    assert.equal(5, scope:statistics().count)
  end)

  it('is that of every step, whose parameters are the same bits', function()
    local nets = { network(4), network(4) }
    nn.checkpoint_scope(nets[2], { every = 2 })
    for _, net in ipairs(nets) do
      local step = nn.Step(net, loss, { optimizer = mc.optim.adamw { lr = 0.01 }, clip = 1, ema = 0.9 })
      for _ = 1, 3 do step(batch_of(6)) end
    end
    local other = nets[2]:state_dict()
    for name, v in pairs(nets[1]:state_dict()) do assert.is_true(mc.array_equal(v, other[name]), name) end
  end)

  it('takes the memory of what it keeps: within 15 % of the count of kept values (nn C23)', function()
    local rows, layers = 1024, 24
    local function arena(opts, f)
      local list = {}
      for i = 1, layers do
        list[i] = nn.Residual { nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH) }
      end
      local net = nn.Sequential { nn.Linear(3, WIDTH), nn.Sequential(list), nn.Linear(WIDTH, 2) }
      if opts then nn.checkpoint_scope(net, opts) end
      return f and f(net) or nn.Step(net, loss, { optimizer = mc.optim.sgd() }):measure(batch_of(rows))
    end
    local unit = rows * WIDTH * 4
    local none, all = arena(), arena {}
    -- a block keeps its input (1), the input of the activation and its result (8); where all run again, the inside of
    -- one and its cotangents stand beside the inputs (18), else that of one when the others are gone
    local kept = 9 * layers * unit
    assert(math.abs(none / kept - 1) < 0.15, none / kept)
    for every, parts in pairs { [1] = 24, [2] = 12, [3] = 8, [6] = 4 } do
      local want = (parts + 9 * (layers - parts) + (every == 1 and 18 or 4)) * unit
      local got = every == 1 and all or arena { every = every }
      assert(math.abs(got / want - 1) < 0.15, ('every %d: %g'):format(every, got / want))
    end
    -- a budget takes the fewest blocks with which it is kept
    local budget = (none + all) / 2
    arena(nil, function(net)
      local scope = nn.checkpoint_scope(net, { budget = budget, loss = loss, batch = batch_of(rows) })
      assert(scope.bytes <= budget and scope.bytes > 0.85 * budget, scope.bytes / budget)
      local step = nn.Step(net, loss, { optimizer = mc.optim.sgd() })
      assert.equal(scope.bytes, step:measure(batch_of(rows)))
      scope:remove()
      says('bytes with all 24 parts checkpointed, the budget is 1000; give a smaller batch, or accumulate',
        nn.checkpoint_scope, net, { budget = 1000, loss = loss, batch = batch_of(64) })
      local eager = nn.Step(net, loss, { optimizer = mc.optim.sgd(), compile = false })
      says('step:measure: the step is not compiled', eager.measure, eager, batch_of(4))
    end)
  end)

  it('measures a step without making it', function()
    local net = network(3)
    local step = nn.Step(net, loss, { optimizer = mc.optim.sgd { lr = 0.1 }, accumulate = 2 })
    local before = net[1].weight:copy()
    local bytes = step:measure(batch_of(6))
    assert(bytes > 0 and bytes == step:arena())
    assert.is_true(mc.array_equal(before, net[1].weight))
    assert.equal(0, net[2][1].inner[3].num_batches_tracked:item())
    step(batch_of(6))
    local _, info = step(batch_of(6))
    assert.equal(1, info.step)
  end)
end)
