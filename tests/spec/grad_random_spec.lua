-- grad_random_spec.lua - derivatives of random numbers in their parameters: the draw stays, the number moves.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local gradient, gradient_rows = support.load 'gradient', support.load 'gradient_rows'

local LOW, HIGH = mc.tensor { -1, -0.5, -2 }, mc.tensor { 2, 0.7, 1 }
local PLACE, WIDTH = mc.tensor { { 0.3 }, { -0.2 } }, mc.tensor { { 0.7 }, { 1.8 } }

-- parameters in the order of the row, those with a derivative as tensors; the others as numbers
local PARAMETERS = {
  uniform = { low = LOW, high = HIGH }, normal = { mean = PLACE, std = WIDTH }, exponential = { scale = WIDTH },
  laplace = { loc = PLACE, scale = WIDTH }, logistic = { loc = PLACE, scale = WIDTH },
  gumbel = { loc = PLACE, scale = WIDTH }, weibull = { a = WIDTH, scale = mc.tensor { 0.5, 1, 3 } },
  pareto = { a = WIDTH + 2, scale = mc.tensor { 0.5, 1, 3 } },
  cauchy = { loc = PLACE, scale = WIDTH }, rayleigh = { scale = WIDTH }, lognormal = { mean = PLACE, std = WIDTH },
  gamma = { a = 2.5, scale = WIDTH }, student_t = { df = 3, loc = PLACE, scale = WIDTH },
  von_mises = { mu = PLACE, kappa = 2 }, truncated_normal = { low = LOW, high = HIGH, mean = PLACE, std = WIDTH },
}
-- none of their parameters has one
local FIXED = { loggamma = true, beta = true, chisquare = true, f = true }

local function names(row, given)
  local out = {}
  for _, p in ipairs(row.params) do if mc.is_tensor(given[p[1]]) then out[#out + 1] = p[1] end end
  return out
end

local CASES = {}
for _, row in ipairs(require 'mascon.gen.ops'.ops) do
  local name = row[1]:match '^random_(.*)'
  local given = name and PARAMETERS[name]
  if given then
    local list = names(row, given)
    CASES[row[1]] = function()
      local case = { function(...)
        local o = { key = 7 }
        for k, v in pairs(given) do o[k] = v end
        for i, k in ipairs(list) do o[k] = (select(i, ...)) end
        return mc.random[name]({ 2, 3 }, o)
      end, narrow = false }
      for i, k in ipairs(list) do case[i + 1] = given[k] end
      return { case }
    end
  elseif FIXED[name] then
    CASES[row[1]] = function() return {} end
  end
end
CASES.multivariate_normal = function(r)
  return {
    { function(m, c)
      return mc.random.multivariate_normal({ 4 }, { mean = m, cov = c:matmul(c.mT) + mc.eye(3), key = 3 })
    end, r(3), r(3, 3), narrow = false },
    { function(m, l) return mc.random.multivariate_normal({ 4 }, { mean = m, cholesky = mc.tril(l), key = 3 }) end,
      r(3), r(3, 3), narrow = false },
  }
end
CASES.wishart = function(r)
  return { { function(c) return mc.random.wishart({ 2 }, { df = 5, scale = c:matmul(c.mT) + mc.eye(3), key = 3 }) end,
    r(3, 3), narrow = false } }
end

describe('derivatives of random numbers', function()
  for _, t in ipairs(gradient_rows.rows(function(row)
    return row.family == 'random' or row.family == 'sequence' or (row.module or ''):match '^mascon%.random%.' ~= nil
  end, CASES)) do it('of ' .. t.name, t.run) end

  it('name the parameter that has none', function()
    for name, parameter in pairs { gamma = 'a', beta = 'b', chisquare = 'df', student_t = 'df', von_mises = 'kappa' } do
      local ok, message = pcall(mc.grad(function(t)
        local o = { key = 1, [parameter] = t }
        if name == 'beta' then o.a = 2 end
        return mc.sum(mc.random[name]({ 3 }, o))
      end), mc.tensor(2))
      assert(not ok and message:find(('random.%s: no derivative with respect to %s: '):format(name, parameter), 1,
        true), tostring(message))
      assert(message:find('give it as a number, or as a tensor that the function captures', 1, true), message)
    end
    local ok, message = pcall(mc.grad(
      function(t) return mc.sum(mc.random.poisson({ 3 }, { rate = t, dtype = 'f64', key = 1 })) end), mc.tensor(2))
    assert(not ok and message:find('random_poisson has no derivative: counts', 1, true), tostring(message))
  end)

  it('of a distribution without width are finite', function()
    local g = mc.grad(function(m, s) return mc.sum(mc.random.normal({ 3 }, { mean = m, std = s, key = 1 })) end,
      { argnums = { 1, 2 } })(mc.tensor(2), mc.tensor(0))
    assert.equal(3, g[1]:item())
    assert.equal(0, g[2]:item())
  end)

  it('of truncated normal numbers with infinite bounds are finite, twice', function()
    for _, bounds in ipairs { { 0, math.huge }, { -math.huge, 0 }, { 6, math.huge }, { -math.huge, math.huge } } do
      gradient.check('truncated', function(m, s)
        return mc.random.truncated_normal({ 4 }, { low = bounds[1], high = bounds[2], mean = m, std = s, key = 2 })
      end, { mc.tensor(0.2), mc.tensor(1.1) }, { second = bounds[1] ~= 6 and bounds[2] ~= math.huge or nil })
    end
  end)
end)
