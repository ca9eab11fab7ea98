-- refuse_spec.lua - threads and memory that the system refuses, one call or all from one on: the right result or an
-- error in words.
--
-- A small library loaded before the others refuses them (tests/support/refuse.c); it is built here, which takes a C
-- compiler.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local process = support.load 'process'
local exe = require 'mascon.host'.exe

local at = process.folder()
teardown(function() process.remove(at) end)
local library = at .. '/refuse.so'
local build = 'cc -shared -fPIC -O1 -o %s %s/support/refuse.c -ldl'
local has_compiler = process.shell(build:format(library, support.folder)).status == 0

process.write(at .. '/work.lua', ([[
  local mc = require 'mascon'
  local x = mc.randn { 300, 300, seed = 1 }
  local y, z = x:matmul(x), mc.linalg.solve(x, x)
  local w = mc.abs(mc.fft.rfft(mc.randn { 64, 4096, seed = 3 }))
  mc.save('AT/z.npz', { y = y }, { level = 1 })
  local sorted = mc.sort(mc.randn { 200, 1000, seed = 4 })
  for _, v in ipairs { y, z, w, sorted[7], mc.load 'AT/z.npz'.y } do
    print(('%.10g'):format(mc.sum(v):item()))
  end]]):gsub('AT', at))

local function run(what, threads)
  local line = 'MASCON_NUM_THREADS=%d timeout -s KILL 30 env MASCON_TEST_REFUSE=%s LD_PRELOAD=%s %s %s/work.lua'
  return process.shell(line:format(threads, what, library, exe, at))
end

local want
before_each(function()
  if not has_compiler then pending 'there is no C compiler' end
  want = want or process.shell(('MASCON_NUM_THREADS=1 %s %s/work.lua'):format(exe, at)).text
end)

describe('threads that are refused', function()
  it('are done without, whatever number there may be', function()
    for _, most in ipairs { 0, 1, 2, 3, 5, 7 } do
      local r = run('threads:' .. most, 6)
      assert.equal(0, r.status, most .. ': ' .. r.text)
      assert.equal(want, r.text)
    end
  end)
end)

describe('memory that is refused', function()
  local function sound(r, what)
    local said = ('%s: status %d: %s'):format(what, r.status, r.text)
    if r.status == 0 then return assert.equal(want, r.text, said) end
    assert.equal(1, r.status, said) -- no signal, no abort
    assert.truthy(r.text:find ': ', said)
  end

  local calls
  local function count()
    calls = calls or tonumber(run('memory:0', 2).text:match 'calls:(%d+)')
    return calls
  end

  for name, onwards in pairs { ['once'] = '', ['for good'] = '+' } do
    it(name .. ' ends nothing but the work', function()
      local n = count()
      -- places by the golden section, then the last calls, where all libraries are open
      for k = 1, 16 do
        local place = 1 + math.floor(n * (k * 0.6180339887498949 % 1))
        local r = run(('memory:%d%s'):format(place, onwards), 2)
        -- the constructors of libgfortran (of OpenBLAS) make some ten calls and do not look at what they get
        if r.status > 1 then r = run(('memory:%d%s'):format(place + 40, onwards), 2) end
        sound(r, ('call %d of %d%s'):format(place, n, onwards))
      end
    end)
  end
end)
