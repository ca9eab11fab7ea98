-- npy_text.lua - lists of texts as the .npy image NumPy makes of them (dtype '<U': each text in UTF-32, filled up with zeros).
--
-- Owns the translation of a list of UTF-8 strings to such an image and back, for members of .npz files. Pure text work: may not know archives.
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

--- The .npy image of a list of texts.
---@param list string[]
---@return string bytes
function M.encode(list)
  local rows, width = {}, 1
  for i, s in ipairs(list) do
    rows[i] = points(s)
    width = math.max(width, #rows[i])
  end
  local header = ("{'descr': '<U%d', 'fortran_order': False, 'shape': (%d,), }"):format(width, #list)
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

--- The texts of an .npy image, or nil and what is wrong.
---@param bytes string
---@return string[]|nil
---@return string|nil
function M.decode(bytes)
  if bytes:sub(1, 6) ~= '\147NUMPY' or #bytes < 12 then return nil, 'it is no .npy image' end
  local major = byte(bytes, 7)
  local size, at = byte(bytes, 9) + 256 * byte(bytes, 10), 11
  if major > 1 then size, at = size + 65536 * (byte(bytes, 11) + 256 * byte(bytes, 12)), 13 end
  local header = bytes:sub(at, at + size - 1)
  local order, width = header:match "'descr':%s*'([<>=|]?)U(%d+)'"
  local n = header:match "'shape':%s*%((%d*),?%)"
  if not width or not n then return nil, 'it is no list of texts' end
  local count, first = n == '' and 1 or tonumber(n), at + size
  width = tonumber(width)
  if #bytes - first + 1 < 4 * width * count then return nil, 'it is cut short' end
  local out = {}
  for i = 1, count do
    local text = {}
    for k = 1, width do
      local p = first + 4 * ((i - 1) * width + k - 1)
      local a, b, c, d = byte(bytes, p, p + 3)
      if order == '>' then a, b, c, d = d, c, b, a end
      local v = a + 256 * b + 65536 * c
      if d ~= 0 or v >= 0x110000 then return nil, 'it holds no texts' end
      if v ~= 0 then text[#text + 1] = utf8(v) end
    end
    out[i] = table.concat(text)
  end
  return out
end

return M
