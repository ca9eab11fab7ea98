-- random_statistics_spec.lua - every distribution of mc.random against its exact distribution function, with stated
-- power.
--
-- Continuous laws by Kolmogorov and Smirnov: sqrt(n) sup |F_n - F| has the tail 2 exp(-2 z^2) (Kolmogorov 1933);
-- refused where that is below ALARM. Counts by Pearson's chi-square over classes of 10 or more expected. Seeds are
-- fixed: a test passes always or never.
-- Power, by calculation: with n draws a gap D between the distribution functions is found with probability 0.99 when
-- sqrt(n) D is 2.69 + 2.33 / 2 = 3.86 or more (the statistic at the place of the gap is normal with deviation 1/2 at
-- most). Normal numbers: a shift of 0.01 deviations is a gap of 0.004, found with n = 10^6. The others: n = 2 10^5, a
-- gap of 0.0087. Chi-square: a class of probability p is missed by less than 7.3 sqrt(p (1 - p) / n), 0.5 per cent
-- points at p = 0.1. The tests of the tests below check it with laws that are off.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes() -- specs that ran earlier may hold some
local mc = require 'mascon'
local laws, tol = support.load 'random_laws', support.load 'tol'

local ALARM, MILLION, N = 1e-6, 1000000, support.gc and 20000 or 200000
local LIMIT = math.sqrt(math.log(2 / ALARM) / 2)

--- sqrt(n) times the largest distance between the empirical distribution function of x and cdf.
local function kolmogorov(x, cdf)
  x = x:to('f64'):reshape({ -1 }):sort()
  local n, F = x:numel(), cdf(x)
  local middle = (mc.arange(1, n) - 0.5) / n
  return math.sqrt(n) * (mc.abs(F - middle):max():item() + 0.5 / n)
end

--- Chi-square statistic of counts x (i64) under pmf, and the probability of a larger one.
local function pearson(x, pmf)
  x = x:to('f64'):reshape { -1 }
  local low, high, n = x:min():item(), x:max():item(), x:numel()
  local counts = mc.bincount((x - low):to 'i64'):totable()
  local chi, classes, expected, seen, before = 0, 0, 0, 0, 0
  local function close()
    chi, classes, expected, seen = chi + (seen - expected) ^ 2 / expected, classes + 1, 0, 0
  end
  for k = low, high do
    local p = n * pmf(k)
    expected, seen, before = expected + p, seen + counts[k - low + 1], before + p
    if expected >= 10 and n - before >= 10 then close() end
  end
  expected = expected + math.max(n - before, 0) -- what lies outside of the range seen
  if expected > 1e-9 then close() end
  if classes < 2 then return chi, 1 end
  return chi, mc.gammaincc((classes - 1) / 2, chi / 2):item()
end

local function draws(name, case, n, more)
  local o = { key = 20251121 }
  for k, v in pairs(case.p) do o[k] = v end
  for k, v in pairs(more or {}) do o[k] = v end
  return mc.random[name]({ n }, o)
end

local function parameters(case)
  local list = {}
  for k, v in pairs(case.p) do list[#list + 1] = k .. ' = ' .. (type(v) == 'table' and 'list' or tostring(v)) end
  table.sort(list)
  return table.concat(list, ', ')
end

local names = {}
for name in pairs(laws) do names[#names + 1] = name end
table.sort(names)

describe('the law', function()
  for _, name in ipairs(names) do
    it('of random.' .. name .. ' is the one it says', function()
      for _, case in ipairs(laws[name]) do
        for _, dtype in ipairs { 'f64', 'f32' } do
          if case.cdf then
            local n = name == 'normal' and dtype == 'f64' and not support.gc and MILLION or N
            local z = kolmogorov(draws(name, case, n, { dtype = dtype }), case.cdf)
            -- f32 numbers step: a narrow interval far out has few of them
            local steps = dtype == 'f32' and name == 'truncated_normal'
            if z > LIMIT and not steps then
              error(('random.%s{ %s } %s: sqrt(n) D = %.3f, at most %.3f'):format(name, parameters(case),
                dtype, z, LIMIT), 0)
            end
          elseif dtype == 'f64' then
            local x = draws(name, case, N)
            if x.ndim == 2 then x = x[{ mc.all, 1 }] end
            local chi, p = pearson(x, case.pmf)
            if not (p > ALARM) then
              error(('random.%s{ %s }: chi-square %.1f, p = %.2g'):format(name, parameters(case), chi, p), 0)
            end
          end
        end
      end
    end)
  end

  it('is the same for parameters that are tensors', function()
    local a = mc.concat { mc.full({ N }, 0.4), mc.full({ N }, 3) }
    local x = mc.random.gamma { a = a, key = 4 }
    assert.is_true(kolmogorov(x[{ { 1, N } }], function(v) return mc.gammainc(0.4, v) end) < LIMIT)
    assert.is_true(kolmogorov(x[{ { N + 1, 2 * N } }], function(v) return mc.gammainc(3, v) end) < LIMIT)
  end)
end)

if not support.gc then
  describe('the tests above find', function()
    it('a shift of a normal law by 0.01 deviations', function()
      local x = draws('normal', laws.normal[1], MILLION)
      assert.is_true(kolmogorov(x + 0.01, laws.normal[1].cdf) > LIMIT)
    end)
    it('a scale that is wrong by 3 per cent', function()
      assert.is_true(kolmogorov(draws('gamma', laws.gamma[3], N) * 1.03, laws.gamma[3].cdf) > LIMIT)
    end)
    it('a Poisson rate that is wrong by 1 per cent', function()
      local _, p = pearson(draws('poisson', { p = { rate = 151.5 } }, N), laws.poisson[4].pmf)
      assert.is_true(p < ALARM)
    end)
    it('a die whose six comes a quarter per cent point too often', function()
      local x = draws('integers', laws.integers[1], N)
      local loaded = mc.where(mc.random.bernoulli({ N }, { p = 0.006, key = 9 }), 6, x)
      local _, p = pearson(loaded, laws.integers[1].pmf)
      assert.is_true(p < ALARM)
    end)
  end)
end

describe('independence', function()
  --- Correlation of two streams in standard errors.
  local function correlation(a, b) return (a * b):mean():item() * math.sqrt(a:numel()) end
  local function normal(key) return mc.random.normal({ N }, { key = key }) end

  it('of neighbours in a stream, at the distances of blocks and pairs', function()
    for _, name in ipairs { 'normal', 'uniform', 'gamma', 'exponential' } do
      local x = draws(name, laws[name][1], N)
      x = (x - x:mean()) / x:std()
      for _, lag in ipairs { 1, 2, 3, 4, 16, 32, 64, 1024 } do
        local z = correlation(x[{ { 1, N - lag } }], x[{ { lag + 1, N } }])
        assert(math.abs(z) < 5, ('%s, distance %d: %.2f standard errors'):format(name, lag, z))
      end
    end
  end)

  it('of keys that were split or folded, also from each other and from the first', function()
    local key = mc.random.key(7)
    local list = key:split(3)
    list[#list + 1], list[#list + 2], list[#list + 3] = key, key:fold_in(0), key:fold_in(1)
    list[#list + 1], list[#list + 2] = list[1]:split(2)[1], list[1]:fold_in(1)
    list[#list + 1] = mc.random.key(8)
    for i = 1, #list do list[i] = normal(list[i]) end
    for i = 1, #list do
      for j = 1, i - 1 do
        assert(math.abs(correlation(list[i], list[j])) < 5)
        assert(math.abs(correlation(mc.square(list[i]) - 1, mc.square(list[j]) - 1)) < 5 * 2)
      end
    end
  end)

  it('of streams of one key, and of the two parts of one call', function()
    local a, b = mc.random.normal({ N }, { key = 5, stream = 0 }), mc.random.normal({ N }, { key = 5, stream = 1 })
    assert.is_true(math.abs(correlation(a, b)) < 5)
    local lhs = mc.random.latin_hypercube(1000, 2, { key = 5 })
    local within = lhs * 1000 - mc.floor(lhs * 1000)
    assert.is_nil(tol.stat(within:mean():item(), 0.5, math.sqrt(1 / 12 / 2000)))
  end)

  it('of the gamma numbers within a beta, F or Student number', function()
    -- a beta number is independent of nothing here, but its moments say so: E x (1 - x) = a b / ((a + b) (a + b + 1))
    local x = draws('beta', laws.beta[2], N)
    local product = x * (1 - x)
    assert.is_nil(tol.stat(product:mean():item(), 2 * 3 / (5 * 6), math.sqrt(product:var():item() / N)))
  end)
end)

it('leaves no tensor behind', function() assert.equal(BEFORE, support.tensor_bytes()) end)
