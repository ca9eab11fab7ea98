-- device_queue_spec.lua - how far the host runs ahead of a device: loops that read nothing, operation by operation, in
-- compiled functions and in graphs, keep a bounded number of launches outstanding, so that Ctrl-C and the end of the
-- process wait for little.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local process, standin, device = support.load 'process', support.load 'standin', support.load 'device'
local C = require 'mascon.core.ffi'.C
local host = require 'mascon.host'

local MOST = 2 * 128 -- two batches (runtime/device/mc_queue.h)

--- The most launches that were outstanding on the device while f(x) ran n times, each on what the last one gave.
local function most_of(d, n, x, f)
  local number, most = C.mc_device_find(d), 0
  for _ = 1, n do
    x = f(x)
    most = math.max(most, tonumber(C.mc_device_queued(number)))
  end
  x:sum():item()
  assert.equal(0, tonumber(C.mc_device_queued(number)))
  return most
end

describe('the queue of a device', function()
  device.tests(it, pending)('holds at most two batches of launches in a loop that reads nothing', function(d)
    local x = mc.ones({ 10 }, { device = d })
    local most = most_of(d, 1500, x, function(a) return a * 0.5 + 1 end)
    assert.is_true(most <= MOST, most) -- a quick device leaves none waiting
    local f = mc.compile(function(a) return mc.cumsum(mc.cumsum(a, 1) * 0.1, 1) end)
    most = most_of(d, 700, x, f)
    assert.is_true(most <= MOST, most) -- a quick device leaves none waiting
  end)

  device.tests(it, pending)('is empty after mc.synchronize, which raises what a launch refused', function(d)
    local x, number = mc.ones({ 10 }, { device = d }), C.mc_device_find(d)
    for _, name in ipairs { d, 'every device' } do
      for _ = 1, 9 do x = x * 0.5 + 1 end
      mc.synchronize(name == d and d or nil)
      assert.equal(0, tonumber(C.mc_device_queued(number)), name)
      local y = mc.floor_divide(x:to 'i64', 0)
      assert.matches('division by zero at flat position 1', support.message(function() mc.synchronize() end))
      y:release()
    end
    mc.synchronize 'cpu'
    assert.matches('^.-synchronize: device "xpu" is unknown', support.message(mc.synchronize, 'xpu'))
  end)

  device.tests(it, pending)('holds few launches with large operands', function(d)
    local most = most_of(d, 12, mc.ones({ 2 ^ 23 }, { device = d }), function(a) return a * 0.5 end)
    assert.is_true(most <= 5, most) -- 128 MiB each, batches of 256
  end)
end)

local try = standin.tests(it, pending)

--- What a script prints on the stand-in, and the most pieces of work that waited in a stream.
local function waited(text)
  local r = process.shell(("%s timeout 100 '%s' -e '%s'"):format(standin.environment { TRACE = 1 },
    host.program or arg[-1], 'local mc = require "mascon"\n' .. text))
  assert.equal(0, r.status, r.text)
  local most = r.text:match 'standin: (%d+) waited\n'
  return r.text:gsub('standin: [^\n]*\n', ''), tonumber(most)
end

describe('a card that begins its work as late as it can', function()
  try('is given no more than two batches', function()
    local said, most = waited [[
local x = mc.ones({ 100 }, { device = "cuda:0" })
for _ = 1, 1500 do x = x * 1.5 - 0.5 end
print(x:sum():item())]]
    assert.equal('100\n', said)
    assert.is_true(most > 16 and most <= MOST + 8, most) -- uploads and events beside launches
  end)

  try('counts the launches of a graph', function()
    local said, most = waited [[
local f = mc.compile(function(x) for _ = 1, 6 do x = mc.cumsum(x, 1) * 0.5 end return x end)
local x = mc.ones({ 4 }, { device = "cuda:0" })
for _ = 1, 300 do x = f(x) end
print(mc.isfinite(x):all())]]
    assert.equal('true\n', said)
    assert.is_true(most > 2 and most <= MOST / 4, most) -- a graph is one piece, here of 6 launches or more
  end)
end)
