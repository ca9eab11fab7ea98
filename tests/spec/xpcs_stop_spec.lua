-- xpcs_stop_spec.lua - scripts/xpcs.lua that gets SIGTERM or meets another run: the sentence, the exit status, and what
-- is on disk.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local script, process = support.load 'script', support.load 'process'
local host = require 'mascon.host'
local mc = require 'mascon'
local folder, data, small -- small: draws of a posterior and fits of it come quickly

local function exists(path) return script.read(path) ~= nil end

--- Starts the script with these words, runs `meanwhile` (a line of the shell) once files of the pattern `sign` are
--- there, ends it with SIGTERM so many seconds later: its words, its status, and the words of meanwhile.
local function stopped(words, sign, seconds, meanwhile)
  local told, other = folder .. '/told.txt', folder .. '/other.txt'
  local r = process.shell(([[
    export MASCON_PROGRESS=0
    %s scripts/xpcs.lua %s >%s 2>&1 & pid=$!
    while ! ls %s >/dev/null 2>&1 && kill -0 $pid 2>/dev/null; do sleep 0.02; done
    ( %s ) >%s 2>&1
    sleep %g; kill -TERM $pid; wait $pid]]):format(script.program, words, told, sign, meanwhile or ':', other, seconds))
  return script.read(told), r.status, script.read(other)
end

--- No file of a set but those that its manifest names, each as it says.
local function in_order(dir)
  local record = mc.manifest.read(dir)
  local apart, count = mc.manifest.files_apart(record, dir)
  assert.same({}, apart)
  assert.is_true(count > 0)
  local named = { ['manifest.json'] = true }
  for _, o in ipairs(record.outputs) do named[o.name] = true end
  for _, part in ipairs { '', 'nlsq/', 'cmc/' } do
    for _, name in ipairs(host.list(dir .. '/' .. part) or {}) do
      if not name:find '/$' then assert.is_true(named[part .. name] or false, part .. name) end
    end
  end
end

describe('a run of scripts/xpcs.lua that is stopped', function()
  local fit
  setup(function()
    folder = process.folder()
    local s = mc.xpcs.simulate { n = 240, q = 0.01, dt = 0.25, phi = { -60, -25, 0, 30, 75 }, sigma = 0.004, seed = 3,
      physics = { 5000, 0.3, 900, 4e-4, -0.25, 1.2e-4, 4 } }
    data = folder .. '/x.npz'
    mc.save(data, { c2_exp = s.c2, phi_angles_list = mc.tensor(s.phi), t1 = s.t, q = mc.tensor(s.q) })
    s = mc.xpcs.simulate { n = 40, q = 0.01, dt = 0.25, phi = { -60, 0, 75 }, sigma = 0.004, seed = 3,
      physics = { 5000, 0.3, 900 } }
    small = folder .. '/small.npz'
    mc.save(small, { c2_exp = s.c2, phi_angles_list = mc.tensor(s.phi), t1 = s.t, q = mc.tensor(s.q) })
    fit = data .. ' --laminar-flow --sigma 0.004 --quiet --no-arrays --output-format npz '
  end)
  teardown(function() process.remove(folder) end)

  it('in the fit writes nothing, says so, and goes on from its checkpoint to the same bits', function()
    local out, points = folder .. '/fit', folder .. '/points'
    local words = fit .. ('--profile 0.95 --checkpoint-dir %s --output-dir %s'):format(points, out)
    local text, status = stopped(words, points .. '/xpcs_state.lock', 0)
    assert.equal(143, status, text)
    assert.is_truthy(text:find('xpcs: terminated before the end of the fit: nothing was written; the same command goes '
      .. 'on from the last checkpoint in ' .. points, 1, true), text)
    assert.is_nil(text:find('%.lua:%d'), text)
    assert.is_false(exists(out .. '/manifest.json') or exists(out .. '/nlsq/parameters.json'))
    for _, name in ipairs(host.list(out) or {}) do error('left behind: ' .. name) end
    local whole = process.shell(('MASCON_PROGRESS=0 %s scripts/xpcs.lua %s --profile 0.95 --output-dir %s/whole')
      :format(script.program, fit, folder))
    assert.equal(0, whole.status, whole.text)
    local r = process.shell(('MASCON_PROGRESS=0 %s scripts/xpcs.lua %s'):format(script.program, words))
    assert.equal(0, r.status, r.text)
    in_order(out)
    local a, b = mc.load(folder .. '/whole/nlsq/parameters.npz'), mc.load(out .. '/nlsq/parameters.npz')
    for name, v in pairs(a) do assert.is_true(mc.array_equal(v, b[name]), name) end
  end)

  it('in the posterior keeps its draws, says how it goes on, and leaves a whole set', function()
    local words = small .. ' --static-mode --sigma 0.004 --quiet --no-arrays --method both --n-chains 1 --n-warmup 20 '
      .. '--seed 5 '
    local text, status, out
    for k, seconds in ipairs { 0.5, 2, 8, 30 } do -- the first draws come when the machine has time for them
      out = folder .. '/draws' .. k
      text, status = stopped(words .. ('--n-samples 1000000 --checkpoint-dir %s/p%d --output-dir %s'):format(folder, k,
        out), ('%s/p%d/xpcs_posterior.h5'):format(folder, k), seconds)
      assert.equal(143, status, text)
      if text:find('the draws so far', 1, true) then break end
    end
    assert.is_truthy(text:find('terminated: the draws so far are kept; the same command with --overwrite goes on from '
      .. 'them', 1, true), text)
    assert.is_nil(text:find('%.lua:%d'), text)
    in_order(out)
    assert.equal('terminated', mc.load(out .. '/cmc/diagnostics.json').interrupted)
    -- its draws are the first ones of a run that nobody stops
    local cut = mc.load(out .. '/cmc/samples.npz')['posterior/D0']
    local r = process.shell(('MASCON_PROGRESS=0 %s scripts/xpcs.lua %s --n-samples 4 --output-dir %s/short'):format(
      script.program, words, folder))
    assert.equal(0, r.status, r.text)
    local short = mc.load(folder .. '/short/cmc/samples.npz')['posterior/D0']
    local count = math.min(4, cut.shape[2])
    assert.is_true(mc.array_equal(cut[{ mc.all, { 1, count } }], short[{ mc.all, { 1, count } }]))
  end)

  it('after the last draw ends with whole results, and says so', function()
    -- the program, in which a function of the library sends the signal first
    local driver = folder .. '/driver.lua'
    assert(mc.file.write(driver, [[
      local ffi, host = require 'ffi', require 'mascon.host'
      ffi.cdef 'int getpid(void); int kill(int, int);'
      local module, name = os.getenv 'STOP_IN':match '^(.*):(.*)$'
      local part = require(module)
      local own = part[name]
      part[name] = function(...)
        ffi.C.kill(ffi.C.getpid(), 15)
        repeat local seen = host.signal() until seen
        return own(...)
      end
      dofile 'scripts/xpcs.lua']]))
    local draws = ' --static-mode --sigma 0.004 --quiet --no-arrays --seed 5 --method both --n-chains 1 --n-warmup 20 '
      .. '--n-samples 20 '
    local joint = (' --static-mode --sigma 0.004 --quiet --no-arrays --joint %s/y.npz '):format(folder)
    local s = mc.xpcs.simulate { n = 30, q = 0.012, dt = 0.25, phi = { 0, 75 }, sigma = 0.004, seed = 4,
      physics = { 5000, 0.3, 900 } }
    mc.save(folder .. '/y.npz', { c2_exp = s.c2, phi_angles_list = mc.tensor(s.phi), t1 = s.t, q = mc.tensor(s.q) })
    local CASES = {
      { 'workflows.xpcs.show.posterior_files:write', draws, 'cmc/samples.npz' },
      { 'mascon.sample.result:new', draws, 'cmc/samples.npz' },
      { 'workflows.xpcs.show.results:write', draws, 'cmc/samples.npz' },
      { 'workflows.xpcs.fit.joint:tables', joint, 'joint.json' },
    }
    for k, case in ipairs(CASES) do
      local out = ('%s/late%d'):format(folder, k)
      local r = process.shell(('STOP_IN=%s MASCON_PROGRESS=0 %s %s %s %s --output-dir %s'):format(case[1],
        script.program, driver, small, case[2], out))
      assert.equal(143, r.status, case[1] .. r.text)
      assert.is_truthy(r.text:find('xpcs: terminated when all was computed: the results are whole', 1, true), r.text)
      assert.is_truthy(r.text:find('results in ' .. out, 1, true), r.text)
      assert.is_true(exists(out .. '/' .. case[3]), case[1])
      if case[3] ~= 'joint.json' then
        in_order(out)
        local x = mc.load(out .. '/' .. case[3])['posterior/D0']
        assert.equal(20, x.shape[2])
      end
    end
  end)

  it('between parts of a posterior ends it, and keeps the fit', function()
    local driver = folder .. '/shards.lua'
    assert(mc.file.write(driver, [[
      local ffi, host = require 'ffi', require 'mascon.host'
      ffi.cdef 'int getpid(void); int kill(int, int);'
      local sample = require('mascon').sample
      local own, calls = sample.nuts, 0
      sample.nuts = function(f, x, o)
        calls = calls + 1
        o.notify = function(state) -- one chain is whole, so that there are draws
          if calls == 1 and not host.signal() and state().chains == 1 then
            ffi.C.kill(ffi.C.getpid(), 15)
            repeat local seen = host.signal() until seen
          end
        end
        io.stderr:write('sampler ', calls, '\n')
        return own(f, x, o)
      end
      dofile 'scripts/xpcs.lua']]))
    local out = folder .. '/shards'
    local r = process.shell(('MASCON_PROGRESS=0 %s %s %s --static-mode --sigma 0.004 --quiet --no-arrays '
      .. '--method both --cmc-num-shards 2 --n-chains 2 --n-warmup 20 --n-samples 100 --output-dir %s'):format(
      script.program, driver, small, out))
    assert.equal(143, r.status, r.text)
    assert.is_nil(r.text:find('sampler 2', 1, true), r.text)
    assert.is_truthy(r.text:find('terminated before the first draws of the posterior: the fit is kept', 1, true),
      r.text)
    in_order(out)
  end)

  it('holds its output and its checkpoints: a second run is refused, and changes nothing', function()
    local out, points = folder .. '/one', folder .. '/one_points'
    local words = small .. ' --static-mode --sigma 0.004 --quiet --no-arrays --method cmc --n-chains 1 --n-warmup '
      .. '1000000 '
    local line = ('MASCON_PROGRESS=0 %s scripts/xpcs.lua %s %%s; echo "status $?"'):format(script.program, words)
    local same = line:format(('--overwrite --output-dir %s'):format(out))
    local beside = line:format(('--checkpoint-dir %s --output-dir %s/two'):format(points, folder))
    local text, status, other = stopped(words .. ('--checkpoint-dir %s --output-dir %s'):format(points, out),
      points .. '/xpcs_posterior.h5', 0, same .. '; ' .. beside)
    assert.equal(143, status, text)
    assert.is_truthy(text:find('the fit is kept', 1, true), text)
    local first, second = other:match '^(.-status %d+)(.*)$'
    assert.is_truthy(first:find('another run writes there', 1, true) and first:find('status 1', 1, true), other)
    assert.is_truthy(second:find('status 1', 1, true) and second:find(points, 1, true), other)
    assert.is_false(exists(folder .. '/two/manifest.json'))
    in_order(out)
    assert.is_true(exists(out .. '/nlsq/parameters.json'))
  end)
end)
