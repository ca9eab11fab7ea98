-- examine.lua - what is odd in data before any fit: angles that are no numbers, values that no correlation has.
--
-- A fit of such data ends, with values that mean nothing; so it is said first. Takes what was noted while the data were
-- read; looks at no matrix.
local check = require 'mascon.core.check'
local parameters = require 'workflows.xpcs.parameters'
local error = check.error
local M = {}

--- Raises for angles that are not finite.
---@param path string
---@param phi number[] deg
function M.angles(path, phi)
  for k, a in ipairs(phi) do
    if a - a ~= 0 then
      error(('xpcs: %s: angle %d of %d is %s; give degrees, or leave the matrix out'):format(path, k, #phi,
        check.show(a)), 4)
    end
  end
end

--- How many angles a test holds for, and the first of them, as words; nil for none.
local function which(d, test)
  local count, first = 0, nil
  for f = 1, d.F do
    local q = d.quality[f]
    if q and q.good > 0 and test(q) then count, first = count + 1, first or f end
  end
  if count == 0 then return nil end
  return ('%d of %d angles (the first at %g deg)'):format(count, d.F, d.phi[first]), d.quality[first]
end

--- Sentences about values that C2 does not take.
---@param d mascon.xpcs.Data with quality
---@return string[]
function M.warnings(d)
  local out, low = {}, parameters.OFFSET.min
  local high = parameters.OFFSET.max + parameters.CONTRAST.max
  local list, q = which(d, function(v) return v.least == v.most end)
  if list then
    out[#out + 1] = ('all values are %g in %s: there is no correlation to fit'):format(q.least, list)
  end
  list, q = which(d, function(v) return v.mean < low or v.mean > high end)
  if list then
    out[#out + 1] = ('the mean of C2 is %.4g in %s; the model runs from an offset between %g and %g. Add 1 where it '
      .. 'was subtracted, or divide by the baseline'):format(q.mean, list, low, parameters.OFFSET.max)
    return out
  end
  list, q = which(d, function(v) return v.least <= 0 and v.least < v.most end)
  if list then
    out[#out + 1] = ('C2 goes down to %.4g in %s, which no correlation does. Are these lost frames? Mask them '
      .. '(--mask), or write NaN'):format(q.least, list)
  end
  return out
end

return M
