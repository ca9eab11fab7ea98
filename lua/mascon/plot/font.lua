-- font.lua - how wide a text will be, and the small markup that labels may carry.
--
-- Holds: advance widths, the markup ^{..} and _{..} for raised and lowered text, line breaking.
--
-- A figure is laid out before anybody knows which of the listed fonts the viewer has. The widths here are those of
-- DejaVu Sans, the widest of them; with any other the text is shorter than planned, so it never collides.

local text = require 'mascon.base.text'

local M = {}

M.FAMILY = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"

local SMALL = 0.75 -- size of raised and lowered text

-- Thousandths of the font size for the characters 32 to 126.
local REGULAR = {
  318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636, 636,
  636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863,
  748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635,
  615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636,
  337, 636, 838,
}
local BOLD = {
  348, 456, 521, 838, 696, 1002, 872, 306, 457, 457, 523, 838, 380, 415, 380, 365, 696, 696, 696, 696, 696, 696, 696,
  696, 696, 696, 400, 400, 838, 838, 838, 580, 1000, 774, 762, 734, 830, 683, 683, 821, 837, 372, 372, 775, 637, 995,
  837, 850, 733, 850, 770, 720, 682, 812, 774, 1103, 771, 724, 725, 457, 365, 457, 838, 500, 500, 675, 716, 593, 716,
  678, 435, 716, 712, 343, 343, 665, 343, 1042, 712, 687, 716, 716, 493, 595, 478, 712, 652, 924, 645, 652, 582, 712,
  365, 712, 838,
}

--- Splits marked-up text: 'D_{0} q^{2}' gives runs { text, shift } with shift 'up', 'down' or nil.
---@param s string
---@return table runs
function M.runs(s)
  local out, pos = {}, 1
  while pos <= #s do
    local from, to, sign, inner = s:find('([%^_]){([^{}]*)}', pos)
    if not from then
      out[#out + 1] = { text = s:sub(pos) }
      break
    end
    if from > pos then out[#out + 1] = { text = s:sub(pos, from - 1) } end
    if inner ~= '' then out[#out + 1] = { text = inner, shift = sign == '^' and 'up' or 'down' } end
    pos = to + 1
  end
  return out
end

local RAISED = {
  ['0'] = '⁰', ['1'] = '¹', ['2'] = '²', ['3'] = '³', ['4'] = '⁴', ['5'] = '⁵', ['6'] = '⁶', ['7'] = '⁷', ['8'] = '⁸',
  ['9'] = '⁹', ['-'] = '⁻', ['−'] = '⁻', ['+'] = '⁺', n = 'ⁿ',
}

--- The text for a place that knows no markup: raised digits become their Unicode forms, other marks are dropped.
---@param s string
---@return string
function M.plain(s)
  local out = {}
  for _, run in ipairs(M.runs(s)) do
    if run.shift == 'up' then
      local whole = true
      local raised = run.text:gsub('[%z\1-\127\194-\244][\128-\191]*', function(c)
        if not RAISED[c] then whole = false end
        return RAISED[c]
      end)
      out[#out + 1] = whole and raised or '^' .. run.text
    else
      out[#out + 1] = run.text
    end
  end
  return table.concat(out)
end

local function plain_width(s, widths)
  local w, i = 0, 1
  while i <= #s do
    local code, len = text.utf8_decode(s, i)
    if code and code >= 32 and code <= 126 then
      w = w + widths[code - 31]
    elseif code and code >= 0x2070 and code <= 0x209f then
      w = w + 401
    elseif code then -- Greek and signs stay below 0.84 of the size, wide forms take the whole
      w = w + 500 * text.width(s:sub(i, i + len - 1)) + (code < 0x1100 and 200 or 340)
    else
      w = w + 1000
    end
    i = i + len
  end
  return w / 1000
end

--- Width of a marked-up text.
---@param s string
---@param size number font size in px
---@param bold? boolean
---@return number px
function M.width(s, size, bold)
  local widths, w = bold and BOLD or REGULAR, 0
  for _, run in ipairs(M.runs(s)) do
    w = w + plain_width(run.text, widths) * size * (run.shift and SMALL or 1)
  end
  return w
end

M.SMALL = SMALL

-- Words, with a mark-up group kept whole even when it holds blanks.
local function words(s)
  local guarded = s:gsub('[%^_]{[^{}]*}', function(group) return (group:gsub(' ', '\1')) end)
  local out = {}
  for word in guarded:gmatch('%S+') do out[#out + 1] = (word:gsub('\1', ' ')) end
  return out
end

--- Breaks a text into lines no wider than asked, at blanks and at given line breaks. A single word that is too
--- wide is cut with an ellipsis.
---@param s string
---@param size number px
---@param width number px
---@param bold? boolean
---@return string[] lines
function M.wrap(s, size, width, bold)
  local lines = {}
  for part in (s .. '\n'):gmatch('(.-)\r?\n') do
    local line
    for _, word in ipairs(words(part)) do
      local longer = line and line .. ' ' .. word or word
      if line and M.width(longer, size, bold) > width then
        lines[#lines + 1] = line
        line = word
      else
        line = longer
      end
      if M.width(line, size, bold) > width then
        local cut = M.plain(line)
        local columns = text.width(cut)
        while columns > 1 and M.width(text.truncate(cut, columns), size, bold) > width do columns = columns - 1 end
        line = text.truncate(cut, columns)
      end
    end
    lines[#lines + 1] = line
  end
  return lines
end

return M
