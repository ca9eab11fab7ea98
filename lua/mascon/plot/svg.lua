-- svg.lua - writes SVG elements into a list of strings.
--
-- Holds: escaping, the fixed number format, text with raised and lowered runs, clipped groups.
--
-- There are no ids in the output (clipping is done by nested <svg> elements, hatching by real lines), so any number
-- of figures can share one HTML page. Classes name the roles fg, ax, grid, bg and void; a page may recolour them.

local font = require 'mascon.plot.font'
local text = require 'mascon.base.text'

local M = {}
M.__index = M

local fmt = string.format

--- A coordinate: two decimals, trailing zeros dropped, never '-0'.
---@param x number
---@return string
function M.num(x)
  if x ~= x or x >= 1e7 or x <= -1e7 then error('svg: coordinate out of range: ' .. tostring(x), 2) end
  local s = fmt('%.2f', x):gsub('%.?0+$', '')
  return s == '-0' and '0' or s
end

local num = M.num

local ENTITY = { ['&'] = '&amp;', ['<'] = '&lt;', ['>'] = '&gt;', ['"'] = '&quot;', ["'"] = '&#39;' }

--- Text made safe for XML and HTML: the five special characters, control characters and invalid UTF-8.
---@param s string
---@return string
function M.escape(s)
  return (text.plain(s):gsub('[&<>"\']', ENTITY))
end

---@return table writer
function M.new()
  return setmetatable({ parts = {} }, M)
end

function M:raw(s)
  self.parts[#self.parts + 1] = s
  return self
end

-- Attributes come as a flat list name, value, name, value, ... so that their order is fixed; false leaves one out.
local function attributes(list)
  local out = {}
  for i = 1, #list, 2 do
    local value = list[i + 1]
    if value ~= false then
      if type(value) == 'number' then value = num(value) else value = M.escape(value) end
      out[#out + 1] = fmt(' %s="%s"', list[i], value)
    end
  end
  return table.concat(out)
end

function M:open(tag, list)
  return self:raw('<' .. tag .. attributes(list or {}) .. '>\n')
end

function M:close(tag)
  return self:raw('</' .. tag .. '>\n')
end

function M:element(tag, list)
  return self:raw('<' .. tag .. attributes(list) .. '/>\n')
end

function M:rect(x, y, w, h, list)
  local all = { 'x', x, 'y', y, 'width', w, 'height', h }
  for _, v in ipairs(list) do all[#all + 1] = v end
  return self:element('rect', all)
end

function M:line(x1, y1, x2, y2, list)
  local all = { 'x1', x1, 'y1', y1, 'x2', x2, 'y2', y2 }
  for _, v in ipairs(list) do all[#all + 1] = v end
  return self:element('line', all)
end

function M:path(d, list)
  if d == '' then return self end
  local all = { 'd', d }
  for _, v in ipairs(list) do all[#all + 1] = v end
  return self:element('path', all)
end

--- Opens a part that shows nothing outside the rectangle; coordinates inside stay those of the page.
function M:clip(x, y, w, h)
  return self:open('svg', {
    'x', x, 'y', y, 'width', w, 'height', h, 'viewBox', fmt('%s %s %s %s', num(x), num(y), num(w), num(h)),
    'overflow', 'hidden',
  })
end

--- One line of marked-up text.
--- options: size (px), anchor 'start'|'middle'|'end', bold, rotate (degrees), fill, class, halo (colour drawn behind)
function M:text(x, y, s, options)
  local o = options or {}
  local size = o.size or 10
  local list = {
    'class', o.class or (not o.fill and 'fg') or false, 'x', x, 'y', y, 'font-size', size ~= 10 and size or false,
    'text-anchor', o.anchor and o.anchor ~= 'start' and o.anchor or false,
    'font-weight', o.bold and 'bold' or false,
    'fill', o.fill or '#222222',
    'stroke', o.halo or false, 'stroke-width', o.halo and 2.5 or false, 'stroke-linejoin', o.halo and 'round' or false,
    'paint-order', o.halo and 'stroke' or false,
    'transform', o.rotate and fmt('rotate(%s %s %s)', num(o.rotate), num(x), num(y)) or false,
  }
  local runs = font.runs(s)
  if #runs > 1 then -- blanks at the ends of runs count
    list[#list + 1], list[#list + 2] = 'xml:space', 'preserve'
  end
  local body, pending = {}, 0 -- pending: the shift that brings the pen back to the base line
  for _, run in ipairs(runs) do
    local shift = run.shift == 'up' and -0.36 * size or run.shift == 'down' and 0.2 * size or 0
    local dy = shift + pending
    if dy == 0 and shift == 0 then
      body[#body + 1] = M.escape(run.text)
    else
      body[#body + 1] = fmt('<tspan dy="%s"%s>%s</tspan>', num(dy),
        shift ~= 0 and fmt(' font-size="%s"', num(size * font.SMALL)) or '', M.escape(run.text))
    end
    pending = -shift
  end
  return self:raw('<text' .. attributes(list) .. '>' .. table.concat(body) .. '</text>\n')
end

function M:tostring()
  return table.concat(self.parts)
end

return M
