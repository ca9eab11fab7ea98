-- png.lua - images in PNG files as tensors.
--
-- Deflate is unpacked here, into as many bytes as the header of the image asks for and no more, so that a file cannot
-- ask for memory without bounds. Interlaced images are refused.
--
-- Formats: PNG (ISO/IEC 15948), zlib (RFC 1950), deflate (RFC 1951).
local bit = require 'bit'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local file = require 'mascon.base.file'
local crc32 = require 'mascon.base.crc'.crc32
local methods = tensor.methods
local band, rshift, lshift = bit.band, bit.rshift, bit.lshift
local M = {}

local MOST = 2 ^ 28 -- bytes of one image

-- ---------------------------------------------------------------- deflate

--- Raised as a table, so that the caller adds the path.
local function bad(why) error({ why }, 0) end

local LENGTH, LENGTH_BITS, DISTANCE, DISTANCE_BITS = {}, {}, {}, {}
do
  local at = 3
  for i = 0, 27 do
    local bits = i < 8 and 0 or math.floor(i / 4) - 1
    LENGTH[i], LENGTH_BITS[i] = at, bits
    at = at + 2 ^ bits
  end
  LENGTH[28], LENGTH_BITS[28] = 258, 0
  at = 1
  for i = 0, 29 do
    local bits = i < 4 and 0 or math.floor(i / 2) - 1
    DISTANCE[i], DISTANCE_BITS[i] = at, bits
    at = at + 2 ^ bits
  end
end

--- A code from the lengths of its symbols 0 .. n - 1: how many of each length, symbols in order.
local function code_of(lengths, n)
  local count, first, symbols = {}, {}, {}
  for k = 0, 15 do count[k] = 0 end
  for s = 0, n - 1 do count[lengths[s]] = count[lengths[s]] + 1 end
  local left = 1
  for k = 1, 15 do
    left = left * 2 - count[k]
    if left < 0 then bad 'its codes have too many symbols' end
  end
  first[1] = 0
  for k = 1, 14 do first[k + 1] = first[k] + count[k] end
  for s = 0, n - 1 do
    local k = lengths[s]
    if k > 0 then
      symbols[first[k]] = s
      first[k] = first[k] + 1
    end
  end
  return { count = count, symbols = symbols }
end

local FIXED
local function fixed()
  if not FIXED then
    local l, d = {}, {}
    for s = 0, 287 do l[s] = s < 144 and 8 or s < 256 and 9 or s < 280 and 7 or 8 end
    for s = 0, 29 do d[s] = 5 end
    FIXED = { code_of(l, 288), code_of(d, 30) }
  end
  return FIXED[1], FIXED[2]
end

local ORDER = { 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15 }

--- Unpacks a deflate stream that begins at byte `from` of text into n bytes at p. The place of the byte behind it.
local function inflate(text, from, p, n)
  local at, held, have, out, size, byte = from, 0, 0, 0, #text, string.byte
  local function bits(k)
    while have < k do
      if at > size then bad 'its data end too soon' end
      held = held + lshift(byte(text, at), have)
      at, have = at + 1, have + 8
    end
    local v = band(held, lshift(1, k) - 1)
    held, have = rshift(held, k), have - k
    return v
  end
  local function symbol(code)
    local value, first, index, count = 0, 0, 0, code.count
    for k = 1, 15 do
      value = value + bits(1)
      local c = count[k]
      if value - c < first then return code.symbols[index + value - first] end
      index, first = index + c, (first + c) * 2
      value = value * 2
    end
    bad 'a code in it is none'
  end
  local function block(lengths, distances)
    while true do
      local s = symbol(lengths)
      if s < 256 then
        if out >= n then bad 'it holds more than the image' end
        p[out] = s
        out = out + 1
      elseif s == 256 then return
      else
        s = s - 257
        if s > 28 then bad 'a length in it is none' end
        local length = LENGTH[s] + bits(LENGTH_BITS[s])
        local d = symbol(distances)
        if d > 29 then bad 'a distance in it is none' end
        local back = DISTANCE[d] + bits(DISTANCE_BITS[d])
        if back > out then bad 'a distance in it reaches before the image' end
        if out + length > n then bad 'it holds more than the image' end
        for i = out, out + length - 1 do p[i] = p[i - back] end
        out = out + length
      end
    end
  end
  repeat
    local last, kind = bits(1), bits(2)
    if kind == 0 then
      held, have = 0, 0
      if at + 3 > size then bad 'its data end too soon' end
      local a, b, c, d = byte(text, at, at + 3)
      local length = a + b * 256
      if length + c + d * 256 ~= 65535 then bad 'a stored part of it is damaged' end
      at = at + 4
      if at + length - 1 > size then bad 'its data end too soon' end
      if out + length > n then bad 'it holds more than the image' end
      for i = 0, length - 1 do p[out + i] = byte(text, at + i) end
      at, out = at + length, out + length
    elseif kind == 1 then block(fixed())
    elseif kind == 2 then
      local nl, nd, nc = bits(5) + 257, bits(5) + 1, bits(4) + 4
      if nl > 286 or nd > 30 then bad 'its codes have too many symbols' end
      local lengths = {}
      for i = 0, 18 do lengths[i] = 0 end
      for i = 1, nc do lengths[ORDER[i]] = bits(3) end
      local code, all, i = code_of(lengths, 19), {}, 0
      while i < nl + nd do
        local s = symbol(code)
        if s < 16 then
          all[i] = s
          i = i + 1
        else
          local v, times = 0
          if s == 16 then
            if i == 0 then bad 'its codes repeat nothing' end
            v, times = all[i - 1], 3 + bits(2)
          elseif s == 17 then times = 3 + bits(3)
          else times = 11 + bits(7) end
          if i + times > nl + nd then bad 'its codes have too many symbols' end
          for k = i, i + times - 1 do all[k] = v end
          i = i + times
        end
      end
      local d = {}
      for k = 0, nd - 1 do d[k] = all[nl + k] end
      block(code_of(all, nl), code_of(d, nd))
    else bad 'a part of it is of no known kind' end
  until last == 1
  if out ~= n then bad 'its data end too soon' end
  return at
end

--- Adler-32 of n bytes at p (RFC 1950).
local function adler32(p, n)
  local a, b = 1, 0
  for i = 0, n - 1 do
    a = (a + p[i]) % 65521
    b = (b + a) % 65521
  end
  return b * 65536 + a
end

-- ---------------------------------------------------------------- rows

--- Undoes the filters of rows of `width` bytes, each behind the byte of its filter; `step` bytes are one pixel.
local function unfilter(p, rows, width, step)
  for r = 0, rows - 1 do
    local at = r * (width + 1)
    local kind, first, up = p[at], at + 1, at - width
    if kind > 4 then bad 'a row has a filter that is none' end
    for i = 0, width - 1 do
      local left = i >= step and p[first + i - step] or 0
      local above = r > 0 and p[up + i] or 0
      local add = 0
      if kind == 1 then add = left
      elseif kind == 2 then add = above
      elseif kind == 3 then add = rshift(left + above, 1)
      elseif kind == 4 then
        local corner = (r > 0 and i >= step) and p[up + i - step] or 0
        local e = left + above - corner
        local a, b, c = math.abs(e - left), math.abs(e - above), math.abs(e - corner)
        add = (a <= b and a <= c) and left or b <= c and above or corner
      end
      p[first + i] = band(p[first + i] + add, 255)
    end
  end
end

local CHANNELS = { [0] = 1, [2] = 3, [3] = 1, [4] = 2, [6] = 4 }
local DEPTHS = { [0] = { 1, 2, 4, 8, 16 }, [2] = { 8, 16 }, [3] = { 1, 2, 4, 8 }, [4] = { 8, 16 }, [6] = { 8, 16 } }

local function word(text, at)
  local a, b, c, d = text:byte(at, at + 3)
  return ((a * 256 + b) * 256 + c) * 256 + d
end

--- The image in the bytes of a PNG file.
local function decode(text)
  if text:sub(1, 8) ~= '\137PNG\r\n\26\n' then bad 'it does not begin like a PNG file' end
  local at, data, head, palette, parts = 9, {}, nil, nil, {}
  while true do
    if at + 11 > #text then bad 'it ends too soon' end
    local size, kind = word(text, at), text:sub(at + 4, at + 7)
    if size > #text - at - 11 then bad 'a part of it reaches beyond its end' end
    local body = text:sub(at + 8, at + 7 + size)
    parts[#parts + 1] = { at + 4, at + 7 + size }
    if kind == 'IHDR' then head = body
    elseif kind == 'PLTE' then palette = body
    elseif kind == 'IDAT' then data[#data + 1] = body
    elseif kind == 'IEND' then break
    elseif kind:byte(1) < 97 then bad(('it needs a part %q that is not known'):format(kind)) end
    at = at + 12 + size
  end
  if not head or #head ~= 13 then bad 'it has no header' end
  local width, height = word(head, 1), word(head, 5)
  local depth, color, packing, filter, laced = head:byte(9, 13)
  local ok = false
  for _, d in ipairs(DEPTHS[color] or {}) do ok = ok or d == depth end
  if not ok or packing ~= 0 or filter ~= 0 or width < 1 or height < 1 then bad 'its header is damaged' end
  if laced ~= 0 then bad 'it is interlaced; save it without' end
  local channels = CHANNELS[color]
  local row = math.ceil(width * channels * depth / 8)
  local total = (row + 1) * height
  if total > MOST or width * height * 4 > MOST then
    bad(('it has %d x %d pixels; the bound is %d bytes'):format(width, height, MOST))
  end
  local packed = table.concat(data)
  if #packed < 6 then bad 'it has no data' end
  local b1, b2 = packed:byte(1, 2)
  if band(b1, 15) ~= 8 or (b1 * 256 + b2) % 31 ~= 0
    or band(b2, 32) ~= 0 then bad 'its data are packed in no known way' end
  if (total / 1032 - 64) > #packed then bad 'its data end too soon' end -- deflate packs at most 1032 to 1
  for _, part in ipairs(parts) do
    if bit.tobit(word(text, part[2] + 1)) ~= crc32(text:sub(part[1], part[2])) then
      bad(('its part %s is damaged'):format(text:sub(part[1], part[1] + 3)))
    end
  end
  local raw = tensor.empty('nn.data.png', { total }, 'u8', 3)
  local p = tensor.pointer(raw)
  local behind = inflate(packed, 3, p, total)
  if behind + 3 > #packed or word(packed, behind) ~= adler32(p, total) then bad 'its data are damaged' end
  unfilter(p, height, row, math.max(1, channels * depth / 8))
  local colours = color == 3 and palette and #palette % 3 == 0 and #palette / 3
  if color == 3 and not colours then bad 'its palette is missing' end
  local out_channels = color == 3 and 3 or channels
  local image = tensor.empty('nn.data.png', { out_channels, height, width }, 'u8', 3)
  local q, plane = tensor.pointer(image), width * height
  local scale = depth < 8 and color ~= 3 and 255 / (2 ^ depth - 1) or 1
  for r = 0, height - 1 do
    local first = r * (row + 1) + 1
    for x = 0, width - 1 do
      for c = 0, channels - 1 do
        local v
        if depth >= 8 then v = p[first + (x * channels + c) * depth / 8] -- of 16 bits the upper ones
        else
          local b = x * depth
          v = band(rshift(p[first + rshift(b, 3)], 8 - depth - band(b, 7)), lshift(1, depth) - 1)
        end
        if color == 3 then
          if v >= colours then bad 'a pixel is not in its palette' end
          for k = 0, 2 do q[k * plane + r * width + x] = palette:byte(v * 3 + k + 1) end
        else q[c * plane + r * width + x] = v * scale end
      end
    end
  end
  return image
end

--- A PNG file: grey, grey and alpha, RGB or RGBA; palettes become RGB, of 16 bits the upper 8 are kept.
---@param path string
---@return any u8 [channels, height, width]
--- Errors: another kind of file, one that is cut or damaged, interlaced or very large images.
--- Source: Portable Network Graphics, ISO/IEC 15948:2004.
function M.png(path)
  check.arg('nn.data.png', 'path', path, 'string', 3)
  local text, why = file.read(path, MOST)
  if not text then check.error('nn.data.png: ' .. why, 2) end
  local ok, image = pcall(decode, text)
  if ok then return methods.contiguous(image) end
  if type(image) == 'table' then check.error(('nn.data.png: %s: %s'):format(path, image[1]), 2) end
  error(image, 0)
end

return M
