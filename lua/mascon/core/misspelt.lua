-- misspelt.lua - what a name that is no device's may have been, in words to follow the message.
local check = require 'mascon.core.check'
local cards = require 'mascon.core.cards'

local WORDS = { cpu = '', auto = '', gpu = '' } -- what follows a name: nothing, or a colon and a number
for _, kind in ipairs(cards) do WORDS[kind] = ':' end

---@param name string
---@return string "" where nothing is near
return function(name)
  local head, rest = name:lower():match '^([^:]*)(:?.*)$'
  local near = WORDS[head] and head or check.nearest(head, WORDS)
  if not near or name == near or WORDS[near] == ':' and name:find('^' .. near .. ':%d+$') then return '' end
  if near == 'gpu' and rest ~= '' then
    return ('; "gpu" has no number: name the card, such as %s'):format(cards.named(1, ' or '))
  end
  return ('; did you mean %q?'):format(WORDS[near] == ':' and rest:find '^:%d+$' and near .. rest or near)
end
