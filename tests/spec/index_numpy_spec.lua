-- index_numpy_spec.lua - index expressions in every mixture, read, written and accumulated, against NumPy's answers and
-- plain loops.
--
-- x holds 1, 2, 3, ..., so that the elements of x[key] say where they came from. The plain reference
-- (tests/support/index_reference.lua) is itself held to NumPy's stored answers, then draws expressions of its own with
-- printed seeds; one that fails is shrunk.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes() -- specs that ran earlier may hold some
local mc = require 'mascon'
local reference, sample = support.load 'index_reference', support.load 'sample'
local read = sample.read

local function stored()
  local f = assert(io.open(support.folder .. '/golden/index_expressions.json'))
  local text = f:read '*a'
  f:close()
  return mc.json.decode(text).cases
end

-- the key as the library takes it; dtypes of positions take turns
local INTEGER = { 'i64', 'i32', 'i16', 'i8' }
local function build(key, turn)
  local out = {}
  for k, v in ipairs(key) do
    if v == 'all' then
      out[k] = mc.all
    elseif v == 'new' then
      out[k] = mc.newaxis
    elseif v == 'dots' then
      out[k] = mc.ellipsis
    elseif type(v) == 'number' then
      out[k] = v
    elseif v.r then
      out[k] = { v.r[1], v.r[2], v.r[3] }
    elseif v.i then
      out[k] = sample.from(v.s, INTEGER[(turn + k) % 4 + 1], v.i)
    else
      out[k] = sample.from(v.s, 'bool', v.m)
    end
  end
  return out
end

local function size(shape)
  local n = 1
  for i = 1, #shape do n = n * shape[i] end
  return n
end

-- 1, 2, 3, ... of a shape, lying in memory in several ways
local LAYOUT = {
  contiguous = function(shape) return mc.arange(1, size(shape)):reshape(shape) end,
  transposed = function(shape)
    local back, order = {}, {}
    for i = 1, #shape do back[i], order[i] = shape[#shape + 1 - i], #shape + 1 - i end
    local x = mc.zeros(back):permute_dims(order)
    x[mc.all] = mc.arange(1, size(shape)):reshape(shape)
    return x
  end,
  strided = function(shape)
    local wide, key = {}, {}
    for i = 1, #shape do wide[i], key[i] = 2 * shape[i] + 1, { 2, 2 * shape[i], 2 } end
    local x = mc.zeros(wide)[key]
    x[mc.all] = mc.arange(1, size(shape)):reshape(shape)
    return x
  end,
}

local function compare(got, want, what)
  for i = 1, math.max(#got, #want) do
    if got[i] ~= want[i] then
      error(('%s: element %d is %s, want %s'):format(what, i, tostring(got[i]), tostring(want[i])), 0)
    end
  end
end

-- reads, writes and accumulates through one key
local function check(shape, key, layout, turn)
  local result, taken = reference.take(shape, key)
  local n, k = size(shape), build(key, turn)
  local x = LAYOUT[layout](shape)
  local y = x[k]
  assert(table.concat(y.shape, ',') == table.concat(result, ','),
    ('shape {%s}, want {%s}'):format(table.concat(y.shape, ','), table.concat(result, ',')))
  compare(read(y), taken, 'x[key]')
  local value, last, sums = {}, {}, {}
  for i = 1, n do last[i], sums[i] = i, i end
  for i, p in ipairs(taken) do
    value[i] = 100 + i
    last[p], sums[p] = value[i], sums[p] + value[i]
  end
  local v = sample.from(result, 'f64', value)
  x[k] = v
  compare(read(x), last, 'x[key] = v')
  x = LAYOUT[layout](shape)
  assert(rawequal(x:index_add_(k, v), x))
  compare(read(x), sums, 'x:index_add_(key, v)')
  local before = LAYOUT[layout](shape)
  compare(read(mc.put(before, k, v)), last, 'mc.put(x, key, v)')
  compare(read(mc.put(before, k, v, { accumulate = true })), sums, 'mc.put(x, key, v, { accumulate = true })')
  compare(read(mc.index_add(before, k, 1)), (function()
    local ones = {}
    for i = 1, n do ones[i] = i end
    for _, p in ipairs(taken) do ones[p] = ones[p] + 1 end
    return ones
  end)(), 'mc.index_add(x, key, 1)')
  compare(read(before), read(LAYOUT.contiguous(shape)), 'the operand of mc.put')
end

describe('an index expression', function()
  it('takes what NumPy takes, as do the plain loops', function()
    for i, case in ipairs(stored()) do
      local result, taken = reference.take(case.shape, case.key)
      local what = ('case %d, {%s}[%s]'):format(i, table.concat(case.shape, ','), reference.text(case.key))
      assert(table.concat(result, ',') == table.concat(case.result, ','), ('%s: the loops give shape {%s}, NumPy {%s}')
        :format(what, table.concat(result, ','), table.concat(case.result, ',')))
      compare(taken, case.taken, what)
    end
  end)

  for layout in pairs(LAYOUT) do
    it(('reads, assigns and accumulates in a %s tensor'):format(layout), function()
      for i, case in ipairs(stored()) do
        local ok, e = pcall(check, case.shape, case.key, layout, i)
        if not ok then
          error(('case %d, {%s}[%s]: %s'):format(i, table.concat(case.shape, ','),
            reference.text(case.key), tostring(e)), 0)
        end
      end
    end)
  end

  it('drawn at random does the same', function()
    local names = { 'contiguous', 'transposed', 'strided' }
    for seed = 1, support.gc and 20 or 400 do
      local stream = sample.stream(seed)
      local function draw(lo, hi) return lo + math.floor(stream() * (hi - lo + 1)) end
      local shape, key = reference.draw(draw)
      local layout = names[draw(1, 3)]
      if pcall(reference.take, shape, key) then
        local function fails(s, k) return not pcall(check, s, k, layout, seed) end
        if fails(shape, key) then
          local small = reference.shrink(shape, key, fails)
          local _, e = pcall(check, shape, small, layout, seed)
          error(('seed %d, %s {%s}[%s]: %s'):format(seed, layout, table.concat(shape, ','),
            reference.text(small), tostring(e)), 0)
        end
      end
    end
  end)
end)

describe('accumulation', function()
  it('adds every occurrence in order, in every dtype with sums', function()
    for _, dtype in ipairs { 'u8', 'i8', 'i16', 'i32', 'i64', 'f16', 'bf16', 'f32', 'f64', 'c64', 'c128' } do
      local x = mc.zeros({ 3 }, { dtype = dtype })
      x:index_add_(mc.tensor({ 2, 2, -1 }, { dtype = 'i64' }), 1)
      local got = x:to('f64'):totable()
      assert.same({ 0, 2, 1 }, got, dtype)
    end
  end)

  it('sums halves in single precision where many meet', function()
    local x = mc.zeros({ 4 }, { dtype = 'f16' })
    x:index_add_(mc.ones({ 4096 }, { dtype = 'i64' }), mc.ones({ 4096 }, { dtype = 'f16' }))
    assert.equal(4096, x[1]:item())
  end)

  it('reaches every second element of a large tensor, many and few at a time', function()
    local base = mc.zeros { 20000 }
    local x = base['2::2']
    local at = mc.randperm(10000, { seed = 3 })
    x[at] = mc.arange(1, 10000)
    assert.is_true(mc.array_equal(x[at], mc.arange(1, 10000)))
    x:index_add_(at, 1)
    assert.is_true(mc.array_equal(x[at], mc.arange(2, 10001)))
    x[at[{ { 1, 3 } }]] = -1
    x:index_add_(at[{ { 4, 5 } }], 0.5)
    assert.same({ -1, -1, -1, 5.5, 6.5, 7 }, x[at[{ { 1, 6 } }]]:totable())
    assert.is_false(mc.any(base['1::2']))
  end)

  it('converts the values to the dtype of x', function()
    local x = mc.zeros({ 3 }, { dtype = 'f32' })
    x:index_add_({ { 1, 2 } }, mc.tensor { 1, 2 })
    x:index_add_({ { 1, 2 } }, { 1, 2 })
    assert.same({ 2, 4, 0 }, x:totable())
    assert.equal('f32', x.dtype)
  end)

  it('takes values that share memory with x', function()
    local x = mc.arange(1, 4)
    x:index_add_(mc.tensor({ 4, 3, 2, 1 }, { dtype = 'i64' }), x)
    assert.same({ 5, 5, 5, 5 }, x:totable())
  end)

  it('reaches large tensors alike', function()
    local n = 200000
    local at = mc.randint(1, 1000, { n }, { seed = 5 })
    local x = mc.zeros({ 1000 }, { dtype = 'i64' })
    x:index_add_(at, 1)
    assert.is_true(mc.array_equal(x, mc.bincount(at)['2:']))
    local rows = mc.arange(1, 2000 * 8):reshape(2000, 8)
    local pick = mc.randint(1, 2000, { 50000 }, { seed = 6 })
    local y = rows[pick]
    assert.equal('50000,8', table.concat(y.shape, ','))
    assert.is_true(mc.array_equal(y[{ mc.all, 1 }], (pick - 1) * 8 + 1))
    assert.is_true(mc.array_equal(mc.take(rows, pick % 8 + 1, { axis = 2 })[{ 3 }], mc.take(rows[3], pick % 8 + 1)))
  end)
end)

describe('a bad index expression', function()
  local x
  before_each(function() x = mc.arange(1, 12):reshape(3, 4) end)
  after_each(function() x = nil end)
  local function i64(t) return mc.tensor(t, { dtype = 'i64' }) end
  local function fails(pattern, f)
    local m = support.message(f)
    assert.matches('^[^\n]*index_numpy_spec%.lua:%d+: ', m)
    assert.matches(pattern, m)
  end

  it('says what is wrong', function()
    fails('index: positions of shapes {2} and {3} do not pair up; their shapes must broadcast',
      function() local _ = x[{ i64 { 1, 2 }, i64 { 1, 2, 3 } }] end)
    fails('index: mask is bool%[3%]@cpu for sizes {4} of f64%[3,4%]@cpu; the sizes must be equal',
      function() local _ = x[{ mc.all, mc.tensor { true, false, true } }] end)
    fails('index: mask is bool%[3,3%]@cpu for sizes {3, 4}',
      function() local _ = x[mc.ones({ 3, 3 }, { dtype = 'bool' })] end)
    fails('index: 3 positions for f64%[3,4%]@cpu, which has 2 axes',
      function() local _ = x[{ mc.ones({ 3, 4 }, { dtype = 'bool' }), 1 }] end)
    fails('index: 5 is outside axis 2 of f64%[3,4%]@cpu; positions run from 1 to 4',
      function() x[{ i64 { 1 }, i64 { 5 } }] = 0 end)
    fails('index: %-4 is outside axis 1', function() x:index_add_(i64 { -4 }, 1) end)
    fails("index: value is 'a'; give a number", function() x[i64 { 1 }] = 'a' end)
    fails('index: values f64%[3%]@cpu do not fit the shape %[2,4%] of what the key takes; shapes must be equal or '
      .. 'broadcast', function() x[i64 { 1, 2 }] = mc.ones { 3 } end)
    fails('index: values f64%[2%]@cpu do not fit the shape %[3%]', function() x[mc.gt(x, 9)] = mc.ones { 2 } end)
    fails('index: a list of 4 numbers is no range {first, last, step}; single positions stand in an integer tensor',
      function() local _ = x[{ mc.all, { 1, 2, 1, 4 } }] end)
    fails('read%-only', function() mc.ones { 3 }:broadcast_to({ 2, 3 }):index_add_(i64 { 1 }, 1) end)
    fails('index_add: operand is bool%[2%]@cpu; booleans have no sums',
      function() mc.zeros({ 2 }, { dtype = 'bool' }):index_add_(i64 { 1 }, 1) end)
    fails('put: option "acumulate" is unknown; did you mean "accumulate"',
      function() mc.put(x, 1, 2, { acumulate = true }) end)
  end)

  it('changes nothing', function()
    pcall(function() x[{ i64 { 1, 2 }, i64 { 1, 9 } }] = 0 end)
    pcall(function() x[i64 { 1, 2 }] = mc.ones { 3 } end)
    pcall(function() x:index_add_(i64 { 1, 0 }, 1) end)
    assert.is_true(mc.array_equal(x, mc.arange(1, 12):reshape(3, 4)))
  end)
end)

it('leaves no tensor behind', function() assert.equal(BEFORE, support.tensor_bytes()) end)
