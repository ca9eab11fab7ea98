-- surrogate.lua - which shifts and permutations the null distribution is made of.
--
-- Holds the draws: counter-based (SplitMix64 of the seed), one shift for all pairs of a row, so that corrections over
-- the map hold; and the checks of draws that the caller brings.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local generate = require 'workflows.pac.generate'
local error = check.error
local M = {}

--- Smallest allowed shift, samples: 1 where nothing is said. The observation is one of its own circular shifts only if
--- none is left out: with shifts of less than a cycle left out, 56 of 100 recordings of 5 s without coupling have a
--- corrected p < 0.05, else 5.
function M.min_shift(o) return o.min_shift or 1 end

--- Surrogates below this shift keep some of the coupling: they count in p, not in the mean and spread that z is made
--- of. One cycle of the slowest phase band, whatever min_shift is; 0 in the compat modes, where shifts are given, where
--- all surrogates are that far, and where too few would be left.
---@param L integer samples
---@param slowest number|nil Hz, the lowest edge of the phase bands
---@param K integer surrogates
---@param first integer smallest shift
---@param shifts? function that gives i64 [K], where they are no run of all from m
---@return integer near
---@return integer count of the surrogates that make mean and spread
function M.near(o, L, slowest, K, first, shifts)
  local m = o.null_shift
  if not m then
    if o.compat ~= 'native' or o.shifts or not (o.fs and slowest) then return 0, K end
    m = math.max(1, math.floor(o.fs / slowest))
  end
  if not o.shifts and first >= m then return 0, K end
  local far
  if shifts then
    local s = shifts()
    far = mc.sum(mc.logical_and(mc.ge(s, m), mc.le(s, L - m)):to 'i64'):item()
  else
    far = math.max(0, math.min(L - first, L - m) - math.max(first, m) + 1)
  end
  if far >= 2 then return m, far end
  if o.null_shift then
    error(('pac: null_shift is %g, and %d of the shifts of %d samples lie so far from 0; mean and spread need 2, ' ..
      'give a smaller null_shift'):format(m, far, L), 2)
  end
  return 0, K
end

--- Shifts brought by the caller: whole numbers of samples within 0..L-1, at least two.
local function given_shifts(list, L)
  local t = mc.is_tensor(list) and list or mc.tensor(list)
  if t.ndim ~= 1 or t:numel() < 2 then
    error(('pac: shifts is a list of %d; give at least 2 shifts in samples'):format(t.ndim == 1 and t:numel() or 0), 2)
  end
  for i, s in ipairs(t:to('f64'):totable()) do
    if s ~= math.floor(s) or s < 0 or s >= L then
      error(('pac: shifts[%d] is %s; shifts are whole samples within 0..%d'):format(i, tostring(s), L - 1), 2)
    end
  end
  return t:to('i64'):contiguous()
end

--- How many shifts there are, and whether they are all from m to L - m.
---@return integer K
---@return boolean all
function M.shift_count(o, L, m)
  if o.shifts then return given_shifts(o.shifts, L):numel(), false end
  if 2 * m > L then
    error(('pac: min_shift is %d of %d samples; it must satisfy 2 min_shift <= samples, use a longer recording or a '
      .. 'smaller min_shift'):format(m, L), 2)
  end
  if o.surrogate == 'exhaustive' then return L - 2 * m + 1, true end
  return o.n_perm, false
end

--- K shifts m + floor(u_k (L - 2m + 1)), u_k the SplitMix64 uniforms of the seed.
---@return any i64 [K]
function M.shifts(o, L, m)
  if o.shifts then return given_shifts(o.shifts, L) end
  if o.surrogate == 'exhaustive' then return mc.arange(m, L - m, { dtype = 'i64' }) end
  local u = generate.uniform(o.n_perm, o.seed)
  return (mc.floor(u * (L - 2 * m + 1)) + m):to 'i64'
end

--- Number of trial permutations.
function M.permutation_count(o)
  local given = o.permutations
  if not given then return o.n_perm end
  local k = mc.is_tensor(given) and (given.ndim == 2 and given.shape[1] or 0) or #given
  if k < 2 then
    error(('pac: permutations holds %d permutations; give at least 2, each a list of segments'):format(k), 2)
  end
  return k
end

local function check_permutation(p, k, S)
  local seen = {}
  for i = 1, S do
    local v = type(p) == 'table' and p[i] or nil
    if type(v) ~= 'number' or v ~= math.floor(v) or v < 1 or v > S or seen[v] then
      error(('pac: permutations[%d] does not hold each of the segments 1..%d once (entry %d is %s)'):format(k, S, i,
        check.show(v)), 3)
    end
    seen[v] = true
  end
end

--- K permutations of 1..S as Lua arrays: the caller's, or Fisher-Yates on SplitMix64 uniforms of seed + 7919 k.
function M.permutations(o, S)
  local given = o.permutations
  if given then
    if mc.is_tensor(given) then given = given:to('f64'):totable() end
    for k = 1, #given do check_permutation(given[k], k, S) end
    return given
  end
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

--- The permutation among the good segments only: bad ones stay where they are, the good take each other's places in the
--- order of p.
---@param p integer[]
---@param good boolean[]
function M.among(p, good)
  local order, out, at = {}, {}, 0
  for _, s in ipairs(p) do if good[s] then order[#order + 1] = s end end
  for s = 1, #p do
    if good[s] then
      at = at + 1
      out[s] = order[at]
    else
      out[s] = s
    end
  end
  return out
end

return M
