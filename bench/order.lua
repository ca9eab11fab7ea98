-- order.lua - sorting and medians by row: many short rows, few long ones, one very long one.
--
-- There is no limit of the machine to set beside them; the peers' table compares. Holds shapes.
local mc = require 'mascon'

return function(bench)
  for _, s in ipairs { { 1000, 1000 }, { 64, 100000 }, { 1, 1000000 }, { 10000, 64 } } do
    local m, n = s[1], s[2]
    local function case(op, call, check)
      bench.both { name = ('%s_%dx%d_f32'):format(op, m, n), family = 'order', op = op, dtype = 'f32',
        shape = m .. 'x' .. n, work = { m * n / 1e9, 'Gelem' }, setup = function()
          local a, r = mc.randn({ m, n }, { dtype = 'f32', seed = 1 }), nil
          return { run = function(times)
            for _ = 1, times do r = call(a) end
          end, check = function() return check(a, r) end }
        end }
    end
    local function ordered(t)
      return n < 2 or mc.all(mc.le(t[{ mc.all, { 1, n - 1 } }], t[{ mc.all, { 2, n } }])), 'rows are not in order'
    end
    case('sort', function(a) return mc.sort(a, { axis = 2 }) end,
      function(a, r) return ordered(r) and math.abs(r:sum():item() - a:sum():item()) < 1e-3 * m * n end)
    case('argsort', function(a) return mc.argsort(a, { axis = 2 }) end,
      function(a, r) return ordered(mc.take_along_axis(a, r, { axis = 2 })) end)
    case('median', function(a) return mc.median(a, { 2 }) end, function(a, r)
      local sorted = mc.sort(a, { axis = 2 })
      local mid = n % 2 == 1 and sorted[{ mc.all, (n + 1) / 2 }]
        or (sorted[{ mc.all, n / 2 }] + sorted[{ mc.all, n / 2 + 1 }]) / 2
      return mc.allclose(r, mid), 'median is not the middle'
    end)
  end
end
