-- settings.lua - the settings of a run: what a configuration and the options of the script say together.
--
-- Refuses before anything is read what contradicts itself, is out of range or would have no effect.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local error = check.error
local config = require 'workflows.xpcs.command.config'
local options = require 'workflows.xpcs.command.options'
local parameters = require 'workflows.xpcs.model.parameters'
local M = {}

--- Options of starting values: the parameter of each.
M.INITIAL = { initial_d0 = 'D0', initial_alpha = 'alpha', initial_d_offset = 'D_offset',
  initial_gamma_dot_t0 = 'gamma_dot_t0', initial_beta = 'beta',
  initial_gamma_dot_offset = 'gamma_dot_t_offset', initial_phi0 = 'phi0' }

-- options of laminar flow
local FLOW = { 'initial_gamma_dot_t0', 'initial_beta', 'initial_gamma_dot_offset', 'initial_phi0', 'gap' }

-- parameters of laminar flow alone
local SHEAR = {}
for _, name in ipairs(parameters.names 'laminar_flow') do SHEAR[name] = true end
for _, name in ipairs(parameters.names 'static') do SHEAR[name] = nil end

-- C2 is about 1: a larger standard deviation leaves nothing to fit, a smaller one sums that are not finite
local LEAST_SIGMA, MOST_SIGMA = 1e-100, 100
local MOST_TOLERANCE = 0.01

local function flag(name) return '--' .. name:gsub('_', '-') end

M.flag = flag

-- ---------------------------------------------------------------- words of a line

--- A list of angles such as "0,45,90".
function M.angles(list_text)
  if not list_text then return nil end
  local out = {}
  for word in (list_text .. ','):gmatch '([^,]*),' do
    local v = tonumber(word)
    if not v or not (math.abs(v) <= 360) then
      error(('--phi-angles is %q; give angles in degrees, from -360 to 360, such as "0,45,90"'):format(list_text), 0)
    end
    out[#out + 1] = v
  end
  return out
end

--- NAME=VALUE words as a table; NAME alone is true where that is allowed.
local function named_numbers(option, words, bare)
  local out = {}
  for _, word in ipairs(words or {}) do
    local name, v = word:match '^([%w_]+)=(.+)$'
    local number = tonumber(v)
    if name and not (number and number - number == 0) or not name and not bare then
      error(('%s %s: give %sNAME=VALUE'):format(option, word, bare and 'NAME or ' or ''), 0)
    end
    if out[name or word] ~= nil then error(('%s names %s twice; give it once'):format(option, name or word), 0) end
    out[name or word] = name and tonumber(v) or true
  end
  return out
end

--- NAME=LOW:HIGH words as a table of pairs.
local function ranges(option, words)
  local out = {}
  for _, word in ipairs(words or {}) do
    local name, low, high = word:match '^([%w_]+)=([^:]+):([^:]+)$'
    low, high = tonumber(low), tonumber(high)
    if not (low and high and low - low == 0 and high - high == 0) then
      error(('%s %s: give NAME=LOW:HIGH, such as D0=10:1e6'):format(option, word), 0)
    end
    if low > high then error(('%s %s: the lower bound exceeds the upper one'):format(option, word), 0) end
    if out[name] then error(('%s names %s twice; give it once'):format(option, name), 0) end
    out[name] = { low, high }
  end
  return out
end

--- Ranges of frames out of words N or N-M; nil for none.
local function frames(words)
  if not words then return nil end
  local out = {}
  for k, word in ipairs(words) do
    local a, b = word:match '^(%d+)%-?(%d*)$'
    a, b = tonumber(a), tonumber(b) or tonumber(a)
    if not (a and a >= 1 and b >= a and b < 2 ^ 31) then
      error(('--mask-frames %s: give frames from 1, N or N-M, such as 31,70-75'):format(word), 0)
    end
    out[k] = { a, b }
  end
  return out
end

--- Bytes of a size such as 2GiB.
local function size_of(text)
  local amount, unit = text:match '^([%d.]+)%s*([KMGkmg]?)i?[Bb]?$'
  if not (tonumber(amount) and tonumber(amount) > 0) then
    error(('--max-memory is %q; give a size such as 2GiB'):format(text), 0)
  end
  return tonumber(amount) * ({ [''] = 1, k = 2 ^ 10, m = 2 ^ 20, g = 2 ^ 30 })[unit:lower()]
end

-- ---------------------------------------------------------------- what can be said of an option alone

local POSITIVE = { 'tolerance', 'initial_d0', 'q', 'gap', 'f_scale' }
local STEPS = { 1e-15, 1e9 } -- s between frames that are taken
local COUNTS = { 'max_iterations', 'n_samples', 'n_warmup', 'n_chains', 'threads', 'multi_start', 'cmc_num_shards' }

local function check_numbers(o)
  for _, name in ipairs(POSITIVE) do
    if o[name] and not (o[name] > 0 and o[name] < math.huge) then
      error(('%s is %g; it must be positive'):format(flag(name), o[name]), 0) end
  end
  if o.dt and not (o.dt >= STEPS[1] and o.dt <= STEPS[2]) then
    error(('--dt is %g s between frames; give one from %g to %g s'):format(o.dt, STEPS[1], STEPS[2]), 0)
  end
  for _, name in ipairs(COUNTS) do
    if o[name] and not (o[name] > 0 and o[name] < 2 ^ 53 and o[name] % 1 == 0) then
      error(('%s is %g; it must be positive, a whole number'):format(flag(name), o[name]), 0) end
  end
  if o.start_frame and not (o.start_frame >= 1 and o.start_frame < 2 ^ 53 and o.start_frame % 1 == 0) then
    error(('--start-frame is %g; frames count from 1: give a whole number, 1 for the first frame'):format(
      o.start_frame), 0)
  end
  if o.end_frame and o.end_frame < 1 and o.end_frame ~= -1 then
    error(('--end-frame is %d; give a frame from 1, or -1 for all'):format(o.end_frame), 0)
  end
  if o.end_frame and o.end_frame > 0 and o.end_frame - (o.start_frame or 1) < 1 then
    error(('--start-frame %d and --end-frame %d leave %d frame%s; two-time correlation needs at least 2'):format(
      o.start_frame or 1, o.end_frame, math.max(0, o.end_frame - (o.start_frame or 1) + 1),
      o.end_frame == (o.start_frame or 1) and '' or 's'), 0)
  end
  if o.seed and not (o.seed >= 0 and o.seed <= 2 ^ 53) then
    error(('--seed is %g; give a whole number from 0 to 2^53'):format(o.seed), 0)
  end
  if o.profile then require('workflows.xpcs.fit.intervals').known('--profile', o.profile) end
  if o.target_accept and not (o.target_accept > 0 and o.target_accept < 1) then
    error(('--target-accept is %g; give a number between 0 and 1, such as 0.95'):format(o.target_accept), 0)
  end
end

local function check_simulation(o)
  if o.frames and o.frames < 2 then error(('--frames is %d; a simulation needs at least 2'):format(o.frames), 0) end
  if o.noise and not (o.noise >= 0 and o.noise <= MOST_SIGMA) then
    error(('--noise is %g; it must not be negative, nor above %g'):format(o.noise, MOST_SIGMA), 0)
  end
  local wrong = parameters.examine { contrast = o.contrast, offset = o.offset }.errors[1]
  if wrong then error('--' .. wrong, 0) end
  M.angles(o.phi_angles)
end

--- The file of an option that may also name an array in it.
local function check_file(what, name)
  if name and not mc.file.exists(name) and not mc.file.exists((name:gsub(':[^:]*$', ''))) then
    error(('%s %s: there is no such file; check the path'):format(what, name), 0)
  end
end

--- Raises for options that contradict each other or are out of range, before anything is read.
---@param o table options of the script
function M.check(o)
  check.arg('xpcs.run.check', 'o', o, 'table', 3)
  options.known(o)
  if o.static_mode and o.laminar_flow then error('--static-mode and --laminar-flow exclude each other; give one', 0) end
  if o.verbose and o.quiet then error('--verbose and --quiet exclude each other; give one', 0) end
  check_numbers(o)
  check_simulation(o)
  for _, v in ipairs(o.sigma or {}) do
    if not (v > 0) then
      error(('--sigma holds %g: values of sigma are not positive; give standard deviations above 0'):format(v), 0)
    end
  end
  if o.sigma and o.sigma_file then error('--sigma and --sigma-file exclude each other; give one', 0) end
  for _, name in ipairs { 'sigma_file', 'mask' } do check_file(flag(name), o[name]) end
end

-- ---------------------------------------------------------------- parts of the settings

--- Angles and ranges of them: { angle }, { low, high }.
local function angle_ranges(option, words)
  if not words then return nil end
  local out = {}
  for i, word in ipairs(words) do
    local low, high = word:match '^([^:]+):([^:]+)$'
    low, high = tonumber(low or word), tonumber(high)
    if not low or low - low ~= 0 or word:find(':', 1, true) and not high or high and high - high ~= 0 then
      error(('%s %s: give angles or ranges in degrees, such as 3.7,44,-10:10'):format(option, word), 0)
    end
    out[i] = { low, high }
  end
  return out
end

local WORDS = { ['true'] = true, ['false'] = false }

--- A layout out of words NAME=VALUE: what reads as a number, or as true or false, is one.
local function layout_of(words)
  local out, keys = {}, require('workflows.xpcs.read.own_layout').KEYS
  for name, v in pairs(words) do
    if not keys[name] then
      error(('--layout names %s; it takes %s'):format(name, check.names(keys)), 0)
    end
    out[name] = tonumber(v) or v
    if WORDS[v] ~= nil then out[name] = WORDS[v] end
  end
  return out
end

local function take_data(s, o)
  s.path = o.data_file or s.path
  if s.path and s.path:lower():find '%.ya?ml$' then
    error(('%s looks like a configuration; give it with --config'):format(s.path), 0)
  end
  for key, name in pairs { q = 'q', dt = 'dt', gap = 'gap', start_frame = 'start_frame', end_frame = 'end_frame',
    dtype = 'dtype' } do if o[key] ~= nil then s.open[name] = o[key] end end
  if o.layout then s.open.layout = layout_of(o.layout) end
  if o.config then config.timed(s, o.config) end
  for _, name in ipairs { 'full_matrices', 'layout' } do
    if o[name] and s.path and s.path:lower():find '%.npz$' then
      error(('%s is for HDF5 files; the matrices of an .npz are whole; leave it out'):format(flag(name)), 0)
    end
  end
  if o.full_matrices then s.open.full_matrices = true end
  if o.strict_q then s.open.strict_q = true end
  if o.one_q then s.open.one_q = true end
  s.open.phi_ranges = angle_ranges('--angles', o.angles) or s.open.phi_ranges
  s.open.skip_phi = angle_ranges('--skip-angles', o.skip_angles)
  s.open.mask = o.mask or s.open.mask
  s.open.mask_frames = frames(o.mask_frames)
  if o.max_memory then s.open.max_memory = size_of(o.max_memory)
  elseif s.memory_gb then s.open.max_memory = s.memory_gb * 2 ^ 30 end
end

local function take_mode(s, o)
  if o.static_mode then s.fit.mode = 'static' elseif o.laminar_flow then s.fit.mode = 'laminar_flow' end
  s.open.mode = s.fit.mode or s.open.mode
  for _, name in ipairs(s.open.mode ~= 'laminar_flow' and not o.model and FLOW or {}) do
    if o[name] then
      error(('%s belongs to laminar flow; add --laminar-flow, or leave it out'):format(flag(name)), 0)
    end
  end
end

--- Standard deviations, loss and where the fit ends.
local function take_fit(s, o)
  for _, name in ipairs { 'scaling', 'loss', 'sigma', 'f_scale', 'legacy_counting' } do
    if o[name] ~= nil then s.fit[name] = o[name] end
  end
  if o.f_scale and s.fit.loss == 'linear' then
    error('--f-scale says where a loss bends and the linear one does not; add --loss soft_l1, or leave it out', 0)
  end
  if o.sigma and #o.sigma == 1 then s.fit.sigma = o.sigma[1] end
  if o.sigma then s.open.sigma = nil end
  if o.sigma_file then s.open.sigma, s.fit.sigma = o.sigma_file, nil end
  local sigma = s.fit.sigma
  for _, v in ipairs(type(sigma) == 'table' and sigma or { sigma }) do
    if v > MOST_SIGMA or v > 0 and v < LEAST_SIGMA then
      error(('sigma is %g; C2 is about 1: give a standard deviation from %g to %g'):format(v, LEAST_SIGMA, MOST_SIGMA),
        0)
    end
  end
  if o.max_iterations then s.fit.max_nfev, s.bounded = o.max_iterations, true end
  if o.tolerance then s.fit.ftol, s.fit.xtol, s.fit.gtol = o.tolerance, o.tolerance, o.tolerance end
  for _, name in ipairs { 'ftol', 'xtol', 'gtol' } do
    local v = s.fit[name]
    if v and v > MOST_TOLERANCE then
      error(('%s is %g: the fit would end where it starts; give a relative change of at most %g, such as 1e-8'):format(
        o.tolerance and '--tolerance' or name, v, MOST_TOLERANCE), 0)
    end
  end
  if o.multi_start then s.multi_start = { enable = true, n_starts = o.multi_start } end
end

--- OTHER*FACTOR+SHIFT as FACTOR*OTHER+SHIFT; other words as they are.
local function factor_first(words)
  local to, rest = words:match '^([%a_][%w_]*)%*(.+)$'
  local factor, shift = (rest or ''):match '^([+-]?[%d.]+[eE][+-]?%d+)(.*)$'
  if not factor then factor, shift = (rest or ''):match '^([+-]?[%d.]+)(.*)$' end
  return factor and factor .. '*' .. to .. shift or words
end

--- A tie NAME=FACTOR*OTHER+SHIFT or NAME=OTHER*FACTOR+SHIFT, factor and shift as one likes: the name, and { to, factor,
--- shift }.
local function tie(word)
  local name, rest = word:match '^([%w_]+)=(.+)$'
  rest = rest and factor_first(rest)
  local factor, sum = (rest or ''):match '^([^*]+)%*(.+)$'
  local to, shift = (sum or rest or ''):match '^([%a_][%w_]*)([+-]?.*)$'
  local values = { to = to, factor = tonumber(factor or 1), shift = tonumber(shift ~= '' and shift or 0) }
  if not (to and values.factor and values.shift) then
    error(('--tie %s: give NAME=FACTOR*OTHER+SHIFT, such as D_offset=0.1*D0'):format(word), 0)
  end
  return name, values
end

--- The name of a parameter, of the model when there is one, else of the physics of the mode.
local function name_of(s, o, option, name, get)
  if o.model then return name end
  local key = get(option, name, 0)
  if type(key) == 'table' then key = key.name end
  if s.open.mode ~= 'laminar_flow' and SHEAR[key] then
    error(('%s %s belongs to laminar flow; add --laminar-flow, or leave it out'):format(option, name), 0)
  end
  return key
end

--- Starting values, fixed values and bounds.
local function take_parameters(s, o)
  s.fit.initial = s.fit.initial or {}
  for option, name in pairs(M.INITIAL) do if o[option] then s.fit.initial[name] = o[option] end end
  local fixed = {}
  for name, v in pairs(named_numbers('--fixed', o.fixed, true)) do
    local key = name_of(s, o, '--fixed', name, parameters.key)
    s.fit.fixed = s.fit.fixed or {}
    s.fit.fixed[key], fixed[key] = v, v
    local wrong = not o.model and v ~= true and parameters.examine({ [key] = v }).errors[1]
    if wrong then error('--fixed ' .. wrong, 0) end
  end
  for name, b in pairs(ranges('--bounds', o.bounds)) do
    local key = name_of(s, o, '--bounds', name, parameters.get)
    if fixed[key] then
      error(('--bounds %s has no effect beside --fixed %s; leave one of them out'):format(name, name), 0)
    end
    s.fit.bounds = s.fit.bounds or {}
    s.fit.bounds[key] = b
  end
  for _, word in ipairs(o.tie or {}) do
    local name, values = tie(word)
    local key = name_of(s, o, '--tie', name, parameters.get)
    values.to = name_of(s, o, '--tie', values.to, parameters.get)
    s.fit.ties = s.fit.ties or {}
    if s.fit.ties[key] then error(('--tie names %s twice; give it once'):format(name), 0) end
    if fixed[key] then
      error(('--tie %s has no effect beside --fixed %s; leave one of them out'):format(name, name), 0)
    end
    s.fit.ties[key] = values
  end
  for name, v in pairs(o.model and {} or fixed) do
    if v == true and s.fit.initial[name] == nil then
      error(('--fixed %s: give the value, %s=VALUE, or its start beside it'):format(name, name), 0)
    end
  end
  for option, name in pairs(M.INITIAL) do
    if o[option] and type(fixed[name]) == 'number' then
      error(('%s has no effect beside --fixed %s=%g; leave one of them out'):format(flag(option), name, fixed[name]), 0)
    end
  end
  return fixed
end

local POSTERIOR = { 'n_samples', 'n_warmup', 'n_chains', 'cmc_num_shards', 'cmc_backend', 'prior', 'dense_mass_matrix',
  'no_nlsq_warmstart', 'target_accept' }

local function take_posterior(s, o)
  s.method = o.method or s.method
  local with = s.posterior
  for option, name in pairs { n_samples = 'draws', n_warmup = 'warmup', n_chains = 'chains', cmc_num_shards = 'shards',
    prior = 'prior', target_accept = 'target_accept' } do
    if o[option] ~= nil then with[name] = o[option] end
  end
  if o.seed then
    s.seed = o.seed
    for _, part in ipairs { s.multi_start, s.cmaes, s.streaming, with } do part.seed = o.seed end
  end
  if o.dense_mass_matrix then with.metric = 'dense' end
  if o.no_nlsq_warmstart then with.warm_start = false end
  for _, name in ipairs(s.method == 'nlsq' and POSTERIOR or {}) do
    if o[name] then
      error(('%s belongs to a posterior; add --method cmc or --method both'):format(flag(name)), 0)
    end
  end
end

--- Options that are taken from other programs and do nothing here.
local function note_unused(s, o)
  if o.cmc_backend then table.insert(s.unused, '--cmc-backend (chains run in this process)') end
  for _, name in ipairs { 'plotting_backend', 'parallel_plots', 'no_jit', 'cmc_plot_diagnostics' } do
    if o[name] then table.insert(s.unused, flag(name)) end
  end
end

-- What a fit of each kind has not. refused: options, and keys of a configuration with the value that asks for nothing.
-- noted: keys that steer nothing there and are taken with a note, so that templates of homodyne work, and the values
-- that ask for nothing. Beside each key may stand what tells whether an option has taken its place.
local STREAMING = { { 'optimization.streaming.enable_checkpoints' },
  { 'optimization.streaming.batch_size' }, { 'optimization.streaming.max_retries_per_batch' },
  { 'optimization.nlsq.trust_region_scale', 1 }, { 'optimization.nlsq.x_scale_map' } }
local SEARCHES = { { 'optimization.nlsq.multi_start.enable', 'false' }, { 'optimization.nlsq.cmaes.enable', 'false' } }
local WITHOUT = {
  model = {
    because = ', which fits a function of your own',
    options = { 'static_mode', 'laminar_flow', 'profile', 'multi_start', 'checkpoint_dir', 'joint', 'legacy_counting',
      'tie', 'seed', 'nlsq_result' },
    refused = { SEARCHES[1], SEARCHES[2], { 'optimization.nlsq.legacy_counting', 'false' },
      { 'initial_parameters.tied_parameters', 'null' } },
    noted = { { 'initial_parameters.values' }, { 'initial_parameters.active_parameters' },
      { 'initial_parameters.per_angle_scaling.contrast' }, { 'initial_parameters.per_angle_scaling.offset' },
      { 'analyzer_parameters.phase_convention' },
      { 'optimization.nlsq.legacy_abs' }, { 'optimization.nlsq.anti_degeneracy.shear_weighting.enable' },
      { 'optimization.nlsq.quality_validation.reduced_chi_squared_threshold' }, { 'performance.computation.device' },
      unpack(STREAMING) },
  },
  joint = {
    because = '',
    options = { 'profile', 'multi_start', 'checkpoint_dir', 'sigma_file', 'mask', 'mask_frames', 'seed',
      'save_plots' },
    refused = { SEARCHES[1], SEARCHES[2], { 'experimental_data.mask', 'null' },
      { 'experimental_data.sigma', 'null', function(s) return s.open.sigma end } },
    noted = { { 'plotting.save_plots' }, unpack(STREAMING) },
  },
}

--- Refuses what a fit of this kind has not, from options and configuration, and lists the keys that steer nothing.
local function take_kind(s, o, kind)
  local rule = WITHOUT[kind]
  for _, name in ipairs(rule.options) do
    if o[name] then
      error(('%s has no meaning with --%s%s; leave it out'):format(flag(name), kind, rule.because), 0)
    end
  end
  local function asks(key, nothing, given)
    local v = s.tree and require('workflows.xpcs.command.config').value(s.tree, key)
    return v ~= nil and v ~= false and v ~= nothing and (not given or given(s) ~= nil)
  end
  for _, row in ipairs(rule.refused) do
    if asks(row[1], nil, row[3]) then
      error(('%s has no meaning with --%s%s; take it out of the configuration, or add --set %s=%s'):format(row[1],
        kind, rule.because, row[1], row[2]), 0)
    end
  end
  local keys = {}
  for _, row in ipairs(rule.noted) do
    if asks(row[1], row[2]) then keys[#keys + 1] = row[1] end
  end
  return keys
end

--- Bounds of physical parameters that a configuration names and the model has not go; whether there were any.
local function drop_bounds(s, o)
  local given, dropped = ranges('--bounds', o.bounds), false
  for _, name in ipairs(s.tree and parameters.names 'laminar_flow' or {}) do
    if (s.fit.bounds or {})[name] and not given[name] and s.model.p0[name] == nil then
      s.fit.bounds[name], dropped = nil, true
    end
  end
  return dropped
end

local function say_without(s, kind, keys)
  if keys[1] then
    s.without = ('with --%s these keys of the configuration have no effect: %s'):format(kind, table.concat(keys, ', '))
  end
end

--- A model of the user's own and its starting values.
local function take_model(s, o, fixed)
  if not o.model then
    if o.p0 then error('--p0 names the starting values of a model of your own; name it with --model', 0) end
    return
  end
  for option in pairs(M.INITIAL) do
    if o[option] then
      error(('%s has no meaning with --model; name starting values with --p0'):format(flag(option)), 0)
    end
  end
  local keys = take_kind(s, o, 'model')
  if o.device and o.device ~= 'cpu' and o.device ~= 'auto' then
    error('--device has no meaning with --model, which fits a function of your own; leave it out', 0)
  end
  s.model = require('workflows.xpcs.fit.model_file').read(o.model)
  if drop_bounds(s, o) then keys[#keys + 1] = 'parameter_space.bounds' end
  say_without(s, 'model', keys)
  s.fit.initial = named_numbers('--p0', o.p0)
  for name in pairs(s.fit.initial) do
    if type(fixed[name]) == 'number' then
      error(('--p0 %s has no effect beside --fixed %s=%g; leave one of them out'):format(name, name, fixed[name]), 0)
    end
  end
end

--- Values of the physical parameters of an earlier fit: of DIR/parameters.json or DIR/nlsq/parameters.json.
---@param dir string
function M.values_of(dir)
  check.arg('xpcs.run.values_of', 'dir', dir, 'string', 3)
  mc.results.recover(dir)
  local path = dir .. '/parameters.json'
  if not mc.file.exists(path) then path = dir .. '/nlsq/parameters.json' end
  if not mc.file.exists(path) then
    error(('--nlsq-result %s: there is no parameters.json, nor nlsq/parameters.json; check the path'):format(dir), 0)
  end
  local out = {}
  for name, q in pairs(mc.load(path).parameters or {}) do
    if name ~= 'contrast' and name ~= 'offset' and type(q) == 'table' and type(q.value) == 'number' then
      out[parameters.get('--nlsq-result', name, 0).name] = q.value
    end
  end
  return out
end

--- Further data sets and the parameters in common.
local function take_joint(s, o)
  local sigma = s.fit.sigma
  s.alone = o.model ~= nil or o.joint ~= nil or s.method ~= 'nlsq' or type(sigma) == 'table' and #sigma > 1
    or not check.try(take_kind, s, o, 'joint') -- what holds more q of the file off the same line
  if not o.joint then
    if o.shared then error('--shared names the parameters in common of data sets; name them with --joint', 0) end
    return
  end
  say_without(s, 'joint', take_kind(s, o, 'joint'))
  s.fit.x_scale, s.fit.trust_region_scale = nil, nil -- noted: the solver of all takes neither
  for _, entry in ipairs(o.joint) do
    if not tonumber(entry) and not mc.file.exists(entry) then
      error(('--joint %s: there is no such file; give files, or q (1/A) of the same file'):format(entry), 0)
    end
  end
  s.joint = o.joint
  if o.shared then
    s.shared = {}
    for i, name in ipairs(o.shared) do s.shared[i] = name_of(s, o, '--shared', name, parameters.get) end
  end
end

--- Where passes run, and what data may take there.
local function take_device(s, o)
  local named = o.device or not o.model and s.fit.device or nil
  s.fit.device = nil
  if o.model then -- fitted on the CPU
    local device = mc.args.device(named)
    if device and device ~= 'cpu' then s.device_line = 'device: cpu, where functions of your own are fitted' end
    return
  end
  local device, line = mc.args.device(named)
  s.fit.device, s.device_line = device, line
  if not device then return end
  s.fit.fall_back = named == nil or named == 'auto'
  s.fit.max_memory = s.open.max_memory
end

--- Where results, packed data and checkpoints go.
local function take_output(s, o)
  s.threads = o.threads or s.threads
  s.dir = o.out or o.output_dir or s.directory or './homodyne_results'
  s.format = o.output_format or 'yaml'
  s.open.pack_default = s.dir .. '/packed_c2.h5'
  s.open.pack = o.pack or (s.strategy == 'STREAMING' or s.strategy == 'CHUNKED') and s.open.pack_default or nil
  s.level, s.arrays = o.profile, not o.no_arrays
  if not (o.model or o.joint) then
    s.checkpoints = o.checkpoint_dir or s.streaming.enable_checkpoints
      and (s.streaming.checkpoint_dir or './checkpoints') or nil
  end
  s.save_plots = o.save_plots or not o.joint and s.plotting.save_plots or false
end

--- Settings of a run from the options of the script: a configuration when one is named, else the options alone.
---@param o table
function M.of(o)
  M.check(o)
  local s
  if o.config then s = config.read(o.config, o.set)
  else
    s = { open = { q = o.q, dt = o.dt, mode = 'static' }, fit = { loss = 'linear' }, plotting = {}, streaming = {},
      multi_start = {}, cmaes = {}, posterior = {}, method = 'nlsq', progress = true, unused = {} }
    if o.set then error('--set changes keys of a configuration; name one with --config', 0) end
  end
  take_data(s, o)
  take_mode(s, o)
  take_fit(s, o)
  local fixed = take_parameters(s, o)
  take_posterior(s, o)
  note_unused(s, o)
  take_model(s, o, fixed)
  for name, v in pairs(o.nlsq_result and M.values_of(o.nlsq_result) or {}) do
    if s.fit.initial[name] == nil then s.fit.initial[name] = v end
  end
  take_joint(s, o)
  if (o.model or o.joint) and s.method ~= 'nlsq' then
    error(('--method %s has no meaning with --%s; it is fitted by least squares'):format(s.method,
      o.model and 'model' or 'joint'), 0)
  end
  take_device(s, o)
  take_output(s, o)
  return s
end

return M
