-- device_table_spec.lua - rows of the op table on `ref`: the bits of the CPU, or a place in the list of the CPU's.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local C = require 'mascon.core.ffi'.C
local ffi = require 'ffi'
local op = require 'mascon.core.op'
local rows = require 'mascon.gen.ops'.ops
local calls = support.load 'calls'

local digest = ffi.new 'char[65]'
local function sha(t)
  assert(C.mc_sha256_tensor(t, digest) == 0)
  return ffi.string(digest)
end

-- composed on devices, and by a kernel of their own on the CPU, which adds up in another order
local OTHERWISE = { layer_norm = true, group_norm = true, instance_norm = true,
  scaled_dot_product_attention = true }

--- The same argument on the device, matrices in the same order of elements.
local function there(v)
  if mc.is_tensor(v) then return v.ndim == 2 and not v:is_contiguous() and v.mT:to('ref').mT or v:to 'ref' end
  if type(v) ~= 'table' then return v end
  local o = {}
  for k, x in pairs(v) do o[k] = there(x) end
  return o
end

--- Where two results differ; nil when they do not.
local function difference(want, got, at, near)
  if mc.is_tensor(want) then
    if not mc.is_tensor(got) then return at .. ' is no tensor' end
    if got.device ~= 'ref:0' then return at .. ' is on ' .. got.device end
    if got.dtype ~= want.dtype or got.shape ~= want.shape then
      return ('%s is %s[%s], want %s[%s]'):format(at, got.dtype, got.shape, want.dtype, want.shape)
    end
    if near then
      return not mc.allclose(got:to 'cpu', want, { rtol = near, atol = near }) and at .. ' is far away' or nil
    end
    return sha(got) ~= sha(want) and at .. ' has other bits' or nil
  elseif type(want) == 'table' then
    for k, x in pairs(want) do
      local d = difference(x, got[k], at .. '.' .. tostring(k), near)
      if d then return d end
    end
  elseif want ~= got and want == want then
    return ('%s is %s, want %s'):format(at, tostring(got), tostring(want))
  end
end

--- What differs between a call on the CPU and on the device; nil when nothing does.
local function compare(call, near)
  local args = there(call.args) -- before the call, which may write to its own
  mc.seed(1) -- of those that shuffle
  local want = { pcall(call.f, unpack(call.args)) }
  if not want[1] then return 'fails on the CPU: ' .. tostring(want[2]) end
  mc.seed(1)
  local got = { pcall(call.f, unpack(args)) }
  if not got[1] then return tostring(got[2]) end
  for i = 2, #want do
    local d = difference(want[i], got[i], 'result ' .. i - 1, near)
    if d then return d end
  end
end

-- Ops whose results depend on elements in size run on the CPU only; docs/ARCHITECTURE.md names them.
local HOST = { nonzero_flat = true, bincount = true, bincount_weighted = true, group_runs = true }
-- without num_segments
for _, how in ipairs { 'sum', 'prod', 'max', 'min', 'mean' } do HOST['segment_' .. how] = true end

-- functions composed of ops that need the ops above
local COUNTED_BY = { unique_all = true, unique_counts = true, unique_inverse = true, unique_values = true,
  argwhere = true, flatnonzero = true, roots = true, unique = true, unique_consecutive = true }

--- Whether a tensor stands among arguments.
local function tensors(v)
  if mc.is_tensor(v) then return true end
  for _, x in pairs(type(v) == 'table' and v or {}) do if tensors(x) then return true end end
  return false
end

describe('the op table on a device', function()
  local COUNTED = { gather = true, segment = true, unique = true }
  --- Operands that a test has left behind when it failed are no other's.
  before_each(function()
    calls.forget()
    calls.SMALL = 2 ^ 11
  end)
  teardown(function()
    calls.forget()
    calls.SMALL = nil
  end)

  for family in ([[elementwise reduce scan sort select softmax dot matmul layout pad gather segment recurrence
    interp tridiagonal fft dct linalg]]):gmatch '%S+' do
    it(('gives the bits of the CPU: %s'):format(family), function()
      local count = 0
      for _, row in ipairs(rows) do
        local of = calls.ewise[row.family] and 'elementwise' or row.family
        if of == family and not calls.inside(row) and not HOST[row[1]] then
          for _, dtype in ipairs(calls.dtypes(row)) do
            for _, call in ipairs(mc.scope(function() return mc.keep(calls.list(row, dtype)) end) or {}) do
              local wrong = mc.scope(compare, call)
              if wrong then error(('%s %s %s: %s'):format(row[1], dtype, call.what, wrong), 0) end
              count = count + 1
            end
          end
          calls.forget()
        end
      end
      assert.is_true(count > 0)
    end)
  end

  it('gives the bits of the CPU: functions composed of ops', function()
    local count, left = 0, {}
    for _, row in ipairs(rows) do
      if row.family == 'lua' and not calls.inside(row) then
        for _, call in ipairs(mc.scope(function() return mc.keep(calls.list(row, 'f64')) end) or {}) do
          local wrong = tensors(call.args) and mc.scope(compare, call, OTHERWISE[row[1]] and 1e-13)
          local known = COUNTED_BY[row[1]] and 'has a form on the CPU only'
          if known then assert.matches(known, tostring(wrong)) elseif wrong then error(row[1] .. ': ' .. wrong, 0) end
          if known then left[#left + 1] = row[1] elseif wrong == nil then count = count + 1 end
        end
        calls.forget()
      end
    end
    print('composed functions that do not run there: ' .. table.concat(left, ' '))
    assert.is_true(count > 130, count .. ' functions')
  end)

  it('solves systems where the matrix is, in compiled functions too', function()
    local a, b = mc.tensor { { 4, 1, 0 }, { 1, 3, 1 }, { 0, 1, 2 } }, mc.tensor { 1, 2, 3 }
    local L = mc.linalg
    for _, name in ipairs { 'cg', 'bicgstab', 'gmres', 'lsqr' } do
      local f = mc.compile(function(m, v) return L[name](m, v).x end)
      for _ = 1, 2 do assert.is_nil(difference(f(a, b), f(a:to 'ref', b:to 'ref'), name)) end
    end
    local found = L.eigsh(a:to 'ref', { k = 1 })
    assert.equal('ref:0 ref:0', found.values.device .. ' ' .. found.vectors.device)
  end)

  it('holds the random numbers of the CPU', function()
    local r = mc.random
    local eye = mc.eye(2)
    local named = { randperm = 'random.permutation' }
    local try = {
      randn = function(o) return mc.randn({ 3, 2 }, o) end, rand = function(o) return mc.rand({ 3 }, o) end,
      randint = function(o) return mc.randint(1, 9, { 4 }, o) end, randperm = function(o) return mc.randperm(5, o) end,
      permutation = function(o) return r.permutation(6, o) end, choice = function(o) return r.choice(6, { 4 }, o) end,
      gamma = function(o) o.a = 2 return r.gamma({ 3 }, o) end,
      multinomial = function(o) o.n, o.p = 4, { 1, 2 } return r.multinomial({ 2 }, o) end,
      dirichlet = function(o) o.alpha = { 1, 2 } return r.dirichlet({ 2 }, o) end,
      multivariate_normal = function(o) o.cov = eye return r.multivariate_normal({ 2 }, o) end,
      wishart = function(o) o.df, o.scale = 3, eye return r.wishart({ 2 }, o) end,
      sobol = function(o) return r.sobol(4, 2, o) end, halton = function(o) return r.halton(4, 2, o) end,
      latin_hypercube = function(o) return r.latin_hypercube(4, 2, o) end,
    }
    for name, f in pairs(try) do
      local want = f { key = r.key(3) }
      assert.equal('cpu', want.device)
      assert.is_nil(difference(want, f { key = r.key(3), device = 'ref' }, name))
      assert.matches((named[name] or name) .. ': out is on cpu and device is ref:0; leave device out',
        support.message(function() f { device = 'ref', out = want } end), 1, true)
    end
    local x = mc.arange(1, 6)
    for _, f in ipairs { r.permutation, function(t, o) return r.choice(t, { 3 }, o) end } do
      assert.is_nil(difference(f(x, { key = r.key(1) }), f(x:to 'ref', { key = r.key(1) }), 'of a tensor'))
      assert.matches('x is on cpu and device is ref:0; move x with :to first',
        support.message(function() f(x, { device = 'ref' }) end), 1, true)
    end
    assert.matches('randn: option device is true; it must be string',
      support.message(function() mc.randn({ 2 }, { device = true }) end), 1, true)
  end)

  it('names the CPU where the size of a result depends on values', function()
    local names = {}
    for _, row in ipairs(rows) do
      if row.by_value then
        assert.is_true(HOST[row[1]], row[1])
        assert.is_true(COUNTED[row.family])
        names[#names + 1] = row[1]
      end
    end
    local i, x = mc.tensor({ 1, 1, 2 }, { dtype = 'i64' }):to 'ref', mc.tensor({ 1, 2, 3 }):to 'ref'
    local f = op.functions
    local try = { nonzero_flat = { x }, bincount = { i }, bincount_weighted = { i:to 'f64', x } }
    for _, name in ipairs(names) do
      if f[name] then
        local args = name:find '^segment' and { x, i } or try[name]
        assert.matches(name .. ': the size of its result depends on values, so that it has a form on '
          .. 'the CPU only; move the operands with :to "cpu" first',
          support.message(function() return f[name](unpack(args)) end), 1, true)
      end
    end
    print('CPU only: ' .. table.concat(names, ' '))
    assert.equal(9, #names)
    assert.same(mc.segment_sum(x:to 'cpu', i:to 'cpu'):totable(), mc.segment_sum(x, i, { num_segments = 2 }):totable())
  end)
end)
