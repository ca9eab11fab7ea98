-- io_spec.lua - mc.load, mc.open, mc.save: npy, npz, csv, json, text; what a failed write leaves; what a hostile file
-- does.
--
-- Files from NumPy are written here byte by byte. Child processes are the program itself. Needs a directory for
-- temporary files, nothing else; what the machine does not allow (a small file system, a read-only directory for root)
-- shows as pending.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local file = require 'mascon.base.file'
local host = require 'mascon.host'
local message = support.message

local PROGRAM = os.getenv 'MASCON' or host.exe
local folder

before_each(function()
  folder = os.tmpname()
  os.remove(folder)
  assert(os.execute('mkdir ' .. folder) == 0)
end)
after_each(function()
  collectgarbage()
  collectgarbage()
  os.execute('rm -rf ' .. folder)
end)

local function at(name) return folder .. '/' .. name end

local function write(name, bytes)
  local f = assert(io.open(at(name), 'wb'))
  f:write(bytes)
  f:close()
  return at(name)
end

local function read(path)
  local f = assert(io.open(path, 'rb'))
  local s = f:read '*a'
  f:close()
  return s
end

--- Names in the folder, sorted, one string.
local function listing()
  local p = io.popen('ls -A ' .. folder)
  local s = p:read '*a'
  p:close()
  return (s:gsub('\n$', ''))
end

local function run_child(code, before)
  local path = write('child.lua', code)
  local status = os.execute((before or '') .. "exec '" .. PROGRAM .. "' " .. path .. ' >/dev/null 2>&1')
  os.remove(path)
  return status
end

local DTYPES = { 'bool', 'u8', 'i8', 'i16', 'i32', 'i64', 'f16', 'bf16', 'f32', 'f64', 'c64', 'c128' }
local SHAPES = { {}, { 0 }, { 1 }, { 7 }, { 3, 5 }, { 2, 0, 4 }, { 2, 3, 4 }, { 1, 2, 1, 2, 1, 2, 1, 2 }, { 300, 11 } }

local function some(shape, dtype)
  local x = mc.randint(0, 100, shape, { seed = 3 }) - (dtype == 'u8' and 0 or 50)
  if dtype == 'bool' then return mc.gt(x, 0) end
  if dtype == 'c64' or dtype == 'c128' then return x:to(dtype) * mc.complex(0.5, -2) end
  return x:to(dtype)
end

--- The same elements in every layout.
local function layouts(x)
  local list = { x }
  local n = x.ndim
  if n >= 1 then
    list[#list + 1] = x:flip(1)
    if n < 8 then list[#list + 1] = mc.stack({ x, x }, { axis = n + 1 })[{ mc.ellipsis, 2 }] end
  end
  if n >= 2 then
    list[#list + 1] = x.mT
    local p = {}
    for i = 1, n do p[i] = n + 1 - i end
    list[#list + 1] = x:permute_dims(p)
    list[#list + 1] = x:permute_dims(p):copy():permute_dims(p)
  end
  return list
end

local function same(a, b)
  assert.equal(a.dtype, b.dtype)
  assert.equal(a.shape, b.shape)
  if a.dtype == 'f16' or a.dtype == 'bf16' then a, b = a:to 'f32', b:to 'f32' end
  assert.is_true(mc.array_equal(a, b))
end

describe('npy', function()
  it('brings every dtype, shape and layout back, read and mapped', function()
    for _, dtype in ipairs(DTYPES) do
      for _, shape in ipairs(SHAPES) do
        for _, x in ipairs(layouts(some(shape, dtype))) do
          mc.save(at 'x.npy', x)
          same(x, mc.load(at 'x.npy'))
          same(x, mc.open(at 'x.npy'))
        end
      end
    end
    assert.equal('x.npy', listing())
  end)

  it('writes what the format of NumPy asks for, with data at a multiple of 64', function()
    mc.save(at 'x.npy', mc.tensor({ { 1, 2, 3 }, { 4, 5, 6 } }, { dtype = 'f32' }))
    local s = read(at 'x.npy')
    assert.equal('\147NUMPY\1\0', s:sub(1, 8))
    local n = s:byte(9) + 256 * s:byte(10)
    assert.equal(0, (10 + n) % 64)
    assert.equal("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", (s:sub(11, 10 + n):gsub('%s*$', '')))
    assert.equal('\0\0\128\63\0\0\0\64', s:sub(11 + n, 18 + n))
    assert.equal(10 + n + 24, #s)
  end)

  it('keeps the order of a column-major tensor', function()
    local x = mc.arange(6):reshape { 2, 3 }.T
    mc.save(at 'x.npy', x)
    assert.truthy(read(at 'x.npy'):find("'fortran_order': True, 'shape': (3, 2)", 1, true))
    assert.same({ 1, 3 }, mc.load(at 'x.npy').strides)
    assert.same({ 1, 3 }, mc.open(at 'x.npy').strides)
  end)

  --- An .npy image as NumPy writes it.
  local function image(version, header, data)
    local size = version == 1 and 2 or 4
    local text = header .. (' '):rep(-(8 + size + #header + 1) % 64) .. '\n'
    local n, length = #text, ''
    for _ = 1, size do
      length = length .. string.char(n % 256)
      n = math.floor(n / 256)
    end
    return '\147NUMPY' .. string.char(version) .. '\0' .. length .. text .. data
  end

  it('reads the other byte order, column-major data and the versions 1 to 3', function()
    local big = "{'descr': '>i4', 'fortran_order': True, 'shape': (2, 2), }"
    for version = 1, 3 do
      write('x.npy', image(version, big, '\0\0\0\1\0\0\0\2\0\0\0\3\255\255\255\252'))
      for _, f in ipairs { mc.load, mc.open } do
        local x = f(at 'x.npy')
        assert.equal('i32', x.dtype)
        assert.same({ { 1, 3 }, { 2, -4 } }, x:totable())
      end
    end
  end)

  it('widens the unsigned integers that mascon lacks, and refuses what does not fit', function()
    write('x.npy', image(1, "{'descr': '<u2', 'fortran_order': False, 'shape': (2,), }", '\255\255\1\0'))
    assert.same({ 65535, 1 }, mc.load(at 'x.npy'):totable())
    assert.equal('i32', mc.load(at 'x.npy').dtype)
    write('y.npy', image(1, "{'descr': '<u8', 'fortran_order': False, 'shape': (1,), }", ('\255'):rep(8)))
    assert.truthy(message(mc.load, at 'y.npy'):find(at 'y.npy', 1, true))
    write('z.npy', image(1, "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", ('\0'):rep(8)))
    assert.truthy(message(mc.load, at 'z.npy'):find(at 'z.npy', 1, true))
  end)

  it('maps read only, in place, and outlives a new file of the name', function()
    local x = mc.randn { 300, 300, seed = 1 }
    mc.save(at 'x.npy', x)
    local before = mc.memory().tensors
    local m = mc.open(at 'x.npy')
    assert.is_true(mc.memory().tensors - before < 100000)
    assert.truthy(message(m.fill_, m, 0):find('read-only', 1, true)
      or message(m.fill_, m, 0):find('read only', 1, true))
    mc.save(at 'x.npy', mc.zeros { 3 })
    assert.is_true(mc.array_equal(m, x))
    mc.save(at 'y.npy', m:flip(2))
    assert.is_true(mc.array_equal(mc.load(at 'y.npy'), x:flip(2)))
  end)

  it('can be written over the file it is mapped from', function()
    local x = mc.randn { 50, 50, seed = 1 }
    mc.save(at 'x.npy', x)
    mc.save(at 'x.npy', mc.open(at 'x.npy').T)
    assert.is_true(mc.array_equal(mc.load(at 'x.npy'), x.T))
  end)

  it('takes numbers and nested tables, and says what it cannot take', function()
    mc.save(at 'x.npy', { { 1, 2 }, { 3, 4 } })
    assert.same({ { 1, 2 }, { 3, 4 } }, mc.load(at 'x.npy'):totable())
    mc.save(at 'x.npy', 3)
    assert.equal(3, mc.load(at 'x.npy'):item())
    mc.save(at 'x.npy', true)
    assert.is_true(mc.load(at 'x.npy'):item())
    assert.truthy(message(mc.save, at 'x.npy', 'text'):find('one tensor', 1, true))
    assert.truthy(message(mc.save, at 'x.npy', nil):find('one tensor', 1, true))
    local gone = mc.zeros { 3 }
    gone:release()
    assert.truthy(message(mc.save, at 'x.npy', gone):find('released', 1, true))
    assert.is_true(mc.load(at 'x.npy'):item())
  end)

  it('writes a strided tensor in slabs, without a copy of the whole', function()
    local x = mc.arange(3000000):reshape { 3000, 1000 }['::-1, ::2']
    collectgarbage()
    collectgarbage()
    local before = mc.memory().tensors
    local largest, wrapped = 0, package.loaded['mascon.core.tensor'].methods
    local copy = wrapped.copy
    wrapped.copy = function(t)
      local c = copy(t)
      largest = math.max(largest, mc.memory().tensors - before)
      return c
    end
    local ok, e = pcall(mc.save, at 'x.npy', x)
    wrapped.copy = copy
    assert.is_true(ok, e)
    assert.is_true(largest > 0 and largest < 9 * 2 ^ 20)
    assert.is_true(mc.array_equal(mc.open(at 'x.npy'), x))
  end)
end)

describe('npy written in pieces', function()
  it('grows along its first axis', function()
    local s = mc.open(at 'x.npy', { mode = 'w', dtype = 'f32', row = { 3 } })
    local x = mc.randn { 10, 3, seed = 1, dtype = 'f32' }
    s:append(x['1:4, :'])
    s:append(x['5:9, :']:copy():flip(1):flip(1))
    s:append(x[10])
    assert.is_nil(io.open(at 'x.npy', 'rb'))
    assert.equal(10, s.rows)
    s:close()
    same(x, mc.load(at 'x.npy'))
    assert.equal('x.npy', listing())
  end)

  it('takes dtype and row from the first block', function()
    local s = mc.open(at 'x.npy', { mode = 'w' })
    for i = 1, 3 do s:append(mc.full({ 2, 4, 5 }, i, { dtype = 'i32' })) end
    s:close()
    local x = mc.open(at 'x.npy')
    assert.equal('i32', x.dtype)
    assert.same({ 6, 4, 5 }, { unpack(x.shape) })
    assert.equal(3, x[{ -1, 1, 1 }]:item())
  end)

  it('takes plain numbers for an empty row, and may stay empty', function()
    local s = mc.open(at 'x.npy', { mode = 'w', row = {} })
    s:append(1)
    s:append { 2, 3 }
    s:close()
    assert.same({ 1, 2, 3 }, mc.load(at 'x.npy'):totable())
    mc.open(at 'y.npy', { mode = 'w', row = { 5 }, dtype = 'i8' }):close()
    assert.same({ 0, 5 }, { unpack(mc.load(at 'y.npy').shape) })
  end)

  it('refuses other shapes and narrowing, and goes on after that', function()
    local s = mc.open(at 'x.npy', { mode = 'w', dtype = 'i16', row = { 2 } })
    s:append(mc.tensor({ { 1, 2 } }, { dtype = 'u8' }))
    assert.truthy(message(s.append, s, mc.zeros({ 1, 3 }, { dtype = 'i16' })):find('rows of .* have the shape {2}'))
    assert.truthy(message(s.append, s, mc.zeros { 2 }):find('convert it with :to "i16"', 1, true))
    assert.truthy(message(s.append, s, mc.zeros({ 2 }, { dtype = 'i32' })):find('convert it', 1, true))
    s:append(mc.tensor({ 3, 4 }, { dtype = 'i16' }))
    s:close()
    assert.same({ { 1, 2 }, { 3, 4 } }, mc.load(at 'x.npy'):totable())
    assert.truthy(message(s.append, s, mc.zeros { 2 }):find('complete already', 1, true))
    assert.truthy(message(s.close, s):find('complete already', 1, true))
  end)

  it('leaves the old file when it is aborted, collected, or has no rows', function()
    mc.save(at 'x.npy', 7)
    local s = mc.open(at 'x.npy', { mode = 'w' })
    s:append(mc.zeros { 1000, 100 })
    assert.is_true(#listing() > #'x.npy')
    s:abort()
    s:abort()
    assert.equal('x.npy', listing())
    local function lost() mc.open(at 'x.npy', { mode = 'w', row = { 3 } }):append { 1, 2, 3 } end
    lost()
    for _ = 1, 3 do collectgarbage() end
    assert.equal('x.npy', listing())
    s = mc.open(at 'x.npy', { mode = 'w' })
    assert.truthy(message(s.close, s):find('got no rows', 1, true))
    assert.equal(7, mc.load(at 'x.npy'):item())
  end)

  it('comes from a function, and an error in it leaves the old file', function()
    local k = 0
    local function blocks()
      k = k + 1
      if k <= 3 then return mc.full({ k, 2 }, k) end
    end
    mc.save(at 'x.npy', blocks)
    assert.same({ 1, 2, 2, 3, 3, 3 }, mc.load(at 'x.npy')[{ mc.all, 2 }]:totable())
    k = 0
    local function fails()
      k = k + 1
      if k == 3 then error 'no more data' end
      return mc.zeros { 100, 2 }
    end
    assert.truthy(message(mc.save, at 'x.npy', fails):find('no more data', 1, true))
    assert.equal('x.npy', listing())
    assert.equal(6, #mc.load(at 'x.npy'):totable())
  end)
end)

describe('npz', function()
  it('brings a table of tensors back, stored and deflated', function()
    local list = {}
    for _, dtype in ipairs(DTYPES) do
      list[dtype] = some({ 5, 3 }, dtype)
      list[dtype .. '/t'] = some({ 5, 3 }, dtype).T
    end
    for _, level in ipairs { 0, 1, 9 } do
      mc.save(at 'x.npz', list, { level = level })
      local back = mc.load(at 'x.npz')
      for k, x in pairs(list) do same(x, back[k]) end
      for k in pairs(back) do assert.truthy(list[k]) end
    end
  end)

  it('gives equal bytes for equal contents', function()
    mc.save(at 'a.npz', { x = mc.arange(9), y = mc.zeros { 2 }, z = mc.ones { 3 } })
    mc.save(at 'b.npz', { z = mc.ones { 3 }, y = mc.zeros { 2 }, x = mc.arange(9) })
    assert.equal(read(at 'a.npz'), read(at 'b.npz'))
  end)

  it('opens lazily: names, one array at a time, stored ones mapped', function()
    local x = mc.randn { 200, 200, seed = 1 }
    mc.save(at 'x.npz', { wide = x, small = mc.arange(3) })
    local a = mc.open(at 'x.npz')
    table.sort(a.names)
    assert.same({ 'small', 'wide' }, a.names)
    assert.is_true(a:has 'wide')
    assert.is_false(a:has 'narrow')
    local before = mc.memory().tensors
    local m = a:get 'wide'
    assert.is_true(mc.memory().tensors - before < 100000)
    assert.is_false((pcall(m.fill_, m, 0)))
    local c = a:get('wide', { map = false })
    c:fill_(0)
    a:verify()
    a:close()
    a:close()
    collectgarbage()
    assert.is_true(mc.array_equal(m, x))
    assert.truthy(message(a.get, a, 'wide'):find('was closed', 1, true))
  end)

  it('names the nearest array', function()
    mc.save(at 'x.npz', { wide = mc.zeros { 1 } })
    local a = mc.open(at 'x.npz')
    assert.truthy(message(a.get, a, 'wild'):find('did you mean "wide"?', 1, true))
    assert.truthy(message(a.get, a, 3):find('npz.get: name is 3', 1, true))
  end)

  it('finds damage by the checksum', function()
    mc.save(at 'x.npz', { x = mc.arange(100) })
    local s = read(at 'x.npz')
    local p = s:find('\0\0\0\0\0\0\240\63', 1, true) -- the number 1
    write('x.npz', s:sub(1, p) .. '\1' .. s:sub(p + 2))
    assert.truthy(message(mc.load, at 'x.npz'):find(at 'x.npz', 1, true))
    local a = mc.open(at 'x.npz')
    assert.is_false((pcall(a.verify, a)))
    assert.is_false((pcall(a.get, a, 'x', { verify = true })))
    assert.equal(100, a:get('x')[-1]:item())
  end)

  it('is written array by array, or not at all', function()
    mc.save(at 'x.npz', { old = mc.zeros { 1 } })
    local w = mc.open(at 'x.npz', { mode = 'w', level = 1 })
    w:put('a', mc.arange(1000))
    w:put('b', { 1, 2 })
    assert.truthy(message(w.put, w, '', mc.zeros { 1 }):find('no name', 1, true))
    assert.truthy(message(w.put, w, 'a\0b', mc.zeros { 1 }):find('no name', 1, true))
    assert.is_true(mc.open(at 'x.npz'):has 'old')
    w:close()
    assert.same({ 1, 2 }, mc.load(at 'x.npz').b:totable())
    local v = mc.open(at 'x.npz', { mode = 'w' })
    v:put('c', mc.zeros { 100 })
    v:abort()
    assert.truthy(message(v.close, v):find('start a new one', 1, true))
    v = mc.open(at 'x.npz', { mode = 'w' })
    v:put('c', mc.zeros { 100 })
    assert.is_false((pcall(v.put, v, 'c', mc.zeros { 1 }))) -- one name, two arrays
    assert.equal('x.npz', listing())
    assert.is_nil(mc.load(at 'x.npz').c)
  end)

  it('says what it cannot hold', function()
    assert.truthy(message(mc.save, at 'x.npz', mc.zeros { 2 }):find('a table of tensors', 1, true))
    assert.truthy(message(mc.save, at 'x.npz', { mc.zeros { 2 } }):find('have names', 1, true))
    assert.truthy(message(mc.save, at 'x.npz', { a = mc.zeros { 2 } }, { level = 10 }):find('level', 1, true))
    assert.truthy(message(mc.save, at 'x.npz', { a = mc.zeros { 2 } },
      { levl = 1 }):find('did you mean "level"?', 1, true))
    assert.equal('', listing())
  end)
end)

describe('csv', function()
  it('brings a tensor back to the bit, with and without names', function()
    local x = mc.randn { 500, 7, seed = 4 } * 1e-7
    x[{ 3, 2 }], x[{ 4, 2 }], x[{ 5, 2 }], x[{ 6, 2 }] = mc.nan, mc.inf, -mc.inf, 2 ^ 60
    mc.save(at 'x.csv', x)
    local t = mc.load(at 'x.csv')
    assert.is_nil(t.names)
    assert.equal(500, t.rows)
    assert.is_true(mc.array_equal(t.data:isnan(), x:isnan()))
    assert.is_true(mc.array_equal(mc.where(x:isnan(), 0, t.data), mc.where(x:isnan(), 0, x)))
    mc.save(at 'y.tsv', x['1:2, 1:2'], { header = { 'rate', 'log power' } })
    t = mc.load(at 'y.tsv')
    assert.same({ 'rate', 'log power' }, t.names)
    assert.is_true(mc.array_equal(t.columns.rate, x['1:2, 1']))
    assert.is_true(mc.array_equal(t.columns[2], t.columns['log power']))
    assert.equal('rate\tlog power', read(at 'y.tsv'):match '[^\n]*')
  end)

  it('reads more rows than fit one block', function()
    local x = mc.arange(200000):reshape { 100000, 2 }
    mc.save(at 'x.csv', x)
    assert.is_true(mc.array_equal(mc.load(at 'x.csv').data, x))
  end)

  it('gives columns of words as lists, the others as tensors', function()
    write('x.csv', 'name,age,note\nAda,36,"a, ""b"""\nBob,,\n"007",41,"two\nlines"\n')
    local t = mc.load(at 'x.csv')
    assert.is_nil(t.data)
    assert.equal(3, t.rows)
    assert.same({ 'Ada', 'Bob', '007' }, t.columns.name)
    assert.same({ 'a, "b"', '', 'two\nlines' }, t.columns.note)
    local age = t.columns.age:totable()
    assert.same({ 36, 41 }, { age[1], age[3] })
    assert.is_true(age[2] ~= age[2])
    assert.truthy(message(function() return t.columns.nane end):find('did you mean "name"?', 1, true))
    mc.save(at 'y.csv', t)
    assert.same({ 'a, "b"', '', 'two\nlines' }, mc.load(at 'y.csv').columns.note)
  end)

  it('notices words that turn up late', function()
    local rows = {}
    for i = 1, 5000 do rows[i] = i .. ',' .. (i == 4321 and 'bad' or i / 2) end
    write('x.csv', 'n,half\n' .. table.concat(rows, '\n'))
    local t = mc.load(at 'x.csv')
    assert.equal(5000 * 5001 / 2, t.columns.n:sum():item())
    assert.same({ '0.5', 'bad', '2500' }, { t.columns.half[1], t.columns.half[4321], t.columns.half[5000] })
    assert.truthy(message(mc.load, at 'x.csv', { numeric = true }):find(':4322, column 2: "bad" is no number', 1, true))
  end)

  it('knows a header, a byte order mark, both line ends, semicolons and decimal commas', function()
    write('a.csv', '\239\187\191x;y\r\n1,5;2\r\n-3;4e-1\r\n')
    local t = mc.load(at 'a.csv', { decimal = ',' })
    assert.same({ 'x', 'y' }, t.names)
    assert.same({ { 1.5, 2 }, { -3, 0.4 } }, t.data:totable())
    write('b.csv', '2019,2020\n1,2\n')
    assert.is_nil(mc.load(at 'b.csv').names)
    assert.same({ '2019', '2020' }, mc.load(at 'b.csv', { header = true }).names)
    write('c.csv', 'a,a,,a_2\n1,2,3,4\n')
    assert.same({ 'a', 'a_2', 'column_3', 'a_2_2' }, mc.load(at 'c.csv').names)
    assert.same({ 'a', '1' }, mc.load(at 'c.csv', { header = false }).columns[1])
    write('d.csv', '# made by hand\n1 2\n# more\n3 4\n')
    assert.same({ { 1, 2 }, { 3, 4 } }, mc.load(at 'd.csv', { comment = '#', separator = ' ' }).data:totable())
    write('e.csv', 'v\n1\nmissing\n3')
    local e = mc.load(at 'e.csv', { missing = { 'missing' } }).data:totable()
    assert.is_true(e[2][1] ~= e[2][1])
  end)

  it('keeps missing values of one column and leaves blank lines out elsewhere', function()
    write('a.csv', 'v\n1\n\n3\n\n\n')
    local v = mc.load(at 'a.csv').columns.v:totable()
    assert.equal(3, #v)
    assert.is_true(v[1] == 1 and v[2] ~= v[2] and v[3] == 3)
    write('b.csv', '1,2\n\n3,4\n\n')
    assert.same({ { 1, 2 }, { 3, 4 } }, mc.load(at 'b.csv').data:totable())
  end)

  it('takes only decimal numbers for numbers, and no integer that would lose digits', function()
    write('a.csv', 'id,hex,plain\n9007199254740993,0x10, 1e3 \n9007199254740992,12,-.5\n')
    local t = mc.load(at 'a.csv')
    assert.same({ '9007199254740993', '9007199254740992' }, t.columns.id)
    assert.same({ '0x10', '12' }, t.columns.hex)
    assert.same({ 1000, -0.5 }, t.columns.plain:totable())
    write('b.csv', '9007199254740992,0009007199254740994\n')
    assert.same({ { 2 ^ 53, 2 ^ 53 + 2 } }, mc.load(at 'b.csv').data:totable())
  end)

  it('says where a file is wrong', function()
    write('a.csv', 'a,b\n1,2\n3\n')
    assert.truthy(
      message(mc.load, at 'a.csv'):find('a.csv:3, column 2: this line has 1 cells, the first has 2', 1, true))
    write('b.csv', 'a,b\n1,2\n3,4,5\n')
    assert.truthy(message(mc.load, at 'b.csv'):find('b.csv:3, column 3: ', 1, true))
    write('c.csv', 'a,b\n1,2\n3,"x\ny\nz\n')
    assert.truthy(
      message(mc.load, at 'c.csv'):find('c.csv:3, column 2: the quote that opens here is never closed', 1, true))
    write('d.csv', 'a,b\n"x"y,2\n')
    assert.truthy(message(mc.load, at 'd.csv'):find('d.csv:2, column 1: "y" follows the closing quote', 1, true))
    write('e.csv', 'a,b\n1,\0\n')
    assert.truthy(message(mc.load, at 'e.csv'):find('e.csv:2: a zero byte', 1, true))
    write('f.csv', '\255\254a\0')
    assert.truthy(message(mc.load, at 'f.csv'):find('UTF-16', 1, true))
    assert.truthy(message(mc.load, at 'a.csv', { separator = '::' }):find('give one character', 1, true))
    assert.truthy(
      message(mc.load, at 'a.csv', { separator = ',', decimal = ',' }):find('separates cells and decimals', 1, true))
    assert.truthy(message(mc.load, at 'a.csv', { seperator = ',' }):find('did you mean "separator"?', 1, true))
  end)

  it('reads files without rows', function()
    write('a.csv', '')
    assert.same({ 0, 0 }, { unpack(mc.load(at 'a.csv').data.shape) })
    write('b.csv', 'x,y\n')
    local t = mc.load(at 'b.csv')
    assert.same({ 0, 2 }, { unpack(t.data.shape) })
    assert.same({ 'x', 'y' }, t.names)
  end)

  it('is written from rows, vectors and columns, and in pieces', function()
    mc.save(at 'a.csv', { { 1, 'x' }, { 2 } }, { header = { 'n', 'w' }, newline = 'crlf' })
    assert.equal('n,w\r\n1,x\r\n2,\r\n', read(at 'a.csv'))
    mc.save(at 'b.csv', mc.tensor { 1, 2.5 })
    assert.equal('1\n2.5\n', read(at 'b.csv'))
    mc.save(at 'c.csv', { names = { 'a', 'b' }, columns = { a = mc.arange(2), b = { 'p', 'q' } } })
    assert.equal('a,b\n1,p\n2,q\n', read(at 'c.csv'))
    local w = mc.open(at 'd.csv', { mode = 'w', header = { 'a', 'b' } })
    w:append(mc.tensor { { 1, 2 } })
    w:append { { 'x' } }
    w:close()
    assert.equal('a,b\n1,2\nx,\n', read(at 'd.csv'))
    mc.save(at 'f.csv', mc.tensor({ { 0.1 } }, { dtype = 'f32' }))
    assert.equal('0.1\n', read(at 'f.csv'))
  end)

  it('says what it cannot write and leaves nothing behind', function()
    assert.truthy(message(mc.save, at 'x.csv', mc.zeros { 2, 2, 2 }):find('rows and columns', 1, true))
    assert.truthy(message(mc.save, at 'x.csv', mc.zeros({ 2 }, { dtype = 'c64' })):find('real and imaginary', 1, true))
    assert.truthy(message(mc.save, at 'x.csv', 5):find('array of rows', 1, true))
    assert.truthy(
      message(mc.save, at 'x.csv', mc.zeros { 2, 2 }, { header = { 'a' } }):find('has 2 columns and', 1, true))
    assert.truthy(message(mc.save, at 'x.csv', { { 1 }, { {} } }):find('row 2', 1, true))
    assert.truthy(message(mc.save, at 'x.csv', { names = { 'a', 'b' }, columns = { a = { 1 } } })
      :find("column 'b' is missing", 1, true))
    for _ = 1, 3 do collectgarbage() end
    assert.equal('', listing())
  end)
end)

describe('json and text', function()
  it('come back as they were', function()
    mc.save(at 'x.json', { name = 'a', list = { 1, 2.5, true } })
    assert.same({ name = 'a', list = { 1, 2.5, true } }, mc.load(at 'x.json'))
    mc.save(at 'x.txt', 'two\nlines\0')
    assert.equal('two\nlines\0', mc.load(at 'x.txt'))
    write('y.txt', '')
    assert.equal('', mc.load(at 'y.txt'))
  end)

  it('name the file that is wrong, with line and column', function()
    write('x.json', '{\n "a": nope }')
    assert.truthy(message(mc.load, at 'x.json'):find('x.json: json.decode: line 2', 1, true))
    assert.truthy(message(mc.save, at 'x.txt', {}):find('holds text', 1, true))
  end)
end)

describe('the path', function()
  it('is checked: kind, existence, extension', function()
    assert.truthy(message(mc.load, 3):find('load: path is 3', 1, true))
    assert.truthy(message(mc.load, at 'none.npy'):find('none.npy: No such file', 1, true))
    assert.truthy(message(mc.open, at 'none.edf'):find('none.edf: No such file', 1, true))
    assert.truthy(message(mc.load, at 'x.nyp'):find('did you mean "npy"?', 1, true))
    assert.truthy(message(mc.load, at 'x'):find('has no extension', 1, true))
    assert.truthy(message(mc.load, 'a\0b.npy'):find('zero byte', 1, true))
    assert.truthy(message(mc.save, at 'x.edf', mc.zeros { 1 }):find('extension "edf"', 1, true))
    assert.truthy(message(mc.open, at 'x.npy', { mode = 'a' }):find('"r" to read or "w" to write', 1, true))
    assert.truthy(message(mc.load, at 'x.npy', 5):find('options are 5', 1, true))
    assert.truthy(message(mc.load, folder, { format = 'npy' }):find('directory', 1, true))
  end)

  it('may lie about the format when the option tells it, whatever the case of the extension', function()
    mc.save(at 'x.dat', mc.arange(3), { format = 'npy' })
    assert.same({ 1, 2, 3 }, mc.load(at 'x.dat', { format = 'npy' }):totable())
    mc.save(at 'Y.NPY', mc.arange(3))
    assert.same({ 1, 2, 3 }, mc.load(at 'Y.NPY'):totable())
  end)

  it('blames the line of the script', function()
    assert.truthy(message(mc.load, at 'none.npy'):find '^%S*io_spec%.lua:%d+: '
      or message(function() mc.load(at 'none.npy') end):find 'io_spec%.lua:%d+: ')
  end)
end)

describe('mascon.base.file', function()
  it('writes, reads and replaces whole files', function()
    assert.is_true(file.write(at 'x', 'one'))
    assert.is_true(file.write(at 'x', 'two\0'))
    assert.equal('two\0', file.read(at 'x'))
    assert.equal('x', listing())
  end)

  it('returns nil and a message for facts of the world', function()
    local ok, msg = file.read(at 'none')
    assert.is_nil(ok)
    assert.truthy(msg:find('none: No such file', 1, true))
    ok, msg = file.read(folder)
    assert.is_nil(ok)
    assert.truthy(msg:find('directory', 1, true))
    ok, msg = file.write(at 'no/where', 'x')
    assert.is_nil(ok)
    assert.truthy(msg:find('create the directory first', 1, true))
    ok, msg = file.write('a\0b', 'x')
    assert.is_nil(ok)
    assert.truthy(msg:find('zero byte', 1, true))
    assert.error_matches(function() file.write(nil, 'x') end, 'file%.write: path is nil')
    assert.error_matches(function() file.write(at 'x', 5) end, 'file%.write: bytes is 5')
    assert.is_nil((file.create(at 'no/where')))
  end)

  it('writes in pieces, all or nothing', function()
    file.write(at 'x', 'old')
    local w = file.create(at 'x')
    for i = 1, 1000 do assert.is_true(w:append(('%04d'):format(i))) end
    assert.equal('old', file.read(at 'x'))
    assert.is_true(w:close())
    assert.equal(4000, #file.read(at 'x'))
    assert.is_nil((w:append 'more'))
    assert.is_nil((w:close()))
    w = file.create(at 'x')
    w:append 'new'
    w:abort()
    assert.equal(4000, #file.read(at 'x'))
    assert.equal('x', listing())
  end)
end)

describe('a write that fails', function()
  it('on a full device is an error with advice', function()
    local full = io.open('/dev/full', 'wb')
    if not full then
      pending 'this machine has no /dev/full'
      return
    end
    full:close()
    local ok, msg = file.write('/dev/full', 'x')
    assert.is_nil(ok)
    assert.truthy(msg:find('No space left', 1, true))
    assert.truthy(
      message(mc.save, '/dev/full', mc.zeros { 100000 }, { format = 'npy' }):find('free some space', 1, true))
    assert.truthy(message(mc.save, '/dev/full', mc.zeros { 3 }, { format = 'npy' }):find('free some space', 1, true))
    assert.truthy(message(mc.save, '/dev/full', mc.zeros { 30000, 2 },
      { format = 'csv' }):find('free some space', 1, true))
    assert.truthy(message(mc.save, '/dev/full', { a = mc.zeros { 3 } },
      { format = 'npz' }):find('a pipe or a device', 1, true))
  end)

  it('on a full file system leaves the old file and nothing else', function()
    if os.execute('mount -t tmpfs -o size=64k tmpfs ' .. folder .. ' 2>/dev/null') ~= 0 then
      pending 'a small file system cannot be mounted here'
      return
    end
    local ok, e = pcall(function()
      mc.save(at 'x.npy', 7)
      mc.save(at 'x.npz', { a = mc.zeros { 1 } })
      assert.truthy(message(mc.save, at 'x.npy', mc.zeros { 20000 }):find('No space left', 1, true))
      assert.truthy(message(mc.save, at 'x.npz', { a = mc.zeros { 20000 } }):find('No space left', 1, true))
      assert.truthy(message(mc.save, at 'x.csv', mc.randn { 20000, seed = 1 }):find('No space left', 1, true))
      local s = mc.open(at 'x.npy', { mode = 'w', row = { 1000 } })
      assert.truthy(message(function()
        for _ = 1, 20 do s:append(mc.zeros { 1000 }) end
      end):find('No space left', 1, true))
      assert.truthy(message(s.append, s, mc.zeros { 1000 }):find('given up', 1, true))
      for _ = 1, 3 do collectgarbage() end
      assert.equal('x.npy\nx.npz', listing())
      assert.equal(7, mc.load(at 'x.npy'):item())
      assert.same({ 0 }, mc.load(at 'x.npz').a:totable())
    end)
    collectgarbage()
    os.execute('umount ' .. folder)
    assert(ok, e)
  end)

  it('in a directory that may not be written is an error that names the file', function()
    os.execute('chmod 555 ' .. folder)
    local path = at 'x.npy'
    if file.write(at 'probe', 'x') then -- root may write everywhere but there
      path = '/sys/kernel/x.npy'
      if not io.open '/sys/kernel' then return pending 'this user may write everywhere, and there is no /sys' end
    end
    local ok, m = pcall(mc.save, path, mc.zeros { 1 })
    os.execute('chmod 755 ' .. folder)
    if ok then
      os.remove(path)
      pending 'this user may write everywhere'
      return
    end
    assert.truthy(tostring(m):find('x.npy: ', 1, true))
    assert.truthy(tostring(m):find('choose a directory', 1, true))
  end)

  it('because the process is killed leaves the old file whole', function()
    mc.save(at 'x.npy', 7)
    local status = run_child(([[
      local mc = require 'mascon'
      local s = mc.open('%s', { mode = 'w' })
      for _ = 1, 50 do s:append(mc.zeros { 100, 100 }) end
      io.popen('kill -9 $PPID'):read '*a'
      s:close()]]):format(at 'x.npy'))
    assert.is_true(status ~= 0)
    assert.equal(7, mc.load(at 'x.npy'):item())
  end)

  it('because files may not grow leaves the old file whole', function()
    mc.save(at 'x.npy', 7)
    local status =
      run_child(("local mc = require 'mascon' mc.save('%s', mc.zeros { 100000 })"):format(at 'x.npy'), 'ulimit -f 64; ')
    assert.is_true(status ~= 0)
    assert.equal(7, mc.load(at 'x.npy'):item())
  end)

  it('writes through a link and keeps its permissions', function()
    mc.save(at 'x.npy', 1)
    os.execute('chmod 640 ' .. at 'x.npy' .. '; ln -s x.npy ' .. at 'link.npy')
    mc.save(at 'link.npy', 2)
    assert.equal(2, mc.load(at 'x.npy'):item())
    local p = io.popen('stat -c %a ' .. at 'x.npy')
    assert.equal('640', p:read '*l')
    p:close()
  end)
end)

describe('a broken file', function()
  it('may hold any bits as a NaN: in Lua it is a number', function()
    -- LuaJIT tells types by the bits of a NaN; these would be nil, a boolean, pointers
    local bits = { ('\255'):rep(8), ('\0'):rep(5) .. '\0\255\255', ('\0'):rep(6) .. '\254\255',
      ('\65'):rep(5) .. '\128\253\255', ('\0'):rep(6) .. '\248\127' }
    local text = ("{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }"):format(#bits)
    local path = write('nan.npy',
      '\147NUMPY\1\0' .. string.char(118, 0) .. text .. (' '):rep(117 - #text) .. '\n' .. table.concat(bits))
    local x = mc.load(path)
    local pairs_ = mc.concat { x, x }:reshape(-1, 2):totable()
    for i = 1, #bits do
      for _, v in ipairs { x[i]:item(), x:totable()[i], pairs_[i][1],
        (x[{ { i, i } }] + mc.complex(0, 0)):totable()[1].re } do
        assert.equal('number', type(v))
        assert.is_true(v ~= v)
      end
    end
    local small = mc.load(path):to { dtype = 'f32' }:totable()
    for i = 1, #bits do assert.equal('number', type(small[i])) end
  end)

  local function every_cut(name, value, opts)
    mc.save(at(name), value, opts)
    local bytes = read(at(name))
    for n = 0, #bytes - 1 do
      local path = write('cut-' .. name, bytes:sub(1, n))
      for _, f in ipairs { mc.load, mc.open } do
        local ok, e = pcall(f, path)
        assert.is_false(ok, n .. ' bytes of ' .. #bytes)
        assert.truthy(tostring(e):find(path, 1, true), tostring(e))
      end
    end
    return #bytes
  end

  it('npy cut at any byte is an error that names it', function()
    assert.equal(176, every_cut('x.npy', mc.arange(6):reshape { 2, 3 }))
  end)

  it('npz cut at any byte is an error that names it', function()
    assert.is_true(every_cut('x.npz', { a = mc.arange(3), b = mc.zeros { 2 } }) > 300)
    assert.is_true(every_cut('y.npz', { a = mc.arange(3) }, { level = 6 }) > 100)
  end)

  it('with any byte changed is read or refused, never a crash', function()
    mc.save(at 'x.npz', { a = mc.arange(3) })
    mc.save(at 'x.npy', mc.arange(3))
    for _, name in ipairs { 'x.npy', 'x.npz' } do
      local bytes = read(at(name))
      for i = 1, #bytes do
        for _, b in ipairs { 0, 255, 57, (bytes:byte(i) + 1) % 256 } do
          local ok, e =
            pcall(mc.load, write('y' .. name:sub(2), bytes:sub(1, i - 1) .. string.char(b) .. bytes:sub(i + 1)))
          assert.is_true(ok or type(e) == 'string')
        end
      end
    end
  end)

  it('of the corpus is read or refused with its name, never a crash', function()
    local count, refused = 0, 0
    for _, kind in ipairs { 'npy', 'npz', 'edf' } do
      local p = io.popen('ls ' .. support.folder .. '/fuzz/corpus/' .. kind)
      for name in p:lines() do
        local path = support.folder .. '/fuzz/corpus/' .. kind .. '/' .. name
        for _, f in ipairs { mc.load, mc.open } do
          local ok, e = pcall(f, path, { format = kind })
          if not ok then
            refused = refused + 1
            assert.truthy(tostring(e):find(name, 1, true), tostring(e))
          elseif f == mc.open and kind == 'npz' then
            for _, n in ipairs(e.names) do
              local fine, why = pcall(e.get, e, n, { verify = true })
              assert.is_true(fine or type(why) == 'string')
            end
          elseif f == mc.open and kind == 'edf' then
            assert.is_true(#e.annotations >= 0 and #e.gaps >= 0 and #e.segments >= 1)
            pcall(e.triggers, e, { channel = 1 })
            e:close()
          end
        end
        -- as another kind of file, too
        for _, other in ipairs { 'npy', 'npz', 'edf', 'csv', 'json' } do pcall(mc.load, path, { format = other }) end
        count = count + 1
      end
      p:close()
    end
    assert.is_true(count >= 43)
    assert.is_true(refused >= 20)
  end)
end)
