-- search.lua - the best pair of frequency bands, from all bands that a grid of frequencies spans.
--
-- Holds the triangular grid, the blocks of bands, the ranking and the correction for having searched. A grid f_1 < ...
-- < f_n spans the bands [f_i, f_j], i < j; every phase band meets every amplitude band. One set of shifts serves all
-- blocks, so the null distribution of the largest z over the whole search is known and the best pair gets a p-value
-- that the search has not spoilt.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local bands = require 'workflows.pac.bands'
local filters = require 'workflows.pac.filters'
local normalize = require 'workflows.pac.normalize'
local options = require 'workflows.pac.options'
local tensor = require 'mascon.core.tensor'
local error = check.error
local M = {}

local OWN = {
  pha_grid_hz = { nil, 'table | tensor' }, amp_grid_hz = { nil, 'table | tensor' }, pha_width_hz = { nil, 'table' },
  amp_width_hz = { nil, 'table' }, top = { 10, 'integer >= 1' }, block = { 24, 'integer >= 1' },
}
-- options of compute that name bands, or whose result depends on which bands share a call
local TAKEN = {
  'pha_range_hz', 'pha_n_bands', 'amp_range_hz', 'amp_n_bands', 'pha_bands_hz', 'amp_bands_hz', 'spacing', 'band_clip',
  'return_surrogates', 'return_dist', 'mcp', 'norm', 'progress',
}
local SPEC = {}
for k, v in pairs(options.SPEC) do SPEC[k] = v end
for _, k in ipairs(TAKEN) do SPEC[k] = nil end
for k, v in pairs(OWN) do SPEC[k] = v end
SPEC.progress = { nil, 'function' }

-- surrogates of a block of bands, f64: what the mean over rows and its moments take at once
local BUDGET = 2 ^ 28

--- Bands [n, 2] of a grid, narrower and wider ones than `width` left out.
local function triangle(which, o, name, width_name)
  if o[name] == nil then
    error(('pac.search: option %s is missing; give a list of frequencies in Hz'):format(name), 2)
  end
  local all = bands[which] { fs = o.fs, bands = { search = o[name] } }
  local w = o[width_name]
  if not w then return all end
  local lo, hi = w[1], w[2] or math.huge
  if type(lo) ~= 'number' or type(hi) ~= 'number' or lo > hi then
    error(('pac.search: %s is {%s, %s}; give {least, largest} width in Hz'):format(width_name, tostring(w[1]),
      tostring(w[2])), 2)
  end
  local keep = {}
  for _, b in ipairs(all:totable()) do
    if b[2] - b[1] >= lo * (1 - 1e-12) and b[2] - b[1] <= hi * (1 + 1e-12) then keep[#keep + 1] = b end
  end
  if #keep == 0 then error(('pac.search: no band of %s is %g to %g Hz wide'):format(name, lo, hi), 2) end
  return mc.tensor(keep)
end

--- Rows that are finite everywhere, [R', ...]; all when they are.
local function finite_rows(x, good)
  return good:numel() == x.shape[1] and x or mc.take(x, good, 1)
end

--- Mean over rows of one block of bands and of its surrogates: value [P, A], and with surrogates mean, m2, count, s.
local function block_of(x, opts, K)
  return mc.scope(function()
    local r = require('workflows.pac').compute(x, opts)
    local P, A = r.pha_bands_hz.shape[1], r.amp_bands_hz.shape[1]
    local value = r.pac:reshape(-1, P, A):to 'f64'
    local good = mc.nonzero(mc.logical_not(mc.any(mc.isnan(value:reshape(value.shape[1], -1)), 2))):reshape(-1)
    if good:numel() == 0 then return { value = mc.full({ P, A }, mc.nan) } end
    local out = { value = finite_rows(value, good):mean(1) }
    if K == 0 then return out end
    local s = finite_rows(r.surrogates:reshape(-1, P, A, K), good):to('f64'):mean(1)
    local mean, m2 = normalize.moments(s)
    local z = normalize.apply(out.value, mean, m2, K)
    out.z, out.count = z, normalize.exceed(out.value, s)
    -- Each pair on its own scale: otherwise the maximum is that of the few pairs with the widest null. The observed
    -- value takes part in the scale like any surrogate: with mean and sd of the surrogates alone it would look larger
    -- than they can, and every tenth search of noise succeed.
    local all = mc.concat({ s, out.value:expand_dims(-1) }, -1)
    local middle, spread = normalize.moments(all)
    local width = mc.sqrt(spread / K)
    local scaled = mc.where(mc.eq(width, 0):expand_dims(-1), -math.huge,
      (all - middle:expand_dims(-1)) / mc.where(mc.eq(width, 0), 1, width):expand_dims(-1))
    out.ranked = scaled[{ mc.all, mc.all, K + 1 }]
    out.top = mc.max(scaled[{ mc.all, mc.all, { 1, K } }]:contiguous():reshape(-1, K), 1)
    return out
  end)
end

local function check_options(opts)
  local o = options.take_own('pac.search', opts, SPEC)
  if not o.fs then error('pac.search: option fs is missing; give the sampling rate in Hz, fs = 512', 2) end
  if o.compat ~= 'native' then
    error(("pac.search: compat is '%s'; its maps depend on which bands share a call, a search needs compat = 'native'")
      :format(o.compat), 2)
  end
  if o.filter == 'butter_trunc' then
    error(
      "pac.search: filter is 'butter_trunc'; its kernels depend on the slowest band of a call, choose fir1 or morlet",
      2)
  end
  if o.bin_norm == 'pooled' then
    error("pac.search: bin_norm is 'pooled'; pooled counts depend on which bands share a call, choose mean or sum", 2)
  end
  return o
end

--- What compute gets for every block: the same shifts and the same extension of the ends as if all bands were in one
--- call.
local function inner_options(opts, o, T, pha, amp)
  local inner = { return_surrogates = true, mcp = 'none' }
  for k, v in pairs(opts) do if OWN[k] == nil and k ~= 'progress' then inner[k] = v end end
  inner.null_shift = o.null_shift or not o.shifts and o.compat == 'native' and math.max(1,
    math.floor(o.fs / mc.min(pha):item())) or nil
  if o.filter == 'fir1' then
    local pad = o.pad or 0
    for _, order in ipairs(filters.orders(pha, amp, { T = T, fs = o.fs, n_cycles = o.n_cycles }).orders) do
      pad = math.max(pad, order)
    end
    inner.pad = pad
  end
  return inner
end

local function overlaps(p, a) return p[2] > a[1] and a[2] > p[1] end

--- Pairs best first, pairs of overlapping bands left out.
local function ranking(pha, amp, maps, top)
  local key = maps.z or maps.value
  local list, p, a, k = {}, pha:totable(), amp:totable(), key:totable()
  for i = 1, #p do
    for j = 1, #a do
      if k[i][j] == k[i][j] and not overlaps(p[i], a[j]) then list[#list + 1] = { i, j, k[i][j] } end
    end
  end
  table.sort(list, function(u, v)
    if u[3] ~= v[3] then return u[3] > v[3] end
    if u[1] ~= v[1] then return u[1] < v[1] end
    return u[2] < v[2]
  end)
  local out, count = {}, #list
  for n = 1, math.min(top, count) do
    local i, j = list[n][1], list[n][2]
    local row = { pha_hz = p[i], amp_hz = a[j], pha_index = i, amp_index = j }
    for name, map in pairs(maps) do row[name] = map[{ i, j }]:item() end
    out[n] = row
  end
  return out, count
end

--- The best pair of bands among all that two grids of frequencies span.
---
--- Values, and their surrogates shift by shift, are averaged over all rows of x (channels, segments; rows with NaN left
--- out), then ranked: by z = (value - mean)/sd against the surrogates, or by the value when there are none. p = (1 +
--- #{s >= value})/(1 + K) is that of the pair alone; p_search = (1 + #{max z_k >= z})/(1 + K) compares with the largest
--- z of each surrogate over all pairs, so it holds for the winner; there mean and sd are those of the observed value
--- and the surrogates together, so that all of them are exchangeable. Pairs whose bands overlap take no part in the
--- ranking.
---@param x any samples as for pac.compute
---@param opts table fs Hz · pha_grid_hz, amp_grid_hz (frequencies, Hz; n give n (n - 1)/2 bands) · pha_width_hz,
---  amp_width_hz {least, largest} Hz · top 10 rows of the table · block 24 bands of each kind in work at once ·
---  progress function(done, pairs) · and options of compute that do not name bands: n_perm, surrogate, measure, seed,
---  n_cycles, dtype, axes, ... (null_shift: one cycle of the lowest frequency of the grid)
---@return table result best { pha_hz {lo, hi}, amp_hz {lo, hi}, pha_index, amp_index, value, z, p, p_search } or nil
---  when no pair is finite · table (the `top` best of them) · value, z, p, p_search f64 [P, A] · pha_bands_hz [P, 2],
---  amp_bands_hz [A, 2] · n_pairs (ranked) · n_surrogates · min_shift · null_shift
--- Source: triangular frequency vectors of comodulogram programs; maximum statistic: Nonparametric permutation tests
--- for functional neuroimaging, 2002, with each pair on the scale of its own null.
function M.best(x, opts)
  if not mc.is_tensor(x) then error('pac.search: x is ' .. check.show(x) .. '; give a tensor of samples', 2) end
  if x.ndim < 1 or x.shape[x.ndim] < 2 then
    error(('pac.search: x is %s; a row needs at least 2 samples'):format(tensor.describe(x)), 2)
  end
  local o = check_options(opts)
  local pha, amp = triangle('phase', o, 'pha_grid_hz', 'pha_width_hz'),
    triangle('amplitude', o, 'amp_grid_hz', 'amp_width_hz')
  local P, A, T = pha.shape[1], amp.shape[1], x.shape[x.ndim]
  local inner = inner_options(opts, o, T, pha, amp)
  inner.pha_bands_hz, inner.amp_bands_hz = pha['1:1'], amp['1:1']
  local probe = require('workflows.pac').plan(T, inner)
  probe:check(x)
  local K = probe.n_surrogates
  local rows = x:numel() / T
  local size =
    math.max(1, math.min(o.block, K > 0 and math.floor(math.sqrt(BUDGET / (K * (16 * rows + 40)))) or o.block))

  local value, z, ranked_z, count = mc.full({ P, A }, mc.nan), mc.full({ P, A }, mc.nan),
    mc.full({ P, A }, mc.nan), mc.zeros { P, A }
  local top = mc.full({ K }, -math.huge)
  for i = 1, P, size do
    local last_p = math.min(i + size - 1, P)
    for j = 1, A, size do
      local last_a = math.min(j + size - 1, A)
      inner.pha_bands_hz, inner.amp_bands_hz = pha[{ { i, last_p } }], amp[{ { j, last_a } }]
      local r = block_of(x, inner, K)
      local here = { { i, last_p }, { j, last_a } }
      value[here] = r.value
      if r.z then
        z[here], ranked_z[here], count[here] = r.z, r.ranked, r.count:to 'f64'
        top = mc.maximum(top, r.top)
      end
      if o.progress then o.progress((i - 1) * A + (last_p - i + 1) * last_a, P * A) end
    end
  end

  local maps = { value = value }
  if K > 0 then
    maps.z, maps.p = z, normalize.p_native(count, K, z)
    maps.p_search = normalize.maxstat(ranked_z, top)
  end
  local list, ranked = ranking(pha, amp, maps, o.top)
  local out = {
    best = list[1], table = list, pha_bands_hz = pha, amp_bands_hz = amp, n_pairs = ranked, n_surrogates = K,
    min_shift = probe.min_shift, null_shift = probe.engine.near, warnings = {},
  }
  for name, map in pairs(maps) do out[name] = map end
  for _, w in ipairs(probe.options.notes) do table.insert(out.warnings, w) end
  if K > 0 then table.insert(out.warnings, (normalize.few_surrogates(K, o.p_threshold))) end
  return out
end

return M
