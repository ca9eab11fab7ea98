-- walk_device_spec.lua - every example of the documents with its tensors on a device: a result there, or an error in
-- words; no tensor that the library makes for itself meets them from another device.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local examples, device = support.load 'examples', support.load 'device'

--- What a call says whose operands are on different devices, else nil.
local function mixed(f)
  local ok, why = pcall(mc.with_device, 'ref:0', f)
  return not ok and tostring(why):match '[^\n]*operands are on different devices[^\n]*' or nil
end

-- whose start is a list, so that it is on the CPU, beside what the function of the example makes on the device
local OWN = { ['lua/mascon/optim/minimize/init.lua'] = true }

describe('functions on a device', function()
  it('mix no devices in the examples of the documents', function()
    local wrong, count = {}, 0
    for _, block in ipairs(examples.all()) do
      local env = setmetatable({ mc = mc }, { __index = _G })
      for _, line in ipairs(block.lines) do
        local code = line.code:match '^(.-)%s+%-%->' or line.code
        local f = loadstring('return ' .. code)
          or loadstring((code:gsub('^local%s+function%s+', 'function '):gsub('^local%s+', '')))
        local why = f and mixed(setfenv(f, env))
        count = count + 1
        if why and not OWN[block.file] then
          wrong[#wrong + 1] = ('%s:%s: %s\n  %s'):format(block.file, line.at, code, why)
        end
      end
    end
    assert.equal('', table.concat(wrong, '\n'))
    assert.is_true(count > 800)
  end)

  it('give results there where arguments beside tensors are numbers and lists', function()
    local x = mc.tensor { 0.1, 0.5, 0.9 }
    local y = x:to 'ref:0'
    for name, f in pairs {
      norm = function(v) return mc.stats.norm.cdf(v, { loc = 0.5, scale = 2 }) end,
      gamma = function(v) return mc.stats.gamma.pdf(v, 2, { scale = 3 }) end,
      of_shape = function(v) return mc.stats.beta.ppf(0.3, v, 2) end,
      binom = function(v) return mc.stats.binom.pmf(1, 3, v) end,
      holm = mc.stats.holm, fdr_by = mc.stats.fdr_by,
      periodic = function(v)
        local k = mc.concat({ mc.zeros({ 1 }, { device = v.device }), v, v[{ { 1, 2 } }] * 0.5 + 1 }, 1)
        return mc.interpolate.cubic_spline(k, mc.sin(k * 2 * math.pi / 1.25), { bc = 'natural' })(0.3)
      end,
      complex_interp = function(v) return mc.interp(v * 0.5, v, mc.complex(v, 2)) end,
      real_part = function(v) return mc.complex(1, v) end,
      isclose = function(v) return mc.isclose(v:to 'f32', 0.5) end,
      flipped = function(v) return mc.nn.data.random_flip(v:reshape(1, 1, 1, 3), 1) end,
      bounds = function(v)
        return mc.optim.minimize(function(t) return ((t - 2) ^ 2):sum() end, v, { method = 'l-bfgs-b',
          bounds = { 0, 1 } }).x
      end,
      pairs = function(v) return mc.optim.minimize(function(t) return ((t - 2) ^ 2):sum() end, v, { method = 'l-bfgs-b',
        bounds = { { 0, 1 }, { 0, 2 }, { 0 } } }).x end,
      least_squares = function(v)
        local target = v * 3
        return mc.optim.least_squares(function(t) return t * t - target end, v).x
      end,
      forward = function(v)
        local target = v * 3
        return mc.optim.least_squares(function(t) return t * t - target end, v, { jac = 'forward' }).jac
      end,
      batch = function(v)
        return mc.optim.least_squares_batch(function(t) return t * t - 2 end, v:reshape(3, 1), { jac = '2-point' }).x
      end,
    } do
      local want, ok, got = f(x), pcall(f, y)
      if not ok then assert(device.lacks(tostring(got)), name .. ': ' .. tostring(got)) end
      if not ok then got = want:to 'ref:0' end
      assert.equal('ref:0', got.device, name)
      assert.equal(want.dtype, got.dtype)
      assert.is_true(mc.allclose(want, got:to 'cpu', { rtol = 1e-12, atol = 1e-12 }), name)
    end
  end)

  it('are searched by every minimiser from a start there, with all that a user gives as numbers', function()
    local x = mc.tensor { 0.1, 0.5, 0.9 }
    local y = x:to 'ref:0'
    local function f(p) return mc.sum(mc.square(p - 3)) end
    local function minimum(o)
      return function(v) return mc.optim.minimize(f, v, o).x end
    end
    local function asked(name, o)
      return function(v)
        local opt = mc.optim[name](v, o)
        for _ = 1, 5 do
          local points = opt:ask()
          assert.equal(v.device, points.device)
          opt:tell(points, mc.sum(mc.square(points - 3), 2))
        end
        return opt:result().x
      end
    end
    local function list(of) -- what a function gives as a list of numbers
      return function(p, ...)
        local t, v = p:totable(), ... and (...):totable()
        for i = 1, 3 do t[i] = of(t[i], v and v[i]) end
        return t
      end
    end
    for name, run in pairs {
      simplex = minimum { method = 'nelder-mead' },
      simplex_bounds = minimum { method = 'nelder-mead', bounds = { 0, 2 } },
      simplex_given = minimum { method = 'nelder-mead',
        initial_simplex = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } },
      cma = minimum { method = 'cma-es', sigma = 1, seed = 1, maxiter = 9 },
      cma_bounds = minimum { method = 'cma-es', sigma = 1, seed = 1, maxiter = 9,
        bounds = { { 0, 2 }, { 0, 2 }, { 0 } } },
      bounds = minimum { bounds = { 0, 2 } },
      forward = minimum { jac = '2-point' }, central = minimum { jac = '3-point', method = 'cg' },
      gradient = minimum { jac = list(function(t) return 2 * (t - 3) end) },
      hessian = minimum { method = 'newton-cg',
        hess = function() return { { 2, 0, 0 }, { 0, 2, 0 }, { 0, 0, 2 } } end },
      product = minimum { method = 'newton-cg', hessp = list(function(_, v) return 2 * v end) },
      simplex_asked = asked('nelder_mead', { bounds = { 0, 2 } }),
      cma_asked = asked('cma_es', { sigma = 1, seed = 1, bounds = { { 0, 2 }, { 0, 2 }, { 0 } } }),
      evolution = function(v)
        return mc.optim.differential_evolution(f, { { 0, 2 }, { 0, 2 }, { 0, 5 } }, { x0 = v, seed = 1, maxiter = 5 }).x
      end,
      root = function(v) return mc.optim.root(list(function(t) return t * t - 2 end), v + 1).x end,
    } do
      local want, got = run(x), run(y)
      assert.equal('ref:0', got.device, name)
      assert.is_true(mc.array_equal(want, got:to 'cpu'), name)
    end
    assert.has_error(function() mc.optim.minimize(f, y, { jac = function() return x end }) end,
      'optim.minimize: jac gave f64[3]@cpu, x0 is on ref:0; give it there')
  end)
end)
