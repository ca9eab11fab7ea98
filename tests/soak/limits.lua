-- limits.lua - work under limits of memory from too little to enough: a right result or an error in words.
-- soak: 600
--
--     mascon tests/soak/limits.lua [--count N] [--seed N] [--seconds N] [--state FILE]
--
-- A case is one job in a process of its own, by turns, under `ulimit -v` or with a Lua heap of a drawn size. What a job
-- prints is compared with what it prints without a limit; a set of results is the whole one or is not there.
-- MASCON_SOAK_SAY=1 prints each case.
local mc = require 'mascon'
local here = debug.getinfo(1, 'S').source:match '^@(.*)/soak/[^/]*$' or 'tests'
local soak = dofile(here .. '/support/soak.lua')
local process = dofile(here .. '/support/process.lua')
local host = require 'mascon.host'
local SECONDS = 60

local at = process.folder()
host.on_exit(function() process.remove(at) end)

mc.save(at .. '/e.npy', mc.randn { 12, 8, 60, seed = 2, dtype = 'f64' } * 1e-5)
mc.file.write(at .. '/e.csv', 'name\n' .. ('Fp1 Fp2 F3 F4 C3 C4 O1 O2'):gsub(' ', '\n') .. '\n')
mc.save(at .. '/x.npy', mc.randn { 2, 3000, seed = 1, dtype = 'f32' })

local function code(text) return ('-e %q'):format("local mc = require 'mascon'; " .. text:gsub('AT', at)) end
local function script(name, words)
  return ('scripts/%s.lua %s --quiet --out %s/%s'):format(name, words:gsub('AT', at), at, name)
end

--- name, arguments of the program, folder of its results
local JOBS = {
  { 'matmul', code [[
    local x = mc.randn { 300, 300, seed = 1 }
    print(mc.sum(x:matmul(x)):item(), mc.sum(mc.linalg.solve(x, x)):item())
    print(mc.linalg.svd(x['1:60, 1:50']).S[1]:item())]] },
  { 'fft', code [[
    for _, n in ipairs { 4096, 1009, 65536 } do
      local y = mc.fft.rfft(mc.randn { 8, n, seed = n })
      print(mc.sum(mc.abs(y)):item(), mc.sum(mc.fft.irfft(y, { n = n })):item())
    end]] },
  { 'sort', code [[
    local x = mc.randn { 400, 1000, seed = 3 }
    print(mc.sum(mc.sort(x)[1]):item(), mc.stats.median(x:reshape(-1)):item())]] },
  { 'compile', code [[
    local f = mc.compile(function(x, y) return mc.sum(mc.exp(-x * x) * y + mc.tanh(y)) end)
    local x = mc.randn { 100000, seed = 4 }
    for _ = 1, 30 do f(x, x) end
    print(('%.12g'):format(f(x, x):item()))]] },
  { 'png', code [[
    local fig = mc.plot.line(mc.arange(1, 50), mc.randn { 50, seed = 5 })
    fig:save 'AT/p.png'
    print(mc.file.exists 'AT/p.png')]] },
  { 'hdf5', code [[
    mc.save('AT/h.h5', { x = mc.randn { 100, 1000, seed = 6 }, deep = { t = { 'a', 'b' } } }, { level = 1 })
    print(mc.sum(mc.load 'AT/h.h5'.x):item())]] },
  { 'npz', code [[
    mc.save('AT/z.npz', { x = mc.randn { 100, 1000, seed = 6 } }, { level = 3 })
    print(mc.sum(mc.load 'AT/z.npz'.x):item())]] },
  { 'heap', code "local t = {}; for i = 1, 300000 do t[i] = { i, tostring(i) } end; print(#t, t[299999][2])" },
  { 'pac', script('pac', 'AT/x.npy --fs 250 --axes CT --pha-bands 4 --amp-bands 4 --amp-range 40-90 --n-perm 20 '
    .. '--surrogate block_swap'), at .. '/pac' },
  { 'autoreject', script('autoreject', 'AT/e.npy --fs 60 --cv 3 --rho 1 --overwrite --allow-empty --seed 3'),
    at .. '/autoreject' },
}

-- What an error may say: ours, Lua's, the dynamic loader's, the C library's.
local WORDS = {
  'memory', 'Memory', 'cannot be opened', 'failed to map segment', 'error while loading shared libraries',
  'Resource temporarily unavailable',
}

-- what the library itself holds of a Lua heap, and some
local HEAP = 4000

local function run(job, room, heap)
  -- LuaJIT of Debian 12 can crash when its heap is full inside compiled code (autoreject, 7192 KiB): known, open
  local limit = not room and '' or heap and ('export MASCON_JIT=off MASCON_TEST_LUA_HEAP=%d; '):format(room * 1024)
    or ('ulimit -v %d; '):format(room)
  return process.shell(("%stimeout -s KILL %d %s %s"):format(limit, SECONDS, host.exe, job[2]))
end

local function names_memory(text)
  for _, w in ipairs(WORDS) do if text:find(w, 1, true) then return true end end
  return false
end

local free = {}
soak.run('limits', 600, arg, function(draw, k)
  local job = JOBS[(k - 1) % #JOBS + 1]
  if not free[job[1]] then
    local r = run(job)
    assert(r.status == 0, job[1] .. ' without a limit: ' .. r.text)
    free[job[1]] = r.text
  end
  if job[3] then process.remove(job[3]) end
  -- by the golden section, so that a few cases are spread over the whole range too; every third time the heap
  local turn = math.floor((k - 1) / #JOBS)
  local heap, at_part = turn % 3 == 2, (turn * 0.6180339887498949 + draw() * 0.01) % 1
  local room = math.floor(heap and HEAP * 12 ^ at_part or 25000 * 50 ^ at_part)
  local r = run(job, room, heap)
  local what = ('%s with %d KiB%s: status %d: %s'):format(job[1], room, heap and ' of Lua heap' or '', r.status, r.text)
  if os.getenv 'MASCON_SOAK_SAY' then
    print(job[1], heap and 'heap' or 'addresses', room, r.status, r.text:match '[^\n]*')
  end
  if r.status == 0 then
    if not job[3] then assert(r.text == free[job[1]], what .. '\ninstead of ' .. free[job[1]]) end
  else
    assert(r.status == 1 or r.status == 2 or r.status == 127, what)
    assert(names_memory(r.text), what)
  end
  if not job[3] then return end
  local record = mc.manifest.read(job[3])
  assert(record or r.status ~= 0, what .. ': no results')
  if record then
    local apart = mc.manifest.files_apart(record, job[3])
    assert(#apart == 0, apart[1] and what .. ': ' .. apart[1][1] .. ' ' .. apart[1][2])
  else
    for _, n in ipairs(host.list(job[3]) or {}) do assert(n:sub(1, 1) == '.', what .. ': leaves ' .. n) end
  end
end)
