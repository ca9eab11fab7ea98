-- programs.lua - random programs of tensors, for laws about what is made of a function.
--
-- A program is a list of drawn steps over values of a few shapes that broadcast with one another: elementwise ops and
-- numbers, identities, reductions, softmax, views, products, writes into parts, conversions, and the same step twice.
-- Holds the steps and the bitwise comparison.
local mc = require 'mascon'

local M = {}

--- Same dtype, shape and bits; NaN is NaN whatever its payload. An error names the place.
function M.same(want, got, what)
  if mc.is_tensor(want) then
    assert(mc.is_tensor(got), what .. ': no tensor')
    assert(want.dtype == got.dtype, ('%s: %s and %s'):format(what, want.dtype, got.dtype))
    assert(tostring(want.shape) == tostring(got.shape),
      ('%s: %s and %s'):format(what, tostring(want.shape), tostring(got.shape)))
    local function plain(t) return mc.where(mc.isnan(t), 0, t) end
    assert(mc.array_equal(mc.isnan(want), mc.isnan(got)) and mc.array_equal(plain(want), plain(got)),
      what .. ' differs')
    if want.dtype:find '^f' or want.dtype == 'bf16' then
      assert(mc.array_equal(mc.signbit(plain(want)), mc.signbit(plain(got))), what .. ': a zero changed its sign')
    end
  elseif type(want) == 'table' then
    for k, v in pairs(want) do M.same(v, got[k], what .. '.' .. tostring(k)) end
  else
    assert(want == got, ('%s: %s and %s'):format(what, tostring(want), tostring(got)))
  end
end

-- ---------------------------------------------------------------- steps

local function tame(x) return mc.tanh(x) end

-- unary steps keep numbers in a range that no later step leaves
local UNARY = {
  { 'negative', function(x) return -x end }, { 'abs', mc.abs },
  { 'exp of a tanh', function(x) return mc.exp(tame(x)) end }, { 'tanh', mc.tanh }, { 'sin', mc.sin },
  { 'square of a tanh', function(x) return mc.square(tame(x)) end }, { 'floor', mc.floor },
  { 'root of abs', function(x) return mc.sqrt(mc.abs(x)) end },
  { 'times one', function(x) return x * 1 end }, { 'plus zero', function(x) return x + 0 end },
  { 'minus zero', function(x) return x - 0 end }, { 'half', function(x) return x / 2 end },
  { 'a third', function(x) return x / 3 end }, { 'a copy', function(x) return x:copy() end },
  { 'minus minus', function(x) return -(-x) end }, { 'positive', mc.positive },
  { 'to and fro', function(x) return x:to 'f64':to(x.dtype) end },
  { 'times ones', function(x) return x * mc.ones { 1, dtype = x.dtype } end },
  { 'every second',
    function(x) return mc.where(mc.eq(mc.remainder(mc.arange(1, x:numel()):reshape(x.shape), 2), 0), x, 0) end },
  { 'mask', function(x) return mc.where(mc.gt(x, 0.25), x, 0.5) end },
  { 'of itself', function(x) return mc.maximum(x, x) end },
}
local BINARY = {
  { 'add', function(a, b) return a + b end }, { 'multiply', function(a, b) return tame(a) * b end },
  { 'subtract', function(a, b) return a - b end }, { 'maximum', mc.maximum }, { 'divide',
    function(a, b) return a / (mc.abs(b) + 1) end }, { 'where', function(a, b) return mc.where(mc.lt(a, b), a, b) end },
  { 'the same twice', function(a, b) return (a + b) * 0.5 + (a + b) end },
  { 'hypot', function(a, b) return mc.hypot(a, b) end },
}
local REDUCE = { 'sum', 'mean', 'max', 'min', 'var', 'logsumexp', 'prod' }

local function reduce(draw, x)
  local name, axis = draw.one(REDUCE), draw(-1, x.ndim)
  local keep = draw(0, 1) == 1
  local f = mc[name] or mc.stats[name]
  local inner = draw(0, 1) == 1 and tame or function(v) return v end
  if axis == 0 then return name .. ' of all', function(v) return f(inner(v), { keepdim = keep }) end end
  return ('%s along %d'):format(name, axis), function(v) return f(inner(v), axis, { keepdim = keep }) end
end

local function rows(draw)
  return draw.one {
    { 'softmax', function(x) return mc.softmax(x, -1) end },
    { 'log_softmax', function(x) return mc.log_softmax(x, -1) end },
    { 'normed rows', function(x)
      local c = x - x:mean { -1, keepdim = true }
      return c / mc.sqrt(mc.square(c):mean { -1, keepdim = true } + 1e-3)
    end },
    { 'scaled rows', function(x) return x * mc.rsqrt(mc.square(x):mean { -1, keepdim = true } + 1e-3) end },
    { 'softmax by hand', function(x)
      local e = mc.exp(x - x:max { -1, keepdim = true })
      return e / e:sum { -1, keepdim = true }
    end },
    { 'cumsum', function(x) return mc.cumsum(tame(x), -1) end },
  }
end

local function views(draw)
  return draw.one {
    { 'transpose', function(x) return x:permute_dims { 2, 1 } end },
    { 'every other row', function(x) return x['::2, :'] end }, { 'flat', function(x) return x:reshape(-1) end },
    { 'backwards', function(x) return mc.flip(x, 1) end }, { 'a column', function(x) return x['..., 1'] end },
    { 'transposed copy', function(x) return x.T:copy() end },
  }
end

local function writes(draw)
  return draw.one {
    { 'first row twice', function(x)
      local y = x:copy()
      y['1, :'] = x['-1, :'] * 2
      return y
    end },
    { 'add in place', function(x)
      local y = x:copy()
      y:add_(1)
      return y * x
    end },
    { 'whole of zeros', function(x)
      local y = mc.zeros { x.shape[1], x.shape[2], dtype = x.dtype }
      y['1, :'] = x['1, :']
      y['..., 1'] = 0.5
      return y
    end },
    { 'through a view', function(x)
      local y = x + 0.5
      y.T:mul_(2)
      return y
    end },
  }
end

--- Shapes broadcast to one of rank 2 at most.
local function meet(a, b)
  local n = math.max(#a, #b)
  for i = 1, n do
    local p, q = a[#a - i + 1] or 1, b[#b - i + 1] or 1
    if p ~= q and p ~= 1 and q ~= 1 then return false end
  end
  return true
end

local function shape_of(t)
  local s = {}
  for i = 1, t.ndim do s[i] = t.shape[i] end
  return s
end

--- A random program: f(args...) -> table of tensors, its arguments, and its text. Steps are chosen by what shapes they
--- meet, which a run on the drawn arguments shows.
---@param draw table of property.lua
---@param length integer steps
function M.draw(draw, length, sizes)
  local m, n = draw(1, sizes and sizes[1] or 6), draw(1, sizes and sizes[2] or 9)
  local dtype = draw.one { 'f64', 'f32' }
  local args = { draw.tensor({ m, n }, dtype, draw.layout()), draw.tensor({ n }, dtype), draw.tensor({ m, 1 }, dtype),
    draw.tensor({ m, n }, draw.one { dtype, 'f32', 'f64' }) }
  local pool, steps, text = { args[1], args[2], args[3], args[4] }, {}, {}
  for _ = 1, length do
    local at, kind = draw(1, #pool), draw(1, 8)
    local x = pool[at]
    local from, label, f = { at }, nil, nil
    if kind <= 2 then
      local step = draw.one(UNARY)
      label, f = step[1], step[2]
    elseif kind <= 4 then
      local other = draw(1, #pool)
      if meet(shape_of(x), shape_of(pool[other])) then
        local step = draw.one(BINARY)
        label, f, from = step[1], step[2], { at, other }
      end
    elseif kind == 5 and x.ndim > 0 then
      label, f = reduce(draw, x)
    elseif kind == 6 and x.ndim > 0 then
      local step = rows(draw)
      label, f = step[1], step[2]
    elseif kind == 7 and x.ndim == 2 then
      local step = draw(0, 1) == 1 and views(draw) or writes(draw)
      label, f = step[1], step[2]
    elseif kind == 8 and x.ndim == 2 then
      label, f = 'x x^T', function(v) return v:matmul(v.T) / v.shape[2] end
    end
    if f then
      local y = f(pool[from[1]], from[2] and pool[from[2]])
      pool[#pool + 1] = y
      steps[#steps + 1] = { f = f, from = from }
      text[#text + 1] = ('%d: %s of %s'):format(#pool, label, table.concat(from, ', '))
    end
  end
  local results = { #pool, draw(1, #pool), draw(1, #pool) }
  text[#text + 1] = 'results ' .. table.concat(results, ', ')
  draw.said[#draw.said + 1] = table.concat(text, '; ')
  local function f(...)
    local v = { ... }
    for _, s in ipairs(steps) do v[#v + 1] = s.f(v[s.from[1]], s.from[2] and v[s.from[2]]) end
    local out = {}
    for i, k in ipairs(results) do out[i] = v[k] end
    return out
  end
  return f, args
end

return M
