-- files.lua - a folder for the files of one test, with plain reading and writing in it. Loaded with support.load.
--
-- A spec calls begin() before and finish() after each test; between them `at` names a file in the folder.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/support/[^/]*$' or 'tests') .. '/support/init.lua')
local recordings = support.load 'recordings'
local M = {}
local folder

function M.begin() folder = recordings.folder() end

--- The folder goes with all that the test left in it.
function M.finish() recordings.remove(folder) end

function M.folder() return folder end
function M.at(name) return folder .. '/' .. name end

--- Writes the bytes of a file: its path.
function M.write(name, bytes)
  local f = assert(io.open(M.at(name), 'wb'))
  f:write(bytes)
  f:close()
  return M.at(name)
end

function M.read(path)
  local f = assert(io.open(path, 'rb'))
  local s = f:read '*a'
  f:close()
  return s
end

--- Names in the folder, sorted, one string.
function M.listing()
  local p = io.popen('ls -A ' .. folder)
  local s = p:read '*a'
  p:close()
  return (s:gsub('\n$', ''))
end

return M
