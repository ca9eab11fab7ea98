-- sample.lua - tensors with awkward values in awkward layouts, and their elements read by the shortest way.
--
-- Holds the values of each dtype, the memory layouts, and read(): elements of any view by walking data and strides
-- through raw pointers, so that what a test expects does not pass through the library's own copying.
local ffi = require 'ffi'
local mc = require 'mascon'

local M = {}

local POINTER = {}
for name, ct in pairs {
  bool = 'uint8_t', u8 = 'uint8_t', i8 = 'int8_t', i16 = 'int16_t', i32 = 'int32_t', i64 = 'int64_t', f16 = 'uint16_t',
  bf16 = 'uint16_t', f32 = 'float', f64 = 'double', c64 = 'float', c128 = 'double',
} do POINTER[name] = ffi.typeof(ct .. ' *') end
local int64 = ffi.typeof 'int64_t'

M.kind = {
  bool = 'b', u8 = 'i', i8 = 'i', i16 = 'i', i32 = 'i', i64 = 'i', f16 = 'f', bf16 = 'f', f32 = 'f', f64 = 'f',
  c64 = 'c', c128 = 'c',
}
local KIND = M.kind

-- ---------------------------------------------------------------- rounding and half formats

local one_float = ffi.new 'float[1]'

-- p significant bits, steps of at least 2^low, overflow past max; ties to even by adding and subtracting 3 * 2^51
local function rounder(p, low, max)
  return function(x)
    if x ~= x or x == 0 or x == math.huge or x == -math.huge then return x end
    local _, e = math.frexp(x)
    local q = math.max(e - p, low)
    local r = math.ldexp(math.ldexp(x, -q) + 6755399441055744 - 6755399441055744, q)
    if r > max then return math.huge elseif r < -max then return -math.huge end
    if r == 0 and x < 0 then return -0.0 end
    return r
  end
end
local function single(x)
  one_float[0] = x
  return tonumber(one_float[0])
end
local half, brain = rounder(11, -24, 65504), rounder(8, -133, 3.3895313892515355e38)
local same = function(x) return x end
--- x rounded to the dtype; halves round from single precision, in which they are computed.
M.round = {
  f16 = function(x) return half(single(x)) end, bf16 = function(x) return brain(single(x)) end, f32 = single,
  f64 = same, c64 = single, c128 = same,
}
--- x rounded to the dtype in which the arithmetic of a dtype runs.
M.compute = { f16 = single, bf16 = single, f32 = single, f64 = same, c64 = single, c128 = same }

local bits32 = ffi.new 'union { float f; uint32_t u; }'

local function decode_half(u)
  local sign, e, m = u >= 32768 and -1 or 1, math.floor(u / 1024) % 32, u % 1024
  if e == 31 then return m == 0 and sign * math.huge or 0 / 0 end
  if e == 0 then return sign * math.ldexp(m, -24) end
  return sign * math.ldexp(1024 + m, e - 25)
end
local function decode_brain(u)
  bits32.u = u * 65536
  return tonumber(bits32.f)
end
local function encode_half(x)
  if x ~= x then return 0x7e00 end
  local sign = (x < 0 or 1 / x < 0) and 32768 or 0
  local a = math.abs(x)
  if a == math.huge then return sign + 0x7c00 end
  if a < 2 ^ -14 then return sign + a * 2 ^ 24 end
  local m, e = math.frexp(a)
  return sign + (e + 14) * 1024 + (m * 2048 - 1024)
end
local function encode_brain(x)
  bits32.f = x
  return math.floor(bits32.u / 65536)
end

--- Element `at` (0-based, in elements) of raw memory as a Lua value: number, int64 box, boolean, or { re =, im = }.
local function fetch(p, dtype, at)
  local k = KIND[dtype]
  if k == 'c' then return { re = tonumber(p[2 * at]), im = tonumber(p[2 * at + 1]) } end
  if dtype == 'f16' then return decode_half(p[at]) end
  if dtype == 'bf16' then return decode_brain(p[at]) end
  if k == 'i' then return int64(p[at]) end
  if k == 'b' then return p[at] ~= 0 end
  return tonumber(p[at])
end

local function put(p, dtype, at, v)
  if KIND[dtype] == 'c' then p[2 * at], p[2 * at + 1] = v.re, v.im
  elseif dtype == 'f16' then p[at] = encode_half(v)
  elseif dtype == 'bf16' then p[at] = encode_brain(v)
  elseif dtype == 'bool' then p[at] = v and 1 or 0
  else p[at] = v end
end

--- All elements of any view in row-major order.
function M.read(t)
  local n, nd, dtype = tonumber(t._numel), t._ndim, t.dtype
  local p, out = ffi.cast(POINTER[dtype], t._data), {}
  if n == 0 then return out end
  local shape, stride, index, at = {}, {}, {}, 0
  for i = 1, nd do shape[i], stride[i], index[i] = tonumber(t._shape[i - 1]), tonumber(t._strides[i - 1]), 0 end
  for k = 1, n do
    out[k] = fetch(p, dtype, at)
    for i = nd, 1, -1 do
      at, index[i] = at + stride[i], index[i] + 1
      if index[i] < shape[i] then break end
      at, index[i] = at - stride[i] * shape[i], 0
    end
  end
  return out
end

--- Writes a list into a contiguous tensor.
function M.write(t, list)
  local p, dtype = ffi.cast(POINTER[t.dtype], t._data), t.dtype
  for i = 1, #list do put(p, dtype, i - 1, list[i]) end
  return t
end

-- ---------------------------------------------------------------- values

local SPECIAL = { 0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, 100, -100, math.huge, -math.huge, 0 / 0, 1e-3,
  7, 1e-6, -3, 12.25 }
local EDGE = {
  u8 = { 0, 1, 255, 254, 128, 7 }, i8 = { 0, 1, -1, 127, -128, 7 }, i16 = { 0, 1, -1, 32767, -32768, 300 },
  i32 = { 0, 1, -1, 2147483647, -2147483648, 70000 },
  i64 = { 0, 1, -1, 9007199254740993LL, -9223372036854775807LL - 1, 9223372036854775807LL },
}
local SPAN = { u8 = { 0, 255 }, i8 = { -128, 127 }, i16 = { -32768, 32767 }, i32 = { -2147483648, 2147483647 },
  i64 = { -2 ^ 52, 2 ^ 52 } }

--- A repeatable stream of numbers in [0, 1): the linear congruential generator of Random number generators: good ones
--- are hard to find (1988), with two draws per number.
function M.stream(seed)
  local state = seed % 2147483646 + 1
  local function step()
    state = (state * 16807) % 2147483647
    return (state - 1) / 2147483646
  end
  for _ = 1, 3 do step() end
  return function() return (step() + step() / 2147483646) % 1 end
end

--- n values of a dtype. style: 'any' (special values among them), 'plain' (finite, moderate), 'small' (integers in
--- -4..9), 'gaps' (plain, every third NaN).
function M.values(dtype, n, seed, style)
  local next_number, out, k, round = M.stream(seed), {}, KIND[dtype], M.round[dtype]
  for i = 1, n do
    local u = next_number()
    if k == 'b' then out[i] = u < 0.5
    elseif k == 'i' then
      local special, span = EDGE[dtype], SPAN[dtype]
      if style == 'small' then out[i] = math.max(math.floor(u * 14) - 4, span[1])
      elseif style == 'any' and next_number() < 0.4 then out[i] = special[1 + math.floor(u * #special)]
      else out[i] = math.floor(span[1] + u * (span[2] - span[1])) end
    elseif style == 'gaps' and i % 3 == 2 then out[i] = k == 'c' and { re = 0 / 0, im = round(u) } or 0 / 0
    elseif k == 'c' then out[i] = { re = round(4 * u - 2), im = round(4 * next_number() - 2) }
    elseif style == 'any' and next_number() < 0.4 then out[i] = round(SPECIAL[1 + math.floor(u * #SPECIAL)])
    else out[i] = round(style == 'small' and math.floor(u * 14) - 4 or 8 * u - 4) end
  end
  return out
end

local function count(shape)
  local n = 1
  for i = 1, #shape do n = n * shape[i] end
  return n
end
M.count = count

--- Contiguous tensor of a list of values.
function M.from(shape, dtype, list) return M.write(mc.zeros(shape, { dtype = dtype }), list) end

-- ---------------------------------------------------------------- layouts

M.layouts = { 'contiguous', 'transposed', 'strided', 'broadcast', 'offset' }

local function replaced(shape, axis, n)
  local s = {}
  for i = 1, #shape do s[i] = i == axis and n or shape[i] end
  return s
end

local function slice(t, axis, range)
  local spec = {}
  for i = 1, t.ndim do spec[i] = i == axis and range or mc.all end
  return t[spec]
end

--- A tensor of this shape in a layout; the base behind it is filled with values of the style.
function M.make(shape, dtype, layout, seed, style)
  local nd = #shape
  local function base(s) return M.from(s, dtype, M.values(dtype, count(s), seed, style)) end
  if nd == 0 or layout == 'contiguous' then return base(shape) end
  if layout == 'transposed' then
    local back, order = {}, {}
    for i = 1, nd do back[i], order[i] = shape[nd + 1 - i], nd + 1 - i end
    return base(back):permute_dims(order)
  elseif layout == 'strided' then
    return slice(base(replaced(shape, nd, 2 * shape[nd])), nd, { -1, 1, -2 })
  elseif layout == 'broadcast' then
    return base(replaced(shape, 1, shape[1] == 0 and 0 or 1)):broadcast_to(shape)
  elseif layout == 'offset' then
    return slice(base(replaced(shape, nd, shape[nd] + 3)), nd, { 3, shape[nd] + 2 })
  end
  error('layout ' .. layout .. ' is unknown')
end

-- ---------------------------------------------------------------- broadcasting, by definition

--- Shape in which several shapes meet.
function M.broadcast(shapes)
  local nd = 0
  for _, s in ipairs(shapes) do nd = math.max(nd, #s) end
  local out = {}
  for i = 1, nd do
    out[i] = 1
    for _, s in ipairs(shapes) do
      local v = s[i - (nd - #s)]
      if v and v ~= 1 then out[i] = v end
    end
  end
  return out
end

--- Elements of a list of shape `from`, seen under shape `to`.
function M.spread(list, from, to)
  local out, n, nd = {}, count(to), #to
  if #from == nd then
    local equal = true
    for i = 1, nd do equal = equal and from[i] == to[i] end
    if equal then return list end
  end
  local step, s = {}, 1
  for i = nd, 1, -1 do
    local size = from[i - (nd - #from)] or 1
    step[i] = size == 1 and 0 or s
    s = s * size
  end
  for k = 0, n - 1 do
    local rest, at = k, 0
    for i = nd, 1, -1 do
      at = at + rest % to[i] * step[i]
      rest = math.floor(rest / to[i])
    end
    out[k + 1] = list[at + 1]
  end
  return out
end

--- "f32[3,4]": a case in a message.
function M.describe(dtype, shape, layout) return ('%s[%s] %s'):format(dtype, table.concat(shape, ','), layout or '') end

return M
