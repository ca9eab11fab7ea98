-- patterns_spec.lua - fusions that users register: which rows of ops are found, and what is refused.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local property, programs = support.load 'property', support.load 'programs'
local register = mc.nn.register_pattern

local function x(...) return mc.randn({ ... }, { seed = 3 }) end

--- What the pass found in f for these arguments; its results are those of f.
local function found(f, ...)
  local g, want = mc.compile(f, { tier = 'vm' }), f(...)
  for _ = 1, 2 do assert.is_true(mc.allclose(want, g(...), { rtol = 1e-12 })) end
  for _, r in ipairs(g:explain().passes) do
    if r.name == 'patterns' then return table.concat(r.did.found, ' '), g end
  end
end

--- f() while these patterns are registered: { name, ops, function, options }.
local function with(list, f)
  local remove = {}
  for i, p in ipairs(list) do remove[i] = register(unpack(p)) end
  local ok, e = pcall(f)
  for _, r in ipairs(remove) do r() end
  if not ok then error(e, 0) end
end

local SOFTPLUS = { 'softplus', { 'exp', 'add', 'log' }, function(a) return mc.nn.softplus(a) end }
local function plain(a) return mc.log(mc.exp(a * 3) + 1) * 2 end

describe('a registered pattern', function()
  it('does the work of its ops, until it is removed', function()
    with({ SOFTPLUS }, function()
      local names, g = found(plain, x(4, 5))
      assert.equal('softplus', names)
      assert.equal(1600 * 3, g(mc.full({ 4, 5 }, 800))[{ 1, 1 }]:item()) -- exp alone is infinite there
      assert(tostring(g:explain()):find('patterns  5 -> 3 nodes, softplus', 1, true), tostring(g:explain()))
      local off = mc.compile(plain, { passes = { patterns = false }, tier = 'vm' })
      for _ = 1, 2 do assert.equal(math.huge, off(mc.tensor { 800 }):item()) end
    end)
    assert.equal('', (found(plain, x(4, 5))))
  end)

  it('is found in gradients and from layouts of operands', function()
    with({ { 'twice', { 'add', 'tanh' }, function(a, b) return mc.tanh(b + a) end } }, function()
      local function f(a, b) return mc.tanh(a.T + b[{ mc.all, { 1, 6, 2 } }]) end
      assert.equal('twice', (found(f, x(3, 4), x(4, 6))))
      local function loss(a) return mc.sum(mc.square(mc.tanh(a + 1))) end
      assert.equal('twice', (found(mc.grad(loss), x(5)))) -- the way back reads the tanh, not the sum
    end)
  end)

  it('gives way to a longer one, and takes the end of a row first', function()
    local seen = {}
    local function named(name, ops, f)
      return { name, ops, function(...)
        seen[#seen + 1] = name
        return f(...)
      end }
    end
    with({ named('pair', { 'sin', 'cos' }, function(a) return mc.cos(mc.sin(a)) end),
      named('three', { 'sin', 'cos', 'sin' }, function(a) return mc.sin(mc.cos(mc.sin(a))) end) }, function()
      assert.equal('three', (found(function(a) return mc.sin(mc.cos(mc.sin(a))) end, x(4))))
      assert.equal('pair three', (found(function(a)
        return mc.sin(mc.cos(mc.sin(mc.cos(mc.sin(a)))))
      end, x(4))))
      -- the first sine belongs to the longer one of the end
      assert.equal('three', (found(function(a) return mc.sin(mc.cos(mc.sin(mc.exp(a)))) end, x(4))))
      assert.equal('pair', (found(function(a)
        local s = mc.sin(a)
        return mc.cos(mc.sin(mc.cos(s))) + s
      end, x(4)))) -- the inner pair is read elsewhere
    end)
  end)

  it('minds the place of an operand and its own condition', function()
    local function turned(a, b) return mc.subtract(b, mc.exp(a)) end
    with({ { 'second', { 'exp', { 'subtract', at = 2 } }, turned } }, function()
      assert.equal('second', (found(function(a, b) return b - mc.exp(a) end, x(3), x(3))))
      assert.equal('', (found(function(a, b) return mc.exp(a) - b end, x(3), x(3))))
    end)
    local function wide(a) return a.dtype == 'f64' and a.shape[2] >= 8 end
    with({ { 'wide', { 'exp', 'sum' }, function(a) return mc.sum(mc.exp(a), 2) end, { when = wide } } }, function()
      local function f(a) return mc.sum(mc.exp(a), 2) end
      assert.equal('wide', (found(f, x(3, 8))))
      assert.equal('', (found(f, x(3, 7))))
    end)
  end)

  it('that does something else is an error, not another result', function()
    local a = x(3, 3)
    local function try(p, f)
      local text
      with({ p }, function() text = support.message(mc.compile(f, { tier = 'vm' }), a) end)
      return text
    end
    assert(try({ 'p', { 'exp', 'sum' }, function(t) return mc.sum(mc.exp(t), 2) end }, function(t)
      return mc.sum(mc.exp(t), 1)
    end):find('pattern p gives other numbers than the ops', 1, true))
    assert(try({ 'p', { 'exp' }, function(t) return mc.sum(mc.exp(t)) end }, mc.exp)
      :find('the function of pattern p gives f64[]@cpu, where the ops give f64[3,3]', 1, true))
    assert(try({ 'p', { 'exp' }, function(t) return t:add_(1) end }, mc.exp):find('writes to its operands', 1, true))
    assert(support.message(register, 'p', { 'exx' }, mc.exp):find('did you mean exp?', 1, true))
    assert(support.message(register, 'p', {}, mc.exp):find('ops is empty', 1, true))
  end)
end)

describe('patterns that stand for each op', function()
  it('change no bit of random programs', function()
    local list = { { 'row', { 'multiply', { 'add', at = 1 } }, function(a, b, c) return a * b + c end } }
    for name in ('add multiply subtract divide tanh exp sin cos sqrt abs negative maximum minimum square where')
      :gmatch '%a+' do list[#list + 1] = { name, { name }, mc[name] } end
    with(list, function()
      local hits = 0
      property.check(function(draw)
        local f, args = programs.draw(draw, draw(1, 14))
        local want = f(unpack(args))
        local g = mc.compile(f, { tier = 'vm' })
        for call = 1, 2 do programs.same(want, g(unpack(args)), 'call ' .. call) end
        for _, r in ipairs(g:explain().passes) do hits = hits + (r.name == 'patterns' and #r.did.found or 0) end
      end, 60)
      assert(hits > 30, hits)
    end)
  end)
end)
