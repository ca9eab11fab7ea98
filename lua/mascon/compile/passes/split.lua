-- split.lua - what a group makes for one reduction only is taken out of it, so that the reduction can make it as it
-- reads.
--
-- `h` and `sum(h * h)`: the group that makes h would write h * h as well, to be read once. Taken out, it is made from h
-- piece by piece and never written (prologue.lua). Only where what it needs of the group is written anyway, and where
-- that is less to read than what is spared.
local fuse = require 'mascon.compile.passes.fuse'
local graphs = require 'mascon.graph.graph'
local prologue = require 'mascon.compile.passes.prologue'
local rewrite = require 'mascon.compile.rewrite'

local M = { name = 'split', doc = 'takes what one reduction reads out of the group that makes more' }

--- Nodes of a group that serve the value v alone, in order, and the others; nil when they need what the group keeps to
--- itself.
local function cone(p, v)
  local written, reader, inside, mine, rest = {}, {}, {}, {}, {}
  for _, o in ipairs(p.outs) do written[o] = true end
  for _, m in ipairs(p.members) do
    reader[m.outs[1]] = {}
    for _, u in ipairs(m.ins) do if reader[u.value] then table.insert(reader[u.value], m) end end
  end
  for k = #p.members, 1, -1 do
    local m = p.members[k]
    local o = m.outs[1]
    local only = o == v or not written[o]
    for _, r in ipairs(reader[o]) do only = only and inside[r] end
    inside[m] = only and (o == v or #reader[o] > 0) or nil
  end
  local read, seen, own = 0, {}, {}
  for _, m in ipairs(p.members) do
    if inside[m] then
      mine[#mine + 1], own[m.outs[1]] = m, true
      for _, u in ipairs(m.ins) do
        local from = u.value
        if reader[from] and not own[from] and not written[from] then return nil end
        if not seen[from] and not own[from] then
          seen[from] = true
          read = read + graphs.bytes(from)
        end
      end
    else
      rest[#rest + 1] = m
    end
  end
  if #mine == 0 or #rest == 0 or read > 2 * graphs.bytes(v) then return nil end
  return mine, rest
end

--- These nodes as one: themselves when there is but one.
local function unit(nodes, outs)
  local n = nodes[1]
  if #nodes > 1 then n = fuse.group(nodes, outs) end
  for _, v in ipairs(n.outs) do v.node = n end
  return n
end

---@param graph table
---@param options table { on }
---@return table report { groups }
function M.run(graph, options)
  local report, count, stands = { groups = 0 }, {}, {}
  if not options.on.prologue then return report end
  for _, n in ipairs(graph.nodes) do for _, u in ipairs(n.ins) do count[u.value] = (count[u.value] or 0) + 1 end end
  for _, u in ipairs(graph.outputs) do count[u.value] = 2 end
  for _, e in ipairs(graph.effects) do count[e.value] = 2 end
  for _, n in ipairs(graph.nodes) do
    local u = n.ins[1]
    local p = n.kind == 'op' and n.row.family == 'reduce' and u.value.node
    if p and p.kind == 'fused' and #p.outs > 1 and count[u.value] == 1 and graphs.whole(u) and p.epoch == n.epoch
      and prologue.suits(n) and not prologue.by_rows(n) then
      local mine, rest = cone(p, u.value)
      if mine then
        local others = {}
        for _, o in ipairs(p.outs) do others[o] = o ~= u.value or nil end
        local left = unit(rest, others)
        for q, s in pairs(stands) do if s == p then stands[q] = left end end
        stands[p] = left
        unit(mine, { [u.value] = true })
        report.groups = report.groups + 1
      end
    end
  end
  if report.groups > 0 then
    rewrite.reorder(graph, stands)
  end
  return report
end

return M
