-- large.lua - the analysis scripts on generated recordings of up to 6 GB: peaks of memory against --max-memory.
-- soak: 6
--
--     mascon tests/soak/large.lua [--count N] [--seed N] [--seconds N] [--state FILE]
--
-- Cases 1 and 2 take 12 MB, 3 and 4 300 MB, 5 and 6 6 GB of disk (folder TMPDIR), by turns for autoreject.lua, which
-- needs as much again and more for its results, and pac.lua. All memory of the process counts; small recordings have
-- smaller limits.
local mc = require 'mascon'
local here = debug.getinfo(1, 'S').source:match '^@(.*)/soak/[^/]*$' or 'tests'
local soak = dofile(here .. '/support/soak.lua')
local process = dofile(here .. '/support/process.lua')
local host = require 'mascon.host'
local ffi = require 'ffi'

local FS, MIB = 2048, 2 ^ 20
-- rounding of pages and what a collection leaves
local SLACK = 4 * MIB
local SIZES = { { channels = 32, seconds = 60, mib = 128 }, { channels = 128, seconds = 380, mib = 512 },
  { channels = 128, seconds = 7630, mib = 1024 } }

local at = process.folder()
host.on_exit(function() process.remove(at) end)

--- A .bdf of noise with a loud cell here and there, record by record, and a table of positions.
local function recording(path, n, seconds, draw)
  local f = assert(io.open(path, 'wb'))
  local function pad(v, width)
    local s = tostring(v)
    return s .. (' '):rep(width - #s)
  end
  local function column(width, value)
    for i = 1, n do assert(f:write(pad(type(value) == 'function' and value(i) or value, width))) end
  end
  f:write('\255BIOSEMI', pad('X', 80), pad('X', 80), '01.01.26', '00.00.00', pad(256 * (n + 1), 8), pad('24BIT', 44),
    pad(seconds, 8), pad(1, 8), pad(n, 4))
  column(16, function(i) return 'E' .. i end)
  local rest = { { 80, '' }, { 8, 'uV' }, { 8, -262144 }, { 8, 262143 }, { 8, -8388608 }, { 8, 8388607 }, { 80, '' } }
  for _, c in ipairs(rest) do column(c[1], c[2]) end
  column(8, FS)
  column(32, '')
  local record, state = ffi.new('uint8_t[?]', 3 * n * FS), draw(1, 2 ^ 30)
  for r = 1, seconds do
    local p = 0
    for c = 1, n do
      local loud = (r * 131 + c * 17) % 97 == 0 and 40 or 1
      for _ = 1, FS do
        state = (state * 1103515245 + 12345) % 2147483648
        local v = math.floor((state / 2147483648 - 0.5) * 3200 * loud) % 16777216
        record[p], record[p + 1], record[p + 2] = v % 256, math.floor(v / 256) % 256, math.floor(v / 65536)
        p = p + 3
      end
    end
    assert(f:write(ffi.string(record, p)))
  end
  assert(f:close())
  local rows = { 'name,type,x,y,z' }
  for i = 1, n do
    local h, turn = 1 - (i - 0.5) / n, 2.4 * i
    local q = 0.09 * math.sqrt(1 - h * h)
    rows[#rows + 1] = ('E%d,eeg,%.9f,%.9f,%.9f'):format(i, q * math.cos(turn), q * math.sin(turn), 0.09 * h)
  end
  assert(mc.file.write(path .. '.csv', table.concat(rows, '\n') .. '\n'))
end

-- words of a script, which is run in a process that prints its peak
local PEAK = [[
  local words = {}
  for w in (%q):gmatch '%%S+' do words[#words + 1] = w end
  arg = { [0] = table.remove(words, 1), unpack(words) }
  dofile(arg[0])
  for l in io.lines '/proc/self/status' do
    local k = l:match '^VmHWM:%%s*(%%d+)'
    if k then print('\npeak ' .. k * 1024) end
  end
]]

local LINES = {
  'scripts/autoreject.lua %s --montage %s.csv --events fixed --tmin 0 --tmax 1 --highpass 1 --max-memory %dMiB --quiet '
    .. '--overwrite --allow-empty --out %s/out',
  'scripts/pac.lua %s --types E1=eeg --max-memory %dMiB --quiet --pick E1,E2 --n-perm 200 --surrogate block_swap '
    .. '--overwrite --out %s/out',
}

soak.run('large', 6, arg, function(draw, k)
  local size, way = SIZES[math.ceil(k / 2)] or SIZES[3], 2 - k % 2
  local path = at .. '/x.bdf'
  recording(path, size.channels, size.seconds, draw)
  local line = way == 1 and LINES[1]:format(path, path, size.mib, at) or LINES[2]:format(path, size.mib, at)
  local r = process.mascon(PEAK:format(line), {})
  os.remove(path)
  local peak = tonumber(r.text:match 'peak (%d+)')
  assert(peak, r.text)
  assert(peak <= size.mib * MIB + SLACK, ('%s: peak %.1f MiB'):format(line, peak / MIB))
  print(('%s: peak %.1f MiB of %d'):format(line:match '%S+', peak / MIB, size.mib))
end)
