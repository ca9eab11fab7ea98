-- dce.lua - nodes whose results nobody reads are left out.
--
-- Read means: by an output, by what an argument becomes, or by a node that is read. A node that looks at values and may
-- refuse them stays, alone: the plain function would raise its error.
local M = { name = 'dce', doc = 'leaves out what nobody reads' }

-- families whose kernels refuse values: positions, segments, matrices, knots
local REFUSES = { gather = true, segment = true, linalg = true, tridiagonal = true, interp = true }

local refuses
local function any(graph)
  for _, n in ipairs(graph and graph.nodes or {}) do if refuses(n) then return true end end
  return false
end

--- Whether a node may raise an error that depends on values which change from call to call.
function refuses(n)
  if n.kind == 'put' then return not n.ins[2].value.fixed end
  if n.kind == 'call' then
    local p = n.prim
    for _, g in ipairs(p.graphs or {}) do if any(g) then return true end end
    return any(p.graph) or any(p.condition) or any(p.turn)
  end
  if n.kind ~= 'op' then return false end
  if n.row.family == 'gather' then return n.ins[2] ~= nil and not n.ins[2].value.fixed end
  return REFUSES[n.row.family] or n.row.guard ~= nil
end

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
    if not wanted and not n.remat and refuses(n) then wanted, n.alone = true, true end
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
