-- prologue.lua - a reduction reads what an elementwise group makes piece by piece, so that its operand is never
-- written.
--
-- The reduction asks for the pieces it would cut its operand into anyway and joins them in the same order: the same
-- bits. Only where nobody else reads the operand, and along axes the reduction walks in such pieces: the last ones, or
-- neighbours with at least four elements behind them.
local fuse = require 'mascon.compile.passes.fuse'
local graphs = require 'mascon.graph.graph'
local rewrite = require 'mascon.compile.rewrite'
local tensor = require 'mascon.core.tensor'

local M = { name = 'prologue', doc = 'lets reductions read what groups make without writing it' }

local FULL = { [tensor.code.f32] = true, [tensor.code.f64] = true }
local COLUMNS = 4 -- elements behind the reduced axes from which on columns are walked

--- The reduced axes (1-based, ascending) of a node.
local function axes_of(n)
  local nd, p = #n.ins[1].shape, n.params
  local marked, list = {}, {}
  if p.naxes < 0 then for i = 1, nd do marked[i] = true end end
  for k = 0, p.naxes - 1 do
    local a = tonumber(p.axes[k])
    marked[a < 0 and a + nd + 1 or a + 1] = true
  end
  for i = 1, nd do if marked[i] then list[#list + 1] = i end end
  return list
end
M.axes_of = axes_of

--- Axes and dtype are such that the reduction can read pieces; else why not.
local function suits(n)
  local v, row = n.ins[1].value, n.row
  if row.compute == 'bool' then
    if v.dtype ~= tensor.code.bool then return false, 'its operand is converted first' end
  elseif not FULL[v.dtype] then return false, 'its operand is converted first' end
  if n.params.dtype >= 0 then return false, 'it reduces in another dtype' end
  if graphs.numel(v.shape) == 0 then return false, 'there is nothing to reduce' end
  local axes, nd = axes_of(n), #v.shape
  if #axes == 0 then return false, 'it reduces no axis' end
  if axes[#axes] - axes[1] ~= #axes - 1 then return false, 'it reduces axes that are not neighbours' end
  if axes[#axes] == nd then return true end
  local behind = 1
  for i = axes[#axes] + 1, nd do behind = behind * v.shape[i] end
  if row.columns == false or behind < COLUMNS then return false, 'it walks its operand in strides' end
  return true
end

M.suits = suits

--- The reduction works along some of the last axes: rows, which other passes keep in cache.
function M.by_rows(n)
  local axes, nd = axes_of(n), #n.ins[1].shape
  return #axes < nd and axes[#axes] == nd
end

---@param graph table
---@return table report { groups, bytes: of operands never written, why }
function M.run(graph)
  local count, report, stands = {}, { groups = 0, bytes = 0, why = {} }, {}
  for _, n in ipairs(graph.nodes) do for _, u in ipairs(n.ins) do count[u.value] = (count[u.value] or 0) + 1 end end
  for _, u in ipairs(graph.outputs) do count[u.value] = 2 end
  for _, e in ipairs(graph.effects) do count[e.value] = 2 end
  for _, n in ipairs(graph.nodes) do
    local u = n.ins[1]
    local p = n.kind == 'op' and n.row.family == 'reduce' and u.value.node
    if p and not stands[p] and (p.kind == 'fused' or fuse.eligible(p)) then
      local ok, why = suits(n)
      if not ok then
        report.why[n] = why
      elseif not graphs.whole(u) then
        report.why[n] = 'it reads its operand as a view'
      elseif count[u.value] > 1 or #p.outs > 1 then
        report.why[n] = 'its operand, or another result of the group, is read elsewhere'
      elseif p.epoch ~= n.epoch then
        report.why[n] = 'a checkpoint computes one of them anew'
      else
        local f = p.kind == 'fused' and p or fuse.single(p)
        local group = { kind = 'reduced', row = n.row, params = n.params, ins = f.ins, want = f.want, code = f.code,
          result = f.result, outs = n.outs, like = u.value, epoch = n.epoch,
          members = { unpack(f.members) } }
        group.members[#group.members + 1] = n
        for _, o in ipairs(group.outs) do o.node = group end
        stands[p], stands[n] = rewrite.NOTHING, group
        report.groups, report.bytes = report.groups + 1, report.bytes + graphs.bytes(u.value)
      end
    end
  end
  if report.groups > 0 then rewrite.reorder(graph, stands) end
  return report
end

return M
