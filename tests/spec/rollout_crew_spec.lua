-- rollout_crew_spec.lua - rows made by copies of the program side by side: the same file, what is kept when a copy
-- ends, and when there are copies.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local process = support.load 'process'
local generate, crew = mc.rollout.generate, mc.rollout.crew

--- Six small operators of two keys, in an order that the text of a configuration does not keep.
local function config_of(set)
  local c = { metadata = { name = 'crew' }, parameter_space = {
    operator = { grid_size = { type = 'choice', choices = { 8 } } },
    architecture = { num_layers = { type = 'choice', choices = { 1, 2 } }, base_channels = { type = 'choice',
      choices = { 4 } } },
    stochastic = { noise_scale = { type = 'continuous', bounds = { 0.001, 0.1 }, log_scale = true } } },
    sampling = { total_samples = 6, batch_size = 3, sobol = { seed = 3 } },
    simulation = { num_realizations = 2, num_timesteps = 5 }, dataset = { output_path = 'none.h5' } }
  return mc.rollout.config.of(c, { set = set })
end

local NAMES = { '/parameters/params', '/inputs/fields', '/features/temporal/features', '/metadata/status',
  '/features/summary/per_trajectory/features', '/features/summary/aggregated/features', '/metadata/grid_sizes' }

describe('rows that copies of the program make', function()
  local at
  setup(function() at = process.folder() end)
  teardown(function() process.remove(at) end)
  local function path(name) return at .. '/' .. name end

  it('are those that the program makes, in batches that end in any order', function()
    local config, hashes, store, left = config_of(), {}, require 'workflows.rollout.store', 0
    local combine = store.combine
    local function opened() return #mc.file.names '/proc/self/fd' end
    store.combine = function(...)
      collectgarbage 'stop'
      local before = opened()
      combine(...)
      left = math.max(left, opened() - before) -- parts that stay open until a collection
      collectgarbage 'restart'
    end
    finally(function() store.combine = combine end)
    for copies = 1, 2 do
      local r = generate.run(config, { out = path(copies .. '.h5'), quiet = true, copies = copies, save_every = 0 })
      assert.equal(6, r.rows)
      local f = mc.open(r.path)
      hashes[copies] = { table.concat(f:get '/metadata/ic_types', ' '), f:group('/metadata').attributes.config }
      for _, name in ipairs(NAMES) do
        table.insert(hashes[copies], mc.manifest.hash(f:dataset(name):read()))
      end
      f:close()
      assert.is_false(mc.file.exists(mc.rollout.store.folder(r.path)))
    end
    assert.same(hashes[1], hashes[2])
    assert.equal(0, left)
  end)

  it('are made without copies where none can be started, and in another folder where one is full', function()
    local child = require 'mascon.base.child'
    local start, folder, tried = child.start, child.folder, {}
    finally(function() child.start, child.folder = start, folder end)
    child.start = function() return nil, '/dev/shm/x: No space left on device; free some space' end
    local r = generate.run(config_of(), { out = path 'alone.h5', quiet = true, copies = 2 })
    assert.same({ 6, '/dev/shm/x: No space left on device' }, { r.rows, r.alone })
    child.start = start
    child.folder = function(base)
      tried[#tried + 1] = base
      if #tried == 1 then return nil, base .. ' is full' end
      return folder(at)
    end
    local one = assert(child.start('os.exit(0)', {}))
    assert.equal(at, one.folder:sub(1, #at))
    assert.equal('/dev/shm', tried[1])
    one:stop()
    child.folder = function(base) return nil, base .. ' is full' end
    local none, why = child.start('os.exit(0)', {})
    assert.is_nil(none)
    assert.matches(' is full$', why)
  end)

  it('keep what is finished when a copy ends, or has no memory', function()
    local config, got = config_of(), 0
    local lists = {}
    for k = 0, 4 do lists[k + 1] = { indices = { k }, us = { { 0.5, 0.5, 0.5, 0.5 } } } end
    local one = crew.start(config, 1)
    local ok, why = pcall(one.each, one, lists, function(_, rows)
      got = got + 1
      assert.equal(2, #rows[1].status)
      assert(mc.file.write(one.list[1].folder .. '/rows-0.json', '{')) -- the copy ends
    end)
    one:stop()
    assert.is_false(ok)
    assert.is_true(got >= 1 and got < 5)
    assert.matches('^rollout: a copy of the program that made rows ended: .*fewer threads take less memory$', why)
    local tight = crew.start(config, 1, 2 ^ 20)
    ok, why = pcall(tight.each, tight, lists, function() error 'rows without memory' end)
    tight:stop()
    assert.is_false(ok)
    assert.matches('memory', why)
  end)

  it('take one thread where ops are small, also of the program alone, which has its threads again', function()
    local threads, seen = mc.get_num_threads(), nil
    finally(function() mc.set_num_threads(threads) end)
    mc.set_num_threads(2)
    local function rows(visit)
      return generate.rows(config_of(), { 0 }, { { 0.5, 0.5, 0.5, 0.5 } }, { visit = visit })
    end
    rows(function() seen = mc.get_num_threads() end)
    assert.equal(1, seen)
    assert.equal(2, mc.get_num_threads())
    assert.is_false((pcall(rows, function() error 'stop' end)))
    assert.equal(2, mc.get_num_threads())
  end)

  it('are for much work on the processor, as many as there is memory for', function()
    local threads = mc.get_num_threads()
    finally(function() mc.set_num_threads(threads) end)
    mc.set_num_threads(4)
    local config = config_of()
    local points = mc.rollout.sampling.points(config, 1, 5)
    local function n(rows, work, o, c) return (generate.copies(c or config, points, rows, work, o)) end
    assert.equal(4, n(100, 1e13))
    assert.is_nil(n(3, 1e13)) -- threads have more to do within operators
    assert.is_nil(n(100, 1e10)) -- a start takes longer
    assert.is_nil(n(100, 1e13, { stored = function() end })) -- of a file that is open here
    assert.is_nil(n(100, 1e13, nil, config_of { ['dataset.storage.store_trajectories'] = true }))
    local here = mc.ceiling.resident()
    local whole, of = generate.copies(config, points, 100, 1e13, { limit = here + 2 ^ 30 })
    assert.equal(4, whole)
    assert.is_true(math.abs(of - 2 ^ 28) < 2 ^ 23)
    local each = generate.room(config, points) + generate.OVERHEAD + 2 ^ 25
    assert.equal(2, n(100, 1e13, { limit = here + 2.5 * each }))
    assert.is_nil(n(100, 1e13, { limit = here + 1.9 * each }))
    mc.set_num_threads(1)
    assert.is_nil(n(100, 1e13))
  end)
end)
