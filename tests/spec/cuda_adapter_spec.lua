-- cuda_adapter_spec.lua - the binding of CUDA over a stand-in for driver and NVRTC: kernels with lanes in any order,
-- work done late, failing calls, full memory, a lost card; and the texts of device programs through the real NVRTC.
--
-- What no stand-in shows: the bits and times of a card.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local process, standin, nvrtc = support.load 'process', support.load 'standin', support.load 'nvrtc'
local host = require 'mascon.host'

local folder, why = standin.folder()
local function try(what, f)
  it(what, function()
    if not folder then return pending(why) end
    f()
  end)
end

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

  try('has as many cards as the driver', function()
    local r = run([[
local mc = require "mascon"
local a, b = mc.ones({ 3 }, { device = "cuda:0" }), mc.ones({ 3 }, { device = "cuda:1" })
print((a + 1):sum():item(), (b + 2):sum():item(), pcall(function() return a + b end))
print(pcall(mc.ones, { 3 }, { device = "cuda:2" }))]], { DEVICES = 2 })
    assert.equal(0, r.status, r.text)
    assert.is_truthy(r.text:find '^6\t9\tfalse', r.text)
    assert.is_truthy(r.text:find 'there are 2', r.text)
  end)
end)

describe('the stand-in', function()
  -- a kernel of one group of 64 lanes; what it writes, or the text of the failure
  local function kernel(body, order)
    local r = process.shell(("%s timeout 60 '%s' '%s' %s %s"):format(standin.environment { ORDER = order }, host.program
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
end)

describe('texts of device programs', function()
  local texts, reason = nvrtc.open()
  it('compile for a card', function()
    if not texts then return pending(reason) end
    local list = nvrtc.sample(4)
    for i, source in ipairs(list) do
      local log = nvrtc.compile(nvrtc.text(source), i % 2 == 0 and 'sm_90' or 'sm_75')
      assert.is_nil(log, (log or '') .. '\n' .. source)
    end
  end)
  it('that are wrong do not', function()
    if not texts then return pending(reason) end
    assert.is_truthy(nvrtc.compile('extern "C" __global__ void f(int *x) { x[0] = nothing; }', 'sm_90'):find 'nothing')
  end)
end)
