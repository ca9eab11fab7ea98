-- cuda_adapter_spec.lua - the binding of CUDA over a stand-in for driver and NVRTC: kernels with lanes in any order,
-- work done late, failing calls, full memory, a lost card; and the texts of device programs through the real NVRTC.
--
-- What no stand-in shows: the bits and times of a card.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local process, standin, nvrtc = support.load 'process', support.load 'standin', support.load 'nvrtc'
local families = support.load 'families'
local host = require 'mascon.host'

local folder = standin.folder()
local try = standin.tests(it, pending)

-- runs Lua text in a process of its own
local function run(text, settings)
  return process.shell(("%s timeout 60 '%s' -e %s"):format(standin.environment(settings), host.program or arg[-1],
    "'" .. text:gsub("'", "'\\''") .. "'"))
end

local CHAIN = [[
local mc = require "mascon"
for _, d in ipairs { "cpu", "cuda:0" } do
  local x = mc.arange(1, 5000):to(d)
  local y = x:reshape(50, 100)
  print((x * 2 + 1):sum():item(), y.T:max(1):sum():item())
  print(y:matmul(y.T):sum():item(), (y / 9):softmax(2):std():item())
  x[3] = 7
  print(x[3]:item(), x:to "f32":mean():item())
end
]]

describe('the binding of CUDA', function()
  try('gives the same numbers for lanes in any order', function()
    for _, order in ipairs { 'forwards', 'backwards', 'shuffled' } do
      local r = run(CHAIN, { ORDER = order, SEED = 7 })
      assert.equal(0, r.status, r.text)
      local numbers = {}
      for n in r.text:gmatch '%S+' do numbers[#numbers + 1] = tonumber(n) end
      assert.equal(12, #numbers, r.text)
      for i = 1, 6 do
        assert.is_true(math.abs(numbers[i] - numbers[i + 6]) <= 1e-6 * numbers[i], order .. ': ' .. r.text)
      end
    end
  end)

  try('says each failing call in words and keeps what is on the host', function()
    local text = [[
local mc = require "mascon"
local kept = mc.ones { 3 }
local ok, e = pcall(function()
  local x = mc.arange(1, 300):to "cuda:0"
  local s = (x * 2):sum():item()
  assert(s == 90300, s)
end)
print(ok, e, kept:sum():item())]]
    local failed = 0
    for _, code in ipairs { 2, 719 } do
      for n = 1, 40, code == 719 and 3 or 5 do
        local r = run(text, { FAIL = ('any:%d:%d'):format(n, code) })
        assert.equal(0, r.status, r.text)
        assert.is_truthy(r.text:find '%s3\n', r.text)
        if r.text:find '^false' then
          failed = failed + 1
          assert.is_truthy(r.text:find 'cuda' or r.text:find 'memory', r.text)
          assert.is_nil(r.text:find 'attempt to', r.text)
        end
      end
    end
    assert.is_true(failed > 8, failed .. ' failed')
  end)

  try('goes on with smaller work when the card is full', function()
    local r = run([[
local mc = require "mascon"
local ok, e = pcall(function() return mc.zeros({ 5000000 }, { device = "cuda:0" }) + 1 end)
print(ok, e)
collectgarbage() collectgarbage()
print((mc.ones({ 1000 }, { device = "cuda:0" }) + 1):sum():item())]], { MEMORY = 40 * 2 ^ 20 })
    assert.equal(0, r.status, r.text)
    assert.is_truthy(r.text:find '^false.-MiB', r.text)
    assert.is_truthy(r.text:find '\n2000\n', r.text)
  end)

  try('names the launch that faulted where each is waited for', function()
    for sync = 0, 1 do
      local r = process.shell(("MASCON_SYNC=%d %s timeout 60 '%s' -e %s"):format(sync, standin.environment(),
        host.program or arg[-1], "'" .. [[
local mc = require "mascon"
local k = mc.kernel { name = "apart", inputs = { "x f64" }, outputs = { "y f64" }, lanes = 64, grid = 1,
  launch = "if (LANE < 32) { BARRIER; } y[LANE] = x[LANE];" }
local x = mc.ones({ 64 }, { device = "cuda:0" })
local good, y = pcall(k, x)
print(good, pcall(function() return y:sum():item() end))]] .. "'"))
      assert.matches(sync == 1 and '\nfalse\tfalse' or '\ntrue\tfalse.*the card is lost', r.text)
    end
  end)

  try('has as many cards as the driver', function()
    local r = run([[
local mc = require "mascon"
local a, b = mc.ones({ 3 }, { device = "cuda:0" }), mc.ones({ 3 }, { device = "cuda:1" })
print((a + 1):sum():item(), (b + 2):sum():item(), pcall(function() return a + b end))
print(pcall(mc.ones, { 3 }, { device = "cuda:2" }))]], { DEVICES = 2 })
    assert.equal(0, r.status, r.text)
    assert.is_truthy(r.text:find '^6\t9\tfalse', r.text)
    assert.is_truthy(r.text:find 'cuda has cuda:0 to cuda:1 alone; use that, or "cpu"', r.text)
  end)
end)

describe('uploads to a card', function()
  --- Output of a script, and how often a line of the trace stands in it.
  local function traced(text, settings)
    settings = settings or {}
    settings.TRACE = 1
    local r = run('local mc = require "mascon"\n' .. text, settings)
    assert.equal(0, r.status, r.text)
    return r.text:gsub('standin: [^\n]*\n', ''), function(pattern) return (select(2, r.text:gsub(pattern, ''))) end
  end

  try('that are small wait for nothing', function()
    local said, count = traced [[
local y = mc.ones({ 1000 }, { device = "cuda:0" })
for k = 1, 30 do y = y + mc.full({ 1000 }, k):to "cuda:0" end
print(y[7]:item())]]
    assert.equal('466\n', said)
    assert.equal(0, count 'waits for an event')
  end)

  try('that are large run beside queued work, but not into memory that it wants', function()
    for seed = 1, 4 do
      local said, count = traced([[
local big, sums = mc.arange(1, 2 ^ 20), {}
local x = big:to "cuda:0"
for k = 1, 5 do
  sums[k] = (x * k + 1):sum()
  if k % 2 == 0 then x:release() end -- the upload takes its memory
  local after = (big + k):to "cuda:0"
  if k % 2 == 1 then x:release() end
  x = after
end
for k = 1, 5 do print(sums[k]:item() - (k * ((big + (k - 1)):sum():item()) + 2 ^ 20)) end]], { SEED = seed })
      assert.equal(('0\n'):rep(5), said)
      assert.is_true(count 'upload of %d+ bytes beside [1-9]' >= 4, 'uploads wait for what is queued')
    end
  end)

  try('of blocks of a fit run beside the blocks before them', function()
    local said, count = traced [[
local s = mc.xpcs.generate.simulate { n = 300, dt = 0.1, q = 0.0054, gap = 2e6, phi = { -20, 0, 33, 90 },
  contrast = 0.3, offset = 1, physics = { 400, -0.3, 5, 3e-3, -0.2, 1e-4, -6 }, sigma = 0.01, seed = 3, first = 1 }
local data = mc.xpcs.data.of { c2 = s.c2, phi = { -20, 0, 33, 90 }, t = s.t, q = 0.0054, dt = 0.1, gap = 2e6,
  mode = "static" }
local kd, ks = mc.xpcs.model.constants { q = 0.0054, gap = 2e6, dt = 0.1 }
local function pass(o)
  local p = { physics = { 500, -0.25, 6 }, contrast = { 0.3, 0.3, 0.3, 0.3 }, offset = { 1, 1, 1, 1 }, kd = kd, ks = ks,
    sigma = { 0.01, 0.01, 0.01, 0.01 }, t = data.t, loss = "linear", f_scale = 1.5 }
  p.device = require "workflows.xpcs.pass.device".place(o, {})
  return table.concat(mc.xpcs.pass.run(data, p, "common"), " ")
end
local blocks = pass { device = "cuda:0", max_memory = 4.5e6 }
print(blocks == pass { device = "cuda:0" })]]
    assert.equal('true\n', said)
    assert.is_true(count 'upload of %d%d%d%d%d%d+ bytes beside [1-9]' > 0, 'uploads wait for the pass before them')
  end)

  try('that fail are errors, and the memory is free again', function()
    local calls = 0
    for name, last in pairs { cuMemcpyHtoDAsync_v2 = 5, cuEventRecord = 3, cuStreamWaitEvent = 3, cuMemAllocHost_v2 = 3,
      cuEventCreate = 4, cuEventSynchronize = 1 } do
      for n = 1, last, 2 do
        calls = calls + 1
        local said = traced([[
local big = mc.arange(1, 2 ^ 20)
local ok, e = pcall(function()
  for _ = 1, 4 do
    local x = big:to "cuda:0"
    local _ = (x + 1):sum()
    x:release()
  end
end)
print(ok, e, pcall(function() return (big:to "cuda:0" + 1):sum():item() - big:sum():item() end))]],
          { FAIL = ('%s:%d:1'):format(name, n) })
        assert.matches('^false\t.*cuda: .-\ttrue\t1048576\n$', said, 1, name .. ' ' .. n)
      end
    end
    assert.equal(12, calls)
  end)
end)

describe('compiled programs of CUDA', function()
  local TEXT = [[
local mc = require "mascon"
local ok, v = pcall(function() return (mc.arange(1, 300):to "cuda:0" * 2 + 1):sum():item() end)
local n = require "ffi".new "double[3]"
require "mascon.core.ffi".C.mc_device_programs(n)
print(ok, v, n[0], n[1])]]

  try('are kept on disk, serve without NVRTC and are made anew when they cannot', function()
    local cache = os.tmpname()
    os.remove(cache)
    local function go(settings)
      local r = process.shell(("MASCON_PROGRAMS=off MASCON_CACHE='%s' %s timeout 60 '%s' -e '%s'"):format(cache,
        standin.environment(settings), host.program or arg[-1], TEXT))
      assert.equal(0, r.status, r.text)
      local ok, v, made, found = r.text:match '^(%a+)\t(.-)\t(%d+)\t(%d+)%s*$'
      return ok == 'true' and tonumber(v) or v, tonumber(made), tonumber(found)
    end
    local v, made, found = go {}
    assert.same({ 90600, 0 }, { v, found })
    assert.is_true(made >= 2)
    assert.same({ 90600, 0, made }, { go {} })
    assert.same({ 90600, 0, made }, { go { NVRTC = 'none' } }) -- a machine with a driver alone
    assert.same({ 90600, made, 0 }, { go { NVRTC = '12.9' } }) -- another compiler makes its own
    assert.same({ 90600, 0, made }, { go { NVRTC = 'none' } })
    -- damaged: what cannot be trusted is not loaded
    local names = process.shell(("ls '%s'"):format(cache)).text
    local damaged = 0
    for name in names:gmatch '(%x+%.code)' do
      local f = assert(io.open(cache .. '/' .. name, 'r+b'))
      f:write 'X'
      f:close()
      damaged = damaged + 1
    end
    assert.equal(made, damaged)
    local said = go { NVRTC = 'none' }
    assert.is_truthy(said:find('NVRTC is not there', 1, true) and said:find(cache, 1, true), said)
    assert.same({ 90600, made, 0 }, { go {} })
    local list = process.shell(("MASCON_CACHE='%s' '%s' cache list"):format(cache, host.program or arg[-1])).text
    assert.is_truthy(list:find 'NVRTC 13%.0 for driver 13%.0, sm_90', list)
    process.shell(("rm -r '%s'"):format(cache))
  end)

  try('that come with mascon serve a machine with a driver alone, compiled functions too', function()
    local pack = support.load 'pack'
    local at = os.tmpname()
    os.remove(at)
    process.shell(("mkdir -p '%s'"):format(at))
    local function go(settings, more)
      return process.shell(("%s MASCON_CACHE=off %s timeout 60 '%s' -e %s"):format(more or '',
        standin.environment(settings), host.program or arg[-1], "'" .. [[
local mc = require "mascon"
local f = mc.compile(function(x) return (mc.exp(x) * 2 + 1):sum() end)
local x = (mc.arange(1, 300) / 300):to "cuda:0"
print(pcall(function() return ("%.12g"):format(f(x):item()), mc.sort(x, 1)[1]:item() end))]] .. "'"))
    end
    local fused = go({}, "MASCON_PROGRAMS=off")
    assert.matches('^true\t', fused.text)
    -- the texts of unfused operations, and what the stand-in compiles them to
    local plain = go({ KEEP = 1, CACHE = at }, "MASCON_PROGRAMS=off MASCON_PASSES=-fuse")
    assert.equal(fused.text, plain.text)
    local codes = {}
    for file in process.shell(("ls '%s'/*.cu"):format(at)).text:gmatch '[^\n]+' do
      local f = assert(io.open(file))
      codes[pack.key(f:read '*a')] = (file:gsub('%.cu$', '.so'))
      f:close()
    end
    pack.write(at .. '/cuda.pack', codes)
    local r = go({ NVRTC = 'none' }, ("MASCON_PROGRAMS='%s'"):format(at))
    assert.equal(plain.text, r.text)
    r = go({ NVRTC = 'none' }, 'MASCON_PROGRAMS=off')
    assert.matches('^false\t.-NVRTC is not there.-neither in the cache %(.-%) nor among the 0 that come with mascon',
      r.text)
    process.shell(("rm -r '%s'"):format(at))
  end)
end)

describe('the programs that are packed', function()
  try('hold those of every pass of an XPCS fit', function()
    local at = process.folder()
    --- Files of the texts of passes.
    local function passes()
      local out, n = {}, 0
      for file in process.shell(("grep -l mcu_tt_ '%s'/*.cu"):format(at)).text:gmatch '[^\n]+' do
        out[file], n = true, n + 1
      end
      return out, n
    end
    local r = process.shell(("%s MASCON_CACHE=off timeout 100 '%s' '%s/programs.lua' x --texts --passes"):format(
      standin.environment { DRY = 1, KEEP = 1, CACHE = at }, host.program or arg[-1], support.folder))
    assert.equal(0, r.status, r.text)
    local packed, count = passes()
    r = process.shell(("MASCON_CACHE=off MASCON_PROGRAMS=off %s timeout 100 '%s' -e '%s'"):format(
      standin.environment { KEEP = 1, CACHE = at }, host.program or arg[-1], [[
local mc = require "mascon"
local data = mc.xpcs.data.of(mc.xpcs.generate.set "A")
for _, o in ipairs { {}, { loss = "soft_l1" }, { mode = "static" }, { scaling = "individual" } } do
  o.sigma, o.device, o.max_nfev = 0.004, "cuda:0", 2
  print(mc.xpcs.fit(data, o).device)
end]]))
    assert.equal(('cuda:0\n'):rep(4), r.text)
    local all, now = passes()
    for file in pairs(all) do assert.is_true(packed[file], file .. ' is not packed') end
    assert.equal(count, now)
    assert.is_true(count >= 16, count .. ' programs')
    process.remove(at)
  end)
end)

describe('products of cuBLASLt', function()
  local TEXT = [[
local mc = require "mascon"
local function sizes(t) return t:to("cpu"):to "c128" end
local worst, n = 0, 0
for _, t in ipairs { "f64", "f32", "c64", "c128", "f16", "bf16" } do
  local a = mc.randn({ 3, 5, 7 }, { seed = 1 }):to(t)
  local b = mc.randn({ 3, 7, 4 }, { seed = 2 }):to(t)
  local cases = {
    { a, b }, { a[1], b[1] }, { a, b[2] }, { a[1], b }, { a[1].T, a[2] }, { b[1], a[1]["1:4, :"] },
    { a[1]["::2, :"], b[1] }, { a[1], b[1][{ mc.all, 2 }] }, { a["1:1, 2:4, :"], b["2:2, :, 1:3"] },
    { a:permute_dims { 1, 3, 2 }, a }, { a[1]["1:1, :"], b[1]["::-1, :"] },
  }
  for _, c in ipairs(cases) do
    local want = c[1]:to("c128"):matmul(c[2]:to "c128")
    local got = c[1]:to("cuda:0"):matmul(c[2]:to "cuda:0")
    assert(got.dtype == t and got.shape == want.shape)
    local far = mc.abs(sizes(got) - want):max():item()
    local tol = ({ f64 = 1e-13, c128 = 1e-13, f16 = 0.02, bf16 = 0.15 })[t] or 1e-5
    n = n + 1
    if not (far <= tol) then print(t, tostring(c[1].shape), tostring(c[2].shape), far) end
  end
end
for _, d in ipairs(mc.devices()) do if d.name == "cuda:0" then print(n, d.about) end end]]

  local function go(settings)
    settings.TRACE = 1
    local r = run(TEXT, settings)
    assert.equal(0, r.status, r.text)
    local _, products = r.text:gsub('standin: cublasLtMatmul', '')
    return products, r.text:gsub('standin: [^\n]*\n', '')
  end

  try('serve every dtype and layout, and say so', function()
    local products, text = go {}
    assert.matches('^66\tcapability 9%.0, driver for CUDA 13%.0 .*, NVRTC 13%.0, matmul by cuBLASLt 13%.1, fft by '
      .. 'cuFFT 12%.0%s*$', text)
    assert.is_true(products >= 54, products .. ' products')
  end)

  try('round operands of f32 on request alone', function()
    local r = run [[
local mc = require "mascon"
local a, b = mc.randn({ 40, 30 }, { seed = 1 }):to "f32", mc.randn({ 30, 20 }, { seed = 2 }):to "f32"
local want = a:to("f64"):matmul(b:to "f64")
local function far() return mc.max(mc.abs(a:to("cuda:0"):matmul(b:to "cuda:0"):to("cpu"):to "f64" - want)):item() end
print(far() < 1e-5)
mc.set_tf32(true)
local same = want:to("cuda:0"):matmul(mc.eye(20):to "cuda:0"):to "cpu"
print(far() > 1e-4, far() < 2e-2, mc.max(mc.abs(want - same)):item())
mc.set_tf32(false)
print(far() < 1e-5)]]
    assert.equal('true\ntrue\ttrue\t0\ntrue\n', r.text)
  end)

  try('are its own kernels\' where the library does not start', function()
    local products, text = go { BLAS = 'none' }
    assert.matches('^66\t.*matmul by its own kernel %(cuBLASLt does not start%), fft by cuFFT', text)
    assert.equal(0, products)
  end)
end)

describe('transforms of cuFFT', function()
  local TEXT = [[
local mc = require "mascon"
local n, plan = 0, mc.compile(function(v) return mc.fft.irfft(mc.fft.rfft(v * 2) * 0.5), mc.cumsum(v, 2) end)
for _, t in ipairs { "f64", "f32" } do
  local c = t == "f64" and "c128" or "c64"
  local function near(what, f, ...)
    local there = {}
    for i, a in ipairs { ... } do there[i] = a:to "cuda:0" end
    local want, got = f(...), f(unpack(there)):to "cpu"
    assert(want.dtype == got.dtype and want.shape == got.shape, what)
    local far = (mc.max(mc.abs(want - got)) / mc.max(mc.abs(want))):item()
    n = n + 1
    if not (far <= (t == "f64" and 1e-14 or 1e-6)) then print(what, t, far) end
  end
  for _, size in ipairs { 2, 30, 97, 128, 1000 } do
    local x = mc.randn({ 3, size }, { seed = size }):to(t)
    local z = (x:to(c) + mc.randn({ 3, size }, { seed = size + 1 }):to(c) * mc.complex(0, 1)):to(c)
    near("fft", mc.fft.fft, z)
    near("ifft", function(v) return mc.fft.ifft(v, { norm = "ortho" }) end, z)
    near("longer", function(v) return mc.fft.fft(v, { n = size + 5 }) end, z)
    near("columns", function(v) return mc.fft.ifft(v, { axis = 1 }) end, z)
    near("rfft", mc.fft.rfft, x)
    near("rfft, longer", function(v) return mc.fft.rfft(v, { n = size + 3 }) end, x)
    near("rfft from the second element", function(v) return mc.fft.rfft(v:reshape(-1)["2:"]) end, x)
    near("irfft", function(v) return mc.fft.irfft(v, { n = size }) end, z)
    near("irfft, longer", function(v) return mc.fft.irfft(v, { n = 2 * size + 4 }) end, z)
    near("irfft to the second element", function(v, y)
      mc.fft.irfft(v:reshape(-1), { n = 3 * size, out = y["2:"] })
      return y
    end, z, mc.zeros({ 3 * size + 1 }, { dtype = t }))
    for _ = 1, 4 do near("in a graph", function(v) return (plan(v)) end, x) end
  end
end
local x = mc.randn({ 2, 64 }, { seed = 1 }):to "cuda:0"
print(n, mc.max(mc.abs(mc.fft.rfft(x["1, :"]):to "cpu" - mc.fft.rfft(x):to "cpu"[1])):item() < 1e-12)]]

  --- Transforms by the library, all others' lines.
  local function go(settings, text)
    settings.TRACE = 1
    local r = run(text or TEXT, settings)
    assert.equal(0, r.status, r.text)
    return select(2, r.text:gsub('standin: cufft', '')), r.text:gsub('standin: [^\n]*\n', '')
  end

  try('serve every kind, precision and beginning of rows, in graphs too', function()
    for seed = 1, 2 do
      local count, text = go { SEED = seed }
      assert.equal('140\ttrue\n', text)
      assert.is_true(count >= 140, count .. ' transforms')
    end
  end)

  try('are its own kernels\' where the library has no plan, and where bits are not to depend on rows', function()
    local count, text = go { FFT = 'none' }
    assert.equal('140\ttrue\n', text)
    assert.equal(0, count)
    count, text = go({}, [[
local mc = require "mascon"
local x = mc.randn({ 2, 64 }, { seed = 1 }):to "cuda:0"
mc.set_batch_invariant(true)
print(mc.all(mc.eq(mc.abs(mc.fft.rfft(x["1, :"])):to "cpu", mc.abs(mc.fft.rfft(x)):to "cpu"[1])))]])
    assert.same({ 0, 'true\n' }, { count, text })
  end)

  try('that fail are errors', function()
    local _, text = go({ FAIL = 'standin_call:2:719' }, [[
local mc = require "mascon"
local x = mc.randn({ 2, 64 }, { seed = 1 }):to "cuda:0"
for _ = 1, 3 do print(pcall(function() return mc.fft.rfft(x).dtype end)) end]])
    assert.matches('^true\tc128\nfalse\t.*cuda: .*\nfalse\t.*cuda: ', text)
  end)
end)

describe('the stand-in', function()
  -- a kernel of one group of 64 lanes; what it writes, or the text of the failure
  local function kernel(body, order, environment)
    environment = environment or standin.environment
    local r = process.shell(("%s timeout 60 '%s' '%s' %s %s"):format(environment { ORDER = order }, host.program
      or arg[-1], support.folder .. '/standin/kernel.lua', "'" .. body:gsub("'", "'\\''") .. "'", folder))
    return r.status, r.text
  end
  local SUM = 'GROUP_MEMORY seen[LANE] = x[LANE]; %s '
    .. 'if (LANE == 0) { double s = 0; for (int i = 0; i < 64; i++) s += seen[i]; y[0] = s; }'

  try('shows a missing barrier', function()
    local _, good = kernel(SUM:format 'BARRIER;', 'forwards')
    local _, same = kernel(SUM:format 'BARRIER;', 'shuffled')
    assert.equal(good, same)
    local _, bad = kernel(SUM:format '', 'forwards')
    assert.are_not.equal(good, bad)
  end)

  try('finds a barrier that only some lanes meet, memory read before it is written, and what lies beyond', function()
    local status, text =
      kernel('GROUP_MEMORY seen[LANE] = 1; if (LANE < 32) { BARRIER; } y[LANE] = seen[LANE];', 'forwards')
    assert.are_not.equal(0, status)
    assert.is_truthy(text:find('lane 32 is at', 1, true) or text:find('it has ended', 1, true), text)
    local _, unwritten = kernel('GROUP_MEMORY y[LANE] = seen[63 - LANE];', 'forwards')
    assert.is_truthy(unwritten:find 'nan', unwritten)
    status = kernel('GROUP_MEMORY seen[0] = 0; y[64 + LANE] = 1;', 'forwards')
    assert.are_not.equal(0, status)
  end)

  try('finds under sanitizers what lies beyond an array of a group, and what C leaves undefined', function()
    local ok, reason = standin.sanitized()
    if not ok then return pending(reason) end
    local function checked(body) return kernel(body, 'shuffled', standin.sanitized) end
    local status, text = checked(SUM:format 'BARRIER;')
    assert.equal(0, status, text)
    status, text = checked 'GROUP_MEMORY seen[LANE] = x[LANE]; BARRIER; y[LANE] = seen[LANE + 1];'
    assert.are_not.equal(0, status)
    assert.is_truthy(text:find('AddressSanitizer', 1, true) or text:find('out of bounds', 1, true), text)
    status, text = checked 'int v = 2147483647 - LANE; y[LANE] = v + 2;'
    assert.are_not.equal(0, status)
    assert.is_truthy(text:find('signed integer overflow', 1, true), text)
    status, text = checked 'y[LANE] = x[LANE - 1];'
    assert.are_not.equal(0, status)
    assert.is_truthy(text:find('AddressSanitizer', 1, true), text)
  end)
end)

describe('limits of kernels', function()
  it('are held against what the assembler says', function()
    local said = "ptxas info : Compiling entry function 'f' for 'sm_90'\nFunction properties for f\n"
      .. '0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n'
      .. 'Used %d registers, used 1 barriers, %d bytes smem\nptxas info : Compile time = 1 ms\n'
    local text = '/* dialect.h - x */ /* reduce.c - sums */'
    assert.is_nil(families.beyond(text, said:format(128, 49152)))
    assert.matches('f of reduce: 129 registers, 0 bytes spilled', families.beyond(text, said:format(129, 0)))
    assert.matches('50000 bytes of group memory', families.beyond(text, said:format(20, 50000)))
    assert.equal(1, families.occupancy(90, 32, 0))
    assert.equal(0.5, families.occupancy(90, 64, 0))
    assert.equal(0.25, families.occupancy(75, 255, 0))
    local flops, bytes = families.counted 'ld.global.v2.f32 {%f1,%f2}, [%rd1];\n\tfma.rn.f32 %f3, %f1, %f2, %f2;\n'
    assert.same({ 2, 8 }, { flops, bytes })
  end)
end)

describe('texts of device programs', function()
  local texts, reason = nvrtc.open()
  it('compile for a card', function()
    if not texts then return pending(reason) end
    local list = nvrtc.sample(4)
    for i, source in ipairs(list) do
      local text = nvrtc.text(source)
      local log, said = nvrtc.compile(text, i % 2 == 0 and 'sm_90' or 'sm_75')
      assert.is_nil(log, (log or '') .. '\n' .. source)
      assert.is_true(#families.kernels(said) > 0, said)
      assert.is_nil(families.beyond(text, said))
    end
  end)
  it('that are wrong do not', function()
    if not texts then return pending(reason) end
    assert.is_truthy(nvrtc.compile('extern "C" __global__ void f(int *x) { x[0] = nothing; }', 'sm_90'):find 'nothing')
  end)
end)
