-- conv_spec.lua - convolutions: known values, adjoints, bits, batches of convolutions, messages.
-- Answers of another program: cases_conv.npz.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local tol = support.load 'tol'
local nn = mc.nn

local function text(t) return (tostring(t):gsub('%s+', ' ')) end

local function near(a, b, bound, what)
  local far = mc.max(mc.abs(a - b)):item()
  local wrong = tol.compare('ITERATIVE', 'f64', far, 0, { bound = bound })
  if wrong then error(('%s: %s'):format(what or 'difference', wrong), 2) end
end

describe('nn.conv1d, conv2d, conv3d', function()
  local image, kernel = mc.arange(1, 9):reshape(1, 1, 3, 3), mc.tensor { { { { 1, 2 }, { 3, -4 } } } }

  it('have known values (nn C39)', function()
    assert.equal('f64[1,1,2,2]@cpu { { { { -3, -1 }, { 3, 5 } } } }', text(nn.conv2d(image, kernel)))
    assert.equal('f64[1,1,2,2]@cpu { { { { -4, -6 }, { -20, 5 } } } }',
      text(nn.conv2d(image, kernel, { padding = 1, stride = 2 })))
    assert.equal('f64[1,1,1,1]@cpu { { { { -8 } } } }', text(nn.conv2d(image, kernel, { dilation = 2 })))
    assert.equal('f64[1,1,3,3]@cpu { { { { -3, -7, -2 }, { -6, 20, 14 }, { 9, 3, -20 } } } }',
      text(nn.conv_transpose2d(nn.conv2d(image, kernel), kernel)))
  end)

  it('agree with sums over windows of the padded operand (nn C26)', function()
    local x, w = mc.randn({ 2, 3, 7, 8 }, { seed = 1 }), mc.randn({ 4, 3, 3, 2 }, { seed = 2 })
    local padded = mc.pad(x, { { 0, 0 }, { 0, 0 }, { 2, 1 }, { 0, 3 } }, { mode = 'wrap' })
    local windows = mc.sliding_window_view(padded, { 3, 2 }, { axis = { 3, 4 } })
    local want = mc.einsum('ncyxhw,ochw->noyx', windows, w)
    near(nn.conv2d(x, w, { padding = { { 2, 1 }, { 0, 3 } }, padding_mode = 'circular' }), want, 1e-13)
  end)

  it('are linear maps whose adjoints are the transposed convolutions (nn C26)', function()
    for k, o in ipairs { {}, { stride = 2, padding = 1 }, { dilation = 2, padding = 3 },
      { stride = { 3, 2 }, padding = { 1, 0 }, groups = 2 } } do
      local x, w = mc.randn({ 2, 4, 11, 11 }, { seed = k }),
        mc.randn({ 6, 4 / (o.groups or 1), 3, 3 }, { seed = k + 9 })
      local y = nn.conv2d(x, w, o)
      local c = mc.randn(y.shape, { seed = k + 20 })
      local back = { stride = o.stride, padding = o.padding, dilation = o.dilation, groups = o.groups,
        output_padding = {} }
      for a = 1, 2 do
        local function of(v, default) return type(v) == 'table' and v[a] or v or default end
        back.output_padding[a] = (11 + 2 * of(o.padding, 0) - of(o.dilation, 1) * 2 - 1) % of(o.stride, 1)
      end
      near(mc.sum(y * c), mc.sum(x * nn.conv_transpose2d(c, w, back)), 1e-11, 'case ' .. k)
    end
  end)

  it('have gradients of a kernel that do not depend on how many channels there are beside', function()
    local function gradient(f, x, c, o, w)
      return (select(2, mc.vjp(function(v) return f(x, v, o) end, mc.zeros(w)))(c))
    end
    for k, case in ipairs { { nn.conv1d, { 3, 5, 700 }, { 20, 5, 3 }, { stride = 2 } },
      { nn.conv2d, { 40, 3, 9, 7 }, { 37, 3, 3, 3 }, { padding = 1 } },
      { nn.conv2d, { 2, 6, 60, 50 }, { 17, 6, 3, 2 }, { dilation = 2, stride = { 1, 2 } } },
      { nn.conv2d, { 1, 9, 20, 20 }, { 8, 9, 5, 5 }, { padding = 2, padding_mode = 'reflect' } },
      { nn.conv3d, { 2, 4, 6, 9, 8 }, { 9, 4, 2, 3, 3 }, { stride = { 1, 2, 1 }, padding = 1 } } } do
      local f, shape, w, o = unpack(case)
      local x = mc.randn(shape, { seed = k })
      local y = f(x, mc.ones(w), o)
      local turned, back = {}, {}
      for a = 1, y.ndim do turned[a] = y.shape[y.ndim + 1 - a]; back[a] = y.ndim + 1 - a end
      local c, parts = mc.randn(turned, { seed = k + 9 }):permute_dims(back), {}
      local got = gradient(f, x, c, o, w)
      near(got, gradient(f, x, c:copy(), o, w), 0, 'another layout of case ' .. k)
      for from = 1, w[1], 7 do
        local part = { unpack(w) }
        part[1] = math.min(7, w[1] - from + 1)
        parts[#parts + 1] = gradient(f, x, c[{ mc.all, { from, from + part[1] - 1 } }], o, part)
      end
      near(got, mc.concat(parts, 1), 1e-11, 'case ' .. k)
    end
  end)

  it('have the same bits for any number of threads, any batch, and on v3 and v4', function()
    local C = require 'mascon.core.ffi'.C
    local cases = {
      { mc.randn({ 5, 6, 40, 33 }, { seed = 1, dtype = 'f32' }),
        mc.randn({ 11, 6, 3, 3 }, { seed = 2, dtype = 'f32' }), { padding = 1 } },
      { mc.randn({ 3, 16, 14, 14 }, { seed = 1, dtype = 'f32' }),
        mc.randn({ 32, 16, 5, 5 }, { seed = 2, dtype = 'f32' }), { padding = 2, stride = 2 } },
      { mc.randn({ 3, 8, 500 }, { seed = 3 }), mc.randn({ 8, 4, 5 }, { seed = 4 }),
        { stride = 2, groups = 2, padding = 4, padding_mode = 'circular' } },
    }
    for k, case in ipairs(cases) do
      local x, w, o = unpack(case)
      local f = x.ndim == 4 and nn.conv2d or nn.conv1d
      local c = mc.randn(f(x, w, o).shape, { seed = 5, dtype = x.dtype })
      local function all(t, g)
        local y, back = mc.vjp(function(a, b) return f(a, b, o) end, t, w)
        return y, back(g)
      end
      local want
      support.restoring(function()
        for _, isa in ipairs(support.levels()) do
          assert(C.mc_isa_set(isa) == 0)
          if isa == 'v2' then want = nil end -- without fused products
          for _, threads in ipairs { 1, 2, 3 } do
            mc.set_num_threads(threads)
            local got = { all(x, c) }
            if isa == 'v3' and threads == 1 then want = nil end
            want = want or got
            for i = 1, 3 do assert(mc.array_equal(want[i], got[i]), ('case %d, result %d, %d threads, %s'):format(k,
              i, threads, isa)) end
          end
        end
      end)
      local whole = { all(x, c) }
      local one, gx = all(x['2:2'], c['2:2'])
      assert(mc.array_equal(whole[1]['2:2'], one), 'a sample alone')
      assert(mc.array_equal(whole[2]['2:2'], gx), "a sample's gradient alone")
    end
  end)

  it('have the bits of a channel alone where channels lie in lanes', function()
    -- kind, channels in, channels out, sizes, taps, options; a channel alone goes by planes
    for i, c in ipairs {
      { 1, 32, 32, { 40 }, { 4 }, { stride = 2 } }, { 2, 16, 32, { 14, 14 }, { 5, 5 }, { padding = 2 } },
      { 2, 20, 40, { 21, 33 }, { 3, 4 }, { padding = { 1, 3 }, stride = 2, dilation = { 2, 1 } } },
      { 2, 18, 33, { 30, 9 }, { 5, 5 }, { padding = 1 } }, { 3, 16, 16, { 5, 6, 14 }, { 2, 3, 3 }, { padding = 1 } },
    } do
      local f = nn['conv' .. c[1] .. 'd']
      for _, dtype in ipairs { 'f32', 'f64' } do
        local x = mc.randn({ 2, c[2], unpack(c[4]) }, { seed = i, dtype = dtype })
        local w = mc.randn({ c[3], c[2], unpack(c[5]) }, { seed = i + 9, dtype = dtype })
        local y, back = mc.vjp(function(v) return f(v, w, c[6]) end, x)
        local g = mc.randn(y.shape, { seed = i + 20, dtype = dtype })
        for _, at in ipairs { 1, c[3] } do
          assert(mc.array_equal(y[{ mc.all, { at, at } }], f(x, w[{ { at, at } }], c[6])), i)
        end
        local _, one = mc.vjp(function(v) return f(v, w[{ mc.all, { 2, 2 } }], c[6]) end, x[{ mc.all, { 2, 2 } }])
        assert(mc.array_equal(back(g)[{ mc.all, { 2, 2 } }], one(g)), i)
      end
    end
  end)

  it('take operands of any layout and write where they are told', function()
    local x, w = mc.randn({ 9, 2, 8, 6 }, { seed = 1 }), mc.randn({ 3, 3, 2, 4 }, { seed = 2 })
    local a, b = x:permute_dims(2, 3, 1, 4), w:permute_dims(4, 3, 1, 2) -- [2,8,9,6], [4,2,3,3]
    a = a:permute_dims(1, 4, 3, 2)['..., ::-1'] -- [2,6,9,8]
    b = mc.concat({ b, b, b }, 2)
    local want = nn.conv2d(a:copy(), b:copy(), { padding = 1 })
    assert(mc.array_equal(want, nn.conv2d(a, b, { padding = 1 })))
    assert(mc.array_equal(want, nn.conv2d(mc.broadcast_to(a[1], { 2, 6, 9, 8 }), b, { padding = 1 })) == false)
    assert(mc.array_equal(nn.conv2d(a[1], b, { padding = 1 }), nn.conv2d(mc.broadcast_to(a[1], { 2, 6, 9, 8 }), b,
      { padding = 1 })[2]))
    local out = mc.zeros { 2, 4, 9, 8 }
    nn.conv2d(a, b, { padding = 1, out = out })
    assert(mc.array_equal(want, out))
    assert.equal('f16', nn.conv1d(mc.ones({ 1, 4 }, { dtype = 'f16' }), mc.ones({ 1, 1, 2 }, { dtype = 'f16' })).dtype)
    assert.equal('f64', nn.conv1d(mc.ones({ 1, 4 }, { dtype = 'i32' }), mc.ones({ 1, 1, 2 }, { dtype = 'i32' })).dtype)
    assert.equal('{0, 3, 4}', tostring(nn.conv1d(mc.ones { 0, 2, 6 }, mc.ones { 3, 2, 3 }).shape))
    assert.equal('f64[3,1]@cpu { { 0 }, { 0 }, { 0 } }', text(nn.conv1d(mc.ones { 0, 3 }, mc.ones { 3, 0, 3 })))
  end)

  it('run under vmap, over either operand and both, and over that again', function()
    local X, W = mc.randn({ 3, 2, 4, 6, 5 }, { seed = 1 }), mc.randn({ 3, 6, 2, 3, 3 }, { seed = 2 })
    local o = { groups = 2, padding = 1, padding_mode = 'circular', stride = { 2, 1 } }
    local function f(x, w) return nn.conv2d(x, w, o) end
    local function g(x, w)
      local y, back = mc.vjp(f, x, w)
      return y, back(y)
    end
    for _, axes in ipairs { { 1, 1 }, { 1, false }, { false, 1 } } do
      local x, w = axes[1] == 1 and X or X[2], axes[2] == 1 and W or W[2]
      local got = { mc.vmap(g, { in_axes = axes })(x, w) }
      for k = 1, 3 do
        local want = { g(axes[1] == 1 and X[k] or x, axes[2] == 1 and W[k] or w) }
        for i = 1, 3 do near(got[i][k], want[i], 1e-12, ('map %s %s, result %d'):format(tostring(axes[1]),
          tostring(axes[2]), i)) end
      end
    end
    local twice = mc.vmap(mc.vmap(f), { in_axes = { 1, false } })(mc.stack { X, X * 2 }, W)
    for k = 1, 2 do near(twice[k][3], f(X[3], W[3]) * k, 1e-12, 'maps of maps') end
    local rows = mc.vmap(mc.vmap(f, { in_axes = { 1, false } }), { in_axes = { false, 1 } })(X, W)
    near(rows[2][3], f(X[3], W[2]), 1e-12, 'every operand with every kernel')
  end)

  it('take several kernels at once, each with the bits that it gives alone', function()
    for _, c in ipairs { { 3, 16, 16, 3 }, { 2, 40, 24, 5 }, { 3, 4, 5, 3 }, { 3, 16, 3, 1 }, { 3, 24, 48, 1 },
      { 2, 96, 17, 1 } } do
      local n, C, O, taps = unpack(c)
      local x = mc.randn({ n, 2, C, 20, 21 }, { seed = 1, dtype = 'f32' })
      local w = mc.randn({ n, O, C, taps, taps }, { seed = 2, dtype = 'f32' })
      local b = mc.randn({ n, O }, { seed = 3, dtype = 'f32' })
      local function g(...)
        local function f(a, v, k) return nn.conv2d(a, v, { padding = (taps - 1) / 2, bias = k }) end
        local y, back = mc.vjp(f, ...)
        return { y, back(y) }
      end
      local got = g(x, w, b)
      for i = 1, n do
        local want = g(x[i], w[i], b[i])
        for k = 1, 4 do assert(mc.array_equal(got[k][i], want[k]), ('kernel %d, result %d'):format(i, k)) end
        local one = nn.conv2d(x[{ i, { 2, 2 } }]:reshape(1, C, 20, 21), w[i], { padding = (taps - 1) / 2, bias = b[i] })
        assert(mc.array_equal(one[1], want[1][2]), 'a sample alone')
      end
    end
    assert(tostring(select(2, pcall(nn.conv2d, mc.ones { 2, 1, 3, 4, 4 }, mc.ones { 3, 2, 3, 1, 1 })))
      :find('or as many of both, along a first axis', 1, true))
    assert(tostring(select(2, pcall(nn.conv1d, mc.ones { 3, 1, 3, 4 }, mc.ones { 3, 2, 3, 1 }, { bias = mc.ones(2) })))
      :find('bias is f64[2]@cpu for 2 channels of 3 kernels; give one number for each', 1, true))
  end)

  it('compile to the same bits', function()
    local x, w, b = mc.randn({ 2, 3, 9, 9 }, { seed = 1 }), mc.randn({ 4, 3, 3, 3 }, { seed = 2 }),
      mc.randn({ 4 }, { seed = 3 })
    local function f(t, k, c) return mc.tanh(nn.conv2d(t, k, { bias = c, padding = 1 })) end
    assert(mc.array_equal(f(x, w, b), mc.compile(f)(x, w, b)))
  end)

  it('transposed adds places behind, up to the larger of stride and dilation, as PyTorch does', function()
    local y = nn.conv_transpose1d(mc.ones { 1, 1, 3 }, mc.ones { 1, 1, 2 }, { dilation = 2, output_padding = 1 })
    assert.equal('f64[1,1,6]@cpu { { { 1, 1, 2, 1, 1, 0 } } }', tostring(y))
    local z = nn.conv_transpose3d(mc.ones { 1, 1, 1, 1, 2 }, mc.ones { 1, 1, 1, 1, 2 },
      { dilation = { 1, 1, 3 }, output_padding = { 0, 0, 2 }, padding = { 0, 0, 1 } })
    assert.equal('1,0,1,1,0', table.concat(z:reshape(-1):totable(), ','))
  end)
  it('say what does not fit', function()
    local function says(message, f, ...)
      local fine, e = pcall(f, ...)
      assert(not fine, 'no error: ' .. message)
      assert(tostring(e):find(message, 1, true), ('%s\nsays\n%s'):format(message, tostring(e)))
    end
    local x, w = mc.ones { 2, 3, 5, 5 }, mc.ones { 4, 3, 3, 3 }
    says('nn.conv2d: operands are f64[2,3,5,5]@cpu and 3; give two tensors', nn.conv2d, x, 3)
    says('nn.conv1d: input is f64[2,3,5,5]@cpu and weight is f64[4,3,3,3]@cpu; give an input [batch, channels, ' ..
      'size] and a weight [channels out, channels in / groups, size]', nn.conv1d, x, w)
    says('nn.conv2d: input f64[2,3,5,5]@cpu has 3 channels, weight f64[4,2,3,3]@cpu takes 2 in each of 1 group; ' ..
      'both numbers of channels must fit the groups', nn.conv2d, x, mc.ones { 4, 2, 3, 3 })
    says('the kernel of f64[4,3,3,3]@cpu covers 7 x 3 and the padded input 5 x 5 of f64[2,3,5,5]@cpu; pad more, ' ..
      'or take a smaller kernel', nn.conv2d, x, w, { dilation = { 3, 1 } })
    says("nn.conv2d: padding 'same' is for stride 1; give padding as numbers", nn.conv2d, x, w,
      { padding = 'same', stride = 2 })
    says("nn.conv2d: padding is 'full'; give 'same', 'valid', or numbers", nn.conv2d, x, w, { padding = 'full' })
    says('nn.conv2d: stride has 3 entries for 2 axes; give a number, or one for each axis', nn.conv2d, x, w,
      { stride = { 1, 1, 1 } })
    says('nn.conv2d: bias is f64[3]@cpu for 4 channels; give one number for each', nn.conv2d, x, w,
      { bias = mc.ones { 3 } })
    says('nn.conv2d: option "pading" is unknown; did you mean "padding"?', nn.conv2d, x, w, { pading = 1 })
    says('nn.conv_transpose2d: output_padding 2 is not below the larger of stride 2 and dilation 1',
      nn.conv_transpose2d, x, mc.ones { 3, 4, 3, 3 }, { stride = 2, output_padding = 2 })
    says('nn.conv_transpose2d: input f64[2,3,5,5]@cpu has 3 channels, weight f64[4,3,3,3]@cpu takes 4',
      nn.conv_transpose2d, x, w)
  end)
end)
