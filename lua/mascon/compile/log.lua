-- log.lua - what compiling says when MASCON_LOG names it.
--
-- MASCON_LOG=compile (or a list with it, or all) writes one line per trace, compile, cache hit and failure to standard
-- error. Holds the lines.
local M = {}

local state = {}
--- Whether lines are wanted.
function M.on()
  local text = os.getenv 'MASCON_LOG' or ''
  if state.text ~= text then
    state.text, state.on = text, (',' .. text .. ','):find ',%s*compile%s*,' ~= nil or text == 'all'
  end
  return state.on
end

--- One line, as string.format takes it.
function M.say(form, ...)
  if M.on() then io.stderr:write('mascon compile: ', (form:format(...):gsub('\n', '\n                ')), '\n') end
end

return M
