-- batch.lua - the nodes of a graph over batches of its inputs.
--
-- A batched value is a tensor with the batch in front of its axes, dense; a use of it is the same view once per
-- element. Ops become batched ops by rules; what has no rule runs element by element. Holds the walk.
local mc = require 'mascon.array'
local graphs = require 'mascon.graph.graph'
local recording = require 'mascon.graph.recording'
local tensor = require 'mascon.core.tensor'
local evaluate = require 'mascon.transform.evaluate'
local rules = require 'mascon.rules.batch'

local M = {}

local function with(size, list)
  local out = { size }
  for i = 1, #list do out[i + 1] = list[i] end
  return out
end

--- The tensor that a use shows of a batched value: the view, once per element.
local function see(t, u)
  local v = u.value
  local far = graphs.numel(v.shape)
  if tensor.name[u.dtype] ~= t.dtype then
    t = t:view_real()
    far = far * 2
  elseif evaluate.whole(u) then
    return t
  end
  return recording.strided(t, with(t.shape[1], u.shape), with(far, u.strides), u.offset or 0)
end
M.see = see

--- A node element by element.
local function one_by_one(n, x, batched, size)
  local outs = {}
  for i in ipairs(n.outs) do outs[i] = {} end
  for b = 1, size do
    local ins = {}
    for i, t in ipairs(x) do
      ins[i] = batched[i] and t[b] or t
      if batched[i] and n.ins[i].weak then recording.weaken(ins[i]) end
    end
    for i, t in ipairs(evaluate.node(n, ins)) do outs[i][b] = t end
  end
  for i in ipairs(n.outs) do outs[i] = mc.stack(outs[i], 1) end
  return outs
end

local KINDS = {}

function KINDS.op(n, x, batched, size)
  local own = type(n.row.rules) == 'table' and n.row.rules.batch
  local rule = own == 'leading' and rules.leading or own or rules[n.row.family]
  return rule and rule(n, x, batched, size) or nil
end

function KINDS.copy(n, x, _, size)
  local v = n.outs[1]
  local out = tensor.empty('copy', with(size, v.shape), tensor.name[v.dtype], 2, n.device or x[1]._device)
  return { out:copy_(rules.lift(x[1], #v.shape + 1, true)) }
end

--- The old contents as a tensor that may be written, and the part that is; nil when there is nothing to write.
local function target(n, x, batched, size)
  local new = rules.spread(x[1], batched[1], size):copy()
  local at = n.at
  if graphs.numel(at.shape) == 0 then return new end
  local far = graphs.numel(n.outs[1].shape)
  local base = new
  if tensor.name[at.dtype] ~= new.dtype then
    base = new:view_real()
    far = far * 2
  end
  return new, recording.strided(base, with(size, at.shape), with(far, at.strides), at.offset or 0)
end

function KINDS.update(n, x, batched, size)
  local new, part = target(n, x, batched, size)
  if part ~= nil then part:copy_(batched[2] and rules.lift(x[2], #n.at.shape + 1, true) or x[2]) end
  return { new }
end

function KINDS.put(n, x, batched, size)
  if batched[2] then return nil end
  local new, part = target(n, x, batched, size)
  if part ~= nil then
    recording.put(part, n.axis + 1, x[2], batched[3] and rules.lift(x[3], #n.at.shape + 1, true) or x[3], n.accumulate)
  end
  return { new }
end

--- Runs a graph over batches.
---@param graph table
---@param inputs any[] tensors, those of batched inputs with the batch in front
---@param batched table true for each batched input
---@param size integer
---@return table outputs tensors, all with the batch in front
---@return table loops names of the ops that had to run element by element
---@return table effects by place: what the graph makes of an input that it writes to, with the batch in front
function M.run(graph, inputs, batched, size)
  local env, many, loops = {}, {}, {}
  for i, v in ipairs(graph.inputs) do env[v], many[v] = inputs[i], batched[i] end
  for _, v in ipairs(graph.consts) do env[v] = v.const end
  for _, n in ipairs(graph.nodes) do
    local x, flags, any = {}, {}, false
    for i, u in ipairs(n.ins) do
      local b = many[u.value]
      x[i], flags[i] = b and see(env[u.value], u) or evaluate.see(env[u.value], u), b
      any = any or b
    end
    local outs
    if not any then outs = evaluate.node(n, x)
    elseif n.kind == 'call' then outs = n.prim:batch(x, flags, size)
    else
      if size > 0 then outs = KINDS[n.kind](n, x, flags, size) end
      if not outs and size > 0 then
        outs = one_by_one(n, x, flags, size)
        loops[#loops + 1] = n.row and n.row[1] or n.kind
      elseif not outs then
        local device = tensor.shared_device(x)
        outs = {}
        for i, v in ipairs(n.outs) do
          outs[i] = mc.zeros(with(0, v.shape), { dtype = tensor.name[v.dtype], device = device })
        end
      end
    end
    for i, v in ipairs(n.outs) do
      local t = outs[i]
      if any and t._dtype ~= v.dtype then t = t:to(tensor.name[v.dtype]) end
      if any and not t:is_contiguous() then t = t:copy() end
      env[v], many[v] = t, any
    end
  end
  local out = {}
  for i, u in ipairs(graph.outputs) do
    local t = env[u.value]
    out[i] = many[u.value] and see(t, u) or mc.broadcast_to(evaluate.see(t, u), with(size, u.shape))
  end
  local effects = {}
  for _, e in ipairs(graph.effects) do
    local t, v = env[e.value], e.value
    effects[e.input] = many[v] and t or mc.broadcast_to(t, with(size, v.shape))
  end
  return out, loops, effects
end

return M
