-- twister.lua - the Mersenne Twister in the forms of NumPy's legacy generator.
--
-- Holds one stream: seeding by one integer, words, bounded integers by masked rejection, uniform doubles, permutations.
-- Splits that other programs drew from an integer seed can so be drawn again to the last index.
local bit = require 'bit'
local check = require 'mascon.core.check'
local band, bor, bxor, lshift, rshift, tobit = bit.band, bit.bor, bit.bxor, bit.lshift, bit.rshift, bit.tobit
local M = {}

local N, SHIFT = 624, 397
local Stream = {}
Stream.__index = Stream

-- 1812433253 x mod 2^32, in halves: a product of two 32-bit words does not fit into a double
local function times(x)
  local low, high = x % 65536, math.floor(x / 65536)
  return ((1812433253 * high) % 65536 * 65536 + 1812433253 * low) % 2 ^ 32
end

--- A stream seeded by one integer.
---     mc.autoreject.twister.new(42):uniform()  --> 0.37454011884736
---@param seed integer 0 .. 2^32 - 1
---@return table stream with :word(), :bounded(max), :uniform(), :permutation(n)
--- Errors: a seed that is no integer in this range.
--- Source: Mersenne twister, ACM Trans. Model. Comput. Simul. 8, 3, 1998; seeding init_genrand of its authors, 2002.
function M.new(seed)
  check.arg('autoreject.twister', 'seed', seed, 'integer >= 0')
  if seed >= 2 ^ 32 then check.error(('autoreject.twister: seed is %.0f; it must be below 2^32'):format(seed), 2) end
  local state, x = {}, seed
  for i = 0, N - 1 do
    state[i] = tobit(x)
    local folded = bxor(tobit(x), rshift(tobit(x), 30)) % 2 ^ 32
    x = (times(folded) + i + 1) % 2 ^ 32
  end
  return setmetatable({ state = state, at = N }, Stream)
end

local function refill(s)
  for i = 0, N - 1 do
    local y = bor(band(s[i], 0x80000000), band(s[(i + 1) % N], 0x7fffffff))
    local z = bxor(s[(i + SHIFT) % N], rshift(y, 1))
    s[i] = band(y, 1) == 1 and bxor(z, 0x9908b0df) or z
  end
end

--- The next word as a signed 32-bit number.
function Stream:word()
  if self.at == N then
    refill(self.state)
    self.at = 0
  end
  local y = self.state[self.at]
  self.at = self.at + 1
  y = bxor(y, rshift(y, 11))
  y = bxor(y, band(lshift(y, 7), 0x9d2c5680))
  y = bxor(y, band(lshift(y, 15), 0xefc60000))
  return bxor(y, rshift(y, 18))
end

--- An integer of 0 .. max: words under the smallest all-ones mask, those above max drawn again. max = 0 draws nothing.
---@param max integer below 2^31
function Stream:bounded(max)
  if max == 0 then return 0 end
  local mask = max
  for _, s in ipairs { 1, 2, 4, 8, 16 } do mask = bor(mask, rshift(mask, s)) end
  while true do
    local v = band(self:word(), mask)
    if v <= max then return v end
  end
end

--- A double on [0, 1): 53 bits of two words.
function Stream:uniform()
  local a, b = rshift(self:word(), 5), rshift(self:word(), 6)
  return (a * 67108864 + b) / 9007199254740992
end

--- 0 .. n - 1 shuffled from the end, as a list.
---@param n integer
---@return integer[]
function Stream:permutation(n)
  local list = {}
  for i = 1, n do list[i] = i - 1 end
  for i = n - 1, 1, -1 do
    local j = self:bounded(i)
    list[i + 1], list[j + 1] = list[j + 1], list[i + 1]
  end
  return list
end

return M
