-- fuse.lua - layers as one: an activation behind a product, a batch norm folded into a convolution, a layer norm folded
-- into the linear layer behind it, and fusions that users register.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local patterns = require 'mascon.compile.patterns'
local module = require 'mascon.nn.module'
local fused = require 'mascon.nn.fused'
local container = require 'mascon.nn.layer.container'
local functions = require 'mascon.nn.linear'
local linear = require 'mascon.nn.layer.linear'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

--- act(x weight^T + bias) in one pass: the activation works on tiles of the product while they are in cache.
---
--- mc.compile does the same for nn.linear and an activation in a larger function; within one, this is that.
---@param x any f32|f64 [..., in]
---@param weight any [out, in]
---@param bias? any [out]
---@param act? string 'none', 'relu', 'gelu', 'gelu_tanh', 'silu', 'swiglu' (values and gates: [..., out / 2]) or
---   another activation's name ('none')
---@return any
--- Errors: as nn.linear; names that are no activation.
---     mc.nn.fuse_linear_activation(mc.tensor{ 1, 2 }, mc.tensor{ { 3, -4 } }, nil, 'relu')  --> f64[1]@cpu { 0 }
function M.fuse_linear_activation(x, weight, bias, act)
  local fname = 'nn.fuse_linear_activation'
  check.arg(fname, 'act', act or 'none', 'string', 3)
  return fused.linear(functions.linear, act, fused.behind(fname, act, 3), x, weight, bias)
end

local MLP = module.options { activation = { 'gelu', 'string' }, bias = { true, 'bool' } }

--- A multilayer perceptron: linear layers, each with its activation in the same pass; the last one without.
---@param inputs integer
---@param widths integer[] of the layers, the last one that of the result
---@param opts? table activation ('gelu'): as for mc.nn.fuse_linear_activation · bias (true) · dtype (f32) · device ·
---   key
---@return mascon.Module nn.Sequential of nn.Linear
--- Errors: widths that are no whole numbers; names that are no activation.
---     mc.nn.MLP(4, { 16, 16, 3 })(mc.zeros{ 2, 4, dtype = 'f32' }).shape  --> {2, 3}
function M.MLP(inputs, widths, opts)
  local fname = 'nn.MLP'
  local o = check.opts(fname, opts, MLP, 3)
  check.arg(fname, 'inputs', inputs, 'integer >= 1', 3)
  check.arg(fname, 'widths', widths, 'table', 3)
  if #widths == 0 then error(fname .. ': widths are empty; give that of the result at least', 2) end
  fused.behind(fname, o.activation, 3)
  local parts, halved = {}, o.activation == 'swiglu' and 2 or 1
  for i, width in ipairs(widths) do
    check.arg(fname, ('widths[%d]'):format(i), width, 'integer >= 1', 3)
    local last = i == #widths
    parts[i] = linear.Linear(inputs, last and width or width * halved, { bias = o.bias, dtype = o.dtype,
      device = o.device, key = module.own(o, i).key, activation = not last and o.activation or nil })
    inputs = width
  end
  return container.Sequential(parts)
end

--- A convolution and the batch norm behind it as one convolution, for evaluation: weight gamma / sqrt(var + eps), bias
--- (bias - mean) gamma / sqrt(var + eps) + beta; the activation follows.
---@param conv mascon.Module nn.Conv1d, nn.Conv2d or nn.Conv3d
---@param norm mascon.Module the batch norm of its results
---@param act? string an activation's name ('none')
---@return mascon.Module nn.Sequential of a new convolution and the activation
--- Errors: modules of other kinds; channels that differ.
---     local f = mc.nn.fuse_conv_bn_act(mc.nn.Conv1d(1, 2, 3), mc.nn.BatchNorm1d(2), 'relu')
---     f(mc.ones{ 1, 1, 5, dtype = 'f32' }).shape  --> {1, 2, 3}
function M.fuse_conv_bn_act(conv, norm, act)
  local fname = 'nn.fuse_conv_bn_act'
  local function class(v) return module.is(v) and rawget(v, '_class')._name or check.show(v) end
  if not class(conv):find '^Conv%dd$' or not class(norm):find '^BatchNorm%dd$' then
    error(('%s: the parts are %s and %s; give a convolution and a batch norm'):format(fname, class(conv),
      class(norm)), 2)
  end
  local mean, var = norm:buffers().running_mean, norm:buffers().running_var
  if not mean or mean.shape[1] ~= conv.outputs then
    error(('%s: the convolution has %d channels, the norm %s running moments of %d; both need the same'):format(fname,
      conv.outputs, mean and 'has' or 'keeps no', norm.channels), 2)
  end
  local f = fused.behind(fname, act, 3)
  local p, q = conv:parameters { all = true }, norm:parameters { all = true }
  local scale = F.rsqrt(var + norm.eps)
  if q.weight then scale = scale * q.weight end
  local shape = { conv.outputs }
  for k = 2, p.weight.ndim do shape[k] = 1 end
  local shift = (p.bias and p.bias - mean or -mean) * scale
  if q.bias then shift = shift + q.bias end
  local how = { dtype = p.weight.dtype, device = p.weight.device }
  for k, v in pairs(conv.how) do how[k] = v end
  local one = require 'mascon.nn.layer.convolution'[class(conv)](conv.inputs, conv.outputs, conv.taps, how)
  one:update { weight = p.weight * methods.reshape(scale, shape), bias = shift }
  local parts = { one }
  if act and act ~= 'none' then parts[2] = linear.Lambda(f) end
  return container.Sequential(parts):eval()
end

--- A layer norm and the linear layer behind it, which it holds.
local Pair = module.Module 'LayerNormLinear'
function Pair:init(norm, layer)
  self.norm = norm
  self.linear = layer
end
function Pair:forward(x)
  local norm, layer = self.norm, self.linear
  local y = M.fuse_layernorm_linear(x, layer.weight, { bias = layer.bias, gamma = norm.weight, beta = norm.bias,
    eps = norm.eps })
  return layer.activation and layer.act(y) or y
end

--- The two as one module; x and weight are the modules.
local function pair(fname, norm, layer, opts)
  local function class(v) return module.is(v) and rawget(v, '_class')._name or check.show(v) end
  if class(norm) ~= 'LayerNorm' or class(layer) ~= 'Linear' or opts ~= nil then
    error(('%s: the arguments are %s and %s%s; give nn.LayerNorm and nn.Linear, or a tensor, a weight and options')
      :format(fname, class(norm), class(layer), opts ~= nil and ' with options' or ''), 3)
  end
  if #norm.sizes ~= 1 or norm.sizes[1] ~= layer.inputs then
    error(('%s: the norm is over [%s] and the layer takes %d; both need the same last axis'):format(fname,
      table.concat(norm.sizes, ', '), layer.inputs), 3)
  end
  return Pair(norm, layer)
end

--- nn.layer_norm over the last axis followed by nn.linear, with one product: r x (gamma W)^T - r m (W gamma) + (W beta
--- + b), m the mean and r one by the standard deviation of each row.
---
--- Rows whose mean is far larger than their spread lose digits in it; the two functions do not.
---@param x any f32|f64 [..., in], or an nn.LayerNorm
---@param weight any [out, in] of the linear layer, or, behind a norm, an nn.Linear
---@param opts? table bias [out] · gamma [in], beta [in]: of the norm · eps (1e-5)
---@return any [..., out]; of two modules a module that holds both
--- Errors: sizes that differ.
---     mc.nn.fuse_layernorm_linear(mc.tensor{ 1, 3 }, mc.tensor{ { 1, -1 } }, { eps = 0 })  --> f64[1]@cpu { -2 }
function M.fuse_layernorm_linear(x, weight, opts)
  local fname = 'nn.fuse_layernorm_linear'
  if module.is(x) or module.is(weight) then return (pair(fname, x, weight, opts)) end
  x, weight = op.beside(fname, x, weight, 2), op.beside(fname, weight, x, 2)
  local o = check.opts(fname, opts, { bias = { nil, 'tensor' }, gamma = { nil, 'tensor' }, beta = { nil, 'tensor' },
    eps = { 1e-5, 'number >= 0' } }, 3)
  if x.ndim == 0 or weight.ndim ~= 2 or x.shape[x.ndim] ~= weight.shape[2] then
    error(('%s: input is %s and weight is %s; the last axis of the input must have the size of the second of the '
      .. 'weight'):format(fname, tensor.describe(x), tensor.describe(weight)), 2)
  end
  local mean = F.mean(x, { -1, keepdim = true })
  local r = F.rsqrt(F.var(x, { -1, keepdim = true }) + o.eps)
  local scaled = o.gamma and weight * o.gamma or weight
  local y = (functions.linear(x, scaled) - mean * F.sum(scaled, { 2 })) * r
  local last = o.bias
  if o.beta then
    local b = methods.matmul(weight, o.beta)
    last = last and last + b or b
  end
  return last and y + last or y
end

--- Registers a fusion: where a compiled function has this row of ops, `replace` does their work.
---
--- In a row each op makes an operand of the next, and nobody else reads it. f:graph { pass = 'patterns', when =
--- 'before' } prints the ops of a function f as rows of the op table; an op may also be { 'subtract', at = 2 }, with
--- the place of the operand that the op before it makes. Where patterns overlap, the longer goes first, then the one
--- nearer to the end. Gradients are part of compiled functions, and their ops are found as well. f:explain() says what
--- was found. Functions that were compiled before keep their form, and the first call of a form runs the function
--- itself.
---@param name string a pattern of the same name goes
---@param ops table names of ops in their order
---@param replace function of the operands of the first op, then of the other operands of the second, and so on; its
---   result has the dtype and shape of the last op's
---@param opts? table when: a function of { dtype =, shape = } for each operand, false where the ops stay · check
---   (true): at the first sight of a form both are computed on random numbers, and have to agree (1e-10 of the largest
---   number in f64, 1e-4 in f32)
---@return function remove takes the pattern away again
--- Errors: names that are no ops; when a function is compiled: a result of another form, other numbers.
---     local f = mc.compile(function(x) return mc.log(mc.exp(x) + 1) end)
---     local function softplus(x) return mc.nn.softplus(x) end
---     local remove = mc.nn.register_pattern('softplus', { 'exp', 'add', 'log' }, softplus)
---     local _, y = f(mc.tensor{ 2 }), f(mc.tensor{ 800 })
---     remove()
---     y  --> f64[1]@cpu { 800 }
function M.register_pattern(name, ops, replace, opts)
  return (patterns.register('nn.register_pattern', name, ops, replace, opts))
end

return M
