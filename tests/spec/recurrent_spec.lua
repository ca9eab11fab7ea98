-- recurrent_spec.lua - recurrent layers by their rule against their cells in a loop: results and states, gradients of
-- all operands, their gradients, forward derivatives, maps.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes()
local mc = require 'mascon'
local nn = mc.nn

local CASES = {
  { 'RNN', {} }, { 'RNN', { nonlinearity = 'relu' } }, { 'LSTM', {} }, { 'LSTM', { bias = false } }, { 'GRU', {} },
  { 'GRU', { bias = false } },
}
local B, T, I, H = 2, 5, 3, 4

--- Operands of a case by name, and a given gradient of the result and the states.
local function operands(name, o)
  local gates = ({ RNN = 1, LSTM = 4, GRU = 3 })[name]
  local function r(seed, ...) return mc.randn({ ... }, { seed = seed }) end
  local a = { x = r(1, B, T, I), h = r(2, 1, B, H), wi = r(3, gates * H, I), wh = r(4, gates * H, H) }
  if name == 'LSTM' then a.c = r(5, 1, B, H) end
  if o.bias ~= false then a.bi, a.bh = r(6, gates * H), r(7, gates * H) end
  return a, { y = r(8, B, T, H), h = r(9, 1, B, H), c = a.c and r(10, 1, B, H) }
end

--- { y, h, c } as a function of the operands, by the layer and by its cell.
local function layer(name, o)
  local net = nn[name](I, H, { bias = o.bias, nonlinearity = o.nonlinearity, dtype = 'f64' })
  return function(a)
    local p = { weight_ih_l0 = a.wi, weight_hh_l0 = a.wh, bias_ih_l0 = a.bi, bias_hh_l0 = a.bh }
    local made = net:with(p, {}, function() return net(a.x, a.c and { a.h, a.c } or a.h) end)
    local last = made[2]
    return { y = made[1], h = a.c and last[1] or last, c = a.c and last[2] }
  end
end

local function loop(name, o)
  local cell = nn[name .. 'Cell'](I, H, { bias = o.bias, nonlinearity = o.nonlinearity, dtype = 'f64' })
  return function(a)
    local p = { weight_ih = a.wi, weight_hh = a.wh, bias_ih = a.bi, bias_hh = a.bh }
    local made = cell:with(p, {}, function()
      local h, c, rows = a.h[1], a.c and a.c[1], {}
      for t = 1, T do
        h, c = cell(a.x[{ mc.all, t }], h, c)
        rows[t] = h
      end
      return { y = mc.stack(rows, 2), h = h:expand_dims(1), c = a.c and c:expand_dims(1) }
    end)
    return made[1]
  end
end

local function near(want, got, what)
  for k, t in pairs(want) do
    assert(mc.allclose(t, got[k], { rtol = 1e-10, atol = 1e-12 }), ('%s, %s'):format(what, k))
  end
end

describe('recurrent layers', function()
  teardown(function() assert.equal(BEFORE, support.tensor_bytes()) end)

  for _, case in ipairs(CASES) do
    local name, o = unpack(case)
    local what = name .. (o.nonlinearity or '') .. (o.bias == false and ' without bias' or '')
    it('are their cells along time, with all derivatives: ' .. what, function()
      local a, g = operands(name, o)
      local f, plain = layer(name, o), loop(name, o)
      local got, back = mc.vjp(f, a)
      local want, other = mc.vjp(plain, a)
      near(want, got, 'results')
      near(other(g), back(g), 'gradients')
      -- the slope of the gradients' sizes
      local function twice(of)
        return mc.grad(function(b)
          local _, way = mc.vjp(of, b)
          local total = 0
          for _, t in pairs(way(g)) do total = total + mc.sum(mc.sin(t)) end
          return total
        end)(a)
      end
      near(twice(plain), twice(f), 'second gradients')
      local dots = {}
      for k, t in pairs(a) do dots[k] = mc.cos(t) end
      local _, moved = mc.jvp(f, { a }, { dots })
      local _, same = mc.jvp(plain, { a }, { dots })
      near(same, moved, 'forward')
      local many = mc.stack({ a.x, a.x * 2, -a.x }, 1)
      local maps = mc.vmap(function(x)
        local b = {}
        for k, t in pairs(a) do b[k] = t end
        b.x = x
        local _, way = mc.vjp(f, b)
        return way(g)
      end)(many)
      for s = 1, 3 do
        a.x = many[s]
        local _, way = mc.vjp(plain, a)
        local one = {}
        for k, t in pairs(maps) do one[k] = t[s] end
        near(way(g), one, 'maps')
      end
    end)
  end
end)
