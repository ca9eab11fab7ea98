-- pac/init.lua - phase-amplitude coupling with exact statistics.
--
-- compute(x, opts), plan(T, opts) and from_phases(phase, amp, opts): from recordings to comodulograms, surrogates,
-- p-values. Holds the shapes of input and output, blocks of rows, memory planning and progress. The arithmetic is in
-- engine.lua, the bands in bands.lua, the search for the best pair of bands in search.lua, generators in generate.lua.
local mc = require 'mascon'
local ceiling = require 'mascon.base.ceiling'
local check = require 'mascon.core.check'
local devices = require 'mascon.core.devices'
local guard = require 'mascon.core.guard'
local lazy = require 'mascon.core.lazy'
local tensor = require 'mascon.core.tensor'
local bands = require 'workflows.pac.bands'
local engine = require 'workflows.pac.engine'
local normalize = require 'workflows.pac.normalize'
local options = require 'workflows.pac.options'
local silent = require 'workflows.pac.silent'
local in_segments = require 'workflows.pac.segments'
local trials = require 'workflows.pac.trials'
local error = check.error
local M = {}

--- The bits of `status`: a phase bin without samples, amplitude zero, NaN or Inf in the input, surrogates that are all
--- equal, a filter order cut short by the length of the recording.
M.STATUS = { empty_bin = 1, zero_amplitude = 2, bad_input = 4, no_spread = 8, order_cut = 16 }

local TWO_PI = 2 * math.pi
local Plan = {}
Plan.__index = Plan

local function plan_of(o, T)
  local n = in_segments.length(o, T)
  local e = n and in_segments.prepare(o, T, n) or engine.prepare(o, T)
  if n then o.segment_length = e.segment / o.fs end
  local plan = setmetatable({ T = T, options = o, engine = e, pha_bands_hz = o.pha, amp_bands_hz = o.amp,
    n_surrogates = e.K, min_shift = e.m, warnings = {} }, Plan)
  if o.pha and not e.given then
    -- only fir1 has an order that a short recording cuts
    local cycles = o.filter == 'fir1' and o.n_cycles or { 0, 0 }
    plan.warnings = bands.warnings { phase = o.pha, amp = o.amp, fs = o.fs, n = T, cycles = cycles }
  end
  for _, note in ipairs(o.notes) do table.insert(plan.warnings, note) end
  if n then
    local text = 'rows of %d samples are analysed in %d segments of %.4g s each (segment_length), '
      .. 'whose sums are added up%s'
    table.insert(plan.warnings, text:format(T, e.count, o.segment_length,
      e.K > 0 and '; a surrogate shifts the amplitude of every segment by an amount of its own' or ''))
  end
  if e.K > 0 then table.insert(plan.warnings, (normalize.few_surrogates(e.K, o.p_threshold))) end
  if e.K > 0 and e.plan and o.edges == 0 then
    -- measured on white noise, five bands from 2 Hz: p <= 0.05 in 4.6 % of rows at a share of 0.19, 6.3 % at 0.75, 10.3
    -- % at 1.5
    local share = 2 * e.plan.pad / T
    if share > 0.5 then
      table.insert(plan.warnings, ('the rows are short for the slowest filter: %.0f %% of the samples lie within its '
        .. 'length of an end, where phase and amplitude share reflected samples, and p-values come out too small; use '
        .. 'longer rows, faster bands, fewer cycles or edges'):format(math.min(100, 100 * share)))
    end
  end
  return plan
end

--- A plan for rows of T samples: bands, filters, shifts, made once and used for any number of recordings.
---     mc.pac.plan(1000, { fs = 250, pha_range_hz = { 4, 8 }, pha_n_bands = 2, amp_range_hz = { 40, 80 },
---       amp_n_bands = 3 }).T
---       --> 1000
---@param T integer samples of a row
---@param opts table as for compute
---@return table plan with :run(x), :bytes(rows), :seconds(rows), .warnings, .pha_bands_hz, .amp_bands_hz,
---  .n_surrogates, .min_shift
function M.plan(T, opts)
  check.arg('pac.plan', 'T', T, 'integer >= 2', 3)
  local o = options.complete(opts)
  local clip = o.band_clip
  o.pha = bands.phase { fs = o.fs, range = o.pha_range_hz, n = o.pha_n_bands, bands = o.pha_bands_hz,
    spacing = o.spacing, clip = clip, compat = o.compat }
  o.amp = bands.amplitude { fs = o.fs, range = o.amp_range_hz, n = o.amp_n_bands, bands = o.amp_bands_hz,
    spacing = o.spacing, clip = clip, compat = o.compat }
  trials.take(o, T)
  return plan_of(o, T)
end

--- Peak bytes of a run over `rows` rows when `block` rows are in work at a time (default: as many as run() would take).
--- The samples themselves are not counted.
---@param rows integer
---@param block? integer
---@param segments? integer of a channel, for pooled segments
---@return number
function Plan:bytes(rows, block, segments)
  local e = self.engine
  if e.segment then return in_segments.bytes(e, rows, self.options.threads or mc.get_num_threads()) end
  block = block or math.min(rows, self:_most(1))
  local work = engine.work_bytes(e, self:_workers(rows, segments or 1), segments or 1)
  return engine.result_bytes(e, rows) + (e.plan and e.plan.bytes or 0) + engine.row_bytes(e) * block + work
end

--- Workers with something to do: a job is a row, or all segments of one.
function Plan:_workers(rows, segments)
  local jobs = self.options.pool_segments and math.ceil(rows / segments) or rows
  return math.min(self.options.threads or mc.get_num_threads(), jobs)
end

--- Rows of a block without a limit: what half a GiB holds, in whole groups of `together`.
function Plan:_most(together)
  return math.max(together, math.floor(512 * 2 ^ 20 / engine.row_bytes(self.engine) / together) * together)
end

-- beyond the fused filter, seconds per band and per T log T: filters that run band by band, and the ranks of gc
-- (measured at T = 2048, two cores)
local BAND_COST = { fir1 = 4e-9, morlet = 2.1e-9, butter_trunc = 5.9e-9 }
local RANK_COST = 4.5e-9

--- Seconds the run should take on this machine: measured costs per transform point and per binned sample, two cores,
--- f32.
function Plan:seconds(rows)
  local e = self.engine
  if e.segment then
    local N, cells = e.plan.N, e.P * math.ceil(e.A / e.W) * e.W
    local per = (e.P + e.A) * N * math.log(N) * 0.55e-9 + cells * e.segment * (e.K + 1) * 0.12e-9
    return rows * e.count * per * 2 / mc.get_num_threads() * (self.options.dtype == 'f64' and 2.3 or 1)
  end
  local N = e.plan and e.plan.N or 2 * e.T
  local cells = e.P * e.A
  local per = (e.P + e.A) * N * math.log(N) * 0.55e-9 + cells * e.L * 0.12e-9
  local bands_cost = (e.P + e.A) * e.T * math.log(e.T)
  if not e.fused and not e.given then per = per + bands_cost * BAND_COST[self.options.filter] end
  if self.options.measure == 'gc' then per = per + bands_cost * RANK_COST end
  if e.K > 0 then
    per = per + (e.by_fft and cells * 9 * e.L * math.log(e.L) * 0.35e-9 or cells * e.L * e.K * 0.045e-9)
  end
  return rows * per * 2 / mc.get_num_threads() * (self.options.dtype == 'f64' and 2.3 or 1)
end

-- ---------------------------------------------------------------- shapes

local AXES = { T = 1, CT = 2, ST = 2, BCT = 3, CST = 3, BCST = 4 }
local BY_RANK = { 'T', 'CT', 'BCT', 'BCST' }

--- Names of the axes and sizes { B, C, S } of an input whose last axes after `lead` are not counted.
local function sizes(x, o, what, inner)
  local rank = x.ndim - inner
  local axes = o.axes or BY_RANK[rank]
  if not axes or AXES[axes] ~= rank then
    error(('pac: %s is %s with axes %q; give samples last: T, CT, ST, BCT, CST or BCST'):format(what,
      tensor.describe(x), tostring(axes or '?')), 2)
  end
  if x:numel() == 0 then error(('pac: %s is %s; it holds no samples'):format(what, tensor.describe(x)), 2) end
  local n = { B = 1, C = 1, S = 1 }
  for i = 1, #axes - 1 do n[axes:sub(i, i)] = x.shape[i] end
  return axes, n
end

local function check_pairs(pairs_, C)
  if #pairs_ == 0 then error('pac: pairs is an empty list; give {phase channel, amplitude channel} pairs', 2) end
  for i, p in ipairs(pairs_) do
    if type(p) ~= 'table' or #p ~= 2 then
      error(('pac: pairs[%d] is %s; give {phase channel, amplitude channel}'):format(i,
        type(p) == 'table' and #p .. ' entries' or check.show(p)), 2)
    end
    for k = 1, 2 do
      local c = p[k]
      if type(c) ~= 'number' or c ~= math.floor(c) or c < 1 or c > C then
        error(('pac: pairs[%d] names channel %s; channels run from 1 to %d'):format(i, check.show(c), C), 2)
      end
    end
  end
end

--- Which rows couple with which: jobs in the order of the result.
local function layout_of(o, B, C, S)
  local list = o.pairs
  if not list then
    list = {}
    for c = 1, C do list[c] = { c, c } end
  end
  local l = { pha = {}, amp = {}, G = o.pool_segments and S or 1, S = S,
    jobs = B * #list * (o.pool_segments and 1 or S) }
  for b = 0, B - 1 do
    for _, p in ipairs(list) do
      for s = 0, S - 1 do
        l.pha[#l.pha + 1] = (b * C + p[1] - 1) * S + s
        l.amp[#l.amp + 1] = (b * C + p[2] - 1) * S + s
      end
    end
  end
  return l
end

-- ---------------------------------------------------------------- running

--- Rows per block, all that fit, and workers: fewer where their workspaces do not fit. Refuses with the size it would
--- need when not even the smallest block of one worker fits.
---@return integer rows
---@return integer workers
function Plan:block_rows(rows, together, segments)
  local e = self.engine
  local _ = e.plan and e.plan.table -- before what is left is measured
  local limit, most, workers = ceiling.left(), self:_most(together), self:_workers(rows, segments)
  if limit then
    local per, fixed = engine.row_bytes(e), engine.result_bytes(e, rows)
    local function need(n) return fixed + engine.work_bytes(e, n, segments) + per * together end
    local block = 'the smallest block (results %s, a worker %s, %d rows of %s each)'
    ceiling.need('pac', need(1), block:format(ceiling.text(fixed),
      ceiling.text(engine.work_bytes(e, 1, segments)), together, ceiling.text(per)), 3)
    while workers > 1 and need(workers) > limit do workers = workers - 1 end
    most = math.min(most, math.floor((limit - need(workers) + per * together) / per / together) * together)
  end
  return math.min(rows, most), workers
end

local function progress_of(o, e, rows)
  local bar = o.progress
  if type(bar) == 'function' then
    local report, at = bar, 0
    return { add = function(_, n)
      at = at + n
      report(at, rows)
    end, done = function() end }
  end
  local big = rows * (1 + e.K / 20) * e.T * (e.P + e.A) > 3e8
  return bar and big and require('mascon.base.progress').new(rows, { label = 'pac', unit = 'rows' }) or nil
end

--- Rows that depend on each other and so must be in one block, and the batch of the layout they form: { B, C, S } of n
--- rows.
local function dependence(o, e, n)
  if e.row_route then return 1 end
  local R, CS, S = n.B * n.C * n.S, n.C * n.S, n.S
  if o.bin_norm == 'pooled' and not o.moments then return R, function() return n.B, n.C, S end end
  if o.pairs then return CS, function(k) return k / CS, n.C, S end end
  if o.pool_segments or o.surrogate == 'swap_trials' then return S, function(k) return k / S, 1, S end end
  return 1, function(k) return 1, 1, k end
end

local PORTIONS = 8 -- of the rows that devices share

--- Runs the engine over blocks of rows; results of the blocks end up one behind the other.
---@param n table sizes B, C, S
function Plan:_execute(rows, rows_a, n)
  local o, e = self.options, self.engine
  local R = n.B * n.C * n.S
  local together, batch = dependence(o, e, n)
  local block, workers = self:block_rows(R, together, n.S)
  if workers < self:_workers(R, n.S) then mc.set_num_threads(workers) end
  local bar = progress_of(o, e, R)
  if bar and not o.max_memory then
    block = math.max(together, math.min(block, math.ceil(R / 40 / together) * together))
  end
  local many = type(o.device) == 'table' -- the same portions for any number of devices, so the same bits
  if many then block = math.max(together, math.min(block, math.ceil(R / together / PORTIONS) * together)) end
  local total, out, at = layout_of(o, n.B, n.C, n.S).jobs, nil, 0
  local function part(x, first, last, place)
    x = x[{ { first, last } }]
    x = (e.given and x or x:to(e.dtype)):contiguous()
    return place > 0 and tensor.moved(x, place, 2) or x -- else the rows stay where they are
  end
  local step, there = block * #o.places, o.places[1] > 0
  local function rows_of(b)
    return part(rows, b.first, b.last, b.place), rows_a and part(rows_a, b.first, b.last, b.place)
  end
  --- A block for each device, from a row on; on devices its samples are on their way when this returns.
  local function brought(from)
    local list = {}
    for i, place in ipairs(o.places) do
      local b = { first = from + (i - 1) * block, place = place }
      b.last = math.min(b.first + block - 1, R)
      if b.first <= R then list[i] = b end
      if b.first <= R and there then b.x, b.xa = mc.scope(rows_of, b) end
    end
    return list
  end
  --- Begins a block: on devices nothing waits for its results.
  local function begun(b)
    local k = b.last - b.first + 1
    return k, mc.scope(function()
      local x, xa = b.x, b.xa
      if not x then x, xa = rows_of(b) end
      return engine.block(e, x, xa, batch and layout_of(o, batch(k)), there)
    end)
  end
  local function taken(k, r)
    for name, t in pairs(r) do
      r[name] = tensor.hosted(t)
      if not rawequal(r[name], t) then t:release() end
    end
    if k == R then
      out = r
    else
      local count = r.value.shape[1]
      out = out or {}
      for name, t in pairs(r) do
        if not out[name] then
          local shape = { total }
          for i = 2, t.ndim do shape[i] = t.shape[i] end
          out[name] = mc.empty(shape, { dtype = t.dtype })
        end
        out[name][{ { at + 1, at + count } }] = t
        t:release()
      end
      at = at + count
    end
    if bar then bar:add(k) end
  end
  -- a block on each device and the next rows on their way there, then the results in the order of the rows
  local blocks = brought(1)
  for from = 1, R, step do
    local running = {}
    for i, b in ipairs(blocks) do running[i] = { begun(b) } end
    local following = brought(from + step)
    for i, r in ipairs(running) do
      taken(r[1], r[2])
      for _, t in pairs { blocks[i].x, blocks[i].xa } do t:release() end
    end
    blocks = following
  end
  if bar then bar:done() end
  return out
end

--- With the threads and the memory the options ask for; the threads are put back also after an error.
function Plan:_threaded(f, ...)
  local wanted, before = self.options.threads, mc.get_num_threads()
  if wanted then mc.set_num_threads(wanted) end
  local ok, r = pcall(ceiling.beside, self.options.max_memory, f, self, ...)
  mc.set_num_threads(before)
  if not ok then error(r, 0) end
  return r
end

--- Shapes a [jobs, ...] result as the axes of the input: channels replaced by pairs, segments dropped when pooled.
local function shaper(o, axes, n, without_segments)
  local lead = {}
  for i = 1, #axes - 1 do
    local a = axes:sub(i, i)
    if a == 'C' then lead[#lead + 1] = o.pairs and #o.pairs or n.C
    elseif a == 'B' or not (o.pool_segments or without_segments) then lead[#lead + 1] = n[a] end
  end
  return function(t, ...)
    local s = {}
    for i, v in ipairs(lead) do s[i] = v end
    for _, v in ipairs { ... } do s[#s + 1] = v end
    return t:reshape(s)
  end
end

--- Everything about the input that can be refused once its sizes are known.
function Plan:_check_sizes(n)
  local o = self.options
  if o.surrogate == 'swap_trials' then
    if n.S < 2 then
      error('pac: surrogate is "swap_trials" and there is one segment; it needs at least two, use block_swap or '
        .. 'give segments', 2)
    end
    if o.permutations then require('workflows.pac.surrogate').permutations(o, n.S) end
  end
  if o.pool_segments and n.S == 1 and not (o.axes and o.axes:find 'S') then
    error('pac: pool_segments is true and the input has no segments; name its axes, axes = "ST", "CST" or "BCST"', 2)
  end
  if o.pairs then check_pairs(o.pairs, n.C) end
end

local function check_samples(x, what)
  if not mc.is_tensor(x) then error(('pac: %s is %s; give a tensor of samples'):format(what, check.show(x)), 2) end
  local kind = tensor.kind[x.dtype]
  if kind == 'c' or kind == 'b' then error(('pac: %s is %s; give real samples'):format(what, tensor.describe(x)), 2) end
end

--- Refuses what run(x, x_amp) would refuse, without running.
---@return string axes
---@return table sizes B, C, S
function Plan:check(x, x_amp)
  local o, e = self.options, self.engine
  if e.given then error('pac: this plan is for phases and amplitudes that are given; use pac.from_phases', 2) end
  check_samples(x, 'x')
  local axes, n = sizes(x, o, 'x', 0)
  local T = x.shape[x.ndim]
  if T ~= self.T then
    error(('pac: x has %d samples, the plan is for %d; make a plan for this length'):format(T, self.T), 2)
  end
  x_amp = x_amp or o.x_amp
  if x_amp then
    check_samples(x_amp, 'x_amp')
    if x_amp.shape ~= x.shape then
      error(('pac: x_amp is %s and x is %s; the shapes must be equal'):format(tensor.describe(x_amp),
        tensor.describe(x)), 2)
    end
  end
  self:_check_sizes(n)
  return axes, n
end

--- Name of the device of an analysis of x.
local function where(o, x) return devices.names(o.places[1] == 0 and { x._device } or o.places) end

--- Runs the plan over samples whose sizes are known to be right.
local function ran(self, x, x_amp, axes, n)
  local T, R = self.T, n.B * n.C * n.S
  if self.options.trial_mask then
    local K, shift
    local r = self:_threaded(function()
      local out
      out, K, shift = trials.run(self, plan_of, x, x_amp, n)
      return out
    end)
    local engine_ = setmetatable({ K = K, m = shift, far = K }, { __index = self.engine })
    local warnings = {}
    for i, w in ipairs(self.warnings) do warnings[i] = w end
    warnings[#warnings + 1], r.note = r.note, nil
    return Plan.finish(setmetatable({ engine = engine_, warnings = warnings }, { __index = self }), r, n, axes)
  end
  if self.engine.segment then
    local function rows_of(t)
      local flat = t:reshape(R, T)
      return function(rows, first, last)
        return mc.take(flat[{ mc.all, { first, last } }], mc.tensor(rows, { dtype = 'i64' }), 1)
      end
    end
    return self:_segments(rows_of(x), x_amp and rows_of(x_amp), n, axes)
  end
  local r = self:_threaded(Plan._execute, x:reshape(R, T), x_amp and x_amp:reshape(R, T), n)
  return self:finish(r, n, axes)
end

--- Runs the plan.
---@param x any f32|f64|integers: [T], [C, T], [B, C, T], [B, C, S, T], or as opts.axes says
---@param x_amp? any samples whose amplitudes are taken, of the shape of x
---@return table result as for compute
function Plan:run(x, x_amp)
  local axes, n = self:check(x, x_amp)
  local r = ran(self, x, x_amp or self.options.x_amp, axes, n)
  r.device = where(self.options, x)
  return r
end

--- Runs a plan in segments.
function Plan:_segments(read, read_amp, n, axes, step)
  local o, rows = self.options, n.B * n.C * n.S
  local bar = not step and progress_of(o, self.engine, rows)
  local layout = layout_of(o, n.B, n.C, n.S)
  local r = self:_threaded(function()
    return in_segments.run(self.engine, read, read_amp, layout, { threads = o.threads or mc.get_num_threads(),
      step = step or bar and function(k) bar:add(k * rows / layout.jobs) end })
  end)
  if bar then bar:done() end
  return self:finish(r, n, axes)
end

--- Runs a plan whose rows are analysed in segments over rows that are read a stretch at a time.
---@param read function (rows, first, last) -> samples [#rows, n]; rows and samples count from 1
---@param rows integer
---@param step? function told of the rows done, in parts of rows
---@return table result as for compute of [rows, 1, T] with axes "CST"
function Plan:stream(read, rows, step)
  if not self.engine.segment then error('pac: this plan has no segments; give segment_length, or use run', 2) end
  return self:_segments(read, nil, { B = 1, C = rows, S = 1 }, 'CST', step)
end

-- ---------------------------------------------------------------- results

--- Tensorpac's p-values of each channel: values and surrogates averaged over segments before the bands; bad segments
--- are left out.
local function p_of_trials(o, value, all, segments)
  local groups, p = value.shape[1] / segments, {}
  for g = 1, groups do
    local v, s = value:reshape(groups, segments, value.shape[2], value.shape[3])[g],
      all:reshape(groups, segments, all.shape[2], all.shape[3], all.shape[4])[g]
    local good = mc.nonzero(mc.logical_not(mc.any(mc.isnan(v:reshape(segments, -1)), 2))):reshape(-1)
    if good:numel() > 0 and good:numel() < segments then v, s = mc.take(v, good, 1), mc.take(s, good, 1) end
    local raw = normalize.p_tensorpac(v, mc.permute_dims(s, { 2, 1, 3, 4 }):to 'f64',
      { p = o.p_threshold, mcp = o.mcp == 'none' and 'maxstat' or o.mcp })
    p[g] = mc.where(mc.isnan(v:mean(1)), mc.nan, raw)
  end
  return mc.stack(p, 1)
end

--- Bits of bands whose filter order was cut, added to the status of all rows.
local function with_cut(e, status)
  local cut = mc.zeros({ e.P, e.A }, { dtype = 'i32' })
  for i = 1, e.P do if e.cut[i] then cut[i] = M.STATUS.order_cut end end
  for i = 1, e.A do if e.cut[e.P + i] then cut[{ mc.all, i }] = M.STATUS.order_cut end end
  return status + cut
end

local CORRECT = { mcp = { nil, { 'none', 'maxstat', 'fdr', 'bonferroni' } }, mcp_scope = { nil, { 'run', 'channel' } },
  recordings = { 1, 'integer >= 1' } }

--- p-values of a result, corrected for many pairs.
---
--- none: (1 + #{s >= x})/(1 + K) of each pair. maxstat: pairs and surrogates on the scale of each pair's own null
--- (maxstat_of = 'z' of compute; 'raw': as they are), and p = (1 + #{max_k >= x})/(1 + K), max_k being the largest of
--- surrogate k over the family. bonferroni, fdr: p of the pairs times their number, and the step-up procedure. The
--- family: all pairs of all channels and segments of a recording (mcp_scope = 'run'), or of each map by itself
--- ('channel').
---@param r table result of compute
---@param opts? table mcp and mcp_scope (those of the run) · recordings 1: how many the first axis holds
---@return any p f64 of the shape of r.pac
--- Errors: a result without surrogates; maxstat of a result that was computed with another correction.
function M.correct(r, opts)
  local o = check.opts('pac.correct', opts, CORRECT, 3)
  local mcp, scope = o.mcp or r.options.mcp, o.mcp_scope or r.options.mcp_scope
  if not r.surr_exceed then
    error('pac.correct: the result has no surrogates; compute it with n_perm, or surrogate = "exhaustive"', 2)
  end
  if mcp == 'maxstat' and not r.surr_max then
    error('pac.correct: the result holds no maxima; compute it with mcp = "maxstat"', 2)
  end
  local value = mcp == 'maxstat' and r.standard or r.pac
  local p = normalize.test(value:to 'f64', { k = r.n_surrogates, count = r.surr_exceed,
    maxima = r.surr_max and r.surr_max:to 'f64', mcp = mcp,
    groups = scope == 'run' and o.recordings or nil, near = mcp == 'maxstat' and r.surr_near or nil })
  return p
end

--- The values of a result with counts as Tensorpac has them: the sum of amplitudes of a phase bin divided by its count
--- over all phase bands and rows of the result.
---@param r table result of compute with return_sums
---@return any of the shape of r.pac
function M.pooled(r)
  if not r.bin_sums then
    error('pac.pooled: the result has no sums by phase bin; compute it with return_sums = true', 2)
  end
  local o, P, A = r.options, r.pac.shape[r.pac.ndim - 1], r.pac.shape[r.pac.ndim]
  local B = o.n_bins
  local bad = mc.any(mc.isnan(r.pac:reshape(-1, P * A)), 2):reshape(-1, 1, 1)
  local counts = r.bin_counts:reshape(-1, P, B)
  local divisor = mc.sum(mc.where(bad, 0, counts), { 1, 2 })
  local list = { r.bin_sums:reshape(-1):contiguous(), counts:reshape(-1):contiguous(), divisor,
    mc.zeros({ 0 }, { dtype = r.pac.dtype }) }
  local value = require('mascon.core.op').raw('pac_measure', list,
    { P = P, A = A, bins = B, norm = 2, measure = o.measure == 'hr' and 1 or 0, want = 1 }, 1)[1]
  return mc.where(mc.isnan(r.pac), mc.nan, value:reshape(r.pac.shape))
end

--- Names, norms and p-values of what the engine returned.
function Plan:finish(r, n, axes)
  local o, e = self.options, self.engine
  local P, A, K = e.P, e.A, e.K
  local shaped = shaper(o, axes, n)
  local out = {
    pac = shaped(r.value:to(o.dtype), P, A), pha_bands_hz = o.pha, amp_bands_hz = o.amp, warnings = self.warnings,
    n_surrogates = K, min_shift = e.m, null_shift = e.near, options = o,
  }
  local status = e.cut and with_cut(e, r.status) or r.status
  if not o.moments then
    out.bin_centers = (mc.arange(0, o.n_bins - 1) + 0.5) * (TWO_PI / o.n_bins) - math.pi
    out.pref_phase = shaped(r.pref, P, A)
    out.peak_phase = shaped(
      mc.where(mc.lt(r.best, 0), mc.nan, (r.best:to 'f64' + 0.5) * (TWO_PI / o.n_bins) - math.pi):to(o.dtype), P, A)
    if r.dist then out.dist = shaped(r.dist, P, A, o.n_bins) end
    if r.sums then out.bin_sums, out.bin_counts = shaped(r.sums, P, o.n_bins, A), shaped(r.count, P, o.n_bins) end
  end
  if K > 0 then
    local value = r.value:to 'f64'
    local z, sd, flat = normalize.apply(value, r.mean, r.m2, e.far or K,
      { norm = 'z', compat = o.compat == 'gpac' and 'gpac' or 'native' })
    status = mc.bitwise_or(status, flat:to 'i32')
    out.z, out.surr_mean, out.surr_std = shaped(z, P, A), shaped(r.mean, P, A), shaped(sd, P, A)
    if o.norm ~= 'z' and o.norm ~= 'none' then
      out.normalized = shaped((normalize.apply(value, r.mean, r.m2, e.far or K, { norm = o.norm })), P, A)
    end
    if o.compat == 'tensorpac' then
      out.p = shaper(o, axes, n, true)(p_of_trials(o, value, r.all, o.pool_segments and 1 or n.S), P, A)
    else
      out.surr_exceed = shaped(r.exceed, P, A)
      if r.zmax then
        out.surr_max, out.standard = shaped(r.zmax, K), shaped(r.zvalue, P, A)
        if r.znear then out.surr_near = shaped(r.znear, r.znear.shape[2], P, A) end
      elseif r.max then out.surr_max = shaped(r.max, K) end
      out.p = M.correct(out, { mcp = o.mcp, recordings = n.B })
    end
    if o.return_surrogates then out.surrogates = shaped(mc.moveaxis(r.all, 2, -1):to(o.dtype):contiguous(), P, A, K) end
  end
  out.status = shaped(status, P, A)
  out.silent = silent.rows(out.status)
  local total = out.status:numel() / (P * A)
  local said = silent.sentence(out.silent, total, 'row', function(i) return ('row %d'):format(i) end)
  if said then
    out.warnings = { unpack(out.warnings) } -- those of the plan stay what they are
    out.warnings[#out.warnings + 1] = said
  end
  return out
end

--- Phase-amplitude coupling of recordings.
---
--- For every row, phase band and amplitude band: how strongly the phase of the slow band modulates the amplitude of the
--- fast one. mi: 1 + sum_j p_j ln p_j / ln N over N phase bins (2010) · mvl |sum a e^{i phi}|/T (2006) · ozk the same
--- over sqrt(T) ||a|| (2011) · hr (max p - min p)/max p (2005) · ndpac (2012) · plv (2008) · gc Gaussian-copula mutual
--- information, bit (2017) · glm R^2 (2008).
---@param x any samples: [T], [C, T], [B, C, T], [B, C, S, T], or as opts.axes ("ST", "CST") says
---@param opts table fs Hz (required) · pha_range_hz {2, 20} · pha_n_bands 10 · amp_range_hz {60, 160} · amp_n_bands 10
---  · pha_bands_hz, amp_bands_hz · spacing 'linear'|'log' · band_clip · filter 'fir1'|'butter_trunc'|'morlet' ·
---  n_cycles {3, 6} · pad (samples of odd reflection at both ends, at least and by default the largest filter order) ·
---  morlet_width 7 · edges 0 samples · demean · mask (bool, true where a sample counts, after filtering: [T], [S, T] or
---  the shape of x; pooled segments are joined end to end then) · windows {{first, last}, ...} samples that count ·
---  measure 'mi', or a function (phase [n, P, L] rad, amp [n, A, L], info { fs, n_bins, pha_bands_hz, amp_bands_hz })
---  -> values [n, P, A] whose rows do not depend on each other, called with batches of rows and surrogates ·
---  measure_name (of a function, for reports) · n_bins 18 · bin_norm 'mean'|'sum'|'pooled' · binning 'hard'|'soft' ·
---  n_perm 0 · surrogate 'block_swap'|'swap_trials'|'time_lag'|'exhaustive' · min_shift 1 sample (larger ones make p
---  too small, see docs/pac-statistics.md) · null_shift samples (mean and spread for z are those of surrogates at least
---  so far from 0; one cycle of the slowest phase band) · shifts (list, samples) · permutations (lists of segments) ·
---  norm 'z' · mcp 'maxstat'|'none'|'fdr'|'bonferroni' (of p, see pac.correct) · mcp_scope 'run'|'channel' · maxstat_of
---  'z'|'raw' (raw values as Tensorpac: the pair with the widest null decides for all; default in the compat modes) ·
---  seed 42 · return_surrogates · return_dist · return_sums (bin_sums f64 [..., P, N, A], bin_counts [..., P, N], for
---  pac.pooled) · dtype 'f32'|'f64' · compat 'native'|'tensorpac'|'gpac' · x_amp · pairs {{phase_ch, amp_ch}, ...} ·
---  pool_segments · threads · progress · device (that of MASCON_DEVICE, else where the samples
---  are) 'cpu', or one that rows are moved to ('gpu', 'cuda:0', 'opencl:0', 'auto': mc.choose_device), or a list of
---  some that share the rows: maps within
---  1e-6 (f64) and 2e-5 (f32) of the CPU's ·
---  max_memory (bytes that may be taken beside what is resident; results do not depend on it) · segment_length s (rows
---  are analysed in segments of about that length, whose sums are added up: values are those of the whole row to
---  rounding, surrogates shift every segment by an amount of its own; measures mi, hr, mvl, ozk, ndpac, glm with drawn
---  surrogates; default: whole rows up to 2^20 samples, 60 s and 64 cycles of the slowest band beyond; 0: whole rows)
---@return table result pac [..., P, A], pref_phase rad (circular mean), peak_phase rad (largest bin), status bits, z,
---  p, surr_mean, surr_std, dist [..., N], surrogates [..., K], normalized (norm other than z), silent (rows without z:
---  { row, why }), bin_centers rad, pha_bands_hz [P, 2], amp_bands_hz [A, 2], warnings,
---  device (name of that it was computed on)
--- Errors name the option, its value and the limit. A row with NaN or Inf gives NaN and status 4 and leaves the others
--- alone; a constant row gives 0 and status 2; surrogates that are all equal give z = NaN and status 8.
--- Source: J. Neurophysiol. 104, 1195, 2010, and the years above; surrogates by circular shifts of one row at a time.
function M.compute(x, opts)
  if type(x) == 'table' then x = mc.tensor(x) end
  check_samples(x, 'x')
  if x.ndim < 1 or x.ndim > 4 then
    error(('pac: x is %s; give 1 to 4 axes with samples last'):format(tensor.describe(x)), 2)
  end
  local T = x.shape[x.ndim]
  if T < 2 then error(('pac: x is %s; a row needs at least 2 samples'):format(tensor.describe(x)), 2) end
  local plan = M.plan(T, opts)
  return plan:run(x)
end

-- ---------------------------------------------------------------- phases and amplitudes that are given

--- Angles within [-pi, pi]. More than one turn is a sign of degrees or of unwrapped phases.
local function angles_of(phase)
  if tensor.kind[phase.dtype] == 'c' then return mc.angle(phase) end
  if phase.dtype ~= 'f32' then phase = phase:to 'f64' end
  local finite = mc.isfinite(phase)
  local low = mc.min(mc.where(finite, phase, math.huge)):item()
  local high = mc.max(mc.where(finite, phase, -math.huge)):item()
  if high - low > TWO_PI * (1 + 1e-6) then
    error(('pac: phase runs from %g to %g, which is more than 2 pi; give radians within one turn (degrees? unwrapped?)')
      :format(low, high), 2)
  end
  local turned = phase - TWO_PI * mc.floor((phase + math.pi) / TWO_PI)
  return mc.where(mc.gt(mc.abs(phase), math.pi * (1 + 1e-6)), turned, phase)
end

local function amplitudes_of(amp)
  if tensor.kind[amp.dtype] == 'c' then return mc.abs(amp) end
  if amp.dtype ~= 'f32' then amp = amp:to 'f64' end
  local least = mc.min(mc.where(mc.isfinite(amp), amp, 0)):item()
  if least < 0 then
    error(('pac: amp goes down to %g; amplitudes are not negative, give the envelope or the analytic signal'):format(
      least), 2)
  end
  return amp
end

local function bands_given(o, which, name, count)
  if o[name] == nil then return nil end
  if not o.fs then error(('pac: %s is given and fs is missing; give the sampling rate in Hz'):format(name), 2) end
  local b = bands[which] { fs = o.fs, bands = o[name] }
  if b.shape[1] ~= count then
    error(('pac: %s holds %d bands and there are %d; give one per band'):format(name, b.shape[1], count), 2)
  end
  return b
end

--- Coupling of phases and amplitudes that were made elsewhere.
---@param phase any f32|f64 [..., P, T] rad within one turn, or analytic signals c64|c128
---@param amp any f32|f64 [..., A, T] not negative, or analytic signals; the same leading axes
---@param opts? table as for compute, without the options of filters. axes names the leading axes and T: "T" (none),
---  "CT", "ST", "BCT", "CST", "BCST" · fs Hz and pha_bands_hz let null_shift default to one cycle of the slowest band,
---  else it is 0
---@return table result as for compute
function M.from_phases(phase, amp, opts)
  for name, t in pairs { phase = phase, amp = amp } do
    if not mc.is_tensor(t) or tensor.kind[t.dtype] == 'b' then
      error(('pac: %s is %s; give a tensor [..., bands, samples]'):format(name,
        mc.is_tensor(t) and tensor.describe(t) or check.show(t)), 2)
    end
    if t.ndim < 2 or t.ndim > 5 then
      error(('pac: %s is %s; give [..., bands, samples]'):format(name, tensor.describe(t)), 2)
    end
  end
  local function differ()
    error(('pac: phase is %s and amp is %s; all axes but the bands must be equal'):format(tensor.describe(phase),
      tensor.describe(amp)), 3)
  end
  if phase.ndim ~= amp.ndim then differ() end
  for i = 1, phase.ndim do
    if i ~= phase.ndim - 1 and phase.shape[i] ~= amp.shape[i] then differ() end
  end
  local o = options.complete(opts, true)
  local axes, n = sizes(phase, o, 'phase', 1)
  local T = phase.shape[phase.ndim]
  if T < 2 then error(('pac: phase is %s; a row needs at least 2 samples'):format(tensor.describe(phase)), 2) end
  o.P, o.A = phase.shape[phase.ndim - 1], amp.shape[amp.ndim - 1]
  if o.A == 0 then error(('pac: amp is %s; it holds no samples'):format(tensor.describe(amp)), 2) end
  o.pha, o.amp = bands_given(o, 'phase', 'pha_bands_hz', o.P), bands_given(o, 'amplitude', 'amp_bands_hz', o.A)
  local plan = plan_of(o, T)
  plan:_check_sizes(n)
  local R = n.B * n.C * n.S
  local r = plan:_threaded(Plan._execute, angles_of(phase):reshape(R, o.P, T), amplitudes_of(amp):reshape(R, o.A, T), n)
  r = plan:finish(r, n, axes)
  r.device = where(o, phase)
  return r
end

guard.class('plan', Plan)

local FROM = {} -- parts that load when first touched
for _, name in ipairs { 'segments', 'generate', 'event', 'normalize', 'filters', 'search', 'report', 'source', 'steady',
  'contrast', 'options', 'bands' } do FROM[name] = 'workflows.pac.' .. name end

return lazy.parts(M, 'pac', FROM)
