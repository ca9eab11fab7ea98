-- unet.lua - residual blocks of convolutions, and networks that go down in resolution and up again.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local module = require 'mascon.nn.module'
local fused = require 'mascon.nn.fused'
local convolution = require 'mascon.nn.layer.convolution'
local container = require 'mascon.nn.layer.container'
local norm = require 'mascon.nn.layer.norm'
local pool = require 'mascon.nn.layer.pool'
local error = check.error
local F = op.functions
local M = {}

local BLOCK = module.options { stride = { 1, 'integer >= 1' }, norm = { 'batch', { 'batch', 'group', 'none' } },
  groups = { 8, 'integer >= 1' }, activation = { 'relu', 'string | function' } }

local function own_of(o, k) return { dtype = o.dtype, device = o.device, key = module.own(o, k).key } end

local function normal(o, channels, k)
  if o.norm == 'batch' then return norm.BatchNorm2d(channels, own_of(o, k)) end
  local groups = math.min(o.groups, channels)
  while channels % groups ~= 0 do groups = groups - 1 end
  return norm.GroupNorm(groups, channels, own_of(o, k))
end

local function conv(o, inputs, outputs, size, k, stride)
  local own = own_of(o, k)
  own.stride, own.padding, own.bias = stride, math.floor(size / 2), o.norm == 'none'
  return convolution.Conv2d(inputs, outputs, size, own)
end

local Block = module.Module 'ResidualBlock'
function Block:init(inputs, outputs, opts)
  local o = check.opts('nn.ResidualBlock', opts, BLOCK, 4)
  rawset(self, 'act', fused.named('nn.ResidualBlock', o.activation, 4))
  self.conv1 = conv(o, inputs, outputs, 3, 1, o.stride)
  self.conv2 = conv(o, outputs, outputs, 3, 2, 1)
  if o.norm ~= 'none' then
    self.norm1 = normal(o, outputs, 3)
    self.norm2 = normal(o, outputs, 4)
  end
  if inputs ~= outputs or o.stride ~= 1 then
    self.shortcut = conv(o, inputs, outputs, 1, 5, o.stride)
    if o.norm ~= 'none' then self.shortcut_norm = normal(o, outputs, 6) end
  end
end
function Block:forward(x)
  local y, s = self.conv1(x), x
  if self.norm1 then y = self.norm1(y) end
  y = self.conv2(self.act(y))
  if self.norm2 then y = self.norm2(y) end
  if self.shortcut then
    s = self.shortcut(x)
    if self.shortcut_norm then s = self.shortcut_norm(s) end
  end
  return self.act(y + s)
end

--- Two convolutions of size 3 with norms, added to what came in (through a convolution of size 1 where the shape
--- changes).
---@param inputs integer channels
---@param outputs integer channels
---@param opts? table stride (1) · norm ('batch', 'group', 'none') · groups (8) · activation ('relu') · dtype (f32) ·
---   device · key
---@return mascon.Module
--- Source: Deep residual learning for image recognition, 2016, figure 2.
---     mc.nn.ResidualBlock(2, 4, { stride = 2 })(mc.zeros{ 2, 2, 6, 6, dtype = 'f32' }).shape  --> {2, 4, 3, 3}
function M.ResidualBlock(inputs, outputs, opts) return Block(inputs, outputs, opts) end

local UNET = module.options { channels = { { 32, 64, 128 }, 'table' }, norm = { 'group', { 'batch', 'group', 'none' } },
  groups = { 8, 'integer >= 1' }, activation = { 'silu', 'string | function' } }
local UNet = module.Module 'UNet'
function UNet:init(inputs, outputs, opts)
  local o = check.opts('nn.UNet', opts, UNET, 4)
  check.arg('nn.UNet', 'inputs', inputs, 'integer >= 1', 4)
  check.arg('nn.UNet', 'outputs', outputs, 'integer >= 1', 4)
  local list = o.channels
  if #list < 1 then error('nn.UNet: channels are empty; give those of each level', 4) end
  local function block(a, b, k)
    local own = own_of(o, k)
    own.norm, own.groups, own.activation = o.norm, o.groups, o.activation
    return M.ResidualBlock(a, b, own)
  end
  rawset(self, 'levels', #list)
  self.down = container.ModuleList {}
  self.grow = container.ModuleList {}
  self.up = container.ModuleList {}
  for i, c in ipairs(list) do self.down:append(block(list[i - 1] or inputs, c, 10 + i)) end
  for i = #list - 1, 1, -1 do
    local own = own_of(o, 30 + i)
    own.stride = 2
    self.grow:append(convolution.ConvTranspose2d(list[i + 1], list[i], 2, own))
    self.up:append(block(2 * list[i], list[i], 20 + i))
  end
  self.pool = pool.AvgPool2d(2)
  self.head = convolution.Conv2d(list[1], outputs, 1, own_of(o, 1))
end
function UNet:forward(x)
  local times = 2 ^ (self.levels - 1)
  if not tensor.is(x) or x.ndim ~= 4 or x.shape[3] % times ~= 0 or x.shape[4] % times ~= 0 then
    error(('nn.UNet: input is %s; give [batch, channels, height, width] with sizes that %d divides'):format(
      tensor.is(x) and tensor.describe(x) or check.show(x), times), 2)
  end
  local kept = {}
  for i = 1, self.levels do
    if i > 1 then x = self.pool(x) end
    x = self.down[i](x)
    kept[i] = x
  end
  for i = 1, self.levels - 1 do
    x = self.up[i](F.concat({ kept[self.levels - i], self.grow[i](x) }, 2))
  end
  return self.head(x)
end

--- A U-Net: residual blocks at falling, then rising resolution, with links between equal ones.
---@param inputs integer channels
---@param outputs integer channels
---@param opts? table channels: of each level ({ 32, 64, 128 }) · norm ('group', 'batch', 'none') · groups (8) ·
---   activation ('silu') · dtype (f32) · device · key
---@return mascon.Module
--- Source: U-Net: convolutional networks for biomedical image segmentation, 2015.
---     mc.nn.UNet(1, 2, { channels = { 4, 8 } })(mc.zeros{ 1, 1, 8, 8, dtype = 'f32' }).shape  --> {1, 2, 8, 8}
function M.UNet(inputs, outputs, opts) return UNet(inputs, outputs, opts) end

return M
