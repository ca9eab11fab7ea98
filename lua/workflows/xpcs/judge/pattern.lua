-- pattern.lua - whether residuals have a pattern that all angles share, which no noise has: speckle of one angle knows
-- nothing of that of another, however its own pairs are correlated.
--
-- Residuals of each angle are averaged over ranges of lag and of age. Where only noise is left the means of a range
-- scatter about 0 from angle to angle; their mean over their own scatter is Student's t with F - 1 degrees of freedom,
-- whatever the noise within an angle. The largest one is compared with what as many ranges give by chance. What the fit
-- takes off the residuals of all angles makes the test careful, not bold. noise.lua hands over residuals.
local mc = require 'mascon'
local M = {}

local ANGLES = 4 -- fewer know little of their scatter
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
---@param F integer angles
---@param m integer times that are looked at
---@return mascon.xpcs.Pattern|nil nil of too few
function M.new(F, m)
  if F < ANGLES or m < 2 * LEAST then return nil end
  local edge = edges(m)
  local cell = mc.scope(function()
    local i = mc.arange(1, m)
    local lag, sum = mc.abs(i:expand_dims(1) - i:expand_dims(2)), i:expand_dims(1) + i:expand_dims(2)
    local range = mc.zeros { m, m }
    for k = 2, LAGS do range = range + mc.gt(lag, edge[k]):to 'f64' end
    local age = mc.minimum(mc.floor(sum * (AGES / (2 * m + 1))), AGES - 1)
    return (range * AGES + age + 1):to 'i64'
  end)
  return setmetatable({ edge = edge, cell = cell, sums = {}, counts = {} }, Pattern)
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
  self.sums[f], self.counts[f] = sum(x), sum(there)
end

--- The largest mean that the angles share.
---@param k integer frames of a step of the times that are looked at
---@return table|nil chance (of so large a mean by noise alone), improbable, t, mean, from, to (lag in frames), age
---  1 .. 3
function Pattern:judge(k)
  local best, range
  local count = LAGS * AGES
  for c = 1, count do
    local mean, square, all = 0, 0, 0
    for f = 1, #self.sums do
      local n = self.counts[f][c + 1]
      if n >= 2 * LEAST then -- each pair stands there twice
        local r = self.sums[f][c + 1] / n
        mean, square, all = mean + r, square + r * r, all + 1
      end
    end
    if all >= ANGLES then
      mean = mean / all
      local variance = (square - all * mean * mean) / (all - 1)
      local t = mean / math.sqrt(math.max(variance, 1e-300) / all)
      local chance = 2 * mc.stats.t.sf(math.abs(t), all - 1):item()
      if not best or chance < best.chance then
        range = math.floor((c - 1) / AGES) + 1
        best = { chance = chance, t = t, mean = mean, from = self.edge[range] * k + 1, to = self.edge[range + 1] * k,
          age = (c - 1) % AGES + 1 }
      end
    end
  end
  if not best then return nil end
  best.chance = math.min(1, best.chance * count)
  best.improbable = best.chance < CHANCE
  return best
end

return M
