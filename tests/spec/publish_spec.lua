-- publish_spec.lua - results whose writer is killed before any one of its steps: each reader sees all of the old set or
-- all of the new one, and nothing else stays.
--
-- A small library loaded before the others kills the writer (tests/support/step.c); it is built here, which takes a C
-- compiler.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local process = support.load 'process'
local host = require 'mascon.host'
local mc = require 'mascon'

local at = process.folder()
teardown(function() process.remove(at) end)
local library = at .. '/step.so'
local has_compiler = process.shell(('cc -shared -fPIC -O1 -o %s %s/support/step.c -ldl'):format(library,
  support.folder)).status == 0
before_each(function()
  if not has_compiler then pending 'there is no C compiler' end
end)

--- Runs a line of the program with a kill before step n; 0 counts them.
local function stepped(n, line)
  return process.shell(('env MASCON_PROGRESS=0 MASCON_TEST_STEP=%d LD_PRELOAD=%s %s %s'):format(n, library, host.exe,
    line))
end

--- Names in a folder and those below it, but for the lock of a claim.
local function names_in(dir, prefix)
  local out = {}
  for _, name in ipairs(mc.file.names(dir)) do
    if name:find '/$' then
      local inside = names_in(dir .. '/' .. name:sub(1, -2), (prefix or '') .. name)
      for _, inner in ipairs(inside) do out[#out + 1] = inner end
    elseif name ~= '.mascon.lock' then out[#out + 1] = (prefix or '') .. name end
  end
  return out
end

describe('results of a run that is killed before a step of its publication', function()
  local dir, script = at .. '/r', at .. '/w.lua'
  process.write(script, [[
    local mc = require 'mascon'
    mc.results.write(arg[1], mc.manifest.new {}, function(set)
      for i = 3, #arg do mc.save(set:path(arg[i]), { word = arg[2] }) end
    end)]])
  local OLD, NEW = 'old a.json fit/b.json fit/gone.json away/c.json', 'new a.json fit/b.json fit/d.json more/e.json'
  local function list(line)
    local out = { 'manifest.json' }
    for name in line:gmatch '%S+%.json' do out[#out + 1] = name end
    table.sort(out)
    return out
  end
  local function fresh()
    process.remove(dir)
    mc.results.write(dir, mc.manifest.new {}, function(set)
      for name in OLD:gmatch '%S+%.json' do mc.save(set:path(name), { word = 'old' }) end
    end)
  end

  -- each takes the folder and gives 'old' or 'new': it may be the first to look
  local READERS = {
    manifest = function() return assert(mc.manifest.read(dir)).outputs[1] and mc.load(dir .. '/a.json').word end,
    top = function() return mc.load(dir .. '/a.json').word end,
    inner = function() return mc.load(dir .. '/fit/b.json').word end,
    relative = function()
      local r = process.shell(("cd %s/fit && %s -e 'print(require(\"mascon\").load(\"b.json\").word)'"):format(dir,
        host.exe))
      return r.text:match '%a+'
    end,
    open = function() -- a file that mc.open takes lies beside
      return (pcall(mc.open, dir .. '/x.npy')) or mc.json.decode(process.read(dir .. '/a.json')).word
    end,
  }
  local ORDER = { 'manifest', 'top', 'inner', 'relative', 'open' }
  for shift = 0, 1 do
    it(('are whole for readers %d'):format(shift + 1), function()
      fresh()
      process.write(dir .. '/x.npy', 'no array')
      local count = tonumber(stepped(0, ('%s %s %s'):format(script, dir, NEW)).text:match 'calls:(%d+)')
      assert.is_true(count > 20, count)
      local seen = { old = 0, new = 0 }
      for n = 1 + shift, count, 2 do
        fresh()
        process.write(dir .. '/x.npy', 'no array')
        assert.equal(137, stepped(n, ('%s %s %s'):format(script, dir, NEW)).status, n)
        local word = READERS[ORDER[(n + 2 * shift) % #ORDER + 1]]()
        assert.is_true(word == 'old' or word == 'new', ('step %d: %s'):format(n, tostring(word)))
        seen[word] = seen[word] + 1
        local want = word == 'old' and list(OLD) or list(NEW)
        want[#want + 1] = 'x.npy'
        local there, left = {}, 0
        for _, found in ipairs(names_in(dir)) do
          if found:find '^%.mascon%-%w%w%w%w%w%w%w%w/' then left = left + 1 else there[#there + 1] = found end
        end
        table.sort(there)
        assert.same(want, there, ('step %d'):format(n))
        assert.is_true(word == 'old' or left == 0) -- a set that was not whole waits for the next run, which removes it
        for _, file in ipairs(want) do
          if file ~= 'manifest.json' and file ~= 'x.npy' then
            assert.equal(word, mc.json.decode(process.read(dir .. '/' .. file)).word, ('step %d: %s'):format(n, file))
          end
        end
        assert.same({}, (mc.manifest.files_apart(mc.manifest.read(dir), dir)))
      end
      assert.is_true(seen.old > 5 and seen.new > 5, ('%d old, %d new'):format(seen.old, seen.new))
      assert.equal(0, process.shell(('%s %s %s %s'):format(host.exe, script, dir, NEW)).status)
      local want = list(NEW)
      want[#want + 1] = 'x.npy'
      assert.same(want, names_in(dir))
    end)
  end

  it('are refused by name where they cannot be completed', function()
    fresh()
    process.make(dir .. '/.mascon-publish', '755')
    process.write(dir .. '/.mascon-publish/a.json', '{"word": "new"}')
    process.write(dir .. '/.mascon-publish/.journal', 'manifest.json\n')
    os.remove(dir .. '/a.json')
    process.make(dir .. '/a.json', '755')
    process.write(dir .. '/a.json/x', '')
    local ok, why = pcall(mc.load, dir .. '/fit/b.json')
    assert.is_false(ok)
    assert.is_truthy(why:find(('load: results: the run that wrote to %s was killed while it replaced the results '
      .. 'there, and they cannot be completed ('):format(dir), 1, true), why)
    local record, reason = mc.manifest.read(dir)
    assert.is_nil(record)
    assert.is_truthy(reason:find('was killed while', 1, true), reason)
    process.shell('rm -r ' .. dir .. '/a.json')
    assert.equal('new', mc.load(dir .. '/a.json').word)
  end)
end)

describe('scripts/xpcs.lua that is killed before a step of its publication', function()
  it('leaves a whole fit to --nlsq-result and the next run', function()
    local data, out = at .. '/x.npz', at .. '/fit'
    local s = mc.xpcs.simulate { n = 20, q = 0.01, dt = 0.5, phi = { 0, 60 }, physics = { 2200, -0.35, 300 },
      sigma = 0.004, seed = 2 }
    mc.save(data, { c2_exp = s.c2, phi_angles_list = mc.tensor(s.phi), t1 = s.t, q = mc.tensor(s.q) })
    local line = ('scripts/xpcs.lua %s --static-mode --sigma 0.004 --quiet --overwrite --output-dir %s'):format(data,
      out)
    assert.equal(0, process.shell(('MASCON_PROGRESS=0 %s %s'):format(host.exe, line)).status)
    local count = tonumber(stepped(0, line).text:match 'calls:(%d+)')
    assert.is_true(count > 30)
    -- every step of a publication is met above; here each fifth, and at random moments in tests/soak/kills.lua
    for n = 1, count, 5 do
      local r = stepped(n, line)
      assert.equal(137, r.status, r.text)
      if n % 2 == 0 then mc.xpcs.run.values_of(out) else mc.xpcs.run.values_of(out .. '/nlsq') end
      local record = assert(mc.manifest.read(out))
      assert.same({}, (mc.manifest.files_apart(record, out)), n)
      assert.is_nil(process.shell('ls -A ' .. out).text:find('mascon-publish', 1, true))
    end
    local r = process.shell(('MASCON_PROGRESS=0 %s %s'):format(host.exe, line))
    assert.equal(0, r.status, r.text)
    assert.is_nil(process.shell('ls -A ' .. out).text:find('.mascon', 1, true))
  end)
end)

describe('a figure whose program is ended while another process draws it', function()
  it('leaves nothing in its folder', function()
    if not require('mascon.core.ffi').svg_to_png then pending 'librsvg is not installed' end
    local halt, dir = at .. '/halt.so', at .. '/figures'
    local built = process.shell(('cc -shared -fPIC -O1 -o %s %s/support/halt.c -ldl'):format(halt, support.folder))
    assert.equal(0, built.status, built.text)
    local r = process.shell(([[
      mkdir -p %s %s/tmp
      export TMPDIR=%s/tmp MASCON_TEST_HALT=.png LD_PRELOAD=%s
      timeout -s KILL 60 %s -e 'require "mascon".plot.line({ 1, 2 }):save "%s/a.png"' 2>&1 & pid=$!
      while kill -0 $pid && [ -z "$(ls %s/*.tmp %s/tmp/*/*.png.*.tmp 2>/dev/null)" ]; do sleep 0.01; done
      kill $pid; wait $pid; echo $?]]):format(dir, at, at, halt, host.exe, dir, dir, at))
    assert.is_truthy(r.text:find '143', r.text)
    assert.same({}, mc.file.names(dir))
    assert.same({}, mc.file.names(at .. '/tmp'))
  end)
end)

describe('mc.results.recover', function()
  it('takes a name alone', function()
    for _, bad in ipairs { false, 3, {} } do
      local ok, why = pcall(mc.results.recover, bad or nil)
      assert.is_false(ok)
      assert.is_truthy(why:find('results.recover: dir is', 1, true), why)
    end
  end)
end)

describe('a folder that results go to', function()
  it('is tried without a file that a kill could leave', function()
    local r = process.shell(('env MASCON_TEST_STEP=0 LD_PRELOAD=%s %s -e %s'):format(library, host.exe,
      process.quote(('local mc = require "mascon" assert(mc.file.make_folder("%s/deep/er")) assert(not '
        .. 'mc.file.make_folder("/proc/self"))'):format(at))))
    assert.equal(0, r.status, r.text)
    assert.same({}, mc.file.names(at .. '/deep/er'))
  end)
end)
