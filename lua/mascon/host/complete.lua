-- complete.lua - what can stand at the cursor of the prompt.
--
-- Names and keywords, fields after a dot and methods after a colon, file names inside quotes, module names inside
-- require, commands after a percent sign. Walks tables and the __index tables of metatables only: no function of the
-- user's is ever called, so that pressing Tab has no effect on the session. Objects of the library, whose fields cannot
-- be enumerated from outside, are asked through require('mascon').complete.

local host = require 'mascon.host'
local show = require 'mascon.host.show'

local M = {}

local MAX_CHAIN = 8 -- __index tables followed
local KEYWORDS = { 'and', 'break', 'do', 'else', 'elseif', 'end', 'false', 'for', 'function', 'goto', 'if', 'in',
  'local', 'nil', 'not', 'or', 'repeat', 'return', 'then', 'true', 'until', 'while' }
M.COMMANDS = { 'bench', 'help', 'mem', 'time', 'who' }

local function library()
  local loaded = package.loaded.mascon
  return type(loaded) == 'table' and loaded or nil
end

---Names that the library lists for `object`, or nil.
local function from_library(object)
  local hook = library() and rawget(library(), 'complete')
  if type(hook) ~= 'function' then return nil end
  local ok, names = pcall(hook, object)
  return ok and type(names) == 'table' and names or nil
end

---Calls visit(name, value) for every field of `object` that can be seen without running code.
local function each_field(object, visit)
  local kind = type(object)
  if kind == 'cdata' or kind == 'table' then
    for _, name in ipairs(from_library(object) or {}) do visit(name, nil) end
  end
  local current = object
  if kind ~= 'table' then
    local meta = debug.getmetatable(object)
    current = type(meta) == 'table' and rawget(meta, '__index') or nil
  end
  for _ = 1, MAX_CHAIN do
    if type(current) ~= 'table' then return end
    for name, value in next, current do
      if type(name) == 'string' then visit(name, value) end
    end
    local meta = debug.getmetatable(current)
    current = type(meta) == 'table' and rawget(meta, '__index') or nil
  end
end

---Field `name` of `object` without running code; modules of the library that load at first use are loaded.
local function field(object, name)
  local found
  each_field(object, function(key, value)
    if key == name and found == nil then found = value end
  end)
  if found == nil and object == library() then -- a namespace or workflow that loads when touched
    local ok, module = pcall(function() return object[name] end)
    if ok then found = module end
  end
  return found
end

---The session's value called `name`.
local function root(session, name)
  local value = rawget(session.env, name)
  if value == nil then value = rawget(_G, name) end
  if value == nil and name == 'mc' then
    local ok, module = pcall(require, 'mascon')
    if ok then value = module end
  end
  return value
end

local function sorted_with_prefix(seen, prefix)
  local list = {}
  for name in pairs(seen) do
    if name:sub(1, #prefix) == prefix and (prefix ~= '' or name:sub(1, 1) ~= '_') then list[#list + 1] = name end
  end
  table.sort(list)
  return list
end

local function fields(session, path, separator, prefix)
  local object
  for name in path:gmatch('[^.]+') do
    if object == nil then object = root(session, name) else object = field(object, name) end
    if object == nil then return {} end
  end
  local seen = {}
  each_field(object, function(name, value)
    if show.is_name(name) and (separator == '.' or value == nil or type(value) == 'function') then seen[name] = true end
  end)
  return sorted_with_prefix(seen, prefix)
end

local function names(session, prefix)
  local seen = { mc = true }
  for _, word in ipairs(KEYWORDS) do seen[word] = true end
  for _, source in ipairs { session.env, _G } do
    for name in next, source do
      if type(name) == 'string' and show.is_name(name) then seen[name] = true end
    end
  end
  return sorted_with_prefix(seen, prefix)
end

---Files whose path begins with `text`; folders end in a slash.
local function files(text)
  local folder, start = text:match('^(.*/)([^/]*)$')
  if not folder then folder, start = '', text end
  local place = folder == '' and '.' or folder
  if place:sub(1, 2) == '~/' then place = (os.getenv('HOME') or '~') .. place:sub(2) end
  local list = {}
  for _, name in ipairs(host.list(place) or {}) do
    if name:sub(1, #start) == start and (start ~= '' or name:sub(1, 1) ~= '.') then list[#list + 1] = folder .. name end
  end
  table.sort(list)
  return list
end

---Modules on package.path, loaded or not, whose name begins with `text`.
local function modules(text)
  local seen = {}
  for name in pairs(package.loaded) do seen[name] = true end
  for name in pairs(package.preload) do seen[name] = true end
  local parent = text:match('^(.*%.)[^.]*$') or ''
  for template in package.path:gmatch('[^;]+') do
    local folder, suffix = template:match('^(.*)%?(.*)$')
    if folder and suffix == '.lua' then
      for _, name in ipairs(host.list(folder .. parent:gsub('%.', '/')) or {}) do
        local module = name:match('^([%w_-]+)%.lua$') or name:match('^([%w_-]+)/$')
        if module then seen[parent .. module] = true end
      end
    end
  end
  local list = {}
  for name in pairs(seen) do
    if name:sub(1, #text) == text then list[#list + 1] = name end
  end
  table.sort(list)
  return list
end

---The quote that is open at the end of `text`, and what stands before and behind it.
local function open_quote(text)
  local quote, at
  local i = 1
  while i <= #text do
    local c = text:sub(i, i)
    if quote then
      if c == '\\' then i = i + 1 elseif c == quote then quote = nil end
    elseif c == '"' or c == "'" then
      quote, at = c, i
    elseif text:find('^%-%-', i) then
      return nil
    end
    i = i + 1
  end
  if quote then return text:sub(1, at - 1), text:sub(at + 1) end
end

---@param session table {env = table}
---@param line string
---@param cursor integer bytes before the cursor
---@return string[] words, integer start bytes before the part that they replace
function M.complete(session, line, cursor)
  local text = line:sub(1, cursor)
  local command = text:match('^%s*%%(%a*)$')
  if command then
    local seen = {}
    for _, name in ipairs(M.COMMANDS) do seen[name] = true end
    return sorted_with_prefix(seen, command), #text - #command
  end
  if text:find('^%s*!') then
    local last = text:match('[^%s!]*$')
    return files(last), #text - #last
  end
  local before, inside = open_quote(text)
  if before then
    if before:find('require%s*%(?%s*$') then return modules(inside), #text - #inside end
    return files(inside), #text - #inside
  end
  local path, separator, prefix = text:match('([%a_][%w_.]*)([.:])([%w_]*)$')
  if path then return fields(session, path, separator, prefix), #text - #prefix end
  prefix = text:match('[%a_][%w_]*$') or ''
  if prefix == '' and text:find('[%w_%)%]}]$') then return {}, #text end
  return names(session, prefix), #text - #prefix
end

return M
