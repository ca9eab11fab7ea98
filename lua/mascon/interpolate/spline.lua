-- spline.lua - piecewise polynomials: cubic splines, monotone and local cubics, their derivatives and integrals.
--
-- A piecewise polynomial is a table { knots = f64 [k], coef = f64 [c, k - 1, ...], axis = } that is called with the
-- places to look at: s(x), s(x, { derivative = 1 }), s:derivative(n), s:antiderivative(n), s:integrate(a, b). Holds
-- slopes and end conditions; evaluation and the equations of the cubic spline are C ops.
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

--- Rows first..last of the first axis.
local function rows(t, first, last)
  if last < first then return t[{ { 1, 0 } }] end
  return t[{ { first, last } }]
end

-- ---------------------------------------------------------------- the object

local PPOLY, TRI = op.rows.ppoly.id, op.rows.tridiagonal.id
local function call_ppoly(out, a, b, c, P) return lib.op_list(PPOLY, out, { a, b, c }, P) end
local function call_tri(out, a, b, P) return lib.op_list(TRI, out, { a, b }, P) end

local OUT = { out = { nil, 'tensor' } }

--- Solutions of tridiagonal systems: row i is bands[1, i] x[i - 1] + bands[2, i] x[i] + bands[3, i] x[i + 1] = b[i].
---@param bands any f64 [3, n]; the first entry below and the last above the diagonal are not used
---@param b any f64 [n, ...]
---@return any f64 [n, ...]
--- Errors: shapes, a pivot that is 0 (rows are not exchanged: the diagonal should dominate).
--- Source: Matrix computations, 2013, section 4.3.
---     mc.interpolate.tridiagonal(mc.tensor{ { 0, 1 }, { 2, 2 }, { 1, 0 } }, mc.tensor{ 3, 3 })
---       --> f64[2]@cpu { 1, 1 }
function M.tridiagonal(bands, b, opts)
  local fname = 'interpolate.tridiagonal'
  local o = check.opts(fname, opts, OUT, 3)
  return op.run(fname, 2, o, 1024, call_tri, op.beside(fname, bands, b, 2),
    op.beside(fname, b, bands, 2), lib.params())
end

local EVAL = { derivative = { 0, 'integer >= 0' }, extrapolate = { nil, 'bool | string' }, out = { nil, 'tensor' } }

--- A piecewise polynomial at x: sum_p coef[p, j] (x - knots[j])^(c - p) for knots[j] <= x < knots[j + 1].
---@param x any f32|f64 of any shape
---@param knots any [k], strictly ascending
---@param coef any [c, k - 1, ...], highest power first
---@param opts? table derivative: its order (0) · extrapolate: the outermost pieces go on (true), else NaN · out
---@return any x's axes, then those of coef after the second
--- Errors: knots that do not ascend, shapes. Source: SciPy PPoly.
---     mc.interpolate.ppoly(2, mc.tensor{ 0, 4 }, mc.tensor{ { 1 }, { 0 }, { 0 } })  --> f64[]@cpu 4
function M.ppoly(x, knots, coef, opts)
  local fname = 'interpolate.ppoly'
  local o = check.opts(fname, opts, EVAL, 3)
  x, knots, coef = unpack(op.operands(fname, { x, knots, coef }, 3, 2))
  if x._flags == 256 and knots._device ~= 0 then x = tensor.moved(methods.to(x, 'f64'), knots._device, 2) end
  local P = lib.params()
  P.i[0], P.i[1] = o.derivative, o.extrapolate == false and 1 or 0
  return op.run(fname, 2, o, 1024, call_ppoly, x, knots, coef, P)
end

local Piecewise = {}
Piecewise.__index = Piecewise

--- The places of one period, for extrapolate = 'periodic'.
local function folded(s, x)
  local n = s.knots:numel()
  local first, last = s.knots[1], s.knots[n]
  return F.remainder(x - first, last - first) + first
end

local function evaluate(s, x, opts)
  local fname = 'interpolate.spline'
  local o = check.opts(fname, opts, EVAL, 3)
  x = op.beside(fname, x, s.knots, 3, true)
  local e = o.extrapolate
  if e == nil then e = s.extrapolate end
  local dtype = tensor.kind[x.dtype] == 'f' and x.dtype or 'f64'
  if e == 'periodic' then x = folded(s, x) end
  local y = M.ppoly(methods.to(x, 'f64'), s.knots, s.coef, { derivative = o.derivative, extrapolate = e ~= false })
  y = methods.to(y, s.dtype == 'f64' and 'f64' or tensor.promote_dtypes(dtype, s.dtype))
  local before, q = s.axis - 1, x.ndim -- axes of y before the interpolated one come back in front
  if before == 0 or q == 0 then return y end
  local p = {}
  for i = 1, before do p[i] = q + i end
  for i = 1, q do p[before + i] = i end
  for i = q + before + 1, y.ndim do p[i] = i end
  return methods.contiguous(methods.permute_dims(y, p))
end
Piecewise.__call = evaluate

local function piecewise(knots, coef, from)
  return setmetatable({ knots = knots, coef = coef, axis = from.axis, extrapolate = from.extrapolate,
    dtype = from.dtype }, Piecewise)
end
M.piecewise = piecewise

--- The n-th derivative (default the first) as a piecewise polynomial.
function Piecewise:derivative(n)
  n = n or 1
  check.arg('interpolate.derivative', 'n', n, 'integer >= 0', 3)
  local coef = self.coef
  for _ = 1, n do
    local c = coef.shape[1]
    if c == 1 then coef = create.zeros_like(coef) break end
    local s = {}
    for i = 1, coef.ndim do s[i] = i == 1 and c - 1 or 1 end
    coef = rows(coef, 1, c - 1) * methods.reshape(create.arange(c - 1, 1, -1, { device = coef.device }), s)
  end
  return piecewise(self.knots, coef, self)
end

--- The n-fold integral (default once) that is 0 at the first knot, as a piecewise polynomial.
function Piecewise:antiderivative(n)
  n = n or 1
  check.arg('interpolate.antiderivative', 'n', n, 'integer >= 0', 3)
  local coef, k = self.coef, self.knots:numel()
  for _ = 1, n do
    local shape = { unpack(coef.shape) }
    local c = shape[1]
    local s = {}
    for i = 1, #shape do s[i] = i == 1 and c or 1 end
    shape[1] = c + 1
    local out = create.zeros(shape, { device = coef.device })
    methods.copy_(rows(out, 1, c), coef / methods.reshape(create.arange(c, 1, -1, { device = coef.device }), s))
    -- each piece begins where the one before ends
    local ones = {}
    for i = 1, coef.ndim - 1 do ones[i] = i == 1 and k - 1 or 1 end
    local step = methods.reshape(self.knots['2:'] - self.knots[':-2'], ones)
    local total = rows(out, 1, 1)[1] * step
    for p = 2, c do total = (total + out[p]) * step end
    if k > 2 then methods.copy_(rows(out[c + 1], 2, k - 1), F.cumsum(rows(total, 1, k - 2), { axis = 1 })) end
    coef = out
  end
  local from = { axis = self.axis, extrapolate = self.extrapolate, dtype = self.dtype }
  if from.extrapolate == 'periodic' then from.extrapolate = true end
  return piecewise(self.knots, coef, from)
end

--- The integral from a to b.
function Piecewise:integrate(a, b, extra)
  if extra ~= nil then error(('spline:integrate: %s is one argument too many'):format(check.show(extra)), 2) end
  local s = self:antiderivative()
  return evaluate(s, b) - evaluate(s, a)
end

-- ---------------------------------------------------------------- samples

--- Knots f64 [k], samples f64 [k, ...] with the axis first, and what the object keeps of them.
local function samples(fname, x, y, o, least)
  x, y = op.beside(fname, x, y, 3), op.beside(fname, y, x, 3)
  if tensor.kind[x.dtype] == 'c' or tensor.kind[y.dtype] == 'c' then
    error(('%s: samples are %s at %s; give real ones'):format(fname, tensor.describe(y), tensor.describe(x)), 3)
  end
  if y.ndim == 0 or x.ndim ~= 1 then
    error(('%s: samples are %s at %s; give positions [k] and samples with that axis'):format(fname, tensor.describe(y),
      tensor.describe(x)), 3)
  end
  local a = tensor.axis(fname, y, o.axis, 4) + 1
  local k = x:numel()
  if y.shape[a] ~= k then
    error(('%s: samples are %s at %s; the sizes on the axis differ'):format(fname, tensor.describe(y),
      tensor.describe(x)), 3)
  end
  if k < least then
    error(('%s: samples are %s; at least %d are needed'):format(fname, tensor.describe(y), least), 3)
  end
  local from = { axis = a, extrapolate = o.extrapolate, dtype = tensor.kind[y.dtype] == 'f' and y.dtype or 'f64' }
  local knots = methods.to(x, 'f64')
  local h = knots['2:'] - knots[':-2']
  if not op.certain(F.gt(h, 0)) then
    error(('%s: positions %s do not ascend strictly; sort them first'):format(fname, tensor.describe(x)), 3)
  end
  local v = methods.to(a == 1 and y or methods.moveaxis(y, a, 1), 'f64')
  return methods.copy(knots), v, h, from
end
M.samples = samples

--- A vector along the first axis of rank n.
local function upright(t, n)
  local s = { t:numel() }
  for i = 2, n do s[i] = 1 end
  return methods.reshape(t, s)
end

--- The cubics with values v [k, ...] and slopes d [k, ...] at the knots.
local function hermite(knots, v, d, h, from)
  local n, k = v.ndim, v.shape[1]
  local hh = upright(h, n)
  local slope = (rows(v, 2, k) - rows(v, 1, k - 1)) / hh
  local d0, d1 = rows(d, 1, k - 1), rows(d, 2, k)
  local t = (d0 + d1 - slope * 2) / hh
  return piecewise(knots, F.stack({ t / hh, (slope - d0) / hh - t, d0, rows(v, 1, k - 1) }, 1), from)
end

-- ---------------------------------------------------------------- cubic spline

local CUBIC = { axis = { -1, 'integer' }, bc = { 'not-a-knot', 'string | table' },
  extrapolate = { nil, 'bool | string' } }
local ENDS = { ['not-a-knot'] = true, natural = { 2, 0 }, clamped = { 1, 0 }, periodic = true }

--- Slopes of the periodic spline: k - 1 unknowns in a ring, by the Sherman-Morrison formula on one tridiagonal matrix.
local function periodic_slopes(v, h, slope)
  local n, k = v.ndim, v.shape[1]
  local m = k - 1
  local hh = upright(h, n)
  if m == 2 then -- three samples: the ring of two unknowns closes on itself
    local h1, h2 = h[1], h[2]
    local s = (slope[1] * h2 + slope[2] * h1) * (1 / (h1 + h2))
    return F.stack({ s, s, s }, 1)
  end
  local before = F.roll(h, 1)
  local b = (hh * F.roll(slope, { 1, axis = 1 }) + upright(before, n) * slope) * 3
  -- row i: h[i] s[i - 1] + 2 (h[i - 1] + h[i]) s[i] + h[i - 1] s[i + 1]
  local lower, diagonal, upper = h, (h + before) * 2, before
  local corner_up, corner_down = lower[1], upper[m] -- (1, m) and (m, 1)
  local gamma = -diagonal[1]
  local d = methods.copy(diagonal)
  d[1] = d[1] - gamma
  d[m] = d[m] - corner_up * corner_down / gamma
  local u = create.zeros({ m }, { device = v.device })
  u[1], u[m] = gamma, corner_down
  local bands = F.stack { lower, d, upper }
  local y, q = M.tridiagonal(bands, b), M.tridiagonal(bands, u)
  local w = corner_up / gamma
  local top = (y[1] + y[m] * w) / (1 + q[1] + w * q[m])
  local s = y - upright(q, n) * methods.expand_dims(top, 1)
  return F.concat { s, rows(s, 1, 1) }
end

--- Slopes of the cubic spline with continuous second derivative.
local function cubic_slopes(fname, v, h, bc)
  local n, k = v.ndim, v.shape[1]
  local hh = upright(h, n)
  local slope = (rows(v, 2, k) - rows(v, 1, k - 1)) / hh
  if bc[1] == 'periodic' then
    if not op.certain(F.eq(v[1], v[k])) then
      error(fname .. ': first and last samples differ; a periodic spline needs them equal', 4)
    end
    if k == 2 then return create.zeros_like(v) end
    return periodic_slopes(v, h, slope)
  end
  local function both(name) return bc[1] == name and bc[2] == name end
  if k == 2 then -- not-a-knot: a line
    for i = 1, 2 do if bc[i] == 'not-a-knot' then bc[i] = { 1, slope[1] } end end
  elseif k == 3 and both 'not-a-knot' then -- the parabola through the three
    local h1, h2 = h[1], h[2]
    local bend = (slope[2] - slope[1]) / (h1 + h2)
    return F.stack({ slope[1] - bend * h1, slope[1] + bend * h1, slope[2] + bend * h2 }, 1)
  end
  local bands = create.zeros({ 3, k }, { device = v.device })
  local b = create.zeros({ unpack(v.shape) }, { device = v.device })
  if k > 2 then
    local left, right = h[':-2'], h['2:']
    bands[{ 1, { 2, k - 1 } }] = right
    bands[{ 2, { 2, k - 1 } }] = (left + right) * 2
    bands[{ 3, { 2, k - 1 } }] = left
    methods.copy_(rows(b, 2, k - 1),
      (upright(right, n) * rows(slope, 1, k - 2) + upright(left, n) * rows(slope, 2, k - 1)) * 3)
  end
  for side = 1, 2 do
    local e = bc[side]
    local at, near, away = side == 1 and 1 or k, side == 1 and 1 or k - 1, side == 1 and 2 or k - 2
    local off = side == 1 and 3 or 1 -- the band that leads inwards
    if e == 'not-a-knot' then
      local h1, h2 = h[near], h[away]
      bands[{ 2, at }], bands[{ off, at }] = h2, h1 + h2
      methods.copy_(b[at], (slope[near] * ((h1 + 2 * (h1 + h2)) * h2) + slope[away] * (h1 * h1)) / (h1 + h2))
    elseif e[1] == 1 then
      bands[{ 2, at }] = 1
      methods.copy_(b[at], e[2])
    else
      local h1 = h[near]
      bands[{ 2, at }], bands[{ off, at }] = 2 * h1, h1
      local bend = e[2] * (0.5 * h1 * h1)
      methods.copy_(b[at], (v[side == 1 and 2 or k] - v[side == 1 and 1 or k - 1]) * 3 + (side == 1 and -bend or bend))
    end
  end
  return M.tridiagonal(bands, b)
end

--- End conditions from their names or { order, value }.
local function ends(fname, bc)
  if type(bc) == 'string' then bc = { bc, bc } end
  local out = {}
  for i = 1, 2 do
    local e = bc[i]
    if type(e) == 'string' then
      if not ENDS[e] then
        local near = check.nearest(e, ENDS)
        error(('%s: option bc is %s; choose not-a-knot, natural, clamped, periodic or { order, value } for each end%s')
          :format(fname, check.show(e), near and (' (did you mean %q?)'):format(near) or ''), 4)
      end
      out[i] = type(ENDS[e]) == 'table' and ENDS[e] or e
    elseif type(e) == 'table' and (e[1] == 1 or e[1] == 2) and (type(e[2]) == 'number' or tensor.is(e[2])) then
      out[i] = e
    else
      error(('%s: end condition %d is %s; give a name or { order, value } with order 1 or 2'):format(fname, i,
        check.show(e)), 4)
    end
  end
  if (out[1] == 'periodic') ~= (out[2] == 'periodic') then
    error(fname .. ': a periodic spline is periodic at both ends', 4)
  end
  return out
end

--- Cubic spline through samples, twice continuously differentiable.
---@param x any positions [k], strictly ascending
---@param y any samples [..., k] along `axis`
---@param opts? table axis (-1) · bc: end conditions, one for both or a list of two: 'not-a-knot' (the first two and the
--- last two pieces are one cubic; the default), 'natural' (second derivative 0), 'clamped' (slope 0), { 1, slope },
--- { 2, second derivative }, 'periodic' · extrapolate: beyond the ends true (the last cubic goes on), false (NaN) or
--- 'periodic' (true; 'periodic' with that bc)
---@return table s: s(x), s(x, { derivative = n }), s:derivative(n), s:antiderivative(n), s:integrate(a, b); s.knots,
---  s.coef [4, k - 1, ...]
--- Errors: positions that do not ascend, sizes that differ. Source: de Boor, A practical guide to splines, 2001,
--- chapter 4; conditions as SciPy 1.17 CubicSpline.
---     mc.interpolate.cubic_spline(mc.tensor{ 0, 1, 2, 3 }, mc.tensor{ 0, 1, 8, 27 })(1.5)  --> f64[]@cpu 3.375
function M.cubic_spline(x, y, opts)
  local fname = 'interpolate.cubic_spline'
  local o = check.opts(fname, opts, CUBIC, 3)
  local bc = ends(fname, o.bc)
  if o.extrapolate == nil then o.extrapolate = bc[1] == 'periodic' and 'periodic' or true end
  local knots, v, h, from = samples(fname, x, y, o, 2)
  return hermite(knots, v, cubic_slopes(fname, v, h, bc), h, from)
end

-- ---------------------------------------------------------------- monotone and local cubics

local LOCAL = { axis = { -1, 'integer' }, extrapolate = { true, 'bool | string' } }

--- Slope at an end from the two nearest pieces: steps h0, h1, their slopes m0, m1; shape preserved.
local function pchip_end(h0, h1, m0, m1)
  local d = (m0 * (2 * h0 + h1) - m1 * h0) / (h0 + h1)
  local out = F.ne(F.sign(d), F.sign(m0))
  local steep = F.logical_and(F.ne(F.sign(m0), F.sign(m1)), F.gt(F.abs(d), F.abs(m0) * 3))
  return F.where(out, 0, F.where(steep, m0 * 3, d))
end

--- Cubic through samples that rises and falls only where they do (PCHIP): no overshoot, first derivative continuous.
---@param x any positions [k], strictly ascending
---@param y any samples [..., k] along `axis`
---@param opts? table axis (-1) · extrapolate as cubic_spline (true)
---@return table as cubic_spline
--- Errors: as cubic_spline. Source: A method for constructing local monotone piecewise cubic interpolants, 1984; ends:
--- Moler, Numerical computing with Matlab, 2004, section 3.6.
---     mc.interpolate.pchip(mc.tensor{ 0, 1, 2 }, mc.tensor{ 0, 1, 1 })(1.5)  --> f64[]@cpu 1
function M.pchip(x, y, opts)
  local fname = 'interpolate.pchip'
  local o = check.opts(fname, opts, LOCAL, 3)
  local knots, v, h, from = samples(fname, x, y, o, 2)
  local n, k = v.ndim, v.shape[1]
  local slope = (rows(v, 2, k) - rows(v, 1, k - 1)) / upright(h, n)
  if k == 2 then return hermite(knots, v, F.concat { slope, slope }, h, from) end
  local m0, m1 = rows(slope, 1, k - 2), rows(slope, 2, k - 1)
  local h0, h1 = h[':-2'], h['2:']
  local w1, w2 = upright(h1 * 2 + h0, n), upright(h1 + h0 * 2, n)
  local flat = F.logical_or(F.ne(F.sign(m0), F.sign(m1)), F.logical_or(F.eq(m0, 0), F.eq(m1, 0)))
  local mean = (w1 + w2) / (w1 / F.where(flat, 1, m0) + w2 / F.where(flat, 1, m1)) -- weighted harmonic
  local inner = F.where(flat, 0, mean)
  local first = pchip_end(h[1], h[2], slope[1], slope[2])
  local last = pchip_end(h[k - 1], h[k - 2], slope[k - 1], slope[k - 2])
  local d = F.concat { methods.expand_dims(first, 1), inner, methods.expand_dims(last, 1) }
  return hermite(knots, v, d, h, from)
end

local AKIMA = { axis = { -1, 'integer' }, extrapolate = { false, 'bool | string' },
  method = { 'akima', { 'akima', 'makima' } } }

--- Cubic through samples whose slopes look at two neighbours on each side: few wiggles, first derivative continuous.
---@param x any positions [k], strictly ascending
---@param y any samples [..., k] along `axis`
---@param opts? table axis (-1) · method: 'akima' or 'makima' (flat where samples are; fewer overshoots) · extrapolate
---  as cubic_spline (false)
---@return table as cubic_spline
--- Errors: as cubic_spline. Source: Akima, A new method of interpolation and smooth curve fitting based on local
--- procedures, 1970;
--- 'makima': the weights of MATLAB's makima.
---     mc.interpolate.akima(mc.tensor{ 0, 1, 2, 3 }, mc.tensor{ 0, 1, 2, 3 })(1.5)  --> f64[]@cpu 1.5
function M.akima(x, y, opts)
  local fname = 'interpolate.akima'
  local o = check.opts(fname, opts, AKIMA, 3)
  local knots, v, h, from = samples(fname, x, y, o, 2)
  local n, k = v.ndim, v.shape[1]
  local slope = (rows(v, 2, k) - rows(v, 1, k - 1)) / upright(h, n)
  if k == 2 then return hermite(knots, v, F.concat { slope, slope }, h, from) end
  -- two slopes more on each side, continued linearly
  local function at(i) return rows(slope, i, i) end
  local a1 = at(1) * 2 - at(2)
  local a0 = a1 * 2 - at(1)
  local b1 = at(k - 1) * 2 - at(k - 2)
  local b2 = b1 * 2 - at(k - 1)
  local m = F.concat { a0, a1, slope, b1, b2 } -- [k + 3, ...]
  local dm = F.abs(rows(m, 2, k + 3) - rows(m, 1, k + 2))
  if o.method == 'makima' then dm = dm + F.abs(rows(m, 2, k + 3) + rows(m, 1, k + 2)) * 0.5 end
  local f1, f2 = rows(dm, 3, k + 2), rows(dm, 1, k)
  local f12 = f1 + f2
  local m2, m3 = rows(m, 2, k + 1), rows(m, 3, k + 2)
  -- where both weights vanish the slope is open: the mean of the outer two
  local sure = F.gt(f12, F.max(f12, { 1, keepdim = true }) * 1e-9)
  local d = F.where(sure, m2 + f2 / F.where(sure, f12, 1) * (m3 - m2), (rows(m, 4, k + 3) + rows(m, 1, k)) * 0.5)
  return hermite(knots, v, d, h, from)
end

return M
