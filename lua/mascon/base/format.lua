-- format.lua - mc.format and mc.printf: string.format that also takes one-element tensors, 64-bit integers and complex
-- numbers.
--
-- Reads the format; the writing of each plain number is left to string.format.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local error = check.error

local M = {}

local INTEGER = { d = true, i = true, u = true }
local NUMBER = { e = true, E = true, f = true, F = true, g = true, G = true, a = true, A = true }

--- Digits of a boxed 64-bit integer, or nil.
local function boxed(v)
  return type(v) == 'cdata' and tostring(v):match '^(%-?%d+)U?LL$' or nil
end

--- A tensor of one element becomes that element; %s and %q print any tensor.
local function plain(v, conversion, spec, i)
  if not tensor.is(v) then return v end
  if v:numel() == 1 and conversion ~= 's' then return v:item() end
  if conversion == 's' then return v.ndim == 0 and v:item() or tostring(v) end
  error(('format: argument %d is %s and %s takes one number; use %%s, or index the tensor'):format(i,
    tensor.describe(v), spec), 4)
end

--- Digits under the flags, width and precision of an integer conversion.
local function padded(digits, flags, width, precision)
  local sign = digits:sub(1, 1) == '-' and '-' or flags:find('+', 1, true) and '+'
    or flags:find(' ', 1, true) and ' ' or ''
  digits = digits:gsub('^%-', '')
  if precision ~= '' then digits = ('0'):rep((tonumber(precision:sub(2)) or 0) - #digits) .. digits end
  local missing = (tonumber(width) or 0) - #sign - #digits
  if missing <= 0 then return sign .. digits end
  if flags:find('-', 1, true) then return sign .. digits .. (' '):rep(missing) end
  if flags:find('0', 1, true) and precision == '' then return sign .. ('0'):rep(missing) .. digits end
  return (' '):rep(missing) .. sign .. digits
end

local function one(spec, flags, width, precision, conversion, v, i)
  v = plain(v, conversion, spec, i)
  if conversion == 's' then return spec:format(tostring(v)) end
  if conversion == 'q' then return spec:format(v) end
  local digits = boxed(v)
  if digits and INTEGER[conversion] then return padded(digits, flags, width, precision) end
  if digits and NUMBER[conversion] then v = tonumber(v) end
  if digits and type(v) == 'cdata' then
    error(('format: argument %d is a 64-bit integer; %s does not take it, use %%d'):format(i, spec), 4)
  end
  if tensor.is_complex(v) then
    if not NUMBER[conversion] then
      error(('format: argument %d is complex; use %%s or %%g, not %s'):format(i, spec), 4)
    end
    local part = '%' .. flags:gsub('[-+ 0]', '') .. precision .. conversion
    local text = part:format(v.re) .. ('%+' .. part:sub(2)):format(v.im) .. 'i'
    return ('%' .. (flags:find('-', 1, true) and '-' or '') .. width .. 's'):format(text)
  end
  if type(v) == 'boolean' then v = v and 1 or 0 end
  if type(v) ~= 'number' and not (type(v) == 'string' and tonumber(v)) then
    error(('format: argument %d is %s and %s takes a number'):format(i, check.show(v), spec), 4)
  end
  if (INTEGER[conversion] or conversion == 'x' or conversion == 'X' or conversion == 'o') and v ~= math.floor(v) then
    error(('format: argument %d is %.17g and %s takes a whole number; use %%g'):format(i, v, spec), 4)
  end
  return spec:format(v)
end

local function format(text, ...)
  if type(text) ~= 'string' then error(('format: the format is %s; give a string'):format(check.show(text)), 3) end
  local n, i = select('#', ...), 0
  local args = { ... }
  local out, at = {}, 1
  while true do
    local from = text:find('%', at, true)
    if not from then break end
    out[#out + 1] = text:sub(at, from - 1)
    if text:sub(from + 1, from + 1) == '%' then
      out[#out + 1], at = '%', from + 2
    else
      local flags, width, precision, conversion, next_at = text:match('^([-+ #0]*)(%d*)(%.?%d*)(%a)()', from + 1)
      if not conversion or not ('diuoxXcsqeEfFgGaA'):find(conversion, 1, true) then
        error(('format: %q is no conversion; write %%%% for a percent sign'):format(text:sub(from, from + 3)), 3)
      end
      i = i + 1
      if i > n then error(('format: the format asks for at least %d arguments and got %d'):format(i, n), 3) end
      local spec = text:sub(from, next_at - 1)
      out[#out + 1], at = one(spec, flags, width, precision, conversion, args[i], i), next_at
    end
  end
  out[#out + 1] = text:sub(at)
  return table.concat(out)
end

--- Text from a format as in string.format. One-element tensors give their element, 64-bit integers all their digits
--- (%d), complex numbers both parts (%g: 1+2i), %s any tensor.
---     mc.format('%d of %.1f', mc.tensor(3), 4)  --> 3 of 4.0
---@param text string
---@return string
function M.format(text, ...)
  local s = format(text, ...)
  return s
end

--- mc.format to standard output.
---@param text string
function M.printf(text, ...)
  local s = format(text, ...)
  io.write(s)
end

return M
