-- strict.lua - the global environment of a script: a misspelt name is an error, not nil.
--
-- A script runs in an empty table that stands before the real globals. Reads and writes pass through to _G, so modules,
-- loadstring and dofile see what the script defines and nothing that other code does is restricted; only the script's
-- own text is held to the rule. Assigning at the top level of a chunk declares, also with nil; assigning an unknown
-- name inside a function is an error. Holds the set of declared names.

local nearest = require 'mascon.host.nearest'

local M = {}

---Sorted names of all globals that `globals` and `declared` know.
local function names(globals, declared)
  local seen, list = {}, {}
  for _, source in ipairs { globals, declared } do
    for name in pairs(source) do
      if type(name) == 'string' and not seen[name] then
        seen[name] = true
        list[#list + 1] = name
      end
    end
  end
  table.sort(list)
  return list
end

---A new environment over `globals`.
---@param globals table
---@return table env
function M.environment(globals)
  local declared = {}
  local env = {}
  return setmetatable(env, {
    __index = function(_, name)
      local value = globals[name]
      if value ~= nil or declared[name] then return value end
      error(("undeclared global '%s'%s"):format(tostring(name), name == 'mc'
        and "; begin with: local mc = require 'mascon'" or nearest.hint(tostring(name), names(globals, declared))), 2)
    end,
    __newindex = function(_, name, value)
      if globals[name] == nil and not declared[name] then
        local what = debug.getinfo(2, 'S').what
        if what ~= 'main' and what ~= 'C' then
          error(("assignment to undeclared global '%s' inside a function; write `local %s`, or assign it "
            .. 'once at the top level of the script'):format(tostring(name), tostring(name)), 2)
        end
        declared[name] = true
      end
      globals[name] = value
    end,
    __metatable = false,
  })
end

return M
