-- fif.lua - FIF files: blocks and tags of MEG and EEG recordings, read and written.
--
-- Holds the tree of blocks over the chain of tags that libmascon walks, the values of tags as Lua values and tensors,
-- and a writer of tags. What the kinds of a recording mean together (channels, buffers, epochs) is for its callers. All
-- of a FIF file is big-endian. Binding module: touches the FFI for the handle and for numbers in bytes. Source:
-- Functional Image File Format, description of Elekta Neuromag, 2006.
local ffi = require 'ffi'
local bit = require 'bit'
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local file = require 'mascon.base.file'
local text = require 'mascon.base.text'
local error = check.error
local C = lib.C
local byte, char = string.byte, string.char
local M = {}

local BLOCK_START, BLOCK_END = 104, 105
local MATRIX = 0x40000000
local STRING, INT, FLOAT, DOUBLE, ID = 10, 3, 4, 5, 31
local F32, F64, BIG = 6, 7, 16 -- MC_SAMPLE_*

local int64_list, double_list, int_list, byte_list = ffi.typeof 'int64_t[?]', ffi.typeof 'double[?]',
  ffi.typeof 'int[?]', ffi.typeof 'uint8_t[?]'
local shape_t = ffi.typeof 'int64_t[9]'

-- ---------------------------------------------------------------- numbers in bytes

--- Signed 32-bit number at byte `at` (1-based) of a string.
function M.int(s, at)
  local a, b, c, d = byte(s, at, at + 3)
  if not d then return nil end
  return bit.tobit(a * 2 ^ 24 + b * 2 ^ 16 + c * 2 ^ 8 + d)
end

local word_t = ffi.typeof 'union { float f; int32_t i; }'

--- 32-bit float at byte `at` of a string.
function M.float(s, at)
  local i = M.int(s, at)
  if not i then return nil end
  if bit.band(i, 0x7fffffff) > 0x7f800000 then return 0 / 0 end -- Lua would take the bits of other NaN for other values
  local word = word_t()
  word.i = i
  return tonumber(word.f)
end

--- The four bytes of a signed 32-bit number.
function M.int_bytes(v)
  v = v % 2 ^ 32
  return char(math.floor(v / 2 ^ 24) % 256, math.floor(v / 2 ^ 16) % 256, math.floor(v / 2 ^ 8) % 256, v % 256)
end

--- The four bytes of a number as 32-bit float.
function M.float_bytes(v)
  if v ~= v then return '\127\192\0\0' end -- of all NaN the one that most programs write
  local word = word_t()
  word.f = v
  return M.int_bytes(word.i)
end

-- ---------------------------------------------------------------- reading

local File = {}
File.__index = File

--- Nodes { block, tags = { positions }, children, first, last } over the chain; a tree within the file's root.
local function tree_of(f)
  local root = { block = 0, tags = {}, children = {}, first = 1, last = f.count }
  local open = { root }
  for i = 1, f.count do
    local kind = f:kind(i)
    local top = open[#open]
    if kind == BLOCK_START then
      if #open > 64 then
        error(('fif: %s: blocks within blocks, more than 64 deep; the file is damaged'):format(f.path), 4)
      end
      local block = f:number(i)
      local node = { block = block, tags = {}, children = {}, first = i, last = f.count }
      top.children[#top.children + 1] = node
      open[#open + 1] = node
    elseif kind == BLOCK_END then
      if #open > 1 then
        top.last = i
        open[#open] = nil
      end
    else top.tags[#top.tags + 1] = i end
  end
  return root
end

--- Opens a FIF file (.fif, .fif.gz); data stay in the file. Owns it until :close() or collection.
---@param path string
---@return table file with root (the tree of blocks), count (tags), ended (false when the last tag is not marked as
---  such), and the methods below
function M.open(path)
  local h = C.mc_fif_open(path)
  if h == nil then lib.raise(3) end
  local f = setmetatable({ _h = ffi.gc(h, C.mc_fif_free), path = path }, File)
  local info = int64_list(3)
  lib.check(C.mc_fif_info(h, info), 3)
  f.count, f.ended = tonumber(info[0]), info[2] ~= 0
  f._tags = int64_list(4 * f.count)
  lib.check(C.mc_fif_tags(h, 0, f.count, f._tags), 3)
  f.root = tree_of(f)
  return f
end

local function handle(f)
  if not f._h then error(('fif: %s was closed; open it again'):format(f.path), 4) end
  return f._h
end

--- Gives the file back now.
function File:close()
  if self._h then C.mc_fif_free(ffi.gc(self._h, nil)) end
  self._h = nil
end

--- Raises for what a file holds against the rules.
function File:fail(fmt, ...) error(('fif: %s: ' .. fmt):format(self.path, ...), 4) end

--- Kind of tag i; of :type the type of its data with the matrix bit, of :size its bytes.
function File:kind(i) return tonumber(self._tags[4 * i - 4]) end
function File:type(i) return tonumber(self._tags[4 * i - 3]) end
function File:size(i) return tonumber(self._tags[4 * i - 2]) end

--- All nodes of a block kind at or below `node` (default the root), in the order of the file.
---@param block integer
---@param node? table
function File:find(block, node)
  local out = {}
  local function visit(n)
    if n.block == block then out[#out + 1] = n end
    for _, c in ipairs(n.children) do visit(c) end
  end
  visit(node or self.root)
  return out
end

--- Position of the first tag of a kind directly in a node, or nil.
function File:tag(node, kind)
  for _, i in ipairs(node.tags) do
    if self:kind(i) == kind then return i end
  end
end

--- Data of tag i as a string of bytes.
function File:bytes(i)
  local n = self:size(i)
  local buffer = byte_list(n)
  lib.check(C.mc_fif_bytes(handle(self), i - 1, 0, n, buffer), 4)
  return ffi.string(buffer, n)
end

--- Sizes of tag i, slowest axis first; a plain list has one.
function File:shape(i)
  local shape = shape_t()
  lib.check(C.mc_fif_shape(handle(self), i - 1, shape), 4)
  local out = {}
  for k = 1, tonumber(shape[0]) do out[k] = tonumber(shape[k]) end
  return out
end

--- Numbers of tag i as a tensor f64 of its shape.
function File:matrix(i)
  local sizes, n = self:shape(i), 1
  for _, s in ipairs(sizes) do n = n * s end
  local out = tensor.empty('fif', sizes, 'f64', 4)
  if n > 0 then lib.check(C.mc_fif_numbers(handle(self), i - 1, 0, n, tensor.pointer(out)), 4) end
  return out
end

--- Numbers of tag i as a Lua list, whatever its shape.
function File:numbers(i)
  local n, out = 1, {}
  for _, s in ipairs(self:shape(i)) do n = n * s end
  local list = double_list(math.max(n, 1))
  if n > 0 then lib.check(C.mc_fif_numbers(handle(self), i - 1, 0, n, list), 4) end
  for k = 1, n do out[k] = list[k - 1] end
  return out
end

--- First number of tag i.
function File:number(i)
  local one = double_list(1)
  if self:shape(i)[1] == 0 then self:fail('tag %d (kind %d) holds no number; the file is damaged', i, self:kind(i)) end
  lib.check(C.mc_fif_numbers(handle(self), i - 1, 0, 1, one), 4)
  return one[0]
end

--- Character references &#NNN; of writers that know Latin-1 only.
local function unescape(s)
  return (s:gsub('&#(x?)(%x+);', function(hex, digits)
    local code = tonumber(digits, hex == 'x' and 16 or 10)
    if not code or code < 128 or code > 0x10FFFF then return nil end
    if code < 0x800 then return char(192 + math.floor(code / 64), 128 + code % 64) end
    if code < 0x10000 then
      return char(224 + math.floor(code / 4096), 128 + math.floor(code / 64) % 64, 128 + code % 64)
    end
    return char(240 + math.floor(code / 262144), 128 + math.floor(code / 4096) % 64,
      128 + math.floor(code / 64) % 64, 128 + code % 64)
  end))
end

--- Text of tag i as UTF-8, up to its first zero byte.
function File:text(i) return unescape(text.latin1(self:bytes(i):match '^[^%z]*')) end

--- Names separated by colons as a list.
function File:names(i)
  local s, out = self:text(i), {}
  if s == '' then return out end
  for name in (s .. ':'):gmatch '(.-):' do out[#out + 1] = name:gsub('{COLON}', ':') end
  return out
end

--- Samples on a grid within tag i, f64 [#picks, count]: base and steps in numbers, picks 1-based, first from 0; scale:
--- one factor for each channel of the grid. With out and at (elements) and stride, into rows of an f64 tensor that is
--- there.
function File:samples(i, base, channel_step, sample_step, picks, first, count, scale, out, at, stride)
  local n = #picks
  if not out then
    out, at, stride = tensor.empty('fif', { n, count }, 'f64', 4), 0, count
  end
  local list, factors = int_list(n), double_list(n)
  for k, c in ipairs(picks) do list[k - 1], factors[k - 1] = c - 1, scale and scale[c] or 1 end
  lib.check(C.mc_fif_samples(handle(self), i - 1, base, channel_step, sample_step, list, n, first, count, factors,
    tensor.pointer(out) + at, stride), 4)
  return out
end

-- ---------------------------------------------------------------- writing

local Writer = {}
Writer.__index = Writer

-- longest data of one tag: sizes are signed 32-bit numbers
M.MOST = 2 ^ 31 - 1

--- Writes a FIF file piece by piece under a temporary name; :close() gives it its own, :abort() leaves nothing. nil and
--- a message when it cannot be made.
---@param path string
---@param id string the 20 bytes of the file's id
function M.create(path, id)
  local f, msg = file.create(path)
  if not f then return nil, msg end
  local w = setmetatable({ _f = f, path = path }, Writer)
  w:tag(100, ID, id)
  w:ints(101, { -1 }) -- no directory
  w:ints(106, { -1 }) -- no free list
  return w
end

function Writer:put(bytes)
  local ok, msg = self._f:append(bytes)
  if not ok then error(msg, 5) end
end

function Writer:head(kind, type_, size, next_)
  if size > M.MOST then
    error(('fif: %s: a tag of %.0f bytes; FIF files hold at most %.0f in one, write smaller parts'):format(
      self.path, size, M.MOST), 5)
  end
  self:put(M.int_bytes(kind) .. M.int_bytes(type_) .. M.int_bytes(size) .. M.int_bytes(next_ or 0))
end

--- A tag of bytes as they are.
function Writer:tag(kind, type_, bytes)
  self:head(kind, type_, #bytes)
  self:put(bytes)
end

--- Tags { kind, type, bytes } as they are.
function Writer:tags(list)
  for _, t in ipairs(list) do self:tag(t[1], t[2], t[3]) end
end

local function joined(list, f)
  local out = {}
  for k, v in ipairs(list) do out[k] = f(v) end
  return table.concat(out)
end

function Writer:ints(kind, list) self:tag(kind, INT, joined(list, M.int_bytes)) end
function Writer:floats(kind, list) self:tag(kind, FLOAT, joined(list, M.float_bytes)) end
function Writer:doubles(kind, list)
  local buffer = byte_list(8 * #list)
  lib.check(C.mc_samples_pack(F64 + BIG, tensor.code.f64, double_list(#list, list), #list, buffer), 4)
  self:tag(kind, DOUBLE, ffi.string(buffer, 8 * #list))
end

--- Text as Latin-1, with character references for what that does not hold; no tag for none.
function Writer:text(kind, s)
  local out, i = {}, 1
  while i <= #s do
    local code, n = text.utf8_decode(s, i)
    if not code then code, n = byte(s, i), 1 end
    out[#out + 1] = code < 256 and char(code) or ('&#%d;'):format(code)
    i = i + n
  end
  if #s > 0 then self:tag(kind, STRING, table.concat(out)) end
end

--- Names as one text, separated by colons.
function Writer:names(kind, list)
  local out = {}
  for k, name in ipairs(list) do out[k] = name:gsub(':', '{COLON}') end
  self:text(kind, table.concat(out, ':'))
end

function Writer:open_block(block) self:ints(BLOCK_START, { block }) end
function Writer:close_block(block) self:ints(BLOCK_END, { block }) end

-- numbers turned into bytes at a time
local SLAB = 2 ^ 18

--- Numbers of a contiguous f32 or f64 tensor, as 'f32' or 'f64'.
function Writer:pack(t, as)
  local size = as == 'f32' and 4 or 8
  local buffer, n, at = byte_list(SLAB * size), t:numel(), 0
  local host = tensor.hosted(t)
  local from = ffi.cast('const char *', tensor.pointer(host))
  while at < n do
    local k = math.min(SLAB, n - at)
    lib.check(C.mc_samples_pack((as == 'f32' and F32 or F64) + BIG, tensor.code[t.dtype],
      from + at * tensor.size[t.dtype], k, buffer), 4)
    self:put(ffi.string(buffer, k * size))
    at = at + k
    if at < n and C.mc_cancel_pending() ~= 0 then error('fif: cancelled', 5) end
  end
end

--- A matrix of this shape from blocks(), a function that returns one contiguous tensor after the other, then nil. as:
--- 'f32' or 'f64'.
function Writer:matrix(kind, sizes, as, blocks)
  local n, item = 1, as == 'f32' and 4 or 8
  for _, s in ipairs(sizes) do n = n * s end
  self:head(kind, (as == 'f32' and FLOAT or DOUBLE) + MATRIX, n * item + 4 * (#sizes + 1))
  local done = 0
  for t in blocks do
    done = done + t:numel()
    local whole = t:is_contiguous() and t or t:contiguous()
    self:pack(whole, as)
    if not rawequal(whole, t) then whole:release() end
  end
  if done ~= n then error(('fif: %s: %.0f numbers written for a matrix of %.0f'):format(self.path, done, n), 5) end
  for k = #sizes, 1, -1 do self:put(M.int_bytes(sizes[k])) end
  self:put(M.int_bytes(#sizes))
end

--- The last tag, then sync and rename; true, or nil and a message.
function Writer:close()
  self:head(108, 0, 0, -1)
  return self._f:close()
end

--- Drops what was written.
function Writer:abort() self._f:abort() end

return M
