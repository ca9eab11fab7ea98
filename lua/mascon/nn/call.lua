-- call.lua - one call of a network with other tensors in the place of its own: its mode, random numbers, new buffers.
--
-- What modules ask for while they run (whether they train, a key, where the new value of a buffer goes) depends on the
-- innermost such call whose network they are part of.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local keys = require 'mascon.random.key'
local recording = require 'mascon.graph.recording'
local slots = require 'mascon.nn.slot'
local states = require 'mascon.nn.state'
local traced = require 'mascon.nn.traced'
local error = check.error
local M = {}

-- what apply() sets for the length of one call: { net, members (set of its modules), train, key, count, buffers (slot
-- -> new value), outer (the call around it), frame (the recording it is made in), home (the one that takes buffers) }
local now
local gathered -- the same of buffers of modules outside of such calls, while gather runs: { buffers, home }

--- Whether a function is being recorded that runs once for many calls; on the tape (x:requires_grad()) every call runs.
local function tracing() return recording.on() and not recording.tape_alone() end

--- The innermost call of apply with a network that the module is part of.
local function call_of(self)
  local w = now
  while w and not w.members[self] do w = w.outer end
  return w
end

--- Whether a module is in training: as train() and eval() set it. In a call with the option train that says so for all
--- parts of the network, but for those that are in evaluation while the network itself is in training.
function M.training(self)
  local own, w = rawget(self, '_training'), call_of(self)
  while w and w.train == nil do w = w.outer end
  if not w or not w.members[self] then return own end
  return w.train and (own or not rawget(w.net, '_training'))
end

--- A random key for one use: another one at each use within a call, derived from that of the call.
---@return mascon.Key
function M.key()
  if now and now.key then
    traced.draw(now.frame, 3)
    now.count = now.count + 1
    return now.key:fold_in(now.count)
  end
  if now or tracing() then
    error('module: random numbers in a traced call need a key; give apply the option key, as in '
      .. 'net:apply(params, x, { train = true, key = key })', 3)
  end
  return slots.next_key()
end

--- f(...), which returns the buffers that it changes to the recording around it.
function M.returning(f, ...)
  check.arg('nn.module.returning', 'f', f, 'function', 3)
  local list, homes, w = { gathered }, {}, now
  while w do
    list[#list + 1], w = w, w.outer
  end
  for i, c in ipairs(list) do homes[i], c.home = c.home or false, recording.frame end
  local function done(ok, ...)
    for i, c in ipairs(list) do c.home = homes[i] or nil end
    if not ok then error((...), 0) end
    return ...
  end
  return done(pcall(f, ...))
end

--- Gives a buffer a new value: in the result of the call, outside of one in the module itself.
function M.update(self, name, value)
  local slot, w = rawget(self, '_slots')[name], call_of(self)
  local into = w or gathered
  if into then
    traced.change(name, into.home, 3)
    into.buffers[slot], slot.bound = value, value
  elseif tracing() then
    error(('module: buffer %s changes in a traced call; use net:apply(params, x, { train = true }), which returns '
      .. 'the new buffers'):format(name), 3)
  else
    slot.value = recording.on() and recording.quietly(tensor.methods.copy, value) or value
  end
end

--- f(), and the new values of buffers of modules that are part of no network that is applied: slot -> tensor. They are
--- not put into the slots.
function M.gather(f)
  check.arg('nn.module.gather', 'f', f, 'function', 3)
  local before, mine = gathered, { buffers = {}, home = recording.frame }
  gathered = mine
  local function done(ok, ...)
    gathered = before
    for slot in pairs(mine.buffers) do slot.bound = nil end
    if not ok then error((...), 0) end
    return mine.buffers, ...
  end
  return done(pcall(f))
end

--- f(...) while the tensors of `params` stand in the place of the module's; its results in a list, the buffers after
--- it.
function M.with(fname, self, params, o, f, ...)
  check.arg(fname, 'params', params, 'table', 4)
  local list, by_name, members = slots.all(self)
  local undo = {}
  local function bind(values)
    for name, t in pairs(values) do
      local slot = by_name[name]
      if not slot then
        local near = check.nearest(tostring(name), by_name)
        error(('%s: the module has no %s%s'):format(fname, tostring(name),
          near and ('; did you mean %s?'):format(near) or ''), 3)
      end
      if not tensor.is(t) or not states.same_shape(t, slot.shape) then
        error(('%s: %s is %s, the module has %s; give a tensor of that shape'):format(fname, name,
          tensor.is(t) and tensor.describe(t) or check.show(t), states.described(slot)), 3)
      end
      undo[#undo + 1] = { slot, slot.bound }
      slot.bound = t
    end
  end
  local before = now
  local mine = { net = self, members = members, train = o.train, key = o.key ~= nil and keys.key(o.key) or nil,
    count = 0, buffers = {}, outer = now, frame = recording.frame, home = recording.frame }
  local function done(ok, ...)
    local buffers = {}
    if ok then
      for _, e in ipairs(list) do
        if e[2].buffer then buffers[e[1]] = mine.buffers[e[2]] or slots.value_of(e[2], e[1]) end
      end
    end
    now = before
    for slot in pairs(mine.buffers) do slot.bound = nil end
    for i = #undo, 1, -1 do undo[i][1].bound = undo[i][2] end
    if not ok then error((...), 0) end
    return { n = select('#', ...), ... }, buffers
  end
  return done(pcall(check.unyielding, fname, function(...)
    bind(params)
    if o.buffers then bind(o.buffers) end
    now = mine
    return f(...)
  end, ...))
end

return M
