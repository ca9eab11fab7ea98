-- device_opencl_spec.lua - tensors on a device with programs: there and back, operations in a row, compiled
-- functions, memory, errors.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local C = require 'mascon.core.ffi'.C
local ffi = require 'ffi'
local device, process, host = support.load 'device', support.load 'process', require 'mascon.host'

local digest = ffi.new 'char[65]'
local function sha(t)
  assert(C.mc_sha256_tensor(t, digest) == 0)
  return ffi.string(digest)
end

local function on(what, f, bare)
  it(what, function()
    local name, why = device.name()
    if not name then return pending(why) end
    if bare then f(name) else mc.scope(f, name) end
  end)
end

local function near(want, got)
  assert.equal(want.dtype, got.dtype)
  assert.is_true(want.shape == got.shape)
  local a, b = want:reshape(-1):totable(), got:reshape(-1):totable()
  for i = 1, #a do
    local fine = a[i] == b[i] or math.abs(a[i] - b[i]) <= 1e-12 * math.max(1, math.abs(a[i]))
    assert.is_true(fine, ('%d: %.17g, want %.17g'):format(i, b[i], a[i]))
  end
end

describe('a device with programs', function()
  on('computes a chain and gives its number', function(d)
    local x = mc.arange(1, 60):reshape(6, 10)
    local y = x:to(d)
    assert.equal(d, y.device)
    assert.equal(d, (y * 2 + 1).device)
    assert.equal((x * 2 + 1):sum():item(), (y * 2 + 1):sum():item())
    near(mc.softmax(x.T / 7, 2), mc.softmax(y.T / 7, 2):to 'cpu')
    near(x:matmul(x.T), y:matmul(y.T):to 'cpu')
    assert.equal(tostring(x):gsub('cpu', d), tostring(y))
  end)

  on('has the bits of the CPU where the math is ours', function(d)
    local ends = mc.tensor { 0, -0.0, 1 / 0, -1 / 0, 0 / 0, 1e-310, 1e308, -745.2 }
    local x = mc.concat({ mc.randn({ 5000 }, { seed = 1 }) * 30, ends }, 1)
    local y = x:to(d)
    -- not sin, cos, tan beyond their range, lgamma, digamma: these call the device's own library
    for _, name in ipairs { 'exp', 'log', 'sqrt', 'tanh', 'erf', 'asinh', 'log1p', 'expm1', 'logistic', 'atan' } do
      for _, t in ipairs { 'f64', 'f32' } do
        local want, got = mc[name](x:to(t)), mc[name](y:to(t)):to 'cpu'
        assert.equal(sha(mc.where(mc.isnan(want), 0, want)), sha(mc.where(mc.isnan(got), 0, got)), name .. ' ' .. t)
        assert.is_true(mc.array_equal(mc.isnan(want), mc.isnan(got)))
      end
    end
  end)

  on('walks views and writes where it is told', function(d)
    local x, y = mc.arange(0, 9), mc.arange(0, 9):to(d)
    for _, t in ipairs { x, y } do
      mc.add(t['1:9'], t['1:9'], { out = t['2:10'] }) -- results lie on operands that are still read
      t['::-2'] = 7
      t:mul_(t)
    end
    assert.same(x:totable(), y:totable())
    local m = mc.arange(1, 24):reshape(2, 3, 4)
    near(m.mT + m.mT * 2, (m:to(d).mT + m:to(d).mT * 2):to 'cpu')
    near(m:sum { 1, 3 }, m:to(d):sum({ 1, 3 }):to 'cpu')
    assert.same({}, mc.zeros({ 0 }, { device = d }):exp():totable())
    assert.equal(0, mc.zeros({ 0, 3 }, { device = d }):sum():item())
  end)

  on('says what an integer division by zero or a position outside is, where the host waits', function(d)
    local x = mc.tensor({ 1, 2, 0, 4 }, { dtype = 'i32' }):to(d)
    assert.matches('floor_divide: integer division by zero at flat position 3',
      support.message(function() return (mc.floor_divide(8, x)):to 'cpu' end))
    assert.same({ 2, 4, 0, 8 }, (x * 2):totable()) -- and goes on
    local at = mc.tensor({ 1, 9 }, { dtype = 'i64' }):to(d)
    assert.matches('take: .*outside.*flat position 2', support.message(function() return mc.take(x, at):to 'cpu' end))
  end)

  on('refuses what has no form and operands of two devices', function(d)
    local x = mc.ones({ 3, 3 }, { device = d })
    assert.matches('has no form for ' .. d .. ' yet.*:to "cpu"',
      support.message(function() return mc.linalg.svd(x) end))
    assert.matches('different devices', support.message(function() return x + mc.ones { 3, 3 } end))
  end)

  on('replays compiled functions', function(d)
    local function f(a, b, s)
      local z = (a + b.T.T) * s
      return z:sum(1), mc.exp(z):mean(), z['2:3, ::2'] * 2 - s, s * 2 + 1, z:to 'f32'
    end
    local g = mc.compile(f)
    local x, y = mc.randn({ 5, 7 }, { seed = 1 }), mc.randn({ 5, 7 }, { seed = 2 })
    local p, q = x:to(d), y:to(d)
    for _, s in ipairs { 1.5, 2, -3 } do
      local want, got = { f(x, y, s) }, { g(p, q, s) }
      for i = 1, 5 do
        if i ~= 4 then
          assert.equal(d, got[i].device)
          local back = got[i]:to 'cpu'
          if i == 5 then assert.is_true(mc.allclose(want[i], back, { rtol = 1e-6 })) else near(want[i], back) end
        end
      end
    end
    assert.equal(1, g.traces)
  end)

  on('runs out of memory with an error and serves again', function(d)
    local number = C.mc_device_find(d)
    collectgarbage()
    collectgarbage()
    local used = mc.memory { device = d }.live
    assert.equal(0, C.mc_device_limit_set(number, used + 2 ^ 24))
    for _ = 1, 40 do mc.zeros({ 2 ^ 17 }, { device = d }) end -- dropped ones are collected when memory is short
    assert.matches('MiB more on ' .. d .. ' would pass its',
      support.message(function() return mc.zeros({ 2 ^ 22 }, { device = d }) end))
    assert.equal(3, mc.ones({ 3 }, { device = d }):sum():item())
    assert.equal(0, C.mc_device_limit_set(number, 0))
    collectgarbage()
    collectgarbage()
  end, true)

  on('faults where a kernel of the tests leaves its memory', function(d)
    if not d:find '^opencl' then return end
    local function status(offset)
      return process.shell(("timeout 60 '%s' -e '%s'"):format(host.program or arg[-1], [[
local mc = require "mascon"
local k = mc.kernel { name = "over", inputs = { "x f64" }, outputs = { "y f64" }, values = { "o i64" }, lanes = 64,
  grid = 1, launch = "y[LANE] = x[LANE + o];" }
print(k(mc.ones({ 64 }, { device = "]] .. d .. '" }), ' .. offset .. '):sum():item())')).status
    end
    assert.equal(0, status(0))
    assert.equal(139, status(1))
  end)
  on('stands in the list of devices', function(d)
    local found
    for _, v in ipairs(mc.devices()) do found = v.name == d and v or found end
    assert.equal(d:match '^%a+', found.kind)
    assert.is_true(#found.title > 0)
    assert.equal('cpu', mc.devices()[1].name)
  end)

  it('is "gpu" only where it is no processor, or was named', function()
    local name, why = device.name()
    if not name then return pending(why) end
    local about = ffi.new 'int64_t[3]'
    assert.equal(0, C.mc_device_about(C.mc_device_find(name), ffi.new 'char[128]', 128, about))
    if about[2] == 0 or #mc.devices() > 2 then return pending 'this machine has a card' end
    local exe = require 'mascon.host'.exe
    local function run(env)
      local code = [[-e 'print(require "mascon".ones({ 2 }, { device = "gpu" }).device)' 2>&1]]
      return process.shell(('%s %s %s'):format(env, exe, code)).text
    end
    assert.matches('opencl:0 is this machine\'s processor; use "cpu", or set MASCON_DEVICE=opencl:0 to have that',
      run 'env -u MASCON_DEVICE', 1, true)
    assert.matches('^opencl:0', run 'MASCON_DEVICE=opencl:0')
  end)
end)
