-- blas_spec.lua - MASCON_BLAS: other libraries of matrix products than OpenBLAS, and what is said of others.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local process = support.load 'process'
local host = require 'mascon.host'
local mc = require 'mascon'

local DEBIAN = '/usr/lib/x86_64-linux-gnu/'
local BLIS = DEBIAN .. 'blis-pthread/libblis.so.4'
local REFERENCE, LAPACK = DEBIAN .. 'blas/libblas.so.3', DEBIAN .. 'lapack/liblapack.so.3'

--- Runs Lua code, or a spec file, with these libraries.
local function run(libraries, what)
  return process.shell(("MASCON_BLAS='%s' '%s' %s"):format(libraries, host.exe, what))
end

local SOLVE = [[-e 'local mc = require "mascon"; local a = mc.randn({ 60, 60 }, { seed = 1 })
  print(mc.info().libraries.blas)
  print(mc.max(mc.abs(mc.matmul(a, mc.linalg.inv(a)) - mc.eye(60))):item() < 1e-10)
  local s = mc.linalg.svd(a:to "c128")
  print(mc.max(mc.abs(mc.matmul(s.U * s.S, s.Vh) - a)):item() < 1e-12)']]

describe('another library of matrix products', function()
  for _, case in ipairs { { 'BLIS', BLIS .. ':' .. LAPACK, BLIS }, { 'the reference', REFERENCE .. ':' .. LAPACK,
    REFERENCE } } do
    it(case[1] .. ' passes the tests of products and solves', function()
      if not mc.file.exists(case[3]) or not mc.file.exists(LAPACK) then return pending(case[3] .. ' is not here') end
      local r = run(case[2], SOLVE)
      assert.equal(0, r.status, r.text)
      assert.equal('true\ntrue\n', r.text:match '\n(.*)$')
      assert(r.text:find(case[3], 1, true), r.text) -- mascon info and manifests say what it is
      for _, name in ipairs { 'matmul_spec', 'products_spec' } do
        r = run(case[2], ("'%s/run.lua' %s"):format(support.folder, name))
        assert.equal(0, r.status, r.text)
      end
    end)
  end

  it('without LAPACK multiplies, and says so of the rest', function()
    local library = mc.file.exists(REFERENCE) and REFERENCE or BLIS
    if not mc.file.exists(library) then return pending(REFERENCE .. ' is not here') end
    local r = run(library, [[-e 'local mc = require "mascon" print(mc.ones{ 2, 9 }:matmul(mc.ones{ 9, 2 }):sum())']])
    assert(r.text:find('36', 1, true), r.text)
    r = run(library, "-e 'require(\"mascon\").linalg.inv(require(\"mascon\").eye(3))'")
    assert(r.status ~= 0 and r.text:find('has no LAPACK; name one behind it', 1, true), r.text)
  end)

  it('that cannot be used is an error, not other bits', function()
    local wrong = { ['none.so'] = 'none.so: cannot open', ['libm.so.6'] = 'there is no cblas_sgemm in it' }
    for name, words in pairs(wrong) do
      for _, code in ipairs { 'mc.matmul(mc.eye(40), mc.eye(40))', 'mc.linalg.inv(mc.eye(3))' } do
        local r = run(name, ("-e 'local mc = require \"mascon\"; %s'"):format(code))
        assert(r.status ~= 0 and r.text:find(words, 1, true), r.text)
      end
    end
  end)
end)

describe('OpenBLAS', function()
  it('takes kernels that fit a processor which it does not know', function()
    local library = mc.info().libraries.blas
    if not library:find 'OpenBLAS' then return pending(library) end
    if os.getenv 'OPENBLAS_CORETYPE' then return pending 'OPENBLAS_CORETYPE chooses' end
    if mc.info().isa == 'v2' then return pending 'the processor is an old one' end
    for _, old in ipairs { 'Prescott', 'Nehalem', 'Barcelona' } do assert(not library:find(old), library) end
  end)
end)
