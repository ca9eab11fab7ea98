-- scalp.lua - draws a map of the scalp: the head from above, nose up.
--
-- Holds: the disc of colours with its contours, the outline of head, nose and ears, the sensors and their names.
-- Colours fill a square image; a plate with a round hole covers what lies outside the disc, so the rim is sharp at
-- any size.

local heatmap = require 'mascon.plot.heatmap'
local svg = require 'mascon.plot.svg'

local M = {}

local num, fmt = svg.num, string.format

local function circle(cx, cy, r)
  return fmt('M%s %sA%s %s 0 1 0 %s %sA%s %s 0 1 0 %s %sZ', num(cx + r), num(cy), num(r), num(r), num(cx - r), num(cy),
    num(r), num(r), num(cx + r), num(cy))
end

-- Outline of an ear on the right in head radii, read off a drawing; the left one mirrors it.
local EAR = { { 0.985, 0.16 }, { 1.03, 0.205 }, { 1.075, 0.185 }, { 1.09, 0.11 }, { 1.075, 0.02 }, { 1.09, -0.06 },
  { 1.075, -0.155 }, { 1.03, -0.185 }, { 0.985, -0.16 } }
local NOSE = { { -0.12, 0.993 }, { -0.02, 1.125 }, { 0.02, 1.125 }, { 0.12, 0.993 } }

-- A smooth open line through points: quadratic pieces between the middles of the sides.
local function smooth(points, X, Y, sign)
  local function at(p) return num(X(sign * p[1])) .. ' ' .. num(Y(p[2])) end
  local d = { 'M' .. at(points[1]) }
  for k = 2, #points - 1 do
    local p, q = points[k], points[k + 1]
    local stop = k == #points - 1 and q or { (p[1] + q[1]) / 2, (p[2] + q[2]) / 2 }
    d[#d + 1] = 'Q' .. at(p) .. ' ' .. at(stop)
  end
  return table.concat(d)
end

local function draw_sensors(out, mark, X, Y, unit)
  local size = math.max(2.2, math.min(4, unit * 0.04))
  local plain, bold = {}, {}
  for i, p in ipairs(mark.sensors) do
    local list = mark.marked[i] and bold or plain
    list[#list + 1] = fmt('M%s %sh0', num(X(p[1])), num(Y(p[2])))
  end
  local stroke = { 'fill', 'none', 'stroke-linecap', 'round' }
  out:path(table.concat(plain), { 'stroke', '#111111', 'stroke-width', size, unpack(stroke) })
  local big = table.concat(bold)
  out:path(big, { 'stroke', '#ffffff', 'stroke-width', size + 5, unpack(stroke) })
  out:path(big, { 'stroke', '#c62828', 'stroke-width', size + 2.5, unpack(stroke) })
end

local function draw_names(out, mark, X, Y)
  for i, p in ipairs(mark.sensors) do
    local name = mark.names[i]
    if name ~= '' then
      local x, y = X(p[1]), Y(p[2]) - 6
      out:text(x, y, name, { size = 8.5, anchor = 'middle', fill = '#111111', halo = '#ffffff' })
    end
  end
end

--- Draws the panel into its frame.
---@param out table svg writer
---@param view table frame, marks, norm
function M.draw(out, view)
  local f = view.frame
  local mark = view.marks[#view.marks]
  local norm = view.norm or heatmap.norm(mark)
  local colours = heatmap.colours(mark)
  local reach = math.max(mark.radius, 1.14) -- nose and ears stand out of the head
  local unit = math.min(f.w, f.h) / 2 / reach
  local cx, cy = f.x + f.w / 2, f.y + f.h / 2
  local function X(x) return cx + unit * x end
  local function Y(y) return cy - unit * y end

  local e = mark.extent
  local x0, y0, size = X(-e), Y(e), 2 * e * unit
  local n = #mark.z
  local far = unit * mark.radius + 2
  if not norm.empty then
    -- the grid has a value at each corner of the square; pixels are half a step larger
    local step = size / (n - 1)
    far = far + step / 2
    heatmap.draw_smooth(out, mark.z, norm, colours, x0 - step / 2, y0 - step / 2, size + step, size + step)
    local xs, ys = {}, {}
    for k = 1, n do xs[k], ys[k] = x0 + (k - 1) * step, y0 + size - (k - 1) * step end
    heatmap.contours(out, xs, ys, mark.z, mark.contour_levels, norm, colours)
  end
  out:path(fmt('M%s %sH%sV%sH%sZ', num(cx - far), num(cy - far), num(cx + far), num(cy + far), num(cx - far))
    .. circle(cx, cy, unit * mark.radius), { 'class', 'bg', 'fill', '#ffffff', 'fill-rule', 'evenodd' })

  local line = { 'class', 'ax', 'fill', 'none', 'stroke', '#444444', 'stroke-width', 1.6, 'stroke-linejoin', 'round',
    'stroke-linecap', 'round' }
  out:path(circle(cx, cy, unit) .. smooth(EAR, X, Y, 1) .. smooth(EAR, X, Y, -1) .. smooth(NOSE, X, Y, 1), line)
  draw_sensors(out, mark, X, Y, unit)
  if mark.names then draw_names(out, mark, X, Y) end
end

return M
