-- sample.lua - the No-U-Turn Sampler on the same densities, starts and step sizes as NumPyro.
--
-- One chain of 1000 draws without adaptation, so that both do the same work; a row holds the gradients beside the time,
-- tracing and compiling included. Peers: bench_sample.py, under the same names.
local mc = require 'mascon'

local function normal()
  local rows = {}
  for i = 1, 10 do
    rows[i] = {}
    for j = 1, 10 do rows[i][j] = 0.5 ^ math.abs(i - j) end
  end
  local precision = mc.linalg.inv(mc.tensor(rows))
  return function(q) return -0.5 * mc.sum(q * mc.matmul(precision, q)) end, mc.zeros { 10 }, 0.4
end

local function schools()
  local y, sigma = mc.tensor { 28, 8, -3, 7, -1, 1, 18, 12 }, mc.tensor { 15, 10, 16, 11, 9, 11, 10, 18 }
  local function f(p)
    local z = (y - p.mu - p.tau * p.eta) / sigma
    return -0.5 * (mc.sum(z * z) + mc.sum(p.eta * p.eta) + mc.square(p.mu / 5)) - mc.log1p(mc.square(p.tau / 5))
  end
  return f, { mu = 0, tau = 1, eta = mc.zeros { 8 } }, 0.3, { tau = { 0 } }
end

local function logistic()
  local i, j = mc.arange(0, 999):reshape { 1000, 1 }, mc.arange(0, 9):reshape { 1, 10 }
  local x = mc.sin(1.7 * i * (j + 1) + j)
  local y = mc.sin(0.37 * mc.arange(0, 999)):gt(0):to 'f64'
  local function f(b)
    local z = mc.matmul(x, b)
    return mc.sum(y * z - mc.logaddexp(z, mc.zeros { 1 })) - 0.5 * mc.sum(b * b)
  end
  return f, mc.zeros { 10 }, 0.06
end

local LIST = {
  { 'normal', 'NUTS, 1000 draws, 10 correlated normals', normal },
    { 'schools', 'NUTS, 1000 draws, eight schools', schools },
  { 'logistic', 'NUTS, 1000 draws, logistic regression 1000 x 10', logistic },
}

return function(bench)
  for _, p in ipairs(LIST) do
    bench.case { name = 'op_nuts_' .. p[1], family = 'optim', op = p[2], dtype = 'f64', shape = '', samples = 5,
      setup = function()
      local f, start, step, bounds = p[3]()
      local kit, gradients = { values = {} }, 0
      function kit.run(n)
        for _ = 1, n do
          local r = mc.sample.nuts(f, start,
            { key = 1, chains = 1, draws = 1000, warmup = 0, step_size = step, bounds = bounds, jitter = 0 })
          gradients = r.gradients
        end
      end
      function kit.check()
        kit.values.nfev = gradients
        return gradients > 1000
      end
      return kit
    end }
  end
end
