-- config.lua - the YAML of a rollout, read, completed and checked before anything is computed.
--
-- Every key has a kind and a range here. Unknown keys are errors with the nearest name and the line; keys that steer
-- machinery of the reference which does not exist here are accepted and listed (config.unused). Rules: specification
-- of rollouts, 1.2.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local yaml = require 'mascon.io.yaml'
local space = require 'workflows.rollout.space'
local place = require 'workflows.rollout.place'
local error = check.error
local null = mc.json.null
local M = {}

M.UNUSED = setmetatable({}, { __tostring = function() return 'unused' end })
local U = M.UNUSED

local function unused(text, keys)
  keys = keys or {}
  for name in text:gmatch '%S+' do keys[name] = U end
  return keys
end

-- { kind, default, { range } }: range { low, high } is inclusive, { above = x } exclusive; `true` as default: required
local function int(default, low, high) return { 'integer', default, low = low, high = high } end
local function num(default, range)
  range = range or {}
  return { 'number', default, low = range.low, high = range.high, above = range.above, below = range.below }
end
local function size() return { 'size', nil } end
local function flag(default) return { 'bool', default } end
local function text(default) return { 'string', default } end
local function one(default, ...) return { 'choice', default, choices = { ... } } end

M.FIELDS = { 'random', 'gaussian_random_field', 'multiscale_grf', 'structured', 'localized', 'composite',
  'heavy_tailed', 'mixed', 'sampled',
  'quantum_wave_packet', 'turing_pattern', 'thermal_gradient', 'morphogen_gradient', 'reaction_front', 'light_cone',
    'critical_fluctuation',
  'phase_boundary', 'bz_reaction', 'shannon_entropy', 'interference_pattern', 'cell_population', 'chromatin_domain',
    'shock_front',
  'gene_expression', 'coherent_state', 'relativistic_wave_packet', 'mutual_information', 'regulatory_network',
    'dla_cluster',
  'error_correcting_code' }

M.SCHEMA = {
  version = text '1.0',
  metadata = { name = text(true), description = text '', author = text '', created = text '', purpose = text '' },
  parameter_space = { 'map', true },
  sampling = {
    strategy = one('sobol_stratified', 'sobol_stratified', 'sobol', 'lhs', 'random'),
      total_samples = int(true, 1, 2 ^ 31 - 1), batch_size = int(1000, 1),
    sobol = { scramble = flag(true), scramble_method = one('owen', 'owen', 'lms_shift'), seed = int(42, 0, 2 ^ 53) },
    stratification = unused 'method num_strata_per_dim min_samples_per_stratum',
    refinement = unused 'enabled pilot_fraction variance_threshold max_iterations',
    validation = { check_discrepancy = flag(true), max_discrepancy = num(0.01, { above = 0 }),
      check_correlation = flag(true),
      max_pairwise_correlation = num(0.05, { above = 0, below = 1 }) },
  },
  simulation = {
    device = { 'device', 'cpu' }, operator_type = one('cnn', 'cnn', 'u_afno'), precision = one('float32',
      'float32', 'float64', 'float16', 'bfloat16', 'auto', 'tf32'),
    storage = one('float32', 'float32', 'float16', 'bfloat16'),
    num_realizations = int(10, 1, 100), num_timesteps = int(1, 1, 10000), extract_operator_features = flag(false),
    gelu = one('exact', 'exact', 'tanh'), num_groups = int(32, 1), padding_mode = one('zeros', 'zeros', 'circular'),
      channels = int(3, 1, 64),
    normalize = one('none', 'none', 'minmax', 'zscore'), clamp = { 'list', nil }, divergence = num(1e6, { above = 0 }),
      policy = one(nil, 'autoregressive', 'residual', 'convex'),
    alpha = num(0.5, { low = 0, below = 1 }), dt = num(0.01, { above = 0 }), timeout = num(nil, { above = 0 }),
    limits = { gflop = num(nil, { above = 0 }), memory = size() },
    filters = { failed = num(nil, { above = 0, high = 1 }), flat = num(nil, { low = 0 }),
      still = num(nil, { low = 0 }) },
    parallelism = unused 'strategy devices',
    performance = unused [[compile benchmark_cudnn deterministic partition_by_architecture warmup_templates
      channel_bucket_size compile_mode batched_execution max_batch_size]],
    input_generation = {
      method = { 'choice', 'random', choices = M.FIELDS }, distribution = one('gaussian', 'gaussian', 'uniform'),
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
    distributional = { enabled = flag(false) }, wavelet = { enabled = flag(false) }, initial = U, clip = flag(false) },
  logging = U, cloud = U,
}

-- ---------------------------------------------------------------- one value

local function is_leaf(node) return node == U or type(node[1]) == 'string' end

local WORDS = { size = 'bytes, or a size such as 64MiB', integer = 'a whole number', number = 'a number',
  bool = 'true or false', string = 'a text',
  device = 'cpu, auto, gpu, cuda, cuda:0, opencl:0 or the like', list = 'a list', map = 'names with values' }
local KINDS = {
  integer = function(v) return type(v) == 'number' and v % 1 == 0 end, number = function(v) return type(v) == 'number'
    and v == v end,
  bool = function(v) return type(v) == 'boolean' end, string = function(v) return type(v) == 'string' end,
    list = function(v) return type(v) == 'table' and (v[1] ~= nil or next(v) == nil) end,
  device = place.is_name, size = function(v) return mc.ceiling.bytes(v) ~= nil end, any = function() return true end,
  map = function(v) return type(v) == 'table' and v[1] == nil end,
}

local function check_value(where, path, leaf, v)
  if leaf[1] == 'choice' then
    for _, c in ipairs(leaf.choices) do if c == v then return end end
    local near = type(v) == 'string' and check.nearest(v, leaf.choices)
    error(('%s%s is %s; choose %s%s'):format(where, path, check.show(v), table.concat(leaf.choices, ', '),
      near and (' (did you mean %s?)'):format(near) or ''), 0)
  end
  if not KINDS[leaf[1]](v) then error(('%s%s is %s; it must be %s'):format(where, path, check.show(v), WORDS[leaf[1]]),
    0) end
  local low, high, above, below = leaf.low, leaf.high, leaf.above, leaf.below
  if (low and v < low) or (high and v > high) or (above and v <= above) or (below and v >= below) then
    local from = low and ('from %.16g'):format(low) or above and ('above %g'):format(above) or ''
    local to = high and (low and ' to %.16g' or ' and at most %.16g'):format(high)
      or below and (' and below %g'):format(below) or ''
    error(('%s%s is %.16g; it must be %s%s'):format(where, path, v, from, to), 0)
  end
end

local function names_of(node)
  local out = {}
  for k in pairs(node) do out[#out + 1] = k end
  table.sort(out)
  return out
end

-- ---------------------------------------------------------------- a tree against the schema

local function field_section(k) -- parameter block of a type of initial field, or of an alias of one
  local base = k:gsub('_v%d+$', ''):gsub('_low$', ''):gsub('_mid$', ''):gsub('_high$', '')
  for _, name in ipairs(M.FIELDS) do if base == name then return base end end
end
M.field_type = field_section

local function walk(state, value, node, path)
  local out = {}
  for k, v in pairs(value) do
    local line = (state.lines[value] or {})[k]
    local where = line and ('%s: line %d: '):format(state.name, line) or state.name .. ': '
    local here = path == '' and k or path .. '.' .. k
    local leaf = node[k]
    if leaf == nil and path == 'simulation.input_generation' and field_section(k) and k ~= 'sampled'
      and k ~= 'mixed' then leaf = { 'map' } end
    if leaf == nil then
      local near = check.nearest(tostring(k), names_of(node))
      error(('%sthere is no key %s%s'):format(where, here, near and (' (did you mean %s?)'):format(near)
        or '; known here are ' .. table.concat(names_of(node), ', ')), 0)
    end
    if leaf == U then state.unused[#state.unused + 1] = here
    elseif v == null then out[k] = nil
    elseif is_leaf(leaf) then
      check_value(where, here, leaf, v)
      out[k] = v
    else
      if type(v) ~= 'table' or v[1] ~= nil then error(('%s%s must hold keys'):format(where, here), 0) end
      out[k] = walk(state, v, leaf, here)
    end
  end
  for k, leaf in pairs(node) do
    if leaf ~= U and out[k] == nil then
      local here = path == '' and k or path .. '.' .. k
      if is_leaf(leaf) then
        if leaf[2] == true and leaf[1] ~= 'bool' then error(('%s: %s is missing'):format(state.name, here), 0) end
        out[k] = leaf[2]
      else out[k] = walk(state, {}, leaf, here) end
    end
  end
  return out
end

--- A text of the command line or the environment as YAML; other values as they are.
local function value_of(v)
  if type(v) ~= 'string' then return v end
  return (yaml.decode(v))
end

--- Replaces ${name} where it is the whole scalar: by a value handed in, by a variable of the environment.
local function substitute(state, t)
  for k, v in pairs(t) do
    if type(v) == 'table' and v ~= null then substitute(state, v)
    elseif type(v) == 'string' then
      local name = v:match '^%${([%w_]+)}$'
      if name then
        local new = state.given[name]
        if new == nil then new = os.getenv(name) end
        if new == nil then
          error(('%s: line %d: ${%s} has no value; give it with --set or in the environment'):format(state.name,
          (state.lines[t] or {})[k] or 0, name), 0) end
        t[k] = value_of(new)
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

local function beyond_types(c, name)
  local s, sim = c.sampling, c.simulation
  if s.total_samples % s.batch_size ~= 0 and s.total_samples > s.batch_size then
    error(('%s: sampling.total_samples is %d, which sampling.batch_size %d does not divide'):format(name,
      s.total_samples, s.batch_size), 0)
  end
  if c.dataset.storage.backend == 'zarr' then error(name
    .. ': dataset.storage.backend is zarr, which is not written; use hdf5', 0) end
  if c.dataset.storage.compression == 'lzf' then error(name
    .. ': dataset.storage.compression is lzf, which is not written; use gzip or none', 0) end
  if c.features.summary.summary_mode ~= 'manual' then error(name .. ': features.summary.summary_mode is '
    .. c.features.summary.summary_mode .. ', which needs latents of trained operators; use manual', 0) end
  if sim.clamp and (#sim.clamp ~= 2 or type(sim.clamp[1]) ~= 'number' or type(sim.clamp[2]) ~= 'number'
    or sim.clamp[1] >= sim.clamp[2]) then
    error(('%s: simulation.clamp is %s; give [lowest, highest]'):format(name, check.show(sim.clamp)), 0)
  end
  if sim.timeout then
    error(name .. ': simulation.timeout is not applied: rows must not depend on the speed of a machine; '
      .. 'simulation.limits.gflop bounds the work of a row', 0)
  end
  if sim.precision == 'float16' or sim.precision == 'bfloat16' then
    c.notes[#c.notes + 1] = ('simulation.precision %s: computed in f32 here'):format(sim.precision)
  end
  if sim.storage ~= 'float32' and (sim.precision == 'float64' or sim.operator_type ~= 'cnn') then
    error(('%s: simulation.storage is %s, which is for operators of type cnn in f32'):format(name, sim.storage), 0)
  end
  c.device, c.notes[#c.notes + 1] = place.of(sim.device)
  if c.device ~= 'cpu' and (sim.operator_type ~= 'cnn' or sim.precision == 'float64') then
    error(('%s: simulation.device is %s, which runs operators of type cnn in f32; use cpu'):format(name, sim.device), 0)
  end
  for k, w in pairs(sim.input_generation.ic_type_weights or {}) do
    if not field_section(k) or k == 'sampled' or k == 'mixed' then
      local near = check.nearest(k, M.FIELDS)
      error(('%s: simulation.input_generation.ic_type_weights.%s is no type of initial field%s'):format(name, k,
        near and (' (did you mean %s?)'):format(near) or ''), 0)
    end
    if type(w) ~= 'number' or not (w >= 0) or w == math.huge then
      error(('%s: simulation.input_generation.ic_type_weights.%s is %s; weights are numbers from 0'):format(name, k,
      check.show(w)), 0) end
  end
end

--- A tree (decoded YAML) completed and checked. opts: lines and order as yaml.decode gives them, name for messages,
--- set = { path = value } (texts are read as YAML), given = values of ${name}.
---@param tree table
---@param opts? table
---@return table configuration with space, unused (paths without effect) and notes
function M.of(tree, opts)
  opts = opts or {}
  local state = { name = opts.name or 'config', lines = opts.lines or {}, unused = {}, given = opts.given or {} }
  if type(tree) ~= 'table' or tree == null or tree[1] ~= nil then error(state.name
    .. ': it must hold sections: metadata, parameter_space, sampling, simulation, dataset', 0) end
  for path, v in pairs(opts.set or {}) do set_path(tree, path, value_of(v)) end
  substitute(state, tree)
  local c = walk(state, tree, M.SCHEMA, '')
  c.unused, c.notes, c.name = state.unused, {}, state.name
  table.sort(c.unused)
  local order = {}
  for k, v in pairs(c.parameter_space) do
    local known = false
    for _, s in ipairs(space.SECTIONS) do known = known or s == k end
    if not known then
      local near = check.nearest(k, space.SECTIONS)
      error(('%s: there is no key parameter_space.%s%s'):format(state.name, k, near
        and (' (did you mean %s?)'):format(near) or ''), 0)
    end
    if v ~= null then
      if type(v) ~= 'table' or v[1] ~= nil then error(('%s: parameter_space.%s must hold keys'):format(state.name, k),
        0) end
      order[k] = opts.order and opts.order[v] or names_of(v)
      for _, n in ipairs(order[k]) do
        local names = space.NAMES[k] or {}
        local there = k == 'own'
        for _, one_name in ipairs(names) do there = there or one_name == n end
        if not there then
          local near = check.nearest(n, names)
          error(('%s: there is no parameter %s.%s%s'):format(state.name, k, n, near
            and (' (did you mean %s?)'):format(near) or '; known are ' .. table.concat(names, ', ')), 0)
        end
      end
    end
  end
  local ok, why = pcall(space.new, c.parameter_space, order)
  if not ok then error(state.name .. ': ' .. tostring(why), 0) end
  c.space = why
  beyond_types(c, state.name)
  return c
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
