-- bytes.lua - texts as tensors of bytes, to lie in an archive of arrays.
local tensor = require 'mascon.core.tensor'
local M = {}

--- The bytes of a text: u8 [n].
function M.of(text)
  local out = tensor.empty('checkpoint', { #text }, 'u8', 3)
  local p = tensor.pointer(out)
  for i = 1, #text do p[i - 1] = text:byte(i) end
  return out
end

--- The text of bytes.
function M.text(bytes)
  local out, p = {}, tensor.pointer(bytes)
  for i = 1, bytes.shape[1] do out[i] = string.char(p[i - 1]) end
  return table.concat(out)
end

return M
