-- grad_layers_spec.lua - derivatives of every layer of mc.nn by differences in f64, of its input and of its parameters,
-- second and compiled ones too; a layer without a row in the table fails.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local gradient = support.load 'gradient'
local nn = mc.nn

local O = { dtype = 'f64', key = 3 }
local function o(more)
  local out = { dtype = 'f64', key = 3 }
  for k, v in pairs(more) do out[k] = v end
  return out
end
local TOKENS = mc.tensor({ { 1, 0, 3 }, { 2, 2, 1 } }, { dtype = 'i64' })

-- arguments of the layer, then of its call: shapes of random operands, or tensors and numbers that stay
local LAYERS = {
  Linear = { { 3, 4, o { activation = 'silu' } }, { 5, 3 } },
  MLP = { { 3, { 4, 5, 2 }, O }, { 5, 3 } }, Embedding = { { 4, 3, O }, TOKENS }, Identity = { {}, { 3 } },
  Flatten = { {}, { 2, 2, 3 } }, Lambda = { { mc.tanh }, { 4 } },
  Sequential = { { { nn.Linear(3, 4, O), nn.Tanh(), nn.Linear(4, 2, O) } }, { 2, 3 } },
  Residual = { { { nn.Linear(3, 3, O), nn.Tanh() } }, { 2, 3 } },
  Conv1d = { { 2, 3, 3, O }, { 2, 2, 5 } }, Conv2d = { { 2, 2, 3, o { padding = 1 } }, { 1, 2, 4, 3 } },
  Conv3d = { { 1, 2, 2, O }, { 1, 1, 3, 3, 3 } }, ConvTranspose1d = { { 2, 3, 3, o { stride = 2 } }, { 1, 2, 4 } },
  ConvTranspose2d = { { 2, 2, 2, O }, { 1, 2, 3, 3 } }, ConvTranspose3d = { { 1, 2, 2, O }, { 1, 1, 2, 2, 2 } },
  LayerNorm = { { 5, O }, { 3, 5 } }, RMSNorm = { { 5, O }, { 3, 5 } }, GroupNorm = { { 2, 4, O }, { 2, 4, 3 } },
  InstanceNorm = { { 3, o { affine = true } }, { 2, 3, 4 } }, BatchNorm1d = { { 3, O }, { 5, 3 } },
  BatchNorm2d = { { 2, O }, { 2, 2, 3, 2 } }, BatchNorm3d = { { 2, O }, { 2, 2, 2, 2, 2 } },
  Dropout = { { 0.4 }, { 4, 5 } }, ChannelDropout = { { 0.4 }, { 3, 4, 2 } },
  MaxPool1d = { { 2 }, { 1, 2, 6 } }, MaxPool2d = { { 2 }, { 1, 2, 4, 4 } }, MaxPool3d = { { 2 }, { 1, 1, 2, 4, 2 } },
  AvgPool1d = { { 2 }, { 1, 2, 6 } }, AvgPool2d = { { 2 }, { 1, 2, 4, 4 } }, AvgPool3d = { { 2 }, { 1, 1, 2, 4, 2 } },
  AdaptiveAvgPool1d = { { 3 }, { 1, 2, 7 } }, AdaptiveAvgPool2d = { { 2 }, { 1, 2, 5, 4 } },
  AdaptiveAvgPool3d = { { 2 }, { 1, 1, 3, 4, 2 } }, AdaptiveMaxPool1d = { { 3 }, { 1, 2, 7 } },
  AdaptiveMaxPool2d = { { 2 }, { 1, 2, 5, 4 } }, AdaptiveMaxPool3d = { { 2 }, { 1, 1, 3, 4, 2 } },
  RNN = { { 3, 4, O }, { 2, 4, 3 } }, LSTM = { { 3, 4, O }, { 2, 4, 3 } }, GRU = { { 3, 4, O }, { 2, 4, 3 } },
  RNNCell = { { 3, 4, O }, { 2, 3 }, { 2, 4 } }, LSTMCell = { { 3, 4, O }, { 2, 3 } },
  GRUCell = { { 3, 4, O }, { 2, 3 }, { 2, 4 } }, LearnedPositions = { { 6, 4, O }, { 2, 3, 4 } },
  SinusoidalPositions = { { 4 }, { 2, 3, 4 } },
  MultiheadAttention = { { 4, 2, O }, { 2, 3, 4 } },
  DifferentialAttention = { { 4, 2, o { form = 'apart', causal = true } }, { 2, 3, 4 } },
  FeedForward = { { 4, o { hidden = 6 } }, { 2, 4 } },
  TransformerEncoderLayer = { { 4, 2, o { hidden = 6 } }, { 1, 3, 4 } },
  TransformerDecoderLayer = { { 4, 2, o { hidden = 6 } }, { 1, 3, 4 }, { 1, 2, 4 } },
  TransformerEncoder = { { 4, 2, 1, o { hidden = 6 } }, { 1, 3, 4 } },
  TransformerDecoder = { { 4, 2, 1, o { hidden = 6 } }, { 1, 3, 4 }, { 1, 2, 4 } },
  PreNormTransformer = { { o { vocabulary = 5, width = 4, layers = 1, heads = 2, hidden = 6, dropout = 0 } }, TOKENS },
  RelativePositions = { { 2, o { buckets = 4, longest = 6 } }, 3, 5 },
  UNet = { { 1, 1, o { channels = { 2, 4 }, groups = 2 } }, { 1, 1, 4, 2 } },
  ResidualBlock = { { 4, 4, o { groups = 2 } }, { 1, 4, 3, 3 } },
}
for name in ([[ReLU LeakyReLU ELU GELU SiLU Mish Softplus Hardswish LogSigmoid Sigmoid Tanh GLU]]):gmatch '%S+' do
  LAYERS[name] = { {}, { 3, 4 } }
end
LAYERS.SwiGLU, LAYERS.GeGLU = { { 4, o { hidden = 6 } }, { 2, 4 } }, { { 4, o { hidden = 6 } }, { 2, 4 } }
LAYERS.Softmax, LAYERS.LogSoftmax = { { 2 }, { 3, 4 } }, { { 2 }, { 3, 4 } }

local WITHOUT = {
  ModuleList = 'holds layers and computes nothing', ModuleDict = 'holds layers and computes nothing',
}

--- Names of the layers in nn/init.lua.
local function names()
  local text = mc.file.read(('%s/../lua/mascon/nn/init.lua'):format(support.folder))
  local out = {}
  for list in text:gmatch "%[layer '%a+'%] = (%b{})" do
    for name in list:gmatch "'(%u%w+)'" do out[#out + 1] = name end
  end
  assert(#out > 60, #out)
  return out
end

describe('derivatives of layers', function()
  it('have a row each', function()
    for _, name in ipairs(names()) do
      assert((LAYERS[name] ~= nil) ~= (WITHOUT[name] ~= nil), name .. ' has neither a row nor a reason, or both')
    end
  end)

  for _, name in ipairs(names()) do
    local c = LAYERS[name]
    if c then
      it('of ' .. name, function()
        mc.scope(function()
          local net = nn[name](unpack(c[1]))
          local inputs, keys, fixed = {}, {}, {}
          for k = 2, #c do
            if type(c[k]) ~= 'table' then fixed[k - 1] = c[k]
            else inputs[#inputs + 1] = mc.randn(c[k], { seed = 10 * k }) end
          end
          for key in pairs(net:parameters()) do keys[#keys + 1] = key end
          table.sort(keys)
          local free = #inputs
          for i, key in ipairs(keys) do
            inputs[#inputs + 1] = mc.randn(net:parameters()[key].shape, { seed = 200 + i }) * 0.5
          end
          gradient.check(name, function(...)
            local params, args, all = {}, {}, { ... }
            for i = 1, #c - 1 do args[i] = fixed[i] or table.remove(all, 1) end
            for i, key in ipairs(keys) do params[key] = all[i] end
            return (net:apply(params, args, { train = true, key = 5 }))
          end, inputs)
          assert(free + #keys > 0)
        end)
      end)
    end
  end
end)
