-- network_anomaly_spec.lua - which operation made the first number that is not finite, and where.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local nn = mc.nn

--- The line on which the text stands in this file.
local function line_of(text)
  local n = 0
  for line in io.lines(debug.getinfo(1, 'S').source:sub(2)) do
    n = n + 1
    if line:find(text, 1, true) then return n end
  end
end
local function at(found, mark) assert.equal(line_of('-- ' .. mark), tonumber(found.line:match ':(%d+)$')) end

describe('the anomaly finder', function()
  it('names operation and line, forward', function()
    local found = nn.anomaly(function(p)
      local a = p.x * 2
      local b = mc.log(a) -- mark 1
      return mc.sum(b * 3 + p.y)
    end, { x = mc.tensor { 1, -2, 3 }, y = mc.ones { 3 } })
    assert.same({ 'NaN', 'log', 'forward', '' }, { found.what, found.op, found.direction, found.part })
    at(found, 'mark 1')
    assert(tostring(found):find('log at ', 1, true) and tostring(found):find('f64[3]@cpu from -4 to 6', 1, true))
  end)

  it('follows an infinity behind a NaN to where it came from', function()
    local found = nn.anomaly(function(x)
      local big = mc.exp(x) -- mark 2
      return mc.sum(big - big) -- mark 3
    end, mc.tensor { 1, 1000 })
    assert.same({ 'NaN', 'subtract' }, { found.what, found.op })
    at(found, 'mark 3')
    assert.same({ 'infinity', 'exp' }, { found.cause.what, found.cause.op })
    at(found.cause, 'mark 2')
  end)

  it('names operation and line, backward', function()
    local found = nn.anomaly(function(x)
      local r = mc.sqrt(x) -- mark 4
      return mc.sum(r * 2)
    end, mc.tensor { 1, 0 })
    assert.same({ 'sqrt', 'backward' }, { found.op, found.direction })
    at(found, 'mark 4')
  end)

  it('names an argument that is bad, and is content with good ones', function()
    local function f(p) return mc.sum(mc.exp(p.a)) end
    assert.equal('argument 1.a', nn.anomaly(f, { a = mc.tensor { mc.nan }, b = 1 }).input)
    assert.is_nil(nn.anomaly(f, { a = mc.tensor { 1 }, b = 1 }))
    -- a NaN that is not taken is none, and a mask of infinities neither
    assert.is_nil(nn.anomaly(function(x)
      local s = mc.where(mc.gt(x, 0), mc.log(x), 0)
      return mc.sum(mc.softmax(mc.where(mc.gt(x, 1), x, -mc.inf))) + mc.sum(s:detach())
    end, mc.tensor { -1, 2, 3 }))
    local hook = debug.gethook()
    assert(support.message(nn.anomaly, function() error 'mine' end, mc.tensor { 1 }):find('mine', 1, true))
    assert.equal(hook, (debug.gethook()))
  end)

  it('names the part of a network, and a step tells', function()
    local Half = nn.Module 'Half'
    function Half:init() self:parameter('scale', { 3 }, 'zeros') end
    function Half:forward(x)
      local y = mc.sqrt(self.scale) * x -- mark 5
      return y
    end
    local net = nn.Sequential { nn.Linear(3, 3, { key = 1 }), nn.Sequential { nn.ReLU(), Half() } }
    local step = nn.Step(net, function(m, b) return mc.mean(m(b)) end, { optimizer = mc.optim.sgd { lr = 0.1 } })
    local before = net:parameters()
    local _, info = step(mc.randn({ 8, 3 }, { seed = 3 }):to 'f32')
    assert.is_false(info.finite)
    assert.same({ 'sqrt', 'backward', '2.2' }, { info.anomaly.op, info.anomaly.direction, info.anomaly.part })
    at(info.anomaly, 'mark 5')
    for k, v in pairs(net:parameters()) do assert.is_true(mc.array_equal(v, before[k])) end
    assert.is_nil(select(2, step(mc.randn({ 8, 3 }, { seed = 3 }):to 'f32')).anomaly) -- the search is made once
  end)

  it('names the field of a batch, or the parameter, and the row', function()
    local function told(net, batch)
      local step = nn.Step(net, function(m, b)
        return mc.mean(m(type(b) == 'table' and b.x or b))
      end, { optimizer = mc.optim.sgd { lr = 0.1 } })
      return tostring(select(2, step(batch)).anomaly)
    end
    local x = mc.ones { 8, 3 }:to 'f32'
    x[{ 5, 2 }] = mc.nan
    assert.equal('batch.x holds NaN, first in row 5 of f32[8,3]@cpu', told(nn.Linear(3, 2), { x = x }))
    assert.equal('batch holds NaN, first in row 5 of f32[8,3]@cpu', told(nn.Linear(3, 2), x))
    local net = nn.Sequential { nn.Linear(3, 1) }
    net[1].bias = mc.tensor { mc.inf }
    assert.equal('parameter 1.bias holds infinity', told(net, mc.ones { 2, 3 }:to 'f32'))
  end)

  it('looks into parts that run again and functions with a rule of their own', function()
    local part = nn.Checkpoint(nn.Lambda(function(x) return mc.log(x * 2 - 100) end))
    local found = nn.anomaly(function(p) return mc.sum(part(p + 1)) end, mc.ones { 3, 2 }) -- mark 6
    assert.same({ 'log', 'forward' }, { found.op, found.direction })
    at(found, 'mark 6')
    local root = nn.Checkpoint(nn.Lambda(function(x) return mc.sqrt(x) end))
    found = nn.anomaly(function(p) return mc.sum(root(p * 2)) end, mc.zeros { 3 })
    assert.same({ 'sqrt', 'backward' }, { found.op, found.direction })
    local labels = mc.tensor({ 0, 1, 1 }, { dtype = 'i64' })
    found = nn.anomaly(function(p) return nn.cross_entropy(p * 3, labels) end, mc.ones { 3, 2 } * mc.inf)
    assert.equal('log_softmax', found.op)
    assert(tostring(found):find('argument 1 holds infinity', 1, true), tostring(found))
    local large = mc.ones { 3, 2 } * 1e308
    found = nn.anomaly(function(p) return mc.sum(nn.scaled_dot_product_attention(p * 3, p, p)) end, large)
    assert.matches('attention', found.op)
    assert.equal('multiply', found.cause.op)
  end)
end)
