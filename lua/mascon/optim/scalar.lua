-- scalar.lua - what a user's function gives where one real number is wanted.
--
-- Holds the conversion and its message.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local error = check.error
local M = {}

--- v as a Lua number: a number, or a real tensor of one element.
---@param fname string public name of the caller
---@param what string which function gave it
---@param v any
---@return number
function M.number(fname, what, v)
  if type(v) == 'number' then return v end
  if tensor.is(v) and v:numel() == 1 and tensor.kind[v.dtype] ~= 'c' then
    local y = tensor.methods.item(v)
    return type(y) == 'boolean' and (y and 1 or 0) or tonumber(y)
  end
  error(('%s: %s gave %s; it must give one real number'):format(fname, what,
    tensor.is(v) and tensor.describe(v) or check.show(v)), 2)
end

--- The message for an argument that must be a function.
function M.callable(fname, what, f)
  if type(f) ~= 'function' and not (getmetatable(f) or {}).__call then
    error(('%s: %s is %s; give a function'):format(fname, what, check.show(f)), 3)
  end
  return f
end

return M
