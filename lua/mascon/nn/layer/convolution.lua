-- convolution.lua - convolutions of one to three axes as modules, plain and transposed.
local check = require 'mascon.core.check'
local module = require 'mascon.nn.module'
local functions = require 'mascon.nn.convolution'
local M = {}

local SIZES = 'integer >= 1 | table'
local PLAIN = module.options {
  stride = { 1, SIZES }, padding = { 0, 'integer >= 0 | string | table' }, dilation = { 1, SIZES },
  groups = { 1, 'integer >= 1' }, bias = { true, 'bool' },
  padding_mode = { 'zeros', { 'zeros', 'circular', 'reflect', 'replicate' } },
  weight_init = { 'torch_default', 'string | table | function' },
}
local TRANSPOSED = module.options {
  stride = { 1, SIZES }, padding = { 0, 'integer >= 0 | table' }, output_padding = { 0, 'integer >= 0 | table' },
  dilation = { 1, SIZES }, groups = { 1, 'integer >= 1' }, bias = { true, 'bool' },
  weight_init = { 'torch_default', 'string | table | function' },
}

local function window(fname, size, n)
  local list = {}
  for k = 1, n do
    list[k] = type(size) == 'table' and size[k] or size
    check.arg(fname, 'size', list[k], 'integer >= 1', 5)
  end
  if type(size) == 'table' and #size ~= n then
    check.error(('%s: size has %d entries for %d axes'):format(fname, #size, n), 5)
  end
  return list
end

local function text(list)
  for k = 2, #list do if list[k] ~= list[1] then return '{' .. table.concat(list, ', ') .. '}' end end
  return tostring(list[1])
end

local function class(n, transposed)
  local name = (transposed and 'ConvTranspose%dd' or 'Conv%dd'):format(n)
  local fname = 'nn.' .. name
  local f = functions[(transposed and 'conv_transpose%dd' or 'conv%dd'):format(n)]
  local Conv = module.Module(name)

  function Conv:init(inputs, outputs, size, opts)
    local o = check.opts(fname, opts, transposed and TRANSPOSED or PLAIN, 4)
    check.arg(fname, 'inputs', inputs, 'integer >= 1', 4)
    check.arg(fname, 'outputs', outputs, 'integer >= 1', 4)
    if inputs % o.groups ~= 0 or outputs % o.groups ~= 0 then
      check.error(('%s: %d groups do not divide %d and %d channels'):format(fname, o.groups, inputs, outputs), 4)
    end
    local taps = window(fname, size, n)
    local shape = { transposed and inputs or outputs, (transposed and outputs or inputs) / o.groups, unpack(taps) }
    local fan = shape[2]
    for _, k in ipairs(taps) do fan = fan * k end
    rawset(self, 'how', { stride = o.stride, padding = o.padding, dilation = o.dilation, groups = o.groups,
      padding_mode = o.padding_mode, output_padding = o.output_padding })
    rawset(self, 'taps', taps)
    self.inputs, self.outputs = inputs, outputs
    self:parameter('weight', shape, o.weight_init, module.own(o, 1))
    if o.bias then self:parameter('bias', { outputs }, { 'uniform', bound = 1 / math.sqrt(fan) }, module.own(o, 2)) end
  end

  function Conv:forward(x)
    local o = { bias = self.bias }
    for k, v in pairs(self.how) do o[k] = v end
    return f(x, self.weight, o)
  end

  function Conv:describe()
    local how = self.how
    local words = { self.inputs, self.outputs, text(self.taps) }
    for _, k in ipairs { 'stride', 'padding', 'dilation', 'groups' } do
      local v = how[k]
      if v ~= (k == 'padding' and 0 or 1) then
        words[#words + 1] = ('%s %s'):format(k, type(v) == 'table' and text(v) or tostring(v))
      end
    end
    return table.concat(words, ', ')
  end

  function Conv:operations(y, x)
    local count = (transposed and x or y):numel() * 2
    for _, k in ipairs(self.taps) do count = count * k end
    return count * (transposed and self.outputs or self.inputs) / self.how.groups
  end
  return Conv
end

local C1, C2, C3, T1, T2, T3 = class(1), class(2), class(3), class(1, true), class(2, true), class(3, true)

--- A convolution over one axis: x [batch, inputs, n] gives [batch, outputs, places].
---
--- weight [outputs, inputs / groups, size] and bias start as uniform numbers on +-1 / sqrt(inputs / groups size).
---@param inputs integer channels
---@param outputs integer channels
---@param size integer|table of the kernel
---@param opts? table stride (1) · padding (0), 'same', or pairs · dilation (1) · groups (1) · bias (true) ·
---   padding_mode ('zeros') · weight_init · dtype (f32) · device · key
---@return mascon.Module
--- Source: PyTorch nn.Conv1d.
---     mc.nn.Conv1d(2, 4, 3)(mc.zeros{ 1, 2, 9, dtype = 'f32' }).shape  --> {1, 4, 7}
function M.Conv1d(inputs, outputs, size, opts) return C1(inputs, outputs, size, opts) end

--- A convolution over two axes: x [batch, inputs, height, width].
---@param inputs integer channels
---@param outputs integer channels
---@param size integer|table
---@param opts? table as Conv1d
---@return mascon.Module
--- Source: PyTorch nn.Conv2d.
---     mc.nn.Conv2d(1, 8, 3, { padding = 1 })(mc.zeros{ 2, 1, 5, 5, dtype = 'f32' }).shape  --> {2, 8, 5, 5}
function M.Conv2d(inputs, outputs, size, opts) return C2(inputs, outputs, size, opts) end

--- A convolution over three axes: x [batch, inputs, depth, height, width].
---@param inputs integer channels
---@param outputs integer channels
---@param size integer|table
---@param opts? table as Conv1d
---@return mascon.Module
--- Source: PyTorch nn.Conv3d.
---     mc.nn.Conv3d(1, 2, 3)(mc.zeros{ 1, 1, 3, 3, 3, dtype = 'f32' }).shape  --> {1, 2, 1, 1, 1}
function M.Conv3d(inputs, outputs, size, opts) return C3(inputs, outputs, size, opts) end

--- A transposed convolution over one axis: x [batch, inputs, n], weight [inputs, outputs / groups, size].
---@param inputs integer channels
---@param outputs integer channels
---@param size integer|table
---@param opts? table stride (1) · padding (0) · output_padding (0) · dilation (1) · groups (1) · bias (true) ·
---   weight_init · dtype · device · key
---@return mascon.Module
--- Source: PyTorch nn.ConvTranspose1d.
---     mc.nn.ConvTranspose1d(2, 1, 2, { stride = 2 })(mc.zeros{ 1, 2, 4, dtype = 'f32' }).shape  --> {1, 1, 8}
function M.ConvTranspose1d(inputs, outputs, size, opts) return T1(inputs, outputs, size, opts) end

--- A transposed convolution over two axes.
---@param inputs integer channels
---@param outputs integer channels
---@param size integer|table
---@param opts? table as ConvTranspose1d
---@return mascon.Module
--- Source: PyTorch nn.ConvTranspose2d.
---     mc.nn.ConvTranspose2d(2, 1, 2, { stride = 2 })(mc.zeros{ 1, 2, 4, 4, dtype = 'f32' }).shape  --> {1, 1, 8, 8}
function M.ConvTranspose2d(inputs, outputs, size, opts) return T2(inputs, outputs, size, opts) end

--- A transposed convolution over three axes.
---@param inputs integer channels
---@param outputs integer channels
---@param size integer|table
---@param opts? table as ConvTranspose1d
---@return mascon.Module
--- Source: PyTorch nn.ConvTranspose3d.
---     mc.nn.ConvTranspose3d(1, 1, 2)(mc.zeros{ 1, 1, 1, 1, 1, dtype = 'f32' }).shape  --> {1, 1, 2, 2, 2}
function M.ConvTranspose3d(inputs, outputs, size, opts) return T3(inputs, outputs, size, opts) end

return M
