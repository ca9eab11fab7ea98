-- adjacency.lua - which channels are neighbours, and what bad neighbours do to each other.
--
-- Two electrodes bridged by gel, or one blow to the cap, make neighbours bad together: a repair of one from the other
-- would copy the artefact. Holds the neighbour table and clusters of bad channels.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local error = check.error
local M = {}

-- neighbours are nearer than this share of the mean distance to the nearest sensor
local REACH = 1.6

local Neighbours = {}
Neighbours.__index = Neighbours

local function by_distance(positions, radius)
  local d = positions:reshape(-1, 1, 3) - positions:reshape(1, -1, 3)
  local far = mc.sqrt(mc.sum(d * d, 3))
  local C = far.shape[1]
  local rows = (far + mc.eye(C) * 1e9):totable()
  if not radius then
    local sum = 0
    for c = 1, C do
      local least = math.huge
      for _, v in ipairs(rows[c]) do least = math.min(least, v) end
      sum = sum + least
    end
    radius = REACH * sum / C
  end
  local near = {}
  for c = 1, C do
    near[c] = {}
    for k, v in ipairs(rows[c]) do if v <= radius then near[c][k] = true end end
  end
  return near
end

--- The neighbour table of the picked channels.
---@param fname string
---@param what any option adjacency: true (nearer than 1.6 times the mean distance to the nearest sensor), a radius in
---  m, or a list of pairs of names
---@param names string[] of the picks
---@param positions any f64 [C, 3] m, or nil
---@return table neighbours with :excluded(repaired, bad), :largest(bad)
--- Errors: no positions to measure; a name that is not there.
function M.new(fname, what, names, positions)
  local near
  if what == true or type(what) == 'number' then
    if not positions then
      error(fname .. ': adjacency by distance needs positions; give a list of pairs of names', 3)
    end
    near = by_distance(positions, type(what) == 'number' and what or nil)
  elseif type(what) == 'table' then
    local place = {}
    near = {}
    for c, name in ipairs(names) do place[name], near[c] = c, {} end
    for i, p in ipairs(what) do
      if type(p) ~= 'table' or #p ~= 2 then
        error(('%s: adjacency[%d] is %s; give pairs of names'):format(fname, i, check.show(p)), 3)
      end
      local a, b = place[p[1]], place[p[2]]
      if a and b then near[a][b], near[b][a] = true, true end -- pairs of other types pass
    end
  else
    error(('%s: adjacency is %s; give true, a radius in metres, or a list of pairs of names'):format(fname,
      check.show(what)), 3)
  end
  return setmetatable({ near = near, C = #names }, Neighbours)
end

--- Bad channels that must not serve as sources, because they touch one that is repaired.
---@param repaired integer[]
---@param bad integer[] all bad ones of the epoch
---@return integer[]
function Neighbours:excluded(repaired, bad)
  local is, out = {}, {}
  for _, c in ipairs(repaired) do is[c] = true end
  for _, c in ipairs(bad) do
    if not is[c] then
      for _, r in ipairs(repaired) do
        if self.near[c][r] then
          out[#out + 1] = c
          break
        end
      end
    end
  end
  while #repaired + #out >= self.C do out[#out] = nil end -- something must be left to repair from
  return out
end

--- Size of the largest cluster of bad channels that touch each other.
---@param bad integer[]
---@return integer
function Neighbours:largest(bad)
  local left, most = {}, 0
  for _, c in ipairs(bad) do left[c] = true end
  for _, c in ipairs(bad) do
    if left[c] then
      local stack, size = { c }, 0
      left[c] = nil
      while #stack > 0 do
        local a = table.remove(stack)
        size = size + 1
        for _, b in ipairs(bad) do
          if left[b] and self.near[a][b] then
            left[b] = nil
            stack[#stack + 1] = b
          end
        end
      end
      most = math.max(most, size)
    end
  end
  return most
end

return M
