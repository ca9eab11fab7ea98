-- batch.lua - what an op becomes when some of its operands carry one more axis in front.
--
-- rule(n, x, batched, size) -> results with a batch axis in front, or nil: no rule, run the elements one by one. n: the node; x: its operands,
-- with batched[i] those that have `size` copies along a new first axis. By family of the op table. May not know graphs.
local mc = require 'mascon'
local launch = require 'mascon.compile.launch'
local tensor = require 'mascon.tensor'
local params_t = require('ffi').typeof 'mc_params'

local R = {}

--- The tensor with axes of size 1 after the first so that it has `rank` axes.
local function lift(t, rank, batched)
  if t.ndim == rank then return t end
  local shape = {}
  for _ = 1, rank - t.ndim do shape[#shape + 1] = 1 end
  for i = 1, t.ndim do shape[#shape + 1] = t.shape[i] end
  if batched then shape[1], shape[rank - t.ndim + 1] = t.shape[1], 1 end
  return t:reshape(shape)
end
R.lift = lift

--- The tensor with a batch axis whether it had one or not.
local function spread(t, batched, size)
  if batched then return t end
  local shape = { size }
  for i = 1, t.ndim do shape[i + 1] = t.shape[i] end
  return mc.broadcast_to(t, shape)
end
R.spread = spread

--- Parameters with all axes moved by one; `default` (counted from 0, negative from the end) stands in when none was given.
local function moved(n, default)
  local p = params_t(n.params)
  if p.naxes >= 1 then
    for i = 0, p.naxes - 1 do p.axes[i] = p.axes[i] + (p.axes[i] >= 0 and 1 or 0) end
  elseif default then
    p.naxes, p.axes[0] = 1, default >= 0 and default + 1 or default
  end
  return p
end

local function call(n, x, p) return launch.call(n.row, #n.outs, x, p or n.params) end

-- ---------------------------------------------------------------- elementwise

local function elementwise(n, x, batched)
  local rank = #n.outs[1].shape + 1
  local y = {}
  for i, t in ipairs(x) do
    if batched[i] then
      if n.ins[i].weak and n.compute >= 0 and t._dtype ~= n.compute then t = t:to(tensor.name[n.compute]) end -- a number stays a number in promotion
      y[i] = lift(t, rank, true)
    else
      y[i] = t
    end
  end
  return call(n, y)
end
R.unary, R.binary, R.ternary, R.where = elementwise, elementwise, elementwise, elementwise

-- ---------------------------------------------------------------- ops along axes

function R.reduce(n, x)
  local p = params_t(n.params)
  local t = x[1]
  local rank = t.ndim - 1
  if p.naxes >= 0 then return call(n, x, moved(n)) end
  if rank == 0 then t = t:reshape(t.shape[1], 1) end -- a reduction of one number
  if n.row.result == 'i64' and rank > 1 then t = t:reshape(t.shape[1], -1) end -- positions count through all axes
  p.naxes = t.ndim - 1
  for i = 1, t.ndim - 1 do p.axes[i - 1] = i end
  local out = call(n, { t }, p)
  local shape = { t.shape[1] }
  for i, s in ipairs(n.outs[1].shape) do shape[i + 1] = s end
  for i = 1, #out do out[i] = out[i]:reshape(shape) end
  return out
end
function R.softmax(n, x)
  local p = moved(n)
  if p.naxes < 0 then
    p.naxes = x[1].ndim - 1
    for i = 1, p.naxes do p.axes[i - 1] = i end
    if p.naxes == 0 then return nil end
  end
  return call(n, x, p)
end

--- Families of one operand and one axis, with the axis that counts when none is given.
for family, default in pairs { scan = 0, sort = -1, fft = -1, dct = -1 } do
  R[family] = function(n, x)
    if x[1].ndim == 1 then return nil end
    return call(n, x, moved(n, default))
  end
end

function R.layout(n, x, batched, size)
  if n.row[1] == 'roll' then
    if n.params.naxes < 1 then
      local p = params_t(n.params)
      p.naxes, p.axes[0] = 1, 1
      return { call(n, { x[1]:reshape(size, -1) }, p)[1]:reshape(x[1].shape) }
    end
    return call(n, x, moved(n))
  end
  local y = {}
  for i, t in ipairs(x) do y[i] = spread(t, batched[i], size) end
  return call(n, y, moved(n, 0))
end

function R.dot(n, x, batched)
  local rank = math.max(x[1].ndim - (batched[1] and 1 or 0), x[2].ndim - (batched[2] and 1 or 0))
  local p = params_t(n.params)
  local axis = p.naxes < 1 and -1 or tonumber(p.axes[0])
  p.naxes, p.axes[0] = 1, axis < 0 and axis or axis - rank -- counted from the end it is the same for both
  return call(n, { lift(x[1], batched[1] and rank + 1 or rank, batched[1]), lift(x[2], batched[2] and rank + 1 or rank, batched[2]) }, p)
end

-- ---------------------------------------------------------------- products and linear algebra

function R.matmul(n, x, batched, size)
  local a, b = x[1], x[2]
  local ra, rb = a.ndim - (batched[1] and 1 or 0), b.ndim - (batched[2] and 1 or 0)
  if ra == 1 then a = a:expand_dims(-2) end
  if rb == 1 then b = b:expand_dims(-1) end
  local out
  if batched[1] and not batched[2] and a.ndim == 3 and b.ndim == 2 and a:is_contiguous() then -- one product of tall matrices
    local m = a.shape[2]
    out = call(n, { a:reshape(-1, a.shape[3]), b })[1]:reshape(size, m, b.shape[2])
  else
    local rank = math.max(ra, rb, 2) + 1
    if batched[1] then a = lift(a, rank, true) end
    if batched[2] then b = lift(b, rank, true) end
    out = call(n, { a, b })[1]
  end
  if rb == 1 then out = out:squeeze(-1) end
  if ra == 1 then out = out:squeeze(rb == 1 and -1 or -2) end
  return { out }
end

local ONE = { -- one operand, batched over all but its last axes
  inv = true, det = true, slogdet = true, cholesky = true, lu_factor = true, lu = true, ldl = true, qr = true, svd = true, svdvals = true, eigh = true,
  eigvalsh = true, eig = true, eigvals = true, hessenberg = true, schur_form = true, sqrt_upper = true, log_upper = true,
}
local SOLVE = { solve = true, solve_triangular = true }
function R.linalg(n, x, batched, size)
  local name = n.row[1]
  if ONE[name] then return call(n, x) end
  if not SOLVE[name] then return nil end
  local a, b = x[1], x[2]
  local ra, rb = a.ndim - (batched[1] and 1 or 0), b.ndim - (batched[2] and 1 or 0)
  local vector = rb == 1
  if vector then b = b:expand_dims(-1) end
  local rank = math.max(ra, vector and 2 or rb) + 1
  a, b = spread(a, batched[1], size), spread(b, batched[2], size)
  local out = call(n, { lift(a, rank, true), lift(b, rank, true) })[1]
  return { vector and out:squeeze(-1) or out }
end

-- ---------------------------------------------------------------- picking and placing

function R.gather(n, x, batched, size)
  local name = n.row[1]
  if name == 'take' then
    local p = moved(n, 0)
    if not batched[2] then return call(n, x, p) end
    local axis = tonumber(p.axes[0]) -- from 0, the batch axis counted
    local index, t = x[2], x[1]
    if not batched[1] then
      -- results come with the axes of index in the place of the axis: batch first
      p.axes[0] = axis - 1
      if index.ndim > 2 then return nil end
      local flat = call(n, { t, index:reshape(-1) }, p)[1]
      local shape = {}
      for i = 1, t.ndim do
        if i == axis then
          shape[#shape + 1] = size
          for k = 2, index.ndim do shape[#shape + 1] = index.shape[k] end
        else
          shape[#shape + 1] = t.shape[i]
        end
      end
      return { flat:reshape(shape):moveaxis(axis, 1) }
    end
    if index.ndim > 2 or p.base ~= 1 then return nil end
    local length = t.shape[axis + 1]
    t = t:moveaxis(axis + 1, 2)
    local rest, flat = {}, { size * length }
    for i = 3, t.ndim do
      rest[#rest + 1] = t.shape[i]
      flat[#flat + 1] = t.shape[i]
    end
    index = mc.where(mc.lt(index, 0), index + length + 1, index)
    local far = mc.arange(0, size - 1, 1, { dtype = 'i64' }) * length
    local linear = (index + (index.ndim == 2 and far:reshape(-1, 1) or far)):reshape(-1)
    local out = mc.take(t:reshape(flat), linear, 1)
    local shape = { size }
    for k = 2, x[2].ndim do shape[#shape + 1] = x[2].shape[k] end
    for _, s in ipairs(rest) do shape[#shape + 1] = s end
    out = out:reshape(shape)
    if x[2].ndim == 2 then out = out:moveaxis(2, axis + 1) end
    return { out }
  elseif name == 'take_along_axis' or name == 'put_along_axis' then
    local y = {}
    for i, t in ipairs(x) do y[i] = spread(t, batched[i], size) end
    local rank = y[1].ndim
    for i = 3, #y do y[i] = lift(y[i], rank, true) end
    return call(n, y, moved(n, -1))
  end
  return nil
end

function R.segment(n, x, batched, size)
  if n.row[1] ~= 'scatter_add' and n.row[1] ~= 'scatter_reduce' then return nil end
  local y = {}
  for i, t in ipairs(x) do y[i] = spread(t, batched[i], size) end
  return call(n, y, moved(n, -1))
end

return R
