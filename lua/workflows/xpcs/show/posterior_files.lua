-- posterior_files.lua - what a posterior leaves on disk: samples for ArviZ, diagnostics, tables, figures.
--
-- Everything lies in DIR/cmc, under the names of upstream where it has one.
local mc = require 'mascon'
local clock = require 'mascon.base.clock'
local text = require 'mascon.base.text'
local model = require 'workflows.xpcs.model.model'
local numbers = require 'workflows.xpcs.model.numbers'
local M = {}

local null = mc.json.null
local function finite(v) return v == v and math.abs(v) < math.huge and v or null end

--- C2 of one angle against the lag, from one start time on: what was observed, what draws predict. Points that are
--- masked are left out.
---
--- Predictions are the model at a draw plus normal noise of the standard deviations of the points, times the factor
--- "noise" where it is drawn; they follow from the draws and the seed of the run alone.
---@param s table result of posterior.run
---@param f? integer angle, 1
---@param count? integer draws, 200
---@return table lags, start (s), phi (degrees), observed [n], sigma [n], mean and drawn [1, draw, n]
function M.predictions(s, f, count)
  local r = s.fit
  local data, p = r.problem.data, r.problem
  f = f or 1
  local k = math.max(1, math.ceil(data.n / 120))
  local c, spread = data:thin(f, k)
  local t = data.t[{ { 1, data.n, k } }]:totable()
  local row, keep, lags = math.max(1, math.floor(0.1 * #t)), {}, {}
  while true do -- the first start time from a tenth of the times on of which a point counts
    local there = mc.isfinite(c[row])
    if spread then there = mc.logical_and(there, mc.isfinite(spread[row])) end
    there = there:totable()
    for j = row + 1, #t do
      if there[j] then keep[#keep + 1], lags[#lags + 1] = j, t[j] - t[row] end
    end
    if #keep > 0 or row >= #t - 1 then break end
    row = row + 1
  end
  if #keep == 0 then return nil end
  local at = mc.tensor(keep):to 'i64'
  local sigma = mc.take(spread and spread[row] * r.sigma[f] or mc.full({ #t }, r.sigma[f]), at, 1)
  local flat = s.positions:reshape(s.positions.shape[1] * s.positions.shape[2], s.positions.shape[3])
  local total = flat.shape[1]
  local stride = math.max(1, math.ceil(total / (count or 200)))
  local rows, mean, drawn = flat[{ { 1, total, stride } }]:totable(), {}, {}
  local noise = mc.random.normal({ #rows, #keep }, { key = mc.random.key(s.seed):fold_in(0):fold_in(f) })
  for i, x in ipairs(rows) do
    mean[i] = mc.scope(function()
      local contrast, offset, physics = p:split(p:full(x))
      local g = model.g1({ t = data.t, kd = r.kd, ks = r.ks, physics = physics, step = k }, data.phi[f])[row]
      return mc.take(g * g * contrast[f] + offset[f], at, 1)
    end)
    drawn[i] = mean[i] + noise[i] * sigma * (s.noise_is_free and x[#p.free + 1] or 1)
  end
  local function of(list) return mc.stack(list, 1):reshape(1, #rows, #keep) end
  return { lags = lags, start = t[row], phi = data.phi[f], observed = mc.take(c[row], at, 1), sigma = sigma,
    mean = of(mean), drawn = of(drawn) }
end

--- What speaks against the draws, by the names that options and keys have here.
function M.warnings(s)
  local out = {}
  for i, w in ipairs(s:warnings(s.table)) do
    w = w:gsub('raise target_accept, or write the model in other parameters',
      'raise --target-accept (optimization.cmc.target_accept_prob), or fix what the data do not determine')
    w = w:gsub('use metric = "dense", scale the parameters, or raise max_depth',
      'raise optimization.cmc.max_tree_depth, or fix what the data do not determine')
    w = w:gsub('write the model in other parameters', 'fix what the data do not determine')
    if s.sample_stats.lp.shape[1] == 1 then
      w = w:gsub('the chains do not agree yet', 'the halves of the chain do not agree yet')
    end
    w = w:gsub('draw more, with a longer warm%-up', 'raise --n-samples and --n-warmup')
    w = w:gsub('draw more$', 'raise --n-samples')
    out[i] = w
  end
  local misfit = s.fit.verdict and s.fit.verdict.misfit
  if misfit then
    table.insert(out, 1, ('the fit does not describe the data (reduced chi2 %s): the posterior takes the model for '
      .. 'true, and its values and intervals are not to be trusted'):format(numbers.number(s.fit.reduced_chi2)))
  end
  return out
end

--- Tables of a posterior: parameters and diagnostics.
function M.tables(s)
  local t, list = s.table, {}
  for i, name in ipairs(t.labels) do
    local row = {}
    for _, c in ipairs(t.columns) do row[c] = finite(t[c][i]:item()) end
    row.sd_too_small_by = s.too_narrow and s.too_narrow[name]
    list[name] = row
  end
  local stats = s.sample_stats
  local bfmi = mc.sample.bfmi(stats.energy):totable()
  local warnings = mc.json.array(M.warnings(s))
  local rhat, ess = mc.max(t.rhat):item(), mc.min(t.ess_bulk):item()
  return {
    parameters = list, chains = stats.lp.shape[1], draws = stats.lp.shape[2], prior = s.priors,
    noise_is_free = s.noise_is_free, gradients = s.gradients, execution_time = s.seconds,
    divergences = mc.sum(stats.diverging:to 'f64'):item(), step_size = mc.json.array(s.step_size),
    energy_bfmi = mc.json.array(bfmi), max_rhat = finite(rhat), min_ess = finite(ess),
    converged = rhat <= 1.1 and ess >= 400, interrupted = s.interrupted or null, resumed = s.resumed,
    warnings = warnings,
  }
end

--- Names of the physical parameters of a posterior (contrast and offset when there are none, or few).
local function shown(s, most)
  local out = {}
  for _, name in ipairs(s.names) do
    if not name:find '^contrast_' and not name:find '^offset_' then out[#out + 1] = name end
  end
  while #out > most do table.remove(out) end
  return out
end

--- Figures by name.
function M.figures(s)
  local y = M.predictions(s)
  local out = {
    { 'trace', mc.sample.trace(s, { names = shown(s, 12) }) },
    { 'corner', mc.sample.corner(s, { names = shown(s, 9), points = 1000 }) },
    { 'marginals', mc.sample.marginals(s, { names = shown(s, 12) }) },
  }
  if y then
    out[4] = { 'posterior_predictive', mc.sample.predictive(y.observed, y.drawn, { x = y.lags, xlabel = 'lag, s',
      xscale = 'log',
      ylabel = 'C2', title = ('C2 at phi = %.4g deg from t1 = %.4g s on: draws of model and noise'):format(y.phi,
      y.start) }) }
  end
  return out
end

--- Writes samples.npz, diagnostics.json, parameters.json and the figures into a folder.
---@param dir string
---@param s table result of posterior.run
---@param shards? table result of shards.run: shard_diagnostics.json
---@return string[] files, table[] figures
function M.write(dir, s, shards)
  local files = { 'samples.npz', 'diagnostics.json', 'parameters.json' }
  local y = M.predictions(s)
  s:save(dir .. '/samples.npz', y and { posterior_predictive = { c2 = y.drawn, c2_mean = y.mean },
    observed_data = { c2 = y.observed }, constant_data = { lag = mc.tensor(y.lags), sigma = y.sigma,
    phi = mc.tensor(y.phi), start = mc.tensor(y.start) } } or nil)
  local t = M.tables(s)
  mc.save(dir .. '/diagnostics.json', t)
  local values = {}
  for name, row in pairs(t.parameters) do
    values[name] = { value = row.mean, uncertainty = row.sd, median = row.median, q5 = row.q5, q95 = row.q95,
      sd_too_small_by = row.sd_too_small_by }
  end
  mc.save(dir .. '/parameters.json', { timestamp = clock.stamp(), analysis_mode = s.fit.mode,
    parameters = values, phase_convention = s.fit.geometry.convention, prior = s.priors, warnings = t.warnings })
  if shards then
    local list = mc.json.array {}
    for k, h in ipairs(shards.shards) do
      list[k] = { points = h.points, mean = mc.json.array(h.mean), sd = mc.json.array(h.sd), max_rhat = finite(h.rhat),
        min_ess = finite(h.ess), divergences = h.divergences, left_out = h.left_out or null }
    end
    mc.save(dir .. '/shard_diagnostics.json', { names = mc.json.array(shards.names), shards = list,
      success_rate = shards.success_rate, combined = { mean = mc.json.array(shards.mean),
      sd = mc.json.array(shards.sd) }, warnings = mc.json.array(shards.warnings) })
    files[#files + 1] = 'shard_diagnostics.json'
  end
  local figures = M.figures(s)
  for _, f in ipairs(figures) do
    assert(mc.plot.save(f[2], dir .. '/' .. f[1] .. '.svg'))
    files[#files + 1] = f[1] .. '.svg'
  end
  return files, figures
end

local COLUMNS = { 'mean', 'q5', 'median', 'q95' }

--- The table of a posterior: heading and rows, with the digits that the standard deviations leave.
---@param s table result of posterior.run
---@return string[] head, string[][] rows
function M.cells(s)
  local t, rows = s.table, {}
  local head = { 'parameter', 'mean', 'sd', '5 %', 'median', '95 %', 'R-hat', 'ESS' }
  if s.too_narrow then table.insert(head, 4, 'sd too small by') end
  for i, name in ipairs(t.labels) do
    local sd, cells = t.sd[i]:item(), {}
    for k, c in ipairs(COLUMNS) do cells[k] = (numbers.rounded(t[c][i]:item(), sd)) end
    local _, error = numbers.rounded(t.mean[i]:item(), sd)
    rows[i] = { name, cells[1], error, cells[2], cells[3], cells[4], ('%.3f'):format(t.rhat[i]:item()),
      ('%.0f'):format(t.ess_bulk[i]:item()) }
    if s.too_narrow then
      local factor = s.too_narrow[name]
      table.insert(rows[i], 4, factor and numbers.number(factor, 2) or '')
    end
  end
  return head, rows
end

--- The table of a posterior for a terminal.
function M.text(s)
  local head, rows = M.cells(s)
  local lines = { (text.table(rows, { header = head }):gsub('\n$', '')) }
  lines[#lines + 1] = ('%s of %s, %d gradients in %s s (%s per s); prior %s'):format(
    text.count(s.sample_stats.lp.shape[1], 'chain'), text.count(s.sample_stats.lp.shape[2], 'draw'), s.gradients,
    numbers.number(s.seconds, 3), numbers.number(s.gradients_per_second, 3), s.priors)
  return table.concat(lines, '\n')
end

return M
