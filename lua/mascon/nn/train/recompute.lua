-- recompute.lua - memory for time: parts of a network that keep nothing for the way back but their inputs.
--
-- As modules around others (Checkpoint, CheckpointSequential), or as a scope that marks parts of a network as it
-- stands, whose names and files stay what they are. A marked part runs its forward through mc.checkpoint.
local check = require 'mascon.core.check'
local optim = require 'mascon.optim'
local checkpoint = require 'mascon.transform.checkpoint'
local container = require 'mascon.nn.layer.container'
local module = require 'mascon.nn.module'
local child = require 'mascon.nn.parts'
local steps = require 'mascon.nn.train.step'
local error = check.error
local M = {}

--- forward(self, ...) of a module with its buffers going in and out, so that it keeps nothing for the way back.
local function again(forward, self, counts, ...)
  local slots = {}
  for _, e in ipairs((module.slots(self))) do
    if e[2].buffer then slots[#slots + 1] = { e[3], e[1]:match '[^.]*$' } end
  end
  local function pack(...)
    local after = {}
    for i, s in ipairs(slots) do after[i] = s[1][s[2]] end
    return after, ...
  end
  local function unpacked(after, ...)
    if self:is_training() then
      for i, s in ipairs(slots) do s[1]:update_buffer(s[2], after[i]) end
    end
    return ...
  end
  return unpacked(checkpoint.counted(function(...) return pack(module.returning(forward, self, ...)) end, counts)(...))
end

local Checkpoint = module.Module 'Checkpoint'
function Checkpoint:init(inner)
  if not module.is(inner) then error(('nn.Checkpoint: the part is %s; give a module'):format(check.show(inner)), 4) end
  self.inner = inner
end
local function called(inner, ...) return inner(...) end
function Checkpoint:forward(...) return again(called, self.inner, {}, ...) end

--- A part of a network that keeps nothing for the way back but its inputs: the gradient runs it again.
---
--- Names of its parameters begin with inner. Dropout in it draws the same numbers both times.
---@param inner mascon.Module
---@return mascon.Module
--- Source: Training deep nets with sublinear memory cost, 2016; mc.checkpoint.
---     mc.nn.Checkpoint(mc.nn.ReLU())(mc.tensor{ -1, 2 })  --> f64[2]@cpu { 0, 2 }
function M.Checkpoint(inner) return Checkpoint(inner) end

--- Modules one after the other in segments, each of which keeps nothing for the way back but its input.
---
--- With k segments of n modules the inputs of k and the inside of one of n / k are kept at a time. Part i of segment s
--- is net[s].inner[i].
---@param parts table list of modules, as for nn.Sequential
---@param opts? table segments: how many (the square root of the number of modules, rounded)
---@return mascon.Module nn.Sequential of nn.Checkpoint
--- Errors: no modules. Source: Training deep nets with sublinear memory cost, 2016, section 4.1.
---     mc.nn.CheckpointSequential{ mc.nn.ReLU(), mc.nn.Tanh() }(mc.tensor{ -1, 0 })  --> f64[2]@cpu { 0, 0 }
function M.CheckpointSequential(parts, opts)
  local fname = 'nn.CheckpointSequential'
  check.arg(fname, 'parts', parts, 'table', 3)
  local many = check.opts(fname, opts, { segments = { nil, 'integer >= 1' } }, 3).segments
  local n, segments, first = #parts, {}, 1
  if n == 0 then error(fname .. ': the list of modules is empty', 2) end
  many = math.min(many or math.floor(math.sqrt(n) + 0.5), n)
  for s = 1, many do
    local last = math.floor(s * n / many + 0.5)
    segments[s] = Checkpoint(container.Sequential { unpack(parts, first, last) })
    first = last + 1
  end
  return container.Sequential(segments)
end

-- ---------------------------------------------------------------- scopes

local off = 0 -- calls of no_checkpoint that are under way

--- Runs a module's forward: as it is, or so that it keeps nothing for the way back.
local function around(scope)
  return function(forward, self, ...)
    if off > 0 or not self:is_training() then return forward(self, ...) end
    return again(forward, self, scope.counts, ...)
  end
end

--- Names and modules of the blocks of a network: parts of lists that have parts of their own, the innermost such lists.
local function blocks_of(net)
  local found = {}
  local function walk(m, name)
    local own, deep = {}, false
    for _, n in ipairs(rawget(m, '_order')) do
      local part = child.child(m, n)
      if part then
        local full = name == '' and n or name .. '.' .. n
        if walk(part, full) then deep = true
        elseif rawget(m, 'n') and not child.single(part) then
          own[#own + 1] = { full, part }
        end
      end
    end
    for _, b in ipairs(own) do found[#found + 1] = b end
    return deep or own[1] ~= nil
  end
  walk(net, '')
  return found
end

--- Names and modules that a pattern matches, but those within others that it matches.
local function matching(net, pattern)
  local found, within = {}, nil
  net:each(function(m, name)
    if within and name:sub(1, #within) == within then return end
    if name ~= '' and name:find(pattern) then
      found[#found + 1] = { name, m }
      within = name .. '.'
    end
  end)
  return found
end

---@class mascon.CheckpointScope
---@field names string[] of the parts that run again on the way back
---@field bytes? integer of activations and workspace of a step, where a budget was given
local Scope = {}
Scope.__index = Scope
M.scope_methods = Scope

local function mark(scope, list)
  scope.names, scope.marked = {}, list
  for i, b in ipairs(list) do
    rawset(b[2], '_around', scope.around)
    scope.names[i] = b[1]
  end
end

--- Ends the scope: its parts keep again what they compute.
---@return mascon.CheckpointScope self
function Scope:remove()
  for _, b in ipairs(self.marked) do
    if rawget(b[2], '_around') == self.around then rawset(b[2], '_around', nil) end
  end
  self.names, self.marked = {}, {}
  return self
end

--- What the parts did so far: count of calls, bytes of what these calls computed and did not keep, recomputes. A
--- compiled function counts when it is traced, since later calls replay the plan.
---@return table { count, bytes, recomputes }
function Scope:statistics()
  local c = self.counts
  return { count = c.count, bytes = c.bytes, recomputes = c.recomputes }
end

--- The fewest parts, the first ones of a list, with which a step takes at most a number of bytes.
local function within_budget(scope, net, list, o)
  local function with(count)
    scope:remove()
    mark(scope, { unpack(list, 1, count) })
    return steps.Step(net, o.loss, o.step or { optimizer = optim.sgd() }):measure(o.batch)
  end
  local low, high, bytes = 0, #list, with(#list)
  local least = bytes
  while low < high do
    local middle = math.floor((low + high) / 2)
    local now = with(middle)
    if now <= o.budget then high, bytes = middle, now else low = middle + 1 end
  end
  scope:remove()
  if bytes > o.budget then
    error(('nn.checkpoint_scope: a step takes %d bytes with all %d parts checkpointed, the budget is %d; give a '
      .. 'smaller batch, or accumulate'):format(least, #list, o.budget), 3)
  end
  mark(scope, { unpack(list, 1, high) })
  scope.bytes = bytes
end

local SCOPE = { pattern = { nil, 'string' }, every = { 1, 'integer >= 1' }, budget = { nil, 'number > 0' },
  loss = { nil, 'function' }, batch = { nil, 'any' }, step = { nil, 'table' } }

--- Makes parts of a network keep nothing for the way back but their inputs: the gradient runs them again.
---
--- Names of parameters, results and gradients stay the same. The parts are the blocks of the network (parts of lists
--- such as nn.Sequential and the layers of nn.TransformerEncoder that have parts of their own), or those whose full
--- names match a pattern. Parts in evaluation mode keep what they compute, which matters where a gradient is taken
--- there. A compiled function takes the scope as it stands when it is traced: make the scope before nn.Step.
---@param net mascon.Module
---@param opts? table pattern: Lua pattern of names (the blocks) · every (1): the first and every n-th part after it ·
---   budget: bytes of activations and workspace of a step, step:arena() · loss, batch, step: for the budget, what a
---   step is called with and the options of nn.Step (plain descent); the step is then compiled and run about
---   log2(parts) times, without changing the network, and the fewest parts that fit are taken, in the order of the
---   network
---@return mascon.CheckpointScope
--- Errors: no blocks, a pattern without a match, a budget that all parts together do not reach.
--- Source: Training deep nets with sublinear memory cost, 2016, section 4.
---     local net = mc.nn.TransformerEncoder(8, 2, 4)
---     local scope = mc.nn.checkpoint_scope(net, { every = 2 })
---     table.concat(scope.names, ' ')  --> layers.1 layers.3
function M.checkpoint_scope(net, opts)
  local fname = 'nn.checkpoint_scope'
  if not module.is(net) then error(('%s: the network is %s; give a module'):format(fname, check.show(net)), 2) end
  local o = check.opts(fname, opts, SCOPE, 3)
  local all = o.pattern and matching(net, o.pattern) or blocks_of(net)
  if #all == 0 then
    error(o.pattern and ('%s: no part matches %q'):format(fname, o.pattern)
      or fname .. ': the network has no list of blocks; give the option pattern', 2)
  end
  local list = {}
  for i = 1, #all, o.every do list[#list + 1] = all[i] end
  if o.budget and not o.loss then error(fname .. ': budget needs a loss and a batch', 2) end
  local scope = setmetatable({ marked = {}, names = {}, counts = { count = 0, bytes = 0, recomputes = 0 } }, Scope)
  scope.around = around(scope)
  if o.budget then within_budget(scope, net, list, o) else mark(scope, list) end
  scope.counts.count, scope.counts.bytes, scope.counts.recomputes = 0, 0, 0
  return scope
end

--- f(...) with every scope off: parts keep what they compute. nn.Checkpoint stays as it is.
---@param f function
---@param ... any arguments of f
---@return any what f returns
---     mc.nn.no_checkpoint(function(x) return x + 1 end, 2)  --> 3
function M.no_checkpoint(f, ...)
  check.arg('nn.no_checkpoint', 'f', f, 'function', 3)
  off = off + 1
  local function done(ok, ...)
    off = off - 1
    if not ok then error((...), 0) end
    return ...
  end
  return done(pcall(f, ...))
end

return M
