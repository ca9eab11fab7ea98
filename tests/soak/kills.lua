-- kills.lua - the scripts of the four workflows are killed at a random moment over results that are there; what is left
-- is the old set or the new one, whole.
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

-- small inputs, and for each workflow two kinds of options, so that an old and a new set differ
mc.save(at .. '/x.npy', mc.randn { 2, 3000, seed = 1, dtype = 'f32' })
mc.save(at .. '/e.npy', mc.randn { 12, 8, 60, seed = 2, dtype = 'f64' } * 1e-5)
mc.file.write(at .. '/e.csv', 'name\n' .. ('Fp1 Fp2 F3 F4 C3 C4 O1 O2'):gsub(' ', '\n') .. '\n')
local sim = mc.xpcs.simulate { n = 60, q = 0.01, dt = 0.1, phi = { 0, 60 }, seed = 3, sigma = 0.004 }
mc.save(at .. '/x.npz', { c2_exp = sim.c2, phi_angles_list = mc.tensor(sim.phi), t1 = sim.t, q = mc.tensor(sim.q) })
mc.file.write(at .. '/space.yaml', [[
version: "1.0"
metadata: { name: small, purpose: a test }
parameter_space:
  architecture:
    num_layers: { type: integer, bounds: [2, 3] }
    base_channels: { type: integer, bounds: [4, 6] }
    kernel_size: { type: choice, choices: [3] }
  stochastic: { noise_scale: { type: continuous, bounds: [0.00001, 1.0], log_scale: true } }
  operator: { grid_size: { type: choice, choices: [8] } }
  evolution: { update_policy: { type: choice, choices: [residual, convex] } }
sampling: { total_samples: 4, batch_size: 2, sobol: { seed: 7 } }
simulation: { num_realizations: 2, num_timesteps: 6, input_generation: { method: structured } }
dataset: { output_path: OUT, storage: { chunk_size: 3 } }
]])

local NAMES = { 'pac', 'autoreject', 'xpcs', 'rollout' }
--- The words of a run into a folder; k draws one of seven kinds.
local LINES = {
  pac = 'AT/x.npy --fs 250 --axes CT --pha-bands 4 --amp-bands 4 --amp-range 40-90 --n-perm 20 --surrogate block_swap '
    .. '--out AT/pac --n-bins %d',
  autoreject = 'AT/e.npy --fs 60 --cv 3 --rho 1 --allow-empty --out AT/autoreject --seed %d',
  xpcs = 'AT/x.npz --static-mode --scaling constant --output-dir AT/xpcs --sigma 0.0%d',
  rollout = 'generate --config AT/space.yaml --output AT/rollout/set.h5 --seed %d',
}

local function run(name, k, before)
  local words = LINES[name]:gsub('AT', at):format(10 + k % 7)
  return process.shell(('%s %s scripts/%s.lua %s --quiet --overwrite'):format(before or '', host.exe, name, words))
end

--- Names in a folder that do not begin with a dot, as keys; how many begin with one.
local function listed(dir)
  local names, hidden = {}, 0
  for _, n in ipairs(host.list(dir)) do
    if n:sub(1, 1) == '.' then hidden = hidden + 1 else names[n:gsub('/$', '')] = true end
  end
  return names, hidden
end

--- The set of a manifest: whole, with nothing beside it.
local function whole(dir)
  local record, why = mc.manifest.read(dir)
  assert(record, why)
  local apart = mc.manifest.files_apart(record, dir)
  assert(#apart == 0, apart[1] and apart[1][1] .. ' ' .. apart[1][2])
  local named = { ['manifest.json'] = true }
  for _, o in ipairs(record.outputs) do named[o.name:match '^[^/]*'] = true end
  for n in pairs((listed(dir))) do assert(named[n], n .. ' belongs to no set') end
end

--- A data set of rollouts: whole, its page is not that of another one.
local function data_whole(dir)
  local names = listed(dir)
  local ok, lines = mc.rollout.dataset.validate(dir .. '/set.h5')
  assert(ok, table.concat(lines, '\n'))
  local page = mc.rollout.report.page(dir .. '/set.h5')
  if mc.file.exists(page) then
    local there, fresh = process.read(page), at .. '/fresh.h5'
    process.shell(('cp %s/set.h5 %s'):format(dir, fresh))
    local again = process.read((mc.rollout.report.write(fresh)))
    assert(there == (again:gsub('fresh', 'set')), 'the page is that of another data set')
  end
  local known = { ['set.h5'] = true, ['set.h5.parts'] = true, ['set.h5.lock'] = true, [page:match '[^/]*$'] = true }
  for n in pairs(names) do -- a kill may leave the file that was being written
    assert(known[n] or n:find '^set%.h5%.tmp%-', n .. ' belongs to no data set')
  end
end

soak.run('kills', 400, arg, function(draw, k)
  local name = NAMES[k % #NAMES + 1]
  local dir, check = at .. '/' .. name, name == 'rollout' and data_whole or whole
  if not mc.file.is_folder(dir) then
    local r = run(name, 2)
    assert(r.status == 0, r.text)
  end
  local signal = draw(1, 3) == 1 and 'TERM' or 'KILL'
  local r = run(name, k, ('timeout -s %s %.3f'):format(signal, 0.02 + 0.9 * draw()))
  assert(r.status == 0 or r.status == 124 or r.status == 137 or r.status == 143, r.text)
  check(dir)
  assert(select(2, listed(dir)) <= 2, 'temporary files pile up') -- the folder of a set, the file of the claim
  if k % 5 == 0 then -- the next whole run removes what is left
    r = run(name, k)
    assert(r.status == 0, r.text)
    check(dir)
    local names, hidden = listed(dir)
    for n in pairs(names) do assert(not n:find '%.tmp%-', n .. ' is left of a killed run') end
    assert(hidden == 0 and not names['set.h5.parts'] and not names['set.h5.lock'], 'leftovers of a run')
  end
end)
