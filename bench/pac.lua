-- pac.lua - the coupling job: 512 rows of 2048 samples, 16 x 16 bands; alone (w1), with 200 drawn shifts (w2), with all
-- 2047 (w3).
--
-- Then the ablation: each trick of the coupling engine that can be switched from outside, cumulatively from the way
-- other programs go, and what each alternative costs at the end of that road; and peak memory against what the plan
-- says. Holds the job. The peers' bench runs the same job on the same samples (MASCON_BENCH_PAC names their file).
local mc = require 'mascon'
local lib = require 'mascon.core.ffi'
local ROWS, T, FS = 512, 2048, 512

local function bands(from, to, n, width)
  local t = {}
  for i = 1, n do
    local c = from + (i - 1) * (to - from) / (n - 1)
    t[i] = { math.max(from, c * (1 - width)), math.min(to, c * (1 + width)) }
  end
  return mc.tensor(t)
end

--- The samples: those of the peers when their file is there, else rows of the same kind.
local function samples()
  local path = os.getenv 'MASCON_BENCH_PAC'
  if path then return mc.load(path) end
  local t = mc.arange(0, T - 1) / FS
  local slow = mc.sin(2 * math.pi * 6 * t + mc.cumsum(mc.randn({ ROWS, T }, { seed = 1 }) * 0.1, 2))
  return (slow + (1 + slow) * mc.sin(2 * math.pi * 80 * t) + mc.randn({ ROWS, T }, { seed = 2 })):to 'f32'
end

local function near(a, b, tol)
  local d = mc.max(mc.abs(a:to 'f64' - b:to 'f64')):item()
  return d <= tol, ('differs by %.3g'):format(d)
end

--- Agreement with the plain NumPy program on the first rows, whose map lies beside the samples. Both compute in f32.
local function as_numpy(r)
  local path = os.getenv 'MASCON_BENCH_PAC'
  if not path then return true end
  local want = mc.load((path:gsub('samples%.npy$', 'map.npy')))
  return near(r.pac[{ { 1, want.shape[1] } }], want, 2e-5)
end

local function options(more)
  local o = { fs = FS, pha_bands_hz = bands(2, 30, 16, 0.25), amp_bands_hz = bands(30, 230, 16, 0.125), min_shift = 1 }
  for k, v in pairs(more) do o[k] = v end
  return o
end

--- A case: the plan is made outside the clock, as is usual for repeated calls; `rows` of the 512 are run and the time
--- scaled.
local function job(bench, family, name, more, c)
  c = c or {}
  local part = c.rows or ROWS
  bench.case {
    name = name, family = family, op = 'pac', dtype = more.dtype or 'f32', shape = ('%dx%d, 16x16'):format(ROWS, T),
    threads = c.threads, least = c.least,
    setup = function()
      if c.before then c.before() end
      local x = samples()[{ { 1, part } }]:contiguous()
      if c.shape then x = c.shape(x) end
      local o = options(more)
      o.x_amp = c.x_amp and c.x_amp(x) or nil
      local plan, r = mc.pac.plan(T, o), nil
      return {
        run = function(n)
          for _ = 1, n do
            r = nil
            r = plan:run(x)
          end
        end,
        check = function()
          if c.check then return c.check(r, x) end
          local exact =
            mc.pac.compute(x[{ { 1, 1 } }], options { dtype = 'f64', pairs = c.shape and { { 1, 1 } } or nil })
          return near(r.pac[{ { 1, 1 } }]:reshape(16, 16), exact.pac:reshape(16, 16), c.tol or 1e-6)
        end,
        close = c.after,
        note = c.note, scaled = part < ROWS and ROWS / part or nil,
      }
    end,
  }
end

local function main_jobs(bench)
  local function surrogates_fine(r)
    local ok = mc.all(mc.isfinite(r.z)) and mc.all(mc.gt(r.p, 0)) and mc.all(mc.le(r.p, 1))
    return ok, 'z or p out of range'
  end
  for _, threads in ipairs(bench.threads > 1 and { bench.threads, 1 } or { 1 }) do
    local tail = threads ~= bench.threads and '_t1' or ''
    job(bench, 'pac', 'pac_w1' .. tail, {}, { threads = threads, least = 1, check = as_numpy })
    job(bench, 'pac', 'pac_w2' .. tail, { n_perm = 200 }, { threads = threads, check = surrogates_fine })
    local function as_listed(r, x) -- the same shifts, one by one
      local list = {}
      for i = 1, T - 1 do list[i] = i end
      local direct = mc.pac.compute(x[{ { 1, 1 } }], options { shifts = list, null_shift = 1 })
      return near(r.surr_mean[{ { 1, 1 } }], direct.surr_mean, 1e-6)
    end
    local every = { surrogate = 'exhaustive', null_shift = 1 }
    job(bench, 'pac', 'pac_w3' .. tail, every, { threads = threads, check = as_listed })
  end
end

local function measured(on) return function() mc.fft.config('auto', { measure = on }) end end
local function engine(name) return function() mc.fft.config(name) end end
local function isa(name) return function() lib.check(lib.C.mc_isa_set(name)) end end
local function single(x) return x:reshape(x.shape[1], 1, T) end
local function fine() return true end

local function ablation(bench)
  local best = lib.isa()
  local all = bench.threads
  local PAIR = { { 1, 1 } }
  -- w1, cumulative: each step keeps the ones above it
  job(bench, 'ablation', 'w1_1_two_filters', { compat = 'tensorpac', bin_norm = 'mean', dtype = 'f64', demean = true },
    { threads = 1, rows = 32, tol = 2e-3, note = 'zero-phase filter, then Hilbert transform, band by band' })
  job(bench, 'ablation', 'w1_2_fused_filter', { pairs = PAIR, dtype = 'f64' },
    { threads = 1, rows = 128, shape = single, note = 'filter and analytic signal in one transform per band' })
  job(bench, 'ablation', 'w1_3_row_in_cache', { dtype = 'f64' },
    { threads = 1, note = 'a row goes through all stages before the next' })
  job(bench, 'ablation', 'w1_4_f32', {}, { threads = 1, note = 'single precision' })
  job(bench, 'ablation', 'w1_5_threads', {}, { threads = all, least = 1, note = 'rows dealt to threads' })
  job(bench, 'ablation', 'w1_6_measured_plans', {}, { threads = all, least = 1, before = measured(true),
    after = measured(false), note = 'FFTW plans by measurement; not the default' })
  -- one switch off, the rest on
  job(bench, 'ablation', 'w1_without_row_route', { pairs = PAIR },
    { shape = single, note = 'staged: phases and amplitudes of the block go through memory' })
  job(bench, 'ablation', 'w1_without_f32', { dtype = 'f64' }, { note = 'f64' })
  job(bench, 'ablation', 'w1_without_fftw', {},
    { before = engine 'mascon', after = engine 'auto', note = 'our own mixed-radix transform' })
  if best ~= 'v2' then
    job(bench, 'ablation', 'w1_without_' .. best, {},
      { before = isa 'v2', after = isa(best), note = 'kernels for x86-64-v2' })
  end
  -- surrogates
  job(bench, 'ablation', 'w2_1_shift_the_rows', { pairs = PAIR }, { rows = 32, shape = single, check = fine,
    x_amp = function(x) return mc.roll(x, { 77, axis = 3 }) end,
    note = 'one surrogate computed afresh from the rolled row; 200 take 200 times this' })
  job(bench, 'ablation', 'w2_2_staged_shifts', { pairs = PAIR, n_perm = 200 },
    { rows = 64, shape = single, check = fine, note = 'bins and amplitudes kept, 200 shifts of them' })
  job(bench, 'ablation', 'w2_3_row_in_cache', { n_perm = 200 },
    { rows = 128, check = fine, note = 'the same inside the row' })
  job(bench, 'ablation', 'w2_4_keep_all_surrogates', { n_perm = 200, return_surrogates = true },
    { rows = 128, check = fine, note = 'every surrogate returned instead of running statistics' })
  job(bench, 'ablation', 'w2_5_f64', { n_perm = 200, dtype = 'f64' }, { rows = 128, check = fine, note = 'f64' })
  local every = {}
  for i = 1, T - 1 do every[i] = i end
  job(bench, 'ablation', 'w3_1_every_shift_directly', { shifts = every },
    { rows = 32, check = fine, note = 'all 2047 shifts added up one by one' })
  job(bench, 'ablation', 'w3_2_fft_correlation', { surrogate = 'exhaustive' },
    { rows = 64, check = fine, note = 'all 2047 shifts by FFT correlation' })
  job(bench, 'ablation', 'w3_3_measured_plans', { surrogate = 'exhaustive' }, { rows = 64, check = fine,
    before = measured(true), after = measured(false), note = 'FFTW plans by measurement; not the default' })
end

local PEAK = [[
local mc = require 'mascon'
local function peak()
  for l in io.lines '/proc/self/status' do
    local k = l:match 'VmHWM:%%s*(%%d+)'
    if k then return k * 1024 end
  end
end
local x = mc.randn({ %d, %d }, { dtype = 'f32', seed = 1 })
local plan = mc.pac.plan(%d, { fs = %d, min_shift = 1, pha_range_hz = { 2, 30 }, pha_n_bands = 16,
  amp_range_hz = { 30, 230 }, amp_n_bands = 16, %s })
plan:run(x)
io.write(plan:bytes(%d, plan:block_rows(%d, 1)) + x.nbytes, ' ', peak(), '\n')
]]

--- Peak memory of a process that runs one job, against what its plan says with its input: 1.3 times that and 64 MiB are
--- allowed.
local function memory(bench)
  for _, m in ipairs { { 'memory_w1', '' },
    { 'memory_w2_all', 'n_perm = 200, return_surrogates = true, return_dist = true' } } do
    bench.case { name = m[1], family = 'memory', measure = function()
      local row = { name = m[1], family = 'memory', op = 'pac', dtype = 'f32', shape = ROWS .. 'x' .. T,
        threads = bench.threads }
      local file = os.tmpname()
      mc.file.write(file, PEAK:format(ROWS, T, T, FS, m[2], ROWS, ROWS))
      local pipe = io.popen(("'%s/mascon' '%s' 2>&1"):format(lib.libdir, file))
      local text = pipe:read '*a'
      pipe:close()
      os.remove(file)
      local planned, peak = text:match '^(%d+) (%d+)\n$'
      if not planned then
        row.failed = text
        return row
      end
      row.planned, row.peak = tonumber(planned), tonumber(peak)
      row.allowed = 1.3 * row.planned + 64 * 2 ^ 20
      if row.peak > row.allowed then
        row.failed = ('peak %.0f MiB, 1.3 x plan + 64 MiB is %.0f MiB'):format(row.peak / 2 ^ 20, row.allowed / 2 ^ 20)
      end
      return row
    end }
  end
end

return function(bench)
  main_jobs(bench)
  ablation(bench)
  memory(bench)
end
