-- kernel.lua - one kernel of one group of 64 lanes on the stand-in: mascon kernel.lua BODY FOLDER. GROUP_MEMORY in BODY
-- declares `seen` of 64 numbers, x are 64 numbers of the card, y 64 to write. Prints y.
local ffi = require 'ffi'
local nvrtc = dofile((arg[0]:match '^(.*)/standin/[^/]*$' or '.') .. '/support/nvrtc.lua')
local body, folder = arg[1], arg[2]
ffi.cdef [[
int cuInit(unsigned);
int cuDevicePrimaryCtxRetain(void **, int);
int cuCtxSetCurrent(void *);
int cuMemAlloc_v2(unsigned long long *, size_t);
int cuMemAllocHost_v2(void **, size_t);
int cuStreamCreate(void **, unsigned);
int cuStreamSynchronize(void *);
int cuMemcpyHtoDAsync_v2(unsigned long long, const void *, size_t, void *);
int cuMemcpyDtoHAsync_v2(void *, unsigned long long, size_t, void *);
int cuModuleLoadData(void **, const void *);
int cuModuleGetFunction(void **, void *, const char *);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
  void **, void **);
]]
local cu, rt = ffi.load(folder .. '/libcuda.so.1'), ffi.load(folder .. '/libnvrtc.so.13')
local function fine(rc) if rc ~= 0 then error('code ' .. rc, 2) end end

local source = '#include "jobs.h"\nKERNEL f(GLOBAL char *a, GLOBAL char *b)\n{\n'
  .. 'GLOBAL double *x = (GLOBAL double *)a;\nGLOBAL double *y = (GLOBAL double *)b;\n'
  .. body:gsub('GROUP_MEMORY', 'MCD_GROUP_MEMORY double seen[64];') .. '\n}\n'
local text = nvrtc.text(source)
local p = ffi.new 'void *[1]'
fine(rt.nvrtcCreateProgram(p, text, 'kernel.cu', 0, nil, nil))
if rt.nvrtcCompileProgram(p[0], 1, ffi.new('const char *const [1]', { '--fmad=false' })) ~= 0 then
  local log = ffi.new 'char[8192]'
  rt.nvrtcGetProgramLog(p[0], log)
  error(ffi.string(log))
end
local path = ffi.new 'char[1024]'
fine(rt.nvrtcGetCUBIN(p[0], path))

local function slot() return ffi.new 'void *[1]' end
local context, stream, module, f, pinned = slot(), slot(), slot(), slot(), slot()
fine(cu.cuInit(0))
fine(cu.cuDevicePrimaryCtxRetain(context, 0))
fine(cu.cuCtxSetCurrent(context[0]))
fine(cu.cuStreamCreate(stream, 1))
fine(cu.cuModuleLoadData(module, path))
fine(cu.cuModuleGetFunction(f, module[0], 'f'))
local x, y = ffi.new 'unsigned long long[1]', ffi.new 'unsigned long long[1]'
fine(cu.cuMemAlloc_v2(x, 512))
fine(cu.cuMemAlloc_v2(y, 512))
fine(cu.cuMemAllocHost_v2(pinned, 512))
local numbers = ffi.cast('double *', pinned[0])
for i = 0, 63 do numbers[i] = i * i end
fine(cu.cuMemcpyHtoDAsync_v2(x[0], numbers, 512, stream[0]))
fine(cu.cuLaunchKernel(f[0], 1, 1, 1, 64, 1, 1, 0, stream[0], ffi.new('void *[2]', { x, y }), nil))
local out = ffi.new 'double[64]'
fine(cu.cuMemcpyDtoHAsync_v2(out, y[0], 512, stream[0]))
fine(cu.cuStreamSynchronize(stream[0]))
-- memory of which nothing was written has all bits set, which LuaJIT would not read as a number
local bits = ffi.cast('int64_t *', out)
for i = 0, 63 do print(bits[i] == -1LL and 'nan' or out[i]) end
