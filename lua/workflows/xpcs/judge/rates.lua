-- rates.lua - D(t) and the shear rate of a fit against time, with errors: what the data determine, also where scale,
-- power and offset are not known separately.
--
-- The error is that of the linearised rate: g' C g with g its derivatives. Where some parameters have no variance the
-- spectrum of the normal matrix stands in: the rate is determined if g has no share in a direction without curvature.
-- Takes the end of a fit; fits nothing.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local covariance = require 'workflows.xpcs.judge.covariance'
local model = require 'workflows.xpcs.model.model'
local parameters = require 'workflows.xpcs.model.parameters'
local M = {}

local ROUNDING = 1e-15 -- of the largest eigenvalue: what lies below is none
local MEMBER = 1e-3 -- share of a gradient in a direction that is not determined, as in covariance.lua
M.NORMAL = 1.959964 -- standard errors of an interval of 95 %

--- Which free numbers move a physical parameter, and by how much: itself, or those that it is tied to.
---@return table<integer, number> factor by free number
local function moved_by(p, k, place)
  local i, out = 2 * p.m + k, {}
  local tie = p.ties and p.ties[i]
  for a, at in ipairs(p.free) do
    if at == i then out[place and place[a] or a] = 1
    elseif tie and tie.to == at then out[place and place[a] or a] = tie.factor end
  end
  return out
end

--- Variance of a sum of free numbers with these weights; infinite where the data do not determine it.
local function variance(g, of)
  local C, s, sum, known = of.covariance, of.spectrum, 0, true
  for i, a in pairs(g) do
    for j, b in pairs(g) do
      if a ~= 0 and b ~= 0 then
        known = known and C[i][j] == C[i][j] and math.abs(C[i][j]) < math.huge
        sum = sum + a * b * C[i][j]
      end
    end
  end
  if known then return math.max(sum, 0) end
  local n, size = #s.values, 0
  for i, a in pairs(g) do
    if s.norms[i] == 0 and a ~= 0 then return math.huge end
    size = size + (s.norms[i] > 0 and a / s.norms[i] or 0) ^ 2
  end
  sum = 0
  for k = 1, n do
    local along = 0
    for i, a in pairs(g) do along = along + (a ~= 0 and a / s.norms[i] * s.vectors[k][i] or 0) end
    local v = s.values[k]
    if v < s.values[n] / covariance.LIMIT and along * along > MEMBER ^ 2 * size then return math.huge end
    -- a direction that is hardly known moves a rate by much even where it is a small share of it
    if v > s.values[n] * ROUNDING then sum = sum + along * along / v * s.width[k] ^ 2 end
  end
  return sum * of.factor
end

--- By how much the variances of a result exceed those of the normal matrix: misfit and correlated noise.
local function factor_of(C, plain)
  local most = 0
  for i = 1, #C do
    local v = C[i][i] / plain[i][i]
    if v == v and v < math.huge then most = math.max(most, v) end
  end
  return most > 0 and most or math.huge
end

--- The rates of a fit of the built-in model at the times of the data.
---@param r table result of fit, or one of the fits of a joint one
---@param at? number[] s, instead of the times of the data
---@return table[]|nil list of { key, name, title, unit, t, value, error, low, high (lists; the ends of 95 %), scale,
---  power, shift (names) }; errors are infinite where the data do not determine the rate, low and high then NaN. nil
---  for own models
function M.of(r, at)
  if type(r) ~= 'table' or type(r.mode) ~= 'string' then
    check.error(('xpcs.rates.of: the result is %s; give what mc.xpcs.fit returns'):format(check.show(r)), 2)
  end
  if at ~= nil then
    if type(at) ~= 'table' or #at == 0 then
      check.error(('xpcs.rates.of: at is %s; give a list of times in s'):format(check.show(at)), 2)
    end
    for i, v in ipairs(at) do check.arg('xpcs.rates.of', ('at[%d]'):format(i), v, 'number >= 0', 3) end
  end
  local p = r.problem
  if not r.physics or not p or not p.m or not p.t then return nil end
  local whole = r.whole or r
  local of = { covariance = whole.covariance, spectrum = whole.spectrum,
    factor = factor_of(whole.covariance, whole.spectrum.covariance) }
  local t, out = p.t:totable(), {}
  local least = math.max(#t > 1 and math.abs(t[2] - t[1]) / 2 or 0, 1e-8) -- as model.rate takes times
  for _, rate in ipairs(parameters.RATES) do
    local scale, power, shift = unpack(r.physics, rate.at, rate.at + 2)
    if scale then
      local none = r.unneeded and rate.at > 1 -- the errors of what is absent are none
      local one, by = { t = at or t, value = {}, error = {}, low = {}, high = {} }, {}
      for k, v in pairs(rate) do one[k] = v end
      for k = 0, 2 do by[k + 1] = moved_by(p, rate.at + k, r.whole and r.whole.place) end
      for i, time in ipairs(one.t) do
        local tau = math.max(time, least)
        local slopes, g = { tau ^ power, scale * tau ^ power * math.log(tau), 1 }, {}
        for k = 1, 3 do
          for a, factor in pairs(by[k]) do g[a] = (g[a] or 0) + factor * slopes[k] end
        end
        local raw, e = scale * slopes[1] + shift, none and math.huge or math.sqrt(variance(g, of))
        one.value[i], one.error[i] = math.max(raw, model.LEAST), e
        one.low[i] = e < math.huge and math.max(raw - M.NORMAL * e, model.LEAST) or 0 / 0
        one.high[i] = e < math.huge and math.max(raw + M.NORMAL * e, model.LEAST) or 0 / 0
      end
      out[#out + 1] = one
    end
  end
  return out
end

--- Where a rate is known best of the middle times: the time whose relative error is least.
---@param r table
---@param at 1|4 of parameters.RATES
---@return table|nil { t, value, error, unit, said }
function M.best(r, at)
  for _, one in ipairs(M.of(r) or {}) do
    if one.at == at then
      local found
      for i, v in ipairs(one.value) do
        local e = one.error[i]
        if e < math.huge and v > model.LEAST and (not found or e / v < found.error / found.value) then
          found = { t = one.t[i], value = v, error = e, said = one.said, unit = one.unit }
        end
      end
      return found
    end
  end
end

--- Columns of rates.csv: t, then of each rate value, error and the ends of 95 %.
---@param r table
---@return mc.tensor|nil f64 [n, 5 or 9], string[]|nil
function M.columns(r)
  local list = M.of(r)
  if not list then return nil end
  local head, columns = { 't' }, { list[1].t }
  for _, one in ipairs(list) do
    for _, part in ipairs { { '', 'value' }, { '_error', 'error' }, { '_low', 'low' }, { '_high', 'high' } } do
      head[#head + 1], columns[#columns + 1] = one.key .. part[1], one[part[2]]
    end
  end
  return mc.tensor(columns).mT:contiguous(), head
end

return M
