-- series.lua - draws lines, points, bands, bars, histograms, rules and text.
--
-- Holds: how each of these marks looks, how far it reaches, its key in the legend, and which spots of the page it uses.
-- Long series are thinned without visible change: per pixel column the first, least, greatest and last point are kept
-- ("M4: a visualization-oriented time series data aggregation", 2014).

local svg = require 'mascon.plot.svg'

local M = {}

local num, fmt, floor = svg.num, string.format, math.floor
local abs, max, min = math.abs, math.max, math.min

local DASH = { dashed = '5 3', dotted = '1.2 2.6' }
M.DASH = DASH

local function finite(v)
  return type(v) == 'number' and v - v == 0
end

local function usable(v, kind)
  return finite(v) and (kind ~= 'log' or v > 0)
end

---------------------------------------------------------------------------------------------------------------
-- How far a mark reaches

local function reach(lo, hi, v, kind)
  if not usable(v, kind) then return lo, hi end
  return lo and min(lo, v) or v, hi and max(hi, v) or v
end

local function reach_all(lo, hi, values, kind)
  for i = 1, #values do lo, hi = reach(lo, hi, values[i], kind) end
  return lo, hi
end

--- Extends { x0, x1, y0, y1 } by a mark. Numbers that a log axis cannot show do not count.
function M.extend(e, mark, xkind, ykind)
  local k = mark.kind
  if k == 'line' or k == 'scatter' then
    e[1], e[2] = reach_all(e[1], e[2], mark.x, xkind)
    for i = 1, #mark.y do
      local d = mark.err and finite(mark.err[i]) and mark.err[i] or 0
      if finite(mark.y[i]) then
        e[3], e[4] = reach(e[3], e[4], mark.y[i] - d, ykind)
        e[3], e[4] = reach(e[3], e[4], mark.y[i] + d, ykind)
      end
    end
  elseif k == 'band' then
    e[1], e[2] = reach_all(e[1], e[2], mark.x, xkind)
    e[3], e[4] = reach_all(e[3], e[4], mark.lo, ykind)
    e[3], e[4] = reach_all(e[3], e[4], mark.hi, ykind)
  elseif k == 'hist' then
    e[1], e[2] = reach_all(e[1], e[2], mark.edges, xkind)
    e[3], e[4] = reach_all(e[3], e[4], mark.heights, ykind)
    if ykind ~= 'log' then e[3], e[4] = reach(e[3], e[4], 0, ykind) end
  elseif k == 'bar' then
    e[1], e[2] = reach(e[1], e[2], 0.5, xkind)
    e[1], e[2] = reach(e[1], e[2], #mark.heights + 0.5, xkind)
    for i = 1, #mark.heights do
      local d = mark.err and finite(mark.err[i]) and mark.err[i] or 0
      if finite(mark.heights[i]) then
        e[3], e[4] = reach(e[3], e[4], mark.heights[i] - d, ykind)
        e[3], e[4] = reach(e[3], e[4], mark.heights[i] + d, ykind)
      end
    end
    if ykind ~= 'log' then e[3], e[4] = reach(e[3], e[4], 0, ykind) end
  elseif k == 'hline' then
    e[3], e[4] = reach(e[3], e[4], mark.at, ykind)
  elseif k == 'vline' then
    e[1], e[2] = reach(e[1], e[2], mark.at, xkind)
  elseif k == 'text' then
    e[1], e[2] = reach(e[1], e[2], mark.x, xkind)
    e[3], e[4] = reach(e[3], e[4], mark.y, ykind)
  end
end

---------------------------------------------------------------------------------------------------------------
-- Points on the page

-- Pieces of a series between gaps, as arrays x, y, x, y, ... on the page.
local function pieces(xs, ys, ctx)
  local out, piece = {}, nil
  for i = 1, #xs do
    if usable(xs[i], ctx.xkind) and usable(ys[i], ctx.ykind) then
      if not piece then
        piece = {}
        out[#out + 1] = piece
      end
      -- Far outside the page a renderer's own arithmetic overflows; what is there is not seen anyway.
      piece[#piece + 1] = max(-30000, min(30000, ctx.X(xs[i])))
      piece[#piece + 1] = max(-30000, min(30000, ctx.Y(ys[i])))
    else
      piece = nil
    end
  end
  return out
end

local function sorted_x(piece)
  for k = 3, #piece, 2 do
    if piece[k] < piece[k - 2] then return false end
  end
  return true
end

-- First, least, greatest and last point of every half pixel column, in their order.
local function thin(piece, width)
  if #piece / 2 <= 8 * width or not sorted_x(piece) then return piece end
  local out, k = {}, 1
  local function keep(i)
    if out[#out - 1] ~= piece[i] or out[#out] ~= piece[i + 1] then
      out[#out + 1], out[#out + 2] = piece[i], piece[i + 1]
    end
  end
  while k <= #piece do
    local column, first, least, most, last = floor(piece[k] * 2), k, k, k, k
    while k <= #piece and floor(piece[k] * 2) == column do
      if piece[k + 1] < piece[least + 1] then least = k end
      if piece[k + 1] > piece[most + 1] then most = k end
      last, k = k, k + 2
    end
    keep(first)
    keep(min(least, most))
    keep(max(least, most))
    keep(last)
  end
  return out
end

local function path_of(piece, step)
  local out = { 'M' .. num(piece[1]) .. ' ' .. num(piece[2]) }
  if #piece == 2 then return out[1] .. 'h0' end -- a lone point between gaps shows as a dot
  local px, py = num(piece[1]), num(piece[2])
  for k = 3, #piece, 2 do
    local x, y = num(piece[k]), num(piece[k + 1])
    if step then
      if x ~= px then out[#out + 1] = 'H' .. x end
      if y ~= py then out[#out + 1] = 'V' .. y end
    elseif x ~= px or y ~= py then
      out[#out + 1] = 'L' .. x .. ' ' .. y
    end
    px, py = x, y
  end
  return table.concat(out)
end

---------------------------------------------------------------------------------------------------------------
-- Drawing

local draw = {}

function draw.line(out, m, ctx)
  local d = {}
  for _, piece in ipairs(pieces(m.x, m.y, ctx)) do d[#d + 1] = path_of(thin(piece, ctx.w), m.step) end
  out:path(table.concat(d), {
    'fill', 'none', 'stroke', m.drawn, 'stroke-width', m.width or 1.5, 'stroke-linejoin', 'round',
    'stroke-linecap', DASH[m.dash] and 'butt' or 'round', 'stroke-dasharray', DASH[m.dash] or false,
  })
end

function draw.band(out, m, ctx)
  local lo, hi = pieces(m.x, m.lo, ctx), pieces(m.x, m.hi, ctx)
  local d = {}
  for i, upper in ipairs(hi) do
    local lower = lo[i]
    if lower and #lower == #upper then
      local all = {}
      for k = 1, #upper do all[k] = upper[k] end
      for k = #lower - 1, 1, -2 do all[#all + 1], all[#all + 2] = lower[k], lower[k + 1] end
      d[#d + 1] = path_of(all) .. 'Z'
    end
  end
  out:path(table.concat(d), { 'fill', m.drawn, 'fill-opacity', m.alpha or 0.25, 'stroke', 'none' })
end

-- Vertical error bars with short caps.
local function error_bars(out, xs, ys, err, ctx, color)
  if not err then return end
  local d = {}
  for i = 1, #ys do
    if finite(xs[i]) and finite(ys[i]) and finite(err[i]) then
      local x, a, b = ctx.X(xs[i]), ctx.Y(ys[i] - err[i]), ctx.Y(ys[i] + err[i])
      a, b = max(-30000, min(30000, a)), max(-30000, min(30000, b))
      d[#d + 1] = fmt('M%s %sV%sM%s %sh6M%s %sh6', num(x), num(a), num(b), num(x - 3), num(a), num(x - 3), num(b))
    end
  end
  out:path(table.concat(d), { 'fill', 'none', 'stroke', color, 'stroke-width', 1 })
end

function draw.scatter(out, m, ctx)
  error_bars(out, m.x, m.y, m.err, ctx, m.drawn)
  local d, seen = {}, {}
  local many = #m.x > 5000 -- then points that fall on one spot, a third of their size wide, are drawn once
  local grain = min(2, 3 / (m.size or 5))
  for i = 1, #m.x do
    if usable(m.x[i], ctx.xkind) and usable(m.y[i], ctx.ykind) then
      local x, y = ctx.X(m.x[i]), ctx.Y(m.y[i])
      local key = many and floor(x * grain) * 100000 + floor(y * grain)
      if abs(x) < 30000 and abs(y) < 30000 and not (many and seen[key]) then
        if many then seen[key] = true end
        d[#d + 1] = 'M' .. num(x) .. ' ' .. num(y) .. 'h0'
      end
    end
  end
  out:path(table.concat(d), {
    'fill', 'none', 'stroke', m.drawn, 'stroke-width', m.size or 5, 'stroke-linecap', 'round',
    'stroke-opacity', m.alpha or 0.85,
  })
end

-- Rectangles from the base line; each is { x0, x1, height }.
local function columns(out, list, ctx, m, alpha)
  local d = {}
  local base = ctx.ykind == 'log' and ctx.y + ctx.h + 5 or ctx.Y(0)
  for _, c in ipairs(list) do
    if usable(c[3], ctx.ykind) and c[3] ~= 0 then
      local y = max(-30000, min(30000, ctx.Y(c[3])))
      d[#d + 1] = fmt('M%s %sV%sH%sV%sZ', num(c[1]), num(base), num(y), num(c[2]), num(base))
    end
  end
  out:path(table.concat(d), {
    'class', 'cell', 'fill', m.drawn, 'fill-opacity', alpha, 'stroke', '#ffffff', 'stroke-width', 0.6,
  })
end

local function hist_columns(m, ctx)
  local list = {}
  for b = 1, #m.heights do list[b] = { ctx.X(m.edges[b]), ctx.X(m.edges[b + 1]), m.heights[b] } end
  return list
end

function draw.hist(out, m, ctx)
  columns(out, hist_columns(m, ctx), ctx, m, m.alpha or 0.75)
end

-- The k-th of n bars at one place.
local function bar_columns(m, ctx)
  local list, share = {}, (m.width or 0.8) / m.of
  for i = 1, #m.heights do
    local x0 = i - (m.width or 0.8) / 2 + (m.nth - 1) * share
    list[i] = { ctx.X(x0), ctx.X(x0 + share), m.heights[i] }
  end
  return list
end

function draw.bar(out, m, ctx)
  local list = bar_columns(m, ctx)
  columns(out, list, ctx, m, 1)
  if m.err then
    local xs = {}
    for i, c in ipairs(list) do xs[i] = (c[1] + c[2]) / 2 end
    error_bars(out, xs, m.heights, m.err, { X = function(x) return x end, Y = ctx.Y }, '#333333')
  end
end

local function rule_style(m)
  return { 'stroke', m.drawn, 'stroke-width', m.width or 1, 'stroke-dasharray', DASH[m.dash] or false }
end

function draw.hline(out, m, ctx)
  if not usable(m.at, ctx.ykind) then return end
  local y = ctx.Y(m.at)
  if abs(y) < 30000 then out:line(ctx.x, y, ctx.x + ctx.w, y, rule_style(m)) end
end

function draw.vline(out, m, ctx)
  if not usable(m.at, ctx.xkind) then return end
  local x = ctx.X(m.at)
  if abs(x) < 30000 then out:line(x, ctx.y, x, ctx.y + ctx.h, rule_style(m)) end
end

function draw.text(out, m, ctx)
  if not usable(m.x, ctx.xkind) or not usable(m.y, ctx.ykind) then return end
  local x, y = ctx.X(m.x), ctx.Y(m.y)
  if abs(x) > 30000 or abs(y) > 30000 then return end
  local plain = m.drawn == '#222222' -- only the default colour follows the theme of a page
  out:text(x, y + (m.size or 10) * 0.35, m.text, {
    size = m.size or 10, anchor = m.anchor, fill = m.drawn, class = plain and 'fg' or nil,
  })
end

M.draw = draw

---------------------------------------------------------------------------------------------------------------
-- Legend

--- Draws the key of a mark, centred on height y, 20 px wide.
function M.key(out, m, x, y)
  local k = m.kind
  if k == 'scatter' then
    out:path(fmt('M%s %sh0', num(x + 10), num(y)), {
      'stroke', m.drawn, 'stroke-width', min(9, m.size or 5), 'stroke-linecap', 'round', 'fill', 'none',
    })
  elseif k == 'hist' or k == 'bar' or k == 'band' then
    out:rect(x + 2, y - 4.5, 16, 9, { 'fill', m.drawn, 'fill-opacity', k == 'bar' and 1 or m.alpha or 0.75 })
  else
    out:line(x, y, x + 20, y, {
      'stroke', m.drawn, 'stroke-width', min(4, m.width or 1.5), 'stroke-dasharray', DASH[m.dash] or false,
    })
  end
end

--- Spots of the page that a mark uses, a few px apart: an array x, y, x, y, ...
function M.spots(m, ctx)
  local out = {}
  local function along(x0, y0, x1, y1)
    local n = min(400, max(1, math.ceil(max(abs(x1 - x0), abs(y1 - y0)) / 5)))
    for i = 0, n do out[#out + 1], out[#out + 2] = x0 + (x1 - x0) * i / n, y0 + (y1 - y0) * i / n end
  end
  if m.kind == 'line' then
    for _, piece in ipairs(pieces(m.x, m.y, ctx)) do
      local p = thin(piece, ctx.w / 8)
      for k = 3, #p, 2 do along(p[k - 2], p[k - 1], p[k], p[k + 1]) end
    end
  elseif m.kind == 'scatter' then
    for _, piece in ipairs(pieces(m.x, m.y, ctx)) do
      for k = 1, #piece do out[#out + 1] = piece[k] end
    end
  elseif m.kind == 'band' then
    for _, ys in ipairs{ m.lo, m.hi } do
      for _, p in ipairs(pieces(m.x, ys, ctx)) do
        for k = 3, #p, 2 do along(p[k - 2], p[k - 1], p[k], p[k + 1]) end
      end
    end
  elseif m.kind == 'hist' or m.kind == 'bar' then
    local base = ctx.ykind == 'log' and ctx.y + ctx.h or ctx.Y(0)
    for _, c in ipairs(m.kind == 'hist' and hist_columns(m, ctx) or bar_columns(m, ctx)) do
      if usable(c[3], ctx.ykind) and c[3] ~= 0 then
        for i = 0, 2 do
          local x = c[1] + (c[2] - c[1]) * i / 2
          along(x, base, x, ctx.Y(c[3]))
        end
      end
    end
  elseif m.kind == 'hline' then
    along(ctx.x, ctx.Y(m.at), ctx.x + ctx.w, ctx.Y(m.at))
  elseif m.kind == 'vline' then
    along(ctx.X(m.at), ctx.y, ctx.X(m.at), ctx.y + ctx.h)
  elseif m.kind == 'text' and usable(m.x, ctx.xkind) and usable(m.y, ctx.ykind) then
    along(ctx.X(m.x), ctx.Y(m.y), ctx.X(m.x) + 60, ctx.Y(m.y))
  end
  return out
end

return M
