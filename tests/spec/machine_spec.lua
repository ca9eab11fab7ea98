-- machine_spec.lua - threads and memory that the machine, the batch system and the environment give, and variables that
-- mean nothing.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local process = support.load 'process'
local exe = require 'mascon.host'.exe

local SAY = [[local i = require('mascon').info()
  print(i.threads, i.threads_source)
  print(i.memory.limit, i.memory.limit_source)]]
local function said(variables)
  local r = process.mascon(SAY, variables)
  assert.equal(0, r.status, r.text)
  local threads, from, limit, by = r.text:match '^(%d+)\t([^\n]+)\n(%S+)\t([^\n]+)\n$'
  return tonumber(threads), from, tonumber(limit), by
end

describe('threads', function()
  it('follow the variables, then Slurm, and say so', function()
    local n, from = said { MASCON_NUM_THREADS = '3', OMP_NUM_THREADS = '2' }
    assert.same({ 3, 'MASCON_NUM_THREADS' }, { n, from })
    n, from = said { OMP_NUM_THREADS = '2,4' }
    assert.same({ 2, 'OMP_NUM_THREADS' }, { n, from })
    n, from = said { SLURM_CPUS_PER_TASK = '1' }
    assert.equal(1, n)
    if from ~= 'processors of the process' and from ~= 'cgroup' then assert.equal('SLURM_CPUS_PER_TASK', from) end
    assert.truthy((said { SLURM_CPUS_PER_TASK = '100000' }) <= 1024)
  end)

  it('that the system refuses are done without', function()
    local script = "local mc = require 'mascon'; local y = mc.exp(mc.ones { 4096, 512 }); "
      .. 'for _ = 1, 3 do y = mc.exp(y * 0.1) end; print(mc.sum(y):item() > 0)'
    for _, room in ipairs { 250000, 400000, 2000000 } do
      local r =
        process.shell(('ulimit -v %d; MASCON_NUM_THREADS=64 timeout -s KILL 20 %s -e %q'):format(room, exe, script))
      -- with less room than the tensors need that is the error, not a thread that cannot be started
      assert.truthy(r.status == 0 or (r.status == 1 and r.text:find('memory:', 1, true)),
        room .. ': ' .. r.status .. r.text)
      if room == 2000000 then assert.equal(0, r.status, r.text) end
    end
  end)
end)

describe('the limit of memory', function()
  it('follows the variable, then Slurm, and says so', function()
    local _, _, limit, by = said { MASCON_MEMORY_LIMIT = '512M', SLURM_MEM_PER_NODE = '64' }
    assert.same({ 512 * 2 ^ 20, 'MASCON_MEMORY_LIMIT' }, { limit, by })
    _, _, limit, by = said { SLURM_MEM_PER_NODE = '128' }
    assert.same({ 'SLURM_MEM_PER_NODE', true }, { by, math.abs(limit / 2 ^ 20 - 115.2) < 0.01 })
    _, _, limit, by = said { SLURM_MEM_PER_CPU = '64', SLURM_CPUS_ON_NODE = '2' }
    assert.same({ 'SLURM_MEM_PER_CPU', true }, { by, math.abs(limit / 2 ^ 20 - 115.2) < 0.01 })
  end)
end)

describe('a variable of the environment', function()
  for name, words in pairs {
    ["MASCON_THREADS=1"] = 'means nothing here', ["MASCON_NUM_THREAD=1"] = 'MASCON_NUM_THREADS',
    ["MASCON_NUM_THREADS=many"] = 'whole number', ["MASCON_ISA=avx2"] = 'v2, v3, v4',
    ["MASCON_MEMORY_LIMIT=lots"] = 'a size such as', ["MASCON_JIT=no"] = 'on, off',
    ["MASCON_PROGRESS=zz"] = '0, 1', ["MASCON_LOG=zz"] = 'compile or all', ["MASCON_COMPILE=zz"] = 'native, vm, eager',
    ["MASCON_CACHE=/dev/null"] = 'it is no folder', ["MASCON_CACHE=/proc/x"] = 'it is no folder',
    ["MASCON_CACHE=README.md"] = 'it is no folder', ["MASCON_CC=/nope"] = '/nope is not found',
    ["MASCON_CC='ccache no-such-cc -O2'"] = 'is not found', ["MASCON_CC=/dev/null"] = '/dev/null is not found',
    ["MASCON_CC=/usr"] = '/usr is not found',
    ["MASCON_DEVICE=CUDA:0"] = 'choose auto, cpu', ["MASCON_TRACEBACK=zz"] = 'full',
  } do
    it('that is unknown or cannot be used is an error: ' .. name, function()
      local r = process.shell(name .. ' ' .. exe .. " -e 'print(1)'")
      assert.equal(2, r.status, r.text)
      assert.truthy(r.text:find(words, 1, true) and r.text:find(name:match '[^=]+', 1, true), r.text)
    end)
  end
end)

describe('MASCON_DEVICE', function()
  it('that is not there is said when the library is loaded', function()
    local r = process.shell('MASCON_DEVICE=opencl:99 ' .. exe .. ' -e "require [[mascon]]; print(1)"')
    assert.equal(1, r.status, r.text)
    assert.matches('^mascon: MASCON_DEVICE: device "opencl:99" is not there[^\n]*\n$', r.text)
    r = process.shell('MASCON_DEVICE=opencl:99 ' .. exe .. ' -e "print(pcall(require, [[mascon]]))"')
    assert.matches('^false\tMASCON_DEVICE: device "opencl:99"', r.text)
  end)

  it('that is not there or unknown is a line of mascon info, among the devices that are', function()
    for _, name in ipairs { 'opencl:99', 'zz' } do
      local r = process.shell(('MASCON_DEVICE=%s %s info'):format(name, exe))
      assert.equal(1, r.status, r.text)
      assert.matches('\ndevices +cpu: ', r.text)
      assert.matches('\n +auto takes none: with MASCON_DEVICE=' .. name .. ' device "' .. name .. '" is', r.text)
      assert.matches('\nmemory limit ', r.text)
    end
  end)
end)

describe('mascon VERB --help', function()
  for _, verb in ipairs { 'info', 'plan', 'rerun', 'why', 'cache', 'bench', 'profile' } do
    it('is there: ' .. verb, function()
      local r = process.run({}, verb, '--help')
      assert.equal(0, r.status, r.text)
      assert.truthy(r.text:find('mascon ' .. verb, 1, true), r.text)
    end)
  end
end)

describe('without zlib', function()
  it('archives are stored and read back, packed ones say what is missing', function()
    local host, at = require 'mascon.host', process.folder()
    process.shell(("cd %s && cp %s . && cp %s/libmascon.so . && mkdir plugins && cp %s/*.so plugins/ && rm -f "
      .. "plugins/mc_zlib.so && cp -R %s lua && cp -R %s/. lua/"):format(at, host.exe, host.libdir,
        host.plugindir, host.luadir, host.generated))
    -- a relocatable folder finds its libraries beside the program
    process.shell(('[ ! -e %s/lib ] || ln -s %s/lib %s/lib'):format(host.libdir, host.libdir, at))
    local r = process.shell(('cd %s && ./mascon -e %q 2>&1'):format(at, [[
      local mc = require 'mascon'
      assert(mc.info().libraries.zlib:find 'missing')
      mc.save('a.npz', { x = mc.arange(5), y = mc.ones { 2, 2 } })
      print(mc.sum(mc.load 'a.npz'.x):item(), pcall(mc.save, 'b.npz', { x = mc.arange(5) }, { level = 5 }))]]))
    process.remove(at)
    assert.equal(0, r.status, r.text)
    assert.truthy(r.text:find('^15\tfalse') and r.text:find 'zlib', r.text)
  end)
end)
