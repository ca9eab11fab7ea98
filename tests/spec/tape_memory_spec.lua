-- tape_memory_spec.lua - what a gradient of many steps leaves behind: nothing, though machine code keeps tables.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local process = support.load 'process'

local CODE = [[
  local mc = require 'mascon'
  local function f(x) for _ = 1, 3000 do x = mc.sin(x) * 1.0001 end return mc.sum(x) end
  local function once() %s end
  local function held()
    collectgarbage()
    collectgarbage()
    return collectgarbage 'count' / 1024, mc.memory().tensors / 2 ^ 20
  end
  local heap, tensors = held()
  for _ = 1, 3 do
    once()
    local now, live = held()
    local said = ('%%.1f MiB of heap, %%.1f of tensors'):format(now - heap, live - tensors)
    assert(now - heap < 6 and live - tensors < 1, said)
  end
  print 'nothing']]

describe('a gradient of 6000 steps', function()
  for name, code in pairs {
    ['mc.grad'] = 'mc.grad(f)(mc.ones { 100 })',
    ['backward'] = 'local x = mc.ones { 100 }:requires_grad(); f(x):backward()',
  } do
    it('leaves nothing behind: ' .. name, function()
      local r = process.mascon(CODE:format(code))
      assert.equal('nothing\n', r.text)
    end)
  end
end)
