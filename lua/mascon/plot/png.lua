-- png.lua - a palette image as PNG bytes, for heat maps too fine to be drawn cell by cell.
--
-- Holds: chunk framing, Adler-32, base64. Pixels go out in stored (uncompressed) deflate blocks: it keeps the
-- writer free of any library, and the images are at most a few hundred kilobytes.
--
-- Formats: PNG (ISO/IEC 15948), zlib (RFC 1950), deflate (RFC 1951), base64 (RFC 4648).

local bit = require 'bit'
local crc32 = require 'mascon.base.crc'.crc32

local M = {}

local band, rshift = bit.band, bit.rshift
local byte, char = string.byte, string.char

local function adler32(s)
  local a, b = 1, 0
  for i = 1, #s do
    a = a + byte(s, i)
    if a >= 65521 then a = a - 65521 end
    b = b + a
    if b >= 65521 then b = b - 65521 end
  end
  return b * 65536 + a
end

local function be32(n)
  return char(band(rshift(n, 24), 255), band(rshift(n, 16), 255), band(rshift(n, 8), 255), band(n, 255))
end

local function chunk(kind, data)
  return be32(#data) .. kind .. data .. be32(crc32(kind .. data))
end

local function zlib_stored(s)
  local out, pos = { '\120\1' }, 1
  repeat
    local n = math.min(65535, #s - pos + 1)
    local last = pos + n > #s
    local inverse = 65535 - n
    out[#out + 1] = char(last and 1 or 0, n % 256, math.floor(n / 256), inverse % 256, math.floor(inverse / 256))
    out[#out + 1] = s:sub(pos, pos + n - 1)
    pos = pos + n
  until last
  out[#out + 1] = be32(bit.tobit(adler32(s)))
  return table.concat(out)
end

--- A palette image.
---@param rows table array of rows from top to bottom, each an array of palette places, 0-based
---@param palette table array of { r, g, b }, each 0 to 255; 256 at most
---@return string bytes of a PNG file
function M.indexed(rows, palette)
  local height, width = #rows, #rows[1]
  local lines, cells = {}, {}
  for i = 1, height do
    local row = rows[i]
    for j = 1, width do cells[j] = char(row[j]) end
    lines[i] = '\0' .. table.concat(cells, '', 1, width)
  end
  local colours = {}
  for i, c in ipairs(palette) do colours[i] = char(c[1], c[2], c[3]) end
  return '\137PNG\r\n\26\n' .. chunk('IHDR', be32(width) .. be32(height) .. '\8\3\0\0\0')
    .. chunk('PLTE', table.concat(colours)) .. chunk('IDAT', zlib_stored(table.concat(lines))) .. chunk('IEND', '')
end

local LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

---@param s string
---@return string
function M.base64(s)
  local letters = {}
  for i = 1, 64 do letters[i - 1] = LETTERS:sub(i, i) end
  local out, n = {}, 0
  for i = 1, #s, 3 do
    local a, b, c = byte(s, i, i + 2)
    local v = a * 65536 + (b or 0) * 256 + (c or 0)
    n = n + 1
    out[n] = letters[rshift(v, 18)] .. letters[band(rshift(v, 12), 63)]
      .. (b and letters[band(rshift(v, 6), 63)] or '=') .. (c and letters[band(v, 63)] or '=')
  end
  return table.concat(out)
end

return M
