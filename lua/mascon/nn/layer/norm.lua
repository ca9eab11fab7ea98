-- norm.lua - normalisations as modules: their scales are parameters, their running moments buffers.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local module = require 'mascon.nn.module'
local functions = require 'mascon.nn.norm'
local error = check.error
local M = {}

local function list_of(fname, sizes)
  local list = type(sizes) == 'number' and { sizes } or sizes
  if type(list) ~= 'table' or #list == 0 then
    error(('%s: sizes are %s; give those of the last axes'):format(fname, check.show(sizes)), 5)
  end
  for _, n in ipairs(list) do check.arg(fname, 'sizes', n, 'integer >= 1', 5) end
  return list
end

local LAYER = module.options { eps = { 1e-5, 'number >= 0' }, affine = { true, 'bool' }, bias = { true, 'bool' } }
local LayerNorm = module.Module 'LayerNorm'
function LayerNorm:init(sizes, opts)
  local o = check.opts('nn.LayerNorm', opts, LAYER, 4)
  local list = list_of('nn.LayerNorm', sizes)
  rawset(self, 'sizes', list)
  self.eps = o.eps
  if o.affine then
    self:parameter('weight', list, 'ones', module.own(o, 1))
    if o.bias then self:parameter('bias', list, 'zeros', module.own(o, 2)) end
  end
end
function LayerNorm:forward(x)
  return functions.layer_norm(x, self.sizes, { weight = self.weight, bias = self.bias, eps = self.eps })
end
function LayerNorm:describe() return table.concat(self.sizes, ', ') end
--- Standardises each sample over its last axes, then scales.
---@param sizes integer|table of the last axes
---@param opts? table eps (1e-5) · affine (true): weight and bias · bias (true) · dtype (f32) · device
---@return mascon.Module
--- Source: Layer normalization, 2016; PyTorch nn.LayerNorm.
---     mc.nn.LayerNorm(4)(mc.ones{ 2, 4, dtype = 'f32' }).shape  --> {2, 4}
function M.LayerNorm(sizes, opts) return LayerNorm(sizes, opts) end

local RMS = module.options { eps = { 1e-6, 'number >= 0' }, affine = { true, 'bool' } }
local RMSNorm = module.Module 'RMSNorm'
function RMSNorm:init(sizes, opts)
  local o = check.opts('nn.RMSNorm', opts, RMS, 4)
  rawset(self, 'sizes', list_of('nn.RMSNorm', sizes))
  self.eps = o.eps
  if o.affine then self:parameter('weight', self.sizes, 'ones', module.own(o, 1)) end
end
function RMSNorm:forward(x) return functions.rms_norm(x, self.sizes, { weight = self.weight, eps = self.eps }) end
RMSNorm.describe = LayerNorm.describe
--- Divides each sample by the root mean square of its last axes, then scales.
---@param sizes integer|table of the last axes
---@param opts? table eps (1e-6) · affine (true): weight · dtype (f32) · device
---@return mascon.Module
--- Source: Root mean square layer normalization, 2019.
---     mc.nn.RMSNorm(4)(mc.ones{ 2, 4, dtype = 'f32' }).shape  --> {2, 4}
function M.RMSNorm(sizes, opts) return RMSNorm(sizes, opts) end

local BATCH = module.options { eps = { 1e-5, 'number >= 0' }, momentum = { 0.1, 'number >= 0' },
  affine = { true, 'bool' },
  track = { true, 'bool' } }
local function batch(n)
  local name = ('BatchNorm%dd'):format(n)
  local fname = 'nn.' .. name
  local Batch = module.Module(name)
  function Batch:init(channels, opts)
    local o = check.opts(fname, opts, BATCH, 4)
    check.arg(fname, 'channels', channels, 'integer >= 1', 4)
    self.channels, self.eps, self.momentum, self.track = channels, o.eps, o.momentum, o.track
    if o.affine then
      self:parameter('weight', { channels }, 'ones', module.own(o, 1))
      self:parameter('bias', { channels }, 'zeros', module.own(o, 2))
    end
    if o.track then
      self:buffer('running_mean', { channels }, 'zeros', module.own(o, 3))
      self:buffer('running_var', { channels }, 'ones', module.own(o, 4))
      self:buffer('num_batches_tracked', {}, 'zeros', { dtype = 'i64', device = o.device })
    end
  end
  function Batch:forward(x)
    if not tensor.is(x) or x.ndim ~= n + 2 and not (n == 1 and x.ndim == 2) or x.shape[2] ~= self.channels then
      error(('%s: input is %s; give [batch, %d%s]'):format(fname, tensor.is(x) and tensor.describe(x) or check.show(x),
        self.channels, (', size'):rep(n)), 2)
    end
    local training = self:is_training() or not self.track
    local y, mean, var = functions.batch_norm(x, self.running_mean, self.running_var, { weight = self.weight,
      bias = self.bias, eps = self.eps, momentum = self.momentum, training = training })
    if training and self.track then
      self:update_buffer('running_mean', mean)
      self:update_buffer('running_var', var)
      self:update_buffer('num_batches_tracked', self.num_batches_tracked + 1)
    end
    return y
  end
  function Batch:describe() return tostring(self.channels) end
  return Batch
end
local B1, B2, B3 = batch(1), batch(2), batch(3)

--- Standardises each channel over the batch in training, by running moments in evaluation: [batch, channels] or [batch,
--- channels, n].
---
--- Training moves the running moments by momentum towards those of the batch (with the unbiased variance).
---@param channels integer
---@param opts? table eps (1e-5) · momentum (0.1) · affine (true): weight and bias · track (true): keep running moments
---   · dtype (f32) · device
---@return mascon.Module
--- Source: Batch normalization, 2015; PyTorch nn.BatchNorm1d.
---     mc.nn.BatchNorm1d(3):eval()(mc.ones{ 2, 3, dtype = 'f32' }).shape  --> {2, 3}
function M.BatchNorm1d(channels, opts) return B1(channels, opts) end
--- BatchNorm1d for [batch, channels, height, width].
---@param channels integer
---@param opts? table as BatchNorm1d
---@return mascon.Module
--- Source: PyTorch nn.BatchNorm2d.
function M.BatchNorm2d(channels, opts) return B2(channels, opts) end
--- BatchNorm1d for [batch, channels, depth, height, width].
---@param channels integer
---@param opts? table as BatchNorm1d
---@return mascon.Module
--- Source: PyTorch nn.BatchNorm3d.
function M.BatchNorm3d(channels, opts) return B3(channels, opts) end

local GROUP = module.options { eps = { 1e-5, 'number >= 0' }, affine = { true, 'bool' } }
local GroupNorm = module.Module 'GroupNorm'
function GroupNorm:init(groups, channels, opts)
  local o = check.opts('nn.GroupNorm', opts, GROUP, 4)
  check.arg('nn.GroupNorm', 'groups', groups, 'integer >= 1', 4)
  check.arg('nn.GroupNorm', 'channels', channels, 'integer >= 1', 4)
  if channels % groups ~= 0 then
    error(('nn.GroupNorm: %d groups do not divide %d channels'):format(groups, channels), 4)
  end
  self.groups, self.channels, self.eps = groups, channels, o.eps
  if o.affine then
    self:parameter('weight', { channels }, 'ones', module.own(o, 1))
    self:parameter('bias', { channels }, 'zeros', module.own(o, 2))
  end
end
function GroupNorm:forward(x)
  return functions.group_norm(x, self.groups, { weight = self.weight, bias = self.bias, eps = self.eps })
end
function GroupNorm:describe() return ('%d, %d'):format(self.groups, self.channels) end
--- Standardises groups of channels of each sample, then scales each channel.
---@param groups integer that divides the channels
---@param channels integer
---@param opts? table eps (1e-5) · affine (true) · dtype (f32) · device
---@return mascon.Module
--- Source: Group normalization, 2018; PyTorch nn.GroupNorm.
---     mc.nn.GroupNorm(2, 4)(mc.ones{ 1, 4, 3, dtype = 'f32' }).shape  --> {1, 4, 3}
function M.GroupNorm(groups, channels, opts) return GroupNorm(groups, channels, opts) end

local INSTANCE = module.options { eps = { 1e-5, 'number >= 0' }, affine = { false, 'bool' } }
local InstanceNorm = module.Module 'InstanceNorm'
function InstanceNorm:init(channels, opts)
  local o = check.opts('nn.InstanceNorm', opts, INSTANCE, 4)
  check.arg('nn.InstanceNorm', 'channels', channels, 'integer >= 1', 4)
  self.channels, self.eps = channels, o.eps
  if o.affine then
    self:parameter('weight', { channels }, 'ones', module.own(o, 1))
    self:parameter('bias', { channels }, 'zeros', module.own(o, 2))
  end
end
function InstanceNorm:forward(x)
  return functions.instance_norm(x, { weight = self.weight, bias = self.bias, eps = self.eps })
end
function InstanceNorm:describe() return tostring(self.channels) end
--- Standardises each channel of each sample over its places, of any number of axes.
---@param channels integer
---@param opts? table eps (1e-5) · affine (false) · dtype (f32) · device
---@return mascon.Module
--- Source: Instance normalization: the missing ingredient for fast stylization, 2016; PyTorch nn.InstanceNorm2d.
---     mc.nn.InstanceNorm(4)(mc.ones{ 1, 4, 3, dtype = 'f32' }).shape  --> {1, 4, 3}
function M.InstanceNorm(channels, opts) return InstanceNorm(channels, opts) end

return M
