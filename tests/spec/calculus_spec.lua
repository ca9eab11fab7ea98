-- calculus_spec.lua - laws and messages of differences, integrals, interpolation, polynomials, cosine transforms,
-- chirp-z (golden answers: cases_spec).
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local ffi_lib = require 'mascon.core.ffi'
local sample, tol = support.load 'sample', support.load 'tol'
local read = sample.read

local FIRST = tonumber(os.getenv 'MASCON_TEST_SEED' or '') or 20261122
local ROUNDS = os.getenv 'MASCON_TEST_SEED' and 1 or support.gc and 3 or 15

local function law(name, f)
  it(name, function()
    for k = 0, ROUNDS - 1 do
      local seed = FIRST + k
      local stream = sample.stream(seed)
      local function draw(lo, hi) return lo + math.floor(stream() * (hi - lo + 1)) end
      local ok, e = pcall(f, draw, seed)
      if not ok then error(('seed %d: %s'):format(seed, tostring(e)), 0) end
    end
  end)
end

local function close(class, a, b, more)
  assert(tostring(a.shape) == tostring(b.shape), 'shapes ' .. tostring(a.shape) .. ' and ' .. tostring(b.shape))
  local x, y = read(a), read(b)
  for i = 1, #y do
    local wrong = tol.compare(class, b.dtype, x[i], y[i], more)
    if wrong then error(('element %d: %s'):format(i, wrong), 0) end
  end
end
local function equal(a, b) assert.is_true(mc.array_equal(a, b)) end
local function fails(text, f, ...)
  local ok, message = pcall(f, ...)
  assert.is_false(ok)
  assert.is_truthy(message:find(text, 1, true), message)
end
local function largest(x) return x:numel() > 0 and mc.abs(x):max():item() or 0 end
local function l1(x) return mc.abs(x):sum():item() end

describe('differences and integrals', function()
  law('undo each other', function(draw)
    local m = draw(2, 40)
    local x = mc.randint(-50, 50, { draw(1, 4), m }, { seed = draw(1, 1e6) })
    equal(x, mc.diff(mc.concat({ mc.zeros({ x.shape[1], 1 }, { dtype = 'i64' }), mc.cumsum(x, 2) }, 2)))
    equal(mc.diff(mc.diff(x)), mc.diff(x, { n = 2 }))
    local y = x:to 'f64'
    close('ACCUM', mc.cumulative_trapezoid(y, { dx = 0.5 })[{ mc.all, m - 1 }], mc.trapezoid(y, { dx = 0.5 }),
      { n = m, scale = l1(y) })
    close('ACCUM', mc.diff(mc.cumulative_trapezoid(y, { initial = 0 })), (y['..., 2:'] + y['..., :-2']) * 0.5,
      { n = m, scale = l1(y) })
  end)

  law('are exact for polynomials up to their order, also at uneven positions', function(draw)
    local m = 2 * draw(1, 10) + 1
    local x = mc.cumsum(mc.rand({ m }, { seed = draw(1, 1e6), low = 0.5, high = 1.5 }))
    local p = mc.randn({ 3 }, { seed = draw(1, 1e6) })
    local size = mc.polyval(mc.abs(p), x):sum():item() * 40
    local function integral(q) return mc.polyval(q, x[m]) - mc.polyval(q, x[1]) end
    close('ACCUM', mc.simpson(mc.polyval(p, x), x), integral(mc.polyint(p)), { n = m, scale = size })
    close('ACCUM', mc.cumulative_simpson(mc.polyval(p, x), x)[m - 1], integral(mc.polyint(p)), { n = m, scale = size })
    close('ACCUM', mc.trapezoid(mc.polyval(p['2:'], x), x), integral(mc.polyint(p['2:'])), { n = m, scale = size })
    close('ACCUM', mc.gradient(mc.polyval(p, x), { spacing = x, edge_order = 2 }), mc.polyval(mc.polyder(p), x),
      { n = m, scale = size })
  end)

  law('are linear in the samples and the same along any axis', function(draw)
    local x = mc.randn({ draw(2, 6), draw(3, 7) }, { seed = draw(1, 1e6) })
    for _, name in ipairs { 'trapezoid', 'simpson', 'cumulative_trapezoid', 'cumulative_simpson' } do
      local f = mc[name]
      local along, across = f(x.T, { axis = 1 }), f(x)
      equal(along.ndim == 2 and along.T or along, across)
      close('ACCUM', f(x * 3), f(x) * 3, { n = 8, scale = 3 * l1(x) })
    end
    equal(mc.gradient(x, { axis = 1 }), mc.gradient(x.T, { axis = 2 }).T)
  end)

  law('a phase that was wrapped comes back', function(draw)
    local steps = mc.rand({ 3, draw(2, 50) }, { seed = draw(1, 1e6), low = -3, high = 3 })
    local phase = mc.cumsum(steps, 2)
    local wrapped = mc.remainder(phase + math.pi, 2 * math.pi) - math.pi
    local back = mc.unwrap(wrapped)
    close('ACCUM', mc.diff(back), mc.diff(phase), { n = 50, scale = 200 })
  end)

  it('explain what does not fit', function()
    local x = mc.zeros { 2, 3 }
    fails('gradient: axis 1 of f64[2,3]@cpu has 2 samples; edge_order 2 needs 3', mc.gradient, x, { edge_order = 2 })
    fails('gradient: spacing of axis 2 is f64[2]@cpu; give a number or its 3 positions', mc.gradient, x,
      { axis = 2, spacing = mc.zeros { 2 } })
    fails('trapezoid: positions are f64[2]@cpu for samples f64[2,3]@cpu; the sizes on the axis differ', mc.trapezoid,
      x, mc.zeros { 2 })
    fails('simpson: samples are f64[2,0]@cpu; the axis is empty', mc.simpson, mc.zeros { 2, 0 })
    fails('romb: samples are f64[2,4]@cpu; the axis must have 2^k + 1 of them', mc.romb, mc.zeros { 2, 4 })
    fails('unwrap: operand is c128[1]@cpu; give real phases', mc.unwrap, mc.zeros({ 1 }, { dtype = 'c128' }))
    fails('option n is -1', mc.diff, x, { n = -1 })
    fails('diff: axis 3 is outside f64[2,3]@cpu', mc.diff, x, 3)
    fails('geomspace: ends are -1 and 1', mc.geomspace, -1, 1)
    fails('unravel_index: position 7 is outside 6 elements; positions run from 1 to 6', mc.unravel_index, 7, { 2, 3 })
    fails('ravel_multi_index: 1 lists of positions for a shape of 2 axes', mc.ravel_multi_index, { 1 }, { 2, 3 })
    fails('meshgrid: operand 1 is f64[2,3]@cpu; give vectors', mc.meshgrid, x)
  end)
end)

describe('interpolation', function()
  law('goes through its samples', function(draw)
    local k = draw(3, 12)
    local x = mc.cumsum(mc.rand({ k }, { seed = draw(1, 1e6), low = 0.5, high = 1.5 }))
    local y = mc.randn({ k }, { seed = draw(1, 1e6) })
    local size = { n = k, scale = 16 * largest(y) }
    equal(y, mc.interp(x, x, y))
    for _, kind in ipairs { 'linear', 'nearest', 'previous', 'next', 'cubic', 'pchip', 'akima', 'makima' } do
      close('ACCUM', mc.interpolate.interp1d(x, y, x, { kind = kind }), y, size)
    end
  end)

  law('of cubics by the spline is exact, and its integral and derivatives agree', function(draw)
    local k = draw(4, 12)
    local x = mc.cumsum(mc.rand({ k }, { seed = draw(1, 1e6), low = 0.5, high = 1.5 }))
    local p = mc.randn({ 4 }, { seed = draw(1, 1e6) })
    local s = mc.interpolate.cubic_spline(x, mc.polyval(p, x))
    local q = mc.rand({ 20 }, { seed = draw(1, 1e6), low = x[1]:item(), high = x[k]:item() })
    local size = { n = 64, scale = 64 * mc.polyval(mc.abs(p), x[k] + 2):item() }
    close('ACCUM', s(q), mc.polyval(p, q), size)
    close('ACCUM', s(q, { derivative = 1 }), mc.polyval(mc.polyder(p), q), size)
    close('ACCUM', s:derivative(2)(q), mc.polyval(mc.polyder(p, 2), q), size)
    local whole = mc.polyint(p)
    close('ACCUM', s:integrate(q[1], q[2]), mc.polyval(whole, q[2]) - mc.polyval(whole, q[1]),
      { n = 64, scale = size.scale * 20 })
    close('ACCUM', s:antiderivative():derivative()(q), s(q), size)
  end)

  law('by pchip does not overshoot', function(draw)
    local k = draw(3, 12)
    local x, y = mc.arange(1, k), mc.sort(mc.randn({ k }, { seed = draw(1, 1e6) }))
    local v = mc.interpolate.interp1d(x, y, mc.linspace(1, k, 200), { kind = 'pchip' })
    assert.is_true(mc.all(mc.ge(mc.diff(v), -1e-12)))
  end)

  law('of the queries of any layout, order and number of threads gives the same bits', function(draw)
    local x, y = mc.arange(1, 50), mc.randn({ 50 }, { seed = draw(1, 1e6) })
    local q = mc.rand({ 20000 }, { seed = draw(1, 1e6), low = -1, high = 52 })
    local want = mc.interp(q, x, y)
    local order = mc.argsort(q)
    equal(want:take(order), mc.interp(q:take(order), x, y))
    local threads = mc.get_num_threads()
    mc.set_num_threads(threads == 1 and 2 or 1)
    equal(want, mc.interp(q, x, y))
    mc.set_num_threads(threads)
    equal(want:reshape(200, 100).T, mc.interp(q:reshape(200, 100).T, x, y))
    mc.interp(q, x, y, { out = q })
    equal(want, q)
  end)

  it('marks what is outside and what is no number', function()
    local x, y, nan = mc.tensor { 1, 2, 3 }, mc.tensor { 10, 20, 40 }, 0 / 0
    local at = mc.tensor { 0, 1.5, nan, 9 }
    local out = mc.interpolate.interp1d(x, y, at, { fill_value = { -1, -2 } }):totable()
    assert.same({ -1, 15 }, { out[1], out[2] })
    assert.is_true(out[3] ~= out[3] and out[4] == -2)
    for _, kind in ipairs { 'nearest', 'previous', 'next' } do
      local v = mc.interpolate.interp1d(x, y, at, { kind = kind, fill_value = 7 }):totable()
      assert.is_true(v[1] == 7 and v[3] ~= v[3] and v[4] == 7)
    end
    local s = mc.interpolate.cubic_spline(x, y, { extrapolate = false })
    assert.is_true(s(0):item() ~= s(0):item())
    assert.equal(70, mc.interpolate.cubic_spline(x, y)(4):item())
    local ring = mc.interpolate.cubic_spline(mc.tensor { 0, 1, 2, 3 }, mc.tensor { 0, 1, 5, 0 }, { bc = 'periodic' })
    assert.is_true(mc.allclose(ring(4), ring(1)) and mc.allclose(ring(-2), ring(1)))
    local g = mc.interpolate.regular_grid({ x }, y, mc.tensor { { nan }, { 2 } })
    assert.is_true(g[1]:item() ~= g[1]:item() and g[2]:item() == 20)
  end)

  it('keeps the dtype of the samples and the axes in their places', function()
    local x = mc.tensor { 1, 2, 3 }
    for _, dtype in ipairs { 'f16', 'bf16', 'f32', 'f64' } do
      local y = mc.ones({ 2, 3, 4 }, { dtype = dtype })
      for _, kind in ipairs { 'linear', 'nearest', 'cubic', 'pchip' } do
        local v = mc.interpolate.interp1d(x, y, mc.full({ 5, 6 }, 1.5), { kind = kind, axis = 2 })
        assert.equal(dtype, v.dtype)
        assert.equal('{2, 5, 6, 4}', tostring(v.shape))
        equal(mc.ones({ 2, 5, 6, 4 }, { dtype = dtype }), v)
      end
      assert.equal(dtype, mc.interp(mc.ones({ 2 }, { dtype = dtype }), x:to(dtype), x:to(dtype)).dtype)
    end
    assert.equal('f64', mc.interp(mc.tensor({ 1 }, { dtype = 'i32' }), x, x).dtype)
  end)

  it('explains what does not fit', function()
    local I, x = mc.interpolate, mc.tensor { 1, 2, 3 }
    fails('interp: knots f64[3]@cpu do not ascend; sort them first', mc.interp, 1, -x, x)
    fails('interp: values are f64[2]@cpu for knots f64[3]@cpu; give one value per knot', mc.interp, 1, x, x['2:'])
    fails('interp: knots are f64[0]@cpu; give one axis with at least one', mc.interp, 1, mc.zeros { 0 }, mc.zeros { 0 })
    fails('interp: period is 0', mc.interp, 1, x, x, { period = 0 })
    fails('ppoly: values are f64[2]@cpu for knots f64[3]@cpu; give coefficients [c, knots - 1, ...]', I.ppoly, 1,
      x, mc.zeros { 2 })
    fails('ppoly: knots f64[2]@cpu do not ascend strictly', I.ppoly, 1, mc.zeros { 2 }, mc.zeros { 1, 1 })
    fails('tridiagonal: bands are f64[2,3]@cpu and right sides f64[3]@cpu; give [3, n] and [n, ...]', I.tridiagonal,
      mc.zeros { 2, 3 }, x)
    fails('tridiagonal: a pivot of bands f64[3,3]@cpu is zero', I.tridiagonal, mc.zeros { 3, 3 }, x)
    fails('interpolate.interp1d: places outside [1, 3]', I.interp1d, x, x, 4)
    fails('interpolate.interp1d: positions f64[3]@cpu do not ascend strictly', I.interp1d, -x, x, 1)
    fails('interpolate.interp1d: samples are f64[2]@cpu at f64[3]@cpu; the sizes on the axis differ', I.interp1d, x,
      mc.zeros { 2 }, 1)
    fails('did you mean "nearest"', I.interp1d, x, x, 1, { kind = 'nearst' })
    fails('interpolate.cubic_spline: option bc is ', I.cubic_spline, x, x, { bc = 'naturel' })
    fails('first and last samples differ', I.cubic_spline, x, x, { bc = 'periodic' })
    fails('a periodic spline is periodic at both ends', I.cubic_spline, x, x, { bc = { 'periodic', 'natural' } })
    fails('interpolate.regular_grid: places are f64[3]@cpu for 2 axes', I.regular_grid, { x, x }, mc.zeros { 3, 3 }, x)
    fails('interpolate.regular_grid: places outside the grid', I.regular_grid, { x }, x, mc.tensor { { 9 } })
    fails('interpolate.regular_grid: points of axis 1 are f64[3]@cpu for values f64[2]@cpu', I.regular_grid, { x },
      mc.zeros { 2 }, mc.tensor { { 1 } })
  end)
end)

describe('polynomials', function()
  law('multiply, divide and derive as numbers do', function(draw)
    local a = mc.randint(-5, 5, { draw(1, 6) }, { seed = draw(1, 1e6) })
    local b = mc.concat { mc.tensor({ draw(1, 3) }, { dtype = 'i64' }),
      mc.randint(-5, 5, { draw(1, 4) }, { seed = draw(1, 1e6) }) }
    local x = mc.randint(-4, 4, { 7 }, { seed = draw(1, 1e6) })
    equal(mc.polyval(mc.polymul(a, b), x), mc.polyval(a, x) * mc.polyval(b, x))
    equal(mc.polyval(mc.polyadd(a, b), x), mc.polyval(a, x) + mc.polyval(b, x))
    local q, r = mc.polydiv(mc.polymul(a, b), b)
    local one, two = mc.polyadd(mc.polymul(q, b), r):to 'f64', mc.polymul(a, b):to 'f64'
    close('ACCUM', one[{ { one:numel() - two:numel() + 1, one:numel() } }], two,
      { n = 32, scale = 4 ^ 6 * (1 + largest(two)) })
    equal(mc.polyadd(mc.polymul(mc.polyder(a), b), mc.polymul(a, mc.polyder(b))) * 1,
      mc.pad(mc.polyder(mc.polymul(a, b)), {
        math.max(0, math.max(mc.polymul(mc.polyder(a), b):numel(), mc.polymul(a, mc.polyder(b)):numel()) - mc.polyder(
          mc.polymul(a, b)):numel()), 0 }))
    equal(mc.polyder(mc.polyint(a)), a:to 'f64')
  end)

  law('have the roots they were made of, in some order', function(draw)
    local n = draw(1, 7)
    local r = mc.cumsum(mc.rand({ n }, { seed = draw(1, 1e6), low = 0.5, high = 1.5 }))
    local found = mc.sort(mc.real(mc.roots(mc.poly(r))))
    close('ITERATIVE', found, r, { bound = 1e9 * tol.kind.f64.eps })
    assert.is_true(mc.all(mc.lt(mc.abs(mc.imag(mc.roots(mc.poly(r)))), 1e-5)))
  end)

  law('series agree with their recurrences', function(draw)
    local n, x = draw(1, 9), mc.rand({ 11 }, { seed = draw(1, 1e6), low = -1, high = 1 })
    local c = mc.randn({ n }, { seed = draw(1, 1e6) })
    local NEXT = { -- degree k + 1 from k and k - 1
      chebval = function(k, a, b) return k == 0 and x or 2 * x * a - b end,
      legval = function(k, a, b) return k == 0 and x or ((2 * k + 1) * x * a - k * b) / (k + 1) end,
      hermval = function(k, a, b) return k == 0 and 2 * x or 2 * x * a - 2 * k * b end,
      hermeval = function(k, a, b) return k == 0 and x or x * a - k * b end,
      lagval = function(k, a, b) return k == 0 and 1 - x or ((2 * k + 1 - x) * a - k * b) / (k + 1) end,
    }
    for name, step in pairs(NEXT) do
      local before, now, sum, size = nil, mc.ones { 11 }, mc.zeros { 11 }, 1
      for k = 0, n - 1 do
        sum = sum + now * c[k + 1]
        size = size + largest(now) * largest(c)
        before, now = now, step(k, now, before)
      end
      close('ACCUM', mc[name](x, c), sum, { n = 64, scale = 4 * size })
    end
  end)

  it('explain what does not fit', function()
    fails('polyval: coefficients are f64[0]@cpu', mc.polyval, mc.zeros { 0 }, 1)
    fails('polydiv: the first coefficient of b, f64[2]@cpu, is 0', mc.polydiv, { 1 }, { 0, 1 })
    fails('polyfit: samples are f64[2]@cpu at f64[3]@cpu', mc.polyfit, mc.zeros { 3 }, mc.zeros { 2 }, 1)
    fails('polyfit: weights are f64[2]@cpu for 3 samples', mc.polyfit, mc.zeros { 3 }, mc.zeros { 3 },
      1, { w = { 1, 2 } })
    fails('poly: operand is f64[2,3]@cpu; give roots [n] or a square matrix', mc.poly, mc.zeros { 2, 3 })
    fails('convolve: operands are f64[0]@cpu and f64[1]@cpu', mc.convolve, mc.zeros { 0 }, mc.zeros { 1 })
    fails('option mode is', mc.convolve, { 1 }, { 1 }, 'ful')
  end)
end)

describe('cosine and sine transforms', function()
  law('are undone by their inverses, on either engine', function(draw)
    local n, engine = draw(2, 300), draw(0, 1) == 1 and 'mascon' or 'auto'
    local dtype = draw(0, 1) == 1 and 'f32' or 'f64'
    local x = mc.randn({ draw(1, 3), n }, { seed = draw(1, 1e6), dtype = dtype })
    mc.fft.config(engine)
    local more = { n = 2 * n, scale = 4 * math.sqrt(mc.square(x):sum():item()) }
    for _, name in ipairs { 'dct', 'dst' } do
      for kind = 1, 4 do
        for _, norm in ipairs { 'backward', 'ortho', 'forward' } do
          close('FFT',
            mc.fft['i' .. name](mc.fft[name](x, { type = kind, norm = norm }), { type = kind, norm = norm }), x, more)
        end
        local y = mc.fft[name](x, { type = kind, norm = 'ortho' }) -- an orthogonal matrix keeps lengths
        if not (name == 'dct' and kind == 1 and n == 2) then
          close('FFT', mc.sqrt(mc.square(y):sum()), mc.sqrt(mc.square(x):sum()), more)
        end
      end
    end
    mc.fft.config 'auto'
  end)

  law('are the real and odd parts of longer Fourier transforms', function(draw)
    local n = draw(2, 100)
    local x = mc.randn({ n }, { seed = draw(1, 1e6) })
    local zero = mc.zeros { 1 }
    local even = mc.fft.rfft(mc.concat { x, mc.flip(x) })
    local turn = mc.arange(0, n - 1) * (math.pi / (2 * n))
    local more = { n = 4 * n, scale = 4 * math.sqrt(mc.square(x):sum():item()) }
    local re, im = mc.real(even)[{ { 1, n } }], mc.imag(even)[{ { 1, n } }]
    close('FFT', mc.fft.dct(x), re * mc.cos(turn) + im * mc.sin(turn), more)
    local odd = mc.fft.rfft(mc.concat { zero, x, zero, -mc.flip(x) })
    close('FFT', mc.fft.dst(x, { type = 1 }), -mc.imag(odd)[{ { 2, n + 1 } }], more)
  end)

  it('do not depend on threads, take out=, views and halves', function()
    local x = mc.randn({ 300, 128 }, { seed = 5 })
    local want = mc.fft.dct(x)
    local threads = mc.get_num_threads()
    mc.set_num_threads(threads == 1 and 2 or 1)
    equal(want, mc.fft.dct(x))
    mc.set_num_threads(threads)
    equal(want, mc.fft.dct(x.T:copy(), { axis = 1 }).T)
    local base = mc.zeros { 300, 256 }
    mc.fft.dct(x, { out = base['..., ::2'] })
    equal(want, base['..., ::2'])
    local y = x:copy()
    mc.fft.dct(y, { out = y })
    equal(want, y)
    local long = mc.zeros { 300 * 128 + 1 } -- shifted by one element
    local from, to = long[{ { 1, 300 * 128 } }]:reshape(300, 128), long[{ { 2, 300 * 128 + 1 } }]:reshape(300, 128)
    from:copy_(x)
    mc.fft.dct(from, { out = to })
    equal(want, to)
    assert.equal('f16', mc.fft.dct(x:to 'f16').dtype)
    assert.equal('c64', mc.fft.dct(x:to 'c64').dtype)
    assert.equal('{0, 4}', tostring(mc.fft.dct(mc.zeros { 0, 4 }).shape))
  end)

  it('explain what does not fit', function()
    fails('dct: 0 points from f64[2,0]@cpu; type 2 needs at least 1', mc.fft.dct, mc.zeros { 2, 0 })
    fails('dct: 1 points from f64[1]@cpu; type 1 needs at least 2', mc.fft.dct, mc.zeros { 1 }, { type = 1 })
    fails('fft.dct: option type is 5; choose 1, 2, 3, 4', mc.fft.dct, mc.zeros { 2 }, { type = 5 })
    fails('f64[]@cpu', mc.fft.dct, mc.tensor(1))
    fails('fft.dctn: 1 sizes for 2 axes', mc.fft.dctn, mc.zeros { 2, 2 }, { s = { 2 }, axes = { 1, 2 } })
  end)

  it('are cancelled and refuse memory as every op does', function()
    local live = mc.memory().live
    mc.set_memory_limit(live + 1024)
    local ok, message = pcall(mc.fft.dct, mc.zeros { 64 }, { n = 2 ^ 20 })
    mc.set_memory_limit(0)
    assert.is_false(ok)
    assert.is_truthy(message:find('memory', 1, true), message)
    assert.is_truthy(ffi_lib.C.mc_errstatus() ~= 0)
  end)
end)

describe('chirp-z', function()
  local function plain(x, m, f) -- sum x[t] e^(-2 pi i f[k] t), f in cycles a sample
    local n = x:numel()
    local t = mc.arange(0, n - 1):reshape(1, n)
    local turns = f:reshape(m, 1) * t
    turns = (turns - mc.round(turns)) * (2 * math.pi)
    return mc.matmul(mc.cos(turns), x), -mc.matmul(mc.sin(turns), x)
  end

  law('zooms to what the sum gives', function(draw)
    local n, m = draw(1, 200), draw(1, 100)
    local x = mc.randn({ n }, { seed = draw(1, 1e6) })
    local f1, step = draw(0, 400) / 1024, draw(1, 40) / 4096 -- frequencies without a rounding
    local y = mc.signal.zoom_fft(x, { f1, f1 + m * step }, { m = m, fs = 1 })
    local re, im = plain(x, m, mc.arange(0, m - 1) * step + f1)
    local more = { n = 2 * (n + m), scale = 16 * math.sqrt(mc.square(x):sum():item()) }
    close('FFT', mc.real(y), re, more)
    close('FFT', mc.imag(y), im, more)
  end)

  law('on the whole circle is the Fourier transform', function(draw)
    local n = draw(1, 500)
    local x = mc.randn({ 2, n }, { seed = draw(1, 1e6), dtype = draw(0, 1) == 1 and 'f32' or 'f64' })
    close('FFT', mc.signal.czt(x), mc.fft.fft(x), { n = 2 * n, scale = 16 * math.sqrt(mc.square(x):sum():item()) })
    equal(mc.signal.czt(x.T:copy(), { axis = 1 }).T, mc.signal.czt(x))
  end)

  it('runs along spirals off the circle', function()
    local x = mc.tensor { 1, 2, 3 }
    local y = mc.signal.czt(x, { m = 2, w = 0.5, a = 2 }) -- z = 2, 4
    close('FFT', mc.real(y), mc.tensor { 1 + 2 / 2 + 3 / 4, 1 + 2 / 4 + 3 / 16 }, { n = 8, scale = 8 })
    fails('signal.czt: w and a must not be 0', mc.signal.czt, x, { a = 0 })
    fails("signal.czt: w is 'x'; give a number or mc.complex(re, im)", mc.signal.czt, x, { w = 'x' })
    fails('signal.zoom_fft: band is true; give f2 or { f1, f2 }', mc.signal.zoom_fft, x, true)
    fails('signal.czt: samples are f64[0]@cpu; the axis is empty', mc.signal.czt, mc.zeros { 0 })
  end)
end)
