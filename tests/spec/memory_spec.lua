-- memory_spec.lua - who owns tensor memory, when it goes back, and what happens when there is none.
--
-- Allocation failure is tried by letting the n-th allocation fail for n = 1, 2, ... until the call succeeds.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes() -- specs that ran earlier may hold some
local mc = require 'mascon'
local C = require 'mascon.core.ffi'.C
local sample, tol = support.load 'sample', support.load 'tol'
local read = sample.read

local MB = 2 ^ 20
local function live() return support.tensor_bytes() end

after_each(function()
  mc.set_memory_limit(0)
  C.mc_memory_cache_enable(1)
  C.mc_test_fail_alloc(0)
end)

describe('release', function()
  it('gives the bytes back at once', function()
    local before = live()
    local x = mc.zeros { 1000, 1000 }
    assert.equal(before + 8e6, mc.memory().tensors)
    x:release()
    assert.equal(before, mc.memory().tensors)
    x:release()
    assert.equal(before, mc.memory().tensors)
  end)

  it('leaves views of the same memory alive', function()
    local before = live()
    local x = mc.arange(1, 1e4)
    local v = x['2:3']
    x:release()
    assert.equal(before + 8e4, mc.memory().tensors)
    assert.same({ 2, 3 }, v:totable())
    v:release()
    assert.equal(before, mc.memory().tensors)
  end)

  it('makes later use an error that names the line of the release', function()
    local x = mc.zeros { 500 }
    x:release(); local line = debug.getinfo(1, 'l').currentline
    for _, use in ipairs {
      function() local _ = x + 1 end, function() local _ = x:sum() end, function() local _ = x:sort() end,
      function() local _ = x[1] end, function() local _ = x:totable() end, function() local _ = x:reshape(5, 100) end,
      function() local _ = mc.zeros { 500 }:matmul(x) end,
      function() local _ = mc.concat { x, x } end, function() x:fill_(1) end,
      function() local _ = mc.add(1, mc.ones { 500 }, { out = x }) end, function() local _ = x:copy() end,
      function() local _ = x:to 'f32' end, function() x[1] = 2 end, function() local _ = mc.fft.fft(x) end,
    } do
      local m = support.message(use)
      assert.matches('memory_spec%.lua:%d+: ', m)
      assert.matches('released at .*memory_spec%.lua:' .. line, m)
    end
    assert.equal('released tensor', tostring(x))
  end)

  it('works for small tensors, which live in the Lua heap', function()
    local x = mc.tensor { 1, 2 }
    x:release()
    assert.matches('was released', support.message(function() local _ = x + 1 end))
  end)

  it('happens by itself when nobody holds a tensor', function()
    local before = live()
    local function work() -- a function of its own: the slots of dead locals still count for the collector
      local x = mc.zeros { 5000 }
      local y = x['2:'] + 1
      return y:numel()
    end
    assert.equal(4999, work())
    assert.equal(before, live())
  end)
end)

describe('scope', function()
  it('releases what was made inside, and keeps what is returned', function()
    local before = live()
    local kept, list = mc.scope(function()
      local a = mc.zeros { 1000 }
      local b = a + 1
      return b, { deep = { b * 2 } }
    end)
    assert.equal(before + 16000, mc.memory().tensors)
    assert.equal(1, kept[1]:item())
    assert.equal(2, list.deep[1][1]:item())
    kept:release()
    list.deep[1]:release()
    assert.equal(before, live())
  end)

  it('keeps what is given to mc.keep', function()
    local x
    mc.scope(function() x = mc.keep(mc.ones { 1000 }) end)
    assert.equal(1000, x:sum():item())
    x:release()
  end)

  it('keeps what a function that the library calls gives to mc.keep, up to the scope of the caller', function()
    local before, list = live(), {}
    local function keep(t)
      list[#list + 1] = mc.keep(t:copy())
      mc.scope(function() list[#list + 1] = mc.keep(t + 1) end)
    end
    local x = (mc.arange(1, 1200) % 7 + mc.sin(mc.arange(1, 1200))):reshape(2, 1, 600)
    local function compute()
      local _ = mc.pac.compute(x, { fs = 256, pha_bands_hz = { { 4, 8 } }, amp_bands_hz = { { 30, 50 } }, axes = 'CST',
        n_perm = 0, measure = function(p, a)
          keep(p)
          return mc.matmul(mc.cos(p), a.mT) / p.shape[3]
        end })
    end
    compute()
    assert.is_true(#list >= 2)
    for _, t in ipairs(list) do assert.is_true(mc.all(mc.isfinite(t:sum()))) end
    for _, t in ipairs(list) do t:release() end
    list = {}
    mc.scope(function()
      compute()
      for _, t in ipairs(list) do assert.is_true(mc.all(mc.isfinite(t:sum()))) end
    end)
    for _, t in ipairs(list) do
      assert.matches('was released at .*memory_spec%.lua:%d+ %(end of scope%)', support.message(function()
        local _ = t + 1
      end))
    end
    -- the library's own scopes inside a user's one release the rest
    list, x = {}, nil
    assert.equal(before, live())
  end)

  it('says the place of a scope inside others, with advice that helps', function()
    local lost
    local line = debug.getinfo(1, 'l').currentline + 1
    mc.pac.compute(mc.ones { 1, 1, 600 } + mc.arange(1, 600) % 7, { fs = 256, pha_bands_hz = { { 4, 8 } },
      amp_bands_hz = { { 30, 50 } }, axes = 'CST', n_perm = 0, measure = function(p, a)
        lost = p:copy()
        return mc.matmul(mc.cos(p), a.mT) / p.shape[3]
      end })
    local m = support.message(function() local _ = lost + 1 end)
    local at = tonumber(m:match 'released at .*memory_spec%.lua:(%d+) %(end of scope%)')
    assert.is_true(at ~= nil and at >= line and at <= line + 5, m)
    assert.matches('keep it with mc.keep', m)
    assert.is_nil(m:find('copy it first', 1, true))
  end)

  it('leaves tensors of the outside alone, also small ones that it views', function()
    local small, big = mc.tensor { 1, 2, 3 }, mc.ones { 1000 }
    mc.scope(function()
      local _ = small[2] + big['1:3']
      small[1] = 9
    end)
    assert.same({ 9, 2, 3 }, small:totable())
    assert.equal(1000, big:sum():item())
  end)

  it('releases on error, and the error passes through', function()
    local before, x = live(), nil
    local m = support.message(mc.scope, function()
      x = mc.zeros { 1000 }
      error('stop here', 0)
    end)
    assert.equal('stop here', m)
    assert.equal(before, mc.memory().tensors)
    assert.matches('was released', support.message(function() local _ = x + 1 end))
  end)

  it('passes errors that are no text', function()
    local mark = {}
    local ok, e = pcall(mc.scope, function() error(mark) end)
    assert.is_false(ok)
    assert.is_true(rawequal(e, mark))
  end)

  it('nests: what an inner one returns belongs to the outer one', function()
    local before, inner = live(), nil
    local out = mc.scope(function()
      local a = mc.scope(function()
        inner = mc.zeros { 1000 }
        return inner + 1
      end)
      assert.equal(1, a[1]:item())
      return a * 3
    end)
    assert.equal(3, out[1]:item())
    assert.equal(before + 8000, mc.memory().tensors)
    out:release()
  end)

  it('cleans up inner ones that an error left', function()
    local before = live()
    support.message(mc.scope, function()
      local _ = mc.zeros { 1000 }
      mc.scope(function()
        local _ = mc.zeros { 1000 }
        error('inside', 0)
      end)
    end)
    assert.equal(before, mc.memory().tensors)
    mc.scope(function() end)
  end)

  it('may not be left by yielding', function()
    local co = coroutine.create(function()
      mc.scope(function()
        local _ = mc.zeros { 1000 }
        coroutine.yield(1)
      end)
    end)
    local before = live()
    local ok, m = coroutine.resume(co)
    assert.is_false(ok)
    assert.matches('scope: the function yielded', m)
    assert.equal(before, mc.memory().tensors)
  end)

  it('says in later errors where it ended', function()
    local x
    mc.scope(function() x = mc.zeros { 1000 } end)
    assert.matches('released at .*memory_spec%.lua:%d+ %(end of scope%)',
      support.message(function() local _ = x + 1 end))
  end)

  it('takes a function only', function()
    assert.matches('memory_spec%.lua:%d+: scope: the argument is 3; give a function',
      support.message(function() local _ = mc.scope(3) end))
  end)
end)

describe('a limit', function()
  it('turns into an error with a table of the largest tensors, and work goes on', function()
    local held = mc.zeros { 1024, 1024 }
    support.tensor_bytes()
    mc.set_memory_limit(mc.memory().live + 4 * MB)
    local m = support.message(function() local _ = mc.zeros { 2048, 1024 } end)
    assert.matches('memory_spec%.lua:%d+: memory: 16%.0 MiB more would pass the limit', m)
    assert.matches('largest live tensors:\n +8%.0 MiB  f64%[1024,1024%]', m)
    assert.matches('release tensors, work in blocks', m)
    assert.is_nil(m:find('KiB', 1, true), m) -- the release of small ones helps nobody
    local y = mc.ones { 1000 } + 1
    assert.equal(2000, y:sum():item())
    mc.set_memory_limit(0)
    assert.equal(0, mc.zeros { 2048, 1024 }:sum():item())
    held:release()
  end)

  it('counts what is dead only until the collector ran', function()
    support.tensor_bytes()
    mc.set_memory_limit(mc.memory().live + 20 * MB)
    for _ = 1, 20 do
      local x = mc.zeros { 1024, 1024 }
      x[1] = 1
    end
  end)

  it('of nonsense is refused', function()
    assert.matches('set_memory_limit: bytes is %-1', support.message(function() mc.set_memory_limit(-1) end))
  end)

  it('shapes beyond any machine are an error', function()
    assert.matches('memory_spec%.lua:%d+: memory: .*check the shape',
      support.message(function() local _ = mc.zeros { 2 ^ 40, 2 ^ 40 } end))
    assert.matches('memory_spec%.lua:%d+: memory: .*check the shape',
      support.message(function() local _ = mc.zeros { 2 ^ 30, 2 ^ 20 } end))
  end)
end)

describe('temporaries', function()
  it('of a long loop stay below the soft ceiling plus slack', function()
    support.tensor_bytes()
    C.mc_memory_reset_peak()
    local x = mc.ones { 512, 1024 }
    for _ = 1, support.gc and 20 or 2000 do
      local y = mc.negative(x)
      y:fill_(0)
    end
    assert.is_true(mc.memory().peak < 1.2e9, ('peak %.2f GB'):format(mc.memory().peak / 1e9))
  end)
end)

describe('the n-th allocation fails', function()
  -- what is called, and operands made beforehand; f takes them and may take out=
  local big = 3000
  local function f64(shape, seed) return sample.make(shape, 'f64', 'contiguous', seed or 1, 'plain') end
  local cases = {
    add = { function(x, y) return x + y end, { big }, { big } },
    exp = { function(x) return mc.exp(x) end, { big } },
    mixed_add = { function(x, y) return x + y:to 'f32' end, { big }, { big } },
    where = { function(x, y) return mc.where(mc.gt(x, y), x, 0) end, { big }, { big } },
    clip = { function(x) return mc.clip(x, -1, 1) end, { big } },
    sum = { function(x) return x:sum() end, { 70, 700 } },
    sum_axis = { function(x) return x:sum(1) end, { 700, 70 } },
    sum_gather = { function(x) return x.T:sum { 1, 2 } end, { 70, 300 } },
    var = { function(x) return x:var(1) end, { 700, 70 } },
    argmax = { function(x) return x:argmax() end, { 40000 } },
    cumsum = { function(x) return x:cumsum(1) end, { 70, 70 } },
    sort = { function(x) return x:sort(1) end, { 70, 70 } },
    argsort = { function(x) return x:argsort() end, { big } },
    median = { function(x) return x:median(1) end, { 70, 70 } },
    quantile = { function(x) return mc.quantile(x, { 0.1, 0.9 }, { axis = 2 }) end, { 70, 70 } },
    matmul = { function(x, y) return x:matmul(y.T) end, { 60, 50 }, { 40, 50 } },
    matmul_int = { function(x) return x:to 'i32':matmul(x.T:to 'i32') end, { 40, 50 } },
    fft = { function(x) return mc.fft.fft(x) end, { 20, 60 } },
    fft_own = { function(x) return mc.fft.fft(x:to 'f32') end, { 20, 67 } }, -- a length that our own transform takes
    irfft = { function(x) return mc.fft.irfft(mc.fft.rfft(x), { axis = 1 }) end, { 20, 60 } },
    take = { function(x) return x[mc.tensor({ 3, 1, -1 }, { dtype = 'i64' })] end, { 20, 60 } },
    mask = { function(x) return x[mc.gt(x, 0)] end, { 20, 60 } },
    put_along_axis = { function(x) return mc.put_along_axis(x, x:argsort(), 1) end, { 20, 60 } },
    concat = { function(x, y) return mc.concat({ x, y }, 2) end, { 20, 60 }, { 20, 60 } },
    roll = { function(x) return mc.roll(x.T, 7) end, { 20, 60 } },
    pad = { function(x) return mc.pad(x, 2, { mode = 'reflect' }) end, { 20, 60 } },
    reshape = { function(x) return x.T:reshape(-1) end, { 20, 60 } },
    randn = { function() return mc.randn({ big }, { seed = 1 }) end },
    convert = { function(x) return x:to 'c64' end, { big } },
    tensor = { function() return mc.tensor { { 1, 2 }, { 3, 4 } }:T() end },
    searchsorted = { function(x, y) return mc.searchsorted(x:sort(), y) end, { big }, { 50 } },
    histogram = { function(x) return (mc.histogram(x, { bins = 7 })) end, { big } },
  }
  cases.tensor = { function() return mc.tensor { { 1, 2 }, { 3, 4 } }.T end }

  for name, case in pairs(cases) do
    it(('%s: error or result, never harm'):format(name), function()
      C.mc_memory_cache_enable(0)
      local xs = {}
      for i = 2, #case do xs[i - 1] = f64(case[i], i) end
      local before = {}
      for i, x in ipairs(xs) do before[i] = read(x) end
      local want = read(case[1](unpack(xs)))
      local last
      local bytes, n = live(), 0
      repeat
        n = n + 1
        C.mc_test_fail_alloc(n)
        local still
        local function attempt() -- its result is gone when the bytes are counted
          local ok, y = pcall(case[1], unpack(xs))
          still = C.mc_test_fail_alloc(0) < n
          if not ok then
            assert.matches('memory: ', tostring(y))
            return
          end
          local got = read(y)
          for i = 1, #want do
            assert(not tol.compare('EXACT', y.dtype, got[i], want[i]), 'another result after a failed allocation')
          end
        end
        attempt()
        last = still
        assert.equal(bytes, live())
        for i, x in ipairs(xs) do
          local now = read(x)
          for k = 1, #now do assert(now[k] == before[i][k], 'an operand changed') end
        end
      until last or n > 60
      assert.is_true(n <= 60, 'the call never came through')
    end)
  end

  it('leaves out= as it was when the call fails for good', function()
    C.mc_memory_cache_enable(0)
    local x, out = f64({ 60, 60 }), mc.full({ 60, 60 }, 7)
    support.tensor_bytes()
    mc.set_memory_limit(mc.memory().live + 1000)
    for _, f in ipairs {
      function() local _ = mc.sort(x.T, { axis = 1, out = out }) end,
      function() local _ = mc.matmul(x.T['::-1, ::-1'], x, { out = out }) end,
      function() local _ = mc.cumsum(x, { axis = 1, out = out }) end,
    } do
      assert.matches('memory: ', support.message(f))
      for _, v in ipairs(read(out)) do assert(v == 7, 'out= was written') end
    end
  end)
end)

it('leaves no tensor behind', function() assert.equal(BEFORE, support.tensor_bytes()) end)

describe('the room of blocks', function()
  it('counts those in use and those that wait: the waiting ones go back first', function()
    local lib = require 'mascon.core.ffi'
    C.mc_memory_trim()
    local base = lib.memory_stats()
    local before = tonumber(C.mc_memory_room_set(base.live + 40 * MB))
    for k = 1, 6 do
      local x = mc.zeros { (8 + k) * MB / 8 } -- a size class of its own
      x:release()
      local now = lib.memory_stats()
      assert.is_true(now.live + now.cached <= base.live + 40 * MB)
    end
    assert.is_true(lib.memory_stats().cached > 0)
    local kept = mc.zeros { 60 * MB / 8 } -- a bound of what waits, not of what is asked for
    assert.equal(60 * MB, kept.nbytes)
    kept:release()
    assert.equal(base.live + 40 * MB, tonumber(C.mc_memory_room_set(before)))
  end)

  it('has few collections where they find nothing, and all where they do', function()
    local lib = require 'mascon.core.ffi'
    local cycles, ended = 0, false
    local function watch()
      local p = newproxy(true)
      getmetatable(p).__gc = function()
        cycles = cycles + 1
        if not ended then watch() end
      end
    end
    collectgarbage()
    watch()
    local base = lib.memory_stats().live
    local before = tonumber(C.mc_memory_room_set(base + 100 * MB))
    local function steps(release)
      cycles = 0
      for _ = 1, 60 do
        local a, b = mc.zeros { 5 * MB / 8 }, mc.zeros { 5 * MB / 8 }
        if release then
          a:release()
          b:release()
        end
        assert.is_true(lib.memory_stats().live < base + 100 * MB)
      end
      return cycles
    end
    assert.is_true(steps(true) < 20, cycles)
    assert.is_true(steps(false) > 10, cycles)
    ended = true
    C.mc_memory_room_set(before)
  end)
end)

describe('the first call of a compiled function', function()
  local lib = require 'mascon.core.ffi'
  it('takes no memory to record', function()
    local f = mc.compile(mc.grad(function(x)
      for _ = 1, 6 do x = mc.sin(mc.cumsum(x)) end
      return mc.sum(x)
    end))
    local x = mc.ones { 2 ^ 20 } -- 8 MiB; the run holds 26 of them
    collectgarbage()
    collectgarbage()
    C.mc_memory_trim()
    local peaks = {}
    for k = 1, 2 do
      C.mc_memory_reset_peak()
      f(x):release()
      peaks[k] = lib.memory_stats().peak
    end
    assert.is_true(peaks[1] < peaks[2] + 2 ^ 20)
  end)
end)

describe('the arena of a compiled function', function()
  local weak = { __mode = 'v' }
  it('asks for no collection, since the call gives it back', function()
    local function f(x)
      local wide = mc.sin(x:reshape(-1, 1) + x)
      return wide:matmul(x), mc.cumsum(wide, { axis = 2 })
    end
    local x = mc.ones({ 2600 }, { dtype = 'f32' }) -- 27 MB: one block of them is a reason by itself
    for _, lend in ipairs { false, { 2 } } do
      local g = mc.compile(lend and f or function(v) return (f(v)) end, { lend = lend or nil })
      g(x)
      collectgarbage()
      C.mc_memory_collected(0)
      local garbage = setmetatable({ {} }, weak)
      local y, more = g(x)
      assert.is_true(g.forms[1].arena >= 24e6, g.forms[1].arena)
      assert.is_table(garbage[1])
      y:release()
      if more then more:release() end
    end
    C.mc_memory_collected(0)
    local garbage = setmetatable({ {} }, weak)
    mc.ones({ 2 ^ 23 }, { dtype = 'f32' }):release() -- but a huge result is one
    assert.is_nil(garbage[1])
  end)
end)
