-- manifest_spec.lua - the record beside a result, and the verbs plan, rerun and why that read it.
--
-- Verbs are run as a user runs them: the program as a child, its output and exit status read.
local mc = require 'mascon'
local manifest = require 'mascon.report.manifest'
local host = require 'mascon.host'

local PROGRAM = os.getenv 'MASCON' or host.exe
local folder

local function quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

local function write(name, text)
  local f = assert(io.open(folder .. '/' .. name, 'wb'))
  f:write(text)
  f:close()
  return folder .. '/' .. name
end

local function shell(command)
  local pipe = io.popen('cd ' .. quote(folder) .. ' && { ' .. command .. '; } 2>&1; echo "<$?>"')
  local text = pipe:read '*a'
  pipe:close()
  local out, status = text:match '^(.*)<(%d+)>\n$'
  return out, tonumber(status)
end

local function mascon(args) return shell(quote(PROGRAM) .. ' ' .. args) end

-- a script like a workflow's: options, an input, two stages, a result and its manifest
local SCRIPT = [[
local mc = require 'mascon'
local manifest = require 'mascon.report.manifest'
local out, scale, input = 'result', 1, 'input.npy'
for i = 1, #arg do
  if arg[i] == '--out' then out = arg[i + 1] elseif arg[i] == '--scale' then scale = tonumber(arg[i + 1]) end
end
if manifest.planning() then
  print 'this would take 1 s and 8 MiB'
  return
end
os.execute("mkdir -p '" .. out .. "'")
mc.seed(5)
local m = manifest.new { options = { scale = scale, out = out }, inputs = { input } }
local x = m:stage('load', mc.load(input))
local y = m:stage('scale', x * scale + mc.randn({ 4 }) * 0)
mc.save(out .. '/y.npz', { y = y, x = x })
m:output(out .. '/y.npz')
m:write(out)
]]

before_each(function()
  folder = os.tmpname()
  os.remove(folder)
  assert(os.execute('mkdir ' .. quote(folder)) == 0)
  folder = io.popen('cd ' .. quote(folder) .. ' && pwd -P'):read '*l'
end)
after_each(function() os.execute('rm -rf ' .. quote(folder)) end)

describe('manifest.hash', function()
  it('depends on elements, shape and dtype and not on the layout', function()
    local x = mc.arange(1, 12):reshape { 3, 4 }
    assert.equal(manifest.hash(x.T), manifest.hash(x.T:contiguous()))
    assert.are_not.equal(manifest.hash(x), manifest.hash(x:reshape { 4, 3 }))
    assert.are_not.equal(manifest.hash(x), manifest.hash(x:to 'f32'))
    assert.are_not.equal(manifest.hash(x), manifest.hash(x + 1))
  end)

  it('is the same for a table whatever the order of its keys', function()
    local a, b = {}, {}
    for i = 1, 20 do a['k' .. i] = i end
    for i = 20, 1, -1 do b['k' .. i] = i end
    assert.equal(manifest.hash(a), manifest.hash(b))
    b.k7 = 7.5
    assert.are_not.equal(manifest.hash(a), manifest.hash(b))
  end)

  it('keeps the kinds of values apart', function()
    local seen = {}
    for _, v in ipairs { 1, '1', true, { 1 }, { '1' }, { a = 1 }, mc.tensor(1), mc.tensor { 1 }, 0 / 0, math.huge } do
      local h = manifest.hash(v)
      assert.is_nil(seen[h])
      assert.equal(64, #h)
      seen[h] = true
    end
  end)

  it('refuses functions and tables that contain themselves', function()
    local t = {}
    t.t = t
    assert.error_matches(function() manifest.hash(t) end, 'manifest%.hash: value%.t contains itself')
    assert.error_matches(function() manifest.hash { f = print } end, 'manifest%.hash: value%.f is a function')
  end)

  it('of a file is that of its bytes', function()
    assert.equal('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
      manifest.hash_file(write('abc', 'abc')))
    local hash, why = manifest.hash_file(folder .. '/nothing')
    assert.is_nil(hash)
    assert.matches('nothing: No such file', why)
  end)
end)

describe('manifest.new', function()
  it('records machine, versions, options, inputs, stages and outputs', function()
    local input = write('input.bin', 'abc')
    local m = manifest.new { script = write('script.lua', 'x = 1'), args = { '--a', 'b' },
      options = { order = 4, band = { 2, 30 } }, inputs = { input }, seed = 9 }
    assert.equal(3, m:stage('three', 3))
    m:stage('tensor', mc.zeros { 2 })
    m:output(write('map.csv', '1,2\n'))
    m:output(write('report.html', tostring(os.time())), { compare = false })
    local path = m:write(folder)
    assert.equal(folder .. '/manifest.json', path)
    local r = assert(manifest.read(folder))
    assert.equal(mc.version, r.mascon)
    assert.same({ '--a', 'b' }, r.args)
    assert.same({ order = 4, band = { 2, 30 } }, r.options)
    assert.equal(9, r.seed)
    assert.equal('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad', r.inputs[1].sha256)
    assert.equal('three', r.stages[1].name)
    assert.equal(manifest.hash(3), r.stages[1].sha256)
    assert.equal('map.csv', r.outputs[1].name)
    assert.equal(false, r.outputs[2].compare)
    assert.matches('^v[234]$', r.facts.isa)
    assert.is_true(r.facts.threads >= 1)
    for _, name in ipairs { 'processor', 'fft', 'blas', 'zlib', 'library' } do assert.is_string(r.facts[name]) end
    assert.is_true(r.seconds >= 0)
  end)

  it('names the input that is missing and the option that is unknown', function()
    assert.error_matches(function() manifest.new { inputs = { folder .. '/gone.npy' } } end,
      'manifest%.new: input 1: .*gone%.npy: No such file')
    assert.error_matches(function() manifest.new { input = {} } end, 'did you mean "inputs"')
  end)

  it('hashes an input when the first stage is noted, as it was at the beginning', function()
    local input, other = write('input.bin', 'abc'), write('other.bin', 'xyz')
    local m = manifest.new { inputs = { input, other } }
    assert.is_nil(m.record.inputs[1].sha256)
    assert(os.rename(write('new.bin', 'def'), input))
    local f = assert(io.open(other, 'ab'))
    f:write 'w'
    f:close()
    m:stage('a', 1)
    assert.equal('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad', m.record.inputs[1].sha256)
    assert.is_nil(m.record.inputs[1].changed)
    assert.is_true(m.record.inputs[2].changed)
    assert.error_matches(function() manifest.new { inputs = { folder } } end, 'input 1: .*Is a directory')
  end)

  it('shows how far the hash of a large input is, when no refusal came before', function()
    assert(os.execute('truncate -s 260M ' .. quote(folder) .. '/large.bin') == 0)
    local script = write('hash.lua', [=[
      local mc = require 'mascon'
      local m = mc.manifest.new { inputs = { 'large.bin' } }
      if arg[1] == 'refuse' then error('no memory', 0) end
      m:stage('a', 1)
    ]=])
    local out = mascon(script .. ' refuse')
    assert.is_nil(out:find('hash', 1, true) and out:find('%', 1, true), out)
    assert.matches('hash: %d+%%, ', (mascon(script .. ' take')))
  end)

  it('refuses a stage name used twice', function()
    local m = manifest.new {}
    m:stage('a', 1)
    assert.error_matches(function() m:stage('a', 2) end, '"a" is noted already')
  end)
end)

describe('manifest.read', function()
  it('says what is wrong with a file that is no manifest', function()
    local none, why = manifest.read(folder)
    assert.is_nil(none)
    assert.matches('No such file', why)
    for _, text in ipairs { '', '[1', '3', '{"format": 2}',
      '{"format":1,"facts":{},"outputs":[],"stages":[{"name":1}]}' } do
      write('manifest.json', text)
      none, why = manifest.read(folder)
      assert.is_nil(none)
      assert.matches('is no manifest', why)
    end
  end)
end)

describe('the verbs', function()
  before_each(function()
    write('script.lua', SCRIPT)
    mc.save(folder .. '/input.npy', mc.tensor { 1, 2, 3, 4 })
    assert.equal(0, select(2, mascon 'script.lua --scale 2'))
  end)

  it('plan prints what a workflow says and does not run it', function()
    os.execute('rm -rf ' .. quote(folder) .. '/result')
    local out, status = mascon 'plan script.lua'
    assert.equal('this would take 1 s and 8 MiB\n', out)
    assert.equal(0, status)
    assert.is_nil(io.open(folder .. '/result/manifest.json'))
  end)

  it('plan says so when nothing in the script knows plan mode', function()
    write('plain.lua', 'print(1)')
    local out, status = mascon 'plan plain.lua'
    assert.matches('nothing in plain%.lua knows plan mode', out)
    assert.equal(1, status)
    assert.equal(2, select(2, mascon 'plan'))
  end)

  it('rerun repeats a result to the bit', function()
    local out, status = mascon 'rerun result --out again'
    assert.matches('identical: 2 stages and 1 file agree', out)
    assert.equal(0, status)
    assert.equal(2, manifest.read(folder .. '/again').options.scale)
  end)

  it('rerun replaces the folder of the results by the option that named it', function()
    local text = "for i = 1, #arg do assert(arg[i] ~= '--out', 'two folders') end\n" .. SCRIPT
    write('script.lua', (text:gsub("if arg%[i%] == '%-%-out' then out = arg%[i %+ 1%]",
      "if arg[i]:find '^%%-%%-output%%-dir' then out = arg[i]:match '=(.*)' or arg[i + 1]")))
    for i, line in ipairs { '--output-dir first1 --scale 2', '--scale 2 --output-dir=first2' } do
      assert.equal(0, select(2, mascon('script.lua ' .. line)))
      local out, status = mascon('rerun first' .. i .. ' --out second' .. i)
      assert.matches('identical: 2 stages and 1 file agree', out)
      assert.equal(0, status, out)
      assert.is_table(manifest.read(folder .. '/second' .. i))
    end
  end)

  it('rerun takes the device that MASCON_DEVICE named then, which the record tells', function()
    write('script.lua', (SCRIPT:gsub("m:stage%('scale', x", "m:stage('scale', x:to 'auto':to 'cpu'")))
    for at, other in pairs { ['ref:0'] = 'MASCON_DEVICE=cpu', [false] = 'MASCON_DEVICE=ref:0' } do
      local set = at and 'MASCON_DEVICE=' .. at or 'unset MASCON_DEVICE;'
      local out, status = shell(set .. ' ' .. quote(PROGRAM) .. ' script.lua --scale 2')
      assert.equal(0, status, out)
      local facts = manifest.read(folder .. '/result').facts
      assert.equal(at or nil, facts.device)
      if at then assert.is_string(facts.devices[at]) else assert.is_nil((facts.devices or {})['ref:0']) end
      out, status = shell(other .. ' ' .. quote(PROGRAM) .. ' rerun result --out again --overwrite')
      assert.equal(0, status, out)
      assert.is_nil(out:find('facts.device', 1, true), out)
      assert.same(facts.devices, manifest.read(folder .. '/again').facts.devices)
    end
  end)

  it('rerun says which input changed and which stage differs', function()
    mc.save(folder .. '/input.npy', mc.tensor { 1, 2, 3, 5 })
    local out, status = mascon 'rerun result'
    assert.matches('input .*input%.npy has changed', out)
    assert.matches('stage "load" differs %(0 stages before it agree%)', out)
    assert.equal(1, status)
    assert.is_table(manifest.read(folder .. '/result-rerun'))
    assert.is_table(manifest.read(folder .. '/result'))
  end)

  it('rerun refuses what it cannot repeat', function()
    os.remove(folder .. '/input.npy')
    local out, status = mascon 'rerun result'
    assert.matches('the input .*input%.npy is not there', out)
    assert.equal(1, status)
    assert.matches('No such file', (mascon 'rerun nowhere'))
    assert.equal(2, select(2, mascon 'rerun'))
    assert.matches("unknown option '%-%-dir'", (mascon 'rerun result --dir x'))
    write('input.npy', 'x')
    os.remove(folder .. '/script.lua')
    assert.matches('the script .*script%.lua is not there', (mascon 'rerun result'))
  end)

  it('why names the facts, the stage and the arrays that differ', function()
    assert.equal(0, select(2, mascon 'script.lua --scale 2.5 --out other'))
    local out, status = mascon 'why result other'
    assert.equal(1, status)
    assert.matches('options%.scale: 2 | 2%.5', out)
    assert.matches('first stage in which they part: scale %(differs; 1 stage before it agrees%)', out)
    assert.matches('y: largest difference 2', out)
    assert.is_nil(out:match '\n  x:')
  end)

  it('why says that equal results agree', function()
    local out, status = mascon 'why result result/manifest.json'
    assert.matches('the results agree: 2 stages and 1 file have the same hash', out)
    assert.equal(0, status)
    assert.equal(2, select(2, mascon 'why result'))
  end)
end)
