-- device_fused_spec.lua - groups of compiled functions and users' kernels on a device: one launch each, the values of
-- the CPU, whatever the layouts, dtypes and numbers.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local C = require 'mascon.core.ffi'.C
local ffi = require 'ffi'
local device, property, programs_of = support.load 'device', support.load 'property', support.load 'programs'

local on = device.tests(it, pending)

local function near(want, got, tol)
  assert.equal(want.dtype, got.dtype)
  assert.is_true(want.shape == got.shape)
  assert.is_true(mc.allclose(want, got, { rtol = tol or 1e-12, atol = tol or 1e-12, equal_nan = true }),
    tostring(want) .. tostring(got))
end

-- texts of the programs that a device has built
local function programs(name)
  local number, list, buffer = C.mc_device_find(name), {}, ffi.new 'char[65536]'
  for i = 0, C.mc_device_program(number, -1, buffer, 0) - 1 do
    C.mc_device_program(number, i, buffer, 65536)
    list[#list + 1] = ffi.string(buffer)
  end
  return list
end

describe('a fused group on a device', function()
  on('is one program and one launch', function(d)
    local f = mc.compile(function(x, y, s) return mc.exp(x * y - s) + mc.where(x:gt(0), x, -y) * 0.5 end)
    local x, y = mc.randn({ 40, 50 }, { seed = 1 }), mc.randn({ 40, 50 }, { seed = 2 })
    local p, q = x:to(d), y:to(d)
    local before = #programs(d)
    for _, s in ipairs { 0.25, -1, 3 } do near(f.f(x, y, s), f(p, q, s):to 'cpu') end
    local fused = 0
    for i, text in ipairs(programs(d)) do
      if text:find('KERNEL fused', 1, true) then fused = fused + 1 end
      assert.is_true(i > 0)
    end
    assert.is_true(fused >= 1)
    assert.is_true(#programs(d) > before)
    assert.equal(1, f.forms[#f.forms].steps)
    assert.equal(1, f.forms[#f.forms].fused.groups)
  end)

  on('has the bits of the CPU where the math is ours', function(d)
    local function f(a, b) return mc.tanh(a) * mc.log1p(mc.abs(b)) / (1 + a * a), mc.sqrt(mc.abs(a - b)) end
    local g = mc.compile(f)
    for _, t in ipairs { 'f64', 'f32' } do
      local a, b = mc.randn({ 3001 }, { seed = 3, dtype = t }), mc.randn({ 3001 }, { seed = 4, dtype = t })
      local want, got = { f(a, b) }, { g(a:to(d), b:to(d)) }
      for _ = 1, 2 do got = { g(a:to(d), b:to(d)) } end
      for i = 1, 2 do assert.is_true(mc.array_equal(want[i], got[i]:to 'cpu'), t .. i) end
    end
  end)

  on('walks views, broadcasts rows and columns, and takes numbers', function(d)
    local function f(x, row, col, one, n) return (x.mT * row + col) * n - one, x.mT:gt(row) end
    local g = mc.compile(f)
    local x, row, col = mc.randn({ 4, 7, 5 }, { seed = 5 }), mc.arange(1, 7), mc.arange(1, 5):reshape(5, 1)
    local one = mc.tensor(0.5)
    for _, v in ipairs { x, x['::2, ::-1, :'], x['2:2, :, 1:4'] } do
      local c = col[{ { 1, v.shape[3] } }]
      for n = 1, 2 do
        local want, got = { f(v, row, c, one, n) }, { g(v:to(d), row:to(d), c:to(d), one:to(d), n) }
        for i = 1, 2 do near(want[i], got[i]:to 'cpu') end
      end
    end
  end)

  on('copies leaves that a launch has no room to walk', function(d)
    local list, there = {}, {}
    for i = 1, 10 do
      local order = {}
      for a = 1, 5 do order[a] = (a * (i % 4 + 1) + i) % 5 + 1 end -- axes of one size, in another order each time
      list[i] = mc.randn({ 3, 3, 3, 3, 3 }, { seed = i })
      list[i] = i % 5 == 4 and list[i]['::-1'] or list[i]:permute_dims(order)
      there[i] = list[i]:to(d)
    end
    local function f(...)
      local sum = 0
      for i = 1, select('#', ...) do sum = sum * 0.5 + select(i, ...) end
      return sum
    end
    local moved = {}
    for i = 1, 10 do moved[i] = there[i]:permute_dims { 5, 4, 3, 2, 1 } end -- strides of the device's own
    local g = mc.compile(f)
    near(f(unpack(list)), g(unpack(there)):to 'cpu')
    near(f(unpack(list)), g(unpack(moved)):to 'cpu':permute_dims { 5, 4, 3, 2, 1 })
  end)

  on('computes every dtype, conversions and complex numbers', function(d)
    local function f(x, k, h, z)
      return (x:to 'i32' * 3 + k):to 'f32', h * 2 + x:to 'f16', mc.abs(z * z) + x, k:bitwise_and(6):eq(2), -z
    end
    local g = mc.compile(f)
    local x = mc.randn({ 200 }, { seed = 7 }) * 5
    local k = mc.arange(1, 200):to 'i32'
    local args = { x, k, x:to 'f16', mc.complex(x, x * 2) }
    local there = {}
    for i, v in ipairs(args) do there[i] = v:to(d) end
    local want, got = { f(unpack(args)) }, nil
    for _ = 1, 2 do got = { g(unpack(there)) } end
    for i = 1, 5 do near(want[i], got[i]:to 'cpu', i == 2 and 2e-3 or nil) end
  end)

  on('says what an op of the group refuses, by its name', function(d)
    local g = mc.compile(function(a, b) return mc.floor_divide(a + 1, b) * 2 end)
    local a, b = mc.arange(1, 6):to 'i32', mc.tensor({ 1, 2, 0, 4, 0, 6 }, { dtype = 'i32' })
    g(a:to(d), (b + 1):to(d))
    assert.matches('floor_divide: integer division by zero at flat position 3',
      support.message(function() return g(a:to(d), b:to(d)):to 'cpu' end))
    assert.same(g.f(a, b + 1):totable(), g(a:to(d), (b + 1):to(d)):totable()) -- and goes on
  end)

  on('writes in place of what it reads', function(d)
    local g = mc.compile(function(x) x:add_(1):mul_(x * 0.5); return x * 2 end)
    local x, y = mc.arange(1, 9), mc.arange(1, 9):to(d)
    for _ = 1, 3 do
      local want, got = g.f(x), g(y)
      assert.same(want:totable(), got:totable())
      assert.same(x:totable(), y:totable())
    end
  end)

  on('is split where it has more operands than a launch takes', function(d)
    local list, there = {}, {}
    for i = 1, 20 do
      list[i] = mc.randn({ 33 }, { seed = i })
      there[i] = list[i]:to(d)
    end
    local function f(...)
      local y = 0
      for i = 1, select('#', ...) do y = y * 0.5 + select(i, ...) end
      return y
    end
    near(f(unpack(list)), mc.compile(f)(unpack(there)):to 'cpu')
  end)

  on('of random programs has the bits of its operations one by one', function(d)
    local ran = 0
    for seed = 1, 40 do
      if ran == 4 then break end
      local wrong = property.run(function(draw)
        mc.scope(function()
          local f, args = programs_of.draw(draw, draw(4, 8))
          local there = {}
          for i, a in ipairs(args) do there[i] = a:to(d) end
          local ok, want = pcall(f, unpack(there))
          if not ok then -- steps that make tensors of their own make them on the CPU
            if device.lacks(want) or want:find 'different devices' then return end
            error(want, 0)
          end
          local g = mc.compile(f)
          for k = 1, 2 do
            local got, w, h = g(unpack(there)), {}, {}
            for i = 1, #want do w[i], h[i] = want[i]:to 'cpu', got[i]:to 'cpu' end
            programs_of.same(w, h, 'call ' .. k)
          end
          ran = ran + 1
        end)
      end, seed)
      assert.is_nil(wrong, wrong)
    end
    assert.equal(4, ran)
  end)

  on('carries gradients, maps and loops', function(d)
    local function loss(w, x) return (mc.tanh(x:matmul(w)) ^ 2 * 0.5):mean() end
    local step = mc.compile(function(w, x) return w - mc.grad(loss)(w, x) * 0.1 end)
    local w, x = mc.randn({ 5, 3 }, { seed = 1 }), mc.randn({ 8, 5 }, { seed = 2 })
    local p, q = w:to(d), x:to(d)
    for _ = 1, 4 do w, p = step.f(w, x), step(p, q) end
    near(w, p:to 'cpu')
    local scan = mc.compile(function(a)
      return (mc.scan(function(c, r) return c * 0.5 + mc.sin(r) * 2, c end, a[1], a))
    end)
    near(scan.f(x), scan(q):to 'cpu')
  end)
end)

describe("a user's kernel on a device", function()
  on('computes elements', function(d)
    local k = mc.kernel { name = 'gelu', inputs = { 'x', 'y' }, outputs = { 'a', 'b' },
      body = 'u = x * logistic(1.702 * x); a = u + y; b = a > 0 ? a : -y' }
    local x, y = mc.randn({ 6, 7 }, { seed = 1 }), mc.randn({ 7 }, { seed = 2 })
    local want = { k(x, y) }
    for _ = 1, 2 do
      local got = { k(x:to(d), y:to(d)) }
      for i = 1, 2 do near(want[i], got[i]:to 'cpu') end
    end
  end)

  on('reduces along any axes, short and long rows, several inputs and outputs', function(d)
    local k = mc.kernel { name = 'weighted', inputs = { 'x', 'w' }, outputs = { 'mean', 'top' },
      state = { 's', 't', 'm' }, init = 's = 0; t = 0; m = -1e300',
      step = 's = s + x * w; t = t + w; m = maximum(m, x)',
      combine = 's = s + s_b; t = t + t_b; m = maximum(m, m_b)', finish = 'mean = s / t; top = m' }
    for _, shape in ipairs { { 5, 7 }, { 3, 1000 }, { 2, 40000 }, { 300, 4, 20 }, { 0, 3 }, { 3, 0 } } do
      local x = mc.randn(shape, { seed = 9 })
      local w = mc.abs(x) + 0.5
      for axis = 1, #shape do
        local want, got = { k(x, w, { axis = axis }) }, { k(x:to(d), w:to(d), { axis = axis }) }
        for i = 1, 2 do near(want[i], got[i]:to 'cpu', 1e-10) end
      end
    end
    local f32 = mc.kernel { inputs = { 'x f32' }, outputs = { 'y f32' }, init = '0', step = 'acc + x * x',
      combine = 'acc + acc_b', finish = 'sqrt(acc)' }
    local x = mc.randn({ 50, 60 }, { seed = 3, dtype = 'f32' })
    local both = { axis = { 1, 2 }, keepdim = true }
    near(f32(x.T, both), f32(x:to(d).T, both):to 'cpu', 1e-6)
    near(mc.compile(function(a) return f32(a * 2) + 1 end)(x:to(d)):to 'cpu', f32(x * 2) + 1, 1e-6)
  end)

  on('in plain C says that it is the CPU\'s', function(d)
    local k = mc.kernel { name = 'twice', inputs = { 'x f64' }, outputs = { 'y f64' },
      c = 'for (int64_t i = first; i < last; i++) y[i] = 2 * x[i];' }
    assert.matches('kernel twice: it has no form for ' .. d .. '.*:to "cpu"',
      support.message(function() return k(mc.ones({ 3 }, { device = d })) end))
  end)
end)
