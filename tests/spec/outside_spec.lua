-- outside_spec.lua - variables that a compiled function finds outside itself. Each case is compared with the plain
-- function, value by value.
local mc = require 'mascon'
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')

local x = mc.tensor { 1, 2, 3 }

--- A maker of cases: make() returns set(v) and a function of a tensor.
local function agrees(values, make, traces)
  local set_plain, plain = make()
  local set, f = make()
  local compiled = mc.compile(f)
  for i, v in ipairs(values) do
    set_plain(v)
    set(v)
    for call = 1, 2 do
      assert.equal(tostring(plain(x)), tostring(compiled(x)), ('value %d, call %d'):format(i, call))
    end
  end
  if traces then assert.equal(traces, compiled.traces) end
  return compiled
end

describe('a compiled function', function()
  it('reads numbers and tensors that have changed, with one trace more', function()
    agrees({ 2, 3, 4, 2, 0 / 0, -1 }, function()
      local n
      return function(v) n = v end, function(t) return t * n + 1 / n end
    end, 2)
    agrees({ mc.ones { 3 }, mc.tensor { 4, 5, 6 }, mc.zeros { 3 } }, function()
      local w
      return function(v) w = v end, function(t) return t + w * w end
    end, 1)
    agrees({ 2, 3, 4 }, function()
      local w = mc.ones { 3 }
      return function(v) w = w * v end, function(t) return t + w end -- as after a training step
    end, 1)
  end)
  it('reads random keys and trees of tensors that have changed', function()
    agrees({ 1, 2, 3 }, function()
      local key
      return function(v) key = mc.random.key(v) end, function() return mc.random.normal { 3, key = key } end
    end, 2)
    agrees({ 1, 2, 3, 1 }, function()
      local p
      return function(v) p = { w = mc.full({ 3 }, v), more = { b = mc.ones { 3 }, scale = v } } end,
        function(t) return t * p.w + p.more.b * p.more.scale end
    end, 2)
  end)
  it('is traced again where the value is a size, a loop, a branch, a name', function()
    local cases = {
      branch = function(n, t) return n == 3 and t or t * n end,
      order = function(n, t) return n > 2 and t or t * n end,
      kind = function(n, t) return type(n) == 'number' and t * 10 * n or t end,
      number = function(n, t) return t * (tonumber(n) or 7) end,
      literal = function(n, t) return t + mc.tensor { n, 1, n } end,
      text = function(n, t) return t * tonumber(tostring(n)) end,
      field = function(n, t) return t * ({ a2 = 1, a3 = 2, a4 = 3 })['a' .. n] end,
      item = function(n, t) return t * ({ 7, 8, 9, 10 })[n] end,
      index = function(n, t) return t[n - 1] end,
      range = function(n, t) return t[{ { 1, n - 1 } }] end,
      shape = function(n, t) return mc.zeros { n } + t[1] end,
      full = function(n, t) return mc.full({ 2 }, n) + t[2] end,
      axis = function(n, t) return mc.expand_dims(t, n > 2 and 1 or n) end,
      roll = function(n, t) return mc.roll(t, n) end,
      clip = function(n, t) return mc.clip(t, 0, n) end,
      power = function(n, t) return t ^ n end,
      quantile = function(n, t) return mc.quantile(t, n / 10) end,
      key = function(n, t) return t + mc.random.normal { 3, key = mc.random.key(n) } end,
      loop = function(n, t)
        for _ = 1, n do t = t * 2 end
        return t
      end,
    }
    for name, f in pairs(cases) do
      local ok, message = pcall(agrees, { 2, 3, 4, 2 }, function()
        local n
        return function(v) n = v end, function(t) return f(n, t) end
      end)
      assert.truthy(ok, name .. ': ' .. tostring(message))
    end
  end)
  it('knows a value again that it was traced with', function()
    local f = agrees({ true, false, true, false }, function()
      local flag
      return function(v) flag = v end, function(t) return flag and t or -t end
    end, 2)
    assert.equal('flag is false, was true', f:explain().why)
    agrees({ 'sum', 'mean', 'sum' }, function()
      local way
      return function(v) way = v end, function(t) return mc[way](t) end
    end, 2)
    agrees({ 0, mc.ones { 3 }, 0, false, mc.zeros { 3 } }, function()
      local bias
      return function(v) bias = v end, function(t) return bias and t + bias or t end
    end)
  end)
  it('sees what the functions see that it calls, through grad and through another compiled function', function()
    for _, wrap in ipairs { function(f) return f end, mc.grad, mc.value_and_grad, mc.compile,
      function(f) return mc.compile(mc.grad(f)) end } do
      agrees({ 2, 3, 4 }, function()
        local n
        local inner = wrap(function(t) return mc.sum(t * t * n) end)
        return function(v) n = v end, function(t) return (inner(t)) end
      end, 2)
    end
    agrees({ mc.exp, mc.sin, mc.exp }, function()
      local inner
      return function(v) inner = function(t) return v(t) end end, function(t) return inner(t) end
    end)
  end)
  it('reads globals', function()
    agrees({ 2, 3, 4, 'x' }, function()
      local env = setmetatable({ mc = mc }, { __index = _G })
      local f =
        setfenv(loadstring 'return function(t) return type == nil and t or rate == "x" and t or t * rate end', env)()
      return function(v) env.rate = v end, f
    end)
  end)
  it('leaves alone what the function itself adds to tables, and refuses what it counts', function()
    local calls, seen, box = 0, {}, { turns = { 1 } }
    local f = mc.compile(function(t)
      seen[#seen + 1] = 'called'
      return t + 1
    end)
    for _ = 1, 5 do f(x) end
    assert.truthy(#seen <= f.traces and f.traces <= 2)
    local function counts() calls = calls + 1 end
    local g = mc.compile(function(t)
      counts()
      return t + calls
    end)
    assert.matches('compile: the function changes calls, which was 0; a replay would not do that: hold it in a tensor',
      support.message(g, x))
    local h = mc.compile(function(t)
      box.turns[1] = box.turns[1] + 1
      return t
    end)
    assert.matches('compile: the function changes box.turns.1, which was 1;', support.message(h, x))
    local k = mc.compile(function(t, s)
      s.n = s.n * 2
      return t
    end)
    assert.matches('compile: the function changes argument 2.n; a replay would not do that',
      support.message(k, x, { n = mc.ones { 2 } }))
    assert.matches('compile: the function changes argument 2.n; a replay would not do that',
      support.message(k, x, { n = 3 }))
  end)
  it('writes where it wrote: a trial that fails leaves no second write', function()
    local n, total, one = 2, mc.zeros { 300 }, mc.ones { 300 }
    local f = mc.compile(function(t)
      total:add_(t)
      for _ = 1, n do t = t * 2 end
      return t
    end)
    f(one)
    n = 3
    f(one)
    f(one)
    assert.equal(900, mc.sum(total):item())
    local memo = { w = mc.ones { 3 } }
    local g = mc.compile(function(t)
      local y = memo.w * t
      memo.last = 1
      return y
    end)
    g(x)
    memo = { w = mc.zeros { 3 } }
    assert.same({ 0, 0, 0 }, g(x):totable())
    assert.equal(1, memo.last)
  end)
  it('reads what a tensor outside holds, also where nothing else takes part', function()
    local w = mc.ones { 3 }
    local f = mc.compile(function(t) return t + (w * 2):exp() end)
    f(x)
    w:copy_(mc.zeros { 3 })
    assert.same({ 2, 3, 4 }, f(x):totable())
  end)
  it('writes to small tensors and without its arguments as the plain function does', function()
    local function make()
      local sum, calls = mc.zeros { 3 }, mc.zeros {}
      return function(t)
        sum:add_(t)
        calls:add_(1)
        return sum / calls
      end, function() return sum:totable(), calls:item() end
    end
    local plain, state = make()
    local f, same = make()
    f = mc.compile(f)
    for k = 1, 4 do assert.same(plain(x * k):totable(), f(x * k):totable()) end
    assert.same({ state() }, { same() })
    assert.equal(1, f.traces)
  end)
  it('says so where a replay would do less than the function', function()
    local state = mc.zeros { 3 }
    local f = mc.compile(function(t)
      state = state * 0.5 + t
      return state
    end)
    assert.truthy(support.message(f, x):find('compile: the function gives the variable state another tensor', 1, true))
    local box = { inner = setmetatable({ sum = mc.zeros { 300 } }, { __metatable = 'hidden' }) }
    local g = mc.compile(function(t)
      box.inner.sum:add_(t[1])
      return t
    end)
    assert.truthy(support.message(g,
      x):find('compile: the function writes to a tensor of 300 elements that it finds in a table', 1, true))
    local memo
    local h = mc.compile(function(t)
      memo = memo or mc.linspace(0, 1, 3)
      return t + memo
    end)
    h(x)
    assert.same({ 1, 2.5, 4 }, h(x):totable())
  end)
  it('writes results to tensors that are there with the values as they are', function()
    local n, out = 2, mc.zeros { 3 }
    local f = mc.compile(function(t) return t * n end)
    f:into(out, x)
    for v = 3, 5 do
      n = v
      assert.same({ v, 2 * v, 3 * v }, f:into(out, x):totable())
    end
    assert.equal(2, f.traces)
  end)
  it('gives errors of the function itself after a change', function()
    local n = 2
    local f = mc.compile(function(t)
      if n == 3 then error('three is too many', 0) end
      return t * n
    end)
    f(x)
    n = 3
    assert.equal('three is too many', support.message(f, x))
    n = 4
    assert.same({ 4, 8, 12 }, f(x):totable())
  end)
  it('hands an interruption on, and does not begin again', function()
    local n, seen = 2, { stop = false }
    local runs = {}
    local f = mc.compile(function(t)
      runs[#runs + 1] = true
      if seen.stop then error('interrupted', 0) end
      return t * n
    end)
    f(x)
    n, seen.stop = 3, true
    assert.equal('interrupted', support.message(f, x))
    assert.equal(2, #runs)
    seen.stop = false
    assert.same({ 3, 6, 9 }, f(x):totable())
  end)
  it('keeps 64 forms at most', function()
    local f = mc.compile(function(t) return t + 1 end)
    for n = 1, 100 do f(mc.zeros { n }) end
    assert.equal(64, #f.forms)
    local before = f.traces
    f(mc.zeros { 100 })
    assert.equal(before, f.traces)
    f(mc.zeros { 1 })
    assert.equal(before + 1, f.traces)
  end)
  it('drops the tensors that a variable held before', function()
    local w = mc.ones { 1000, 100 }
    local f = mc.compile(function(t) return t + w[1][1] end)
    f(x)
    for v = 1, 20 do
      w = mc.full({ 1000, 100 }, v)
      assert.equal(v + 1, f(x)[1]:item())
    end
    collectgarbage()
    collectgarbage()
    local before = mc.memory().live
    for v = 1, 20 do
      w = mc.full({ 1000, 100 }, v)
      f(x)
      collectgarbage()
      collectgarbage()
    end
    assert.truthy(mc.memory().live <= before + 2 * 800000)
  end)
end)
