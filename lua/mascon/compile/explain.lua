-- explain.lua - what a compiled function does, in words and numbers.
--
-- Holds the report: passes with time and effect, what was put together and what was not and why, frozen constants,
-- planned memory, cost. A graph is built anew from the log when somebody asks, so that compiled functions carry none.
local check = require 'mascon.core.check'
local convolution = require 'mascon.array.convolution'
local create = require 'mascon.array.create'
local dot = require 'mascon.compile.dot'
local file = require 'mascon.base.file'
local graphs = require 'mascon.graph.graph'
local lib = require 'mascon.core.ffi'
local recording = require 'mascon.graph.recording'
local packed = require 'mascon.compile.packed'
local pipeline = require 'mascon.compile.pipeline'
local plans = require 'mascon.compile.plan'
local tensor = require 'mascon.core.tensor'
local text = require 'mascon.compile.text'
local size = require 'mascon.base.text'.bytes
local error = check.error

local M = {}

--- The form asked for: the last one traced without a number.
local function form_of(compiled, k, fname, level)
  local n = #compiled.forms
  if n == 0 then error(('%s: nothing is compiled yet; call the function once'):format(fname), level + 1) end
  if k == nil then return compiled.forms[n], n end
  if k < 1 or k > n then error(('%s: form is %d and there are %d; count from 1'):format(fname, k, n), level + 1) end
  return compiled.forms[k], k
end

-- ---------------------------------------------------------------- graphs

--- Refuses a form that has no graph.
local function traced(plan, fname, level)
  if plan.plain then
    error(('%s: calls of this form run the function itself: %s; pass copies to compile it'):format(fname, plan.plain),
      level + 1)
  end
end

--- The graph of a plan as it was recorded.
local function recorded(plan)
  local source = {}
  for k, v in pairs(plan.source) do source[k] = v end
  source.log = packed.unpack(source.log)
  return graphs.from(source)
end

local Graph = {}
Graph.__index = Graph
function Graph:__tostring() return text.graph(self.graph) end
--- Writes the graph as DOT, or as SVG for a name that ends in .svg (needs graphviz). true, or nil and a message.
function Graph:dot(path) return dot.write(self.graph, check.arg('graph', 'path', path, 'string', 3)) end

local GRAPH = { form = { nil, 'integer' }, pass = { nil, 'string' }, when = { 'after', { 'before', 'after' } } }

--- The graph of a compiled function as it is run, or before or after a pass; printed by tostring.
function M.graph(compiled, opts)
  local o = check.opts('graph', opts, GRAPH, 4)
  local plan = form_of(compiled, o.form, 'graph', 3)
  traced(plan, 'graph', 3)
  local found
  if o.pass then
    local all = {}
    for _, name in ipairs(pipeline.ORDER) do all[name] = true end
    if not all[o.pass] then
      local near = check.nearest(o.pass, all)
      error(('graph: pass %q is unknown%s; f:explain() lists them'):format(o.pass,
        near and ('; did you mean %q?'):format(near) or ''), 3)
    end
  end
  local graph = recorded(plan)
  pipeline.run(graph, plan.options, o.pass and function(name, when, g)
    if name == o.pass and when == o.when then -- of a pass that runs twice, the last time counts
      found = { graph = { inputs = g.inputs, nodes = {}, outputs = {}, effects = {}, consts = g.consts },
        text = text.graph(g), dot = dot.of(g) }
    end
  end)
  if not o.pass then return setmetatable({ graph = graph }, Graph) end
  if not found then error(('graph: pass %q is switched off here'):format(o.pass), 3) end
  -- later passes change nodes: what was seen is kept as text
  return setmetatable({ text = found.text, source = found.dot }, { __index = { dot = function(self, path)
    if path:find '%.svg$' then
      error('graph: SVG is drawn of the graph as it is run; write DOT and call graphviz', 2)
    end
    return file.write(path, self.source)
  end }, __tostring = function(self) return self.text end })
end

-- ---------------------------------------------------------------- constants

--- Lines of the function's text, by number.
local function lines_of(f)
  local info, out = debug.getinfo(f, 'S'), {}
  local source = info.source
  local body = source:sub(1, 1) == '@' and file.read(source:sub(2)) or source
  if not body or info.linedefined < 1 then return out, info end
  local at = 0
  for l in (body .. '\n'):gmatch '(.-)\n' do
    at = at + 1
    if at >= info.linedefined and at <= info.lastlinedefined then out[at] = l end
  end
  return out, info
end

--- The line of f where a number stands, when one line alone has it.
local function line_of(lines, x)
  local found
  for at, l in pairs(lines) do
    for token in l:gmatch '[%d%.]+[eE]?[+-]?%d*' do
      if tonumber(token) == math.abs(x) or tonumber(token:match '^[%d%.]+') == math.abs(x) then
        if found and found ~= at then return nil end
        found = at
      end
    end
  end
  return found
end

local UPVALUES = 60 -- of a Lua function at most
local VALUE = { number = true, string = true, boolean = true }

--- The tensors that the function holds from outside: serial -> name.
local function upvalues(f)
  local tensors = {}
  for i = 1, UPVALUES do
    local name, v = debug.getupvalue(f, i)
    if not name then break end
    if tensor.is(v) and recording.serial(v) ~= 0 then tensors[recording.serial(v)] = name end
  end
  return tensors
end


--- Numbers, strings and booleans that the function found outside itself when it was traced, and the variables that are
--- read at each call.
local function outside(plan)
  local out = {}
  for _, u in ipairs(plan.outside) do
    if u.given then out[#out + 1] = { name = u.name, given = true }
    elseif VALUE[type(u.value)] then out[#out + 1] = { name = u.name, value = u.value } end
  end
  return out
end

local function constants(compiled, graph, numbers)
  local lines, info = lines_of(compiled.f)
  local tensors = upvalues(compiled.f)
  local used, out = {}, {}
  local function read(n)
    for _, u in ipairs(n.ins) do used[u.value] = true end
    for _, m in ipairs(n.members or {}) do read(m) end
  end
  for _, n in ipairs(graph.nodes) do read(n) end
  for _, u in ipairs(graph.outputs) do used[u.value] = true end
  for _, v in ipairs(graph.consts) do
    if used[v] then
      local c = { form = text.form(v) }
      if graphs.numel(v.shape) == 1 and v.fixed then
        local x = v.const:reshape(-1)[1]:item()
        c.value, c.frozen = x, true
        if type(x) == 'number' then
          local line = line_of(lines, x)
          if numbers[x] then c.from = ('the number %s outside the function'):format(numbers[x])
          elseif line then c.from = ('%s:%d'):format(info.short_src, line) end
        end
      elseif v.fixed then c.frozen, c.from = true, 'made inside the function'
      else
        local name = tensors[recording.serial(v.const)]
        c.frozen, c.from = false, name and ('the tensor %s outside the function, read at each call'):format(name)
          or 'a tensor from outside, read at each call'
      end
      out[#out + 1] = c
    end
  end
  return out
end

-- ---------------------------------------------------------------- cost

--- Bytes a node reads and writes in memory.
local function traffic(n)
  local bytes, seen = 0, {}
  for _, u in ipairs(n.ins) do
    local b =
      math.min(graphs.numel(u.shape) * tensor.size[tensor.name[u.dtype or u.value.dtype]], graphs.bytes(u.value))
    if not seen[u.value] then bytes = bytes + b end
    seen[u.value] = true
  end
  for _, v in ipairs(n.outs) do bytes = bytes + graphs.bytes(v) end
  return bytes
end

-- ---------------------------------------------------------------- the report

local FUSED = {
  fused = 'one pass over blocks', there = 'one launch', product = 'a product whose tiles are worked on in cache',
  reduced = 'a reduction of what is made as it is read', tiles = 'rows in cache',
}

--- Why nodes stand alone: what the first pass that looked at them said, by op.
local function reasons(reports, graph)
  local alone, out = {}, {}
  for _, n in ipairs(graph.nodes) do if n.kind == 'op' or n.kind == 'copy' then alone[n] = true end end
  for _, n in ipairs(graph.nodes) do
    if alone[n] then
      local why
      for _, r in ipairs(reports) do why = why or (r.did and r.did.why and r.did.why[n]) end
      out[#out + 1] = { name = text.name(n.outs[1]), op = text.verb(n), form = text.form(n.outs[1]),
        why = why or 'nothing elementwise makes its operands' }
    end
  end
  return out
end

--- How the processor computes the convolutions of a graph: { name, form, way, bytes } in the order of evaluation.
local function convolutions(graph)
  local out = {}
  local function header(u)
    local zero = create.zeros({ 1 }, { dtype = tensor.name[u.dtype or u.value.dtype] })
    return tensor.methods.broadcast_to(zero, u.shape)
  end
  local function look(n)
    for _, m in ipairs(n.members or {}) do look(m) end
    if n.kind ~= 'op' or n.members or n.row.family ~= 'conv' then return end
    local way, bytes = convolution.way(n.row[1], header(n.ins[1]), header(n.ins[2]), n.params)
    out[#out + 1] = { name = text.name(n.outs[1]), form = text.form(n.outs[1]), way = way, bytes = bytes }
  end
  for _, n in ipairs(graph.nodes) do look(n) end
  return out
end

local PRODUCTS = { [0] = 'plain sums', [2] = 'few rows, the second matrix read in place' }

--- How the processor computes the products of matrices of a graph: { name, form, way } in the order of evaluation.
local function products(graph)
  local out = {}
  local function look(n)
    for _, m in ipairs(n.members or {}) do look(m) end
    if n.kind ~= 'op' or n.members or n.row.family ~= 'matmul' then return end
    local a, b, v = n.ins[1], n.ins[2], n.outs[1]
    local na, nb = #a.shape, #b.shape
    if na < 2 or nb < 2 then return end
    local turned = b.strides[nb] ~= 1 and b.strides[nb - 1] == 1
    local way = lib.C.mc_matmul_way(v.dtype, math.max(na, nb) - 2, a.shape[na - 1], b.shape[nb], b.shape[nb - 1],
      turned and 1 or 0)
    way = PRODUCTS[way] or lib.neighbour 'blas'
    out[#out + 1] = { name = text.name(v), form = text.form(v), way = way }
  end
  for _, n in ipairs(graph.nodes) do look(n) end
  return out
end

local Report = {}
Report.__index = Report

local EXPLAIN = { form = { nil, 'integer' } }

--- What was done with a compiled function: a table that prints as a report. Fields: why, seconds (of the trace),
--- passes, groups, alone, products, convolutions, constants, outside, memory, cost, forms.
function M.explain(compiled, opts)
  local o = check.opts('explain', opts, EXPLAIN, 4)
  local plan, k = form_of(compiled, o.form, 'explain', 3)
  if plan.plain then
    return setmetatable({ plain = plan.plain, form = k, forms = #compiled.forms, why = plan.why,
      seconds = plan.seconds }, Report)
  end
  local graph = recorded(plan)
  local nodes = #graph.nodes
  local reports = pipeline.run(graph, plan.options)
  for i, r in ipairs(reports) do r.seconds = plan.passes[i].seconds end -- as it was when it counted
  local groups, bytes = {}, 0
  for _, n in ipairs(graph.nodes) do
    if FUSED[n.kind] then
      local names = {}
      for i, v in ipairs(n.outs) do names[i] = ('%s: %s'):format(text.name(v), text.form(v)) end
      local kind = n.kind == 'fused' and plan.options.device and 'there' or n.kind
      groups[#groups + 1] = { kind = kind, into = table.concat(names, ', '), ops = text.members(n), reads = #n.ins }
    end
    bytes = bytes + traffic(n)
  end
  local without = plans.lay(graph, { inplace = false })
  local info, named = debug.getinfo(compiled.f, 'S'), {}
  for _, u in ipairs(plan.outside) do if type(u.value) == 'number' then named[u.value] = u.name end end
  return setmetatable({
    where = ('%s:%d'):format(info.short_src, info.linedefined), form = k, forms = #compiled.forms,
    signature = graph, nodes = nodes, steps = plan.steps, why = plan.why, seconds = plan.seconds, passes = reports,
    math = compiled.options.math, groups = groups, alone = reasons(reports, graph),
    products = plan.options.device and {} or products(graph),
    convolutions = plan.options.device and {} or convolutions(graph),
    constants = constants(compiled, graph, named), outside = outside(plan),
    memory = { arena = plan.arena, peak = plan.memory.peak, total = plan.memory.total, inplace = plan.memory.inplace,
      without_inplace = without.arena }, cost = { bytes = bytes, operations = plan.operations },
  }, Report)
end

local function effect(r)
  if r.skipped then return 'off' end
  local did, said = r.did, {}
  for _, q in ipairs { { 'applied', 'identities' }, { 'removed', 'nodes left out' }, { 'groups', 'groups' },
    { 'nodes', 'nodes in them' } } do
    if did[q[1]] and did[q[1]] > 0 then said[#said + 1] = ('%d %s'):format(did[q[1]], q[2]) end
  end
  if did.found and did.found[1] then said[#said + 1] = table.concat(did.found, ' ') end
  local saved = r.bytes[1] - r.bytes[2]
  if did.groups and did.bytes and did.bytes > 0 then saved = did.bytes end
  if saved > 0 then said[#said + 1] = size(saved) .. ' less between steps' end
  return ('%d -> %d nodes%s  (%.2f ms)'):format(r.nodes[1], r.nodes[2],
    #said > 0 and ', ' .. table.concat(said, ', ') or '', r.seconds * 1e3)
end

function Report:__tostring()
  if self.plain then
    return ('form %d of %d runs the function itself: %s; pass copies to compile it'):format(self.form,
      self.forms, self.plain)
  end
  local out = {}
  local function say(form, ...) out[#out + 1] = form:format(...) end
  local ins, outs = {}, {}
  for i, v in ipairs(self.signature.inputs) do ins[i] = text.form(v) end
  for i, u in ipairs(self.signature.outputs) do
    outs[i] = ('%s[%s]'):format(tensor.name[u.dtype], table.concat(u.shape, ','))
  end
  say('function of %s, form %d of %d: (%s) -> (%s), math %s', self.where, self.form, self.forms,
    table.concat(ins, ', '), table.concat(outs, ', '), self.math)
  say('traced in %.2f ms: %s', self.seconds * 1e3, self.why)
  say('%d nodes recorded, %d steps replayed', self.nodes, self.steps)
  say('passes')
  for _, r in ipairs(self.passes) do say('  %-10s%s', r.name, effect(r)) end
  say('put together%s', self.groups[1] and '' or ': nothing')
  for _, g in ipairs(self.groups) do say('  %s <- %s; %s', g.into, table.concat(g.ops, ' '), FUSED[g.kind]) end
  if self.alone[1] then say('alone') end
  for _, n in ipairs(self.alone) do say('  %s: %s <- %s; %s', n.name, n.form, n.op, n.why) end
  if self.products[1] then say('products of matrices') end
  for _, c in ipairs(self.products) do say('  %s: %s by %s', c.name, c.form, c.way) end
  if self.convolutions[1] then say('convolutions') end
  for _, c in ipairs(self.convolutions) do
    say('  %s: %s by %s%s', c.name, c.form, c.way, c.bytes > 0 and ', ' .. size(c.bytes) .. ' beside it' or '')
  end
  if self.constants[1] then say('constants') end
  for _, c in ipairs(self.constants) do
    say('  %s%s%s%s', c.form, c.value ~= nil and ' = ' .. tostring(c.value) or '', c.frozen and ', frozen' or '',
      c.from and ', ' .. c.from or '')
  end
  if self.outside[1] then say('variables outside') end
  for _, u in ipairs(self.outside) do
    say('  %s%s', u.name, u.given and ', read at each call'
      or (' = %s: with another value the function is traced again'):format(check.show(u.value)))
  end
  local m = self.memory
  say('memory')
  say('  arena %s; %s if nothing were reused, at most %s alive at once', size(m.arena), size(m.total), size(m.peak))
  if m.inplace.count > 0 then
    say('  %d results take the place of an operand: %s instead of %s', m.inplace.count, size(m.arena),
      size(m.without_inplace))
  end
  say('cost of a call: about %s read and written, %.3g million operations', size(self.cost.bytes),
    self.cost.operations / 1e6)
  return table.concat(out, '\n')
end

return M
