-- rollout_input_spec.lua - bad input of rollouts, line by line of their specification (1.6): words, exit status, and
-- that nothing is written; filters and limits of operators, the plan.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local process, host = support.load 'process', require 'mascon.host'
local rollout = mc.rollout
local block = require 'workflows.rollout.operator.block'
local leaves = require 'workflows.rollout.leaf'

local PROGRAM = os.getenv 'MASCON' or host.exe
local CONFIG = [[
metadata: { name: bad }
parameter_space:
  architecture:
    num_layers: { type: choice, choices: [2] }
    base_channels: { type: choice, choices: [4] }
    kernel_size: { type: choice, choices: [3] }
    activation: { type: choice, choices: [gelu] }
  stochastic: { noise_scale: { type: choice, choices: [0.01] }, noise_type: { type: choice, choices: [gaussian] } }
  operator: { grid_size: { type: choice, choices: [8] }, normalization: { type: choice, choices: [instance] } }
  evolution: { update_policy: { type: choice, choices: [residual] } }
sampling: { total_samples: 2, batch_size: 2, strategy: random }
simulation: { num_realizations: 2, num_timesteps: 6, input_generation: { method: structured } }
dataset: { output_path: OUT }
]]

local folder
local function path(name) return folder .. '/' .. name end
local function configured(change, by)
  local text = CONFIG:gsub('OUT', function() return path 'x.h5' end)
  if change then
    local n
    text, n = text:gsub(change, by, 1)
    assert(n == 1, change)
  end
  process.write(path 'c.yaml', text)
end
--- Runs the script: what stands on both outputs, the exit status.
local function run(words, before, program)
  local r = process.shell(('%s MASCON_PROGRESS=0 %s scripts/rollout.lua %s > %s 2> %s'):format(before or '',
    process.quote(program or PROGRAM), words, path 'out', path 'err'))
  return process.read(path 'out'), process.read(path 'err'), r.status
end
local function written()
  local out = {}
  for _, name in ipairs(process.list(folder)) do
    if name ~= 'c.yaml' and name ~= 'out' and name ~= 'err' then out[#out + 1] = name end
  end
  return table.concat(out, ' ')
end
--- One line on standard error with these words, status 1, nothing written.
local function refused(words, ...)
  local out, err, status = run(words)
  assert.equal(1, status, err)
  assert.equal('', out)
  assert.equal(1, select(2, err:gsub('\n', '\n')), err)
  assert.is_nil(err:find('%.lua:%d'), err)
  for _, part in ipairs { ... } do assert.is_truthy(err:find(part, 1, true), err) end
  assert.equal('', written())
end

describe('bad input of rollouts', function()
  setup(function() folder = process.folder() end)
  teardown(function() process.remove(folder) end)

  it('is refused by key, value and range, for every key that has one', function()
    local seen, schema = 0, rollout.config.SCHEMA
    local function outside(where, leaf)
      local out = {}
      local function add(v, ...) out[#out + 1] = { v, ... } end
      if leaf[1] == 'integer' or leaf[1] == 'number' then
        if leaf.low then add(leaf.low - 1, ('from %.16g'):format(leaf.low)) end
        if leaf.high then add(leaf.high > 2 ^ 50 and leaf.high * 2 or leaf.high + 1, ('%.16g'):format(leaf.high)) end
        if leaf.above then add(leaf.above, ('above %g'):format(leaf.above)) end
        if leaf.below then add(leaf.below, ('below %g'):format(leaf.below)) end
        add('many', leaf[1] == 'integer' and 'a whole number' or 'a number')
        if leaf[1] == 'integer' then add(2.5, 'a whole number') end
      elseif leaf[1] == 'choice' then add('nonsense', table.concat(leaves.choices(leaf), ', '))
      elseif leaf[1] == 'bool' then add('yes please', 'true or false')
      elseif leaf[1] == 'device' then add('xpu', 'cpu, auto')
      elseif leaf[1] == 'size' then add('much', '64MiB')
      elseif leaf[1] == 'string' then add({ 1 }, 'a text')
      elseif leaf[1] == 'list' then add('one', 'a list')
      elseif leaf[1] == 'map' then add('one', 'names with values')
      elseif leaf[1] == 'pair' or leaf[1] == 'count' then
        add({ 3, 2 }, '[lowest, highest]')
        if leaf.above then add({ leaf.above, leaf.above }, ('above %g'):format(leaf.above)) end
        if leaf.low then add({ leaf.low - 1, leaf.low }, ('from %g'):format(leaf.low)) end
        if leaf.high then add({ leaf.high, leaf.high + 1 }, ('%.16g'):format(leaf.high)) end
      elseif leaf[1] == 'numbers' then
        add({ 'a' }, 'a list of numbers')
        add({ leaf.above }, ('above %g'):format(leaf.above))
      elseif leaf[1] == 'words' then add({ leaf.choices[1], 'nonsense' }, leaf.choices[2]) end
      assert(#out > 0, where .. ': nothing is outside')
      return out
    end
    local function walk(node, at)
      for k, leaf in pairs(node) do
        local here = at == '' and k or at .. '.' .. k
        if leaf == rollout.config.UNUSED then seen = seen + 0
        elseif type(leaf[1]) ~= 'string' then walk(leaf, here)
        elseif here ~= 'parameter_space' then
          for _, case in ipairs(outside(here, leaf)) do
            local tree = mc.json.decode(mc.json.encode { metadata = { name = 'a' }, parameter_space = { operator = {
              grid_size = { type = 'choice', choices = { 8 } } } }, sampling = { total_samples = 2, batch_size = 1 },
              dataset = { output_path = 'none.h5' } })
            local ok, why = pcall(rollout.config.of, tree, { name = 'here.yaml', set = { [here] = case[1] } })
            assert.is_false(ok, here .. ' takes ' .. tostring(case[1]))
            why = tostring(why)
            assert.is_truthy(why:find('here.yaml: ' .. here .. ' is ', 1, true), why)
            for k2 = 2, #case do assert.is_truthy(why:find(case[k2], 1, true), why) end
            if type(case[1]) == 'number' then assert.is_truthy(why:find(('%.16g'):format(case[1]), 1, true), why) end
            seen = seen + 1
          end
        end
      end
    end
    walk(schema, '')
    assert.is_true(seen > 70, tostring(seen))
    local keys = seen
    for _, kind in ipairs(rollout.fields.names()) do
      walk(rollout.fields.schema(kind), 'simulation.input_generation.' .. kind)
    end
    assert.is_true(seen > keys + 120, tostring(seen - keys))
  end)

  it('counts are bounded wherever they are', function()
    local function walk(node, at)
      for k, leaf in pairs(node) do
        if leaf ~= rollout.config.UNUSED and type(leaf[1]) ~= 'string' then walk(leaf, at .. k .. '.')
        elseif leaf[1] == 'integer' or leaf[1] == 'count' then
          assert.is_true(type(leaf.high) == 'number' and leaf.high < 2 ^ 53, at .. k)
        end
      end
    end
    walk(rollout.config.SCHEMA, '')
    for _, kind in ipairs(rollout.fields.names()) do walk(rollout.fields.schema(kind), kind .. '.') end
    for _, case in ipairs { { 'localized: { num_blobs: 9007199254740992 }', 'localized.num_blobs is 9007199254740992' },
      { 'localized_v1: { num_blobs: [1, 10001] }', 'localized_v1.num_blobs is 10001' },
      { 'dla_cluster: { steps: 10001 }', 'dla_cluster.steps is 10001' } } do
      configured('method: structured', 'method: structured, ' .. case[1])
      refused('generate --config ' .. path 'c.yaml', 'c.yaml: line 12: simulation.input_generation.' .. case[2],
        'it must be from 1 to 10000')
    end
    configured('method: structured', 'method: localized, localized: { min_width: 16 }')
    refused('generate --config ' .. path 'c.yaml',
      'c.yaml: line 12: simulation.input_generation.localized.min_width is 16, above max_width 15')
    configured('method: structured', 'method: localized, localized: { max_width: 2 }')
    refused('generate --config ' .. path 'c.yaml', 'c.yaml: line 12: ', 'localized.min_width is 5, above max_width 2')
  end)

  it('a field of many pieces takes the memory of one', function()
    for kind, options in pairs { localized = '{ num_blobs = 500 }', dla_cluster = '{ steps = 500 }' } do
      process.write(path 'peak.lua', ([[local mc = require 'mascon'
        mc.scope(function()
          mc.rollout.fields.make('%s', mc.rollout.streams.source(1, 0, 'field'), 1, 64, %s)
        end)
        io.write(mc.memory().tensor_peak)]]):format(kind, options))
      local r = process.shell(('%s %s > %s'):format(process.quote(PROGRAM), path 'peak.lua', path 'out'))
      assert.equal(0, r.status)
      local peak = tonumber(process.read(path 'out')) -- a piece takes 32 KiB at least
      assert.is_true(peak > 2 ^ 15 and peak < 2 ^ 21, kind .. ' ' .. peak)
    end
    process.shell('rm ' .. path 'peak.lua')
  end)

  it('unknown keys anywhere name the nearest one, and the line', function()
    for _, case in ipairs { { 'num_realizations', 'num_realisations', 'did you mean num_realizations?' },
      { 'metadata: { name: bad', 'metadata: { name: bad, auther: me', 'did you mean author?' },
      { 'method: structured', 'method: structured, varience: 2', 'did you mean variance?' },
      { 'dataset: {', 'dataset: { storage: { compresion: gzip },', 'did you mean compression?' },
      { 'base_channels', 'base_chanels', 'did you mean base_channels?' },
      { 'type: choice, choices: %[8%]', 'type: choice, choises: [8]', 'choises' } } do
      configured(case[1], case[2])
      refused('generate --config ' .. path 'c.yaml', 'c.yaml: ', case[3])
    end
    local function field(text) return 'method: structured, ' .. text end
    for _, case in ipairs { { 'choices: %[2%]', 'choices: []', 'num_layers.choices is', 4 },
      { 'base_channels', 'base_chanels', 'there is no parameter architecture.base_chanels', 5 },
      { 'choices: %[gelu%]', 'choices: [gelu], weights: [2]', 'activation.weights sum to 2', 7 },
      { 'method: structured', field 'structured: { num_structurez: 3 }', 'did you mean num_structures?', 12 },
      { 'method: structured', field 'structured_v1: { num_structures: 0 }', 'structured_v1.num_structures is 0', 12 },
      { 'method: structured', field 'sampled: { a: 0 }', 'there is no key simulation.input_generation.sampled', 12 },
      { 'method: structured', field 'ic_type_weights: { localised: 1 }', 'did you mean localized?', 12 },
      { 'method: structured', field 'ic_type_weights: { mixed: 1 }', 'mixed is no type of initial field', 12 },
      { 'method: structured', field 'ic_type_weights: { structured: 0 }', 'is all 0; no field could be drawn', 12 },
      { 'dataset: {', 'features: { clip: true }\ndataset: {', 'features.clip is true, which is not done', 13 },
      { 'dataset: {', 'dataset: { storage: { backend: zarr },', 'dataset.storage.backend is zarr', 13 } } do
      configured(case[1], case[2])
      refused('generate --config ' .. path 'c.yaml', ('c.yaml: line %d: '):format(case[4]), case[3])
    end
    configured('num_timesteps: 6,', 'num_timestepz: 6,\n  aaa: 1,') -- the first of two
    refused('generate --config ' .. path 'c.yaml', 'c.yaml: line 12: there is no key simulation.num_timestepz')
  end)

  it('keys of the reference are understood: production mix, names of parameters, credentials', function()
    local function dry(text)
      process.write(path 'c.yaml', (text:gsub('OUT', function() return path 'x.h5' end)))
      local out, err, status = run('generate --dry-run --config ' .. path 'c.yaml')
      assert.equal(0, status, err)
      return out
    end
    local mix = { 'structured: { num_modes: 1, wavelength_range: [8.0, 64.0], amplitude_range: [0.5, 2.0] }',
      'localized: { num_blobs: [1, 5], blob_size_range: [0.05, 0.15], amplitude_range: [1.0, 3.0] }' }
    local weights = { 'structured: 0.25', 'localized: 0.25' }
    for k, v in ipairs { 0.25, 0.5, 1, 2, 4 } do
      mix[#mix + 1] = ('gaussian_random_field_v%d: { length_scale: 0.05, variance: %g }'):format(k - 1, v)
      weights[#weights + 1] = ('gaussian_random_field_v%d: 0.05'):format(k - 1)
    end
    for name, scales in pairs { low = '0.30, 0.35, 0.40', mid = '0.08, 0.10, 0.12', high = '0.02, 0.025, 0.03' } do
      mix[#mix + 1] = ('multiscale_grf_%s: { scales: [%s], variance: 1.0 }'):format(name, scales)
      weights[#weights + 1] = ('multiscale_grf_%s: 0.0833'):format(name)
    end
    local sampled = ('method: sampled, %s, ic_type_weights: { %s }'):format(table.concat(mix, ', '),
      table.concat(weights, ', '))
    local text = CONFIG:gsub('method: structured', function() return sampled end)
    assert.matches('2 operators, 2 realisations', dry(text .. 'cloud: { key: "${ROLLOUT_NO_SUCH_KEY}" }\n'))
    for _, kind in ipairs { 'structured', 'localized' } do
      local c = rollout.config.load(path 'c.yaml')
      c.simulation.input_generation.ic_type_weights = { [kind] = 1 }
      mc.scope(function()
        local f = rollout.fields.initial(c, 1, 32)
        assert.is_true(f:abs():max():item() <= (kind == 'structured' and 2 or 15) and f:std():item() > 0.05)
      end)
    end
    text = CONFIG:gsub('noise_scale:', 'noise_schedule: { type: choice, choices: [periodic] }, '
      .. 'schedule_period: { type: choice, choices: [77] }, noise_scale:')
    dry(text)
    local point = { .5, .5, .5, .5, .5, .5, .5, .5, .5, .5, .5 }
    assert.equal(77, rollout.generate.describe(rollout.config.load(path 'c.yaml'), point).period)
    text = CONFIG:gsub('num_layers:.-\n', 'encoder_levels: { type: choice, choices: [2] }\n')
      :gsub('kernel_size:.-\n', 'normalization: { type: choice, choices: [group] }\n')
      :gsub('simulation: {', 'simulation: { operator_type: u_afno,')
      :gsub('normalization: { type: choice, choices: %[instance%] }', '')
    dry(text)
    local arch = rollout.generate.describe(rollout.config.load(path 'c.yaml'), { .5, .5, .5, .5, .5, .5, .5, .5 })
    assert.same({ 'group', 2 }, { arch.norm, arch.u_afno.encoder_levels })
  end)

  it('a variable within a longer text is refused; keys without effect are counted in a note', function()
    configured('name: bad', 'name: "a ${HOME} b"')
    refused('generate --config ' .. path 'c.yaml', 'name is "a ${HOME} b"; ${NAME} is replaced only where', 'line 1')
    configured('simulation: {', 'simulation: { performance: { compile: true },')
    local _, err, status = run('validate ' .. path 'c.yaml')
    assert.equal(0, status, err)
    assert.matches('note: keys without effect here: 1; %-%-verbose names them', err)
  end)

  it('of operators is refused: even kernels, dt, alpha, unknown names', function()
    for _, case in ipairs {
      { 'choices: %[3%]', 'choices: [4]', 'kernel_size is 4; it must be an odd whole number' },
      { 'choices: %[gelu%]', 'choices: [gulu]', "activation is 'gulu'; choose relu, gelu", 'did you mean gelu?' },
      { 'choices: %[gaussian%]', 'choices: [gauss]', "noise_type is 'gauss'; choose gaussian" },
      { 'choices: %[instance%]', 'choices: [instanse]', "normalization is 'instanse'", 'did you mean instance?' },
      { 'choices: %[residual%]', 'choices: [residuall]', "update_policy is 'residuall'; choose autoregressive" },
      { 'method: structured', 'method: structurd', "input_generation.method is 'structurd'",
        'did you mean structured?' },
      { 'evolution: {', 'evolution: { dt: { type: choice, choices: [0] },', 'dt is 0; it must be above 0' },
      { 'evolution: {', 'evolution: { dt: { type: choice, choices: [-0.1] },', 'dt is -0.1; it must be above 0' },
      { 'evolution: {', 'evolution: { alpha: { type: choice, choices: [1] },',
        'alpha is 1; it must be from 0 and below 1' },
      { 'evolution: {', 'evolution: { alpha: { type: choice, choices: [-0.5] },', 'alpha is -0.5' },
      { 'simulation: {', 'simulation: { dt: 0,', 'simulation.dt is 0; it must be above 0' },
      { 'simulation: {', 'simulation: { alpha: 1,', 'simulation.alpha is 1; it must be from 0 and below 1' } } do
      configured(case[1], case[2])
      refused('generate --config ' .. path 'c.yaml', 'c.yaml: ', unpack(case, 3))
    end
  end)

  it('values of the parameter space are refused before any work, with their line', function()
    local function number(name, by) return name .. ': {[^}]*}', name .. ': { type: ' .. by .. ' }' end
    local function more(section, text) return section .. ': {', section .. ': { ' .. text .. ',' end
    local function one(v) return ('{ type: choice, choices: [%s] }'):format(v) end
    local cases = {
      { 'num_layers is 0; it must be from 1', 4, number('num_layers', 'choice, choices: [2, 0]') },
      { 'num_layers is 2.5; it must be a whole number', 4, number('num_layers', 'choice, choices: [2.5]') },
      { 'num_layers is continuous; its values are whole', 4, number('num_layers', 'continuous, bounds: [2, 4]') },
      { 'num_layers is an array; it takes one value', 4,
        number('num_layers', 'array, length: 2, element_type: integer, bounds: [2, 4]') },
      { 'num_layers.bounds is', 4, number('num_layers', 'integer, bounds: [2, .inf]') },
      { 'num_layers is 1000000000000000; it must be from 1 to 256', 4,
        number('num_layers', 'integer, bounds: [2, 1.0e+15]') },
      { 'base_channels is nan; it must be a whole number', 5, number('base_channels', 'choice, choices: [.nan]') },
      { 'base_channels is true; it must be a whole number', 5, number('base_channels', 'choice, choices: [true]') },
      { 'kernel_size is 4; it must be an odd whole number', 6, number('kernel_size', 'integer, bounds: [3, 5]') },
      { "activation is 'gelo'; choose relu", 7, number('activation', 'choice, choices: [gelu, gelo]') },
      { "noise_scale is 'loud'; it must be a number", 8, number('noise_scale', 'choice, choices: [0.1, loud]') },
      { 'noise_scale is -0.1; it must be from 0', 8, number('noise_scale', 'continuous, bounds: [-0.1, 1]') },
      { 'noise_type is 3; choose gaussian', 8, number('noise_type', 'choice, choices: [3]') },
      { 'period is 0; it must be above 0', 8, more('stochastic', 'period: ' .. one(0)) },
      { 'schedule_period is 0; it must be above 0', 8,
        more('stochastic', 'schedule_period: { type: continuous, bounds: [0, 100] }') },
      { 'spatial_correlation is -1; it must be from 0', 8, more('stochastic', 'spatial_correlation: ' .. one(-1)) },
      { 'grid_size is 2; it must be from 4', 9, number('grid_size', 'choice, choices: [8, 2]') },
      { 'num_groups is 0; it must be from 1', 9, more('operator', 'num_groups: ' .. one(0)) },
      { "num_groups is 'many'; it must be a whole number", 9, more('operator', 'num_groups: ' .. one 'many') },
      { "padding_mode is 'same'; choose zeros, circular", 9, more('operator', 'padding_mode: ' .. one 'same') },
      { "alpha is 'half'; it must be a number", 10, more('evolution', 'alpha: ' .. one 'half') },
      { 'alpha is 1.5; it must be from 0 and below 1', 10,
        more('evolution', 'alpha: { type: continuous, bounds: [0, 1.5] }') },
      { "dt is 'small'; it must be a number", 10, more('evolution', 'dt: ' .. one 'small') },
      { 'dt is 0; it must be above 0', 10, more('evolution', 'dt: { type: continuous, bounds: [0, 1] }') },
    }
    for k, case in ipairs(cases) do
      configured(case[3], case[4])
      refused((k % 2 == 0 and 'validate --config ' or 'generate --config ') .. path 'c.yaml',
        ('c.yaml: line %d: parameter_space.'):format(case[2]), case[1])
    end
    for _, case in ipairs {
      { 'architecture:', 'architecture:\n    dropout_rate: ' .. one(1.5), 'dropout_rate is 1.5', 4 },
      { 'architecture:', 'architecture:\n    num_groups: ' .. one(-1), 'num_groups is -1; it must be from 1', 4 } } do
      configured(case[1], case[2])
      refused('generate --config ' .. path 'c.yaml', ('c.yaml: line %d: '):format(case[4]), case[3])
    end
    configured(more('evolution', 'alpha: { type: continuous, bounds: [0, 1] }')) -- coordinates are below 1
    local out, err, status = run('validate --config ' .. path 'c.yaml')
    assert.equal(0, status, err)
    assert.matches('^ok .*c%.yaml: 2 operators, 10 coordinates\n$', out)
  end)

  it('dropout that drops everything is refused before any work, with its line', function()
    local function dropout(scale, schedule)
      process.write(path 'c.yaml', (CONFIG:gsub('OUT', function() return path 'x.h5' end):gsub('stochastic: %b{}',
        function()
          return ('stochastic:\n    noise_type: { type: choice, choices: [gaussian, dropout] }\n'
            .. '    noise_scale: { type: %s }\n    noise_schedule: { type: choice, choices: [%s] }'):format(scale,
            schedule or 'constant')
        end)))
    end
    local at = 'generate --config ' .. path 'c.yaml'
    for _, case in ipairs { { 'choice, choices: [0.5, 1]', nil, 'reaches 1, where', 'below 1' },
      { 'continuous, bounds: [0.1, 2]', nil, 'reaches 2, where', 'below 1' },
      { 'choice, choices: [0.7]', 'periodic', 'reaches 0.7, where noise_type dropout with noise_schedule periodic',
        'below 0.6667' },
      { 'continuous, bounds: [0.8, 0.9]', 'periodic', 'reaches 0.9, where', 'below 0.6667' } } do
      dropout(case[1], case[2])
      refused(at, 'c.yaml: line 10: parameter_space.stochastic.noise_scale ', case[3], 'drops every channel', case[4])
    end
    dropout('continuous, log_scale: true, bounds: [0.1, 1]') -- coordinates are below 1
    local _, err, status = run(at .. ' --dry-run')
    assert.equal(0, status, err)
    assert.has_error(function()
      rollout.operator.build({ type = 'cnn', noise = 'dropout', scale = 1, channels = 1, layers = 1, base = 1,
        kernel = 1, norm = 'none', activation = 'none', grid = 4 }, {})
    end)
  end)

  it('the largest grid is that of the space, however rare', function()
    local function largest(by)
      configured('grid_size: {[^}]*}', 'grid_size: { type: ' .. by .. ' }')
      return rollout.generate.largest_grid(rollout.config.load(path 'c.yaml'))
    end
    assert.equal(128, largest 'choice, choices: [8, 128], weights: [0.9999999, 0.0000001]')
    assert.equal(128, largest 'choice, choices: [128, 8], weights: [0.0000001, 0.9999999]')
    assert.equal(8, largest 'choice, choices: [128, 8], weights: [0, 1]')
    assert.equal(64, largest 'integer, bounds: [8, 64]')
    configured('grid_size: {[^}]*},', '')
    assert.equal(64, rollout.generate.largest_grid(rollout.config.load(path 'c.yaml')))
  end)

  it('memory is planned for every row, however late the largest comes', function()
    configured('grid_size: {[^}]*}',
      'grid_size: { type: choice, choices: [8, 512], weights: [0.9997, 0.0003] }')
    local c = rollout.config.load(path 'c.yaml', { set = { ['sampling.total_samples'] = 6000,
      ['sampling.sobol.seed'] = 1, ['sampling.batch_size'] = 1 } })
    local points, at, first = rollout.sampling.points(c, 1, 6000), nil, nil
    for k, d in ipairs(c.space.dims) do if d.name == 'grid_size' then at = k end end
    for i, u in ipairs(points[{ mc.all, at }]:totable()) do
      if u >= 0.9997 then first = first or i end
    end
    assert.is_true(first > 4096, first)
    local before, whole = points[{ { 1, first - 1 }, mc.all }]:copy(), rollout.generate.bytes(c, points)
    assert.is_true(whole > 4 * rollout.generate.bytes(c, before))
  end)

  it('alpha 0 and small dt are what they say; groups that divide no channels are the largest that do', function()
    local c = rollout.config.of(mc.json.decode [[{ "metadata": { "name": "a" }, "parameter_space": { "evolution": {
      "alpha": { "type": "choice", "choices": [0] } } }, "sampling": { "total_samples": 1 },
      "simulation": { "dt": 1e-9, "policy": "convex" }, "dataset": { "output_path": "none.h5" } }]])
    local _, policy = rollout.generate.describe(c, { 0.5 })
    assert.same({ 0, 1e-9, 'convex' }, { policy.alpha, policy.dt, policy.policy })
    assert.equal(-1, rollout.roll.update(policy, 2, -1))
    mc.scope(function()
      local x = mc.randn({ 1, 20, 6, 6 }, { seed = 1 })
      local function normed(groups)
        return block.kit({ norm = 'group', groups = groups, activation = 'none' }).finish(x)
      end
      assert.is_true(mc.array_equal(normed(32), normed(20))) -- 20 channels: 20 groups
      assert.is_true(mc.array_equal(normed(18), normed(10))) -- 10 is the largest of 18 and less
      assert.is_false(mc.array_equal(normed(18), normed(20)))
      local y = mc.randn({ 1, 80, 6, 6 }, { seed = 1 }) -- 4 b of b = 20
      local g = block.kit({ norm = 'group', groups = 32, activation = 'none' }).finish(y):reshape(20, -1)
      assert.is_true(g:mean(2):abs():max():item() < 1e-12)
    end)
  end)

  it('of files: missing, unreadable, no YAML, no data set, tabs, anchors that turn back; one line each', function()
    configured()
    local none = path 'none'
    for _, command in ipairs { 'generate --config ', 'bench --config ' } do
      refused(command .. none .. '.yaml', none .. '.yaml', 'No such file')
      refused(command .. folder, folder, 'directory')
    end
    for _, command in ipairs { 'info ', 'validate ', 'view --output ' .. path 'v.svg ', 'extract-features --output '
      .. path 'v.npz ', 'merge --output ' .. path 'm.h5 ' } do
      refused(command .. none .. '.h5', none .. '.h5', 'No such file')
      if command ~= 'validate ' then refused(command .. path 'c.yaml', 'c.yaml') end
    end
    if not process.root() then
      process.shell('chmod 000 ' .. path 'c.yaml')
      refused('generate --config ' .. path 'c.yaml', 'Permission denied')
      process.shell('chmod 600 ' .. path 'c.yaml')
    end
    configured('dataset: {', '\tdataset: {')
    refused('generate --config ' .. path 'c.yaml', 'c.yaml')
    configured('simulation: {', 'simulation: &s { alpha: *s,')
    refused('generate --config ' .. path 'c.yaml', 'c.yaml')
    process.write(path 'c.yaml', '')
    refused('generate --config ' .. path 'c.yaml', 'c.yaml')
    process.write(path 'c.yaml', '- 1\n- 2\n')
    refused('generate --config ' .. path 'c.yaml', 'it must hold sections')
    refused('generate', 'give a configuration with --config FILE')
    refused('', 'a command is missing; the commands are generate, info')
    refused('generat', '"generat" is no command')
  end)

  it('anchors are read as YAML has them', function()
    configured('choices: %[4%]', 'choices: &k [3]')
    process.write(path 'c.yaml', (process.read(path 'c.yaml'):gsub('choices: %[3%]', 'choices: *k')))
    local out, err, status = run('generate --dry-run --config ' .. path 'c.yaml')
    assert.equal(0, status, err)
    assert.matches('2 operators, 2 realisations, 6 states each', out)
  end)

  it('overrides are checked as the file is', function()
    configured()
    local at = 'generate --config ' .. path 'c.yaml '
    refused(at .. '--total-samples 3', 'sampling.total_samples is 3, which sampling.batch_size 2 does not divide')
    refused(at .. '--num-realizations 101', 'simulation.num_realizations is 101; it must be from 1 to 100')
    refused(at .. '--set simulation.num_timesteps=0', 'simulation.num_timesteps is 0; it must be from 1 to 10000')
    local _, said = run('validate --config ' .. path 'c.yaml --set "simulation.input_generation={ method: sampled, '
      .. 'ic_type_weights: { localized: 1 }, localized: {}, structured: { num_structures: 3 } }"')
    assert.matches('input_generation.structured has no effect', said)
    assert.is_nil(said:find('localized has', 1, true))
    local c = rollout.config.load(path 'c.yaml', { set = { ['features.temporal.enabled'] = 'false',
      ['sampling.sobol.scramble'] = '${SCRAMBLED}' }, given = { SCRAMBLED = 'false' } })
    assert.same({ false, false, true },
      { c.features.temporal.enabled, c.sampling.sobol.scramble, c.features.summary.enabled })
    refused(at .. '--seed 9007199254740992', 'sampling.sobol.seed is 9007199254740992; it must be from 0 to 9007199254')
    refused(at .. '--set sampling.sobol.seed=9007199254740993', 'sampling.sobol.seed is 9007199254740992')
    local out, why, code = run('validate --config ' .. path 'c.yaml --set '
      .. "'parameter_space.architecture.base_channels.choices=[4, 8],simulation.clamp=[-1, 1]' "
      .. '--set "parameter_space.evolution.dt={ type: choice, choices: [0.1, 0.2] }"')
    assert.equal(0, code, why)
    assert.matches('10 coordinates', out) -- one more: dt
    refused('validate --config ' .. path 'c.yaml --set simulation.clamp=[1,-1],metadata.name=x',
      'simulation.clamp is a table; give [lowest, highest]')
    refused('validate --config ' .. path 'c.yaml --set "parameter_space.evolution.dt={ type: choice, choices: [0] }"',
      'evolution.dt is 0; it must be above 0')
    refused(at .. '--set simulation.nonsense=0', 'there is no key simulation.nonsense')
    refused(at .. '--rows 0:2', 'rows 0 to 2 of 2 are asked for')
    refused(at .. '--rows x', 'give FIRST:LAST')
    refused(at .. '--max-memory 1MiB', 'max_memory is 1.0 MiB', 'so raise max_memory to at least')
    refused(at .. '--max-memory 40MiB', 'max_memory is 40.0 MiB', 'with what the program adds, needs')
    refused(at .. '--max-memory much', "max_memory is 'much'")
    process.write(path 'c.yaml', (process.read(path 'c.yaml'):gsub('structured', '"${KIND_OF_FIELD}"')))
    refused(at, '${KIND_OF_FIELD} has no value')
    local _, err, status = run(at .. '--dry-run', 'KIND_OF_FIELD=localized')
    assert.equal(0, status, err)
  end)

  it('a missing card of a configuration is a note, precisions of cards are; one of --device is an error', function()
    configured()
    local at = 'generate --dry-run --config ' .. path 'c.yaml '
    if not pcall(mc.zeros, { 1 }, { device = 'cuda:0' }) then
      for _, words in ipairs { '--set simulation.device=cuda:1', '--set simulation.device=cuda' } do
        local out, err, status = run(at .. words)
        assert.equal(0, status, err)
        assert.matches('^rollout: note: simulation%.device is cuda%S*, which is not there: computed on the proc', err)
        assert.matches('2 operators', out)
      end
    end
    for _, precision in ipairs { 'bfloat16', 'float16', 'tf32' } do
      local _, err, status = run(at .. '--set simulation.precision=' .. precision)
      assert.equal(0, status)
      assert.equal(('rollout: note: simulation.precision %s: computed in f32 here\n'):format(precision), err)
    end
    refused(at .. '--device cuda:900', '--device: device "cuda:900" is not there')
    refused(at .. '--device opencl:99', '--device: device "opencl:99" is not there')
    refused(at .. '--device card', '--device: device "card" is unknown; use "cpu", "cuda:0"')
    assert.matches('\ndevice: %l+:?%d*, ', '\n' .. (run(at .. '--device auto'))) -- which, and why
  end)

  it('a program without HDF5 or libyaml says what to install, before any work', function()
    configured()
    local at = path 'bare'
    process.shell(([[mkdir -p %s/plugins && cp %s/mascon %s/libmascon.so %s/
      ln -s %s/lua %s/lua && ln -s %s/gen %s/gen
      cp %s/plugins/mc_*.so %s/plugins/ && rm -f %s/plugins/mc_hdf5.so]]):format(at, host.libdir, host.libdir, at,
      host.libdir, at, host.libdir, at, host.libdir, at, at))
    local words = 'generate --config ' .. path 'c.yaml'
    local before = 'ln -sfn $PWD/lua ' .. path 'lua' .. ';'
    local out, err, status = run(words, before, at .. '/mascon')
    assert.equal(1, status, err)
    assert.is_truthy(err:find('install HDF5', 1, true), err)
    assert.equal(1, select(2, err:gsub('\n', '\n')), err)
    assert.equal('', out)
    process.shell(('rm -f %s/plugins/mc_yaml.so'):format(at))
    out, err, status = run(words, nil, at .. '/mascon')
    assert.equal(1, status)
    assert.is_truthy(err:find('install libyaml', 1, true), err)
    assert.equal('', out)
    process.shell(('rm -rf %s %s'):format(at, path 'lua'))
    assert.equal('', written())
  end)

  it('a limit of memory that is too small, an output that is there, an interruption', function()
    configured()
    local words = 'generate --quiet --config ' .. path 'c.yaml'
    local _, err, status = run(words, 'MASCON_MEMORY_LIMIT=65536')
    assert.equal(1, status)
    assert.is_truthy(err:find('raise MASCON_MEMORY_LIMIT', 1, true), err)
    assert.is_false(mc.file.exists(path 'x.h5'))
    process.shell('rm -rf ' .. path 'x.h5.parts')
    _, err, status = run(words)
    assert.equal(0, status, err)
    local bytes = process.read(path 'x.h5')
    _, err, status = run(words)
    assert.equal(1, status)
    assert.is_truthy(err:find('is there already; use --overwrite, --resume', 1, true), err)
    assert.equal(bytes, process.read(path 'x.h5'))
    local r = process.shell(('timeout --preserve-status -k 20 -s INT 1 %s scripts/rollout.lua %s --overwrite '
      .. '--total-samples 4000 --set simulation.num_timesteps=200 > /dev/null 2>&1'):format(
      process.quote(PROGRAM), words))
    assert.equal(130, r.status)
    assert.equal(bytes, process.read(path 'x.h5'))
    process.shell(('rm -rf %s/x.*'):format(folder))
  end)

  it('lists the options of a command in its help', function()
    local WANT = {
      info = 'dataset quiet threads verbose', merge = 'output overwrite quiet threads verbose',
      view = 'dataset output overwrite own quiet realization row threads verbose',
    }
    for command, want in pairs(WANT) do
      local out = run(command .. ' --help')
      local names = {}
      for name in out:gmatch '\n  %-%-([%l-]+)' do names[#names + 1] = name end
      table.sort(names)
      assert.equal(want, table.concat(names, ' '))
      assert.is_truthy(out:find('Options of ' .. command .. ':', 1, true), out)
    end
  end)
end)

describe('filters and limits of operators', function()
  local function config(simulation)
    local tree = mc.json.decode [[{ "metadata": { "name": "a" }, "parameter_space": {
      "architecture": { "num_layers": { "type": "choice", "choices": [2] },
        "base_channels": { "type": "choice", "choices": [4, 8] } },
      "stochastic": { "noise_scale": { "type": "choice", "choices": [0.001] } },
      "operator": { "grid_size": { "type": "choice", "choices": [8] } } },
      "sampling": { "total_samples": 4, "batch_size": 4, "strategy": "lhs" },
      "simulation": { "num_timesteps": 6, "num_realizations": 2, "policy": "residual", "dt": 0.01 },
      "dataset": { "output_path": "none.h5", "storage": { "store_trajectories": true } } }]]
    for k, v in pairs(simulation) do tree.simulation[k] = v end
    return rollout.config.of(tree)
  end
  local SMALL, LARGE = { 0.2, 0.5, 0.5, 0.5 }, { 0.9, 0.5, 0.5, 0.5 } -- base_channels is first by name
  local function filtered(simulation, u)
    return mc.scope(function()
      local row = rollout.generate.row(config(simulation), 1, u or SMALL)
      return rollout.generate.FILTERED[row.filtered] or 'kept'
    end)
  end

  it('say why a row is no data, and change no other', function()
    finally(rollout.features.forget)
    assert.equal('kept', filtered {})
    assert.equal('kept', filtered { filters = { flat = 0.5, still = 1e-4, failed = 0.5 } })
    assert.equal('still', filtered { filters = { still = 0.5 } }) -- dt = 0.01: every step changes little
    assert.equal('flat', filtered { filters = { flat = 10 } })
    assert.equal('flat', filtered { filters = { flat = 10, still = 0.5 } }) -- the first that it meets
    assert.equal('kept', filtered { filters = { failed = 1 }, divergence = 1e6 })
    assert.equal('failed', filtered { filters = { failed = 0.5 }, dt = 1e9 })
    assert.equal('kept', filtered { filters = { flat = 10, still = 10 }, dt = 1e9 }) -- nothing lives to be judged
    local config_small = config {}
    local arch = rollout.generate.describe(config_small, SMALL)
    local work = rollout.generate.work(config_small, arch) / 1e9
    assert.equal('kept', filtered { limits = { gflop = work } })
    assert.equal('work', filtered { limits = { gflop = work * 0.999 } })
    local config_large = config { limits = { gflop = work } }
    assert.equal('work', filtered({ limits = { gflop = work } }, LARGE))
    assert.equal(0, rollout.generate.cost(config_large, LARGE))
    local bytes = rollout.operator.bytes(arch, 1, 2)
    assert.equal('kept', filtered { limits = { memory = bytes } })
    assert.equal('memory', filtered { limits = { memory = bytes - 1 } })
    mc.scope(function() -- a row that is not rolled out keeps its place and its shapes; the others their bits
      local plain, limited = rollout.generate.rows(config_small, { 0, 1 }, { SMALL, SMALL }, { states = true }),
        rollout.generate.rows(config_large, { 2, 3 }, { LARGE, LARGE }, { states = true })
      local kept = rollout.generate.row(config { limits = { gflop = work }, filters = { flat = 10 } }, 1, SMALL)
      assert.is_true(mc.array_equal(kept.summary, plain[2].summary))
      assert.same({ 3, 3 }, limited[1].status)
      for _, part in ipairs { 'temporal', 'summary', 'aggregated', 'states', 'input' } do
        assert.equal(tostring(plain[1][part].shape), tostring(limited[2][part].shape))
        assert.equal(part ~= 'input', mc.all(mc.isnan(limited[2][part])))
      end
    end)
  end)

  it('of memory leave the same rows out in any company', function()
    local tree = mc.json.decode [[{ "metadata": { "name": "m" }, "parameter_space": {
      "architecture": { "num_layers": { "type": "choice", "choices": [1] },
        "base_channels": { "type": "choice", "choices": [4] } },
      "stochastic": { "noise_scale": { "type": "choice", "choices": [0.1] },
        "spatial_correlation": { "type": "choice", "choices": [0.0, 0.2] } },
      "operator": { "grid_size": { "type": "choice", "choices": [8] } } },
      "sampling": { "total_samples": 4 }, "simulation": { "num_timesteps": 2, "num_realizations": 2 },
      "dataset": { "output_path": "none.h5" } }]]
    local c = rollout.config.of(tree)
    local points, bytes = rollout.sampling.points(c, 1, 4), {}
    for i = 1, 4 do bytes[i] = rollout.operator.bytes(rollout.generate.describe(c, points[i]:totable()), 1, 2) end
    tree.simulation.limits = { memory = (math.min(unpack(bytes)) + math.max(unpack(bytes))) / 2 }
    c = rollout.config.of(tree)
    local all, seen = mc.scope(function() return rollout.generate.batch(c, points, 0, 3).filtered:totable() end), {}
    for i = 1, 4 do
      assert.equal(bytes[i] > tree.simulation.limits.memory and 5 or 0, all[i])
      seen[all[i]] = true
      assert.equal(all[i], mc.scope(function() return rollout.generate.row(c, i - 1, points[i]:totable()).filtered end))
    end
    assert.is_true(seen[0] and seen[5])
  end)

  it('the file holds values by name, and a configuration that makes the same rows', function()
    local at = process.folder()
    process.write(at .. '/s.yaml', (CONFIG:gsub('OUT', at .. '/s.h5')
      :gsub('choices: %[4%]', 'choices: [8, 4]'):gsub('choices: %[0.01%]', 'choices: [0.5, 0.01]')
      :gsub('choices: %[gelu%]', 'choices: [tanh, gelu]')))
    local c = rollout.config.load(at .. '/s.yaml')
    rollout.generate.run(c, { quiet = true })
    local f = mc.open(at .. '/s.h5')
    local points = rollout.sampling.points(c, 1, 2)
    for i = 1, 2 do
      local want = require 'workflows.rollout.space'.values(c.space, points[i]:totable())
      assert.equal(want.architecture.base_channels,
        f:get '/parameters/values/architecture.base_channels'[i]:item())
      assert.equal(want.architecture.activation, f:get '/parameters/values/architecture.activation'[i])
      assert.equal(want.stochastic.noise_scale, f:get '/parameters/values/stochastic.noise_scale'[i]:item())
    end
    assert.same({ 'good', 'non-finite', 'exploded', 'not rolled out' }, f:dataset '/metadata/status'.attributes.words)
    process.write(at .. '/back.json', f:group '/metadata'.attributes.config)
    f:close()
    assert.equal(rollout.generate.hash(c, {}), rollout.generate.hash(rollout.config.load(at .. '/back.json'), {}))
    process.remove(at)
  end)

  it('stand in the file, its page, info and validate; such a row is not shown', function()
    finally(rollout.features.forget)
    local at = process.folder()
    local out = at .. '/f.h5'
    local arch = rollout.generate.describe(config {}, SMALL)
    local c = config { limits = { gflop = rollout.generate.work(config {}, arch) / 1e9 }, filters = { still = 0.5 } }
    local r = rollout.generate.run(c, { out = out, quiet = true })
    assert.same({ 4, 0 }, { r.filtered, r.failed })
    local f = mc.open(out)
    local codes = f:dataset '/metadata/filtered':read():totable()
    assert.same({ 'kept', 'failed', 'flat', 'still', 'work', 'memory' },
      f:dataset '/metadata/filtered'.attributes.words)
    local points, beyond = rollout.sampling.points(c, 1, 4), nil
    for i = 1, 4 do
      local base = rollout.generate.describe(c, points[i]:totable()).base
      assert.equal(base == 8 and 4 or 3, codes[i])
      if base == 8 then beyond = i - 1 end
    end
    f:close()
    local ok, lines = rollout.dataset.validate(out)
    assert.is_true(ok)
    assert.matches('note  0 of 8 realisations failed', table.concat(lines, '\n'))
    assert.matches('note  filtered operators: still %d, work %d', table.concat(lines, '\n'))
    assert.matches('ok    /features/temporal/features: 0 values of rows without a failure', table.concat(lines, '\n'))
    local page = process.read(rollout.report.write(out))
    assert.matches('Filtered operators', page)
    assert.matches('not rolled out: more work than the limit', page)
    local fine, why = pcall(rollout.view.row, out, beyond, at .. '/v.svg')
    assert.is_false(fine)
    assert.matches('row %d is beyond simulation.limits %(work%) and was not rolled out', why)
    assert.is_false(mc.file.exists(at .. '/v.svg'))
    process.remove(at)
  end)
end)
