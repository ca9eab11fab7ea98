-- language.lua - language models of the pre-norm kind: tokens, blocks, a final norm, and a head that shares the table
-- of tokens.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local module = require 'mascon.nn.module'
local linear = require 'mascon.nn.layer.linear'
local dropout = require 'mascon.nn.layer.dropout'
local position = require 'mascon.nn.layer.position'
local transformer = require 'mascon.nn.layer.transformer'
local error = check.error
local F = op.functions
local M = {}

local OPTS = module.options {
  vocabulary = { 30000, 'integer >= 1' }, width = { 512, 'integer >= 1' }, layers = { 6, 'integer >= 1' },
  heads = { 8, 'integer >= 1' }, kv_heads = { nil, 'integer >= 1' }, hidden = { nil, 'integer >= 1' },
  longest = { 2048, 'integer >= 1' }, dropout = { 0.1, 'number >= 0' }, activation = { 'gelu', 'string | function' },
  norm = { 'layer', { 'layer', 'rms' } }, eps = { 1e-5, 'number >= 0' }, bias = { true, 'bool' },
  positions = { 'rope', { 'rope', 'learned', 'none' } }, rope = { {}, 'table' }, causal = { true, 'bool' },
  tied = { true, 'bool' }, scale = { true, 'bool' }, start = { 'prenorm', { 'prenorm', 'gpt2' } },
}

local function sized(width, layers, heads) return { width = width, layers = layers, heads = heads } end
--- A GPT-2 of a size: learned positions, the tanh form of gelu, embeddings as they are.
local function gpt2(...)
  local o = sized(...)
  o.vocabulary, o.longest, o.positions, o.activation, o.scale, o.start = 50257, 1024, 'learned', 'gelu_tanh', false,
    'gpt2'
  return o
end
local PRESETS = {
  small = sized(512, 6, 8), base = sized(768, 12, 12), large = sized(1024, 24, 16),
  gpt2 = gpt2(768, 12, 12), gpt2_medium = gpt2(1024, 24, 16), gpt2_large = gpt2(1280, 36, 20),
  gpt2_xl = gpt2(1600, 48, 25),
}

--- Standard deviations of the first weights: lists of { pattern of names, standard deviation }.
local START = {
  prenorm = function(o)
    return { { '^blocks%..*self_attn%..*weight$', o.width ^ -0.5 },
      { '^blocks%..*feed_forward%..*weight$', (2 / o.width) ^ 0.5 } }
  end,
  gpt2 = function(o)
    local last = 0.02 / (2 * o.layers) ^ 0.5 -- of what is added to the residual stream
    return { { '^blocks%..*_proj%.weight$', 0.02 }, { '^blocks%..*linear%d%.weight$', 0.02 },
      { '^blocks%..*out_proj%.weight$', last }, { '^blocks%..*linear2%.weight$', last },
      { '^blocks%..*down_proj%.weight$', last } }
  end,
}

local Model = module.Module 'PreNormTransformer'
function Model:init(o)
  local function own(k, more)
    more = more or {}
    more.dtype, more.device, more.key = o.dtype, o.device, module.own(o, k).key
    return more
  end
  self.width, self.longest = o.width, o.longest
  self.factor = o.scale and o.width ^ 0.5 or 1
  self.embedding = linear.Embedding(o.vocabulary, o.width, own(1, { weight_init = { 'normal', std = 0.02 } }))
  if o.positions == 'learned' then self.positions = position.LearnedPositions(o.longest, o.width, own(2)) end
  self.drop = dropout.Dropout(o.dropout)
  self.blocks = transformer.TransformerEncoder(o.width, o.heads, o.layers, own(3, { hidden = o.hidden,
    activation = o.activation, dropout = o.dropout, norm = o.norm, eps = o.eps, bias = o.bias, causal = o.causal,
    kv_heads = o.kv_heads, rope = o.positions == 'rope' and o.rope }))
  self.head = linear.Linear(o.width, o.vocabulary, own(4, { bias = false, weight_init = { 'normal', std = 0.02 } }))
  if o.tied then self.head:tie('weight', self.embedding) end
  for _, s in ipairs(START[o.start](o)) do
    local found = false
    for _, p in ipairs(self:named_parameters()) do found = found or p.name:find(s[1]) ~= nil end
    if found then self:initialise(s[1], { 'normal', std = s[2] }) end
  end
end

local CALL = { mask = { nil, 'tensor' }, key_mask = { nil, 'tensor' }, cache = { nil, 'table' },
  hidden = { false, 'bool' } }
function Model:forward(ids, opts)
  local fname = 'nn.PreNormTransformer'
  local o = check.opts(fname, opts, CALL, 3)
  if not tensor.is(ids) or ids.ndim ~= 2 then
    error(('%s: tokens are %s; give [batch, time]'):format(fname, tensor.is(ids) and tensor.describe(ids)
      or check.show(ids)), 2)
  end
  local cache = o.cache
  local first = cache and cache[1]
  local start = first and first.k and first.k.shape[3] or 0
  if start + ids.shape[2] > self.longest then
    error(('%s: %d positions are asked for, the model has %d (option longest)'):format(fname, start + ids.shape[2],
      self.longest), 2)
  end
  local x = self.embedding(ids)
  if self.factor ~= 1 then x = F.multiply(x, self.factor) end
  if self.positions then x = self.positions(x, start) end
  x = self.drop(x)
  local states, layers = { x }, self.blocks.layers
  for i = 1, layers.n do
    if cache and not cache[i] then cache[i] = {} end
    x = layers[i](x, { mask = o.mask, key_mask = o.key_mask, cache = cache and cache[i] })
    if o.hidden and i < layers.n then states[i + 1] = x end
  end
  x = self.blocks.norm(x)
  states[layers.n + 1] = x
  if o.hidden then return self.head(x), states end
  return self.head(x)
end
function Model:describe() return ('%d, %d layers'):format(self.width, self.blocks.layers.n) end

--- A language model: embeddings, pre-norm blocks of attention and feed-forward layers, a final norm, and a head whose
--- weight is the table of embeddings.
---
--- Called as model(ids, options) with i64 [batch, time] from 0; gives logits [batch, time, vocabulary]. Options of the
--- call: mask, key_mask as nn.MultiheadAttention has them · cache: a table in which keys and values stay from call to
--- call · hidden (false): also a list of the inputs of every layer and of the result of the final norm, [batch, time,
--- width] each.
--- Presets: 'small' (width 512, 6 layers, 8 heads), 'base' (768, 12, 12), 'large' (1024, 24, 16); 'gpt2',
--- 'gpt2_medium', 'gpt2_large', 'gpt2_xl' with learned positions, gelu by tanh, 50257 tokens and 1024 positions.
---@param preset? string|table name of a preset, or options
---@param opts? table vocabulary (30000) · width (512) · layers (6) · heads (8) · kv_heads (heads) · hidden: width of
---   the feed-forward layer (4 width) · longest: positions (2048) · dropout (0.1) · activation ('gelu'; 'swiglu' and
---   'geglu' are gated, without biases) · norm ('layer', 'rms') · eps (1e-5) · bias (true) · positions ('rope',
---   'learned', 'none') · rope: options of nn.rope · causal (true) · tied (true) · scale: embeddings times the root of
---   the width (true) · start: first weights, 'prenorm' (attention of standard deviation width^-1/2, feed-forward
---   layers (2 / width)^1/2, embeddings 0.02), or 'gpt2' (0.02, and 0.02 / (2 layers)^1/2 of what is added to the
---   residual stream) · dtype (f32) · device · key
---@return mascon.Module
--- Errors: an unknown preset; heads that do not divide the width; more positions than there are.
--- Source: On layer normalization in the transformer architecture, 2020; Language models are unsupervised multitask
--- learners, 2019 (GPT-2).
---     mc.nn.PreNormTransformer{ vocabulary = 7, width = 8, layers = 2, heads = 2 }(mc.tensor({ { 1, 2, 3 } },
---       { dtype = 'i64' })).shape
---       --> {1, 3, 7}
function M.PreNormTransformer(preset, opts)
  local fname = 'nn.PreNormTransformer'
  if type(preset) == 'table' and opts == nil then preset, opts = nil, preset end
  local all = {}
  if preset ~= nil then
    local known = type(preset) == 'string' and PRESETS[preset]
    if not known then
      local near = type(preset) == 'string' and check.nearest(preset, PRESETS)
      error(('%s: preset is %s; choose %s, or give a table of options%s'):format(fname, check.show(preset),
        check.names(PRESETS), near and (' (did you mean %q?)'):format(near) or ''), 2)
    end
    for k, v in pairs(known) do all[k] = v end
  end
  if opts ~= nil and type(opts) ~= 'table' then
    error(('%s: options are %s; give a table'):format(fname, check.show(opts)), 2)
  end
  for k, v in pairs(opts or {}) do all[k] = v end
  return Model(check.opts(fname, all, OPTS, 3))
end

return M
