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

--- Angles of the given places in words.
local function named(phi, places)
  local list = {}
  for i, k in ipairs(places) do list[i] = ('%g'):format(phi[k]) end
  return table.concat(list, ', ')
end

--- The angles that a list of ranges { low, high } and of single ones { angle } names, as a set of places, and whether
--- there are any. Raises for an item that names none, but for a list with or_all.
---@param places integer[] that may be chosen
local function matching(phi, places, ranges)
  local out = {}
  for i, r in ipairs(ranges) do
    if type(r) ~= 'table' or type(r[1]) ~= 'number' or r[2] ~= nil and type(r[2]) ~= 'number' then
      check.error(('xpcs: item %d of the angles is %s; give { low, high } or { angle }, deg'):format(i,
        check.show(r)), 5)
    end
    local low, high, any = r[1], r[2], false
    if not high then
      local near
      for _, k in ipairs(places) do
        if not near or apart(phi[k], low) < apart(phi[near], low) then near = k end
      end
      if near and apart(phi[near], low) <= NEAR then low, high = phi[near], phi[near] end
    end
    for _, k in ipairs(high and places or {}) do
      if M.within(phi[k], low, high) then out[k], any = true, true end
    end
    if not any and not ranges.or_all then
      check.error(('xpcs: there is no angle %s deg; the file has %s'):format(
        r[2] and ('from %g to %g'):format(r[1], r[2]) or ('%g'):format(r[1]), named(phi, places)), 5)
    end
  end
  return out, next(out) ~= nil
end

--- Places of the angles inside any of the ranges, with a note where some are left out. Without ranges, all of them; a
--- range that holds none is refused.
---@param phi number[] deg
---@param ranges? number[][] { low, high }, or { angle } for the nearest one; or_all = true: ranges may hold none, and
---  all angles stay, with a warning, where all hold none
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
  local out, asked, left = {}, {}, skip and matching(phi, all, skip) or {}
  local keep, any
  if ranges then keep, any = matching(phi, all, ranges) end
  if ranges and not any then
    table.insert(warnings, 'angle filter: no angle lies in the ranges; all angles are used')
    keep = nil
  end
  for _, k in ipairs(all) do
    if not keep or keep[k] then
      asked[#asked + 1] = k
      if not left[k] then out[#out + 1] = k end
    end
  end
  if #out == 0 then
    check.error(#asked < #all and ('xpcs: every angle to keep (%s deg) is one to leave out too; keep another'):format(
      named(phi, asked)) or ('xpcs: the angles to leave out are all %d that there are; keep one'):format(#all), 4)
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
