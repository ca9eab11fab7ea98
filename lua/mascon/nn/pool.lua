-- pool.lua - means and maxima over windows.
--
-- Means are convolutions with equal weights, channel by channel. Of equal maxima of a window the first one counts and
-- gets the gradient.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local half = require 'mascon.nn.half'
local create = require 'mascon.array.create'
local convolution = require 'mascon.array.convolution'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

local BOTH = { stride = { nil, 'integer >= 1 | table' }, padding = { 0, 'integer >= 0 | table' },
  ceil_mode = { false, 'bool' } }
local MEAN = { stride = BOTH.stride, padding = BOTH.padding, ceil_mode = BOTH.ceil_mode,
  count_include_pad = { true, 'bool' } }

--- Window, stride, padding before and behind n axes, and whether x has no batch axis. With ceil_mode the padding behind
--- grows for a last window that begins within x or the padding before it.
local function geometry(fname, n, x, size, o, level)
  local function each(what, v, least)
    local out = {}
    if type(v) == 'table' and #v ~= n then error(('%s: %s has %d entries for %d axes'):format(fname, what, #v, n),
      level) end
    for k = 1, n do
      out[k] = type(v) == 'table' and v[k] or v
      check.arg(fname, what, out[k], 'integer >= ' .. least, level + 1)
    end
    return out
  end
  if x.ndim ~= n + 1 and x.ndim ~= n + 2 then
    error(('%s: operand is %s; give [batch, channels%s], or without the batch axis'):format(fname, tensor.describe(x),
      (', size'):rep(n)), level)
  end
  local w = each('size', size, 1)
  local s, p, behind = each('stride', o.stride or size, 1), each('padding', o.padding, 0), {}
  for k = 1, n do
    local have = x.shape[x.ndim - n + k]
    if p[k] * 2 > w[k] or have + 2 * p[k] < w[k] then
      local words = '%s: windows of %d with padding %d do not fit axis %d of %s; padding is at most half a window'
      error(words:format(fname, w[k], p[k],
        x.ndim - n + k, tensor.describe(x)), level)
    end
    behind[k] = p[k]
    if o.ceil_mode then
      local last = math.ceil((have + 2 * p[k] - w[k]) / s[k]) * s[k]
      if last >= have + p[k] then last = last - s[k] end
      behind[k] = math.max(p[k], last + w[k] - have - p[k])
    end
  end
  return w, s, p, behind, x.ndim == n + 1
end

local function mean(n)
  local fname = ('nn.avg_pool%dd'):format(n)
  return function(x, size, opts)
    x = op.operand(fname, x, 2)
    local o = check.opts(fname, opts, MEAN, 3)
    local w, s, p, behind, single = geometry(fname, n, x, size, o, 3)
    local back = half.result(x)
    x = half.wide(x)
    if single then x = methods.expand_dims(x, 1) end
    local dilation, shape, count, places, more = {}, { x.shape[2], 1 }, 1, { 1, 1 }, false
    for k = 1, n do
      dilation[k], shape[k + 2], count, places[k + 2] = 1, w[k], count * w[k], x.shape[k + 2]
      more = more or behind[k] > p[k]
    end
    local dtype = tensor.kind[x.dtype] == 'f' and x.dtype or 'f64'
    local g = { stride = s, dilation = dilation, before = p, after = behind, groups = x.shape[2],
      mode = convolution.MODES.zeros }
    local y = convolution.form('conv', fname, x, create.ones(shape, { dtype = dtype }):to(x.device), g, nil, 3)
    if o.count_include_pad and not more then
      y = y / count
    else
      g.groups, shape[1] = 1, 1
      if o.count_include_pad then -- what ceil_mode adds behind does not count
        g.before, g.after = {}, {}
        for k = 1, n do
          places[k + 2], g.before[k], g.after[k] = places[k + 2] + 2 * p[k], 0, behind[k] - p[k]
        end
      end
      y = y / convolution.form('conv', fname, create.ones(places, { dtype = dtype }):to(x.device),
        create.ones(shape, { dtype = dtype }):to(x.device), g, nil, 3)
    end
    y = half.narrow(y, back)
    return single and methods.squeeze(y, 1) or y
  end
end

local FEW = 36 -- places of a window that are compared one by one

--- Maxima of windows as comparisons of views, one for each place of a window; the first of equal ones stays, and NaN.
--- Compiled these are one pass (a tenth of the time of positions found and taken, gradient included).
local function largest(x, w, s, lead, out, taps)
  local key, best, n = {}, nil, #w
  for i = 1, lead do key[i] = { 1, -1 } end
  local function walk(k)
    if k > n then
      local t = x[key]
      best = best and F.where(F.logical_or(F.le(t, best), F.ne(best, best)), best, t) or t
      return
    end
    for i = 1, w[k] do
      key[lead + k] = { i, i + (out[lead + k] - 1) * s[k], s[k] }
      walk(k + 1)
    end
  end
  walk(1)
  return taps == 1 and methods.copy(best) or best -- not a view of the operand
end

local function maximum(n)
  local fname = ('nn.max_pool%dd'):format(n)
  return function(x, size, opts)
    x = op.operand(fname, x, 2)
    local o = check.opts(fname, opts, BOTH, 3)
    local w, s, p, behind = geometry(fname, n, x, size, o, 3)
    local lead, widths, axes, key, shape = x.ndim - n, {}, {}, {}, {}
    for i = 1, lead do widths[i], key[i], shape[i] = { 0, 0 }, { 1, -1 }, x.shape[i] end
    local padded = false
    for k = 1, n do
      widths[lead + k], axes[k], padded = { p[k], behind[k] }, lead + k, padded or behind[k] > 0
      shape[lead + k] = math.floor((x.shape[lead + k] + p[k] + behind[k] - w[k]) / s[k]) + 1
      key[lead + k] = { 1, -1, s[k] }
    end
    if tensor.kind[x.dtype] ~= 'f' then x = methods.to(x, 'f64') end
    if padded then x = F.pad(x, widths, { value = -math.huge }) end
    local taps = 1
    for k = 1, n do taps = taps * w[k] end
    if taps <= FEW then return largest(x, w, s, lead, shape, taps) end
    local windows = F.sliding_window_view(x, w, { axis = axes })[key]
    shape[#shape + 1] = -1
    local flat = methods.reshape(windows, shape)
    local first = F.argmax(flat, { flat.ndim, keepdim = true })
    return methods.squeeze(F.take_along_axis(flat, first, { axis = flat.ndim }), flat.ndim)
  end
end

--- Means over windows of one axis; the padding counts as zeros, or not at all.
---@param x any f16|bf16|f32|f64 [batch, channels, n] or [channels, n]; integers become f64
---@param size integer|table of a window
---@param opts? table stride (size) · padding (0), at most half a window · count_include_pad (true): padding counts in
--- the mean · ceil_mode (false): a last window may reach beyond the padding, and what is beyond does not count
---@return any [batch, channels, floor((n + 2 padding - size) / stride) + 1]; with ceil_mode ceil in place of floor, but
--- no window that begins behind x
--- Errors: windows that do not fit. Source: PyTorch nn.functional.avg_pool1d.
---     mc.nn.avg_pool1d(mc.tensor{ { 1, 3, 5, 7 } }, 2)  --> f64[1,2]@cpu { { 2, 6 } }
M.avg_pool1d = mean(1)
--- Means over windows of two axes, as nn.avg_pool1d.
---@param x any [batch, channels, height, width] or without the batch axis
---@param size integer|table
---@param opts? table as avg_pool1d; integers or lists
---@return any
--- Errors: as avg_pool1d. Source: PyTorch nn.functional.avg_pool2d.
---     mc.nn.avg_pool2d(mc.ones{ 1, 2, 2 }, 2)  --> f64[1,1,1]@cpu { { { 1 } } }
M.avg_pool2d = mean(2)
--- Maxima over windows of one axis; of equal elements the first gets the gradient.
---@param x any f16|bf16|f32|f64 [batch, channels, n] or [channels, n]; integers become f64
---@param size integer|table of a window
---@param opts? table stride (size) · padding (0), at most half a window, never the maximum · ceil_mode (false)
---@return any as avg_pool1d
--- Errors: windows that do not fit. Source: PyTorch nn.functional.max_pool1d.
---     mc.nn.max_pool1d(mc.tensor{ { 1, 3, 5, 4 } }, 2)  --> f64[1,2]@cpu { { 3, 5 } }
M.max_pool1d = maximum(1)
--- Maxima over windows of two axes, as nn.max_pool1d.
---@param x any [batch, channels, height, width] or without the batch axis
---@param size integer|table
---@param opts? table as max_pool1d; integers or lists
---@return any
--- Errors: as max_pool1d. Source: PyTorch nn.functional.max_pool2d.
---     mc.nn.max_pool2d(mc.ones{ 1, 2, 2 }, 2)  --> f64[1,1,1]@cpu { { { 1 } } }
M.max_pool2d = maximum(2)
--- Means over windows of three axes, as nn.avg_pool1d.
---@param x any [batch, channels, depth, height, width] or without the batch axis
---@param size integer|table
---@param opts? table as avg_pool1d; integers or lists
---@return any
--- Errors: as avg_pool1d. Source: PyTorch nn.functional.avg_pool3d.
---     mc.nn.avg_pool3d(mc.ones{ 1, 2, 2, 2 }, 2)  --> f64[1,1,1,1]@cpu { { { { 1 } } } }
M.avg_pool3d = mean(3)
--- Maxima over windows of three axes, as nn.max_pool1d.
---@param x any [batch, channels, depth, height, width] or without the batch axis
---@param size integer|table
---@param opts? table as max_pool1d; integers or lists
---@return any
--- Errors: as max_pool1d. Source: PyTorch nn.functional.max_pool3d.
---     mc.nn.max_pool3d(mc.ones{ 1, 2, 2, 2 }, 2)  --> f64[1,1,1,1]@cpu { { { { 1 } } } }
M.max_pool3d = maximum(3)

return M
