-- attention_spec.lua - attention by its kernel: against a formula by operations in f64, at the borders of blocks of
-- queries and keys, bits, maps, operands without elements, shapes that do not fit.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes()
local mc = require 'mascon'
local nn = mc.nn

local function randn(shape, seed, dtype) return mc.randn(shape, { seed = seed, dtype = dtype }) end

-- heads, queries, keys, width, width of values, options: causal, start, window
local CASES = {
  { 2, 32, 64, 16, 16 }, { 2, 33, 65, 17, 5 }, { 3, 1, 1, 1, 1 }, { 1, 31, 130, 3, 40 }, { 2, 70, 70, 32, 32, true },
  { 2, 40, 100, 7, 9, true, 60 }, { 2, 100, 40, 9, 7, true, -50 }, { 1, 65, 65, 20, 33, true, 3 },
  { 1, 3, 1030, 4, 4 }, { 2, 37, 2050, 5, 3, true, 2012 },
  { 2, 150, 150, 12, 9, true, nil, 40 }, { 1, 33, 1100, 8, 8, true, 1060, 64 }, { 1, 100, 40, 9, 7, true, -50, 7 },
  { 2, 70, 70, 5, 5, true, nil, 1 }, { 2, 90, 80, 5, 6, false, nil, 13 }, { 1, 20, 70, 5, 6, false, 45, 9 },
  { 1, 66, 66, 8, 8, false, nil, 1 }, { 1, 40, 90, 8, 8, false, -70, 65 }, { 2, 33, 1100, 8, 4, false, 500, 130 },
  { 1, 130, 40, 4, 4, false, nil, 1000 }, { 1, 20, 30, 4, 4, false, 200, 9 }, { 1, 2100, 2100, 4, 4, false, nil, 90 },
}

--- Operands of a case in a dtype, and its options.
local function operands(case, i, dtype)
  local h, n, m, d, e = unpack(case)
  return { randn({ h, n, d }, i, dtype), randn({ h, m, d }, i + 20, dtype), randn({ h, m, e }, i + 40, dtype) },
    randn({ h, n, e }, i + 60, dtype), { causal = case[6], start = case[7],
    window = case[8] }
end

local function attend(o) return function(q, k, v) return nn.scaled_dot_product_attention(q, k, v, o) end end

--- The same by operations; keys nobody sees weigh nothing.
local function formula(o)
  return function(q, k, v)
    local s = mc.matmul(q, k.mT) / math.sqrt(q.shape[q.ndim])
    if o.causal then
      local sees = mc.arange(1, q.shape[2]):reshape(-1, 1) + (o.start or 0)
      s = mc.where(mc.le(mc.arange(1, k.shape[2]), sees), s, -mc.inf)
    end
    if o.window then
      local far = mc.arange(1, q.shape[2]):reshape(-1, 1) + (o.start or 0) - mc.arange(1, k.shape[2])
      s = mc.where(mc.lt(mc.abs(far), o.window), s, -mc.inf)
    end
    local top = mc.stop_gradient(mc.max(s, { -1, keepdim = true }))
    local p = mc.exp(s - mc.where(mc.eq(top, -mc.inf), 0, top))
    local total = mc.sum(p, { -1, keepdim = true })
    return mc.matmul(p, v) / mc.where(mc.eq(total, 0), 1, total)
  end
end

--- Result and gradients.
local function all(f, g, x)
  local y, back = mc.vjp(f, unpack(x))
  return { y, back(g) }
end

local function wide(t) return t:to 'f64' end

describe('attention by blocks', function()
  teardown(function() assert.equal(BEFORE, support.tensor_bytes()) end)

  it('agrees with the formula in f64: results and gradients, whatever the sizes', function()
    for i, case in ipairs(CASES) do
      for dtype, bound in pairs { f32 = 5e-6, f64 = 1e-14 } do
        local x, g, o = operands(case, i, dtype)
        local want = all(formula(o), wide(g), { wide(x[1]), wide(x[2]), wide(x[3]) })
        for k, t in ipairs(all(attend(o), g, x)) do
          local scale = math.max(1, mc.max(mc.abs(want[k])):item())
          local off = mc.max(mc.abs(wide(t) - want[k])):item()
          assert(off <= bound * scale, ('case %d, %s, result %d: %g'):format(i, dtype, k, off))
        end
      end
    end
  end)

  it('has the same bits for any number of threads on a level, for a head alone and queries alone', function()
    local C = require 'mascon.core.ffi'.C
    for i, case in ipairs { { 5, 70, 90, 24, 40 }, { 3, 65, 1100, 16, 16, true, 1040 },
      { 3, 65, 1100, 16, 16, true, 1040, 100 }, { 3, 65, 1100, 16, 16, false, 600, 100 } } do
      local x, g, o = operands(case, i, 'f32')
      local want
      support.restoring(function()
        for _, isa in ipairs(support.levels()) do
          assert(C.mc_isa_set(isa) == 0)
          want = nil -- v2 rounds products before it adds them; the last level is the one of this machine
          for threads = 1, 3 do
            mc.set_num_threads(threads)
            local got = all(attend(o), g, x)
            want = want or got
            for k = 1, 4 do
              assert(mc.array_equal(want[k], got[k]), ('case %d, result %d, %d threads, %s'):format(i, k, threads, isa))
            end
          end
        end
      end)
      local alone = all(attend(o), g['2:2'], { x[1]['2:2'], x[2]['2:2'], x[3]['2:2'] })
      for k = 1, 4 do assert(mc.array_equal(want[k]['2:2'], alone[k]), 'a head alone') end
      local later = { causal = o.causal, start = o.start and o.start + 40, window = o.window }
      local some = attend(later)(x[1][':, 41:-1'], x[2], x[3])
      assert(mc.array_equal(want[1][':, 41:-1'], some), 'queries alone')
    end
  end)

  it('holds no weights of all queries and keys, with a window too', function()
    local n = 1500
    local q = randn({ 1, n, 4 }, 1, 'f32')
    for _, o in ipairs { { causal = true, window = 50 }, { window = 50 }, {} } do
      local function slopes(x) return mc.vjp(attend(o), x, x, x) end
      local _, back = slopes(q)
      back(q)
      collectgarbage()
      collectgarbage()
      mc.reset_peak_memory()
      local before = mc.memory().live
      _, back = slopes(q)
      back(q)
      local peak = mc.memory().peak - before
      assert(peak < n * n, peak) -- a quarter of the weights
    end
  end)

  it('takes operands that lie anyhow, and any number of leading axes', function()
    local x = { randn({ 40, 2, 3, 8 }, 1), randn({ 50, 2, 3, 8 }, 2), randn({ 2, 3, 8, 50 }, 3) }
    local views = { x[1]:permute_dims { 2, 3, 1, 4 }, x[2]:permute_dims { 2, 3, 1, 4 }, x[3].mT }
    local plain = {}
    for i, t in ipairs(views) do plain[i] = t:contiguous() end
    local g = randn({ 2, 3, 40, 8 }, 4)
    local got, want = all(attend {}, g, views), all(attend {}, g, plain)
    for k = 1, 4 do assert(mc.array_equal(want[k], got[k])) end
    local two = attend {}(plain[1][{ 1, 2 }], plain[2][{ 1, 2 }], plain[3][{ 1, 2 }])
    assert(mc.array_equal(want[1][{ 1, 2 }], two))
  end)

  it('maps over operands, with gradients and their gradients', function()
    local x, g, o = operands({ 2, 5, 6, 3, 4, true, 2 }, 7)
    local many = mc.stack { x[1], x[1] * 2, -x[1] }
    local function slopes(f)
      return function(q, k, v)
        return mc.grad(function(...) return mc.sum(f(...) * g) end, { argnums = { 1, 2, 3 } })(q, k, v)
      end
    end
    local function twice(f)
      return mc.grad(function(q)
        local s = slopes(f)(q, x[2], x[3])
        return mc.sum(mc.sin(s[1])) + mc.sum(mc.cos(s[2])) + mc.sum(mc.square(s[3]))
      end)(x[1])
    end
    local got = mc.vmap(slopes(attend(o)), { in_axes = { 1, false, false } })(many, x[2], x[3])
    for s = 1, 3 do
      local want = slopes(formula(o))(many[s], x[2], x[3])
      for k = 1, 3 do assert(mc.allclose(got[k][s], want[k], { rtol = 1e-11, atol = 1e-13 })) end
    end
    assert(mc.allclose(twice(attend(o)), twice(formula(o)), { rtol = 1e-10, atol = 1e-12 }))
  end)

  it('takes another mask at each call of a compiled function, and for each element of a map', function()
    local q, masks = randn({ 2, 5, 4 }, 3), mc.gt(randn({ 3, 5, 5 }, 4), -0.5)
    local slope = mc.grad(function(t, mask) return mc.sum(mc.square(attend { mask = mask }(t, t, t))) end)
    local compiled, many = mc.compile(slope), mc.vmap(slope, { in_axes = { false, 1 } })(q, masks)
    local step = nn.Step(nn.MultiheadAttention(4, 2, { key = 1 }):to 'f64', function(net, b)
      return mc.sum(mc.square(net(b.x, { key_mask = b.keep })))
    end, { optimizer = mc.optim.sgd { lr = 0 } })
    for i = 1, 3 do
      local want = slope(q, masks[i])
      assert(mc.allclose(compiled(q, masks[i]), want, { rtol = 1e-11, atol = 1e-13 }))
      assert(mc.allclose(many[i], want, { rtol = 1e-11, atol = 1e-13 }))
      local keep = masks[{ 1, i }]:reshape(1, 5)
      local y = step.net(q, { key_mask = keep })
      assert(math.abs(step { x = q, keep = keep } - mc.sum(mc.square(y)):item()) < 1e-11)
    end
  end)

  it('keeps what is not finite with the queries that see it', function()
    local x, _, o = operands({ 1, 70, 70, 8, 8, true }, 9, 'f32')
    x[3][{ 1, 66 }] = mc.inf
    local y = attend(o)(unpack(x))
    assert(mc.all(mc.isfinite(y[':, 1:64'])))
    assert(not mc.any(mc.isfinite(y[':, 66:70'])))
  end)

  it('holds where the fits of some queries grow from block to block of keys', function()
    local n, m = 40, 300
    local q, k = randn({ 2, n, 5 }, 1), randn({ 2, m, 5 }, 2)
    q[':, :, 5'], k[':, :, 5'] = mc.arange(1, n) / 40, mc.arange(1, m) / 2
    local x, g = { q, k, randn({ 2, m, 4 }, 3) }, randn({ 2, n, 4 }, 4)
    local want = all(formula {}, g, x)
    for i, t in ipairs(all(attend {}, g, x)) do
      assert(mc.allclose(t, want[i], { rtol = 1e-11, atol = 1e-12 }), i)
    end
  end)

  it('gives zeros without keys and nothing without queries', function()
    local v = mc.ones { 2, 0, 3 }
    local got = all(attend {}, mc.ones { 2, 4, 3 }, { mc.ones { 2, 4, 5 }, mc.ones { 2, 0, 5 }, v })
    assert(mc.array_equal(got[1], mc.zeros { 2, 4, 3 }) and mc.array_equal(got[2], mc.zeros { 2, 4, 5 }))
    got = all(attend {}, mc.ones { 2, 0, 3 }, { mc.ones { 2, 0, 5 }, mc.ones { 2, 4, 5 }, mc.ones { 2, 4, 3 } })
    assert(mc.array_equal(got[3], mc.zeros { 2, 4, 5 }) and mc.array_equal(got[4], mc.zeros { 2, 4, 3 }))
    assert.equal('{2, 0, 3}', tostring(got[1].shape))
  end)

  it('with heads and a window sees the last keys alone, with a cache too', function()
    local net = nn.MultiheadAttention(8, 2, { causal = true, window = 3, rope = true, dtype = 'f64', key = 1 })
    local x = randn({ 2, 9, 8 }, 5)
    local want = net(x)
    local far = mc.arange(1, 9):reshape(-1, 1) - mc.arange(1, 9)
    local all_keys = nn.MultiheadAttention(8, 2, { causal = true, rope = true, dtype = 'f64', key = 1 })
    assert(mc.allclose(want, all_keys(x, { mask = mc.lt(far, 3) }), { rtol = 1e-12, atol = 1e-13 }))
    assert(not mc.allclose(want, all_keys(x)))
    local cache = {}
    for t = 1, 9 do
      local y = net(x[{ mc.all, { t, t } }], { cache = cache })
      assert(mc.allclose(y, want[{ mc.all, { t, t } }], { rtol = 1e-12, atol = 1e-13 }), t)
    end
    local q = randn({ 2, 9, 4 }, 6)
    for _, o in ipairs { { window = 3 }, { window = 3, causal = true } } do -- with a mask it is composed of operations
      local masked = attend { window = 3, causal = o.causal, mask = mc.le(far, 100) }
      assert(mc.allclose(attend(o)(q, q, q), masked(q, q, q), { rtol = 1e-12, atol = 1e-13 }))
    end
    assert.equal('{1, 4, 8}', tostring(nn.TransformerEncoder(8, 2, 1, { window = 2 })(mc.zeros({ 1, 4, 8 },
      { dtype = 'f32' })).shape))
  end)

  it('as a difference of two groups of heads is that of its formula', function()
    local x = randn({ 2, 5, 12 }, 3)
    for _, form in ipairs { 'shared', 'apart' } do
      local net = nn.DifferentialAttention(12, 4, { form = form, lambda = 0.3, dtype = 'f64', key = 2, causal = true })
      local function heads(t, n) return t:reshape(2, 5, n, -1):permute_dims(1, 3, 2, 4) end
      local q, k = heads(net.q_proj(x), 4), heads(net.k_proj(x), 4)
      local v = heads(net.v_proj(x), form == 'shared' and 2 or 4)
      local late = mc.gt(mc.arange(1, 5), mc.arange(1, 5):reshape(-1, 1))
      local function weights(i)
        local s = q[{ mc.all, i }]:matmul(k[{ mc.all, i }].mT) / math.sqrt(3)
        return mc.softmax(mc.where(late, -mc.inf, s), 3)
      end
      local parts = {}
      for i = 1, 2 do
        local own = v[{ mc.all, i }]
        if form == 'shared' then parts[i] = mc.matmul(weights(i) - weights(i + 2) * 0.3, own)
        else parts[i] = weights(i):matmul(own) * 1.3 - weights(i + 2):matmul(v[{ mc.all, i + 2 }]) * 0.3 end
      end
      local want = net.out_proj(mc.concat(parts, 3))
      assert(mc.allclose(net(x), want, { rtol = 1e-11, atol = 1e-12 }), form)
    end
    local why = support.message(nn.DifferentialAttention, 12, 3)
    assert(why:find('give an even number that divides it', 1, true), why)
  end)

  it('says what does not fit', function()
    local raw = require 'mascon.core.op'.raw
    local why = support.message(raw, 'attention', { mc.ones { 3, 4 }, mc.ones { 5, 4 }, mc.ones { 6, 4 } }, {}, 2)
    local said = 'q is f64[3,4]@cpu, k is f64[5,4]@cpu and v is f64[6,4]@cpu; leading axes and widths differ'
    assert(why:find(said, 1, true), why)
  end)
end)
