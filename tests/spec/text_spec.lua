-- text_spec.lua - numbers, tables and CSV as text, JSON, and the progress line.
--
-- Covers mascon.text, mascon.json and mascon.progress. What they write is read back by code of this file (a small CSV
-- reader, tonumber) or compared with text that stands here in full. Runs inside mascon and in a bare LuaJIT.

local json = require 'mascon.base.json'
local progress = require 'mascon.base.progress'
local text = require 'mascon.base.text'

local INF, NAN = math.huge, 0 / 0

-- Same bits, NaN and the sign of zero included.
local function same_number(a, b)
  if a ~= a then return b ~= b end
  return a == b and 1 / a == 1 / b
end

-- Random doubles of all magnitudes from a fixed linear congruential generator, so that failures can be repeated.
local function random_doubles(seed, count)
  local state, out = seed, {}
  local function step()
    state = (state * 16807) % 2147483647
    return state / 2147483647
  end
  for i = 1, count do
    local mantissa = step() + step() * 2 ^ -31
    out[i] = (step() < 0.5 and -1 or 1) * math.ldexp(0.5 + mantissa / 2, math.floor(step() * 2040) - 1020)
  end
  return out
end

describe('text.number', function()
  it('gives the shortest decimal form of a double', function()
    local cases = {
      { '0', 0 }, { '-0', -1 / INF }, { '1', 1 }, { '-17', -17 }, { '0.1', 0.1 }, { '0.3', 0.3 },
      { '0.30000000000000004', 0.1 + 0.2 }, { '0.3333333333333333', 1 / 3 }, { '1e300', 1e300 }, { '1e-7', 1e-7 },
      { '1e21', 1e21 }, { '9007199254740992', 2 ^ 53 }, { '-9007199254740991', 1 - 2 ^ 53 }, { '5e-324', 2 ^ -1074 },
      { '2.2250738585072014e-308', 2 ^ -1022 }, { '1.7976931348623157e308', (2 - 2 ^ -52) * 2 ^ 1023 },
      { '123456.789', 123456.789 }, { 'nan', NAN }, { 'inf', INF }, { '-inf', -INF },
    }
    for _, c in ipairs(cases) do assert.equal(c[1], text.number(c[2])) end
  end)

  it('uses 16 digits just above a power of two, where the nearest 16 digits do not read back', function()
    assert.equal('7.120236347223045e-307', text.number(2 ^ -1017))
    assert.equal(2 ^ -1017, tonumber(text.number(2 ^ -1017)))
  end)

  it('reads back to the same bits for 5000 doubles of all magnitudes, and no shorter form does', function()
    for _, x in ipairs(random_doubles(20240229, 5000)) do
      local s = text.number(x)
      assert.is_true(same_number(x, tonumber(s)), s)
      local digits = #s:gsub('e.*', ''):gsub('[^%d]', ''):gsub('^0+', ''):gsub('0+$', '')
      if digits > 1 then
        local shorter = string.format('%.' .. (digits - 2) .. 'e', x)
        assert.is_false(tonumber(shorter) == x, s .. ' is longer than ' .. shorter)
      end
    end
  end)

  it('knows single precision, and never stops at a tie between two of them', function()
    assert.equal('0.1', text.number(0.100000001490116119384765625, 'f32'))
    assert.equal('3.4028235e38', text.number((2 - 2 ^ -23) * 2 ^ 127, 'f32'))
    assert.equal('1e-45', text.number(2 ^ -149, 'f32'))
    assert.equal('16777216', text.number(16777216, 'f32'))
    assert.equal('1.0000001', text.number(1 + 2 ^ -23, 'f32'))
  end)

  it('prints boxed 64-bit integers with all digits', function()
    assert.equal('9223372036854775807', text.number(loadstring('return 9223372036854775807LL')()))
    assert.equal('-9007199254740993', text.number(loadstring('return -9007199254740993LL')()))
    assert.equal('18446744073709551615', text.number(loadstring('return 18446744073709551615ULL')()))
  end)

  it('refuses what is no number', function()
    assert.has_error(function() text.number('1') end, 'text.number: expected a number, got string')
    assert.has_error(function() text.number(1.5, 'f16') end, "text.number: dtype must be 'f64' or 'f32', got f16")
  end)
end)

describe('text.bytes and text.duration', function()
  it('speak in units a person reads', function()
    for want, n in pairs{ ['0 B'] = 0, ['1023 B'] = 1023, ['1 KiB'] = 1024, ['1.50 KiB'] = 1536, ['954 MiB'] = 1e9,
      ['4.55 TiB'] = 5e12 } do
      assert.equal(want, text.bytes(n))
    end
    for want, s in pairs{ ['0 s'] = 0, ['300 ns'] = 3e-7, ['1 ms'] = 1e-3, ['12.5 ms'] = 0.0125, ['1.25 s'] = 1.25,
      ['1 min 00 s'] = 59.99, ['1 min 01 s'] = 61, ['1 h 00 min'] = 3599.7, ['11 d 14 h'] = 1e6, ['?'] = INF } do
      assert.equal(want, text.duration(s))
    end
  end)
end)

describe('text.width, pad and truncate', function()
  it('count the columns of a terminal', function()
    local widths = { [''] = 0, abc = 3, ['Å'] = 1, ['γ-Band'] = 6, ['日本'] = 4, ['e\204\129'] = 1, ['a\27b'] = 2 }
    for s, want in pairs(widths) do
      assert.equal(want, text.width(s))
    end
    assert.equal('é  |', text.pad('é', 3) .. '|')
    assert.equal(' é |', text.pad('é', 3, 'centre') .. '|')
    assert.equal('日本…', text.truncate('日本語文', 6))
    assert.equal('abc', text.truncate('abc', 3))
    assert.equal('a…', text.truncate('abc', 2))
  end)

  it('take the sting out of control characters and broken UTF-8', function()
    assert.equal('a?[2Jb c?', text.plain('a\27[2Jb\nc\255'))
    assert.equal('??', text.plain('\192\175')) -- over-long form of a slash
    assert.equal('???', text.plain('\237\160\128')) -- a surrogate
  end)
end)

describe('text.table', function()
  it('lines up decimal points and wide characters', function()
    local got = text.table({ { 'α', 1.5, 10 }, { '日本', 22.25, 3 }, { 'x', 1000, nil } },
      { header = { 'name', 'value', 'n' } })
    assert.equal(table.concat({
      'name    value   n',
      '────  ───────  ──',
      'α        1.5   10',
      '日本    22.25   3',
      'x     1000',
      '',
    }, '\n'), got)
  end)

  it('keeps every line of a table equally wide up to its last cell', function()
    local got = text.table({ { 'a', 'ü' }, { 'ccc', '日' } }, { header = { 'k', 'v' }, style = 'markdown' })
    local widths = {}
    for line in got:gmatch('[^\n]+') do widths[#widths + 1] = text.width(line) end
    assert.same({ widths[1], widths[1], widths[1], widths[1] }, widths)
  end)

  it('escapes pipes in markdown and control characters everywhere', function()
    assert.is_truthy(text.table({ { 'a|b' } }, { header = { 'h' }, style = 'markdown' }):find('a\\|b', 1, true))
    assert.is_nil(text.table({ { 'x\27[31m' } }):find('\27', 1, true))
  end)

  it('cuts text, not numbers of columns, to the given width', function()
    local got = text.table({ { ('long '):rep(20), 12 } }, { header = { 'what', 'n' }, max_width = 30 })
    for line in got:gmatch('[^\n]+') do assert.is_true(text.width(line) <= 30) end
    assert.is_truthy(got:find('…', 1, true))
    assert.is_truthy(got:find('12', 1, true))
  end)

  it('takes whatever has totable, and says what is wrong with rows', function()
    local tensor = { totable = function() return { { 1, 2 }, { 3, 4 } } end }
    assert.equal('1  2\n3  4\n', text.table(tensor))
    assert.equal('', text.table({}))
    assert.has_error(function() text.table(3) end, 'text.table: rows must be an array of rows or a tensor, got number')
    assert.has_error(function() text.table({ { 1, 2 } }, { header = { 'a' } }) end,
      'text.table: a row has 2 cells and the header has 1 names; name every column')
    assert.has_error(function() text.table({ { name = 1 } }) end,
      'text.table: row 1 has the key name; rows are arrays of cells')
  end)
end)

-- Reads CSV as RFC 4180 describes it; a quoted cell comes as { text }, a bare one as text.
local function read_csv(s)
  local rows, row, pos = {}, {}, 1
  while pos <= #s do
    local cell
    if s:sub(pos, pos) == '"' then
      local parts = {}
      pos = pos + 1
      while true do
        local q = assert(s:find('"', pos, true), 'open quote')
        parts[#parts + 1] = s:sub(pos, q - 1)
        pos = q + 1
        if s:sub(pos, pos) ~= '"' then break end
        parts[#parts + 1] = '"'
        pos = pos + 1
      end
      cell = { table.concat(parts) }
    else
      local stop = assert(s:find('[,\r\n]', pos), 'no line end')
      cell = s:sub(pos, stop - 1)
      pos = stop
    end
    row[#row + 1] = cell
    if s:sub(pos, pos + 1) == '\r\n' then
      rows[#rows + 1], row, pos = row, {}, pos + 2
    elseif s:sub(pos, pos) == '\n' then
      rows[#rows + 1], row, pos = row, {}, pos + 1
    else
      assert.equal(',', s:sub(pos, pos))
      pos = pos + 1
    end
  end
  return rows
end

describe('text.csv', function()
  it('quotes as RFC 4180 says and tells empty text from an absent cell', function()
    local got = text.csv({ { 'a,b', 'say "x"', ' edge' }, { nil, '', 'two\nlines' }, { true, -0.5, 'plain' } },
      { header = { 'p', 'q', 'r' } })
    assert.equal('p,q,r\n"a,b","say ""x"""," edge"\n,"","two\nlines"\ntrue,-0.5,plain\n', got)
  end)

  it('gives back every cell to a reader, with both line ends', function()
    local cells = { 'a', 'a,b', '"', '""', 'x\r\ny', ' ', '', 'é', ';' }
    for _, newline in ipairs{ 'lf', 'crlf' } do
      local rows = read_csv(text.csv({ cells, cells }, { newline = newline }))
      assert.equal(2, #rows)
      for j, want in ipairs(cells) do
        local cell = rows[2][j]
        assert.equal(want, type(cell) == 'table' and cell[1] or cell)
      end
    end
  end)

  it('writes numbers that read back to the same bits', function()
    local xs = random_doubles(77, 500)
    local rows = read_csv(text.csv(xs))
    for i, x in ipairs(xs) do assert.is_true(same_number(x, tonumber(rows[i][1]))) end
    assert.equal('nan,inf,-inf\n', text.csv{ { NAN, INF, -INF } })
    assert.equal('0.1\n', text.csv({ { 0.100000001490116119384765625 } }, { dtype = 'f32' }))
    local single = { dtype = 'f32', totable = function() return { { 0.100000001490116119384765625 } } end }
    assert.equal('0.1\n', text.csv(single))
    assert.equal('0.10000000149011612\n', text.csv(single, { dtype = 'f64' }))
  end)

  it('says which cell it cannot write', function()
    assert.has_error(function() text.csv{ { 1 }, { 2, {} } } end,
      'text.csv: row 2, column 2 holds a table; cells are strings, numbers, booleans or nil')
    assert.has_error(function() text.csv({ { 1 } }, { separator = '""' }) end)
  end)
end)

describe('json.encode', function()
  it('sorts keys and marks arrays', function()
    assert.equal('{"a":null,"b":[1,2.5],"c":[],"d":{},"e":true}',
      json.encode{ e = true, b = { 1, 2.5 }, d = {}, c = json.array(), a = json.null })
  end)

  it('uses 17 digits only where they are needed', function()
    assert.equal('[0.1,0.30000000000000004,100000000000000000000,1e21,-0]',
      (json.encode{ 0.1, 0.1 + 0.2, 1e20, 1e21, -1 / INF }:gsub('1e20', '100000000000000000000')))
    assert.equal('[0.1]', json.encode({ 0.100000001490116119384765625 }, { dtype = 'f32' }))
    local single = { dtype = 'f32', totable = function() return { 0.100000001490116119384765625 } end }
    assert.equal('{"a":[0.1],"b":0.3333333333333333}', json.encode{ a = single, b = 1 / 3 })
    assert.equal('9223372036854775807', json.encode(loadstring('return 9223372036854775807LL')()))
  end)

  it('escapes what must be, and leaves the rest readable', function()
    assert.equal('"\\"\\\\\\n\\u0000\\u001f é \\u2028"', json.encode('"\\\n\0\31 é \226\128\168'))
  end)

  it('indents objects and keeps arrays of numbers on one line', function()
    assert.equal('{\n  "a": [1, 2],\n  "b": {\n    "c": 1\n  }\n}',
      json.encode({ b = { c = 1 }, a = { 1, 2 } }, { indent = 2 }))
  end)

  it('says where it meets what JSON cannot hold', function()
    local cycle = {}
    cycle.me = cycle
    local cases = {
      { 'json.encode: nan at a[2] has no JSON form; pass nonfinite = \'null\' or \'string\'', { a = { 1, NAN } } },
      { 'json.encode: the array at x has a gap (2 values up to place 3); fill gaps with json.null',
        { x = { 1, nil, 3 } } },
      { 'json.encode: the table at the top has both array part and named keys; JSON knows one or the other',
        { 1, a = 2 } },
      { 'json.encode: the table at me contains itself', cycle },
      { 'json.encode: the function at f has no JSON form', { f = print } },
      { 'json.encode: the string at s is not UTF-8 (byte 2); JSON holds text only, encode bytes as base64 or hex first',
        { s = 'a\255' } },
    }
    for _, c in ipairs(cases) do
      assert.has_error(function() json.encode(c[2]) end, c[1])
    end
    assert.equal('[null,null]', json.encode({ NAN, INF }, { nonfinite = 'null' }))
    assert.equal('["NaN","-Infinity"]', json.encode({ NAN, -INF }, { nonfinite = 'string' }))
  end)
end)

describe('json.decode', function()
  it('reads back what was written, to the bit', function()
    local value = {
      list = random_doubles(4711, 300), text = 'a"b\\c\n\t\1é😀', flag = false, nested = { { x = { 1 } } },
    }
    local back = assert(json.decode(json.encode(value)))
    assert.same(value, back)
    for i, x in ipairs(value.list) do assert.is_true(same_number(x, back.list[i])) end
  end)

  it('keeps null, empty arrays and empty objects apart', function()
    local s = '{"a":[],"b":{},"c":null,"d":[null,1]}'
    local v = json.decode(s)
    assert.equal(json.null, v.c)
    assert.equal(s, json.encode(v))
    assert.is_false(json.decode('null', { null = false }))
    assert.equal('null', tostring(json.null))
  end)

  it('reads escapes and surrogate pairs', function()
    assert.equal('/\b\f é 😀 \127', json.decode('"\\/\\b\\f \\u00e9 \\ud83d\\uDE00 \127"'))
  end)

  it('refuses all that is not JSON, with its place', function()
    local bad = {
      ['[1,]'] = "line 1, column 4: a ',' must not stand before ']'",
      ['{"a":1,}'] = "line 1, column 8: a ',' must not stand before '}'",
      ['{"a":1,\n "a":2}'] = 'line 2, column 2: the key "a" stands twice in one object',
      ['[01]'] = 'line 1, column 2: a number must not start with 0',
      ['[1.]'] = 'line 1, column 3: a digit must follow the decimal point',
      ['[1e]'] = 'line 1, column 3: the exponent has no digits',
      ['[+1]'] = 'line 1, column 2: no value starts with "+"',
      ['[-]'] = 'line 1, column 2: a number needs a digit after the sign',
      ['[1e999]'] = 'line 1, column 2: the number is beyond the range of a double',
      ['nul'] = 'line 1, column 1: no value starts with "nul"',
      ['NaN'] = 'line 1, column 1: no value starts with "NaN"',
      ['"\\ud800x"'] = 'line 1, column 2: first half of a surrogate pair without the second',
      ['"\\udc00"'] = 'line 1, column 2: second half of a surrogate pair without the first',
      ['"\\x"'] = 'line 1, column 2: unknown escape \\x',
      ['"\\u12g4"'] = 'line 1, column 2: \\u takes four hexadecimal digits',
      ['"a'] = 'line 1, column 1: the string has no end',
      ['"a\nb"'] = 'line 1, column 3: a control character inside a string must be escaped',
      ['[1] x'] = 'line 1, column 5: text goes on after the value',
      [''] = 'line 1, column 1: the text ends where a value should stand',
      ['[1 2]'] = "line 1, column 4: expected ',' or ']' in the array",
      ['{"a" 1}'] = "line 1, column 6: expected ':' after the key",
      ['{a:1}'] = 'line 1, column 2: an object key must be a string in double quotes',
      ['"\255"'] = 'line 1, column 2: not UTF-8',
      ['/**/1'] = 'line 1, column 1: no value starts with "/"',
    }
    for s, want in pairs(bad) do
      local v, msg = json.decode(s)
      assert.is_nil(v)
      assert.equal('json.decode: ' .. want, msg)
    end
  end)

  it('bounds the depth, and never throws on cut or damaged text', function()
    local _, msg = json.decode(('['):rep(100000))
    assert.equal('json.decode: line 1, column 257: nesting is deeper than 256', msg)
    local whole = json.encode{ a = { 1, -2.5e-3, 'x\n\\é' }, b = { c = true, d = json.null } }
    for n = 0, #whole - 1 do
      local v, problem = json.decode(whole:sub(1, n))
      assert.is_nil(v)
      assert.is_string(problem)
    end
    for n = 1, #whole do
      for _, c in ipairs{ '\0', '"', '\\', ',', '}', '\255', '9' } do
        assert.has_no.errors(function() json.decode(whole:sub(1, n - 1) .. c .. whole:sub(n + 1)) end)
      end
    end
  end)

  it('takes only strings', function()
    assert.has_error(function() json.decode(nil) end, 'json.decode: expected a string, got nil')
  end)
end)

-- A progress display with a clock and a stream of our own.
local function watched(total, opts)
  local seen = { writes = {}, now = 100 }
  local o = { clock = function() return seen.now end, stream = {}, width = 80 }
  function o.stream.write(_, s) seen.writes[#seen.writes + 1] = s end
  for k, v in pairs(opts or {}) do o[k] = v end
  seen.bar = progress.new(total, o)
  return seen
end

describe('progress', function()
  it('redraws one line at most ten times a second', function()
    local w = watched(10000, { tty = true, label = 'fit', unit = 'epochs' })
    for _ = 1, 10000 do
      w.now = w.now + 0.001
      w.bar:add()
    end
    w.bar:done()
    assert.is_true(#w.writes <= 10 * 10 + 3, #w.writes .. ' writes in 10 s')
    assert.is_true(#w.writes >= 80, #w.writes .. ' writes in 10 s')
    assert.equal('\n', w.writes[#w.writes])
    for i = 1, #w.writes - 1 do
      assert.equal('\r', w.writes[i]:sub(1, 1))
      assert.is_true(text.width(w.writes[i]:sub(2)) <= 79)
    end
  end)

  it('shows share, rate and the time left', function()
    local w = watched(200, { tty = true, unit = 'epochs' })
    w.now = 110
    w.bar:update(50)
    assert.equal('\r 25% │███████▌                      │ 50/200 epochs, 5 epochs/s, 30 s left', w.writes[1])
    w.now = 140
    w.bar:update(200):done()
    assert.equal('\r100% │██████████████████████████████│ 200/200 epochs, 5 epochs/s, took 40 s',
      w.writes[#w.writes - 1])
  end)

  it('leaves out the bar, then the count, where the line is short', function()
    local w = watched(200, { tty = true, unit = 'epochs', label = 'training', width = 60 })
    w.now = 110
    w.bar:update(50, 'a note')
    assert.equal('\rtraining  25% a note, 50/200 epochs, 5 epochs/s, 30 s left', w.writes[1])
    w = watched(200, { tty = true, unit = 'epochs', label = 'training', width = 50 })
    w.now = 110
    w.bar:update(50, 'a note')
    assert.equal('\rtraining  25% a note, 5 epochs/s, 30 s left', w.writes[1])
  end)

  it('covers what a longer line left behind', function()
    local w = watched(nil, { tty = true })
    w.now = 101
    w.bar:update(123456)
    w.now = 102
    w.bar:update(1)
    assert.is_true(text.width(w.writes[2]) >= text.width(w.writes[1]))
  end)

  it('writes a line at every tenth when there is no terminal', function()
    local w = watched(1000, { tty = false, label = 'load', unit = 'B' })
    for i = 1, 1000 do
      w.now = 100 + i / 100
      w.bar:add()
    end
    w.bar:done():done()
    assert.equal(10, #w.writes)
    assert.equal('load: 10%, 100 B/1000 B, 100 B/s, 9 s left\n', w.writes[1])
    assert.equal('load: 100%, 1000 B/1000 B, 100 B/s, took 10 s\n', w.writes[10])
  end)

  it('does without a total and with a total of 0', function()
    local w = watched(nil, { tty = true })
    w.now = 102
    w.bar:add(10)
    assert.equal('\r10, 5 steps/s', w.writes[1])
    watched(0, { tty = true }).bar:update(0):done()
    w = watched(100, { from = 60 }) -- what was done before has taken no time
    w.now = w.now + 2
    w.bar:update(64):update(70)
    w.bar:done()
    assert.same({ '70%, 70/100, 5 steps/s, 6 s left\n', '70%, 70/100, 5 steps/s, took 2 s\n' }, w.writes)
    assert.has_error(function() progress.new(-1) end,
      'progress: total must be finite and at least 0, or nil when it is not known; got -1')
    assert.has_error(function() w.bar:update('x') end, 'progress: update takes the amount done so far, got x')
  end)
end)
