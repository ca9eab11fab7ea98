-- published.lua - kernels of networks at published sizes: time, the floor that this machine sets, and the parts apart.
--
-- usage: mascon bench/published.lua [WORD] [--seconds N]; WORD: rows whose name contains it; N: of each timing (0.3).
-- Floor: bytes at the rate of a copy, or operations at that of a product of f32, whichever takes longer, both measured
-- here first. Apart: the same as compiled functions one after the other, as a multiple of the time. Published: times of
-- neural-network-from-scratch for its compiled or fused kernels, whose machine is not named, as a multiple of the time
-- here. Times are medians; the operands lie where the measurement before left them.
local mc = require 'mascon'
local nn = mc.nn
local clock = require('mascon.core.ffi').clock_seconds

local o = mc.args.parse(arg, { name = 'published', usage = 'usage: mascon bench/published.lua [WORD] [options]',
  positional = 1, about = 'Times kernels of networks at published sizes against the limits of the machine.',
  options = { { 'seconds', 'number', 'of each timing', default = 0.3 } } })
local LEAST = 3 -- runs of a timing

--- Median seconds of f.
local function seconds(f)
  f()
  f() -- the first one may compile
  local list, began = {}, clock()
  repeat
    local start = clock()
    mc.scope(f)
    list[#list + 1] = clock() - start
  until clock() - began >= o.seconds and #list >= LEAST
  table.sort(list)
  return list[math.ceil(#list / 2)]
end

local function randn(shape, seed) return mc.randn(shape, { seed = seed, dtype = 'f32' }) end

--- f(x...), compiled, as a function of nothing.
local function call(f, ...)
  local g, x = mc.compile(f), { ... }
  return function() return g(unpack(x)) end
end

local ROWS = {}
--- make() -> the kernel and the parts one after the other (or nil), functions of nothing; bytes, work: of one run.
local function row(name, size, bytes, work, published, make)
  ROWS[#ROWS + 1] = { name = name, size = size, bytes = bytes, work = work, published = published, make = make }
end

for _, c in ipairs { { 1000, 512, 1.1 }, { 2048, 768, 2.8 }, { 4096, 1024, 7.6 } } do
  local m, n = c[1], c[2]
  row('gelu', ('%dx%d'):format(m, n), 8 * m * n, 0, c[3], function() return call(nn.gelu, randn({ m, n }, 1)) end)
end
for _, c in ipairs { { 128, 512, 768, 0.5 }, { 256, 768, 1024, 1.2 }, { 512, 1024, 2048, 6.6 } } do
  local m, k, n = c[1], c[2], c[3]
  row('linear+gelu', ('%dx%dx%d'):format(m, k, n), 4 * (m * k + k * n + m * n), 2 * m * k * n, c[4], function()
    local x, w, b = randn({ m, k }, 1), randn({ n, k }, 2) / math.sqrt(k), randn({ n }, 3)
    local linear, gelu = mc.compile(nn.linear), mc.compile(nn.gelu)
    return call(function(a, p, q) return nn.fuse_linear_activation(a, p, q, 'gelu') end, x, w, b),
      function() return gelu(linear(x, w, b)) end
  end)
end
for _, c in ipairs { { 1024, 768 }, { 2048, 1024 }, { 4096, 2048 } } do
  local m, n = c[1], c[2]
  row('layer norm', ('%dx%d'):format(m, n), 8 * m * n, 0, nil, function()
    return call(function(x, w, b) return nn.layer_norm(x, n, { weight = w, bias = b }) end, randn({ m, n }, 1),
      randn({ n }, 2), randn({ n }, 3))
  end)
end
for _, c in ipairs { { 2, 8, 512, 64 }, { 4, 12, 1024, 64 } } do
  local b, h, s, d = unpack(c)
  row('attention', ('%dx%dx%dx%d'):format(b, h, s, d), 16 * b * h * s * d, 4 * b * h * s * s * d, nil, function()
    local q, k, v = randn(c, 1), randn(c, 2), randn(c, 3)
    local fit = mc.compile(function(x, y) return mc.matmul(x, y.mT) / math.sqrt(d) end)
    local weigh, mean = mc.compile(function(x) return mc.softmax(x, 4) end), mc.compile(mc.matmul)
    return call(nn.scaled_dot_product_attention, q, k, v), function() return mean(weigh(fit(q, k)), v) end
  end)
end
do
  local m, v = 2048, 10000
  row('softmax+cross entropy, gradient', ('%dx%d'):format(m, v), 8 * m * v, 0, nil, function()
    local y = mc.random.integers { m, low = 0, high = v - 1, key = 2 }
    return call(mc.value_and_grad(function(x) return nn.cross_entropy(x, y) end), randn({ m, v }, 1))
  end)
  local n = 4e6
  row('adamw', ('%d parameters'):format(n), 28 * n, 0, nil, function()
    local opt = mc.optim.adamw {}
    local p, g = randn({ n }, 1), randn({ n }, 2)
    local state, step = opt.init(p), mc.compile(opt.update)
    return function() return step(p, g, state) end
  end)
  row('convolution', '8x32x64x64, k 3', 4 * (2 * 8 * 32 * 64 * 64), 2 * 8 * 32 * 32 * 9 * 64 * 64, nil, function()
    return call(function(x, w) return nn.conv2d(x, w, { padding = 1 }) end, randn({ 8, 32, 64, 64 }, 1),
      randn({ 32, 32, 3, 3 }, 2))
  end)
end

local copy, flops
do
  local x, y = randn({ 2 ^ 23 }, 1), mc.zeros({ 2 ^ 23 }, { dtype = 'f32' })
  copy = 8 * 2 ^ 23 / seconds(function() y:copy_(x) end)
  local a, c = randn({ 1024, 1024 }, 1), mc.zeros({ 1024, 1024 }, { dtype = 'f32' })
  flops = 2 * 1024 ^ 3 / seconds(function() mc.matmul(a, a, { out = c }) end)
end
print(('%d threads; copy %.1f GB/s, product %.0f GFLOP/s'):format(mc.get_num_threads(), copy / 1e9, flops / 1e9))
print '| kernel | size | ms | floor, ms | floor / time | apart / time | published / time |'
print '|---|---|---|---|---|---|---|'
for _, r in ipairs(ROWS) do
  if not o[1] or r.name:find(o[1], 1, true) then
    local one, parts = r.make()
    local t, floor = seconds(one), math.max(r.bytes / copy, r.work / flops)
    local apart = parts and ('%.2f'):format(seconds(parts) / t) or ''
    print(('| %s | %s | %.3g | %.3g | %.2f | %s | %s |'):format(r.name, r.size, t * 1e3, floor * 1e3, floor / t, apart,
      r.published and ('%.2f'):format(r.published / t / 1e3) or ''))
    collectgarbage()
  end
end
