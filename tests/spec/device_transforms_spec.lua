-- device_transforms_spec.lua - families whose kernels take different ways for different sizes, on a device with
-- programs beside the CPU: transforms of one pass, of several and by convolution; values joined at few and many places.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local device, process = support.load 'device', support.load 'process'

local EPS = { f64 = 2 ^ -52, c128 = 2 ^ -52, f32 = 2 ^ -23, c64 = 2 ^ -23 }

-- f of the operands on both: equal, or within `units` of the largest result
local function agree(what, units, f, ...)
  local here, there = { ... }, {}
  for i, a in ipairs(here) do there[i] = a:to(device.name()) end
  local want, got = f(unpack(here)), f(unpack(there)):to 'cpu'
  assert.equal(want.dtype, got.dtype, what)
  assert.equal(tostring(want.shape), tostring(got.shape), what)
  local wide = EPS[want.dtype] and want.dtype:find '^c' and 'c128' or EPS[want.dtype] and 'f64' or want.dtype
  local a, b = want:to(wide), got:to(wide)
  local equal = mc.logical_or(mc.eq(a, b), mc.logical_and(mc.ne(a, a), mc.ne(b, b)))
  if mc.all(equal) then return end
  assert.is_truthy(EPS[want.dtype], what .. ': differs')
  local off = mc.max(mc.where(equal, 0, mc.abs(a - b))):item()
  local bound = units * EPS[want.dtype] * mc.max(mc.where(mc.isfinite(mc.abs(a)), mc.abs(a), 0)):item()
  assert.is_true(off <= bound, ('%s: off by %g, bound %g'):format(what, off, bound))
end

local function on(what, f)
  it(what, function()
    local name, why = device.name()
    if not name then return pending(why) end
    mc.scope(f)
  end)
end

describe('on a device', function()
  -- one pass of small and odd radices, two and three passes, convolutions short and long
  local LENGTHS = { 1, 2, 30, 31, 37, 97, 128, 961, 1000, 1025, 2187, 4099, 6464, 65536 }
  for _, dtype in ipairs { 'f64', 'f32' } do
    on('Fourier transforms of many lengths, ' .. dtype, function()
      local complex = dtype == 'f64' and 'c128' or 'c64'
      local function all()
        for _, n in ipairs(LENGTHS) do
          local x, y = mc.randn({ 3, n }, { seed = n }):to(dtype), mc.randn({ 3, n }, { seed = n + 1 }):to(dtype)
          local z = (x:to(complex) + y:to(complex) * mc.complex(0, 1)):to(complex)
          agree('fft ' .. n, 40, mc.fft.fft, z)
          agree('ifft of columns ' .. n, 40, function(t) return mc.fft.ifft(t.T, { axis = 1, norm = 'ortho' }) end, z)
          agree('rfft ' .. n, 40, function(t) return mc.fft.rfft(t, { n = n + n % 3 }) end, x)
          agree('irfft ' .. n, 40, function(t) return mc.fft.irfft(t, { n = n }) end, z)
        end
      end
      all()
      if device.name():find '^cuda' then -- a library's; now its own
        mc.set_batch_invariant(true)
        local ok, e = pcall(all)
        mc.set_batch_invariant(false)
        if not ok then error(e, 0) end
      end
    end)
  end

  on('cosine and sine transforms of all types', function()
    for _, n in ipairs { 2, 5, 16, 37, 300 } do
      for type = 1, 4 do
        for _, name in ipairs { 'dct', 'idct', 'dst', 'idst' } do
          local x = mc.randn({ 2, n }, { seed = n + type })
          agree(name .. type .. ' ' .. n, 100, function(t)
            return mc.fft[name](t, { type = type, norm = 'ortho' })
          end, x)
        end
      end
    end
  end)

  on('values joined at places, few and many', function()
    for _, size in ipairs { { 40, 60 }, { 3000, 2 }, { 513, 1 } } do
      local n, places = size[1], size[2]
      local at = mc.randint(1, places, { n }, { seed = n })
      for _, how in ipairs { 'sum', 'prod', 'max', 'min', 'mean' } do
        for _, x in ipairs { mc.randn({ n, 3 }, { seed = 1 }), mc.randn({ n, 40 }, { seed = 2 }):to 'f32' } do
          agree('segment_' .. how, 100 * n, function(t, i)
            return mc['segment_' .. how](t, i, { num_segments = places + 1 })
          end, x, at)
          for _, self in ipairs { true, false } do
            agree('scatter_reduce ' .. how, 100 * n, function(t, i, v)
              return mc.scatter_reduce(t, i, v, { axis = 2, reduce = how, include_self = self })
            end, mc.ones({ 3, places }, { dtype = x.dtype }), mc.tile(at:reshape(1, n), { 2, 1 }), x.T['1:2'])
          end
        end
      end
    end
  end)

  on('sums into segments have the same bits each time', function()
    local x, at = mc.randn({ 5000, 2 }, { seed = 4 }):to(device.name()), mc.randint(1, 7, { 5000 }, { seed = 5 })
    at = at:to(device.name())
    local first = mc.segment_sum(x, at, { num_segments = 7 }):to 'cpu'
    for _ = 1, 3 do
      assert.is_true(mc.array_equal(first, mc.segment_sum(x, at, { num_segments = 7 }):to 'cpu'))
    end
  end)

  on('writes by position: the last one wins', function()
    local at = mc.tensor({ 3, 5, 3, -1 }, { dtype = 'i64' })
    for _, dtype in ipairs { 'f64', 'u8', 'c128', 'i16' } do
      local x, v = mc.arange(1, 36):reshape(9, 4):to(dtype), (mc.arange(1, 16):reshape(4, 4) * 7):to(dtype)
      agree('rows', 0, function(t, i, u)
        t = t:copy()
        t[i] = u
        return t
      end, x, at, v)
      agree('columns of a view, by their own values', 0, function(t, i)
        t = t:copy()
        local y = t.T
        y[{ mc.all, i }] = y[{ mc.all, { 1, 4 } }]
        return t
      end, x, at)
    end
  end)

  on('padding, values between knots, products of complex vectors', function()
    local x = mc.arange(1, 20):reshape(4, 5)
    for _, mode in ipairs { 'constant', 'edge', 'reflect', 'symmetric', 'wrap' } do
      agree('pad ' .. mode, 0, function(t) return mc.pad(t.T, { { 13, 2 }, { 0, 9 } }, { mode = mode }) end, x)
    end
    local q, knots, c = mc.randn({ 300 }, { seed = 1 }) * 6 + 5, mc.arange(0, 9), mc.randn({ 4, 9, 2 }, { seed = 2 })
    agree('interp', 4, function(t, k, v) return mc.interp(t, k, v, { left = mc.nan }) end, q, knots, mc.sin(knots))
    for nu = 0, 3 do
      agree('ppoly', 40, function(t, k, v)
        return mc.interpolate.ppoly(t, k, v, { derivative = nu, extrapolate = nu ~= 1 })
      end, q, knots, c)
    end
    local z = mc.fft.fft(mc.randn({ 3, 50 }, { seed = 3 }))
    agree('vecdot', 100, mc.vecdot, z, mc.flip(z, { 2 }))
  end)

  on('recurrences and tridiagonal systems', function()
    for _, dtype in ipairs { 'f64', 'f32', 'c128' } do
      local a = (mc.rand({ 3, 200 }, { seed = 1 }) - 0.5):to(dtype)
      local v = mc.randn({ 3, 200 }, { seed = 2 }):to(dtype)
      for _, o in ipairs { { axis = 2 }, { axis = 1, reverse = true } } do
        agree('recurrence', 200, function(x, y) return mc.linear_recurrence(x, y, o) end, a, v)
      end
    end
    local bands = mc.stack({ mc.rand({ 50 }, { seed = 3 }), mc.full({ 50 }, 3), mc.rand({ 50 }, { seed = 4 }) }, 1)
    for _, dtype in ipairs { 'f64', 'f32' } do
      agree('tridiagonal', 50, mc.interpolate.tridiagonal, bands:to(dtype), mc.randn({ 50, 7 }, { seed = 5 }):to(dtype))
    end
    assert.matches('tridiagonal: a pivot is zero.*flat position 1', support.message(function()
      local d = device.name()
      return mc.interpolate.tridiagonal((bands * 0):to(d), mc.ones({ 50 }, { device = d })):to 'cpu'
    end))
  end)

  on('knots that do not ascend and segments outside are errors where the host waits', function()
    local d = device.name()
    local q = mc.tensor { 1, 2 }
    assert.matches('interp: knots do not ascend.*flat position 3', support.message(function()
      return mc.interp(q:to(d), mc.tensor({ 1, 3, 2 }):to(d), mc.tensor({ 1, 2, 3 }):to(d)):to 'cpu'
    end))
    assert.matches('segment_sum: .*flat position 2', support.message(function()
      return mc.segment_sum(q:to(d), mc.tensor({ 1, 3 }, { dtype = 'i64' }):to(d), { num_segments = 2 }):to 'cpu'
    end))
  end)

  on('Jacobians and Hessians: their unit vectors are where the argument is', function()
    local x = mc.randn({ 3 }, { seed = 1 })
    local function f(t) return mc.sin(t) * mc.sum(t * t) end
    agree('jacfwd', 10, mc.jacfwd(f), x)
    agree('jacrev', 10, mc.jacrev(f), x)
    agree('hessian', 10, mc.hessian(function(t) return mc.sum(f(t)) end), x)
  end)

  on('signals: windows, multipliers and frequencies are where the samples are', function()
    local S = mc.signal
    for _, dtype in ipairs { 'f64', 'f32' } do
      local x, y = mc.randn({ 2, 99 }, { seed = 1 }):to(dtype), mc.randn({ 2, 99 }, { seed = 2 }):to(dtype)
      agree('hilbert', 40, S.hilbert, x)
      agree('czt', 100, S.czt, x)
      for _, name in ipairs { 'welch', 'spectrogram', 'periodogram', 'csd', 'coherence' } do
        local two = (name == 'csd' or name == 'coherence') and y or nil
        local nperseg = name ~= 'periodogram' and 32 or nil
        for _, detrend in ipairs { 'linear', 'none' } do
          for _, part in ipairs { 'f', 't', name:find '^c' and name or 'psd' } do
            if part ~= 't' or name == 'spectrogram' then
              agree(name .. ' ' .. part, 100, function(a, b)
                local o = { fs = 50, nperseg = nperseg, detrend = detrend }
                return (b and S[name](a, b, o) or S[name](a, o))[part]
              end, x, two)
            end
          end
        end
      end
      for _, mode in ipairs { 'full', 'same' } do
        for _, method in ipairs { 'auto', 'direct', 'fft' } do
          local o = { mode = mode, method = method }
          agree('convolve ' .. mode .. method, 100, function(a, b) return S.convolve(a[1], b[2], o) end, x, y)
          agree('correlate ' .. mode .. method, 100, function(a, b) return S.correlate(a[1], b[2]['1:9'], o) end, x, y)
        end
      end
    end
  end)

  on('solutions of initial value problems are where the start is', function()
    agree('solve_ivp', 100, function(y0)
      local o = { t_eval = { 0.5, 1 }, dense_output = true, rtol = 1e-4, atol = { 1e-6, 1e-7 } }
      local r = mc.integrate.solve_ivp(function(_, y) return -y end, { 0, 1 }, y0, o)
      return mc.concat({ r.y, r.sol(0.3):reshape(2, 1) }, 2)
    end, mc.tensor { 1, 2 })
  end)

  on('work that is queued when the script ends does no harm', function()
    local code = ([[local mc = require "mascon"
local x = mc.randn({ 4, 900 }, { seed = 1 }):to "%s"
for i = 1, 50 do mc.exp(x * i) end]]):format(device.name())
    local r = process.shell(("'%s' -e '%s' 2>&1"):format(require 'mascon.host'.program or arg[-1], code))
    assert.equal(0, r.status, r.text)
  end)
end)
