-- pattern.lua - whether residuals have a pattern that all angles share, which no noise has: speckle of one angle knows
-- nothing of that of another, however its own pairs are correlated.
--
-- Residuals of each angle are averaged over ranges of lag and of age. Where only noise is left the means of a range
-- scatter about 0 from angle to angle; their mean over their own scatter is Student's t with F - 1 degrees of freedom,
-- whatever the noise within an angle. The largest one is compared with what as many ranges give by chance. What the fit
-- takes off the residuals of all angles makes the test careful, not bold. Takes the end of a fit; fits nothing.
local mc = require 'mascon'
local noise = require 'workflows.xpcs.noise'
local M = {}

local ANGLES = 4 -- fewer know little of their scatter
local LAGS, AGES = 8, 3 -- ranges: of lag, each half as long again as the one before or more; of age
local LEAST = 12 -- pairs of a range
local CHANCE = 1e-6 -- of a pattern where there is none

--- The range of each lag (1 .. n - 1), in frames: ranges grow with the lag.
local function ranges(n)
  local out, edge = {}, { 0 }
  for k = 1, LAGS do edge[k + 1] = math.max(edge[k] + 1, math.ceil((n - 1) ^ (k / LAGS))) end
  for lag = 1, n - 1 do
    for k = 1, LAGS do if lag > edge[k] and lag <= edge[k + 1] then out[lag] = k end end
  end
  return out, edge
end

--- Sums of residuals and counts of the ranges of one angle, from residuals of noise.residuals.
local function sums_of(a, cell, count)
  local inside = mc.gt(mc.triu(a.there, 1), 0)
  local at = cell[inside]
  local function sum(x) return mc.bincount_weighted(at, x[inside]:to 'f64', { minlength = count + 1 }):totable() end
  return sum(a.x), sum(a.there)
end

--- Looks for a pattern.
---@param v mascon.xpcs.Fitted
---@param lines? table of contrasts.judge: residuals are those of the best contrast and offset of each angle
---@return table|nil chance (of so large a mean by noise alone), improbable, t, lag { from, to } (frames), age 1 .. 3;
---  nil of too few angles or times
function M.of(v, lines)
  local data = v.data
  local F, k = data.F, noise.step(data)
  if F < ANGLES or data.n < 2 * LEAST or v.smooth then return nil end
  local contrast, offset = noise.scaling_of(v, lines)
  return mc.scope(function()
    local cell, edge, count, sums, counts, m = nil, nil, LAGS * AGES, {}, {}, nil
    for f = 1, F do
      local part = mc.scope(function()
        local a = noise.residuals(v, contrast[f], offset[f], f, k)
        if not cell then
          m = a.x.shape[1]
          local of_lag
          of_lag, edge = ranges(m)
          of_lag[0] = 1
          local list = {}
          for lag = 0, m - 1 do list[lag + 1] = of_lag[lag] end
          local i = mc.arange(1, m)
          local lag = mc.abs(i:expand_dims(1) - i:expand_dims(2)):to 'i64'
          local age = mc.minimum(mc.floor((i:expand_dims(1) + i:expand_dims(2)) * (AGES / (2 * m + 1))), AGES - 1)
          local range = mc.take(mc.tensor(list), (lag + 1):reshape(-1), 1):reshape(m, m)
          cell = mc.keep(((range - 1) * AGES + age + 1):to 'i64')
        end
        local s, n = sums_of(a, cell, count)
        return { s, n }
      end)
      sums[f], counts[f] = part[1], part[2]
    end
    local best
    for c = 1, count do
      local mean, square, all = 0, 0, 0
      for f = 1, F do
        local n = counts[f][c + 1]
        if n >= LEAST then
          local r = sums[f][c + 1] / n
          mean, square, all = mean + r, square + r * r, all + 1
        end
      end
      if all >= ANGLES then
        mean = mean / all
        local variance = (square - all * mean * mean) / (all - 1)
        local t = mean / math.sqrt(math.max(variance, 1e-300) / all)
        local chance = 2 * mc.stats.t.sf(math.abs(t), all - 1):item()
        if not best or chance < best.chance then
          local range = math.floor((c - 1) / AGES) + 1
          best = { chance = chance, t = t, mean = mean, from = edge[range] * k + 1, to = edge[range + 1] * k,
            age = (c - 1) % AGES + 1 }
        end
      end
    end
    if not best then return nil end
    best.chance = math.min(1, best.chance * count)
    best.improbable = best.chance < CHANCE
    return best
  end)
end

return M
