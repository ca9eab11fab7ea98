-- tape.lua - gradients in the manner of PyTorch: x:requires_grad(), y:backward(), x.grad.
---
--- A recording that stays writes down what depends on leaves; backward() makes a graph of what its tensor depends on,
--- goes through it in reverse, adds up gradients in the leaves and drops those entries. While there is no leaf nothing
--- is recorded and nothing costs. Holds leaves, their gradients and hooks.
local mc = require 'mascon.array'
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local graphs = require 'mascon.graph.graph'
local recording = require 'mascon.graph.recording'
local evaluate = require 'mascon.transform.evaluate'
local op = require 'mascon.core.op'
local region = require 'mascon.transform.region'
local reverse = require 'mascon.transform.reverse'
local error = check.error

local M = {}

---@class mascon.TapeLeaf
---@field serial integer of its buffer
---@field grad any? tensor
---@field hooks function[]?
local leaves = setmetatable({}, { __mode = 'k' }) -- by handle
local by_serial = setmetatable({}, { __mode = 'v' })
local hooks = {} -- of values that are no leaves: by serial, list of functions
local retained = setmetatable({}, { __mode = 'k' }) -- handle of such a value -> { grad }

local busy, watching = false, false -- a leaf is being made; a watch is set

--- Drops what nobody can ask for; the tape ends with its last leaf and entry. True while there is a tape.
local function idle()
  local left = recording.tape_tidy()
  if not left then return recording.place() > 0 end -- a function is being recorded: looked at again after it
  if left == 0 then hooks = {} end
  if left > 0 or busy or next(leaves) ~= nil then return true end
  recording.tape_end()
  return false
end

--- After each cycle of the collector the tape is looked at again, since handles that went away are what makes entries
--- useless.
local function watch()
  if watching then return end
  watching = true
  local w = newproxy(true)
  getmetatable(w).__gc = function()
    watching = false
    local ok, on = pcall(idle)
    if ok and on then watch() end
  end
end

-- x:requires_grad, see leaf.lua
function M.requires_grad(x, yes)
  if yes ~= nil then check.arg('requires_grad', 'the argument', yes, 'bool', 3) end
  if yes == nil then yes = true end
  if leaves[x] then
    if not yes then
      recording.tape_leaf(x, false)
      by_serial[leaves[x].serial], leaves[x] = nil, nil
      idle()
    end
    return x
  end
  if recording.tape_alone() and recording.traced(x) then
    if yes then return x end
    error(('requires_grad: %s is computed from a tensor that requires a gradient; x:detach() gives it without'):format(
      tensor.describe(x)), 2)
  end
  if not yes then return x end
  if not reverse.continuous(x._dtype) then
    error(('requires_grad: operand is %s; gradients belong to floating point and complex tensors'):format(
      tensor.describe(x)), 2)
  end
  if not x:is_contiguous() then
    error(('requires_grad: operand is a view of another layout, %s; take a copy first'):format(tensor.describe(x)), 2)
  end
  busy = true
  local ok, text = pcall(function()
    recording.tape_begin()
    recording.tape_leaf(x, true)
    local leaf = { serial = recording.serial(x) }
    leaves[x], by_serial[leaf.serial] = leaf, leaf
  end)
  busy = false
  if not ok then error(text, 0) end
  watch()
  return x
end

--- The gradient that backward() left, or nil. Assigning nil (or a tensor of the same form) replaces it.
function M.grad(x)
  local at = leaves[x] or retained[x]
  return at and at.grad
end

function M.set_grad(x, g)
  local at = leaves[x] or retained[x]
  if g ~= nil and (not tensor.is(g) or tostring(g.shape) ~= tostring(x.shape)) then
    error(('grad: %s cannot be the gradient of %s; give nil or a tensor of the same shape'):format(tensor.describe(g),
      tensor.describe(x)), 2)
  end
  if not at then
    if g == nil then return end
    error(('grad: %s requires no gradient; call x:requires_grad() first'):format(tensor.describe(x)), 2)
  end
  at.grad = g and reverse.cast(g, x.dtype)
end

-- x:zero_grad, see leaf.lua
function M.zero_grad(x)
  M.set_grad(x, nil)
  return x
end

--- Whether something can go back to x or through it: it is a leaf or computed from one.
function M.needs_grad(x) return leaves[x] ~= nil or (recording.on() and recording.traced(x)) end

--- Whether backward() leaves a gradient in x.
function M.is_leaf(x) return leaves[x] ~= nil end

-- x:detach, see leaf.lua
function M.detach(x)
  if recording.on() and not recording.tape_alone() and recording.traced(x) then return op.functions.cut(x) end
  return recording.tape_detach(x)
end

--- Runs f(...) without recording: what it computes has no gradient, and leaves may be written in place.
---     local w = mc.tensor{ 1, 2 }:requires_grad()
---     mc.no_grad(function() w:sub_(1) end)
---     w  --> f64[2]@cpu { 0, 1 }
---@param f function
---@param ... any
---@return any ... what f returned
function M.no_grad(f, ...)
  if type(f) ~= 'function' then error(('no_grad: the argument is %s; give a function'):format(check.show(f)), 2) end
  if recording.on() and not recording.tape_alone() then return f(...) end
  return recording.quietly(f, ...)
end

--- The list of the hooks of a tensor.
local function hooks_of(name, x)
  if not M.needs_grad(x) then error(('%s: %s requires no gradient'):format(name, tensor.describe(x)), 3) end
  if leaves[x] then
    leaves[x].hooks = leaves[x].hooks or {}
    return leaves[x].hooks
  end
  local s = recording.serial(x)
  hooks[s] = hooks[s] or {}
  return hooks[s]
end

-- x:register_hook, see leaf.lua
function M.register_hook(x, f)
  if type(f) ~= 'function' then
    error(('register_hook: the argument is %s; give a function'):format(check.show(f)), 2)
  end
  local list = hooks_of('register_hook', x)
  list[#list + 1] = f
  return function()
    for i = #list, 1, -1 do if list[i] == f then table.remove(list, i) end end
  end
end

-- x:retain_grad, see leaf.lua
function M.retain_grad(x)
  if leaves[x] or retained[x] then return x end
  local box = {}
  hooks_of('retain_grad', x).last = function(g) box.grad = box.grad and box.grad + g or g:copy() end
  retained[x] = box
  return x
end

-- ---------------------------------------------------------------- backward

local function call_hooks(list, g)
  for _, f in ipairs(list or {}) do
    local other = f(g)
    if other ~= nil then
      if not tensor.is(other) or tostring(other.shape) ~= tostring(g.shape) then
        error(('register_hook: the function returned %s for a gradient %s; shapes must agree'):format(
          tensor.describe(other), tensor.describe(g)), 2)
      end
      g = other
    end
  end
  if list and list.last then list.last(g) end
  return g
end

local function freed()
  error('backward: the graph of this value was dropped by an earlier backward(); call that one with { retain_graph = '
    .. 'true } to go through it again', 2)
end

local function lost(o)
  error(('backward: a tensor %s[%s] was written in place after it was used, where it was not recorded (within '
    .. 'mc.no_grad, say), so that its value is lost; write into a copy')
    :format(tensor.name[o.dtype], table.concat(o.shape, ',')), 2)
end

--- Leaves that entries read, as { leaf, tensor }; refuses entries that read what is no longer known.
local function inputs_of(entries)
  local made, seen, list, last = {}, {}, {}, {}
  -- a version that no entry accounts for was written by nobody who is known
  local function met(o, most)
    local before = last[o.serial]
    if before and o.version - before.version > most then lost(o) end
    last[o.serial] = o
  end
  for _, e in ipairs(entries) do
    for _, o in ipairs(e.ins) do
      met(o, 0)
      if o.traced and not made[o.serial] and not seen[o.serial] then
        if o.gone then freed() end
        seen[o.serial] = true
        list[#list + 1] = { leaf = by_serial[o.serial], operand = o }
      end
    end
    for _, o in ipairs(e.outs) do
      met(o, #e.outs)
      made[o.serial] = true
    end
  end
  for s, o in pairs(last) do
    if o.now ~= o.version then lost(o) end
    last[s] = nil -- machine code may keep the table
  end
  return list
end

local OPTS = { retain_graph = { false, 'bool' }, create_graph = { false, 'bool' } }

-- x:backward, see leaf.lua
function M.backward(y, g, opts)
  if type(g) == 'table' then g, opts = nil, g end
  local o = check.opts('backward', opts, OPTS, 3)
  if recording.on() and not recording.tape_alone() then
    error('backward: a function is being recorded (mc.grad, mc.compile, mc.vmap); gradients are functions there, '
      .. 'use mc.grad', 2)
  end
  if not recording.on() or not recording.traced(y) then
    error(('backward: %s does not depend on a tensor that requires a gradient; call x:requires_grad() on one, outside '
      .. 'mc.no_grad (parameters of networks: mc.nn.Step or mc.value_and_grad)'):format(tensor.describe(y)), 2)
  end
  if g == nil then
    if y:numel() ~= 1 then
      error(('backward: %s has several elements; reduce it (mc.sum, mc.mean) or give the cotangent, y:backward(g)')
        :format(tensor.describe(y)), 2)
    end
    g = mc.ones_like(y)
  elseif not tensor.is(g) or tostring(g.shape) ~= tostring(y.shape) then
    error(('backward: the cotangent is %s for a result %s; shapes must agree'):format(tensor.describe(g),
      tensor.describe(y)), 2)
  end
  local since = region.now()
  local function run(entries)
    if #entries == 0 and not leaves[y] and not by_serial[recording.serial(y)] then freed() end
    local list = inputs_of(entries)
    local inputs, outputs, hooked = {}, { y }, {}
    for i, l in ipairs(list) do inputs[i] = recording.buffer(l.operand) end
    if #entries == 0 then
      list[1] = { leaf = leaves[y] or by_serial[recording.serial(y)] }
      inputs[1] = y
    end
    for _, e in ipairs(entries) do
      for _, out in ipairs(e.outs) do
        if hooks[out.serial] and not hooked[out.serial] then
          hooked[out.serial] = true
          outputs[#outputs + 1] = recording.buffer(out)
        end
      end
    end
    local graph = graphs.build(inputs, entries, outputs)
    for k = #entries, 1, -1 do entries[k] = nil end -- machine code may keep the list
    local of_value = {}
    for i = 2, #outputs do
      local funcs = hooks[recording.serial(outputs[i])]
      of_value[graph.outputs[i].value] = function(c) return call_hooks(funcs, c) end
    end
    graph.outputs = { graph.outputs[1] }
    local env = evaluate.run(graph, inputs, false, true)
    local back = reverse.run(graph, env, { reverse.cast(g, y.dtype) }, nil, of_value)
    reverse.forget(graph, env)
    local mine = {}
    for i, l in ipairs(list) do
      if l.leaf and back[i] then mine[#mine + 1] = { l.leaf, call_hooks(l.leaf.hooks, back[i]) } end
    end
    local values = {}
    for i, pair in ipairs(mine) do values[i] = pair[2] end
    if not o.create_graph then values = region.own(values, since) end
    for i, pair in ipairs(mine) do
      local leaf = pair[1]
      leaf.grad = leaf.grad and leaf.grad + values[i] or values[i]
    end
    for s in pairs(hooked) do if not (o.retain_graph or o.create_graph) then hooks[s] = nil end end
  end
  recording.tape_read({ y }, o.retain_graph or o.create_graph, function(entries)
    if o.create_graph then return run(entries) end
    return recording.quietly(run, entries)
  end)
  idle()
end

return M
