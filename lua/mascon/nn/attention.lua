-- attention.lua - attention of queries over keys and values.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local dropout = require 'mascon.nn.dropout'
local half = require 'mascon.nn.half'
local create = require 'mascon.array.create'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

local OPTS = {
  mask = { nil, 'tensor' }, causal = { false, 'bool' }, start = { 0, 'integer' }, window = { nil, 'integer >= 1' },
  scale = { nil, 'number' },
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

--- Leading axes that do not broadcast, and one dtype.
local function together(q, k, v)
  if k.ndim ~= q.ndim or v.ndim ~= q.ndim or q.dtype ~= k.dtype or q.dtype ~= v.dtype then return false end
  for i = 1, q.ndim - 2 do if k.shape[i] ~= q.shape[i] or v.shape[i] ~= q.shape[i] then return false end end
  return true
end

--- By a row of the op table: y [..., queries, e] and the logarithms of the sums, level [..., queries].
local function by_kernel(a, how)
  local out = op.raw('attention', { a.q, a.k, a.v }, how, 2)
  return { y = out[1], level = out[2] }
end
local function by_kernel_back(a, how)
  local out = op.raw('attention_back', { a.q, a.k, a.v, a.g, a.g_level, a.y, a.level }, how, 3)
  return { q = out[1], k = out[2], v = out[3] }
end

--- y of operands q, k, v and mask (true and false, or none) by functions that give { y, level } of them, and gradients
--- of q, k, v from these and those of y and level, g and g_level; how: the parameters of the rows of the op table,
--- where these serve.
---
--- The way back makes the weights again from one number for each query. Its own derivatives are composed.
local function ruled(operands, composed, composed_back, how)
  local custom = require 'mascon.transform.custom'
  local vjp = require 'mascon.transform'.vjp
  -- each is its own forward pass, so that derivatives of any order go by these rules
  local both, back
  back = custom.custom_vjp(function(a) return how and by_kernel_back(a, how) or composed_back(a) end, {
    forward = function(a) return back(a), a end,
    backward = function(a, g)
      local _, way = vjp(composed_back, a)
      return way(g)
    end,
  })
  both = custom.product(function(a) return how and by_kernel(a, how) or composed(a) end, {
    forward = function(a)
      local made = both(a)
      return made, { a, made }
    end,
    backward = function(kept, g)
      local a, made = unpack(kept)
      return back { q = a.q, k = a.k, v = a.v, mask = a.mask, y = made.y, level = made.level, g = g.y,
        g_level = g.level }
    end,
  }, 'scaled_dot_product_attention')
  return both(operands).y
end

--- softmax(q k^T scale + mask) v: each query takes the mean of the values, weighted by how well their keys fit.
---
--- A query without any key it may attend to gets zeros, and passes no gradient. If q has several times the heads of k
--- and v (axis -3), each head of k and v serves as many neighbouring heads of q.
---@param q any f16|bf16|f32|f64 [..., queries, d]
---@param k any [..., keys, d]; leading axes broadcast with those of q
---@param v any [..., keys, e]
---@param opts? table mask: boolean (true: may attend) or numbers to add, broadcasts with [..., queries, keys] of
---   the heads of q (none) · causal: query i sees keys j <= i + start (false) · window: query i sees keys j with
---   |i + start - j| < window (none); with causal the last `window` keys · start (0; with causal or window) ·
---   scale (1 / sqrt(d)) · dropout of the weights (0) · key: a random key for it
---@return any [..., queries, e]
--- Errors: sizes that differ. Source: Attention is all you need, 2017, equation 1; PyTorch nn.functional.
---     mc.nn.scaled_dot_product_attention(mc.ones{ 1, 1 }, mc.ones{ 2, 1 }, mc.tensor{ { 1 }, { 3 } }):item()  --> 2
function M.scaled_dot_product_attention(q, k, v, opts)
  local fname = 'nn.scaled_dot_product_attention'
  q, k, v = op.beside(fname, q, k, 2), op.beside(fname, k, q, 2), op.beside(fname, v, q, 2)
  local o = check.opts(fname, opts, OPTS, 3)
  if q.ndim < 2 or k.ndim < 2 or v.ndim < 2 or q.shape[q.ndim] ~= k.shape[k.ndim]
    or k.shape[k.ndim - 1] ~= v.shape[v.ndim - 1] then
    error(('%s: q is %s, k is %s and v is %s; give [..., queries, d], [..., keys, d] and [..., keys, e]'):format(fname,
      tensor.describe(q), tensor.describe(k), tensor.describe(v)), 2)
  end
  if o.start ~= 0 and not o.causal and not o.window then
    error(('%s: start is %d without causal or window and would change nothing; give both'):format(fname, o.start), 2)
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
  local scale, mask, queries = o.scale or 1 / math.sqrt(q.shape[q.ndim]), o.mask and half.wide(o.mask), nil
  if mask and mask.ndim < 2 then mask = methods.reshape(mask, { 1, -1 }) end
  if mask and back then mask = grouped_mask(fname, mask, q, 3) end
  if o.causal or o.window then
    queries = create.arange(1, q.shape[q.ndim - 1]):to(q.device):reshape(-1, 1) + o.start
  end
  -- fits without those of keys at places that their queries do not see
  local function seen(s, keys, at)
    local sees = o.causal and F.le(keys, at)
    if o.window then
      local near = F.gt(keys, at - o.window)
      sees = F.logical_and(near, sees or F.lt(keys, at + o.window))
    end
    return F.where(sees, s, -math.huge)
  end
  -- how keys fit queries that are scaled
  local function fit(a, b, may)
    local s = methods.matmul(a, b.mT)
    if may then s = may.dtype == 'bool' and F.where(may, s, -math.huge) or s + may end
    return queries and seen(s, create.arange(1, b.shape[b.ndim - 1]):to(b.device), queries) or s
  end
  -- weights up to their sum, the largest fit and the sum, without keys 0 and 1
  local function weigh(s)
    local top = F.cut(F.max(s, { -1, keepdim = true }))
    top = F.where(F.eq(top, -math.huge), 0, top)
    local p = F.exp(s - top)
    local total = F.sum(p, { -1, keepdim = true })
    return p, top, F.where(F.eq(total, 0), 1, total)
  end
  local function plain(a)
    local p, top, total = weigh(fit(a.q * scale, a.k, a.mask))
    if o.dropout > 0 then p = dropout.dropout(p, o.dropout, o.key) end
    return { y = methods.matmul(p, a.v) / total, level = methods.squeeze(top + F.log(total), -1) }
  end
  local function plain_back(a)
    local scaled = a.q * scale
    -- keys by queries: a product of its own, so that the fits of the way ahead need not be kept
    local s = methods.matmul(a.k, scaled.mT)
    if a.mask then s = F.where(a.mask.mT, s, -math.huge) end
    if queries then s = seen(s, create.arange(1, a.k.shape[a.k.ndim - 1]):to(s.device):reshape(-1, 1), queries.mT) end
    local p = F.exp(s - methods.expand_dims(a.level, -2))
    local along = F.sum(F.multiply_no_nan(a.y, a.g), { -1 }) - a.g_level
    local ds = F.multiply_no_nan(p, methods.matmul(a.v, a.g.mT) - methods.expand_dims(along, -2))
    return { q = methods.matmul(ds.mT, a.k) * scale, k = methods.matmul(ds, scaled), v = methods.matmul(p, a.g) }
  end
  local operands, y = { q = q, k = k, v = v, mask = mask }
  if o.dropout > 0 or (mask and mask.dtype ~= 'bool') or not together(q, k, v) then
    y = plain(operands).y
  else
    local how = { start = o.start, window = o.window or 0, causal = o.causal, scale = scale }
    y = ruled(operands, plain, plain_back, q.device == 'cpu' and not mask and how)
  end
  y = half.narrow(y, dtype)
  if not back then return y end
  back[#back + 1] = v.shape[v.ndim]
  return methods.reshape(y, back)
end

return M
