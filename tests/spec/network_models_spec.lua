-- network_models_spec.lua - a convolutional network and a transformer against PyTorch: results, gradients, three steps.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local nn = mc.nn

--- The numbers that make_network_models.py puts into tensors.
local function wave(shape, k)
  local n = 1
  for _, s in ipairs(shape) do n = n * s end
  local i = mc.arange(0, n - 1)
  return (mc.sin((i + 1) * 1.7 + 0.9 * k + mc.pow(i, 1.5) * 0.003) * 0.6):reshape(unpack(shape))
end

--- Puts waves into the parameters of a network, in the order of `names`; gains of norms stand around 1.
local function filled(net, names)
  local own, values = net:parameters(), {}
  for k, name in ipairs(names) do
    local t = wave(own[name].shape, k - 1)
    values[name] = own[name].ndim == 1 and name:find 'weight$' and t * 0.25 + 1 or t
  end
  net:load_state_dict(values, { strict = false })
end

--- How far apart, in units of the largest number, and of 1 at least.
local function off(want, got)
  return mc.max(mc.abs(got:to 'f64' - want)):item() / math.max(1, mc.max(mc.abs(want)):item())
end
local function near(want, got, bound, what)
  local far = off(want, got)
  assert(far <= bound, ('%s: %g'):format(what, far))
end

local file = mc.load(support.folder .. '/golden/network_models.npz')
--- The tensors below a prefix, by name.
local function under(prefix)
  local out = {}
  for name, t in pairs(file) do
    if name:sub(1, #prefix + 1) == prefix .. '/' then out[name:sub(#prefix + 2)] = t end
  end
  assert(next(out), prefix)
  return out
end

describe('a convolutional network', function()
  it('has the logits, gradients, running moments and steps of PyTorch (nn C43)', function()
    local net = nn.Sequential { nn.Conv2d(2, 3, 3, { padding = 1 }), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2),
      nn.Flatten(), nn.Linear(27, 4) }:to 'f64'
    filled(net, { '1.weight', '1.bias', '2.weight', '2.bias', '6.weight', '6.bias' })
    local batch = { x = wave({ 4, 2, 6, 6 }, 20), y = mc.tensor({ 1, 3, 0, 2 }, { dtype = 'i64' }) }
    local function loss(m, b) return nn.cross_entropy(m(b.x), b.y) end
    local first = under 'cnn/first'
    local g = mc.grad(function(p, x)
      return (nn.cross_entropy((net:apply(p, x, { train = true })), batch.y))
    end, { argnums = { 1, 2 } })(net:parameters(), batch.x)
    near(first.logits, (net:apply(net:parameters(), batch.x, { train = true })), 1e-10, 'logits')
    near(first.x, g[2], 1e-10, 'gradient of the input')
    -- a bias in front of a batch norm has the gradient 0; steps of Adam divide its rounding by eps, and move by 1e-9
    for name, want in pairs(under 'cnn/gradient') do near(want, g[1][name], 1e-10, 'gradient of ' .. name) end
    local step = nn.Step(net, loss, { optimizer = mc.optim.adamw { lr = 0.01, weight_decay = 0.1 } })
    step(batch)
    local buffers = net:buffers()
    near(first.mean, buffers['2.running_mean'], 1e-10, 'running mean')
    near(first.var, buffers['2.running_var'], 1e-10, 'running variance')
    step(batch)
    step(batch)
    buffers = net:buffers()
    local last = under 'cnn/last'
    for name, want in pairs(under 'cnn/after') do
      near(want, net:parameters()[name], 1e-8, name .. ' after three steps')
    end
    near(last.mean, buffers['2.running_mean'], 1e-8, 'running mean after three steps')
    near(last.var, buffers['2.running_var'], 1e-8, 'running variance after three steps')
    net:eval()
    near(last.logits, net(batch.x), 1e-8, 'logits of evaluation')
  end)
end)

local Model = nn.Module 'Tied'
function Model:init()
  self.emb = nn.Embedding(11, 16, { dtype = 'f64' })
  self.blocks = nn.TransformerEncoder(16, 4, 2, { hidden = 24, activation = 'swiglu', bias = false, causal = true,
    kv_heads = 2, rope = { layout = 'half', start = 5 }, dtype = 'f64' })
  self.head = nn.Linear(16, 11, { bias = false, dtype = 'f64' })
  self.head:tie('weight', self.emb)
end
function Model:forward(ids) return self.head(self.blocks(self.emb(ids) * 4)) end

describe('a transformer', function()
  it('has the losses, gradients and steps of PyTorch (nn C44)', function()
    local names = { 'emb.weight' }
    for layer = 1, 2 do
      for name in ([[norm1.weight self_attn.q_proj.weight self_attn.k_proj.weight self_attn.v_proj.weight
        self_attn.out_proj.weight norm2.weight feed_forward.gate_proj.weight feed_forward.up_proj.weight
        feed_forward.down_proj.weight]]):gmatch '%S+' do
        names[#names + 1] = ('blocks.layers.%d.%s'):format(layer, name)
      end
    end
    names[#names + 1] = 'blocks.norm.weight'
    local i = mc.arange(0, 13, 1, { dtype = 'i64' })
    local function ids(t) return mc.remainder(t, 11):reshape(2, 7) end
    local batch = { x = ids(i * i * 7 + 3), y = ids(i * i * 5 + 1) }
    batch.y[{ 1, 4 }], batch.y[{ 2, 7 }] = -100, -100
    local function loss(m, b) return nn.cross_entropy(m(b.x), b.y, { label_smoothing = 0.1 }) end
    local after = under 'transformer/after'
    -- Adam divides by small gradients: what f64 gives when parameters and gradients are rounded to f32 once a step is
    -- the least by which f32 can be off behind the first step. That is 6e-5 in parameters and 1e-6 in losses, above the
    -- 2e-6 and close to them; PyTorch in f32 is off by 5 times as much in both.
    local least = { parameters = 0, losses = {}, norms = {} }
    do
      local function round(t) return t:to 'f32':to 'f64' end
      local net = Model()
      filled(net, names)
      local params = mc.tree.map(round, net:parameters())
      local opt = mc.optim.adamw { lr = 0.01, weight_decay = 0.1 }
      local state = opt.init(params)
      local run = mc.value_and_grad(function(p) return net:with(p, {}, function() return loss(net, batch) end)[1] end)
      for t = 1, 3 do
        local value, g = run(params)
        local clipped, norm = mc.optim.clip_norm(g, 0.5)
        least.losses[t] = off(file['transformer/losses'][t], value)
        least.norms[t] = off(file['transformer/norms'][t], norm)
        params, state = opt.update(params, mc.tree.map(round, clipped), state)
        params = mc.tree.map(round, params)
      end
      for name, want in pairs(after) do least.parameters = math.max(least.parameters, off(want, params[name])) end
      assert(least.parameters > 2e-5 and least.parameters < 2e-4, least.parameters)
    end
    for dtype, bound in pairs { f64 = 1e-10, f32 = 2e-6 } do
      local net = Model()
      filled(net, names)
      net = net:to(dtype)
      near(under 'transformer/first'.logits, net(batch.x), bound, dtype .. ' logits')
      local g = mc.grad(function(p) return net:with(p, {}, function() return loss(net, batch) end)[1] end)(
        net:parameters())
      for name, want in pairs(under 'transformer/gradient') do
        near(want, g[name], bound, dtype .. ' gradient of ' .. name)
      end
      local step = nn.Step(net, loss, { optimizer = mc.optim.adamw { lr = 0.01, weight_decay = 0.1 }, clip = 0.5 })
      for t = 1, 3 do
        local value, info = step(batch)
        local later = dtype == 'f32' and t > 1
        near(file['transformer/losses'][t], mc.tensor(value), math.max(bound, later and 5 * least.losses[t] or 0),
          dtype .. ' loss ' .. t)
        near(file['transformer/norms'][t], mc.tensor(info.norm), math.max(bound, later and 5 * least.norms[t] or 0),
          dtype .. ' norm ' .. t)
      end
      for name, want in pairs(after) do
        near(want, net:parameters()[name], dtype == 'f64' and bound or 5 * least.parameters, name .. ' after the steps')
      end
    end
  end)
end)

local Language = nn.Module 'Language'
function Language:init()
  self.emb = nn.Embedding(11, 32)
  self.blocks = nn.TransformerEncoder(32, 4, 2, { hidden = 64, activation = 'swiglu', bias = false, causal = true,
    norm = 'rms', rope = true })
  self.head = nn.Linear(32, 11, { bias = false })
  self.head:tie('weight', self.emb)
end
function Language:forward(ids) return self.head(self.blocks(self.emb(ids))) end

describe('a language model', function()
  it('learns one batch by heart: a loss below 0.05 (nn W2)', function()
    mc.seed(3)
    local ids = mc.random.integers { 4, 17, low = 0, high = 10, key = 5 }
    local batch = { x = ids[{ mc.all, { 1, 16 } }], y = ids[{ mc.all, { 2, 17 } }] }
    local steps = 150
    local step = nn.Step(Language(), function(m, b)
      return nn.cross_entropy(m(b.x):reshape(-1, 11), b.y:reshape(-1))
    end, { clip = 1, optimizer = mc.optim.adamw { weight_decay = 0.01,
      lr = mc.optim.warmup(mc.optim.cosine(1e-2, { steps = steps }), { steps = 10 }) } })
    local first = step(batch)
    local last
    for _ = 2, steps do last = step(batch) end
    assert(first > 0.8 * math.log(11) and last < 0.05, ('%g -> %g'):format(first, last))
  end)
end)
