-- polynomial.lua - polynomials as vectors of coefficients, highest power first, and series of orthogonal polynomials,
-- lowest first.
--
-- Evaluation of real polynomials is the C op ppoly with one piece (Horner in f64); series run Clenshaw's recurrence.
-- A Lua table of coefficients takes the precision of what it is evaluated at. Fits stand in linalg/polyfit.lua.
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}


--- Coefficients as a tensor of one axis; a list of numbers takes the floating dtype `like`. other: what stands beside
--- them.
local function coefficients(fname, what, v, like, other)
  local t = op.beside(fname, v, other, 4, true)
  if type(v) == 'table' and like and tensor.kind[like] == 'f' and tensor.kind[t.dtype] == 'f' then
    t = methods.to(t, like)
  end
  if t.ndim == 0 then t = methods.reshape(t, { 1 }) end
  if t._flags == 256 then t._flags = 0 end
  if t.ndim ~= 1 or t:numel() == 0 then
    error(('%s: %s are %s; give a list or one axis with at least one coefficient'):format(fname, what,
      tensor.describe(t)), 3)
  end
  return t
end

local function whole(t)
  local k = tensor.kind[t.dtype]
  return k ~= 'f' and k ~= 'c'
end

local OUT = { out = { nil, 'tensor' } }
local PPOLY = op.rows.ppoly.id
local function pieces(out, x, knots, coef, P) return lib.op_list(PPOLY, out, { x, knots, coef }, P) end

--- A polynomial at x: p[1] x^(n - 1) + ... + p[n], by Horner's rule.
---@param p any coefficients [n], highest power first
---@param x any of any shape; integers stay exact in i64 when p is whole too
---@param opts? table out (real operands)
---@return any x's shape
--- Errors: no coefficients. Source: NumPy polyval; Horner, A new method of solving numerical equations of all orders,
--- 1819.
---     mc.polyval({ 1, 0, -1 }, mc.tensor{ 2, 3 })  --> f64[2]@cpu { 3, 8 }
function M.polyval(p, x, opts)
  local o = check.opts('polyval', opts, OUT, 3)
  x = op.beside('polyval', x, p, 2)
  p = coefficients('polyval', 'coefficients', p, x.dtype, x)
  if x._flags == 256 then
    x = methods.to(x, (tensor.kind[p.dtype] == 'f'
      or (whole(p) and x:item() % 1 ~= 0)) and tensor.promote_dtypes(p.dtype, 'f64') or whole(p) and 'i64' or 'f64')
    x = tensor.moved(x, p._device, 3)
  end
  local n = p:numel()
  if whole(p) and whole(x) then p, x = methods.to(p, 'i64'), methods.to(x, 'i64')
  elseif tensor.kind[p.dtype] ~= 'c' and tensor.kind[x.dtype] ~= 'c' then
    local dtype = tensor.promote_dtypes(p.dtype, x.dtype)
    p = methods.to(p, dtype)
    local knots = tensor.moved(op.from_table({ 0, 1 }, dtype), x._device, 2)
    local P = lib.params()
    P.i[0], P.i[1] = 0, 0 -- the value itself, the one piece without end
    return op.run('polyval', 2, o, 1024, pieces, x, knots, methods.reshape(p, { n, 1 }), P)
  end
  local y = F.multiply(x, 0)
  y = methods.copy_(tensor.empty('polyval', y.shape, tensor.promote_dtypes(p.dtype, x.dtype), 2, x._device), p[1])
  for k = 2, n do
    F.multiply(y, x, { out = y })
    F.add(y, p[k], { out = y })
  end
  return o.out and methods.copy_(o.out, y) or y
end

--- The longer of two coefficient vectors and the shorter one, filled with zeros in front.
local function aligned(fname, a, b)
  a, b = coefficients(fname, 'coefficients of a', a, nil, b),
    coefficients(fname, 'coefficients of b', b, nil, a)
  local n = math.max(a:numel(), b:numel())
  local function fill(t) return t:numel() < n and F.pad(t, { n - t:numel(), 0 }) or t end
  return fill(a), fill(b)
end

--- Sum of two polynomials.
---@param a any [n]
---@param b any [m]
---@return any [max(n, m)]
--- Source: NumPy polyadd.
---     mc.polyadd({ 1, 2, 3 }, { 1 })  --> f64[3]@cpu { 1, 2, 4 }
function M.polyadd(a, b)
  a, b = aligned('polyadd', a, b)
  return F.add(a, b)
end

--- Difference of two polynomials.
---@param a any [n]
---@param b any [m]
---@return any [max(n, m)]
--- Source: NumPy polysub.
---     mc.polysub({ 1, 2, 3 }, { 1 })  --> f64[3]@cpu { 1, 2, 2 }
function M.polysub(a, b)
  a, b = aligned('polysub', a, b)
  return F.subtract(a, b)
end

--- Product of two polynomials.
---@param a any [n]
---@param b any [m]
---@return any [n + m - 1]
--- Source: NumPy polymul.
---     mc.polymul({ 1, 1 }, { 1, -1 })  --> f64[3]@cpu { 1, 0, -1 }
function M.polymul(a, b)
  a, b = coefficients('polymul', 'coefficients of a', a, nil, b),
    coefficients('polymul', 'coefficients of b', b, nil, a)
  return require('mascon.array.contract').convolve(a, b)
end

--- Quotient and remainder of polynomials: a = q b + r, r of lower degree than b.
---@param a any [n]
---@param b any [m], the first coefficient not 0
---@return any q [n - m + 1] (one 0 when b is longer)
---@return any r without leading zeros
--- Errors: a leading 0 in b. Source: NumPy polydiv.
---     mc.polydiv({ 1, 0, -1 }, { 1, 1 })  --> f64[2]@cpu { 1, -1 }, f64[1]@cpu { 0 }
function M.polydiv(a, b)
  a, b = coefficients('polydiv', 'coefficients of a', a, nil, b),
    coefficients('polydiv', 'coefficients of b', b, nil, a)
  local dtype = tensor.promote_dtypes(tensor.promote_dtypes(a.dtype, b.dtype), 'f16')
  if whole(a) and whole(b) then dtype = 'f64' end
  if dtype == 'f16' or dtype == 'bf16' then dtype = 'f32' end
  a, b = methods.to(a, dtype), methods.to(b, dtype)
  if op.found(F.eq(b[1], 0)) then
    error(('polydiv: the first coefficient of b, %s, is 0; drop it'):format(tensor.describe(b)), 2)
  end
  local n, m = a:numel(), b:numel()
  local r = methods.copy(a)
  local q = create.zeros({ math.max(1, n - m + 1) }, { dtype = dtype, device = a.device })
  for k = 1, n - m + 1 do
    local d = F.divide(r[k], b[1])
    q[k] = d
    local part = r[{ { k, k + m - 1 } }]
    F.subtract(part, F.multiply(b, d), { out = part })
  end
  local first = math.max(1, n - m + 2)
  if m == 1 then first = n end
  while first < n and F.abs(r[first]):item() <= 1e-8 do first = first + 1 end
  if m == 1 then r[n] = 0 end
  return q, methods.copy(r[{ { math.min(first, n), n } }])
end

--- The m-th derivative of a polynomial.
---@param p any [n], highest power first
---@param m? integer (1)
---@return any [n - m], at least one coefficient
--- Source: NumPy polyder.
---     mc.polyder({ 1, 2, 3 })  --> f64[2]@cpu { 2, 2 }
function M.polyder(p, m)
  p = coefficients('polyder', 'coefficients', p)
  m = m or 1
  check.arg('polyder', 'm', m, 'integer >= 0', 3)
  if whole(p) then p = methods.to(p, 'i64') end
  for _ = 1, m do
    local n = p:numel()
    if n == 1 then return create.zeros({ 1 }, { dtype = p.dtype, device = p.device }) end
    p = F.multiply(p[{ { 1, n - 1 } }], M.powers(n, p.dtype, p.device))
  end
  return p
end

--- n - 1, ..., 1 in a dtype that keeps `dtype`.
function M.powers(n, dtype, device)
  local k = tensor.kind[dtype]
  if k == 'c' then dtype = dtype == 'c64' and 'f32' or 'f64' end
  return create.arange(n - 1, 1, -1, { dtype = dtype, device = device })
end

local ORDERS = 1024 -- 1 / 1024! is far below the least f64
local INT = { k = { nil, 'number | table' } }
--- The m-th integral of a polynomial.
---@param p any [n], highest power first; integers become f64
---@param m? integer (1)
---@param opts? table k: the constants of integration, one for each time (0)
---@return any [n + m]
--- Source: NumPy polyint.
---     mc.polyint({ 2, 2 }, 1, { k = 3 })  --> f64[3]@cpu { 1, 2, 3 }
function M.polyint(p, m, opts)
  if type(m) == 'table' then m, opts = nil, m end
  local o = check.opts('polyint', opts, INT, 3)
  p = coefficients('polyint', 'coefficients', p)
  m = m or 1
  check.arg('polyint', 'm', m, 'integer >= 0', 3)
  if m > ORDERS then
    error(('polyint: m is %.0f; at most %d integrals are taken, the factors of more are 0 in f64'):format(m, ORDERS), 2)
  end
  if whole(p) then p = methods.to(p, 'f64') end
  local k = o.k
  if type(k) == 'number' then
    local list = {}
    for i = 1, m do list[i] = i == 1 and k or 0 end
    if m > 1 then for i = 1, m do list[i] = k end end
    k = list
  end
  for i = 1, m do
    local n = p:numel()
    local out = create.zeros({ n + 1 }, { dtype = p.dtype, device = p.device })
    F.divide(p, M.powers(n + 1, p.dtype, p.device), { out = out[{ { 1, n } }] })
    if k and k[i] then out[n + 1] = k[i] end
    p = out
  end
  return p
end

-- ---------------------------------------------------------------- roots

--- Roots of a polynomial: the eigenvalues of its companion matrix.
---@param p any [n], highest power first
---@return any c64|c128 [degree], in the order the eigenvalues come; zeros at the end
--- Errors: NaN or infinity. Source: NumPy roots; Polynomial roots from companion matrix eigenvalues, 1995.
---     mc.roots({ 1, 0, 0 })  --> c128[2]@cpu { 0+0i, 0+0i }
function M.roots(p)
  p = coefficients('roots', 'coefficients', p)
  if whole(p) then
    p = methods.to(p, 'f64')
  elseif p.dtype == 'f16' or p.dtype == 'bf16' then
    p = methods.to(p, 'f32')
  end
  local dtype = (p.dtype == 'f32' or p.dtype == 'c64') and 'c64' or 'c128'
  local there = F.nonzero_flat(p)
  if there:numel() == 0 then return create.zeros({ 0 }, { dtype = dtype, device = p.device }) end
  local first, last = there[1]:item(), there[there:numel()]:item()
  local zeros, n = p:numel() - last, last - first
  local out = create.zeros({ n + zeros }, { dtype = dtype, device = p.device })
  if n > 0 then
    local a = create.zeros({ n, n }, { dtype = p.dtype, device = p.device })
    if n > 1 then methods.diagonal(a, { offset = -1 }):fill_(1) end
    a[1] = -(p[{ { first + 1, last } }] / p[first])
    methods.copy_(out[{ { 1, n } }], F.eigvals(a))
  end
  return out
end

--- The polynomial with given roots and leading coefficient 1; of a square matrix its characteristic polynomial.
---@param r any roots [n], or [n, n]
---@return any [n + 1], highest power first; complex when the roots are
--- Source: NumPy poly.
---     mc.poly({ 1, 2 })  --> f64[3]@cpu { 1, -3, 2 }
function M.poly(r)
  local t = op.operand('poly', r, 2)
  if t.ndim == 0 then t = methods.reshape(t, { 1 }) end
  if t.ndim == 2 and t.shape[1] == t.shape[2] and t:numel() > 0 then
    t = F.eigvals(whole(t) and methods.to(t, 'f64') or t)
  elseif t.ndim ~= 1 then
    error(('poly: operand is %s; give roots [n] or a square matrix'):format(tensor.describe(t)), 2)
  end
  if whole(t) then t = methods.to(t, 'f64') end
  local n = t:numel()
  local p = create.zeros({ n + 1 }, { dtype = t.dtype, device = t.device })
  p[1] = 1
  for k = 1, n do -- p (x - r[k])
    local tail = p[{ { 2, k + 1 } }]
    F.subtract(tail, p[{ { 1, k } }] * t[k], { out = tail })
  end
  return p
end

-- ---------------------------------------------------------------- series

-- c0, c1 <- c[k] - down(n) c1, c0 + c1 (slope(n) x + shift(n)); the value is c0 + c1 (end_slope x + end_shift)
local SERIES = {
  chebval = { down = function() return 1 end, slope = function() return 2 end, last = 1 },
  legval = { down = function(n) return (n - 1) / n end, slope = function(n) return (2 * n - 1) / n end, last = 1 },
  hermval = { down = function(n) return 2 * (n - 1) end, slope = function() return 2 end, last = 2 },
  hermeval = { down = function(n) return n - 1 end, slope = function() return 1 end, last = 1 },
  lagval = { down = function(n) return (n - 1) / n end, slope = function(n) return -1 / n end,
    shift = function(n) return (2 * n - 1) / n end, last = -1, last_shift = 1 },
}

local function series(name)
  local rule = SERIES[name]
  return function(x, c)
    x = op.beside(name, x, c, 2, true)
    if whole(x) then x = methods.to(x, 'f64') end
    local listed = type(c) == 'table'
    c = op.beside(name, c, x, 2, true)
    if whole(c) then c = methods.to(c, 'f64') end
    if c.ndim == 0 then c = methods.reshape(c, { 1 }) end
    if c:numel() == 0 then error(('%s: coefficients are %s; give at least one'):format(name, tensor.describe(c)), 2) end
    if listed and tensor.kind[x.dtype] == 'f' and tensor.kind[c.dtype] == 'f' then c = methods.to(c, x.dtype) end
    local n, shape, one = c.shape[1], {}, {}
    for i = 2, c.ndim do shape[i - 1], one[i - 1] = c.shape[i], c.shape[i] end
    for i = 1, x.ndim do shape[#shape + 1], one[#one + 1] = x.shape[i], 1 end
    local dtype = tensor.promote_dtypes(x.dtype, c.dtype)
    local function coefficient(k) return methods.reshape(c[k], one) end
    local function buffer(v)
      local t = tensor.empty(name, shape, dtype, 3, x._device)
      return v and methods.copy_(t, v) or t
    end
    if n == 1 then return buffer(F.add(coefficient(1), F.multiply(x, 0))) end
    local c0, c1, spare = buffer(coefficient(n - 1)), buffer(coefficient(n)), buffer()
    local argument, slope
    local function linear(a, b)
      if a == slope and not b then return argument end
      argument, slope = a == 1 and not b and x or F.multiply(x, a), a
      if b then
        argument, slope = F.add(argument, b, { out = argument }), nil
      end
      return argument
    end
    for k = n - 2, 1, -1 do
      local d = k + 1 -- the degree of c1's polynomial
      F.multiply(c1, -rule.down(d), { out = spare })
      F.add(spare, coefficient(k), { out = spare })
      F.multiply(c1, linear(rule.slope(d), rule.shift and rule.shift(d)), { out = c1 })
      F.add(c1, c0, { out = c1 })
      c0, spare = spare, c0
    end
    F.multiply(c1, linear(rule.last, rule.last_shift), { out = c1 })
    return F.add(c1, c0, { out = c1 })
  end
end

--- A Chebyshev series at x: sum c[k] T_(k - 1)(x).
---@param x any real or complex, of any shape
---@param c any coefficients [n] or [n, ...], lowest degree first
---@return any the axes of c after the first, then those of x
--- Source: NumPy polynomial.chebyshev.chebval; Clenshaw, A note on the summation of Chebyshev series, 1955.
---     mc.chebval(0.5, { 1, 2, 3 })  --> f64[]@cpu 0.5
M.chebval = series 'chebval'
--- A Legendre series at x: sum c[k] P_(k - 1)(x).
---@param x any real or complex, of any shape
---@param c any coefficients [n] or [n, ...], lowest degree first
---@return any the axes of c after the first, then those of x
--- Source: NumPy polynomial.legendre.legval; Clenshaw 1955.
---     mc.legval(0.5, { 1, 2, 3 })  --> f64[]@cpu 1.625
M.legval = series 'legval'
--- A series of Hermite polynomials (of physics) at x: sum c[k] H_(k - 1)(x).
---@param x any real or complex, of any shape
---@param c any coefficients [n] or [n, ...], lowest degree first
---@return any the axes of c after the first, then those of x
--- Source: NumPy polynomial.hermite.hermval; Clenshaw 1955.
---     mc.hermval(1, { 1, 2, 3 })  --> f64[]@cpu 11
M.hermval = series 'hermval'
--- A series of Hermite polynomials (of probability) at x: sum c[k] He_(k - 1)(x).
---@param x any real or complex, of any shape
---@param c any coefficients [n] or [n, ...], lowest degree first
---@return any the axes of c after the first, then those of x
--- Source: NumPy polynomial.hermite_e.hermeval; Clenshaw 1955.
---     mc.hermeval(1, { 1, 2, 3 })  --> f64[]@cpu 3
M.hermeval = series 'hermeval'
--- A Laguerre series at x: sum c[k] L_(k - 1)(x).
---@param x any real or complex, of any shape
---@param c any coefficients [n] or [n, ...], lowest degree first
---@return any the axes of c after the first, then those of x
--- Source: NumPy polynomial.laguerre.lagval; Clenshaw 1955.
---     mc.lagval(1, { 1, 2, 3 })  --> f64[]@cpu -0.5
M.lagval = series 'lagval'

return M
