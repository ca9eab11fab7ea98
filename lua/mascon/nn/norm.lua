-- norm.lua - normalisation over axes, groups of channels and batches.
--
-- All subtract a mean, divide by the root of a biased variance plus eps, and scale: what differs is over which
-- elements the moments are taken. Holds these axes.
local mc = require 'mascon.array'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local half = require 'mascon.nn.half'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

local function bad_scale(fname, what, t, expected, level)
  error(('%s: %s is %s; give %s'):format(fname, what, tensor.describe(t), expected), level + 1)
end

--- y weight + bias of tensors that may be absent, in the dtype of these and of x (half.lua).
local function affine(y, weight, bias, x)
  if weight then y = y * half.wide(weight) end
  if bias then y = y + half.wide(bias) end
  return half.narrow(y, half.result(x, weight, bias))
end

-- elements of a row up to which the kernel takes it whole: longer ones are the work of several threads
local LONGEST = 262144

--- x as [samples, groups, channels of a group, places] for rows of `channels` channels with `places` each; a weight as
--- [1, groups, channels, 1].
local function grouped(t, how) return methods.reshape(t, { -1, how.all / how.channels, how.channels, how.places }) end
local function spread_over(t, how) return methods.reshape(t, { 1, how.all / how.channels, how.channels, 1 }) end
local OVER = { 3, 4, keepdim = true }

--- (x - mean) / sqrt(variance + eps) of rows, and 1 / sqrt(variance + eps).
local function standardised(x, how)
  local c = grouped(x, how)
  c = c - F.mean(c, OVER)
  local scale = F.rsqrt(F.mean(F.square(c), OVER) + how.eps)
  return c * scale, scale
end

--- The same by operations: y weight + bias.
local function composed(a, how)
  local y = standardised(a.x, how)
  if a.weight then y = y * spread_over(a.weight, how) end
  if a.bias then y = y + spread_over(a.bias, how) end
  return methods.reshape(y, a.x.shape)
end

--- Gradients of x, weight and bias from that of the result: scale (h - mean(h) - y mean(h y)), h = g weight.
local function composed_back(a, how)
  local y, scale = standardised(a.x, how)
  local g = grouped(a.g, how)
  local h = a.weight and g * spread_over(a.weight, how) or g
  local along = F.mean(F.multiply_no_nan(y, h), OVER)
  local back = F.multiply_no_nan(scale, h - F.mean(h, OVER) - F.multiply_no_nan(y, along))
  local found = { x = methods.reshape(back, a.x.shape) }
  if a.weight then
    found.weight = methods.reshape(F.sum(F.multiply_no_nan(y, g), { 1, 4 }), -1)
    found.bias = methods.reshape(F.sum(g, { 1, 4 }), -1)
  end
  return found
end

--- A row of the op table on these operands.
local function kernel(name, nout, list, a, how)
  list[#list + 1] = a.weight
  list[#list + 1] = a.bias
  return op.raw(name, list, { channels = how.channels, places = how.places, weight = a.weight ~= nil,
    bias = a.bias ~= nil, eps = how.eps }, nout)
end

local function by_kernel(a, how) return kernel('standardise', 1, { a.x }, a, how)[1] end

local function by_kernel_back(a, how)
  local out = kernel('standardise_back', 2, { a.g, a.x }, { weight = a.weight }, how)
  local found = { x = out[1] }
  if a.weight then found.weight, found.bias = out[2][1], out[2][2] end
  return found
end

--- Rows of x standardised, weight y + bias; how: channels of a row, places of a channel, all channels, eps.
---
--- On the CPU both ways are kernels, which keep only their operands. Derivatives of the second one are composed.
local function rows(x, weight, bias, how)
  local custom = require 'mascon.transform.custom'
  local vjp = require 'mascon.transform'.vjp
  if x:numel() == 0 then return affine(x, weight and mc.sum(weight) * 0, bias and mc.sum(bias) * 0, x) end
  if bias and not weight then weight = mc.ones_like(bias) end
  if weight then weight = methods.reshape(half.wide(weight), -1) end
  if bias then bias = methods.reshape(half.wide(bias), -1) end
  local fast = x.device == 'cpu' and how.channels * how.places <= LONGEST
  -- each is its own forward pass, so that derivatives of any order go by these rules
  local result, back
  back = custom.custom_vjp(function(a) return (fast and by_kernel_back or composed_back)(a, how) end, {
    forward = function(a) return back(a), a end,
    backward = function(a, g)
      local _, way = vjp(function(t) return composed_back(t, how) end, a)
      return way(g)
    end,
  })
  result = custom.custom_vjp(function(a) return (fast and by_kernel or composed)(a, how) end, {
    forward = function(a) return result(a), a end,
    backward = function(a, g)
      local found = back { g = g, x = a.x, weight = a.weight }
      return { x = found.x, weight = a.weight and found.weight, bias = a.bias and found.bias }
    end,
  })
  return result { x = x, weight = weight, bias = bias }
end

--- Each channel standardised over the batch: x [n, c, ...] in the dtype of its arithmetic.
---
--- Everything follows from means over the places of a channel, of x, (x - mean)^2, g and g (mean - x): numbers [n, c],
--- so that x is read twice for the moments and once for the result, x and g once for the sums and once for the
--- derivative A g + B x + C. m - x here and x - m there are written so that passes do not share them through memory.
local function by_channels(x, weight, bias, eps)
  local custom = require 'mascon.transform.custom'
  local shape, flat = x.shape, x.ndim == 2
  local n, c = shape[1], shape[2]
  local places = flat and 1 or x:numel() / math.max(n * c, 1)
  local function spread(t) return flat and t or methods.expand_dims(t, 3) end
  local function over_places(t) return flat and t or F.mean(t, 3) end
  local function shared(t) return F.mean(t, { 1, keepdim = true }) end -- over the samples: [1, c]
  local function total(t) return F.sum(t, { 1, keepdim = true }) end
  local function result(a)
    local m = shared(over_places(a.x))
    local scale = F.rsqrt(shared(over_places(F.square(spread(m) - a.x))) + eps)
    local y = (a.x - spread(m)) * spread(a.weight and scale * a.weight or scale)
    if a.bias then y = y + (flat and a.bias or methods.reshape(a.bias, { 1, c, 1 })) end
    return y, { m, scale, a }
  end
  local function backward(kept_of, g)
    local m, scale, a = unpack(kept_of)
    -- sums over the samples serve the parameters and, as means, x
    local sum, along = total(over_places(g)), total(over_places(F.multiply_no_nan(spread(m) - a.x, g)))
    local back = {
      bias = a.bias and methods.reshape(sum, c) * places,
      weight = a.weight and methods.reshape(F.multiply_no_nan(scale, along), c) * -places,
    }
    local each = a.weight and a.weight / n or 1 / n
    local slope = F.multiply_no_nan(scale * F.square(scale), along * each)
    local level = -F.multiply_no_nan(scale, sum * each) - F.multiply_no_nan(m, slope)
    local factor = a.weight and scale * a.weight or scale
    back.x = F.multiply_no_nan(spread(factor), g) + F.multiply_no_nan(a.x, spread(slope)) + spread(level)
    return back
  end
  local whole = { x = flat and x or methods.reshape(x, { n, c, places }), weight = weight, bias = bias }
  local y = custom.custom_vjp(function(a) return (result(a)) end, { forward = result, backward = backward })(whole)
  return flat and y or methods.reshape(y, shape)
end

--- Groups of channels of each sample standardised, with operands of any floating dtype, and the result in theirs.
local function in_groups(x, groups, o)
  local places = 1
  for i = 3, x.ndim do places = places * x.shape[i] end
  local c = x.shape[2]
  local y = rows(half.wide(x), o.weight, o.bias, { channels = c / groups, places = places, all = c, eps = o.eps })
  return half.narrow(y, half.result(x, o.weight, o.bias))
end

--- Sizes of the last axes of x as a list, from a number or a list.
local function last_sizes(fname, x, sizes, level)
  local list = type(sizes) == 'number' and { sizes } or sizes
  local fits = type(list) == 'table' and #list > 0 and #list <= x.ndim
  for i = 1, fits and #list or 0 do fits = fits and type(list[i]) == 'number' end
  if not fits then
    error(('%s: sizes are %s for %s; give those of its last axes'):format(fname, check.show(sizes),
      tensor.describe(x)), level)
  end
  local axes = {}
  for i = 1, #list do
    axes[i] = x.ndim - #list + i
    if x.shape[axes[i]] ~= list[i] then
      error(('%s: the last axes of %s are not of sizes %s'):format(fname, tensor.describe(x),
        table.concat(list, ', ')), level)
    end
  end
  return axes, list
end

local function same_shape(t, list)
  if t.ndim ~= #list then return false end
  for i, n in ipairs(list) do if t.shape[i] ~= n then return false end end
  return true
end

local SCALED = { weight = { nil, 'tensor' }, bias = { nil, 'tensor' }, eps = { 1e-5, 'number >= 0' } }

--- Standardises each sample over its last axes, then scales: weight (x - mean) / sqrt(variance + eps) + bias.
---@param x any f16|bf16|f32|f64 [..., sizes]
---@param sizes integer|table of the last axes, over which moments are taken
---@param opts? table weight, bias: tensors of those sizes (none) · eps (1e-5)
---@return any dtype and shape of x
--- Errors: sizes that are not those of the last axes. Source: Layer normalization, 2016; PyTorch layer_norm.
---     mc.nn.layer_norm(mc.tensor{ 1, 3 }, 2, { eps = 0 })  --> f64[2]@cpu { -1, 1 }
function M.layer_norm(x, sizes, opts)
  x = op.operand('nn.layer_norm', x, 2)
  local o = check.opts('nn.layer_norm', opts, SCALED, 3)
  local _, list = last_sizes('nn.layer_norm', x, sizes, 3)
  for _, what in ipairs { 'weight', 'bias' } do
    if o[what] and not same_shape(o[what], list) then bad_scale('nn.layer_norm', what, o[what],
      'one of the sizes of the last axes', 2) end
  end
  local n = 1
  for _, k in ipairs(list) do n = n * k end
  local y = rows(half.wide(x), o.weight, o.bias, { channels = n, places = 1, all = n, eps = o.eps })
  return half.narrow(y, half.result(x, o.weight, o.bias))
end

local RMS = { weight = { nil, 'tensor' }, eps = { 1e-6, 'number >= 0' } }
--- Divides each sample by the root of the mean square of its last axes, then scales: weight x / sqrt(mean(x^2) + eps).
---@param x any f16|bf16|f32|f64 [..., sizes]
---@param sizes integer|table of the last axes
---@param opts? table weight: a tensor of those sizes (none) · eps (1e-6)
---@return any dtype and shape of x
--- Errors: sizes that are not those of the last axes. Source: Root mean square layer normalization, 2019.
---     mc.nn.rms_norm(mc.tensor{ 3, -3 }, 2, { eps = 0 })  --> f64[2]@cpu { 1, -1 }
function M.rms_norm(x, sizes, opts)
  x = op.operand('nn.rms_norm', x, 2)
  local o = check.opts('nn.rms_norm', opts, RMS, 3)
  local axes, list = last_sizes('nn.rms_norm', x, sizes, 3)
  if o.weight and not same_shape(o.weight, list) then
    bad_scale('nn.rms_norm', 'weight', o.weight, 'one of the sizes of the last axes', 2)
  end
  axes.keepdim = true
  local wide = half.wide(x)
  return affine(wide * F.rsqrt(F.mean(F.square(wide), axes) + o.eps), o.weight, nil, x)
end

--- A tensor [channels] as one that broadcasts with x [batch, channels, ...].
local function by_channel(fname, what, t, x, level)
  if not t then return nil end
  if t.ndim ~= 1 or t.shape[1] ~= x.shape[2] then
    bad_scale(fname, what, t, ('one number for each of %d channels'):format(x.shape[2]), level + 1)
  end
  local shape = { 1, x.shape[2] }
  for i = 3, x.ndim do shape[i] = 1 end
  return methods.reshape(t, shape)
end

local function channels(fname, x, level)
  if x.ndim < 2 then error(('%s: operand is %s; it needs axes of batch and channels'):format(fname,
    tensor.describe(x)), level) end
end

--- Standardises groups of channels of each sample, then scales each channel.
---@param x any f16|bf16|f32|f64 [batch, channels, ...]
---@param groups integer that divides the channels
---@param opts? table weight, bias: [channels] (none) · eps (1e-5)
---@return any dtype and shape of x
--- Errors: channels that the groups do not divide. Source: Group normalization, 2018.
---     mc.nn.group_norm(mc.tensor{ { 1, 3, 5, 5 } }, 2, { eps = 1e-30 })  --> f64[1,4]@cpu { { -1, 1, 0, 0 } }
function M.group_norm(x, groups, opts)
  x = op.operand('nn.group_norm', x, 2)
  check.arg('nn.group_norm', 'groups', groups, 'integer >= 1', 3)
  local o = check.opts('nn.group_norm', opts, SCALED, 3)
  channels('nn.group_norm', x, 3)
  if x.shape[2] % groups ~= 0 then
    error(('nn.group_norm: %d groups do not divide the channels of %s'):format(groups, tensor.describe(x)), 2)
  end
  by_channel('nn.group_norm', 'weight', o.weight, x, 2)
  by_channel('nn.group_norm', 'bias', o.bias, x, 2)
  return in_groups(x, groups, o)
end

--- Standardises each channel of each sample over its places, then scales.
---@param x any f16|bf16|f32|f64 [batch, channels, ...]
---@param opts? table weight, bias: [channels] (none) · eps (1e-5)
---@return any dtype and shape of x
--- Errors: fewer than three axes. Source: Instance normalization: the missing ingredient for fast stylization, 2016.
---     mc.nn.instance_norm(mc.tensor{ { { 1, 3 } } }, { eps = 0 })  --> f64[1,1,2]@cpu { { { -1, 1 } } }
function M.instance_norm(x, opts)
  x = op.operand('nn.instance_norm', x, 2)
  local o = check.opts('nn.instance_norm', opts, SCALED, 3)
  if x.ndim < 3 then
    error(('nn.instance_norm: operand is %s; it needs axes of batch, channels and places'):format(tensor.describe(x)),
      2)
  end
  by_channel('nn.instance_norm', 'weight', o.weight, x, 2)
  by_channel('nn.instance_norm', 'bias', o.bias, x, 2)
  return in_groups(x, x.shape[2], o)
end

local BATCH = {
  weight = { nil, 'tensor' }, bias = { nil, 'tensor' }, eps = { 1e-5, 'number >= 0' }, training = { false, 'bool' },
    momentum = { 0.1, 'number' },
}
--- Standardises each channel over the batch and its places (training), or by running moments, then scales.
---
--- In training the running moments move towards those of the batch: running (1 - momentum) + batch momentum, with the
--- unbiased variance (n - 1 below). They come as second and third result; the operands stay as they are.
---@param x any f16|bf16|f32|f64 [batch, channels, ...]
---@param running_mean? any [channels]; may be absent in training
---@param running_var? any [channels]
---@param opts? table weight, bias: [channels] (none) · eps (1e-5) · training (false) · momentum (0.1)
---@return any y dtype and shape of x
---@return any running_mean after this batch, nil where none was given
---@return any running_var
--- Errors: one value per channel in training; no running moments outside. Source: Batch normalization, 2015; PyTorch.
---     (mc.nn.batch_norm(mc.tensor{ { 3 } }, mc.ones{ 1 }, mc.ones{ 1 }, { eps = 0 }))  --> f64[1,1]@cpu { { 2 } }
function M.batch_norm(x, running_mean, running_var, opts)
  local fname = 'nn.batch_norm'
  x = op.operand(fname, x, 2)
  local o = check.opts(fname, opts, BATCH, 3)
  channels(fname, x, 3)
  local weight, bias = by_channel(fname, 'weight', o.weight, x, 2), by_channel(fname, 'bias', o.bias, x, 2)
  if o.training and (running_mean == nil) ~= (running_var == nil) then
    error(('%s: %s is missing; give both running moments, or none of them'):format(fname,
      running_mean == nil and 'running_mean' or 'running_var'), 2)
  end
  local mean, var = by_channel(fname, 'running_mean', running_mean, x, 2),
    by_channel(fname, 'running_var', running_var, x, 2)
  if not o.training then
    if not mean or not var then error(fname .. ': running moments are missing; give both, or training = true', 2) end
    local y = (half.wide(x) - half.wide(mean)) * F.rsqrt(half.wide(var) + o.eps)
    return affine(y, weight, bias, x), running_mean, running_var
  end
  local n = x:numel() / math.max(x.shape[2], 1)
  if n < 2 then error(('%s: %s has %s per channel; training needs two at least'):format(fname, tensor.describe(x),
    n == 1 and 'one value' or 'no values'), 2) end
  local axes = { 1 }
  for i = 3, x.ndim do axes[#axes + 1] = i end
  local y = by_channels(half.wide(x), o.weight and half.wide(o.weight), o.bias and half.wide(o.bias), o.eps)
  y = half.narrow(y, half.result(x, o.weight, o.bias))
  if not running_mean then return y end
  local m, still = o.momentum, require 'mascon.transform.custom'.stop_gradient(half.wide(x))
  local new_mean = half.wide(running_mean) * (1 - m) + F.mean(still, axes) * m
  axes.correction = 1
  local new_var = half.wide(running_var) * (1 - m) + F.var(still, axes) * m
  return y, half.narrow(new_mean, half.result(x, running_mean)), half.narrow(new_var, half.result(x, running_var))
end

return M
