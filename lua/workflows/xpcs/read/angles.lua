-- angles.lua - angles in degrees: wrapping, ranges that wrap, the choice of angles of an analysis.
local check = require 'mascon.core.check'
local M = {}

--- An angle in (-180, 180].
function M.wrap(a)
  local w = (a + 180) % 360 - 180
  return w <= -180 and 180 or w
end

--- Whether an angle lies in [low, high]; a range whose ends are in the other order after wrapping goes through 180 deg.
function M.within(a, low, high)
  if high - low >= 360 then return true end
  a, low, high = M.wrap(a), M.wrap(low), M.wrap(high)
  if low <= high then return a >= low and a <= high end
  return a >= low or a <= high
end

local SHOWN = 8 -- angles that a note names
local NEAR = 0.5 -- deg, between an angle that is named and that of the file

local function apart(a, b) return math.abs(M.wrap(a - b)) end

--- The angles that a list of ranges { low, high } and of single ones { angle } names, as a set of places.
---@param places integer[] that may be chosen
local function matching(phi, places, ranges)
  local out = {}
  for _, r in ipairs(ranges) do
    local near
    for _, k in ipairs(places) do
      if r[2] then out[k] = out[k] or M.within(phi[k], r[1], r[2])
      elseif not near or apart(phi[k], r[1]) < apart(phi[near], r[1]) then near = k end
    end
    if near then
      if apart(phi[near], r[1]) > NEAR then
        local list = {}
        for i, k in ipairs(places) do list[i] = ('%g'):format(phi[k]) end
        check.error(('xpcs: there is no angle %g deg; the file has %s'):format(r[1], table.concat(list, ', ')), 5)
      end
      for _, k in ipairs(places) do out[k] = out[k] or phi[k] == phi[near] end
    end
  end
  return out
end

--- Places of the angles inside any of the ranges, with a note where some are left out; all of them, with a warning,
--- when there is no range or none matches.
---@param phi number[] deg
---@param ranges? number[][] { low, high }, or { angle } for the nearest one
---@param warnings string[]
---@param among? table<integer, boolean> the places that may be chosen; all of them without it
---@param skip? number[][] a list like ranges of those to leave out
---@return integer[]
function M.choose(phi, ranges, warnings, among, skip)
  local all = {}
  for k = 1, #phi do if not among or among[k] then all[#all + 1] = k end end
  if not ranges and not skip then return all end
  if ranges and #ranges == 0 then
    table.insert(warnings, 'angle filter: no ranges are given; all angles are used')
    return all
  end
  local out, kept_, left = {}, ranges and matching(phi, all, ranges), skip and matching(phi, all, skip) or {}
  for _, k in ipairs(all) do
    if (not kept_ or kept_[k]) and not left[k] then out[#out + 1] = k end
  end
  if #out == 0 and skip then
    check.error(('xpcs: the angles to leave out are all %d that there are; keep one'):format(#all), 5)
  elseif #out == 0 then
    table.insert(warnings, 'angle filter: no angle lies in the ranges; all angles are used')
    return all
  end
  if #out < #all then
    local kept = {}
    for i = 1, math.min(#out, SHOWN) do kept[i] = ('%g'):format(phi[out[i]]) end
    table.insert(warnings, ('the angle filter keeps %d of %d angles: %s%s deg'):format(#out, #all,
      table.concat(kept, ', '), #out > SHOWN and ', ...' or ''))
  end
  return out
end

return M
