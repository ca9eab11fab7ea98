-- device_launch_spec.lua - mc.kernel with `launch`: a program of devices with groups, lanes and typed numbers.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local device, nvrtc, process, standin = support.load 'device', support.load 'nvrtc', support.load 'process',
  support.load 'standin'
local host = require 'mascon.host'

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

  local CUDA = [[
__device__ float twice(float v) { return 2 * v; }
extern "C" __global__ void rows(float *y, double *s, const float *x, int k, long long n, float a)
{
    __shared__ double part[64];
    const long long row = blockIdx.x;
    double sum = 0;
    for (long long i = threadIdx.x; i < n; i += blockDim.x) {
        y[row * n + i] = twice(x[row * n + i]) * a + k;
        sum += x[row * n + i];
    }
    part[threadIdx.x] = sum;
    for (int h = blockDim.x / 2; h > 0; h /= 2) {
        __syncthreads();
        if (threadIdx.x < h) part[threadIdx.x] += part[threadIdx.x + h];
    }
    if (threadIdx.x == 0) s[row * n] = part[0];
}
]]
  local ROWS = { name = 'rows', inputs = { 'x f32' }, outputs = { 'y f32', 's f64' }, values = { 'k i32', 'n i64',
    'a f32' }, cuda = CUDA, lanes = 64, grid = function(x) return x.shape[1] end }

  it('in CUDA C++ is launched as it is, with values one by one', function()
    local folder, reason = standin.folder()
    if not folder then return pending(reason) end
    local path = os.tmpname()
    local f = assert(io.open(path, 'w'))
    f:write('local CUDA = [==[', CUDA, ']==]\n', [[
local mc = require 'mascon'
local o = { name = 'rows', inputs = { 'x f32' }, outputs = { 'y f32', 's f64' }, values = { 'k i32', 'n i64', 'a f32' },
  cuda = CUDA, lanes = 64, grid = function(x) return x.shape[1] end }
local x = mc.randn({ 9, 201 }, { seed = 1, dtype = 'f32' })
local y, s = mc.kernel(o)(x:to 'cuda:0'['3:8'], -3, 201, 0.25)
local part = x['3:8']
print(mc.array_equal(y:to 'cpu', (part * 2) * 0.25 - 3), mc.allclose(s:to 'cpu'[':, 1'], mc.sum(part:to 'f64', 2)))
local function wrong(from, to)
  local t = {}
  for k, v in pairs(o) do t[k] = v end
  t.cuda = CUDA:gsub(from, to)
  print((select(2, pcall(mc.kernel(t), x:to 'cuda:0', 1, 201, 1)):gsub('\n.-mascon.cu', ' mascon.cu', 1)))
end
wrong('2 %* v', '2 * w')
wrong('void rows', 'void lines')
]])
    f:close()
    local r = process.shell(("%s '%s' '%s'"):format(standin.environment(), host.program or arg[-1], path))
    os.remove(path)
    assert.equal(0, r.status, r.text)
    assert.matches('^true\ttrue\n', r.text)
    assert.matches('cuda:0: the text does not compile: mascon.cu:', r.text)
    assert.matches('\nmascon.cu:1:%d+: error: [^\n]-w[^\n]- undeclared', r.text)
    assert.matches('cuda: the program has no kernel rows; declare it extern "C" __global__ void rows', r.text)
  end)

  it('in CUDA C++ compiles for cards, and the compiler names the line of the text', function()
    local there, reason = nvrtc.open()
    if not there then return pending(reason) end
    for _, arch in ipairs { 'sm_75', 'sm_120' } do
      local log, said = nvrtc.compile(CUDA, arch)
      assert.is_nil(log)
      assert.matches("entry function 'rows'", said)
    end
    assert.matches('mascon.cu%(8%): error: identifier "thrice" is undefined', (nvrtc.compile(CUDA:gsub('= twice',
      '= thrice'), 'sm_90')))
  end)

  on('in CUDA C++ is refused by name on other devices', function(d)
    if d:find '^cuda' then return end
    local k = mc.kernel(ROWS)
    assert.matches('kernel rows: it is CUDA C%+%+, which ' .. d .. ' does not compile', support.message(function()
      return k(mc.ones({ 2, 3 }, { dtype = 'f32', device = d }), 1, 3, 1)
    end))
    assert.matches('kernel rows: it is a program of devices', support.message(function()
      return k(mc.ones({ 2, 3 }, { dtype = 'f32' }), 1, 3, 1)
    end))
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
    says('kernel bad: it is a program of devices, [^\n]-its operands are on cpu; move them with :to', function()
      make {}(x:to 'cpu')
    end)
    says('kernel bad: 2 of 1 arguments; it takes x', function() make {}(x, 3) end)
    says('a group of 100000 lanes; ' .. d .. ' takes 1 to ', function() make { lanes = 100000 }(x) end)
    says('kernel bad: 0 groups along axis 2; there may be 1 to 65535', function() make { grid = { 1, 0 } }(x) end)
    says('entry 1 of grid is 1.5; give whole numbers', function() make { grid = 1.5 }(x) end)
    says('kernel bad: grid is a table; give a number of groups', function() make { grid = { 1, 1, 1, 1 } }(x) end)
    says('kernel bad: the function grid returned nil', function() make { grid = function() end }(x) end)
    says('kernel bad: x stands twice', function() make { outputs = { 'x f32' } } end)
    says('kernel bad: ' .. d .. ': the text does not compile:\n[^\n]*launch:2[:%d]*: [^\n]*zzz', function()
      make { launch = '\ny[GLOBAL_LANE] = zzz;' }(x)
    end)
    says('head:3[:%d]*: [^\n]*zzz', function()
      make { head = '#include "mck_int.h"\n\nint f(int a) { return zzz; }' }(x)
    end)
    says('n is 1.5; give a number of i64', function() make { values = { 'n i64' } }(x, 1.5) end)
    says('n is 2147483648; give a number of i32', function() make { values = { 'n i32' } }(x, 2 ^ 31) end)
    says('n is %-inf; give a number of i64', function() make { values = { 'n i64' } }(x, -math.huge) end)
    says('give a name and one of i64, f64, i32, f32', function() make { values = { 'n u8' } } end)
    says('x has no dtype; write "x f32"', function() make { inputs = { 'x' } } end)
    says('lanes and grid belong to launch', function()
      return mc.kernel { name = 'odd', inputs = { 'x' }, body = 'x', lanes = 3 }
    end)
    says('cannot be recorded; call it outside mc.compile', function()
      return mc.compile(function(v) return make {}(v) end)(x)
    end)
    says('the text does not compile', function() make { launch = 'y[0] = nowhere;' }(x) end)
  end)
end)
