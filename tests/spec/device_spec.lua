-- device_spec.lua - devices, seen through `ref`: the CPU's kernels on memory that the host cannot touch by mistake.
--
-- What is computed there has the bits that the CPU gives for the same layouts; everything else raises and says what to
-- do.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local C = require 'mascon.core.ffi'.C
local ffi = require 'ffi'
local ops = require 'mascon.gen.ops'.ops

local digest = ffi.new 'char[65]'
local function sha(t)
  assert(C.mc_sha256_tensor(t, digest) == 0)
  return ffi.string(digest)
end

-- Layouts as views of a buffer, made alike on both devices: from a tensor of shape {6, 10}, {4, 5} of its elements or
-- of a broadcast.
local LAYOUTS = {
  contiguous = function(x) return x['1:4, 1:5']:copy() end,
  rows = function(x) return x['2:5, 3:7'] end,
  transposed = function(x) return x['1:5, 1:4'].T end,
  strided = function(x) return x['::-1, ::2']['2:5'] end,
  broadcast = function(x) return x['3:3, 1:5']:broadcast_to { 4, 5 } end,
  empty = function(x) return x['1:4, 1:5'][{ mc.all, { 3, 2 } }] end,
  single = function(x) return x['2:2, 2:2'] end,
}
local NAMES = {}
for name in pairs(LAYOUTS) do NAMES[#NAMES + 1] = name end
table.sort(NAMES)

local function base(dtype, seed)
  local t = {}
  for i = 1, 60 do t[i] = ((i * 37 + seed * 11) % 23 - 6) * (dtype:find '^f' and 0.375 or 1) end
  if dtype == 'u8' then for i = 1, 60 do t[i] = math.abs(t[i]) end end
  if dtype:find '^f' then t[7], t[19] = 0 / 0, 1 / 0 end
  return mc.tensor(t):to(dtype == 'bool' and 'i32' or dtype):to(dtype):reshape { 6, 10 }
end

--- What f gives for operands on the CPU and on the device: the same error, or the same bits. must: some layout is
--- computed.
local function compare(what, f, xs, must)
  local ys, n, computed, why = {}, #xs, 0
  for i = 1, n do ys[i] = xs[i]:to 'ref' end
  for _, name in ipairs(NAMES) do
    local lay, a, b = LAYOUTS[name], {}, {}
    for i = 1, n do a[i], b[i] = lay(xs[i]), lay(ys[i]) end
    local ok, want = pcall(f, unpack(a, 1, n))
    local good, got = pcall(f, unpack(b, 1, n))
    if ok ~= good then
      error(('%s %s: %s on the CPU, %s on ref'):format(what, name, tostring(ok and 'computed' or want),
        tostring(good and 'computed' or got)), 0)
    end
    if ok then computed = computed + 1 else why = want end
    if ok and not mc.is_tensor(want) then
      if got ~= want then error(('%s %s: %s, want %s'):format(what, name, tostring(got), tostring(want)), 0) end
    elseif ok then
      if got.device ~= 'ref:0' then error(('%s %s: the result is on %s'):format(what, name, got.device), 0) end
      if got.dtype ~= want.dtype or got.shape ~= want.shape then
        error(('%s %s: %s[%s], want %s[%s]'):format(what, name, got.dtype, got.shape, want.dtype, want.shape), 0)
      end
      if sha(got) ~= sha(want) then error(('%s %s: other bits than on the CPU'):format(what, name), 0) end
    else
      local said = tostring(got):gsub('@ref:0', '@cpu'):gsub('^[^ ]+:%d+: ', '')
      if said ~= (tostring(want):gsub('^[^ ]+:%d+: ', '')) then
        error(('%s %s: says %s, want %s'):format(what, name, said, tostring(want)), 0)
      end
    end
  end
  if must and computed == 0 then error(('%s: nothing was computed: %s'):format(what, tostring(why)), 0) end
  return computed
end

local DTYPES = { 'bool', 'u8', 'i16', 'i64', 'f16', 'f32', 'f64', 'c64' }

describe('ref', function()
  local data = {}
  setup(function()
    for _, d in ipairs(DTYPES) do data[d] = { base(d, 1), base(d, 2), base(d, 3) } end
    data.mask = base('i32', 4):gt(0)
  end)
  teardown(function() data = nil end)

  local function each(families, run)
    local count = 0
    for _, row in ipairs(ops) do
      if families[row.family] and not row.internal and require 'mascon.core.op'.functions[row[1]] then
        local computed = 0
        for _, d in ipairs(DTYPES) do computed = computed + mc.scope(run, row, d) end
        if computed == 0 then error(row[1] .. ': nothing was computed', 0) end
        count = count + 1
      end
    end
    return count
  end

  it('computes elementwise operations to the bits of the CPU', function()
    local n = each({ unary = true, binary = true, where = true, compare = true, logical = true,
      bitwise = true }, function(row, d)
        local xs = {}
        for k = 1, row.nin do xs[k] = data[d][k] end
        if row.family == 'where' then xs[1] = data.mask end
        return compare(row[1] .. ' ' .. d, require 'mascon.core.op'.functions[row[1]], xs)
      end)
    assert.is_true(n > 100, n .. ' operations')
  end)

  it('computes reductions over each axis to the bits of the CPU', function()
    local n = each({ reduce = true }, function(row, d)
      local f = require 'mascon.core.op'.functions[row[1]]
      local computed = 0
      for _, axis in ipairs { false, 1, 2 } do
        computed = computed + compare(('%s %s over %s'):format(row[1], d, tostring(axis)),
          function(x) return axis and f(x, axis) or f(x) end, { data[d][1] })
      end
      return computed
    end)
    assert.is_true(n > 15, n .. ' operations')
  end)

  it('converts, copies and fills with every dtype', function()
    for _, from in ipairs(DTYPES) do
      for _, to in ipairs(DTYPES) do
        mc.scope(compare, from .. ' to ' .. to, function(x) return x:to(to) end, { data[from][2] }, true)
        mc.scope(compare, from .. ' into ' .. to, function(x, y)
          local z = y:to(to):copy()
          z:copy_(x)
          if #z.shape > 1 then z[1] = 1 end
          return z
        end, { data[from][2], data[from][1] }, true)
      end
    end
  end)

  it('computes along axes, products, orders and positions to the bits of the CPU', function()
    local index, near = mc.tensor({ 3, 1, 2, 2 }, { dtype = 'i64' }),
      mc.tensor({ { 1, 2, 1, 4, 2 }, { 4, 1, 3, 2, 1 }, { 2, 2, 2, 2, 2 }, { 1, 3, 4, 1, 3 } }, { dtype = 'i64' })
    local there = { index:to 'ref', near:to 'ref' }
    local function at(x, k) return x.device == 'cpu' and (k == 1 and index or near) or there[k] end
    for _, case in ipairs {
      { 'softmax', function(x) return mc.softmax(x, 1) end },
      { 'log_softmax', function(x) return mc.log_softmax(x, 2) end },
      { 'cumsum', function(x) return mc.cumsum(x, 1) end }, { 'cumprod', function(x) return mc.cumprod(x, 2) end },
      { 'cummax', function(x) return mc.cummax(x, 2) end },
      { 'matmul', function(x, y) return x:matmul(y.T) end }, { 'vecdot', function(x, y) return mc.vecdot(x, y) end },
      { 'matmul by a vector', function(x, y) return x:matmul(y[1]) end },
      { 'sort', function(x) return mc.sort(x, 1) end }, { 'argsort', function(x) return mc.argsort(x, 2) end },
      { 'topk', function(x) return (mc.topk(x, 2)) end }, { 'median', function(x) return mc.median(x, 1) end },
      { 'concat', function(x, y) return mc.concat({ x, y }, 1) end },
      { 'stack', function(x, y) return mc.stack { x, y } end },
      { 'roll', function(x) return mc.roll(x, 2, 1) end }, { 'roll of all', function(x) return mc.roll(x, 3) end },
      { 'take', function(x) return mc.take(x, at(x, 1), 1) end },
      { 'take_along_axis', function(x) return mc.take_along_axis(x, at(x, 2), 1) end },
      { 'searchsorted', function(x, y) return mc.searchsorted(mc.sort(x[1]), y) end },
    } do
      for _, d in ipairs { 'f32', 'f64', 'i64' } do
        mc.scope(compare, case[1] .. ' ' .. d, function(x, y)
          local ok, v = pcall(case[2], x, y)
          if not ok then error(v, 0) end
          return v
        end, { data[d][1], data[d][2] }, case[3] ~= d)
      end
    end
    index:release()
    near:release()
  end)

  it('takes numbers as values', function()
    mc.scope(function()
      local x, y = data.f32[2], data.f32[2]:to 'ref'
      for _, f in ipairs { function(t) return t + 1.5 end, function(t) return 2 / t end, function(t) return t ^ 2 end,
        function(t) return t:gt(0.5) end,
        function(t) return mc.where(t:gt(1), t, -1) end, function(t) return mc.clip(t, -1, 1) end } do
        assert.equal(sha(f(x)), sha(f(y)))
      end
    end)
  end)

  it('writes into results that are given, whatever they overlap', function()
    mc.scope(function()
      local x = mc.arange(0, 9):to 'ref'
      mc.add(x['1:9'], x['1:9'], { out = x['2:10'] })
      assert.same({ 0, 0, 2, 4, 6, 8, 10, 12, 14, 16 }, x:totable())
      local y = mc.zeros({ 3 }, { device = 'ref' })
      mc.multiply(mc.tensor({ 1, 2, 3 }, { device = 'ref' }), 2, { out = y })
      assert.same({ 2, 4, 6 }, y:totable())
      y:add_(1):mul_(y)
      assert.same({ 9, 25, 49 }, y:totable())
    end)
  end)

  it('gives values to the host through item, totable, printing and hashes', function()
    mc.scope(function()
      local x = mc.tensor({ { 1, 2 }, { 3, 4 } }, { dtype = 'i64', device = 'ref' })
      assert.equal(3, x[{ 2, 1 }]:item())
      assert.same({ { 1, 3 }, { 2, 4 } }, x.T:totable())
      assert.equal('i64[2,2]@ref:0\n{ { 1, 2 },\n  { 3, 4 } }', tostring(x))
      assert.equal(sha(x:to 'cpu'), sha(x))
      assert.equal(sha(x.T:to 'cpu'), sha(x.T))
    end)
  end)

  it('is saved as the CPU would save it', function()
    mc.scope(function()
      local x = mc.randn({ 3, 4 }, { seed = 5 })
      local y = x:to('ref')['1:2'].T
      for _, extension in ipairs { 'npy', 'npz', mc.info().libraries.hdf5 and 'h5' or nil } do
        local name = os.tmpname()
        local path = name .. '.' .. extension
        mc.save(path, extension == 'npy' and y or { a = y })
        local z = mc.load(path)
        assert.same(x['1:2'].T:totable(), (extension == 'npy' and z or z.a):totable())
        os.remove(name)
        os.remove(path)
      end
    end)
  end)

  it('moves tensors there, back and between two of them', function()
    mc.scope(function()
      local x = mc.randn({ 5, 7 }, { seed = 3 }):to 'f32'
      local y = x.T['::2']:to 'ref:0':to { device = 'ref:1', dtype = 'f64' }
      assert.equal('ref:1', y.device)
      assert.same(x.T['::2']:to('f64'):totable(), y:to('cpu'):totable())
      assert.is_true(rawequal(y, y:to 'ref:1'))
      assert.equal('ref:1', mc.zeros_like(y).device)
      assert.equal('cpu', mc.zeros_like(y, { device = 'cpu' }).device)
    end)
  end)

  it('cannot be read or written by host code', function()
    local code = [[local mc, ffi = require 'mascon', require 'ffi'
      local x = mc.ones({ 3 }, { device = 'ref' })
      io.write 'before '; io.flush()
      print(ffi.cast('double *', x._data)[0])]]
    local path = os.tmpname()
    local f = assert(io.open(path, 'w'))
    f:write(code)
    f:close()
    local pipe = io.popen(('%s %s 2>&1; echo status $?'):format(require 'mascon.host'.exe, path))
    local out = pipe:read '*a'
    pipe:close()
    os.remove(path)
    assert.matches('^before', out)
    assert.not_matches('status 0', out)
  end)
end)

describe('a compiled function on a device', function()
  it('says what became of it', function()
    local f = mc.compile(function(t) return mc.tanh(t) + 1 end)
    f(mc.ones { 3 }:to 'ref')
    local text = tostring(f:explain())
    assert.matches('epilogue +off', text)
    assert.matches('tanh add; one launch', text)
    assert.matches('tanh', tostring(f:graph()))
  end)

  local x, y = mc.randn({ 5, 7 }, { seed = 1 }), mc.randn({ 5, 7 }, { seed = 2 })
  teardown(function() x, y = nil, nil end)

  it('gives the bits of its operations, for each device a form of its own', function()
    mc.scope(function()
      local function f(a, b, s)
        local z = (a + b.T.T) * s
        return z:sum(1), mc.exp(z):mean(), z['2:3, ::2'] * 2 - s, s * 2 + 1, z:to 'f32'
      end
      local g = mc.compile(f)
      local p, q = x:to 'ref', y:to 'ref'
      for _, s in ipairs { 1.5, 2, -3 } do -- the first call of a form traces, later ones replay
        local want = { f(p, q, s) }
        for _, args in ipairs { { x, y }, { p, q } } do
          local got = { g(args[1], args[2], s) }
          for i = 1, 5 do
            assert.equal(i == 4 and 'cpu' or args[1].device,
              (type(got[i]) == 'number' and { device = 'cpu' } or got[i]).device)
            if i ~= 4 and args[1] == p then assert.equal(sha(want[i]), sha(got[i])) end
          end
          assert.equal(s * 2 + 1, type(got[4]) == 'number' and got[4] or got[4]:item())
        end
      end
      assert.equal(2, g.traces)
    end)
  end)

  it('writes to its arguments and to given results, and holds captured tensors', function()
    mc.scope(function()
      local k = mc.ones({ 5, 7 }, { device = 'ref' })
      local g = mc.compile(function(a, b)
        a:mul_(2)
        local z = b + k
        z[1] = 0
        return z
      end)
      for _ = 1, 3 do
        local a, b = x:to 'ref', y:to 'ref'
        local z = g(a, b)
        assert.equal(sha(x * 2), sha(a))
        assert.same((y + 1)['2:5']:totable(), z['2:5']:totable())
        assert.same({ 0, 0, 0, 0, 0, 0, 0 }, z[1]:totable())
        local out = mc.zeros({ 5, 7 }, { device = 'ref' })
        g:into(out, a, b)
        assert.equal(sha(z), sha(out))
      end
      assert.matches('different devices, .*@cpu and .*@ref:0', support.message(function() return g(x:copy(), y) end))
    end)
  end)

  it('computes decompositions, transforms and draws to the bits of the CPU', function()
    mc.scope(function()
      local function f(a) return mc.linalg.svd(a).S, mc.fft.rfft(a), mc.linalg.inv(a:matmul(a.mT) + 1) end
      local g = mc.compile(f)
      for _ = 1, 2 do
        local want, got = { f(x) }, { g(x:to 'ref') }
        for i = 1, 3 do assert.equal(sha(want[i]), sha(got[i])) end
      end
    end)
  end)
end)

describe('a misspelt device', function()
  it('is told with the name that is nearest', function()
    for name, near in pairs { ['openc:0'] = 'did you mean "opencl:0"', ['CUDA:1'] = 'did you mean "cuda:1"',
      GPU = 'did you mean "gpu"', ['gpu:1'] = '"gpu" has no number', ['cpu:0'] = 'did you mean "cpu"' } do
      local m = support.message(function() mc.ones({ 1 }, { device = name }) end)
      assert.truthy(m:find(('ones: device "%s" is unknown'):format(name), 1, true) and m:find(near, 1, true), m)
    end
  end)
end)

describe('operands on several devices', function()
  it('are one error, wherever they meet', function()
    local x, y = mc.ones { 2, 3 }, mc.ones({ 2, 3 }, { device = 'ref' })
    local function says(pattern, f) assert.matches(pattern, support.message(f)) end
    says('add: operands are on different devices, f64%[2,3%]@cpu and f64%[2,3%]@ref:0; move one with :to "ref:0"',
      function() return x + y end)
    says('add: operands are on different devices, f64%[2,3%]@ref:0 and f64%[2,3%]@cpu; move one with :to "ref:0"',
      function() return y + x end)
    says('add: operands are on different devices, f64%[2,3%]@ref:0 and f64%[2,3%]@ref:1; move one with :to "ref:0"',
      function() return y + y:to 'ref:1' end)
    says('exp: operands are on different devices', function() return mc.exp(x, { out = y }) end)
    says('copy: operands are on different devices, f64%[2,3%]@cpu and the target f64%[2,3%]@ref:0; move the former '
      .. 'with :to "ref:0"', function() return y:copy_(x) end)
    says('add: operands are on different devices, f64%[2,3%]@ref:0 and the target f64%[2,3%]@cpu; move the former with '
      .. ':to "cpu"', function() return mc.add(y, y, { out = x }) end)
  end)

  it('are named by the function that was called where what it calls has no form', function()
    local name, why = support.load 'device'.name()
    if not name then return pending(why) end
    local x = mc.ones({ 2, 2 }, { device = name })
    assert.matches('linalg.pinv: lstsq has no form for ', support.message(function() mc.linalg.pinv(x) end))
    assert.matches('unique: the size of its result depends on values', support.message(function() mc.unique(x) end))
  end)

  it('are an error where an operation has no form for the device', function()
    local x = mc.ones({ 3, 3 }, { device = 'ref' })
    assert.matches('has no form for ref:0 yet.*:to "cpu"', support.message(function() return x:dlpack() end))
  end)
end)

describe('names of devices', function()
  it('are refused when they are unknown or not there', function()
    for name, pattern in pairs { tpu = 'device "tpu" is unknown; use "cpu"', ['ref:x'] = 'is unknown',
      ['ref:99'] = 'device "ref:99" is not there: ref has ref:0 to ref:3 alone; use that, or "cpu"',
      ['cpu:1'] = 'is unknown' } do
      assert.matches(pattern, support.message(function() return mc.zeros({ 2 }, { device = name }) end), 1, false)
    end
    for name, near in pairs { GPU = '"gpu"', ['Cuda:0'] = '"cuda"', ['vulkan:0'] = '', [''] = '', f46 = '"f16"' } do
      local why = support.message(function() return mc.zeros({ 2 }):to(name) end)
      assert.matches('to: "' .. name .. '" is neither a dtype (f64, i64 ...) nor a device ("cpu", "cuda:0", '
        .. '"opencl:0", "gpu", "auto")', why, 1, true)
      assert.matches(near == '' and ', "auto")' or '"auto"); did you mean ' .. near .. '?', why, 1, true)
    end
  end)
end)

describe('memory of a device', function()
  local function live()
    local out = ffi.new 'int64_t[9]'
    assert(C.mc_device_memory(C.mc_device_find 'ref:2', out) == 0)
    return tonumber(out[0]), tonumber(out[6])
  end
  it('is given back with the last tensor that shows it', function()
    local before = live()
    local x = mc.zeros({ 1000 }, { device = 'ref:2' })
    local v = x['1:10']
    assert.equal(before + 8000, (live()))
    x:release()
    assert.equal(before + 8000, (live()))
    v:release()
    assert.equal(before, (live()))
  end)

  it('runs out with an error after a collection, and serves again', function()
    local d = C.mc_device_find 'ref:2'
    collectgarbage()
    collectgarbage()
    local used = live()
    assert.equal(0, C.mc_device_limit_set(d, used + 1000000))
    for _ = 1, 20 do mc.zeros({ 60000 }, { device = 'ref:2' }) end -- dropped ones are collected when memory is short
    local keep = mc.zeros({ 60000 }, { device = 'ref:2' })
    local m = support.message(function() return mc.zeros({ 80000 }, { device = 'ref:2' }) end)
    assert.matches('MiB more on ref:2 would pass its', m)
    assert.equal(0, C.mc_device_limit_set(d, 1024))
    m = support.message(function() return mc.zeros({ 500 }, { device = 'ref:2' }) end)
    assert.matches('memory: 3.9 KiB more on ref:2 would pass its limit of 1.0 KiB', m)
    assert.matches('or raise it by mc.set_memory_limit', m)
    assert.equal(0, C.mc_device_limit_set(d, used + 1000000))
    keep:release()
    mc.zeros({ 80000 }, { device = 'ref:2' }):release()
    assert.equal(0, C.mc_device_limit_set(d, 0))
  end)
end)
