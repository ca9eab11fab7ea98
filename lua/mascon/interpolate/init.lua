-- interpolate/init.lua - values between samples: lines, steps, splines, grids.
--
-- interp (mc.interp), interp1d and grids stand here; splines in spline.lua. Computes in f64 and gives the dtype of the
-- samples, except interp and ppoly, which compute in the common dtype of their operands. Decides what happens outside
-- the samples.
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local into = require 'mascon.core.into'
local spline = require 'mascon.interpolate.spline'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

for _, name in ipairs { 'ppoly', 'tridiagonal', 'cubic_spline', 'pchip', 'akima' } do M[name] = spline[name] end

-- ---------------------------------------------------------------- lines

local INTERP = op.rows.interp.id
local function call(out, x, xp, fp, P) return lib.op_list(INTERP, out, { x, xp, fp }, P) end

local LINE = { left = { nil, 'any' }, right = { nil, 'any' }, period = { nil, 'number' }, out = { nil, 'tensor' } }

local function line(x, xp, fp, left, right, o)
  local P = lib.params()
  P.i[0], P.i[1], P.d[0], P.d[1] = left and 1 or 0, right and 1 or 0, left or 0, right or 0
  return op.run('interp', 3, o, 1024, call, x, xp, fp, P)
end

local function part(v, name)
  if v == nil or type(v) == 'number' then return name == 're' and v or v and 0 end
  return v[name]
end

--- Linear interpolation: the value at x of the broken line through the points (xp[k], fp[k]).
---@param x any f32|f64 of any shape
---@param xp any positions [k], ascending
---@param fp any values [k], real or complex
---@param opts? table left, right: values outside (fp[1], fp[k]) · period: positions are taken modulo it, sorted, and
---  nothing is outside · out
---@return any x's shape
--- Errors: positions that do not ascend, sizes that differ. Source: NumPy interp.
---     mc.interp(mc.tensor{ 0, 1.5, 9 }, mc.tensor{ 1, 2, 3 }, mc.tensor{ 3, 2, 0 })
---       --> f64[3]@cpu { 3.0000, 2.5000, 0.0000 }
function M.interp(x, xp, fp, opts)
  local o = check.opts('interp', opts, LINE, 3)
  x, xp, fp = unpack(op.operands('interp', { x, xp, fp }, 3, 2))
  if x._flags == 256 and xp._device ~= 0 then x = tensor.moved(methods.to(x, xp.dtype), xp._device, 2) end
  if x._flags == 256 and xp.dtype == 'f64' then x._flags = 0 end
  if tensor.kind[x.dtype] == 'c' or tensor.kind[xp.dtype] == 'c' then
    error(('interp: positions are %s and %s; give real ones'):format(tensor.describe(x), tensor.describe(xp)), 2)
  end
  if o.period then
    if o.period == 0 then error('interp: period is 0; give another', 2) end
    if xp.ndim ~= 1 or fp.ndim ~= 1 or xp:numel() ~= fp:numel() or xp:numel() == 0 then
      error(('interp: knots are %s and values %s; give one value per knot'):format(tensor.describe(xp),
        tensor.describe(fp)), 2)
    end
    local period, n = math.abs(o.period), xp:numel()
    local k = F.remainder(xp, period)
    local order = F.argsort(k)
    k, fp = F.take(k, order), F.take(fp, order)
    xp = F.concat { k[{ { n, n } }] - period, k, k[{ { 1, 1 } }] + period }
    fp = F.concat { fp[{ { n, n } }], fp, fp[{ { 1, 1 } }] }
    x = F.remainder(x, period)
    o.left, o.right = nil, nil
  end
  if tensor.kind[fp.dtype] ~= 'c' then
    for _, side in ipairs { 'left', 'right' } do
      if o[side] ~= nil then check.arg('interp', side, o[side], 'number', 3) end
    end
    return line(x, xp, fp, o.left, o.right, o)
  end
  if o.out then error(('interp: out= serves real values, these are %s'):format(tensor.describe(fp)), 2) end
  local re = line(x, xp, methods.view_real(fp), part(o.left, 're'), part(o.right, 're'), {})
  local im = F.where(F.isnan(x), 0, line(x, xp, methods.view_imag(fp), part(o.left, 'im'), part(o.right, 'im'), {}))
  local out = tensor.empty('interp', re.shape, re.dtype == 'f64' and 'c128' or 'c64', 2, re._device)
  methods.copy_(methods.view_real(out), re)
  methods.copy_(methods.view_imag(out), im)
  return out
end

-- ---------------------------------------------------------------- samples on one axis

local KINDS = { 'linear', 'nearest', 'nearest-up', 'previous', 'next', 'cubic', 'pchip', 'akima', 'makima' }
local ONE = { kind = { 'linear', KINDS }, axis = { -1, 'integer' }, fill_value = { nil, 'any' },
  derivative = { 0, 'integer >= 0' } }

--- Values of v [k, ...] picked at positions (1-based) of any shape.
local function picked(v, position)
  return F.take(v, position, 1)
end

--- Position (1-based) of the step value at q; NaN gives the first.
local function step_position(kind, knots, q, k)
  if kind == 'previous' then return F.clip(F.searchsorted(knots, q, { right = true }) - 1, 1, k) end
  if kind == 'next' then return F.clip(F.searchsorted(knots, q, { right = false }), 1, k) end
  local middle = (knots[{ { 2, k } }] + knots[{ { 1, k - 1 } }]) * 0.5
  if k == 1 then return F.searchsorted(knots, q) * 0 + 1 end
  return F.clip(F.searchsorted(middle, q, { right = kind == 'nearest-up' }), 1, k)
end

--- The axes of places moved from the front to where the interpolated axis of the samples was.
local function placed(y, q, axis)
  local before = axis - 1
  if before == 0 or q == 0 then return y end
  local p = {}
  for i = 1, before do p[i] = q + i end
  for i = 1, q do p[before + i] = i end
  for i = q + before + 1, y.ndim do p[i] = i end
  return methods.contiguous(methods.permute_dims(y, p))
end

--- Values between samples along one axis.
---@param x any positions [k], strictly ascending
---@param y any samples [..., k] along `axis`, real
---@param at any places, of any shape
---@param opts? table kind: 'linear', 'nearest' (halves down), 'nearest-up', 'previous', 'next', 'cubic' (spline,
---  not-a-knot), 'pchip', 'akima',
--- 'makima' ('linear') · axis (-1) · fill_value outside the positions: none is an error, 'extrapolate', a number, or
--- { below, above } · derivative: its order, for the smooth kinds and 'linear' (0)
---@return any the axis of y replaced by the axes of `at`; NaN at NaN
--- Errors: a place outside without fill_value, positions that do not ascend, sizes. Source: SciPy interp1d.
---     mc.interpolate.interp1d(mc.tensor{ 0, 1, 2 }, mc.tensor{ 0, 10, 40 }, 1.5)  --> f64[]@cpu 25
---     mc.interpolate.interp1d(mc.tensor{ 0, 1, 2 }, mc.tensor{ 0, 10, 40 }, mc.tensor{ 0.2, 1.9 },
---       { kind = 'nearest' })
---       --> f64[2]@cpu { 0, 40 }
function M.interp1d(x, y, at, opts)
  local fname = 'interpolate.interp1d'
  local o = check.opts(fname, opts, ONE, 3)
  local kind = o.kind
  local smooth = kind == 'cubic' or kind == 'pchip' or kind == 'akima' or kind == 'makima'
  local knots, v, h, from = spline.samples(fname, op.beside(fname, x, tensor.is(y) and y or at, 2),
    op.beside(fname, y, tensor.is(x) and x or at, 2), o, (smooth or kind == 'linear') and 2 or 1)
  at = op.beside(fname, at, knots, 2)
  if at._flags == 256 and knots._device ~= 0 then at = tensor.moved(methods.to(at, 'f64'), knots._device, 2) end
  if tensor.kind[at.dtype] == 'c' then
    error(('%s: places are %s; give real ones'):format(fname, tensor.describe(at)), 2)
  end
  local q = methods.to(at, 'f64')
  local k = knots:numel()
  local first, last = knots[1], knots[k]
  local below, above = F.lt(q, first), F.gt(q, last)
  if o.fill_value == nil and (op.found(below) or op.found(above)) then
    error(("%s: places outside [%g, %g]; give fill_value = 'extrapolate', a number or { below, above }"):format(fname,
      first:item(), last:item()), 2)
  end
  local out
  if smooth then
    local f
    local more = { axis = 1, extrapolate = true }
    if kind == 'cubic' then f = spline.cubic_spline(knots, v, more)
    elseif kind == 'pchip' then f = spline.pchip(knots, v, more)
    else f = spline.akima(knots, v, { axis = 1, extrapolate = true, method = kind }) end
    out = f(q, { derivative = o.derivative })
  elseif kind == 'linear' then
    local ones = {}
    for i = 1, v.ndim do ones[i] = i == 1 and k - 1 or 1 end
    local low = v[{ { 1, k - 1 } }]
    local slope = (v[{ { 2, k } }] - low) / methods.reshape(h, ones)
    out = spline.ppoly(q, knots, F.stack({ slope, low }, 1), { derivative = o.derivative })
  else
    if o.derivative > 0 then error(('%s: steps of kind %s have no derivative'):format(fname, kind), 2) end
    out = picked(v, step_position(kind, knots, q, k))
    local gone = F.isnan(q) -- and places before all samples have no previous one, those behind all no next one
    if kind == 'previous' then
      gone = F.logical_or(gone, below)
    elseif kind == 'next' then
      gone = F.logical_or(gone, above)
    end
    if not tensor.known(gone) or F.any(gone) then
      local s = { unpack(q.shape) }
      for i = q.ndim + 1, out.ndim do s[i] = 1 end
      out = F.where(methods.reshape(gone, s), 0 / 0, out)
    end
  end
  if o.fill_value ~= nil and o.fill_value ~= 'extrapolate' then
    local fill = o.fill_value
    if type(fill) ~= 'table' then fill = { fill, fill } end
    local s = { unpack(q.shape) }
    for i = q.ndim + 1, out.ndim do s[i] = 1 end
    for i, mask in ipairs { below, above } do
      check.arg(fname, 'fill_value', fill[i], 'number', 3)
      out = F.where(methods.reshape(mask, s), fill[i], out)
    end
  end
  return methods.to(placed(out, q.ndim, from.axis), from.dtype)
end

-- ---------------------------------------------------------------- grids

local GRID = { method = { 'linear', { 'linear', 'nearest' } }, fill_value = { nil, 'any' } }

--- Values between the points of a rectangular grid with any spacing.
---@param points table d vectors of ascending positions [n1], [n2], ...
---@param values any [n1, ..., nd, ...], real or complex
---@param at any places [..., d]
---@param opts? table method: 'linear' (in each axis) or 'nearest' (halves down) · fill_value outside the grid: none is
---  an error, a number, or
--- 'extrapolate'
---@return any [..., ...]: the axes of `at` but the last, then those of values after the first d; NaN where a coordinate
---  is NaN
--- Errors: a place outside without fill_value, sizes that differ. Source: SciPy RegularGridInterpolator.
---     mc.interpolate.regular_grid({ mc.tensor{ 0, 1 }, mc.tensor{ 0, 2 } }, mc.tensor{ { 0, 2 }, { 1, 3 } },
---       mc.tensor{ { 0.5, 1 } })
---       --> f64[1]@cpu { 1.5000 }
function M.regular_grid(points, values, at, opts)
  local fname = 'interpolate.regular_grid'
  local o = check.opts(fname, opts, GRID, 3)
  values, at = op.beside(fname, values, at, 2), op.beside(fname, at, values, 2)
  local kind = tensor.kind[values.dtype]
  if kind ~= 'f' and kind ~= 'c' then values = methods.to(values, 'f64') end
  if type(points) ~= 'table' or #points == 0 or #points > values.ndim then
    error(('%s: %s axes of points for values %s; give one vector for each of the first axes'):format(fname,
      type(points) == 'table' and #points or check.show(points), tensor.describe(values)), 2)
  end
  local d = #points
  if at.ndim == 0 or at.shape[at.ndim] ~= d then
    error(('%s: places are %s for %d axes; the last axis holds the coordinates'):format(fname, tensor.describe(at), d),
      2)
  end
  local places = methods.to(at, 'f64')
  local outside, gone
  local base, weight, stride, n = {}, {}, {}, {}
  local s = 1
  for i = d, 1, -1 do
    stride[i] = s
    s = s * values.shape[i]
  end
  local dots = require('mascon.core.index').ellipsis
  for i = 1, d do
    local p = methods.to(op.operand(fname, points[i], 2), 'f64')
    n[i] = p:numel()
    if p.ndim ~= 1 or n[i] ~= values.shape[i] then
      error(('%s: points of axis %d are %s for values %s; the sizes differ'):format(fname, i, tensor.describe(p),
        tensor.describe(values)), 2)
    end
    if n[i] > 1 and not op.certain(F.gt(p['2:'] - p[':-2'], 0)) then
      error(('%s: points of axis %d do not ascend strictly'):format(fname, i), 2)
    end
    local q = places[{ dots, i }]
    local out = F.logical_or(F.lt(q, p[1]), F.gt(q, p[n[i]]))
    outside = outside and F.logical_or(outside, out) or out
    gone = gone and F.logical_or(gone, F.isnan(q)) or F.isnan(q)
    local j = n[i] > 1 and F.clip(F.searchsorted(p, q, { right = true }) - 1, 1, n[i] - 1)
      or F.searchsorted(p, q) * 0 + 1
    local left = F.take(p, j)
    local t = n[i] > 1 and (q - left) / (F.take(p, j + 1) - left) or q * 0
    if o.method == 'nearest' then base[i] = n[i] > 1 and F.clip(j + methods.to(F.gt(t, 0.5), 'i64'), 1, n[i]) or j
    else base[i], weight[i] = j, t end
  end
  if o.fill_value == nil and op.found(outside) then
    error(("%s: places outside the grid; give fill_value = 'extrapolate' or a number"):format(fname), 2)
  end
  local rest = { s }
  for i = d + 1, values.ndim do rest[#rest + 1] = values.shape[i] end
  local flat = methods.reshape(values, rest)
  local function position(corner) -- bit i - 1 of corner: the upper neighbour on axis i
    local at_corner
    for i = 1, d do
      local up = math.floor(corner / 2 ^ (i - 1)) % 2
      local term = (base[i] - (1 - up)) * stride[i]
      at_corner = at_corner and at_corner + term or term
    end
    return at_corner + 1
  end
  local lead = { unpack(places.shape) }
  lead[#lead] = nil
  local wide = { unpack(lead) }
  for _ = d + 1, values.ndim do wide[#wide + 1] = 1 end
  local real = (values.dtype == 'c64' or values.dtype == 'f32') and 'f32'
    or (kind == 'f' and values.dtype ~= 'f64') and values.dtype or 'f64'
  local out
  if o.method == 'nearest' then
    out = F.take(flat, position(0), 1)
  else
    for corner = 0, 2 ^ d - 1 do
      local w
      local there = true
      for i = 1, d do
        local up = math.floor(corner / 2 ^ (i - 1)) % 2 == 1
        if up and n[i] == 1 then there = false end
        local f = up and weight[i] or 1 - weight[i]
        w = w and w * f or f
      end
      if there then
        local term = F.take(flat, position(corner), 1) * methods.reshape(methods.to(w, real), wide)
        out = out and F.add(out, term, { out = out }) or term
      end
    end
  end
  if not tensor.known(gone) or F.any(gone) then out = F.where(methods.reshape(gone, wide), 0 / 0, out) end
  if o.fill_value ~= nil and o.fill_value ~= 'extrapolate' then
    out = F.where(methods.reshape(outside, wide), o.fill_value, out)
  end
  return out
end

return into.all('interpolate.', M, op.functions)
