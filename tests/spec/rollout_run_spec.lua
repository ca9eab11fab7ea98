-- rollout_run_spec.lua - a whole run of rollouts: configuration, resume after kills, shards, replay, bad input.
local mc = require 'mascon'
local host = require 'mascon.host'

local PROGRAM = os.getenv 'MASCON' or host.exe
local function quote(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

local CONFIG = [[
version: "1.0"
metadata: { name: small, purpose: a test }
parameter_space:
  architecture:
    num_layers: { type: integer, bounds: [2, 4] }
    base_channels: { type: integer, bounds: [4, 6] }
    kernel_size: { type: choice, choices: [3, 5] }
  stochastic:
    noise_scale: { type: continuous, bounds: [0.00001, 1.0], log_scale: true }
    spatial_correlation: { type: continuous, bounds: [0.0, 0.3] }
  operator:
    grid_size: { type: choice, choices: [8, 16] }
  evolution:
    update_policy: { type: choice, choices: [residual, convex], weights: [0.75, 0.25] }
sampling: { total_samples: 8, batch_size: 2, sobol: { seed: 7 } }
simulation:
  num_realizations: 2
  num_timesteps: 6
  input_generation:
    method: sampled
    ic_type_weights: { structured: 0.5, gaussian_random_field_v1: 0.5 }
    gaussian_random_field_v1: { length_scale: 0.05, variance: 1.0 }
dataset: { output_path: OUT, storage: { chunk_size: 3 } }
]]

local folder
local function path(name) return folder .. '/' .. name end
local function write(name, text)
  local f = assert(io.open(path(name), 'wb'))
  f:write(text)
  f:close()
  return path(name)
end
local function script(args, before)
  local pipe = io.popen(('MASCON_PROGRESS=0 %s %s scripts/rollout.lua %s 2>&1; echo "<$?>"'):format(before or '',
    quote(PROGRAM), args))
  local text = pipe:read '*a'
  pipe:close()
  local out, status = text:match '^(.*)<(%d+)>\n$'
  return out, tonumber(status)
end
local DATA = { '/parameters/params', '/inputs/fields', '/features/temporal/features',
  '/features/summary/per_trajectory/features', '/metadata/status',
  '/metadata/bad_step', '/features/summary/aggregated/features' }
-- NaN is equal to NaN here: the bits are compared
local function same(a, b)
  local A, B = mc.open(a), mc.open(b)
  for _, name in ipairs(DATA) do
    local x, y = A:dataset(name):read(), B:dataset(name):read()
    assert.equal(mc.manifest.hash(x), mc.manifest.hash(y), name)
  end
  assert.same(A:get '/metadata/ic_types', B:get '/metadata/ic_types')
  A:close()
  B:close()
end

describe('rollout, a run', function()
  setup(function()
    folder = os.tmpname()
    os.remove(folder)
    os.execute('mkdir ' .. quote(folder))
    write('c.yaml', (CONFIG:gsub('OUT', function() return path 'a.h5' end)))
  end)
  teardown(function() os.execute('rm -rf ' .. quote(folder)) end)

  it('gives the same rows for any batch, any shard, and after kills; the file is what it should be', function()
    if not host.list(host.plugindir or '') and not pcall(mc.save, path 'probe.h5',
      { a = 1 }) then return pending 'no HDF5 here' end
    local out, status = script('generate --config ' .. quote(path 'c.yaml'))
    assert.equal(0, status, out)
    assert.matches('8 operators, %d+ failed realisations', out)
    assert.matches('a%.html', out)
    out, status = script('generate --config ' .. quote(path 'c.yaml'))
    assert.equal(1, status)
    assert.matches('is there already; use %-%-overwrite, %-%-resume', out)
    out, status = script(('generate --config %s --batch-size 8 --threads 1 --output %s'):format(quote(path 'c.yaml'),
      quote(path 'b.h5')))
    assert.equal(0, status, out)
    same(path 'a.h5', path 'b.h5')
    for k, rows in ipairs { '0:2', '3:7' } do
      out, status = script(('generate --config %s --rows %s --output %s'):format(quote(path 'c.yaml'), rows,
        quote(path('s' .. k .. '.h5'))))
      assert.equal(0, status, out)
    end
    out, status = script(('merge %s %s --output %s'):format(quote(path 's2.h5'), quote(path 's1.h5'),
      quote(path 'm.h5')))
    assert.equal(0, status, out)
    same(path 'a.h5', path 'm.h5')
    -- killed at some moment, as often as it takes
    local killed = path 'k.h5'
    for k = 1, 12 do
      local line = 'generate --config %s --resume --output %s & sleep 0.%d; kill -9 $!; wait $! 2>/dev/null; true'
      script(line:format(quote(path 'c.yaml'), quote(killed), 2 + k % 7))
      local f = io.open(killed)
      if f then
        f:close()
        break
      end
    end
    out, status = script(('generate --config %s --resume --output %s'):format(quote(path 'c.yaml'), quote(killed)))
    assert.equal(0, status, out)
    same(path 'a.h5', killed)
    out, status = script('validate ' .. quote(path 'a.h5'))
    assert.equal(0, status, out)
    assert.is_nil(out:find 'FAIL')
    out = script('info ' .. quote(path 'a.h5'))
    assert.matches('/features/summary/aggregated/features%s+f32 8 x 330', out)
    assert.matches('/features/temporal/features%s+f32 8 x 6 x 63', out)
    local row = mc.rollout.dataset.replay(path 'a.h5', 5)
    local f = mc.open(path 'a.h5')
    local mask, columns = f:dataset '/features/temporal/mask':read(), f:dataset '/features/temporal/features':read()
    for k = 1, 63 do
      local v = columns[{ mc.all, mc.all, k }]
      assert.equal(v:max():item() > v:min():item() and 1 or 0, mask[k]:item(), tostring(k))
    end
    assert.equal(330, f:dataset '/features/summary/aggregated/mask'.shape[1])
    assert.equal(mc.manifest.hash(f:dataset '/features/summary/aggregated/features':read { 6 }),
      mc.manifest.hash(row.aggregated))
    f:close()
    out, status = script(('view %s --row 1 --output %s'):format(quote(path 'a.h5'), quote(path 'v.svg')))
    assert.equal(0, status, out)
    assert.is_truthy(io.open(path 'v.svg'))
    out, status = script(('view %s --row 1 --output %s'):format(quote(path 'a.h5'), quote(path 'v.gif')))
    assert.equal(0, status, out)
    local film = assert(io.open(path 'v.gif', 'rb')):read '*a'
    assert.equal('GIF89a', film:sub(1, 6))
    assert.equal(6, select(2, film:gsub('\33\249\4', ''))) -- a frame per state
    out, status = script(('view %s --row 1 --output %s'):format(quote(path 'a.h5'), quote(path 'v.tif')))
    assert.equal(1, status)
    assert.matches('must end in %.svg or %.png', out)
    out, status = script(('view %s --row 1 --output %s'):format(quote(path 'a.h5'), quote(path 'f-%02d.svg')))
    assert.equal(0, status, out)
    assert.matches('f%-00%.svg to %S*f%-05%.svg', out)
    local first = mc.file.read(path 'f-03.svg')
    out, status = script(('view %s --row 0 --output %s'):format(quote(path 'a.h5'), quote(path 'f-%02d.svg')))
    assert.equal(1, status, out)
    assert.matches('f%-00%.svg is there already; use %-%-overwrite', out)
    assert.equal(first, mc.file.read(path 'f-03.svg'))
    os.execute('mkdir -p ' .. quote(path 'of%d'))
    out, status = script(('view %s --row 1 --output %s'):format(quote(path 'a.h5'), quote(path 'of%d/100%-g.svg')))
    assert.equal(0, status, out)
    assert.is_true(mc.file.exists(path 'of%d/100%-g.svg'))
    out, status = script(('view %s --row 1 --output %s'):format(quote(path 'a.h5'), quote(path 'of%d/100%-%d.svg')))
    assert.equal(0, status, out)
    assert.is_true(mc.file.exists(path 'of%d/100%-0.svg') and mc.file.exists(path 'of%d/100%-5.svg'))
    local bars = {}
    for t = 0, 5 do
      local text = assert(io.open(path(('f-%02d.svg'):format(t)))):read '*a'
      assert.matches('t = ' .. t, text)
      bars[t] = text
    end
    assert.is_true(bars[1] ~= bars[5])
    -- a program that stands for ffmpeg: what it gets is the GIF
    os.execute('mkdir -p ' .. quote(path 'bin'))
    write('bin/ffmpeg', '#!/bin/sh\nfor last; do :; done\nwhile [ "$1" != -i ]; do shift; done\ncp "$2" "$last"\n')
    os.execute('chmod 700 ' .. quote(path 'bin/ffmpeg'))
    local movie = ('view %s --row 1 --output %s'):format(quote(path 'a.h5'), quote(path 'v.mp4'))
    out, status = script(movie, 'PATH=' .. quote(path 'bin') .. ':$PATH')
    assert.equal(0, status, out)
    assert.equal(film, assert(io.open(path 'v.mp4', 'rb')):read '*a')
    os.remove(path 'v.mp4')
    write('bin/ffmpeg', '#!/bin/sh\necho no codec >&2; exit 1\n')
    out, status = script(movie, 'PATH=' .. quote(path 'bin') .. ':$PATH')
    assert.equal(1, status, out)
    assert.matches('v%.mp4: ffmpeg failed', out)
    assert.is_nil(io.open(path 'v.mp4'))
    assert.is_nil(io.open(path 'v.mp4.tmp.gif'))
    if os.execute 'command -v ffmpeg > /dev/null 2>&1' ~= 0 then
      out, status = script(movie)
      assert.equal(1, status, out)
      assert.matches('ffmpeg makes MP4 files and is not there; install it, or give a name in %.gif', out)
    end
    out, status = script('bench --total-samples 2 --config ' .. quote(path 'c.yaml'))
    assert.equal(0, status, out)
    assert.matches('L%d b%d k%d, instance norm, gelu', out)
    mc.rollout.features.forget()
  end)

  it('joins shards to what one run writes, of one application, without columns per step, in other batches', function()
    local text = CONFIG:gsub('OUT', function() return path 'w.h5' end):gsub('num_timesteps: 6', 'num_timesteps: 1')
      :gsub('chunk_size: 3', 'chunk_size: 3, store_trajectories: true, compression_level: 9')
      .. 'features: { temporal: { enabled: false } }\n'
    local other = text:gsub('batch_size: 2', 'batch_size: 8'):gsub('w%.h5', 'elsewhere.h5'):gsub('level: 9', 'level: 1')
      :gsub('name: small', 'name: another'):gsub('seed: 7 } }', 'seed: 7 }, validation: { max_discrepancy: 0.5 } }')
    local one, two = write('one.yaml', text), write('two.yaml', other)
    for _, words in ipairs { one .. ' --output ' .. path 'w.h5', one .. ' --rows 0:4 --output ' .. path 'w0.h5',
      two .. ' --rows 5:7 --output ' .. path 'w1.h5' } do
      local out, status = script('generate --quiet --config ' .. words)
      assert.equal(0, status, out)
    end
    local out, status = script(('merge %s %s --output %s'):format(path 'w1.h5', path 'w0.h5', path 'wm.h5'))
    assert.equal(0, status, out)
    local whole, joined = mc.open(path 'w.h5'), mc.open(path 'wm.h5')
    for _, name in ipairs { '/outputs/fields', '/parameters/params', '/inputs/fields', '/metadata/status',
      '/features/summary/per_trajectory/features', '/features/summary/aggregated/features' } do
      local a, b = whole:dataset(name), joined:dataset(name)
      assert.same(a.shape, b.shape, name)
      assert.same(a.chunk, b.chunk, name)
      assert.is_true(a.stored > 0 and a.stored == b.stored, name) -- the same compression
      assert.equal(mc.manifest.hash(a:read()), mc.manifest.hash(b:read()), name)
    end
    local a, b = whole:group '/metadata'.attributes, joined:group '/metadata'.attributes
    assert.equal(a.configuration_sha256, b.configuration_sha256)
    local q = mc.json.decode(b.sampling_metrics)
    assert.equal(8, q.samples)
    assert.equal(a.sampling_metrics, b.sampling_metrics)
    for group, names in pairs { ['/metadata'] = { 'first_row', 'grid_size', 'num_parameter_sets', 'num_realizations',
      'total_rows' }, ['/features/summary'] = { 'num_features' } } do
      for _, name in ipairs(names) do
        for _, file in ipairs { whole, joined } do
          assert.equal('i64', file:group(group)._o:attribute(name):numbers().dtype, name)
        end
      end
    end
    whole:close()
    joined:close()
    out, status = script(('generate --resume --config %s --output %s'):format(one, path 'wm.h5'))
    assert.equal(0, status, out)
    assert.matches('is complete already', out)
    local third = write('third.yaml', (text:gsub('seed: 7', 'seed: 8')))
    out, status = script(('generate --quiet --rows 5:7 --config %s --output %s'):format(third, path 'w2.h5'))
    assert.equal(0, status, out)
    out, status = script(('merge %s %s --output %s'):format(path 'w0.h5', path 'w2.h5', path 'wn.h5'))
    assert.equal(1, status)
    assert.is_truthy(out:find('w2.h5 belongs to another configuration than', 1, true), out)
    assert.is_false(mc.file.exists(path 'wn.h5'))
    mc.rollout.features.forget()
  end)

  it('has one writer, keeps finished rows, and replaces nothing that it was not told to', function()
    local out = path 'one.h5'
    local line = ('generate --config %s --output %s'):format(quote(path 'c.yaml'), quote(out))
    local function fails(more, ...)
      local text, status = script(line .. ' ' .. more)
      assert.equal(1, status, text)
      for _, part in ipairs { ... } do assert.is_truthy(text:find(part, 1, true), text) end
    end
    local lock = assert(mc.file.lock(out))
    assert.is_nil((mc.file.lock(out)))
    fails('', 'one.h5.lock is held by process')
    fails('--total-samples 4 --overwrite', 'one.h5.lock is held by process')
    lock:free()
    assert.is_nil(io.open(out .. '.lock'))
    write('one.h5.lock', '1 on elsewhere, since 2020-01-01T00:00:00Z\n') -- nobody holds it: a writer that is gone
    -- a part of this configuration that a stopped run left
    local config = mc.rollout.config.load(path 'c.yaml', {})
    local store, generate = mc.rollout.store, mc.rollout.generate
    local hash = generate.hash(config)
    assert(mc.file.make_folder(store.folder(out)))
    mc.scope(function()
      store.put(out, { hash = hash, own = {} }, generate.batch(config, mc.rollout.sampling.points(config, 1, 8), 2, 3))
    end)
    mc.rollout.features.forget()
    fails('', '2 finished rows', '--resume', '--overwrite')
    fails('--seed 8 --resume', 'another configuration')
    fails('--seed 8', 'another configuration', '--overwrite')
    assert.equal(1, #store.parts(out, hash))
    write('one.h5.parts/rows-trial.h5.tmp-a1b2c3', 'left by a killed writer')
    write('one.html', 'mine')
    fails('--resume', 'one.html is there already')
    os.remove(path 'one.html')
    local text, status = script(line .. ' --resume --batch-size 4') -- other batches, the same rows
    assert.equal(0, status, text)
    assert.matches('8 operators %(2 of them were there%)', text)
    assert.matches(' [%d.]+ %% of it writing', text)
    local plain = path 'plain.h5'
    assert.equal(0, select(2, script(('generate --config %s --output %s'):format(quote(path 'c.yaml'), quote(plain)))))
    same(plain, out)
    assert.is_false(mc.file.exists(store.folder(out)))
    -- parts that are changed in their middle, cut, empty, of other rows: made anew, and a part without a sum
    os.remove(out)
    os.remove(path 'one.html')
    local points, bytes = mc.rollout.sampling.points(config, 1, 8), {}
    assert(mc.file.make_folder(store.folder(out)))
    for first = 0, 6, 2 do
      mc.scope(function()
        store.put(out, { hash = hash, own = {} }, generate.batch(config, points, first, first + 1))
      end)
    end
    mc.rollout.features.forget()
    local parts = store.parts(out, hash)
    assert.equal(4, #parts)
    for k, p in ipairs(parts) do
      assert.equal(mc.manifest.hash_file(p.path), p.sum)
      bytes[k] = assert(mc.file.read(p.path))
    end
    local half = math.floor(#bytes[1] / 2)
    assert(mc.file.write(parts[1].path, bytes[1]:sub(1, half) .. bytes[1]:sub(half + 1, half + 600):gsub('.',
      function(c) return string.char(255 - c:byte()) end) .. bytes[1]:sub(half + 601)))
    local refused = select(2, pcall(store.merge, out, hash, { first = 0, last = 7 }))
    assert.matches('rows%-%x+%-00000000.*changed since it was written', refused)
    assert(mc.file.write(parts[2].path, bytes[2]:sub(1, half)))
    assert(mc.file.write(parts[3].path, ''))
    assert(mc.file.write(parts[4].path, bytes[1]))
    assert(mc.file.write(parts[1].path:gsub('%-%x+%.h5$', '.h5'), bytes[1]))
    text, status = script(line .. ' --resume')
    assert.equal(0, status, text)
    assert.equal(5, select(2, text:gsub('were made anew', '')), text)
    same(plain, out)
    local merged = path 'merged.hdf'
    text, status = script(('merge %s --output %s'):format(quote(out), quote(merged)))
    assert.equal(0, status, text)
    same(plain, merged)
    assert.is_false(mc.file.exists(store.folder(out)) or mc.file.exists(out .. '.lock'))
    fails('--resume --seed 8', 'another configuration')
    text, status = script(line .. ' --resume')
    assert.equal(0, status, text)
    for _, word in ipairs { '--row 3', '--dataset x', 'extra' } do
      fails('--overwrite ' .. word, word:match '%S+', word == 'extra' and 'too many' or 'has no meaning')
    end
    fails('--overwrite --resume', 'exclude each other')
    text, status = script(('generate --config %s --output %s'):format(quote(path 'c.yaml'), quote(folder)))
    assert.equal(1, status)
    assert.is_truthy(text:find('a folder', 1, true), text)
    text, status = script(('merge %s %s --output %s'):format(quote(out), quote(out), quote(path 'twice.h5')))
    assert.equal(1, status)
    assert.is_truthy(text:find('both hold rows 0 to 7', 1, true), text)
  end)

  it('tells which file is too large for the limit of a file, keeps what is there, and goes on', function()
    local out, page = path 'big.h5', path 'big.html'
    local config = write('big.yaml', (CONFIG:gsub('OUT', function() return out end)))
    local line = 'generate --quiet --config ' .. config
    local function bounded(kib, more, ...)
      local text, status = script(line .. more, ('ulimit -f %d;'):format(2 * kib)) -- of sh: in 512 bytes
      assert.equal(1, status, text)
      assert.is_truthy(text:find('(ulimit -f); raise the limit', 1, true), text)
      assert.equal(1, select(2, text:gsub('\n', '\n')), text)
      for _, words in ipairs { ... } do assert.is_truthy(text:find(words, 1, true), text) end
    end
    bounded(5, '', '.new.h5 cannot be written: it takes up to ', 'and a file may have 5 KiB',
      'and go on with --resume (0 finished rows are kept in ' .. out .. '.parts)')
    assert.is_false(mc.file.exists(out) or mc.file.exists(page))
    bounded(45, ' --resume', out .. ' cannot be written: it takes up to ', 'and a file may have 45 KiB',
      'and go on with --resume (8 finished rows are kept in ' .. out .. '.parts)')
    local text, status = script(line .. ' --resume', 'ulimit -f 1200;') -- its own parts are read without a process
    assert.equal(0, status, text)
    text, status = script('info ' .. quote(out), 'ulimit -f 1200;')
    assert.equal(1, status, text)
    assert.is_truthy(text:find('reading takes 2048 KiB of shared memory, more than the limit of a file', 1, true), text)
    local bytes, html = mc.file.read(out), mc.file.read(page)
    assert.is_truthy(html:find('Parameters', 1, true))
    bounded(45, ' --overwrite --seed 8', out .. ' cannot be written')
    assert.equal(bytes, mc.file.read(out)) -- the data and the page that were there
    assert.equal(html, mc.file.read(page))
    for _, name in ipairs(mc.file.names(folder)) do assert.is_nil(name:find '^%.mascon', name) end
    local plain = path 'plain-big.h5'
    text, status = script(line .. ' --output ' .. plain)
    assert.equal(0, status, text)
    same(plain, out)
    write('joined.html', 'mine')
    text, status = script(('merge %s --output %s'):format(out, path 'joined.h5'))
    assert.equal(1, status, text)
    assert.is_truthy(text:find('joined.html is there already', 1, true), text)
    text, status = script(('merge %s --overwrite --output %s'):format(out, path 'joined.h5'))
    assert.equal(0, status, text)
    local function part(t) return assert(t:match '^(.-)>Sampling<') end
    assert.equal((part(html):gsub('big%.h5', 'joined.h5')), part(mc.file.read(path 'joined.html')))
    mc.rollout.features.forget()
  end)

  it('never replaces what it reads, removes what killed writers left, and says a full disk', function()
    local own = write('own.yaml', (CONFIG:gsub('OUT', function() return path 'own.h5' end)))
    local before = assert(mc.file.read(own))
    local out, status = script(('generate --config %s --output %s --overwrite --quiet'):format(quote(own), quote(own)))
    assert.equal(1, status, out)
    assert.is_truthy(out:find('is a file that this run reads', 1, true), out)
    assert.equal(before, mc.file.read(own))
    write('own.h5.tmp-a1b2c3', 'left')
    write('own.h5.tmp-notes', 'mine')
    local line = 'ulimit -f 5; %s scripts/rollout.lua generate --config %s --total-samples 2 --quiet 2>&1; echo "<$?>"'
    local full = io.popen(line:format(quote(PROGRAM), quote(own)))
    local text = full:read '*a'
    full:close()
    assert.is_truthy(text:find('<1>', 1, true), text)
    assert.is_truthy(text:find('ulimit', 1, true), text)
    assert.is_false(mc.file.exists(path 'own.h5.tmp-a1b2c3'))
    assert.is_true(mc.file.exists(path 'own.h5.tmp-notes'))
    assert.is_false(mc.file.exists(path 'own.h5.lock'))
    for _, words in ipairs { { '--total-samples 1e300', 'total_samples is 1e+300' },
      { '--seed 1e300', 'sobol.seed is 1e+300' }, { '--set sampling.batch_size=', 'give KEY=VALUE' } } do
      out, status = script(('generate --config %s --dry-run %s'):format(quote(own), words[1]))
      assert.equal(1, status, out)
      assert.is_truthy(out:find(words[2], 1, true), out)
    end
    out = script('view --row 1e300 ' .. quote(own))
    assert.is_truthy(out:find('rows are counted from 0', 1, true), out)
    out = script('info ' .. quote(own))
    assert.is_nil(out:find('.lua:', 1, true), out)
  end)

  it('refuses what it cannot do, by key, value and range', function()
    local function fails(change, by, words)
      local text = CONFIG:gsub('OUT', function() return path 'x.h5' end):gsub(change, by, 1)
      local name = write('bad.yaml', text)
      local out, status = script('generate --config ' .. quote(name))
      assert.equal(1, status, out)
      assert.is_truthy(out:find(words, 1, true), out)
      assert.is_nil(io.open(path 'x.h5'))
    end
    fails('num_realizations', 'num_realisations',
      'there is no key simulation.num_realisations (did you mean num_realizations?)')
    fails('num_realizations: 2', 'num_realizations: two', "simulation.num_realizations is 'two'")
    fails('batch_size: 2', 'batch_size: [2]', 'sampling.batch_size is')
    fails('num_layers: {[^}]*}', 'num_layers: 3', 'num_layers')
    fails('num_realizations', 'num_timesteps: 6\n  num_realizations', 'num_timesteps')
    fails('simulation:', 'simulation:\n  storage: float16\n  precision: float64', 'simulation.storage is float16')
    fails('simulation:', 'simulation: &s\n  alpha: *s', 'bad.yaml')
    fails('num_timesteps: 6', 'num_timesteps: 0', 'simulation.num_timesteps is 0; it must be from 1 to 10000')
    fails('total_samples: 8', 'total_samples: 9', 'which sampling.batch_size 2 does not divide')
    fails('%[3, 5%]', '[3, 4]', 'kernel_size is 4; it must be an odd whole number')
    fails('weights: %[0.75, 0.25%]', 'weights: [0.75, 0.5]', 'weights sum to 1.25')
    fails('bounds: %[0.00001', 'bounds: [0', 'a logarithmic scale begins above 0')
    fails('residual, convex', 'residual, convexe',
      "update_policy is 'convexe'; choose autoregressive, convex, residual")
    fails('  num_timesteps', '\tnum_timesteps', 'bad.yaml')
    fails('base_channels', 'base_chanels',
      'there is no parameter architecture.base_chanels (did you mean base_channels?)')
    fails('metadata: {[^}]*}', 'metadata: {}', 'metadata.name is missing')
    fails('simulation:', 'simulation:\n  alpha: 1.0', 'simulation.alpha is 1; it must be from 0 and below 1')
    local out, status = script 'generate --config no-such.yaml'
    assert.equal(1, status)
    assert.matches('no%-such%.yaml', out)
    out, status = script('info ' .. quote(write('not.h5', 'text')))
    assert.equal(1, status)
    assert.matches('cannot be read', out)
  end)

  it('writes finished rows as it goes, so that a stop costs the operators under way alone', function()
    finally(mc.rollout.features.forget)
    local config, store = mc.rollout.config.load(path 'c.yaml', {}), mc.rollout.store
    local points, out = mc.rollout.sampling.points(config, 1, 8), path 'go.h5'
    local hash, steps, under = mc.rollout.generate.hash(config), 0, nil
    local PARTS = { 'params', 'inputs', 'status', 'bad_step', 'temporal', 'summary', 'aggregated', 'filtered' }
    assert(mc.file.make_folder(store.folder(out)))
    mc.scope(function()
      local seen = {}
      local all = mc.rollout.generate.batch(config, points, 0, 7, { every = 0, step = function() steps = steps + 1 end,
        part = function(rows)
          local kept = { first = rows.first, last = rows.last, temporal = mc.keep(rows.temporal:copy()) }
          seen[#seen + 1] = kept
          store.put(out, { hash = hash, own = {} }, rows)
          local held = 0
          for _, p in ipairs(store.parts(out, hash)) do held = held + p.last - p.first + 1 end
          under = steps - held -- rows that a kill would lose here
          assert.is_true(under >= 0)
        end })
      local soon = {}
      mc.rollout.generate.batch(config, points, 0, 7, { every = 1e9,
        part = function(rows) soon[#soon + 1] = rows.first end })
      assert.is_true(#soon >= 1) -- the first finished rows, without waiting
      assert.is_true(#seen >= 4, tostring(#seen))
      assert.equal(0, under)
      for _, name in ipairs(PARTS) do assert.equal(8, all[name].shape[1], name) end
      for _, k in ipairs(seen) do
        assert.is_true(mc.array_equal(mc.where(mc.isnan(k.temporal), 0, k.temporal),
          (function(t) return mc.where(mc.isnan(t), 0, t) end)(all.temporal[{ { k.first + 1, k.last + 1 } }])))
        k.temporal:release()
      end
    end)
    local held = 0
    for _, p in ipairs(store.parts(out, hash)) do held = held + p.last - p.first + 1 end
    assert.is_true(held < 8 and held >= 4) -- the last operators are under way
    local text, status = script(('generate --config %s --output %s'):format(quote(path 'c.yaml'), quote(out)))
    assert.equal(1, status)
    assert.matches(held .. ' finished rows', text)
    text, status = script(('generate --config %s --output %s --resume --save-every 0 --batch-size 8'):format(
      quote(path 'c.yaml'), quote(out)))
    assert.equal(0, status, text)
    assert.matches('%% of it writing', text)
    local plain = path 'go-plain.h5'
    assert.equal(0, select(2, script(('generate --config %s --output %s --batch-size 8 --save-every 0'):format(
      quote(path 'c.yaml'), quote(plain)))))
    same(plain, out)
    assert.is_false(mc.file.exists(store.folder(out)))
  end)

  it('has a surrogate that says which features parameters do not give, without filtered rows', function()
    local out, status = script(('generate --config %s --total-samples 18 --output %s --quiet --set %s'):format(
      quote(path 'c.yaml'), quote(path 'sur.h5'), 'simulation.limits.gflop=0.02'))
    assert.equal(0, status, out)
    local f = mc.open(path 'sur.h5')
    local kept = mc.eq(f:dataset '/metadata/filtered':read(), 0):to('f64'):sum():item()
    f:close()
    assert.is_true(kept >= 10 and kept < 18, tostring(kept))
    local line = 'MASCON_PROGRESS=0 %s scripts/rollout_surrogate.lua %s --out %s --epochs 2 --quiet --field 2>&1'
    local pipe = io.popen(line:format(quote(PROGRAM), quote(path 'sur.h5'), quote(path 'sur')))
    local text = pipe:read '*a'
    pipe:close()
    local train, valid, test, P = text:match '(%d+) rows to train on, (%d+) to choose by, (%d+) to test; (%d+) para'
    assert.equal(kept, tonumber(train) + tonumber(valid) + tonumber(test), text)
    assert.equal(9, tonumber(P)) -- seven of the space, two types of field
    assert.matches('invariant_drift%s+%d+%s+%-?[%d.]+%s+%-?[%d.]+', text)
    assert.matches('parameters do not say %(R2 below 0%.05%): %a', text)
    assert.matches('field.structured', text)
    assert.matches('^feature,category,explained\n', mc.file.read(path 'sur/scores.csv'))
  end)

  it('rolls out u_afno operators, with opt-in features', function()
    local text = CONFIG:gsub('OUT', function() return path 'u.h5' end):gsub('simulation:', 'simulation:\n' ..
      '  operator_type: u_afno', 1):gsub('  evolution:', '  u_afno:\n    modes: { type: integer, bounds: [2, 8] }\n' ..
      '    encoder_levels: { type: integer, bounds: [1, 3] }\n    afno_blocks: { type: choice, choices: [1] }\n' ..
      '    blocks_per_level: { type: choice, choices: [1, 2] }\n  evolution:', 1)
      .. 'features: { distributional: { enabled: true }, wavelet: { enabled: true } }\n'
    local name = write('u.yaml', text)
    for _, o in ipairs { 'u.h5 --batch-size 4', 'v.h5 --batch-size 1 --threads 1' } do
      local out, status = script(('generate --config %s --total-samples 4 --output %s/%s'):format(quote(name),
        quote(folder), o))
      assert.equal(0, status, out)
    end
    same(path 'u.h5', path 'v.h5')
    local out = script('info ' .. quote(path 'u.h5'))
    assert.matches('/features/temporal/features%s+f32 4 x 6 x 91', out)
    local bad, status = script(('generate --config %s --output %s'):format(quote(write('odd.yaml',
      (text:gsub('choices: %[8, 16%]', 'choices: [9]')))), quote(path 'odd.h5')))
    assert.equal(1, status)
    assert.is_truthy(bad:find('line 12: parameter_space.operator.grid_size: grid_size 9 is no multiple', 1, true), bad)
  end)

  it('is learned by a surrogate', function()
    local config = quote(path 'c.yaml')
    local out, status = script(('generate --config %s --total-samples 16 --output %s'):format(config,
      quote(path 'l.h5')))
    assert.equal(0, status, out)
    local line = ('%s scripts/rollout_surrogate.lua %s --out %s/learned --epochs 5 --quiet %s 2>&1; echo "<$?>"')
    local function learn(more)
      local pipe = io.popen(line:format(quote(PROGRAM), quote(path 'l.h5'), quote(folder), more))
      local text = pipe:read '*a'
      pipe:close()
      return text, tonumber(text:match '<(%d+)>\n$')
    end
    out, status = learn ''
    assert.equal(0, status, out)
    assert.matches('11 rows to train on, 2 to choose by, 3 to test; 7 parameters, %d+ of 110 features', out)
    assert.matches('\nall +%d+ +%-?%d+%.%d+ ', out)
    local p, f = mc.load(path 'learned/predictions.npz'), mc.load(path 'learned/surrogate.npz')
    assert.same(p.want.shape, p.got.shape)
    -- the three sets share no row; what is reported is of the rows that neither trained nor chose
    local seen = {}
    for _, name in ipairs { 'train', 'valid', 'row' } do
      for _, i in ipairs(p[name]:totable()) do
        assert.is_nil(seen[i])
        seen[i] = name
      end
    end
    assert.equal(16, #p.train:totable() + #p.valid:totable() + #p.row:totable())
    -- the weights are those of the epoch with the least validation loss, and scales are of the rows to train on
    local best, least, epochs = 0, math.huge, 0
    for text in io.lines(path 'learned/log.jsonl') do
      local r = mc.json.decode(text)
      if r.kind == 'epoch' then
        epochs = epochs + 1
        if r.valid.valid_loss < least then best, least = r.epoch, r.valid.valid_loss end
      end
    end
    assert.is_true(epochs >= best and epochs <= 5)
    assert.equal(best, tonumber(out:match 'weights of epoch (%d+)'))
    local h0 = mc.open(path 'l.h5')
    local all = h0:dataset '/features/summary/aggregated/features':read()
    h0:close()
    local of_train = mc.take(all[{ mc.all, f.column[5]:item() + 1 }], p.train + 1, 1):to 'f64'
    assert.equal(mc.quantile(of_train:abs(), 0.5):item(), f.scale[5]:item())
    local net = mc.nn.Sequential { mc.nn.Linear(7, 96), mc.nn.GELU(), mc.nn.Dropout(0.1),
      mc.nn.Linear(96, 96), mc.nn.GELU(), mc.nn.Dropout(0.1), mc.nn.Linear(96, f.mean.shape[1]) }
    local state = {}
    for k, t in pairs(f) do if k:find '^net/' then state[k:sub(5)] = t end end
    net:load_state_dict(state)
    local hp = mc.open(path 'l.h5')
    local x = mc.take(hp:dataset '/parameters/params':read(), p.row + 1, 1):to 'f32'
    hp:close()
    local got = net:eval()(x):to 'f64' * f.spread + f.mean
    assert.is_true((got - p.got):abs():max():item() < 1e-9)
    -- what was to be predicted is the file's column, back on its scale
    local h = mc.open(path 'l.h5')
    local y = h:dataset '/features/summary/aggregated/features':read()
    h:close()
    local z = p.want[{ 1, 5 }]:item()
    local v = (z < 0 and -1 or 1) * (math.exp(math.abs(z)) - 1) * f.scale[5]:item()
    local want = y[{ p.row[1]:item() + 1, f.column[5]:item() + 1 }]:item()
    assert.is_true(math.abs(v - want) <= 1e-6 * math.abs(want))
    out, status = learn ''
    assert.equal(1, status, out)
    assert.matches('overwrite', out)
  end)

  it('has gradients through a rollout, with memory that does not grow with the network when steps are checkpointed',
    function()
      local arch = { type = 'cnn', channels = 3, layers = 2, base = 8, kernel = 3, norm = 'instance',
        activation = 'gelu', gelu = 'exact', groups = 32, padding_mode = 'circular', grid = 16, noise = 'none',
        scale = 0 }
      local x0, weights = mc.randn({ 1, 3, 16, 16 }, { seed = 1 }), mc.rollout.operator.weights(arch, 1, 0, 'f64')
      local function step(x, w)
        local apply = mc.rollout.operator.build(arch, w, { composed = true })
        return mc.rollout.roll.update({ policy = 'residual', dt = 0.1 }, x, apply(x))
      end
      local function live()
        collectgarbage()
        collectgarbage()
        return mc.memory().live
      end
      local function through(used)
        local before, most = live(), nil
        local _, g = mc.value_and_grad(function(w)
          local x = x0
          for _ = 1, 16 do x = used(x, w) end
          most = live() - before
          return mc.mean(mc.square(x - mc.roll(x0, 2, 4)))
        end)(weights)
        return g[1].w, most
      end
      local a, all = through(step)
      local b, few = through(mc.checkpoint(step))
      assert.is_true((a - b):abs():max():item() < 1e-12 and a:abs():max():item() > 1e-3)
      assert.is_true(few < all / 3, ('%d and %d bytes'):format(few, all))
      mc.rollout.operator.release(weights)
    end)

  it('rolls out operators of the user', function()
    local operator = mc.rollout.operator
    local function build(arch, source)
      local rate = arch.own.rate + 0 * source:number()
      return function(x)
        local around = mc.roll(x, 1, 3) + mc.roll(x, -1, 3) + mc.roll(x, 1, 4) + mc.roll(x, -1, 4)
        return rate * (around - 4 * x)
      end
    end
    operator.register('heat', build)
    operator.register('heat_compiled', build, { compile = true, flops = function() return 7 end })
    assert.has_error(function() operator.register('heat', function() end) end,
      'rollout.operator.register: there is an operator heat already')
    local c = mc.rollout.config.of(mc.json.decode [[{ "metadata": { "name": "heat" },
      "parameter_space": { "own": { "rate": { "type": "continuous", "bounds": [0.1, 0.2] } },
        "operator": { "grid_size": { "type": "choice", "choices": [8] } } },
      "sampling": { "total_samples": 2, "sobol": { "scramble": true } },
      "simulation": { "operator_type": "heat", "num_realizations": 1, "num_timesteps": 4, "dt": 1.0,
        "precision": "float64" }, "dataset": { "output_path": "none.h5" } }]])
    mc.scope(function()
      local row = mc.rollout.generate.row(c, 1, { 0.5, 0.5 }, { states = true })
      assert.same({ 0 }, row.status)
      c.simulation.operator_type = 'heat_compiled'
      local other = mc.rollout.generate.row(c, 1, { 0.5, 0.5 }, { states = true })
      assert.is_true(mc.array_equal(row.states, other.states))
      assert.equal(7, operator.flops(other.arch))
      local x = row.input
      for _ = 1, 3 do
        local around = mc.roll(x, 1, 2) + mc.roll(x, -1, 2) + mc.roll(x, 1, 3) + mc.roll(x, -1, 3)
        x = x + 0.15 * (around - 4 * x)
      end
      assert.is_true((row.states[{ 1, -1 }] - x):abs():max():item() < 1e-6)
    end)
  end)

  it('takes own fields and own features', function()
    local c = mc.rollout.config.load(path 'c.yaml', { set = { ['sampling.total_samples'] = 2 } })
    local function last(states) return states[{ -1 }]:max():reshape(1) end
    mc.rollout.features.register('mine', { 'last_max' }, last)
    mc.rollout.features.register('batched', { 'last_max_batched' }, last, { batch = true })
    local row = mc.rollout.generate.row(c, 1, mc.rollout.sampling.points(c, 2, 2)[1]:totable(), { states = true })
    mc.rollout.features.forget()
    assert.equal(112, row.summary.shape[2])
    assert.is_true(mc.array_equal(row.summary[{ mc.all, 111 }], row.summary[{ mc.all, 112 }]))
    local function reads(states) return mc.tensor { states:max():item() } end -- what a compiled function must not do
    mc.rollout.features.register('reads', { 'largest' }, reads, { batch = true })
    finally(mc.rollout.features.forget)
    local ok, why = pcall(mc.rollout.generate.row, c, 1, mc.rollout.sampling.points(c, 2, 2)[1]:totable())
    assert.is_false(ok)
    assert.matches('its value is not known yet', why)
    assert.equal(row.states[{ 1, -1 }]:max():item(), row.summary[{ 1, 111 }]:item())
  end)
end)
