-- plan.lua - a graph laid out: which step writes which memory.
--
-- Owns the order of steps, the life of values, the arena (best fit over a list of free ranges) and in-place updates. The result is a C plan
-- and a description that explain() prints. May not know passes or how graphs come about.
local graphs = require 'mascon.compile.graph'
local launch = require 'mascon.compile.launch'
local tensor = require 'mascon.tensor'

local M = {}

local ALIGN = 64

--- A list of free ranges of one arena.
local function arena()
  local free, top = {}, 0
  local a = {}
  function a.take(bytes)
    bytes = math.max(ALIGN, math.ceil(bytes / ALIGN) * ALIGN)
    local best
    for i, r in ipairs(free) do
      if r[2] >= bytes and (not best or r[2] < free[best][2]) then best = i end
    end
    if best then
      local r = free[best]
      local at = r[1]
      if r[2] == bytes then table.remove(free, best) else r[1], r[2] = r[1] + bytes, r[2] - bytes end
      return at, bytes
    end
    local last = free[#free]
    if last and last[1] + last[2] == top then -- grows the free range at the end
      table.remove(free)
      local at = last[1]
      top = at + bytes
      return at, bytes
    end
    local at = top
    top = top + bytes
    return at, bytes
  end
  function a.give(at, bytes)
    local i = 1
    while free[i] and free[i][1] < at do i = i + 1 end
    table.insert(free, i, { at, bytes })
    if free[i + 1] and at + bytes == free[i + 1][1] then
      free[i][2] = bytes + free[i + 1][2]
      table.remove(free, i + 1)
    end
    if free[i - 1] and free[i - 1][1] + free[i - 1][2] == at then
      free[i - 1][2] = free[i - 1][2] + free[i][2]
      table.remove(free, i)
    end
  end
  function a.top() return top end
  return a
end

local function bytes_of(v)
  return graphs.numel(v.shape) * tensor.size[tensor.name[v.dtype]]
end

--- Lays a graph out.
---@param graph table of graph.build
---@param prepare? fun(graph: table) passes, for the graphs inside the graph
---@return table plan { run, outputs = { { dtype, shape } }, arena (bytes), steps (count), effects }
function M.make(graph, prepare)
  local nodes = graph.nodes
  local last = {} -- value -> index of the last node that reads it
  for k, n in ipairs(nodes) do
    for _, u in ipairs(n.ins) do last[u.value] = k end
  end
  -- a value that is an output as a whole is written where the caller finds it
  local out_of, out_copies = {}, {}
  for i, u in ipairs(graph.outputs) do
    local v = u.value
    if v.node and not out_of[v] and graphs.is_dense(u) and graphs.same(u.shape, v.shape) then
      out_of[v] = i
    else
      out_copies[#out_copies + 1] = i
      last[v] = #nodes + 1
    end
  end
  for _, e in ipairs(graph.effects) do last[e.value] = #nodes + 1 end

  local mem, place, headers, steps, parts = arena(), {}, {}, {}, {}
  local by_key = {}
  local function header(h)
    local key = ('%s/%s/%d/%d/%s/%s/%s'):format(h.where, h.const and 'value ' .. h.id or tostring(h.index), h.offset or 0, h.dtype, table.concat(h.shape, ','), table.concat(h.strides, ','), tostring(h.weak))
    if not by_key[key] then
      headers[#headers + 1] = h
      by_key[key] = #headers
    end
    return by_key[key]
  end
  --- Where the buffer of a value lies.
  local function at(v)
    if v.input then return { where = 'input', index = v.input - 1 } end
    if v.const then return { where = 'const', const = v.const, id = v.id } end
    return place[v]
  end
  local function seen(v, layout, weak)
    local p = at(v)
    return header { where = p.where, index = p.index, const = p.const, id = p.id, offset = layout.offset or 0, dtype = layout.dtype or v.dtype, shape = layout.shape, strides = layout.strides, weak = weak or nil }
  end
  local function whole(v) return seen(v, { shape = v.shape, strides = graphs.dense(v.shape) }) end
  local function give(v)
    local p = place[v]
    if p and p.bytes then mem.give(p.index, p.bytes) end
  end
  local function take(v)
    if out_of[v] then place[v] = { where = 'output', index = out_of[v] - 1 }
    else
      local index, bytes = mem.take(bytes_of(v))
      place[v] = { where = 'arena', index = index, bytes = bytes }
    end
  end

  --- A step that runs plans of its own: dense operands, and room beside the results.
  local function call(n)
    local loop = n.prim:lower(function(part)
      part = graphs.copy(part)
      if prepare then prepare(part) end
      return M.make(part, prepare)
    end)
    local ins, outs, room = {}, {}, {}
    local function spare(dtype, shape)
      local v = { dtype = dtype, shape = shape }
      take(v)
      room[#room + 1] = v
      return whole(v)
    end
    for i, u in ipairs(n.ins) do
      if graphs.is_dense({ shape = u.shape, strides = u.strides, offset = 0 }) then
        ins[i] = seen(u.value, u, u.weak)
      else
        ins[i] = spare(u.dtype, u.shape)
        steps[#steps + 1] = { kind = 'copy', outs = { ins[i] }, ins = { seen(u.value, u) } }
      end
    end
    for _, v in ipairs(n.outs) do take(v) end
    for i, v in ipairs(n.outs) do outs[i] = whole(v) end
    for i = 1, loop.state or 0 do outs[#outs + 1] = spare(n.outs[i].dtype, n.outs[i].shape) end
    if loop.kind == 'while' then outs[#outs + 1] = spare(tensor.code.bool, {}) end
    steps[#steps + 1] = { kind = 'call', loop = loop, ins = ins, outs = outs }
    for _, part in ipairs(loop.parts) do parts[#parts + 1] = part end
    for _, v in ipairs(room) do give(v) end
  end

  for k, n in ipairs(nodes) do
    if n.kind == 'call' then call(n)
    elseif n.kind == 'update' or n.kind == 'put' then
      local old, new = n.ins[1].value, n.outs[1]
      if place[old] and place[old].bytes and last[old] == k and not out_of[new] then
        place[new] = place[old] -- the old contents are not needed any more: written in place
      else
        take(new)
        steps[#steps + 1] = { kind = 'copy', outs = { whole(new) }, ins = { seen(old, n.ins[1]) } }
        if last[old] == k then give(old) end
      end
      local target = seen(new, n.at)
      if n.kind == 'update' then
        steps[#steps + 1] = { kind = 'copy', outs = { target }, ins = { seen(n.ins[2].value, n.ins[2], n.ins[2].weak) } }
      else
        steps[#steps + 1] = { kind = 'put', outs = { target }, ins = { seen(n.ins[2].value, n.ins[2]), seen(n.ins[3].value, n.ins[3]) }, axis = n.axis, accumulate = n.accumulate }
      end
    else
      local ins, outs = {}, {}
      for i, u in ipairs(n.ins) do ins[i] = seen(u.value, u, u.weak) end
      for _, v in ipairs(n.outs) do take(v) end
      for i, v in ipairs(n.outs) do outs[i] = whole(v) end
      steps[#steps + 1] = { kind = n.kind, row = n.row, params = n.params, ins = ins, outs = outs, want = n.want, code = n.code, result = n.result }
    end
    local done = {}
    for i, u in ipairs(n.ins) do
      local v = u.value
      if last[v] == k and not done[v] and not ((n.kind == 'update' or n.kind == 'put') and i == 1) then
        done[v] = true
        if v.node then give(v) end
      end
    end
    for _, v in ipairs(n.outs) do
      if not last[v] and not out_of[v] then give(v) end -- nobody reads it
    end
  end
  for _, i in ipairs(out_copies) do
    local u = graph.outputs[i]
    local dst = header { where = 'output', index = i - 1, offset = 0, dtype = u.dtype, shape = u.shape, strides = graphs.dense(u.shape) }
    steps[#steps + 1] = { kind = 'copy', outs = { dst }, ins = { seen(u.value, u) } }
  end
  for _, e in ipairs(graph.effects) do
    local v = graph.inputs[e.input]
    local dst = header { where = 'input', index = e.input - 1, offset = 0, dtype = v.dtype, shape = v.shape, strides = v.strides }
    steps[#steps + 1] = { kind = 'copy', outs = { dst }, ins = { whole(e.value) } }
  end
  local outputs = {}
  for i, u in ipairs(graph.outputs) do outputs[i] = { dtype = tensor.name[u.dtype], shape = u.shape } end
  local c = launch.plan(headers, steps, mem.top())
  return { run = launch.runner(c, #graph.inputs, #outputs), outputs = outputs, arena = mem.top(), steps = #steps, headers = #headers, plan = c, program = steps, layout = headers, parts = parts }
end

return M
