-- rollout_device_spec.lua - rollouts on a device with programs of its own: the same program, states and features within
-- bounds of the processor's; devices that are not there.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local device = support.load 'device'
local rollout = mc.rollout

local function config(change)
  local tree = mc.json.decode [[{ "metadata": { "name": "there" }, "parameter_space": {
    "architecture": { "num_layers": { "type": "choice", "choices": [2, 4] },
      "base_channels": { "type": "choice", "choices": [8] }, "kernel_size": { "type": "choice", "choices": [3, 5] },
      "activation": { "type": "choice", "choices": ["gelu", "silu"] } },
    "stochastic": { "noise_type": { "type": "choice", "choices": ["gaussian", "multiplicative", "dropout"] },
      "noise_scale": { "type": "choice", "choices": [0.01] },
      "spatial_correlation": { "type": "choice", "choices": [0.1] } },
    "operator": { "grid_size": { "type": "choice", "choices": [16] },
      "normalization": { "type": "choice", "choices": ["instance", "group", "none"] } },
    "evolution": { "update_policy": { "type": "choice", "choices": ["residual", "convex"] } } },
    "sampling": { "total_samples": 6, "batch_size": 6 },
    "simulation": { "num_realizations": 2, "num_timesteps": 7, "extract_operator_features": true },
    "dataset": { "output_path": "none.h5" } }]]
  for k, v in pairs(change) do tree.simulation[k] = v end
  return rollout.config.of(tree, { name = 'there' })
end

--- Largest distance on the scale of each column, where both are numbers.
local function far(want, got)
  local a, b = want:to 'f64':reshape(-1, want.shape[want.ndim]), got:to 'f64':reshape(-1, got.shape[got.ndim])
  assert.is_true(mc.array_equal(mc.isnan(a), mc.isnan(b)))
  local known = mc.logical_not(mc.isnan(a))
  local scale = mc.maximum(mc.where(known, a:abs(), 0):max(1, { keepdim = true }), 1e-3)
  return mc.where(known, (a - b):abs() / scale, 0):max(1)
end

describe('rollouts on a device', function()
  it('have states and features within bounds of those of the processor', function()
    local name, why = device.name()
    if not name then return pending(why) end
    finally(rollout.features.forget)
    local here, there = config {}, config { device = name }
    assert.equal(name, there.device)
    assert.is_true(rollout.generate.hash(here) ~= rollout.generate.hash(there))
    local points, apart = rollout.sampling.points(here, 1, 6), 0
    for i = 0, 5 do
      mc.scope(function()
        local u = points[i + 1]:totable()
        local want, got = rollout.generate.row(here, i, u, { states = true }),
          rollout.generate.row(there, i, u, { states = true })
        assert.equal('cpu', got.states.device)
        assert.same(want.status, got.status)
        assert.is_true(mc.array_equal(want.input, got.input))
        local d = want.states - got.states
        local off = ((d * d):sum() / (want.states * want.states):sum()):sqrt():item()
        apart = math.max(apart, off)
        assert.is_true(off < 2e-5, ('row %d: states are %g away'):format(i, off))
        for part, most in pairs { temporal = 1e-3, summary = 5e-3 } do
          local distance = far(want[part], got[part])
          local names = part == 'temporal' and rollout.features.temporal_names() or rollout.features.summary_names(true)
          local list = distance:totable()
          for k, n in ipairs(names) do
            -- figures of counts move by whole counts, with a value at an edge
            local counted = n:find 'mutual' or n:find 'entropy' or n:find 'monotonicity' or n:find 'rolloff'
              or n:find 'noise_gain'
            assert.is_true(list[k] < (counted and 0.1 or most), ('row %d, %s: %g away'):format(i, n, list[k]))
          end
        end
      end)
    end
    assert.is_true(apart > 0) -- it was computed there
  end)

  it('follow MASCON_DEVICE where nothing is said; what has no form there stays on the processor with a note', function()
    local place = require 'mascon.core.place'
    local before = place.of_analysis
    finally(function() place.of_analysis = before end) -- luacheck: ignore
    place.of_analysis = function() return 'ref:0' end -- luacheck: ignore
    local c = config {}
    assert.same({ 'ref:0', 'ref:0' }, { c.device, c.simulation.device })
    c = config { precision = 'float64' }
    assert.same({ 'cpu', 'cpu' }, { c.device, c.simulation.device })
    assert.matches('MASCON_DEVICE names ref:0, which runs operators of type cnn in f32', table.concat(c.notes, '\n'))
    assert.equal('cpu', config { device = 'cpu' }.device)
  end)

  it('are refused where there is no such device, or go on the processor where a card is missing', function()
    for _, bad in ipairs { 'xpu', 'cuda:x', 3 } do
      local ok, words = pcall(config, { device = bad })
      assert.is_false(ok)
      assert.matches('simulation%.device is .*it must be cpu, auto, gpu, cuda:0', words)
    end
    local ok, words = pcall(config, { device = 'ref:77' })
    assert.is_false(ok)
    assert.matches('simulation%.device is ref:77: ', words)
    for name, near in pairs { ['cudax:0'] = 'cuda:0', ['openkl:0'] = 'opencl:0' } do
      ok, words = pcall(config, { device = name })
      assert.is_false(ok)
      assert.matches(('simulation%%.device is %s: [^\n]*is unknown[^\n]*did you mean "%s"'):format(name, near), words)
    end
    for _, name in ipairs { 'cuda:900', 'opencl:900' } do
      local c = config { device = name }
      assert.equal('cpu', c.device)
      assert.matches(('simulation%%.device is %s, which is not there: computed on the pro'):format(name), c.notes[1])
      assert.equal(rollout.generate.hash(config {}), rollout.generate.hash(c))
    end
    for _, kind in ipairs { 'cuda', 'opencl', 'gpu' } do -- a kind alone is its first device
      local there, first = pcall(mc.choose_device, kind)
      assert.equal(there and first or 'cpu', config { device = kind }.device)
    end
    local name = device.name()
    if name then
      ok, words = pcall(config, { device = name, precision = 'float64' })
      assert.is_false(ok)
      assert.matches('which runs operators of type cnn in f32; use cpu', words)
    end
  end)
end)
