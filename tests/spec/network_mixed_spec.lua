-- network_mixed_spec.lua - mixed precision against PyTorch, the scale of losses, steps that are left out.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes()
local mc = require 'mascon'
local nn = mc.nn

--- The numbers that make_network_mixed.py puts into tensors.
local function wave(shape, k, size)
  local n = 1
  for _, s in ipairs(shape) do n = n * s end
  local i = mc.arange(0, n - 1)
  return (mc.sin((i + 1) * 1.7 + 0.9 * k + mc.pow(i, 1.5) * 0.003) * size):reshape(shape):to 'f32'
end

local NETS = {
  mlp = function()
    return nn.Sequential { nn.Linear(6, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 16), nn.ReLU(),
      nn.Linear(16, 4) }, { 24, 6 }
  end,
  cnn = function()
    return nn.Sequential { nn.Conv2d(2, 5, 3, { padding = 1 }), nn.BatchNorm2d(5), nn.ReLU(),
      nn.Conv2d(5, 6, 3, { stride = 2 }), nn.SiLU(), nn.Flatten(), nn.Linear(54, 4) }, { 8, 2, 7, 7 }
  end,
}
local function made(name)
  local net, shape = NETS[name]()
  for k, p in ipairs(net:named_parameters()) do net:update { [p.name] = wave(p.shape, k, 0.4) } end
  local y = mc.remainder(mc.arange(0, shape[1] - 1, 1, { dtype = 'i64' }), 4)
  return net, { x = wave(shape, 20, 1.5), y = y }
end
local function loss(m, b) return nn.cross_entropy(m(b.x), b.y) end

--- Share of elements that are equal, and the largest difference by the largest element.
local function compared(a, b)
  a, b = a:to 'f64', b:to 'f64'
  return mc.mean(mc.eq(a, b):to 'f64'):item(), (mc.max(mc.abs(a - b)) / mc.max(mc.abs(b))):item()
end

describe('mixed precision', function()
  it('has the numbers of torch.autocast: results, gradients, losses', function()
    local want = mc.load(support.folder .. '/golden/network_mixed.npz')
    for name in pairs(NETS) do
      local net, b = made(name)
      local function logits(p) return (net:apply(p, b.x, { train = true })) end
      local z = nn.autocast(logits)(net:parameters())
      assert.equal('bf16', z.dtype)
      local share, far = compared(z, want[name .. '.logits'])
      -- a bias is added after a rounding here, before it there
      assert(share > 0.5 and far < 0.01, ('%s: %g equal, %g'):format(name, share, far))
      local g = mc.grad(nn.autocast(function(p)
        local y = net:apply(p, b.x, { train = true })
        return nn.cross_entropy(y, b.y)
      end))(net:parameters())
      for k, v in pairs(g) do -- sums of terms that cancel: some per cent of the largest element
        assert.equal('f32', v.dtype)
        local theirs = want[name .. '.grad.' .. tostring(tonumber(k:match '^%d+') - 1) .. k:match '%..*']
        local _, wrong = compared(v, theirs)
        local none = name == 'cnn' and k == '1.bias' -- a bias in front of a batch norm: 0 but for rounding
        if not none then assert(wrong < 0.06, ('%s %s: %g'):format(name, k, wrong)) end
      end
      for _, how in ipairs { 'mixed', 'f32' } do
        net, b = made(name)
        local step = nn.Step(net, loss, { optimizer = mc.optim.sgd { lr = 0.1 },
          amp = how == 'mixed' and 'bf16' or nil })
        for i, l in ipairs(want[name .. '.losses.' .. how]:totable()) do
          local got = step(b)
          assert(math.abs(got - l) < (how == 'mixed' and 0.01 or 1e-5) * l,
            ('%s %s %d: %g %g'):format(name, how, i, got, l))
        end
      end
    end
  end)

  it('runs products low, sums and losses in f32; gradients have the dtype of parameters (nn C28)', function()
    local a, b = wave({ 3, 4 }, 1, 1), wave({ 4, 2 }, 2, 1)
    for _, dtype in ipairs { 'bf16', 'f16' } do
      local seen = nn.autocast(function(x, w)
        local y = mc.matmul(x, w)
        return { y = y, sum = y + y, relu = nn.relu(y),
          conv = nn.conv1d(x.T:copy(), x:reshape(1, 4, 3):copy()),
          bias = y + w[1], soft = mc.softmax(y, 2), total = mc.mean(y), exp = mc.exp(y),
          wide = nn.relu(y) + w[1], max = mc.max(y), kept = y:to 'f64',
          double = mc.matmul(x:to 'f64', w:to 'f64'), count = mc.argmax(y, 2) }
      end, { dtype = dtype })(a, b)
      local kinds = {}
      for k, v in pairs(seen) do kinds[k] = v.dtype end
      assert.same({ y = dtype, sum = dtype, relu = dtype, conv = dtype, bias = dtype, soft = 'f32', total = 'f32',
        exp = 'f32', wide = 'f32', max = dtype, kept = 'f64', double = 'f64', count = 'i64' }, kinds)
      assert.is_true(mc.array_equal(seen.y, mc.matmul(a:to(dtype), b:to(dtype))))
    end
    local dtypes = {}
    for _, policy in ipairs { 'conservative', 'selective', 'aggressive' } do
      local y, e = nn.autocast(function(x, w)
        local z = mc.matmul(x, w)
        return nn.relu(z), mc.exp(z)
      end, { policy = policy })(a, b)
      dtypes[#dtypes + 1] = y.dtype .. ' ' .. e.dtype
    end
    assert.same({ 'f32 f32', 'bf16 f32', 'bf16 bf16' }, dtypes)
    local function product(x, w) return mc.matmul(x, w) end
    assert.equal('f32', nn.autocast(product, { f32 = { 'matmul' } })(a, b).dtype)
    assert.equal('f32', nn.autocast(product, { enabled = false })(a, b).dtype)
    assert(support.message(nn.autocast, product, { low = { 'matmull' } }):find('did you mean matmul?', 1, true))
    local function writes(x) x:fill_(1) end
    assert(support.message(nn.autocast(writes), a):find('writes to an argument', 1, true))
  end)

  it('rounds operands of attention with any mask, and leaves what is not enabled alone', function()
    local q = mc.randn({ 2, 4, 6, 8 }, { seed = 1 }):to 'f32'
    local sees, added = mc.gt(mc.randn({ 6, 6 }, { seed = 2 }), -1), mc.randn({ 6, 6 }, { seed = 2 }):to 'f32'
    for _, o in ipairs { {}, { causal = true }, { mask = sees }, { mask = added }, { dropout = 1e-9, key = 1 } } do
      local function f(t) return nn.scaled_dot_product_attention(t, t * 2, t + 1, o) end
      local far = mc.max(mc.abs(nn.autocast(f)(q):to 'f32' - f(q))):item()
      assert(far > 1e-3 and far < 0.05, far)
      local g, want = mc.grad(nn.autocast(function(t) return mc.sum(mc.square(f(t))) end))(q),
        mc.grad(function(t) return mc.sum(mc.square(f(t))) end)(q)
      assert.equal('f32', g.dtype)
      assert(mc.max(mc.abs(g - want)):item() < 0.06 * mc.max(mc.abs(want)):item())
      assert.is_true(mc.array_equal(f(q), nn.autocast(nn.autocast(f, { enabled = false }))(q)))
    end
    local plain = nn.autocast(function(t) return mc.matmul(t, t) end, { enabled = false })
    local f = nn.autocast(function(t) return plain(t), mc.matmul(t, t) end)
    for _, run in ipairs { f, mc.compile(f) } do
      local x, y = run(q[1][1]:matmul(q[1][1].mT))
      assert.same({ 'f32', 'bf16' }, { x.dtype, y.dtype })
    end
    assert.equal('f32', nn.autocast(function(t)
      return nn.scaled_dot_product_attention(t, t, t)
    end, { f32 = { 'scaled_dot_product_attention' } })(q).dtype)
  end)

  it('goes through checkpoints, compiled functions and views', function()
    local net, b = made 'mlp'
    net[4] = nn.Checkpoint(net[4])
    local params = net:parameters()
    local function f(p) return nn.cross_entropy(net:apply(p, b.x)['::2, :'], b.y['::2']) end
    local plain = mc.grad(nn.autocast(f))(params)
    local quick = mc.compile(mc.grad(nn.autocast(f)))(params)
    for k, v in pairs(plain) do
      local _, wrong = compared(quick[k], v)
      assert(wrong < 0.02, k .. wrong)
    end
    local saw = {}
    local remove = net[4]:hook(function(_, y) saw[#saw + 1] = y.dtype end)
    nn.autocast(f)(params)
    remove()
    assert.equal('f32', saw[1]) -- the function itself is traced in f32
  end)
end)

describe('the scale of losses', function()
  local function run(s, steps)
    for good in steps:gmatch '%a' do s:update(good == 'o') end
    return s.value
  end

  it('follows the trace of the specification (nn C19)', function()
    local s = nn.GradScaler()
    assert.equal(65536, s.value)
    assert.equal(65536, run(s, ('o'):rep(1999)))
    assert.equal(131072, run(s, 'o'))
    assert.equal(65536, run(s, 'x'))
    s = nn.GradScaler { init = 8, interval = 3 }
    assert.equal(16, run(s, 'ooo'))
    assert.equal(8, run(s, 'ox'))
    assert.equal(8, run(s, 'oo'))
    assert.equal(16, run(s, 'o'))
    assert.equal(1, run(s, ('x'):rep(40)))
    assert.is_false(s:can_fall())
    assert.equal(2 ^ 24, run(nn.GradScaler { interval = 1 }, ('o'):rep(40)))
    assert.equal(4, run(nn.GradScaler { init = 4, strategy = 'fixed', interval = 1 }, 'oxoox'))
    local other = nn.GradScaler { interval = 3 }:restore(s:state())
    assert.same(s:statistics(), other:statistics())
    assert(support.message(nn.GradScaler, { init = 0.5 }):find('outside 1 to', 1, true))
  end)

  it('grows as its strategy says', function()
    local careful = nn.GradScaler { init = 8, interval = 2, strategy = 'conservative' }
    assert.equal(16, run(careful, 'oo')) -- no overflow yet
    assert.equal(8, run(careful, 'x'))
    assert.equal(8, run(careful, ('o'):rep(499)))
    assert.equal(16, run(careful, 'o'))
    local function adapted(last, norm)
      local s = nn.GradScaler { init = 8, strategy = 'adaptive' }
      for k = 1, last do s:update(true, norm(k)) end
      return s
    end
    local function even(k) return 0.05 + 0.004 * (-1) ^ k end
    assert.equal(8, adapted(999, even).value)
    assert.equal(12, adapted(1000, even).value)
    assert.equal(8, adapted(1000, function(k) return 2 * even(k) end).value)                -- too large
    assert.equal(8, adapted(1000, function(k) return 0.05 + 0.006 * (-1) ^ k end).value)    -- too uneven
    local late = adapted(1050, function(k) return k <= 950 and 1 or even(k) end)
    assert.equal(12, late.value) -- as soon as the last hundred are
    assert.equal(8, adapted(1049, function(k) return k <= 950 and 1 or even(k) end).value)
    assert.equal(6, late:update(false))
    local st = late:statistics()
    assert(math.abs(st.norm_mean - 0.05) < 1e-12 and math.abs(st.norm_deviation - 0.004) < 1e-12)
    local one = adapted(999, even)
    local two = nn.GradScaler { strategy = 'adaptive' }:restore(mc.json.decode(mc.json.encode(one:state())))
    assert.equal(12, two:update(true, even(1000)))
    assert(support.message(late.update, late, true):find('norm', 1, true))
  end)

  it('by a power of two changes no bit of a gradient, and an overflow is seen (nn C19)', function()
    local net, b = made 'mlp'
    local s = nn.GradScaler()
    local p = net:parameters()
    local plain = mc.grad(function(q) return nn.cross_entropy(net:apply(q, b.x), b.y) end)(p)
    local g, finite = s:unscale(mc.grad(function(q) return s:scale(nn.cross_entropy(net:apply(q, b.x), b.y)) end)(p))
    assert.is_true(finite)
    for k, v in pairs(plain) do assert.is_true(mc.array_equal(v, g[k]), k) end
    local _, well = s:unscale { mc.tensor { 1, mc.inf } }
    assert.is_false(well)
  end)

  it('leaves steps out whose gradient overflows and goes on with the same bits', function()
    local net, b = made 'mlp'
    local function how()
      return { optimizer = mc.optim.adamw { lr = 1e-3 }, amp = 'f16', scaler = { init = 2 ^ 24, interval = 4 } }
    end
    local step = nn.Step(net, loss, how())
    local before, left = net:parameters(), 0
    for i = 1, 14 do
      local value, info = step(b)
      assert(value == value and value < 3)
      if info.overflow then
        left = left + 1
        assert.is_false(info.updated)
        if i == left then
          for k, v in pairs(net:parameters()) do assert.is_true(mc.array_equal(v, before[k])) end
        end
      end
    end
    assert(left >= 1 and left <= 12 and step.scaler.overflows == left, left)
    assert(step.scaler.value < 2 ^ 24)
    local tensors, numbers = step:state()
    numbers = mc.json.decode(mc.json.encode(numbers))
    local twin = made 'mlp'
    local again = nn.Step(twin, loss, how()):restore(tensors, numbers)
    for _ = 1, 5 do assert.equal(step(b), again(b)) end
    assert.same(step.scaler:state(), again.scaler:state())
    local adaptive = nn.Step(made 'mlp', loss, { optimizer = mc.optim.adamw(), amp = 'f16', norm = false,
      scaler = { strategy = 'adaptive', init = 1024 } })
    local _, info = adaptive(b)
    assert.same({ info.norm }, adaptive.scaler.norms)
  end)

  it('ends at the same loss as f32 (a percent)', function()
    local ends = {}
    for _, amp in ipairs { 'none', 'bf16', 'f16' } do
      local net, b = made 'cnn'
      local step = nn.Step(net, loss, { optimizer = mc.optim.adamw { lr = 3e-3 }, amp = amp ~= 'none' and amp or nil })
      for _ = 1, 25 do ends[amp] = step(b) end
    end
    assert(math.abs(ends.bf16 / ends.none - 1) < 0.01 and math.abs(ends.f16 / ends.none - 1) < 0.01,
      mc.json.encode(ends))
  end)
end)

describe('these tests', function()
  it('have parameters of f32; those of 16 bits, which lose small steps, are named once', function()
    local xs = mc.ones({ 4, 3 }, { dtype = 'f32' })
    for _, c in ipairs { { 'bf16', true, '1/512' }, { 'f16', false, '1/4096' } } do
      local net, notes = nn.Sequential { nn.Linear(3, 2, { key = 1 }) }:to(c[1]), {}
      net:freeze 'weight$'
      local step = nn.Step(net, function(m, b) return mc.mean(m(b)) end,
        { optimizer = mc.optim.sgd { lr = 1e-3 }, compile = c[2] })
      for _ = 1, 3 do notes[#notes + 1] = select(2, step(xs:to(c[1]))).note end
      assert.same({ ('1.bias is %s, and steps are rounded to it: changes below about %s of a parameter are lost. Keep '
        .. "the network in f32 and give amp = '%s', which computes in 16 bits"):format(c[1], c[3], c[1]) }, notes)
    end
    local step = nn.Step(nn.Linear(3, 2), function(m, b) return mc.mean(m(b)) end,
      { optimizer = mc.optim.sgd { lr = 1e-3 }, amp = 'bf16' })
    assert.is_nil(select(2, step(xs)).note)
  end)

  it('give their memory back', function()
    collectgarbage()
    collectgarbage()
    assert(support.tensor_bytes() - BEFORE < 2 ^ 20)
  end)
end)
