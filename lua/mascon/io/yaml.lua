-- yaml.lua - YAML texts as Lua values, with the line of every value; Lua values as YAML.
---
--- Mappings are tables with string keys, sequences lists, null is mc.json.null. Plain scalars follow the core schema of
--- YAML 1.2: true and false, but yes, no, on and off are
--- texts; 1e-8 is a number; dates are texts. Anchors, aliases and merge keys (<<) work. Tags other than those of the
--- core schema are refused: a text never becomes an object.
--- The syntax is libyaml's, behind a plug-in.
--- Source: YAML 1.2.2, chapter 10 (schema); the merge key of YAML 1.1.
local lib = require 'mascon.core.ffi'
local check = require 'mascon.core.check'
local json = require 'mascon.base.json'
local text = require 'mascon.base.text'
local error = check.error
local M = {}

local DEEPEST = 200

-- ---------------------------------------------------------------- scalars

local WORDS = {
  [''] = json.null, ['~'] = json.null, null = json.null, Null = json.null, NULL = json.null, ['true'] = true,
    True = true, TRUE = true, ['false'] = false, False = false, FALSE = false,
  ['.inf'] = math.huge, ['.Inf'] = math.huge, ['.INF'] = math.huge, ['+.inf'] = math.huge, ['-.inf'] = -math.huge,
    ['-.Inf'] = -math.huge, ['-.INF'] = -math.huge,
  ['.nan'] = 0 / 0, ['.NaN'] = 0 / 0, ['.NAN'] = 0 / 0,
}

local function number(s)
  if s:find '^[-+]?%d+$' then return tonumber(s) end
  if s:find '^0o[0-7]+$' then return tonumber(s:sub(3), 8) end
  if s:find '^0x%x+$' then return tonumber(s:sub(3), 16) end
  local mantissa, exponent = s:match '^([-+]?[%d.]+)([eE]?[-+]?%d*)$'
  if mantissa and (mantissa:find '^[-+]?%.?%d+$' or mantissa:find '^[-+]?%d+%.%d*$') and (exponent == ''
    or exponent:find '^[eE][-+]?%d+$') then return tonumber(s) end
end

local PREFIX = 'tag:yaml.org,2002:'

--- The value of a scalar event.
local function scalar(r, e)
  local tag = e.tag
  if tag ~= '' and tag ~= '!' then
    local name = tag:sub(1, #PREFIX) == PREFIX and tag:sub(#PREFIX + 1)
    if name == 'str' then return e.value end
    local v = WORDS[e.value]
    if v == nil then v = number(e.value) end
    if (name == 'int' or name == 'float') and type(v) == 'number' then return v end
    if name == 'bool' and type(v) == 'boolean' then return v end
    if name == 'null' and v == json.null then return v end
    r.fail(e, ('the tag %s is not read; tags cannot make anything but plain values'):format(tag))
  end
  if e.kind == 'q' or tag == '!' then return e.value end
  local v = WORDS[e.value]
  if v ~= nil then return v end
  return number(e.value) or e.value
end

-- ---------------------------------------------------------------- reading

--- The next event of the row, or nil at its end.
local function next_event(r)
  if r.at > #r.events then return nil end
  local from, to, kind, line, column, a, t, v = r.events:find('^(.) (%d+) (%d+) (%d+) (%d+) (%d+)\n', r.at)
  assert(from, 'yaml: a broken row of events')
  a, t, v = tonumber(a), tonumber(t), tonumber(v)
  local e = {
    kind = kind, line = tonumber(line), column = tonumber(column), anchor = r.events:sub(to + 1, to + a),
      tag = r.events:sub(to + a + 1, to + a + t),
    value = r.events:sub(to + a + t + 1, to + a + t + v),
  }
  r.at = to + a + t + v + 1
  return e
end

local node

local function key_text(r, e, k)
  if type(k) == 'table' and k ~= json.null then r.fail(e, 'a key is a list or a mapping; keys are texts or numbers') end
  return type(k) == 'number' and text.number(k) or tostring(k)
end

--- Takes over what a merge key names, where the mapping has no such key itself.
local function merge(r, e, into, lines, order, from)
  local list = type(from) == 'table' and (from[1] ~= nil and from or { from }) or nil
  if not list or from == json.null then r.fail(e, 'the merge key << must name a mapping or a list of them') end
  for _, m in ipairs(list) do
    if type(m) ~= 'table' or m == json.null or m[1] ~= nil then r.fail(e,
      'the merge key << must name a mapping or a list of them') end
    for _, k in ipairs(r.order[m]) do
      if into[k] == nil then into[k], lines[k], order[#order + 1] = m[k], r.lines[m][k], k end
    end
  end
end

local function mapping(r, start, depth)
  local out, lines, order, merges = {}, {}, {}, {}
  r.lines[out], r.order[out] = lines, order
  if start.anchor ~= '' then r.anchors[start.anchor] = { value = out, open = true } end
  while true do
    local e = next_event(r)
    if e.kind == '}' then break end
    local plain_merge = e.kind == 'p' and e.value == '<<'
    local k = key_text(r, e, node(r, e, depth + 1))
    local v = node(r, next_event(r), depth + 1)
    if plain_merge then merges[#merges + 1] = { e, v }
    else
      if out[k] ~= nil then r.fail(e, ('the key %q stands here again; it was on line %d'):format(k, lines[k])) end
      out[k], lines[k], order[#order + 1] = v, e.line, k
    end
  end
  for _, m in ipairs(merges) do merge(r, m[1], out, lines, order, m[2]) end
  if start.anchor ~= '' then r.anchors[start.anchor].open = nil end
  return out
end

local function sequence(r, start, depth)
  local out, lines = json.array {}, {}
  r.lines[out] = lines
  if start.anchor ~= '' then r.anchors[start.anchor] = { value = out, open = true } end
  while true do
    local e = next_event(r)
    if e.kind == ']' then break end
    out[#out + 1], lines[#out + 1] = node(r, e, depth + 1), e.line
  end
  if start.anchor ~= '' then r.anchors[start.anchor].open = nil end
  return out
end

--- The value that begins with an event.
function node(r, e, depth)
  if depth > DEEPEST then r.fail(e, ('it is nested deeper than %d'):format(DEEPEST)) end
  if e.kind == '*' then
    local known = r.anchors[e.anchor]
    if not known then r.fail(e, ('there is no anchor &%s before it'):format(e.anchor)) end
    if known.open then r.fail(e, ('the alias *%s lies inside of its own anchor'):format(e.anchor)) end
    return known.value
  end
  if e.kind == '{' or e.kind == '[' then
    if e.tag ~= '' and e.tag ~= '!' and e.tag ~= PREFIX .. (e.kind == '{' and 'map' or 'seq') then r.fail(e,
      ('the tag %s is not read; tags cannot make anything but plain values'):format(e.tag)) end
    return (e.kind == '{' and mapping or sequence)(r, e, depth)
  end
  local v = scalar(r, e)
  if e.anchor ~= '' then r.anchors[e.anchor] = { value = v } end
  return v
end

--- The value of a text, a table lines[mapping or list][key] = line, and order[mapping] = its keys as they stand in the
--- text. Raises with line and column.
---     require('mascon.io.yaml').decode 'a: [1, 2e-3]'.a[2]  --> 0.002
---@param source string
---@param name? string what messages call it
---@return any value, table lines, table order
function M.decode(source, name)
  check.arg('yaml.decode', 'text', source, 'string', 3)
  name = name or 'yaml'
  local events, why = lib.yaml_events(source)
  if not events then error(why:gsub('^yaml: ', function() return name .. ': ' end), 2) end
  local r = { events = events, at = 1, anchors = {}, lines = {}, order = {} }
  function r.fail(e, what) error(('%s: line %d, column %d: %s'):format(name, e.line, e.column, what), 0) end
  local ok, value = pcall(function()
    local value
    local e = next_event(r)
    if not e then return json.null end
    value = node(r, next_event(r), 0)
    local more = next_event(r)
    if more then r.fail(more, 'a second document begins; one file holds one document') end
    return value
  end)
  if not ok then error(value, 2) end
  return value, r.lines, r.order
end

-- bytes of a file: what a person writes takes less
local LONGEST = 2 ^ 26

--- The value of a file, and its lines as for decode.
---@param path string
---@return any value, table lines, table order
function M.load(path)
  local source, why = require('mascon.base.file').read(path, LONGEST)
  if not source then error('load: ' .. why, 2) end
  local value, lines, order = M.decode(source, path)
  return value, lines, order
end

-- ---------------------------------------------------------------- writing

local function quoted(s)
  return '"' .. s:gsub('[%z\1-\31\\"\127]', function(c)
    if c == '\n' then return '\\n' elseif c == '\t' then return '\\t' elseif c == '"' then
      return '\\"' elseif c == '\\' then return '\\\\' end
    return ('\\x%02x'):format(c:byte())
  end) .. '"'
end

--- A text that a reader takes for this text and nothing else, also one of YAML 1.1.
local PLAIN = '^[%a_][%w_ ./@+-]*$'
local OLD = { yes = true, no = true, on = true, off = true, y = true, n = true }
local function word(s)
  if s:find(PLAIN) and not s:find ' $' and WORDS[s] == nil and not OLD[s:lower()] then return s end
  return quoted(s)
end

local function plain(v)
  if v == nil or v == json.null then return 'null' end
  if type(v) == 'boolean' then return tostring(v) end
  if type(v) == 'string' then return word(v) end
  if type(v) == 'number' then
    if v ~= v then return '.nan' elseif v == math.huge then return '.inf' elseif v == -math.huge then return '-.inf' end
    local s = text.number(v)
    return s:find '^[-+]?%d+[eE]' and s:gsub('[eE]', '.0%0', 1) or s -- a number for readers of YAML 1.1 too
  end
end

local function emit(v, indent, out, open)
  local s = plain(v)
  if s then
    out[#out] = out[#out] .. ' ' .. s
    return
  end
  if type(v) ~= 'table' and type(v) ~= 'cdata' then error(('save: a %s has no YAML form'):format(type(v)), 0) end
  if (type(v) == 'cdata' or getmetatable(v) ~= nil) and type(v.totable) == 'function' then v = v:totable() end
  if type(v) ~= 'table' then return emit(v, indent, out, open) end
  if open[v] then error('save: a table contains itself', 0) end
  open[v] = true
  local pad = ('  '):rep(indent)
  if #v > 0 or getmetatable(v) == getmetatable(json.array {}) then
    local flat = {}
    for i = 1, #v do flat[i] = plain(v[i]) end
    if #flat == #v then out[#out] = out[#out] .. ' [' .. table.concat(flat, ', ') .. ']'
    else
      for i = 1, #v do
        out[#out + 1] = pad .. '-'
        emit(v[i], indent + 1, out, open)
      end
    end
  else
    local keys = {}
    for k in pairs(v) do
      if type(k) ~= 'string' then
        error(('save: the key %s is no text; keys of a mapping are texts'):format(tostring(k)), 0) end
      keys[#keys + 1] = k
    end
    table.sort(keys)
    if #keys == 0 then out[#out] = out[#out] .. ' {}' end
    for _, k in ipairs(keys) do
      out[#out + 1] = pad .. word(k) .. ':'
      emit(v[k], indent + 1, out, open)
    end
  end
  open[v] = nil
end

--- A Lua value as YAML: keys sorted, lists of plain values on one line. Readers of YAML 1.1 and 1.2 take it for the
--- same.
---     (require('mascon.io.yaml').encode { b = { 1, 2 } }:gsub('\n', ''))  --> b: [1, 2]
---@param value any
---@return string
function M.encode(value)
  local out = { '' }
  local ok, why = pcall(emit, value, 0, out, {})
  if not ok then error(why, 2) end
  if out[1] == '' then table.remove(out, 1) else out[1] = out[1]:gsub('^ ', '') end
  return table.concat(out, '\n') .. '\n'
end

return M
