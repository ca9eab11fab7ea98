-- workflow.lua - analyses found by name: mc.NAME is the Lua package workflows.NAME.
--
-- A workflow is a folder workflows/NAME/ with an init.lua (or a file workflows/NAME.lua) in one of the places of package.path: those that come with
-- mascon, the folder of the script, then the folders that MASCON_PATH names, colons between them. Owns the search. May not know any workflow.
local check = require 'mascon.core.check'
local next = require('jit').next or next -- the builtin one: see runtime/host/chunks.c

local M = {}

for folder in (os.getenv 'MASCON_PATH' or ''):gmatch '[^:]+' do
  local entry = ('%s/?.lua;%s/?/init.lua'):format(folder, folder)
  if not (package.path .. ';'):find(entry .. ';', 1, true) then package.path = package.path .. ';' .. entry end
end

--- The module of a workflow and its file, or nil. Errors inside it blame the script that calls it, as those of the library do.
---     require('mascon.base.workflow').find 'no_such_name'  --> nothing
---@param name string
---@return string? module, string? path
function M.find(name)
  if type(name) ~= 'string' or not name:find '^%a[%w_]*$' then return nil end
  local module = 'workflows.' .. name
  local path = package.searchpath(module, package.path)
  if path then
    check.own(path:gsub('init%.lua$', ''))
    return module, path
  end
  if package.loaded[module] or package.preload[module] then return module end
end

--- Names of the workflows that are there: those in the places of package.path where the program can list folders, and those already loaded.
---@return string[] sorted
function M.names()
  local found, host = {}, package.loaded['mascon.host']
  local list = type(host) == 'table' and host.list
  for module in next, package.loaded do
    local name = type(module) == 'string' and module:match '^workflows%.(%a[%w_]*)$'
    if name then found[name] = true end
  end
  for folder in (list and package.path or ''):gmatch '([^;?]*)%?%.lua' do
    for _, entry in ipairs(list(folder .. 'workflows') or {}) do
      local name = entry:match '^(%a[%w_]*)/$' or entry:match '^(%a[%w_]*)%.lua$'
      if name and M.find(name) then found[name] = true end
    end
  end
  local names = {}
  for name in next, found do names[#names + 1] = name end
  table.sort(names)
  return names
end

return M
