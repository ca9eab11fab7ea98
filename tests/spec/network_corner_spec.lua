-- network_corner_spec.lua - functions of mc.nn at the edges of their dtypes and of their options.
local mc = require 'mascon'
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')

local nn = mc.nn
local function labels(...) return mc.tensor({ ... }, { dtype = 'i64' }) end

describe('f16 and bf16', function()
  local rows = { { 300, -300, 200, 100 }, { 400, 1000, -2000, 30 } }
  local function many(v) return mc.full({ 70000 }, v) end
  --- name -> function of operands, and these: their values are those of both 16-bit dtypes.
  local cases = {
    rms_norm = { function(x) return nn.rms_norm(x, 4) end, rows },
    layer_norm = { function(x) return nn.layer_norm(x, 4, { weight = x[1] / 64, bias = x[1] }) end, rows },
    group_norm = { function(x) return nn.group_norm(x, 2, { weight = x[1] / 64 }) end, rows },
    instance_norm = { function(x) return nn.instance_norm(x:reshape(1, 2, 4)) end, rows },
    batch_norm = { function(x) return (nn.batch_norm(x, nil, nil, { training = true })) end, rows },
    running = { function(x) return (nn.batch_norm(x, x[2], x[1] * x[1] / 64)) end, rows, 'f16 fits' },
    moments = { function(x) return (select(2, nn.batch_norm(x, x[1], x[1], { training = true }))) end, rows },
    attention = { function(x) return nn.scaled_dot_product_attention(x, x, x) end, rows },
    avg_pool1d = { function(x) return nn.avg_pool1d(x:reshape(1, 1, -1), 128) end, mc.full({ 1, 128 }, 1000) },
    mse_loss = { function(x) return nn.mse_loss(x, x * 0) end, many(100) },
    l1_loss = { function(x) return nn.l1_loss(x, x * 0) end, many(100) },
    huber_loss = { function(x) return nn.huber_loss(x, x * 0, { delta = 10 }) end, rows },
    cosine_similarity = { function(x) return nn.cosine_similarity(x, x + 100) end, rows },
    contrastive_loss = { function(x) return nn.contrastive_loss(x, -x) end, rows },
    triplet_margin_loss = { function(x) return nn.triplet_margin_loss(x, x * 0, x) end, rows },
    cosine_embedding_loss = { function(x) return nn.cosine_embedding_loss(x, -x, mc.tensor { 1, -1 }) end, rows },
    cross_entropy = { function(x) return nn.cross_entropy(x, labels(1, 2)) end, rows },
    distributions = { function(x) return nn.cross_entropy(x, x * 0 + 0.25) end, rows },
    nll_loss = { function(x) return nn.nll_loss(x, labels(1, 2), { weight = x[1] * 0 + 2 }) end, rows },
    focal_loss = { function(x) return nn.focal_loss(x / 100, labels(1, 2)) end, rows },
  }
  it('are computed in f32 and rounded once', function()
    for _, dtype in ipairs { 'f16', 'bf16' } do
      for name, case in pairs(cases) do
        if not case[3] or dtype == 'bf16' then
          local x = mc.asarray(case[2]):to(dtype)
          local got, want = case[1](x), case[1](x:to 'f64')
          assert.equal(dtype, got.dtype, name)
          local unit = mc.finfo(dtype).eps
          local far = mc.max(mc.abs(got:to 'f64' - want) / mc.maximum(mc.abs(want), 2 ^ -14)):item()
          assert.truthy(far <= 0.51 * unit, ('%s in %s: %g units'):format(name, dtype, far / unit)) -- one rounding
        end
      end
    end
  end)
  it('agree with PyTorch 2.9 in half precision', function()
    local y = nn.rms_norm(mc.tensor({ 300, -300, 200, 100 }, { dtype = 'f16' }), 4)
    assert.equal('{ 1.2510, -1.2510,  0.8340,  0.4170 }', (tostring(y):match '{.*}':gsub('{%s+', '{ ')))
    local zeros = mc.zeros({ 70000, 2 }, { dtype = 'f16' })
    local loss = nn.cross_entropy(zeros, mc.zeros({ 70000 }, { dtype = 'i64' }))
    assert.equal(mc.tensor({ math.log(2) }, { dtype = 'f16' }):item(), loss:item())
  end)
end)

describe('scaled_dot_product_attention', function()
  local attend, q = nn.scaled_dot_product_attention, mc.randn { 2, 4, 3, 2, seed = 1 }
  local k, v = mc.randn { 2, 2, 5, 2, seed = 2 }, mc.randn { 2, 2, 5, 3, seed = 3 }
  --- Heads of k and v repeated for each head of q.
  local function plain(mask)
    local all = { mask = mask }
    local function each(t) return mc.stack({ t, t }, { axis = 3 }):reshape(2, 4, 5, -1) end
    return attend(q, each(k), each(v), all)
  end
  it('takes a mask for each head of q where heads share keys', function()
    local shapes = {
      { 2, 4, 3, 5 }, { 1, 4, 3, 5 }, { 4, 3, 5 }, { 2, 1, 3, 5 }, { 1, 3, 5 }, { 3, 5 }, { 2, 4, 1, 5 },
    }
    for _, shape in ipairs(shapes) do
      local numbers = mc.randn { seed = 4, unpack(shape) }
      for _, mask in ipairs { numbers, mc.gt(numbers, -0.5) } do
        local got = attend(q, k, v, { mask = mask })
        assert.truthy(mc.max(mc.abs(got - plain(mask))):item() < 1e-14, table.concat(shape, ','))
      end
    end
    assert.matches('mask is bool%[2,3,5%]@cpu for 4 heads of q; its heads %(axis %-3%) must be those of q, or 1',
      support.message(attend, q, k, v, { mask = mc.ones({ 2, 3, 5 }, { dtype = 'bool' }) }))
  end)
  it('has the derivatives of its formula, with masks of any rank and queries without keys', function()
    local function shaped(seed, ...) return mc.randn({ 2, 3, ... }, { seed = seed }) end
    local x, y, z, c = shaped(1, 5, 4), shaped(2, 6, 4), shaped(3, 6, 2), shaped(4, 5, 2)
    local seen = mc.tensor { true, false, true, true, false, true }
    local some = mc.ones({ 5, 6 }, { dtype = 'bool' })
    some[2] = false
    for what, o in pairs { plain = {}, causal = { causal = true, start = 1, scale = 0.3 }, keys = { mask = seen },
      some = { mask = some } } do
      -- the same without a rule: by a mask of numbers
      local add = mc.zeros { 5, 6 }
      if o.mask then add = mc.where(o.mask, add, -math.huge) end
      local other = { mask = add, causal = o.causal, start = o.start, scale = o.scale }
      local function all(opts)
        local r, back = mc.vjp(function(a, b, d) return nn.scaled_dot_product_attention(a, b, d, opts) end, x, y, z)
        local function size(a) return mc.sum(nn.scaled_dot_product_attention(a, y, z, opts) * c) end
        local function slope(a) return mc.sum(mc.square(mc.grad(size)(a))) end
        local _, ahead = mc.jvp(function(a) return nn.scaled_dot_product_attention(a, y, z, opts) end, { x }, { y[{
          mc.all, mc.all, { 1, 5 } }] })
        local found = { r, back(c) }
        found[5], found[6] = mc.grad(slope)(x), ahead
        return found
      end
      local got, want = all(o), all(other)
      for i = 1, 6 do
        assert(mc.max(mc.abs(got[i] - want[i])):item() < 1e-12, ('%s, result %d'):format(what, i))
      end
    end
  end)

  it('refuses a start that changes nothing', function()
    assert.matches('start is 2 without causal or window', support.message(attend, q, k, v, { start = 2 }))
  end)
end)

describe('options and edges', function()
  it('of norms', function()
    assert.equal('{0, 4}', tostring(nn.group_norm(mc.zeros { 0, 4 }, 2).shape))
    assert.equal('{2, 4, 0}', tostring(nn.group_norm(mc.zeros { 2, 4, 0 }, 2, { bias = mc.ones { 4 } }).shape))
    local x, one, how = mc.ones { 2, 3 }, mc.ones { 3 }, { training = true }
    assert.matches('running_var is missing; give both running moments, or none',
      support.message(nn.batch_norm, x, one, nil, how))
    assert.matches('running_mean is missing', support.message(nn.batch_norm, x, nil, one, how))
    for _, name in ipairs { 'layer_norm', 'rms_norm' } do
      assert.matches('sizes are a table for f64%[2,3%]@cpu; give those of its last axes',
        support.message(nn[name], x, { {} }))
    end
  end)
  it('of pools: the first of equal maxima gets the gradient, in the order of rows', function()
    local function places(pool, x)
      local g = mc.grad(function(t) return mc.sum(pool(t)) end)(x)
      return mc.nonzero(g:reshape(-1)):reshape(-1):totable()
    end
    local row, square = mc.tensor { 1, 3, 3, 2, 3 }:reshape(1, 1, 5), mc.tensor { 0, 1, 1, 0 }:reshape(1, 1, 2, 2)
    local long = mc.repeat_each(mc.tensor { 0, 1, 0, 1, 1 }, 5):reshape(1, 1, 25)
    for _, name in ipairs { 'AdaptiveMaxPool1d', 'MaxPool1d' } do
      local size = name == 'MaxPool1d'
      assert.same({ 2 }, places(nn[name](size and 5 or 1), row))
      assert.same({ 6 }, places(nn[name](size and 25 or 1), long))
    end
    assert.same({ 2 }, places(nn.AdaptiveMaxPool2d(1), square))
    assert.same({ 2 }, places(nn.MaxPool2d(2), square))
    assert.same({ 2 }, places(nn.AdaptiveMaxPool3d(1), square:reshape(1, 1, 2, 1, 2)))
    assert.same({ 2, 3 }, places(nn.AdaptiveMaxPool1d(2), row)) -- windows 1 to 3 and 3 to 5
  end)
  it('of activations', function()
    for dtype, least in pairs { f32 = -80, f64 = -700 } do -- the slope of elu is e^x, down to the smallest
      local x = mc.tensor({ least, -18, -10, -1 }, { dtype = dtype })
      local g = mc.grad(function(t) return mc.sum(nn.elu(t)) end)(x)
      assert(mc.allclose(g, mc.exp(x), { rtol = 1e-6, atol = 0 }), tostring(g))
    end
    local y = nn.gelu_tanh(mc.tensor { -math.huge, -1e300, -60, 1e300, math.huge, 0 / 0 })
    assert.same({ 0, 0, 0, 1e300, math.huge }, y["1:5"]:totable())
    assert.truthy(mc.isnan(y[6]):item())
  end)
  it('of ids: none counts from the end', function()
    local w = mc.ones { 5, 2 }
    local f = mc.compile(function(i, table) return nn.embedding(i, table) end)
    f(labels(1), w)
    for _, bad in ipairs { 5, -1 } do
      assert.matches(('nn.embedding: id %d is outside the table f64[5,2]@cpu; ids count from 0'):format(bad):gsub('%p',
        '%%%0'), support.message(nn.embedding, labels(0, bad), w))
      assert.matches('outside', support.message(f, labels(bad), w))
    end
  end)
  it('of attention: batches and sequences without elements', function()
    for _, shape in ipairs { { 0, 3, 8 }, { 2, 0, 8 } } do
      local x = mc.zeros(shape, { dtype = 'f32' })
      for _, net in ipairs { nn.MultiheadAttention(8, 2), nn.MultiheadAttention(8, 4, { kv_heads = 2 }),
        nn.DifferentialAttention(8, 2), nn.DifferentialAttention(8, 2, { form = 'apart' }),
        nn.TransformerEncoder(8, 2, 1, { activation = 'swiglu', rope = true }) } do
        assert.same(shape, { unpack(net(x).shape) })
      end
    end
  end)
  it('of logits: the smallest temperature, numbers that are none', function()
    for dtype, t in pairs { f32 = 1e-45, f64 = 1e-320, bf16 = 1e-38 } do
      local x = mc.tensor({ 0, 1, 5, 2 }, { dtype = dtype })
      assert.equal(2, nn.sample_logits(x, { temperature = t }):item())
      assert.equal(2, nn.sample_logits(x, { temperature = t, top_k = 2, top_p = 0.9 }):item())
    end
    assert.matches('hold NaN; there is no token to draw', support.message(nn.sample_logits, mc.tensor { mc.nan, 1 }))
    assert.matches('hold a row of %-infinity', support.message(nn.sample_logits, mc.tensor { -mc.inf, -mc.inf }))
    assert.equal(1, nn.sample_logits(mc.tensor { -mc.inf, 0 }):item())
  end)
  it('of vectors that are equal or broadcast', function()
    local function near(want, got) assert.is_true(mc.allclose(want, got), tostring(got)) end
    near(mc.ones { 1 }, nn.cosine_similarity(mc.ones { 1, 1 }, mc.ones { 3, 1 }, { axis = 1 }))
    near(nn.cosine_similarity(mc.tensor { { 1, 2 }, { 1, 2 } }, mc.tensor { { 3, 4 }, { 5, 6 } }, { axis = 1 }),
      nn.cosine_similarity(mc.tensor { 1, 2 }, mc.tensor { { 3, 4 }, { 5, 6 } }, { axis = 1 }))
    for _, p in ipairs { 2, 3 } do
      near(mc.zeros { 2, 3 }, mc.grad(function(a)
        return nn.triplet_margin_loss(a, mc.ones { 2, 3 }, mc.ones { 2, 3 }, { eps = 0, p = p })
      end)(mc.ones { 2, 3 }))
    end
  end)
  it('of labels', function()
    local x = mc.zeros { 2, 3 }
    for name, f in pairs { cross_entropy = nn.cross_entropy, nll_loss = nn.nll_loss, focal_loss = nn.focal_loss } do
      for _, bad in ipairs { 3, -1, -2, 1000000 } do
        local words = 'nn.%s: label %d is outside the 3 classes of f64[2,3]@cpu; labels count from 0'
        words = words:format(name, bad)
        assert.truthy(support.message(f, x, labels(bad, 1)):find(words, 1, true), words)
      end
      local compiled = mc.compile(function(p, t) return f(p, t) end)
      compiled(x, labels(0, 1))
      assert.matches('outside', support.message(compiled, x, labels(-2, 1)))
    end
    local bytes = mc.tensor({ 2, 0 }, { dtype = 'u8' }) -- as files of images have them
    for name, f in pairs { cross_entropy = nn.cross_entropy, nll_loss = nn.nll_loss, focal_loss = nn.focal_loss,
      linear = function(a, t) return nn.linear_cross_entropy(a, mc.eye(3), t) end } do
      assert.equal(f(x + 1, bytes:to 'i64'):item(), f(x + 1, bytes):item(), name)
    end
    local some, half = labels(1, -100), labels(1, 2)
    for _, reduction in ipairs { 'mean', 'sum', 'none' } do
      local one = nn.focal_loss(x[{ { 1, 1 } }], half[{ { 1, 1 } }], { reduction = 'sum' }):item()
      local got = nn.focal_loss(x, some, { reduction = reduction })
      assert.same(reduction == 'none' and { one, 0 } or one, reduction == 'none' and got:totable() or got:item())
    end
    assert.matches("target is f64%[2%]@cpu; class labels are integers, target:to 'i64', and probabilities",
      support.message(nn.cross_entropy, x, mc.tensor { 0, 1 }))
    assert.matches('The last axis of logits holds the classes: mc.moveaxis%(logits, 2, %-1%)',
      support.message(nn.cross_entropy, mc.zeros { 2, 3, 4, 4 }, mc.zeros({ 2, 4, 4 }, { dtype = 'i64' })))
    assert.matches('label_smoothing is 1.5; give a number from 0 to 1',
      support.message(nn.cross_entropy, x, labels(0, 1), { label_smoothing = 1.5 }))
  end)
end)

local function f32(...) return mc.ones({ ... }, { dtype = 'f32' }) end
local function run(net, options)
  local o = { optimizer = mc.optim.sgd { lr = 0.1 }, epochs = 1, progress = false,
    loss = function(m, b) return mc.mean(mc.square(m(b.x) - 1)) end }
  for k, v in pairs(options) do o[k] = v end
  local trainer = nn.Trainer(net, o)
  trainer:fit()
  return trainer
end

describe('a trainer', function()
  it('makes a step of the batches that accumulation leaves at the end of a run', function()
    local set = nn.data.tensors { x = mc.randn({ 7, 3 }, { seed = 1, dtype = 'f32' }) }
    local weights = {}
    for _, e in ipairs { { 7, 1 }, { 20, 1 }, { 4, 2 } } do
      local net = nn.Linear(3, 1, { key = 1 })
      local trainer = run(net, { train = nn.data.loader(set, { batch = 1 }), accumulate = e[1], compile = false })
      assert.equal(e[2], trainer.step.count)
      assert.equal(7, trainer:done())
      weights[e[1]] = net.weight
      local other = nn.Step(nn.Linear(3, 1), function(m, b) return mc.mean(m(b.x)) end,
        { optimizer = mc.optim.sgd(), accumulate = e[1] })
      other:restore(trainer.step:state())
      assert.equal(7, other:_batches())
    end
    assert.is_true(mc.allclose(weights[7], weights[20], { rtol = 1e-6 }))
    assert.is_false(mc.allclose(weights[7], weights[4], { rtol = 1e-6 }))
  end)

  it('evaluates losses that draw with the key of the call, and refuses draws that a replay would repeat', function()
    local set = nn.data.loader(nn.data.tensors { x = f32(4, 3) }, { batch = 2 })
    local function loss(opts)
      return function(m, b)
        local o = { dtype = 'f32', generator = opts.generator, key = opts.keyed and m:next_key() }
        return mc.mean(m(b.x + mc.random.normal({ 2, 3 }, o)))
      end
    end
    local seen = {}
    for k, compiled in ipairs { true, false } do
      local trainer = run(nn.Linear(3, 1, { key = 1 }), { train = set, valid = set, loss = loss { keyed = true },
        compile = compiled, optimizer = mc.optim.sgd { lr = 0 } })
      seen[k] = trainer.history[1].valid_loss
      assert.equal(seen[k], trainer:evaluate().loss)
    end
    assert(math.abs(seen[1] - seen[2]) < 1e-6)
    assert.matches('nn.Step: the loss draws random numbers without a key', support.message(run, nn.Linear(3, 1),
      { train = set, loss = loss { generator = mc.random.generator(1) } }))
    assert.matches('trainer:evaluate: the loss or a metric draws random numbers without a key', support.message(run,
      nn.Linear(3, 1), { train = set, valid = set, metrics = { noise = function() return mc.randn {} end } }))
  end)
end)

describe('lists of modules', function()
  it('take no tensors under names that count from 0', function()
    local function net() return nn.Sequential { nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2) } end
    local state = net():state_dict { names = 'pytorch' }
    state.more = f32(1)
    local words = "the names are those of PyTorch, names = 'pytorch' takes them %(with strict = false, since some"
    for _, strict in ipairs { true, false } do
      assert.matches(words, support.message(function() net():load_state_dict(state, { strict = strict }) end))
    end
    local loaded = net()
    loaded:load_state_dict(state, { strict = false, names = 'pytorch' })
    assert.is_true(mc.array_equal(state['0.weight'], loaded[1].weight))
  end)
end)
