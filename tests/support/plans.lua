-- plans.lua - models whose plan is held against a run, each in a process of its own.
--
-- usage: mascon tests/support/plans.lua MODEL plan|fit   prints the peak in bytes, foretold or measured.
local mc = require 'mascon'
local nn = mc.nn
local M = {}

local function randn(shape) return mc.randn(shape, { seed = 1, dtype = 'f32' }) end
local function classes(many, ...)
  local o = { ... }
  o.low, o.high, o.key = 0, many - 1, 1
  return mc.random.integers(o)
end
local function crossed(m, b) return nn.cross_entropy(m(b.x), b.y) end

function M.mlp()
  return nn.Sequential { nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10) },
    { x = randn { 384, 784 }, y = classes(10, 384) }, 128
end

function M.cnn()
  return nn.Sequential { nn.Conv2d(3, 32, 3, { padding = 1 }), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(32, 64, 3, { padding = 1 }), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(4096, 10) },
    { x = randn { 96, 3, 32, 32 }, y = classes(10, 96) }, 32
end

local Language = nn.Module 'Language'
function Language:init(checkpointed)
  self.emb = nn.Embedding(256, 128)
  local list = {}
  for i = 1, 2 do
    local layer = nn.TransformerEncoderLayer(128, 4, { hidden = 512 })
    list[i] = checkpointed and nn.Checkpoint(layer) or layer
  end
  self.blocks = nn.Sequential(list)
  self.head = nn.Linear(128, 256)
end
function Language:forward(x) return self.head(self.blocks(self.emb(x))) end
local function language(checkpointed, batch, accumulate)
  return Language(checkpointed), { x = classes(256, 24, 128), y = classes(256, 24, 128) }, batch, {
    accumulate = accumulate,
    loss = function(m, b) return nn.cross_entropy(m(b.x):reshape(-1, 256), b.y:reshape(-1)) end,
  }
end
function M.transformer() return language(false, 8) end
function M.checkpointed() return language(true, 8) end
function M.accumulated() return language(false, 4, 2) end

local Last = nn.Module 'Last'
function Last:init()
  self.lstm = nn.LSTM(64, 256)
  self.head = nn.Linear(256, 10)
end
function Last:forward(x) return self.head((self.lstm(x))[{ mc.all, -1 }]) end
function M.lstm() return Last(), { x = randn { 96, 32, 64 }, y = classes(10, 96) }, 32 end

mc.seed(1)
local net, data, batch, o = M[arg[1]]()
o = o or {}
o.loss = o.loss or crossed
o.optimizer, o.epochs, o.progress = mc.optim.adamw(), 2, false
o.train = nn.data.loader(nn.data.tensors(data), { batch = batch })
local trainer = nn.Trainer(net, o)
if arg[2] == 'plan' then print(trainer:plan().peak)
else
  mc.reset_peak_memory()
  trainer:fit()
  print(mc.memory().peak)
end
