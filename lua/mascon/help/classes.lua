-- classes.lua - pages of the types that documentation names: what gives them, their fields and methods.
--
-- A type is a line ---@class NAME of a source file that is loaded; its methods are the functions of the local table
-- below it. Reads source files; the caller reads docstrings (init.lua).
local file = require 'mascon.base.file'
local M = {}

--- Types of a source file: name, line, and the local table that holds the methods.
local function types_of(list)
  local out = {}
  for at, line in ipairs(list) do
    local name = line:match '^%-%-%-@class%s+(%w+%.[%w_.]+)'
    if name then
      local one = { name = name, at = at, fields = {} }
      for i = at + 1, math.min(at + 40, #list) do
        local field, kind = list[i]:match '^%-%-%-@field%s+(%S+)%s+(.*)$'
        if field then one.fields[#one.fields + 1] = ('  %s: %s'):format(field, kind) end
        one.table = list[i]:match '^local%s+([%a_][%w_]*)%s*=' or list[i]:match '^([%a_][%w_]*)%s*='
        if one.table or not list[i]:find '^%-%-' then break end
      end
      out[#out + 1] = one
    end
  end
  return out
end

--- Methods of a type: { name, args, at } with the line of each.
local function methods_of(list, one)
  local out = {}
  for at, line in ipairs(one.table and list or {}) do
    local owner, name, args = line:match '^function%s+([%a_][%w_]*)[:.]([%a][%w_]*)%(([^)]*)'
    if owner == one.table then
      local names = {}
      for word in args:gmatch '[%w_.]+' do names[#names + 1] = word end
      out[#out + 1] = { name = name, args = names, at = at }
    end
  end
  return out
end

--- Names of functions whose text says that they return a type.
local function givers(name, entries)
  local out, plain = {}, name:gsub('%p', '%%%0')
  for _, e in ipairs(entries) do
    for _, line in ipairs(e.text or {}) do
      if line:find('^@return.*%f[%w]' .. plain .. '%f[^%w_.]') then
        out[#out + 1] = e.name
        break
      end
    end
  end
  table.sort(out)
  return table.concat(out, ', ')
end

local function entry_of(one, methods, above, entries)
  local text = above or {}
  local from = givers(one.name, entries)
  text[#text + 1] = from ~= '' and ('Objects of this type come from: %s.'):format(from) or 'A type of objects.'
  if one.fields[1] then text[#text + 1] = 'Fields:' end
  for _, line in ipairs(one.fields) do text[#text + 1] = line end
  local names = {}
  for _, m in ipairs(methods) do if m.text then names[#names + 1] = m.name end end
  table.sort(names)
  if names[1] then text[#text + 1] = ('Methods: %s'):format(table.concat(names, ', ')) end
  return { name = one.name, kind = 'class', text = text }
end

--- Entries of all types and of their methods that have a docstring: mascon.plot.Axes and Axes:line.
---@param entries table[] of help.entries: functions that give them
---@param above fun(list: string[], at: integer): string[]|nil the docstring above a line
---@return table[] list of { name, kind 'class'|'method', text, args }
function M.list(entries, above)
  local modules, out, found, known = {}, {}, {}, { unpack(entries) }
  for module in pairs(package.loaded) do modules[#modules + 1] = module end
  table.sort(modules)
  for _, module in ipairs(modules) do
    local path = package.searchpath(module, package.path)
    local source = path and file.read(path)
    if source and source:find('---@class', 1, true) then
      local list = {}
      for line in (source .. '\n'):gmatch '([^\n]*)\n' do list[#list + 1] = line end
      for _, one in ipairs(types_of(list)) do
        local methods = methods_of(list, one)
        for _, m in ipairs(methods) do m.text = above(list, m.at) end
        found[#found + 1] = { one, methods, above(list, one.at) }
        for _, m in ipairs(methods) do
          if m.text then
            out[#out + 1] = { name = ('%s:%s'):format(one.name:match '[^.]*$', m.name), kind = 'method', text = m.text,
              args = m.args }
            known[#known + 1] = out[#out]
          end
        end
      end
    end
  end
  for _, f in ipairs(found) do out[#out + 1] = entry_of(f[1], f[2], f[3], known) end
  return out
end

return M
