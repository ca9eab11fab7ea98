-- epilogue.lua - elementwise work on a matrix product is done tile by tile, while the tile is in cache: bias,
-- activation, scale, residual.
--
-- The product is cut as it is without, so its bits stay; the group then runs over each finished tile. Where nobody else
-- reads the product it is overwritten by the result. Makes the choice of group.
local fuse = require 'mascon.compile.passes.fuse'
local graphs = require 'mascon.graph.graph'
local rewrite = require 'mascon.compile.rewrite'
local tensor = require 'mascon.core.tensor'

local M = { name = 'epilogue', doc = 'does elementwise work on the tiles of a matrix product' }

local FULL = { [tensor.code.f32] = true, [tensor.code.f64] = true } -- products that are written as they are computed
--- The operands of n other than the product are there when the product is computed.
local function ready(n, p, v, position)
  for _, u in ipairs(n.ins) do
    local q = u.value.node
    if q and u.value ~= v and position[q] > position[p] then return false end
  end
  return true
end

---@param graph table
---@return table report { groups, why: node -> first reason }
function M.run(graph)
  local position, readers, report, taken, stands = {}, {}, { groups = 0, why = {} }, {}, {}
  for k, n in ipairs(graph.nodes) do
    position[n] = k
    for _, u in ipairs(n.ins) do
      readers[u.value] = readers[u.value] or {}
      readers[u.value][n] = true
    end
  end
  local kept = {}
  for _, u in ipairs(graph.outputs) do kept[u.value] = true end
  for _, e in ipairs(graph.effects) do kept[e.value] = true end
  for _, n in ipairs(graph.nodes) do
    if n.kind == 'fused' or (n.kind == 'op' and fuse.eligible(n)) then
      for _, u in ipairs(n.ins) do
        local p = u.value.node
        if p and p.kind == 'op' and p.row.family == 'matmul' and not taken[p] then
          local v, why = u.value, nil
          local plain, read = true, kept[v] -- read: by others too
          for reader in pairs(readers[v]) do read = read or reader ~= n end
          for _, l in ipairs(n.ins) do plain = plain and (l.value ~= v or graphs.whole(l)) end
          if not FULL[v.dtype] then
            why = 'the product is no f32 or f64'
          elseif not plain then
            why = 'it reads the product as a view'
          elseif not graphs.same(v.shape, n.outs[1].shape) then
            why = 'the product has another shape'
          elseif p.epoch ~= n.epoch then
            why = 'a checkpoint computes one of them anew'
          elseif read and not ready(n, p, v, position) then
            why = 'the product is read elsewhere before its other operands are there'
          end
          if why then report.why[n] = why
          else
            local f = n.kind == 'fused' and n or fuse.single(n)
            local ins, outs = { p.ins[1], p.ins[2] }, {}
            for _, l in ipairs(f.ins) do ins[#ins + 1] = l.value ~= v and l or nil end
            for i, o in ipairs(f.outs) do outs[i] = o end
            if read then outs[#outs + 1] = v end
            local group = {
              kind = 'product', epoch = n.epoch, ins = ins, outs = outs, product = v, leaves = f.ins, results = #f.outs,
              want = f.want, code = f.code, result = f.result, members = { p, unpack(f.members) },
            }
            for _, o in ipairs(outs) do o.node = group end
            v.node = group
            taken[p], stands[p], stands[n] = true, group, group
            position[group] = read and position[p] or position[n]
            report.groups = report.groups + 1
            report.why[n] = nil
            break
          end
        end
      end
    end
  end
  if report.groups > 0 then rewrite.reorder(graph, stands) end
  return report
end

return M
