-- huge.lua - tensors of more than 2^31 elements: ops whose counts, positions or offsets would overflow 32 bits show it
-- here.
--
-- usage: mascon tests/huge.lua   (run by `make long`). Each check says what memory it needs; one that does not fit into
--   what is available is skipped with a word.
-- Prints `N passed, M failed, K skipped`.
local mc = require 'mascon'
local host = require 'mascon.host'

local N = 2 ^ 31 + 11
local GIB = 2 ^ 30
local passed, failed, skipped = 0, 0, 0

local function available()
  local f = io.open '/proc/meminfo'
  local text = f and f:read '*a' or ''
  if f then f:close() end
  return (tonumber(text:match 'MemAvailable:%s*(%d+)') or 0) * 1024
end

local function check(name, gib, f)
  mc.scope(function() end)
  collectgarbage()
  collectgarbage()
  if available() < (gib + 1) * GIB then
    skipped = skipped + 1
    print(('  %s: skipped, it needs %g GiB and %.1f GiB are free'):format(name, gib + 1, available() / GIB))
    return
  end
  local began = host.clock()
  local ok, e = pcall(mc.scope, f)
  if ok then passed = passed + 1 else failed = failed + 1 end
  print(('  %s: %s (%.1f s)'):format(name, ok and 'passed' or 'FAILED: ' .. tostring(e), host.clock() - began))
end

local function same(want, got, what)
  if want ~= got then error(('%s: want %s, got %s'):format(what, tostring(want), tostring(got)), 0) end
end

--- u8 zeros with the values 3, 5, 7 at three places: the second, one past 2^31, the last.
local PLACES = { 2, 2 ^ 31 + 3, N }
local function marked()
  local x = mc.zeros({ N }, { dtype = 'u8' })
  for i, at in ipairs(PLACES) do x[at] = 2 * i + 1 end
  return x
end

check('make, index, number of elements', 2, function()
  local x = marked()
  same(N, x:numel(), 'numel')
  for i, at in ipairs(PLACES) do same(2 * i + 1, x[at]:item(), 'element ' .. at) end
  same(7, x[-1]:item(), 'last element')
  same(12, x[{ { 2 ^ 31, N } }]:sum():item(), 'range past 2^31')
  same(5, x[{ { 2 ^ 31 + 3, N, 8 } }][1]:item(), 'range with a step')
end)
check('sum, mean, max, any, all, count_nonzero', 2, function()
  local x = marked()
  same(15, x:sum():item(), 'sum')
  same(7, x:max():item(), 'max')
  same(0, x:min():item(), 'min')
  same(true, mc.any(x), 'any')
  same(false, mc.all(x), 'all')
  x:fill_(1)
  same(N, x:sum():item(), 'sum of ones')
end)
check('argmax, argmin', 2, function()
  local x = marked()
  same(N, mc.argmax(x):item(), 'argmax')
  x:fill_(1)
  x[2 ^ 31 + 7] = 0
  same(2 ^ 31 + 7, mc.argmin(x):item(), 'argmin')
end)
check('reductions over rows of 2^30 elements', 2, function()
  local x = marked()[{ { 1, 2 ^ 31 } }]:reshape(2, 2 ^ 30)
  same('{2}', tostring(x:sum(2).shape), 'shape')
  same(3, x:sum(2)[1]:item(), 'first row')
  same(0, x:sum(2)[2]:item(), 'second row')
end)
check('elementwise, in place and into a comparison', 6, function()
  local x = marked()
  local y = mc.add(x, x)
  for i, at in ipairs(PLACES) do same(4 * i + 2, y[at]:item(), 'x + x') end
  local z = mc.gt(x, 4)
  same(2, z:sum():item(), 'x > 4')
end)
check('copy, flip, fill', 4, function()
  local x = marked()
  local y = x:flip():copy()
  for i, at in ipairs(PLACES) do same(2 * i + 1, y[N + 1 - at]:item(), 'flipped') end
  y:fill_(9)
  same(9, y[N]:item(), 'filled')
end)
check('concat past 2^31', 4, function()
  local half = mc.zeros({ 2 ^ 30 + 5 }, { dtype = 'u8' })
  half[-1] = 4
  local x = mc.concat { half, half }
  same(2 ^ 31 + 10, x:numel(), 'elements')
  same(4, x[2 ^ 31 + 10]:item(), 'last')
  same(4, x[2 ^ 30 + 5]:item(), 'middle')
end)
check('take and nonzero with positions past 2^31', 2, function()
  local x = marked()
  local y = mc.take(x, mc.tensor(PLACES, { dtype = 'i64' }))
  for i = 1, 3 do same(2 * i + 1, y[i]:item(), 'taken') end
  local places = mc.nonzero(x)
  for i = 1, 3 do same(PLACES[i], places[i]:item(), 'nonzero') end
end)
check('sort', 8, function()
  local x = marked():sort()
  for i = 1, 3 do same(2 * i + 1, x[N - 3 + i]:item(), 'sorted') end
  same(0, x[1]:item(), 'first')
end)
check('conversion and assignment through a mask', 6, function()
  local x = marked()
  x[mc.eq(x, 5)] = 6
  same(6, x[PLACES[2]]:item(), 'masked')
  local b = x:to 'bool'
  same(3, b:sum():item(), 'bool')
end)
check('cumsum', 19, function()
  local c = mc.cumsum(marked(), 1)
  same(15, c[N]:item(), 'last')
  same(3, c[2 ^ 31 + 2]:item(), 'before the second mark')
end)

-- on a device, which may be this machine's processor: DEVICE names it
local device = os.getenv 'DEVICE' or 'opencl:0'
local there, why = pcall(mc.zeros, { 1 }, { device = device })
if not there then
  skipped = skipped + 1
  print('  on a device: skipped, ' .. tostring(why):match '^[^\n]*')
else
  check('copy, add and sum on ' .. device, 9, function()
    local x = marked():to(device)
    local y = x:copy()
    for i, at in ipairs(PLACES) do same(2 * i + 1, y[at]:item(), 'copied element ' .. at) end
    y:add_(x)
    for i, at in ipairs(PLACES) do same(4 * i + 2, y[at]:item(), 'added element ' .. at) end
    same(30, y:sum():item(), 'sum')
    same(24, y[{ { 2 ^ 31, N } }]:sum():item(), 'range past 2^31')
    same(14, y:max():item(), 'max')
  end)
  check('strided and broadcast on ' .. device, 9, function()
    local x = marked():to(device)
    same(5, x[{ { 2 ^ 31 + 3, N, 8 } }][1]:item(), 'range with a step')
    same(7, x[{ { N, 1, -1 } }]:copy()[1]:item(), 'turned round')
    local rows = mc.zeros({ 3, 1 }, { dtype = 'u8', device = device }) + x[{ { 1, 2 ^ 30 } }]:reshape(1, -1)
    same(9, rows:sum():item(), 'three rows of 2^30')
  end)
end

print(('%d passed, %d failed%s'):format(passed, failed, skipped > 0 and (', %d skipped'):format(skipped) or ''))
os.exit(failed == 0 and 0 or 1)
