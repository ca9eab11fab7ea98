-- linear.lua - linear layers, tables of vectors, and layers that only rearrange.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local module = require 'mascon.nn.module'
local custom = require 'mascon.transform.custom'
local fused = require 'mascon.nn.fused'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

--- x weight^T + bias along the last axis.
---@param x any f16|bf16|f32|f64 [..., in]
---@param weight any [out, in]
---@param bias? any [out]
---@return any [..., out]
--- Errors: sizes that differ. Source: PyTorch nn.functional.linear.
---     mc.nn.linear(mc.tensor{ 1, 2 }, mc.tensor{ { 3, 4 } })  --> f64[1]@cpu { 11 }
function M.linear(x, weight, bias)
  x, weight = op.beside('nn.linear', x, weight, 2), op.beside('nn.linear', weight, x, 2)
  if x.ndim == 0 or weight.ndim ~= 2 or x.shape[x.ndim] ~= weight.shape[2] then
    error(('nn.linear: input is %s and weight is %s; the last axis of the input must have the size of the second of '
      .. 'the weight'):format(tensor.describe(x), tensor.describe(weight)), 2)
  end
  local back
  if x.ndim > 2 then
    back = {}
    for i = 1, x.ndim - 1 do back[i] = x.shape[i] end
    back[x.ndim] = weight.shape[1]
    x = methods.reshape(x, { -1, weight.shape[2] })
  end
  local y = methods.matmul(x, weight.mT)
  if bias then y = y + bias end
  return back and methods.reshape(y, back) or y
end

local LINEAR = module.options {
  bias = { true, 'bool' }, weight_init = { 'torch_default', 'string | table | function' }, bias_init = { nil, 'any' },
  activation = { nil, 'string' },
}
local Linear = module.Module 'Linear'
function Linear:init(inputs, outputs, opts)
  local o = check.opts('nn.Linear', opts, LINEAR, 4)
  check.arg('nn.Linear', 'inputs', inputs, 'integer >= 1', 4)
  check.arg('nn.Linear', 'outputs', outputs, 'integer >= 1', 4)
  self.inputs, self.outputs = inputs, outputs
  if o.activation then
    rawset(self, 'act', fused.behind('nn.Linear', o.activation, 4))
    rawset(self, 'activation', o.activation)
  end
  self:parameter('weight', { outputs, inputs }, o.weight_init, module.own(o, 1))
  if o.bias then
    self:parameter('bias', { outputs }, o.bias_init or { 'uniform', bound = 1 / math.sqrt(inputs) }, module.own(o, 2))
  end
end
function Linear:forward(x)
  local act = rawget(self, 'activation')
  if act then return fused.linear(M.linear, act, self.act, x, self.weight, self.bias) end
  return M.linear(x, self.weight, self.bias)
end
function Linear:describe()
  local act = rawget(self, 'activation')
  return ('%d, %d%s%s'):format(self.inputs, self.outputs, rawget(self, '_slots').bias and '' or ', no bias',
    act and ', ' .. act or '')
end
function Linear:operations(y) return 2 * y:numel() * self.inputs end

--- A linear layer: y = x weight^T + bias along the last axis.
---
--- weight [outputs, inputs] and bias [outputs] start as uniform numbers on +-1 / sqrt(inputs), as in PyTorch.
---@param inputs integer
---@param outputs integer
---@param opts? table bias (true) · weight_init, bias_init: initialisers (mc.nn.init) · activation: a name as for
---   mc.nn.fuse_linear_activation, of a function that follows in the same pass (none) · dtype (f32) · device · key
---@return mascon.Module
--- Source: PyTorch nn.Linear.
---     mc.nn.Linear(3, 2)(mc.zeros{ 5, 3, dtype = 'f32' }).shape  --> {5, 2}
function M.Linear(inputs, outputs, opts) return Linear(inputs, outputs, opts) end

--- The rows of a table at places counted from 0 (token ids); the gradient is added to the rows.
---@param ids any i8..i64, u8, any shape
---@param weight any [rows, width]
---@param opts? table padding_idx: a row without gradient (none)
---@return any [..., width]
--- Errors: an id outside the table. Source: PyTorch nn.functional.embedding.
---     mc.nn.embedding(mc.ones{ 1, dtype = 'i64' }, mc.tensor{ { 1 }, { 3 } })  --> f64[1,1]@cpu { { 3 } }
function M.embedding(ids, weight, opts)
  ids, weight = op.beside('nn.embedding', ids, weight, 2), op.beside('nn.embedding', weight, ids, 2)
  local pad = check.opts('nn.embedding', opts, { padding_idx = { nil, 'integer >= 0' } }, 3).padding_idx
  local k = tensor.kind[ids.dtype]
  if (k ~= 'i' and k ~= 'u') or weight.ndim ~= 2 then
    error(('nn.embedding: ids are %s and weight is %s; give integers from 0 and a table [rows, width]'):format(
      tensor.describe(ids), tensor.describe(weight)), 2)
  end
  local shape = {}
  for i = 1, ids.ndim do shape[i] = ids.shape[i] end
  shape[#shape + 1] = weight.shape[2]
  local flat = methods.reshape(ids, { -1 })
  if flat.dtype ~= 'i64' then flat = methods.to(flat, 'i64') end
  local rows = weight.shape[1]
  if flat._device == 0 and not tensor.recorded(flat) and flat:numel() > 0 then
    local lo, hi = F.min(flat):item(), F.max(flat):item()
    if lo < 0 or hi >= rows then
      error(('nn.embedding: id %d is outside the table %s; ids count from 0'):format(tonumber(lo < 0 and lo or hi),
        tensor.describe(weight)), 2)
    end
  end
  -- no id counts from the end
  local y = F.take(weight, k == 'i' and F.where(F.lt(flat, 0), rows, flat) or flat, { axis = 1, base = 0 })
  if pad then
    y = F.where(methods.reshape(F.eq(flat, pad), { -1, 1 }), custom.stop_gradient(y), y)
  end
  return methods.reshape(y, shape)
end

local EMBEDDING = module.options { padding_idx = { nil, 'integer >= 0' },
  weight_init = { { 'normal', std = 1 }, 'string | table | function' } }
local Embedding = module.Module 'Embedding'
function Embedding:init(rows, width, opts)
  local o = check.opts('nn.Embedding', opts, EMBEDDING, 4)
  check.arg('nn.Embedding', 'rows', rows, 'integer >= 1', 4)
  check.arg('nn.Embedding', 'width', width, 'integer >= 1', 4)
  self.rows, self.width, self.padding_idx = rows, width, o.padding_idx
  local pad = o.padding_idx
  if pad and pad >= rows then error(('nn.Embedding: padding_idx is %d for %d rows'):format(pad, rows), 4) end
  self:parameter('weight', { rows, width }, o.weight_init, module.own(o, 1, pad and function(w) w[pad + 1] = 0 end
    or nil))
end
function Embedding:forward(ids) return M.embedding(ids, self.weight, { padding_idx = self.padding_idx }) end
function Embedding:describe() return ('%d, %d'):format(self.rows, self.width) end

--- A table of vectors, looked up by integers from 0.
---@param rows integer
---@param width integer of a vector
---@param opts? table padding_idx: a row of zeros without gradient (none) · weight_init (normal of std 1) · dtype (f32)
---   · device · key
---@return mascon.Module
--- Source: PyTorch nn.Embedding.
---     mc.nn.Embedding(10, 4)(mc.zeros{ 2, 3, dtype = 'i64' }).shape  --> {2, 3, 4}
function M.Embedding(rows, width, opts) return Embedding(rows, width, opts) end

-- ---------------------------------------------------------------- without parameters

local Identity = module.Module 'Identity'
function Identity:forward(...) return ... end
--- Gives its argument as it is.
---@return mascon.Module
function M.Identity() return Identity() end

local Flatten = module.Module 'Flatten'
function Flatten:init(first) self.first = check.arg('nn.Flatten', 'first', first or 2, 'integer >= 1', 4) end
function Flatten:forward(x)
  local shape = {}
  for i = 1, math.min(self.first - 1, x.ndim) do shape[i] = x.shape[i] end
  shape[#shape + 1] = -1
  return methods.reshape(x, shape)
end
--- Joins all axes from one on into one.
---@param first? integer axis (2: all but the batch)
---@return mascon.Module
---     mc.nn.Flatten()(mc.zeros{ 2, 3, 4 }).shape  --> {2, 12}
function M.Flatten(first) return Flatten(first) end

local Lambda = module.Module 'Lambda'
function Lambda:init(f)
  check.arg('nn.Lambda', 'f', f, 'function', 4)
  rawset(self, 'f', f)
end
function Lambda:forward(...) return self.f(...) end
--- A function as a module.
---@param f function
---@return mascon.Module
---     mc.nn.Lambda(function(x) return x * 2 end)(mc.tensor{ 3 })  --> f64[1]@cpu { 6 }
function M.Lambda(f) return Lambda(f) end

return M
