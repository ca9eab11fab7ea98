-- device_rows_spec.lua - convolutions, recursive filters, vector products and points of sequences on a device with
-- programs: what the CPU gives, over strides, groups, padding, dtypes and layouts.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local device = support.load 'device'
local recurse = require 'mascon.array.recurrence'.recurse

local name, reason = device.name()
local function try(what, f)
  it(what, function()
    if not name then return pending(reason) end
    mc.scope(f)
  end)
end
local function draw(shape, seed, dtype) return mc.randn(shape, { seed = seed }):to(dtype or 'f64') end
local WORST = { f64 = 1e-13, f32 = 1e-5, f16 = 4e-3, bf16 = 3e-2, c128 = 1e-13, i64 = 0 }

--- The largest difference between a function of these operands there and here, in units of the largest value.
local function agree(what, f, ...)
  local here, there = { f(...) }, { f(unpack(device.moved { ... })) }
  assert.equal(#here, #there)
  for i, want in ipairs(here) do
    local got = there[i]
    assert.equal(name, got.device, what)
    assert.same({ want.dtype, tostring(want.shape) }, { got.dtype, tostring(got.shape) }, what)
    if want:numel() > 0 then
      local wide = want.dtype == 'c128' and 'c128' or 'f64'
      local a, b = got:to 'cpu':to(wide), want:to(wide)
      local far = mc.max(mc.abs(a - b)):item() / math.max(mc.max(mc.abs(b)):item(), 1)
      assert.is_true(far <= WORST[want.dtype], ('%s, result %d: %g'):format(what, i, far))
    end
  end
end

describe('convolution on a device', function()
  local CASES = {
    { { 2, 3, 20 }, { 4, 3, 5 }, {} },
    { { 2, 4, 21 }, { 6, 2, 4 }, { stride = 3, padding = 2, dilation = 2, groups = 2 } },
    { { 1, 2, 9, 8 }, { 3, 2, 3, 2 }, { stride = { 2, 1 }, padding = { 1, 2 } } },
    { { 2, 2, 5, 6, 4 }, { 2, 1, 2, 3, 2 }, { padding = 1, groups = 2, dilation = { 1, 2, 1 } } },
    { { 2, 3, 11 }, { 2, 3, 4 }, { padding = 3, padding_mode = 'reflect' } },
    { { 1, 2, 7, 6 }, { 2, 2, 3, 3 }, { padding = 2, padding_mode = 'circular' } },
    { { 1, 2, 7, 6 }, { 2, 2, 3, 3 }, { padding = 2, padding_mode = 'replicate', stride = 2 } },
  }
  local function both(i, c, dtype)
    local f = mc.nn['conv' .. #c[1] - 2 .. 'd']
    local function loss(x, w) return (mc.sin(f(x, w, c[3]):to 'f32')):sum() end
    local x, w = draw(c[1], i, dtype), draw(c[2], i + 10, dtype)
    agree('conv ' .. i .. dtype, function(a, b) return f(a, b, c[3]) end, x, w)
    if dtype == 'f64' then
      agree('gradients ' .. i, function(a, b)
        local g = mc.grad(function(p, q) return mc.square(f(p, q, c[3])):sum() end, { argnums = { 1, 2 } })(a, b)
        return g[1], g[2]
      end, x, w)
    end
    return loss
  end
  for i, c in ipairs(CASES) do try('and its gradients: case ' .. i, function() both(i, c, 'f64') end) end
  try('in other dtypes and layouts', function()
    for _, dtype in ipairs { 'f32', 'f16', 'bf16' } do both(2, CASES[2], dtype) end
    local x, w = draw({ 9, 20, 3 }, 1), draw({ 5, 3, 4 }, 2)
    agree('strided', function(a, b)
      return mc.nn.conv1d(a:permute_dims(1, 3, 2), b['::-1, :, ::2'], { stride = 2 })
    end, x, w)
    agree('transposed', function(a, b) return mc.nn.conv_transpose1d(a, b, { stride = 2 }) end, draw({ 2, 3, 7 }, 3),
      draw({ 3, 4, 5 }, 4))
    agree('no samples', mc.nn.conv1d, mc.zeros { 0, 3, 7 }, draw({ 4, 3, 2 }, 1))
  end)
end)

describe('recursive filters on a device', function()
  local sos = mc.signal.butter(5, { 0.1, 0.3 }, { fs = 2 })
  local b, a = mc.tensor { 0.1, 0.3, 0.3, 0.1 }, mc.tensor { 2, -1.2, 0.7, -0.1 }
  try('run sections and one polynomial, along any axis', function()
    local x = draw({ 3, 70, 2 }, 1)
    for _, axis in ipairs { 2, 1, 3 } do
      agree('sosfilt', function(s, y) return mc.signal.sosfilt(s, y, { axis = axis }) end, sos, x)
      agree('lfilter', function(p, q, y) return mc.signal.lfilter(p, q, y, { axis = axis }) end, b, a, x)
    end
    for _, dtype in ipairs { 'f32', 'f16' } do agree(dtype, mc.signal.sosfilt, sos, draw({ 4, 100 }, 2, dtype)) end
    agree('strided', function(s, y) return mc.signal.sosfilt(s, y['::-1, ::3']) end, sos, draw({ 4, 100 }, 2))
    agree('a design on the host', function(y) return mc.signal.sosfilt(sos, y) end, draw({ 4, 100 }, 2))
    agree('lists', function(y) return mc.signal.lfilter({ 1, 0.5 }, { 1, -0.5 }, y) end, draw({ 100 }, 2))
    agree('long taps', function(y) return mc.signal.lfilter(mc.ones { 200 }, 1, y) end, draw({ 2, 900 }, 2))
  end)
  try('both ways, from a state, and nothing', function()
    agree('sosfiltfilt', mc.signal.sosfiltfilt, sos, draw({ 2, 300 }, 3))
    agree('filtfilt', function(y) return mc.signal.filtfilt(b, a, y) end, draw({ 2, 300 }, 3))
    agree('filtfilt with taps', function(y) return mc.signal.filtfilt(mc.ones { 101 }, 1, y) end, draw({ 2, 900 }, 3))
    agree('gradients', function(c, y)
      local state = mc.ones({ 2, 4 }, { device = y.device })
      local g = mc.grad(function(p, x) return mc.square((recurse(x, p, state))):sum() end, { argnums = { 1, 2 } })(c, y)
      return g[1], g[2]
    end, sos['1:2, :'], draw({ 2, 30 }, 3))
    agree('gradients by sections and samples', function(s, y)
      local function f(p, x) return mc.square((mc.signal.sosfilt(p, x))):sum() end
      local g = mc.grad(f, { argnums = { 1, 2 } })(s, y)
      return g[1], g[2]
    end, sos, draw({ 2, 30 }, 3))
    local c, state = mc.tensor { { 1, 0.5, 1, -0.9 } }, mc.tensor { { 0.5 }, { -1 } }
    agree('backwards', function(y, k, z) return recurse(y, k, z, true) end, draw({ 2, 33 }, 4), c, state)
    agree('no samples', recurse, mc.zeros { 2, 0 }, c, state)
  end)
end)

describe('vector products on a device', function()
  try('broadcast and read strides', function()
    agree('rows', mc.cross, draw({ 40, 3 }, 1), draw({ 40, 3 }, 2))
    agree('f32', mc.cross, draw({ 2, 1, 3 }, 1, 'f32'), draw({ 5, 3 }, 2, 'f32'))
    agree('columns', function(x, y) return mc.cross(x.T, y.T) end, draw({ 3, 7 }, 1), draw({ 3, 7 }, 2))
  end)
end)

describe('random numbers whose key is on a device', function()
  local r = mc.random
  local DRAWS = {
    { r.uniform, { 'f64', 'f32' }, { {}, { low = -3, high = 0.1 } } },
    { r.normal, { 'f64', 'f32' }, { {}, { mean = 5, std = 0.3 } } },
    { r.integers, { 'i64', 'i32', 'i16', 'i8', 'u8' }, { { low = 3, high = 100 }, { low = 7, high = 7 } } },
    { r.integers, { 'i64' }, { { low = -2 ^ 62, high = 2 ^ 62 }, { low = -2 ^ 63, high = 2 ^ 62 } } },
    { r.bernoulli, { 'bool', 'u8', 'i64', 'f64', 'f32' }, { {}, { p = 0.1 }, { p = 1 }, { p = 0 } } },
  }
  --- f of the words of a key, traced so that they are an operand.
  local function drawn(words, f)
    return mc.compile(function(w) return f(r.keys(w)) end)(words)
  end
  local function same(what, f, words)
    local want, got = drawn(words, f), drawn(words:to(name), f)
    assert.equal(name, got.device, what)
    assert.same({ want.dtype, tostring(want.shape) }, { got.dtype, tostring(got.shape) }, what)
    assert.is_true(mc.array_equal(want, got:to 'cpu'), what)
  end
  try('are those of the CPU, bit by bit', function()
    local words = r.key(2 ^ 52 - 3):split(2)[2]:words()
    for i, d in ipairs(DRAWS) do
      for _, dtype in ipairs(d[2]) do
        for k, o in ipairs(d[3]) do
          same(('%d %s %d'):format(i, dtype, k), function(key)
            local given = { 7, 143, key = key, stream = 2 ^ 40 + 1, dtype = dtype }
            for n, v in pairs(o) do given[n] = v end
            return d[1](given)
          end, words)
        end
      end
    end
    same('none', function(key) return r.normal { 0, 3, key = key } end, words)
    same('derived keys', function(key) return key:split(3)[2]:fold_in(9):words() end, words)
  end)
  try('of every other distribution are drawn on the CPU, in compiled functions too', function()
    local P = { beta = { a = 2, b = 3 }, binomial = { n = 10, p = 0.3 }, chisquare = { df = 3 },
      f = { dfn = 3, dfd = 4 },
      gamma = { a = 2 }, geometric = { p = 0.3 }, hypergeometric = { ngood = 5, nbad = 5, nsample = 3 },
      loggamma = { a = 2 }, multinomial = { n = 4, p = { 0.5, 0.2, 0.3 } }, negative_binomial = { n = 3, p = 0.4 },
      pareto = { a = 2 }, poisson = { rate = 2 }, student_t = { df = 3 }, truncated_normal = { low = -1, high = 1 },
      von_mises = { kappa = 1 }, weibull = { a = 2 } }
    local key, n = r.key(11), 0
    local counted = mc.through_host()
    for row in pairs(mc.ops) do
      local what = row:match '^random_(.*)'
      if what and r[what] and mc.ops[row].variant == 'host' then
        n = n + 1
        local f = mc.compile(function(k, x)
          local o = { key = k }
          for p, v in pairs(P[what] or {}) do o[p] = v end
          return r[what]({ 2, 3 }, o) * x
        end)
        local want = f(key, mc.tensor(2))
        for _ = 1, 2 do
          local got = f(key:to(name), mc.tensor(2):to(name))
          assert.same({ name, true }, { got.device, mc.array_equal(want, got:to 'cpu') }, what)
        end
      end
    end
    assert.is_true(n >= 20)
    assert.same(counted, mc.through_host())
    local said = support.message(function()
      mc.compile(function(k) return r.gamma({ 3 }, { a = 2, key = k, device = name }) end)(key)
    end)
    assert.matches('the key is an argument on cpu of a function that is being recorded, and the numbers are wanted on '
      .. name .. '; call the function with key:to "' .. name .. '"', said, 1, true)
  end)
  try('take parameters that are tensors, one key for each row, and numbers to fold in', function()
    local words = r.keys(r.key(4), 5):words()
    local low, rate = mc.arange(1, 7), mc.linspace(0, 1, 5):reshape(5, 1)
    for what, c in pairs {
      rows = { function(w) return mc.vmap(function(v) return r.normal({ 9 }, { key = r.keys(v) }) end)(w) end },
      folded = { function(w, n) return mc.vmap(function(v, i) return r.keys(v):fold_in(i):words() end)(w, n) end,
        mc.arange(0, 4, 1, { dtype = 'i64' }) },
      floats = { function(w, n) return mc.vmap(function(v, i) return r.keys(v):fold_in(i):words() end)(w, n) end,
        mc.arange(0, 4) },
      bounds = { function(w, at)
        return r.integers({ 5, 7 }, { low = -at:to 'i64', high = (at * 3):to 'i64', key = r.keys(w[1]) })
      end, low },
      probabilities = { function(w, p) return r.bernoulli({ 5, 64 }, { p = p, key = r.keys(w[2]) }) end, rate },
      spread = { function(w, at)
        return r.normal({ 5, 7 }, { mean = -at, std = at, key = r.keys(w[3]), dtype = 'f32' })
      end, low },
      range = { function(w, at) return r.uniform({ 5, 7 }, { high = at, key = r.keys(w[1]) }) end, low },
    } do
      local f, x = mc.compile(c[1]), { words, c[2] }
      local want, got = f(unpack(x)), f(unpack(device.moved(x)))
      assert.equal(name, got.device, what)
      assert.is_true(mc.array_equal(want, got:to 'cpu'), what)
    end
  end)
  try('refuse parameters of no distribution where the host waits', function()
    local words = r.key(4):words():to(name)
    local low, half = unpack(device.moved { mc.tensor({ 1, 5, 1 }, { dtype = 'i64' }), mc.tensor(1.5) })
    for _, c in pairs {
      { 'low <= high is needed at flat position 2',
        function(w, t) return r.integers({ 3 }, { low = t, high = 4, key = r.keys(w) }) end, low },
      { '0 <= p <= 1 is needed', function(w, p) return r.bernoulli({ 3 }, { p = p, key = r.keys(w) }) end, half },
      { 'key:fold_in: i is no whole number', function(w, i) return r.keys(w):fold_in(i):words() end, half },
    } do
      local f = mc.compile(c[2])
      assert.matches(c[1], support.message(function() return f(words, c[3]):to 'cpu' end), 1, true)
    end
  end)
end)

describe('points of sequences on a device', function()
  try('have the bits of the CPU', function()
    for _, f in ipairs { mc.random.sobol, mc.random.halton } do
      for _, o in ipairs { { scramble = false, skip = 5 }, { key = 3 }, { key = 3, skip = 2 ^ 40 } } do
        local want = f(33, 7, o)
        o.device = name
        local got = f(33, 7, o)
        assert.equal(name, got.device)
        assert.equal(0, mc.sum(mc.abs(got:to 'cpu' - want)):item())
      end
    end
  end)
end)

describe('systems of equations on a device', function()
  local L = mc.linalg
  local function matrix(shape, seed, dtype)
    local x = draw(shape, seed)
    return dtype == 'c128' and mc.complex(x, draw(shape, seed + 50)) or x:to(dtype)
  end
  for _, dtype in ipairs { 'f64', 'f32', 'c128' } do
    for _, n in ipairs { 1, 5, 32, 70 } do
      try(('of %d rows: %s'):format(n, dtype), function()
        local a = (matrix({ 2, 1, n, n }, n, dtype) + mc.eye(n):to(dtype) * (n / 2 + 1)):to(dtype)
        local b = matrix({ 3, n, 2 }, n + 1, dtype)
        agree('solve', L.solve, a, b)
        agree('solve of a vector', L.solve, a, b[{ 1, mc.all, 1 }])
        agree('inv', L.inv, a)
        agree('triangles', function(x, y)
          local out = {}
          for _, lower in ipairs { false, true } do
            for _, trans in ipairs { 'none', 'transpose', 'adjoint' } do
              out[#out + 1] = L.solve_triangular(x, y, { lower = lower, trans = trans, unit_diagonal = false })
            end
          end
          out[#out + 1] = L.solve_triangular(x / n, y, { lower = true, unit_diagonal = true })
          return unpack(out)
        end, a, b)
        agree('lu_solve', function(x, y)
          local lu, piv = L.lu_factor(x)
          return lu, piv, L.lu_solve(lu, y, piv), L.lu_solve(lu, y, piv, { trans = 'transpose' }),
            L.lu_solve(lu, y, piv, { trans = 'adjoint' })
        end, a, b)
        local p = mc.matmul(a, mc.conj(a.mT))
        agree('cholesky', L.cholesky, p)
        agree('cholesky, upper', L.cholesky, p, { upper = true })
      end)
    end
  end
  for _, dtype in ipairs { 'f64', 'c128' } do
    try('factors and determinants: ' .. dtype, function()
      for i, shape in ipairs { { 1, 1 }, { 40, 70 }, { 70, 40 }, { 2, 3, 35, 35 }, { 2, 0, 0 }, { 3, 2, 0 } } do
        local a = matrix(shape, i, dtype)
        agree('lu', function(x)
          local r = L.lu(x)
          return r.P, r.L, r.U
        end, a)
        for _, mode in ipairs { 'reduced', 'complete', 'r' } do
          agree('qr ' .. mode, function(x)
            local r = L.qr(x, { mode = mode })
            if mode == 'r' then return r end
            return L.qr(x, { mode = mode })
          end, a)
        end
        if shape[#shape] == shape[#shape - 1] then
          agree('det', L.det, a / 6)
          agree('slogdet', L.slogdet, a)
        end
      end
    end)
  end
  try('factors of columns of zeros, products past the range', function()
    local a = mc.zeros({ 4, 3 })
    a[{ mc.all, 2 }] = mc.tensor { 3, 0, 0, 4 }
    agree('qr', L.qr, a)
    local sign, size = L.slogdet(mc.zeros({ 2, 3, 3 }, { device = name }))
    assert.same({ { 0, 0 }, { -math.huge, -math.huge } }, { sign:totable(), size:totable() })
    agree('det', L.det, mc.diag(mc.concat({ mc.full({ 100 }, 1e10), mc.full({ 100 }, 1e-10) }, 1)))
    agree('det', L.det, mc.eye(2) * 1e-200)
    local big = draw({ 6, 4 }, 1)
    for _, f in ipairs { 1e300, 1e-300 } do
      local R = L.qr((big * f):to(name), { mode = 'r' }):to 'cpu' / f
      assert.is_true(mc.allclose(R, L.qr(big, { mode = 'r' }), { rtol = 1e-12, atol = 1e-12 }))
    end
  end)
  try('with pivots, of any shape', function()
    for _, shape in ipairs { { 40, 70 }, { 70, 40 }, { 3, 2, 2 }, { 2, 0, 0 } } do
      agree('lu_factor', L.lu_factor, draw(shape, 5))
    end
    agree('exchanges', L.solve, mc.flip(mc.eye(50), 1) + draw({ 50, 50 }, 1) * 0.01, draw({ 50, 1 }, 2))
  end)
  try('say which matrix has no answer', function()
    local a = mc.eye(3):reshape(1, 3, 3) * mc.tensor { 1, 0, 2 }:reshape(3, 1, 1)
    for _, f in ipairs {
      function(x) return L.solve(x, mc.ones({ 3, 3, 1 }, { device = x.device })) end, L.inv, L.cholesky,
      function(x) return L.solve_triangular(x, mc.ones({ 3, 3, 1 }, { device = x.device })) end,
    } do
      local ok, message = pcall(function() return f(a:to(name)):to 'cpu' end)
      assert.is_false(ok)
      assert.matches('a matrix is .* at flat position 2', tostring(message))
    end
    local ok, message = pcall(L.qr, a:to(name), { pivoting = true })
    assert.is_false(ok)
    assert.matches('has no form for', tostring(message))
  end)
end)
