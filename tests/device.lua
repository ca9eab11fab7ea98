-- device.lua - one part of the checks of a device on a machine that has it: mascon tests/device.lua DEVICE PART [K/N]
--
-- tests/device.sh runs the parts in order and keeps what each prints. A part ends with "N passed, M failed, K left
-- out"; parts that measure print rows "name  median  rate" and compare with nothing. K/N: the K-th of N shares of the
-- rows.
-- DEVICE_SECONDS: what would begin in the last fifth of them is left out, counted and named.
local support = assert(loadfile((arg[0]:match '^(.*)/[^/]*$' or '.') .. '/support/init.lua'))()
local mc = require 'mascon'
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local C = lib.C
local device, part = arg[1], arg[2]
local share, shares = (arg[3] or '1/1'):match '^(%d+)/(%d+)$'
local ffi = require 'ffi'
ffi.cdef 'int setenv(const char *name, const char *value, int overwrite);'
ffi.C.setenv('MASCON_TEST_DEVICE', device, 1)
local number = tensor.device_number('device', device, 2)

local passed, failed = 0, 0
local seconds_left, started = tonumber(os.getenv 'DEVICE_SECONDS') or math.huge, lib.clock_seconds()
local left_out = {}
--- Whether it is too late to begin something, which then is left out.
local function late(what)
  local is = lib.clock_seconds() - started > 0.8 * seconds_left
  if is then left_out[#left_out + 1] = what end
  return is
end
local function check(what, ok, why)
  local text = not ok and tostring(why) or ''
  if text:find('terminated', 1, true) or text:find('interrupted', 1, true) then error(why, 0) end
  if ok then passed = passed + 1 else
    failed = failed + 1
    print(('FAILED %s: %s'):format(what, tostring(why):sub(1, 500)))
  end
  io.stdout:flush()
end
local function try(what, f)
  if late(what) then return end
  local ok, why = pcall(function() return mc.scope(f) end)
  check(what, ok, why)
end
local function wait() mc.synchronize(device) end
local function seconds(f)
  local began = lib.clock_seconds()
  f()
  return lib.clock_seconds() - began
end
--- Least and median seconds of a call that is waited for, over about `least` seconds.
local function times(f, least)
  f()
  wait()
  local list, began = {}, lib.clock_seconds()
  repeat list[#list + 1] = seconds(function() f() wait() end) until #list >= 5 and lib.clock_seconds() - began > least
  table.sort(list)
  return list[1], list[math.ceil(#list / 2)]
end
local function row(name, t, rate, unit)
  print(('%-44s %10.2f us %12.4g %s'):format(name, t * 1e6, rate, unit))
  io.stdout:flush()
end

local PARTS = {}

function PARTS.spine()
  local began = lib.clock_seconds()
  local x = mc.arange(1, 1000):to(device)
  local s = (x * 2 + 1):sum():item()
  print(('first result after %.1f ms'):format((lib.clock_seconds() - began) * 1e3))
  check('a chain and a sum', s == 1002000, s)
  try('print', function() assert(tostring(x[{ { 1, 3 } }]):find('1, 2, 3', 1, true)) end)
  try('compiled', function()
    local f = mc.compile(function(a) return (mc.exp(a * -0.5) + 1):sum() end)
    for _ = 1, 3 do
      assert(math.abs(f(x):item() - f(mc.arange(1, 1000)):item()) < 1e-9)
    end
  end)
  try('gradient', function()
    local g = mc.grad(function(a) return (a * a * 3):sum() end)(x)
    assert(g[10]:item() == 60)
  end)
end

--- Rows of the op table with small operands. Light: one dtype each.
function PARTS.rows(light)
  local calls, beside = support.load 'calls', support.load 'beside'
  calls.SMALL = 2048
  local missing, turn = {}, 0
  for _, r in ipairs(require 'mascon.gen.ops'.ops) do
    if r.family ~= 'lua' and not calls.inside(r) then
      turn = turn + 1
      for i, dtype in ipairs(turn % shares == share % shares and r.dtypes or {}) do
        if (not light or i == turn % #r.dtypes + 1) and not late(r[1] .. ' ' .. dtype) then
          for _, call in ipairs(calls.list(r, dtype) or {}) do
            local ok, why = pcall(beside.case, r, dtype, call)
            if ok and why then missing[r[1]] = true end
            check(r[1] .. ' ' .. dtype, ok, why)
            if light then break end
          end
        end
      end
      calls.forget()
    end
  end
  local names = {}
  for name in pairs(missing) do names[#names + 1] = name end
  table.sort(names)
  print(('%d rows without a form: %s'):format(#names, table.concat(names, ' ')))
end

function PARTS.families() PARTS.rows(true) end

--- Functions of one operand beside the CPU's: how many give its bits, and that the others lie within the tolerance of
--- their rows. Philox has its bits.
function PARTS.bits()
  local beside = support.load 'beside'
  local n, same_bits, other_bits = 2 ^ 16, 0, 0
  --- What lies outside of the tolerance among the elements that differ, in words; nil for nothing. A result may be that
  --- of a place within 4 units of x: where a function is steep, rounding of what it is made of shows as much.
  local function wide_of(r, f, x, want, got, apart)
    local a, b = want:take(apart, 1), got:take(apart, 1)
    local next_ = f(mc.nextafter(x:take(apart, 1), mc.inf))
    if want.dtype ~= 'bool' then
      local hard = mc.flatnonzero(mc.logical_not(mc.le(mc.abs(a - b), mc.abs(next_ - a) * 4)))
      a, b = a:take(hard, 1), b:take(hard, 1)
    end
    local most = math.min(1000, a:numel())
    if most == 0 then return end
    local fine, wrong = pcall(beside.same, r, b[{ { 1, most } }], a[{ { 1, most } }], 1)
    return not fine and tostring(wrong) or nil
  end
  local function same(a, b)
    return mc.all(mc.logical_or(mc.eq(a, b), mc.logical_and(mc.isnan(a), mc.isnan(b))))
  end
  for _, dtype in ipairs { 'f32', 'f64' } do
    local wide = mc.random.normal({ n }, { seed = 1, std = 20 }):to(dtype)
    local near = mc.random.uniform({ n }, { seed = 2, low = -1, high = 1 }):to(dtype)
    local up = mc.random.exponential({ n }, { seed = 3, scale = 30 }):to(dtype)
    for i, r in ipairs(require 'mascon.gen.ops'.ops) do
      if r.family == 'unary' and i % shares == share % shares and not late(r[1] .. ' ' .. dtype) then
        local f = rawget(require 'mascon.core.op'.functions, r[1])
        local off, all, far = 0, 0, nil
        for _, x in ipairs { wide, near, up } do
          local ok, want = pcall(f, x)
          local there, got
          if ok then there, got = pcall(function() return f(x:to(device)):to 'cpu' end) end
          if ok and there and want.dtype == got.dtype and not tostring(want.dtype):find '^c' then
            all = all + n
            if not same(want, got) then
              local apart = mc.flatnonzero(mc.logical_not(mc.logical_or(mc.eq(want, got),
                mc.logical_and(mc.isnan(want), mc.isnan(got)))))
              off = off + apart:numel()
              if apart:numel() > 0 and not far then far = wide_of(r, f, x, want, got, apart) end
            end
          end
        end
        if all > 0 then
          if off > 0 then print(('%s %s: %d of %d values differ'):format(r[1], dtype, off, all)) end
          same_bits, other_bits = same_bits + (off == 0 and 1 or 0), other_bits + (off > 0 and 1 or 0)
          check(('%s %s, within the tolerance of its row'):format(r[1], dtype), not far, far)
        end
      end
    end
  end
  print(('%d functions with the bits of the CPU, %d with others'):format(same_bits, other_bits))
  try('Philox has the bits of the CPU', function()
    local draw = mc.compile(function(key, x)
      return mc.random.uniform({ 1000 }, { key = key }) + x,
        mc.random.integers({ 1000 }, { low = 0, high = 99, key = key })
    end)
    local key, zero = mc.random.key(7), mc.zeros { 1000 }
    for _ = 1, 2 do
      local want, got = { draw(key, zero) }, { draw(key:to(device), zero:to(device)) }
      for i = 1, 2 do assert(mc.array_equal(want[i], got[i]:to 'cpu')) end
    end
  end)
  local body = mc.kernel { name = 'spread', inputs = { 'a' }, outputs = { 'y' }, body = 'y = sin(a) * 3' }
  try('a kernel of one\'s own', function()
    local x = mc.randn({ 1000 }, { seed = 5 })
    assert(mc.allclose(body(x), body(x:to(device)):to 'cpu', { rtol = 1e-12 }))
  end)
end

function PARTS.costs()
  local a, c = mc.ones({ 16 }, { device = device }), mc.zeros({ 16 }, { device = device })
  --- Seconds of a call: 1000 of them are waited for at once, fewer where they are slow.
  local function many(what, f)
    if late(what) then return end
    for _ = 1, 3 do f() end
    wait()
    local one = seconds(function() for _ = 1, 10 do f() end wait() end) / 10
    local n = math.max(10, math.min(1000, math.floor(0.1 / one)))
    row(what, times(function() for _ = 1, n do f() end end, 0.5) / n, n, 'calls')
  end
  many('add of 16 elements, out given', function() mc.add(a, a, { out = c }) end)
  many('add of 16 elements, allocating', function() local _ = a + a end)
  local f = mc.compile(function(x) return mc.cumsum(mc.cumsum(x * 2 + 1, 1) * 3, 1) end)
  many('compiled function of 4 launches', function() f(a) end)
  many('zeros of 1 MiB', function() mc.empty({ 2 ^ 17 }, { device = device }):release() end)
  for _, bytes in ipairs { 2 ^ 10, 2 ^ 20, 2 ^ 26 } do
    if late(('transfers of %d KiB'):format(bytes / 1024)) then break end
    local x = mc.ones { bytes / 8 }
    local y = x:to(device)
    local t = times(function() x:to(device):release() end, 0.5)
    row(('to the device, %d KiB'):format(bytes / 1024), t, bytes / t / 1e9, 'GB/s')
    t = times(function() y:to('cpu'):release() end, 0.5)
    row(('from the device, %d KiB'):format(bytes / 1024), t, bytes / t / 1e9, 'GB/s')
  end
end

--- Large products, in the ways of a library; without one own kernels would take too long.
function PARTS.products()
  local there = false
  for _, d in ipairs(mc.devices()) do
    there = there or d.name == tensor.device_name(number) and d.about:find 'cuBLASLt %d'
  end
  if not there or os.getenv 'DEVICE_STANDIN' then print 'skipped: no library of a card multiplies' return end
  local n = 4096
  local x = mc.randn({ n, n }, { seed = 1, dtype = 'f32' }):to(device)
  for _, way in ipairs { 'f32', 'tf32', 'bf16', 'f16' } do
    if not late(way) then
      local a = way:find '16' and x:to(way) or x
      mc.set_tf32(way == 'tf32')
      local t = times(function() a:matmul(a):release() end, 0.5)
      mc.set_tf32(false)
      row(('product of %d x %d, %s'):format(n, n, way), t, 2 * n ^ 3 / t / 1e9, 'GFLOP/s')
    end
  end
end

function PARTS.oom()
  local before = mc.memory { device = device }.live
  local total
  for _, d in ipairs(mc.devices()) do if d.name == tensor.device_name(number) then total = d.memory end end
  if not total then print 'skipped: the device does not say how much memory it has' return end
  lib.check(C.mc_device_limit_set(number, before + 2 ^ 25), 2)
  local f = mc.compile(function(x) return mc.cumsum(mc.cumsum(x, 1) * 2, 1):sum() end)
  local ok, why = pcall(function()
    local big = mc.ones({ 2 ^ 21 }, { device = device })
    local r = f(big)
    return r
  end)
  check('memory that runs out in a compiled function is an error', not ok and tostring(why):find 'largest live tensors',
    why)
  print((tostring(why):gsub('\n.*', '')))
  try('a smaller job then runs', function()
    assert(f(mc.ones({ 4 }, { device = device })):item() == 40)
  end)
  lib.check(C.mc_device_limit_set(number, 0), 2)
end

function PARTS.workflows()
  local x = mc.randn({ 8, 2048 }, { seed = 1 }):to 'f32'
  for _, dtype in ipairs { 'f64', 'f32' } do
    for _, measure in ipairs { 'mi', 'plv', 'mvl', 'glm' } do
      try(('pac %s %s'):format(measure, dtype), function()
        local o = { fs = 512, pha_n_bands = 4, amp_n_bands = 6, n_perm = 20, seed = 2, measure = measure,
          dtype = dtype }
        local want = mc.pac.compute(x, o)
        o.device = device
        local got = mc.pac.compute(x, o)
        local far = mc.max(mc.abs(want.pac:to 'f64' - got.pac:to 'f64')):item()
        assert(far <= (dtype == 'f64' and 1e-6 or 2e-5), far)
      end)
    end
  end
  try('autoreject', function()
    local s = mc.autoreject.generate.s1()
    local e = mc.meeg.epochs.new { data = s.data, fs = s.fs, positions = s.positions }
    local o = { random_state = 1, verbose = false }
    local want = mc.autoreject.fit(e, o):log(e)
    o.device = device
    local got = mc.autoreject.fit(e, o):log(e)
    assert(mc.all(mc.logical_or(mc.eq(want.labels, got.labels), mc.isnan(want.labels))))
  end)
end

if not PARTS[part] then
  io.stderr:write('device.lua: there is no part ', tostring(part), '\n')
  os.exit(2)
end
PARTS[part]()
local programs = ffi.new 'double[3]'
C.mc_device_programs(programs)
print(('%d programs compiled in %.1f s, %d found'):format(programs[0], programs[2], programs[1]))
if #left_out > 0 then print('left out for lack of time: ' .. table.concat(left_out, ', ')) end
print(('%d passed, %d failed, %d left out'):format(passed, failed, #left_out))
os.exit(failed == 0 and 0 or 1)
