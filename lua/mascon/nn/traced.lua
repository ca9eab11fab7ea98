-- traced.lua - what modules must not do within functions that are traced once for several calls.
--
-- A loop or map traces its function once: a buffer that changes there has no value outside, and random numbers would be
-- the same in all turns.
local check = require 'mascon.core.check'
local recording = require 'mascon.graph.recording'
local error = check.error
local M = {}

--- The recording of a loop or map between this place and a recording around it (nil: all are looked at); nil where
--- there is none.
local function turning(frame)
  local f = recording.frame
  while f and f ~= frame do
    if f.turns then return f end
    f = f.outer
  end
end

--- Refuses a draw of which all turns of a loop or map would have the numbers.
---@param frame table|nil the recording in which the call of the network stands that gave the key
---@param level integer as in error()
function M.draw(frame, level)
  local f = turning(frame)
  if f then
    error(('module: random numbers within mc.%s, whose function is traced once, would be the same in all turns; make '
      .. 'keys outside, keys = mc.random.keys(net:next_key(), n), pass one to each turn, and call the part as '
      .. 'net:apply(net:parameters(), x, { train = true, key = key })'):format(f.name), level + 1)
  end
end

--- Refuses a buffer that changes in a recording from which its value does not come out.
---@param name string of the buffer
---@param home table|nil the recording in which the buffers of a call are taken
---@param level integer as in error()
function M.change(name, home, level)
  local f = recording.frame
  if f == home then return end
  local turns = turning(home)
  if turns then
    error(('module: buffer %s changes within mc.%s, whose function is traced once for all its turns, so that no turn '
      .. 'can hand it on; write the loop in Lua, or put the part in evaluation: net:train(); part:eval()'):format(name,
      turns.name), level + 1)
  elseif f and f.strict then
    error(('module: buffer %s changes within mc.%s in a compiled function, and cannot leave it; call the part outside '
      .. '(nn.Checkpoint hands buffers on), put it in evaluation, net:train(); part:eval(), or take compile = false')
      :format(name, f.name or 'compile'), level + 1)
  end
end

return M
