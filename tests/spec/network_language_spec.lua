-- network_language_spec.lua - presets of language models: counts, shapes, first weights, generation from a cache.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local tol = support.load 'tol'
local nn = mc.nn

local says = support.says
local function ids(batch, time, most, key)
  return mc.random.integers { batch, time, low = 0, high = most, key = key or 1 }
end
local SMALL = { vocabulary = 13, width = 16, layers = 3, heads = 4, dropout = 0 }
local function with(more)
  local o = {}
  for k, v in pairs(SMALL) do o[k] = v end
  for k, v in pairs(more) do o[k] = v end
  return o
end

describe('a pre-norm transformer', function()
  it('has the parameters of its preset, without memory for them (nn C24)', function()
    local before = support.tensor_bytes()
    for _, c in ipairs {
      { 'small', { vocabulary = 1000 }, 19427328 },
      { 'base', { vocabulary = 50000, activation = 'swiglu', norm = 'rms', hidden = 3072 }, 151702272 },
      { 'large', {}, 30000 * 1024 + 24 * (12 * 1024 ^ 2 + 13 * 1024) + 2 * 1024 },
      { 'gpt2', nil, 124439808 }, { 'gpt2_medium', nil, 354823168 }, { 'gpt2_large', nil, 774030080 },
      { 'gpt2_xl', nil, 1557611200 },
    } do
      local net = nn.shapes_only(function() return nn.PreNormTransformer(c[1], c[2]) end)
      assert.equal(c[3], net:count(), c[1])
    end
    assert.equal(before, support.tensor_bytes())
  end)

  it('gives logits and, when asked, the inputs of every layer and the last norm', function()
    local x = ids(2, 5, 12)
    for _, o in ipairs { {}, { activation = 'swiglu', norm = 'rms', kv_heads = 2, bias = false, tied = false },
      { positions = 'learned', scale = false, start = 'gpt2' }, { positions = 'none' } } do
      local net = nn.PreNormTransformer(with(o)):eval()
      local logits, none = net(x)
      assert.same({ 2, 5, 13 }, { logits:size() })
      assert.is_nil(none)
      local again, states = net(x, { hidden = true })
      assert.is_true(mc.array_equal(logits, again))
      assert.equal(4, #states)
      for _, s in ipairs(states) do assert.same({ 2, 5, 16 }, { s:size() }) end
      local product = mc.matmul(states[4], net.head.weight.mT)
      local scale = mc.matmul(mc.abs(states[4]), mc.abs(net.head.weight.mT)):max():item()
      local want, got = product:reshape(-1):totable(), logits:reshape(-1):totable()
      for i, v in ipairs(want) do assert.is_nil(tol.compare('ACCUM', 'f32', got[i], v, { n = 16, scale = scale })) end
      local first = mc.take(net.embedding.weight, x:reshape(-1) + 1, 1):reshape(2, 5, 16)
      if o.scale ~= false then first = first * 4 end
      if net.positions then first = first + net.positions.weight[{ { 1, 5 } }] end
      assert.is_true(mc.array_equal(first, states[1]))
      assert.equal(o.tied == false, not rawequal(net.head.weight, net.embedding.weight))
    end
  end)

  it('starts from weights of the stated spread', function()
    local function spread(net, name) return mc.std(net:parameters()[name]):item() end
    local o = { vocabulary = 512, width = 128, layers = 2, heads = 4, key = 3 }
    local a = nn.PreNormTransformer(o)
    o.start = 'gpt2'
    local b = nn.PreNormTransformer(o)
    -- standard deviations of n numbers are known to 1 / sqrt(2 n): 0.6 % of 128^2, here within 5 of them
    for _, c in ipairs {
      { a, 'embedding.weight', 0.02 }, { a, 'blocks.layers.1.self_attn.q_proj.weight', 128 ^ -0.5 },
      { a, 'blocks.layers.2.self_attn.out_proj.weight', 128 ^ -0.5 },
      { a, 'blocks.layers.1.feed_forward.linear1.weight', (2 / 128) ^ 0.5 },
      { a, 'blocks.layers.2.feed_forward.linear2.weight', (2 / 128) ^ 0.5 },
      { b, 'blocks.layers.1.self_attn.q_proj.weight', 0.02 }, { b, 'blocks.layers.2.self_attn.out_proj.weight', 0.01 },
      { b, 'blocks.layers.1.feed_forward.linear1.weight', 0.02 },
      { b, 'blocks.layers.2.feed_forward.linear2.weight', 0.01 },
    } do
      local got = spread(c[1], c[2])
      assert(math.abs(got / c[3] - 1) < 0.03, ('%s: %g'):format(c[2], got))
    end
    local layers = a.blocks.layers
    assert.is_false(mc.array_equal(layers[1].self_attn.q_proj.weight, layers[2].self_attn.q_proj.weight))
  end)

  it('writes the same tokens from a cache as anew (nn C30)', function()
    for _, o in ipairs { {}, { positions = 'learned' }, { kv_heads = 1, rope = { layout = 'half' } } } do
      local net = nn.PreNormTransformer(with(o)):eval()
      local row, cache = ids(1, 3, 12, 5), {}
      local tokens = row
      for _ = 1, 12 do
        local anew = net(tokens)[{ mc.all, -1 }]
        local cached = net(row, { cache = cache })[{ mc.all, -1 }]
        local next_one = mc.argmax(anew, 2) - 1
        assert.is_true(mc.array_equal(next_one, mc.argmax(cached, 2) - 1))
        row = next_one:reshape(1, 1)
        tokens = mc.concat({ tokens, row }, 2)
      end
    end
  end)

  it('learns, under checkpoints too, and says what is wrong', function()
    mc.seed(2)
    local x = ids(4, 9, 12)
    local net = nn.PreNormTransformer(with { start = 'gpt2' })
    assert.equal(3, #nn.checkpoint_scope(net).names)
    local step = nn.Step(net, function(m, b)
      return nn.cross_entropy(m(b[{ mc.all, { 1, 8 } }]):reshape(-1, 13), b[{ mc.all, { 2, 9 } }]:reshape(-1))
    end, { optimizer = mc.optim.adamw { lr = 1e-2 }, clip = 1 })
    local first, last = step(x), nil
    for _ = 1, 60 do last = step(x) end
    assert(first > 2 and last < 0.5 * first, ('%g -> %g'):format(first, last))
    says("preset is 'smal'; choose base, gpt2", nn.PreNormTransformer, 'smal')
    says('(did you mean "small"?)', nn.PreNormTransformer, 'smal')
    says('option "vocab" is unknown; did you mean "vocabulary"?', nn.PreNormTransformer, { vocab = 3 })
    says('tokens are f32[2]@cpu; give [batch, time]', net, mc.zeros { 2, dtype = 'f32' })
    says('2050 positions are asked for, the model has 2048', net, ids(1, 2050, 12))
    says('options are 3; give a table', nn.PreNormTransformer, 'small', 3)
  end)
end)
