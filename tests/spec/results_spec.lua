-- results_spec.lua - mc.results, files of a result that appear together: after failures, kills at every step, two
-- writers at once.
local mc = require 'mascon'
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local process = support.load 'process'
local host = require 'mascon.host'

local dir
before_each(function() dir = process.folder() end)
after_each(function() process.remove(dir) end)

--- Names in the folder, hidden ones too.
local function all_names(path)
  local out = {}
  for _, n in ipairs(require 'mascon.host'.list(path or dir)) do out[#out + 1] = n end
  table.sort(out)
  return out
end

local function write(text, names)
  return mc.results.write(dir, mc.manifest.new {}, function(set)
    for _, n in ipairs(names or { 'a.txt', 'b.txt' }) do set:put(n, text .. n) end
  end)
end

describe('mc.results.together', function()
  local function together(text, fails)
    mc.results.together(dir, 'a.h5', function(folder)
      process.write(folder .. '/a.h5', text .. 'a')
      if fails then error(fails, 0) end
      process.write(folder .. '/a.html', text .. 'b')
    end)
  end
  local function read() return { process.read(dir .. '/a.h5'), process.read(dir .. '/a.html') } end

  it('moves files without a manifest, all or none, and leaves others', function()
    process.write(dir .. '/other.txt', 'mine')
    together '1'
    assert.same({ 'a.h5', 'a.html', 'other.txt' }, all_names())
    together '2'
    assert.same({ '2a', '2b' }, read())
    assert.equal('no room', select(2, pcall(together, '3', 'no room')))
    assert.same({ '2a', '2b' }, read())
    assert.same({ 'a.h5', 'a.html', 'other.txt' }, all_names())
    assert.is_false((pcall(mc.results.together, dir .. '/none', 'a.h5', function() end)))
  end)
end)

describe('mc.results.write', function()
  it('moves all files with the manifest and leaves nothing else', function()
    assert.same({ 'a.txt', 'b.txt', 'manifest.json' }, write '1')
    assert.same({ 'a.txt', 'b.txt', 'manifest.json' }, all_names())
    local record = mc.manifest.read(dir)
    assert.same({ {}, 2 }, { mc.manifest.files_apart(record, dir) })
    write '2'
    assert.equal('2a.txt', process.read(dir .. '/a.txt'))
    assert.same({ {}, 2 }, { mc.manifest.files_apart(mc.manifest.read(dir), dir) })
  end)

  it('removes files of the set before that are no part of the new one, but none that were edited or are of others',
    function()
      write('1', { 'a.txt', 'b.txt', 'c.txt' })
      process.write(dir .. '/b.txt', 'edited')
      process.write(dir .. '/mine', 'mine')
      write('2', { 'a.txt' })
      assert.same({ 'a.txt', 'b.txt', 'manifest.json', 'mine' }, all_names())
    end)

  it('keeps results that another process has put there since the folder was found free', function()
    for _, o in ipairs { { nil, 'manifest.json' }, { { 'values.npz' }, 'values.npz' } } do
      local names, other = o[1], o[2]
      mc.results.folder('--out', dir, { names = names })
      process.write(dir .. '/' .. other, 'other')
      local ok, why = pcall(write, '1')
      assert.is_false(ok)
      assert.truthy(why:find(other .. ' was written by another run meanwhile', 1, true), why)
      assert.same({ other }, all_names())
      assert.equal('other', process.read(dir .. '/' .. other))
      mc.results.folder('--out', dir, { names = names, overwrite = true })
      write '2'
      assert.equal('2a.txt', process.read(dir .. '/a.txt'))
      for _, n in ipairs { 'a.txt', 'b.txt', 'manifest.json', other } do os.remove(dir .. '/' .. n) end
    end
    mc.results.folder('--out', dir)
    write '1'
    write '2' -- the results there are ours
    assert.equal('2a.txt', process.read(dir .. '/a.txt'))
  end)

  it('leaves what was there when a step fails', function()
    write '1'
    local ok, why = pcall(mc.results.write, dir, mc.manifest.new {}, function(set)
      set:put('a.txt', '2')
      error('no more', 0)
    end)
    assert.is_false(ok)
    assert.equal('no more', why)
    assert.same({ 'a.txt', 'b.txt', 'manifest.json' }, all_names())
    assert.equal('1a.txt', process.read(dir .. '/a.txt'))
  end)

  it('says which folder stands where a file goes, before anything is moved', function()
    write '1'
    process.make(dir .. '/c.txt', '700')
    local ok, why = pcall(write, '2', { 'a.txt', 'c.txt' })
    assert.is_false(ok)
    assert.truthy(why:find('c.txt', 1, true), why)
    assert.equal('1a.txt', process.read(dir .. '/a.txt'))
    assert.truthy(mc.file.exists(dir .. '/manifest.json'))
  end)

  it('holds files in folders, which are merged with those that are there', function()
    write('1', { 'a.txt', 'fit/a.txt', 'fit/deep/b.txt', 'gone/c.txt' })
    process.write(dir .. '/fit/mine', 'mine')
    local names = write('2', { 'a.txt', 'fit/a.txt', 'fit/deep/b.txt' })
    assert.same({ 'a.txt', 'fit/a.txt', 'fit/deep/b.txt', 'manifest.json' }, names)
    assert.same({ 'a.txt', 'fit/', 'manifest.json' }, all_names()) -- the folder that is empty now is gone
    assert.same({ 'a.txt', 'deep/', 'mine' }, all_names(dir .. '/fit'))
    assert.equal('2fit/deep/b.txt', process.read(dir .. '/fit/deep/b.txt'))
    assert.same({ {}, 3 }, { mc.manifest.files_apart(mc.manifest.read(dir), dir) })
    process.write(dir .. '/fit/a.txt', 'edited')
    assert.same({ { { 'fit/a.txt', 'has changed' } }, 3 }, { mc.manifest.files_apart(mc.manifest.read(dir), dir) })
  end)

  it('says what stands in the place of a file or folder inside a folder, before anything is moved', function()
    write('1', { 'a.txt', 'fit/a.txt' })
    process.make(dir .. '/fit/b.txt', '700')
    for _, name in ipairs { 'fit/b.txt', 'a.txt/b' } do
      local ok, why = pcall(write, '2', { 'fit/a.txt', name })
      assert.is_false(ok)
      assert.truthy(why:find 'stands where this', why)
      assert.equal('1fit/a.txt', process.read(dir .. '/fit/a.txt'))
      assert.same({ 'a.txt', 'fit/', 'manifest.json' }, all_names())
    end
  end)

  it('refuses names that are none', function()
    for _, n in ipairs { '', '.hidden', 'a\nb', '/a', 'a/', 'a//b', '../a', 'a/../b', 'a/.b' } do
      assert.is_false(pcall(write, '1', { n }), n)
    end
    assert.is_false(pcall(write, '1', { 'a', 'a' }))
  end)

  it('keeps two writers of one folder apart: the last one publishes whole', function()
    mc.results.write(dir, mc.manifest.new {}, function(one)
      one:put('a.txt', 'one')
      mc.results.write(dir, mc.manifest.new {}, function(two)
        assert.not_equal(one.folder, two.folder)
        two:put('a.txt', 'two')
        two:put('t.txt', 'two')
      end)
      assert.equal('two', process.read(dir .. '/a.txt'))
      one:put('b.txt', 'one')
    end)
    assert.same({ 'a.txt', 'b.txt', 'manifest.json' }, all_names())
    assert.equal('one', process.read(dir .. '/a.txt'))
  end)
end)

local SCRIPT = [[
local mc = require 'mascon'
mc.results.write(DIR, mc.manifest.new {}, function(set)
  for _, n in ipairs { 'a.txt', 'b.txt', 'c.txt' } do set:put(n, 'new' .. n) end
  io.stdout:write(set.folder); io.stdout:flush()
  if WAIT then os.execute('kill -9 ' .. io.open '/proc/self/stat':read '*n') end
end)
]]
local function script(wait) return (SCRIPT:gsub('DIR', ('%q'):format(dir)):gsub('WAIT', tostring(wait))) end

describe('a process that is killed', function()
  it('leaves a folder that the next one removes, and the old set', function()
    write 'old'
    process.mascon(script(true))
    assert.equal(5, #all_names()) -- the folder of the new set, and the file of its claim
    assert.equal('olda.txt', process.read(dir .. '/a.txt'))
    write 'new'
    assert.same({ 'a.txt', 'b.txt', 'manifest.json' }, all_names())
  end)

  -- every state that a kill between two moves can leave, made by hand
  for moved = 0, 3 do
    it(('after %d files were moved leaves a set that the next reader completes'):format(moved), function()
      write('old', { 'a.txt', 'b.txt', 'old.txt' })
      local other = process.folder()
      mc.results.write(other, mc.manifest.new {}, function(set)
        for _, n in ipairs { 'a.txt', 'b.txt', 'c.txt', 'fit/d.txt' } do set:put(n, 'new' .. n) end
      end)
      local at = dir .. '/.mascon-publish'
      process.make(at .. '/fit', '755')
      process.write(at .. '/fit/d.txt', 'newfit/d.txt')
      for _, n in ipairs { 'a.txt', 'b.txt', 'c.txt', 'manifest.json' } do
        process.write(at .. '/' .. n, process.read(other .. '/' .. n))
      end
      process.remove(other)
      process.write(at .. '/.journal', 'manifest.json\nold.txt\n')
      for k = 1, moved do
        os.remove(dir .. '/manifest.json')
        local n = ({ 'a.txt', 'b.txt', 'c.txt' })[k]
        os.rename(at .. '/' .. n, dir .. '/' .. n)
      end
      local record = assert(mc.manifest.read(dir))
      assert.same({ {}, 4 }, { mc.manifest.files_apart(record, dir) })
      assert.same({ 'a.txt', 'b.txt', 'c.txt', 'fit/', 'manifest.json' }, all_names())
    end)
  end
end)

-- a run that has claimed its output and waits for a line, which may never come
local CLAIM = [[
local mc = require 'mascon'
%s
io.stdout:write('claimed\n'); io.stdout:flush()
io.open(%q):read '*l'
]]

describe('an output that a run has claimed', function()
  local WAYS = {
    { 'a folder', "mc.results.folder('--out', DIR, { overwrite = true })" },
    { 'a file', "mc.results.claim('--output', DIR .. '/a.npz')" },
    { 'the folder of a trainer', [[
      local set = mc.nn.data.tensors { x = mc.ones { 8, 1, dtype = 'f32' }, y = mc.ones { 8, 1, dtype = 'f32' } }
      mc.nn.Trainer(mc.nn.Linear(1, 1), { train = mc.nn.data.loader(set, { batch = 4 }), epochs = 1, progress = false,
        folder = DIR, overwrite = true, optimizer = mc.optim.sgd(),
        loss = function(m, b) return mc.nn.mse_loss(m(b.x), b.y) end })]] },
  }
  for _, way in ipairs(WAYS) do
    it(('is refused to the next at once, and free when the first was killed: %s'):format(way[1]), function()
      local code = way[2]:gsub('DIR', ('%q'):format(dir))
      local pipe = dir .. '/pipe'
      assert.equal(0, process.shell('mkfifo ' .. pipe).status)
      process.write(dir .. '/s.lua', CLAIM:format(code, pipe))
      local first = assert(io.popen(('%s %s & echo $!; wait'):format(host.exe, dir .. '/s.lua')))
      local pid = first:read '*l'
      assert.equal('claimed', first:read '*l')
      local second = process.mascon("local mc = require 'mascon' " .. code)
      process.shell('kill -9 ' .. pid)
      first:close()
      assert.equal(1, second.status, second.text)
      assert.truthy(second.text:find('another run writes there: ', 1, true), second.text)
      assert.truthy(second.text:find('is held by process ' .. pid .. ' ', 1, true), second.text)
      assert.truthy(second.text:find('; wait for it, or choose another output', 1, true), second.text)
      local third = process.mascon("local mc = require 'mascon' " .. code)
      assert.equal(0, third.status, third.text)
      for _, n in ipairs(all_names()) do assert.is_nil(n:find '%.lock$') end
    end)
  end

  it('is shared by the claims of one process, under every name, until the last is freed', function()
    local one, two = mc.results.claim('--out', dir), mc.results.claim('--out', dir .. '/.')
    one:free()
    one:free()
    assert.same({ '.mascon.lock' }, all_names())
    two:free()
    assert.same({}, all_names())
    local kept = mc.results.claim('--out', dir)
    process.remove(dir)
    process.make(dir, '700')
    local fresh = mc.results.claim('--out', dir) -- another folder of the same name
    kept:free()
    assert.same({ '.mascon.lock' }, all_names())
    fresh:free()
    assert.same({}, all_names())
  end)
end)

describe('mascon rerun', function()
  it('checks the folder against its own manifest', function()
    process.write(dir .. '/s.lua', [[
      local mc = require 'mascon'
      local out = arg[2]
      mc.results.write(out, mc.manifest.new { options = {} }, function(set)
        set:put('a.txt', 'same')
        set:put('b.txt', 'same')
      end)]])
    assert.equal(0, process.run({}, dir .. '/s.lua', '--out', dir .. '/r').status)
    local r = process.run({}, 'rerun', dir .. '/r')
    assert.equal(0, r.status, r.text)
    process.write(dir .. '/r/a.txt', 'other')
    os.remove(dir .. '/r/b.txt')
    r = process.run({}, 'rerun', dir .. '/r')
    assert.equal(1, r.status, r.text)
    assert.truthy(r.text:find 'a.txt has changed' and r.text:find 'b.txt is missing', r.text)
  end)
end)
