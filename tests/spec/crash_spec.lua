-- crash_spec.lua - calls that once ended the process or never came back, each in a process of its own.
local mc = require 'mascon'
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local process = support.load 'process'

describe('a call that is wrong', function()
  local WRONG = {
    'mc.randn{ 9, seed = 7 }; mc.select_quantile(mc.randn{ 20 })', 'mc.ones{ 2 }:shares_memory()', 'mc.fft.config()',
    'mc.fft.config(3)', 'mc.fft.save_wisdom()', 'mc.fft.load_wisdom()',
    'mc.from_dlpack(require("ffi").new("char[200]"))', 'mc.from_dlpack(require("ffi").new("int[2]"))',
    'mc.array_split(mc.ones{ 3 }, 2 ^ 40)',
  }
  for _, call in ipairs(WRONG) do
    it('is an error in words: ' .. call, function()
      local r = process.within(10, 'local mc = require "mascon"; ' .. call)
      assert.equal(1, r.status, r.text)
      assert.falsy(r.text:find 'attempt to' or r.text:find 'cdata>' or r.text:find 'bad argument', r.text)
    end)
  end
end)

describe('a method', function()
  it('called without its tensor is an error, never a signal', function()
    local r = process.within(60, [[
      require 'mascon'
      local n, raised = 0, 0
      for name, f in pairs(require 'mascon.core.tensor'.methods) do
        n = n + 1
        if not pcall(f) then raised = raised + 1 else print(name) end
      end
      print(n > 200, n - raised)]])
    assert.equal(0, r.status, r.text)
    assert.truthy(r.text:find 'true\t%d+\n$', r.text)
  end)
end)

describe('a kernel of extreme arguments', function()
  local ENDLESS = {
    { 'mc.stats.poisson.isf(0.5, 1e300)', 1e300 }, { 'mc.stats.poisson.ppf(0.5, 1e300)', 1e300 },
    { 'mc.stats.poisson.ppf(0.5, 1e17)', 1e17 }, { 'mc.special.zeta(1e19, 4)', 0 },
    { 'mc.special.zeta(1e300, 0.5)', math.huge }, { 'mc.special.polygamma(1e19, 3)', false },
    { 'mc.stats.nbinom.ppf(0.5, 1e200, 0.5)', false }, { 'mc.stats.binom.ppf(0.5, 1e200, 0.5)', false },
  }
  for _, c in ipairs(ENDLESS) do
    it('comes back: ' .. c[1], function()
      local r = process.within(10, ('local mc = require "mascon"; print(("%%.17g"):format(%s:item()))'):format(c[1]))
      assert.equal(0, r.status, r.text)
      if c[2] == math.huge then assert.equal('inf', r.text:match '%S+')
      elseif c[2] then assert.near(c[2], tonumber(r.text), 1e-8 * c[2]) end
    end)
  end

  it('counts whole numbers up to 2^53 exactly', function()
    assert.equal(100000, mc.stats.poisson.ppf(0.5, 1e5):item())
    assert.equal(3, mc.stats.poisson.ppf(0.6, 3):item())
  end)
end)
