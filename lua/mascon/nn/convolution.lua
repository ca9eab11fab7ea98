-- convolution.lua - convolutions over one to three axes, plain and transposed.
--
-- Holds what stands around the C op: paddings by name, a batch axis where there is none, the bias. Weights lie as
-- PyTorch has them.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local convolution = require 'mascon.array.convolution'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

local MODES = { 'zeros', 'circular', 'reflect', 'replicate' }
local OPTS = {
  bias = { nil, 'tensor' }, stride = { 1, 'integer >= 1 | table' }, padding = { 0, 'integer >= 0 | string | table' },
    padding_mode = { 'zeros', MODES },
  dilation = { 1, 'integer >= 1 | table' }, groups = { 1, 'integer >= 1' }, direct = { false, 'boolean' },
}
local TRANSPOSED = {
  bias = { nil, 'tensor' }, stride = { 1, 'integer >= 1 | table' }, padding = { 0, 'integer >= 0 | table' },
    output_padding = { 0, 'integer >= 0 | table' },
  dilation = { 1, 'integer >= 1 | table' }, groups = { 1, 'integer >= 1' },
}

--- A number, or a list with one for each of n axes.
local function each(fname, what, v, n, least, level)
  local out = {}
  if type(v) == 'table'
    and #v ~= n then error(('%s: %s has %d entries for %d axes; give a number, or one for each axis'):format(fname,
    what, #v, n), level) end
  for k = 1, n do
    out[k] = type(v) == 'table' and v[k] or v
    check.arg(fname, what, out[k], 'integer >= ' .. least, level + 1)
  end
  return out
end

--- Padding before and after each axis.
local function paddings(fname, o, n, taps, level)
  local p, before, after = o.padding, {}, {}
  if p == 'valid' then p = 0 end
  if p == 'same' then
    for k = 1, n do
      if o.stride[k] ~= 1 then error(("%s: padding 'same' is for stride 1; give padding as numbers"):format(fname),
        level) end
      local total = o.dilation[k] * (taps[k] - 1)
      before[k] = math.floor(total / 2)
      after[k] = total - before[k]
    end
    return before, after
  end
  if type(p) == 'string' then error(("%s: padding is '%s'; give 'same', 'valid', or numbers"):format(fname, p),
    level) end
  if type(p) == 'table'
    and #p ~= n then error(('%s: padding has %d entries for %d axes; give a number, or one or a pair { before, ' ..
      'after } for each axis'):format(fname, #p, n), level) end
  for k = 1, n do
    local v = type(p) == 'table' and p[k] or p
    local pair = type(v) == 'table' and v or { v, v }
    if #pair ~= 2 then error(('%s: a pair of paddings has %d entries, not 2'):format(fname, #pair), level) end
    before[k], after[k] = check.arg(fname, 'padding', pair[1], 'integer >= 0', level + 1),
      check.arg(fname, 'padding', pair[2], 'integer >= 0', level + 1)
  end
  return before, after
end

--- Operands with a batch axis, and whether x had one. what: the shape of the weight in words.
local function operands(fname, n, x, w, what, level)
  if not tensor.is(x) or not tensor.is(w) then
    error(('%s: operands are %s and %s; give two tensors'):format(fname, tensor.describe(x), tensor.describe(w)), level)
  end
  local single = x.ndim == n + 1
  if (not single and x.ndim ~= n + 2) or w.ndim ~= n + 2 then
    local more = x.ndim == n + 3 and w.ndim == n + 3 and what:find '^channels out'
    error(('%s: input is %s and weight is %s; give an input [batch, channels%s] and a weight [%s%s]%s'):format(fname,
      tensor.describe(x), tensor.describe(w), (', size'):rep(n), what, (', size'):rep(n),
      more and ', or as many of both, along a first axis' or ''), level)
  end
  return single and methods.expand_dims(x, 1) or x, single
end

local function finish(fname, y, bias, channels, n, single, level)
  if bias then
    local several = y.ndim == n + 3
    if bias.ndim ~= (several and 2 or 1) or bias.shape[bias.ndim] ~= channels or several
      and bias.shape[1] ~= y.shape[1] then
      error(('%s: bias is %s for %d channels%s; give one number for each'):format(fname, tensor.describe(bias),
        channels, several and (' of %d kernels'):format(y.shape[1]) or ''), level)
    end
    local shape = several and { y.shape[1], 1, channels } or { channels }
    for _ = 1, n do shape[#shape + 1] = 1 end
    y = F.add(y, methods.reshape(bias, shape))
  end
  return single and methods.squeeze(y, 1) or y
end

local function sizes(t, n)
  local out = {}
  for k = 1, n do out[k] = t.shape[t.ndim - n + k] end
  return out
end

local function text(list) return table.concat(list, ' x ') end

--- Operands and geometry of a plain convolution over n axes, checked: x, weight, geometry, whether x had a batch axis,
--- the bias, channels out.
local function planned(fname, n, x, weight, opts)
  local several, single = tensor.is(x) and tensor.is(weight) and x.ndim == n + 3 and weight.ndim == n + 3
    and x.shape[1] == weight.shape[1], false
  if not several then x, single = operands(fname, n, x, weight, 'channels out, channels in / groups', 4) end
  local o = check.opts(fname, opts, OPTS, 4)
  local out, into = weight.shape[weight.ndim - n - 1], weight.shape[weight.ndim - n]
  local given = x.shape[x.ndim - n]
  o.stride, o.dilation = each(fname, 'stride', o.stride, n, 1, 4), each(fname, 'dilation', o.dilation, n, 1, 4)
  local taps, size = sizes(weight, n), sizes(x, n)
  local before, after = paddings(fname, o, n, taps, 4)
  if given ~= into * o.groups or out % o.groups ~= 0 then
    error(('%s: input %s has %d channels, weight %s takes %d in each of %d %s; both numbers of channels must ' ..
      'fit the groups'):format(fname, tensor.describe(x), given,
      tensor.describe(weight), into, o.groups, o.groups == 1 and 'group' or 'groups'), 3)
  end
  local padded, span = {}, {}
  for k = 1, n do
    padded[k], span[k] = size[k] + before[k] + after[k], o.dilation[k] * (taps[k] - 1) + 1
  end
  for k = 1, n do
    if taps[k] < 1 or padded[k] < span[k] then
      local words = '%s: the kernel of %s covers %s and the padded input %s of %s; pad more, or take a smaller kernel'
      error(words:format(fname, tensor.describe(weight),
        text(span), text(padded), tensor.describe(x)), 3)
    end
    if o.padding_mode ~= 'zeros' and size[k] == 0 then
      error(("%s: an axis of %s is empty and has nothing to repeat; use padding_mode = 'zeros'"):format(fname,
        tensor.describe(x)), 3)
    end
  end
  local geometry = { stride = o.stride, dilation = o.dilation, before = before, after = after, groups = o.groups,
    mode = convolution.MODES[o.padding_mode], several = several, direct = o.direct }
  return x, geometry, single, o.bias, out
end

local function plain(n)
  local fname = ('nn.conv%dd'):format(n)
  return function(x, weight, opts)
    local seen, geometry, single, bias, out = planned(fname, n, x, weight, opts)
    local y = convolution.form('conv', fname, seen, weight, geometry, nil, 3)
    return finish(fname, y, bias, out, n, single, 3)
  end
end

local function transposed(n)
  local fname = ('nn.conv_transpose%dd'):format(n)
  return function(x, weight, opts)
    local single
    x, single = operands(fname, n, x, weight, 'channels in, channels out / groups', 3)
    local o = check.opts(fname, opts, TRANSPOSED, 3)
    local stride, dilation = each(fname, 'stride', o.stride, n, 1, 3), each(fname, 'dilation', o.dilation, n, 1, 3)
    local padding, more = each(fname, 'padding', o.padding, n, 0, 3), each(fname, 'output_padding', o.output_padding,
      n, 0, 3)
    if x.shape[2] ~= weight.shape[1] or weight.shape[1] % o.groups ~= 0 then
      error(('%s: input %s has %d channels, weight %s takes %d in %d %s; both numbers of channels must fit the ' ..
        'groups'):format(fname, tensor.describe(x), x.shape[2],
        tensor.describe(weight), weight.shape[1], o.groups, o.groups == 1 and 'group' or 'groups'), 2)
    end
    local size, taps, out, after, beyond, some = sizes(x, n), sizes(weight, n), {}, {}, {}, false
    for k = 1, n do
      if more[k] >= math.max(stride[k], dilation[k]) then
        error(('%s: output_padding %d is not below the larger of stride %d and dilation %d'):format(fname, more[k],
          stride[k], dilation[k]), 2)
      end
      out[k] = (size[k] - 1) * stride[k] - 2 * padding[k] + dilation[k] * (taps[k] - 1) + more[k] + 1
      if out[k] < 1 or taps[k] < 1 then
        error(('%s: input %s with weight %s and padding %d gives %d places; pad less'):format(fname,
          tensor.describe(x), tensor.describe(weight), padding[k], out[k]), 2)
      end
      -- more places than a stride steps over come from the padding behind, and beyond it nothing reaches them
      local shown = more[k] < stride[k] and 0 or math.min(more[k], padding[k])
      local empty = more[k] < stride[k] and 0 or more[k] - shown
      after[k], beyond[k], some = padding[k] - shown, { 0, empty }, some or empty > 0
      out[k] = out[k] - empty
    end
    local geometry = { stride = stride, dilation = dilation, before = padding, after = after, groups = o.groups,
      mode = convolution.MODES.zeros }
    local y = convolution.form('conv_input', fname, x, weight, geometry, out, 3)
    if some then y = F.pad(y, { { 0, 0 }, { 0, 0 }, unpack(beyond) }) end
    return finish(fname, y, o.bias, weight.shape[2] * o.groups, n, single, 3)
  end
end

--- Convolution over one axis: y[o][p] = bias[o] + sum over c, t of weight[o][c][t] x[c][p stride + t dilation -
--- padding].
---
--- The kernel is not reversed (cross-correlation, as in every network library). Results have floor((n + padding
--- before and after - dilation (taps - 1) - 1) / stride) + 1 places. Results do not depend on the number of threads
--- or on the rest of the batch.
---@param x any f16|bf16|f32|f64 [batch, channels in, n] or [channels in, n]; integers become f64
---@param weight any [channels out, channels in / groups, taps], or several kernels [kernels, channels out, ...]: x is
--- then [kernels, batch, channels in, n], the bias [kernels, channels out], and each gives what it gives alone
---@param opts? table
---   bias: [channels out] (none) · stride: integer or list (1) · padding: integer, a list, pairs { before, after },
--- 'same' (stride 1 only) or 'valid' (0)
---   padding_mode: 'zeros', 'circular', 'reflect' (without the edge) or 'replicate' ('zeros') · dilation: integer or
--- list (1) · groups (1): channels
---   are split into groups that do not mix · direct (false): sums as they are written, where tiles would be faster
---@return any [batch, channels out, places], or without the batch axis
--- Errors: channels that do not fit the groups, a kernel longer than the padded input.
--- Source: PyTorch nn.functional.conv1d; A guide to convolution arithmetic for deep learning, 2016.
---     mc.nn.conv1d(mc.tensor{ { 1, 2, 3, 4 } }, mc.tensor{ { { 1, -1 } } })  --> f64[1,3]@cpu { { -1, -1, -1 } }
---     mc.nn.conv1d(mc.ones{ 1, 3 }, mc.ones{ 1, 1, 3 }, { padding = 'same' })  --> f64[1,3]@cpu { { 2, 3, 2 } }
M.conv1d = plain(1)
--- Convolution over two axes, as nn.conv1d; lists of stride, padding and dilation hold one number for each axis.
---
--- Kernels of 3 x 3 taps, stride 1, with some 16 channels or more are computed in f32 by tiles of 4 x 4 results
--- (Winograd's algorithm), with a quarter of the multiplications; larger kernels of up to 9 taps an axis by Fourier
--- transforms of 16 x 16, with a seventh (5 x 5) to a tenth (7 x 7) of them. Errors stay below 3 eps (2 + sqrt(n)) S,
--- eps = 2^-24, for a sum of n terms, S the largest sum of magnitudes in the tile. An infinite or NaN element reaches
--- all results of the tiles that see it. f64 is computed as written.
---@param x any [batch, channels in, height, width] or [channels in, height, width]
---@param weight any [channels out, channels in / groups, height, width]
---@param opts? table as conv1d
---@return any [batch, channels out, height, width], or without the batch axis
--- Errors: as conv1d. Source: PyTorch nn.functional.conv2d.
---     mc.nn.conv2d(mc.ones{ 1, 2, 2 }, mc.tensor{ { { { 1, 2 } } } })  --> f64[1,2,1]@cpu { { { 3 }, { 3 } } }
M.conv2d = plain(2)
--- How the processor would compute nn.conv2d of such operands, whose elements are not read, and the bytes that it takes
--- beside operands and result with the threads that there are (0 where they do not depend on the channels).
---@param x any as conv2d
---@param weight any as conv2d
---@param opts? table as conv2d
---@return string way "direct sums", "products of matrices", "Winograd's tiles of 4 x 4", "Fourier transforms of tiles
--- of 12 x 12" or the like
---@return number bytes
--- Errors: as conv2d.
---     mc.nn.conv2d_way(mc.ones{ 1, 32, 9, 9, dtype = 'f32' }, mc.ones{ 32, 32, 1, 1, dtype = 'f32' })
---       --> products of matrices, 0
function M.conv2d_way(x, weight, opts)
  local seen, geometry = planned('nn.conv2d_way', 2, x, weight, opts)
  return convolution.way('conv', seen, weight, geometry)
end
--- Convolution over three axes, as nn.conv1d.
---@param x any [batch, channels in, depth, height, width] or without the batch axis
---@param weight any [channels out, channels in / groups, depth, height, width]
---@param opts? table as conv1d
---@return any [batch, channels out, depth, height, width], or without the batch axis
--- Errors: as conv1d. Source: PyTorch nn.functional.conv3d.
---     mc.nn.conv3d(mc.ones{ 1, 3, 3, 3 }, mc.ones{ 1, 1, 2, 2, 2 }).shape  --> {1, 2, 2, 2}
M.conv3d = plain(3)
--- Transposed convolution over one axis: the adjoint of nn.conv1d with the same weight, stride, padding and dilation.
---
--- Results have (n - 1) stride - 2 padding + dilation (taps - 1) + output_padding + 1 places.
---@param x any f16|bf16|f32|f64 [batch, channels in, n] or [channels in, n]
---@param weight any [channels in, channels out / groups, taps]
---@param opts? table bias: [channels out] (none) · stride (1) · padding (0) · output_padding (0), below the larger
--- of stride and dilation · dilation (1)
--- · groups (1); integers or lists
---@return any [batch, channels out, places], or without the batch axis
--- Errors: channels that do not fit the groups, no places left. Source: PyTorch nn.functional.conv_transpose1d.
---     mc.nn.conv_transpose1d(mc.tensor{ { 1, 2 } }, mc.tensor{ { { 1, 10 } } })  --> f64[1,3]@cpu { { 1, 12, 20 } }
M.conv_transpose1d = transposed(1)
--- Transposed convolution over two axes, as nn.conv_transpose1d.
---@param x any [batch, channels in, height, width] or without the batch axis
---@param weight any [channels in, channels out / groups, height, width]
---@param opts? table as conv_transpose1d
---@return any [batch, channels out, height, width], or without the batch axis
--- Errors: as conv_transpose1d. Source: PyTorch nn.functional.conv_transpose2d.
---     mc.nn.conv_transpose2d(mc.ones{ 1, 2, 2 }, mc.ones{ 1, 1, 2, 2 })[{ 1, 2 }]  --> f64[3]@cpu { 2, 4, 2 }
M.conv_transpose2d = transposed(2)
--- Transposed convolution over three axes, as nn.conv_transpose1d.
---@param x any [batch, channels in, depth, height, width] or without the batch axis
---@param weight any [channels in, channels out / groups, depth, height, width]
---@param opts? table as conv_transpose1d
---@return any [batch, channels out, depth, height, width], or without the batch axis
--- Errors: as conv_transpose1d. Source: PyTorch nn.functional.conv_transpose3d.
---     mc.nn.conv_transpose3d(mc.ones{ 1, 1, 1, 1 }, mc.ones{ 1, 1, 2, 2, 2 }).shape  --> {1, 2, 2, 2}
M.conv_transpose3d = transposed(3)

return M
