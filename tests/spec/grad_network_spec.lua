-- grad_network_spec.lua - derivatives of the layers of networks: gradients, second derivatives, compiled gradients.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local gradient_rows = support.load 'gradient_rows'
local nn = mc.nn

local function conv(name, ...)
  local cases = { ... }
  return function(r)
    local out = {}
    for k, c in ipairs(cases) do
      local o = c[3]
      out[k] = { function(x, w, b)
        local with = { bias = b }
        for key, v in pairs(o) do with[key] = v end
        return nn[name](x, w, with)
      end, r(unpack(c[1])), r(unpack(c[2])), c.bias and r(c.bias) or nil }
    end
    return out
  end
end

local FAR = mc.tensor { -2.5, -1.2, -0.4, 0.3, 0.9, 2.2 } -- from corners
local LABELS = mc.tensor({ 2, 0, -100, 1 }, { dtype = 'i64' })
local KNOWN = mc.tensor({ 2, 0, 1, 1 }, { dtype = 'i64' })
local WEIGHT = mc.tensor { 1, 2, 0.5 }
local INSIDE = mc.tensor { { 0.2, 0.7, 0.4 }, { 0.9, 0.3, 0.5 } }
local function with(f, ...)
  local rest, n = { ... }, select('#', ...)
  return function(...)
    local list, m = { ... }, select('#', ...)
    for k = 1, n do list[m + k] = rest[k] end
    return f(unpack(list, 1, m + n))
  end
end
--- A loss of two tensors in each reduction, with some options.
local function both(f, o, a)
  return function(r)
    local out = {}
    for k, how in ipairs { 'mean', 'none' } do
      local all = { reduction = how }
      for key, v in pairs(o or {}) do all[key] = v end
      out[k] = { function(x, t) return f(x, t, all) end, a or r(2, 3), a and INSIDE * 0.5 + 0.2 or r(2, 3) }
    end
    return out
  end
end
local function scaled(f, ...)
  local shape, first = ..., { select(2, ...) }
  return function(r)
    local size = first[1] == 'last' and { shape[#shape] } or { shape[2] }
    return { { function(x, w, b)
      local o = { weight = w, bias = f ~= nn.rms_norm and b or nil }
      if first[1] == 'last' then return f(x, shape[#shape], o) end
      if first[1] then return f(x, first[1], o) end
      return f(x, o)
    end, r(unpack(shape)), r(unpack(size)), f ~= nn.rms_norm and r(unpack(size)) or nil } }
  end
end
local function classes(f, ...)
  local list = { ... }
  return function(r)
    local out = {}
    for k, o in ipairs(list) do
      local labels = o.labels or LABELS
      o.labels = nil
      out[k] = { function(x) return f(x, labels, o) end, r(4, 3) }
    end
    return out
  end
end

local CASES = {
  max_pool1d = function(r) return { { function(x) return nn.max_pool1d(x, 3, { stride = 2, padding = 1 }) end,
    r(2, 2, 7) } } end,
  max_pool2d = function(r) return { { function(x) return nn.max_pool2d(x, 2, { stride = { 1, 2 } }) end,
    r(2, 4, 5) } } end,
  avg_pool1d = function(r) return { { function(x) return nn.avg_pool1d(x, 3, { stride = 2, padding = 1 }) end,
    r(2, 2, 7) } } end,
  max_pool3d = function(r) return { { function(x) return nn.max_pool3d(x, 2) end, r(1, 2, 2, 4, 4) } } end,
  avg_pool3d = function(r) return { { function(x) return nn.avg_pool3d(x, 2, { padding = 1 }) end,
    r(1, 2, 2, 3, 4) } } end,
  avg_pool2d = function(r)
    return { { function(x) return nn.avg_pool2d(x, 2, { padding = 1, count_include_pad = false }) end, r(1, 2, 4, 5) } }
  end,
  scaled_dot_product_attention = function(r)
    local f = nn.scaled_dot_product_attention
    return { { f, r(2, 3, 4), r(2, 5, 4), r(2, 5, 3) }, { with(f, { causal = true }), r(4, 3, 2), r(2, 3, 2),
      r(2, 3, 2) } }
  end,
  gelu_tanh = function(r) return { { nn.gelu_tanh, r(7) } } end,
  leaky_relu = function() return { { with(nn.leaky_relu, 0.25), FAR } } end,
  elu = function() return { { with(nn.elu, 1.5), FAR } } end,
  glu = function(r) return { { nn.glu, r(3, 4) }, { with(nn.glu, 1), r(4, 3) } } end,
  reglu = function(r) return { { function(x, g) return nn.reglu(mc.concat({ x, g }, 1)) end, r(6), FAR } } end,
  geglu = function(r) return { { nn.geglu, r(3, 4) } } end,
  swiglu = function(r) return { { nn.swiglu, r(3, 4) } } end,
  layer_norm = scaled(nn.layer_norm, { 3, 2, 5 }, 'last'), rms_norm = scaled(nn.rms_norm, { 3, 2, 5 }, 'last'),
  group_norm = scaled(nn.group_norm, { 2, 4, 3 }, 2), instance_norm = scaled(nn.instance_norm, { 2, 3, 2, 3 }),
  batch_norm = function(r)
    local mean, var = r(3), mc.tensor { 0.5, 1, 2 }
    return {
      { function(x, w, b) return (nn.batch_norm(x, nil, nil, { weight = w, bias = b, training = true })) end, r(4, 3),
        r(3), r(3) },
      { function(x, w) return (nn.batch_norm(x, mean, var, { weight = w, training = true })) end, r(2, 3, 2, 2), r(3) },
      { function(x, w, b) return (nn.batch_norm(x, mean, var, { weight = w, bias = b })) end, r(2, 3, 2), r(3), r(3) },
    }
  end,
  mse_loss = both(nn.mse_loss), l1_loss = both(nn.l1_loss), huber_loss = both(nn.huber_loss, { delta = 0.7 }),
  smooth_l1_loss = both(nn.smooth_l1_loss, { beta = 0.7 }), binary_cross_entropy = both(nn.binary_cross_entropy, nil,
    INSIDE),
  binary_cross_entropy_with_logits = both(nn.binary_cross_entropy_with_logits, { pos_weight = 3 }),
  kl_div_loss = function() return { { nn.kl_div_loss, mc.log(INSIDE), INSIDE * 0.5 + 0.1 } } end,
  cross_entropy = function(r)
    local out = classes(nn.cross_entropy, {}, { weight = WEIGHT, label_smoothing = 0.1 }, { reduction = 'none' })(r)
    out[4] = { function(x, p) return nn.cross_entropy(x, mc.softmax(p, 2), { weight = WEIGHT }) end, r(2, 3), r(2, 3) }
    return out
  end,
  nll_loss = classes(nn.nll_loss, {}, { weight = WEIGHT, reduction = 'sum' }),
  focal_loss = classes(nn.focal_loss, { labels = KNOWN }, { labels = KNOWN, gamma = 1.5, alpha = 0.25 }),
  cosine_similarity = function(r) return { { nn.cosine_similarity, r(2, 4), r(2, 4) } } end,
  cosine_embedding_loss = function(r)
    local sign = mc.tensor { 1, -1 }
    return { { function(a, b) return nn.cosine_embedding_loss(a, b, sign, { margin = -2 }) end, r(2, 4), r(2, 4) } }
  end,
  contrastive_loss = function(r)
    local function f(a, b, s) return nn.contrastive_loss(a, b, { log_scale = s }) end
    return { { f, r(3, 4), r(3, 4), mc.tensor(0.7) } }
  end,
  triplet_margin_loss = function(r) return { { with(nn.triplet_margin_loss, { margin = 9 }), r(2, 4), r(2, 4),
    r(2, 4) } } end,
  conv1d = conv('conv1d', { { 2, 3, 7 }, { 4, 3, 3 }, { padding = 1, stride = 2 }, bias = 4 },
    { { 4, 6 }, { 2, 2, 3 }, { groups = 2, padding = 4, padding_mode = 'circular' } }),
  conv2d = conv('conv2d', { { 2, 2, 5, 4 }, { 3, 2, 2, 3 }, { padding = { 1, 2 }, dilation = { 2, 1 } }, bias = 3 },
    { { 1, 2, 4, 5 }, { 2, 2, 3, 3 }, { padding = 2, padding_mode = 'reflect', stride = { 1, 2 } } },
    { { 1, 2, 4, 5 }, { 4, 1, 2, 2 }, { padding = 1, padding_mode = 'replicate', groups = 2 } }),
  conv3d = conv('conv3d', { { 1, 2, 3, 3, 4 }, { 2, 2, 2, 2, 2 }, { padding = 1, stride = 2 } }),
  conv_transpose1d = conv('conv_transpose1d',
    { { 2, 4, 4 }, { 4, 2, 3 }, { stride = 2, padding = 1, output_padding = 1, groups = 2 }, bias = 4 }),
  conv_transpose2d = conv('conv_transpose2d',
    { { 1, 2, 3, 3 }, { 2, 3, 2, 3 }, { stride = { 2, 1 }, dilation = { 1, 2 } } }),
  conv_transpose3d = conv('conv_transpose3d', { { 1, 2, 2, 2, 2 }, { 2, 1, 2, 2, 2 }, { stride = 2 } }),
}

describe('derivatives of layers of networks', function()
  for _, t in ipairs(gradient_rows.rows(function(row) return (row.module or ''):find '^mascon%.nn' ~= nil end,
    CASES)) do it('of ' .. t.name, t.run) end
end)
