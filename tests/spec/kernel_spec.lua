-- kernel_spec.lua - functions of one's own: they give what the ops give, follow their rules, and name the line of a
-- mistake.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local tol = support.load 'tol'
local compiler = require 'mascon.compile.native.compiler'

local available = compiler.find() ~= nil
local function it_native(name, f)
  it(name, function()
    if not available then return pending('no C compiler here') end
    f()
  end)
end

local function exact(want, got)
  assert.equal(want.dtype, got.dtype)
  assert.equal(tostring(want.shape), tostring(got.shape))
  assert.truthy(mc.array_equal(want, got))
end

--- Sums of n terms whose magnitudes add up to about `scale` (the largest result when absent: terms of one sign).
local near
function near(want, got, n, scale)
  assert.equal(want.dtype, got.dtype)
  assert.equal(tostring(want.shape), tostring(got.shape))
  if want.dtype:sub(1, 1) == 'c' then
    near(mc.real(want), mc.real(got), n, scale)
    return near(mc.imag(want), mc.imag(got), n, scale)
  end
  local w, g = want:reshape(-1):totable(), got:reshape(-1):totable()
  for i = 1, #w do
    assert.is_nil(tol.compare('ACCUM', want.dtype, g[i], w[i], { n = n, scale = scale or math.abs(w[i]) }))
  end
end

local function refuses(text, f)
  local message = support.message(f)
  assert.truthy(message:find(text, 1, true), message)
end

describe('mc.kernel', function()
  it('says that there is no +=', function()
    local k = { inputs = { 'x' }, state = { 'acc' }, init = 'acc = 0;', step = 'acc += x;',
      combine = 'acc = acc + acc_b;', finish = 'out = acc;' }
    local ok, why = pcall(mc.kernel, k)
    assert.is_false(ok)
    assert.matches('there is no %+=, write the whole assignment, as in a = a %+ b', why)
    k.step = 'acc = acc +'
    ok, why = pcall(mc.kernel, k)
    assert.is_false(ok)
    assert.is_nil(why:find('there is no', 1, true))
  end)
end)

describe('an elementwise kernel', function()
  local x, y = mc.randn { 30, 7, seed = 1 }, mc.randn { 7, seed = 2 }

  it('is its formula, with the dtypes and broadcasting of the ops, in every tier', function()
    for _, tier in ipairs { 'eager', 'vm', available and 'native' or 'vm' } do
      local k = mc.kernel { name = 'k', inputs = { 'x', 'y', 's' }, tier = tier,
        body = 'exp(-x * x) * s + (x > y && y != 0 ? hypot(x, y) : -y)' }
      for _, dtype in ipairs { 'f64', 'f32' } do
        local a, b = x:to(dtype), y:to(dtype)
        local want = mc.exp(-a * a) * 2 + mc.where(mc.logical_and(mc.gt(a, b), mc.ne(b, 0)), mc.hypot(a, b), -b)
        for _ = 1, 3 do exact(want, k(a, b, 2)) end
      end
    end
    exact(mc.tensor({ 3, 8 }, { dtype = 'i64' }), mc.kernel { inputs = { 'a', 'b' },
      body = 'a * b + 1' }(mc.tensor({ 1, 7 }, { dtype = 'i64' }), mc.tensor({ 2, 1 }, { dtype = 'i64' })))
  end)

  it('has steps, several results, dtypes and conversions, comments', function()
    local k = mc.kernel { inputs = { 'x f32', 'y' }, outputs = { 'd', 'big bool', 'whole' }, body = [[
      // what they are apart
      e = x - y; /* two
      lines */ d = e * e;
      big = d >= 1 || !(d > 0); whole = i32(d) ]] }
    local d, big, whole = k(x, y)
    local e = x:to 'f32' - y
    exact(e * e, d)
    exact(mc.logical_or(mc.ge(e * e, 1), mc.logical_not(mc.gt(e * e, 0))), big)
    exact((e * e):to 'i32', whole)
  end)

  it('takes part in compiled functions, derivatives and maps', function()
    local k = mc.kernel { inputs = { 'a', 'x' }, body = 'a * x * x' }
    exact((3 * x * x):sum(), mc.compile(function(t) return k(3, t):sum() end)(x))
    exact(x * 6, mc.grad(function(t) return k(3, t):sum() end)(x))
    exact(x * x * 2, mc.vmap(function(t) return k(2, t) end)(x))
  end)

  it('names the line of a mistake', function()
    refuses('kernel bad: line 2: unexpected + in a + +',
      function() mc.kernel { name = 'bad', inputs = { 'x' }, body = 'a = x;\nout = a + + ;' } end)
    refuses('kernel bad: line 3: there is no elementwise function expp; did you mean exp?',
      function() mc.kernel { name = 'bad', inputs = { 'x' }, body = 'a = x;\n\nout = expp(a)' } end)
    refuses('kernel bad: line 1: xx is not defined; did you mean x?',
      function() mc.kernel { name = 'bad', inputs = { 'x' }, body = 'out = xx' } end)
    refuses('kernel bad: line 1: hypot takes 2 operands and is given 1',
      function() mc.kernel { name = 'bad', inputs = { 'x' }, body = 'hypot(x)' } end)
    refuses('kernel bad: line 1: out is never assigned',
      function() mc.kernel { name = 'bad', inputs = { 'x' }, body = 'y = x' } end)
    refuses('kernel bad: line 2: bitwise_invert: not defined for f64', function()
      mc.kernel { name = 'bad', inputs = { 'x' }, body = 'a = x;\nout = bitwise_invert(a)' }(mc.ones { 2 })
    end)
  end)
end)

describe('a reduction of one\'s own', function()
  local SQUARES = { name = 'rss', inputs = { 'x' }, init = 'acc = 0', step = 'acc + x * x', combine = 'acc + acc_b',
    finish = 'sqrt(acc)' }
  local VARIANCE = { name = 'variance', inputs = { 'x' }, state = { 'n', 'mean', 'm2' },
    init = 'n = 0; mean = 0; m2 = 0',
    step = 'n = n + 1; d = x - mean; mean = mean + d / n; m2 = m2 + d * (x - mean)', finish = 'm2 / n',
    combine = 't = n + n_b; d = mean_b - mean; mean = t > 0 ? mean + d * n_b / t : 0; m2 = t > 0 ? m2 + m2_b + d * d * '
      .. 'n * n_b / t : 0; n = t' }

  it_native('runs over all, one or several axes, for every length and layout', function()
    local norm, variance = mc.kernel(SQUARES), mc.kernel(VARIANCE)
    for _, shape in ipairs { { 1, 1 }, { 5, 7 }, { 3, 40000 }, { 300, 9 }, { 0, 3 }, { 3, 0 } } do
      local x = mc.randn { shape[1], shape[2], seed = 1 }
      near(mc.sqrt((x * x):sum()), norm(x), 200)
      near(mc.sqrt((x * x):sum(2)), norm(x, { axis = 2 }), 200)
      near(mc.sqrt((x * x):sum { 1, keepdim = true }), norm(x, { axis = -2, keepdim = true }), 200)
      if shape[1] * shape[2] > 1 then near(x:var(), variance(x), 200) end
    end
    local t = mc.randn { 4, 5, 6, seed = 2 }
    near(mc.sqrt((t * t):sum { 1, 3 }), norm(t, { axis = { 1, 3 } }), 200)
    near(mc.sqrt((t * t):sum { 1, 3 }), norm(t:permute_dims { 3, 2, 1 }, { axis = { 3, 1 } }), 200)
    near(t:to('f32'):var(), variance(t:to 'f32'), 200)
    near(mc.tensor(8.25), variance(mc.arange(1, 10, { dtype = 'i32' })), 10)
  end)

  it_native('takes several operands, complex ones, and a state of another dtype', function()
    local dot = mc.kernel { inputs = { 'a', 'b' }, init = 'acc = 0', step = 'acc + a * b', combine = 'acc + acc_b' }
    local a, b = mc.randn { 50, 3, seed = 1 }, mc.randn { 3, seed = 2 }
    near((a * b):sum(), dot(a, b), 150, mc.abs(a * b):sum():item())
    local z = mc.randn { 40, seed = 3 }:to 'c128'
    near((z * z):sum(), dot(z, z), 40, mc.abs(z * z):sum():item())
    local count = mc.kernel { inputs = { 'x' }, outputs = { 'n i64' }, dtype = 'i64', init = 'acc = 0',
      step = 'acc + (x > 2 ? 1 : 0)', combine = 'acc + acc_b' }
    exact(mc.tensor(3, { dtype = 'i64' }), count(mc.tensor({ 1, 3, 4, 5, 0 }, { dtype = 'i64' })))
    refuses('operands are complex (c128) and the state is kept in f64; choose dtype = "c128"', function()
      mc.kernel { inputs = { 'a' }, dtype = 'f64', init = 'acc = 0', step = 'acc + a', combine = 'acc + acc_b' }(z)
    end)
  end)

  it_native('gives the same bits for every number of threads', function()
    local norm, x = mc.kernel(SQUARES), mc.randn { 200000, seed = 5, dtype = 'f32' }
    local before = mc.get_num_threads()
    local want = norm(x)
    for _, n in ipairs { 1, 3 } do
      mc.set_num_threads(n)
      exact(want, norm(x))
    end
    mc.set_num_threads(before)
  end)

  it_native('takes part in compiled functions, maps and custom derivatives', function()
    local norm, x = mc.kernel(SQUARES), mc.randn { 4, 5, 6, seed = 7 }
    local f = mc.compile(function(t) return norm(t * 2, { axis = { 1, 3 } }) + 1 end)
    local want = norm(x * 2, { axis = { 1, 3 } }) + 1
    for _ = 1, 3 do exact(want, f(x)) end
    exact(norm(x, { axis = { 2, 3 } }), mc.vmap(function(t) return norm(t) end)(x))
    exact(norm(x, { axis = { 1, 2 } }), mc.vmap(function(t) return norm(t) end, { in_axes = 3 })(x))
    local dot = mc.kernel { inputs = { 'a', 'b' }, init = 'acc = 0', step = 'acc + a * b', combine = 'acc + acc_b' }
    local y = mc.randn { 5, seed = 8 }
    exact(dot(x[{ 1, {}, 1 }], y), mc.vmap(function(t) return dot(t, y) end)(x[{ {}, {}, 1 }])[1])
    local smooth = mc.custom_vjp(function(t) return norm(t) end,
      { forward = function(t) return norm(t), t end, backward = function(t, g) return g * t / norm(t) end })
    near(x / norm(x), mc.grad(smooth)(x), 200)
    exact(norm(x), mc.kernel(SQUARES)(x)) -- the same text is the same op
  end)

  it_native('refuses what it cannot do', function()
    local norm = mc.kernel(SQUARES)
    refuses('kernel rss: axis 3 is not in 1..2 of f64[2,2]', function() norm(mc.ones { 2, 2 }, { axis = 3 }) end)
    refuses('has no derivative: it is a reduction of your own; give its derivative with custom_vjp', function()
      mc.grad(function(x) return norm(x) end)(mc.ones { 3 })
    end)
    refuses('kernel bad, combine: line 1: acc_c is not defined; did you mean acc_b?', function()
      mc.kernel { name = 'bad', inputs = { 'x' }, init = 'acc = 0', step = 'acc + x', combine = 'acc + acc_c' }
    end)
    refuses('kernel bad, step: line 1: erf is not defined for c128', function()
      mc.kernel { name = 'bad', inputs = { 'x' }, init = 'acc = 0', step = 'acc + erf(x)',
        combine = 'acc + acc_b' }(mc.ones({ 3 }, { dtype = 'c64' }))
    end)
  end)
end)

describe('a kernel of plain C', function()
  local DIFF = { name = 'diff', inputs = { 'x f64' }, outputs = { 'y f64' }, values = { 'k' }, shape = function(x)
    return { x.shape[1] - 1 }
  end,
    c = 'for (int64_t i = first; i < last; i++)\n    y[i] = k * (x[i + 1] - x[i]);' }

  it_native('runs over its range in pieces', function()
    local diff, x = mc.kernel(DIFF), mc.randn { 300000, seed = 1 }
    exact((x['2:'] - x['1:-2']) * 2, diff(x, 2))
    local function shape(a) return { a.shape[1] } end
    local rows = mc.kernel { inputs = { 'a f32' }, outputs = { 's f32' }, grain = 3, shape = shape, c = [[
      const int64_t n = a_shape[1];
      for (int64_t i = first; i < last; i++) {
          double sum = 0;
          for (int64_t j = 0; j < n; j++)
              sum += a[i * n + j];
          s[i] = (float)sum;
      }]] }
    local headed = mc.kernel { inputs = { 'a f64' }, outputs = { 's f64' },
      head = 'static double twice(double v) { return 2 * v; }',
      c = 'for (int64_t i = first; i < last; i++) s[i] = twice(a[i]);' }
    exact(mc.tensor { 2, 4 }, headed(mc.tensor { 1, 2 }))
    near(mc.ones({ 50 }, { dtype = 'f32' }) * 9, rows(mc.ones({ 9, 50 }, { dtype = 'f32' }).T), 9)
  end)

  local function difference(t) return (t['2:'] - t['1:-2']) end
  local SCALE = { name = 'scale', inputs = { 'x f64' }, outputs = { 'y f64' }, values = { 'k' },
    doc = 'k times the\nsquare.', c = 'for (int64_t i = first; i < last; i++)\n    y[i] = k * x[i] * x[i];',
    vjp = function(g, _, x, k) return g * x * 2 * k, mc.sum(g * mc.square(x)) end }

  it_native('takes part in compiled functions, with numbers that change', function()
    local diff, x = mc.kernel(DIFF), mc.randn { 40, seed = 2 }
    local f = mc.compile(function(t, k) return diff(t + 1, k) * 3 end)
    for k = 1, 4 do exact(difference(x + 1) * k * 3, f(x, k)) end
    exact(difference(x['1:9'] + 1) * 2 * 3, f(x['1:9'], 2)) -- another size
    exact(difference(x:flip() + 1) * 2 * 3, f(x['::-1'], 2))
  end)

  it_native('takes part in maps: leading axes are copies', function()
    local diff, x, k = mc.kernel(DIFF), mc.randn { 3, 4, 7, seed = 3 }, mc.tensor { 1, 2, 3 }
    local want = (x[{ {}, {}, { 2, 7 } }] - x[{ {}, {}, { 1, 6 } }])
    local one = function(t) return diff(t, 1) end
    exact(want, mc.vmap(mc.vmap(one))(x))
    exact(want:permute_dims(2, 1, 3), mc.vmap(mc.vmap(one), { in_axes = 2 })(x))
    exact(want[{ {}, 1, {} }] * k:reshape(3, 1), mc.vmap(diff)(x[{ {}, 1, {} }], k))
    exact(want[{ 1, 1, {} }] * k:reshape(3, 1), mc.vmap(diff, { in_axes = { false, 1 } })(x[{ 1, 1, {} }], k))
    local many = mc.compile(mc.vmap(one))
    for _ = 1, 3 do exact(want[{ 2, {}, {} }], many(x[2])) end
    assert.equal('{0, 6}', tostring(mc.vmap(one)(mc.zeros { 0, 7 }).shape))
    refuses('kernel diff: size 1 of a shape is -1; give up to 8 whole numbers', function() one(mc.zeros { 0 }) end)
  end)

  it_native('has the derivative that it is given', function()
    local scale, x = mc.kernel(SCALE), mc.randn { 5, seed = 4 }
    local function plain(t, k) return t * t * k end
    local function loss(f) return function(t, k) return mc.sum(mc.sin(f(t, k))) end end
    local function of(f, i) return mc.grad(loss(f), { argnums = i })(x, mc.tensor(3)) end
    for i = 1, 2 do near(of(plain, i), of(scale, i), 100, 50) end
    local rows = mc.randn { 3, 5, seed = 5 }
    local function each(f) return mc.vmap(mc.grad(function(t) return mc.sum(f(t, 2)) end))(rows) end
    near(each(plain), each(scale), 100, 50)
    refuses('kernel diff has no derivative: it is C of your own; give its derivative as vjp', function()
      mc.grad(function(t) return mc.sum(mc.kernel(DIFF)(t, 1)) end)(x)
    end)
    refuses('kernel k: vjp belongs to plain C', function()
      mc.kernel { name = 'k', inputs = { 'x' }, body = 'x', vjp = print }
    end)
  end)

  it_native('gives several results of their own shapes, and runs where its operands are', function()
    local fold = mc.kernel { name = 'fold', inputs = { 'x f64', 'w f32' }, outputs = { 'twice f64', 'count i64' },
      range = function() return 1 end, shape = function(x) return { { 2, x.shape[1] }, { 1 } } end, c = [=[
        for (int64_t i = 0; i < 2 * x_shape[0]; i++)
            twice[i] = x[i % x_shape[0]] * w[0];
        count[0] = x_shape[0];]=] }
    local x, w = mc.tensor { 1, 2, 3 }, mc.tensor({ 2 }, { dtype = 'f32' })
    for _, device in ipairs { 'cpu', 'ref' } do
      local twice, count = fold(x:to(device), w:to(device))
      assert.equal(device == 'cpu' and 'cpu' or 'ref:0', twice.device)
      exact(mc.tensor { { 2, 4, 6 }, { 2, 4, 6 } }, twice:to 'cpu')
      exact(mc.tensor({ 3 }, { dtype = 'i64' }), count:to 'cpu')
    end
    local here, there = mc.kernel(DIFF), mc.compile(function(t) return mc.kernel(DIFF)(t, 2) + 1 end)
    for _ = 1, 3 do exact(here(x, 2) + 1, there(x:to 'ref'):to 'cpu') end
  end)

  it_native('is one op for equal texts, the same for any threads, and described by help', function()
    local op = require 'mascon.core.op'
    local x, count = mc.randn { 200000, seed = 6 }, 0
    local want, before = mc.kernel(DIFF)(x, 2), mc.get_num_threads()
    for n = 1, 3, 2 do
      mc.set_num_threads(n)
      exact(want, mc.kernel(DIFF)(x, 2))
    end
    mc.set_num_threads(before)
    for name in pairs(op.rows) do if name:find '^kernel diff' then count = count + 1 end end
    assert.equal(1, count)
    assert.equal('scale(x, k)\n  k times the\n  square.\n  plain C; outputs: y f64\n', mc.help.show(mc.kernel(SCALE)))
  end)

  it_native('names the line of a mistake, and operands that do not fit', function()
    refuses('kernel oops: line 2: error: ', function()
      mc.kernel { name = 'oops', inputs = { 'x f64' }, outputs = { 'y f64' },
        c = '// first\ny[first] = xx[first];' }(mc.ones { 3 })
    end)
    refuses("kernel diff: operand x is f32[3] and is declared f64; convert it with :to('f64')",
      function() mc.kernel(DIFF)(mc.ones({ 3 }, { dtype = 'f32' }), 1) end)
    refuses('kernel diff: value k is a table; give a number', function() mc.kernel(DIFF)(mc.ones { 3 }, {}) end)
    refuses("kernel c: input x has no dtype; plain C needs one, as in 'x f32'",
      function() mc.kernel { name = 'c', inputs = { 'x' }, c = '' } end)
  end)
end)

describe('mc.kernel', function()
  it('checks its fields', function()
    refuses('give one of body (elementwise), step with init and combine (reduction), c (plain C), launch',
      function() mc.kernel { inputs = { 'x' } } end)
    refuses("kernel k: inputs are nil; give a list of names", function() mc.kernel { name = 'k', body = 'x' } end)
    refuses('x stands twice in inputs', function() mc.kernel { inputs = { 'x', 'x' }, body = 'x' } end)
    refuses('dtype \'f31\' is unknown', function() mc.kernel { inputs = { 'x f31' }, body = 'x' } end)
    refuses('option "bdy" is unknown; did you mean "body"?', function() mc.kernel { inputs = { 'x' }, bdy = 'x' } end)
    refuses('kernel k: head belongs to launch and to plain C',
      function() mc.kernel { name = 'k', inputs = { 'x' }, body = 'x', head = 'int a;' } end)
    local k = mc.kernel { name = 'axpy', inputs = { 'a', 'x', 'y' }, body = 'a * x + y' }
    assert.equal('kernel axpy(a, x, y)', tostring(k))
    refuses('kernel axpy: takes 3 operands (a, x, y) and is given 2', function() k(1, 2) end)
    refuses("kernel axpy: operand y is 'b'; give a tensor or a number", function() k(1, 2, 'b') end)
  end)
end)
