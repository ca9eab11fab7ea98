-- random_key_spec.lua - keys as values that are known when a function runs: one trace serves all of them, and gives the
-- numbers of the plain function.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes() -- specs that ran earlier may hold some
local mc = require 'mascon'
local R = mc.random
local laws = support.load 'random_laws'

local KEYS = { R.key(1), R.key(2 ^ 40 + 17), R.key(3):split(2)[2], R.key(4):fold_in(2 ^ 33), R.key(0) }

--- Two trees of tensors, keys and numbers are the same to the bit.
local function same(want, got, what)
  if mc.is_tensor(want) then
    assert(mc.is_tensor(got) and want.dtype == got.dtype and tostring(want.shape) == tostring(got.shape)
      and mc.array_equal(want, got, { equal_nan = true }), what .. ': other numbers')
  elseif type(want) == 'table' and getmetatable(want) == nil then
    for k, v in pairs(want) do same(v, got[k], ('%s.%s'):format(what, tostring(k))) end
  else
    assert(want == got, ('%s: %s, want %s'):format(what, tostring(got), tostring(want)))
  end
end

--- f(key, ...) plain against f compiled, for several keys, with one trace.
local function compiled(what, f, ...)
  local g = mc.compile(f)
  for k, key in ipairs(KEYS) do
    same({ f(key, ...) }, { g(key, ...) }, ('%s, key %d'):format(what, k))
  end
  assert.equal(1, g.traces, what)
  return g
end

--- f(key) over stacked keys against the loop.
local function batched(what, f)
  local rows = {}
  for i, key in ipairs(KEYS) do rows[i] = f(key) end
  local want = mc.stack(rows, 1)
  same(want, mc.vmap(f)(R.keys(KEYS)), what .. ': vmap')
  local g = mc.compile(mc.vmap(f))
  for call = 1, 2 do same(want, g(R.keys(KEYS)), ('%s: compiled vmap, call %d'):format(what, call)) end
end

local function refuse(text, f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok)
  assert(tostring(message):find(text, 1, true), ('%q does not say %q'):format(tostring(message), text))
end

-- ways to draw beside the distributions of the table of laws
local OTHERS = {
  dirichlet = function(key) return R.dirichlet { 3, alpha = { 1, 2, 3 }, key = key } end,
  multivariate_normal = function(key) return R.multivariate_normal { 2, cov = { { 4, 2 }, { 2, 3 } }, key = key } end,
  multinomial = function(key) return R.multinomial { 4, n = 20, p = { 1, 2, 3 }, key = key } end,
  wishart = function(key) return R.wishart { 2, df = 5, scale = { { 1, 0 }, { 0, 2 } }, key = key } end,
  permutation = function(key) return R.permutation(9, { key = key }) end,
  choice = function(key) return R.choice(9, { 4 }, { replace = false, key = key }) end,
  weighted = function(key) return R.choice(3, { 4 }, { p = { 1, 2, 3 }, key = key }) end,
  sobol = function(key) return R.sobol { 5, 3, key = key } end,
  halton = function(key) return R.halton { 5, 3, key = key } end,
  latin_hypercube = function(key) return R.latin_hypercube { 5, 2, key = key } end,
  generator = function(key)
    local g = R.generator(key)
    return g:normal { 3 } + g:uniform { 3 }
  end,
  stream = function(key) return mc.randn { 3, key = key, stream = 5 } + mc.rand({ 3 }, { key = key }) end,
}

describe('a key as an argument of a compiled function', function()
  for name, cases in pairs(laws) do
    it('serves ' .. name, function()
      for at, case in ipairs(cases) do
        compiled(('%s, case %d'):format(name, at), function(key)
          local o = { 7, key = key }
          for k, v in pairs(case.p) do o[k] = v end
          return R[name](o)
        end)
      end
    end)
  end
  for name, f in pairs(OTHERS) do
    it('serves ' .. name, function() compiled(name, f) end)
  end

  it('is derived from inside, in any depth', function()
    compiled('split and fold_in', function(key, x)
      local a, b = unpack(key:split(2))
      local c = b:fold_in(5):split(3)[2]
      return R.normal({ 3 }, { key = a }) * x, R.uniform({ 2, 2 }, { key = b, dtype = 'f32' }),
        R.integers({ 4 }, { low = 0, high = 9, key = c }), c
    end, 2)
  end)

  it('folds numbers in that are arguments or elements of tensors', function()
    local g = mc.compile(function(key, step, t)
      return R.normal({ 3 }, { key = key:fold_in(step) }), R.normal({ 3 }, { key = key:fold_in(t[2]) })
    end)
    for step = 0, 4 do
      local t = mc.tensor({ 9, step * 2 ^ 45 }, { dtype = 'i64' })
      same({ R.normal({ 3 }, { key = KEYS[1]:fold_in(step) }),
        R.normal({ 3 }, { key = KEYS[1]:fold_in(step * 2 ^ 45) }) }, { g(KEYS[1], step, t) }, 'fold_in')
    end
    assert.equal(1, g.traces)
    refuse('key:fold_in: i is 2.5; give a whole number', g, KEYS[1], 2.5, mc.tensor({ 1, 2 }, { dtype = 'i64' }))
    refuse('key:fold_in: i is -1', g, KEYS[1], 1, mc.tensor({ 1, -1 }, { dtype = 'i64' }))
  end)

  it('comes and goes in trees, beside tensors, and from a call to the next', function()
    local function step(s)
      local a, b = unpack(s.key:split())
      return { key = a, x = s.x * 0.5 + R.normal({ 3 }, { key = b }) }
    end
    local g = mc.compile(step)
    local want, got = { key = KEYS[2], x = mc.zeros { 3 } }, { key = KEYS[2], x = mc.zeros { 3 } }
    for turn = 1, 5 do
      want, got = step(want), g(got)
      same(want, got, 'turn ' .. turn)
    end
    assert.equal(1, g.traces)
    assert.equal(tostring(want.key), tostring(got.key))
  end)

  it('may be one of a stack, or a stack', function()
    local function f(key) return R.normal({ 3 }, { key = key }) end
    local g = mc.compile(f)
    for i, key in ipairs(KEYS) do same(f(key), g(R.keys(KEYS)[i]), 'element of a stack') end
    assert.equal(1, g.traces)
    local h = mc.compile(function(keys) return R.normal({ 3 }, { key = keys[2] }) end)
    for i = 1, 3 do same(f(KEYS[i + 1]), h(R.keys { KEYS[i], KEYS[i + 1] }), 'stack') end
    assert.equal(1, h.traces)
    refuse('key: it is one key, and was asked for element 2', h, KEYS[1])
  end)

  it('is no constant to any pass: what is drawn twice is drawn once, what differs stays apart', function()
    local g = compiled('passes', function(key)
      local a, b = unpack(key:split())
      return R.normal({ 4 }, { key = a }) + R.normal({ 4 }, { key = a }), R.normal({ 4 }, { key = b }),
        R.normal({ 4 }, { key = a, stream = 1 }), R.normal({ 4 }, { key = 3 }) * 2
    end)
    local draws = 0
    for line in tostring(g:graph()):gmatch '[^\n]+' do
      if line:find('random_normal', 1, true) then draws = draws + 1 end
    end
    assert.equal(3, draws) -- of five: one is merged, one has a key of its own and is computed beforehand
    for _, name in ipairs { 'fold', 'cse', 'dce', 'algebra', 'fuse' } do
      local h = mc.compile(function(key)
        return R.normal({ 3 }, { key = key }) * 2 + R.uniform({ 3 }, { key = key })
      end, { passes = { [name] = false } })
      for _, key in ipairs(KEYS) do
        same(R.normal({ 3 }, { key = key }) * 2 + R.uniform({ 3 }, { key = key }), h(key), 'without ' .. name)
      end
    end
  end)

  it('has no bits while the function is traced', function()
    refuse('is not known yet', mc.compile(function(key) return key.lo > 3 and 1 or 2 end), KEYS[1])
    refuse('seed is f64[]@cpu; give a whole number',
      mc.compile(function(n) return R.normal({ 2 }, { key = R.key(n) }) end), 5)
    local g = mc.compile(function(n) return R.normal({ 2 }, { key = R.key(n) }) end)
    for n = 1, 3 do same(R.normal({ 2 }, { key = n }), g(mc.tensor({ n }, { dtype = 'i64' })), 'integers are seeds') end
  end)
end)

describe('loops', function()
  local function by_hand(key, n, f)
    local x = mc.zeros { 3 }
    for i = 1, n do x, key = f(x, key, i) end
    return x, key
  end
  local function turn(x, key)
    local a, b = unpack(key:split())
    return x * 0.5 + R.normal({ 3 }, { key = b }), a
  end
  local function folded(x, key, i) return x * 0.5 + R.normal({ 3 }, { key = key:fold_in(i) }), key end

  it('carry a key that is split in every turn', function()
    local function scanned(key)
      local c, ys = mc.scan(function(c)
        local x, k = turn(c.x, c.key)
        return { x = x, key = k }, x
      end, { x = mc.zeros { 3 }, key = key }, nil, { length = 6 })
      return c.x, c.key, ys
    end
    compiled('scan', scanned)
    for _, key in ipairs(KEYS) do
      local x, k = by_hand(key, 6, turn)
      same({ x, k }, { scanned(key) }, 'plain scan')
      local s = mc.while_loop(function(s) return s.i < 6 end, function(s)
        local y, l = turn(s.x, s.key)
        return { i = s.i + 1, x = y, key = l }
      end, { i = 0, x = mc.zeros { 3 }, key = key })
      same({ x, k }, { s.x, s.key }, 'while_loop')
    end
    compiled('while_loop', function(key, n)
      local s = mc.while_loop(function(s) return mc.lt(s.i, n) end, function(s)
        local y, l = turn(s.x, s.key)
        return { i = s.i + 1, x = y, key = l }
      end, { i = 0, x = mc.zeros { 3 }, key = key })
      return s.x, s.key
    end, 6)
  end)

  it('fold the number of the turn into a key from outside', function()
    local function looped(key)
      return mc.fori_loop(1, 6, function(i, x) return (folded(x, key, i)) end, mc.zeros { 3 })
    end
    compiled('fori_loop', looped)
    for _, key in ipairs(KEYS) do same(by_hand(key, 6, folded), looped(key), 'plain fori_loop') end
  end)

  it('run along stacked keys, also those made inside', function()
    local function along(keys)
      local _, ys = mc.scan(function(c, k) return c, R.normal({ 3 }, { key = k }) end, 0, keys)
      return ys
    end
    local rows = {}
    for i, key in ipairs(KEYS) do rows[i] = R.normal({ 3 }, { key = key }) end
    local g = mc.compile(along)
    for call = 1, 2 do same(mc.stack(rows, 1), g(R.keys(KEYS)), 'call ' .. call) end
    same(mc.stack(rows, 1), along(R.keys(KEYS)), 'plain')
    compiled('keys made inside', function(key) return along(R.keys(key, 4)) end)
  end)

  it('choose with keys', function()
    compiled('cond', function(key)
      local u = R.uniform({}, { key = key })
      return mc.cond(mc.gt(u, 0.5), function(k) return R.normal({ 2 }, { key = k }), k end,
        function(k) return R.uniform({ 2 }, { key = k }), k:fold_in(1) end, key)
    end)
  end)

  it('refuse a carry that was a key and is none', function()
    refuse('scan: structure of carry is a key before the step and a tensor after it', mc.scan,
      function(c) return c:words() end, KEYS[1], nil, { length = 2 })
  end)
end)

describe('vmap', function()
  it('draws from every key what the loop draws', function()
    for name, cases in pairs(laws) do
      batched(name, function(key)
        local o = { 5, key = key }
        for k, v in pairs(cases[1].p) do o[k] = v end
        return R[name](o)
      end)
    end
    for name, f in pairs(OTHERS) do batched(name, f) end
    batched('a number', function(key) return R.normal({}, { key = key }) end)
    batched('derived', function(key) return R.normal({ 3 }, { key = key:split(3)[2]:fold_in(9) }) end)
    batched('a loop', function(key)
      return mc.fori_loop(1, 3, function(i, x) return x + R.normal({ 2 }, { key = key:fold_in(i) }) end, mc.zeros { 2 })
    end)
  end)

  it('takes parameters, numbers folded in, and keys, batched or not', function()
    local mean, i = mc.tensor { 0, 10, 20, 30, 40 }, mc.arange(0, 4, 1, { dtype = 'i64' })
    local function draw(key, m, k) return R.normal({ 2, 3 }, { key = key:fold_in(k), mean = m }) end
    for _, how in ipairs { { 1, 1, 1 }, { false, 1, 1 }, { 1, false, 1 }, { 1, 1, false }, { false, 1, false },
      { false, false, 1 } } do
      local function at(list, axis, b) if axis then return list[b] else return list[2] end end
      local rows = {}
      for b = 1, 5 do rows[b] = draw(at(KEYS, how[1], b), at(mean, how[2], b), at(i, how[3], b)) end
      local args = { how[1] and R.keys(KEYS) or KEYS[2], how[2] and mean or mean[2], how[3] and i or i[2] }
      same(mc.stack(rows, 1), mc.vmap(draw, { in_axes = how })(unpack(args)), 'vmap')
    end
    local p = mc.tensor { { 1, 2, 3 }, { 5, 1, 1 } }
    local got = mc.vmap(function(q) return R.multinomial({ 4 }, { n = 30, p = q, key = 5 }) end)(p)
    for b = 1, 2 do same(R.multinomial({ 4 }, { n = 30, p = p[b], key = 5 }), got[b], 'weights') end
  end)

  it('nests, and gives keys back', function()
    local inner = R.keys { KEYS[1], KEYS[2] }
    local got = mc.vmap(function(key) return mc.vmap(function(i) return R.normal({ 2 }, { key = key:fold_in(i) }) end)(
      mc.tensor({ 3, 4, 5 }, { dtype = 'i64' })) end)(inner)
    for a = 1, 2 do for b = 1, 3 do same(R.normal({ 2 }, { key = KEYS[a]:fold_in(b + 2) }), got[a][b], 'nested') end end
    local keys = mc.vmap(function(key) return key:fold_in(1) end)(inner)
    same(KEYS[2]:fold_in(1), keys[2], 'keys')
    assert.equal('2 keys', tostring(keys))
  end)
end)

describe('derivatives', function()
  local function f(p, key)
    local a, b = unpack(key:split())
    return mc.sum(R.normal({ 3 }, { mean = p.m, std = p.s, key = a }) ^ 2) * R.uniform({}, { key = b })
  end
  local function point() return { m = mc.tensor { 1, 2, 3 }, s = mc.tensor(0.5) } end
  it('pass keys by', function()
    local p = point()
    local g = mc.grad(f)
    local c = mc.compile(g)
    for _, key in ipairs(KEYS) do
      local a, b = unpack(key:split())
      local z, u = R.normal({ 3 }, { key = a }), R.uniform({}, { key = b })
      local x = p.m + p.s * z
      assert.is_true(mc.allclose(g(p, key).m, 2 * x * u, { rtol = 1e-12 }))
      assert.is_true(mc.allclose(g(p, key).s, mc.sum(2 * x * z) * u, { rtol = 1e-12 }))
      same(g(p, key), c(p, key), 'compiled')
      same(g(p, key), mc.grad(mc.checkpoint(f))(p, key), 'checkpoint')
    end
    assert.equal(1, c.traces)
    local value, moved = mc.jvp(f, { p, KEYS[1] }, { { m = mc.ones { 3 }, s = mc.zeros {} }, nil })
    same(f(p, KEYS[1]), value, 'value')
    assert.is_true(mc.allclose(moved, mc.sum(g(p, KEYS[1]).m), { rtol = 1e-12 }))
    assert.equal('f64[]@cpu 0', tostring(mc.grad(f, { argnums = { 1, 2 } })(p, KEYS[1])[2]))
  end)
  it('go through loops that carry keys', function()
    local p = point()
    local function loss(x, key)
      local c = mc.scan(function(c)
        local a, b = unpack(c.key:split())
        return { x = c.x * 0.9 + R.normal({ 3 }, { key = b }) * x, key = a }, nil
      end, { x = x, key = key }, nil, { length = 4 })
      return mc.sum(c.x * c.x)
    end
    local function unrolled(x, key)
      local y = x
      for _ = 1, 4 do
        local a, b = unpack(key:split())
        y, key = y * 0.9 + R.normal({ 3 }, { key = b }) * x, a
      end
      return mc.sum(y * y)
    end
    for _, key in ipairs(KEYS) do
      assert.is_true(mc.allclose(mc.grad(loss)(p.m, key), mc.grad(unrolled)(p.m, key), { rtol = 1e-12 }))
    end
    compiled('grad of scan', function(key) return mc.grad(loss)(p.m, key) end)
  end)
end)

describe('stacked keys', function()
  it('are those of split, of a list, or of words that were kept', function()
    local keys = R.keys(KEYS[1], 3)
    for i, key in ipairs(KEYS[1]:split(3)) do same(key, keys[i], 'of a key') end
    assert.is_true(R.keys(keys:words()) == keys)
    assert.is_true(R.keys(KEYS)[2] == KEYS[2])
    assert.is_false(R.keys(KEYS[2], 3) == keys)
    for _, key in ipairs(KEYS) do same(key, R.keys(key:words()), 'words') end
    assert.equal(tostring(KEYS[3]), tostring(R.keys(KEYS)[3]))
    assert.equal(KEYS[3].hi, R.keys(KEYS)[3].hi)
  end)
  it('are refused where one is wanted', function()
    local keys = R.keys(KEYS)
    refuse('random.normal: the key is 5 keys; name one of them', R.normal, { 2 }, { key = keys })
    refuse('key:split: the key is 5 keys', keys.split, keys)
    refuse('key:fold_in: the key is 5 keys', keys.fold_in, keys, 1)
    refuse('random.keys: the words are f64[2]', R.keys, mc.zeros { 2 })
    refuse('random.keys: the first argument is', R.keys, { 1, 2 })
    refuse('random.keys: n is', R.keys, KEYS[1])
    refuse('key:fold_in: i is f64[2]', KEYS[1].fold_in, KEYS[1], mc.zeros { 2 })
    refuse('vmap: argument 1 is i64[]', mc.vmap(function(k) return R.normal({ 2 }, { key = k }) end), KEYS[1])
  end)
end)

it('leaves no tensor behind', function() assert.equal(BEFORE, support.tensor_bytes()) end)
