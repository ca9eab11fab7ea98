--- mascon.pac.surrogate: which shifts and permutations the null distribution is made of.
--
-- Owns the draws: counter-based (SplitMix64 of the seed), one shift for all pairs of a row, so that corrections over the map hold. May not
-- know measures.
local mc = require 'mascon'
local generate = require 'mascon.pac.generate'
local M = {}

--- Smallest allowed shift: one sample in the compat modes, one cycle of the slowest phase band otherwise.
function M.min_shift(o, L, slowest)
  if o.min_shift then return o.min_shift end
  if o.compat ~= 'native' then return 1 end
  return math.max(1, math.min(math.floor(o.fs / slowest), math.floor(L / 2)))
end

--- K shifts m + floor(u_k (L - 2m + 1)), u_k the SplitMix64 uniforms of the seed.
---@return any i64 [K]
function M.shifts(o, L, m)
  if 2 * m > L then
    error(('pac: min_shift is %d of %d samples; it must satisfy 2 min_shift <= samples, use a longer recording or a smaller min_shift'):format(m, L), 4)
  end
  if o.shifts then return mc.tensor(o.shifts, { dtype = 'i64' }) end
  if o.surrogate == 'exhaustive' then return mc.arange(m, L - m, { dtype = 'i64' }) end
  local u = generate.uniform(o.n_perm, o.seed)
  return (mc.floor(u * (L - 2 * m + 1)) + m):to 'i64'
end

--- K permutations of 1..S as Lua arrays: Fisher-Yates on SplitMix64 uniforms of seed + k.
function M.permutations(o, S)
  local out = {}
  for k = 1, o.n_perm do
    local p = {}
    for i = 1, S do p[i] = i end
    local u = generate.uniform(S, o.seed + 7919 * k):totable()
    for i = S, 2, -1 do
      local j = math.floor(u[i] * i) + 1
      p[i], p[j] = p[j], p[i]
    end
    out[k] = p
  end
  return out
end

return M
