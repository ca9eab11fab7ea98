-- fuse.lua - elementwise nodes of one shape become groups that run block by block.
--
-- A node joins the groups of its operands when they have its shape and when no path leaves the group and comes back (such a detour would have
-- to run in the middle of the group). Only values that somebody outside reads are written to memory. Owns the groups and their programs for
-- the vector machine. Results are the same bits, but for f16 and bf16, which stay in f32 inside a group.
local graphs = require 'mascon.compile.graph'
local tensor = require 'mascon.tensor'

local M = {}

local CODE, NAME = tensor.code, tensor.name
local EWISE = { unary = true, binary = true, ternary = true, where = true }
local REAL = { c64 = 'f32', c128 = 'f64' }
local REGISTERS, SEARCH = 56, 64

local function eligible(n)
  if n.kind == 'copy' then return true end
  return n.kind == 'op' and EWISE[n.row.family] and n.compute >= 0
end

--- The whole of a value, as it lies.
local function whole(u)
  return u.value.node and graphs.is_dense(u) and graphs.same(u.shape, u.value.shape)
end

--- dtype in which a node's result leaves its kernel.
local function kernel_result(n)
  if n.kind == 'copy' then return n.outs[1].dtype end
  local c = NAME[n.compute]
  if n.row.result == 'bool' then return CODE.bool end
  if n.row.result == 'i64' then return CODE.i64 end
  if n.row.result == 'real' then return CODE[REAL[c] or c] end
  return n.compute
end

-- ---------------------------------------------------------------- finding groups

--- Some node of `group` is reached upwards from the operands of `n` without staying inside; searched at most SEARCH steps.
local function detour(n, group, groups_of, position)
  local steps, seen, stack = 0, {}, {}
  local function push(node)
    for _, u in ipairs(node.ins) do
      local p = u.value.node
      if p and not seen[p] then
        seen[p] = true
        stack[#stack + 1] = p
      end
    end
  end
  for _, u in ipairs(n.ins) do
    local p = u.value.node
    if p and groups_of[p] == group and not whole(u) then return true end -- a part of what the group has not written yet
    if p and groups_of[p] ~= group and not seen[p] then
      seen[p] = true
      stack[#stack + 1] = p
    end
  end
  while #stack > 0 do
    local p = table.remove(stack)
    steps = steps + 1
    if groups_of[p] == group or steps > SEARCH then return true end
    local g = groups_of[p]
    if (g and g.last or position[p]) > group.first then -- an earlier node's group may go on behind
      if g then
        for _, m in ipairs(g.nodes) do
          if groups_of[m] == g then push(m) end
        end
      else
        push(p)
      end
    end
  end
  return false
end

local function find(graph)
  local groups_of, position, groups = {}, {}, {}
  for k, n in ipairs(graph.nodes) do
    position[n] = k
    if eligible(n) then
      local shape, joined = n.outs[1].shape, nil
      for _, u in ipairs(n.ins) do
        local g = whole(u) and groups_of[u.value.node]
        if g and g ~= joined and graphs.same(g.shape, shape) and g.size + (joined and joined.size or 0) < REGISTERS / 2 then
          if not joined then
            if not detour(n, g, groups_of, position) then joined = g end
          else -- both operands come from groups: one group, if neither leads into the other
            local a, b = joined, g
            local clear = true
            for _, m in ipairs(b.nodes) do clear = clear and not detour(m, a, groups_of, position) end
            for _, m in ipairs(a.nodes) do clear = clear and not detour(m, b, groups_of, position) end
            if clear then
              for _, m in ipairs(b.nodes) do
                groups_of[m] = a
                a.nodes[#a.nodes + 1] = m
              end
              a.first, a.last, a.size = math.min(a.first, b.first), math.max(a.last, b.last), a.size + b.size
              b.nodes, b.size = {}, 0
            end
          end
        end
      end
      if not joined then
        joined = { shape = shape, nodes = {}, first = k, last = k, size = 0 }
        groups[#groups + 1] = joined
      elseif detour(n, joined, groups_of, position) then -- a merge can close a way
        joined = { shape = shape, nodes = {}, first = k, last = k, size = 0 }
        groups[#groups + 1] = joined
      end
      joined.nodes[#joined.nodes + 1] = n
      joined.size, joined.last = joined.size + 1, k
      groups_of[n] = joined
    end
  end
  for _, g in ipairs(groups) do table.sort(g.nodes, function(a, b) return position[a] < position[b] end) end
  return groups_of, position
end

-- ---------------------------------------------------------------- the program of a group

local function program(group, outside)
  local inside = {}
  for _, n in ipairs(group.nodes) do inside[n.outs[1]] = n end
  local leaves, want, leaf_of = {}, {}, {}
  local function leaf(u, dtype)
    local key = ('%d/%d/%s/%s/%d'):format(u.value.id, u.offset or 0, table.concat(u.shape, ','), table.concat(u.strides, ','), dtype)
    if not leaf_of[key] then
      leaves[#leaves + 1], want[#want + 1] = u, dtype
      leaf_of[key] = { leaf = #leaves, dtype = dtype }
    end
    return leaf_of[key]
  end
  -- first with names for registers, then with numbers
  local code, made = {}, {}
  local function converted(r, dtype)
    if r.dtype == dtype then return r end
    local to = { dtype = dtype }
    code[#code + 1] = { op = -1, dtype = r.dtype, rdtype = dtype, to = to, from = { r } }
    return to
  end
  for _, n in ipairs(group.nodes) do
    local v = n.outs[1]
    local function source(u, dtype)
      if inside[u.value] and whole(u) then return converted(made[u.value], dtype) end
      return leaf(u, dtype)
    end
    if n.kind == 'copy' then
      made[v] = source(n.ins[1], v.dtype)
    else
      local from = {}
      for i, u in ipairs(n.ins) do from[i] = source(u, n.row.family == 'where' and i == 1 and CODE.bool or n.compute) end
      local to = { dtype = kernel_result(n) }
      code[#code + 1] = { op = n.row.id, dtype = n.compute, rdtype = to.dtype, to = to, from = from }
      made[v] = to
    end
  end
  local outs, results = {}, {}
  for _, n in ipairs(group.nodes) do
    local v = n.outs[1]
    if outside[v] then
      outs[#outs + 1] = v
      results[#results + 1] = converted(made[v], v.dtype)
    end
  end
  -- numbers: a register is free again after its last reader
  local last = {}
  for k, c in ipairs(code) do
    for _, r in ipairs(c.from) do last[r] = k end
  end
  for _, r in ipairs(results) do last[r] = #code + 1 end
  local free, next_register = {}, #leaves
  for k, c in ipairs(code) do
    c.src = {}
    for i, r in ipairs(c.from) do c.src[i] = r.leaf and r.leaf - 1 or r.number end
    -- the result never shares a block with its sources: kernels may read after they wrote
    if #free > 0 then c.to.number = table.remove(free)
    else
      c.to.number = next_register
      next_register = next_register + 1
    end
    c.dst = c.to.number
    local done = {}
    for _, r in ipairs(c.from) do
      if last[r] == k and not r.leaf and not done[r] then
        done[r] = true
        free[#free + 1] = r.number
      end
    end
    if not last[c.to] then free[#free + 1] = c.to.number end
  end
  local result = {}
  for i, r in ipairs(results) do result[i] = r.leaf and r.leaf - 1 or r.number end
  return { kind = 'fused', ins = leaves, want = want, outs = outs, code = code, result = result, registers = next_register, members = group.nodes }
end

-- ---------------------------------------------------------------- the pass

--- Groups the elementwise nodes of a graph. Changes the graph; the values that groups keep to themselves vanish.
---@param graph table
---@return table report { groups, nodes: how many nodes went into groups }
function M.run(graph)
  local groups_of = find(graph)
  local outside = {} -- values read by something other than their own group
  for _, n in ipairs(graph.nodes) do
    for _, u in ipairs(n.ins) do
      local p = u.value.node
      if p and (not groups_of[p] or groups_of[p] ~= groups_of[n] or not whole(u)) then outside[u.value] = true end
    end
  end
  for _, u in ipairs(graph.outputs) do outside[u.value] = true end
  for _, e in ipairs(graph.effects) do outside[e.value] = true end

  local replaced, report = {}, { groups = 0, nodes = 0 }
  local function replace(g)
    if replaced[g] then return replaced[g] end
    local only = g.nodes[1]
    if #g.nodes == 1 then replaced[g] = only
    else
      local f = program(g, outside)
      if #f.outs == 0 then -- nobody reads any of it
        replaced[g] = 'dead'
        return replaced[g]
      end
      if #f.ins + #f.outs > 60 or f.registers > 62 then
        replaced[g] = false
        return false
      end
      for _, v in ipairs(f.outs) do v.node = f end
      report.groups, report.nodes = report.groups + 1, report.nodes + #g.nodes
      replaced[g] = f
    end
    return replaced[g]
  end
  for _, n in ipairs(graph.nodes) do if groups_of[n] then replace(groups_of[n]) end end

  -- emitted in an order in which operands come first; without detours there is one
  local out, state = {}, {}
  local function emit(start)
    local stack = { start }
    while #stack > 0 do
      local n = stack[#stack]
      if state[n] == 'done' then
        table.remove(stack)
      elseif state[n] == 'open' then
        state[n] = 'done'
        out[#out + 1] = n
        table.remove(stack)
      else
        state[n] = 'open'
        for i = #n.ins, 1, -1 do
          local p = n.ins[i].value.node
          if p and not state[p] then stack[#stack + 1] = p end
        end
      end
    end
  end
  for _, n in ipairs(graph.nodes) do
    local g = groups_of[n]
    if not g or replaced[g] ~= 'dead' then emit(g and replaced[g] or n) end
  end
  graph.nodes = out
  return report
end

return M
