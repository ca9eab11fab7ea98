-- cards.lua - the kinds of cards, such as cuda, in the order in which one is looked for: a list, and a set by name.
--
-- The library has the list (runtime/device/mc_context.c); a kind that tests alone use is not in it.
local lib = require 'mascon.core.ffi'
local M = {}

while lib.C.mc_device_kind(#M) ~= nil do M[#M + 1] = lib.text(lib.C.mc_device_kind(#M)) end
for i = 1, #M do M[M[i]] = true end

--- Names of their devices of a number, in quotes, apart by a text: "cuda:0", "opencl:0".
function M.named(number, between)
  local names = {}
  for i, kind in ipairs(M) do names[i] = ('"%s:%d"'):format(kind, number) end
  return table.concat(names, between)
end

return M
