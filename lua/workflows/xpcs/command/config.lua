-- config.lua - the YAML configuration of homodyne, read and checked, as options of this workflow.
--
-- Unknown keys are errors with the nearest name and the line; so are values of the wrong kind. Keys that steer
-- machinery that does not exist here are accepted.
-- Any key can be set by its path from outside the file.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local yaml = require 'mascon.io.yaml'
local keys = require 'workflows.xpcs.model.keys'
local parameters = require 'workflows.xpcs.model.parameters'
local error = check.error
local M = {}

local null = mc.json.null
local KINDS = {
  number = function(v) return type(v) == 'number' end,
  integer = function(v) return type(v) == 'number' and v == math.floor(v) end,
  bool = function(v) return type(v) == 'boolean' end,
  string = function(v) return type(v) == 'string' end,
  list = function(v) return type(v) == 'table' and (v[1] ~= nil or next(v) == nil) end,
  map = function(v) return type(v) == 'table' and v[1] == nil end,
  any = function() return true end,
}
local WORDS = { number = 'a number', integer = 'a whole number', bool = 'true or false', string = 'a text',
  list = 'a list', map = 'names with values' }

local function known_names(node)
  local out = {}
  for k in pairs(node) do if k ~= '*' then out[#out + 1] = k end end
  table.sort(out)
  return out
end

--- Checks a value against its kind; raises with the place.
local function check_value(where, path, kind, v)
  if type(kind) == 'table' and kind[1] then
    for _, c in ipairs(kind) do if v == c then return end end
    local near = type(v) == 'string' and check.nearest(v, kind)
    error(('%s%s is %s; choose %s%s'):format(where, path, check.show(v), table.concat(kind, ', '), near
      and (' (did you mean %s?)'):format(near) or ''), 0)
  end
  if not KINDS[kind](v) then
    local hint = kind == 'bool' and type(v) == 'string' and ' (yes, no, on and off are texts)' or ''
    error(('%s%s is %s; it must be %s%s'):format(where, path, check.show(v), WORDS[kind], hint), 0)
  end
end

-- sections that pages about homodyne show and its programs do not read, and what stands for them
local WRITE = { analysis = 'analysis_mode: static or laminar_flow, and analyzer_parameters',
  data = 'experimental_data', physics = 'analyzer_parameters and initial_parameters' }

--- The path of a section below `node` that holds a key of this name; nil where there is none.
local function elsewhere(node, name, path)
  for _, k in ipairs(known_names(node)) do
    local child = node[k]
    if type(child) == 'table' and child ~= keys.UNUSED and not child[1] then
      local here = path == '' and k or path .. '.' .. k
      if child[name] ~= nil then return here end
      local deeper = elsewhere(child, name, here)
      if deeper then return deeper end
    end
  end
end

--- What to write instead of a key that does not exist.
local function advice(k, node, path)
  k = tostring(k)
  if path == '' and WRITE[k] then return ('; write %s'):format(WRITE[k]) end
  if path == 'parameter_space' and check.try(parameters.get, '', k, 0) then
    return ('; write parameter_space.bounds: a list with {name: %s, min: ..., max: ...}'):format(k)
  end
  local section = elsewhere(keys.SCHEMA, k, '')
  if section then return ('; %s is a key of %s'):format(k, section) end
  local near = check.nearest(k, known_names(node))
  if near then return (' (did you mean %s?)'):format(near) end
  return '; known here are ' .. table.concat(known_names(node), ', ')
end

local function walk(value, node, path, lines, name, unused)
  local order, at = {}, lines[value] or {}
  for k in pairs(value) do order[#order + 1] = k end
  table.sort(order, function(a, b)
    local p, q = at[a] or math.huge, at[b] or math.huge
    if p == q then return tostring(a) < tostring(b) end
    return p < q
  end)
  for _, k in ipairs(order) do
    local v = value[k]
    local line = at[k]
    local where = line and ('%s: line %d: '):format(name, line) or name .. ': '
    local here = path == '' and k or path .. '.' .. k
    local kind = node[k]
    if kind == nil or k == '*' then kind = node['*'] end
    if kind == nil then error(('%sthere is no key %s%s'):format(where, here, advice(k, node, path)), 0) end
    if kind == keys.UNUSED then unused[#unused + 1] = here
    elseif v ~= null then
      if type(kind) == 'table' and not kind[1] then
        if type(v) ~= 'table' or v[1] ~= nil then error(('%s%s must hold keys'):format(where, here), 0) end
        walk(v, kind, here, lines, name, unused)
      else check_value(where, here, kind, v) end
    end
  end
end

--- The value at a path of names; nil for absent and null.
---@param tree table keys of a configuration
---@param path string such as 'optimization.nlsq.loss'
function M.value(tree, path)
  local node = tree
  for part in path:gmatch '[^.]+' do
    if type(node) ~= 'table' or node == null then return nil end
    node = node[part]
  end
  if node == null then return nil end
  return node
end

local get = M.value

local function set(tree, path, v)
  local node, last = tree, path:match '[^.]+$'
  for part in path:gmatch '([^.]+)%.' do
    if type(node[part]) ~= 'table' or node[part] == null then node[part] = {} end
    node = node[part]
  end
  node[last] = v
end

--- Sets keys by their paths from texts such as 'optimization.nlsq.loss=linear'.
local function override(tree, list)
  for _, text in ipairs(list or {}) do
    local path, value = text:match '^%s*([%w_.]+)%s*=%s*(.*)$'
    local kind = path and keys.at(path)
    if not path then error(('option %q: give KEY=VALUE, such as optimization.nlsq.loss=linear'):format(text), 0) end
    if kind == nil then
      error(('option %s: there is no such key; write its whole path, such as optimization.nlsq.loss'):format(path),
      0) end
    if kind ~= keys.UNUSED then
      local v = yaml.decode(value, path)
      if type(kind) == 'table' and not kind[1] then
        error(('option %s: this is a section; name a key of it'):format(path), 0) end
      if v ~= null then check_value('option ', path, kind, v) end
      set(tree, path, v)
    end
  end
end

local function joined(folder, file)
  if file:sub(1, 1) == '/' then return file end
  return folder:gsub('/*$', '') .. '/' .. file
end

--- List of numbers, or nil.
local function numbers(what, v)
  if v == nil then return nil end
  local out = {}
  for i, x in ipairs(v) do
    if type(x) ~= 'number' then error(('%s[%d] is %s; give numbers'):format(what, i, check.show(x)), 0) end
    out[i] = x
  end
  return out
end

--- Options of the posterior: optimization.cmc, per_shard_mcmc before the keys beside it, and the priors.
local function posterior_of(tree, line)
  local g = function(path) return get(tree, path) end
  local c = 'optimization.cmc.'
  local function number(...)
    for _, path in ipairs { ... } do
      local v = g(c .. path)
      if v ~= nil and type(v) ~= 'number' then
        error(('%s%s is %s; give a number'):format(c, path, check.show(v)), 0)
      end
      if v ~= nil then return v end
    end
  end
  local dense = g(c .. 'per_shard_mcmc.dense_mass')
  if dense == nil then dense = g(c .. 'dense_mass_matrix') end
  local shards = g(c .. 'sharding.num_shards')
  local o = {
    draws = number('per_shard_mcmc.num_samples', 'num_samples'), warmup = number('per_shard_mcmc.num_warmup',
      'num_warmup'), chains = number('per_shard_mcmc.num_chains', 'num_chains'),
    target_accept = number('per_shard_mcmc.target_accept_prob', 'target_accept_prob'),
    max_depth = number('per_shard_mcmc.max_tree_depth', 'max_tree_depth'), seed = number('per_shard_mcmc.seed', 'seed'),
    metric = dense == false and 'diag' or dense and 'dense' or nil, prior = g(c .. 'prior'), noise = g(c .. 'noise'),
    shards = type(shards) == 'number' and shards > 1 and shards or nil,
  }
  local list = g 'parameter_space.priors'
  if type(list) == 'table' then
    o.priors = {}
    local names = {}
    for key in pairs(list) do names[#names + 1] = key end
    table.sort(names, function(a, b) return tostring(a) < tostring(b) end)
    for _, key in ipairs(names) do
      local p = list[key]
      local where = type(key) == 'number' and ('parameter_space.priors[%d]'):format(key)
        or ('parameter_space.priors.%s'):format(key)
      local name = type(key) == 'number' and type(p) == 'table' and p.name or key
      local mu, width = type(p) == 'table' and (p.mu or p.mean), type(p) == 'table' and (p.sigma or p.std)
      if type(name) ~= 'string' or type(mu) ~= 'number' or type(width) ~= 'number' or not (width > 0) then
        error(('%s needs %smu and sigma > 0 (a normal distribution inside the bounds)'):format(where,
          type(key) == 'number' and 'name, ' or ''), 0)
      end
      local kind = p.dist_type
      if kind ~= nil and kind ~= null and kind ~= 'TruncatedNormal' and kind ~= 'Normal' then
        error(('%s.dist_type is %s; priors are normal distributions inside the bounds (TruncatedNormal)'):format(where,
          check.show(kind)), 0)
      end
      o.priors[parameters.get(line(list, key) .. where, name, 0).name] = { mu, width }
    end
  elseif list == nil then
    -- homodyne also takes them beside the bounds
    for i, b in ipairs(g 'parameter_space.bounds' or {}) do
      local mu, width = type(b) == 'table' and b.prior_mu, type(b) == 'table' and b.prior_sigma
      if type(mu) == 'number' or type(width) == 'number' then
        if type(mu) ~= 'number' or type(width) ~= 'number' or not (width > 0) or type(b.name) ~= 'string' then
          error(('parameter_space.bounds[%d] needs both prior_mu and prior_sigma > 0, or neither'):format(i), 0)
        end
        o.priors = o.priors or {}
        o.priors[parameters.get(line(b, 'name') .. 'parameter_space.bounds', b.name, 0).name] = { mu, width }
      end
    end
  else
    error('parameter_space.priors must be a list of { name, mu, sigma } or a table of { mu, sigma } by name', 0)
  end
  return o
end

-- keys of an entry of parameter_space.bounds; those of a prior are read with the priors
local OF_BOUND = { name = true, min = true, max = true, type = true, unit = true, prior_mu = true, prior_sigma = true }

--- A section without the keys that are null.
local function section(tree, path)
  local out = {}
  for k, v in pairs(get(tree, path) or {}) do if v ~= null then out[k] = v end end
  return out
end

--- What a tree of keys means: options of open and fit, and the rest.
---@return table { path, open, fit, method, plotting, streaming, multi_start, cmaes, memory_gb, strategy, progress,
---  directory, posterior, threads }
local function meaning(tree, lines)
  local g = function(path) return get(tree, path) end
  --- 'line 12: ' of a key of a mapping or an entry of a list.
  local function line(node, key)
    local at = type(node) == 'table' and lines[node] and lines[node][key]
    return at and ('line %d: '):format(at) or ''
  end
  local path = g 'experimental_data.file_path'
  if not path and g 'experimental_data.data_file_name' then
    path = joined(g 'experimental_data.data_folder_path' or '.', g 'experimental_data.data_file_name')
  end
  local ranges
  if g 'phi_filtering.enabled' then
    ranges = { or_all = true } -- as homodyne does
    for i, r in ipairs(g 'phi_filtering.target_ranges' or {}) do
      if type(r) ~= 'table' or type(r.min_angle) ~= 'number' or type(r.max_angle) ~= 'number' then
        error(('phi_filtering.target_ranges[%d] needs min_angle and max_angle in degrees'):format(i), 0)
      end
      ranges[i] = { r.min_angle, r.max_angle }
    end
  end
  local mode = g 'analysis_mode' or 'static'
  local open = {
    q = g 'analyzer_parameters.scattering.wavevector_q' or 0.0054, dt = g 'analyzer_parameters.dt',
      gap = g 'analyzer_parameters.geometry.stator_rotor_gap',
    start_frame = g 'analyzer_parameters.start_frame', end_frame = g 'analyzer_parameters.end_frame',
      phi_ranges = ranges,
    dtype = g 'experimental_data.data_type' == 'float32' and 'f32' or nil,
      full_matrices = g 'experimental_data.full_matrices', layout = g 'experimental_data.layout'
        and section(tree, 'experimental_data.layout'), diagonal = g 'experimental_data.diagonal',
    one_q = true, -- as homodyne does
    q_tolerance_fraction = g 'experimental_data.q_tolerance_fraction', strict_q = g 'experimental_data.strict_q',
      mode = mode, mask = g 'experimental_data.mask', zero_sigma_is_mask = g 'experimental_data.zero_sigma_is_mask',
  }

  local sigma = g 'experimental_data.sigma'
  if type(sigma) == 'string' then open.sigma, sigma = sigma, nil
  elseif type(sigma) == 'table' then sigma = numbers('experimental_data.sigma', sigma)
  elseif sigma ~= nil and type(sigma) ~= 'number' then
    error(('experimental_data.sigma is %s; give a number, a list per angle or the name of a file'):format(check.show(
      sigma)), 0)
  end
  local folder = g 'experimental_data.cache_file_path'
  if g 'experimental_data.cache' == true or folder and g 'experimental_data.cache' ~= false then
    open.cache = { folder = folder, template = g 'experimental_data.cache_filename_template',
      compressed = g 'experimental_data.cache_compression' }
  end

  local initial, names, values = {}, g 'initial_parameters.parameter_names', g 'initial_parameters.values'
  if values then
    names = names or parameters.names(mode == 'laminar_flow' and mode or 'static')
    if #names ~= #values then
      error(('initial_parameters.values holds %d numbers for %d parameter_names'):format(#values, #names), 0) end
    for i, name in ipairs(names) do initial[parameters.get(line(names, i) .. 'initial_parameters', name,
      0).name] = numbers('initial_parameters.values', values)[i] end
  end
  local bounds = {}
  for i, b in ipairs(g 'parameter_space.bounds' or {}) do
    if type(b) ~= 'table' or type(b.name) ~= 'string' or type(b.min) ~= 'number' or type(b.max) ~= 'number' then
      error(('parameter_space.bounds[%d] needs name, min and max'):format(i), 0)
    end
    if b.min > b.max then error(('parameter_space.bounds[%d]: %s has min %g above max %g'):format(i, b.name, b.min,
      b.max), 0) end
    for key in pairs(b) do
      if not OF_BOUND[key] then
        local near = check.nearest(tostring(key), known_names(OF_BOUND))
        error(('parameter_space.bounds[%d] holds %s%s'):format(i, tostring(key), near
          and (', which is no key of it (did you mean %s?)'):format(near)
          or '; its keys are ' .. table.concat(known_names(OF_BOUND), ', ')), 0)
      end
    end
    bounds[parameters.get(line(b, 'name') .. 'parameter_space.bounds', b.name, 0).name] = { b.min, b.max }
  end
  local fixed = {}
  for name, v in pairs(g 'initial_parameters.fixed_parameters' or {}) do
    if type(v) ~= 'number' then error(('initial_parameters.fixed_parameters.%s is %s; give a number'):format(name,
      check.show(v)), 0) end
    fixed[parameters.key(line(g 'initial_parameters.fixed_parameters', name) .. 'initial_parameters.fixed_parameters',
      name, 0)] = v
  end
  local active = g 'initial_parameters.active_parameters'
  if active and #active == 0 then active = nil end
  for i, name in ipairs(active or {}) do
    parameters.get(line(active, i) .. 'initial_parameters.active_parameters', name, 0)
  end
  local n = 'optimization.nlsq.'
  local a = n .. 'anti_degeneracy.'
  local per_angle = g(a .. 'per_angle_mode')
  local weighting
  if g(a .. 'shear_weighting.enable') then
    weighting = { alpha = g(a .. 'shear_weighting.alpha'), min_weight = g(a .. 'shear_weighting.min_weight'),
      normalize = g(a .. 'shear_weighting.normalize') }
  end
  local iterations = g(n .. 'max_iterations')
  local function above(path_, least)
    local v = g(path_)
    if v ~= nil and not (v > least) then error(('%s is %g; it must be above %g'):format(path_, v, least), 0) end
    return v
  end
  above(n .. 'max_iterations', 0)
  local fit = {
    mode = mode, initial = initial, bounds = bounds, fixed = next(fixed) and fixed or nil, active = active,
      ties = g 'initial_parameters.tied_parameters',
    contrast = numbers('per_angle_scaling.contrast', g 'initial_parameters.per_angle_scaling.contrast'),
      offset = numbers('per_angle_scaling.offset', g 'initial_parameters.per_angle_scaling.offset'),
    scaling = per_angle == 'independent' and 'individual' or per_angle,
      constant_scaling_threshold = g(a .. 'constant_scaling_threshold'),
      fourier_order = g(a .. 'fourier_order'), shear_weighting = weighting,
    ftol = above(n .. 'ftol', 0) or above(n .. 'tolerance', 0), xtol = above(n .. 'xtol', 0),
    gtol = above(n .. 'gtol', 0), loss = g(n .. 'loss') or 'soft_l1', f_scale = above(n .. 'f_scale', 0), sigma = sigma,
    legacy_counting = g(n .. 'legacy_counting'), legacy_abs = g(n .. 'legacy_abs'),
      phase_convention = g 'analyzer_parameters.phase_convention',
    reduced_limit = g(n .. 'quality_validation.reduced_chi_squared_threshold'), max_nfev = iterations,
    x_scale = g(n .. 'x_scale_map'),
    trust_region_scale = above(n .. 'trust_region_scale', 0), device = g 'performance.computation.device',
  }
  local threads, method = g 'performance.computation.cpu_threads', g 'optimization.method' or 'nlsq'
  local strategy = g 'performance.strategy_override'
  return {
    path = path, open = open, fit = fit, method = method == 'mcmc' and 'cmc' or method,
      plotting = section(tree, 'plotting'),
      streaming = section(tree, 'optimization.streaming'),
    multi_start = section(tree, n .. 'multi_start'), cmaes = section(tree, n .. 'cmaes'),
      memory_gb = g 'performance.memory_limit_gb', strategy = strategy and strategy:upper(),
    progress = g 'performance.enable_progress' ~= false, directory = g 'output.directory',
    posterior = posterior_of(tree, line), threads = type(threads) == 'number' and threads or nil, tree = tree,
  }
end

--- A tree of keys, checked, as options.
---@param tree table
---@param lines? table lines[table][key]
---@param name? string of the file, for messages
---@param overrides? string[] 'KEY=VALUE'
function M.of(tree, lines, name, overrides)
  name = name or 'configuration'
  local unused = {}
  if type(tree) ~= 'table' or tree == null or tree[1] ~= nil then error(('%s: it holds no keys'):format(name), 2) end
  walk(tree, keys.SCHEMA, '', lines or {}, name, unused)
  override(tree, overrides)
  local ok, out = pcall(meaning, tree, lines or {})
  if not ok then error(('%s: %s'):format(name, tostring(out)), 2) end
  table.sort(unused)
  out.unused = unused
  return out
end

--- Raises where neither a configuration nor its data file holds the time between frames; of the files .npz does.
---@param c table what a configuration means, with what options of the line replace
---@param name string of the configuration
function M.timed(c, name)
  if c.open.dt == nil and not (c.open.layout or {}).dt and not (c.path or ''):lower():find '%.npz$' then
    error(('%s: analyzer_parameters.dt is missing; give the time between frames in s'):format(name), 0)
  end
end

--- Reads a configuration, .yaml, .yml or .json.
---@param path string
---@param overrides? string[] 'KEY=VALUE', KEY by its whole path
---@return table open (options of open), fit (options of fit), path (of the data), method, plotting, streaming, unused
---  (keys without effect), ...
function M.read(path, overrides)
  check.arg('xpcs.config', 'path', path, 'string', 3)
  local tree, lines
  if path:lower():find '%.json$' then tree, lines = mc.load(path), {} else tree, lines = yaml.load(path) end
  local out = M.of(tree, lines, path, overrides)
  return out
end

local POSITIVE = { nil, 'number > 0' }
local TEMPLATE = { dt = POSITIVE, q = POSITIVE, gap = POSITIVE, file = { nil, 'string' } }

--- A configuration with its comments, ready to be edited.
---@param mode 'static'|'laminar_flow'
---@param o? table dt 0.1 s, q 0.0054 1/A, gap 2e6 A, file
function M.template(mode, o)
  if mode ~= 'static' and mode ~= 'laminar_flow' then
    error(('xpcs.config.template: mode is %s; choose static or laminar_flow'):format(check.show(mode)), 2)
  end
  o = check.opts('xpcs.config.template', o, TEMPLATE)
  local out = {}
  local function line(s, ...) out[#out + 1] = select('#', ...) > 0 and s:format(...) or s end
  line('# Two-time correlation fit, %s. Units: A^2/s, 1/A, s, degrees; the gap in A (2e6 A = 200 um).', mode)
  line('analysis_mode: %s', mode)
  line 'analyzer_parameters:'
  line('  dt: %g                    # s per frame', o.dt or 0.1)
  line '  start_frame: 1             # first frame is 1'
  line '  end_frame: -1              # -1: the last one'
  line '  scattering:'
  line('    wavevector_q: %g     # 1/A', o.q or 0.0054)
  if mode ~= 'static' then
    line '  geometry:'
    line('    stator_rotor_gap: %.0f   # A', o.gap or 2e6)
  end
  line 'experimental_data:'
  line('  file_path: %s', o.file or './experiment.hdf')
  line '  # sigma: 0.01              # standard deviation of C2, one number or a list per angle'
  line 'phi_filtering:'
  line '  enabled: false'
  line '  target_ranges:'
  line '    - {min_angle: -10.0, max_angle: 10.0}'
  line 'initial_parameters:'
  local names, values = parameters.names(mode), {}
  line('  parameter_names: [%s]', table.concat(names, ', '))
  for i = 1, #names do values[i] = ('%g'):format(parameters.LIST[i].default) end
  line('  values: [%s]', table.concat(values, ', '))
  line 'parameter_space:'
  line '  bounds:'
  for i = 1, #names do
    local p = parameters.LIST[i]
    line('    - {name: %s, min: %g, max: %g}   # %s%s', p.name, p.min, p.max, p.about, p.unit ~= '' and ', ' .. p.unit
      or '')
  end
  line 'optimization:'
  line '  method: nlsq'
  line '  nlsq:'
  line '    loss: linear             # linear, soft_l1, huber, cauchy, arctan'
  line '    anti_degeneracy:'
  line '      per_angle_mode: auto   # auto, averaged, individual, constant, fourier'
  return table.concat(out, '\n') .. '\n'
end

return M
