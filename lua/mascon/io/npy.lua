-- npy.lua - .npy and .npz files to tensors and back, whole, mapped, or in pieces.
--
-- Holds the file handles of libmascon for these formats: each becomes a cdata with a C finalizer. Arrays stored plainly
-- are mapped, read only, without a copy, when asked for; others are read into memory. Tensors that are neither row nor
-- column major are written in slabs, so that saving a view never doubles its memory. Binding module: touches the FFI.
local ffi = require 'ffi'
local bit = require 'bit'
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local error = check.error
local C = lib.C
local M = {}

local info_t, shape_t = ffi.typeof 'int64_t[28]', ffi.typeof 'int64_t[8]'

-- largest list of texts that is read
local TEXTS = 2 ^ 28
-- bytes of one slab of a strided tensor on its way to the file
local SLAB = 8 * 2 ^ 20

--- Axes backwards: the row-major reading of a column-major tensor.
local function reversed(t)
  local p = {}
  for i = 1, t._ndim do p[i] = t._ndim + 1 - i end
  return t:permute_dims(p)
end

--- One npy handle (owned) as a tensor. map: keep the file mapped when the bytes can be used as they lie.
local function to_tensor(f, map)
  local info = info_t()
  lib.check(C.mc_npy_info(f, info), 4)
  local dtype, rank, fortran = tonumber(info[0]), tonumber(info[1]), info[3] ~= 0
  local name = tensor.name[dtype]
  if map and info[4] ~= 0 and info[5] ~= 0 and info[2] > 0 then
    local t = tensor.header(0)
    ffi.gc(f, nil) -- the storage owns the handle from here on
    local rc = C.mc_wrap(t, ffi.cast('void *', C.mc_npy_data(f)), dtype, rank, info + 12, info + 20, f,
      ffi.cast('void (*)(void *)', C.mc_npy_free), 1)
    if rc ~= 0 then
      C.mc_npy_free(f)
      lib.raise(4)
    end
    C.mc_unload_by(t, ffi.cast('void (*)(const void *, const void *, int64_t)', C.mc_npy_forget))
    return tensor.finish(t)
  end
  local sizes = {}
  for i = 1, rank do sizes[i] = tonumber(info[11 + (fortran and rank + 1 - i or i)]) end
  local n = info[2]
  local t = tensor.empty('load', sizes, name, 4)
  lib.check(C.mc_npy_read(f, 0, n, t._data), 4)
  C.mc_npy_free(ffi.gc(f, nil))
  return fortran and rank > 1 and reversed(t) or t
end

local function handle(f, free, level)
  if f == nil then lib.raise(level + 1) end
  return ffi.gc(f, free)
end

--- The texts of an image whose dtype is refused as one of numbers; raises the refusal when they are none.
local function instead(name, bytes, refusal)
  local list, why = require('mascon.io.npy_text').decode(bytes)
  if list then return list end
  error(why == 'it holds no texts' and refusal or ('%s cannot be read as texts: %s'):format(name, why), 4)
end

--- Whether the last error is about a dtype of texts.
local function refused_texts()
  return C.mc_errstatus() == lib.status.EUNSUPPORTED and lib.message():find("holds dtype '[<>=|]?[US]") ~= nil
end

--- A .npy file as a tensor in its own dtype (u16 -> i32, u32 and u64 -> i64), texts as Lua strings. map: read-only in
--- place where the bytes allow. Owns.
---@param path string
---@param map? boolean
function M.load_npy(path, map)
  local f = C.mc_npy_open(path)
  if f ~= nil or not refused_texts() then return to_tensor(handle(f, C.mc_npy_free, 3), map) end
  local refusal, bytes = lib.message(), require('mascon.base.file').read(path)
  return instead(path, bytes or '', refusal)
end

-- ---------------------------------------------------------------- archives

local Archive = {}
Archive.__index = Archive
function Archive:__tostring() return ('npz %s: %s'):format(self.path, table.concat(self.names, ', ')) end

--- A .npz file, read on demand: names, :get(name), :has(name), :verify(), :close(). Owns the file.
---@param path string
function M.open_npz(path)
  local z = handle(C.mc_zip_open(path), C.mc_zip_free, 3)
  local a = setmetatable({ _z = z, path = path, names = {}, _at = {} }, Archive)
  for i = 0, C.mc_zip_count(z) - 1 do
    local name = ffi.string(C.mc_zip_name(z, i))
    local short = name:match '^(.*)%.npy$'
    if short then
      a.names[#a.names + 1] = short
      a._at[short] = i
    end
  end
  return a
end

local function opened(a)
  if not a._z then error(('npz: %s was closed; open it again'):format(a.path), 3) end
  return a._z
end

local GET = { map = { true, 'bool' }, verify = { nil, 'bool' } }

--- Array `name` as a tensor, texts as Lua strings. map = true (default): a member stored plainly stays in the file,
--- read only; such bytes are compared with their checksum when verify = true, all others always. Tensors stay good
--- after the archive is closed. Owns.
---@param name string
---@param opts? table
function Archive:get(name, opts)
  local z, o = opened(self), check.opts('npz.get', opts, GET, 3)
  check.arg('npz.get', 'name', name, 'string', 3)
  local i = self._at[name]
  if not i then
    local near = check.nearest(name, self.names)
    error(('%s: no array %q%s; it holds %s'):format(self.path, name,
      near and (' (did you mean %q?)'):format(near) or '',
      #self.names > 0 and table.concat(self.names, ', ') or 'none'), 2)
  end
  local verify = o.verify
  if verify == nil then verify = not o.map end
  local f = C.mc_zip_npy(z, i, verify and 1 or 0)
  local out
  if f == nil and refused_texts() then
    out = self:texts(name)
  else
    out = to_tensor(handle(f, C.mc_npy_free, 3), o.map)
  end
  return out
end

--- The texts `name`, as NumPy stores an array of strings: a list, nested for more axes, a string without axes.
---@param name string
---@return string|table
function Archive:texts(name)
  local z = opened(self)
  check.arg('npz.texts', 'name', name, 'string', 3)
  local i = self._at[name]
  if not i then
    error(('%s: no array %q; it holds %s'):format(self.path, name,
      #self.names > 0 and table.concat(self.names, ', ') or 'none'), 2)
  end
  local info = info_t()
  lib.check(C.mc_zip_info(z, i, info), 3)
  local size = tonumber(info[C.MC_ZIP_SIZE])
  if size > TEXTS then
    error(('%s: the texts %q take %.0f bytes; lists of names are smaller than that'):format(self.path, name, size), 2)
  end
  local buf = ffi.new('char[?]', size)
  lib.check(C.mc_zip_extract(z, i, buf, size), 3)
  local list, why = require('mascon.io.npy_text').decode(ffi.string(buf, size))
  if not list then error(('%s: %q cannot be read as texts: %s'):format(self.path, name, why), 2) end
  return list
end

function Archive:has(name) return self._at[name] ~= nil end

--- Reads all members against their checksums; raises for the first that is damaged.
function Archive:verify()
  local z = opened(self)
  for i = 0, C.mc_zip_count(z) - 1 do lib.check(C.mc_zip_verify(z, i), 2) end
end

function Archive:close()
  if self._z then C.mc_zip_free(ffi.gc(self._z, nil)) end
  self._z = nil
end

--- All arrays of a .npz file, checked, in memory, as a table by name.
---@param path string
function M.load_npz(path)
  local a, out = M.open_npz(path), {}
  for _, name in ipairs(a.names) do out[name] = a:get(name, { map = false }) end
  a:close()
  return out
end

-- ---------------------------------------------------------------- writing

--- The tensor to write from, and whether its elements come first axis fastest.
local function layout(t)
  if t._data == nil and bit.band(t._flags, 1) ~= 0 then tensor.promote(t, 4) end -- raises: it was released
  t = tensor.hosted(t)
  if t._ndim > 1 and not t:is_contiguous() then
    local r = reversed(t)
    if r:is_contiguous() then return r, 1 end
  end
  return t, 0
end

--- Hands the elements of t in order to f(pointer, elements) until that fails; returns its status.
local function pieces(t, f)
  if t:is_contiguous() then return f(t._data, tonumber(t._numel)) end
  local n = tonumber(t._shape[0])
  local row = tonumber(t._numel) / n
  local step = math.max(1, math.floor(SLAB / (row * tensor.size[t.dtype])))
  for first = 1, n, step do
    local slab = t[{ { first, math.min(first + step - 1, n) } }]
    local part = slab:copy()
    slab:release()
    local rc = f(part._data, tonumber(part._numel))
    part:release()
    if rc ~= 0 then return rc end
  end
  return 0
end

--- Releases a writer; after a failure with its message as an error.
local function finish(w, free, rc, level)
  local msg = rc ~= 0 and lib.message()
  free(ffi.gc(w, nil))
  if msg then error(msg, level + 1) end
end

--- A tensor to .npy, safely; a column-major one keeps its order.
---@param path string
function M.save_npy(path, t)
  local x, fortran = layout(t)
  local w = handle(C.mc_npy_create(path, t._dtype, t._ndim, t._shape, fortran), C.mc_npy_writer_free, 3)
  local rc = pieces(x, function(p, n) return C.mc_npy_write(w, p, n) end)
  if rc == 0 then rc = C.mc_npy_commit(w) end
  finish(w, C.mc_npy_writer_free, rc, 3)
end

local ArchiveWriter = {}
ArchiveWriter.__index = ArchiveWriter

local LEVEL = { level = { 0, 'integer >= 0' } }

--- A .npz file written array by array: :put(name, tensor), :close() gives it its name, :abort() leaves the old file.
--- level 0 stores, 1 to 9 deflates. Owns.
---@param path string
---@param opts? table
function M.create_npz(path, opts)
  local o = check.opts('npz', opts, LEVEL, 4)
  return setmetatable({ _w = handle(C.mc_zip_create(path), C.mc_zip_writer_free, 3), path = path,
    level = o.level }, ArchiveWriter)
end

local function writing(s)
  if not s._w then error(('save: %s is complete already, or was given up; start a new one'):format(s.path), 3) end
  return s._w
end

--- One array more; after an error nothing of the file remains.
function ArchiveWriter:put(name, t)
  local w = writing(self)
  if type(name) ~= 'string' or name == '' or name:find('\0', 1, true) then
    error(('save: %s is no name for an array; give a text without zero bytes'):format(check.show(name)), 2)
  end
  if type(t) == 'string' or (type(t) == 'table' and type(t[1]) == 'string') then return self:put_texts(name, t) end
  if not tensor.is(t) then t = require('mascon.array.create').tensor(t) end
  local x, fortran = layout(t)
  local size = tensor.size[t.dtype]
  local rc = C.mc_zip_begin_npy(w, name .. '.npy', self.level, t._dtype, t._ndim, t._shape, fortran)
  if rc == 0 then rc = pieces(x, function(p, n) return C.mc_zip_write(w, p, n * size) end) end
  if rc == 0 then rc = C.mc_zip_end(w) end
  if rc ~= 0 then
    self._w = nil
    finish(w, C.mc_zip_writer_free, rc, 2)
  end
end

--- One array more whose values come in pieces, in order: each call of next gives a tensor with the next values, nil at
--- the end. Pieces have one dtype and as many values together as the shape; after an error nothing of the file remains.
---@param name string
---@param sizes integer[] shape of the array
---@param next fun(): mc.tensor|nil
function ArchiveWriter:put_pieces(name, sizes, next)
  local w = writing(self)
  check.arg('npz.put_pieces', 'name', name, 'string', 3)
  local total, written, dtype = 1, 0, nil
  for _, n in ipairs(sizes) do total = total * n end
  local rc, why = 0, nil
  local ok, raised = pcall(function()
    while rc == 0 and not why do
      local t = next()
      if t == nil then break end
      t = tensor.hosted(t:contiguous())
      if t._data == nil then tensor.promote(t, 4) end
      if not dtype then
        dtype = t.dtype
        local shape = shape_t()
        for i, n in ipairs(sizes) do shape[i - 1] = n end
        rc = C.mc_zip_begin_npy(w, name .. '.npy', self.level, t._dtype, #sizes, shape, 0)
      end
      written = written + t:numel()
      if t.dtype ~= dtype then why = ('a piece is %s after pieces of %s'):format(t.dtype, dtype)
      elseif written > total then why = ('pieces hold more than the %.0f values of the shape'):format(total)
      elseif rc == 0 then rc = C.mc_zip_write(w, t._data, t:numel() * tensor.size[dtype]) end
    end
  end)
  if ok and rc == 0 and not why and written ~= total then
    why = ('pieces hold %.0f of the %.0f values of the shape'):format(written, total)
  end
  if ok and rc == 0 and not why then rc = C.mc_zip_end(w) end
  if not ok or why then
    self:abort()
    if not ok then error(raised, 0) end
    error(('save: %s of %s: %s; check the function that gives them'):format(name, self.path, why), 2)
  end
  if rc ~= 0 then
    self._w = nil
    finish(w, C.mc_zip_writer_free, rc, 2)
  end
end

--- A text or a list of texts as NumPy stores an array of strings; after an error nothing of the file remains.
---@param name string
---@param list string|string[]
function ArchiveWriter:put_texts(name, list)
  local w = writing(self)
  for i, s in ipairs(type(list) == 'table' and list or {}) do
    if type(s) ~= 'string' then
      error(('save: element %d of %s is %s; a list of texts holds strings only'):format(i, check.show(name),
        check.show(s)), 2)
    end
  end
  local bytes = require('mascon.io.npy_text').encode(list)
  local rc = C.mc_zip_begin(w, name .. '.npy', self.level, #bytes)
  if rc == 0 then rc = C.mc_zip_write(w, bytes, #bytes) end
  if rc == 0 then rc = C.mc_zip_end(w) end
  if rc ~= 0 then
    self._w = nil
    finish(w, C.mc_zip_writer_free, rc, 2)
  end
end

function ArchiveWriter:close()
  local w = writing(self)
  self._w = nil
  finish(w, C.mc_zip_writer_free, C.mc_zip_commit(w), 2)
end

function ArchiveWriter:abort()
  if self._w then C.mc_zip_writer_free(ffi.gc(self._w, nil)) end
  self._w = nil
end

--- A table of tensors to .npz (keys sorted, so that equal contents give equal bytes). level 0 stores, 1..9 deflates.
---@param path string
---@param list table
function M.save_npz(path, list, level)
  local w, names = M.create_npz(path, { level = level }), {}
  for k in pairs(list) do names[#names + 1] = k end
  table.sort(names)
  for _, k in ipairs(names) do w:put(k, list[k]) end
  w:close()
end

-- ---------------------------------------------------------------- rows that keep coming

local Stream = {}
Stream.__index = Stream

local STREAM = { dtype = { nil, 'string' }, row = { nil, 'table' } }

--- A .npy file whose first axis grows: :append(t), :close() gives it its name, :abort() leaves the old file.
--
-- row: sizes of the other axes ({} for a plain list of numbers), dtype: of the elements; both are taken from the first
-- block when left out. Owns.
---@param path string
---@param opts? table
function M.create_npy(path, opts)
  local o = check.opts('npy', opts, STREAM, 4)
  local s = setmetatable({ path = path, row = o.row, rows = 0 }, Stream)
  if o.dtype then s.dtype = tensor.name[tensor.dtype_code('npy', o.dtype, 4)] end
  if s.row then s:_begin(s.row, s.dtype or 'f64') end
  return s
end

function Stream:_begin(row, dtype)
  if #row > 7 then
    error(('save: %d axes in a row of %s; a file has at most 8 with the first'):format(#row, self.path), 3)
  end
  self.dtype, self.row = self.dtype or dtype, row
  tensor.dims('save', row, 4) -- whole, not negative
  local shape = shape_t()
  shape[0] = -1
  for i, v in ipairs(row) do shape[i] = v end
  self._w = handle(C.mc_npy_create(self.path, tensor.code[self.dtype], #row + 1, shape, 0), C.mc_npy_writer_free, 3)
end

local CLASS = { b = 0, u = 1, i = 1, f = 2, c = 3 }
local BITS = { u8 = 8, i8 = 7, i16 = 15, i32 = 31, i64 = 63 }

--- Every number of dtype a is one of dtype b, precision of floats apart.
local function fits(a, b)
  local ka, kb = CLASS[tensor.kind[a]], CLASS[tensor.kind[b]]
  if ka ~= kb then return ka < kb end
  return ka ~= 1 or a == b or (b ~= 'u8' and BITS[a] <= BITS[b])
end

--- Rows [k, row...] or one row [row...]; numbers of a narrower kind are converted, others are an error. After a failed
--- write nothing of the file remains.
function Stream:append(t)
  if self._done then error(('save: %s is complete already, or was given up; start a new one'):format(self.path), 2) end
  if not tensor.is(t) then t = require('mascon.array.create').tensor(t) end
  if not self._w then
    if t.ndim == 0 then error('save: a block is a single number; give rows', 2) end
    local s = t.shape
    self:_begin({ unpack(s, 2, #s) }, t.dtype)
  end
  local s, d = t.shape, #self.row
  local extra, same = #s - d, true
  for i = 1, d do same = same and s[i + extra] == self.row[i] end
  if extra < 0 or extra > 1 or not same then
    error(
      ('save: a block is %s and the rows of %s have the shape {%s}; give one row, or rows along a first axis'):format(
        tensor.describe(t), self.path, table.concat(self.row, ', ')), 2)
  end
  if not fits(t.dtype, self.dtype) then
    error(('save: a block is %s and %s holds %s; convert it with :to %q first'):format(tensor.describe(t), self.path,
      self.dtype, self.dtype), 2)
  end
  local x = tensor.hosted(t:to(self.dtype))
  if not x:is_contiguous() then x = x:copy() end
  if C.mc_npy_write(self._w, x._data, x._numel) ~= 0 then
    local msg = lib.message()
    self:abort()
    error(msg, 2)
  end
  self.rows = self.rows + (extra == 1 and s[1] or 1)
end

--- Enters the number of rows, syncs, gives the file its name.
function Stream:close()
  if self._done then error(('save: %s is complete already, or was given up; start a new one'):format(self.path), 2) end
  if not self._w then
    self._done = true
    error(('save: %s got no rows, so their shape is not known; give row = {...} when it is opened'):format(self.path),
      2)
  end
  local w = self._w
  self._w, self._done = nil, true
  finish(w, C.mc_npy_writer_free, C.mc_npy_commit(w), 2)
end

function Stream:abort()
  if self._w then C.mc_npy_writer_free(ffi.gc(self._w, nil)) end
  self._w, self._done = nil, true
end

return M
