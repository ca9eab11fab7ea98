-- autoreject_memory_spec.lua - what cleaning takes of memory and of files: passes, peaks against the plan, the scratch
-- file.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local sets = support.load 'epochs'
local few = support.load 'ceiling'
local process = support.load 'process'
local mc = require 'mascon'
local scratch = require 'mascon.io.scratch'
local ar = mc.autoreject

describe('a scratch file', function()
  it('gives back every stretch of rows that came in pieces', function()
    local x = mc.randn({ 7, 3, 150 }, { seed = 1 })
    for _, dtype in ipairs { 'f64', 'f32' } do
      local y = x:to(dtype)
      local s = scratch.new(21, 150, 64, dtype)
      s:put(1, y['1:2'])
      s:put(10, y['4:7'])
      s:put(7, y['3'])
      for _, span in ipairs { { 1, 64 }, { 65, 128 }, { 129, 150 }, { 1, 128 }, { 65, 150 },
        { 1, 150 }, { 65, 100 } } do
        assert.is_true(mc.array_equal(y[{ mc.all, mc.all, span }], s:get(span[1], span[2], { 7, 3 })))
      end
      s:close()
    end
  end)

  it('refuses other sizes, types and places', function()
    local s = scratch.new(4, 100, 64, 'f64')
    for word, f in pairs {
      ['do not fit'] = function()
        s:put(4, mc.zeros { 2, 100 })
      end, ['contiguous f64'] = function() s:put(1, mc.zeros({ 2, 100 }, { dtype = 'f32' })) end,
      ['not a stretch'] = function() s:get(2, 65, { 4 }) end, ['of 5 rows'] = function() s:get(1, 64, { 5 }) end,
    } do assert.is_truthy(support.message(f):find(word, 1, true), word) end
    s:close()
  end)

  it('leaves no name, and says at once which disk has no room', function()
    local folder = process.folder()
    local s = scratch.new(10, 100, 64, 'f64', folder)
    s:put(1, mc.ones { 10, 100 })
    assert.same({}, process.list(folder))
    s:close()
    assert.is_truthy(support.message(scratch.new, 10, 100, 64, 'f64', folder .. '/no'):find(folder .. '/no', 1, true))
    if process.tiny(folder .. '/full') then
      local text = support.message(scratch.new, 1000, 1000, 64, 'f64', folder .. '/full')
      assert.is_truthy(text:find('7.6 MiB', 1, true) and text:find('full: No space left', 1, true)
        and text:find('set TMPDIR', 1, true), text)
      local said = process.mascon([[
        local mc = require 'mascon'
        local x = mc.randn({ 40, 8, 400 }, { seed = 1 })
        require('mascon.base.ceiling').left = function() return 6e5 end
        local channels = mc.meeg.epochs.new { data = x, fs = 1, types = 'ecog' }.channels
        local e = require('mascon.meeg.epochs').over('x', { fs = 1, tmin = 0, samples = 400, channels = channels }, {
          count = 40, dtype = 'f64',
          read = function(rows) return mc.take(x, mc.tensor(rows, { dtype = 'i64' }), 1) end,
        })
        mc.autoreject.fit(e, { augment = false, n_interpolate = { 0 }, verbose = false })
      ]], { TMPDIR = folder .. '/full' }).text
      assert.is_truthy(said:find('full: No space left', 1, true), said)
      process.unmount(folder .. '/full')
    end
    process.remove(folder)
  end)
end)

describe('samples in a file', function()
  it('are read once by a fit, whatever it may take', function()
    local e = sets.random(40, 11, 200, { seed = 3 })
    local near = ar.fit(e, { random_state = 5, cv = 4 })
    for _, limit in ipairs { 1e6, 1.1e6, 1.4e6 } do
      local far, reads = sets.behind(e)
      local m = few.left(limit, function() return ar.fit(far, { random_state = 5, cv = 4 }) end)
      assert.equal(40, reads.rows)
      for _, f in ipairs { 'threshold', 'losses', 'loss' } do
        assert.is_true(mc.array_equal(near.types.eeg[f], m.types.eeg[f]))
      end
    end
  end)
end)

describe('a fit for which no block of all channels has room', function()
  it('does some channels at a time, with the same bits', function()
    local e = sets.random(40, 11, 200, { seed = 3 })
    local near = ar.fit(e, { random_state = 5, cv = 4 })
    local sizes = {}
    for _, limit in ipairs { 1e6, 9e5, 8e5 } do
      local far, reads = sets.behind(e)
      local m = few.left(limit, function()
        local s = require('workflows.autoreject.source').sized(40, 11, 200, 8, false, limit)
        s:search_block('spec', true)
        sizes[#sizes + 1] = s.group
        return ar.fit(far, { random_state = 5, cv = 4 })
      end)
      assert.equal(40, reads.rows)
      for _, f in ipairs { 'threshold', 'losses', 'loss' } do
        assert.is_true(mc.array_equal(near.types.eeg[f], m.types.eeg[f]))
      end
    end
    assert.equal(11, sizes[1])
    assert.is_true(sizes[#sizes] <= 3, table.concat(sizes, ' '))
  end)

  it('makes weights that do not fit part by part, with the same bits', function()
    local repair, augment = require 'workflows.autoreject.repair', require 'workflows.autoreject.augment'
    local e, picks = sets.random(30, 8, 100, { seed = 2 }), { 1, 2, 3, 4, 5, 6, 7, 8 }
    local cells = repair.cells(30, 8)
    for k = 1, 28, 3 do
      cells:want(k, { 1 + k % 8 })
      cells:want(k, { 2, 5, 7 })
    end
    local how = augment.interpolator('spec', e, { type = 'eeg', picks = picks }, { alpha = 1e-5, centre = 'none' })
    local at = mc.tensor(picks, { dtype = 'i64' }) - 1
    local whole = cells:number():repair(how).values(e.data, at)
    assert.same({ 40, 100 }, { unpack(whole.shape) })
    for _, held in ipairs { 1, 4, 9, 39 } do
      assert.is_true(mc.array_equal(whole, cells:repair(how, 6 * 8 * 8 * held).values(e.data, at)))
    end
  end)

  it('cleans two hours of 128 channels at 2048 Hz within 1 GiB', function()
    local job = { epochs = 7630, channels = 128, samples = 2048, in_memory = false, threads = 2 }
    job.max_memory = 0.8 * 2 ^ 30
    local plan = ar.plan(job)
    assert.is_true(plan.bytes <= 2 ^ 30, plan.bytes)
    support.restoring(function() -- the threads of the job count, not those of this process
      for _, n in ipairs { 1, 16 } do
        mc.set_num_threads(n)
        assert.same(plan, ar.plan(job))
      end
    end)
    job.max_memory = 2 ^ 29
    local text = support.message(ar.plan, job)
    assert.is_truthy(text:find('the smallest block of 64 samples', 1, true), text)
  end)
end)

-- E, C, T, bytes allowed, what is run; prints planned and measured bytes beyond what stood before
local PEAK = [[
  local mc = require 'mascon'
  local folder, E, C, T, limit, way = '%s', %d, %d, %d, %d, '%s'
  -- pages of the mapped array are the system's to take back
  local function peak()
    local text = io.open '/proc/self/status':read '*a'
    return 1024 * (text:match 'VmHWM:%%s*(%%d+)' - text:match 'RssFile:%%s*(%%d+)')
  end
  mc.set_num_threads(2)
  local function placed(x)
    for i, c in ipairs(x.channels) do
      local h, turn = 1 - (i - 0.5) / C, 2.4 * i
      local r = math.sqrt(1 - h * h)
      c.position = { 0.09 * r * math.cos(turn), 0.09 * r * math.sin(turn), 0.09 * h }
    end
    return x
  end
  if way == 'fit' then
    local e = placed(mc.meeg.epochs.open(folder .. '/epochs.npy', { fs = 500 }))
    local before = peak()
    mc.autoreject.fit(e, { random_state = 1, verbose = false, max_memory = limit })
    local plan = mc.autoreject.plan { epochs = E, channels = C, samples = T, in_memory = false, max_memory = limit }
    print(plan.bytes, peak() - before, plan.scratch)
  else
    local raw = placed(mc.meeg.raw.open(folder .. '/raw.npy', { fs = 500 }))
    local events = {}
    for i = 1, E do events[i] = { i * T, 0, 1 } end
    local before = peak()
    local plan
    mc.ceiling.beside(limit, function()
      local filtered = raw:filter { highpass = 1, max_memory = limit / 5 }
      local e = mc.meeg.epochs.cut(filtered, { events = events, tmin = -0.2, tmax = 0.8 })
      plan = mc.autoreject.ways.plan(e, limit)
      local r = mc.autoreject.ways.clean(e, 'local', { random_state = 1, verbose = false })
      mc.autoreject.results.folder(folder .. '/out', true)
      mc.autoreject.results.write(folder .. '/out', r)
    end)
    print(plan.bytes, peak() - before, plan.scratch)
  end
]]

describe('peak memory', function()
  local E, C, T = 300, 32, 500
  local folder = process.folder()
  teardown(function() process.remove(folder) end)

  local function measured(limit, way)
    local out = process.mascon(PEAK:format(folder, E, C, T, limit, way), {})
    local planned, peak, turned = out.text:match '(%d+)%s+(%d+)%s+(%d+)%s*$'
    assert(planned, out.text)
    return tonumber(planned), tonumber(peak), tonumber(turned)
  end

  -- 1/8: how blocks of memory are rounded; 16 MiB: the program itself
  it('of a fit that streams is the one planned', function()
    mc.save(folder .. '/epochs.npy', 1e-5 * mc.randn({ E, C, T }, { seed = 1 }))
    local planned, peak, turned = measured(24 * 2 ^ 20, 'fit')
    assert.equal(8 * E * C * T, turned)
    assert.is_true(peak <= 1.125 * planned + 16 * 2 ^ 20,
      ('%.1f MiB, planned %.1f'):format(peak / 2 ^ 20, planned / 2 ^ 20))
  end)

  it('of a filter, a fit and its report is the one planned', function()
    mc.save(folder .. '/raw.npy', 1e-5 * mc.randn({ C, (E + 2) * T }, { seed = 1 }))
    local planned, peak = measured(64 * 2 ^ 20, 'clean')
    assert.is_true(peak <= 1.125 * planned + 16 * 2 ^ 20,
      ('%.1f MiB, planned %.1f'):format(peak / 2 ^ 20, planned / 2 ^ 20))
  end)

  it('of the script is the one planned: only what is picked is read, and what is cleaned passes through', function()
    local rows = { 'name,type,x,y,z' }
    for i = 1, 2 * C do
      local h, turn = 1 - (i - 0.5) / 2 / C, 2.4 * i
      local r = math.sqrt(1 - h * h)
      local x, y, z = 0.09 * r * math.cos(turn), 0.09 * r * math.sin(turn), 0.09 * h
      rows[#rows + 1] = ('c%d,%s,%.9f,%.9f,%.9f'):format(i, i <= C and 'eeg' or 'misc', x, y, z)
    end
    local x = 1e-5 * mc.randn({ 2 * C, 2 * E * T }, { seed = 1, dtype = 'f32' })
    for i = 1, 300 do x[{ 1 + i * 7 % C, { i * 900 + 1, i * 900 + 200 } }] = 2e-3 * (i % 2) end
    mc.save(folder .. '/wide.npy', x)
    assert(mc.file.write(folder .. '/wide.csv', table.concat(rows, '\n') .. '\n'))
    local line = ('scripts/autoreject.lua %s/wide.npy --fs 500 --events fixed --tmin 0 --tmax 1 --cv 3 '
      .. '--rho 1,4 --quiet --picks eeg --out %s'):format(folder, folder)
    local function run(more)
      local out = process.mascon(([[
        local words = {}
        for w in ('%s'):gmatch '%%S+' do words[#words + 1] = w end
        arg = { [0] = table.remove(words, 1), unpack(words) }
        local function status(name)
          for l in io.lines '/proc/self/status' do
            local k = l:match('^' .. name .. ':%%s*(%%d+)')
            if k then return k * 1024 end
          end
        end
        -- pages of the mapped array are the system's to take back
        dofile(arg[0])
        print('\npeak', status 'VmHWM' - status 'RssFile')
      ]]):format(line .. more), { MASCON_NUM_THREADS = 2 })
      return tonumber(out.text:match 'peak%s+(%d+)'), out.text
    end
    -- by two threads: pages of a workspace that serves no channel are planned and not touched
    local said = process.shell(('MASCON_NUM_THREADS=2 %s plan %s/a --max-memory 72MiB'):format(
      require('mascon.host').exe, line)).text
    local planned = tonumber(said:match 'peak (%S+) MiB')
    assert.is_number(planned, said)
    local near, text = run '/near'
    assert.is_number(near, text)
    local far, words = run '/far --max-memory 72MiB'
    assert.is_number(far, words)
    local mib = ('%.1f MiB, %.1f without a limit, planned %.1f'):format(far / 2 ^ 20, near / 2 ^ 20, planned)
    assert.is_true(far < near - 0.5 * 16 * E * C * T and far <= 72 * 2 ^ 20 and far / 2 ^ 20 <= 1.3 * planned, mib)
    assert.is_true(planned <= 1.3 * far / 2 ^ 20, mib)
    local a, b = mc.manifest.read(folder .. '/near'), mc.manifest.read(folder .. '/far')
    assert.is_nil((mc.manifest.stage_apart(a, b)))
    assert.equal(process.read(folder .. '/near/cleaned-epo.fif'), process.read(folder .. '/far/cleaned-epo.fif'))
    assert.equal(C, #mc.meeg.open(folder .. '/far/cleaned-epo.fif').channels)
    assert.is_truthy(words:match '[1-9]%d* cells repaired', words)
  end)

  it('of a mapped file is what is read at a time', function()
    mc.save(folder .. '/epochs.npy', 1e-5 * mc.randn({ E, C, T }, { seed = 1 }))
    local out = process.mascon(([[
      local mc = require 'mascon'
      local function mapped()
        for l in io.lines '/proc/self/status' do
          local k = l:match 'RssFile:%%s*(%%d+)'
          if k then return k / 1024 end
        end
      end
      local e, before, sum = mc.meeg.epochs.open('%s/epochs.npy', { fs = 500 }), mapped(), 0
      for x in e:blocks { size = 20 } do sum = sum + mc.sum(x):item() end
      print(mapped() - before, sum)
    ]]):format(folder), {})
    local grown, sum = out.text:match '(%S+)%s+(%S+)%s*$'
    assert.is_true(tonumber(grown) < 8, out.text) -- of 36.6 MiB
    assert.is_truthy(tonumber(sum))
  end)

  it('of a filter stays within what it is given, and its samples do not depend on that', function()
    local raw = mc.meeg.raw.new { data = mc.randn({ 64, 60000 }, { seed = 1 }), fs = 250 }
    local wide = raw:filter { highpass = 1 }:read()
    local narrow = raw:filter { highpass = 1, max_memory = 16 * 2 ^ 20 }
    mc.reset_peak_memory()
    local before = mc.memory().tensors
    local y = narrow:read { first = 20001, last = 30000 }
    local peak = require('mascon.core.ffi').memory_stats().tensor_peak - before - y.nbytes
    assert.is_true(peak <= 1.25 * 16 * 2 ^ 20, ('%.1f MiB'):format(peak / 2 ^ 20))
    assert.is_true(mc.array_equal(wide[{ mc.all, { 20001, 30000 } }], y))
  end)
end)
