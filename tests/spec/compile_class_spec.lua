-- compile_class_spec.lua - objects whose fields and methods stand in their classes, functions among the arguments, and
-- arguments that become constants, under mc.compile. The compiled function is compared with the plain one.
local mc = require 'mascon'

local x = mc.tensor { 1, 2 }

--- make() returns a holder, a function and its arguments; steps change the holder.
local function agrees(make, steps, traces)
  for _, tier in ipairs { 'vm', 'auto' } do
    local p, plain, args = make()
    local q, f, own = make()
    local compiled = mc.compile(f, { tier = tier })
    for k = 0, #steps do
      if k > 0 then
        steps[k](p)
        steps[k](q)
      end
      for call = 1, 3 do
        local want, got = plain(unpack(args or { x })), compiled(unpack(own or { x }))
        assert.equal(tostring(want), tostring(got), ('%s, step %d, call %d'):format(tier, k, call))
      end
    end
    if traces then assert.equal(traces, compiled.traces) end
  end
end

--- Two levels of classes and an object without fields of its own.
local function classes()
  local base = { z = mc.tensor { 1, 1 }, gain = 7 }
  base.__index = base
  function base:shift(t) return t + self.z end
  local class = setmetatable({ k = 2, w = mc.tensor { 2, 3 } }, base)
  class.__index = class
  function class:scale(t) return t * self.w * self.k end
  return { base = base, class = class, object = setmetatable({}, class) }
end

local STEPS = {
  function(s) s.class.k = 5 end,
  function(s) s.class.w[1] = 9 end,
  function(s) s.class.w = mc.tensor { 4, 4 } end,
  function(s) s.class.scale = function(self, t) return t + self.w end end,
  function(s) s.base.z:add_(1) end,
  function(s) s.base.gain = 8 end,
  function(s) s.base.shift = function(self, t) return t * self.z end end,
  function(s) s.object.gain = mc.tensor { 1, 5 } end,
  function(s) s.object.gain = nil end,
  function(s) s.class.z = mc.tensor { 0, 1 } end,
  function(s) s.class.z = nil end,
  function(s)
    setmetatable(s.object, { __index = function(_, name) return s.class[name] end })
  end,
  function(s) s.class.w = mc.tensor { 4, 8 } end,
}

describe('what an object inherits', function()
  it('is read at each call: fields, tensors written and replaced, methods, over two levels', function()
    local function body(o, t) return o:shift(o:scale(t)) * o.gain end
    agrees(function()
      local s = classes()
      return s, function(t) return body(s.object, t) end
    end, STEPS)
    agrees(function()
      local s = classes()
      local list = { deep = { s.object } }
      return s, function(t) return body(list.deep[1], t) end
    end, STEPS)
    agrees(function()
      local s = classes()
      return s, body, { s.object, x }
    end, STEPS)
  end)
  it('may be written to and returned, in place and with one trace', function()
    for _, as_argument in ipairs { false, true } do
      agrees(function()
        local class = { w = mc.tensor { 2, 3 } }
        class.__index = class
        local o = setmetatable({}, class)
        local function body(t, p)
          p.w:add_(t)
          return mc.stack { t * p.w, p.w }
        end
        if as_argument then return class, body, { x, o } end
        return class, function(t) return body(t, o) end
      end, { function(c) c.w:add_(1) end, function(c) c.w = mc.tensor { 7, 7 } end }, 1)
    end
    local class = { w = mc.ones { 2 } }
    class.__index = class
    local f = mc.compile(function(o) return o.w end)
    for _ = 1, 3 do assert(rawequal(class.w, f(setmetatable({}, class))), 'the tensor of the class itself') end
  end)
  it('holds metamethods, and the variables that they and methods read', function()
    agrees(function()
      local gain, w = 3, mc.tensor { 1, 2 }
      local class = { __call = function(_, t) return t * gain + w end, __add = function(_, t) return t * gain end }
      class.__index = class
      function class:more(t) return t - gain end -- luacheck: no self
      local o = setmetatable({}, class)
      local function body(p, t) return p(t) + (p + t) + p:more(t) end
      return { gain = function(v) gain = v end, w = w, class = class }, body, { o, x }
    end, {
      function(s) s.gain(5) end,
      function(s) s.w:add_(1) end,
      function(s) s.gain(6) end,
      function(s) s.class.__call = function(_, t) return t end end,
    })
  end)
end)

describe('a table that two variables reach', function()
  it('keeps its numbers and tensors apart when those of one variable change', function()
    agrees(function()
      local shared = { k = 2, w = mc.tensor { 2, 3 } }
      local a, b = { s = shared, n = 1, z = mc.tensor { 1, 7 } }, { s = shared, v = mc.tensor { 5, 6 } }
      return { a = a, shared = shared }, function(t) return (t * a.s.w * b.s.k + a.n) * b.v + a.z * a.s.k end
    end, {
      function(s) s.a.n = 4 end,
      function(s) s.a.n = 5 end,
      function(s) s.shared.k = 3 end,
      function(s) s.shared.w = mc.tensor { 0, 1 } end,
      function(s) s.a.n = 6 end,
    })
  end)
end)

describe('functions', function()
  it('in tables may be replaced, also where a table holds nothing else', function()
    agrees(function()
      local t = { act = function(v) return v * 2 end }
      return t, function(v) return t.gain and v or t.act(v) end
    end, { function(t) t.act = function(v) return v * 3 end end, function(t) t.gain = 1 end })
  end)
  it('of the library among the arguments are traced anew when their fields are others', function()
    local o, set = mc.optim.sgd { lr = 0.5 }, mc.nn.data.tensors { x = mc.ones { 2 } }
    local rate = mc.optim.plateau(1, { patience = 0, factor = 0.5 })
    local f = mc.compile(function(p, opt, plateau, data)
      return opt.update({ w = p }, { w = data.fields.x }, opt.init { w = p }).w * plateau.rate
    end)
    local function value() return f(mc.ones { 2 }, o, rate, set)[1]:item() end
    assert.same({ 0.5, 0.5, 1 }, { value(), value(), f.traces })
    o.options.lr = 0.25
    assert.equal(0.75, value())
    rate:update(1)
    rate:update(2)
    assert.equal(0.375, value())
    set.fields.x = mc.full({ 2 }, 2)
    assert.equal(0.25, value())
    local traces = f.traces
    assert.same({ 0.25, traces }, { value(), f.traces })
  end)

  it('among the arguments read variables of their own at each call', function()
    agrees(function()
      local held, gain = { k = 2 }, 3
      local function g(t) return t * held.k * gain end
      return { held = held, gain = function(v) gain = v end }, function(h, t) return h(t) end, { g, x }
    end, { function(s) s.held.k = 5 end, function(s) s.gain(7) end, function(s) s.gain(8) end })
    local f = mc.compile(function(t, o, g) return g(t * o.k) end)
    for i = 1, 60 do -- more than the variables that one function may read
      local got = f(x, setmetatable({}, { __index = { k = i } }), function(t) return t * i end)
      assert.equal(tostring(x * i * i), tostring(got))
    end
  end)
end)

describe('an argument that becomes a constant', function()
  --- Both run on arguments of their own; results and arguments are compared.
  local function same(name, f, make)
    for _, tier in ipairs { 'vm', name == 'fill' and 'native' or nil } do
      local g = mc.compile(f, { tier = tier })
      for call = 1, 3 do
        local a, b = make(), make()
        assert.equal(tostring(f(a)), tostring(g(b)), ('%s, %s, call %d'):format(name, tier, call))
        local p, q = type(a) == 'table' and a.h or a, type(b) == 'table' and b.h or b
        assert.equal(tostring(p), tostring(q), name .. ': argument')
      end
      assert.truthy(#tostring(g:explain()) > 0)
      assert.truthy(#tostring(g:graph()) > 0)
    end
  end
  it('is written at each call', function()
    local function three() return mc.ones { 3 } end
    local held = mc.ones { 3 }
    local cases = {
      fill = function(a) a:fill_(0) return a + 1 end,
      all = function(a) a[{ mc.all }] = 0.25 return a * 2 end,
      dots = function(a) a['...'] = 3 return a * 2 end,
      colon = function(a) a[':'] = 1 return a end,
      range = function(a) a[{ { 1, 3 } }] = 7 return a * 2 end,
      tensor = function(a) a[{ mc.all }] = mc.tensor(0.25) return a * 2 end,
      copied = function(a) a:copy_(mc.arange(1, 3) * 2) return a:sum() end,
      twice = function(a) a:fill_(4) a:mul_(2) return a end,
      held = function(a) held:fill_(2) return a * held end,
    }
    for name, f in pairs(cases) do same(name, f, three) end
    same('field', function(s) s.h[{ mc.all }] = 0 return s.h + 1 end, function() return { h = mc.ones { 3 } } end)
    same('number', cases.fill, function() return mc.tensor(3) end)
    same('whole', cases.fill, function() return mc.ones({ 2, 2 }, { dtype = 'i32' }) end)
    same('large', function(a) a:fill_(0) return a:sum() end, function() return mc.ones { 400, 400 } end)
  end)
  it('is written in compiled batches of gradients', function()
    local f = mc.vmap(mc.grad(function(a)
      local b = a * 3
      a[{ mc.all }] = 0.5
      return mc.sum(a * b)
    end))
    local g = mc.compile(f)
    for _ = 1, 2 do
      local a, b = mc.ones { 3, 2 }, mc.ones { 3, 2 }
      assert.equal(tostring(f(a)), tostring(g(b)))
      assert.equal(tostring(a), tostring(b))
    end
  end)
end)
