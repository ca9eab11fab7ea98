-- pattern.lua - whether residuals have a pattern that all angles share, which no noise has: speckle of one angle knows
-- nothing of that of another, however its own pairs are correlated.
--
-- Residuals of each angle are averaged over ranges of lag and of age. Where only noise is left the means of a range
-- scatter about 0 from angle to angle; their mean over their own scatter is Student's t with F - 1 degrees of freedom,
-- whatever the noise within an angle. The largest one is compared with what as many ranges give by chance. Of few
-- angles that scatter is hardly known, so all ranges are looked at together too: the squares of the means over the
-- squares of what scatters, weighted by pairs, is Fisher's F of v and (F - 1) v degrees of freedom, where v says how
-- many ranges are independent. The products of what scatters at different angles tell v (Satterthwaite's); half of it
-- is taken. What the fit takes off the residuals of all angles makes the tests careful, not bold. noise.lua hands over
-- residuals.
local mc = require 'mascon'
local M = {}

local ANGLES, ALONE = 3, 4 -- fewer know nothing of their scatter, and of that of one range
local SAME = 0.5 -- deg
local LAGS, AGES = 8, 3 -- ranges: of lag, growing with it; of age
local LEAST = 12 -- pairs of a range
local CHANCE = 1e-6 -- of a pattern where there is none

---@class mascon.xpcs.Pattern
local Pattern = {}
Pattern.__index = Pattern

--- The ends of the ranges of lags 1 .. n - 1, in frames, the first after 0.
local function edges(n)
  local edge = { 0 }
  for k = 1, LAGS do edge[k + 1] = math.max(edge[k] + 1, math.ceil((n - 1) ^ (k / LAGS))) end
  return edge
end

--- Places for the residuals of some angles.
---@param phi number[] angles, deg; those that are equal, or opposite (speckle of q and -q is one), count as one
---@param m integer times that are looked at
---@return mascon.xpcs.Pattern|nil nil of too few
function M.new(phi, m)
  local first, place = {}, {}
  for f, a in ipairs(phi) do
    for k, b in ipairs(first) do
      if math.abs((a - b + 90) % 180 - 90) <= SAME then place[f] = k end
    end
    if not place[f] then
      first[#first + 1] = a
      place[f] = #first
    end
  end
  if #first < ANGLES or m < 2 * LEAST then return nil end
  local edge = edges(m)
  local cell = mc.scope(function()
    local i = mc.arange(1, m)
    local lag, sum = mc.abs(i:expand_dims(1) - i:expand_dims(2)), i:expand_dims(1) + i:expand_dims(2)
    local range = mc.zeros { m, m }
    for k = 2, LAGS do range = range + mc.gt(lag, edge[k]):to 'f64' end
    local age = mc.minimum(mc.floor(sum * (AGES / (2 * m + 1))), AGES - 1)
    return (range * AGES + age + 1):to 'i64'
  end)
  return setmetatable({ edge = edge, cell = cell, place = place, sums = {}, counts = {} }, Pattern)
end

--- Takes the residuals of angle f, symmetric, 0 where `there` is 0.
---@param f integer
---@param x mc.tensor f64 [m, m]
---@param there mc.tensor f64 [m, m]
function Pattern:add(f, x, there)
  local at = self.cell:reshape(-1)
  local function sum(v)
    return mc.bincount_weighted(at, v:reshape(-1), { minlength = LAGS * AGES + 1 }):totable()
  end
  local k = self.place[f]
  local sums, counts = sum(x), sum(there)
  for c = 1, self.sums[k] and #sums or 0 do
    sums[c], counts[c] = sums[c] + self.sums[k][c], counts[c] + self.counts[k][c]
  end
  self.sums[k], self.counts[k] = sums, counts
end

--- The chance of means of all ranges that are so much larger than what scatters about them.
---@param list table[] ranges { mean, apart (of each angle from it), pairs }
---@param F integer angles
local function together(list, F)
  local over, dot = 0, {}
  for i = 1, F do
    dot[i] = {}
    for j = 1, F do dot[i][j] = 0 end
  end
  for _, one in ipairs(list) do
    over = over + one.pairs * one.mean ^ 2
    for i = 1, F do
      for j = 1, F do dot[i][j] = dot[i][j] + one.pairs * one.apart[i] * one.apart[j] end
    end
  end
  -- F vectors that sum to 0 are F - 1 independent ones, of whose squares and products these are the sums
  local squares, all = 0, 0
  for i = 1, F do
    squares = squares + dot[i][i]
    for j = 1, F do all = all + dot[i][j] ^ 2 end
  end
  if not (squares > 0) then return over > 0 and 0 or 1 end
  -- for vectors of covariance S the first has the mean n tr S, the second n tr(S)^2 + n (n + 1) tr(S S)
  local n = F - 1
  local trace = squares / n
  local product = (all - n * trace ^ 2) / (n * (n + 1))
  local v = math.max(1, math.min(product > 0 and trace ^ 2 / product or #list, #list) / 2)
  return mc.stats.f.sf(F * over / trace, v, n * v):item()
end

--- The ranges that all angles have.
local function ranges_of(self)
  local list, F = {}, #self.sums
  for c = 1, LAGS * AGES do
    local mean, least, pairs, values = 0, math.huge, 0, {}
    for f = 1, F do
      local n = self.counts[f][c + 1]
      least, pairs = math.min(least, n), pairs + n
      values[f] = self.sums[f][c + 1] / math.max(n, 1)
      mean = mean + values[f] / F
    end
    if least >= 2 * LEAST then -- each pair stands there twice
      for f = 1, F do values[f] = values[f] - mean end
      list[#list + 1] = { at = c - 1, mean = mean, apart = values, pairs = pairs }
    end
  end
  return list
end

--- The mean that the angles share most clearly.
---@param k integer frames of a step of the times that are looked at
---@return table|nil chance (of so large a mean in a range, or of such means in all, by noise alone), improbable, t,
---  mean, from, to (lag in frames), age 1 .. 3
function Pattern:judge(k)
  local best
  local list, F = ranges_of(self), #self.sums
  for _, one in ipairs(list) do
    local square = 0
    for f = 1, F do square = square + one.apart[f] ^ 2 end
    local t = one.mean / math.sqrt(math.max(square / (F - 1), 1e-300) / F)
    if not best or math.abs(t) > math.abs(best.t) then
      local range = math.floor(one.at / AGES) + 1
      best = { t = t, mean = one.mean, from = self.edge[range] * k + 1, to = self.edge[range + 1] * k,
        age = one.at % AGES + 1 }
    end
  end
  if not best then return nil end
  local own = F >= ALONE and #list * 2 * mc.stats.t.sf(math.abs(best.t), F - 1):item() or 1
  best.chance = math.min(1, 2 * math.min(own, together(list, F)))
  best.improbable = best.chance < CHANCE
  return best
end

return M
