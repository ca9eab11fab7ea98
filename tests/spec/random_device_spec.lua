-- random_device_spec.lua - keys on devices: what is drawn with them is there, with the CPU's bits, also in functions
-- that are compiled, differentiated, vectorised or repeated; keys of the host go where the other arguments are.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local device = support.load 'device'

local on = device.tests(it, pending)
local R = mc.random

--- f on the CPU and with tensors and keys made for the device: the same bits, on the device.
local function same(d, f)
  local want = f(function(v) return v end)
  local got = f(function(v) return v:to(d) end)
  assert.equal(d, got.device)
  assert.is_true(mc.array_equal(want, got:to 'cpu'))
end

describe('a key on a device', function()
  on('is made there or moved there, and keys derived from it stay', function(d)
    local key, there = R.key(3), R.key(3, { device = d })
    assert.equal('cpu', key.device)
    assert.equal(d, there.device)
    assert.is_true(key:to(d) == there and rawequal(getmetatable(key), getmetatable(there)))
    assert.equal('cpu', there:to 'cpu'.device)
    for _, k in ipairs { there:split(2)[2], there:fold_in(7), R.keys(there, 3), R.keys(there, 3)[2],
      R.key(mc.tensor(3, { dtype = 'i64' }):to(d)) } do
      assert.equal(d, k.device)
      assert.equal(d, k:words().device)
    end
    assert.equal(tostring(key:split(2)[2]), tostring(there:split(2)[2]))
    assert.equal(tostring(key:fold_in(7)), tostring(there:fold_in(7)))
    assert.matches('option "devise" is unknown', support.message(function() R.key(3, { devise = d }) end))
  end)

  on('draws there, what has a form there and what has none', function(d)
    same(d, function(at) return R.normal({ 5 }, { key = at(R.key(1)) }) end)
    same(d, function(at) return R.gamma({ 5 }, { key = at(R.key(1)), a = 2 }) end)
    same(d, function(at) return R.uniform({ 5 }, { key = R.key(at(mc.tensor(5, { dtype = 'i64' }))) }) end)
    assert.equal('cpu', R.normal({ 2 }, { key = R.key(1, { device = d }), device = 'cpu' }).device)
  end)
end)

describe('draws beside tensors of a device', function()
  on('take keys of the host in compiled functions, at each call', function(d)
    local f = mc.compile(function(a, k) return a * R.uniform({ 3 }, { key = k }) end)
    for i = 1, 3 do
      same(d, function(at) return f(at(mc.ones { 3 }), R.key(i)) end)
      same(d, function(at) return f(at(mc.ones { 3 }), at(R.key(i))) end)
    end
    assert.equal(2, f.traces)
    same(d, function(at) return mc.compile(function(k) return R.normal({ 3 }, { key = k }) end)(at(R.key(2))) end)
    local captured = R.key(4)
    same(d, function(at)
      local x = at(mc.ones { 3 })
      return mc.compile(function(a) return a * R.normal({ 3 }, { key = captured, device = x.device }) end)(x)
    end)
    same(d, function(at)
      return mc.compile(function(k, p) return R.bernoulli({ 9 }, { key = k, p = p }) end)(R.key(1), at(mc.tensor(0.5)))
    end)
    same(d, function(at)
      return mc.compile(function(a, k) return a * R.gamma({ 3 }, { key = k, a = 2 }) end)(at(mc.ones { 3 }), R.key(1))
    end)
  end)

  on('take them in derivatives, batches and loops', function(d)
    local key, dropout = R.key(1), mc.nn.dropout
    same(d, function(at) return mc.grad(function(a) return dropout(a, 0.5, key):sum() end)(at(mc.ones { 9 })) end)
    same(d, function(at)
      local f = mc.compile(mc.grad(function(a, k) return (a * R.uniform({ 3 }, { key = k })):sum() end))
      return f(at(mc.ones { 3 }), key)
    end)
    same(d, function(at)
      return mc.vmap(function(k, x) return dropout(x, 0.5, k) end)(R.keys(key, 2), at(mc.ones { 2, 5 }))
    end)
    same(d, function(at)
      return (mc.scan(function(c, k) return c + R.normal({ 3 }, { key = k }), c end, at(mc.ones { 3 }), R.keys(key, 2)))
    end)
    same(d, function(at)
      return mc.compile(function(a, k)
        return mc.fori_loop(1, 3, function(i, c) return dropout(c, 0.5, k:fold_in(i)) end, a)
      end)(at(mc.ones { 9 }), key)
    end)
  end)
end)
