-- disk_spec.lua - a full disk: every writer says so, and what was there stays whole.
--
-- The disk is a small file system of its own, where the user may mount one.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local recordings, process = support.load 'recordings', support.load 'process'
local mc = require 'mascon'
local host = require 'mascon.host'

local LONG = ('long text '):rep(40000)
local function figure(n) return mc.plot.line(mc.arange(1, n), mc.randn { n, seed = 1 }) end

--- Writers: file name, write(path, large) of a small or a large value.
local WRITERS = {
  { 'a.npy', function(p, large) mc.save(p, mc.zeros { large and 60000 or 10 }) end },
  { 'a.npz', function(p, large) mc.save(p, { x = mc.zeros { large and 60000 or 10 } }) end },
  { 'a.csv', function(p, large) mc.save(p, mc.randn { large and 30000 or 10, seed = 2 }) end },
  { 'a.json', function(p, large) mc.save(p, { text = large and LONG or 'short' }) end },
  { 'a.yaml', function(p, large) mc.save(p, { text = large and LONG or 'short' }) end },
  { 'a.txt', function(p, large) mc.save(p, large and LONG or 'short') end },
  { 'a.html', function(p, large) mc.save(p, large and LONG or 'short') end },
  { 'a.svg', function(p, large) figure(large and 100000 or 10):save(p) end },
  { 'a.h5', function(p, large) mc.save(p, { x = mc.zeros { large and 60000 or 10 } }) end },
  { 'a.png', function(p, large) figure(10):save(p, { scale = large and 8 or 0.2 }) end },
  { 'manifest.json', function(p, large)
    local m = mc.manifest.new { script = 'x', options = { text = large and LONG or 'short' } }
    m:write(p:match '^(.*)/')
  end },
}

local function names(folder)
  local list = {}
  for _, n in ipairs(host.list(folder)) do list[#list + 1] = n end
  return table.concat(list, ' ')
end

describe('a full disk', function()
  for _, w in ipairs(WRITERS) do
    it('is an error of the writer of ' .. w[1], function()
      local there = recordings.small_disk('256k', function(small)
        local path = small .. '/' .. w[1]
        w[2](path, false)
        local before, listed = recordings.read(path), names(small)
        -- nothing is left but a few KiB
        local filler = io.open(small .. '/filler', 'wb')
        filler:setvbuf 'no'
        while filler:write(('x'):rep(4096)) do end
        filler:close()
        local text = support.message(w[2], path, true)
        assert.truthy(text:find 'No space left' or text:find 'cannot be written', text)
        assert.equal(before, recordings.read(path))
        os.remove(small .. '/filler')
        assert.equal(listed, names(small), 'leftovers')
        collectgarbage()
      end)
      if not there then pending 'no file system can be mounted' end
    end)
  end

  it('leaves the old results of a script whole', function()
    local there = recordings.small_disk('1m', function(small)
      local line = '%s scripts/pac.lua %s/x.npy --fs 250 --axes CT --pha-bands 4 --amp-bands 4 --amp-range 40-90 '
        .. '--n-perm 20 --surrogate block_swap --quiet --overwrite --out %s/r --n-bins %d'
      local at = process.folder()
      mc.save(at .. '/x.npy', mc.randn { 2, 3000, seed = 1, dtype = 'f32' })
      local first = process.shell(line:format(host.exe, at, small, 12))
      assert.equal(0, first.status, first.text)
      local filler = io.open(small .. '/filler', 'wb')
      filler:setvbuf 'no'
      while filler:write(('x'):rep(4096)) do end
      filler:close()
      local second = process.shell(line:format(host.exe, at, small, 10))
      process.remove(at)
      assert.equal(1, second.status, second.text)
      assert.truthy(second.text:find 'No space left' or second.text:find 'cannot be written', second.text)
      local record = assert(mc.manifest.read(small .. '/r'))
      assert.equal(0, #mc.manifest.files_apart(record, small .. '/r'))
    end)
    if not there then pending 'no file system can be mounted' end
  end)

  -- script, its words (AT: the folder), those of the second run, the most a file may have (in 512 bytes)
  local SCRIPTS = {
    { 'autoreject', 'AT/e.npy --fs 60 --reject-by global', '--overwrite', 20 },
    { 'surrogate', '--problem branin --calls 6', '--overwrite', 5 },
    { 'train', '--epochs 1 --hidden 64', '--overwrite', 5 },
    { 'charlm', '--data AT/text.txt --batch 4 --length 4 --width 4 --layers 1 --heads 1 --write 2 --steps 1',
      '--resume --steps 2', 3 },
  }
  for _, case in ipairs(SCRIPTS) do
    local name, words, more, most = unpack(case)
    it('leaves the old results of ' .. name .. ' whole, and nothing else', function()
      local at = process.folder()
      local out = at .. '/out'
      mc.save(at .. '/e.npy', mc.randn { 12, 8, 60, seed = 2, dtype = 'f64' } * 1e-5)
      process.write(at .. '/e.csv', 'name\n' .. ('Fp1 Fp2 F3 F4 C3 C4 O1 O2'):gsub(' ', '\n') .. '\n')
      process.write(at .. '/text.txt', ('What a text says, it says in letters. '):rep(200))
      local line = ('scripts/%s.lua %s --quiet --out %s '):format(name, words:gsub('AT', at), out)
      local first, before = process.shell(("'%s' %s"):format(host.exe, line)), {}
      assert.equal(0, first.status, first.text)
      for _, n in ipairs(host.list(out)) do before[n] = process.read(out .. '/' .. n) end
      local second = process.shell(("ulimit -f %d; '%s' %s%s"):format(most, host.exe, line, more))
      assert.equal(1, second.status, second.text)
      assert.matches(name .. ': .*File too large; raise the file size limit', second.text)
      local after = host.list(out)
      for _, n in ipairs(after) do
        assert.truthy(before[n], n .. ' is left')
        if n ~= 'log.jsonl' then assert.equal(before[n], process.read(out .. '/' .. n), n) end -- the log grows
        before[n] = nil
      end
      assert.is_nil((next(before)))
      process.remove(at)
    end)
  end

  it('costs the cache of compiled code only its entries', function()
    local there = recordings.small_disk('16k', function(small)
      local code = [[local mc = require 'mascon'
        local f = mc.compile(function(x) return mc.sum(mc.exp(x) * 2 + mc.sin(x)) end)
        local x = mc.ones { 100000 }
        for _ = 1, 50 do f(x) end
        print(('%.6f'):format(f(x):item()))]]
      local r = process.mascon(code, { MASCON_CACHE = small .. '/cache' })
      assert.equal(0, r.status, r.text)
      assert.truthy(r.text:find '627803%.4639' or tonumber(r.text), r.text)
    end)
    if not there then pending 'no file system can be mounted' end
  end)
end)
