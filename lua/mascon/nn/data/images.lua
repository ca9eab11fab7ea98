-- images.lua - files of images as tensors (IDX, CIFAR), and simple augmentations.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local file = require 'mascon.base.file'
local random = require 'mascon.random'
local array = require 'mascon.array'
local samples = require 'mascon.io.samples'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

local function read(fname, path)
  check.arg(fname, 'path', path, 'string', 4)
  local bytes, why = file.read(path)
  if not bytes then error(('%s: %s'):format(fname, why), 3) end
  return bytes
end

--- Bytes first + 1 .. first + n of a text as u8 [n].
local function octets(text, first, n)
  local out = tensor.empty('nn.data', { n }, 'u8', 3)
  local p, byte = tensor.pointer(out), string.byte
  for i = 1, n do p[i - 1] = byte(text, first + i) end
  return out
end

local function word(text, at)
  local a, b, c, d = text:byte(at, at + 3)
  return ((a * 256 + b) * 256 + c) * 256 + d
end

--- Kinds of numbers of an IDX file.
local IDX = { [0x08] = 'u8', [0x09] = 'i8', [0x0b] = 'i16', [0x0c] = 'i32', [0x0d] = 'f32', [0x0e] = 'f64' }

--- n numbers of several bytes each, the first byte the highest, from a place of a file on.
local function numbers(path, dtype, first, n)
  local file_of = samples.open(path)
  local grid = { type = dtype, big = true, base = first, channel_step = 0, sample_step = samples.bytes[dtype] }
  local out = file_of:read(grid, { 1 }, 0, n)
  file_of:close()
  return methods.to(out, dtype)
end

--- A file in the IDX form of MNIST: numbers of any kind and number of axes.
---@param path string unpacked
---@return any u8, i8, i16, i32, f32 or f64, as the file has them
--- Errors: another kind of file, one that is cut. Source: the MNIST database of handwritten digits, file formats.
function M.idx(path)
  local text = read('nn.data.idx', path)
  local zero, kind, axes = text:byte(1, 1), text:byte(3, 4)
  if #text < 4 or zero ~= 0 or text:byte(2) ~= 0 or not axes or axes < 1 or axes > 8 then
    local hint = text:sub(1, 2) == '\31\139' and '; it is packed: gunzip it first' or ''
    error(('nn.data.idx: %s does not begin like an IDX file%s'):format(path, hint), 2)
  end
  local dtype = IDX[kind]
  if not dtype then
    error(('nn.data.idx: %s holds numbers of kind 0x%02x; there are 0x08, 0x09, 0x0b, 0x0c, 0x0d and 0x0e'):format(path,
      kind), 2)
  end
  local shape, n, most = {}, 1, 1
  if #text < 4 + 4 * axes then error(('nn.data.idx: %s ends within its header'):format(path), 2) end
  for i = 1, axes do
    shape[i] = word(text, 1 + 4 * i)
    n, most = n * shape[i], most * math.max(shape[i], 1)
  end
  local first, size = 4 + 4 * axes, samples.bytes[dtype]
  if #text ~= first + n * size then
    error(('nn.data.idx: %s has %d bytes of data, its header says %s (%s of %s)'):format(path, #text - first,
      (n < 2 ^ 50 and '%d' or '%.3g'):format(n * size), table.concat(shape, ' x '), dtype), 2)
  end
  if most >= 2 ^ 53 then -- an empty axis beside large ones
    error(('nn.data.idx: %s has sizes that no array has (%s)'):format(path, table.concat(shape, ' x ')), 2)
  end
  if n == 0 then return tensor.empty('nn.data', shape, dtype, 3) end
  local out = dtype == 'u8' and octets(text, first, n) or numbers(path, dtype, first, n)
  return methods.reshape(out, shape)
end

local CIFAR = { classes = { 10, { 10, 100 } } }
--- Files of the binary form of CIFAR-10 or CIFAR-100: records of labels and 3 x 32 x 32 bytes.
---@param paths string|table one file or a list
---@param opts? table classes (10): 100 for CIFAR-100, whose fine labels are taken
---@return table { x = u8 [n, 3, 32, 32], y = i64 [n] }
--- Errors: files that do not hold whole records. Source: Learning multiple layers of features from tiny images, 2009.
function M.cifar(paths, opts)
  local fname = 'nn.data.cifar'
  if type(paths) == 'string' then paths = { paths } end
  check.arg(fname, 'paths', paths, 'table', 3)
  local labels = check.opts(fname, opts, CIFAR, 3).classes == 100 and 2 or 1
  local size, all = labels + 3072, {}
  for i, path in ipairs(paths) do
    local text = read(fname, path)
    if #text == 0 or #text % size ~= 0 then
      error(('%s: %s has %d bytes, which is no number of records of %d bytes'):format(fname, path, #text, size), 2)
    end
    all[i] = methods.reshape(octets(text, 0, #text), { -1, size })
  end
  if #all == 0 then error(('%s: there are no files; give one path at least'):format(fname), 2) end
  local rows = #all == 1 and all[1] or F.concat(all, 1)
  return {
    x = methods.reshape(rows[{ array.all, { labels + 1, size } }], { -1, 3, 32, 32 }),
    y = methods.to(rows[{ array.all, labels }], 'i64'),
  }
end

-- ---------------------------------------------------------------- augmentation

--- Images [n, channels, height, width], each mirrored left to right with probability p.
---@param x any
---@param key any random key
---@param opts? table p (0.5)
---@return any
---     mc.nn.data.random_flip(mc.tensor{ { { { 1, 2 } } } }, 1, { p = 1 })  --> f64[1,1,1,2]@cpu { { { { 2, 1 } } } }
function M.random_flip(x, key, opts)
  local p = check.opts('nn.data.random_flip', opts, { p = { 0.5, 'number >= 0' } }, 3).p
  x = op.operand('nn.data.random_flip', x, 2)
  if x.ndim ~= 4 then
    error(('nn.data.random_flip: images are %s; give [n, channels, height, width]'):format(tensor.describe(x)), 2)
  end
  local turned = random.bernoulli { x.shape[1], 1, 1, 1, p = p, key = random.key(key),
    device = x.device }
  return F.where(turned, array.flip(x, 4), x)
end

--- Images [n, channels, height, width], each moved by up to `most` pixels in both directions; zeros come in.
---@param x any
---@param key any random key
---@param most integer
---@return any of the shape of x
---     mc.nn.data.random_shift(mc.ones{ 2, 1, 4, 4 }, 1, 0):sum():item()  --> 32
function M.random_shift(x, key, most)
  x = op.operand('nn.data.random_shift', x, 2)
  check.arg('nn.data.random_shift', 'most', most, 'integer >= 0', 3)
  if x.ndim ~= 4 then
    error(('nn.data.random_shift: images are %s; give [n, channels, height, width]'):format(tensor.describe(x)), 2)
  end
  if most == 0 then return x end
  local n, c, h, w = x:size()
  local padded = F.pad(x, { { 0, 0 }, { 0, 0 }, { most, most }, { most, most } })
  local moves = random.integers { n, 2, low = 0, high = 2 * most, key = random.key(key) }
  local function places(column, size)
    return methods.reshape(moves[{ array.all, column }], { -1, 1 }) + array.arange(1, size, 1, { dtype = 'i64' })
  end
  local rows = methods.reshape(places(1, h), { n, 1, h, 1 })
  local columns = methods.reshape(places(2, w), { n, 1, 1, w })
  local wide = w + 2 * most
  local flat = methods.reshape((rows - 1) * wide + columns, { n, 1, h * w })
  local pixels = methods.reshape(padded, { n, c, (h + 2 * most) * wide })
  return methods.reshape(F.take_along_axis(pixels, array.broadcast_to(flat, { n, c, h * w }), { axis = 3 }),
    { n, c, h, w })
end

--- Numbers 0..255 as f32 in [0, 1], or standardised by channel: (x / 255 - mean) / std.
---@param x any u8 [n, channels, ...]
---@param opts? table mean, std: numbers or lists by channel (0, 1)
---@return any f32
---     mc.nn.data.scaled(mc.tensor({ { 255 } }, { dtype = 'u8' }))  --> f32[1,1]@cpu { { 1 } }
function M.scaled(x, opts)
  local o = check.opts('nn.data.scaled', opts, { mean = { nil, 'number | table' }, std = { nil, 'number | table' } }, 3)
  local y = methods.to(x, 'f32') / 255
  local function by_channel(v)
    if type(v) ~= 'table' then return v end
    local shape = { 1, #v }
    for i = 3, x.ndim do shape[i] = 1 end
    return methods.reshape(methods.to(op.from_table(v), 'f32'), shape)
  end
  if o.mean then y = y - by_channel(o.mean) end
  if o.std then y = y / by_channel(o.std) end
  return y
end

return M
