-- report.lua - what a reader sees: the plan before, quality of the sampling, the page after, the speed of a machine.
local mc = require 'mascon'
local clock = require 'mascon.base.clock'
local generate = require 'workflows.rollout.generate'
local operator = require 'workflows.rollout.operator'
local networks = require 'workflows.rollout.networks'
local sampling = require 'workflows.rollout.sampling'
local page = require 'workflows.rollout.page'
local features = require 'workflows.rollout.features'
local M = {}

--- The least seconds of a call among those of half a second.
local function best(f)
  local least, spent = math.huge, 0
  repeat
    local begun = clock.seconds()
    mc.scope(f)
    local took = clock.seconds() - begun
    least, spent = math.min(least, took), spent + took
  until spent > 0.5
  return least
end

--- Seconds of an application of an operator to one state, and of the features of that state.
local function seconds_of(arch)
  local weights = operator.weights(arch, 1, 0)
  local apply = operator.build(arch, weights)
  local x = mc.random.normal { 1, arch.channels, arch.grid, arch.grid, seed = 1 }:to 'f32'
  local step = best(function() apply(x, nil, 0, 2) end)
  local per = best(function()
    local c = features.collector(1, arch.channels, arch.grid)
    for _ = 1, 8 do c:add(x, { true }) end
    c:finish()
  end) / 8
  operator.release(weights)
  return step, per
end

--- Lines on the work, the time, the memory and the size of rows first .. last (from 0). The time is that of the
--- operator whose work is the median on this machine now, with its features. most: memory that the program may take.
function M.plan(config, first, last, most)
  local n = last - first + 1
  local points = sampling.points(config, first + 1, last + 1)
  local seen, flops, works, left = math.min(n, 2000), 0, {}, 0
  local sim = config.simulation
  local steps = sim.num_realizations * math.max(sim.num_timesteps - 1, 1)
  for i = 1, seen do
    local cost = generate.cost(config, points[i]:totable())
    flops = flops + cost
    if cost > 0 or networks.of(sim.operator_type).own then works[#works + 1] = { cost, i } else left = left + 1 end
  end
  table.sort(works, function(a, b) return a[1] < b[1] or a[1] == b[1] and a[2] < b[2] end)
  local seconds = 0
  if works[1] then
    local middle = works[math.ceil(#works / 2)]
    local step, per = mc.scope(function()
      return seconds_of(generate.describe(config, points[middle[2]]:totable()))
    end)
    local share = middle[1] > 0 and flops / (middle[1] / steps) or #works * steps -- steps of that operator
    seconds = (share * step + (#works * steps) * per) * n / seen
  end
  local G, D = generate.largest_grid(config), #features.summary_names(sim.extract_operator_features)
  local columns = #features.temporal_names(generate.families(config))
  local row = 4 * (sim.channels * G * G + sim.num_timesteps * columns + sim.num_realizations * D + 3 * D)
  if config.dataset.storage.store_trajectories then
    row = row + 4 * sim.num_realizations * sim.num_timesteps * sim.channels * G * G end
  local peak = mc.ceiling.resident() + generate.OVERHEAD + generate.room(config, points)
  local copies = generate.copies(config, points, n, flops / seen * n,
    { limit = most and mc.ceiling.bytes(most) })
  local out = { ('%d operators, %d realisations, %d states each, %d coordinates'):format(n, sim.num_realizations,
    sim.num_timesteps, #config.space.dims),
    ('work: %.4g TFLOP (mean %.3g GFLOP per application to one state)'):format(flops / seen * n / 1e12,
      flops / seen / steps / 1e9),
    ('time: about %s with %d threads%s'):format(mc.text.duration(seconds), mc.get_num_threads(),
      config.device ~= 'cpu' and (' of the CPU; that of %s is not known'):format(config.device) or ''),
    ('memory: peak %.1f MiB%s%s'):format(peak * (copies or 1) / 2 ^ 20, mc.args.there(config.device),
      copies and (', %d copies of the program side by side'):format(copies) or ''),
    ('file: at most %s before compression'):format(mc.text.bytes(row * n)), 'output: ' .. config.dataset.output_path }
  if left > 0 then
    out[#out + 1] = ('limits: about %d operators are beyond simulation.limits and stay out'):format(left / seen * n)
  end
  return out
end

--- Lines on how evenly the points fill the space; a set of too few rows for a limit is not held to it. shard: rows of
--- the whole set, where q is of a part of it.
function M.quality(q, shard)
  local out = {}
  local function line(words, value, fine, key)
    out[#out + 1] = ('sampling: %s%s'):format(words:format(value),
      (fine or shard) and '' or (', above sampling.validation.%s; more rows lower it'):format(key))
  end
  if q.discrepancy then
    line('centred L2 discrepancy %.4g (squared)', q.discrepancy, q.discrepancy_ok or q.few_for_discrepancy,
      'max_discrepancy')
  end
  if q.max_correlation then
    line('largest correlation of two coordinates %.4g', q.max_correlation,
      q.correlation_ok or q.few_for_correlation, 'max_pairwise_correlation')
  end
  if shard then out[#out + 1] = ('sampling: these figures are of this shard; the limits are for all %d rows'):format(
    shard) end
  if q.looked_at < q.samples then
    out[#out + 1] = ('sampling: quality is that of the first %d of %d rows'):format(q.looked_at, q.samples) end
  return out
end

--- The page of a data set.
---@param path string
function M.page(path) return page.of(path) end

--- Writes the page of a data set beside it; generate and merge do so themselves. Returns its path.
---@param path string data set
---@return string
function M.write(path)
  local out = page.of(path)
  page.put(out, page.text(path))
  return out
end

--- Speed of this machine with the operators of a configuration, a line each through say: an application to one state,
--- features of one state. verbose: how each layer is computed, too.
function M.bench(config, say, verbose)
  local points = sampling.points(config, 1, math.min(6, config.sampling.total_samples))
  say(('%-44s %10s %12s %14s'):format('operator', 'GFLOP', 'GFLOP/s', 'features, ms'))
  for i = 1, points.shape[1] do
    mc.scope(function()
      local arch = generate.describe(config, points[i]:totable())
      local seconds, per = seconds_of(arch)
      local work = operator.flops(arch) / 1e9 -- 0: a script registered it, and did not say
      say(('%-44s %10s %12s %14.2f'):format(networks.title(arch), work > 0 and ('%.3f'):format(work) or '-',
        work > 0 and ('%.1f'):format(work / seconds) or '-', per * 1e3))
      for _, line in ipairs(verbose and operator.explain(arch) or {}) do say('  ' .. line) end
    end)
  end
end

return M
