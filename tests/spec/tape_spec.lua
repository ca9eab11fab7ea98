-- tape_spec.lua - requires_grad, backward, x.grad, hooks, detach, no_grad: what PyTorch does, and what it refuses.
local here = (debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/'
local support, d = dofile(here .. 'init.lua'), dofile(here .. 'derivative.lua')
local mc = require 'mascon'
local recording = require 'mascon.graph.recording'

local golden
do
  local f = assert(io.open(support.folder .. '/golden/tape.json'))
  golden = mc.json.decode(f:read '*a')
  f:close()
end

local function leaf(values) return mc.tensor(values):requires_grad() end
local function leaves()
  return leaf { { 0.5, -1, 2 }, { 1.5, 0.25, -0.75 } }, leaf { { 1, 2 }, { -0.5, 0.3 }, { 0.7, -1.2 } }
end
local function loss(a, b)
  local h = mc.tanh(a:matmul(b))
  return mc.sum(h * mc.exp(h)) + mc.max(mc.abs(a))
end
local function agrees(name, ...)
  for k, t in ipairs { ... } do
    local want = golden[name][k]
    d.close(type(want) == 'number' and mc.tensor(want) or mc.tensor(want), t, name .. ' ' .. k, 1e-10)
  end
end

describe('the tape', function()
  -- a leaf is a weak key and has a finalizer: it goes a cycle after its last use, its gradient the next, its entries
  -- with the one after
  after_each(function() for _ = 1, 4 do collectgarbage() end end)

  it('leaves in leaves what PyTorch leaves: one pass, several, kept graphs', function()
    local a, b = leaves()
    loss(a, b):backward()
    agrees('once', a.grad, b.grad)
    loss(a, b):backward();
    (a * 2):backward(mc.tensor { { 1, 2, 3 }, { 4, 5, 6 } })
    agrees('accumulated', a.grad, b.grad)
    a, b = leaves()
    local y = loss(a, b)
    y:backward { retain_graph = true }
    y:backward()
    agrees('retained', a.grad, b.grad)
  end)

  it('calls hooks, keeps gradients of inner values when told', function()
    local a, b = leaves()
    local h = a:matmul(b)
    h:retain_grad()
    h:register_hook(function(g) return g * 3 end)
    local remove = a:register_hook(function(g) return mc.clip(g, -1, 1) end)
    mc.sum(h * h):backward()
    agrees('hooks', a.grad, b.grad, h.grad)
    remove()
    a:zero_grad()
    mc.sum(a * 100):backward()
    d.same(mc.full({ 2, 3 }, 100), a.grad, 'removed hook')
  end)

  it('cuts at detach and no_grad, and goes to second order', function()
    local a, b = leaves()
    local c = mc.no_grad(function() return mc.sum(a) end)
    assert.is_false(c.needs_grad)
    mc.sum(c * mc.sum(a:detach():matmul(b)) * mc.sum(a)):backward()
    agrees('cut', a.grad, b.grad)
    assert.is_true(a:detach():shares_memory(a:detach()) or mc.array_equal(a:detach(), a))
    a, b = leaves()
    loss(a, b):backward { create_graph = true }
    local g = mc.sum(a.grad * a.grad)
    a.grad, b.grad = nil, nil
    g:backward()
    agrees('second', a.grad, b.grad)
  end)

  it('follows views and writes into values, and trains', function()
    local a, b = leaves()
    local h = a * 1
    h[1] = h[2] * 2
    h[':, 2'] = h[':, 2'] + b[':, 1']['1:2']
    h:mul_(a)
    mc.sum(h * h):backward()
    agrees('written', a.grad, b.grad)
    local y
    a, b = leaves()
    for _ = 1, 10 do
      y = mc.sum((a:matmul(b) - mc.eye(2)) ^ 2)
      y:backward()
      mc.no_grad(function()
        a:sub_(a.grad * 0.05)
        b:sub_(b.grad * 0.05)
      end)
      a.grad, b.grad = nil, nil
    end
    agrees('descent', a:detach(), b:detach(), y:detach())
  end)

  it('computes again what was written over, where PyTorch gives up', function()
    local x = leaf { 1, 2, 3 }
    local z = mc.exp(x)
    local s = mc.sum(z * z)
    z:add_(1)
    s:backward()
    d.close(2 * mc.exp(2 * x:detach()), x.grad, 'grad')
  end)

  it('follows a buffer that was a constant before traced values were written to it', function()
    local x, c = mc.ones({ 100 }):requires_grad(), mc.zeros { 100 }
    c:add_(2)
    local s = mc.sum(x * c)
    c:copy_(x * 3)
    for _ = 1, 300 do mc.sum(x) end -- sweeps may not take the graph of c
    for _ = 1, 4 do collectgarbage() end
    mc.sum(c):backward()
    assert.equal(3, x.grad[1]:item())
    x.grad = nil
    s:backward()
    assert.equal(2, x.grad[1]:item())
  end)

  it('goes with grad, compile, scan, cond, checkpoint and random numbers', function()
    local w = leaf { 2, 3 }
    mc.sum(mc.grad(function(x) return mc.sum(x * x * w) end)(mc.tensor { 1, 1 })):backward()
    d.close(mc.tensor { 2, 2 }, w.grad, 'through grad')
    w.grad = nil
    local c = mc.compile(function(x) return mc.sum(x * w) end)
    for _ = 1, 2 do c(mc.tensor { 1, 2 }):backward() end
    d.close(mc.tensor { 2, 4 }, w.grad, 'through compile')
    w.grad = nil
    mc.sum((mc.scan(function(s, x) return s * w + x, nil end, mc.ones { 2 }, mc.ones { 3, 2 }))):backward()
    d.close(mc.tensor { 17, 34 }, w.grad, 'through scan')
    w.grad = nil
    mc.sum(mc.checkpoint(function(x) return mc.sin(x * w) end)(mc.ones { 2 })):backward()
    d.close(mc.cos(w:detach()), w.grad, 'through a checkpoint')
    w.grad = nil
    mc.cond(mc.gt(mc.sum(w), 0), function() return mc.sum(w * 5) end, function() return mc.sum(w) end):backward()
    d.close(mc.tensor { 5, 5 }, w.grad, 'through cond')
    assert.is_false(mc.randn { 3, seed = 1 }.needs_grad)
    d.close(mc.tensor { 4, 6 }, mc.no_grad(function() return mc.grad(function(x) return mc.sum(x * x) end)(w) end),
      'grad of a leaf without recording')
  end)

  it('says what is wrong', function()
    local x = leaf { 1, 2, 3 }
    local y = x * x
    local function says(text, f, ...)
      local got = support.message(f, ...)
      assert(got:find(text, 1, true), got)
    end
    says('backward: f64[3]@cpu has several elements; reduce it (mc.sum, mc.mean) or give the cotangent', y.backward, y)
    says('backward: the cotangent is f64[2]@cpu for a result f64[3]@cpu', y.backward, y, mc.ones { 2 })
    local s = mc.sum(y)
    s:backward()
    says('backward: the graph of this value was dropped by an earlier backward(); call that one with { retain_graph '
      .. '= true }', s.backward, s)
    says('requires a gradient and is written in place; do it within mc.no_grad', x.add_, x, 1)
    says('requires a gradient and is written in place; do it within mc.no_grad', function() x[1] = 5 end)
    local z = mc.exp(x)
    local t = mc.sum(z * z)
    mc.no_grad(function() z:add_(1) end)
    says('backward: a tensor f64[3] was written in place after it was used', t.backward, t)
    local k = mc.ones { 300 }
    local u = mc.sum(x) * mc.sum(k * mc.sum(x))
    k:add_(1)
    says('backward: a tensor f64[300] was written in place after it was used', u.backward, u)
    local r = mc.sum(x) * k
    mc.no_grad(function() k:add_(1) end)
    local w = mc.sum(r * k) -- read before the write and after it
    says('backward: a tensor f64[300] was written in place after it was used', w.backward, w)
    local h = x * x
    local first, second = mc.sum(h), mc.sum(h * h)
    first:backward()
    says('backward: the graph of this value was dropped by an earlier backward()', second.backward, second)
    local other = mc.sum(mc.ones { 2 })
    says('backward: f64[]@cpu does not depend on a tensor that requires a gradient', other.backward, other)
    says('requires_grad: operand is i64[1]@cpu', x.requires_grad, mc.tensor({ 1 }, { dtype = 'i64' }))
    says('requires_grad: operand is a view of another layout', x.requires_grad, mc.zeros({ 2, 3 }).T)
    says('is computed from a tensor that requires a gradient', y.requires_grad, y, false)
    says('grad: f64[2]@cpu cannot be the gradient of f64[3]@cpu', function() x.grad = mc.ones { 2 } end)
    says('grad: f64[2]@cpu requires no gradient', function() mc.ones({ 2 }).grad = mc.ones { 2 } end)
    says('requires_grad: a function is being recorded', function()
      x:requires_grad(false)
      mc.grad(function(v) return mc.sum(v * mc.ones({ 1 }):requires_grad()) end)(mc.ones { 1 })
    end)
    local p = leaf { 1 }
    says('backward: a function is being recorded', function() mc.grad(function(v)
      mc.sum(v * p):backward()
      return mc.sum(v)
    end)(mc.ones { 1 }) end)
    assert.is_nil(mc.ones({ 2 }).grad)
    assert.is_false(p:requires_grad(false).needs_grad)
  end)

  it('is tidied by the collector without harm while a function is being recorded', function()
    local function collected(v)
      collectgarbage()
      return mc.sum(v * v)
    end
    local x = mc.tensor { 0.5, 2 }
    do
      local w = leaf { 1, 2 }
      local kept = mc.checkpoint(mc.sin)(w)
      local hooked = w * 2
      hooked:register_hook(function(g) return g * 3 end)
      mc.grad(collected)(x)
      mc.sum(kept):backward()
      d.same(mc.cos(mc.tensor { 1, 2 }), w.grad, 'a call of the tape')
      w:zero_grad()
      mc.sum(hooked):backward()
      d.same(mc.tensor { 6, 6 }, w.grad, 'a hook')
    end
    local function abandon()
      local w = leaf { 1, 2 }
      local held = w * 2
      w:requires_grad(false)
      mc.grad(collected)(x)
      assert.is_true(recording.on())
      return held.shape
    end
    abandon()
    require 'jit'.flush() -- compiled traces hold leaves of other specs
    for _ = 1, 6 do collectgarbage() end
    assert.is_false(recording.on())
    leaf({ 1 }):requires_grad(false) -- the tape has ended, the collector has yet to tell
    local slope = mc.grad(function(v) return mc.checkpoint(collected)(mc.checkpoint(mc.sin)(v)) end)(x)
    d.same(2 * mc.sin(x) * mc.cos(x), slope, 'a call of a function')
  end)

  it('ends with its last leaf, and holds no graph that nobody can ask for', function()
    collectgarbage()
    collectgarbage()
    local function use()
      local w = mc.ones({ 1000 }):requires_grad()
      local before = mc.memory().tensors
      for _ = 1, 2000 do mc.sum(w * w) end
      for _ = 1, 3 do collectgarbage() end
      assert(mc.memory().tensors - before < 20 * 8000, mc.memory().tensors - before)
      local scale = mc.sum(w * 2)
      for _ = 1, 600 do mc.sum(w) end -- sweeps may not take what is held
      scale:backward()
      assert.equal(2, w.grad[1]:item())
      w:requires_grad(false)
    end
    use()
    require 'jit'.flush() -- compiled traces hold tensors as constants
    for _ = 1, 6 do collectgarbage() end
    assert.is_false(recording.on())
  end)
end)
