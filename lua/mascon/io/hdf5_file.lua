-- hdf5_file.lua - objects of HDF5 files and a writer of them, as libmascon's handles give them.
--
-- Holds the handles (a C finalizer each) and the way from a selection to tensors and strings. A file stays open as long
-- as an object of it. Starts and counts are lists of 0-based numbers here. Binding module: touches the FFI.
local ffi = require 'ffi'
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local error = check.error
local C = lib.C
local M = {}

local KIND = { [0] = 'group', 'dataset', 'attribute', 'other' }
local HOLDS = { [0] = 'other', 'numbers', 'texts', 'references' }
local WHAT = { links = C.MC_HDF5_LINKS, attributes = C.MC_HDF5_ATTRIBUTES, filters = C.MC_HDF5_FILTERS }
-- bytes of one slab of a strided tensor on its way to the file
local SLAB = 8 * 2 ^ 20

local info_t, sizes_t = ffi.typeof 'int64_t[74]', ffi.typeof 'int64_t[32]'
local references = ffi.typeof 'int64_t[?]'

local Object = {}
Object.__index = Object

--- { kind, holds, dtype, shape, chunk, stored, null, numel, key } of a handle, which the object owns.
local function object(h, level)
  if h == nil then lib.raise(level + 1) end
  h = ffi.gc(h, C.mc_hdf5_free)
  local info = info_t()
  lib.check(C.mc_hdf5_info(h, info), level + 1)
  local rank = tonumber(info[C.MC_HDF5_RANK])
  local o = {
    _h = h, kind = KIND[tonumber(info[C.MC_HDF5_KIND])], holds = HOLDS[tonumber(info[C.MC_HDF5_HOLDS])],
    dtype = tensor.name[tonumber(info[C.MC_HDF5_DTYPE])], numel = tonumber(info[C.MC_HDF5_NUMEL]),
    stored = tonumber(info[C.MC_HDF5_STORED]), null = info[C.MC_HDF5_NULL] ~= 0, shape = {},
    key = ('%.0f:%.0f'):format(tonumber(info[C.MC_HDF5_FILE]), tonumber(info[C.MC_HDF5_ADDRESS])),
  }
  if info[C.MC_HDF5_CHUNKED] ~= 0 then o.chunk = {} end
  for k = 1, rank do
    o.shape[k] = tonumber(info[C.MC_HDF5_SHAPE + k - 1])
    if o.chunk then o.chunk[k] = tonumber(info[C.MC_HDF5_CHUNK + k - 1]) end
  end
  return setmetatable(o, Object)
end

--- The root group of a file. Owns it until :close(), that of its other objects, or collection.
---@param path string
function M.open(path) return object(C.mc_hdf5_open(path), 3) end

local function handle(o, level)
  if not o._h then error('hdf5: this group or dataset was closed; open the file again', level + 1) end
  return o._h
end

--- What a path leads to, an attribute, what a reference means.
function Object:at(name) return object(C.mc_hdf5_at(handle(self, 3), name), 3) end
function Object:attribute(name) return object(C.mc_hdf5_attribute(handle(self, 3), name), 3) end
function Object:refer(reference) return object(C.mc_hdf5_refer(handle(self, 3), reference), 3) end

--- Names of 'links' or 'attributes' in the order of their bytes, of 'filters' in that of their work.
function Object:names(what)
  local h, code, out = handle(self, 3), WHAT[what], {}
  local n = C.mc_hdf5_count(h, code)
  if n < 0 then lib.raise(3) end
  for i = 0, n - 1 do out[i + 1] = ffi.string(C.mc_hdf5_name(h, code, i)) end
  return out
end

function Object:has(what, name)
  for _, n in ipairs(self:names(what)) do
    if n == name then return true end
  end
  return false
end

--- A selection (nil: everything): the elements in it, and its starts, counts and steps for C.
local function select(o, start, count, step)
  local n, start_, count_, step_ = o.null and 0 or 1, sizes_t(), sizes_t(), sizes_t()
  for k = 1, #o.shape do
    start_[k - 1], count_[k - 1], step_[k - 1] = start and start[k] or 0, count and count[k] or o.shape[k],
      step and step[k] or 1
    n = n * tonumber(count_[k - 1])
  end
  return n, start_, count_, step_
end

--- Numbers as a tensor of shape `count` (nil arguments: everything). Of h5py.Empty an empty tensor.
function Object:numbers(start, count, step)
  local h = handle(self, 3)
  local n, start_, count_, step_ = select(self, start, count, step)
  if self.holds ~= 'numbers' then lib.check(C.mc_hdf5_read(h, start_, count_, step_, nil), 3) end
  local t = tensor.empty('load', self.null and { 0 } or count or self.shape, self.dtype, 4)
  if n > 0 then lib.check(C.mc_hdf5_read(h, start_, count_, step_, t._data), 3) end
  return t
end

--- Texts of a selection one after the other.
function Object:texts(start, count, step)
  local h, out, bytes = handle(self, 3), {}, ffi.new 'int64_t[1]'
  local n, start_, count_, step_ = select(self, start, count, step)
  lib.check(C.mc_hdf5_read_texts(h, start_, count_, step_), 3)
  for i = 0, n - 1 do
    local p = C.mc_hdf5_text(h, i, bytes)
    out[i + 1] = ffi.string(p, bytes[0])
  end
  return out
end

--- All references as numbers.
function Object:references()
  local h, out = handle(self, 3), {}
  local n, start_, count_, step_ = select(self)
  if n == 0 then return out end
  if n > 2 ^ 26 then error('hdf5: more than 64 million references; the file is damaged', 3) end
  local list = references(n)
  lib.check(C.mc_hdf5_read(h, start_, count_, step_, list), 3)
  for k = 1, n do out[k] = tonumber(list[k - 1]) end
  return out
end

--- Gives the object back now; the file closes with the last of its objects.
function Object:close()
  if self._h then C.mc_hdf5_free(ffi.gc(self._h, nil)) end
  self._h = nil
end

-- ---------------------------------------------------------------- writing

local Writer = {}
Writer.__index = Writer

--- A file that gets its name at :commit(); :abort(), an error or the collector leave nothing behind. Owns.
---@param path string
function M.create(path)
  local w = C.mc_hdf5_create(path)
  if w == nil then lib.raise(3) end
  return setmetatable({ _w = ffi.gc(w, C.mc_hdf5_writer_free), path = path }, Writer)
end

local function writing(w)
  if not w._w then error(('save: %s is complete already, or was given up; start a new one'):format(w.path), 4) end
  return w._w
end

--- After a failed call nothing of the file remains.
local function done(w, rc)
  if rc == 0 then return end
  local msg = lib.message()
  w:abort()
  error(msg, 4)
end

function Writer:group(name) done(self, C.mc_hdf5_put_group(writing(self), name)) end

--- A tensor as a dataset, or as attribute `name` of object `of`.
function Writer:tensor(of, name, t, chunk, level)
  local h = writing(self)
  if t._data == nil then tensor.promote(t, 4) end -- raises: it was released
  t = tensor.hosted(t)
  local count_, step_ = sizes_t(), sizes_t()
  for k = 0, t._ndim - 1 do
    count_[k] = t._shape[k]
    step_[k] = chunk and chunk[k + 1] or 0
  end
  local rc = C.mc_hdf5_begin(h, of, name, t._dtype, t._ndim, count_, chunk and step_ or nil, level or 0)
  local rows = t._ndim > 0 and tonumber(t._shape[0]) or 1
  if rc == 0 and t._numel > 0 then
    if t:is_contiguous() then rc = C.mc_hdf5_write(h, 0, rows, t._data)
    else
      local row = tonumber(t._numel) / rows * tensor.size[t.dtype]
      local step = math.max(1, math.floor(SLAB / row))
      if chunk then step = math.ceil(step / chunk[1]) * chunk[1] end
      if of then step = rows end
      for first = 1, rows, step do
        local last = math.min(first + step - 1, rows)
        local slab = t[{ { first, last } }]
        local part = slab:copy()
        slab:release()
        rc = C.mc_hdf5_write(h, first - 1, last - first + 1, part._data)
        part:release()
        if rc ~= 0 then break end
      end
    end
  end
  done(self, rc)
end

--- A dataset whose rows come in pieces: next() gives tensors of the dtype and of the sizes after the first until all
--- rows are there.
function Writer:rows(name, dtype, shape, chunk, level, next)
  local h, count_, step_ = writing(self), sizes_t(), sizes_t()
  for k = 1, #shape do
    count_[k - 1] = shape[k]
    step_[k - 1] = chunk and chunk[k] or 0
  end
  local rc = C.mc_hdf5_begin(h, nil, name, tensor.code[dtype], #shape, count_, chunk and step_ or nil, level or 0)
  local at = 0
  while rc == 0 and at < shape[1] do
    local part = tensor.hosted(next())
    local copy = not part:is_contiguous() and part:copy()
    local n = part.shape[1]
    rc = C.mc_hdf5_write(h, at, n, (copy or part)._data)
    if copy then copy:release() end
    at = at + n
  end
  done(self, rc)
end

--- A text or a list of texts as a dataset or an attribute.
function Writer:texts(of, name, v)
  local h, n = writing(self), type(v) == 'table' and #v or 1
  local list = ffi.new('const char *[?]', math.max(n, 1))
  local keep = type(v) == 'table' and v or { v }
  for k = 1, n do list[k - 1] = keep[k] end
  done(self, C.mc_hdf5_put_texts(h, of, name, type(v) == 'table' and 1 or 0, n, list))
end

function Writer:commit()
  done(self, C.mc_hdf5_commit(writing(self)))
  self:abort()
end

--- Drops what was written, unless the file was completed.
function Writer:abort()
  if self._w then C.mc_hdf5_writer_free(ffi.gc(self._w, nil)) end
  self._w = nil
end

return M
