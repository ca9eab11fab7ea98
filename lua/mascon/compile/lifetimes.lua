-- lifetimes.lua - how much memory an order of nodes needs, and what a group costs that runs later than its first nodes.
--
-- Counts bytes of values between the node that makes them and the last that reads them, as plan.lua lays them out:
-- results of the graph and its arguments stand elsewhere, and an elementwise result takes the place of a dying operand.
local graphs = require 'mascon.graph.graph'
local EWISE = require('mascon.core.ffi').gen.elementwise

local M = {}

local bytes_of = graphs.bytes

--- Values that stand outside of the arena as long as the graph runs, or to its end.
---@param graph table
---@return table<mascon.Value, boolean>
local function kept(graph)
  local out = {}
  for _, u in ipairs(graph.outputs) do out[u.value] = true end
  for _, e in ipairs(graph.effects) do out[e.value] = true end
  return out
end
M.kept = kept

local function in_place(n)
  return n.kind == 'fused' or n.kind == 'update' or n.kind == 'put' or n.kind == 'op' and EWISE[n.row.family] ~= nil
end

--- Bytes that the values of a graph need at the same time when its nodes run in an order.
---@param graph table
---@param nodes table[] the order
---@return number
function M.peak(graph, nodes)
  local last, out = {}, kept(graph)
  for k, n in ipairs(nodes) do
    for _, u in ipairs(n.ins) do if u.value.node then last[u.value] = k end end
  end
  local live, peak = 0, 0
  for k, n in ipairs(nodes) do
    local dying, done = 0, {}
    for _, u in ipairs(n.ins) do
      local v = u.value
      if last[v] == k and not out[v] and not done[v] then
        done[v] = true
        dying = dying + bytes_of(v)
      end
    end
    local made, gone = 0, 0
    for _, v in ipairs(n.outs) do
      if not out[v] then
        made = made + bytes_of(v)
        if not last[v] then gone = gone + bytes_of(v) end
      end
    end
    local product = n.product and n.outs[#n.outs] ~= n.product and bytes_of(n.product) or 0
    peak = math.max(peak, live + made + product - (in_place(n) and math.min(made, dying) or 0))
    live = live + made - gone - dying
  end
  return peak
end

---@class mascon.Lifetimes what joining costs: readers and places of the values of a graph
local Lifetimes = {}
Lifetimes.__index = Lifetimes

--- The lifetimes of a graph in the order of its nodes.
---@param graph table
---@return mascon.Lifetimes
function M.of(graph)
  local self = setmetatable({ position = {}, readers = {}, made = { [0] = 0 }, kept = kept(graph) }, Lifetimes)
  for k, n in ipairs(graph.nodes) do
    self.position[n] = k
    for _, u in ipairs(n.ins) do
      local v = u.value
      if v.node then
        local list = self.readers[v]
        if not list then
          list = {}
          self.readers[v] = list
        end
        if list[#list] ~= n then list[#list + 1] = n end
      end
    end
    local bytes = 0
    for _, v in ipairs(n.outs) do bytes = bytes + bytes_of(v) end
    self.made[k] = self.made[k - 1] + bytes
  end
  return self
end

--- Bytes that nodes make between two places, but for those of the nodes of a group.
function Lifetimes:between(first, last, group)
  local bytes = self.made[last - 1] - self.made[first]
  for _, m in ipairs(group.nodes) do
    local at = self.position[m]
    if at > first and at < last then bytes = bytes - (self.made[at] - self.made[at - 1]) end
  end
  return bytes
end

--- Whether the node that reads `group` and joins it makes it run later at a cost: bytes of operands that would be dead
--- by then, less what is never written because of it, while other nodes make more than that.
---@param group table { nodes, last }
---@param n table node
---@return boolean
function Lifetimes:costly(group, n)
  local k, inside = self.position[n], { [n] = true }
  local from = group.last
  local work = self:between(from, k, group)
  if work == 0 then return false end
  for _, m in ipairs(group.nodes) do inside[m] = true end
  local held, seen = 0, {}
  for _, m in ipairs(group.nodes) do
    for _, u in ipairs(m.ins) do
      local v = u.value
      if v.node and not inside[v.node] and not seen[v] and not self.kept[v] then
        seen[v] = true
        local list = self.readers[v]
        if self.position[list[#list]] < k then held = held + bytes_of(v) end
      end
    end
    local v, only = m.outs[1], true
    for _, r in ipairs(self.readers[v] or {}) do only = only and inside[r] end
    local list = self.readers[v]
    if list and self.position[list[#list]] >= k and only and not self.kept[v] then held = held - bytes_of(v) end
  end
  return held > 0 and work > held
end

return M
