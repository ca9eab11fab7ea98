-- graph.lua - the log of a recording as a graph of values without side effects.
--
-- A value is a whole buffer at one moment. A use is a value seen through a layout (shape, strides, offset), so views
-- need no node; a write into a part of a buffer makes a new value (`update`, `put`) and the buffer's name moves on to
-- it, so aliases see what they should. Holds this form.
local recording = require 'mascon.graph.recording'
local tensor = require 'mascon.core.tensor'

local M = {}

--- Row-major strides of a shape.
local function dense(shape)
  local s, n = {}, 1
  for i = #shape, 1, -1 do
    s[i] = n
    n = n * (shape[i] > 0 and shape[i] or 1)
  end
  return s
end
M.dense = dense

local function numel(shape)
  local n = 1
  for i = 1, #shape do n = n * shape[i] end
  return n
end
M.numel = numel

local function same(a, b)
  if #a ~= #b then return false end
  for i = 1, #a do if a[i] ~= b[i] then return false end end
  return true
end
M.same = same

--- A layout is the plain row-major one of its shape.
local function is_dense(l)
  if (l.offset or 0) ~= 0 then return false end
  local n = 1
  for i = #l.shape, 1, -1 do
    if l.shape[i] ~= 1 and l.strides[i] ~= n then return false end
    n = n * (l.shape[i] > 0 and l.shape[i] or 1)
  end
  return true
end
M.is_dense = is_dense

local function bytes(v) return numel(v.shape) * tensor.size[tensor.name[v.dtype]] end
M.bytes = bytes

--- A use shows its value as it lies, all of it.
function M.whole(u)
  return is_dense(u) and same(u.shape, u.value.shape) and (u.value.node or is_dense(u.value)) and true or false
end

--- The use of a value as a whole.
local function use_of(v, weak)
  return { value = v, shape = v.shape, strides = v.strides, offset = 0, dtype = v.dtype, weak = weak }
end
M.use_of = use_of

--- What is left of a tensor when only its form is of interest.
local function outline(t)
  local l = recording.layout(t)
  return { dtype = l.dtype, shape = l.shape, strides = l.strides, serial = recording.serial(t),
    offset = recording.offset(t), weak = recording.weak(t), tensor = t }
end

--- What a graph is built from, as often as wanted. It keeps no argument and no result alive once a graph was built from
--- it.
---@param inputs any[] tensors
---@param log table[] of recording.record
---@param results any[] tensors that the function returned
---@param since? integer serial of a buffer made before the function ran: later ones are the function's own
---@return table source
function M.source(inputs, log, results, since)
  local s = { inputs = {}, log = log, results = {}, since = since or math.huge }
  for i, t in ipairs(inputs) do
    s.inputs[i] = outline(t)
    s.inputs[i].tensor = nil
  end
  for i, t in ipairs(results) do s.results[i] = outline(t) end
  return s
end

---@class mascon.Value
---@field id integer
---@field dtype integer code
---@field shape integer[]
---@field strides integer[]
---@field node table? the node that makes it
---@field input integer? position among the inputs
---@field const any? tensor
---@field fixed boolean? the constant cannot change between calls
---@field kept any? tensor: what a recording with `keep` left of it

--- A new value of a graph; row-major without strides. `more` becomes it.
function M.value(graph, dtype, shape, strides, more)
  graph.values = graph.values + 1
  local v = more or {}
  v.id, v.dtype, v.shape, v.strides = graph.values, dtype, shape, strides or dense(shape)
  return v
end

--- A new constant of a graph: a tensor that nobody changes. Dense, of its own buffer.
function M.constant(graph, t, weak)
  t = tensor.promote(t, 2)
  local l = recording.layout(t)
  local v = M.value(graph, l.dtype, l.shape, l.strides, { const = t, weak = weak, literal = true, fixed = true })
  graph.consts[#graph.consts + 1] = v
  return v
end

--- The graph of a source.
---@param source table of M.source
---@return table graph { inputs, nodes, outputs = uses, effects = { input = value } }
function M.from(source)
  local graph = { inputs = {}, nodes = {}, outputs = {}, effects = {}, values = 0, consts = {} }
  local current, first = {}, {}

  local function value(...) return M.value(graph, ...) end

  for i, t in ipairs(source.inputs) do
    local v = value(t.dtype, t.shape, t.strides, { input = i, weak = t.weak })
    graph.inputs[i] = v
    current[t.serial], first[t.serial] = v, t.offset
  end

  local literals = {}
  local function constant(o)
    local key
    if o.literal and o.numel == 1 then
      local x = o.const:item()
      key = o.dtype .. '/' .. #o.shape .. (o.weak and 'w' or '')
        .. (type(x) == 'number' and ('%.17g'):format(x) .. (x == 0 and 1 / x < 0 and '-' or '') or tostring(x))
    elseif not o.literal then
      key =
        ('%d/%d/%d/%s/%s'):format(o.serial, o.offset, o.dtype, table.concat(o.shape, ','), table.concat(o.strides, ','))
    end
    local v = key and literals[key]
    if not v then
      v = value(o.dtype, o.shape, o.strides,
        { const = o.const, weak = o.weak, literal = o.literal, fixed = o.literal or o.serial > source.since })
      graph.consts[#graph.consts + 1] = v
      if key then literals[key] = v end
    end
    return v
  end

  --- The operand as a use of a value.
  local function use(o)
    if o.const then
      return use_of(constant(o), o.weak)
    end
    local v = current[o.serial]
    return { value = v, shape = o.shape, strides = o.strides, offset = o.offset - (first[o.serial] or 0),
      dtype = o.dtype, weak = o.weak }
  end

  local line -- of the entry that is being read
  local function node(n)
    graph.nodes[#graph.nodes + 1] = n
    n.line = line
    for _, v in ipairs(n.outs) do v.node = n end
    return n
  end

  --- The value that a write into a part of its buffer changes.
  local function part_of(o)
    local old = current[o.serial]
    if old.input and not is_dense(old) then
      error(('compile: argument %d is no contiguous tensor and is written inside the function; pass a copy'):format(
        old.input), 0)
    end
    return old
  end

  --- The buffer of an operand gets contents: all of it, or the part its layout shows.
  local function write(o, make)
    local whole = o.numel == o.size and is_dense(o)
    local before = current[o.serial]
    if before then before.kept = nil end -- its memory holds something else now
    if whole then
      local v = value(o.dtype, o.shape, nil, { kept = o.kept })
      make(v)
      current[o.serial], first[o.serial] = v, 0
      return
    end
    local old = part_of(o)
    local part = value(o.dtype, o.shape)
    make(part)
    local new = value(old.dtype, old.shape, old.strides)
    node { kind = 'update', ins = { use_of(old), use_of(part) }, outs = { new },
      at = { shape = o.shape, strides = o.strides, offset = o.offset - (first[o.serial] or 0), dtype = o.dtype } }
    current[o.serial] = new
  end

  for _, e in ipairs(source.log) do
    line = e.line
    if e.kind == 'base' then
      current[e.outs[1].serial], first[e.outs[1].serial] = constant(e.ins[1]), 0
    elseif e.kind == 'op' or e.kind == 'call' then
      local ins, outs = {}, {}
      for i, o in ipairs(e.ins) do ins[i] = use(o) end
      local n = { kind = e.kind, row = e.row, compute = e.compute, params = e.params, ins = ins,
        outs = outs, remat = e.turn }
      if e.call then n.prim, n.saved = e.call.prim, e.call.saved end
      local later = {}
      for i, o in ipairs(e.outs) do later[i] = o end
      -- results first as values of the node, then put where they belong
      local placed = false
      for i, o in ipairs(later) do
        write(o, function(v)
          outs[i] = v
          if i == #later then
            placed = true
            node(n)
          end
        end)
      end
      assert(placed or #later == 0)
    elseif e.kind == 'copy' then
      local from = use(e.ins[1])
      write(e.outs[1], function(v)
        node { kind = 'copy', ins = { from }, outs = { v }, device = e.outs[1].device, remat = e.turn }
      end)
    else -- put
      local o = e.outs[1]
      local old = part_of(o)
      old.kept = nil
      local new = value(old.dtype, old.shape, old.strides)
      node { kind = 'put', ins = { use_of(old), use(e.ins[1]), use(e.ins[2]) }, outs = { new },
        at = { shape = o.shape, strides = o.strides, offset = o.offset - (first[o.serial] or 0), dtype = o.dtype },
        axis = e.axis, accumulate = e.accumulate }
      current[o.serial] = new
    end
  end

  for i, t in ipairs(source.results) do
    local v = current[t.serial]
    if v then
      t.tensor = nil
      graph.outputs[i] = { value = v, shape = t.shape, strides = t.strides,
        offset = t.offset - (first[t.serial] or 0), dtype = t.dtype }
    else
      local c = value(t.dtype, t.shape, t.strides, { const = t.tensor })
      graph.consts[#graph.consts + 1] = c
      graph.outputs[i] = use_of(c)
    end
  end
  for i, t in ipairs(source.inputs) do
    local v, was = current[t.serial], graph.inputs[i]
    if v ~= was then
      if not same(v.shape, was.shape) then -- written as a whole through a view, x[{ mc.all, 1 }] of an axis of size 1
        local shaped = value(v.dtype, was.shape)
        local seen = { value = v, shape = was.shape, strides = dense(was.shape), offset = 0, dtype = v.dtype }
        node { kind = 'copy', ins = { seen }, outs = { shaped } }
        v = shaped
      end
      graph.effects[#graph.effects + 1] = { input = i, value = v }
    end
  end
  -- the functions above may stay alive as constants of machine code, and must not hold the tensors of this graph then
  local out = graph
  graph, current, first, literals = nil, nil, nil, nil
  return out
end

--- Builds the graph of a recording that nobody wants to see again.
function M.build(inputs, log, results) return M.from(M.source(inputs, log, results)) end

--- A graph of the same nodes that may be changed without changing the first. What a recording kept is left behind.
function M.copy(graph)
  local values, nodes = {}, {}
  local function value(v)
    if not values[v] then
      values[v] = { id = v.id, dtype = v.dtype, shape = v.shape, strides = v.strides, input = v.input, const = v.const,
        weak = v.weak, literal = v.literal, fixed = v.fixed }
    end
    return values[v]
  end
  local function shallow(t)
    local out = {}
    for k, v in pairs(t) do out[k] = v end
    return out
  end
  local function use(u)
    local out = shallow(u)
    out.value = value(u.value)
    return out
  end
  local function map(list, f)
    local out = {}
    for i, v in ipairs(list) do out[i] = f(v) end
    return out
  end
  for i, n in ipairs(graph.nodes) do
    local m = shallow(n)
    m.ins, m.outs = map(n.ins, use), map(n.outs, value)
    for _, v in ipairs(m.outs) do v.node = m end
    nodes[i] = m
  end
  return { inputs = map(graph.inputs, value), consts = map(graph.consts, value), nodes = nodes,
    outputs = map(graph.outputs, use), values = graph.values,
    effects = map(graph.effects, function(e) return { input = e.input, value = value(e.value) } end) }
end

return M
