-- contract.lua - two tensors with named axes become one: the step of which einsum, tensordot and dot are made.
--
-- Makes the choice between an elementwise product, a sum along one axis and a batched matrix product, and the order
-- of axes that avoids copies.
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

local VECDOT = op.rows.vecdot.id
local function call(out, a, b, P) return lib.op_pair(VECDOT, out, a, b, P) end

--- Sum of a b (plain) or conj(a) b along one axis.
---@param axis integer negative, of both
function M.along(fname, a, b, axis, plain, opts)
  local P = lib.params()
  P.naxes, P.axes[0], P.i[0] = 1, axis, plain and 1 or 0
  local y = op.run(fname, 3, opts, 1024, call, a, b, P)
  lib.give(P)
  return y
end

--- Positions of labels in a list.
local function places(list)
  local at = {}
  for i, l in ipairs(list) do at[l] = i end
  return at
end

--- t with its axes in the order of `want` (all its labels).
local function ordered(t, labels, want)
  local at, p, same = places(labels), {}, true
  for i, l in ipairs(want) do
    p[i] = at[l]
    same = same and p[i] == i
  end
  return same and t or methods.permute_dims(t, p)
end
M.ordered = ordered

--- Sum over the axes whose label is not in `keep`.
function M.reduce(t, labels, keep)
  local axes, rest = {}, {}
  for i, l in ipairs(labels) do
    if keep[l] then rest[#rest + 1] = l else axes[#axes + 1] = i end
  end
  if #axes == 0 then return t, labels end
  return F.sum(t, axes), rest
end

local function count(t, at, list)
  local n = 1
  for _, l in ipairs(list) do n = n * t.shape[at[l]] end
  return n
end

--- Several lists joined.
local function join(...)
  local out = {}
  for _, list in ipairs { ... } do for _, l in ipairs(list) do out[#out + 1] = l end end
  return out
end

--- The shape of t with the labels of `outer` apart and each group of `groups` as one axis: a view where strides allow.
local function grouped(t, labels, outer, groups)
  local at, shape = places(labels), {}
  local want = join(outer, unpack(groups))
  local v = ordered(t, labels, want)
  for i, l in ipairs(outer) do shape[i] = t.shape[at[l]] end
  local plain = true
  for _, g in ipairs(groups) do
    shape[#shape + 1] = count(t, at, g)
    plain = plain and #g == 1
  end
  return plain and v or methods.reshape(v, shape)
end

--- One tensor from two: labels in both and not kept are summed, those of one operand and not kept are summed first.
---@param a any
---@param la table labels of the axes of a, each once
---@param b any
---@param lb table
---@param keep table set of labels that stay
---@param order table|nil wished order of the result (a hint where a product of matrices is made)
---@return any result
---@return table labels of its axes
function M.pair(a, la, b, lb, keep, order)
  local ina, inb = places(la), places(lb)
  local stay_a, stay_b = {}, {}
  for _, l in ipairs(la) do stay_a[l] = keep[l] or inb[l] end
  for _, l in ipairs(lb) do stay_b[l] = keep[l] or ina[l] end
  a, la = M.reduce(a, la, stay_a)
  b, lb = M.reduce(b, lb, stay_b)
  ina, inb = places(la), places(lb)
  local rank = places(order or {})
  local batch, summed, fa, fb = {}, {}, {}, {}
  local first, other = la, inb
  -- the larger operand decides the order of the axes that merge
  if b:numel() > a:numel() then first, other = lb, ina end
  for _, l in ipairs(first) do
    if other[l] then table.insert(keep[l] and batch or summed, l) end
  end
  for _, l in ipairs(la) do if not inb[l] then fa[#fa + 1] = l end end
  for _, l in ipairs(lb) do if not ina[l] then fb[#fb + 1] = l end end

  if #summed == 0 then -- elementwise, both spread over the axes of the result
    local out, there = {}, places(join(batch, fa, fb))
    for _, l in ipairs(order or {}) do
      if there[l] then out[#out + 1], there[l] = l, nil end
    end
    for _, l in ipairs(join(batch, fa, fb)) do
      if there[l] then out[#out + 1] = l end
    end
    if #out > 8 then error(('einsum: an intermediate result would have %d axes; at most 8'):format(#out), 4) end
    local function spread(t, labels, at)
      local mine, shape = {}, {}
      for _, l in ipairs(out) do
        if at[l] then mine[#mine + 1] = l end
        shape[#shape + 1] = at[l] and t.shape[at[l]] or 1
      end
      return methods.reshape(ordered(t, labels, mine), shape)
    end
    return F.multiply(spread(a, la, ina), spread(b, lb, inb)), out
  end
  if #fa == 0 and #fb == 0 then -- rows against rows
    local x, y = grouped(a, la, batch, { summed }), grouped(b, lb, batch, { summed })
    return M.along('einsum', x, y, -1, true), batch
  end
  if #batch + 2 > 8 then error(('einsum: %d batch axes meet in a matrix product; at most 6'):format(#batch), 4) end
  -- the operand whose free axes come first in the wished order stands on the left
  local best_a, best_b = math.huge, math.huge
  for _, l in ipairs(fa) do best_a = math.min(best_a, rank[l] or math.huge) end
  for _, l in ipairs(fb) do best_b = math.min(best_b, rank[l] or math.huge) end
  if best_b < best_a then a, la, fa, b, lb, fb = b, lb, fb, a, la, fa end
  local x = grouped(a, la, batch, { fa, summed })
  local y = grouped(b, lb, batch, { summed, fb })
  local z = F.matmul(x, y)
  local out, shape = join(batch, fa, fb), {}
  local at = places(la)
  for _, l in ipairs(join(batch, fa)) do shape[#shape + 1] = a.shape[at[l]] end
  at = places(lb)
  for _, l in ipairs(fb) do shape[#shape + 1] = b.shape[at[l]] end
  if #shape > 8 then error(('einsum: an intermediate result would have %d axes; at most 8'):format(#shape), 4) end
  if #fa == 1 and #fb == 1 then return z, out end
  return methods.reshape(z, shape), out
end

--- Sum of products over paired axes (1-based): the axes left of a, then those left of b.
function M.axes(fname, a, b, axes_a, axes_b)
  local la, lb, keep, out = {}, {}, {}, {}
  for i = 1, a.ndim do la[i] = i end
  for i = 1, b.ndim do lb[i] = -i end
  for k, i in ipairs(axes_a) do
    if a.shape[i] ~= b.shape[axes_b[k]] then
      error(('%s: summed sizes differ, operands are %s and %s; transpose or reshape one'):format(fname,
        tensor.describe(a), tensor.describe(b)), 3)
    end
    lb[axes_b[k]] = i
    la[i] = i
  end
  local summed = {}
  for _, i in ipairs(axes_a) do summed[i] = true end
  for _, l in ipairs(la) do if not summed[l] then keep[l], out[#out + 1] = true, l end end
  for _, l in ipairs(lb) do if not summed[l] then keep[l], out[#out + 1] = true, l end end
  if #out > 8 then
    error(('%s: the result of %s and %s would have %d axes; at most 8'):format(fname, tensor.describe(a),
      tensor.describe(b), #out), 3)
  end
  local integers = tensor.kind[a.dtype] ~= 'f' and tensor.kind[a.dtype] ~= 'c' and tensor.kind[b.dtype] ~= 'f'
    and tensor.kind[b.dtype] ~= 'c'
  if #axes_a == 0 and a.dtype == 'bool' and b.dtype == 'bool' then
    a, b, integers = methods.to(a, 'i64'), methods.to(b, 'i64'), false
  end
  local z, labels = M.pair(a, la, b, lb, keep, out)
  z = ordered(z, labels, out)
  return integers and methods.to(z, 'i64') or z
end

--- The full convolution of vectors without transforms: windows of the longer one against the shorter one, backwards.
function M.convolve(a, b)
  if a:numel() < b:numel() then a, b = b, a end
  local k = b:numel()
  if a.dtype == 'bool' then a = methods.to(a, 'i64') end
  local wide = F.pad(a, k - 1)
  return (M.along('convolve', methods.windows(wide, k), methods.flip(b), -1, true))
end

return M
