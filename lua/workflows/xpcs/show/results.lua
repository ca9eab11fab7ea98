-- results.lua - what a fit leaves on disk, under the names that homodyne gives.
--
-- parameters.json, analysis_results_nlsq.json, convergence_metrics.json, fitted_data.npz, and rates.csv, which is our
-- own; the same tables as .yaml when asked. NaN and infinity become null. Two side files list the angles and the q.
local mc = require 'mascon'
local check = require 'mascon.core.check'
local clock = require 'mascon.base.clock'
local tensor = require 'mascon.core.tensor'
local model = require 'workflows.xpcs.model.model'
local rates = require 'workflows.xpcs.judge.rates'
local scaling = require 'workflows.xpcs.model.scaling'
local truth = require 'workflows.xpcs.model.truth'
local verdict = require 'workflows.xpcs.judge.verdict'
local M = {}

local null = mc.json.null

local function mean(list)
  local s = 0
  for _, v in ipairs(list) do s = s + v end
  return s / #list
end

--- A number JSON knows, or null.
local function finite(v)
  if type(v) ~= 'number' or v ~= v or v == math.huge or v == -math.huge then return null end
  return v
end

M.finite = finite

local function finite_list(list)
  local out = mc.json.array {}
  for i, v in ipairs(list) do out[i] = finite(v) end
  return out
end

--- Standard errors of a mean of free numbers: from their covariance.
local function error_of_mean(r, prefix)
  local places = {}
  for k, name in ipairs(r.names) do
    if name == prefix or name:sub(1, #prefix + 1) == prefix .. '_' then places[#places + 1] = k end
  end
  if #places == 0 then return nil end
  for _, k in ipairs(places) do if r.errors[r.names[k]] == math.huge then return math.huge end end
  if r.scaling == 'fourier' then return r.errors[prefix .. '_mean'] end
  local s = 0
  for _, i in ipairs(places) do for _, j in ipairs(places) do s = s + r.covariance[i][j] end end
  return math.sqrt(s) / #places
end


--- The fields of a parameter in parameters.json and joint.json. At a bound the uncertainty is that of the linearised
--- fit, which says nothing beyond the bound.
---@param r table result of fit, or of joint.fit
---@param q table one of r.parameters
function M.row(r, q)
  local v, pull = truth.beside(r, q)
  return { value = finite(q.value), uncertainty = finite(q.error), unit = q.unit, at_bound = q.at_bound or null,
    state = q.state, determined = q.error ~= math.huge, true_value = v, pull = pull }
end

--- The covariance with what is not determined left out: infinite on the diagonal, NaN beside it.
function M.covariance(r)
  local lost, out = {}, {}
  for k, name in ipairs(r.names) do lost[k] = r.errors[name] == math.huge end
  for i = 1, #r.names do
    out[i] = {}
    for j = 1, #r.names do
      out[i][j] = not (lost[i] or lost[j]) and r.covariance[i][j] or i == j and math.huge or 0 / 0
    end
  end
  return out
end

--- The covariance as it stands in parameters.json and joint.json.
---@param r table
function M.covariance_table(r)
  local rows = mc.json.array {}
  for i, row in ipairs(M.covariance(r)) do rows[i] = finite_list(row) end
  return { names = mc.json.array { unpack(r.names) }, matrix = rows, method = r.covariance_by,
    condition = finite(r.condition or r.spectrum and r.spectrum.condition), absolute_sigma = r.absolute_sigma }
end

--- The table of parameters.json.
function M.parameters(r)
  local out = {
    timestamp = clock.stamp(), analysis_mode = r.mode, chi_squared = finite(r.chi2),
      reduced_chi_squared = finite(r.reduced_chi2), convergence_status = r.convergence_status,
    phase_convention = r.geometry.convention, counting = r.counting, per_angle_mode = r.scaling,
      conclusion = r.verdict.conclusion, verdict = mc.json.array(r.verdict.sentences), parameters = {},
  }
  for _, q in ipairs(r.parameters) do
    if not q.name:find '^contrast' and not q.name:find '^offset' then out.parameters[q.name] = M.row(r, q) end
  end
  for _, what in ipairs { 'contrast', 'offset' } do
    local q = { name = what, value = mean(r[what]), error = error_of_mean(r, what), state = 'free' }
    local v, pull = truth.beside(r, q)
    out.parameters[what] = { value = finite(q.value), uncertainty = finite(q.error), unit = '',
      per_angle = finite_list(r[what]), true_value = v, pull = pull }
  end
  out.covariance = M.covariance_table(r)
  if r.intervals then out.intervals = r.intervals end
  return out
end

--- The table of analysis_results_nlsq.json.
function M.analysis(r, data)
  return {
    fit_quality = { chi_squared = finite(r.chi2), reduced_chi_squared = finite(r.reduced_chi2),
      degrees_of_freedom = r.dof, quality_flag = r.quality_flag,
      unweighted_chi_squared = finite(r.unweighted_chi2) },
    dataset_info = { n_angles = data.F, n_time_points = data.n, total_data_points = r.n_points, q_value = r.geometry.q,
      masked_points = data.masked, dt = r.geometry.dt, gap_angstrom = r.geometry.gap,
      gap_um = r.geometry.gap / 1e4, file = data.path or null },
    optimization_summary = { convergence_status = r.convergence_status, message = r.message, iterations = r.iterations,
      function_evaluations = r.nfev, execution_time = r.seconds, loss = r.loss },
    shear_weights = r.shear_weights and finite_list(r.shear_weights) or null,
      conclusion = r.verdict.conclusion, verdict = mc.json.array(r.verdict.sentences), sigma_is_default =
        r.sigma_is_default,
  }
end

--- The table of convergence_metrics.json.
function M.convergence(r)
  return {
    convergence_status = r.convergence_status, message = r.message, iterations = r.iterations,
      execution_time = r.seconds, final_chi_squared = finite(r.chi2),
    recovery_actions = mc.json.array(r.recovery_actions or {}), quality_flag = r.quality_flag,
      device_info = { device = r.device or 'cpu', threads = mc.get_num_threads() },
    last_step_in_standard_errors = finite(r.last_step), points_per_second = finite(r.points_per_second),
      quality_warnings = mc.json.array(verdict.notes(r)),
    batch_statistics = r.statistics or null, checkpoint_enabled = r.checkpoint_enabled or false,
      resumed_from_checkpoint = r.resumed or false,
  }
end

--- g1^2 of rows first .. last of one angle, f64 [rows, n].
---@param r table result of fit
---@param data mascon.xpcs.Data
---@param f integer
---@param first integer
---@param last integer
function M.theory(r, data, f, first, last)
  return mc.scope(function()
    if r.theory then return r.theory(f, first, last) end
    return model.rows({ t = data.t, kd = r.kd, ks = r.ks, physics = r.physics, legacy_abs = r.problem.legacy_abs },
      data.phi[f], first, last)
  end)
end

--- How many steps beyond the first one are tried where every k-th time is one of a lost frame.
local TRIES = 4

--- Every k-th time of an angle, so that at most `limit` are left; of another k where all of those hold nothing.
---@return mc.tensor c2, mc.tensor|nil spread, integer k
function M.thinned(data, f, limit)
  local least = math.ceil(data.n / limit)
  for k = least, least + TRIES do
    local c, s = data:thin(f, k)
    local m = c.shape[1]
    local pairs_of = mc.gt(mc.triu(mc.ones { m, m }, 1), 0)
    if k == least + TRIES or m < 3 or mc.any(mc.logical_and(mc.isfinite(c), pairs_of)) then return c, s, k end
  end
end

--- Experiment and fit of one angle for figures: every k-th time, so that at most `limit` are left, and the contrast and
--- offset of the fit.
---@return mc.tensor experiment, mc.tensor fit, mc.tensor t, mc.tensor|number sigma, integer k
function M.figure(r, data, f, limit)
  local c, s, k = M.thinned(data, f, limit)
  local t = data.t[{ { 1, data.n, k } }]:contiguous()
  local g2
  if r.theory then g2 = r.theory(f, nil, nil, k) else
    local g1 = model.g1({ t = data.t, kd = r.kd, ks = r.ks, physics = r.physics, legacy_abs = r.problem.legacy_abs,
      step = k }, data.phi[f])
    g2 = g1 * g1
  end
  return c, g2 * r.contrast[f] + r.offset[f], t, s and s * r.sigma[f] or r.sigma[f], k
end

--- The numbers of a fit as arrays, for parameters.npz: name and name_error (0-d), contrast and offset (per angle),
--- contrast_error and offset_error (of the numbers that were fitted, NaN where one was not),
--- covariance over free_values, chi_squared and its kin. The order of free_values is that of `covariance.names` in
--- parameters.json.
function M.arrays(r)
  local out = { contrast = mc.tensor(r.contrast), offset = mc.tensor(r.offset), covariance = mc.tensor(M.covariance(r)),
    correlation = mc.tensor(r.correlation), chi_squared = mc.tensor(r.chi2), free_values = mc.tensor(r.point.x),
    reduced_chi_squared = mc.tensor(r.reduced_chi2), degrees_of_freedom = mc.tensor(r.dof),
    sigma = mc.tensor(r.sigma) }
  for _, name in ipairs { 'contrast', 'offset' } do
    local errors = {}
    for _, q in ipairs(r.parameters) do
      if q.name:find('^' .. name) then errors[#errors + 1] = q.error or 0 / 0 end
    end
    if errors[1] then out[name .. '_error'] = mc.tensor(errors) end
  end
  for _, q in ipairs(r.parameters) do
    if not q.name:find '^contrast' and not q.name:find '^offset' then
      out[q.name], out[q.name .. '_error'] = mc.tensor(q.value), mc.tensor(q.error or 0)
      local i = r.intervals and r.intervals[q.name]
      if i then out[q.name .. '_interval'] = mc.tensor { i.low, i.high } end
    end
  end
  return out
end

--- Bytes of the theory of all angles up to which it is kept in memory while fitted_data is written; above, it is
--- computed again for each array.
M.KEPT = 3 * 2 ^ 26

--- fitted_data.npz: arrays [angles, n, n], written by strips of rows, so that no matrix is whole in memory.
local function write_arrays(dir, r, data)
  local n, F, rows = data.n, data.F, data:tile_rows()
  local w = mc.open(dir .. '/fitted_data.npz', { mode = 'w' })
  local ok, why = pcall(function()
    local theory, posthoc, solver = {}, {}, {}
    local left = mc.ceiling.left()
    local keeps = F * n ^ 2 * 8 <= math.min(M.KEPT, left and left - 2 ^ 25 or math.huge)
    local function raw(f, I)
      local at = (f - 1) * rows + I
      if theory[at] then return theory[at] end
      local first, last = data:times_of(I)
      local g = M.theory(r, data, f, first, last)
      if keeps then theory[at] = tensor.hold(g) end
      return g
    end
    local function solved(f, I) return raw(f, I) * r.contrast[f] + r.offset[f] end
    local function residual(f, I) return data:strip(f, I) - solved(f, I) end
    local sums
    local arrays = {
      { 'c2_exp', function(f, I) return data:strip(f, I) end },
      { 'c2_theoretical_raw', function(f, I)
        local g = raw(f, I)
        if I == 0 then sums = scaling.regression() end
        sums:add(data:strip(f, I), g, (data:times_of(I)))
        if I == rows - 1 then posthoc[f], solver[f] = { sums:line() }, { r.contrast[f], r.offset[f] } end
        return g + 0
      end },
      { 'c2_theoretical_scaled', function(f, I) return raw(f, I) * posthoc[f][1] + posthoc[f][2] end },
      { 'c2_solver_scaled', solved },
      { 'residuals', residual },
      { 'residuals_normalized', function(f, I)
        local spread = data:spread(f, I)
        return residual(f, I) / (spread and spread * r.sigma[f] or r.sigma[f])
      end },
    }
    for _, array in ipairs(arrays) do
      local f, I, piece = 1, -1, nil
      w:put_pieces(array[1], { F, n, n }, function()
        if piece then piece:release() end
        I = I + 1
        if I == rows then f, I = f + 1, 0 end
        piece = f <= F and mc.scope(function() return array[2](f, I) end) or nil
        return piece
      end)
    end
    for _, g in pairs(theory) do g:release() end
    w:put('phi_angles', mc.tensor(data.phi))
    w:put('per_angle_scaling', mc.tensor(posthoc))
    w:put('per_angle_scaling_solver', mc.tensor(solver))
    w:put('t1', data.t)
    w:put('t2', data.t)
    w:put('q', mc.tensor(r.geometry.q))
    w:close()
  end)
  if not ok then
    w:abort()
    error(why, 0)
  end
end

--- Writes the files of a fit into a folder, which is made where it is not there; the names of what was written.
---@param dir string
---@param r table result of fit
---@param data mascon.xpcs.Data
---@param o? table format 'json'|'yaml'|'npz', arrays true: fitted_data.npz with the matrices
---@return string[]
function M.write(dir, r, data, o)
  o = o or {}
  check.arg('xpcs.results.write', 'dir', dir, 'string', 3)
  if not (type(r) == 'table' and r.parameters and r.verdict) then
    check.error(('xpcs.results.write: r is %s; give the result of a fit'):format(check.show(r)), 2)
  end
  local made, why = mc.file.make_folder(dir)
  if not made then check.error(why, 2) end
  local files = {}
  local function put(name, value)
    mc.save(dir .. '/' .. name, value)
    files[#files + 1] = name
  end
  local values = M.parameters(r)
  put('parameters.json', values)
  put('analysis_results_nlsq.json', M.analysis(r, data))
  put('convergence_metrics.json', M.convergence(r))
  if o.format == 'yaml' then
    put('parameters.yaml', values) -- the same time too
  elseif o.format == 'npz' then
    put('parameters.npz', M.arrays(r))
  end
  local columns, head = rates.columns(r)
  if columns then
    mc.save(dir .. '/rates.csv', columns, { header = head })
    files[#files + 1] = 'rates.csv'
  end
  if o.arrays ~= false then
    write_arrays(dir, r, data)
    files[#files + 1] = 'fitted_data.npz'
  end
  return files
end

--- Writes the lists of angles and q beside the results, as homodyne does.
function M.side_files(dir, data)
  local phi, q = {}, {}
  for f, a in ipairs(data.phi) do phi[f] = ('%.6f'):format(a) end
  for f = 1, data.F do q[f] = ('%.8e'):format(data.q_list and data.q_list[f] or data.q) end
  mc.save(dir .. '/phi_angles_list.txt', table.concat(phi, '\n') .. '\n')
  mc.save(dir .. '/wavevector_q_list.txt', table.concat(q, '\n') .. '\n')
  return { 'phi_angles_list.txt', 'wavevector_q_list.txt' }
end

return M
