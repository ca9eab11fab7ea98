-- transform_writes_spec.lua - functions that write into their arguments, into parts, and into what they made
-- themselves, under every transform.
local here = (debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/'
local support, d = dofile(here .. 'init.lua'), dofile(here .. 'derivative.lua')
local mc = require 'mascon'

local function x(seed, ...) return mc.randn { seed = seed, ... } end

--- Reads before and after it writes: y = x^2, x := 2 x, x[1] := 3, result sum of y * x.
local function square_and_move(t)
  local y = t * t
  t:mul_(2)
  t[1] = 3
  return mc.sum(y * t)
end
--- The same without writes.
local function pure(t) return mc.sum(t * t * mc.where(mc.eq(mc.arange(1, t:numel()), 1), 3, t * 2)) end
local function moved(t)
  local out = t * 2
  out[1] = 3
  return out
end

describe('a function that writes into its argument', function()
  it('has the derivative at the point it was given, and writes once', function()
    local a = x(1, 4)
    local want, value = mc.grad(pure)(a), pure(a)
    local function check(what, f)
      local b = a:copy()
      local v, g = f(b)
      d.close(want, g, what)
      if v then d.close(value, v, what .. ': value') end
      d.same(moved(a), b, what .. ': argument')
    end
    check('grad', function(b) return nil, mc.grad(square_and_move)(b) end)
    check('value_and_grad', mc.value_and_grad(square_and_move))
    check('vjp', function(b)
      local y, pull = mc.vjp(square_and_move, b)
      return y, pull(1)
    end)
    check('compiled grad', function(b)
      local g = mc.compile(mc.grad(square_and_move))
      g(a:copy())
      return nil, g(b)
    end)
    check('grad of a compiled function', function(b) return nil, mc.grad(mc.compile(square_and_move))(b) end)
    check('a row of a transposed matrix', function(b)
      local wide = mc.zeros { 4, 2 }
      wide[{ mc.all, 1 }] = b
      local v, g = mc.value_and_grad(square_and_move)(wide[{ mc.all, 1 }])
      b:copy_(wide[{ mc.all, 1 }])
      return v, g
    end)
    local b, t = a:copy(), x(2, 4)
    local _, along = mc.jvp(square_and_move, { b }, { t })
    d.close(mc.sum(want * t), along, 'jvp')
    d.same(moved(a), b, 'jvp: argument')
  end)

  it('has second derivatives at that point', function()
    local a, v = x(3, 4), x(4, 4)
    local want = mc.hessian(pure)(a)
    local b = a:copy()
    d.close(want, mc.hessian(square_and_move)(b), 'hessian')
    local c = a:copy()
    local g, hv = mc.hvp(square_and_move, c, v)
    d.close(mc.grad(pure)(a), g, 'gradient of hvp')
    d.close(want:matmul(v), hv, 'hvp')
    d.same(moved(a), c, 'hvp: argument')
    local e = a:copy()
    d.close(want, mc.jacrev(mc.grad(square_and_move))(e), 'jacrev of grad')
    d.same(moved(a), e, 'jacrev: argument')
  end)

  it('runs over batches as over their elements, and writes to all of them', function()
    local a = x(5, 3, 4)
    local want, rows = {}, {}
    for i = 1, 3 do
      rows[i] = a[i]:copy()
      want[i] = square_and_move(rows[i])
    end
    for what, run in pairs { plain = function(f, b) return f(b) end, compiled = function(f, b)
      local g = mc.compile(f)
      g(a:copy())
      return g(b)
    end } do
      local b = a:copy()
      d.close(mc.stack(want, 1), run(mc.vmap(square_and_move), b), what .. ' vmap')
      d.same(mc.stack(rows, 1), b, what .. ' vmap: argument')
    end
    local c = a.T:copy()
    d.close(mc.stack(want, 1), mc.vmap(square_and_move, { in_axes = { 2 } })(c), 'along axis 2')
    d.same(mc.stack(rows, 1), c.T, 'along axis 2: argument')
    local e = a:copy()
    d.close(mc.stack({ mc.grad(pure)(a[1]), mc.grad(pure)(a[2]), mc.grad(pure)(a[3]) }, 1),
      mc.vmap(mc.grad(square_and_move))(e), 'vmap of grad')
    d.same(mc.stack(rows, 1), e, 'vmap of grad: argument')
  end)

  it('is refused where a batch or shared memory leaves open what it means, and leaves the data alone', function()
    local a, b = x(6, 3, 4), x(7, 4)
    local function unbatched(row, w)
      w:add_(1)
      return mc.sum(row * w)
    end
    local before = b:copy()
    assert.matches('vmap: the function writes to argument 2, which is the same for all elements',
      support.message(function() mc.vmap(unbatched, { in_axes = { 1, false } })(a, b) end))
    d.same(before, b, 'unbatched')
    local count = mc.zeros { 400 }
    assert.matches('writes to a tensor of 400 elements from outside', support.message(function() mc.vmap(function(row)
      count:add_(1)
      return mc.sum(row)
    end)(a) end))
    assert.equal(0, mc.sum(count):item())
    local c = x(8, 4)
    local kept = c:copy()
    local function two(p, q)
      p:mul_(2)
      return mc.sum(p * q)
    end
    assert.matches('grad: the function writes to an argument that shares memory',
      support.message(function() mc.grad(two)(c, c) end))
    assert.matches('grad: the function writes to an argument that shares memory',
      support.message(function() mc.grad(function(p) return two(p, c) end)(c) end))
    assert.matches('grad: the function writes to an argument that shares memory',
      support.message(function() mc.grad(function(p)
        c:mul_(p)
        return mc.sum(p * 2)
      end)(c) end))
    assert.matches('shares memory', support.message(function() mc.vmap(two)(c, c) end))
    d.same(kept, c, 'shared')
    d.close(mc.grad(function(p) return two(p:copy(), c) end)(c), c * 2, 'a copy')
  end)
end)

describe('a tensor made inside a transform', function()
  it('may be written there, whatever it was made from', function()
    local function f(w, t)
      return mc.grad(function(p)
        local h = w * 2 -- of what the enclosing function knows only
        h:mul_(p)
        h[1] = h[1] + mc.sum(p)
        return mc.sum(h * h)
      end)(t)
    end
    local function same_without(w, t)
      return mc.grad(function(p)
        local h = w * 2 * p
        return mc.sum(mc.where(mc.eq(mc.arange(1, 3), 1), h + mc.sum(p), h) ^ 2)
      end)(t)
    end
    local w, t = x(9, 3), x(10, 3)
    local want = same_without(w, t)
    d.close(want, f(w, t), 'plain')
    local g = mc.compile(f)
    for k = 1, 2 do d.close(want, g(w, t), 'compiled, call ' .. k) end
    d.close(mc.grad(function(p) return mc.sum(same_without(p, t)) end)(w),
      mc.grad(function(p) return mc.sum(f(p, t)) end)(w), 'gradient of it')
    local ws = x(11, 5, 3)
    local rows = {}
    for i = 1, 5 do rows[i] = same_without(ws[i], t) end
    d.close(mc.stack(rows, 1), mc.vmap(f, { in_axes = { 1, false } })(ws, t), 'vmap')
  end)
end)

describe('writes into parts', function()
  it('that pick the only place of an axis are writes to the whole', function()
    local c = mc.tensor { 0.3 }
    local cases = {
      { { 2, 3, 1 }, function(t) t[{ mc.all, mc.all, 1 }] = mc.sin(c) return t * t end },
      { { 2, 1, 3 }, function(t) t[{ mc.all, 1 }] = mc.sin(c) return t * t end },
      { { 1, 2, 3 }, function(t) t[1] = mc.sin(c) return t * t end },
      { { 3, 1, 2 }, function(t) t[{ mc.all, -1, mc.all }] = mc.sin(c) return t * t end },
      { { 1, 1 }, function(t) t[1] = mc.cos(t[1]) return t * t end },
      { { 1, 2, 1 }, function(t) t[{ 1, mc.all, 1 }] = mc.cos(t[{ 1, mc.all, 1 }]) t[1]:mul_(2) return t + 1 end },
      { { 2, 3 }, function(t) t:reshape(-1):mul_(3) return t * t end },
      { { 2, 1, 3 }, function(t) mc.sin(t[{ mc.all, 1 }], { out = t[{ mc.all, 1 }] }) return t * t end },
    }
    for k, case in ipairs(cases) do
      local shape, f = case[1], case[2]
      local function make(...) return mc.randn { seed = k, ... } end
      local a = make(unpack(shape))
      local want, g = f(a), mc.compile(f)
      for call = 1, 3 do
        local b = make(unpack(shape))
        d.same(want, g(b), ('case %d, compiled call %d'):format(k, call))
        d.same(a, b, 'argument of compiled case ' .. k)
      end
      local many, rows = make(2, unpack(shape)), make(2, unpack(shape))
      local each = { f(rows[1]), f(rows[2]) }
      d.same(mc.stack(each), mc.vmap(f)(many), 'vmap of case ' .. k)
      d.same(rows, many, 'argument of vmap, case ' .. k)
      local function loss(t) return mc.sum(f(t)) end
      local want_grad = mc.grad(function(t) return loss(t * 1) end)(make(unpack(shape)))
      local b = make(unpack(shape))
      d.close(want_grad, mc.grad(loss)(b), 'grad of case ' .. k)
      d.same(a, b, 'argument of grad, case ' .. k)
      d.close(want_grad, mc.compile(mc.grad(loss))(make(unpack(shape))), 'compiled grad of case ' .. k)
    end
  end)
  it('stay apart where they put the same value into parts of different shapes', function()
    local function f(t, s)
      local y, z = t * 1, t * 2
      y['1:2'] = s
      y['3:5'] = s
      z['1:3'] = s
      z['4:5'] = t['1:2']
      return y, z
    end
    local g = mc.compile(f)
    for k = 1, 3 do
      local t, s = x(k, 5), x(k + 20, 1):reshape {}
      local y, z = f(t, s)
      local p, q = g(t, s)
      d.same(y, p, 'call ' .. k)
      d.same(z, q, 'call ' .. k)
    end
  end)
end)
