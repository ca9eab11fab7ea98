-- rollout_list_spec.lua - the rest of the conformance list of rollouts (3): norms, activations, gains, noise, fields,
-- bounds, identities of features; rows of T = 1; features extracted again.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local process = support.load 'process'
local rollout = mc.rollout
local set = support.load 'rollout'
local block = require 'workflows.rollout.operator.block'

local function near(want, got, rtol, what)
  if not (math.abs(want - got) <= rtol * math.max(math.abs(want), 1e-12)) then
    error(('%s: %.10g, want %.10g'):format(what, got, want), 2)
  end
end

local function distance(a, b) return ((a - b) * (a - b)):sum():sqrt():item() / (b * b):sum():sqrt():item() end

--- A configuration with one operator of 2 layers and 4 channels on 8 x 8 places; simulation: more keys.
local function config(simulation, rows, norm)
  local tree = mc.json.decode [[{ "metadata": { "name": "a" }, "parameter_space": {
    "architecture": { "num_layers": { "type": "choice", "choices": [2] },
      "base_channels": { "type": "choice", "choices": [4] } },
    "stochastic": { "noise_scale": { "type": "continuous", "bounds": [0.001, 0.1] } },
    "operator": { "grid_size": { "type": "choice", "choices": [8, 12] } } },
    "sampling": { "total_samples": 4, "batch_size": 2 },
    "simulation": { "num_timesteps": 5, "num_realizations": 3, "policy": "convex" },
    "dataset": { "output_path": "none.h5" } }]]
  for k, v in pairs(simulation or {}) do tree.simulation[k] = v end
  tree.sampling.total_samples = rows or 4
  if norm then tree.parameter_space.operator.normalization = { type = 'choice', choices = { norm } } end
  return rollout.config.of(tree)
end

describe('rollout, the rest of the conformance list', function()
  teardown(rollout.features.forget)

  it('4: maps 10000 scrambled points to 7500 residual ones and 2500 others', function()
    mc.scope(function()
      local dims = rollout.space.new({ evolution = { p = { type = 'choice', choices = { 'residual', 'convex' },
        weights = { 0.75, 0.25 } } } }, { evolution = { 'p' } }).dims
      local count = 0
      for _, u in ipairs(mc.random.sobol(10000, 1, { seed = 42 }):reshape(-1):totable()) do
        if dims[1].map(u) == 'residual' then count = count + 1 end
      end
      assert.is_true(math.abs(count - 7500) <= 100, tostring(count))
    end)
  end)

  it('latin hypercubes hold one point in each stratum of each coordinate, and have a quality report', function()
    mc.scope(function()
      local c = config({}, 10)
      c.sampling.strategy = 'lhs'
      local points = rollout.sampling.points(c, 1, 10)
      for k = 1, points.shape[2] do
        local seen = {}
        for _, v in ipairs(points[{ mc.all, k }]:totable()) do seen[math.floor(v * 10)] = true end
        for i = 0, 9 do assert.is_true(seen[i], ('coordinate %d, stratum %d'):format(k, i)) end
      end
      assert.is_true(mc.array_equal(points['3:6'], rollout.sampling.points(c, 3, 6)))
      local q = rollout.sampling.quality(c, points)
      assert.is_true(q.discrepancy > 0 and q.max_correlation > 0 and q.min_correlation <= q.mean_correlation)
    end)
  end)

  it('5 to 7, 9: norms, activations, numbers of weights', function()
    mc.scope(function()
      local function norm(name, x, groups)
        return block.kit({ norm = name, groups = groups or 32, activation = 'none' }).finish(x)
      end
      local x = mc.randn({ 2, 6, 5, 5 }, { seed = 1 })
      assert.is_true(distance(norm('group', x, 6), norm('instance', x)) < 1e-6)
      near(-1.34163542, norm('instance', mc.tensor({ 1, 2, 3, 4 }):reshape(1, 1, 2, 2))[{ 1, 1, 1, 1 }]:item(), 1e-8,
        'instance norm')
      assert.is_true(distance(norm('batch', x), x * .999995000037) < 1e-12)
      local layer = norm('layer', x):reshape(2, -1)
      assert.is_true(layer:mean(2):abs():max():item() < 1e-12 and (layer:var(2) - 1):abs():max():item() < 1e-4)
      assert.is_true(mc.array_equal(norm('none', x), x))
      for _, c in ipairs { { 'gelu', 1, .8413447460 }, { 'gelu', -1, -.1586552539 }, { 'gelu', 1, .8411919906, 'tanh' },
        { 'silu', 1, .7310585786 }, { 'swish', 1, .7310585786 }, { 'relu', -1, 0 }, { 'tanh', 1, math.tanh(1) } } do
        for _, composed in ipairs { false, true } do
          local kit = block.kit({ norm = 'none', activation = c[1], gelu = c[4] or 'exact' }, composed)
          near(c[3], kit.finish(mc.full({ 1, 1, 2, 2 }, c[2]))[{ 1, 1, 1, 1 }]:item(), 1e-9, c[1])
        end
      end
      local n = 0
      for _, l in ipairs(rollout.operator.layers(set.arch(2, 16, 3, 'instance', 'gelu'))) do
        n = n + l.cin * l.cout * l.k * l.k
      end
      assert.equal(7440, n)
    end)
  end)

  it('11: gains are near 1 for fields of unit variance, and not where the norm sees little but its eps', function()
    mc.scope(function()
      local apply = rollout.operator.build(set.arch(2, 8, 3, 'instance', 'gelu'),
        rollout.operator.weights(set.arch(2, 8, 3, 'instance', 'gelu'), 5, 1, 'f64'))
      local x = mc.randn({ 1, 3, 16, 16 }, { seed = 3 })
      for _, c in ipairs { 0.5, 2 } do assert.is_true(distance(apply(x * c), apply(x)) < 1e-3) end
      local tiny = x * .0055
      for _, c in ipairs { 0.5, 2 } do assert.is_true(distance(apply(tiny * c), apply(tiny)) > 0.04) end
    end)
  end)

  it('13, 14: a realisation does not depend on the others; without noise all are one', function()
    mc.scope(function()
      local u = { 0.5, 0.5, 0.9, 0.5 }
      local three = rollout.generate.row(config {}, 2, u, { states = true })
      local five = rollout.generate.row(config { num_realizations = 5 }, 2, u, { states = true })
      assert.is_true(mc.array_equal(three.states, five.states[{ { 1, 3 } }]))
      assert.is_true(mc.array_equal(three.summary, five.summary[{ { 1, 3 } }]))
      assert.is_false(mc.array_equal(three.states[1], three.states[2]))
      -- more channels than the hidden layer has, and storage of its own for what mixes them
      for _, channels in ipairs { 5, 20, 13 } do
        local wide = config { channels = channels }
        if channels == 13 then
          for _, d in ipairs(wide.space.dims) do
            if d.name == 'base_channels' then d.map = function() return 9 end end
          end
        end
        local row = rollout.generate.row(wide, 2, u, { states = true })
        assert.same({ 0, 0, 0 }, row.status)
        assert.is_false(mc.array_equal(row.states[1], row.states[2]))
      end
      local c = config {}
      local list = c.space.dims
      for _, d in ipairs(list) do if d.name == 'noise_scale' then d.map = function() return 0 end end end
      local still = rollout.generate.row(c, 2, u, { states = true })
      assert.is_true(mc.array_equal(still.states[1], still.states[2]))
    end)
  end)

  it('16: Gaussian fields have the stated variance within 2 %', function()
    mc.scope(function()
      local sum, n = 0, 1000
      for i = 1, n do
        local f = rollout.fields.make('gaussian_random_field', rollout.streams.source(3, i, 'field'), 1, 48,
          { length_scale = 0.05, variance = 2 })
        sum = sum + (f * f):mean():item() / n
      end
      near(2, sum, 0.02, 'variance')
    end)
  end)

  it('8, 17: a trajectory of T states begins with X_0; its states stay within the bounds of its policy', function()
    mc.scope(function()
      local u = { 0.5, 0.5, 0.5, 0.5 }
      for _, policy in ipairs { 'residual', 'convex', 'autoregressive' } do
        local c = config { policy = policy, dt = 0.3, alpha = 0.7, num_timesteps = 9 }
        local row = rollout.generate.row(c, 1, u, { states = true })
        assert.same({ 3, 9, 3, row.arch.grid, row.arch.grid }, { unpack(row.states.shape) })
        assert.is_true(mc.array_equal(row.states[{ 2, 1 }], row.input))
        local largest, out = row.states:abs():max { 1, 3, 4, 5 }:totable(), 0
        for t = 1, 8 do -- the operator's output, from its states
          local a, b = row.states[{ mc.all, t }], row.states[{ mc.all, t + 1 }]
          local o = policy == 'residual' and (b - a) / 0.3 or policy == 'convex' and (b - 0.7 * a) / 0.3 or b
          out = math.max(out, o:abs():max():item())
        end
        local bound = policy == 'residual' and largest[1] + 8 * 0.3 * out or math.max(largest[1], out)
        assert.is_true(largest[9] <= bound * (1 + 1e-5), policy)
      end
      local one = rollout.generate.row(config { num_timesteps = 1 }, 1, u, { states = true })
      local two = rollout.generate.row(config { num_timesteps = 2 }, 1, u, { states = true })
      assert.same({ 1, 63 }, { unpack(one.temporal.shape) })
      assert.same({ 3, 110 }, { unpack(one.summary.shape) })
      assert.is_true(mc.array_equal(one.states[{ mc.all, 1 }], two.states[{ mc.all, 2 }]))
    end)
  end)

  it('19: powers add up to the energy, periodic differences to nothing, constants do not drift', function()
    mc.scope(function()
      local x = mc.randn({ 4, 3, 16, 16 }, { seed = 9 })
      local function columns(name, v)
        local part, out = require('workflows.rollout.features.' .. name), {}
        local all = part.columns(v)
        for i, n in ipairs(part.NAMES) do out[n] = all[{ mc.all, i }] end
        return out
      end
      local spectrum = mc.fft.fftn(x, { axes = { -2, -1 }, norm = 'ortho' })
      near((x * x):sum():item(), (mc.real(spectrum) ^ 2 + mc.imag(spectrum) ^ 2):sum():item(), 1e-5, 'Parseval')
      local s = columns('spatial', x:reshape(12, 16, 16))
      for _, name in ipairs { 'laplacian_mean', 'gradient_x_mean', 'gradient_y_mean' } do
        if s[name] then assert.is_true(s[name]:abs():max():item() < 1e-12, name) end
      end
      near(3 * 255 / 256, columns('cross', x).trace[1]:item(), 1e-7, 'trace')
      local collector = rollout.features.collector(2, 3, 16, { families = { metrics = true } })
      local still = x['1:2']:copy()
      for _ = 1, 5 do collector:add(still, { true, true }) end
      local r = collector:finish()
      for i, name in ipairs(rollout.features.summary_names()) do
        local v = r.summary[{ 1, i }]:item()
        if name:find 'mean_drift' or name:find 'drift_variance' or name:find 'monotonicity' then
          assert.is_true(math.abs(v) < 1e-12, name)
        elseif name:find 'final_initial_ratio_' then assert.is_true(math.abs(v - 1) < 1e-6, name .. ' ' .. v) end
      end
      near(1, r.temporal[{ 2, 66 }]:item(), 1e-6, 'autocorrelation of equal states')
      assert.equal(0, r.temporal[{ 1, 66 }]:item())
    end)
  end)

  it('2.10: ratios of a channel that begins as zeros are over 1e-8, as the reference has them, and finite', function()
    mc.scope(function()
      local collector, last = rollout.features.collector(1, 1, 8), nil
      for t = 0, 4 do
        last = mc.randn({ 1, 1, 8, 8 }, { seed = 3 }) * t
        collector:add(last, { true })
      end
      local r, at = collector:finish(), {}
      for i, name in ipairs(rollout.features.summary_names()) do at[name] = i end
      local function column(name) return r.summary[{ 1, at[name] }]:item() end
      near(last:abs():sum():item() / 1e-8, column 'L1_final_initial_ratio_raw', 1e-6, 'L1')
      near(math.sqrt((last * last):sum():item() + 1e-8) / (math.sqrt(1e-8) + 1e-8), column 'L2_final_initial_ratio_raw',
        1e-6, 'L2')
      near((math.abs(last:mean():item()) + 1e-8) / 1e-8, column 'final_initial_ratio', 1e-6, 'mean')
      local still = rollout.features.collector(1, 3, 8) -- a channel that stays zero
      local some = mc.tensor { 1, 0, 1 }:reshape(1, 3, 1, 1)
      for t = 0, 4 do still:add(mc.randn({ 1, 3, 8, 8 }, { seed = t }) * some, { true }) end
      local all = still:finish()
      assert.is_true(mc.isfinite(all.summary):all() and mc.isfinite(all.temporal):all())
      for i, name in ipairs(rollout.features.temporal_names()) do
        if name == 'condition_number' then assert.is_true(all.temporal[{ 3, i }]:item() > 1e7) end
      end
    end)
  end)

  it('3.1: has the derived curves of the reference', function()
    mc.scope(function()
      local s = set.states(set.arch(4, 16, 3, 'instance', 'gelu'), { policy = 'convex' }, 8, 'f64')
      for i, v in ipairs { 16.6397792, .128876727, .345189374, .725664456 } do
        near(v, rollout.features.derived(s[8])[{ 1, i }]:item(), 1e-8, 'derived ' .. i)
      end
      local steps = mc.stack({ s[6], s[7], s[8] }, 1)
      local rows = require 'workflows.rollout.features.metrics'.columns(steps, s[5])
      assert.is_true(mc.array_equal(rows[3][{ mc.all, { 1, 5 } }], rollout.features.step(s[8], s[7])))
      assert.is_true(mc.array_equal(rows[1][{ mc.all, { 1, 5 } }], rollout.features.step(s[6], s[5])))
    end)
  end)
end)

describe('features extracted again', function()
  local at
  setup(function() at = process.folder() end)
  teardown(function()
    process.remove(at)
    rollout.features.forget()
  end)

  it('are computed in f32, also where layers or the file hold 16 bits', function()
    -- 1e5 is beyond the range of f16, so rows are made anew in f32: the file does not say so
    local c = config({ num_timesteps = 6, policy = 'residual', storage = 'float16', divergence = 1e30,
      input_generation = { method = 'random', variance = 1e10 } }, 4, 'none')
    c.dataset.storage.store_trajectories = true
    local path, out, want = at .. '/h.h5', at .. '/h-f.h5', at .. '/h-w.h5'
    rollout.generate.run(c, { out = path, quiet = true })
    assert.is_true(rollout.dataset.extract(path, { 'operator' }, { out = out, quiet = true }).stored)
    c.simulation.extract_operator_features = true
    rollout.generate.run(c, { out = want, quiet = true })
    local function columns(name)
      local f = mc.open(name)
      local x = f:dataset '/features/summary/per_trajectory/features':read()
      f:close()
      return x
    end
    local got = columns(out)
    assert.same({ 4, 3, 120 }, { unpack(got.shape) })
    assert.is_true(mc.all(mc.isfinite(got[{ mc.all, mc.all, { 111, 120 } }])))
    assert.equal(mc.manifest.hash(columns(want)), mc.manifest.hash(got))
    mc.scope(function() -- states of 16 bits: features of the numbers that are stored
      c = config { num_timesteps = 6, policy = 'residual' }
      local u = rollout.sampling.points(c, 1, 1)[1]:totable()
      local states = rollout.generate.row(c, 0, u, { states = true }).states:to 'f16'
      local row = rollout.generate.rows(c, { 0 }, { u }, { stored = function()
        return states, { 0, 0, 0 }, { -1, -1, -1 }
      end })[1]
      local x = states:to('f64'):reshape(3, 6, 3, -1)
      local mean, variance = x:mean(4):mean(3):mean(1), x:var(4, { correction = 1 }):mean(3):mean(1)
      for t = 1, 6 do
        assert.is_true(math.abs(row.temporal[{ t, 1 }]:item() - mean[t]:item()) < 1e-6)
        assert.is_true(math.abs(row.temporal[{ t, 2 }]:item() / variance[t]:item() - 1) < 1e-5)
      end
    end)
  end)

  it('are those of the file, from its states or rolled out anew, with families that it lacked', function()
    local NAMES = { '/features/temporal/features', '/features/summary/per_trajectory/features',
      '/features/summary/aggregated/features', '/metadata/status', '/metadata/bad_step', '/inputs/fields' }
    local function whole(path)
      local f, out = mc.open(path), {}
      for k, name in ipairs(NAMES) do out[k] = f:dataset(name):read() end
      f:close()
      return out
    end
    for _, T in ipairs { 5, 1 } do
      local c, want = config { num_timesteps = T, policy = 'residual', dt = 2, divergence = 14 }, nil
      for _, kept in ipairs { false, true } do
        c.dataset.storage.store_trajectories = kept
        local path, out = ('%s/%d%s.h5'):format(at, T, tostring(kept)), ('%s/%d%s-f.h5'):format(at, T, tostring(kept))
        rollout.generate.run(c, { out = path, quiet = true })
        local plain = whole(path)
        if T == 5 then
          local failed = mc.gt(plain[4], 0):to('f64'):sum():item()
          assert.is_true(failed > 0 and failed < 12, tostring(failed))
        end
        local r = rollout.dataset.extract(path, { 'metrics', 'wavelet' }, { out = out, quiet = true })
        assert.equal(kept, r.stored)
        local got = whole(out)
        assert.same({ 4, T, 91 }, { unpack(got[1].shape) })
        local f = mc.open(out)
        assert.same({ temporal = '1', summary = '1', metrics = '1', wavelet = '1' },
          mc.json.decode(f:group '/features'.attributes.family_versions))
        f:close()
        local function same(a, b, name) assert.equal(mc.manifest.hash(a:copy()), mc.manifest.hash(b:copy()), name) end
        same(plain[1], got[1][{ mc.all, mc.all, { 1, 63 } }], NAMES[1])
        for k = 2, #NAMES do same(plain[k], got[k], NAMES[k]) end
        if want then same(want, got[1], 'stored states and rolled out ones') end
        want = got[1]
        r = rollout.dataset.extract(path, {}, { out = at .. '/part.h5', quiet = true, first = 1, last = 2,
          overwrite = true })
        assert.equal(2, r.rows)
        same(plain[2]['2:3'], whole(at .. '/part.h5')[2], 'a range of rows')
      end
    end
    local path = at .. '/5true.h5'
    local function fails(words, families, opts)
      opts.out, opts.quiet = opts.out or at .. '/no.h5', true
      local ok, why = pcall(rollout.dataset.extract, path, families, opts)
      assert.is_false(ok)
      assert.is_truthy(tostring(why):find(words, 1, true), tostring(why))
      assert.is_false(mc.file.exists(at .. '/no.h5'))
    end
    fails('there is no family wavelets (did you mean wavelet?)', { 'wavelets' }, {})
    fails('rows 0 to 4 are not all in', {}, { first = 0, last = 4 })
    local host = require 'mascon.host'
    local r = process.shell(('%s scripts/rollout.lua extract-features %s --feature-family operator --rows 1:1 --quiet')
      :format(process.quote(host.exe), process.quote(path)))
    assert.equal(0, r.status, r.text)
    assert.matches('features of 1 rows, from the states of the file: %S*5true%-features%.h5', r.text)
    local f = mc.open(at .. '/5true-features.h5')
    assert.same({ 1, 3, 120 }, { unpack(f:dataset(NAMES[2]).shape) })
    f:close()
    r = process.shell(('%s scripts/rollout.lua extract-features %s --row 1 --rows 1:1 2>&1')
      :format(process.quote(host.exe), process.quote(path)))
    assert.equal(1, r.status)
    assert.matches('%-%-row is one row', r.text)
  end)
end)
