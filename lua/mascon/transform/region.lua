-- region.lua - parts of a recorded function whose inside is a graph of its own.
--
-- A region stands in the log of a recording as one entry, a call: a primitive with operands and results. Its body is
-- traced by a recording that captures: what the body reads of enclosing functions becomes operands. Loops, choices and
-- rules of users are primitives of other files. A primitive may replace
--   run(ins) -> outs                  nothing is being recorded that sees the operands
--   linearise(ins) -> outs, residual  the same, and what back() wants to find
--   back(g, x, y, residual, wanted)   cotangents of the operands; g: of the results, nil where nothing came back
--   forward(t, x, y)                  tangents of the results; t: of the operands, nil for zero
--   batch(x, flags, size)             results with a batch in front, where the operands flagged have one
--   lower(make)                       { kind, parts = { make(graph) ... }, ... } as steps.make takes it
-- All take and give lists of tensors and are written with ops, so that an enclosing recording sees what they do.
local mc = require 'mascon.array'
local graphs = require 'mascon.graph.graph'
local recording = require 'mascon.graph.recording'
local tensor = require 'mascon.core.tensor'
local batch = require 'mascon.transform.batch'
local evaluate = require 'mascon.transform.evaluate'
local forward = require 'mascon.transform.forward'
local reverse = require 'mascon.transform.reverse'

local M = {}

--- The tensor with dense memory of its own buffer.
local function dense(t)
  if not t:is_contiguous() then t = t:copy() end
  return tensor.promote(t, 2)
end

--- A buffer number: greater than those of all buffers there are, smaller than those to come.
function M.now() return recording.serial(tensor.promote(tensor.empty('region', {}, 'bool', 2), 2)) end

local function is_traced(list)
  for _, t in ipairs(list) do if recording.traced(t) then return true end end
  return false
end
M.is_traced = is_traced

-- ---------------------------------------------------------------- bodies

--- The graph of f, a function of tensors that returns a list of tensors.
---@param name string of the public function, for messages
---@param f function
---@param ins any[] tensors: what f is traced with, in form and, where values are asked for, in value
---@param once? boolean the graph serves these operands alone: where values may be asked for, f may decide by them
---@param turns? boolean the graph stands for several turns
---@return table graph with graph.captured = { { value, tensor } }: what it reads of enclosing recordings
---@return any[] outs of f for ins
function M.trace(name, f, ins, once, turns)
  local list = {}
  for i, t in ipairs(ins) do list[i] = dense(t) end
  local aliases, since = recording.aliases(list), M.now()
  local log, results = recording.record(aliases, { capture = true, strict = not once or recording.mode(),
    fixed = not once, restore = true, name = name,
    inline = recording.inline, turns = turns }, function() return f(unpack(aliases)) end)
  local outs = results[1]
  local graph = graphs.build(aliases, log, outs)
  if #graph.effects > 0 then
    error(('%s: the function writes into operand %d, %s; return the new value instead'):format(name,
      graph.effects[1].input, tensor.describe(ins[graph.effects[1].input])), 0)
  end
  local consts, captured, moved = {}, {}, {}
  for _, v in ipairs(graph.consts) do
    if recording.traced(v.const) then
      local t, axes = v.const, reverse.permutation(v, graphs.numel(v.shape))
      if axes and not t:is_contiguous() then -- a transpose: what it shows, which uses see as they did
        t = #axes > 1 and t:permute_dims(axes) or t
        v.shape = { unpack(t.shape) }
        v.strides = graphs.dense(v.shape)
      else
        moved[v] = graphs.dense(v.shape)
        v.strides = moved[v]
      end
      captured[#captured + 1] = { value = v, tensor = dense(t) }
      v.const, v.literal = nil, nil
    else
      consts[#consts + 1] = v
    end
  end
  local function settle(uses)
    for _, u in ipairs(uses) do u.strides = moved[u.value] or u.strides end
  end
  for _, n in ipairs(graph.nodes) do settle(n.ins) end
  settle(graph.outputs)
  aliases = nil -- machine code may keep the function above
  graph.consts, graph.captured, graph.since = consts, captured, since
  return graph, outs
end

--- Gives graphs traced with the same operands one list of inputs: all they captured, then the operands.
---@return any[] captured tensors
function M.close(list)
  local tensors, keys = {}, {}
  for _, g in ipairs(list) do
    local own = {}
    for _, c in ipairs(g.captured) do
      local t = c.tensor
      local key = ('%d/%d/%d/%s/%s'):format(recording.serial(t), recording.offset(t), t._dtype, tostring(t.shape),
        tostring(recording.weak(t)))
      local at = 1
      while at <= #tensors and (keys[at] ~= key or own[at]) do at = at + 1 end
      tensors[at], keys[at], own[at] = t, key, c.value
    end
    g.own = own
  end
  for _, g in ipairs(list) do
    local inputs = {}
    for i, t in ipairs(tensors) do
      inputs[i] = g.own[i] or { id = 0, dtype = t._dtype, shape = { unpack(t.shape) }, strides = graphs.dense(t.shape),
        weak = recording.weak(t) }
    end
    for _, v in ipairs(g.inputs) do inputs[#inputs + 1] = v end
    for i, v in ipairs(inputs) do v.input = i end
    g.inputs, g.own, g.captured = inputs, nil, nil
  end
  return tensors
end

--- Every tensor dense, as graphs want their inputs.
local function all_dense(list)
  for i, t in ipairs(list) do if not t:is_contiguous() then list[i] = t:copy() end end
  return list
end

--- Results of a graph for dense operands, dense; with linearise the environment serves the way back.
function M.run(graph, ins, linearise)
  local env = evaluate.run(graph, ins, true, linearise)
  local outs = {}
  for i, u in ipairs(graph.outputs) do outs[i] = evaluate.see(env[u.value], u) end
  return all_dense(outs), env
end

--- Results of a graph over batches, all with the batch in front.
function M.batch(graph, ins, flags, size) return all_dense((batch.run(graph, ins, flags, size))) end

--- The tensor once for each element of a batch.
function M.spread(t, size)
  return mc.broadcast_to(t:reshape { 1, unpack(t.shape) }, { size, unpack(t.shape) }):copy()
end

--- size elements along the first axis that broadcast to `rank` axes.
function M.column(t, rank)
  local shape = { t.shape[1] }
  for i = 2, rank do shape[i] = 1 end
  return t:reshape(shape)
end

--- Cotangents of the operands of a graph that is run again for it.
function M.back(graph, ins, g, wanted)
  local _, env = M.run(graph, ins, true)
  return reverse.run(graph, env, g, wanted)
end

--- Results and tangents of a graph.
function M.forward(graph, ins, t)
  local outs, env = M.run(graph, ins)
  return outs, forward.run(graph, env, t)
end

function M.zeros(t) return mc.zeros(t.shape, { dtype = t.dtype, device = t.device }) end

--- List of a, then of b.
function M.join(a, b)
  local out = {}
  for i = 1, #a do out[i] = a[i] end
  for i = 1, #b do out[#out + 1] = b[i] end
  return out
end

--- Elements first to last of a list (holes stay).
function M.part(list, first, last)
  local out = {}
  for i = first, last do out[i - first + 1] = list[i] end
  return out
end

-- ---------------------------------------------------------------- calls

--- Tensors that nobody else holds, each all of a buffer younger than `since`.
function M.own(outs, since)
  local seen, list = {}, {}
  for i, t in ipairs(outs) do
    tensor.promote(t, 2)
    local s = recording.serial(t)
    if s <= since or seen[s] or not recording.whole(t) then t = tensor.promote(t:copy(), 2) end
    seen[recording.serial(t)] = true
    list[i] = t
  end
  return list
end

---@class mascon.Primitive
local Primitive = {}
Primitive.__index = Primitive
M.Primitive = Primitive

--- A kind of primitive.
function M.kind(name)
  local K = setmetatable({ name = name }, Primitive)
  K.__index = K
  return K
end

--- Runs the primitive; a recording that traces an operand gets one entry for it.
---@param ins any[] tensors
---@param known? any[] its results, where they are known already
---@param since? integer buffer number from when on known results were made
---@return any[] outs
function Primitive:call(ins, known, since)
  if not is_traced(ins) then return known or self:run(ins) end
  local list = {}
  for i, t in ipairs(ins) do list[i] = dense(t) end
  local _, keep = recording.mode()
  local outs, saved = recording.quietly(function()
    local aliases = recording.aliases(list)
    local outs, saved
    since = known and since or M.now()
    if keep and self.linearise ~= Primitive.linearise then outs, saved = self:linearise(aliases)
    else outs = known or self:run(aliases) end
    return M.own(outs, since), saved
  end)
  recording.call_entry({ prim = self, saved = saved }, list, outs)
  list, known = nil, nil -- machine code may keep the function above
  return outs
end

function Primitive:linearise(ins) return self:call(ins), nil end

--- A primitive whose body is one graph and which is no more than its body.
function Primitive:run(ins) return (M.run(self.graph, ins)) end
function Primitive:back(g, x, _, _, wanted) return M.back(self.graph, x, g, wanted) end
function Primitive:forward(t, x)
  local _, out = M.forward(self.graph, x, t)
  return out
end
function Primitive:batch(x, flags, size) return M.batch(self.graph, x, flags, size) end
function Primitive:lower(make)
  return { kind = 'once', parts = { make(self.graph) }, fixed = #self.graph.inputs, made = #self.graph.outputs }
end

return M
