-- evaluate.lua - the nodes of a graph, run with ops.
--
-- Transforms run graphs again with other operands: cotangents, tangents, batches. Since that happens through the ops
-- themselves, an enclosing recording sees it, and transforms compose. Decides how a use becomes a view and how a node
-- becomes a call.
local graphs = require 'mascon.graph.graph'
local recording = require 'mascon.graph.recording'
local tensor = require 'mascon.core.tensor'

local M = {}

--- Whether a use shows its value as it is.
function M.whole(u)
  local v = u.value
  return (u.offset or 0) == 0 and u.dtype == v.dtype and graphs.same(u.shape, v.shape)
    and graphs.same(u.strides, v.strides)
end

--- Part of a tensor's buffer: layout { shape, strides, offset } counted from its first element, which lies at `t` with
--- dense strides (or those of `like`).
function M.view(t, layout)
  if tensor.name[layout.dtype] ~= t.dtype then t = t:view_real() end -- counts in real elements
  return recording.strided(t, layout.shape, layout.strides, layout.offset or 0)
end

--- The tensor that a use shows, given the tensor of its value.
function M.see(t, u)
  local out = M.whole(u) and t or M.view(t, u)
  if u.weak then
    if out == t then out = recording.strided(t, u.shape, u.strides, 0) end
    recording.weaken(out)
  end
  return out
end

--- Runs a node. ins: tensors as its uses show them.
---@return table outs tensors, one for each result
function M.node(n, ins)
  if n.kind == 'op' then return recording.call(n.row, #n.outs, ins, n.params) end
  if n.kind == 'call' then return n.prim:call(ins) end
  local v = n.outs[1]
  if n.kind == 'copy' then
    local out = tensor.empty('copy', v.shape, tensor.name[v.dtype], 2, n.device or ins[1]._device)
    return { out:copy_(ins[1]) }
  end
  local new = ins[1]:copy()
  if graphs.numel(n.at.shape) == 0 then return { new } end
  local part = M.view(new, n.at)
  if n.kind == 'update' then part:copy_(ins[2])
  else recording.put(part, n.axis, ins[2], ins[3], n.accumulate) end
  return { new }
end

--- Tensors of all values that a graph can tell: inputs, constants, and what its nodes give.
---@param graph table
---@param inputs any[] tensors, dense where the graph's inputs are
---@param afresh boolean run the nodes even where the recording kept their results
---@param linearise? boolean calls also leave what their reverse rules want to find: env[node]
---@return table env tensor by value
function M.run(graph, inputs, afresh, linearise)
  local env = {}
  for i, v in ipairs(graph.inputs) do env[v] = inputs[i] end
  for _, v in ipairs(graph.consts) do env[v] = v.const end
  for _, n in ipairs(graph.nodes) do
    local kept = not afresh
    for _, v in ipairs(n.outs) do kept = kept and v.kept ~= nil end
    if kept then
      for _, v in ipairs(n.outs) do env[v] = v.kept end
      env[n] = n.saved
    else
      local ins = {}
      for i, u in ipairs(n.ins) do ins[i] = M.see(env[u.value], u) end
      local outs
      if linearise and n.kind == 'call' then outs, env[n] = n.prim:linearise(ins) else outs = M.node(n, ins) end
      for i, t in ipairs(outs) do env[n.outs[i]] = t end
    end
  end
  return env
end

return M
