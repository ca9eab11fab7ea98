-- grid.lua - coordinates: grids from vectors, evenly spaced numbers on a logarithmic scale, flat positions and
-- positions along axes.
--
-- Grids are views where they can be. Positions count from 1 unless base = 0.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local placing = require 'mascon.core.place'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

local MESH = { indexing = { 'xy', { 'xy', 'ij' } }, sparse = { false, 'bool' } }
--- Coordinates of a grid from one vector for each axis.
---@param ... any vectors x1 [n1], x2 [n2], ...; last a table of options: indexing 'xy' (the default: the first two axes
--- of the results are swapped, n2 x n1 x n3 ..., as for pictures) or 'ij' (n1 x n2 x ...) · sparse: results keep size 1
--- off their own axis (false)
---@return any ... one tensor for each vector: read-only views
--- Errors: more than 8 vectors, one with two axes. Source: Python array API standard 2023.12, meshgrid.
---     mc.meshgrid(mc.tensor{ 1, 2 }, mc.tensor{ 5, 6, 7 }).shape[1]  --> 3
function M.meshgrid(...)
  local axes, opts = {}, nil
  for k = 1, select('#', ...) do
    local v = select(k, ...)
    if type(v) == 'table' and v[1] == nil and next(v) ~= nil then
      opts = v
    else
      axes[#axes + 1] = op.operand('meshgrid', v, 2)
    end
  end
  local o = check.opts('meshgrid', opts, MESH, 3)
  local n, s, place = #axes, {}, {}
  if n > 8 then error(('meshgrid: %d vectors; at most 8'):format(n), 2) end
  for i, v in ipairs(axes) do
    if v.ndim > 1 then error(('meshgrid: operand %d is %s; give vectors'):format(i, tensor.describe(v)), 2) end
    place[i] = (o.indexing == 'xy' and n > 1 and i <= 2) and 3 - i or i
    s[place[i]] = v:numel()
  end
  local out = {}
  for i, v in ipairs(axes) do
    local one = {}
    for k = 1, n do one[k] = k == place[i] and s[k] or 1 end
    local t = methods.reshape(v, one)
    out[i] = o.sparse and t or methods.broadcast_to(t, s)
  end
  return unpack(out)
end

--- Coordinates of a grid of ranges { first, last, step } (last included, step 1; or { first, last, n = count }),
--- stacked on a first axis.
---@param ... table one range for each axis
---@return any f64 [axes, n1, n2, ...]
--- Source: NumPy mgrid, with inclusive ranges.
---     mc.mgrid({ 1, 2 }, { 1, 3 }):sum()  --> f64[]@cpu 21
function M.mgrid(...)
  local axes = {}
  for k = 1, select('#', ...) do
    local r = select(k, ...)
    if type(r) ~= 'table' then
      error(('mgrid: range %d is %s; give { first, last, step }'):format(k, check.show(r)), 2)
    end
    if r.n then axes[k] = create.linspace(r[1], r[2], r.n) else axes[k] = create.arange(r[1], r[2], r[3] or 1) end
  end
  if #axes == 0 then error('mgrid: there are no ranges; give { first, last } for each axis', 2) end
  if #axes == 1 then return methods.reshape(axes[1], { 1, -1 }) end
  axes[#axes + 1] = { indexing = 'ij' }
  return F.stack { M.meshgrid(unpack(axes)) }
end

local INDICES = { sparse = { false, 'bool' }, base = { 1, { 0, 1 } } }
--- Positions along each axis of a tensor of a shape.
---@param shape table sizes
---@param opts? table base (1) · sparse: a list of tensors with size 1 off their own axis (false)
---@return any i64 [axes, n1, n2, ...]
--- Source: NumPy indices.
---     mc.indices{ 1, 3 }[2]  --> i64[1,3]@cpu { { 1, 2, 3 } }
function M.indices(shape, opts)
  local o = check.opts('indices', opts, INDICES, 3)
  tensor.dims('indices', shape, 3)
  if #shape > 7 then error(('indices: the shape has %d axes; at most 7'):format(#shape), 2) end
  local axes = {}
  for i, n in ipairs(shape) do axes[i] = create.arange(o.base, o.base + n - 1, 1, { dtype = 'i64' }) end
  if #shape == 0 then return o.sparse and {} or create.zeros({ 0 }, { dtype = 'i64' }) end
  axes[#axes + 1] = { indexing = 'ij', sparse = o.sparse }
  local list = { M.meshgrid(unpack(axes)) }
  return o.sparse and list or F.stack(list)
end

local BASE = { base = { 1, { 0, 1 } } }
--- Flat positions (row by row) as positions along each axis of a shape.
---@param index any integers: positions among the elements
---@param shape table sizes
---@param opts? table base of both (1)
---@return any ... i64, one tensor for each axis
--- Errors: a position outside the shape. Source: NumPy unravel_index.
---     mc.unravel_index(mc.tensor({ 1, 6 }, { dtype = 'i64' }), { 2, 3 })  --> i64[2]@cpu { 1, 2 }, i64[2]@cpu { 1, 3 }
function M.unravel_index(index, shape, opts)
  local o = check.opts('unravel_index', opts, BASE, 3)
  index = op.operand('unravel_index', index, 2)
  index = M.positions('unravel_index', index)
  tensor.dims('unravel_index', shape, 3)
  local total = 1
  for _, n in ipairs(shape) do total = total * n end
  M.within('unravel_index', index, o.base, total, 3)
  local rest, out = o.base == 0 and index or index - 1, {}
  for i = #shape, 1, -1 do
    local r = F.remainder(rest, shape[i])
    out[i] = o.base == 0 and r or r + 1
    if i > 1 then rest = F.floor_divide(rest, shape[i]) end
  end
  return unpack(out)
end

--- Integer positions as i64; numbers are whole.
function M.positions(fname, t)
  local k = tensor.kind[t.dtype]
  if t._flags == 256 and op.certain(F.eq(F.floor(t), t)) then return methods.to(t, 'i64') end -- a plain number
  if k == 'f' and F.all(F.eq(F.floor(t), t)) and t:numel() == 0 then return methods.to(t, 'i64') end
  if k ~= 'i' and k ~= 'u' then
    error(('%s: positions are %s; give an integer tensor'):format(fname, tensor.describe(t)), 3)
  end
  return methods.to(t, 'i64')
end

--- Raises when a position is outside [base, base + n - 1].
function M.within(fname, t, base, n, level)
  if t:numel() == 0 or not tensor.known(t) then return end
  local lo, hi = tonumber(t:min():item()), tonumber(t:max():item())
  if lo < base or hi > base + n - 1 then
    error(('%s: position %d is outside %d elements; positions run from %d to %d'):format(fname, lo < base and lo or hi,
      n, base, base + n - 1), level)
  end
end

local RAVEL = { base = { 1, { 0, 1 } }, mode = { 'raise', { 'raise', 'wrap', 'clip' } } }
--- Positions along each axis as flat positions (row by row).
---@param list table one integer tensor (or number) for each axis; they broadcast
---@param shape table sizes
---@param opts? table base of both (1) · mode for positions outside: 'raise', 'wrap' or 'clip'
---@return any i64
--- Errors: outside with 'raise'. Source: NumPy ravel_multi_index.
---     mc.ravel_multi_index({ 2, 3 }, { 2, 3 })  --> i64[]@cpu 6
function M.ravel_multi_index(list, shape, opts)
  local o = check.opts('ravel_multi_index', opts, RAVEL, 3)
  tensor.dims('ravel_multi_index', shape, 3)
  if type(list) ~= 'table' or #list ~= #shape or #list == 0 then
    error(('ravel_multi_index: %s lists of positions for a shape of %d axes; give one for each'):format(
      type(list) == 'table' and #list or check.show(list), #shape), 2)
  end
  local flat
  for i, n in ipairs(shape) do
    local p = M.positions('ravel_multi_index', op.operand('ravel_multi_index', list[i], 2))
    if o.mode == 'raise' then M.within('ravel_multi_index', p, o.base, n, 3) end
    if o.base == 1 then p = p - 1 end
    if o.mode == 'wrap' then p = F.remainder(p, n) elseif o.mode == 'clip' then p = F.clip(p, 0, n - 1) end
    flat = flat and flat * n + p or p
  end
  return o.base == 1 and flat + 1 or flat
end

local LOG = { base = { 10, 'number' }, endpoint = { true, 'bool' }, dtype = { nil, 'string' },
  device = placing.OPTION }
--- n numbers base^start, ..., base^stop, even on a logarithmic scale.
---@param start number exponent of the first
---@param stop number exponent of the last
---@param n? integer (50)
---@param opts? table base (10) · endpoint: stop is among them (true) · dtype ('f64') · device
---@return any [n]
--- Source: NumPy logspace.
---     mc.logspace(0, 3, 4)  --> f64[4]@cpu { 1, 10, 100, 1000 }
function M.logspace(start, stop, n, opts)
  if type(n) == 'table' then n, opts = nil, n end
  local o = check.opts('logspace', opts, LOG, 3)
  local e = create.linspace(start, stop, n or 50, { endpoint = o.endpoint, device = o.device })
  local y = F.pow(create.full({}, o.base, { device = o.device }), e)
  return o.dtype and methods.to(y, o.dtype) or y
end

local GEOM = { endpoint = { true, 'bool' }, dtype = { nil, 'string' }, device = placing.OPTION }
--- n numbers from start to stop, both included, each the same multiple of the one before.
---@param start number not 0
---@param stop number of the sign of start
---@param n? integer (50)
---@param opts? table endpoint: stop is among them (true) · dtype ('f64') · device
---@return any [n]
--- Errors: 0 or signs that differ. Source: NumPy geomspace.
---     mc.geomspace(1, 8, 4)  --> f64[4]@cpu { 1, 2, 4, 8 }
function M.geomspace(start, stop, n, opts)
  if type(n) == 'table' then n, opts = nil, n end
  local o = check.opts('geomspace', opts, GEOM, 3)
  check.arg('geomspace', 'start', start, 'number', 3)
  check.arg('geomspace', 'stop', stop, 'number', 3)
  n = n or 50
  check.arg('geomspace', 'n', n, 'integer >= 0', 3)
  if start * stop <= 0 then
    error(('geomspace: ends are %g and %g; both must have one sign and not be 0'):format(start, stop), 2)
  end
  local sign = start < 0 and -1 or 1
  local a, b = math.log10(math.abs(start)), math.log10(math.abs(stop))
  local e = create.linspace(a, b, n, { endpoint = o.endpoint, device = o.device })
  local y = F.pow(create.full({}, 10, { device = o.device }), e) * sign
  if n > 0 then y[1] = start end
  if n > 1 and o.endpoint then y[n] = stop end
  return o.dtype and methods.to(y, o.dtype) or y
end

placing.made_by(M, 'logspace geomspace')

return M
