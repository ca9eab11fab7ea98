-- crc.lua - the sum by which files of images tell a damaged part.
--
-- Source: ISO 3309; Portable Network Graphics, ISO/IEC 15948:2004, annex D.
local bit = require 'bit'
local M = {}

local bxor, band, rshift = bit.bxor, bit.band, bit.rshift
local table_of

--- CRC-32 of a text, as a signed number of 32 bits.
---@param text string
---@return integer
function M.crc32(text)
  if not table_of then
    table_of = {}
    for n = 0, 255 do
      local c = n
      for _ = 1, 8 do c = band(c, 1) == 1 and bxor(0xedb88320, rshift(c, 1)) or rshift(c, 1) end
      table_of[n] = c
    end
  end
  local c = 0xffffffff
  for i = 1, #text do c = bxor(table_of[band(bxor(c, text:byte(i)), 255)], rshift(c, 8)) end
  return bxor(c, 0xffffffff)
end

return M
