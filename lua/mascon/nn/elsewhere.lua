-- elsewhere.lua - names of other libraries of networks, and what stands here under another name: for the message to a
-- name that is not there.
local M = {
  Swish = 'mc.nn.SiLU', ReGLU = 'mc.nn.reglu, a function', HardSwish = 'mc.nn.Hardswish',
  MultiHeadAttention = 'mc.nn.MultiheadAttention', SelfAttention = 'mc.nn.MultiheadAttention',
  CrossAttention = 'mc.nn.MultiheadAttention, called with a memory',
  GroupedQueryAttention = 'mc.nn.MultiheadAttention with the option kv_heads',
  MultiQueryAttention = 'mc.nn.MultiheadAttention with kv_heads = 1',
  FusedMLP = 'mc.nn.MLP', OptimizedLinear = 'mc.nn.Linear with the option activation', OptimizedGELU = 'mc.nn.GELU',
  PositionalEncoding = 'mc.nn.SinusoidalPositions', RotaryEmbedding = 'mc.nn.rope, or the option rope of attention',
  RoPE = 'mc.nn.rope, or the option rope of attention', ALiBi = 'mc.nn.alibi, or the option alibi of attention',
  Transformer = 'mc.nn.TransformerEncoder and mc.nn.TransformerDecoder (docs/networks.md)',
  CrossEntropyLoss = 'mc.nn.cross_entropy', NLLLoss = 'mc.nn.nll_loss', MSELoss = 'mc.nn.mse_loss',
  L1Loss = 'mc.nn.l1_loss', SmoothL1Loss = 'mc.nn.smooth_l1_loss', HuberLoss = 'mc.nn.huber_loss',
  BCELoss = 'mc.nn.binary_cross_entropy',
  BCEWithLogitsLoss = 'mc.nn.binary_cross_entropy_with_logits', KLDivLoss = 'mc.nn.kl_div_loss',
  CosineEmbeddingLoss = 'mc.nn.cosine_embedding_loss', TripletMarginLoss = 'mc.nn.triplet_margin_loss',
  FocalLoss = 'mc.nn.focal_loss', CosineSimilarity = 'mc.nn.cosine_similarity', CLIPLoss = 'mc.nn.contrastive_loss',
  kl_div = 'mc.nn.kl_div_loss', sdpa = 'mc.nn.scaled_dot_product_attention',
  DataLoader = 'mc.nn.data.loader', Dataset = 'mc.nn.data.tensors, or a table with n and get(i)',
  TensorDataset = 'mc.nn.data.tensors', Subset = 'mc.nn.data.subset',
  ImageFolder = 'mc.nn.data.png and a table with n and get(i)', EarlyStopping = 'the option patience of mc.nn.Trainer',
  ModelCheckpoint = 'the options folder, every and keep of mc.nn.Trainer', functional = 'mc.nn: functions and modules',
  utils = 'mc.nn.data, and mc.optim for clipping', one_hot = 'mc.eq(mc.expand_dims(y, -1), mc.arange(0, classes - 1))',
  ZeroPad2d = 'the option padding of a convolution, or mc.pad', PixelShuffle = 'mc.nn.Lambda, reshape and permute_dims',
  interpolate = 'mc.repeat_each along each axis, or mc.nn.ConvTranspose2d',
  remat = 'mc.checkpoint',
  Parameter = 'module:parameter(name, shape, init)', Buffer = 'module:buffer(name, shape, init)',
  find_fusion_opportunities = 'what f:explain() of a compiled function says',
  estimate_speedup = 'the times of f with and without the option fuse of mc.compile', optimize_sequence = 'mc.compile',
  Unflatten = 'mc.nn.Lambda and reshape',
  Upsample = 'mc.repeat_each along each axis, or mc.nn.ConvTranspose2d',
  DataParallel = 'not built yet', DistributedDataParallel = 'not built yet', autograd = 'mc.grad',
  Amp = 'the option amp of mc.nn.Step', Model = 'mc.nn.Module',
}
for _, prefix in ipairs { 'Dropout', 'SpatialDropout', 'FeatureDropout' } do
  for n = 1, 3 do M[('%s%dd'):format(prefix, n)] = 'mc.nn.ChannelDropout' end
end
for n = 1, 3 do
  M[('InstanceNorm%dd'):format(n)] = 'mc.nn.InstanceNorm'
  for _, kind in ipairs { 'Avg', 'Max' } do
    M[('Global%sPool%dd'):format(kind, n)] = ('mc.nn.Adaptive%sPool%dd(1)'):format(kind, n)
  end
end
for name in ([[xavier_uniform xavier_normal kaiming_uniform kaiming_normal orthogonal trunc_normal]]):gmatch '%S+' do
  local here = name:gsub('kaiming', 'he')
  M[name], M[name .. '_'] = 'mc.nn.init.' .. here, 'mc.nn.init.' .. here
end
for name in ('pruning prune quantization distillation'):gmatch '%w+' do
  M[name] = 'out of scope (docs/networks.md)'
end
for name, here in pairs(require 'mascon.optim.elsewhere') do M[name] = here end
for _, name in ipairs { 'softmax', 'log_softmax', 'sigmoid', 'tanh', 'logsumexp', 'pad' } do M[name] = 'mc.' .. name end
return M
