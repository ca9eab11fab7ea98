-- safetensors.lua - files of named tensors as networks are exchanged: a header in JSON, then the numbers one after
-- another.
--
-- Everything that a header claims is checked before memory is asked for: the data are cut into tensors without holes
-- and without overlaps. Binding module: touches the FFI. Source: the safetensors format, 2023 (huggingface/safetensors,
-- README, "Format").
local ffi = require 'ffi'
local check = require 'mascon.core.check'
local file = require 'mascon.base.file'
local json = require 'mascon.base.json'
local tensor = require 'mascon.core.tensor'
local error = check.error
local M = {}

local HEADER = 100e6 -- bytes of the longest header, as in the format
local SLAB = 8 * 2 ^ 20
local DTYPE = { BOOL = 'bool', U8 = 'u8', I8 = 'i8', I16 = 'i16', I32 = 'i32', I64 = 'i64', F16 = 'f16', BF16 = 'bf16',
  F32 = 'f32', F64 = 'f64', C64 = 'c64' }
local WORD = {}
for word, name in pairs(DTYPE) do WORD[name] = word end

--- A whole number that is not negative.
local function size(x) return type(x) == 'number' and x >= 0 and x % 1 == 0 and x < 2 ^ 53 end

--- One entry of the header as { name, dtype, shape, first, last }; nil and what is wrong.
local function entry(name, e)
  if type(e) ~= 'table' or type(e.dtype) ~= 'string' or type(e.shape) ~= 'table' or type(e.data_offsets) ~= 'table' then
    return nil, 'needs dtype, shape and data_offsets'
  end
  local dtype, first, last = DTYPE[e.dtype], e.data_offsets[1], e.data_offsets[2]
  if not dtype then return nil, ('has the dtype %s, which is not read'):format(check.show(e.dtype)) end
  if #e.shape > 8 then return nil, ('has %d axes; there can be 8'):format(#e.shape) end
  local bytes, empty, shape = tensor.size[dtype], false, {}
  for i, n in ipairs(e.shape) do
    if not size(n) then return nil, ('has the size %s'):format(check.show(n)) end
    shape[i], empty = n, empty or n == 0
    bytes = bytes * (n > 0 and n or 1)
    if bytes >= 2 ^ 53 then return nil, 'is larger than any file' end
  end
  if empty then bytes = 0 end
  if #e.data_offsets ~= 2 or not size(first) or not size(last) or last - first ~= bytes then
    return nil, ('has the offsets %s, its %d bytes do not fit them'):format(json.encode(e.data_offsets), bytes)
  end
  return { name = name, dtype = dtype, shape = shape, first = first, last = last }
end

--- The entries of an open file in the order of their data, its texts, and where the data begin; nil and what is wrong.
local function header(f)
  local total = f:seek 'end'
  f:seek('set', 0)
  local length = f:read(8)
  if not length or #length < 8 then return nil, 'it ends within its header' end
  local n = 0
  for i = 8, 1, -1 do n = n * 256 + length:byte(i) end
  if n > HEADER or n > total - 8 then
    return nil, ('its header would have %.0f bytes; it is no safetensors file, or it is cut'):format(n)
  end
  local list, why = json.decode(f:read(n) or '')
  if type(list) ~= 'table' then return nil, 'its header: ' .. (why or 'is no table') end
  local texts, entries = list.__metadata__, {}
  if texts ~= nil and type(texts) ~= 'table' then return nil, '__metadata__ is no table of texts' end
  for k, v in pairs(texts or {}) do
    if type(k) ~= 'string' or type(v) ~= 'string' then return nil, '__metadata__ is no table of texts' end
  end
  for name, e in pairs(list) do
    if name ~= '__metadata__' then
      local one, wrong = entry(name, e)
      if not one then return nil, ('tensor %s %s'):format(check.show(name), wrong) end
      entries[#entries + 1] = one
    end
  end
  table.sort(entries, function(a, b)
    if a.first ~= b.first then return a.first < b.first end
    if a.last ~= b.last then return a.last < b.last end
    return a.name < b.name
  end)
  local at = 0
  for _, e in ipairs(entries) do
    if e.first ~= at then
      return nil, ('tensor %s begins at byte %d of the data, where %d is due'):format(check.show(e.name), e.first, at)
    end
    at = e.last
  end
  if total - 8 - n ~= at then
    return nil, ('it has %.0f bytes of data, its header says %.0f'):format(total - 8 - n, at)
  end
  return entries, texts or {}, 8 + n
end

--- A file as a table of tensors by name, and its texts (__metadata__). Owns.
---@param path string
---@return table<string, any>
---@return table<string, string>
--- Errors: what is no such file, is cut, or has dtypes that there are none of here (U16, U32, U64, F8).
function M.load(path)
  local f = assert(io.open(path, 'rb'))
  local entries, texts, start = header(f)
  local out = {}
  for _, e in ipairs(entries or {}) do
    local t = tensor.empty('load', e.shape, e.dtype, 3)
    local at, last = e.first, e.last
    if last > at then
      t = tensor.promote(t, 3)
      f:seek('set', start + at)
      local to = ffi.cast('char *', t._data)
      while at < last do
        local bytes = f:read(math.min(SLAB, last - at))
        if not bytes then break end
        ffi.copy(to + (at - e.first), bytes, #bytes)
        at = at + #bytes
      end
    end
    if at < last then entries, texts = nil, 'it became shorter while it was read' break end
    if e.dtype == 'bool' then
      local to = ffi.cast('const uint8_t *', t._data)
      for i = 0, last - e.first - 1 do
        if to[i] > 1 then entries, texts = nil, ('tensor %s holds bytes that are no bool'):format(e.name) break end
      end
    end
    if not entries then break end
    out[e.name] = t
  end
  f:close()
  if not entries then error(('load: %s: %s'):format(path, texts), 3) end
  return out, texts
end

local SAVE = { metadata = { nil, 'table' } }

--- Writes a table of tensors; the old file stays when anything fails. Wide dtypes come first, so that all lie aligned.
---@param path string
---@param value table<string, any>
---@param opts? table metadata: texts by name
function M.save(path, value, opts)
  local o = check.opts('save', opts, SAVE, 4)
  local list, head = {}, {}
  if type(value) ~= 'table' or tensor.is(value) then
    error(('save: value is %s; .safetensors holds a table of tensors'):format(check.show(value)), 3)
  end
  for name, t in pairs(value) do
    if type(name) ~= 'string' or name == '__metadata__' then
      error(('save: key %s; tensors of a .safetensors file have names'):format(check.show(name)), 3)
    end
    if not tensor.is(t) then t = require('mascon.array.create').tensor(t) end
    if not WORD[t.dtype] then
      error(('save: %s is %s, which .safetensors does not hold'):format(name, tensor.describe(t)), 3)
    end
    list[#list + 1] = { name, t, tensor.size[t.dtype] }
  end
  table.sort(list, function(a, b)
    if a[3] ~= b[3] then return a[3] > b[3] end
    return a[1] < b[1]
  end)
  local at = 0
  local function quoted(s) return json.encode(s) end
  if o.metadata then
    local texts = {}
    for k, v in pairs(o.metadata) do
      if type(k) ~= 'string' or type(v) ~= 'string' then
        error('save: metadata holds something else than texts; use tostring', 3)
      end
      texts[#texts + 1] = quoted(k) .. ':' .. quoted(v)
    end
    table.sort(texts)
    head[1] = '"__metadata__":{' .. table.concat(texts, ',') .. '}'
  end
  for _, e in ipairs(list) do
    local t, shape = e[2], {}
    for i, n in ipairs(t.shape) do shape[i] = ('%d'):format(n) end
    local bytes = t:numel() * e[3]
    head[#head + 1] = ('%s:{"dtype":"%s","shape":[%s],"data_offsets":[%.0f,%.0f]}'):format(quoted(e[1]),
      WORD[t.dtype], table.concat(shape, ','), at, at + bytes)
    at = at + bytes
  end
  local text = '{' .. table.concat(head, ',') .. '}'
  text = text .. (' '):rep(-#text % 8)
  local length, n = {}, #text
  for i = 1, 8 do
    length[i] = string.char(n % 256)
    n = math.floor(n / 256)
  end
  local w, ok, why
  w, why = file.create(path)
  if w then ok, why = w:append(table.concat(length) .. text) end
  for _, e in ipairs(list) do
    local t = ok and e[2]:numel() > 0 and tensor.promote(tensor.hosted(e[2]:contiguous()), 3)
    local bytes, from = t and t:numel() * e[3] or 0, t and ffi.cast('const char *', t._data)
    for first = 0, bytes - 1, SLAB do
      if ok then ok, why = w:append(ffi.string(from + first, math.min(SLAB, bytes - first))) end
    end
  end
  if ok then ok, why = w:close() end
  if not ok then error(why, 3) end
end

return M
