-- lengths.lua - lengths at which transforms are fast.
local check = require 'mascon.core.check'

local M = {}

--- Smallest 2^a 3^b 5^c at or above n: lengths at which transforms are fast.
---     mc.fft.next_fast_len(17)  --> 18
function M.next_fast_len(n)
  check.arg('next_fast_len', 'n', n, 'integer >= 1', 3)
  local best = math.huge
  local p5 = 1
  while p5 < best do
    local p35 = p5
    while p35 < best do
      local v = p35
      while v < n do v = v * 2 end
      if v < best then best = v end
      if p35 >= n then break end
      p35 = p35 * 3
    end
    if p5 >= n then break end
    p5 = p5 * 5
  end
  return best
end

return M
