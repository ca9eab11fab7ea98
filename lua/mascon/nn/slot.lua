-- slot.lua - the place of one tensor of a module: its shape, dtype and device, how it is made, and its value.
--
-- During a call of apply another tensor stands in for the value (bound). Slots whose value was made here and that
-- nobody has read since are known (unread): a step of training may write to their tensors.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local source = require 'mascon.random.source'
local parts = require 'mascon.nn.parts'
local states = require 'mascon.nn.state'
local error = check.error
local M = {}

---@class mascon.Slot a tensor of a module: its shape and dtype, and, unless only shapes are wanted, its value
---@field bound any the tensor that stands in for the value during a call of apply

M.hollow = false -- while modules are made without their tensors
M.unread = setmetatable({}, { __mode = 'k' })

--- The tensor of a slot, which somebody has read from here on.
function M.value_of(slot, name)
  if slot.bound then return slot.bound end
  local v = slot.value
  if not v then
    error(('%s: the module was built with shapes only and has no tensors; call module:initialise() first'):format(name),
      3)
  end
  M.unread[slot] = nil
  return v
end

--- Puts a tensor into a slot: of its shape, converted to its dtype and device.
function M.put(fname, name, slot, t, level)
  if not tensor.is(t) or not states.same_shape(t, slot.shape) then
    error(('%s: %s is %s, the module has %s; give a tensor of that shape'):format(fname, name,
      tensor.is(t) and tensor.describe(t) or check.show(t), states.described(slot)), level + 1)
  end
  slot.value, M.unread[slot] = tensor.methods.to(t, { dtype = slot.dtype, device = slot.device }), nil
end

--- Draws the value of a slot.
function M.fill(slot)
  if M.hollow then return end
  local v = slot.make(slot.shape, { dtype = slot.dtype, device = slot.device, key = slot.key })
  if check.library(slot.make) then
    slot.value, M.unread[slot] = v, tensor.methods.is_contiguous(v) or nil
  else -- a function of a user's may give anything, and keep what it gives
    M.put('module', 'what the initialiser gave', slot, v, 4)
  end
  if slot.settle then -- what the layer makes of its first values, whatever drew them
    if not M.unread[slot] then slot.value, M.unread[slot] = tensor.methods.copy(slot.value), true end
    slot.settle(slot.value)
  end
end

--- The random numbers of one slot: from the option key, else from the default generator.
function M.next_key(key)
  if key ~= nil then return key end
  local g = source.default_generator()
  local stream = g.stream
  g.stream = stream + 1
  return g.key:fold_in(stream)
end

--- What f builds, with the shapes of parameters but without their memory: counts and summaries of models of any size.
---
--- module:initialise() makes the tensors later.
---     mc.nn.shapes_only(function() return mc.nn.Linear(1e5, 1e5) end):count()  --> 10000100000
---@param f function
---@return any what f returns
function M.shapes_only(f)
  check.arg('nn.shapes_only', 'f', f, 'function', 3)
  local before = M.hollow
  M.hollow = true
  local function done(ok, ...)
    M.hollow = before
    if not ok then error((...), 0) end
    return ...
  end
  return done(pcall(f))
end

--- All slots in order: { name, slot, module }, shared ones once; also_known: name -> slot of the other names of shared
--- ones; and the set of the modules.
function M.all(self)
  local list, by_name, members, seen = {}, {}, {}, {}
  parts.each(self, function(m, name)
    members[m] = true
    local slots = rawget(m, '_slots')
    for _, n in ipairs(rawget(m, '_order')) do
      local slot = slots[n]
      if slot then
        local full = name == '' and n or name .. '.' .. n
        by_name[full] = slot
        if not seen[slot] then
          seen[slot] = true
          list[#list + 1] = { full, slot, m }
        end
      end
    end
  end)
  return list, by_name, members
end

return M
