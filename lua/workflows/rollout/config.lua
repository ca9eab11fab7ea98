-- config.lua - the YAML of a rollout, read, completed and checked before anything is computed.
--
-- Every key has a kind and a range here. Unknown keys are errors with the nearest name and the line; keys that steer
-- machinery of the reference which does not exist here are accepted and listed (config.unused). Rules: specification
-- of rollouts, 1.2.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local yaml = require 'mascon.io.yaml'
local space = require 'workflows.rollout.space'
local parameters = require 'workflows.rollout.parameters'
local place = require 'workflows.rollout.place'
local leaves = require 'workflows.rollout.leaf'
local fields = require 'workflows.rollout.fields'
local families = require 'workflows.rollout.families'
local networks = require 'workflows.rollout.networks'
local operator = require 'workflows.rollout.operator'
local error = check.error
local null = mc.json.null
local M = {}

local U = leaves.UNUSED
M.UNUSED = U
local unused, int, num, size = leaves.unused, leaves.int, leaves.num, leaves.size
local flag, text, one = leaves.flag, leaves.text, leaves.one

local OWN = ', or one that a script registers (--own FILE)'

M.SCHEMA = {
  version = text '1.0',
  metadata = { name = text(true), description = text '', author = text '', created = text '', purpose = text '' },
  parameter_space = { 'map', true },
  sampling = {
    strategy = one('sobol_stratified', 'sobol_stratified', 'sobol', 'lhs', 'random'),
      total_samples = int(true, 1, 2 ^ 31 - 1), batch_size = int(1000, 1, 2 ^ 31 - 1),
    sobol = { scramble = flag(true), scramble_method = one('owen', 'owen', 'lms_shift'),
      seed = int(42, 0, 2 ^ 53 - 1) },
    stratification = unused 'method num_strata_per_dim min_samples_per_stratum',
    refinement = unused 'enabled pilot_fraction variance_threshold max_iterations',
    validation = { check_discrepancy = flag(true), max_discrepancy = num(0.01, { above = 0 }),
      check_correlation = flag(true),
      max_pairwise_correlation = num(0.05, { above = 0, below = 1 }) },
  },
  simulation = {
    device = { 'device', nil }, operator_type = leaves.among(networks.DEFAULT, networks.names, OWN),
    precision = one('float32', 'float32', 'float64', 'float16', 'bfloat16', 'auto', 'tf32'),
    storage = leaves.among('float32', operator.STORAGE),
    num_realizations = int(10, 1, 100), num_timesteps = int(1, 1, 10000), extract_operator_features = flag(false),
    gelu = one('exact', 'exact', 'tanh'), num_groups = int(32, 1, 2 ^ 20),
      padding_mode = leaves.among('zeros', parameters.leaf('operator', 'padding_mode').choices),
      channels = int(3, 1, 64),
    normalize = one('none', 'none', 'minmax', 'zscore'), clamp = { 'list', nil }, divergence = num(1e6, { above = 0 }),
      policy = leaves.among(nil, parameters.leaf('evolution', 'update_policy').choices),
    alpha = num(0.5, { low = 0, below = 1 }), dt = num(0.01, { above = 0 }), timeout = num(nil, { above = 0 }),
    limits = { gflop = num(nil, { above = 0 }), memory = size() },
    filters = { failed = num(nil, { above = 0, high = 1 }), flat = num(nil, { low = 0 }),
      still = num(nil, { low = 0 }) },
    parallelism = unused 'strategy devices',
    performance = unused [[compile benchmark_cudnn deterministic partition_by_architecture warmup_templates
      channel_bucket_size compile_mode batched_execution max_batch_size]],
    input_generation = {
      method = leaves.among('random', fields.choices, OWN), distribution = one('gaussian', 'gaussian', 'uniform'),
        length_scale = num(0.1, { above = 0, high = 1 }),
      variance = num(1, { above = 0 }), ic_type_weights = { 'map', nil }, num_samples_per_operator = U,
        spatial_size = U,
    },
  },
  dataset = {
    output_path = text(true), data_to_store = U,
      metadata = unused 'include_config include_sampling_metrics include_timestamps',
    storage = { backend = one('hdf5', 'hdf5', 'zarr'), compression = one('gzip', 'gzip', 'lzf', 'none'),
      compression_level = int(4, 0, 9), chunk_size = int(1000, 1, 2 ^ 31 - 1),
      store_trajectories = flag(false) },
  },
  features = { temporal = { enabled = flag(true) }, summary = { enabled = flag(true), summary_mode = one('manual',
    'manual', 'learned', 'hybrid'), learned = U },
    initial = U, clip = flag(false) },
  logging = U, cloud = U,
}

for _, name in ipairs(families.NAMES) do M.SCHEMA.features[name] = { enabled = flag(false) } end

local WEIGHT = num(nil, { low = 0 }) -- of a type of field

local function names_of(node)
  local out = {}
  for k in pairs(node) do out[#out + 1] = k end
  table.sort(out)
  return out
end

-- ---------------------------------------------------------------- a tree against the schema

--- Keys in the order of their lines, so that the first mistake of a file is the one that is told.
local function in_order(lines, value)
  local out = {}
  for k in pairs(value) do out[#out + 1] = k end
  table.sort(out, function(a, b)
    local x, y = lines[a] or math.huge, lines[b] or math.huge
    return x < y or x == y and tostring(a) < tostring(b)
  end)
  return out
end

local function walk(state, value, node, path)
  local out, lines = {}, state.lines[value] or {}
  for _, k in ipairs(in_order(lines, value)) do
    local v, line = value[k], lines[k]
    local here = path == '' and k or path .. '.' .. k
    state.line[here] = line
    local where = state:at(here)
    local leaf = node[k]
    if leaf == nil and path == 'simulation.input_generation' then leaf = fields.schema(fields.kind_of(k)) end
    if leaf == nil then
      local near = check.nearest(tostring(k), names_of(node))
      error(('%sthere is no key %s%s'):format(where, here, near and (' (did you mean %s?)'):format(near)
        or '; known here are ' .. table.concat(names_of(node), ', ')), 0)
    end
    if leaf == U then state.unused[#state.unused + 1] = here
    elseif v == null then out[k] = nil
    elseif leaves.is(leaf) then
      leaves.check(where .. here, leaf, v)
      out[k] = v
    else
      if type(v) ~= 'table' or v[1] ~= nil then error(('%s%s must hold keys'):format(where, here), 0) end
      out[k] = walk(state, v, leaf, here)
    end
  end
  for _, k in ipairs(names_of(node)) do
    local leaf = node[k]
    if leaf ~= U and out[k] == nil then
      local here = path == '' and k or path .. '.' .. k
      if leaves.is(leaf) then
        if leaf[2] == true and leaf[1] ~= 'bool' then error(('%s: %s is missing'):format(state.name, here), 0) end
        out[k] = leaf[2]
      else out[k] = walk(state, {}, leaf, here) end
    end
  end
  return out
end

local State = {}
State.__index = State

--- What stands before a message on a path of the configuration: the name of the file, the line where one is known.
function State:at(path)
  local line = self.line[path]
  return line and ('%s: line %d: '):format(self.name, line) or self.name .. ': '
end

--- A text of the command line or the environment as YAML; other values as they are.
local function value_of(v)
  if type(v) ~= 'string' then return v end
  return (yaml.decode(v))
end

--- Replaces ${name} where it is the whole scalar: by a value handed in, by a variable of the environment; not where
--- keys have no effect, such as the credentials of a cloud.
local function substitute(state, t, node)
  for k, v in pairs(t) do
    local leaf = type(node) == 'table' and not leaves.is(node) and node[k] or nil
    if leaf == U then v = nil end
    if type(v) == 'table' and v ~= null then substitute(state, v, leaf)
    elseif type(v) == 'string' then
      local name = v:match '^%${([%w_]+)}$'
      if name and leaf ~= U then
        local new = state.given[name]
        if new == nil then new = os.getenv(name) end
        if new == nil then
          error(('%s: line %d: ${%s} has no value; give it with --set or in the environment'):format(state.name,
          (state.lines[t] or {})[k] or 0, name), 0) end
        t[k] = value_of(new)
      elseif leaf ~= U and v:find '%${[%w_]+}' then
        error(('%s: line %d: %s is %q; ${NAME} is replaced only where it is the whole value'):format(state.name,
          (state.lines[t] or {})[k] or 0, k, v), 0)
      end
    end
  end
end

local function set_path(tree, path, v)
  local node, parts = tree, {}
  for part in path:gmatch '[^.]+' do parts[#parts + 1] = part end
  for i = 1, #parts - 1 do
    if type(node[parts[i]]) ~= 'table' then node[parts[i]] = {} end
    node = node[parts[i]]
  end
  node[parts[#parts]] = v
end

--- Notes the blocks of initial fields that no row draws.
local function note_undrawn(c, weights)
  local g, drawn = c.simulation.input_generation, {}
  if g.method ~= 'sampled' or next(weights) == nil then return end
  for name, w in pairs(weights) do
    if w > 0 then drawn[fields.kind_of(name)] = true end
  end
  for _, name in ipairs(names_of(g)) do
    local kind = fields.kind_of(name)
    if kind and type(g[name]) == 'table' and not drawn[kind] then
      c.notes[#c.notes + 1] = ('simulation.input_generation.%s has no effect: ic_type_weights gives it no weight')
        :format(name)
    end
  end
end

--- What no single value shows: keys that exclude each other, values that are understood and not done.
local function beyond_types(c, state)
  local s, sim = c.sampling, c.simulation
  local function refuse(path, fmt, ...) error(state:at(path) .. path .. ' is ' .. fmt:format(...), 0) end
  if s.total_samples % s.batch_size ~= 0 and s.total_samples > s.batch_size then
    refuse('sampling.total_samples', '%d, which sampling.batch_size %d does not divide', s.total_samples, s.batch_size)
  end
  if c.dataset.storage.backend == 'zarr' then
    refuse('dataset.storage.backend', 'zarr, which is not written; use hdf5') end
  if c.dataset.storage.compression == 'lzf' then
    refuse('dataset.storage.compression', 'lzf, which is not written; use gzip or none') end
  if c.features.clip then
    refuse('features.clip', 'true, which is not done: bounds from the rows of a batch would make a row depend on the '
      .. 'others; leave it out') end
  if c.features.summary.summary_mode ~= 'manual' then
    refuse('features.summary.summary_mode', '%s, which needs latents of trained operators; use manual',
      c.features.summary.summary_mode) end
  if sim.clamp and (#sim.clamp ~= 2 or type(sim.clamp[1]) ~= 'number' or type(sim.clamp[2]) ~= 'number'
    or sim.clamp[1] >= sim.clamp[2]) then
    refuse('simulation.clamp', '%s; give [lowest, highest]', check.show(sim.clamp))
  end
  if sim.timeout then
    refuse('simulation.timeout', 'not applied: rows must not depend on the speed of a machine; '
      .. 'simulation.limits.gflop bounds the work of a row')
  end
  if sim.precision == 'float16' or sim.precision == 'bfloat16' or sim.precision == 'tf32' then
    c.notes[#c.notes + 1] = ('simulation.precision %s: computed in f32 here'):format(sim.precision)
  end
  if sim.storage ~= 'float32' and (sim.precision == 'float64' or not networks.of(sim.operator_type).storage) then
    refuse('simulation.storage', '%s, which is for operators of type cnn in f32', sim.storage)
  end
  c.device, c.notes[#c.notes + 1] = place.of(sim.device)
  if c.device ~= 'cpu' and (not networks.of(sim.operator_type).cards or sim.precision == 'float64') then
    local why = ('%s, which runs operators of type cnn in f32'):format(sim.device or c.device)
    if sim.device then refuse('simulation.device', '%s; use cpu', why) end
    c.notes[#c.notes + 1] = ('MASCON_DEVICE names %s: computed on the processor'):format(why)
    c.device = 'cpu'
  end
  sim.device = sim.device or c.device
  for _, k in ipairs(names_of(sim.input_generation)) do
    local kind, block = fields.kind_of(k), sim.input_generation[k]
    if kind and type(block) == 'table' then
      local here = 'simulation.input_generation.' .. k .. '.'
      fields.refuse_order(kind, block, function(name, other)
        return state:at(here .. (state.line[here .. name] and name or other)) .. here .. name
      end)
    end
  end
  local weights = sim.input_generation.ic_type_weights or {}
  for _, k in ipairs(names_of(weights)) do
    local path, w = 'simulation.input_generation.ic_type_weights.' .. k, weights[k]
    if not fields.schema(fields.kind_of(k)) then
      local near = check.nearest(k, fields.names())
      error(('%s%s is no type of initial field%s'):format(state:at(path), path, near
        and (' (did you mean %s?)'):format(near) or ''), 0)
    end
    if type(w) ~= 'number' or not (w >= 0) or w == math.huge then
      refuse(path, '%s; weights are numbers from 0', check.show(w)) end
  end
  local all, path = 0, 'simulation.input_generation.ic_type_weights'
  for _, w in pairs(weights) do all = all + w end
  if next(weights) ~= nil and all == 0 then refuse(path, 'all 0; no field could be drawn') end
  note_undrawn(c, weights)
end

--- Names that a section of the space may hold; nil for a section that there is not. Those of the section of a type of
--- operators may stand in `architecture`, too.
local function known_in(section, operator_type)
  local more = networks.of(operator_type).section
  if section ~= 'architecture' or not more then return parameters.NAMES[section] end
  local out = {}
  for _, list in ipairs { parameters.NAMES.architecture, parameters.NAMES[more] } do
    for _, n in ipairs(list) do out[#out + 1] = n end
  end
  return out
end

--- The names of a section in the order of the file, then those that were set beside it.
local function complete(listed, section)
  local out, there = {}, {}
  for i, n in ipairs(listed or {}) do out[i], there[n] = n, true end
  for _, n in ipairs(names_of(section)) do if not there[n] then out[#out + 1] = n end end
  return out
end

--- Refuses sections and names that a parameter space does not have; the names of each section in the order of the file.
local function order_of(state, tree, listed, operator_type)
  local order = {}
  for _, k in ipairs(names_of(tree)) do
    local v, path = tree[k], 'parameter_space.' .. k
    local list = known_in(k, operator_type)
    if not list then
      local near = check.nearest(k, parameters.SECTIONS)
      error(('%sthere is no key %s%s'):format(state:at(path), path, near and (' (did you mean %s?)'):format(near)
        or ''), 0)
    end
    if v ~= null then
      if type(v) ~= 'table' or v[1] ~= nil then
        error(('%s%s must hold keys'):format(state:at(path), path), 0) end
      order[k] = complete(listed and listed[v], v)
      for _, n in ipairs(order[k]) do
        local there = k == 'own'
        for _, name in ipairs(list) do there = there or name == n end
        if not there then
          local near = check.nearest(n, list)
          error(('%sthere is no parameter %s.%s%s'):format(state:at(path .. '.' .. n), k, n, near
            and (' (did you mean %s?)'):format(near) or '; known are ' .. table.concat(list, ', ')), 0)
        end
      end
    end
  end
  return order
end

--- Lines of the entries of maps that the schema does not describe.
local function place_entries(state, t, path)
  for k, line in pairs(type(t) == 'table' and state.lines[t] or {}) do
    local here = path .. '.' .. tostring(k)
    state.line[here] = line
    place_entries(state, t[k], here)
  end
end

--- A tree (decoded YAML) completed and checked. opts: lines and order as yaml.decode gives them, name for messages,
--- set = { path = value } (texts are read as YAML), given = values of ${name}.
---@param tree table
---@param opts? table
---@return table configuration with space, unused (paths without effect) and notes
function M.of(tree, opts)
  opts = opts or {}
  local state = setmetatable({ name = opts.name or 'config', lines = opts.lines or {}, line = {}, unused = {},
    given = opts.given or {} }, State)
  if type(tree) ~= 'table' or tree == null or tree[1] ~= nil then error(state.name
    .. ': it must hold sections: metadata, parameter_space, sampling, simulation, dataset', 0) end
  for path, v in pairs(opts.set or {}) do set_path(tree, path, value_of(v)) end
  substitute(state, tree, M.SCHEMA)
  local c = walk(state, tree, M.SCHEMA, '')
  c.unused, c.notes, c.name = state.unused, {}, state.name
  table.sort(c.unused)
  place_entries(state, c.parameter_space, 'parameter_space')
  place_entries(state, c.simulation.input_generation.ic_type_weights, 'simulation.input_generation.ic_type_weights')
  local order = order_of(state, c.parameter_space, opts.order, c.simulation.operator_type)
  local ok, why = pcall(function()
    local s = space.new(c.parameter_space, order)
    parameters.refuse_space(s, c.simulation.operator_type)
    return s
  end)
  if not ok then error(state:at(tostring(why):match 'parameter_space%.[%w_]+%.[%w_]+' or '') .. tostring(why), 0) end
  c.space = why
  beyond_types(c, state)
  return c
end

--- Refuses a tree of which a section is missing, is none, or holds what the schema lacks or a value that it refuses.
--- Types of operators and fields are not looked at: those of the user may not be registered.
local function refuse_broken(tree, node, path)
  if type(tree) ~= 'table' or tree[1] ~= nil then error(('%s holds no keys'):format(path), 0) end
  local fields_of = path == 'simulation.input_generation'
  local function under(k) return path == 'it' and k or path .. '.' .. k end
  for k, v in pairs(tree) do
    if v == null and node[k] ~= U then error(under(k) .. ' is null', 0) end
    if node[k] == nil and not fields_of then error(('%s holds %s'):format(path, k), 0) end
  end
  for k, leaf in pairs(node) do
    local v = tree[k]
    if leaf == U or k == 'operator_type' or k == 'method' then leaf = nil end
    if leaf and not leaves.is(leaf) then
      if path == 'it' or v ~= nil then refuse_broken(v, leaf, under(k)) end
    elseif leaf and v ~= nil then leaves.check(under(k), leaf, v)
    elseif leaf and leaf[2] == true and leaf[1] ~= 'bool' then error(under(k) .. ' is missing', 0) end
  end
  for name, w in pairs(fields_of and tree.ic_type_weights or {}) do
    leaves.check(under 'ic_type_weights.' .. name, WEIGHT, w)
  end
end

--- The sections that a data set holds as words of JSON, decoded; whether they are whole is checked.
---@param words any
---@param path string data set, for messages
---@return table tree as M.of takes it
function M.held(words, path)
  local ok, found = check.try(function()
    local tree, order = mc.json.decode(words), {}
    refuse_broken(tree, M.SCHEMA, 'it')
    for section, entries in pairs(tree.parameter_space) do
      if type(entries) ~= 'table' then error(('parameter_space.%s holds no keys'):format(section), 0) end
      order[section] = names_of(entries)
    end
    space.new(tree.parameter_space, order)
    return tree
  end)
  if ok then return found end
  error(('rollout: the configuration in %s is damaged (%s); copy the file again, or make it anew'):format(path,
    (tostring(found):gsub('^[^\n]-%.lua:%d+: ', ''))), 0)
end

--- A value of a configuration as JSON, without functions.
---@param v any
---@return string
function M.json(v)
  local function plain(t)
    if type(t) ~= 'table' then return t end
    local out = {}
    for k, w in pairs(t) do if type(w) ~= 'function' then out[k] = plain(w) end end
    return out
  end
  return mc.json.encode(plain(v))
end

--- A configuration as a text, which `held` reads and `generate` takes as a file: names of parameters stand in the order
--- of their coordinates, which decides what a row is.
---@param config table
---@return string
function M.text(config)
  local parts, sections = {}, {}
  for _, k in ipairs { 'metadata', 'sampling', 'simulation', 'dataset', 'features' } do parts[k] = config[k] end
  for section, names in pairs(space.order(space.names(config.space))) do
    local entries = {}
    for i, name in ipairs(names) do
      entries[i] = ('%s:%s'):format(M.json(name), M.json(config.parameter_space[section][name]))
    end
    sections[#sections + 1] = ('%s:{%s}'):format(M.json(section), table.concat(entries, ','))
  end
  table.sort(sections)
  return ('%s,"parameter_space":{%s}}'):format(M.json(parts):sub(1, -2), table.concat(sections, ','))
end

--- The tree of such a text, and the order of its coordinates from their names, as `of` takes it.
---@param words string
---@param names string[]
---@param path string for messages
---@return table
---@return table
function M.ordered(words, names, path)
  local tree, order, listed = M.held(words, path), {}, space.order(names)
  for section, entries in pairs(tree.parameter_space) do
    if type(entries) == 'table' then order[entries] = listed[section] or {} end
  end
  return tree, order
end

--- The configuration in a file.
---@param path string .yaml, .yml or .json
---@param opts? table set, given
function M.load(path, opts)
  local tree, lines, order = yaml.load(path)
  opts = opts or {}
  return (M.of(tree, { lines = lines, order = order, name = path, set = opts.set, given = opts.given }))
end

return M
