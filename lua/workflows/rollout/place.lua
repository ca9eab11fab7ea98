-- place.lua - the device that operators run on.
--
-- Weights and states live there; fields, noise and features are made on the processor, so that the numbers drawn and
-- the definitions of the columns are the same everywhere.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local cards = require 'mascon.core.cards'
local place = require 'mascon.core.place'
local error = check.error
local M = {}

--- Whether a name is that of a card, whether it is there or not: gpu, a kind of cards, one with a number.
local function is_card(name)
  local kind = name:match '^(%l+)$' or name:match '^(%l+):%d+$'
  return name == 'gpu' or kind ~= nil and cards[kind] ~= nil
end

--- Whether a text has the form of a device's name: cpu, auto, gpu, cuda, cuda:0, opencl:0.
function M.is_name(name)
  return type(name) == 'string'
    and (name == 'cpu' or name == 'auto' or is_card(name) or name:find '^%l+:%d+$' ~= nil)
end

--- The device that a word of a configuration means; a card that is not there is the processor, with a warning, so that
--- a configuration made where there is one serves elsewhere. Errors: a name that is none; another device that is not
--- there.
---@param name string? that of MASCON_DEVICE, else the processor, where nothing is said
---@return string device
---@return string? warning
function M.of(name)
  name = name or place.of_analysis()
  if name == 'auto' then return (mc.args.device 'auto') end
  local ok, found = check.try(mc.choose_device, name)
  if ok then return found end
  local why = tostring(found):match '^[^\n]*':gsub('^.-choose_device: ', '')
  if not is_card(name) then error(('simulation.device is %s: %s'):format(name, why), 0) end
  return 'cpu', ('simulation.device is %s, which is not there: computed on the processor (%s)'):format(name, why)
end

--- Weights of operator.weights on a device.
function M.weights(list, device)
  if device == 'cpu' or type(list) ~= 'table' then return list end
  local out = {}
  for i, w in ipairs(list) do
    out[i] = {}
    for k, t in pairs(w) do
      out[i][k] = mc.keep(t:to(device))
      t:release()
    end
  end
  return out
end

return M
