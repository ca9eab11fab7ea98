-- device_values_spec.lua - numbers, lists and truth values of Lua beside tensors of a device: in operations, in writes,
-- in conditions, in functions that are recorded, beside keys. They have no device, and go where the tensors are.
local mc = require 'mascon'

local function text(v) return (tostring(v):gsub('@ref:0', '@cpu')) end

--- f(t, at) has on ref the result that it has on the CPU, and leaves it there: t(list, opts) makes tensors there.
local function alike(what, f, anywhere)
  it(what, function()
    mc.scope(function()
      local want
      for _, at in ipairs { 'cpu', 'ref:0' } do
        local out = { f(function(list, o) return mc.tensor(list, o):to(at) end, at) }
        assert(#out > 0)
        for i, y in ipairs(out) do
          if not anywhere then assert.equal(at, y.device, what .. ' ' .. i) end
          out[i] = text(y)
        end
        want = want or out
        assert.same(want, out)
      end
    end)
  end)
end

describe('values of Lua beside tensors of a device', function()
  local I64 = { dtype = 'i64' }
  alike('are operands of any operation', function(t)
    local x, i, m = t { 1, 2 }, t({ 1, 2 }, I64), t { true, false }
    return mc.put_along_axis(x, i, 7, { axis = 1 }), mc.put_along_axis(m, i, false, { axis = 1 }),
      mc.scatter_add(x, i, 1, { axis = 1 }), mc.interp(1.5, x, x), mc.interp(t { 1.5 }, { 1, 2 }, { 3, 4 }), i * 3LL,
      x * { 1, 2 }, mc.where(m, { 1, 2 }, { 3, 4 }), mc.where(true, x, { 3, 4 }), mc.isin(i, { 1 }), mc.isin(i, 1),
      mc.concat { x, { 5 } }, mc.stack { x, { 5, 6 } }, mc.vecdot(x, { 1, 2 }), mc.outer(x, { 1, 2 }),
      mc.kron(x, { 1, 2 }), mc.cross(t { 1, 2, 3 }, { 3, 1, 2 }), mc.einsum('i,i->', x, { 1, 2 }),
      mc.trapezoid(x, { 1, 3 }), mc.signal.convolve(x, { 1, 2 }), mc.average(x, { weights = { 1, 3 } }),
      mc.searchsorted({ 1, 2 }, x), mc.searchsorted(x, 1.5), mc.polyval(x, 3), mc.polyval({ 1, 2 }, x),
      mc.polyadd(x, { 1 }), mc.polymul({ 1, 2, 3 }, x), mc.chebval(0.3, x), mc.chebval(x, { 1, 2 }),
      mc.interpolate.interp1d({ 0, 5 }, { 1, 2 }, x), mc.interpolate.interp1d(x, { 1, 2 }, 1.5),
      mc.interpolate.ppoly({ 1.1, 1.2 }, x, t { { 1 }, { 2 } }), mc.interpolate.pchip(x, x)({ 1.1, 1.2 }),
      mc.interpolate.ppoly(1.1, x, { { 1 }, { 2 } }), mc.cov(x, { fweights = { 1, 3 } }), mc.cov(x, { y = { 1, 3 } }),
      mc.stats.pearsonr({ 1, 2, 4 }, t { 1, 5, 6 }).statistic, mc.stats.ttest_ind(x, { 1, 5 }).pvalue
  end)

  alike('and coefficients of filters follow the tensors beside them', function(t)
    local b, x = t { 1, 2, 3 }, t { 1, 0, 0, 2, 1, 3, 1, 1 }
    local sos = mc.signal.butter(4, 30, { fs = 250 })
    local r, s = mc.signal.freqz(b, { 1, 0.5 }, { worN = 4 }), mc.signal.freqz_sos(sos:to(x.device), { worN = 4 })
    local y, state = mc.signal.sosfilt(sos, x, { zi = mc.signal.sosfilt_zi(sos) })
    return r.f, r.h, s.f, s.h, y, state, mc.signal.freqz({ 1, 2 }, b, { worN = { 0.1, 0.2 } }).h
  end)

  it('stand under the names of other libraries in errors', function()
    local x = mc.ones { 2 }
    local function says(f) return select(2, pcall(f)) end
    assert.matches('no field or method "cuda"; here it is x:to \'gpu\'', says(function() return x:cuda() end))
    assert.matches('no field or method "cpu"; here it is x:to \'cpu\'', says(function() return x:cpu() end))
    assert.matches('there is no such name; it is mc.with_device', says(function() return mc.set_default_device end))
  end)

  alike('are written by position in functions that are recorded', function(t)
    local x = t { 1, 2, 3 }
    local function f(v)
      local y = v * 1
      y[1], y['2:3'], y[-1] = 0.25, 3, true
      return y
    end
    local function g(v)
      local y = v * 1
      y[1], y[2], y['1:2'] = y[-1] * 0.25, 3, 4
      return mc.sum(y * y)
    end
    local function h(v)
      local y = v * 1
      y['1:-1:2'] = y['1:-1:2'] * 2
      return mc.sum(y * y * y)
    end
    local two = mc.stack { x, x }
    local function turn(s, v)
      local y = s * 1
      y[1] = 7
      return y + v, y
    end
    local function scanned(v) return (mc.scan(turn, v, mc.stack { v, v })) end
    local value, slope = mc.jvp(f, { x }, { x })
    return mc.compile(f)(x), mc.grad(function(v) return mc.sum(f(v)) end)(x), mc.vmap(f)(two), value, slope,
      mc.compile(mc.grad(g))(x), mc.compile(mc.vmap(mc.grad(g)))(two), mc.hvp(h, x, x), scanned(x),
      mc.compile(scanned)(x)
  end)

  alike('decide dtypes beside integers, whole or not, as arguments of compiled functions', function(t)
    local out = {}
    for _, dtype in ipairs { 'i64', 'i8', 'bool' } do
      local x = t({ 1, 0, 1 }, { dtype = dtype })
      for _, fuse in ipairs { true, false } do
        local function run(f, ...)
          local g = mc.compile(f, { fuse = fuse })
          for _, n in ipairs { ... } do out[#out + 1] = g(x, n) end
        end
        run(function(v, n) return v + n end, 3, -1, 2.5)
        run(function(v, n) return mc.eq(v, n / 2) end, 2, 1, 0)
        run(function(v, n)
          local y = v * 1
          y[mc.gt(y, 0)] = n
          return y
        end, 3)
        run(function(v, n) return mc.cumsum(v, 1) * n end, 3)
        run(function(v, n) return (v * 1):index_add_({ { 1, 2 } }, n) end, 3)
        if dtype ~= 'bool' then
          run(function(v, n) return mc.clip(v, -n, n) end, 3)
          run(function(v, n) return mc.remainder(v, n) end, 3)
          run(function(v, n) return mc.pow(v, n) end, 3)
        end
      end
    end
    return unpack(out)
  end)

  it('are refused beside integers that do not hold them, at any call', function()
    for _, at in ipairs { 'cpu', 'ref:0' } do
      local x = mc.tensor({ 1, 2 }, { dtype = 'i8' }):to(at)
      for title, f in pairs { add = mc.compile(function(v, n) return v + n end, { fuse = false }),
        compile = mc.compile(function(v, n) return (v + n) * 2 - n end) } do
        assert.equal('i8[2]@' .. at .. (title == 'add' and ' { 4, 5 }' or ' { 5, 7 }'), tostring(f(x, 3)))
        for _, n in ipairs { 1000, -129 } do
          local ok, why = pcall(f, x, n)
          assert.is_false(ok)
          assert.matches(title .. ': the number ' .. tostring(n):gsub('-', '%%-') .. ' does not fit i8', why)
        end
        assert.equal('f64', f(x, 1e30).dtype)
      end
    end
  end)

  alike('leave parts without elements alone', function(t)
    local function f(x)
      local y = x * 1
      y['2:1'] = 3
      y['2:1'] = x['3:2'] * 2
      return y
    end
    local none = t({ 1 })['2:1']
    return f(t { 1, 2, 3 }), mc.compile(f)(t { 1, 2, 3 }), mc.compile(function(x) return (x:copy():fill_(3)) end)(none)
  end)

  alike('decide in conditions and loops', function(t)
    local x = t { 1, 2, 3 }
    local function loop(v)
      return mc.while_loop(function(s) return s.i < 5 end,
        function(s) return { i = s.i + 1, x = s.x * 1.5 } end, { i = 0, x = v }).x
    end
    local function bounded(v)
      return mc.while_loop(function(s) return s.i < 5 and s.i < 3 or false end,
        function(s) return { i = s.i + 1, x = s.x * 1.5 } end, { i = 0, x = v }, { max_steps = 7 }).x
    end
    local function branch(v, n) return mc.cond(mc.gt(n, 2), mc.sin, mc.cos, v) end
    local function asked(v, n) return mc.cond(function() return n > 2 end, mc.sin, mc.cos, v) end
    local function truth(v) return mc.cond(mc.tensor(true), mc.sin, mc.cos, v) end
    local function sum(v, n) return mc.sum(branch(v, n)) end
    return mc.compile(loop)(x), mc.vmap(loop)(mc.stack { x, x }), mc.compile(bounded)(x), branch(x, 3),
      mc.compile(branch)(x, 3), mc.compile(asked)(x, 3), truth(x), mc.compile(truth)(x), mc.grad(sum)(x, 1),
      mc.compile(mc.grad(sum))(x, 1), mc.switch(mc.tensor(2, I64), { mc.sin, mc.cos }, x),
      mc.compile(function(v, n) return mc.switch(n, { mc.sin, mc.cos }, v) end)(x, 2)
  end)

  alike('stand in derivatives of values that are joined', function(t)
    local x, i, out = t { 1, 2, 3 }, t({ 1, 2, 2 }, I64), {}
    for k, how in ipairs { 'sum', 'prod', 'max', 'min', 'mean' } do
      out[k] = mc.grad(function(a)
        return mc.sum(mc.scatter_reduce(a, i, a * a, { reduce = how, include_self = false }))
      end)(x)
    end
    return unpack(out)
  end)

  alike('stand beside keys and parameters', function(t, at)
    local key, out = mc.random.key(7, { device = at }), {}
    local mean, cov = { 1, 2 }, { { 2, 0.5 }, { 0.5, 1 } }
    for _, o in ipairs { { 2, mean = mean, cov = cov, key = key }, { 2, mean = mean, cov = cov, key = 7, device = at },
      { mean = t(mean), cov = t(cov), key = key }, { mean = mean, cov = t(cov), key = 7 } } do
      out[#out + 1] = mc.random.multivariate_normal(o)
    end
    for _, o in ipairs { { key = key }, { key = 7, device = at } } do
      o.df, o.scale = 5, { { 1, 0 }, { 0, 2 } }
      out[#out + 1] = mc.random.wishart(o)
    end
    out[#out + 1] = mc.random.dirichlet { 2, alpha = t { 1, 2, 3 }, key = key }
    for _, dtype in ipairs { 'i64', 'i32', 'f64', 'f32' } do
      local function poisson(rate) return mc.random.poisson { 4, rate = rate, key = key, dtype = dtype } end
      for _, rate in ipairs { 4, t { 0.5, 2, 40, 900 } } do out[#out + 1] = poisson(rate) end
      out[#out + 1] = mc.compile(function(k) return mc.random.poisson { 4, rate = 3, key = k, dtype = dtype } end)(key)
    end
    return unpack(out)
  end)

  it('and tensors of another device that a compiled function does not read are left alone', function()
    local caps = { host = mc.tensor { 1, 2, 3 }, dev = mc.tensor({ 1, 2, 3 }):to 'ref:0' }
    local x = mc.tensor({ 1, 2, 3 }):to 'ref:0'
    assert.equal('f64[3]@ref:0 { 1, 4, 9 }', tostring(mc.compile(function(v) return v * caps.dev end)(x)))
    assert.equal('f64[3]@ref:0 { 2, 4, 6 }', tostring(mc.compile(function(v, _) return v * 2 end)(x, caps.host)))
    local ok, why = pcall(mc.compile(function(v) return v * caps.host end), x)
    assert.is_false(ok)
    assert.matches('operands are on different devices', why)
  end)

  it('and what a recorded function draws cannot be moved, with advice', function()
    local x = mc.tensor({ 1, 2, 3 }):to 'ref:0'
    local ok, why = pcall(mc.grad(function(v) return mc.sum(v * mc.randn({ 3 }, { seed = 1 }):to 'ref:0') end), x)
    assert.is_false(ok)
    assert.matches('make it there, { device = "ref:0" }, or move it outside', why, 1, true)
    local there = mc.grad(function(v) return mc.sum(v * mc.randn({ 3 }, { seed = 1, device = 'ref:0' })) end)(x)
    assert.equal('ref:0', there.device)
  end)

  it('and tables of tensors of a device are made there', function()
    local a, b = mc.tensor(1.5):to 'ref:0', mc.tensor({ 2 }, { dtype = 'i32' }):to 'ref:0'
    local t = mc.tensor { { a, 3 }, { b, mc.tensor(4) } }
    assert.equal('ref:0', t.device)
    assert.same({ { 1.5, 3 }, { 2, 4 } }, t:totable())
    local truth = mc.tensor { mc.tensor(true):to 'ref:0', false }
    assert.same({ 'ref:0', 'bool' }, { truth.device, truth.dtype })
    assert.equal('cpu', mc.tensor({ a, 3 }, { device = 'cpu' }).device)
    assert.equal('ref:0', mc.meshgrid({ a, b }).device)
    local ok, why = pcall(mc.tensor, { a, mc.tensor(3):to 'ref:1' })
    assert.is_false(ok)
    assert.matches('operands are on different devices', why, 1, true)
  end)
end)
