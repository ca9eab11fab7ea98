-- report.lua - what a reader sees of a fit: tables, figures, the HTML page.
--
-- The verdict stands before the numbers. Figures: per angle experiment, fit and residual as heat maps on one scale
-- each; cuts of C2 along the age; the histogram of residuals. Takes results and data; fits nothing.
local mc = require 'mascon'
local plot = require 'mascon.plot'
local text = require 'mascon.base.text'
local results = require 'workflows.xpcs.results'
local truth = require 'workflows.xpcs.truth'
local verdict = require 'workflows.xpcs.verdict'
local M = {}

local function shown(v, digits)
  if v == nil then return '' end
  if v ~= v then return 'not known' end
  if v == math.huge then return 'not determined' end
  return text.significant(v, digits or 6)
end

--- One end of a profile interval.
local function end_of(v, open, lost)
  return shown(v, 5) .. (open and ' (bound)' or lost and ' (not the end)' or '')
end

--- Rows of the parameter table.
local function cells(r)
  local rows, known = {}, false
  for _, q in ipairs(r.parameters) do known = known or truth.beside(r, q) ~= nil end
  for i, q in ipairs(r.parameters) do
    local interval = r.intervals and r.intervals[q.name]
    rows[i] = { q.name, q.unit, shown(q.value, 7), q.state == 'free' and shown(q.error, 3) or q.state,
      interval and ('%s .. %s'):format(end_of(interval.low, interval.low_open, interval.low_lost),
        end_of(interval.high, interval.high_open, interval.high_lost)) or '',
      (q.angle and ('%g deg '):format(q.angle) or '') .. (q.at_bound and ('at %s bound'):format(q.at_bound) or '') }
    if known then
      local v, pull = truth.beside(r, q)
      table.insert(rows[i], 6, shown(v, 7))
      table.insert(rows[i], 7, pull and ('%+.2f'):format(pull) or '')
    end
  end
  local _, any = next(r.intervals or {})
  local head = { 'parameter', 'unit', 'value', 'standard error',
    any and ('%g %% interval'):format(100 * (any.level or 0.95)) or '', '' }
  if known then
    table.insert(head, 6, 'true value')
    table.insert(head, 7, 'pull')
  end
  if not any then -- no column without a number
    for _, row in ipairs(rows) do table.remove(row, 5) end
    table.remove(head, 5)
  end
  return head, rows, known
end

--- The table of parameters for a terminal.
function M.table(r)
  local head, rows = cells(r)
  return text.table(rows, { header = head })
end

--- One line on the fit.
function M.line(r)
  return (
    '%s, %s scaling: chi2 %.6g, reduced %.4g (%s), %s, %s, %s in %.3g s, %s points/s')
    :format(r.mode, r.scaling, r.chi2, r.reduced_chi2, verdict.word(r),
      text.count(r.n_points, 'point'), text.count(r.n_parameters, 'parameter'), text.count(r.iterations, 'iteration'),
      r.seconds, text.significant(r.points_per_second, 3))
end

-- ---------------------------------------------------------------- figures

--- A matrix of every k-th time with its rows and columns NaN where a frame that it stands for has no value at all: a
--- gap shows however few of the times are drawn.
---@param data mascon.xpcs.Data
---@param f integer number of the angle
---@param x mc.tensor f64 [m, m], of times 1, k + 1, 2 k + 1, ...
---@return mc.tensor
function M.gaps(data, f, x)
  local m = x.shape[1]
  if data.masked == 0 or m == data.n then return x end
  return mc.scope(function()
    local k, there = math.ceil(data.n / m), {}
    for I = 0, data:tile_rows() - 1 do there[I + 1] = mc.isfinite(data:strip(f, I)):any(2) end
    local frames = mc.concat({ mc.concat(there, 1), mc.ones { m * k - data.n, dtype = 'bool' } }, 1)
    local whole = frames:reshape(m, k):all(2)
    return mc.where(mc.logical_and(whole:reshape(m, 1), whole:reshape(1, m)), x, mc.nan)
  end)
end

--- Experiment, fit and residual of one angle.
---@param o? table limit 100 (cells a side), vmin, vmax, or low 1 and high 99: percentiles of the experiment
function M.heatmaps(r, data, f, o)
  o = o or {}
  local x, fitted, t, sigma = results.figure(r, data, f, o.limit or 100)
  x = M.gaps(data, f, x)
  local residual = mc.where(mc.gt(mc.eye(x.shape[1]), 0), 0, (x - fitted) / sigma) -- the diagonal holds no pair
  local ticks = t:totable()
  local flat = x:reshape(-1)
  local finite = flat[mc.isfinite(flat)]
  local low, high = o.vmin or mc.quantile(finite, (o.low or 1) / 100):item(),
    o.vmax or mc.quantile(finite, (o.high or 99) / 100):item()
  if not (high > low) then high = low + 1e-6 end
  local fig = plot.figure { title = ('phi = %.4g deg'):format(data.phi[f]), width = 1180, height = 400, rows = 1,
    cols = 3 }
  local function panel(k, map, opts)
    opts.xlabel, opts.ylabel, opts.xunit, opts.yunit, opts.colorbar = 't1', 't2', 's', 's', true
    fig:axes(1, k):heatmap(ticks, ticks, map:totable(), opts)
  end
  panel(1, x, { title = 'experiment', label = 'C2', cmap = 'viridis', vmin = low, vmax = high })
  panel(2, fitted, { title = 'fit', label = 'C2', cmap = 'viridis', vmin = low, vmax = high })
  panel(3, residual, { title = 'residual', label = 'residual / sigma', cmap = 'tide', center = 0, vmin = -4, vmax = 4 })
  return fig
end

--- Experiment and model without a fit: one heat map per angle.
function M.experiment(data, o)
  o = o or {}
  local F = math.min(data.F, 16)
  local cols = math.min(4, F)
  local rows = math.ceil(F / cols)
  local fig = plot.figure { title = o.title or 'two-time correlation', width = 300 * cols + 40,
    height = 270 * rows + 50, rows = rows, cols = cols }
  for f = 1, F do
    local k = math.ceil(data.n / 80)
    local x = M.gaps(data, f, data:thin(f, k))
    local ticks = data.t[{ { 1, data.n, k } }]:totable()
    fig:axes(math.ceil(f / cols), (f - 1) % cols + 1):heatmap(ticks, ticks, x:totable(),
      { title = ('%.4g deg'):format(data.phi[f]), xlabel = 't1', ylabel = 't2', xunit = 's', yunit = 's',
      colorbar = true, cmap = 'viridis', vmin = o.vmin, vmax = o.vmax })
  end
  return fig
end

--- C2 against the lag at three ages, data and fit.
function M.cuts(r, data, f)
  local c, fitted, times = results.figure(r, data, f, 400)
  local n = c.shape[1]
  local fig = plot.figure { title = ('C2 along the age, phi = %.4g deg'):format(data.phi[f]), width = 760,
    height = 420 }
  local ax = fig:axes(1, 1)
  local t = times:totable()
  local rows, lines = c:totable(), fitted:totable()
  for k, share in ipairs { 0.02, 0.3, 0.6 } do
    local i = math.max(1, math.floor(share * n))
    local lag, y, m = {}, {}, {}
    for j = i + 1, n do
      local at = #lag + 1
      lag[at], y[at], m[at] = t[j] - t[i], rows[i][j], lines[i][j]
    end
    if #lag > 0 then
      local colour = ({ '#0062a3', '#c8553d', '#3d8c40' })[k]
      ax:scatter(lag, y, { label = ('t1 = %.4g s'):format(t[i]), color = colour, size = 3, alpha = 0.6 })
      ax:line(lag, m, { color = colour, width = 2 })
    end
  end
  ax:set { xlabel = 'lag', xunit = 's', xscale = 'log', ylabel = 'C2', legend = 'best' }
  return fig
end

--- Histogram of residuals over sigma of all angles (of every k-th time: at most about a million points of all).
function M.residuals(r, data)
  local counts, edges, total = nil, {}, 0
  local bins, low, high = 81, -5, 5
  for k = 0, bins do edges[k + 1] = low + (high - low) * k / bins end
  for f = 1, data.F do
    counts = mc.scope(function()
      local limit = math.max(60, math.min(400, math.floor(1500 / math.sqrt(data.F))))
      local c, fitted, times, sigma = results.figure(r, data, f, limit)
      local t = mc.arange(1, times.shape[1])
      local z = ((c - fitted) / sigma)[mc.logical_and(mc.gt(t:expand_dims(1), t:expand_dims(2)), mc.isfinite(c))]
      local k = mc.floor((mc.clip(z, low, high - 1e-9) - low) * (bins / (high - low))):to 'i64'
      local h = mc.bincount(k, { minlength = bins }):to 'f64'
      total = total + z:numel()
      return counts and counts + h or h
    end)
  end
  local y, x, normal = (counts / (total * (high - low) / bins)):totable(), {}, {}
  for k = 1, bins do
    x[k] = (edges[k] + edges[k + 1]) / 2
    normal[k] = math.exp(-x[k] ^ 2 / 2) / math.sqrt(2 * math.pi)
  end
  local fig = plot.figure { title = 'residuals over sigma', width = 640, height = 380 }
  local ax = fig:axes(1, 1)
  ax:line(x, y, { label = 'residuals', step = true })
  ax:line(x, normal, { label = 'normal distribution', dash = 'dashed', color = '#444444' })
  ax:set { xlabel = 'residual / sigma (what lies beyond 5 is in the end bins)', ylabel = 'density', legend = 'best' }
  return fig
end

-- ---------------------------------------------------------------- the page

--- The HTML page.
---@param r table
---@param data mascon.xpcs.Data
---@param info? table subtitle, angles 6: how many angles are drawn, settings (rows)
function M.page(r, data, info)
  info = info or {}
  local head, rows, known = cells(r)
  local notes = {}
  for _, list in ipairs { data.warnings or {}, r.warnings, r.checks.errors, r.checks.warnings,
    r.checks.remarks } do for _, w in ipairs(list) do notes[#notes + 1] = w end end
  local sections = {
    { heading = 'What the data tell', paragraphs = r.verdict.sentences },
    { heading = 'Parameters', table = { header = head, rows = rows }, paragraphs = { M.line(r),
      verdict.RULE,
      ('Errors are standard errors from the %s, condition %.3g, %s.'):format(
      r.covariance_by == 'QR' and 'QR factors of the Jacobian' or r.covariance_by, r.condition,
      r.covariance_by:find '^sandwich' and ('of loss %s and the spread of the residuals'):format(r.loss)
        or r.noise and r.noise.factor and 'scaled by the residuals'
        or r.absolute_sigma and 'for sigma as given' or 'scaled by the misfit'),
      known and 'The file is a simulation. Pull: the value less the true one, in standard errors.' or nil } },
  }
  if #notes > 0 then table.insert(sections, { heading = 'Read with care', paragraphs = notes }) end
  local figures = {}
  local drawn, limit = math.min(data.F, info.angles or 6), 56
  for f = 1, drawn do figures[f] = M.heatmaps(r, data, f, { limit = limit }) end
  local every = math.ceil(data.n / limit)
  local about = {}
  if drawn < data.F then
    about[1] = ('Maps of the first %d of %d angles; all are fitted.'):format(drawn, data.F)
  end
  if every > 1 then
    about[#about + 1] = ('Maps show one time in %d of %d; the fit takes all.'):format(every, data.n)
  end
  table.insert(sections, { heading = 'Experiment, fit, residual', paragraphs = about, figures = figures })
  table.insert(sections, { heading = 'Cuts along the age', figure = M.cuts(r, data, 1) })
  table.insert(sections, { heading = 'Residuals', figure = M.residuals(r, data) })
  if info.posterior then
    local s = info.posterior.result
    local t, lines = s.table, {}
    for i, name in ipairs(t.labels) do
      local function at(c, digits) return shown(t[c][i]:item(), digits) end
      lines[i] = { name, at('mean', 6), at('sd', 3), at('q5', 5), at('median', 5), at('q95', 5), at('rhat', 4),
        at('ess_bulk', 4) }
    end
    local words = require('workflows.xpcs.posterior_files').warnings(s)
    local drawings = {}
    for i, f in ipairs(info.posterior.figures) do drawings[i] = f[2] end
    table.insert(sections, { heading = 'Posterior', table = { header = { 'parameter', 'mean', 'sd', '5 %', 'median',
      '95 %', 'R-hat', 'ESS' }, rows = lines }, paragraphs = words, figures = drawings })
  end
  local corr = {}
  for i, name in ipairs(r.names) do
    corr[i] = { name }
    for j = 1, #r.names do corr[i][j + 1] = r.correlation[i][j] == r.correlation[i][j]
      and ('%.3f'):format(r.correlation[i][j]) or '' end
  end
  if #r.names <= 20 then table.insert(sections, { heading = 'Correlations', table = { header = { '', unpack(r.names) },
    rows = corr } }) end
  local quality = {}
  for f = 1, data.F do
    local q = data.quality and data.quality[f]
    quality[f] = { data.phi[f], q and q.points or '', q and q.missing or '', q and q.least or '', q and q.most or '',
      r.contrast[f], r.offset[f], r.sigma[f] }
  end
  table.insert(sections, { heading = 'Angles', table = { header = { 'phi, deg', 'pairs', 'masked', 'least C2',
    'largest C2', 'contrast', 'offset', 'sigma' }, rows = quality } })
  local g = r.geometry
  local settings = { { 'q, 1/A', g.q }, { 'dt, s', g.dt }, { 'gap', ('%g A = %g um'):format(g.gap, g.gap / 1e4) },
    { 'phase convention', g.convention .. ': the phase is q L / 2 pi times the integral of the shear rate' },
    { 'counting', r.counting }, { 'loss', r.loss }, { 'times', data.n }, { 'angles', data.F }, { 'mode', r.mode },
      { 'scaling', r.scaling } }
  if r.mode == 'own model' then settings[4] = { 'model', 'a function g1 of the user\'s, C2 = offset + contrast g1^2' }
  elseif g.convention ~= 'qL/2pi' then
    settings[4][2] = 'qL/2: the phase is q L / 2 times the integral, pi times the default' end
  for _, s in ipairs(info.settings or {}) do settings[#settings + 1] = s end
  table.insert(sections, { heading = 'Settings', table = { header = { 'name', 'value' }, rows = settings } })
  return mc.report.html { title = 'Two-time correlation fit', subtitle = info.subtitle, sections = sections,
    footer = 'mascon ' .. mc.version }
end

return M
