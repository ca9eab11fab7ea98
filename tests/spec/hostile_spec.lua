-- hostile_spec.lua - small files that ask for much: refused in words, quickly and without the memory they ask for.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local process, recordings = support.load 'process', support.load 'recordings'
local fif = require 'mascon.io.fif'

local folder = process.folder()
local function at(name) return folder .. '/' .. name end

--- Runs Lua code with the path of a file in `p`: an error in these words within 10 s of processor time and 1.5 GiB.
local function refused(path, code, words)
  local script = at 'try.lua'
  process.write(script, ('local mc, p = require "mascon", %q; %s'):format(path, code))
  local line = "(ulimit -v 3000000; ulimit -t 10; MASCON_NUM_THREADS=1 MASCON_MEMORY_LIMIT=1500M '%s' '%s')"
  local r = process.shell(line:format(require 'mascon.host'.exe, script))
  assert.equal(1, r.status, r.text)
  assert.truthy(r.text:find(words, 1, true), r.text)
end

local function ints(...)
  local out = {}
  for k, v in ipairs { ... } do out[k] = fif.int_bytes(v) end
  return table.concat(out)
end
local function tag(kind, type_, data) return ints(kind, type_, #data, 0) .. data end
local function int(kind, v) return tag(kind, 3, fif.int_bytes(v)) end
local START = tag(100, 31, ('\0'):rep(20))

--- A measurement of one channel at 100 Hz.
local function measured()
  local scale = fif.float_bytes(1):rep(2)
  local channel = ints(1, 1, 2) .. scale .. ints(1) .. ('\0'):rep(48) .. ints(107, 0) .. 'EEG 001' .. ('\0'):rep(9)
  assert(#channel == 96, #channel)
  return START .. int(104, 100) .. int(104, 101) .. int(200, 1) .. tag(201, 4, fif.float_bytes(100))
    .. tag(203, 30, channel) .. int(105, 101)
end

local function packed(name, bytes)
  recordings.write(at(name), bytes)
  assert.equal(0, process.shell(("gzip -nf '%s'"):format(at(name))).status)
  return at(name .. '.gz')
end

--- A recording with a gap of so many buffers.
local function gap(n)
  local buffer = tag(300, 3, ints(1, 1, 1, 1))
  return packed(('gap%d_raw.fif'):format(n), measured() .. int(104, 102) .. buffer .. int(301, n) .. buffer
    .. int(105, 102) .. int(105, 100))
end

describe('a FIF file', function()
  it('cannot ask for more by gaps than its samples bear', function()
    refused(gap(450000000), 'print(mc.load(p).data:sum())', 'gap')
  end)

  it('keeps gaps that a pause makes', function()
    local mc = require 'mascon'
    assert.same({ 1, 4008 }, mc.load(gap(1000)).data.shape)
  end)

  it('of no epochs has no endless ones', function()
    local path = packed('none-epo.fif', measured() .. int(104, 373) .. int(208, -2000000000) .. int(209, 100000000)
      .. tag(302, 0x40000000 + 4, ints(0, 0, 0, 3)) .. int(105, 373) .. int(105, 100))
    refused(path, 'local e = mc.meeg.open(p); print(e.times:sum())', 'samples')
  end)

  it('that is packed and no FIF file is refused before it is unpacked', function()
    process.shell(("head -c 300000000 /dev/zero | gzip -1n > '%s'"):format(at 'bomb.fif.gz'))
    refused(at 'bomb.fif.gz', 'mc.set_memory_limit(1e8); mc.meeg.open(p)', 'does not begin like a FIF file')
  end)

  it('of many tags is refused', function()
    local f = io.popen(("gzip -1n > '%s'"):format(at 'tags.fif.gz'), 'w')
    f:write(START)
    local many = (fif.int_bytes(108) .. ('\0'):rep(12)):rep(65536)
    for _ = 1, 65 do f:write(many) end
    f:close()
    refused(at 'tags.fif.gz', 'mc.meeg.open(p)', 'tags')
  end)
end)

describe('an array without elements', function()
  local function npy(shape)
    local head = ("{'descr': '<f8', 'fortran_order': False, 'shape': (%s), }"):format(shape)
    return '\147NUMPY\1\0' .. string.char(#head + 1, 0) .. head .. '\n'
  end
  it('is no recording', function()
    local paths = {}
    for k, shape in ipairs {
      '2147483648, 0, 2', '2147483648, 2, 0', '0, 2147483648, 2', '0, 2, 1099511627776', '2147483648, 0',
      '0, 2147483648', '3, 0', '0, 5',
    } do
      paths[k] = ('%q'):format(recordings.write(at('empty%d.npy'):format(k), npy(shape)))
    end
    local code = [[for _, q in ipairs { %s } do
      local ok, why = pcall(mc.meeg.open, q, { fs = 100 })
      assert(not ok and why:find('a recording has channels', 1, true), q)
    end
    error 'all refused']]
    refused('', code:format(table.concat(paths, ', ')), 'all refused')
  end)

  it('of no epochs is one', function()
    local e = require 'mascon'.meeg.open(recordings.write(at 'none.npy', npy '0, 3, 20'), { fs = 100 })
    assert.equal(0, e:count())
  end)
end)

describe('a text without end', function()
  for _, format in ipairs { 'json', 'yaml', 'csv', 'txt' } do
    it('is an error as ' .. format, function()
      refused('/dev/zero', ('mc.load(p, { format = %q })'):format(format), '/dev/zero')
    end)
  end

  it('is an error as a header', function()
    local line = "ln -s /dev/zero '%s'; truncate -s 10G '%s' '%s'"
    process.shell(line:format(at 'endless.vhdr', at 'large.vhdr', at 'large.json'))
    refused(at 'endless.vhdr', 'mc.meeg.open(p)', 'endless.vhdr')
    refused(at 'large.vhdr', 'mc.meeg.open(p)', 'large.vhdr')
    refused(at 'large.json', 'mc.load(p)', 'large.json')
  end)

  it('is read up to the bound', function()
    local file = require 'mascon.base.file'
    recordings.write(at 'short', 'abcdef')
    assert.equal('abcdef', file.read(at 'short', 6))
    local none, why = file.read(at 'short', 5)
    assert.is_nil(none)
    assert.truthy(why:find('short holds more than 5 bytes', 1, true), why)
  end)
end)

teardown(function() process.remove(folder) end)
