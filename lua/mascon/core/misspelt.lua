-- misspelt.lua - what a name that is no device's may have been, in words to follow the message.
local lib = require 'mascon.core.ffi'
local check = require 'mascon.core.check'
local C = lib.C

local KINDS, place = { cpu = '', auto = '', gpu = '' }, 0
while C.mc_device_kind(place) ~= nil do
  KINDS[lib.text(C.mc_device_kind(place))], place = ':', place + 1
end

---@param name string
---@return string "" where nothing is near
return function(name)
  local head, rest = name:lower():match '^([^:]*)(:?.*)$'
  local near = KINDS[head] and head or check.nearest(head, KINDS)
  if not near or name == near or KINDS[near] == ':' and name:find('^' .. near .. ':%d+$') then return '' end
  if near == 'gpu' and rest ~= '' then return '; "gpu" has no number: name the card, such as "cuda:1" or "opencl:1"' end
  return ('; did you mean %q?'):format(KINDS[near] == ':' and rest:find '^:%d+$' and near .. rest or near)
end
