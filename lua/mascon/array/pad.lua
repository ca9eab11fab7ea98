-- pad.lua - tensors with elements added at the ends of their axes.
--
-- Modes that copy elements or constants are one pass of the C op; ramps, statistics and odd reflections fill what that
-- pass left empty, axis by axis, each axis over the padded range of the ones before it (NumPy's order, which decides
-- the corners). Holds the mode names.
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local index = require 'mascon.core.index'
local create = require 'mascon.array.create'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

local COPY = {} -- modes that C has, by number
for k, mode in ipairs(op.rows.pad.modes) do COPY[mode] = k - 1 end
local MODES = { 'constant', 'edge', 'reflect', 'symmetric', 'wrap', 'empty', 'linear_ramp', 'maximum', 'mean', 'median',
  'minimum', 'odd_reflect' }
local OPTS = {
  mode = { 'constant', MODES }, value = { 0, 'any' }, end_value = { 0, 'number | table' },
  stat_length = { nil, 'integer >= 1 | table' }, reflect_type = { 'even', { 'even', 'odd' } }, out = { nil, 'tensor' },
}

local PAD = op.rows.pad.id
local function call(out, list, P) return lib.op_list(PAD, out, list, P) end

--- Pairs { before, after } for each of n axes from a number, one pair, or a list of numbers or pairs.
local function wrong(what, x, level)
  error(('pad: %s do not fit %s; give a number, { before, after } for one axis, or one of them for each axis'):format(
    what, tensor.describe(x)), level + 1)
end

local function pairs_of(what, v, n, x, level)
  if n == 1 then -- without a loop: see check.opts
    if type(v) ~= 'table' then return { { v, v } } end
    local first = v[1]
    if #v == 2 and type(first) ~= 'table' then return { { first, v[2] } } end
    if #v == 1 and type(first) == 'table' and #first == 2 then return { { first[1], first[2] } } end
  end
  local out = {}
  if type(v) ~= 'table' then
    for i = 1, n do out[i] = { v, v } end
    return out
  end
  if n == 1 and type(v[1]) ~= 'table' and #v == 2 then return { { v[1], v[2] } } end
  if #v == 1 and n > 1 then for i = 2, n do v = { unpack(v) } v[i] = v[1] end end
  if #v ~= n then wrong(what, x, level + 1) end
  for i = 1, n do
    local p = v[i]
    if type(p) == 'table' then
      if #p == 1 then p = { p[1], p[1] } end
      if #p ~= 2 then wrong(what, x, level + 1) end
      out[i] = { p[1], p[2] }
    else
      out[i] = { p, p }
    end
  end
  return out
end

--- Places first..last of one axis of t.
local function slab(t, axis, first, last)
  local key = {}
  for i = 1, t.ndim do key[i] = i == axis and { first, last } or index.all end
  if last < first then key[axis] = { 1, 0 } end
  return t[key]
end

--- The part of out whose axes up to `axis` are whole and whose later ones hold the operand only.
local function range(out, widths, axis)
  local key, shape = {}, out.shape
  for i = 1, #shape do
    local first, last = widths[i][1] + 1, shape[i] - widths[i][2]
    key[i] = i <= axis and index.all or last < first and { 1, 0 } or { first, last }
  end
  return out[key]
end

local FILL = {}

--- Even steps from the edge to end_value, which stands at the far end.
function FILL.linear_ramp(part, axis, before, size, after, o, axis_option)
  local ends = axis_option.end_value[axis]
  local whole = tensor.kind[part.dtype] ~= 'f' and tensor.kind[part.dtype] ~= 'c'
  local function ramp(count, at, first, last, finish, down)
    if count == 0 then return end
    local shape = {}
    for i = 1, part.ndim do shape[i] = i == axis and count or 1 end
    -- 0 at the far end
    local here = { device = part.device }
    local steps = down and create.arange(0, count - 1, 1, here) or create.arange(count - 1, 0, -1, here)
    local k = methods.reshape(steps, shape)
    local edge = slab(part, axis, at, at)
    if whole then
      edge = methods.to(edge, 'f64')
    else
      k = methods.to(k, tensor.kind[part.dtype] == 'c' and 'f64' or part.dtype)
    end
    local y = k * ((edge - finish) / count) + finish
    methods.copy_(slab(part, axis, first, last), whole and F.floor(y) or y)
  end
  ramp(before, before + 1, 1, before, ends[1], true)
  ramp(after, before + size, before + size + 1, before + size + after, ends[2], false)
end

local function statistic(f)
  return function(part, axis, before, size, after, _, axis_option)
    local lengths = axis_option.stat_length and axis_option.stat_length[axis] or { size, size }
    local function fill(count, first, last, from, to)
      if count == 0 then return end
      local v = f(slab(part, axis, from, to), axis)
      methods.copy_(slab(part, axis, first, last), v)
    end
    local left, right = math.min(lengths[1], size), math.min(lengths[2], size)
    fill(before, 1, before, before + 1, before + left)
    fill(after, before + size + 1, before + size + after, before + size - right + 1, before + size)
  end
end

--- Averages of integers are rounded to the nearest, halves to even.
local function rounded(f)
  return function(t, axis)
    local y = f(t, { axis, keepdim = true })
    if tensor.kind[t.dtype] ~= 'f' and tensor.kind[t.dtype] ~= 'c' then y = F.round(y) end
    return y
  end
end
FILL.maximum = statistic(function(t, axis) return F.max(t, { axis, keepdim = true }) end)
FILL.minimum = statistic(function(t, axis) return F.min(t, { axis, keepdim = true }) end)
FILL.mean = statistic(rounded(F.mean))
FILL.median = statistic(rounded(F.median))

--- 2 edge - reflection, again and again until the width is filled.
local function odd(symmetric)
  return function(part, axis, before, size, after)
    local n = before + size + after
    local first, last = before + 1, before + size -- filled so far
    local function reflected(from, to, at)
      return 2 * slab(part, axis, at, at) - methods.flip(slab(part, axis, from, to), axis)
    end
    local skip = symmetric and 0 or 1
    local chunk = size - skip -- samples one reflection gives
    if chunk == 0 then -- one sample reflects to itself
      if before > 0 then methods.copy_(slab(part, axis, 1, before), slab(part, axis, first, first)) end
      if after > 0 then methods.copy_(slab(part, axis, last + 1, n), slab(part, axis, last, last)) end
      return
    end
    while first > 1 or last < n do
      local filled = last - first + 1 - skip
      if first > 1 then
        local k = math.min(first - 1, filled)
        local v = reflected(first + skip, first + skip + k - 1, first)
        methods.copy_(slab(part, axis, first - k, first - 1), v)
        first = first - k
      end
      filled = last - first + 1 - skip
      if last < n then
        local k = math.min(n - last, filled)
        local v = reflected(last - skip - k + 1, last - skip, last)
        methods.copy_(slab(part, axis, last + 1, last + k), v)
        last = last + k
      end
    end
  end
end

--- x with elements added at both ends of its axes.
---@param x any [n1, ...] of any dtype
---@param width integer|table n for all ends; { before, after } for a tensor of one axis; { { before, after }, ... } or
---  { n1, n2, ... } for each
---@param opts? table mode:
---   'constant' value (0; a number, or { before, after } for each axis)  ·  'edge' the outermost element
---   'reflect' mirrored at the outermost element  ·  'symmetric' mirrored beside it  ·  'wrap' from the other end
---   'linear_ramp' even steps to end_value (0; as value) · 'maximum' 'minimum' 'mean' 'median' of stat_length elements
---   of each end (all)
---   'empty' not set;  reflect_type = 'odd' gives 2 edge - reflection ('odd_reflect' is short for reflect with it)
---   out: takes the result
---@return any
--- Errors: negative widths, an empty axis with nothing to repeat. Source: NumPy pad.
---     mc.pad(mc.tensor{ 1, 2, 3 }, { 2, 1 }, { mode = 'reflect' })  --> f64[6]@cpu { 3, 2, 1, 2, 3, 2 }
function M.pad(x, width, opts)
  x = op.operand('pad', x, 2)
  local o = check.opts('pad', opts, OPTS, 3)
  if x.ndim == 0 then error(('pad: operand is %s; it needs at least one axis'):format(tensor.describe(x)), 2) end
  local n, shape = x.ndim, x.shape
  local w = pairs_of('widths', width, n, x, 3)
  for i = 1, n do
    for k = 1, 2 do check.arg('pad', 'width', w[i][k], 'integer >= 0', 3) end
  end
  local mode = o.mode
  local fill = FILL[mode]
  if mode == 'odd_reflect' then fill = odd(false)
  elseif o.reflect_type == 'odd' and (mode == 'reflect' or mode == 'symmetric') then fill = odd(mode == 'symmetric') end
  if fill then
    for i = 1, n do
      if shape[i] == 0 and w[i][1] + w[i][2] > 0 then
        error(('pad: axis %d of %s is empty and has nothing to repeat; use the mode constant'):format(i,
          tensor.describe(x)), 2)
      end
    end
  end
  local list = { x }
  if mode == 'constant' then
    local value = o.value
    if tensor.is(value) then value = value:totable() end
    list[2] = tensor.empty('pad', { n, 2 }, x.dtype, 2, x._device)
    if type(value) == 'number' then methods.fill_(list[2], value)
    else for i, pair in ipairs(pairs_of('values', value, n, x, 3)) do
      for k = 1, 2 do list[2][{ i, k }] = pair[k] end
    end end
  end
  local P = lib.params()
  P.i[0] = fill and COPY.empty or COPY[mode]
  for i = 1, n do P.i[2 * i - 1], P.i[2 * i] = w[i][1], w[i][2] end
  local out = op.run('pad', 2, o, 0, call, list, P)
  if not fill or out:numel() == 0 then return out end
  local axis_option = {
    end_value = mode == 'linear_ramp' and pairs_of('end values', o.end_value, n, x, 3),
    stat_length = o.stat_length and pairs_of('lengths', o.stat_length, n, x, 3),
  }
  for i = 1, n do
    if w[i][1] + w[i][2] > 0 then fill(range(out, w, i), i, w[i][1], shape[i], w[i][2], o, axis_option) end
  end
  return out
end

return M
