-- script.lua - a script of the scripts folder run by the program under test, as a person runs it, and what it left in a
-- folder.
--
-- Holds the command line and the reading of files that may not be there.
local M = {}

M.program = os.getenv 'MASCON' or require 'mascon.host'.exe

--- Runs scripts/NAME.lua with the words of a line: both outputs together, exit status.
function M.run(name, line)
  local p = assert(io.popen(('MASCON_PROGRESS=0 %s scripts/%s.lua %s 2>&1; echo "<$?>"'):format(M.program, name, line)))
  local text = p:read '*a'
  p:close()
  return text:gsub('<%d+>%s*$', ''), tonumber(text:match '<(%d+)>%s*$')
end

--- The bytes of a file, nil when it is not there.
function M.read(path)
  local f = io.open(path, 'rb')
  local text = f and f:read '*a'
  if f then f:close() end
  return text
end

return M
