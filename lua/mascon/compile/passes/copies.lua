-- copies.lua - copies that only move what is there already are left out; what they would have been read through is read
-- through the source.
--
-- A copy of the same dtype goes when its source lies row-major, or when one node reads it. Source and copy are values,
-- so nobody can write into one of them in between: a write makes a new value.
local graphs = require 'mascon.graph.graph'
local rewrite = require 'mascon.compile.rewrite'

local M = { name = 'copies', doc = 'leaves out copies of what lies there already' }

--- How many nodes and outputs read each value.
local function readers(graph)
  local count = {}
  for _, n in ipairs(graph.nodes) do
    for _, u in ipairs(n.ins) do count[u.value] = (count[u.value] or 0) + 1 end
  end
  for _, u in ipairs(graph.outputs) do count[u.value] = (count[u.value] or 0) + 1 end
  for _, e in ipairs(graph.effects) do count[e.value] = (count[e.value] or 0) + 1 end
  return count
end

--- A part of a buffer is written with what stands there already.
local function writes_itself(n)
  local old, part, at = n.ins[1], n.ins[2], n.at
  return part.value == old.value and graphs.whole(old) and part.dtype == at.dtype and old.value.dtype == n.outs[1].dtype
    and (part.offset or 0) == (at.offset or 0) and
    graphs.same(part.shape, at.shape) and graphs.same(part.strides, at.strides)
end

---@param graph table
---@return table report { removed, bytes }
function M.run(graph)
  local count, report = readers(graph), { removed = 0, bytes = 0 }
  local copies = {}
  local map = rewrite.sweep(graph, function(n, map)
    local u, v = n.ins[1], n.outs[1]
    if n.kind == 'update' and writes_itself(n) then
      map[v] = u
      copies[#copies + 1] = n
      return
    end
    local brought = n.device and u.weak -- a number to a device
    if n.kind ~= 'copy' or n.remat or brought or u.value.dtype ~= v.dtype or u.dtype ~= v.dtype
      or not graphs.same(u.shape, v.shape) then
      return
    end
    if graphs.is_dense(u) or count[v] == 1 then
      map[v] = u
      copies[#copies + 1] = n
    end
  end)
  local read = {}
  for _, n in ipairs(graph.nodes) do for _, u in ipairs(n.ins) do read[u.value] = true end end
  for _, u in ipairs(graph.outputs) do read[u.value] = true end
  for _, e in ipairs(graph.effects) do read[e.value] = true end
  local gone = {}
  for _, n in ipairs(copies) do
    local v = n.outs[1]
    if map[v] and not read[v] then
      gone[n], report.removed, report.bytes = true, report.removed + 1, report.bytes + graphs.bytes(v)
    end
  end
  local nodes = {}
  for _, n in ipairs(graph.nodes) do nodes[#nodes + 1] = not gone[n] and n or nil end
  graph.nodes = nodes
  return report
end

return M
