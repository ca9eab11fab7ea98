-- bessel_order_spec.lua - J and Y of large order against a recurrence with 50 digits.
--
-- Answers come from a golden (make_bessel_order.py); the bound is that of the accuracy table.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local tol = support.load 'tol'
local bounds = dofile(support.folder .. '/golden/accuracy_special.lua')
local g = mc.load(support.folder .. '/golden/bessel_order.npz')

describe('Bessel functions of order 60 to 100 000', function()
  for name, key in pairs { jv = 'j', yv = 'y' } do
    it('have the accuracy of the table: ' .. name, function()
      local got, v, x = mc.special[name](g.v, g.x):totable(), g.v:totable(), g.x:totable()
      local want, size = g[key]:totable(), g.size:totable()
      assert.is_true(#got > 150)
      for i = 1, #got do
        local unit = tol.ulp('f64', math.max(math.abs(want[i]), size[i]))
        local what = ('%s(%.17g, %.17g)'):format(name, v[i], x[i])
        tol.below(math.abs(got[i] - want[i]) / unit, bounds[name].v3, what)
      end
    end)
  end

  it('join the regions of their methods without a step', function()
    -- the Wronskian J_{v+1} Y_v - J_v Y_{v+1} = 2 / (pi x) across the seams, where terms do not cancel
    for _, v in ipairs { 99.5, 150, 1000, 1e4 } do
      local x = mc.linspace(0.85 * v, 1.3 * v, 400)
      local j0, j1 = mc.special.jv(v, x), mc.special.jv(v + 1, x)
      local y0, y1 = mc.special.yv(v, x), mc.special.yv(v + 1, x)
      local a, b = j1 * y0, j0 * y1
      local off = mc.abs((a - b) * x * (0.5 * math.pi) - 1) / ((mc.abs(a) + mc.abs(b)) * x)
      -- an error of a factor of each product, in units of at most 2^-52 of it
      tol.below(mc.max(off):item(), (bounds.jv.v3 + bounds.yv.v3) * 2 ^ -52, 'order ' .. v)
    end
  end)

  it('exist for every order', function()
    -- J_v(v) ~ Gamma(1/3) / (48^(1/6) pi) v^(-1/3), DLMF 10.19.8
    for _, v in ipairs { 1e12, 1e15, 1e120, 1e300 } do
      tol.below(math.abs(mc.special.jv(v, v):item() * v ^ (1 / 3) / 0.44730731839647230 - 1), 1e-13, v)
      tol.below(math.abs(mc.special.yv(v, v):item() * v ^ (1 / 3) / -0.77475900206007877 - 1), 1e-13, v)
    end
  end)
end)
