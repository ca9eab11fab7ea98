-- run.lua - a command of the program: data, fit and files by the settings.
--
-- What scripts/xpcs.lua and a user's own script have in common.
local mc = require 'mascon'
local clock = require 'mascon.base.clock'
local check = require 'mascon.core.check'
local text = require 'mascon.base.text'
local error = check.error
local source = require 'workflows.xpcs.read.source'
local numbers = require 'workflows.xpcs.model.numbers'
local options = require 'workflows.xpcs.command.options'
local parameters = require 'workflows.xpcs.model.parameters'
local plan = require 'workflows.xpcs.command.plan'
local settings = require 'workflows.xpcs.command.settings'
local truth = require 'workflows.xpcs.model.truth'
local M = {}

M.check, M.settings, M.values_of = settings.check, settings.of, settings.values_of

--- Raises where the data are not there, before results are looked at.
---@param s table settings of run
function M.present(s)
  if not s.path then
    error('no data file is named; give --data-file, or experimental_data.file_path in the configuration', 0) end
  mc.results.recover(s.path)
  if not mc.file.exists(s.path) then error(('%s: No such file or directory; check the path'):format(s.path), 0) end
end

--- What the file says of its size, nil where it says none: then the data say so when they are read. Raises where the
--- settings do not fit it.
local function shape(s)
  local o = {}
  for k, v in pairs(s.open) do o[k] = v end
  o.shape_only = true
  local ok, d = check.try(source.open, s.path, o)
  if not ok then return nil end
  local sigma = s.fit.sigma
  if type(sigma) == 'table' and #sigma ~= d.F then
    error(('--sigma has %d numbers and the data have %d angle%s; give one number, or one per angle'):format(#sigma, d.F,
      d.F == 1 and '' or 's'), 0)
  end
  return d
end

--- Bytes that a run may take: what the settings say, else the matrices as f32 and 300 MB, more for standard deviations
--- per point. Freed memory goes back to the system above it. Nil where the file says no size.
---@param s table settings of run
function M.bound(s)
  local d = s.path and shape(s)
  if s.open.max_memory or not d then return s.open.max_memory end
  return 4 * d.F * d.n ^ 2 * (s.open.sigma ~= nil and 2 or 1) + 3e8
end

--- The data of the settings, with a progress line for files of many matrices.
function M.data(s, quiet)
  M.present(s)
  local bar
  local o = {}
  for k, v in pairs(s.open) do o[k] = v end
  o.shape_only = mc.manifest.planning() and true or nil
  if s.model then o.copies = require('workflows.xpcs.fit.own').COPIES end
  if s.progress and not quiet then
    o.progress = function(k, n)
      bar = bar or (n > 8 and mc.progress.new(n, { label = 'reading', unit = 'matrices' }) or false)
      if bar then bar:update(k) end
      if bar and k == n then bar:done() end
    end
  end
  local d = source.open(s.path, o)
  d.alone = s.alone
  d.reader = 'program' -- sentences on its fits name options of the command line
  return d
end

--- Where a fit that was stopped had come, as options that start from there; nil before its first pass.
---@param s table settings of run
---@return string|nil
function M.reached(s)
  if not s.reached then return nil end
  local option_of, words = {}, {}
  for option, name in pairs(settings.INITIAL) do option_of[name] = option end
  for k, v in ipairs(s.reached.values) do
    words[k] = ('%s %s'):format(settings.flag(option_of[parameters.LIST[k].name]), text.significant(v, 7))
  end
  return ('it had come to a cost of %s; to start from there add %s'):format(text.significant(s.reached.cost, 7),
    table.concat(words, ' '))
end

--- What a fit calls after each iteration: a line each second, to s.say or the terminal.
local function progress(s, data)
  local first = clock.seconds()
  local shown, before, fits, last = first, first, 0, nil
  local say = s.say or function(line) io.stderr:write(line, '\n') end
  return function(point, iteration, gradient, p)
    local now = clock.seconds()
    if p ~= last then -- each fit has a problem, and a clock of its own, from the last look at the one before it
      fits, first, last = fits + 1, before, p
    end
    before = now
    if now - shown <= 1 then return end
    shown = now
    local seconds = math.max(now - first - (fits == 1 and p.scan_seconds or 0), 1e-9)
    say(('%siteration %d: cost %.8g, gradient %.3g, %.3g points/s, %s%s'):format(fits > 1 and ('fit %d, '):format(fits)
      or '', iteration, point.cost, gradient, p.nfev * data.points / seconds, plan.left(p.nfev, seconds,
      s.fit.max_nfev or 100 * #p.free), fits > 1 and ' in this one' or ''))
  end
end

--- Fits by the settings: with other starts when they ask for it, or when the first fit is improbable.
function M.fit(s, data, quiet)
  local o = {}
  for k, v in pairs(s.fit) do o[k] = v end
  if s.progress and not quiet and (s.say or os.getenv 'MASCON_PROGRESS' ~= '0') then o.progress = progress(s, data) end
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
    r = require('workflows.xpcs.fit.search').multi_start(data, o, { n_starts = m.n_starts, seed = m.seed,
      sampling_strategy = m.sampling_strategy, use_screening = m.use_screening, ftol = m.refinement_ftol })
  elseif e.enable then
    r = require('workflows.xpcs.fit.search').evolve(data, o, { max_generations = e.max_generations, sigma = e.sigma,
      popsize = e.popsize, tolfun = e.tol_fun, tolx = e.tol_x, seed = e.seed, ftol = e.refinement_ftol,
      restarts = e.restart_strategy == 'none' and 0 or e.max_restarts, always = e.warmstart_auto_skip == false,
      skip_below = e.warmstart_skip_threshold })
  else
    local run
    if s.checkpoints then
      function run(d, with)
        return (require('workflows.xpcs.fit.state').fit(d, with, { dir = s.checkpoints, keep = c.keep_last_checkpoints,
          resume = c.resume_from_checkpoint, blocks = c.checkpoint_frequency, block_values = c.batch_size,
          min_success_rate = c.min_success_rate }))
      end
    end
    local retries = c.enable_fault_tolerance == false and 0 or c.max_retries_per_batch
    o.rescue = m.enable == nil
    r = require('workflows.xpcs.fit.rescue').fit(data, o, { run = run, bounded = s.bounded or false, retries = retries,
      retry_seed = c.seed, seed = s.seed })
    if r.resumed and not quiet then
      io.stderr:write(('went on from checkpoint %d in %s\n'):format(r.resume_batch_idx, s.checkpoints))
    end
  end
  if s.level then require('workflows.xpcs.fit.intervals').profile(r, nil, s.level) end
  return r
end

--- Fits the user's own model by the settings.
function M.own(s, data)
  local file = require 'workflows.xpcs.fit.model_file'
  local r = file.fit(data, s.model, s.fit)
  return r
end

--- Refuses a data set that takes a matrix which one before it takes: a joint fit would count it twice.
local function refuse_again(list, d, entry)
  local i = require('workflows.xpcs.fit.joint').taken(list, d)
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
    o.q, o.only_among = q or o.q, not q
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
  return (require('workflows.xpcs.fit.joint').fit(list, o))
end

--- Writes files into a folder of a set and notes them; write(folder) returns their names. The tables hold times, so
--- only files whose name has the given start are compared.
local function write_folder(set, folder, compared, write)
  local ok, why = mc.file.make_folder(set.folder .. '/' .. folder)
  if not ok then error(why, 0) end
  local names, more = write(set.folder .. '/' .. folder)
  for _, name in ipairs(names) do set:path(folder .. '/' .. name, { compare = name:find('^' .. compared) ~= nil }) end
  return more
end

--- Writes a joint fit, all files or none: <dir>/joint.json, <dir>/report.html of all data, <dir>/set<i>/ with the
--- files and the report of each data set, manifest.json.
---@return string[] files relative to dir
function M.write_joint(s, list, r, record)
  local results, report = require 'workflows.xpcs.show.results', require 'workflows.xpcs.show.report'
  return mc.results.write(s.dir, record, function(set)
    mc.save(set:path('joint.json', { compare = false }), require('workflows.xpcs.fit.joint').tables(r, list))
    mc.save(set:path('report.html', { compare = false }), require('workflows.xpcs.show.joint_report').page(r, list))
    local label = require('workflows.xpcs.model.labels').of(list)
    for i, data in ipairs(list) do
      local name = ('set%d'):format(i)
      write_folder(set, name .. '/nlsq', 'fitted_data', function(folder)
        return results.write(folder, r.fits[i], data, { format = s.format, arrays = s.arrays })
      end)
      local subtitle = ('%s, data set %d of %d of a joint fit'):format(label[i], i, #list)
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
    shards = require('workflows.xpcs.fit.shards').run(r, with)
  end
  return require('workflows.xpcs.fit.posterior').run(r, o), shards
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
  local report, form = require 'workflows.xpcs.show.report', s.plotting.format or 'png'
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

--- Where a page comes from: rows of its settings.
local function origin(s, record)
  local rows = { { 'file', s.path or '' } }
  local of = record and record.record
  if not of then return rows end
  rows[2], rows[3] = { 'date, UTC', of.began }, { 'folder', of.folder or '' }
  rows[4] = { 'command', 'mascon ' .. table.concat({ of.script.path or '', unpack(of.args) }, ' ') }
  rows[5] = { 'SHA-256 of the file', 'in manifest.json' }
  return rows
end

--- Writes everything a fit leaves, all files or none: <dir>/nlsq/ with the tables and arrays, <dir>/cmc/ of a
--- posterior, report.html, heat maps when asked, manifest.json. Files of the fit before that are no part of
--- this one go.
---@return string[] files relative to dir
function M.write(s, data, r, record, posterior, shards)
  local results, report = require 'workflows.xpcs.show.results', require 'workflows.xpcs.show.report'
  return mc.results.write(s.dir, record, function(set)
    if s.method ~= 'cmc' then
      write_folder(set, 'nlsq', 'fitted_data', function(folder)
        return results.write(folder, r, data, { format = s.format, arrays = s.arrays })
      end)
    end
    local drawn
    if posterior then
      local figures = write_folder(set, 'cmc', 'samples', function(folder)
        return require('workflows.xpcs.show.posterior_files').write(folder, posterior, shards)
      end)
      drawn = { result = posterior, figures = figures }
    end
    for _, name in ipairs(results.side_files(set.folder, data)) do set:path(name) end
    if s.save_plots and s.method ~= 'cmc' then heatmaps(s, data, r, set) end
    mc.save(set:path('report.html', { compare = false }), report.page(r, data,
      { subtitle = s.path and s.path:match '[^/]*$' or nil, posterior = drawn, settings = origin(s, record) }))
  end)
end

--- Simulated matrices: DIR/simulated_data.npz with the true values, which fit reads, and a figure.
---@return string what was written
function M.simulate(s, o)
  mc.results.folder('--output-dir', s.dir, { overwrite = o.overwrite, names = { 'simulated_data.npz' } })
  local phi = settings.angles(o.phi_angles) or { 0, 45, 90 }
  local mode = s.fit.mode or 'static'
  local physics = {}
  local values = { contrast = o.contrast, offset = o.offset }
  for k, name in ipairs(parameters.names(mode)) do
    physics[k] = s.fit.initial[name] or parameters.LIST[k].default
    values[name] = physics[k]
  end
  local said = parameters.examine(values)
  if said.errors[1] then error(said.errors[1], 0) end
  local sim = require('workflows.xpcs.data.generate').simulate { n = o.frames or 100, dt = s.open.dt or options.DT,
    q = s.open.q or options.Q, gap = s.open.gap or 2e6, phi = phi, physics = physics,
    contrast = o.contrast or options.CONTRAST, offset = o.offset or options.OFFSET,
    sigma = o.noise or 0.01, seed = o.seed or 42, first = 1 }
  local d = require('workflows.xpcs.data.data').of { c2 = sim.c2, phi = phi, t = sim.t }
  local fig = require('workflows.xpcs.show.report').experiment(d, { title = ('simulated, %s'):format(mode) })
  local names = mc.results.write(s.dir, nil, function(set)
    local arrays = truth.arrays(sim)
    arrays.c2_exp, arrays.phi_angles_list, arrays.q = sim.c2, mc.tensor(phi), mc.tensor(sim.q)
    arrays.t1, arrays.t2 = sim.t, sim.t
    mc.save(set:path 'simulated_data.npz', arrays)
    mc.plot.save(fig, set:path 'simulated_data.svg')
  end)
  local number = numbers.number
  local lines = { ('%s: %s x %d times, q = %s 1/A, dt = %s s%s'):format(mode, text.count(#phi, 'angle'), sim.n,
    number(sim.q, 6), number(sim.dt, 6), mode == 'static' and '' or (', gap = %s A'):format(number(sim.gap, 6))),
    'angles, degrees: ' .. table.concat(phi, ', '), truth.text(sim) }
  for _, w in ipairs(said.warnings) do lines[#lines + 1] = 'note: ' .. w end
  lines[#lines + 1] = ('wrote %s/%s and %s/%s'):format(s.dir, names[1], s.dir, names[2])
  return table.concat(lines, '\n')
end

--- Name of the figure of plot.
M.PLOT = 'experimental_data.svg'

--- Heat maps of the data, no fit: DIR/experimental_data.svg.
---@return string path
function M.plot(s, data)
  local fig = require('workflows.xpcs.show.report').experiment(data)
  mc.results.write(s.dir, nil, function(set) mc.plot.save(fig, set:path(M.PLOT)) end)
  return s.dir .. '/' .. M.PLOT
end

return M
