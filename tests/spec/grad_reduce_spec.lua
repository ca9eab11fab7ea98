-- grad_reduce_spec.lua - derivatives of reductions, softmax and scans against differences, with zeros, ties, NaN and
-- infinities by value.
--
-- Rows of the families reduce, softmax and scan are all tried, over several axes.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local op, rules = require 'mascon.core.op', require 'mascon.rules'
local ops = require 'mascon.gen.ops'.ops
local gradient = support.load 'gradient'

local FAMILY = { reduce = true, softmax = true, scan = true }
local FLOAT = { f64 = true, c128 = true }
local SHAPE = { 3, 4, 2 }
local INF, NAN = math.huge, 0 / 0

local function opts(row)
  local out = { {}, { 2 }, { axis = { 1, 3 } } }
  if row.family == 'scan' then out = { { 1 }, { 2 }, { 3 } } end
  local has = {}
  for _, p in ipairs(row.params) do has[p[1]] = true end
  if row.family == 'reduce' then out[#out + 1] = { 2, keepdim = true } end
  if has.correction then out[#out + 1] = { 1, correction = 1 } end
  if has.bias then out[#out + 1] = { 2, bias = false } end
  if has.reverse then out[#out + 1] = { 2, reverse = true } end
  return out
end

local function gradient_of(f, x)
  return mc.grad(function(t) return mc.sum(f(t)) end)(x)
end
local function is(want, got)
  got, want = got:totable(), type(want) == 'table' and want or { want }
  assert.equal(#want, #got)
  for i, v in ipairs(want) do
    if v ~= v then
      assert(got[i] ~= got[i], ('element %d is %g, want NaN'):format(i, got[i]))
    else
      assert(math.abs(got[i] - v) <= 1e-14 * math.max(1, math.abs(v)),
        ('element %d is %.17g, want %.17g'):format(i, got[i], v))
    end
  end
end

describe('derivatives over axes', function()
  for _, row in ipairs(ops) do
    local f = FAMILY[row.family] and (op.functions[row[1]] or mc.stats[row[1]])
    if f and row.result ~= 'bool' and row.result ~= 'i64' then
      it('of ' .. row[1], function()
        assert.equal(true, (rules.differentiable(row)))
        for _, dtype in ipairs(row.dtypes) do
          if FLOAT[dtype] then
            for k, o in ipairs(opts(row)) do
              local x = gradient.random(SHAPE, dtype, 20 + k)
              gradient.check(('%s %s, call %d'):format(row[1], dtype, k), function(t) return f(t, o) end, { x })
            end
            if row[1]:sub(1, 3) == 'nan' then
              local x = gradient.random({ 4, 5 }, dtype, 40)
              local none = mc.gt(mc.rand({ 4, 5 }, { seed = 3 }), 0.7)
              gradient.check(row[1] .. ' with NaN', function(t) return f(mc.where(none, NAN, t), { 2 }) end, { x })
              local g = gradient_of(function(t) return mc.real(f(t, { 2 })) end, mc.where(none, NAN, x))
              assert(not mc.any(mc.where(none, g, 0)), row[1] .. ': what is left out gets a cotangent')
            end
          end
        end
      end)
    end
  end

  it('of products and running products with zeros', function()
    is({ 0, 3, 0 }, gradient_of(mc.prod, mc.tensor { 1, 0, 3 }))
    is({ 0, 0, 0 }, gradient_of(mc.prod, mc.tensor { 0, 0, 3 }))
    for _, list in ipairs { { 2, 0, 3, 4 }, { 0, 0, 3, 4 }, { 2, 3, 4, 0 } } do
      gradient.check('cumprod with zeros', function(t) return mc.cumprod(t, 1) end, { mc.tensor(list) })
      gradient.check('prod with zeros', mc.prod, { mc.tensor(list) })
      gradient.check('prod of axes with zeros', mc.prod, { mc.tensor(list):reshape(2, 2) })
    end
  end)

  it('of equal extremes is shared', function()
    is({ 0.5, 0, 0.5 }, gradient_of(mc.max, mc.tensor { 3, 1, 3 }))
    is({ 0, 1, 0 }, gradient_of(mc.min, mc.tensor { 3, 1, 3 }))
    is({ 2, 0, 1 }, gradient_of(function(t) return mc.cummax(t, 1) end, mc.tensor { 3, 1, 4 }))
    is({ 2.5, 0, 0.5 }, gradient_of(function(t) return mc.cummax(t, 1) end, mc.tensor { 3, 1, 3 }))
  end)

  it('of spreads of nothing is zero, and of infinities finite', function()
    is({ 0, 0 }, gradient_of(mc.std, mc.tensor { 2, 2 }))
    is({ 0, 0 }, gradient_of(mc.logsumexp, mc.tensor { -INF, -INF }))
    is({ 0, 1 }, gradient_of(mc.logsumexp, mc.tensor { -INF, 1 }))
    is({ 0, 2, 0 }, gradient_of(function(t) return mc.logcumsumexp(t, 1) end, mc.tensor { -INF, 1, -INF }))
  end)

  it('exist for empty and 0-d tensors', function()
    for _, f in ipairs { mc.sum, mc.mean, mc.prod, mc.max, mc.logsumexp, mc.softmax } do
      assert.equal('{}', tostring(gradient_of(f, mc.tensor(2)).shape))
    end
    for _, f in ipairs { mc.sum, mc.prod, mc.mean, mc.logsumexp } do
      assert.equal('{0, 3}', tostring(gradient_of(f, mc.zeros { 0, 3 }).shape))
    end
    for _, name in ipairs { 'cumsum', 'cumprod', 'cummax', 'logcumsumexp' } do
      assert.equal('{0}', tostring(gradient_of(function(t) return mc[name](t, 1) end, mc.zeros { 0 }).shape))
    end
  end)

  it('keep the dtype', function()
    for _, dtype in ipairs { 'f16', 'bf16', 'f32', 'f64' } do
      for _, f in ipairs { mc.sum, mc.mean, mc.var, mc.prod, mc.nanmean, mc.logsumexp, mc.stats.skew } do
        assert.equal(dtype, gradient_of(f, mc.tensor({ 1, 2, 4 }, { dtype = dtype })).dtype)
      end
    end
  end)

  it('of linear recurrences', function()
    for _, dtype in ipairs { 'f64', 'c128' } do
      local a, b, c = gradient.random({ 3, 4 }, dtype, 1), gradient.random({ 3, 4 }, dtype, 2),
        gradient.random({ 3, 1 }, dtype, 3)
      for _, o in ipairs { { axis = 1 }, { axis = 2 }, { axis = 2, reverse = true } } do
        gradient.check('linear_recurrence ' .. dtype, function(x, y) return mc.linear_recurrence(x, y, o) end, { a, b })
        gradient.check('broadcast linear_recurrence ' .. dtype,
          function(x, y) return mc.linear_recurrence(x, y, o) end, { c, b })
      end
    end
  end)

  it('of vecdot and dot', function()
    for _, dtype in ipairs { 'f64', 'c128' } do
      local a, b, c = gradient.random({ 3, 4 }, dtype, 1), gradient.random({ 2, 1, 4 }, dtype, 2),
        gradient.random({ 4 }, dtype, 3)
      gradient.check('vecdot ' .. dtype, mc.vecdot, { a, b })
      gradient.check('vecdot of a vector ' .. dtype, mc.vecdot, { c, a })
      gradient.check('vecdot along another axis ' .. dtype, function(x, y) return mc.vecdot(x, y, -2) end, { a, a + 1 })
      gradient.check('dot ' .. dtype, mc.dot, { c, c * 2 })
    end
  end)
end)
