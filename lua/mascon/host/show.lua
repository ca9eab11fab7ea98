-- show.lua - values as text for the prompt.
--
-- Strings are quoted, numbers shortest that read back the same, tables with sorted keys and limits on depth, entries
-- and width. Tensors and other objects of the library print as the library says (its `repr`). Objects with __tostring
-- use it.

local M = {}

local MAX_DEPTH = 4
local MAX_TOP, MAX_NESTED = 200, 20 -- entries of the outermost and of inner tables
local MAX_STRING = 400

local KEYWORDS = {}
for word in ([[and break do else elseif end false for function goto if in local nil not or repeat return then true until
  while]]):gmatch('%a+') do KEYWORDS[word] = true end

---Whether `text` can stand as a name in Lua.
function M.is_name(text)
  return text:find('^[%a_][%w_]*$') ~= nil and not KEYWORDS[text]
end

---Shortest decimal that reads back as the same number.
function M.number(x)
  if x ~= x then return 'nan' end
  if x == math.huge then return 'inf' end
  if x == -math.huge then return '-inf' end
  if x == math.floor(x) and math.abs(x) < 2 ^ 53 then return ('%.0f'):format(x) end
  for digits = 15, 17 do
    local text = ('%.' .. digits .. 'g'):format(x)
    if tonumber(text) == x then return text end
  end
end

local ESCAPES = { ['\n'] = '\\n', ['\r'] = '\\r', ['\t'] = '\\t', ['"'] = '\\"', ['\\'] = '\\\\' }

---Quoted text with control bytes escaped; UTF-8 passes.
function M.string(s, limit)
  local rest = ''
  if limit and #s > limit then
    rest = (' ... (%d bytes)'):format(#s)
    s = s:sub(1, limit)
  end
  s = s:gsub('[%c"\\]', function(c) return ESCAPES[c] or ('\\%03d'):format(c:byte()) end)
  return '"' .. s .. '"' .. rest
end

local function from_library(value)
  local library = package.loaded.mascon
  local repr = type(library) == 'table' and rawget(library, 'repr')
  if not repr then return nil end
  local ok, text = pcall(repr, value)
  return ok and type(text) == 'string' and text or nil
end

local function object(value)
  local meta = debug.getmetatable(value)
  local kind = type(value)
  if kind == 'cdata' then return from_library(value) or tostring(value) end
  if type(meta) == 'table' and rawget(meta, '__tostring') then
    local ok, text = pcall(tostring, value)
    return ok and text or ('<%s whose __tostring failed: %s>'):format(kind, tostring(text))
  end
end

local function scalar(value, nested)
  local kind = type(value)
  if kind == 'number' then return M.number(value) end
  if kind == 'string' then return M.string(value, nested and 80 or MAX_STRING) end
  if kind == 'function' then
    local info = debug.getinfo(value, 'S')
    local where = info.what == 'C' and 'builtin' or ('%s:%d'):format(info.short_src, info.linedefined)
    return ('function <%s>'):format(where)
  end
  return tostring(value)
end

local RANK = { boolean = 1, number = 2, string = 3 }

local function key_before(a, b)
  local ta, tb = type(a), type(b)
  if ta ~= tb then return (RANK[ta] or 4) < (RANK[tb] or 4) end
  if ta == 'number' or ta == 'string' then return a < b end
  return tostring(a) < tostring(b)
end

---Keys outside of the array part 1..n, sorted.
local function other_keys(t, n)
  local keys = {}
  for key in next, t do
    if not (type(key) == 'number' and key >= 1 and key <= n and key == math.floor(key)) then keys[#keys + 1] = key end
  end
  table.sort(keys, key_before)
  return keys
end

local function array_length(t)
  local n = 0
  while rawget(t, n + 1) ~= nil do n = n + 1 end
  return n
end

local render

local function render_table(t, depth, indent, width, above)
  if above[t] then return '<itself, further up>' end
  local n = array_length(t)
  local keys = other_keys(t, n)
  if n + #keys == 0 then return '{}' end
  if depth >= MAX_DEPTH then return ('{...} (%d entries)'):format(n + #keys) end
  above[t] = true
  local limit = depth == 0 and MAX_TOP or MAX_NESTED
  local parts, simple = {}, true
  local inner = indent .. '  '
  for i = 1, n + #keys do
    if i > limit then
      parts[#parts + 1] = ('... (%d more)'):format(n + #keys - limit)
      break
    end
    local key = i <= n and i or keys[i - n]
    local value = rawget(t, key)
    local text = render(value, depth + 1, inner, width, above)
    if i > n then
      local name = type(key) == 'string' and M.is_name(key) and key
        or '[' .. (type(key) == 'table' and tostring(key) or scalar(key, true)) .. ']'
      text = name .. ' = ' .. text
    end
    if text:find('\n', 1, true) then simple = false end
    parts[#parts + 1] = text
  end
  above[t] = nil
  local line = '{ ' .. table.concat(parts, ', ') .. ' }'
  if simple and #indent + #line <= width then return line end
  if simple and #keys == 0 then
    -- long arrays of short things: as many to a line as fit
    local lines, current = {}, inner
    for i, part in ipairs(parts) do
      local piece = part .. (i < #parts and ',' or '')
      if #current + #piece + 1 > width and current ~= inner then
        lines[#lines + 1] = current
        current = inner
      end
      current = current .. (current == inner and '' or ' ') .. piece
    end
    lines[#lines + 1] = current
    return '{\n' .. table.concat(lines, '\n') .. '\n' .. indent .. '}'
  end
  return '{\n' .. inner .. table.concat(parts, ',\n' .. inner) .. '\n' .. indent .. '}'
end

function render(value, depth, indent, width, above)
  local kind = type(value)
  if kind == 'table' or kind == 'userdata' or kind == 'cdata' then
    local text = object(value)
    if text then return (text:gsub('\n', '\n' .. indent)) end
  end
  if kind == 'table' then
    if depth == 0 and debug.getmetatable(value) ~= nil then
      local text = from_library(value)
      if text then return text end
    end
    return render_table(value, depth, indent, width, above)
  end
  return scalar(value, depth > 0)
end

---@param value any
---@param width? integer columns, 80
---@return string
function M.value(value, width)
  return render(value, 0, '', (width or 80) - 1, {})
end

return M
