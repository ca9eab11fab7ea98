-- numbers.lua - numbers for people: a value with the digits that its error leaves, no exponent where none is needed.
--
-- Terminal, report, verdict and notes write their numbers with these functions; files keep every digit.
local M = {}

local LEAST, MOST = 1e-3, 1e7 -- sizes between them are written without an exponent
local DIGITS = 2 -- of an error
local FINEST = 12 -- significant digits beyond which an error no longer cuts its value

--- The power of ten of the first digit of |v| rounded to so many digits.
local function power_of(v, digits)
  return tonumber((('%%.%de'):format(digits - 1):format(math.abs(v))):match 'e([+-]%d+)$')
end

--- A number rounded at the place of 10^place, without an exponent.
local function fixed(v, place)
  local s
  if place < 0 then s = ('%%.%df'):format(-place):format(v)
  else
    local unit = 10 ^ place
    s = ('%.0f'):format(math.floor(math.abs(v) / unit + 0.5) * unit * (v < 0 and -1 or 1))
  end
  return (s:gsub('^%-([0.]+)$', '%1'))
end

--- The same with an exponent: 2.943e-4.
local function scientific(v, place)
  local digits = math.max(power_of(v, 1) - place, 0)
  return ((('%%.%de'):format(digits):format(v)):gsub('e%+?(%-?)0*(%d)', 'e%1%2'))
end

--- A number with so many significant digits, no trailing zeros: 94960, 0.0123, 2.5e-5.
---@param v number
---@param digits? integer 4
---@return string
function M.number(v, digits)
  if v ~= v then return 'nan' end
  if math.abs(v) == math.huge then return v > 0 and 'infinite' or '-infinite' end
  if v == 0 then return '0' end
  digits = digits or 4
  local power = power_of(v, digits)
  local place = power - digits + 1
  local plain = math.abs(v) >= LEAST and math.abs(v) < MOST
  local s = plain and fixed(v, place) or scientific(v, place)
  local head, tail = s:match '^([^e]*)(.*)$'
  if head:find('.', 1, true) then head = head:gsub('0+$', ''):gsub('%.$', '') end
  return head .. tail
end

--- Whether an error says where the digits of a value end.
local function is_known(error) return error and error > 0 and error < math.huge end

--- The place of the last digit that an error leaves, and whether both are written without an exponent.
local function place_of(value, error)
  local size = math.max(math.abs(value), error)
  local place = power_of(error, DIGITS) - DIGITS + 1
  if size > 0 and power_of(size, 1) - place >= FINEST then return nil end
  return place, size >= LEAST and size < MOST
end

--- A value with the digits that its error leaves, and the error: '4970', '960'. Without an error so many digits.
---@param value number
---@param error? number standard error; nil, 0, NaN and infinity say nothing about the digits
---@param digits? integer of a value whose error is not known, 6
---@return string value
---@return string error '' where it is none
function M.rounded(value, error, digits)
  local place, plain
  if is_known(error) and math.abs(value) < math.huge then place, plain = place_of(value, error) end
  if not place then
    return M.number(value, digits or 6), error and M.number(error, is_known(error) and DIGITS or nil) or ''
  end
  if plain then return fixed(value, place), fixed(error, place) end
  return value == 0 and '0' or scientific(value, place), scientific(error, place)
end

--- A value with its error: '4970 +- 960'; the value alone where the error is none.
---@param value number
---@param error? number
---@param digits? integer
---@return string
function M.with_error(value, error, digits)
  local v, e = M.rounded(value, error, digits)
  return is_known(error) and v .. ' +- ' .. e or v
end

return M
