-- trace.lua - a function of trees as a graph, for transforms.
--
-- Decides which leaves of the arguments are traced and how results find their places again.
local graphs = require 'mascon.graph.graph'
local recording = require 'mascon.graph.recording'
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local random = require 'mascon.random.key'
local tree = require 'mascon.graph.tree'

local M = {}

--- A leaf as a dense tensor.
local function dense(v)
  if type(v) == 'number' then return tensor.promote(op.scalar('trace', v, 2), 2) end
  if not v:is_contiguous() then v = v:copy() end
  return tensor.promote(v, 2)
end

--- The same trees with other leaves.
---@param trees table { n =, ... }
---@param leaves table
---@param numbers? table places of trees whose numbers are leaves (nil: all)
function M.with(trees, leaves, numbers)
  local at, out = 0, { n = trees.n }
  for i = 1, trees.n do
    out[i] = tree.rebuild(trees[i], function()
      at = at + 1
      return leaves[at]
    end, numbers and not numbers[i])
  end
  leaves = nil -- machine code may keep the function above
  return out
end

--- Runs f on its arguments and writes down what it did.
---@param f function
---@param args table { n =, ... } trees
---@param how table keep, strict, fixed, restore, lines, name, turns: as in recording.record; numbers: places of
---  arguments whose numbers are traced too (nil: all), the others stay numbers
---@return table traced { graph, inputs (dense tensors, one per leaf; what was written as it was before), given (the
---  leaves), first (of each argument: its first leaf; first[n + 1]: one past the last), args, results = { n =, ... },
---  leaves (of the results: tensors; numbers as they are), outputs (places of the tensors among the leaves) }
function M.run(f, args, how)
  local t = { inputs = {}, given = { keys = {} }, first = {}, args = args }
  for i = 1, args.n do
    t.first[i] = #t.given + 1
    tree.flatten(args[i], t.given, {}, how.numbers and not how.numbers[i])
  end
  random.settle(t.given, t.given.keys)
  for i, v in ipairs(t.given) do t.inputs[i] = dense(v) end
  t.first[args.n + 1] = #t.inputs + 1
  local aliases = recording.aliases(t.inputs)
  local shown = M.with(args, aliases, how.numbers)
  local log, writes
  log, t.results, writes = recording.record(aliases, how, function() return f(unpack(shown, 1, args.n)) end)
  shown = nil -- machine code may keep the function above
  t.leaves, t.outputs = {}, {}
  local tensors = {}
  for i = 1, t.results.n do
    for _, v in ipairs(tree.leaves(t.results[i])) do
      t.leaves[#t.leaves + 1] = v
      if tensor.is(v) then
        tensors[#tensors + 1] = v
        t.outputs[#tensors] = #t.leaves
      end
    end
  end
  t.graph = graphs.build(aliases, log, tensors)
  for k = #log, 1, -1 do log[k] = nil end -- machine code may keep the list
  for i, before in pairs(writes or {}) do
    if tensor.is(before) then
      -- it wrote to a dense copy
      if not how.restore and not rawequal(t.inputs[i], t.given[i]) and tensor.is(t.given[i]) then
        t.given[i]:copy_(aliases[i])
      end
      t.inputs[i] = before
    end
  end
  return t
end

return M
