-- report.lua - what a reader sees of a fit: tables, figures, the HTML page.
--
-- The verdict stands before the numbers. Figures: D(t) and the shear rate against time; per angle experiment, fit and
-- residual as heat maps on one scale each; cuts of C2 against the lag; the histogram of residuals. Takes results and
-- data; fits nothing.
local mc = require 'mascon'
local plot = require 'mascon.plot'
local model = require 'workflows.xpcs.model'
local rates = require 'workflows.xpcs.rates'
local results = require 'workflows.xpcs.results'
local summary = require 'workflows.xpcs.summary'
local truth = require 'workflows.xpcs.truth'
local verdict = require 'workflows.xpcs.verdict'
local M = {}

local shown = summary.shown

--- The table of parameters for a terminal, and the line of numbers on a fit.
M.table, M.line = summary.table, summary.line

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

--- What residuals over sigma are divided by in figures: 1, or their own scatter where sigma was not given.
---@return number unit, string label, string|nil what it means
local function unit_of(r)
  if r.absolute_sigma and not r.sigma_is_default then return 1, 'residual / sigma' end
  local unit = r.reduced_chi2 > 0 and math.sqrt(r.reduced_chi2) or 1
  return unit, 'residual / scatter', ('Sigma is %s: residuals are divided by their own scatter about the fit, %s%s.')
    :format(r.sigma_is_default and 'assumed' or 'relative', shown(unit, 3), r.sigma_is_default
    and (' times the assumed sigma of %s'):format(shown(r.sigma[1], 3)) or ' times sigma')
end

--- Angles in the order of their misfit, the worst first, and the mean square of residuals over sigma of each (of every
--- k-th time).
---@return integer[] angles, number[] by angle
function M.by_misfit(r, data)
  local order, misfit = {}, {}
  for f = 1, data.F do
    order[f], misfit[f] = f, mc.scope(function()
      local x, fitted, t, sigma = results.figure(r, data, f, 120)
      local k = mc.arange(1, t.shape[1])
      local z = ((x - fitted) / sigma)[mc.logical_and(mc.gt(k:expand_dims(1), k:expand_dims(2)), mc.isfinite(x))]
      return mc.sum(z * z):item() / math.max(z:numel(), 1)
    end)
  end
  table.sort(order, function(a, b) return misfit[a] > misfit[b] or misfit[a] == misfit[b] and a < b end)
  return order, misfit
end

--- D(t), and the shear rate of a laminar fit, against time, each with its interval of 95 %; nil for own models.
---@param r table result of fit
---@param title? string
function M.rates(r, title)
  local list = rates.of(r)
  if not list then return nil end
  local fig = plot.figure { title = title or 'Rates of the fit', width = 560 * #list + 60, height = 400,
    cols = #list }
  for k, one in ipairs(list) do
    local ax, least, line = fig:axes(1, k), math.huge, {}
    for i, v in ipairs(one.value) do
      line[i] = v > model.LEAST and v or 0 / 0
      if line[i] == v then least = math.min(least, one.low[i] == one.low[i] and one.low[i] or v) end
    end
    local largest = math.max(unpack(one.value, 1, math.min(#one.value, 4000)))
    local best = rates.best(r, one.at)
    local known = best and best.error < best.value
    ax:band(one.t, one.low, one.high, { color = '#0062a3', label = best and '95 %' or nil })
    ax:line(one.t, line, { color = '#0062a3', label = 'fit', width = 2 })
    local v = {}
    for j, name in ipairs { one.scale, one.power, one.shift } do v[j] = truth.beside(r, { name = name }) end
    if v[1] and v[2] and v[3] then
      local y = (model.rate(mc.tensor(one.t), unpack(v))):totable()
      ax:line(one.t, y, { color = '#444444', dash = 'dashed', label = 'true' })
    end
    ax:set { title = known and one.name or one.name .. ', not determined', xlabel = 't', xunit = 's', xscale = 'log',
      ylabel = one.title, yunit = one.unit, legend = 'best', yscale = least > 1e-3 * largest and 'log' or 'linear' }
  end
  return fig
end

--- Experiment, fit and residual of one angle.
---@param o? table limit 100 (cells a side), vmin, vmax, or low 1 and high 99: percentiles of the experiment;
---  note: beside the angle in the title
function M.heatmaps(r, data, f, o)
  o = o or {}
  local x, fitted, t, sigma = results.figure(r, data, f, o.limit or 100)
  x = M.gaps(data, f, x)
  local unit, label = unit_of(r)
  local residual = mc.where(mc.gt(mc.eye(x.shape[1]), 0), 0, (x - fitted) / (sigma * unit)) -- no pair on the diagonal
  local ticks = t:totable()
  local flat = x:reshape(-1)
  local finite = flat[mc.isfinite(flat)]
  local low, high = o.vmin or mc.quantile(finite, (o.low or 1) / 100):item(),
    o.vmax or mc.quantile(finite, (o.high or 99) / 100):item()
  if not (high > low) then high = low + 1e-6 end
  local fig = plot.figure { title = ('phi = %.4g deg%s'):format(data.phi[f], o.note or ''), width = 1180, height = 400,
    rows = 1, cols = 3 }
  local function panel(k, map, opts)
    opts.xlabel, opts.ylabel, opts.xunit, opts.yunit, opts.colorbar = 't1', 't2', 's', 's', true
    fig:axes(1, k):heatmap(ticks, ticks, map:totable(), opts)
  end
  panel(1, x, { title = 'experiment', label = 'C2', cmap = 'viridis', vmin = low, vmax = high })
  panel(2, fitted, { title = 'fit', label = 'C2', cmap = 'viridis', vmin = low, vmax = high })
  panel(3, residual, { title = 'residual', label = label, cmap = 'tide', center = 0, vmin = -4, vmax = 4 })
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
      colorbar = true, label = 'C2', cmap = 'viridis', vmin = o.vmin, vmax = o.vmax })
  end
  return fig
end

--- Draws C2 of an angle against the lag at three ages, data and fit.
local function cut(ax, r, data, f)
  local c, fitted, times = results.figure(r, data, f, 400)
  local n = c.shape[1]
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
  ax:set { title = ('phi = %.4g deg'):format(data.phi[f]), xlabel = 'lag', xunit = 's', xscale = 'log', ylabel = 'C2',
    legend = 'best' }
end

--- C2 against the lag at three ages, data and fit, of one or several angles.
---@param f integer|integer[]
function M.cuts(r, data, f)
  local list = type(f) == 'table' and f or { f }
  local cols = math.min(#list, 2)
  local rows = math.ceil(#list / cols)
  local fig = plot.figure { title = 'C2 against the lag at three ages', width = cols > 1 and 1180 or 760,
    height = 380 * rows + 40, rows = rows, cols = cols }
  for k, angle in ipairs(list) do cut(fig:axes(math.ceil(k / cols), (k - 1) % cols + 1), r, data, angle) end
  return fig
end

--- Histogram of residuals over sigma of all angles (of every k-th time: at most about a million points of all).
function M.residuals(r, data)
  local counts, edges, total = nil, {}, 0
  local unit, label = unit_of(r)
  local bins, low, high = 81, -5, 5
  for k = 0, bins do edges[k + 1] = low + (high - low) * k / bins end
  for f = 1, data.F do
    counts = mc.scope(function()
      local limit = math.max(60, math.min(400, math.floor(1500 / math.sqrt(data.F))))
      local c, fitted, times, sigma = results.figure(r, data, f, limit)
      local t = mc.arange(1, times.shape[1])
      local inside = mc.logical_and(mc.gt(t:expand_dims(1), t:expand_dims(2)), mc.isfinite(c))
      local z = ((c - fitted) / (sigma * unit))[inside]
      local k = mc.floor((mc.clip(z, low, high - 1e-9) - low) * (bins / (high - low))):to 'i64'
      local h = mc.bincount(k, { minlength = bins }):to 'f64'
      total = total + z:numel()
      return counts and counts + h or h
    end)
  end
  local y, x, normal = (counts / (total * (high - low) / bins)):totable(), {}, {}
  y[bins + 1] = y[bins] -- a step holds from its edge on: the last bin too is as wide as the others
  for k = 1, bins do
    x[k] = (edges[k] + edges[k + 1]) / 2
    normal[k] = math.exp(-x[k] ^ 2 / 2) / math.sqrt(2 * math.pi)
  end
  local fig = plot.figure { title = 'Residuals of all angles', width = 640, height = 380 }
  local ax = fig:axes(1, 1)
  ax:line(edges, y, { label = 'residuals', step = true })
  ax:line(x, normal, { label = 'normal distribution', dash = 'dashed', color = '#444444' })
  ax:set { xlabel = label .. ' (what lies beyond 5 is in the end bins)', ylabel = 'density', legend = 'best' }
  return fig
end

-- ---------------------------------------------------------------- the page

--- Sections with maps, cuts and the histogram of residuals; the angles that fit worst, where not all are drawn.
---@param info table angles 6
---@return table[]
function M.drawings(r, data, info)
  local figures, chosen, about = {}, {}, {}
  local drawn, limit = math.min(data.F, info.angles or 6), 56
  local order, misfit = M.by_misfit(r, data)
  local unit, _, meaning = unit_of(r)
  for k = 1, drawn do chosen[k] = drawn < data.F and order[k] or k end
  for k, f in ipairs(chosen) do
    figures[k] = M.heatmaps(r, data, f, { limit = limit, note = (', reduced chi2 %s%s'):format(shown(misfit[f]
      / unit ^ 2, 3), unit ~= 1 and ' for the scatter of all angles' or '') })
  end
  local every = math.ceil(data.n / limit)
  if drawn < data.F then
    about[1] = ('Maps of the %d of %d angles that fit worst, the worst first; all are fitted.'):format(drawn, data.F)
  end
  if every > 1 then
    about[#about + 1] = ('Maps show one time in %d of %d; the fit takes all.'):format(every, data.n)
  end
  about[#about + 1] = meaning
  return { { heading = 'Experiment, fit, residual', paragraphs = about, figures = figures },
    { heading = 'Cuts at three ages', figure = M.cuts(r, data, chosen) },
    { heading = 'Residuals', paragraphs = { meaning }, figure = M.residuals(r, data) } }
end

--- The HTML page.
---@param r table
---@param data mascon.xpcs.Data
---@param info? table subtitle, angles 6: how many angles are drawn, settings (rows)
function M.page(r, data, info)
  info = info or {}
  local head, rows, known = summary.cells(r)
  local notes = verdict.notes(r)
  local sections = {
    { heading = 'What the data tell', paragraphs = verdict.lines(r) },
    { heading = 'Parameters', table = { header = head, rows = rows }, paragraphs = { M.line(r),
      verdict.rule(r),
      ('Errors are standard errors from the %s, condition %.3g, %s.'):format(
      r.covariance_by == 'QR' and 'QR factors of the Jacobian' or r.covariance_by, r.condition,
      r.covariance_by:find '^sandwich' and ('of loss %s and the spread of the residuals'):format(r.loss)
        or r.noise and r.noise.factor and 'scaled by the residuals'
        or r.absolute_sigma and 'for sigma as given' or 'scaled by the misfit'),
      known and 'The file is a simulation. Pull: the value less the true one, in standard errors.' or nil } },
  }
  if #notes > 0 then table.insert(sections, { heading = 'Read with care', paragraphs = notes }) end
  local curves = M.rates(r)
  if curves then
    table.insert(sections, { heading = 'Rates against time', paragraphs = {
      'The data determine these rates better than their parameters. Bands hold 95 % by the linearised errors of the '
      .. 'fit; the numbers are in nlsq/rates.csv.' }, figure = curves })
  end
  for _, s in ipairs(M.drawings(r, data, info)) do sections[#sections + 1] = s end
  if info.posterior then
    local s = info.posterior.result
    local t, lines = s.table, {}
    for i, name in ipairs(t.labels) do
      local function at(c, digits) return shown(t[c][i]:item(), digits) end
      lines[i] = { name, at('mean', 6), at('sd', 3), at('q5', 5), at('median', 5), at('q95', 5), at('rhat', 4),
        at('ess_bulk', 4) }
      if s.too_narrow then table.insert(lines[i], 4, shown(s.too_narrow[name], 2)) end
    end
    local columns = { 'parameter', 'mean', 'sd', '5 %', 'median', '95 %', 'R-hat', 'ESS' }
    if s.too_narrow then table.insert(columns, 4, 'sd too small by') end
    local words = require('workflows.xpcs.posterior_files').warnings(s)
    local drawings = {}
    for i, f in ipairs(info.posterior.figures) do drawings[i] = f[2] end
    table.insert(sections, { heading = 'Posterior', table = { header = columns, rows = lines }, paragraphs = words,
      figures = drawings })
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
