-- reduce_spec.lua - reductions, running extremes, parts of the order, segments: what the matrix cannot show: long rows
-- that are cut into pieces, columns, exactness of variances, NaN left out, messages.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local tol = support.load 'tol'
local NAN, INF = 0 / 0, math.huge
local LONG = support.gc and 40000 or 100000 -- several pieces of a row

local function list(t) return t:totable() end
local function same(want, got)
  assert.equal(want.dtype, got.dtype)
  assert.is_true(mc.array_equal(want, got))
end
-- within the class of sums of n terms of the given size
local function close(want, got, n, size)
  local w, g = want:reshape { -1 }:totable(), got:reshape { -1 }:totable()
  assert.equal(#w, #g)
  for i = 1, #w do
    local wrong = tol.compare('ACCUM', got.dtype, g[i], w[i], { n = n, scale = size or math.max(1, math.abs(w[i])) })
    if wrong then error(('element %d: %s'):format(i, wrong), 2) end
  end
end
local function fails(pattern, f) assert.matches('reduce_spec%.lua:%d+: ' .. pattern, support.message(f)) end
local function i64(v) return mc.tensor(v, { dtype = 'i64' }) end

describe('var', function()
  it('is as exact far from 0 as near it, for any length', function()
    for _, n in ipairs { 10, 1000, LONG } do
      local x = mc.randn({ n }, { seed = n }) + 1e8
      local d = x - 1e8 -- exact
      close(d:var(), x:var(), 1)
      close(d:std(), x:std(), 1)
      close(d:reshape(n / 10, 10):var(1), x:reshape(n / 10, 10):var(1), 1)
      close(d:reshape(n / 10, 10):var(2), x:reshape(n / 10, 10):var(2), 1)
    end
  end)

  it('of equal numbers is 0', function()
    for _, dtype in ipairs { 'f32', 'f64' } do
      for _, v in ipairs { 0.1, 1e8 / 3, -1e-30, 3e38 } do
        local x = mc.full({ LONG }, v, { dtype = dtype })
        assert.equal(0, x:var():item())
        same(mc.zeros({ 100 }, { dtype = dtype }), x:reshape(LONG / 100, 100):var(1))
      end
    end
  end)

  it('follows a ramp, an outlier and a step', function()
    local n = LONG
    local ramp = mc.arange(1, n)
    close(mc.tensor((n * n - 1) / 12), ramp:var(), n)
    local step = mc.concat { mc.zeros { n / 2 }, mc.full({ n / 2 }, 1e9) }
    close(mc.tensor(0.25e18), step:var(), n)
    local spike = mc.zeros { n }
    spike[1] = 1e10
    close(mc.tensor(1e20 / n * (1 - 1 / n)), spike:var(), n)
    assert.is_true(mc.isnan(mc.tensor { 1, INF }:var()):item() and mc.isnan(mc.tensor { 1, NAN }:var()):item())
  end)
end)

describe('skew and kurtosis', function()
  it('do not see a shift or a scale, for any length, along rows and columns', function()
    for _, n in ipairs { 50, 3000, LONG } do
      local x = mc.square(mc.randn({ n }, { seed = n }))
      local moved = (x * 1024 + 2 ^ 30):to 'f64'
      local back = (moved - 2 ^ 30) / 1024 -- exact
      for _, name in ipairs { 'skew', 'kurtosis' } do
        local f = mc.stats[name]
        close(f(back), f(moved), n, 50)
        close(f(back:reshape(n / 10, 10), 1), f(moved:reshape(n / 10, 10), 1), n, 50)
        close(f(back:reshape(10, n / 10).T:copy(), 1), f(moved:reshape(10, n / 10), 2), n, 50)
      end
    end
  end)
end)

describe('sums of short rows', function()
  it(
    'are the same bits for rows that lie next to each other and for strided ones, zeros of both signs and NaN included',
    function()
      for _, dtype in ipairs { 'f32', 'f64' } do
        for n = 1, 12 do
          local wide = mc.randn({ 50, 2 * n }, { seed = n, dtype = dtype }) * 1e3
          wide[2], wide[3], wide[{ 4, 1 }], wide[{ 5, -2 }], wide[{ 6, 1 }] = -0.0, 0.0, NAN, INF, -1e-300
          local strided = wide[':, ::2']
          local dense = strided:copy()
          for _, name in ipairs { 'sum', 'nansum', 'mean' } do
            local want, got = mc[name](strided, 2), mc[name](dense, 2)
            assert.is_true(mc.array_equal(mc.isnan(want), mc.isnan(got)))
            same(mc.nan_to_num(1 / want), mc.nan_to_num(1 / got))
          end
        end
      end
    end)
end)

describe('sums of booleans', function()
  it('are those of the same integers, in any layout', function()
    for _, shape in ipairs { { 7 }, { 300, 257 }, { 1000, 3 }, { 3, 1000 }, { 5, 260, 33 }, { 0, 3 } } do
      local b = mc.gt(mc.randn(shape, { seed = #shape }), 0.2)
      for axis = 1, #shape do
        for _, x in ipairs { b, b:flip(1), #shape > 1 and b.mT or b } do
          assert.equal('i64', mc.sum(x, axis).dtype)
          same(mc.sum(x:to 'i64', axis), mc.sum(x, axis))
          same(mc.sum(x:to 'i64'), mc.sum(x))
        end
      end
    end
    same(mc.full({ 3 }, 70000, { dtype = 'i64' }), mc.sum(mc.ones({ 70000, 3 }, { dtype = 'bool' }), 1))
  end)
end)

describe('reductions without NaN', function()
  local x = mc.randn({ LONG / 100, 100 }, { seed = 5 })
  local holes = mc.where(mc.gt(mc.rand({ LONG / 100, 100 }, { seed = 6 }), 0.9), NAN, x)
  local kept = holes[mc.logical_not(mc.isnan(holes))]

  it('see what is left of long rows', function()
    local n = kept:numel()
    close(kept:sum(), holes:nansum(), n, kept:abs():sum():item())
    close(kept:mean(), holes:nanmean(), n)
    close(kept:var { correction = 1 }, holes:nanvar { correction = 1 }, 1)
    close(kept:std(), holes:nanstd(), 1)
    same(kept:max(), holes:nanmax())
    same(kept:min(), holes:nanmin())
    assert.equal(kept:max():item(), holes:flatten()[holes:nanargmax():item()]:item())
    assert.equal(kept:min():item(), holes:flatten()[holes:nanargmin():item()]:item())
  end)

  it('agree along rows, columns and strided views', function()
    for _, name in ipairs { 'nansum', 'nanmean', 'nanvar', 'nanmax', 'nanmin' } do
      local f = mc[name]
      close(f(holes.T:copy(), 2), f(holes, 1), 1000, 1000)
      close(f(holes:copy(), 2), f(holes.T, 1), 1000, 1000)
      close(f(holes['::2, ::3']:copy(), 1), f(holes['::2, ::3'], 1), 1000, 1000)
      close(f(x, 1), mc[name:sub(4)](x, 1), 1000, 1000)
    end
    same(mc.nanargmax(holes.T:copy(), 2), mc.nanargmax(holes, 1))
  end)

  it('have the answers of nothing', function()
    local bad = mc.tensor { { NAN, NAN }, { 1, NAN } }
    assert.same({ 0, 1 }, list(bad:nansum(2)))
    assert.same({ 1, 1 }, list(bad:nanprod(2)))
    assert.is_true(mc.isnan(bad:nanmean(2)[1]):item() and mc.isnan(bad:nanmax(2)[1]):item()
      and mc.isnan(bad:nanvar(2)[1]):item())
    assert.equal(-INF, mc.tensor { NAN, -INF }:nanmax():item())
    assert.same({ 2, 2 },
      { mc.tensor({ NAN, -INF, -INF }):nanargmax():item(), mc.tensor({ NAN, INF, NAN }):nanargmin():item() })
    fails('nanargmax: there is nothing but NaN', function() local _ = bad:nanargmax(2) end)
    fails('nanmax: nothing to reduce in f64%[0%]', function() local _ = mc.zeros { 0 }:nanmax() end)
    assert.equal(0, mc.zeros { 0 }:nansum():item())
  end)

  it('are the plain ones for integers', function()
    local k = mc.randint(-9, 9, { 40 }, { seed = 2 })
    for _, name in ipairs { 'sum', 'prod', 'max', 'min', 'argmax', 'argmin', 'mean' } do
      same(mc[name](k), mc['nan' .. name](k))
    end
  end)
end)

describe('logsumexp and softmax', function()
  it('agree with the definition on rows of any length, along rows and columns', function()
    for _, dtype in ipairs { 'f32', 'f64', 'bf16' } do
      for _, shape in ipairs { { LONG / 10, 10 }, { 10, LONG / 10 }, { 1, LONG }, { 7, 241 } } do
        local x = (mc.randn(shape, { seed = 3 }) * 3):to(dtype)
        local y, args = x:to 'f64', 200 -- arguments up to 14: their rounding is a relative error of the exponential
        for axis = 1, 2 do
          local e = mc.exp(y)
          local total = e:sum { axis, keepdim = true }
          close((e / total):to(dtype), mc.softmax(x, axis), args, 1)
          close(mc.log(total):to(dtype), mc.logsumexp(x, { axis, keepdim = true }), 1, 20)
          close((y - mc.log(total)):to(dtype), mc.log_softmax(x, axis), 1, 20)
        end
        close((mc.exp(y) / mc.exp(y):sum()):to(dtype), mc.softmax(x), args, 1)
      end
    end
  end)

  it('neither overflow nor vanish', function()
    local x = mc.tensor { 1e4, 1e4 - 1, -1e4 }
    close(mc.tensor(1e4 + math.log(1 + math.exp(-1))), x:logsumexp(), 1)
    close(mc.tensor { 1 / (1 + math.exp(-1)), 1 / (1 + math.exp(1)), 0 }, x:softmax(), 1)
    assert.equal(-INF, mc.full({ 5 }, -INF):logsumexp():item())
    assert.equal(INF, mc.tensor { 1, INF }:logsumexp():item())
    assert.equal(-INF, mc.zeros { 0 }:logsumexp():item())
    assert.is_true(mc.isnan(mc.tensor { 1, NAN, INF }:logsumexp()):item())
    assert.same({ 0, 1 }, list(mc.tensor { -INF, 3 }:softmax()))
  end)

  it('add up to 1 and go in place', function()
    local x = mc.randn({ 30, 1000 }, { seed = 1 })
    local y = x:softmax(2)
    close(mc.ones { 30 }, y:sum(2), 1000)
    mc.softmax(x, 2, { out = x })
    same(y, x)
  end)
end)

describe('running extremes', function()
  it('hold the largest so far and where it stood', function()
    local x = mc.randn({ 3, 200 }, { seed = 4 })
    local m, at = x:cummax(2), x:argcummax(2)
    same(m, mc.take_along_axis(x, at, 2))
    for j = 1, 200, 33 do same(x[{ mc.all, { 1, j } }]:max(2), m[{ mc.all, j }]) end
    assert.same({ 1, 1, 3, 3 }, list(mc.tensor { 2, 2, 5, 5 }:argcummax()))
    assert.same({ 0, 0, 2, 2 }, list(mc.tensor { 2, 2, 5, 5 }:argcummax { base = 0 }))
    same(x:cummin(1), mc.cumulative_min(x, 1))
  end)

  it('read their operand before they write over it', function()
    local x = i64 { 5, 7, 6, 9, 1 }
    mc.argcummax(x, 1, { out = x })
    assert.same({ 1, 2, 2, 4, 4 }, list(x))
    local y = mc.arange(1, 9)
    mc.cumsum(y['1:8'], 1, { out = y['2:9'] })
    assert.same({ 1, 1, 3, 6, 10, 15, 21, 28, 36 }, list(y))
  end)

  it('keep the asked dtype', function()
    assert.equal('f64', mc.cumsum(i64 { 1, 2 }, 1, { dtype = 'f64' }).dtype)
    assert.equal('i8', mc.cummax(mc.tensor({ 1, 2 }, { dtype = 'i8' })).dtype)
  end)

  it('logcumsumexp ends in logsumexp', function()
    local x = mc.randn({ 4, 300 }, { seed = 8 }) * 50
    close(x:logsumexp(2), x:logcumsumexp(2)[{ mc.all, -1 }], 300, 200)
    assert.same({ -INF, 1, INF }, list(mc.tensor { -INF, 1, INF }:logcumsumexp()))
  end)
end)

describe('topk and partition', function()
  it('say what sorting says, for long rows and any k', function()
    for _, dtype in ipairs { 'f32', 'f64', 'i16', 'u8' } do
      local x = (mc.randn({ 3, 5000 }, { seed = 9 }) * 40):to(dtype == 'u8' and 'i16' or dtype):to(dtype)
      for _, k in ipairs { 1, 7, 64, 900, 5000 } do
        for _, largest in ipairs { true, false } do
          local v, i = x:topk(k, { largest = largest })
          same(x:sort { descending = largest }[{ mc.all, { 1, k } }], v)
          same(x:argsort { descending = largest }[{ mc.all, { 1, k } }], i)
          local u, j = x:topk(k, { largest = largest, sorted = false })
          same(i:sort(), j)
          same(mc.take_along_axis(x, j), u)
        end
        local p, a = x:partition(k), x:argpartition(k)
        same(mc.take_along_axis(x, a), p)
        same(x:sort(), p:sort())
        same(x:sort()[{ mc.all, k }], p[{ mc.all, k }])
        assert.is_true(mc.all(mc.le(p[{ mc.all, { 1, k } }], p[{ mc.all, { k, k } }])))
        assert.is_true(mc.all(mc.ge(p[{ mc.all, { k, -1 } }], p[{ mc.all, { k, k } }])))
      end
    end
  end)

  it('take equal elements in their order and NaN last', function()
    local v, i = mc.tensor { 1, 3, NAN, 3, 2 }:topk(4)
    assert.same({ 3, 3, 2, 1 }, list(v))
    assert.same({ 2, 4, 5, 1 }, list(i))
    local _, z = mc.tensor({ 0, -0.0, 0 }):topk(2, { largest = false, base = 0 })
    assert.same({ 0, 1 }, list(z))
  end)

  it('take k = 0 and other axes, and explain mistakes', function()
    local x = mc.tensor { { 1, 5 }, { 4, 2 }, { 3, 6 } }
    local v, i = x:topk(2, { axis = 1 })
    assert.same({ { 4, 6 }, { 3, 5 } }, list(v))
    assert.same({ { 2, 3 }, { 3, 1 } }, list(i))
    assert.same({ 3, 0 }, { x:topk(0).shape[1], x:topk(0).shape[2] })
    fails('topk: 3 elements are asked of an axis of size 2 of f64%[3,2%]@cpu', function() local _ = x:topk(3) end)
    fails('partition: place 4 is outside an axis of size 3 of f64%[3,2%]',
      function() local _ = x:partition(4, { axis = 1 }) end)
    fails('topk: k is nil', function() local _ = x:topk() end)
    same(x:partition(-1), x:partition(2))
  end)
end)

describe('segment reductions', function()
  it('agree with a loop, however the rows are cut', function()
    for _, shape in ipairs { { LONG }, { LONG / 100, 100 }, { 100, LONG / 100 } } do
      local x = mc.randn(shape, { seed = 3 })
      local id = mc.randint(1, 7, { shape[1] }, { seed = 4 })
      local s, c = mc.segment_sum(x, id), mc.bincount(id, { minlength = 8 })
      for k = 1, 7 do
        local part = x[mc.eq(id, k)]
        close(part:sum(1), s[k], LONG, 100)
        close(part:mean(1), mc.segment_mean(x, id)[k], 10)
        same(part:max(1), mc.segment_max(x, id)[k])
        same(part:min(1), mc.segment_min(x, id)[k])
        assert.equal(c[k + 1]:item(), part.shape[1])
      end
    end
  end)

  it('run along any axis of any layout', function()
    local x = mc.randn({ 4, 6, 5 }, { seed = 1 })
    local id = i64 { 2, 1, 2, 4, 1, 2 }
    local want = mc.segment_sum(x:permute_dims { 2, 1, 3 }:copy(), id):permute_dims { 2, 1, 3 }
    same(want:copy(), mc.segment_sum(x, id, { axis = 2 }))
    same(want:copy(), mc.segment_sum(x:permute_dims { 3, 1, 2 }:copy():permute_dims { 2, 3, 1 }, id, { axis = -2 }))
  end)

  it('fill empty segments with what joins to x as x', function()
    local id = i64 { 1, 3 }
    assert.same({ 1, 0, 2 }, list(mc.segment_sum(mc.tensor { 1, 2 }, id)))
    assert.same({ 1, 1, 2, 1 }, list(mc.segment_prod(mc.tensor { 1, 2 }, id, { num_segments = 4 })))
    assert.same({ 1, -INF, 2 }, list(mc.segment_max(mc.tensor { 1, 2 }, id)))
    assert.same({ 1, 127, 2 }, list(mc.segment_min(mc.tensor({ 1, 2 }, { dtype = 'i8' }), id)))
    assert.equal('i64', mc.segment_sum(mc.tensor({ 1, 2 }, { dtype = 'i8' }), id).dtype)
    assert.same({ 0, 0 },
      list(mc.segment_sum(mc.zeros { 0 }, mc.zeros({ 0 }, { dtype = 'i64' }), { num_segments = 2 })))
    assert.same({ 1, 2 }, list(mc.segment_sum(mc.tensor { 1, 2 }, i64 { 0, 1 }, { base = 0 })))
  end)

  it('explain mistakes', function()
    local x = mc.zeros { 3, 2 }
    fails('segment_sum: segments are i64%[2%]@cpu; give one for each element of the axis of f64%[3,2%]',
      function() local _ = mc.segment_sum(x, i64 { 1, 2 }) end)
    fails('segment_sum: segment 0 of element 2 is outside 1',
      function() local _ = mc.segment_sum(x, i64 { 1, 0, 1 }) end)
    fails('segment_max: segment 5 of element 3 is outside 1%.%.4',
      function() local _ = mc.segment_max(x, i64 { 1, 1, 5 }, { num_segments = 4 }) end)
    fails('segment_sum: segments are f64%[3%]@cpu; give an integer tensor',
      function() local _ = mc.segment_sum(x, mc.zeros { 3 }) end)
  end)
end)

describe('scatter_reduce', function()
  it('joins values at positions', function()
    local x, at, v = mc.tensor { 1, 2, 3 }, i64 { 1, 1, 3 }, mc.tensor { 10, 20, 30 }
    assert.same({ 31, 2, 33 }, list(mc.scatter_reduce(x, at, v)))
    assert.same({ 30, 2, 30 }, list(mc.scatter_reduce(x, at, v, { include_self = false })))
    assert.same({ 15, 2, 30 }, list(mc.scatter_reduce(x, at, v, { reduce = 'mean', include_self = false })))
    assert.same({ 20, 2, 30 }, list(mc.scatter_reduce(x, at, v, { reduce = 'max' })))
    assert.same({ 200, 2, 90 }, list(mc.scatter_reduce(x, at, v, { reduce = 'prod' })))
    same(mc.scatter_add(x, at, v), mc.scatter_reduce(x, at, v))
    fails('scatter_reduce: a mean of integers',
      function() local _ = mc.scatter_reduce(i64 { 1 }, i64 { 1 }, i64 { 1 }, { reduce = 'mean' }) end)
    fails('scatter_reduce: complex numbers have no order', function()
      local _ = mc.scatter_reduce(mc.zeros({ 1 }, { dtype = 'c64' }), i64 { 1 }, mc.zeros { 1 }, { reduce = 'max' })
    end)
    fails('scatter_reduce: option reduce is .sun.; choose sum',
      function() local _ = mc.scatter_reduce(x, at, v, { reduce = 'sun' }) end)
  end)

  it('may take its result or its values as out', function()
    local x = mc.tensor { 1, 2, 3 }
    mc.scatter_add(x, i64 { 1, 2, 2 }, x, { out = x })
    assert.same({ 2, 7, 3 }, list(x))
  end)
end)

describe('searchsorted', function()
  it('takes a sorted row for each row of values', function()
    local a, v = mc.randn({ 4, 50 }, { seed = 1 }):sort(), mc.randn({ 4, 70 }, { seed = 2 })
    local got = mc.searchsorted(a, v)
    for r = 1, 4 do same(mc.searchsorted(a[r], v[r]), got[r]) end
    fails('searchsorted: the sorted tensor is f64%[4,50%]@cpu and the values are f64%[3,70%]@cpu',
      function() local _ = mc.searchsorted(a, v['1:3']) end)
  end)
end)
