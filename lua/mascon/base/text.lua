-- text.lua - values as text for people and for files.
--
-- Holds: the shortest decimal form of a number that reads back to the same bits, display width of UTF-8 text, console
-- tables, CSV rows quoted after RFC 4180, byte counts and durations.
--
-- The idea: a double is given by at most 17 significant digits and most need 15 or fewer; '%.15g' therefore
-- goes first and wins nearly always.

local check = require 'mascon.core.check'

local M = {}

local floor, abs, huge = math.floor, math.abs, math.huge
local fmt, byte, rep, sub = string.format, string.byte, string.rep, string.sub

--- A count with its word: "1 chain", "2 chains".
---@param n number
---@param word string the singular; its plural takes an s
---@return string
function M.count(n, word)
  if type(n) ~= 'number' or type(word) ~= 'string' then
    error('text.count: give a number and a word, text.count(2, "chain")', 2)
  end
  return fmt('%d %s%s', n, word, n == 1 and '' or 's')
end

---------------------------------------------------------------------------------------------------------------
-- Numbers

local SMALLEST_NORMAL = 2.2250738585072014e-308
local ROUNDER = 2 ^ 52 + 2 ^ 51 -- adding and taking it away rounds a smaller double to an integer, ties to even

-- The f32 value nearest to x (ties to even), and whether x lies exactly between two of them.
local function to_f32(x)
  if x == 0 or x ~= x or abs(x) == huge then return x, false end
  local _, e = math.frexp(x)
  local bits = e < -125 and 149 + e or 24
  local scaled = math.ldexp(x, bits - e)
  local r = (scaled + ROUNDER) - ROUNDER
  local y = math.ldexp(r, e - bits)
  if abs(y) >= 2 ^ 128 then y = y > 0 and huge or -huge end
  return y, abs(scaled - r) == 0.5
end

local function shortest_f64(x)
  if abs(x) < SMALLEST_NORMAL then -- subnormals carry fewer digits than 15
    for digits = 1, 16 do
      local s = fmt('%.' .. digits .. 'g', x)
      if tonumber(s) == x then return s end
    end
    return fmt('%.17g', x)
  end
  local s = fmt('%.15g', x)
  if tonumber(s) == x then return s end
  s = fmt('%.16g', x)
  if tonumber(s) == x then return s end
  -- Above a power of two the neighbours lie twice as far off as below: a 16-digit decimal just above may serve
  -- although the nearest one, just below, does not.
  local head, last, exponent = fmt('%.16e', x):match('^(.*)(%d)%d(e.*)$')
  if math.frexp(abs(x)) == 0.5 and last ~= '9' then
    s = head .. fmt('%d', last + 1) .. exponent
    if tonumber(s) == x then return s end
  end
  return fmt('%.17g', x)
end

-- A decimal that falls exactly between two f32 is passed over: readers that go through a double and readers
-- that do not would disagree about it.
local function shortest_f32(x)
  for digits = 1, 8 do
    local s = fmt('%.' .. digits .. 'g', x)
    local y, tie = to_f32(tonumber(s))
    if y == x and not tie then return s end
  end
  return fmt('%.9g', x)
end

--- The shortest text from which the same number is read back.
--- Integers up to 2^53 print without exponent; not-a-number is 'nan', infinities are 'inf' and '-inf'.
---     mc.text.number(0.1)  --> 0.1
---@param x number|integer|userdata a number, or a boxed 64-bit integer
---@param dtype? string 'f64' (default) or 'f32': x is a single-precision value, 9 digits suffice
---@return string
function M.number(x, dtype)
  if type(x) == 'cdata' then -- int64_t and uint64_t print with a suffix
    local digits = tostring(x):match('^(%-?%d+)U?LL$')
    if digits then return digits end
    x = tonumber(x)
  end
  if type(x) ~= 'number' then
    error('text.number: expected a number, got ' .. type(x), 2)
  end
  if x ~= x then return 'nan' end
  if x == huge then return 'inf' end
  if x == -huge then return '-inf' end
  if x == floor(x) and abs(x) <= 2 ^ 53 then
    if x == 0 then return 1 / x < 0 and '-0' or '0' end
    return fmt('%.0f', x)
  end
  local s
  if dtype == nil or dtype == 'f64' then
    s = shortest_f64(x)
  elseif dtype == 'f32' then
    s = shortest_f32(x)
  else
    error("text.number: dtype must be 'f64' or 'f32', got " .. tostring(dtype), 2)
  end
  return (s:gsub('e%+?(%-?)0*(%d)', 'e%1%2'))
end

--- A number with a given count of significant digits, no trailing zeros.
---     mc.text.significant(3.14159, 3)  --> 3.14
---@param x number
---@param digits? integer significant digits, 1 to 17, default 6
---@return string
function M.significant(x, digits)
  if type(x) ~= 'number' then error(('text.significant: %s is no number; give one'):format(tostring(x)), 2) end
  if digits ~= nil and not (type(digits) == 'number' and digits >= 1 and digits <= 99 and digits % 1 == 0) then
    error(('text.significant: digits is %s; give a whole number from 1 to 99'):format(tostring(digits)), 2)
  end
  if x ~= x then return 'nan' end
  if abs(x) == huge then return x > 0 and 'inf' or '-inf' end
  local s = fmt('%.' .. (digits or 6) .. 'g', x)
  return (s:gsub('e%+?(%-?)0*(%d)', 'e%1%2'))
end

local BINARY = { 'KiB', 'MiB', 'GiB', 'TiB', 'PiB' }

-- Three significant digits, never in exponent form, for numbers from 0 to 9999.
local function three_digits(x)
  if x >= 99.95 or x == floor(x) then return fmt('%.0f', x) end
  return fmt(x >= 9.995 and '%.1f' or '%.2f', x)
end

--- A byte count for people: '512 B', '1.50 KiB', '12.0 GiB'.
---     mc.text.bytes(1536)  --> 1.50 KiB
---@param n number bytes, 0 or more
---@return string
function M.bytes(n)
  if n < 1024 then return fmt('%.0f B', n) end
  local unit = 0
  repeat
    n, unit = n / 1024, unit + 1
  until n < 1023.5 or unit == #BINARY
  return three_digits(n) .. ' ' .. BINARY[unit]
end

--- A time span for people: '340 us', '1.25 s', '2 min 05 s', '3 h 07 min', '2 d 04 h'.
---     mc.text.duration(75)  --> 1 min 15 s
---@param s number seconds
---@return string
function M.duration(s)
  if s ~= s or s == huge then return '?' end
  if s < 0 then return '-' .. M.duration(-s) end
  if s == 0 then return '0 s' end
  if s < 9.995e-7 then return three_digits(s * 1e9) .. ' ns' end
  if s < 9.995e-4 then return three_digits(s * 1e6) .. ' us' end
  if s < 0.9995 then return three_digits(s * 1e3) .. ' ms' end
  if s < 59.95 then return three_digits(s) .. ' s' end
  local t = floor(s + 0.5)
  if t < 3600 then return fmt('%d min %02d s', floor(t / 60), t % 60) end
  t = floor(s / 60 + 0.5)
  if t < 1440 then return fmt('%d h %02d min', floor(t / 60), t % 60) end
  t = floor(s / 3600 + 0.5)
  return fmt('%d d %02d h', floor(t / 24), t % 24)
end

---------------------------------------------------------------------------------------------------------------
-- UTF-8 and display width

-- First and last code points, in pairs, of what takes no column (marks, joiners) and of what takes two
-- (East Asian wide and full-width forms, emoji), after Unicode Standard Annex 11 and general category Mn.
local ZERO = {
  0x0300, 0x036f, 0x0483, 0x0489, 0x0591, 0x05bd, 0x0610, 0x061a, 0x064b, 0x065f, 0x093c, 0x093c,
  0x1ab0, 0x1aff, 0x1dc0, 0x1dff, 0x200b, 0x200f, 0x202a, 0x202e, 0x2060, 0x2064, 0x20d0, 0x20f0,
  0xfe00, 0xfe0f, 0xfe20, 0xfe2f, 0xfeff, 0xfeff,
}
local WIDE = {
  0x1100, 0x115f, 0x2e80, 0x303e, 0x3041, 0x33ff, 0x3400, 0x4dbf, 0x4e00, 0x9fff, 0xa000, 0xa4cf,
  0xac00, 0xd7a3, 0xf900, 0xfaff, 0xfe30, 0xfe4f, 0xff00, 0xff60, 0xffe0, 0xffe6, 0x1f300, 0x1f64f,
  0x1f680, 0x1f6ff, 0x1f900, 0x1f9ff, 0x20000, 0x3fffd,
}

local function within(ranges, code)
  for i = 1, #ranges, 2 do
    if code < ranges[i] then return false end
    if code <= ranges[i + 1] then return true end
  end
  return false
end

--- Code point and byte length of the character at position i. A byte that opens no valid sequence (over-long forms,
--- surrogates and values past U+10FFFF included) gives nil and 1.
---     mc.text.utf8_decode('é', 1)  --> 233, 2
local function decode(s, i)
  local a = byte(s, i)
  if a < 0x80 then return a, 1 end
  local len, code, least
  if a >= 0xc2 and a < 0xe0 then
    len, code, least = 2, a - 0xc0, 0x80
  elseif a >= 0xe0 and a < 0xf0 then
    len, code, least = 3, a - 0xe0, 0x800
  elseif a >= 0xf0 and a < 0xf5 then
    len, code, least = 4, a - 0xf0, 0x10000
  else
    return nil, 1
  end
  for k = i + 1, i + len - 1 do
    local b = byte(s, k)
    if not b or b < 0x80 or b > 0xbf then return nil, 1 end
    code = code * 64 + (b - 0x80)
  end
  if code < least or code > 0x10ffff or (code >= 0xd800 and code <= 0xdfff) then return nil, 1 end
  return code, len
end
M.utf8_decode = decode

--- Position of the first byte that is not part of valid UTF-8, or nil.
---     mc.text.invalid_utf8('a\255')  --> 2
---@param s string
---@return integer|nil
function M.invalid_utf8(s)
  local i = s:find '[\128-\255]'
  while i do
    local code, len = decode(s, i)
    if not code then return i end
    i = s:find('[\128-\255]', i + len)
  end
  return nil
end

--- Latin-1 text, in which every byte is a character, as UTF-8.
---     mc.text.latin1('\181V')  --> µV
---@param s string
---@return string
function M.latin1(s)
  return (s:gsub('[\128-\255]', function(c)
    local b = byte(c)
    return string.char(192 + floor(b / 64), 128 + b % 64)
  end))
end

--- Text as UTF-8: what is not valid UTF-8 is taken as Latin-1.
---     mc.text.utf8('\181V')  --> µV
---@param s string
---@return string
function M.utf8(s) return M.invalid_utf8(s) and M.latin1(s) or s end

local function utf8_of(code)
  if code < 0x80 then return string.char(code) end
  if code < 0x800 then return string.char(192 + floor(code / 64), 128 + code % 64) end
  if code < 0x10000 then return string.char(224 + floor(code / 4096), 128 + floor(code / 64) % 64, 128 + code % 64) end
  return string.char(240 + floor(code / 262144), 128 + floor(code / 4096) % 64,
    128 + floor(code / 64) % 64, 128 + code % 64)
end

--- UTF-8 of a list of UTF-16 units; halves of a pair that stand alone become the replacement character.
---     mc.text.from_utf16{ 0xb5, 0x56, 0xd83d, 0xde00 }  --> µV😀
---@param units integer[]
---@return string
function M.from_utf16(units)
  local out, i = {}, 1
  while i <= #units do
    local a, b = units[i], units[i + 1]
    if a >= 0xd800 and a < 0xdc00 and b and b >= 0xdc00 and b < 0xe000 then
      out[#out + 1] = utf8_of(0x10000 + (a - 0xd800) * 0x400 + b - 0xdc00)
      i = i + 1
    else
      out[#out + 1] = utf8_of((a >= 0xd800 and a < 0xe000 or a < 0 or a > 0xffff) and 0xfffd or a)
    end
    i = i + 1
  end
  return table.concat(out)
end

local function code_width(code)
  if code == nil then return 1 end
  if code < 0x300 then return (code < 32 or (code >= 0x7f and code < 0xa0)) and 0 or 1 end
  if within(ZERO, code) then return 0 end
  return within(WIDE, code) and 2 or 1
end

--- Columns that a UTF-8 string takes on a terminal.
---     mc.text.width('abc')  --> 3
---@param s string
---@return integer
function M.width(s)
  if not s:find('[^\32-\126]') then return #s end
  local i, w = 1, 0
  while i <= #s do
    local code, len = decode(s, i)
    w, i = w + code_width(code), i + len
  end
  return w
end

--- The string without control characters and invalid bytes, so that data cannot steer a terminal.
--- Line breaks and tabs become one space, everything else that is unsafe becomes '?'.
---@param s string
---@return string
function M.plain(s)
  if not s:find('[^\32-\126]') then return s end
  local out, i = {}, 1
  while i <= #s do
    local code, len = decode(s, i)
    if code == nil then
      out[#out + 1] = '?'
    elseif code == 9 or code == 10 or code == 13 then
      out[#out + 1] = ' '
    elseif code < 32 or (code >= 0x7f and code < 0xa0) then
      out[#out + 1] = '?'
    else
      out[#out + 1] = sub(s, i, i + len - 1)
    end
    i = i + len
  end
  return table.concat(out)
end

--- The string cut to a display width, with an ellipsis in the last column when something was cut.
---     mc.text.truncate('abcdef', 4)  --> abc…
---@param s string
---@param width integer columns, 1 or more
---@return string
function M.truncate(s, width)
  if M.width(s) <= width then return s end
  local i, w = 1, 0
  while i <= #s do
    local code, len = decode(s, i)
    local cw = code_width(code)
    if w + cw > width - 1 then break end
    w, i = w + cw, i + len
  end
  return sub(s, 1, i - 1) .. '…'
end

--- The string padded with spaces to a display width.
---     mc.text.pad('ab', 4) .. '|'  --> ab |
---@param s string
---@param width integer columns
---@param align? string 'left' (default), 'right' or 'centre'
---@return string
function M.pad(s, width, align)
  if align ~= nil and align ~= 'left' and align ~= 'right' and align ~= 'centre' then
    error(('text.pad: align is %s; choose left, right or centre'):format(tostring(align)), 2)
  end
  local gap = width - M.width(s)
  if gap <= 0 then return s end
  if align == 'right' then return rep(' ', gap) .. s end
  if align == 'centre' then
    local left = floor(gap / 2)
    return rep(' ', left) .. s .. rep(' ', gap - left)
  end
  return s .. rep(' ', gap)
end

---------------------------------------------------------------------------------------------------------------
-- Rows, as tables and CSV take them

local function plain_rows(fname, rows)
  if type(rows) == 'table' or type(rows) == 'cdata' or type(rows) == 'userdata' then
    if type(rows) == 'cdata' or rows.totable then rows = rows:totable() end
  end
  if type(rows) ~= 'table' then
    error(fname .. ': rows must be an array of rows or a tensor, got ' .. type(rows), 3)
  end
  local out, columns = {}, 0
  for i = 1, #rows do
    local row = rows[i]
    if type(row) == 'table' and row.totable then row = row:totable() end
    if type(row) ~= 'table' then row = { row } end -- a vector is one column
    local n = row.n or 0
    if not row.n then
      for k in pairs(row) do
        if type(k) ~= 'number' or k < 1 or k ~= floor(k) then
          error(fmt('%s: row %d has the key %s; rows are arrays of cells', fname, i, tostring(k)), 3)
        end
        n = math.max(n, k)
      end
    end
    out[i], columns = row, math.max(columns, n)
  end
  return out, columns
end

local function is_missing(v)
  return v == nil or (type(v) == 'table' and tostring(v) == 'null')
end

local function cell_number(v)
  if type(v) == 'number' then return v end
  if type(v) == 'cdata' and tostring(v):match('^%-?%d+U?LL$') then return v end
  return nil
end

---------------------------------------------------------------------------------------------------------------
-- CSV

local CSV = {
  header = { nil, 'table' },
  separator = { ',', 'string' },
  newline = { 'lf', { 'lf', 'crlf' } },
  missing = { '', 'string' },
  dtype = { nil, { 'f64', 'f32' } },
}

local function csv_cell(fname, v, o, i, j)
  if is_missing(v) then return o.missing end
  if cell_number(v) then return M.number(v, o.dtype) end
  if type(v) == 'boolean' then return v and 'true' or 'false' end
  if type(v) ~= 'string' then
    local msg = '%s: row %d, column %d holds a %s; cells are strings, numbers, booleans or nil'
    error(fmt(msg, fname, i, j, type(v)), 3)
  end
  local special = v == '' or v == o.missing or v:find('["\r\n]') or v:find(o.separator, 1, true)
  if special or v:find('^%s') or v:find('%s$') then
    return '"' .. v:gsub('"', '""') .. '"'
  end
  return v
end

--- Rows as CSV text. Cells that hold the separator, quotes, line breaks or outer blanks are quoted as RFC 4180
--- says; numbers take their shortest round-trip form, so that reading the file gives the same bits. An empty
--- string is written "" and an absent cell as nothing (option `missing`), which keeps the two apart.
---@param rows table array of rows (arrays of cells), or a tensor [n] or [n, c]
---@param opts? table header (array of names), separator ',', newline 'lf'|'crlf', missing '', dtype 'f64'|'f32' (that
---  of the tensor by default)
---@return string
function M.csv(rows, opts)
  local o = check.opts('text.csv', opts, CSV)
  if #o.separator ~= 1 or o.separator:find('["\r\n]') then
    error('text.csv: separator must be one character and no quote or line break, got ' .. fmt('%q', o.separator), 2)
  end
  local tensor = type(rows) == 'cdata' or (type(rows) == 'table' and rows.totable)
  if o.dtype == nil and tensor and rows.dtype == 'f32' then o.dtype = 'f32' end
  local body, columns = plain_rows('text.csv', rows)
  if o.header then
    if columns > #o.header then
      error(fmt('text.csv: a row has %d cells and the header has %d names; name every column', columns, #o.header), 2)
    end
    columns = #o.header
  end
  local out, eol = {}, o.newline == 'crlf' and '\r\n' or '\n'
  local cells = {}
  if o.header then
    for j = 1, columns do cells[j] = csv_cell('text.csv', o.header[j], o, 0, j) end
    out[1] = table.concat(cells, o.separator, 1, columns)
  end
  for i = 1, #body do
    for j = 1, columns do cells[j] = csv_cell('text.csv', body[i][j], o, i, j) end
    out[#out + 1] = table.concat(cells, o.separator, 1, columns)
  end
  if #out == 0 then return '' end
  out[#out + 1] = ''
  return table.concat(out, eol)
end

---------------------------------------------------------------------------------------------------------------
-- Console tables

local TABLE = {
  header = { nil, 'table' },
  align = { nil, 'table' },
  digits = { 6, 'integer >= 1' },
  style = { 'rule', { 'rule', 'plain', 'markdown' } },
  indent = { '', 'string' },
  gap = { 2, 'integer >= 1' },
  max_width = { nil, 'integer >= 1' },
}

local function table_cell(v, digits)
  if is_missing(v) then return '', false end
  local number = cell_number(v)
  if number then
    if type(number) == 'cdata' then return M.number(number), true end
    if number == floor(number) and abs(number) <= 2 ^ 53 then return fmt('%.0f', number), true end
    return M.significant(number, digits), true
  end
  return M.plain(tostring(v)), false
end

-- Lines numbers up at the decimal point: the part from the point on is padded to the longest such part.
local function align_points(cells)
  local longest = 0
  local function tail(s) return s:match('^[+-]?%d+(%.?[%deE+-]*)$') end
  for _, s in pairs(cells) do
    local t = tail(s)
    if t and #t > longest then longest = #t end
  end
  for i, s in pairs(cells) do
    local t = tail(s)
    if t then cells[i] = s .. rep(' ', longest - #t) end
  end
end

-- One column: its cells as text, its width and the side its cells lean to.
local function table_column(body, j, o)
  local cells, numeric, any = {}, true, false
  for i = 1, #body do
    local s, number = table_cell(body[i][j], o.digits)
    cells[i] = s
    if s ~= '' then any, numeric = true, numeric and number end
  end
  numeric = numeric and any
  local align = o.align and o.align[j] or (numeric and 'right' or 'left')
  if numeric and align == 'right' then align_points(cells) end
  local head = o.header and M.plain(tostring(o.header[j] == nil and '' or o.header[j])) or ''
  local width = M.width(head)
  for i = 1, #body do width = math.max(width, M.width(cells[i])) end
  return { cells = cells, head = head, width = width, align = align }
end

local ALIGN = { left = true, right = true, centre = true }

-- Takes columns off the widest text column until the whole fits.
local function shrink(columns, room)
  local total = 0
  for _, c in ipairs(columns) do total = total + c.width end
  while total > room do
    local widest
    for _, c in ipairs(columns) do
      if c.width > 4 and (not widest or c.width > widest.width) then widest = c end
    end
    if not widest then return end
    widest.width, total = widest.width - 1, total - 1
  end
end

--- Rows as a table for the console. Columns of numbers stand at the right with their decimal points in line.
--- Widths count display columns, so accents, Greek and CJK text stay aligned; control characters are shown as '?'.
---@param rows table array of rows (arrays of cells), or a tensor [n] or [n, c]
---@param opts? table header (array of names), align (array of 'left'|'right'|'centre'), digits 6,
---  style 'rule'|'plain'|'markdown', indent '', gap 2, max_width (columns; longer text is cut with an ellipsis)
---@return string text, each line ended by a line break
function M.table(rows, opts)
  local o = check.opts('text.table', opts, TABLE)
  local body, count = plain_rows('text.table', rows)
  if o.header then
    if count > #o.header then
      error(fmt('text.table: a row has %d cells and the header has %d names; name every column', count, #o.header), 2)
    end
    count = #o.header
  end
  if count == 0 then return '' end
  local markdown = o.style == 'markdown'
  local columns = {}
  for j = 1, count do
    if o.align and o.align[j] ~= nil and not ALIGN[o.align[j]] then
      error(fmt("text.table: align[%d] must be 'left', 'right' or 'centre', got %s", j, tostring(o.align[j])), 2)
    end
    columns[j] = table_column(body, j, o)
    if markdown then
      local c = columns[j]
      c.head = c.head:gsub('|', '\\|')
      c.width = math.max(3, M.width(c.head))
      for i, s in pairs(c.cells) do
        c.cells[i] = s:gsub('|', '\\|')
        c.width = math.max(c.width, M.width(c.cells[i]))
      end
    end
  end
  local between = markdown and 3 or o.gap
  if o.max_width then
    shrink(columns, o.max_width - M.width(o.indent) - between * (count - 1) - (markdown and 4 or 0))
  end
  local lines = {}
  local function line(pick)
    local parts = {}
    for j, c in ipairs(columns) do parts[j] = M.pad(M.truncate(pick(c), c.width), c.width, c.align) end
    if markdown then
      lines[#lines + 1] = o.indent .. '| ' .. table.concat(parts, ' | ') .. ' |'
    else
      lines[#lines + 1] = ((o.indent .. table.concat(parts, rep(' ', o.gap))):gsub('%s+$', ''))
    end
  end
  if o.header or markdown then
    line(function(c) return c.head end)
    if markdown then
      local parts = {}
      for j, c in ipairs(columns) do
        local left = c.align == 'centre' and ':' or '-'
        local right = c.align == 'left' and '-' or ':'
        parts[j] = left .. rep('-', c.width - 2) .. right
      end
      lines[#lines + 1] = o.indent .. '| ' .. table.concat(parts, ' | ') .. ' |'
    elseif o.style == 'rule' then
      local parts = {}
      for j, c in ipairs(columns) do parts[j] = rep('─', c.width) end
      lines[#lines + 1] = o.indent .. table.concat(parts, rep(' ', o.gap))
    end
  end
  for i = 1, #body do line(function(c) return c.cells[i] end) end
  return table.concat(lines, '\n') .. '\n'
end

return M
