-- native_spec.lua - groups as compiled C: the bits of the plain ops, for every op, dtype and layout; the compiler that
-- is missing, fails, hangs or lies; the cache that is read-only, full, damaged, foreign or shared by many.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local lib = require 'mascon.core.ffi'
local native = require 'mascon.compile.native'
local compiler = require 'mascon.compile.native.compiler'
local process = support.load 'process'

local available = compiler.find() ~= nil
compiler.timeout = 600 -- of this process: a busy machine is no fault here
local function it_native(name, f)
  it(name, function()
    if not available then return pending('no C compiler here') end
    f()
  end)
end

local function plain(t) return mc.where(mc.isnan(t), 0, t) end
local function equal(want, got, what)
  assert.equal(want.dtype, got.dtype, what)
  assert.equal(tostring(want.shape), tostring(got.shape), what)
  if want.dtype == 'bool' then return assert(mc.array_equal(want, got), what .. ' differs') end
  assert(mc.array_equal(mc.isnan(want), mc.isnan(got)) and mc.array_equal(plain(want), plain(got)), what .. ' differs')
end

--- f through compiled code, after the plain f; every group must be compiled.
local function agrees(what, f, args, reference)
  local want = (reference or f)(unpack(args))
  local g = mc.compile(f, { tier = 'native' })
  g(unpack(args))
  local groups, compiled = g:groups()
  assert.truthy(groups > 0, what .. ': no group')
  assert.equal(groups, compiled, what .. ': groups in compiled code')
  local got = g(unpack(args))
  if mc.is_tensor(want) then return equal(want, got, what) end
  for k, w in pairs(want) do equal(w, got[k], what .. '.' .. k) end
end

-- ---------------------------------------------------------------- every op

local EWISE = { unary = 1, binary = 2, ternary = 3, where = 3 }
local SLOW = { betaincinv = true, gammaincinv = true, gammainccinv = true, iv = true, kv = true, jv = true, yv = true }

--- Rows of a dtype, a few of the long special functions only.
local function rows_of(dtype)
  local list, special = {}, 0
  for _, r in ipairs(lib.gen.ops) do
    if EWISE[r.family] and not r.internal then
      for _, d in ipairs(r.dtypes) do
        if d == dtype then
          local keep = r.kernels ~= 'special'
          if not keep and dtype == 'f64' and not SLOW[r[1]] then
            special = special + 1
            keep = special % 24 == 1
          end
          if keep then list[#list + 1] = r end
        end
      end
    end
  end
  return list
end

local function lookup(r)
  local m = mc
  for part in (r.namespace or ''):gmatch '[^.]+' do m = m[part] end
  return m[r[1]]
end

local function every_op(dtype)
  local rows = rows_of(dtype)
  local kind = dtype:match '^%a'
  local args = {}
  for i = 1, 3 do
    local t = mc.randn { 60, 33, seed = i } * 3
    if kind == 'f' then -- some elements that need the slow paths, and values past the range
      t[{ i, mc.all }] = 1e5 * i
      t[{ 10 + i, 1 }] = 1 / 0
      t[{ 20 + i, 2 }] = 0 / 0
      t[{ 30, 3 }] = 0
    end
    if kind == 'u' or kind == 'b' then t = mc.abs(t) end
    args[i] = t:to(dtype)
  end
  if kind == 'i' or kind == 'u' then args[2] = mc.maximum(mc.abs(args[2]), 1):to(dtype) end
  local choice = mc.gt(mc.randn { 60, 33, seed = 9 }, 0)
  return function(a, b, c, p)
    local out = {}
    for _, r in ipairs(rows) do
      local y
      local f = lookup(r)
      if r.family == 'where' then y = f(p, b, c)
      elseif EWISE[r.family] == 1 then y = f(a)
      elseif EWISE[r.family] == 2 then y = f(a, b)
      else y = f(a, b, c) end
      out[r[1]] = y.dtype == 'bool' and mc.logical_not(y) or y + y -- two nodes are a group
    end
    return out
  end, { args[1], args[2], args[3], choice }
end

describe('compiled groups', function()
  for _, dtype in ipairs { 'f32', 'f64', 'i32', 'u8', 'bool', 'c64' } do
    it_native('give the bits of every op of ' .. dtype, function()
      local f, args = every_op(dtype)
      agrees(dtype, f, args)
    end)
  end

  it_native('convert between dtypes as ops do, and give the bits of the vector machine for f16 and bf16', function()
    local a = mc.randn { 40, 9, seed = 1 } * 100
    local names = { 'bool', 'u8', 'i8', 'i16', 'i32', 'i64', 'f32', 'f64', 'c64', 'c128' }
    local args = {}
    for i, d in ipairs(names) do args[i] = a:to(d) end
    agrees('conversions', function(...)
      local out = {}
      for i, d in ipairs(names) do
        for k, e in ipairs(names) do
          if not (d:find 'c' and not e:find 'c') then
            out[d .. e] = mc.where(mc.ne((select(i, ...)), (select(k, ...))), (select(i, ...)), (select(k, ...)))
          end
        end
      end
      return out
    end, args)
    local half = { a:to 'f16', a:to 'bf16', a:to 'f32' }
    local f =
      function(h, b, s) return { h = mc.exp(h / 50) * h, b = mc.tanh(b) - b * 2, m = (h * s) + s, k = (b + b) * b,
        g = mc.nn.gelu(h) * b, d = mc.nn.gelu(s * mc.nn.gelu_slope(s)) } end
    local machine = mc.compile(f, { tier = 'vm' })
    machine(unpack(half)) -- the first call runs f itself
    agrees('halves', f, half, machine)
  end)

  it_native('read operands of any layout', function()
    local f = function(a, b, c, s) return { x = (a * b + c) * s, y = mc.maximum(a - c, b) + 1 } end
    for _, n in ipairs { { 5, 7 }, { 1, 1000 }, { 300, 3 }, { 70, 130 }, { 1, 1 }, { 0, 4 } } do
      local rows, columns = n[1], n[2]
      local whole = mc.randn { 2 * rows + 2, 2 * columns + 2, seed = 3 }
      local dense = mc.randn { rows, columns, seed = 4 }
      local row, column, one = mc.randn { 1, columns, seed = 5 }, mc.randn { rows, 1, seed = 6 },
        mc.randn { 1, 1, seed = 7 }
      local every = whole[('1:%d:2, 1:%d:2'):format(2 * rows, 2 * columns)]
      local part = whole[('2:%d, 2:%d'):format(rows + 1, columns + 1)]
      local turned = mc.randn { columns, rows, seed = 8 }.T
      for k, args in ipairs { { dense, dense, dense, 2 }, { dense, row, column, 3 }, { column, dense, one, 2 },
        { every, part, dense, 2 }, { turned, row, every, 1 }, { column, row, part, 0.5 } } do
        if rows * columns > 0 and rows * columns ~= 1 then
          agrees(('layout %d of %d x %d'):format(k, rows, columns), f, args)
        else
          local g, want = mc.compile(f, { tier = 'native' }), f(unpack(args))
          for _ = 1, 2 do equal(want.x, g(unpack(args)).x, 'few') end
        end
      end
    end
    local a, b = mc.randn { 3, 1, 5, 1, seed = 1 }, mc.randn { 1, 4, 5, 6, seed = 2 }
    agrees('four axes', function(x, y) return (x + y) * x - y end, { a, b })
    agrees('four axes turned', function(x, y) return (x + y) * x - y end,
      { a, b:permute_dims { 1, 3, 2, 4 }:contiguous():permute_dims { 1, 3, 2, 4 } })
  end)

  it_native('read short rows that are spread, repeated, strided and turned, of elements of every size', function()
    local f = function(a, b, c) return { s = a * b + c, p = mc.where(mc.lt(a, b), c, a) } end
    for _, dtype in ipairs { 'u8', 'f16', 'f32', 'f64', 'c128' } do
      local g = dtype == 'c128' and function(a, b, c) return { s = a * b + c, p = mc.where(mc.eq(a, b), c, a) } end or f
      for _, n in ipairs { 2, 3, 4, 5, 9 } do
        local function wave(shape, k)
          return (mc.sin(mc.arange(1, shape[1] * shape[2] * shape[3]) * k) * 90 + 100):reshape(shape):to(dtype)
        end
        local full = { 37, 41, n }
        local spread, row, plane = wave({ 37, 41, 1 }, 1), wave({ 1, 1, n }, 2), wave({ 1, 41, n }, 3)
        local every, turned, dense = wave({ 37, 82, 2 * n }, 4)[':, ::2, ::2'],
          wave({ n, 41, 37 }, 5):permute_dims { 3, 2, 1 }, wave(full, 6)
        for k, args in ipairs { { spread, row, dense }, { plane, spread, every }, { turned, plane, row },
          { dense, wave({ 37, 1, 1 }, 7), plane } } do
          local copies = {}
          for i, t in ipairs(args) do copies[i] = mc.broadcast_to(t, full):contiguous() end
          local what, want, got = ('%s, rows of %d, layout %d'):format(dtype, n, k), g(unpack(copies)), g(unpack(args))
          for key, w in pairs(want) do equal(w, got[key], what .. ' plain') end
          local machine = mc.compile(g, { tier = 'vm' })
          machine(unpack(args)) -- the first call runs g itself
          agrees(what, g, args, machine)
        end
      end
    end
  end)

  it_native('take whole rows through norms and what is around them, for any leading axes', function()
    local rows = require 'mascon.compile.passes.tiles'
    local smallest = rows.SMALLEST
    rows.SMALLEST = 0
    local function norm(a, w, s)
      local d = a - mc.mean(a, { -1, keepdim = true })
      local y = d * 3 * mc.rsqrt(mc.mean(d * d, { -1, keepdim = true }) + s) * w + 1
      return { y = y, d = d, top = mc.max(mc.abs(y), { -1, keepdim = true }), v = mc.var(d, { -1 }) }
    end
    local function whole(f, args)
      local g = mc.compile(f, { tier = 'native' })
      g(unpack(args))
      return g:source():find('row_op', 1, true) ~= nil
    end
    local ok, why = pcall(function()
      for _, dtype in ipairs { 'f32', 'f64' } do
        local function wave(...)
          return mc.sin(mc.arange(1, mc.zeros { ... }:numel()) * 0.7):reshape { ... }:to(dtype)
        end
        for _, c in ipairs {
          { 'rows', { wave(301, 77), wave(77), 0.1 }, true }, { 'a row', { wave(1, 1000), wave(1000), 0.1 }, true },
          { 'three leading axes', { wave(3, 5, 7, 130), wave(5, 1, 130), 0.5 }, true },
          { 'a column', { wave(200, 64), wave(200, 1), 2 }, true },
          { 'turned leading axes', { wave(9, 8, 64):permute_dims { 2, 1, 3 }, wave(64), 2 }, true },
          { 'every second element', { wave(100, 200), wave(100, 400)[':, ::2'], 2 }, false },
          { 'short rows', { wave(500, 7), wave(7), 1 }, false },
        } do
          agrees(c[1] .. ' ' .. dtype, norm, c[2])
          assert.equal(c[3], whole(norm, c[2]), c[1])
        end
        agrees('softmax', function(a, b) return mc.softmax(a * b, -1) - mc.log_softmax(a, -1) * 2 end,
          { wave(50, 4, 90), wave(4, 90) })
      end
      local a, b = mc.ones { 500, 300, dtype = 'i64' }, mc.ones { 500, 300, dtype = 'i64' }
      local function share(p, q, r)
        return mc.floor_divide(p, q) * 2 - mc.max(r + r, { -1, keepdim = true }):to 'i64'
      end
      local r = mc.ones { 500, 300 }
      agrees('guarded', share, { a, b, r })
      assert.truthy(whole(share, { a, b, r }))
      local g = mc.compile(share, { tier = 'native' })
      g(a, b, r)
      b['400, 7'] = 0
      local said = support.message(function() mc.floor_divide(a, b) end):match 'flat position %d+'
      assert.truthy(support.message(function() g(a, b, r) end):find(said, 1, true))
    end)
    rows.SMALLEST = smallest
    if not ok then error(why, 0) end
  end)

  it_native('give the same bits for every number of threads, and at every instruction level of this build', function()
    local a, b = mc.randn { 200000, seed = 1, dtype = 'f32' }, mc.randn { 200000, seed = 2, dtype = 'f32' }
    local f = function(x, y) return mc.exp(x) * mc.sin(y) / (1 + mc.abs(x)) end
    local threads, level = mc.get_num_threads(), lib.isa()
    local want = f(a, b)
    for _, n in ipairs { 1, 3 } do
      mc.set_num_threads(n)
      agrees('threads ' .. n, f, { a, b }, function() return want end)
    end
    mc.set_num_threads(threads)
    local kept = mc.compile(f, { tier = 'native' })
    kept(a, b)
    for _, name in ipairs { 'v2', 'v3', 'v4' } do
      if lib.C.mc_isa_set(name) == 0 then
        agrees('level ' .. name, f, { a, b })
        equal(f(a, b), kept(a, b), 'code of another level is not used at ' .. name)
      end
    end
    lib.C.mc_isa_set(level)
  end)

  it_native('refuse what the ops refuse, with the place of the first element', function()
    local g = mc.compile(function(a, b) return mc.floor_divide(a, b) + a end, { tier = 'native' })
    local a, b = mc.arange(1, 100, { dtype = 'i32' }), mc.ones({ 100 }, { dtype = 'i32' })
    g(a, b)
    local groups, compiled = g:groups()
    assert.same({ 1, 1 }, { groups, compiled })
    b[70] = 0
    local text = support.message(function() g(a, b) end)
    assert.truthy(text:find('floor_divide: ', 1, true) and text:find('flat position 70 (from 1)', 1, true), text)
  end)

  it_native('serve a new shape of the same layout without another compilation', function()
    local f = mc.compile(function(a, b) return mc.square(a) * b + a end, { tier = 'native' })
    f(mc.ones { 10, 20 }, mc.ones { 20 })
    local before = native.stats.compiled + native.stats.hits
    for n = 30, 33 do f(mc.ones { n, n }, mc.ones { n }) end
    assert.equal(before, native.stats.compiled + native.stats.hits)
    assert.equal(5, f.traces)
    local groups, compiled = f:groups()
    assert.same({ 1, 1 }, { groups, compiled })
  end)

  it_native('reduces what is converted alone', function()
    local x = mc.randn({ 300, 40 }, { seed = 5 })
    agrees('sum', function(v) return mc.sum(v:to 'f32', 2) end, { x })
    agrees('max', function(v) return mc.max(v:to 'f32', 1) end, { x })
    agrees('beside another', function(v) return { a = mc.sum(v:to 'f32'), b = v * 2 } end, { x })
  end)

  it_native('serve reductions, products and tiles of rows', function()
    local x, w, b = mc.randn { 300, 65, seed = 1, dtype = 'f32' }, mc.randn { 65, 40, seed = 2, dtype = 'f32' },
      mc.randn { 40, seed = 3, dtype = 'f32' }
    local g = mc.randn { 65, seed = 4, dtype = 'f32' }
    agrees('rows', function(a, m, v, s)
      local d = a - mc.mean(a, { 2, keepdim = true })
      local h = a:matmul(m) + v
      return {
        sum = mc.sum(mc.exp(a) * s + a), most = (a * a - s):max(2), soft = mc.softmax(a * 2 + s, 2),
        norm = d * mc.rsqrt(mc.mean(d * d, { 2, keepdim = true }) + 1e-5) * s, gelu = h * 0.5 * (mc.erf(h * 0.7) + 1),
      }
    end, { x, w, b, g })
  end)

  it_native('are found in loops and branches too', function()
    local f = function(x, c)
      local last, all = mc.scan(function(s, r)
        local h = mc.tanh(s * r + 1)
        return h, h * 2
      end, mc.zeros { 5 }, x)
      return { last = last, all = all,
        branch = mc.cond(c, function(v) return mc.exp(v) * v end, function(v) return v - 1 end, x) }
    end
    agrees('loop', f, { mc.randn { 7, 5, seed = 1 }, mc.tensor(true) })
  end)

  it_native('are readable', function()
    local f = mc.compile(function(a, b) return mc.tanh(a) * b end, { tier = 'vm' })
    f(mc.ones { 3 }, mc.ones { 3 })
    local text = f:source()
    assert.truthy(text:find('mck_tanh_f64(v1)', 1, true) and text:find('/* multiply */', 1, true), text)
    assert.truthy(support.message(function() mc.compile(mc.sin):source() end):find('call the function once', 1, true))
  end)

  it_native('come into use while calls go on, with auto', function()
    local f = function(a) return mc.cos(a) * 3 + a end
    local g = mc.compile(f)
    local a = mc.randn { 50, seed = 11 }
    local want = f(a)
    equal(want, g(a), 'first call')
    equal(want, g(a), 'second call')
    assert.equal(0, native.pending()) -- a few calls pay no compiler
    g:wait()
    equal(want, g(a), 'after the compiler')
    local groups, compiled = g:groups()
    assert.same({ 1, 1 }, { groups, compiled })
  end)

  it_native('come into use by themselves where calls take long enough', function()
    local f = function(x) return mc.sin(x) * 5 - x end
    local g, a = mc.compile(f), mc.randn { 20000, seed = 12 }
    local want, calls = f(a), 0
    while not g:native() and calls < 1e6 do
      equal(want, g(a), 'call ' .. calls)
      calls = calls + 1
    end
    assert.is_true(g:native())
  end)
end)

-- ---------------------------------------------------------------- faults, each in a process of its own

local SCRIPT = [[
local mc = require 'mascon'
local f = function(a, b) return mc.sqrt(mc.abs(a)) * b + a end
local a, b = mc.arange(1, 1000), mc.ones { 1000 } * 3
local g = mc.compile(f, { tier = os.getenv 'TIER' or 'native' })
local want = f(a, b)
for _ = 1, 3 do assert(mc.array_equal(want, g(a, b))) end
print('groups', g:groups())
]]

local function folder()
  local path = process.folder()
  return path, function() process.remove(path) end
end

--- Runs SCRIPT in a process: what it printed and what it said.
local function run(variables, script)
  variables.MASCON_LOG = variables.MASCON_LOG or 'compile'
  return process.mascon(script or SCRIPT, variables)
end

local function expect(out, compiled, text)
  assert.equal(0, out.status, out.text)
  assert.truthy(out.text:find('groups\t1\t' .. compiled, 1, true), out.text)
  if text then assert.truthy(out.text:find(text, 1, true), text .. ' is not in\n' .. out.text) end
end

describe('without a working compiler the vector machine goes on and says why: when it', function()
  local function fault(name, body, text, variables)
    it_native(name, function()
      local at, done = folder()
      local v = { MASCON_CACHE = at .. '/cache', MASCON_CC = at .. '/cc' }
      for k, x in pairs(variables or {}) do v[k] = x end
      if body then process.program(at .. '/cc', body) end
      local out = run(v)
      done()
      expect(out, 0, text)
    end)
  end
  it_native('is missing', function()
    local at, done = folder()
    local line = ("PATH='%s' MASCON_LOG=compile MASCON_CACHE='%s/c' '%s' '%s/s.lua'"):format(at, at,
      require 'mascon.host'.exe, at)
    process.write(at .. '/s.lua', SCRIPT)
    local out = process.shell(line)
    done()
    expect(out, 0, 'is not found; install gcc or set MASCON_CC')
  end)
  fault('fails', 'echo "fused.c:7: no luck" >&2; exit 1', 'the compiler failed: fused.c:7: no luck')
  fault('is killed half-way', 'kill -9 $$', 'the compiler failed and said nothing')
  fault('makes nothing', 'exit 0', 'the compiler failed and said nothing')
  fault('writes garbage', [[while [ "$1" != -o ]; do shift; done; head -c 5000 /dev/urandom > "$2"]],
    'is no complete library')
  fault('writes half a library',
    [[gcc "$@" && while [ "$1" != -o ]; do shift; done && head -c 6000 "$2" > "$2.x" && mv "$2.x" "$2"]],
    'is no complete library')
  fault('makes another library', [[for w; do case $w in *.c) echo 'int other;' > "$w";; esac; done; exec gcc "$@"]],
    'is missing in the library that it made')
  fault('hangs', 'sleep 100', 'and was stopped', { MASCON_CC_TIMEOUT = '0.3' })
end)

describe('the cache', function()
  it_native('serves the next process', function()
    local at, done = folder()
    local first, second = run { MASCON_CACHE = at .. '/c' }, run { MASCON_CACHE = at .. '/c', MASCON_CC = nil }
    local off = run { MASCON_CACHE = 'off' }
    done()
    expect(first, 1, 'compiled in')
    expect(second, 1, 'from the cache')
    expect(off, 1, 'not kept in the cache: MASCON_CACHE turns it off')
  end)

  it_native('keeps entries closed to others whatever the umask, and finds them again', function()
    local at, done = folder()
    process.write(at .. '/s.lua', SCRIPT)
    local line =
      ('umask 002; MASCON_LOG=compile MASCON_CACHE=%s/c %s %s/s.lua'):format(at, require 'mascon.host'.exe, at)
    local first, second, modes = process.shell(line), process.shell(line),
      process.shell('stat -c %a ' .. at .. '/c/*.so').text
    done()
    expect(first, 1, 'compiled in')
    expect(second, 1, 'from the cache')
    assert.equal('600', modes:match '%d+')
  end)

  it_native('drops damaged entries and compiles again', function()
    local at, done = folder()
    run { MASCON_CACHE = at .. '/c' }
    local name = process.list(at .. '/c')[1]
    local path = at .. '/c/' .. name
    local bytes = process.read(path)
    process.write(path, bytes:sub(1, 3000) .. 'x' .. bytes:sub(3002))
    local changed = run { MASCON_CACHE = at .. '/c' }
    process.write(path, bytes:sub(1, 3000))
    local cut = run { MASCON_CACHE = at .. '/c' }
    process.write(path, bytes)
    local good = run { MASCON_CACHE = at .. '/c' }
    done()
    expect(changed, 1, 'the entry was damaged (its checksum differs) and is removed')
    expect(cut, 1, 'the entry was damaged (it ends in the middle) and is removed')
    expect(good, 1, 'from the cache')
  end)

  it_native('is left alone when others can write it, and when it belongs to another user', function()
    local at, done = folder()
    process.make(at .. '/c', '777')
    local open = run { MASCON_CACHE = at .. '/c' }
    local foreign = process.root() and process.give(at .. '/c', '12345:12345') and run { MASCON_CACHE = at .. '/c' }
    local listed = process.list(at .. '/c')
    done()
    expect(open, 1, 'is open to other users or belongs to one')
    if foreign then expect(foreign, 1, 'is open to other users or belongs to one') end
    assert.equal(0, #listed)
  end)

  it_native('may be impossible to write, or full', function()
    local at, done = folder()
    process.write(at .. '/file', 'x')
    local no_folder = run { MASCON_CACHE = at .. '/file/c' }
    local small = run { MASCON_CACHE = at .. '/d', MASCON_CACHE_SIZE = '1K' }
    local full = process.tiny(at .. '/t') and run { MASCON_CACHE = at .. '/t/c' }
    process.unmount(at .. '/t')
    done()
    assert.equal(2, no_folder.status, no_folder.text) -- unusable from the start
    assert.truthy(no_folder.text:find('it is no folder and none can be made there', 1, true), no_folder.text)
    expect(small, 1, 'not kept in the cache: it is larger than the whole cache')
    if full then expect(full, 1, 'not kept in the cache') end
  end)

  it_native('lets what was unused for longest go first', function()
    local at, done = folder()
    local names, room = {}, '1M'
    for k = 1, 4 do
      local out =
        run({ MASCON_CACHE = at .. '/c', MASCON_CACHE_SIZE = room }, (SCRIPT:gsub('%+ a', ('+ a' .. (' * a'):rep(k)))))
      if k == 1 then room = tostring(math.floor(2.5 * #process.read(at .. '/c/' .. process.list(at .. '/c')[1]))) end
      expect(out, 1, 'compiled in')
      for _, name in ipairs(process.list(at .. '/c')) do names[name] = names[name] or k end
      for name, when in pairs(names) do process.age(at .. '/c/' .. name, 100 - when) end
    end
    local left = process.list(at .. '/c')
    done()
    assert.truthy(#left < 4 and #left >= 1)
    local newest = false
    for _, name in ipairs(left) do newest = newest or names[name] == 4 end
    assert.truthy(newest)
  end)

  it_native('is shared by eight processes that compile the same at once', function()
    local at, done = folder()
    local outs = process.together(8, SCRIPT, { MASCON_CACHE = at .. '/c', MASCON_LOG = 'compile' })
    local listed, after = process.list(at .. '/c'), run { MASCON_CACHE = at .. '/c' }
    done()
    for _, out in ipairs(outs) do expect(out, 1) end
    assert.equal(1, #listed)
    expect(after, 1, 'from the cache')
  end)

  it_native('is shown, checked, emptied and tuned by the verb', function()
    local at, done = folder()
    local v = { MASCON_CACHE = at .. '/c' }
    run { MASCON_CACHE = at .. '/c' }
    local name = process.list(at .. '/c')[1]
    local listed, fine = process.run(v, 'cache', 'list'), process.run(v, 'cache', 'verify')
    process.write(at .. '/c/' .. name, process.read(at .. '/c/' .. name):sub(1, -2))
    local seen, bad, after = process.run(v, 'cache', 'list'), process.run(v, 'cache', 'verify'),
      process.list(at .. '/c')
    local tuned = process.run(v, 'cache', 'tune')
    local noted, again, cleared = process.list(at .. '/c'), run { MASCON_CACHE = at .. '/c', MASCON_COMPILE = 'vm' },
      process.run(v, 'cache', 'clear')
    local off, wrong, help = process.run({ MASCON_CACHE = 'off' }, 'cache', 'list'), process.run(v, 'cache', 'lst'),
      process.run(v, 'cache', '--help')
    local left = process.list(at .. '/c')
    done()
    for _, case in ipairs { { listed, 0, '1 function, ' }, { listed, 0, '1 files, ' },
      { fine, 0, '1 files checked, 0 damaged' }, { seen, 0, 'DAMAGED: it ends in the middle' },
      { bad, 1, '1 files checked, 1 damaged' }, { tuned, 0, '<-' }, { again, 0, 'groups\t1\t0' },
      { cleared, 0, '1 files removed' }, { off, 1, 'no cache: MASCON_CACHE turns it off' },
      { wrong, 2, "'lst' is none of list, clear, verify, tune" }, { help, 0, 'measures the block size' } } do
      assert.equal(case[2], case[1].status, case[1].text)
      assert.truthy(case[1].text:find(case[3], 1, true), case[3] .. ' is not in\n' .. case[1].text)
    end
    assert.same({ 0, 0 }, { #after, #left })
    assert.same({ 'vm-cache.txt' }, noted)
  end)
end)

describe('MASCON_COMPILE', function()
  it('chooses the tier for all, and refuses what is none', function()
    for _, tier in ipairs { 'eager', 'vm' } do
      local out = run { MASCON_COMPILE = tier, MASCON_CACHE = 'off' }
      assert.equal(0, out.status, out.text)
      assert.truthy(out.text:find(tier == 'vm' and 'groups\t1\t0' or 'groups\t0\t0', 1, true), out.text)
    end
    local out = run { MASCON_COMPILE = 'fast' }
    assert.truthy(out.text:find("MASCON_COMPILE='fast'; choose auto, native, vm, eager", 1, true), out.text)
  end)

  it('MASCON_LOG=compile says why a function is traced again', function()
    local out = run({ MASCON_COMPILE = 'vm' }, [[
      local mc = require 'mascon'
      local f = mc.compile(function(a, b) return a * b.w end)
      f(mc.ones { 2 }, { w = mc.ones { 2 } })
      f(mc.ones { 2 }, { w = mc.ones { 1 } })
      f(mc.ones { 3 }, { w = mc.ones { 1 } })
      f(mc.ones({ 3 }, { dtype = 'f32' }), { w = mc.ones { 1 } })
      f(2, { w = mc.ones { 1 } })]])
    for _, text in ipairs { 'first call', 'shape of argument 2.w is {1}, was {2}',
      'shape of argument 1 is {3}, was {2}', 'dtype of argument 1 is f32, was f64',
      'argument 1 stands where dtype of argument 1 was' } do
      assert.truthy(out.text:find(text, 1, true), text .. ' is not in\n' .. out.text)
    end
  end)
end)
