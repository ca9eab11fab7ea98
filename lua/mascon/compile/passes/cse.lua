-- cse.lua - what is computed twice is computed once.
--
-- Two nodes are the same when op, parameters, dtype of the arithmetic and operands (value and layout) are. Nodes that a
-- checkpoint computes anew (`remat`) are only compared with others of the same turn, else they would vanish. Writes are
-- never merged: they need buffers of their own.
local recording = require 'mascon.graph.recording'
local rewrite = require 'mascon.compile.rewrite'
local graphs = require 'mascon.graph.graph'

local M = { name = 'cse', doc = 'computes what stands there twice once' }

local function key(n)
  local t = { n.kind, n.row and n.row.id or -1, n.compute or -1, n.remat or 0, n.device or 0, #n.outs,
    n.outs[1] and n.outs[1].dtype or -1, n.params and recording.params_key(n.params) or '' }
  for _, v in ipairs(n.outs) do t[#t + 1] = table.concat(v.shape, ',') end -- a number fills parts of any shape
  for _, u in ipairs(n.ins) do
    t[#t + 1] = ('%d/%d/%d/%s/%s%s'):format(u.value.id, u.offset or 0, u.dtype or u.value.dtype,
      table.concat(u.shape, ','), table.concat(u.strides, ','), u.weak and 'w' or '')
  end
  return table.concat(t, '|')
end

---@param graph table
---@return table report { removed, bytes: of results that are not computed again }
function M.run(graph)
  local seen, report, gone = {}, { removed = 0, bytes = 0 }, {}
  rewrite.sweep(graph, function(n, map)
    if n.kind ~= 'op' and n.kind ~= 'copy' then return end
    local k = key(n)
    local first = seen[k]
    if not first then
      seen[k] = n
      return
    end
    for i, v in ipairs(n.outs) do
      map[v] = graphs.use_of(first.outs[i])
      report.bytes = report.bytes + graphs.bytes(v)
    end
    gone[n] = true
    report.removed = report.removed + 1
  end)
  if report.removed > 0 then
    local wanted, nodes = {}, {}
    for _, n in ipairs(graph.nodes) do for _, u in ipairs(n.ins) do wanted[u.value] = true end end
    for _, u in ipairs(graph.outputs) do wanted[u.value] = true end
    for _, e in ipairs(graph.effects) do wanted[e.value] = true end
    for _, n in ipairs(graph.nodes) do
      local keep = not gone[n]
      for _, v in ipairs(n.outs) do keep = keep or wanted[v] end
      nodes[#nodes + 1] = keep and n or nil
    end
    graph.nodes = nodes
  end
  return report
end

return M
