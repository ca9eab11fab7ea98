-- lazy.lua - tables of functions that load the file of a function when it is touched.
--
-- Holds the loading and the message for a name that is not there.
local check = require 'mascon.core.check'
local guard = require 'mascon.core.guard'

local M = {}

--- A table whose functions come from files.
---@param namespace string as messages name it, such as 'mc.optim'
---@param files table file = list of the names it defines
---@param tables? table name = file that is a table itself
---@return table
function M.table(namespace, files, tables)
  local FROM, LAZY = {}, tables or {} -- by these names help and completion find them
  for file, names in pairs(files) do
    for _, name in ipairs(names) do FROM[name] = file end
  end
  return setmetatable({}, {
    __index = function(t, k)
      local v
      if LAZY[k] then
        v = require(LAZY[k])
        if type(v) == 'table' then
          guard.all(('%s.%s.'):format(namespace:gsub('^mc%.', ''), k), v)
          if type(rawget(v, 'methods')) == 'table' then guard.all(k .. ':', v.methods) end
        end
      elseif FROM[k] then
        v = require(FROM[k])[k]
        if type(v) == 'function' then v = guard.of(namespace:gsub('^mc%.', '') .. '.' .. k, v) end
      elseif type(k) ~= 'string' or k:sub(1, 1) == '_' then return nil
      else
        local near = check.nearest(k, FROM)
        check.error(('%s.%s: there is no such name%s'):format(namespace, k, near and ('; did you mean %s.%s?'):format(namespace, near) or ''), 2)
      end
      rawset(t, k, v)
      return v
    end,
  })
end

--- Parts of a module that are modules themselves: they load when touched, with checks in front of their functions.
---@param t table the module
---@param space string as messages name it
---@param parts table name = file
---@return table t
function M.parts(t, space, parts)
  local FROM = parts
  return setmetatable(t, { __index = function(_, k)
    if not FROM[k] then return nil end
    local v = require(FROM[k])
    if type(v) == 'table' then guard.all(('%s.%s.'):format(space, k), v) end
    rawset(t, k, v)
    return v
  end })
end

return M
