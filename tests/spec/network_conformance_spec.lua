-- network_conformance_spec.lua - facts of the specification of networks that span several parts: attention in f32
-- against f64, fused layers, generation with caches.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local nn = mc.nn

local function far(a, b)
  if type(b) ~= 'number' then b = b:to 'f64' end
  return mc.max(mc.abs(a:to 'f64' - b)):item()
end
local function randn(shape, seed) return mc.randn(shape, { seed = seed }) end

--- softmax(q k^T / sqrt(d)) v in f64, for q with several times the heads of k.
local function plain(q, k, v, causal)
  local many = q.shape[2] / k.shape[2]
  if many > 1 then k, v = mc.repeat_each(k, many, 2), mc.repeat_each(v, many, 2) end
  local s = mc.matmul(q, k.mT) / math.sqrt(q.shape[4])
  if causal then
    local i = mc.arange(1, q.shape[3])
    s = mc.where(mc.le(i, i:reshape(-1, 1)), s, -mc.inf)
  end
  return mc.matmul(mc.softmax(s, 4), v)
end

describe('attention', function()
  it('in f32 and bf16 is that of f64, with its gradients (nn C20)', function()
    local cases = { { 65, 32, true, 2 }, { 200, 80, false, 4, 3 } } -- keys, width, causal, queries for one key, factor
    for _, n in ipairs { 1, 63, 64, 65, 200, 2048 } do
      for _, d in ipairs { 32, 64, 80, 128 } do
        for _, causal in ipairs { false, true } do cases[#cases + 1] = { n, d, causal } end
      end
    end
    for i, c in ipairs(cases) do
      local n, d, causal, many, size = c[1], c[2], c[3], c[4] or 1, c[5] or 1
      local q = (randn({ 1, 2 * many, n, d }, i) * size):to 'f32'
      local k, v = randn({ 1, 2, n, d }, i + 50):to 'f32', randn({ 1, 2, n, d }, i + 90):to 'f32'
      local function f(a, b, e) return nn.scaled_dot_product_attention(a, b, e, { causal = causal }) end
      local want = plain(q:to 'f64', k:to 'f64', v:to 'f64', causal)
      assert(far(f(q, k, v), want) < 2e-6 * (1 + mc.max(mc.abs(v)):item()), ('case %d: %g'):format(i, far(f(q, k, v),
        want)))
      local off = far(f(q, k, mc.ones_like(v)), 1)
      assert(off < (size > 1 and 2e-6 or 1e-6), ('case %d: %g'):format(i, off))
      if n <= 200 then
        local w = randn({ 1, 2 * many, n, d }, i + 130)
        local g = mc.grad(function(a, b, e) return mc.sum(f(a, b, e) * w:to 'f32') end, { argnums = { 1, 2, 3 } })(
          q, k, v)
        local h = mc.grad(function(a, b, e) return mc.sum(plain(a, b, e, causal) * w) end, { argnums = { 1, 2, 3 } })(
          q:to 'f64', k:to 'f64', v:to 'f64')
        for j = 1, 3 do assert(far(g[j], h[j]) < 1e-5 * math.max(1, mc.max(mc.abs(h[j])):item()), i .. ' ' .. j) end
        local a, b, e = q:to 'bf16', k:to 'bf16', v:to 'bf16'
        assert(far(f(a, b, e), plain(a:to 'f64', b:to 'f64', e:to 'f64', causal)) < (size > 1 and 2e-2 or 1e-2))
      end
    end
    -- maxima of blocks of keys that fall from 1000 to 0 stay finite
    local k = mc.linspace(1000, 0, 300):reshape(1, 1, 300, 1):to 'f32'
    local y = nn.scaled_dot_product_attention(mc.ones { 1, 1, 2, 1, dtype = 'f32' }, k, k)
    assert(mc.all(mc.isfinite(y)) and far(y, 1000) < 2)
  end)
end)

describe('fused layers', function()
  it('as modules are linear layers and activations one after the other (nn W3)', function()
    for _, act in ipairs { 'relu', 'gelu', 'gelu_tanh', 'silu', 'mish' } do
      local one = nn.MLP(5, { 7, 6, 3 }, { activation = act, key = 4 })
      local two = nn.Sequential { nn.Linear(5, 7), nn[act], nn.Linear(7, 6), nn[act], nn.Linear(6, 3) }
      local params, names = one:parameters(), { ['1'] = '1', ['3'] = '2', ['5'] = '3' }
      local renamed = {}
      for theirs, ours in pairs(names) do
        for _, kind in ipairs { '.weight', '.bias' } do renamed[theirs .. kind] = params[ours .. kind] end
      end
      two:load_state_dict(renamed)
      assert.equal(one:count(), two:count())
      local batch = { x = randn({ 9, 5 }, 3):to 'f32', y = randn({ 9, 3 }, 4):to 'f32' }
      local function loss(net, b) return nn.mse_loss(net(b.x), b.y) end
      local function trained(net)
        local step, out = nn.Step(net, loss, { optimizer = mc.optim.sgd { lr = 0.1 } }), {}
        for k = 1, 3 do out[k] = step(batch) end
        return out, net:parameters()
      end
      assert(far(one(batch.x), two(batch.x)) <= 1e-6, act)
      local a, p = trained(one)
      local b, q = trained(two)
      for k = 1, 3 do assert(math.abs(a[k] - b[k]) < 1e-6, act) end
      for theirs, ours in pairs(names) do assert(far(p[ours .. '.weight'], q[theirs .. '.weight']) < 1e-6, act) end
    end
    assert.equal('{4, 2}', tostring(nn.MLP(3, { 8, 2 }, { activation = 'swiglu' })(mc.zeros({ 4, 3 },
      { dtype = 'f32' })).shape))
    assert.equal('{1, 16, 3}', tostring(nn.Linear(2, 3, { activation = 'relu' })(mc.zeros({ 1, 16, 2 },
      { dtype = 'f32' })).shape))
    for said, f in pairs {
      ["nn.Linear: activation is 'gel'"] = function() nn.Linear(1, 1, { activation = 'gel' }) end,
      ["nn.MLP: activation is 'gel'"] = function() nn.MLP(1, { 1 }, { activation = 'gel' }) end,
      ['nn.MLP: widths are empty'] = function() nn.MLP(1, {}) end,
    } do
      local why = support.message(f)
      assert(why:find(said, 1, true), why)
    end
  end)

  it('are the separate ones (nn C25)', function()
    local at = 0
    local function near(a, b, bound, what)
      local size = math.max(1, mc.max(mc.abs(b)):item())
      assert(far(a, b) <= bound * size, ('%s: %g of %g'):format(what, far(a, b), size))
    end
    for _, act in ipairs { 'none', 'relu', 'gelu', 'gelu_tanh', 'silu', 'swiglu' } do
      for _, s in ipairs { { 1, 17, 63 }, { 63, 1, 18 }, { 17, 63, 2 } } do
        at = at + 1
        local m, k, n = unpack(s)
        if act == 'swiglu' and n % 2 == 1 then n = n + 1 end
        local x, w, b = randn({ m, k }, at), randn({ n, k }, at + 100), randn({ n }, at + 200)
        local f = act == 'none' and function(t) return t end or nn[act]
        local function one(p, q, r) return mc.sum(mc.sin(nn.fuse_linear_activation(p, q, r, act))) end
        local function two(p, q, r) return mc.sum(mc.sin(f(mc.matmul(p, q.T) + r))) end
        for _, dtype in ipairs { 'f32', 'f64' } do
          local p, q, r = x:to(dtype), w:to(dtype), b:to(dtype)
          for _ = 1, 2 do near(nn.fuse_linear_activation(p, q, r, act), f(mc.matmul(p, q.T) + r), 1e-5, act) end
          local all = { argnums = { 1, 2, 3 } }
          local g, h = mc.grad(one, all)(p, q, r), mc.grad(two, all)(p, q, r)
          for j = 1, 3 do near(g[j], h[j], 1e-5, act .. ' gradient') end
        end
        -- a layer norm in front
        local gamma, beta = randn({ k }, at + 300), randn({ k }, at + 400)
        local want = nn.linear(nn.layer_norm(x, k, { weight = gamma, bias = beta }), w, b)
        local how = { bias = b, gamma = gamma, beta = beta }
        if k > 1 then near(nn.fuse_layernorm_linear(x, w, how), want, 1e-12, 'layer norm') end
        for name, t in pairs(how) do how[name] = t:to 'f32' end
        if k > 1 then near(nn.fuse_layernorm_linear(x:to 'f32', w:to 'f32', how), want, 1e-4, 'layer norm f32') end
      end
    end
    for i, how in ipairs { { padding = 1 }, { stride = 2, groups = 2 }, { bias = false, dilation = 2,
      padding_mode = 'circular', padding = 2 } } do
      local conv, norm = nn.Conv2d(4, 6, 3, how), nn.BatchNorm2d(6)
      local x = randn({ 3, 4, 9, 8 }, i):to 'f32'
      for _ = 1, 3 do norm(conv(x + 0.3)) end
      norm:update { weight = randn({ 6 }, 7):to 'f32', bias = randn({ 6 }, 8):to 'f32' }
      conv:eval()
      norm:eval()
      near(nn.fuse_conv_bn_act(conv, norm, 'relu')(x), nn.relu(norm(conv(x))), 1e-5, 'conv')
    end
    for _, act in ipairs { 'none', 'gelu', 'swiglu' } do
      local norm, layer = nn.LayerNorm(8, { bias = act ~= 'gelu' }), nn.Linear(8, 6, { activation = act })
      norm:initialise('', 'normal')
      local x = randn({ 4, 8 }, 9):to 'f32'
      local both = nn.fuse_layernorm_linear(norm, layer)
      near(both(x), layer(norm(x)), 1e-5, 'layer norm as a module')
      assert.equal(norm:count() + layer:count(), both:count())
    end
    assert(support.message(nn.fuse_layernorm_linear, nn.LayerNorm(8), nn.Linear(7, 2)):find(
      'the norm is over [8] and the layer takes 7; both need the same last axis', 1, true))
    assert(support.message(nn.fuse_layernorm_linear, nn.Linear(8, 8), nn.LayerNorm(8)):find(
      'the arguments are Linear and LayerNorm; give nn.LayerNorm and nn.Linear', 1, true))
    local why = support.message(nn.fuse_conv_bn_act, nn.ReLU(), nn.ReLU())
    assert(why:find('give a convolution and a batch norm', 1, true))
    assert(support.message(nn.fuse_conv_bn_act, nn.Conv1d(1, 2, 3), nn.BatchNorm1d(3)):find('2 channels', 1, true))
  end)
end)

describe('generation', function()
  it('with a cache has the tokens of the whole computation, 64 of them (nn C30)', function()
    local net = nn.TransformerEncoder(16, 4, 2, { causal = true, rope = true, kv_heads = 2, norm = 'rms', key = 3 })
    local embed, head = nn.Embedding(13, 16, { key = 4 }), nn.Linear(16, 13, { key = 5 })
    embed:update { weight = embed.weight * 20 }
    local function logits(x) return head(x[{ 1, -1 }]) end
    local slow, fast, caches = { 3, 7 }, { 3, 7 }, { {}, {} }
    local fresh = fast
    for _ = 1, 64 do
      slow[#slow + 1] = mc.argmax(logits(net(embed(mc.tensor({ slow }, { dtype = 'i64' }))))):item() - 1
      local x = embed(mc.tensor({ fresh }, { dtype = 'i64' }))
      for i = 1, 2 do x = net.layers[i](x, { cache = caches[i] }) end
      fresh = { nn.sample_logits(logits(net.norm(x)), { temperature = 0 }):item() }
      fast[#fast + 1] = fresh[1]
    end
    assert.same(slow, fast)
    local kinds = {}
    for _, t in ipairs(slow) do kinds[t] = true end
    assert(next(kinds, (next(kinds))) ~= nil) -- not one token only
  end)

  it('draws as temperature, top_k and top_p say (nn C30)', function()
    local z = mc.log(mc.tensor { 0.1, 0.4, 0.05, 0.3, 0.15 })
    local many = mc.broadcast_to(z, { 20000, 5 })
    local function shares(opts, seed)
      opts.key = mc.random.key(seed or 1)
      local out, t = {}, nn.sample_logits(many, opts)
      for i = 0, 4 do out[i + 1] = mc.mean(mc.eq(t, i):to 'f64'):item() end
      return out
    end
    local function like(want, got)
      for i = 1, 5 do
        local sd = math.sqrt(want[i] * (1 - want[i]) / 20000)
        assert(want[i] == 0 and got[i] == 0 or math.abs(got[i] - want[i]) < 5 * sd + 1e-12, i .. ': ' .. got[i])
      end
    end
    like({ 0.1, 0.4, 0.05, 0.3, 0.15 }, shares {})
    like({ 0, 1, 0, 0, 0 }, shares { top_k = 1 })
    like({ 0, 1, 0, 0, 0 }, shares { temperature = 1e-4 })
    like({ 0, 4 / 7, 0, 3 / 7, 0 }, shares { top_k = 2 })
    -- 0.4 + 0.3 is below 0.75, so the token at the border, 0.15, stays
    like({ 0, 0.4 / 0.85, 0, 0.3 / 0.85, 0.15 / 0.85 }, shares { top_p = 0.75 })
    like({ 0, 4 / 7, 0, 3 / 7, 0 }, shares { top_p = 0.69 })
    like({ 0, 1, 0, 0, 0 }, shares { top_p = 1e-6 })
    local squares = 0.1 ^ 2 + 0.4 ^ 2 + 0.05 ^ 2 + 0.3 ^ 2 + 0.15 ^ 2
    like({ 0.01 / squares, 0.16 / squares, 0.0025 / squares, 0.09 / squares, 0.0225 / squares },
      shares { temperature = 0.5 })
    like({ 0, 4 / 7, 0, 3 / 7, 0 }, shares { top_k = 3, top_p = 0.8 })
    assert.same({ 1, 1 }, mc.tensor(nn.sample_logits(mc.stack { z, z }, { temperature = 0 }):totable()):totable())
    assert(support.message(nn.sample_logits, z, { top_p = 1.5 }):find('top_p is 1.5', 1, true))
  end)
end)
