-- profile_spec.lua - `mascon profile` and `mascon bench`: tables, traces, options; what is said of devices by
-- mascon info, mc.devices, mc.memory and MASCON_SYNC.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local process, standin, device = support.load 'process', support.load 'standin', support.load 'device'
local host = require 'mascon.host'

local exe = host.program or arg[-1]

--- A script in a file of its own while f runs: f(path).
local function with_script(text, f)
  local path = os.tmpname()
  local file = assert(io.open(path, 'w'))
  file:write(text)
  file:close()
  local ok, e = pcall(f, path)
  os.remove(path)
  if not ok then error(e, 0) end
end

local function run(words, env)
  return process.shell(("%s timeout 100 '%s' %s"):format(env or '', exe, words))
end

local SCRIPT = [[
local mc = require 'mascon'
local x = mc.randn({ 300, 200 }, { seed = 1 })
local y = x:matmul(x.T)
for i = 1, 4 do
  y = mc.exp(y * 1e-3)
end
local f = mc.compile(function(a) return (mc.tanh(a) * 2):sum(1) end)
for i = 1, 3 do f(y) end
print(arg[1], y:sum():item() > 0)
]]

describe('mascon profile', function()
  it('tells lines, operations with shapes, and steps of compiled functions', function()
    with_script(SCRIPT, function(path)
      local r = run(("profile '%s' word"):format(path))
      assert.equal(0, r.status, r.text)
      assert.matches('^word\ttrue\n', r.text)
      assert.matches('limits of cpu: [%d.]+ GB/s %(copy%), [%d.]+ GFLOP/s', r.text)
      local line = r.text:match '\n([^\n]*:5  y = mc%.exp[^\n]*)'
      assert.is_truthy(line, r.text)
      local calls = line:match '^%s+[%d.]+%s+[%d.]+%%%s+(%d+)'
      assert.equal('8', calls) -- four products with a number, four exp
      assert.matches('%d%%%s+[%d.]+ %a+%s+cpu%s+matmul f64%[300,200%] f64%[200,300%] %-> f64%[300,300%]', r.text)
      assert.matches('\n%s+[%d.]+%s+[%d.]+%%%s+4%s[^\n]*exp f64%[300,300%] %-> f64%[300,300%]', r.text)
      assert.matches('steps of compiled functions', r.text)
      assert.matches('sum of tanh multiply f64%[300%]@cpu', r.text)
    end)
  end)

  it('sorts, picks a table and a number of rows, and refuses what it does not know', function()
    with_script(SCRIPT, function(path)
      local r = run(("profile --by op --sort calls --top 2 '%s'"):format(path))
      assert.equal(0, r.status, r.text)
      assert.not_matches('by line', r.text)
      local first, second = r.text:match 'what\n%s+%S+%s+%S+%s+(%d+)[^\n]*\n%s+%S+%s+%S+%s+(%d+)'
      assert.is_true(tonumber(first) >= tonumber(second), r.text)
      assert.matches('more rows; %-%-top %d+ shows them', r.text)
      r = run(("profile --sort=name --by=op '%s'"):format(path))
      local names = {}
      for name in r.text:gmatch 'cpu%s+([%a_ ]-) [%a%-]' do names[#names + 1] = name end
      for i = 2, #names do assert.is_true(names[i - 1] <= names[i], table.concat(names, ' ')) end
      assert.is_true(#names > 3)
      for _, words in ipairs { '--sort speed', '--top 0', '--by file', '--unknown 1', '' } do
        r = run(('profile %s %s'):format(words, words ~= '' and "'" .. path .. "'" or ''))
        assert.equal(2, r.status)
        assert.matches('^mascon profile: ', r.text)
      end
    end)
  end)

  it('gives the status of a script that fails, and what it did until then', function()
    with_script("local mc = require 'mascon'\nmc.ones({ 3 }):exp()\nerror 'stop here'\n", function(path)
      local r = run(("profile '%s'"):format(path))
      assert.equal(1, r.status)
      assert.matches('stop here', r.text)
      assert.matches('exp f64%[3%]', r.text)
    end)
    with_script('print(1)', function(path)
      local r = run(("profile '%s'"):format(path))
      assert.equal(0, r.status)
      assert.matches('called nothing of the library', r.text)
    end)
  end)

  it('writes a trace with tracks for the device and for copies', function()
    local folder, why = standin.folder()
    if not folder then return pending(why) end
    local trace = os.tmpname()
    with_script([[
local mc = require 'mascon'
local x = mc.arange(1, 1000):to 'cuda:0'
local f = mc.compile(function(a) return mc.exp(a * -0.5) + 1 end)
for i = 1, 3 do f(x) end
local own = mc.kernel { name = 'twice', inputs = { 'x f64' }, outputs = { 'y f64' }, values = { 'n i64' },
  launch = 'if (GLOBAL_LANE < n) y[GLOBAL_LANE] = 2 * x[GLOBAL_LANE];', lanes = 128 }
own(x, 1000)
print((x * 2):sum():item())
mc.ones({ 40000 }, { device = 'cuda:0' }):sum()
]], function(path)
      local r = run(("profile --trace '%s' '%s'"):format(trace, path), standin.environment())
      assert.equal(0, r.status, r.text)
      assert.matches('^1001000\n', r.text)
      assert.matches('limits of cuda:0: ', r.text)
      -- one launch for each call; what is recorded is not computed
      assert.is_nil(r.text:find('exp f64[1000]', 1, true))
      assert.matches('%s3%s[^\n]*cuda:0%s+multiply exp add f64%[1000%]@cuda:0, 4 x 256 lanes', r.text)
      assert.matches('%s3%s[^\n]*cuda:0%s+compiled function f64%[1000%] %-> f64%[1000%]', r.text)
      -- one of several launches has no rate of its own
      assert.matches('%s%-%s+%-%s[^\n]*cuda:0%s+sum f64%[%]@cuda:0, 3 x 256 lanes', r.text)
      assert.matches('live%s+cuda:0%s+live there  line\n', r.text)
      -- 8000 bytes in a block of 8 KiB; 320000 in one of 320 KiB
      assert.matches('%s8%.0 KiB%s+8%.0 KiB  [^\n]*:2  local x', r.text)
      assert.matches('%s320%.%d KiB%s+%S+ KiB  [^\n]*:9  mc%.ones', r.text)
      assert.matches('%s1%s[^\n]*cuda:0%s+twice f64%[1000%]@cuda:0, 8 x 128 lanes', r.text)
      local f = assert(io.open(trace))
      local events = require 'mascon.base.json'.decode(f:read '*a').traceEvents
      f:close()
      local tracks, seen, ended = {}, {}, {}
      for _, e in ipairs(events) do
        if e.ph == 'M' then tracks[e.tid] = e.args.name end
        if e.ph == 'X' then
          seen[tracks[e.tid]] = (seen[tracks[e.tid]] or 0) + 1
          assert.is_true(e.ts >= 0 and e.dur >= 0)
          assert.is_true(#e.name > 0)
          ended[e.tid] = math.max(ended[e.tid] or 0, e.ts + e.dur)
        end
      end
      assert.is_true(seen.calls >= 6 and seen.device >= 4 and seen.copies >= 2)
    end)
    os.remove(trace)
  end)
end)

describe('mascon bench', function()
  it('measures a workflow and names the device that auto takes', function()
    local r = run 'bench autoreject --seconds 0.001 --device cpu'
    assert.equal(0, r.status, r.text)
    assert.matches('\nfit%s+[%d.]+ %a+%s+[%d.]+ epochs/s', r.text)
    assert.matches('\nauto takes %S+: %S+', r.text)
  end)
  it('says what it cannot measure', function()
    local r = run 'bench nothing'
    assert.equal(2, r.status)
    assert.matches('nothing to measure in nothing; there are ops, autoreject, pac', r.text)
    r = run 'bench --device cuda:77'
    assert.equal(2, r.status)
    assert.matches('^mascon bench: %-%-device: device "cuda:77" is not there', r.text)
    r = run 'bench --often 3'
    assert.equal(2, r.status)
  end)
  it('leaves out what would begin after its limit', function()
    local r = run 'bench autoreject --device cpu --limit 1e-9'
    assert.equal(0, r.status, r.text)
    assert.matches('\nfit%s+left out: 1e%-09 seconds are over\nrepair%s+left out', r.text)
    assert.equal(2, run 'bench --limit 0'.status)
  end)
end)

describe('of devices', function()
  it('mascon info tells name, memory, versions and what multiplies', function()
    local folder, why = standin.folder()
    if not folder then return pending(why) end
    local r = run('info', standin.environment { NVRTC = '12.9' })
    assert.equal(0, r.status, r.text)
    assert.matches('cuda:0: stand%-in 0, 4 GiB, capability 9%.0, driver for CUDA 13%.0 %(12%.0 or newer%), '
      .. 'NVRTC 12%.9, matmul by cuBLASLt 13%.1, fft by cuFFT 12%.0', r.text)
    r = run('info', standin.environment { NVRTC = 'none', BLAS = 'none' })
    assert.matches('no NVRTC %(programs of the cache and those that come with mascon%), matmul by its own kernel '
      .. '%(cuBLASLt does not start%)', r.text)
  end)

  it('mc.memory counts bytes of each by itself', function()
    local name, why = device.name()
    if not name then return pending(why) end
    collectgarbage()
    collectgarbage()
    local before, host_before = mc.memory { device = name }.live, mc.memory().live
    local x = mc.zeros({ 2 ^ 20 }, { device = name })
    local now = mc.memory { device = name }
    assert.equal(before + 2 ^ 23, now.live)
    assert.is_true(now.peak >= now.live)
    assert.is_true(mc.memory().live - host_before < 2 ^ 20)
    x:release()
    assert.equal(before, mc.memory { device = name }.live)
  end)

  it('MASCON_SYNC=1 pins the line that fails', function()
    local folder, why = standin.folder()
    if not folder then return pending(why) end
    with_script([[
local mc = require 'mascon'
local x = mc.tensor({ 1, 2, 0, 4 }, { dtype = 'i32' }):to 'cuda:0'
local y = mc.floor_divide(8, x)
local z = x + 1
print(y:totable()[1])
]], function(path)
      local r = run("'" .. path .. "'", standin.environment())
      assert.matches(':5: floor_divide: integer division by zero at flat position 3', r.text)
      r = run("'" .. path .. "'", 'MASCON_SYNC=1 ' .. standin.environment())
      assert.matches(':3: floor_divide: integer division by zero at flat position 3', r.text)
    end)
  end)
end)
