-- json.lua - JSON (RFC 8259) to and from Lua values.
--
-- Holds: a strict decoder that is safe on hostile bytes (bounded depth, no code, no guessing) and an encoder whose text
-- depends on the value alone: keys are sorted, numbers take their shortest round-trip form.
--
-- What Lua cannot tell apart is marked: `json.null` stands for null inside tables, `json.array(t)` marks a table
-- that must stay an array when it is empty. The decoder marks empty arrays itself.

local check = require 'mascon.core.check'
local text = require 'mascon.base.text'

local M = {}

local byte, sub, fmt, find = string.byte, string.sub, string.format, string.find
local floor, huge = math.floor, math.huge

--- Stands for null in decoded and in encoded tables.
M.null = setmetatable({}, {
  __tostring = function() return 'null' end,
  __newindex = function() error('json.null: cannot be written to', 2) end,
})

local ARRAY = { __name = 'json.array' }

--- Marks a table as an array, which matters when it is empty: it encodes as [] and not as {}.
---     mc.json.encode(mc.json.array {})  --> []
---@param t? table
---@return table the same table
function M.array(t)
  return setmetatable(t or {}, ARRAY)
end

---------------------------------------------------------------------------------------------------------------
-- Encoding

local ESCAPES = {
  ['"'] = '\\"', ['\\'] = '\\\\', ['\b'] = '\\b', ['\f'] = '\\f', ['\n'] = '\\n', ['\r'] = '\\r', ['\t'] = '\\t',
}

local function escape(c)
  return ESCAPES[c] or fmt('\\u%04x', byte(c))
end

local function at(path)
  return path == '' and 'at the top' or 'at ' .. path:gsub('^%.', '')
end

local ENCODE = {
  indent = { 0, 'integer >= 0' },
  nonfinite = { 'error', { 'error', 'null', 'string' } },
  dtype = { nil, { 'f64', 'f32' } },
}

local encode_value

local function encode_string(s, path, st)
  local bad = text.invalid_utf8(s)
  if bad then
    local msg = 'the string %s is not UTF-8 (byte %d); JSON holds text only, encode bytes as base64 or hex first'
    st.fail(fmt(msg, at(path), bad))
  end
  -- DEL and the two Unicode line separators are legal; they are escaped so that the text is safe inside scripts.
  s = s:gsub('[%c"\\\127]', escape)
  return '"' .. s:gsub('\226\128[\168\169]', { ['\226\128\168'] = '\\u2028', ['\226\128\169'] = '\\u2029' }) .. '"'
end

local function encode_number(x, path, st)
  if x ~= x or x == huge or x == -huge then
    if st.nonfinite == 'null' then return 'null' end
    if st.nonfinite == 'string' then return x ~= x and '"NaN"' or x > 0 and '"Infinity"' or '"-Infinity"' end
    st.fail(fmt("%s %s has no JSON form; pass nonfinite = 'null' or 'string'", text.number(x), at(path)))
  end
  return text.number(x, st.dtype)
end

-- Length of the array that t is, or nil when it is an object. An empty table is an object unless marked.
local function array_length(t, path, st)
  local n, count, strings = 0, 0, 0
  for k in pairs(t) do
    if type(k) == 'number' and k >= 1 and k == floor(k) then
      n, count = math.max(n, k), count + 1
    elseif type(k) == 'string' then
      strings = strings + 1
    else
      st.fail(fmt('the table %s has the key %s; keys are strings, or 1 to n for an array', at(path), tostring(k)))
    end
  end
  if count > 0 and strings > 0 then
    st.fail(fmt('the table %s has both array part and named keys; JSON knows one or the other', at(path)))
  end
  if n ~= count then
    st.fail(fmt('the array %s has a gap (%d values up to place %d); fill gaps with json.null', at(path), count, n))
  end
  if count > 0 or getmetatable(t) == ARRAY then return n end
  return nil
end

-- The values of a tensor; single precision needs fewer digits.
local function encode_tensor(values, dtype, path, depth, st)
  local outer = st.dtype
  if dtype == 'f32' and not st.dtype_given then st.dtype = 'f32' end
  local out = encode_value(values, path, depth, st)
  st.dtype = outer
  return out
end

local function encode_table(t, path, depth, st)
  if t == M.null then return 'null' end
  if st.open[t] then st.fail(fmt('the table %s contains itself', at(path))) end
  if depth >= 512 then st.fail(fmt('nesting is deeper than 512 %s', at(path:sub(1, 60)))) end
  if getmetatable(t) ~= ARRAY and type(t.totable) == 'function' then
    return encode_tensor(t:totable(), t.dtype, path, depth, st)
  end
  st.open[t] = true
  local n = array_length(t, path, st)
  local parts, scalar = {}, true
  if n then
    for i = 1, n do
      if type(t[i]) == 'table' then scalar = false end
      parts[i] = encode_value(t[i], path .. '[' .. i .. ']', depth + 1, st)
    end
  else
    scalar = false
    local keys = {}
    for k in pairs(t) do keys[#keys + 1] = k end
    table.sort(keys)
    local colon = st.indent > 0 and ': ' or ':'
    for i, k in ipairs(keys) do
      local name = encode_string(k, path .. '.<key>', st)
      parts[i] = name .. colon .. encode_value(t[k], path .. '.' .. k, depth + 1, st)
    end
  end
  st.open[t] = nil
  local left, right = n and '[' or '{', n and ']' or '}'
  if #parts == 0 then return left .. right end
  if st.indent == 0 then return left .. table.concat(parts, ',') .. right end
  if scalar then return left .. table.concat(parts, ', ') .. right end -- number arrays stay on one line
  local inner, outer = (' '):rep(st.indent * (depth + 1)), (' '):rep(st.indent * depth)
  return left .. '\n' .. inner .. table.concat(parts, ',\n' .. inner) .. '\n' .. outer .. right
end

function encode_value(v, path, depth, st)
  local t = type(v)
  if t == 'string' then return encode_string(v, path, st) end
  if t == 'number' then return encode_number(v, path, st) end
  if t == 'boolean' then return v and 'true' or 'false' end
  if t == 'nil' then return 'null' end
  if t == 'table' then return encode_table(v, path, depth, st) end
  if t == 'cdata' then
    local digits = tostring(v):match('^(%-?%d+)U?LL$')
    if digits then return digits end
    local ok, nested, dtype = check.try(function() return v:totable(), v.dtype end)
    if ok then return encode_tensor(nested, dtype, path, depth, st) end
  end
  return st.fail(fmt('the %s %s has no JSON form', t, at(path)))
end

--- A Lua value as JSON text. Objects come with sorted keys, so equal values give equal text; tensors are
--- written through their `totable`; boxed 64-bit integers keep all digits.
---     mc.json.encode({ b = 1, a = { true } })  --> {"a":[true],"b":1}
---@param value any nil, boolean, number, string, table (array 1..n or string keys), tensor
---@param opts? table indent 0 (spaces a level; 0 is one line), nonfinite 'error'|'null'|'string', dtype
---  'f64'|'f32' (of tensors their own, else 'f64')
---@return string
function M.encode(value, opts)
  local o = check.opts('json.encode', opts, ENCODE)
  local st = {
    indent = o.indent, nonfinite = o.nonfinite, dtype = o.dtype or 'f64', dtype_given = o.dtype ~= nil, open = {},
  }
  local failure = {}
  function st.fail(msg)
    failure.msg = msg
    error(failure, 0)
  end
  local ok, out = pcall(encode_value, value, '', 0, st)
  if ok then return out end
  if out ~= failure then error(out, 0) end
  error('json.encode: ' .. failure.msg, 2)
end

---------------------------------------------------------------------------------------------------------------
-- Decoding

local UNESCAPES = { ['"'] = '"', ['\\'] = '\\', ['/'] = '/', b = '\b', f = '\f', n = '\n', r = '\r', t = '\t' }

local function utf8_encode(code)
  local char = string.char
  if code < 0x80 then return char(code) end
  if code < 0x800 then return char(0xc0 + floor(code / 64), 0x80 + code % 64) end
  if code < 0x10000 then return char(0xe0 + floor(code / 4096), 0x80 + floor(code / 64) % 64, 0x80 + code % 64) end
  return char(0xf0 + floor(code / 262144), 0x80 + floor(code / 4096) % 64, 0x80 + floor(code / 64) % 64,
    0x80 + code % 64)
end

local function stop(st, pos, msg)
  st.failure = { pos = pos, msg = msg }
  error(st.failure, 0)
end

local function skip(s, pos)
  return find(s, '[^ \t\r\n]', pos) or #s + 1
end

local function decode_escape(st, pos)
  local s = st.text
  local c = sub(s, pos + 1, pos + 1)
  if UNESCAPES[c] then return UNESCAPES[c], pos + 2 end
  if c ~= 'u' then stop(st, pos, 'unknown escape \\' .. text.plain(c)) end
  local hex = s:match('^%x%x%x%x', pos + 2)
  if not hex then stop(st, pos, '\\u takes four hexadecimal digits') end
  local code, after = tonumber(hex, 16), pos + 6
  if code >= 0xdc00 and code <= 0xdfff then stop(st, pos, 'second half of a surrogate pair without the first') end
  if code >= 0xd800 and code <= 0xdbff then
    local low = s:match('^\\u([dD][c-fC-F]%x%x)', after)
    if not low then stop(st, pos, 'first half of a surrogate pair without the second') end
    code, after = 0x10000 + (code - 0xd800) * 1024 + (tonumber(low, 16) - 0xdc00), after + 6
  end
  return utf8_encode(code), after
end

local function decode_string(st, pos)
  local s, parts, i = st.text, nil, pos + 1
  while true do
    local stop_at = find(s, '["\\%c]', i)
    if not stop_at then stop(st, pos, 'the string has no end') end
    local c = byte(s, stop_at)
    if c == 34 then
      local piece = sub(s, i, stop_at - 1)
      if parts then
        parts[#parts + 1] = piece
        piece = table.concat(parts)
      end
      return piece, stop_at + 1
    elseif c == 92 then
      parts = parts or {}
      parts[#parts + 1] = sub(s, i, stop_at - 1)
      parts[#parts + 1], i = decode_escape(st, stop_at)
    elseif c == 127 then -- DEL is a control character to Lua and none to JSON
      parts = parts or {}
      parts[#parts + 1] = sub(s, i, stop_at)
      i = stop_at + 1
    else
      stop(st, stop_at, 'a control character inside a string must be escaped')
    end
  end
end

local function decode_number(st, pos)
  local s = st.text
  local _, last = find(s, '^%-?%d+', pos)
  if not last then stop(st, pos, 'a number needs a digit after the sign') end
  if find(s, '^%-?0%d', pos) then stop(st, pos, 'a number must not start with 0') end
  local _, fraction = find(s, '^%.%d+', last + 1)
  if not fraction and byte(s, last + 1) == 46 then stop(st, last + 1, 'a digit must follow the decimal point') end
  last = fraction or last
  local _, exponent = find(s, '^[eE][+-]?%d+', last + 1)
  if not exponent and find(s, '^[eE]', last + 1) then stop(st, last + 1, 'the exponent has no digits') end
  last = exponent or last
  local x = tonumber(sub(s, pos, last))
  if x == huge or x == -huge then stop(st, pos, 'the number is beyond the range of a double') end
  return x, last + 1
end

local LITERALS = { t = { 'true', true }, f = { 'false', false }, n = { 'null' } }

local decode_value

local function decode_array(st, pos, depth)
  local s, out, n = st.text, {}, 0
  pos = skip(s, pos + 1)
  if byte(s, pos) == 93 then return M.array(out), pos + 1 end
  while true do
    n = n + 1
    out[n], pos = decode_value(st, pos, depth + 1)
    pos = skip(s, pos)
    local c = byte(s, pos)
    if c == 93 then return out, pos + 1 end
    if c ~= 44 then stop(st, pos, "expected ',' or ']' in the array") end
    pos = skip(s, pos + 1)
    if byte(s, pos) == 93 then stop(st, pos, "a ',' must not stand before ']'") end
  end
end

local function decode_object(st, pos, depth)
  local s, out, seen = st.text, {}, {}
  pos = skip(s, pos + 1)
  if byte(s, pos) == 125 then return out, pos + 1 end
  while true do
    if byte(s, pos) ~= 34 then stop(st, pos, 'an object key must be a string in double quotes') end
    local key, value
    local key_at = pos
    key, pos = decode_string(st, pos)
    if seen[key] then stop(st, key_at, fmt('the key "%s" stands twice in one object', text.plain(key))) end
    seen[key] = true
    pos = skip(s, pos)
    if byte(s, pos) ~= 58 then stop(st, pos, "expected ':' after the key") end
    value, pos = decode_value(st, skip(s, pos + 1), depth + 1)
    out[key] = value
    pos = skip(s, pos)
    local c = byte(s, pos)
    if c == 125 then return out, pos + 1 end
    if c ~= 44 then stop(st, pos, "expected ',' or '}' in the object") end
    pos = skip(s, pos + 1)
    if byte(s, pos) == 125 then stop(st, pos, "a ',' must not stand before '}'") end
  end
end

function decode_value(st, pos, depth)
  local s = st.text
  local c = sub(s, pos, pos)
  if c == '{' or c == '[' then
    if depth >= st.max_depth then stop(st, pos, fmt('nesting is deeper than %d', st.max_depth)) end
    if c == '{' then return decode_object(st, pos, depth) end
    return decode_array(st, pos, depth)
  end
  if c == '"' then return decode_string(st, pos) end
  if find(c, '[%-%d]') then return decode_number(st, pos) end
  local literal = LITERALS[c]
  if literal and sub(s, pos, pos + #literal[1] - 1) == literal[1] then
    if c == 'n' then return st.null, pos + 4 end
    return literal[2], pos + #literal[1]
  end
  if c == '' then stop(st, pos, 'the text ends where a value should stand') end
  stop(st, pos, 'no value starts with ' .. fmt('%q', text.plain(s:match('^[%w_]+', pos) or c)))
end

local DECODE = { null = { nil, 'any' }, max_depth = { 256, 'integer >= 1' } }

-- Line and column (in bytes) of a position.
local function place(s, pos)
  local line, start = 1, 1
  while true do
    local nl = find(s, '\n', start, true)
    if not nl or nl >= pos then break end
    line, start = line + 1, nl + 1
  end
  return fmt('line %d, column %d', line, pos - start + 1)
end

--- JSON text as a Lua value. Strict: no comments, no trailing commas, no NaN, no duplicate keys, valid UTF-8 and
--- nothing after the value. null becomes `json.null` (or the option `null`); integers beyond 2^53 become the nearest
--- double.
---     mc.json.decode('[1, 2]')[2]  --> 2
---@param s string
---@param opts? table null json.null, max_depth 256
---@return any value, or nil
---@return string|nil message with line and column when the text is not JSON
function M.decode(s, opts)
  if type(s) ~= 'string' then error('json.decode: expected a string, got ' .. type(s), 2) end
  local o = check.opts('json.decode', opts, DECODE)
  local bad = text.invalid_utf8(s)
  if bad then return nil, fmt('json.decode: %s: not UTF-8', place(s, bad)) end
  local st = { text = s, max_depth = o.max_depth, null = o.null }
  if st.null == nil then st.null = M.null end
  local ok, value, pos = pcall(decode_value, st, skip(s, 1), 0)
  if ok then
    pos = skip(s, pos)
    if pos <= #s then return nil, fmt('json.decode: %s: text goes on after the value', place(s, pos)) end
    return value
  end
  if value ~= st.failure then error(value, 0) end
  return nil, fmt('json.decode: %s: %s', place(s, value.pos), value.msg)
end

return M
