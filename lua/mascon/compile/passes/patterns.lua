-- patterns.lua - rows of ops that a user registered are done by the user's function.
--
-- A row is a chain: each op makes an operand of the next, and nobody else reads it. Matches are looked for from the end
-- of the graph, the longest pattern first, and do not overlap. The function is written down on tensors of the operands'
-- dtypes and shapes, and its nodes take the place of the chain; before that both are computed on random numbers.
local check = require 'mascon.core.check'
local graphs = require 'mascon.graph.graph'
local mc = require 'mascon.array'
local patterns = require 'mascon.compile.patterns'
local plans = require 'mascon.compile.plan'
local recording = require 'mascon.graph.recording'
local rewrite = require 'mascon.compile.rewrite'
local tensor = require 'mascon.core.tensor'
local F = require('mascon.core.op').functions
local error = check.error

local M = { name = 'patterns', doc = 'does rows of ops by functions that users registered for them' }

-- how far results may be apart, in units of the largest of them
local APART = { f64 = 1e-10, f32 = 1e-4, f16 = 0.02, bf16 = 0.1, c128 = 1e-10, c64 = 1e-4 }

--- How often each value is read by nodes, outputs and arguments.
local function readers(graph)
  local count = {}
  local function read(v) count[v] = (count[v] or 0) + 1 end
  for _, n in ipairs(graph.nodes) do for _, u in ipairs(n.ins) do read(u.value) end end
  for _, u in ipairs(graph.outputs) do read(u.value) end
  for _, e in ipairs(graph.effects) do read(e.value) end
  return count
end

--- The chain that ends with node n, first op first, { node, place of the chained operand }; nil when there is none.
local function chain(p, n, count, taken)
  local function back(k, m)
    if taken[m] or m.alone or m.kind ~= 'op' or m.row[1] ~= p.ops[k][1] or #m.outs ~= 1 then return nil end
    if k == 1 then return { { m } } end
    for at, u in ipairs(m.ins) do
      local before = u.value.node
      if (p.ops[k].at or at) == at and before and count[u.value] == 1 and graphs.whole(u)
        and before.epoch == m.epoch then
        local list = back(k - 1, before)
        if list then
          list[k] = { m, at }
          return list
        end
      end
    end
  end
  return back(#p.ops, n)
end

--- Operands of a chain from outside it, in order.
local function operands(list)
  local out = {}
  for _, c in ipairs(list) do
    for at, u in ipairs(c[1].ins) do if at ~= c[2] then out[#out + 1] = u end end
  end
  return out
end

--- A tensor in the form of an operand: a constant as it is, else random numbers, positive so that logarithms and roots
--- have values too.
local function drawn(u, k)
  local v, t = u.value
  if v.fixed and v.const then t = recording.strided(v.const, u.shape, u.strides, u.offset or 0):copy()
  else
    t = mc.rand(#u.shape > 0 and u.shape or { 1 }, { seed = 40 + k }) + 0.25
    t = mc.reshape(t, u.shape):to(tensor.name[u.dtype or v.dtype])
  end
  t = recording.own(t)
  return u.weak and recording.weaken(t) or t
end

--- The result of the chain on other operands.
local function computed(list, given)
  local own = { inputs = {}, nodes = {}, outputs = {}, effects = {}, values = 0, consts = {} }
  local k, made = 0, nil
  for i, c in ipairs(list) do
    local n, ins = c[1], {}
    for at, u in ipairs(n.ins) do
      if at == c[2] then ins[at] = graphs.use_of(made)
      else
        k = k + 1
        local v = graphs.value(own, u.dtype or u.value.dtype, u.shape, nil, { input = k, weak = u.weak })
        own.inputs[k], ins[at] = v, graphs.use_of(v, u.weak)
      end
    end
    made = graphs.value(own, n.outs[1].dtype, n.outs[1].shape)
    own.nodes[i] = { kind = 'op', row = n.row, compute = n.compute, params = n.params, ins = ins, outs = { made } }
    made.node = own.nodes[i]
  end
  own.outputs[1] = graphs.use_of(made)
  local out = tensor.promote(tensor.empty('compile', made.shape, tensor.name[made.dtype], 2), 2)
  plans.make(own, {}).run(given, { out })
  return out
end

local function agree(a, b)
  if not APART[a.dtype] then return F.all(F.eq(a, b)) end
  local finite = F.isfinite(a)
  if not F.all(F.eq(finite, F.isfinite(b))) then return false end
  a, b = F.where(finite, a, 0), F.where(finite, b, 0)
  return F.max(F.abs(F.subtract(a, b))):item() <= APART[a.dtype] * math.max(1, F.max(F.abs(a)):item())
end

--- What the function does with such operands, as a graph; nil when it is not wanted here.
local function written(p, list, outer)
  local last = list[#list][1].outs[1]
  if p.when then
    local seen = {}
    for i, u in ipairs(outer) do
      seen[i] = { dtype = tensor.name[u.dtype or u.value.dtype], shape = { unpack(u.shape) } }
    end
    if not p.when(unpack(seen)) then return nil, 'its condition says no' end
  end
  local given = {}
  for k, u in ipairs(outer) do given[k] = drawn(u, k) end
  local log, results, writes = recording.record(given, { strict = true, inline = true }, function()
    return p.replace(unpack(given))
  end)
  local y = results[1]
  local form = ('%s[%s]'):format(tensor.name[last.dtype], table.concat(last.shape, ','))
  if results.n ~= 1 or not tensor.is(y) or y._dtype ~= last.dtype
    or not graphs.same(recording.layout(y).shape, last.shape) then
    error(('compile: the function of pattern %s gives %s, where the ops give %s'):format(p.name,
      tensor.is(y) and tensor.describe(y) or check.show(y), form), 0)
  end
  if writes then
    error(('compile: the function of pattern %s writes to its operands; it may only compute'):format(p.name), 0)
  end
  local own = graphs.build(given, log, { y })
  if p.check and graphs.numel(last.shape) > 0 and not agree(computed(list, given), y) then
    error(('compile: the function of pattern %s gives other numbers than the ops for operands as %s; parameters of ops '
      .. '(axes) are not part of a pattern: cure it, or narrow it by when'):format(p.name,
      tensor.describe(given[1])), 0)
  end
  -- operands that are views have to be seen through the layouts that the function wants
  local place = {}
  for k, v in ipairs(own.inputs) do place[v] = outer[k] end
  local function sees(u) return not place[u.value] or rewrite.compose(u, u.value.shape, place[u.value]) ~= nil end
  for _, n in ipairs(own.nodes) do
    for _, u in ipairs(n.ins) do if not sees(u) then return nil, 'an operand is a view that it cannot read' end end
  end
  if not sees(own.outputs[1]) then return nil, 'an operand is a view that it cannot read' end
  own.place = place
  return own
end

---@param graph table
---@return table report { found = names of patterns, in order, why = node -> reason }
function M.run(graph)
  local report, list = { found = {}, why = {} }, patterns.list
  if #list == 0 then return report end
  local count, taken, stands, map = readers(graph), {}, {}, {}
  for i = #graph.nodes, 1, -1 do
    local n = graph.nodes[i]
    for _, p in ipairs(list) do
      local found = not taken[n] and chain(p, n, count, taken)
      local own, why
      if found then own, why = written(p, found, operands(found)) end
      if own then
        for _, c in ipairs(found) do taken[c[1]] = true end
        for _, v in ipairs(own.consts) do graph.consts[#graph.consts + 1] = v end
        for v, u in pairs(own.place) do map[v] = u end
        for _, m in ipairs(own.nodes) do
          m.epoch, m.remat, m.line = n.epoch, n.remat, n.line
          for _, v in ipairs(m.outs) do
            graph.values = graph.values + 1
            v.id = graph.values
          end
        end
        for _, v in ipairs(own.consts) do
          graph.values = graph.values + 1
          v.id = graph.values
        end
        map[n.outs[1]], stands[n] = own.outputs[1], own.nodes
        table.insert(report.found, 1, p.name)
        break
      elseif why then report.why[n] = why end
    end
  end
  if #report.found == 0 then return report end
  local nodes = {}
  for _, n in ipairs(graph.nodes) do
    for _, m in ipairs(stands[n] or not taken[n] and { n } or {}) do
      rewrite.operands(m, map)
      nodes[#nodes + 1] = m
    end
  end
  graph.nodes = nodes
  rewrite.finish(graph, map)
  return report
end

return M
