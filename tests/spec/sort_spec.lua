-- sort_spec.lua - sort, argsort, median, quantile, nanquantile, searchsorted, histogram, nonzero: contract beyond the
-- matrix.
--
-- Golden answers of the nine quantile types stand in ops_golden_spec.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes() -- specs that ran earlier may hold some
local mc = require 'mascon'
local sample = support.load 'sample'
local NAN, INF = 0 / 0, math.huge

local function list(t) return t:totable() end

describe('sort', function()
  it('puts NaN last in both directions', function()
    local x = mc.tensor { 3, NAN, -1, INF, -INF }
    local up, down = list(x:sort()), list(x:sort { descending = true })
    assert.same({ -INF, -1, 3, INF }, { unpack(up, 1, 4) })
    assert.is_true(up[5] ~= up[5])
    assert.same({ INF, 3, -1, -INF }, { unpack(down, 1, 4) })
    assert.is_true(down[5] ~= down[5])
  end)

  it('is stable in both directions', function()
    local x = mc.tensor { 2, 1, 2, 1, 2 }
    assert.same({ 2, 4, 1, 3, 5 }, list(x:argsort()))
    assert.same({ 1, 3, 5, 2, 4 }, list(x:argsort { descending = true }))
    assert.same({ 1, 3, 0, 2, 4 }, list(x:argsort { base = 0 }))
  end)

  it('handles long rows with few values, sorted and reversed rows', function()
    for _, n in ipairs { 100, 1000, 20000 } do
      local up = mc.arange(1, n)
      assert.is_true(mc.array_equal(up:sort(), up))
      assert.is_true(mc.array_equal(up['::-1']:sort(), up))
      assert.is_true(mc.array_equal(up:sort { descending = true }, up['::-1']))
      local few = mc.randint(0, 3, { n }, { seed = n })
      local counts, at = mc.bincount(few):totable(), 0
      local s = few:sort()
      for v = 0, 3 do
        assert.is_true(counts[v + 1] == 0 or s[at + 1]:item() == v and s[at + counts[v + 1]]:item() == v)
        at = at + counts[v + 1]
      end
    end
  end)

  it('leaves its operand alone and goes into out=, also in place', function()
    local x = mc.tensor { { 3, 1, 2 }, { 9, 7, 8 } }
    local y = x:sort()
    assert.same({ { 3, 1, 2 }, { 9, 7, 8 } }, list(x))
    mc.sort(x, { out = x })
    assert.is_true(mc.array_equal(x, y))
  end)

  it('explains mistakes', function()
    local x = mc.zeros { 2, 3 }
    local function fails(pattern, f) assert.matches('sort_spec%.lua:%d+: ' .. pattern, support.message(f)) end
    fails('sort: axis 3 is outside f64%[2,3%]@cpu; axes run from 1 to 2, or %-1 backwards',
      function() local _ = x:sort(3) end)
    fails('sort: option "decending" is unknown; did you mean "descending"%?',
      function() local _ = x:sort { decending = true } end)
    fails('sort: operand is f64%[%]@cpu', function() local _ = mc.tensor(1):sort() end)
    fails('sort: not defined for c128', function() local _ = mc.tensor { mc.complex(1, 2) }:sort() end)
    fails('sort: out is f64%[3%]@cpu but the result is f64%[2,3%]',
      function() local _ = mc.sort(x, { out = mc.zeros { 3 } }) end)
  end)
end)

describe('median and quantile', function()
  it('take the mean of the two middle values of an even count', function()
    assert.equal(2.5, mc.tensor { 4, 1, 3, 2 }:median():item())
    assert.equal(3, mc.tensor { 5, 1, 3 }:median():item())
    assert.equal('f64', mc.tensor({ 1, 2 }, { dtype = 'i32' }):median().dtype)
    assert.equal(1.5, mc.tensor({ 1, 2 }, { dtype = 'i32' }):median():item())
  end)

  it('give NaN for rows with NaN; nanmedian and nanquantile leave it out', function()
    local x = mc.tensor { { 1, NAN, 3 }, { 4, 5, 6 } }
    local m = list(x:median(2))
    assert.is_true(m[1] ~= m[1])
    assert.equal(5, m[2])
    assert.same({ 2, 5 }, list(mc.nanmedian(x, { axis = 2 })))
    assert.same({ 1, 4 }, list(mc.nanquantile(x, 0, { axis = 2 })))
  end)

  it('put the axis of a list of probabilities first', function()
    local x = mc.arange(1, 12):reshape(3, 4)
    assert.equal('2,3', table.concat(mc.quantile(x, { 0, 1 }, { axis = 2 }).shape, ','))
    assert.equal('3', table.concat(mc.quantile(x, 0.5, { axis = 2 }).shape, ','))
    assert.equal('2,3,1', table.concat(mc.quantile(x, { 0, 1 }, { axis = 2, keepdim = true }).shape, ','))
    assert.same({ { 1, 5, 9 }, { 4, 8, 12 } }, list(mc.quantile(x, { 0, 1 }, { axis = 2 })))
    assert.same({ 1, 12 }, list(mc.quantile(x, mc.tensor { 0, 1 })))
  end)

  it('explain mistakes', function()
    local x = mc.arange(1, 4)
    local function fails(pattern, f) assert.matches('sort_spec%.lua:%d+: ' .. pattern, support.message(f)) end
    fails('quantile: q%[2%] is 1%.5; it must lie in %[0, 1%]', function() local _ = mc.quantile(x, { 0.5, 1.5 }) end)
    fails("quantile: option method is 'liner'; .*did you mean \"linear\"",
      function() local _ = mc.quantile(x, 0.5, { method = 'liner' }) end)
    fails('quantile: q is', function() local _ = mc.quantile(x, 'a') end)
    fails('median: nothing to order in f64%[0%]@cpu', function() local _ = mc.median(mc.zeros { 0 }) end)
    fails('quantile: axis 2 is outside f64%[4%]@cpu', function() local _ = mc.quantile(x, 0.5, { axis = 2 }) end)
  end)
end)

describe('searchsorted, histogram, nonzero, bincount', function()
  it('searchsorted counts what lies below, from the given base', function()
    local x = mc.tensor { 1, 2, 2, 3 }
    assert.same({ 1, 2, 5 }, list(mc.searchsorted(x, { 0, 2, 9 })))
    assert.same({ 0, 3, 4 }, list(mc.searchsorted(x, { 0, 2, 9 }, { right = true, base = 0 })))
    assert.equal(2, mc.searchsorted(x, 1.5):item())
    assert.matches('searchsorted: the sorted tensor is f64%[2,2%]@cpu',
      support.message(function() local _ = mc.searchsorted(mc.zeros { 2, 2 }, 1) end))
  end)

  it('histogram closes the last bin and skips what is outside', function()
    local counts, edges = mc.histogram(mc.tensor { 0, 0.5, 1, 1.5, 2, 9, -1, NAN }, { bins = 2, range = { 0, 2 } })
    assert.same({ 2, 3 }, list(counts))
    assert.same({ 0, 1, 2 }, list(edges))
    assert.same({ 3, 0, 1 }, list((mc.histogram(mc.tensor { 0, 1, 1, 5 }, { bins = { 0, 2, 4, 6 } }))))
    local w = mc.histogram(mc.tensor { 0, 1, 2 }, { bins = 2, range = { 0, 2 }, weights = mc.tensor { 1, 2, 4 } })
    assert.same({ 1, 6 }, list(w))
    local d = mc.histogram(mc.tensor { 0, 1, 2 }, { bins = 2, range = { 0, 2 }, density = true })
    assert.is_true(mc.allclose(d:sum(), 1))
    assert.matches('histogram: range',
      support.message(function() local _ = mc.histogram(mc.tensor { 1 }, { range = { 2, 1 } }) end))
  end)

  it('nonzero gives one tensor of positions per axis', function()
    local i, j = mc.nonzero(mc.tensor { { 0, 1, 0 }, { 2, 0, 3 } })
    assert.same({ 1, 2, 2 }, list(i))
    assert.same({ 2, 1, 3 }, list(j))
    assert.equal(0, (mc.nonzero(mc.zeros { 4 })):numel())
  end)

  it('bincount wants integers that are not negative', function()
    assert.matches('bincount: value %-1 is negative',
      support.message(function() local _ = mc.bincount(mc.tensor({ -1 }, { dtype = 'i64' })) end))
    assert.matches('bincount: x is f64%[1%]@cpu; give integers',
      support.message(function() local _ = mc.bincount(mc.tensor { 1.5 }) end))
  end)
end)

it('sorts values of every dtype it names', function()
  for _, dtype in ipairs { 'bool', 'u8', 'i8', 'i16', 'i32', 'i64', 'f16', 'bf16', 'f32', 'f64' } do
    local x = sample.from({ 50 }, dtype, sample.values(dtype, 50, 3, 'plain'))
    local s = x:sort()
    assert.equal(dtype, s.dtype)
    assert.is_true(mc.all(mc.le(s[':-2'], s['2:'])))
  end
end)

it('leaves no tensor behind', function() assert.equal(BEFORE, support.tensor_bytes()) end)
