-- hdf5_apart_spec.lua - HDF5 files of others are read by a process of their own: its end is an error in words.
local mc = require 'mascon'
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local process, recordings = support.load 'process', support.load 'recordings'
local host = require 'mascon.host'

local folder = process.folder()
local function at(name) return folder .. '/' .. name end
teardown(function() process.remove(folder) end)

--- A script run by another process, which wrote none of the files.
local function run(code, how)
  process.write(at 'try.lua', 'local mc = require "mascon"; ' .. code)
  return process.shell(("MASCON_HDF5=%s timeout -s KILL 40 '%s' '%s'"):format(how or '', host.exe, at 'try.lua'))
end

local values = {
  a = mc.randn { 40, 3000, seed = 3 }, deep = { b = mc.arange(1, 7):to 'i16', s = { 'x', '', 'long text' } },
  unit = 'uV', n = 4, z = mc.ones { 2, 0, 3 },
}
mc.save(at 'plain.h5', values, { attributes = { a = { k = 2, list = mc.arange(1, 3) } } })
mc.save(at 'packed.h5', values, { level = 3 })

local function needs_procps()
  if process.shell('command -v pgrep pkill').status ~= 0 then pending 'pgrep and pkill are not there' end
end

describe('a file of others', function()
  it('is read in another process, to the same bits', function()
    needs_procps()
    for _, name in ipairs { 'plain.h5', 'packed.h5' } do
      local code = ([[local p = %q
        local f = mc.open(p)
        local d = f:dataset 'a'
        local x, y = d:read(), d:read { { 3, 39, 4 }, { 7, 2990, 11 } }
        local t = mc.load(p)
        print(mc.array_equal(x, t.a), t.deep.s[3], t.n, t.unit, t.z.shape[2], table.concat(f.names, ','), x:sum(),
          y:sum(), d.attributes.k)
        local n = 0
        for _ in io.popen('pgrep -P $PPID -f [r]ead-hdf5'):lines() do n = n + 1 end
        print(n)]]):format(at(name))
      local here, there = run(code, 'inprocess'), run(code)
      assert.equal(0, there.status, there.text)
      assert.equal(here.text:match '^[^\n]*', there.text:match '^[^\n]*')
      assert.equal('0', here.text:match '(%d+)\n$')
      assert.equal('1', there.text:match '(%d+)\n$')
    end
  end)

  it('is read here where the caller knows its bytes', function()
    needs_procps()
    local r = run(([[require 'mascon.core.ffi'.C.mc_hdf5_trust(%q)
      print(mc.open(%q):get 'n')
      os.execute 'pgrep -P $PPID -f [r]ead-hdf5']]):format(at 'plain.h5', at 'plain.h5'))
    assert.equal(0, r.status, r.text)
    assert.equal('4\n', r.text)
  end)

  it('of large rows and chunks comes in boxes to its place', function()
    local x = mc.randn { 3, 700001, seed = 5 }
    local w = mc.open(at 'boxes.h5', { mode = 'w' })
    w:put('rows', x)
    w:put('chunks', x, { chunk = { 2, 100003 } })
    w:close()
    mc.save(at 'x.npy', x)
    local r = run(([[local f, x = mc.open %q, mc.load %q
      for _, k in ipairs { 'rows', 'chunks' } do
        local d = f:dataset(k)
        for _, at in ipairs { {}, { { 2, 3 }, { 5, 650000 } }, { { 1, 3, 2 }, { 4, 690000, 3 } } } do
          assert(mc.array_equal(d:read(at), at[1] and x[at] or x))
        end
      end
      print 'same']]):format(at 'boxes.h5', at 'x.npy'))
    assert.equal('same\n', r.text)
  end)

  it('whose reader ends or hangs is an error, and the process goes on', function()
    needs_procps()
    for signal, words in pairs { SEGV = 'libhdf5 crashed on it', PROF = 'did not come to an end' } do
      local r = run(([[local f = mc.open %q
        os.execute 'pkill -%s -P $PPID -f [r]ead-hdf5'
        for _ = 1, 2 do
          local ok, why = pcall(f.get, f, 'a')
          print(ok, why)
        end
        f:close()
        print(mc.load(%q).n)]]):format(at 'plain.h5', signal, at 'packed.h5'))
      assert.equal(0, r.status, r.text)
      local _, n = r.text:gsub('plain.h5: [^\n]*' .. words, '')
      assert.equal(2, n, r.text)
      assert.truthy(r.text:find '4\n$', r.text)
    end
  end)

  it('whose texts have a length that leads nowhere comes to an end, in words', function()
    mc.save(at 'texts.h5', { n = 4 }, { attributes = { ['/'] = { list = { 'x', 'long text' } } } })
    local bytes = recordings.read(at 'texts.h5')
    local heap = assert(bytes:find('GCOL', 1, true)) -- 16 bytes, then objects: 8 bytes and their length
    local p = recordings.write(at 'lost.h5', bytes:sub(1, heap + 23) .. '\240' .. ('\255'):rep(7)
      .. bytes:sub(heap + 32))
    local r = run(('local f = mc.open %q; print(pcall(function() return f.attributes end))'):format(p))
    assert.equal(0, r.status, r.text)
    assert.truthy(r.text:find('lost.h5: libhdf5 did not come to an end with it; the file is damaged', 1, true), r.text)
  end)

  it('with changed bytes never ends the process', function()
    local bytes = recordings.read(at 'packed.h5')
    local random, list = support.load 'soak'.drawer(11), {}
    for k = 1, 40 do
      local b = bytes
      for _ = 1, random(1, 8) do
        local i = random(1, math.min(#b, 4000))
        b = b:sub(1, i - 1) .. string.char(random(0, 255)) .. b:sub(i + 1)
      end
      list[k] = ('%q'):format(recordings.write(at(('mutant%d.h5'):format(k)), b))
    end
    local r = run(('for _, p in ipairs { %s } do pcall(mc.load, p) end print "alive"'):format(table.concat(list, ', ')))
    assert.equal('alive\n', r.text)
  end)
end)
