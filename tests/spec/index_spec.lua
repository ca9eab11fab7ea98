-- index_spec.lua - x[...] and x[...] = v in all their forms against nested Lua tables.
--
-- The oracle is a table of numbers with row-major positions; keys are drawn at random with printed seeds.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes() -- specs that ran earlier may hold some
local mc = require 'mascon'
local sample = support.load 'sample'
local read = sample.read

local function iota(shape) return mc.arange(1, sample.count(shape)):reshape(shape) end

-- value of iota at 1-based subscripts
local function value(shape, at)
  local flat = 0
  for i = 1, #shape do flat = flat * shape[i] + at[i] - 1 end
  return flat + 1
end

-- positions (1-based) that a key takes from an axis of n, and whether it keeps the axis
local function positions(key, n)
  if type(key) == 'number' then return { key > 0 and key or n + 1 + key }, false end
  local out = {}
  if key == mc.all then
    for i = 1, n do out[i] = i end
    return out, true
  end
  local a, b, s = key[1], key[2], key[3] or 1
  a, b = a < 0 and n + 1 + a or a, b < 0 and n + 1 + b or b
  for i = a, b, s do out[#out + 1] = i end
  return out, true
end

local function oracle(shape, keys)
  local lists, out_shape = {}, {}
  for i = 1, #shape do
    local keep
    lists[i], keep = positions(keys[i] or mc.all, shape[i])
    if keep then out_shape[#out_shape + 1] = #lists[i] end
  end
  local out, at = {}, {}
  local function walk(d)
    if d > #shape then
      out[#out + 1] = value(shape, at)
      return
    end
    for _, p in ipairs(lists[d]) do
      at[d] = p
      walk(d + 1)
    end
  end
  walk(1)
  return out, out_shape
end

local function check(x, want, shape, what)
  local got = read(x)
  assert(table.concat(x.shape, ',') == table.concat(shape, ','),
    ('%s: shape {%s}, want {%s}'):format(what, table.concat(x.shape, ','), table.concat(shape, ',')))
  for i = 1, #want do
    assert(got[i] == want[i], ('%s: element %d is %s, want %s'):format(what, i, tostring(got[i]), tostring(want[i])))
  end
end

local function random_key(draw, n)
  local kind = draw(1, 4)
  if kind == 1 then return draw(1, n) end
  if kind == 2 then return -draw(1, n) end
  if kind == 3 then return mc.all end
  local a, b, s = draw(1, n), draw(1, n), draw(1, 3)
  if a > b then s = -s end
  if draw(0, 1) == 1 then a = a - n - 1 end
  if draw(0, 1) == 1 then b = b - n - 1 end
  return { a, b, s }
end

local function rounds(f)
  for seed = 1, support.gc and 10 or 200 do
    local stream = sample.stream(seed)
    local ok, e = pcall(f, function(lo, hi) return lo + math.floor(stream() * (hi - lo + 1)) end)
    if not ok then error(('seed %d: %s'):format(seed, tostring(e)), 0) end
  end
end

local function random_shape(draw)
  local s = {}
  for i = 1, draw(1, 4) do s[i] = draw(1, 6) end
  return s
end

describe('reading x[...]', function()
  it('takes numbers, ranges with negative bounds and steps, and mc.all, as nested tables do', function()
    rounds(function(draw)
      local shape, keys = random_shape(draw), {}
      for i = 1, draw(1, #shape) do keys[i] = random_key(draw, shape[i]) end
      local want, out = oracle(shape, keys)
      check(iota(shape)[keys], want, out, 'key')
    end)
  end)

  it('takes the same from a view as from a copy', function()
    rounds(function(draw)
      local shape = random_shape(draw)
      local x, order = iota(shape), {}
      for i = 1, #shape do order[i] = #shape + 1 - i end
      local t = x:permute_dims(order)
      local keys = {}
      for i = 1, #shape do keys[i] = random_key(draw, tonumber(t.shape[i])) end
      local a, b = t[keys], t:copy()[keys]
      check(a, read(b), b.shape, 'view')
    end)
  end)

  it('reads strings like their tables', function()
    local x = iota { 4, 5, 6 }
    for text, keys in pairs {
      ['2'] = { 2 }, ['2:3'] = { { 2, 3 } }, ['2:-1, 1'] = { { 2, -1 }, 1 }, ['..., 3'] = { mc.ellipsis, 3 },
      ['::2'] = { { 1, -1, 2 } }, ['-1, ::-1'] = { -1, { -1, 1, -1 } }, [':, 2, :'] = { mc.all, 2 },
      ['..., 2:3, ::-2'] = { mc.ellipsis, { 2, 3 }, { -1, 1, -2 } }, ['1, new, :'] = { 1, mc.newaxis, mc.all },
      [':2'] = { { 1, 2 } }, ['3:'] = { { 3, -1 } }, ['-2:, -2:'] = { { -2, -1 }, { -2, -1 } },
    } do
      local want = x[keys]
      check(x[text], read(want), want.shape, text)
    end
  end)

  it('gives an empty result for {a, a - 1}', function()
    local x = iota { 3, 4 }
    for a = 1, 4 do assert.equal('0,4', table.concat(x[{ { a, a - 1 } }].shape, ',')) end
    assert.equal(0, x['2:1, :']:numel())
    assert.equal('0', table.concat(mc.zeros{ 0 }[{ mc.all }].shape, ','))
  end)

  it('adds axes and fills ellipses', function()
    local x = iota { 2, 3 }
    assert.equal('1,2,3', table.concat(x[{ mc.newaxis, mc.ellipsis }].shape, ','))
    assert.equal('2,1,3', table.concat(x[{ mc.all, mc.newaxis, mc.all }].shape, ','))
    assert.equal('2,3,1', table.concat(x[{ mc.ellipsis, mc.newaxis }].shape, ','))
    assert.equal('2', table.concat(x[{ mc.ellipsis, 1 }].shape, ','))
    assert.equal('2,3', table.concat(x[mc.ellipsis].shape, ','))
    assert.equal('2,3', table.concat(x[mc.all].shape, ','))
  end)

  it('is a view: writing through it shows', function()
    local x = iota { 4, 4 }
    local v = x[{ { 2, 3 }, { -1, 1, -1 } }]
    v:fill_(0)
    check(x, { 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 13, 14, 15, 16 }, { 4, 4 }, 'filled')
  end)

  it('always gives tensors', function()
    local one = iota { 3 }[2]
    assert.is_true(mc.is_tensor(one))
    assert.equal(0, one.ndim)
    assert.equal(2, one:item())
  end)
end)

describe('boolean masks', function()
  it('pick the elements of all their axes in order', function()
    rounds(function(draw)
      local shape = random_shape(draw)
      local x = iota(shape)
      local flags, want = {}, {}
      for i = 1, sample.count(shape) do
        flags[i] = draw(0, 2) == 0
        if flags[i] then want[#want + 1] = i end
      end
      local mask = sample.from(shape, 'bool', flags)
      check(x[mask], want, { #want }, 'mask')
      local y = x:copy()
      y[mask] = -1
      local all = {}
      for i = 1, #flags do all[i] = flags[i] and -1 or i end
      check(y, all, shape, 'masked assignment')
    end)
  end)

  it('stand beside other keys', function()
    local x = iota { 3, 4 }
    local m = mc.tensor { true, false, true }
    check(x[{ m, 2 }], { 2, 10 }, { 2 }, 'mask and number')
    check(x[{ m, { 1, 2 } }], { 1, 2, 9, 10 }, { 2, 2 }, 'mask and range')
    check(x[{ mc.all, mc.tensor { false, true, true, false } }], { 2, 3, 6, 7, 10, 11 }, { 3, 2 }, 'second axis')
    check(x[mc.gt(x, 100)], {}, { 0 }, 'nothing')
  end)

  it('must have the sizes they mask', function()
    local m = support.message(function() local _ = iota { 3, 4 }[mc.tensor { true, false }] end)
    assert.matches('index_spec%.lua:%d+: index: mask is bool%[2%]@cpu', m)
  end)
end)

describe('integer tensors', function()
  local function index_tensor(draw, n, shape)
    local list, at = {}, {}
    for i = 1, sample.count(shape) do
      local p = draw(1, n)
      at[i] = p
      list[i] = draw(0, 1) == 1 and p or p - n - 1
    end
    return sample.from(shape, 'i64', list), at
  end

  it('replace an axis by their own shape', function()
    rounds(function(draw)
      local shape = random_shape(draw)
      local x = iota(shape)
      local axis = draw(1, #shape)
      local ishape = {}
      for i = 1, draw(1, 2) do ishape[i] = draw(1, 3) end
      local index, at = index_tensor(draw, shape[axis], ishape)
      local keys = {}
      for i = 1, #shape do keys[i] = i == axis and index or mc.all end
      local want, out, sub = {}, {}, {}
      for i = 1, #shape do
        if i == axis then for _, s in ipairs(ishape) do out[#out + 1] = s end else out[#out + 1] = shape[i] end
      end
      local function walk(d)
        if d > #shape then
          want[#want + 1] = value(shape, sub)
          return
        end
        if d == axis then
          for _, p in ipairs(at) do
            sub[d] = p
            walk(d + 1)
          end
        else
          for p = 1, shape[d] do
            sub[d] = p
            walk(d + 1)
          end
        end
      end
      walk(1)
      check(x[keys], want, out, 'index tensor')
    end)
  end)

  it('pair up when there are several', function()
    rounds(function(draw)
      local shape = { draw(1, 5), draw(1, 5), draw(1, 4) }
      local x = iota(shape)
      local n = draw(1, 6)
      local i, pi = index_tensor(draw, shape[1], { n })
      local j, pj = index_tensor(draw, shape[2], { n })
      local want = {}
      for k = 1, n do for q = 1, shape[3] do want[#want + 1] = value(shape, { pi[k], pj[k], q }) end end
      check(x[{ i, j }], want, { n, shape[3] }, 'pair')
      local l, pl = index_tensor(draw, shape[3], { n })
      local far = {}
      for k = 1, n do for q = 1, shape[2] do far[#far + 1] = value(shape, { pi[k], q, pl[k] }) end end
      check(x[{ i, mc.all, l }], far, { n, shape[2] }, 'apart')
      local column, pc = index_tensor(draw, shape[1], { 3, 1 })
      local grid = {}
      for a = 1, 3 do
        for k = 1, n do for q = 1, shape[3] do grid[#grid + 1] = value(shape, { pc[a], pj[k], q }) end end
      end
      check(x[{ column, j }], grid, { 3, n, shape[3] }, 'broadcast')
    end)
  end)

  it('assign: the last write of a position wins, index_add_ adds all', function()
    local x = mc.zeros { 4 }
    x[mc.tensor({ 1, 3, 1 }, { dtype = 'i64' })] = mc.tensor { 5, 6, 7 }
    check(x, { 7, 0, 6, 0 }, { 4 }, 'last')
    x:index_add_(mc.tensor({ 1, 3, 1 }, { dtype = 'i64' }), mc.tensor { 1, 2, 4 })
    check(x, { 12, 0, 8, 0 }, { 4 }, 'sum')
    local y = mc.zeros { 3, 4 }
    y[{ mc.tensor({ 1, -1 }, { dtype = 'i32' }), { 2, 3 } }] = mc.tensor { { 1, 2 }, { 3, 4 } }
    check(y, { 0, 1, 2, 0, 0, 0, 0, 0, 0, 3, 4, 0 }, { 3, 4 }, 'with range')
    y[{ mc.tensor({ 1, 2 }, { dtype = 'i64' }), mc.tensor({ 1, 2 }, { dtype = 'i64' }) }] = 9
    check(y, { 9, 1, 2, 0, 0, 9, 0, 0, 0, 3, 4, 0 }, { 3, 4 }, 'pairs')
  end)

  it('reach views and transposed tensors alike', function()
    local x = iota { 3, 4 }
    local t = x.T
    t[mc.tensor({ 2 }, { dtype = 'i64' })] = 0
    check(x, { 1, 0, 3, 4, 5, 0, 7, 8, 9, 0, 11, 12 }, { 3, 4 }, 'transposed')
    local s = x[{ { 3, 1, -2 } }]
    s[mc.eq(s, 0)] = -5
    check(x, { 1, -5, 3, 4, 5, 0, 7, 8, 9, -5, 11, 12 }, { 3, 4 }, 'strided')
  end)
end)

describe('assigning x[...] = v', function()
  it('writes numbers, tables and tensors where reading takes from', function()
    rounds(function(draw)
      local shape, keys = random_shape(draw), {}
      for i = 1, draw(1, #shape) do keys[i] = random_key(draw, shape[i]) end
      local at, out = oracle(shape, keys)
      local x, want = iota(shape), {}
      for i = 1, sample.count(shape) do want[i] = i end
      for k, p in ipairs(at) do want[p] = -k end
      if #at > 0 then
        local values = {}
        for k = 1, #at do values[k] = -k end
        x[keys] = sample.from(out, 'f64', values)
        check(x, want, shape, 'assigned')
      end
    end)
  end)

  it('broadcasts and converts', function()
    local x = mc.zeros({ 2, 3 }, { dtype = 'i32' })
    x[1] = { 1, 2, 3 }
    x[{ mc.all, 3 }] = 7
    check(x, { 1, 2, 7, 0, 0, 7 }, { 2, 3 }, 'broadcast')
    x['2, 1:2'] = mc.tensor { 2.0, 4.0 }
    check(x, { 1, 2, 7, 2, 4, 7 }, { 2, 3 }, 'converted')
    x[mc.all] = 1
    check(x, { 1, 1, 1, 1, 1, 1 }, { 2, 3 }, 'all')
  end)

  it('copes with a source that overlaps', function()
    local x = mc.arange(1, 8)
    x['2:'] = x[':-2']
    check(x, { 1, 1, 2, 3, 4, 5, 6, 7 }, { 8 }, 'shifted')
    local y = mc.arange(1, 6)
    y[mc.all] = y['::-1']
    check(y, { 6, 5, 4, 3, 2, 1 }, { 6 }, 'reversed')
  end)
end)

describe('a bad key', function()
  local x
  before_each(function() x = iota { 3, 4 } end)
  after_each(function() x = nil end)
  local function fails(pattern, f)
    local m = support.message(f)
    assert.matches('^[^\n]*index_spec%.lua:%d+: ', m)
    assert.matches(pattern, m)
  end

  it('names position, tensor and range', function()
    fails('index: 5 is outside axis 1 of f64%[3,4%]@cpu; positions run from 1 to 3', function() local _ = x[5] end)
    fails('index: 0 is outside', function() local _ = x[0] end)
    fails('index: %-5 is outside axis 2', function() local _ = x[{ 1, -5 }] end)
    fails('index: 9 is outside axis 2', function() local _ = x['1, 2:9'] end)
    fails('3 positions for f64%[3,4%]@cpu, which has 2 axes', function() local _ = x[{ 1, 1, 1 }] end)
    fails('no whole number', function() local _ = x[1.5] end)
    fails('step of a range is 0', function() local _ = x[{ { 1, 2, 0 } }] end)
    fails('more than one ellipsis', function() local _ = x['..., ...'] end)
    fails('cannot read', function() local _ = x['1:2:3:4'] end)
    fails('use a mask tensor', function() local _ = x[true] end)
    fails('index: .*f64%[2%]@cpu; give an integer', function() local _ = x[mc.tensor { 1, 2 }] end)
    fails('index: 4 is outside axis 1', function() local _ = x[mc.tensor({ 1, 4 }, { dtype = 'i64' })] end)
    fails('index: 0 is outside axis 2', function() local _ = x[{ mc.all, mc.tensor({ 1, 0 }, { dtype = 'i64' }) }] end)
    fails('0%-d tensor', function() local _ = mc.tensor(1)[1] end)
  end)

  it('also when assigning, and then nothing is changed', function()
    fails('index: 5 is outside', function() x[5] = 1 end)
    fails('f64%[3%]@cpu', function() x[1] = mc.zeros { 3 } end)
    fails("value is 'a'", function() x[1] = 'a' end)
    fails('cannot be assigned', function() x.shape = 3 end)
    fails('read%-only', function() x:broadcast_to { 2, 3, 4 }[1] = 0 end)
    check(x, { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 }, { 3, 4 }, 'unchanged')
  end)
end)

it('leaves no tensor behind', function() assert.equal(BEFORE, support.tensor_bytes()) end)
