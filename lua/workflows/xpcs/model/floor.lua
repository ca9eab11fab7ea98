-- floor.lua - where D(t) or G(t) of a fit falls to 0 or below, so that the model takes the least value instead.
--
-- There the data say nothing about scale, power and shift beyond that. A fit names the times (verdict.lua).
local mc = require 'mascon'
local model = require 'workflows.xpcs.model.model'
local numbers = require 'workflows.xpcs.model.numbers'
local parameters = require 'workflows.xpcs.model.parameters'
local M = {}

--- The rates that are at the least value at some of the measured times.
---@param t mc.tensor f64 [n] s
---@param physics number[] 3 or 7
---@return table[] list of { name, unit, names, count, n, from, to (s) }
function M.of(t, physics)
  if not mc.is_tensor(t) or type(physics) ~= 'table' or #physics ~= 3 and #physics ~= 7 then
    error('xpcs.floor.of: give a tensor of times (s) and a list of 3 or 7 physical parameters', 2)
  end
  local out = {}
  for _, rate in ipairs(parameters.RATES) do
    if physics[rate.at] then
      local at = mc.scope(function()
        local _, floored = model.rate(t, physics[rate.at], physics[rate.at + 1], physics[rate.at + 2])
        return t[floored]:totable()
      end)
      if #at > 0 then
        out[#out + 1] = { name = ('%s(t) = %s t^%s + %s'):format(rate.symbol, unpack(rate.names)), unit = rate.unit,
          names = rate.names, count = #at, n = t.shape[1], from = at[1], to = at[#at] }
      end
    end
  end
  return out
end

--- What it means, in a sentence.
---@param cut table of M.of
---@return string
function M.sentence(cut)
  local three = ('%s, %s and %s'):format(unpack(cut.names))
  local where = ('%s is 0 or less at %s, where the fit takes %g %s instead'):format(cut.name, cut.count == cut.n
    and 'all times' or ('%d of %d times (%s to %s s)'):format(cut.count, cut.n, numbers.number(cut.from),
    numbers.number(cut.to)), model.LEAST,
    cut.unit)
  if cut.count == cut.n then return ('%s: the data do not determine %s'):format(where, three) end
  return ('%s: the data determine %s(t) at the other times, and %s only through it'):format(where, cut.name:sub(1, 1),
    three)
end

return M
