-- with_device_spec.lua - mc.with_device: the device of tensors whose makers name none; and that each maker that takes
-- the option device puts its result there.
local mc = require 'mascon'

local MAKERS = {
  empty = function(o) return mc.empty({ 2 }, o) end, zeros = function(o) return mc.zeros({ 2 }, o) end,
  ones = function(o) return mc.ones({ 2 }, o) end, full = function(o) return mc.full({ 2 }, 3, o) end,
  tensor = function(o) return mc.tensor({ 1, 2 }, o) end, number = function(o) return mc.tensor(3, o) end,
  asarray = function(o) return mc.asarray({ 1, 2 }, o) end, arange = function(o) return mc.arange(1, 3, o) end,
  wide = function(o) return mc.arange(1LL, 3LL, o) end, linspace = function(o) return mc.linspace(0, 1, 3, o) end,
  complex = function(o) return mc.linspace(mc.complex(0, 1), 1, 3, o) end,
  logspace = function(o) return mc.logspace(0, 3, 4, o) end,
  geomspace = function(o) return mc.geomspace(1, 8, 4, o) end,
  eye = function(o) return mc.eye(3, 3, o) end, tri = function(o) return mc.tri(3, 3, o) end,
  fftfreq = function(o) return mc.fft.fftfreq(5, 1, o) end, rfftfreq = function(o) return mc.fft.rfftfreq(5, 1, o) end,
}
local function seeded(f)
  return function(o)
    local given = { seed = 4 }
    for k, v in pairs(o or {}) do given[k] = v end
    return f(given)
  end
end
for name, f in pairs {
  randn = function(o) return mc.randn({ 3 }, o) end, rand = function(o) return mc.rand({ 3 }, o) end,
  randint = function(o) return mc.randint(1, 6, { 3 }, o) end, randperm = function(o) return mc.randperm(5, o) end,
  gamma = function(o) o.a = 2 return mc.random.gamma({ 3 }, o) end,
  dirichlet = function(o) o.alpha = { 1, 2 } return mc.random.dirichlet({}, o) end,
  permutation = function(o) return mc.random.permutation(5, o) end,
  choice = function(o) return mc.random.choice(9, { 3 }, o) end,
  latin = function(o) return mc.random.latin_hypercube(3, 2, o) end,
} do MAKERS[name] = seeded(f) end

local names = {}
for name in pairs(MAKERS) do names[#names + 1] = name end
table.sort(names)

local function on(device, f)
  return mc.with_device(device, f)
end

describe('mc.with_device', function()
  for _, name in ipairs(names) do
    it('places what is made: ' .. name, function()
      mc.scope(function()
        local f = MAKERS[name]
        local want, inside = f(), on('ref', function() return f() end)
        local named, back = f { device = 'ref' }, on('ref', function() return f { device = 'cpu' } end)
        assert.same({ 'cpu', 'ref:0', 'ref:0', 'cpu' }, { want.device, inside.device, named.device, back.device })
        if name ~= 'empty' then
          assert.same(want:totable(), inside:totable())
          assert.same(want:totable(), named:totable())
          assert.equal(want.dtype, named.dtype)
        end
      end)
    end)
  end

  it('holds for parameters and buffers of modules of one\'s own', function()
    local Own = mc.nn.Module 'Own'
    function Own:init()
      self:parameter('scale', { 2 }, 'ones')
      self:buffer('mean', { 2 })
      self:parameter('shift', { 2 }, 'ones', { device = 'cpu' })
    end
    local there = mc.with_device('ref:0', function() return Own() end)
    assert.same({ 'ref:0', 'ref:0', 'cpu' }, { there.scale.device, there.mean.device, there.shift.device })
    assert.equal('cpu', Own().scale.device)
  end)

  it('holds for layers of networks, and with points of sequences', function()
    mc.scope(function()
      local layer = on('ref', function() return mc.nn.TransformerEncoderLayer(8, 2) end)
      for at, p in ipairs(layer:parameters()) do assert.equal('ref:0', p.device, at) end
      assert.equal('ref:0', on('ref', function() return mc.nn.init.zeros { 2, 2 } end).device)
      assert.equal('ref:0', on('ref', function() return mc.random.sobol(4, 2) end).device)
    end)
  end)

  it('leaves alone what stands somewhere already, and what the library makes for itself', function()
    mc.scope(function()
      local x = mc.arange(1, 8)
      on('ref', function()
        assert.equal('cpu', mc.zeros_like(x).device)
        assert.equal('cpu', mc.tensor(x).device)
        assert.equal('cpu', mc.asarray(x).device)
        assert.equal('cpu', mc.randn({ 2 }, { out = mc.zeros({ 2 }, { device = 'cpu' }) }).device)
        assert.equal('cpu', mc.random.permutation(x).device)
        assert.equal('cpu', mc.signal.hilbert(x).device)
        assert.equal('cpu', mc.stats.zscore(x).device)
        assert.equal('cpu', mc.signal.firwin(11, 0.3).device)
      end)
    end)
  end)

  it('nests, gives results, and ends with the block, also after an error', function()
    mc.scope(function()
      local a, b, c = mc.with_device('ref', function(p, q) return p, q, mc.zeros { 1 } end, 1, nil)
      assert.same({ 1, nil, 'ref:0' }, { a, b, c.device })
      on('ref', function()
        assert.equal('cpu', on('cpu', function() return mc.ones { 1 } end).device)
        assert.equal('ref:0', mc.ones({ 1 }).device)
        assert.is_false(pcall(mc.arange, 'x')) -- takes no offer with it
        assert.equal('cpu', mc.signal.firwin(11, 0.3).device)
      end)
      local ok, why = pcall(mc.with_device, 'ref', function() error 'stop here' end)
      assert.is_false(ok)
      assert.matches('stop here$', why)
      assert.equal('cpu', mc.ones({ 1 }).device)
      local thrown = {}
      ok, why = pcall(mc.with_device, 'ref', function() error(thrown) end)
      assert.is_false(ok)
      assert.equal(thrown, why)
    end)
  end)

  it('refuses devices that are not there, what is no function, and functions that yield', function()
    assert.error_matches(function() mc.with_device('nowhere', print) end, 'with_device: device "nowhere" is unknown')
    assert.error_matches(function() mc.with_device('ref', 3) end, 'with_device: the second argument is 3')
    assert.error_matches(function() mc.with_device('ref', coroutine.yield) end, 'with_device: the function yielded')
    assert.equal('cpu', mc.ones({ 1 }).device)
  end)

  it('is part of the form of a compiled function', function()
    mc.scope(function()
      local f = mc.compile(function(x) return x * 2 + mc.ones { 2 } end)
      local x, y = mc.tensor { 1, 2 }, mc.tensor({ 1, 2 }, { device = 'ref' })
      for _ = 1, 2 do
        assert.same({ 3, 5 }, f(x):totable())
        assert.same({ 'ref:0', { 3, 5 } }, on('ref', function()
          local r = f(y)
          return { r.device, r:totable() }
        end))
        local g = mc.compile(function() return mc.zeros { 1 } end)
        assert.same({ 'cpu', 'ref:0', 'cpu' }, { g().device, on('ref', function() return g() end).device, g().device })
      end
    end)
  end)
end)
