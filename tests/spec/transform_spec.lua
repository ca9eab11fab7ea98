-- transform_spec.lua - grad, vjp, jvp, vmap, Jacobians and Hessians: values, trees, composition, errors.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'

local function close(want, got, what, rtol)
  assert(mc.is_tensor(got), what .. ': no tensor')
  assert.equal(tostring(want.shape), tostring(got.shape), what)
  assert(mc.allclose(got, want, { rtol = rtol or 1e-10, atol = 1e-12 }),
    ('%s: %s, want %s'):format(what, tostring(got), tostring(want)))
end

local function x(seed, ...) return mc.randn { seed = seed, ... } end

local differences = support.load 'derivative'.differences

local FUNCTIONS = {
  chain = function(t) return mc.sum(mc.exp(-t * t) * mc.sin(t) / (1 + mc.square(t))) end,
  broadcast = function(t) return mc.sum(t['1, :'] * t - t[{ mc.all, { 1, 1 } }] / 2) end,
  views = function(t) return mc.sum(t.T:matmul(t):reshape(-1)['2:5'] * 3) + mc.sum(t['::-1, ::2'] * t['1, 1']) end,
  writes = function(t)
    local y = mc.zeros { 3, 4 }
    y['1:2, :'] = t['2:3, :'] * 2
    y:mul_(t)
    y['::2, 1'] = 7
    local z = t * 1
    z:add_(y)
    z[1] = z[2] * z[3]
    return mc.sum(y * z)
  end,
  windows = function(t) return mc.sum(mc.square(mc.sliding_window_view(t:reshape(-1), 5)):mean(1)) end,
  reductions = function(t)
    return mc.sum(mc.softmax(t, 2) * mc.cumsum(t, 1)) + mc.max(t) * mc.var(t) + mc.sum(mc.mean(t, 1) ^ 2)
  end,
  positions = function(t)
    local i = mc.tensor({ 3, 1, 1 }, { dtype = 'i64' })
    local y = mc.zeros { 3, 4 }
    y[{ i }] = t * t
    return mc.sum(t:take(i, 1) * t) + mc.sum(y * t)
  end,
  matrices = function(t)
    local a = t:matmul(t.T) + mc.eye(3)
    return mc.sum(a:matmul(t) * mc.tanh(t)) + mc.sum(mc.concat({ a, t }, 2) ^ 2)
      + mc.sum(mc.where(mc.gt(t, 0), t, t * t * 0.1))
  end,
}

describe('a gradient', function()
  it('is that of differences, in reverse and forward mode, eager and compiled', function()
    for name, f in pairs(FUNCTIONS) do
      local t = x(1, 3, 4)
      local want = differences(f, t)
      local g = mc.grad(f)(t)
      close(want, g, name, 1e-5)
      local v = x(2, 3, 4)
      local _, dy = mc.jvp(f, { t }, { v })
      close(mc.sum(g * v), dy, name .. ' forwards', 1e-9)
      local compiled = mc.compile(mc.grad(f))
      for again = 1, 3 do
        local u = x(again, 3, 4)
        assert(mc.array_equal(mc.grad(f)(u), compiled(u)), name .. ': compiled differs')
      end
    end
  end)

  it('works on trees, several arguments, numbers, and keeps further results', function()
    local function f(p, q, n)
      local y = mc.sum(p.w * q) + p.b[1] * 2
      for _ = 1, n do y = y * 2 end
      return y, { seen = p.w + 1 }
    end
    local p, q = { w = x(1, 3), b = { mc.tensor(0.5) } }, x(2, 3)
    local value, g, aux = mc.value_and_grad(f, { has_aux = true })(p, q, 1)
    close(mc.sum(p.w * q) * 2 + 2, value, 'value')
    close(q * 2, g.w, 'w')
    close(mc.tensor(4), g.b[1], 'b')
    close(p.w + 1, aux.seen, 'aux')
    local gs = mc.grad(f, { argnums = { 2, 1 }, has_aux = true })(p, q, 1)
    close(p.w * 2, gs[1], 'argument 2')
    close(q * 2, gs[2].w, 'argument 1')
    close(mc.tensor(12), mc.grad(mc.grad(function(t) return t ^ 3 end))(2), 'second derivative of a number')
    close(mc.zeros { 3 }, mc.grad(function() return 3 end)(q), 'a constant')
  end)

  it('holds captured tensors constant, also those that share memory with the argument', function()
    local w = x(1, 4)
    close(w, mc.grad(function(p) return mc.sum(p * w) end)(w), 'captured')
    close(w * 3, mc.grad(function(p, q) return mc.sum(p * q * 3) end)(w, w), 'twice the same')
  end)

  it('accumulates what comes through several uses in the dtype of the operand', function()
    local g =
      mc.grad(function(p) return mc.sum((p:to 'f64' * 2 + p):to 'f32' * p) end)(mc.ones({ 3 }, { dtype = 'f32' }))
    assert.equal('f32', g.dtype)
    close(mc.full({ 3 }, 6, { dtype = 'f32' }), g, 'f32')
    local z = mc.tensor { mc.complex(1, 2), mc.complex(-3, 0.5) }
    close(z * 2, mc.grad(function(t) return mc.sum(mc.square(mc.abs(t))) end)(z), 'points uphill for complex numbers')
  end)

  it('reads values when it runs plainly', function()
    local f = function(t) if t[1]:item() > 0 then return mc.sum(t * 2) end return mc.sum(t * 3) end
    close(mc.full({ 2 }, 3), mc.grad(f)(mc.tensor { -1, 1 }), 'branch')
  end)

  it('refuses what has none', function()
    local function refuses(pattern, f, ...)
      local ok, message = pcall(f, ...)
      assert(not ok and message:find(pattern, 1, true), tostring(message))
    end
    refuses('one real number', mc.grad(function(t) return t end), x(1, 2))
    refuses('one real number', mc.grad(function(t) return mc.fft.fft(t)[1] end), x(1, 2))
    refuses('argnums', mc.grad(function(t) return t end, { argnums = 3 }), x(1, 2))
    refuses('give a function', mc.grad, 3)
    refuses('shapes must agree', mc.jvp, function(t) return t end, { x(1, 2) }, { x(1, 3) })
    local _, pull = mc.vjp(function(t) return t end, x(1, 2))
    refuses('shapes must agree', pull, x(1, 3))
  end)
end)

describe('vjp and jvp', function()
  it('are adjoint to one another', function()
    local f = function(a, b) return { s = mc.tanh(a):matmul(b), t = mc.cumsum(a * 2, 1) } end
    local a, b, da, db = x(1, 3, 4), x(2, 4, 2), x(3, 3, 4), x(4, 4, 2)
    local y, pull = mc.vjp(f, a, b)
    local _, dy = mc.jvp(f, { a, b }, { da, db })
    local g = { s = x(5, 3, 2), t = x(6, 3, 4) }
    local ga, gb = pull(g)
    local left = mc.sum(dy.s * g.s) + mc.sum(dy.t * g.t)
    close(left, mc.sum(da * ga) + mc.sum(db * gb), '<J d, g> = <d, J* g>')
    close(f(a, b).s, y.s, 'value')
    close(ga * 2, (pull { s = g.s * 2, t = g.t * 2 }), 'a second pull')
  end)

  it('take tangents and cotangents that are views', function()
    local f = function(a)
      local b = mc.zeros { 3, 4 }
      b['1:2, :'] = a['2:3, :'] * 2
      return b * a
    end
    local a, turned = x(1, 3, 4), x(2, 4, 3).mT
    local _, along = mc.jvp(f, { a }, { turned })
    local _, copied = mc.jvp(f, { a }, { turned:copy() })
    close(copied, along, 'jvp')
    local _, pull = mc.vjp(f, a)
    close((pull(turned:copy())), (pull(turned)), 'vjp')
    -- a rule whose cotangent is a view, read by a view
    local inverse = function(t) return mc.linalg.inv(t).mT['1, :'] end
    local square, d = x(3, 3, 3) + mc.eye(3) * 4, x(4, 3, 3)
    local _, moved = mc.jvp(inverse, { square }, { d })
    local i = mc.linalg.inv(square)
    close(-i:matmul(d):matmul(i).mT['1, :'], moved, 'inverse')
  end)
end)

describe('vmap', function()
  it('takes axes apart and puts them together', function()
    local a, b = x(1, 4, 3), x(2, 3, 4)
    local f =
      mc.vmap(function(p, q, n) return mc.sum(p * q) * n, p + q end, { in_axes = { 1, 2, false }, out_axes = { 1, 2 } })
    local s, t = f(a, b, 2)
    close((a * b.T):sum(2) * 2, s, 'sums')
    close(a.T + b, t, 'out_axes')
    local outer =
      mc.vmap(mc.vmap(function(p, q) return p * q end, { in_axes = { false, 1 } }), { in_axes = { 1, false } })
    close(mc.outer(a[1], b[1]), outer(a[1], b[1]), 'nested')
    close(mc.ones { 4 } * 5, mc.vmap(function() return 5 end)(a), 'a number')
    assert.equal('{0, 3}', tostring(mc.vmap(function(p) return p * 2 end)(mc.zeros { 0, 3 }).shape))
  end)

  it('composes with grad and compile', function()
    local w, b = x(1, 3, 2), x(2, 5, 3)
    local loss = function(p, v) return mc.sum(mc.tanh(v:matmul(p))) end
    local f = mc.vmap(mc.grad(loss), { in_axes = { false, 1 } })
    local got, compiled = f(w, b), mc.compile(f)
    for k = 1, 5 do close(mc.grad(loss)(w, b[k]), got[k], 'element ' .. k) end
    for seed = 1, 3 do
      local v = x(seed, 5, 3)
      assert(mc.array_equal(f(w, v), compiled(w, v)))
    end
    close(mc.sum(got, 1),
      mc.grad(function(p) return mc.sum(mc.vmap(loss, { in_axes = { false, 1 } })(p, b)) end)(w), 'grad of vmap')
  end)

  it('does not decide by values and names what is wrong with its arguments', function()
    local function refuses(pattern, f, ...)
      local ok, message = pcall(f, ...)
      assert(not ok and message:find(pattern, 1, true), tostring(message))
    end
    refuses('mc.where', mc.vmap(function(t) if t:item() > 0 then return t end return -t end), x(1, 3))
    refuses('must agree', mc.vmap(function(a, b) return a + b end), x(1, 3), x(1, 4))
    refuses('no axis to batch over', mc.vmap(function(a) return a end), mc.tensor(3))
    refuses('no argument is batched', mc.vmap(function(a) return a end, { in_axes = { false } }), x(1, 3))
  end)
end)

describe('Jacobians and Hessians', function()
  it('agree with one another and with differences', function()
    local f = function(t) return mc.sin(t) * mc.sum(t * t) + mc.cumsum(t, 1) end
    local t = x(1, 5)
    local forwards, backwards = mc.jacfwd(f)(t), mc.jacrev(f)(t)
    close(forwards, backwards, 'forward and reverse')
    for k = 1, 5 do close(differences(function(u) return f(u)[k] end, t), forwards[k], 'row ' .. k, 1e-5) end
    local g = function(u, s) return mc.sum(mc.exp(u * s)) * u[1] end
    local h = mc.hessian(g)(t, 0.5)
    close(h, h.T, 'symmetric')
    for k = 1, 5 do
      close(differences(function(u) return mc.grad(g)(u, 0.5)[k] end, t), h[k], 'Hessian row ' .. k, 1e-5)
    end
    local v = x(2, 5)
    local gradient, product = mc.hvp(g, t, v, 0.5)
    close(mc.grad(g)(t, 0.5), gradient, 'gradient')
    close(h:matmul(v), product, 'product')
    assert.equal('{2, 3, 2, 3}', tostring(mc.jacrev(function(u) return u * 2 end)(x(1, 2, 3)).shape))
    close(mc.jacfwd(f)(t), mc.compile(mc.jacfwd(f))(t), 'compiled')
  end)
end)

describe('what a function reads before it writes to it', function()
  -- k is no argument, so that neither the write nor what is written is recorded
  local function program(n, write)
    return function(t)
      local k = mc.ones { n }
      local y = mc.sum(t * k)
      write(k, t)
      return y + mc.sum(k) * 0
    end
  end
  local writes = {
    ['an op in place'] = function(k) k:add_(1) end,
    ['an index'] = function(k) k['1:2'] = 7 end,
    ['a copy'] = function(k) k:copy_(mc.arange(1, k:numel())) end,
    ['a write that no gradient follows'] = function(k) mc.no_grad(function() k:mul_(3) end) end,
    ['constants, then traced values'] = function(k, t)
      k:add_(1)
      k:copy_(t)
    end,
    ['twice, read between'] = function(k)
      k:fill_(5)
      local _ = k + 1
      k:fill_(6)
    end,
  }
  for name, write in pairs(writes) do
    it('is what it was then: ' .. name, function()
      for _, n in ipairs { 3, 300 } do
        local f, ones = program(n, write), mc.ones { n }
        close(ones, mc.grad(f)(ones), 'grad')
        local _, along = mc.jvp(f, { ones }, { ones })
        assert.equal(n, along:item())
        local compiled = mc.compile(f)
        for _ = 1, 2 do assert.equal(n, compiled(ones):item()) end
        close(mc.full({ 2 }, n), mc.vmap(f)(mc.ones { 2, n }), 'vmap')
        -- sum over j of d/du_j (sum(u t) sum(u)) at u = t is sum(t)^2 + n sum(t^2)
        local inner = function(t) return mc.sum(mc.grad(function(u) return f(u * t) * mc.sum(u) end)(t)) end
        close(ones * 4 * n, mc.grad(inner)(ones), 'nested')
      end
    end)
  end

  it('follow tensors of one element that a table is made of, in every transformation', function()
    local function f(v) return mc.sum(mc.square(mc.tensor { { v, 3 }, { v * 2, mc.tensor(1) } })) end
    local at = mc.tensor(2)
    assert.equal(20, mc.grad(f)(at):item())
    assert.equal(20, mc.compile(mc.grad(f))(at):item())
    assert.equal(40, (select(2, mc.jvp(f, { at }, { at }))):item())
    assert.same({ 15, 30 }, mc.vmap(f)(mc.tensor { 1, 2 }):totable())
    local compiled = mc.compile(f)
    for n = 1, 2 do assert.equal(5 * n * n + 10, compiled(mc.tensor(n)):item()) end
    assert.equal(4, mc.grad(function(v) return mc.dot({ v, 1 }, { 3, v }) end)(at):item())
  end)
end)
