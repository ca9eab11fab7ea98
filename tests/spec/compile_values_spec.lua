-- compile_values_spec.lua - what depends on values in a compiled function: dtypes of numbers, errors, conditions,
-- sizes, clocks and chance.
local here = (debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/'
local support, d = dofile(here .. 'init.lua'), dofile(here .. 'derivative.lua')
local mc = require 'mascon'

local function i64(v) return mc.tensor(v, { dtype = 'i64' }) end

--- f compiled against f for each list of arguments, twice each.
local function agrees(what, f, ...)
  local g = mc.compile(f)
  for k, args in ipairs { ... } do
    local want = { f(unpack(args)) }
    for call = 1, 2 do d.same(want, { g(unpack(args)) }, ('%s, arguments %d, call %d'):format(what, k, call)) end
  end
  return g
end

describe('a number argument', function()
  it('decides the dtype beside integers as it does in the plain function', function()
    local t, b = i64 { 1, 2, 3 }, mc.gt(i64 { 1, 2, 3 }, 1)
    local g = agrees('times', function(x, s) return x * s end, { t, 2 }, { t, 2.5 }, { t, 3 }, { t, -0.5 },
      { t, -4 }, { t, 1 / 0 })
    assert.equal(2, g.traces)
    agrees('of one computed', function(x, s) return x + s * 2 end, { t, 2.5 }, { t, 2 }, { t, 0.3 }, { t, 0.5 })
    agrees('a choice', function(x, s) return mc.where(b, x, s) end, { t, 2.5 }, { t, 2 })
    agrees('in a table', function(x, o) return x - o.s end, { t, { s = 1 } }, { t, { s = 1.5 } }, { t, { s = 2 } })
    agrees('truth values', function(x, s) return mc.eq(x, 2) * s end, { t, 1 }, { t, 1.5 })
    local f =
      agrees('reals', function(x, s) return x * s + mc.where(b, x, s) end, { t:to 'f32', 2 }, { t:to 'f32', 2.5 })
    assert.equal(1, f.traces)
  end)

  it('is named with static where a size or an axis is wanted', function()
    local x = mc.ones { 3 }
    for what, f in pairs {
      zeros = function(_, n) return mc.zeros { n } end,
      reshape = function(t, n) return t:reshape { n, 1 } end,
      arange = function(_, n) return mc.arange(1, n) end,
      axis = function(t, n) return mc.sum(t, n) end,
      range = function(t, n) return t[{ { 1, n } }] end,
      topk = function(t, n) return mc.topk(t, n) end,
      loop = function(t, n)
        for _ = 1, n do t = t + 1 end
        return t
      end,
    } do
      local text = support.message(function() mc.compile(f)(x, 3) end)
      assert(text:find('name its place in static, mc.compile(f, { static = { 2 } })', 1, true), what .. ': ' .. text)
      assert(not text:find('cdata', 1, true), what)
    end
  end)
end)

describe('an error', function()
  it('is raised also where nobody reads the result', function()
    local x = mc.tensor { 1, 2, 3 }
    local f = mc.compile(function(t, at)
      local _ = mc.take(t, at)
      return t + 1
    end)
    f(x, i64 { 1, 2 })
    f(x, i64 { 1, 2 })
    assert.matches('take: position 9 is outside', support.message(f, x, i64 { 1, 9 }))
    local g = mc.compile(function(a)
      local _ = mc.linalg.solve(a, a)
      return mc.sum(a)
    end)
    d.same(mc.tensor(3), g(mc.eye(3)), 'regular')
    assert.matches('solve: the matrix is singular', support.message(g, mc.zeros { 3, 3 }))
    local h = mc.compile(function(p, q)
      local _ = mc.floor_divide(p, q)
      return p + q
    end)
    local plain = support.message(function() return mc.floor_divide(i64 { 1 }, i64 { 0 }) end)
    h(i64 { 1 }, i64 { 1 })
    assert.equal(plain, support.message(h, i64 { 1 }, i64 { 0 }))
  end)
end)

describe('a condition', function()
  it('may compare with <, and, or, not in while_loop', function()
    local function f(last, most)
      return mc.while_loop(function(s) return s.i < last and not (s.x > most) or s.i < 2 end,
        function(s) return { i = s.i + 1, x = s.x * 2 } end,
        { i = 0, x = mc.tensor(1) }).x
    end
    local g = mc.compile(f)
    for k, args in ipairs { { 5, 100 }, { 20, 100 }, { 0, 0 }, { 3, 0.5 }, { 1, 2 } } do
      for call = 1, 2 do d.same(f(unpack(args)), g(unpack(args)), ('arguments %d, call %d'):format(k, call)) end
    end
    local lasts = mc.tensor { 1, 4, 9 }
    local function one(last) return f(last, mc.tensor(60)) end
    d.same(mc.stack({ one(mc.tensor(1)), one(mc.tensor(4)), one(mc.tensor(9)) }, 1), mc.vmap(one)(lasts), 'vmap')
    local help = mc.compile(function()
      return mc.while_loop(function(s) return s.i < 5 end, function(s) return { i = s.i + 1, x = s.x * 2 } end,
        { i = 0, x = 1 }).x
    end)
    assert.equal(32, help():item())
    assert.equal(32, help():item())
    assert.matches('more than 64 ways to come out', support.message(mc.compile(function(t)
      return mc.while_loop(function(s)
        local n = 0
        for k = 1, 9 do if s > k then n = n + 1 end end
        return n > 3
      end, function(s) return s - 1 end, t)
    end), mc.tensor(5)))
  end)

  it('may be a function in cond', function()
    local function f(x)
      return mc.cond(function() return x > 1 and x < 3 end, function(t) return t * 10 end, function(t) return -t end, x)
    end
    local g = mc.compile(f)
    for _, v in ipairs { 0, 2, 3, 1 } do
      for _ = 1, 2 do d.same(f(mc.tensor(v)), g(mc.tensor(v)), 'value ' .. v) end
    end
    d.same(mc.tensor { 0, 20, -3 }, mc.vmap(f)(mc.tensor { 0, 2, 3 }), 'vmap')
  end)
end)

describe('chance and clocks', function()
  it('are refused while a function is traced, and are as before afterwards', function()
    local draw = math.random
    local before = { math.random, os.time, os.clock, os.date }
    for name, f in pairs {
      ['math.random'] = function(t) return t * math.random() end,
      ['os.time'] = function(t) return t + os.time() end,
      ['os.clock'] = function(t) return t + os.clock() end,
      ['os.date'] = function(t) return t + #os.date() end,
    } do
      local text = support.message(mc.compile(f), mc.ones { 2 })
      assert(text:find(('compile: the function calls %s, whose result a replay would repeat'):format(name), 1, true),
        text)
    end
    local text = support.message(mc.compile(function(t) return t * draw() end), mc.ones { 2 })
    assert(text:find('draw with mc.random and a key (mc.random.key), and pass the value as an argument', 1, true), text)
    assert.same(before, { math.random, os.time, os.clock, os.date })
    assert.equal(math.random, draw)
  end)
end)

describe('recording by shapes', function()
  it('holds no values of what stays outside, and says so', function()
    local kept = {}
    local f = mc.compile(function(x)
      kept[#kept + 1] = x * 2
      return x + 1
    end)
    f(mc.ones { 3 })
    for _, use in ipairs { function(t) return t + 1 end, function(t) return t:sum():item() end, tostring,
      function(t) return t:totable() end, function(t) return t:copy() end, function(t) return mc.sort(t) end,
      function(t) return mc.compile(mc.exp)(t) end } do
      assert.matches('holds none; return it from that function', support.message(use, kept[1]))
    end
    assert.equal('{3}', tostring(kept[1].shape))
  end)
  it('runs a function once, and once more with values where it needs them', function()
    local runs = {}
    local f = mc.compile(function(x)
      runs[#runs + 1] = true
      return mc.exp(x)
    end)
    f(mc.ones { 3 })
    assert.equal(1, #runs)
    local g = mc.compile(function(x)
      runs[#runs + 1] = true
      return mc.while_loop(function(y) return mc.sum(y) < 10 end, function(y) return y * 2 end, x)
    end)
    assert.equal('f64[3]@cpu { 4, 4, 4 }', tostring(g(mc.ones { 3 })))
    assert.equal('f64[3]@cpu { 6, 6, 6 }', tostring(g(mc.full({ 3 }, 3))))
    assert.equal(3, #runs)
  end)
  it('keeps no memory of copies', function()
    local lib = require 'mascon.core.ffi'
    local x, functions = mc.ones { 300, 400 }, {}
    collectgarbage()
    collectgarbage()
    local before = lib.memory_stats().tensors
    functions[1] = mc.compile(function(a) return mc.sum(a.T:copy() * a:to 'f32'.T) end)
    functions[1](x):release()
    collectgarbage()
    collectgarbage()
    assert.is_true(lib.memory_stats().tensors - before < 1000)
  end)
end)
