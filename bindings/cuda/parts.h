/* parts.h - what is used of the CUDA driver and of NVRTC, declared here so that neither a toolkit
 * nor a card is needed to build, and opened at run time. */
#ifndef MC_CUDA_PARTS_H
#define MC_CUDA_PARTS_H

#include <stddef.h>

typedef int CUresult, CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct nvrtcProgram_st *nvrtcProgram;

enum {
    CUDA_OK = 0,
    CUDA_NO_MEMORY = 2,
    CUDA_NOT_READY = 600,
    CUDA_ILLEGAL_ADDRESS = 700, /* from here on a context is lost */
    CUDA_ASSERT = 710,
    CUDA_HARDWARE = 714,
    CUDA_LAUNCH_FAILED = 719
};
enum { ATTRIBUTE_MAJOR = 75, ATTRIBUTE_MINOR = 76 };
enum { STREAM_NON_BLOCKING = 1, EVENT_NO_TIMING = 2 };

/* X(result, name, exported name, arguments): names that a newer interface replaced have a suffix */
#define MC_CUDA_DRIVER(X)                                                                          \
    X(CUresult, cuInit, "cuInit", (unsigned flags))                                                \
    X(CUresult, cuDriverGetVersion, "cuDriverGetVersion", (int *version))                          \
    X(CUresult, cuGetErrorString, "cuGetErrorString", (CUresult code, const char **text))          \
    X(CUresult, cuDeviceGetCount, "cuDeviceGetCount", (int *n))                                    \
    X(CUresult, cuDeviceGet, "cuDeviceGet", (CUdevice * dev, int index))                           \
    X(CUresult, cuDeviceGetName, "cuDeviceGetName", (char *name, int room, CUdevice dev))          \
    X(CUresult, cuDeviceTotalMem, "cuDeviceTotalMem_v2", (size_t * bytes, CUdevice dev))           \
    X(CUresult, cuDeviceGetAttribute, "cuDeviceGetAttribute", (int *v, int what, CUdevice dev))    \
    X(CUresult, cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain",                              \
      (CUcontext * c, CUdevice dev))                                                               \
    X(CUresult, cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (CUdevice dev))         \
    X(CUresult, cuCtxSetCurrent, "cuCtxSetCurrent", (CUcontext c))                                 \
    X(CUresult, cuMemAlloc, "cuMemAlloc_v2", (CUdeviceptr * p, size_t bytes))                      \
    X(CUresult, cuMemFree, "cuMemFree_v2", (CUdeviceptr p))                                        \
    X(CUresult, cuMemAllocHost, "cuMemAllocHost_v2", (void **p, size_t bytes))                     \
    X(CUresult, cuMemFreeHost, "cuMemFreeHost", (void *p))                                         \
    X(CUresult, cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2",                                         \
      (CUdeviceptr to, const void *from, size_t bytes, CUstream s))                                \
    X(CUresult, cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2",                                         \
      (void *to, CUdeviceptr from, size_t bytes, CUstream s))                                      \
    X(CUresult, cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2",                                         \
      (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream s))                                \
    X(CUresult, cuStreamCreate, "cuStreamCreate", (CUstream * s, unsigned flags))                  \
    X(CUresult, cuStreamDestroy, "cuStreamDestroy_v2", (CUstream s))                               \
    X(CUresult, cuStreamSynchronize, "cuStreamSynchronize", (CUstream s))                          \
    X(CUresult, cuStreamWaitEvent, "cuStreamWaitEvent", (CUstream s, CUevent e, unsigned flags))   \
    X(CUresult, cuEventCreate, "cuEventCreate", (CUevent * e, unsigned flags))                     \
    X(CUresult, cuEventRecord, "cuEventRecord", (CUevent e, CUstream s))                           \
    X(CUresult, cuEventQuery, "cuEventQuery", (CUevent e))                                         \
    X(CUresult, cuEventSynchronize, "cuEventSynchronize", (CUevent e))                             \
    X(CUresult, cuEventDestroy, "cuEventDestroy_v2", (CUevent e))                                  \
    X(CUresult, cuModuleLoadData, "cuModuleLoadData", (CUmodule * m, const void *image))           \
    X(CUresult, cuModuleUnload, "cuModuleUnload", (CUmodule m))                                    \
    X(CUresult, cuModuleGetFunction, "cuModuleGetFunction",                                        \
      (CUfunction * f, CUmodule m, const char *name))                                              \
    X(CUresult, cuLaunchKernel, "cuLaunchKernel",                                                  \
      (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, \
       unsigned shared, CUstream s, void **arguments, void **extra))

#define MC_CUDA_NVRTC(X)                                                                           \
    X(int, nvrtcVersion, "nvrtcVersion", (int *major, int *minor))                                 \
    X(const char *, nvrtcGetErrorString, "nvrtcGetErrorString", (int code))                        \
    X(int, nvrtcGetNumSupportedArchs, "nvrtcGetNumSupportedArchs", (int *n))                       \
    X(int, nvrtcGetSupportedArchs, "nvrtcGetSupportedArchs", (int *archs))                         \
    X(int, nvrtcCreateProgram, "nvrtcCreateProgram",                                               \
      (nvrtcProgram * p, const char *source, const char *name, int nheaders, const char **headers, \
       const char **names))                                                                        \
    X(int, nvrtcCompileProgram, "nvrtcCompileProgram",                                             \
      (nvrtcProgram p, int n, const char *const *options))                                         \
    X(int, nvrtcGetProgramLogSize, "nvrtcGetProgramLogSize", (nvrtcProgram p, size_t * bytes))     \
    X(int, nvrtcGetProgramLog, "nvrtcGetProgramLog", (nvrtcProgram p, char *log))                  \
    X(int, nvrtcGetCUBINSize, "nvrtcGetCUBINSize", (nvrtcProgram p, size_t * bytes))               \
    X(int, nvrtcGetCUBIN, "nvrtcGetCUBIN", (nvrtcProgram p, char *code))                           \
    X(int, nvrtcGetPTXSize, "nvrtcGetPTXSize", (nvrtcProgram p, size_t * bytes))                   \
    X(int, nvrtcGetPTX, "nvrtcGetPTX", (nvrtcProgram p, char *code))                               \
    X(int, nvrtcDestroyProgram, "nvrtcDestroyProgram", (nvrtcProgram * p))

typedef struct mc_cuda {
#define X(result, name, exported, arguments) result(*name) arguments;
    MC_CUDA_DRIVER(X)
    MC_CUDA_NVRTC(X)
#undef X
    char why[256]; /* what is missing, in words */
} mc_cuda;

/* Opens the driver, then NVRTC. 0, or -1 with `why`. */
int mc_cuda_driver(mc_cuda *c);
int mc_cuda_nvrtc(mc_cuda *c);

#endif
