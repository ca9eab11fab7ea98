-- plan.lua - a graph laid out: which step writes which memory.
--
-- Decides the order of steps, the life of values, the arena (best fit over a list of free ranges), in-place updates,
-- and results that take the place of an operand nobody needs any more. The result is a C plan and a description that
-- explain() prints.
local graphs = require 'mascon.graph.graph'
local steps_of = require 'mascon.compile.steps'
local tensor = require 'mascon.core.tensor'

local M = {}

local ALIGN = 64
local EWISE = require('mascon.core.ffi').gen.elementwise

--- A list of free ranges of one arena.
local function arena()
  local free, top, live = {}, 0, 0
  local a = { peak = 0, total = 0 }
  function a.take(bytes)
    bytes = math.max(ALIGN, math.ceil(bytes / ALIGN) * ALIGN)
    live = live + bytes
    a.peak, a.total = math.max(a.peak, live), a.total + bytes
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
    live = live - bytes
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

local bytes_of = graphs.bytes

--- Operands of an elementwise node whose memory a result may take: dying, read as they lie. mine(v): whether the plan
--- may write where v lies.
local function heirs(n, k, last, mine)
  if n.kind == 'fused' then
    -- a leaf handed on may be overwritten before it is
    for _, r in ipairs(n.result) do if r < #n.ins then return {} end end
  elseif n.kind ~= 'op' or not EWISE[n.row.family] or n.compute ~= n.outs[1].dtype then
    return {}
  end
  local uses, list = {}, {}
  for _, u in ipairs(n.ins) do
    local v = u.value
    uses[v] = (uses[v] == nil or uses[v]) and graphs.whole(u) and (n.kind == 'fused' or v.dtype == n.compute)
  end
  for _, u in ipairs(n.ins) do
    local v = u.value
    if uses[v] and last[v] == k and mine(v) then
      list[#list + 1], uses[v] = v, false
    end
  end
  return list
end

--- Lays a graph out.
---@param graph table of graph.build
---@param options table { inplace: results may take the place of dying operands; overwrite: what becomes of an argument
---  may be written there while the plan runs; lent: by result, whether it lies in the arena; prepare: passes for the
---  graphs inside the graph }
---@return table layout { headers, steps, arena, peak, total (bytes), inplace = { count, bytes }, outputs }
function M.lay(graph, options)
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
  local effect_of = {} -- value -> the argument that it is written to
  for _, e in ipairs(graph.effects) do
    local v = e.value
    last[v] = #nodes + 1
    if options.overwrite and not out_of[v] then effect_of[v] = effect_of[v] or graph.inputs[e.input] end
  end

  local mem, place, headers, steps, parts = arena(), {}, {}, {}, {}
  local lent, lies = options.lent, {}
  local by_key = {}
  local function header(h)
    local key = ('%s/%s/%d/%d/%s/%s/%s'):format(h.where, h.const and 'value ' .. h.id or tostring(h.index),
      h.offset or 0, h.dtype, table.concat(h.shape, ','), table.concat(h.strides, ','), tostring(h.weak))
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
    return header {
      where = p.where, index = p.index, const = p.const, id = p.id, offset = layout.offset or 0,
      dtype = layout.dtype or v.dtype, shape = layout.shape, strides = layout.strides, weak = weak or nil,
    }
  end
  local function whole(v) return seen(v, { shape = v.shape, strides = graphs.dense(v.shape) }) end
  local function give(v)
    local p = place[v]
    if p and p.bytes then mem.give(p.index, p.bytes) end
  end
  local inplace = { count = 0, bytes = 0 }
  local function mine(v) return place[v] and place[v].bytes or v.input and options.overwrite end
  local function inherit(v, list)
    local target = effect_of[v]
    for i, from in ipairs(list) do
      if from == target then
        table.remove(list, i)
        place[v] = { where = 'input', index = from.input - 1 }
        inplace.count, inplace.bytes = inplace.count + 1, inplace.bytes + bytes_of(v)
        return true
      end
    end
    for i, from in ipairs(list) do
      if not from.input and from.dtype == v.dtype and graphs.same(from.shape, v.shape) then
        table.remove(list, i)
        place[v], place[from] = place[from], { where = 'arena', index = place[from].index }
        inplace.count, inplace.bytes = inplace.count + 1, inplace.bytes + place[v].bytes
        return true
      end
    end
  end
  --- Where result i is written.
  local function result(i, bytes)
    if not (lent and lent[i]) then return { where = 'output', index = i - 1 } end
    lies[i] = mem.take(bytes)
    return { where = 'arena', index = lies[i] }
  end
  local function take(v)
    if out_of[v] then place[v] = result(out_of[v], bytes_of(v))
    else
      local index, bytes = mem.take(bytes_of(v))
      place[v] = { where = 'arena', index = index, bytes = bytes }
    end
  end

  --- The product of a group and what is made of it: the same memory where nobody else reads the product.
  local function product(n)
    local v, ins, outs = n.product, {}, {}
    for _, o in ipairs(n.outs) do take(o) end
    if not place[v] then
      local straight = options.inplace
      for _, r in ipairs(n.result) do straight = straight and r >= #n.leaves end
      if straight and n.outs[1].dtype == v.dtype then
        place[v] = { where = place[n.outs[1]].where, index = place[n.outs[1]].index }
        inplace.count, inplace.bytes = inplace.count + 1, inplace.bytes + bytes_of(v)
      else
        take(v)
      end
    end
    for i, u in ipairs(n.leaves) do ins[i] = seen(u.value, u, u.weak) end
    for i = 1, n.results do outs[i] = whole(n.outs[i]) end
    local a, b = n.ins[1], n.ins[2]
    steps[#steps + 1] = { kind = 'product', product = whole(v), a = seen(a.value, a, a.weak),
      b = seen(b.value, b, b.weak), ins = ins, outs = outs, want = n.want, code = n.code, result = n.result }
    if n.outs[#n.outs] ~= v then give(v) end
  end

  --- Steps that run together tile by tile, behind the one that says so.
  local function tiles(n)
    local owner = { kind = 'tiles', count = #n.members, lead = n.lead, row_bytes = n.row_bytes, extra = n.extra,
      shift = {}, slot = {}, ins = {}, outs = {} }
    steps[#steps + 1] = owner
    for _, v in ipairs(n.ins) do owner.ins[#owner.ins + 1] = v end
    for v, s in pairs(n.slot_of) do place[v] = { where = 'tile', index = s } end
    for _, m in ipairs(n.members) do
      local ins, outs = {}, {}
      local rank = m.kind == 'op' and m.row.family ~= 'matmul' and #m.ins[1].shape or #m.outs[1].shape
      local function view(layout, v, by_head)
        owner.shift[#owner.shift + 1] = by_head and 0 or #layout.shape - rank
        owner.slot[#owner.slot + 1] = (n.slot_of[v] or 0) - 1
      end
      local step = { kind = m.kind, row = m.row, params = m.params, ins = ins, outs = outs, want = m.want,
        code = m.code, result = m.result }
      for i = 1, m.results or #m.outs do
        outs[i] = whole(m.outs[i])
        view(m.outs[i], m.outs[i], true)
      end
      local uses = m.ins
      if m.kind == 'product' then
        local v, a, b = m.product, m.ins[1], m.ins[2]
        -- what is made of the product takes its place
        if not place[v] then place[v], n.slot_of[v] = place[m.outs[1]], n.slot_of[m.outs[1]] end
        step.product, step.a, step.b = whole(v), seen(a.value, a, a.weak), seen(b.value, b, b.weak)
        view(v, v, true)
        view(a, a.value)
        view(b, b.value)
        uses = m.leaves
      end
      for i, u in ipairs(uses) do
        ins[i] = seen(u.value, u, u.weak)
        view(u, u.value)
      end
      steps[#steps + 1] = step
    end
  end

  --- A step that runs plans of its own: dense operands, and room beside the results.
  local function call(n)
    local loop = n.prim:lower(function(part)
      part = graphs.copy(part)
      if options.prepare then options.prepare(part) end
      return M.make(part, setmetatable({ overwrite = false, lent = false }, { __index = options }))
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
    local moved -- the value whose memory another one took over
    if n.kind == 'call' then call(n)
    elseif n.kind == 'update' or n.kind == 'put' then
      local old, new = n.ins[1].value, n.outs[1]
      local alone = true -- the part is not read from what it is written over
      for i = 2, #n.ins do alone = alone and n.ins[i].value ~= old end
      if place[old] and place[old].bytes and last[old] == k and alone and not out_of[new] and graphs.whole(n.ins[1])
        and bytes_of(old) == bytes_of(new) then
        place[new], moved = place[old], old -- the old contents are not needed any more: written in place
      else
        take(new)
        steps[#steps + 1] = { kind = 'copy', outs = { whole(new) }, ins = { seen(old, n.ins[1]) } }
      end
      local target = seen(new, n.at)
      if n.kind == 'update' then
        steps[#steps + 1] =
          { kind = 'copy', outs = { target }, ins = { seen(n.ins[2].value, n.ins[2], n.ins[2].weak) } }
      else
        steps[#steps + 1] = { kind = 'put', outs = { target }, ins = { seen(n.ins[2].value, n.ins[2]),
          seen(n.ins[3].value, n.ins[3]) }, axis = n.axis, accumulate = n.accumulate }
      end
    elseif n.kind == 'tiles' then
      for _, v in ipairs(n.outs) do take(v) end
      tiles(n)
    elseif n.kind == 'product' then
      product(n)
    else
      local ins, outs = {}, {}
      for i, u in ipairs(n.ins) do ins[i] = seen(u.value, u, u.weak) end
      local list = options.inplace and heirs(n, k, last, mine) or {}
      for _, v in ipairs(n.outs) do
        if out_of[v] or not list[1] or not inherit(v, list) then take(v) end
      end
      for i, v in ipairs(n.outs) do outs[i] = whole(v) end
      steps[#steps + 1] = { kind = n.kind, row = n.row, params = n.params, ins = ins, outs = outs, want = n.want,
        code = n.code, result = n.result,
        like = n.like and header { where = 'tile', index = 0, offset = 0, dtype = n.like.dtype, shape = n.like.shape,
          strides = graphs.dense(n.like.shape) } }
    end
    local done = {}
    for _, u in ipairs(n.ins) do
      local v = u.value
      if last[v] == k and not done[v] and v ~= moved then
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
    local to = result(i, bytes_of(u))
    local dst = header { where = to.where, index = to.index, offset = 0, dtype = u.dtype, shape = u.shape,
      strides = graphs.dense(u.shape) }
    steps[#steps + 1] = { kind = 'copy', outs = { dst }, ins = { seen(u.value, u) } }
  end
  for _, e in ipairs(graph.effects) do
    local v, p = graph.inputs[e.input], at(e.value)
    if p.where ~= 'input' or p.index ~= e.input - 1 then -- else it was written while the plan ran
      local dst = header { where = 'input', index = e.input - 1, offset = 0, dtype = v.dtype, shape = v.shape,
        strides = v.strides }
      steps[#steps + 1] = { kind = 'copy', outs = { dst }, ins = { whole(e.value) } }
    end
  end
  local outputs = {}
  for i, u in ipairs(graph.outputs) do outputs[i] = { dtype = tensor.name[u.dtype], shape = u.shape } end
  for i = 1, lent and #outputs or 0 do lies[i] = lies[i] or -1 end
  return { headers = headers, steps = steps, arena = mem.top(), peak = mem.peak, total = mem.total, inplace = inplace,
    outputs = outputs, parts = parts, lent = lent and lies }
end

--- Groups with the same program share it: an optimiser has one for each parameter.
local function share(steps)
  local first = {}
  for _, step in ipairs(steps) do
    if step.code then
      local words = {}
      for i, c in ipairs(step.code) do
        words[i] = ('%d,%d,%d,%d,%s'):format(c.op, c.dtype, c.rdtype, c.dst, table.concat(c.src, ' '))
      end
      local key = table.concat(words, ';')
      first[key] = first[key] or step.code
      step.code = first[key]
    end
  end
end

--- The groups of a layout as programs of devices.
local function programs(l)
  for _, step in ipairs(l.steps) do
    if step.kind == 'fused' then
      local leaves, results = {}, {}
      for i, h in ipairs(step.ins) do leaves[i] = l.headers[h] end
      for i, h in ipairs(step.outs) do results[i] = l.headers[h] end
      step.there = require 'mascon.compile.native.device'.emit(step, leaves, results)
    end
  end
end

--- A graph as a plan that runs.
---@param graph table
---@param options table of M.lay; device: number of the device where it runs (nil: the CPU)
---@return table plan { run, outputs = { { dtype, shape } }, arena (bytes), steps, headers (counts), layout, plan }
function M.make(graph, options)
  local l = M.lay(graph, options)
  share(l.steps)
  if options.device then programs(l) end
  local c = steps_of.make(l.headers, l.steps, l.arena, graph.effects, options.device, l.lent)
  return { run = steps_of.runner(c, #graph.inputs, #l.outputs), outputs = l.outputs, arena = l.arena, steps = #l.steps,
    headers = #l.headers, plan = c, program = l.steps, layout = l.headers, parts = l.parts,
    memory = { arena = l.arena, peak = l.peak, total = l.total, inplace = l.inplace } }
end

return M
