-- report.lua - what a reader sees: the plan before, quality of the sampling, the page after, the speed of a machine.
local mc = require 'mascon'
local clock = require 'mascon.core.ffi'.clock_seconds
local generate = require 'workflows.rollout.generate'
local operator = require 'workflows.rollout.operator'
local sampling = require 'workflows.rollout.sampling'
local features = require 'workflows.rollout.features'
local M = {}

--- Lines on the work and the size of rows first .. last (from 0).
function M.plan(config, first, last)
  local n = last - first + 1
  local seen = math.min(n, 2000)
  local points = sampling.points(config, first + 1, first + seen)
  local flops, bytes = 0, 0
  local sim = config.simulation
  for i = 1, seen do
    local u = points[i]:totable()
    flops = flops + generate.cost(config, u)
    local arch = generate.describe(config, u)
    local widest = arch.base * 2 ^ math.min(math.max(arch.layers - 1, 0), 2)
    bytes = math.max(bytes,
      4 * sim.num_realizations * arch.grid ^ 2 * (4 * widest + 6 * arch.channels) + 4 * operator.parameters(arch))
  end
  local G, D = generate.largest_grid(config), #features.summary_names(sim.extract_operator_features)
  local columns = #features.temporal_names(generate.families(config))
  local row = 4 * (sim.channels * G * G + sim.num_timesteps * columns + sim.num_realizations * D + 3 * D)
  if config.dataset.storage.store_trajectories then
    row = row + 4 * sim.num_realizations * sim.num_timesteps * sim.channels * G * G end
  return { ('%d operators, %d realisations, %d states each, %d coordinates'):format(n, sim.num_realizations,
    sim.num_timesteps, #config.space.dims),
    ('work: %.4g TFLOP (mean %.3g GFLOP per application to one state)'):format(flops / seen * n / 1e12,
      flops / seen / sim.num_realizations / math.max(sim.num_timesteps - 1, 1) / 1e9),
    ('file: at most %s before compression'):format(mc.text.bytes(row * n)),
      ('memory of the largest operator: about %s'):format(mc.text.bytes(bytes)), ('output: '
      .. config.dataset.output_path) }
end

--- Lines on how evenly the points fill the space. shard: rows of the whole set, where q is of a part of it.
function M.quality(q, shard)
  local out = {}
  if q.discrepancy then out[#out + 1] = ('sampling: centred L2 discrepancy %.4g (squared)%s'):format(q.discrepancy,
    (q.discrepancy_ok or shard) and '' or ', above sampling.validation.max_discrepancy') end
  if q.max_correlation then
    out[#out + 1] = ('sampling: largest correlation of two coordinates %.4g%s'):format(q.max_correlation,
    (q.correlation_ok or shard) and '' or ', above sampling.validation.max_pairwise_correlation') end
  if shard then out[#out + 1] = ('sampling: these figures are of this shard; the limits are for all %d rows'):format(
    shard) end
  if q.looked_at < q.samples then
    out[#out + 1] = ('sampling: quality is that of the first %d of %d rows'):format(q.looked_at, q.samples) end
  return out
end

local function histogram(title, values, label)
  local fig = mc.plot.figure { title = title, width = 420, height = 280 }
  local ax = fig:axes(1, 1)
  ax:hist(values, { bins = 24 })
  ax:set { xlabel = label, ylabel = 'operators' }
  return fig
end

--- The page of a data set.
---@param path string
function M.page(path) return (require 'workflows.rollout.store'.page(path)) end

--- Writes PATH.html: distributions of parameters, features and failures. Returns its path.
---@param path string data set
---@return string
function M.write(path)
  local f = mc.open(path, { format = 'h5' })
  local params = f:dataset('/parameters/params'):read()
  local names = f:dataset('/parameters/params').attributes.names
  local status, bad = f:dataset('/metadata/status'):read(), f:dataset('/metadata/bad_step'):read()
  local kinds, policies = f:get '/metadata/ic_types', f:get '/metadata/evolution_policies'
  local about = f:group('/metadata').attributes
  local function counted(list)
    local n, order, rows = {}, {}, {}
    for _, k in ipairs(type(list) == 'table' and list or { list }) do
      if not n[k] then
        n[k] = 0
        order[#order + 1] = k
      end
      n[k] = n[k] + 1
    end
    table.sort(order)
    for i, k in ipairs(order) do rows[i] = { k, n[k] } end
    return rows
  end
  local figures = {}
  for i = 1, math.min(#names, 16) do
    local v = params[{ mc.all, i }]:to 'f64'
    if v:numel() > 1 and (v:max() - v:min()):item() > 0 then figures[#figures + 1] = histogram(names[i], v:totable(),
      'coordinate') end
  end
  local sections = { { heading = 'Parameters',
    paragraphs = ('%d operators; coordinates between 0 and 1.'):format(params.shape[1]), figures = figures } }
  local failed = {}
  for _, k in ipairs { 0, 1, 2 } do failed[#failed + 1] = { ({ 'good', 'non-finite', 'exploded' })[k + 1],
    mc.eq(status, k):to('f64'):sum():item() } end
  sections[#sections + 1] = { heading = 'Failures', table = { header = { 'realisations', 'number' }, rows = failed },
    paragraphs = ('Earliest step of a failure: %s.'):format(
    mc.gt(bad, -1):to('f64'):sum():item() > 0 and tostring(mc.where(mc.gt(bad, -1), bad,
      2 ^ 30):min():item()) or 'none') }
  sections[#sections + 1] = { heading = 'Initial fields', table = { header = { 'type', 'operators' },
    rows = counted(kinds) } }
  sections[#sections + 1] = { heading = 'Policies', table = { header = { 'policy', 'operators' },
    rows = counted(policies) } }
  if f:has '/features/summary/aggregated/features' then
    local agg = f:dataset('/features/summary/aggregated/features'):read():to 'f64'
    local list, rows = features.summary_names(agg.shape[2] / 3 > 110), {}
    for i = 1, math.min(#list, agg.shape[2] / 3) do
      local v = agg[{ mc.all, i }]
      local good = v[mc.isfinite(v)]
      rows[i] = good:numel() > 0 and { list[i], good:min():item(), mc.quantile(good, 0.5):item(), good:max():item(),
        v:numel() - good:numel() } or { list[i], '', '', '', v:numel() }
    end
    sections[#sections + 1] = { heading = 'Features (means over realisations)', table = { header = { 'feature',
      'least', 'median', 'largest', 'not finite' }, rows = rows, digits = 4 } }
  end
  sections[#sections + 1] = { heading = 'Sampling', code = about.sampling_metrics }
  f:close()
  local out = M.page(path)
  local ok, why = require('mascon.base.file').write(out, mc.report.html { title = 'Rollouts',
    subtitle = path:match '[^/]*$', sections = sections, footer = 'mascon ' .. mc.version })
  if not ok then error('rollout: ' .. why, 0) end
  return out
end

--- Speed of this machine with the operators of a configuration, a line each through say: an application to one state,
--- features of one state.
function M.bench(config, say)
  local points = sampling.points(config, 1, math.min(6, config.sampling.total_samples))
  say(('%-28s %10s %12s %14s'):format('operator', 'GFLOP', 'GFLOP/s', 'features, ms'))
  local function best(f)
    local least, spent = math.huge, 0
    repeat
      local begun = clock()
      mc.scope(f)
      local took = clock() - begun
      least, spent = math.min(least, took), spent + took
    until spent > 0.5
    return least
  end
  for i = 1, points.shape[1] do
    mc.scope(function()
      local arch = generate.describe(config, points[i]:totable())
      local apply = operator.build(arch, operator.weights(arch, 1, i))
      local x = mc.random.normal { 1, arch.channels, arch.grid, arch.grid, seed = 1 }:to 'f32'
      local seconds = best(function() apply(x) end)
      local per = best(function()
        local c = features.collector(1, arch.channels, arch.grid)
        for _ = 1, 8 do c:add(x, { true }) end
        c:finish()
      end) / 8
      local work = operator.flops(arch) / 1e9
      local name = ('L%d b%d k%d %s %dx%d'):format(arch.layers, arch.base, arch.kernel, arch.activation, arch.grid,
        arch.grid)
      say(('%-28s %10.3f %12.1f %14.2f'):format(name, work, work / seconds, per * 1e3))
    end)
  end
end

return M
