-- objects.lua - objects of the library among the arguments of a compiled function.
--
-- They are handed on as they are, so that what a trace read of them is part of it. A form remembers the fields of its
-- objects (an optimiser, a data set, a scaler); an object with others is traced again. Modules say themselves what a
-- call of them depends on (outside.lua).
local tensor = require 'mascon.core.tensor'
local trees = require 'mascon.graph.tree'
local random = require 'mascon.random.key'
local M = {}

local MOST = 1000 -- fields of an object that are looked at

--- Calls visit(table, field, value) for the fields of an object and of the tables in it, in any order.
local function each(object, visit)
  local seen, count = { [object] = true }, 0
  local function walk(t)
    for k, v in next, t do
      count = count + 1
      if count > MOST then return end
      visit(t, k, v)
      if type(v) == 'table' and not seen[v] then
        seen[v] = true
        walk(v)
      end
    end
  end
  walk(object)
end

--- Whether a value is an object of the library whose fields are to be remembered.
local function counts(v)
  if type(v) ~= 'table' or tensor.is(v) or random.is_key(v) or trees.is_branch(v) then return false end
  local mt = getmetatable(v)
  return type(mt) == 'table' and rawget(mt, '__look') == nil
end

--- The fields of an object as they are now, for `same`; nil of other values.
---@param v any
---@return table|nil
function M.look(v)
  if not counts(v) then return nil end
  local out = {}
  each(v, function(t, k, x)
    local n = #out
    out[n + 1], out[n + 2], out[n + 3] = t, k, x
  end)
  return out
end

--- Whether the fields of an object are as they were.
---@param look table
---@return boolean
function M.same(look)
  for i = 1, #look, 3 do
    local was, now = look[i + 2], rawget(look[i], look[i + 1])
    if not rawequal(was, now) and (was == was or now == now) then return false end
  end
  return true
end

--- The same as text, for the key of a form; '' of other values.
---@param v any
---@return string
function M.text(v)
  if not counts(v) then return '' end
  local out = {}
  each(v, function(t, k, x)
    local kind = type(x)
    out[#out + 1] = ('%p.%s=%s'):format(t, tostring(k), kind == 'number' and ('%.17g'):format(x)
      or kind == 'string' and x or (kind == 'boolean' or kind == 'cdata' and not tensor.is(x)) and tostring(x)
      or ('%p'):format(x))
  end)
  table.sort(out)
  return table.concat(out, ' ')
end

return M
