-- dce.lua - nodes whose results nobody reads are left out.
--
-- Read means: by an output, by what an argument becomes, or by a node that is read. An error that such a node would have raised vanishes with
-- it. May not know what nodes compute.
local M = { name = 'dce', doc = 'leaves out what nobody reads' }

---@param graph table
---@return table report { removed }
function M.run(graph)
  local read = {}
  for _, u in ipairs(graph.outputs) do read[u.value] = true end
  for _, e in ipairs(graph.effects) do read[e.value] = true end
  local kept = {}
  for k = #graph.nodes, 1, -1 do
    local n, wanted = graph.nodes[k], false
    for _, v in ipairs(n.outs) do wanted = wanted or read[v] end
    if wanted then
      for _, u in ipairs(n.ins) do read[u.value] = true end
      kept[#kept + 1] = n
    end
  end
  local nodes, last = {}, #kept
  for k = last, 1, -1 do nodes[#nodes + 1] = kept[k] end
  local removed = #graph.nodes - #nodes
  graph.nodes = nodes
  return { removed = removed }
end

return M
