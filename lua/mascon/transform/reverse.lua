-- reverse.lua - cotangents from the outputs of a graph back to its inputs.
--
-- Holds the walk, the sum of what reaches a value through several uses, and the transposition of views (a view is
-- linear: what comes back through it is added where it looked).
local mc = require 'mascon.array'
local graphs = require 'mascon.graph.graph'
local recording = require 'mascon.graph.recording'
local tensor = require 'mascon.core.tensor'
local evaluate = require 'mascon.transform.evaluate'
local params = require 'mascon.transform.params'
local rules = require 'mascon.rules'

local M = {}

local CONTINUOUS = { f16 = true, bf16 = true, f32 = true, f64 = true, c64 = true, c128 = true }
--- Whether derivatives with respect to tensors of this dtype (a code) exist.
function M.continuous(dtype) return CONTINUOUS[tensor.name[dtype]] == true end

local function is_complex(name) return name:sub(1, 1) == 'c' end

--- A cotangent in the dtype of what it belongs to: the real part for real operands.
local function cast(c, dtype)
  if c.dtype == dtype then return c end
  if is_complex(c.dtype) and not is_complex(dtype) then c = mc.real(c) end
  return c:to(dtype)
end
M.cast = cast

--- The same values in row-major order, as layouts of uses count them.
local function dense(t) return t:is_contiguous() and t or t:copy() end
M.dense = dense

--- Summed over the axes along which a shape was broadcast.
local function sum_to(c, shape)
  local have = c.shape
  if graphs.same(have, shape) then return c end
  local extra = #have - #shape
  if extra < 0 then -- a rule answered with something that still broadcasts
    return mc.broadcast_to(c, shape)
  end
  local axes = {}
  for i = 1, #have do
    if i <= extra or (shape[i - extra] == 1 and have[i] ~= 1) then axes[#axes + 1] = i end
  end
  if #axes > 0 then
    axes.keepdim = true
    c = mc.sum(c, axes)
  end
  if extra > 0 then
    local rest = {}
    for i = 1, #shape do rest[i] = c.shape[i + extra] end
    c = c:reshape(rest)
  end
  if not graphs.same(c.shape, shape) then c = mc.broadcast_to(c, shape) end
  return c
end
M.sum_to = sum_to

--- Axes of a layout by falling stride, when it shows every element of a dense buffer of `numel` once; else nil.
local function permutation(u, numel)
  if (u.offset or 0) ~= 0 or graphs.numel(u.shape) ~= numel then return nil end
  local axes = {}
  for i = 1, #u.shape do axes[i] = i end
  table.sort(axes, function(a, b)
    if u.strides[a] ~= u.strides[b] then return u.strides[a] > u.strides[b] end
    if u.shape[a] ~= u.shape[b] then return u.shape[a] > u.shape[b] end
    return a < b
  end)
  local n = 1
  for i = #axes, 1, -1 do
    local a = axes[i]
    if u.shape[a] ~= 1 then
      if u.strides[a] ~= n then return nil end
      n = n * u.shape[a]
    end
  end
  return axes
end
M.permutation = permutation

--- No element of the buffer is shown twice (sufficient, not necessary).
local function injective(u)
  local axes = {}
  for i = 1, #u.shape do if u.shape[i] > 1 then axes[#axes + 1] = i end end
  table.sort(axes, function(a, b) return math.abs(u.strides[a]) < math.abs(u.strides[b]) end)
  local reach = 0
  for _, a in ipairs(axes) do
    if math.abs(u.strides[a]) <= reach then return false end
    reach = reach + math.abs(u.strides[a]) * (u.shape[a] - 1)
  end
  return true
end

-- ---------------------------------------------------------------- sums of cotangents

local Sums = {}
Sums.__index = Sums

local function sums() return setmetatable({ of = {}, own = {} }, Sums) end

--- Adds a cotangent of the whole value.
function Sums:add(v, c)
  local have = self.of[v]
  if not have then
    self.of[v] = c
  else
    self.of[v] = have + c
    self.own[v] = true
  end
end

--- The buffer of a value's cotangent as a tensor that may be written, for what c adds to it.
function Sums:buffer(v, c)
  if not self.of[v] then
    self.of[v] = mc.zeros(v.shape, { dtype = tensor.name[v.dtype], device = c.device })
  elseif not self.own[v] then
    self.of[v] = self.of[v]:copy()
  end
  self.own[v] = true
  return self.of[v]
end

--- Adds a cotangent (of any shape that the use broadcasts to) of a use.
function Sums:push(u, c)
  local v = u.value
  if not M.continuous(v.dtype) then return end
  c = cast(sum_to(c, u.shape), tensor.name[u.dtype])
  if evaluate.whole(u) then return self:add(v, c) end
  -- axes of stride 0 repeat elements: their cotangents add up
  local layout = { shape = {}, strides = {}, offset = u.offset, dtype = u.dtype }
  local axes = { keepdim = true }
  for i = 1, #u.shape do
    if u.strides[i] == 0 and u.shape[i] ~= 1 then axes[#axes + 1] = i end
    layout.shape[i], layout.strides[i] = (u.strides[i] == 0) and 1 or u.shape[i], u.strides[i]
  end
  if #axes > 0 then c = mc.sum(c, axes) end
  if u.dtype == v.dtype then
    local order = permutation(layout, graphs.numel(v.shape))
    if order then
      if #order > 1 then c = c:permute_dims(order) end
      return self:add(v, c:reshape(v.shape))
    end
  end
  if injective(layout) then
    local part = evaluate.view(self:buffer(v, c), layout)
    part:add_(c)
    return
  end
  -- windows that overlap: every element goes home by its position
  local n = graphs.numel(v.shape)
  local places = mc.arange(1, n, 1, { dtype = 'i64', device = c.device })
  local home = recording.strided(places, layout.shape, layout.strides, layout.offset or 0)
  local flat = mc.zeros({ n }, { dtype = c.dtype, device = c.device })
  self:add(v, mc.scatter_add(flat, home:copy():reshape(-1), c:reshape(-1)):reshape(v.shape))
end

-- ---------------------------------------------------------------- the walk

--- Values that depend on an input with a derivative, among those marked in `wanted` (by position; nil: all).
local function reached(graph, wanted)
  local yes = {}
  for i, v in ipairs(graph.inputs) do
    if (not wanted or wanted[i]) and M.continuous(v.dtype) then yes[v] = true end
  end
  for _, n in ipairs(graph.nodes) do
    local any = false
    for _, u in ipairs(n.ins) do any = any or yes[u.value] end
    if any then
      for _, v in ipairs(n.outs) do if M.continuous(v.dtype) then yes[v] = true end end
    end
  end
  return yes
end

local function back_op(n, env, yes, sum)
  local g, count = {}, 0
  for i, v in ipairs(n.outs) do
    g[i] = sum.of[v]
    if g[i] then count = count + 1 end
  end
  if count == 0 then return end
  local rule, why = rules.reverse(n.row)
  if not rule then
    error(('grad: %s has no derivative: %s'):format(n.row[1], why), 0)
  end
  local x, y = {}, {}
  for i, u in ipairs(n.ins) do x[i] = evaluate.see(env[u.value], u) end
  for i, v in ipairs(n.outs) do y[i] = env[v] end
  local back = rule(#n.outs == 1 and g[1] or g, x, y, params.read(n))
  for i, u in ipairs(n.ins) do
    local c = yes[u.value] and rules.cotangent(n.row, back, i)
    if c then sum:push(u, c) end
  end
end

local function back_copy(n, _, yes, sum)
  local u, c = n.ins[1], sum.of[n.outs[1]]
  if c and yes[u.value] then sum:push(u, c) end
end

local function back_update(n, _, yes, sum)
  local c = sum.of[n.outs[1]]
  if not c then return end
  local old, part = n.ins[1], n.ins[2]
  if yes[part.value] then sum:push(part, evaluate.view(dense(c), n.at)) end
  if yes[old.value] then
    local rest = c:copy()
    evaluate.view(rest, n.at):fill_(0)
    sum:push(old, rest)
  end
end

local function back_put(n, env, yes, sum)
  local c = sum.of[n.outs[1]]
  if not c then return end
  local old, index, part = n.ins[1], n.ins[2], n.ins[3]
  local positions = evaluate.see(env[index.value], index)
  if yes[part.value] then
    local back = mc.take(evaluate.view(dense(c), n.at), positions, n.axis + 1)
    if not n.accumulate then -- of several values for one place the last one counts
      local k = positions:numel()
      local order = mc.arange(1, k, 1, { dtype = 'i64', device = c.device })
      local owner = mc.zeros({ n.at.shape[n.axis + 1] }, { dtype = 'i64', device = c.device })
      recording.put(owner, 0, positions, order, false)
      local shape = {}
      for i = 1, #n.at.shape do shape[i] = i == n.axis + 1 and k or 1 end
      back = mc.where(mc.eq(mc.take(owner, positions:reshape(-1)), order):reshape(shape), back, 0)
    end
    sum:push(part, back)
  end
  if yes[old.value] then
    if n.accumulate then
      sum:push(old, c)
    else
      local rest = c:copy()
      local none = mc.zeros({}, { dtype = c.dtype, device = c.device })
      recording.put(evaluate.view(rest, n.at), n.axis, positions, none, false)
      sum:push(old, rest)
    end
  end
end

--- A call answers for itself.
local function back_call(n, env, yes, sum)
  local g, x, y, wanted, count = {}, {}, {}, {}, 0
  for i, v in ipairs(n.outs) do
    y[i], g[i] = env[v], sum.of[v]
    if g[i] then count = count + 1 end
  end
  if count == 0 then return end
  for i, u in ipairs(n.ins) do x[i], wanted[i] = evaluate.see(env[u.value], u), yes[u.value] end
  local back = n.prim:back(g, x, y, env[n], wanted)
  for i, u in ipairs(n.ins) do
    if back[i] and wanted[i] then sum:push(u, back[i]) end
  end
end

local BACK = { op = back_op, call = back_call, copy = back_copy, update = back_update, put = back_put }

--- Cotangents of the inputs.
---@param graph table
---@param env table of evaluate.run
---@param cotangents table one tensor for each output, nil where there is none
---@param wanted? table which inputs, by position
---@param hooks? table by value: functions of a complete cotangent that may give another one
---@param watch? function called after each node with it and the cotangents so far, by value
---@return table list tensor or nil for each input
function M.run(graph, env, cotangents, wanted, hooks, watch)
  local yes, sum = reached(graph, wanted), sums()
  for i, u in ipairs(graph.outputs) do
    if cotangents[i] and yes[u.value] then sum:push(u, cotangents[i]) end
  end
  for k = #graph.nodes, 1, -1 do
    local n = graph.nodes[k]
    for _, v in ipairs(hooks and n.outs or {}) do
      if hooks[v] and sum.of[v] then sum.of[v], sum.own[v] = hooks[v](sum.of[v]), nil end
    end
    BACK[n.kind](n, env, yes, sum)
    if watch then watch(n, sum.of) end
    for _, v in ipairs(n.outs) do sum.of[v], sum.own[v] = nil, nil end
  end
  local out = {}
  for i, v in ipairs(graph.inputs) do out[i] = sum.of[v] end
  return out
end

--- Takes a graph that is done with apart. Machine code keeps some of the tables it met as constants until it is
--- dropped, and with one value of a graph all that hangs on it: 10^5 steps held 280 MiB of the Lua heap and their
--- tensors after the gradient was there.
function M.forget(graph, env)
  for k in next, env do env[k] = nil end
  local nodes = graph.nodes
  for k = #nodes, 1, -1 do
    local n = nodes[k]
    for i = 1, #n.ins do n.ins[i] = nil end
    for i = 1, #n.outs do n.outs[i] = nil end
    nodes[k] = nil
  end
end

return M
