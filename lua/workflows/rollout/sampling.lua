-- sampling.lua - points in the parameter space, and how evenly they fill it.
--
-- Rows are a function of the seed and their index alone, so that a shard or a later run of more rows has the same ones.
-- Source: F. J. Hickernell, A generalized discrepancy and quadrature error bound, 1998 (centred L2 discrepancy).
local mc = require 'mascon'
local M = {}

--- Points of rows first .. last, f64 [n, d] in [0, 1). Both methods of scrambling that a configuration may name, owen
--- and lms_shift, are random linear matrices and a digital shift, as in SciPy, which the reference calls for both.
---@param config table
---@param first integer from 1
---@param last integer
function M.points(config, first, last)
  local s, d, n = config.sampling, #config.space.dims, last - first + 1
  local key = mc.random.key(s.sobol.seed)
  if s.strategy == 'random' then
    return mc.random.uniform({ s.total_samples, d }, { key = key })[{ { first, last }, mc.all }]:copy()
  elseif s.strategy == 'lhs' then
    return mc.random.latin_hypercube(s.total_samples, d, { key = key })[{ { first, last }, mc.all }]:copy()
  end
  if s.sobol.scramble then return mc.random.sobol(n, d, { skip = first - 1, key = key }) end
  return mc.random.sobol(n, d, { skip = first - 1, scramble = false })
end

--- Centred L2 discrepancy, squared, of points x [n, d]. Rows are taken in blocks, so memory stays small.
---     mc.rollout.sampling.discrepancy(mc.tensor{ { 0.5 } })  --> 0.083333333333333
function M.discrepancy(x)
  local n, d = x.shape[1], x.shape[2]
  local a = (x - 0.5):abs()
  local middle = mc.prod(1 + 0.5 * a - 0.5 * a * a, 2):sum():item()
  local outer, block = 0, math.max(1, math.floor(2 ^ 17 / n))
  for first = 1, n, block do
    local last = math.min(first + block - 1, n)
    outer = outer + mc.scope(function()
      local p = mc.ones({ last - first + 1, n }, { device = x.device })
      for k = 1, d do
        local xi, ai = x[{ { first, last }, k }]:reshape(-1, 1), a[{ { first, last }, k }]:reshape(-1, 1)
        local xj, aj = x[{ mc.all, k }]:reshape(1, -1), a[{ mc.all, k }]:reshape(1, -1)
        p = p * (1 + 0.5 * ai + 0.5 * aj - 0.5 * (xi - xj):abs())
      end
      return p:sum():item()
    end)
  end
  return (13 / 12) ^ d - 2 / n * middle + outer / n ^ 2
end

--- Largest, smallest and mean size of the correlations between different coordinates; 0 for a constant one, and for a
--- single one.
---@return table { max, min, mean }
function M.correlations(x)
  local n, d = x.shape[1], x.shape[2]
  if d < 2 or n < 2 then return { max = 0, min = 0, mean = 0 } end
  local centred = x - x:mean(1, { keepdim = true })
  local norm = (centred * centred):sum(1):sqrt()
  local unit = centred / mc.where(mc.eq(norm, 0), 1, norm)
  local r = mc.matmul(unit.T, unit):abs()
  local list = {}
  local rows = r:totable()
  for i = 1, d do for j = i + 1, d do list[#list + 1] = rows[i][j] end end
  table.sort(list)
  local sum = 0
  for _, v in ipairs(list) do sum = sum + v end
  return { max = list[#list], min = list[1], mean = sum / #list }
end

-- A set of Sobol points is up to so many times as even as a random one of its size, at sizes that people start with
local BETTER = 8

--- The discrepancy (squared) and the largest of the correlations that n random points of d coordinates have, at about.
local function by_chance(n, d)
  return ((5 / 4) ^ d - (13 / 12) ^ d) / n, d > 1 and math.sqrt(2 * math.log(d * (d - 1)) / n) or 0
end

--- What the quality report holds; few_for_discrepancy and few_for_correlation say that a set of so few rows hardly
--- meets the limit, however it is drawn. Above 2^15 rows it looks at the first 2^15, and says so.
function M.quality(config, points)
  local v, n = config.sampling.validation, points.shape[1]
  local seen = math.min(n, 2 ^ 15)
  local x = seen < n and points[{ { 1, seen }, mc.all }]:copy() or points
  local out = { samples = n, looked_at = seen, dimensions = points.shape[2] }
  local spread, shared = by_chance(seen, points.shape[2])
  if v.check_discrepancy then
    out.few_for_discrepancy = spread > BETTER * v.max_discrepancy
    out.discrepancy = M.discrepancy(x)
    out.discrepancy_ok = out.discrepancy <= v.max_discrepancy
  end
  if v.check_correlation then
    local c = M.correlations(x)
    out.few_for_correlation = shared > BETTER / 2 * v.max_pairwise_correlation
    out.max_correlation, out.min_correlation, out.mean_correlation = c.max, c.min, c.mean
    out.correlation_ok = c.max <= v.max_pairwise_correlation
  end
  return out
end

return M
