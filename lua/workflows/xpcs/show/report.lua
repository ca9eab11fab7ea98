-- report.lua - what a reader sees of a fit: tables, figures, the HTML page.
--
-- The verdict stands before the numbers. Figures: D(t) and the shear rate against time; per angle experiment, fit and
-- residual as heat maps on one scale each; cuts of C2 against the lag; the histogram of residuals. Takes results and
-- data; fits nothing.
local mc = require 'mascon'
local plot = require 'mascon.plot'
local labels = require 'workflows.xpcs.model.labels'
local maps = require 'workflows.xpcs.show.maps'
local model = require 'workflows.xpcs.model.model'
local parameters = require 'workflows.xpcs.model.parameters'
local rates = require 'workflows.xpcs.judge.rates'
local results = require 'workflows.xpcs.show.results'
local summary = require 'workflows.xpcs.judge.summary'
local truth = require 'workflows.xpcs.model.truth'
local verdict = require 'workflows.xpcs.judge.verdict'
local M = {}

local shown = summary.shown

local BINS = 4 -- of lags, to a factor of e

--- The table of parameters for a terminal, and the line of numbers on a fit.
M.table, M.line = summary.table, summary.line

-- ---------------------------------------------------------------- figures

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
  local map = maps.of(r, data, f, o.limit or 100)
  local unit, label = unit_of(r)
  local flat = map.c:reshape(-1)
  local finite = flat[mc.isfinite(flat)]
  if finite:numel() == 0 then finite = mc.ones { 1 } end -- an angle of which no cell holds a value
  local low, high = o.vmin or mc.quantile(finite, (o.low or 1) / 100):item(),
    o.vmax or mc.quantile(finite, (o.high or 99) / 100):item()
  if not (high > low) then high = low + 1e-6 end
  local fig = plot.figure { title = ('phi = %s deg%s'):format(shown(data.phi[f], 4), o.note or ''), width = 1180,
    height = 380, rows = 1, cols = 3 }
  local function panel(k, z, opts)
    opts.xlabel, opts.ylabel, opts.xunit, opts.yunit, opts.aspect = 't1', 't2', 's', 's', 'equal'
    fig:axes(1, k):heatmap(map.t, map.t, z:totable(), opts)
  end
  panel(1, map.c, { title = 'experiment', label = 'C2', cmap = 'viridis', vmin = low, vmax = high })
  panel(2, map.fit, { title = 'fit', label = 'C2', cmap = 'viridis', vmin = low, vmax = high })
  panel(3, map.residual / unit, { title = map.mean and 'residual of the means' or 'residual', label = label,
    cmap = 'tide', center = 0, vmin = -4, vmax = 4 })
  return fig
end

--- Experiment and model without a fit: one heat map per angle.
---@param o? table title (the file and its q by default), vmin, vmax
function M.experiment(data, o)
  o = o or {}
  local F = math.min(data.F, 16)
  local cols = math.min(4, F)
  local rows = math.ceil(F / cols)
  local file = labels.of({ data })[1]
  local fig = plot.figure { title = o.title or ('%sq = %s 1/A'):format(file ~= '' and file .. ', ' or '',
    shown(data.q)), width = 330 * cols + 40, height = 290 * rows + 50, rows = rows, cols = cols }
  for f = 1, F do
    local map = maps.of(nil, data, f, 80)
    fig:axes(math.ceil(f / cols), (f - 1) % cols + 1):heatmap(map.t, map.t, map.c:totable(),
      { title = ('%s deg'):format(shown(data.phi[f], 4)), xlabel = 't1', ylabel = 't2', xunit = 's', yunit = 's',
      aspect = 'equal', label = 'C2', cmap = 'viridis', vmin = o.vmin, vmax = o.vmax })
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
---@param title? string
function M.cuts(r, data, f, title)
  local list = type(f) == 'table' and f or { f }
  local cols = math.min(#list, 2)
  local rows = math.ceil(#list / cols)
  local fig = plot.figure { title = title or 'C2 against the lag at three ages', width = cols > 1 and 1180 or 760,
    height = 380 * rows + 40, rows = rows, cols = cols }
  for k, angle in ipairs(list) do cut(fig:axes(math.ceil(k / cols), (k - 1) % cols + 1), r, data, angle) end
  return fig
end

--- Mean residual of pairs against their lag, over the standard error that independent noise gives it (of every k-th
--- time): a decay of another form bends it away from 0 at some lags.
---@param r table
---@param data mascon.xpcs.Data
---@param list integer[] angles
function M.by_lag(r, data, list)
  local unit = unit_of(r)
  local fig = plot.figure { title = 'Mean residual against the lag', width = 760, height = 380 }
  local ax = fig:axes(1, 1)
  for _, f in ipairs(list) do
    local x, y = {}, {}
    mc.scope(function()
      local c, fitted, times, sigma = results.figure(r, data, f, 400)
      local m = times.shape[1]
      local at = mc.arange(1, m)
      local lag = at:expand_dims(1) - at:expand_dims(2)
      local inside = mc.logical_and(mc.gt(lag, 0), mc.isfinite(c))
      local z, place = ((c - fitted) / (sigma * unit))[inside],
        (mc.floor(mc.log(lag[inside]) * BINS + 1e-9) + 1):to 'i64'
      local bins = math.floor(math.log(m) * BINS) + 1
      local function sum_of(v) return mc.segment_sum(v, place, { num_segments = bins }):totable() end
      local count, sum, lags = sum_of(mc.ones { place:numel() }), sum_of(z), sum_of(lag[inside])
      local step = m > 1 and times[2]:item() - times[1]:item() or 0
      for k, v in ipairs(count) do
        if v > 0 then x[#x + 1], y[#y + 1] = lags[k] / v * step, sum[k] / math.sqrt(v) end
      end
    end)
    if #x > 0 then ax:line(x, y, { label = ('phi = %s deg'):format(shown(data.phi[f], 4)) }) end
  end
  for _, v in ipairs { -3, 0, 3 } do ax:hline(v, { color = '#444444', dash = v ~= 0 and 'dashed' or nil }) end
  ax:set { xlabel = 'lag', xunit = 's', xscale = 'log', ylabel = 'mean residual / its error', legend = 'best' }
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
  local y, x, normal = (counts / (math.max(total, 1) * (high - low) / bins)):totable(), {}, {}
  y[bins + 1] = y[bins] -- a step holds from its edge on: the last bin too is as wide as the others
  for k = 1, bins do
    x[k] = (edges[k] + edges[k + 1]) / 2
    normal[k] = math.exp(-x[k] ^ 2 / 2) / math.sqrt(2 * math.pi)
  end
  local fig = plot.figure { title = 'Residuals of all angles', width = 640, height = 380 }
  local ax = fig:axes(1, 1)
  ax:line(edges, y, { label = 'residuals', step = true })
  ax:line(x, normal, { label = 'normal distribution', dash = 'dashed', color = '#444444' })
  ax:set { xlabel = label .. ' (end bins: all beyond 5)', ylabel = 'density', legend = 'best' }
  return fig
end

-- ---------------------------------------------------------------- the page

local READING = 'How to read the residual: bands along the diagonal show a decay of another form. A cross at one time, '
  .. 'or a block from one time on, shows an event. A pattern at some angles alone shows the scaling or the shear. '
  .. 'Speckle noise is correlated and leaves patches of either sign, without a pattern that the angles share.'

local LAGS = 'Where the model holds, the lines stay near 0: within 3 (dashed) for independent noise, wider for speckle '
  .. 'noise. A bend that the angles share, such as too low at long lags and too high between, is a decay of another '
  .. 'form.'

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
    about[#about + 1] = data.packed and ('A cell of a map is the mean of %d x %d times. Its residual is that of the '
      .. 'mean, over the standard deviation that independent noise gives it: noise without pattern, of size 1, where '
      .. 'the model holds.'):format(every, every)
      or ('Maps show one time in %d of %d; the fit takes all.'):format(every, data.n)
  end
  about[#about + 1] = meaning
  about[#about + 1] = READING
  return { { heading = 'Experiment, fit, residual', paragraphs = about, figures = figures },
    { heading = 'Residual against the lag', paragraphs = { LAGS }, figure = M.by_lag(r, data, chosen) },
    { heading = 'Cuts at three ages', figure = M.cuts(r, data, chosen) },
    { heading = 'Histogram of residuals', paragraphs = { meaning }, figure = M.residuals(r, data) } }
end

--- Correlations of the free numbers; columns are numbered, so that the table fits the page.
local function correlations(r)
  local head, rows = { '' }, {}
  for i, name in ipairs(r.names) do
    head[i + 1], rows[i] = tostring(i), { ('%d %s'):format(i, name) }
    for j = 1, #r.names do
      local c = r.correlation[i][j]
      rows[i][j + 1] = c == c and ('%.3f'):format(c) or ''
    end
  end
  return { heading = 'Correlations', table = { header = head, rows = rows } }
end

--- What was read of each angle, and its scaling.
local function angles(r, data)
  local rows = {}
  for f = 1, data.F do
    local q = data.quality and data.quality[f]
    rows[f] = { shown(data.phi[f]), shown(q and q.points), shown(q and q.missing), shown(q and q.least),
      shown(q and q.most), shown(r.contrast[f]), shown(r.offset[f]), shown(r.sigma[f], 4) }
  end
  return { heading = 'Angles', table = { header = { 'phi, deg', 'pairs', 'masked', 'least C2', 'largest C2',
    'contrast', 'offset', 'sigma' }, rows = rows } }
end

local FORMULA = {
  static = 'C2 = offset + contrast exp(-q^2 I), where I is the integral of D(t) = D0 t^alpha + D_offset between the '
    .. 'two times.',
  laminar_flow = 'C2 = offset + contrast exp(-q^2 I) sinc(x)^4, where I is the integral of D(t) = D0 t^alpha + '
    .. 'D_offset between the two times, x = q L cos(phi0 - phi) J / (2 pi), and J is the integral of the shear rate '
    .. 'gamma_dot_t0 t^beta + gamma_dot_t_offset; sinc(x) = sin(x) / x.',
}

--- What the parameters mean, and between which bounds they were fitted.
local function meanings(r)
  local rows = {}
  for _, q in ipairs(r.parameters) do
    local p = parameters.known(q.name:match '^contrast' or q.name:match '^offset' or q.name)
    local free = q.state == 'free'
    rows[#rows + 1] = { q.name, q.unit or '', p and p.about or '', free and shown(q.low) or '', free and shown(q.high)
      or '', q.state }
  end
  local formula = FORMULA[r.mode] or 'C2 = offset + contrast g1^2, with a g1 of your own.'
  if r.geometry.convention == 'qL/2' then formula = formula:gsub('%(2 pi%)', '2') end
  return { heading = 'Model and bounds', paragraphs = { formula }, table = { rows = rows,
    header = { 'parameter', 'unit', 'meaning', 'lower bound', 'upper bound', '' } } }
end

--- Names and values of what was set.
local function settings(r, data, info)
  local g, rows = r.geometry, {}
  local function row(name, value) rows[#rows + 1] = { name, tostring(value) } end
  row('q, 1/A', shown(g.q))
  row('dt, s', shown(g.dt))
  if data.frames then row('frames', ('%d to %d of %d'):format(unpack(data.frames))) end
  row('times', data.n)
  row('angles', data.F)
  row('sigma', r.sigma_is_default and 'assumed' or r.absolute_sigma and 'as given' or 'relative')
  row('gap', ('%s A = %s um'):format(shown(g.gap), shown(g.gap / 1e4)))
  if r.mode ~= 'own model' then
    row('phase convention', g.convention == 'qL/2pi' and 'qL/2pi: the phase is q L / (2 pi) times the integral of the '
      .. 'shear rate' or 'qL/2: the phase is q L / 2 times the integral, pi times the default')
  end
  for _, name in ipairs { 'mode', 'scaling', 'loss', 'counting', 'device' } do row(name, r[name]) end
  for _, s in ipairs(info.settings or {}) do row(s[1], s[2]) end
  return { heading = 'Settings', table = { header = { 'name', 'value' }, rows = rows } }
end

--- A page on a fit: findings, parameters, maps of data, fit and residuals, cuts.
---@param r table result of mc.xpcs.fit
---@param data mascon.xpcs.Data that were fitted
---@param info? table subtitle, angles 6: how many angles are drawn, settings (rows)
---@return string the page, HTML without references to other files; mc.xpcs.results.write keeps it as report.html
function M.page(r, data, info)
  if type(r) ~= 'table' or type(r.parameters) ~= 'table' or type(data) ~= 'table' or not data.F then
    error('xpcs.report.page: give the result of a fit and its data, in this order', 2)
  end
  info = info or {}
  local head, rows, known = summary.cells(r)
  local notes = verdict.notes(r)
  local sections = {
    { heading = 'What the data tell', paragraphs = verdict.lines(r) },
    { heading = 'Parameters', table = { header = head, rows = rows }, paragraphs = { M.line(r),
      verdict.rule(r),
      ('Errors are standard errors from the %s, condition %s, %s.'):format(
      r.covariance_by == 'QR' and 'QR factors of the Jacobian' or r.covariance_by, shown(r.condition, 3),
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
    local columns, lines = require('workflows.xpcs.show.posterior_files').cells(s)
    local words = require('workflows.xpcs.show.posterior_files').warnings(s)
    local drawings = {}
    for i, f in ipairs(info.posterior.figures) do drawings[i] = f[2] end
    table.insert(sections, { heading = 'Posterior', table = { header = columns, rows = lines }, paragraphs = words,
      figures = drawings })
  end
  if #r.names <= 20 then sections[#sections + 1] = correlations(r) end
  sections[#sections + 1] = angles(r, data)
  sections[#sections + 1] = meanings(r)
  sections[#sections + 1] = settings(r, data, info)
  return mc.report.html { title = 'Two-time correlation fit', subtitle = info.subtitle, sections = sections,
    footer = 'mascon ' .. mc.version }
end

return M
