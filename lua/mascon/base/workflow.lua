-- workflow.lua - analyses found by name: mc.NAME is the Lua package workflows.NAME.
--
-- A workflow is a folder workflows/NAME/ with an init.lua (or a file workflows/NAME.lua) in one of the places of
-- package.path: those that come with mascon, the folder of the script, then the folders that MASCON_PATH names, colons
-- between them. Its native part is a list of rows, rows.lua, and a shared object mc_wf_NAME.so in that folder (or among
-- the plug-ins); runtime/mc_plugin.h says how one is written. Holds the search, and what a row that comes along must
-- have.
local lib = require 'mascon.core.ffi'
local op = require 'mascon.core.op'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local error = check.error

local M = {}

for folder in (os.getenv 'MASCON_PATH' or ''):gmatch '[^:]+' do
  local entry = ('%s/?.lua;%s/?/init.lua'):format(folder, folder)
  if not (package.path .. ';'):find(entry .. ';', 1, true) then package.path = package.path .. ';' .. entry end
end

--- The module of a workflow and its file, or nil. Errors inside it blame the script that calls it, as those of the
--- library do.
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

--- Names of the workflows that are there: those in the places of package.path where the program can list folders, and
--- those already loaded.
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

-- ---------------------------------------------------------------- native parts

--- An op where its first operand is: the others are moved there, and results come to host memory unless they stay.
---@param name string of the row
---@param list any[] operands
---@param values table parameters by name
---@param count integer results
---@param stay? boolean results stay on the device
---@return any[] results
function M.call(name, list, values, count, stay)
  local number = list[1]._device
  for i = 2, #list do list[i] = tensor.moved(list[i], number, 3) end
  local out = op.raw(name, list, values, count)
  for i = 1, stay and 0 or #out do out[i] = tensor.hosted(out[i]) end
  return out
end

local FIELDS = {
  nin = 'any', nout = 'any', dtypes = 'table', promote = 'string', params = 'table', base = 'any', method = 'boolean',
  tol = 'string', rules = 'any', doc = 'string', source = 'string', example = 'any', work = 'number',
}
local RULES = { reverse = true, forward = true, without = true, batch = true }

--- A row as it stands in rows.lua, checked and completed.
local function complete(workflow, path, at, given)
  local function wrong(text)
    error(('%s: row %s: %s'):format(path, type(given) == 'table' and tostring(given[1]) or at, text), 0)
  end
  if type(given) ~= 'table' or type(given[1]) ~= 'string' or not given[1]:find '^%a[%w_]*$' then
    wrong 'a row is a table whose first entry is its name'
  end
  local row = { given[1], family = 'native', workflow = workflow, method = false }
  for k, v in next, given do
    if k ~= 1 then
      local kind = FIELDS[k]
      if not kind then
        local near = check.nearest(tostring(k), FIELDS)
        wrong(('there is no field %s%s'):format(tostring(k), near and ('; did you mean %s?'):format(near) or ''))
      end
      if kind ~= 'any' and type(v) ~= kind then wrong(('%s is %s; give a %s'):format(k, check.show(v), kind)) end
      row[k] = v
    end
  end
  for _, k in ipairs { 'nin', 'dtypes', 'tol', 'rules', 'doc', 'source' } do
    if row[k] == nil then wrong(('it has no %s; a row needs nin, dtypes, tol, rules, doc and source'):format(k)) end
  end
  local kinds = {}
  for _, d in ipairs(lib.gen.dtypes) do kinds[d[1]] = true end
  for _, d in ipairs(row.dtypes) do if not kinds[d] then wrong(('there is no dtype %s'):format(tostring(d))) end end
  for _, k in ipairs { 'nin', 'nout' } do
    local n = row[k]
    if n ~= nil and n ~= 'list'
      and not (type(n) == 'number' and n >= (k == 'nin' and 0 or 1) and n <= 16 and n % 1 == 0) then
      wrong(('%s is %s; give a number up to 16, or "list"'):format(k, check.show(n)))
    end
  end
  if row.nin == 'list' then row.nin = 255 end
  if type(row.rules) == 'table' then
    for k in next, row.rules do
      if not RULES[k] then
        wrong(('rules has no entry %s; there are reverse, forward, without and batch'):format(tostring(k)))
      end
    end
  elseif type(row.rules) ~= 'string' or not row.rules:find '^none: .' then
    wrong 'rules are a table { reverse =, forward =, without =, batch = }, or "none: why there is no derivative"'
  end
  return row
end

local function there(path)
  local f = io.open(path, 'rb')
  if f then f:close() end
  return f ~= nil
end

--- The shared object of a workflow: beside its rows or its init.lua, else among the plug-ins.
local function object_of(name, rows_path, path)
  local file = ('mc_wf_%s.so'):format(name)
  local folders = { rows_path:match '^(.*)/' or '.', path and path:match '^(.*)/' or '.', lib.libdir .. '/plugins' }
  for _, folder in ipairs(folders) do
    if there(folder .. '/' .. file) then return (folder:sub(1, 1) == '/' and '' or './') .. folder .. '/' .. file end
  end
  error(('%s: its native part %s is neither in %s nor in %s; build it (runtime/mc_plugin.h shows how)'):format(name,
    file, folders[1], folders[3]), 3)
end

local native = {}

--- The functions of a workflow's native part, by the names of its rows; opened once, when it is first asked for. The
--- rows take part in compiled functions, derivatives, maps and help as all others do.
---@param name string of the workflow
---@return table functions
function M.native(name)
  if native[name] then return native[name] end
  local module, path = M.find(name)
  if not module then
    error(('workflow %s: there is no folder workflows/%s with an init.lua on package.path'):format(check.show(name),
      tostring(name)), 2)
  end
  local rows_path = package.searchpath(module .. '.rows', package.path)
  if not rows_path then error(('%s: its native part has no rows.lua beside %s'):format(name, path or module), 2) end
  local so = object_of(name, rows_path, path)
  local part, places = lib.open_rows(so)
  if not part then error(('%s: %s'):format(name, places), 2) end
  local rows, functions, seen = {}, {}, {}
  for at, given in ipairs(require(module .. '.rows')) do
    local row = complete(name, rows_path, at, given)
    if op.rows[row[1]] or seen[row[1]] then
      error(('%s: there is an op %s already; give the row another name'):format(name, row[1]), 2)
    end
    if not places[row[1]] then
      error(('%s: row %s has no function in %s; name it in MC_PLUGIN(...)'):format(name, row[1], so), 2)
    end
    rows[at], seen[row[1]] = row, true
  end
  for place in next, places do
    if not seen[place] then
      error(('%s: %s has a function %s that no row of %s names'):format(name, so, place, rows_path), 2)
    end
  end
  for _, row in ipairs(rows) do
    local id, why = lib.add_row(part, places[row[1]], row)
    if not id then error(('%s: %s'):format(name, why), 2) end
    row.id = id
    functions[row[1]] = op.define(row)
  end
  native[name] = functions
  return functions
end

return M
