-- generate.lua - rows of a configuration: sampled, rolled out, reduced, written, merged.
--
-- A row is a function of (seed, index, configuration). Batches only say how often something is written.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local clock = require 'mascon.core.ffi'.clock_seconds
local sampling = require 'workflows.rollout.sampling'
local space = require 'workflows.rollout.space'
local operator = require 'workflows.rollout.operator'
local roll = require 'workflows.rollout.roll'
local fields = require 'workflows.rollout.fields'
local features = require 'workflows.rollout.features'
local streams = require 'workflows.rollout.streams'
local store = require 'workflows.rollout.store'
local error = check.error
local M = {}

M.VERSION = '2'

local function dtype_of(config) return config.simulation.precision == 'float64' and 'f64' or 'f32' end

local function regime(scale) return scale < 0.01 and 'low' or scale < 0.1 and 'medium' or 'high' end

--- What a point of the space means: architecture and policy, checked.
---@param config table
---@param u number[]
function M.describe(config, u)
  local values = space.values(config.space, u)
  local ok, arch, policy = pcall(function() return operator.architecture(values, config.simulation),
    roll.policy(values, config.simulation) end)
  if not ok then error(('%s: %s'):format(config.name, tostring(arch)), 0) end
  return arch, policy, values
end

--- Opt-in families of features that a configuration asks for, for features.temporal_names.
function M.families(config)
  local out = {}
  for _, name in ipairs(features.FAMILIES) do out[name] = config.features[name].enabled end
  return out
end

--- Rolls out rows whose operators have one key (operator.key), or one row. visit(t, x, alive, i): called with every
--- state of row i of the list; from t = 0 again where numbers passed the range of f16, in which case the row is made
--- anew with tensors stored in f32. us: their points in the space.
---@param config table
---@param indices integer[] rows, from 0
---@param us number[][]
---@param opts? table { visit, features (true), states (false) }
---@return table[] rows { input, kind, arch, policy, status, bad_step, temporal, summary, aggregated, states, seconds }
function M.rows(config, indices, us, opts)
  local o = opts or {}
  local sim, dtype, f = config.simulation, dtype_of(config), config.features
  local seed, B, T, begun = config.sampling.sobol.seed, sim.num_realizations, sim.num_timesteps, clock()
  local wanted = o.features ~= false and (f.temporal.enabled or f.summary.enabled)
  local archs, weights, specs, rows, collectors = {}, {}, {}, {}, {}
  for i, index in ipairs(indices) do
    local arch, policy = M.describe(config, us[i])
    local input, kind = fields.initial(config, index, arch.grid)
    archs[i], weights[i] = arch, operator.weights(arch, seed, index, dtype)
    rows[i] = { input = input, kind = kind, arch = arch, policy = policy, states = o.states and {} or nil }
    specs[i] = { policy = policy, x0 = input:to(dtype), realisations = B, steps = T, single = T == 1, seed = seed,
      index = index, divergence = sim.divergence, noise = arch.scale > 0 }
  end
  local function visit(i, t, x, alive)
    if t == 0 then
      local arch = archs[i]
      collectors[i] = wanted and features.collector(B, arch.channels, arch.grid, { temporal = f.temporal.enabled,
        summary = f.summary.enabled, families = M.families(config) })
      rows[i].states = o.states and {} or nil
      if T == 1 then return end -- one application: its result is the trajectory
    end
    if wanted then collectors[i]:add(x, alive) end
    if o.states then rows[i].states[#rows[i].states + 1] = tensor.hold(x:to 'f32') end
    if o.visit then o.visit(t, x, alive, i) end
  end
  local outcomes = roll.together(specs, operator.together(archs, weights), visit)
  for i, row in ipairs(rows) do
    local arch, index, extra = row.arch, indices[i], nil
    local past = false -- the range of f16
    for _, v in ipairs(outcomes[i].status) do past = past or v == 1 and arch.storage == 'f16' end
    if past then
      arch.storage = nil
      outcomes[i] = roll.together({ specs[i] }, operator.together({ arch }, { weights[i] }),
        function(_, ...) visit(i, ...) end)[1]
    end
    if wanted and f.summary.enabled and sim.extract_operator_features then
      local apply, x0, list = operator.build(arch, weights[i]), specs[i].x0, {}
      for m = 1, B do
        list[m] = features.sensitivity.of(function(x)
          return apply(x, arch.scale > 0 and { streams.source(seed, index, 'noise', m - 1, 0) } or nil, 0, T)
        end, x0:reshape(1, unpack(x0.shape)), streams.source(seed, index, 'probe', m - 1):normal { 1,
          unpack(x0.shape) }:to(dtype))
      end
      extra = mc.tensor(list)
    end
    local r = wanted and collectors[i]:finish(extra) or {}
    operator.release(weights[i])
    row.status, row.bad_step = outcomes[i].status, outcomes[i].bad_step
    row.temporal, row.summary, row.aggregated = r.temporal, r.summary, r.aggregated
    row.states = o.states and mc.stack(row.states, 2) or nil
  end
  for _, row in ipairs(rows) do row.seconds = (clock() - begun) / #rows end
  return rows
end

--- Rolls out one row: rows of one.
---@param config table
---@param index integer row, from 0
---@param u number[]
---@param opts? table as rows
---@return table
function M.row(config, index, u, opts) return M.rows(config, { index }, { u }, opts)[1] end

local BUCKET = 2 ^ 24 -- bytes of the widest layer of operators that are rolled out side by side, at about

--- Rows first .. last in lists { index, ... } of operators with one key, in the order of their first rows.
local function buckets(config, first, last, point)
  local out, open = {}, {}
  for index = first, last do
    local arch = M.describe(config, point(index))
    local key = operator.key(arch)
    local list = key and open[key]
    if not list then
      list = { most = 1 }
      out[#out + 1] = list
      if key then
        local wide = 0
        for _, l in ipairs(operator.layers(arch)) do wide = math.max(wide, l.cout * l.grid ^ 2) end
        list.most = math.max(1, math.floor(BUCKET / (4 * wide * config.simulation.num_realizations)))
      end
    end
    list[#list + 1] = index
    if key then open[key] = #list < list.most and list or nil end
  end
  return out
end

--- A field [.., g, g] in the middle of a larger grid of zeros.
local function centred(x, G)
  local nd = x.ndim
  local g = x.shape[nd]
  if g == G then return x end
  local left = math.floor((G - g) / 2)
  local pads = {}
  for k = 1, nd do pads[k] = k > nd - 2 and { left, G - g - left } or { 0, 0 } end
  return mc.pad(x, pads)
end

--- Largest grid that the space can give.
function M.largest_grid(config)
  for i, d in ipairs(config.space.dims) do
    if d.section == 'operator' and d.name == 'grid_size' then
      local best = 0
      for k = 0, 1000 do best = math.max(best, d.map(math.min(k / 1000, 0.9999999))) end
      return best, i
    end
  end
  return 64
end

--- Rows first .. last (from 0) as tensors stacked over rows.
function M.batch(config, points, first, last, opts)
  local o = opts or {}
  local G = M.largest_grid(config)
  local lists = { params = {}, inputs = {}, status = {}, bad_step = {}, temporal = {}, summary = {}, aggregated = {},
    outputs = {}, seconds = {}, grid = {} }
  local out = { first = first, last = last, ic_types = {}, policies = {}, regimes = {} }
  local function point(index) return points[index - (o.base or 0) + 1]:totable() end
  local done = {}
  for _, list in ipairs(buckets(config, first, last, point)) do
    local us = {}
    for i, index in ipairs(list) do us[i] = point(index) end
    local rows = M.rows(config, list, us, { states = config.dataset.storage.store_trajectories })
    for i, index in ipairs(list) do
      done[index] = rows[i]
      if o.step then o.step(rows[i]) end
    end
  end
  for index = first, last do
    local row = done[index]
    local function add(name, v) lists[name][#lists[name] + 1] = v end
    add('params', points[index - (o.base or 0) + 1]:to 'f32')
    add('inputs', centred(row.input, G):to 'f32')
    add('status', row.status)
    add('bad_step', row.bad_step)
    add('seconds', row.seconds)
    add('grid', row.arch.grid)
    if row.temporal then add('temporal', row.temporal:to 'f32') end
    if row.summary then
      add('summary', row.summary:to 'f32')
      add('aggregated', row.aggregated:to 'f32')
    end
    if row.states then
      local s = centred(row.states, G)
      add('outputs', config.simulation.num_timesteps == 1 and s[{ mc.all, 1 }] or s)
    end
    out.ic_types[#out.ic_types + 1], out.policies[#out.policies + 1], out.regimes[#out.regimes + 1] = row.kind,
      row.policy.policy, regime(row.arch.scale)
  end
  for _, name in ipairs { 'params', 'inputs', 'temporal', 'summary', 'aggregated',
    'outputs' } do if #lists[name] > 0 then out[name] = mc.stack(lists[name], 1) end end
  out.status, out.bad_step = mc.tensor(lists.status):to 'u8', mc.tensor(lists.bad_step):to 'i32'
  out.seconds, out.grid = mc.tensor(lists.seconds), mc.tensor(lists.grid):to 'i32'
  return out
end

--- Work of a row: multiplications and additions of all its steps.
function M.cost(config, u)
  local arch = M.describe(config, u)
  return operator.flops(arch) * config.simulation.num_realizations * math.max(config.simulation.num_timesteps - 1, 1)
end

local function whole(n) return mc.tensor(n, { dtype = 'i64' }) end

local function text_of(v)
  local function clean(t)
    if type(t) ~= 'table' then return t end
    local out = {}
    for k, w in pairs(t) do if type(w) ~= 'function' then out[k] = clean(w) end end
    return out
  end
  return mc.json.encode(clean(v))
end

--- What of a configuration decides the rows, as a hash.
function M.hash(config, first, last)
  local c = {}
  for _, k in ipairs { 'parameter_space', 'sampling', 'simulation', 'features' } do c[k] = config[k] end
  c.sampling = {}
  for k, v in pairs(config.sampling) do c.sampling[k] = v end
  c.sampling.batch_size = nil -- how often rows are written
  local names = table.concat(space.names(config.space), ' ')
  return mc.manifest.hash(text_of(c) .. names .. M.VERSION .. streams.SCHEME
    .. tostring(config.dataset.storage.store_trajectories) .. first .. ' ' .. last
    .. table.concat(features.summary_names(true), ' '))
end

local OPTS = { out = { nil, 'string' }, resume = { false, 'bool' }, overwrite = { false, 'bool' }, first = { 0,
  'integer >= 0' }, last = { nil, 'integer >= 0' }, quiet = { false, 'bool' } }

--- Stretches of at most `batch` rows between first and last that no part holds.
local function missing(parts, first, last, batch)
  local out, a = {}, first
  for k = 1, #parts + 1 do
    local stop = parts[k] and math.min(parts[k].first, last + 1) or last + 1
    while a < stop do
      out[#out + 1] = { a, math.min(a + batch - 1, stop - 1) }
      a = out[#out][2] + 1
    end
    if parts[k] then a = math.max(a, parts[k].last + 1) end
  end
  return out
end

--- Generates the data set of a configuration.
---@param config table of config.load
---@param opts? table out (path), resume, overwrite, first and last (rows from 0: a shard), quiet
---@return table { path, rows, failed, quality, shard (rows of the whole set, where these are a part), seconds, bad
--- (parts { path, first, last } of the stopped run that were damaged and made anew) }
--- Errors: an output that is there, or holds finished rows of a run that was stopped, unless resume or overwrite is
--- given; one that another process writes.
function M.run(config, opts)
  local o = check.opts('rollout.generate', opts, OPTS, 3)
  if type(config) ~= 'table' or type(config.sampling) ~= 'table' or type(config.dataset) ~= 'table' then
    error('rollout.generate.run: this is no configuration; give that of mc.rollout.config.load', 2)
  end
  local path = o.out or config.dataset.output_path
  local N = config.sampling.total_samples
  local first, last = o.first, o.last or N - 1
  if last >= N or first > last then error(('rollout: rows %d to %d of %d are asked for'):format(first, last, N), 0) end
  local r = store.alone(path, M.run_held, config, o, first, last)
  r.shard = (first > 0 or last < N - 1) and N or nil
  return r
end

--- run while nobody else writes the output.
function M.run_held(path, config, o, first, last)
  local points = sampling.points(config, first + 1, last + 1)
  local quality = sampling.quality(config, points)
  local hash = M.hash(config, first, last)
  for i = 1, math.min(points.shape[1], 4096) do M.describe(config,
    points[i]:totable()) end -- refuses before the work what no row could do
  local complete, bad = store.begin(path, hash, o)
  if complete then
    return { path = path, rows = last - first + 1, failed = 0, quality = quality, seconds = 0, complete = true,
      bad = bad }
  end
  local total, todo = 0, missing(store.parts(path, hash), first, last, config.sampling.batch_size)
  for _, t in ipairs(todo) do for i = t[1], t[2] do total = total + M.cost(config,
    points[i - first + 1]:totable()) end end
  local bar = not o.quiet and total > 0 and mc.progress.new(total / 1e9, { label = 'rollout', unit = 'GFLOP' })
  local begun, failed, done = clock(), 0, 0
  for _, t in ipairs(todo) do
    mc.scope(function()
      local b = M.batch(config, points, t[1], t[2], { base = first, step = function(row)
        for _, s in ipairs(row.status) do if s > 0 then failed = failed + 1 end end
        local sim = config.simulation
        done = done + operator.flops(row.arch) * sim.num_realizations * math.max(sim.num_timesteps - 1, 1)
        if bar then bar:update(done / 1e9) end
      end })
      store.put(path, hash, b)
    end)
  end
  if bar then bar:done() end
  store.merge(path, hash, M.about(config, first, last, quality))
  return { path = path, rows = last - first + 1, failed = failed, quality = quality, seconds = clock() - begun,
    bad = bad }
end

--- Attributes and plan of the file.
function M.about(config, first, last, quality)
  local f, sim, storage = config.features, config.simulation, config.dataset.storage
  local with = sim.extract_operator_features
  local temporal, summary = features.registry(with, M.families(config))
  local now = os.date '!%Y-%m-%dT%H:%M:%SZ'
  return { first = first, last = last, chunk = storage.chunk_size, level = storage.compression == 'gzip'
    and storage.compression_level or 0, steps = sim.num_timesteps,
    trajectories = storage.store_trajectories, names = space.names(config.space), temporal = f.temporal.enabled,
    metadata = { creation_date = now, version = '1.0', grid_size = whole(M.largest_grid(config)),
      num_realizations = whole(sim.num_realizations), num_parameter_sets = whole(last - first + 1),
      first_row = whole(first), total_rows = whole(config.sampling.total_samples), track_ic_metadata = true,
        config = text_of({ metadata = config.metadata, sampling = config.sampling, simulation = sim,
        dataset = config.dataset, features = f, parameter_space = config.parameter_space }),
          sampling_metrics = text_of(quality), seed_scheme = streams.SCHEME, configuration_sha256 = M.hash(config,
          first, last) },
    features = (f.temporal.enabled or f.summary.enabled)
      and { family_versions = mc.json.encode { temporal = features.VERSION, summary = features.VERSION },
      extraction_timestamp = now,
      temporal_registry = mc.json.encode(temporal) } or nil,
    summary = f.summary.enabled and { version = features.VERSION, feature_registry = mc.json.encode(summary),
      num_features = whole(#features.summary_names(with)) } or nil }
end

return M
