-- generate.lua - rows of a configuration: sampled, rolled out, reduced, written, merged.
--
-- A row is a function of (seed, index, configuration). Batches only say how often something is written.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local clock = require 'mascon.base.clock'
local sampling = require 'workflows.rollout.sampling'
local space = require 'workflows.rollout.space'
local parameters = require 'workflows.rollout.parameters'
local operator = require 'workflows.rollout.operator'
local roll = require 'workflows.rollout.roll'
local fields = require 'workflows.rollout.fields'
local features = require 'workflows.rollout.features'
local streams = require 'workflows.rollout.streams'
local store = require 'workflows.rollout.store'
local page = require 'workflows.rollout.page'
local place = require 'workflows.rollout.place'
local crew = require 'workflows.rollout.crew'
local config_of = require 'workflows.rollout.config'
local error = check.error
local M = {}

M.VERSION = '8'

local function dtype_of(config) return config.simulation.precision == 'float64' and 'f64' or 'f32' end

local function regime(arch)
  if arch.noise == 'none' or arch.scale == 0 then return 'none' end
  return arch.scale < 0.01 and 'low' or arch.scale < 0.1 and 'medium' or 'high'
end

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

local SMALL = 1e9 -- work of a step, below which its ops are too short to be divided among threads

--- f(...) with one thread.
local function single(f, ...)
  local threads = mc.get_num_threads()
  if threads == 1 then return f(...) end
  mc.set_num_threads(1)
  local r = { pcall(f, ...) }
  mc.set_num_threads(threads)
  if not r[1] then error(r[2], 0) end
  return unpack(r, 2, table.maxn(r))
end

--- f(...), with one thread where a step of n operators is small.
local function short(config, arch, n, f, ...)
  local step = operator.flops(arch) * config.simulation.num_realizations * n
  if step == 0 or step > SMALL then return f(...) end
  return single(f, ...)
end

--- Bytes of an operator with one thread, so that limits and plans do not hang on the machine.
local function bytes_of(config, arch) return (single(operator.bytes, arch, 1, config.simulation.num_realizations)) end

--- Opt-in families of features that a configuration asks for, for features.temporal_names.
function M.families(config)
  local out = {}
  for _, name in ipairs(features.FAMILIES) do out[name] = config.features[name].enabled end
  return out
end

-- why a row is no data to learn from, as the file keeps it
M.FILTERED = { 'failed', 'flat', 'still', 'work', 'memory' } -- 1 .. 5; 0: kept
local PLACE = {}
for k, name in ipairs(M.FILTERED) do PLACE[name] = k end

--- Why the limits of a configuration keep a row from being rolled out: work, memory or nil.
local function beyond(config, arch)
  local sim = config.simulation
  local l = sim.limits
  if l.gflop and M.work(config, arch) > l.gflop * 1e9 then return 'work' end
  if l.memory and bytes_of(config, arch) > mc.ceiling.bytes(l.memory) then return 'memory' end
end

--- What filters look at while a row is rolled out: the spread of its first and last states and the last change, per
--- realisation.
local function watch(config)
  local T, first, before, spread, change = config.simulation.num_timesteps, nil, nil, nil, nil
  local function rms(x) return (x * x):reshape(x.shape[1], -1):mean(2):sqrt():totable() end
  local function std(x) return x:reshape(x.shape[1], -1):std(2):totable() end
  return {
    visit = function(t, x)
      if t == 0 then first, before, spread, change = std(x), nil, nil, nil end
      if T > 1 and t == T - 2 then before = tensor.hold(x:copy()) end
      if t == math.max(T - 1, 1) then
        spread = std(x)
        if before then
          change = rms(x - before)
          before:release()
        end
      end
    end,
    --- The first filter that a row meets: failed, flat, still or nil.
    met = function(filters, status)
      local failed, living = 0, {}
      for m, s in ipairs(status) do
        if s > 0 then failed = failed + 1 else living[#living + 1] = m end
      end
      if filters.failed and failed / #status >= filters.failed then return 'failed' end
      if #living == 0 then return nil end
      local flat, still = filters.flat ~= nil, filters.still ~= nil and change ~= nil
      for _, m in ipairs(living) do
        flat = flat and spread[m] <= filters.flat * first[m]
        still = still and change[m] <= filters.still * spread[m]
      end
      return flat and 'flat' or still and 'still' or nil
    end,
  }
end

--- A row that is not rolled out: the shapes of one that is, filled with NaN.
local function left_out(config, row, wanted, with_states)
  local sim, f = config.simulation, config.features
  local B, T, arch = sim.num_realizations, sim.num_timesteps, row.arch
  local function nan(...) return tensor.hold(mc.full({ ... }, 0 / 0, { dtype = 'f32' })) end
  row.status, row.bad_step = {}, {}
  for m = 1, B do row.status[m], row.bad_step[m] = M.LEFT_OUT, -1 end
  if wanted and f.temporal.enabled then row.temporal = nan(T, #features.temporal_names(M.families(config))) end
  if wanted and f.summary.enabled then
    local D = #features.summary_names(sim.extract_operator_features)
    row.summary, row.aggregated = nan(B, D), nan(3 * D)
  end
  row.states = with_states and nan(B, T, arch.channels, arch.grid, arch.grid) or nil
end

--- Shows the states that a file holds instead of rolling operators out: outcomes as roll.together gives them.
local function played(stored, indices, specs, visit)
  local out = {}
  for i, index in ipairs(indices) do
    local states, status, bad_step = stored(index)
    local B, x0, steps = #status, specs[i].x0, states.shape[2]
    local alive, more = {}, specs[i].single and 1 or 0 -- one application: the file holds its result
    if more == 1 then
      visit(i, 0, roll.post(specs[i].policy, mc.broadcast_to(x0:expand_dims(1), { B, unpack(x0.shape) }):copy()), {})
    end
    for t = 0, steps - 1 do
      for m = 1, B do alive[m] = bad_step[m] < 0 or t + more < bad_step[m] end
      visit(i, t + more, states[{ mc.all, t + 1 }]:to('f32'):copy(), alive) -- features are of f32
    end
    out[i] = { status = status, bad_step = bad_step }
  end
  return out
end

M.LEFT_OUT = 3 -- status of a realisation of a row beyond the limits

--- The operator's sensitivity [B, 10]. It is a feature, so layers hand on what they compute, whatever the storage: f16
--- would lose the small probes, and numbers beyond its range.
local function sensitivity(config, arch, weights, x0, index)
  local sim, seed, wide, list = config.simulation, config.sampling.sobol.seed, {}, {}
  for k, v in pairs(arch) do wide[k] = v end
  wide.storage = nil
  local apply, x = operator.build(wide, weights), x0:expand_dims(1)
  for m = 1, sim.num_realizations do
    local probe = streams.source(seed, index, 'probe', m - 1):normal { 1, unpack(x0.shape) }
    list[m] = features.sensitivity.of(function(y)
      return apply(y, arch.scale > 0 and { streams.source(seed, index, 'noise', m - 1, 0) } or nil, 0,
        sim.num_timesteps)
    end, x, probe:to { device = config.device, dtype = x0.dtype })
  end
  return mc.tensor(list)
end

local function rows_of(config, indices, us, opts)
  local o = opts or {}
  local sim, dtype, f = config.simulation, dtype_of(config), config.features
  local seed, B, T, begun = config.sampling.sobol.seed, sim.num_realizations, sim.num_timesteps, clock.seconds()
  local wanted = o.features ~= false and (f.temporal.enabled or f.summary.enabled)
  local archs, weights, specs, rows, collectors, watches = {}, {}, {}, {}, {}, {}
  for i, index in ipairs(indices) do
    local arch, policy = M.describe(config, us[i])
    local input, kind = fields.initial(config, index, arch.grid)
    archs[i] = arch
    rows[i] = { input = input:to 'f32', kind = kind, arch = arch, policy = policy, filtered = 0,
      states = o.states and {} or nil }
    specs[i] = { policy = policy, x0 = input:to { device = config.device, dtype = dtype }, realisations = B, steps = T,
      single = T == 1, seed = seed, index = index, divergence = sim.divergence, noise = arch.scale > 0 }
  end
  local why = beyond(config, archs[1])
  if why then
    for _, row in ipairs(rows) do
      row.filtered, row.seconds = PLACE[why], 0
      left_out(config, row, wanted, o.states)
    end
    return rows
  end
  for i, index in ipairs(indices) do
    if not o.stored or sim.extract_operator_features then
      weights[i] = place.weights(operator.weights(archs[i], seed, index, dtype), config.device)
    end
    if next(sim.filters) then watches[i] = watch(config) end
  end
  local function visit(i, t, x, alive)
    x = x:to 'cpu'
    if t == 0 then
      local arch = archs[i]
      collectors[i] = wanted and features.collector(B, arch.channels, arch.grid, { temporal = f.temporal.enabled,
        summary = f.summary.enabled, families = M.families(config) })
      rows[i].states = o.states and {} or nil
    end
    if watches[i] then watches[i].visit(t, x) end
    if t == 0 then
      if T == 1 then return end -- one application: its result is the trajectory
    end
    if wanted then collectors[i]:add(x, alive) end
    if o.states then rows[i].states[#rows[i].states + 1] = tensor.hold(x:to 'f32') end
    if o.visit then o.visit(t, x, alive, i) end
  end
  local outcomes = o.stored and played(o.stored, indices, specs, visit)
    or roll.together(specs, operator.together(archs, weights), visit)
  for i, row in ipairs(rows) do
    local arch, index, extra = row.arch, indices[i], nil
    local past = false -- the range of f16
    for _, v in ipairs(outcomes[i].status) do past = past or v == 1 and arch.storage == 'f16' and not o.stored end
    if past then
      arch.storage = nil
      outcomes[i] = roll.together({ specs[i] }, operator.together({ arch }, { weights[i] }),
        function(_, ...) visit(i, ...) end)[1]
    end
    if wanted and f.summary.enabled and sim.extract_operator_features then
      extra = sensitivity(config, arch, weights[i], specs[i].x0, index)
    end
    local r = wanted and collectors[i]:finish(extra) or {}
    operator.release(weights[i])
    row.status, row.bad_step = outcomes[i].status, outcomes[i].bad_step
    row.filtered = watches[i] and PLACE[watches[i].met(sim.filters, row.status)] or 0
    row.temporal, row.summary, row.aggregated = r.temporal, r.summary, r.aggregated
    row.states = o.states and mc.stack(row.states, 2) or nil
  end
  for _, row in ipairs(rows) do row.seconds = (clock.seconds() - begun) / #rows end
  return rows
end

--- Rolls out rows whose operators have one key (operator.key), all within the limits of the configuration or all
--- beyond, or one row. visit(t, x, alive, i): called with every
--- state of row i of the list; from t = 0 again where numbers passed the range of f16, in which case the row is made
--- anew with tensors stored in f32. us: their points in the space.
---@param config table
---@param indices integer[] rows, from 0
---@param us number[][]
---@param opts? table { visit, features (true), states (false), stored: f(index), which gives the states [M, T, C, G, G]
--- of a row, its status and bad_step, so that nothing is rolled out }
---@return table[] rows { input, kind, arch, policy, status, bad_step, filtered (0, or a place in M.FILTERED), temporal,
--- summary, aggregated, states, seconds }
function M.rows(config, indices, us, opts)
  check.arg('rollout.generate.rows', 'config', config, 'table', 3)
  check.arg('rollout.generate.rows', 'indices', indices, 'table', 3)
  check.arg('rollout.generate.rows', 'us', us, 'table', 3)
  if not us[1] then return {} end
  return short(config, (M.describe(config, us[1])), #us, rows_of, config, indices, us, opts)
end

--- Rolls out one row: rows of one.
---@param config table
---@param index integer row, from 0
---@param u number[]
---@param opts? table as rows
---@return table
function M.row(config, index, u, opts)
  check.arg('rollout.generate.row', 'config', config, 'table', 3)
  check.arg('rollout.generate.row', 'index', index, 'integer >= 0', 3)
  check.arg('rollout.generate.row', 'u', u, 'table', 3)
  return M.rows(config, { index }, { u }, opts)[1]
end

-- bytes of the widest layer of operators that are rolled out side by side, at about; what stays in cache: small
-- operators (2 layers, 16 channels, 64 x 64) take 0.20 s alone, 0.165 s by two, 0.195 s by ten
local BUCKET = 2 ^ 22

--- How many operators of an architecture are rolled out side by side at most.
local function side_by_side(config, arch)
  if not operator.key(arch) then return 1 end
  local wide = 0
  for _, l in ipairs(operator.layers(arch)) do wide = math.max(wide, l.cout * l.grid ^ 2) end
  return math.max(1, math.floor(BUCKET / (4 * wide * config.simulation.num_realizations)))
end

--- Bytes of HDF5, of fields and of values of Lua while rows are made, at about.
M.OVERHEAD = 32 * 2 ^ 20
local PROGRAM = 32 * 2 ^ 20 -- of a copy of the program before it makes rows

--- Bytes of the largest bucket of operators among points, with what collects its features, and of the rows of a batch
--- until they are written.
---@param config table
---@param points mascon.Tensor [n, d]
---@return number
function M.bytes(config, points)
  local sim, n, seen, widest = config.simulation, points.shape[1], {}, 0
  local counts, most = {}, {} -- by sizes: rows, and bytes of the one with the most noise
  for i = 1, n do
    local arch = M.describe(config, points[i]:totable())
    if not beyond(config, arch) then
      local key, bytes = operator.size_key(arch), bytes_of(config, arch)
      counts[key] = (counts[key] or 0) + 1
      if bytes > (most[key] or 0) then seen[key], most[key] = arch, bytes end
    end
  end
  local G = M.largest_grid(config)
  for key, arch in pairs(seen) do
    local k = math.min(side_by_side(config, arch), counts[key], config.sampling.batch_size)
    local held, work = features.bytes(sim.num_realizations, sim.channels, arch.grid, sim.num_timesteps)
    -- layers and features take turns
    local bytes, layers = short(config, arch, k, operator.bytes, arch, k, sim.num_realizations)
    widest = math.max(widest, bytes - layers + math.max(layers, work) + k * held)
  end
  local row = 4 * (sim.channels * G * G + sim.num_timesteps * #features.temporal_names(M.families(config))
    + (sim.num_realizations + 3) * #features.summary_names(sim.extract_operator_features))
  if config.dataset.storage.store_trajectories then
    row = row + 4 * sim.num_realizations * sim.num_timesteps * sim.channels * G * G
  end
  local summary = config.features.summary.enabled and #features.summary_names(sim.extract_operator_features) or 0
  return math.max(widest + 2 * row * math.min(n, config.sampling.batch_size), page.bytes(n, summary))
end

--- Rows first .. last in lists { index, ... } of operators with one key, all within the limits or all beyond, at most
--- `most` in a list, in the order of their first rows.
local function buckets(config, first, last, point, most)
  local out, open, room = {}, {}, {}
  for index = first, last do
    local arch = M.describe(config, point(index))
    local key = operator.key(arch)
    key = key and key .. (beyond(config, arch) or '') -- noise takes memory and is not of the key
    local list = key and open[key]
    if not list then
      list = {}
      out[#out + 1], room[list] = list, math.min(most, side_by_side(config, arch))
    end
    list[#list + 1] = index
    if key then open[key] = #list < room[list] and list or nil end
  end
  return out
end

--- Bytes that live and remembered blocks may take while rows are made: those that the next bucket takes again are kept.
function M.room(config, points) return 1.5 * M.bytes(config, points) + 2 ^ 24 end

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
  local grids = space.possible(config.space, 'operator', 'grid_size')
  return grids and math.max(unpack(grids)) or parameters.default('operator', 'grid_size')
end

--- Finished rows first .. last of `done` as tensors stacked over rows.
local function stacked(config, points, base, done, first, last)
  local G = M.largest_grid(config)
  local lists = { params = {}, inputs = {}, status = {}, bad_step = {}, temporal = {}, summary = {}, aggregated = {},
    outputs = {}, seconds = {}, grid = {}, filtered = {} }
  local out = { first = first, last = last, ic_types = {}, policies = {}, regimes = {} }
  for index = first, last do
    local row = done[index]
    local function add(name, v) lists[name][#lists[name] + 1] = v end
    add('params', points[index - base + 1]:to 'f32')
    add('inputs', centred(row.input, G):to 'f32')
    add('status', row.status)
    add('bad_step', row.bad_step)
    add('seconds', row.seconds)
    add('grid', row.arch.grid)
    add('filtered', row.filtered)
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
      row.policy.policy, regime(row.arch)
  end
  for _, name in ipairs { 'params', 'inputs', 'temporal', 'summary', 'aggregated',
    'outputs' } do if #lists[name] > 0 then out[name] = mc.stack(lists[name], 1) end end
  out.status, out.bad_step = mc.tensor(lists.status):to 'u8', mc.tensor(lists.bad_step):to 'i32'
  out.seconds, out.grid = mc.tensor(lists.seconds), mc.tensor(lists.grid):to 'i32'
  out.filtered = mc.tensor(lists.filtered):to 'u8'
  return out
end

local SHARE = 0.05 -- of the time that writing of finished rows may take before opts.every has passed

local PARTS = { 'input', 'temporal', 'summary', 'aggregated', 'states' } -- tensors of a row

--- Rows first .. last as they come, on their way to parts.
local Stretch = {}
Stretch.__index = Stretch

--- opts: as batch. most: rows of a list, which are made together.
local function stretch(config, points, first, last, o, most)
  local base = o.base or 0
  local self = setmetatable({ config = config, points = points, base = base, first = first, last = last, done = {},
    fresh = {}, written = clock.seconds(), cost = 0, opts = o }, Stretch)
  self.lists = buckets(config, first, last, function(index) return points[index - base + 1]:totable() end, most)
  self.left = #self.lists
  return self
end

--- Points of the rows of a list.
function Stretch:us(list)
  local us = {}
  for i, index in ipairs(list) do us[i] = self.points[index - self.base + 1]:totable() end
  return us
end

function Stretch:stacked(first, last) return stacked(self.config, self.points, self.base, self.done, first, last) end

--- Hands finished rows over, in pieces without gaps.
function Stretch:put()
  table.sort(self.fresh)
  local from, begun = 1, clock.seconds()
  for k = 1, #self.fresh do
    if self.fresh[k + 1] ~= self.fresh[k] + 1 then
      mc.scope(function() self.opts.part(self:stacked(self.fresh[from], self.fresh[k])) end)
      from = k + 1
    end
  end
  self.fresh, self.written = {}, clock.seconds()
  self.cost = self.written - begun
end

--- Takes the rows of a list.
function Stretch:take(list, rows)
  local o = self.opts
  for i, index in ipairs(list) do
    self.done[index], self.fresh[#self.fresh + 1] = rows[i], index
    if o.step then o.step(rows[i]) end
  end
  self.left = self.left - 1
  if o.part and self.left > 0 and clock.seconds() - self.written >= math.min(o.every, self.cost / SHARE) then
    self:put()
  end
end

--- Rows first .. last (from 0) as tensors stacked over rows.
---@param config table
---@param points mascon.Tensor of the rows from opts.base on
---@param first integer
---@param last integer
---@param opts? table base (0) · step(row): called with each row · every, part(rows): called with rows that are
--- finished, as this function gives them, when that many seconds have passed since it was, so that a kill costs no more
--- than that, and sooner while writing takes little of the time · stored: as rows
---@return table
function M.batch(config, points, first, last, opts)
  local o = opts or {}
  local s = stretch(config, points, first, last, o, math.huge)
  for _, list in ipairs(s.lists) do
    local rows
    local ok, why = pcall(mc.scope, function() -- what the next list takes is free by then
      rows = M.rows(config, list, s:us(list), { states = config.dataset.storage.store_trajectories, stored = o.stored })
      for _, row in ipairs(rows) do
        for _, name in ipairs(PARTS) do if row[name] then mc.keep(row[name]) end end
      end
    end)
    if not ok then -- a signal, or an error of an own function
      if o.part then s:put() end
      error(why, 0)
    end
    s:take(list, rows)
  end
  return s:stacked(first, last)
end

--- Work of a row with an architecture: multiplications and additions of all its steps.
function M.work(config, arch)
  local sim = config.simulation
  return operator.flops(arch) * sim.num_realizations * math.max(sim.num_timesteps - 1, 1)
end

--- The same of the row at a point of the space, 0 where limits keep it from being rolled out.
function M.cost(config, u)
  local arch = M.describe(config, u)
  return beyond(config, arch) and 0 or M.work(config, arch)
end

local function whole(n) return mc.tensor(n, { dtype = 'i64' }) end

local text_of = config_of.json

--- What identifies the own operators, fields and features that the rows of a configuration hang on.
---@param config table
---@return table[] of own.record
function M.own(config)
  local out = { operator.record(config.simulation.operator_type) }
  for _, r in ipairs(fields.records(config)) do out[#out + 1] = r end
  if config.features.summary.enabled then
    for _, r in ipairs(features.records()) do out[#out + 1] = r end
  end
  return out
end

--- What decides the rows, as a hash: the configuration and own functions. How many rows there are does so only where
--- coordinates hang on it (lhs).
---@param config table
---@param own? table[] of M.own
---@return string
function M.hash(config, own)
  local c = {}
  for _, k in ipairs { 'parameter_space', 'sampling', 'simulation', 'features' } do c[k] = config[k] end
  c.sampling = {}
  for k, v in pairs(config.sampling) do c.sampling[k] = v end
  c.sampling.batch_size, c.sampling.validation = nil, nil -- how often rows are written, what a report says
  if M.grows(config) then c.sampling.total_samples = nil end
  c.simulation = {}
  for k, v in pairs(config.simulation) do c.simulation[k] = v end
  c.simulation.device = config.device:match '^%l+' -- rounding is that of the kind of device
  local names, mine = table.concat(space.names(config.space), ' '), {}
  for i, r in ipairs(own or M.own(config)) do mine[i] = ('%s %s %s'):format(r.kind, r.name, r.sha256) end
  return mc.manifest.hash(text_of(c) .. names .. M.VERSION .. streams.SCHEME
    .. tostring(config.dataset.storage.store_trajectories) .. table.concat(mine, ' ')
    .. table.concat(features.summary_names(true), ' '))
end

--- Whether rows stay what they are when sampling.total_samples grows: latin hypercubes are made for their number.
function M.grows(config) return config.sampling.strategy ~= 'lhs' end

local OPTS = { out = { nil, 'string' }, resume = { false, 'bool' }, overwrite = { false, 'bool' }, first = { 0,
  'integer >= 0' }, last = { nil, 'integer >= 0' }, quiet = { false, 'bool' },
  max_memory = { nil, 'number > 0 | string' }, save_every = { 2, 'number >= 0' }, copies = { nil, 'integer >= 1' },
  stored = { nil, 'function' } }

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
---@param opts? table out (path), resume, overwrite, first and last (rows from 0: a shard), quiet, max_memory (bytes or
--- "2GiB" that the whole program may take; the rows do not depend on it), save_every (2: seconds after which finished
--- rows are written, so that a kill costs what was under way and no more than that time), copies (of the program
--- that make rows side by side, each with one thread; by itself as many as threads, where the work is worth it), stored
--- (as rows: states that a file holds)
---@return table { path, rows, there (rows that were finished before), failed (realisations), filtered (rows), quality,
--- shard (rows of the whole set, where
--- these are a part), seconds, writing (seconds of them), alone (why no copies made rows, where they were wanted),
--- bad (parts { path, first, last } of the stopped run that were
--- damaged and made anew) }
--- Errors: an output that is there, or holds finished rows of a run that was stopped, unless resume or overwrite is
--- given; one that another process writes; a max_memory that is too small.
function M.run(config, opts)
  local o = check.opts('rollout.generate', opts, OPTS, 3)
  if type(config) ~= 'table' or type(config.sampling) ~= 'table' or type(config.dataset) ~= 'table' then
    error('rollout.generate.run: this is no configuration; give that of mc.rollout.config.load', 2)
  end
  local path = o.out or config.dataset.output_path
  local N = config.sampling.total_samples
  local first, last = o.first, o.last or N - 1
  if last >= N or first > last then error(('rollout: rows %d to %d of %d are asked for'):format(first, last, N), 0) end
  local limit = o.max_memory and mc.ceiling.bytes(o.max_memory)
  if o.max_memory and not limit then
    error(('rollout: max_memory is %s; give bytes, or a size such as 2GiB'):format(check.show(o.max_memory)), 0)
  end
  local r = mc.ceiling.with(limit, store.alone, path, M.run_held, config, o, first, last)
  r.shard = (first > 0 or last < N - 1) and N or nil
  return r
end

local LEAST = 1e11 -- work of a run, below which copies of the program are not worth their start

--- How many copies of the program make rows side by side, and the bytes that each may take where there is a bound; nil:
--- this program makes them, with all its threads.
---@param config table
---@param points mascon.Tensor
---@param rows integer
---@param work number of the rows
---@param o? table copies, stored, as run · limit: bytes that the whole program may take
---@return integer?
---@return number?
function M.copies(config, points, rows, work, o)
  o = o or {}
  local n, need = o.copies or mc.get_num_threads(), M.room(config, points) + M.OVERHEAD
  if not o.copies and (rows < n or work < LEAST) then return nil end
  local limit = o.limit or mc.memory().limit > 0 and mc.memory().limit or nil
  local left = limit and limit - mc.ceiling.resident()
  if left then n = math.min(n, math.floor(left / (need + PROGRAM))) end
  local own = o.stored or config.dataset.storage.store_trajectories or config.device ~= 'cpu' or #M.own(config) > 0
  if n < 2 or own or not crew.possible() then return nil end
  return n, left and left / n
end

--- Stretches of rows made by copies of the program; finish(s) is called with each that has all its rows. how: { n,
--- most, limit }: copies, rows of a list, bytes of a copy. False and why where no copy can be started.
local function beside(config, points, due, opts, how, finish)
  local all, reason = crew.start(config, how.n, how.limit, M.room(config, points))
  if not all then return false, reason end
  local stretches, lists, asked = {}, {}, {}
  for k, t in ipairs(due) do
    local s = stretch(config, points, t[1], t[2], opts, how.most)
    stretches[k] = s
    for _, list in ipairs(s.lists) do
      lists[#lists + 1], asked[#asked + 1] = { s, list }, { indices = list, us = s:us(list) }
    end
  end
  local function take(k, rows)
    local s, list = unpack(lists[k])
    for i, row in ipairs(rows) do row.arch, row.policy = M.describe(config, asked[k].us[i]) end
    s:take(list, rows)
    if s.left > 0 then return end
    finish(s)
    for _, row in pairs(s.done) do
      for _, name in ipairs(PARTS) do if row[name] then row[name]:release() end end
    end
    s.done, s.fresh = {}, {}
  end
  local ok, why = pcall(all.each, all, asked, take)
  all:stop()
  if ok then return true end
  for _, s in ipairs(stretches) do s:put() end -- a signal: what is finished is kept
  error(why, 0)
end

--- Makes the stretches of rows that are `due`, a part each. The seconds that went into writing, and why no copy of the
--- program made rows where copies were wanted.
local function make(path, made, config, points, due, first, o, limit)
  local total, rows = 0, 0
  for _, t in ipairs(due) do
    for i = t[1], t[2] do total, rows = total + M.cost(config, points[i - first + 1]:totable()), rows + 1 end
  end
  local bar = not o.quiet and total > 0 and mc.progress.new(total / 1e9, { label = 'rollout', unit = 'GFLOP' })
  local begun, done, operators, writing = clock.seconds(), 0, 0, 0
  local function step(row)
    operators = operators + 1
    if row.status[1] ~= M.LEFT_OUT then done = done + M.work(config, row.arch) end
    if bar then
      bar:update(done / 1e9, ('%d of %d operators, %.3g a second'):format(operators, rows,
        operators / math.max(clock.seconds() - begun, 1e-9)))
    end
  end
  local function put(batch)
    local from = clock.seconds()
    store.put(path, made, batch)
    writing = writing + clock.seconds() - from
  end
  local opts = { base = first, step = step, every = o.save_every, part = put, stored = o.stored }
  local n, each = M.copies(config, points, rows, total, { copies = o.copies, stored = o.stored, limit = limit })
  local away, alone = false, nil
  if n then
    local how = { n = n, most = math.ceil(rows / n), limit = each }
    away, alone = beside(config, points, due, opts, how, function(s)
      mc.scope(function() put(s:stacked(s.first, s.last)) end)
      store.thin(path, made.hash, s.first, s.last)
    end)
  end
  if not away then
    for _, t in ipairs(due) do
      mc.scope(function() -- the part of the batch takes the place of those within it
        put(M.batch(config, points, t[1], t[2], opts))
      end)
      store.thin(path, made.hash, t[1], t[2])
    end
  end
  if bar then bar:done() end
  return writing, alone
end

--- How many realisations of a file failed, how many rows are filtered.
local function counts(path)
  local f = mc.open(path, { format = 'h5' })
  local status, filtered = f:dataset '/metadata/status':read(), f:dataset '/metadata/filtered':read()
  f:close()
  local failed = mc.logical_and(mc.gt(status, 0), mc.ne(status, M.LEFT_OUT))
  return failed:to('f64'):sum():item(), mc.gt(filtered, 0):to('f64'):sum():item()
end

--- run while nobody else writes the output.
function M.run_held(path, config, o, first, last)
  local points = sampling.points(config, first + 1, last + 1)
  local quality = sampling.quality(config, points)
  local own = M.own(config)
  local made = { hash = M.hash(config, own), own = own, points = points, first = first, last = last,
    grows = M.grows(config) }
  local need = M.bytes(config, points) -- looks at every row, so that none is refused in the middle of the work
  mc.ceiling.need('rollout', need + M.OVERHEAD, 'the largest operator of the space, with what the program adds,')
  local complete, bad, whole_file = store.begin(path, made, o)
  if complete then
    local failed, filtered = counts(path)
    return { path = path, rows = last - first + 1, failed = failed, filtered = filtered, quality = quality, seconds = 0,
      complete = true, bad = bad }
  end
  local held = store.parts(path, made.hash)
  if whole_file then table.insert(held, 1, whole_file) end
  local due, begun = missing(held, first, last, config.sampling.batch_size), clock.seconds()
  local there = last - first + 1
  for _, t in ipairs(due) do there = there - (t[2] - t[1] + 1) end
  local limit = o.max_memory and mc.ceiling.bytes(o.max_memory)
  local writing, alone = mc.ceiling.beside(M.room(config, points), make, path, made, config, points, due,
    first, o, limit)
  local from = clock.seconds()
  store.merge(path, made.hash, M.about(config, first, last, quality, made), whole_file)
  writing = writing + clock.seconds() - from
  local failed, filtered = counts(path)
  return { path = path, rows = last - first + 1, there = there > 0 and there or nil,
    failed = failed, filtered = filtered, quality = quality,
    seconds = clock.seconds() - begun, writing = writing, alone = alone, bad = bad }
end

--- Attributes and plan of the file. made: { hash, own, points }.
function M.about(config, first, last, quality, made)
  local f, sim, storage = config.features, config.simulation, config.dataset.storage
  local with = sim.extract_operator_features
  local temporal, summary = features.registry(with, M.families(config))
  local now = clock.stamp()
  return { first = first, last = last, chunk = storage.chunk_size, level = store.level(config),
    steps = sim.num_timesteps, trajectories = storage.store_trajectories,
    filters = { 'kept', unpack(M.FILTERED) }, names = space.names(config.space),
    values = space.columns(config.space, made.points), temporal = f.temporal.enabled,
    metadata = { creation_date = now, version = '1.0', grid_size = whole(M.largest_grid(config)),
      num_realizations = whole(sim.num_realizations), num_parameter_sets = whole(last - first + 1),
      first_row = whole(first), total_rows = whole(config.sampling.total_samples), track_ic_metadata = true,
        config = config_of.text(config),
          device = config.device, sampling_metrics = text_of(quality), seed_scheme = streams.SCHEME,
          configuration_sha256 = made.hash,
          own_functions = made.own[1] and mc.json.encode(made.own) or nil },
    features = (f.temporal.enabled or f.summary.enabled)
      and { family_versions = mc.json.encode(features.versions(f, with)),
      extraction_timestamp = now,
      temporal_registry = mc.json.encode(temporal) } or nil,
    summary = f.summary.enabled and { version = features.VERSION, feature_registry = mc.json.encode(summary),
      num_features = whole(#features.summary_names(with)) } or nil }
end

return M
