-- polar.lua - draws a polar histogram with its mean vector.
--
-- Holds: rings, spokes, sectors, arrow and caption of a polar panel. The radius of a sector is proportional to its
-- height; the arrow is the mean vector, whose length R = 1 would reach the outer ring ("Statistical analysis of
-- circular data", 1993).

local scale = require 'mascon.plot.scale'
local svg = require 'mascon.plot.svg'

local M = {}

local num, fmt = svg.num, string.format
local cos, sin, pi = math.cos, math.sin, math.pi

local function sector(cx, cy, radius, a, b, full)
  if full then
    return fmt('M%s %sA%s %s 0 1 0 %s %sA%s %s 0 1 0 %s %sZ', num(cx + radius), num(cy), num(radius), num(radius),
      num(cx - radius), num(cy), num(radius), num(radius), num(cx + radius), num(cy))
  end
  return fmt('M%s %sL%s %sA%s %s 0 %d 0 %s %sZ', num(cx), num(cy), num(cx + radius * cos(a)), num(cy - radius * sin(a)),
    num(radius), num(radius), b - a > pi and 1 or 0, num(cx + radius * cos(b)), num(cy - radius * sin(b)))
end

local function grid(out, cx, cy, radius, rings, top)
  local d = {}
  for k = 0, 7 do
    local a = k * pi / 4
    d[#d + 1] = fmt('M%s %sL%s %s', num(cx), num(cy), num(cx + radius * cos(a)), num(cy - radius * sin(a)))
  end
  out:path(table.concat(d), { 'class', 'grid', 'stroke', '#e2e2e2', 'stroke-width', 0.8, 'fill', 'none' })
  for _, v in ipairs(rings) do
    out:element('circle', {
      'class', 'grid', 'cx', cx, 'cy', cy, 'r', radius * v / top, 'fill', 'none', 'stroke', '#e2e2e2',
      'stroke-width', 0.8,
    })
  end
end

local function outer_ring(out, cx, cy, radius)
  out:element('circle', {
    'class', 'ax', 'cx', cx, 'cy', cy, 'r', radius, 'fill', 'none', 'stroke', '#444444', 'stroke-width', 0.8,
  })
end

local function arrow(out, cx, cy, length, angle)
  local x, y = cx + length * cos(angle), cy - length * sin(angle)
  out:line(cx, cy, x, y, { 'class', 'ax', 'stroke', '#111111', 'stroke-width', 2, 'stroke-linecap', 'round' })
  if length < 6 then return end
  local function at(da, back)
    local a = angle + da
    return num(x - back * cos(a)) .. ' ' .. num(y + back * sin(a))
  end
  out:path(fmt('M%s %sL%sL%sZ', num(x), num(y), at(0.42, 9), at(-0.42, 9)), { 'class', 'fg', 'fill', '#111111' })
end

--- Draws the panel into its frame.
---@param out table svg writer
---@param view table frame, panel, marks
function M.draw(out, view)
  local f = view.frame
  local cx, cy, radius = f.x + f.w / 2, f.y + f.h / 2, math.min(f.w, f.h) / 2
  local highest = 0
  for _, m in ipairs(view.marks) do
    if m.kind == 'polar' then
      for _, h in ipairs(m.heights) do highest = math.max(highest, h) end
    end
  end
  local top = highest > 0 and highest or 1
  local factor, power = scale.nice_step(0, top, 8)
  local step = factor * 10 ^ power
  top = math.ceil(top / step - 1e-9) * step -- the outer ring is a round number
  local ticks, exponent = scale.linear_ticks(0, top, 3)
  local labels, note = scale.linear_labels(ticks, exponent)
  grid(out, cx, cy, radius, ticks, top)
  local caption
  for _, m in ipairs(view.marks) do
    if m.kind == 'polar' then
      local n, d = #m.heights, {}
      for i, h in ipairs(m.heights) do
        if h > 0 then
          d[#d + 1] = sector(cx, cy, radius * h / top, (i - 1) * 2 * pi / n, i * 2 * pi / n, n == 1)
        end
      end
      out:path(table.concat(d), {
        'class', 'cell', 'fill', m.drawn, 'fill-opacity', 0.75, 'stroke', '#ffffff', 'stroke-width', 0.8,
        'stroke-linejoin', 'round',
      })
      if m.mean then
        arrow(out, cx, cy, radius * m.length, m.angle)
        -- Rounded first, so that a direction just below a full turn reads 0 and not 360.
        local degrees = math.floor(math.deg(m.angle) + 0.5) % 360
        caption = fmt('R = %.2f at %d°', m.length, degrees)
        if type(m.n) == 'number' then caption = caption .. fmt(', n = %d', m.n) end
      end
    end
  end
  outer_ring(out, cx, cy, radius)
  for k = 0, 7 do
    local a = k * pi / 4
    local anchor = math.abs(cos(a)) < 0.1 and 'middle' or cos(a) > 0 and 'start' or 'end'
    out:text(cx + (radius + 6) * cos(a), cy - (radius + 6) * sin(a) + 3.5 - (sin(a) > 0.9 and 3 or 0)
      + (sin(a) < -0.9 and 4 or 0), fmt('%d°', k * 45), { anchor = anchor })
  end
  -- Values of the rings stand on a ray between two spokes, on a light ground.
  local a = pi / 8
  for i, v in ipairs(ticks) do
    if v / top > 0.25 and v < top * 0.999 or v == ticks[#ticks] then
      local s = labels[i]
      local x, y = cx + radius * v / top * cos(a), cy - radius * v / top * sin(a)
      local w = #s:gsub('[\128-\191]', '') * 5.6 + 4
      out:rect(x - w / 2, y - 6, w, 11, { 'class', 'bg', 'fill', '#ffffff', 'fill-opacity', 0.8 })
      out:text(x, y + 3, s, { size = 8.5, anchor = 'middle' })
    end
  end
  if note then caption = (caption and caption .. ', ' or '') .. 'rings ' .. note end
  if caption then out:text(cx, cy + radius + 34, caption, { anchor = 'middle' }) end
end

return M
