-- splitmix.lua - SplitMix64 as tensors: the numbers of conformance recipes, which other programs can make too.
--
-- 64-bit words are i64 tensors, whose products wrap as the recipe wants. Random numbers of analyses come from
-- mc.random.
local mc = require 'mascon.array'
local M = {}

local GAMMA, MIX1, MIX2 = 0x9E3779B97F4A7C15LL, 0xBF58476D1CE4E5B9LL, 0x94D049BB133111EBLL

-- z ^= z >>> bits, in place; the sign bits that the arithmetic shift copies in are masked off
local function fold(z, bits)
  local t = mc.bitwise_right_shift(z, bits)
  mc.bitwise_and(t, 2 ^ (64 - bits) - 1, { out = t })
  mc.bitwise_xor(z, t, { out = z })
  t:release()
end

--- The first n words of each seed: i64 [S, n], unsigned in two's complement. seeds: list of whole numbers or boxed
--- 64-bit integers.
function M.words(n, seeds)
  local column = mc.tensor(seeds)
  if column.dtype ~= 'i64' then column = column:to 'i64' end
  local z = mc.arange(1, n, 1, { dtype = 'i64' }) * mc.tensor { GAMMA } + column:reshape(-1, 1)
  fold(z, 30)
  z:mul_(mc.tensor { MIX1 })
  fold(z, 27)
  z:mul_(mc.tensor { MIX2 })
  fold(z, 31)
  return z
end

--- The upper 53 bits of the words times 2^-53: f64 [S, n] on [0, 1).
function M.uniforms(n, seeds)
  local z = M.words(n, seeds)
  local t = mc.bitwise_right_shift(z, 11)
  mc.bitwise_and(t, 2 ^ 53 - 1, { out = t })
  z:release()
  local u = t:to 'f64'
  t:release()
  return u:mul_(2 ^ -53)
end

return M
