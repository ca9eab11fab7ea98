-- conv_tiles_spec.lua - convolutions by tiles of results (f32, enough channels), 3 x 3 taps by polynomials and 4 to 9
-- by Fourier transforms: against f64, bits, maps.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local BEFORE = support.tensor_bytes()
local mc = require 'mascon'
local nn = mc.nn

local EPS = 2 ^ -24

local function randn(shape, seed) return mc.randn(shape, { seed = seed, dtype = 'f32' }) end

--- Result and both derivatives.
local function all(x, w, c, o)
  local y, back = mc.vjp(function(a, b) return nn.conv2d(a, b, o) end, x, w)
  return { y, back(c) }
end

--- Errors in units of eps (2 + sqrt(n)) S: n terms of a sum, S the sum of their magnitudes, its largest value over the
--- neighbours that share a patch (at most 3 places away for 3 x 3 taps, else 15); for the kernel over all taps.
--- Below 3, as nn.conv2d says.
local function check(what, x, w, o, c)
  c = c or randn(nn.conv2d(x, w, o).shape, 77)
  local got = all(x, w, c, o)
  local want = all(x:to 'f64', w:to 'f64', c:to 'f64', o)
  local size = all(mc.abs(x):to 'f64', mc.abs(w):to 'f64', mc.abs(c):to 'f64', o)
  local taps = w.shape[3] * w.shape[4]
  local terms = { taps * w.shape[2], taps * w.shape[1] / (o.groups or 1), c.shape[1] * c.shape[3] * c.shape[4] }
  local far = taps == 9 and 3 or 15
  for k = 1, 3 do
    local s
    if k < 3 then
      s = mc.pad(size[k], { { 0, 0 }, { 0, 0 }, { far, far }, { far, far } })
      s = nn.max_pool2d(s, { 2 * far + 1, 1 }, { stride = 1 })
      s = nn.max_pool2d(s, { 1, 2 * far + 1 }, { stride = 1 })
    else s = mc.max(size[k], { 3, 4, keepdim = true }) end
    local units = mc.max(mc.abs(got[k]:to 'f64' - want[k]) / (s * (EPS * (2 + math.sqrt(terms[k]))) + 1e-30)):item()
    assert(units < 3, ('%s: result %d is %.3g units away from f64'):format(what, k, units))
  end
end

describe('the way of a convolution', function()
  it('is named with the bytes that it takes, and can be kept to sums as they are written', function()
    local CASES = { { 32, 32, 3, "Winograd's tiles of 4 x 4" }, { 32, 48, 5, 'Fourier transforms of tiles of 12 x 12' },
      { 40, 24, 7, 'Fourier transforms of tiles of 10 x 10' }, { 32, 24, 1, 'products of matrices' },
      { 3, 16, 3, 'direct sums' } }
    for k, c in ipairs(CASES) do
      mc.scope(function()
        local x, w, o = randn({ 2, c[1], 40, 40 }, k), randn({ c[2], c[1], c[3], c[3] }, k + 50),
          { padding = math.floor(c[3] / 2) }
        local way, bytes = nn.conv2d_way(x, w, o)
        assert.equal(c[4], way)
        assert.equal(c[4], (nn.conv2d_way(mc.broadcast_to(mc.zeros({ 1 }, { dtype = 'f32' }), x.shape), w, o)))
        assert.equal(k <= 3 and 'direct sums' or way, (nn.conv2d_way(x:to 'f64', w:to 'f64', o)))
        local want, by_tiles = nn.conv2d(x:to 'f64', w:to 'f64', o), nn.conv2d(x, w, o)
        o.direct = true
        local direct = nn.conv2d(x, w, o)
        assert.equal(k <= 3 and 'direct sums' or way, (nn.conv2d_way(x, w, o)))
        assert.equal(k > 3, mc.array_equal(direct, by_tiles))
        if k > 3 then
          assert.equal(0, bytes)
          return
        end
        assert.is_true((direct - want):abs():max():item() < 1e-6 * c[1] * c[3] ^ 2)
        assert.is_true(bytes > 2 ^ 20 and bytes < 2 ^ 25, ('%s: %d bytes'):format(way, bytes))
      end)
    end
    local ok, why = pcall(function() nn.conv2d_way(mc.ones { 1, 2, 2 }, mc.ones { 1, 3, 1, 1 }) end)
    assert.is_false(ok)
    assert.matches('conv_tiles_spec%.lua:%d+: nn%.conv2d_way: input f64%[1,1,2,2%]@cpu has 1 channels, weight', why)
    local f = mc.compile(function(x, w) return nn.conv2d(x, w, { padding = 2 }) end)
    f(randn({ 1, 32, 40, 40 }, 1), randn({ 48, 32, 5, 5 }, 2))
    local c = f:explain().convolutions
    assert.equal(1, #c)
    assert.equal('Fourier transforms of tiles of 12 x 12', c[1].way)
    assert.matches('f32%[1,48,40,40%] by Fourier transforms of tiles of 12 x 12, %S+ MiB beside it',
      tostring(f:explain()))
  end)
end)

describe('other convolutions in f32', function()
  it('agree with f64: one tap, by products of matrices; strides, dilation, five taps', function()
    local cases = {
      { { 5, 32, 9, 11 }, { 48, 32, 1, 1 }, {} }, { { 40, 17, 8, 8 }, { 300, 17, 1, 1 }, {} },
      { { 3, 24, 6, 5 }, { 17, 24, 1, 1 }, {} }, { { 2, 16, 9, 8 }, { 20, 16, 1, 1 }, { stride = 2 } },
      { { 2, 16, 5, 5 }, { 16, 16, 1, 1 }, { padding = 1 } }, { { 9, 20, 13, 11 }, { 33, 20, 5, 5 }, { padding = 2 } },
      { { 2, 32, 17, 16 }, { 40, 16, 3, 3 }, { padding = 1, stride = 2, groups = 2 } },
      { { 2, 16, 12, 12 }, { 16, 16, 3, 3 }, { padding = 2, dilation = 2, padding_mode = 'circular' } },
    }
    for k, case in ipairs(cases) do check('case ' .. k, randn(case[1], k), randn(case[2], k + 50), case[3]) end
  end)

  it('take any layout, out=, and have the same bits for any number of threads', function()
    local x, w = randn({ 2, 24, 7, 6 }, 1), randn({ 32, 24, 1, 1 }, 2)
    local want = nn.conv2d(x, w)
    assert(mc.array_equal(want, nn.conv2d(x:permute_dims(4, 2, 3, 1):copy():permute_dims(4, 2, 3, 1), w)))
    assert(mc.array_equal(want['2:2'], nn.conv2d(x['2:2'], w)), 'a sample alone')
    -- enough places for products of matrices
    local p, q, g = randn({ 5, 32, 9, 11 }, 6), randn({ 48, 32, 1, 1 }, 7), randn({ 5, 48, 9, 11 }, 8)
    local whole = all(p, q, g, {})
    local turned = p:permute_dims(4, 2, 3, 1):copy():permute_dims(4, 2, 3, 1)
    for k, t in ipairs(all(turned, q, g, {})) do assert(mc.array_equal(whole[k], t), 'turned, result ' .. k) end
    local one = all(p['4:4'], q, g['4:4'], {})
    for k = 1, 2 do assert(mc.array_equal(whole[k]['4:4'], one[k]), 'a sample alone, result ' .. k) end
    local flat = nn.conv1d(p:reshape(5, 32, 99), q:reshape(48, 32, 1))
    assert(mc.array_equal(whole[1]:reshape(5, 48, 99), flat))
    local out = mc.zeros({ 2, 32, 7, 6 }, { dtype = 'f32' })
    nn.conv2d(x, w, { out = out })
    assert(mc.array_equal(want, out))
    for _, size in ipairs { 1, 5 } do
      local a, b, first = randn({ 20, 32, 14, 14 }, 3), randn({ 48, 32, size, size }, 4), nil
      local o = { padding = (size - 1) / 2 }
      local c = randn(nn.conv2d(a, b, o).shape, 5)
      support.restoring(function()
        for threads = 1, 3 do
          mc.set_num_threads(threads)
          local got = all(a, b, c, o)
          first = first or got
          for i = 1, 3 do assert(mc.array_equal(first[i], got[i]), ('%d taps, result %d'):format(size, i)) end
        end
      end)
    end
  end)
end)

describe('convolutions by tiles', function()
  it('agree with f64: odd sizes, padding, modes, groups, unequal channels', function()
    local cases = {
      { { 2, 32, 20, 21 }, { 32, 32, 3, 3 }, { padding = 1 } }, { { 1, 40, 9, 30 }, { 24, 40, 3, 3 }, {} },
      { { 3, 32, 12, 12 }, { 36, 32, 3, 3 }, { padding = 2 } }, { { 5, 64, 7, 7 }, { 64, 64, 3, 3 }, { padding = 1 } },
      { { 2, 64, 14, 13 }, { 64, 32, 3, 3 }, { padding = 1, groups = 2 } },
      { { 2, 32, 16, 17 }, { 33, 32, 3, 3 }, { padding = 1, padding_mode = 'circular' } },
      { { 2, 32, 16, 17 }, { 33, 32, 3, 3 }, { padding = { { 1, 2 }, { 0, 1 } }, padding_mode = 'reflect' } },
      { { 1, 32, 8, 150 }, { 32, 32, 3, 3 }, { padding = { 4, 3 } } },
      { { 2, 40, 20, 21 }, { 36, 40, 5, 5 }, { padding = 2 } }, { { 1, 24, 31, 40 }, { 33, 24, 7, 7 }, {} },
      { { 2, 64, 24, 25 }, { 64, 32, 5, 5 }, { padding = 2, groups = 2 } },
      { { 1, 20, 27, 64 }, { 28, 20, 4, 6 }, { padding = { 3, 1 } } },
      { { 2, 32, 26, 17 }, { 33, 32, 7, 7 }, { padding = 3, padding_mode = 'circular' } },
      { { 2, 32, 26, 17 }, { 30, 32, 9, 2 }, { padding = { { 1, 2 }, { 0, 1 } }, padding_mode = 'reflect' } },
      { { 3, 32, 8, 170 }, { 32, 32, 9, 9 }, { padding = 4 } },
    }
    for k, case in ipairs(cases) do check('case ' .. k, randn(case[1], k), randn(case[2], k + 50), case[3]) end
  end)

  it('keep to the error of sums over tiles where magnitudes differ by a million', function()
    local x = randn({ 1, 32, 16, 16 }, 1)
    x[{ 1, 3, 6, 7 }] = 1e6
    check('a large pixel', x, randn({ 32, 32, 3, 3 }, 2), { padding = 1 })
    check('a large pixel, 7 taps', x, randn({ 32, 32, 7, 7 }, 2), { padding = 3 })
  end)

  it('have the same bits for any number of threads, levels and batch', function()
    local C = require 'mascon.core.ffi'.C
    for k, case in ipairs { { { 5, 32, 19, 22 }, { 40, 32, 3, 3 } }, { { 5, 64, 6, 7 }, { 64, 64, 3, 3 } },
      { { 5, 32, 19, 27 }, { 40, 32, 7, 7 } }, { { 5, 64, 11, 12 }, { 48, 64, 5, 5 } } } do
      local x, w, o = randn(case[1], 1), randn(case[2], 2), { padding = (case[2][3] - 1) / 2 }
      local c, want = randn(nn.conv2d(x, w, o).shape, 3), nil
      support.restoring(function()
        for _, isa in ipairs(support.levels()) do
          assert(C.mc_isa_set(isa) == 0)
          if isa == 'v2' then want = nil end -- without fused products
          for _, threads in ipairs { 1, 2, 3 } do
            mc.set_num_threads(threads)
            local got = all(x, w, c, o)
            if isa == 'v3' and threads == 1 then want = nil end
            want = want or got
            for i = 1, 3 do
              assert(mc.array_equal(want[i], got[i]), ('case %d, result %d, %d threads, %s'):format(k, i, threads, isa))
            end
          end
        end
      end)
      local whole, one = all(x, w, c, o), all(x['4:4'], w, c['4:4'], o)
      for i = 1, 2 do assert(mc.array_equal(whole[i]['4:4'], one[i]), 'a sample alone, result ' .. i) end
    end
  end)

  it('take any layout, out=, kernels of their own, and compile to the same bits', function()
    for _, size in ipairs { 3, 5 } do
      local x, w, o = randn({ 2, 32, 12, 11 }, 1), randn({ 3, 32, 32, size, size }, 2), { padding = (size - 1) / 2 }
      local function f(a, b) return nn.conv2d(a, b, o) end
      local want = f(x, w[2])
      assert(mc.array_equal(want, f(x:permute_dims(3, 1, 4, 2):copy():permute_dims(2, 4, 1, 3), w[2])))
      assert(mc.array_equal(f(x['..., ::-1']:copy(), w[2]), f(x['..., ::-1'], w[2])))
      assert(mc.array_equal(want, mc.compile(f)(x, w[2])))
      local out = mc.zeros({ 2, 32, 12, 11 }, { dtype = 'f32' })
      o.out = out
      nn.conv2d(x, w[2], o)
      o.out = nil
      assert(mc.array_equal(want, out))
      local function g(b)
        local y, back = mc.vjp(f, x, b)
        return y, back(y)
      end
      local mapped = { mc.vmap(g)(w) }
      for k = 1, 3 do
        local single = { g(w[k]) }
        for i = 1, 3 do assert(mc.array_equal(mapped[i][k], single[i]), ('kernel %d, result %d'):format(k, i)) end
      end
    end
  end)

  it('carry what is not finite to the tiles that see it, no further', function()
    local x, w = mc.ones({ 1, 32, 16, 16 }, { dtype = 'f32' }), randn({ 32, 32, 3, 3 }, 2)
    local want = nn.conv2d(x, w, { padding = 1 })
    x[{ 1, 1, 2, 2 }] = math.huge
    local got = nn.conv2d(x, w, { padding = 1 })
    assert(not mc.isfinite(got['..., 1:3, 1:3']):any())
    assert(mc.array_equal(want['..., 5:16, :'], got['..., 5:16, :']))
    assert(mc.array_equal(want['..., :, 5:16'], got['..., :, 5:16']))
    local x5, w5 = mc.ones({ 1, 32, 28, 28 }, { dtype = 'f32' }), randn({ 32, 32, 5, 5 }, 2)
    want = nn.conv2d(x5, w5)
    x5[{ 1, 1, 2, 2 }] = 0 / 0
    got = nn.conv2d(x5, w5)
    assert(mc.array_equal(want['..., 13:24, :'], got['..., 13:24, :']))
    assert(mc.array_equal(want['..., :, 13:24'], got['..., :, 13:24']))
  end)
end)

teardown(function()
  collectgarbage()
  collectgarbage()
  assert(support.tensor_bytes() - BEFORE < 2 ^ 22)
end)
