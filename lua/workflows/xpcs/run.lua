-- run.lua - a command of the program: settings from a configuration and options, data, fit, files.
--
-- What scripts/xpcs.lua and a user's own script have in common. Checks everything that can be checked before the data
-- are read.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local text = require 'mascon.base.text'
local error = check.error
local source = require 'workflows.xpcs.source'
local parameters = require 'workflows.xpcs.parameters'
local options = require 'workflows.xpcs.options'
local truth = require 'workflows.xpcs.truth'
local M = {}

local INITIAL = { initial_d0 = 'D0', initial_alpha = 'alpha', initial_d_offset = 'D_offset',
  initial_gamma_dot_t0 = 'gamma_dot_t0', initial_beta = 'beta',
  initial_gamma_dot_offset = 'gamma_dot_t_offset', initial_phi0 = 'phi0' }

--- A list of angles such as "0,45,90".
local function angle_list(list_text)
  if not list_text then return nil end
  local out = {}
  for word in (list_text .. ','):gmatch '([^,]*),' do
    local v = tonumber(word)
    if not v or v ~= v or math.abs(v) == math.huge then
      error(('--phi-angles is %q; give angles in degrees such as "0,45,90"'):format(list_text), 0) end
    out[#out + 1] = v
  end
  return out
end

-- options of laminar flow
local FLOW = { 'initial_gamma_dot_t0', 'initial_beta', 'initial_gamma_dot_offset', 'initial_phi0', 'gap' }

-- parameters of laminar flow alone
local SHEAR = {}
for _, name in ipairs(parameters.names 'laminar_flow') do SHEAR[name] = true end
for _, name in ipairs(parameters.names 'static') do SHEAR[name] = nil end

local function flag(name) return '--' .. name:gsub('_', '-') end

--- Raises for options that contradict each other or are out of range, before anything is read.
---@param o table options of the script
function M.check(o)
  options.known(o)
  if o.static_mode and o.laminar_flow then error('--static-mode and --laminar-flow exclude each other; give one', 0) end
  if o.verbose and o.quiet then error('--verbose and --quiet exclude each other; give one', 0) end
  for _, name in ipairs { 'max_iterations', 'tolerance', 'n_samples', 'n_warmup', 'n_chains', 'threads', 'initial_d0',
    'dt', 'q', 'gap', 'f_scale', 'multi_start', 'cmc_num_shards', 'start_frame' } do
    if o[name] and not (o[name] > 0 and o[name] < math.huge) then
      error(('%s is %g; it must be positive'):format(flag(name), o[name]), 0) end
  end
  if o.end_frame and o.end_frame < 1 and o.end_frame ~= -1 then
    error(('--end-frame is %d; give a frame from 1, or -1 for all'):format(o.end_frame), 0)
  end
  if o.seed and not (o.seed >= 0 and o.seed <= 2 ^ 53) then
    error(('--seed is %g; give a whole number from 0 to 2^53'):format(o.seed), 0)
  end
  if o.profile and not (o.profile > 0 and o.profile < 1) then
    error(('--profile is %g; give a level between 0 and 1, such as 0.95'):format(o.profile), 0)
  end
  if o.target_accept and not (o.target_accept > 0 and o.target_accept < 1) then
    error(('--target-accept is %g; give a number between 0 and 1, such as 0.95'):format(o.target_accept), 0)
  end
  if o.frames and o.frames < 2 then error(('--frames is %d; a simulation needs at least 2'):format(o.frames), 0) end
  if o.noise and o.noise < 0 then error(('--noise is %g; it must not be negative'):format(o.noise), 0) end
  for _, v in ipairs(o.sigma or {}) do
    if not (v > 0) then
      error(('--sigma holds %g: values of sigma are not positive; give standard deviations above 0'):format(v), 0)
    end
  end
  if o.sigma and o.sigma_file then error('--sigma and --sigma-file exclude each other; give one', 0) end
  for _, name in ipairs { 'sigma_file', 'mask' } do
    local file = o[name] and (mc.file.exists(o[name]) and o[name] or o[name]:gsub(':[^:]*$', ''))
    if file and not mc.file.exists(file) then
      error(('%s %s: there is no such file; check the path'):format(flag(name), o[name]), 0)
    end
  end
  angle_list(o.phi_angles)
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

--- Values of the physical parameters of an earlier fit: of DIR/parameters.json or DIR/nlsq/parameters.json.
function M.values_of(dir)
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

--- Settings of a run from the options of the script: a configuration when one is named, else the options alone.
---@param o table
function M.settings(o)
  M.check(o)
  local s
  if o.config then s = require('workflows.xpcs.config').read(o.config, o.set)
  else
    s = { open = { q = o.q, dt = o.dt, mode = 'static' }, fit = { loss = 'linear' }, plotting = {}, streaming = {},
      multi_start = {}, cmaes = {}, posterior = {}, method = 'nlsq', progress = true, unused = {} }
    if o.set then error('--set changes keys of a configuration; name one with --config', 0) end
  end
  s.path = o.data_file or s.path
  for key, name in pairs { q = 'q', dt = 'dt', gap = 'gap', start_frame = 'start_frame', end_frame = 'end_frame',
    dtype = 'dtype' } do if o[key] ~= nil then s.open[name] = o[key] end end
  if o.full_matrices then s.open.full_matrices = true end
  if o.strict_q then s.open.strict_q = true end
  if o.static_mode then s.fit.mode = 'static' elseif o.laminar_flow then s.fit.mode = 'laminar_flow' end
  s.open.mode = s.fit.mode or s.open.mode
  for _, name in ipairs(s.open.mode ~= 'laminar_flow' and not o.model and FLOW or {}) do
    if o[name] then
      error(('%s belongs to laminar flow; add --laminar-flow, or leave it out'):format(flag(name)), 0)
    end
  end
  s.fit.initial = s.fit.initial or {}
  for option, name in pairs(INITIAL) do if o[option] then s.fit.initial[name] = o[option] end end
  for _, name in ipairs { 'scaling', 'loss', 'sigma', 'f_scale', 'legacy_counting' } do
    if o[name] ~= nil then s.fit[name] = o[name] end
  end
  if o.f_scale and s.fit.loss == 'linear' then
    error('--f-scale says where a loss bends and the linear one does not; add --loss soft_l1, or leave it out', 0)
  end
  if o.sigma and #o.sigma == 1 then s.fit.sigma = o.sigma[1] end
  if o.sigma then s.open.sigma = nil end
  if o.sigma_file then s.open.sigma, s.fit.sigma = o.sigma_file, nil end
  s.open.mask = o.mask or s.open.mask
  if o.max_iterations then s.fit.max_nfev = o.max_iterations end
  if o.tolerance then s.fit.ftol, s.fit.xtol, s.fit.gtol = o.tolerance, o.tolerance, o.tolerance end
  if o.fixed then
    s.fit.fixed = s.fit.fixed or {}
    for name, v in pairs(named_numbers('--fixed', o.fixed, true)) do
      local key = o.model and name or parameters.key('--fixed', name, 0)
      if s.open.mode ~= 'laminar_flow' and not o.model and SHEAR[key] then
        error(('--fixed %s belongs to laminar flow; add --laminar-flow, or leave it out'):format(name), 0)
      end
      s.fit.fixed[key] = v
    end
  end
  for name, b in pairs(ranges('--bounds', o.bounds)) do
    local key = name
    if not o.model then
      key = parameters.get('--bounds', name, 0).name
      if s.open.mode ~= 'laminar_flow' and SHEAR[key] then
        error(('--bounds %s belongs to laminar flow; add --laminar-flow, or leave it out'):format(name), 0)
      end
    end
    s.fit.bounds = s.fit.bounds or {}
    s.fit.bounds[key] = b
  end
  if o.multi_start then s.multi_start = { enable = true, n_starts = o.multi_start } end
  if o.max_memory then
    local amount, unit = o.max_memory:match '^([%d.]+)%s*([KMGkmg]?)i?[Bb]?$'
    if not (tonumber(amount) and tonumber(amount) > 0) then
      error(('--max-memory is %q; give a size such as 2GiB'):format(o.max_memory), 0)
    end
    s.open.max_memory = tonumber(amount) * ({ [''] = 1, k = 2 ^ 10, m = 2 ^ 20, g = 2 ^ 30 })[unit:lower()]
  elseif s.memory_gb then s.open.max_memory = s.memory_gb * 2 ^ 30 end
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
  if o.cmc_backend then table.insert(s.unused, '--cmc-backend (chains run in this process)') end
  for _, name in ipairs { 'plotting_backend', 'parallel_plots', 'no_jit', 'cmc_plot_diagnostics' } do
    if o[name] then table.insert(s.unused, flag(name)) end
  end
  if s.method == 'nlsq' then
    for _, name in ipairs { 'n_samples', 'n_warmup', 'n_chains', 'cmc_num_shards', 'cmc_backend', 'prior',
      'dense_mass_matrix', 'no_nlsq_warmstart', 'target_accept' } do
      if o[name] then
        error(('--%s belongs to a posterior; add --method cmc or --method both'):format(name:gsub('_', '-')), 0)
      end
    end
  end
  if o.model then
    for option in pairs(INITIAL) do
      if o[option] then
        error(('%s has no meaning with --model; name starting values with --p0'):format(flag(option)), 0)
      end
    end
    for _, name in ipairs { 'static_mode', 'laminar_flow', 'profile', 'multi_start', 'checkpoint_dir', 'joint',
      'legacy_counting', 'gap', 'seed', 'nlsq_result' } do
      if o[name] then
        error(('--%s has no meaning with --model, which fits a function of your own; leave it out'):format(
          name:gsub('_', '-')), 0)
      end
    end
    s.model = require('workflows.xpcs.model_file').read(o.model)
    s.fit.initial = named_numbers('--p0', o.p0)
  elseif o.p0 then error('--p0 names the starting values of a model of your own; name it with --model', 0) end
  if o.nlsq_result then
    for name, v in pairs(M.values_of(o.nlsq_result)) do
      if s.fit.initial[name] == nil then s.fit.initial[name] = v end
    end
  end
  if o.joint then
    for _, name in ipairs { 'profile', 'multi_start', 'checkpoint_dir', 'sigma_file', 'mask', 'seed' } do
      if o[name] then error(('--%s has no meaning with --joint; leave it out'):format(name:gsub('_', '-')), 0) end
    end
    for _, entry in ipairs(o.joint) do
      if not tonumber(entry) and not mc.file.exists(entry) then
        error(('--joint %s: there is no such file; give files, or q (1/A) of the same file'):format(entry), 0)
      end
    end
    s.joint = o.joint
    if o.shared then
      s.shared = {}
      for i, name in ipairs(o.shared) do s.shared[i] = parameters.get('--shared', name, 0).name end
    end
  elseif o.shared then error('--shared names the parameters in common of data sets; name them with --joint', 0) end
  if (o.model or o.joint) and s.method ~= 'nlsq' then
    error(('--method %s has no meaning with --%s; it is fitted by least squares'):format(s.method,
      o.model and 'model' or 'joint'), 0)
  end
  s.threads = o.threads or s.threads
  s.dir = o.out or o.output_dir or s.directory or './homodyne_results'
  s.format = o.output_format or 'yaml'
  s.open.pack_default = s.dir .. '/packed_c2.h5'
  s.open.pack = o.pack or (s.strategy == 'STREAMING' or s.strategy == 'CHUNKED') and s.open.pack_default or nil
  s.level, s.arrays = o.profile, not o.no_arrays
  s.checkpoints = o.checkpoint_dir or s.streaming.enable_checkpoints and (s.streaming.checkpoint_dir or './checkpoints')
    or nil
  s.save_plots = o.save_plots or s.plotting.save_plots or false
  return s
end

--- Bytes that a run takes where nothing else is said: the matrices as f32 and 300 MB, more for standard deviations per
--- point. Freed memory goes back to the system above it. Nil where the file says no size.
function M.bound(s)
  if not s.path then return nil end
  local o = {}
  for k, v in pairs(s.open) do o[k] = v end
  o.shape_only = true
  local ok, d = pcall(source.open, s.path, o)
  if not ok then return nil end -- the data say so when they are read
  return 4 * d.F * d.n ^ 2 * (o.sigma ~= nil and 2 or 1) + 3e8
end

--- The data of the settings, with a progress line for files of many matrices.
function M.data(s, quiet)
  if not s.path then
    error('no data file is named; give --data-file, or experimental_data.file_path in the configuration', 0) end
  local bar
  local o = {}
  for k, v in pairs(s.open) do o[k] = v end
  o.shape_only = mc.manifest.planning() and true or nil
  if s.model then o.copies = require('workflows.xpcs.own').COPIES end
  if s.progress and not quiet then
    o.progress = function(k, n)
      bar = bar or (n > 8 and mc.progress.new(n, { label = 'reading', unit = 'matrices' }) or false)
      if bar then bar:update(k) end
      if bar and k == n then bar:done() end
    end
  end
  local d = source.open(s.path, o)
  return d
end

-- starts that are tried where the first fit is no fit, for so many points at most
local STARTS, MOST = 20, 2e6

--- Whether contrast and offset of their own for each angle make a fit that chance explains, from where it ended: then
--- the physics is that of the data, and other starts of it would be tried in vain.
local function only_scaling(data, o, first)
  if not (first.contrasts and first.contrasts.improbable) then return false end
  local with = { initial = {}, scaling = 'individual' }
  for k, v in pairs(o) do if with[k] == nil and k ~= 'progress' and k ~= 'watch' then with[k] = v end end
  for _, name in ipairs(parameters.names(first.mode)) do with.initial[name] = first.values[name] end
  local own = require('workflows.xpcs.fit').fit(data, with)
  if own.verdict.misfit then return false end
  table.insert(first.warnings, ('no other starts were tried: with contrast and offset of its own for each angle the '
    .. 'fit from here has reduced chi2 %.4g (--scaling individual)'):format(own.reduced_chi2))
  return true
end

--- A fit that chance does not explain may have ended in the wrong valley: others are tried unless that would take long,
--- or contrast and offset of the angles explain it. The search keeps no checkpoints; it follows from the first fit, so
--- a run that was stopped in it ends the same.
function M.again(data, o, first, seed)
  if data.points > MOST or only_scaling(data, o, first) then return first end
  local r = require('workflows.xpcs.search').multi_start(data, o, { n_starts = STARTS, seed = seed, first = first })
  table.insert(r.warnings,
    ('reduced chi2 of the first fit was %.4g, which chance does not explain, so other starts were '
    .. 'tried (as with --multi-start %d); the best of %d fits has %.4g'):format(first.reduced_chi2, STARTS,
    #r.search.fits, r.reduced_chi2))
  for _, name in ipairs { 'recovery_actions', 'statistics', 'checkpoint_enabled', 'resumed', 'resume_batch_idx',
    'n_batches', 'success_rate', 'checkpoint_seconds' } do r[name] = first[name] end
  return r
end

--- Where a fit that was stopped had come, as options that start from there; nil before its first pass.
---@param s table settings of run
---@return string|nil
function M.reached(s)
  if not s.reached then return nil end
  local option_of, words = {}, {}
  for option, name in pairs(INITIAL) do option_of[name] = option end
  for k, v in ipairs(s.reached.values) do
    words[k] = ('%s %s'):format(flag(option_of[parameters.LIST[k].name]), text.significant(v, 7))
  end
  return ('it had come to a cost of %s; to start from there add %s'):format(text.significant(s.reached.cost, 7),
    table.concat(words, ' '))
end

--- Fits by the settings: with other starts when they ask for it, or when the first fit is improbable.
function M.fit(s, data, quiet)
  local o = {}
  for k, v in pairs(s.fit) do o[k] = v end
  if s.progress and not quiet then
    local clock, first = mc.info and os.clock, os.clock()
    local shown = first
    o.progress = function(point, iteration, gradient, p)
      local now = clock()
      if now - shown > 1 then
        shown = now
        io.stderr:write(('iteration %d: cost %.8g, gradient %.3g, %.3g points/s\n'):format(iteration, point.cost,
          gradient, p.nfev * data.points / math.max(now - first, 1e-9)))
      end
    end
  end
  --- The deepest point so far: what a run that is stopped tells.
  function o.watch(p, point)
    if point.cost and not (s.reached and s.reached.cost <= point.cost) then
      local z = p:full(point.x)
      s.reached = { cost = point.cost, values = { unpack(z, 2 * p.m + 1) } }
    end
  end
  local r
  local c, m, e = s.streaming, s.multi_start, s.cmaes
  if c.batch_size then data.block_values = c.batch_size end
  if m.enable and e.enable then error('multi_start and cmaes are both enabled; enable one of them', 0) end
  if (m.enable or e.enable) and s.checkpoints then
    table.insert(data.warnings, 'a search from several starts keeps no checkpoints')
  end
  if m.enable then
    r = require('workflows.xpcs.search').multi_start(data, o, { n_starts = m.n_starts, seed = m.seed,
      sampling_strategy = m.sampling_strategy, use_screening = m.use_screening, ftol = m.refinement_ftol })
  elseif e.enable then
    r = require('workflows.xpcs.search').evolve(data, o, { max_generations = e.max_generations, sigma = e.sigma,
      popsize = e.popsize, tolfun = e.tol_fun, tolx = e.tol_x, seed = e.seed, ftol = e.refinement_ftol,
      restarts = e.restart_strategy == 'none' and 0 or e.max_restarts, always = e.warmstart_auto_skip == false,
      skip_below = e.warmstart_skip_threshold })
  else
    local run
    if s.checkpoints then
      function run(d, with)
        return (require('workflows.xpcs.state').fit(d, with, { dir = s.checkpoints, keep = c.keep_last_checkpoints,
          resume = c.resume_from_checkpoint, blocks = c.checkpoint_frequency, block_values = c.batch_size,
          min_success_rate = c.min_success_rate }))
      end
    end
    local retries = c.enable_fault_tolerance == false and 0 or c.max_retries_per_batch
    r = require('workflows.xpcs.recovery').fit(data, o, { run = run, retries = retries, seed = c.seed })
    if r.verdict.misfit and m.enable == nil then r = M.again(data, o, r, s.seed) end
  end
  if s.level then require('workflows.xpcs.intervals').profile(r, nil, s.level) end
  return r
end

--- Fits the user's own model by the settings.
function M.own(s, data)
  local file = require 'workflows.xpcs.model_file'
  local r = file.fit(data, s.model, s.fit)
  return r
end

--- Refuses a data set that takes a matrix which one before it takes: a joint fit would count it twice.
local function refuse_again(list, d, entry)
  local i = require('workflows.xpcs.joint').taken(list, d)
  if not i then return end
  error(('--joint %s: the nearest q of %s is %.6g 1/A, and data set %d (q = %.6g 1/A) takes its matrices '
    .. 'already, which would count twice; name another q%s, or leave it out'):format(entry, d.path, d.q, i,
    list[i].q, list[i].q ~= d.q and ' or add --strict-q' or ''), 0)
end

--- The further data sets of a joint fit: each a file, or a number: another q of the same file.
---@param s table
---@param first mascon.xpcs.Data
---@return mascon.xpcs.Data[] all
function M.others(s, first, quiet)
  local list, packed = { first }, 0
  for i, entry in ipairs(s.joint) do
    local o, q = {}, tonumber(entry)
    for k, v in pairs(s.open) do o[k] = v end
    o.q = q or o.q
    o.pack_default = ('%s/packed_c2_%d.h5'):format(s.dir, i + 1)
    o.pack = o.pack and o.pack:gsub('%.h5$', '') .. ('_%d.h5'):format(i + 1) or nil
    if o.max_memory then
      packed = packed + (list[i].packed and source.bytes(list[i]) or 0)
      o.max_memory = o.max_memory - packed
    end
    local d = M.data({ path = q and s.path or entry, open = o, progress = s.progress }, quiet)
    refuse_again(list, d, entry)
    list[i + 1] = d
  end
  return list
end

--- Fits several data sets at once by the settings.
function M.joint(s, list)
  local o = {}
  for k, v in pairs(s.fit) do o[k] = v end
  o.shared = s.shared
  return (require('workflows.xpcs.joint').fit(list, o))
end

--- Writes files into a folder of a set and notes them; write(folder) returns their names. The tables hold times, so
--- only files whose name has the given start are compared.
local function part(set, folder, compared, write)
  local ok, why = mc.file.make_folder(set.folder .. '/' .. folder)
  if not ok then error(why, 0) end
  local names, more = write(set.folder .. '/' .. folder)
  for _, name in ipairs(names) do set:path(folder .. '/' .. name, { compare = name:find('^' .. compared) ~= nil }) end
  return more
end

--- Writes a joint fit, all files or none: <dir>/joint.json, <dir>/set<i>/ with the files and the report of each data
--- set, manifest.json.
---@return string[] files relative to dir
function M.write_joint(s, list, r, record)
  local results, report = require 'workflows.xpcs.results', require 'workflows.xpcs.report'
  return mc.results.write(s.dir, record, function(set)
    mc.save(set:path('joint.json', { compare = false }), require('workflows.xpcs.joint').tables(r, list))
    for i, data in ipairs(list) do
      local name = ('set%d'):format(i)
      part(set, name .. '/nlsq', 'fitted_data', function(folder)
        return results.write(folder, r.fits[i], data, { format = s.format, arrays = s.arrays })
      end)
      local subtitle = ('%s, data set %d of %d of a joint fit'):format(data.path and data.path:match '[^/]*$' or '', i,
        #list)
      mc.save(set:path(name .. '/report.html', { compare = false }), report.page(r.fits[i], data,
        { subtitle = subtitle }))
    end
  end)
end

--- Draws from the posterior of a fit by the settings; nil for nlsq.
---@return table|nil posterior, table|nil shards
function M.posterior(s, r, quiet)
  if s.method == 'nlsq' then return nil end
  local o = {}
  for k, v in pairs(s.posterior) do o[k] = v end
  local count = o.shards
  o.shards, o.checkpoint = nil, s.checkpoints
  if s.checkpoints then o.resume = s.streaming.resume_from_checkpoint end
  o.progress = s.progress and not quiet and 'posterior' or false
  local shards
  if count then
    local with = { shards = count }
    for k, v in pairs(o) do with[k] = v end
    with.checkpoint, with.resume, with.progress = nil, nil, nil
    shards = require('workflows.xpcs.shards').run(r, with)
  end
  return require('workflows.xpcs.posterior').run(r, o), shards
end

--- Range of colours of the heat maps, as the configuration says.
local function limits_of(scale)
  if scale.mode == 'fixed' or scale.mode == 'legacy' then
    return { vmin = scale.fixed_min or 1, vmax = scale.fixed_max or 1.5 }
  end
  return { low = scale.percentile_min, high = scale.percentile_max }
end

--- The heat maps of every angle; .svg where the form that is asked for cannot be written.
local function heatmaps(s, data, r, set)
  local report, form = require 'workflows.xpcs.report', s.plotting.format or 'png'
  local limits, seen = limits_of(s.plotting.color_scale or {}), {}
  for f = 1, data.F do
    local name = ('nlsq/c2_heatmaps_phi_%.1f'):format(data.phi[f])
    name = name .. (seen[name] and ('_%d.'):format(f) or '.') -- angles that differ by less than 0.1 degrees
    seen[name:gsub('%.$', '')] = true
    local figure = report.heatmaps(r, data, f, limits)
    local saved, reason = set:try(name .. form, function(path)
      return mc.plot.save(figure, path, { required = false })
    end, { compare = false })
    if not saved then
      table.insert(r.warnings, ('no %s: %s; figures are .svg'):format(form, tostring(reason)))
      mc.plot.save(figure, set:path(name .. 'svg', { compare = false }))
    end
  end
end

--- Writes everything a fit leaves, all files or none: <dir>/nlsq/ with the tables and arrays, <dir>/cmc/ of a
--- posterior, report.html, heat maps when asked, manifest.json. Files of the fit before that are no part of
--- this one go.
---@return string[] files relative to dir
function M.write(s, data, r, record, posterior, shards)
  local results, report = require 'workflows.xpcs.results', require 'workflows.xpcs.report'
  return mc.results.write(s.dir, record, function(set)
    if s.method ~= 'cmc' then
      part(set, 'nlsq', 'fitted_data', function(folder)
        return results.write(folder, r, data, { format = s.format, arrays = s.arrays })
      end)
    end
    local drawn
    if posterior then
      local figures = part(set, 'cmc', 'samples', function(folder)
        return require('workflows.xpcs.posterior_files').write(folder, posterior, shards)
      end)
      drawn = { result = posterior, figures = figures }
    end
    for _, name in ipairs(results.side_files(set.folder, data)) do set:path(name) end
    if s.save_plots and s.method ~= 'cmc' then heatmaps(s, data, r, set) end
    mc.save(set:path('report.html', { compare = false }), report.page(r, data,
      { subtitle = s.path and s.path:match '[^/]*$' or nil, posterior = drawn }))
  end)
end

--- Simulated matrices: DIR/simulated_data.npz with the true values, which fit reads, and a figure.
---@return string what was written
function M.simulate(s, o)
  mc.results.folder('--output-dir', s.dir, { overwrite = o.overwrite, names = { 'simulated_data.npz' } })
  local phi = angle_list(o.phi_angles) or { 0, 45, 90 }
  local mode = s.fit.mode or 'static'
  local physics = {}
  for k, name in ipairs(parameters.names(mode)) do physics[k] = s.fit.initial[name] or parameters.LIST[k].default end
  local sim = require('workflows.xpcs.generate').simulate { n = o.frames or 100, dt = s.open.dt or 0.1,
    q = s.open.q or 0.0054, gap = s.open.gap or 2e6, phi = phi, physics = physics,
    contrast = o.contrast or 0.3, offset = o.offset or 1,
    sigma = o.noise or 0.01, seed = o.seed or 42, first = 1 }
  local d = require('workflows.xpcs.data').of { c2 = sim.c2, phi = phi, t = sim.t }
  local fig = require('workflows.xpcs.report').experiment(d, { title = ('simulated, %s'):format(mode) })
  local names = mc.results.write(s.dir, nil, function(set)
    local arrays = truth.arrays(sim)
    arrays.c2_exp, arrays.phi_angles_list, arrays.q = sim.c2, mc.tensor(phi), mc.tensor(sim.q)
    arrays.t1, arrays.t2 = sim.t, sim.t
    mc.save(set:path 'simulated_data.npz', arrays)
    mc.plot.save(fig, set:path 'simulated_data.svg')
  end)
  return ('%s\nwrote %s/%s and %s/%s'):format(truth.text(sim), s.dir, names[1], s.dir, names[2])
end

--- Name of the figure of plot.
M.PLOT = 'experimental_data.svg'

--- Heat maps of the data, no fit: DIR/experimental_data.svg.
---@return string path
function M.plot(s, data)
  local path = s.dir .. '/' .. M.PLOT
  mc.plot.save(require('workflows.xpcs.report').experiment(data), path)
  return path
end

return M
