-- initial.lua - first values of parameters, as functions of a shape.
--
-- A weight has shape (out, in, window ...): one of its outputs depends on fan_in = in x window numbers, one of its
-- inputs reaches fan_out = out x window outputs. Where an initialiser is asked for, its name will do, { name, option =
-- value }, or any function(shape, { dtype, device, key }).
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local placing = require 'mascon.core.place'
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local random = require 'mascon.random'
local error = check.error
local F = op.functions
local M = {}

local BASE = { dtype = { 'f32', 'string' }, device = placing.STANDING, key = { nil, 'any' } }
local function spec(more)
  for k, v in pairs(BASE) do more[k] = v end
  return more
end

--- Numbers of one weight's inputs and outputs from its shape.
---     mc.nn.init.fans{ 64, 16, 3, 3 }  --> 144, 576
---@param shape table sizes: out, in, window ...
---@return integer fan_in
---@return integer fan_out
--- Errors: fewer than two axes.
function M.fans(shape)
  if #shape < 2 then
    error(('nn.init: a shape of %d axes has no inputs and outputs; give (out, in, ...)'):format(#shape), 2)
  end
  local window = 1
  for i = 3, #shape do window = window * shape[i] end
  return shape[2] * window, shape[1] * window
end

local function sizes(shape, extra)
  local out = {}
  for i, n in ipairs(shape) do out[i] = n end
  for k, v in pairs(extra) do out[k] = v end
  return out
end

local function place(t, o) return tensor.methods.to(t, { dtype = o.dtype, device = o.device }) end

--- dtype in which numbers are drawn: f16 and bf16 are rounded from f32.
local function drawn(o) return o.dtype == 'f64' and 'f64' or 'f32' end

local function uniform(shape, o, bound)
  return place(random.uniform(sizes(shape, { low = -bound, high = bound, dtype = drawn(o), key = o.key })), o)
end
local function normal(shape, o, mean, std)
  return place(random.normal(sizes(shape, { mean = mean, std = std, dtype = drawn(o), key = o.key })), o)
end

local CONSTANT = spec { value = { 0, 'number' } }
--- One value everywhere.
---@param shape table
---@param opts? table value (0) · dtype (f32) · device · key
function M.constant(shape, opts)
  local o = check.opts('nn.init.constant', opts, CONSTANT, 3)
  return create.full(shape, o.value, { dtype = o.dtype, device = o.device })
end

--- Zeros.
---@param shape table
---@param opts? table dtype (f32) · device
function M.zeros(shape, opts)
  local o = check.opts('nn.init.zeros', opts, BASE, 3)
  return create.zeros(shape, { dtype = o.dtype, device = o.device })
end

--- Ones.
---@param shape table
---@param opts? table dtype (f32) · device
function M.ones(shape, opts)
  local o = check.opts('nn.init.ones', opts, BASE, 3)
  return create.ones(shape, { dtype = o.dtype, device = o.device })
end

local UNIFORM = spec { bound = { 0.1, 'number >= 0' } }
--- Uniform numbers on [-bound, bound).
---@param shape table
---@param opts? table bound (0.1) · dtype (f32) · device · key
function M.uniform(shape, opts)
  local o = check.opts('nn.init.uniform', opts, UNIFORM, 3)
  return (uniform(shape, o, o.bound))
end

local NORMAL = spec { mean = { 0, 'number' }, std = { 0.1, 'number >= 0' } }
--- Normal numbers.
---@param shape table
---@param opts? table mean (0) · std (0.1) · dtype (f32) · device · key
function M.normal(shape, opts)
  local o = check.opts('nn.init.normal', opts, NORMAL, 3)
  return (normal(shape, o, o.mean, o.std))
end

local CUT = spec { mean = { 0, 'number' }, std = { 1, 'number > 0' }, low = { -2, 'number' }, high = { 2, 'number' } }
--- Normal numbers given that they lie in [low, high]: bounds as values, not in units of std.
---@param shape table
---@param opts? table mean (0) · std (1) · low (-2) · high (2) · dtype (f32) · device · key
--- Source: torch.nn.init.trunc_normal_.
function M.trunc_normal(shape, opts)
  local o = check.opts('nn.init.trunc_normal', opts, CUT, 3)
  return (place(random.truncated_normal(sizes(shape, { mean = o.mean, std = o.std, low = o.low, high = o.high,
    dtype = drawn(o), key = o.key })), o))
end

--- A pair of initialisers, uniform and normal, of the variance gain^2 / fan.
local function scaled(name, gain, fan, law)
  local options = spec { gain = { gain, 'number >= 0' } }
  return function(shape, opts)
    local o = check.opts('nn.init.' .. name, opts, options, 3)
    local std = o.gain / math.sqrt(fan(M.fans(shape)))
    if law == 'uniform' then return (uniform(shape, o, math.sqrt(3) * std)) end
    return (normal(shape, o, 0, std))
  end
end
local function both(i, o) return (i + o) / 2 end
local function inputs(i) return i end

--- Uniform numbers of variance 2 gain^2 / (fan_in + fan_out).
---@param shape table
---@param opts? table gain (1) · dtype (f32) · device · key
--- Source: Understanding the difficulty of training deep feedforward neural networks, 2010, equation 16.
M.xavier_uniform = scaled('xavier_uniform', 1, both, 'uniform')
--- Normal numbers of variance 2 gain^2 / (fan_in + fan_out).
---@param shape table
---@param opts? table gain (1) · dtype (f32) · device · key
--- Source: Understanding the difficulty of training deep feedforward neural networks, 2010.
M.xavier_normal = scaled('xavier_normal', 1, both, 'normal')
--- Uniform numbers of variance gain^2 / fan_in, for layers before a rectifier.
---@param shape table
---@param opts? table gain (sqrt 2) · dtype (f32) · device · key
--- Source: Delving deep into rectifiers, 2015, equation 10.
M.he_uniform = scaled('he_uniform', math.sqrt(2), inputs, 'uniform')
--- Normal numbers of variance gain^2 / fan_in, for layers before a rectifier.
---@param shape table
---@param opts? table gain (sqrt 2) · dtype (f32) · device · key
--- Source: Delving deep into rectifiers, 2015, equation 10.
M.he_normal = scaled('he_normal', math.sqrt(2), inputs, 'normal')
--- Uniform numbers of variance 1 / fan_in.
---@param shape table
---@param opts? table gain (1) · dtype (f32) · device · key
--- Source: Efficient backprop, 1998, section 4.6.
M.lecun_uniform = scaled('lecun_uniform', 1, inputs, 'uniform')
--- Normal numbers of variance 1 / fan_in.
---@param shape table
---@param opts? table gain (1) · dtype (f32) · device · key
--- Source: Efficient backprop, 1998, section 4.6.
M.lecun_normal = scaled('lecun_normal', 1, inputs, 'normal')
--- Uniform numbers on [-1 / sqrt(fan_in), 1 / sqrt(fan_in)): PyTorch's default for linear layers and convolutions.
---@param shape table
---@param opts? table dtype (f32) · device · key
--- Source: torch.nn.Linear.
M.torch_default = scaled('torch_default', 1 / math.sqrt(3), inputs, 'uniform')

local ORTHOGONAL = spec { gain = { 1, 'number' } }
--- A matrix with orthonormal rows or columns, whichever are fewer; further axes count as columns.
---@param shape table
---@param opts? table gain (1) · dtype (f32) · device · key
--- Source: Exact solutions to the nonlinear dynamics of learning in deep linear neural networks, 2014.
function M.orthogonal(shape, opts)
  local o = check.opts('nn.init.orthogonal', opts, ORTHOGONAL, 3)
  M.fans(shape)
  local rows, columns = shape[1], 1
  for i = 2, #shape do columns = columns * shape[i] end
  local tall = rows >= columns
  local a = random.normal { tall and rows or columns, tall and columns or rows, key = o.key }
  local q, r = require('mascon.linalg').qr(a)
  q = q * F.sign(require('mascon.array').diagonal(r)) -- so that all rotations are equally likely
  if not tall then q = q.mT end
  return (place(tensor.methods.reshape(q * o.gain, shape), o))
end

--- An initialiser from its name, { name, options }, a function, or a number.
function M.of(fname, v, level)
  if type(v) == 'function' then return v end
  if type(v) == 'number' then v = { 'constant', value = v } end
  local name, given = v, {}
  if type(v) == 'table' then
    name = v[1]
    for k, x in pairs(v) do if k ~= 1 then given[k] = x end end
  end
  local f = type(name) == 'string' and name ~= 'of' and name ~= 'fans' and M[name]
  if not f then
    local near = type(name) == 'string' and check.nearest(name, M)
    error(('%s: initialiser is %s; give a name of mc.nn.init%s, { name, option = value }, or a function of a shape')
      :format(fname, check.show(name), near and (' (did you mean %q?)'):format(near) or ''), level)
  end
  return function(shape, o)
    local all = { dtype = o.dtype, device = o.device, key = o.key }
    for k, x in pairs(given) do all[k] = x end
    return f(shape, all)
  end
end

return M
