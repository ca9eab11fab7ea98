-- device_auto_spec.lua - what has no form on a device: an error where the script names the device; where the word auto
-- led to it, through the host with the CPU's bits, counted, and told in one line at the end.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local device, process = support.load 'device', support.load 'process'

local COMMON = [[
local mc = require 'mascon'
local x = mc.randn({ 3, 4, 4 }, { seed = 1 })
x = x + x:transpose(2, 3)
local d = x:to(arg[1])
assert(d.device ~= 'cpu')
local function same(what, f, ...)
  local want, got = { f(x, ...) }, { f(d, ...) }
  assert(#want == #got)
  for i, w in ipairs(want) do
    assert(got[i].device == d.device, what .. ' is on ' .. got[i].device)
    assert(got[i].dtype == w.dtype and mc.array_equal(got[i]:to 'cpu', w), what)
  end
end
]]

local THROUGH = COMMON .. [[
local L = mc.linalg
same('eigh', L.eigh)
same('eigh again', L.eigh)
same('svdvals', L.svdvals)
same('of a view', function(v) return L.eigvalsh(v[{ { 1, 3, 2 } }]) end)
same('counts', function(v) return mc.bincount(v:gt(0):to('i64'):reshape(-1)) end)
same('roots', function(v) return mc.roots(v[{ 1, 1 }]) end)
same('no roots', function(v) return mc.roots(v[{ 1, 1 }] * 0) end)
same('compiled', mc.compile(function(v) return L.eigvalsh(v * 2) + 1 end).f)
same('replayed', function(v) return mc.compile(function(a) return L.eigvalsh(a * 2) + 1 end)(v) end)
local f = mc.compile(function(v) return L.eigvalsh(v * 2) + 1 end)
for _ = 1, 3 do assert(mc.allclose(f(d):to 'cpu', f.f(x), { rtol = 1e-12 })) end
local g = mc.compile(mc.grad(function(v) return (L.eigvalsh(v) ^ 2):sum() end))
assert(mc.allclose(g(d):to 'cpu', x * 2, { rtol = 1e-9, atol = 1e-9 }))
local out = mc.zeros({ 3, 4 }, { device = d.device })
assert(L.eigvalsh(d, { out = out }) == out and mc.array_equal(out:to 'cpu', L.eigvalsh(x)))
local ok, why = pcall(L.eigvalsh, d[{ mc.all, { 1, 2 } }])
assert(not ok and tostring(why):find('square', 1, true), why)
local before, live = mc.through_host().eigh, mc.memory { device = d.device }.live
for _ = 1, 20 do L.eigh(d) end
collectgarbage() collectgarbage()
assert(mc.through_host().eigh == before + 20)
assert(mc.memory { device = d.device }.live <= live, 'device memory is kept')
print 'done'
]]

-- asking which device auto is is no use of the word
local NAMED = COMMON .. [[
assert(mc.choose_device() == d.device)
local ok, why = pcall(mc.linalg.eigh, d)
assert(not ok)
assert(next(mc.through_host()) == nil)
print(why)
]]

local function run(code, where)
  return process.mascon('local arg = { "' .. where .. '" }\n' .. code,
    { MASCON_DEVICE = device.name(), POCL_CACHE_DIR = require 'mascon.host'.libdir .. '/pocl' })
end

describe('an operation without a form on a device', function()
  it('goes through the host where auto led there', function()
    local name, why = device.name()
    if not name then return pending(why) end
    local r = run(THROUGH, 'auto')
    assert.matches('done', r.text)
    assert.matches('\nmascon: calls without a form on the device that auto took went through the host: bincount %(1%), '
      .. 'eigh %(%d+%), eigvals %(1%), eigvalsh %(%d+%), nonzero_flat %(2%), svdvals %(1%)\n$', '\n' .. r.text)
  end)
  it('raises where the script names the device', function()
    local name, why = device.name()
    if not name then return pending(why) end
    local r = run(NAMED, name)
    assert.matches('eigh: it has no form for ' .. name .. ' yet.*:to "cpu" first', r.text)
    assert.is_nil(r.text:find('through the host', 1, true))
  end)
end)
