-- attention.lua - attention with heads as a module: projections, positions, caches of keys and values.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local module = require 'mascon.nn.module'
local linear = require 'mascon.nn.layer.linear'
local position = require 'mascon.nn.layer.position'
local functions = require 'mascon.nn.attention'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

local OPTS = module.options {
  kv_heads = { nil, 'integer >= 1' }, bias = { true, 'bool' }, dropout = { 0, 'number >= 0' },
    causal = { false, 'bool' },
  head_width = { nil, 'integer >= 1' }, rope = { false, 'bool | table' }, alibi = { false, 'bool' },
  kv_width = { nil, 'integer >= 1' }, relative = { false, 'bool | table' }, window = { nil, 'integer >= 1' },
}

local Attention = module.Module 'MultiheadAttention'
function Attention:init(width, heads, opts)
  local fname = 'nn.MultiheadAttention'
  local o = check.opts(fname, opts, OPTS, 4)
  check.arg(fname, 'width', width, 'integer >= 1', 4)
  check.arg(fname, 'heads', heads, 'integer >= 1', 4)
  local kv = o.kv_heads or heads
  if not o.head_width and width % heads ~= 0 then
    error(('%s: %d heads do not divide the width %d'):format(fname, heads, width), 4)
  end
  if heads % kv ~= 0 then error(('%s: %d heads of keys do not divide %d heads'):format(fname, kv, heads), 4) end
  self.width, self.heads, self.kv_heads, self.head_width = width, heads, kv, o.head_width or width / heads
  self.kv_width = o.kv_width or width
  self.dropout, self.causal, self.use_alibi, self.window = o.dropout, o.causal, o.alibi, o.window
  rawset(self, 'rope', o.rope == true and {} or o.rope or nil)
  local function project(k, inputs, outputs)
    return linear.Linear(inputs, outputs, { bias = o.bias, dtype = o.dtype, device = o.device,
      key = module.own(o, k).key,
      weight_init = k < 4 and 'xavier_uniform' or 'torch_default', bias_init = 'zeros' })
  end
  self.q_proj = project(1, width, heads * self.head_width)
  self.k_proj = project(2, self.kv_width, kv * self.head_width)
  self.v_proj = project(3, self.kv_width, kv * self.head_width)
  self.out_proj = project(4, heads * self.head_width, width)
  if o.relative then
    local how = { both = not o.causal, dtype = o.dtype, device = o.device, key = module.own(o, 5).key }
    for k, v in pairs(o.relative ~= true and o.relative or {}) do how[k] = v end
    self.relative = position.RelativePositions(heads, how)
  end
end

--- [batch, time, heads d] as [batch, heads, time, d].
local function apart(x, heads)
  return methods.permute_dims(methods.reshape(x, { x.shape[1], x.shape[2], heads, x.shape[3] / heads }), 1, 3, 2, 4)
end

local CALL = { mask = { nil, 'tensor' }, key_mask = { nil, 'tensor' }, cache = { nil, 'table' },
  causal = { nil, 'bool' } }

function Attention:forward(x, memory, opts)
  local fname = 'nn.MultiheadAttention'
  if opts == nil and type(memory) == 'table' and not tensor.is(memory) then memory, opts = nil, memory end
  local o = check.opts(fname, opts, CALL, 3)
  for what, t in pairs { input = x, memory = memory } do
    if not tensor.is(t) or t.ndim ~= 3 then
      error(('%s: %s is %s; give [batch, time, width]'):format(fname, what, tensor.is(t) and tensor.describe(t)
        or check.show(t)), 2)
    end
  end
  local from = memory or x
  local q = apart(self.q_proj(x), self.heads)
  local k, v = apart(self.k_proj(from), self.kv_heads), apart(self.v_proj(from), self.kv_heads)
  local start = o.cache and o.cache.k and o.cache.k.shape[3] or 0
  if self.rope then
    local how = { start = start }
    for name, value in pairs(self.rope) do how[name] = name == 'start' and value + start or value end
    q, k = position.rope(q, how), position.rope(k, how)
  end
  if o.cache then
    if o.cache.k then k, v = F.concat({ o.cache.k, k }, 3), F.concat({ o.cache.v, v }, 3) end
    o.cache.k, o.cache.v = k, v
  end
  local mask = o.mask
  if mask and mask.ndim == 3 then mask = methods.expand_dims(mask, 2) end -- [batch, queries, keys]
  if o.key_mask then
    local seen = methods.reshape(o.key_mask, { o.key_mask.shape[1], 1, 1, -1 })
    if not mask then mask = seen
    elseif mask.dtype == 'bool' then mask = F.logical_and(mask, seen)
    else mask = F.where(seen, mask, -math.huge) end
  end
  local far
  if self.use_alibi then
    far = methods.to(position.alibi(self.heads, q.shape[3], k.shape[3], { dtype = q.dtype }), { device = q.device })
  end
  if self.relative then
    local bias = self.relative(q.shape[3], k.shape[3], start)
    far = far and far + bias or bias
  end
  if far then
    if not mask then mask = far
    elseif mask.dtype == 'bool' then mask = F.where(mask, far, -math.huge)
    else mask = mask + far end
  end
  local causal = self.causal
  if o.causal ~= nil then causal = o.causal end
  local y = functions.scaled_dot_product_attention(q, k, v, {
    mask = mask, causal = causal, window = self.window, start = (causal or self.window) and start or nil,
    dropout = self:is_training() and self.dropout > 0 and self.dropout or nil,
    key = self:is_training() and self.dropout > 0 and self:next_key() or nil,
  })
  y = methods.reshape(methods.permute_dims(y, 1, 3, 2, 4), { x.shape[1], x.shape[2], self.heads * self.head_width })
  return self.out_proj(y)
end
local PLACE = { q = 1, k = 2, v = 3 }
--- One tensor of three projections, as PyTorch has it; grouped heads and other widths of heads it has not.
function Attention:pytorch_name(name)
  local which, what = name:match '^([qkv])_proj%.(%w+)$'
  if not which or self.kv_heads ~= self.heads or self.heads * self.head_width ~= self.width then return name end
  if what == 'weight' and self.kv_width ~= self.width then return which .. '_proj_weight' end
  return 'in_proj_' .. what, PLACE[which]
end
function Attention:describe()
  return ('%d, %d heads%s%s'):format(self.width, self.heads,
    self.kv_heads ~= self.heads and (', %d of keys'):format(self.kv_heads) or '', self.causal and ', causal' or '')
end
function Attention:operations(_, x, memory)
  local keys = tensor.is(memory) and memory.shape[2] or x.shape[2]
  return 4 * x.shape[1] * self.heads * self.head_width * x.shape[2] * keys
end

--- Attention with heads: x [batch, time, width] attends to itself, or to a memory.
---
--- Called as attention(x, memory, options): memory [batch, keys, width] (x) · mask: boolean (true: may attend) or
--- numbers
--- to add, [queries, keys], [batch, queries, keys] or [batch, heads, queries, keys] · key_mask: boolean [batch, keys] ·
--- causal · cache: a table that keeps keys and values from call to call (decoding, one token after the other).
---@param width integer
---@param heads integer
---@param opts? table kv_heads: heads of keys and values (heads) · head_width (width / heads) · bias (true) · dropout of
---   probabilities (0) · causal (false) · window: how many keys a query sees, as in
---   nn.scaled_dot_product_attention (all) · rope: rotations (false; true or options of nn.rope) · alibi (false) ·
---   relative: a learned bias by distance (false; true or options of nn.RelativePositions) · kv_width: width of
---   the memory (width) · dtype (f32) · device · key
---@return mascon.Module
--- Errors: heads that do not divide the width. Source: Attention is all you need, 2017, section 3.2.2.
---     mc.nn.MultiheadAttention(8, 2)(mc.zeros{ 1, 3, 8, dtype = 'f32' }).shape  --> {1, 3, 8}
function M.MultiheadAttention(width, heads, opts) return Attention(width, heads, opts) end

local DIFFERENTIAL = module.options {
  bias = { false, 'bool' }, causal = { false, 'bool' }, lambda = { 0.5, 'number' },
  form = { 'shared', { 'shared', 'apart' } }, rope = { false, 'bool | table' },
}
local Differential = module.Module 'DifferentialAttention'
function Differential:init(width, heads, opts)
  local fname = 'nn.DifferentialAttention'
  local o = check.opts(fname, opts, DIFFERENTIAL, 4)
  check.arg(fname, 'width', width, 'integer >= 1', 4)
  check.arg(fname, 'heads', heads, 'integer >= 2', 4)
  if heads % 2 ~= 0 or width % heads ~= 0 then
    error(('%s: %d heads are given for the width %d; give an even number that divides it'):format(fname, heads, width),
      4)
  end
  self.width, self.heads, self.form, self.causal = width, heads, o.form, o.causal
  rawset(self, 'rope', o.rope == true and {} or o.rope or nil)
  local function project(k, inputs, outputs)
    return linear.Linear(inputs, outputs, { bias = o.bias, dtype = o.dtype, device = o.device,
      key = module.own(o, k).key, weight_init = k < 4 and 'xavier_uniform' or 'torch_default', bias_init = 'zeros' })
  end
  self.q_proj, self.k_proj = project(1, width, width), project(2, width, width)
  self.v_proj = project(3, width, width)
  self.out_proj = project(4, o.form == 'shared' and width or width / 2, width)
  self:parameter('lambda', { heads / 2 }, { 'constant', value = o.lambda }, module.own(o, 5))
end

function Differential:forward(x, opts)
  local fname = 'nn.DifferentialAttention'
  local o = check.opts(fname, opts, { mask = { nil, 'tensor' }, causal = { nil, 'bool' } }, 3)
  if not tensor.is(x) or x.ndim ~= 3 then
    error(('%s: input is %s; give [batch, time, width]'):format(fname, tensor.is(x) and tensor.describe(x)
      or check.show(x)), 2)
  end
  local half, causal = self.heads / 2, self.causal
  if o.causal ~= nil then causal = o.causal end
  local q, k = apart(self.q_proj(x), self.heads), apart(self.k_proj(x), self.heads)
  local shared = self.form == 'shared'
  local v = apart(self.v_proj(x), shared and half or self.heads)
  if self.rope then q, k = position.rope(q, self.rope), position.rope(k, self.rope) end
  local function attend(first)
    local at = { first, first + half - 1 }
    local function group(t) return t[{ { 1, -1 }, at }] end
    return functions.scaled_dot_product_attention(group(q), group(k), shared and v or group(v),
      { causal = causal, mask = o.mask })
  end
  local share = methods.reshape(self.lambda, { half, 1, 1 })
  local y = attend(1)
  if not shared then y = y * (share + 1) end
  y = y - attend(half + 1) * share
  return self.out_proj(methods.reshape(methods.permute_dims(y, 1, 3, 2, 4), { x.shape[1], x.shape[2],
    shared and self.width or self.width / 2 }))
end
function Differential:describe() return ('%d, %d heads, %s'):format(self.width, self.heads, self.form) end
function Differential:operations(_, x) return 4 * x.shape[1] * self.width * x.shape[2] * x.shape[2] end

--- Differential attention: the difference of the weights of two groups of heads, head i and head i + heads / 2.
---
--- form 'shared': (A1 - lambda A2) V with V of twice the width of a head; 'apart': (1 + lambda) A1 V1 - lambda A2 V2.
--- lambda is a parameter, one for each pair of heads. Called as attention(x, options): mask, as in
--- nn.scaled_dot_product_attention · causal.
---@param width integer
---@param heads integer even, both groups together
---@param opts? table form ('shared') · lambda: its start (0.5) · causal (false) · bias (false) · rope: rotations
---   (false; true or options of nn.rope) · dtype (f32) · device · key
---@return mascon.Module
--- Errors: heads that are odd or do not divide the width.
--- Source: Differential transformer, 2024, equation 1, without its norm of heads and its form of lambda.
---     mc.nn.DifferentialAttention(8, 2)(mc.zeros{ 1, 3, 8, dtype = 'f32' }).shape  --> {1, 3, 8}
function M.DifferentialAttention(width, heads, opts) return Differential(width, heads, opts) end

return M
