-- network.lua - layers of networks: activations, convolution and its derivatives, compositions.
--
-- Rows of the op table; what their fields mean stands in runtime/ops/ops.lua.
local W = ...
local op, composed, FLOAT, kernels, functions = W.op, W.composed, W.FLOAT, W.kernels, W.functions

-- ---------------------------------------------------------------- activations
local function unary(name, expr, d, doc, source, more)
  local row = { name, family = 'unary', dtypes = FLOAT, promote = 'float', namespace = 'nn', method = false,
    tol = 'ULP4',
    expr = expr, rules = 'auto', d = d, doc = doc, source = source }
  for k, v in pairs(more or {}) do row[k] = v end
  op(row)
end
unary('relu', 'maximum(a, 0)', 'a > 0 ? 1 : 0', 'the positive part: max(a, 0)', 'PyTorch nn.functional.relu',
  { tol = 'EXACT', example = 'mc.nn.relu(mc.tensor{ -1, 2 })  --> f64[2]@cpu { 0, 2 }' })
local GAUSSIAN = 'Gaussian error linear units, 2016'
unary('gelu', 'gelu(a)', 'gelu_slope(a)', 'a times the normal distribution function of a', GAUSSIAN,
  { kernels = 'special', kernel = { 'f32' }, example = 'mc.nn.gelu(0)  --> f64[]@cpu 0' })
unary('gelu_slope', 'gelu_slope(a)', 'exp(-0.5 * a * a) * 0.3989422804014327 * (2 - a * a)',
  'the derivative of nn.gelu', GAUSSIAN,
  { kernels = 'special', kernel = { 'f32' }, tol = 'ACCUM', example = 'mc.nn.gelu_slope(0)  --> f64[]@cpu 0.5' })
-- max(a, 0) less what is missing, so that little is lost where the logistic function nears 1; nothing is missing at 40
local LESS = 'minimum(abs(a), 40)'
local TAIL = ('exp(M * (M * M * 0.07135481627260025 + 1.5957691216057308) * -1)'):gsub('M', LESS)
local MISSING = ('(E / (1 + E))'):gsub('E', TAIL)
unary('gelu_tanh', ('maximum(a, 0) - %s * %s'):format(LESS, MISSING),
  ('(a > 0 ? 1 - S : S) + a * S * (1 - S) * (1.5957691216057308 + 0.21406444881780076 * L * L)'):gsub('[SL]',
    { S = MISSING, L = LESS }),
  'nn.gelu with tanh in place of the normal distribution, as older models have it; differs from it by up to 4.7e-4',
  GAUSSIAN, { tol = 'ACCUM', example = 'mc.nn.gelu_tanh(0)  --> f64[]@cpu 0' })
-- powers of e in two halves, so that the tail keeps the digits of its smallest numbers
unary('silu', 'a < 0 ? a * exp(0.5 * a) / (1 + exp(a)) * exp(0.5 * a) : a / (1 + exp(-a))',
  'logistic(a) * (1 + a * logistic(-a))',
  'a times the logistic function of a', 'Searching for activation functions, 2017', { alias = { 'swish' } })
unary('softplus', 'maximum(a, 0) + log1p(exp(-abs(a)))', 'logistic(a)', 'log(1 + e^a) without overflow',
  'PyTorch nn.functional.softplus, without its threshold')
unary('mish', 'a < 0 ? a * exp(0.5 * a) * (exp(a) + 2) / (exp(a) * (exp(a) + 2) + 2) * exp(0.5 * a) : '
  .. 'a * (1 + 2 * exp(-a)) / (1 + 2 * exp(-a) * (1 + exp(-a)))',
  ('tanh(S) + a * (1 - tanh(S) * tanh(S)) * logistic(a)'):gsub('S', 'maximum(a, 0) + log1p(exp(-abs(a)))'),
  'a tanh(log(1 + e^a))', 'Mish: a self regularized non-monotonic activation function, 2019')
unary('log_sigmoid', 'minimum(a, 0) - log1p(exp(-abs(a)))', 'logistic(-a)',
  'logarithm of the logistic function, without overflow',
  'PyTorch nn.functional.logsigmoid', { alias = { 'logsigmoid' } })
unary('hardswish', 'a < -3 ? 0 : a > 3 ? a : a * (a + 3) / 6', 'a < -3 ? 0 : a > 3 ? 1 : a / 3 + 0.5',
  'a clip(a + 3, 0, 6) / 6', 'Searching for MobileNetV3, 2019')
local function of(module, list)
  for _, r in ipairs(list) do r.namespace, r.method, r.tol, r.promote = 'nn', false, r.tol or 'ACCUM', 'float' end
  composed('mascon.nn.' .. module, FLOAT, list)
end
local GLU = 'GLU variants improve transformer, 2020'
of('activation', {
  { 'leaky_relu', tol = 'ULP4', doc = 'a where positive, slope a elsewhere',
    source = 'PyTorch nn.functional.leaky_relu', work = 1.2 },
  { 'elu', tol = 'ULP4', doc = 'a where positive, alpha (e^a - 1) elsewhere',
    source = 'Fast and accurate deep network learning by exponential linear units, 2016', work = 3.3 },
  { 'glu', tol = 'ULP4', doc = 'first half of an axis times the logistic function of the second', source = GLU,
    work = 0.6 },
  { 'reglu', tol = 'ULP4', doc = 'first half of an axis times nn.relu of the second', source = GLU, work = 0.6 },
  { 'geglu', tol = 'ULP4', doc = 'first half of an axis times nn.gelu of the second', source = GLU, work = 0.6 },
  { 'swiglu', tol = 'ULP4', doc = 'first half of an axis times nn.silu of the second', source = GLU, work = 0.6 },
})

-- ---------------------------------------------------------------- normalisations
of('norm', {
  { 'layer_norm', doc = 'each sample standardised over its last axes', source = 'Layer normalization, 2016',
    work = 2.1 },
  { 'rms_norm', doc = 'each sample divided by the root mean square of its last axes',
    source = 'Root mean square layer normalization, 2019', work = 1.1 },
  { 'group_norm', doc = 'groups of channels of each sample standardised', source = 'Group normalization, 2018',
    work = 2.1 },
  { 'instance_norm', doc = 'each channel of each sample standardised over its places',
    source = 'Instance normalization: the missing ingredient for fast stylization, 2016', work = 3.1 },
  { 'batch_norm', nin = 3, doc = 'each channel standardised over the batch, or by running moments',
    source = 'Batch normalization, 2015', work = 3.1 },
})

-- what the first four are computed by on the CPU; their derivatives are composed in mascon.nn.norm
local SHAPES = W.join(W.ints 'channels places', { { 'weight', 'bool', false }, { 'bias', 'bool', false },
  { 'eps', 'number', 0 } })
for _, r in ipairs {
  { 'standardise', 'result', 1, 'rows of channels less their mean, over their standard deviation, scaled' },
  { 'standardise_back', 'back', 2, 'gradients of the operands of standardise' },
} do
  op { r[1], family = 'standardise', mixed = 'f32', internal = true, variant = r[2], nin = 'list', nout = r[3],
    dtypes = FLOAT, promote = 'float', method = false, params = SHAPES, tol = 'ACCUM', doc = r[4],
    rules = 'none: nn.layer_norm and its kin have them', source = 'Layer normalization, 2016' }
end

-- ---------------------------------------------------------------- windows and attention
local pools = {}
for d, places in ipairs { 'one axis', 'two axes', 'three axes' } do
  for _, r in ipairs { { 'avg', 'means' }, { 'max', 'maxima' } } do
    local name = r[1] .. '_pool' .. d .. 'd'
    pools[#pools + 1] = { name, nin = 2, doc = r[2] .. ' over windows of ' .. places,
      source = 'PyTorch nn.functional.' .. name, work = r[1] == 'avg' and 0.6 or 1.6 }
  end
end
of('pool', pools)
of('attention', {
  { 'scaled_dot_product_attention', nin = 3, doc = 'means of values weighted by the fit of queries to keys',
    source = 'Attention is all you need, 2017', work = 1.6 },
})

-- what it is computed by on the CPU where nothing but causality and a window limits what a query sees
for _, r in ipairs {
  { 'attention', 'result', 3, 2, 'means of values weighted by the fit of queries to keys, and logarithms of the sums' },
  { 'attention_back', 'back', 7, 3, 'gradients of the operands of attention' },
} do
  op { r[1], family = 'attention', mixed = 'f32', internal = true, variant = r[2], nin = r[3], nout = r[4],
    dtypes = FLOAT, promote = 'float', method = false,
    params = W.join(W.ints 'start window', { { 'causal', 'bool', false }, { 'scale', 'number', 1 } }), tol = 'ACCUM',
    doc = r[5], rules = 'none: nn.scaled_dot_product_attention has them', source = 'FlashAttention, 2022' }
end

-- ---------------------------------------------------------------- losses
local function torch(name) return 'PyTorch nn.functional.' .. name end
local losses = {
  { 'mse_loss', doc = 'squared differences', source = torch 'mse_loss', work = 1.1 },
    { 'l1_loss', doc = 'absolute differences', source = torch 'l1_loss', work = 1.1 },
  { 'huber_loss', doc = 'squared near 0, absolute beyond delta',
    source = 'Robust estimation of a location parameter, 1964', work = 3.1 },
  { 'smooth_l1_loss', doc = 'nn.huber_loss with delta = beta, divided by beta', source = 'Fast R-CNN, 2015',
    work = 3.6 },
  { 'binary_cross_entropy', doc = 'cross entropy of probabilities', source = torch 'binary_cross_entropy', work = 5.1 },
  { 'binary_cross_entropy_with_logits', doc = 'cross entropy of logits of two classes',
    source = torch 'binary_cross_entropy_with_logits', work = 4.1 },
  { 'cross_entropy', doc = 'cross entropy of logits with classes or distributions', source = torch 'cross_entropy',
    work = 1.1 },
  { 'nll_loss', doc = 'negative log likelihood of classes', source = torch 'nll_loss', work = 0.1 },
  { 'focal_loss', doc = 'cross entropy that weighs easy examples down',
    source = 'Focal loss for dense object detection, 2017', work = 1.1 },
  { 'kl_div_loss', doc = 'Kullback-Leibler divergence from logarithms of probabilities', source = torch 'kl_div',
    work = 2.7 },
  { 'cosine_similarity', doc = 'cosine of the angle between vectors', source = torch 'cosine_similarity', work = 1.6 },
  { 'cosine_embedding_loss', nin = 3, doc = '1 - cosine for pairs, its excess over a margin for others',
    source = torch 'cosine_embedding_loss', work = 1.6 },
  { 'contrastive_loss', doc = 'cross entropy of finding the other half of each pair among those of the batch',
    source = 'Learning transferable visual models from natural language supervision, 2021', work = 3 },
  { 'triplet_margin_loss', nin = 3, doc = 'how much farther a negative is than a positive',
    source = torch 'triplet_margin_loss', work = 2.8 },
}
for _, r in ipairs(losses) do r.nin = r.nin or 2 end
of('loss', losses)

-- ---------------------------------------------------------------- convolution
local DUMOULIN = 'A guide to convolution arithmetic for deep learning, 2016'
for _, r in ipairs {
  { 'conv', 'sums over channels and taps of a kernel that slides over the places of x', 'result' },
    { 'conv_input', 'gradient of the operand of a convolution; a transposed convolution', 'input' },
  { 'conv_weight', 'gradient of the kernel of a convolution', 'weight' },
} do
  op { r[1], family = 'conv', mixed = 'low', internal = true, variant = r[3], nin = 2, dtypes = FLOAT,
    promote = 'float', method = false, tol = 'ACCUM', rules = r[1], doc = r[2], source = DUMOULIN }
end

local list = {}
for d = 1, 3 do
  list[#list + 1] = { 'conv' .. d .. 'd', doc = ('convolution over %d %s: cross-correlation with a kernel'):format(d,
    d == 1 and 'axis' or 'axes'), source = 'PyTorch nn.functional.conv' .. d .. 'd; ' .. DUMOULIN }
  list[#list + 1] = { 'conv_transpose' .. d .. 'd', doc = ('transposed convolution over %d %s'):format(d,
    d == 1 and 'axis' or 'axes'), source = 'PyTorch nn.functional.conv_transpose' .. d .. 'd; ' .. DUMOULIN }
end
for _, r in ipairs(list) do r.nin, r.namespace, r.method, r.tol, r.promote, r.work = 2, 'nn', false, 'ACCUM', 'float',
  1.1 end
composed('mascon.nn.convolution', FLOAT, list)

-- ---------------------------------------------------------------- kernels
kernels('standardise', { { 'standardise', { 'f32', 'f64' } }, { 'standardise_back', { 'f32', 'f64' } } })
kernels('attention', { { 'attention', { 'f32', 'f64' } }, { 'attention_back', { 'f32', 'f64' } } })
kernels('conv', { { 'conv_rows', { 'f32', 'f64' } }, { 'conv_dots', { 'f32', 'f64' } },
  { 'conv_outer', { 'f32', 'f64' } } })
functions [[
  conv_copy_f32 conv_copy_f64 conv_fold_f32 conv_fold_f64 conv_turn_f32 conv_turn_f64
  conv_unturn_f32 conv_unturn_f64 conv_lanes_f32 conv_lanes_f64
  winograd_patches winograd_gradients winograd_results winograd_weights winograd_taps
  fourier_patches fourier_gradients fourier_taps
  fourier_columns fourier_row fourier_row_back fourier_results fourier_weights fourier_weight_row
]]
