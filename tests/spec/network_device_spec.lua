-- network_device_spec.lua - layers of networks, their derivatives and steps of AdamW on a device (nn W5).
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
end)
