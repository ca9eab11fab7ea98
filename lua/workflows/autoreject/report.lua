-- report.lua - figures and the page of a cleaning.
--
-- Decides what a reader sees: the log as an image, threshold curves with their optimum, the loss over kappa and rho,
-- averages before and after, the map of bad channels, tables, the HTML page. Takes plain tables and tensors; decides
-- nothing about data.
--
-- A log is that of workflows.autoreject.log, or a table { labels [E, C] (NaN not considered, 0 good, 1 bad, 2
-- repaired, 3 bad beside a bad one), bad_epochs [E], names }. What is known of one channel type: { type, channels
-- (names), members (names, where one row stands for several channels), thresholds (SI, optional), curves (list of {
-- tau [n], loss [n] }, optional), consensus (list), n_interpolate (list), loss [kappa, rho] (mean over folds,
-- optional), chosen = { consensus, n_interpolate }, certainty [E, C] (optional) }; M.types makes these of a model.
local mc = require 'mascon'
local plot = require 'mascon.plot'
local text = require 'mascon.base.text'
local M = {}

-- how values of a type are shown: unit and its factor from SI
local SHOWN = {
  eeg = { 'µV', 1e6 }, eog = { 'µV', 1e6 }, ecog = { 'µV', 1e6 }, seeg = { 'µV', 1e6 }, mag = { 'fT', 1e15 },
  grad = { 'fT/cm', 1e13 }, hbo = { 'µM', 1e6 }, hbr = { 'µM', 1e6 },
}
local CLASSES = { { 'good', '#eef1f4' }, { 'repaired', 'sky' }, { 'bad', 'orange' } }
-- classes that are shown where they occur
local BESIDE, DROPPED = { 'bad beside a bad one', 'yellow' }, { 'epoch dropped', '#222222' }
-- epochs up to which a frame of each dropped one can be seen
local FRAMED = 400
-- a figure of losses ends at so many times the largest optimum: further out the worst epochs say all
local BEYOND = 4
-- values of a figure's lines: more would make pages of many megabytes
local POINTS = 24000

local function shown(type_) return unpack(SHOWN[type_] or { 'SI units', 1 }) end

--- Places of the channels a log considers.
local function considered(log)
  local any = mc.max(mc.isfinite(log.labels):to 'u8', 1):totable()
  local list = {}
  for c, yes in ipairs(any) do if yes == 1 then list[#list + 1] = c end end
  return list
end

local function flags(t) return type(t) == 'table' and t or t:totable() end

local function truthy(v) return v == true or v == 1 end

local function some(list, most)
  local step = math.ceil(#list / most)
  local at, names = {}, {}
  for i = 1, #list, step do at[#at + 1], names[#names + 1] = i, list[i] end
  return at, names
end

--- What the figures need of a model of mc.autoreject.fit: one table for each type of channel.
---@param model table
---@return table[] as in the head of this file
function M.types(model)
  local out = {}
  for k, kind in ipairs(model.order) do
    local t = model.types[kind]
    local one = { type = kind, channels = t.names, thresholds = t.threshold, consensus = model.consensus_grid,
      n_interpolate = t.n_interpolate_grid, loss = t.mean_loss,
      chosen = { consensus = t.consensus, n_interpolate = t.n_interpolate }, certainty = t.certainty }
    if t.candidates and t.losses then
      one.curves = {}
      for c = 1, #t.names do one.curves[c] = { tau = t.candidates[c], loss = t.losses[c] } end
    end
    out[k] = one
  end
  return out
end

--- Counts of a log: epochs, bad epochs, cells by label, and for each considered channel its shares of bad and repaired
--- epochs.
---@param log table
---@return table { epochs, bad_epochs, good, bad, repaired, channels = list of { name, place, bad, repaired } }; bad
---  counts both kinds of bad
function M.counts(log)
  local E = log.labels.shape[1]
  local out = { epochs = E, bad_epochs = 0, good = 0, bad = 0, repaired = 0, channels = {} }
  for _, b in ipairs(flags(log.bad_epochs)) do if truthy(b) then out.bad_epochs = out.bad_epochs + 1 end end
  local function per_channel(v) return mc.sum(mc.eq(log.labels, v):to 'i64', 1):totable() end
  local good, bad, repaired, beside = per_channel(0), per_channel(1), per_channel(2), per_channel(3)
  for _, c in ipairs(considered(log)) do
    bad[c] = bad[c] + beside[c]
    out.good, out.bad, out.repaired = out.good + good[c], out.bad + bad[c], out.repaired + repaired[c]
    local n = good[c] + bad[c] + repaired[c]
    out.channels[#out.channels + 1] = { name = log.names[c], place = c, bad = bad[c] / n, repaired = repaired[c] / n }
  end
  return out
end

--- The log as an image: channels down, epochs across; epochs that are dropped are framed, or marked in a row of their
--- own where columns are too narrow for a frame.
---@param log table
---@return table figure
function M.log_figure(log)
  local E = log.labels.shape[1]
  local list = considered(log)
  local labels = mc.take(log.labels, mc.tensor(list, { dtype = 'i64' }), 2)
  -- good, repaired, bad in the order in which they are to be seen
  local class = mc.where(mc.eq(labels, 2), 2,
    mc.where(mc.eq(labels, 1), 3, mc.where(mc.eq(labels, 0), 1, mc.where(mc.eq(labels, 3), 4, 0 / 0))))
  local rows, dropped, outline, names = class.mT:contiguous():totable(), flags(log.bad_epochs), {}, {}
  for k, c in ipairs(list) do names[k] = log.names[c] end
  local framed, classes = E <= FRAMED, { unpack(CLASSES) }
  if mc.any(mc.eq(labels, 3)) then classes[4] = BESIDE end
  if framed then
    for k = 1, #rows do
      outline[k] = {}
      for e = 1, E do outline[k][e] = truthy(dropped[e]) end
    end
  else
    local strip, last = {}, #classes + 1
    for e = 1, E do strip[e] = truthy(dropped[e]) and last or 1 end
    table.insert(rows, 1, strip)
    table.insert(names, 1, 'dropped')
    classes[last] = DROPPED
  end
  local at, ticks = some(names, 48)
  local width = math.max(520, math.min(960, 240 + 8 * E))
  local fig = plot.figure { width = width, height = math.max(260, math.min(860, 110 + 13 * #rows)) }
  fig:axes():heatmap(rows, {
    classes = classes, outline = framed and outline or nil, outline_width = math.min(1.4,
      math.max(0.6, 0.12 * (width - 200) / E)), xlabel = framed and 'epoch (framed: dropped)' or 'epoch',
    yticks = at, yticklabels = ticks, ylim = { #rows + 0.5, 0.5 },
  })
  return fig
end

local function light(axes, x, y, step, stairs)
  local xs, ys = {}, {}
  for i = 1, #x, step do xs[#xs + 1], ys[#ys + 1] = x[i], y[i] end
  axes:line(xs, ys, { color = '#8fa3b5', width = 0.7, dash = 'solid', step = stairs or false })
end

--- Limits of an axis with a little room, or nil when there is no extent.
local function limits(lo, hi)
  local room = 0.05 * (hi - lo)
  if room > 0 then return { lo - room, hi + room } end
end

--- Loss over the threshold for every channel, and the thresholds side by side.
---@param t table of one type, with curves or without
---@return table figure
function M.threshold_figure(t)
  local unit, factor = shown(t.type)
  local n = #t.channels
  local curves = t.curves
  local fig = plot.figure { width = curves and 960 or 560, height = 400, rows = 1, cols = curves and 2 or 1 }
  if curves then
    local left, best_x, best_y, total = fig:axes(1, 1), {}, {}, 0
    local far, near, widest, high, low, top = 0, math.huge, 0, 0, math.huge, 0
    for _, c in ipairs(curves) do total = total + #flags(c.tau) end
    local step = math.max(1, math.ceil(total / POINTS))
    for k, c in ipairs(curves) do
      local tau, loss = mc.tensor(c.tau) * factor, mc.tensor(c.loss) * factor
      light(left, tau:totable(), loss:totable(), step, true)
      local i = mc.argmin(loss):item()
      best_x[k], best_y[k] = tau[i]:item(), loss[i]:item()
      far, near, widest = math.max(far, best_x[k]), math.min(near, mc.min(tau):item()),
        math.max(widest, mc.max(tau):item())
      high, low, top = math.max(high, best_y[k]), math.min(low, best_y[k]),
        math.max(top, mc.max(mc.where(mc.isfinite(loss), loss, 0)):item())
    end
    left:scatter(best_x, best_y, { size = 5, color = 'orange', label = 'optimum' })
    left:set { title = 'Loss over the threshold, one line a channel', xlabel = 'threshold, peak to peak', xunit = unit,
      ylabel = 'loss', yunit = unit,
      xlim = limits(near, math.min(widest, BEYOND * far)), ylim = limits(low, math.min(top, BEYOND * high)) }
  end
  local values = {}
  for k, v in ipairs(flags(t.thresholds)) do values[k] = v * factor end
  local places = {}
  for k = 1, n do places[k] = k end
  local at, names = some(t.channels, 40)
  fig:axes(1, curves and 2 or 1):scatter(places, values, {
    size = 5, title = 'Thresholds', xticks = at, xticklabels = names, ylabel = 'threshold, peak to peak', yunit = unit,
    ylim = { 0, 1.05 * math.max(1e-30, unpack(values)) },
  })
  return fig
end

--- Mean loss over kappa and rho; the chosen cell is framed, forbidden cells are hatched.
---@param t table of one type, with loss
---@return table figure
function M.loss_figure(t)
  local unit, factor = shown(t.type)
  local loss = mc.tensor(t.loss):to 'f64' * factor
  loss = mc.where(mc.isfinite(loss), loss, 0 / 0)
  local L, R = #t.consensus, #t.n_interpolate
  local outline, xs, ys, rho, kappa = {}, {}, {}, {}, {}
  for j = 1, R do xs[j], rho[j] = j, ('%d'):format(t.n_interpolate[j]) end
  for i = 1, L do
    ys[i], kappa[i], outline[i] = i, ('%.4g'):format(t.consensus[i]), {}
    for j = 1, R do
      outline[i][j] = t.consensus[i] == t.chosen.consensus and t.n_interpolate[j] == t.chosen.n_interpolate
    end
  end
  local fig = plot.figure { width = math.max(340, math.min(900, 220 + 60 * R)), height = math.max(280, 120 + 26 * L) }
  fig:axes():heatmap(xs, ys, loss:totable(), {
    outline = outline, label = 'mean loss (' .. unit .. ')', xlabel = 'rho, channels repaired at most',
    ylabel = 'kappa, share of bad channels to drop', xticks = xs,
    xticklabels = rho, yticks = ys, yticklabels = kappa, cmap = 'viridis_r',
  })
  return fig
end

--- How sure each vote is: channels down, epochs across, the share of other splits of the epochs that give the same
--- vote.
---@param t table of one type, with certainty
---@return table figure
function M.certainty_figure(t)
  local rows = (t.certainty * 100).mT:contiguous()
  local at, ticks = some(t.channels, 48)
  local fig = plot.figure { width = math.max(520, math.min(960, 240 + 8 * rows.shape[2])),
    height = math.max(260, math.min(860, 110 + 13 * #t.channels)) }
  fig:axes():heatmap(rows:totable(), { xlabel = 'epoch', yticks = at, yticklabels = ticks,
    ylim = { #t.channels + 0.5, 0.5 }, cmap = 'viridis', vmin = math.min(50, mc.min(rows):item()), vmax = 100,
    label = 'votes that agree, %' })
  return fig
end

--- Training and test scores over the limit: the curves of mc.autoreject.validation_curve, mean and extent over the
--- folds.
---@param v table of mc.autoreject.validation_curve
---@param type_? string channel type, for the unit (SI when left out)
---@return table figure
function M.validation_figure(v, type_)
  local unit, factor = shown(type_)
  local fig = plot.figure { width = 620, height = 400 }
  local axes, x = fig:axes(), (v.range * factor):totable()
  for _, side in ipairs { { 'train', 'blue' }, { 'test', 'orange' } } do
    local score = v[side[1]] * factor
    local seen, xs, mean, lo, hi = mc.mean(score, 2):totable(), {}, {}, {}, {}
    local least, most = mc.min(score, 2):totable(), mc.max(score, 2):totable()
    for i, m in ipairs(seen) do
      -- limits that keep no epoch have no score
      if m > -math.huge then xs[#xs + 1], mean[#mean + 1], lo[#lo + 1], hi[#hi + 1] = x[i], m, least[i], most[i] end
    end
    if #xs > 0 then
      axes:line(xs, lo, { color = side[2], width = 0.7, dash = 'dashed' })
      axes:line(xs, hi, { color = side[2], width = 0.7, dash = 'dashed' })
      axes:line(xs, mean, { color = side[2], width = 2, dash = 'solid', label = side[1] })
    end
  end
  axes:set { xlabel = 'limit, peak to peak', xunit = unit, ylabel = 'score, minus the loss', yunit = unit }
  return fig
end

--- Averages over epochs before and after: one line a channel and, bold, the spread over channels.
---@param before any f64 [C, T], SI units
---@param after any f64 [C, T]
---@param times any f64 [T] s
---@param type_ string channel type, for the unit
---@return table figure
function M.evoked_figure(before, after, times, type_)
  local unit, factor = shown(type_)
  local C, T = before.shape[1], before.shape[2]
  local step = math.max(1, math.ceil(2 * C * T / POINTS))
  local x = times:totable()
  local lo = math.min(mc.min(before):item(), mc.min(after):item()) * factor
  local hi = math.max(mc.max(before):item(), mc.max(after):item()) * factor
  local room = math.max(1e-30, 0.05 * (hi - lo))
  local fig = plot.figure { width = 960, height = 340, rows = 1, cols = 2 }
  for k, data in ipairs { before, after } do
    local axes = fig:axes(1, k)
    local rows = (data * factor):totable()
    for c = 1, C do light(axes, x, rows[c], step) end
    local spread = mc.std(data * factor, { 1 }):totable()
    axes:line(x, spread, { color = 'blue', width = 2, dash = 'solid', label = 'spread over channels' })
    axes:set {
      title = k == 1 and 'before, all epochs' or 'after, kept epochs', xlabel = 'time', xunit = 's', ylabel = 'average',
      yunit = unit, ylim = { lo - room, hi + room }, legend = k == 1 and 'none' or 'best',
    }
  end
  return fig
end

local function placed(channels, list)
  local picks = {}
  for _, c in ipairs(list) do
    if channels[c.place].position then picks[#picks + 1] = c.place end
  end
  return picks
end

--- Map of the share of epochs in which each channel is bad, repaired or not; nil without positions.
---@param channels table[] of the recording
---@param counts table of M.counts
---@param type_ string channel type
---@param flagged? table name = true: channels that stand out
---@return table|nil figure
function M.scalp_figure(channels, counts, type_, flagged)
  local share, chosen = {}, {}
  for _, c in ipairs(counts.channels) do
    if channels[c.place].type == type_ then
      chosen[#chosen + 1] = c
      share[c.place] = c.bad -- repaired cells are good data by now
    end
  end
  local picks = placed(channels, chosen)
  if #picks < 3 then return nil end
  local values, marked, top = {}, {}, 0
  for k, p in ipairs(picks) do
    values[k] = 100 * share[p]
    top = math.max(top, values[k])
  end
  for k, p in ipairs(picks) do
    marked[k] = flagged and flagged[channels[p].name] or not flagged and share[p] > 0 and 100 * share[p] >= 0.75 * top
  end
  local fig = plot.figure { width = 480, height = 400 }
  mc.meeg.scalp.draw(fig:axes(), channels, values, { picks = picks, marked = marked, names = 'marked', clamp = true,
    cmap = 'magma_r', vmin = 0, vmax = math.max(top, 1), contour_levels = 0, label = 'bad in % of epochs' })
  return fig
end

-- ---------------------------------------------------------------- tables

--- Rows of thresholds, one a channel: type, channel, threshold in SI, unit, shares of epochs bad and repaired.
---@param types table[] as in the head of this file
---@param counts table of M.counts
---@return string[] header
---@return table[] rows
function M.threshold_rows(types, counts)
  local by_name, rows = {}, {}
  for _, c in ipairs(counts.channels) do by_name[c.name] = c end
  for _, t in ipairs(types) do
    local values = t.thresholds and flags(t.thresholds) or {}
    for k, name in ipairs(t.channels) do
      local c = by_name[name]
      rows[#rows + 1] = { t.type, name, values[k], mc.meeg.channels.UNITS[t.type], c and c.bad, c and c.repaired }
    end
  end
  return { 'type', 'channel', 'threshold', 'unit', 'share_bad', 'share_repaired' }, rows
end

--- The thresholds as CSV text.
function M.csv(types, counts)
  local header, rows = M.threshold_rows(types, counts)
  return text.csv(rows, { header = header, newline = 'lf' })
end

--- Lines of a summary: { type, channels, kappa, rho, thresholds from, median, to, unit }.
local function summary(types)
  local rows = {}
  for i, t in ipairs(types) do
    local unit, factor = shown(t.type)
    local v = t.thresholds and mc.tensor(flags(t.thresholds)) * factor
    rows[i] = { t.type, #(t.members or t.channels), t.chosen and t.chosen.consensus or '',
      t.chosen and t.chosen.n_interpolate or '', v and mc.min(v):item() or '',
      v and mc.median(v):item() or '', v and mc.max(v):item() or '', v and unit or '' }
  end
  return { 'type', 'channels', 'kappa', 'rho', 'lowest threshold', 'median', 'highest', 'unit' }, rows
end

--- What became of the epochs, in words.
local function fate(counts, marked)
  local words = marked and '%d of %d epochs good, %d bad and kept as they were' or '%d of %d epochs kept, %d dropped'
  return words:format(counts.epochs - counts.bad_epochs, counts.epochs, counts.bad_epochs)
end

--- The summary for a terminal.
---@param types table[]
---@param counts table
---@param marked? boolean whether bad epochs were kept
---@return string
function M.text(types, counts, marked)
  local header, rows = summary(types)
  return text.table(rows, { header = header, digits = 4 })
    .. ('\n%s; %d cells repaired, %d bad and left\n'):format(fate(counts, marked), counts.repaired, counts.bad)
end

local function percent(x) return 100 * x end

--- The page.
---@param info table { log, types, channels, evoked = list of { type, before, after, times } or nil, settings = rows,
---  device = name, warnings = list, marked (bad epochs were kept), subtitle, footer }
---@return string HTML
function M.page(info)
  local counts = M.counts(info.log)
  local header, rows = summary(info.types)
  local sections = {
    { heading = 'Summary', paragraphs = {
      ('%s. In all, %d cells (a channel in an epoch) %s repaired and %d are bad and stay as they were.')
      :format(fate(counts, info.marked), counts.repaired,
        info.marked and 'of all epochs are labelled' or 'were', counts.bad) },
      table = { header = header, rows = rows, digits = 4 } },
    { heading = 'Log', figure = M.log_figure(info.log), caption = 'Every channel in every epoch. Framed epochs are '
        .. (info.marked and 'bad' or 'dropped') .. '; channels that were not considered are left out.' },
  }
  for _, t in ipairs(info.types) do
    local name = #info.types > 1 and (' (' .. t.type .. ')') or ''
    if t.thresholds then
      sections[#sections + 1] = { heading = 'Thresholds' .. name, figure = M.threshold_figure(t),
        paragraphs = { 'A channel is bad in an epoch when its range there, largest minus smallest sample, exceeds the '
          .. 'threshold of the channel. The threshold is the one for which the average of what it keeps is nearest to '
          .. 'the median of held-out epochs.' } }
    end
    if t.loss then
      sections[#sections + 1] = { heading = 'Choice of kappa and rho' .. name, figure = M.loss_figure(t),
        caption = ('Chosen: kappa %.4g, rho %d. Hatched cells are not allowed (more channels repaired than an epoch '
          .. 'may have bad ones), or keep no epoch.'):format(t.chosen.consensus, t.chosen.n_interpolate) }
    end
    for _, e in ipairs(info.evoked or {}) do
      if e.type == t.type then
        sections[#sections + 1] =
          { heading = 'Average before and after' .. name, figure = M.evoked_figure(e.before, e.after, e.times, e.type) }
      end
    end
    if t.certainty then
      sections[#sections + 1] = { heading = 'Certainty of the votes' .. name, figure = M.certainty_figure(t),
        caption = 'How many of the votes from other seeds, each with one of its splits left out, agree with the vote '
          .. 'that was taken. Half: the cell lies at its threshold.' }
    end
    local map = info.channels and M.scalp_figure(info.channels, counts, t.type, info.flagged)
    if map then
      sections[#sections + 1] = { heading = 'Bad channels' .. name, figure = map,
        caption = 'Share of the epochs in which a channel is bad and was not repaired. A channel that was repaired ' ..
          'wherever it was bad counts as 0 here; the table of channels gives both shares.' }
    end
  end
  local list, _, plain = {}, M.threshold_rows(info.types, counts)
  for i, r in ipairs(plain) do
    local unit, factor = shown(r[1])
    list[i] = { r[2], r[1], r[3] and r[3] * factor, unit, r[5] and percent(r[5]), r[6] and percent(r[6]) }
  end
  sections[#sections + 1] = { heading = 'Channels', table = { header = { 'channel', 'type', 'threshold', 'unit',
    'bad, % of epochs', 'repaired, % of epochs' }, rows = list, digits = 4 } }
  local gone = {}
  for e, b in ipairs(flags(info.log.bad_epochs)) do if truthy(b) then gone[#gone + 1] = ('%d'):format(e) end end
  if #gone > 0 then
    sections[#sections + 1] = { heading = info.marked and 'Bad epochs' or 'Dropped epochs',
      paragraphs = { table.concat(gone, ', ') } }
  end
  if info.warnings and #info.warnings > 0 then
    sections[#sections + 1] = { heading = 'Read with care', paragraphs = info.warnings }
  end
  local settings = { unpack(info.settings or {}) }
  if info.device then settings[#settings + 1] = { 'device', info.device } end
  if settings[1] then
    sections[#sections + 1] = { heading = 'Settings', table = { header = { 'name', 'value' }, rows = settings } }
  end
  return mc.report.html { title = 'autoreject', subtitle = info.subtitle, sections = sections,
    footer = info.footer or 'mascon ' .. mc.version }
end

return M
