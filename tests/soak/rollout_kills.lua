-- rollout_kills.lua - data sets of rollouts whose generation is killed at random moments: files open, and resume to the
-- bits of one that was not stopped.
-- soak: 100
--
--     mascon tests/soak/rollout_kills.lua [--count N] [--seed N] [--seconds N] [--state FILE]
--
-- A case is killed up to four times (SIGKILL mostly, SIGTERM), sometimes with another batch size in between, then
-- finished. After each kill every file that is there must open, and hold rows of the whole run.
local mc = require 'mascon'
local here = debug.getinfo(1, 'S').source:match '^@(.*)/soak/[^/]*$' or 'tests'
local soak = dofile(here .. '/support/soak.lua')
local process = dofile(here .. '/support/process.lua')
local host = require 'mascon.host'

local at = process.folder()
host.on_exit(function() process.remove(at) end)

local config = assert(io.open(at .. '/c.yaml', 'w'))
config:write [[
metadata: { name: kills }
parameter_space:
  architecture:
    num_layers: { type: integer, bounds: [1, 4] }
    base_channels: { type: integer, bounds: [4, 6] }
    kernel_size: { type: choice, choices: [3, 5] }
  stochastic: { noise_scale: { type: continuous, bounds: [0.00001, 1.0], log_scale: true } }
  operator: { grid_size: { type: choice, choices: [8, 16] } }
  evolution: { update_policy: { type: choice, choices: [residual, convex] } }
sampling: { total_samples: 12, batch_size: 2, sobol: { seed: 7 } }
simulation:
  num_realizations: 2
  num_timesteps: 6
  input_generation: { method: sampled, ic_type_weights: { structured: 0.5, gaussian_random_field: 0.5 } }
dataset: { output_path: none.h5, storage: { chunk_size: 3 } }
]]
config:close()

local DATA = { '/parameters/params', '/inputs/fields', '/features/temporal/features',
  '/features/summary/per_trajectory/features', '/metadata/status', '/metadata/bad_step',
  '/features/summary/aggregated/features' }
local PART = { params = 1, inputs = 2, temporal = 3, summary = 4, status = 5, bad_step = 6, aggregated = 7 }

local function line(out, more)
  return ('MASCON_PROGRESS=0 %s scripts/rollout.lua generate --config %s/c.yaml --threads 1 --quiet --output %s %s')
    :format(host.exe, at, out, more or '')
end

--- The rows of a whole file by dataset, NaN compared as bits.
local function rows(path)
  local f, out = mc.open(path), {}
  for k, name in ipairs(DATA) do out[k] = f:dataset(name):read() end
  out.kinds = f:get '/metadata/ic_types'
  f:close()
  return out
end
local function same(want, got, name)
  assert(mc.manifest.hash(want:copy()) == mc.manifest.hash(got:copy()), name)
end

local begun = require 'mascon.core.ffi'.clock_seconds()
local whole = process.shell(line(at .. '/whole.h5'))
assert(whole.status == 0, whole.text)
local spent = require 'mascon.core.ffi'.clock_seconds() - begun
local want = rows(at .. '/whole.h5')

soak.run('rollout_kills', 100, arg, function(draw, k)
  local out = ('%s/k%d.h5'):format(at, k)
  for _ = 1, draw(1, 4) do
    local signal = draw(1, 4) == 1 and 'TERM' or 'KILL'
    local more = '--resume' .. (draw(1, 3) == 1 and ' --batch-size ' .. ({ 1, 3, 4, 6 })[draw(1, 4)] or '')
      .. (draw(1, 2) == 1 and ' --save-every 0' or '')
    process.shell(('timeout -s %s %.3f env %s'):format(signal, spent * draw(), line(out, more)))
    for _, p in ipairs(mc.file.exists(out .. '.parts') and process.list(out .. '.parts') or {}) do
      local a, b = p:match '^rows%-%x+%-(%d+)%-(%d+)%.h5$'
      if a then
        local f = mc.open(out .. '.parts/' .. p)
        for name, place in pairs(PART) do
          same(want[place][{ { tonumber(a) + 1, tonumber(b) + 1 } }], f:dataset('/' .. name):read(), p .. ' ' .. name)
        end
        f:close()
      end
    end
  end
  local r = process.shell(line(out, '--resume'))
  assert(r.status == 0, r.text)
  local got = rows(out)
  for i, name in ipairs(DATA) do same(want[i], got[i], name) end
  assert(table.concat(want.kinds, ' ') == table.concat(got.kinds, ' '), 'kinds')
  assert(not mc.file.exists(out .. '.parts') and not mc.file.exists(out .. '.lock'), 'parts or a lock are left')
  os.remove(out)
  os.remove((out:gsub('%.h5$', '.html')))
end)
