-- tiles.lua - reductions along the last axes, softmax, and the elementwise work around them run row by row in cache:
-- one read, one write.
--
-- Softmax by hand, layer and RMS norms, log-likelihoods: each step depends on its own row only (all that stands behind
-- some leading axes), so the steps can be run on a few rows at a time, one after the other, with the bits they give on
-- all rows. Nodes join when their leading axes are the same. What only they read lives in a buffer of the tile. Decides
-- the choice of groups and buffers.
local fuse = require 'mascon.compile.passes.fuse'
local graphs = require 'mascon.graph.graph'
local groups = require 'mascon.compile.groups'
local prologue = require 'mascon.compile.passes.prologue'
local rewrite = require 'mascon.compile.rewrite'

local M = { name = 'rows', doc = 'runs reductions, softmax and what is around them row by row in cache' }

M.SMALLEST = 131072     -- bytes that the nodes read and write from which on tiles pay: less lies in cache anyway
local LARGEST = 1048576 -- bytes of a row, above which it would not
-- the same where the row is some matrices: what does not fit the second-level cache still stays in the third
local MATRICES = 4194304
-- products of matrices from which on they are done one after the other: as many tiles for the workers to share
local BATCH = 16
local SLOTS = 48

-- ---------------------------------------------------------------- who joins whom

--- Leading axes of products of matrices whose sizes let some of them stay in cache.
local function batch(n)
  local shape = n.outs[1].shape
  local nd, bytes = #shape, 0
  local count = 1
  for i = 1, nd - 2 do count = count * shape[i] end
  if nd < 3 or count < BATCH then return nil, 'it is no row of products of matrices' end
  for i, v in ipairs { n.ins[1], n.ins[2], n.outs[1] } do
    if i < 3 and #v.shape < 2 then return nil, 'it multiplies a vector' end
    bytes = bytes + v.shape[#v.shape] * v.shape[#v.shape - 1] * 8
  end
  if bytes > MATRICES then return nil, 'its matrices are too large' end
  if n.kind == 'product' then
    for _, r in ipairs(n.result) do if r < #n.leaves then return nil, 'a result of the group is an operand' end end
    if n.outs[1].dtype ~= n.product.dtype then return nil, 'its product has another dtype' end
  end
  return nd - 2
end

local function is_product(n) return n.kind == 'product' or (n.kind == 'op' and n.row.family == 'matmul') end

--- The number of leading axes of a node that works along its last axes; nil when it is none.
local function leading(n)
  if is_product(n) then return batch(n) end
  if n.kind ~= 'op' or (n.row.family ~= 'reduce' and n.row.family ~= 'softmax') then return nil end
  local u, axes = n.ins[1], prologue.axes_of(n)
  local nd = #u.shape
  if #axes == 0 or #axes == nd or axes[1] ~= nd - #axes + 1 or axes[#axes] ~= nd then
    return nil, 'it does not work along the last axes'
  end
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
  if n.kind == 'fused' or (n.kind == 'op' and fuse.eligible(n)) then
    return { shape = n.outs[1].shape, epoch = n.epoch }
  end
  local k, why = leading(n)
  if not k then return nil, why end
  local shape = is_product(n) and n.outs[1].shape or n.ins[1].shape
  return { shape = shape, lead = head(shape, k), epoch = n.epoch }
end

local function rank(n)
  return n.kind == 'op' and not fuse.eligible(n) and not is_product(n) and #n.ins[1].shape or #n.outs[1].shape
end

--- The leading axes that two nodes share: all of one of them.
local function common(a, b)
  if not a or not b then return a or b end
  if #a > #b then a, b = b, a end
  return starts(b, a) and a or nil
end

function RULE.inner(u, n, space)
  if space.lead then return aligned(u, rank(n), space.lead) end
  return graphs.whole(u)
end

function RULE.meet(a, b, u, n)
  local lead = common(a.lead, b.lead)
  if a.epoch ~= b.epoch then return nil, 'a checkpoint computes one of them anew' end
  if a.lead and b.lead and not lead then return nil, 'the leading axes differ' end
  if not lead then
    if graphs.same(a.shape, b.shape) and graphs.whole(u) then return a end
    return nil, 'the shapes differ'
  end
  if not (a.lead and true or starts(a.shape, lead)) or not (b.lead and true or starts(b.shape, lead)) then
    return nil, 'the leading axes differ'
  end
  if not aligned(u, rank(n), lead) then return nil, 'it reads its operand as a view' end
  return { shape = a.shape, lead = lead, epoch = a.epoch }
end

-- ---------------------------------------------------------------- a group as a node

local function is_program(n) return n.kind == 'fused' or fuse.eligible(n) end

--- Bytes of one row of a value, or nil when it has none of its own.
local function row_bytes(v, lead)
  return starts(v.shape, lead) and graphs.bytes(v) / graphs.numel(lead) or nil
end

--- The tiles of a group; nil and the reason when they do not pay; then true when rows are too large.
local function tiles(group, outside)
  local lead, nodes = group.space.lead, {}
  if not lead then return nil, 'there is no reduction or softmax along the last axes among them' end
  if #group.nodes < 2 then return nil, 'there is nothing around it' end
  local inside, reads, products = {}, {}, false
  for i, n in ipairs(group.nodes) do
    products = products or is_product(n)
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
  if bytes > (products and MATRICES or LARGEST) then
    return nil, ('a row takes %.1f MiB'):format(bytes / 2 ^ 20), products
  end
  return { kind = 'tiles', ins = ins, outs = outs, members = nodes, lead = lead, slot_of = slot_of, row_bytes = sizes,
    extra = extra, epoch = group.space.epoch, spared = spared }
end

--- Tiles of the groups that `rule` finds, in order; nil when one of them was too large because of its matrices.
local function found(graph, rule)
  local groups_of, _, why = groups.find(graph, rule)
  local outside = groups.outside(graph, groups_of)
  local seen, list = {}, {}
  for _, n in ipairs(graph.nodes) do
    local g = groups_of[n]
    if g and not seen[g] then
      seen[g] = true
      local t, reason, large = tiles(g, outside)
      if large then return nil end
      if t then list[#list + 1] = { g, t } end
      for _, m in ipairs(t and {} or g.nodes) do why[m] = why[m] or reason end
    end
  end
  return list, why
end

local WITHOUT = { most = RULE.most, inner = RULE.inner, meet = RULE.meet }
function WITHOUT.space(n)
  if is_product(n) then return nil, 'its matrices do not fit the cache with what is around them' end
  return RULE.space(n)
end

---@param graph table
---@return table report { groups, nodes, bytes: that are not written to memory and read again, why }
function M.run(graph)
  local list, why = found(graph, RULE)
  if not list then list, why = found(graph, WITHOUT) end
  local report, stands = { groups = #list, nodes = 0, bytes = 0, why = why }, {}
  for _, pair in ipairs(list) do
    local g, t = pair[1], pair[2]
    for _, m in ipairs(g.nodes) do
      stands[m] = t
      for _, v in ipairs(m.outs) do v.node = t end
    end
    report.nodes, report.bytes = report.nodes + #g.nodes, report.bytes + t.spared
  end
  if report.groups > 0 then rewrite.reorder(graph, stands) end
  return report
end

return M
