-- io_spec.lua - mc.load, mc.open, mc.save of npy and npz: every dtype and layout, in pieces, lazily.
--
-- Files from NumPy are written here byte by byte.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local files = support.load 'files'
local message = support.message
local at, write, read, listing = files.at, files.write, files.read, files.listing

before_each(files.begin)
after_each(files.finish)

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
