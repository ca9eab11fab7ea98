-- render.lua - a figure as SVG text.
--
-- Holds: the order of drawing, frames, grid, ticks, titles, colour bars and legends. The text is a function of the
-- figure alone: no clock, no random ids, one number format.

local font = require 'mascon.plot.font'
local heatmap = require 'mascon.plot.heatmap'
local layout = require 'mascon.plot.layout'
local polar = require 'mascon.plot.polar'
local scalp = require 'mascon.plot.scalp'
local series = require 'mascon.plot.series'
local svg = require 'mascon.plot.svg'

local M = {}

local num, fmt = svg.num, string.format
local S = layout.S
local AX, GRID = '#444444', '#e6e6e6'

local function has_heatmap(view)
  for _, m in ipairs(view.marks) do
    if m.kind == 'heatmap' then return true end
  end
  return false
end

local function draw_title(out, view)
  local f, above = view.frame, view.above
  local n = #view.title
  for i, line in ipairs(view.title) do
    out:text(f.x, f.y - above - (n - i) * S.title * S.line, line, { size = S.title, bold = true })
  end
end

local function draw_grid(out, view)
  local f, d = view.frame, {}
  for _, v in ipairs(view.yt.major) do
    d[#d + 1] = fmt('M%s %sH%s', num(f.x), num(view.yt.map(v)), num(f.x + f.w))
  end
  if view.panel.grid then -- asked for: both ways
    for _, v in ipairs(view.xt.major) do
      d[#d + 1] = fmt('M%s %sV%s', num(view.xt.map(v)), num(f.y), num(f.y + f.h))
    end
  end
  out:path(table.concat(d), { 'class', 'grid', 'fill', 'none', 'stroke', GRID, 'stroke-width', 0.8 })
end

local function draw_frame(out, view, whole)
  local f = view.frame
  local x1, y1 = f.x + f.w, f.y + f.h
  local d = { whole and fmt('M%s %sH%sV%sH%sZ', num(f.x), num(f.y), num(x1), num(y1), num(f.x))
    or fmt('M%s %sV%sH%s', num(f.x), num(f.y), num(y1), num(x1)) }
  local function down(v, length) d[#d + 1] = fmt('M%s %sv%s', num(view.xt.map(v)), num(y1), num(length)) end
  local function left(v, length) d[#d + 1] = fmt('M%s %sh-%s', num(f.x), num(view.yt.map(v)), num(length)) end
  for _, v in ipairs(view.xt.major) do down(v, S.tick_length) end
  for _, v in ipairs(view.xt.minor) do down(v, 2.5) end
  for _, v in ipairs(view.yt.major) do left(v, S.tick_length) end
  for _, v in ipairs(view.yt.minor) do left(v, 2.5) end
  out:path(table.concat(d), { 'class', 'ax', 'fill', 'none', 'stroke', AX, 'stroke-width', 0.8 })
end

-- Where columns go both ways from zero, zero is drawn.
local function draw_zero(out, view)
  local r, f = view.range, view.frame
  if r.ykind == 'log' or math.min(r.y0, r.y1) >= 0 or math.max(r.y0, r.y1) <= 0 then return end
  for _, m in ipairs(view.marks) do
    if m.kind == 'bar' or m.kind == 'hist' then
      out:line(f.x, view.yt.map(0), f.x + f.w, view.yt.map(0), { 'class', 'ax', 'stroke', AX, 'stroke-width', 0.8 })
      return
    end
  end
end

local function draw_tick_labels(out, view)
  local f = view.frame
  local base = f.y + f.h + S.tick_length + S.pad + S.tick * 0.8
  for i, v in ipairs(view.xt.major) do
    local x = view.xt.map(v)
    if view.xt.turned then
      out:text(x + 3, base - 2, view.xt.labels[i], { anchor = 'end', rotate = -45 })
    else
      out:text(x, base, view.xt.labels[i], { anchor = 'middle' })
    end
  end
  for i, v in ipairs(view.yt.major) do
    out:text(f.x - S.tick_length - S.pad, view.yt.map(v) + S.tick * 0.35, view.yt.labels[i], { anchor = 'end' })
  end
end

local function draw_axis_labels(out, view)
  local f = view.frame
  local y = f.y + f.h + S.tick_length + S.pad + view.tick_height + 6
  for i, line in ipairs(view.xlabel) do
    out:text(f.x + f.w / 2, y + (i - 1) * S.label * S.line + S.label * 0.9, line, { size = S.label, anchor = 'middle' })
  end
  if view.xt.note then
    local line = 0
    if #view.xlabel > 0 then
      local room = f.w / 2 - font.width(view.xlabel[1], S.label) / 2 - 8
      if font.width(view.xt.note, S.note) > room then line = #view.xlabel * S.label * S.line + 1 end
    end
    out:text(f.x + f.w, y + line + S.label * 0.9, view.xt.note, { size = S.note, anchor = 'end' })
  end
  if view.yt.note then out:text(f.x, f.y - 5, view.yt.note, { size = S.note }) end
  local n = #view.ylabel
  local x = f.x - S.tick_length - S.pad - view.yt.width - 8
  for i, line in ipairs(view.ylabel) do
    out:text(x - (n - i) * S.label * S.line - 2, f.y + f.h / 2, line,
      { size = S.label, anchor = 'middle', rotate = -90 })
  end
end

local function draw_colorbar(out, view)
  local f, norm, t = view.frame, view.norm, view.bar_ticks
  local x = f.x + f.w + S.bar_gap
  if norm.empty then return end -- nothing has a colour
  heatmap.draw_bar(out, view.bar_of, norm, x, f.y, S.bar_width, f.h)
  local right, d = x + S.bar_width, {}
  for _, v in ipairs(t.major) do d[#d + 1] = fmt('M%s %sh%s', num(right), num(t.map(v)), num(S.tick_length)) end
  for _, v in ipairs(t.minor) do d[#d + 1] = fmt('M%s %sh2.5', num(right), num(t.map(v))) end
  out:path(table.concat(d), { 'class', 'ax', 'fill', 'none', 'stroke', AX, 'stroke-width', 0.8 })
  for i, v in ipairs(t.major) do
    out:text(right + S.tick_length + S.pad, t.map(v) + S.tick * 0.35, t.labels[i])
  end
  if t.note then out:text(x, f.y - 5 - (norm.above and 8 or 0), t.note, { size = S.note }) end
  local lx = right + S.tick_length + S.pad + t.width + 6
  for i, line in ipairs(view.bar_label) do
    out:text(lx + (i - 1) * S.label * S.line + S.label * 0.9, f.y + f.h / 2, line,
      { size = S.label, anchor = 'middle', rotate = -90 })
  end
end

local function draw_legend(out, view)
  local l = view.legend
  local x, y = layout.legend_corner(view)
  if l.place ~= 'right' then
    out:rect(x, y, l.w, l.h, { 'class', 'bg', 'fill', '#ffffff', 'fill-opacity', 0.85, 'rx', 3 })
  end
  for i, m in ipairs(l.entries) do
    local row = y + 4 + (i - 0.5) * 15
    series.key(out, m, x + 6, row)
    out:text(x + 32, row + S.tick * 0.35, m.label)
  end
end

local ROUND = { polar = polar.draw, scalp = scalp.draw }

local function draw_panel(out, view)
  if view.panel.round then
    ROUND[view.panel.round](out, view)
    if view.bar_of then draw_colorbar(out, view) end
    draw_title(out, view)
    return
  end
  local ctx, f = layout.context(view), view.frame
  local whole = has_heatmap(view)
  if not whole and view.panel.grid ~= false or view.panel.grid then draw_grid(out, view) end
  out:clip(f.x, f.y, f.w, f.h)
  for _, m in ipairs(view.marks) do
    if m.kind == 'heatmap' then heatmap.draw(out, m, ctx) end
  end
  for _, m in ipairs(view.marks) do
    if series.draw[m.kind] then series.draw[m.kind](out, m, ctx) end
  end
  out:close('svg')
  draw_zero(out, view)
  draw_frame(out, view, whole)
  draw_tick_labels(out, view)
  draw_axis_labels(out, view)
  if view.bar_of then draw_colorbar(out, view) end
  if view.legend then draw_legend(out, view) end
  draw_title(out, view)
end

--- A figure as SVG text, or nil and a message when its size leaves no room.
---@param fig table width, height, rows, cols, panels, title
---@return string|nil
---@return string|nil message
function M.svg(fig)
  local views, head = layout.figure(fig)
  if not views then return nil, head end
  local out = svg.new()
  local w, h = fig.width, fig.height
  out:open('svg', {
    'xmlns', 'http://www.w3.org/2000/svg', 'width', w, 'height', h, 'viewBox', fmt('0 0 %s %s', num(w), num(h)),
    'font-family', font.FAMILY, 'font-size', 10, 'role', 'img',
  })
  local name = fig.title or fig.panels[1].title
  if name then out:raw('<title>' .. svg.escape(font.plain(name)) .. '</title>\n') end
  out:rect(0, 0, w, h, { 'class', 'bg', 'fill', '#ffffff' })
  for i, line in ipairs(head) do
    out:text(S.outer, S.outer + i * 14 * S.line - 4, line, { size = 14, bold = true })
  end
  for _, view in ipairs(views) do draw_panel(out, view) end
  out:close('svg')
  return out:tostring()
end

return M
