-- calculus.lua - differences, gradients, integrals of samples, phases made continuous.
--
-- Everything here is linear in the samples: differences are subtractions of views, integrals with fixed points are
-- inner products with weights. f16 and bf16 compute as their ops do. Spacing is a number or the positions of the
-- samples.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local index = require 'mascon.core.index'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

--- Places first..last of one axis (1-based; empty when last < first).
local function cut(t, axis, first, last, step)
  local range = last < first and { 1, 0 } or { first, last, step or 1 }
  local n = t._ndim -- one and two axes without a loop: see check.opts
  if n == 1 then return t[{ range }] end
  if n == 2 then return t[{ axis == 1 and range or index.all, axis == 2 and range or index.all }] end
  local key = {}
  for i = 1, n do key[i] = i == axis and range or index.all end
  return t[key]
end

--- Floating x: integers and booleans become f64.
local function floating(x)
  local k = tensor.kind[x.dtype]
  return (k == 'f' or k == 'c') and x or methods.to(x, 'f64')
end

--- A 1-D tensor shaped so that it lies along `axis` of rank n.
local function along(t, axis, n)
  local s = {}
  for i = 1, n do s[i] = i == axis and t:numel() or 1 end
  return methods.reshape(t, s)
end

-- ---------------------------------------------------------------- differences

local DIFF = { axis = { -1, 'integer' }, n = { 1, 'integer >= 0' }, prepend = { nil, 'any' }, append = { nil, 'any' } }

--- What stands before or behind x along axis a: a number becomes one place of the dtype of x where that loses nothing.
local function end_piece(x, a, v)
  if v == nil then return nil end
  local t = op.operand('diff', v, 4)
  if t.ndim == 0 then
    local one = { unpack(x.shape) }
    one[a] = 1
    if t._flags == 256 then
      t = methods.to(t,
        tensor.kind[t.dtype] == 'f' and tensor.kind[x.dtype] ~= 'f' and t:item() % 1 ~= 0 and 'f64' or x.dtype)
    end
    t = methods.broadcast_to(t, one)
  end
  return t
end

--- Differences of neighbours along an axis, n times: d[k] = x[k + 1] - x[k]. Booleans give ne.
---@param x any [..., m]
---@param axis? integer (-1)
---@param opts? table n: how often (1) · prepend, append: put before and behind x first; a number, or a tensor of its
---  shape off the axis
---@return any [..., m - n], at least 0
--- Errors: no axis, shapes of prepend or append. Source: Python array API standard 2024.12, diff.
---     mc.diff(mc.tensor{ 1, 4, 9 })  --> f64[2]@cpu { 3, 5 }
---     mc.diff(mc.tensor{ 1, 4, 9 }, { n = 2 })  --> f64[1]@cpu { 2 }
function M.diff(x, axis, opts)
  x = op.operand('diff', x, 2)
  local o = op.axis_option('diff', DIFF, axis, opts, 3)
  local a = tensor.axis('diff', x, o.axis, 3) + 1
  if o.prepend ~= nil or o.append ~= nil then
    local list = { end_piece(x, a, o.prepend) }
    list[#list + 1] = x
    list[#list + 1] = end_piece(x, a, o.append)
    x = F.concat(list, a)
  end
  local minus = x.dtype == 'bool' and F.ne or F.subtract
  for _ = 1, o.n do
    local m = x.shape[a]
    if m == 0 then return x end
    x = minus(cut(x, a, 2, m), cut(x, a, 1, m - 1))
  end
  return x
end

local EDIFF = { to_begin = { nil, 'any' }, to_end = { nil, 'any' } }
--- Differences of the flattened tensor, with values put before and behind them.
---@param x any
---@param opts? table to_begin, to_end: numbers, lists or tensors
---@return any 1-D
--- Source: NumPy ediff1d.
---     mc.ediff1d(mc.tensor{ 1, 4, 9 }, { to_begin = 0 })  --> f64[3]@cpu { 0, 3, 5 }
function M.ediff1d(x, opts)
  x = methods.flatten(op.operand('ediff1d', x, 2))
  local o = check.opts('ediff1d', opts, EDIFF, 3)
  local d = M.diff(x)
  local function piece(v)
    if v == nil then return nil end
    return tensor.moved(methods.to(methods.flatten(op.operand('ediff1d', v, 3)), x.dtype), x._device, 4)
  end
  if o.to_begin == nil and o.to_end == nil then return d end
  local list = { piece(o.to_begin) }
  list[#list + 1] = d
  list[#list + 1] = piece(o.to_end)
  return F.concat(list, 1)
end

-- ---------------------------------------------------------------- gradient

--- The real dtype of the parts of a dtype.
local function real_of(dtype) return tensor.kind[dtype] == 'c' and (dtype == 'c64' and 'f32' or 'f64') or dtype end

--- Central differences along axis a with uniform spacing h.
local function even_steps(x, a, h, edge)
  local m = x.shape[a]
  local out = tensor.empty('gradient', x.shape, x.dtype, 4, x._device)
  local inner, first, last = cut(out, a, 2, m - 1), cut(out, a, 1, 1), cut(out, a, m, m)
  F.subtract(cut(x, a, 3, m), cut(x, a, 1, m - 2), { out = inner })
  F.divide(inner, 2 * h, { out = inner })
  if edge == 1 then
    F.subtract(cut(x, a, 2, 2), cut(x, a, 1, 1), { out = first })
    F.subtract(cut(x, a, m, m), cut(x, a, m - 1, m - 1), { out = last })
    if tensor.is(h) or h ~= 1 then
      F.divide(first, h, { out = first })
      F.divide(last, h, { out = last })
    end
  else
    methods.copy_(first, cut(x, a, 1, 1) * (-1.5 / h) + cut(x, a, 2, 2) * (2 / h) + cut(x, a, 3, 3) * (-0.5 / h))
    methods.copy_(last,
      cut(x, a, m - 2, m - 2) * (0.5 / h) + cut(x, a, m - 1, m - 1) * (-2 / h) + cut(x, a, m, m) * (1.5 / h))
  end
  return out
end

--- The same at positions p [m].
local function gradient_axis(x, a, p, edge)
  local m, rank = x.shape[a], x.ndim
  local out = tensor.empty('gradient', x.shape, x.dtype, 4, x._device)
  local function put(first, last, v) methods.copy_(cut(out, a, first, last), v) end
  local d = M.diff(methods.to(p, 'f64'))
  local d1, d2 = cut(d, 1, 1, m - 2), cut(d, 1, 2, m - 1)
  local real = real_of(x.dtype)
  local function weight(w) return methods.to(along(w, a, rank), real) end
  local left, middle, right = weight(-d2 / (d1 * (d1 + d2))), weight((d2 - d1) / (d1 * d2)),
    weight(d1 / (d2 * (d1 + d2)))
  put(2, m - 1, cut(x, a, 1, m - 2) * left + cut(x, a, 2, m - 1) * middle + cut(x, a, 3, m) * right)
  local function times(k, w) return cut(x, a, k, k) * methods.to(w, real) end
  if edge == 1 then
    put(1, 1, (cut(x, a, 2, 2) - cut(x, a, 1, 1)) / methods.to(d[1], real))
    put(m, m, (cut(x, a, m, m) - cut(x, a, m - 1, m - 1)) / methods.to(d[m - 1], real))
  else
    local u, v = d[1], d[2]
    put(1, 1, times(1, -(2 * u + v) / (u * (u + v))) + times(2, (u + v) / (u * v)) + times(3, -u / (v * (u + v))))
    u, v = d[m - 2], d[m - 1]
    put(m, m,
      times(m - 2, v / (u * (u + v))) + times(m - 1, -(v + u) / (u * v)) + times(m, (2 * v + u) / (v * (u + v))))
  end
  return out
end

local GRADIENT = { axis = { nil, 'integer | table' }, spacing = { 1, 'number | tensor | table' },
  edge_order = { 1, { 1, 2 } } }

--- Derivatives by second-order differences inside and one-sided ones at the ends.
---@param x any real or complex; integers become f64
---@param opts? table axis: one or a list (all) · spacing: a number, positions of the samples [m], or a list with one of
--- them for each axis (1) · edge_order: order of the one-sided differences, 1 or 2 (1)
---@return any for one axis its derivative, else a list of them, in the order of the axes
--- Errors: an axis shorter than edge_order + 1, a spacing that does not fit. Source: NumPy gradient; uneven spacing:
--- Quarteroni, Sacco, Saleri, Numerical mathematics, 2007, section 10.10.
---     mc.gradient(mc.tensor{ 1, 4, 9, 16 })  --> f64[4]@cpu { 3, 4, 6, 7 }
function M.gradient(x, opts)
  x = floating(op.operand('gradient', x, 2))
  local o = check.opts('gradient', opts, GRADIENT, 3)
  local axes = o.axis
  if x.ndim == 0 then error(('gradient: operand is %s; it needs at least one axis'):format(tensor.describe(x)), 2) end
  if type(axes) == 'number' then axes = { axes } end
  if not axes then
    axes = {}
    for i = 1, x.ndim do axes[i] = i end
  end
  local spacing = o.spacing
  local listed = type(spacing) == 'table' and #spacing == #axes and (#axes > 1 or type(spacing[1]) ~= 'number')
  local out = {}
  for k, axis in ipairs(axes) do
    local a = tensor.axis('gradient', x, axis, 3) + 1
    local m = x.shape[a]
    if m < o.edge_order + 1 then
      error(('gradient: axis %d of %s has %d samples; edge_order %d needs %d'):format(axis, tensor.describe(x), m,
        o.edge_order, o.edge_order + 1), 2)
    end
    local v = spacing
    if listed then v = spacing[k] end
    if type(v) == 'table' then v = op.from_table(v) end
    if tensor.is(v) and v:numel() == 1 then v = methods.reshape(methods.to(v, real_of(x.dtype)), {}) end
    if type(v) == 'number' or tensor.is(v) and v.ndim == 0 then
      out[k] = even_steps(x, a, v, o.edge_order)
    else
      if not tensor.is(v) or v.ndim ~= 1 or v:numel() ~= m then
        error(('gradient: spacing of axis %d is %s; give a number or its %d positions'):format(axis,
          tensor.is(v) and tensor.describe(v) or check.show(v), m), 2)
      end
      out[k] = gradient_axis(x, a, v, o.edge_order)
    end
  end
  if #axes == 1 then return out[1] end
  return out
end

-- ---------------------------------------------------------------- integrals

local INTEGRAL = { x = { nil, 'tensor | table' }, dx = { 1, 'number' }, axis = { -1, 'integer' } }

--- Operands of an integral: y floating, its axis last, and the positions as f32|f64 [..., m] (nil with even steps).
local function samples(fname, y, x, opts, spec)
  y = floating(op.operand(fname, y, 3))
  if type(x) == 'table' and (x.x ~= nil or x.dx ~= nil or x.axis ~= nil or x.initial ~= nil or next(x) == nil) then
    if opts ~= nil then
      error(('%s: %s is one argument too many after the options'):format(fname, check.show(opts)), 3)
    end
    x, opts = nil, x
  end
  local o = check.opts(fname, opts, spec, 4)
  if x == nil then x = o.x end
  local a = tensor.axis(fname, y, o.axis, 4) + 1
  local moved = a == y.ndim and y or methods.moveaxis(y, a, -1)
  if x ~= nil then
    x = op.beside(fname, x, y, 3)
    if tensor.kind[x.dtype] == 'c' then
      error(('%s: positions are %s; give real ones'):format(fname, tensor.describe(x)), 3)
    end
    x = methods.to(x, 'f64')
    local m = moved.shape[moved.ndim]
    if x.ndim > 1 then
      if x.ndim ~= y.ndim then
        error(('%s: positions are %s for samples %s; give one axis, or as many as the samples'):format(fname,
          tensor.describe(x), tensor.describe(y)), 3)
      end
      x = a == y.ndim and x or methods.moveaxis(x, a, -1)
    end
    if x.ndim == 0 or x.shape[x.ndim] ~= m then
      error(('%s: positions are %s for samples %s; the sizes on the axis differ'):format(fname, tensor.describe(x),
        tensor.describe(y)), 3)
    end
  end
  return moved, x, o, a
end

--- sum_k w[..., k] y[..., k], weights f64 in the precision of y.
local function weighted(y, w)
  local real = real_of(y.dtype)
  return F.vecdot(methods.to(w, real), y)
end

--- Integral by the trapezoidal rule: sum (y[k] + y[k + 1]) (x[k + 1] - x[k]) / 2.
---@param y any [..., m]; integers become f64
---@param x? any positions [m] or as y; also opts.x
---@param opts? table dx: step when there are no positions (1) · axis (-1)
---@return any [...]
--- Errors: sizes of x and y differ. Source: NumPy trapezoid; computed as an inner product with weights.
---     mc.trapezoid(mc.tensor{ 1, 2, 3 })  --> f64[]@cpu 4
---     mc.trapezoid(mc.tensor{ 1, 2, 3 }, mc.tensor{ 4, 6, 8 })  --> f64[]@cpu 8
function M.trapezoid(y, x, opts)
  local t, p, o = samples('trapezoid', y, x, opts, INTEGRAL)
  local m = t.shape[t.ndim]
  if not p then
    local s = F.sum(t, -1)
    if m == 0 then return s end
    local first, last
    if t._ndim == 1 then first, last = t[1], t[m]
    else first, last = t[{ index.ellipsis, 1 }], t[{ index.ellipsis, m }] end
    local y0 = (s - (first + last) * 0.5)
    return o.dx == 1 and y0 or y0 * o.dx
  end
  if m < 2 then return F.sum(t, -1) * 0 end
  local h = M.diff(p) * 0.5
  local n = p.ndim
  local shape = { unpack(p.shape) }
  local w = tensor.empty('trapezoid', shape, 'f64', 2, p._device)
  methods.copy_(cut(w, n, 1, 1), cut(h, n, 1, 1))
  methods.copy_(cut(w, n, m, m), cut(h, n, m - 1, m - 1))
  if m > 2 then F.add(cut(h, n, 1, m - 2), cut(h, n, 2, m - 1), { out = cut(w, n, 2, m - 1) }) end
  return weighted(t, w)
end

local CUMULATIVE = { x = INTEGRAL.x, dx = INTEGRAL.dx, axis = INTEGRAL.axis, initial = { nil, 'number' } }

--- Moves the last axis back to place a.
local function back(t, a) return a == t.ndim and t or methods.contiguous(methods.moveaxis(t, -1, a)) end

--- Running sum of pieces [..., m - 1], with `initial` in front when given.
local function accumulate(fname, pieces, o, a)
  local y = F.cumsum(pieces, { axis = -1 })
  if o.initial == nil then return back(y, a) end
  local s = { unpack(y.shape) }
  s[#s] = s[#s] + 1
  local out = tensor.empty(fname, s, y.dtype, 3, y._device)
  methods.fill_(cut(out, #s, 1, 1), o.initial)
  F.add(y, o.initial, { out = cut(out, #s, 2, s[#s]) })
  return back(out, a)
end

--- Running integral by the trapezoidal rule.
---@param y any [..., m]; integers become f64
---@param x? any positions [m] or as y; also opts.x
---@param opts? table dx (1) · axis (-1) · initial: a value put in front, so that the size stays m, and added to all
---  (none)
---@return any [..., m - 1], or [..., m] with initial
--- Errors: sizes of x and y differ, no samples. Source: SciPy cumulative_trapezoid.
---     mc.cumulative_trapezoid(mc.tensor{ 1, 2, 3 }, { initial = 0 })  --> f64[3]@cpu { 0.0000, 1.5000, 4.0000 }
function M.cumulative_trapezoid(y, x, opts)
  local t, p, o, a = samples('cumulative_trapezoid', y, x, opts, CUMULATIVE)
  local n, m = t.ndim, t.shape[t.ndim]
  if m == 0 then error(('cumulative_trapezoid: samples are %s; the axis is empty'):format(tensor.describe(t)), 2) end
  local pieces = cut(t, n, 1, m - 1) + cut(t, n, 2, m)
  local real = real_of(t.dtype)
  if p then
    pieces = F.multiply(pieces, methods.to(M.diff(p) * 0.5, real))
  else
    F.multiply(pieces, o.dx * 0.5, { out = pieces })
  end
  return accumulate('cumulative_trapezoid', pieces, o, a)
end

--- Simpson's weights [..., m] f64 for positions p [..., m], or for even steps of 1 (p nil).
local function simpson_weights(p, m, device)
  local create = require 'mascon.array.create'
  if not p then
    local w = create.zeros({ m }, { device = device })
    if m == 1 then return w end
    if m == 2 then
      w:fill_(0.5)
      return w
    end
    local odd = m % 2 == 1 and m or m - 1
    w[{ { 2, odd - 1, 2 } }] = 4 / 3
    if odd > 3 then w[{ { 3, odd - 2, 2 } }] = 2 / 3 end
    w[1], w[odd] = 1 / 3, 1 / 3
    if odd < m then -- the last interval from the parabola through the last three samples
      w[m] = 5 / 12
      w[m - 1] = w[m - 1]:item() + 2 / 3
      w[m - 2] = w[m - 2]:item() - 1 / 12
    end
    return w
  end
  local n = p.ndim
  local w = create.zeros({ unpack(p.shape) }, { device = device })
  local h = M.diff(p)
  if m == 1 then return w end
  local function addto(first, last, step, v)
    F.add(cut(w, n, first, last, step), v, { out = cut(w, n, first, last, step) })
  end
  if m == 2 then
    addto(1, 1, 1, h * 0.5)
    addto(2, 2, 1, h * 0.5)
    return w
  end
  local odd = m % 2 == 1 and m or m - 1
  local h0, h1 = cut(h, n, 1, odd - 2, 2), cut(h, n, 2, odd - 1, 2)
  local sum = h0 + h1
  addto(1, odd - 2, 2, sum / 6 * (2 - h1 / h0))
  addto(2, odd - 1, 2, sum * sum * sum / (h0 * h1) / 6)
  addto(3, odd, 2, sum / 6 * (2 - h0 / h1))
  if odd < m then
    local a, b = cut(h, n, m - 2, m - 2), cut(h, n, m - 1, m - 1) -- the last two steps
    addto(m, m, 1, (2 * b * b + 3 * a * b) / (6 * (a + b)))
    addto(m - 1, m - 1, 1, (b * b + 3 * a * b) / (6 * a))
    addto(m - 2, m - 2, 1, -(b * b * b) / (6 * a * (a + b)))
  end
  return w
end

--- Integral by Simpson's rule; with an even number of samples the last interval comes from the parabola through the
--- last three.
---@param y any [..., m]; integers become f64
---@param x? any positions [m] or as y; also opts.x
---@param opts? table dx (1) · axis (-1)
---@return any [...]
--- Errors: sizes of x and y differ, no samples. Source: SciPy simpson; Cartwright, Simpson's rule cumulative
--- integration with MS Excel and irregularly-spaced data, 2017, equation 8.
---     mc.simpson(mc.tensor{ 0, 1, 4 })  --> f64[]@cpu 2.6666666666667
function M.simpson(y, x, opts)
  local t, p, o = samples('simpson', y, x, opts, INTEGRAL)
  local m = t.shape[t.ndim]
  if m == 0 then error(('simpson: samples are %s; the axis is empty'):format(tensor.describe(t)), 2) end
  local w = simpson_weights(p, m, t.device)
  return weighted(t, p and w or w * o.dx)
end

--- Running integral by parabolas through three samples: odd intervals from the parabola that begins with them, even
--- ones and the last from the one that ends with them.
---@param y any [..., m], m >= 3; integers become f64
---@param x? any positions [m] or as y, ascending; also opts.x
---@param opts? table dx (1) · axis (-1) · initial (none), as cumulative_trapezoid
---@return any [..., m - 1], or [..., m] with initial
--- Errors: sizes of x and y differ, no samples. Source: SciPy cumulative_simpson; Cartwright, Simpson's rule cumulative
--- integration with MS Excel and irregularly-spaced data, 2017, equation 8.
---     mc.cumulative_simpson(mc.tensor{ 0, 1, 4, 9 })[3]  --> f64[]@cpu 9
function M.cumulative_simpson(y, x, opts)
  local t, p, o, a = samples('cumulative_simpson', y, x, opts, CUMULATIVE)
  local n, m = t.ndim, t.shape[t.ndim]
  if m == 0 then error(('cumulative_simpson: samples are %s; the axis is empty'):format(tensor.describe(t)), 2) end
  local real = real_of(t.dtype)
  if m < 3 then
    local pieces = cut(t, n, 1, m - 1) + cut(t, n, 2, m)
    pieces = p and F.multiply(pieces, methods.to(M.diff(p) * 0.5, real)) or pieces * (o.dx * 0.5)
    return accumulate('cumulative_simpson', pieces, o, a)
  end
  local shape = { unpack(t.shape) }
  shape[n] = m - 1
  local pieces = tensor.empty('cumulative_simpson', shape, t.dtype, 2, t._device)
  -- interval k of a parabola through samples k, k + 1, k + 2: first; interval k + 1 of it: second
  local f1, f2, f3 = cut(t, n, 1, m - 2), cut(t, n, 2, m - 1), cut(t, n, 3, m)
  local first, second
  if p then
    local h = M.diff(p)
    local q = p.ndim
    local h1, h2 = cut(h, q, 1, m - 2), cut(h, q, 2, m - 1)
    local function term(u, v) -- the interval of step u beside one of step v
      local r, s = u / (u + v), u / v
      return methods.to(u / 6 * (3 - r), real), methods.to(u / 6 * (3 + u * u / (v * (u + v)) + r), real),
        methods.to(-(u / 6) * s * r, real)
    end
    local a1, a2, a3 = term(h1, h2)
    local b1, b2, b3 = term(h2, h1)
    first, second = f1 * a1 + f2 * a2 + f3 * a3, f3 * b1 + f2 * b2 + f1 * b3
  else
    local d = o.dx / 3
    first = (f1 * (5 / 4) + f2 * 2 - f3 * (1 / 4)) * d
    second = (f3 * (5 / 4) + f2 * 2 - f1 * (1 / 4)) * d
  end
  methods.copy_(cut(pieces, n, 1, m - 2, 2), cut(first, n, 1, m - 2, 2))
  methods.copy_(cut(pieces, n, 2, m - 1, 2), cut(second, n, 1, m - 2, 2))
  methods.copy_(cut(pieces, n, m - 1, m - 1), cut(second, n, m - 2, m - 2))
  return accumulate('cumulative_simpson', pieces, o, a)
end

local ROMB = { dx = { 1, 'number' }, axis = { -1, 'integer' } }
--- Integral by Romberg's method: trapezoids of 1, 2, 4, ... intervals, extrapolated.
---@param y any [..., 2^k + 1]; integers become f64
---@param opts? table dx (1) · axis (-1)
---@return any [...]
--- Errors: a number of samples that is not 2^k + 1. Source: SciPy romb; Romberg, Vereinfachte numerische Integration,
--- 1955.
---     mc.romb(mc.tensor{ 0, 1, 16, 81, 256 })  --> f64[]@cpu 204.8
function M.romb(y, opts)
  local t, _, o = samples('romb', y, nil, opts, ROMB)
  local m = t.shape[t.ndim] - 1
  local k = 0
  while 2 ^ k < m do k = k + 1 end
  if m < 1 or 2 ^ k ~= m then
    error(('romb: samples are %s; the axis must have 2^k + 1 of them'):format(tensor.describe(t)), 2)
  end
  local n = t.ndim
  local before
  local dots = index.ellipsis
  local r = (t[{ dots, 1 }] + t[{ dots, m + 1 }]) * (0.5 * m * o.dx)
  local rows = { r }
  for i = 1, k do
    local step = m / 2 ^ i
    before = rows
    rows = { before[1] * 0.5 + F.sum(cut(t, n, 1 + step, m + 1 - step, 2 * step), -1) * (step * o.dx) }
    for j = 1, i do rows[j + 1] = rows[j] + (rows[j] - before[j]) * (1 / (4 ^ j - 1)) end
  end
  return rows[k + 1]
end

-- ---------------------------------------------------------------- phases

local UNWRAP = { axis = { -1, 'integer' }, discont = { nil, 'number' }, period = { 2 * math.pi, 'number > 0' } }
--- A phase made continuous: jumps of more than discont between neighbours are changed by multiples of the period to at
--- most half of it.
---@param x any [..., m] real; integers keep their dtype when the period is a whole number
---@param axis? integer (-1)
---@param opts? table period (2 pi) · discont: at least half the period, which is the default
---@return any [..., m]
--- Errors: complex input. Source: NumPy unwrap.
---     mc.unwrap(mc.tensor{ 0, 3, 6, 1 }, { period = 6 })  --> f64[4]@cpu { 0, 3, 6, 7 }
function M.unwrap(x, axis, opts)
  x = op.operand('unwrap', x, 2)
  local o = op.axis_option('unwrap', UNWRAP, axis, opts, 3)
  local kind = tensor.kind[x.dtype]
  if kind == 'c' then error(('unwrap: operand is %s; give real phases'):format(tensor.describe(x)), 2) end
  local whole = kind ~= 'f' and o.period % 1 == 0
  if kind ~= 'f' and (not whole or x.dtype == 'bool' or kind == 'u') then x, whole = methods.to(x, 'f64'), false end
  local a = tensor.axis('unwrap', x, o.axis, 3) + 1
  local m = x.shape[a]
  if m < 2 then return methods.copy(x) end
  local half = o.period / 2
  local discont = math.max(o.discont or half, half)
  local d = M.diff(x, a)
  local low = whole and -math.floor(o.period / 2) or -half
  local wrapped = F.remainder(d - low, o.period) + low
  if not whole or o.period % 2 == 0 then -- a jump of exactly half a period keeps its sign
    wrapped = F.where(F.logical_and(F.eq(wrapped, low), F.gt(d, 0)), -low, wrapped)
  end
  local fix = F.where(F.lt(F.abs(d), discont), 0, wrapped - d)
  local out = methods.copy(x)
  local rest = cut(out, a, 2, m)
  F.add(rest, methods.to(F.cumsum(fix, { axis = a }), x.dtype), { out = rest })
  return out
end

return M
