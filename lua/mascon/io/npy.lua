-- npy.lua - .npy and .npz files to tensors and back.
--
-- Owns the file handles of libmascon for these formats: each becomes a cdata with a C finalizer. Arrays stored plainly are mapped, read
-- only, without a copy; others are read into memory. Binding module: touches the FFI.
local ffi = require 'ffi'
local lib = require 'mascon.ffi'
local tensor = require 'mascon.tensor'
local C = lib.C
local M = {}

local info = ffi.new 'int64_t[28]'

--- One npy handle (owned) as a tensor. map: keep the file mapped when the bytes can be used as they lie.
local function to_tensor(f, map)
  lib.check(C.mc_npy_info(f, info), 4)
  local dtype, rank, fortran = tonumber(info[0]), tonumber(info[1]), info[3] ~= 0
  local name = tensor.name[dtype]
  if map and info[4] ~= 0 and info[5] ~= 0 and info[2] > 0 then
    local t = tensor.header(0)
    ffi.gc(f, nil) -- the storage owns the handle from here on
    local rc = C.mc_wrap(t, ffi.cast('void *', C.mc_npy_data(f)), dtype, rank, info + 12, info + 20, f, ffi.cast('void (*)(void *)', C.mc_npy_free), 1)
    if rc ~= 0 then
      C.mc_npy_free(f)
      lib.raise(4)
    end
    return tensor.finish(t)
  end
  local shape = {}
  for i = 1, rank do shape[i] = tonumber(info[11 + (fortran and rank + 1 - i or i)]) end
  local n = info[2]
  local t = tensor.empty('load', shape, name, 4)
  lib.check(C.mc_npy_read(f, 0, n, t._data), 4)
  C.mc_npy_free(ffi.gc(f, nil))
  if fortran and rank > 1 then
    local p = {}
    for i = 1, rank do p[i] = rank + 1 - i end
    t = t:permute_dims(p)
  end
  return t
end

local function handle(f, free, level)
  if f == nil then lib.raise(level + 1) end
  return ffi.gc(f, free)
end

--- A .npy file as a tensor.
function M.load_npy(path, map) return to_tensor(handle(C.mc_npy_open(path), C.mc_npy_free, 3), map) end

local Archive = {}
Archive.__index = Archive

--- Lazy .npz: names, :get(name).
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

--- Array `name`; map = true leaves stored members in the file.
function Archive:get(name, map)
  local i = self._at[name]
  if not i then
    local near = require('mascon.check').nearest(name, self.names)
    error(('%s: no array %q%s; it holds %s'):format(self.path, name, near and (' (did you mean %q?)'):format(near) or '', table.concat(self.names, ', ')), 2)
  end
  return to_tensor(handle(C.mc_zip_npy(self._z, i, 1), C.mc_npy_free, 3), map)
end

function M.load_npz(path)
  local a, out = M.open_npz(path), {}
  for _, name in ipairs(a.names) do out[name] = a:get(name) end
  return out
end

local shape = ffi.new 'int64_t[8]'
local function layout(t)
  t = t:contiguous()
  for i = 0, t._ndim - 1 do shape[i] = t._shape[i] end
  return t
end

--- A tensor to .npy, safely.
function M.save_npy(path, t)
  t = layout(t)
  local w = handle(C.mc_npy_create(path, t._dtype, t._ndim, shape, 0), C.mc_npy_writer_free, 3)
  local rc = C.mc_npy_write(w, t._data, t._numel)
  if rc == 0 then rc = C.mc_npy_commit(w) end
  if rc ~= 0 then
    local msg = lib.message()
    C.mc_npy_writer_free(ffi.gc(w, nil))
    error(msg, 3)
  end
  C.mc_npy_writer_free(ffi.gc(w, nil))
end

--- A table of tensors to .npz (keys sorted, so that equal contents give equal bytes). level 0 stores, 1..9 deflates.
function M.save_npz(path, list, level)
  local w = handle(C.mc_zip_create(path), C.mc_zip_writer_free, 3)
  local names = {}
  for k in pairs(list) do names[#names + 1] = k end
  table.sort(names)
  local rc = 0
  for _, k in ipairs(names) do
    local t = layout(list[k])
    if rc == 0 then rc = C.mc_zip_begin_npy(w, k .. '.npy', level or 0, t._dtype, t._ndim, shape, 0) end
    if rc == 0 then rc = C.mc_zip_write(w, t._data, t._numel * tensor.size[t.dtype]) end
    if rc == 0 then rc = C.mc_zip_end(w) end
  end
  if rc == 0 then rc = C.mc_zip_commit(w) end
  if rc ~= 0 then
    local msg = lib.message()
    C.mc_zip_writer_free(ffi.gc(w, nil))
    error(msg, 3)
  end
  C.mc_zip_writer_free(ffi.gc(w, nil))
end

--- Streaming .npy: rows of `shape` behind a first axis that grows. :append(t), :close(), :abort().
local Stream = {}
Stream.__index = Stream
function M.create_npy(path, dtype, row_shape)
  shape[0] = -1
  for i, v in ipairs(row_shape) do shape[i] = v end
  return setmetatable({ _w = handle(C.mc_npy_create(path, tensor.code[dtype], #row_shape + 1, shape, 0), C.mc_npy_writer_free, 3), dtype = dtype }, Stream)
end
function Stream:append(t)
  t = t:to(self.dtype):contiguous()
  if C.mc_npy_write(self._w, t._data, t._numel) ~= 0 then lib.raise(2) end
end
function Stream:close()
  local rc = C.mc_npy_commit(self._w)
  local msg = rc ~= 0 and lib.message()
  self:abort()
  if msg then error(msg, 2) end
end
function Stream:abort()
  if self._w then C.mc_npy_writer_free(ffi.gc(self._w, nil)) end
  self._w = nil
end

return M
