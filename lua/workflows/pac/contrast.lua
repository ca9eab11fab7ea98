-- contrast.lua - the difference of coupling between two conditions, and its permutation test.
--
-- of(a, b, opts) takes trials of two conditions; maps(a, b, opts) takes values that are there already, one map for
-- each trial or subject. Permutes the labels (paired: swaps the conditions within pairs), standardises each pair of
-- bands by its own permutation distribution, and corrects with the largest value of each permutation (max-z) and with
-- the largest cluster.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local generate = require 'workflows.pac.generate'
local options = require 'workflows.pac.options'
local error = check.error
local M = {}

local TEST = {
  n_perm = { 1000, 'integer >= 2' }, seed = { 42, 'integer >= 0' }, tail = { 'two-sided', { 'two-sided', 'greater',
    'less' } }, paired = { false, 'bool' },
  mcp_scope = { 'run', { 'run', 'channel' } }, cluster_p = { 0.01, 'number > 0' }, p_threshold = { 0.05, 'number > 0' },
}
-- elements of one block of permutations x cells
local BLOCK = 2 ^ 22

-- ---------------------------------------------------------------- permutations

--- Distinct labellings of n + m observations, or sign patterns of n pairs, at most 1e9.
local function labellings(n, m, paired)
  if paired then return math.min(2 ^ n, 1e9) end
  local c = 1
  for i = 1, n do
    c = c * (m + i) / i
    if c > 1e9 then return 1e9 end
  end
  return math.floor(c + 0.5)
end

--- [K + 1, N] weights, the first row as observed: 1 for condition a and 0 for b, or signs of pairs.
local function weights(n, m, o)
  local N = o.paired and n or n + m
  local rows = { o.paired and mc.ones { n } or mc.concat({ mc.ones { n }, mc.zeros { m } }, 1) }
  for k = 1, o.n_perm do
    if o.paired then rows[k + 1] = mc.where(mc.lt(generate.uniform(N, o.seed + 7919 * k), 0.5), -1, 1)
    else rows[k + 1] = mc.take(rows[1], mc.randperm(N, { seed = o.seed, stream = k }), 1) end
  end
  return mc.stack(rows)
end

--- t of the difference a - b for rows of weights: Welch's, or of the paired differences. x [N, M].
local function t_of(w, x, paired)
  local n, N = mc.sum(w, { 2, keepdim = true }), x.shape[1]
  local d, var
  if paired then
    d = mc.matmul(w, x) / N
    var = (mc.sum(mc.square(x), { 1, keepdim = true }) - N * mc.square(d)) / (N - 1) / N
  else
    local square = mc.square(x)
    local a, b = mc.matmul(w, x) / n, mc.matmul(1 - w, x) / (N - n)
    local va = (mc.matmul(w, square) - n * mc.square(a)) / (n - 1)
    local vb = (mc.matmul(1 - w, square) - (N - n) * mc.square(b)) / (N - n - 1)
    d, var = a - b, va / n + vb / (N - n)
  end
  -- cells without variation have no difference that could be tested
  local small = 1e-13 * mc.sum(mc.square(x), { 1, keepdim = true }) / N
  return mc.where(mc.gt(var, small), d / mc.sqrt(mc.maximum(var, 1e-300)), mc.where(mc.isnan(var), mc.nan, 0))
end

-- ---------------------------------------------------------------- clusters

--- Clusters of one map: cells above `least` that touch along phase or amplitude. Returns the largest mass and a list
--- of { mass, cells }.
---@param z number[] P*A values, oriented so that large is extreme
local function clusters(z, at, P, A, least, want_cells)
  local seen, out, largest, stack = {}, {}, 0, {}
  for i = 0, P * A - 1 do
    if not seen[i] and z[at + i] >= least then
      local mass, cells, top = 0, want_cells and {} or nil, 1
      stack[1], seen[i] = i, true
      while top > 0 do
        local c = stack[top]
        top = top - 1
        mass = mass + z[at + c]
        if cells then cells[#cells + 1] = c end
        local p, a = math.floor(c / A), c % A
        for side = 1, 4 do
          local q, b = p, a
          if side == 1 then q = p - 1 elseif side == 2 then q = p + 1 elseif side == 3 then b = a - 1 else b = a + 1 end
          local next_ = q * A + b
          if q >= 0 and q < P and b >= 0 and b < A and not seen[next_] and z[at + next_] >= least then
            seen[next_] = true
            top = top + 1
            stack[top] = next_
          end
        end
      end
      largest = math.max(largest, mass)
      if cells then out[#out + 1] = { mass = mass, cells = cells } end
    end
  end
  return largest, out
end

--- The largest mass of each family in one row of z [maps * P * A]; both signs when two-sided.
local function largest(z, maps, P, A, least, sides, families)
  local per, out = maps / families, {}
  for f = 1, families do
    local top = 0
    for m = (f - 1) * per, f * per - 1 do
      for _, side in ipairs(sides) do top = math.max(top, (clusters(side == 1 and z.plain or z.turned, m * P * A + 1,
        P, A, least))) end
    end
    out[f] = top
  end
  return out
end

--- Clusters of the observed maps with their p-values, strongest first.
local function observed_clusters(z, lead, P, A, least, sides, tops, families)
  local maps, list = #z.plain / (P * A), {}
  local p_map = {}
  for i = 1, #z.plain do p_map[i] = 1 end
  for m = 0, maps - 1 do
    local null = tops[math.floor(m / (maps / families)) + 1]
    for _, side in ipairs(sides) do
      local _, found = clusters(side == 1 and z.plain or z.turned, m * P * A + 1, P, A, least, true)
      for _, c in ipairs(found) do
        local count = 0
        for _, t in ipairs(null) do if t >= c.mass * (1 - 1e-9) then count = count + 1 end end
        c.p, c.sign, c.map, c.size = (1 + count) / (1 + #null), side, m + 1, #c.cells
        for _, cell in ipairs(c.cells) do p_map[m * P * A + 1 + cell] = c.p end
        list[#list + 1] = c
      end
    end
  end
  table.sort(list, function(u, v)
    if u.p ~= v.p then return u.p < v.p end
    if u.mass ~= v.mass then return u.mass > v.mass end
    return u.map < v.map or u.map == v.map and u.cells[1] < v.cells[1]
  end)
  local shape = {}
  for i, n in ipairs(lead) do shape[i] = n end
  shape[#shape + 1], shape[#shape + 2] = P, A
  return list, mc.tensor(p_map):reshape(shape)
end

-- ---------------------------------------------------------------- the test

local function check_maps(fname, a, b, paired)
  for name, t in pairs { a = a, b = b } do
    if not mc.is_tensor(t) or t.ndim < 3 or tensor.kind[t.dtype] == 'c' then
      error(('%s: %s is %s; give coupling values [observations, ..., P, A]'):format(fname, name, mc.is_tensor(t)
        and tensor.describe(t) or check.show(t)), 3)
    end
  end
  local same = a.ndim == b.ndim and (not paired or a.shape[1] == b.shape[1])
  for i = 2, same and a.ndim or 1 do same = same and a.shape[i] == b.shape[i] end
  if not same then
    error(('%s: a is %s and b is %s; all axes but the first must be equal%s'):format(fname, tensor.describe(a),
      tensor.describe(b), paired and ', and with paired the first too' or ''), 3)
  end
end

--- Observations [n, M] whose values are finite in every map that has any finite value.
local function usable(x, alive)
  return mc.all(mc.logical_or(mc.isfinite(x), mc.logical_not(alive):reshape(1, -1)), 2)
end

local function least_observations(fname, n, m, paired)
  if paired and n < 4 or not paired and (n < 2 or m < 2 or n + m < 6) then
    error(('%s: %s; a permutation test needs at least %s'):format(fname, paired and n .. ' pairs'
      or ('%d and %d observations'):format(n, m), paired and '4 pairs' or '2 of each and 6 together'), 3)
  end
end

--- Difference of two sets of maps with its permutation test.
---
--- t = difference of means / standard error (Welch; paired: of the differences). z = (t - mean)/sd over all
--- permutations of the labels and the
--- observation itself, pair by pair. p_maxz = (1 + #{max_k >= |z|})/(1 + K), max_k the largest |z| of permutation k
--- over the family. p_cluster: the
--- same for clusters of neighbouring pairs of one sign with |z| above the normal quantile of cluster_p, by their sum
--- of |z|.
---@param a any f32|f64 [n, ..., P, A] values of condition a, one map for each trial or subject
---@param b any f32|f64 [m, ..., P, A] of condition b
---@param opts? table n_perm 1000 permutations · seed 42 · tail 'two-sided'|'greater' (a > b)|'less' · paired false
---  (observation i of a belongs to that of b) ·
---  mcp_scope 'run' (all maps are one family)|'channel' (each map) · cluster_p 0.01 (of one pair, two-sided where
---  tail is) · p_threshold 0.05 (for the warning)
---@return table result mean_a, mean_b, difference, t, z, p (of each pair alone), p_maxz, p_cluster f64 [..., P, A] ·
---  clusters (list, best first: p, mass, sign 1
---  where a is larger, map: which of the maps, size, cells: 0-based pair numbers (phase * A + amplitude)) · n_a, n_b,
---  n_perm, warnings
--- Errors: shapes; too few observations. Observations with NaN are left out with a warning; a map that is NaN
--- throughout stays NaN.
--- Source: Nonparametric permutation tests for functional neuroimaging, 2002; clusters: Nonparametric statistical
--- testing of EEG- and MEG-data, 2007.
function M.maps(a, b, opts)
  local fname = 'pac.contrast'
  local o = check.opts(fname, opts, TEST, 3)
  if o.cluster_p >= 0.5 then error(('%s: cluster_p is %g; it must lie in (0, 0.5)'):format(fname, o.cluster_p), 2) end
  check_maps(fname, a, b, o.paired)
  local P, A, lead, warnings = a.shape[a.ndim - 1], a.shape[a.ndim], {}, {}
  for i = 2, a.ndim - 2 do lead[#lead + 1] = a.shape[i] end
  local function shaped(t)
    local s = {}
    for i, n in ipairs(lead) do s[i] = n end
    s[#s + 1], s[#s + 2] = P, A
    return t:reshape(s)
  end
  local x, y = a:to('f64'):reshape(a.shape[1], -1), b:to('f64'):reshape(b.shape[1], -1)
  local alive = mc.any(mc.isfinite(mc.concat({ x, y }, 1)), 1)
  if not mc.any(alive) then error(fname .. ': no value of a and b is finite', 2) end
  local good_x, good_y = usable(x, alive), usable(y, alive)
  if o.paired then good_x = mc.logical_and(good_x, good_y); good_y = good_x end
  local before = x.shape[1] + y.shape[1]
  x, y = mc.take(x, mc.nonzero(good_x):reshape(-1), 1), mc.take(y, mc.nonzero(good_y):reshape(-1), 1)
  local n, m = x.shape[1], y.shape[1]
  if n + m < before then warnings[1] = ('%d of %d observations hold values that are not finite; they are left ' ..
    'out'):format(before - n - m, before) end
  least_observations(fname, n, m, o.paired)
  local distinct = labellings(n, m, o.paired)
  if distinct < 20 / o.p_threshold then
    warnings[#warnings + 1] = ('%d observations have %d distinct permutations, so p is at least about %.2g'):format(
      n + m, distinct, 1 / distinct)
  end
  local few = require('workflows.pac.normalize').few_surrogates(o.n_perm, o.p_threshold)
  if few then warnings[#warnings + 1] = few end

  local cells, K = x.shape[2], o.n_perm
  local maps = cells / (P * A)
  local families = o.mcp_scope == 'channel' and maps or 1
  local r = mc.scope(function()
    local w = weights(n, m, o)
    local data = o.paired and x - y or mc.concat({ x, y }, 1)
    if not o.paired then data = data - data:mean { 1, keepdim = true } end
    -- two passes over blocks of permutations: mean and spread, then maxima
    local per = math.max(1, math.floor(BLOCK / cells))
    local function blocks(f)
      for first = 1, K + 1, per do
        local last = math.min(first + per - 1, K + 1)
        mc.scope(function() f(t_of(w[{ { first, last } }], data, o.paired), first, last) end)
      end
    end
    local t, sum, square = mc.empty { cells }, mc.zeros { cells }, mc.zeros { cells }
    blocks(function(s, first)
      if first == 1 then t[mc.all] = s[1] end
      sum[mc.all] = sum + mc.sum(s, 1)
      square[mc.all] = square + mc.sum(mc.square(s), 1)
    end)
    local mean = sum / (K + 1)
    local sd = mc.sqrt(mc.maximum(square / (K + 1) - mc.square(mean), 0))
    local two = o.tail == 'two-sided'
    local least = mc.stats.norm_isf(mc.tensor { two and o.cluster_p / 2 or o.cluster_p }):item()
    local sides = two and { 1, -1 } or { o.tail == 'greater' and 1 or -1 }
    local function scaled(s) return mc.where(mc.gt(sd, 1e-12), (s - mean) / sd, mc.where(mc.isnan(sd), mc.nan, 0)) end
    local function extreme(z) return two and mc.abs(z) or o.tail == 'less' and -z or z end
    local z = scaled(t)
    local size = extreme(z)
    local count, top, tops = mc.zeros { cells }, mc.empty { families, K }, {}
    for f = 1, families do tops[f] = {} end
    local function lists(v)
      v = mc.where(mc.isnan(v), 0, v)
      return { plain = v:totable(), turned = (-v):totable() }
    end
    blocks(function(s, first, last)
      s = scaled(s)
      for k = math.max(first, 2), last do
        for f, mass in ipairs(largest(lists(s[k - first + 1]), maps, P, A, least, sides,
          families)) do tops[f][k - 1] = mass end
      end
      local from = first == 1 and 2 or 1
      if last - first + 1 < from then return end
      local e = extreme(s)[{ { from, last - first + 1 } }]
      -- permutations that equal the observed labelling tie with it up to rounding
      count[mc.all] = count + mc.sum(mc.ge(e, size - 1e-9 * mc.abs(size)):to 'f64', 1)
      local finite = mc.where(mc.isnan(e), -math.huge, e)
      top[{ mc.all, { math.max(first, 2) - 1, last - 1 } }] = mc.max(finite:reshape(-1, families, cells / families),
        3).T
    end)
    local groups = size:reshape(families, -1, 1)
    local reached = mc.zeros { families, cells / families }
    for f = 1, families do
      local sorted = mc.sort(top[f])
      reached[f] = K - mc.searchsorted(sorted, (groups[f] - 1e-9 * mc.abs(groups[f])):reshape(-1),
        { base = 0 }):to 'f64'
    end
    local function keep(p) return mc.where(mc.isnan(z), mc.nan, p) end
    local list, p_cluster = observed_clusters(lists(z), lead, P, A, least, sides, tops, families)
    local tensors = {
      mean_a = shaped(x:mean(1)), mean_b = shaped(y:mean(1)), t = shaped(t), z = shaped(z),
        p = shaped(keep((1 + count) / (1 + K))),
      p_maxz = shaped(keep((1 + reached:reshape(-1)) / (1 + K))), p_cluster = mc.where(mc.isnan(shaped(z)), mc.nan,
        p_cluster), maxima = top,
    }
    tensors.difference = tensors.mean_a - tensors.mean_b
    tensors.clusters = list
    return tensors
  end)
  r.n_a, r.n_b, r.n_perm, r.warnings, r.test = n, m, K, warnings, o
  return r
end

-- ---------------------------------------------------------------- trials

-- options of compute that make surrogates of single trials, which the contrast does not use
local WITHOUT = { 'surrogate', 'min_shift', 'null_shift', 'shifts', 'permutations', 'norm', 'mcp', 'maxstat_of',
  'return_surrogates', 'return_dist', 'pool_segments', 'x_amp' }

--- Options of the coupling of single trials, and of the test.
---@return table compute
---@return table test
function M.split(opts)
  local compute, test, known = {}, {}, {}
  for _, name in ipairs(WITHOUT) do
    if opts[name] ~= nil then error(('pac.contrast: option %s is for surrogates of single recordings; a contrast ' ..
      'permutes trials between conditions (n_perm)'):format(name), 3) end
  end
  for k in pairs(options.SPEC) do known[k] = true end
  for k, v in pairs(opts) do
    if TEST[k] then test[k] = v
    elseif known[k] then compute[k] = v
    else
      local names = {}
      for name in pairs(TEST) do names[name] = true end
      for name in pairs(known) do names[name] = true end
      local near = check.nearest(tostring(k), names)
      error(('pac.contrast: option %s is unknown%s'):format(check.show(k), near
        and ('; did you mean %q?'):format(near) or ''), 3)
    end
  end
  return compute, test
end

--- Coupling of each trial [C, S, P, A] as observations [S, C, P, A].
function M.observations(values) return mc.permute_dims(values, { 2, 1, 3, 4 }):contiguous() end

--- Difference of coupling between two conditions of one recording: of each trial its own map, then maps(a, b).
---
--- The test is exact when trials are exchangeable between the conditions. Conditions that differ in rhythm strength
--- or noise differ in coupling
--- values too, so compare power spectra before you call a difference one of coupling.
---@param a any samples of condition a: [S, T], or [C, S, T]
---@param b any samples of condition b: the same channels and samples, any number of trials
---@param opts table options of compute for the maps (fs required; measure, bands, filter, ...), without those of
---  surrogates · n_perm 1000, tail, paired, mcp_scope,
---  cluster_p, seed of maps
---@return table result as of maps, [P, A] or [C, P, A], with pha_bands_hz, amp_bands_hz, and of each cluster channel,
---  pha_hz {lo, hi}, amp_hz {lo, hi}
--- Errors name the option or shape. Source: as maps.
function M.of(a, b, opts)
  for name, t in pairs { a = a, b = b } do
    if not mc.is_tensor(t) or t.ndim < 2 or t.ndim > 3 then
      error(('pac.contrast: %s is %s; give trials [S, T], or [C, S, T]'):format(name, mc.is_tensor(t)
        and tensor.describe(t) or check.show(t)), 2)
    end
  end
  local ndim = a.ndim
  if ndim ~= b.ndim or a.shape[ndim] ~= b.shape[ndim] or ndim == 3 and a.shape[1] ~= b.shape[1] then
    error(('pac.contrast: a is %s and b is %s; channels and samples must be equal, trials may differ in ' ..
      'number'):format(tensor.describe(a), tensor.describe(b)), 2)
  end
  if type(opts) ~= 'table' then error('pac.contrast: option fs is missing; give the sampling rate in Hz, fs = 512',
    2) end
  local compute, test = M.split(opts)
  compute.axes = 'CST'
  local plan = require('workflows.pac').plan(a.shape[ndim], compute)
  local function values(x)
    if ndim == 2 then x = x:expand_dims(1) end
    return M.observations(plan:run(x).pac)
  end
  local r = M.maps(values(a), values(b), test)
  if ndim == 2 then
    for name, t in pairs(r) do if mc.is_tensor(t) and t.ndim == 3 then r[name] = t[1] end end
  end
  return M.finish(r, plan)
end

--- Bands, options and warnings of the plan in the result; the place of each cluster in Hz.
function M.finish(r, plan)
  r.pha_bands_hz, r.amp_bands_hz, r.options = plan.pha_bands_hz, plan.amp_bands_hz, plan.options
  for _, w in ipairs(plan.warnings) do table.insert(r.warnings, w) end
  local pha, amp = r.pha_bands_hz:totable(), r.amp_bands_hz:totable()
  local A = #amp
  for _, c in ipairs(r.clusters) do
    local p, a = { math.huge, 0 }, { math.huge, 0 }
    for _, cell in ipairs(c.cells) do
      local i, j = math.floor(cell / A) + 1, cell % A + 1
      p[1], p[2], a[1], a[2] = math.min(p[1], pha[i][1]), math.max(p[2], pha[i][2]), math.min(a[1], amp[j][1]),
        math.max(a[2], amp[j][2])
    end
    c.channel, c.pha_hz, c.amp_hz = c.map, p, a
  end
  return r
end

return setmetatable(M, { __call = function(_, a, b, opts) return M.of(a, b, opts) end })
