-- rows.lua - reductions along the last axes, softmax, and the elementwise work around them run row by row in cache: one read, one write.
--
-- Softmax by hand, layer and RMS norms, log-likelihoods: each step depends on its own row only (all that stands behind some leading axes), so
-- the steps can be run on a few rows at a time, one after the other, with the bits they give on all rows. Nodes join when their leading axes
-- are the same. What only they read lives in a buffer of the tile. Owns the choice of groups and buffers. May not know how tiles are cut.
local fuse = require 'mascon.compile.passes.fuse'
local graphs = require 'mascon.compile.graph'
local groups = require 'mascon.compile.groups'
local prologue = require 'mascon.compile.passes.prologue'
local rewrite = require 'mascon.compile.rewrite'

local M = { name = 'rows', doc = 'runs reductions, softmax and what is around them row by row in cache' }

M.SMALLEST = 131072     -- bytes that the nodes read and write from which on tiles pay: less lies in cache anyway
local LARGEST = 1048576 -- bytes of a row, above which it would not
local SLOTS = 48

-- ---------------------------------------------------------------- who joins whom

--- The number of leading axes of a node that works along its last axes; nil when it is none.
local function leading(n)
  if n.kind ~= 'op' or (n.row.family ~= 'reduce' and n.row.family ~= 'softmax') then return nil end
  local u, axes = n.ins[1], prologue.axes_of(n)
  local nd = #u.shape
  if #axes == 0 or #axes == nd or axes[1] ~= nd - #axes + 1 or axes[#axes] ~= nd then return nil, 'it does not work along the last axes' end
  if not graphs.is_dense(u) then return nil, 'its operand is no contiguous tensor' end
  return nd - #axes
end

local function head(shape, k)
  local out = {}
  for i = 1, k do out[i] = shape[i] end
  return out
end

local function starts(shape, lead)
  for i = 1, #lead do if shape[i] ~= lead[i] then return false end end
  return true
end

--- An operand inside a tile must have the leading axes in the same places as the node (rank nd) that reads it.
local function aligned(u, nd, lead)
  local shift = #u.shape - nd
  for i = 1, #lead do if u.shape[i + shift] ~= lead[i] then return false end end
  return graphs.is_dense(u) and graphs.numel(u.shape) == graphs.numel(u.value.shape) and starts(u.value.shape, lead)
end

local RULE = { most = 40 }

function RULE.space(n)
  if graphs.numel(n.outs[1].shape) == 0 then return nil, 'it is empty' end
  if n.kind == 'fused' or (n.kind == 'op' and fuse.eligible(n)) then return { shape = n.outs[1].shape, epoch = n.epoch } end
  local k, why = leading(n)
  if not k then return nil, why end
  return { shape = n.ins[1].shape, lead = head(n.ins[1].shape, k), epoch = n.epoch }
end

local function rank(n) return n.kind == 'op' and not fuse.eligible(n) and #n.ins[1].shape or #n.outs[1].shape end

function RULE.inner(u, n, space)
  if space.lead then return aligned(u, rank(n), space.lead) end
  return graphs.whole(u)
end

function RULE.meet(a, b, u, n)
  local lead = a.lead or b.lead
  if a.epoch ~= b.epoch then return nil, 'a checkpoint computes one of them anew' end
  if a.lead and b.lead and not graphs.same(a.lead, b.lead) then return nil, 'the leading axes differ' end
  if not lead then
    if graphs.same(a.shape, b.shape) and graphs.whole(u) then return a end
    return nil, 'the shapes differ'
  end
  if not (a.lead and true or starts(a.shape, lead)) or not (b.lead and true or starts(b.shape, lead)) then return nil, 'the leading axes differ' end
  if not aligned(u, rank(n), lead) then return nil, 'it reads its operand as a view' end
  return { shape = a.shape, lead = lead, epoch = a.epoch }
end

-- ---------------------------------------------------------------- a group as a node

local function is_program(n) return n.kind == 'fused' or fuse.eligible(n) end

--- Bytes of one row of a value, or nil when it has none of its own.
local function row_bytes(v, lead)
  return starts(v.shape, lead) and graphs.bytes(v) / graphs.numel(lead) or nil
end

--- The tiles of a group; nil and the reason when they do not pay.
local function tiles(group, outside)
  local lead, nodes = group.space.lead, {}
  if not lead then return nil, 'there is no reduction or softmax along the last axes among them' end
  if #group.nodes < 2 then return nil, 'there is nothing around it' end
  local inside, reads = {}, {}
  for i, n in ipairs(group.nodes) do
    nodes[i] = is_program(n) and n.kind ~= 'fused' and fuse.single(n) or n
    for _, v in ipairs(n.outs) do inside[v] = true end
  end
  local ins, outs, extra, spared, total = {}, {}, 0, 0, 0
  for _, n in ipairs(nodes) do
    for _, u in ipairs(n.ins) do
      local bytes = graphs.bytes(u.value)
      total = total + bytes
      if inside[u.value] then
        if not outside[u.value] then spared = spared + bytes end
      else
        ins[#ins + 1] = u
        if reads[u.value] then spared = spared + bytes else extra = extra + (row_bytes(u.value, lead) or 0) end
        reads[u.value] = true
      end
    end
    for _, v in ipairs(n.outs) do
      total = total + graphs.bytes(v)
      if outside[v] then outs[#outs + 1], extra = v, extra + (row_bytes(v, lead) or 0) end
    end
  end
  if total < M.SMALLEST then return nil, 'all of it lies in cache' end
  if spared < total / 8 then return nil, 'little would stay in cache' end
  -- buffers: one is free again after the last reader of its value
  local last, slot_of, sizes, free, bytes = {}, {}, {}, {}, extra
  for k, n in ipairs(nodes) do for _, u in ipairs(n.ins) do last[u.value] = k end end
  for k, n in ipairs(nodes) do
    for _, v in ipairs(n.outs) do
      if not outside[v] then
        local size, at = row_bytes(v, lead), nil
        for i, s in ipairs(free) do if sizes[s] == size then at = i end end
        if at then slot_of[v] = table.remove(free, at)
        else
          sizes[#sizes + 1] = size
          slot_of[v], bytes = #sizes, bytes + size
        end
        if not last[v] then free[#free + 1] = slot_of[v] end
      end
    end
    local done = {}
    for _, u in ipairs(n.ins) do
      local s = slot_of[u.value]
      if s and last[u.value] == k and not done[s] then
        done[s] = true
        free[#free + 1] = s
      end
    end
  end
  if #sizes > SLOTS then return nil, 'it has too many results inside' end
  if bytes > LARGEST then return nil, ('a row takes %.1f MiB'):format(bytes / 2 ^ 20) end
  return { kind = 'tiles', ins = ins, outs = outs, members = nodes, lead = lead, slot_of = slot_of, row_bytes = sizes, extra = extra, epoch = group.space.epoch, spared = spared }
end

---@param graph table
---@return table report { groups, nodes, bytes: that are not written to memory and read again, why }
function M.run(graph)
  local groups_of, _, why = groups.find(graph, RULE)
  local outside = groups.outside(graph, groups_of)
  local report, stands = { groups = 0, nodes = 0, bytes = 0, why = why }, {}
  local seen = {}
  for _, n in ipairs(graph.nodes) do
    local g = groups_of[n]
    if g and not seen[g] then
      seen[g] = true
      local t, reason = tiles(g, outside)
      if t then
        for _, m in ipairs(g.nodes) do
          stands[m] = t
          for _, v in ipairs(m.outs) do v.node = t end
        end
        report.groups, report.nodes, report.bytes = report.groups + 1, report.nodes + #g.nodes, report.bytes + t.spared
      else
        for _, m in ipairs(g.nodes) do why[m] = why[m] or reason end
      end
    end
  end
  if report.groups > 0 then graph.nodes = rewrite.order(graph.nodes, function(n) return stands[n] or n end) end
  return report
end

return M
