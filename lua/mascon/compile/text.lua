-- text.lua - a graph as text, one value per line: `%5: f32[8,16] <- multiply(%1, 0.5)`.
--
-- Holds the names of values and nodes as people read them.
local graphs = require 'mascon.graph.graph'
local op = require 'mascon.core.op'
local tensor = require 'mascon.core.tensor'

local M = {}

--- dtype[shape] of a value.
function M.form(v) return ('%s[%s]'):format(tensor.name[v.dtype], table.concat(v.shape, ',')) end

local function number(v)
  local x = v.const:item()
  if type(x) == 'number' then return ('%.9g'):format(x) end
  return tostring(x)
end

--- A value by its name; numbers as themselves.
function M.name(v)
  if v.const and v.literal and graphs.numel(v.shape) == 1 and v.weak then return number(v) end
  return '%' .. v.id
end

--- A use: the value, and the layout it is seen through unless that is all of it.
function M.use(u)
  local v = u.value
  if graphs.same(u.shape, v.shape) and graphs.same(u.strides, v.strides) and (u.offset or 0) == 0 then
    return M.name(v)
  end
  return ('%s as [%s] by [%s]%s'):format(M.name(v), table.concat(u.shape, ','), table.concat(u.strides, ','),
    (u.offset or 0) ~= 0 and ' from ' .. u.offset or '')
end

local function uses(list, first)
  local out = {}
  for i = first or 1, #list do out[#out + 1] = M.use(list[i]) end
  return table.concat(out, ', ')
end

local function at(layout)
  return ('[%s] by [%s] from %d'):format(table.concat(layout.shape, ','), table.concat(layout.strides, ','),
    layout.offset or 0)
end

--- What a node does, without its operands.
function M.verb(n)
  if n.kind == 'op' then return n.row[1] end
  if n.kind == 'call' then return n.prim.title or 'call' end
  if n.kind == 'copy' and n.ins[1].value.dtype ~= n.outs[1].dtype then return 'to_' .. tensor.name[n.outs[1].dtype] end
  return n.kind
end

--- What a node does, with its operands.
function M.call(n)
  if n.kind == 'update' then return ('%s with %s = %s'):format(M.use(n.ins[1]), at(n.at), M.use(n.ins[2])) end
  if n.kind == 'put' then
    return ('%s with %s at positions %s of axis %d %s %s'):format(M.use(n.ins[1]), at(n.at), M.use(n.ins[2]),
      n.axis + 1, n.accumulate and '+=' or '=', M.use(n.ins[3]))
  end
  local more = n.kind == 'op' and op.parameters(n.row, n.params) or ''
  local operands = uses(n.ins)
  return ('%s(%s%s%s)'):format(M.verb(n), operands, more ~= '' and operands ~= '' and '; ' or '', more)
end

--- Names of the ops a node is made of.
function M.members(n)
  local out = {}
  for _, m in ipairs(n.members or { n }) do
    if m.members and m ~= n then
      for _, name in ipairs(M.members(m)) do out[#out + 1] = name end
    else
      out[#out + 1] = M.verb(m)
    end
  end
  return out
end

local function line(n, indent, out)
  local names = {}
  for i, v in ipairs(n.outs) do names[i] = ('%s: %s'):format(M.name(v), M.form(v)) end
  out[#out + 1] =
    ('%s%s <- %s%s'):format(indent, table.concat(names, ', '), M.call(n), n.remat and '  -- computed anew' or '')
  for _, m in ipairs(n.members or {}) do line(m, indent .. '  ', out) end
end

--- The whole graph.
---@param graph table
---@return string
function M.graph(graph)
  local out = {}
  local function say(label, list)
    if list[1] then out[#out + 1] = ('%-10s%s'):format(label, table.concat(list, '  ')) end
  end
  local ins, consts, used = {}, {}, {}
  for _, n in ipairs(graph.nodes) do for _, u in ipairs(n.ins) do used[u.value] = true end end
  for _, u in ipairs(graph.outputs) do used[u.value] = true end
  for i, v in ipairs(graph.inputs) do ins[i] = ('%s: %s'):format(M.name(v), M.form(v)) end
  for _, v in ipairs(graph.consts) do
    if used[v] and M.name(v):find '^%%' then consts[#consts + 1] = ('%s: %s'):format(M.name(v), M.form(v)) end
  end
  say('inputs', ins)
  say('constants', consts)
  for _, n in ipairs(graph.nodes) do line(n, '', out) end
  local outs, effects = {}, {}
  for i, u in ipairs(graph.outputs) do outs[i] = M.use(u) end
  for i, e in ipairs(graph.effects) do
    effects[i] = ('%s = %s'):format(M.name(graph.inputs[e.input]), M.name(e.value))
  end
  say('outputs', outs)
  say('becomes', effects)
  return table.concat(out, '\n')
end

return M
