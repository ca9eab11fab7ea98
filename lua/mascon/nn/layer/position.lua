-- position.lua - where a token stands: added encodings, rotations of queries and keys, biases by distance.
--
-- Angles are computed in f64 and rounded once.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local module = require 'mascon.nn.module'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

local SIN = { base = { 10000, 'number > 0' }, dtype = { 'f32', 'string' }, start = { 0, 'integer >= 0' } }
--- Angles t base^(-2 i / width) of positions start, start + 1, ...: f64 [length, width / 2].
local function angles(length, width, base, start)
  local t = create.arange(start, start + length - 1)
  local i = create.arange(0, width / 2 - 1)
  return methods.reshape(t, { -1, 1 }) * F.exp(i * (-2 * math.log(base) / width))
end

--- Sines and cosines of positions: column 2 i - 1 is sin(t base^(-2 (i - 1) / width)), column 2 i the cosine.
---@param length integer
---@param width integer even
---@param opts? table base (10000) · start (0): the first position · dtype (f32)
---@return any [length, width]
--- Source: Attention is all you need, 2017, section 3.5.
---     mc.nn.sinusoidal_positions(1, 4)  --> f32[1,4]@cpu { { 0, 1, 0, 1 } }
function M.sinusoidal_positions(length, width, opts)
  local fname = 'nn.sinusoidal_positions'
  check.arg(fname, 'length', length, 'integer >= 1', 3)
  check.arg(fname, 'width', width, 'integer >= 2', 3)
  if width % 2 ~= 0 then error(('%s: width is %d; give an even one'):format(fname, width), 2) end
  local o = check.opts(fname, opts, SIN, 3)
  local a = angles(length, width, o.base, o.start)
  return methods.to(methods.reshape(F.stack({ F.sin(a), F.cos(a) }, 3), { length, width }), o.dtype)
end

local function positions_of(fname, x, width, longest, start, level)
  if not tensor.is(x) or x.ndim < 2 or x.shape[x.ndim] ~= width then
    error(('%s: input is %s; give [..., time, %d]'):format(fname, tensor.is(x) and tensor.describe(x) or check.show(x),
      width), level + 1)
  end
  local n = x.shape[x.ndim - 1]
  if start + n > longest then
    error(('%s: positions %d to %d, but the table ends at %d; give a larger one'):format(fname, start, start + n - 1,
      longest - 1), level + 1)
  end
  return n
end

local Sinusoidal = module.Module 'SinusoidalPositions'
function Sinusoidal:init(width, opts)
  local o = check.opts('nn.SinusoidalPositions', opts, { longest = { 5000, 'integer >= 1' },
    base = { 10000, 'number > 0' } }, 4)
  check.arg('nn.SinusoidalPositions', 'width', width, 'integer >= 2', 4)
  self.width, self.longest, self.base = width, o.longest, o.base
end
function Sinusoidal:forward(x, start)
  local n = positions_of('nn.SinusoidalPositions', x, self.width, self.longest, start or 0, 2)
  local t = M.sinusoidal_positions(n, self.width, { base = self.base, start = start, dtype = x.dtype })
  return x + methods.to(t, { device = x.device })
end
function Sinusoidal:describe() return tostring(self.width) end
--- Adds sines and cosines of positions to x [..., time, width]; called as pe(x, start).
---@param width integer even
---@param opts? table longest (5000) · base (10000)
---@return mascon.Module
--- Source: Attention is all you need, 2017, section 3.5.
---     mc.nn.SinusoidalPositions(4)(mc.zeros{ 1, 1, 4 })  --> f64[1,1,4]@cpu { { { 0, 1, 0, 1 } } }
function M.SinusoidalPositions(width, opts) return Sinusoidal(width, opts) end

local LEARNED = module.options { weight_init = { { 'normal', std = 0.02 }, 'string | table | function' } }
local Learned = module.Module 'LearnedPositions'
function Learned:init(longest, width, opts)
  local o = check.opts('nn.LearnedPositions', opts, LEARNED, 4)
  check.arg('nn.LearnedPositions', 'longest', longest, 'integer >= 1', 4)
  check.arg('nn.LearnedPositions', 'width', width, 'integer >= 1', 4)
  self.longest, self.width = longest, width
  self:parameter('weight', { longest, width }, o.weight_init, module.own(o, 1))
end
function Learned:forward(x, start)
  start = start or 0
  local n = positions_of('nn.LearnedPositions', x, self.width, self.longest, start, 2)
  return x + self.weight[{ { start + 1, start + n } }]
end
function Learned:describe() return ('%d, %d'):format(self.longest, self.width) end
--- Adds rows of a table of positions to x [..., time, width]; called as pe(x, start).
---@param longest integer positions
---@param width integer
---@param opts? table weight_init (normal of std 0.02) · dtype (f32) · device · key
---@return mascon.Module
---     mc.nn.LearnedPositions(16, 4)(mc.zeros{ 1, 3, 4, dtype = 'f32' }).shape  --> {1, 3, 4}
function M.LearnedPositions(longest, width, opts) return Learned(longest, width, opts) end

local ROPE = { base = { 10000, 'number > 0' }, start = { 0, 'integer >= 0' },
  layout = { 'interleaved', { 'interleaved', 'half' } } }
--- Rotates pairs of the last axis by angles that grow with the position: products of rotated queries and keys depend on
--- distances.
---
--- Pair i turns by t base^(-2 (i - 1) / d): (x, y) gives (x cos - y sin, x sin + y cos). Pairs are neighbours
--- ('interleaved'), or elements i and i + d / 2 ('half', as LLaMA has it).
---@param x any f16|bf16|f32|f64 [..., time, d], d even
---@param opts? table base (10000) · start (0): the first position · layout ('interleaved')
---@return any dtype and shape of x
--- Errors: an odd d. Source: RoFormer: enhanced transformer with rotary position embedding, 2021, equation 34.
---     mc.nn.rope(mc.tensor{ { 1, 0 } }, { start = 1 })  --> f64[1,2]@cpu { { 0.5403, 0.8415 } }
function M.rope(x, opts)
  x = op.operand('nn.rope', x, 2)
  local o = check.opts('nn.rope', opts, ROPE, 3)
  local d = x.ndim >= 2 and x.shape[x.ndim] or 1
  if d % 2 ~= 0 or d == 0 then
    error(('nn.rope: operand is %s; give [..., time, d] with an even d'):format(tensor.describe(x)), 2)
  end
  local a = angles(x.shape[x.ndim - 1], d, o.base, o.start)
  local c, s = methods.to(F.cos(a), { dtype = x.dtype, device = x.device }),
    methods.to(F.sin(a), { dtype = x.dtype, device = x.device })
  if o.layout == 'half' then
    local p = methods.split(x, 2, x.ndim)
    return F.concat({ p[1] * c - p[2] * s, p[1] * s + p[2] * c }, x.ndim)
  end
  local shape = {}
  for i = 1, x.ndim - 1 do shape[i] = x.shape[i] end
  shape[x.ndim], shape[x.ndim + 1] = d / 2, 2
  local p = methods.split(methods.reshape(x, shape), 2, x.ndim + 1)
  local u, v = methods.squeeze(p[1], x.ndim + 1), methods.squeeze(p[2], x.ndim + 1)
  return methods.reshape(F.stack({ u * c - v * s, u * s + v * c }, x.ndim + 1), x.shape)
end

--- Biases of attention that fall with the distance: head h adds -slope_h |i - j|, to be given as mask.
---
--- Slopes are 2^(-8 h / heads); for numbers of heads between powers of two those of the lower power, then every second
--- of the next.
---@param heads integer
---@param queries integer
---@param keys? integer (queries); the last query stands at the last key
---@param opts? table dtype (f32)
---@return any [heads, queries, keys]
--- Source: Train short, test long: attention with linear biases enables input length extrapolation, 2022.
---     mc.nn.alibi(8, 1, 2)[1] + 0  --> f32[1,2]@cpu { { -0.5000, 0.0000 } }
function M.alibi(heads, queries, keys, opts)
  check.arg('nn.alibi', 'heads', heads, 'integer >= 1', 3)
  check.arg('nn.alibi', 'queries', queries, 'integer >= 1', 3)
  keys = check.arg('nn.alibi', 'keys', keys or queries, 'integer >= 1', 3)
  local o = check.opts('nn.alibi', opts, { dtype = { 'f32', 'string' } }, 3)
  local power, slopes = 2 ^ math.floor(math.log(heads) / math.log(2) + 1e-9), {}
  for h = 1, power do slopes[h] = 2 ^ (-8 * h / power) end
  for h = 1, heads - power do slopes[power + h] = 2 ^ (-8 * (2 * h - 1) / (2 * power)) end
  local i = methods.reshape(create.arange(keys - queries, keys - 1), { -1, 1 })
  local far = F.abs(i - create.arange(0, keys - 1))
  return methods.to(methods.reshape(op.from_table(slopes), { -1, 1, 1 }) * -far, o.dtype)
end

local BUCKETS = { buckets = { 32, 'integer >= 2' }, longest = { 128, 'integer >= 1' }, both = { true, 'bool' },
  start = { 0, 'integer >= 0' } }
--- Buckets of the distances of keys from queries: each near distance has one, farther ones share them by logarithm.
---
--- With both, half of the buckets are for keys after the query; else those count as distance 0. Distances of half the
--- buckets (of a direction) and more grow logarithmically up to longest, beyond which all share the last.
---@param queries integer
---@param keys integer
---@param opts? table buckets (32) · longest (128) · both (true) · start (0): position of the first query
---@return any i64 [queries, keys], from 0
--- Source: Exploring the limits of transfer learning with a unified text-to-text transformer, 2020, section 2.1.
---     mc.nn.relative_buckets(1, 3, { buckets = 4 })  --> i64[1,3]@cpu { { 0, 3, 3 } }
function M.relative_buckets(queries, keys, opts)
  local fname = 'nn.relative_buckets'
  check.arg(fname, 'queries', queries, 'integer >= 1', 3)
  check.arg(fname, 'keys', keys, 'integer >= 1', 3)
  local o = check.opts(fname, opts, BUCKETS, 3)
  local many = o.both and o.buckets / 2 or o.buckets
  if many ~= math.floor(many) then error(('%s: buckets is %d; both directions need an even number'):format(fname,
    o.buckets), 2) end
  local near = math.floor(many / 2)
  if near < 1 or o.longest <= near then
    error(('%s: %d buckets with longest = %d leave no room; give more buckets, or a larger longest than %d'):format(
      fname, o.buckets, o.longest, near), 2)
  end
  -- one bucket for each distance, by numbers: the logarithm at a boundary must not depend on how it is computed
  local of = {}
  for d = 0, math.max(keys, queries + o.start) do
    local b = d
    if d >= near then
      b = math.min(near + math.floor(math.log(d / near) / math.log(o.longest / near) * (many - near) + 1e-9), many - 1)
    end
    of[d + 1] = b
  end
  local far = create.arange(0, keys - 1, 1, { dtype = 'i64' })
    - methods.reshape(create.arange(o.start, o.start + queries - 1, 1, { dtype = 'i64' }), { -1, 1 })
  local table_of = op.from_table(of):to 'i64'
  local distance = o.both and F.abs(far) or F.maximum(F.negative(far), 0)
  local b = methods.reshape(F.take(table_of, methods.reshape(distance + 1, { -1 }), 1), { queries, keys })
  return o.both and b + F.gt(far, 0):to 'i64' * many or b
end

local RELATIVE = module.options { buckets = { 32, 'integer >= 2' }, longest = { 128, 'integer >= 1' },
  both = { true, 'bool' }, weight_init = { { 'normal', std = 0.02 }, 'string | table | function' } }
local Relative = module.Module 'RelativePositions'
function Relative:init(heads, opts)
  local fname = 'nn.RelativePositions'
  local o = check.opts(fname, opts, RELATIVE, 4)
  self.heads = check.arg(fname, 'heads', heads, 'integer >= 1', 4)
  rawset(self, 'how', { buckets = o.buckets, longest = o.longest, both = o.both })
  self:parameter('weight', { o.buckets, heads }, o.weight_init, module.own(o, 1))
end
function Relative:forward(queries, keys, start)
  local how = self.how
  local places = M.relative_buckets(queries, keys or queries, { buckets = how.buckets, longest = how.longest,
    both = how.both, start = start })
  local rows = F.take(self.weight, methods.to(methods.reshape(places, { -1 }) + 1, { device = self.weight.device }), 1)
  return methods.reshape(methods.permute_dims(rows, 2, 1), { self.heads, queries, keys or queries })
end
function Relative:describe() return ('%d heads, %d buckets'):format(self.heads, self.how.buckets) end
--- A learned number for each head and bucket of distances, added to the fit of queries to keys.
---
--- Called as bias(queries, keys, start) with numbers; the result [heads, queries, keys] is a mask for attention.
--- nn.MultiheadAttention has one with the option relative; a stack of layers shares one in its first layer in T5.
---@param heads integer
---@param opts? table buckets (32) · longest (128) · both (true; false under causal attention) ·
---   weight_init (normal of std 0.02) · dtype (f32) · device · key
---@return mascon.Module
--- Source: as nn.relative_buckets.
---     mc.nn.RelativePositions(2)(3, 5).shape  --> {2, 3, 5}
function M.RelativePositions(heads, opts) return Relative(heads, opts) end

return M
