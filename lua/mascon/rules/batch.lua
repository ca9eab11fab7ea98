-- batch.lua - what an op becomes when some of its operands carry one more axis in front.
--
-- rule(n, x, batched, size) -> results with a batch axis in front, or nil: no rule, run the elements one by one. n: the
-- node; x: its operands, with batched[i] those that have `size` copies along a new first axis. By family of the op
-- table.
local mc = require 'mascon.array'
local op = require 'mascon.core.op'
local recording = require 'mascon.graph.recording'
local tensor = require 'mascon.core.tensor'
local random = require 'mascon.random.key'
local convolution = require 'mascon.array.convolution'

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

--- Parameters with all axes moved by one; `default` (counted from 0, negative from the end) stands in when none was
--- given.
local function moved(n, default)
  local p = recording.params(n.params)
  if p.naxes >= 1 then
    for i = 0, p.naxes - 1 do p.axes[i] = p.axes[i] + (p.axes[i] >= 0 and 1 or 0) end
  elseif default then
    p.naxes, p.axes[0] = 1, default >= 0 and default + 1 or default
  end
  return p
end

local function call(n, x, p) return recording.call(n.row, #n.outs, x, p or n.params) end

--- Ops that take leading axes as copies of one another (rows of workflows that say batch = 'leading').
function R.leading(n, x, batched, size)
  local y = {}
  for i, t in ipairs(x) do y[i] = spread(t, batched[i], size):contiguous() end
  return call(n, y, n.params.naxes >= 1 and moved(n) or nil)
end

-- ---------------------------------------------------------------- elementwise

local function elementwise(n, x, batched)
  local rank = #n.outs[1].shape + 1
  local y = {}
  for i, t in ipairs(x) do
    if batched[i] then
      -- a number stays a number in promotion
      if n.ins[i].weak and n.compute >= 0 and t._dtype ~= n.compute then t = t:to(tensor.name[n.compute]) end
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
  local p = recording.params(n.params)
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
  if n.row.variant == 'roll' then
    if n.params.naxes < 1 then
      local p = recording.params(n.params)
      p.naxes, p.axes[0] = 1, 1
      return { call(n, { x[1]:reshape(size, -1) }, p)[1]:reshape(x[1].shape) }
    end
    return call(n, x, moved(n))
  end
  local y = {}
  for i, t in ipairs(x) do y[i] = spread(t, batched[i], size) end
  return call(n, y, moved(n, 0))
end

function R.recurrence(n, x, batched)
  local rank = #n.outs[1].shape + 1
  local y = {}
  for i, t in ipairs(x) do y[i] = batched[i] and t or lift(t, rank, false) end
  return call(n, y, moved(n, 0))
end

function R.dot(n, x, batched)
  local rank = math.max(x[1].ndim - (batched[1] and 1 or 0), x[2].ndim - (batched[2] and 1 or 0))
  local p = recording.params(n.params)
  local axis = p.naxes < 1 and -1 or tonumber(p.axes[0])
  p.naxes, p.axes[0] = 1, axis < 0 and axis or axis - rank -- counted from the end it is the same for both
  return call(n, { lift(x[1], batched[1] and rank + 1 or rank, batched[1]),
    lift(x[2], batched[2] and rank + 1 or rank, batched[2]) }, p)
end

--- Quantiles: those of several probabilities come as a first axis.
function R.select(n, x)
  local p = recording.params(n.params)
  local t = x[1]
  if t.ndim == 1 then t = t:reshape(t.shape[1], 1) end
  if p.naxes >= 0 then
    p = moved(n)
  else
    p.naxes = t.ndim - 1
    for i = 1, p.naxes do p.axes[i - 1] = i end
  end
  local out = call(n, { t }, p)[1]
  if n.row.variant == 'quantile' and p.i[2] > 0 then out = out:moveaxis(2, 1) end
  local shape = { t.shape[1] }
  for i, s in ipairs(n.outs[1].shape) do shape[i + 1] = s end
  return { out:reshape(shape) }
end

--- Curves through shared knots: the places are a batch like any other axis.
function R.interp(n, x, batched)
  if batched[2] or batched[3] then return nil end
  return call(n, x)
end
function R.tridiagonal(n, x, batched)
  if batched[1] then return nil end
  return { call(n, { x[1], x[2]:moveaxis(1, -1):contiguous() })[1]:moveaxis(-1, 1) }
end

--- Rows that share weights: more of them. What they add up to the weights is a sum for each element of the batch.
function R.standardise(n, x, batched, size)
  local back = n.row.variant == 'back'
  local operands, y = back and 2 or 1, {}
  for i, t in ipairs(x) do
    if i > operands and batched[i] then return nil end
    y[i] = i <= operands and spread(t, batched[i], size) or t
  end
  local out = call(n, y)
  if not back then return out end
  local p = recording.params(n.params)
  local k, places = tonumber(p.i[0]), tonumber(p.i[1])
  p.i[2], p.i[3] = 0, 0
  local straight = recording.call(op.rows.standardise, 1, { y[2] }, p)[1]
  local form = { size, -1, (y[3] and y[3].shape[1] or k) / k, k, places }
  local function summed(t) return mc.sum(t:reshape(form), { 2, 5 }):reshape(size, -1) end
  return { out[1], mc.stack({ summed(mc.multiply_no_nan(straight, y[1])), summed(y[1]) }, 2) }
end

--- Heads: more of them.
function R.attention(n, x, batched, size)
  local y = {}
  for i, t in ipairs(x) do y[i] = spread(t, batched[i], size) end
  return call(n, y)
end

-- ---------------------------------------------------------------- products and linear algebra

function R.matmul(n, x, batched, size)
  local a, b = x[1], x[2]
  local ra, rb = a.ndim - (batched[1] and 1 or 0), b.ndim - (batched[2] and 1 or 0)
  if ra == 1 then a = a:expand_dims(-2) end
  if rb == 1 then b = b:expand_dims(-1) end
  local out
  if batched[1] and not batched[2] and a.ndim == 3 and b.ndim == 2 and a:is_contiguous() then
    -- one product of tall matrices
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

function R.linalg(n, x, batched, size)
  local row = n.row
  if row.nin == 1 and x[2] then -- the second operand of a generalised problem
    local rank = math.max(#n.ins[1].shape, #n.ins[2].shape) + 1
    return call(n,
      { lift(spread(x[1], batched[1], size), rank, true), lift(spread(x[2], batched[2], size), rank, true) })
  end
  if row.nin == 1 then return call(n, x) end -- batched over all but its last axes
  if row.batch ~= 'system' then return nil end
  local a, b = x[1], x[2]
  local ra, rb = a.ndim - (batched[1] and 1 or 0), b.ndim - (batched[2] and 1 or 0)
  local vector = rb == 1
  if vector then b = b:expand_dims(-1) end
  local rank = math.max(ra, vector and 2 or rb) + 1
  a, b = spread(a, batched[1], size), spread(b, batched[2], size)
  local out = call(n, { lift(a, rank, true), lift(b, rank, true) })[1]
  return { vector and out:squeeze(-1) or out }
end

-- ---------------------------------------------------------------- convolutions

--- A first axis of convolutions of their own; an operand they share has size 1 there.
function R.conv(n, x, batched, size)
  local p = recording.params(n.params)
  local y = { x[1], x[2] }
  if p.i[convolution.BATCHED] == 0 then
    p.i[convolution.BATCHED] = 1
    for i = 1, 2 do if not batched[i] then y[i] = y[i]:expand_dims(1) end end
    return call(n, y, p)
  end
  local several = 1 -- convolutions before: both axes become one
  for i = 1, 2 do several = math.max(several, y[i].shape[batched[i] and 2 or 1]) end
  for i = 1, 2 do
    local t = y[i]
    if batched[i] or several > 1 then
      if not batched[i] then t = t:expand_dims(1) end
      local full, flat = { size, several }, { size * several }
      for k = 3, t.ndim do full[k], flat[k - 1] = t.shape[k], t.shape[k] end
      if t.shape[1] ~= size or t.shape[2] ~= several then t = mc.broadcast_to(t, full) end
      y[i] = t:reshape(flat)
    end
  end
  local out = call(n, y, p)[1]
  local shape = { size, out.shape[1] / size }
  for k = 2, out.ndim do shape[k + 1] = out.shape[k] end
  return { out:reshape(shape) }
end

-- ---------------------------------------------------------------- random numbers

--- Each element draws as if alone: from its key where keys are batched, else all from the same one.
function R.random(n, x, batched, size)
  local p = recording.params(n.params)
  if p.naxes == 8 then return nil end
  for i = p.naxes, 1, -1 do p.axes[i] = p.axes[i - 1] end
  p.axes[0], p.naxes = size, math.max(p.naxes, 0) + 1
  local y, mask, sources = {}, tonumber(p.i[5]), tonumber(p.i[12])
  for j = 1, tonumber(p.i[11]) do
    if math.floor(mask / 2 ^ (j - 1)) % 2 == 1 then
      local k = #y + 1
      local rank = p.naxes + (n.row.wide == j and 1 or 0)
      y[k] = batched[k] and lift(x[k], rank, true) or x[k]
    end
  end
  local at = #y
  if sources % 2 == 0 then -- the key is a number, and goes along for each element
    y[at + 1] = spread(random.new(tonumber(p.i[0]), tonumber(p.i[1]), y[1] and y[1]._device):words(), false, size)
    p.i[12] = sources + 1
  else
    at = at + 1
    y[at] = spread(x[at], batched[at], size)
  end
  if sources >= 2 then y[#y + 1] = spread(x[#x], batched[#x], size) end
  return call(n, y, p)
end

-- ---------------------------------------------------------------- picking and placing

function R.gather(n, x, batched, size)
  local variant = n.row.variant
  if variant == 'take' then
    local p = moved(n, 0)
    if not batched[2] then return call(n, x, p) end
    local axis = tonumber(p.axes[0]) -- from 0 with the batch axis counted, from 1 without
    local index, t = x[2], x[1]
    local many = {}
    for k = 2, index.ndim do many[k - 1] = index.shape[k] end
    if batched[1] then -- one long axis of all batches, positions moved to their own
      local length = t.shape[axis + 1]
      t = t:moveaxis(axis + 1, 2)
      local flat = { size * length }
      for i = 3, t.ndim do flat[#flat + 1] = t.shape[i] end
      t = t:reshape(flat)
      if p.base == 1 then
        index = mc.where(mc.lt(index, 0), index + length, index - 1)
      else
        index = mc.where(mc.lt(index, 0), index + length, index)
      end
      local far = { size }
      for k = 1, #many do far[k + 1] = 1 end
      index = index + mc.arange(0, size - 1, 1, { dtype = 'i64', device = index.device }):reshape(far) * length
      p.base, p.axes[0] = 0, 0
      axis = 1
    else
      p.axes[0] = axis - 1
    end
    local out = call(n, { t, index:reshape(-1) }, p)[1]
    local shape = {}
    for i = 1, t.ndim do
      if i == axis then
        shape[#shape + 1] = size
        for _, s in ipairs(many) do shape[#shape + 1] = s end
      else
        shape[#shape + 1] = t.shape[i]
      end
    end
    out = out:reshape(shape)
    if batched[1] then -- the positions stand in front: back to where the axis was
      axis = tonumber(moved(n, 0).axes[0])
      local order = { 1 }
      for k = 1, axis - 1 do order[#order + 1] = 1 + #many + k end
      for k = 1, #many do order[#order + 1] = 1 + k end
      for k = axis, t.ndim - 1 do order[#order + 1] = 1 + #many + k end
      return { out:permute_dims(order) }
    end
    return { out:moveaxis(axis, 1) }
  elseif variant == 'search' then
    if batched[1] or n.params.naxes >= 1 then return nil end
    return call(n, x)
  elseif variant == 'along' or variant == 'put' then
    local y = {}
    for i, t in ipairs(x) do y[i] = spread(t, batched[i], size) end
    local rank = y[1].ndim
    for i = 3, #y do y[i] = lift(y[i], rank, true) end
    return call(n, y, moved(n, -1))
  end
  return nil
end

function R.segment(n, x, batched, size)
  if n.row.variant ~= 'scatter_add' and n.row.variant ~= 'scatter' then return nil end
  local y = {}
  for i, t in ipairs(x) do y[i] = spread(t, batched[i], size) end
  return call(n, y, moved(n, -1))
end

return R
