-- network_norm_spec.lua - layer, group and instance norms by their kernel: against a formula in f64, bits, second
-- derivatives, maps, rows that are not finite.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes()
local mc = require 'mascon'
local nn = mc.nn

local function randn(shape, seed, dtype) return mc.randn(shape, { seed = seed, dtype = dtype }) end

-- shape and groups of channels; no groups: a layer norm over the last axis
local CASES = {
  { { 33, 768 } }, { { 5, 7 } }, { { 3, 1000 } }, { { 2, 4097 } }, { { 600, 48 } }, { { 6, 2, 31 } },
  { { 6, 8, 5, 7 }, 4 }, { { 6, 8, 5, 7 }, 1 }, { { 6, 8, 5, 7 }, 8 }, { { 4, 12 }, 4 }, { { 3, 6, 65 }, 2 },
}

--- The norm, and its formula by operations.
local function pair(shape, groups)
  local c = groups and shape[2] or shape[#shape]
  local function norm(x, w, b)
    local o = { weight = w, bias = b, eps = 1e-3 }
    if groups then return nn.group_norm(x, groups, o) end
    return nn.layer_norm(x, c, o)
  end
  local function formula(x, w, b)
    local k = c / (groups or 1)
    local t = x:reshape(groups and shape[1] or -1, groups or 1, k, groups and -1 or 1)
    local over, form = { 3, 4, keepdim = true }, { 1, groups or 1, k, 1 }
    local d = t - mc.mean(t, over)
    local y = d / mc.sqrt(mc.mean(mc.square(d), over) + 1e-3)
    if w then y = y * w:reshape(form) end
    if b then y = y + b:reshape(form) end
    return y:reshape(unpack(shape))
  end
  return norm, formula, c
end

--- Result and gradients.
local function all(f, g, ...)
  local y, back = mc.vjp(f, ...)
  return { y, back(g) }
end

describe('norms by rows', function()
  teardown(function() assert.equal(BEFORE, support.tensor_bytes()) end)

  it('agree with the formula in f64: results and gradients, with and without weights', function()
    for i, case in ipairs(CASES) do
      local norm, formula, c = pair(unpack(case))
      for _, dtype in ipairs { 'f32', 'f64' } do
        local x, g = randn(case[1], i, dtype) + 3, randn(case[1], i + 50, dtype)
        local w, b = randn({ c }, i + 100, dtype), randn({ c }, i + 150, dtype)
        for _, with in ipairs { { x, w, b }, { x, w }, { x } } do
          local exact = {}
          for k, t in ipairs(with) do exact[k] = t:to 'f64' end
          local got, want = all(norm, g, unpack(with)), all(formula, g:to 'f64', unpack(exact))
          assert.equal(dtype, got[1].dtype)
          for k, t in ipairs(want) do
            local size = mc.max(mc.abs(t)):item()
            local far = mc.max(mc.abs(got[k]:to 'f64' - t)):item() / size
            assert(far < (dtype == 'f32' and 1e-6 or 1e-14), ('case %d, %s, result %d: %g'):format(i, dtype, k, far))
          end
        end
      end
    end
  end)

  it('take a bias alone, any layout and halves', function()
    local norm, formula = pair({ 6, 8 }, nil)
    local x, b = randn({ 6, 8 }, 1), randn({ 8 }, 2)
    assert(mc.allclose(norm(x, nil, b), formula(x, nil, b), { rtol = 1e-14 }))
    local g = mc.grad(function(t) return mc.sum(norm(x, nil, t)) end)(b)
    assert(mc.array_equal(g, mc.full({ 8 }, 6)))
    local turned = x.T:copy().T
    assert(not turned:is_contiguous() and mc.array_equal(norm(turned), norm(x)))
    assert.equal('bf16', norm(x:to 'bf16').dtype)
  end)

  it('have the same bits for any number of threads, on every level, and a row alone', function()
    local C = require 'mascon.core.ffi'.C
    for i, case in ipairs { { { 3000, 70 } }, { { 40, 6, 500 }, 3 }, { { 9, 40001 } } } do
      local norm, _, c = pair(unpack(case))
      local x, g = randn(case[1], i, 'f32'), randn(case[1], i + 50, 'f32')
      local w, b, want = randn({ c }, i + 100, 'f32'), randn({ c }, i + 150, 'f32'), nil
      support.restoring(function()
        for _, isa in ipairs(support.levels()) do
          assert(C.mc_isa_set(isa) == 0)
          for threads = 1, 3 do
            mc.set_num_threads(threads)
            local got = all(norm, g, x, w, b)
            want = want or got
            for k = 1, 4 do
              assert(mc.array_equal(want[k], got[k]), ('case %d, result %d, %d threads, %s'):format(i, k, threads, isa))
            end
          end
        end
      end)
      local one = all(norm, g['7:7'], x['7:7'], w, b)
      for k = 1, 2 do assert(mc.array_equal(want[k]['7:7'], one[k]), 'a sample alone') end
    end
  end)

  it('are the same by operations, where rows are too long for one worker', function()
    local x = randn({ 2, 262145 }, 1)
    local long = nn.layer_norm(x, 262145)
    local short = nn.layer_norm(x[{ mc.all, { 1, 262144 } }], 262144)
    assert(mc.allclose(long[{ mc.all, { 1, 262144 } }], short, { rtol = 1e-3, atol = 1e-3 }))
    assert(math.abs(mc.mean(mc.square(long)):item() - 1) < 1e-4)
  end)

  it('have second derivatives, forward ones, and maps over samples and weights', function()
    for i, case in ipairs { { { 5, 6 } }, { { 2, 4, 3 }, 2 } } do
      local norm, formula, c = pair(unpack(case))
      local x, w, b, g = randn(case[1], i), randn({ c }, i + 1), randn({ c }, i + 2), randn(case[1], i + 3)
      local function twice(f)
        local function inner(p, q, r)
          local d = mc.grad(function(s, t, u) return mc.sum(f(s, t, u) * g) end, { argnums = { 1, 2 } })(p, q, r)
          return mc.sum(mc.sin(d[1])) + mc.sum(mc.cos(d[2]))
        end
        return mc.grad(inner, { argnums = { 1, 2 } })(x, w, b)
      end
      local got, want = twice(norm), twice(formula)
      for k = 1, 2 do assert(mc.allclose(got[k], want[k], { rtol = 1e-10, atol = 1e-12 })) end
      local _, moved = mc.jvp(norm, { x, w, b }, { g, w, b })
      local _, other = mc.jvp(formula, { x, w, b }, { g, w, b })
      assert(mc.allclose(moved, other, { rtol = 1e-10, atol = 1e-12 }))
      -- gradients for each of three batches, and for each of three weights
      local many, ws = mc.stack { x, x * 2, x + g }, mc.stack { w, -w, w * w }
      local function slopes(f)
        return function(p, q) return mc.grad(function(s, t) return mc.sum(f(s, t, b) * g) end,
          { argnums = { 1, 2 } })(p, q) end
      end
      for _, axes in ipairs { { 1, false }, { false, 1 }, { 1, 1 } } do
        local p, q = axes[1] and many or x, axes[2] and ws or w
        local a = mc.vmap(slopes(norm), { in_axes = axes })(p, q)
        for s = 1, 3 do
          local e = slopes(formula)(axes[1] and many[s] or x, axes[2] and ws[s] or w)
          for k = 1, 2 do assert(mc.allclose(a[k][s], e[k], { rtol = 1e-10, atol = 1e-12 })) end
        end
      end
    end
  end)

  it('keep what is not finite in its row, and give 0 where nothing comes back', function()
    local x, w = randn({ 6, 40 }, 1, 'f32'), mc.ones({ 40 }, { dtype = 'f32' })
    local g = randn({ 6, 40 }, 2, 'f32')
    x[{ 2, 3 }], x[{ 5, 1 }] = mc.nan, mc.inf
    g[2] = 0
    local got = all(function(t, v) return nn.layer_norm(t, 40, { weight = v }) end, g, x, w)
    for r = 1, 6 do
      local fine = r ~= 2 and r ~= 5
      assert.equal(fine, mc.all(mc.isfinite(got[1][r])))
      assert.equal(r ~= 5, mc.all(mc.isfinite(got[2][r])))
    end
    assert(mc.array_equal(got[2][2], mc.zeros({ 40 }, { dtype = 'f32' })))
    g[5] = 0
    got = all(function(t, v) return nn.layer_norm(t, 40, { weight = v }) end, g, x, w)
    assert(mc.all(mc.isfinite(got[3])))
  end)

  it('say what does not fit', function()
    local raw = require 'mascon.core.op'.raw
    local why = support.message(raw, 'standardise', { mc.ones { 3, 4 }, mc.ones { 5 } },
      { channels = 4, places = 1, weight = true, eps = 1e-5 }, 1)
    assert(why:find('rows of 4 channels and 1 places do not fit', 1, true), why)
  end)
end)
