-- surroundings.lua - what a compiled step depends on beside its operands: functions of the user's, fields of modules.
--
-- Variables that these functions read are read at each call (mc.compile). Plain fields of the modules of the network,
-- such as the share of a dropout, and hooks are part of what is traced: when one has changed, the step is traced anew.
local check = require 'mascon.core.check'
local M = {}

local function of_user(v) return type(v) == 'function' and not check.library(v) end

--- The user's functions among some values.
---@param values any[]
---@return function[]
function M.functions(values)
  local out = {}
  for _, v in ipairs(values) do if of_user(v) then out[#out + 1] = v end end
  return out
end

--- Functions that a call of a network and others may run, the library's left out, and the set of its modules.
---@param net mascon.Module
---@param more any[] functions, or other values, which are left out
---@return function[] calls
---@return table apart
function M.of(net, more)
  local calls, apart, seen = {}, {}, {}
  local function add(v)
    if of_user(v) and not seen[v] then calls[#calls + 1], seen[v] = v, true end
  end
  for _, v in ipairs(more) do add(v) end
  net:each(function(m)
    apart[m] = true
    local class = rawget(m, '_class')
    for _, holder in ipairs { class, m } do
      local names = {}
      for k, v in pairs(holder) do if of_user(v) then names[#names + 1] = tostring(k) end end
      table.sort(names)
      for _, k in ipairs(names) do add(holder[k]) end
    end
    for _, list in ipairs { rawget(m, '_before') or {}, rawget(m, '_after') or {} } do
      for _, hook in ipairs(list) do add(hook) end
    end
  end)
  return calls, apart
end

local HOOKS = { _before = true, _after = true, _around = true }
local function counts(k, v)
  local kind = type(v)
  return HOOKS[k] or type(k) == 'string' and k:sub(1, 1) ~= '_'
    and (kind == 'number' or kind == 'string' or kind == 'boolean' or kind == 'function')
end

--- The fields of all modules of a network that its calls may depend on.
---@return table module -> { [name] = value }
function M.fields(net)
  local out = {}
  net:each(function(m)
    local own = {}
    for k, v in pairs(m) do if counts(k, v) then own[k] = v end end
    out[m] = own
  end)
  return out
end

--- Whether the fields of the modules are those of M.fields.
function M.same(fields)
  for m, own in pairs(fields) do
    for k, v in pairs(m) do
      if counts(k, v) and not rawequal(own[k], v) and (own[k] == own[k] or v == v) then return false end
    end
    for k in pairs(own) do if rawget(m, k) == nil then return false end end
  end
  return true
end

return M
