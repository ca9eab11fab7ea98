-- device_failures_spec.lua - what goes wrong on a device is an error in words, and the process goes on: memory that
-- runs out in a compiled function and in an analysis, Ctrl-C, a lost card, drivers that are missing, old or do not
-- compute in f64.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local process, standin, device = support.load 'process', support.load 'standin', support.load 'device'
local C = require 'mascon.core.ffi'.C
local host = require 'mascon.host'

local program = host.program or arg[-1]
local here = debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests'

--- Lua text in a process of its own.
local function run(text, environment)
  return process.shell(("%s timeout 100 '%s' -e %s"):format(environment or '', program,
    "'" .. text:gsub("'", "'\\''") .. "'"))
end

--- f with so many bytes more on the device.
local function within(d, bytes, f)
  local number = C.mc_device_find(d)
  collectgarbage()
  collectgarbage()
  C.mc_memory_trim()
  assert.equal(0, C.mc_device_limit_set(number, mc.memory { device = d }.live + bytes))
  local ok, why = pcall(f)
  assert.equal(0, C.mc_device_limit_set(number, 0))
  if not ok then error(why, 0) end
end

describe('memory of a device that runs out', function()
  it('is an error with the largest tensors there; then a smaller job runs', function()
    local d, reason = device.name()
    if not d then return pending(reason) end
    local kept = mc.ones({ 300000 }, { device = d })
    local f = mc.compile(function(a) return mc.cumsum(mc.exp(a) * 2 + mc.cumsum(a, 1), 1):sum() end)
    local x = mc.randn({ 48, 4000 }, { seed = 1 })
    local big = mc.ones({ 2 ^ 19 }, { device = d })
    within(d, 2 ^ 22, function()
      local why = support.message(function()
        local y = f(big)
        return y
      end)
      assert.matches('device_failures_spec.lua:%d+: memory: [%d.]+ MiB more on ' .. d, why)
      assert.matches('largest live tensors there:\n +4.0 MiB  f64%[524288%]\n', why)
      assert.matches('2.3 MiB  f64%[300000%]', why)
      local want = f(mc.ones { 10 }):item()
      assert.is_true(math.abs(f(mc.ones({ 10 }, { device = d })):item() - want) <= 1e-12 * want)
      why = support.message(function()
        local r = mc.pac.compute(x, { fs = 500, device = d })
        return r
      end)
      assert.matches('device_failures_spec.lua:%d+: memory: [%d.]+ MiB more on ' .. d, why)
      assert.is_nil(why:find('f64[48,4000]', 1, true)) -- of the host
    end)
    within(d, 2 ^ 25, function()
      local o = { fs = 500, pha_n_bands = 2, amp_n_bands = 2, surrogate = 'none', n_perm = 0 }
      local want = mc.pac.compute(x[{ { 1, 2 }, { 1, 900 } }], o).pac
      o.device = d
      local got = mc.pac.compute(x[{ { 1, 2 }, { 1, 900 } }], o).pac
      assert.is_true(mc.allclose(want, got, { atol = 1e-5 }))
    end)
    for _, t in ipairs { kept, x, big } do t:release() end
  end)
end)

describe('the limit of a device', function()
  it('is what MASCON_MEMORY_LIMIT says where its memory is the machine\'s, and can be set', function()
    local d, reason = device.name()
    if not d then return pending(reason) end
    local code = ([[
local mc = require "mascon"
local d = "%s"
print(mc.devices()[#mc.devices()].processor, mc.memory { device = d }.limit == 2 ^ 26)
mc.set_memory_limit(2 ^ 20, { device = d })
print(pcall(mc.empty, { 2 ^ 18 }, { device = d }))
mc.set_memory_limit(0, { device = d })
print(mc.empty({ 2 ^ 18 }, { device = d }).device)]]):format(d)
    local text = run(code, 'MASCON_MEMORY_LIMIT=64M').text
    assert.matches('^(%a+)\t(%a+)\nfalse\t.-memory: 2.0 MiB more on ' .. d .. ' would pass its limit of 1.0 MiB.*\n'
      .. d .. '\n$', text)
    local processor, limited = text:match '^(%a+)\t(%a+)'
    assert.equal(processor, limited)
  end)
end)

describe('a fault of queued work', function()
  it('that no line waits for is told at the end of the script, which fails', function()
    local d, reason = device.name()
    if not d then return pending(reason) end
    local r = run(([[
local mc = require "mascon"
mc.arange(1, 3):to '%s':take(mc.tensor({ 9 }, { dtype = 'i64' }):to '%s')]]):format(d, d))
    assert.equal(1, r.status)
    assert.matches('take: a position is outside the axis at flat position 1.*nothing waited for', r.text)
  end)
end)

describe('Ctrl-C', function()
  it('stops a script that works on a device, and can be caught', function()
    local d, reason = device.name()
    if not d then return pending(reason) end
    local path = os.tmpname()
    local file = assert(io.open(path, 'w'))
    file:write(([[
local mc = require 'mascon'
local x = mc.ones({ 100000 }, { device = '%s' })
local f = mc.compile(function(a) return mc.tanh(a * 2) + 1 end)
local ok, why = pcall(function()
  for _ = 1, 3 do x = f(x) end -- what is compiled is: the driver's compiler writes to stderr when a signal stops it
  io.stdout:write 'ready\n'
  io.stdout:flush()
  while true do x = f(x) end
end)
print(ok, tostring(why):match '%%a+$', mc.ones({ 3 }, { device = '%s' }):sum():item())
]]):format(d, d))
    file:close()
    local r = process.shell(([[
env --default-signal=INT '%s' '%s' > '%s.out' 2>&1 & p=$!
for i in $(seq 200); do grep -qs ready '%s.out' && break; sleep 0.1; done; sleep 0.3; kill -INT $p; wait $p; echo $?
cat '%s.out'; rm -f '%s.out']]):format(program, path, path, path, path, path))
    os.remove(path)
    assert.matches('^0\nready\nfalse\tinterrupted\t3\n$', r.text)
  end)
end)

describe('the driver', function()
  it('is waited for while it works: Ctrl-C is not answered inside', function()
    local folder, reason = standin.folder()
    if not folder then return pending(reason) end
    local r = run([[
local mc = require "mascon"
local x = mc.ones({ 100 }, { device = "cuda:0" })
for _ = 1, 3000 do x = x * 1.5 - 0.5 end -- more than the driver queues: launches wait too
print(x:sum():item(), mc.sort(x):to "cpu":sum():item())
local big = mc.ones({ 2 ^ 20 }):to "cuda:0"
big[{ { 1, 10 } }] = 7
print(big:sum():item())]], standin.environment { WORKING = 1 })
    assert.equal(0, r.status, r.text)
    assert.equal('100\t100\n1048636\n', r.text)
  end)
end)

describe('a driver', function()
  local CODE = [[print(pcall(require "mascon".ones, { 2 }, { device = "%s" }))]]
  it('that is missing or too old is said with what to install', function()
    local folder, reason = standin.folder()
    if not folder then return pending(reason) end
    local r = run(CODE:format 'cuda', standin.environment { DRIVER = 11040 })
    assert.matches('^false.-device "cuda" is not there: the driver is for CUDA 11.4; install one for CUDA 12.0 or '
      .. 'newer', r.text)
    assert.equal(0, r.status)
    r = run(CODE:format 'opencl', 'OCL_ICD_VENDORS=/nonexistent')
    assert.matches('^false.-device "opencl" is not there: there is no OpenCL driver; install that of the card', r.text)
    r = run(CODE:format 'cuda', standin.environment { DRIVER = 12020 })
    assert.matches('^true', r.text)
    if #mc.devices() > 0 and not os.getenv 'MASCON_TEST_DEVICE' then
      local there = false
      for _, v in ipairs(mc.devices()) do there = there or v.kind == 'cuda' end
      if not there then
        assert.matches('libcuda.so.1 is not there; install the driver of the NVIDIA card', run(CODE:format 'cuda').text)
      end
    end
  end)

  it('that cannot write what it compiles names its folder', function()
    if device.name() ~= 'opencl:0' then return pending 'the device is not one of OpenCL' end
    local path = os.tmpname()
    local r = run(CODE:format 'opencl' .. ' print(pcall(require "mascon".sin, require "mascon".ones({ 2 }, { device = '
      .. '"opencl" })))', ("POCL_CACHE_DIR='%s'"):format(path))
    os.remove(path)
    if r.text:find '^true' then return pending 'the driver is not PoCL' end
    assert.matches('PoCL cannot write to its folder of programs ' .. path:gsub('%p', '%%%0') .. ' %(Not a directory%); '
      .. 'make room there', r.text)
  end)

  it('of a device that does not compute in f64 is refused, and auto takes the CPU', function()
    local name, reason = device.name()
    if not name then return pending(reason) end
    if not name:find '^opencl' then return pending 'the device is not one of OpenCL' end
    local shim = host.libdir .. '/no_f64.so'
    local built = process.shell(("cc -shared -fPIC -w -o '%s' '%s/standin/no_f64.c' -ldl"):format(shim, here))
    assert.equal(0, built.status, built.text)
    local set = ("LD_PRELOAD='%s'"):format(shim)
    local r = run(CODE:format 'opencl', set)
    assert.equal(0, r.status, r.text)
    assert.matches('^false.-device "opencl" cannot be used: .- does not compute in f64; use "cpu"', r.text)
    r = run([[local mc = require "mascon" print(mc.choose_device()) print(#mc.devices())]], set)
    assert.matches('^cpu\tthere is no card %(.-does not compute in f64', r.text)
    assert.matches('\n1\n$', r.text)
    r = process.shell(("%s '%s' info"):format(set, program))
    assert.matches('\n +opencl:0: cannot be used: [^;]- does not compute in f64\n', r.text)
    -- the second of two cards does
    r = run([[local mc = require "mascon" print(mc.choose_device()) print(mc.ones({ 1 }, { device = "gpu" }).device)]],
      set .. " env -u MASCON_DEVICE NO_F64=first POCL_DEVICES='pthread basic'")
    assert.matches('^opencl:1\tthe first card, .-\nopencl:1\n$', r.text)
  end)

  it('whose card is lost in the middle of an analysis leaves the host its tensors', function()
    local folder, reason = standin.folder()
    if not folder then return pending(reason) end
    local lost = 0
    for _, n in ipairs { 40, 90, 160 } do
      local r = run([[
local mc = require "mascon"
local x = mc.randn({ 2, 600 }, { seed = 1 })
local ok, why = pcall(mc.pac.compute, x, { fs = 500, pha_n_bands = 2, amp_n_bands = 2, surrogate = "none", n_perm = 0,
  device = "cuda:0" })
local path = os.tmpname()
mc.save(path .. ".npy", x)
print(ok, why, mc.allclose(mc.load(path .. ".npy"), x), (pcall(mc.ones, { 2 }, { device = "cuda:0" })))
os.remove(path .. ".npy") os.remove(path)]], standin.environment { FAIL = ('any:%d:719'):format(n) })
      assert.equal(0, r.status, r.text)
      assert.matches('\ttrue\tfalse\n$', r.text)
      if r.text:find '^false' then
        lost = lost + 1
        assert.matches('a kernel faulted and the card is lost to this process; save what is on the host', r.text)
      end
    end
    assert.equal(3, lost)
  end)

  it('whose card is lost where a library works says so, not the status of the library', function()
    local folder, reason = standin.folder()
    if not folder then return pending(reason) end
    for _, n in ipairs { 1, 2 } do
      local r = run([[
local mc = require "mascon"
local x = mc.randn({ 64, 96 }, { seed = 1, device = "cuda:0" })
print(pcall(function() return mc.fft.rfft(x):to "cpu" end))
print(pcall(function() return mc.matmul(x, x:transpose()):to "cpu" end))]],
        standin.environment { FAIL = ('standin_call:%d:719'):format(n) })
      assert.equal(0, r.status, r.text)
      assert.matches(n == 1 and '^false\t.-fft: cuFFT: a kernel faulted and the card is lost' or '^true', r.text)
      assert.matches('\nfalse\t.-a kernel faulted and the card is lost to this process', r.text)
    end
  end)
end)

describe('auto', function()
  it('takes the CPU where a card has neither a compiler nor programs', function()
    local folder, reason = standin.folder()
    if not folder then return pending(reason) end
    local code = [[
local mc = require "mascon"
print(mc.choose_device())
print(mc.ones({ 2 }, { device = "auto" }).device, (pcall(mc.ones, { 2 }, { device = "gpu" })))]]
    local set = 'env -u MASCON_DEVICE MASCON_NVRTC=off MASCON_PROGRAMS=off MASCON_CACHE=%s ' .. standin.environment()
    local r = run(code, set:format 'off')
    assert.matches('^cpu\tthere is no card %(device "cuda:0" cannot be used: cuda: NVRTC is not there.-; no programs '
      .. 'come with mascon, and none are kept %(MASCON_CACHE turns it off%)%)\ncpu\tfalse\n$', r.text)
    local kept = folder .. '/kept-code' -- code of a machine with a compiler serves one without
    process.shell(("mkdir -p -m 700 '%s' && : > '%s/%s.code'"):format(kept, kept, ('0'):rep(64)))
    r = run(code, set:format("'" .. kept .. "'"))
    assert.matches('^cuda:0\tthe first card', r.text)
    process.shell(("rm -r '%s'"):format(kept))
    r = process.shell(("%s '%s' info"):format(set:format 'off', program))
    assert.matches('cuda:0: stand%-in 0.-no NVRTC.-, 0 programs come with mascon', r.text)
  end)

  it('is one device in calls and in choose_device: what MASCON_DEVICE names, else a card', function()
    local folder, reason = standin.folder()
    if not folder then return pending(reason) end
    local code = [[
local mc = require "mascon"
print(mc.ones({ 2 }, { device = "auto" }).device, mc.choose_device())
print(mc.choose_device "cpu")]]
    local set = standin.environment()
    assert.equal('cuda:0\tcuda:0\tthe first card, stand-in 0\ncpu\tit was named\n',
      run(code, 'MASCON_DEVICE=auto ' .. set).text)
    assert.matches('^cuda:0\tcuda:0\tthe first card', run(code, 'env -u MASCON_DEVICE ' .. set).text)
    assert.matches('^cpu\tcpu\tMASCON_DEVICE names it', run(code, 'MASCON_DEVICE=cpu ' .. set).text)
    assert.matches('^cuda:1\tcuda:1\tMASCON_DEVICE names it',
      run(code, 'MASCON_DEVICE=cuda:1 ' .. standin.environment { DEVICES = 2 }).text)
    local analysis = 'print(require "mascon.core.place".of_analysis())'
    assert.equal('cpu\n', run(analysis, 'env -u MASCON_DEVICE ' .. set).text)
    assert.equal('auto\n', run(analysis, 'MASCON_DEVICE=cuda:0 ' .. set).text)
    local r = process.shell(("MASCON_DEVICE=auto %s '%s' info"):format(set, program))
    assert.matches('auto takes cuda:0: the first card, stand%-in 0\n', r.text)
    r = process.shell(("MASCON_DEVICE=auto %s '%s' scripts/pac.lua --demo --surrogate none --pha-bands 2 --amp-bands 2 "
      .. "--device auto --out '%s/pac-auto' --overwrite --quiet"):format(set, program, folder))
    assert.matches('^device: cuda:0, the first card, stand%-in 0\n', r.text)
    assert.equal(0, r.status, r.text)
  end)
end)
