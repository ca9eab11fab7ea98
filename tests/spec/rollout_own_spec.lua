-- rollout_own_spec.lua - own operators, fields and features: part of what a data set is, computed again from their
-- script, and mistakes in them told by line and by what is expected; data sets that grow; what a stop leaves.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local process, host = support.load 'process', require 'mascon.host'
local own = require 'workflows.rollout.own'

local PROGRAM = os.getenv 'MASCON' or host.exe
local CONFIG = [[
metadata: { name: own }
parameter_space:
  own: { rate: { type: continuous, bounds: [0.1, 0.2] } }
  operator: { grid_size: { type: choice, choices: [8] } }
sampling: { total_samples: 4, batch_size: 2, strategy: sobol }
simulation:
  operator_type: heat
  num_realizations: 2
  num_timesteps: 5
  dt: 1.0
  input_generation: { method: bump }
dataset: { output_path: OUT }
]]
local SCRIPT = [[
local mc = require 'mascon'
local FACTOR, SIDES = 4, { left = 1, right = -1 }
mc.rollout.fields.register('bump', function(source, C, G, o)
  return mc.ones { C, G, G } * source:number(0, 1) * o.height + source:normal { C, G, G }
end, { height = 2 })
mc.rollout.operator.register('heat', function(arch)
  return function(x)
    local around = mc.roll(x, SIDES.left, 3) + mc.roll(x, SIDES.right, 3) + mc.roll(x, 1, 4) + mc.roll(x, -1, 4)
    return arch.own.rate * (around - FACTOR * x)
  end
end)
mc.rollout.features.register('mine', { 'last_max' }, function(states) return states[{ -1 }]:max():reshape(1) end)
]]

--- The script, whose operator of the third row does something else when it is applied.
local function third(what)
  return (SCRIPT:gsub('SIDES = 4, { left = 1, right = %-1 }', '%0\nlocal built = 0')
    :gsub('function%(arch%)\n', '%0  built = built + 1\n')
    :gsub('local around', 'if built > 2 then ' .. what .. ' end\n%0'))
end

local at
local function path(name) return at .. '/' .. name end
local function write(name, text)
  assert(mc.file.write(path(name), text))
  return process.quote(path(name))
end
local function rollout(fmt, ...)
  local r = process.shell(('MASCON_PROGRESS=0 %s scripts/rollout.lua %s 2>&1'):format(process.quote(PROGRAM),
    fmt:format(...)))
  return r.text, r.status
end
local function works(...)
  local text, status = rollout(...)
  assert.equal(0, status, text)
  return text
end
local function fails(words, ...)
  local text, status = rollout(...)
  assert.equal(1, status, text)
  assert.is_truthy(text:find(words, 1, true), text)
end
local NAMES = { '/parameters/params', '/inputs/fields', '/features/temporal/features',
  '/features/summary/per_trajectory/features', '/metadata/status', '/features/summary/aggregated/features',
  '/features/temporal/mask' }
local function same(a, b)
  local A, B = mc.open(a), mc.open(b)
  for _, name in ipairs(NAMES) do
    assert.equal(mc.manifest.hash(A:dataset(name):read()), mc.manifest.hash(B:dataset(name):read()), name)
  end
  assert.same(A:get '/metadata/ic_types', B:get '/metadata/ic_types')
  A:close()
  B:close()
end

--- A folder with a configuration and a script of own functions: their paths.
local function begin()
  at = process.folder()
  return write('c.yaml', (CONFIG:gsub('OUT', function() return path 'a.h5' end))), write('own.lua', SCRIPT)
end

describe('own functions of rollouts', function()
  local config, script
  setup(function() config, script = begin() end)
  teardown(function() process.remove(at) end)

  it('have an identity: text without lines, and the values they read', function()
    local function made(k, t, f) return function(x) return f(x) * k + t.a end end
    local function id(...) return own.identity(made(...)) end
    local base = id(1, { a = 1 }, mc.sin)
    assert.equal(base, id(1, { a = 1 }, mc.sin))
    assert.equal(own.identity(assert(loadstring 'return 1')), own.identity(assert(loadstring '\n -- one\n return 1')))
    for k, other in ipairs { id(2, { a = 1 }, mc.sin), id(1, { a = 2 }, mc.sin), id(1, { a = 1 }, mc.cos),
      id(1, { a = mc.tensor { 1 } }, mc.sin), id(1, { a = 1 }, function(x) return x end),
      own.identity(function(x) return mc.sin(x) end) } do
      assert.is_true(other ~= base, tostring(k))
    end
    local w = mc.tensor { 1, 2 }
    local function reads() return w end
    local before = own.identity(reads)
    w = mc.tensor { 1, 3 }
    assert.is_true(own.identity(reads) ~= before)
    local ring = {}
    ring.ring = ring
    assert.equal(64, #own.identity(function() return ring end))
  end)

  it('have names of their own: an alias ending is part of one, categories and columns are told apart', function()
    local fields, features = mc.rollout.fields, mc.rollout.features
    fields.register('spec_bump_v2', function(_, C, G) return mc.ones { C, G, G } end)
    assert.equal('spec_bump_v2', fields.kind_of 'spec_bump_v2')
    assert.equal('structured', fields.kind_of 'structured_v2')
    local held = fields.records { simulation = { input_generation = { method = 'spec_bump_v2' } } }
    assert.equal('spec_bump_v2', held[1].name)
    local function first() return mc.ones { 1 } end
    for words, call in pairs { ['temporal is a category of the program'] = { 'temporal', { 'a' } },
      ['operator_sensitivity is a category of the program'] = { 'operator_sensitivity', { 'a' } },
      ['the columns of twice must be different names; number 2 is \'a\''] = { 'twice', { 'a', 'a' } },
      ['the columns of none must be different names; number 1 is nil'] = { 'none', {} } } do
      local ok, why = pcall(features.register, call[1], call[2], first)
      assert.is_false(ok)
      assert.is_truthy(why:find(words, 1, true), why)
    end
    local _, summary = features.registry(true)
    assert.equal(36, summary.causality.asymmetry_mean_lag_1)
  end)

  it('are part of a data set: it goes on with the same ones alone', function()
    local line = '--config ' .. config
    fails("simulation.input_generation.method is 'bump'; choose",
      'generate --set simulation.operator_type=cnn ' .. line)
    fails("simulation.operator_type is 'heat'; choose cnn, u_afno, or one that a script registers (--own FILE)",
      'generate --set simulation.input_generation.method=random ' .. line)
    works('generate --own %s %s', script, line)
    assert.is_truthy(works('generate --own %s --resume %s', script, line):find('is complete already', 1, true))
    local moved = write('moved.lua', '-- a comment\n\n' .. SCRIPT)
    assert.is_truthy(works('generate --own %s --resume %s', moved, line):find('is complete already', 1, true))
    local CHANGES = { { 'FACTOR, SIDES = 4', 'FACTOR, SIDES = 3', 'operator heat (new.lua:6)' },
      { 'left = 1', 'left = 2', 'operator heat (new.lua:6)' }, { 'height = 2', 'height = 3', 'field bump (new.lua:3)' },
      { ':max%(%)', ':min()', 'feature mine (new.lua:12)' } }
    for _, c in ipairs(CHANGES) do
      local new = write('new.lua', (SCRIPT:gsub(c[1], c[2], 1)))
      fails(('a.h5 holds rows, and the own %s is not the one that they were made with'):format(c[3]),
        'generate --own %s --resume %s', new, line)
    end
    -- finished rows of a run that was stopped
    local text, status = rollout('generate --own %s %s --output %s', write('stop.lua', third "error 'stop'"), line,
      process.quote(path 'p.h5'))
    assert.equal(1, status, text)
    assert.matches('own operator heat %(stop%.lua:%d+%) failed: %S*stop%.lua:%d+: stop', text)
    assert.matches('2 finished rows are kept in %S*p%.h5%.parts; the same line with %-%-resume goes on', text)
    fails('p.h5.parts holds rows, and the own operator heat (own.lua:6) is not the one', 'generate --own %s %s '
      .. '--output %s --resume', script, line, process.quote(path 'p.h5'))
    -- shards
    for k, rows in ipairs { '0:1', '2:3' } do
      local used = k == 1 and script or write('new.lua', (SCRIPT:gsub('FACTOR, SIDES = 4', 'FACTOR, SIDES = 3', 1)))
      works('generate --own %s %s --rows %s --output %s', used, line, rows, process.quote(path('s' .. k .. '.h5')))
    end
    fails('do not belong together; the own operator heat (new.lua:6) is not the one', 'merge %s %s --output %s',
      process.quote(path 's1.h5'), process.quote(path 's2.h5'), process.quote(path 'm.h5'))
  end)

  it('are computed again where their script is given, and missed by name where it is not', function()
    works('generate --own %s --config %s --output %s --quiet', script, config, process.quote(path 'e.h5'))
    local data, out = process.quote(path 'e.h5'), process.quote(path 'e-f.h5')
    works('extract-features --own %s %s --output %s', script, data, out)
    same(path 'e.h5', path 'e-f.h5')
    local f = mc.open(path 'e-f.h5')
    assert.same({ 4, 2, 111 }, { unpack(f:dataset(NAMES[4]).shape) })
    assert.equal(110, mc.json.decode(f:group('/features/summary').attributes.feature_registry).mine.last_max)
    f:close()
    assert.is_truthy(mc.file.read(path 'e.html'):find('last_max', 1, true))
    for _, command in ipairs { 'extract-features', 'view' } do
      fails('was made with the own operator heat (own.lua:6), which is not registered; register it (--own FILE)',
        '%s %s', command, data)
    end
    works('view --own %s %s --output %s', script, data, process.quote(path 'v.svg'))
    local without = write('without.lua', (SCRIPT:gsub('mc.rollout.features.register[^\n]*', '')))
    local text = works('extract-features --own %s %s --output %s --overwrite', without, data, out)
    assert.is_truthy(text:find('note: the columns of the own feature mine (own.lua:12) of', 1, true), text)
    local other = write('other.lua', (SCRIPT:gsub(':max%(%)', ':min()')))
    text = works('extract-features --own %s %s --output %s --overwrite', other, data, out)
    assert.is_truthy(text:find('its columns are those of now', 1, true), text)
    fails('was made with another own operator heat', 'view --own %s %s --output %s --overwrite',
      write('new.lua', (SCRIPT:gsub('FACTOR, SIDES = 4', 'FACTOR, SIDES = 3', 1))), data, process.quote(path 'v.svg'))
  end)

  it('say by line what they return and what they must', function()
    local function told(change, by, ...)
      local used = write('bad.lua', (SCRIPT:gsub(change, by, 1)))
      for _, words in ipairs { ... } do
        fails(words, 'generate --own %s --config %s --output %s --overwrite', used, config,
          process.quote(path 'bad.h5'))
      end
    end
    told('return arch.own.rate %*[^\n]*', 'return x:sum(1)', 'own operator heat (bad.lua:7) returned f32[3,8,8]@cpu; '
      .. 'it must return a tensor of the shape of the states x, [2, 3, 8, 8]')
    told('return arch.own.rate %*', 'local y = nil; return y.z *', 'own operator heat (bad.lua:7) failed: ',
      "bad.lua:9: attempt to index local 'y'")
    told('return function%(x%).*\nend%)\n', 'return nil end)\n', 'own operator heat (bad.lua:6) returned nil; it must '
      .. 'return a function f(x, t)')
    told('return mc%.ones[^\n]*', 'return nil', 'own field bump (bad.lua:3) returned nil; it must return a tensor '
      .. '[channels, grid, grid], here [3, 8, 8]')
    told(':max%(%):reshape%(1%)', ':max(1)', 'own feature mine (bad.lua:12) returned f32[',
      'it must return a tensor of 1 number for states [T, channels, grid, grid]: last_max')
    fails('--own: cannot open', 'generate --own %s --config %s', process.quote(path 'no.lua'), config)
    fails('bad.lua:1: mine', 'generate --own %s --config %s', write('bad.lua', 'error "mine"'), config)
  end)
end)

describe('a data set of rollouts that grows', function()
  local config, script
  setup(function() config, script = begin() end)
  teardown(function() process.remove(at) end)

  it('holds the rows of the larger one, whole or stopped, for every strategy but lhs', function()
    for _, strategy in ipairs { 'sobol', 'random' } do
      local function line(name, n, more)
        return ('generate --own %s --config %s --set sampling.strategy=%s --total-samples %d --output %s %s'):format(
          script, config, strategy, n, process.quote(path(strategy .. name)), more or '')
      end
      works(line('8.h5', 8))
      works(line('.h5', 4))
      local text = works(line('.h5', 8, '--resume'))
      assert.is_truthy(text:find('8 operators (4 of them were there)', 1, true), text)
      same(path(strategy .. '8.h5'), path(strategy .. '.h5'))
      assert.is_false(mc.file.exists(path(strategy .. '.h5.parts')))
      assert.is_truthy(works(line('.h5', 8, '--resume')):find('is complete already', 1, true))
      fails('holds rows 0 to 7, and 0 to 3 are asked for', line('.h5', 4, '--resume'))
      fails('is there already', line('.h5', 12))
      works(line('s.h5', 4))
      works(line('s.h5', 6, '--resume'))
      works(line('s.h5', 8, '--resume'))
      same(path(strategy .. '8.h5'), path(strategy .. 's.h5'))
    end
    local function lhs(n, more)
      return ('generate --own %s --config %s --set sampling.strategy=lhs --total-samples %d --output %s %s'):format(
        script, config, n, process.quote(path 'lhs.h5'), more or '')
    end
    works(lhs(4))
    fails('rows of lhs hang on how many there are', lhs(8, '--resume'))
  end)

  it('drops parts whose rows the file holds, as a kill after the last step leaves them', function()
    local function of(n)
      return mc.rollout.config.of(mc.json.decode(([[{ "metadata": { "name": "g" }, "parameter_space": {
        "architecture": { "num_layers": { "type": "choice", "choices": [2] },
          "base_channels": { "type": "integer", "bounds": [4, 5] } },
        "operator": { "grid_size": { "type": "choice", "choices": [8] } } },
        "sampling": { "total_samples": %d }, "simulation": { "num_timesteps": 5, "num_realizations": 2 },
        "dataset": { "output_path": "none.h5" } }]]):format(n)))
    end
    local generate, store = mc.rollout.generate, mc.rollout.store
    local grown, fresh, eight = path 'grown.h5', path 'fresh.h5', of(8)
    generate.run(of(4), { out = grown, quiet = true })
    generate.run(eight, { out = fresh, quiet = true })
    local points = mc.rollout.sampling.points(eight, 1, 8)
    local function plant(first, last)
      assert(mc.file.make_folder(store.folder(grown)))
      mc.scope(function()
        store.put(grown, { hash = generate.hash(eight), own = {} }, generate.batch(eight, points, first, last))
      end)
    end
    plant(0, 1)
    plant(2, 5) -- some of its rows are in the file
    plant(6, 6)
    local r = generate.run(eight, { out = grown, resume = true, quiet = true })
    assert.equal(5, r.there)
    same(fresh, grown)
    plant(3, 7)
    assert.is_true(generate.run(eight, { out = grown, resume = true, quiet = true }).complete)
    assert.is_false(mc.file.exists(store.folder(grown)))
    same(fresh, grown)
    mc.rollout.features.forget()
  end)

  it('says at a stop how many rows are kept and how to go on', function()
    -- the program stops itself in the middle of its third row
    local stop = write('stop.lua', third "os.execute 'kill -TERM $PPID'; while true do x = x + 1 end")
    local text, status = rollout('generate --own %s --config %s --output %s --batch-size 4', stop, config,
      process.quote(path 't.h5'))
    assert.equal(143, status, text)
    assert.matches('rollout: terminated before the end; 2 finished rows are kept in %S*t%.h5%.parts; the same line '
      .. 'with %-%-resume goes on', text)
  end)
end)
