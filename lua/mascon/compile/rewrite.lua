-- rewrite.lua - values of a graph replaced by others, wherever they are seen.
--
-- Holds: a use seen through another use, one sweep that puts substitutes in place, and the order in which operands come
-- first.
local graphs = require 'mascon.graph.graph'
local lifetimes = require 'mascon.compile.lifetimes'

local M = {}

--- The layout of `u` (a view of a dense value of `shape`) as a view of what `source` shows, when source takes that
--- value's place: each axis of the view must step along one axis of the value. nil when there is none.
function M.compose(u, shape, source)
  if graphs.is_dense(u) and graphs.same(u.shape, shape) then
    return { value = source.value, shape = source.shape, strides = source.strides, offset = source.offset or 0,
      dtype = u.dtype, weak = u.weak }
  end
  local own = graphs.dense(shape)
  if graphs.is_dense(source) then
    return { value = source.value, shape = u.shape, strides = u.strides, offset = u.offset or 0,
      dtype = u.dtype, weak = u.weak }
  end
  -- the first element of the view: its digits in the value's axes
  local rest, offset, digit = u.offset or 0, source.offset or 0, {}
  for k = 1, #shape do
    digit[k] = math.floor(rest / own[k])
    rest = rest - digit[k] * own[k]
    if digit[k] >= shape[k] then return nil end
    offset = offset + digit[k] * source.strides[k]
  end
  local strides = {}
  for i = 1, #u.shape do
    local s, n = u.strides[i], u.shape[i]
    if n <= 1 or s == 0 then strides[i] = n <= 1 and 1 or 0
    elseif s < 0 then return nil
    else
      for k = 1, #shape do
        local q = s / own[k]
        if shape[k] > 1 and q >= 1 and q % 1 == 0 and digit[k] + q * (n - 1) < shape[k] then
          strides[i] = q * source.strides[k]
          digit[k] = digit[k] + q * (n - 1) -- another axis of the view along the same one starts from here
          break
        end
      end
      if not strides[i] then return nil end
    end
  end
  return { value = source.value, shape = u.shape, strides = strides, offset = offset, dtype = u.dtype, weak = u.weak }
end

---@class mascon.Substitutes
---@field of table<mascon.Value, table> value -> use that shows the same elements in the same order

--- The use `u` with substitutes in place.
---@param map table<mascon.Value, table>
local function resolve(u, map)
  local s = map[u.value]
  while s do
    local c = M.compose(u, u.value.shape, s)
    if not c then return u end
    u = c
    s = map[u.value]
  end
  return u
end
M.resolve = resolve

--- Operands of a node with substitutes in place. The value that an update changes stays whole: it needs a buffer of its
--- own.
function M.operands(node, map)
  local writes = node.kind == 'update' or node.kind == 'put'
  for i, u in ipairs(node.ins) do
    if map[u.value] then
      local r = resolve(u, map)
      if not (writes and i == 1)
        or (graphs.is_dense(r) and graphs.same(r.shape, r.value.shape) and graphs.is_dense(r.value)) then
        node.ins[i] = r
      end
    end
  end
end

--- Outputs and effects with substitutes in place. What an argument becomes in the end is a result of a node or a
--- constant that cannot change: it must not be read from an argument, since another one may be written before it.
function M.finish(graph, map)
  for i, u in ipairs(graph.outputs) do graph.outputs[i] = resolve(u, map) end
  for _, e in ipairs(graph.effects) do
    local r = resolve(graphs.use_of(e.value), map)
    if r.value ~= e.value and (r.value.node or r.value.fixed) and graphs.whole(r) then e.value = r.value end
  end
end

--- One sweep: visit(node, map) may enter a substitute for the node's result into map; nodes come with their operands
--- resolved.
---@return table map
function M.sweep(graph, visit)
  local map = {}
  for _, n in ipairs(graph.nodes) do
    if next(map) then M.operands(n, map) end
    visit(n, map)
  end
  if next(map) then M.finish(graph, map) end
  return map
end

--- Numbers the stretches of a graph between the turns of checkpoints (`epoch` of each node, nil without checkpoints).
--- Work of different stretches is not put together: it would hold on to what the checkpoint lets go of.
function M.epochs(graph)
  local epoch, turn
  for _, n in ipairs(graph.nodes) do
    if n.remat and n.remat ~= turn then epoch, turn = (epoch or 0) + 1, n.remat end
    n.epoch = epoch
  end
end

--- Stands for nodes that vanish.
M.NOTHING = { ins = {}, outs = {} }

--- Nodes in an order in which operands come first, as near to the given one as that allows. `of` maps a node to the one
--- that stands for it; it comes where the first of its nodes stood or, with `late`, the last one, unless it is needed
--- before.
local function in_order(nodes, of, late)
  local out, state, left = {}, {}, {}
  for _, n in ipairs(late and nodes or {}) do left[of(n)] = (left[of(n)] or 0) + 1 end
  for _, node in ipairs(nodes) do
    local start = of(node)
    local stack = { start }
    if late then
      left[start] = left[start] - 1
      if left[start] > 0 then stack = {} end
    end
    while #stack > 0 do
      local n = stack[#stack]
      if state[n] == 'done' then
        table.remove(stack)
      elseif state[n] == 'open' then
        state[n] = 'done'
        if n ~= M.NOTHING then out[#out + 1] = n end
        table.remove(stack)
      else
        state[n] = 'open'
        for i = #n.ins, 1, -1 do
          local p = n.ins[i].value.node
          if p and not state[p] then stack[#stack + 1] = p end
          if p and p ~= n and state[p] == 'open' then
            error('compile: groups wait for one another; please report this', 0)
          end
        end
      end
    end
  end
  return out
end

--- Orders the nodes of a graph, of which some are replaced: groups stand where their first node stood, or where their
--- last one did when that needs less memory.
---@param graph table
---@param stands table node -> what stands for it
---@return number bytes that the order needs at the same time
function M.reorder(graph, stands)
  local function of(n) return stands[n] or n end
  local early, late = in_order(graph.nodes, of), in_order(graph.nodes, of, true)
  local a, b = lifetimes.peak(graph, early), lifetimes.peak(graph, late)
  graph.nodes = b < a and late or early
  return math.min(a, b)
end

return M
