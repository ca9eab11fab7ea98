-- network_step_spec.lua - steps of training: two small transformers with known numbers, accumulation, averages,
-- resuming.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes()
local mc = require 'mascon'
local tol = support.load 'tol'
local splitmix = require 'mascon.array.splitmix'
local nn = mc.nn

local function near(want, got, bound, what)
  local wrong = tol.compare('ITERATIVE', 'f64', got, want, { bound = bound * math.max(1, math.abs(want)) })
  if wrong then error(('%s: %s'):format(what or 'value', wrong), 2) end
end
local says = support.says

-- ---------------------------------------------------------------- the tiny transformers of the specification (3.1)

local T1 = {
  seed = 2024, count = 4656, loss = 3.24993848538, norm = 4.53012962971, sum = -51.9354780203, square = 305.893683406,
  losses = { 3.24993848538, 2.49163225454, 1.71066896173, 1.36441308699, 1.14003190127 }, last = 0.989957322728,
  norms = { 4.53012962971, 3.36983018869, 1.89054416558, 1.89705613291, 1.70208182763 },
  after = { 91.3086709521, 447.265055354 }, emb = { 0.159931542284, -0.442054395612, -0.1636939273 },
  q = { 0.372486976918, -0.25094152089, -0.329480044388 },
  grads = { ['emb.weight'] = 2.1667237, ['blocks.layers.1.self_attn.k_proj.bias'] = 0.1298803453,
    ['blocks.layers.2.feed_forward.linear2.weight'] = 0.869177714, ['blocks.norm.bias'] = 0.4787448002 },
}
local T2 = {
  seed = 2025, count = 4272, loss = 2.79653399761, norm = 5.33092816273, sum = 18.6969303195, square = 213.960449856,
  losses = { 2.79653399761, 2.30534723781, 1.90917466545, 1.6185703712, 1.38436150261 }, last = 1.23210125985,
  norms = { 5.33092816273, 2.41134172358, 1.65544873483, 1.56479477135, 1.233809376 },
  after = { 61.2758097626, 435.713567252 }, emb = { -0.460648080438, 0.465365334096, -0.0333528068198 },
  q = { -0.0372737589374, 0.416558307914, 0.448149267354 },
  grads = { ['emb.weight'] = 2.269763274, ['blocks.layers.1.self_attn.k_proj.weight'] = 1.424962926,
    ['blocks.layers.2.feed_forward.down_proj.weight'] = 0.594268701, ['head.weight'] = 1.053492819 },
}

local Model = nn.Module 'Tiny'
function Model:init(second, dtype)
  self.emb = nn.Embedding(11, 16, { dtype = dtype })
  self.blocks = nn.TransformerEncoder(16, 2, 2, second and { hidden = 24, activation = 'swiglu', norm = 'rms',
    bias = false,
    causal = true, kv_heads = 1, rope = { layout = 'half', start = 3 }, dtype = dtype }
    or { hidden = 32, causal = true, rope = true, dtype = dtype })
  self.head = nn.Linear(16, 11, { bias = false, dtype = dtype })
  if not second then self.head:tie('weight', self.emb) end
end
function Model:forward(ids) return self.head(self.blocks(self.emb(ids))) end

--- A model with the numbers of its seed, and its tokens.
local function tiny(spec, second, dtype)
  local net = Model(second, dtype)
  local words = splitmix.words(6000, { spec.seed }):reshape(-1)
  local u = splitmix.uniforms(6000, { spec.seed }):reshape(-1)
  local at, values = 0, {}
  local function take(name, ...)
    local shape, n = { ... }, 1
    for _, k in ipairs(shape) do n = n * k end
    local v = u[{ { at + 1, at + n } }]:reshape(shape) * 2 - 1
    at = at + n
    if #shape == 2 then values[name] = v * 0.5
    elseif name:find 'weight$' then values[name] = v * 0.125 + 1
    else values[name] = v * 0.125 end
  end
  take('emb.weight', 11, 16)
  for l = 1, 2 do
    local p = ('blocks.layers.%d.'):format(l)
    local function linear(name, rows, columns)
      take(p .. name .. '.weight', rows, columns)
      if not second then take(p .. name .. '.bias', rows) end
    end
    local function norm(name)
      take(p .. name .. '.weight', 16)
      if not second then take(p .. name .. '.bias', 16) end
    end
    norm 'norm1'
    linear('self_attn.q_proj', 16, 16)
    linear('self_attn.k_proj', second and 8 or 16, 16)
    linear('self_attn.v_proj', second and 8 or 16, 16)
    linear('self_attn.out_proj', 16, 16)
    norm 'norm2'
    if second then
      take('up', 48, 16)
      values[p .. 'feed_forward.up_proj.weight'] = values.up['1:24']
      values[p .. 'feed_forward.gate_proj.weight'] = values.up['25:48']
      values.up = nil
      take(p .. 'feed_forward.down_proj.weight', 16, 24)
    else
      linear('feed_forward.linear1', 32, 16)
      linear('feed_forward.linear2', 16, 32)
    end
  end
  take('blocks.norm.weight', 16)
  if second then take('head.weight', 11, 16) else take('blocks.norm.bias', 16) end
  assert.equal(spec.count, at)
  net:load_state_dict(values)
  local z = words[{ { at + 1, at + 16 } }]
  local tokens = mc.remainder(mc.remainder(z, 11) + mc.where(mc.lt(z, 0), 5, 0), 11):to 'i64':reshape(2, 8)
  return net, tokens
end

local function rate(done) -- warm-up 2, cosine to 0 at step 10
  local t = done + 1
  return mc.where(mc.le(t, 2), t * 0.005, (mc.cos((t - 2) * (math.pi / 8)) + 1) * 0.005)
end

describe('a step', function()
  it('trains the tiny transformers as specified (nn C35)', function()
    for second, spec in pairs { [false] = T1, [true] = T2 } do
      for _, dtype in ipairs { 'f64', 'f32' } do
        local exact = dtype == 'f64'
        local net, tokens = tiny(spec, second, dtype)
        local inputs, targets = tokens[':, 1:7'], tokens[':, 2:8']:copy()
        if second then
          assert.same({ { 1, 2, 2, 1, 10, 8, 10, 7 }, { 0, 3, 10, 7, 1, 4, 8, 4 } }, tokens:totable())
          targets[{ 1, 4 }] = -100
        end
        assert.equal(spec.count, net:count())
        local function loss(m, b)
          return nn.cross_entropy(m(b.x), b.y, { label_smoothing = second and 0.1 or 0 })
        end
        local batch = { x = inputs, y = targets }
        if exact then
          local logits = net(inputs)
          near(spec.sum, mc.sum(logits):item(), 1e-11)
          near(spec.square, mc.sum(logits * logits):item(), 1e-11)
          local g = mc.grad(function(p) return net:with(p, {}, function() return loss(net, batch) end)[1] end)(
            net:parameters())
          for name, want in pairs(spec.grads) do near(want, mc.sqrt(mc.sum(g[name] ^ 2)):item(), 1e-9, name) end
        end
        local step = nn.Step(net, loss, { optimizer = mc.optim.adamw { lr = rate, weight_decay = 0 }, clip = 0.5,
          groups = { { '_proj%.weight$', weight_decay = 0.1 },
            { second and '^head%.weight$' or 'linear%d%.weight$', weight_decay = 0.1 } } })
        for t = 1, 5 do
          local value, info = step(batch)
          near(spec.losses[t], value, exact and 1e-9 or 1e-6, ('loss %d'):format(t))
          near(spec.norms[t], info.norm, exact and 1e-9 or 1e-5, ('norm %d'):format(t))
        end
        assert.equal(1, step.whole.traces)
        near(spec.last, loss(net, batch):item(), exact and 1e-9 or 5e-5)
        local sum, square = 0, 0
        for _, v in pairs(net:parameters()) do
          v = v:to 'f64'
          sum, square = sum + mc.sum(v):item(), square + mc.sum(v * v):item()
        end
        if exact then
          near(spec.after[1], sum, 1e-10)
          near(spec.after[2], square, 1e-10)
          for i = 1, 3 do near(spec.emb[i], net.emb.weight[{ 1, i }]:item(), 1e-9) end
          for i = 1, 3 do near(spec.q[i], net.blocks.layers[1].self_attn.q_proj.weight[{ 1, i }]:item(), 1e-9) end
        end
      end
    end
  end)

  local function regression(dtype, key)
    local net = nn.Sequential { nn.Linear(4, 8, { dtype = dtype, key = mc.random.key(key or 1) }), nn.Tanh(),
      nn.Linear(8, 1, { dtype = dtype, key = mc.random.key((key or 1) + 1) }) }
    return net
  end
  local x = mc.randn({ 24, 4 }, { seed = 5 })
  local y = mc.sum(x * mc.tensor { 1, -2, 0.5, 0 }, { 2, keepdim = true })
  local function loss(m, b) return nn.mse_loss(m(b.x), b.y), b.x.shape[1] end
  local function piece(a, b) return { x = x[{ { a, b } }], y = y[{ { a, b } }] } end

  it('of several batches is that of one large batch, by their weights', function()
    local one, many = regression 'f64', regression 'f64'
    local o = { optimizer = mc.optim.adamw { lr = 1e-2 }, clip = 1 }
    local big = nn.Step(one, loss, o)
    o.accumulate = 3
    local small = nn.Step(many, loss, o)
    for _ = 1, 4 do
      local value = big(piece(1, 24))
      assert.is_false(select(2, small(piece(1, 5))).updated)
      small(piece(6, 10))
      local got, info = small(piece(11, 24))
      assert.is_true(info.updated)
      near(value, got, 1e-13)
    end
    for name, v in pairs(one:parameters()) do
      assert(mc.max(mc.abs(v - many:parameters()[name])):item() < 1e-12, name)
    end
  end)

  --- Parameters behind steps of a network's copies, compiled and not, which agree to the bit.
  local function both(options, batches)
    local last
    for _, compiled in ipairs { true, false } do
      local net = regression 'f64'
      local o = { compile = compiled }
      for k, v in pairs(options) do o[k] = v end
      local step = nn.Step(net, loss, o)
      for _, b in ipairs(batches) do step(b) end
      local now = net:parameters()
      for name, v in pairs(last or {}) do assert.is_true(mc.array_equal(v, now[name]), name) end
      last = now
    end
    return last
  end
  local function same(want, got, bound)
    for name, v in pairs(want) do
      assert(mc.max(mc.abs(v - got[name])):item() <= bound, name)
    end
  end

  it('estimates the second derivative for sophia at its turns, as a loop of one\'s own does', function()
    local batches = {}
    for t = 1, 5 do batches[t] = piece(t, t + 19) end
    local opt = mc.optim.sophia { lr = 0.05, k = 2, rho = 0.5, betas = { 0.5, 0.5 } }
    local got = both({ optimizer = opt, clip = 1 }, batches)
    local net = regression 'f64'
    local params = net:parameters()
    local state = opt.init(params)
    for t, b in ipairs(batches) do
      local function f(p) return (net:with(p, { train = true }, function() return loss(net, b) end)[1]) end
      local g = mc.optim.clip_norm(mc.grad(f)(params), 1)
      local key = mc.random.key(0):fold_in(2 ^ 52):fold_in(t - 1)
      assert.equal(t % 2 == 1, opt.bends(state))
      params, state = opt.update(params, g, state, nil, t % 2 == 1 and mc.optim.hutchinson(f, params, { key = key }))
    end
    same(params, got, 1e-14)
    -- and where it is the inner one, or that of a group, with turns of its own
    local slow = both({ optimizer = mc.optim.lookahead(opt, { k = 100 }), clip = 1 }, batches)
    same(got, slow, 0)
    local groups = { { '^1%.', k = 3 } }
    local other = both({ optimizer = opt, clip = 1, groups = groups }, batches)
    assert.is_false(mc.array_equal(other['1.weight'], got['1.weight']))
  end)

  it('estimates it for a part of the parameters, in parts of a batch, and goes on within them', function()
    local opt = mc.optim.sophia { lr = 0.05, k = 2, rho = 0.5, betas = { 0.5, 0.5 } }
    local big = both({ optimizer = opt }, { piece(1, 24), piece(1, 24), piece(1, 24) })
    local parts = {}
    for _ = 1, 3 do for _, p in ipairs { piece(1, 5), piece(6, 24) } do parts[#parts + 1] = p end end
    same(big, both({ optimizer = opt, accumulate = 2 }, parts), 1e-12)
    local function made()
      local net = regression 'f64'
      return nn.Step(net, loss, { optimizer = opt, accumulate = 2 }), net
    end
    local one, net = made()
    for k = 1, 5 do one(parts[k]) end -- within the third step, which is one of its turns
    local tensors, numbers = one:state()
    assert(tensors['sums/bent/1.weight'])
    local two, other = made()
    two:restore(tensors, mc.json.decode(mc.json.encode(numbers)))
    one(parts[6])
    two(parts[6])
    same(net:parameters(), other:parameters(), 0)
    same(big, other:parameters(), 1e-12)
  end)

  it('leaves out a step whose estimate of the second derivative is not finite', function()
    local net = nn.Sequential { nn.Linear(1, 1, { dtype = 'f64', bias = false, key = 1 }) }
    -- the slope at 0 is 0, the second derivative infinite
    local function bent(m, b) return mc.sum(m(b.x) ^ 1.5) end
    net[1].weight = mc.zeros { 1, 1 }
    local step = nn.Step(net, bent, { optimizer = mc.optim.sophia(), anomaly = false })
    local _, info = step { x = mc.ones { 1, 1 } }
    assert.is_false(info.updated)
    assert.equal(0, net[1].weight:item())
  end)

  it('clips by the norms so far, as a loop of one\'s own does, and goes on from them', function()
    local batches = {}
    for t = 1, 16 do batches[t] = { x = piece(1, 8).x * (1 + t % 5), y = piece(t, t + 7).y } end
    local clip = { percentile = 30, window = 6, least = 3 }
    local opt = mc.optim.sgd { lr = 0.01, momentum = 0.5 }
    local got = both({ optimizer = opt, clip = clip }, batches)
    local net = regression 'f64'
    local params, own = net:parameters(), mc.optim.adaptive_clip(clip)
    local state, limited = opt.init(params), 0
    for _, b in ipairs(batches) do
      local g, norm = own:apply(mc.grad(function(p)
        return (net:with(p, { train = true }, function() return loss(net, b) end)[1])
      end)(params))
      if norm > own.limit then limited = limited + 1 end
      params, state = opt.update(params, g, state)
    end
    assert(limited > 4, limited)
    same(params, got, 1e-14)
    local nets, steps = {}, {}
    for k = 1, 2 do
      nets[k] = regression 'f64'
      steps[k] = nn.Step(nets[k], loss, { optimizer = opt, clip = k == 1 and mc.optim.adaptive_clip(clip) or clip })
    end
    for t = 1, 9 do steps[1](batches[t]) end
    local tensors, numbers = steps[1]:state()
    steps[2]:restore(tensors, mc.json.decode(mc.json.encode(numbers)))
    for k = 1, 2 do for t = 10, 16 do steps[k](batches[t]) end end
    same(got, nets[1]:parameters(), 0)
    same(got, nets[2]:parameters(), 0)
    says('option clip is -1; it must be number > 0 | table', nn.Step, net, loss, { optimizer = opt, clip = -1 })
    says('optim.adaptive_clip: option "percentil" is unknown', nn.Step, net, loss, { optimizer = opt,
      clip = { percentil = 3 } })
  end)

  it('has groups, averages and the same bits without compiling', function()
    local bits = {}
    for k, compiled in ipairs { true, false } do
      local net = regression 'f32'
      local first = net[3].bias:copy()
      local step = nn.Step(net, function(m, b) return nn.mse_loss(m(b.x), b.y) end, { compile = compiled, ema = 0.9,
        optimizer = mc.optim.sgd { lr = 0.1 }, groups = { { '^3%.bias$', lr_factor = 0 } } })
      local batch, mean = { x = x:to 'f32', y = y:to 'f32' }, net[1].weight
      for t = 0, 3 do
        step(batch)
        local d = math.min(0.9, (1 + t) / (10 + t))
        mean = mean * d + net[1].weight * (1 - d)
      end
      assert.is_true(mc.array_equal(first, net[3].bias))
      assert(mc.allclose(mean, step.averages['1.weight'], { rtol = 1e-6 }))
      local own = net[1].weight
      step:averaged(function() assert.is_true(mc.array_equal(step.averages['1.weight'], net[1].weight)) end)
      assert.is_true(mc.array_equal(own, net[1].weight))
      bits[k] = own
    end
    assert.is_true(mc.array_equal(bits[1], bits[2]))
  end)

  it('updates many parameters piece by piece, with the bits of all at once', function()
    local last
    for _, compiled in ipairs { true, false } do
      local parts = {}
      for i = 1, 70 do parts[i] = nn.Linear(2, 2, { key = i }) end
      local net = nn.Sequential(parts)
      local step = nn.Step(net, function(m, b) return mc.mean(mc.square(m(b))) end, { compile = compiled, ema = 0.9,
        clip = 0.1, optimizer = mc.optim.adamw { lr = function(t) return 0.01 / (t + 1) end },
        groups = { { 'bias$', lr = 0.02 } } })
      for t = 1, 3 do step(mc.full({ 3, 2 }, t, { dtype = 'f32' })) end
      for i = 1, 2 do assert.equal(3, step.states[i].step:item()) end
      if compiled then for i = 4, 5 do assert.equal(2, step.compiled[i].traces) end end
      local now = net:parameters()
      for name, v in pairs(last or {}) do assert.is_true(mc.array_equal(v, now[name]), name) end
      last = now
    end
  end)

  it('trains what is not frozen, and moves running moments', function()
    local net = nn.Sequential { nn.Linear(4, 6, { dtype = 'f64' }), nn.BatchNorm1d(6, { dtype = 'f64' }),
      nn.Linear(6, 1, { dtype = 'f64' }) }
    net:freeze '^1%.'
    local w = net[1].weight:copy()
    local step = nn.Step(net, loss, { optimizer = mc.optim.adam() })
    step(piece(1, 24))
    step(piece(1, 24))
    assert.is_true(mc.array_equal(w, net[1].weight))
    assert.equal(2, net[2].num_batches_tracked:item())
    says('nn.Step: 3.bias was frozen after the step was made; freeze and unfreeze before the step', step, (function()
      net:freeze '^3%.bias'
      return piece(1, 24)
    end)())
    net:unfreeze()
    says('nn.Step: 1.bias was frozen, or not there, when the step was made; freeze', step, piece(1, 24))
    net:freeze '^1%.'
    step(piece(1, 24))
  end)

  it('changes nothing when the loss is not finite', function()
    local net = regression 'f64'
    local step = nn.Step(net, loss, { optimizer = mc.optim.adamw() })
    step(piece(1, 12))
    local before = net[1].weight:copy()
    local value, info = step { x = x['1:12'] * math.huge, y = y['1:12'] }
    assert(value ~= value and info.finite == false)
    assert.is_true(mc.array_equal(before, net[1].weight))
    assert.is_true(select(2, step(piece(1, 12))).finite)
  end)

  it('takes a finite gradient whose squares are infinite in f32', function()
    for _, clip in ipairs { false, 1 } do
      local net = nn.Linear(2, 1, { key = 1, bias = false })
      local before = net.weight
      local _, info = nn.Step(net, function(m, b) return mc.mean(m(b)) * 1e22 end, {
        optimizer = mc.optim.sgd { lr = clip and 1 or 1e-22 }, clip = clip or nil })(mc.ones { 4, 2, dtype = 'f32' })
      assert(info.updated and math.abs(info.norm / (2 ^ 0.5 * 1e22) - 1) < 1e-6, info.norm)
      near(clip and 0.5 ^ 0.5 or 1, mc.max(before - net.weight):item(), 1e-5)
    end
  end)

  it('goes on from its state with the same bits, also within an accumulation', function()
    local function made()
      local net = nn.Sequential { nn.Linear(4, 8, { key = 1 }), nn.Dropout(0.3), nn.Linear(8, 1, { key = 2 }) }
      return net, nn.Step(net, function(m, b) return nn.mse_loss(m(b.x), b.y) end, { accumulate = 2, ema = 0.99,
        optimizer = mc.optim.adamw { lr = 0.01 } })
    end
    local function batch(k) return { x = x[{ { k, k + 7 } }]:to 'f32', y = y[{ { k, k + 7 } }]:to 'f32' } end
    local a, first = made()
    for k = 1, 5 do first(batch(k)) end
    local tensors, numbers = first:state()
    for k = 6, 9 do first(batch(k)) end
    local b, second = made()
    second:restore(tensors, mc.json.decode(mc.json.encode(numbers)))
    for k = 6, 9 do second(batch(k)) end
    for name, v in pairs(a:parameters()) do assert.is_true(mc.array_equal(v, b:parameters()[name]), name) end
    tensors['net/1.weight'] = mc.ones { 2 }
    says('step:restore: net/1.weight is f64[2]@cpu, this step has f32[8,4]@cpu', second.restore, second, tensors,
      numbers)
  end)

  it('goes on with the same network and optimiser only, not with parts of them', function()
    local function of(net, optimizer) return nn.Step(net, loss, { optimizer = optimizer, ema = 0.9 }) end
    local one = nn.Sequential { nn.Linear(4, 1) }
    local tensors, numbers = of(one, mc.optim.adamw()):state()
    local plain = of(one, mc.optim.sgd())
    says('step:restore: the state is of adamw, this step has sgd; give the same optimiser', plain.restore, plain,
      tensors, numbers)
    local ahead = of(one, mc.optim.lookahead(mc.optim.lion()))
    says('the state is of lookahead(sgd), this step has lookahead(lion)', function()
      ahead:restore(of(one, mc.optim.lookahead(mc.optim.sgd())):state())
    end)
    numbers.optimizer = nil -- as in older files
    says('step:restore: this step has no optimizer/1/m/1.bias, which is f32[1]@cpu', plain.restore, plain, tensors,
      numbers)
    tensors, numbers = of(nn.Sequential { nn.Linear(4, 1), nn.Linear(1, 1) }, mc.optim.sgd()):state()
    says('step:restore: this step has no ema/2.bias, which is f32[1]@cpu', plain.restore, plain, tensors, numbers)
    local bare = nn.Step(one, loss, { optimizer = mc.optim.sgd() })
    tensors, numbers = plain:state()
    says('step:restore: this step has no ema/1.bias', bare.restore, bare, tensors, numbers)
    bare:restore(bare:state())
  end)

  it('writes over what is its own, and leaves what others have seen', function()
    local net = nn.Linear(64, 64, { key = 1 })
    local function mse(m, b) return nn.mse_loss(m(b.x), b.y) end
    local step = nn.Step(net, mse, { optimizer = mc.optim.adamw { lr = 0.01 }, ema = 0.9 })
    local b = { x = mc.ones({ 4, 64 }, { dtype = 'f32' }), y = mc.zeros({ 4, 64 }, { dtype = 'f32' }) }
    for _ = 1, 3 do step(b) end
    local copy, seen = unpack { step:averaged(function() return mc.copy(net.weight), net.weight end) }
    local named = net:named_parameters()[2].value
    local given = mc.full({ 64 }, 0.25, { dtype = 'f32' })
    local kept, numbers = step:state()
    local sums = { seen = mc.sum(seen):item(), named = mc.sum(named):item() }
    for name, t in pairs(kept) do sums[name] = mc.sum(t):item() end
    step(b) -- copies what was seen
    collectgarbage()
    collectgarbage()
    collectgarbage 'stop'
    local live = mc.memory().live
    for _ = 1, 10 do step(b) end
    local grown = mc.memory().live - live
    collectgarbage 'restart'
    assert(grown < 2 ^ 14, grown) -- no parameter, state or gradient waits for the collector
    kept.seen, kept.named = seen, named
    local function untouched()
      for name, t in pairs(kept) do assert.equal(sums[name], mc.sum(t):item(), name) end
      assert.is_true(mc.array_equal(copy, seen))
    end
    untouched()
    kept.seen, kept.named = nil, nil
    step:restore(kept, numbers)
    for _ = 1, 3 do step(b) end
    untouched()
    net.bias = given
    step(b)
    assert.equal(16, mc.sum(given):item())
    local other = nn.Module 'Other'
    function other:init() self:parameter('w', given) end
    function other:forward(v) return v * self.w end
    local held = given
    local user = nn.Linear(64, 64, { key = 1 })
    user:initialise('bias$', function() return held end)
    for _, m in ipairs { other(), user } do
      local own = nn.Step(m, mse, { optimizer = mc.optim.sgd { lr = 1 } })
      own(b)
      own(b)
      assert.equal(16, mc.sum(given):item())
    end
  end)

  it('that failed while it wrote is not taken for a whole one', function()
    local net = nn.Linear(8, 8, { key = 1 })
    local step = nn.Step(net, function(m, b) return mc.mean(m(b) ^ 2) end, { optimizer = mc.optim.adamw() })
    local b = mc.ones({ 2, 8 }, { dtype = 'f32' })
    step(b)
    local tensors, numbers = step:state()
    step(b)
    local update = step.updates[1]
    step.updates[1] = function(...)
      update(...)
      error 'stopped' -- as by a second signal
    end
    says('stopped', step, b)
    step.updates[1] = update
    says('nn.Step: step 3 failed or was stopped while it changed the parameters, which may be half written', step, b)
    says('go on from a checkpoint', step.state, step)
    step:restore(tensors, numbers)
    step(b)
    local late = nn.Step(net, function(m, v) return mc.mean(m(v) ^ 2) end, { optimizer = mc.optim.sgd {
      lr = function() error 'no rate' end } })
    says('no rate', late, b) -- before anything was written
    says('no rate', late, b)
    says('the optimiser makes 1 of f64[]@cpu in its state', nn.Step(net, function(m, v) return mc.mean(m(v)) end, {
      optimizer = { options = {}, init = function() return { step = mc.tensor(0) } end,
        update = function(p) return p, { step = 1 } end } }), b)
  end)

  it('has the cells of the specification (nn C40)', function()
    for name, want in pairs { LSTMCell = { { 0.25280721305315, -0.23522159018173 },
      { 0.38758504637423, -0.62231459190401 } },
      GRUCell = { { 0.23554294548168, -0.47459561889285 } }, RNNCell = { { -0.1973753202249, 0.57166996608512 } } } do
      local cell = nn[name](2, 2, { dtype = 'f64' })
      for o, n in ipairs { 'weight_ih', 'weight_hh', 'bias_ih', 'bias_hh' } do
        local k = mc.arange(0, cell[n]:numel() - 1)
        cell[n] = ((mc.remainder(k * 7 + 3 * o, 11) - 5) / 10):reshape(cell[n].shape)
      end
      local got = { cell(mc.tensor { { 1, -0.5 } }, mc.tensor { { 0.25, -0.75 } },
        name == 'LSTMCell' and mc.tensor { { 0.5, -1 } } or nil) }
      for i, row in ipairs(want) do
        for j, v in ipairs(row) do near(v, got[i][{ 1, j }]:item(), 1e-13, name) end
      end
    end
  end)

  it('takes parts that keep nothing for the way back', function()
    local nets, values = {}, {}
    for k = 1, 2 do
      local part = nn.Sequential { nn.Linear(4, 8, { key = 3, dtype = 'f64' }), nn.BatchNorm1d(8, { dtype = 'f64' }),
        nn.Dropout(0.2) }
      nets[k] = nn.Sequential { k == 1 and part or nn.Checkpoint(part), nn.Linear(8, 1, { key = 4, dtype = 'f64' }) }
      local step = nn.Step(nets[k], loss, { optimizer = mc.optim.adamw { lr = 0.01 } })
      for t = 1, 3 do values[k * 10 + t] = step(piece(1, 24)) end
    end
    for t = 1, 3 do assert.equal(values[10 + t], values[20 + t]) end
    local inner = nets[2][1].inner
    assert.is_true(mc.array_equal(nets[1][1][2].running_var, inner[2].running_var))
    assert.is_true(mc.array_equal(nets[1][1][1].weight, inner[1].weight))
  end)

  it('of several batches tells the loss of each, and takes batches that weigh nothing', function()
    local function measure(m, b) return nn.cross_entropy(m(b.x), b.y), mc.sum(mc.ne(b.y, -100):to 'f32') end
    local xs, ys = mc.randn({ 4, 3 }, { seed = 1 }):to 'f32', mc.tensor({ 0, 1, 1, 0 }, { dtype = 'i64' })
    local none = { x = xs, y = ys * 0 - 100 }
    for _, compiled in ipairs { true, false } do
      local nets = { nn.Linear(3, 2, { key = 1 }), nn.Linear(3, 2, { key = 1 }), nn.Linear(3, 2, { key = 1 }) }
      local function step(k, many)
        return nn.Step(nets[k], measure, { optimizer = mc.optim.sgd { lr = 0.1 }, accumulate = many,
          compile = compiled })
      end
      local one, two, three = step(1, 1), step(2, 2), step(3, 2)
      local alone = one { x = xs, y = ys }
      local _, told = two(none)
      assert(told.own == nil and told.finite)
      local value
      value, told = two { x = xs, y = ys }
      assert(math.abs(value - alone) < 1e-6 and math.abs(told.own - alone) < 1e-6 and told.updated)
      three { x = xs, y = ys }
      assert(select(2, three(none)).updated)
      for k = 2, 3 do assert(mc.allclose(nets[1].weight, nets[k].weight, { rtol = 1e-6 })) end
    end
    local set = nn.data.tensors { x = mc.zeros({ 4, 1 }, { dtype = 'f32' }), y = mc.tensor({ 1, 3, 1, 3 },
      { dtype = 'f32' }) }
    for _, many in ipairs { 1, 2, 4 } do
      local history = nn.Trainer(nn.Linear(1, 1), { loss = function(m, b) return mc.mean(b.y) + mc.mean(m(b.x)) * 0 end,
        train = nn.data.loader(set, { batch = 1 }), optimizer = mc.optim.sgd { lr = 0 }, epochs = 1, accumulate = many,
        progress = false }):fit()
      assert.equal(2, history[1].loss)
    end
  end)

  it('names the part and the numbers where an operation refuses them, in later calls too', function()
    local labels, tokens = mc.tensor({ 0, 2 }, { dtype = 'i64' }), mc.tensor({ 1, 3 }, { dtype = 'i64' })
    for _, many in ipairs { 1, 2 } do
      local net = nn.Sequential { nn.Embedding(4, 3, { key = 1 }), nn.Linear(3, 3, { key = 2 }) }
      local step = nn.Step(net, function(m, b) return nn.cross_entropy(m(b.x), b.y) end,
        { optimizer = mc.optim.sgd { lr = 0.1 }, accumulate = many })
      for _ = 1, 2 do
        local why = support.message(step, { x = tokens, y = labels + 1 })
        assert(why:find('nn.cross_entropy: label 3 is outside the 3 classes', 1, true), why)
        why = support.message(step, { x = tokens + 1, y = labels })
        assert(why:find('nn.embedding: id 4 is outside the table f32[4,3]@cpu; ids count from 0', 1, true)
          and why:find('(in 1, Embedding)', 1, true), why)
        step { x = tokens, y = labels }
      end
    end
  end)

  it('says what is wrong', function()
    local net = regression 'f32'
    says('nn.Step: optimizer is nil; give one of mc.optim', nn.Step, net, loss, {})
    says("nn.Step: amp is true; give 'bf16', 'f16' or a table of options of mc.nn.autocast", nn.Step, net, loss,
      { optimizer = mc.optim.sgd(), amp = true })
    says("nn.Step: amp is 'fp16'; give", nn.Step, net, loss, { optimizer = mc.optim.sgd(), amp = 'fp16' })
    says('optim.adam: a table is one argument too many; it takes one table of options, and nothing before it',
      mc.optim.adam, net:parameters(), { lr = 1 })
    says('To look at numbers, give nn.Step or nn.Trainer compile = false', nn.Step(nn.Linear(2, 2), function(m, at)
      local value = mc.mean(m(at))
      return value * (value:item() > 1e9 and 2 or 1)
    end, { optimizer = mc.optim.sgd() }), mc.ones({ 3, 2 }, { dtype = 'f32' }))
    says('which is no row of the op table; did you mean logistic?', nn.register_pattern, 'mine', { 'sigmoid' }, mc.exp)
    local loader = nn.data.loader(nn.data.tensors { x = mc.ones { 4 } })
    says('a loader is no function; write for batch in loader:epoch(1) do', loader)
    says('loader:epoch: it is called on 1; write loader:epoch with a colon', loader.epoch, 1)
    says('loss is nn.mse_loss, which takes a result and a target; give a function of the network and a batch', nn.Step,
      net, nn.mse_loss, { optimizer = mc.optim.sgd() })
    says('option "wd" is unknown; it takes dampening, lr, maximize, momentum, nesterov, weight_decay', nn.Step, net,
      loss, { optimizer = mc.optim.sgd(), groups = { { 'bias$', wd = 0 } } })
    local o = { optimizer = mc.optim.sgd() }
    says("nn.Step: groups[1]: '[bias' is no pattern of Lua: malformed pattern", nn.Step, net, loss,
      { optimizer = mc.optim.sgd(), groups = { { '[bias', weight_decay = 0 } } })
    says("module:freeze: '[bias' is no pattern of Lua", net.freeze, net, '[bias')
    says('nn.Step: the weight of the batch (second result of the loss) is -1; it is a number from 0',
      nn.Step(net, function(m, b) return mc.mean(m(b.x)), -1 end, o), { x = x:to 'f32' })
    says('nn.Step: groups[1]: no parameter matches "biass$"', nn.Step, net, loss, { optimizer = mc.optim.sgd(),
      groups = { { 'biass$', weight_decay = 0 } } })
    says('nn.Step: the loss function returned f32[24,1]@cpu; it returns one number as a tensor',
      nn.Step(net, function(m, b) return m(b.x) end, o), { x = x:to 'f32' })
    for _, compiled in ipairs { true, false } do
      local step = nn.Step(net, function(_, b) return mc.mean(b.x) end, { optimizer = mc.optim.sgd(),
        compile = compiled })
      says('nn.Step: the loss depends on no parameter that is trained; compute it from the result of the network', step,
        { x = x:to 'f32' })
    end
    says('(in 1, Linear)', nn.Step(net, function(m, b) return mc.sum(m(b.x)) end, o),
      { x = mc.ones { 3, 5, dtype = 'f32' } })
  end)
end)

teardown(function()
  collectgarbage()
  collectgarbage()
  assert(support.tensor_bytes() - BEFORE < 2 ^ 22)
end)

describe('cross entropy of a linear layer in blocks of rows', function()
  local function labels(n, classes)
    return mc.where(mc.lt(mc.rand({ n }, { seed = 3 }), 0.2), -100,
      mc.random.integers({ n }, { low = 0, high = classes - 1, key = 4 }))
  end
  it('is that of all rows at once, with its gradients', function()
    local x, w = mc.randn({ 5, 7, 6 }, { seed = 1 }), mc.randn({ 11, 6 }, { seed = 2 })
    local b, t = mc.randn({ 11 }, { seed = 5 }), labels(35, 11):reshape(5, 7)
    local of_class = mc.rand({ 11 }, { seed = 6 }) + 0.5
    for k, reduction in ipairs { 'mean', 'sum', 'none', 'mean', 'sum', 'none' } do
      for _, rows in ipairs { 1, 8, 35, 512 } do
        local how = { reduction = reduction, label_smoothing = k % 2 * 0.1, weight = k > 3 and of_class or nil,
          ignore_index = k > 4 and 3 or nil }
        local function total(loss)
          if loss.ndim ~= (reduction == 'none' and 2 or 0) then error(loss.ndim) end
          return mc.sum(mc.sin(loss))
        end
        local labels_of = k > 4 and mc.where(mc.lt(t, 0), 0, t) or t
        local function all(a, m, c) return total(nn.cross_entropy(nn.linear(a, m, c), labels_of, how)) end
        local function blocks(a, m, c)
          local o = { bias = c, rows = rows }
          for name, v in pairs(how) do o[name] = v end
          return total(nn.linear_cross_entropy(a, m, labels_of, o))
        end
        local every = { argnums = { 1, 2, 3 } }
        local v, g = mc.value_and_grad(all, every)(x, w, b)
        for _, f in ipairs { mc.value_and_grad(blocks, every), mc.compile(mc.value_and_grad(blocks, every)) } do
          local u, h = f(x, w, b)
          assert(mc.allclose(u, v, { rtol = 1e-12 }))
          for i = 1, 3 do assert(mc.allclose(h[i], g[i], { rtol = 1e-11, atol = 1e-13 }), rows) end
        end
      end
    end
    local e = support.message(nn.linear_cross_entropy, x, w, labels(7, 11))
    assert(e:find('give a class for each row of the input', 1, true), e)
    e = support.message(nn.linear_cross_entropy, x, w, t, { weight = mc.ones { 3 } })
    assert(e:find('nn.linear_cross_entropy: option weight is f64[3]@cpu for 11 classes', 1, true), e)
  end)
  it('takes the memory of the logits of some rows, compiled too', function()
    local x = mc.randn({ 2048, 16 }, { seed = 1, dtype = 'f32' })
    local w = mc.randn({ 2000, 16 }, { seed = 2, dtype = 'f32' })
    local t = labels(2048, 2000)
    local function peak(f)
      f(x, w)
      collectgarbage()
      collectgarbage()
      mc.reset_peak_memory()
      local before = mc.memory().live
      f(x, w)
      return (mc.memory().peak - before) / (2048 * 2000 * 4) -- in units of all logits
    end
    local function slopes(f) return mc.value_and_grad(f, { argnums = { 1, 2 } }) end
    local all = slopes(function(a, m) return nn.cross_entropy(nn.linear(a, m), t) end)
    local blocks = slopes(function(a, m) return nn.linear_cross_entropy(a, m, t, { rows = 128 }) end)
    assert(peak(all) > 2)
    -- a loop of one's own: fusing the sums of all blocks' gradients must not hold what each block made
    local block = mc.checkpoint(function(a, m, y)
      return nn.cross_entropy(nn.linear(a, m), y, { reduction = 'sum' })
    end)
    local looped = slopes(function(a, m)
      local total = 0
      for i = 1, 2048, 128 do
        local rows = { { i, i + 127 } }
        total = total + block(a[rows], m, t[rows])
      end
      return total
    end)
    local some, unfused = mc.compile(looped), mc.compile(looped, { fuse = false })
    for k = 1, 2 do
      local v, g = some(x, w)
      local u, h = unfused(x, w)
      assert(mc.array_equal(v, u), k)
      for i = 1, 2 do assert(mc.array_equal(g[i], h[i]), k) end
    end
    for what, c in pairs { plain = { blocks, 1 }, compiled = { mc.compile(blocks), 0.5 }, looped = { some, 0.5 } } do
      local units = peak(c[1])
      assert(units < c[2], ('%s: %g'):format(what, units))
    end
  end)
end)
