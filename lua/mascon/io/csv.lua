-- csv.lua - tables of numbers and words in CSV and TSV files (RFC 4180) to tensors and back.
--
-- Reads records (quotes, line ends, line and column of errors) and numbers; writing of cells is in text.lua. A file
-- is read once in pieces, numbers go straight into tensor memory; only when words turn up below numbers is it read a
-- second time, for the columns that hold them.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local error = check.error
local text = require 'mascon.base.text'
local file = require 'mascon.base.file'
local op = require 'mascon.core.op'
local index = require 'mascon.core.index'
local byte, find, sub, lower = string.byte, string.find, string.sub, string.lower
local M = {}

local CHUNK = 262144      -- bytes read at a time
local NUMBERS = 131072    -- numbers in one block while the count of rows is not known
local SLAB = 4096         -- rows turned into text at a time

-- ---------------------------------------------------------------- records

-- bytes of the longest line
local LINE, ENDLESS = 2 ^ 28, 'a zero byte, or a line of more than 256 MiB; this is no text file'

local Reader = {}
Reader.__index = Reader

--- Raises with the place: file, line, column (cells count from 1).
local function stop(r, line, cell, msg)
  error(('csv: %s:%d%s: %s'):format(r.path, line, cell and (', column %d'):format(cell) or '', msg), 2)
end

local function reader(path, separator, comment)
  local f, msg = io.open(path, 'rb')
  if not f then error('csv: ' .. msg .. '; check the path', 3) end
  local r = setmetatable({ path = path, f = f, buffer = '', at = 1, line = 0, separator = separator, comment = comment,
    cells = {}, quoted = {} }, Reader)
  r.buffer = f:read(CHUNK) or ''
  local mark = sub(r.buffer, 1, 2)
  if mark == '\255\254' or mark == '\254\255' then
    r:close()
    error(('csv: %s is UTF-16 text; save it as UTF-8'):format(path), 3)
  end
  if sub(r.buffer, 1, 3) == '\239\187\191' then r.at = 4 end -- UTF-8 byte order mark
  return r
end

function Reader:close()
  if self.f then self.f:close() end
  self.f = nil
end

--- The next line without its end, or nil after the last.
function Reader:next_line()
  local from, stopped = self.at
  while true do
    stopped = find(self.buffer, '\n', from, true)
    if stopped then break end
    local have = #self.buffer - self.at + 1
    if have > LINE or find(self.buffer, '\0', 1, true) then stop(self, self.line + 1, nil, ENDLESS) end
    local more = self.f:read(math.max(CHUNK, have)) -- as much again, so that one endless line costs linear time
    if not more then break end
    self.buffer = sub(self.buffer, self.at) .. more
    self.at, from = 1, have + 1
  end
  local line
  if stopped then
    line, self.at = sub(self.buffer, self.at, stopped - 1), stopped + 1
  else
    if self.at > #self.buffer then return nil end
    line, self.at = sub(self.buffer, self.at), #self.buffer + 1
  end
  self.line = self.line + 1
  if byte(line, -1) == 13 then line = sub(line, 1, -2) end
  if find(line, '\0', 1, true) then stop(self, self.line, nil, 'a zero byte; this is no text file') end
  if find(line, '\r', 1, true) and not find(line, '"', 1, true) then
    stop(self, self.line, nil, 'a carriage return alone ends a line, as old programs write it; save the file with line '
      .. 'feeds')
  end
  return line
end

--- A quoted cell that opens at `at` of `line`: its text, the line it ends in and the place behind the closing quote.
function Reader:quoted_cell(line, at, cell)
  local opened, parts = self.line, {}
  at = at + 1
  while true do
    local q = find(line, '"', at, true)
    if not q then
      parts[#parts + 1] = sub(line, at) .. '\n'
      line, at = self:next_line(), 1
      if not line then stop(self, opened, cell, 'the quote that opens here is never closed') end
    elseif byte(line, q + 1) == 34 then
      parts[#parts + 1] = sub(line, at, q)
      at = q + 2
    else
      parts[#parts + 1] = sub(line, at, q - 1)
      return table.concat(parts), line, q + 1
    end
  end
end

--- The next record into self.cells and self.quoted: the number of its cells and its first line; nil at the end, 0 for
--- an empty line.
function Reader:next_record()
  local line
  repeat line = self:next_line() until not line or not self.comment or sub(line, 1, #self.comment) ~= self.comment
  if not line then return nil end
  if line == '' then return 0, self.line end
  local cells, quoted, sep, n, at, start = self.cells, self.quoted, self.separator, 0, 1, self.line
  local quotes = find(line, '"', 1, true)
  while true do
    n = n + 1
    if quotes and byte(line, at) == 34 then
      cells[n], line, at = self:quoted_cell(line, at, n)
      quoted[n] = true
      local b = sub(line, at, at)
      if b == '' then return n, start end
      if b ~= sep then
        stop(self, self.line, n, ('%q follows the closing quote; a quote inside a cell is written twice'):format(b))
      end
      at = at + 1
    else
      local q = find(line, sep, at, true)
      cells[n], quoted[n] = sub(line, at, (q or 0) - 1), false
      if not q then return n, start end
      at = q + 1
    end
  end
end

-- ---------------------------------------------------------------- numbers

local NAN, INF = 0 / 0, math.huge
local WORDS = {
  [''] = NAN, nan = NAN, ['-nan'] = NAN, ['+nan'] = NAN, na = NAN, ['n/a'] = NAN, null = NAN, none = NAN, inf = INF,
  ['+inf'] = INF, ['-inf'] = -INF, infinity = INF, ['+infinity'] = INF, ['-infinity'] = -INF,
}

--- The number a cell stands for, or nil. Decimal only: what Lua would take as hexadecimal or binary is a word. Integers
--- beyond 2^53 that a double cannot hold are words, too, unless `rounded`: they are names more often than amounts.
local function number(cell, decimal, rounded)
  if decimal then cell = cell:gsub('%.', '\1'):gsub(decimal, '.') end
  local v = tonumber(cell)
  if not v then return WORDS[lower(cell:match '^%s*(.-)%s*$')] end
  local i, b = 1, byte(cell, 1)
  while b == 32 or b == 9 do -- bytes, not patterns: this loop is compiled
    i = i + 1
    b = byte(cell, i)
  end
  if b == 43 or b == 45 then
    i = i + 1
    b = byte(cell, i)
  end
  if b == 48 then
    local c = byte(cell, i + 1)
    if c == 120 or c == 88 or c == 98 or c == 66 then return nil end
  elseif b ~= 46 and not (b >= 48 and b <= 57) then
    return WORDS[lower(cell:match '^%s*(.-)%s*$')]
  end
  if not rounded and (v >= 2 ^ 53 or v <= -2 ^ 53) and v - v == 0 then
    local digits = cell:match '^%s*%+?(%-?%d+)%s*$'
    if digits and ('%.0f'):format(v) ~= digits:gsub('^(%-?)0+(%d)', '%1%2') then return nil end
  end
  return v
end

-- ---------------------------------------------------------------- reading

--- The separator of a file whose first line has no comma but semicolons or tabs.
local function sniff(path)
  local r = reader(path, ',')
  local line = r:next_line() or ''
  r:close()
  line = line:gsub('"[^"]*"', '')
  if line:find(',', 1, true) then return ',' end
  if line:find(';', 1, true) then return ';' end
  return line:find('\t', 1, true) and '\t' or ','
end

--- A first record is a header when none of its cells is a finite number and one is a word.
local function looks_like_header(r, n, o)
  local words = false
  for j = 1, n do
    local v = not r.quoted[j] and number(r.cells[j], o.decimal_pattern)
    if v and v - v == 0 then return false end
    words = words or not v
  end
  return words
end

--- Names of the columns: blanks become column_3, repeated ones get a number.
local function unique(cells, n)
  local names, taken = {}, {}
  for j = 1, n do
    local base = cells[j]:match '^%s*(.-)%s*$'
    if base == '' then base = 'column_' .. j end
    local name, k = base, 1
    while taken[name] do
      k = k + 1
      name = base .. '_' .. k
    end
    names[j], taken[name] = name, true
  end
  return names
end

local columns_meta = {
  __index = function(t, k)
    local names = {}
    for name in pairs(t) do if type(name) == 'string' then names[#names + 1] = name end end
    table.sort(names)
    local near = type(k) == 'string' and check.nearest(k, names)
    error(('csv: no column %s%s; there are %d'):format(check.show(k),
      near and (' (did you mean %q?)'):format(near) or '', #t), 2)
  end,
}

--- Calls f(row, n) for each record behind the header; blank lines are left out, except in a file of one column, where
--- those between values are missing values. Returns the number of rows.
local function each_row(r, columns, skip_header, f)
  local row, blanks = 0, 0
  while true do
    local n, line = r:next_record()
    if not n then return row end
    if n == 0 then
      if columns == 1 and row > 0 then blanks = blanks + 1 end
    elseif skip_header then
      skip_header = false
    else
      if n ~= columns then
        stop(r, line, math.min(n, columns) + 1,
          ('this line has %d cells, the first has %d; check separators and quotes'):format(n, columns))
      end
      if blanks > 0 then
        local cell, quoted = r.cells[1], r.quoted[1]
        r.cells[1], r.quoted[1] = '', false
        for _ = 1, blanks do
          row = row + 1
          f(row, line)
        end
        blanks, r.cells[1], r.quoted[1] = 0, cell, quoted
      end
      row = row + 1
      f(row, line)
    end
  end
end

--- First pass: all numbers into blocks of rows, and which columns hold words.
local function scan(r, columns, header, o)
  local words, any = {}, false
  local per = math.max(1, math.floor(NUMBERS / columns))
  local blocks, p, at = {}, nil, 0 -- luacheck: ignore 331 (p points into the last block)
  local cells, quoted, decimal = r.cells, r.quoted, o.decimal_pattern
  local missing, rounded = o.missing_set, o.numeric
  local rows = each_row(r, columns, header, function(row, line)
    if (row - 1) % per == 0 then
      blocks[#blocks + 1] = tensor.empty('load', { per, columns }, 'f64', 3)
      p, at = tensor.pointer(blocks[#blocks]), 0
    end
    for j = 1, columns do
      if not words[j] then
        local cell = cells[j]
        local v
        if missing and missing[cell] then
          v = NAN
        elseif not quoted[j] or rounded then
          v = number(cell, decimal, rounded)
        end
        if v then
          p[at + j - 1] = v
        elseif rounded then
          stop(r, line, j, ('%q is no number; leave the option numeric out to read words, too'):format(cell))
        else
          words[j], any = true, true
        end
      end
    end
    at = at + columns
  end)
  if #blocks > 0 and rows % per ~= 0 then blocks[#blocks] = blocks[#blocks][{ { 1, rows % per } }] end
  return rows, blocks, words, any
end

--- Second pass: the columns that hold words, as lists of text.
local function collect(path, columns, header, words, o)
  local r, lists, which = reader(path, o.separator, o.comment), {}, {}
  for j = 1, columns do
    if words[j] then
      which[#which + 1] = j
      lists[j] = {}
    end
  end
  local cells = r.cells
  each_row(r, columns, header, function(row)
    for _, j in ipairs(which) do lists[j][row] = cells[j] end
  end)
  r:close()
  return lists
end

local LOAD = {
  header = { 'auto', 'boolean | string' }, separator = { nil, 'string' }, decimal = { '.', { '.', ',' } },
  comment = { nil, 'string' }, missing = { nil, 'table' }, numeric = { false, 'bool' },
}

local function load_options(fname, path, opts, separator)
  local o = check.opts(fname, opts, LOAD, 4)
  if type(o.header) == 'string' and o.header ~= 'auto' then
    error(('%s: option header is %s; choose true, false or "auto"'):format(fname, check.show(o.header)), 3)
  end
  if o.comment == '' then
    error(fname .. ': option comment is empty; give the text that opens a comment line, as "#"', 3)
  end
  o.separator = o.separator or separator or sniff(path)
  if #o.separator ~= 1 or find(o.separator, '["\r\n]') then
    error(('%s: option separator is %q; give one character that is no quote or line end'):format(fname, o.separator), 3)
  end
  if o.decimal == o.separator then
    error(('%s: %q separates cells and decimals; give another separator'):format(fname, o.decimal), 3)
  end
  if o.decimal == ',' then o.decimal_pattern = ',' end
  if o.missing then
    o.missing_set = {}
    for _, word in ipairs(o.missing) do o.missing_set[tostring(word)] = true end
  end
  return o
end

--- A CSV or TSV file as { rows, names, columns, data }.
--
-- columns: by position and by name, each a tensor f64 [rows] when all its cells are numbers, else a list of strings.
-- data: all columns as one tensor f64 [rows, columns] when all are numbers, else nil. names: from the header, nil
-- without one. Empty cells, NA, N/A, NaN, null and none among numbers are NaN; quoted cells are words; integers that a
-- double cannot hold stay words.
-- header: true, false, or 'auto' (default: the first line is one when it holds a word and no number); separator: one
-- character (default comma, for .tsv tab; semicolon or tab when the first line has no comma); decimal: '.' or ',';
-- comment: text that opens a line to leave out; missing: more words for NaN; numeric = true: a word is an error with
-- its line and column.
-- Errors: lines of different length, a quote that is not closed, zero bytes, each with line and column. Owns the
-- result.
---@param path string
---@param separator? string default of the extension
---@param opts? table
function M.load(path, separator, opts)
  local o = load_options('csv', path, opts, separator)
  local r = reader(path, o.separator, o.comment)
  local n
  repeat n = r:next_record() until n ~= 0
  if not n then
    r:close()
    return { rows = 0, names = nil, columns = setmetatable({}, columns_meta),
      data = tensor.empty('load', { 0, 0 }, 'f64', 3) }
  end
  local header = o.header
  if header == 'auto' then header = looks_like_header(r, n, o) end
  local names = header and unique(r.cells, n) or nil
  r:close()
  r = reader(path, o.separator, o.comment)
  local rows, blocks, words, any = scan(r, n, header, o)
  r:close()
  local data
  if #blocks == 0 then data = tensor.empty('load', { 0, n }, 'f64', 3)
  elseif #blocks == 1 then data = blocks[1]:is_contiguous() and blocks[1]:copy() or blocks[1]
  else data = op.functions.concat(blocks) end
  for _, b in ipairs(blocks) do if b ~= data then b:release() end end
  local lists = any and collect(path, n, header, words, o) or {}
  local columns = {}
  for j = 1, n do
    columns[j] = lists[j] or data[{ index.all, j }]
    if any and not lists[j] then columns[j] = columns[j]:copy() end
    if names then columns[names[j]] = columns[j] end
  end
  return { rows = rows, names = names, columns = setmetatable(columns, columns_meta), data = not any and data or nil }
end

-- ---------------------------------------------------------------- writing

local SAVE = { header = { nil, 'table' }, separator = { ',', 'string' }, newline = { 'lf', { 'lf', 'crlf' } } }

local Writer = {}
Writer.__index = Writer

--- A CSV file written in pieces: :append(rows or tensor), :close() gives it its name, :abort() leaves the old file.
--- Owns.
---@param path string
---@param opts? table header, separator, newline
function M.create(path, opts, separator)
  local o = check.opts('csv', opts, SAVE, 4)
  if separator and not (opts and opts.separator) then o.separator = separator end
  local out, msg = file.create(path)
  if not out then error(msg, 3) end
  local w = setmetatable({ path = path, _out = out, _o = o, _columns = o.header and #o.header }, Writer)
  if o.header then w:_text({}, o.header) end
  return w
end

function Writer:_text(rows, header, dtype)
  local s = text.csv(rows, { header = header, separator = self._o.separator, newline = self._o.newline, dtype = dtype })
  local ok, msg = self._out:append(s)
  if not ok then error(msg, 3) end
end

local function width(self, n, what)
  if self._columns and n ~= self._columns then
    self:abort()
    error(('save: %s has %d columns and %s has %d; give every column a name and a cell'):format(what, n, self.path,
      self._columns), 3)
  end
  self._columns = n
end

--- More rows: a tensor [c] or [n, c] (a vector is one column where one column is expected), or an array of rows.
function Writer:append(rows)
  if not tensor.is(rows) then
    if type(rows) ~= 'table' then
      error(('save: rows are %s; give a tensor or an array of rows'):format(check.show(rows)), 2)
    end
    local n = 0
    for _, row in ipairs(rows) do n = math.max(n, type(row) == 'table' and (row.n or #row) or 1) end
    if #rows > 0 and n > (self._columns or n) then width(self, n, 'a row') end
    self._columns = self._columns or n
    local padded = {}
    for i, row in ipairs(rows) do
      padded[i] = type(row) == 'table' and { n = self._columns } or { row, n = self._columns }
      if type(row) == 'table' then for k, v in pairs(row) do if k ~= 'n' then padded[i][k] = v end end end
    end
    self:_text(padded)
    return
  end
  local x = rows
  if x.ndim == 1 then x = x:reshape { -1, 1 } end
  if x.ndim ~= 2 then
    error(('save: value is %s; a table has rows and columns, reshape it'):format(tensor.describe(rows)), 2)
  end
  if tensor.kind[x.dtype] == 'c' then
    error(('save: value is %s; write its real and imaginary parts as columns'):format(tensor.describe(rows)), 2)
  end
  width(self, x.shape[2], tensor.describe(rows))
  if x.shape[2] == 0 then return end
  for first = 1, x.shape[1], SLAB do
    self:_text(x[{ { first, math.min(first + SLAB - 1, x.shape[1]) } }]:totable(), nil,
      x.dtype == 'f32' and 'f32' or nil)
  end
end

function Writer:close()
  local ok, msg = self._out:close()
  if not ok then error(msg, 2) end
end

function Writer:abort() self._out:abort() end

--- Rows [first, last] of columns (tensors or lists) as an array of rows.
local function slab(columns, n, first, last)
  local rows, part = {}, {}
  for j = 1, n do
    local c = columns[j]
    part[j] = tensor.is(c) and c[{ { first, last } }]:totable() or nil
  end
  for i = first, last do
    local row = { n = n }
    for j = 1, n do
      if part[j] then row[j] = part[j][i - first + 1] else row[j] = columns[j][i] end
    end
    rows[#rows + 1] = row
  end
  return rows
end

--- Columns of a table as M.load gives it: list, count, rows.
local function columns_of(value)
  local columns, n = value.columns, #value.columns
  if n == 0 and value.names then
    columns = {}
    for j, name in ipairs(value.names) do columns[j] = rawget(value.columns, name) end
    n = #columns
    if n ~= #value.names then
      error(('save: column %s is missing; every name needs one'):format(check.show(value.names[n + 1])), 4)
    end
  end
  local rows
  for j = 1, n do
    local c = columns[j]
    if type(c) ~= 'table' and not tensor.is(c) then
      error(('save: column %d is %s; give a tensor or a list'):format(j, check.show(c)), 4)
    end
    if tensor.is(c) and c.ndim ~= 1 then
      error(('save: column %d is %s; give one axis'):format(j, tensor.describe(c)), 4)
    end
    local length = tensor.is(c) and c.shape[1] or #c
    if rows and length ~= rows then
      error(('save: column %d has %d entries, those before have %d'):format(j, length, rows), 4)
    end
    rows = length
  end
  return columns, n, rows or 0
end

--- Writes a tensor [n] or [n, c], an array of rows, or a table of columns ({ names, columns }, as load gives it).
--- header: names of the columns. Numbers take their shortest text that reads back as the same bits.
---@param path string
---@param value any
---@param opts? table
---@param separator? string default of the extension
function M.save(path, value, opts, separator)
  local by_columns = type(value) == 'table' and type(value.columns) == 'table'
  if type(value) ~= 'table' and not tensor.is(value) then
    error(('save: value is %s; a table file takes a tensor, an array of rows, or { names =, columns = }'):format(
      check.show(value)), 3)
  end
  local given = {}
  for k, v in pairs(opts or {}) do given[k] = v end
  if by_columns and given.header == nil then given.header = value.names end
  local columns, n, rows
  if by_columns then columns, n, rows = columns_of(value) end
  local w = M.create(path, given, separator)
  if by_columns then
    width(w, n, 'the table')
    for first = 1, rows, SLAB do w:append(slab(columns, n, first, math.min(first + SLAB - 1, rows))) end
  elseif tensor.is(value) and value.ndim == 0 then w:append(value:reshape { 1, 1 })
  else w:append(value) end
  w:close()
end

return M
