-- rollout.lua - steps of neural operators, features of their states and whole rows, beside the same computation in
-- PyTorch; what each part of the step gains.
--
-- Holds the shapes, which stand once more in peers/bench_rollout.py. Operators are checked against f64.
local mc = require 'mascon'
local rollout = mc.rollout
local operator = rollout.operator

-- name, layers, base channels, kernel, realisations; grids of 64 x 64
local STEPS = {
  { 'small', 2, 16, 3, 3 }, { 'deep', 4, 32, 3, 4 }, { 'wide_5', 3, 40, 5, 3 }, { 'wide_7', 2, 32, 7, 3 },
}
local ABLATION = { 'ablation', 3, 32, 5, 3 }
local G, C = 64, 3
local STATES, REALISATIONS = 16, 3 -- of the row of features
-- Operators of the production space: rows 0 .. 7 of Sobol's sequence with seed 42 (layers, base, kernel), 18.7 GFLOP a
-- step and state on average, where 100 rows have 17.5. A whole row is rolled out for so many states.
local MIXED = { { 3, 57, 3 }, { 4, 31, 7 }, { 4, 47, 3 }, { 2, 25, 5 }, { 3, 42, 7 }, { 5, 17, 5 }, { 4, 61, 7 },
  { 3, 39, 3 } }
local MIXED_STATES, SMALL_STATES = 4, 50
local FILED = 20 -- operators of a run into a file

local function job(c, dtype, opts)
  opts = opts or {}
  local arch = { type = 'cnn', storage = opts.storage, channels = C, layers = c[2], base = c[3], kernel = c[4],
    norm = opts.groups and 'group' or 'instance', activation = 'gelu', gelu = 'exact', groups = opts.groups or 32,
    padding_mode = 'zeros', grid = G, noise = 'none', scale = 0 }
  local n, archs, weights = opts.together or 1, {}, {}
  local x = mc.broadcast_to(mc.randn({ 1, c[5], C, G, G }, { seed = 1 }):to(dtype), { n, c[5], C, G, G })
  for i = 1, n do archs[i], weights[i] = arch, operator.weights(arch, 1, i - 1, dtype) end
  local apply = operator.together(archs, weights, { composed = opts.composed, keep = opts.keep,
    direct = opts.direct })
  return apply, x:reshape(n * c[5], C, G, G), arch
end

local function step(bench, family, name, c, way, opts, compiled)
  bench.both { name = name, family = family, op = 'operator' .. way, dtype = 'f32',
    shape = ('L%d b%d k%d, %dx%dx%dx%d'):format(c[2], c[3], c[4], c[5], C, G, G), samples = 5,
    work = { operator.flops((select(3, job(c, 'f32')))) * c[5], 'FLOP' }, setup = function()
      local apply, x = job(c, 'f32', opts)
      local f, y = compiled and mc.compile(apply) or apply, nil
      return { scaled = opts.together and 1 / opts.together, run = function(n) for _ = 1, n do mc.scope(function()
        if y then y:release() end
        y = mc.keep(f(x))
      end) end end, check = function()
        local exact, x64 = job(c, 'f64', { together = opts.together, groups = opts.groups })
        local want = exact(x64)
        local d = y:to 'f64' - want
        local far = ((d * d):sum() / (want * want):sum()):sqrt():item()
        return far < (opts.storage and 1e-2 or 1e-5), ('%.3g away from f64'):format(far)
      end }
    end }
end

local function features(bench)
  bench.both { name = 'rollout_features', family = 'rollout', op = 'features', dtype = 'f32',
    shape = ('%d states of %dx%dx%dx%d'):format(STATES, REALISATIONS, C, G, G), samples = 3, setup = function()
      local x = mc.randn({ STATES, REALISATIONS, C, G, G }, { seed = 2 }):to 'f32'
      local alive, r = {}, nil
      for m = 1, REALISATIONS do alive[m] = true end
      return { run = function(n) for _ = 1, n do mc.scope(function()
        local c = rollout.features.collector(REALISATIONS, C, G)
        for t = 1, STATES do c:add(x[t], alive) end
        r = c:finish()
      end) end end, check = function() return r.summary.shape[2] == 110, 'columns' end }
    end }
end

local function constant(v) return { type = 'choice', choices = { v } } end

--- The configuration of one operator of the production space, with noise of medium size.
local function config_of(c, states)
  return rollout.config.of({ metadata = { name = 'bench' }, parameter_space = {
    architecture = { num_layers = constant(c[1]), base_channels = constant(c[2]), kernel_size = constant(c[3]),
      activation = constant 'gelu' },
    stochastic = { noise_scale = constant(0.01), spatial_correlation = constant(0.1) },
    operator = { normalization = constant 'instance', grid_size = constant(G) },
    evolution = { update_policy = constant 'residual' } },
    sampling = { total_samples = 1, batch_size = 1 },
    simulation = { num_realizations = REALISATIONS, num_timesteps = states },
    dataset = { output_path = 'unused.h5' } })
end

--- Rows as generate makes them: field, weights, steps with noise, features.
local function whole(bench, family, name, list, states)
  local work, configs = 0, {}
  for i, c in ipairs(list) do
    configs[i] = config_of(c, states)
    work = work + rollout.generate.cost(configs[i], { 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5 })
  end
  bench.both { name = name, family = family, op = #list > 1 and 'rows of the mixed space' or 'row of a small operator',
    dtype = 'f32', shape = ('%d operators, %d states of %dx%dx%dx%d'):format(#list, states, REALISATIONS, C, G, G),
    samples = 1, work = { work, 'FLOP' }, setup = function()
      local columns, failed
      return { run = function(n) for _ = 1, n do
        columns, failed = 110, 0
        for i, config in ipairs(configs) do mc.scope(function()
          local r = rollout.generate.row(config, i - 1, { 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5 })
          if r.summary.shape[2] ~= 110 or r.temporal.shape[1] ~= states then columns = r.summary.shape[2] end
          for _, v in ipairs(r.status) do failed = failed + v end
        end) end
      end end, check = function() return columns == 110 and failed == 0, 'columns, or a realisation that failed' end }
    end }
end

--- A run of small operators into a file: the share of it that is writing, and what stays resident as rows go by.
local function file(bench, family)
  bench.both { name = 'rollout_file', family = family, op = 'small operators into a file', dtype = 'f32',
    shape = ('%d operators, %d states of %dx%dx%dx%d'):format(FILED, SMALL_STATES, REALISATIONS, C, G, G), samples = 1,
    setup = function()
      local path, values = os.tmpname(), {}
      os.remove(path)
      local config = config_of({ 2, 16, 3 }, SMALL_STATES)
      config.sampling.total_samples, config.sampling.batch_size = FILED, FILED
      local function run(n)
        for _ = 1, n do
          mc.reset_peak_memory()
          local before, live = mc.ceiling.resident(), mc.memory().live
          local r = rollout.generate.run(config, { out = path .. '.h5', overwrite = true, quiet = true })
          values.writing = r.writing / r.seconds
          values.grown = values.rows and mc.ceiling.resident() - before -- the first run loads libraries
          values.memory_planned = rollout.generate.room(config, rollout.sampling.points(config, 1, FILED))
          values.rows = r.rows
          values.memory = mc.memory().peak - live
        end
      end
      return { run = run, values = values, check = function()
        run(1)
        local copies = mc.get_num_threads() > 1 -- they have memory of their own, and go on while rows are written
        return (copies or values.writing < 0.05) and values.memory < 1.2 * values.memory_planned
          and values.grown < 2 ^ 22,
          ('writing %.3g, peak %.3g of the plan, %d bytes more'):format(values.writing,
            values.memory / values.memory_planned, values.grown)
      end, close = function() os.execute(("rm -rf '%s'.*"):format(path)) end }
    end }
end

return function(bench, family)
  if family == 'rollout' then
    for _, c in ipairs(STEPS) do step(bench, family, 'rollout_' .. c[1], c, '', {}) end
    features(bench)
    whole(bench, family, 'rollout_mixed', MIXED, MIXED_STATES)
    whole(bench, family, 'rollout_row_small', { { 2, 16, 3 } }, SMALL_STATES)
    file(bench, family)
    return
  end
  -- cumulative: each line has what the lines above it have
  local c, plain = ABLATION, { composed = true, direct = true }
  step(bench, family, 'rollout_ablation_eager', c, ', ops one by one', plain)
  step(bench, family, 'rollout_ablation_compiled', c, ', compiled', plain, true)
  plain = { composed = true, direct = true, storage = 'bf16' }
  step(bench, family, 'rollout_ablation_16_bit', c, ', bf16 between layers', plain, true)
  step(bench, family, 'rollout_ablation_fused', c, ', one pass between convolutions', { direct = true, keep = true,
    storage = 'bf16' })
  step(bench, family, 'rollout_ablation_reused', c, ', memory reused', { direct = true, storage = 'bf16' })
  step(bench, family, 'rollout_ablation_grouped', c, ', four operators side by side, each', { direct = true,
    storage = 'bf16', together = 4 })
  step(bench, family, 'rollout_ablation_transform', c, ', convolution by tiles', { storage = 'bf16', together = 4 })
  step(bench, family, 'rollout_ablation_f32', c, ', and f32 between layers', { together = 4 })
  step(bench, family, 'rollout_ablation_norm', c, ', and groups of channels, 8, for instances', { together = 4,
    groups = 8 })
end
