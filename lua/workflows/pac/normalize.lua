-- normalize.lua - from surrogates to normalised maps and p-values.
--
-- Holds the norms, the empirical p-values and their corrections for many pairs, native and as Tensorpac and gPAC form
-- them. Maps are [..., P, A]: the last two axes are one row's map, the axes before them count rows. Works on statistics
-- of surrogates (mean, sum of squared deviations, exceedance counts, maxima), so it does not care how many surrogates
-- there were or whether they were kept.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local M = {}

--- Status bit of a pair whose surrogates are all equal.
M.NO_SPREAD = 8

-- gPAC's floors of spread, part of its definition of z
local GPAC_VARIANCE, GPAC_SD = 1e-10, 1e-10

local function surrogate_count(fname, k, level)
  return check.arg(fname, 'k (number of surrogates)', k, 'integer >= 2', level + 1)
end

local function same_shape(fname, x, y, what, level)
  if x.shape ~= y.shape then
    error(('%s: %s is %s and x is %s; the shapes must be equal'):format(fname, what, tostring(y.shape),
      tostring(x.shape)), level + 1)
  end
end

--- NaN where `like` is NaN, p elsewhere.
local function keep_nan(p, like) return mc.where(mc.isnan(like), mc.nan, p) end

-- ---------------------------------------------------------------- statistics of kept surrogates

--- Mean, sum of squared deviations and number of surrogates that were kept.
---@param surrogates any f32|f64 [..., K] (the last axis counts surrogates)
---@return any mean f64 [...]
---@return any m2 f64 [...]: sum (s - mean)^2, two passes
---@return integer k
function M.moments(surrogates)
  local s = surrogates:to 'f64'
  local mean = s:mean { -1, keepdim = true }
  local k = s.shape[s.ndim]
  return mean:squeeze(-1), mc.sum(mc.square(s - mean), -1), k
end

--- How many surrogates reach the observed value: #{s >= x}.
---@param x any f64 [...]
---@param surrogates any f64 [..., K]
---@return any i64 [...]
function M.exceed(x, surrogates)
  return mc.sum(mc.ge(surrogates, x:expand_dims(-1)), -1)
end

-- ---------------------------------------------------------------- norms

local NORMS = { 'none', 'sub', 'div', 'subdiv', 'z' }
local APPLY = { norm = { 'z', NORMS }, compat = { 'native', { 'native', 'gpac' } } }

--- The map relative to its surrogates.
---
--- none x · sub x - m · div x/m · subdiv (x - m)/m · z (x - m)/sd, sd = sqrt(m2/k). Where sd is 0 the status bit 8 is
--- set and z is NaN; where m is 0, div and subdiv are NaN. compat = 'gpac': z = (x - m)/(sqrt(m2/k + 1e-10) + 1e-10),
--- never NaN, no status.
---@param x any f32|f64 [...] observed values
---@param mean any f64 [...] mean of the surrogates
---@param m2 any f64 [...] sum of their squared deviations from it
---@param k integer number of surrogates, at least 2
---@param opts? table norm 'z' · compat 'native'|'gpac'
---@return any y [...] in the dtype of x
---@return any sd f64 [...] population standard deviation of the surrogates
---@return any status u8 [...]: 8 where sd is 0, else 0
function M.apply(x, mean, m2, k, opts)
  local o = check.opts('pac.normalize', opts, APPLY, 3)
  surrogate_count('pac.normalize', k, 3)
  same_shape('pac.normalize', x, mean, 'mean', 2)
  same_shape('pac.normalize', x, m2, 'm2', 2)
  local variance = m2:to 'f64' / k
  if o.compat == 'gpac' then
    local sd = mc.sqrt(variance + GPAC_VARIANCE)
    if o.norm == 'z' then
      return ((x:to 'f64' - mean) / (sd + GPAC_SD)):to(x.dtype), sd, mc.zeros(x.shape, { dtype = 'u8' })
    end
  end
  local sd = mc.sqrt(variance)
  local flat = mc.eq(sd, 0)
  local y = x:to 'f64'
  if o.norm == 'z' then
    y = mc.where(flat, mc.nan, (y - mean) / sd)
  elseif o.norm == 'sub' then
    y = y - mean
  elseif o.norm ~= 'none' then
    if o.norm == 'subdiv' then y = y - mean end
    y = mc.where(mc.eq(mean, 0), mc.nan, y / mean)
  end
  return y:to(x.dtype), sd, flat:to 'u8' * M.NO_SPREAD
end

--- Observed value and surrogates of each pair on one scale: (s - m)/sd, m and sd those of all of them together, so that
--- all are exchangeable. -inf for a pair that does not vary.
---@param all any f64 [..., K + 1]
---@return any f64 [..., K + 1]
function M.standardised(all)
  local last = all[{ mc.ellipsis, { -1, -1 } }]
  local d = all - last -- exactly 0 when nothing varies
  local mean = d:mean { -1, keepdim = true }
  local sd = mc.sqrt(mc.square(d - mean):mean { -1, keepdim = true })
  return mc.where(mc.eq(sd, 0), -math.huge, (d - mean) / sd)
end

-- ---------------------------------------------------------------- p-values of single pairs

--- p = (1 + count)/(1 + k): the observed value counts as one of its own surrogates, so p is never 0.
---@param count any [...] number of surrogates with s >= x
---@param k integer number of surrogates
---@param x? any [...] observed values; p is NaN where they are NaN (a NaN exceeds nothing, which would make the
---  smallest p)
---@return any f64 [...]
--- Source: Permutation p-values should never be zero, 2010.
function M.p_native(count, k, x)
  check.arg('pac.p_native', 'k (number of surrogates)', k, 'integer >= 1', 3)
  local p = (count:to 'f64' + 1) / (k + 1)
  if x then
    same_shape('pac.p_native', count, x, 'x', 2)
    p = keep_nan(p, x)
  end
  return p
end

--- A sentence when k surrogates are too few to speak of p < `p`, else nil.
---@param k integer
---@param p number threshold in (0, 1)
---@return string|nil
function M.few_surrogates(k, p)
  check.arg('pac.few_surrogates', 'k', k, 'integer >= 0', 3)
  if type(p) ~= 'number' or not (p > 0 and p < 1) then
    error(('pac.few_surrogates: p is %s; it must lie in (0, 1)'):format(check.show(p)), 2)
  end
  local need = math.ceil(10 / p * (1 - 1e-12))
  if k < need then
    return ('%d surrogates are few for p < %g: the smallest possible p is %.3g; use at least %d'):format(k, p,
      1 / (k + 1), need)
  end
end

-- ---------------------------------------------------------------- p-values of many pairs

--- [R, N] view of a map tensor: R rows of N pairs (scope 'row'), or everything in one row.
local function as_rows(x, scope)
  if scope == 'all' then return x:reshape(1, -1) end
  local n = x.shape[x.ndim] * (x.ndim > 1 and x.shape[x.ndim - 1] or 1)
  return x:reshape(-1, n)
end

--- p of each pair against the largest surrogate value of the whole map, which controls the chance of any false pair:
--- p = (1 + #{max_k >= x})/(1 + K). The maxima must come from surrogates that move all pairs of a row alike.
---@param x any f64 [..., P, A]
---@param maxima any f64 [..., K] the maximum over the map of each surrogate; [K] for a single row
---@return any f64 [..., P, A]; NaN where x is NaN
--- Source: Nonparametric permutation tests for functional neuroimaging, 2002.
function M.maxstat(x, maxima)
  local rows = as_rows(x:to 'f64', 'row')
  local k = maxima.shape[maxima.ndim]
  local top = mc.sort(maxima:to 'f64'):reshape(-1, k)
  if top.shape[1] ~= rows.shape[1] then
    error(('pac.maxstat: x is %s and the maxima are %s; give one row of maxima for each map'):format(tostring(x.shape),
      tostring(maxima.shape)), 2)
  end
  local below = mc.empty(rows.shape, { dtype = 'i64' })
  for r = 1, rows.shape[1] do below[r] = mc.searchsorted(top[r], rows[r], { base = 0 }) end
  return keep_nan((k + 1 - below:to 'f64') / (k + 1), rows):reshape(x.shape)
end

--- Benjamini-Hochberg on [R, N]: adjusted p, and with alpha which are rejected (strictly below their line, step-up).
--- NaN stay NaN and are not counted.
local function step_up(p, alpha)
  local missing = mc.isnan(p)
  local filled = mc.where(missing, mc.inf, p)
  local count = mc.sum(mc.logical_not(missing), { -1, keepdim = true }):to 'f64'
  local order = mc.argsort(filled)
  local sorted = mc.take_along_axis(filled, order)
  local share = mc.arange(1, p.shape[2]) / count
  local adjusted = mc.minimum(mc.cummin(sorted / share, -1, { reverse = true }), 1)
  local q = mc.where(missing, mc.nan, mc.put_along_axis(p, order, adjusted))
  if not alpha then return q end
  local above = mc.where(mc.lt(sorted, share * alpha), 0, 1)
  return q, mc.eq(mc.put_along_axis(p, order, mc.cummin(above, -1, { reverse = true })), 0)
end

local SCOPE = { scope = { 'row', { 'row', 'all' } } }

--- p-values adjusted for the false discovery rate over the pairs of a map: p_(i) N/i, made monotone, at most 1.
---@param p any f64 [..., P, A]; NaN are left out
---@param opts? table scope 'row' (each map for itself) | 'all' (all maps together)
---@return any f64 [..., P, A]
--- Source: Controlling the false discovery rate, 1995, procedure (1).
function M.fdr(p, opts)
  local o = check.opts('pac.fdr', opts, SCOPE, 3)
  return step_up(as_rows(p:to 'f64', o.scope), nil):reshape(p.shape)
end

--- p-values times the number of pairs (that are not NaN), at most 1.
---@param p any f64 [..., P, A]
---@param opts? table scope 'row' | 'all'
---@return any f64 [..., P, A]
function M.bonferroni(p, opts)
  local o = check.opts('pac.bonferroni', opts, SCOPE, 3)
  local rows = as_rows(p:to 'f64', o.scope)
  local count = mc.sum(mc.logical_not(mc.isnan(rows)), { -1, keepdim = true }):to 'f64'
  return mc.minimum(rows * count, 1):reshape(p.shape)
end

local BLOCK = 2 ^ 20 -- values of kept surrogates that are compared at once

--- maxstat where some surrogates are kept pair by pair: those near the observation, which hold some of its coupling.
--- Pairs are tested from the strongest down; of the kept surrogates each is compared with those of itself and of the
--- weaker ones, so that a strong pair does not stand in the way of the others: p_j = max over i <= j of (1 + #{far
--- maxima >= x_i} + #{max over j >= i of near_j >= x_i})/(1 + K).
---@param x any f64 [G, N] pairs of G families
---@param maxima any f64 [G, K] of the far surrogates, -inf for the near ones
---@param near any [G, maps, n, pairs] kept surrogates
---@return any f64 [G, N]
--- Source: step-down maxT, Resampling-based multiple testing, 1993, algorithm 2.8.
function M.step_down(x, maxima, near)
  local G, N, K, n = x.shape[1], x.shape[2], maxima.shape[2], near.shape[3]
  local out = mc.empty { G, N }
  for g = 1, G do
    mc.scope(function()
      -- from the weakest up, so that a running maximum goes forward
      local order = mc.argsort(mc.where(mc.isnan(x[g]), -math.huge, x[g]))
      local sorted = mc.take(x[g], order, 1)
      local count, none = mc.zeros { N }, mc.full({ 1 }, -math.huge, { dtype = near.dtype })
      local line = sorted:to(near.dtype) -- of the dtype of what it is compared with, where that loses nothing
      if not mc.all(mc.logical_or(mc.eq(line:to 'f64', sorted), mc.isnan(sorted))) then line = sorted end
      local step = math.max(1, math.floor(BLOCK / N))
      for first = 1, n, step do -- kept surrogates by blocks that stay in the cache
        mc.scope(function()
          local rows = mc.permute_dims(near[g][{ {}, { first, math.min(n, first + step - 1) } }], { 2, 1, 3 })
          local kept = mc.take(rows:reshape(-1, N), order, 2)
          if mc.any(mc.isnan(kept)) then kept = mc.where(mc.isnan(kept), none, kept) end
          count:add_(mc.sum(mc.where(mc.ge(mc.cummax(kept, -1), line), 1, 0), 1))
        end)
      end
      local far = mc.sort(maxima[g])
      count = count + (K - mc.searchsorted(far, sorted, { base = 0 }):to 'f64')
      local p = mc.where(mc.isnan(sorted), 0, mc.minimum((1 + count) / (1 + K), 1))
      p = mc.where(mc.isnan(sorted), mc.nan, mc.cummax(p, -1, { reverse = true }))
      out[g] = mc.put_along_axis(mc.zeros { N }, order, p)
    end)
  end
  return out
end

local TEST = {
  mcp = { 'none', { 'none', 'maxstat', 'fdr', 'bonferroni' } }, groups = { nil, 'integer >= 1' },
  count = { nil, 'tensor' }, maxima = { nil, 'tensor' }, near = { nil, 'tensor' }, k = { nil, 'integer >= 2' },
}

--- p-values of maps from what their surrogates left behind, corrected as asked.
---@param x any f64 [..., P, A] observed values, on the scale of the maxima
---@param opts table k surrogates · count [..., P, A] of s >= x (not for maxstat) · maxima [..., K] of each map (for
---  maxstat) · mcp 'none'|'maxstat'| 'fdr'|'bonferroni' · groups: maps of how many families, one behind the other (each
---  map is a family of its own when left out)
---@return any f64 [..., P, A]
function M.test(x, opts)
  local o = check.opts('pac.test', opts, TEST, 3)
  local need = o.mcp == 'maxstat' and 'maxima' or 'count'
  if not o[need] then error(("pac.test: mcp is '%s' and needs option %s"):format(o.mcp, need), 2) end
  local shape = x.shape
  local function family(t) -- each family as one map
    return o.groups and t:reshape(o.groups, 1, -1) or t
  end
  if o.mcp == 'maxstat' then
    local top, k = o.maxima, o.maxima.shape[o.maxima.ndim]
    local groups = o.groups or top:numel() / k
    if o.groups then top = mc.max(top:reshape(o.groups, -1, k), 2) end
    if o.near then
      return M.step_down(x:reshape(groups, -1), top:reshape(groups, k),
        o.near:reshape(groups, -1, o.near.shape[o.near.ndim - 2], shape[#shape - 1] * shape[#shape])):reshape(shape)
    end
    return M.maxstat(family(x), top):reshape(shape)
  end
  if not o.k then error('pac.test: option k (number of surrogates) is missing', 2) end
  local p = M.p_native(o.count, o.k, x)
  if o.mcp == 'none' then return p end
  return M[o.mcp](family(p), { scope = 'row' }):reshape(shape)
end

-- ---------------------------------------------------------------- Tensorpac's p-values

local COMPAT = { p = { 0.05, 'number > 0' }, mcp = { 'maxstat', { 'maxstat', 'fdr', 'bonferroni' } } }

--- p-values as Tensorpac infers them: values and surrogates are averaged over trials first; p = #{x <= s}/K without the
--- added one, not below 1/K; whatever is not significant at `p` becomes 1.
---
--- maxstat compares with the maximum of each surrogate over the map, sets p >= threshold to 1 and raises the rest to
--- 1/K. fdr and bonferroni correct over the P A pairs and keep what they reject (strictly below the line).
---@param x any f64 [P, A], or [S, P, A] with trials
---@param surrogates any f64 [K, P, A], or [K, S, P, A]
---@param opts? table p 0.05 threshold · mcp 'maxstat'|'fdr'|'bonferroni'
---@return any f64 [P, A]
function M.p_tensorpac(x, surrogates, opts)
  local o = check.opts('pac.p_tensorpac', opts, COMPAT, 3)
  if surrogates.ndim ~= x.ndim + 1 or (x.ndim ~= 2 and x.ndim ~= 3) then
    error(
      ('pac.p_tensorpac: x is %s and the surrogates are %s; give [P, A] with [K, P, A], or [S, P, A] with [K, S, P, A]')
      :format(
        tostring(x.shape), tostring(surrogates.shape)), 2)
  end
  if x.ndim == 3 then
    -- averaged in one array, so that surrogates equal to the observation have its bits
    local all = mc.concat({ x:expand_dims(1), surrogates:to(x.dtype) }, 1):mean(2)
    x, surrogates = all[1], all[{ { 2, -1 } }]
  end
  local k = surrogates.shape[1]
  if o.mcp == 'maxstat' then
    local maxima = mc.max(surrogates:reshape(k, -1), { -1 }):reshape(k, 1, 1)
    local p = mc.sum(mc.le(x, maxima), 1):to 'f64' / k
    return mc.maximum(mc.where(mc.ge(p, o.p), 1, p), 1 / k)
  end
  local p = mc.maximum(mc.sum(mc.le(x, surrogates), 1):to 'f64' / k, 1 / k)
  if o.mcp == 'bonferroni' then
    local n = p:numel()
    return mc.where(mc.lt(p, o.p / n), mc.minimum(p * n, 1), 1)
  end
  local q, rejected = step_up(p:reshape(1, -1), o.p)
  return mc.where(rejected, q, 1):reshape(p.shape)
end

return M
