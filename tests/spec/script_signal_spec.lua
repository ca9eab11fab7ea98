-- script_signal_spec.lua - scripts that get SIGTERM at any moment of a run: one line and the status, results
-- whole or not at all.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local script, process = support.load 'script', support.load 'process'
local host = require 'mascon.host'
local mc = require 'mascon'

local MOMENTS = 12

--- Runs a script and sends a signal after so many seconds: both outputs apart, status, seconds.
local function stopped(folder, words, signal, seconds)
  local began = host.clock()
  local r = process.shell(([[
    export MASCON_PROGRESS=0
    : >%s/out; : >%s/err # a child that dies before it opens them leaves those of the run before
    %s scripts/%s >%s/out 2>%s/err & pid=$!
    sleep %g; kill -%s $pid 2>/dev/null; wait $pid]]):format(folder, folder, script.program, words, folder, folder,
    seconds, signal))
  return script.read(folder .. '/out'), script.read(folder .. '/err'), r.status, host.clock() - began
end

--- The same at moments spread over a whole run. One that comes before the program has begun is the system's to answer.
local function at_any_moment(folder, words)
  process.shell('mkdir -p ' .. folder)
  local _, wrong, good, seconds = stopped(folder, words, 'CONT', 0)
  assert.equal(0, good, wrong)
  local count = 0
  for k = 0, MOMENTS - 1 do
    process.shell(('rm -rf %s/results'):format(folder))
    local out, err, status = stopped(folder, words, 'TERM', seconds * (k + 0.5) / MOMENTS)
    if status ~= 0 then
      count = count + 1
      assert.equal(143, status, err)
      err = err:gsub('xpcs: it had come to a cost of [^\n]*\n', '') -- what the fit says besides
      if err == '' then assert.equal('', out) else assert.is_truthy(err:find '^[^\n]*terminated[^\n]*\n$', err) end
    end
    local record = mc.manifest.read(folder .. '/results')
    if record then assert.same({}, (mc.manifest.files_apart(record, folder .. '/results'))) end
    for _, name in ipairs(host.list(folder .. '/results') or {}) do
      assert.is_nil(name:find '^%.mascon', name)
      assert.is_true(record ~= nil or name == 'experimental_data.svg' or name:find '^simulated' ~= nil, name)
    end
  end
  assert.is_true(count > 0)
end

describe('a script that gets a signal at any moment ends in one line', function()
  local folder
  setup(function()
    folder = process.folder()
    local s = mc.xpcs.simulate { n = 60, q = 0.01, dt = 0.25, phi = { -60, 0, 75 }, sigma = 0.004, seed = 3,
      physics = { 5000, 0.3, 900 } }
    mc.save(folder .. '/x.npz', { c2_exp = s.c2, phi_angles_list = mc.tensor(s.phi), t1 = s.t, q = mc.tensor(s.q) })
    mc.save(folder .. '/x.npy', mc.randn({ 1, 2000 }, { seed = 1 }))
  end)
  teardown(function() process.remove(folder) end)

  local LINES = {
    plot = 'xpcs.lua plot DIR/x.npz --output-dir DIR/plot/results',
    simulate = 'xpcs.lua simulate --frames 60 --output-dir DIR/simulate/results',
    fit = 'xpcs.lua DIR/x.npz --static-mode --output-dir DIR/fit/results',
    pac = 'pac.lua DIR/x.npy --fs 500 --pha-bands 4 --amp-bands 4 --out DIR/pac/results',
  }
  for name, line in pairs(LINES) do
    it(name, function() at_any_moment(folder .. '/' .. name, (line:gsub('DIR', folder))) end)
  end
end)

describe('the private folder of results', function()
  it('goes when its process ends, whoever knows of it', function()
    local at = process.folder()
    local r = process.mascon(([[
local C = require 'mascon.core.ffi'.C
set = C.mc_file_set_new '%s'
local f = io.open(require 'ffi'.string(C.mc_file_set_folder(set)) .. '/part', 'w')
f:close()
os.execute "ls -A '%s' | cut -c1-8"
os.exit(143)]]):format(at, at))
    assert.equal('.mascon-\n', r.text)
    assert.equal('', process.shell(('ls -A %s'):format(at)).text)
    process.remove(at)
  end)
end)

describe('the lock of an output', function()
  it('goes when its process ends, whoever knows of it', function()
    local at = process.folder()
    local r = process.mascon(("local l = require('mascon').file.lock '%s/a' os.execute 'ls -A %s' os.exit(143)")
      :format(at, at))
    assert.equal('a.lock\n', r.text)
    assert.same({}, process.list(at))
    process.remove(at)
  end)
end)
