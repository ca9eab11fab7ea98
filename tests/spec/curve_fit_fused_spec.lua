-- curve_fit_fused_spec.lua - curve_fit in one fused pass: the solution of the factorised way, the same bits for any
-- blocks and chunks, losses, weights, ties, what falls back; models as text.
local mc = require 'mascon'
local fused = require 'mascon.optim.fit.curve_fit.fused'
local compiler = require 'mascon.compile.native.compiler'

local function it_native(name, f)
  it(name, compiler.find() and f or function() pending('no C compiler here') end)
end

local function fractions(n, k)
  local x = mc.arange(1, n):to 'f64' * (0.6180339887498949 * k)
  return x - mc.floor(x)
end
local function points(n)
  local x = fractions(n, 1) * 4
  return x, 2.5 * mc.exp(x * -1.3) + 0.5 + 0.2 * (fractions(n, 2) + fractions(n, 3) - 1)
end
local function decay(x, p) return p.a * mc.exp(-p.k * x) + p.c end
local START = { a = 1, k = 1, c = 1 }

local function fit(model, x, y, more)
  local o = { p0 = START, ftol = 1e-14, xtol = 1e-12, gtol = 1e-12 }
  for k, v in pairs(more or {}) do o[k] = v end
  return mc.optim.curve_fit(model, x, y, o)
end

local function near(want, got, bound, what)
  assert.is_true(math.abs(want - got) <= bound, ('%s: %.15g instead of %.15g'):format(what or '', got, want))
end

local function same(a, b, share)
  for _, key in ipairs(a.free) do
    near(a.p[key], b.p[key], (share or 1e-6) * a.stderr[key], key)
    near(a.stderr[key], b.stderr[key], 1e-6 * a.stderr[key], 'error of ' .. key)
  end
  near(a.chi2, b.chi2, 1e-9 * a.chi2, 'chi2')
end

describe('curve_fit, fused', function()
  local N = 70000
  local x, y = points(N)
  teardown(function() x, y = nil, nil end)

  it('reaches the solution of the factorised way under every loss, with weights, bounds and ties', function()
    local ways = {
      {}, { loss = 'soft_l1', f_scale = 0.05 }, { sigma = 0.1 + 0.02 * x },
      { bounds = { k = { 0, 1.2 } }, fixed = { c = 0.5 } }, { tied = { c = function(p) return 0.2 * p.a end } },
    }
    for _, way in ipairs(ways) do
      local with, without = { block = 1000 }, { block = 50000, jac = '3-point' }
      for k, v in pairs(way) do with[k], without[k] = v, v end
      if way.tied then with.p0, without.p0 = { a = 1, k = 1 }, { a = 1, k = 1 } end
      local a, b = fit(decay, x, y, without), fit(decay, x, y, with)
      assert.equal('forward', b.derivatives)
      assert.is_truthy(b._data.fused)
      same(a, b, 1e-4)
    end
  end)

  it('gives the same bits for any block, any chunks and any threads', function()
    local threads, first = mc.get_num_threads(), nil
    local function chunks(size)
      return function()
        local at = 1
        return function()
          if at > N then return nil end
          local a, b = at, math.min(N, at + size - 1)
          at = b + 1
          return x[{ { a, b } }], y[{ { a, b } }]
        end
      end
    end
    local function check_bits(r)
      first = first or r
      for _, key in ipairs(r.free) do
        assert.is_true(first.p[key] == r.p[key] and first.stderr[key] == r.stderr[key])
      end
    end
    for _, block in ipairs { 1000, 65536, 70000, 10 ^ 6 } do check_bits(fit(decay, x, y, { block = block })) end
    for _, size in ipairs { 977, 65536, N } do check_bits(mc.optim.curve_fit(decay, chunks(size), { p0 = START,
      ftol = 1e-14, xtol = 1e-12, gtol = 1e-12, jac = 'forward' })) end
    mc.set_num_threads(1)
    check_bits(fit(decay, x, y, { block = 65536 }))
    mc.set_num_threads(threads)
  end)

  it('keeps the digits where the normal matrix would lose them', function()
    -- two rates that nearly agree: the columns are almost the same
    local function two(t, p) return p.a * mc.exp(-p.k * t) + p.b * mc.exp(-(p.k + 1e-4) * t) end
    local z = two(x, { a = 1, b = 2, k = 1 }) + 1e-6 * (fractions(N, 5) - 0.5)
    local o = { p0 = { a = 1.1, b = 1.9, k = 1.001 }, block = 65536, ftol = 1e-15, xtol = 1e-15, gtol = 1e-15 }
    local a = mc.optim.curve_fit(two, x, z, o)
    o.jac, o.block = 'forward', nil
    local b = mc.optim.curve_fit(two, x, z, o)
    near(b.chi2, a.chi2, 1e-6 * b.chi2)
    for _, key in ipairs { 'a', 'b', 'k' } do near(b.stderr[key], a.stderr[key], 1e-3 * b.stderr[key], key) end
  end)

  it('takes another way for models that cannot be recorded', function()
    local function stubborn(t, p)
      local k = type(p.k) == 'number' and p.k or p.k:item()
      return p.a * mc.exp(-k * t) + p.c
    end
    local r = fit(stubborn, x, y, { block = 65536 })
    assert.equal('3-point', r.derivatives)
    near(1.3, r.p.k, 0.1)
    assert.is_true(r.success)
  end)

  it('takes models as text', function()
    local a, b = fit(decay, x, y, { block = 65536 }), fit('a * exp(-k * x) + c', x, y, { block = 65536 })
    for _, key in ipairs { 'a', 'k', 'c' } do assert.is_true(a.p[key] == b.p[key]) end
    near(1.3, a.p.k, 0.1)
    local t = mc.arange(0, 20):to 'f64' / 10
    local rows = mc.stack({ t, t * t }, 1)
    local r = mc.optim.curve_fit('a * x1 + b * x2 ^ 2 - 3e-1 * cos(2 * pi * w)', rows, 2 * t + 0.5 * t ^ 4 - 0.3,
      { p0 = { a = 1, b = 1, w = 0.1 }, fixed = { w = 0 } })
    near(2, r.p.a, 1e-7)
    near(0.5, r.p.b, 1e-7)
    local function refused(text, ...)
      local ok, why = pcall(mc.optim.curve_fit, text, t, t, { p0 = { a = 1, kk = 2 } })
      assert.is_false(ok)
      for _, part in ipairs { ... } do assert.is_truthy(tostring(why):find(part, 1, true), tostring(why)) end
    end
    refused('a * x + kkk', 'names kkk', 'did you mean kk')
    refused('a * x', 'does not use the parameter kk')
    refused('a * kk * os.exit(1)', '"."', 'place 12')
    refused('a * kk * exit(1)', 'names exit')
    refused('a * kk; x', '";"', 'place 7')
    refused('a * (kk + x', 'is no expression')
    refused('a * kk + expp(x)', 'expp', 'exp')
  end)
end)

describe('curve_fit without a block', function()
  local N = 70001
  local x, y = points(N)
  local large = fused.LARGE
  setup(function() fused.LARGE = 50000 end)
  teardown(function()
    fused.LARGE = large
    x, y = nil, nil
  end)

  local function looped(r) return r._data.fused and r._data.fused.loop and true or false end

  it_native('takes one loop where all is elementwise, with the results of all points at once', function()
    local z = 0.3 * x
    local cases = {
      { decay, x, {} }, { decay, x, { loss = 'cauchy', f_scale = 0.05 } }, { decay, x, { sigma = 0.1 + 0.02 * x } },
      { decay, x, { sigma = 0.3, absolute_sigma = true } }, { decay, x, { sigma = mc.tensor { 0.3 } } },
      { decay, x, { bounds = { k = { 0, 1.2 } }, fixed = { c = 0.5 } } },
      { decay, x, { p0 = { a = 1, k = 1 }, tied = { c = function(p) return 0.2 * p.a end } } },
      { function(t, p) return p.a * mc.exp(-p.k * t[1]) + p.c * t[2] end, mc.stack({ x, z }, 1), {} },
      { function(t, p) return p.a * mc.exp(-p.k * t.one) + p.c * t.two end, { one = x, two = z }, {} },
      { function(t, p) return mc.where(mc.lt(t, 2), p.a + p.k * t, p.c) end, x, {} },
      { function(t, p) return p.a * t + p.c + p.k end, x, { fixed = { k = 0.5 } } },
      { 'a * exp(-k * x) + c', x, {} }, { decay, x, { method = 'lm' } }, { decay, x, { method = 'dogbox' } },
    }
    for k, case in ipairs(cases) do
      local o = { block = false }
      for key, v in pairs(case[3]) do o[key] = v end
      local a = fit(case[1], case[2], y, o)
      local b = fit(case[1], case[2], y, case[3])
      assert.is_false(looped(a))
      assert.is_true(looped(b), 'case ' .. k)
      same(a, b, 1e-4)
      assert.equal(a.derivatives, b.derivatives)
      assert.is_true(mc.max(mc.abs(a.residuals - b.residuals)):item() < 1e-5)
    end
  end)

  it_native('gives the bits of any block, chunk and number of threads', function()
    local threads = mc.get_num_threads()
    local first = fit(decay, x, y)
    local function chunks()
      local at = 1
      return function()
        if at > N then return nil end
        local a, b = at, math.min(N, at + 999)
        at = b + 1
        return x[{ { a, b } }], y[{ { a, b } }]
      end
    end
    mc.set_num_threads(1)
    local others = { fit(decay, x, y), fit(decay, x, y, { block = 1 }), fit(decay, x, y, { block = true }),
      fit(decay, x, y, { block = 10 ^ 6 }), mc.optim.curve_fit(decay, chunks, { p0 = START, ftol = 1e-14,
        xtol = 1e-12, gtol = 1e-12 }) }
    mc.set_num_threads(threads)
    for _, r in ipairs(others) do
      assert.is_true(looped(r))
      for _, key in ipairs(r.free) do
        assert.is_true(first.p[key] == r.p[key] and first.stderr[key] == r.stderr[key])
      end
    end
    assert.is_nil(others[2].residuals)
  end)

  it('evaluates all points at once where the model looks past a point', function()
    local table_of_values = mc.exp(-1.3 * x)
    local models = {
      function(t, p) return p.a * mc.exp(-p.k * (t - mc.mean(t))) + p.c end,
      function(t, p) return p.a * mc.exp(-p.k * t * (1 + 1 / t:numel())) + p.c end,
      function(t, p) return p.a * table_of_values + p.c + 0 * p.k * t end,
      function(t, p) return p.a * mc.exp(-p.k * mc.flip(t)) + p.c end,
      function(t, p) return p.a * mc.exp(-p.k * t) + p.c * mc.linspace(0, 1, t:numel()) end,
      function(t, p) return p.a * mc.exp(-p.k * t) + p.c * mc.cumsum(t) / 1e5 end,
    }
    for k, model in ipairs(models) do
      local a, b = fit(model, x, y, { block = false, max_nfev = 4 }), fit(model, x, y, { max_nfev = 4 })
      assert.is_false(looped(b), 'model ' .. k)
      for _, key in ipairs(a.free) do assert.is_true(a.p[key] == b.p[key], 'model ' .. k) end
    end
  end)

  it('raises the errors of all points at once', function()
    local hole = y:copy()
    hole[3] = 0 / 0
    local cases = {
      { decay, x, hole }, { decay, x, y, { sigma = -1 } }, { decay, x, y, { sigma = mc.ones { 3 } } },
      { function(t, p) return p.a * mc.log(t - 2 * p.k) + p.c end, x, y },
      { function(t, p) return p.a * mc.ones { 3 } + p.c + p.k end, x, y },
      { function(t, p)
        t:add_(1)
        return p.a * t + p.k + p.c
      end, x:copy(), y },
      { function() error('mine', 0) end, x, y },
    }
    for k, case in ipairs(cases) do
      local function why(block)
        local o = { block = block }
        for key, v in pairs(case[4] or {}) do o[key] = v end
        local ok, text = pcall(fit, case[1], case[2], case[3], o)
        assert.is_false(ok, 'case ' .. k)
        return tostring(text)
      end
      assert.equal(why(false), why(nil))
    end
  end)
end)
