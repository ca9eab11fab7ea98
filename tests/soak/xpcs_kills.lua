-- xpcs_kills.lua - XPCS fits that are killed at random moments and resumed end with the values of one that was not.
-- soak: 40
--
--     mascon tests/soak/xpcs_kills.lua [--count N] [--seed N] [--seconds N] [--state FILE]
local mc = require 'mascon'
local here = debug.getinfo(1, 'S').source:match '^@(.*)/soak/[^/]*$' or 'tests'
local soak = dofile(here .. '/support/soak.lua')
local process = dofile(here .. '/support/process.lua')
local host = require 'mascon.host'

local at = process.folder()
host.on_exit(function() process.remove(at) end)

local s = mc.xpcs.simulate { n = 300, q = 0.01, dt = 0.1, phi = { -60, -25, 0, 30, 75, 92 }, seed = 3, sigma = 0.004 }
mc.save(at .. '/x.npz', { c2_exp = s.c2, phi_angles_list = mc.tensor(s.phi), t1 = s.t, q = mc.tensor(s.q) })
local LINE = host.exe .. (' scripts/xpcs.lua %s/x.npz --quiet --sigma 0.004 --laminar-flow --no-arrays '
  .. '--output-format npz --overwrite --output-dir %s/%%s'):format(at, at)
local whole = process.shell(LINE:format 'whole')
assert(whole.status == 0, whole.text)
local want = mc.load(at .. '/whole/nlsq/parameters.npz')

soak.run('xpcs_kills', 40, arg, function(draw, k)
  local line = LINE:format('cut') .. (' --checkpoint-dir %s/cp%d'):format(at, k)
  for _ = 1, draw(1, 3) do
    local signal = draw(1, 3) == 1 and 'TERM' or 'KILL'
    process.shell(('timeout -s %s %.3f %s'):format(signal, 0.02 + 0.8 * draw(), line))
  end
  local r = process.shell(line)
  assert(r.status == 0, r.text)
  local got = mc.load(at .. '/cut/nlsq/parameters.npz')
  for name, v in pairs(want) do assert(mc.array_equal(v, got[name]), name) end
end)
