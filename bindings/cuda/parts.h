/* parts.h - what is used of the CUDA driver, NVRTC, cuBLASLt and cuFFT, declared here so that no
 * toolkit and no card is needed to build, and opened at run time. */
#ifndef MC_CUDA_PARTS_H
#define MC_CUDA_PARTS_H

#include <stddef.h>
#include <stdint.h>

typedef int CUresult, CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct nvrtcProgram_st *nvrtcProgram;

enum {
    CUDA_OK = 0,
    CUDA_INVALID = 1,
    CUDA_NO_MEMORY = 2,
    CUDA_NOT_FOUND = 500,
    CUDA_NOT_READY = 600,
    CUDA_ILLEGAL_ADDRESS = 700, /* from here on a context is lost */
    CUDA_ASSERT = 710,
    CUDA_HARDWARE = 714,
    CUDA_LAUNCH_FAILED = 719
};
enum { ATTRIBUTE_MAJOR = 75, ATTRIBUTE_MINOR = 76 };
enum { STREAM_NON_BLOCKING = 1, EVENT_NO_TIMING = 2, CAPTURE_RELAXED = 2 };

/* CUDA_KERNEL_NODE_PARAMS_v2 */
typedef struct CUkernelNode {
    CUfunction f;
    unsigned grid[3], group[3], shared;
    void **arguments, **extra;
    void *kernel;
    CUcontext context;
} CUkernelNode;

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
    X(CUresult, cuMemGetAddressRange, "cuMemGetAddressRange_v2",                                   \
      (CUdeviceptr * base, size_t * bytes, CUdeviceptr p))                                         \
    X(CUresult, cuMemAllocHost, "cuMemAllocHost_v2", (void **p, size_t bytes))                     \
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
    X(CUresult, cuModuleGetFunction, "cuModuleGetFunction",                                        \
      (CUfunction * f, CUmodule m, const char *name))                                              \
    X(CUresult, cuLaunchKernel, "cuLaunchKernel",                                                  \
      (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, \
       unsigned shared, CUstream s, void **arguments, void **extra))                               \
    X(CUresult, cuStreamBeginCapture, "cuStreamBeginCapture_v2", (CUstream s, int mode))           \
    X(CUresult, cuStreamEndCapture, "cuStreamEndCapture", (CUstream s, CUgraph * g))               \
    X(CUresult, cuGraphCreate, "cuGraphCreate", (CUgraph * g, unsigned flags))                     \
    X(CUresult, cuGraphAddKernelNode, "cuGraphAddKernelNode_v2",                                   \
      (CUgraphNode * node, CUgraph g, const CUgraphNode *after, size_t n, const CUkernelNode *k))  \
    X(CUresult, cuGraphAddChildGraphNode, "cuGraphAddChildGraphNode",                              \
      (CUgraphNode * node, CUgraph g, const CUgraphNode *after, size_t n, CUgraph child))          \
    X(CUresult, cuGraphInstantiate, "cuGraphInstantiateWithFlags",                                 \
      (CUgraphExec * e, CUgraph g, unsigned long long flags))                                      \
    X(CUresult, cuGraphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams_v2",               \
      (CUgraphExec e, CUgraphNode node, const CUkernelNode *k))                                    \
    X(CUresult, cuGraphExecChildGraphNodeSetParams, "cuGraphExecChildGraphNodeSetParams",          \
      (CUgraphExec e, CUgraphNode node, CUgraph child))                                            \
    X(CUresult, cuGraphLaunch, "cuGraphLaunch", (CUgraphExec e, CUstream s))                       \
    X(CUresult, cuGraphExecDestroy, "cuGraphExecDestroy", (CUgraphExec e))                         \
    X(CUresult, cuGraphDestroy, "cuGraphDestroy", (CUgraph g))

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

typedef struct cublasLtContext *cublasLtHandle;
typedef struct cublasLtDesc *cublasLtDesc; /* of a product, a matrix, a preference */
typedef struct cublasLtAlgo {
    unsigned long long data[8];
} cublasLtAlgo;
typedef struct cublasLtFound {
    cublasLtAlgo algo;
    size_t workspace;
    int status;
    float waves;
    int reserved[4];
} cublasLtFound;
enum { BLAS_COMPUTE_F32 = 68, BLAS_COMPUTE_F64 = 70, BLAS_COMPUTE_TF32 = 77 };
enum {
    BLAS_R_32F = 0,
    BLAS_R_64F = 1,
    BLAS_R_16F = 2,
    BLAS_C_32F = 4,
    BLAS_C_64F = 5,
    BLAS_R_16BF = 14
};
enum { BLAS_TRANS_A = 3, BLAS_TRANS_B = 4, BLAS_BATCH = 5, BLAS_STRIDE = 6 };
enum { BLAS_MOST_WORKSPACE = 1, BLAS_LEAST_ALIGN = 5 }; /* of A; B, C and D follow */

#define MC_CUDA_BLAS(X)                                                                            \
    X(size_t, cublasLtGetVersion, "cublasLtGetVersion", (void))                                    \
    X(int, cublasLtCreate, "cublasLtCreate", (cublasLtHandle * h))                                 \
    X(int, cublasLtMatmulDescCreate, "cublasLtMatmulDescCreate",                                   \
      (cublasLtDesc * d, int compute, int scale))                                                  \
    X(int, cublasLtMatmulDescSetAttribute, "cublasLtMatmulDescSetAttribute",                       \
      (cublasLtDesc d, int what, const void *value, size_t bytes))                                 \
    X(int, cublasLtMatmulDescDestroy, "cublasLtMatmulDescDestroy", (cublasLtDesc d))               \
    X(int, cublasLtMatrixLayoutCreate, "cublasLtMatrixLayoutCreate",                               \
      (cublasLtDesc * d, int type, unsigned long long rows, unsigned long long cols,               \
       long long ld))                                                                              \
    X(int, cublasLtMatrixLayoutSetAttribute, "cublasLtMatrixLayoutSetAttribute",                   \
      (cublasLtDesc d, int what, const void *value, size_t bytes))                                 \
    X(int, cublasLtMatrixLayoutDestroy, "cublasLtMatrixLayoutDestroy", (cublasLtDesc d))           \
    X(int, cublasLtMatmulPreferenceCreate, "cublasLtMatmulPreferenceCreate", (cublasLtDesc * d))   \
    X(int, cublasLtMatmulPreferenceSetAttribute, "cublasLtMatmulPreferenceSetAttribute",           \
      (cublasLtDesc d, int what, const void *value, size_t bytes))                                 \
    X(int, cublasLtMatmulPreferenceDestroy, "cublasLtMatmulPreferenceDestroy", (cublasLtDesc d))   \
    X(int, cublasLtMatmulAlgoGetHeuristic, "cublasLtMatmulAlgoGetHeuristic",                       \
      (cublasLtHandle h, cublasLtDesc product, cublasLtDesc a, cublasLtDesc b, cublasLtDesc c,     \
       cublasLtDesc d, cublasLtDesc preference, int want, cublasLtFound * found, int *n))          \
    X(int, cublasLtMatmul, "cublasLtMatmul",                                                       \
      (cublasLtHandle h, cublasLtDesc product, const void *alpha, const void *a, cublasLtDesc la,  \
       const void *b, cublasLtDesc lb, const void *beta, const void *c, cublasLtDesc lc, void *d,  \
       cublasLtDesc ld, const cublasLtAlgo *algo, void *workspace, size_t bytes, CUstream s))

typedef int cufftHandle;
enum { FFT_C2C = 0x29, FFT_R2C = 0x2a, FFT_C2R = 0x2c, FFT_DOUBLE = 0x40 };
enum { FFT_FORWARD = -1, FFT_INVERSE = 1 };

#define MC_CUDA_FFT(X)                                                                             \
    X(int, cufftGetVersion, "cufftGetVersion", (int *version))                                     \
    X(int, cufftCreate, "cufftCreate", (cufftHandle * plan))                                       \
    X(int, cufftDestroy, "cufftDestroy", (cufftHandle plan))                                       \
    X(int, cufftSetAutoAllocation, "cufftSetAutoAllocation", (cufftHandle plan, int on))           \
    X(int, cufftMakePlanMany64, "cufftMakePlanMany64",                                             \
      (cufftHandle plan, int rank, long long *n, long long *in, long long in_stride,               \
       long long in_row, long long *out, long long out_stride, long long out_row, int type,        \
       long long batch, size_t *workspace))                                                        \
    X(int, cufftSetWorkArea, "cufftSetWorkArea", (cufftHandle plan, void *workspace))              \
    X(int, cufftSetStream, "cufftSetStream", (cufftHandle plan, CUstream s))                       \
    X(int, cufftExecC2C, "cufftExecC2C", (cufftHandle plan, void *in, void *out, int way))         \
    X(int, cufftExecR2C, "cufftExecR2C", (cufftHandle plan, void *in, void *out))                  \
    X(int, cufftExecC2R, "cufftExecC2R", (cufftHandle plan, void *in, void *out))                  \
    X(int, cufftExecZ2Z, "cufftExecZ2Z", (cufftHandle plan, void *in, void *out, int way))         \
    X(int, cufftExecD2Z, "cufftExecD2Z", (cufftHandle plan, void *in, void *out))                  \
    X(int, cufftExecZ2D, "cufftExecZ2D", (cufftHandle plan, void *in, void *out))

typedef struct mc_cuda_blas {
#define X(result, name, exported, arguments) result(*name) arguments;
    MC_CUDA_BLAS(X)
#undef X
    int version; /* 130100 for 13.1.0 */
    char why[256];
} mc_cuda_blas;

typedef struct mc_cuda_fft {
#define X(result, name, exported, arguments) result(*name) arguments;
    MC_CUDA_FFT(X)
#undef X
    int version; /* 12000 for 12.0.0 */
    char why[256];
} mc_cuda_fft;

/* Opens cuBLASLt, cuFFT. 0, or -1 with `why`. */
int mc_cuda_blas_open(mc_cuda_blas *b);
int mc_cuda_fft_open(mc_cuda_fft *f);

/* Memory of the host, counted, all zero; NULL with the record. */
struct mc_host_api;
void mc_cuda_host(const struct mc_host_api *h);
void *mc_cuda_alloc(size_t bytes);
void mc_cuda_release(void *p);

/* A product as cuBLASLt runs it on one card: what it was asked for, then what it answered. */
struct mc_product_job;
typedef struct mc_cuda_products mc_cuda_products;
/* For the card whose context is current; NULL: it does not start. workspace: memory of the card. */
mc_cuda_products *mc_cuda_products_new(const mc_cuda_blas *b, CUdeviceptr workspace, size_t bytes);
/* Whether it has a way for operands that begin at any element. */
int mc_cuda_product_fits(mc_cuda_products *p, const struct mc_product_job *g);
/* Starts a product: out, a, b are addresses. 0, else a status of cuBLASLt; -1: it has no way. */
int mc_cuda_product(mc_cuda_products *p, const struct mc_product_job *g, const CUdeviceptr at[3],
                    CUstream s);

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

/* Transforms of cuFFT on the card whose context is current; NULL: no memory. */
struct mc_transform_job;
typedef struct mc_cuda_transforms mc_cuda_transforms;
mc_cuda_transforms *mc_cuda_transforms_new(const mc_cuda_fft *f);
/* Bytes of workspace; -1: it does not do this one. */
int64_t mc_cuda_transform_bytes(mc_cuda_transforms *all, const struct mc_transform_job *t);
/* Starts a transform: out, in, workspace are addresses. 0, else a status of cuFFT; -1: it has no
 * plan. */
int mc_cuda_transform(const mc_cuda *cu, mc_cuda_transforms *all,
                      const struct mc_transform_job *t, const CUdeviceptr at[3], CUstream s);

/* A launch as a node of a graph: a kernel, or what `launch` gives to a stream (0, or a status). */
typedef struct mc_cuda_node {
    CUkernelNode kernel;
    int (*launch)(void *state, CUstream s);
    void *state;
} mc_cuda_node;
typedef struct mc_cuda_graph mc_cuda_graph;
/* Of nodes that `list` gives, each borrowed until the next one; NULL with the code. */
mc_cuda_graph *mc_cuda_graph_new(const mc_cuda *c, int n, mc_cuda_node *(*list)(void *state, int k),
                                 void *state, CUresult *code);
void mc_cuda_graph_free(const mc_cuda *c, mc_cuda_graph *g); /* accepts NULL */
/* Node k from the next run on. */
CUresult mc_cuda_graph_set(const mc_cuda *c, mc_cuda_graph *g, int k, const mc_cuda_node *l);
CUresult mc_cuda_graph_run(const mc_cuda *c, mc_cuda_graph *g, CUstream s);

#endif
