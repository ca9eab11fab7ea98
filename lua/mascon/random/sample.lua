-- sample.lua - random orders and choices out of given things.
--
-- Holds permutation, shuffle and choice: each is one sort, search or gather of drawn numbers, so that an order is a
-- function of its source alone. Positions count from 1.
local op = require 'mascon.core.op'
local check = require 'mascon.core.check'
local tensor = require 'mascon.core.tensor'
local draw = require 'mascon.random.draw'
local place = require 'mascon.core.place'
local error = check.error
local is = tensor.is
local F, ROWS = op.functions, op.rows
local M = {}

--- Options that name the source, of those given.
local function source_of(o) return { key = o.key, seed = o.seed, generator = o.generator, stream = o.stream } end

--- i64 words of the given sizes: sorting them gives orders, all equally likely but for ties (n^2 / 2^65).
local function words(fname, sizes, o)
  return draw.draw(ROWS.random_integers, fname, sizes, source_of(o),
    { named = { low = -0x7fffffffffffffffLL - 1, high = 0x7fffffffffffffffLL } }, 4)
end

--- Positions where x is.
local function there(at, x) return tensor.moved(at, x._device, 4) end

--- The device of what a call makes of a number alone.
local function default(x, o)
  local name = place.taken()
  return o.device or not is(x) and not o.out and name or nil
end

--- What comes of a tensor stays where it is.
local function beside(fname, x, o)
  local number = o.device and tensor.device_number(fname, o.device, 4) or x._device
  if number ~= x._device then
    error(('%s: x is on %s and device is %s; move x with :to first, and leave device out'):format(fname,
      x.device, tensor.device_name(number)), 4)
  end
end

local ORDER = draw.spec { axis = { 1, 'integer' }, independent = { false, 'bool' } }
ORDER.dtype, ORDER.device = nil, { nil, 'string' }

--- A random order of 1..n, or of the slices of a tensor along one axis.
---
---   x (integer|tensor): n >= 0 gives i64 [n]; a tensor comes back in a new order, same shape and dtype
---   axis (integer): the axis whose slices move, default 1
---   independent (bool): every line along the axis gets an order of its own, default false
---   device (string): of the result when x is a number, default cpu
---
--- Errors: x that is neither; an axis that x does not have.
--- Source: an order is the sorting permutation of random 64-bit words: Non-uniform random variate generation, 1986,
--- XII.2.
---
---     mc.random.permutation(5, { key = 1 })  --> i64[5]@cpu { 5, 4, 2, 3, 1 }
---@param x integer|mascon.Tensor
---@param opts? table axis, independent, out, and the source
---@return mascon.Tensor
function M.permutation(x, opts)
  local o = check.opts('random.permutation', opts, ORDER, 3)
  local where = default(x, o)
  if not is(x) then
    check.arg('random.permutation', 'x', x, 'integer >= 0', 3)
    local order = F.argsort(words('random.permutation', { x }, o), { out = o.out })
    return draw.placed('random.permutation', order, where, o.out, 2)
  end
  beside('random.permutation', x, o)
  local axis = tensor.axis('random.permutation', x, o.axis, 3) + 1
  if not o.independent then
    local order = F.argsort(words('random.permutation', { x.shape[axis] }, o))
    return F.take(x, there(order, x), { axis = axis, out = o.out })
  end
  local order = F.argsort(words('random.permutation', { unpack(x.shape) }, o), { axis = axis })
  return F.take_along_axis(x, there(order, x), { axis = axis, out = o.out })
end

--- Puts the slices of x along one axis into a random order, in place.
---
---   axis, independent: as for mc.random.permutation
---
--- Source: see mc.random.permutation.
---
---     mc.random.shuffle(mc.tensor{ 1, 2, 3, 4 }, { key = 1 })  --> f64[4]@cpu { 4, 2, 3, 1 }
---@param x mascon.Tensor
---@param opts? table
---@return mascon.Tensor x
function M.shuffle(x, opts)
  if not is(x) then error(('random.shuffle: x is %s; give a tensor'):format(check.show(x)), 2) end
  if opts and opts.out then error('random.shuffle: it works in place and takes no out; use random.permutation', 2) end
  local moved = M.permutation(x, opts)
  return x:copy_(moved)
end

local CHOICE = draw.spec { replace = { true, 'bool' }, p = { nil, 'any' }, axis = { 1, 'integer' } }
CHOICE.dtype, CHOICE.device = nil, { nil, 'string' }

--- Weights as f64 [n], checked.
local function weights_of(p, n)
  p = is(p) and p:to 'f64' or type(p) == 'table' and op.from_table(p):to 'f64' or p
  if not is(p) then error(('random.choice: option p is %s; give a tensor of weights'):format(check.show(p)), 4) end
  if p.ndim ~= 1 or p.shape[1] ~= n then
    error(
      ('random.choice: the weights are %s, there are %d things; give one weight each'):format(tensor.describe(p), n), 4)
  end
  local total = F.sum(p):item()
  if n > 0 and not (F.min(p):item() >= 0 and total > 0 and total < math.huge) then
    local wrong = F.nonzero_flat(F.logical_not(F.ge(p, 0)))
    local at = wrong:numel() > 0 and wrong[1]:item() or 1
    local v = p[at]:item()
    error(('random.choice: weight %d is %.17g, their sum is %.17g; weights are >= 0 with a positive finite sum'):format(
      at, v, total), 4)
  end
  return p
end

--- Positions 1..n, count of them, each at most once: those of the smallest waiting times at rate p.
local function distinct(n, count, p, o)
  local some = p and F.sum(F.gt(p, 0)):item() or n
  if count > some then
    error(('random.choice: %d are to be drawn without replacement, there are %d%s; draw fewer, or set replace = true')
      :format(count, some, p and ' with a positive weight' or ''), 3)
  end
  local order
  if p then
    local times = draw.draw(ROWS.random_exponential, 'random.choice', { n }, source_of(o), nil, 4)
    order = F.argsort(F.divide(times, p))
  else
    order = F.argsort(words('random.choice', { n }, o))
  end
  return order[{ { 1, count } }]
end

--- Draws from 1..n or from the slices of a tensor, with or without replacement, equally often or by weights.
---
---   x (integer|tensor): n stands for 1..n; of a tensor, the slices along `axis` are drawn
---   sizes (table): sizes of what is drawn, default {} (one)
---   replace (bool): a thing may come up again, default true
---   p (tensor|table): weights, >= 0, of any positive sum; default all equal
---   axis (integer): default 1
---   device (string): of the result when x is a number, default cpu
---   result: i64 [sizes...], or x with its axis replaced by sizes
---
--- Errors: more draws without replacement than things (of positive weight); weights that are negative or do not fit.
--- Source: with weights by inversion of the running sum; without replacement by smallest waiting times: Weighted
--- random sampling with a reservoir, 2006.
---
---     mc.random.choice(6, { 4 }, { key = 1 })  --> i64[4]@cpu { 6, 5, 6, 4 }
---     mc.random.choice(mc.tensor{ 10, 20, 30 }, { 2 }, { replace = false, key = 1 })  --> f64[2]@cpu { 20, 30 }
---@param x integer|mascon.Tensor
---@param sizes? table
---@param opts? table replace, p, axis, out, and the source
---@return mascon.Tensor
function M.choice(x, sizes, opts)
  local list, given = draw.arguments('random.choice', sizes, opts, 3)
  local o = check.opts('random.choice', given, CHOICE, 3)
  local where = default(x, o)
  if not is(x) then check.arg('random.choice', 'x', x, 'integer >= 0', 3) else beside('random.choice', x, o) end
  local axis = is(x) and tensor.axis('random.choice', x, o.axis, 3) + 1
  local n, count = is(x) and x.shape[axis] or x, 1
  local rank, dims = tensor.dims('random.choice', list, 3)
  for i = 0, rank - 1 do count = count * tonumber(dims[i]) end
  local p = o.p ~= nil and weights_of(o.p, n) or nil
  if n == 0 and count > 0 then error('random.choice: there is nothing to draw from; give at least one thing', 2) end
  local at
  if not o.replace then
    at = distinct(n, count, p, o)
  elseif p then
    local sum = F.cumsum(p)
    at = F.searchsorted(F.divide(sum, sum[-1]),
      draw.draw(ROWS.random_uniform, 'random.choice', { count }, source_of(o), nil, 3), { right = true })
  else
    at = draw.draw(ROWS.random_integers, 'random.choice', { count }, source_of(o),
      { named = { low = 1, high = math.max(n, 1) } }, 3)
  end
  local shape = {}
  if not is(x) then
    for i, s in ipairs(list) do shape[i] = s end
  else
    for i = 1, x.ndim do
      if i ~= axis then shape[#shape + 1] = x.shape[i] else for _, s in ipairs(list) do shape[#shape + 1] = s end end
    end
    at = F.take(x, there(at, x), { axis = axis })
  end
  at = at:reshape(shape)
  return draw.placed('random.choice', o.out and o.out:copy_(at) or at, where, o.out, 2)
end

place.made_by(M, 'permutation choice')

return M
