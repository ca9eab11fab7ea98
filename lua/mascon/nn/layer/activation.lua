-- activation.lua - activations as modules, and gated feed-forward layers.
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local module = require 'mascon.nn.module'
local linear = require 'mascon.nn.layer.linear'
local functions = require 'mascon.nn.activation'
local F = op.functions
local M = {}

--- A class without parameters: forward is f(x, what init returned).
local function class(name, f, init, describe)
  local A = module.Module(name)
  if init then
    function A:init(...) rawset(self, 'how', init(...)) end
  end
  function A:forward(x) return f(x, self.how) end
  if describe then function A:describe() return describe(self.how) end end
  return A
end
local function shown(v) return ('%g'):format(v) end
local function number(fname, what, default)
  return function(v) return check.arg('nn.' .. fname, what, v == nil and default or v, 'number', 5) end
end
local function axis(fname)
  return function(v) return check.arg('nn.' .. fname, 'axis', v == nil and -1 or v, 'integer', 5) end
end

local ReLU, SiLU, Mish = class('ReLU', F.relu), class('SiLU', F.silu), class('Mish', F.mish)
local Softplus, Hardswish, LogSigmoid = class('Softplus', F.softplus), class('Hardswish', F.hardswish),
  class('LogSigmoid', F.log_sigmoid)
local Sigmoid, Tanh = class('Sigmoid', F.logistic), class('Tanh', F.tanh)
local LeakyReLU = class('LeakyReLU', functions.leaky_relu, number('LeakyReLU', 'slope', 0.01), shown)
local ELU = class('ELU', functions.elu, number('ELU', 'alpha', 1), shown)
local GELU = class('GELU', function(x, how) return how and F.gelu_tanh(x) or F.gelu(x) end, function(form)
  if form ~= nil and form ~= 'tanh' and form ~= 'none' then
    check.error(("nn.GELU: approximate is %s; give 'none' or 'tanh'"):format(check.show(form)), 5)
  end
  return form == 'tanh'
end, function(how) return how and 'tanh' or '' end)
local Softmax = class('Softmax', function(x, at) return F.softmax(x, at) end, axis 'Softmax')
local LogSoftmax = class('LogSoftmax', function(x, at) return F.log_softmax(x, at) end, axis 'LogSoftmax')
local GLU = class('GLU', functions.glu, axis 'GLU')

--- nn.relu as a module.
---@return mascon.Module
---     mc.nn.ReLU()(mc.tensor{ -1, 2 })  --> f64[2]@cpu { 0, 2 }
function M.ReLU() return ReLU() end
--- nn.leaky_relu as a module.
---@param slope? number where the operand is negative (0.01)
---@return mascon.Module
---     mc.nn.LeakyReLU(0.5)(mc.tensor{ -1, 2 })  --> f64[2]@cpu { -0.5000, 2.0000 }
function M.LeakyReLU(slope) return LeakyReLU(slope) end
--- nn.elu as a module.
---@param alpha? number (1)
---@return mascon.Module
---     mc.nn.ELU()(mc.tensor{ 2 })  --> f64[1]@cpu { 2 }
function M.ELU(alpha) return ELU(alpha) end
--- nn.gelu as a module, or nn.gelu_tanh.
---@param approximate? string 'none' (default) or 'tanh'
---@return mascon.Module
---     mc.nn.GELU 'tanh'(mc.tensor{ 0 })  --> f64[1]@cpu { 0 }
function M.GELU(approximate) return GELU(approximate) end
--- nn.silu as a module.
---@return mascon.Module
---     mc.nn.SiLU()(mc.tensor{ 0 })  --> f64[1]@cpu { 0 }
function M.SiLU() return SiLU() end
--- nn.mish as a module.
---@return mascon.Module
---     mc.nn.Mish()(mc.tensor{ 0 })  --> f64[1]@cpu { 0 }
function M.Mish() return Mish() end
--- nn.softplus as a module.
---@return mascon.Module
---     mc.nn.Softplus()(mc.zeros{ 2 }).shape  --> {2}
function M.Softplus() return Softplus() end
--- nn.hardswish as a module.
---@return mascon.Module
---     mc.nn.Hardswish()(mc.tensor{ 4 })  --> f64[1]@cpu { 4 }
function M.Hardswish() return Hardswish() end
--- nn.log_sigmoid as a module.
---@return mascon.Module
---     mc.nn.LogSigmoid()(mc.zeros{ 2 }).shape  --> {2}
function M.LogSigmoid() return LogSigmoid() end
--- The logistic function 1 / (1 + exp(-x)) as a module.
---@return mascon.Module
---     mc.nn.Sigmoid()(mc.tensor{ 0 })  --> f64[1]@cpu { 0.5000 }
function M.Sigmoid() return Sigmoid() end
--- tanh as a module.
---@return mascon.Module
---     mc.nn.Tanh()(mc.tensor{ 0 })  --> f64[1]@cpu { 0 }
function M.Tanh() return Tanh() end
--- softmax along an axis as a module.
---@param axis? integer (-1)
---@return mascon.Module
---     mc.nn.Softmax()(mc.tensor{ 0, 0 })  --> f64[2]@cpu { 0.5000, 0.5000 }
function M.Softmax(axis) return Softmax(axis) end -- luacheck: ignore 431
--- log_softmax along an axis as a module.
---@param axis? integer (-1)
---@return mascon.Module
---     mc.nn.LogSoftmax()(mc.tensor{ 3 })  --> f64[1]@cpu { 0 }
function M.LogSoftmax(axis) return LogSoftmax(axis) end -- luacheck: ignore 431
--- nn.glu as a module: half of an axis times the logistic function of the other half.
---@param axis? integer (-1)
---@return mascon.Module
---     mc.nn.GLU()(mc.tensor{ 2, 0 })  --> f64[1]@cpu { 1 }
function M.GLU(axis) return GLU(axis) end -- luacheck: ignore 431

-- ---------------------------------------------------------------- gated feed-forward layers

local GATED = module.options { hidden = { nil, 'integer >= 1' }, bias = { false, 'bool' } }
local function gated(name, act)
  local Gated = module.Module(name)
  function Gated:init(width, opts)
    local fname = 'nn.' .. name
    local o = check.opts(fname, opts, GATED, 4)
    check.arg(fname, 'width', width, 'integer >= 1', 4)
    local hidden = o.hidden or math.ceil(math.floor(8 * width / 3) / 8) * 8
    self.width, self.hidden = width, hidden
    local function part(k) return { bias = o.bias, dtype = o.dtype, device = o.device, key = module.own(o, k).key } end
    self.gate_proj = linear.Linear(width, hidden, part(1))
    self.up_proj = linear.Linear(width, hidden, part(2))
    self.down_proj = linear.Linear(hidden, width, part(3))
  end
  function Gated:forward(x) return self.down_proj(act(self.gate_proj(x)) * self.up_proj(x)) end
  function Gated:describe() return ('%d, hidden %d'):format(self.width, self.hidden) end
  return Gated
end
local SwiGLU, GeGLU = gated('SwiGLU', F.silu), gated('GeGLU', F.gelu)

--- A feed-forward layer with a gate: down_proj(silu(gate_proj(x)) up_proj(x)), as in LLaMA.
---@param width integer
---@param opts? table hidden (8 width / 3, up to a multiple of 8) · bias (false) · dtype (f32) · device · key
---@return mascon.Module
--- Source: GLU variants improve transformer, 2020.
---     mc.nn.SwiGLU(512).hidden  --> 1368
function M.SwiGLU(width, opts) return SwiGLU(width, opts) end

--- A feed-forward layer with a gate: down_proj(gelu(gate_proj(x)) up_proj(x)).
---@param width integer
---@param opts? table as SwiGLU
---@return mascon.Module
--- Source: GLU variants improve transformer, 2020.
---     mc.nn.GeGLU(12)(mc.zeros{ 2, 12, dtype = 'f32' }).shape  --> {2, 12}
function M.GeGLU(width, opts) return GeGLU(width, opts) end

return M
