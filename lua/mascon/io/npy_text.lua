-- npy_text.lua - texts as the .npy image NumPy makes of them (dtype '<U': each text in UTF-32, filled up with zeros;
-- 'S': bytes).
--
-- Holds the translation of a text or a list of UTF-8 strings to such an image and back. Pure text work:
local M = {}

local char, byte, floor = string.char, string.byte, math.floor

--- Code points of a UTF-8 text; bytes that are none count as they are.
local function points(s)
  local out, i = {}, 1
  while i <= #s do
    local a, n = byte(s, i), 0
    if a >= 0xf0 and a < 0xf8 then n = 3 elseif a >= 0xe0 then n = 2 elseif a >= 0xc0 then n = 1 end
    local v = n == 3 and a % 8 or n == 2 and a % 16 or n == 1 and a % 32 or a
    for k = 1, n do
      local b = byte(s, i + k)
      if not b or b < 0x80 or b > 0xbf then n, v = 0, a break end
      v = v * 64 + b % 64
    end
    out[#out + 1] = v
    i = i + n + 1
  end
  return out
end

local function utf8(v)
  if v < 0x80 then return char(v) end
  if v < 0x800 then return char(0xc0 + floor(v / 64), 0x80 + v % 64) end
  if v < 0x10000 then return char(0xe0 + floor(v / 4096), 0x80 + floor(v / 64) % 64, 0x80 + v % 64) end
  return char(0xf0 + floor(v / 262144), 0x80 + floor(v / 4096) % 64, 0x80 + floor(v / 64) % 64, 0x80 + v % 64)
end

--- The .npy image of a text (an array without axes) or of a list of them.
---@param list string|string[]
---@return string bytes
function M.encode(list)
  local single = type(list) == 'string'
  local rows, width = {}, 1
  for i, s in ipairs(single and { list } or list) do
    rows[i] = points(s)
    width = math.max(width, #rows[i])
  end
  local header =
    ("{'descr': '<U%d', 'fortran_order': False, 'shape': (%s), }"):format(width, single and '' or #rows .. ',')
  header = header .. (' '):rep((-(10 + #header + 1)) % 64) .. '\n'
  local out = { '\147NUMPY\1\0', char(#header % 256, floor(#header / 256)), header }
  for _, row in ipairs(rows) do
    for k = 1, width do
      local v = row[k] or 0
      out[#out + 1] = char(v % 256, floor(v / 256) % 256, floor(v / 65536), 0)
    end
  end
  return table.concat(out)
end

--- One text of `width` places from position p; nil when there are no code points.
local function text_at(bytes, p, width, order)
  local text = {}
  for k = 0, width - 1 do
    local a, b, c, d = byte(bytes, p + 4 * k, p + 4 * k + 3)
    if order == '>' then a, b, c, d = d, c, b, a end
    local v = a + 256 * b + 65536 * c
    if d ~= 0 or v >= 0x110000 then return nil end
    if v ~= 0 then text[#text + 1] = utf8(v) end
  end
  return table.concat(text)
end

local MOST = 2 ^ 24 -- texts

--- The text, list of texts or nested list of an .npy image, or nil and what is wrong.
---@param bytes string
---@return string|table|nil
---@return string|nil
function M.decode(bytes)
  if bytes:sub(1, 6) ~= '\147NUMPY' or #bytes < 12 then return nil, 'it is no .npy image' end
  local major = byte(bytes, 7)
  local size, at = byte(bytes, 9) + 256 * byte(bytes, 10), 11
  if major > 1 then size, at = size + 65536 * (byte(bytes, 11) + 256 * byte(bytes, 12)), 13 end
  local header = bytes:sub(at, at + size - 1)
  local order, kind, digits = header:match "'descr':%s*'([<>=|]?)([US])(%d+)'"
  local axes, fortran = header:match "'shape':%s*%(([%d,%s]*)%)", header:find "'fortran_order':%s*True" ~= nil
  if not kind or not axes or #digits > 9 then return nil, 'it holds no texts' end
  local shape, count = {}, 1
  for n in axes:gmatch '%d+' do
    shape[#shape + 1] = tonumber(n)
    count = count * tonumber(n)
  end
  local first, width = at + size, tonumber(digits)
  local step = kind == 'U' and 4 * width or width
  if #shape > 8 or count > MOST then return nil, 'it holds more than 16 million texts' end
  if #bytes - first + 1 < step * count then return nil, 'it is cut short' end
  if fortran and #shape > 1 then return nil, 'its texts lie column by column; save it with numpy.ascontiguousarray' end
  local i, broken = 0, false
  local function read(axis)
    if axis > #shape then
      local p = first + step * i
      i = i + 1
      if kind == 'S' then return (bytes:sub(p, p + step - 1):gsub('%z+$', '')) end
      local text = text_at(bytes, p, width, order)
      broken = broken or not text
      return text
    end
    local out = {}
    for k = 1, shape[axis] do out[k] = read(axis + 1) end
    return out
  end
  if count == 0 then return {} end
  local out = read(1)
  if broken then return nil, 'it holds no texts' end
  return out
end

return M
