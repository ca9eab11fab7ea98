-- mutants.lua - damaged files of every input format: a value or an error in words, no signal, no endless loop.
-- soak: 1690
--
--     mascon tests/soak/mutants.lua [--count N] [--seed N] [--seconds N] [--state FILE]
--
-- A case is 25 mutants of one format in a process of its own, the formats by turns; 1690 cases are 3250 mutants of
-- each. A process that ends by a signal or takes more than 30 s is found by the mutant it announced last, which the log
-- names with its case and number. MASCON_SOAK_KEEP=FOLDER keeps that file.
local mc = require 'mascon'
local here = debug.getinfo(1, 'S').source:match '^@(.*)/soak/[^/]*$' or 'tests'
local soak = dofile(here .. '/support/soak.lua')
local process = dofile(here .. '/support/process.lua')
local host = require 'mascon.host'
local BATCH, SECONDS = 25, 30
-- a mutant; libhdf5 has 10 s of processor time in its own process
local LONGEST, WITH_LIBRARY = 10, 4
-- of the process: what a mutant may take beside 1200 times its size, which is more than deflate packs
local ROOM, PACKED = 96 * 2 ^ 20, 1200

local FORMATS = { 'edf', 'bdf', 'fif', 'fif.gz', 'vhdr', 'set', 'mat', 'npy', 'npz', 'json', 'yaml', 'csv', 'h5' }
local WITH_HDF5 = { h5 = true, set = true, mat = true }

-- ---- files that are whole ----

local BRAIN = [[
Brain Vision Data Exchange Header File Version 1.0
[Common Infos]
DataFile=m.eeg
MarkerFile=m.vmrk
DataFormat=BINARY
DataOrientation=MULTIPLEXED
NumberOfChannels=2
SamplingInterval=2000
[Binary Infos]
BinaryFormat=INT_16
[Channel Infos]
Ch1=Fp1,,0.5,µV
Ch2=Fp2,,1,mV
[Coordinates]
Ch1=1,-90,-72
Ch2=1,90,72
]]
local MARKS = [[
Brain Vision Data Exchange Marker File, Version 1.0
[Common Infos]
DataFile=m.eeg
[Marker Infos]
Mk1=New Segment,,1,1,0,20260102030405000000
Mk2=Stimulus,S  1,40,1,0
Mk3=Bad Interval,Bad,60,20,0
]]
local YAML = 'a: 1\nlist: [1, 2.5, {x: y}]\ntext: |\n  two\n  lines\nanchor: &k {p: 1}\nagain: *k\n- broken\n'
local JSON = '{"a": [1, 2.5e3, -0.1, null, true], "deep": {"x": {"y": ["\\u00e9\\n", ""]}}, "n": 12345678901234567890}'
local CSV = 'name,x,y\nFp1,1.5,-2e-3\n"a ""b""",3,\nF3,nan,1e400\n'

--- Writes whole files of each format into a folder: lists of names by format.
local function originals(at)
  local support = dofile(here .. '/support/init.lua')
  local recordings = support.load 'recordings'
  local list = {}
  local function put(format, name, bytes)
    list[format] = list[format] or {}
    table.insert(list[format], name)
    if bytes then recordings.write(at .. '/' .. name, bytes) end
  end
  for _, f in ipairs(FORMATS) do list[f] = {} end
  local corpus = here .. '/fuzz/corpus/'
  for _, name in ipairs(host.list(corpus .. 'edf')) do
    put(name:find '^bdf' and 'bdf' or 'edf', 'edf-' .. name, recordings.read(corpus .. 'edf/' .. name))
  end
  for _, name in ipairs(host.list(corpus .. 'fif')) do
    put(name:find '^packed' and 'fif.gz' or 'fif', 'fif-' .. name, recordings.read(corpus .. 'fif/' .. name))
  end
  for _, name in ipairs { 'meeg_fif', 'meeg_eeglab', 'hdf5_eeglab', 'hdf5' } do
    local g = recordings.golden(support, name)
    for key in pairs(g.arrays) do
      local file = key:match '^file (.*)$'
      local format = file and (file:match '%.(fif%.gz)$' or file:match '%.(%w+)$')
      if format == 'hdf5' then format = 'h5' end
      if file and list[format] then put(format, name .. '-' .. file:gsub('/', '-'), g.bytes(file)) end
    end
  end
  for _, f in ipairs(FORMATS) do table.sort(list[f]) end
  put('vhdr', 'm.vhdr', BRAIN)
  recordings.write(at .. '/m.vmrk', MARKS)
  recordings.write(at .. '/m.eeg', ('\1\0\254\255'):rep(200))
  put('json', 'm.json', JSON)
  put('yaml', 'm.yaml', YAML)
  put('csv', 'm.csv', CSV)
  local x = mc.randn { 3, 40, seed = 1, dtype = 'f32' }
  mc.save(at .. '/m.npy', x)
  put('npy', 'm.npy')
  mc.save(at .. '/m.npz', { x = x, text = { 'a', 'bc' }, n = mc.arange(5):to 'i16' })
  mc.save(at .. '/packed.npz', { x = x, z = mc.zeros { 100, 100 } }, { level = 6 })
  put('npz', 'm.npz')
  put('npz', 'packed.npz')
  if (mc.info().libraries.hdf5 or ''):find 'missing' then
    for f in pairs(WITH_HDF5) do if f == 'h5' then list[f] = {} end end
  else
    local deep = { s = { 'x', '', 'long text' }, i = mc.arange(1, 7):to 'i16' }
    mc.save(at .. '/m.h5', { a = x, deep = deep, n = 4, unit = 'uV' }, { attributes = { a = { k = 2 } } })
    mc.save(at .. '/packed.h5', { a = mc.randn { 40, 300, seed = 3 }, z = mc.ones { 2, 0, 3 } }, { level = 3 })
    put('h5', 'm.h5')
    put('h5', 'packed.h5')
  end
  return list
end

-- ---- damage ----

local function number(v, bytes, big)
  local out = {}
  v = v % 2 ^ (8 * bytes)
  for i = 1, bytes do
    out[big and bytes + 1 - i or i] = string.char(v % 256)
    v = math.floor(v / 256)
  end
  return table.concat(out)
end

local WORDS = {
  '', '0', '-1', '-0', 'nan', 'inf', '1e308', '99999999999999999999', '2147483648', '4294967297', '0x10', '%s%n', '\0',
  '../x', ('9'):rep(400),
}

--- Ways to damage bytes: f(bytes, draw, place, other) -> bytes. place() draws a position, early ones more often; other:
--- another file's bytes.
local WAYS = {
  function(s, draw, place) -- bits
    for _ = 1, draw(1, 4) do
      local at = place()
      s = s:sub(1, at - 1) .. string.char(require 'bit'.bxor(s:byte(at) or 0, 2 ^ draw(0, 7))) .. s:sub(at + 1)
    end
    return s
  end,
  function(s, _, place) return s:sub(1, place() - 1) end,
  function(s, draw, place) -- bytes at their extremes
    local at, extremes = place(), { 0, 1, 127, 128, 255 }
    return s:sub(1, at - 1) .. string.char(extremes[draw(1, 5)]):rep(draw(1, 8)) .. s:sub(at + draw(1, 8))
  end,
  function(s, draw, place) -- a length at its extremes
    local bytes = ({ 2, 4, 8 })[draw(1, 3)]
    local most = 2 ^ (8 * bytes - 1)
    local values = { 0, 1, -1, -2, most - 1, most, #s, #s + 1, #s - 1, 2 ^ 16, 2 ^ 20, 2 ^ 28, 2 ^ 31 - 1, 2 ^ 31 }
    local at = place()
    if draw(1, 2) == 1 then at = at - (at - 1) % bytes end
    return s:sub(1, at - 1) .. number(values[draw(1, #values)], bytes, draw(1, 2) == 1) .. s:sub(at + bytes)
  end,
  function(s, draw, place, other) -- a piece of another file
    local from, at, n = draw(1, math.max(1, #other)), place(), draw(1, 200)
    return s:sub(1, at - 1) .. other:sub(from, from + n) .. s:sub(at + (draw(1, 2) == 1 and n or 0))
  end,
  function(s, draw, place) -- a piece left out, or many times
    local at, n = place(), draw(1, 100)
    return s:sub(1, at - 1) .. (draw(1, 2) == 1 and '' or s:sub(at, at + n):rep(draw(2, 200))) .. s:sub(at + n)
  end,
  function(s, draw, place) -- a number in a text
    local from, to = s:find('%-?%d+', place())
    if not from then return s:sub(1, place() - 1) end
    return s:sub(1, from - 1) .. WORDS[draw(1, #WORDS)] .. s:sub(to + 1)
  end,
}

local function mutate(s, draw, other)
  local function place()
    if #s == 0 then return 1 end
    local reach = draw(1, 2) == 1 and math.min(#s, 512) or #s
    return draw(1, reach)
  end
  for _ = 1, draw(1, 3) do
    local way = WAYS[draw(1, #WAYS)]
    s = way(s, draw, place, other)
  end
  return s
end

-- ---- reading ----

local function touch(v, depth)
  if mc.is_tensor(v) then
    if v:numel() > 0 and v.dtype ~= 'bool' then v:sum():release() end
  elseif type(v) == 'table' and depth < 5 then
    for _, x in next, v do touch(x, depth + 1) end
  end
end

local function whole(p) touch(mc.load(p), 0) end
local function recording(p)
  local r = mc.meeg.open(p)
  if r.read then r:read { first = 1, last = 1 } end
  touch(r.annotations, 0)
end
local READ = {
  npy = { whole, function(p) touch(mc.open(p), 0) end, function(p) mc.meeg.open(p, { fs = 100 }) end },
  npz = { whole, function(p)
    local a = mc.open(p)
    for _, n in ipairs(a.names) do touch(a:get(n), 0) end
    a:close()
  end },
  h5 = { whole, function(p)
    local f = mc.open(p)
    for _, n in ipairs(f.names) do touch(f:get(n), 0) end
    f:close()
  end },
  csv = { whole, function(p) mc.load(p, { header = true }) end },
  json = { whole }, yaml = { whole }, mat = { whole, function(p) touch(mc.open(p), 0) end },
}
for _, f in ipairs { 'edf', 'bdf', 'fif', 'fif.gz', 'vhdr', 'set' } do READ[f] = { whole, recording } end

-- what no reader may say
local RAW = { 'attempt to', 'bad argument', "'cdata'", 'stack overflow', '^not enough memory' }

-- a mutant of these lies in one of the files beside it
local BESIDE = { vhdr = { 'vhdr', 'vmrk', 'eeg' } }

local function child(at, format, k)
  local function read(name)
    local f = assert(io.open(at .. '/' .. name, 'rb'))
    local s = f:read '*a'
    f:close()
    return s
  end
  local function write(name, bytes)
    local f = assert(io.open(at .. '/case/' .. name, 'wb'))
    f:write(bytes)
    f:close()
  end
  local names = {}
  for line in (read(format .. '.list')):gmatch '[^\n]+' do names[#names + 1] = line end
  local C = require 'mascon.core.ffi'.C
  local base = mc.memory().live
  for i = 1, BATCH do
    local draw = soak.drawer((k * BATCH + i) * 69621 % 2147483647) -- neighbours draw other ways
    local ext, bytes = format
    if BESIDE[format] then
      for _, e in ipairs(BESIDE[format]) do write('m.' .. e, read('m.' .. e)) end
      ext = BESIDE[format][draw(1, 3)]
      bytes = mutate(read('m.' .. ext), draw, read 'm.vhdr')
    else
      bytes = mutate(read(names[draw(1, #names)]), draw, read(names[draw(1, #names)]))
    end
    write('m.' .. ext, bytes)
    io.stdout:write(('mutant %d of case %d (%s)\n'):format(i, k, ext))
    io.stdout:flush()
    for w, f in ipairs(READ[format]) do
      C.mc_memory_reset_peak()
      local before = os.clock() -- of the processor: others may have the machine
      local ok, why = pcall(f, at .. '/case/m.' .. format)
      local took, peak = os.clock() - before, mc.memory().peak - base
      local function wrong(what)
        io.stdout:write(('WRONG mutant %d of case %d (%s), reader %d: %s\n'):format(i, k, ext, w, what))
        local keep = os.getenv 'MASCON_SOAK_KEEP'
        if keep then process.shell(("cp -R '%s/case' '%s/%s-%d-%d'"):format(at, keep, format, k, i)) end
      end
      for _, raw in ipairs(not ok and type(why) == 'string' and RAW or {}) do
        if why:find(raw) then wrong(why) end
      end
      if took > LONGEST * (WITH_HDF5[format] and WITH_LIBRARY or 1) then wrong(('%.1f s'):format(took)) end
      if peak > ROOM + PACKED * #bytes then wrong(('%.0f MiB for %d bytes'):format(peak / 2 ^ 20, #bytes)) end
    end
    collectgarbage()
    collectgarbage()
  end
  io.stdout:write 'done\n'
end

if arg[1] == 'child' then
  child(arg[2], arg[3], tonumber(arg[4]))
  os.exit(0)
end

local at = process.folder()
host.on_exit(function() process.remove(at) end)
process.make(at .. '/case', 700)
local lists = originals(at)
for f, names in pairs(lists) do mc.file.write(at .. '/' .. f .. '.list', table.concat(names, '\n') .. '\n') end

soak.run(('mutants (batches of %d)'):format(BATCH), 1690, arg, function(_, k)
  local format = FORMATS[(k - 1) % #FORMATS + 1]
  if #lists[format] == 0 then return end
  local seconds = SECONDS * (WITH_HDF5[format] and WITH_LIBRARY or 1)
  local line = 'ulimit -v 6000000; MASCON_NUM_THREADS=1 MASCON_MEMORY_LIMIT=3G timeout -s KILL %d %s %s child %s %s %d'
  local r = process.shell(line:format(seconds, host.exe, arg[0], at, format, k))
  local bad = r.text:match 'WRONG[^\n]*'
  assert(not bad, bad)
  if r.status ~= 0 then
    local keep = os.getenv 'MASCON_SOAK_KEEP'
    if keep then process.shell(("cp -R '%s/case' '%s/%s-%d-status'"):format(at, keep, format, k)) end
    error(('%s: status %d: %s'):format(format, r.status, r.text:match '([^\n]*\n?[^\n]*)\n?$'), 0)
  end
end)
