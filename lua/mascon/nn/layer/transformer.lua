-- transformer.lua - blocks of transformers: attention and a feed-forward layer, each added to what came in.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local module = require 'mascon.nn.module'
local linear = require 'mascon.nn.layer.linear'
local activation = require 'mascon.nn.layer.activation'
local fused = require 'mascon.nn.fused'
local attention = require 'mascon.nn.layer.attention'
local container = require 'mascon.nn.layer.container'
local dropout = require 'mascon.nn.layer.dropout'
local norm = require 'mascon.nn.layer.norm'
local error = check.error
local M = {}

local FEED = module.options { hidden = { nil, 'integer >= 1' }, activation = { 'gelu', 'string | function' },
  dropout = { 0, 'number >= 0' }, bias = { true, 'bool' } }
local FeedForward = module.Module 'FeedForward'
function FeedForward:init(width, opts)
  local o = check.opts('nn.FeedForward', opts, FEED, 4)
  check.arg('nn.FeedForward', 'width', width, 'integer >= 1', 4)
  local hidden = o.hidden or 4 * width
  rawset(self, 'act', fused.named('nn.FeedForward', o.activation, 4))
  local function part(k) return { bias = o.bias, dtype = o.dtype, device = o.device, key = module.own(o, k).key } end
  self.linear1 = linear.Linear(width, hidden, part(1))
  self.linear2 = linear.Linear(hidden, width, part(2))
  self.dropout = dropout.Dropout(o.dropout)
end
function FeedForward:forward(x) return self.linear2(self.dropout(self.act(self.linear1(x)))) end

--- linear2(dropout(activation(linear1(x)))).
---@param width integer
---@param opts? table hidden (4 width) · activation ('gelu'): a name or function · dropout (0) · bias (true) · dtype
---   (f32) · device · key
---@return mascon.Module
--- Source: Attention is all you need, 2017, section 3.3.
---     mc.nn.FeedForward(4)(mc.zeros{ 2, 4, dtype = 'f32' }).shape  --> {2, 4}
function M.FeedForward(width, opts) return FeedForward(width, opts) end

local BLOCK = module.options {
  hidden = { nil, 'integer >= 1' }, activation = { 'gelu', 'string | function' }, dropout = { 0, 'number >= 0' },
  norm_first = { true, 'bool' }, norm = { 'layer', { 'layer', 'rms' } }, eps = { nil, 'number >= 0' },
    bias = { true, 'bool' },
  causal = { false, 'bool' }, kv_heads = { nil, 'integer >= 1' }, rope = { false, 'bool | table' },
    alibi = { false, 'bool' }, window = { nil, 'integer >= 1' }, relative = { false, 'bool | table' },
}

local function normal(o, width, k)
  local own = { eps = o.eps, dtype = o.dtype, device = o.device, key = module.own(o, k).key }
  if o.norm == 'rms' then return norm.RMSNorm(width, own) end
  own.bias = o.bias
  return norm.LayerNorm(width, own)
end

local function heads_of(o, k, causal)
  return { kv_heads = o.kv_heads, bias = o.bias, dropout = o.dropout, causal = causal, rope = o.rope, alibi = o.alibi,
    window = o.window, relative = o.relative, dtype = o.dtype, device = o.device, key = module.own(o, k).key }
end

local function feed(fname, o, width, k)
  local own = { hidden = o.hidden, bias = o.bias, dtype = o.dtype, device = o.device, key = module.own(o, k).key }
  if o.activation == 'swiglu' or o.activation == 'geglu' then
    own.bias = false
    return (o.activation == 'swiglu' and activation.SwiGLU or activation.GeGLU)(width, own)
  end
  fused.named(fname, o.activation, 5)
  own.activation, own.dropout = o.activation, o.dropout
  return M.FeedForward(width, own)
end

--- x + f(norm(x)), or norm(x + f(x)).
local function around(self, x, layer, f)
  if self.norm_first then return x + self.drop(f(layer(x))) end
  return layer(x + self.drop(f(x)))
end

local Encoder = module.Module 'TransformerEncoderLayer'
function Encoder:init(width, heads, opts)
  local fname = 'nn.TransformerEncoderLayer'
  local o = check.opts(fname, opts, BLOCK, 4)
  self.norm_first = o.norm_first
  self.norm1 = normal(o, width, 1)
  self.self_attn = attention.MultiheadAttention(width, heads, heads_of(o, 2, o.causal))
  self.norm2 = normal(o, width, 3)
  self.feed_forward = feed(fname, o, width, 4)
  self.drop = dropout.Dropout(o.dropout)
end
function Encoder.pytorch_name(_, name) return (name:gsub('^feed_forward%.linear', 'linear')) end
function Encoder:forward(x, opts)
  x = around(self, x, self.norm1, function(t) return self.self_attn(t, opts) end)
  return around(self, x, self.norm2, self.feed_forward)
end

--- A block of a transformer: attention of x to itself, then a feed-forward layer. With causal it is a block of a
--- decoder alone.
---
--- Called as block(x, options) with the options of nn.MultiheadAttention's call (mask, key_mask, cache).
---@param width integer
---@param heads integer
---@param opts? table hidden (4 width) · activation ('gelu'; 'swiglu', 'geglu': gated, without biases) · dropout (0) ·
---   norm_first (true) · norm ('layer', 'rms') · eps · bias (true) · causal (false) · kv_heads · rope (false) · alibi
---   (false) · window: how many keys a query sees (all) · relative (false) · dtype (f32) · device · key
---@return mascon.Module
--- Source: Attention is all you need, 2017; On layer normalization in the transformer architecture, 2020 (norm_first).
---     mc.nn.TransformerEncoderLayer(8, 2)(mc.zeros{ 1, 3, 8, dtype = 'f32' }).shape  --> {1, 3, 8}
function M.TransformerEncoderLayer(width, heads, opts) return Encoder(width, heads, opts) end

local Decoder = module.Module 'TransformerDecoderLayer'
function Decoder:init(width, heads, opts)
  local fname = 'nn.TransformerDecoderLayer'
  local o = check.opts(fname, opts, BLOCK, 4)
  self.norm_first = o.norm_first
  self.norm1 = normal(o, width, 1)
  self.self_attn = attention.MultiheadAttention(width, heads, heads_of(o, 2, true))
  self.norm2 = normal(o, width, 3)
  local cross = heads_of(o, 4, false)
  cross.rope, cross.alibi, cross.relative, cross.window = nil, nil, nil, nil
  self.cross_attn = attention.MultiheadAttention(width, heads, cross)
  self.norm3 = normal(o, width, 5)
  self.feed_forward = feed(fname, o, width, 6)
  self.drop = dropout.Dropout(o.dropout)
end
function Decoder.pytorch_name(_, name)
  return (name:gsub('^feed_forward%.linear', 'linear'):gsub('^cross_attn%.', 'multihead_attn.'))
end
function Decoder:forward(x, memory, opts)
  if memory == nil then error('nn.TransformerDecoderLayer: the memory is missing; give [batch, keys, width]', 2) end
  local inner, outer
  if opts then
    inner = { mask = opts.mask, key_mask = opts.key_mask, cache = opts.cache, causal = opts.causal }
    outer = { mask = opts.memory_mask, key_mask = opts.memory_key_mask }
  end
  x = around(self, x, self.norm1, function(t) return self.self_attn(t, inner) end)
  x = around(self, x, self.norm2, function(t) return self.cross_attn(t, memory, outer) end)
  return around(self, x, self.norm3, self.feed_forward)
end

--- A block of a decoder: causal attention of x to itself, attention to a memory, a feed-forward layer.
---
--- Called as block(x, memory, options): mask, key_mask, cache for x · memory_mask, memory_key_mask for the memory.
---@param width integer
---@param heads integer
---@param opts? table as TransformerEncoderLayer
---@return mascon.Module
--- Source: Attention is all you need, 2017.
---     mc.nn.TransformerDecoderLayer(8, 2):to 'f64'(mc.zeros{ 1, 3, 8 }, mc.zeros{ 1, 5, 8 }).shape  --> {1, 3, 8}
function M.TransformerDecoderLayer(width, heads, opts) return Decoder(width, heads, opts) end

-- ---------------------------------------------------------------- stacks

local function stack(name, make)
  local fname = 'nn.' .. name
  local Stack = module.Module(name)
  function Stack:init(width, heads, count, opts)
    check.arg(fname, 'layers', count, 'integer >= 0', 4)
    opts = opts or {}
    self.layers = container.ModuleList {}
    for i = 1, count do
      local own = {}
      for k, v in pairs(opts) do own[k] = v end
      own.key = module.own(opts, i).key
      self.layers:append(make(width, heads, own))
    end
    local o = check.opts(fname, opts, BLOCK, 4)
    if o.norm_first then self.norm = normal(o, width, count + 1) end
  end
  -- the options of the call come last; each layer keeps its own keys and values
  function Stack:forward(x, ...)
    local args, n = { ... }, select('#', ...)
    local o = args[n]
    local cache = type(o) == 'table' and not tensor.is(o) and o.cache
    for i = 1, self.layers.n do
      if cache then
        cache[i] = cache[i] or {}
        args[n] = { cache = cache[i] }
        for k, v in pairs(o) do if k ~= 'cache' then args[n][k] = v end end
      end
      x = self.layers[i](x, unpack(args, 1, n))
    end
    return self.norm and self.norm(x) or x
  end
  return Stack
end
local EncoderStack = stack('TransformerEncoder', M.TransformerEncoderLayer)
local DecoderStack = stack('TransformerDecoder', M.TransformerDecoderLayer)

--- TransformerEncoderLayers one after the other, with a norm at the end when they have theirs first.
---@param width integer
---@param heads integer
---@param layers integer
---@param opts? table as TransformerEncoderLayer
---@return mascon.Module
---     mc.nn.TransformerEncoder(8, 2, 2)(mc.zeros{ 1, 3, 8, dtype = 'f32' }).shape  --> {1, 3, 8}
function M.TransformerEncoder(width, heads, layers, opts) return EncoderStack(width, heads, layers, opts) end

--- TransformerDecoderLayers one after the other, each attending to the same memory.
---@param width integer
---@param heads integer
---@param layers integer
---@param opts? table as TransformerEncoderLayer
---@return mascon.Module
---     mc.nn.TransformerDecoder(8, 2, 1):to 'f64'(mc.zeros{ 1, 3, 8 }, mc.zeros{ 1, 2, 8 }).shape  --> {1, 3, 8}
function M.TransformerDecoder(width, heads, layers, opts) return DecoderStack(width, heads, layers, opts) end

return M
