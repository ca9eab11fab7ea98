-- heatmap.lua - draws heat maps and their colour bars.
--
-- Holds: limits of the colour scale, cells as vector paths (one path per colour) or, when there are many, as one
-- embedded image, hatching of missing cells, contours, outlines, the colour bar. A heat map of classes has whole
-- numbers for values and a list of colours for a map.

local colormap = require 'mascon.plot.colormap'
local contour = require 'mascon.plot.contour'
local data = require 'mascon.plot.data'
local png = require 'mascon.plot.png'
local scale = require 'mascon.plot.scale'
local svg = require 'mascon.plot.svg'

local M = {}

local num, floor, fmt = svg.num, math.floor, string.format
local LEVELS = 255 -- colours of a map; place 255 of the image palette is "missing"
local VOID, HATCH = '#d9d9d9', '#b0b0b0'

M.CLASS_BOXES = 20000 -- classes are sharp cells up to so many boxes off the first class, about 500 kB of SVG
M.IMAGE_CELLS = 16384 -- above this the cells become an image: 128 x 128 vector cells are about 200 kB of SVG

-- Value of a cell, NaN when it is masked or not finite. JSON null stands for NaN in figures read from a file.
local function cell(mark, i, j)
  local v = mark.z[i][j]
  if type(v) ~= 'number' or v - v ~= 0 or (mark.mask and mark.mask[i][j] == true) then return 0 / 0 end
  return v
end

--- Limits of the colour scale, and whether values lie below or above them.
---@return table { lo, hi, kind, below, above, empty }
function M.norm(mark)
  if mark.classes then return { classes = true, kind = 'linear', lo = 1, hi = #mark.classes, empty = false } end
  local values = {}
  local log = mark.cscale == 'log'
  for i = 1, #mark.z do
    for j = 1, #mark.z[i] do
      local v = cell(mark, i, j)
      if v == v and (not log or v > 0) then values[#values + 1] = v end
    end
  end
  local dlo, dhi = data.range(values)
  local lo, hi = dlo, dhi
  if mark.clip and dlo then
    local sorted = data.sorted(values)
    lo, hi = data.quantile(sorted, mark.clip[1] / 100), data.quantile(sorted, mark.clip[2] / 100)
  end
  if mark.center and lo then
    local half = math.max(math.abs(lo - mark.center), math.abs(hi - mark.center))
    if mark.vmin then half = mark.center - mark.vmin end
    if mark.vmax then half = mark.vmax - mark.center end
    lo, hi = mark.center - half, mark.center + half
  end
  lo, hi = mark.vmin or lo, mark.vmax or hi
  local kind = log and 'log' or 'linear'
  if not lo or not hi or lo >= hi then lo, hi = scale.limits(kind, lo, hi and lo and math.max(lo, hi)) end
  return {
    lo = lo, hi = hi, kind = kind, empty = dlo == nil,
    below = dlo ~= nil and dlo < lo, above = dhi ~= nil and dhi > hi,
  }
end

-- Function from value to place in the map, 0 to LEVELS - 1; nil for NaN (and for what a log scale cannot show).
local function placer(norm)
  if norm.classes then
    return function(v) return v == v and v - 1 or nil end
  end
  local unit = scale.map(norm.kind, norm.lo, norm.hi, 0, LEVELS)
  local log = norm.kind == 'log'
  return function(v)
    if v ~= v or (log and v <= 0) then return nil end
    local k = floor(unit(v))
    return k < 0 and 0 or k > LEVELS - 1 and LEVELS - 1 or k
  end
end

--- The colours of a mark, from low to high.
function M.colours(mark)
  if not mark.classes then return assert(colormap.colours(mark.cmap or 'viridis', LEVELS)) end
  local out = {}
  for k, c in ipairs(mark.classes) do out[k] = c[2] end
  return out
end

--- Cell edges along both sides, in data units.
function M.edges(mark, xkind, ykind)
  local ny, nx = #mark.z, #mark.z[1]
  local xs = #mark.x == nx and scale.edges(mark.x, xkind) or mark.x
  local ys = #mark.y == ny and scale.edges(mark.y, ykind) or mark.y
  return xs, ys
end

local function centres(mark, name, n, kind)
  local v = mark[name]
  if #v == n then return v end
  local out = {}
  for i = 1, n do out[i] = kind == 'log' and math.sqrt(v[i] * v[i + 1]) or (v[i] + v[i + 1]) / 2 end
  return out
end

local function mapped(values, f)
  local out = {}
  for i, v in ipairs(values) do out[i] = f(v) end
  return out
end

local function box(x0, y0, x1, y1)
  return fmt('M%s %sH%sV%sH%sZ', num(x0), num(y0), num(x1), num(y1), num(x0))
end

-- Diagonal lines inside a rectangle, in phase with those of every other rectangle.
local function hatch(out, x0, y0, x1, y1)
  if x0 > x1 then x0, x1 = x1, x0 end
  if y0 > y1 then y0, y1 = y1, y0 end
  local pitch = 5
  for k = math.ceil((x0 + y0) / pitch), floor((x1 + y1) / pitch) do
    local c = k * pitch
    local xa, xb = math.max(x0, c - y1), math.min(x1, c - y0)
    if xb - xa > 0.05 then
      out[#out + 1] = fmt('M%s %sL%s %s', num(xa), num(c - xa), num(xb), num(c - xb))
    end
  end
end

-- Missing cells, as runs along each row, with equal runs of successive rows joined: { j1, j2, i1, i2 }.
local function missing_runs(places, ny, nx)
  local done, open = {}, {}
  for i = 1, ny + 1 do
    local now = {}
    local j = 1
    while i <= ny and j <= nx do
      if places[i][j] then
        j = j + 1
      else
        local first = j
        while j <= nx and not places[i][j] do j = j + 1 end
        local key = first * 65536 + j
        local run = open[key] or { first, j - 1, i, i }
        run[4] = i
        now[key] = run
        if not open[key] then done[#done + 1] = run end
      end
    end
    open = now
  end
  return done
end

local function draw_missing(out, places, px, py)
  local runs = missing_runs(places, #places, #px - 1)
  if #runs == 0 then return end
  local area, lines = {}, {}
  for _, r in ipairs(runs) do
    area[#area + 1] = box(px[r[1]], py[r[3]], px[r[2] + 1], py[r[4] + 1])
    hatch(lines, px[r[1]], py[r[3]], px[r[2] + 1], py[r[4] + 1])
  end
  out:path(table.concat(area), { 'class', 'void', 'fill', VOID, 'shape-rendering', 'crispEdges' })
  out:path(table.concat(lines), { 'class', 'hatch', 'stroke', HATCH, 'stroke-width', 0.8, 'fill', 'none' })
end

-- One path per colour, neighbours of one colour in a row joined. Edges are snapped to device pixels by the
-- renderer, so no seams of background shine through. Cells at the place `base` are drawn as one ground below the
-- others.
local function draw_cells(out, places, px, py, colours, base)
  local paths = {}
  if base then paths[base] = { box(px[1], py[1], px[#px], py[#py]) } end
  for i = 1, #places do
    local row, j, nx = places[i], 1, #px - 1
    while j <= nx do
      local k, first = row[j], j
      while j <= nx and row[j] == k do j = j + 1 end
      if k and k ~= base then
        paths[k] = paths[k] or {}
        table.insert(paths[k], box(px[first], py[i], px[j], py[i + 1]))
      end
    end
  end
  out:open('g', { 'shape-rendering', 'crispEdges' })
  for k = 0, #colours - 1 do
    if paths[k] then out:path(table.concat(paths[k]), { 'fill', colours[k + 1] }) end
  end
  out:close('g')
end

-- How many boxes the cells off the ground take.
local function boxes(places)
  local n = 0
  for i = 1, #places do
    local row = places[i]
    for j = 1, #row do
      if row[j] and row[j] ~= 0 and row[j] ~= row[j - 1] then n = n + 1 end
    end
  end
  return n
end

local function evenly_spaced(p)
  local step = (p[#p] - p[1]) / (#p - 1)
  for i = 2, #p do
    if math.abs(p[i] - p[1] - (i - 1) * step) > 0.02 * math.abs(step) then return false end
  end
  return true
end

-- For each of n image columns between p[1] and p[#p]: the first and last cell it covers.
local function cover(p, n)
  local out, cells = {}, #p - 1
  local lo, hi = math.min(p[1], p[#p]), math.max(p[1], p[#p])
  local rising = p[#p] > p[1]
  local function edge(k) return rising and p[k + 1] or p[cells - k + 1] end -- k-th edge from the left, 0-based
  local c = 0
  for i = 1, n do
    local a, b = lo + (hi - lo) * (i - 1) / n, lo + (hi - lo) * i / n
    while c < cells - 1 and edge(c + 1) <= a + 1e-9 do c = c + 1 end
    local d = c
    while d < cells - 1 and edge(d + 1) < b - 1e-9 do d = d + 1 end
    -- A column that touches several cells but is narrower than the first takes the cell of its middle.
    local middle = c
    while middle < d and edge(middle + 1) <= (a + b) / 2 do middle = middle + 1 end
    if edge(c + 1) - edge(c) > b - a then c, d = middle, middle end
    if rising then
      out[i] = { c + 1, d + 1 }
    else
      out[i] = { cells - d, cells - c }
    end
  end
  return out
end

-- Mean of the finite values in a block of cells; of classes the last, which is the one to be seen.
local function block_value(mark, r, c)
  if r[1] == r[2] and c[1] == c[2] then return cell(mark, r[1], c[1]) end
  local sum, n, last = 0, 0, 0
  for i = r[1], r[2] do
    for j = c[1], c[2] do
      local v = cell(mark, i, j)
      if v == v then sum, n, last = sum + v, n + 1, math.max(last, v) end
    end
  end
  if n == 0 then return 0 / 0 end
  return mark.classes and last or sum / n
end

-- An image over a rectangle of the page; rows hold places of the palette, from the top down.
local function put_image(out, x, y, w, h, rows, colours, smooth)
  local palette = {}
  for k = 1, LEVELS + 1 do
    local r, g, b = colormap.components(colours[k] or VOID)
    palette[k] = { floor(r * 255 + 0.5), floor(g * 255 + 0.5), floor(b * 255 + 0.5) }
  end
  out:element('image', {
    'x', x, 'y', y, 'width', w, 'height', h, 'preserveAspectRatio', 'none',
    'image-rendering', smooth and 'auto' or 'optimizeSpeed', 'style', not smooth and 'image-rendering:pixelated',
    'href', 'data:image/png;base64,' .. png.base64(png.indexed(rows, palette)),
  })
end

--- A grid of values (rows from the bottom up) as an image whose pixels blend into each other.
function M.draw_smooth(out, z, norm, colours, x, y, w, h)
  local place, rows = placer(norm), {}
  for i = 1, #z do
    local row, line = {}, z[#z - i + 1]
    for j = 1, #line do row[j] = place(line[j]) or LEVELS end
    rows[i] = row
  end
  put_image(out, x, y, w, h, rows, colours, true)
end

-- Image of the cells: one pixel per cell when they are even and no finer than the page, else two pixels per px of page,
-- each standing for the cells below it.
local function draw_image(out, mark, px, py, norm, colours)
  local x0, x1 = math.min(px[1], px[#px]), math.max(px[1], px[#px])
  local y0, y1 = math.min(py[1], py[#py]), math.max(py[1], py[#py])
  local nx, ny = math.ceil((x1 - x0) * 2), math.ceil((y1 - y0) * 2)
  if evenly_spaced(px) and #px - 1 <= nx then nx = #px - 1 end
  if evenly_spaced(py) and #py - 1 <= ny then ny = #py - 1 end
  local columns, lines = cover(px, nx), cover(py, ny)
  local place, rows = placer(norm), {}
  for i = 1, ny do
    local row = {}
    for j = 1, nx do row[j] = place(block_value(mark, lines[i], columns[j])) or LEVELS end
    rows[i] = row
  end
  put_image(out, x0, y0, x1 - x0, y1 - y0, rows, colours)
end

local function line_path(line)
  local out = {}
  for k = 1, #line, 2 do out[#out + 1] = (k == 1 and 'M' or 'L') .. num(line[k]) .. ' ' .. num(line[k + 1]) end
  return table.concat(out) .. (line.closed and 'Z' or '')
end

--- Draws lines of equal value, dark on light colours and light on dark ones.
---@param xs number[] page x of the columns of z
---@param ys number[] page y of its rows
---@param levels number|number[] how many, or which
function M.contours(out, xs, ys, z, levels, norm, colours)
  if type(levels) == 'number' then
    if norm.kind == 'log' then
      levels = scale.log_ticks(norm.lo, norm.hi, levels)
    else
      levels = scale.linear_ticks(norm.lo, norm.hi, levels)
    end
  end
  local place = placer(norm)
  for _, level in ipairs(levels) do
    local parts = {}
    for _, line in ipairs(contour.lines(xs, ys, z, level)) do parts[#parts + 1] = line_path(line) end
    local k = place(level)
    local light = k and colormap.oklab(colormap.components(colours[k + 1])) or 0
    out:path(table.concat(parts), {
      'stroke', light > 0.55 and '#000000' or '#ffffff', 'stroke-width', 0.9, 'stroke-opacity', 0.75, 'fill', 'none',
      'stroke-linejoin', 'round',
    })
  end
end

local function draw_contours(out, mark, ctx, norm, colours)
  local ny, nx = #mark.z, #mark.z[1]
  if nx < 2 or ny < 2 then return end
  local xs = mapped(centres(mark, 'x', nx, ctx.xkind), ctx.X)
  local ys = mapped(centres(mark, 'y', ny, ctx.ykind), ctx.Y)
  local z = {}
  for i = 1, ny do
    z[i] = {}
    for j = 1, nx do z[i][j] = cell(mark, i, j) end
  end
  M.contours(out, xs, ys, z, mark.contour_levels, norm, colours)
end

--- Draws the cells, contours and outlines of a heat map.
---@param out table svg writer
---@param mark table
---@param ctx table X, Y (maps), xkind, ykind
function M.draw(out, mark, ctx)
  local norm = M.norm(mark)
  local colours = M.colours(mark)
  local xs, ys = M.edges(mark, ctx.xkind, ctx.ykind)
  local px, py = mapped(xs, ctx.X), mapped(ys, ctx.Y)
  local ny, nx = #mark.z, #mark.z[1]
  local place, places = placer(norm), {}
  for i = 1, ny do
    local row = {}
    for j = 1, nx do row[j] = place(cell(mark, i, j)) or false end
    places[i] = row
  end
  if mark.classes and boxes(places) <= M.CLASS_BOXES then
    draw_cells(out, places, px, py, colours, 0)
  elseif nx * ny > M.IMAGE_CELLS then
    draw_image(out, mark, px, py, norm, colours)
  else
    draw_cells(out, places, px, py, colours)
  end
  draw_missing(out, places, px, py)
  if mark.contour_levels then draw_contours(out, mark, ctx, norm, colours) end
  if mark.outline then
    local parts = {}
    for _, line in ipairs(contour.outline(px, py, mark.outline)) do parts[#parts + 1] = line_path(line) end
    local d = table.concat(parts)
    local join = { 'fill', 'none', 'stroke-linejoin', 'miter' }
    local width = mark.outline_width or 1.4
    if width >= 1.2 then out:path(d, { 'stroke', '#ffffff', 'stroke-width', width + 1.8, unpack(join) }) end
    out:path(d, { 'stroke', '#000000', 'stroke-width', width, unpack(join) })
  end
end

--- Draws the bar of a colour scale, without its ticks: x, y, w, h is the bar. Arrow heads stand for values beyond.
function M.draw_bar(out, mark, norm, x, y, w, h)
  local steps = 128
  local colours = assert(colormap.colours(mark.cmap or 'viridis', steps))
  out:open('g', { 'shape-rendering', 'crispEdges' })
  for k = 1, steps do -- each step reaches to the bottom, the next one covers it: no seams
    local top = y + h * (k - 1) / steps
    out:rect(x, top, w, y + h - top, { 'fill', colours[steps + 1 - k] })
  end
  out:close('g')
  local frame = { fmt('M%s %s', num(x), num(y + h)) }
  if norm.below then
    out:path(fmt('M%s %sH%sL%s %sZ', num(x), num(y + h), num(x + w), num(x + w / 2), num(y + h + 8)),
      { 'fill', colours[1] })
    frame[#frame + 1] = fmt('L%s %sL%s %s', num(x + w / 2), num(y + h + 8), num(x + w), num(y + h))
  else
    frame[#frame + 1] = 'H' .. num(x + w)
  end
  frame[#frame + 1] = 'V' .. num(y)
  if norm.above then
    out:path(fmt('M%s %sH%sL%s %sZ', num(x), num(y), num(x + w), num(x + w / 2), num(y - 8)),
      { 'fill', colours[steps] })
    frame[#frame + 1] = fmt('L%s %sL%s %s', num(x + w / 2), num(y - 8), num(x), num(y))
  else
    frame[#frame + 1] = 'H' .. num(x)
  end
  out:path(table.concat(frame) .. 'Z', { 'class', 'ax', 'fill', 'none', 'stroke', '#444444', 'stroke-width', 0.8 })
end

return M
