-- activation.lua - activations composed of ops, and gated linear units; others are rows of the op table.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

--- a where positive, slope a elsewhere. The derivative at 0 is slope.
---@param x any f16|bf16|f32|f64, any shape; integers become f64
---@param slope? number (0.01)
---@return any dtype and shape of x
--- Source: PyTorch nn.functional.leaky_relu.
---     mc.nn.leaky_relu(mc.tensor{ -1, 1.5 })  --> f64[2]@cpu { -0.0100, 1.5000 }
function M.leaky_relu(x, slope)
  x = op.operand('nn.leaky_relu', x, 2)
  if slope == nil then slope = 0.01 end
  check.arg('nn.leaky_relu', 'slope', slope, 'number', 3)
  return F.where(F.gt(x, 0), x, x * slope)
end

--- a where positive, alpha (e^a - 1) elsewhere.
---@param x any f16|bf16|f32|f64, any shape; integers become f64
---@param alpha? number (1)
---@return any dtype and shape of x
--- Source: Fast and accurate deep network learning by exponential linear units, 2016.
---     mc.nn.elu(mc.tensor{ 0, 2 })  --> f64[2]@cpu { 0, 2 }
function M.elu(x, alpha)
  x = op.operand('nn.elu', x, 2)
  if alpha == nil then alpha = 1 end
  check.arg('nn.elu', 'alpha', alpha, 'number', 3)
  return F.where(F.gt(x, 0), x, F.expm1(F.where(F.gt(x, 0), 0, x)) * alpha)
end

-- ---------------------------------------------------------------- gated linear units

--- value act(gate) of the two halves of an axis.
local function gated(name, act)
  local fname = 'nn.' .. name
  return function(x, axis)
    x = op.operand(fname, x, 2)
    if axis == nil then axis = -1 end
    if x.ndim == 0 then error(('%s: operand is %s; it needs an axis of values and gates'):format(fname,
      tensor.describe(x)), 2) end
    local at = tensor.axis(fname, x, axis, 3) + 1
    local n = x.shape[at]
    if n % 2 ~= 0 then
      error(('%s: axis %d of %s has an odd size; it holds as many values as gates'):format(fname, axis,
        tensor.describe(x)), 2)
    end
    local parts = methods.split(x, 2, at)
    return parts[1] * act(parts[2])
  end
end

--- First half of an axis times the logistic function of the second half.
---@param x any f16|bf16|f32|f64 [..., 2 n, ...]
---@param axis? integer (-1)
---@return any [..., n, ...]
--- Errors: an axis of odd size. Source: GLU variants improve transformer, 2020.
---     mc.nn.glu(mc.tensor{ 2, 0 })  --> f64[1]@cpu { 1 }
M.glu = gated('glu', function(t) return F.logistic(t) end)
--- First half of an axis times nn.relu of the second half.
---@param x any f16|bf16|f32|f64 [..., 2 n, ...]
---@param axis? integer (-1)
---@return any [..., n, ...]
--- Errors: an axis of odd size. Source: GLU variants improve transformer, 2020.
---     mc.nn.reglu(mc.tensor{ 2, 3 })  --> f64[1]@cpu { 6 }
M.reglu = gated('reglu', function(t) return F.relu(t) end)
--- First half of an axis times nn.gelu of the second half.
---@param x any f16|bf16|f32|f64 [..., 2 n, ...]
---@param axis? integer (-1)
---@return any [..., n, ...]
--- Errors: an axis of odd size. Source: GLU variants improve transformer, 2020.
---     mc.nn.geglu(mc.tensor{ 2, 0 })  --> f64[1]@cpu { 0 }
M.geglu = gated('geglu', function(t) return F.gelu(t) end)
--- First half of an axis times nn.silu of the second half.
---@param x any f16|bf16|f32|f64 [..., 2 n, ...]
---@param axis? integer (-1)
---@return any [..., n, ...]
--- Errors: an axis of odd size. Source: GLU variants improve transformer, 2020.
---     mc.nn.swiglu(mc.tensor{ 2, 0 })  --> f64[1]@cpu { 0 }
M.swiglu = gated('swiglu', function(t) return F.silu(t) end)

return M
