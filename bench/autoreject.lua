-- autoreject.lua - epoch rejection: the local analysis, its transform, RANSAC, repair; what each trick of it gains;
-- memory against the plan; files larger than memory.
--
-- Holds the jobs. The samples are sums of SplitMix64 uniforms, written down once more in peers/bench_autoreject.py. The
-- ablation goes from the way other programs take to ours, step by step, on part of the channels where the slow steps
-- would take minutes.
local mc = require 'mascon'
local lib = require 'mascon.core.ffi'
local ar, op = mc.autoreject, require 'mascon.core.op'
local generate = require 'workflows.pac.generate'
local SIZES = { ['64'] = { 64, 100, 500 }, ['128'] = { 128, 300, 1000 } }

--- Five slow sources seen by all channels, noise, one cell in twenty ten times as loud; V [E, C, T].
local function epochs_of(C, E, T)
  local noise = generate.noise
  local s = mc.cumsum(noise(E * 5 * T, 1):reshape(E, 5, T), 3)
  local x = 2e-7 * mc.matmul(noise(C * 5, 2):reshape(C, 5), s) + 3e-6 * noise(E * C * T, 3):reshape(E, C, T)
  x:mul_(mc.where(mc.gt(noise(E * C, 4), math.sqrt(12) * 0.45), 10, 1):reshape(E, C, 1))
  local k = mc.arange(0, C - 1):to 'f64'
  local height, turn = 1 - (k + 0.5) / C, 2.399963229728653 * k
  local ring = mc.sqrt(1 - height * height)
  return mc.meeg.epochs.new { data = x, fs = 500,
    positions = 0.09 * mc.stack({ ring * mc.cos(turn), ring * mc.sin(turn), height }, 2) }
end

local kept = {}
--- The epochs of a size, made once while a case needs them.
local function get(C, E, T)
  local key = ('%dx%dx%d'):format(C, E, T)
  if not kept[key] then kept = { [key] = epochs_of(C, E, T) } end
  return kept[key]
end

local FIT = { random_state = 42, verbose = false }

local function case(bench, c)
  local C, E, T = unpack(c.size)
  bench.case {
    name = c.name, family = c.family or 'autoreject', op = 'autoreject', dtype = 'f64',
    shape = ('%dx%dx%d'):format(C, E, T), threads = c.threads, least = c.least,
    setup = function()
      local kit = c.setup(get(C, E, T))
      local result
      return {
        run = function(n) for _ = 1, n do result = kit.run() end end,
        check = function() return kit.check(result) end,
        note = c.note, scaled = c.scaled, values = { cells = E * C * T },
      }
    end,
  }
end

--- The exact limits of the first channel cost no more than those of upstream's search, and one thread gives the same.
local function fit_fine(epochs, model)
  local again = ar.fit(epochs, { random_state = 42, verbose = false, threads = 1 })
  local t = model.types.eeg
  if not mc.array_equal(again.types.eeg.threshold, t.threshold) then return false, 'thresholds depend on threads' end
  local search = ar.bayesian.search(t.candidates[1]:totable(), t.losses[1]:totable(), 40)
  return t.threshold_loss[1]:item() <= t.losses[{ 1, search }]:item(), 'a search found a lower loss'
end

local function jobs(bench)
  for _, name in ipairs { '64', '128' } do
    local size = SIZES[name]
    for _, threads in ipairs(bench.threads > 1 and { bench.threads, 1 } or { 1 }) do
      local tail = threads ~= bench.threads and '_t1' or ''
      case(bench, { name = 'ar_fit_' .. name .. tail, size = size, threads = threads, least = 1, setup = function(e)
        return { run = function() return (ar.fit(e, FIT)) end, check = function(m) return fit_fine(e, m) end }
      end })
      case(bench, { name = 'ar_ransac_' .. name .. tail, size = size, threads = threads, setup = function(e)
        return { run = function() return (ar.ransac(e)) end,
          check = function(r) return mc.all(mc.le(mc.abs(r.corr), 1 + 1e-12)), 'a correlation above 1' end }
      end })
    end
    case(bench, { name = 'ar_transform_' .. name, size = size, setup = function(e)
      local m = ar.fit(e, FIT)
      return { run = function() return (m:transform(e)) end,
        check = function(c) return c:count() > 0, 'nothing is left' end }
    end })
    case(bench, { name = 'ar_repair_' .. name, size = size, note = 'five channels of every epoch', setup = function(e)
      local m = ar.fit(e, FIT)
      local labels = mc.zeros { size[2], size[1] }
      labels[{ mc.all, mc.tensor({ 3, 11, 20, 31, 44 }, { dtype = 'i64' }) }] = 2
      local log = ar.log.new(labels, mc.zeros({ size[2] }, { dtype = 'bool' }), e:names())
      return { run = function() return (m:transform(e, { reject_log = log })) end,
        check = function(c) return not mc.array_equal(c.data, e.data), 'nothing changed' end }
    end })
  end
end

--- A hundred sets of one to eight bad channels out of C, the same in the peer's script: 0-based places (37 k + 11 i)
--- mod C.
local function bad_sets(C)
  local out = {}
  for k = 1, 100 do
    out[k] = {}
    for i = 1, (k - 1) % 8 + 1 do out[k][i] = (37 * k + 11 * i) % C + 1 end
    table.sort(out[k])
  end
  return out
end

--- Weights of spline interpolation: every channel from all others, and a hundred sets of bad channels from the rest.
local function weights(bench)
  for _, name in ipairs { '64', '128' } do
    local size = SIZES[name]
    local function row(what, note, setup)
      case(bench, { name = ('ar_%s_%s'):format(what, name), size = size, threads = 1, note = note, setup = setup })
    end
    row('loo_weights', 'each channel from the others', function(e)
      local p, keep = e:positions(), mc.arange(2, size[1], { dtype = 'i64' })
      local first = mc.meeg.spline.weights(mc.take(p, keep, 1), p[{ { 1, 1 } }])
      return { run = function() return mc.meeg.spline.leave_one_out(p) end,
        check = function(W)
          return mc.max(mc.abs(W[{ { 1, 1 }, { 2, size[1] } }] - first)):item() < 1e-9,
            'other weights than those of a system of its own'
        end }
    end)
    row('set_weights', 'a hundred sets of bad channels', function(e)
      local p, sets = e:positions(), bad_sets(size[1])
      return { run = function()
        local repairer, out = mc.meeg.spline.repairer(p), nil
        for _, s in ipairs(sets) do out = repairer:weights(s) end
        return out
      end, check = function(W) return math.abs(mc.sum(W[1]):item() - 1) < 1e-9, 'weights do not sum to one' end }
    end)
  end
end

--- The default analysis while epochs, channels and samples double in turn.
local function growth(bench)
  for _, g in ipairs { { 'base', 64, 100, 500 }, { 'epochs_x2', 64, 200, 500 }, { 'epochs_x4', 64, 400, 500 },
    { 'channels_x2', 128, 100, 500 }, { 'samples_x2', 64, 100, 1000 },
    { 'samples_x4', 64, 100, 2000 } } do
    case(bench, { name = 'ar_grow_' .. g[1], family = 'autoreject_growth', size = { g[2], g[3], g[4] }, threads = 1,
      setup = function(e)
        return { run = function() return (ar.fit(e, FIT)) end,
          check = function(m) return m.n_interpolate.eeg ~= nil, 'no choice' end }
      end })
  end
end

-- ---------------------------------------------------------------- ablation

local PART = 4 -- channels that the slow steps work on

local function i64(list) return mc.tensor(list, { dtype = 'i64' }) end

--- Rows of a channel, originals and predicted, and the folds as tensors.
local function rows_of(e)
  local C, E = #e.channels, e:count()
  local W = mc.meeg.spline.leave_one_out(e:positions())
  local picks = {}
  for c = 1, C do picks[c] = c end
  local more =
    op.raw('ar_mix', { e.data, ar.curves.picks(picks), W, mc.zeros({ 0 }, { dtype = 'i64' }) }, { want = 1 }, 1)[1]
  local folds = {}
  for f, s in ipairs(ar.folds.stratified({ E, E }, { seed = 42 })) do
    folds[f] = { train = i64(s.train), test = i64(s.test) }
  end
  return function(c) return mc.concat({ e.data[{ mc.all, c }], more[c] }, 1) end, folds, W
end

--- Losses of a channel at its 41 start points: medians for every candidate anew, or once a fold.
local function by_candidate(rows, folds, shared)
  return mc.scope(function()
    local q = mc.max(rows, 2) - mc.min(rows, 2)
    local sorted, total = mc.sort(q), {}
    local starts = ar.bayesian.starts(q:numel(), 40)
    for k = 1, #starts do total[k] = 0 end
    for _, f in ipairs(folds) do
      local train, test = mc.take(rows, f.train, 1), mc.take(rows, f.test, 1)
      local p, median = mc.take(q, f.train), shared and mc.median(test, 1)
      for k, i in ipairs(starts) do
        local keep = mc.le(p, mc.maximum(sorted[i], mc.min(p)))
        local d = (shared and median or mc.median(test, 1)) - mc.mean(train[keep], 1)
        total[k] = total[k] + mc.sqrt(mc.mean(d * d)):item()
      end
    end
    return total
  end)
end

local function ablation(bench)
  local size = SIZES['64']
  local function step(name, note, o)
    case(bench, { name = 'ar_' .. name, family = 'autoreject_ablation', size = size, threads = o.threads or 1,
      note = note, scaled = o.part and size[1] / o.part or nil, setup = o.setup })
  end
  local fine = function() return true end
  local function candidates(shared)
    return { part = PART, setup = function(e)
      local rows, folds = rows_of(e)
      return { check = fine, run = function()
        local out
        for c = 1, PART do out = by_candidate(rows(c), folds, shared) end
        return out
      end }
    end }
  end
  local function search(o, opts)
    o.setup = function(e)
      return { check = fine, run = function() return (ar.compute_thresholds(e, opts)) end }
    end
    return o
  end
  step('search_1_each_candidate', '41 candidates, median and mean of each anew, as tensors', candidates(false))
  step('search_2_median_once', 'medians once a fold', candidates(true))
  step('search_3_running_sums', 'all candidates from one running sum a fold, in tiles',
    search({}, { random_state = 42 }))
  step('search_4_threads', 'channels dealt to threads', search({ threads = bench.threads }, { random_state = 42 }))
  step('search_small_blocks', 'interpolated rows made twice, a block of time at a time',
    search({}, { random_state = 42, max_memory = 16 * 2 ^ 20 }))
  step('weights_1_system_each', 'leave-one-out weights: a system for each channel', { setup = function(e)
    local p, C = e:positions(), size[1]
    return { check = fine, run = function()
      local out
      for c = 1, C do
        out = mc.scope(function()
          local others = {}
          for k = 1, C do if k ~= c then others[#others + 1] = k end end
          return mc.meeg.spline.weights(mc.take(p, i64(others), 1), p[{ { c, c } }])
        end)
      end
      return out
    end }
  end })
  step('weights_2_one_inverse', 'all of them from one inverse', { setup = function(e)
    local p = e:positions()
    return { check = fine, run = function() return mc.meeg.spline.leave_one_out(p) end }
  end })
  local best = lib.isa()
  for _, level in ipairs { 'v2', 'v3' } do
    if level ~= best and lib.C.mc_isa_set(level) == 0 then
      lib.check(lib.C.mc_isa_set(best))
      step('fit_on_' .. level, 'kernels for x86-64-' .. level, { setup = function(e)
        return { check = fine, run = function()
          lib.check(lib.C.mc_isa_set(level))
          local m = ar.fit(e, FIT)
          lib.check(lib.C.mc_isa_set(best))
          return m
        end }
      end })
    end
  end
end

-- ---------------------------------------------------------------- memory

local PEAK = [[
local mc = require 'mascon'
local E, C, T = %d, %d, %d
mc.set_num_threads(%d)
local function peak()
  for l in io.lines '/proc/self/status' do
    local k = l:match 'VmHWM:%%s*(%%d+)'
    if k then return k * 1024 end
  end
end
local x = mc.zeros({ E, C, T }, { dtype = '%s' })
for e = 1, E do x[e] = mc.scope(function() return (1e-5 * mc.randn({ C, T }, { seed = e })):to(x.dtype) end) end
local epochs = mc.meeg.epochs.new { data = x, fs = 500, positions = 0.09 * mc.randn({ C, 3 }, { seed = 1 }) }
mc.autoreject.fit(epochs, { random_state = 1, verbose = false })
local plan = mc.autoreject.plan { epochs = E, channels = C, samples = T, dtype = x.dtype }
io.write(plan.bytes, ' ', x.nbytes, ' ', peak(), '\n')
]]

--- What a process that runs a script says.
local function child(text)
  local file = os.tmpname()
  mc.file.write(file, text)
  local pipe = io.popen(("'%s/mascon' '%s' 2>&1"):format(lib.libdir, file))
  local said = pipe:read '*a'
  pipe:close()
  os.remove(file)
  return said
end

--- Peak memory of a process that runs one analysis: 1.3 times what input and plan say, and 64 MiB, are allowed.
local function memory(bench)
  for _, m in ipairs { { 'ar_memory_64', SIZES['64'], 'f64' }, { 'ar_memory_128', SIZES['128'], 'f64' },
    { 'ar_memory_128_f32', SIZES['128'], 'f32' } } do
    bench.case { name = m[1], family = 'autoreject_memory', measure = function()
      local C, E, T = unpack(m[2])
      local row = { name = m[1], family = 'autoreject_memory', op = 'autoreject', dtype = m[3],
        shape = ('%dx%dx%d'):format(C, E, T), threads = bench.threads }
      local text = child(PEAK:format(E, C, T, bench.threads, m[3]))
      local planned, input, peak = text:match '^(%d+) (%d+) (%d+)\n$'
      if not planned then
        row.failed = text
        return row
      end
      row.planned, row.peak = planned + input, tonumber(peak)
      row.allowed = 1.3 * row.planned + 64 * 2 ^ 20
      if row.peak > row.allowed then
        row.failed =
          ('peak %.0f MiB, 1.3 x (input and plan) + 64 MiB is %.0f MiB'):format(row.peak / 2 ^ 20, row.allowed / 2 ^ 20)
      end
      return row
    end }
  end
end

-- ---------------------------------------------------------------- streams

-- 128 channels of 1000 samples: 768 MB to 6.1 GB
local STREAMS = { 750, 1500, 3000, 6000 }

local WRITE = [[
local mc = require 'mascon'
local E, C, T, at = %d, %d, %d, 0
local mix = mc.randn({ C, 5 }, { seed = 1 })
mc.save('%s', function()
  if at >= E then return nil end
  local x = mc.scope(function()
    local s = mc.cumsum(mc.randn({ 50, 5, T }, { seed = at + 2 }), 3)
    local loud = mc.lt(mc.rand({ 50, C, 1 }, { seed = at + 3 }), 0.05):to 'f64'
    return (2e-7 * mc.matmul(mix, s) + 3e-6 * mc.randn({ 50, C, T }, { seed = at + 4 })) * (1 + 9 * loud)
  end)
  at = at + 50
  return x
end, { dtype = 'f64', row = { C, T } })
]]

local STREAM = [[
local mc = require 'mascon'
local limit, E = 2 ^ 30, %d
mc.set_num_threads(%d)
local e = mc.meeg.epochs.open('%s', { fs = 500 })
local C, gone = #e.channels, {}
for i = 1, C do
  local h, turn = 1 - (i - 0.5) / C, 2.399963229728653 * (i - 1)
  local r = math.sqrt(1 - h * h)
  e.channels[i].position = { 0.09 * r * math.cos(turn), 0.09 * r * math.sin(turn), 0.09 * h }
end
for i = E + 1, e:count() do gone[#gone + 1] = i end
e = e:drop(gone)
local clock = require('mascon.core.ffi').C.mc_clock
local started, busy = clock(), os.clock()
mc.autoreject.fit(e, { random_state = 1, verbose = false, max_memory = limit })
local seconds, cpu = clock() - started, os.clock() - busy
local plan = mc.autoreject.plan { epochs = E, channels = C, samples = e.samples, in_memory = false, max_memory = limit }
for l in io.lines '/proc/self/status' do
  local k = l:match 'VmHWM:%%s*(%%d+)'
  if k then io.write(seconds, ' ', cpu, ' ', k * 1024, ' ', plan.bytes, ' ', plan.scratch, ' ', plan.passes, '\n') end
end
]]

--- One file of all epochs in the folder TMPDIR, or /var/tmp; an analysis of its first ones that may take 1 GiB.
local function stream(bench)
  local C, T, most, made = 128, 1000, 0, nil
  for _, E in ipairs(STREAMS) do
    if bench.wants('ar_stream_' .. E, 'autoreject_stream') then most = E end
  end
  for _, E in ipairs(STREAMS) do
    bench.case { name = 'ar_stream_' .. E, family = 'autoreject_stream', measure = function()
      local row = { name = 'ar_stream_' .. E, family = 'autoreject_stream', op = 'autoreject', dtype = 'f64',
        shape = ('%dx%dx%d'):format(C, E, T), threads = bench.threads, epochs = E }
      if not made then
        made = ('%s/mascon-stream-%d.npy'):format(os.getenv 'TMPDIR' or '/var/tmp', os.time())
        local trouble = child(WRITE:format(most, C, T, made))
        if trouble ~= '' then row.failed = trouble end
      end
      local said = row.failed or child(STREAM:format(E, bench.threads, made))
      local seconds, cpu, peak, planned, scratch, passes = said:match '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+)\n$'
      if seconds then
        row.seconds, row.cpu, row.peak, row.planned, row.scratch, row.passes = tonumber(seconds), tonumber(cpu),
          tonumber(peak), tonumber(planned), tonumber(scratch), tonumber(passes)
        row.allowed = 1.3 * row.planned
        if row.peak > row.allowed then
          row.failed = ('peak %.0f MiB, 1.3 x plan is %.0f MiB'):format(row.peak / 2 ^ 20, row.allowed / 2 ^ 20)
        end
      else
        row.failed = said
      end
      return row
    end }
  end
  if made then os.remove(made) end
end

return function(bench)
  jobs(bench)
  weights(bench)
  growth(bench)
  ablation(bench)
  memory(bench)
  stream(bench)
end
