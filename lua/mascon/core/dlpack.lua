-- dlpack.lua - tensors exchanged with other libraries of the process as DLPack's DLManagedTensor and
-- DLManagedTensorVersioned, without copying.
--
-- Holds who has to call the deleter: a pointer that x:dlpack() made calls it when Lua collects it, one that was taken
-- by mc.from_dlpack does not. Touches the FFI for finalizers of pointers only; the struct is C's
-- (runtime/tensor/mc_dlpack.c).
local ffi = require 'ffi'
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local error, C, methods, is = check.error, lib.C, tensor.methods, tensor.is
local M = {}

local managed, versioned = ffi.typeof 'struct DLManagedTensor *', ffi.typeof 'struct DLManagedTensorVersioned *'
local taken = setmetatable({}, { __mode = 'k' })
local recorded = setmetatable({}, { __mode = 'k' }) -- what a recording follows, by the pointer that was made of it

--- The number that C takes for a stream: 0 (wait), -1, or the stream.
local function stream_of(fname, s, level)
  if s == nil then return 0 end
  if type(s) == 'cdata' and pcall(ffi.cast, 'void *', s) then
    local number = ffi.cast('intptr_t', ffi.cast('void *', s))
    if number ~= 0 then return number end
  end
  if type(s) == 'number' and s % 1 == 0 and (s == -1 or s > 0) and s < 2 ^ 53 then return s end
  error(('%s: stream is %s; give a stream of CUDA (1, 2 or a handle), a queue of OpenCL, -1 (nothing waits), or leave '
    .. 'it out (the host waits)'):format(fname, check.show(s)), level + 1)
end

local function known(fname, x, level)
  if not tensor.known(x) then
    error(('%s: %s depends on the arguments of a function that is being compiled, so its values are not known yet; '
      .. 'hand it over outside'):format(fname, tensor.describe(x)), level + 1)
  end
  tensor.promote(x, level + 1)
end

--- The tensor as a DLPack struct that shares its memory: a pointer `struct DLManagedTensor *` (dlpack.h, the ABI before
--- version 1), with version = 1 a pointer `struct DLManagedTensorVersioned *`, for mc.from_dlpack or for a C function
--- called through the FFI. A function that takes the struct over calls its deleter; tell Lua with ffi.gc(pointer, nil)
--- then, else the collector calls it.
--- stream: of the consumer, for a tensor of a device. Without it the host waits until x is computed; a stream of CUDA
--- (1: legacy default, 2: of the thread, or a handle) or a queue of OpenCL of the same context goes on after that; with
--- -1 nothing waits. Work of the consumer on x is done before its deleter is called.
--- Result: pointer; dtypes as in DLPack (bf16 and bool included), strides in elements, device CPU (type 1), CUDA (2) or
--- OpenCL (4; the data are a cl_mem and the offset).
--- version: 0 or 1. A tensor that may only be read (a mapped file, a broadcast view) is given in version 1, with the
--- flag that says so.
--- Errors: version 0 of what may only be read; its values are not known yet (inside mc.compile, mc.vmap); a stream for
--- a tensor of the CPU; a device of tests.
--- Source: DLPack 1.0, DLManagedTensor, DLManagedTensorVersioned; Python array API standard 2023.12, __dlpack__.
---     mc.from_dlpack(mc.arange(3):dlpack())  --> f64[3]@cpu { 1, 2, 3 }
---@param stream? any
---@param version? integer
function methods.dlpack(x, stream, version)
  stream = stream_of('dlpack', stream, 2)
  if version ~= nil and version ~= 0 and version ~= 1 then
    error(('dlpack: version is %s; give 0 (DLManagedTensor) or 1 (DLManagedTensorVersioned)')
      :format(check.show(version)), 2)
  end
  known('dlpack', x, 2)
  local p = version == 1 and C.mc_dlpack_give_versioned(x, stream) or version ~= 1 and C.mc_dlpack_give(x, stream)
  if p == nil then lib.raise(2) end
  if tensor.recorded(x) then recorded[p] = x end
  return ffi.gc(p, version == 1 and C.mc_dlpack_drop_versioned or C.mc_dlpack_drop)
end

--- Where the memory of a tensor is, for functions of other libraries opened by the FFI. The pointer is valid while x
--- (or a view of it) lives; it stands for elements with the strides of x, x.strides apart.
--- stream: as for x:dlpack. Without it the host waits until x is computed. What the other library does with the memory
--- is done before mascon uses or frees x: it ran in the queue of the third result, or was waited for.
--- Results: pointer `void *` (the address of the first element; on OpenCL a cl_mem), how many bytes behind it the first
--- element begins (0 but on OpenCL), the stream of CUDA or queue of OpenCL that x's device works in (`void *`, NULL on
--- the CPU).
--- Errors: as for x:dlpack, but what may only be read has a pointer too and is not written.
---     (select(2, mc.ones(3):pointer()))  --> 0
---@param stream? any
---@return any pointer, integer offset, any queue
function methods.pointer(x, stream)
  stream = stream_of('pointer', stream, 2)
  known('pointer', x, 2)
  local out, offset = ffi.new 'void *[2]', ffi.new 'int64_t[1]'
  if C.mc_pointer(x, stream, out, offset) ~= 0 then lib.raise(2) end
  return out[0], tonumber(offset[0]), out[1]
end

--- A view of a whole tensor, as one more step of its recording.
local function all_of(x)
  local axes = {}
  for a = 1, x.ndim do axes[a] = a end
  return methods.permute_dims(x, axes)
end

--- A tensor over the memory of a DLPack struct, which it takes over: the struct's deleter (a C function) is called when
--- the last view of the memory goes; until then the struct lives, so it is no cdata that Lua collects.
--- p: a pointer `struct DLManagedTensor *` or `void *`, a pointer `struct DLManagedTensorVersioned *` (version 1), or
--- something with a method dlpack, such as a tensor (the result then shares its memory).
--- Result: tensor; device, dtype, shape and strides of the struct; read-only where its elements overlap, and where the
--- struct says so. Within a derivative a struct of x:dlpack() is a view of x; what another library made of it is a
--- constant. Memory of a device is computed already, or the producer lets the queue of that device wait (third result
--- of x:pointer); the deleter is called when work queued here has ended.
--- Errors: a device that this process has not opened, or of another kind than CPU, CUDA, OpenCL; a buffer of another
--- context of OpenCL; strides that reach outside of a device's memory; a version of DLPack beyond 1; elements
--- without a dtype here (u16, u32, u64, vectors); more than 8 axes; elements not at multiples of their size; a pointer
--- that was taken before.
--- Source: DLPack 1.0, DLManagedTensor, DLManagedTensorVersioned; Python array API standard 2023.12, from_dlpack.
---     mc.from_dlpack(mc.tensor { { 1, 2 }, { 3, 4 } }.T)  --> f64[2,2]@cpu { { 1, 3 }, { 2, 4 } }
---@param p any
---@return any
function M.from_dlpack(p)
  if is(p) or (type(p) == 'table' and type(p.dlpack) == 'function') then
    p = is(p) and p:dlpack(-1, 1) or p:dlpack() -- work on a tensor of ours runs in the queue that will use it
  end
  -- What it points to cannot be checked; an array of characters or a number is no struct of another library.
  local kind = type(p) == 'cdata' and tostring(ffi.typeof(p)) or ''
  local ok = kind == 'ctype<void *>' or kind:find '^ctype<struct [^*]+%*>$' ~= nil
  local new = kind:find('Versioned', 1, true) ~= nil
  if not ok then
    error(('from_dlpack: the operand is %s; give a pointer to a DLManagedTensor (struct DLManagedTensor * or void *), '
      .. 'to a DLManagedTensorVersioned, or a tensor'):format(check.show(p)), 2)
  end
  if taken[p] then
    error('from_dlpack: the pointer was taken before; a struct can be taken once, call x:dlpack() again', 2)
  end
  if recorded[p] then
    taken[p] = true
    return all_of(recorded[p])
  end
  local t = tensor.header(1024)
  local rc = new and C.mc_dlpack_take_versioned(t, ffi.cast(versioned, p)) or not new
    and C.mc_dlpack_take(t, ffi.cast(managed, p))
  if rc ~= 0 then lib.raise(2) end
  taken[p] = true
  ffi.gc(p, nil)
  return tensor.finish(t)
end

return M
