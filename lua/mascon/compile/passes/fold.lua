-- fold.lua - what depends on constants only is computed once, when the function is compiled.
--
-- Constants are numbers of the text, tensors that the function makes itself, and random draws with a fixed key. Tensors
-- from outside are read again at every call and so are no constants. Large results are computed again rather than kept.
local graphs = require 'mascon.graph.graph'
local plans = require 'mascon.compile.plan'
local rewrite = require 'mascon.compile.rewrite'
local tensor = require 'mascon.core.tensor'

local M = { name = 'fold', doc = 'computes what depends on constants only beforehand' }

local LARGEST = 2 ^ 20 -- bytes of results that are kept with the plan

local function foldable(n)
  if n.kind == 'call' or n.device then return false end -- loops and choices may take long; what is of a device stays
  local bytes = 0
  for _, v in ipairs(n.outs) do bytes = bytes + graphs.bytes(v) end
  if bytes > LARGEST then return false end
  for _, u in ipairs(n.ins) do if not u.value.fixed then return false end end
  return true
end

--- The results of one node.
local function evaluate(n)
  local outputs, outs = {}, {}
  for i, v in ipairs(n.outs) do
    outputs[i] = graphs.use_of(v)
    outs[i] = tensor.promote(tensor.empty('compile', v.shape, tensor.name[v.dtype], 2), 2)
  end
  plans.make({ inputs = {}, nodes = { n }, outputs = outputs, effects = {} }, {}).run({}, outs)
  return outs
end

---@param graph table
---@return table report { removed, bytes: of results kept }
function M.run(graph)
  local report, gone = { removed = 0, bytes = 0 }, {}
  rewrite.sweep(graph, function(n, map)
    if not foldable(n) then return end
    for i, t in ipairs(evaluate(n)) do
      local weak = n.kind == 'op' and n.ins[1] ~= nil and #n.outs[i].shape == 0
      for _, u in ipairs(n.ins) do weak = weak and u.weak end
      map[n.outs[i]] = graphs.use_of(graphs.constant(graph, t, weak or nil))
      report.bytes = report.bytes + graphs.bytes(n.outs[i])
    end
    gone[n], report.removed = true, report.removed + 1
  end)
  local nodes = {}
  for _, n in ipairs(graph.nodes) do nodes[#nodes + 1] = not gone[n] and n or nil end
  graph.nodes = nodes
  return report
end

return M
