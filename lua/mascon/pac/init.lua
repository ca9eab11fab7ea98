--- mascon.pac: phase-amplitude coupling with exact statistics.
--
-- compute(x, opts) and plan(T, opts): from recordings to comodulograms, surrogates, p-values. Owns the shapes of input and output, blocks
-- of rows, memory planning and progress. The arithmetic is in engine.lua, the bands in bands.lua, generators in generate.lua.
local mc = require 'mascon'
local check = require 'mascon.check'
local tensor = require 'mascon.tensor'
local bands = require 'mascon.pac.bands'
local engine = require 'mascon.pac.engine'
local normalize = require 'mascon.pac.normalize'
local options = require 'mascon.pac.options'
local M = {}

M.options, M.bands = options, bands

--- A status bit of options: the filter order of a band was cut short by the length of the recording.
M.STATUS = { empty_bin = 1, zero_amplitude = 2, bad_input = 4, no_spread = 8, order_cut = 16 }

local Plan = {}
Plan.__index = Plan

local function sized(b) return b >= 2 ^ 30 and ('%.2f GiB'):format(b / 2 ^ 30) or ('%.1f MiB'):format(b / 2 ^ 20) end

--- A plan for rows of T samples: bands, filters, shifts, made once and used for any number of recordings.
---@param T integer samples of a row
---@param opts table as for compute
---@return table plan with :run(x), :bytes(rows), .warnings, .pha_bands_hz, .amp_bands_hz
function M.plan(T, opts)
  check.arg('pac.plan', 'T', T, 'integer >= 2', 3)
  local o = options.complete(opts, 3)
  local clip = o.band_clip
  o.pha = bands.phase { fs = o.fs, range = o.pha_range_hz, n = o.pha_n_bands, bands = o.pha_bands_hz, spacing = o.spacing, clip = clip, compat = o.compat }
  o.amp = bands.amplitude { fs = o.fs, range = o.amp_range_hz, n = o.amp_n_bands, bands = o.amp_bands_hz, spacing = o.spacing, clip = clip, compat = o.compat }
  local e = engine.prepare(o, T)
  local plan = setmetatable({ T = T, options = o, engine = e, pha_bands_hz = o.pha, amp_bands_hz = o.amp, n_surrogates = e.K, min_shift = e.m }, Plan)
  plan.warnings = bands.warnings { phase = o.pha, amp = o.amp, fs = o.fs, n = T, cycles = o.n_cycles }
  if e.K > 0 then plan.warnings[#plan.warnings + 1] = normalize.few_surrogates(e.K, o.p_threshold) end
  return plan
end

--- Peak bytes of a run over `rows` rows when `block` rows are in work at a time.
function Plan:bytes(rows, block)
  return engine.result_bytes(self.engine, rows) + engine.row_bytes(self.engine) * block
end

--- Seconds the run should take on this machine: measured costs per transform point and per binned sample, two cores, f32.
function Plan:seconds(rows)
  local e = self.engine
  local N = e.plan and e.plan.N or 2 * e.T
  local cells = e.P * e.A
  local per = (e.P + e.A) * N * math.log(N) * 0.55e-9 + cells * e.L * 0.12e-9
  if e.K > 0 then per = per + (e.by_fft and cells * 9 * e.L * math.log(e.L) * 0.35e-9 or cells * e.L * e.K * 0.045e-9) end
  return rows * per * 2 / mc.get_num_threads() * (self.options.dtype == 'f64' and 2.3 or 1)
end

-- ---------------------------------------------------------------- shapes

local AXES = { T = 1, CT = 2, ST = 2, BCT = 3, CST = 3, BCST = 4 }

--- Input of any accepted rank as [B, C, S, T] with the names of its own axes.
local function four(x, o, what)
  local axes = o.axes
  if not axes then axes = ({ 'T', 'CT', 'BCT', 'BCST' })[x.ndim] end
  if not axes or not AXES[axes] or AXES[axes] ~= x.ndim then
    error(('pac: %s is %s with axes %q; give samples last: T, CT, ST, BCT, CST or BCST'):format(what, tensor.describe(x), tostring(o.axes or '?')), 4)
  end
  local shape, size = {}, { B = 1, C = 1, S = 1 }
  for i = 1, #axes do size[axes:sub(i, i)] = x.shape[i] end
  for i, n in ipairs { 'B', 'C', 'S', 'T' } do shape[i] = size[n] end
  return x:reshape(shape), axes
end

--- Which rows couple with which: jobs in the order of the result.
local function layout_of(o, B, C, S)
  local pairs_ = o.pairs
  if not pairs_ then
    pairs_ = {}
    for c = 1, C do pairs_[c] = { c, c } end
  else
    for i, p in ipairs(pairs_) do
      for k = 1, 2 do
        local list = type(p[k]) == 'table' and p[k] or { p[k] }
        for _, c in ipairs(list) do
          if type(c) ~= 'number' or c ~= math.floor(c) or c < 1 or c > C then
            error(('pac: pairs[%d] names channel %s; channels run from 1 to %d'):format(i, tostring(c), C), 5)
          end
        end
      end
    end
  end
  local l = { pha = {}, amp = {}, jobs = 0, G = o.pool_segments and S or 1, S = S, C = #pairs_ }
  for b = 0, B - 1 do
    for _, p in ipairs(pairs_) do
      for s = 0, S - 1 do
        l.pha[#l.pha + 1] = (b * C + p[1] - 1) * S + s
        l.amp[#l.amp + 1] = (b * C + p[2] - 1) * S + s
      end
    end
  end
  l.jobs = B * #pairs_ * (o.pool_segments and 1 or S)
  return l
end

-- ---------------------------------------------------------------- running

local function merge(parts)
  local out = {}
  for name in pairs(parts[1]) do
    local list = {}
    for i, p in ipairs(parts) do list[i] = p[name] end
    out[name] = #list == 1 and list[1] or mc.concat(list, 1)
  end
  return out
end

--- Rows per block: all that fit. Refuses with the size it would need when not even the smallest block fits.
function Plan:block_rows(rows, smallest, resident)
  local e, limit = self.engine, self.options.max_memory
  local per, fixed = engine.row_bytes(e), engine.result_bytes(e, rows) + (resident or 0)
  local most = math.max(smallest, math.floor(512 * 2 ^ 20 / per / smallest) * smallest)
  if limit then
    local room = limit - fixed
    local fit = math.floor(room / per / smallest) * smallest
    if fit < smallest then
      error(('pac: max_memory is %s, but the smallest block needs %s (results %s, %d rows at %s each); raise max_memory or analyse fewer channels or bands at a time'):format(
        sized(limit), sized(fixed + per * smallest), sized(fixed), smallest, sized(per)), 4)
    end
    most = math.min(most, fit)
  end
  return math.min(rows, most)
end

--- Runs the plan.
---@param x any f32|f64|integers: [T], [C, T], [B, C, T], [B, C, S, T], or as opts.axes says
---@return table result as for compute
function Plan:run(x, x_amp)
  local o, e = self.options, self.engine
  if not mc.is_tensor(x) then error('pac: x is ' .. check.show(x) .. '; give a tensor of samples', 3) end
  local kind = tensor.kind[x.dtype]
  if kind == 'c' or kind == 'b' then error(('pac: x is %s; give real samples'):format(tensor.describe(x)), 3) end
  local x4, axes = four(x, o, 'x')
  local B, C, S, T = x4:size()
  if T ~= self.T then error(('pac: x has %d samples, the plan is for %d; make a plan for this length'):format(T, self.T), 3) end
  local a4
  x_amp = x_amp or o.x_amp
  if x_amp then
    a4 = four(x_amp, o, 'x_amp')
    if not (a4.shape == x4.shape) then error(('pac: x_amp is %s and x is %s; the shapes must be equal'):format(tensor.describe(x_amp), tensor.describe(x)), 3) end
  end
  if o.surrogate == 'swap_trials' and S < 2 then error('pac: surrogate "swap_trials" needs at least two segments; use block_swap, or give segments', 3) end
  local threads = mc.get_num_threads()
  if o.threads then mc.set_num_threads(o.threads) end
  local R = B * C * S
  local rows, rows_a = x4:reshape(R, T), a4 and a4:reshape(R, T)
  -- a block must hold the rows that depend on each other
  local together = 1
  if not e.row_route then
    if o.bin_norm == 'pooled' and not o.moments then together = R
    elseif o.pairs then together = C * S
    elseif o.pool_segments or o.surrogate == 'swap_trials' then together = S end
  end
  local block = self:block_rows(R, together)
  local bar = o.progress
  if bar == true then
    local big = R * (1 + e.K / 20) * e.T * (e.P + e.A) > 3e8
    bar = big and require('mascon.progress').new(R, { label = 'pac', unit = 'rows' }) or nil
    if bar and not o.max_memory then block = math.max(together, math.min(block, math.ceil(R / 40 / together) * together)) end
  elseif type(bar) == 'function' then
    local report = bar
    bar = { at = 0, add = function(b, n)
      b.at = b.at + n
      report(b.at, R)
    end, done = function() end }
  end
  local parts = {}
  local function all()
    for first = 1, R, block do
      local last = math.min(first + block - 1, R)
      local xb = rows[{ { first, last } }]:to(o.dtype):contiguous()
      local ab = rows_a and rows_a[{ { first, last } }]:to(o.dtype):contiguous()
      local n = last - first + 1
      local b, c, s = 1, 1, n
      if together == C * S and together > 1 then b, c, s = n / (C * S), C, S elseif together == S then b, c, s = n / S, 1, S elseif together == R then b, c, s = B, C, S end
      parts[#parts + 1] = engine.block(e, xb, ab, not e.row_route and layout_of(o, b, c, s) or nil)
      if bar then bar:add(n) end
    end
  end
  local ok, msg = pcall(all)
  if o.threads then mc.set_num_threads(threads) end
  if bar and bar.done then bar:done() end
  if not ok then error(msg, 0) end
  local r = merge(parts)
  -- shapes of the result: the axes of the input, channels replaced by pairs, segments dropped when pooled, then P, A
  local lead, nc = {}, o.pairs and #o.pairs or C
  for i = 1, #axes - 1 do
    local a = axes:sub(i, i)
    if a == 'B' then lead[#lead + 1] = B elseif a == 'C' then lead[#lead + 1] = nc elseif a == 'S' and not o.pool_segments then lead[#lead + 1] = S end
  end
  local function shaped(t, ...)
    local s = {}
    for i, v in ipairs(lead) do s[i] = v end
    for _, v in ipairs { ... } do s[#s + 1] = v end
    return t:reshape(s)
  end
  return self:finish(r, shaped)
end

--- Names, norms and p-values of what the engine returned.
function Plan:finish(r, shaped)
  local o, e = self.options, self.engine
  local P, A, K = e.P, e.A, e.K
  local out = { pac = shaped(r.value, P, A), pha_bands_hz = o.pha, amp_bands_hz = o.amp, warnings = self.warnings, n_surrogates = K, min_shift = e.m, options = o }
  local status = r.status
  if e.cut then
    local cut = mc.zeros({ P, A }, { dtype = 'i32' })
    for i = 1, P do if e.cut[i] then cut[i] = 16 end end
    for i = 1, A do if e.cut[P + i] then cut[{ mc.all, i }] = 16 end end
    status = status + cut
  end
  if not o.moments then
    local n = o.n_bins
    out.bin_centers = (mc.arange(0, n - 1) + 0.5) * (2 * math.pi / n) - math.pi
    out.pref_phase = shaped(r.pref, P, A)
    if r.dist then out.dist = shaped(r.dist, P, A, n) end
  end
  if K > 0 then
    local value = r.value:to 'f64'
    local z, sd, flat = normalize.apply(value, r.mean, r.m2, K, { norm = 'z', compat = o.compat == 'gpac' and 'gpac' or 'native' })
    status = mc.bitwise_or(status, flat:to 'i32')
    out.z, out.surr_mean, out.surr_std = shaped(z, P, A), shaped(r.mean, P, A), shaped(sd, P, A)
    if o.norm ~= 'z' and o.norm ~= 'none' then out.normalized = shaped((normalize.apply(value, r.mean, r.m2, K, { norm = o.norm })), P, A) end
    if o.compat == 'tensorpac' then
      -- [jobs, K, P, A]: averaged over everything before the bands, as its users do with trials
      local jobs = value.shape[1]
      out.p = normalize.p_tensorpac(value:reshape(jobs, P, A), mc.permute_dims(r.all, { 2, 1, 3, 4 }):to 'f64', { p = o.p_threshold, mcp = o.mcp == 'none' and 'maxstat' or o.mcp })
    else
      out.p = shaped(normalize.test(value, { k = K, count = r.exceed, maxima = r.max and r.max:to 'f64', mcp = o.mcp }), P, A)
    end
    if o.return_surrogates then out.surrogates = shaped(mc.moveaxis(r.all, 2, -1):contiguous(), P, A, K) end
  end
  out.status = shaped(status, P, A)
  return out
end

--- Phase-amplitude coupling of recordings.
---
--- For every row, phase band and amplitude band: how strongly the phase of the slow band modulates the amplitude of the fast one.
--- mi: 1 + sum_j p_j ln p_j / ln N over N phase bins (2010) · mvl |sum a e^{i phi}|/T (2006) · ozk the same over sqrt(T) ||a|| (2011) ·
--- hr (max p - min p)/max p (2005) · ndpac (2012) · plv (2008) · gc Gaussian-copula mutual information, bit (2017) · glm R^2 (2008).
---@param x any samples: [T], [C, T], [B, C, T], [B, C, S, T], or as opts.axes ("ST", "CST") says
---@param opts table fs Hz (required) · pha_range_hz {2, 20} · pha_n_bands 10 · amp_range_hz {60, 160} · amp_n_bands 10 · pha_bands_hz, amp_bands_hz ·
---  spacing 'linear'|'log' · band_clip · filter 'fir1'|'butter_trunc'|'morlet' · n_cycles {3, 6} · morlet_width 7 · edges 0 samples · demean · mask · windows ·
---  measure 'mi' · n_bins 18 · bin_norm 'mean'|'sum'|'pooled' · binning 'hard'|'soft' · n_perm 0 · surrogate 'block_swap'|'swap_trials'|'time_lag'|'exhaustive' ·
---  min_shift samples · norm 'z' · mcp 'none'|'maxstat'|'fdr'|'bonferroni' · seed 42 · return_surrogates · return_dist · dtype 'f32'|'f64' ·
---  compat 'native'|'tensorpac'|'gpac' · x_amp · pairs {{phase_ch, amp_ch}, ...} · pool_segments · max_memory · threads · progress
---@return table result pac [..., P, A], pref_phase rad, status bits, z, p, surr_mean, surr_std, dist [..., N], surrogates [..., K], bin_centers,
---  pha_bands_hz [P, 2], amp_bands_hz [A, 2], warnings
--- Source: J. Neurophysiol. 104, 1195, 2010, and the years above; surrogates by circular shifts of one row at a time.
function M.compute(x, opts)
  if not mc.is_tensor(x) then
    if type(x) == 'table' then x = mc.tensor(x) else error('pac: x is ' .. check.show(x) .. '; give a tensor of samples', 2) end
  end
  if x.ndim < 1 or x.ndim > 4 then error(('pac: x is %s; give 1 to 4 axes with samples last'):format(tensor.describe(x)), 2) end
  local T = x.shape[x.ndim]
  if T < 2 then error(('pac: x is %s; a row needs at least 2 samples'):format(tensor.describe(x)), 2) end
  return M.plan(T, opts):run(x)
end

return setmetatable(M, { __index = function(t, k)
  local from = { generate = 'generate', event = 'event', normalize = 'normalize', filters = 'filters', search = 'search', report = 'report', source = 'source' }
  if from[k] then
    local m = require('mascon.pac.' .. from[k])
    rawset(t, k, m)
    return m
  end
end })
