-- report/init.lua - results as one HTML file that needs nothing else.
--
-- Holds: the page (inline style, inline SVG, a few lines of script that sort tables), escaping, the table of contents.
-- The page loads nothing from anywhere, forbids itself to do so, reads well without scripts, follows the reader's light
-- or dark theme and prints on white. The text is a function of the content alone. May not write files.

local check = require 'mascon.core.check'
local plot = require 'mascon.plot'
local svg = require 'mascon.plot.svg'
local text = require 'mascon.base.text'

local M = {}

local fmt, floor = string.format, math.floor

local STYLE = [[
:root{color-scheme:light dark;--bg:#fff;--fg:#1d2127;--soft:#5c6470;--rule:#dfe3e8;--code:#f5f6f8;--accent:#0062a3;
--grid:#e6e6e6;--ax:#444;--void:#d9d9d9;--hatch:#b0b0b0}
@media (prefers-color-scheme:dark){:root{--bg:#15181c;--fg:#e4e7eb;--soft:#9aa3ae;--rule:#2e343b;--code:#1e2227;
--accent:#6cb8f0;--grid:#2c3138;--ax:#a0a7b0;--void:#3a4048;--hatch:#59616b}}
*{box-sizing:border-box}
body{margin:0 auto;padding:2.5rem 1.25rem 4rem;max-width:60rem;background:var(--bg);color:var(--fg);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif}
h1{font-size:1.75rem;line-height:1.25;margin:0 0 .3rem}
h2{font-size:1.2rem;margin:2.4rem 0 .6rem;padding-top:.4rem;border-top:1px solid var(--rule)}
p{margin:.5rem 0;max-width:46rem}
.subtitle{color:var(--soft);margin:0 0 1rem}
nav{margin:1.2rem 0;padding:.7rem 1rem;background:var(--code);border-radius:6px}
nav ol{margin:0;padding-left:1.4rem}
a{color:var(--accent);text-decoration:none}a:hover{text-decoration:underline}
figure{margin:1rem 0}
figure>svg{max-width:100%;height:auto;display:block}
figcaption{color:var(--soft);font-size:.9rem;margin-top:.3rem;max-width:46rem}
.scroll{overflow-x:auto;margin:1rem 0}
table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}
th,td{padding:.32rem .8rem;text-align:left;border-bottom:1px solid var(--rule);white-space:nowrap}
th{font-weight:600;border-bottom:2px solid var(--rule)}
td.n,th.n{text-align:right}
th button{all:unset;cursor:pointer;font:inherit}
th button:focus-visible{outline:2px solid var(--accent)}
th[aria-sort=ascending] button::after{content:" \25b4"}
th[aria-sort=descending] button::after{content:" \25be"}
pre{background:var(--code);padding:.8rem 1rem;border-radius:6px;overflow-x:auto;font-size:.86rem;line-height:1.45}
footer{margin-top:3rem;color:var(--soft);font-size:.85rem;border-top:1px solid var(--rule);padding-top:.6rem}
svg .bg{fill:var(--bg)}svg text.fg,svg path.fg{fill:var(--fg)}svg .ax{stroke:var(--ax)}svg .grid{stroke:var(--grid)}
svg .void{fill:var(--void)}svg .hatch{stroke:var(--hatch)}svg .cell{stroke:var(--bg)}
@media print{:root{--bg:#fff;--fg:#000;--soft:#444;--rule:#ccc;--code:#f5f5f5;--accent:#000;--grid:#e6e6e6;--ax:#444;
--void:#d9d9d9;--hatch:#b0b0b0}
body{max-width:none;padding:0;font-size:11pt}figure,table,pre{break-inside:avoid}h2{break-after:avoid}nav{display:none}}
]]

-- Sorts a table by a column when its head is pressed: numbers by value, text by the reader's language; what has no
-- value goes to the end. Without script the heads are plain text, since the buttons are made here.
local SCRIPT = [[
document.querySelectorAll('table.sortable').forEach(function(t){
var heads=t.tHead.rows[0].cells,body=t.tBodies[0];
Array.prototype.forEach.call(heads,function(h,i){
var b=document.createElement('button');
while(h.firstChild)b.appendChild(h.firstChild);
h.appendChild(b);
b.onclick=function(){
var up=h.getAttribute('aria-sort')!=='ascending';
Array.prototype.forEach.call(heads,function(o){o.removeAttribute('aria-sort')});
h.setAttribute('aria-sort',up?'ascending':'descending');
var rows=Array.prototype.slice.call(body.rows);
var key=function(r){var c=r.cells[i],v=c.getAttribute('data-v');return v===null?c.textContent:v===''?NaN:+v};
rows.sort(function(x,y){
var p=key(x),q=key(y),e;
if(typeof p==='number'&&typeof q==='number'){
if(isNaN(p))return isNaN(q)?0:1;
if(isNaN(q))return -1;
e=p<q?-1:p>q?1:0}
else e=String(p).localeCompare(String(q));
return up?e:-e});
rows.forEach(function(r){body.appendChild(r)})}})});
]]

local OPTS = {
  title = { nil, 'string' },
  subtitle = { nil, 'string' },
  sections = { nil, 'table' },
  footer = { nil, 'string' },
  lang = { 'en', 'string' },
}

local SECTION = {
  heading = { nil, 'string' },
  paragraphs = { nil, 'any' },
  table = { nil, 'table' },
  figure = { nil, 'any' },
  figures = { nil, 'table' },
  caption = { nil, 'string' },
  code = { nil, 'string' },
}

local TABLE = {
  header = { nil, 'table' },
  rows = { nil, 'any' },
  digits = { 6, 'integer >= 1' },
  caption = { nil, 'string' },
}

local esc = svg.escape

-- Text that keeps its line breaks and tabs.
local function escape_lines(s)
  local out = {}
  for line in (s:gsub('\r\n?', '\n') .. '\n'):gmatch('(.-)\n') do
    out[#out + 1] = esc((line:gsub('\t', '        ')))
  end
  return table.concat(out, '\n')
end

local function number_cell(v)
  if type(v) == 'number' then return v end
  if type(v) == 'cdata' and tostring(v):match('^%-?%d+U?LL$') then return v end
  return nil
end

-- Shown digits are for the eye; the attribute holds the number itself, for sorting and for programs that read the
-- page.
local function number_html(v, digits)
  if type(v) == 'cdata' then
    local s = text.number(v)
    return fmt('<td class="n" data-v="%s">%s</td>', s, s)
  end
  local whole = v == floor(v) and math.abs(v) <= 2 ^ 53
  local shown = (whole and fmt('%.0f', v) or text.significant(v, digits)):gsub('^%-', '−')
  local value = v - v == 0 and text.number(v) or v ~= v and '' or v > 0 and 'Infinity' or '-Infinity'
  return fmt('<td class="n" data-v="%s">%s</td>', value, shown)
end

-- A link goes to a file beside the page: a report refers to nothing elsewhere.
local function check_link(href, where)
  if type(href) ~= 'string' or href:find '^%a[%w+.-]*:' or href:find '^[/\\]' or href:find '%.%.' or href == '' then
    error(fmt('report.html: %s: the link %s must name a file beside the page, such as set1/report.html', where,
      tostring(href)), 5)
  end
  return href
end

local function table_html(out, t, where)
  local o = check.opts('report.html: ' .. where .. '.table', t, TABLE)
  local rows = o.rows
  if rows and type(rows) ~= 'string' and (type(rows) == 'cdata' or rows.totable) then rows = rows:totable() end
  if type(rows) ~= 'table' then error(fmt('report.html: %s.table.rows must be an array of rows', where), 4) end
  local columns = o.header and #o.header or 0
  local list = {}
  for i, row in ipairs(rows) do
    if type(row) == 'table' and row.totable then row = row:totable() end
    if type(row) ~= 'table' then row = { row } end
    local n = row.n or 0
    for k in pairs(row) do
      if type(k) == 'number' then n = math.max(n, k) end
    end
    if o.header and n > columns then
      error(fmt('report.html: %s.table row %d has %d cells and the header has %d names', where, i, n, columns), 4)
    end
    list[i], columns = row, math.max(columns, n)
  end
  local numeric = {}
  for j = 1, columns do
    local all, any = true, false
    for i = 1, #list do
      local v = list[i][j]
      if v ~= nil and not number_cell(v) then all = false end
      if v ~= nil then any = true end
    end
    numeric[j] = all and any
  end
  out[#out + 1] = fmt('<div class="scroll"><table%s>', o.header and ' class="sortable"' or '')
  if o.caption then out[#out + 1] = '<caption>' .. esc(o.caption) .. '</caption>' end
  if o.header then
    local cells = {}
    for j = 1, columns do
      cells[j] = fmt('<th scope="col"%s>%s</th>', numeric[j] and ' class="n"' or '', esc(tostring(o.header[j])))
    end
    out[#out + 1] = '<thead><tr>' .. table.concat(cells) .. '</tr></thead>'
  end
  out[#out + 1] = '<tbody>'
  for i = 1, #list do
    local cells = {}
    for j = 1, columns do
      local v = list[i][j]
      if v == nil or tostring(v) == 'null' then
        cells[j] = numeric[j] and '<td class="n" data-v=""></td>' or '<td></td>'
      elseif number_cell(v) then
        cells[j] = number_html(v, o.digits)
      elseif type(v) == 'table' and v.href then
        cells[j] = fmt('<td><a href="%s">%s</a></td>', esc(check_link(v.href, where)), esc(tostring(v.text or v.href)))
      else
        cells[j] = '<td>' .. esc(tostring(v)) .. '</td>'
      end
    end
    out[#out + 1] = '<tr>' .. table.concat(cells) .. '</tr>'
  end
  out[#out + 1] = '</tbody></table></div>'
end

-- SVG handed in as text goes into the page as it is, so it must be SVG and nothing that acts or loads.
local function check_svg(s, where)
  s = s:gsub('^%s*<%?xml.-%?>%s*', ''):gsub('^<!DOCTYPE.->%s*', ''):gsub('^%s+', '')
  if not s:match('^<svg[%s>]') or not s:match('</svg>%s*$') then
    error(fmt('report.html: %s.figure is text that is not SVG; pass a figure or the result of plot.render', where), 5)
  end
  local low = s:lower()
  local acts = low:match('<script') or low:match('<foreignobject') or low:match('<[^>]*%son%a+%s*=')
  if acts or low:match('<[^>]*javascript:') or low:match('<[^>]*href%s*=%s*["\']%s*https?:') then
    error(fmt('report.html: %s.figure holds a script or a link to elsewhere; a report is self-contained', where), 5)
  end
  return s
end

local function figure_html(out, fig, caption, where)
  local body
  if type(fig) == 'string' then
    body = check_svg(fig, where)
  elseif type(fig) == 'table' and fig.panels then
    body = plot.render(fig)
  else
    error(fmt('report.html: %s.figure must be a figure or SVG text, got %s', where, type(fig)), 4)
  end
  local below = caption and '<figcaption>' .. esc(caption) .. '</figcaption>' or ''
  out[#out + 1] = '<figure>' .. body .. below .. '</figure>'
end

local function section_html(out, section, i)
  local where = fmt('sections[%d]', i)
  if type(section) ~= 'table' then error(fmt('report.html: %s must be a table', where), 3) end
  local o = check.opts('report.html: ' .. where, section, SECTION)
  out[#out + 1] = fmt('<section id="s%d">', i)
  if o.heading then out[#out + 1] = '<h2>' .. esc(o.heading) .. '</h2>' end
  local paragraphs = o.paragraphs
  if type(paragraphs) == 'string' then paragraphs = { paragraphs } end
  for _, p in ipairs(paragraphs or {}) do out[#out + 1] = '<p>' .. esc(tostring(p)) .. '</p>' end
  if o.figure then figure_html(out, o.figure, o.caption, where) end
  for _, fig in ipairs(o.figures or {}) do figure_html(out, fig, nil, where) end
  if o.table then table_html(out, o.table, where) end
  if o.code then out[#out + 1] = '<pre><code>' .. escape_lines(o.code) .. '</code></pre>' end
  out[#out + 1] = '</section>'
end

--- One self-contained HTML page.
--- A section may hold heading, paragraphs (a string or an array of strings), figure (a figure or SVG text) with
--- caption, figures, table = { header =, rows =, digits = 6, caption = } and code; they appear in this order. All
--- text is escaped: no markup in it takes effect. A cell { href = FILE, text = } links to a file beside the page. The
--- page says nothing about when it was made unless the content does.
---     mc.report.html({ title = 'T', sections = { { heading = 'H' } } }):match('<h1>.-</h1>')  --> <h1>T</h1>
---@param opts table title, subtitle, sections (array), footer, lang 'en'
---@return string
function M.html(opts)
  local o = check.opts('report.html', opts, OPTS)
  if not o.title then error('report.html: title is missing', 2) end
  if not o.sections or #o.sections == 0 then
    error('report.html: sections is missing or empty; give at least one section', 2)
  end
  local out = {
    '<!DOCTYPE html>', fmt('<html lang="%s">', esc(o.lang)), '<head>', '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width,initial-scale=1">',
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; style-src '
      .. '\'unsafe-inline\'; script-src \'unsafe-inline\'">',
    '<title>' .. esc(o.title) .. '</title>', '<style>', STYLE .. '</style>', '</head>', '<body>',
    '<header><h1>' .. esc(o.title) .. '</h1>',
  }
  if o.subtitle then out[#out + 1] = '<p class="subtitle">' .. esc(o.subtitle) .. '</p>' end
  out[#out + 1] = '</header>'
  local entries = {}
  for i, section in ipairs(o.sections) do
    if type(section) == 'table' and type(section.heading) == 'string' then
      entries[#entries + 1] = fmt('<li><a href="#s%d">%s</a></li>', i, esc(section.heading))
    end
  end
  if #entries > 1 then
    out[#out + 1] = '<nav aria-label="Contents"><ol>' .. table.concat(entries) .. '</ol></nav>'
  end
  out[#out + 1] = '<main>'
  local sortable = false
  for i, section in ipairs(o.sections) do
    section_html(out, section, i)
    sortable = sortable or (section.table ~= nil and section.table.header ~= nil)
  end
  out[#out + 1] = '</main>'
  if o.footer then out[#out + 1] = '<footer>' .. esc(o.footer) .. '</footer>' end
  if sortable then out[#out + 1] = '<script>' .. SCRIPT .. '</script>' end
  out[#out + 1] = '</body>'
  out[#out + 1] = '</html>'
  return table.concat(out, '\n') .. '\n'
end

return M
