-- device_programs_spec.lua - masks, writes, loops, choices and derivatives on `ref`: the bits of the CPU, at once and
-- compiled; operands of several devices are one error at every entry.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'

local function near(x, list) return mc.tensor(list, { dtype = 'i64' }):to(x.device) end

local function small(a) return a:sum():lt(100) end
local function grown(a) return a * 1.5 + 1 end

-- functions of a matrix [4, 5]; those whose names begin with `at once` have results of a size that depends on values
local PROGRAMS = {
  ['at once: a mask'] = function(x) return x[x:gt(0)] end,
  ['at once: a mask of rows'] = function(x) return x[x[{ mc.all, 1 }]:gt(0)] end,
  ['at once: a mask of rows is written'] = function(x)
    local y = x:copy()
    y[y[{ mc.all, 1 }]:gt(0)] = { 1, 2, 3, 4, 5 }
    return y
  end,
  ['a mask is written'] = function(x)
    local y = x:copy()
    y[y:gt(0)] = 0
    return y
  end,
  ['rows are written'] = function(x)
    local y = x:copy()
    y[near(x, { 1, 3 })] = 7
    return y * 2
  end,
  ['columns are written'] = function(x)
    local y = x:copy()
    y[{ mc.all, near(x, { 5, 2 }) }] = x['1:2, 1:2'][1]
    return y
  end,
  ['positions are added to'] = function(x) return x:copy():index_add_(near(x, { 1, 1, 4 }), 5) end,
  scan = function(x)
    local last, rows = mc.scan(function(c, r) return c + r, c * 2 end, x[1], x)
    return mc.concat({ rows, last:reshape(1, 5) }, 1)
  end,
  ['scan from a number'] = function(x)
    local last, rows = mc.scan(function(c, r) return c + r:sum(), r * c end, 0, x)
    return rows + last
  end,
  ['while_loop'] = function(x) return mc.while_loop(small, grown, x) end,
  ['while_loop with a number'] = function(x)
    local function below(s) return s[1]:lt(5) end
    return mc.while_loop(below, function(s) return { s[1] + 1, s[2] * 1.5 + s[1] } end, { 0, x })[2]
  end,
  ['while_loop with max_steps'] = function(x) return mc.while_loop(small, grown, x, { max_steps = 9 }) end,
  fori_loop = function(x) return mc.fori_loop(1, 3, function(i, a) return a * i end, x) end,
  ['fori_loop to a tensor'] = function(x)
    return mc.fori_loop(1, x:gt(0):sum():to 'i64':clip(1, 3), function(i, a) return a * i end, x)
  end,
  cond = function(x) return mc.cond(x:sum():gt(0), function(a) return a + 1 end, function(a) return a - 1 end, x) end,
  switch = function(x)
    return mc.switch(x:gt(0):sum():to 'i64' - 9, { function(a) return a + 1 end, function(a) return a - 1 end }, x)
  end,
  grad = function(x) return mc.grad(function(a) return (mc.exp(a) * a['::2, ::-1'][1]):sum() end)(x) end,
  ['grad of a scan'] = function(x)
    return mc.grad(function(a)
      local last, rows = mc.scan(function(c, r) return c * r, c * 2 end, a[1], a)
      return last:sum() + rows:sum()
    end)(x)
  end,
  ['grad of a choice'] = function(x)
    return mc.grad(function(a) return mc.cond(a:sum():gt(0), function(b) return b * b end, mc.exp, a):sum() end)(x)
  end,
  jvp = function(x) return (mc.jvp(function(a) return a * 2 + a:sum() end, { x }, { x })) end,
  vmap = function(x) return mc.vmap(function(a) return mc.cumsum(a) / a:sum() end)(x) end,
}
local NAMES = {}
for name in pairs(PROGRAMS) do NAMES[#NAMES + 1] = name end
table.sort(NAMES)

describe('on a device', function()
  local function same(f, g)
    mc.scope(function()
      for seed = 1, 2 do
        local x = mc.randn({ 4, 5 }, { seed = seed })
        local want, got = f(x), g(x:to 'ref')
        assert.equal('ref:0', got.device)
        assert.is_true(mc.array_equal(want, got:to 'cpu'))
      end
    end)
  end
  for _, name in ipairs(NAMES) do
    local f = PROGRAMS[name]
    it(name, function()
      same(f, f)
      if not name:find '^at once' then same(f, mc.compile(f)) end
    end)
  end

  it('numbers reach compiled loops as values', function()
    local function f(x, n) return mc.fori_loop(1, 3, function(i, a) return a * i + n end, x) end
    local g = mc.compile(f)
    mc.scope(function()
      local x = mc.randn({ 4, 5 }, { seed = 1 })
      for n = 1, 3 do assert.is_true(mc.array_equal(f(x, n), g(x:to 'ref', n):to 'cpu')) end
    end)
  end)

  it('counts and edges of a histogram have the bits of the CPU', function()
    mc.scope(function()
      local x = mc.randn({ 500 }, { seed = 1 })
      local list = { { bins = 7 }, { bins = { -1, 0, 2 } }, { bins = 'fd', density = true }, { weights = x * x } }
      for _, o in ipairs(list) do
        local there = { bins = o.bins, density = o.density, weights = o.weights and o.weights:to 'ref' }
        local counts, edges = mc.histogram(x, o)
        local got, at = mc.histogram(x:to 'ref', there)
        assert.is_true(mc.array_equal(counts, got:to 'cpu') and mc.array_equal(edges, at:to 'cpu'))
      end
    end)
  end)

  it('distinct elements are found on the CPU only', function()
    for _, f in ipairs { mc.unique, mc.unique_values, mc.unique_all } do
      assert.matches('the size of its result depends on values, so that it has a form on the CPU only',
        support.message(function() return f(mc.ones({ 3 }, { device = 'ref' })) end))
    end
  end)

  it('members of sets are found by a table, by order and among nothing', function()
    local x, s = mc.arange(1, 20):to 'i64', mc.tensor({ 3, 5, 19, 40 }, { dtype = 'i64' })
    for _, set in ipairs { s, s:to 'i16', mc.zeros({ 0 }, { dtype = 'i64' }), s:to 'f64' } do
      local found = mc.isin(x:to 'ref', set:to 'ref')
      assert.equal('ref:0', found.device)
      assert.same(mc.isin(x, set):totable(), found:totable())
    end
  end)

  it('the tape goes through', function()
    mc.scope(function()
      local x = mc.randn({ 4, 5 }, { seed = 1 }):to 'ref'
      local leaf = x:copy():requires_grad();
      (leaf * leaf):sum():backward()
      assert.equal('ref:0', leaf.grad.device)
      assert.is_true(mc.array_equal(x * 2, leaf.grad))
      leaf:requires_grad(false) -- ends the tape
    end)
  end)
end)

describe('tensors of several devices are one error', function()
  local x, y, log, double
  setup(function()
    x, y = mc.ones { 3, 3 }, mc.ones({ 3, 3 }, { device = 'ref' })
    log = mc.custom_vjp(mc.log, {
      forward = function(a) return mc.log(a), a end,
      backward = function() return mc.ones { 3, 3 } end,
    })
    double = function(c, r) return c * 2, r end
  end)
  teardown(function() x, y, log, double = nil, nil, nil, nil end)
  local function first(t) return t[1] end
  local function second(t) return t[2] end

  local ENTRIES = {
    add = function() return x + y end,
    matmul = function() return y:matmul(x) end,
    copy = function() return y:copy_(x) end,
    index = function() y:copy()[mc.tensor({ 1 }, { dtype = 'i64' })] = 1 end,
    take = function() return mc.take(y, mc.tensor({ 1 }, { dtype = 'i64' }), 1) end,
    compile = function() return mc.compile(function(a, b) return a * 2, b * 2 end)(x, y) end,
    scan = function() return mc.scan(double, x[1], y) end,
    while_loop = function()
      return mc.while_loop(function(s) return s[1]:sum():lt(9) end, function(s) return s end, { x, y })
    end,
    fori_loop = function() return mc.fori_loop(1, 2, function(_, s) return s end, { x, y }) end,
    cond = function() return mc.cond(x:sum():gt(0), first, second, { x, y }) end,
    histogram = function() return mc.histogram(y, { bins = mc.tensor { 0, 1, 2 } }) end,
    concat = function() return mc.concat { x, y } end,
    switch = function() return mc.switch(x:sum():to 'i64', { first, second }, { x, y }) end,
    custom_vjp = function() return mc.grad(function(a) return log(a):sum() end)(y) end,
  }
  local names = {}
  for name in pairs(ENTRIES) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    it(name, function()
      local m = support.message(ENTRIES[name])
      local operand = '[%w_]+%[[%d,]*%]@[%w:]+'
      local written = name == 'copy' or name == 'index'
      local pattern = '%s: operands are on different devices, %s and %s%s; move %s with :to "ref:0"'
      assert.matches(pattern:format(name, operand, written and 'the target ' or '', operand,
        written and 'the former' or 'one'), m)
      assert.matches('@cpu.*@ref:0.*move', (m:gsub('(@ref:0)(.*)(@cpu)', '%3%2%1')))
    end)
  end

  it('but what decides may lie in host memory', function()
    local decides = x:sum():gt(0)
    assert.is_true(mc.array_equal(y:exp(), mc.cond(decides, mc.exp, mc.log, y)))
    assert.is_true(mc.array_equal(y:log(), mc.switch(x[{ 1, 1 }]:to 'i64' + 1, { mc.exp, mc.log }, y)))
  end)
end)
