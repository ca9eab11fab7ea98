-- grad_gather_spec.lua - derivatives of what orders, picks, puts, joins and pads elements, against differences; ties
-- and repeated positions by value.
--
-- A row of the families sort, select, gather, segment, layout and pad without a case here fails.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local rules = require 'mascon.rules'
local ops = require 'mascon.gen.ops'.ops
local gradient = support.load 'gradient'

local FAMILY = { sort = true, select = true, gather = true, segment = true, layout = true, pad = true }

local function int(list) return mc.tensor(list, { dtype = 'i64' }) end
local function values(shape, dtype, seed) return gradient.random(shape, dtype or 'f64', seed or 1) end

-- calls of a row: lists of { what, function, operands }
local CASE = {}
local function case(name, what, f, ...)
  CASE[name] = CASE[name] or {}
  table.insert(CASE[name], { what, f, { ... } })
end
local X = values { 3, 5 }
for _, o in ipairs { {}, { axis = 1 }, { axis = 2, descending = true } } do
  case('sort', 'sort', function(x) return mc.sort(x, o) end, X)
end
for _, o in ipairs { { 2 }, { -2, axis = 1 } } do
  case('partition', 'partition', function(x) return mc.partition(x, o) end, X)
end
for _, o in ipairs { { 2 }, { 3, largest = false, sorted = false }, { 1, axis = 1, base = 0 } } do
  case('topk', 'topk', function(x) return (mc.topk(x, o)) end, X)
end
for _, o in ipairs { {}, { 1 }, { 2, keepdim = true }, { axis = { 1, 2 } } } do
  case('median', 'median', function(x) return mc.median(x, o) end, X)
end
for _, method in ipairs {
  'linear', 'lower', 'higher', 'nearest', 'midpoint', 'inverted_cdf', 'averaged_inverted_cdf', 'closest_observation',
  'interpolated_inverted_cdf', 'hazen', 'weibull', 'median_unbiased', 'normal_unbiased',
} do
  case('select_quantile', method, function(x) return mc.quantile(x, { 0.1, 0.4, 0.77 }, 2, { method = method }) end, X)
  case('select_quantile', method .. ' without NaN',
    function(x) return mc.nanquantile(mc.where(mc.gt(X, 0.9), 0 / 0, x), 0.3, 2, { method = method }) end, X)
end
case('select_quantile', 'over everything', function(x) return mc.quantile(x, 0.3) end, X)
case('select_quantile', 'keepdim', function(x) return mc.quantile(x, { 0.3, 0.6 }, 1, { keepdim = true }) end, X)

for _, dtype in ipairs { 'f64', 'c128' } do
  local x, index, some = values({ 3, 4 }, dtype), int { { 1, 4, 1 }, { -1, 2, 2 }, { 3, 3, 3 } },
    values({ 3, 3 }, dtype, 2)
  case('take', 'take ' .. dtype, function(t) return mc.take(t, int { 3, 1, 3, -1 }, 2) end, x)
  case('take', 'take of a matrix of positions ' .. dtype,
    function(t) return mc.take(t, int { { 2, 0 }, { 0, -1 } }, { axis = 1, base = 0 }) end, x)
  case('take_along_axis', 'take_along_axis ' .. dtype, function(t) return mc.take_along_axis(t, index, 2) end, x)
  case('take_along_axis', 'take_along_axis of one row ' .. dtype,
    function(t) return mc.take_along_axis(t, mc.abs(index) - 1, { axis = 2, base = 0 }) end, values({ 1, 4 }, dtype))
  case('put_along_axis', 'put_along_axis ' .. dtype,
    function(t, v) return mc.put_along_axis(t, index, v, 2) end, x, some)
  case('put_along_axis', 'fewer rows ' .. dtype, function(t, v) return mc.put_along_axis(t, index['1:2, :'], v, 2) end,
    x, values({ 1, 3 }, dtype, 3))
  case('scatter_add', 'scatter_add ' .. dtype, function(t, v) return mc.scatter_add(t, index, v, 2) end, x, some)
  case('scatter_add', 'fewer rows ' .. dtype,
    function(t, v) return mc.scatter_add(t, index['1:2, :'], v, { axis = 2 }) end, x, values({ 2, 3 }, dtype, 3))
  for _, reduce in ipairs { 'sum', 'prod', 'mean', 'max', 'min' } do
    for _, self in ipairs { true, false } do
      if dtype == 'f64' or reduce ~= 'max' and reduce ~= 'min' then
        local o = { axis = 2, reduce = reduce, include_self = self }
        case('scatter_reduce', ('%s %s %s'):format(reduce, tostring(self), dtype),
          function(t, v) return mc.scatter_reduce(t, index, v, o) end, x, some)
        case('scatter_reduce', ('%s %s %s, fewer rows'):format(reduce, tostring(self), dtype),
          function(t, v) return mc.scatter_reduce(t, index['1:2, :'], v, o) end, x, some['1:2, :']:copy())
      end
    end
  end
  for _, how in ipairs { 'sum', 'prod', 'mean', 'max', 'min' } do
    local f = mc['segment_' .. how]
    if dtype == 'f64' or how ~= 'max' and how ~= 'min' then
      case('segment_' .. how, dtype, function(t) return f(t, int { 2, 1, 2, 2 }, { axis = 2, num_segments = 2 }) end, x)
      case('segment_' .. how, dtype .. ' from 0',
        function(t) return f(t, int { 1, 1, 0 }, { base = 0, num_segments = 2 }) end, x)
    end
  end
  case('concat', dtype, function(a, b) return mc.concat({ a, b, a }, 2) end, x, some)
  case('stack', dtype, function(a, b) return mc.stack({ a, b, a }, 2) end, x, x + 1)
  case('roll', dtype, function(a) return mc.roll(a, 5) end, x)
  case('roll', dtype .. ' along axes', function(a) return mc.roll(a, { 1, -2 }, { axis = { 1, 2 } }) end, x)
  for _, mode in ipairs { 'constant', 'edge', 'reflect', 'symmetric', 'wrap', 'linear_ramp', 'mean', 'odd_reflect' } do
    case('pad', mode .. ' ' .. dtype, function(a) return mc.pad(a, { { 1, 2 }, { 5, 0 } }, { mode = mode }) end, x)
  end
end
for _, mode in ipairs { 'maximum', 'median', 'minimum' } do
  case('pad', mode, function(a) return mc.pad(a, { { 1, 2 }, { 5, 0 } }, { mode = mode }) end, X)
end
case('segment_max', 'ties',
  function(t) return mc.segment_max(t, int { 1, 2, 1 }, { num_segments = 2 }) end, values({ 3, 2 }))
case('bincount_weighted', 'weights', function(w) return mc.bincount_weighted(int { 2, 0, 2 }, w) end, values({ 3 }))

local function is(want, got)
  got = got:totable()
  assert.equal(#want, #got)
  for i, v in ipairs(want) do assert.equal(v, got[i]) end
end
local function gradient_of(f, ...)
  return mc.grad(function(...) return mc.sum(f(...)) end)(...)
end

describe('derivatives of moved elements', function()
  for _, row in ipairs(ops) do
    if FAMILY[row.family] and row.result ~= 'bool' and row.result ~= 'i64' then
      it('of ' .. row[1], function()
        assert.equal(true, (rules.differentiable(row)))
        for _, c in ipairs(CASE[row[1]] or error(row[1] .. ' has no case here')) do
          -- the size of a bincount depends on its integers, which no recording may read
          gradient.check(row[1] .. ': ' .. c[1], c[2], c[3], { compiled = row[1] ~= 'bincount_weighted' })
        end
      end)
    end
  end

  it('of equal elements', function()
    is({ 0.5, 0.5, 0 },
      gradient_of(function(x) return mc.segment_max(x, int { 1, 1, 2 })[1] end, mc.tensor { 2, 2, 7 }))
    is({ 1, 2, 3 }, mc.grad(function(x) return mc.sum(mc.sort(x) * mc.tensor { 1, 2, 3 }) end)(mc.tensor { 5, 5, 5 }))
    is({ 0, 1, 0 }, gradient_of(mc.median, mc.tensor { 2, 2, 2 }))
  end)

  it('of values put to one place counts the last', function()
    local g = mc.grad(function(x, v)
      return mc.sum(mc.put_along_axis(x, int { 1, 1, 2 }, v) * mc.tensor { 3, 5, 7 })
    end, { argnums = { 1, 2 } })(mc.zeros { 3 }, mc.ones { 3 })
    is({ 0, 0, 7 }, g[1])
    is({ 0, 3, 5 }, g[2])
  end)

  it('of products with zeros', function()
    for _, list in ipairs { { 2, 0, 3, 4 }, { 0, 0, 3, 4 } } do
      gradient.check('segment_prod',
        function(t) return mc.segment_prod(t, int { 1, 1, 2, 1 }, { num_segments = 2 }) end, { mc.tensor(list) })
      gradient.check('scatter_reduce prod', function(t, v)
        return mc.scatter_reduce(t, int { 1, 1, 2, 1 }, v, { reduce = 'prod' })
      end, { mc.tensor(list), mc.tensor(list) })
    end
  end)

  it('of empty operands', function()
    assert.equal('{0}', tostring(gradient_of(mc.sort, mc.zeros { 0 }).shape))
    assert.equal('{2}', tostring(gradient_of(function(x) return mc.take(x, mc.zeros({ 0 }, { dtype = 'i64' })) end,
      mc.zeros { 2 }).shape))
    assert.equal('{0, 2}',
      tostring(gradient_of(function(x) return mc.concat({ x, mc.ones { 1, 2 } }, 1) end, mc.zeros { 0, 2 }).shape))
    assert.equal('{0, 2}', tostring(gradient_of(function(x)
      return mc.segment_prod(x, mc.zeros({ 0 }, { dtype = 'i64' }), { num_segments = 2 })
    end, mc.zeros { 0, 2 }).shape))
  end)
end)
