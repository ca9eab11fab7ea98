-- checkpoint.lua - memory for time on the way back.
---
--- Holds mc.checkpoint. The function stands in the graph as one call, of which nothing but operands and results is
--- kept; going back runs its body again.
local forms = require 'mascon.transform.forms'
local graphs = require 'mascon.graph.graph'
local recording = require 'mascon.graph.recording'
local region = require 'mascon.transform.region'

local M = {}

local Checkpoint = region.kind 'checkpoint'

--- f, but of what it computes nothing is kept for the way back: gradients run it again.
---
--- f: takes and returns tensors, numbers and tables of them. Results and gradients are those of f; the peak of memory
--- falls from what f keeps to its operands, results, and one run of f, and f runs once more. Nests, and compiles: the
--- second run is then part of the plan. A captured tensor counts as an operand. Source: Training deep nets with
--- sublinear memory cost, 2016, section 3; jax.checkpoint
---     mc.grad(mc.checkpoint(function(x) return mc.sum(mc.sin(x) * x) end))(mc.tensor{ 0, 1 })
---       --> f64[2]@cpu { 0.0000, 1.3818 }
---@param f function
---@return function
function M.checkpoint(f)
  forms.callable('checkpoint', 'the argument', f)
  return M.counted(f, {})
end

--- Bytes of what a graph computes beside its results.
local function inside(graph)
  local bytes, out = 0, {}
  for _, u in ipairs(graph.outputs) do out[u.value] = true end
  for _, n in ipairs(graph.nodes) do
    for _, v in ipairs(n.outs) do if not out[v] then bytes = bytes + graphs.bytes(v) end end
  end
  return bytes
end

--- mc.checkpoint(f) that counts in a table: count of calls, bytes that they do not keep, recomputes.
---@param f function
---@param counts table
---@return function
function M.counted(f, counts)
  return function(...)
    if not recording.on() then return f(...) end
    local count = select('#', ...)
    local leaves, form = forms.apart({ ... }, true)
    local result
    local graph, outs = region.trace('checkpoint', function(...)
      local list
      list, result = forms.apart { f(unpack(forms.together(form, { ... }), 1, count)) }
      return list
    end, leaves, true)
    local captured = region.close { graph }
    if counts.count then
      counts.count, counts.bytes = counts.count + 1, counts.bytes + inside(graph)
    end
    local prim = setmetatable({ graph = graph, counts = counts }, Checkpoint)
    outs = prim:call(region.join(captured, leaves), outs, graph.since)
    local tree = forms.together(result, outs)
    return unpack(tree, 1, table.maxn(tree))
  end
end

function Checkpoint:back(g, x, _, _, wanted)
  local counts = self.counts
  if counts.count then counts.recomputes = counts.recomputes + 1 end
  return region.back(self.graph, x, g, wanted)
end

--- The same with another way to run its body: run(graph, operands) -> results.
function Checkpoint:again(run, ins)
  return { M.counted(function(...) return unpack(run(self.graph, { ... })) end, self.counts)(unpack(ins)) }
end

return M
