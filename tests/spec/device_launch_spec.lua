-- device_launch_spec.lua - mc.kernel with `launch`: a program of devices with groups, lanes and typed numbers.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local device = support.load 'device'

local on = device.tests(it, pending)

describe('a program of devices', function()
  on('is launched over elements, with numbers of every type', function(d)
    local k = mc.kernel { name = 'mix', inputs = { 'x f32', 'm i32' }, outputs = { 'y f64', 'z f32' },
      values = { 'a f32', 'n i64', 'k i32', 'b f64' }, launch = [[
        if (GLOBAL_LANE < n) {
            const int64_t i = GLOBAL_LANE;
            y[i] = (double)x[i] * b + m[i] * k;
            z[i] = mck_exp_f32(x[i]) * a;
        }]] }
    assert.equal('kernel mix(x, m, a, n, k, b)', tostring(k))
    local x, m = mc.randn({ 7, 301 }, { seed = 1, dtype = 'f32' }), mc.arange(1, 7 * 301):to('i32'):reshape(7, 301)
    local y, z = k(x:to(d), m:to(d), 0.5, x:numel(), -3, 1e-9)
    assert.same({ d, 'f64', 'f32', '{7, 301}' }, { y.device, y.dtype, z.dtype, tostring(z.shape) })
    assert.equal(0, mc.max(mc.abs(y:to 'cpu' - (x:to 'f64' * 1e-9 + m:to 'f64' * -3))):item())
    assert.is_true(mc.allclose(z:to 'cpu', mc.exp(x) * 0.5, { rtol = 1e-6 }))
    -- strided operands are made contiguous
    local turned = k(x:to(d).T, m:to(d).T, 1, x:numel(), 1, 1)
    assert.is_true(mc.allclose(turned:to 'cpu', (x:to 'f64' + m).T))
  end)

  on('has groups along three axes, memory of a group, and shapes by functions', function(d)
    local k = mc.kernel { name = 'blocks', inputs = { 'x f64' }, outputs = { 's f64' }, values = { 'n i64' },
      lanes = 64, head = [[
MC_INLINE double twice(double v)
{
    return 2 * v;
}]],
      launch = [[
        MCD_GROUP_MEMORY double part[64];
        const int64_t row = GROUP_AT(0) + 3 * (GROUP_AT(1) + 2 * GROUP_AT(2));
        double sum = 0;
        for (int64_t i = LANE; i < n; i += LANES) sum += twice(x[row * n + i]);
        part[LANE] = sum;
        for (int h = LANES / 2; h > 0; h /= 2) {
            BARRIER;
            if (LANE < h) part[LANE] += part[LANE + h];
        }
        if (LANE == 0) s[row] = part[0];]],
      shape = function(x) return { x.shape[1] } end, grid = function() return { 3, 2, 2 } end }
    local x = mc.randn({ 12, 1000 }, { seed = 2 })
    local s = k(x:to(d), 1000)
    assert.is_true(mc.allclose(s:to 'cpu', mc.sum(x, 2) * 2, { rtol = 1e-12 }))
  end)

  on('says what is wrong', function(d)
    local function make(o)
      local t = { name = 'bad', inputs = { 'x f32' }, outputs = { 'y f32' },
        launch = 'y[GLOBAL_LANE] = x[GLOBAL_LANE];' }
      for k, v in pairs(o) do t[k] = v end
      return mc.kernel(t)
    end
    local x = mc.ones({ 4 }, { dtype = 'f32', device = d })
    local function says(pattern, f) assert.matches(pattern, support.message(f)) end
    says('kernel bad: x is f64%[4%]@' .. d .. '; give a tensor of f32', function() make {}(x:to 'f64') end)
    says('kernel bad: it is a program of cards', function() make {}(x:to 'cpu') end)
    says('kernel bad: 2 arguments; it takes 1 arrays and 0 values', function() make {}(x, 3) end)
    says('a group of 100000 lanes; ' .. d .. ' takes 1 to ', function() make { lanes = 100000 }(x) end)
    says('kernel bad: 0 groups along axis 2; there may be 1 to 65535', function() make { grid = { 1, 0 } }(x) end)
    says('entry 1 of grid is 1.5; give whole numbers', function() make { grid = 1.5 }(x) end)
    says('n is 1.5; give a number of i64', function() make { values = { 'n i64' } }(x, 1.5) end)
    says('give a name and one of i64, f64, i32, f32', function() make { values = { 'n u8' } } end)
    says('x has no dtype; write "x f32"', function() make { inputs = { 'x' } } end)
    says('lanes and grid belong to launch', function()
      return mc.kernel { name = 'odd', inputs = { 'x' }, body = 'x', lanes = 3 }
    end)
    says('cannot be recorded; call it outside mc.compile', function()
      return mc.compile(function(v) return make {}(v) end)(x)
    end)
    says('a program does not build', function() make { launch = 'y[0] = nowhere;' }(x) end)
  end)
end)
