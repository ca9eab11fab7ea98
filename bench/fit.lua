-- fit.lua - least squares and fits of models on the same data as SciPy: the NIST suite, a million points, a thousand
-- small fits, a surrogate.
--
-- Holds data and starts; the names are those of the peers' bench (`op_<name>`). A row holds evaluations, the
-- least processor time and, as its value, the sum of squares or the number of NIST runs (of 54) that reach six digits.
local mc = require 'mascon'
local HERE = debug.getinfo(1, 'S').source:match '^@(.*)/[^/]*$' or 'bench'

local list = {}
local function add(name, text, setup, threads)
  list[#list + 1] = { name = name, text = text, setup = setup, threads = threads }
end

--- All problems of NIST from both starts.
local function suite(options)
  return function()
    local nist = dofile(HERE .. '/../tests/support/nist.lua')
    local all = nist.load(HERE .. '/../tests/golden/nist.npz')
    return function()
      local reached, nfev = 0, 0
      for _, name in ipairs(nist.names) do
        local p = all[name]
        for start = 1, 2 do
          local r = mc.optim.least_squares(function(b)
            b = b:totable()
            return p.model(p.x, b) - p.y
          end, p.starts[start], options)
          local x, good = r.x:totable(), true
          for i = 1, #p.b do good = good and math.abs(x[i] - p.b[i]) <= 1e-6 * math.abs(p.b[i]) end
          reached, nfev = reached + (good and 1 or 0), nfev + r.nfev
        end
      end
      return { nfev = nfev, fun = reached }
    end
  end
end
for _, method in ipairs { 'trf', 'lm' } do
  add('nist_' .. method, ('least_squares, NIST suite, %s, xtol 1e-12'):format(method), suite { method = method,
    jac = '3-point', xtol = 1e-12, ftol = 1e-15, gtol = method == 'lm' and 1e-15 or false, max_nfev = 2000 }, 1)
end

--- Numbers between 0 and 1 that every language has: fractional parts of multiples of the golden ratio.
local function fractions(n, k)
  local x = mc.arange(1, n):to 'f64' * (0.6180339887498949 * k)
  return x - mc.floor(x)
end
local function decay(x, p) return p.a * mc.exp(-p.k * x) + p.c end
local function points(n)
  local x = fractions(n, 1) * 4
  return x, 2.5 * mc.exp(x * -1.3) + 0.5 + 0.2 * (fractions(n, 2) + fractions(n, 3) - 1)
end
local START = { a = 1, k = 1, c = 1 }
for _, way in ipairs { { '', 'as it comes', {} }, { '_block', 'in blocks', { block = 65536 } },
  { '_exact', 'in blocks; the peer is given derivatives', { block = 65536 } },
  { '_differences', 'differences', { jac = '3-point' } } } do
  add('curve_fit_1M' .. way[1], 'curve_fit, 3 parameters, 10^6 points, ' .. way[2], function()
    local x, y = points(1e6)
    local o = { p0 = START }
    for k, v in pairs(way[3]) do o[k] = v end
    return function()
      local r = mc.optim.curve_fit(decay, x, y, o)
      return { nfev = r.nfev, fun = r.chi2 }
    end
  end)
end

for _, way in ipairs { { '', 'as it comes' }, { '_block', 'in blocks', 65536 } } do
  add('curve_fit_10M' .. way[1], 'curve_fit, 3 parameters, 10^7 points, ' .. way[2], function()
    local x, y = points(1e7)
    return function()
      local r = mc.optim.curve_fit(decay, x, y, { p0 = START, block = way[3] })
      return { nfev = r.nfev, fun = r.chi2 }
    end
  end)
end

add('small_fits', '1000 fits of 3 parameters to 50 points', function()
  local b, m = 1000, 50
  local t = mc.arange(0, m - 1):to 'f64' * (4 / (m - 1))
  local a, k = fractions(b, 1):reshape { b, 1 } * 3 + 1, fractions(b, 2):reshape { b, 1 } * 2 + 0.3
  local y = a * mc.exp(-k * t) + 0.5 + 0.02 * (fractions(b * m, 3):reshape { b, m } - 0.5)
  local function f(x)
    return x[{ mc.all, { 1, 1 } }] * mc.exp(-x[{ mc.all, { 2, 2 } }] * t) + x[{ mc.all, { 3, 3 } }] - y
  end
  return function()
    local r = mc.optim.least_squares_batch(f, mc.ones { b, 3 }, { jac = '2-point' })
    return { nfev = r.nfev, fun = 2 * mc.sum(r.cost):item() }
  end
end)

add('process', 'Gaussian process, 200 points of 3 coordinates, fit from one start, 1000 predictions', function()
  local X = mc.stack({ fractions(200, 1), fractions(200, 2), fractions(200, 3) }, -1)
  local Z = mc.stack({ fractions(1000, 4), fractions(1000, 5), fractions(1000, 6) }, -1)
  local y = mc.sin(X[{ mc.all, 1 }] * 6) + X[{ mc.all, 2 }] ^ 2 + 0.1 * (fractions(200, 7) - 0.5)
  local K = mc.optim.kernels
  return function()
    local gp = mc.optim.gaussian_process(X, y, { kernel = 1 * K.rbf { 1, 1, 1 } + K.white(0.01), restarts = 0 })
    gp:predict(Z)
    return { fun = gp.log_likelihood }
  end
end)

return function(bench)
  for _, p in ipairs(list) do
    bench.case { name = 'op_' .. p.name, family = 'optim', op = p.text, dtype = 'f64', shape = '', threads = p.threads,
      samples = 5, setup = function()
        local once = p.setup()
        local kit = { values = {} }
        function kit.run(n)
          local began = os.clock()
          for _ = 1, n do kit.result = once() end
          kit.values.cpu = math.min(kit.values.cpu or math.huge, (os.clock() - began) / n)
        end
        function kit.check()
          kit.values.nfev, kit.values.fun = kit.result.nfev, kit.result.fun
          return kit.result.fun == kit.result.fun
        end
        return kit
      end }
  end
end
