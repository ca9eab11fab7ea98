-- ascii.lua - a figure as text for a terminal.
--
-- Holds: braille canvases for lines and points, shaded or coloured cells for heat maps, sideways bars for bars,
-- histograms and polar marks, one panel below the other. Reads the same record as the SVG renderer.
--
-- A braille character is a raster of 2 x 4 dots (Unicode U+2800 plus a bit for each dot), so a canvas of w x h
-- characters has 2w x 4h points.

local check = require 'mascon.core.check'
local bit = require 'bit'
local colormap = require 'mascon.plot.colormap'
local font = require 'mascon.plot.font'
local heatmap = require 'mascon.plot.heatmap'
local layout = require 'mascon.plot.layout'
local scale = require 'mascon.plot.scale'
local text = require 'mascon.base.text'

local M = {}

local floor, max, min, abs, fmt = math.floor, math.max, math.min, math.abs, string.format

local OPTS = {
  width = { 72, 'integer >= 1' },
  height = { 18, 'integer >= 1' },
  color = { false, 'boolean' },
}

---------------------------------------------------------------------------------------------------------------
-- Colour

-- Nearest of the 216 colours of the xterm cube.
local function cube(hex)
  local r, g, b = colormap.components(hex)
  return 16 + 36 * floor(r * 5 + 0.5) + 6 * floor(g * 5 + 0.5) + floor(b * 5 + 0.5)
end

local function paint(s, hex, o)
  if not o.color or not hex then return s end
  return fmt('\27[38;5;%dm%s\27[0m', cube(hex), s)
end

local function clean(s)
  return text.plain(font.plain(s))
end

---------------------------------------------------------------------------------------------------------------
-- Braille canvas

local DOTS = { { 0x01, 0x08 }, { 0x02, 0x10 }, { 0x04, 0x20 }, { 0x40, 0x80 } }

local function canvas(w, h)
  local self = { w = w, h = h, bits = {}, hue = {} }
  function self.dot(x, y, hex) -- 0-based, from the top left
    x, y = floor(x + 0.5), floor(y + 0.5)
    if x < 0 or y < 0 or x >= 2 * w or y >= 4 * h then return end
    local k = floor(y / 4) * w + floor(x / 2)
    self.bits[k] = bit.bor(self.bits[k] or 0, DOTS[y % 4 + 1][x % 2 + 1])
    self.hue[k] = hex
  end
  function self.line(x0, y0, x1, y1, hex)
    local n = max(1, math.ceil(max(abs(x1 - x0), abs(y1 - y0))))
    if n > 40 * (w + h) then return end -- far outside
    for i = 0, n do self.dot(x0 + (x1 - x0) * i / n, y0 + (y1 - y0) * i / n, hex) end
  end
  function self.row(i, o)
    local out = {}
    for j = 0, w - 1 do
      local b = self.bits[i * w + j]
      if b then
        local c = string.char(0xe2, 0xa0 + floor(b / 64), 0x80 + b % 64)
        out[#out + 1] = paint(c, self.hue[i * w + j], o)
      else
        out[#out + 1] = ' '
      end
    end
    return table.concat(out)
  end
  return self
end

---------------------------------------------------------------------------------------------------------------
-- Frames

local function label_of(panel, a)
  local label, unit = panel[a .. 'label'], panel[a .. 'unit']
  if label and unit then return label .. ' (' .. unit .. ')' end
  return label or unit
end

-- Tick labels along one side as { place, text }, place in 0 .. size - 1.
local function ticks(kind, lo, hi, size, count)
  local a, b = min(lo, hi), max(lo, hi)
  local major, labels, note
  if kind == 'log' then
    major = scale.log_ticks(a, b, count)
    labels = scale.log_labels(major)
  else
    local exponent
    major, exponent = scale.linear_ticks(a, b, count)
    labels, note = scale.linear_labels(major, exponent)
  end
  local map = scale.map(kind, lo, hi, 0, size - 1)
  local out = {}
  for i, v in ipairs(major) do out[i] = { floor(map(v) + 0.5), clean(labels[i]) } end
  return out, note and clean(note)
end

-- Puts body rows into a frame with ticks at the left and below.
local function framed(lines, panel, range, rows, w)
  local h = #rows
  local yt, ynote = ticks(range.ykind, range.y1, range.y0, h, max(2, floor(h / 4)))
  local xt, xnote = ticks(range.xkind, range.x0, range.x1, w, max(2, floor(w / 12)))
  local at, margin = {}, 0
  for _, t in ipairs(yt) do
    at[t[1]] = t[2]
    margin = max(margin, text.width(t[2]))
  end
  local ylabel = label_of(panel, 'y')
  if ylabel or ynote then
    lines[#lines + 1] = clean((ylabel or '') .. (ynote and (ylabel and ', ' or '') .. ynote or ''))
  end
  for i, row in ipairs(rows) do
    local s = at[i - 1]
    lines[#lines + 1] = text.pad(s or '', margin, 'right') .. (s and ' ┤' or ' │') .. row
  end
  local axis, below = {}, {}
  for j = 1, w do axis[j] = '─' end
  local used = -1
  for _, t in ipairs(xt) do
    axis[t[1] + 1] = '┬'
    local start = max(0, t[1] - floor(text.width(t[2]) / 2))
    if start > used then
      below[#below + 1] = (' '):rep(start - max(used, 0)) .. t[2]
      used = start + text.width(t[2])
    end
  end
  lines[#lines + 1] = (' '):rep(margin) .. ' └' .. table.concat(axis)
  lines[#lines + 1] = (' '):rep(margin + 2) .. table.concat(below)
  local xlabel = label_of(panel, 'x')
  if xlabel or xnote then
    local s = clean((xlabel or '') .. (xnote and (xlabel and ', ' or '') .. xnote or ''))
    lines[#lines + 1] = (' '):rep(margin + 2 + max(0, floor((w - text.width(s)) / 2))) .. s
  end
end

---------------------------------------------------------------------------------------------------------------
-- Panels

local SHADES = { '·', '░', '▒', '▓', '█' }

local function number(v)
  return text.significant(v, 4)
end

-- A heat map: each character shows the cell under its middle; missing cells are blank.
local function heat(lines, view, mark, o, w)
  local ctx_range, norm = view.range, heatmap.norm(mark)
  local ny, nx = #mark.z, #mark.z[1]
  local xs, ys = heatmap.edges(mark, ctx_range.xkind, ctx_range.ykind)
  local h = min(o.height, max(ny, 1) * 2)
  local unit = scale.map(norm.kind, norm.lo, norm.hi, 0, 1)
  local X = scale.map(ctx_range.xkind, ctx_range.x0, ctx_range.x1, 0, w)
  local Y = scale.map(ctx_range.ykind, ctx_range.y0, ctx_range.y1, h, 0)
  local function owners(edges, map, n, cells) -- the cell under the middle of each character
    local out = {}
    for c = 1, cells do
      local a, b = map(edges[c]), map(edges[c + 1])
      for k = 1, n do
        if (k - 0.5 - a) * (k - 0.5 - b) <= 0 then out[k] = c end
      end
    end
    return out
  end
  local column, line = owners(xs, X, w, nx), owners(ys, Y, h, ny)
  local colours = heatmap.colours(mark)
  local rows = {}
  for i = 1, h do
    local row = {}
    for j = 1, w do
      local v = line[i] and column[j] and mark.z[line[i]][column[j]]
      local hidden = mark.mask and v and mark.mask[line[i]][column[j]] == true
      local t = type(v) == 'number' and v - v == 0 and not hidden and not (norm.kind == 'log' and v <= 0) and unit(v)
      if not t then
        row[j] = ' '
      elseif o.color then
        local k = max(1, min(#colours, floor(t * #colours) + 1))
        row[j] = fmt('\27[48;5;%dm \27[0m', cube(colours[k]))
      else
        row[j] = SHADES[max(1, min(#SHADES, floor(t * #SHADES) + 1))]
      end
    end
    rows[i] = table.concat(row)
  end
  framed(lines, view.panel, ctx_range, rows, w)
  if norm.empty then
    lines[#lines + 1] = 'no finite value'
  elseif mark.classes then
    local names, n = {}, #mark.classes
    for k, c in ipairs(mark.classes) do
      local t = n > 1 and (k - 1) / (n - 1) or 0
      names[k] = (o.color and fmt('\27[48;5;%dm \27[0m', cube(colours[k]))
        or SHADES[min(#SHADES, floor(t * #SHADES) + 1)]) .. ' ' .. clean(c[1])
    end
    lines[#lines + 1] = table.concat(names, '   ')
  else
    local legend = {}
    if o.color then
      for k = 1, 16 do legend[k] = fmt('\27[48;5;%dm \27[0m', cube(colours[floor(k * #colours / 16)])) end
    else
      for k, s in ipairs(SHADES) do legend[k] = s:rep(2) end
    end
    lines[#lines + 1] = (mark.label and clean(mark.label) .. ': ' or '') .. number(norm.lo) .. ' '
      .. table.concat(legend) .. ' ' .. number(norm.hi)
  end
end

-- A map of the scalp as the square around it, a character twice as high as wide.
local function head(lines, view, mark, o, w)
  local e, n = mark.extent, #mark.z
  local side = {}
  for k = 1, n do side[k] = (2 * (k - 1) / (n - 1) - 1) * e end
  local square = setmetatable({ x = side, y = side }, { __index = mark })
  view.range = { xkind = 'linear', ykind = 'linear', x0 = -e, x1 = e, y0 = -e, y1 = e }
  heat(lines, view, square, o, min(w, 2 * o.height))
end

-- Sideways bars, one line each.
local function bars(lines, names, values, o)
  local margin, lo, hi, digits = 0, 0, 0, 0
  for i, v in ipairs(values) do
    margin = max(margin, text.width(names[i]))
    if type(v) == 'number' and v - v == 0 then
      lo, hi = min(lo, v), max(hi, v)
      digits = max(digits, #number(v))
    end
  end
  margin = min(margin, 24)
  local room = max(8, o.width - margin - digits - 4)
  local unit = room / (hi - lo > 0 and hi - lo or 1)
  local EIGHTHS = { '▏', '▎', '▍', '▌', '▋', '▊', '▉' }
  for i, v in ipairs(values) do
    local name = text.pad(text.truncate(names[i], margin), margin, 'right')
    if type(v) ~= 'number' or v - v ~= 0 then
      lines[#lines + 1] = name .. ' │ no value'
    else
      local left = floor(-lo * unit + 0.5)
      local bar
      if v >= 0 then
        local eighths = floor(v * unit * 8 + 0.5)
        bar = (' '):rep(left) .. ('█'):rep(floor(eighths / 8)) .. (EIGHTHS[eighths % 8] or '')
      else
        local n = floor(-v * unit + 0.5)
        bar = (' '):rep(left - n) .. ('█'):rep(n)
      end
      lines[#lines + 1] = name .. ' │' .. paint(bar, colormap.cycle[1], o) .. ' ' .. number(v)
    end
  end
end

local function polar_bars(lines, mark, o)
  local n, names, values = #mark.heights, {}, {}
  for i = 1, n do
    names[i] = fmt('%d° to %d°', floor((i - 1) * 360 / n + 0.5), floor(i * 360 / n + 0.5))
    values[i] = mark.heights[i]
  end
  bars(lines, names, values, o)
  if mark.mean then
    lines[#lines + 1] = fmt('R = %.2f at %d°', mark.length, floor(math.deg(mark.angle) + 0.5) % 360)
  end
end

local function curves(lines, view, o, w)
  local r, h = view.range, o.height
  local c = canvas(w, h)
  local X = scale.map(r.xkind, r.x0, r.x1, 0, 2 * w - 1)
  local Y = scale.map(r.ykind, r.y0, r.y1, 4 * h - 1, 0)
  local function good(v, kind) return type(v) == 'number' and v - v == 0 and (kind ~= 'log' or v > 0) end
  local function curve(xs, ys, hex, joined)
    local px, py
    for i = 1, #xs do
      if good(xs[i], r.xkind) and good(ys[i], r.ykind) then
        local x, y = X(xs[i]), Y(ys[i])
        if joined and px then c.line(px, py, x, y, hex) else c.dot(x, y, hex) end
        px, py = x, y
      else
        px = nil
      end
    end
  end
  for _, m in ipairs(view.marks) do
    if m.kind == 'line' or m.kind == 'scatter' then
      curve(m.x, m.y, m.drawn, m.kind == 'line')
    elseif m.kind == 'band' then
      curve(m.x, m.lo, m.drawn, true)
      curve(m.x, m.hi, m.drawn, true)
    elseif m.kind == 'hline' and good(m.at, r.ykind) then
      for x = 0, 2 * w - 1, 3 do c.dot(x, Y(m.at), m.drawn) end
    elseif m.kind == 'vline' and good(m.at, r.xkind) then
      for y = 0, 4 * h - 1, 3 do c.dot(X(m.at), y, m.drawn) end
    elseif m.kind == 'hist' then
      for b = 1, #m.heights do
        if good(m.heights[b], r.ykind) then
          local x0, x1, y = X(m.edges[b]), X(m.edges[b + 1]), Y(m.heights[b])
          for x = floor(x0 + 0.5), floor(x1 + 0.5) - 1 do c.line(x, y, x, 4 * h - 1, m.drawn) end
        end
      end
    end
  end
  local rows = {}
  for i = 1, h do rows[i] = c.row(i - 1, o) end
  framed(lines, view.panel, r, rows, w)
  local names = {}
  for _, m in ipairs(view.marks) do
    if m.label then names[#names + 1] = paint('━━', m.drawn, o) .. ' ' .. clean(m.label) end
  end
  if #names > 0 then lines[#lines + 1] = table.concat(names, '   ') end
end

local function bar_panel(lines, view, o)
  for _, m in ipairs(view.marks) do
    if m.kind == 'bar' then
      local names, labels = {}, view.panel.xticklabels
      for i = 1, #m.heights do names[i] = labels and labels[i] and clean(labels[i]) or tostring(i) end
      if m.label then lines[#lines + 1] = clean(m.label) end
      bars(lines, names, m.heights, o)
    end
  end
end

local function has(view, kind)
  for _, m in ipairs(view.marks) do
    if m.kind == kind then return m end
  end
end

--- A figure as text, panels one below the other.
---@param fig table
---@param opts? table width 72 and height 18 (characters), color false (xterm's 256 colours)
---@return string
function M.text(fig, opts)
  local o = check.opts('plot.ascii', opts, OPTS)
  o.width, o.height = max(24, o.width), max(4, o.height)
  local lines = {}
  if fig.title then lines[#lines + 1] = clean(fig.title) end
  for _, view in ipairs(layout.views(fig)) do
    if #lines > 0 then lines[#lines + 1] = '' end
    if view.panel.title then lines[#lines + 1] = clean(view.panel.title) end
    local w = o.width - 12
    local map, polar, scalp = has(view, 'heatmap'), has(view, 'polar'), has(view, 'scalp')
    if scalp then
      head(lines, view, scalp, o, w)
    elseif polar then
      polar_bars(lines, polar, o)
    elseif map then
      heat(lines, view, map, o, w)
    elseif has(view, 'bar') then
      bar_panel(lines, view, o)
    else
      curves(lines, view, o, w)
    end
  end
  for i, line in ipairs(lines) do lines[i] = line:gsub(' +$', '') end
  return table.concat(lines, '\n') .. '\n'
end

return M
