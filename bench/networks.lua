-- networks.lua - layers of networks, their derivatives and whole steps of training, beside the same in PyTorch.
--
-- Holds the shapes, which bench/peers/bench_networks.py reads from `plan`: one list for both sides. A row `nn_NAME` is
-- the result, `nn_NAME_back` all derivatives from a given gradient of the result; layers are compiled functions.
-- Results are checked against f64.
local mc = require 'mascon'
local limits = require 'limits'
local nn = mc.nn
local M = {}

-- name, batch, channels in, size, channels out, taps, and options of nn.conv2d
local CONVS = {
  { 'conv_64', 8, 32, 64, 32, 3, { padding = 1 } }, { 'resnet_stem', 2, 3, 224, 64, 7, { padding = 3, stride = 2 } },
  { 'resnet_1', 8, 64, 56, 64, 3, { padding = 1 } }, { 'resnet_2', 8, 128, 28, 128, 3, { padding = 1 } },
  { 'resnet_3', 8, 256, 14, 256, 3, { padding = 1 } }, { 'resnet_4', 8, 512, 7, 512, 3, { padding = 1 } },
  { 'resnet_down', 8, 64, 56, 128, 3, { padding = 1, stride = 2 } }, { 'unet_up', 2, 128, 64, 64, 3, { padding = 1 } },
  { 'unet_first', 4, 1, 96, 32, 3, { padding = 1 } }, { 'unet_down', 4, 32, 48, 64, 3, { padding = 1 } },
  { 'pointwise', 8, 256, 28, 128, 1, {} },
  { 'pointwise_down', 8, 64, 56, 128, 1, { stride = 2 } },
  { 'depthwise', 8, 128, 56, 128, 3, { padding = 1, groups = 128 } },
  { 'digits', 64, 16, 14, 32, 5, { padding = 2 } },
}
-- name, shape, function of nn: what is standardised
local NORMS = {
  { 'layer_norm_768', { 1024, 768 }, 'layer' }, { 'layer_norm_256', { 4096, 256 }, 'layer' },
  { 'rms_norm_768', { 1024, 768 }, 'rms' }, { 'group_norm', { 8, 64, 32, 32 }, 'group' },
  { 'batch_norm', { 8, 64, 56, 56 }, 'batch' }, { 'batch_norm_rows', { 1024, 256 }, 'batch' },
}
-- name, batch, heads, queries, width, causal
local ATTENTION = {
  { 'attention', 8, 12, 512, 64, false }, { 'attention_causal', 8, 12, 512, 64, true },
  { 'attention_short', 16, 4, 128, 32, true },
}
-- name, rows, width in, width out: activations, layers as one, and what they spare memory
local FUSED = {
  { 'gelu_1000x512', 'gelu', 1000, 512 }, { 'gelu_2048x768', 'gelu', 2048, 768 },
  { 'gelu_4096x1024', 'gelu', 4096, 1024 }, { 'gelu_tanh_4096x1024', 'gelu_tanh', 4096, 1024 },
  { 'linear_gelu_128', 'linear_gelu', 128, 512, 768 }, { 'linear_gelu_256', 'linear_gelu', 256, 768, 1024 },
  { 'linear_gelu_512', 'linear_gelu', 512, 1024, 2048 }, { 'linear_relu_256', 'linear_relu', 256, 768, 1024 },
  { 'layernorm_linear_512', 'layernorm_linear', 512, 768, 768 },
}
local LOSSES = { { 'cross_entropy_1000', 1024, 1000 }, { 'cross_entropy_10', 1024, 10 } }
local STEPS = { { 'step_mlp_32', 32, 'mlp' }, { 'step_mlp_1024', 1024, 'mlp' }, { 'step_cnn_64', 64, 'cnn' },
  { 'step_gpt', 8, 'gpt' }, { 'step_lstm', 32, 'lstm' } }

--- The cases as rows for the other side.
function M.plan()
  local rows = {}
  local function add(kind, name, more)
    more.kind, more.name = kind, name
    rows[#rows + 1] = more
  end
  for _, c in ipairs(CONVS) do
    local o = c[7]
    add('conv', c[1], { x = { c[2], c[3], c[4], c[4] }, w = { c[5], c[3] / (o.groups or 1), c[6], c[6] },
      padding = o.padding or 0, stride = o.stride or 1, groups = o.groups or 1 })
  end
  for _, c in ipairs(NORMS) do add('norm', c[1], { shape = c[2], over = c[3] }) end
  for _, c in ipairs(ATTENTION) do add('attention', c[1], { shape = { c[2], c[3], c[4], c[5] }, causal = c[6] }) end
  for _, c in ipairs(FUSED) do add('fused', c[1], { what = c[2], sizes = { c[3], c[4], c[5] } }) end
  add('conv_bn_relu', 'conv_bn_relu', { x = { 8, 64, 56, 56 }, w = { 64, 64, 3, 3 } })
  for _, c in ipairs(LOSSES) do add('loss', c[1], { shape = { c[2], c[3] } }) end
  for _, c in ipairs(STEPS) do add('step', c[1], { batch = c[2], net = c[3] }) end
  return rows
end

local function randn(shape, seed, dtype) return mc.randn(shape, { seed = seed, dtype = dtype or 'f32' }) end

--- Largest difference in units of the root mean square of what it should be.
local function off(a, b)
  local scale = mc.sqrt(mc.mean(mc.square(b))):item()
  return mc.max(mc.abs(a:to 'f64' - b)):item() / math.max(scale, 1e-30)
end

--- Operands of given shapes, the same numbers in either dtype.
local function operands(dtype, ...)
  local out = {}
  for i, shape in ipairs { ... } do out[i] = randn(shape, i):to(dtype) end
  return out
end

--- Rows of a function of tensors: its result, and its derivatives, with the result (`both`) or alone (`back`).
--- make(dtype) -> f, operands.
--- suffix: nil for the result alone. plain(threads, y, operands): the limit that the result is set beside.
local function pair(bench, name, text, shape, suffix, make, work, plain)
  local function case(tail, setup)
    bench.both { name = 'nn_' .. name .. tail, family = 'networks',
      op = text .. (tail == '' and '' or tail == '_back' and ', derivatives' or ', and derivatives'), dtype = 'f32',
      shape = shape, work = work and { work * (tail == '' and 1 or 2), 'FLOP' }, samples = 5, setup = setup }
  end
  case('', function(threads)
    local f, x = make 'f32'
    local g, y = mc.compile(f), nil
    local function run(n)
      for _ = 1, n do
        if y then y:release() end -- as a count of references does there
        y = g(unpack(x))
      end
    end
    local limit = plain and plain(threads, mc.zeros(f(unpack(x)).shape, { dtype = 'f32' }), x)
    return { run = run, limit = limit, limit_name = limit and 'plain passes', check = function()
      local exact, x64 = make 'f64'
      local d = off(y, exact(unpack(x64)))
      return d < 1e-4, ('%.3g away from f64'):format(d)
    end }
  end)
  if not suffix then return end -- a function of evaluation
  case(suffix, function()
    local f, x = make 'f32'
    local c = randn(f(unpack(x)).shape, 99)
    local back = mc.compile(function(g, ...)
      local y, way = mc.vjp(f, ...)
      if suffix == '_both' then return y, way(g) end
      return way(g)
    end)
    local out
    local function run(n)
      for _ = 1, n do
        for _, t in ipairs(out or {}) do t:release() end
        out = { back(c, unpack(x)) }
      end
    end
    return { run = run, check = function()
      local exact, x64 = make 'f64'
      local want = { select(2, mc.vjp(exact, unpack(x64)))(c:to 'f64') }
      for i, t in ipairs(want) do
        local d = off(out[#out - #want + i], t)
        if not (d < 1e-3) then return false, ('derivative %d is %.3g away from f64'):format(i, d) end
      end
      return true
    end }
  end)
end

--- Row `NAME_apart`: the same as `pair`'s result in compiled functions of their own, one after the other.
--- make(dtype) -> list of functions, the first one's operands; the later ones take the result before.
local function apart(bench, name, text, shape, make, work)
  bench.both { name = 'nn_' .. name .. '_apart', family = 'networks', op = text .. ', apart', dtype = 'f32',
    shape = shape, work = work and { work, 'FLOP' }, samples = 5, setup = function()
    local parts, x = make 'f32'
    for i, f in ipairs(parts) do parts[i] = mc.compile(f) end
    local y
    local function run(n)
      for _ = 1, n do
        if y then y:release() end
        y = parts[1](unpack(x))
        for i = 2, #parts do
          local before = y
          y = parts[i](before)
          before:release()
        end
      end
    end
    return { run = run, check = function()
      local exact, want = make 'f64'
      want = exact[1](unpack(want))
      for i = 2, #exact do want = exact[i](want) end
      local d = off(y, want)
      return d < 1e-4, ('%.3g away from f64'):format(d)
    end }
  end }
end

-- ---------------------------------------------------------------- steps of training

local nets = {}
M.nets = nets -- name -> function(batch) -> network, loss(network, batch), batch
local function classes(batch, many, ...)
  return mc.random.integers { batch, ..., low = 0, high = many - 1, key = 2 }
end
local function crossed(net, b) return nn.cross_entropy(net(b.x), b.y) end

function nets.mlp(batch)
  return nn.Sequential { nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10) }, crossed,
    { x = randn({ batch, 784 }, 1), y = classes(batch, 10) }
end
function nets.cnn(batch)
  return nn.Sequential { nn.Conv2d(1, 16, 3, { padding = 1 }), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, { padding = 1 }), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1568, 10) }, crossed,
    { x = randn({ batch, 1, 28, 28 }, 1), y = classes(batch, 10) }
end
local GPT = nn.Module 'GPT'
function GPT:init(layers)
  self.emb, self.places = nn.Embedding(1024, 256), nn.Embedding(128, 256)
  self.blocks = nn.TransformerEncoder(256, 4, layers, { causal = true })
  self.norm, self.head = nn.LayerNorm(256), nn.Linear(256, 1024, { bias = false })
end
function GPT:forward(x)
  local at = self.places(mc.arange(0, 127):to 'i64')
  return self.head(self.norm(self.blocks(self.emb(x) + at)))
end
function nets.gpt(batch, layers)
  return GPT(layers or 4), function(net, b) return nn.cross_entropy(net(b.x):reshape(-1, 1024), b.y:reshape(-1)) end,
    { x = classes(batch, 1024, 128), y = mc.random.integers { batch, 128, low = 0, high = 1023, key = 3 } }
end
local Last = nn.Module 'Last'
function Last:init() self.lstm, self.head = nn.LSTM(256, 256), nn.Linear(256, 10) end
function Last:forward(x) return self.head((self.lstm(x))[{ mc.all, -1 }]) end
function nets.lstm(batch)
  return Last(), crossed, { x = randn({ batch, 128, 256 }, 1), y = classes(batch, 10) }
end

--- The step as one writes it by hand: a compiled function of parameters and state.
local function by_hand(net, loss, optimizer)
  local params = net:parameters()
  local state = optimizer.init(params)
  local step = mc.compile(function(p, s, b)
    local value, g = mc.value_and_grad(function(q)
      return net:with(q, { train = true }, function() return loss(net, b) end)[1]
    end)(p)
    local new, after = optimizer.update(p, g, s)
    return value, new, after
  end)
  return function(b)
    local value
    value, params, state = step(params, state, b)
    return value:item()
  end
end

return setmetatable(M, { __call = function(_, bench)
  for _, c in ipairs(CONVS) do
    local o, size = c[7], c[4]
    local x, w = { c[2], c[3], size, size }, { c[5], c[3] / (o.groups or 1), c[6], c[6] }
    local out = math.floor((size + 2 * (o.padding or 0) - c[6]) / (o.stride or 1)) + 1
    local work = 2 * c[2] * w[1] * w[2] * c[6] * c[6] * out * out
    local more = o.groups and ', each its own' or o.stride and ', stride 2' or ''
    pair(bench, c[1], ('convolution, %d channels to %d, %d x %d taps%s'):format(c[3], c[5], c[6], c[6], more),
      ('%d x %d x %d x %d'):format(unpack(x)), '_back', function(dtype)
        return function(a, b) return nn.conv2d(a, b, o) end, operands(dtype, x, w)
      end, work)
  end
  for _, c in ipairs(NORMS) do
    local shape, over = c[2], c[3]
    local width = over == 'layer' and shape[#shape] or over == 'rms' and shape[#shape] or shape[2]
    local f = {
      layer = function(x, w, b) return nn.layer_norm(x, width, { weight = w, bias = b }) end,
      rms = function(x, w) return nn.rms_norm(x, width, { weight = w }) end,
      group = function(x, w, b) return nn.group_norm(x, 8, { weight = w, bias = b }) end,
      batch = function(x, w, b) return (nn.batch_norm(x, nil, nil, { weight = w, bias = b, training = true })) end,
    }
    pair(bench, c[1], over .. ' norm', table.concat(shape, ' x '), '_both', function(dtype)
      local x = operands(dtype, shape, { width }, { width })
      if over == 'rms' then x[3] = nil end
      return f[over], x
    end)
  end
  for _, c in ipairs(ATTENTION) do
    local shape = { c[2], c[3], c[4], c[5] }
    pair(bench, c[1], c[6] and 'causal attention' or 'attention', table.concat(shape, ' x '), '_both', function(dtype)
      return function(q, k, v) return nn.scaled_dot_product_attention(q, k, v, { causal = c[6] }) end,
        operands(dtype, shape, shape, shape)
    end)
  end
  local layers = {
    gelu = function(x) return nn.gelu(x) end, gelu_tanh = function(x) return nn.gelu_tanh(x) end,
    linear_gelu = function(x, w, b) return nn.fuse_linear_activation(x, w, b, 'gelu') end,
    linear_relu = function(x, w, b) return nn.fuse_linear_activation(x, w, b, 'relu') end,
    layernorm_linear = function(x, w, b, g, s)
      return nn.fuse_layernorm_linear(x, w, { bias = b, gamma = g, beta = s })
    end,
  }
  -- weights that keep the variance: derivatives of gelu at -13 are subnormal numbers, which slow products down
  local function layer_operands(dtype, rows, k, n)
    if not n then return operands(dtype, { rows, k }) end
    local x = operands(dtype, { rows, k }, { n, k }, { n }, { k }, { k })
    x[2] = x[2] / math.sqrt(k)
    return x
  end
  local plain = {
    gelu = function(threads, y, x) return limits.gelu(threads, y, x[1]) end,
    linear_gelu = function(threads, y, x) return limits.linear_gelu(threads, y, x[1], x[2].T:contiguous(), x[3]) end,
  }
  for _, c in ipairs(FUSED) do
    local rows, k, n = c[3], c[4], c[5]
    -- the product is written and read once more by an activation of its own, the norm by a product of its own
    local spared = n and (c[2] == 'layernorm_linear' and k or n) * rows * 8 / 1e6
    pair(bench, c[1], c[2]:gsub('_', ' ') .. (n and (', %.1f MB spared'):format(spared) or ''),
      table.concat({ rows, k, n }, ' x '), '_both', function(dtype)
        return layers[c[2]], layer_operands(dtype, rows, k, n)
      end, n and 2 * rows * k * n, plain[c[2]])
    if n then
      apart(bench, c[1], c[2]:gsub('_', ' '), table.concat({ rows, k, n }, ' x '), function(dtype)
        local x, w, b, g, s = unpack(layer_operands(dtype, rows, k, n))
        if c[2] == 'layernorm_linear' then
          return { function(t, gamma, beta) return nn.layer_norm(t, k, { weight = gamma, bias = beta }) end,
            function(t) return nn.linear(t, w, b) end }, { x, g, s }
        end
        return { nn.linear, c[2] == 'linear_relu' and nn.relu or nn.gelu }, { x, w, b }
      end, 2 * rows * k * n)
    end
  end
  local work = 2 * 8 * 64 * 64 * 9 * 56 * 56
  local function conv_bn(dtype)
    local conv, norm = nn.Conv2d(64, 64, 3, { padding = 1, key = 1 }), nn.BatchNorm2d(64)
    norm:update { running_mean = randn({ 64 }, 5), running_var = randn({ 64 }, 6) ^ 2 + 0.5 }
    norm:eval()
    return conv:to(dtype), norm:to(dtype), operands(dtype, { 8, 64, 56, 56 })
  end
  local conv_text = 'convolution, batch norm and relu of evaluation'
  pair(bench, 'conv_bn_relu', conv_text .. ' as one, 12.8 MB spared', '8 x 64 x 56 x 56', nil, function(dtype)
    local conv, norm, x = conv_bn(dtype)
    local one = nn.fuse_conv_bn_act(conv, norm, 'relu')
    return function(t) return one(t) end, x
  end, work)
  apart(bench, 'conv_bn_relu', conv_text, '8 x 64 x 56 x 56', function(dtype)
    local conv, norm, x = conv_bn(dtype)
    return { function(t) return conv(t) end, function(t) return norm(t) end, nn.relu }, x
  end, work)
  for _, c in ipairs(LOSSES) do
    local y = classes(c[2], c[3])
    pair(bench, c[1], 'cross entropy of logits', ('%d x %d'):format(c[2], c[3]), '_both', function(dtype)
      return function(x) return nn.cross_entropy(x, y) end, operands(dtype, { c[2], c[3] })
    end)
  end
  for _, c in ipairs(STEPS) do
    for _, hand in ipairs { false, true } do
      local name, make = 'nn_' .. c[1] .. (hand and '_hand' or ''), nets[c[3]]
      local text = ('step of training, %s%s'):format(c[3], hand and ', written by hand' or '')
      bench.both { name = name, family = 'networks', op = text, dtype = 'f32', shape = 'batch ' .. c[2], samples = 5,
        setup = function()
        local net, loss, batch = make(c[2])
        local optimizer = mc.optim.adamw { lr = 1e-4 }
        local step = hand and by_hand(net, loss, optimizer) or nn.Step(net, loss, { optimizer = optimizer })
        local first, value = step(batch), nil
        return { run = function(n) for _ = 1, n do value = step(batch) end end,
          check = function() return value < first, ('the loss went from %g to %g'):format(first, value) end }
      end }
    end
  end
end })
