-- device_corner_spec.lua - values that arithmetic has no ordinary answer for, on a device with programs: infinities,
-- NaN, numbers below the normal ones, matrices without full rank, views that run backwards, truth values as operands.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local device = support.load 'device'

local name, reason = device.name()
local function try(what, f)
  it(what, function()
    if not name then return pending(reason) end
    mc.scope(f)
  end)
end
local inf, nan = mc.inf, mc.nan

--- The same print of a function's results here and there; it gets a maker of tensors and the device.
local function alike(what, f)
  try(what, function()
    local text = {}
    for k, at in ipairs { 'cpu', name } do
      local out = { f(function(list, o) return mc.tensor(list, o):to(at) end, at) }
      for i, y in ipairs(out) do out[i] = tostring(y):gsub('@%S+', '') end
      text[k] = table.concat(out, '\n')
    end
    assert.equal(text[1], text[2])
  end)
end

describe('results on a device where the CPU gives', function()
  alike('NaN: the spread of rows that hold an infinity', function(t)
    local out = {}
    for _, row in ipairs { { inf }, { 1, inf, 2 }, { inf, 1, 2 }, { 1, -inf }, { 3 }, { 1, 2, 4 } } do
      local x = t(row)
      for _, f in ipairs { mc.var, mc.nanstd } do out[#out + 1] = f(x) end
    end
    return unpack(out)
  end)

  alike('what an infinite largest element leaves of a row', function(t)
    local out = {}
    for _, row in ipairs { { inf, 1, 2 }, { nan, 1, 2 }, { -inf, -inf }, { -inf, 1 }, { 1, 2 } } do
      for _, f in ipairs { mc.softmax, mc.log_softmax, mc.logsumexp } do out[#out + 1] = f(t(row), 1) end
    end
    return unpack(out)
  end)

  alike('factors of NaN and infinities', function(t)
    local a, b, c = t { { nan, 0 }, { 0, 1 } }, t { { 1, 2 }, { inf, 3 } }, t { { inf, 0 }, { 0, -1 } }
    local sign, log = mc.linalg.slogdet(c)
    return mc.isnan(mc.linalg.inv(a)):sum(), mc.linalg.det(b), mc.linalg.det(c), sign, log,
      mc.linalg.det(t { { 1, 2 }, { 3, 4 } })
  end)

  alike('elements by position of a view that runs backwards', function(t, at)
    local x, i = mc.arange(1, 6, 1, { device = at }), t({ 1, 2, 6 }, { dtype = 'i64' })
    local m = x:reshape { 2, 3 }
    local j = t({ { 3, 1 }, { 1, 2 } }, { dtype = 'i64' })
    return mc.take_along_axis(x['::-1'], i, 1), mc.take_along_axis(mc.flip(m, 2), j, 2)
  end)

  alike('products of complex rows, neither of which is conjugated', function(t)
    local x = mc.complex(t { { 1, 3 }, { 0, 2 } }, t { { 2, -1 }, { 1, 2 } })
    return mc.einsum('ij,ij->', x, x), mc.einsum('ij,ij->i', x, x), mc.einsum('ij,ij->j', x, x), mc.tensordot(x, x, 2),
      mc.dot(x:reshape { 4 }, x:reshape { 4 }), mc.linalg.vecdot(x, x)
  end)

  alike('truth values among operands', function(t)
    local m = t { true, false, true }
    return mc.where(m, true, false), mc.eq(m, true), mc.logical_and(m, true), m:logical_or(false), mc.where(m, true, 2),
      mc.add(t { 1, 2 }, true)
  end)

  alike('a ramp as the edge', function(_, at)
    local whole = mc.ones({ 2, 2 }, { device = at, dtype = 'i32' })
    return mc.pad(mc.ones({ 3 }, { device = at }), { 2, 1 }, { mode = 'linear_ramp' }),
      mc.pad(whole, { { 1, 2 }, { 0, 1 } }, { mode = 'linear_ramp', end_value = 7 })
  end)

  try('orthogonal factors of matrices without full rank', function()
    local function factored(a)
      local at = a:to(name)
      local q, r = mc.linalg.qr(at)
      local n = q:size(2)
      local one = mc.matmul(q:conj().T, q):to 'cpu'
      local near = 100 * (a.dtype == 'f32' and 1.2e-7 or 2.3e-16)
      assert.is_true(mc.max(mc.abs(one - mc.eye(n))):item() < near, tostring(a))
      local far = mc.max(mc.abs(mc.matmul(q, r):to 'cpu' - a)):item()
      assert.is_true(far <= 1e-5 * mc.max(mc.abs(a)):item() + 1e-323, tostring(a))
    end
    for _, dtype in ipairs { 'f32', 'f64' } do
      factored(mc.ones({ 8, 7 }, { dtype = dtype }))
      local x = mc.randn({ 9, 1 }, { seed = 3 }):to(dtype)
      factored(mc.concat({ x, x, mc.randn({ 9, 2 }, { seed = 4 }):to(dtype), x }, 2))
    end
    factored(mc.tensor { { 5e-324, 0 }, { 0, 1 } })
    factored(mc.tensor { { 5e-324, 0 }, { 5e-324, 1 } })
    local z = mc.complex(mc.randn({ 5, 1 }, { seed = 5 }), mc.randn({ 5, 1 }, { seed = 6 }))
    factored(mc.concat({ z, z, z }, 2))
  end)

  try('an error: blocks that were kept do not pass a limit set later', function()
    mc.ones({ 20000 }, { device = name }):release()
    mc.set_memory_limit(mc.memory({ device = name }).tensors + 4096, { device = name })
    local ok, m = pcall(mc.ones, { 20000 }, { device = name })
    mc.set_memory_limit(0, { device = name })
    assert.is_false(ok)
    assert.matches('would pass its limit of', m)
  end)
end)
