-- linear.lua - linear layers, tables of vectors, and layers that only rearrange.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local module = require 'mascon.nn.module'
local fused = require 'mascon.nn.fused'
local functions = require 'mascon.nn.linear'
local error = check.error
local methods = tensor.methods
local M = {}

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
  if act then return fused.linear(functions.linear, act, self.act, x, self.weight, self.bias) end
  return functions.linear(x, self.weight, self.bias)
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
function Embedding:forward(ids) return functions.embedding(ids, self.weight, { padding_idx = self.padding_idx }) end
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
