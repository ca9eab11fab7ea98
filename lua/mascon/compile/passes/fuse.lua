-- fuse.lua - elementwise nodes of one shape become groups that run block by block.
--
-- A node joins the groups of its operands when they have its shape. Only values that somebody outside reads are written
-- to memory. Holds the groups and their programs for the vector machine. Results are the same bits, but for f16 and
-- bf16, which stay in f32 inside a group.
local graphs = require 'mascon.graph.graph'
local groups = require 'mascon.compile.groups'
local lifetimes = require 'mascon.compile.lifetimes'
local rewrite = require 'mascon.compile.rewrite'
local tensor = require 'mascon.core.tensor'

local M = { name = 'fuse', doc = 'runs neighbouring elementwise ops of one shape block by block' }

local CODE, NAME = tensor.code, tensor.name
local EWISE = require('mascon.core.ffi').gen.elementwise
local REAL = { c64 = 'f32', c128 = 'f64' }
local MOST, OPERANDS, REGISTERS = 28, 60, 62 -- nodes of a group; leaves and results, and registers, of a program
local MORE = 1.05 -- times the memory of nodes by themselves from which on groups are found with care

local function eligible(n)
  if n.alone then return false end -- it stays for its error: see dce
  if n.kind == 'copy' then return true end
  return n.kind == 'op' and EWISE[n.row.family] and n.compute >= 0
end

local function whole(u) return u.value.node and graphs.whole(u) end

--- dtype in which a node's result leaves its kernel.
local function kernel_result(n)
  if n.kind == 'copy' then return n.outs[1].dtype end
  local c = NAME[n.compute]
  if n.row.result == 'bool' then return CODE.bool end
  if n.row.result == 'i64' then return CODE.i64 end
  if n.row.result == 'real' then return CODE[REAL[c] or c] end
  return n.compute
end

-- ---------------------------------------------------------------- who joins whom

local RULE = { most = MOST }

function RULE.space(n)
  if not eligible(n) then return nil, n.kind == 'op' and 'no elementwise op' or 'a write into a part of a buffer' end
  return { shape = n.outs[1].shape, epoch = n.epoch }
end

function RULE.inner(u) return graphs.whole(u) end

--- On a device: what is made of numbers alone is computed on the host, apart from what is made there.
local function beside_numbers(n)
  local space, why = RULE.space(n)
  if not space then return nil, why end
  space.numbers = #n.ins > 0 and not n.device
  for _, u in ipairs(n.ins) do space.numbers = space.numbers and u.weak == true end
  return space
end

function RULE.meet(a, b, u)
  if a.numbers ~= b.numbers then return nil, 'one of them is made of numbers alone' end
  if not graphs.whole(u) then return nil, 'it reads its operand as a view' end
  if not graphs.same(a.shape, b.shape) then
    return nil, ('its operand has another shape, [%s] and not [%s]'):format(table.concat(a.shape, ','),
      table.concat(b.shape, ','))
  end
  if a.epoch ~= b.epoch then return nil, 'a checkpoint computes one of them anew' end
  return a
end

-- ---------------------------------------------------------------- the program of a group

local function program(group, outside)
  local inside = {}
  for _, n in ipairs(group.nodes) do inside[n.outs[1]] = n end
  local leaves, want, leaf_of = {}, {}, {}
  local function leaf(u, dtype)
    local key = ('%d/%d/%s/%s/%d'):format(u.value.id, u.offset or 0, table.concat(u.shape, ','),
      table.concat(u.strides, ','), dtype)
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
      for i, u in ipairs(n.ins) do
        from[i] = source(u, n.row.family == 'where' and i == 1 and CODE.bool or n.compute)
      end
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
  return { kind = 'fused', epoch = group.nodes[1].epoch, ins = leaves, want = want, outs = outs, code = code,
    result = result, registers = next_register, members = group.nodes }
end

--- A node by itself as a group.
function M.single(n) return program({ nodes = { n } }, { [n.outs[1]] = true }) end
--- Nodes in order as a group that writes the values in `outs`.
function M.group(nodes, outs) return program({ nodes = nodes }, outs) end
M.eligible = eligible

-- ---------------------------------------------------------------- the pass

--- What stands for the nodes of a graph whose groups follow a rule, and a report.
local function grouped(graph, rule, most)
  local groups_of, _, why = groups.find(graph, rule)
  local outside = groups.outside(graph, groups_of)
  local stands, report, seen = {}, { groups = 0, nodes = 0, why = why }, {}
  --- The program of these nodes; where it is too large, of the first and of the second half, which is after the first.
  local function build(nodes)
    if #nodes == 1 then return end
    local f = program({ nodes = nodes }, outside)
    if #f.outs == 0 then -- dead code, where it is not left out
      for _, n in ipairs(nodes) do stands[n] = rewrite.NOTHING end
    elseif #f.ins + #f.outs <= most and f.registers <= REGISTERS then
      for _, n in ipairs(nodes) do stands[n] = f end
      report.groups, report.nodes = report.groups + 1, report.nodes + #nodes
    else
      local first, second, made = {}, {}, {}
      for k, n in ipairs(nodes) do
        local list = k <= #nodes / 2 and first or second
        list[#list + 1] = n
        if list == first then made[n.outs[1]] = true end
      end
      for _, n in ipairs(second) do
        for _, u in ipairs(n.ins) do if made[u.value] then outside[u.value] = true end end
      end
      build(first)
      build(second)
    end
  end
  for _, n in ipairs(graph.nodes) do
    local g = groups_of[n]
    if g and not seen[g] then
      seen[g] = true
      build(g.nodes)
    end
  end
  return stands, report
end

--- Puts groups in the place of their nodes; the bytes that the order needs at the same time.
local function put(graph, nodes, stands)
  graph.nodes = nodes
  for _, n in ipairs(nodes) do
    local f = stands[n]
    for _, v in ipairs(f and f.outs or n.outs) do v.node = f or n end
  end
  return rewrite.reorder(graph, stands)
end

--- The rule that does not hold large operands longer than the nodes by themselves do, where others run meanwhile.
local function short_lived(rule, lives)
  local function meet(a, b, u, n, group)
    if lives:costly(group, n) then return nil, 'its operands would be held while other large values are made' end
    return rule.meet(a, b, u, n)
  end
  return { most = rule.most, space = rule.space, inner = rule.inner, meet = meet }
end

--- Groups the elementwise nodes of a graph. Changes the graph; the values that groups keep to themselves vanish.
---
--- A group runs at once, so that what its first nodes read lives until its last operand is there. Where that makes a
--- graph need more memory than its nodes by themselves, groups are found again by a rule that minds it.
---@param graph table
---@param options table { device: where it runs, nil for the CPU }
---@return table report { groups, nodes: how many nodes went into groups }
function M.run(graph, options)
  local rule, most = RULE, OPERANDS
  if options.device then
    rule = { most = MOST, space = beside_numbers, inner = RULE.inner, meet = RULE.meet }
    most = require 'mascon.compile.native.device'.OPERANDS
  end
  local nodes, alone = graph.nodes, lifetimes.peak(graph, graph.nodes)
  local stands, report = grouped(graph, rule, most)
  local bytes = put(graph, nodes, stands)
  if bytes > MORE * alone then
    put(graph, nodes, {})
    local other, told = grouped(graph, short_lived(rule, lifetimes.of(graph)), most)
    if put(graph, nodes, other) < bytes then return told end
    put(graph, nodes, stands)
  end
  return report
end

return M
