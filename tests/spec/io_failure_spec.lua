-- io_failure_spec.lua - wrong paths, writes that fail and what they leave, files that are broken or hostile.
--
-- Child processes are the program itself. What the machine does not allow (a small file system, a read-only directory
-- for root) shows as pending.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local file = require 'mascon.base.file'
local host = require 'mascon.host'
local files = support.load 'files'
local message = support.message
local at, write, read, listing = files.at, files.write, files.read, files.listing

before_each(files.begin)
after_each(files.finish)

local PROGRAM = os.getenv 'MASCON' or host.exe
local function run_child(code, before)
  local path = write('child.lua', code)
  local status = os.execute((before or '') .. "exec '" .. PROGRAM .. "' " .. path .. ' >/dev/null 2>&1')
  os.remove(path)
  return status
end

describe('the path', function()
  it('is checked: kind, existence, extension', function()
    assert.truthy(message(mc.load, 3):find('load: path is 3', 1, true))
    assert.truthy(message(mc.load, at 'none.npy'):find('none.npy: No such file', 1, true))
    assert.truthy(message(mc.open, at 'none.edf'):find('none.edf: No such file', 1, true))
    assert.truthy(message(mc.load, at 'x.nyp'):find('did you mean "npy"?', 1, true))
    assert.truthy(message(mc.load, at 'x'):find('has no extension', 1, true))
    assert.truthy(message(mc.load, 'a\0b.npy'):find('zero byte', 1, true))
    assert.truthy(message(mc.save, at 'x.edf', mc.zeros { 1 }):find('extension "edf"', 1, true))
    assert.truthy(message(mc.open, at 'x.npy', { mode = 'a' }):find('"r" to read or "w" to write', 1, true))
    assert.truthy(message(mc.load, at 'x.npy', 5):find('options are 5', 1, true))
    assert.truthy(message(mc.load, files.folder(), { format = 'npy' }):find('directory', 1, true))
  end)

  it('may lie about the format when the option tells it, whatever the case of the extension', function()
    mc.save(at 'x.dat', mc.arange(3), { format = 'npy' })
    assert.same({ 1, 2, 3 }, mc.load(at 'x.dat', { format = 'npy' }):totable())
    mc.save(at 'Y.NPY', mc.arange(3))
    assert.same({ 1, 2, 3 }, mc.load(at 'Y.NPY'):totable())
  end)

  it('blames the line of the script', function()
    assert.truthy(message(mc.load, at 'none.npy'):find '^%S*io_failure_spec%.lua:%d+: '
      or message(function() mc.load(at 'none.npy') end):find 'io_failure_spec%.lua:%d+: ')
  end)
end)

describe('mascon.base.file', function()
  it('writes, reads and replaces whole files', function()
    assert.is_true(file.write(at 'x', 'one'))
    assert.is_true(file.write(at 'x', 'two\0'))
    assert.equal('two\0', file.read(at 'x'))
    assert.equal('x', listing())
  end)

  it('returns nil and a message for facts of the world', function()
    local ok, msg = file.read(at 'none')
    assert.is_nil(ok)
    assert.truthy(msg:find('none: No such file', 1, true))
    ok, msg = file.read(files.folder())
    assert.is_nil(ok)
    assert.truthy(msg:find('directory', 1, true))
    ok, msg = file.write(at 'no/where', 'x')
    assert.is_nil(ok)
    assert.truthy(msg:find('create the directory first', 1, true))
    ok, msg = file.write('a\0b', 'x')
    assert.is_nil(ok)
    assert.truthy(msg:find('zero byte', 1, true))
    assert.error_matches(function() file.write(nil, 'x') end, 'file%.write: path is nil')
    assert.error_matches(function() file.write(at 'x', 5) end, 'file%.write: bytes is 5')
    assert.is_nil((file.create(at 'no/where')))
  end)

  it('writes in pieces, all or nothing', function()
    file.write(at 'x', 'old')
    local w = file.create(at 'x')
    for i = 1, 1000 do assert.is_true(w:append(('%04d'):format(i))) end
    assert.equal('old', file.read(at 'x'))
    assert.is_true(w:close())
    assert.equal(4000, #file.read(at 'x'))
    assert.is_nil((w:append 'more'))
    assert.is_nil((w:close()))
    w = file.create(at 'x')
    w:append 'new'
    w:abort()
    assert.equal(4000, #file.read(at 'x'))
    assert.equal('x', listing())
  end)
end)

describe('a write that fails', function()
  it('on a full device is an error with advice', function()
    local full = io.open('/dev/full', 'wb')
    if not full then
      pending 'this machine has no /dev/full'
      return
    end
    full:close()
    local ok, msg = file.write('/dev/full', 'x')
    assert.is_nil(ok)
    assert.truthy(msg:find('No space left', 1, true))
    assert.truthy(
      message(mc.save, '/dev/full', mc.zeros { 100000 }, { format = 'npy' }):find('free some space', 1, true))
    assert.truthy(message(mc.save, '/dev/full', mc.zeros { 3 }, { format = 'npy' }):find('free some space', 1, true))
    assert.truthy(message(mc.save, '/dev/full', mc.zeros { 30000, 2 },
      { format = 'csv' }):find('free some space', 1, true))
    assert.truthy(message(mc.save, '/dev/full', { a = mc.zeros { 3 } },
      { format = 'npz' }):find('a pipe or a device', 1, true))
  end)

  it('on a full file system leaves the old file and nothing else', function()
    if os.execute('mount -t tmpfs -o size=64k tmpfs ' .. files.folder() .. ' 2>/dev/null') ~= 0 then
      pending 'a small file system cannot be mounted here'
      return
    end
    local ok, e = pcall(function()
      mc.save(at 'x.npy', 7)
      mc.save(at 'x.npz', { a = mc.zeros { 1 } })
      assert.truthy(message(mc.save, at 'x.npy', mc.zeros { 20000 }):find('No space left', 1, true))
      assert.truthy(message(mc.save, at 'x.npz', { a = mc.zeros { 20000 } }):find('No space left', 1, true))
      assert.truthy(message(mc.save, at 'x.csv', mc.randn { 20000, seed = 1 }):find('No space left', 1, true))
      local s = mc.open(at 'x.npy', { mode = 'w', row = { 1000 } })
      assert.truthy(message(function()
        for _ = 1, 20 do s:append(mc.zeros { 1000 }) end
      end):find('No space left', 1, true))
      assert.truthy(message(s.append, s, mc.zeros { 1000 }):find('given up', 1, true))
      for _ = 1, 3 do collectgarbage() end
      assert.equal('x.npy\nx.npz', listing())
      assert.equal(7, mc.load(at 'x.npy'):item())
      assert.same({ 0 }, mc.load(at 'x.npz').a:totable())
    end)
    collectgarbage()
    os.execute('umount ' .. files.folder())
    assert(ok, e)
  end)

  it('in a directory that may not be written is an error that names the file', function()
    os.execute('chmod 555 ' .. files.folder())
    local path = at 'x.npy'
    if file.write(at 'probe', 'x') then -- root may write everywhere but there
      path = '/sys/kernel/x.npy'
      if not io.open '/sys/kernel' then return pending 'this user may write everywhere, and there is no /sys' end
    end
    local ok, m = pcall(mc.save, path, mc.zeros { 1 })
    os.execute('chmod 755 ' .. files.folder())
    if ok then
      os.remove(path)
      pending 'this user may write everywhere'
      return
    end
    assert.truthy(tostring(m):find('x.npy: ', 1, true))
    assert.truthy(tostring(m):find('choose a directory', 1, true))
  end)

  it('because the process is killed leaves the old file whole', function()
    mc.save(at 'x.npy', 7)
    local status = run_child(([[
      local mc = require 'mascon'
      local s = mc.open('%s', { mode = 'w' })
      for _ = 1, 50 do s:append(mc.zeros { 100, 100 }) end
      io.popen('kill -9 $PPID'):read '*a'
      s:close()]]):format(at 'x.npy'))
    assert.is_true(status ~= 0)
    assert.equal(7, mc.load(at 'x.npy'):item())
  end)

  it('because files may not grow leaves the old file whole', function()
    mc.save(at 'x.npy', 7)
    local status =
      run_child(("local mc = require 'mascon' mc.save('%s', mc.zeros { 100000 })"):format(at 'x.npy'), 'ulimit -f 64; ')
    assert.is_true(status ~= 0)
    assert.equal(7, mc.load(at 'x.npy'):item())
  end)

  it('writes through a link and keeps its permissions', function()
    mc.save(at 'x.npy', 1)
    os.execute('chmod 640 ' .. at 'x.npy' .. '; ln -s x.npy ' .. at 'link.npy')
    mc.save(at 'link.npy', 2)
    assert.equal(2, mc.load(at 'x.npy'):item())
    local p = io.popen('stat -c %a ' .. at 'x.npy')
    assert.equal('640', p:read '*l')
    p:close()
  end)
end)

describe('a broken file', function()
  it('may hold any bits as a NaN: in Lua it is a number', function()
    -- LuaJIT tells types by the bits of a NaN; these would be nil, a boolean, pointers
    local bits = { ('\255'):rep(8), ('\0'):rep(5) .. '\0\255\255', ('\0'):rep(6) .. '\254\255',
      ('\65'):rep(5) .. '\128\253\255', ('\0'):rep(6) .. '\248\127' }
    local text = ("{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }"):format(#bits)
    local path = write('nan.npy',
      '\147NUMPY\1\0' .. string.char(118, 0) .. text .. (' '):rep(117 - #text) .. '\n' .. table.concat(bits))
    local x = mc.load(path)
    local pairs_ = mc.concat { x, x }:reshape(-1, 2):totable()
    for i = 1, #bits do
      for _, v in ipairs { x[i]:item(), x:totable()[i], pairs_[i][1],
        (x[{ { i, i } }] + mc.complex(0, 0)):totable()[1].re } do
        assert.equal('number', type(v))
        assert.is_true(v ~= v)
      end
    end
    local small = mc.load(path):to { dtype = 'f32' }:totable()
    for i = 1, #bits do assert.equal('number', type(small[i])) end
  end)

  local function every_cut(name, value, opts)
    mc.save(at(name), value, opts)
    local bytes = read(at(name))
    for n = 0, #bytes - 1 do
      local path = write('cut-' .. name, bytes:sub(1, n))
      for _, f in ipairs { mc.load, mc.open } do
        local ok, e = pcall(f, path)
        assert.is_false(ok, n .. ' bytes of ' .. #bytes)
        assert.truthy(tostring(e):find(path, 1, true), tostring(e))
      end
    end
    return #bytes
  end

  it('npy cut at any byte is an error that names it', function()
    assert.equal(176, every_cut('x.npy', mc.arange(6):reshape { 2, 3 }))
  end)

  it('npz cut at any byte is an error that names it', function()
    assert.is_true(every_cut('x.npz', { a = mc.arange(3), b = mc.zeros { 2 } }) > 300)
    assert.is_true(every_cut('y.npz', { a = mc.arange(3) }, { level = 6 }) > 100)
  end)

  it('with any byte changed is read or refused, never a crash', function()
    mc.save(at 'x.npz', { a = mc.arange(3) })
    mc.save(at 'x.npy', mc.arange(3))
    for _, name in ipairs { 'x.npy', 'x.npz' } do
      local bytes = read(at(name))
      for i = 1, #bytes do
        for _, b in ipairs { 0, 255, 57, (bytes:byte(i) + 1) % 256 } do
          local ok, e =
            pcall(mc.load, write('y' .. name:sub(2), bytes:sub(1, i - 1) .. string.char(b) .. bytes:sub(i + 1)))
          assert.is_true(ok or type(e) == 'string')
        end
      end
    end
  end)

  it('of the corpus is read or refused with its name, never a crash', function()
    local count, refused = 0, 0
    for _, kind in ipairs { 'npy', 'npz', 'edf' } do
      local p = io.popen('ls ' .. support.folder .. '/fuzz/corpus/' .. kind)
      for name in p:lines() do
        local path = support.folder .. '/fuzz/corpus/' .. kind .. '/' .. name
        for _, f in ipairs { mc.load, mc.open } do
          local ok, e = pcall(f, path, { format = kind })
          if not ok then
            refused = refused + 1
            assert.truthy(tostring(e):find(name, 1, true), tostring(e))
          elseif f == mc.open and kind == 'npz' then
            for _, n in ipairs(e.names) do
              local fine, why = pcall(e.get, e, n, { verify = true })
              assert.is_true(fine or type(why) == 'string')
            end
          elseif f == mc.open and kind == 'edf' then
            assert.is_true(#e.annotations >= 0 and #e.gaps >= 0 and #e.segments >= 1)
            pcall(e.triggers, e, { channel = 1 })
            e:close()
          end
        end
        -- as another kind of file, too
        for _, other in ipairs { 'npy', 'npz', 'edf', 'csv', 'json' } do pcall(mc.load, path, { format = other }) end
        count = count + 1
      end
      p:close()
    end
    assert.is_true(count >= 43)
    assert.is_true(refused >= 20)
  end)
end)
