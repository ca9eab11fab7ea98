-- angles.lua - angles in degrees: wrapping, ranges that wrap, the choice of angles of an analysis.
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

--- Places of the angles inside any of the ranges, with a note where some are left out; all of them, with a warning,
--- when there is no range or none matches.
---@param phi number[] deg
---@param ranges? number[][] { low, high }
---@param warnings string[]
---@param among? table<integer, boolean> the places that may be chosen; all of them without it
---@return integer[]
function M.choose(phi, ranges, warnings, among)
  local all = {}
  for k = 1, #phi do if not among or among[k] then all[#all + 1] = k end end
  if not ranges then return all end
  if #ranges == 0 then
    table.insert(warnings, 'angle filter: no ranges are given; all angles are used')
    return all
  end
  local out = {}
  for _, k in ipairs(all) do
    for _, r in ipairs(ranges) do
      if M.within(phi[k], r[1], r[2]) then
        out[#out + 1] = k
        break
      end
    end
  end
  if #out == 0 then
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
