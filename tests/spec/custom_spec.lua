-- custom_spec.lua - derivatives that a user states, in every composition; stop_gradient; what they refuse.
local here = (debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/'
local support, d = dofile(here .. 'init.lua'), dofile(here .. 'derivative.lua')
local mc = require 'mascon'

local x, y = mc.tensor { 1, 2, 3 }, mc.tensor { -1, 0.5, 4 }
local rows = mc.stack({ x, y, x * 0.1 }, 1)

--- x * w.a with cotangents 10 and 100 times too large, so that one sees whose rule it was.
local scaled = mc.custom_vjp(function(t, w) return { y = t * w.a } end, {
  forward = function(t, w) return { y = t * w.a }, { t, w.a } end,
  backward = function(kept, g) return g.y * kept[2] * 10, { a = g.y * kept[1] * 100 } end,
})
local function f(t, a) return mc.sum(mc.sin(scaled(t, { a = a }).y)) end

describe('custom_vjp', function()
  it('goes by the rule in reverse, forwards, compiled and over batches', function()
    local wx, wa = 10 * y * mc.cos(x * y), 100 * x * mc.cos(x * y)
    d.close({ wx, wa }, mc.grad(f, { argnums = { 1, 2 } })(x, y), 'grad', 1e-12)
    local g = mc.compile(mc.grad(f, { argnums = { 1, 2 } }))
    for _ = 1, 2 do d.close({ wx, wa }, g(x, y), 'compiled', 1e-12) end
    d.close(mc.sum(wa * x), select(2, mc.jvp(f, { x, y }, { nil, x })), 'jvp', 1e-12)
    local loop = {}
    for i = 1, 3 do loop[i] = mc.grad(f)(rows[i], y) end
    d.close(mc.stack(loop, 1), mc.vmap(mc.grad(f), { in_axes = { 1, false } })(rows, y), 'vmap of grad', 1e-12)
    d.close(mc.stack(loop, 1),
      mc.grad(function(r) return mc.sum(mc.vmap(f, { in_axes = { 1, false } })(r, y)) end)(rows), 'grad of vmap', 1e-12)
    local sum = mc.zeros { 3 }
    for i = 1, 3 do sum = sum + mc.grad(f, { argnums = 2 })(rows[i], y) end
    d.close(sum, mc.grad(function(a) return mc.sum(mc.vmap(f, { in_axes = { 1, false } })(rows, a)) end)(y),
      'shared over the batch', 1e-12)
    assert.equal(f(x, y):item(), mc.sum(mc.sin(x * y)):item())
  end)

  it('has derivatives of higher order, those of forward and backward', function()
    local cube = mc.custom_vjp(function(t) return t ^ 3 end,
      { forward = function(t) return t ^ 3, t end, backward = function(t, g) return g * 3 * t * t end })
    local function h(t) return mc.sum(cube(t)) end
    d.close(mc.eye(3) * (6 * x), mc.hessian(h)(x), 'hessian', 1e-12)
    d.close(6 * x, mc.grad(function(t) return mc.sum(mc.grad(h)(t)) end)(x), 'reverse over reverse', 1e-12)
    d.close(mc.tensor { 6, 6, 6 }, mc.grad(
      function(t) return mc.sum(mc.grad(function(u) return mc.sum(mc.grad(h)(u)) end)(t)) end)(x), 'third', 1e-12)
  end)

  it('keeps anything, leaves cotangents out, and works inside loops', function()
    local clip = mc.custom_vjp(function(t) return t end, { forward = function(t) return t, 'kept text' end,
      backward = function(kept, g)
        assert.equal('kept text', kept)
        return mc.clip(g, -1, 1)
      end })
    d.close(mc.tensor { 1, 1, 1 }, mc.grad(function(t) return mc.sum(clip(t) * 100) end)(x), 'clipped')
    local half = mc.custom_vjp(function(a, b) return a * b end,
      { forward = function(a, b) return a * b, b end, backward = function(b, g) return g * b end })
    d.close({ y, mc.zeros { 3 } },
      mc.grad(function(a, b) return mc.sum(half(a, b)) end, { argnums = { 1, 2 } })(x, y), 'left out')
    local function looped(t)
      return mc.sum((mc.scan(function(c) return clip(c * 2), nil end, t, nil, { length = 3 })))
    end
    d.close(mc.tensor { 2, 2, 2 }, mc.grad(looped)(x), 'in a scan')
    for _ = 1, 2 do d.close(mc.tensor { 2, 2, 2 }, mc.compile(mc.grad(looped))(x), 'in a compiled scan') end
  end)

  it('refuses other forms, captured tensors with derivatives, and bad rules', function()
    local function grad_of(rule, g)
      return support.message(function()
        mc.grad(function(t) return mc.sum(mc.custom_vjp(g or mc.sin, rule)(t)) end)(x)
      end)
    end
    local function zero(_, g) return g * 0 end
    assert.truthy(grad_of({ forward = function(t) return mc.sum(t), nil end, backward = zero })
      :find('custom_vjp: shape of what forward returns differs: it gives f64[]@cpu, but f returns f64[3]@cpu', 1, true))
    assert.truthy(grad_of({ forward = function(t) return mc.sin(t), nil end, backward = function()
      return mc.zeros { 2 }
    end })
      :find('custom_vjp: cotangent 1 is f64[2]@cpu, but belongs to f64[3]@cpu; shapes must agree', 1, true))
    local text = support.message(function()
      mc.grad(function(w) return mc.sum(mc.custom_vjp(function(t) return t * w end,
        { forward = function(t) return t * w, nil end, backward = zero })(x * w)) end)(y)
    end)
    assert.truthy(text:find('custom_vjp: the function reads f64[3]@cpu of the enclosing function, which its rule knows '
      .. 'nothing about; pass it as an argument', 1, true), text)
    -- a mask that the rules read without being told of it: right where it is computed, no constant of what is recorded
    local function masked(t, mask)
      local masked_part = mc.custom_vjp(function(a) return mc.where(mask, a, 0) end, {
        forward = function(a) return mc.where(mask, a, 0), 1 end,
        backward = function(_, g) return mc.where(mc.logical_not(mc.logical_not(mask)), g, 0) end })
      return mc.sum(masked_part(t) ^ 2)
    end
    local masks = mc.gt(mc.tensor { { 1, 0, 1 }, { 0, 1, 0 } }, 0)
    assert(mc.array_equal(mc.where(masks[1], 2 * x, 0), mc.grad(masked)(x, masks[1])))
    for i, made in ipairs { mc.compile(mc.grad(masked)), mc.vmap(mc.grad(masked), { in_axes = { false, 1 } }) } do
      text = support.message(made, x, i == 1 and masks[1] or masks)
      assert.truthy(text:find('was made within a function that is being differentiated and is read behind it, as by a '
        .. 'rule of custom_vjp that captures it; pass it to the function with the rule as an argument', 1, true), text)
    end
    text = support.message(mc.grad(function(t)
      return (mc.scan(function(c, r) return c + masked(r.t, r.mask), c end, mc.zeros {}, { t = t, mask = masks }))
    end), mc.stack { x, x })
    assert.truthy(text:find('custom_vjp: the function reads bool[3]@cpu of the enclosing function, which is another '
      .. 'one here than where its rule was made; pass it as an argument', 1, true), text)
    assert.truthy(
      support.message(mc.custom_vjp, mc.sin, {}):find('custom_vjp: forward is nil; give a function', 1, true))
    assert.truthy(support.message(mc.custom_vjp, mc.sin, { foward = mc.sin }):find('forward', 1, true))
  end)
end)

describe('custom_jvp', function()
  local tens = mc.custom_jvp(mc.sin, function(p, t) return mc.sin(p[1]), t[1] * mc.cos(p[1]) * 10 end)
  local function h(t) return mc.sum(tens(t) * t) end

  it('goes by the rule in both modes, at every order, compiled and over batches', function()
    local want = mc.sin(x) + 10 * x * mc.cos(x)
    d.close(want, mc.grad(h)(x), 'grad', 1e-12)
    d.close(want, mc.jacfwd(h)(x), 'jacfwd', 1e-12)
    for _ = 1, 2 do d.close(want, mc.compile(mc.grad(h))(x), 'compiled', 1e-12) end
    d.close(mc.eye(3) * (20 * mc.cos(x) - 10 * x * mc.sin(x)), mc.hessian(h)(x), 'hessian', 1e-12)
    local loop = {}
    for i = 1, 3 do loop[i] = mc.grad(h)(rows[i]) end
    d.close(mc.stack(loop, 1), mc.vmap(mc.grad(h))(rows), 'vmap of grad', 1e-12)
    d.close(mc.stack(loop, 1), mc.grad(function(r) return mc.sum(mc.vmap(h)(r)) end)(rows), 'grad of vmap', 1e-12)
    assert.truthy(support.message(function()
      mc.grad(function(t) return mc.sum(mc.custom_jvp(mc.sin, function(p) return p[1], mc.zeros { 2 } end)(t)) end)(x)
    end)
      :find('custom_jvp: the tangent is f64[2]@cpu, but belongs to f64[3]@cpu', 1, true))
  end)
end)

describe('a rule for batches', function()
  local seen = {}
  --- 2 t + a, with the derivative of 7 t, and a batch form that says how it was called.
  local function rule(size, batched, t, p)
    seen[#seen + 1] = ('%d %s %s'):format(size, tostring(batched[1]), tostring(batched[2].a))
    local a = batched[2].a and p.a:reshape(size, 1) or p.a
    return { y = t * 2 + a + (batched[1] and 0 or mc.zeros { size, 1 }) }
  end
  local function once(t, p) return { y = t * 2 + p.a } end
  local reverse = mc.custom_vjp(once, { forward = function(t, p) return once(t, p), nil end,
    backward = function(_, g) return g.y * 7, { a = mc.sum(g.y) } end, batch = rule })
  local forward =
    mc.custom_jvp(once, function(p, t) return once(p[1], p[2]), { y = t[1] * 7 + t[2].a } end, { batch = rule })
  local numbers = mc.tensor { 1, 10, 100 }

  it('is what vmap runs, told what is batched', function()
    for _, g in ipairs { reverse, forward } do
      local function one(t, a) return g(t, { a = a, name = 'x' }).y end
      seen = {}
      d.same(rows * 2 + numbers:reshape(3, 1), mc.vmap(one)(rows, numbers), 'both')
      d.same(rows * 2 + 5, mc.vmap(one, { in_axes = { 1, false } })(rows, mc.tensor(5)), 'the first')
      d.same(mc.stack({ x * 2 + 1, x * 2 + 10, x * 2 + 100 }, 1),
        mc.vmap(one, { in_axes = { false, 1 } })(x, numbers), 'the second')
      assert.same({ '3 true true', '3 true false', '3 false true' }, seen)
      local c = mc.compile(mc.vmap(one))
      for _ = 1, 2 do d.same(rows * 2 + numbers:reshape(3, 1), c(rows, numbers), 'compiled') end
      local two = mc.vmap(mc.vmap(one, { in_axes = { 1, false } }))(mc.stack({ rows, rows * 2 }, 1), mc.tensor { 1, 2 })
      d.same(mc.stack({ rows * 2 + 1, rows * 4 + 2 }, 1), two, 'nested')
    end
  end)
  it('leaves derivatives to their own rules', function()
    for _, g in ipairs { reverse, forward } do
      local function one(t, a) return mc.sum(g(t, { a = a }).y) end
      d.same(mc.full({ 3, 3 }, 7), mc.vmap(mc.grad(one))(rows, numbers), 'vmap of grad')
      d.same(mc.full({ 3, 3 }, 7),
        mc.grad(function(r) return mc.sum(mc.vmap(one)(r, numbers)) end)(rows), 'grad of vmap')
    end
  end)
  it('is held to the form of the result', function()
    local function with(batch)
      return mc.vmap(mc.custom_jvp(mc.sin, function(p, t) return mc.sin(p[1]), t[1] end, { batch = batch }))
    end
    local function says(text, batch)
      assert.truthy(support.message(function() local _ = with(batch)(rows) end):find(text, 1, true))
    end
    says('custom_jvp: shape of the result of batch differs: f returns f64[3]@cpu for one element, batch f64[3]@cpu for '
      .. '3 of them', function(_, _, t) return mc.sum(t, 2) end)
    says('custom_jvp: dtype of the result of batch differs', function(_, _, t) return t:to 'f32' end)
    says('custom_jvp: structure of the result of batch', function(_, _, t) return { t } end)
  end)
end)

describe('stop_gradient', function()
  it('passes values and no derivative, for trees and in every mode', function()
    local function g(t)
      local p = mc.stop_gradient { w = t * t, n = 3, name = 'w' }
      assert.equal('w', p.name)
      return mc.sum(p.w * t * p.n)
    end
    d.close(3 * x * x, mc.grad(g)(x), 'reverse')
    d.close(mc.sum(3 * x * x * y), select(2, mc.jvp(g, { x }, { y })), 'forward')
    for _ = 1, 2 do d.close(3 * x * x, mc.compile(mc.grad(g))(x), 'compiled') end
    d.close(3 * rows * rows, mc.vmap(mc.grad(g))(rows), 'vmap')
    assert.equal(5, mc.stop_gradient(5))
    d.same(mc.zeros { 3 }, mc.grad(function(t) return mc.sum(mc.cut(t)) end)(x), 'the op below it')
  end)
end)
