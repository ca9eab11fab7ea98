-- dlpack.lua - tensors exchanged with other libraries of the process as DLPack's DLManagedTensor, without copying.
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

local managed = ffi.typeof 'struct DLManagedTensor *'
local taken = setmetatable({}, { __mode = 'k' })

--- The tensor as a DLPack struct that shares its memory: a pointer `struct DLManagedTensor *` (dlpack.h, the ABI before
--- version 1) for mc.from_dlpack or for a C function called through the FFI. A function that takes the struct over
--- calls its deleter; tell Lua with ffi.gc(pointer, nil) then, else the collector calls it.
--- Result: pointer; dtypes as in DLPack (bf16 and bool included), strides in elements, device CPU.
--- Errors: x may only be read (a mapped file, a broadcast view); its values are not known yet (inside mc.compile,
--- mc.vmap).
--- Source: DLPack, DLManagedTensor; Python array API standard 2023.12, __dlpack__.
---     mc.from_dlpack(mc.arange(3):dlpack())  --> f64[3]@cpu { 1, 2, 3 }
function methods.dlpack(x)
  if not tensor.known(x) then
    error(('dlpack: %s depends on the arguments of a function that is being compiled, so its values are not known yet; '
      .. 'hand it over outside'):format(tensor.describe(x)), 2)
  end
  tensor.promote(x, 2)
  local p = C.mc_dlpack_give(x)
  if p == nil then lib.raise(2) end
  return ffi.gc(p, C.mc_dlpack_drop)
end

--- A tensor over the memory of a DLPack struct, which it takes over: the struct's deleter (a C function) is called when
--- the last view of the memory goes; until then the struct lives, so it is no cdata that Lua collects.
--- p: a pointer `struct DLManagedTensor *` or `void *`, or something with a method dlpack, such as a tensor (the result
--- then shares its memory).
--- Result: tensor; dtype, shape and strides of the struct; read-only where its elements overlap.
--- Errors: a device other than the CPU; elements without a dtype here (u16, u32, u64, vectors); more than 8 axes;
--- elements not at multiples of their size; a pointer that was taken before.
--- Source: DLPack, DLManagedTensor; Python array API standard 2023.12, from_dlpack.
---     mc.from_dlpack(mc.tensor { { 1, 2 }, { 3, 4 } }.T)  --> f64[2,2]@cpu { { 1, 3 }, { 2, 4 } }
---@param p any
---@return any
function M.from_dlpack(p)
  if is(p) or (type(p) == 'table' and type(p.dlpack) == 'function') then p = p:dlpack() end
  -- What it points to cannot be checked; an array of characters or a number is no struct of another library.
  local kind = type(p) == 'cdata' and tostring(ffi.typeof(p)) or ''
  local ok = kind == 'ctype<void *>' or kind:find '^ctype<struct [^*]+%*>$' ~= nil
  local pointer = ok and ffi.cast(managed, p)
  if not ok then
    error(('from_dlpack: the operand is %s; give a pointer to a DLManagedTensor (struct DLManagedTensor * or void *) '
      .. 'or a tensor'):format(check.show(p)), 2)
  end
  if taken[p] then
    error('from_dlpack: the pointer was taken before; a struct can be taken once, call x:dlpack() again', 2)
  end
  local t = tensor.header(1024)
  if C.mc_dlpack_take(t, pointer) ~= 0 then lib.raise(2) end
  taken[p] = true
  ffi.gc(p, nil)
  return tensor.finish(t)
end

return M
