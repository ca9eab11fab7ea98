-- print.lua - tensors as text: a header line and at most 3 entries from each end of an axis.
--
-- One number format for all shown entries; only the corners are copied. Holds repr for any Lua value at the prompt.
local tensor = require 'mascon.core.tensor'
local M = {}

local EDGE, LIMIT = 3, 1000

--- Positions of an axis to show; 0 marks the gap.
local function shown(n, full)
  local out = {}
  if full or n <= 2 * EDGE + 1 then
    for i = 1, n do out[i] = i end
  else
    for i = 1, EDGE do out[i] = i end
    out[EDGE + 1] = 0
    for i = n - EDGE + 1, n do out[#out + 1] = i end
  end
  return out
end

--- Format that shows all values alike: whole numbers, fixed, or scientific.
local function number_format(values)
  local max, min, whole = 0, math.huge, true
  for _, v in ipairs(values) do
    if v == v and v ~= math.huge and v ~= -math.huge then
      local a = math.abs(v)
      if a > max then max = a end
      if a > 0 and a < min then min = a end
      if v ~= math.floor(v) then whole = false end
    end
  end
  if whole and max < 1e15 then return '%d' end
  if max >= 1e5 or (max > 0 and max < 1e-3) or (min < 1e-4 and max / min > 1e6) then return '%.4e' end
  return '%.4f'
end

local function text(v, fmt)
  if type(v) == 'boolean' then return tostring(v) end
  if v ~= v then return 'nan' end
  if v == math.huge then return 'inf' elseif v == -math.huge then return '-inf' end
  if fmt == '%d' then return ('%d'):format(v) end
  return fmt:format(v)
end

--- A tensor as text.
function M.tensor(t)
  if t._data == nil and t:numel() > 0 then return 'released tensor' end
  local head = tensor.describe(t)
  local n = t:numel()
  if t.ndim == 0 then
    local v = t:item()
    return ('%s %s'):format(head, type(v) == 'number' and ('%.14g'):format(v) or tostring(v))
  end
  if n == 0 then return head .. ' {}' end
  local full, shape = n <= LIMIT, t.shape
  -- corner values in order, as Lua values
  local flat, cells = {}, {}
  local function value(x)
    if type(x) == 'number' then flat[#flat + 1] = x
    elseif tensor.is_complex(x) then
      flat[#flat + 1] = x.re
      flat[#flat + 1] = x.im
    elseif type(x) == 'cdata' then return tostring(x):gsub('U?LL$', '') end
    return x
  end
  local function read(x, d)
    local pos = shown(shape[d], full)
    local out = {}
    for i, p in ipairs(pos) do
      if p == 0 then out[i] = '...'
      elseif d == #shape then
        local one = x[p]
        out[i] = { value(one:item()) }
        one:release()
      else
        local sub = x[p]
        out[i] = read(sub, d + 1)
        sub:release()
      end
    end
    return out
  end
  local function read_full(x, d)
    local out = {}
    for i = 1, shape[d] do
      if d == #shape then out[i] = { value(x[i]) } else out[i] = read_full(x[i], d + 1) end
    end
    return out
  end
  local rows = full and read_full(t:totable(), 1) or read(t, 1)
  local kind = tensor.kind[t.dtype]
  local fmt = (kind == 'i' or kind == 'u') and '%d' or number_format(flat)
  local width = 0
  local function format(x, d)
    for i, v in ipairs(x) do
      if d == #shape and v ~= '...' then
        local c = v[1]
        local s = tensor.is_complex(c) and text(c.re, fmt) .. (text(c.im, fmt):match '^-' and '' or '+')
          .. text(c.im, fmt) .. 'i'
          or type(c) == 'string' and c or text(c, fmt)
        x[i] = s
        if #s > width then width = #s end
      elseif v ~= '...' then format(v, d + 1) end
    end
  end
  format(rows, 1)
  local function lines(x, d, indent)
    if d == #shape then
      for i, s in ipairs(x) do cells[i] = (' '):rep(s == '...' and 0 or width - #s) .. s end
      return '{ ' .. table.concat(cells, ', ', 1, #x) .. ' }'
    end
    local out = {}
    for i, v in ipairs(x) do out[i] = v == '...' and '...' or lines(v, d + 1, indent .. '  ') end
    return '{ ' .. table.concat(out, ',\n' .. indent .. '  ') .. ' }'
  end
  local body = lines(rows, 1, '')
  return head .. (body:find '\n' and '\n' or ' ') .. body
end

tensor.meta.__tostring = M.tensor

local function repr(v, depth, seen)
  if tensor.is(v) then return M.tensor(v) end
  if type(v) == 'string' then return ('%q'):format(v):gsub('\\\n', '\\n') .. '' end
  if type(v) ~= 'table' then return tostring(v) end
  local meta = getmetatable(v)
  if meta and meta.__tostring then return tostring(v) end
  if seen[v] then return '<cycle>' end
  if next(v) == nil then return '{}' end
  if depth > 3 then return '{...}' end
  seen[v] = true
  local out, n = {}, #v
  for i = 1, math.min(n, 20) do out[#out + 1] = repr(v[i], depth + 1, seen) end
  if n > 20 then out[#out + 1] = ('... %d more'):format(n - 20) end
  local keys = {}
  for k in pairs(v) do
    if not (type(k) == 'number' and k >= 1 and k <= n and k == math.floor(k)) then keys[#keys + 1] = k end
  end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for _, k in ipairs(keys) do
    local name = type(k) == 'string' and k:match '^[%a_][%w_]*$' and k or '[' .. repr(k, depth + 1, seen) .. ']'
    out[#out + 1] = name .. ' = ' .. repr(v[k], depth + 1, seen)
  end
  seen[v] = nil
  local one = '{ ' .. table.concat(out, ', ') .. ' }'
  if #one <= 100 and not one:find '\n' then return one end
  local pad = ('  '):rep(depth)
  return '{\n' .. pad .. table.concat(out, ',\n' .. pad) .. '\n' .. ('  '):rep(depth - 1) .. '}'
end

--- Any value as the prompt shows it. Tables are printed with sorted keys, three deep.
---     mc.repr({ 1, name = 'x' })  --> { 1, name = "x" }
---@param v any
---@return string
function M.repr(v) return repr(v, 1, {}) end

return M
