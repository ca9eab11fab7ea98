-- duplicate.lua - another module of the same kind, with tensors of its own.
local tensor = require 'mascon.core.tensor'
local slots = require 'mascon.nn.slot'
local M = {}

--- A slot with a copy of the value.
local function slot_of(slot)
  local out = {}
  for k, v in pairs(slot) do out[k] = v end
  out.bound = nil
  if slot.value then out.value, slots.unread[out] = tensor.methods.copy(slot.value), true end
  return out
end

--- The copy of a module and of all within. What two places share (tied parameters, a module used twice) the copies of
--- the two share, too; functions and objects in fields are those of the module.
---@param net mascon.Module
---@return mascon.Module
function M.copy(net)
  local kind, done = getmetatable(net), {}
  local function copied(v)
    if type(v) ~= 'table' then return v end
    local meta = getmetatable(v)
    if done[v] or meta ~= nil and meta ~= kind then return done[v] or v end
    local out = {}
    done[v] = out
    for k, x in pairs(v) do
      if k == '_class' or k == '_around' then out[k] = x
      elseif k == '_slots' and meta then
        out[k] = {}
        for name, slot in pairs(x) do
          done[slot] = done[slot] or slot_of(slot)
          out[k][name] = done[slot]
        end
      else out[k] = copied(x) end
    end
    return setmetatable(out, meta)
  end
  return copied(net)
end

return M
