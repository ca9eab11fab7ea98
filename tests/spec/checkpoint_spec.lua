-- checkpoint_spec.lua - functions run again on the way back: the same derivatives in less memory.
local here = (debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/'
local support, d = dofile(here .. 'init.lua'), dofile(here .. 'derivative.lua')
local mc = require 'mascon'

local function layer(w, h) return { h = mc.tanh(w:matmul(h.h) + mc.sin(h.h)), count = h.count } end
local function net(wrap, layers)
  return function(w)
    local step = wrap(function(h) return layer(w, h) end) -- w is captured
    local h = { h = w * 0.3, count = 1 }
    for _ = 1, layers do h = step(h) end
    return mc.sum(h.h * h.h)
  end
end
local function same(f) return f end

describe('a checkpoint', function()
  local w = mc.randn { 4, 4, seed = 1 } * 0.5

  it('changes no value and no derivative: reverse, forward, second order, compiled, batched, nested', function()
    local plain = net(same, 4)
    for name, f in pairs { checkpoint = net(mc.checkpoint, 4),
      nested = mc.checkpoint(net(function(g) return mc.checkpoint(mc.checkpoint(g)) end, 4)) } do
      d.same(plain(w), f(w), name)
      d.close(mc.grad(plain)(w), mc.grad(f)(w), name .. ': grad', 1e-12)
      d.check(name, f, w)
      local batch = mc.randn { 3, 4, 4, seed = 2 }
      d.close(mc.vmap(mc.grad(plain))(batch), mc.vmap(mc.grad(f))(batch), name .. ': vmap of grad', 1e-12)
      d.close(mc.grad(function(b) return mc.sum(mc.vmap(plain)(b)) end)(batch),
        mc.grad(function(b) return mc.sum(mc.vmap(f)(b)) end)(batch), name .. ': grad of vmap', 1e-12)
    end
    local looped = mc.checkpoint(function(t)
      return mc.sum((mc.scan(function(c) return mc.sin(c) + t, nil end, t, nil, { length = 3 })))
    end)
    d.check('around a scan', looped, mc.tensor { 1, 2 })
    local decides = mc.checkpoint(function(t) return t:sum():item() > 0 and mc.sum(t * t) or mc.sum(-t) end)
    d.close(mc.tensor { 2, 4 }, mc.grad(decides)(mc.tensor { 1, 2 }), 'decides by values')
    assert.truthy(support.message(mc.checkpoint, 3):find('checkpoint: the argument is 3; give a function', 1, true))
  end)

  it('holds operands and results of the layers and the inside of one', function()
    local n, layers, inside = 20000, 12, 8
    local function step(h)
      for _ = 1, inside / 2 do h = mc.tanh(mc.sin(h)) end
      return h
    end
    local function f(wrap)
      local s = wrap(step)
      return function(h)
        for _ = 1, layers do h = s(h) end
        return mc.sum(h)
      end
    end
    --- Whether g runs in the memory of `tensors` more tensors than there are now.
    local function fits(g, tensors)
      local h = mc.ones { n }
      g(h)
      collectgarbage()
      collectgarbage()
      mc.set_memory_limit(math.floor(mc.memory().live + tensors * 8 * n))
      local ok, text = pcall(g, h)
      mc.set_memory_limit(0)
      assert(ok or text:find 'memory', text)
      return ok
    end
    local plain, wrapped = f(same), f(mc.checkpoint)
    assert.is_false(fits(mc.grad(plain), layers * inside), 'a gradient keeps what every op gives')
    assert.is_true(fits(mc.grad(wrapped), 2 * layers + 5 * inside), 'a checkpointed one what every layer gives')
    -- a plan knows the life of every value, and keeps some in groups
    assert.is_false(fits(mc.compile(mc.grad(plain)), layers * inside / 2), 'a plan of it')
    assert.is_true(fits(mc.compile(mc.grad(wrapped)), layers + 3 * inside), 'a plan of it too')
  end)
end)
