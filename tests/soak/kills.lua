-- kills.lua - both analysis scripts are killed at a random moment over results that are there; what is left is the old set or the new one, whole.
-- soak: 400
--
--     mascon tests/soak/kills.lua [--count N] [--seed N] [--seconds N] [--state FILE]
local mc = require 'mascon'
local here = debug.getinfo(1, 'S').source:match '^@(.*)/soak/[^/]*$' or 'tests'
local soak = dofile(here .. '/support/soak.lua')
local process = dofile(here .. '/support/process.lua')
local host = require 'mascon.host'

local at = process.folder()
host.on_exit(function() process.remove(at) end)

-- a small recording and two sets of options for each workflow, so that an old and a new set differ
mc.save(at .. '/x.npy', mc.randn { 2, 3000, seed = 1, dtype = 'f32' })
mc.save(at .. '/e.npy', mc.randn { 12, 8, 60, seed = 2, dtype = 'f64' } * 1e-5)
mc.file.write(at .. '/e.csv', 'name\n' .. table.concat({ 'Fp1', 'Fp2', 'F3', 'F4', 'C3', 'C4', 'O1', 'O2' }, '\n') .. '\n')
local LINES = {
  pac = ('scripts/pac.lua %s/x.npy --fs 250 --axes CT --pha-bands 4 --amp-bands 4 --amp-range 40-90 --n-perm 20 --surrogate block_swap --quiet --out %%s --n-bins %%d'):format(at),
  autoreject = ('scripts/autoreject.lua %s/e.npy --fs 60 --cv 3 --rho 1 --quiet --overwrite --allow-empty --out %%s --seed %%d'):format(at),
}
local NAMES = { 'pac', 'autoreject' }

local function hidden(dir)
  local out = {}
  for _, n in ipairs(host.list(dir)) do if n:sub(1, 1) == '.' then out[#out + 1] = n end end
  return out
end

soak.run('kills', 400, arg, function(draw, k)
  local name = NAMES[k % #NAMES + 1]
  local dir, line = at .. '/' .. name, LINES[name]
  if not mc.file.exists(dir .. '/manifest.json') then
    local r = process.shell(host.exe .. ' ' .. line:format(dir, 12))
    assert(r.status == 0, r.text)
  end
  local signal = draw(1, 3) == 1 and 'TERM' or 'KILL'
  process.shell(('timeout -s %s %.3f %s %s'):format(signal, 0.02 + 0.9 * draw(), host.exe, line:format(dir, 10 + k % 7)))
  local record, why = mc.manifest.read(dir)
  assert(record, why)
  local apart = mc.manifest.files_apart(record, dir)
  assert(#apart == 0, apart[1] and apart[1][1] .. ' ' .. apart[1][2])
  local named = { ['manifest.json'] = true }
  for _, o in ipairs(record.outputs) do named[o.name] = true end
  for _, n in ipairs(host.list(dir)) do assert(named[n] or n:sub(1, 1) == '.', n .. ' belongs to no set') end
  assert(#hidden(dir) <= 1, 'temporary folders pile up: ' .. table.concat(hidden(dir), ' '))
end)
