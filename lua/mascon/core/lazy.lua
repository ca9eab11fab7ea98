-- lazy.lua - tables of functions that load the file of a function when it is touched.
--
-- Holds the loading and the message for a name that is not there, of all public namespaces. Names that are there cost
-- nothing: only a read that finds none comes here.
local check = require 'mascon.core.check'
local guard = require 'mascon.core.guard'

local M = {}

M.elsewhere = {} -- by namespace: a function that gives names of other libraries and what stands here for them
M.public = nil -- the public table, from lua/mascon/init.lua on

--- A read of a name that is not there: an error for a script, nil for the library and for workflows, which may ask.
---@param space string as messages name it, such as 'mc.fft'
---@param k any
---@param ... table tables whose keys are the names there are
local function missing(space, k, ...)
  if type(k) ~= 'string' or k:sub(1, 1) == '_' then return end
  local reader = debug.getinfo(3, 'S')
  if not reader or reader.what == 'C' or check.inside(reader.source:sub(2)) then return end
  local names = {}
  for i = 1, select('#', ...) do
    for name in next, (select(i, ...)) do
      if type(name) == 'string' and name:sub(1, 1) ~= '_' then names[name] = true end
    end
  end
  local near = check.nearest(k, names)
  check.error(('%s.%s: there is no such name%s'):format(space, k,
    near and ('; did you mean %s.%s?'):format(space, near) or ''), 2)
end

--- Makes reading a name that a namespace does not have an error with the nearest one.
---@param t table without a rule of its own for missing names, else it stays as it is
---@param space string as messages name it, such as 'mc.fft'
---@return table t
function M.strict(t, space)
  local meta = getmetatable(t)
  if meta == nil then meta = {} elseif type(meta) ~= 'table' or meta.__index ~= nil then return t end
  meta.__index = function(_, k)
    missing(space, k, t)
    return nil
  end
  return setmetatable(t, meta)
end

--- The same for a table of functions that is part of a namespace, such as a distribution.
local function strict_part(v, space)
  if type(v) ~= 'table' or rawget(v, '__index') ~= nil then return end
  for _, f in next, v do
    if type(f) == 'function' then return M.strict(v, space) end
  end
end

--- A table whose functions come from files.
---@param namespace string as messages name it, such as 'mc.optim'
---@param files table file = list of the names it defines
---@param tables? table name = file that is a table itself
---@param elsewhere? function gives the names that other libraries give to what stands here: name = how it is called
---@return table
function M.table(namespace, files, tables, elsewhere)
  local FROM, LAZY = {}, tables or {} -- by these names help and completion find them
  M.elsewhere[namespace] = elsewhere
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
          strict_part(v, namespace .. '.' .. k)
        end
      elseif FROM[k] then
        v = require(FROM[k])[k]
        if type(v) == 'function' then v = guard.of(namespace:gsub('^mc%.', '') .. '.' .. k, v)
        else strict_part(v, namespace .. '.' .. k) end
      elseif type(k) ~= 'string' or k:sub(1, 1) == '_' then return nil
      else
        local names = {}
        for _, list in ipairs { FROM, LAZY } do
          for name in next, list do names[name] = true end
        end
        local here, near = elsewhere and elsewhere()[k], check.nearest(k, names)
        check.error(('%s.%s: there is no such name%s'):format(namespace, k, here and '; it is ' .. here
          or near and ('; did you mean %s.%s?'):format(namespace, near) or ''), 2)
      end
      rawset(t, k, v)
      return v
    end,
  })
end

--- Parts of a module that are modules themselves: they load when touched, with checks in front of their functions.
---@param t table the module
---@param space string as messages name it, without mc
---@param parts table name = file
---@param inner? table the same, of parts that scripts and tests of the library use: they can change, and help and
---  completion do not list them
---@return table t
function M.parts(t, space, parts, inner)
  local FROM, INNER, known = parts, inner or {}, {}
  return setmetatable(t, { __index = function(_, k)
    if known[k] then return known[k] end
    if not FROM[k] and not INNER[k] then
      missing('mc.' .. space, k, t, FROM)
      return nil
    end
    local v = FROM[k] and require(FROM[k]) or require(INNER[k])
    if type(v) == 'table' then
      guard.all(('%s.%s.'):format(space, k), v)
      strict_part(v, ('mc.%s.%s'):format(space, k))
    end
    if FROM[k] then rawset(t, k, v) else known[k] = v end
    return v
  end })
end

return M
