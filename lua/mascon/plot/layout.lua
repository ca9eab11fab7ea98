-- layout.lua - where everything stands.
--
-- Holds: axis limits, ticks and their labels, margins, frames, the place of legend and colour bar. Draws nothing.
--
-- Ticks depend on the room and the room on the width of tick labels, so the layout is computed three times, each time
-- with the frames of the round before; widths come from plot/font.lua and are upper bounds. Panels of a row share the
-- margins above and below, panels of a column those at the sides, so that frames line up and are equally large.

local colormap = require 'mascon.plot.colormap'
local data = require 'mascon.plot.data'
local font = require 'mascon.plot.font'
local heatmap = require 'mascon.plot.heatmap'
local scale = require 'mascon.plot.scale'
local series = require 'mascon.plot.series'

local M = {}

local max, floor = math.max, math.floor

-- Sizes in px. Text sits on its base line; a line of size s takes about 1.3 s.
local S = {
  title = 12, label = 11, tick = 10, note = 9, tick_length = 4, pad = 4, line = 1.3, bar_gap = 14, bar_width = 12,
  outer = 10, gutter = 14,
}
M.S = S

---------------------------------------------------------------------------------------------------------------
-- What a panel says

local function axis_label(panel, a)
  local label, unit = panel[a .. 'label'], panel[a .. 'unit']
  if label and unit then return label .. ' (' .. unit .. ')' end
  return label or unit
end

-- Kind of scale and limits of one axis.
local function axis_range(panel, a, lo, hi, margin)
  local kind = panel[a .. 'scale'] or 'linear'
  local lim = panel[a .. 'lim']
  if lim then return kind, lim[1], lim[2] end
  lo, hi = scale.limits(kind, lo, hi, margin)
  return kind, lo, hi
end

local TOUCHES_ZERO = { hist = true, bar = true }

-- Limits of both axes of a panel.
local function ranges(panel)
  local e, tight, edge = {}, false, {}
  local xkind, ykind = panel.xscale or 'linear', panel.yscale or 'linear'
  local padded_x = false
  for _, m in ipairs(panel.marks) do
    if m.kind == 'heatmap' then
      local xs, ys = heatmap.edges(m, xkind, ykind)
      e[1], e[2] = data.range(xs, e[1], e[2])
      e[3], e[4] = data.range(ys, e[3], e[4])
      tight = true
    else
      series.extend(e, m, xkind, ykind)
      if m.kind == 'scatter' then padded_x = true end
      if TOUCHES_ZERO[m.kind] then edge.zero = true end
    end
  end
  local _, x0, x1 = axis_range(panel, 'x', e[1], e[2], (padded_x and not tight) and 0.03 or 0)
  local _, y0, y1 = axis_range(panel, 'y', e[3], e[4], tight and 0 or 0.05)
  if edge.zero and not panel.ylim and ykind == 'linear' then -- columns stand on the axis
    if e[3] == 0 then y0 = 0 end
    if e[4] == 0 then y1 = 0 end
  end
  return { xkind = xkind, ykind = ykind, x0 = x0, x1 = x1, y0 = y0, y1 = y1 }
end

---------------------------------------------------------------------------------------------------------------
-- Ticks

local function ticks_of(kind, lo, hi, count)
  if lo > hi then lo, hi = hi, lo end
  if kind == 'log' then
    local major, minor = scale.log_ticks(lo, hi, count)
    return major, minor, scale.log_labels(major)
  end
  local major, exponent = scale.linear_ticks(lo, hi, count)
  local labels, note = scale.linear_labels(major, exponent)
  return major, {}, labels, note
end

local function given_ticks(panel, a, lo, hi)
  local given = panel[a .. 'ticks']
  if not given then return nil end
  local texts = panel[a .. 'ticklabels']
  local major, labels = {}, {}
  if lo > hi then lo, hi = hi, lo end
  local slack = (hi - lo) * 1e-9
  for i, v in ipairs(given) do
    if v >= lo - slack and v <= hi + slack then
      major[#major + 1] = v
      labels[#labels + 1] = texts and texts[i] or ('%.10g'):format(v):gsub('^%-', '−')
    end
  end
  return major, labels
end

-- True when labels centred on their ticks keep at least 7 px between them.
local function fits(major, labels, map)
  local order = {}
  for i = 1, #major do order[i] = { map(major[i]), font.width(labels[i], S.tick) } end
  table.sort(order, function(p, q) return p[1] < q[1] end)
  for i = 2, #order do
    if order[i][1] - order[i - 1][1] < (order[i][2] + order[i - 1][2]) / 2 + 7 then return false end
  end
  return true
end

local function widest(labels)
  local w = 0
  for _, s in ipairs(labels) do w = max(w, font.width(s, S.tick)) end
  return w
end

-- An axis shows so many ticks at least where there is room, since two say little of a scale, and one nothing.
local LEAST = 3
-- px of an axis from which its numbers are turned for that
local TURNS = 100

-- The coarsest linear ticks that are LEAST or more, of up to so many intervals, and that pass a test of labels.
local function finer(kind, lo, hi, count, most, good)
  if kind == 'log' then return nil end
  for c = count, most do
    local major, minor, labels, note = ticks_of(kind, lo, hi, c)
    if #major >= LEAST and good(major, labels) then
      return { major = major, minor = minor, labels = labels, note = note }
    end
  end
end

-- True when ticks are so far apart that lines of text do not touch.
local function lines_apart(major, map)
  for i = 2, #major do
    if math.abs(map(major[i]) - map(major[i - 1])) < S.tick * S.line + 1 then return false end
  end
  return true
end

-- Ticks of the horizontal axis: as many as fit; labels that do not fit are turned, numbers where fewer than three would
-- be left.
local function x_ticks(panel, r, x, w)
  local map = scale.map(r.xkind, r.x0, r.x1, x, x + w)
  local major, labels = given_ticks(panel, 'x', r.x0, r.x1)
  if major then
    return { major = major, minor = {}, labels = labels, turned = not fits(major, labels, map), map = map }
  end
  local out
  for count = max(1, floor(w / 52)), 1, -1 do
    local minor, note
    major, minor, labels, note = ticks_of(r.xkind, r.x0, r.x1, count)
    if fits(major, labels, map) or count == 1 then
      if not fits(major, labels, map) then -- no room for two labels: keep the first
        major, labels = { major[1] }, { labels[1] }
      end
      out = { major = major, minor = minor, labels = labels, note = note }
      break
    end
  end
  if #out.major < LEAST then
    local function level(m, l) return fits(m, l, map) end
    local more = finer(r.xkind, r.x0, r.x1, 2, 8, level)
    if not more and w >= TURNS then
      more = finer(r.xkind, r.x0, r.x1, 2, 8, function(m) return lines_apart(m, map) end)
      if more then more.turned = true end
    end
    out = more or out
  end
  out.map = map
  return out
end

local function y_ticks(panel, r, y, h)
  local map = scale.map(r.ykind, r.y0, r.y1, y + h, y)
  local major, labels = given_ticks(panel, 'y', r.y0, r.y1)
  local minor, note = {}, nil
  if not major then
    local count = max(3, floor(h / 38))
    repeat
      major, minor, labels, note = ticks_of(r.ykind, r.y0, r.y1, count)
      count = count - 1
    until lines_apart(major, map) or count < 1
    local more = #major < LEAST and finer(r.ykind, r.y0, r.y1, 2, 8, function(m) return lines_apart(m, map) end)
    if more then major, minor, labels, note = more.major, more.minor, more.labels, more.note end
  end
  return { major = major, minor = minor, labels = labels, note = note, map = map, width = widest(labels) }
end

--- Ticks of a colour bar of height h whose top is at y.
local function bar_ticks(norm, y, h)
  local r = { ykind = norm.kind, y0 = norm.lo, y1 = norm.hi }
  return y_ticks({}, r, y, h)
end

---------------------------------------------------------------------------------------------------------------
-- Legend

local function legend_size(entries)
  local w = 0
  for _, m in ipairs(entries) do w = max(w, font.width(m.label, S.tick)) end
  return w + 20 + 6 + 14, #entries * 15 + 8
end

local CORNERS = { 'top right', 'top left', 'bottom right', 'bottom left' }

local function corner(place, f, w, h)
  local x = place:find('right') and f.x + f.w - w - 6 or f.x + 6
  local y = place:find('top') and f.y + 6 or f.y + f.h - h - 6
  return x, y
end

-- The corner with the fewest used spots under the legend; nil when every one would hide something.
local function best_corner(view, w, h)
  local f = view.frame
  if w > f.w * 0.7 or h > f.h * 0.6 then return nil end
  local ctx = M.context(view)
  local spots = {}
  for _, m in ipairs(view.marks) do
    if m.kind == 'heatmap' then return 'top right' end
    for _, v in ipairs(series.spots(m, ctx)) do spots[#spots + 1] = v end
  end
  for _, place in ipairs(CORNERS) do
    local x, y = corner(place, f, w, h)
    local free = true
    for k = 1, #spots, 2 do
      if spots[k] > x - 4 and spots[k] < x + w + 4 and spots[k + 1] > y - 4 and spots[k + 1] < y + h + 4 then
        free = false
        break
      end
    end
    if free then return place end
  end
  return nil
end

local function place_legend(view)
  local panel, entries, outside = view.panel, {}, false
  for _, m in ipairs(view.marks) do
    if m.classes then
      for _, c in ipairs(m.classes) do entries[#entries + 1] = { kind = 'bar', label = c[1], drawn = c[2] } end
      outside = true
    elseif m.label and m.kind ~= 'heatmap' and m.kind ~= 'scalp' then entries[#entries + 1] = m end
  end
  if #entries == 0 or panel.legend == 'none' then
    view.legend = nil
    return
  end
  local w, h = legend_size(entries)
  local place = panel.legend or 'best'
  if place == 'best' then
    if outside or view.legend and view.legend.place == 'right' then
      place = 'right' -- once outside it stays there, or the rounds would not settle
    else
      place = best_corner(view, w, h) or 'right'
    end
  end
  view.legend = { entries = entries, w = w, h = h, place = place }
end

---------------------------------------------------------------------------------------------------------------
-- One panel

--- Maps and frame as the drawing functions want them.
function M.context(view)
  local f, r = view.frame, view.range
  return {
    x = f.x, y = f.y, w = f.w, h = f.h, xkind = r.xkind, ykind = r.ykind,
    X = scale.map(r.xkind, r.x0, r.x1, f.x, f.x + f.w),
    Y = scale.map(r.ykind, r.y0, r.y1, f.y + f.h, f.y),
  }
end

local function title_lines(panel, width)
  if not panel.title then return {} end
  return font.wrap(panel.title, S.title, max(60, width), true)
end

local BARRED = { heatmap = true, scalp = true }

-- Room for a colour bar, if one belongs to the panel.
local function measure_bar(view, m)
  local f = view.frame
  for _, mark in ipairs(view.marks) do
    if BARRED[mark.kind] and mark.colorbar ~= false and not view.bar_of then view.bar_of = mark end
  end
  if not view.bar_of then return end
  view.norm = view.norm or heatmap.norm(view.bar_of)
  view.bar_ticks = bar_ticks(view.norm, f.y, f.h)
  view.bar_label = view.bar_of.label and font.wrap(view.bar_of.label, S.label, max(60, f.h)) or {}
  m.right = max(m.right, S.bar_gap + S.bar_width + S.tick_length + S.pad + view.bar_ticks.width
    + (#view.bar_label > 0 and 6 + #view.bar_label * S.label * S.line or 0))
  if view.bar_ticks.note then m.above = max(m.above, 6 + S.note * S.line + (view.norm.above and 10 or 2)) end
  if view.norm.above then m.above = max(m.above, 12) end
end

-- Margins that a panel needs around its frame.
local function measure(view)
  local panel, f = view.panel, view.frame
  place_legend(view)
  view.title = title_lines(panel, f.w)
  -- `above` is the room between frame and title, taken by notes, arrow heads and degree labels.
  local m = { above = #view.title > 0 and 6 or 4, bottom = 0, left = 0, right = 0 }
  m.title = #view.title * S.title * S.line
  if panel.round == 'polar' then
    m.above, m.bottom, m.left, m.right = m.above + 18, 40, 36, 36
    return m
  end
  if panel.round then
    measure_bar(view, m)
    return m
  end
  local r = view.range
  view.xt, view.yt = x_ticks(panel, r, f.x, f.w), y_ticks(panel, r, f.y, f.h)
  local xlabel, ylabel = axis_label(panel, 'x'), axis_label(panel, 'y')
  view.xlabel = xlabel and font.wrap(xlabel, S.label, max(60, f.w)) or {}
  view.ylabel = ylabel and font.wrap(ylabel, S.label, max(60, f.h)) or {}
  if view.yt.note then m.above = m.above + S.note * S.line + 2 end
  m.left = S.tick_length + S.pad + view.yt.width
  if #view.ylabel > 0 then m.left = m.left + 8 + #view.ylabel * S.label * S.line end
  local tick_height = view.xt.turned and widest(view.xt.labels) * 0.71 + S.tick or S.tick * 1.1
  m.bottom = S.tick_length + S.pad + tick_height
  view.tick_height = tick_height
  if #view.xlabel > 0 then m.bottom = m.bottom + 6 + #view.xlabel * S.label * S.line end
  if view.xt.note and #view.xlabel == 0 then m.bottom = m.bottom + S.note * S.line + 4 end
  if view.xt.note and #view.xlabel > 0 then -- the note stands at the right end of the label's line
    local room = f.w / 2 - font.width(view.xlabel[1], S.label) / 2 - 8
    if font.width(view.xt.note, S.note) > room then m.bottom = m.bottom + S.note * S.line + 2 end
  end
  local n = #view.xt.major
  if n > 0 then -- labels of the outermost ticks reach beyond the frame
    local rightmost, leftmost = 0, 0
    for i, v in ipairs(view.xt.major) do
      local half = font.width(view.xt.labels[i], S.tick) / 2
      local px = view.xt.map(v)
      if view.xt.turned then
        leftmost = max(leftmost, f.x - (px - half * 2 * 0.71))
      else
        rightmost = max(rightmost, px + half - (f.x + f.w))
        leftmost = max(leftmost, f.x - (px - half))
      end
    end
    m.right, m.left = max(m.right, rightmost + 2), max(m.left, leftmost + 2)
  end
  measure_bar(view, m)
  if view.legend and view.legend.place == 'right' then m.right = m.right + 10 + view.legend.w end
  return m
end

-- Shrinks a frame so that a unit is equally long on both axes.
local function equalise(view)
  local f, r = view.frame, view.range
  if view.panel.aspect ~= 'equal' or r.xkind == 'log' or r.ykind == 'log' then return end
  local ratio = math.abs((r.y1 - r.y0) / (r.x1 - r.x0))
  if f.w * ratio <= f.h then
    local h = f.w * ratio
    f.y, f.h = f.y + (f.h - h) / 2, h
  else
    local w = f.h / ratio
    f.x, f.w = f.x + (f.w - w) / 2, w
  end
end

---------------------------------------------------------------------------------------------------------------
-- The figure

-- A mark as it will be drawn: colour and place among its kind, on top of the record, which stays as it is.
local function drawn_marks(panel)
  local out, series_count, bars = {}, 0, 0
  for _, m in ipairs(panel.marks) do
    if m.kind == 'bar' then bars = bars + 1 end
  end
  local nth = 0
  for i, m in ipairs(panel.marks) do
    local extra = {}
    local counts = m.kind == 'line' or m.kind == 'scatter' or m.kind == 'hist' or m.kind == 'bar' or m.kind == 'polar'
    if counts then series_count = series_count + 1 end
    local place = m.kind == 'band' and series_count + 1 or max(1, series_count)
    extra.drawn = m.color or colormap.parse(place)
    if counts and not m.dash and m.kind == 'line' and series_count > #colormap.cycle then extra.dash = 'dashed' end
    if m.kind == 'bar' then
      nth = nth + 1
      extra.nth, extra.of = nth, bars
    end
    out[i] = setmetatable(extra, { __index = m })
  end
  return out
end

local function sum(list, n)
  local total = 0
  for i = 1, n do total = total + (list[i] or 0) end
  return total
end

--- The panels of a figure with their marks and axis limits, not yet placed, row by row.
---@param fig table
---@return table[] views panel, marks, range
function M.views(fig)
  local views = {}
  for k, panel in ipairs(fig.panels) do
    views[k] = { panel = panel, marks = drawn_marks(panel), range = not panel.round and ranges(panel) or nil }
  end
  table.sort(views, function(a, b)
    if a.panel.row ~= b.panel.row then return a.panel.row < b.panel.row end
    return a.panel.col < b.panel.col
  end)
  return views
end

--- Views of all panels of a figure, with frames.
---@param fig table
---@return table views one per panel: panel, marks, range, frame, ticks, legend, ...
---@return table head { lines, y } of the figure's own title
function M.figure(fig)
  local rows, cols, width, height = fig.rows or 1, fig.cols or 1, fig.width, fig.height
  local head = fig.title and font.wrap(fig.title, 14, width - 2 * S.outer, true) or {}
  local top = S.outer + (#head > 0 and #head * 14 * S.line + 6 or 0)
  local views = M.views(fig)
  for _, view in ipairs(views) do -- a first guess
    local cw, ch = (width - 2 * S.outer) / cols, (height - top - S.outer) / rows
    local x, y = (view.panel.col - 1) * cw + 50, top + (view.panel.row - 1) * ch + 20
    view.frame = { x = x, y = y, w = max(20, cw - 80), h = max(20, ch - 60) }
  end
  for _ = 1, 3 do
    local left, right, above, below, titles = {}, {}, {}, {}, {}
    for _, view in ipairs(views) do
      local m, c, r = measure(view), view.panel.col, view.panel.row
      left[c], right[c] = max(left[c] or 0, m.left), max(right[c] or 0, m.right)
      above[r], below[r] = max(above[r] or 0, m.above), max(below[r] or 0, m.bottom)
      titles[r] = max(titles[r] or 0, m.title)
    end
    for r, room in pairs(titles) do above[r] = above[r] + room end
    local fw = (width - 2 * S.outer - sum(left, cols) - sum(right, cols) - (cols - 1) * S.gutter) / cols
    local fh = (height - top - S.outer - sum(above, rows) - sum(below, rows) - (rows - 1) * S.gutter) / rows
    if fw < 20 or fh < 20 then
      return nil, ('%d x %d px leave no room for %d x %d panels with their labels; make width and height larger')
        :format(width, height, rows, cols)
    end
    for _, view in ipairs(views) do
      local c, r = view.panel.col, view.panel.row
      local x = S.outer + sum(left, c) + sum(right, c - 1) + (c - 1) * (fw + S.gutter)
      local y = top + sum(above, r) + sum(below, r - 1) + (r - 1) * (fh + S.gutter)
      view.frame = { x = x, y = y, w = fw, h = fh }
      view.above = above[r] - titles[r] -- the titles of a row stand on one line
      equalise(view)
    end
  end
  for _, view in ipairs(views) do -- ticks for the final frames
    measure(view)
  end
  return views, head
end

--- Upper left corner of a legend that stands inside or right of the frame.
function M.legend_corner(view)
  local f, l = view.frame, view.legend
  if l.place ~= 'right' then return corner(l.place, f, l.w, l.h) end
  local x = f.x + f.w + 10
  if view.bar_of then
    x = x + S.bar_gap + S.bar_width + S.tick_length + S.pad + view.bar_ticks.width
      + (#view.bar_label > 0 and 6 + #view.bar_label * S.label * S.line or 0)
  end
  return x, f.y
end

return M
