-- attention.lua - attention of queries over keys and values.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local half = require 'mascon.nn.half'
local create = require 'mascon.array.create'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

local OPTS = {
  mask = { nil, 'tensor' }, causal = { false, 'bool' }, start = { 0, 'integer' }, scale = { nil, 'number' },
  dropout = { 0, 'number >= 0' }, key = { nil, 'any' },
}

--- Heads of queries in groups that share a head of keys: [..., heads, groups, S, d], and the shape to go back to.
local function grouped(q, heads)
  local shape, back = {}, {}
  for i = 1, q.ndim - 3 do shape[i] = q.shape[i] end
  shape[#shape + 1], shape[#shape + 2] = heads, q.shape[q.ndim - 2] / heads
  shape[#shape + 1], shape[#shape + 2] = q.shape[q.ndim - 1], q.shape[q.ndim]
  for i = 1, q.ndim - 1 do back[i] = q.shape[i] end
  return methods.reshape(q, shape), back
end

--- A mask over the heads of q [..., heads, S, keys] as one over their groups; heads of 1 serve all.
local function grouped_mask(fname, mask, q, level)
  if mask.ndim < 3 then return mask end
  local heads, many = q.shape[q.ndim - 3], q.shape[q.ndim - 3] * q.shape[q.ndim - 2]
  local have = mask.shape[mask.ndim - 2]
  if have == 1 then return methods.expand_dims(mask, -3) end
  if have ~= many then
    error(('%s: mask is %s for %d heads of q; its heads (axis -3) must be those of q, or 1'):format(fname,
      tensor.describe(mask), many), level)
  end
  local shape = {}
  for i = 1, mask.ndim - 3 do shape[i] = mask.shape[i] end
  shape[#shape + 1], shape[#shape + 2] = heads, many / heads
  shape[#shape + 1], shape[#shape + 2] = mask.shape[mask.ndim - 1], mask.shape[mask.ndim]
  return methods.reshape(mask, shape)
end

--- softmax(q k^T scale + mask) v: each query takes the mean of the values, weighted by how well their keys fit.
---
--- A query without any key it may attend to gets zeros, and passes no gradient. If q has several times the heads of k
--- and v (axis -3), each head of k and v serves as many neighbouring heads of q.
---@param q any f16|bf16|f32|f64 [..., queries, d]
---@param k any [..., keys, d]; leading axes broadcast with those of q
---@param v any [..., keys, e]
---@param opts? table mask: boolean (true: may attend) or numbers to add, broadcasts with [..., queries, keys] of
---   the heads of q (none)
---   causal: query i sees keys j <= i + start (false) · start (0; with causal only) · scale (1 / sqrt(d)) ·
---   dropout of the weights (0) ·
---   key: a random key for it
---@return any [..., queries, e]
--- Errors: sizes that differ. Source: Attention is all you need, 2017, equation 1; PyTorch nn.functional.
---     mc.nn.scaled_dot_product_attention(mc.ones{ 1, 1 }, mc.ones{ 2, 1 }, mc.tensor{ { 1 }, { 3 } }):item()  --> 2
function M.scaled_dot_product_attention(q, k, v, opts)
  local fname = 'nn.scaled_dot_product_attention'
  q, k, v = op.operand(fname, q, 2), op.operand(fname, k, 2), op.operand(fname, v, 2)
  local o = check.opts(fname, opts, OPTS, 3)
  if q.ndim < 2 or k.ndim < 2 or v.ndim < 2 or q.shape[q.ndim] ~= k.shape[k.ndim]
    or k.shape[k.ndim - 1] ~= v.shape[v.ndim - 1] then
    error(('%s: q is %s, k is %s and v is %s; give [..., queries, d], [..., keys, d] and [..., keys, e]'):format(fname,
      tensor.describe(q), tensor.describe(k), tensor.describe(v)), 2)
  end
  if o.start ~= 0 and not o.causal then
    error(('%s: start is %d without causal = true and would change nothing; give both'):format(fname, o.start), 2)
  end
  local dtype = half.result(q, k, v)
  q, k, v = half.wide(q), half.wide(k), half.wide(v)
  local back
  if q.ndim >= 3 and k.ndim == q.ndim and v.ndim == q.ndim then
    local heads, many = k.shape[k.ndim - 2], q.shape[q.ndim - 2]
    if heads ~= many and heads > 1 and many % heads == 0 then
      q, back = grouped(q, heads)
      k, v = methods.expand_dims(k, -3), methods.expand_dims(v, -3)
    end
  end
  local s = methods.matmul(q * (o.scale or 1 / math.sqrt(q.shape[q.ndim])), k.mT)
  if o.mask then
    local mask = half.wide(o.mask)
    if back then mask = grouped_mask(fname, mask, q, 3) end
    s = mask.dtype == 'bool' and F.where(mask, s, -math.huge) or s + mask
  end
  if o.causal then
    local rows = create.arange(1, q.shape[q.ndim - 1]):to(q.device):reshape(-1, 1) + o.start
    s = F.where(F.le(create.arange(1, k.shape[k.ndim - 1]):to(q.device), rows), s, -math.huge)
  end
  local top = F.cut(F.max(s, { -1, keepdim = true }))
  local p = F.exp(s - F.where(F.eq(top, -math.huge), 0, top))
  local total = F.sum(p, { -1, keepdim = true })
  if o.dropout > 0 then p = require('mascon.nn.layer.dropout').dropout(p, o.dropout, o.key) end
  local y = methods.matmul(p, v) / F.where(F.eq(total, 0), 1, total)
  y = half.narrow(y, dtype)
  if not back then return y end
  back[#back + 1] = v.shape[v.ndim]
  return methods.reshape(y, back)
end

return M
