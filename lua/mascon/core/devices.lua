-- devices.lua - the devices that an analysis is given: one name, or a list of names of one kind that share its work.
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local error = check.error
local M = {}

--- Numbers of the devices that an analysis runs on: of one name, or of a list of names of one kind, which it shares
--- its work among. Errors: an empty list; what is no name; a device that is not there; several kinds; one
--- that is named twice.
---@param fname string for messages
---@param given string|string[]
---@return integer[]
function M.numbers(fname, given, level)
  local names, out, kind = type(given) == 'table' and given or { given }, {}, nil
  local function fail(fmt, ...) error(('%s: ' .. fmt):format(fname, ...), level + 2) end
  if #names == 0 then fail('device is an empty list; give names, such as { "cuda:0", "cuda:1" }') end
  for i, name in ipairs(names) do
    if type(name) ~= 'string' then
      fail('device%s is %s; give the name of a device, such as "cpu" or "cuda:0"',
        type(given) == 'table' and ('[%d]'):format(i) or '', check.show(name))
    end
    out[i] = tensor.device_number(fname, name, level + 1)
    local own = tensor.device_name(out[i]):match '^%a+'
    if kind and own ~= kind then
      fail('device names %s and %s; work is shared among devices of one kind, which give the same bits', names[1], name)
    end
    kind = own
    for k = 1, i - 1 do
      if out[k] == out[i] then
        fail('device names %s twice (%s and %s); name each device once', tensor.device_name(out[i]), names[k], name)
      end
    end
  end
  return out
end

--- Names of devices by number, one behind the other.
function M.names(numbers)
  local names = {}
  for i, number in ipairs(numbers) do names[i] = tensor.device_name(number) end
  return table.concat(names, ', ')
end

return M
