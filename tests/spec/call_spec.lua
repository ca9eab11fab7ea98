-- call_spec.lua - how many calls an op takes, and that what a call is given is understood or refused with words.
local debug, jit, math = debug, jit, math -- looking a global up is a call in the environment of a spec
local mc = require 'mascon'
local ffi = require 'ffi'
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local process = support.load 'process'
local ops = require 'mascon.gen.ops'.ops
local functions = require 'mascon.core.op'.functions

ffi.cdef 'int chdir(const char *path);'

--- Lua functions entered during f(), f itself apart; the least of some runs, as a result may ask for a collection.
local function entered(f)
  f() -- modules are loaded, formulas compiled
  local least, was = math.huge, jit.status()
  jit.off()
  for _ = 1, 5 do
    local n = -1
    debug.sethook(function() if debug.getinfo(2, 'S').what == 'Lua' then n = n + 1 end end, 'c')
    f()
    debug.sethook()
    least = math.min(least, n)
  end
  if was then jit.on() end
  return least
end

local function refused(text, f, ...)
  local ok, why = pcall(f, ...)
  assert.is_false(ok, 'taken: ' .. text)
  assert.truthy(why:find(text, 1, true), why)
end

local ALONG = { reduce = true, scan = true, softmax = true }

describe('a call of an op along axes', function()
  local x = mc.randn({ 4, 5 }, { seed = 1 })

  it('takes at most 8 Lua calls, options included', function()
    for what, f in pairs {
      ['x:sum(2)'] = function() return x:sum(2) end, ['x:sum()'] = function() return x:sum() end,
      ['x:sum { 2, keepdim = true }'] = function() return x:sum { 2, keepdim = true } end,
      ['x:sum { 1, 2 }'] = function() return x:sum { 1, 2 } end,
      ['x:std'] = function() return x:std(1, { correction = 1, keepdim = true }) end,
      ['x:sort'] = function() return x:sort(1, { descending = true }) end,
      ['x:roll'] = function() return x:roll(1, 2) end, ['x:cumsum'] = function() return x:cumsum { axis = 1 } end,
    } do
      local n = entered(f)
      assert(n <= 8, ('%s enters %d functions'):format(what, n))
    end
  end)

  it('gives the same in every way of writing it', function()
    for _, row in ipairs(ops) do
      local f = functions[row[1]]
      local p = row.params
      if f and p and #p > 0 and ALONG[row.family] and not row.internal then
        local want = f(x, { axis = 2 })
        local out = mc.zeros(want.shape, { dtype = want.dtype })
        local ways = {
          f(x, 2), f(x, -1), f(x, { 2 }), f(x, { -1 }), f(x, 2, {}), f(x, nil, { axis = 2 }), (f(x, 2, { out = out })),
        }
        for k, got in ipairs(ways) do
          assert(mc.array_equal(want, got, { equal_nan = true }), ('%s, way %d'):format(row[1], k))
        end
        if p[2] and p[2][1] == 'keepdim' then
          assert.equal(2, f(x, { 2, keepdim = true }).ndim)
          assert.equal(2, f(x, 2, { keepdim = true }).ndim)
          assert.equal(1, f(x, 2, { keepdim = false }).ndim)
        end
      end
    end
  end)

  it('takes every axis of a list, whatever the number of parameters of the row', function()
    local t = mc.ones { 2, 4, 3, 2, 2 }
    for _, name in ipairs { 'sum', 'mean', 'var', 'std', 'max', 'logsumexp' } do
      assert.same('{4, 2}', tostring(mc[name](t, { 1, 3, 4 }).shape), name)
      assert.same('{4}', tostring(mc[name](t, { 1, 3, 4, 5 }).shape), name)
    end
  end)

  it('swallows nothing', function()
    refused('sum: axis 3 is outside', x.sum, x, 3)
    refused('sum: axis is 1.5', x.sum, x, 1.5)
    refused("sum: axes are 'two'", x.sum, x, 'two')
    refused('one argument too many', x.sum, x, 1, {}, 2)
    refused('option keepdim is 1', x.sum, x, 1, { keepdim = 1 })
    refused('did you mean "keepdim"', x.sum, x, 1, { keepdims_ = true })
    refused('option "axes" is unknown', x.sum, x, { axes = 1 })
    refused('without a name', x.sum, x, 1, { 2 })
    refused('axis is given twice', x.sum, x, { 1, axis = 2 })
    refused('axis is given twice', x.sum, x, 1, { axis = 2 })
    refused('choose', mc.fft.rfft, x, { norm = 'orto' })
    refused('one argument too many', x.cumsum, x, { 1, 2 })
    refused('axis is', x.sort, x, { { 1, 2 } })
    refused('write sizes as a list', mc.zeros, 3, 4)
    refused('options in a table', mc.ones, { 2 }, 'i64')
    local a, b, out = mc.ones { 2, 3 }, mc.ones { 3, 2 }, mc.zeros { 2, 2 }
    assert.equal(out, mc.dot(a, b, { out = out }))
    assert.same({ { 3, 3 }, { 3, 3 } }, out:totable())
    refused('one argument too many', x.exp, x, {}, 1)
    refused('one argument too many', x.add, x, x, {}, 1)
    refused('one argument too many', mc.where, x, x, x, {}, 1)
    refused('one argument too many', mc.matmul, x, x, {}, 1)
    refused('one argument too many', mc.take, x, mc.tensor { 1 }, 1, {}, 1)
    refused('one argument too many', mc.concat, { x, x }, 1, {}, 1)
  end)
end)

describe('a mistake', function()
  it('is blamed on the line of the script, however the function raised it', function()
    for _, f in ipairs {
      function() mc.plot.line({}, {}) end, function() mc.report.html {} end,
      function() mc.signal.welch(mc.ones { 10 }, { fs = -1 }) end,
      function() mc.signal.firwin(1) end, function() mc.linalg.solve(mc.ones { 2, 3 }, mc.ones { 2 }) end,
    } do
      local ok, why = pcall(f)
      assert.is_false(ok)
      assert.matches('call_spec%.lua:%d+: ', why)
    end
  end)
end)

describe('an error inside the library', function()
  it('is put in words however deep the folder that the library lies in', function()
    -- Lua shortens the names of files to their last 56 letters
    local check, guard = require 'mascon.core.check', require 'mascon.core.guard'
    local top = process.folder()
    local library = top .. '/' .. ('a_folder/'):rep(12)
    local elsewhere = top .. '/' .. ('another/'):rep(12)
    for _, folder in ipairs { library, elsewhere } do
      process.shell(("mkdir -p '%sparts'"):format(folder))
      process.write(folder .. 'parts/name.lua', 'return function(t) return t.x.y end')
    end
    check.own(library)
    local inner = guard.of('parts.name', assert(dofile(library .. 'parts/name.lua')))
    refused('parts.name: it cannot be called with (a table)', inner, {})
    local users = guard.of('other.name', assert(dofile(elsewhere .. 'parts/name.lua')))
    refused('attempt to index', users, {}) -- a file of the user's: Lua's words and its line stay
    process.remove(top)
  end)
end)

describe('every public function', function()
  -- what would end or change the process, or waits for input
  local APART = {}
  for name in ('mc.args.run mc.scope mc.set_memory_limit mc.set_num_threads mc.seed'):gmatch '%S+' do
    APART[name] = true
  end
  -- these take any number of operands
  local MANY = {}
  for name in ([[mc.atleast_1d mc.atleast_2d mc.atleast_3d mc.broadcast_arrays mc.broadcast_shapes mc.column_stack
    mc.dstack mc.hstack mc.vstack mc.result_type]]):gmatch '%S+' do MANY[name] = true end

  -- the values of a call: fresh ones, since what is called may keep or mark them
  local function calls()
    local x = mc.tensor { { 1, 2 }, { 3, 4 } }
    local function none() return { no_such_option = 1 } end
    return {
      { n = 0 }, { n = 1, 1 }, { n = 1, 'x' }, { n = 1, function() end }, { n = 1, {} },
      { n = 2, x, { {}, {} } }, { n = 3, x, { 1, 2 }, { 1, 2 } }, { n = 3, nil, x, 1 },
      { n = 2, function() end, {} }, { n = 12, x, x, x, x, x, x, x, x, x, x, x, x, refuse = true, many = true },
      { n = 2, x, none(), refuse = true }, { n = 3, x, x, none(), refuse = true },
    }
  end
  local RAW = {
    'attempt to ', 'bad argument', 'cannot convert', 'is a cdata', 'has no member', 'not callable', "'for' ",
  }
  --- The names of a fresh program: other specs may have opened workflows and made functions.
  local function names()
    local fresh = {}
    local listing = [['%s' -e 'for _, e in ipairs(require("mascon.help").entries()) do print(e.name) end']]
    local pipe = assert(io.popen(listing:format(os.getenv 'MASCON' or require 'mascon.host'.exe)))
    for name in pipe:lines() do fresh[name] = true end
    pipe:close()
    return fresh
  end

  -- in a folder of their own: some write files under the names they are given
  local wrong, count, fresh, at, back
  before_each(function()
    wrong, count, fresh, at, back = {}, 0, fresh or names(), process.folder(), process.shell('pwd').text:match '[^\n]+'
    assert(ffi.C.chdir(at) == 0)
  end)
  after_each(function()
    assert(ffi.C.chdir(back) == 0)
    process.remove(at)
  end)

  --- Calls f in every way; make: the object it is a method of, anew for each call.
  local function walked(name, f, make)
    for k, call in ipairs(calls()) do
      local ok, why
      if make then ok, why = pcall(f, make(), unpack(call, 1, call.n))
      else ok, why = pcall(f, unpack(call, 1, call.n)) end
      count = count + 1
      if ok and call.refuse and not (call.many and MANY[name]) then
        wrong[#wrong + 1] = ('%s takes call %d'):format(name, k)
      end
      for _, text in ipairs(ok and {} or RAW) do
        if tostring(why):find(text, 1, true) then
          wrong[#wrong + 1] = ('%s, call %d: %s'):format(name, k, tostring(why):sub(1, 200))
          break
        end
      end
    end
  end

  local function judged(least)
    assert(#wrong == 0, ('%d of %d calls:\n%s'):format(#wrong, count, table.concat(wrong, '\n')))
    assert(count > least, count)
  end

  --- Calls f(name, function) for all that can be reached: functions, methods, what tables of namespaces hold.
  local function each(f)
    local seen = {}
    local function one(name, v)
      if type(v) == 'function' and not APART[name] and not seen[name] then
        seen[name] = true
        f(name, v)
      end
    end
    for _, e in ipairs(require 'mascon.help'.entries()) do
      if fresh[e.name] and e.kind == 'table' then
        for k, v in pairs(e.value) do
          if type(k) == 'string' and k:sub(1, 1) ~= '_' then one(e.name .. '.' .. k, v) end
        end
      elseif fresh[e.name] and (e.kind == 'function' or e.kind == 'method') then one(e.name, e.value) end
    end
  end

  it('refuses what it does not take, in words; those of namespaces within namespaces too', function()
    local spaces = {}
    each(function(name, f)
      walked(name, f)
      spaces[name:match '^mc%.%w+'  or 'x'] = true
    end)
    for _, name in ipairs { 'meeg', 'nn', 'xpcs', 'rollout', 'pac', 'autoreject', 'sample', 'plot', 'stats' } do
      assert(spaces['mc.' .. name], name)
    end
    judged(20000)
  end)

  it('takes nothing beside what a good call holds', function()
    -- what they are given is a value to them, whatever it is
    local FREE = {}
    for name in ([[mc.format mc.printf mc.meeg.channels.guess mc.nn.init.of mc.nn.module.own mc.tree.like
      mc.plot.colours mc.text.number mc.results.folder]]):gmatch '%S+' do FREE[name] = true end
    local function good()
      local x, v = mc.tensor { { 1, 2 }, { 3, 4 } }, mc.tensor { 1, 2, 3, 4 }
      return { { x }, { v }, { x, 1 }, { x, x }, { v, v }, { v, 2 }, { x, { 4 } }, { x, { 2, 1 } }, { x, { 2, 2 } },
        { x, 1, 2 }, { x, x, x }, { x, 1, x }, { v, v, v }, { { x, x } }, { { 2, 2 } }, { { 2, 2 }, 1 }, { 3 },
        { 3, 2 }, { 1, 2, 3 }, { 'a' }, { 'a', 3 }, { 'ab', 'b' }, { { x, x }, 1 }, { v, { dx = 1 } },
        { x, { axis = 1 } }, { { 'Fz', 'Cz' } }, { { 2, 2 }, { 2, 2 } }, { x, { 2, 2 }, 1 } }
    end
    each(function(name, f)
      for k, call in ipairs(not FREE[name] and good() or {}) do
        if pcall(f, unpack(call)) then
          for _, more in ipairs { 'zqx', { nonsense = 1 } } do
            local again = good()[k]
            again[#again + 1] = more
            count = count + 1
            if pcall(f, unpack(again)) then wrong[#wrong + 1] = ('%s, call %d and %s'):format(name, k, type(more)) end
          end
        end
      end
    end)
    judged(5000)
  end)

  it('and every method of the objects they make', function()
    -- what calls a function of the user's takes what that takes
    local USERS = { ['compiled:into'] = true }
    local bands = { fs = 250, pha_range_hz = { 4, 8 }, pha_n_bands = 2, amp_range_hz = { 40, 80 }, amp_n_bands = 3 }
    local objects = {
      figure = function() return mc.plot.figure() end, axes = function() return mc.plot.figure():axes(1, 1) end,
      progress = function() return mc.progress.new(10, { stream = io.tmpfile(), tty = false }) end,
      key = function() return mc.random.key(1) end, adam = function() return mc.optim.adam { lr = 0.1 } end,
      spline = function() return mc.interpolate.cubic_spline(mc.tensor { 1, 2, 3, 4 }, mc.tensor { 1, 4, 9, 16 }) end,
      plan = function() return mc.pac.plan(1000, bands) end,
      log = function() return mc.autoreject.log.new(mc.zeros { 2, 1 }, { false, true }, { 'a' }) end,
      compiled = function() return mc.compile(function(a) return a + 1 end) end,
    }
    for name, make in pairs(objects) do
      local object = make()
      local class = getmetatable(object) or {}
      local methods = type(class.__index) == 'function' and class or class.__index or object
      for k, f in pairs(methods) do
        if type(f) == 'function' and k:sub(1, 1) ~= '_' and not USERS[name .. ':' .. k] then
          walked(name .. ':' .. k, f, make)
        end
      end
    end
    judged(400)
  end)
end)
