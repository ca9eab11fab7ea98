-- plan.lua - `mascon plan FILE [args]`: what a script would cost, before it runs.
--
-- Runs the script with the host's flag `planning` set. Workflows ask for it through mascon.manifest.planning(), print
-- time and peak memory and stop. Says so when nothing in the script asked.
local host = require 'mascon.host'

local M = {}

---@param args string[]
---@return integer status
function M.main(args)
  if not args[1] then
    io.stderr:write('mascon plan needs a script: mascon plan FILE [args]\n')
    return 2
  end
  host.planning, host.plan_asked = true, false
  local argv = { [0] = host.exe, '--' }
  for i, word in ipairs(args) do argv[i + 1] = word end
  local status = require('mascon.host.runner').main(argv)
  host.planning = false
  if status == 0 and not host.plan_asked then
    io.stderr:write(('mascon plan: nothing in %s knows plan mode, so the script ran as usual\n'):format(args[1]))
    return 1
  end
  return status
end

return M
