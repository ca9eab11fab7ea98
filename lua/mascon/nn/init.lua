-- nn/init.lua - functions of networks under PyTorch's names, modules made of them, data and training.
--
-- Functions: activations, norms, convolutions, pooling, attention, losses. Modules (upper-case names) hold parameters
-- and are called like functions; mc.nn.Module makes classes of your own, mc.nn.module documents what modules can do,
-- mc.nn.init holds initialisers.
local op = require 'mascon.core.op'
local lazy = require 'mascon.core.lazy'
local public = require 'mascon.nn.public'

local function layer(name) return 'mascon.nn.layer.' .. name end

local M = lazy.table('mc.nn', {
  ['mascon.nn.module'] = { 'Module' }, ['mascon.nn.slot'] = { 'shapes_only' },
  ['mascon.nn.linear'] = { 'linear', 'embedding' }, ['mascon.nn.dropout'] = { 'dropout' },
  [layer 'linear'] = { 'Linear', 'Embedding', 'Identity', 'Flatten', 'Lambda' },
  [layer 'container'] = { 'Sequential', 'ModuleList', 'ModuleDict', 'Residual' },
  ['mascon.nn.convolution'] = { 'conv2d_way' },
  [layer 'convolution'] = { 'Conv1d', 'Conv2d', 'Conv3d', 'ConvTranspose1d', 'ConvTranspose2d', 'ConvTranspose3d' },
  [layer 'norm'] = { 'LayerNorm', 'RMSNorm', 'BatchNorm1d', 'BatchNorm2d', 'BatchNorm3d', 'GroupNorm', 'InstanceNorm' },
  [layer 'dropout'] = { 'Dropout', 'ChannelDropout' },
  [layer 'activation'] = { 'ReLU', 'LeakyReLU', 'ELU', 'GELU', 'SiLU', 'Mish', 'Softplus', 'Hardswish', 'LogSigmoid',
    'Sigmoid', 'Tanh', 'Softmax', 'LogSoftmax', 'GLU', 'SwiGLU', 'GeGLU' },
  [layer 'pool'] = { 'MaxPool1d', 'MaxPool2d', 'AvgPool1d', 'AvgPool2d', 'AdaptiveAvgPool1d', 'AdaptiveAvgPool2d',
    'AdaptiveMaxPool1d', 'AdaptiveMaxPool2d', 'MaxPool3d', 'AvgPool3d', 'AdaptiveAvgPool3d', 'AdaptiveMaxPool3d' },
  [layer 'recurrent'] = { 'RNN', 'LSTM', 'GRU', 'RNNCell', 'LSTMCell', 'GRUCell' },
  [layer 'position'] = { 'sinusoidal_positions', 'SinusoidalPositions', 'LearnedPositions', 'rope', 'alibi',
    'relative_buckets', 'RelativePositions' },
  [layer 'attention'] = { 'MultiheadAttention', 'DifferentialAttention' },
  [layer 'transformer'] = { 'FeedForward', 'TransformerEncoderLayer', 'TransformerDecoderLayer', 'TransformerEncoder',
    'TransformerDecoder' },
  [layer 'language'] = { 'PreNormTransformer' },
  [layer 'unet'] = { 'ResidualBlock', 'UNet' },
  [layer 'fuse'] = { 'MLP', 'fuse_linear_activation', 'fuse_conv_bn_act', 'fuse_layernorm_linear', 'register_pattern' },
  ['mascon.nn.linear_loss'] = { 'linear_cross_entropy' },
  ['mascon.nn.sampling'] = { 'sample_logits' },
  ['mascon.nn.train.step'] = { 'Step' },
  ['mascon.nn.train.recompute'] = { 'Checkpoint', 'CheckpointSequential', 'checkpoint_scope', 'no_checkpoint' },
  ['mascon.nn.train.trainer'] = { 'Trainer' },
  ['mascon.nn.train.classify'] = { 'classification' },
  ['mascon.nn.train.autocast'] = { 'autocast' },
  ['mascon.nn.train.scaler'] = { 'GradScaler' },
  ['mascon.nn.train.anomaly'] = { 'anomaly' },
}, {
  data = 'mascon.nn.data', module = 'mascon.nn.module', step = 'mascon.nn.train.step',
  trainer = 'mascon.nn.train.trainer', events = 'mascon.nn.train.events',
  scaler = 'mascon.nn.train.scaler', checkpoint = 'mascon.nn.train.checkpoint', init = 'mascon.nn.initial',
}, function() return require 'mascon.nn.elsewhere' end)

public.names = M
for name, row in pairs(op.rows) do
  if row.namespace == 'nn' then
    M[name] = op.functions[name]
    for _, alias in ipairs(row.alias or {}) do M[alias] = op.functions[name] end
  end
end

return M
