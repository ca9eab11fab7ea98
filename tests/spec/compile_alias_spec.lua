-- compile_alias_spec.lua - memory that arguments, captures and results share, objects of classes, and tables found
-- outside. Plain against compiled.
local here = (debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/'
local support, d = dofile(here .. 'init.lua'), dofile(here .. 'derivative.lua')
local mc = require 'mascon'

local function x(seed, ...) return mc.randn { seed = seed, ... } end

describe('memory that operands share', function()
  local function move(p, q)
    p:mul_(2)
    q:add_(p)
    return mc.sum(p * q)
  end

  it('is another form where it is written', function()
    -- each case makes its operands from one tensor
    local cases = {
      apart = function(t) return t:copy(), t:copy() * 3 end,
      same = function(t) return t, t end,
      row = function(t) return t[2], t end,
      rows = function(t) return t['1:2'], t['2:3'] end,
      column = function(t) return t[{ mc.all, { 1, 1 } }], t[{ mc.all, { 2, 2 } }] end,
      again = function(t) return t:copy(), t:copy() * 3 end,
    }
    local f = mc.compile(move)
    for round = 1, 3 do
      for _, name in ipairs { 'apart', 'same', 'row', 'rows', 'column', 'again' } do
        local t, u = x(round, 3, 4), x(round, 3, 4)
        local p, q = cases[name](t)
        local want = move(p, q)
        local r, s = cases[name](u)
        d.close(want, f(r, s), ('%s, round %d'):format(name, round))
        d.close(t, u, ('%s, round %d: memory'):format(name, round))
        d.close(p, r, ('%s, round %d: p'):format(name, round))
        d.close(q, s, ('%s, round %d: q'):format(name, round))
      end
    end
    assert.truthy(f.traces <= 6)
  end)

  it('is seen between arguments and captured tensors', function()
    local w, v = x(1, 4), x(1, 4)
    local function make(held) return function(p)
      p:add_(1)
      return mc.sum(p * held)
    end end
    local plain, f = make(w), mc.compile(make(v))
    for k = 1, 3 do
      d.close(plain(x(k, 4)), f(x(k, 4)), 'apart')
      d.close(plain(w), f(v), 'captured ' .. k)
      d.close(w, v, 'memory')
    end
    local box, cox = { w = x(2, 300) }, { w = x(2, 300) }
    local function in_table(b) return function(p)
      p:add_(1)
      return mc.sum(p * b.w)
    end end
    local g, h = in_table(box), mc.compile(in_table(cox))
    for _ = 1, 3 do d.close(g(box.w), h(cox.w), 'in a table') end
  end)
end)

describe('results', function()
  it('share memory as those of the plain function do', function()
    local held, free = mc.zeros { 4 }, mc.zeros { 4 }
    local function make(w)
      return function(t)
        local y = t * 2
        return t, t[1], y, y, y[2], { w = w, part = w['2:3'] }, t['2:3'] * 1
      end
    end
    local plain, f = make(held), mc.compile(make(free))
    for k = 1, 3 do
      local t, u = x(k, 3, 4), x(k, 3, 4)
      local want, got = { plain(t) }, { f(u) }
      assert(rawequal(got[1], u), 'the argument itself')
      assert(rawequal(got[3], got[4]), 'one tensor twice')
      assert(rawequal(got[6].w, free), 'a captured tensor itself')
      d.same(want, got, 'call ' .. k)
      for _, r in ipairs { want, got } do
        r[2]:fill_(7)
        r[5]:fill_(8)
        r[6].part:fill_(k)
        r[7]:fill_(9)
      end
      d.same(want, got, 'written, call ' .. k)
      d.same(t, u, 'argument')
      d.same(held, free, 'captured')
    end
  end)
end)

local Net = {}
Net.__index = Net
function Net.new(seed, scale)
  return setmetatable({ w = x(seed, 3), b = x(seed + 1, 3), scale = scale, name = 'net' }, Net)
end
function Net:forward(t) return mc.tanh(self.w * t + self.b) * self.scale end

describe('objects of a class', function()
  local function loss(net, t) return mc.sum(net:forward(t) ^ 2) end
  local t = x(30, 3)

  it('are trees: gradients, batches and compiled functions see their fields', function()
    local net = Net.new(1, 2)
    local g = mc.grad(loss)(net, t)
    local want = mc.grad(function(p) return mc.sum((mc.tanh(p.w * t + p.b) * p.scale) ^ 2) end)({ w = net.w,
      b = net.b, scale = 2 })
    assert.equal(Net, getmetatable(g))
    d.close(want.w, g.w, 'w')
    d.close(want.b, g.b, 'b')
    d.close(want.scale, g.scale, 'scale')
    assert.equal('net', g.name)
    local f = mc.compile(loss)
    for k = 1, 4 do
      net.w, net.scale = x(k, 3), k
      d.close(loss(net, t), f(net, t), 'argument, call ' .. k)
    end
    assert.equal(1, f.traces)
    local step =
      mc.compile(function(n) return mc.tree.map(function(p) return type(p) == 'cdata' and p * 2 or p end, n) end)
    for _ = 1, 2 do
      local twice = step(net)
      assert.equal(Net, getmetatable(twice))
      d.close(net.w * 2, twice.w, 'a class comes back')
    end
    local many =
      mc.vmap(function(n) return loss(n, t) end)(setmetatable({ w = x(5, 2, 3), b = x(6, 2, 3), scale = 2 }, Net))
    assert.equal(2, many:numel())
    assert.matches('tree: a table holds itself', support.message(function()
      local loop = Net.new(1, 2)
      loop.parent = { child = loop }
      f(loop, t)
    end))
  end)

  it('are read at each call where the function finds them outside', function()
    local net, other = Net.new(1, 2), Net.new(1, 2)
    local plain, f = function(p) return net:forward(p) end, mc.compile(function(p) return other:forward(p) end)
    for k = 1, 4 do
      d.close(plain(t), f(t), 'call ' .. k)
      for _, n in ipairs { net, other } do
        n.w:add_(1)
        if k == 2 then n.b = x(40, 3) end
        if k == 3 then n.scale = 5 end
      end
    end
    assert.truthy(f.traces <= 2)
  end)
end)

describe('tables outside', function()
  it('are read at each call: tensors written and replaced, numbers, strings, functions, deep and through functions',
    function()
      local function make()
        local p = { w = mc.ones { 3 }, lr = 0.5, deep = { list = { mc.zeros { 3 }, 2 } }, mode = 'plus', act = mc.tanh }
        p.self = p
        local tool = { scaled = function(t) return t * p.lr end }
        local function f(t)
          local y = p.act(t * p.w + p.deep.list[1]) * p.deep.list[2]
          return p.mode == 'plus' and tool.scaled(y) or y
        end
        return p, f
      end
      local p, plain = make()
      local q, g = make()
      g = mc.compile(g)
      local steps = {
        function() end,
        function(s) s.w:mul_(3) end,
        function(s) s.w = s.w * 2 - 1 end,
        function(s) s.lr = 0.25 end,
        function(s) s.lr = 3 end,
        function(s) s.deep.list[1] = mc.full({ 3 }, 0.5) end,
        function(s) s.deep.list[2] = 7 end,
        function(s) s.mode = 'minus' end,
        function(s) s.act = mc.sin end,
        function(s) s.deep = { list = { mc.ones { 3 }, 1.5 } } end,
        function(s) s.w = s.w * 0.5 end,
      }
      local t = x(50, 3)
      for k, step in ipairs(steps) do
        step(p)
        step(q)
        for call = 1, 2 do d.close(plain(t), g(t), ('step %d, call %d'):format(k, call)) end
      end
      assert.truthy(g.traces <= 5)
    end)

  it('are read at each call where a number is a size, and in modules', function()
    package.loaded['compile alias settings'] = { width = 2, gain = mc.ones { 3 } }
    local settings = require 'compile alias settings'
    local function plain(t) return mc.zeros { settings.width } + mc.sum(t * settings.gain) end
    local f = mc.compile(plain)
    for k = 1, 4 do
      settings.width = k
      settings.gain = mc.full({ 3 }, k)
      d.close(plain(x(1, 3)), f(x(1, 3)), 'width ' .. k)
    end
    package.loaded['compile alias settings'] = nil
    local big = {}
    for i = 1, 20000 do big[i] = i end
    assert.matches('compile: the function reads the table big, which holds more than 10000 values; make it a tensor',
      support.message(function()
        mc.compile(function(t) return t * big[1] end)(x(1, 3))
      end))
  end)

  it('refuses a function that puts other tensors into them', function()
    local state = { w = mc.ones { 3 } }
    local f = mc.compile(function(t)
      state.w = state.w * 0.5 + t
      return state.w
    end)
    assert.matches('compile: the function changes state.w, which was f64%[3%]@cpu; a replay would not do that',
      support.message(f, x(1, 3)))
    local sum = { total = mc.zeros { 3 } }
    local g = mc.compile(function(t)
      sum.total:add_(t)
      return t
    end)
    for _ = 1, 3 do g(mc.ones { 3 }) end
    d.same(mc.full({ 3 }, 3), sum.total, 'written in place')
  end)
end)
