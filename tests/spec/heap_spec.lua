-- heap_spec.lua - a full Lua heap: a script ends with one error, the prompt goes on with what it holds.
--
-- MASCON_TEST_LUA_HEAP bounds the heap; the same is tried under `ulimit -v`.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local process = support.load 'process'
local exe = require 'mascon.host'.exe

local LIMITS = { 'export MASCON_TEST_LUA_HEAP=24000000; ', 'ulimit -v 60000; ' }
local FILL = {
  records = 't = {} for i = 1, 1e9 do t[i] = { i } end', texts = 't = {} for i = 1, 1e9 do t[#t + 1] = tostring(i) end',
  one_text = 't = ("x"):rep(2^30)',
  closures = 't = nil; for i = 1, 1e9 do local before = t; t = function() return before, i end end',
}

local function lines(limit, ...)
  local at = process.folder()
  process.write(at .. '/in', table.concat({ ... }, '\n') .. '\n')
  local r = process.shell(('%s timeout -s KILL 30 %s < %s/in'):format(limit, exe, at))
  process.remove(at)
  return r
end

describe('a full Lua heap', function()
  for name, code in pairs(FILL) do
    it('leaves the prompt its state: ' .. name, function()
      for _, limit in ipairs(LIMITS) do
        local r = lines(limit, 'a = 41', code, 'print("after", a + 1)', 't = nil', 'print("and", #("x"):rep(100000))')
        local said = limit .. r.text:sub(1, 600)
        assert.truthy(r.text:find('not enough memory: the Lua heap is full', 1, true), said)
        assert.truthy(r.text:find 'after\t42\n' and r.text:find 'and\t100000\n', said)
        assert.equal(1, r.status, said)
      end
    end)

    it('ends a script with one error: ' .. name, function()
      for _, limit in ipairs(LIMITS) do
        local r = process.shell(('%s timeout -s KILL 30 %s -e %q'):format(limit, exe, code))
        assert.equal(1, r.status, limit .. r.text:sub(1, 600))
        local _, n = r.text:gsub('not enough memory', '')
        assert.equal(1, n, limit .. r.text:sub(1, 600))
      end
    end)
  end

  it('lets the library be loaded once there is room again', function()
    local r = lines('ulimit -v 60000; ', FILL.records, 'print(pcall(function() return mc.ones { 3 } end))', 't = nil',
      'print(mc.ones { 3 }:sum():item())')
    assert.truthy(r.text:find '\n3\n$', r.text)
  end)

  it('can be caught by a script, which goes on', function()
    local r = process.shell(('MASCON_TEST_LUA_HEAP=30000000 %s -e %q'):format(exe, [[
      for _ = 1, 3 do
        local ok, why = pcall(function() local t = {} for i = 1, 1e9 do t[i] = { i } end end)
        assert(not ok and why == 'not enough memory', why)
        collectgarbage()
      end
      print(require 'mascon'.ones { 4 }:sum():item())]]))
    assert.equal('4\n', r.text)
  end)
end)
