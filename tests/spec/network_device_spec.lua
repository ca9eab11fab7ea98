-- network_device_spec.lua - layers of networks, their derivatives, steps of AdamW and runs of training on a device
-- (nn W5).
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local device = support.load 'device'
local nn = mc.nn

local function randn(shape, seed) return mc.randn(shape, { seed = seed, dtype = 'f32' }) end

--- Largest difference in units of the largest number, and of 1 at least.
local function far(want, got)
  assert.equal(tostring(want.shape), tostring(got.shape))
  return mc.max(mc.abs(got:to 'cpu' - want)):item() / math.max(1, mc.max(mc.abs(want)):item())
end

local CASES = {
  { 'gelu', function(x) return nn.gelu(x) end, { { 7, 33 } } },
  { 'gelu by tanh', function(x) return nn.gelu_tanh(x) end, { { 7, 33 } } },
  { 'a linear layer with gelu', function(x, w, b) return nn.fuse_linear_activation(x, w, b, 'gelu') end,
    { { 9, 17 }, { 20, 17 }, { 20 } } },
  { 'a layer norm', function(x, w, b) return nn.layer_norm(x, 48, { weight = w, bias = b }) end,
    { { 6, 48 }, { 48 }, { 48 } } },
  { 'attention', function(q, k, v) return nn.scaled_dot_product_attention(q, k, v) end,
    { { 2, 2, 33, 8 }, { 2, 2, 21, 8 }, { 2, 2, 21, 8 } } },
  { 'causal attention', function(q, k, v) return nn.scaled_dot_product_attention(q, k, v, { causal = true }) end,
    { { 1, 2, 33, 8 }, { 1, 2, 33, 8 }, { 1, 2, 33, 8 } } },
}

describe('on a device', function()
  for _, c in ipairs(CASES) do
    it('gives what the CPU gives, derivatives too: ' .. c[1], function()
      local name, why = device.name()
      if not name then return pending(why) end
      mc.scope(function()
        local x, there = {}, {}
        for i, shape in ipairs(c[3]) do
          x[i] = randn(shape, i)
          there[i] = x[i]:to(name)
        end
        local g = randn(c[2](unpack(x)).shape, 9)
        local function all(cotangent, ...)
          local y, back = mc.vjp(c[2], ...)
          return { y, back(cotangent) }
        end
        local want, got = all(g, unpack(x)), all(g:to(name), unpack(there))
        for i, t in ipairs(want) do
          assert.equal(name, got[i].device)
          assert(far(t, got[i]) < 1e-5, ('result %d: %g'):format(i, far(t, got[i])))
        end
      end)
    end)
  end

  it('steps of AdamW take a network with dropout to the same parameters', function()
    local name, why = device.name()
    if not name then return pending(why) end
    local function trained(where, more)
      mc.seed(4)
      local net = nn.Sequential { nn.Linear(6, 16), nn.GELU(), nn.Dropout(0.2), nn.LayerNorm(16), nn.Linear(16, 3) }
        :to(where)
      local batch = { x = randn({ 32, 6 }, 1):to(where),
        y = mc.random.integers { 32, low = 0, high = 2, key = 2 }:to(where) }
      local step = nn.Step(net, function(m, b) return nn.cross_entropy(m(b.x), b.y) end,
        { optimizer = mc.optim.adamw { lr = 1e-3 }, clip = 1, accumulate = more and 2 or 1, ema = more and 0.9 or nil })
      local losses = {}
      for k = 1, 5 do losses[k] = step(batch) end
      return losses, net:parameters()
    end
    for _, more in ipairs { false, true } do
      local losses, params = trained('cpu', more)
      local others, there = trained(name, more)
      for k, v in ipairs(losses) do assert(math.abs(v - others[k]) < 1e-5 * v, k) end
      for k, t in pairs(params) do
        assert.equal(name, there[k].device)
        assert(far(t, there[k]) < 1e-4, ('%s: %g'):format(k, far(t, there[k])))
      end
    end
  end)

  it('a trainer moves the network and its batches, and gives what the CPU gives', function()
    local function fitted(how)
      local set = nn.data.tensors { x = randn({ 12, 4 }, 1), y = mc.arange(0, 11, 1, { dtype = 'i64' }) % 3 }
      local net = nn.Sequential { nn.Linear(4, 8, { key = 1 }), nn.Tanh(), nn.Linear(8, 3, { key = 2 }) }
      if how == 'network' then net:to 'ref:0' end
      local seen = {}
      local trainer = nn.Trainer(net, { train = nn.data.loader(set, { batch = 4 }),
        valid = nn.data.loader(set, { batch = 6 }), epochs = 2, progress = false, key = 3,
        device = how == 'option' and 'ref:0' or nil, optimizer = mc.optim.adamw { lr = 0.01 },
        loss = function(m, b)
          seen[b.x.device] = true
          return nn.cross_entropy(m(b.x), b.y)
        end })
      local history = trainer:fit()
      local _, p = next(net:parameters())
      assert.same({ [p.device] = true }, seen)
      return { history[2].loss, history[2].valid_loss, trainer:evaluate(nn.data.loader(set, { batch = 12 })).loss },
        p.device, net:parameters()
    end
    local want, _, params = fitted()
    for _, how in ipairs { 'option', 'network' } do -- or the network alone says where
      local got, where, there = fitted(how)
      assert.equal('ref:0', where)
      assert.same(want, got)
      for k, t in pairs(params) do assert.is_true(mc.array_equal(t, there[k]:to 'cpu'), k) end
    end
  end)

  it('a compiled update takes its rate as a number', function()
    local function stepped(where)
      local x = mc.ones({ 4 }, { dtype = 'f32', device = where })
      for _, name in ipairs { 'adamw', 'lion', 'sgd' } do
        local opt = mc.optim[name] { lr = 0.1, weight_decay = 0.01 }
        local f = mc.compile(function(p, s, rate) return opt.update(p, { p[1] * 0.3 }, s, rate) end)
        local p, s = { x }, opt.init { x }
        for i = 1, 2 do p, s = f(p, s, 0.1 / i) end
        x = p[1]
      end
      return x:to 'cpu'
    end
    assert.is_true(mc.array_equal(stepped 'cpu', stepped 'ref:0'))
  end)
end)
