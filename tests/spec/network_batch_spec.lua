-- network_batch_spec.lua - batch-invariant mode: the bits of a row in any batch, for any number of threads; training
-- with 1, 2 and 4 threads.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local device = support.load 'device'
local nn = mc.nn

local function first(y) return mc.is_tensor(y) and y or y[1] end

--- Rows of a batch through f, alone and among others, have the same bits.
local function same_rows(what, f, x)
  local n = x.shape[1]
  local whole = first(f(x))
  for _, rows in ipairs { { 1, 1 }, { n, n }, { 2, math.floor(n / 2) + 1 }, { 1, n - 1 } } do
    local part = first(f(x[{ rows }]))
    if not mc.array_equal(whole[{ rows }]:to 'cpu', part:to 'cpu') then
      error(('%s %s: rows %d to %d have other bits'):format(what, tostring(x.shape), rows[1], rows[2]), 0)
    end
  end
end

--- Random layers and networks with the shape of one sample.
local function networks(r, dtype)
  local function int(low, high) return r:integers({}, { low = low, high = high }):item() end
  local function o(more)
    local out = { dtype = dtype, key = int(1, 1000) }
    for k, v in pairs(more or {}) do out[k] = v end
    return out
  end
  local inputs, heads, groups, time = int(1, 300), int(1, 4), int(1, 3), int(2, 40)
  local width, channels, taps = 2 * heads * int(1, 12), groups * int(1, 12), int(1, 7)
  local convolution = o { groups = groups, padding = math.floor(taps / 2), stride = int(1, 2) }
  local attention = { causal = int(0, 1) == 1, rope = true, kv_heads = 1, dtype = dtype }
  return {
    Linear = { nn.Linear(inputs, int(1, 300), o()), { inputs } },
    ['Linear along time'] = { nn.Linear(width, int(1, 300), o()), { time, width } },
    Conv1d = { nn.Conv1d(channels, channels, taps, convolution), { channels, time + 7 } },
    Conv2d = { nn.Conv2d(channels, channels, taps, convolution), { channels, 19, 12 } },
    Conv3d = { nn.Conv3d(2, 3, 3, o()), { 2, 5, 6, 7 } },
    ConvTranspose2d = { nn.ConvTranspose2d(channels, channels, 3, o { stride = 2, groups = groups }),
      { channels, 5, 6 } },
    LayerNorm = { nn.LayerNorm(inputs, { dtype = dtype }), { inputs } },
    RMSNorm = { nn.RMSNorm(inputs, { dtype = dtype }), { inputs } },
    GroupNorm = { nn.GroupNorm(groups, channels, { dtype = dtype }), { channels, 7, 9 } },
    InstanceNorm = { nn.InstanceNorm(channels, { dtype = dtype }), { channels, 7, 9 } },
    BatchNorm2d = { nn.BatchNorm2d(channels, { dtype = dtype }), { channels, 7, 9 } },
    MultiheadAttention = { nn.MultiheadAttention(width, heads, attention), { time, width } },
    LSTM = { nn.LSTM(width, int(1, 60), o { layers = 2, bidirectional = true }), { time, width } },
    GRU = { nn.GRU(width, int(1, 60), o()), { time, width } },
    TransformerEncoder = { nn.TransformerEncoder(width, heads, 2, o { activation = 'swiglu', norm = 'rms' }),
      { time, width } },
    UNet = { nn.UNet(1, 2, o { channels = { 8, 16 } }), { 1, 16, 16 } },
    Classifier = { nn.Sequential { nn.Conv2d(1, 4, 3, o()), nn.BatchNorm2d(4, { dtype = dtype }), nn.ReLU(),
      nn.MaxPool2d(2), nn.Flatten(), nn.Linear(4 * 49, 10, o()), nn.LogSoftmax(2) }, { 1, 16, 16 } },
  }
end

local function batch(r, shape, dtype)
  local n = r:integers({}, { low = 3, high = 70 }):item()
  return mc.randn({ n, unpack(shape) }, { generator = r, dtype = dtype })
end

describe('the batch-invariant mode', function()
  after_each(function() mc.set_batch_invariant(false) end)

  for k, dtype in ipairs { 'f32', 'f64' } do
    it('gives a row the same bits in any batch, in compiled functions too: ' .. dtype, function()
      mc.set_batch_invariant(true)
      local r = mc.random.generator(os.time() % 100000 * 2 + k)
      print(tostring(r))
      for _ = 1, 2 do
        for what, c in pairs(networks(r, dtype)) do
          mc.scope(function()
            local net, x = c[1]:eval(), batch(r, c[2], dtype)
            same_rows(what, net, x)
            same_rows(what .. ', compiled', mc.compile(function(t) return first(net(t)) end), x)
          end)
        end
      end
    end)
  end

  it('gives rows the same bits with 1, 2 and 4 threads, and is near the other mode', function()
    local r, threads = mc.random.generator(3), mc.get_num_threads()
    finally(function() mc.set_num_threads(threads) end)
    for what, c in pairs(networks(r, 'f32')) do
      local net, x = c[1]:eval(), batch(r, c[2], 'f32')
      local other = first(net(x))
      mc.set_batch_invariant(true)
      local want
      for _, n in ipairs { 1, 2, 4 } do
        mc.set_num_threads(n)
        local y = first(net(x))
        want = want or y
        assert(mc.array_equal(want, y), ('%s with %d threads'):format(what, n))
      end
      assert(mc.allclose(want, other, { rtol = 1e-4, atol = 1e-5 }), what)
      mc.set_batch_invariant(false)
      mc.set_num_threads(threads)
    end
  end)

  it('holds on a device', function()
    local name, why = device.name()
    if not name then return pending(why) end
    mc.set_batch_invariant(true)
    local net = nn.Sequential { nn.Linear(33, 70), nn.GELU(), nn.LayerNorm(70), nn.Linear(70, 5) }:to(name):eval()
    same_rows('on ' .. name, net, mc.randn({ 67, 33 }, { seed = 2, dtype = 'f32' }):to(name))
  end)
end)

describe('training', function()
  it('has the same bits with 1, 2 and 4 threads', function()
    local threads = mc.get_num_threads()
    finally(function() mc.set_num_threads(threads) end)
    local function trained(n)
      mc.set_num_threads(n)
      mc.seed(1)
      local net = nn.Sequential { nn.Conv2d(1, 8, 3, { padding = 1 }), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.1),
        nn.Lambda(function(x) return x:reshape(x.shape[1], 64, 8) end), nn.LSTM(8, 16),
        nn.TransformerEncoderLayer(16, 2), nn.Flatten(), nn.Linear(64 * 16, 5) }
      local step = nn.Step(net, function(m, b) return nn.cross_entropy(m(b.x), b.y) end,
        { optimizer = mc.optim.adamw { lr = 1e-3 }, clip = 1, ema = 0.9 })
      local out = {}
      for k = 1, 3 do
        out[k] = step { x = mc.randn({ 24, 1, 8, 8 }, { seed = k, dtype = 'f32' }),
          y = mc.random.integers { 24, low = 0, high = 4, key = k } }
      end
      return out, net:parameters()
    end
    local losses, params = trained(1)
    for _, n in ipairs { 2, 4 } do
      local others, there = trained(n)
      assert.same(losses, others)
      for name, p in pairs(params) do assert(mc.array_equal(p, there[name]), ('%s, %d threads'):format(name, n)) end
    end
  end)
end)
