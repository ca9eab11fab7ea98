-- gif.lua - frames of palette places as the bytes of an animated GIF.
--
-- Holds: the compression (LZW of codes of 9 to 12 bits), packing of codes, blocks of the file. Formats: Graphics
-- Interchange Format 89a; A technique for high-performance data compression, 1984.
local bit = require 'bit'

local M = {}

local band, rshift = bit.band, bit.rshift
local byte, char = string.byte, string.char

local CLEAR, FINISH, FIRST, MOST = 256, 257, 258, 4096

local function le16(n) return char(band(n, 255), band(rshift(n, 8), 255)) end

--- LZW codes of bytes, packed from the low bit on.
local function compressed(s)
  local out, n = {}, 0
  local held, bits, width = 0, 0, 9
  local function put(code)
    held = held + code * 2 ^ bits
    bits = bits + width
    while bits >= 8 do
      n = n + 1
      out[n] = char(held % 256)
      held, bits = math.floor(held / 256), bits - 8
    end
  end
  local known, after = {}, FIRST
  put(CLEAR)
  local prefix = byte(s, 1)
  for i = 2, #s do
    local b = byte(s, i)
    local key = prefix * 256 + b
    local code = known[key]
    if code then prefix = code
    else
      put(prefix)
      if after == MOST then
        put(CLEAR)
        known, after, width = {}, FIRST, 9
      else
        known[key] = after
        if after == 2 ^ width then width = width + 1 end
        after = after + 1
      end
      prefix = b
    end
  end
  put(prefix)
  if after == 2 ^ width and width < 12 then width = width + 1 end -- the reader has added an entry here
  put(FINISH)
  if bits > 0 then out[n + 1] = char(held % 256) end
  return table.concat(out)
end

--- Bytes in blocks of at most 255, each after its length, and an empty one.
local function blocks(s)
  local out = {}
  for i = 1, #s, 255 do
    local part = s:sub(i, i + 254)
    out[#out + 1] = char(#part) .. part
  end
  out[#out + 1] = '\0'
  return table.concat(out)
end

--- An animation that repeats for ever.
---@param width integer pixels
---@param height integer
---@param frames string[] each of width x height bytes from the upper left on, places in the palette from 0
---@param palette table array of { r, g, b }, each 0 to 255; 256 at most
---@param delay? integer hundredths of a second per frame (8)
---@return string bytes of a GIF file
function M.animation(width, height, frames, palette, delay)
  local colours = {}
  for i = 1, 256 do
    local c = palette[i] or { 0, 0, 0 }
    colours[i] = char(c[1], c[2], c[3])
  end
  local out = { 'GIF89a', le16(width), le16(height), '\247\0\0', table.concat(colours),
    '\33\255\11NETSCAPE2.0\3\1\0\0\0' }
  for _, frame in ipairs(frames) do
    out[#out + 1] = '\33\249\4\4' .. le16(delay or 8) .. '\0\0'
    out[#out + 1] = '\44\0\0\0\0' .. le16(width) .. le16(height) .. '\0\8'
    out[#out + 1] = blocks(compressed(frame))
  end
  out[#out + 1] = '\59'
  return table.concat(out)
end

return M
