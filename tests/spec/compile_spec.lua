-- compile_spec.lua - compiled functions give what the plain ones give, bit by bit, fused or not, and say what they
-- cannot do.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'

local function same(want, got, what)
  if mc.is_tensor(want) then
    assert(mc.is_tensor(got), what .. ': no tensor')
    assert.equal(want.dtype, got.dtype, what)
    assert.equal(tostring(want.shape), tostring(got.shape), what)
    assert(mc.array_equal(mc.isnan(want), mc.isnan(got)) and mc.array_equal(mc.where(mc.isnan(want), 0, want),
      mc.where(mc.isnan(got), 0, got)), what .. ' differs')
  elseif type(want) == 'table' then
    for k, v in pairs(want) do same(v, got[k], what .. '.' .. tostring(k)) end
  else
    assert.equal(want, got, what)
  end
end

--- f compiled (with and without groups) on several arguments of one form, against f itself.
local function agrees(what, f, ...)
  for _, fuse in ipairs { true, false } do
    local g = mc.compile(f, { fuse = fuse })
    for k, args in ipairs { ... } do
      local want = f(unpack(args))
      for again = 1, 2 do
        same(want, g(unpack(args)), ('%s, arguments %d, call %d, fuse %s'):format(what, k, again, tostring(fuse)))
      end
    end
  end
end

local function x(seed, shape, dtype) return mc.randn { shape[1], shape[2], seed = seed, dtype = dtype or 'f64' } end

describe('a compiled function', function()
  it('gives the bits of the plain one for chains, broadcasting, comparison and choice', function()
    agrees('chain', function(a, b)
      local h = mc.exp(-(a * a)) * mc.sin(b) + a / 3
      return { h = h, m = mc.where(mc.gt(h, 0.1), h, -h), s = mc.maximum(a, b['1, :']), k = (h + 1) * h - h }
    end, { x(1, { 5, 7 }), x(2, { 5, 7 }) }, { x(3, { 5, 7 }), x(4, { 5, 7 }) })
    for _, dtype in ipairs { 'f32', 'i32', 'c64' } do
      agrees('mixed ' .. dtype, function(a) return (a + 1) * a - mc.abs(a) end, { (x(5, { 3, 4 }) * 5):to(dtype) })
    end
    agrees('large', function(a) return mc.tanh(a) * 2 + mc.square(a):sum { 2, keepdim = true } end,
      { x(6, { 300, 700 }, 'f32') })
  end)

  it('keeps constants apart that print alike', function()
    local near = 1 - 0.999 -- 0.001 but for its last bits
    agrees('constants', function(a) return { a * near, a * 0.001, (a * near) - (a * 0.001) } end, { x(1, { 2, 3 }) },
      { x(2, { 2, 3 }) })
  end)

  it('keeps groups apart that a view or a write leads out of and back into', function()
    agrees('a view of a member', function(a)
      local h = a * 2
      return mc.exp(h) + h['1:1, :'], h + h.T
    end, { x(1, { 3, 3 }) })
    agrees('a write between two groups', function(a, b)
      local u, v = a * 2, b * 3
      local w = u + 1
      local h = mc.zeros { 3, 3 }
      h['1:2, :'] = (v * w)['2:3, :']
      return h + w, v - u, h * u + v
    end, { x(1, { 3, 3 }), x(2, { 3, 3 }) })
    local y, t = mc.tensor { 1, 2, 4, 3, 5 }, mc.tensor { 0, 0.4, 1.1, 1.5, 2.5 }
    agrees('gradients of writes',
      mc.grad(function(a, b) return mc.simpson(a, { x = b }) end, { argnums = { 1, 2 } }), { y, t })
  end)

  it('follows views, writes into parts, and aliases', function()
    agrees('views', function(a, b)
      local h = a:matmul(b)
      local y = mc.zeros { h.shape[1], h.shape[2] }
      y['1, :'] = h['2, :'] * 2
      y['::2, 1'] = 7
      local z = h:permute_dims { 2, 1 }:reshape(-1)
      z:add_(1)
      local w = h.T
      h:mul_(2) -- the alias sees it
      return { y = y, z = z, w = w + 0, v = w, part = h['..., 1'], same = h }
    end, { x(1, { 3, 4 }), x(2, { 4, 5 }) }, { x(3, { 3, 4 }), x(4, { 4, 5 }) })
    agrees('positions', function(a)
      local out = mc.zeros { 4, 4 }
      out[{ mc.tensor({ 1, 3 }, { dtype = 'i64' }) }] = a['1:2, :']
      return out + a:take(mc.tensor({ 2, 1, 1, 2 }, { dtype = 'i64' }), 1)
    end, { x(7, { 4, 4 }) })
  end)

  it('runs ops of every kind', function()
    agrees('kinds', function(a)
      local q = mc.linalg.solve(a:matmul(a.T) + mc.eye(4), a)
      return { q = q, f = mc.real(mc.fft.ifft(mc.fft.fft(a))), s = a:sort(), c = a:cumsum(1), m = a:median(2),
        v = a:var(1), k = mc.concat({ a, q }, 1), l = mc.softmax(a, { axis = 2 }) }
    end, { x(1, { 4, 4 }) }, { x(2, { 4, 4 }) })
  end)

  it('takes numbers as arguments that change, keeps them weak in promotion, and fixes static ones', function()
    local f = function(a, lr) return a * (lr * 2) + lr end
    local g = mc.compile(f)
    local a = x(1, { 2, 3 }, 'f32')
    for _, lr in ipairs { 0.1, 0.2, 3 } do same(f(a, lr), g(a, lr), 'lr ' .. lr) end
    local h = mc.compile(function(t, n)
      for _ = 1, n do t = t * 2 end
      return t
    end, { static = { 2 } })
    same(a * 8, h(a, 3), 'static 3')
    same(a * 4, h(a, 2), 'static 2')
  end)

  it('takes and gives nested tables, other shapes, and constants from outside as they are at the call', function()
    local outside = mc.ones { 300 }
    local g = mc.compile(function(p) return { p.w * outside, { p.list[2] + 1, 'text', 5 } } end)
    for k = 1, 3 do
      local p = { w = mc.full({ 300 }, k), list = { mc.ones { 2 }, mc.full({ 2, k }, 3) } }
      same({ p.w * outside, { p.list[2] + 1, 'text', 5 } }, g(p), 'call ' .. k)
      outside:add_(1)
    end
  end)

  it('writes into its arguments when the function does', function()
    local g = mc.compile(function(a)
      a:add_(1)
      return a * 2
    end)
    local a = mc.zeros { 3, 3 }
    for k = 1, 3 do
      same(mc.full({ 3, 3 }, 2 * k), g(a), 'result ' .. k)
      same(mc.full({ 3, 3 }, k), a, 'argument ' .. k)
    end
  end)

  it('refuses decisions on values it does not know yet, and names the way out', function()
    local g = mc.compile(function(a)
      if a:sum():item() > 0 then return a end
      return -a
    end)
    assert.truthy(support.message(function() g(mc.ones { 2 }) end)
      :find('item: f64[]@cpu depends on the arguments of a function that is being compiled', 1, true))
    assert.truthy(support.message(function() g(mc.ones { 2 }) end):find('mc.where', 1, true))
    local list = mc.compile(function(a) return a * a:totable()[1] end)
    local function compares(f) return support.message(function() mc.compile(f)(mc.tensor(1), mc.tensor(2)) end) end
    assert.truthy(compares(function(a, b) return a < b and a or b end):find('<: f64[]@cpu and f64[]@cpu are compared '
      .. 'while a function is compiled or vectorised, where values are not known yet; a:lt(b) gives a tensor: '
      .. 'choose with mc.where(a:lt(b), x, y), or mc.cond(a:lt(b), f, g)', 1, true))
    assert.truthy(
      compares(function(a) return 3 >= a and a or -a end):find('<=: f64[]@cpu and f64[]@cpu are compared', 1, true))
    assert.truthy(support.message(function() list(mc.ones { 2 }) end)
      :find('totable: f64[2]@cpu depends on the arguments of a function that is being compiled', 1, true))
    assert.truthy(support.message(function() mc.compile(3) end):find('compile: the first argument is', 1, true))
    same(mc.ones { 2 } + 1, mc.ones { 2 } + 1, 'eager after a failed trace')
    assert.equal(2, (mc.ones { 2 }):sum():item())
  end)

  it('groups elementwise work and says how much', function()
    local g = mc.compile(function(a) return mc.exp(a) * 2 + mc.sin(a) end)
    g(x(1, { 10, 10 }))
    local _, plan = next(g.plans)
    assert.equal(1, plan.fused.groups)
    assert.equal(4, plan.fused.nodes)
    assert.equal(1, plan.steps)
  end)

  it('tells arguments that share memory from one another, and from what is captured', function()
    local a = x(1, { 4, 3 })
    local f = mc.compile(function(p, q) return p - 2 * q end)
    same(a - 2 * a, f(a, a), 'the same tensor twice')
    same(a - 2 * (a * 3), f(a, a * 3), 'other tensors, same form')
    local g = mc.compile(function(p, q) return p['1, :'] * q['1, :'] end)
    same(a['1, :'] * a['2, :'], g(a['1:2, :'], a['2:3, :']), 'parts of one buffer')
    local b, c = x(2, { 2, 3 }), x(3, { 2, 3 })
    same(b['1, :'] * c['1, :'], g(b, c), 'buffers apart')
  end)

  it('calls other compiled functions as parts of itself', function()
    local inner = mc.compile(function(t) return mc.exp(t) + 1 end)
    local outer = mc.compile(function(t) return inner(t) * inner(t * 2) end)
    for seed = 1, 2 do
      local a = x(seed, { 2, 2 })
      same(inner(a) * inner(a * 2), outer(a), 'seed ' .. seed)
    end
    assert.equal(1, outer.traces)
  end)

  it('knows a form again that holds NaN or a complex number', function()
    local f = mc.compile(function(t, o) return t * o.scale + mc.where(mc.isnan(t), o.fill, 0) end, { static = { 2 } })
    for _ = 1, 3 do
      local o = { scale = mc.complex(0, 1), fill = 0 / 0 }
      same(x(1, { 2, 2 }) * o.scale, f(x(1, { 2, 2 }), o), 'fixed values')
    end
    assert.equal(1, f.traces)
  end)
end)

describe('into', function()
  local w = x(9, { 3, 4 })
  local function f(p, k) return p * k + w, { top = mc.max(p, 2), flipped = mc.flip(p, { 1 }) } end

  it('writes results where they are wanted, the same bits, from the first call on', function()
    for _, tier in ipairs { 'auto', 'vm', 'native', 'eager' } do
      local g = mc.compile(f, { tier = tier })
      for seed = 1, 4 do
        local p = x(seed, { 3, 4 })
        local wide = mc.zeros { 3, 8 }
        local out = { wide[':, ::2'], { top = mc.zeros { 3 }, flipped = mc.zeros { 3, 4 } } }
        assert.equal(out, g:into(out, p, seed))
        local y, rest = f(p, seed)
        same(y, out[1], 'strided')
        same(rest.top, out[2].top, 'top')
        same(rest.flipped, out[2].flipped, 'flipped')
        same(mc.zeros { 3, 4 }, wide[':, 2::2'], 'between')
      end
    end
  end)

  it('writes over arguments while it runs, when asked, with the bits of later writes', function()
    local function update(t, g)
      local m = t.m * 0.9 + g * 0.1
      local p = t.p - m / mc.sqrt(mc.sum(g * g)) * t.p.mT
      t.m:copy_(m)
      t.n:copy_(mc.exp(t.n) + t.m)
      t.p:copy_(p) -- read turned around as well: not while it runs
      return mc.sum(p)
    end
    local function operands() return { m = x(1, { 40, 40 }), n = x(2, { 40, 40 }), p = x(3, { 40, 40 }) } end
    local over, later = mc.compile(update, { overwrite = true }), mc.compile(update)
    local a, b, c, g = operands(), operands(), operands(), x(4, { 40, 40 })
    for k = 1, 3 do
      local want = update(c, g)
      same(want, over(a, g), 'call ' .. k)
      same(want, later(b, g), 'call ' .. k)
      for name, t in pairs(c) do
        same(t, a[name], name)
        same(t, b[name], name)
      end
    end
    local both = { m = a.m, n = a.m, p = a.p } -- one tensor twice: the function itself
    local plain = { m = c.m, p = c.p }
    plain.n = plain.m
    same(update(plain, g), over(both, g), 'shared')
    same(plain.m, both.m, 'shared')
    local function arena(g_of) return g_of.forms[1].arena end
    assert(arena(over) <= arena(later) - 2 * 8 * 40 * 40, ('%d of %d'):format(arena(over), arena(later)))
  end)

  it('lends results the memory of what was computed before them, when asked', function()
    local function both(a, b)
      local deep = mc.matmul(mc.sin(a:matmul(b)), b)
      local y = mc.sin(deep:matmul(b):matmul(b))
      return mc.sum(y), { y = y, turned = (y * 2).mT, cos = mc.cos(y) }, deep[1]
    end
    local a, b = x(1, { 64, 64 }), x(2, { 64, 64 }) / 8
    local want = { both(a, b) }
    local ahead = require('mascon.compile').ahead
    local own, lent = mc.compile(both), mc.compile(both, { lend = { 2 } })
    local traced = { ahead(lent, a, b) }
    assert.same({ 64, 64 }, { traced[2].cos.shape[1], traced[2].cos.shape[2] })
    own(a, b)
    assert.equal(1, lent.traces)
    local before, first = nil, { lent(a, b) }
    for k = 1, 3 do
      local got = { lent(a, b) }
      assert.equal(1, lent.traces)
      same(want[1], got[1], 'call ' .. k)
      for name, t in pairs(want[2]) do same(t, got[2][name], name) end
      same(want[3], got[3], 'row')
      if before then before.y:release() end
      before = got[2]
    end
    for _, t in pairs(first[2]) do t:add_(1) end -- nobody else's
    for name, t in pairs(want[2]) do same(t + 1, first[2][name], name) end
    local into = { mc.zeros {}, { y = mc.zeros { 64, 64 }, turned = mc.zeros { 64, 64 }, cos = mc.zeros { 64, 64 } },
      mc.zeros { 64 } }
    lent:into(into, a, b)
    same(want[2].cos, into[2].cos, 'into')
    local bytes = 8 * 64 * 64
    assert(lent.forms[1].arena < own.forms[1].arena + 3 * bytes, lent.forms[1].arena)
    assert.is_nil(ahead(mc.compile(function(v) return v * v:item() end), mc.tensor { 2 }))
  end)

  it('reads arguments and captured tensors before it writes over them', function()
    local function turn(p) return mc.flip(p, { 1 }) * 2 + w['1, 1'] end
    local g = mc.compile(turn)
    for seed = 1, 3 do
      local p = x(seed, { 50, 4 })
      local want = turn(p)
      same(want, g:into(p, p), 'in place')
    end
    local c = x(7, { 5, 5 })
    local h = mc.compile(function(p) return p + mc.flip(c, { 1 }) end)
    for _ = 1, 3 do
      local p = x(1, { 5, 5 })
      local want = p + mc.flip(c, { 1 })
      same(want, h:into(c, p), 'captured')
    end
  end)

  it('says what does not fit', function()
    local g = mc.compile(f)
    local p = x(1, { 3, 4 })
    local function out(n) return { mc.zeros { 3, 4 }, { top = mc.zeros { n }, flipped = mc.zeros { 3, 4 } } } end
    for _ = 1, 3 do
      assert.matches('out holds 1 tensor and the function returns 3',
        support.message(function() g:into(mc.zeros { 3, 4 }, p, 1) end))
      assert.matches('result 3 is f64.3.* and out is f64.2.*; give a tensor of that dtype and shape',
        support.message(function() g:into(out(2), p, 1) end))
      g(p, 1)
    end
    local twice = out(3)
    twice[2].flipped = twice[1]
    assert.matches('out 1 and 2 share memory', support.message(function() g:into(twice, p, 1) end))
    assert.matches('out holds 0 tensors', support.message(function() g:into({ 3 }, p, 1) end))
  end)
end)
